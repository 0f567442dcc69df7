/* linear.c - linear counting: different keys from the zeros of a Bloom filter.
 *
 * Question   how many different keys came by?
 * Idea       each key sets k of m bits; the share of bits that are still zero is
 *            e^(-kn/m), so n = -(m/k) ln(zeros/m).
 * Parameters m from memory= or for a `capacity` and error; k (1)
 * Error      both ways; for k = 1 the deviation of the count is sqrt(m (e^t - t - 1)),
 *            t = n/m: very small while t is below 1, without bound as the bits run
 *            out. Past t = ln m + a few it is full, and says so.
 * Cost       k bits per key
 * Layout     bits, low bits of a byte first
 * Source     Whang, Vander-Zanden, Taylor 1990; thesis 2.1.1. For k > 1 the
 *            deviation is taken over with t = kn/m and divided by k: an upper
 *            bound, as bits of one key rarely meet.
 */
#include "core/cells.h"

#include "filter/filter.h"
#include "sketch/presence.h"
#include <assert.h>

enum { OPT_CAPACITY = WEIR__PR_OWN, OPT_K };
#define STANDARD_MEMORY ((uint64_t)128 << 10) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    uint64_t bits;
    unsigned k;
} linear_sketch;

/* Relative deviation of n keys in m bits. */
static double relative_deviation(double m, double n) {
    assert(m > 0);
    double t = n / m;
    return n > 0 ? sqrt(m * (exp(t) - t - 1)) / n : 0;
}

/* Fewest bits with which n keys have that deviation. */
static double bits_for(double n, double deviation) {
    double low = 64, high = 64;
    while (relative_deviation(high, n) > deviation) low = high, high *= 2;
    while (high - low > 64) {
        double middle = (low + high) / 2;
        if (relative_deviation(middle, n) > deviation) low = middle;
        else high = middle;
    }
    return high;
}

static weir_status create(weir_sketch *s, weir_error *err) {
    linear_sketch *l = (linear_sketch *)s;
    double cells;
    l->k = (unsigned)weir__sk_whole(s, OPT_K);
    if (weir__sk_given(s, WEIR__PR_ERROR)) {
        if (!weir__sk_given(s, OPT_CAPACITY))
            return weir__sk_fail(s, WEIR__PR_ERROR, err,
                                 "error needs capacity= too: linear counting is sized for a number "
                                 "of keys");
        double error = weir__sk_rate(s, WEIR__PR_ERROR);
        double z2 = weir__presence_plan(s, error, 1, 0); /* (z error/error)^2: z squared */
        cells = bits_for((double)weir__sk_whole(s, OPT_CAPACITY) * l->k, error / sqrt(z2));
    } else {
        cells = weir__presence_plan(s, 1, 1, STANDARD_MEMORY);
    }
    uint64_t words = (uint64_t)cells / 64;
    l->bits = 64 * (words ? words : 1);
    return weir__sketch_claim(s, l->bits / 8, err);
}

static void put(weir_sketch *s, uint64_t hash) {
    const linear_sketch *l = (const linear_sketch *)s;
    for (unsigned i = 0; i < l->k; i++) {
        weir__bit_set(s->cells, weir__scale(hash, l->bits));
        hash = weir__mix64(hash + i + 1);
    }
}

static void prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count) {
    const uint64_t bits = ((const linear_sketch *)s)->bits;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(s->cells + weir__scale(hashes[i], bits) / 8, 1);
}

WEIR__PRESENCE_ADD(put)

static double zeros_of(const weir_sketch *s) {
    const linear_sketch *l = (const linear_sketch *)s;
    assert(l->bits == s->cells_bytes * 8);
    return (double)(l->bits - weir__bits_set(s->cells, s->cells_bytes));
}

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const linear_sketch *l = (const linear_sketch *)s;
    double m = (double)l->bits, zeros = zeros_of(s);
    if (zeros == 0)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "all bits are set, so the number of keys cannot be told; give more "
                          "memory, or use hll");
    double touched = -m * log(zeros / m);
    *out = weir__relative(touched / l->k, relative_deviation(m, touched), 0);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const linear_sketch *l = (const linear_sketch *)s;
    double m = (double)l->bits, zeros = zeros_of(s);
    double touched = -m * log(fmax(zeros, 0.5) / m);
    out->error = WEIR__Z99 * relative_deviation(m, fmax(touched, 1));
    out->confidence = 0.99;
    out->overfull = zeros < 0.01 * m;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    weir__detail(each, context, "zeros", "share of the bits that are zero", "%.6g",
                 zeros_of(s) / (double)((const linear_sketch *)s)->bits);
}

static const weir_option options[] = {
    WEIR__PRESENCE_OPTIONS,
    {"capacity", WEIR_OPT_COUNT, 1, 0x1p50, NULL, NULL, "keys that error= is to hold for"},
    {"k", WEIR_OPT_COUNT, 1, 32, NULL, "1", "bits that a key sets"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__linear_sketch = {
    .kind = {.name = "linear",
             .summary = "linear counting: number of different keys from the zeros of a bitmap",
             .advice = "The most exact for as many keys as there are bits or fewer; useless when "
                       "the bits run out. Use hll where the number of keys is not known ahead.",
             .mergeable = true,
             .options = options},
    WEIR__BITMAP_FUNCTIONS(linear_sketch),
    .prefetch = prefetch,
    .details = details,
};
