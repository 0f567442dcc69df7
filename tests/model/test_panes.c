/* test_panes.c - sliding windows of sketches against exact counts of their panes. */
#include "model/sketching.h"

static void add_at(weir_sketch *s, uint64_t key, int64_t time) {
    uint64_t hash = key_hash(key);
    int64_t value = (int64_t)key;
    weir_error err = {0};
    weir_updates u = {.count = 1,
                      .hashes = &hash,
                      .values = &value,
                      .times = &time,
                      .key = key_text,
                      .context = &key};
    if (weir_sketch_add_batch(s, &u, &err) != WEIR_OK) fail_msg("%s", err.message);
}

/* What came in panes newest - 4 to newest: the exact twin. */
static double twin_count(const uint64_t *keys, const int64_t *times, size_t n, uint64_t key,
                         int64_t now, int64_t span, int64_t panes) {
    double count = 0;
    for (size_t i = 0; i < n; i++) count += keys[i] == key && times[i] / span >= now / span - panes;
    return count;
}

static void windows_of_time_slide(void **state) {
    (void)state;
    enum { N = 4000, SPAN = 250, PANES = 4 };
    static uint64_t keys[N];
    static int64_t times[N];
    weir_sketch *s =
        make_sketch("window:length=1000ns,panes=4,seed=1,of=(countmin:width=4096,depth=4)");
    int64_t now = 0;
    for (size_t i = 0; i < N; i++) {
        now += (int64_t)(test_word(1, i) % 3) + (i % 1000 == 999 ? 5000 : 0);
        keys[i] = test_word(2, i) % 11;
        times[i] = now - (i % 7 == 0 && now > 300 ? 300 : 0); /* some are late, but not too late */
        add_at(s, keys[i], times[i]);
        if (i % 37) continue;
        weir_sketch_info info;
        weir_sketch_get_info(s, &info);
        double total = 0;
        for (uint64_t k = 0; k < 11; k++) {
            double truth = twin_count(keys, times, i + 1, k, now, SPAN, PANES);
            assert_true(estimate_of(s, k, WEIR_BY_CM).value == truth);
            total += truth;
        }
        assert_true(info.total == total);
    }
    weir_sketch_advance(s, now + 10000);
    assert_true(estimate_of(s, 1, WEIR_BY_CM).value == 0);
    add_at(s, 1, now); /* too late */
    assert_true(estimate_of(s, 1, WEIR_BY_CM).value == 0);
    weir_sketch_free(s);
}

static void windows_of_records_slide(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("window:length=1000,panes=10,seed=1,of=(top:k=5,memory=64K)");
    for (uint64_t phase = 0; phase < 4; phase++) {
        uint64_t keys[1300];
        for (uint64_t i = 0; i < 1300; i++) keys[i] = i % 2 ? phase : 1000 + phase * 1300 + i;
        add_numbers(s, keys, NULL, 1300, 400);
        weir_item items[20];
        weir_items out = {.items = items, .room = 1};
        assert_int_equal(weir_sketch_top(s, WEIR_BY_CM, &out, NULL), WEIR_OK);
        assert_true(items[0].hash == key_hash(phase));
        assert_true(items[0].count.value >= 500 && items[0].count.value <= 560);
        out = (weir_items){.items = items, .room = 20};
        assert_int_equal(weir_sketch_above(s, 0.3, WEIR_BY_CM, &out, NULL), WEIR_OK);
        assert_true(out.found == 1 && out.complete);
    }
    weir_sketch_free(s);
}

/* A key that one pane alone has on its list, and the others have counted: it is ranked by
 * what came in the window, not by what was known when its pane was merged. */
static void windows_rank_by_all_panes(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("window:length=8000,panes=8,seed=1,of=(top:k=2,memory=64K)");
    for (uint64_t pane = 0; pane < 8; pane++) {
        uint64_t keys[1000];
        for (uint64_t i = 0; i < 1000; i++) keys[i] = 1000 + 10 * pane + i / 100;
        for (uint64_t i = 0; i < 1000 && pane == 0; i++) keys[i] = i < 60 ? 7 : 2000 + i;
        for (uint64_t i = 950; i < 1000 && pane > 3; i++) keys[i] = 7; /* too few for its list */
        add_numbers(s, keys, NULL, 1000, 100);
    }
    weir_item items[2];
    weir_items out = {.items = items, .room = 2};
    assert_int_equal(weir_sketch_top(s, WEIR_BY_CM, &out, NULL), WEIR_OK);
    assert_int_equal(out.found, 2);
    assert_true(items[0].hash == key_hash(7) && items[0].count.value >= 260);
    weir_sketch_free(s);
}

static void windows_take_other_sketches(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("window:length=1s,panes=10,seed=1,of=(hll:p=12)");
    for (uint64_t i = 0; i < 5000; i++) add_at(s, i, (int64_t)i * 1000000);
    double distinct = distinct_of(s);
    assert_true(distinct > 950 && distinct < 1180);
    weir_sketch_free(s);
    s = make_sketch("window:length=1s,panes=10,seed=1,of=(dyadic:bits=14,memory=256K)");
    for (uint64_t i = 0; i < 5000; i++) add_at(s, i, (int64_t)i * 1000000);
    weir_quantile q;
    assert_int_equal(weir_sketch_quantile(s, 0, &q, NULL), WEIR_OK);
    assert_true(q.value >= 3900 && q.value <= 4000);
    weir_error err = {0};
    weir_estimate e;
    expect_failed(weir_sketch_distinct(s, &e, &err), WEIR_ERR_UNSUPPORTED, &err, "use hll");
    weir_sketch_free(s);
}

static void windows_survive_and_merge(void **state) {
    (void)state;
    const char *spec = "window:length=1s,panes=5,seed=1,of=(countmin:width=512,depth=3)";
    weir_sketch *a = make_sketch(spec), *b = make_sketch(spec), *both = make_sketch(spec), *loaded;
    const char *path = scratch_path("window.weir");
    weir_error err = {0};
    for (uint64_t i = 0; i < 3000; i++) {
        add_at(i % 3 ? a : b, i % 5, (int64_t)i * 1000000);
        add_at(both, i % 5, (int64_t)i * 1000000);
    }
    if (weir_sketch_save(a, path, &err) != WEIR_OK ||
        weir_sketch_load(&loaded, path, &err) != WEIR_OK)
        fail_msg("%s", err.message);
    assert_true(same_sketch(a, loaded));
    assert_int_equal(weir_sketch_merge(loaded, b, NULL), WEIR_OK);
    for (uint64_t k = 0; k < 5; k++)
        assert_true(estimate_of(loaded, k, WEIR_BY_CM).value ==
                    estimate_of(both, k, WEIR_BY_CM).value);
    weir_sketch_free(a), weir_sketch_free(b), weir_sketch_free(both), weir_sketch_free(loaded);
}

static void bad_windows_are_refused(void **state) {
    (void)state;
    expect_spec_refused("window", "length=");
    expect_spec_refused("window:length=1h", "of=(SPEC)");
    expect_spec_refused("window:length=1h,of=(sticky)", "cannot be merged");
    expect_spec_refused("window:length=1h,of=(window:length=1m,of=(hll))", "cannot be made of");
    expect_spec_refused("window:length=1h,of=(countmin:width=0)", "of: width");
    expect_spec_refused("window:length=1h,seed=1,of=(countmin:seed=2)", "give seed and hash");
    weir_sketch *a = make_sketch("window:length=10,seed=1,of=(hll)");
    weir_error err = {0};
    expect_failed(weir_sketch_merge(a, a, &err), WEIR_ERR_UNSUPPORTED, &err, "use a duration");
    weir_sketch_free(a);
    /* a short window takes fewer panes, and reaches back no further than one of them more */
    for (unsigned length = 1; length < 70; length++) {
        char spec[80];
        weir_sketch_info short_info;
        snprintf(spec, sizeof spec, "window:length=%u,seed=1,of=(countmin:memory=4K)", length);
        a = make_sketch(spec);
        for (unsigned i = 0; i < 1000; i++) weir_sketch_add(a, "k", 1, 1, NULL);
        weir_sketch_get_info(a, &short_info);
        unsigned span = (length + 15) / 16;
        assert_in_range(short_info.total, length, (length + span - 1) / span * span + span);
        weir_sketch_free(a);
    }
    /* memory= is for all of it */
    a = make_sketch("window:length=10,memory=1M,seed=1,of=(countmin)");
    weir_sketch_info info;
    weir_sketch_get_info(a, &info);
    assert_true(info.memory <= (1 << 20) + 65536 && info.memory > 800000);
    weir_sketch_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_time_slide),     cmocka_unit_test(windows_of_records_slide),
        cmocka_unit_test(windows_rank_by_all_panes), cmocka_unit_test(windows_take_other_sketches),
        cmocka_unit_test(windows_survive_and_merge), cmocka_unit_test(bad_windows_are_refused)};
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
