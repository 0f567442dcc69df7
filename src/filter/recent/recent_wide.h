/* recent_wide.h - a whole line of `recent` at once, in one register or in two.
 *
 * A new key moves many bits of its line by a few places, and from where to where is different
 * each time. Word by word that takes a loop whose length nobody can guess; in registers it takes
 * some dozen steps and no branch: move all bits, then choose by a mask which of them count.
 * AVX-512 has registers as long as a line, AVX2 half as long: there a line is a pair.
 */
#ifndef WEIR_FILTER_RECENT_WIDE_H
#define WEIR_FILTER_RECENT_WIDE_H

#include "filter/recent/recent_bits.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* ---- a line in one register ---- */

/* The whole line in one register: bits from `place` on, and a value at `place`. */
FOR_AVX512 static inline __m512i wide_from(int place) {
    const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    __m512i x = _mm512_subs_epu16(_mm512_set1_epi64(place), base); /* 0 in the words above */
    return _mm512_sllv_epi64(_mm512_set1_epi64(-1), x);
}
FOR_AVX512 static inline __m512i wide_at(uint64_t value, int place) {
    const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    __m512i x = _mm512_sub_epi64(_mm512_set1_epi64(place), base),
            v = _mm512_set1_epi64((long long)value);
    __m512i negative = _mm512_sub_epi64(_mm512_setzero_si512(), x);
    return _mm512_or_si512(_mm512_sllv_epi64(v, x), _mm512_srlv_epi64(v, negative));
}
/* Bits [from, to) of one line, the others of another. */
FOR_AVX512 static inline __m512i wide_blend(__m512i line, __m512i moved, int from, int to) {
    __m512i mask = _mm512_andnot_si512(wide_from(to), wide_from(from));
    return _mm512_ternarylogic_epi64(mask, moved, line, 0xca); /* mask ? moved : line */
}
FOR_AVX512 static inline __m512i wide_shift(__m512i line, int places, bool up) {
    const __m512i zero = _mm512_setzero_si512(), by = _mm512_set1_epi64(places);
    __m512i higher = _mm512_shldv_epi64(line, _mm512_alignr_epi64(line, zero, 7), by);
    __m512i lower = _mm512_shrdv_epi64(line, _mm512_alignr_epi64(zero, line, 1), by);
    return _mm512_mask_mov_epi64(lower, (__mmask8)-up, higher);
}
/* A value turned to its place in a word: that is right in all words, as far as it is in them. */
FOR_AVX512 static inline __m512i wide_turned(uint64_t value, unsigned place) {
    return _mm512_set1_epi64((long long)(value << place % 64 | value >> (-place % 64)));
}
/* Bits [from, to) move up by `width`, and a value comes in below them. */
FOR_AVX512 static inline __m512i wide_enter(__m512i line, int from, int to, int width,
                                            uint64_t value) {
    __m512i moved = wide_shift(line, width, true), above = wide_from(from + width);
    __m512i new = wide_turned(value, (unsigned)from);
    new = _mm512_ternarylogic_epi64(above, moved, new, 0xca); /* above ? moved : new */
    return wide_blend(line, new, from, to);
}
FOR_AVX512 static inline void splice_wide(uint8_t *at, bool back, unsigned head, unsigned stop,
                                          unsigned low, unsigned high, unsigned width,
                                          uint64_t remainder) {
    __m512i line = _mm512_loadu_si512(at);
    __m512i header = wide_shift(line, 1, !back), body = wide_shift(line, (int)width, back);
    int from = (int)pick(back, stop, head + 1), to = (int)pick(back, head - 1, stop + 1);
    int moved = (int)pick(back, width, -width), place = (int)pick(back, low, high - width);
    __m512i new = wide_blend(line, header, from, to);
    new = wide_blend(new, body, (int)low + moved, (int)high + moved);
    new = wide_blend(new, wide_at(remainder, place), place, place + (int)width);
    _mm512_storeu_si512(at, _mm512_or_si512(new, wide_at(1, (int)head - back)));
}
/* The body alone: a remainder comes in at one end of the bits that change, [from, to), and the
 * others move towards the other end. */
FOR_AVX512 static inline __m512i wide_splice(__m512i line, bool back, unsigned low, unsigned high,
                                             unsigned width, uint64_t remainder) {
    unsigned from = low - pick(back, 0, width), to = high + pick(back, width, 0);
    unsigned border = pick(back, low + width, high - width), place = pick(back, low, border);
    __m512i body = wide_shift(line, (int)width, back), above = wide_from((int)border);
    __m512i new = wide_turned(remainder, place);
    if (back) new = _mm512_ternarylogic_epi64(above, body, new, 0xca); /* above ? body : new */
    else new = _mm512_ternarylogic_epi64(above, new, body, 0xca);
    return wide_blend(line, new, (int)from, (int)to);
}
/* with some bits of the first word flipped, */
FOR_AVX512 static inline void splice_body_wide(uint8_t *at, uint64_t flip, bool back, unsigned low,
                                               unsigned high, unsigned width, uint64_t remainder) {
    __m512i line = _mm512_loadu_si512(at);
    line = _mm512_xor_si512(line, _mm512_maskz_set1_epi64(1, (long long)flip));
    _mm512_storeu_si512(at, wide_splice(line, back, low, high, width, remainder));
}
/* or with one bit cleared and another set. */
FOR_AVX512 static inline void splice_map_wide(uint8_t *at, unsigned in, unsigned out, bool back,
                                              unsigned low, unsigned high, unsigned width,
                                              uint64_t remainder) {
    __m512i line = _mm512_andnot_si512(wide_at(1, (int)out), _mm512_loadu_si512(at));
    line = _mm512_or_si512(line, wide_at(1, (int)in));
    _mm512_storeu_si512(at, wide_splice(line, back, low, high, width, remainder));
}

/* ---- a line in two registers ---- */

typedef struct {
    __m256i low, high;
} line_pair;

FOR_AVX2 static inline line_pair pair_load(const uint8_t *at) {
    return (line_pair){_mm256_loadu_si256((const __m256i *)at),
                       _mm256_loadu_si256((const __m256i *)(at + LINE_BYTES / 2))};
}
FOR_AVX2 static inline void pair_store(uint8_t *at, line_pair line) {
    _mm256_storeu_si256((__m256i *)at, line.low);
    _mm256_storeu_si256((__m256i *)(at + LINE_BYTES / 2), line.high);
}

/* How far `place` is from where each word begins. */
FOR_AVX2 static inline line_pair pair_places(int place) {
    __m256i x = _mm256_sub_epi64(_mm256_set1_epi64x(place), _mm256_setr_epi64x(0, 64, 128, 192));
    return (line_pair){x, _mm256_sub_epi64(x, _mm256_set1_epi64x(256))};
}

/* Bits from a place on; a shift by less than nothing counts as one by far too much. */
FOR_AVX2 static inline __m256i bits_from(__m256i places) {
    __m256i none = _mm256_setzero_si256();
    return _mm256_or_si256(_mm256_cmpgt_epi64(none, places),
                           _mm256_sllv_epi64(_mm256_set1_epi64x(-1), places));
}
FOR_AVX2 static inline line_pair pair_from(int place) {
    line_pair x = pair_places(place);
    return (line_pair){bits_from(x.low), bits_from(x.high)};
}

FOR_AVX2 static inline __m256i bits_at(__m256i value, __m256i places) {
    __m256i before = _mm256_sub_epi64(_mm256_setzero_si256(), places);
    return _mm256_or_si256(_mm256_sllv_epi64(value, places), _mm256_srlv_epi64(value, before));
}
FOR_AVX2 static inline line_pair pair_at(uint64_t value, int place) {
    line_pair x = pair_places(place);
    __m256i v = _mm256_set1_epi64x((long long)value);
    return (line_pair){bits_at(v, x.low), bits_at(v, x.high)};
}

FOR_AVX2 static inline line_pair pair_and(line_pair a, line_pair b) {
    return (line_pair){_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
}
FOR_AVX2 static inline line_pair pair_or(line_pair a, line_pair b) {
    return (line_pair){_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)};
}
FOR_AVX2 static inline line_pair pair_xor(line_pair a, line_pair b) {
    return (line_pair){_mm256_xor_si256(a.low, b.low), _mm256_xor_si256(a.high, b.high)};
}
/* The bits of b that a does not have. */
FOR_AVX2 static inline line_pair pair_less(line_pair a, line_pair b) {
    return (line_pair){_mm256_andnot_si256(a.low, b.low), _mm256_andnot_si256(a.high, b.high)};
}
/* The bits of b where the mask is set, and of a where not. */
FOR_AVX2 static inline line_pair pair_choose(line_pair a, line_pair b, line_pair mask) {
    return pair_xor(a, pair_and(pair_xor(a, b), mask));
}

/* Up: each word gets the lowest `places` bits from the one below; down: the other way round. */
FOR_AVX2 static inline line_pair pair_up(line_pair line, int places) {
    const __m128i by = _mm_cvtsi32_si128(places), rest = _mm_cvtsi32_si128(64 - places);
    __m256i low = _mm256_permute4x64_epi64(line.low, _MM_SHUFFLE(2, 1, 0, 3));
    __m256i high = _mm256_permute4x64_epi64(line.high, _MM_SHUFFLE(2, 1, 0, 3));
    high = _mm256_blend_epi32(high, low, 0x03);
    low = _mm256_blend_epi32(low, _mm256_setzero_si256(), 0x03);
    return (line_pair){
        _mm256_or_si256(_mm256_sll_epi64(line.low, by), _mm256_srl_epi64(low, rest)),
        _mm256_or_si256(_mm256_sll_epi64(line.high, by), _mm256_srl_epi64(high, rest))};
}
FOR_AVX2 static inline line_pair pair_down(line_pair line, int places) {
    const __m128i by = _mm_cvtsi32_si128(places), rest = _mm_cvtsi32_si128(64 - places);
    __m256i low = _mm256_permute4x64_epi64(line.low, _MM_SHUFFLE(0, 3, 2, 1));
    __m256i high = _mm256_permute4x64_epi64(line.high, _MM_SHUFFLE(0, 3, 2, 1));
    low = _mm256_blend_epi32(low, high, 0xc0);
    high = _mm256_blend_epi32(high, _mm256_setzero_si256(), 0xc0);
    return (line_pair){
        _mm256_or_si256(_mm256_srl_epi64(line.low, by), _mm256_sll_epi64(low, rest)),
        _mm256_or_si256(_mm256_srl_epi64(line.high, by), _mm256_sll_epi64(high, rest))};
}
FOR_AVX2 static inline line_pair pair_shift(line_pair line, int places, bool up) {
    if (__builtin_constant_p(up)) return up ? pair_up(line, places) : pair_down(line, places);
    __m256i mask = _mm256_set1_epi64x(-(long long)up);
    return pair_choose(pair_down(line, places), pair_up(line, places), (line_pair){mask, mask});
}

/* What wide_splice() does. The remainder comes in at one end of the bits that change, [from, to),
 * and the others move towards the other end. */
FOR_AVX2 static inline line_pair pair_splice(line_pair line, bool back, unsigned low, unsigned high,
                                             unsigned width, uint64_t remainder) {
    int from = (int)(low - pick(back, 0, width)), to = (int)(high + pick(back, width, 0));
    int border = (int)pick(back, low + width, high - width),
        place = (int)pick(back, low, high - width);
    __m256i below = _mm256_set1_epi64x((long long)pick64(back, 0, UINT64_MAX));
    line_pair moved = pair_xor(pair_from(border), (line_pair){below, below});
    line_pair body = pair_and(pair_shift(line, (int)width, back), moved);
    line_pair changed = pair_less(pair_from(to), pair_from(from));
    return pair_choose(line, pair_or(body, pair_at(remainder, place)), changed);
}
FOR_AVX2 static inline void splice_body_pair(uint8_t *at, uint64_t flip, bool back, unsigned low,
                                             unsigned high, unsigned width, uint64_t remainder) {
    line_pair line = pair_load(at);
    line.low = _mm256_xor_si256(line.low, _mm256_setr_epi64x((long long)flip, 0, 0, 0));
    pair_store(at, pair_splice(line, back, low, high, width, remainder));
}
FOR_AVX2 static inline void splice_map_pair(uint8_t *at, unsigned in, unsigned out, bool back,
                                            unsigned low, unsigned high, unsigned width,
                                            uint64_t remainder) {
    line_pair line = pair_less(pair_at(1, (int)out), pair_load(at));
    line = pair_or(line, pair_at(1, (int)in));
    pair_store(at, pair_splice(line, back, low, high, width, remainder));
}
FOR_AVX2 static inline void splice_pair(uint8_t *at, bool back, unsigned head, unsigned stop,
                                        unsigned low, unsigned high, unsigned width,
                                        uint64_t remainder) {
    line_pair line = pair_load(at), header = pair_shift(line, 1, !back);
    int from = (int)pick(back, stop, head + 1), to = (int)pick(back, head - 1, stop + 1);
    line_pair changed = pair_less(pair_from(to), pair_from(from));
    line_pair new = pair_or(pair_choose(line, header, changed), pair_at(1, (int)head - back));
    /* the header moves no bits of the body, nor the other way round */
    pair_store(at, pair_splice(new, back, low, high, width, remainder));
}
#else
#define splice_wide(...) ((void)0)
#define splice_body_wide(...) ((void)0)
#define splice_map_wide(...) ((void)0)
#define splice_pair(...) ((void)0)
#define splice_body_pair(...) ((void)0)
#define splice_map_pair(...) ((void)0)
#endif

#endif
