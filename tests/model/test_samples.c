/* test_samples.c - reservoir samples, spectral Bloom filters, space-code Bloom filters. */
#include "model/sketching.h"

/* Every record has the same chance, early or late, alone and after merging. */
static void reservoirs_are_fair(void **state) {
    (void)state;
    enum { SEEDS = 3000, RECORDS = 1000, N = 20 };
    double third[2][3] = {{0}}, pairs[2] = {0};
    static uint64_t keys[RECORDS];
    for (uint64_t i = 0; i < RECORDS; i++) keys[i] = i;
    for (int merged = 0; merged < 2; merged++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            weir_sketch *s = make_seeded("sample:n=20", seed);
            add_numbers(s, keys, NULL, merged ? 300 : RECORDS, 64);
            if (merged) {
                weir_sketch *other = make_seeded("sample:n=20", seed);
                uint64_t skipped =
                    weir__rng_next(weir__sketch_state(other)); /* another stream's luck */
                (void)skipped;
                add_numbers(other, keys + 300, NULL, 400, 100);
                assert_int_equal(weir_sketch_merge(s, other, NULL), WEIR_OK);
                add_numbers(s, keys + 700, NULL, 300, 100);
                weir_sketch_free(other);
            }
            weir_item items[N];
            weir_items out = {.items = items, .room = N};
            assert_int_equal(weir_sketch_sample(s, &out, NULL), WEIR_OK);
            assert_int_equal(out.found, N);
            bool first = false, second = false;
            for (size_t i = 0; i < N; i++) {
                char text[24] = "";
                memcpy(text, items[i].key, items[i].length);
                uint64_t key = strtoull(text + 4, NULL, 10);
                assert_true(items[i].hash == key_hash(key) && items[i].count.value == RECORDS / N);
                third[merged][key < 300 ? 0 : key < 700 ? 1 : 2]++;
                first |= key < 50, second |= key >= 950;
            }
            pairs[merged] += first && second;
            weir_sketch_free(s);
        }
    for (int merged = 0; merged < 2; merged++) {
        expect_rate("first 30% of the records", third[merged][0], SEEDS * N, 0.3);
        expect_rate("next 40%", third[merged][1], SEEDS * N, 0.4);
        expect_rate("last 30%", third[merged][2], SEEDS * N, 0.3);
        double none = 1, neither = 1; /* without replacement: 20 of 1000, 50 of a kind */
        for (int i = 0; i < N; i++)
            none *= (950.0 - i) / (1000 - i), neither *= (900.0 - i) / (1000 - i);
        expect_rate("both ends", pairs[merged], SEEDS, 1 - 2 * none + neither);
    }
    weir_sketch *s = make_seeded("sample:n=20", 1);
    weir_error err = {0};
    expect_failed(weir_sketch_add(s, "a", 1, 2, &err), WEIR_ERR_RANGE, &err, "one by one");
    weir_sketch_free(s);
}

static void long_keys_are_cut(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("sample:n=3,key=5,seed=1");
    weir_item items[3];
    weir_items out = {.items = items, .room = 3};
    assert_int_equal(weir_sketch_add(s, "12345", 5, 1, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "123456", 6, 1, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "", 0, 1, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_sample(s, &out, NULL), WEIR_OK);
    assert_true(out.complete && !items[0].cut && items[1].cut && items[1].length == 5);
    assert_int_equal(items[2].length, 0);
    weir_sketch_free(s);
}

/* Spectral: mi and ms never too low; mi at most ms; rm mostly between the truth and ms. */
static void spectral_counts(void **state) {
    (void)state;
    static const char *const specs[] = {"spectral:memory=4K,k=4,mode=ms,seed=1",
                                        "spectral:memory=4K,k=4,mode=mi,seed=1",
                                        "spectral:memory=6K,k=4,mode=rm,seed=1"};
    double counts[500] = {0}, errors[3] = {0}, low = 0;
    weir_sketch *s[3];
    for (int k = 0; k < 3; k++) s[k] = make_sketch(specs[k]);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t key = (uint64_t)(500 * pow((double)(test_word(1, i) >> 11) * 0x1p-53, 3));
        counts[key]++;
        for (int k = 0; k < 3; k++) add_number(s[k], key, 1);
    }
    for (uint64_t i = 0; i < 500; i++) {
        double value[3];
        for (int k = 0; k < 3; k++) {
            weir_estimate e = estimate_of(s[k], i, WEIR_BY_AUTO);
            value[k] = e.value;
            assert_true(e.low <= e.value && e.value <= e.high);
            errors[k] += fabs(value[k] - counts[i]);
        }
        assert_true(value[0] >= counts[i] && value[1] >= counts[i] && value[1] <= value[0]);
        low += value[2] < counts[i];
    }
    printf("# mean errors: ms %.2f, mi %.2f, rm %.2f; rm too low %.1f%%\n", errors[0] / 500,
           errors[1] / 500, errors[2] / 500, low / 5);
    assert_true(errors[1] < errors[0] && errors[2] < errors[0] && low < 50);
    weir_error err = {0};
    expect_failed(weir_sketch_add(s[1], "a", 1, -1, &err), WEIR_ERR_RANGE, &err, "use rm");
    expect_failed(weir_sketch_add(s[0], "a", 1, (int64_t)1 << 33, &err), WEIR_ERR_RANGE, &err,
                  "2^32");
    assert_int_equal(weir_sketch_add(s[2], "never", 5, 1, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s[2], "never", 5, -1, &err), WEIR_OK);
    for (int k = 0; k < 3; k++) weir_sketch_free(s[k]);
}

/* Space-code: right on average and as precise as it says, from a few occurrences to
 * very many, while the bitmaps are sparse. */
static void spacecode_counts(void **state) {
    (void)state;
    static const uint64_t truths[] = {1, 10, 100, 3000, 100000};
    for (size_t k = 0; k < 5; k++) {
        spread value = {0};
        double squares = 0, said = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            weir_sketch *s = make_seeded("spacecode:memory=64K", seed);
            add_number(s, 7, (int64_t)truths[k]);
            for (uint64_t i = 100; i < 400; i++) add_number(s, i, 20);
            weir_estimate e = estimate_of(s, 7, WEIR_BY_AUTO);
            spread_add(&value, e.value / (double)truths[k]);
            squares += pow(e.value - (double)truths[k], 2), said += e.deviation * e.deviation;
            weir_sketch_free(s);
        }
        printf("# %llu times: mean %.3f of it, deviation %.2f of what is said\n",
               (unsigned long long)truths[k], spread_mean(&value), sqrt(squares / said));
        assert_true(fabs(spread_mean(&value) - 1) < (k == 0 ? 0.5 : 0.2));
        assert_true(squares < 4 * said);
    }
}

/* Where other keys fill the finest bitmaps a rare key may read as a few hundred; the interval
 * says so, and holds the truth of nearly all keys, rare and frequent. */
static void spacecode_intervals_hold(void **state) {
    (void)state;
    double outside[3] = {0}, n[3] = {0}, rare_off = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        weir_sketch *s = make_seeded("spacecode:memory=16K", seed);
        for (uint64_t i = 0; i < 4000; i++) add_number(s, i, (int64_t)(20000 / (i + 1)) + 1);
        for (uint64_t i = 0; i < 4000; i++) {
            double truth = (double)(20000 / (i + 1)) + 1;
            unsigned kind = truth < 20 ? 0 : truth < 300 ? 1 : 2;
            weir_estimate e = estimate_of(s, i, WEIR_BY_AUTO);
            assert_true(e.low <= e.value && e.value <= e.high && !signbit(e.value));
            outside[kind] += truth < e.low || truth > e.high;
            n[kind]++;
            if (kind == 0) rare_off = fmax(rare_off, e.value - truth);
        }
        weir_sketch_free(s);
    }
    printf("# rare keys read as up to %.0f too many; outside of their intervals %.2f%%, of more "
           "frequent ones %.2f%%, of the most frequent %.2f%%\n",
           rare_off, 100 * outside[0] / n[0], 100 * outside[1] / n[1], 100 * outside[2] / n[2]);
    assert_true(rare_off > 200);
    for (unsigned kind = 0; kind < 3; kind++) assert_true(outside[kind] <= 0.01 * n[kind]);
}

/* A weight is taken one by one; what is refused changes nothing. */
static void spacecode_refuses_what_takes_ages(void **state) {
    (void)state;
    weir_sketch *s = make_seeded("spacecode:memory=4K", 1);
    weir_error err;
    weir_sketch_info info;
    assert_int_equal(weir_sketch_add(s, "a", 1, 5, &err), WEIR_OK);
    assert_int_equal(weir_sketch_add(s, "a", 1, INT64_MAX, &err), WEIR_ERR_RANGE);
    weir_sketch_get_info(s, &info);
    assert_int_equal((int)info.total, 5);
    weir_sketch_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reservoirs_are_fair),
                                       cmocka_unit_test(long_keys_are_cut),
                                       cmocka_unit_test(spectral_counts),
                                       cmocka_unit_test(spacecode_counts),
                                       cmocka_unit_test(spacecode_intervals_hold),
                                       cmocka_unit_test(spacecode_refuses_what_takes_ages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
