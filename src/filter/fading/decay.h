/* decay.h - cells that keys raise and chance lowers: the chain of one cell, of
 * two, and what follows for a filter of them.
 *
 * A key raises each of its K cells to a level (never lowers one), after P cells,
 * chosen at random, have been decremented. `stable` has one level, `importance`
 * several; a filter may also spare high cells, decrementing a chosen cell of
 * value v only with some chance.
 *
 * One cell. With F(v) the share of cells of value v or less, k the chance that a
 * key sets a cell, c(v) = k times the share of keys whose level is above v, and
 * a(v) the chance that a cell of value v is decremented, one key makes of F
 *
 *     F'(v) = (1 - c(v)) (F(v) + a(v+1) (F(v+1) - F(v))),   F(Max) = 1
 *
 * so in the limit F(v) = F(v+1) / (1 + c(v) / (a(v+1) (1 - c(v)))), a product of
 * Max factors; with one level it is theorem 2 of the thesis. The recursion is
 * exact, has no subtraction that cancels, and is a matrix with one diagonal
 * beside its own: its powers, by squaring, give any number of keys.
 *
 * Two cells. The joint F(u, v) obeys the same kind of recursion and is solved
 * from the top. It gives the variance of the number of non-zero cells, which
 * the printed bound (1 - F(0))^K leaves out.
 */
#ifndef WEIR_FILTER_DECAY_H
#define WEIR_FILTER_DECAY_H

#include <stdbool.h>

#include "filter/fading/fading.h"

enum { WEIR__LEVELS = 16 }; /* values of a cell: 0 to 15 */

/* How cells lie and what keys do to them. The cells are all in one region with
 * one run of P cells chosen (classic), or in lines of 8 words, a key staying in
 * one line and the run split over its words (block). */
typedef struct {
    bool block;
    bool drawn; /* the P cells are drawn one by one, not a run */
    unsigned max;
    double m;                    /* cells: of the filter, or (block) of a line */
    double above[WEIR__LEVELS];  /* share of the keys whose level is above v; 0 from max on */
    double spared[WEIR__LEVELS]; /* chance that a chosen cell of value v is not decremented */
} weir__decay;

/* Cells of bytes of memory; every key sets its cells to max, none is spared. */
weir__decay weir__decay_of(bool block, unsigned max, uint64_t bytes);

/* The limit: at_most[v] is the share of cells of value v or less, when a key
 * sets a cell with probability k and chooses it to be decremented with p. */
void weir__decay_limit(const weir__decay *d, double k, double p, double at_most[WEIR__LEVELS]);

/* The chance that a cell is zero `gap` keys after a key of this level set it,
 * and the share of zeros after n keys from empty. cells: those that share the
 * keys, of the filter or of a line. */
double weir__decay_forgotten(const weir__decay *d, double cells, double K, double P, unsigned level,
                             double gap);
double weir__decay_zeros_after(const weir__decay *d, double cells, double K, double P, double n);

/* The false positive rate in the limit, and by corollary 5 of the thesis a bound
 * on it at all times; with the variance of the number of non-zero cells. */
double weir__decay_bound(const weir__decay *d, unsigned K, unsigned P);

/* The least P that keeps the bound under fpr; 0 if there is none. */
unsigned weir__decay_least_p(const weir__decay *d, unsigned K, double fpr);

/* The chance that a key of this level is called NEW although it came by with
 * `gap` other keys between. cells: of the whole filter. */
double weir__decay_fnr(const weir__decay *d, double cells, double K, double P, unsigned level,
                       double gap);

/* The goal of K and P: the bound must hold under one mix of levels,
 * false negatives be few under another. */
typedef struct {
    weir__decay bound, usual;
    double weights[WEIR__LEVELS]; /* of false negatives, by level; they add up to 1 */
    double cells;                 /* of the whole filter */
    double fpr;
} weir__decay_goal;

typedef struct {
    unsigned K, P;
} weir__decay_pair;

/* K and its least P for the fewest false negatives over gaps of every magnitude;
 * K = 0 if no pair keeps the bound. */
weir__decay_pair weir__decay_plan(const weir__decay_goal *goal);

/* Give c its K and P: those of the options at these places, checked, or the best. */
weir_status weir__decay_settle(weir_filter *filter, weir__fading *c, int opt_k, int opt_p,
                               const weir__decay_goal *goal, weir_error *err);

#endif
