/* recent_lanes.h - a line of `recent` with gaps, eight keys at a time.
 *
 * To know one key of such a line all those before it have to be added up, and to change one its
 * neighbours' bits have to move. Key by key that takes some 1400 instructions; here all keys are
 * read into numbers of 32 bits, changed as such, and the line is written anew: some 500, and few
 * branches that are hard to guess. It takes AVX2, and keys that fit (`in_lanes`). What comes of it
 * is the same, bit by bit; recent_gaps.h says what that is.
 *
 *     gaps      the places of the 1s, one after the other
 *     fields    the remainders of four keys are in 16 bytes, from where they are shuffled
 *     keys      the gaps' high bits over the sums of the low ones
 */
#ifndef WEIR_FILTER_RECENT_LANES_H
#define WEIR_FILTER_RECENT_LANES_H

#include "filter/recent/recent_flat.h"

#if defined(__x86_64__)

#define NO_KEY INT32_MAX /* in lanes behind the last key: above all keys */

typedef struct {
    unsigned n, hand, zeros; /* as in gap_keys */
    uint64_t marks;          /* a bit for each key */
    /* Keys 1, 2, ... n from the ninth number on, where a register begins; before them a 0. */
    _Alignas(32) int32_t room[8 + LANES_MOST + 16];
} lane_keys;

FOR_AVX2 static inline int32_t *lanes_of(lane_keys *keys) { return keys->room + 7; }

FOR_AVX2 static inline __m256i lanes_at(const int32_t *at) {
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}
FOR_AVX2 static inline void put_lanes(int32_t *at, __m256i lanes) {
    _mm256_storeu_si256((__m256i *)(void *)at, lanes);
}
FOR_AVX2 static inline __m256i bytes_to_lanes(const uint8_t *at) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)at));
}
FOR_AVX2 static inline __m256i lane_numbers(void) {
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}
/* All ones in the first n lanes; n may be more than there are. */
FOR_AVX2 static inline __m256i first_lanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane_numbers());
}
/* Eight numbers, each with those before it added. */
FOR_AVX2 static inline __m256i add_up_lanes(__m256i x) {
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
    x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
    __m256i below = _mm256_permute2x128_si256(x, x, 0x08);
    return _mm256_add_epi32(x, _mm256_shuffle_epi32(below, 0xff));
}
FOR_AVX2 static inline __m256i last_lane(__m256i x) {
    return _mm256_permutevar8x32_epi32(x, _mm256_set1_epi32(7));
}

/* The remainders of keys 8v + 1 to 8v + 8, with their marks. */
FOR_AVX2 static inline __m256i read_fields(const uint8_t *line, const gap_form *form, unsigned v) {
    const __m256i each = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
    const __m256i four = _mm256_set1_epi32(0x03020100);
    const __m128i *first = (const __m128i *)(const void *)(line + form->four_first[2 * v]);
    const __m128i *second = (const __m128i *)(const void *)(line + form->four_first[2 * v + 1]);
    __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(first)),
                                            _mm_loadu_si128(second), 1);
    __m256i at = bytes_to_lanes(form->four_bit + 8 * v);
    __m256i from = _mm256_shuffle_epi8(_mm256_srli_epi32(at, 3), each);
    bytes = _mm256_shuffle_epi8(bytes, _mm256_add_epi8(from, four));
    bytes = _mm256_srlv_epi32(bytes, _mm256_and_si256(at, _mm256_set1_epi32(7)));
    return _mm256_and_si256(bytes, _mm256_set1_epi32((1 << form->width) - 1));
}

/* The places of n 1s of a word. */
FOR_AVX2 static inline void list_ones(uint64_t ones, unsigned n, uint8_t *places) {
    for (unsigned i = 0; i < n; i++, ones = _blsr_u64(ones)) {
        unsigned place = (unsigned)_tzcnt_u64(ones);
        __asm__("" : "+r"(place)); /* gathered in a register they take twice as long */
        places[i] = (uint8_t)place;
    }
}

/* The places of the n 1s among the gaps, from the first bit of these on. Mostly all are among
 * those that one load reaches. */
FOR_AVX2 static inline void read_ends(const uint8_t *line, const gap_form *form, unsigned n,
                                      uint8_t *places) {
    unsigned gaps = form->gaps, end = LINE_BITS - n * form->width, i = 0;
    uint64_t first = load64(line + gaps / 8) >> gaps % 8 & low_mask(end - gaps);
    if ((unsigned)__builtin_popcountll(first) == n) {
        list_ones(first, n, places);
        return;
    }
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, gaps, end); ones; ones &= ones - 1)
            places[i++] = (uint8_t)(64 * k + (unsigned)__builtin_ctzll(ones) - gaps);
}

/* Whether a line has as many keys as is usual, as it need not say: as many 1s among its gaps. */
FOR_AVX2 static inline bool is_usual(const uint8_t *line, const gap_form *form) {
    if (form->counted) return false;
    unsigned end = LINE_BITS - form->usual * form->width, ones = 0, k = 1;
    uint64_t word = get_word(line, 0) & ~low_mask(form->gaps);
    for (; 64 * k <= end; word = get_word(line, k++)) ones += (unsigned)__builtin_popcountll(word);
    return ones + (unsigned)__builtin_popcountll(_bzhi_u64(word, end % 64)) == form->usual;
}

/* The n keys of a line. */
FOR_AVX2 static inline void read_lanes(const uint8_t *line, const gap_form *form, unsigned n,
                                       lane_keys *keys) {
    const __m128i gap_bits = _mm_cvtsi32_si128((int)form->gap_bits);
    __m256i before = _mm256_setzero_si256();
    uint8_t places[LANES_MOST + 8] = {0};
    int32_t *key = lanes_of(keys);
    unsigned v = 0;
    read_ends(line, form, n, places);
    keys->n = n;
    keys->marks = 0;
    keys->zeros = n ? places[n - 1] - (n - 1) : 0;
    keys->hand = (unsigned)get_bits(line, CODE_BITS, SECTOR_BITS);
    key[0] = 0;
    for (; 8 * v < n; v++) {
        __m256i number = _mm256_add_epi32(lane_numbers(), _mm256_set1_epi32((int)(8 * v)));
        __m256i zeros = _mm256_sub_epi32(bytes_to_lanes(places + 8 * v), number);
        __m256i fields = read_fields(line, form, v);
        __m256i marks = _mm256_slli_epi32(fields, 31), is_key = first_lanes((int)(n - 8 * v));
        __m256i sum = _mm256_add_epi32(add_up_lanes(_mm256_srli_epi32(fields, 1)), before);
        __m256i lanes = _mm256_add_epi32(_mm256_sll_epi32(zeros, gap_bits), sum);
        put_lanes(key + 1 + 8 * v, _mm256_blendv_epi8(_mm256_set1_epi32(NO_KEY), lanes, is_key));
        keys->marks |= (uint64_t)(unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(marks))
                       << (8 * v);
        before = last_lane(sum);
    }
    keys->marks &= low_mask(n);
    put_lanes(key + 1 + 8 * v, _mm256_set1_epi32(NO_KEY));
}

/* How many keys are less than this one. */
FOR_AVX2 static inline unsigned lanes_below(lane_keys *keys, uint64_t key) {
    const int32_t *at = lanes_of(keys) + 1;
    __m256i wanted = _mm256_set1_epi32((int)key);
    unsigned count = 0;
    for (unsigned v = 0; 8 * v < keys->n; v++) {
        __m256i less = _mm256_cmpgt_epi32(wanted, lanes_at(at + 8 * v));
        count +=
            (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(less)));
    }
    return count;
}

/* The 0s of the gap between two keys. */
FOR_AVX2 static inline unsigned zeros_between(const gap_form *form, int32_t a, int32_t b) {
    return (uint32_t)(b - a) >> form->gap_bits;
}

/* By how many 0s the gaps grow with a key behind the first `below` keys. */
FOR_AVX2 static inline unsigned zeros_with(lane_keys *keys, const gap_form *form, unsigned below,
                                           int32_t key) {
    const int32_t *at = lanes_of(keys) + below;
    unsigned more = zeros_between(form, at[0], key);
    if (below == keys->n) return more;
    return more + zeros_between(form, key, at[1]) - zeros_between(form, at[0], at[1]);
}

/* The i-th key goes. */
FOR_AVX2 static inline void take_lane(lane_keys *keys, const gap_form *form, unsigned i) {
    int32_t *at = lanes_of(keys);
    uint64_t before = low_mask(i - 1);
    unsigned less = zeros_between(form, at[i - 1], at[i]);
    if (i < keys->n)
        less += zeros_between(form, at[i], at[i + 1]) - zeros_between(form, at[i - 1], at[i + 1]);
    for (unsigned j = i; j <= keys->n; j += 8) put_lanes(at + j, lanes_at(at + j + 1));
    keys->marks = (keys->marks & before) | (keys->marks >> 1 & ~before);
    keys->zeros -= less;
    keys->n--;
}

/* A key comes behind the first `below` keys. */
FOR_AVX2 static inline void put_lane(lane_keys *keys, const gap_form *form, unsigned below,
                                     int32_t key, bool mark) {
    int32_t *at = lanes_of(keys) + 1;
    uint64_t before = low_mask(below);
    keys->zeros += zeros_with(keys, form, below, key);
    for (unsigned j = below + (keys->n - below) / 8 * 8;; j -= 8) {
        put_lanes(at + j + 1, lanes_at(at + j));
        if (j == below) break;
    }
    at[below] = key;
    keys->marks = (keys->marks & before) | (keys->marks & ~before) << 1 | (uint64_t)mark << below;
    keys->n++;
}

FOR_AVX2 static inline bool lanes_have_room(lane_keys *keys, const gap_form *form, unsigned below,
                                            int32_t key) {
    unsigned zeros = keys->zeros + zeros_with(keys, form, below, key);
    return keys->n < form->most &&
           form->gaps + zeros + (keys->n + 1) * (1 + form->width) <= LINE_BITS;
}

/* turn_hand() of recent_gaps.h. */
FOR_AVX2 static inline unsigned turn_lane_hand(lane_keys *keys, const gap_form *form) {
    unsigned first = lanes_below(keys, form->sectors[keys->hand]);
    for (;;) {
        unsigned stop = lanes_below(keys, form->sectors[keys->hand + 1]);
        uint64_t sector = low_mask(stop) & ~low_mask(first), bare = sector & ~keys->marks;
        if (bare) return (unsigned)__builtin_ctzll(bare) + 1;
        keys->marks &= ~sector;
        keys->hand = (keys->hand + 1) % SECTORS;
        first = keys->hand ? stop : 0;
    }
}

/* ---- writing a line anew ---- */

/* The 64 places from 64w on, a bit for each of the n places of 1s that is there. */
FOR_AVX2 static inline uint64_t ends_in_word(const int32_t *places, unsigned n, unsigned w) {
    __m256i bits = _mm256_setzero_si256(), base = _mm256_set1_epi64x(64 * (int)w);
    const __m256i one = _mm256_set1_epi64x(1);
    for (unsigned i = 0; i < n; i += 4) {
        __m256i at = _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)(places + i)));
        bits = _mm256_or_si256(bits, _mm256_sllv_epi64(one, _mm256_sub_epi64(at, base)));
    }
    __m128i two = _mm_or_si128(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
    two = _mm_or_si128(two, _mm_unpackhi_epi64(two, two));
    return (uint64_t)_mm_cvtsi128_si64(two);
}

/* The places of the 1s, behind the last far away, and the remainders in pairs. */
FOR_AVX2 static inline void spell_lanes(lane_keys *keys, const gap_form *form, int32_t *places,
                                        uint64_t *pairs) {
    const __m128i gap_bits = _mm_cvtsi32_si128((int)form->gap_bits),
                  width = _mm_cvtsi32_si128((int)form->width);
    const __m256i low = _mm256_set1_epi32((1 << form->gap_bits) - 1),
                  bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128),
                  far = _mm256_set1_epi32(INT32_MAX);
    __m256i before = lane_numbers();
    const int32_t *key = lanes_of(keys);
    for (unsigned v = 0; 8 * v < keys->n; v++) {
        __m256i is_key = first_lanes((int)(keys->n - 8 * v));
        __m256i gap = _mm256_sub_epi32(lanes_at(key + 8 * v + 1), lanes_at(key + 8 * v));
        gap = _mm256_and_si256(gap, is_key);
        __m256i zeros = add_up_lanes(_mm256_srl_epi32(gap, gap_bits));
        __m256i marks = _mm256_set1_epi32((int)(keys->marks >> 8 * v & 0xff));
        marks = _mm256_cmpeq_epi32(_mm256_and_si256(marks, bit), bit);
        __m256i field = _mm256_slli_epi32(_mm256_and_si256(gap, low), 1);
        field = _mm256_sub_epi32(field, marks);
        put_lanes(places + 8 * v, _mm256_blendv_epi8(far, _mm256_add_epi32(zeros, before), is_key));
        before = _mm256_add_epi32(before, _mm256_add_epi32(last_lane(zeros), _mm256_set1_epi32(8)));
        __m256i even = _mm256_and_si256(field, _mm256_set1_epi64x(UINT32_MAX));
        __m256i pair = _mm256_or_si256(_mm256_sll_epi64(even, width), _mm256_srli_epi64(field, 32));
        _mm256_storeu_si256((__m256i *)(void *)(pairs + 4 * v), pair);
    }
}

/* Pairs of `bits` bits to the top of an empty line, the first one highest. From the last one on,
 * so that each store covers what the one before has left over. */
FOR_AVX2 static inline void pack_pairs(uint8_t *line, const uint64_t *pairs, unsigned count,
                                       unsigned bits) {
    unsigned at = LINE_BITS - count * bits;
    uint64_t rest = 0;
    for (unsigned i = count; i-- > 0; at += bits) {
        uint64_t word = pairs[i] << at % 8 | rest;
        unsigned whole = (at % 8 + bits) / 8;
        store64(line + at / 8, word);
        rest = word >> 8 * whole;
    }
}

/* The same where two pairs take whole bytes, two at a time. */
FOR_AVX2 static inline void pack_fours(uint8_t *line, const uint64_t *pairs, unsigned count,
                                       unsigned bits) {
    const __m128i up = _mm_cvtsi32_si128((int)bits), down = _mm_cvtsi32_si128(64 - (int)bits);
    unsigned fours = (count + 1) / 2;
    uint8_t *at = line + LINE_BYTES - fours * (bits / 4);
    for (unsigned i = fours; i-- > 0; at += bits / 4) {
        __m128i two = _mm_loadu_si128((const __m128i *)(const void *)(pairs + 2 * i));
        __m128i low = _mm_or_si128(_mm_unpackhi_epi64(two, two), _mm_sll_epi64(two, up));
        __m128i both = _mm_unpacklo_epi64(low, _mm_srl_epi64(two, down));
        _mm_storeu_si128((__m128i *)(void *)at, both);
    }
}

FOR_AVX2 static inline void write_lanes(const line_shape *shape, uint8_t *line, lane_keys *keys,
                                        const gap_form *form) {
    int32_t places[LANES_MOST];
    uint64_t pairs[LANES_MOST / 2];
    unsigned gaps = form->gaps;
    uint64_t words[10] = {0};
    spell_lanes(keys, form, places, pairs);
    if (form->width % 2) pack_pairs((uint8_t *)words, pairs, (keys->n + 1) / 2, 2 * form->width);
    else pack_fours((uint8_t *)words, pairs, (keys->n + 1) / 2, 2 * form->width);
    words[0] |= GAP_CODE + (uint64_t)(form - shape->form) + (keys->hand << CODE_BITS);
    if (form->counted) words[0] |= (uint64_t)keys->n << (CODE_BITS + SECTOR_BITS);
    for (unsigned w = 0; 64 * w < keys->zeros + keys->n; w++) {
        uint64_t ends = ends_in_word(places, keys->n, w);
        words[w] |= ends << gaps;
        words[w + 1] |= ends >> (64 - gaps);
    }
    memcpy(line, words, LINE_BYTES);
}

/* All keys lose their last bits. */
FOR_AVX2 static inline void cut_lanes(lane_keys *keys, const gap_form *from, const gap_form *to) {
    const __m128i off = _mm_cvtsi32_si128((int)(to->shift - from->shift));
    int32_t *at = lanes_of(keys);
    keys->zeros = 0;
    for (unsigned v = 0; 8 * v < keys->n; v++) {
        __m256i is_key = first_lanes((int)(keys->n - 8 * v));
        __m256i cut = _mm256_srl_epi32(lanes_at(at + 1 + 8 * v), off);
        put_lanes(at + 1 + 8 * v, _mm256_blendv_epi8(_mm256_set1_epi32(NO_KEY), cut, is_key));
    }
    for (unsigned i = 1; i <= keys->n; i++) keys->zeros += zeros_between(to, at[i - 1], at[i]);
}

/* enter_gaps() of recent_gaps.h. */
FOR_AVX2 static inline const gap_form *enter_lanes(lane_keys *keys, const gap_form *form,
                                                   uint64_t tag, uint8_t *gone) {
    for (;;) {
        uint64_t key = tag >> form->shift;
        unsigned below = lanes_below(keys, key), hand = keys->hand;
        while (!lanes_have_room(keys, form, below, (int32_t)key) && form->last) {
            unsigned out = turn_lane_hand(keys, form);
            take_lane(keys, form, out);
            (*gone)++;
            below -= out <= below;
            hand = keys->hand;
        }
        if (lanes_have_room(keys, form, below, (int32_t)key)) {
            bool at_hand = key >= form->sectors[hand] && key < form->sectors[hand + 1];
            put_lane(keys, form, below, (int32_t)key, form->last && at_hand);
            return form;
        }
        cut_lanes(keys, form, form + 1);
        form++;
    }
}

/* Tags of which the last bit is the mark, in any order, become a line of the widest form. */
FOR_AVX2 static inline void sort_to_lanes(const line_shape *shape, uint8_t *line,
                                          const uint64_t *tags, unsigned n) {
    const gap_form *form = shape->form;
    int32_t unsorted[HALVES_MOST + 1], rank[HALVES_MOST + 1] = {0};
    lane_keys keys = {.n = n};
    int32_t *key = lanes_of(&keys);
    for (unsigned i = 0; i <= HALVES_MOST; i++)
        unsorted[i] = i < n ? (int32_t)(tags[i] >> form->shift) : NO_KEY;
    for (int j = 0; j <= (int)HALVES_MOST; j++)
        for (int i = 0; i <= (int)HALVES_MOST; i++)
            rank[i] += (unsorted[j] < unsorted[i]) | ((unsorted[j] == unsorted[i]) & (j < i));
    for (unsigned i = 0; i <= HALVES_MOST; i++) {
        key[1 + rank[i]] = unsorted[i];
        keys.marks |= (i < n ? tags[i] & 1 : 0) << rank[i];
    }
    for (unsigned i = 1; i <= n; i++) keys.zeros += zeros_between(form, key[i - 1], key[i]);
    write_lanes(shape, line, &keys, form);
}

/* Offer a key to a line of n keys. False: it is new; `gone` keys had to go for it, and the line
 * costs `cost` more. */
FOR_AVX2 static inline bool offer_lanes(const line_shape *shape, uint8_t *line,
                                        const gap_form *form, unsigned n, uint64_t tag,
                                        uint8_t *gone, uint64_t *cost) {
    lane_keys keys;
    uint64_t key = tag >> form->shift;
    read_lanes(line, form, n, &keys);
    unsigned below = lanes_below(&keys, key);
    if (below < n && lanes_of(&keys)[below + 1] == (int32_t)key) {
        unsigned bit = remainder_at(below, form->width);
        line[bit / 8] |= (uint8_t)(1u << bit % 8);
        return true;
    }
    const gap_form *then = enter_lanes(&keys, form, tag, gone);
    write_lanes(shape, line, &keys, then);
    *cost = keys.n * then->cost - n * form->cost;
    return false;
}
#else
#define is_usual(...) false
#define offer_lanes(...) false
#define sort_to_lanes(...) ((void)0)
#endif

#endif
