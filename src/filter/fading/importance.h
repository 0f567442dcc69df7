/* importance.h - the formulas of the importance-aware filter, for planning and tests.
 *
 * Letters as in the paper: m cells, K cells probed and raised per key, P cells
 * decremented per key, M (here: max) the highest value of a cell. The chain
 * itself is in decay.h.
 */
#ifndef WEIR_FILTER_IMPORTANCE_H
#define WEIR_FILTER_IMPORTANCE_H

#include "filter/fading/decay.h"

/* As in the option's choices. */
typedef enum { WEIR__MODE_2C, WEIR__MODE_MC, WEIR__MODE_H } weir__importance_mode;

/* The classes that importances fall into (2 or max), and the level of each, from
 * class 1 up: what a key of that class raises its cells to. */
unsigned weir__importance_classes(weir__importance_mode mode, unsigned max);
unsigned weir__importance_level(weir__importance_mode mode, unsigned max, unsigned grade);

/* The chain for a mix of levels: shares[v] is the part of the keys that have
 * level v; NULL: all have the highest, the case in which fewest cells are zero.
 * bytes: memory of the cells. */
weir__decay weir__importance_decay(weir__importance_mode mode, bool block, unsigned max,
                                   uint64_t bytes, const double shares[WEIR__LEVELS]);

/* All classes alike: the paper's assumption, and what scale=quantile aims at. */
void weir__importance_even(weir__importance_mode mode, unsigned max, double shares[WEIR__LEVELS]);

/* Figures 2 and 4, in their exact form: shares[v] is the part of the cells that
 * have value v in the limit. Theorems III.3 and III.7 are shares[0]. */
void weir__importance_limit(const weir__decay *d, double K, double P, double shares[WEIR__LEVELS]);

#endif
