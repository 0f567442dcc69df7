/* test_alloc.c - every allocation is made to fail, one after the other.
 *
 * malloc, calloc, realloc and mmap are wrapped at link time. For n = 1, 2, 3, ... the
 * n-th call fails: the operation must say "out of memory" and leave nothing
 * behind (the address sanitizer's run finds leaks), until it succeeds.
 */
#include "failing.h"
#include "testing.h"
#include "weir_pairs.h"
#include "weir_plan.h"
#include "weir_sketch.h"
#include "weir_text.h"

/* Run `operation` with each of its allocations failing in turn. */
static void fail_each(weir_status (*operation)(const char *argument, weir_error *err),
                      const char *argument) {
    for (long n = 1; n < 500; n++) {
        weir_error err = {0};
        until_failure = n;
        weir_status status = operation(argument, &err);
        long left = until_failure;
        until_failure = -1;
        if (status == WEIR_OK && left > 0) {
            assert_true(n > 1);
            return;
        }
        if (status != WEIR_ERR_MEMORY || !err.message[0])
            fail_msg("%s: allocation %ld failed, status %d '%s'", argument, n, status, err.message);
    }
    fail_msg("%s: never succeeds", argument);
}

static weir_status make_and_free(const char *spec, weir_error *err) {
    weir_filter *filter;
    weir_status status = weir_filter_new(&filter, spec, err);
    weir_filter_free(filter);
    return status;
}

static weir_status sketch_and_free(const char *spec, weir_error *err) {
    weir_sketch *sketch;
    weir_status status = weir_sketch_new(&sketch, spec, err);
    weir_sketch_free(sketch);
    return status;
}

/* Made, filled, asked, saved and loaded. */
static weir_status pair_up(const char *spec, weir_error *err) {
    weir_pairs *pairs, *back = NULL;
    uint64_t rows[40 * 4];
    weir_pairs_answer answer;
    const char *path = scratch_path("pairs.weir");
    for (uint64_t i = 0; i < 160; i++) rows[i] = i % 4 * 7 + i / 16;
    weir_status status = weir_pairs_new(&pairs, spec, err);
    if (status == WEIR_OK) status = weir_pairs_add(pairs, 0, rows, 40, err);
    if (status == WEIR_OK) status = weir_pairs_self(pairs, &answer, err);
    if (status == WEIR_OK) status = weir_pairs_search(pairs, rows, &answer, err);
    if (status == WEIR_OK) status = weir_pairs_save(pairs, path, err);
    if (status == WEIR_OK) status = weir_pairs_load(&back, path, err);
    weir_pairs_free(pairs);
    weir_pairs_free(back);
    return status;
}

static weir_status compare_pairs(const char *method, weir_error *err) {
    uint64_t rows[40 * 4];
    weir_pairs_answer answer;
    weir_exact_options o = {4, 2, false, *method == 'i' ? WEIR_EXACT_INDEX : WEIR_EXACT_ALL_PAIRS};
    for (uint64_t i = 0; i < 160; i++) rows[i] = i % 4 * 7 + i / 16;
    return weir_pairs_exact(&o, rows, 40, NULL, 0, &answer, err);
}

static weir_status audit_and_free(const char *unused, weir_error *err) {
    (void)unused;
    weir_audit *audit;
    weir_status status = weir_audit_new(&audit, 65536, 1, 0, false, false, err);
    weir_audit_free(audit);
    return status;
}

static weir_status plan_and_free(const char *unused, weir_error *err) {
    (void)unused;
    weir_profile *profile = NULL;
    weir_profile_report report;
    weir_plan_question q = {.memory = 4096, .fpr = 0.01, .records = 3000, .window = 1000};
    weir_plan_choice choice = {.kind = weir_filter_kind(0)};
    q.distinct = 1000;
    weir_status status = weir_profile_assume(&profile, 1 << 20, &q, err);
    if (status == WEIR_OK) status = weir_profile_get_report(profile, &report, err);
    if (status == WEIR_OK) status = weir_plan_try(profile, &q, &choice, err);
    weir_profile_free(profile);
    return status;
}

static weir_status save_again(const char *path, weir_error *err) {
    static weir_filter *filter;
    static weir_audit *audit;
    if (!filter) {
        long paused = until_failure;
        until_failure = -1;
        filter = make_filter("bloom:memory=1K,seed=1");
        assert_int_equal(weir_audit_new(&audit, 4096, 1, 0, false, false, NULL), WEIR_OK);
        until_failure = paused;
    }
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status == WEIR_OK) status = weir_snapshot_put_filter(snapshot, "filter", filter, err);
    if (status == WEIR_OK) status = weir_snapshot_put_audit(snapshot, "audit", audit, err);
    if (status == WEIR_OK) status = weir_snapshot_put_note(snapshot, "run", "abc", 3, err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, path, err);
    weir_snapshot_free(snapshot);
    if (status == WEIR_OK && until_failure > 0) {
        weir_filter_free(filter);
        weir_audit_free(audit);
    }
    return status;
}

static weir_status load_and_free(const char *path, weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_read(&snapshot, path, err);
    weir_snapshot_free(snapshot);
    return status;
}

static void making_a_sketch_survives(void **state) {
    (void)state;
    for (size_t k = 0; weir_sketch_kind(k); k++) {
        bool window = strcmp(weir_sketch_kind(k)->name, "window") == 0;
        fail_each(sketch_and_free, window ? "window:length=9,of=(top)" : weir_sketch_kind(k)->name);
    }
}

static void making_a_filter_survives(void **state) {
    (void)state;
    for (size_t k = 0; weir_filter_kind(k); k++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s:memory=8K,fpr=1%%", weir_filter_kind(k)->name);
        fail_each(make_and_free, spec);
    }
}

static void pairs_survive(void **state) {
    (void)state;
    fail_each(pair_up, "pairs:columns=4,threshold=3,memory=1M,seed=1,draw=1,witnesses=4");
    fail_each(pair_up, "pairs:columns=4,threshold=3,sample=0.5,method=online,width=64,seed=1");
    fail_each(compare_pairs, "index");
    fail_each(compare_pairs, "all pairs");
}

static void making_an_audit_survives(void **state) {
    (void)state;
    fail_each(audit_and_free, "audit");
}

static void planning_survives(void **state) {
    (void)state;
    fail_each(plan_and_free, "plan");
}

static void saving_and_loading_survive(void **state) {
    (void)state;
    const char *path = scratch_path("alloc.weir");
    fail_each(save_again, path);
    fail_each(load_and_free, path);
}

static int clean_up(void **state) {
    (void)state;
    remove_scratch_folder();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_a_filter_survives),
        cmocka_unit_test(making_a_sketch_survives),
        cmocka_unit_test(making_an_audit_survives),
        cmocka_unit_test(planning_survives),
        cmocka_unit_test(pairs_survive),
        cmocka_unit_test(saving_and_loading_survive),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
