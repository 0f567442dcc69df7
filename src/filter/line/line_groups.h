/* line_groups.h - a key's cells in the k groups of a line, all words at once.
 *
 * weir__find_groups() (lines.h) tells where they are: a quarter of a mix of the key's hash
 * for each group. Groups of eight mixes, 32 of them, are a block. In one step each word of
 * the line gets the cell of one group of a block: the word picks the mix, shifts its quarter
 * down, scales it to the group, and adds where the group begins, counted from the word's
 * own first bit. A cell that lies in another word, of a group that two share, comes out
 * negative or beyond the end and is left out. So a block takes as many steps as a word has
 * groups at most, whole or in part.
 *
 * AVX-512 has all eight mixes, and all eight words, in one register.
 */
#ifndef WEIR_FILTER_LINE_GROUPS_H
#define WEIR_FILTER_LINE_GROUPS_H

#include "filter/line/line_cells.h"
#include "filter/line/lines.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    GROUP_MIXES = 8,               /* mixes of a block: one register of AVX-512 */
    GROUP_BLOCK = 4 * GROUP_MIXES, /* groups of a block: a mix has 16 bits for each of four */
    GROUP_STEPS_MOST = 32          /* steps of a plan */
};

typedef uint32_t half_ints __attribute__((vector_size(sizeof(half_line))));

typedef struct {
    unsigned block;
    uint32_t mix[2 * WEIR__LINE_WORDS]; /* which half words of the block's mixes a word picks */
    uint64_t shift[WEIR__LINE_WORDS];   /* where in the mix */
    uint64_t begins[WEIR__LINE_WORDS];  /* the group, in bits from the word's first */
} group_step;

typedef struct {
    unsigned group, shift, steps; /* cells of a group; bits of a cell, as a shift */
    bool long_blocks;             /* the first four mixes are not enough */
    group_step step[GROUP_STEPS_MOST];
} group_plan;

/* Cells of 1 << shift bits: at most 64 groups of single bits, else 32. */
void group_plan_make(group_plan *plan, unsigned group, unsigned k, unsigned shift);

/* For each word its mix; clang shuffles by constants only. */
HOT half_line pick_mixes(const half_line mixes[HALVES], const uint32_t *halves) {
#if defined(__clang__)
    half_line picked = {0};
    for (unsigned i = 0; i < HALF_WORDS; i++)
        picked[i] = mixes[halves[2 * i] / 8][halves[2 * i] / 2 % HALF_WORDS];
    return picked;
#else
    half_ints pick;
    memcpy(&pick, halves, sizeof pick);
    return (half_line)__builtin_shuffle((half_ints)mixes[0], (half_ints)mixes[1], pick);
#endif
}

HOT half_line four_mixes(uint64_t rest) {
    return (half_line){weir__mix64(rest), weir__mix64(rest + WEIR__GOLD),
                       weir__mix64(rest + 2 * WEIR__GOLD), weir__mix64(rest + 3 * WEIR__GOLD)};
}

#if defined(__x86_64__)
FOR_AVX512 static inline __m512i eight_mixes(uint64_t rest) {
    const __m512i first = _mm512_set1_epi64((long long)WEIR__MIX_FIRST),
                  second = _mm512_set1_epi64((long long)WEIR__MIX_SECOND),
                  steps = _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                             _mm512_set1_epi64((long long)WEIR__GOLD));
    __m512i x = _mm512_add_epi64(_mm512_set1_epi64((long long)rest), steps);
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), first);
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), second);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

/* The group is the lowest quarter of each word of `groups`, so that the high half of the
 * product with what is shifted down is the cell, and nothing else. A place below 0 or beyond
 * 63 shifts the one out of its word. */
FOR_AVX512 static inline line_halves group_ones_wide(const group_plan *plan, uint64_t rest) {
    const __m512i groups = _mm512_set1_epi64(plan->group), one = _mm512_set1_epi64(1);
    const __m128i shift = _mm_cvtsi32_si128((int)plan->shift);
    __m512i sum = _mm512_setzero_si512(), mixes = eight_mixes(rest);
    unsigned block = 0;
    for (const group_step *step = plan->step, *end = step + plan->steps; step < end; step++) {
        if (step->block != block) {
            block = step->block;
            mixes = eight_mixes(rest + block * GROUP_MIXES * WEIR__GOLD);
        }
        __m512i mix = _mm512_permutexvar_epi32(_mm512_loadu_si512(step->mix), mixes);
        __m512i cell =
            _mm512_mulhi_epu16(_mm512_srlv_epi64(mix, _mm512_loadu_si512(step->shift)), groups);
        __m512i at =
            _mm512_add_epi64(_mm512_sll_epi64(cell, shift), _mm512_loadu_si512(step->begins));
        sum = _mm512_or_si512(sum, _mm512_sllv_epi64(one, at));
    }
    line_halves halves;
    memcpy(&halves, &sum, sizeof halves);
    return halves;
}
#endif

/* The first bit of each of the key's cells. */
HOT line_halves group_ones(const group_plan *plan, uint64_t rest, cpu_kind cpu) {
#if defined(__x86_64__)
    if (cpu == CPU_AVX512) return group_ones_wide(plan, rest);
#endif
    (void)cpu; /* elsewhere there is one way */
    const uint64_t four = 4 * WEIR__GOLD;
    line_halves sum = {0};
    half_line mixes[HALVES] = {{0}};
    unsigned next = 0;
    for (unsigned i = 0; i < plan->steps; i++) {
        const group_step *step = &plan->step[i];
        if (step->block == next) {
            mixes[0] = four_mixes(rest);
            if (plan->long_blocks) mixes[1] = four_mixes(rest + four);
            rest += 2 * four;
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
