/* test_lab_stream.c - the streams are what they say: distributions, repeatability,
 * files.
 *
 * Seeds are fixed, so a test that passes keeps passing. Each distribution is
 * accepted if a true one would look as odd with a chance of at least FALSE_ALARM.
 */
#include "testing.h"

#include <math.h>
#include <zstd.h>

#include "lab_math.h"
#include "lab_rng.h"
#include "lab_stats.h"
#include "lab_stream.h"
#include "lab_truth.h"
#include "lab_zipf.h"

#define FALSE_ALARM 1e-4

static uint64_t *collect(const char *spec, uint64_t seed, size_t *count) {
    uint64_t *ids;
    weir_error err = {0};
    if (lab_stream_collect(&ids, count, spec, seed, &err)) fail_msg("%s: %s", spec, err.message);
    return ids;
}

static double check_chi2(const char *what, const uint64_t *observed, const double *expected,
                         size_t cells) {
    double degrees, x = lab_chi2(observed, expected, cells, &degrees);
    double tail = lab_chi2_tail(x, degrees);
    print_message("# %s: chi2 %.1f, %.0f degrees, tail %.4f (false alarm %g)\n", what, x, degrees,
                  tail, FALSE_ALARM);
    return tail;
}

/* --- arithmetic -------------------------------------------------------------------- */

static void math_agrees_with_the_library(void **state) {
    (void)state;
    lab_rng rng = lab_rng_of(1, 1);
    for (int i = 0; i < 200000; i++) {
        double u = lab_rng_unit(&rng), x = (u - 0.5) * 100, y = exp(x), t = -0.999 + 50 * u * u * u;
        assert_true(fabs(lab_exp(x) - y) <= 1e-15 * y);
        assert_true(fabs(lab_log(y) - log(y)) <= 1e-15 * fmax(1, fabs(x)));
        assert_true(fabs(lab_expm1(x / 20) - expm1(x / 20)) <= 1e-15 * fabs(expm1(x / 20)));
        assert_true(fabs(lab_log1p(t) - log1p(t)) <= 1e-15 * fabs(log1p(t)));
    }
    assert_true(fabs(lab_log1p(1e-12) - log1p(1e-12)) < 1e-27);
    assert_true(lab_log(1) == 0 && lab_exp(0) == 1 && lab_expm1(0) == 0);
}

static void below_is_even_and_within(void **state) {
    (void)state;
    uint64_t observed[7] = {0};
    double expected[7];
    lab_rng rng = lab_rng_of(3, 1);
    for (int i = 0; i < 7; i++) expected[i] = 100000;
    for (int i = 0; i < 700000; i++) observed[lab_rng_below(&rng, 7)]++;
    assert_true(check_chi2("below 7", observed, expected, 7) > FALSE_ALARM);
    for (int i = 0; i < 1000; i++) assert_true(lab_rng_below(&rng, UINT64_MAX) < UINT64_MAX);
    assert_int_equal(lab_rng_below(&rng, 1), 0);
}

/* --- distributions ------------------------------------------------------------------- */

static void uniform_is_uniform(void **state) {
    (void)state;
    size_t n;
    uint64_t *ids = collect("uniform:n=1M,universe=1000", 1, &n), observed[1000] = {0};
    double expected[1000];
    for (int i = 0; i < 1000; i++) expected[i] = 1000;
    for (size_t i = 0; i < n; i++) {
        assert_true(ids[i] < 1000);
        observed[ids[i]]++;
    }
    assert_true(check_chi2("uniform", observed, expected, 1000) > FALSE_ALARM);
    free(ids);
}

/* The share of distinct ids asked for is the one drawn. The number of distinct
 * ids has a variance below n/4; five of its deviations are allowed. */
static void universe_follows_from_the_share(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        double share;
    } cases[] = {{"uniform:n=100K,distinct=76%", 0.76},
                 {"uniform:n=1M,distinct=49%", 0.49},
                 {"uniform:n=1M,distinct=15%", 0.15},
                 {"uniform:n=1M,distinct=10%", 0.10}};
    for (size_t c = 0; c < 4; c++) {
        size_t n;
        uint64_t *ids = collect(cases[c].spec, 5, &n);
        lab_truth *truth = lab_truth_new(ids, n);
        double off = (double)truth->distinct - cases[c].share * (double)n;
        print_message("# %s: %.2f standard deviations at most\n", cases[c].spec,
                      off / sqrt((double)n / 4));
        assert_true(fabs(off) < 5 * sqrt((double)n / 4));
        lab_truth_free(truth);
        free(ids);
    }
}

static void zipf_has_exact_probabilities(void **state) {
    (void)state;
    static const double exponents[] = {0, 0.3, 0.6, 0.9, 0.999, 1, 1.0000001, 1.2, 2, 3};
    enum { DOMAIN = 200, DRAWS = 2000000 };
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        char spec[96], what[32];
        uint64_t observed[DOMAIN] = {0}, *ids;
        double expected[DOMAIN], sum = 0;
        size_t n;
        snprintf(spec, sizeof spec, "zipf:n=%d,s=%.9g,domain=%d", DRAWS, exponents[e], DOMAIN);
        snprintf(what, sizeof what, "zipf %.9g", exponents[e]);
        for (int k = 0; k < DOMAIN; k++) sum += expected[k] = pow(k + 1, -exponents[e]);
        for (int k = 0; k < DOMAIN; k++) expected[k] *= DRAWS / sum;
        ids = collect(spec, 11, &n);
        for (size_t i = 0; i < n; i++) {
            assert_true(ids[i] < DOMAIN);
            observed[ids[i]]++;
        }
        assert_true(check_chi2(what, observed, expected, DOMAIN) > FALSE_ALARM);
        free(ids);
    }
}

/* Over a large domain: ranks pooled by powers of two. */
static void zipf_is_right_in_the_tail(void **state) {
    (void)state;
    enum { DOMAIN = 1000000, POOLS = 20, DRAWS = 1000000 };
    size_t n;
    uint64_t *ids = collect("zipf:n=1M,s=1.2,domain=1M", 2, &n), observed[POOLS] = {0};
    double expected[POOLS] = {0}, sum = 0;
    for (uint64_t k = 1; k <= DOMAIN; k++) {
        double p = pow((double)k, -1.2);
        expected[63 - __builtin_clzll(k)] += p;
        sum += p;
    }
    for (int i = 0; i < POOLS; i++) expected[i] *= DRAWS / sum;
    for (size_t i = 0; i < n; i++) observed[63 - __builtin_clzll(ids[i] + 1)]++;
    assert_true(check_chi2("zipf 1.2 of 1M", observed, expected, POOLS) > FALSE_ALARM);
    free(ids);
}

static void zipf_takes_the_smallest_domains(void **state) {
    (void)state;
    size_t n;
    uint64_t *ids = collect("zipf:n=1000,s=1.5,domain=1", 1, &n);
    for (size_t i = 0; i < n; i++) assert_int_equal(ids[i], 0);
    free(ids);
    uint64_t observed[2] = {0};
    double expected[2] = {2e5 / 3, 1e5 / 3};
    ids = collect("zipf:n=100K,s=1,domain=2", 1, &n);
    for (size_t i = 0; i < n; i++) observed[ids[i]]++;
    assert_true(check_chi2("zipf 1 of 2", observed, expected, 2) > FALSE_ALARM);
    free(ids);
}

/* Labels of a two-step stream follow q_i = e^(-i/u) (1 - e^(-1/u)). */
static void check_labels(const char *what, const uint64_t *ids, size_t n, double u, size_t total) {
    enum { CELLS = 400 };
    uint64_t observed[CELLS] = {0};
    double expected[CELLS];
    for (int i = 0; i < CELLS; i++) expected[i] = (double)total * exp(-i / u) * -expm1(-1 / u);
    expected[CELLS - 1] = (double)total * exp(-(CELLS - 1) / u);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 37 * (uint64_t)u) observed[ids[i] < CELLS - 1 ? ids[i] : CELLS - 1]++;
    assert_true(check_chi2(what, observed, expected, CELLS) > FALSE_ALARM);
}

static void poisson_is_poisson(void **state) {
    (void)state;
    enum { GAPS = 40, U = 50 };
    const double lambda = 0.3;
    size_t n, total = 0, gap = 0;
    uint64_t *ids = collect("poisson:n=1M,lambda=0.3,u=50", 4, &n), gaps[GAPS + 1] = {0};
    double expected[GAPS + 1];
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 37 * U) {
            assert_int_equal(ids[i], 37 * U + i); /* an id of its own */
            gap++;
            continue;
        }
        gaps[gap < GAPS ? gap : GAPS]++;
        gap = 0;
        total++;
    }
    for (int g = 0; g <= GAPS; g++)
        expected[g] = (double)total * pow(1 - lambda, g) * (g < GAPS ? lambda : 1);
    double z = ((double)total - lambda * (double)n) / sqrt((double)n * lambda * (1 - lambda));
    print_message("# poisson: arrivals z %.2f\n", z);
    assert_true(fabs(z) < 3.9); /* false alarm 1e-4 */
    assert_true(check_chi2("poisson gaps", gaps, expected, GAPS + 1) > FALSE_ALARM);
    check_labels("poisson labels", ids, n, U, total);
    free(ids);
}

/* order=first with b = 0.75, l = 2: volumes 9/16, 3/16, 3/16, 1/16 of v n. */
static void bmodel_has_its_volumes(void **state) {
    (void)state;
    enum { N = 1 << 20, U = 50 };
    static const int share[4] = {9, 3, 3, 1};
    size_t n, total = 0, counts[4] = {0};
    uint64_t *ids = collect("bmodel:n=1048576,b=0.75,l=2,v=0.25,u=50,order=first", 4, &n);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 37 * U) {
            assert_int_equal(ids[i], 37 * U + i);
        } else {
            counts[i / (N / 4)]++;
            total++;
        }
    }
    assert_int_equal(total, N / 4);
    for (int i = 0; i < 4; i++) assert_int_equal(counts[i], N / 4 / 16 * share[i]);
    check_labels("bmodel labels", ids, n, U, total);
    free(ids);
}

/* With a coin for each interval the same volumes come in another order, and
 * arrivals inside a finest interval are spread evenly. */
static void bmodel_flips_and_spreads(void **state) {
    (void)state;
    enum { N = 1 << 20, U = 50, LEAVES = 64, BINS = 32 };
    size_t n, total = 0, per_leaf = N / LEAVES, full = 0;
    size_t counts[LEAVES] = {0};
    uint64_t *ids = collect("bmodel:n=1048576,b=0.7,l=6,v=0.1,u=50", 9, &n), bins[BINS] = {0};
    double expected[BINS];
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= 37 * U) continue;
        counts[i / per_leaf]++;
        bins[i % per_leaf / (per_leaf / BINS)]++;
        total++;
    }
    assert_int_equal(total, (size_t)(0.1 * N + 0.5));
    for (size_t i = 0; i < LEAVES; i++) {
        double j = log((double)counts[i] / (double)total / pow(0.3, 6)) / log(0.7 / 0.3);
        assert_true(fabs(j - round(j)) < 0.02); /* b^j (1-b)^(6-j), j whole */
        full += round(j) == 6;
        if (i == 0) print_message("# bmodel: the first interval has j = %.2f\n", j);
    }
    assert_int_equal(full, 1);
    for (int i = 0; i < BINS; i++) expected[i] = (double)total / BINS;
    assert_true(check_chi2("bmodel places", bins, expected, BINS) > FALSE_ALARM);
    free(ids);
}

/* v (2b)^l = 1: the densest interval is full to the last position. */
static void bmodel_fills_what_it_may(void **state) {
    (void)state;
    size_t n, total = 0;
    uint64_t *ids = collect("bmodel:n=4097,b=1,l=3,v=0.125,u=50,order=first", 1, &n);
    for (size_t i = 0; i < n; i++) total += ids[i] < 37 * 50;
    assert_int_equal(total, 512);
    for (size_t i = 0; i < 512; i++) assert_true(ids[i] < 37 * 50);
    free(ids);
}

/* --- repeatability --------------------------------------------------------------------- */

/* The first ten ids and a mix of the first 100,000, drawn with seed 1: the same
 * on every machine and for ever. */
static const struct {
    const char *spec;
    uint64_t first[10], mix;
} golden[] = {
    {"uniform:n=100K,universe=1M",
     {176114, 353234, 487811, 329912, 418597, 116819, 359495, 52301, 451834, 666986},
     UINT64_C(0x28551174669e13eb)},
    {"zipf:n=100K,s=0.6,domain=1M",
     {13491, 75210, 167550, 63501, 114587, 4941, 78557, 716, 138519, 364724},
     UINT64_C(0xf9fea7399837198b)},
    {"zipf:n=100K,s=1,domain=1M",
     {6, 89, 622, 63, 229, 2, 97, 0, 370, 8239},
     UINT64_C(0x9f80c34cca670507)},
    {"zipf:n=100K,s=1.2,domain=1M", {0, 3, 11, 3, 6, 0, 3, 0, 8, 79}, UINT64_C(0x3a971f4efa95da2f)},
    {"poisson:n=100K,lambda=0.5,u=1000",
     {193, 37001, 435, 669, 37004, 400, 542, 124, 37008, 37009},
     UINT64_C(0xd01160df8c599177)},
    {"bmodel:n=100K,b=0.7,l=6,v=0.1,u=1000",
     {37000, 37001, 37002, 37003, 37004, 37005, 37006, 37007, 37008, 37009},
     UINT64_C(0x29a583f4197ca6a7)},
};

static uint64_t mix_of(const uint64_t *ids, size_t n) {
    uint64_t mix = 0;
    for (size_t i = 0; i < n; i++) mix = lab_mix(mix + ids[i]);
    return mix;
}

static void streams_are_the_same_for_ever(void **state) {
    (void)state;
    for (size_t g = 0; g < sizeof golden / sizeof *golden; g++) {
        size_t n;
        uint64_t *ids = collect(golden[g].spec, 1, &n);
        assert_int_equal(n, 100000);
        for (int i = 0; i < 10; i++) assert_int_equal(ids[i], golden[g].first[i]);
        assert_int_equal(mix_of(ids, n), golden[g].mix);
        free(ids);
    }
}

static void portions_do_not_matter(void **state) {
    (void)state;
    for (size_t g = 0; g < sizeof golden / sizeof *golden; g++) {
        uint64_t ids[1024], mix = 0;
        lab_rng rng = lab_rng_of(g, 7);
        lab_stream *s;
        assert_int_equal(lab_stream_new(&s, golden[g].spec, 1, NULL), WEIR_OK);
        assert_int_equal(lab_stream_length(s), 100000);
        for (size_t got; (got = lab_stream_next(s, ids, 1 + lab_rng_below(&rng, 1024))) > 0;)
            for (size_t i = 0; i < got; i++) {
                assert_true(ids[i] < lab_stream_universe(s));
                mix = lab_mix(mix + ids[i]);
            }
        assert_int_equal(mix, golden[g].mix);
        assert_int_equal(lab_stream_next(s, ids, 1), 0);
        lab_stream_free(s);
    }
}

static void seeds_matter(void **state) {
    (void)state;
    for (size_t g = 0; g < sizeof golden / sizeof *golden; g++) {
        size_t n;
        uint64_t *ids = collect(golden[g].spec, 2, &n);
        assert_true(mix_of(ids, n) != golden[g].mix);
        free(ids);
    }
}

/* --- files --------------------------------------------------------------------------------- */

static void write_file(const char *path, const void *bytes, size_t length) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    fclose(f);
}

static void columns_choose_the_key(void **state) {
    (void)state;
    static const char text[] = "a\tb\tc\td\nx\tb\tc\ty\na\tbc\t\td\nshort\na\tb\tc\td";
    const char *path = scratch_path("columns.tsv");
    char spec[300];
    size_t n;
    write_file(path, text, sizeof text - 1);
    snprintf(spec, sizeof spec, "file:path=%s", path);
    uint64_t *ids = collect(spec, 0, &n);
    assert_int_equal(n, 5);
    assert_true(ids[0] == ids[4] && ids[0] != ids[1]);
    free(ids);
    snprintf(spec, sizeof spec, "file:path=%s,columns=2-3", path);
    ids = collect(spec, 0, &n);
    assert_int_equal(n, 5);
    assert_true(ids[0] == ids[1] && ids[0] == ids[4]);
    assert_true(ids[0] != ids[2]); /* "bc","" is not "b","c" */
    free(ids);
    snprintf(spec, sizeof spec, "file:path=%s,columns=1+4", path);
    ids = collect(spec, 0, &n);
    assert_true(ids[0] == ids[2] && ids[0] != ids[1]);
    free(ids);
}

/* A file of several zstd frames gives the ids of its plain text, also where
 * lines are longer than the reader's buffer. */
static void zstd_is_recognised(void **state) {
    (void)state;
    size_t length = 0, bound = ZSTD_compressBound(4 << 20), packed = 0, n, m;
    char *text = malloc(4 << 20), spec[300];
    unsigned char *squeezed = malloc(2 * bound);
    for (int i = 0; i < 40000; i++) length += (size_t)sprintf(text + length, "line %d\n", i % 9000);
    memset(text + length, 'x', 1 << 20);
    length += 1 << 20;
    text[length++] = '\n';
    packed = ZSTD_compress(squeezed, bound, text, length / 2, 3);
    packed += ZSTD_compress(squeezed + packed, bound, text + length / 2, length - length / 2, 3);
    const char *plain = scratch_path("plain"), *zst = scratch_path("squeezed");
    write_file(plain, text, length);
    write_file(zst, squeezed, packed);
    snprintf(spec, sizeof spec, "file:path=%s", plain);
    uint64_t *a = collect(spec, 0, &n);
    snprintf(spec, sizeof spec, "file:path=%s", zst);
    uint64_t *b = collect(spec, 0, &m);
    assert_int_equal(n, 40001);
    assert_int_equal(m, n);
    assert_memory_equal(a, b, n * sizeof *a);
    weir_error err;
    uint64_t *c;
    write_file(zst, squeezed, packed - 10);
    assert_int_equal(lab_stream_collect(&c, &m, spec, 0, &err), WEIR_ERR_CORRUPT);
    squeezed[packed / 2] ^= 0x55;
    write_file(zst, squeezed, packed);
    (void)lab_stream_collect(&c, &m, spec, 0, &err); /* damaged, or by luck not: no crash */
    free(c);
    free(a);
    free(b);
    free(text);
    free(squeezed);
}

/* The real streams, where they are: their counts as documented with them. */
static void real_streams_have_their_counts(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t records;
        double distinct;
    } known[] = {{"weblog", 206860, 50.1},
                 {"trending", 313187, 8.4},
                 {"recommendations", 1245184, 20.8},
                 {"block_trace", 3912296, 19.5},
                 {"flows", 152344, 45.2},
                 {"package_titles", 63620, 94.3},
                 {"repo_urls", 2762291, 61.0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t *ids;
        size_t n;
        weir_error err;
        if (lab_stream_collect(&ids, &n, known[i].name, 0, &err)) {
            assert_int_equal(err.code, WEIR_ERR_IO);
            print_message("# skipped %s: %s\n", known[i].name, err.message);
            continue;
        }
        lab_truth *truth = lab_truth_new(ids, n);
        assert_int_equal(n, known[i].records);
        assert_true(fabs(100.0 * (double)truth->distinct / (double)n - known[i].distinct) < 0.06);
        lab_truth_free(truth);
        free(ids);
    }
}

/* --- bad specs --------------------------------------------------------------------------- */

static void bad_specs_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        weir_status status;
    } bad[] = {{"", WEIR_ERR_SPEC},
               {"unifrom:n=3", WEIR_ERR_SPEC},
               {"uniform", WEIR_ERR_SPEC},
               {"uniform:n=3", WEIR_ERR_SPEC},
               {"uniform:n=3,universe=2,distinct=50%", WEIR_ERR_SPEC},
               {"uniform:n=3,universe=0", WEIR_ERR_RANGE},
               {"uniform:n=3,colour=2", WEIR_ERR_SPEC},
               {"uniform:n", WEIR_ERR_SPEC},
               {"uniform:n=three,universe=2", WEIR_ERR_RANGE},
               {"zipf:n=3,s=1", WEIR_ERR_SPEC},
               {"zipf:n=3,domain=9", WEIR_ERR_SPEC},
               {"zipf:n=3,s=-1,domain=9", WEIR_ERR_RANGE},
               {"zipf:n=3,s=1x,domain=9", WEIR_ERR_RANGE},
               {"zipf:n=3,s=nan,domain=9", WEIR_ERR_RANGE},
               {"poisson:n=3,lambda=1.5,u=3", WEIR_ERR_RANGE},
               {"poisson:n=3,lambda=0.5", WEIR_ERR_SPEC},
               {"bmodel:n=1M,b=0.4,l=1,v=0.1,u=5", WEIR_ERR_RANGE},
               {"bmodel:n=1M,b=0.7,l=7,v=0.1,u=5", WEIR_ERR_RANGE}, /* the thesis: l <= 6 */
               {"bmodel:n=1M,b=0.8,l=2,v=0.5,u=5", WEIR_ERR_RANGE}, /* the thesis: l <= 1 */
               {"bmodel:n=10,b=0.5,l=6,v=0.1,u=5", WEIR_ERR_RANGE},
               {"bmodel:n=1M,b=0.7,l=2,v=0.1,u=5,order=last", WEIR_ERR_SPEC},
               {"weblog:n=3", WEIR_ERR_SPEC},
               {"file:columns=2", WEIR_ERR_SPEC},
               {"file:path=/,columns=2", WEIR_ERR_IO},
               {"file:path=x,columns=2*3", WEIR_ERR_SPEC},
               {"file:path=/no/such/file", WEIR_ERR_IO}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_stream *s = (lab_stream *)&s;
        weir_error err = {0};
        weir_status status = lab_stream_new(&s, bad[i].spec, 1, &err);
        if (status != bad[i].status) fail_msg("%s: %d %s", bad[i].spec, status, err.message);
        assert_null(s);
        assert_int_equal(err.code, status);
        assert_true(strlen(err.message) > 5);
    }
    lab_stream *s;
    assert_int_equal(lab_stream_new(&s, "bmodel:n=1M,b=0.7,l=6,v=0.1,u=5", 1, NULL), WEIR_OK);
    lab_stream_free(s);
    assert_int_equal(lab_stream_new(&s, "bmodel:n=1M,b=0.8,l=1,v=0.5,u=5", 1, NULL), WEIR_OK);
    lab_stream_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(math_agrees_with_the_library),
        cmocka_unit_test(below_is_even_and_within),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(universe_follows_from_the_share),
        cmocka_unit_test(zipf_has_exact_probabilities),
        cmocka_unit_test(zipf_is_right_in_the_tail),
        cmocka_unit_test(zipf_takes_the_smallest_domains),
        cmocka_unit_test(poisson_is_poisson),
        cmocka_unit_test(bmodel_has_its_volumes),
        cmocka_unit_test(bmodel_flips_and_spreads),
        cmocka_unit_test(bmodel_fills_what_it_may),
        cmocka_unit_test(streams_are_the_same_for_ever),
        cmocka_unit_test(portions_do_not_matter),
        cmocka_unit_test(seeds_matter),
        cmocka_unit_test(columns_choose_the_key),
        cmocka_unit_test(zstd_is_recognised),
        cmocka_unit_test(real_streams_have_their_counts),
        cmocka_unit_test(bad_specs_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
