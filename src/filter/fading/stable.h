/* stable.h - the formulas of the stable Bloom filter, for planning and tests.
 *
 * Letters as in the thesis: m cells, K cells probed and set to Max per key, P
 * cells decremented per key. K and P may be fractions here; a filter takes
 * whole ones.
 */
#ifndef WEIR_FILTER_STABLE_H
#define WEIR_FILTER_STABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_plan.h"

/* Theorem 3: the least share of zeros that the filter tends to; reached when
 * all keys are equally frequent. */
double weir__stable_zeros(double m, double K, double P, unsigned max);

/* Theorem 1 and corollary 2, in closed form: the expected share of zeros after
 * n keys, for keys that are all different. It falls to the stable point. */
double weir__stable_zeros_after(double m, double K, double P, unsigned max, double n);

/* Keys until the share of zeros is within `close` of the stable point. */
double weir__stable_converged(double m, double K, double P, unsigned max, double close);

/* Equation 3.12: the false positive rate at the stable point, and by corollary
 * 5 a bound on it at all times; for many cells, used independently. */
double weir__stable_fps(double m, double K, double P, unsigned max);

/* Equation 3.21: the P that makes equation 3.12 equal to fps. */
double weir__stable_p(double m, double K, unsigned max, double fps);

/* Equation 3.13: the chance that a cell set `gap` keys ago is zero, when each
 * key between sets it with probability k and decrements it with probability p. */
double weir__stable_forgotten(double k, double p, unsigned max, double gap);

/* Equation 3.18 with 3.22 at phi = 0: the chance that a key is called NEW
 * although it came by with `gap` other keys between. share: the part of the
 * stream that is this key. */
double weir__stable_fnr(double m, double K, double P, unsigned max, double gap, double share);

/* How the cells lie: all m in one region with one run of P cells decremented
 * (classic), or in lines of 8 words, a key staying in one line and the run
 * split over its words (block). */
typedef struct {
    bool block;
    unsigned max;
    double m; /* cells: of the filter, or (block) of a line */
} weir__stable_shape;

weir__stable_shape weir__stable_shape_of(bool block, unsigned max, uint64_t bytes);

/* The false positive rate at the stable point, with what equation 3.12 leaves
 * out: the number of non-zero cells varies, most of all in a line. */
double weir__stable_bound(const weir__stable_shape *shape, unsigned K, unsigned P);

/* Section 3.4.1: K and its least P for the fewest false negatives. cells: of
 * the whole filter. K = 0 if no pair keeps the bound. */
typedef struct {
    unsigned K, P;
} weir__stable_pair;
weir__stable_pair weir__stable_plan(const weir__stable_shape *shape, double cells, double fpr);

/* Section 3.4.1: of Max = 1, 3 and 7, each with its own best K and P, the one with
 * the fewest false negatives (equation 3.20) over the gaps of a stream. */
unsigned weir__stable_best_max(bool block, uint64_t bytes, double fpr,
                               const weir_stream_model *model);

#endif
