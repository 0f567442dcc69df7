/* model.c - from a sample to the whole stream.
 *
 * Question   what will the repeats look like when the stream is N records long and
 *            the sample only n?
 * Idea       a stream that does not change its nature. D(g), the distinct keys in g
 *            records in a row, then tells everything: a record is new within the last
 *            g records with probability D'(g), so a share D'(g1) - D'(g2) of all
 *            records repeats a key from g1 to g2 records back; and a repeat from g
 *            records back has D(g) distinct keys between.
 * Method     Gaps up to half of the sample are as measured; the sample shows one of g
 *            records at n - g places and the stream at N - g, so each counts for
 *            (N-g)/(n-g). Longer ones follow from D, for which we take the family
 *                D(g) = A (1 - (1 + cg)^-alpha) / alpha,
 *            exact where keys come at random at rates that are gamma distributed. It
 *            holds the two extremes, keys that are all alike (alpha large) and the
 *            power law of streams that never run out of new keys (alpha below 0). The
 *            curve goes through D at a half and at the whole of the sample and as near
 *            as it can to D at a quarter and an eighth, or to the question's `distinct`.
 * Error      a curve fitted to two doublings is good for the next few; drift makes
 *            repeats from far back rarer than it says.
 * Source     the family: Efron and Thisted, Biometrika 63, 1976 (unseen species).
 */
#include "plan/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { A_DOUBLING = 4 }; /* bins for each */
#define LONGER 1.05      /* by less the sample is the stream */

/* --- D ----------------------------------------------------------------------------- */

/* A (1 - (1 + c g)^-alpha): keys whose rates are gamma distributed. alpha is large
 * for keys that are all alike, near 0 for a logarithm, and below 0 for a power of g. */
typedef struct {
    double alpha, c, scale;
} growth;

static double shape_at(double alpha, double x) {
    if (fabs(alpha) < 1e-6) return log1p(x);
    return -expm1(-alpha * log1p(x)) / alpha;
}

static double distinct_in(const growth *g, double records) {
    return g->scale * shape_at(g->alpha, g->c * records);
}

/* D' */
static double new_after(const growth *g, double records) {
    assert(records >= 0 && g->c > 0);
    return fmin(1, g->scale * g->c * exp(-(g->alpha + 1) * log1p(g->c * records)));
}

/* The c for which D(n) / D(n/2) is as given; it falls as c grows, from 2 on. */
static double fit_c(double alpha, double n, double ratio) {
    double low = -40, high = 40; /* log of c n */
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high), x = exp(middle);
        if (shape_at(alpha, x) / shape_at(alpha, x / 2) > ratio) low = middle;
        else high = middle;
    }
    return exp(0.5 * (low + high)) / n;
}

/* Points that the curve should come near to. */
typedef struct {
    double records, distinct;
} point;

/* The curve through D(n/2) and D(n) that comes nearest to some more points. */
static growth fit(double n, double d, double half, const point *points, size_t count) {
    growth best = {0, 0, 0};
    double least = INFINITY;
    for (int i = 0; i <= 120; i++) {
        double alpha = i < 40 ? (i - 39.5) / 40 : 0.05 * exp2((i - 40) * 0.125), miss = 0;
        growth g = {alpha, fit_c(alpha, n, d / half), 1};
        g.scale = d / distinct_in(&g, n);
        for (size_t j = 0; j < count; j++)
            miss += fabs(log(distinct_in(&g, points[j].records) / points[j].distinct));
        if (miss < least) least = miss, best = g;
    }
    return best;
}

static double distinct_before(const weir_profile *p, uint64_t position) {
    size_t keys = 0;
    for (size_t i = 0; i < p->count && p->positions[i] < position; i++)
        keys += p->previous[i] == WEIR__NO_RECORD;
    return fmax(1, (double)keys / p->share);
}

/* Through the distinct keys at a half and the whole of the sample, near those at a
 * quarter and an eighth or what the question says of the end. */
static growth growth_of(const weir_profile *p, double length, double distinct) {
    const double large = 1000;
    double n = (double)p->covered;
    if (p->one_of > 0) return (growth){large, 1 / (p->one_of * large), p->one_of * large};
    double d = distinct_before(p, p->covered), half = distinct_before(p, p->covered / 2);
    half = fmin(fmax(half, d / 1.999), d / 1.001);
    point end = {length, fmax(d, fmin(distinct, length))};
    if (distinct > 0) return fit(n, d, half, &end, 1);
    point early[] = {{n / 4, distinct_before(p, p->covered / 4)},
                     {n / 8, distinct_before(p, p->covered / 8)}};
    return fit(n, d, half, early, 2);
}

/* --- bins --------------------------------------------------------------------------- */

static unsigned bin_of(double gap) { return (unsigned)(A_DOUBLING * log2(gap + 1)); }

/* Sums in the bins: gap, distance and (as share) the weight of each. */
static void add_measured(weir__model *m, const weir_profile *p, double length, double upto) {
    double n = (double)p->covered;
    for (size_t i = 0; i < p->count; i++) {
        if (weir__profile_is_first(p, i)) continue;
        double gap = weir__profile_gap(p, i);
        if (gap > upto) continue;
        double weight = (length > n ? (length - gap) / (n - gap) : 1) / p->share;
        weir_gap *bin = &m->gaps[bin_of(gap)];
        assert(bin < m->gaps + WEIR__GAPS_MOST);
        bin->gap += weight * gap;
        bin->distance += weight * (double)p->distances[i] / p->share;
        bin->share += weight;
    }
}

/* Hot keys are few, so a sample may have too many or too few of their repeats. All
 * records are known, and so (nearly) are the first occurrences: the rest must be
 * repeats at short distances. */
static void set_total(weir__model *m, const weir_profile *p) {
    double repeats = (double)p->covered - (double)p->firsts / p->share, sum = 0;
    for (size_t i = 0; i < WEIR__GAPS_MOST; i++) sum += m->gaps[i].share;
    if (sum < repeats) m->gaps[0].share += repeats - sum;
}

static void add_extended(weir__model *m, const growth *g, double from, double length) {
    int bins = (int)ceil(A_DOUBLING * log2(length / from));
    assert(from > 0 && length > from);
    for (int i = 0; i < bins; i++) {
        double gap = from * exp2((double)i / A_DOUBLING);
        double end = fmin(length, from * exp2((i + 1.0) / A_DOUBLING)), middle = sqrt(gap * end);
        double weight = (new_after(g, gap) - new_after(g, end)) * (length - middle);
        weir_gap *bin = &m->gaps[bin_of(middle)];
        assert(bin < m->gaps + WEIR__GAPS_MOST);
        bin->gap += weight * middle;
        bin->distance += weight * distinct_in(g, middle);
        bin->share += weight;
    }
}

/* Means instead of sums, and without the empty ones. */
static void finish_bins(weir__model *m) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < WEIR__GAPS_MOST; i++) sum += m->gaps[i].share;
    for (size_t i = 0; i < WEIR__GAPS_MOST; i++) {
        weir_gap bin = m->gaps[i];
        if (!(bin.share > 0)) continue;
        m->gaps[n++] = (weir_gap){bin.gap / bin.share, bin.distance / bin.share, bin.share / sum};
    }
    m->stream.gaps = m->gaps;
    m->stream.gap_count = n;
}

void weir__model_build(weir__model *m, const weir_profile *p, const weir_plan_question *q) {
    double n = (double)p->covered, length = fmax(q->records, (double)p->records);
    memset(m, 0, sizeof *m);
    m->extended = length > LONGER * n && !q->window;
    m->stream.records = length;
    m->stream.distinct = (double)p->firsts / p->share;
    if (m->extended) {
        growth g = growth_of(p, length, q->distinct);
        add_measured(m, p, length, n / 2);
        add_extended(m, &g, n / 2, length);
        m->stream.distinct = distinct_in(&g, length);
    } else {
        add_measured(m, p, n, n);
        set_total(m, p);
    }
    finish_bins(m);
}
