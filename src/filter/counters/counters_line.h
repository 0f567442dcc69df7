/* counters_line.h - a key's counters in its line, all words at once.
 *
 * A key's counters lie in different groups, so no two are the same: group_ones() has the
 * lowest bit of each. A counter is raised by adding its one, unless it is at its top, so
 * that nothing is ever carried from one counter to the next.
 */
#ifndef WEIR_FILTER_COUNTERS_LINE_H
#define WEIR_FILTER_COUNTERS_LINE_H

#include "filter/counters/counters.h"
#include "filter/line/line_groups.h"

static inline void counters_plan(const weir__counters *c, group_plan *plan) {
    group_plan_make(plan, c->group, c->k, (unsigned)__builtin_ctz(c->width));
}

typedef uint8_t half_bytes __attribute__((vector_size(sizeof(half_line))));
typedef uint16_t half_shorts __attribute__((vector_size(sizeof(half_line))));

/* All bits of each counter, of a byte or two, that is equal in both. */
HOT half_line equal_in(half_line x, half_line y, unsigned width) {
    return width == 16 ? (half_line)((half_shorts)x == (half_shorts)y)
                       : (half_line)((half_bytes)x == (half_bytes)y);
}

/* The lowest bit of every counter that is not zero; that is at its top. */
HOT half_line used_in(half_line words, unsigned width) {
    const half_line zero = {0};
    if (width >= 8) return ~equal_in(words, zero, width) & weir__counters_lows(width);
    for (unsigned s = 1; s < width; s *= 2) words |= words >> s;
    return words & weir__counters_lows(width);
}
HOT half_line tops_in(half_line words, unsigned width) {
    const half_line zero = {0};
    if (width >= 8) return equal_in(words, ~zero, width) & weir__counters_lows(width);
    for (unsigned s = 1; s < width; s *= 2) words &= words >> s;
    return words & weir__counters_lows(width);
}

HOT line_halves load_line(const uint64_t *line) {
    return (line_halves){{load_half(line), load_half(line + HALF_WORDS)}};
}
HOT void store_line(uint64_t *line, line_halves words) {
    store_half(line, words.half[0]);
    store_half(line + HALF_WORDS, words.half[1]);
}

/* A one at each of the key's counters that is zero. */
HOT line_halves unused_ones(const line_halves *words, const line_halves *ones, unsigned width) {
    line_halves unused;
    for (unsigned h = 0; h < HALVES; h++)
        unused.half[h] = ones->half[h] & ~used_in(words->half[h], width);
    return unused;
}
HOT bool all_used(const line_halves *words, const line_halves *ones, unsigned width) {
    line_halves unused = unused_ones(words, ones, width);
    return !any_bit(unused.half[0] | unused.half[1]);
}

/* How many. Counters have more than one bit: two halves fit one. */
HOT uint64_t ones_in(const line_halves *ones) {
    return bits_in(ones->half[0] | ones->half[1] << 1);
}

/* One more, or one less, where there is a one. */
HOT void raise_ones(line_halves *words, const line_halves *ones, unsigned width) {
    for (unsigned h = 0; h < HALVES; h++)
        words->half[h] += ones->half[h] & ~tops_in(words->half[h], width);
}
HOT void lower_ones(line_halves *words, const line_halves *ones, unsigned width) {
    for (unsigned h = 0; h < HALVES; h++)
        words->half[h] -= ones->half[h] & ~tops_in(words->half[h], width);
}

/* --- the least of a key's counters -------------------------------------------------------- */

/* The lesser of each two counters, of a byte or two. */
HOT half_line lesser(half_line x, half_line y, unsigned width) {
    if (width == 16) {
        half_shorts a = (half_shorts)x, b = (half_shorts)y;
        return y ^ ((x ^ y) & (half_line)(a < b));
    }
    half_bytes a = (half_bytes)x, b = (half_bytes)y;
    return y ^ ((x ^ y) & (half_line)(a < b));
}

/* Narrow counters as bytes, the least of each byte. */
HOT half_line widen(half_line words, unsigned width) {
    const uint64_t keep = weir__counters_lows(8) * ((1u << width) - 1);
    half_line least = words & keep;
    for (unsigned s = width; s < 8; s += width) least = lesser(least, words >> s & keep, 8);
    return least;
}

#if defined(__x86_64__)
/* The same as least_in() below: at the end there is an instruction for it. By pointers: how
 * vectors are passed differs between code with AVX and without. */
FOR_AVX2 static inline unsigned least_in_avx2(const half_line *low, const half_line *high,
                                              unsigned wide) {
    if (wide == 16) {
        __m256i least = _mm256_min_epu16((__m256i)*low, (__m256i)*high);
        __m128i eight =
            _mm_min_epu16(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
        return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(eight)) & 0xffff;
    }
    __m256i least = _mm256_min_epu8((__m256i)*low, (__m256i)*high);
    __m128i all = _mm_min_epu8(_mm256_castsi256_si128(least), _mm256_extracti128_si256(least, 1));
    __m128i pairs = _mm_min_epu8(_mm_srli_epi16(all, 8), _mm_and_si128(all, _mm_set1_epi16(0xff)));
    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(pairs)) & 0xff;
}
#endif

/* The least of all counters of a line: a word is folded upon itself, and then the words upon
 * each other. */
HOT unsigned least_in(half_line low, half_line high, unsigned width, cpu_kind cpu) {
    const unsigned wide = width < 8 ? 8 : width;
    uint64_t keep = (UINT64_C(1) << wide) - 1, all = keep;
    if (width < 8) low = widen(low, width), high = widen(high, width);
#if defined(__x86_64__)
    if (cpu >= CPU_AVX2) return least_in_avx2(&low, &high, wide);
#endif
    (void)cpu; /* elsewhere there is one way */
    half_line least = lesser(low, high, wide);
    for (unsigned s = 32; s >= wide; s /= 2) least = lesser(least, least >> s, wide);
    for (unsigned i = 0; i < HALF_WORDS; i++) all = (least[i] & keep) < all ? least[i] & keep : all;
    return (unsigned)all;
}

/* The least of the key's counters, and a one at each that has this value. */
HOT unsigned least_of(const line_halves *words, const line_halves *ones, unsigned width,
                      line_halves *least_ones, cpu_kind cpu) {
    half_line mine_only[HALVES];
    for (unsigned h = 0; h < HALVES; h++)
        mine_only[h] = words->half[h] | ~((ones->half[h] << width) - ones->half[h]);
    unsigned least = least_in(mine_only[0], mine_only[1], width, cpu);
    for (unsigned h = 0; h < HALVES; h++)
        least_ones->half[h] =
            ones->half[h] & ~used_in(words->half[h] ^ weir__counters_lows(width) * least, width);
    return least;
}

#endif
