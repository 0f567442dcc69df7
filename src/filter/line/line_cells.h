/* line_cells.h - which cells of a line belong to a key, all eight words at once.
 *
 * The block layouts give a key K cells in one line of eight words: one in a first
 * word, one in the next, around and around. A cell of a word takes six bits of a
 * mix of the key's hash; twelve, scaled, where a word does not have a power of two
 * of them, for six would favour some. Sixty bits of each mix are used; the top three of the first
 * mix choose the first word.
 *
 * Cell j belongs to lane (first + j) % 8 and comes from mix j / a, where a mix has
 * bits for a cells. Cells of one round of the lanes and one mix are found together
 * in one step: the mix is shifted by another distance in each lane. The tables of the
 * steps go around twice, so that beginning to read them 8 - first entries late turns
 * them by the first word.
 */
#ifndef WEIR_FILTER_LINE_CELLS_H
#define WEIR_FILTER_LINE_CELLS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/cells.h"
#include "core/cpu.h"
#include "core/rng.h"

enum {
    LINE_CELLS_MOST = 32,                                 /* cells of a key */
    LINE_ROUNDS_MOST = LINE_CELLS_MOST / WEIR__LINE_WORDS /* rounds of a key: a cell in each word */
};

/* Half a line, in one register where these are large enough. How it is passed to a
 * function would depend on the processor, but all of these are inlined. */
#pragma GCC diagnostic ignored "-Wpsabi"
typedef uint64_t half_line __attribute__((vector_size(4 * WEIR__LINE_WORDS)));
enum {
    HALVES = 2,                            /* vectors of 32 bytes that a line is */
    HALF_WORDS = WEIR__LINE_WORDS / HALVES /* words of one */
};
typedef struct {
    half_line half[HALVES];
} line_halves;

typedef struct {
    unsigned first;                       /* the first cell of the step */
    bool next_mix;                        /* it begins a new mix */
    uint64_t shift[2 * WEIR__LINE_WORDS]; /* where in the mix a lane's cell begins */
    uint64_t keep[2 * WEIR__LINE_WORDS];  /* all ones in the lanes that have one */
} line_step;

/* By the number of cells of a key: the steps, and the cells that the last step keeps. */
typedef struct {
    const line_step *step;
    unsigned steps;
    uint64_t last[2 * WEIR__LINE_WORDS];
} line_plan;

/* A round of the lanes, five cells to a mix: its first mix, where in theirs the lanes' cells
 * begin, and all ones in the lanes whose cells are of the second and, in odd rounds, of the
 * third. */
typedef struct {
    unsigned mix;
    uint64_t shift[2 * WEIR__LINE_WORDS], second[2 * WEIR__LINE_WORDS], third[2 * WEIR__LINE_WORDS];
} line_round;
extern const line_round line_rounds[LINE_ROUNDS_MOST];

line_plan line_plan_of(unsigned K, unsigned width);
line_plan line_plan_scaled(unsigned K); /* of twelve bits each, for any width */

HOT half_line load_half(const uint64_t *from) {
    half_line half;
    memcpy(&half, from, sizeof half);
    return half;
}
HOT void store_half(uint64_t *to, half_line half) { memcpy(to, &half, sizeof half); }

HOT uint64_t bits_in(half_line half) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < HALF_WORDS; i++) sum += (uint64_t)__builtin_popcountll(half[i]);
    return sum;
}
HOT bool any_bit(half_line half) { return (half[0] | half[1] | half[2] | half[3]) != 0; }

/* The key's cells, all bits of each one set. Scaling twelve bits to a power of two is
 * taking the highest of them. */
HOT void line_cells_by(const line_plan *plan, uint64_t rest, unsigned width, bool scaled,
                       line_halves *cells) {
    const bool even = (width & (width - 1)) == 0;
    uint64_t mix = weir__mix64(rest), per_word = 64 / width, max = (1u << width) - 1;
    unsigned late = (unsigned)-(mix >> 61) % WEIR__LINE_WORDS;
    line_halves sum = {0};
    for (unsigned i = 0; i < plan->steps; i++) {
        const line_step *step = &plan->step[i];
        const uint64_t *keep = (i + 1 < plan->steps ? step->keep : plan->last) + late;
        if (step->next_mix) mix = weir__mix64(rest += WEIR__GOLD);
        const uint64_t from = scaled && even ? mix >> 6 : mix;
        const half_line all = {from, from, from, from};
        for (unsigned h = 0; h < HALVES; h++) {
            half_line cell = all >> load_half(step->shift + late + h * HALF_WORDS);
            if (scaled && even) cell &= 64 - width;
            else if (scaled) cell = ((cell & 0xfff) * per_word >> 12) * width;
            else cell = (cell & (per_word - 1)) * width;
            sum.half[h] |= max << cell & load_half(keep + h * HALF_WORDS);
        }
    }
    *cells = sum;
}

/* Mixes of LINE_KEYS keys side by side: mixes[m * LINE_KEYS + i] is the mix m of key i. */
enum { LINE_KEYS = 16, LINE_MIXES_MOST = (LINE_CELLS_MOST + 4) / 5 };
HOT void line_mixes(unsigned mixes, const uint64_t *rests, uint64_t *mix) {
    for (unsigned m = 0; m < mixes; m++)
        for (unsigned i = 0; i < LINE_KEYS; i += HALF_WORDS) {
            half_line x = load_half(rests + i) + m * WEIR__GOLD;
            x ^= x >> 30, x *= WEIR__MIX_FIRST;
            x ^= x >> 27, x *= WEIR__MIX_SECOND;
            store_half(mix + m * LINE_KEYS + i, x ^ x >> 31);
        }
}

/* The same cells by their first bits, scaled: for each round of the lanes eight words of
 * `at`. `mix`: the first of the key's, others LINE_KEYS apart, as many as whole rounds take.
 * Returns by how much the lanes are turned: lane i of a round has its cell number
 * (i + late) % 8. */
HOT unsigned line_places_by(unsigned rounds, const uint64_t *mix, unsigned width, uint64_t *at) {
    const bool even = (width & (width - 1)) == 0;
    unsigned late = (unsigned)-(*mix >> 61) % WEIR__LINE_WORDS;
    for (unsigned r = 0; r < rounds; r++) {
        const line_round *round = &line_rounds[r];
        const uint64_t *from = mix + round->mix * LINE_KEYS;
        uint64_t a = from[0], b = from[LINE_KEYS], c = r % 2 ? from[2 * LINE_KEYS] : 0;
        for (unsigned h = 0; h < HALVES; h++, at += HALF_WORDS) {
            unsigned lane = late + h * HALF_WORDS;
            half_line second = load_half(round->second + lane);
            half_line bits =
                ((half_line){a, a, a, a} & ~second) | ((half_line){b, b, b, b} & second);
            if (r % 2) {
                half_line third = load_half(round->third + lane);
                bits = (bits & ~third) | ((half_line){c, c, c, c} & third);
            }
            bits >>= load_half(round->shift + lane);
            store_half(at, even ? bits >> 6 & (64 - width)
                                : ((bits & 0xfff) * (64 / width) >> 12) * width);
        }
    }
    return late;
}

HOT void line_cells(const line_plan *plan, uint64_t rest, unsigned width, line_halves *cells) {
    line_cells_by(plan, rest, width, width == 3, cells);
}

#endif
