/* test_kll.c - quantiles by compacted levels, against exact ranks.
 *
 * A run fails if a rank is off by more than 1%, or if more intervals than a binomial of 1%
 * allows lack the truth: of 900 intervals at most 20 (chance of a false alarm 0.0005 even if
 * the intervals were not cautious, as they are).
 */
#include "model/sketching.h"

enum { RECORDS = 200000 };

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void add_keys(weir_sketch *s, const double *keys, size_t n, bool decimal) {
    int64_t *values = malloc(n * sizeof *values);
    weir_error err = {0};
    for (size_t i = 0; i < n; i++) values[i] = (int64_t)keys[i];
    weir_updates u = {.count = n, .values = values, .decimals = decimal ? keys : NULL};
    if (weir_sketch_add_batch(s, &u, &err) != WEIR_OK) fail_msg("%s", err.message);
    free(values);
}

static double answer(const weir_quantile *q, int part) {
    const double d[] = {q->decimal, q->decimal_low, q->decimal_high};
    const int64_t i[] = {q->value, q->low, q->high};
    return q->is_decimal ? d[part] : (double)i[part];
}

/* How far the rank of a key is from a share of all: 0 if the share falls on the key. */
static double rank_error(const double *sorted, size_t n, double key, double share) {
    size_t below = 0, to = n;
    for (size_t low = 0, high = n; low < high;) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] < key) low = below = middle + 1;
        else high = middle;
    }
    for (to = below; to < n && sorted[to] == key; to++) {
    }
    double from = (double)below / (double)n, until = (double)to / (double)n;
    return share < from ? from - share : share > until ? share - until : 0;
}

static void ask(const char *spec, const double *keys, size_t n, bool decimal, unsigned *missed,
                unsigned *asked, double *worst) {
    double *sorted = malloc(n * sizeof *sorted);
    memcpy(sorted, keys, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        weir_sketch *s = make_seeded(spec, seed);
        weir_quantile q;
        for (size_t at = 0; at < n; at += 9973)
            add_keys(s, keys + at, n - at < 9973 ? n - at : 9973, decimal);
        for (int percent = 0; percent <= 100; percent += 10) {
            double share = percent / 100.0;
            assert_int_equal(weir_sketch_quantile(s, share, &q, NULL), WEIR_OK);
            double value = answer(&q, 0), low = answer(&q, 1), high = answer(&q, 2);
            assert_true(low <= value && value <= high && q.is_decimal == decimal);
            if (percent == 0) assert_true(value == sorted[0] && low == high);
            if (percent == 100) assert_true(value == sorted[n - 1] && low == high);
            if (percent == 0 || percent == 100) continue;
            size_t rank = (size_t)ceil(share * (double)n) - 1;
            *missed += sorted[rank] < low || sorted[rank] > high;
            ++*asked;
            *worst = fmax(*worst, rank_error(sorted, n, value, share));
        }
        weir_sketch_free(s);
    }
    free(sorted);
}

static void ranks_hold(void **state) {
    (void)state;
    double *keys = malloc(RECORDS * sizeof *keys);
    for (int shape = 0; shape < 4; shape++) {
        unsigned missed = 0, asked = 0;
        double worst = 0;
        for (uint64_t i = 0; i < RECORDS; i++) {
            double u = (double)(test_word(5, i) >> 11) * 0x1p-53;
            keys[i] = shape == 0   ? floor(1e9 * u)
                      : shape == 1 ? floor(exp(20 * u)) - 5
                      : shape == 2 ? (double)i
                                   : -log(u + 1e-9) * 0.37;
        }
        ask("kll:error=1%", keys, RECORDS, shape == 3, &missed, &asked, &worst);
        print_message("shape %d: rank off by at most %.5f, %u of %u intervals lack the truth\n",
                      shape, worst, missed, asked);
        assert_true(worst <= 0.01 && missed * 45 <= asked);
    }
    free(keys);
}

/* The deviation that error= is planned by holds for streams of all lengths. */
static void plan_holds(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("kll:memory=64K,seed=3");
    double keys[1000], most = 0;
    for (size_t n = 0; n < 3000; n++) {
        for (size_t i = 0; i < 1000; i++) keys[i] = (double)(test_word(8, n * 1000 + i) >> 20);
        add_keys(s, keys, 1000, false);
        uint64_t variance = weir__sketch_state(s)[3];
        most = fmax(most, sqrt(weir__as_double(variance)) / weir__total(s));
    }
    double k = (8192 - 512) / 3;
    print_message("deviation at most %.3f N/k\n", most * k);
    weir_sketch_info info;
    weir_sketch_get_info(s, &info);
    assert_true(most * 2.5758 <= info.error);
    weir_sketch_free(s);
}

/* Integers are exact to the last bit; a decimal key makes decimals of all. */
static void keys_are_kept(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("kll:memory=8K,seed=1"), *d = make_sketch("kll:memory=8K,seed=1");
    weir_quantile q;
    weir_error err = {0};
    assert_int_equal(weir_sketch_add(s, "9223372036854775807", 19, 1, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "-9223372036854775808", 20, 1, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "+5", 2, 3, &err), WEIR_OK);
    assert_int_equal(weir_sketch_quantile(s, 1, &q, NULL), WEIR_OK);
    assert_true(!q.is_decimal && q.value == INT64_MAX && q.low == INT64_MAX);
    assert_int_equal(weir_sketch_quantile(s, 0, &q, NULL), WEIR_OK);
    assert_true(q.value == INT64_MIN && q.high == INT64_MIN);
    assert_int_equal(weir_sketch_quantile(s, 0.5, &q, NULL), WEIR_OK);
    assert_int_equal(q.value, 5);
    assert_int_equal(weir_sketch_add(d, "-0.25", 5, 2, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(d, "7", 1, 2, &err), WEIR_OK);
    assert_int_equal(weir_sketch_merge(s, d, &err), WEIR_OK);
    assert_int_equal(weir_sketch_quantile(s, 0.3, &q, NULL), WEIR_OK);
    assert_true(q.is_decimal && q.decimal == -0.25);
    assert_int_equal(weir_sketch_quantile(s, 0.5, &q, NULL), WEIR_OK);
    assert_true(q.decimal == 5);
    assert_int_equal(weir_sketch_quantile(s, 1, &q, NULL), WEIR_OK);
    assert_true(q.decimal == 0x1p63);
    expect_failed(weir_sketch_add(s, "abc", 3, 1, &err), WEIR_ERR_RANGE, &err, "not a number");
    expect_failed(weir_sketch_add(s, "1e999", 5, 1, &err), WEIR_ERR_RANGE, &err, "out of range");
    expect_failed(weir_sketch_add(s, "1", 1, -1, &err), WEIR_ERR_RANGE, &err, "negative weight");
    weir_sketch_free(s), weir_sketch_free(d);
}

/* Merged parts are as good as the whole, and a weight is as many records. */
static void parts_and_weights(void **state) {
    (void)state;
    weir_sketch *all = make_sketch("kll:memory=16K,seed=1"),
                *weighed = make_sketch("kll:memory=16K,seed=2");
    double keys[2000], sorted[2000];
    for (unsigned part = 0; part < 50; part++) {
        weir_sketch *s = make_sketch("kll:memory=16K,seed=1");
        for (size_t i = 0; i < 2000; i++) keys[i] = (double)(test_word(9, i) % 100000);
        add_keys(s, keys, 2000, part == 30);
        assert_int_equal(weir_sketch_merge(all, s, NULL), WEIR_OK);
        weir_sketch_free(s);
    }
    for (size_t i = 0; i < 2000; i++) {
        int64_t value = (int64_t)keys[i], weight = (int64_t)1 << i % 7 * 6;
        weir_updates u = {.count = 1, .values = &value, .weights = &weight};
        if (i % 7 == 0) weight = 50;
        assert_int_equal(weir_sketch_add_batch(weighed, &u, NULL), WEIR_OK);
    }
    memcpy(sorted, keys, sizeof keys);
    qsort(sorted, 2000, sizeof *sorted, ascending);
    for (int percent = 1; percent < 100; percent++) {
        weir_quantile q;
        assert_int_equal(weir_sketch_quantile(all, percent / 100.0, &q, NULL), WEIR_OK);
        assert_true(rank_error(sorted, 2000, q.decimal, percent / 100.0) <= 0.02);
        assert_true(q.decimal_low <= sorted[20 * percent - 1] &&
                    sorted[20 * percent - 1] <= q.decimal_high);
        assert_int_equal(weir_sketch_quantile(weighed, percent / 100.0, &q, NULL), WEIR_OK);
    }
    double total = 0, heavy = 0;
    weir_quantile q;
    weir_sketch_quantile(weighed, 0.5, &q, NULL);
    for (size_t i = 0; i < 2000; i++) {
        double weight = i % 7 ? exp2((double)(i % 7 * 6)) : 50;
        total += weight;
        if (keys[i] <= (double)q.value) heavy += weight;
    }
    assert_true(fabs(heavy / total - 0.5) < 0.02);
    weir_sketch_free(all), weir_sketch_free(weighed);
}

/* Percentiles of weights: intervals hold, the ends are exact, whatever the weights. */
static void weights_hold(void **state) {
    (void)state;
    enum { N = 200000 };
    typedef struct {
        double key, weight;
    } pair;
    static pair all[N];
    static int64_t values[N], weights[N];
    for (int shape = 0; shape < 3; shape++) {
        unsigned missed = 0, asked = 0;
        double worst = 0, width = 0;
        for (uint64_t seed = 1; seed <= 8; seed++) {
            weir_sketch *s = make_seeded("kll:memory=64K", seed);
            weir_updates u = {.count = N, .values = values, .weights = weights};
            double total = 0;
            for (uint64_t i = 0; i < N; i++) {
                double x = (double)(test_word(seed, i) >> 11) * 0x1p-53;
                values[i] = (int64_t)(test_word(seed + 99, i) % 1000000) - 5000;
                weights[i] = shape == 0   ? 40 + (int64_t)(1500 * x)
                             : shape == 1 ? (int64_t)(pow(x + 1e-6, -0.8))
                                          : (int64_t)(values[i] % 3 == 0) << 20;
                all[i] = (pair){(double)values[i], (double)weights[i]};
                total += (double)weights[i];
            }
            assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
            qsort(all, N, sizeof *all, ascending); /* by the key, which comes first */
            double least = 1e9, greatest = -1e9;
            for (size_t i = 0; i < N; i++)
                if (all[i].weight > 0)
                    least = fmin(least, all[i].key), greatest = fmax(greatest, all[i].key);
            for (int percent = 0; percent <= 100; percent += 4) {
                weir_quantile q;
                double wanted = percent / 100.0 * total, sum = 0, truth = greatest, below = 0,
                       up_to = 0;
                assert_int_equal(weir_sketch_quantile(s, percent / 100.0, &q, NULL), WEIR_OK);
                for (size_t i = 0; i < N; i++) {
                    double before = sum;
                    sum += all[i].weight;
                    if (before < wanted && sum >= wanted) truth = all[i].key;
                    if (all[i].key < (double)q.value) below = sum;
                    if (all[i].key <= (double)q.value) up_to = sum;
                }
                if (percent == 0 || percent == 100) {
                    assert_true((double)q.value == (percent ? greatest : least));
                    assert_true(q.low == q.value && q.high == q.value);
                    continue;
                }
                missed += truth < (double)q.low || truth > (double)q.high;
                asked++;
                worst = fmax(worst, fmax(below - wanted, wanted - up_to) / total);
                width = fmax(width, (double)(q.high - q.low) / 1e6);
            }
            weir_sketch_free(s);
        }
        print_message("weights %d: rank off by at most %.5f, interval at most %.5f of the keys, %u "
                      "of %u lack the truth\n",
                      shape, worst, width, missed, asked);
        assert_true(worst <= 0.01 && width <= 0.02 && missed * 45 <= asked);
    }
}

/* A weight of 2^60 would need a level too many. */
static void weights_are_bounded(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("kll:memory=8K,seed=1");
    weir_error err = {0};
    weir_quantile q;
    expect_failed(weir_sketch_add(s, "1", 1, INT64_C(1) << 60, &err), WEIR_ERR_RANGE, &err, "2^60");
    assert_int_equal(weir_sketch_add(s, "1", 1, (INT64_C(1) << 60) - 256, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "9", 1, 100, &err), WEIR_OK);
    assert_int_equal(weir_sketch_quantile(s, 1, &q, NULL), WEIR_OK);
    assert_int_equal(q.value, 9);
    weir_sketch_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_hold),    cmocka_unit_test(plan_holds),
        cmocka_unit_test(keys_are_kept), cmocka_unit_test(parts_and_weights),
        cmocka_unit_test(weights_hold),  cmocka_unit_test(weights_are_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
