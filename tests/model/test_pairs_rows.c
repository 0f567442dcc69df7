/* test_pairs_rows.c - values from columns, sets and texts: how often they agree,
 * against the similarity that they stand for. */
#include <math.h>

#include "pairs/rows.h"
#include "pairs/supervalue.h"
#include "theory.h"

static weir_pairs *make_pairs(const char *spec) {
    weir_pairs *p;
    weir_error err = {0};
    if (weir_pairs_new(&p, spec, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    return p;
}

static weir_row_status text(const weir_pairs *p, const char *words, uint64_t *row) {
    weir_field f = {words, strlen(words)};
    return weir_pairs_row(p, &f, 1, row);
}

/* How many of n values agree, over many seeds. */
static double agreeing(const char *spec, unsigned columns, const char *a, const char *b,
                       unsigned runs) {
    double same = 0;
    for (unsigned i = 0; i < runs; i++) {
        char full[200];
        uint64_t x[64], y[64];
        snprintf(full, sizeof full, "%s,seed=%u,memory=4M,witnesses=0", spec, i);
        weir_pairs *p = make_pairs(full);
        assert_int_equal(text(p, a, x), WEIR_ROW_OK);
        assert_int_equal(text(p, b, y), WEIR_ROW_OK);
        same += weir_rows_agree(x, y, columns, false);
        weir_pairs_free(p);
    }
    return same;
}

static void test_jaccard(void **state) {
    (void)state;
    enum { RUNS = 300 };
    static const struct {
        const char *options, *a, *b;
        double similarity;
    } cases[] = {{"", "the quick brown fox", "The QUICK, brown  dog!", 3 / 5.},
                 {"", "a b c d e f g h", "a a b b", 2 / 8.},
                 {",group=3", "a b c d e f g h i j", "a b c d e f g h i k", pow(9 / 11., 3)},
                 {",shingle=2", "one two three four five", "one two three four six", 3 / 5.},
                 {",shingle=3,unit=letters", "abcdef", "abcdeg", 3 / 5.},
                 {",shingle=3,unit=letters", "ab  cd", "AB CD", 1},
                 {",shingle=5", "too short", "Too SHORT", 1},
                 {"", "naïve Ärger ΣΟΦΙΑ МОСКВА", "NAÏVE ärger σοφια москва", 1},
                 {"", "dash – here", "dash here", 1},
                 {"", "one", "two", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[100];
        snprintf(spec, sizeof spec, "pairs:columns=10,threshold=9,from=text%s", cases[i].options);
        double same = agreeing(spec, 10, cases[i].a, cases[i].b, RUNS), p = cases[i].similarity;
        if (p == 0 || p == 1) assert_true(same == p * RUNS * 10);
        else expect_rate(cases[i].a, same, RUNS * 10, p);
    }
}

static void test_cosine(void **state) {
    (void)state;
    enum { RUNS = 400 };
    /* (1,1,1,1) and (1,1,1,0): cos = 3 / sqrt(4 x 3); counts matter: (2,1), (1,2): 4/5 */
    double angle = acos(3 / sqrt(12.));
    expect_rate(
        "cosine",
        agreeing("pairs:columns=10,threshold=9,from=cosine,group=1", 10, "a b c d", "a b c", RUNS),
        RUNS * 10, 1 - angle / M_PI);
    expect_rate(
        "cosine, counted",
        agreeing("pairs:columns=10,threshold=9,from=cosine,group=4", 10, "a a b", "a b b", RUNS),
        RUNS * 10, pow(1 - acos(0.8) / M_PI, 4));
}

static void test_columns_and_sets(void **state) {
    (void)state;
    weir_pairs *p = make_pairs("pairs:columns=3,from=columns,memory=4M");
    weir_pairs *q = make_pairs("pairs:columns=3,from=set,memory=4M");
    weir_field f[] = {{"a", 1}, {"b", 1}, {"a", 1}, {"c", 1}, {"d", 1}}, none = {"", 0};
    uint64_t row[3], other[3];
    assert_int_equal(weir_pairs_row(p, f, 3, row), WEIR_ROW_OK);
    assert_true(row[0] == row[2] && row[0] != row[1]);
    assert_int_equal(weir_pairs_row(p, f, 2, row), WEIR_ROW_TOO_FEW);
    assert_int_equal(weir_pairs_row(q, f, 3, row), WEIR_ROW_OK);
    assert_true(row[2] == 0);
    assert_int_equal(weir_pairs_row(q, f + 1, 3, other), WEIR_ROW_OK);
    assert_int_equal(weir_rows_agree(row, other, 3, true), 2);
    assert_int_equal(weir_pairs_row(q, f, 5, row), WEIR_ROW_TOO_MANY);
    assert_int_equal(weir_pairs_row(q, f, 0, row), WEIR_ROW_EMPTY);
    weir_pairs_free(p);
    weir_pairs_free(q);
    p = make_pairs("pairs:columns=3,from=text,memory=4M");
    assert_int_equal(weir_pairs_row(p, &none, 1, row), WEIR_ROW_EMPTY);
    assert_int_equal(text(p, " .,;- ", row), WEIR_ROW_EMPTY);
    assert_int_equal(text(p, "\xff\xfe\x80", row),
                     WEIR_ROW_OK); /* not UTF-8: letters, whatever they are */
    weir_pairs_free(p);
}

static void test_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double step;
        const char *rounded;
    } cases[] = {{"12.49", 5, "10"}, {"12.51", 5, "15"},    {"-0.1", 1, "0"},
                 {"1e2", 30, "90"},  {" 7 ", 1, "7"},       {"0.123", 0.1, "0.1"},
                 {"x", 1, NULL},     {"", 1, NULL},         {"1 2", 1, NULL},
                 {"inf", 1, NULL},   {"7", 0, NULL},        {"7", -1, NULL},
                 {"7", NAN, NULL},   {"7", INFINITY, NULL}, {"1e300", 1e-300, "1e+300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[40];
        bool number = weir_round_number(cases[i].text, strlen(cases[i].text), cases[i].step, out);
        assert_int_equal(number, cases[i].rounded != NULL);
        if (number) assert_string_equal(out, cases[i].rounded);
    }
}

static void test_curve(void **state) {
    (void)state;
    assert_true(fabs(weir_pairs_chance(6, 4, 0.5) - 22 / 64.) < 1e-12);
    for (int cosine = 0; cosine < 2; cosine++)
        for (unsigned d = 5; d <= 12; d++)
            for (double t = 0.5; t < 0.95; t += 0.1) {
                unsigned s, g;
                weir_pairs_choose(cosine, d, t, &s, &g);
                assert_true(2 * s >= d && s <= d && g >= 1);
                double at = weir_pairs_curve(cosine, d, s, g, t);
                double below = weir_pairs_curve(cosine, d, s, g, t - 0.3);
                if (at < 0.15 || at > 0.85 || below > at / 2)
                    fail_msg("d=%u t=%g: s=%u g=%u gives %g, and %g below", d, t, s, g, at, below);
                assert_true(weir_pairs_curve(cosine, d, s, g, 1) == 1);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jaccard),
        cmocka_unit_test(test_cosine),
        cmocka_unit_test(test_columns_and_sets),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
