/* test_specs.c - specs as text: what they name, whether two say the same, how a person writes one.
 */
#include "testing.h"
#include "weir_pairs.h"
#include "weir_text.h"

static void options_are_found_by_kind(void **state) {
    (void)state;
    assert_string_equal(weir_spec_option("bloom", "memory")->name, "memory"); /* common */
    assert_int_equal(weir_spec_option("bloom", "k")->type, WEIR_OPT_COUNT);
    assert_int_equal(weir_spec_option("growing", "of")->type, WEIR_OPT_SPEC);
    assert_string_equal(weir_spec_option("pairs", "columns")->name, "columns");
    assert_null(weir_spec_option("bloom", "columns"));
    assert_null(weir_spec_option("nonsense", "k"));
}

static void values_are_read_and_cut_out(void **state) {
    (void)state;
    char value[16] = "as it was", spec[] = "growing:of=(bloom:k=4,fpr=1%),most=8,fpr=2%";
    assert_true(weir_spec_get(spec, "of", value, sizeof value));
    assert_string_equal(value, "(bloom:k=4,fpr="); /* cut to the buffer */
    assert_true(weir_spec_get(spec, "fpr", value, sizeof value));
    assert_string_equal(value, "2%"); /* its own, not that of the filter inside */
    assert_false(weir_spec_get(spec, "k", value, sizeof value));
    assert_false(weir_spec_get("recent", "fpr", value, sizeof value));
    assert_string_equal(value, "2%");
    assert_true(weir_spec_take(spec, "most", value, sizeof value));
    assert_string_equal(value, "8");
    assert_string_equal(spec, "growing:of=(bloom:k=4,fpr=1%),fpr=2%");
    assert_false(weir_spec_take(spec, "most", value, sizeof value));
    assert_true(weir_spec_take(spec, "fpr", value, sizeof value));
    assert_true(weir_spec_take(spec, "of", value, sizeof value));
    assert_string_equal(spec, "growing");
}

static void values_are_compared_by_their_type(void **state) {
    (void)state;
    assert_true(weir_spec_same("recent", "memory", "64M", "65536K"));
    assert_false(weir_spec_same("recent", "memory", "64M", "64K"));
    assert_true(weir_spec_same("recent", "fpr", "0.1%", "0.001"));
    assert_true(weir_spec_same("recent", "window", "90s", "1m30s"));
    assert_true(weir_spec_same("recent", "window", "10M", "10000k"));
    assert_false(weir_spec_same("recent", "window", "10m", "10M")); /* a time, a count */
    assert_true(weir_spec_same("recent", "seed", "0x10", "16"));
    assert_true(weir_spec_same("bloom", "layout", "block", "block"));
    assert_false(weir_spec_same("bloom", "layout", "block", "classic"));
    assert_false(weir_spec_same("bloom", "nonsense", "1", "01"));
    assert_true(weir_spec_same("growing", "of", "(bloom:fpr=1%)", "(bloom:fpr=0.01,k=3)"));
    assert_false(weir_spec_same("growing", "of", "(bloom:fpr=1%)", "(bloom:fpr=2%)"));
}

static void differs(const char *asked, const char *spec, const char *difference) {
    weir_error err;
    assert_int_equal(weir_spec_fits(asked, spec, &err), WEIR_ERR_MISMATCH);
    assert_int_equal(err.code, WEIR_ERR_MISMATCH);
    assert_string_equal(err.message, difference);
}

static void a_spec_fits_what_was_asked(void **state) {
    (void)state;
    const char *full = "recent:memory=67108864,fpr=0.001,seed=5";
    assert_int_equal(weir_spec_fits("recent:memory=64M,fpr=0.1%", full, NULL), WEIR_OK);
    assert_int_equal(weir_spec_fits("", full, NULL), WEIR_OK);
    assert_int_equal(weir_spec_fits(":seed=0x5", full, NULL), WEIR_OK);
    differs("bloom", full, "the filter 'recent', not 'bloom'");
    differs(":memory=32M", full, "a filter with memory=64M, not 32M");
    differs("recent:window=1h", full, "a 'recent' filter without 'window'");
}

static void a_spec_is_printed_for_people(void **state) {
    (void)state;
    char text[64];
    const char *full = "growing:memory=67108864,fpr=0.001,of=(window:length=90000000000ns,k=3)";
    const char *pretty = "growing:memory=64M,fpr=0.1%,of=(window:length=1m30s,k=3)";
    assert_int_equal(weir_spec_pretty(full, text, sizeof text), strlen(pretty));
    assert_string_equal(text, pretty);
    assert_int_equal(weir_spec_pretty(full, NULL, 0), strlen(pretty));
    assert_int_equal(weir_spec_pretty(full, text, 10), strlen(pretty));
    assert_string_equal(text, "growing:m");
    weir_spec_pretty("bloom:memory=1000001,nonsense=7", text, sizeof text);
    assert_string_equal(text, "bloom:memory=1000001,nonsense=7"); /* 976.6K is another size */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_found_by_kind),
        cmocka_unit_test(values_are_read_and_cut_out),
        cmocka_unit_test(values_are_compared_by_their_type),
        cmocka_unit_test(a_spec_fits_what_was_asked),
        cmocka_unit_test(a_spec_is_printed_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
