/* stretch.c - keys in the order of their slices; see stretch.h. */
#include "slice/stretch.h"

#include <assert.h>
#include <string.h>

#include "core/cpu.h"

/* --- by masks ---------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>

/* weir__slice_of for eight keys. The product of a word and the number of slices is
 * put together from its halves, so that the high word is exact. */
FOR_AVX512 static inline __m512i slices_of(__m512i x, __m512i slices) {
    x = _mm512_xor_si512(x, _mm512_set1_epi64((long long)WEIR__SLICE_SALT));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)),
                           _mm512_set1_epi64((long long)WEIR__MIX_FIRST));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)),
                           _mm512_set1_epi64((long long)WEIR__MIX_SECOND));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, slices), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(x, 32), slices);
    return _mm512_srli_epi64(_mm512_add_epi64(low, high), 32);
}

FOR_AVX512 static inline __m512i eight_keys(const uint64_t *hashes, size_t i, size_t count,
                                            __mmask8 *there) {
    *there = (__mmask8)_bzhi_u32(0xff, count - i < 8 ? (unsigned)(count - i) : 8);
    return _mm512_maskz_loadu_epi64(*there, hashes + i);
}

FOR_AVX512 static void find_masks(weir__stretch *s, const uint64_t *hashes) {
    uint16_t counts[WEIR__SLICES_MASKED] = {0}, total = 0;
    __m512i slices = _mm512_set1_epi64((long long)s->slices);
    __mmask8 there;
    for (size_t i = 0; i < s->count; i += 8) {
        __m512i slice = slices_of(eight_keys(hashes, i, s->count, &there), slices);
        for (size_t k = 0; k < s->slices; k++) {
            __mmask8 mask = _mm512_mask_cmpeq_epi64_mask(there, slice, _mm512_set1_epi64((int)k));
            s->masks[k][i / 8] = mask;
            counts[k] = (uint16_t)(counts[k] + _mm_popcnt_u32(mask));
        }
    }
    for (size_t k = 0; k < s->slices; k++) {
        s->start[k] = total;
        total = (uint16_t)(total + counts[k]);
        memset(s->masks[k] + (s->count + 7) / 8, 0, -((s->count + 7) / 8) % 8);
    }
    s->start[s->slices] = total;
}

FOR_AVX512 static void press_keys(weir__stretch *s, const uint64_t *hashes) {
    uint16_t next[WEIR__SLICES_MASKED];
    __mmask8 there;
    memcpy(next, s->start, sizeof next);
    for (size_t i = 0; i < s->count; i += 8) {
        __m512i keys = eight_keys(hashes, i, s->count, &there);
        for (size_t k = 0; k < s->slices; k++) {
            __mmask8 mask = s->masks[k][i / 8];
            unsigned n = (unsigned)_mm_popcnt_u32(mask);
            _mm512_mask_storeu_epi64(s->hashes + next[k], (__mmask8)_bzhi_u32(0xff, n),
                                     _mm512_maskz_compress_epi64(mask, keys));
            next[k] = (uint16_t)(next[k] + n);
        }
    }
}

/* The next verdicts of a slice go to where its mask has ones. */
FOR_AVX512 static size_t gather_masked(const weir__stretch *s, uint64_t *verdicts) {
    size_t read[WEIR__SLICES_MASKED] = {0}, seen = 0;
    assert(s->slices <= WEIR__SLICES_MASKED);
    for (size_t i = 0; i < s->count; i += 64) {
        uint64_t word = 0;
        for (size_t k = 0; k < s->slices; k++) {
            uint64_t mask, bit = read[k] % 64;
            const uint64_t *part = s->parts[k] + read[k] / 64;
            memcpy(&mask, s->masks[k] + i / 8, sizeof mask);
            word |= _pdep_u64(part[0] >> bit | part[1] << 1 << (63 - bit), mask);
            read[k] += (size_t)_mm_popcnt_u64(mask);
        }
        verdicts[i / 64] = word;
        seen += (size_t)_mm_popcnt_u64(word);
    }
    return seen;
}

static bool can_mask(void) { return weir__cpu() >= CPU_AVX512; }
#else
static bool can_mask(void) { return false; }
static void find_masks(weir__stretch *s, const uint64_t *hashes) { (void)s, (void)hashes; }
static void press_keys(weir__stretch *s, const uint64_t *hashes) { (void)s, (void)hashes; }
static size_t gather_masked(const weir__stretch *s, uint64_t *verdicts) {
    (void)s, (void)verdicts;
    return 0;
}
#endif

/* --- by places --------------------------------------------------- */

static inline void place_key(weir__stretch *s, const uint64_t *hashes, size_t lane, size_t i) {
    assert(lane < WEIR__LANES && i < s->count);
    uint16_t place = s->next[lane][s->slice[i]]++;
    s->from[place] = (uint16_t)i;
    s->hashes[place] = hashes[i];
}

/* From how many keys of a slice each lane has to where its first one goes. */
static void find_starts(weir__stretch *s) {
    uint16_t total = 0;
    for (size_t k = 0; k < s->slices; k++) {
        s->start[k] = total;
        for (size_t l = 0; l < WEIR__LANES; l++) {
            uint16_t keys = s->next[l][k];
            s->next[l][k] = total;
            total = (uint16_t)(total + keys);
        }
    }
    s->start[s->slices] = total;
}

/* Lanes have counters of their own, so that with few slices an increment does not
 * wait for the one just before it. Lane after lane, the keys of a slice keep their
 * order. */
static void place_keys(weir__stretch *s, const uint64_t *hashes) {
    size_t lane = s->count / WEIR__LANES, last = WEIR__LANES - 1;
    for (size_t l = 0; l < WEIR__LANES; l++) memset(s->next[l], 0, s->slices * sizeof *s->next[l]);
    for (size_t i = 0; i < s->count; i++)
        s->slice[i] = (uint16_t)weir__slice_of(hashes[i], s->slices);
    for (size_t i = 0; i < lane; i++)
        for (size_t l = 0; l < WEIR__LANES; l++) s->next[l][s->slice[l * lane + i]]++;
    for (size_t i = WEIR__LANES * lane; i < s->count; i++) s->next[last][s->slice[i]]++;
    find_starts(s);
    for (size_t i = 0; i < lane; i++)
        for (size_t l = 0; l < WEIR__LANES; l++) place_key(s, hashes, l, l * lane + i);
    for (size_t i = WEIR__LANES * lane; i < s->count; i++) place_key(s, hashes, last, i);
}

static void place_columns(weir__stretch *s, const weir_batch *batch, size_t at) {
    for (size_t i = 0; batch->times && i < s->count; i++)
        s->times[i] = batch->times[at + s->from[i]];
    for (size_t i = 0; batch->producers && i < s->count; i++)
        s->producers[i] = batch->producers[at + s->from[i]];
    for (size_t i = 0; batch->importances && i < s->count; i++)
        s->importances[i] = batch->importances[at + s->from[i]];
}

static void scatter(weir__stretch *s, size_t slice) {
    assert(slice < s->slices);
    const uint16_t *from = s->from + s->start[slice];
    size_t count = (size_t)s->start[slice + 1] - s->start[slice];
    for (size_t i = 0; i < count; i += 64) {
        uint64_t word = s->part[i / 64];
        size_t end = count - i < 64 ? count - i : 64;
        for (size_t j = 0; j < end; j++, word >>= 1) s->seen[from[i + j]] = word & 1;
    }
}

static size_t gather_placed(const weir__stretch *s, uint64_t *verdicts) {
    size_t seen = 0;
    for (size_t i = 0; i < s->count; i += 64) {
        uint64_t word = 0;
        size_t end = s->count - i < 64 ? s->count - i : 64;
        for (size_t j = 0; j < end; j++) word |= (uint64_t)s->seen[i + j] << j;
        verdicts[i / 64] = word;
        seen += (size_t)__builtin_popcountll(word);
    }
    return seen;
}

/* --- either way -------------------------------------------------- */

void weir__stretch_sort(weir__stretch *s, const weir_batch *batch, size_t at, size_t slices) {
    assert(at < batch->count && slices >= 1);
    const uint64_t *hashes = batch->hashes + at;
    bool columns = batch->times || batch->producers || batch->importances;
    s->slices = slices;
    size_t most = columns ? WEIR__STRETCH_COLUMNS : WEIR__STRETCH;
    s->count = batch->count - at < most ? batch->count - at : most;
    s->masked = slices <= WEIR__SLICES_MASKED && !columns && can_mask();
    if (s->masked) {
        find_masks(s, hashes);
        press_keys(s, hashes);
    } else {
        place_keys(s, hashes);
        place_columns(s, batch, at);
    }
}

weir_batch weir__stretch_part(const weir__stretch *s, const weir_batch *whole, size_t slice) {
    assert(slice < s->slices);
    size_t first = s->start[slice];
    return (weir_batch){.count = s->start[slice + 1] - first,
                        .hashes = s->hashes + first,
                        .times = whole->times ? s->times + first : NULL,
                        .producers = whole->producers ? s->producers + first : NULL,
                        .importances = whole->importances ? s->importances + first : NULL};
}

uint64_t *weir__stretch_room(weir__stretch *s, size_t slice) {
    return s->masked ? s->parts[slice] : s->part;
}

void weir__stretch_answered(weir__stretch *s, size_t slice) {
    if (!s->masked) scatter(s, slice);
}

size_t weir__stretch_gather(weir__stretch *s, uint64_t *verdicts) {
    return s->masked ? gather_masked(s, verdicts) : gather_placed(s, verdicts);
}
