/* spacecode.c - multi-resolution space-code Bloom filter: counts from bits alone.
 *
 * Question   how often did a key come by?
 * Idea       a Bloom filter with l groups of k hash functions. Each occurrence of a key
 *            picks a group at random and sets its k bits; how many of its groups are
 *            set tells, as with collecting coupons, how often it came. Since that
 *            ends at about l ln l, there are r such filters, filter i taking an
 *            occurrence with chance 4^-i. The estimate is the count under which what all of
 *            them show is likeliest.
 * Parameters memory=, l = groups (32), k (3), r = 10 resolutions
 * Error      both ways; the interval is that of counts whose log-likelihood is near the
 *            greatest. A filter that other keys fill tells little: where filters up to i are
 *            full, keys are told apart by samples of one in 4^i, and one that came 3 times may
 *            read as 200 (with an interval from 0). Much worse than countmin at equal memory.
 * Cost       1.33 groups of k bits per occurrence
 * Layout     r bitmaps, one after the other
 * Source     Kumar, Xu, Wang 2004; thesis 2.1.1. They read one filter, the finest that is not
 *            nearly full of the key, by a table of likelihoods. What the others show halves the
 *            error where memory is short, so all are read together, by the formula.
 */
#include <assert.h>
#include <math.h>

#include "core/cells.h"
#include "filter/filter.h"
#include "sketch/matrix_sketch.h"

enum { OPT_GROUPS = WEIR__SK_OWN, OPT_K };
enum { RESOLUTIONS = 10 };                  /* resolution i takes one record in 4^i */
#define WEIGHT_MOST 1000000                 /* of one update */
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */
/* How far the log of the likelihood may be below its greatest within the interval. 4.5 are three
 * deviations of independent filters; these sample each other's samples, by which deviations are up
 * to 1.38 times as large (tests/model/test_samples.c). */
#define LEVEL 8.5
#define DEVIATIONS 3 /* that the interval then reaches to either side */

typedef struct {
    weir_sketch base;
    uint64_t bits; /* of a resolution */
    unsigned groups, k;
    struct {
        uint64_t rng;
    } state;
} spacecode_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    spacecode_sketch *c = (spacecode_sketch *)s;
    c->groups = (unsigned)weir__sk_whole(s, OPT_GROUPS);
    c->k = (unsigned)weir__sk_whole(s, OPT_K);
    uint64_t words = weir__sketch_budget(s, STANDARD_MEMORY) / 8 / RESOLUTIONS;
    c->bits = 64 * (words ? words : 1);
    return weir__sketch_claim(s, c->bits / 8 * RESOLUTIONS, err);
}

static void start(weir_sketch *s) {
    ((spacecode_sketch *)s)->state.rng = weir__sk_whole(s, WEIR__SK_SEED) ^ UINT64_C(0x73636266);
}

/* Bit j of a group of a key in a resolution. */
static uint64_t bit_of(const spacecode_sketch *c, uint64_t hash, unsigned resolution,
                       unsigned group, unsigned j) {
    assert(resolution < RESOLUTIONS && group < c->groups && j < c->k);
    uint64_t word = weir__mix64(
        hash + (((uint64_t)resolution << 32 | (uint64_t)group << 8 | j) + 1) * WEIR__GOLD);
    return resolution * c->bits + weir__scale(word, c->bits);
}

static void put(spacecode_sketch *c, uint64_t hash) {
    uint64_t coins = weir__rng_next(&c->state.rng);
    for (unsigned i = 0; i < RESOLUTIONS; i++, coins <<= 2) {
        unsigned group = (unsigned)weir__rng_below(&c->state.rng, c->groups);
        for (unsigned j = 0; j < c->k; j++)
            weir__bit_set(c->base.cells, bit_of(c, hash, i, group, j));
        if (coins >> 62) return; /* one in four goes on to the next */
    }
}

/* A weight of w counts as w keys, one after the other. */
static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    weir_status status = WEIR_OK;
    size_t i = 0;
    for (; i < u->count && status == WEIR_OK; i++) {
        int64_t weight = u->weights ? u->weights[i] : 1;
        if (weight > WEIGHT_MOST) {
            status = weir__fail(err, WEIR_ERR_RANGE, -1,
                                "a 'spacecode' sketch takes weights up to %d, not %lld",
                                WEIGHT_MOST, (long long)weight);
            break;
        }
        while (weight-- > 0) put((spacecode_sketch *)s, u->hashes[i]);
    }
    weir__count_total(s, u, i);
    *done = i;
    return status;
}

static unsigned groups_set(const spacecode_sketch *c, uint64_t hash, unsigned resolution) {
    unsigned set = 0;
    for (unsigned group = 0; group < c->groups; group++) {
        bool all = true;
        for (unsigned j = 0; j < c->k && all; j++)
            all = weir__bit_get(c->base.cells, bit_of(c, hash, resolution, group, j));
        set += all;
    }
    return set;
}

/* The chance that a group is set by others. */
static double set_by_chance(const spacecode_sketch *c, unsigned resolution) {
    const uint8_t *bits = c->base.cells + resolution * (c->bits / 8);
    return pow((double)weir__bits_set(bits, c->bits / 8) / (double)c->bits, c->k);
}

/* For each resolution the groups in which all bits of a key are set. */
typedef struct {
    double groups;
    double set[RESOLUTIONS];   /* of its groups, how many are */
    double spare[RESOLUTIONS]; /* the chance that others leave one alone */
} reading;

/* The log of the chance to see this of a key that came n times, but for what does not depend on
 * n: in resolution i a group is left alone with a chance of spare e^(-n / (4^i l)). */
static double likelihood(const reading *r, double n) {
    double sum = 0;
    for (unsigned i = 0; i < RESOLUTIONS; i++) {
        double alone = r->spare[i] * exp(-n / (exp2(2.0 * i) * r->groups));
        if (r->set[i] > 0) sum += r->set[i] * log(fmax(1 - alone, 1e-300));
        if (r->set[i] < r->groups) sum += (r->groups - r->set[i]) * log(fmax(alone, 1e-300));
    }
    return sum;
}

/* Its derivative: above 0 while n is too small. It falls to below 0 once. */
static double slope(const reading *r, double n) {
    double sum = 0;
    for (unsigned i = 0; i < RESOLUTIONS; i++) {
        double rate = 1 / (exp2(2.0 * i) * r->groups), alone = r->spare[i] * exp(-n * rate);
        sum += rate * (r->set[i] * alone / fmax(1 - alone, 1e-300) - (r->groups - r->set[i]));
    }
    return sum;
}

/* Where a function that is above 0 at `low` and below it at `high` is 0: steps halve the ratio
 * while that is large, then the difference. */
static double root(double low, double high, double (*above)(const reading *, double, double),
                   const reading *r, double level) {
    for (int i = 0; i < 60; i++) {
        double middle = high > 4 * low + 1 ? sqrt((low + 0.1) * (high + 0.1)) : (low + high) / 2;
        if (above(r, middle, level) > 0) low = middle;
        else high = middle;
    }
    return (low + high) / 2;
}

static double rises(const reading *r, double n, double level) { return slope(r, n) - level; }
static double is_unlikely(const reading *r, double n, double level) {
    return level - likelihood(r, n);
}
static double is_likely(const reading *r, double n, double level) {
    return likelihood(r, n) - level;
}

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    const spacecode_sketch *c = (const spacecode_sketch *)s;
    reading r = {.groups = c->groups};
    double most = exp2(2.0 * RESOLUTIONS) * c->groups;
    (void)by, (void)err;
    for (unsigned i = 0; i < RESOLUTIONS; i++) {
        r.set[i] = groups_set(c, hash, i);
        r.spare[i] = 1 - fmin(set_by_chance(c, i), 1 - 1e-9);
    }
    double value = rises(&r, 0, 0) > 0 ? root(0, most, rises, &r, 0) : 0;
    double level = likelihood(&r, value) - LEVEL;
    double low = is_unlikely(&r, 0, level) > 0 ? root(0, value, is_unlikely, &r, level) : 0;
    double high = root(value, most, is_likely, &r, level);
    *out = (weir_estimate){value, low, high, (high - low) / 2 / DEVIATIONS};
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    (void)err;
    for (uint64_t i = 0; i < into->cells_bytes; i++) into->cells[i] |= from->cells[i];
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const spacecode_sketch *c = (const spacecode_sketch *)s;
    out->error = 1 / sqrt((double)c->groups);
    out->confidence = 0.68;
    out->overfull = set_by_chance(c, 0) > 0.9;
}

static const weir_option options[] = {
    {"groups", WEIR_OPT_COUNT, 4, 128, NULL, "32", "groups of hash functions"},
    {"k", WEIR_OPT_COUNT, 1, 16, NULL, "3", "hash functions in a group"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__spacecode_sketch = {
    .kind = {.name = "spacecode",
             .summary = "space-code Bloom filter: counts from bits",
             .advice = "Here for comparison; countmin is better at everything but the number of "
                       "bits written.",
             .mergeable = true,
             .options = options},
    .size = sizeof(spacecode_sketch),
    .state_offset = offsetof(spacecode_sketch, state),
    .state_words = 1,
    .create = create,
    .start = start,
    .add = add,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_GAINS | WEIR__NEEDS_WHOLES,
    .merge = merge,
    .info = info,
    .estimate = estimate,
};
