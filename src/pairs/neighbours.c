/* neighbours.c - how many others are near each record.
 *
 * Question   how many records have fewer than n others near them (outliers, by the oldest
 *            definition); how are the distances of all pairs distributed?
 * Idea       a random sample of the records is compared with all of them. Each tells how many
 *            others agree with it in how many values, or how many lie within which Euclidean
 *            distance. Their mean, times half of the records, is the number of pairs; the share
 *            that has too few neighbours is that of the outliers. A sample within itself would
 *            see no rare neighbours: one pair in a million needs 1,400 records of it, where
 *            one record compared with a million finds it.
 * Error      none if all are compared. Else that of a mean of `sample` draws without
 *            replacement: pairs by the variance of what they have near them (and as if FEW_PAIRS
 *            more had been found, since none found may be some missed), outliers by Wilson's
 *            interval. Both at 95%.
 * Cost       sample x records comparisons of rows; no memory, but for sets a copy of the rows
 * Source     Deng's thesis names outliers and distributions of distances as uses of the size of
 *            a similarity join, and Euclidean distance as an extension (section 5.5).
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/rng.h"
#include "pairs/pairs.h"

enum { HALVINGS = 4, DOUBLINGS = 40 }; /* of the distance asked for, with a row of their own */
enum { FEW_PAIRS = 4 }; /* added to the pairs found: none found may be three missed */
#define WIDTH_95 1.96   /* deviations to either side */

/* Counts of near records, of the records compared so far: by row of the answer, cumulated. */
typedef struct {
    const weir_neighbours_options *o;
    const uint64_t *rows;
    size_t count, stride;
    unsigned bins;
    double sum[WEIR_NEIGHBOURS_ROWS], squares[WEIR_NEIGHBOURS_ROWS];
    double few;
} comparison;

static const uint64_t *row_at(const comparison *c, size_t i) { return c->rows + i * c->stride; }

static double square_between(const uint64_t *a, const uint64_t *b, unsigned columns) {
    double sum = 0;
    for (unsigned k = 0; k < columns; k++) {
        double x, y;
        memcpy(&x, a + k, sizeof x);
        memcpy(&y, b + k, sizeof y);
        sum += (x - y) * (x - y);
    }
    return sum;
}

/* The first row that holds this distance: 0 for none at all, then doublings of the least. The
 * exponent of a double is that of the power of two at or below it, plus 1023. */
static unsigned bin_of(double square, double asked) {
    double ratio = square / (asked * asked);
    uint64_t bits;
    if (!(ratio > 0)) return 0;
    memcpy(&bits, &ratio, sizeof bits);
    int twice = (int)(bits >> 52) - 1023 + (bits << 12 != 0); /* of the one at or above it */
    int j = (twice + (twice > 0)) / 2;                        /* of four */
    if (j < -HALVINGS) j = -HALVINGS;
    return (unsigned)((j < DOUBLINGS ? j : DOUBLINGS) + HALVINGS + 1);
}

/* Rows of an agreement go down from all columns, so that each holds those before it. */
static unsigned bin_between(const comparison *c, const uint64_t *a, const uint64_t *b) {
    const weir_neighbours_options *o = c->o;
    if (o->distance > 0) return bin_of(square_between(a, b, o->columns), o->distance);
    return o->columns -
           (o->set ? weir__sets_agree(a, b, o->columns) : weir_rows_agree(a, b, o->columns, false));
}

/* The row that says who is near. */
static unsigned near_bin(const weir_neighbours_options *o) {
    return o->distance > 0 ? HALVINGS + 1 : o->columns - o->threshold;
}

static void compare_one(comparison *c, size_t i) {
    uint64_t found[WEIR_NEIGHBOURS_ROWS] = {0};
    const uint64_t *mine = row_at(c, i);
    assert(i < c->count && c->bins <= WEIR_NEIGHBOURS_ROWS);
    for (size_t j = 0; j < c->count; j++) found[bin_between(c, mine, row_at(c, j))]++;
    found[bin_between(c, mine, mine)]--; /* itself */
    double all = 0;
    for (unsigned b = 0; b < c->bins; b++) {
        all += (double)found[b];
        c->sum[b] += all;
        c->squares[b] += all * all;
        if (b == near_bin(c->o)) c->few += all < (double)c->o->fewer;
    }
}

/* A sample without replacement, in order: each record is taken with the chance that what is
 * still to be taken has among what is left. */
static void compare_sample(comparison *c, size_t sample) {
    uint64_t rng = c->o->seed;
    size_t taken = 0;
    assert(sample <= c->count);
    for (size_t i = 0; i < c->count && taken < sample; i++) {
        if (weir__rng_below(&rng, c->count - i) >= sample - taken) continue;
        compare_one(c, i);
        taken++;
    }
}

static weir_neighbours_row pairs_in(const comparison *c, unsigned bin, double sample) {
    double n = (double)c->count, mean = c->sum[bin] / sample, left = 1 - sample / n;
    double most = n * (n - 1) / 2, variance = 0;
    if (sample > 1) variance = (c->squares[bin] - sample * mean * mean) / (sample - 1);
    double of_mean = left * (fmax(0, variance) / sample + FEW_PAIRS / (sample * sample));
    double pairs = c->sum[bin] / 2 * (n / sample), off = WIDTH_95 * n / 2 * sqrt(of_mean);
    return (weir_neighbours_row){
        .pairs = pairs, .low = fmax(0, pairs - off), .high = fmin(most, pairs + off)};
}

static void count_outliers(const comparison *c, double sample, weir_neighbours *out) {
    double n = (double)c->count, share = c->few / sample, z = WIDTH_95 * WIDTH_95;
    out->outliers = out->outliers_low = out->outliers_high = n * share;
    if (sample >= n) return;
    double draws = sample * (n - 1) / (n - sample); /* without replacement they tell more */
    double middle = (share + z / (2 * draws)) / (1 + z / draws);
    double half =
        WIDTH_95 / (1 + z / draws) * sqrt(share * (1 - share) / draws + z / (4 * draws * draws));
    out->outliers_low = n * fmax(0, middle - half);
    out->outliers_high = n * fmin(1, middle + half);
}

static weir_status check_options(const weir_neighbours_options *o, weir_error *err) {
    bool by_distance = o->distance != 0;
    if (o->columns < 1 || o->columns > WEIR__COLUMNS_MOST)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "%u columns cannot be compared; from 1 to %d",
                          o->columns, WEIR__COLUMNS_MOST);
    if (by_distance && !(o->distance > 0 && isfinite(o->distance)))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a distance of %g is not above 0", o->distance);
    if (!by_distance && (o->threshold < 1 || o->threshold > o->columns))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a threshold of %u is not between 1 and %u",
                          o->threshold, o->columns);
    return WEIR_OK;
}

/* A copy of the rows with the items of each in order. */
static weir_status sort_sets(comparison *c, uint64_t **copy, weir_error *err) {
    unsigned d = c->o->columns;
    *copy = malloc((c->count * d + 1) * sizeof **copy);
    if (!*copy) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (size_t i = 0; i < c->count; i++) {
        memcpy(*copy + i * d, row_at(c, i), d * sizeof **copy);
        qsort(*copy + i * d, d, sizeof **copy, weir__by_word);
    }
    c->rows = *copy;
    c->stride = d;
    return WEIR_OK;
}

weir_status weir_pairs_neighbours(const weir_neighbours_options *o, const uint64_t *rows,
                                  size_t count, weir_neighbours *out, weir_error *err) {
    bool by_distance = o->distance > 0;
    size_t sample = o->sample && o->sample < count ? o->sample : count;
    comparison c = {.o = o,
                    .rows = rows,
                    .count = count,
                    .stride = o->stride ? o->stride : o->columns,
                    .bins = by_distance ? HALVINGS + DOUBLINGS + 2 : o->columns + 1};
    uint64_t *copy = NULL;
    weir_status status = check_options(o, err);
    *out = (weir_neighbours){.records = count, .compared = sample};
    if (status == WEIR_OK && count && o->set && !by_distance) status = sort_sets(&c, &copy, err);
    if (status != WEIR_OK || !count) return status;
    out->pairs = (double)count * ((double)count - 1) / 2;
    compare_sample(&c, sample);
    double all = (double)sample * ((double)count - 1); /* where there is nothing more to add */
    for (unsigned b = 0; b < c.bins && (b == 0 || c.sum[b - 1] < all); b++) {
        out->row[b] = pairs_in(&c, b, (double)sample);
        out->row[b].limit = !by_distance ? (double)(o->columns - b)
                            : b == 0     ? 0
                                         : ldexp(o->distance, (int)b - HALVINGS - 1);
        out->rows = b + 1;
    }
    out->near = pairs_in(&c, near_bin(o), (double)sample);
    out->near.limit = by_distance ? o->distance : o->threshold;
    count_outliers(&c, (double)sample, out);
    free(copy);
    return WEIR_OK;
}
