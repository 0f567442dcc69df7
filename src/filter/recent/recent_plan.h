/* recent_plan.h - the shapes that a line of `recent` can have at a given bound.
 *
 * What is planned here follows from `fpr` alone, once per filter. The essay of recent.c has a
 * drawing of each form, recent_plan.c says how the best shape is found.
 */
#ifndef WEIR_FILTER_RECENT_PLAN_H
#define WEIR_FILTER_RECENT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_BYTES 64u
#define LINE_BITS 512u
#define CODE_BITS 5u     /* that a line begins with: n of a flat one, else 16 and its form */
#define GAP_CODE 16u     /* the code of the first form with gaps */
#define GAP_FORMS 8u     /* of them, at most; 8 steps of a third lead from 17 keys to 127 */
#define WORDS_MOST 8u    /* entries of a flat line: in words, */
#define HALVES_MOST 15u  /* in half words */
#define ENTRIES_MAX 160u /* in any line: at fpr=50%, the highest there is, 140 fit */
#define LIST_BITS 8u     /* of a tag, at its high end, for a number below `lists` */
#define WIDTH_MAX 56u    /* of a remainder: with a shift of up to 7 bits it is read in one load */
#define COUNT_BITS 8u    /* for the number of keys, where it is written down */
#define SECTOR_BITS 3u   /* of the hand, */
#define SECTORS 8u       /* parts of a line, one of which it is in */
#define LANES_MOST 64u   /* keys of a line that is read into registers: marks are one word, */
#define LANE_MAX 25u     /* and a remainder fits 32 bits, wherever in a byte it begins */

#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */

/* A form with gaps. A key is the tag without its last `shift` bits. */
typedef struct {
    unsigned usual;                     /* keys of a full line, on average, */
    unsigned most;                      /* and at most */
    unsigned shift;                     /* bits of a tag that are not kept */
    unsigned gap_bits;                  /* b: of a gap, the others are in unary */
    unsigned width;                     /* of a remainder with its mark */
    unsigned gaps;                      /* the bit at which the gaps begin, behind the hand */
    bool counted;                       /* the number of keys stands before the gaps */
    bool last;                          /* there is no narrower form */
    bool in_lanes;                      /* eight keys at a time, see recent_lanes.h: */
    uint64_t cost;                      /* of each key */
    uint64_t sectors[SECTORS + 1];      /* where those of the hand begin, and the last ends */
    uint8_t four_first[LANES_MOST / 4]; /* of each four remainders, the first of 16 bytes, */
    uint8_t four_bit[LANES_MOST];       /* and where in these a remainder begins */
} gap_form;

typedef struct {
    unsigned lists;                      /* Q: what the first bits of a tag count */
    unsigned flat;                       /* entries of a flat line, at most */
    unsigned forms;                      /* with gaps, from the widest keys to the narrowest */
    uint64_t flat_cost[HALVES_MOST + 1]; /* of a flat line */
    gap_form form[GAP_FORMS];
} line_shape;

static inline const gap_form *last_form(const line_shape *shape) {
    return &shape->form[shape->forms - 1];
}

/* The best shape for a bound on false positives. */
void weir__recent_plan(line_shape *shape, double eps);

#endif
