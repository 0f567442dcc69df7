/* test_recent_policy.c - the policy of recent, transition by transition.
 */
#include "filter/recent/recent_policy.h"
#include "testing.h"

/* A skewed stream that presses; each test changes what it is about. */
static recent_stream skewed(void) {
    return (recent_stream){.crowd = 3,
                           .rate = 0.4,
                           .again = 8,
                           .skew = 3,
                           .freshness = 0,
                           .sure = 0,
                           .width = 20,
                           .spread_more = true,
                           .in_use = false};
}

static void chosen_from_all(const recent_stream *stream, recent_policy expected) {
    for (unsigned now = 0; now < POLICIES; now++)
        assert_int_equal(weir__recent_choose((recent_policy)now, stream), expected);
}

static void marks_are_kept_once_they_are_there(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    s.in_use = true, s.crowd = 0.1; /* which would be fill otherwise */
    assert_int_equal(weir__recent_choose(KEEP, &s), KEEP);
    assert_int_equal(weir__recent_choose(SWEEP, &s), KEEP);
    assert_int_equal(weir__recent_choose(ANY, &s), ANY);
    s.skew = 0, s.rate = 0.01; /* few hits: marks that are kept stay, those that are wiped too */
    assert_int_equal(weir__recent_choose(KEEP, &s), KEEP);
    assert_int_equal(weir__recent_choose(SWEEP, &s), SWEEP);
    s.skew = 1, s.rate = 0.4; /* keys are alike */
    assert_int_equal(weir__recent_choose(KEEP, &s), ANY);
    s = skewed(), s.in_use = true, s.skew = 2, s.freshness = 0.2, s.sure = 5;
    assert_int_equal(weir__recent_choose(KEEP, &s), SWEEP);
}

static void what_is_done_is_swept(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    s.skew = 0.4;
    chosen_from_all(&s, SWEEP);
    s.skew = 0, s.again = 1, s.rate = 0.1;
    chosen_from_all(&s, SWEEP);
    s = skewed(), s.crowd = 1, s.rate = 0.01;
    chosen_from_all(&s, SWEEP);
}

static void little_known_waits_until_keys_press(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    s.skew = 0, s.crowd = 1;
    chosen_from_all(&s, FILL);
    s.crowd = 2.5;
    chosen_from_all(&s, KEEP);
}

static void fresh_keys_are_swept(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    s.skew = 2, s.freshness = 0.2, s.sure = 5;
    chosen_from_all(&s, SWEEP);
    s.crowd = 0.5;
    chosen_from_all(&s, FILL);
    s.crowd = 3, s.sure = 1; /* not sure */
    chosen_from_all(&s, KEEP);
    s.sure = 5, s.skew = 4; /* the skew counts more */
    chosen_from_all(&s, KEEP);
}

static void keys_alike_are_spread(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    s.skew = 1;
    chosen_from_all(&s, ANY);
    s.width = 4, s.crowd = 1;
    chosen_from_all(&s, FILL);
    s.crowd = 3;
    chosen_from_all(&s, ANY);
}

static void marks_have_to_be_worth_their_bit(void **unused) {
    (void)unused;
    recent_stream s = skewed();
    chosen_from_all(&s, KEEP);
    s.crowd = 1.4; /* 800 / (20 * 27) is 1.48 */
    chosen_from_all(&s, ANY);
    s.spread_more = false;
    chosen_from_all(&s, FILL);
    s.crowd = 1.5;
    chosen_from_all(&s, KEEP);
}

static void counts_become_what_they_mean(void **unused) {
    (void)unused;
    recent_counts counts = {.hit_again = 300, .hit_first = 99, .aged = 100};
    assert_true(weir__recent_skew(&counts, 400) == 0);
    assert_true(weir__recent_skew(&counts, 300) == 3);
    counts.age = (uint64_t)(-20 * (int64_t)AGE_ONE);
    assert_true(weir__recent_freshness(&counts) == -0.2);
    counts.aged = 63;
    assert_true(weir__recent_freshness(&counts) == 0 && weir__recent_sure(&counts) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_kept_once_they_are_there),
        cmocka_unit_test(what_is_done_is_swept),
        cmocka_unit_test(little_known_waits_until_keys_press),
        cmocka_unit_test(fresh_keys_are_swept),
        cmocka_unit_test(keys_alike_are_spread),
        cmocka_unit_test(marks_have_to_be_worth_their_bit),
        cmocka_unit_test(counts_become_what_they_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
