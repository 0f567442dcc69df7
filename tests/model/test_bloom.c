/* test_bloom.c - the Bloom filter against a slow twin and against its formulas. */
#include "filter/bloom.h"
#include "theory.h"

static uint64_t capacity_of(const weir_filter *f) { return weir__opt_whole(f, WEIR__OPT_OWN + 2); }
static unsigned k_of(const weir_filter *f) {
    return (unsigned)weir__opt_whole(f, WEIR__OPT_OWN + 1);
}

/* --- the twin: a byte for each bit ------------------------------------------------ */

typedef struct {
    unsigned char *bits;
    uint64_t m;
    unsigned k;
    bool block;
} twin;

static uint64_t twin_mix(uint64_t x) {
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t twin_place(const twin *t, uint64_t hash, unsigned j) {
    if (!t->block) {
        uint64_t x = hash + j * (twin_mix(hash) | 1);
        unsigned __int128 product =
            (unsigned __int128)(x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
        uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
        return (uint64_t)((unsigned __int128)folded * t->m >> 64);
    }
    unsigned __int128 product = (unsigned __int128)hash * (t->m / 512);
    uint64_t line = (uint64_t)(product >> 64), rest = (uint64_t)product;
    uint64_t first = twin_mix(rest) >> 61;
    uint64_t mix = twin_mix(rest + j / 10 * UINT64_C(0x9e3779b97f4a7c15));
    return line * 512 + (first + j) % 8 * 64 + (mix >> (6 * (j % 10)) & 63);
}

static bool twin_offer(twin *t, uint64_t hash) {
    bool all = true;
    for (unsigned j = 0; j < t->k; j++) all &= t->bits[twin_place(t, hash, j)];
    for (unsigned j = 0; j < t->k; j++) t->bits[twin_place(t, hash, j)] = 1;
    return all;
}

static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    uint64_t m = f->cells_bytes * 8;
    twin t = {calloc(m, 1), m, k_of(f), strstr(spec, "block") != NULL};
    for (uint64_t i = 0; i < 5000; i++) {
        uint64_t hash = skewed_key(3, i, 4000);
        bool expected = twin_offer(&t, hash);
        assert_int_equal(offer_hash(f, hash), expected);
    }
    for (uint64_t i = 0; i < m; i++) assert_int_equal(f->cells[i / 8] >> (i % 8) & 1, t.bits[i]);
    free(t.bits);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const char *const layouts[] = {"classic", "block"};
    static const unsigned ks[] = {1, 3, 8, 10, 11, 16, 20, 21, 32};
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "bloom:memory=4000,fpr=1%%,layout=%s,k=%u,seed=9",
                     layouts[l], ks[i]);
            compare_with_twin(spec);
        }
}

/* --- formulas --------------------------------------------------------------------- */

/* E[(X/m)^k] exactly: the distribution of X throw by throw. */
static double exact_power(unsigned m, unsigned throws, unsigned k) {
    double *chance = calloc(m + 2, sizeof *chance), sum = 0;
    chance[0] = 1;
    for (unsigned t = 0; t < throws; t++)
        for (unsigned x = m + 1; x-- > 0;)
            chance[x] = chance[x] * x / m + (x ? chance[x - 1] * (m - x + 1) / m : 0);
    for (unsigned x = 0; x <= m; x++) sum += chance[x] * pow((double)x / m, k);
    free(chance);
    return sum;
}

static void test_rate_is_the_expectation(void **state) {
    (void)state;
    static const struct {
        unsigned bytes, k, keys;
    } cases[] = {{8, 2, 20}, {8, 4, 11}, {64, 6, 60}, {64, 16, 20}, {128, 32, 22}, {128, 10, 71}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned k = cases[i].k, keys = cases[i].keys;
        double exact = exact_power(cases[i].bytes * 8, keys * k, k);
        double ours = weir__bloom_fpr(false, cases[i].bytes, k, keys);
        double textbook = pow(1 - exp(-(double)k * keys / (cases[i].bytes * 8)), k);
        printf("# %u bits, k=%u, %u keys: exact %.5g, ours %.5g, textbook %.5g\n",
               cases[i].bytes * 8, k, keys, exact, ours, textbook);
        assert_true(fabs(ours / exact - 1) < 0.01);
    }
}

/* The rate of filters that hold just their capacity is what the plan says, and
 * that is fpr. Rates differ from filter to filter, so the error of the mean is
 * taken from the filters themselves. */
static void rate_at_capacity(const char *layout, const char *memory, double fpr, int filters) {
    spread rates = {0};
    double formula = 0;
    for (int i = 0; i < filters; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "bloom:layout=%s,memory=%s,fpr=%g,seed=%d", layout, memory, fpr,
                 i);
        weir_filter *f = make_filter(spec);
        offer_keys(f, (uint64_t)i, 0, capacity_of(f));
        double tests = 15000;
        spread_add(&rates, test_keys(f, (uint64_t)i, 1u << 30, (uint64_t)tests) / tests);
        formula =
            weir__bloom_fpr(layout[0] == 'b', f->cells_bytes, k_of(f), (double)capacity_of(f));
        weir_filter_free(f);
    }
    char what[64];
    snprintf(what, sizeof what, "%s, %s, fpr=%g, at capacity", layout, memory, fpr);
    assert_true(formula <= fpr && formula > 0.95 * fpr);
    expect_mean(what, &rates, formula);
}

static void test_rate_at_capacity(void **state) {
    (void)state;
    static const double fprs[] = {0.1, 0.01, 0.001};
    for (int i = 0; i < 3; i++) {
        rate_at_capacity("classic", "1K", fprs[i], 60);
        rate_at_capacity("classic", "8K", fprs[i], 40);
        rate_at_capacity("block", "1K", fprs[i], 60);
        rate_at_capacity("block", "8K", fprs[i], 40);
    }
}

/* The chance that a new key is called SEEN, exactly, from the bits of a filter
 * of lines: over the lines, and over the word in which the key may begin. */
static double rate_of_lines(const weir_filter *f) {
    unsigned k = k_of(f);
    double sum = 0, lines = (double)f->cells_bytes / 64;
    for (uint64_t line = 0; line < f->cells_bytes; line += 64)
        for (unsigned first = 0; first < 8; first++) {
            double chance = 1;
            for (unsigned j = 0; j < k; j++) {
                uint64_t word;
                memcpy(&word, f->cells + line + (first + j) % 8 * 8, 8);
                chance *= __builtin_popcountll(word) / 64.0;
            }
            sum += chance / 8;
        }
    return sum / lines;
}

/* The formula for lines to a fraction of a percent, with a k of every shape. */
static void test_rate_of_lines(void **state) {
    (void)state;
    static const struct {
        unsigned k;
        const char *fpr;
    } cases[] = {{1, "20%"}, {2, "10%"}, {3, "10%"},   {4, "10%"}, {5, "10%"}, {7, "1%"}, {8, "1%"},
                 {9, "1%"},  {12, "1%"}, {16, "0.1%"}, {17, "1%"}, {24, "1%"}, {31, "1%"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[128];
        spread rates = {0};
        double formula = 0;
        for (int j = 0; j < 60; j++) {
            snprintf(spec, sizeof spec, "bloom:layout=block,memory=32K,fpr=%s,k=%u,seed=%d",
                     cases[i].fpr, cases[i].k, j);
            weir_filter *f = make_filter(spec);
            offer_keys(f, (uint64_t)j, 0, capacity_of(f));
            spread_add(&rates, rate_of_lines(f));
            formula = weir__bloom_fpr(true, f->cells_bytes, cases[i].k, (double)capacity_of(f));
            weir_filter_free(f);
        }
        expect_mean(spec, &rates, formula);
    }
}

static void test_nothing_is_forgotten(void **state) {
    (void)state;
    static const char *const specs[] = {"bloom:memory=2K,fpr=1%,seed=1,layout=classic",
                                        "bloom:memory=2K,fpr=1%,seed=1,layout=block"};
    for (int s = 0; s < 2; s++) {
        weir_filter *f = make_filter(specs[s]);
        offer_keys(f, 4, 0, 10000); /* six times its capacity */
        assert_true(test_keys(f, 4, 0, 10000) == 10000);
        weir_filter_free(f);
    }
}

/* --- planning --------------------------------------------------------------------- */

static void test_sizes(void **state) {
    (void)state;
    weir_filter *f = make_filter("bloom:capacity=100000,fpr=1%,layout=classic,seed=1");
    assert_int_equal(k_of(f), 7);
    double bits = (double)f->cells_bytes * 8 / 100000;
    assert_true(bits > 9.58 && bits < 9.61); /* log2(100)/ln 2 = 9.585 */
    assert_int_equal(weir__opt_whole(f, WEIR__OPT_MEMORY), f->cells_bytes);
    weir_filter_free(f);

    f = make_filter("bloom:capacity=100000,fpr=1%,layout=block,seed=1");
    bits = (double)f->cells_bytes * 8 / 100000;
    assert_true(bits > 9.7 && bits < 10.1);
    assert_true(weir__bloom_fpr(true, f->cells_bytes, k_of(f), 100000) <= 0.01);
    assert_true(weir__bloom_fpr(true, f->cells_bytes - 64, k_of(f), 100000) > 0.01);
    weir_filter_free(f);

    f = make_filter("bloom:memory=1M,fpr=0.1%,layout=classic,seed=1");
    assert_true(fabs((double)capacity_of(f) / ((8 << 20) / 14.3776) - 1) < 0.001);
    weir_filter_free(f);

    f = make_filter("bloom:capacity=10,seed=1"); /* never below what memory= takes */
    assert_int_equal(f->cells_bytes, 1024);
    weir_filter_free(f);

    f = make_filter("bloom:memory=1M,capacity=1000,fpr=1%,seed=1"); /* more room than needed */
    assert_int_equal(capacity_of(f), 1000);
    assert_int_equal(f->cells_bytes, 1 << 20);
    weir_filter_free(f);
}

static void test_refusals(void **state) {
    (void)state;
    static const refusal refused[] = {
        {"bloom:memory=1K,capacity=1M,fpr=1%", "needs memory=1.1", "capacity="},
        {"bloom:capacity=1000000G", "more memory than can be counted", "capacity="},
        {"bloom:k=0", "k=0 is out of range", "k="},
        {"bloom:k=33", "out of range", "k="},
        {"bloom:capacity=0", "out of range", "capacity="},
        {"bloom:layout=line", "layout", "layout="},
        {"bloom:fpr=0", "fpr", NULL},
        {"bloom:fpr=1e-9,memory=1K,k=1", "too small for a single key", "memory="},
        {NULL, NULL, NULL}};
    expect_refusals(refused);
}

static void test_over_capacity(void **state) {
    (void)state;
    static const char *const layouts[] = {"classic", "block"};
    for (int l = 0; l < 2; l++) {
        char spec[128];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "bloom:memory=256K,fpr=1%%,seed=3,layout=%s", layouts[l]);
        weir_filter *f = make_filter(spec);
        weir_filter_get_info(f, &info);
        assert_true(info.fill == 0 && info.fpr_now == 0 && !info.overfull);
        uint64_t capacity = capacity_of(f);
        double seen = offer_keys(f, 8, 0, capacity);
        weir_filter_get_info(f, &info);
        assert_false(info.overfull);
        printf("# %s at capacity: fpr_now %.5f\n", layouts[l], info.fpr_now);
        assert_true(fabs(info.fpr_now / 0.01 - 1) < 0.03);
        offer_keys(f, 8, capacity, (uint64_t)seen + 1000);
        weir_filter_get_info(f, &info);
        assert_true(info.overfull);
        offer_keys(f, 8, 2 * capacity, 4 * capacity);
        weir_filter_get_info(f, &info);
        double now = test_keys(f, 8, 1u << 30, 100000) / 100000;
        printf("# %s far over: fpr_now %.4f, measured %.4f\n", layouts[l], info.fpr_now, now);
        assert_true(fabs(info.fpr_now - now) < 0.02);
        weir_filter_free(f);
    }
}

/* --- merging ---------------------------------------------------------------------- */

static void test_merge_is_union(void **state) {
    (void)state;
    static const char *const layouts[] = {"classic", "block"};
    for (int l = 0; l < 2; l++) {
        char spec[128];
        snprintf(spec, sizeof spec, "bloom:memory=64K,fpr=1%%,seed=3,layout=%s", layouts[l]);
        weir_filter *a = make_filter(spec), *b = make_filter(spec), *both = make_filter(spec);
        offer_keys(a, 1, 0, 20000);
        offer_keys(b, 1, 10000, 20000);
        offer_keys(both, 1, 0, 30000);
        assert_int_equal(weir_filter_merge(a, b, NULL), WEIR_OK);
        assert_int_equal(memcmp(a->cells, both->cells, a->cells_bytes), 0);
        assert_int_equal(weir__filter_check(a, NULL), WEIR_OK);
        double keys = (double)*weir__filter_state(a);
        printf("# %s: union of 30000 keys counted as %.0f\n", layouts[l], keys);
        assert_true(fabs(keys / 30000 - 1) < 0.01);
        weir_filter_free(a), weir_filter_free(b), weir_filter_free(both);
    }
    weir_filter *a = make_filter("bloom:memory=64K,seed=3"),
                *b = make_filter("bloom:memory=64K,seed=4");
    assert_int_equal(weir_filter_merge(a, b, NULL), WEIR_ERR_MISMATCH);
    weir_filter_free(a), weir_filter_free(b);
}

/* --- what every filter must do ------------------------------------------------------- */

static const char *const some[] = {"bloom:memory=8K,fpr=1%,seed=1,layout=classic",
                                   "bloom:memory=8K,fpr=1%,seed=1,layout=block",
                                   "bloom:memory=8K,fpr=1e-6,seed=1,layout=classic",
                                   "bloom:memory=8K,fpr=1e-6,seed=1,layout=block",
                                   "bloom:capacity=5000,fpr=1e-3,seed=1",
                                   NULL};

static void test_contract(void **state) {
    (void)state;
    expect_contract(some, 4);
}

static void test_check(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        weir_filter *f = make_filter(some[i]);
        offer_keys(f, 1, 0, 100);
        offer_keys(f, 1, 0, 100); /* repeats are not counted */
        assert_int_equal(*weir__filter_state(f), f->offered - f->seen);
        assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
        *weir__filter_state(f) = 100 * 64; /* more keys than bits */
        assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
        *weir__filter_state(f) = 1; /* too few for the bits */
        assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
        weir_filter_free(f);
    }
}

/* So many bits and no more, whatever the memory: a filter of 64 bits is as full as eq. 1 says. */
static void test_bits(void **state) {
    (void)state;
    const unsigned seeds = 4000;
    double ones = 0;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        char spec[120];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "bloom:layout=classic,k=4,capacity=8,bits=64,memory=1K,seed=%u",
                 seed);
        weir_filter *f = make_filter(spec);
        offer_keys(f, 1, 0, 8);
        weir_filter_get_info(f, &info);
        for (size_t i = 8; i < f->cells_bytes; i++) assert_int_equal(f->cells[i], 0);
        ones += info.fill / seeds;
        weir_filter_free(f);
    }
    /* Four of 64 places for each key, of which two hardly ever meet. Deviation 0.0008: five of
     * them, and half a percent for those that meet. */
    double expected = 1 - pow(1 - 4.0 / 64, 8);
    if (fabs(ones - expected) > 0.009) fail_msg("%.4f on, expected %.4f", ones, expected);
    static const refusal refused[] = {
        {"bloom:memory=1K,bits=64", "bits=64 goes with layout=classic", "bits="},
        {"bloom:layout=classic,memory=1K,bits=100",
         "bits=100 is not a multiple of 8 up to the 8192 of its memory", "bits="},
        {"bloom:layout=classic,memory=1K,bits=8200",
         "bits=8200 is not a multiple of 8 up to the 8192 of its memory", "bits="},
        {NULL, NULL, NULL}};
    expect_refusals(refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_rate_is_the_expectation),
        cmocka_unit_test(test_rate_at_capacity),
        cmocka_unit_test(test_rate_of_lines),
        cmocka_unit_test(test_nothing_is_forgotten),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_over_capacity),
        cmocka_unit_test(test_merge_is_union),
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
