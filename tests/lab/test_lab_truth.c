/* test_lab_truth.c - truth and LRU references against slow twins that are too
 * simple to be wrong; trials and tails likewise. */
#include "testing.h"

#include <math.h>

#include "lab_judge.h"
#include "lab_rng.h"
#include "lab_stats.h"
#include "lab_stream.h"
#include "lab_trial.h"
#include "lab_truth.h"

static uint64_t *collect(const char *spec, uint64_t seed, size_t *count) {
    uint64_t *ids;
    weir_error err = {0};
    if (lab_stream_collect(&ids, count, spec, seed, &err)) fail_msg("%s: %s", spec, err.message);
    return ids;
}

static const char *const specs[] = {
    "uniform:n=3000,universe=400",    "zipf:n=3000,s=1.1,domain=2000",
    "poisson:n=3000,lambda=0.5,u=60", "bmodel:n=3000,b=0.7,l=4,v=0.2,u=30",
    "uniform:n=1,universe=1",         "uniform:n=64,universe=1",
    "uniform:n=65,universe=1000000"};
#define SPECS (sizeof specs / sizeof *specs)

/* --- twins -------------------------------------------------------------------------- */

/* Where ids[i] occurred last before i, or i if nowhere. */
static size_t occurred(const uint64_t *ids, size_t i) {
    for (size_t j = i; j-- > 0;)
        if (ids[j] == ids[i]) return j;
    return i;
}

/* An LRU of `keys` keys as a list that is shifted; counts the repeats missed. */
static size_t twin_forgotten(const uint64_t *ids, size_t n, size_t keys) {
    uint64_t *list = malloc((keys + 1) * sizeof *list);
    size_t held = 0, missed = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < held && list[at] != ids[i]) at++;
        if (at == held) {
            missed += occurred(ids, i) != i;
            if (held < keys) held++;
            if (keys) at = held - 1;
        }
        if (!keys) continue;
        memmove(list + 1, list, at * sizeof *list);
        list[0] = ids[i];
    }
    free(list);
    return missed;
}

/* --- truth ---------------------------------------------------------------------------- */

static void firsts_are_firsts(void **state) {
    (void)state;
    for (size_t s = 0; s < SPECS; s++) {
        size_t n, distinct = 0;
        uint64_t *ids = collect(specs[s], 3, &n);
        lab_truth *truth = lab_truth_new(ids, n);
        for (size_t i = 0; i < n; i++) {
            int first = occurred(ids, i) == i;
            assert_int_equal(lab_truth_is_first(truth, i), first);
            distinct += (size_t)first;
        }
        assert_int_equal(truth->count, n);
        assert_int_equal(truth->distinct, distinct);
        assert_int_equal(truth->repeats, n - distinct);
        lab_truth_free(truth);
        free(ids);
    }
}

static void every_lru_is_the_twin(void **state) {
    (void)state;
    for (size_t s = 0; s < SPECS; s++) {
        size_t n;
        uint64_t *ids = collect(specs[s], 4, &n);
        lab_truth *truth = lab_truth_new(ids, n);
        size_t step = truth->distinct / 40 + 1;
        for (size_t keys = 0; keys <= truth->distinct; keys += keys < 20 ? 1 : step)
            assert_int_equal(truth->forgotten[keys], twin_forgotten(ids, n, keys));
        assert_int_equal(truth->forgotten[0], truth->repeats);
        assert_int_equal(truth->forgotten[truth->distinct], 0);
        lab_truth_free(truth);
        free(ids);
    }
}

static void no_records_is_a_stream(void **state) {
    (void)state;
    uint64_t none = 0;
    lab_truth *truth = lab_truth_new(&none, 0);
    assert_non_null(truth);
    assert_int_equal(truth->distinct + truth->repeats, 0);
    assert_true(lab_lru_fnr(truth, 5, 0.01) == 0);
    lab_truth_free(truth);
}

/* The set grows, keeps numbers in order of arrival, and takes ids that are
 * alike in every low bit. */
static void set_numbers_in_order(void **state) {
    (void)state;
    lab_set *set = lab_set_new(0);
    bool first;
    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t i = 0; i < 5000; i++) {
            assert_int_equal(lab_set_number(set, i << 40, &first), i);
            assert_int_equal(first, round == 0);
        }
    assert_int_equal(lab_set_count(set), 5000);
    assert_int_equal(lab_set_number(set, UINT64_MAX, &first), 5000);
    assert_true(first);
    lab_set_free(set);
}

/* An LRU that is simulated with coins for forgotten keys has the rate of the
 * formula: fpr lowers it, within four standard deviations (false alarm 6e-5). */
static void references_forgive_at_their_rate(void **state) {
    (void)state;
    enum { KEYS = 100 };
    const double fpr = 0.1;
    size_t n, wrong = 0;
    uint64_t *ids = collect("uniform:n=20K,universe=400", 6, &n);
    lab_truth *truth = lab_truth_new(ids, n);
    uint64_t last[400], clock = 0;
    lab_rng coins = lab_rng_of(1, 9);
    memset(last, 0, sizeof last);
    for (size_t i = 0; i < n; i++) {
        size_t newer = 0;
        for (int k = 0; k < 400; k++) newer += last[k] > last[ids[i]];
        int remembered = last[ids[i]] && newer < KEYS;
        int seen = remembered || lab_rng_unit(&coins) < fpr;
        wrong += !seen && !lab_truth_is_first(truth, i);
        last[ids[i]] = ++clock;
    }
    double rate = lab_lru_fnr(truth, KEYS, fpr), got = (double)wrong / (double)truth->repeats;
    double z = (got - rate) / sqrt(rate * (1 - rate) / (double)truth->repeats);
    print_message("# LRU with coins: %.4f, formula %.4f, z %.2f\n", got, rate, z);
    assert_true(fabs(z) < 4);
    assert_true(lab_limit_keys(1000, 1.0 / 1024) == 100);
    assert_true(lab_oracle_keys(1200, 1.0 / 1024) == 100);
    lab_truth_free(truth);
    free(ids);
}

/* --- trials --------------------------------------------------------------------------- */

static void trial_counts_as_one_by_one(void **state) {
    (void)state;
    static const char spec[] = "recent:memory=2K,fpr=10%,seed=5";
    size_t n, false_new = 0, false_seen = 0;
    uint64_t *ids = collect("zipf:n=30001,s=0.8,domain=20K", 8, &n);
    lab_truth *truth = lab_truth_new(ids, n);
    weir_filter *filter = make_filter(spec);
    for (size_t i = 0; i < n; i++) ids[i] = lab_hash_id(ids[i], 1);
    for (size_t i = 0; i < n; i++) {
        weir_batch one = {.count = 1, .hashes = &ids[i]};
        uint64_t seen;
        weir_filter_offer_batch(filter, &one, &seen);
        false_new += !seen && !lab_truth_is_first(truth, i);
        false_seen += seen && lab_truth_is_first(truth, i);
    }
    lab_trial trial;
    lab_trial_run(&trial, truth, ids, spec, 0.1);
    assert_true(trial.made);
    assert_int_equal(trial.false_new, false_new);
    assert_int_equal(trial.false_seen, false_seen);
    assert_true(false_new > 0 && false_seen > 0);
    assert_true(trial.worst >= trial.fpr);
    lab_trial_run(&trial, truth, ids, "recent:memory=lots", 0.1);
    assert_false(trial.made);
    assert_true(strlen(trial.why) > 0);
    weir_filter_free(filter);
    lab_truth_free(truth);
    free(ids);
}

/* Teeth: a bloom filter far beyond its capacity breaks any bound, and one that
 * breaks it only late is found as well. */
static void broken_bounds_are_found(void **state) {
    (void)state;
    size_t n;
    uint64_t *ids = collect("uniform:n=40K,universe=1000000000", 8, &n);
    lab_truth *truth = lab_truth_new(ids, n);
    lab_trial trial;
    for (size_t i = 0; i < n; i++) ids[i] = lab_hash_id(ids[i], 1);
    lab_trial_run(&trial, truth, ids, "bloom:memory=32K,fpr=1%,seed=5", 0.01);
    assert_true(trial.made);
    print_message("# bloom over capacity: fpr %.4f, worst %.4f, surprise %.2g\n", trial.fpr,
                  trial.worst, trial.surprise);
    assert_true(trial.worst > 0.01 && trial.surprise < 1e-9);
    assert_true(trial.worst > trial.fpr);
    lab_trial_run(&trial, truth, ids, "bloom:memory=128K,fpr=1%,seed=5", 0.01);
    assert_true(trial.surprise > 1e-6);
    lab_truth_free(truth);
    free(ids);
}

/* --- judge ------------------------------------------------------------------------------ */

static void judge_applies_its_rules(void **state) {
    (void)state;
    lab_truth truth = {.count = 2000000, .distinct = 1000000, .repeats = 1000000};
    lab_cell cell = {.bits = 8e6, .fpr = 0.01, .oracle = 0.40, .limit = 0.30, .traits = LAB_EVEN};
    lab_trial own = {.made = true, .bound = 0.01, .fnr = 0.39, .fpr = 0.009, .surprise = 1};
    char words[96];
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), 0);
    own.fnr = 0.41;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_ORACLE);
    own.fnr = 0.46;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_ORACLE | LAB_MISSED_AIM);
    cell.traits = 0;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_MISSED_AIM);
    own.fnr = 0.56;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_FN | LAB_MISSED_AIM);
    assert_string_equal(lab_judge_words(LAB_BROKE_FN | LAB_BROKE_FPR, words, sizeof words),
                        "FAIL fpr,fn");
    cell.oracle = 0.04;
    own.fnr = 0.119;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_MISSED_AIM);
    cell.traits = LAB_EVEN;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_MISSED_AIM | LAB_ABOVE_TIGHT);
    own.fnr = 0.01;
    own.surprise = 1e-7;
    own.memory = 1009000;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_FPR | LAB_BROKE_MEMORY);
    own.surprise = 1;
    own.memory = 0;
    own.false_new = 1;
    cell.bits = 64e6 / 0.6 - 64;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), 0);
    cell.bits = 64e6 / 0.6 + 64;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_EXACT);
    own.made = false;
    assert_int_equal(lab_judge_alone(&cell, &truth, &own), LAB_BROKE_MADE);
}

static void judge_compares_with_rivals(void **state) {
    (void)state;
    size_t n;
    uint64_t *ids = collect("uniform:n=100K,universe=50K", 8, &n);
    lab_truth *truth = lab_truth_new(ids, n);
    lab_cell cell;
    lab_cell_init(&cell, truth, 1e5, 0.01, 0);
    lab_trial own = {.made = true, .bound = 0.01, .fnr = 0.39, .fpr = 0.009};
    lab_trial rival = {.made = true, .bound = 0.01, .fnr = 0.45, .fpr = 0.0095};
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), 0);
    rival.fpr = 0.008; /* its advantage: fewer false positives */
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), LAB_BROKE_RIVAL);
    own.bound = 0.008; /* asked for no more, so what is above is noise */
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), 0);
    own.fnr = 0.47;
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), LAB_BROKE_RIVAL);
    own.fnr = 0.39;
    cell.traits = LAB_STRONG;
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), 0); /* the limit is above */
    cell.bits = 1e7;
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), LAB_BROKE_QUARTERS);
    own.fnr = 0.33;
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), 0);
    rival.made = false;
    own.fnr = 1;
    assert_int_equal(lab_judge_rival(&cell, truth, &own, &rival), 0);
    lab_truth_free(truth);
    free(ids);
}

/* --- tails -------------------------------------------------------------------------------- */

static void binomial_tail_is_the_sum(void **state) {
    (void)state;
    static const double rates[] = {0.5, 0.1, 0.01, 0.9};
    for (size_t r = 0; r < 4; r++)
        for (uint64_t n = 1; n <= 60; n += 7) {
            double tail = 0;
            for (uint64_t k = n + 1; k-- > 0;) {
                double term = 1;
                for (uint64_t j = 0; j < k; j++)
                    term *= (double)(n - j) / (double)(j + 1) * rates[r];
                tail += term * pow(1 - rates[r], (double)(n - k));
                double got = lab_binomial_tail(n, rates[r], k);
                assert_true(fabs(got - tail) < 1e-9 + 1e-9 * tail);
            }
        }
    assert_true(lab_binomial_tail(10, 0, 1) == 0 && lab_binomial_tail(10, 0.5, 0) == 1);
    assert_true(lab_binomial_tail(10, 0.5, 11) == 0);
    /* Far out, where only the leading terms count: 1e6 trials of 1e-6, 20 hits. */
    assert_true(fabs(lab_binomial_tail(1000000, 1e-6, 20) / 1.587e-19 - 1) < 0.01);
}

static void chi2_tail_has_known_values(void **state) {
    (void)state;
    assert_true(fabs(lab_chi2_tail(3.841459, 1) - 0.05) < 1e-6);
    assert_true(fabs(lab_chi2_tail(18.307038, 10) - 0.05) < 1e-6);
    assert_true(fabs(lab_chi2_tail(149.449253, 100) - 0.001) < 1e-6);
    assert_true(fabs(lab_chi2_tail(3.940299, 10) - 0.95) < 1e-6);
    assert_true(lab_chi2_tail(0, 5) == 1);
    /* Teeth: a count that is off is found. */
    uint64_t observed[4] = {100, 100, 100, 160};
    double expected[4] = {115, 115, 115, 115}, degrees;
    double x = lab_chi2(observed, expected, 4, &degrees);
    assert_true(degrees == 3 && lab_chi2_tail(x, degrees) < 1e-4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(firsts_are_firsts),
        cmocka_unit_test(every_lru_is_the_twin),
        cmocka_unit_test(no_records_is_a_stream),
        cmocka_unit_test(set_numbers_in_order),
        cmocka_unit_test(references_forgive_at_their_rate),
        cmocka_unit_test(trial_counts_as_one_by_one),
        cmocka_unit_test(broken_bounds_are_found),
        cmocka_unit_test(judge_applies_its_rules),
        cmocka_unit_test(judge_compares_with_rivals),
        cmocka_unit_test(binomial_tail_is_the_sum),
        cmocka_unit_test(chi2_tail_has_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
