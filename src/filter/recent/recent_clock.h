/* recent_clock.h - a full line of `recent` that knows which keys were hit, and a hand that goes
 * round it.
 *
 *     | code | hand | gaps: n in unary | free: 0s | remainder n-1 ... 1 0 |
 *
 * A key is a number below U = Q 2^r, its list and the bits that a full shared line keeps of it.
 * Keys stand in order, each as what it is more than the one before it: the high bits of that gap in
 * unary, as so many 0s and a 1, and the low b bits with the key's mark in its remainder. Gaps are
 * spread like waiting times, so that with 2^b about 0.7 U/n this takes 1.5 bits a key more than
 * log2(U/n); lists in unary take 2, as they count from fixed places. The price: to know a key all
 * those before it have to be added up.
 *
 * A new key takes the place of one without a mark, of two if need be, of none if there is room. The
 * hand says which: it goes round the line, sector by sector, and leaves one when it has no key
 * without a mark any more. Nothing else tells how old a key is, yet keys without a mark live from
 * one visit of the hand to the next, not for as long as chance will have it.
 *
 * What becomes of marks is settled in one of two ways. They may stay until every key has one,
 * and are then wiped all at once: what counts is how often a key comes. Or the hand wipes those
 * that it passes, so that a key has to be hit again before the hand comes back: what counts is
 * how long ago it came (the CLOCK of operating systems, but for new keys that have no mark). There
 * a new key in the sector of the hand has one, or it would go before those that the hand has yet to
 * come to.
 *
 * The number of keys is not written down. If n were too small, what is left of the line below n
 * remainders would have more than n 1s in it, and fewer if it were too large.
 *
 * As much is kept of a key as in a full shared line, so a line loses nothing but the keys that
 * it has no place for when it changes from one form to the other.
 */
#ifndef WEIR_FILTER_RECENT_CLOCK_H
#define WEIR_FILTER_RECENT_CLOCK_H

#include "filter/filter.h"
#include "filter/recent/recent_lanes.h"
#include "filter/recent/recent_shared.h"

/* A line as it is worked on. */
typedef struct {
    unsigned n;
    unsigned hand;                  /* the sector where it is */
    unsigned zeros;                 /* of the gaps */
    unsigned gone;                  /* keys that had to go */
    uint64_t keys[1 + ENTRIES_MAX]; /* in order, after a 0: each with its mark as the last bit */
} clock_keys;

HOT unsigned get_hand(const uint8_t *line, const clock_form *form) {
    return (unsigned)get_bits(line, form->gaps - SECTOR_BITS, SECTOR_BITS);
}

HOT uint64_t clock_key(const line_shape *shape, uint64_t value) {
    uint64_t rest, list = weir__part(value, shape->shared.lists, &rest);
    return list << shape->clock.key_bits | rest >> (64 - shape->clock.key_bits);
}

/* How many 1s there would be of the gaps if there were n keys. */
HOT unsigned ones_of(const uint8_t *line, const clock_form *form, unsigned n) {
    unsigned end = LINE_BITS - n * form->width;
    return entries_before(line, form->gaps, (end + 63) / 64, end);
}

/* How many keys a line has; 0 if it is damaged. */
HOT unsigned count_clocked(const uint8_t *line, const clock_form *form) {
    unsigned n = form->usual, ones = ones_of(line, form, n);
    if (ones > n)
        while (n < form->most && ones > n) ones = ones_of(line, form, ++n);
    else
        while (n && ones < n) ones = ones_of(line, form, --n);
    return ones == n ? n : 0;
}

/* The keys, which are n, after the 0. Returns how many 0s their gaps have. */
HOT unsigned add_up(const uint8_t *line, const clock_form *form, unsigned n, uint64_t *keys) {
    unsigned width = form->width, gaps = form->gaps, gap_bits = form->gap_bits;
    unsigned end = LINE_BITS - n * width, i = 0, zeros = 0;
    uint64_t sum = 0;
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, gaps, end); ones; ones &= ones - 1) {
            uint64_t field = get_bits(line, remainder_at(i, width), width);
            zeros = 64 * k + (unsigned)__builtin_ctzll(ones) - gaps - i;
            sum += field >> 1;
            keys[++i] = (((uint64_t)zeros << gap_bits) + sum) << 1 | (field & 1);
        }
    return zeros;
}

#if defined(__x86_64__)
/* Sixteen numbers, each with those before it added. */
FOR_AVX512 static inline __m512i add_up_sixteen(__m512i x) {
    const __m512i none = _mm512_setzero_si512();
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, none, 15));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, none, 14));
    x = _mm512_add_epi32(x, _mm512_alignr_epi32(x, none, 12));
    return _mm512_add_epi32(x, _mm512_alignr_epi32(x, none, 8));
}

/* The places of the 1s among the gaps, a byte each. */
FOR_AVX512 static inline void find_ends(const uint8_t *line, const clock_form *form, unsigned end,
                                        uint8_t *places) {
    static const uint8_t numbers[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    __m512i bytes = _mm512_loadu_si512(numbers);
    for (unsigned k = 0; 64 * k < end; k++) {
        uint64_t ones = get_word(line, k) & places_in(k, form->gaps, end);
        _mm512_storeu_si512(places, _mm512_maskz_compress_epi8(ones, bytes));
        places += __builtin_popcountll(ones);
        bytes = _mm512_add_epi8(bytes, _mm512_set1_epi8(64));
    }
}

/* The same with sixteen keys at once. */
FOR_AVX512 static inline unsigned add_up_wide(const uint8_t *line, const clock_form *form,
                                              unsigned n, uint64_t *keys) {
    const __m512i all = _mm512_loadu_si512(line), mask = _mm512_set1_epi32((1 << form->width) - 1);
    const __m512i last = _mm512_set1_epi32(15), one = _mm512_set1_epi32(1);
    const __m128i gap_bits = _mm_cvtsi32_si128((int)form->gap_bits);
    __m512i sum = _mm512_setzero_si512(),
            before = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint8_t places[LINE_BYTES * 5];
    find_ends(line, form, LINE_BITS - n * form->width, places);
    before = _mm512_add_epi32(before, _mm512_set1_epi32((int)form->gaps));
    for (unsigned i = 0, v = 0; i < n; i += 16, v++) {
        __m128i ends = _mm_loadu_si128((const __m128i *)(places + i));
        __m512i zeros = _mm512_sub_epi32(_mm512_cvtepu8_epi32(ends), before);
        __m512i fields = _mm512_permutexvar_epi8(_mm512_loadu_si512(form->lane_bytes[v]), all);
        fields = _mm512_srlv_epi32(fields, _mm512_loadu_si512(form->lane_shift[v]));
        fields = _mm512_and_si512(fields, mask);
        sum = _mm512_add_epi32(_mm512_permutexvar_epi32(last, sum),
                               add_up_sixteen(_mm512_srli_epi32(fields, 1)));
        __m512i key = _mm512_add_epi32(_mm512_sll_epi32(zeros, gap_bits), sum);
        key = _mm512_or_si512(_mm512_slli_epi32(key, 1), _mm512_and_si512(fields, one));
        _mm512_storeu_si512(keys + i + 1, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(key)));
        _mm512_storeu_si512(keys + i + 9, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(key, 1)));
        before = _mm512_add_epi32(before, _mm512_set1_epi32(16));
    }
    return places[n - 1] - form->gaps - (n - 1);
}
#else
#define add_up_wide(...) 0
#endif

/* The keys of a line. */
HOT void read_clock(const uint8_t *line, const clock_form *form, clock_keys *clock, cpu_kind cpu) {
    unsigned n = count_clocked(line, form);
    clock->keys[0] = 0;
    clock->zeros = !n                                    ? 0
                   : cpu == CPU_AVX512 && form->in_lanes ? add_up_wide(line, form, n, clock->keys)
                                                         : add_up(line, form, n, clock->keys);
    clock->gone = 0;
    clock->n = n;
    clock->hand = get_hand(line, form);
}

/* The gap before the i-th key, from 1 on. */
HOT uint64_t gap_before(const clock_keys *clock, unsigned i) {
    return (clock->keys[i] >> 1) - (clock->keys[i - 1] >> 1);
}

/* How many keys are less than this one. */
HOT unsigned keys_below(const clock_keys *clock, uint64_t key) {
    unsigned count = 0;
    for (unsigned i = 1; i <= clock->n; i++) /* NOLINTNEXTLINE(clang-analyzer-core*): up to n */
        count += clock->keys[i] >> 1 < key;
    return count;
}
HOT bool has_key(const clock_keys *clock, unsigned below, uint64_t key) {
    return below < clock->n && clock->keys[below + 1] >> 1 == key;
}

/* ---- changing a line, and the keys read from it ---- */

/* The high bits of the gap before the i-th key, which are 0s; none if there is no such key. */
HOT unsigned zeros_before(const clock_keys *clock, const clock_form *form, unsigned i) {
    return i <= clock->n ? (unsigned)(gap_before(clock, i) >> form->gap_bits) : 0;
}

/* The low ones, and its mark. */
HOT uint64_t clock_field(const clock_keys *clock, const clock_form *form, unsigned i) {
    return (gap_before(clock, i) & low_mask(form->gap_bits)) << 1 | (clock->keys[i] & 1);
}
HOT void put_field(uint8_t *line, const clock_form *form, const clock_keys *clock, unsigned i) {
    if (i > clock->n) return;
    put_bits(line, remainder_at(i - 1, form->width), form->width, clock_field(clock, form, i));
}

/* Where the gaps end, and where the one of the i-th key does, with its 1. */
HOT unsigned gaps_end(const clock_keys *clock, const clock_form *form) {
    return form->gaps + clock->zeros + clock->n;
}
HOT unsigned gap_end(const uint8_t *line, const clock_keys *clock, const clock_form *form,
                     unsigned i, cpu_kind cpu) {
    unsigned words = (gaps_end(clock, form) + 63) / 64;
    return select_in(line, words, get_word(line, 0) & ~low_mask(form->gaps), 0, i - 1, cpu);
}

/* The i-th key goes, and the gap before the next is longer: its 1 is a 0 now, or not there. */
HOT void remove_key(uint8_t *line, const clock_form *form, clock_keys *clock, unsigned i,
                    cpu_kind cpu) {
    unsigned n = clock->n, bit = gap_end(line, clock, form, i, cpu), end = gaps_end(clock, form);
    unsigned zeros = zeros_before(clock, form, i) + zeros_before(clock, form, i + 1);
    memmove(&clock->keys[i], &clock->keys[i + 1], (n - i) * sizeof *clock->keys);
    clock->n--;
    unsigned left = zeros_before(clock, form, i);
    clock->zeros += left - zeros;
    if (i < n && left == zeros) {
        move_down(line, bit + 1, end, 1);
        put_bits(line, end - 1, 1, 0);
    } else {
        put_bits(line, bit, 1, 0);
    }
    splice_body(line, 0, true, LINE_BITS - n * form->width, LINE_BITS - i * form->width,
                form->width, 0, cpu);
    put_field(line, form, clock, i);
}

/* A key comes after so many others: a 0 of the gap that it is in is a 1 now, or there is one more.
 */
HOT void insert_key(uint8_t *line, const clock_form *form, clock_keys *clock, unsigned below,
                    uint64_t key, cpu_kind cpu) {
    unsigned n = clock->n, i = below + 1, end = gaps_end(clock, form);
    unsigned bit = below ? gap_end(line, clock, form, below, cpu) + 1 : form->gaps;
    unsigned zeros = zeros_before(clock, form, i);
    memmove(&clock->keys[i + 1], &clock->keys[i], (n - below) * sizeof *clock->keys);
    clock->keys[i] = key;
    clock->n++;
    unsigned before = zeros_before(clock, form, i), after = zeros_before(clock, form, i + 1);
    clock->zeros += before + after - zeros;
    bit += before;
    if (below < n && before + after == zeros) move_up(line, bit, end, 1);
    put_bits(line, bit, 1, 1);
    splice_body(line, 0, false, LINE_BITS - n * form->width, LINE_BITS - below * form->width,
                form->width, clock_field(clock, form, i), cpu);
    put_field(line, form, clock, i + 1);
}

/* Whether one more key can be written, after so many others. */
HOT bool has_room_for(const clock_keys *clock, const clock_form *form, unsigned below,
                      uint64_t key) {
    const uint64_t *keys = &clock->keys[below];
    uint64_t zeros = clock->zeros + ((key - (keys[0] >> 1)) >> form->gap_bits);
    if (below < clock->n) {
        zeros += ((keys[1] >> 1) - key) >> form->gap_bits;
        zeros -= gap_before(clock, below + 1) >> form->gap_bits;
    }
    return clock->n < form->most &&
           form->gaps + zeros + (clock->n + 1) * (1 + form->width) <= LINE_BITS;
}

HOT void wipe_marks(uint8_t *line, const clock_form *form, clock_keys *clock, unsigned from,
                    unsigned to) {
    for (unsigned i = from; i <= to; i++) {
        clock->keys[i] &= ~UINT64_C(1);
        put_bits(line, remainder_at(i - 1, form->width), 1, 0);
    }
}

/* On to the next key without a mark: of the sector where the hand is, or of those after it and
 * round the line. With `sweep` the hand wipes the marks of a sector as it leaves; all are wiped if
 * there is no key without. */
HOT unsigned turn_hand(uint8_t *line, const clock_form *form, clock_keys *clock, bool sweep) {
    unsigned first = 1 + keys_below(clock, form->sectors[clock->hand]);
    for (unsigned turn = 0;; turn++) {
        uint64_t end = form->sectors[clock->hand + 1] << 1;
        unsigned i = first;
        while (i <= clock->n && clock->keys[i] < end && clock->keys[i] & 1) i++;
        if (i <= clock->n && clock->keys[i] < end) return i;
        if (sweep) wipe_marks(line, form, clock, first, i - 1);
        if (turn == SECTORS) wipe_marks(line, form, clock, 1, clock->n);
        clock->hand = (clock->hand + 1) % SECTORS;
        first = clock->hand ? i : 1;
    }
}

/* Room for a key after so many others, by letting some go. Returns how many are before it then. */
HOT unsigned make_room(uint8_t *line, const clock_form *form, clock_keys *clock, unsigned below,
                       uint64_t key, bool sweep, cpu_kind cpu) {
    while (!has_room_for(clock, form, below, key)) {
        unsigned out = turn_hand(line, form, clock, sweep);
        remove_key(line, form, clock, out, cpu);
        clock->gone++;
        below -= out <= below;
    }
    put_bits(line, form->gaps - SECTOR_BITS, SECTOR_BITS, clock->hand);
    return below;
}

/* Whether a key is in the sector of the hand. */
HOT bool is_at_hand(const clock_keys *clock, const clock_form *form, uint64_t key) {
    return key >= form->sectors[clock->hand] && key < form->sectors[clock->hand + 1];
}

/* What becomes of a key in a clocked line. */
typedef struct {
    bool sweep; /* the hand wipes marks */
} clock_rule;

/* What came of it: whether the key was there, and by how many more keys the line has. */
typedef struct {
    bool seen;
    uint8_t came, gone;
} clock_outcome;

HOT clock_outcome offer_clocked_here(const line_shape *shape, uint8_t *line, uint64_t value,
                                     clock_rule rule, cpu_kind cpu) {
    const clock_form *form = &shape->clock;
    uint64_t key = clock_key(shape, value);
    clock_keys clock;
    if (cpu != CPU_ANY && form->in_lanes) {
        unsigned gone = 0, n = is_usual(line, form) ? form->usual : count_clocked(line, form);
        bool seen = offer_lanes(line, form, n, key, rule.sweep, &gone);
        return (clock_outcome){seen, !seen, (uint8_t)gone};
    }
    read_clock(line, form, &clock, cpu);
    unsigned below = keys_below(&clock, key), before = clock.n;
    if (has_key(&clock, below, key)) {
        set_mark(line, remainder_at(below, form->width), 1);
        return (clock_outcome){.seen = true};
    }
    below = make_room(line, form, &clock, below, key, rule.sweep, cpu);
    bool mark = rule.sweep && is_at_hand(&clock, form, key);
    insert_key(line, form, &clock, below, key << 1 | mark, cpu);
    return (clock_outcome){false, (uint8_t)(clock.n + clock.gone - before), (uint8_t)clock.gone};
}

NOT_HERE(clock_outcome, offer_clocked,
         (const line_shape *shape, uint8_t *line, uint64_t value, clock_rule rule),
         (shape, line, value, rule, cpu))

HOT bool test_clocked(const line_shape *shape, const uint8_t *line, uint64_t value) {
    clock_keys clock;
    uint64_t key = clock_key(shape, value);
    read_clock(line, &shape->clock, &clock, CPU_ANY);
    return has_key(&clock, keys_below(&clock, key), key);
}

#endif
