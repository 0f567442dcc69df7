/* angles.c - how many pairs of texts have at least a cosine, by the records that are kept whole.
 *
 * Question   values of several signs agree by chance, so what is counted by them is blurred: pairs
 *            just above a cosine are missed, those below that abound are counted. How many are
 *            there?
 * Idea       the witnesses are a random sample of the records. Two of them with the angle a differ
 *            in a Binomial(W, a/pi) of their W signs. All pairs of witnesses make a histogram of
 *            signs that differ, which is a mixture of such binomials: the weights of the angles
 *            that explain it best (maximum likelihood, found by EM: Dempster, Laird, Rubin 1977;
 *            as a deconvolution: Richardson 1972, Lucy 1974) are the distribution of the angles.
 *            Its part up to the angle asked for, scaled up, is the number of pairs.
 * Error      three. That of the sample: records without replacement, each with what it has near it
 *            (none if all are witnesses), and as if FEW more pairs had been found. That of the
 *            signs, which all pairs have in common: by leaving out one of GROUPS groups of them
 *            after the other (a jackknife). That of the blur: angles this side of the one asked for
 *            and beyond it cannot be told apart within BLUR deviations of a pair's own angle.
 * Cost       all pairs of witnesses, W bits each; GROUPS + 1 times EM over at most STEPS x W words
 * Source     thesis 5.4 (random projections); Charikar 2002 for the chance of a sign.
 */
#include "pairs/angles.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"

enum {
    STEPS = 126,  /* angles from 0 to a right one: no count is negative */
    ROUNDS = 150, /* of EM */
    GROUPS = 6,   /* of the values of a row, at most */
    CLASSES = 64, /* of signs that differ, by which is counted what witnesses have near them */
    FEW = 4       /* pairs */
};
#define BLUR 1.0
#define GRID 0.01 /* of the number, for angles between the steps: measured */
#define WIDTH_95 1.96
#define STUDENT_95 2.57 /* with GROUPS - 1 degrees of freedom */
#define TOLD_RATIO 3.0  /* of the interval's ends where a number tells something */
#define TOLD_FEW 10.0   /* pairs that would be worth asking for */

struct weir__angles {
    size_t mine, other;          /* witnesses of either side */
    double left[2], scale, most; /* share of the records that are none; pairs to a pair of theirs */
    bool join;
    unsigned signs, step_signs, groups;
    double *count;  /* pairs of witnesses by how many signs differ, of all signs; then without each
                     * group of them */
    uint32_t *near; /* by witness, both sides, and class of signs that differ */
    double weight[GROUPS + 1][STEPS]; /* of the angles, in pairs of witnesses: likewise */
};

static unsigned class_of(const weir__angles *a, unsigned differ) {
    unsigned c = differ / a->step_signs;
    return c < CLASSES ? c : CLASSES - 1;
}

static double *counts_of(const weir__angles *a, unsigned without) {
    return a->count + (size_t)without * (a->signs + 1);
}

/* A pair of witnesses; returns in how many signs it differs. */
static unsigned compare_two(weir__angles *out, const weir_pairs *p, const uint64_t *x,
                            const uint64_t *y) {
    unsigned of[GROUPS] = {0}, differ = 0;
    for (unsigned i = 0, g = 0; i < p->row_words; i++, g = g + 1 < out->groups ? g + 1 : 0)
        of[g] += (unsigned)__builtin_popcountll(x[i] ^ y[i]);
    for (unsigned g = 0; g < out->groups; g++) differ += of[g];
    counts_of(out, 0)[differ]++;
    for (unsigned g = 0; g < out->groups; g++) counts_of(out, g + 1)[differ - of[g]]++;
    return differ;
}

static void compare(weir__angles *out, const weir_pairs *a, const weir_pairs *b) {
    for (size_t i = 0; i < out->mine; i++)
        for (size_t j = b ? 0 : i + 1; j < out->other; j++) {
            unsigned differ =
                compare_two(out, a, weir__witness_row(a, i), weir__witness_row(b ? b : a, j));
            out->near[i * CLASSES + class_of(out, differ)]++;
            out->near[((b ? out->mine : 0) + j) * CLASSES + class_of(out, differ)]++;
        }
}

static double sign_chance(unsigned step) { return 0.5 * step / (STEPS - 1); }

static double log_chance(double p, unsigned signs, unsigned differ) {
    double rest = signs - differ;
    if (p <= 0) return differ ? -HUGE_VAL : 0;
    return lgamma(signs + 1.0) - lgamma(differ + 1.0) - lgamma(rest + 1) + differ * log(p) +
           rest * log1p(-p);
}

/* One step of EM: each angle gets the part of each count that it explains. */
static void explain(const double *count, unsigned signs, const double *chance, double *weight) {
    double next[STEPS] = {0};
    for (unsigned differ = 0; differ <= signs; differ++) {
        const double *of = chance + (size_t)differ * STEPS;
        double all = 0;
        if (count[differ] <= 0) continue;
        for (unsigned k = 0; k < STEPS; k++) all += weight[k] * of[k];
        if (!(all > 0)) { /* more than a right angle differs: that angle's */
            next[STEPS - 1] += count[differ];
            continue;
        }
        for (unsigned k = 0; k < STEPS; k++) next[k] += weight[k] * of[k] * count[differ] / all;
    }
    for (unsigned k = 0; k < STEPS; k++) weight[k] = next[k];
}

/* The weights of the angles by the first n of the signs. */
static void fit(const double *count, unsigned signs, double *chance, double *weight) {
    double all = 0;
    for (unsigned differ = 0; differ <= signs; differ++) {
        all += count[differ];
        for (unsigned k = 0; k < STEPS && count[differ] > 0; k++)
            chance[(size_t)differ * STEPS + k] = exp(log_chance(sign_chance(k), signs, differ));
    }
    for (unsigned k = 0; k < STEPS; k++) weight[k] = all / STEPS;
    for (unsigned round = 0; round < ROUNDS; round++) explain(count, signs, chance, weight);
}

static weir_status fit_all(weir__angles *a, const weir_pairs *p, weir_error *err) {
    double *chance = malloc(((size_t)a->signs + 1) * STEPS * sizeof *chance);
    if (!chance) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (unsigned without = 0; without <= a->groups; without++) {
        unsigned signs = 0;
        for (unsigned i = 0; i < p->row_words; i++)
            if (i % a->groups + 1 != without) signs += i < p->maker.columns ? p->maker.group : 64;
        fit(counts_of(a, without), signs, chance, a->weight[without]);
    }
    free(chance);
    return WEIR_OK;
}

weir_status weir__angles_new(weir__angles **out, const weir_pairs *a, const weir_pairs *b,
                             weir_error *err) {
    weir__angles *angles = *out = calloc(1, sizeof *angles);
    if (!angles) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    double n = (double)a->records, m = b ? (double)b->records : n - 1;
    angles->join = b != NULL;
    angles->mine = weir__witness_count(a);
    angles->other = weir__witness_count(b ? b : a);
    angles->signs = a->maker.columns * a->maker.group + 64 * a->maker.angles;
    angles->step_signs = angles->signs / (2 * CLASSES) + 1;
    angles->groups = a->row_words < GROUPS ? a->row_words : GROUPS;
    angles->count =
        calloc(((size_t)angles->signs + 1) * (angles->groups + 1), sizeof *angles->count);
    angles->near =
        calloc((angles->mine + angles->other + 1) * (size_t)CLASSES, sizeof *angles->near);
    if (!angles->count || !angles->near) {
        weir__angles_free(angles);
        *out = NULL;
        return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    }
    compare(angles, a, b);
    double w = (double)angles->mine, v = b ? (double)angles->other : w - 1;
    angles->most = b ? n * m : n * m / 2;
    angles->scale = w > 0 && v > 0 ? angles->most / (b ? w * v : w * v / 2) : 0;
    angles->left[0] = n > 0 ? 1 - w / n : 0;
    angles->left[1] = b && m > 0 ? 1 - v / m : 0;
    weir_status status = fit_all(angles, a, err);
    if (status == WEIR_OK) return status;
    weir__angles_free(angles);
    *out = NULL;
    return status;
}

void weir__angles_free(weir__angles *a) {
    if (!a) return;
    free(a->count);
    free(a->near);
    free(a);
}

/* Pairs whose angle is up to that at which signs differ with chance p. */
static double up_to(const weir__angles *a, unsigned without, double p) {
    double sum = 0;
    for (unsigned k = 0; k < STEPS && sign_chance(k) <= p + 1e-12; k++)
        sum += a->weight[without][k];
    return sum * a->scale;
}

static double jackknife_variance(const weir__angles *a, double p) {
    double sum = 0, squares = 0, g = a->groups;
    for (unsigned without = 1; without <= a->groups; without++) {
        double pairs = up_to(a, without, p);
        sum += pairs;
        squares += pairs * pairs;
    }
    return fmax(0, squares - sum * sum / g) * (g - 1) / g;
}

/* The variance of the mean of what witnesses of one side have near them. */
static double variance_of_mean(const weir__angles *a, size_t from, size_t count, unsigned most) {
    double sum = 0, squares = 0;
    for (size_t i = from; i < from + count; i++) {
        double near = 0;
        for (unsigned c = 0; c <= class_of(a, most); c++) near += a->near[i * CLASSES + c];
        sum += near;
        squares += near * near;
    }
    double n = (double)count;
    return n > 1 ? fmax(0, (squares - sum * sum / n) / (n - 1)) / n : 0;
}

static double sample_variance(const weir__angles *a, unsigned most) {
    double w = (double)a->mine, v = (double)a->other;
    double pairs = a->join ? w : w / 2; /* the mean of a witness, times this, are its pairs */
    double of_mean = variance_of_mean(a, 0, a->mine, most);
    double variance = a->left[0] * (pairs * pairs * (a->join ? 1 : 4) * of_mean + FEW);
    if (a->join)
        variance += a->left[1] * (v * v * variance_of_mean(a, a->mine, a->other, most) + FEW);
    return a->scale * a->scale * variance;
}

void weir__angles_above(const weir__angles *a, double cosine, weir__above *out) {
    double p = acos(cosine) / M_PI, blur = BLUR * sqrt(p * (1 - p) / a->signs);
    double sampled = sample_variance(a, (unsigned)(p * a->signs));
    double chosen = jackknife_variance(a, p);
    double off = STUDENT_95 * sqrt(sampled + chosen), edge = WIDTH_95 * sqrt(sampled);
    out->pairs = up_to(a, 0, p);
    off += a->scale + GRID * out->pairs; /* nor can one pair be told */
    out->low = fmax(0, fmin(out->pairs - off, up_to(a, 0, p - blur) - edge));
    out->high = fmin(a->most, fmax(out->pairs + off, up_to(a, 0, p + blur) + edge));
    out->told = a->scale > 0 && a->groups > 1 && out->high <= TOLD_RATIO * fmax(out->low, TOLD_FEW);
}
