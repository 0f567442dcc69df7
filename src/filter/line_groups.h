/* line_groups.h - a key's cells in the k groups of a line, all words at once.
 *
 * weir__find_groups() (lines.h) tells where they are: a quarter of a mix of the key's hash
 * for each group. Sixteen groups, from four mixes, are a block. In one step each word of
 * the line gets the cell of one group of a block: the word picks the mix, shifts its quarter
 * down, scales it to the group, and adds where the group begins, counted from the word's
 * own first bit. A cell that lies in another word, of a group that two share, comes out
 * negative or beyond the end and is left out. So a block takes as many steps as a word has
 * groups at most, whole or in part.
 */
#ifndef WEIR_FILTER_LINE_GROUPS_H
#define WEIR_FILTER_LINE_GROUPS_H

#include "filter/line_cells.h"
#include "filter/lines.h"

enum { GROUP_BLOCK = 16, GROUP_STEPS_MOST = 32 };

typedef uint32_t half_ints __attribute__((vector_size(sizeof(half_line))));

typedef struct {
    unsigned block;
    uint32_t mix[2 * WEIR__LINE_WORDS]; /* which half words of the block's mixes a word picks */
    uint64_t shift[WEIR__LINE_WORDS];   /* where in the mix */
    uint64_t begins[WEIR__LINE_WORDS];  /* the group, in bits from the word's first */
} group_step;

typedef struct {
    unsigned group, shift, steps; /* cells of a group; bits of a cell, as a shift */
    group_step step[GROUP_STEPS_MOST];
} group_plan;

/* Cells of 1 << shift bits: at most 64 groups of single bits, else 32. */
void group_plan_make(group_plan *plan, unsigned group, unsigned k, unsigned shift);

/* For each word its mix; clang shuffles by constants only. */
HOT half_line pick_mixes(half_line mixes, const uint32_t *halves) {
#if defined(__clang__)
    half_line picked = {0};
    for (unsigned i = 0; i < HALF_WORDS; i++) picked[i] = mixes[halves[2 * i] / 2];
    return picked;
#else
    half_ints pick;
    memcpy(&pick, halves, sizeof pick);
    return (half_line)__builtin_shuffle((half_ints)mixes, pick);
#endif
}

/* The first bit of each of the key's cells. */
HOT line_halves group_ones(const group_plan *plan, uint64_t rest) {
    const uint64_t gold = UINT64_C(0x9e3779b97f4a7c15);
    line_halves sum = {0};
    half_line mixes = {0};
    unsigned next = 0;
    for (unsigned i = 0; i < plan->steps; i++) {
        const group_step *step = &plan->step[i];
        if (step->block == next) {
            mixes = (half_line){weir__mix64(rest), weir__mix64(rest + gold),
                                weir__mix64(rest + 2 * gold), weir__mix64(rest + 3 * gold)};
            rest += 4 * gold;
            next++;
        }
        for (unsigned h = 0; h < HALVES; h++) {
            half_line mix = pick_mixes(mixes, step->mix + 2 * h * HALF_WORDS);
            half_line cell = mix >> load_half(step->shift + h * HALF_WORDS) & 0xffff;
            cell = (half_line)((half_ints)cell * plan->group) >> 16 << plan->shift;
            half_line at = load_half(step->begins + h * HALF_WORDS) + cell;
            half_line inside = (half_line)(at >> 6 == 0), one = (half_line){1, 1, 1, 1};
            sum.half[h] |= one << (at & 63) & inside;
        }
    }
    return sum;
}

#endif
