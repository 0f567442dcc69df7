/* test_reservoir.c - the reservoir sampling Bloom filter against a slow twin, the
 * paper's tables, and what could be saved of its formulas. */
#include "filter/reservoir.h"
#include "theory.h"
#include "twin.h"

enum { K_PLACE = WEIR__OPT_OWN, PSTAR, READING, AIM, LAYOUT };

static unsigned k_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, K_PLACE); }

/* --- the twin: a byte for each bit ------------------------------------------------- */

typedef struct {
    unsigned char *bits;
    uint64_t s, lines, rng, i; /* lines: 0 for classic */
    unsigned k;
    double pstar;
    bool text;
} twin;

/* Filter j of a key: where it begins, how long it is, and the key's bit in it. */
static uint64_t twin_size(const twin *t) { return t->lines ? 512 / t->k : t->s; }
static uint64_t twin_low(const twin *t, uint64_t hash, unsigned j) {
    return t->lines ? twin_scale(hash, t->lines) * 512 + j * twin_size(t) : j * t->s;
}
static uint64_t twin_place(const twin *t, uint64_t hash, uint64_t word, unsigned j) {
    if (!t->lines) return j * t->s + twin_probe(word, j, t->s);
    return twin_scale(hash, t->lines) * 512 + twin_group_cell(word, j, 512 / t->k);
}

/* The first set bit of a filter from a place on, looking through 64 words. */
static void twin_clear_set_bit(twin *t, uint64_t low, uint64_t from) {
    uint64_t words = 0;
    for (uint64_t at = from;;) {
        if (t->bits[at]) {
            t->bits[at] = 0;
            return;
        }
        uint64_t next = at + 1 == low + twin_size(t) ? low : at + 1;
        if (next / 64 != at / 64 || next < at) words++;
        if (words == 64) return;
        at = next;
    }
}

static bool twin_offer(twin *t, uint64_t hash) {
    bool all = true;
    uint64_t random = twin_mix(t->rng += UINT64_C(0x9e3779b97f4a7c15)), i = ++t->i;
    uint64_t word = t->lines ? hash * t->lines : hash,
             total = t->lines ? t->lines * twin_size(t) : t->s;
    for (unsigned j = 0; j < t->k; j++) all &= t->bits[twin_place(t, hash, word, j)];
    bool drawn = i <= total || twin_scale(random, i) < total;
    bool forced = !drawn && !all && (double)total / (double)i <= t->pstar;
    for (unsigned j = 0; j < t->k; j++) {
        uint64_t mine = twin_place(t, hash, word, j);
        uint64_t other = twin_place(t, hash, twin_mix(random), j);
        if (drawn && (!t->text || i > total)) t->bits[other] = 0;
        if (forced && !t->bits[mine]) twin_clear_set_bit(t, twin_low(t, hash, j), other);
        if (drawn || forced) t->bits[mine] = 1;
    }
    return all;
}

static void compare_with_twin(const char *spec, uint64_t keys) {
    weir_filter *f = make_filter(spec);
    uint64_t bits = f->cells_bytes * 8;
    twin t = {.bits = calloc(bits, 1), .k = k_of(f), .pstar = weir__opt_rate(f, PSTAR)};
    t.s = bits / t.k;
    t.lines = weir__opt_whole(f, LAYOUT) == 1 ? f->cells_bytes / 64 : 0;
    t.rng = *weir__filter_state(f);
    t.text = weir__opt_whole(f, READING) == 1;
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t hash = skewed_key(3, i, 20000);
        bool expected = twin_offer(&t, hash);
        assert_int_equal(offer_hash(f, hash), expected);
    }
    for (uint64_t i = 0; i < bits; i++) assert_int_equal(f->cells[i / 8] >> (i % 8) & 1, t.bits[i]);
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    free(t.bits);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const char *const readings[] = {"tables", "text"};
    static const char *const more[] = {"k=1",  "k=2",        "k=3", "k=16,pstar=50%",
                                       "k=64", "k=3,pstar=1"};
    for (int r = 0; r < 4; r++)
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "reservoir:memory=1K,seed=9,layout=%s,reading=%s,%s",
                     r < 2 ? "classic" : "block", readings[r % 2], more[i]);
            compare_with_twin(spec, 30000);
        }
    /* few keys for long, then many: hardly a set bit to be found */
    weir_filter *f = make_filter("reservoir:memory=64K,k=2,seed=1,pstar=100%,reading=text");
    for (int i = 0; i < 300000; i++) offer_hash(f, 12345);
    offer_keys(f, 1, 0, 200000);
    weir_filter_info info;
    weir_filter_get_info(f, &info);
    printf("# after one key 300000 times and 200000 others: fill %.3f\n", info.fill);
    assert_true(info.fill > 0.01);
    weir_filter_free(f);
}

/* --- the paper's tables -------------------------------------------------------------- */

/* Uniform draws: false negatives and positives in percent. */
static void measure(const char *spec, uint64_t draws, uint64_t universe, double *fnr, double *fpr) {
    weir_filter *f = make_filter(spec);
    unsigned char *came = calloc(universe, 1);
    uint64_t keys[1024], hashes[1024], verdicts[16];
    double firsts = 0, repeats = 0, false_seen = 0, false_new = 0;
    for (uint64_t at = 0; at < draws; at += 1024) {
        for (uint64_t i = 0; i < 1024; i++) {
            keys[i] = twin_scale(test_word(17, at + i), universe);
            hashes[i] = test_word(18, keys[i]);
        }
        weir_filter_offer_batch(f, &(weir_batch){.count = 1024, .hashes = hashes}, verdicts);
        for (uint64_t i = 0; i < 1024; i++) {
            bool seen = verdicts[i / 64] >> (i % 64) & 1;
            if (came[keys[i]]) {
                repeats++, false_new += !seen;
            } else {
                firsts++, false_seen += seen;
            }
            came[keys[i]] = 1;
        }
    }
    *fnr = 100 * false_new / repeats, *fpr = 100 * false_seen / firsts;
    free(came);
    weir_filter_free(f);
}

/* Streams are scaled down (draws, keys and bits alike), which leaves the rates
 * as they were but for chance. `far`: how far off we may be, in points. */
static void test_tables(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t draws, universe, bits;
        unsigned k;
        double fnr, fpr, far_fnr, far_fpr;
    } rows[] = {
        {"table 2 row 1", 100000, 170000, 16384, 3, 84.49, 11.22, 0.7, 0.7},
        {"table 2 row 2", 100000, 170000, 65536, 3, 74.85, 8.384, 0.7, 0.7},
        {"table 2 row 3", 100000, 170000, 4194304, 3, 6.29, 0.00263, 0.7, 0.02},
        {"table 3 row 1, 1/10", 1000000, 630000, 1638, 3, 87.52, 12.464, 0.7, 0.7},
        {"table 3 row 2, 1/10", 1000000, 630000, 26214, 3, 86.89, 12.12, 0.7, 0.7},
        {"table 3 row 3, 1/10", 1000000, 630000, 419430, 3, 77.73, 7.914, 0.9, 0.7},
        {"table 4 row 3, 1/1000", 695000, 104000, 1073741, 2, 23.12, 0.89, 0.7, 0.15},
        {"table 4 row 4, 1/1000", 695000, 104000, 4294967, 2, 7.37, 0.072, 0.4, 0.04},
        {"table 5 row 1, 1/1000", 1000000, 100000, 67108, 2, 67.66, 10.262, 0.7, 100},
        {"table 5 row 2, 1/1000", 1000000, 100000, 1073741, 2, 23.47, 0.83, 0.7, 0.15},
        {"table 5 row 3, 1/1000", 1000000, 100000, 4294967, 2, 7.53, 0.0664, 0.4, 0.04},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char spec[128];
        double fnr, fpr, text_fnr, text_fpr;
        snprintf(spec, sizeof spec, "reservoir:memory=%llu,k=%u,seed=1",
                 (unsigned long long)(rows[i].bits / 8 < 1024 ? 1024 : rows[i].bits / 8),
                 rows[i].k);
        uint64_t draws = rows[i].draws, universe = rows[i].universe;
        if (rows[i].bits / 8 < 1024) draws *= 5, universe *= 5; /* the least memory there is */
        measure(spec, draws, universe, &fnr, &fpr);
        strcat(spec, ",reading=text");
        measure(spec, draws, universe, &text_fnr, &text_fpr);
        printf("# %-22s fnr/fpr %6.2f %8.4f, paper %6.2f %8.4f, by the text %6.2f %8.4f\n",
               rows[i].name, fnr, fpr, rows[i].fnr, rows[i].fpr, text_fnr, text_fpr);
        assert_true(fabs(fnr - rows[i].fnr) < rows[i].far_fnr);
        assert_true(fabs(fpr - rows[i].fpr) < rows[i].far_fpr);
        if (strstr(rows[i].name, "2 row 3") || strstr(rows[i].name, "5 row 3"))
            assert_true(text_fnr == 0); /* so the text is not what was run */
    }
}

/* --- formulas --------------------------------------------------------------------- */

static void test_equations(void **state) {
    (void)state;
    /* 5.27: the k of the paper's threshold, and its mean with 1 */
    assert_true(fabs(weir__reservoir_k(0.1) - 5.0201) < 0.001);
    assert_true(fabs(pow(1 - exp(-1), weir__reservoir_k(0.003)) - 0.003) < 1e-9);

    /* 5.18 to 5.21 added up give 5.22; and the variance as derived */
    for (double ones = 0; ones <= 40; ones += 8) {
        double s = 40, p = 0.3, l = ones;
        double down = p * l * (l - 1) / (s * s), up = p * (s - l) / s * (s - l) / s;
        double stay = 1 - p + p * (l * (s - l + 1) / (s * s) + l * (s - l) / (s * s));
        if (l > 0) assert_true(fabs(down + stay + up - 1) < 0.02); /* 5.20 is off by (s-l)/s^2 */
        double mean = l + up - down, variance = up + down - (up - down) * (up - down);
        assert_true(fabs(weir__reservoir_ones_next(l, s, p) - mean) < 1e-9);
        assert_true(fabs(weir__reservoir_ones_variance(l, s, p) - variance) < 1e-9);
    }
    double fixed = 1000 / (2 - 1 / 1000.0);
    assert_true(fabs(weir__reservoir_ones_next(fixed, 1000, 0.5) - fixed) < 1e-9);

    /* the share of ones in closed form is 5.22 step by step */
    double s = 5000, ones = 0;
    for (double i = 1; i <= 50000; i++) {
        ones = weir__reservoir_ones_next(ones, s, fmin(1, s / i));
        if (fmod(i, 5000) == 0) assert_true(fabs(ones / s - weir__reservoir_fill(i, s)) < 2e-4);
    }
}

/* One step, many times: 5.22 and 5.24. */
/* The printed equations beside ours, both as chances over all keys, on uniform streams: at 16 s
 * records 5.7 lets nearly every new key be called seen, and 5.17 says that next to none is
 * forgotten. */
static void test_printed_equations(void **state) {
    (void)state;
    const double s = 8192, k = 3, universe = 65536, m = 16 * s;
    double unique = exp(m * log1p(-1 / universe));
    double ours_fpr = unique * weir__reservoir_fpr(m, s, k);
    double ours_fnr = (1 - unique) * weir__reservoir_fnr(m, s, k, universe);
    double printed_fpr = weir__reservoir_printed_fpr(m, s, k, universe);
    double printed_fnr = weir__reservoir_printed_fnr(m, s, k, universe);
    double came = 0, false_new = 0, fresh = 0, false_seen = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        char spec[96];
        snprintf(spec, sizeof spec, "reservoir:memory=3K,k=3,pstar=0.01%%,seed=%llu",
                 (unsigned long long)seed);
        weir_filter *f = make_filter(spec);
        unsigned char *known = calloc((size_t)universe, 1);
        for (uint64_t i = 0; i < (uint64_t)(1.05 * m); i++) {
            uint64_t key = test_word(seed, i) % (uint64_t)universe;
            bool seen = offer_hash(f, test_word(99, key)), was = known[key];
            known[key] = 1;
            if (i < (uint64_t)(0.95 * m)) continue;
            came += was, fresh += !was;
            false_new += was && !seen, false_seen += !was && seen;
        }
        free(known);
        weir_filter_free(f);
    }
    double all = came + fresh;
    printf("# at 16 s: called seen though new %.4f, ours %.4f, eq. 5.7 %.4f; called new though it "
           "came %.4f, ours %.4f, eq. 5.14-5.17 %.6f\n",
           false_seen / all, ours_fpr, printed_fpr, false_new / all, ours_fnr, printed_fnr);
    assert_true(fabs(false_seen / all - ours_fpr) < 0.1 * ours_fpr + 0.002);
    assert_true(fabs(false_new / all - ours_fnr) < 0.1 * ours_fnr);
    assert_true(printed_fpr > 3 * false_seen / all);
    assert_true(printed_fnr < 0.01 * false_new / all);
}

/* In parallel: slices of the stream by key, each with its own reservoir, forget as one does. */
static void test_parallel(void **state) {
    (void)state;
    double one_fnr, one_fpr, four_fnr, four_fpr;
    measure("reservoir:memory=16K,fpr=10%,seed=1", 400000, 100000, &one_fnr, &one_fpr);
    measure("horizontal:slices=4,of=(reservoir),memory=16K,fpr=10%,seed=1", 400000, 100000,
            &four_fnr, &four_fpr);
    printf("# one reservoir: FNR %.4f, FPR %.4f; four: %.4f, %.4f\n", one_fnr, one_fpr, four_fnr,
           four_fpr);
    assert_true(one_fnr > 0.1 && fabs(four_fnr - one_fnr) < 0.05 * one_fnr);
    assert_true(fabs(four_fpr - one_fpr) < 0.1 * one_fpr + 0.002);
}

static void test_one_step(void **state) {
    (void)state;
    for (int drawn = 1; drawn <= 4; drawn++) {
        spread change = {0};
        double s = 8192, expected_variance = 0;
        weir_filter *f = make_filter("reservoir:memory=1K,k=1,seed=1,pstar=0.0001%");
        offer_keys(f, 1, 0, (uint64_t)(drawn * 3000));
        for (int i = 0; i < 20000; i++) {
            double before = 0, after = 0;
            for (int b = 0; b < 1024; b++) before += __builtin_popcount(f->cells[b]);
            double p = fmin(1, s / ((double)f->offered + 1));
            offer_hash(f, test_word(2, (uint64_t)i));
            for (int b = 0; b < 1024; b++) after += __builtin_popcount(f->cells[b]);
            spread_add(&change, after - weir__reservoir_ones_next(before, s, p));
            expected_variance += weir__reservoir_ones_variance(before, s, p) / 20000;
        }
        double variance = change.squares / change.n;
        expect_within("5.22, mean of a step less its formula", spread_mean(&change), 0,
                      sqrt(expected_variance / change.n));
        printf("# 5.24, variance of a step: %.4f, formula %.4f\n", variance, expected_variance);
        assert_true(fabs(variance / expected_variance - 1) < 0.05);
        weir_filter_free(f);
    }
}

/* Fill, false positives and false negatives along a uniform stream. */
static void rates_along_a_stream(const char *layout) {
    bool block = layout[0] == 'b';
    enum { UNIVERSE = 400000, FILTERS = 60 }; /* many keys to a bit, as the formulas suppose */
    static const uint64_t lengths[] = {5000, 20000, 80000, 200000};
    spread fill[4] = {{0}}, fpr[4] = {{0}}, fnr[4] = {{0}};
    double s = 0, k = 3;
    unsigned char *came = malloc(UNIVERSE);
    for (uint64_t seed = 0; seed < FILTERS; seed++) {
        char spec[128];
        snprintf(spec, sizeof spec, "reservoir:memory=1K,k=3,pstar=1e-6,seed=%llu,layout=%s",
                 (unsigned long long)seed, layout);
        weir_filter *f = make_filter(spec);
        memset(came, 0, UNIVERSE);
        s = block ? 16 * 170 : (double)(f->cells_bytes * 8 / 3);
        uint64_t done = 0;
        for (int l = 0; l < 4; l++) {
            for (; done < lengths[l]; done++) {
                uint64_t key = twin_scale(test_word(seed + 500, done), UNIVERSE);
                came[key] = 1;
                offer_hash(f, test_word(3, key));
            }
            weir_filter_info info;
            weir_filter_get_info(f, &info);
            spread_add(&fill[l], info.fill);
            spread_add(&fpr[l], test_keys(f, 4, 0, 4000) / 4000);
            double lost = 0, n = 0;
            for (uint64_t key = seed; key < UNIVERSE; key += 97)
                if (came[key]) lost += !test_hash(f, test_word(3, key)), n++;
            spread_add(&fnr[l], lost / n);
        }
        weir_filter_free(f);
    }
    free(came);
    for (int l = 0; l < 4; l++) {
        char what[80];
        double i = (double)lengths[l];
        snprintf(what, sizeof what, "%s: fill after %.0f keys (s = %.0f)", layout, i, s);
        expect_mean(what, &fill[l], weir__reservoir_fill(i, s));
        snprintf(what, sizeof what, "false positives after %.0f keys", i);
        expect_mean(what, &fpr[l],
                    block ? weir__reservoir_line_fpr(i, 16, k) : weir__reservoir_fpr(i, s, k));
        snprintf(what, sizeof what, "false negatives after %.0f keys of %d", i, UNIVERSE);
        expect_mean(what, &fnr[l],
                    block ? weir__reservoir_line_fnr(i, 16, k, UNIVERSE)
                          : weir__reservoir_fnr(i, s, k, UNIVERSE));
    }
}

static void test_rates_along_a_stream(void **state) {
    (void)state;
    rates_along_a_stream("classic");
    rates_along_a_stream("block");
}

/* aim=fpr keeps the bound at every time; the paper's mean does not. */
static void test_bound(void **state) {
    (void)state;
    static const char *const readings[] = {"tables", "text"};
    static const double fprs[] = {0.1, 0.01};
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < 2; i++) {
            char spec[128];
            snprintf(spec, sizeof spec,
                     "reservoir:memory=8K,fpr=%g,aim=fpr,seed=1,reading=%s,layout=%s", fprs[i],
                     readings[r % 2], r < 2 ? "classic" : "block");
            weir_filter *f = make_filter(spec);
            for (uint64_t at = 0; at < 1000000; at += 50000) {
                offer_keys(f, 1, at, 50000);
                double hits = test_keys(f, 2, 0, 20000);
                if (hits / 20000 > fprs[i] || at == 950000)
                    expect_at_most(spec, hits, 20000, fprs[i]);
            }
            weir_filter_free(f);
        }
}

/* By the tables keys are lost from the first on, by the text after s. */
static void test_overfull(void **state) {
    (void)state;
    expect_overfull_when_lost("reservoir:memory=16K,fpr=10%");
    expect_overfull_when_lost("reservoir:memory=16K,fpr=1%,layout=block");
    weir_filter *f = make_filter("reservoir:memory=1K,fpr=10%,reading=text,seed=1");
    uint64_t n = keys_until_overfull(f, 1, 100000);
    assert_int_equal(n, 8192 / 3 + 1);
    weir_filter_free(f);
}

/* --- options ---------------------------------------------------------------------- */

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {{"reservoir:memory=1K,fpr=10%", K_PLACE, 3, 3},
                                          {"reservoir:memory=1K,fpr=10%,aim=fpr", K_PLACE, 6, 6},
                                          {"reservoir:memory=1K,fpr=10%,aim=fnr", K_PLACE, 1, 1},
                                          {"reservoir:memory=1K,fpr=1%", K_PLACE, 6, 6},
                                          {"reservoir:memory=1K,fpr=0.0001%", K_PLACE, 16, 16},
                                          {"reservoir:memory=1K,fpr=50%", K_PLACE, 1, 1},
                                          {"reservoir:memory=1K,fpr=10%,k=7", K_PLACE, 7, 7},
                                          {NULL, 0, 0, 0}};
    expect_resolutions(resolved);
    static const refusal refused[] = {
        {"reservoir:k=0", "out of range", "k="},
        {"reservoir:k=65", "out of range", "k="},
        {"reservoir:pstar=0", "pstar", "pstar="},
        {"reservoir:pstar=1.5", "pstar", NULL},
        {"reservoir:reading=table", "did you mean 'tables'", "reading="},
        {"reservoir:aim=low", "aim", "aim="},
        {"reservoir:layout=line", "layout", "layout="},
        {NULL, NULL, NULL}};
    expect_refusals(refused);
    expect_no_merge("reservoir:memory=1K", "how long its stream was");

    weir_filter *f = make_filter("reservoir:memory=1K,seed=1");
    weir__filter_state(f)[1] = 5; /* keys counted, none offered */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
}

static const char *const some[] = {
    "reservoir:memory=1K,fpr=10%,seed=1",
    "reservoir:memory=1K,fpr=1e-6,seed=1",
    "reservoir:memory=1K,fpr=10%,seed=1,reading=text",
    "reservoir:memory=4K,fpr=1e-9,aim=fpr,seed=1",
    "reservoir:memory=1K,fpr=10%,seed=1,reading=text,pstar=80%",
    "reservoir:memory=1K,fpr=10%,seed=1,layout=block",
    "reservoir:memory=1K,fpr=1e-6,seed=1,reading=text,pstar=80%,layout=block",
    NULL};

static void test_contract(void **state) {
    (void)state;
    expect_contract(some, 5);
}

/* With the paper's k the rate passes fpr; what is said to bound it is what it comes to. */
static void test_bound_is_what_k_allows(void **state) {
    (void)state;
    static const char *const specs[] = {"reservoir:memory=4K,fpr=10%,seed=1",
                                        "reservoir:memory=4K,fpr=10%,seed=1,aim=fnr,layout=block",
                                        "reservoir:memory=4K,fpr=10%,seed=1,aim=fpr"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        weir_filter *filter = make_filter(specs[i]);
        weir_filter_info info;
        for (uint64_t key = 0; key < 400000; key++) offer_hash(filter, test_word(5, key));
        weir_filter_get_info(filter, &info);
        assert_true(info.fpr_now < 1.05 * info.fpr_bound);
        assert_true(i == 2 ? info.fpr_bound == 0.1 : info.fpr_bound > 0.12);
        weir_filter_free(filter);
    }
}

/* At key 16 s a fresh key is drawn with probability 1/16, 1/4 or 1; NEW keys beyond p* are left out
 * of this by a p* that is never reached. Two thousand keys: 5 deviations are 2.7, 4.8 points and 0.
 */
static void test_bias(void **state) {
    (void)state;
    static const struct {
        const char *bias;
        double drawn, within;
    } ways[] = {{"threshold", 1.0 / 16, 0.03}, {"root", 0.25, 0.05}, {"recent", 1, 0.001}};
    for (int block = 0; block < 2; block++)
        for (size_t w = 0; w < 3; w++) {
            char spec[160];
            weir_filter_info info;
            snprintf(spec, sizeof spec,
                     "reservoir:memory=64K,k=8,pstar=0.0001%%,seed=3,layout=%s,bias=%s",
                     block ? "block" : "classic", ways[w].bias);
            weir_filter *f = make_filter(spec);
            const uint64_t s = 65536;
            offer_keys(f, 1, 0, 16 * s);
            unsigned known = 0, seen = 0;
            for (uint64_t i = 0; i < 2000; i++) {
                uint64_t verdict, hash = test_word(9, i);
                weir_batch one = {.count = 1, .hashes = &hash};
                seen += weir_filter_offer_batch(f, &one, &verdict) == 1;
                known += weir_filter_test_batch(f, &one, &verdict) == 1;
            }
            weir_filter_get_info(f, &info);
            double fpr = seen / 2000.0, drawn = (known / 2000.0 - fpr) / (1 - fpr);
            if (fabs(drawn - ways[w].drawn) > ways[w].within)
                fail_msg("%s: %.4f are drawn, expected %.4f", spec, drawn, ways[w].drawn);
            assert_true(fpr < info.fpr_bound + 5 * sqrt(info.fpr_bound / 2000));
            weir_filter_free(f);
        }
}

/* Repeats that come soon are known better if the latest keys are kept, those of any time ago worse.
 */
static void test_bias_for_the_recent(void **state) {
    (void)state;
    static const char *const biases[] = {"threshold", "recent"};
    static uint64_t keys[200000];
    unsigned passed[2][2] = {{0}};
    for (size_t w = 0; w < 2; w++)
        for (int near = 0; near < 2; near++) {
            char spec[120];
            snprintf(spec, sizeof spec, "reservoir:memory=4K,k=4,seed=3,bias=%s", biases[w]);
            weir_filter *f = make_filter(spec);
            for (uint64_t i = 0; i < 200000; i++) {
                uint64_t back = near ? 20 : 1 + test_word(8, i) % (i + !i), verdict;
                bool repeat = i > 20 && test_word(7, i) % 2;
                uint64_t hash = repeat ? keys[i - back] : test_word(6, i);
                keys[i] = hash;
                weir_batch one = {.count = 1, .hashes = &hash};
                bool known = weir_filter_offer_batch(f, &one, &verdict) == 1;
                passed[w][near] += repeat && !known;
            }
            weir_filter_free(f);
        }
    if (passed[1][1] * 2 > passed[0][1] || passed[1][0] < passed[0][0])
        fail_msg("near: %u pass with threshold, %u with recent; at any distance %u, %u",
                 passed[0][1], passed[1][1], passed[0][0], passed[1][0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_is_what_k_allows),
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_equations),
        cmocka_unit_test(test_printed_equations),
        cmocka_unit_test(test_parallel),
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_rates_along_a_stream),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_overfull),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_bias),
        cmocka_unit_test(test_bias_for_the_recent),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
