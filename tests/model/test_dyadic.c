/* test_dyadic.c - ranges and quantiles against a sorted list. */
#include "model/sketching.h"

enum { VALUES = 50000 };

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_values(weir_sketch *s, const int64_t *values, size_t n) {
    weir_error err = {0};
    for (size_t at = 0; at < n; at += 1000) {
        weir_updates u = {.count = n - at < 1000 ? n - at : 1000, .values = values + at};
        if (weir_sketch_add_batch(s, &u, &err) != WEIR_OK) fail_msg("%s", err.message);
    }
}

/* Skewed values of about `bits` bits; with 64 bits negative ones too. */
static int64_t draw_value(uint64_t seed, uint64_t i, unsigned bits) {
    double u = (double)(test_word(seed, i) >> 11) * 0x1p-53;
    int64_t value = (int64_t)exp2(u * (bits - 1.0));
    return bits == 64 && test_word(seed + 1, i) & 1 ? -value : value;
}

static void check_ranges(const char *spec, unsigned bits) {
    int64_t *values = malloc(VALUES * sizeof *values);
    weir_sketch *s = make_sketch(spec);
    double outside = 0, n = 0;
    for (uint64_t i = 0; i < VALUES; i++) values[i] = draw_value(3, i, bits);
    add_values(s, values, VALUES);
    qsort(values, VALUES, sizeof *values, ascending);
    for (uint64_t i = 0; i < 400; i++) {
        int64_t low = draw_value(5, i, bits), high = draw_value(6, i, bits);
        if (low > high) {
            int64_t swap = low;
            low = high, high = swap;
        }
        double truth = 0;
        for (size_t k = 0; k < VALUES; k++) truth += values[k] >= low && values[k] <= high;
        weir_estimate e, cm;
        assert_int_equal(weir_sketch_range(s, low, high, WEIR_BY_AUTO, &e, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_range(s, low, high, WEIR_BY_CM, &cm, NULL), WEIR_OK);
        assert_true(cm.value >= truth);
        if (e.deviation == 0) assert_true(e.value == truth);
        outside += truth < e.low || truth > e.high, n++;
    }
    expect_at_most(spec, outside, n, 0.01);
    weir_sketch_free(s);
    free(values);
}

/* Quantiles of several sketches, made by different seeds: outside of their bounds in at
 * most one case of 100; and the bounds are of use: no more than `apart` of the ranks lie
 * between them (with a large fanout they do, as it has many nodes to err by). */
static void check_quantiles(const char *spec, unsigned bits, double apart) {
    enum { SEEDS = 20 };
    static int64_t values[VALUES], sorted[VALUES];
    double outside = 0, n = 0, ranks = 0;
    for (uint64_t i = 0; i < VALUES; i++) sorted[i] = values[i] = draw_value(3, i, bits);
    qsort(sorted, VALUES, sizeof *sorted, ascending);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        weir_sketch *s = make_seeded(spec, seed);
        add_values(s, values, VALUES);
        for (double q = 0; q <= 1.001; q += 0.05, n++) {
            weir_quantile answer;
            double share = fmin(q, 1);
            assert_int_equal(weir_sketch_quantile(s, share, &answer, NULL), WEIR_OK);
            size_t rank = (size_t)fmax(0, ceil(share * VALUES) - 1);
            assert_true(answer.low <= answer.value && answer.value <= answer.high);
            outside += sorted[rank] < answer.low || sorted[rank] > answer.high;
            for (size_t k = 0; k < VALUES; k++)
                ranks += sorted[k] >= answer.low && sorted[k] <= answer.high;
        }
        weir_sketch_free(s);
    }
    printf("# %s: the bounds are %.2f%% of the ranks apart\n", spec, 100 * ranks / n / VALUES);
    assert_true(ranks / n / VALUES < apart);
    expect_at_most(spec, outside, n, 0.01);
}

static void quantiles_hold(void **state) {
    (void)state;
    check_quantiles("dyadic:bits=16,memory=1M", 16, 0.02); /* all levels exact */
    check_quantiles("dyadic:bits=32,memory=256K", 32, 0.06);
    check_quantiles("dyadic:bits=64,fanout=4,memory=1M", 64, 0.03);
    check_quantiles("dyadic:bits=31,fanout=256,memory=512K,counter=real", 31, 1);
}

static void ranges_hold(void **state) {
    (void)state;
    check_ranges("dyadic:bits=16,memory=1M,seed=1", 16); /* all levels exact */
    check_ranges("dyadic:bits=32,memory=256K,seed=1", 32);
    check_ranges("dyadic:bits=32,fanout=2,memory=256K,seed=1", 32);
    check_ranges("dyadic:bits=64,fanout=4,memory=1M,seed=1", 64);
    check_ranges("dyadic:bits=31,fanout=256,memory=512K,counter=real,seed=1", 31);
}

/* Without sketched levels the answers are exact, whatever the ends. */
static void exact_ranges_are_exact(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("dyadic:bits=9,fanout=4,memory=64K,seed=1");
    double counts[512] = {0};
    for (uint64_t i = 0; i < 3000; i++) {
        int64_t value = (int64_t)(test_word(8, i) % 512);
        counts[value]++;
        add_values(s, &value, 1);
    }
    for (int64_t low = 0; low < 512; low += 7) {
        double truth = 0;
        for (int64_t high = low; high < 512; high++) {
            weir_estimate e;
            truth += counts[high];
            assert_int_equal(weir_sketch_range(s, low, high, WEIR_BY_AUTO, &e, NULL), WEIR_OK);
            assert_true(e.value == truth && e.low == truth && e.high == truth);
        }
    }
    weir_sketch_free(s);
}

static void merging_is_adding(void **state) {
    (void)state;
    const char *spec = "dyadic:bits=40,memory=64K,seed=4";
    weir_sketch *a = make_sketch(spec), *b = make_sketch(spec), *both = make_sketch(spec);
    for (uint64_t i = 0; i < 5000; i++) {
        int64_t value = draw_value(9, i, 40);
        add_values(i % 3 ? a : b, &value, 1), add_values(both, &value, 1);
    }
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    assert_true(same_sketch(a, both));
    weir_sketch_free(a), weir_sketch_free(b), weir_sketch_free(both);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("dyadic:bits=8,seed=1");
    weir_error err = {0};
    weir_quantile q;
    weir_estimate e;
    expect_failed(weir_sketch_quantile(s, 0.5, &q, &err), WEIR_ERR_RANGE, &err,
                  "nothing was counted");
    assert_int_equal(weir_sketch_add(s, "200", 3, 1, &err), WEIR_OK);
    expect_failed(weir_sketch_quantile(s, 1.5, &q, &err), WEIR_ERR_RANGE, &err, "between 0 and 1");
    expect_failed(weir_sketch_add(s, "abc", 3, 1, &err), WEIR_ERR_RANGE, &err,
                  "'abc' is not an integer");
    expect_failed(weir_sketch_add(s, "1.5", 3, 1, &err), WEIR_ERR_RANGE, &err, "not an integer");
    expect_failed(weir_sketch_add(s, "", 0, 1, &err), WEIR_ERR_RANGE, &err, "not an integer");
    expect_failed(weir_sketch_add(s, "99999999999999999999", 20, 1, &err), WEIR_ERR_RANGE, &err,
                  "out of range");
    expect_failed(weir_sketch_add(s, "256", 3, 1, &err), WEIR_ERR_RANGE, &err, "give more bits");
    expect_failed(weir_sketch_add(s, "-1", 2, 1, &err), WEIR_ERR_RANGE, &err, "give more bits");
    expect_failed(weir_sketch_range(s, 0, 256, WEIR_BY_AUTO, &e, &err), WEIR_ERR_RANGE, &err,
                  "give more bits");
    expect_failed(weir_sketch_range(s, 5, 4, WEIR_BY_AUTO, &e, &err), WEIR_ERR_RANGE, &err,
                  "empty");
    assert_int_equal(s->updates, 1);
    expect_spec_refused("dyadic:memory=100", "more memory");
    weir_sketch_free(s);

    /* Keys mean what they mean on the command line, to the ends of 64 bits. */
    s = make_sketch("dyadic:bits=64,seed=1");
    expect_failed(weir_sketch_add(s, "9999999999999999999", 19, 1, &err), WEIR_ERR_RANGE, &err,
                  "out of range");
    assert_int_equal(weir_sketch_add(s, "-9223372036854775808", 20, 1, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "+5", 2, 1, &err), WEIR_OK);
    assert_int_equal(weir_sketch_range(s, INT64_MIN, INT64_MIN, WEIR_BY_AUTO, &e, &err), WEIR_OK);
    assert_true(fabs(e.value - 1) < 0.01);
    assert_int_equal(weir_sketch_range(s, 5, 5, WEIR_BY_AUTO, &e, &err), WEIR_OK);
    assert_true(fabs(e.value - 1) < 0.01 && s->updates == 2);
    weir_sketch_free(s);

    /* An overflow leaves the levels alike. */
    s = make_sketch("dyadic:bits=8,seed=1");
    weir_sketch *twin = make_sketch("dyadic:bits=8,seed=1");
    int64_t values[3] = {1, 1, 1}, weights[3] = {INT32_MAX - 1, 1, 1};
    weir_updates u = {.count = 3, .values = values, .weights = weights};
    expect_failed(weir_sketch_add_batch(s, &u, &err), WEIR_ERR_RANGE, &err, "overflow");
    assert_int_equal(err.offset, 2);
    u.count = 2;
    assert_int_equal(weir_sketch_add_batch(twin, &u, &err), WEIR_OK);
    assert_true(same_sketch(s, twin));
    weir_sketch_free(s), weir_sketch_free(twin);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_hold), cmocka_unit_test(quantiles_hold),
        cmocka_unit_test(exact_ranges_are_exact), cmocka_unit_test(merging_is_adding),
        cmocka_unit_test(bad_input_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
