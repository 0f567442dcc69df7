/* test_counting.c - the counting Bloom filter against a slow twin, a multiset, and
 * its formulas. */
#include "filter/counters/counters.h"
#include "theory.h"
#include "twin.h"

static const char *const layouts[] = {"classic", "block"};

static uint64_t capacity_of(const weir_filter *f) {
    return weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
}

static bool remove_hash(weir_filter *f, uint64_t hash) {
    uint64_t verdict;
    weir_batch batch = {.count = 1, .hashes = &hash};
    assert_int_equal(weir_filter_remove_batch(f, &batch, &verdict, NULL), WEIR_OK);
    return verdict == 1;
}

static double remove_keys(weir_filter *f, uint64_t seed, uint64_t from, uint64_t n) {
    double removed = 0;
    for (uint64_t i = from; i < from + n; i++) removed += remove_hash(f, test_word(seed, i));
    return removed;
}

/* --- the twin: a number for each counter --------------------------------------------- */

typedef struct {
    unsigned *counters;
    uint64_t size, lines;
    unsigned k, width, top;
    bool block;
} twin;

static twin twin_of(const weir_filter *f) {
    twin t = {.k = (unsigned)weir__opt_whole(f, WEIR__COUNTERS_K),
              .width = 2u << weir__opt_whole(f, WEIR__COUNTERS_BITS),
              .block = weir__opt_whole(f, WEIR__COUNTERS_LAYOUT) == 1};
    t.top = (1u << t.width) - 1;
    t.size = f->cells_bytes * 8 / t.width;
    t.lines = f->cells_bytes / 64;
    t.counters = calloc(t.size, sizeof *t.counters);
    return t;
}

static unsigned *twin_counter(const twin *t, uint64_t hash, unsigned j) {
    if (!t->block) return t->counters + twin_probe(hash, j, t->size);
    uint64_t line = twin_scale(hash, t->lines), a_line = 512 / t->width;
    unsigned group = (unsigned)a_line / t->k;
    return t->counters + line * a_line + twin_group_cell(hash * t->lines, j, group);
}

static bool twin_has(const twin *t, uint64_t hash) {
    bool all = true;
    for (unsigned j = 0; j < t->k; j++) all &= *twin_counter(t, hash, j) > 0;
    return all;
}

static void twin_change(twin *t, uint64_t hash, int by) {
    for (unsigned j = 0; j < t->k; j++) {
        unsigned *c = twin_counter(t, hash, j);
        if (*c == t->top || (by < 0 && *c == 0)) continue;
        *c = by < 0 ? *c - 1 : *c + 1;
    }
}

/* Offers and removals at random, of keys that are in and of keys that are not. */
static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    twin t = twin_of(f);
    for (uint64_t i = 0; i < 12000; i++) {
        uint64_t hash = skewed_key(3, i, 1500);
        bool has = twin_has(&t, hash), take = test_word(4, i) % 5 < 2;
        assert_int_equal(test_hash(f, hash), has);
        if (!take || has) twin_change(&t, hash, take ? -1 : 1);
        bool said = take ? remove_hash(f, hash) : offer_hash(f, hash);
        assert_int_equal(said, has);
    }
    weir__counters c = {.width = t.width, .top = t.top};
    for (uint64_t i = 0; i < t.size; i++)
        assert_int_equal(
            weir__counters_get((const uint64_t *)(const void *)f->cells, &c, i * t.width),
            t.counters[i]);
    free(t.counters);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const unsigned ks[] = {1, 3, 5, 8, 13};
    for (int l = 0; l < 2; l++)
        for (unsigned bits = 2; bits <= 16; bits *= 2)
            for (int i = 0; i < 5; i++) {
                char spec[128];
                snprintf(spec, sizeof spec, "counting:memory=4000,layout=%s,bits=%u,k=%u,seed=9%s",
                         layouts[l], bits, ks[i], ",fpr=50%");
                compare_with_twin(spec);
            }
}

/* --- what it promises ----------------------------------------------------------------- */

/* A key that was offered more often than it was removed is SEEN, however full the
 * filter is and whatever sticks; what was never offered is not asked to be removed. */
static void test_no_false_negatives(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    for (int l = 0; l < 2; l++) {
        char spec[128];
        int times[KEYS] = {0};
        snprintf(spec, sizeof spec, "counting:memory=2K,fpr=1%%,bits=2,seed=1,layout=%s",
                 layouts[l]);
        weir_filter *f = make_filter(spec);
        for (uint64_t i = 0; i < 60000; i++) {
            uint64_t key = test_word(5, i) % KEYS;
            bool take = times[key] > 0 && test_word(6, i) % 2;
            bool had = times[key] > 0;
            bool said = take ? remove_hash(f, test_word(7, key)) : offer_hash(f, test_word(7, key));
            if (had) assert_true(said);
            times[key] += take ? -1 : 1;
        }
        for (uint64_t key = 0; key < KEYS; key++)
            if (times[key]) assert_true(test_hash(f, test_word(7, key)));
        weir_filter_free(f);
    }
}

/* After every key was removed the filter is empty; the false positive rate follows the keys in it.
 */
static void test_removing_all_leaves_nothing(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        char spec[128];
        snprintf(spec, sizeof spec, "counting:memory=64K,fpr=1%%,bits=8,seed=1,layout=%s",
                 layouts[l]);
        weir_filter *f = make_filter(spec);
        uint64_t n = capacity_of(f);
        offer_keys(f, 1, 0, n);
        offer_keys(f, 1, 0, n);
        assert_true(remove_keys(f, 1, 0, n) == (double)n);
        assert_true(test_keys(f, 1, 0, n) == (double)n); /* each was offered twice */
        assert_true(remove_keys(f, 1, 0, n) == (double)n);
        for (uint64_t i = 0; i < f->cells_bytes; i++) assert_int_equal(f->cells[i], 0);
        assert_int_equal(weir__filter_state(f)[0], 2 * n);
        weir_filter_free(f);
    }
}

static void test_absent_keys(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        char spec[128];
        snprintf(spec, sizeof spec, "counting:memory=8K,fpr=1%%,seed=1,layout=%s", layouts[l]);
        weir_filter *f = make_filter(spec), *twin_filter = make_filter(spec);
        offer_keys(f, 1, 0, 500), offer_keys(twin_filter, 1, 0, 500);
        for (uint64_t i = 0; i < 2000; i++) {
            bool known = test_hash(f, test_word(2, i));
            if (!known) assert_false(remove_hash(f, test_word(2, i)));
        }
        assert_memory_equal(f->cells, twin_filter->cells, f->cells_bytes);
        assert_int_equal(weir__filter_state(f)[0], 0);
        assert_true(weir__filter_state(f)[1] > 1900);
        weir_filter_free(f), weir_filter_free(twin_filter);
    }
    weir_error err;
    weir_verdict was;
    uint64_t times;
    weir_filter *f = make_filter("counting:memory=8K,fpr=1%,seed=1");
    assert_int_equal(weir_filter_offer(f, "a", 1), WEIR_NEW);
    assert_int_equal(weir_filter_remove(f, "a", 1, &was, &err), WEIR_OK);
    assert_int_equal(was, WEIR_SEEN);
    assert_int_equal(weir_filter_remove(f, "a", 1, &was, NULL), WEIR_OK);
    assert_int_equal(was, WEIR_NEW);
    assert_int_equal(weir_filter_remove(f, "a", 1, NULL, NULL), WEIR_OK);
    weir_filter_free(f);
    for (size_t i = 0; weir_filter_kind(i); i++) {
        const char *name = weir_filter_kind(i)->name;
        char spec[64];
        snprintf(spec, sizeof spec, "%s:memory=8K,fpr=1%%,seed=1", name);
        f = make_filter(spec);
        bool can = !strcmp(name, "counting") || !strcmp(name, "spectral");
        weir_status status = can ? WEIR_OK : WEIR_ERR_UNSUPPORTED;
        assert_int_equal(weir_filter_remove(f, "a", 1, NULL, &err), status);
        assert_int_equal(weir_filter_count(f, "a", 1, &times, &err), status);
        if (!can) assert_non_null(strstr(err.message, "counting"));
        weir_filter_free(f);
    }
}

static void find_stuck(void *context, const char *name, const char *value, const char *meaning) {
    (void)meaning;
    if (!strcmp(name, "counters_stuck")) *(int *)context = atoi(value);
}

/* A counter at its top stays there: the key stays in, and others are not lost. */
static void test_overflow(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        char spec[128];
        int stuck = 0;
        snprintf(spec, sizeof spec, "counting:memory=4K,fpr=1%%,k=5,seed=1,layout=%s", layouts[l]);
        weir_filter *f = make_filter(spec);
        for (int i = 0; i < 14; i++) offer_hash(f, 77);
        weir_filter_details(f, find_stuck, &stuck);
        assert_int_equal(stuck, 0);
        offer_hash(f, 77);
        weir_filter_details(f, find_stuck, &stuck);
        assert_int_equal(stuck, 5);
        for (int i = 0; i < 100; i++) offer_hash(f, 77);
        for (int i = 0; i < 200; i++) assert_true(remove_hash(f, 77));
        assert_true(test_hash(f, 77));
        weir_filter_free(f);
    }
}

static void test_remove_batches(void **state) {
    (void)state;
    enum { KEYS = 4000 };
    static const size_t sizes[] = {1, 7, 64, 65, 1000, KEYS};
    uint64_t hashes[KEYS], verdicts[WEIR_VERDICT_WORDS(KEYS)];
    for (uint64_t i = 0; i < KEYS; i++) hashes[i] = skewed_key(8, i, 3000);
    for (int l = 0; l < 2; l++) {
        char spec[128];
        snprintf(spec, sizeof spec, "counting:memory=8K,fpr=1%%,seed=1,layout=%s", layouts[l]);
        weir_filter *one = make_filter(spec);
        offer_keys(one, 8, 0, 1500);
        for (size_t i = 0; i < KEYS; i++) remove_hash(one, hashes[i]);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            weir_filter *f = make_filter(spec);
            offer_keys(f, 8, 0, 1500);
            for (size_t at = 0; at < KEYS; at += sizes[s]) {
                size_t n = KEYS - at < sizes[s] ? KEYS - at : sizes[s];
                weir_batch batch = {.count = n, .hashes = hashes + at};
                assert_int_equal(weir_filter_remove_batch(f, &batch, verdicts, NULL), WEIR_OK);
            }
            assert_true(same_state(f, one));
            weir_filter_free(f);
        }
        weir_filter_free(one);
    }
}

/* --- formulas -------------------------------------------------------------------------- */

/* The counters of a filter, as its plan made them: those of its struct. */
static weir__counters counters_of(const weir_filter *f) {
    weir__counters c;
    memcpy(&c, (const uint8_t *)f + sizeof(weir_filter), sizeof c);
    return c;
}

/* At capacity the rate is fpr; so is the share of keys whose count is too high, of
 * one key less; and after half was removed, the rate is that of the half. */
static void rates_at_capacity(const char *layout, unsigned bits, double fpr, int filters) {
    spread rates = {0}, counts = {0}, halves = {0};
    weir__counters c = {0};
    double n = 0, tests = 10000;
    for (int i = 0; i < filters; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "counting:layout=%s,bits=%u,memory=8K,fpr=%g,seed=%d", layout,
                 bits, fpr, i);
        weir_filter *f = make_filter(spec);
        uint64_t seed = (uint64_t)i + 1, keys = capacity_of(f), high = 0;
        n = (double)keys, c = counters_of(f);
        offer_keys(f, seed, 0, keys);
        spread_add(&rates, test_keys(f, seed, 1u << 30, (uint64_t)tests) / tests);
        for (uint64_t j = 0; j < keys; j++) {
            uint64_t count = f->class->count(f, test_word(seed, j));
            assert_true(count >= 1);
            high += count > 1;
        }
        spread_add(&counts, (double)high / n);
        remove_keys(f, seed, 0, keys / 2);
        spread_add(&halves, test_keys(f, seed, 1u << 30, (uint64_t)tests) / tests);
        weir_filter_free(f);
    }
    char what[80];
    double formula = weir__counters_fpr(&c, n);
    assert_true(formula <= fpr && formula > 0.95 * fpr);
    snprintf(what, sizeof what, "%s, bits=%u, fpr=%g, at capacity", layout, bits, fpr);
    expect_mean(what, &rates, formula);
    expect_mean("  share of counts that are too high", &counts, weir__counters_fpr(&c, n - 1));
    expect_mean("  rate after half of the keys left", &halves,
                weir__counters_fpr(&c, n - floor(n / 2)));
}

static void test_rates(void **state) {
    (void)state;
    static const double fprs[] = {0.1, 0.02};
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < 2; l++) {
            rates_at_capacity(layouts[l], 4, fprs[i], 60);
            rates_at_capacity(layouts[l], 8, fprs[i], 60);
        }
}

static void test_info(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        char spec[128];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "counting:memory=1M,fpr=2%%,seed=3,layout=%s", layouts[l]);
        weir_filter *f = make_filter(spec);
        weir_filter_get_info(f, &info);
        assert_true(info.fill == 0 && info.fpr_now == 0 && !info.overfull);
        uint64_t capacity = capacity_of(f);
        offer_keys(f, 8, 0, capacity);
        weir_filter_get_info(f, &info);
        printf("# %s at capacity: fpr_now %.5f\n", layouts[l], info.fpr_now);
        assert_true(!info.overfull && fabs(info.fpr_now / 0.02 - 1) < 0.05);
        offer_keys(f, 8, capacity, capacity / 20);
        weir_filter_get_info(f, &info);
        assert_true(info.overfull);
        remove_keys(f, 8, capacity, capacity / 20);
        weir_filter_get_info(f, &info);
        assert_false(info.overfull);
        weir_filter_free(f);
    }
}

/* --- merging ---------------------------------------------------------------------------- */

static void test_merge_is_the_sum(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (unsigned bits = 2; bits <= 16; bits *= 2) {
            char spec[128];
            snprintf(spec, sizeof spec, "counting:memory=4K,fpr=10%%,bits=%u,seed=3,layout=%s",
                     bits, layouts[l]);
            weir_filter *a = make_filter(spec), *b = make_filter(spec), *both = make_filter(spec);
            for (uint64_t i = 0; i < 6000; i++) {
                offer_hash(i % 3 ? a : b, skewed_key(1, i, 600));
                offer_hash(both, skewed_key(1, i, 600));
            }
            assert_int_equal(weir_filter_merge(a, b, NULL), WEIR_OK);
            assert_memory_equal(a->cells, both->cells, a->cells_bytes);
            assert_int_equal(a->offered, both->offered);
            weir_filter_free(a), weir_filter_free(b), weir_filter_free(both);
        }
}

/* --- options ---------------------------------------------------------------------------- */

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {
        {"counting:memory=1M,fpr=1%", WEIR__COUNTERS_K, 7, 7},
        {"counting:memory=1M,fpr=1%", WEIR__COUNTERS_CAPACITY, 218000, 219000}, /* 2^21 / 9.59 */
        {"counting:memory=1M,fpr=1%,bits=8", WEIR__COUNTERS_CAPACITY, 109000, 109500},
        {"counting:memory=1M,fpr=1%,layout=block", WEIR__COUNTERS_K, 5, 7},
        {"counting:capacity=100000,fpr=1%", WEIR__OPT_MEMORY, 479000, 481000},
        {"counting:capacity=10", WEIR__OPT_MEMORY, 1024, 1024},
        {"counting:memory=1M,capacity=1000,fpr=1%", WEIR__COUNTERS_CAPACITY, 1000, 1000},
        {NULL, 0, 0, 0}};
    static const refusal refused[] = {
        {"counting:memory=1K,capacity=1M,fpr=1%", "needs memory=4.5", "capacity="},
        {"counting:capacity=1000000G", "more memory than can be counted", "capacity="},
        {"counting:k=0", "out of range", "k="},
        {"counting:k=33", "out of range", "k="},
        {"counting:bits=3", "bits", "bits="},
        {"counting:bits=16,k=17,layout=block", "do not fit a line", "k="},
        {"counting:layout=line", "layout", "layout="},
        {"counting:memory=1K,bits=16,fpr=1e-9,layout=block", "or for layout=classic", "memory="},
        {NULL, NULL, NULL}};
    expect_resolutions(resolved);
    expect_refusals(refused);
}

static void test_contract(void **state) {
    (void)state;
    static const char *const some[] = {"counting:memory=32K,fpr=1%,seed=1,layout=classic",
                                       "counting:memory=32K,fpr=1%,seed=1,layout=block",
                                       "counting:memory=32K,fpr=1e-6,seed=1,layout=classic",
                                       "counting:memory=32K,fpr=1e-4,seed=1,layout=block",
                                       "counting:memory=32K,fpr=5%,bits=2,seed=1,layout=block",
                                       "counting:capacity=5000,fpr=1e-3,bits=16,seed=1",
                                       NULL};
    expect_contract(some, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_no_false_negatives),
        cmocka_unit_test(test_removing_all_leaves_nothing),
        cmocka_unit_test(test_absent_keys),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_remove_batches),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_merge_is_the_sum),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_contract),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
