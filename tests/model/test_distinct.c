/* test_distinct.c - distinct counters against the exact number, and their formulas. */
#include "model/sketching.h"

/* n different keys, each of the first ones twice. */
static void add_different(weir_sketch *s, uint64_t from, uint64_t n) {
    uint64_t hashes[1000];
    for (uint64_t at = 0; at < n; at += 1000) {
        size_t count = n - at < 1000 ? (size_t)(n - at) : 1000;
        for (size_t i = 0; i < count; i++) hashes[i] = key_hash(from + at + i);
        uint64_t keys[1000];
        for (size_t i = 0; i < count; i++) keys[i] = from + at + i;
        weir_updates u = {.count = count, .hashes = hashes, .key = key_text, .context = keys};
        assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
        u.count = count < 10 ? count : 10;
        assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
    }
}

/* Mean and deviation over seeds: the mean is n (within `bias` of n and chance), the
 * deviation that of the formula (chi-square of 149 degrees: within 25% with all but
 * a chance of 2 in 100000) and what the sketch itself says. */
static void expect_formula(const char *spec, uint64_t n, double relative, double bias) {
    enum { SEEDS = 150 };
    double sum = 0, squares = 0, said = 0, outside = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        weir_sketch *s = make_seeded(spec, seed);
        weir_estimate e;
        /* The keys differ by seed: a hash is the sketch's own randomness. */
        add_different(s, seed * 10000000, n);
        assert_int_equal(weir_sketch_distinct(s, &e, NULL), WEIR_OK);
        double off = e.value / (double)n - 1;
        sum += off, squares += off * off, said += e.deviation / (double)n;
        outside += (double)n < e.low || (double)n > e.high;
        weir_sketch_free(s);
    }
    double mean = sum / SEEDS, deviation = sqrt(squares / SEEDS);
    printf("# %-40s n %7llu: bias %+.4f, deviation %.4f, formula %.4f, said %.4f\n", spec,
           (unsigned long long)n, mean, deviation, relative, said / SEEDS);
    assert_true(fabs(mean) < bias + 4.5 * relative / sqrt(SEEDS) + 1e-12);
    assert_true(deviation <= 1.3 * relative + bias + 1e-12);
    if (relative > 0) assert_true(deviation > 0.7 * relative);
    assert_true(said / SEEDS >= 0.9 * relative - 1e-12);
    expect_at_most("truth outside the bounds", outside, SEEDS, 0.01);
}

static double linear_deviation(double m, double n) {
    return sqrt(m * (exp(n / m) - n / m - 1)) / n;
}

static void formulas_hold(void **state) {
    (void)state;
    expect_formula("hll:p=8", 20000, 1.04 / 16, 0.004);
    expect_formula("hll:p=10", 5000, 1.04 / 32, 0.003);
    expect_formula("kmv:memory=4K", 100, 0, 0); /* all are held */
    expect_formula("linear:memory=512", 3000, linear_deviation(4096, 3000), 0.001);
    expect_formula("linear:memory=512", 9000, linear_deviation(4096, 9000), 0.003);
    expect_formula("pcsa:memory=2K", 20000, 0.78 / 16, 0.004);
}

/* Where the sketch's own deviation is the formula: it must be what happens. */
static void own_deviations_hold(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        uint64_t n;
        double most;
    } cases[] = {{"kmv:memory=4K", 20000, 0.063},
                 {"multires:memory=4K", 20000, 0.04},
                 {"multires:memory=4K", 300, 0.06},
                 {"distinct:memory=32K", 20000, 0.09},
                 {"linear:memory=512,k=3", 1000, 0.03}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double squares = 0, said = 0, sum = 0, n = (double)cases[k].n;
        for (uint64_t seed = 0; seed < 120; seed++) {
            weir_sketch *s = make_seeded(cases[k].spec, seed);
            weir_estimate e;
            add_different(s, seed * 10000000, cases[k].n);
            assert_int_equal(weir_sketch_distinct(s, &e, NULL), WEIR_OK);
            sum += e.value / n - 1, squares += pow(e.value / n - 1, 2);
            said += pow(e.deviation / n, 2);
            weir_sketch_free(s);
        }
        double did = sqrt(squares / 120), own = sqrt(said / 120);
        printf("# %-30s n %6.0f: bias %+.4f, deviation %.4f, said %.4f\n", cases[k].spec, n,
               sum / 120, did, own);
        assert_true(did < 1.35 * own && own < 1.5 * did + 1e-9 && own < cases[k].most);
        assert_true(fabs(sum / 120) < 4.5 * own / sqrt(120) + 0.003);
    }
}

/* From nothing to many, HyperLogLog has no bump: within 5 deviations at every size. */
static void hll_has_no_bump(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("hll:p=12,seed=5");
    assert_true(distinct_of(s) == 0);
    uint64_t n = 0;
    for (uint64_t next = 1; next < 2000000; next = next * 5 / 4 + 1) {
        add_different(s, n, next - n);
        n = next;
        double off = fabs(distinct_of(s) / (double)n - 1);
        if (off > 5 * 1.04 / 64) fail_msg("%llu keys: off by %g", (unsigned long long)n, off);
    }
    weir_sketch_free(s);
}

static void merging_is_union(void **state) {
    (void)state;
    static const char *const specs[] = {"hll:p=9,seed=1", "linear:memory=1K,seed=1",
                                        "multires:memory=4K,seed=1", "pcsa:memory=1K,seed=1"};
    for (size_t k = 0; k < 4; k++) {
        weir_sketch *a = make_sketch(specs[k]), *b = make_sketch(specs[k]);
        weir_sketch *both = make_sketch(specs[k]);
        add_different(a, 0, 2000), add_different(b, 1000, 3000);
        add_different(both, 0, 2000), add_different(both, 1000, 3000);
        assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
        assert_true(same_sketch(a, both));
        weir_sketch_free(a), weir_sketch_free(b), weir_sketch_free(both);
    }
}

static void common_keys_are_estimated(void **state) {
    (void)state;
    static const char *const specs[] = {"hll:p=14", "kmv:memory=32K", "linear:memory=16K"};
    for (size_t k = 0; k < 3; k++) {
        double outside = 0;
        for (uint64_t seed = 0; seed < 40; seed++) {
            weir_sketch *a = make_seeded(specs[k], seed), *b = make_seeded(specs[k], seed);
            weir_estimate e;
            add_different(a, seed * 1000000, 30000),
                add_different(b, seed * 1000000 + 20000, 40000);
            assert_int_equal(weir_sketch_common(a, b, &e, NULL), WEIR_OK);
            outside += e.low > 10000 || e.high < 10000;
            weir_sketch_free(a), weir_sketch_free(b);
        }
        expect_at_most(specs[k], outside, 40, 0.03);
    }
    weir_sketch *a = make_sketch("kmv:memory=4K,seed=1"), *b = make_sketch("kmv:memory=4K,seed=1");
    weir_sketch *both = make_sketch("kmv:memory=4K,seed=1");
    add_different(a, 0, 5000), add_different(b, 3000, 9000), add_different(both, 0, 12000);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    assert_true(fabs(distinct_of(a) / distinct_of(both) - 1) < 0.3);
    weir_sketch_free(a), weir_sketch_free(b), weir_sketch_free(both);
}

/* ---- distinct sampling ---- */

static bool is_even(void *context, const weir_item *item) {
    (void)context;
    char last = ((const char *)item->key)[item->length - 1];
    return (last - '0') % 2 == 0;
}

static bool came_once(void *context, const weir_item *item) {
    (void)context;
    return item->count.value == 1;
}

static const void *row_text(void *context, size_t i, size_t *length) {
    static char text[8];
    const uint64_t *keys = context;
    *length = (size_t)snprintf(text, sizeof text, "%s", keys[i] % 5 ? "udp" : "tcp");
    return text;
}

static bool is_tcp(void *context, const weir_item *item) {
    (void)context;
    return item->row && item->row_length == 3 && memcmp(item->row, "tcp", 3) == 0;
}

static void predicates_are_answered(void **state) {
    (void)state;
    enum { N = 20000 };
    double outside = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        weir_sketch *s = make_seeded("distinct:memory=64K,rows=2,row=8", seed);
        for (uint64_t at = 0; at < N; at += 500) {
            uint64_t keys[1000], hashes[1000];
            size_t n = 0;
            for (uint64_t i = at; i < at + 500; i++) { /* every third key twice */
                keys[n++] = i + seed * N;
                if (i % 3 == 0) keys[n++] = i + seed * N;
            }
            for (size_t i = 0; i < n; i++) hashes[i] = key_hash(keys[i]);
            weir_updates u = {
                .count = n, .hashes = hashes, .key = key_text, .row = row_text, .context = keys};
            assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
        }
        weir_estimate e;
        assert_int_equal(weir_sketch_distinct_where(s, is_even, NULL, &e, NULL), WEIR_OK);
        outside += e.low > N / 2 || e.high < N / 2;
        assert_int_equal(weir_sketch_distinct_where(s, came_once, NULL, &e, NULL), WEIR_OK);
        outside += e.low > N * 2.0 / 3 || e.high < N * 2.0 / 3 - 1;
        assert_int_equal(weir_sketch_distinct_where(s, is_tcp, NULL, &e, NULL), WEIR_OK);
        outside += e.low > N / 5 || e.high < N / 5;
        weir_sketch_free(s);
    }
    expect_at_most("answers outside their bounds", outside, 60, 0.02);
}

static void distinct_samples_merge(void **state) {
    (void)state;
    const char *spec = "distinct:memory=16K,seed=3,rows=1,row=4";
    weir_sketch *a = make_sketch(spec), *b = make_sketch(spec), *both = make_sketch(spec);
    add_different(a, 0, 6000), add_different(b, 3000, 9000);
    add_different(both, 0, 6000), add_different(both, 3000, 9000);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    static weir_item left[2000], right[2000];
    weir_items x = {.items = left, .room = 2000}, y = {.items = right, .room = 2000};
    assert_int_equal(weir_sketch_sample(a, &x, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_sample(both, &y, NULL), WEIR_OK);
    assert_int_equal(x.found, y.found);
    for (size_t i = 0; i < x.found; i++) {
        assert_true(left[i].hash == right[i].hash && left[i].count.value == right[i].count.value);
        assert_int_equal(left[i].length, right[i].length);
        assert_memory_equal(left[i].key, right[i].key, left[i].length);
    }
    weir_sketch_free(a), weir_sketch_free(b), weir_sketch_free(both);
}

static void sizes_follow_the_error(void **state) {
    (void)state;
    static const char *const specs[] = {"hll:error=2%", "kmv:error=5%,confidence=95%",
                                        "pcsa:error=5%", "multires:error=5%",
                                        "linear:error=1%,capacity=100K"};
    for (size_t k = 0; k < 5; k++) {
        double beyond = 0, limit = k == 0 ? 0.02 : k == 4 ? 0.01 : 0.05;
        for (uint64_t seed = 0; seed < 20; seed++) {
            weir_sketch *s = make_seeded(specs[k], seed);
            add_different(s, seed * 1000000, 50000);
            beyond += fabs(distinct_of(s) / 50000 - 1) > limit;
            weir_sketch_free(s);
        }
        expect_at_most(specs[k], beyond, 20, k == 1 ? 0.05 : 0.02);
    }
    expect_spec_refused("linear:error=1%", "capacity=");
    weir_sketch *s = make_sketch("linear:memory=64");
    weir_error err = {0};
    weir_estimate e;
    add_different(s, 0, 100000);
    expect_failed(weir_sketch_distinct(s, &e, &err), WEIR_ERR_RANGE, &err, "all bits are set");
    expect_failed(weir_sketch_add(s, "a", 1, -1, &err), WEIR_ERR_RANGE, &err, "negative");
    weir_sketch_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(formulas_hold),
                                       cmocka_unit_test(own_deviations_hold),
                                       cmocka_unit_test(hll_has_no_bump),
                                       cmocka_unit_test(merging_is_union),
                                       cmocka_unit_test(common_keys_are_estimated),
                                       cmocka_unit_test(predicates_are_answered),
                                       cmocka_unit_test(distinct_samples_merge),
                                       cmocka_unit_test(sizes_follow_the_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
