/* test_spectral.c - the spectral Bloom filter against a slow twin, against exact
 * counts, and the two methods against each other. */
#include "filter/counters/counters.h"
#include "theory.h"
#include "twin.h"

enum { METHOD = WEIR__COUNTERS_OWN };

static const char *const layouts[] = {"classic", "block"};
static const char *const methods[] = {"recurring", "increase"};

static uint64_t count_hash(const weir_filter *f, uint64_t hash) { return f->class->count(f, hash); }

static bool remove_hash(weir_filter *f, uint64_t hash) {
    uint64_t verdict;
    weir_batch batch = {.count = 1, .hashes = &hash};
    assert_int_equal(weir_filter_remove_batch(f, &batch, &verdict, NULL), WEIR_OK);
    return verdict == 1;
}

/* --- the twin: a number for each counter --------------------------------------------- */

typedef struct {
    unsigned *counters;
    uint64_t lines, all, first; /* counters in all, and of the first array */
    unsigned k, width, top;
    bool block, recurring;
} twin;

static twin twin_of(const weir_filter *f) {
    twin t = {.k = (unsigned)weir__opt_whole(f, WEIR__COUNTERS_K),
              .width = 2u << weir__opt_whole(f, WEIR__COUNTERS_BITS),
              .block = weir__opt_whole(f, WEIR__COUNTERS_LAYOUT) == 1,
              .recurring = weir__opt_whole(f, METHOD) == 0};
    t.top = (1u << t.width) - 1;
    t.lines = f->cells_bytes / 64;
    t.all = t.block ? 512 / t.width : f->cells_bytes * 8 / t.width;
    t.first = t.recurring ? t.all * 2 / 3 : t.all;
    if (!t.block) t.first = t.first / 8 * 8;
    t.counters = calloc(f->cells_bytes * 8 / t.width, sizeof *t.counters);
    return t;
}

static unsigned *twin_counter(const twin *t, uint64_t hash, unsigned j, bool second) {
    const uint64_t salt = UINT64_C(0x7365636f6e646172);
    uint64_t from = second ? t->first : 0, size = second ? t->all - t->first : t->first;
    if (!t->block) {
        uint64_t word = second ? twin_mix(hash ^ salt) : hash;
        return t->counters + from + twin_probe(word, j, size);
    }
    uint64_t line = twin_scale(hash, t->lines), rest = hash * t->lines ^ (second ? salt : 0);
    return t->counters + line * t->all + from + twin_group_cell(rest, j, (unsigned)size / t->k);
}

static unsigned twin_least(const twin *t, uint64_t hash, bool second, unsigned *times) {
    unsigned least = ~0u;
    for (unsigned j = 0; j < t->k; j++) {
        unsigned value = *twin_counter(t, hash, j, second);
        if (value < least) least = value;
    }
    *times = 0;
    for (unsigned j = 0; j < t->k; j++) *times += *twin_counter(t, hash, j, second) == least;
    return least;
}

static void twin_raise(twin *t, uint64_t hash, bool second, unsigned by) {
    for (unsigned j = 0; j < t->k; j++) {
        unsigned *c = twin_counter(t, hash, j, second);
        *c = *c + by < t->top ? *c + by : t->top;
    }
}

static void twin_lower(twin *t, uint64_t hash, bool second) {
    for (unsigned j = 0; j < t->k; j++) {
        unsigned *c = twin_counter(t, hash, j, second);
        if (*c && *c < t->top) --*c;
    }
}

static bool twin_offer(twin *t, uint64_t hash) {
    unsigned times, other, before = twin_least(t, hash, false, &times);
    if (!t->recurring) {
        for (unsigned j = 0; j < t->k; j++) {
            unsigned *c = twin_counter(t, hash, j, false);
            if (*c == before && *c < t->top) ++*c;
        }
        return before > 0;
    }
    twin_raise(t, hash, false, 1);
    if (times == 1 && t->k > 1)
        twin_raise(t, hash, true, twin_least(t, hash, true, &other) ? 1 : before + 1);
    return before > 0;
}

static bool twin_remove(twin *t, uint64_t hash) {
    unsigned times, other;
    if (twin_least(t, hash, false, &times) == 0) return false;
    twin_lower(t, hash, false);
    if (times == 1 && t->k > 1 && twin_least(t, hash, true, &other)) twin_lower(t, hash, true);
    return true;
}

static unsigned twin_count(const twin *t, uint64_t hash) {
    unsigned times, other, least = twin_least(t, hash, false, &times);
    if (!t->recurring || times > 1 || t->k == 1 || least == 0) return least;
    unsigned second = twin_least(t, hash, true, &other);
    return second && second < least ? second : least;
}

static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    twin t = twin_of(f);
    for (uint64_t i = 0; i < 8000; i++) {
        uint64_t hash = skewed_key(3, i, 800);
        bool take = t.recurring && test_word(4, i) % 5 < 2;
        assert_int_equal(count_hash(f, hash), twin_count(&t, hash));
        if (take) assert_int_equal(remove_hash(f, hash), twin_remove(&t, hash));
        else assert_int_equal(offer_hash(f, hash), twin_offer(&t, hash));
    }
    weir__counters c = {.width = t.width, .top = t.top};
    for (uint64_t i = 0; i < f->cells_bytes * 8 / t.width; i++)
        assert_int_equal(
            weir__counters_get((const uint64_t *)(const void *)f->cells, &c, i * t.width),
            t.counters[i]);
    free(t.counters);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const unsigned ks[] = {1, 2, 5, 10};
    for (int l = 0; l < 2; l++)
        for (int m = 0; m < 2; m++)
            for (unsigned bits = 2; bits <= 16; bits *= 2)
                for (int i = 0; i < 4; i++) {
                    char spec[160];
                    snprintf(
                        spec, sizeof spec,
                        "spectral:memory=4000,layout=%s,method=%s,bits=%u,k=%u,seed=9,fpr=50%%",
                        layouts[l], methods[m], bits, ks[i]);
                    compare_with_twin(spec);
                }
}

/* --- counts ----------------------------------------------------------------------------- */

typedef struct {
    double wrong, low, n;
} errors;

/* Skewed offers of `keys` keys, then all counts against the truth. */
static errors count_errors(const char *spec, uint64_t keys, uint64_t seed) {
    errors e = {0, 0, (double)keys};
    unsigned *truth = calloc(keys, sizeof *truth);
    weir_filter *f = make_filter(spec);
    for (uint64_t i = 0; i < 12 * keys; i++) {
        double u = (double)(test_word(seed, i) >> 11) * 0x1p-53;
        uint64_t key = i < keys ? i : (uint64_t)((double)keys * u * u);
        truth[key]++;
        offer_hash(f, test_word(seed + 1, key));
    }
    for (uint64_t key = 0; key < keys; key++) {
        uint64_t count = count_hash(f, test_word(seed + 1, key));
        if (truth[key] >= 255) continue; /* as many as a counter holds */
        e.wrong += count != truth[key], e.low += count < truth[key];
    }
    free(truth);
    weir_filter_free(f);
    return e;
}

/* All methods in the same memory, with the same number of keys. Plain counters are
 * wrong at the rate of their formula; minimal increase at most so often, and never
 * low. Recurring minimum, which has two thirds of the counters for its first array,
 * is compared with plain counters in all of them. */
static void test_counts(void **state) {
    (void)state;
    enum { FILTERS = 40, KEYS = 1700 };
    for (int l = 0; l < 2; l++) {
        spread plain = {0}, increase = {0}, recurring = {0}, low = {0};
        double bound = 0;
        for (uint64_t i = 0; i < FILTERS; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "counting:memory=16K,fpr=30%%,bits=8,k=5,layout=%s,seed=%d",
                     layouts[l], (int)i);
            errors e = count_errors(spec, KEYS, 100 * i);
            assert_true(e.low == 0);
            spread_add(&plain, e.wrong / e.n);
            snprintf(spec, sizeof spec,
                     "spectral:memory=16K,fpr=30%%,k=5,layout=%s,seed=%d,method=increase",
                     layouts[l], (int)i);
            weir_filter *f = make_filter(spec);
            weir__counters c;
            memcpy(&c, (const uint8_t *)f + sizeof(weir_filter), sizeof c);
            bound = weir__counters_fpr(&c, KEYS - 1);
            weir_filter_free(f);
            e = count_errors(spec, KEYS, 100 * i);
            assert_true(e.low == 0);
            spread_add(&increase, e.wrong / e.n);
            snprintf(spec, sizeof spec,
                     "spectral:memory=16K,fpr=30%%,k=5,layout=%s,seed=%d,method=recurring",
                     layouts[l], (int)i);
            e = count_errors(spec, KEYS, 100 * i);
            spread_add(&recurring, e.wrong / e.n);
            spread_add(&low, e.low / e.n);
        }
        char what[80];
        snprintf(what, sizeof what, "%s: plain counters, share of wrong counts", layouts[l]);
        expect_mean(what, &plain, bound);
        printf("# %s: wrong counts: plain %.4f, increase %.4f, recurring %.4f (too low %.4f)\n",
               layouts[l], spread_mean(&plain), spread_mean(&increase), spread_mean(&recurring),
               spread_mean(&low));
        assert_true(spread_mean(&increase) < 0.6 * bound);
    }
}

/* --- verdicts ----------------------------------------------------------------------------- */

static void rate_at_capacity(const char *layout, const char *method, double fpr) {
    spread rates = {0};
    double formula = 0, tests = 10000;
    for (int i = 0; i < 60; i++) {
        char spec[128];
        weir__counters c;
        snprintf(spec, sizeof spec, "spectral:layout=%s,method=%s,memory=8K,fpr=%g,seed=%d", layout,
                 method, fpr, i);
        weir_filter *f = make_filter(spec);
        uint64_t keys = weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
        memcpy(&c, (const uint8_t *)f + sizeof(weir_filter), sizeof c);
        formula = weir__counters_fpr(&c, (double)keys);
        for (int times = 0; times < 3; times++) offer_keys(f, (uint64_t)i, 0, keys);
        assert_true(test_keys(f, (uint64_t)i, 0, keys) == (double)keys);
        spread_add(&rates, test_keys(f, (uint64_t)i, 1u << 30, (uint64_t)tests) / tests);
        weir_filter_free(f);
    }
    char what[64];
    snprintf(what, sizeof what, "%s, %s, fpr=%g, at capacity", layout, method, fpr);
    assert_true(formula <= fpr && formula > 0.9 * fpr);
    expect_mean(what, &rates, formula);
}

static void test_rates(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int m = 0; m < 2; m++) {
            rate_at_capacity(layouts[l], methods[m], 0.1);
            rate_at_capacity(layouts[l], methods[m], 0.02);
        }
}

static void test_no_false_negatives(void **state) {
    (void)state;
    enum { KEYS = 2000 };
    for (int l = 0; l < 2; l++) {
        char spec[128];
        int times[KEYS] = {0};
        snprintf(spec, sizeof spec, "spectral:memory=4K,fpr=1%%,bits=4,seed=1,layout=%s",
                 layouts[l]);
        weir_filter *f = make_filter(spec);
        for (uint64_t i = 0; i < 40000; i++) {
            uint64_t key = test_word(5, i) % KEYS;
            bool take = times[key] > 0 && test_word(6, i) % 2, had = times[key] > 0;
            bool said = take ? remove_hash(f, test_word(7, key)) : offer_hash(f, test_word(7, key));
            if (had) assert_true(said);
            times[key] += take ? -1 : 1;
        }
        for (uint64_t key = 0; key < KEYS; key++)
            if (times[key]) assert_true(test_hash(f, test_word(7, key)));
        weir_filter_free(f);
    }
}

/* --- merging, options ------------------------------------------------------------------------ */

/* Added counters are never below what both streams offered. */
static void test_merge(void **state) {
    (void)state;
    static const char spec[] = "spectral:memory=8K,fpr=10%,method=increase,seed=3";
    enum { KEYS = 600 };
    unsigned truth[KEYS] = {0};
    weir_filter *a = make_filter(spec), *b = make_filter(spec);
    for (uint64_t i = 0; i < 6000; i++) {
        uint64_t key = test_word(1, i) % KEYS;
        truth[key]++;
        offer_hash(i % 3 ? a : b, test_word(2, key));
    }
    assert_int_equal(weir_filter_merge(a, b, NULL), WEIR_OK);
    for (uint64_t key = 0; key < KEYS; key++)
        assert_true(count_hash(a, test_word(2, key)) >= truth[key]);
    weir_filter_free(a), weir_filter_free(b);
    expect_no_merge("spectral:memory=8K,seed=1", "second array of one of them only");
}

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {
        {"spectral:memory=1M,fpr=1%,method=increase", WEIR__COUNTERS_CAPACITY, 109000, 109500},
        {"spectral:memory=1M,fpr=1%", WEIR__COUNTERS_CAPACITY, 72600, 73100},
        {"spectral:capacity=100000,fpr=1%", WEIR__OPT_MEMORY, 1430000, 1445000},
        {NULL, 0, 0, 0}};
    static const refusal refused[] = {
        {"spectral:method=minimum", "method", "method="},
        {"spectral:bits=16,k=11,layout=block", "do not fit a line", "k="},
        {"spectral:memory=1K,capacity=1M,fpr=1%", "needs memory=", "capacity="},
        {NULL, NULL, NULL}};
    weir_error err;
    expect_resolutions(resolved);
    expect_refusals(refused);
    weir_filter *f = make_filter("spectral:memory=8K,fpr=1%,method=increase,seed=1");
    assert_int_equal(weir_filter_remove(f, "a", 1, NULL, &err), WEIR_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "take method=recurring"));
    uint64_t times;
    for (int i = 0; i < 7; i++) weir_filter_offer(f, "a", 1);
    assert_int_equal(weir_filter_count(f, "a", 1, &times, &err), WEIR_OK);
    assert_int_equal(times, 7);
    weir_filter_free(f);
}

static void test_contract(void **state) {
    (void)state;
    static const char *const some[] = {
        "spectral:memory=64K,fpr=1%,seed=1",
        "spectral:memory=64K,fpr=1%,seed=1,layout=block",
        "spectral:memory=64K,fpr=1%,seed=1,method=increase",
        "spectral:memory=64K,fpr=1%,seed=1,method=increase,layout=block",
        "spectral:memory=64K,fpr=1e-6,bits=4,seed=1",
        NULL};
    expect_contract(some, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_rates),    cmocka_unit_test(test_no_false_negatives),
        cmocka_unit_test(test_merge),    cmocka_unit_test(test_options),
        cmocka_unit_test(test_contract),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
