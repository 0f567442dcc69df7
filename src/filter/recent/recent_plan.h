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
#define ENTRIES_MAX 240u   /* the most that a line may hold: lists of one bit, and a bit each */
#define WIDTH_MAX 56u      /* of a remainder: with a shift of up to 7 bits it is read in one load */
#define WORDS_MOST 8u      /* entries of a flat line: in words, */
#define HALVES_MOST 15u    /* in half words */
#define CUTS_MOST 6u       /* widths of a line in lists */
#define SECTOR_BITS 3u     /* of the hand of a clocked line, */
#define SECTORS 8u         /* which is in one of so many parts */
#define CLOCK_LANES 4u     /* registers for its remainders, sixteen each */
#define CLOCK_LANE_MAX 25u /* bits of one that fits 32, wherever in a byte it begins */

#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */

enum { SHARED, CLOCKED, SPREAD, FORMS }; /* what a line that is no longer flat can look like */

/* The bits that remainders keep when a line grows from n entries to one more. */
typedef struct {
    unsigned n;
    uint64_t keep[8];
} line_cut;

typedef struct {
    unsigned lists;                 /* Q */
    unsigned most;                  /* entries in a line, at most */
    unsigned fair;                  /* entries that every line may have */
    unsigned flat;                  /* entries of a flat line, at most */
    unsigned list_bits;             /* of a list's number */
    bool one_word;                  /* the header is never longer */
    bool in_pairs;                  /* two remainders are read at once */
    unsigned marked;                /* entries in lists that have marks, at most */
    uint8_t width[ENTRIES_MAX + 2]; /* of a remainder with its mark, for n entries */
    uint32_t cost[ENTRIES_MAX + 2]; /* chance match for n entries, in budget units */
    line_cut cuts[CUTS_MOST];       /* in order */
} shared_form;

typedef struct {
    unsigned code;
    unsigned lists;       /* Q' */
    unsigned finer;       /* Q' = Q 2^finer */
    unsigned width;       /* of a remainder, */
    unsigned extra_width; /* and with the number of its list before it */
    unsigned count_bits;  /* of the number of extras */
    unsigned map;         /* the bit at which the map begins, */
    unsigned extras;      /* and the extras */
    unsigned words;       /* that the map reaches into */
    unsigned most;        /* entries, at most; 0: not to be had */
    uint64_t cost;        /* of any line in this form */
} spread_form;

typedef struct {
    unsigned entries; /* keys of a shared line that becomes one; 0: not to be had */
    unsigned usual;   /* keys, on average, */
    unsigned most;    /* and at most */
    unsigned code;
    unsigned key_bits;             /* of a key, besides its list */
    unsigned gap_bits;             /* b: of a gap, the others are in unary */
    unsigned width;                /* of a remainder with its mark */
    unsigned gaps;                 /* the bit at which the gaps begin, behind the hand */
    uint64_t cost;                 /* of any line in this form */
    uint64_t sectors[SECTORS + 1]; /* where those of the hand begin, and the last ends */
    /* for reading sixteen remainders at once, each into a word of 32 bits: */
    bool in_lanes;
    uint8_t lane_bytes[CLOCK_LANES][LINE_BYTES]; /* their bytes, */
    uint32_t lane_shift[CLOCK_LANES][16];        /* and where in these they begin */
    uint8_t four_first[4 * CLOCK_LANES];         /* of each four, the first of 16 bytes, */
    uint8_t four_bit[16 * CLOCK_LANES];          /* and where in these a remainder begins */
} clock_form;

/* The first bits of a line are its code: n of a shared one, or one of the two codes that follow. */
typedef struct {
    unsigned code_bits;
    unsigned code_clocked; /* the first of the two */
    uint64_t fair;         /* what every line may cost without asking */
    shared_form shared;
    spread_form spread;
    clock_form clock;
} line_shape;

static inline unsigned form_of(const line_shape *shape, unsigned code) {
    return code < shape->code_clocked ? SHARED : code == shape->code_clocked ? CLOCKED : SPREAD;
}

static inline uint64_t form_cost(const line_shape *shape, unsigned form, unsigned n) {
    return form == SHARED    ? shape->shared.cost[n]
           : form == CLOCKED ? shape->clock.cost
                             : shape->spread.cost;
}

/* Whether a form is to be had at this bound. */
static inline bool form_is_possible(const line_shape *shape, unsigned form) {
    return form == SHARED || (form == CLOCKED ? shape->clock.entries : shape->spread.most) > 0;
}

/* The best shape for a bound on false positives. */
void weir__recent_plan(line_shape *shape, double eps);

#endif
