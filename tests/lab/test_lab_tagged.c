/* test_lab_tagged.c - streams with tags, records with similar pairs, and first
 * occurrences, each against its law or a brute-force twin.
 *
 * Seeds are fixed. A distribution is accepted if a true one would look as odd with
 * a chance of at least FALSE_ALARM.
 */
#include "testing.h"

#include <math.h>

#include "lab_firsts.h"
#include "lab_records.h"
#include "lab_rng.h"
#include "lab_stats.h"
#include "lab_stream.h"
#include "lab_titles.h"
#include "lab_truth.h"

#define FALSE_ALARM 1e-4

enum { MOST = 400000 };

static uint64_t ids[MOST], tags[MOST];

static lab_stream *open_stream(const char *spec, uint64_t seed) {
    lab_stream *s;
    weir_error err = {0};
    if (lab_stream_new(&s, spec, seed, &err)) fail_msg("%s: %s", spec, err.message);
    return s;
}

static size_t draw(const char *spec, uint64_t seed) {
    lab_stream *s = open_stream(spec, seed);
    size_t count = lab_stream_next_tagged(s, ids, tags, MOST);
    lab_stream_free(s);
    return count;
}

static void expect_law(const char *what, const uint64_t *observed, const double *expected,
                       size_t cells) {
    double degrees, x = lab_chi2(observed, expected, cells, &degrees);
    double tail = lab_chi2_tail(x, degrees);
    print_message("# %s: chi2 %.1f, %.0f degrees, tail %.4f (false alarm %g)\n", what, x, degrees,
                  tail, FALSE_ALARM);
    assert_true(tail > FALSE_ALARM);
}

static size_t count_distinct(size_t count) {
    lab_set *set = lab_set_new(count);
    bool first;
    for (size_t i = 0; i < count; i++) lab_set_number(set, ids[i], &first);
    size_t distinct = lab_set_count(set);
    lab_set_free(set);
    return distinct;
}

/* --- importance ------------------------------------------------------------------------ */

static void check_importance(const char *law, double repeat, double (*weight)(double)) {
    char spec[128];
    uint64_t observed[50] = {0};
    double expected[50], all = 0;
    snprintf(spec, sizeof spec, "importance:n=%d,repeat=%g,law=%s", MOST, repeat, law);
    size_t count = draw(spec, 5);
    for (int i = 0; i < 50; i++) all += weight(i + 1);
    for (int i = 0; i < 50; i++) expected[i] = (double)count * weight(i + 1) / all;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i] % 50 + 1, tags[i]); /* an id has one importance */
        observed[tags[i] - 1]++;
    }
    expect_law(spec, observed, expected, 50);
    /* The number of distinct ids has a standard deviation below sqrt(n/4). */
    double share = 1 - (double)count_distinct(count) / (double)count;
    print_message("# %s: %.4f repeat\n", spec, share);
    assert_true(fabs(share - repeat) < 4.5 * 0.5 / sqrt((double)count) + 1e-3);
}

static double weight_even(double level) { return level > 0; }
static double weight_direct(double level) { return level; }
static double weight_inverse(double level) { return 1 / level; }

static void importance_follows_its_law(void **state) {
    (void)state;
    check_importance("uniform", 0.1, weight_even);
    check_importance("uniform", 0.5, weight_even);
    check_importance("proportional", 0.3, weight_direct);
    check_importance("inverse", 0.3, weight_inverse);
}

static void ids_of_a_level_are_even(void **state) {
    (void)state;
    uint64_t observed[64] = {0};
    double expected[64], seen = 0;
    lab_stream *s = open_stream("importance:n=400K,repeat=90%,law=inverse", 9);
    uint64_t each = lab_stream_universe(s) / 50;
    size_t count = lab_stream_next_tagged(s, ids, tags, MOST);
    lab_stream_free(s);
    for (size_t i = 0; i < count; i++) {
        if (tags[i] != 1) continue;
        observed[ids[i] / 50 * 64 / each]++;
        seen++;
    }
    for (int i = 0; i < 64; i++) {
        double from = ceil((double)each * i / 64), to = ceil((double)each * (i + 1) / 64);
        expected[i] = seen * (to - from) / (double)each;
    }
    expect_law("ids of level 1", observed, expected, 64);
}

/* --- burst -------------------------------------------------------------------------------- */

static void burst_has_its_rates(void **state) {
    (void)state;
    uint64_t in_slot[40000] = {0};
    size_t count = draw("burst:n=300000,universe=1000,rate=10,factor=5", 1);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || tags[i] >= tags[i - 1]);
        assert_true(ids[i] < 1000);
        in_slot[tags[i]]++;
    }
    /* 100,000 records at 10 a slot, as many at 50, as many at 10. */
    assert_int_equal(tags[99999], 9999);
    assert_int_equal(tags[199999], 10000 + 1999);
    assert_int_equal(tags[299999], 10000 + 2000 + 9999);
    for (uint64_t slot = 0; slot < 22000; slot++)
        assert_int_equal(in_slot[slot], slot >= 10000 && slot < 12000 ? 50 : 10);
}

/* --- producers ------------------------------------------------------------------------------ */

/* Levels up to the smallest group that holds both. */
static int distance(uint64_t a, uint64_t b) {
    int level = 0;
    for (; a != b; level++) a /= 4, b /= 4;
    return level;
}

static void producers_keep_close(void **state) {
    (void)state;
    const double local = 0.6, away = 1 - local;
    uint64_t observed[4] = {0}, by_producer[64] = {0};
    double expected[4] = {0}, even[64];
    size_t count = draw("producers:n=400K,universe=64000,producers=64,fanout=4,local=60%", 3);
    for (size_t i = 0; i < count; i++) {
        observed[distance(tags[i], ids[i] / 1000)]++;
        by_producer[tags[i]]++;
    }
    /* Stop at step l with probability local away^l (the root takes the rest); then one of the
     * 4^l producers of that group, of which 1, 3, 12, 48 are at distance 0, 1, 2, 3. */
    const double members[] = {1, 3, 12, 48};
    for (int l = 0; l <= 3; l++) {
        double stop = (l < 3 ? local : 1) * pow(away, l);
        for (int d = 0; d <= l; d++) expected[d] += (double)count * stop * members[d] / pow(4, l);
    }
    expect_law("distance from home", observed, expected, 4);
    for (int i = 0; i < 64; i++) even[i] = (double)count / 64;
    expect_law("producers", by_producer, even, 64);
}

static void all_local_is_all_local(void **state) {
    (void)state;
    size_t count = draw("producers:n=10K,universe=100K,producers=100,local=1", 3);
    for (size_t i = 0; i < count; i++) assert_int_equal(tags[i], ids[i] / 1000);
}

/* --- the same in any portions ------------------------------------------------------------------
 */

static void portions_do_not_matter(void **state) {
    (void)state;
    static const char *const specs[] = {"importance:n=10K,repeat=30%,law=inverse",
                                        "burst:n=10K,universe=1K,factor=2",
                                        "producers:n=10K,universe=10K,producers=30,local=50%"};
    for (size_t k = 0; k < 3; k++) {
        uint64_t own_ids[100], own_tags[100];
        size_t count = draw(specs[k], 11), at = 0;
        assert_int_equal(count, 10000);
        lab_stream *s = open_stream(specs[k], 11);
        for (size_t step = 1; at < count; step = step % 97 + 1) {
            size_t got = lab_stream_next_tagged(s, own_ids, own_tags, step);
            assert_true(got > 0);
            for (size_t i = 0; i < got; i++, at++) {
                assert_int_equal(own_ids[i], ids[at]);
                assert_int_equal(own_tags[i], tags[at]);
            }
        }
        assert_int_equal(lab_stream_next(s, own_ids, 1), 0);
        lab_stream_free(s);
    }
}

static void bad_specs_are_refused(void **state) {
    (void)state;
    static const char *const specs[] = {"importance:n=10",
                                        "importance:n=10,repeat=30%,law=random",
                                        "importance:n=10,repeat=30%,levels=1000",
                                        "importance:repeat=30%",
                                        "burst:n=10",
                                        "producers:n=10,universe=5,producers=10",
                                        "producers:n=10,universe=5"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        lab_stream *s;
        weir_error err = {0};
        assert_true(lab_stream_new(&s, specs[i], 1, &err) != WEIR_OK);
        assert_null(s);
        assert_true(err.message[0] != 0);
    }
}

/* --- records ------------------------------------------------------------------------------------
 */

static void records_have_the_pairs_they_say(void **state) {
    (void)state;
    enum { N = 1500, D = 5 };
    static uint64_t values[N][D];
    uint64_t found[D + 1] = {0};
    lab_records r;
    weir_error err = {0};
    assert_int_equal(lab_records_init(&r, "records:n=1500,d=5,least=2,share=60%", 4, &err),
                     WEIR_OK);
    for (int i = 0; i < N; i++) assert_true(lab_records_next(&r, values[i]));
    assert_false(lab_records_next(&r, values[0]));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            int same = 0;
            for (int a = 0; a < D; a++) same += values[i][a] == values[j][a];
            found[same]++;
        }
    for (int k = 1; k <= D; k++) assert_int_equal(found[k], r.pairs[k]);
    assert_int_equal(r.pairs[1], 0);
    double copies = 0, expected[4], most = N / 2;
    uint64_t by_k[4];
    for (int k = 2; k <= D; k++) copies += (double)r.pairs[k], by_k[k - 2] = r.pairs[k];
    assert_true(fabs(copies - 0.6 * most) < 4.5 * sqrt(most * 0.6 * 0.4) + LAB_PAIR_GAP);
    for (int k = 0; k < 4; k++) expected[k] = copies / 4;
    expect_law("attributes shared", by_k, expected, 4);
    assert_int_equal(lab_records_init(&r, "records:n=10,d=1", 4, &err), WEIR_ERR_RANGE);
    assert_int_equal(lab_records_init(&r, "records:n=10,d=4,least=5", 4, &err), WEIR_ERR_RANGE);
    assert_int_equal(lab_records_init(&r, "records:d=4", 4, &err), WEIR_ERR_SPEC);
    assert_int_equal(lab_records_init(&r, "records:n=4,x=4", 4, &err), WEIR_ERR_SPEC);
}

/* --- first occurrences --------------------------------------------------------------------------
 */

/* Ask in portions, compare with looking at all ids before. */
static void compare_firsts(lab_firsts *f, size_t count) {
    size_t wrong = 0, firsts = 0;
    uint64_t words[WEIR_VERDICT_WORDS(100)];
    for (size_t at = 0, step = 1; at < count; at += step, step = step % 97 + 1) {
        if (step > count - at) step = count - at;
        assert_int_equal(lab_firsts_next(f, ids + at, step, words), WEIR_OK);
        for (size_t i = 0; i < step; i++) {
            size_t before = 0;
            while (before < at + i && ids[before] != ids[at + i]) before++;
            bool first = before == at + i;
            firsts += first;
            wrong += first != (words[i / 64] >> (i % 64) & 1);
        }
        if (at + step >= count) break;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(lab_firsts_count(f), firsts);
    lab_firsts_free(f);
}

static void firsts_agree_with_a_search(void **state) {
    (void)state;
    const char *spec = "zipf:n=6000,s=0.7,domain=5000";
    lab_firsts *f;
    weir_error err = {0};
    size_t count = draw(spec, 8);
    assert_int_equal(lab_firsts_new(&f, 5000, &err), WEIR_OK);
    compare_firsts(f, count);
    assert_int_equal(lab_firsts_new(&f, 0, &err), WEIR_OK);
    compare_firsts(f, count);
    lab_firsts_plan plan = {.spec = spec, .seed = 8, .memory = 1 << 20};
    assert_int_equal(lab_firsts_from_disk(&f, &plan, &err), WEIR_OK);
    compare_firsts(f, count);
}

static bool stop_at_once(void *context, const char *what, uint64_t done, uint64_t total) {
    (void)what, (void)done, (void)total;
    ++*(int *)context;
    return false;
}

static void firsts_on_disk_can_fail(void **state) {
    (void)state;
    int asked = 0;
    lab_firsts *f;
    weir_error err = {0};
    lab_firsts_plan plan = {.spec = "zipf:n=600K,s=0,domain=100M", .seed = 1, .memory = 1 << 10};
    assert_int_equal(lab_firsts_from_disk(&f, &plan, &err), WEIR_ERR_MEMORY);
    assert_null(f);
    plan.folder = "/nowhere";
    assert_int_equal(lab_firsts_from_disk(&f, &plan, &err), WEIR_ERR_IO);
    plan.folder = NULL;
    plan.spec = "file:path=/nowhere/at/all";
    assert_int_equal(lab_firsts_from_disk(&f, &plan, &err), WEIR_ERR_IO);
    plan.spec = "uniform:n=100K,universe=1M";
    plan.progress = stop_at_once;
    plan.context = &asked;
    assert_int_equal(lab_firsts_from_disk(&f, &plan, &err), WEIR_OK);
    assert_null(f);
    assert_int_equal(asked, 1);
}

/* --- titles ---------------------------------------------------------------------------- */

static unsigned common_words(const uint32_t *a, unsigned n, const uint32_t *b, unsigned m) {
    unsigned common = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++) common += a[i] == b[j];
    return common;
}

/* Lengths 2 to 10 alike, no word twice, copies as often as they should be, and two
 * titles agree in a value with the probability of their Jaccard similarity. Each pair
 * of titles has a seed, and so functions, of its own. */
static void titles_are_what_they_should_be(void **state) {
    (void)state;
    enum { PAIRS = 40000, D = 8 };
    uint64_t lengths[9] = {0}, copies = 0, row[2][D];
    double expected[9], agree = 0, similar = 0, variance = 0;
    for (uint64_t seed = 0; seed < PAIRS; seed++) {
        uint32_t a[LAB_TITLE_WORDS], b[LAB_TITLE_WORDS];
        unsigned n = lab_title_words(seed, 0, a), m = lab_title_words(seed, 1, b);
        unsigned common = common_words(a, n, b, m);
        assert_int_equal(common_words(a, n, a, n), n);
        lengths[n - 2]++;
        copies += common == n && n == m;
        double t = (double)common / (double)(n + m - common);
        for (uint64_t i = 0; i < 2; i++) lab_title_row(seed, i, D, row[i]);
        for (int c = 0; c < D; c++) agree += row[0][c] == row[1][c];
        similar += D * t;
        variance += D * t * (1 - t);
    }
    for (int i = 0; i < 9; i++) expected[i] = PAIRS / 9.0;
    expect_law("lengths of titles", lengths, expected, 9);
    double many = 0.054 * PAIRS, z = ((double)copies - many) / sqrt(many);
    print_message("# copies: z = %.2f (limit 4, false alarm 1 in 15,000)\n", z);
    assert_true(fabs(z) < 4);
    z = (agree - similar) / sqrt(variance);
    print_message("# values that agree: z = %.2f (limit 4, false alarm 1 in 15,000)\n", z);
    assert_true(fabs(z) < 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(importance_follows_its_law),
        cmocka_unit_test(ids_of_a_level_are_even),
        cmocka_unit_test(burst_has_its_rates),
        cmocka_unit_test(producers_keep_close),
        cmocka_unit_test(all_local_is_all_local),
        cmocka_unit_test(portions_do_not_matter),
        cmocka_unit_test(bad_specs_are_refused),
        cmocka_unit_test(records_have_the_pairs_they_say),
        cmocka_unit_test(titles_are_what_they_should_be),
        cmocka_unit_test(firsts_agree_with_a_search),
        cmocka_unit_test(firsts_on_disk_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
