/* theory.h - what the tests of the filters share: comparing a measured rate
 * with a formula, and what every filter must do whatever its kind.
 *
 * Seeds are fixed, so a test passes or fails for good. The false-alarm chance
 * that is printed says how likely a correct filter would have failed under a
 * seed chosen at random.
 */
#ifndef WEIR_TESTS_THEORY_H
#define WEIR_TESTS_THEORY_H

#include <math.h>

#include "filter/filter.h"
#include "testing.h"

#define Z_MOST 4.5
#define Z_CHANCE "7 in a million"

static inline void expect_within(const char *what, double measured, double formula, double sigma) {
    double z = (measured - formula) / sigma;
    printf("# %-58s %.5g, formula %.5g, z = %+.2f (limit %.1f, false alarm %s)\n", what, measured,
           formula, z, Z_MOST, Z_CHANCE);
    assert_true(fabs(z) < Z_MOST);
}

static inline void expect_rate(const char *what, double hits, double n, double formula) {
    expect_within(what, hits / n, formula, sqrt(formula * (1 - formula) / n));
}

/* At most the bound, but for chance. */
static inline void expect_at_most(const char *what, double hits, double n, double bound) {
    double z = (hits / n - bound) / sqrt(bound * (1 - bound) / n);
    printf("# %-58s %.5g, bound %.5g, z = %+.2f (limit %.1f, false alarm 3 in a million)\n", what,
           hits / n, bound, z, Z_MOST);
    assert_true(z < Z_MOST);
}

/* A running mean with its standard error, for rates that vary by filter. */
typedef struct {
    double n, sum, squares;
} spread;

static inline void spread_add(spread *s, double x) { s->n++, s->sum += x, s->squares += x * x; }
static inline double spread_mean(const spread *s) { return s->sum / s->n; }
static inline double spread_error(const spread *s) {
    double mean = spread_mean(s);
    return sqrt(fmax(0, s->squares / s->n - mean * mean) / (s->n - 1));
}

/* The mean of at least 40 runs. Their spread is taken from them, so z follows
 * Student's distribution. */
static inline void expect_mean(const char *what, const spread *s, double formula) {
    double z = (spread_mean(s) - formula) / spread_error(s);
    printf("# %-58s %.5g, formula %.5g, z = %+.2f (limit %.1f, false alarm 1 in 10000)\n", what,
           spread_mean(s), formula, z, Z_MOST);
    assert_true(s->n >= 40 && fabs(z) < Z_MOST);
}

/* n keys of a sequence, key i being test_word(seed, i); returns how many were SEEN. */
static inline double offer_keys(weir_filter *f, uint64_t seed, uint64_t from, uint64_t n) {
    uint64_t hashes[1024], verdicts[16];
    double seen = 0;
    for (uint64_t at = 0; at < n; at += 1024) {
        size_t count = n - at < 1024 ? (size_t)(n - at) : 1024;
        for (size_t i = 0; i < count; i++) hashes[i] = test_word(seed, from + at + i);
        weir_batch batch = {.count = count, .hashes = hashes};
        seen += (double)weir_filter_offer_batch(f, &batch, verdicts);
    }
    return seen;
}

static inline double test_keys(const weir_filter *f, uint64_t seed, uint64_t from, uint64_t n) {
    uint64_t hashes[1024], verdicts[16];
    double seen = 0;
    for (uint64_t at = 0; at < n; at += 1024) {
        size_t count = n - at < 1024 ? (size_t)(n - at) : 1024;
        for (size_t i = 0; i < count; i++) hashes[i] = test_word(seed, from + at + i);
        weir_batch batch = {.count = count, .hashes = hashes};
        seen += (double)weir_filter_test_batch(f, &batch, verdicts);
    }
    return seen;
}

static inline bool offer_hash(weir_filter *f, uint64_t hash) {
    uint64_t verdict;
    return weir_filter_offer_batch(f, &(weir_batch){.count = 1, .hashes = &hash}, &verdict) == 1;
}

static inline bool test_hash(const weir_filter *f, uint64_t hash) {
    uint64_t verdict;
    return weir_filter_test_batch(f, &(weir_batch){.count = 1, .hashes = &hash}, &verdict) == 1;
}

/* A stream with repeats at many distances: key numbers from a skewed draw. */
static inline uint64_t skewed_key(uint64_t seed, uint64_t i, double keys) {
    double u = (double)(test_word(seed ^ 0x5eed, i) >> 11) * 0x1p-53;
    return test_word(seed, (uint64_t)(keys * u * u * u));
}

static inline bool same_state(const weir_filter *a, const weir_filter *b) {
    return a->offered == b->offered && a->seen == b->seen && a->cells_bytes == b->cells_bytes &&
           memcmp(a->cells, b->cells, a->cells_bytes) == 0 &&
           memcmp(weir__filter_state(a), weir__filter_state(b), a->class->state_words * 8) == 0;
}

/* Batches of any size give the verdicts and the state of single keys. */
static inline void expect_batch_independence(const char *spec) {
    enum { KEYS = 20000 };
    static const size_t sizes[] = {1, 2, 7, 15, 16, 17, 63, 64, 65, 128, 1000, KEYS};
    uint64_t *hashes = malloc(KEYS * sizeof *hashes), verdicts[WEIR_VERDICT_WORDS(KEYS)];
    unsigned char *single = malloc(KEYS);
    for (uint64_t i = 0; i < KEYS; i++) hashes[i] = skewed_key(5, i, 15000);
    weir_filter *one = make_filter(spec);
    for (size_t i = 0; i < KEYS; i++) single[i] = offer_hash(one, hashes[i]);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        weir_filter *f = make_filter(spec);
        for (size_t at = 0; at < KEYS; at += sizes[s]) {
            size_t n = KEYS - at < sizes[s] ? KEYS - at : sizes[s], seen = 0;
            weir_batch batch = {.count = n, .hashes = hashes + at};
            size_t said = weir_filter_offer_batch(f, &batch, verdicts);
            for (size_t i = 0; i < n; i++) {
                bool bit = verdicts[i / 64] >> (i % 64) & 1;
                assert_int_equal(bit, single[at + i]);
                seen += bit;
            }
            assert_int_equal(said, seen);
        }
        assert_true(same_state(f, one));
        weir_filter_free(f);
    }
    weir_filter_free(one);
    free(hashes), free(single);
}

/* test() says what offer() is about to say, and changes nothing. */
static inline void expect_test_agrees(const char *spec) {
    weir_filter *f = make_filter(spec), *twin = make_filter(spec);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t hash = skewed_key(6, i, 12000);
        bool said = test_hash(f, hash);
        bool did = offer_hash(f, hash);
        assert_int_equal(said, did);
        offer_hash(twin, hash);
    }
    assert_true(same_state(f, twin));
    uint64_t hashes[1000], verdicts[16];
    for (uint64_t i = 0; i < 1000; i++) hashes[i] = skewed_key(6, i + 19500, 12000);
    weir_filter_test_batch(f, &(weir_batch){.count = 1000, .hashes = hashes}, verdicts);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(verdicts[i / 64] >> (i % 64) & 1, test_hash(f, hashes[i]));
    assert_true(same_state(f, twin));
    weir_filter_free(f), weir_filter_free(twin);
}

/* A saved and loaded filter goes on as if nothing had happened; so does one
 * made from the printed spec, and one that was cleared. */
static inline void expect_survives(const char *spec) {
    char full[512], again[512];
    weir_error err = {0};
    weir_filter *f = make_filter(spec), *loaded;
    for (uint64_t i = 0; i < 9000; i++) offer_hash(f, skewed_key(7, i, 8000));
    const char *path = scratch_path("filter.weir");
    if (weir_filter_save(f, path, &err) != WEIR_OK) fail_msg("%s", err.message);
    if (weir_filter_load(&loaded, path, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    assert_true(same_state(f, loaded));
    for (uint64_t i = 9000; i < 18000; i++) {
        uint64_t hash = skewed_key(7, i, 8000);
        bool expected = offer_hash(f, hash);
        assert_int_equal(offer_hash(loaded, hash), expected);
    }
    assert_true(same_state(f, loaded));
    weir_filter_spec(f, full, sizeof full);
    weir_filter *made = make_filter(full);
    weir_filter_spec(made, again, sizeof again);
    assert_string_equal(full, again);
    for (uint64_t i = 0; i < 18000; i++) offer_hash(made, skewed_key(7, i, 8000));
    assert_true(same_state(f, made));
    weir_filter_clear(f);
    for (uint64_t i = 0; i < 18000; i++) offer_hash(f, skewed_key(7, i, 8000));
    assert_true(same_state(f, made));
    weir_filter_free(f), weir_filter_free(loaded), weir_filter_free(made);
    remove(path);
}

/* The spec is refused with a message that contains this, at this option. */
static inline void expect_refused(const char *spec, const char *part, const char *at) {
    weir_filter *f;
    weir_error err = {0};
    weir_status status = weir_filter_new(&f, spec, &err);
    if (status == WEIR_OK) fail_msg("%s was accepted", spec);
    assert_null(f);
    if (!strstr(err.message, part)) fail_msg("%s: '%s' lacks '%s'", spec, err.message, part);
    if (at) assert_int_equal(err.offset, strstr(spec, at) - spec + (long)strlen(at));
}

/* Specs that are refused; a table of them ends with a spec of NULL. */
typedef struct {
    const char *spec;
    const char *part; /* of the message */
    const char *at;   /* where in the spec it points, as "k="; NULL: anywhere */
} refusal;
static inline void expect_refusals(const refusal *table) {
    for (; table->spec; table++) expect_refused(table->spec, table->part, table->at);
}

/* What an option is resolved to; a table ends with a spec of NULL. */
typedef struct {
    const char *spec;
    int option; /* its place: WEIR__OPT_OWN + 0, 1, ... */
    uint64_t least, most;
} resolution;
static inline void expect_resolutions(const resolution *table) {
    for (; table->spec; table++) {
        weir_filter *f = make_filter(table->spec);
        uint64_t value = weir__opt_whole(f, table->option);
        if (value < table->least || value > table->most)
            fail_msg("%s: option %d is %llu", table->spec, table->option - WEIR__OPT_OWN,
                     (unsigned long long)value);
        weir_filter_free(f);
    }
}

/* Two filters of this spec refuse to be merged, and say why. */
static inline void expect_no_merge(const char *spec, const char *why) {
    weir_error err;
    weir_filter *a = make_filter(spec), *b = make_filter(spec);
    assert_int_equal(weir_filter_merge(a, b, &err), WEIR_ERR_UNSUPPORTED);
    if (!strstr(err.message, why)) fail_msg("%s: '%s' lacks '%s'", spec, err.message, why);
    weir_filter_free(a), weir_filter_free(b);
}

/* Every detail has a name, a value and a meaning. */
static inline void count_detail(void *context, const char *name, const char *value,
                                const char *meaning) {
    assert_true(name[0] && value[0] && meaning[0]);
    ++*(int *)context;
}
static inline void expect_details(const char *spec, int least) {
    weir_filter *f = make_filter(spec);
    int details = 0;
    offer_keys(f, 1, 0, 1000);
    weir_filter_details(f, count_detail, &details);
    assert_true(details >= least);
    weir_filter_free(f);
}

/* The contract of every filter, tested for each spec of a list that ends with NULL. */
static inline void expect_contract(const char *const *specs, int details) {
    for (; *specs; specs++) {
        expect_batch_independence(*specs);
        expect_test_agrees(*specs);
        expect_survives(*specs);
        expect_details(*specs, details);
    }
}

static inline int remove_scratch(void **state) {
    (void)state;
    remove_scratch_folder();
    return 0;
}

/* Offer new keys until the filter says that it has begun to forget: how many it took. */
static inline uint64_t keys_until_overfull(weir_filter *f, uint64_t stream, uint64_t most) {
    weir_filter_info info;
    for (uint64_t n = 0; n < most; n++) {
        weir_filter_get_info(f, &info);
        if (info.overfull) return n;
        offer_keys(f, stream, n, 1);
    }
    return most;
}

/* It says so when one key is expected to be lost: over 100 seeds 100 of them are, within a
 * half, which is five standard deviations: a false alarm in two million. */
static inline void expect_overfull_when_lost(const char *spec) {
    char text[160];
    double lost = 0;
    unsigned runs = 100;
    for (unsigned seed = 1; seed <= runs; seed++) {
        snprintf(text, sizeof text, "%s,seed=%u", spec, seed);
        weir_filter *f = make_filter(text);
        uint64_t n = keys_until_overfull(f, seed, 100000);
        lost += (double)n - test_keys(f, seed, 0, n);
        weir_filter_free(f);
    }
    printf("# %s: %.0f keys lost in %u runs when it says so\n", spec, lost, runs);
    assert_true(fabs(lost - runs) < runs / 2.0);
}

#endif
