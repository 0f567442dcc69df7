/* spacecode.c - multi-resolution space-code Bloom filter: counts from bits alone.
 *
 * Question   how often did a key come by?
 * Idea       a Bloom filter with l groups of k hash functions. Each occurrence of a key
 *            picks a group at random and sets its k bits; how many of its groups are
 *            set tells, as with collecting coupons, how often it came. Since that
 *            ends at about l ln l, there are r such filters, filter i taking an
 *            occurrence with chance 4^-i, and the finest that is not nearly full of the
 *            key is read.
 * Parameters memory=, l = groups (32), k (3), r = 10 resolutions
 * Error      both ways; relative deviation of the one that is read about
 *            sqrt(e^x - 1 - x)/x / sqrt(l), x = occurrences in it / l, and the sampling;
 *            much worse than countmin at equal memory.
 * Cost       1.33 groups of k bits per occurrence
 * Layout     r bitmaps, one after the other
 * Source     Kumar, Xu, Wang 2004; thesis 2.1.1. Read by inverting the mean number
 *            of groups that are set, false positives of the bitmap's fill taken
 *            off, in place of their tables of likelihoods.
 */
#include <math.h>

#include "core/cells.h"
#include "filter/filter.h"
#include "sketch/matrix_sketch.h"

enum { OPT_GROUPS = WEIR__SK_OWN, OPT_K };
enum { RESOLUTIONS = 10 };
#define WEIGHT_MOST 1000000 /* of one update */
#define STANDARD_MEMORY ((uint64_t)1 << 20)
#define ENOUGH 0.8 /* share of the groups up to which a resolution is read */

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

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    const spacecode_sketch *c = (const spacecode_sketch *)s;
    double l = c->groups, missing = 1, chance = 0;
    unsigned i = 0;
    (void)by, (void)err;
    for (; i < RESOLUTIONS; i++) {
        missing = 1 - groups_set(c, hash, i) / l;
        chance = set_by_chance(c, i);
        if (missing >= 1 - ENOUGH && chance < 0.9) break;
    }
    if (i == RESOLUTIONS) i--, missing = fmax(missing, 0.5 / l), chance = fmin(chance, 0.9);
    double x = -log(fmin(1, missing / (1 - chance))); /* occurrences in it, by group */
    double one_in = exp2(2.0 * i), value = one_in * l * x;
    double deviation =
        one_in * sqrt(l * (exp(x) / (1 - chance) - 1 - x) + l * x * (1 - 1 / one_in));
    *out = (weir_estimate){value, fmax(0, value - 3 * deviation), value + 3 * deviation, deviation};
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
