/* pairsize.c - from join sizes of super-value streams to numbers of pairs.
 *
 * Question   how many pairs of records agree in exactly k, and in s or more, of d
 *            columns?
 * Idea       let U_k count, over all pairs of different records, the super-values
 *            of level k that both drew. A pair that agrees in j columns has
 *            C(j, k) subsets in common and each record draws a subset with
 *            probability p_k = l_k / C(d, k), so
 *                E[U_k] = p_k^2 sum_j C(j, k) x_j.
 *            Solving from k = d downwards is eq. 5.1; in closed form, with
 *            T_k = U_k / p_k^2,
 *                X_k = sum_{j>=k} (-1)^(j-k) C(j, k) T_j
 *                G_s = sum_{j>=s} (-1)^(j-s) C(j-1, s-1) T_j.
 * Counting   pairs are unordered and of two different records. The thesis's
 *            tables count ordered pairs and each record with itself (the column of
 *            table 5.1 sums to n^2): theirs is 2 X_k, plus n for k = d.
 * Rounding   p_k has the l_k that was really drawn, so the answer is unbiased for
 *            any r; with r in its place (eqs. 5.2, 5.3 and the proofs) small r
 *            would count each pair (l_k / (r C(d, k)))^2 times: for d = 6, k = 5
 *            and r = 0.05 eleven times.
 * Error      unbiased; may come out negative when there is little to count.
 *            The draws of different levels are independent, so variances add up:
 *                VAR[G_s] = sum_j C(j-1, s-1)^2 VAR[U_j] / p_j^4
 *            and, a and b being the drawing of two records, U_k splits into parts
 *            that are uncorrelated (Hoeffding): one for each record,
 *                p VAR_a[sum over its drawn subsets of the records that share it]
 *            and one for each pair of m = C(j, k) common subsets of N = C(d, k),
 *                (p(1-p))^2 (m + m(m-1)/(N-1)^2).
 *            The thesis bounds all this by taking pairs as independent ("assuming
 *            the covariance is small"), C(k, s) for C(k-1, s-1), and l_k for the
 *            most that a pair can add. Its bound is offered as well: usually ten to
 *            thirty times what happens. Independence does not hold where one
 *            record has many partners, so the first part is measured on a sample of
 *            records where that is possible (pairs.c).
 * Source     thesis 5.2.4, 5.2.5, 5.3. In print the bound of theorem 7 divides by
 *            g_s outside the root; the proof has it inside.
 */
#include "pairs/pairsize.h"

#include <math.h>
#include <string.h>

/* ---- eq. 5.1 ---- */

static double sign(unsigned exponent) { return exponent % 2 ? -1 : 1; }

static void add_level(double weight, const weir__level_size *size, double *sum, double *variance) {
    double scale = weight / (size->share[0] * size->share[1]);
    *sum += scale * size->size;
    *variance += scale * scale * size->variance;
}

void weir__estimate(const weir__shape *shape, const weir__level_size *sizes,
                    weir_pairs_answer *out) {
    unsigned d = shape->d, s = shape->s;
    double variance = 0;
    out->similar = 0;
    for (unsigned j = s; j <= d; j++)
        add_level(sign(j - s) * weir__choose(j - 1, s - 1), &sizes[j - s], &out->similar,
                  &variance);
    out->similar_deviation = sqrt(variance);
    for (unsigned k = s; k <= d; k++) {
        out->count[k] = variance = 0;
        for (unsigned j = k; j <= d; j++)
            add_level(sign(j - k) * weir__choose(j, k), &sizes[j - s], &out->count[k], &variance);
        out->deviation[k] = sqrt(variance);
    }
}

/* ---- variances ---- */

/* Of the number of `common` subsets that a record draws, when it draws this share
 * of n: hypergeometric. */
static double drawn_variance(double common, double n, double share) {
    return n > 1 ? common * share * (1 - share) * (n - common) / (n - 1) : 0;
}

static double at_least_none(double count) { return count > 0 ? count : 0; }

double weir__pair_variance(const weir__shape *shape, unsigned level, const double share[2],
                           const weir_pairs_answer *answer) {
    unsigned k = shape->level[level].k;
    double n = shape->level[level].subsets, sum = 0;
    double both = share[0] * (1 - share[0]) * share[1] * (1 - share[1]);
    if (n < 2) return 0;
    for (unsigned j = k; j <= shape->d; j++) {
        double m = weir__choose(j, k);
        sum += at_least_none(answer->count[j]) * both * (m + m * (m - 1) / ((n - 1) * (n - 1)));
    }
    return sum;
}

double weir__record_variance(const weir__shape *shape, unsigned level, const double share[2],
                             const weir_pairs_answer *answer) {
    unsigned k = shape->level[level].k;
    double n = shape->level[level].subsets, sum = 0;
    for (unsigned j = k; j <= shape->d; j++) {
        double m = weir__choose(j, k);
        double one = share[1] * share[1] * drawn_variance(m, n, share[0]) +
                     share[0] * share[0] * drawn_variance(m, n, share[1]);
        sum += at_least_none(answer->count[j]) * one;
    }
    return sum;
}

double weir__deviation_bound(unsigned d, unsigned s, double r, double similar, double records,
                             double width) {
    double g = similar > 1 ? similar : 1;
    double inside =
        width > 0 ? (1 + 2 / width) * g + 2 / width * (g + records / r) * (g + records / r) : g;
    return weir__choose(d, s) * sqrt(inside * weir__choose(2 * (d - s), d - s) / r);
}

/* ---- repetitions ---- */

/* The chance that at least half of n runs fail, each with a chance of 1/8. */
static double median_fails(unsigned n) {
    double sum = 0;
    for (unsigned i = n / 2 + 1; i <= n; i++)
        sum += weir__choose(n, i) * pow(0.125, i) * pow(0.875, n - i);
    return sum;
}

unsigned weir__repeats_for(double chance) {
    unsigned n = 1;
    while (n < 99 && median_fails(n) > chance) n += 2;
    return n;
}

/* ---- theorems 8 and 10 ---- */

void weir_pairs_cost(unsigned columns, unsigned threshold, double records, double error,
                     double chance, double width, weir_pairs_budget *out) {
    double spread = pow(weir__choose(columns, threshold), 2) *
                    weir__choose(2 * (columns - threshold), columns - threshold);
    double r = width > 0 ? 64 * spread / (error * error * width)
                         : 8 * spread / (error * error * records * records);
    memset(out, 0, sizeof *out);
    out->reachable = r <= 1;
    out->sample = r < 1 ? r : 1;
    out->repeats = weir__repeats_for(chance);
    for (unsigned k = threshold; k <= columns; k++)
        out->values += ceil(out->sample * weir__choose(columns, k) * (1 - 1e-12));
    out->values *= out->repeats;
    out->bytes = width > 0 ? 8 * width * out->repeats * (columns - threshold + 1)
                           : 8 * out->values * records;
}
