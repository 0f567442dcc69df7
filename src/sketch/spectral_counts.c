/* spectral_counts.c - spectral Bloom filter: counts by minimal increase or recurring minimum.
 *
 * Question   how often did a key come by?
 * Idea       one array of m counters; a key has k of them, and the least is read.
 *            mode=mi  only those of the k that hold the least are raised
 *            mode=rm  all are raised; a key whose least value stands in one counter
 *                     only (so that it is likely to be wrong) is kept in a
 *                     second, smaller array too, and read from there
 *            mode=ms  all are raised and the least is read: a counting Bloom filter
 * Parameters m from memory=, k (5)
 * Error      mi and ms: never too low. rm: rarely too low (a key may enter the second
 *            array late, with the least value it had then), usually closer. mi
 *            takes no deletions.
 * Cost       k lines per key
 * Layout     m counters of 32 bits; with rm the last third are the second array
 * Source     Cohen, Matias 2003; thesis 2.1.1. Countmin with update=conservative is
 *            mi with a row of its own for each position; it is the one to use.
 *            Without the extra Bloom filter that they offer for rm: a key is in
 *            the second array if it is not zero there.
 */
#include <assert.h>
#include <math.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"

enum { OPT_MODE = WEIR__SK_OWN, OPT_K };
enum { MODE_MI, MODE_RM, MODE_MS };
enum { K_MOST = 16 };                       /* counters of a key */
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    uint64_t first, second; /* counters of the two arrays */
    unsigned k, mode;
} spectral_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    spectral_sketch *p = (spectral_sketch *)s;
    uint64_t counters = weir__sketch_budget(s, STANDARD_MEMORY) / 4;
    p->mode = (unsigned)weir__sk_whole(s, OPT_MODE);
    p->k = (unsigned)weir__sk_whole(s, OPT_K);
    p->second = p->mode == MODE_RM ? counters / 3 : 0;
    p->first = counters - p->second;
    return weir__sketch_claim(s, 4 * counters, err);
}

/* k different places of an array, at least as far as chance makes them so. */
static void places_of(uint64_t hash, uint64_t counters, unsigned k, uint64_t *places) {
    assert(k >= 1 && k <= K_MOST && counters > 0);
    unsigned i = 0;
    do {
        hash = weir__mix64(hash + WEIR__GOLD);
        places[i] = weir__scale(hash, counters);
    } while (++i < k);
}

typedef struct {
    uint32_t least;
    bool recurs;
} minimum;

static minimum least_of(const uint32_t *array, const uint64_t *places, unsigned k) {
    minimum m = {array[places[0]], false};
    for (unsigned i = 1; i < k; i++) {
        uint32_t value = array[places[i]];
        if (value < m.least) m = (minimum){value, false};
        else if (value == m.least && places[i] != places[0]) m.recurs = true;
    }
    return m;
}

/* False if a counter would leave 0..2^32-1: nothing was changed then. */
static bool add_all(uint32_t *array, const uint64_t *places, unsigned k, int64_t weight) {
    for (unsigned i = 0; i < k; i++) {
        int64_t sum = (int64_t)array[places[i]] + weight;
        if (sum < 0 || sum > UINT32_MAX) return false;
    }
    for (unsigned i = 0; i < k; i++) {
        bool before = false; /* one place may stand in two positions: count it once */
        for (unsigned j = 0; j < i; j++) before |= places[j] == places[i];
        if (!before) array[places[i]] = (uint32_t)((int64_t)array[places[i]] + weight);
    }
    return true;
}

static bool raise_least(uint32_t *array, const uint64_t *places, unsigned k, int64_t weight) {
    assert(weight >= 0); /* a counter is never lowered here */
    int64_t target = (int64_t)least_of(array, places, k).least + weight;
    if (target > UINT32_MAX) return false;
    for (unsigned i = 0; i < k; i++)
        if (array[places[i]] < target) array[places[i]] = (uint32_t)target;
    return true;
}

static bool put(weir_sketch *s, uint64_t hash, int64_t weight) {
    const spectral_sketch *p = (const spectral_sketch *)s;
    uint32_t *first = (void *)s->cells, *second = first + p->first;
    uint64_t places[K_MOST], others[K_MOST];
    places_of(hash, p->first, p->k, places);
    if (p->mode == MODE_MI) return raise_least(first, places, p->k, weight);
    if (!add_all(first, places, p->k, weight)) return false;
    if (p->mode == MODE_MS) return true;
    minimum m = least_of(first, places, p->k);
    places_of(~hash, p->second, p->k, others);
    minimum there = least_of(second, others, p->k);
    if (there.least) add_all(second, others, p->k, weight);
    else if (!m.recurs) raise_least(second, others, p->k, m.least);
    return true;
}

static void prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count) {
    const spectral_sketch *p = (const spectral_sketch *)s;
    uint64_t places[K_MOST];
    for (size_t i = 0; i < count; i++) {
        places_of(hashes[i], p->first, p->k, places);
        for (unsigned j = 0; j < p->k; j++) __builtin_prefetch(s->cells + 4 * places[j], 1);
    }
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    const spectral_sketch *p = (const spectral_sketch *)s;
    for (*done = 0; *done < u->count; ++*done) {
        int64_t weight = u->weights ? u->weights[*done] : 1;
        bool loss = weight < 0 && p->mode == MODE_MI;
        bool huge = weight > UINT32_MAX || weight < -(int64_t)UINT32_MAX;
        if (!loss && !huge && put(s, u->hashes[*done], weight)) continue;
        weir__count_total(s, u, *done);
        return weir__fail(err, WEIR_ERR_RANGE, (int64_t)*done,
                          loss ? "mode=mi cannot take a negative weight; use rm"
                               : "a counter would leave 0 to 2^32-1; use countmin:counter=64");
    }
    weir__count_total(s, u, u->count);
    return WEIR_OK;
}

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    const spectral_sketch *p = (const spectral_sketch *)s;
    const uint32_t *first = (const void *)s->cells;
    uint64_t places[K_MOST];
    (void)by, (void)err;
    places_of(hash, p->first, p->k, places);
    minimum m = least_of(first, places, p->k);
    double high = m.least, value = high;
    if (p->mode == MODE_RM && !m.recurs) {
        places_of(~hash, p->second, p->k, places);
        minimum there = least_of(first + p->first, places, p->k);
        if (there.least && there.least < m.least) value = there.least;
    }
    /* all k noises above x: at most (k total / (m x))^k, by Markov, at 1% */
    double noise = p->k * weir__total(s) / (double)p->first * pow(100, 1.0 / p->k);
    double low = fmax(0, fmin(value, high - noise));
    *out = (weir_estimate){value, low, high, (high - low) / 2};
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    uint32_t *to = (void *)into->cells;
    const uint32_t *other = (const void *)from->cells;
    for (uint64_t i = 0; i < into->cells_bytes / 4; i++)
        if (to[i] > UINT32_MAX - other[i])
            return weir__fail(err, WEIR_ERR_RANGE, 0, "a counter would overflow");
    for (uint64_t i = 0; i < into->cells_bytes / 4; i++) to[i] += other[i];
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const spectral_sketch *p = (const spectral_sketch *)s;
    out->error = p->k * exp(1) / (double)p->first;
    out->confidence = -expm1(-(double)p->k);
}

static const weir_option options[] = {
    {"mode", WEIR_OPT_CHOICE, 0, 0, "mi|rm|ms", "mi",
     "minimal increase, recurring minimum, or plain minimum"},
    {"k", WEIR_OPT_COUNT, 1, K_MOST, NULL, "5", "counters of a key"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__spectral_sketch = {
    .kind = {.name = "spectral",
             .summary = "spectral Bloom filter: counts by minimal increase or recurring minimum",
             .advice = "Here for comparison. countmin:update=conservative is the better minimal "
                       "increase, countmin with auto the better answer under deletions.",
             .mergeable = true,
             .options = options},
    .size = sizeof(spectral_sketch),
    .create = create,
    .add = add,
    .prefetch = prefetch,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_WHOLES,
    .merge = merge,
    .info = info,
    .estimate = estimate,
};
