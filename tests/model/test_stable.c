/* test_stable.c - the stable Bloom filter against a slow twin and the thesis. */
#include "cells_twin.h"
#include "filter/fading/stable.h"
#include "theory.h"

enum { LAYOUT = WEIR__OPT_OWN, MAX, K_PLACE, P_PLACE, DECREMENT };

static unsigned k_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, K_PLACE); }
static unsigned p_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, P_PLACE); }
static unsigned max_of(const weir_filter *f) { return (2u << weir__opt_whole(f, MAX)) - 1; }
static bool is_block(const weir_filter *f) { return weir__opt_whole(f, LAYOUT) == 1; }

/* --- the twin ----------------------------------------------------------------------- */

static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    twin t = make_twin(f, is_block(f), k_of(f), p_of(f), max_of(f));
    t.drawn = weir__opt_whole(f, DECREMENT) == 1;
    for (uint64_t i = 0; i < 8000; i++) {
        uint64_t hash = skewed_key(3, i, 5000);
        bool expected = twin_offer(&t, hash, t.max);
        assert_int_equal(offer_hash(f, hash), expected);
        if (i % 1000 == 999) expect_same_cells(&t, f);
    }
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    free(t.cells);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const char *const layouts[] = {"classic", "block"};
    static const char *const more[] = {
        "max=1,fpr=10%",       "max=1,fpr=1%",       "max=1,fpr=1e-6",     "max=3,fpr=1%",
        "max=7,fpr=10%",       "max=15,fpr=10%",     "max=1,fpr=20%,k=12", "max=3,fpr=1%,k=17",
        "max=7,fpr=40%,p=150", "max=1,fpr=10%,p=512"};
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "stable:memory=2000,seed=9,layout=%s,%s", layouts[l],
                     more[i]);
            compare_with_twin(spec);
        }
    compare_with_twin("stable:memory=2000,seed=9,decrement=random,max=7,k=5,p=10");
}

/* --- formulas --------------------------------------------------------------------- */

static double choose_term(unsigned n, unsigned j, double p) {
    return exp(lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0) + j * log(p) +
               (n - j) * log1p(-p));
}
static double at_least(unsigned n, unsigned least, double p) {
    double sum = 0;
    for (unsigned j = least; j <= n; j++) sum += choose_term(n, j, p);
    return sum;
}

/* The closed forms are the sums of the thesis. */
static void test_closed_forms(void **state) {
    (void)state;
    static const unsigned maxes[] = {1, 2, 3, 7, 15};
    for (size_t i = 0; i < 5; i++) {
        unsigned max = maxes[i];
        double m = 60, K = 3, P = 11, k = K / m, p = P / m;
        for (unsigned n = 1; n < 200; n += 13) {
            double set = 0; /* the first part of 3.1 and 3.13 */
            for (unsigned l = max; l < n; l++) set += at_least(l, max, p) * pow(1 - k, l) * k;
            double eq_3_1 = set + pow(1 - k, n);
            double eq_3_13 = set + at_least(n, max, p) * pow(1 - k, n);
            assert_true(fabs(weir__stable_zeros_after(m, K, P, max, n) - eq_3_1) < 1e-9);
            assert_true(fabs(weir__stable_forgotten(k, p, max, n) - eq_3_13) < 1e-9);
        }
        double limit = weir__stable_zeros(m, K, P, max);
        assert_true(fabs(weir__stable_zeros_after(m, K, P, max, 1e6) - limit) < 1e-9);
        double there = weir__stable_converged(m, K, P, max, 0.01);
        assert_true(weir__stable_zeros_after(m, K, P, max, there) <= limit + 0.01);
        assert_true(weir__stable_zeros_after(m, K, P, max, there - 1) > limit + 0.01);
    }
    /* gaps too small to be forgotten in, and tiny chances without cancellation */
    assert_true(weir__stable_forgotten(1e-9, 1e-8, 3, 2) == 0);
    double tiny = weir__stable_forgotten(1e-9, 1e-8, 3, 3), p = 1e-8;
    assert_true(fabs(tiny / (p * p * p) - 1) < 1e-6);
}

/* Figures quoted in 3.4.1 and 3.5.2. */
static void test_thesis_figures(void **state) {
    (void)state;
    double m = 1e7;
    for (unsigned max = 1; max <= 15; max = 2 * max + 1)
        for (double K = 1; K < 9; K++) {
            double P = weir__stable_p(m, K, max, 0.01);
            assert_true(fabs(weir__stable_fps(m, K, P, max) / 0.01 - 1) < 1e-9);
        }
    assert_int_equal(floor(weir__stable_p(m, 3, 1, 0.01)), 10);
    assert_int_equal(floor(weir__stable_p(m, 6, 15, 0.01)), 141);
    assert_int_equal(round(weir__stable_p(m, 2, 1, 0.1)), 4);
    assert_true(weir__stable_fps(m, 2, 4, 1) > 0.111); /* so rounding down breaks the bound */

    /* the best K with P unrounded, at the test values of 3.4.1 */
    static const struct {
        double fps;
        unsigned max, low, high;
    } cases[] = {{0.2, 1, 1, 2},  {0.1, 1, 2, 2},  {0.1, 3, 2, 3},
                 {0.01, 3, 4, 5}, {0.01, 1, 3, 3}, {0.01, 15, 6, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned best = 0;
        double least = 2;
        for (unsigned K = 1; K <= 12; K++) {
            double P = weir__stable_p(m, K, cases[i].max, cases[i].fps);
            double fnr = weir__stable_fnr(m, K, P, cases[i].max, 200, 1e-5);
            if (fnr < least) least = fnr, best = K;
        }
        printf("# FPS %g, Max %u: best K %u (thesis %u to %u)\n", cases[i].fps, cases[i].max, best,
               cases[i].low, cases[i].high);
        assert_true(best >= cases[i].low && best <= cases[i].high);
    }
    weir__stable_shape shape = weir__stable_shape_of(false, 1, 1 << 20);
    weir__stable_pair pair = weir__stable_plan(&shape, 8 << 20, 0.1);
    assert_int_equal(pair.K, 2);
    assert_int_equal(pair.P, 5);
    pair = weir__stable_plan(&shape, 8 << 20, 0.01);
    assert_int_equal(pair.K, 3);
    assert_int_equal(pair.P, 11);
}

/* Theorems 1 to 3 and corollary 2: the share of zeros, on the way and there. */
static void zeros_on_the_way(const char *spec) {
    weir_filter *f = make_filter(spec);
    unsigned per_word = 64 / ((unsigned)weir__opt_whole(f, MAX) + 1);
    double m = (double)(f->cells_bytes / 8 * per_word), K = k_of(f), P = p_of(f);
    uint64_t done = 0, settled = (uint64_t)weir__stable_converged(m, K, P, max_of(f), 0.001);
    for (int step = 1; step <= 4; step++) {
        uint64_t until = settled * (uint64_t)step / 4;
        offer_keys(f, 2, done, until - done);
        done = until;
        weir_filter_info info;
        weir_filter_get_info(f, &info);
        char what[160];
        double expected = weir__stable_zeros_after(m, K, P, max_of(f), (double)done);
        snprintf(what, sizeof what, "zeros of %s after %.0f keys", spec + 7, (double)done);
        /* cells of a run or a key change together: allow for runs of P */
        expect_within(what, 1 - info.fill, expected,
                      sqrt(expected * (1 - expected) * (1 + P / 4) / m));
    }
    weir_filter_free(f);
}

/* A line is a small filter: theorem 3 with the cells of a line for m. */
static void zeros_of_lines(const char *spec) {
    weir_filter *f = make_filter(spec);
    weir__stable_shape shape = weir__stable_shape_of(true, max_of(f), f->cells_bytes);
    double m = shape.m * (double)(f->cells_bytes / 64);
    weir_filter_info info;
    offer_keys(f, 2, 0, (uint64_t)(4 * m));
    weir_filter_get_info(f, &info);
    double expected = weir__stable_zeros(shape.m, k_of(f), p_of(f), max_of(f));
    expect_within(spec, 1 - info.fill, expected,
                  sqrt(expected * (1 - expected) * (1 + p_of(f) / 32.0) / m));
    weir_filter_free(f);
}

static void test_stable_point(void **state) {
    (void)state;
    zeros_on_the_way("stable:memory=64K,fpr=10%,layout=classic,seed=1");
    zeros_on_the_way("stable:memory=64K,fpr=0.1%,layout=classic,seed=1");
    zeros_on_the_way("stable:memory=64K,fpr=1%,max=3,layout=classic,seed=1");
    zeros_on_the_way("stable:memory=64K,fpr=1%,max=7,layout=classic,seed=1");
    zeros_on_the_way("stable:memory=64K,fpr=10%,max=15,layout=classic,seed=1");
    zeros_of_lines("stable:memory=64K,fpr=1%,layout=block,seed=1");
    zeros_of_lines("stable:memory=64K,fpr=1%,max=3,layout=block,seed=1");
    zeros_of_lines("stable:memory=64K,fpr=0.1%,max=7,layout=block,seed=1");
}

/* Corollaries 3 to 5: the rate of new keys rises to the bound of the layout and
 * does not exceed it. Forty filters, each settled anew, give the spread. */
static void rate_when_stable(const char *spec) {
    spread rates = {0};
    double bound = 0;
    for (int i = 0; i < 40; i++) {
        char seeded[128];
        snprintf(seeded, sizeof seeded, "%s,seed=%d", spec, i);
        weir_filter *f = make_filter(seeded);
        weir__stable_shape shape = weir__stable_shape_of(is_block(f), max_of(f), f->cells_bytes);
        bound = weir__stable_bound(&shape, k_of(f), p_of(f));
        assert_true(bound <= weir__opt_rate(f, WEIR__OPT_FPR));
        double hits = 0, early = 0, n = 0, cells = (double)f->cells_bytes * 8;
        for (int stretch = 0; stretch < 8; stretch++) { /* while it fills */
            offer_keys(f, (uint64_t)i, (uint64_t)(stretch * cells / 64), (uint64_t)(cells / 64));
            early += test_keys(f, 77, 0, 2000) / 16000;
        }
        offer_keys(f, (uint64_t)i, 1u << 20, (uint64_t)cells);
        for (int stretch = 0; stretch < 30; stretch++) {
            offer_keys(f, (uint64_t)i, (2u << 20) + (uint64_t)stretch * 300, 300);
            hits += test_keys(f, 99, (uint64_t)stretch * 1000, 1000), n += 1000;
        }
        assert_true(early <= 1.1 * hits / n + 0.002);
        spread_add(&rates, hits / n);
        weir_filter_free(f);
    }
    expect_mean(spec, &rates, bound);
}

static void test_bound(void **state) {
    (void)state;
    rate_when_stable("stable:memory=1K,fpr=10%,layout=classic");
    rate_when_stable("stable:memory=1K,fpr=1%,layout=classic");
    rate_when_stable("stable:memory=1K,fpr=0.1%,layout=classic");
    rate_when_stable("stable:memory=1K,fpr=1%,max=3,layout=classic");
    rate_when_stable("stable:memory=1K,fpr=1%,max=7,layout=classic");
    rate_when_stable("stable:memory=1K,fpr=10%,layout=block");
    rate_when_stable("stable:memory=1K,fpr=1%,layout=block");
    rate_when_stable("stable:memory=1K,fpr=0.1%,layout=block");
    rate_when_stable("stable:memory=1K,fpr=1%,k=11,layout=block");
    rate_when_stable("stable:memory=1K,fpr=1%,max=3,layout=block");
    rate_when_stable("stable:memory=1K,fpr=1%,max=7,layout=block");
    rate_when_stable("stable:memory=1K,fpr=10%,max=15,layout=block");
}

/* The same from the cells themselves: info gives the exact rate of a filter of
 * lines, so many settled states of many lines test the formula to a fraction
 * of a percent. A line holds few cells and so forgets fast: states this far
 * apart are independent. */
static void test_bound_of_lines(void **state) {
    (void)state;
    static const char *const more[] = {"fpr=20%,k=2",      "fpr=5%,k=5",  "fpr=0.1%,k=8",
                                       "fpr=1%,k=16",      "fpr=5%,k=21", "fpr=0.0001%",
                                       "fpr=1%,max=3,k=12"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char spec[128];
        spread rates = {0};
        snprintf(spec, sizeof spec, "stable:memory=32K,layout=block,seed=1,%s", more[i]);
        weir_filter *f = make_filter(spec);
        uint64_t cells = f->cells_bytes * 8, at = 4 * cells;
        offer_keys(f, 1, 0, at);
        for (int turn = 0; turn < 50; turn++, at += cells / 3) {
            weir_filter_info info;
            offer_keys(f, 1, at, cells / 3);
            weir_filter_get_info(f, &info);
            spread_add(&rates, info.fpr_now);
        }
        weir__stable_shape shape = weir__stable_shape_of(true, max_of(f), f->cells_bytes);
        expect_mean(spec, &rates, weir__stable_bound(&shape, k_of(f), p_of(f)));
        weir_filter_free(f);
    }
}

/* How far equation 3.12 is from the layouts: for the record. */
static void test_deviation_from_3_12(void **state) {
    (void)state;
    static const double fprs[] = {0.1, 0.01, 0.001, 1e-6};
    for (int i = 0; i < 4; i++)
        for (int block = 0; block < 2; block++) {
            weir__stable_shape s = weir__stable_shape_of(block, 1, 1024);
            weir__stable_pair pair = weir__stable_plan(&s, 8192, fprs[i]);
            double bound = weir__stable_bound(&s, pair.K, pair.P);
            double eq_3_12 = weir__stable_fps(1e9, pair.K, pair.P, 1);
            printf("# %s, 1K, fpr=%g: K=%u P=%u, rate %.4g, equation 3.12 for large m %.4g "
                   "(%+.1f%%)\n",
                   block ? "block" : "classic", fprs[i], pair.K, pair.P, bound, eq_3_12,
                   100 * (bound / eq_3_12 - 1));
            assert_true(bound <= fprs[i] && bound < 1.3 * eq_3_12);
        }
}

/* Skew empties the filter (theorem 3): the rate of new keys stays below. */
static void test_skew_stays_below(void **state) {
    (void)state;
    static const char *const specs[] = {"stable:memory=4K,fpr=5%,layout=classic,seed=1",
                                        "stable:memory=4K,fpr=5%,layout=block,seed=1"};
    for (int s = 0; s < 2; s++) {
        weir_filter *f = make_filter(specs[s]);
        for (uint64_t i = 0; i < 200000; i++) offer_hash(f, skewed_key(1, i, 20000));
        double hits = 0, n = 0;
        for (uint64_t stretch = 0; stretch < 100; stretch++) {
            for (uint64_t i = 0; i < 500; i++)
                offer_hash(f, skewed_key(1, 200000 + stretch * 500 + i, 20000));
            hits += test_keys(f, 55, stretch * 1000, 1000), n += 1000;
        }
        expect_at_most(specs[s], hits, n, 0.05);
        weir_filter_free(f);
    }
}

/* Equation 3.18: keys offered, `gap` others after each, then tested. Markers
 * stand far apart, so each gap is measured at a settled filter. */
static void forgotten_after(const char *spec, uint64_t gap, bool print_only) {
    weir_filter *f = make_filter(spec);
    unsigned per_word = 64 / ((unsigned)weir__opt_whole(f, MAX) + 1);
    double m = (double)(f->cells_bytes / 8 * per_word), lost = 0, n = 3000;
    offer_keys(f, 1, 0, (uint64_t)m);
    uint64_t at = (uint64_t)m;
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        offer_hash(f, test_word(31, i));
        offer_keys(f, 1, at, gap), at += gap;
        lost += !test_hash(f, test_word(31, i));
    }
    char what[160];
    snprintf(what, sizeof what, "forgotten by %s after %llu", spec + 7, (unsigned long long)gap);
    double formula = weir__stable_fnr(m, k_of(f), p_of(f), max_of(f), (double)gap, 0);
    if (print_only) printf("# %-58s %.5g, formula %.5g\n", what, lost / n, formula);
    else expect_rate(what, lost, n, formula);
    weir_filter_free(f);
}

static void test_forgetting(void **state) {
    (void)state;
    static const uint64_t gaps[] = {20, 100, 400, 1500};
    for (int i = 0; i < 4; i++) {
        forgotten_after("stable:memory=1K,fpr=10%,seed=1,layout=classic", gaps[i], false);
        forgotten_after("stable:memory=1K,fpr=1%,seed=1,layout=classic", gaps[i], false);
        forgotten_after("stable:memory=1K,fpr=1%,max=3,seed=1,layout=classic", gaps[i], false);
        forgotten_after("stable:memory=1K,fpr=10%,max=7,seed=1,layout=classic", gaps[i], false);
        forgotten_after("stable:memory=1K,fpr=1%,seed=1,layout=block", gaps[i], true);
    }
}

/* --- options ---------------------------------------------------------------------- */

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {
        {"stable:memory=1M,fpr=10%,k=3", K_PLACE, 3, 3},
        {"stable:memory=1M,fpr=10%,k=3", P_PLACE, 3, 5},
        {"stable:memory=1M,fpr=10%,p=9", P_PLACE, 9, 9},
        {"stable:memory=1M,fpr=12%,k=2,p=4,layout=classic", P_PLACE, 4, 4}, /* the thesis's */
        {NULL, 0, 0, 0}};
    expect_resolutions(resolved);
    static const refusal refused[] = {
        {"stable:fpr=10%,k=2,p=4,layout=classic", "11.1", "p="},
        {"stable:fpr=10%,k=2,p=4,layout=classic", "try p=5", "p="},
        {"stable:fpr=0.1%,p=2", "keeps no k", "p="},
        {"stable:max=2", "max", "max="},
        {"stable:max=16", "max", "max="},
        {"stable:k=0", "out of range", "k="},
        {"stable:k=40", "out of range", "k="},
        {"stable:p=0", "out of range", "p="},
        {"stable:p=513,layout=block", "more than the 512 cells of a line", "p="},
        {"stable:p=9000,memory=1K,layout=classic", "more than the 8192 cells", "p="},
        {"stable:max=15,layout=block,fpr=0.0001%", "layout=classic", "fpr="},
        {"stable:k=1,layout=block,fpr=0.01%", "layout=classic", "k="},
        {NULL, NULL, NULL}};
    expect_refusals(refused);
    expect_no_merge("stable:memory=4K", "fuller");
}

static void test_overfull(void **state) {
    (void)state;
    expect_overfull_when_lost("stable:memory=16K,fpr=10%,max=1");
    expect_overfull_when_lost("stable:memory=16K,fpr=10%,max=3,layout=classic");
}

static void test_info(void **state) {
    (void)state;
    static const char *const specs[] = {"stable:memory=256K,fpr=1%,layout=classic,seed=1",
                                        "stable:memory=256K,fpr=1%,layout=block,seed=1",
                                        "stable:memory=256K,fpr=1%,k=9,layout=block,seed=1",
                                        "stable:memory=256K,fpr=5%,max=7,layout=block,seed=1"};
    for (int s = 0; s < 4; s++) {
        weir_filter_info info;
        weir_filter *f = make_filter(specs[s]);
        weir_filter_get_info(f, &info);
        assert_true(info.fill == 0 && info.fpr_now == 0 && !info.overfull);
        offer_keys(f, 1, 0, 2000000);
        weir_filter_get_info(f, &info);
        double now = test_keys(f, 9, 0, 200000) / 200000;
        printf("# %s: fpr_now %.5f, measured %.5f\n", specs[s], info.fpr_now, now);
        assert_true(info.overfull && fabs(info.fpr_now / now - 1) < 0.1);
        weir_filter_free(f);
    }
    weir_filter *f = make_filter("stable:memory=4K,max=7,fpr=10%,seed=1");
    f->cells[7] = 0x80; /* the one bit of a word that no cell of 3 bits uses */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
}

static const char *const some[] = {"stable:memory=8K,fpr=10%,seed=1,layout=classic",
                                   "stable:memory=8K,fpr=10%,seed=1,layout=block",
                                   "stable:memory=8K,fpr=1e-6,seed=1,layout=classic",
                                   "stable:memory=8K,fpr=1e-6,seed=1,layout=block",
                                   "stable:memory=8K,fpr=1%,max=3,seed=1",
                                   "stable:memory=8K,fpr=1%,max=7,seed=1",
                                   "stable:memory=8K,fpr=1%,max=7,seed=1,layout=classic",
                                   NULL};

static void test_contract(void **state) {
    (void)state;
    expect_contract(some, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_closed_forms),
        cmocka_unit_test(test_thesis_figures),
        cmocka_unit_test(test_stable_point),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_bound_of_lines),
        cmocka_unit_test(test_deviation_from_3_12),
        cmocka_unit_test(test_skew_stays_below),
        cmocka_unit_test(test_forgetting),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_overfull),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_contract),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
