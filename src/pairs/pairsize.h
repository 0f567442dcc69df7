/* pairsize.h - from join sizes of super-value streams to numbers of pairs. */
#ifndef WEIR_PAIRS_PAIRSIZE_H
#define WEIR_PAIRS_PAIRSIZE_H

#include "pairs/supervalue.h"
#include "weir.h"
#include "weir_pairs.h"

/* One level as both sides drew it: shares of the C(d, k) subsets. In a self-join
 * both are the same; a search takes all subsets of its one record. */
typedef struct {
    double share[2];
    double size;     /* sum over pairs of records of the super-values they have in common */
    double variance; /* of that size: drawing, and the sketch if there is one */
} weir__level_size;

/* X_k for each level and G_s, with their deviations. sizes[i] is level k = s + i. */
void weir__estimate(const weir__shape *shape, const weir__level_size *sizes,
                    weir_pairs_answer *out);

/* The variance of a level's size that the drawing of subsets causes, by the
 * estimates of *answer for levels from this one on, negative ones taken as 0.
 *
 *   pairs    what is left when both records' own parts are taken off
 *   records  the records' own parts, were all pairs strangers to each other;
 *            an estimate that knows how records share partners is better
 */
double weir__pair_variance(const weir__shape *shape, unsigned level, const double share[2],
                           const weir_pairs_answer *answer);
double weir__record_variance(const weir__shape *shape, unsigned level, const double share[2],
                             const weir_pairs_answer *answer);

/* The bounds of theorems 7 and 9 and corollaries 6, 8, 10, 12 on the standard
 * deviation of G_s; records is n, or n1 + n2; width is 0 offline. */
double weir__deviation_bound(unsigned d, unsigned s, double r, double similar, double records,
                             double width);

/* The number of independent runs, odd, whose median fails with a chance of at
 * most `chance` if one run fails with a chance of 1/8 (theorem 8). */
unsigned weir__repeats_for(double chance);

#endif
