/* matrix.h - d rows of w counters, and what may be read from them.
 *
 * The common ground of countmin, agms, top and dyadic: hashing, batch updates
 * that never overflow silently, and the estimators of chapter 4. Its owner
 * holds the cells and sets `cells` in bind().
 */
#ifndef WEIR_SKETCH_MATRIX_H
#define WEIR_SKETCH_MATRIX_H

#include <math.h>
#include <stddef.h>

#include "sketch/rowhash.h"
#include "weir.h"
#include "weir_embed.h"
#include "weir_sketch.h"

#define WEIR__DEPTH_MOST 32 /* rows */
#define WEIR__COUNTER_CHOICES "32|64|real"
typedef enum { WEIR__COUNTER_32, WEIR__COUNTER_64, WEIR__COUNTER_REAL } weir__counter;

/* Squares, medians and noise of all rows, computed when an answer needs them. */
typedef struct weir__row_view weir__row_view;

typedef struct {
    /* set by the owner before weir__matrix_init() */
    unsigned depth;
    uint64_t width;
    weir__counter counter;
    bool with_sign;    /* Fast-AGMS */
    bool conservative; /* raise only the least counters (MI) */
    bool block;        /* the counters of a key share one line */
    bool direct;       /* a key is the number of its counter; depth 1, exact */
    uint8_t *cells;

    /* derived */
    weir__poly poly[WEIR__DEPTH_MOST];
    unsigned each;            /* places from one value */
    unsigned sub_bits;        /* block: log2 of a row's counters in a line */
    uint64_t lines;           /* block */
    bool two;                 /* block: one value has too few bits for a line and its counters */
    uint64_t room;            /* weight that surely fits before a counter could overflow */
    uint64_t since_scan;      /* updates since `room` was found by looking at all counters */
    weir_allocator allocator; /* of the view */
    weir__row_view *view;     /* NULL or stale after an update */
    bool stale;
} weir__matrix;

static inline unsigned weir__counter_bytes(weir__counter c) {
    return c == WEIR__COUNTER_32 ? 4 : 8;
}

/* Bytes of the cells; the width of a block layout must be a multiple of
 * weir__matrix_width_step(). */
static inline uint64_t weir__matrix_bytes(const weir__matrix *m) {
    return m->width * m->depth * weir__counter_bytes(m->counter);
}
static inline uint64_t weir__matrix_width_step(const weir__matrix *m) {
    return m->block ? 64 / weir__counter_bytes(m->counter) / m->depth : 1;
}

void weir__matrix_init(weir__matrix *m, uint64_t seed);
void weir__matrix_close(weir__matrix *m);

/* The cells were changed from outside, or are others now. */
void weir__matrix_touch(weir__matrix *m);

/* Add n keys. weights: whole (NULL: 1 each) or, for real counters only, with
 * fractions. lows: NULL, or receives the least counter of each key just after
 * it was added. Returns how many are in: less than n if the next one would
 * overflow a counter. */
size_t weir__matrix_add(weir__matrix *m, const uint64_t *hashes, size_t n, const int64_t *weights,
                        const double *fractions, double *lows);

/* Ask for the counters of keys. */
void weir__matrix_prefetch(const weir__matrix *m, const uint64_t *hashes, size_t n);

/* The counters of a key, signs applied. */
void weir__matrix_values(const weir__matrix *m, uint64_t hash, double values[WEIR__DEPTH_MOST]);

/* Add the counters of `from`, of the same shape and such that they fit, times
 * `factor` (1 but for real counters). */
bool weir__matrix_fits(const weir__matrix *m, const weir__matrix *from);
void weir__matrix_merge(weir__matrix *m, const weir__matrix *from, double factor);

/* Multiply every counter by 2^-shift (real counters). */
void weir__matrix_shrink(weir__matrix *m, int shift);

/* Real counters must be numbers. */
bool weir__matrix_sound(const weir__matrix *m);

static inline double weir__cell_value(const weir__matrix *m, uint64_t place) {
    switch (m->counter) {
    case WEIR__COUNTER_32:
        return ((const int32_t *)(const void *)m->cells)[place];
    case WEIR__COUNTER_64:
        return (double)((const int64_t *)(const void *)m->cells)[place];
    default:
        return ((const double *)(const void *)m->cells)[place];
    }
}

/* The number of counter j of a row. */
static inline uint64_t weir__cell_number(const weir__matrix *m, unsigned row, uint64_t j) {
    if (!m->block) return row * m->width + j;
    uint64_t share = j >> m->sub_bits, within = j & ((UINT64_C(1) << m->sub_bits) - 1);
    return ((share * m->depth + row) << m->sub_bits) + within;
}

/* --- estimates; total is the sum of the weights ------------------------------ */

weir_status weir__matrix_estimate(weir__matrix *m, uint64_t hash, double total, weir_estimator by,
                                  weir_estimate *out, weir_error *err);
weir_status weir__matrix_self_join(weir__matrix *m, double total, weir_estimator by,
                                   weir_estimate *out, weir_error *err);
weir_status weir__matrix_join(weir__matrix *a, weir__matrix *b, double total_a, double total_b,
                              weir_estimator by, weir_estimate *out, weir_error *err);

/* Estimates from a single row, for the tests of the lemmas. */
double weir__row_estimate(const weir__matrix *m, unsigned row, uint64_t hash, double total);
double weir__row_self_join(const weir__matrix *m, unsigned row, double total);
double weir__row_join(const weir__matrix *a, const weir__matrix *b, unsigned row, double total_a,
                      double total_b);

/* --- sizes --------------------------------------------------------------------- */

/* The least width and depth for which CM errs by more than error x total with a
 * chance of at most 1 - confidence: w = e/error, d = ln(1/(1-confidence)). */
void weir__matrix_plan_cm(double error, double confidence, uint64_t *width, unsigned *depth);

/* The cheapest width and depth for which the median of unbiased rows errs by
 * more than error x sqrt(self-join size) with at most that chance. */
void weir__matrix_plan_median(double error, double confidence, uint64_t *width, unsigned *depth);

/* The median of d rows errs by more than `reach` deviations of a row with a
 * chance of at most `chance`, by Chebyshev for a row and counting rows. */
double weir__median_reach(unsigned depth, double chance);

/* The deviation of the median of d normal variables of deviation 1. */
double weir__median_deviation(unsigned depth);

/* The median of n numbers, which are reordered. */
double weir__median(double *numbers, size_t n);

/* Into ascending order. */
void weir__sort(double *numbers, size_t n);

static inline double weir__least(const double *numbers, unsigned n) {
    double low = HUGE_VAL;
    for (unsigned i = 0; i < n; i++) low = fmin(low, numbers[i]);
    return low;
}

static inline double weir__clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

#endif
