/* counters_line.h - a key's counters in its line, all words at once.
 *
 * A key's counters lie in different groups, so no two are the same: group_ones() has the
 * lowest bit of each. A counter is raised by adding its one, unless it is at its top, so
 * that nothing is ever carried from one counter to the next.
 */
#ifndef WEIR_FILTER_COUNTERS_LINE_H
#define WEIR_FILTER_COUNTERS_LINE_H

#include "filter/counters.h"
#include "filter/line_groups.h"

static inline void counters_plan(const weir__counters *c, group_plan *plan) {
    group_plan_make(plan, c->group, c->k, (unsigned)__builtin_ctz(c->width));
}

/* The lowest bit of every counter that is not zero; that is at its top. */
HOT half_line used_in(half_line words, unsigned width) {
    for (unsigned s = 1; s < width; s *= 2) words |= words >> s;
    return words & weir__counters_lows(width);
}
HOT half_line tops_in(half_line words, unsigned width) {
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

HOT bool all_used(const line_halves *words, const line_halves *ones, unsigned width) {
    half_line missing = {0};
    for (unsigned h = 0; h < HALVES; h++)
        missing |= ones->half[h] & ~used_in(words->half[h], width);
    return !any_bit(missing);
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

typedef uint8_t half_bytes __attribute__((vector_size(sizeof(half_line))));
typedef uint16_t half_shorts __attribute__((vector_size(sizeof(half_line))));

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

/* The least of all counters of a line: a word is folded upon itself, and then the words upon
 * each other. */
HOT unsigned least_in(half_line low, half_line high, unsigned width) {
    const unsigned wide = width < 8 ? 8 : width;
    uint64_t keep = (UINT64_C(1) << wide) - 1, all = keep;
    half_line least =
        width < 8 ? lesser(widen(low, width), widen(high, width), 8) : lesser(low, high, width);
    for (unsigned s = 32; s >= wide; s /= 2) least = lesser(least, least >> s, wide);
    for (unsigned i = 0; i < HALF_WORDS; i++) all = (least[i] & keep) < all ? least[i] & keep : all;
    return (unsigned)all;
}

/* The least of the key's counters, and a one at each that has this value. */
HOT unsigned least_of(const line_halves *words, const line_halves *ones, unsigned width,
                      line_halves *least_ones) {
    half_line mine_only[HALVES];
    for (unsigned h = 0; h < HALVES; h++)
        mine_only[h] = words->half[h] | ~((ones->half[h] << width) - ones->half[h]);
    unsigned least = least_in(mine_only[0], mine_only[1], width);
    for (unsigned h = 0; h < HALVES; h++)
        least_ones->half[h] =
            ones->half[h] & ~used_in(words->half[h] ^ weir__counters_lows(width) * least, width);
    return least;
}

#endif
