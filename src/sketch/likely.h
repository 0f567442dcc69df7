/* likely.h - auto: the count that a key's counters speak for, by the noise that all show. */
#ifndef WEIR_SKETCH_LIKELY_H
#define WEIR_SKETCH_LIKELY_H

#include "sketch/matrix.h"
#include "weir_sketch.h"

enum { WEIR__NOISE_STEPS = 192 }; /* of the distribution of the noise */

typedef struct {
    /* the distribution of the noise: constant from each start to the next */
    double start[WEIR__NOISE_STEPS + 1];
    double density[WEIR__NOISE_STEPS]; /* relative to the greatest */
    unsigned steps;
    double unit;  /* how far apart two counts are at least; of real counters next to nothing */
    double spike; /* the weight of the count 0, in counts */
} weir__noise;

/* Learn the noise from the counters. No key has a greater count than `most`; the counts of all sum
 * up to `total`. */
void weir__noise_learn(weir__noise *noise, const weir__matrix *m, double most, double total);

/* The value and the deviation for a key with these counters; its bounds are left alone. */
void weir__noise_read(const weir__noise *noise, const double *values, unsigned depth,
                      weir_estimate *out);

#endif
