/* test_lab_mix.c - mixed streams are what they say, drawn recipes are the same everywhere,
 * and drawn streams are judged by the oracle and the rules of accuracy_drawn.h.
 *
 * Seeds are fixed. Each distribution is accepted if a true one would look as odd with a
 * chance of at least FALSE_ALARM.
 */
#include "testing.h"

#include <math.h>

#include "accuracy_drawn.h"
#include "lab_rng.h"
#include "lab_stats.h"
#include "lab_stream.h"

#define FALSE_ALARM 1e-4

static uint64_t *collect(const char *spec, uint64_t seed, size_t *count) {
    uint64_t *ids;
    weir_error err = {0};
    if (lab_stream_collect(&ids, count, spec, seed, &err)) fail_msg("%s: %s", spec, err.message);
    return ids;
}

/* lab_mix() undone: both multiplications and shifts by their inverses. */
static uint64_t unmix(uint64_t x) {
    x = x ^ (x >> 31) ^ (x >> 62);
    x *= UINT64_C(0x319642b2d24d8ec3);
    x = x ^ (x >> 27) ^ (x >> 54);
    x *= UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}

static uint64_t part_of(uint64_t id) { return unmix(id) >> 48; }
static uint64_t number_of(uint64_t id) { return unmix(id) & 0xffffffffffff; }

static void check_law(const char *what, const uint64_t *observed, const double *expected,
                      size_t cells) {
    double degrees, x = lab_chi2(observed, expected, cells, &degrees);
    double tail = lab_chi2_tail(x, degrees);
    print_message("# %s: chi2 %.1f, %.0f degrees, tail %.4f (false alarm %g)\n", what, x, degrees,
                  tail, FALSE_ALARM);
    assert_true(tail > FALSE_ALARM);
}

static void check_share(const char *what, size_t hits, size_t n, double p) {
    double z = ((double)hits - (double)n * p) / sqrt((double)n * p * (1 - p));
    print_message("# %s: z %.2f\n", what, z);
    assert_true(fabs(z) < 3.9); /* false alarm 1e-4 */
}

/* --- parts ----------------------------------------------------------------------------- */

static void loops_and_scans_are_in_order(void **state) {
    (void)state;
    size_t n;
    uint64_t *ids = collect("mix:n=10K,parts=1*loop;700", 1, &n);
    for (size_t i = 0; i < n; i++) assert_int_equal(number_of(ids[i]), i % 700);
    free(ids);
    ids = collect("mix:n=10K,parts=1*scan", 1, &n);
    for (size_t i = 0; i < n; i++) assert_int_equal(number_of(ids[i]), i);
    free(ids);
}

static void draws_follow_their_laws(void **state) {
    (void)state;
    enum { N = 500000, DOMAIN = 100 };
    uint64_t evens[DOMAIN] = {0}, skewed[DOMAIN] = {0};
    double even[DOMAIN], skew[DOMAIN], sum = 0;
    size_t n;
    uint64_t *ids = collect("mix:n=500K,parts=1*uniform;100", 2, &n);
    for (size_t i = 0; i < n; i++) evens[number_of(ids[i])]++;
    free(ids);
    ids = collect("mix:n=500K,parts=1*zipf;0.9;100", 2, &n);
    for (size_t i = 0; i < n; i++) skewed[number_of(ids[i]) - 1]++;
    free(ids);
    for (int k = 0; k < DOMAIN; k++) sum += skew[k] = pow(k + 1, -0.9);
    for (int k = 0; k < DOMAIN; k++) {
        even[k] = (double)N / DOMAIN;
        skew[k] *= N / sum;
    }
    check_law("uniform", evens, even, DOMAIN);
    check_law("zipf", skewed, skew, DOMAIN);
}

/* The age of what is drawn is exponential: each id comes 4 records after the last. */
static void fashions_come_and_go(void **state) {
    (void)state;
    enum { U = 50, AGES = 300 };
    uint64_t ages[AGES] = {0};
    double expected[AGES];
    size_t n;
    uint64_t *ids = collect("mix:n=400K,parts=1*fashion;50;4", 3, &n);
    for (size_t i = 0; i < n; i++) {
        uint64_t newest = 37 * U + i / 4, age = newest - number_of(ids[i]);
        ages[age < AGES - 1 ? age : AGES - 1]++;
    }
    for (int a = 0; a < AGES - 1; a++)
        expected[a] = (double)n * exp(-(double)a / U) * -expm1(-1.0 / U);
    expected[AGES - 1] = (double)n * exp(-(double)(AGES - 1) / U);
    check_law("ages", ages, expected, AGES);
    free(ids);
}

/* A share of the records repeats an id, as many of them in each octave of distance. */
static void repeats_come_at_every_distance(void **state) {
    (void)state;
    enum { OCTAVES = 12 };
    uint64_t octaves[OCTAVES] = {0};
    double expected[OCTAVES];
    size_t n, repeats = 0, far = 0;
    uint64_t *ids = collect("mix:n=500K,parts=1*again;0.2;4096", 4, &n), fresh = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t id = number_of(ids[i]);
        if (id == fresh) {
            fresh++;
            continue;
        }
        repeats++;
        uint64_t distance = fresh - id;
        assert_in_range(distance, 1, 4096);
        if (fresh < 4096) continue; /* cut off at the first id */
        octaves[distance == 4096 ? OCTAVES - 1 : 63 - __builtin_clzll(distance)]++;
        far++;
    }
    for (int o = 0; o < OCTAVES; o++) expected[o] = (double)far / OCTAVES;
    check_share("again", repeats, n, 0.2);
    check_law("octaves", octaves, expected, OCTAVES);
    free(ids);
}

static void bursts_have_their_length(void **state) {
    (void)state;
    size_t n, runs = 1;
    uint64_t *ids = collect("mix:n=300K,parts=1*burst;5", 5, &n);
    for (size_t i = 1; i < n; i++) {
        assert_in_range(number_of(ids[i]) - number_of(ids[i - 1]), 0, 1);
        runs += ids[i] != ids[i - 1];
    }
    check_share("bursts", runs, n, 0.2);
    free(ids);
}

/* --- mixing ------------------------------------------------------------------------------ */

static void weights_regimes_and_pauses_hold(void **state) {
    (void)state;
    size_t n, first = 0, loops = 0;
    uint64_t *ids = collect("mix:n=200K,parts=3*scan+1*loop;50~1K/2*loop;50~1K+1*uniform;9", 6, &n);
    uint64_t next_loop = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t part = part_of(ids[i]);
        assert_in_range(part, 1, 3);
        assert_true(i < n / 2 ? part != 3 : part != 1); /* new ids after the change */
        if (part == 2) {
            assert_int_equal(i / 1000 % 2, 0);                     /* off in every other stretch */
            assert_int_equal(number_of(ids[i]), next_loop++ % 50); /* goes on where it was */
        }
        if (i < n / 2 && i / 1000 % 2 == 0) {
            first++;
            loops += part == 2;
        }
    }
    check_share("weights", loops, first, 0.25);
    free(ids);
    ids = collect("mix:n=4K,parts=1*scan~1K", 6, &n); /* all off: all on */
    for (size_t i = 0; i < n; i++) assert_int_equal(number_of(ids[i]), i);
    free(ids);
}

static void portions_do_not_matter(void **state) {
    (void)state;
    const char *spec =
        "mix:n=30K,parts=2*zipf;0.8;1K+1*again;0.3;500/1*fashion;100;2+1*zipf;0.8;1K";
    size_t n;
    uint64_t *whole = collect(spec, 7, &n), part[1000];
    weir_error err;
    lab_stream *s;
    assert_int_equal(lab_stream_new(&s, spec, 7, &err), WEIR_OK);
    for (size_t at = 0, size = 1; at < n; size = size % 997 + 1) {
        size_t got = lab_stream_next(s, part, size);
        assert_memory_equal(part, whole + at, got * sizeof *part);
        at += got;
    }
    lab_stream_free(s);
    free(whole);
}

static void bad_specs_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"mix:n=10",
                                      "mix:n=10,parts=scan",
                                      "mix:n=10,parts=0*scan",
                                      "mix:n=10,parts=1*scan;3",
                                      "mix:n=10,parts=1*loop",
                                      "mix:n=10,parts=1*loop;0",
                                      "mix:n=10,parts=1*loop;7~x",
                                      "mix:n=10,parts=1*zipf;99;10",
                                      "mix:n=10,parts=1*zipf;0.9",
                                      "mix:n=10,parts=1*again;2;10",
                                      "mix:n=10,parts=1*burst;0.5",
                                      "mix:n=10,parts=1*fashion;5",
                                      "mix:n=10,parts=1*nothing;5",
                                      "mix:n=10,parts=1*scan/1*scan/1*scan/1*scan/1*scan"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_stream *s;
        weir_error err = {0};
        assert_int_equal(lab_stream_new(&s, bad[i], 1, &err), WEIR_ERR_SPEC);
        assert_null(s);
        assert_true(strlen(err.message) > 10);
    }
}

/* --- recipes ------------------------------------------------------------------------------ */

/* Pins what a seed means: numbers that were reported can be had again. */
static void recipes_are_the_same_everywhere(void **state) {
    (void)state;
    uint64_t sum = 0;
    size_t regimes = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        for (size_t number = 1; number <= 200; number++) {
            accuracy_recipe r;
            lab_stream *s;
            weir_error err = {0};
            accuracy_recipe_draw(&r, seed, number);
            if (lab_stream_new(&s, r.spec, r.seed, &err)) fail_msg("%s: %s", r.spec, err.message);
            assert_in_range(lab_stream_length(s), 100000, 600000);
            lab_stream_free(s);
            size_t bytes = accuracy_recipe_memory(&r, 100000);
            assert_in_range(bytes, 16384, 3000000);
            for (const char *c = r.spec; *c; c++) sum = lab_mix(sum + (uint8_t)*c);
            sum = lab_mix(sum + r.seed + (uint64_t)(r.fpr * 1e6 + 0.5) + bytes / 16);
            regimes += strchr(r.spec, '/') != NULL;
        }
    }
    check_share("regimes", regimes, 800, 1.0 / 3);
    print_message("# recipes: %016llx\n", (unsigned long long)sum);
    assert_int_equal(sum, UINT64_C(0x33763e295fcb09c7));
}

/* --- judging --------------------------------------------------------------------------------- */

/* What an LRU of so many keys forgets, the slow way: a list, searched from its front. */
static double slow_lru(const uint64_t *ids, size_t n, size_t keys, double fpr, size_t repeats) {
    uint64_t *list = malloc((keys + 1) * sizeof *list);
    size_t used = 0, missed = 0, firsts = n - repeats;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < used && list[at] != ids[i]) at++;
        if (at == used) {
            missed++;
            if (used < keys) used++;
            at = used - 1;
        }
        memmove(list + 1, list, at * sizeof *list);
        list[0] = ids[i];
    }
    free(list);
    return (1 - fpr) * (double)(missed - firsts) / (double)repeats;
}

static void oracle_has_the_memory_held(void **state) {
    (void)state;
    accuracy_drawing drawing = {
        .filter = "recent", .seed = 9, .only = {3, 8}, .only_count = 2, .jobs = 2};
    accuracy_drawn rows[2];
    assert_int_equal(accuracy_drawn_run(&drawing, rows), 2);
    for (int i = 0; i < 2; i++) {
        const accuracy_drawn *r = &rows[i];
        size_t n;
        uint64_t *ids = collect(r->recipe.spec, r->recipe.seed, &n);
        double bits = 8.0 * (double)r->trial.memory;
        size_t keys = (size_t)(bits / (log2(1 / r->recipe.fpr) + 2));
        double slow = slow_lru(ids, n, keys, r->recipe.fpr, r->repeats);
        print_message("# %s: oracle %.6f, slowly %.6f\n", r->recipe.spec, r->cell.oracle, slow);
        assert_true(r->trial.made && fabs(r->cell.oracle - slow) < 1e-9);
        free(ids);
    }
}

static accuracy_drawn row_of(double fn, double oracle) {
    accuracy_drawn r = {.trial = {.made = true, .fnr = fn}, .cell = {.oracle = oracle}};
    if (accuracy_drawn_excess(&r) > 0) r.broken = LAB_BROKE_FN;
    return r;
}

static void sums_follow_the_rules(void **state) {
    (void)state;
    accuracy_drawn rows[100];
    accuracy_drawn_sum sum;
    for (int i = 0; i < 100; i++) rows[i] = row_of(0.099, 0.1);
    for (int i = 0; i < 40; i++) rows[i] = row_of(0.02, 0); /* no part in the median */
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(sum.holds && sum.forgetting == 60 && fabs(sum.median - 0.99) < 1e-9);
    for (int i = 0; i < 5; i++) rows[i] = row_of(0.031, 0);
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(sum.holds && fabs(sum.within - 0.95) < 1e-9);
    rows[5] = row_of(0.161, 0.1);
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(!sum.holds && fabs(sum.within - 0.94) < 1e-9);
    rows[5] = row_of(0.159, 0.1);
    for (int i = 40; i < 80; i++) rows[i] = row_of(0.101, 0.1);
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(!sum.holds && sum.median > 1);
    for (int i = 40; i < 80; i++) rows[i] = row_of(0.09, 0.1);
    rows[70].broken = LAB_BROKE_EXACT;
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(!sum.holds && sum.broken == 1);
    rows[70].broken = 0;
    rows[71].worse = true;
    accuracy_drawn_sum_up(&sum, rows, 100, false);
    assert_true(!sum.holds && sum.worse == 1);
}

static void seeds_follow_the_rules(void **state) {
    (void)state;
    accuracy_spread s, more;
    double near[] = {0.010, 0.019, 0.015}, far[] = {0.010, 0.022, 0.015};
    double shares[] = {0.50, 0.57, 0.54}, wide[] = {0.50, 0.60, 0.54};
    accuracy_spread_of(&s, near, 3, 100000000);
    assert_false(s.wide);
    accuracy_spread_of(&s, far, 3, 100000000);
    assert_true(s.wide);
    accuracy_spread_of(&s, far, 3, 10000); /* few repeats: noise */
    assert_false(s.wide);
    accuracy_spread_of(&s, wide, 3, 100000000);
    assert_true(s.wide);
    accuracy_spread_of(&s, shares, 3, 100000000);
    assert_false(s.wide);
    for (int i = 0; i < 3; i++) shares[i] += 0.004;
    accuracy_spread_of(&more, shares, 3, 100000000);
    assert_false(accuracy_worse_with_more(&s, &more));
    for (int i = 0; i < 3; i++) shares[i] += 0.002;
    accuracy_spread_of(&more, shares, 3, 100000000);
    assert_true(accuracy_worse_with_more(&s, &more));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_and_scans_are_in_order),
        cmocka_unit_test(draws_follow_their_laws),
        cmocka_unit_test(fashions_come_and_go),
        cmocka_unit_test(repeats_come_at_every_distance),
        cmocka_unit_test(bursts_have_their_length),
        cmocka_unit_test(weights_regimes_and_pauses_hold),
        cmocka_unit_test(portions_do_not_matter),
        cmocka_unit_test(bad_specs_are_refused),
        cmocka_unit_test(recipes_are_the_same_everywhere),
        cmocka_unit_test(oracle_has_the_memory_held),
        cmocka_unit_test(sums_follow_the_rules),
        cmocka_unit_test(seeds_follow_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
