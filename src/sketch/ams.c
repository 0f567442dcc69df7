/* ams.c - the AMS sketch in its first form: every key touches every counter.
 *
 * Question   self-join size and join size; multiplicity of a key
 * Idea       a counter adds each key's weight with a sign of +1 or -1 that is 4-wise
 *            independent. Its square estimates the self-join size, the product of the
 *            counters of two streams their join size, counter times sign the
 *            multiplicity. The mean of s1 counters, the median of s2 means.
 * Parameters s1 = width, s2 = depth, or memory= (s2 = 5)
 * Error      both ways, unbiased. A mean has variance 2 (F2^2 - F4)/s1 (self-join),
 *            (F2 G2 + J^2 - 2 sum f^2 g^2)/s1 (join), (F2 - f^2)/s1 (multiplicity): what a
 *            row of Fast-AGMS with as many counters has.
 * Cost       all counters for every key: only for comparison with agms
 * Layout     s2 rows of s1 64-bit counters
 * Source     Alon, Matias, Szegedy 1996; thesis 2.1.3, where "median of all counters"
 *            is said for the median of means of squares. One polynomial value
 *            (rowhash.h) gives the signs of 61 counters.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"

enum { OPT_WIDTH = WEIR__SK_OWN, OPT_DEPTH };
enum { STANDARD_DEPTH = 5 };                /* rows, if depth= is not given */
#define STANDARD_MEMORY ((uint64_t)8 << 10) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    uint64_t width, polys;
    unsigned depth;
    weir__poly *poly;
} ams_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    ams_sketch *a = (ams_sketch *)s;
    a->depth =
        weir__sk_given(s, OPT_DEPTH) ? (unsigned)weir__sk_whole(s, OPT_DEPTH) : STANDARD_DEPTH;
    a->width = weir__sk_given(s, OPT_WIDTH)
                   ? weir__sk_whole(s, OPT_WIDTH)
                   : weir__sketch_budget(s, STANDARD_MEMORY) / 8 / a->depth;
    if (a->width == 0) a->width = 1;
    weir__sk_resolve(s, OPT_WIDTH, a->width);
    weir__sk_resolve(s, OPT_DEPTH, a->depth);
    a->polys = (a->width * a->depth + WEIR__FIELD_BITS - 1) / WEIR__FIELD_BITS;
    a->poly = weir__alloc(&s->allocator, a->polys * sizeof *a->poly);
    if (!a->poly) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    uint64_t rng = weir__sk_whole(s, WEIR__SK_SEED) ^ UINT64_C(0x616d73);
    for (uint64_t i = 0; i < a->polys; i++) a->poly[i] = weir__poly_draw(&rng);
    return weir__sketch_claim(s, 8 * a->width * a->depth, err);
}

static void close(weir_sketch *s) { weir__free(&s->allocator, ((ams_sketch *)s)->poly); }

/* Sign bits of the counters from i on, as a fraction: the next is the highest. */
static uint64_t signs_from(const ams_sketch *a, uint64_t hash, uint64_t i) {
    return weir__poly_at(&a->poly[i / WEIR__FIELD_BITS], weir__field_fold(hash));
}

static bool put(weir_sketch *s, uint64_t hash, int64_t weight) {
    const ams_sketch *a = (const ams_sketch *)s;
    int64_t *counters = (void *)s->cells, before;
    uint64_t signs = 0, n = a->width * a->depth;
    double most = fabs(weir__total(s)) + fabs((double)weight);
    if (most > 0x1p62 || weight == INT64_MIN) return false;
    for (uint64_t i = 0; i < n; i++, signs <<= 1) {
        if (i % WEIR__FIELD_BITS == 0) signs = signs_from(a, hash, i);
        int64_t step = signs >> 63 ? -weight : weight;
        if (__builtin_add_overflow(counters[i], step, &before)) return false;
        counters[i] = before;
    }
    return true;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    for (*done = 0; *done < u->count; ++*done) {
        int64_t weight = u->weights ? u->weights[*done] : 1;
        if (!put(s, u->hashes[*done], weight))
            return weir__fail(err, WEIR_ERR_RANGE, (int64_t)*done,
                              "a counter would overflow; use smaller weights");
        s->total_bits = weir__as_bits(weir__total(s) + (double)weight);
    }
    return WEIR_OK;
}

/* The median of means of products, with the bounds of a row's deviation. */
static weir_estimate median_of_means(const ams_sketch *a, double *means, double row) {
    double value = weir__median(means, a->depth), reach = weir__median_reach(a->depth, 0.01) * row;
    return (weir_estimate){value, value - reach, value + reach,
                           row * weir__median_deviation(a->depth)};
}

static void mean_products(const weir_sketch *x, const weir_sketch *y, double *means) {
    const ams_sketch *a = (const ams_sketch *)x;
    const int64_t *left = (const void *)x->cells, *right = (const void *)y->cells;
    for (unsigned row = 0; row < a->depth; row++) {
        double sum = 0;
        for (uint64_t i = row * a->width; i < (row + 1) * a->width; i++)
            sum += (double)left[i] * (double)right[i];
        means[row] = sum / (double)a->width;
    }
}

static weir_status self_join(weir_sketch *s, weir_estimator by, weir_estimate *out,
                             weir_error *err) {
    const ams_sketch *a = (const ams_sketch *)s;
    double means[WEIR__DEPTH_MOST];
    (void)by, (void)err;
    mean_products(s, s, means);
    double square = weir__median(means, a->depth);
    *out = median_of_means(a, means, sqrt(2.0 / (double)a->width) * square);
    out->low = fmax(0, out->low);
    return WEIR_OK;
}

static weir_status join(weir_sketch *x, weir_sketch *y, weir_estimator by, weir_estimate *out,
                        weir_error *err) {
    const ams_sketch *a = (const ams_sketch *)x;
    double means[WEIR__DEPTH_MOST];
    weir_estimate left, right;
    self_join(x, by, &left, err);
    self_join(y, by, &right, err);
    mean_products(x, y, means);
    double most = left.value * right.value, value = weir__median(means, a->depth);
    *out = median_of_means(a, means, sqrt((most + fmin(most, value * value)) / (double)a->width));
    return WEIR_OK;
}

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    const ams_sketch *a = (const ams_sketch *)s;
    const int64_t *counters = (const void *)s->cells;
    double means[WEIR__DEPTH_MOST] = {0};
    weir_estimate square;
    uint64_t signs = 0;
    assert(a->width > 0 && a->depth <= WEIR__DEPTH_MOST);
    self_join(s, by, &square, err);
    for (uint64_t i = 0; i < a->width * a->depth; i++, signs <<= 1) {
        if (i % WEIR__FIELD_BITS == 0) signs = signs_from(a, hash, i);
        double counter = (double)counters[i] / (double)a->width;
        means[i / a->width] += signs >> 63 ? -counter : counter;
    }
    *out = median_of_means(a, means, sqrt(square.value / (double)a->width));
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    int64_t *to = (void *)into->cells, sum;
    const int64_t *other = (const void *)from->cells;
    uint64_t n = into->cells_bytes / 8;
    for (uint64_t i = 0; i < n; i++)
        if (__builtin_add_overflow(to[i], other[i], &sum))
            return weir__fail(err, WEIR_ERR_RANGE, 0, "a counter would overflow");
    for (uint64_t i = 0; i < n; i++) to[i] += other[i];
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const ams_sketch *a = (const ams_sketch *)s;
    out->error = weir__median_reach(a->depth, 0.01) * sqrt(2.0 / (double)a->width);
    out->confidence = 0.99;
}

static const weir_option options[] = {
    {"width", WEIR_OPT_COUNT, 1, 0x1p24, NULL, NULL, "counters that a mean is taken of"},
    {"depth", WEIR_OPT_COUNT, 1, WEIR__DEPTH_MOST, NULL, NULL, "means that the median is taken of"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__ams_sketch = {
    .kind = {.name = "ams",
             .summary = "the original AMS sketch: join sizes, every counter for every key",
             .advice = "Here for comparison: agms gives the same answers for a fraction of the "
                       "time.",
             .mergeable = true,
             .options = options},
    .size = sizeof(ams_sketch),
    .create = create,
    .close = close,
    .add = add,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_WHOLES,
    .merge = merge,
    .info = info,
    .estimate = estimate,
    .self_join = self_join,
    .join = join,
};
