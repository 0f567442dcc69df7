/* test_pairs.c - summaries of pairs against exact counts, and their formulas
 * against what they do. */
#include <math.h>

#include "pairs/pairs.h"
#include "pairs/pairsize.h"
#include "theory.h"

enum { D = 6, S = 4 };

/* ---- records with similar ones among them ---- */

/* Clusters of up to `most` records around a centre, each value kept with
 * probability 0.8. */
static uint64_t *clustered(size_t n, uint64_t most, unsigned d, uint64_t seed) {
    uint64_t *rows = malloc(n * d * sizeof *rows), rng = seed, centre[64];
    for (size_t i = 0; i < n;) {
        size_t size = 1 + weir__rng_below(&rng, most);
        for (unsigned c = 0; c < d; c++) centre[c] = weir__rng_next(&rng);
        for (size_t j = 0; j < size && i < n; j++, i++)
            for (unsigned c = 0; c < d; c++)
                rows[i * d + c] = weir__rng_below(&rng, 10) < 8 ? centre[c] : weir__rng_next(&rng);
    }
    return rows;
}

/* Few values a column, so that many records agree by chance. */
static uint64_t *crowded(size_t n, unsigned d, uint64_t values, uint64_t seed) {
    uint64_t *rows = malloc(n * d * sizeof *rows), rng = seed;
    for (size_t i = 0; i < n * d; i++) rows[i] = 1 + weir__rng_below(&rng, values);
    return rows;
}

static weir_pairs *make_pairs(const char *spec) {
    weir_pairs *p;
    weir_error err = {0};
    if (weir_pairs_new(&p, spec, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    return p;
}

static weir_pairs *fill(const char *spec, const uint64_t *rows, size_t n) {
    weir_pairs *p = make_pairs(spec);
    assert_int_equal(weir_pairs_add(p, 0, rows, n, NULL), WEIR_OK);
    return p;
}

static weir_pairs_answer self(weir_pairs *p) {
    weir_pairs_answer a;
    weir_error err = {0};
    if (weir_pairs_self(p, &a, &err) != WEIR_OK) fail_msg("%s", err.message);
    return a;
}

static weir_pairs_answer exact(const uint64_t *a, size_t n, const uint64_t *b, size_t m, unsigned d,
                               unsigned s, bool set, weir_exact_method method) {
    weir_pairs_answer out;
    weir_exact_options o = {d, s, set, method};
    assert_int_equal(weir_pairs_exact(&o, a, n, b, m, &out, NULL), WEIR_OK);
    return out;
}

/* ---- exact counts ---- */

static unsigned naive_agree(const uint64_t *a, const uint64_t *b, unsigned d, bool set) {
    unsigned same = 0;
    for (unsigned i = 0; i < d; i++)
        for (unsigned j = 0; j < d; j++)
            same += (set || i == j) && a[i] == b[j] && (!set || a[i] != 0);
    return same;
}

static void naive(const uint64_t *a, size_t n, const uint64_t *b, size_t m, unsigned d, bool set,
                  double count[65]) {
    memset(count, 0, 65 * sizeof *count);
    for (size_t i = 0; i < n; i++)
        for (size_t j = b ? 0 : i + 1; j < (b ? m : n); j++)
            count[naive_agree(a + i * d, (b ? b : a) + j * d, d, set)]++;
}

static void same_counts(const double *want, const weir_pairs_answer *got) {
    double sum = 0;
    for (unsigned k = got->threshold; k <= got->columns; k++) {
        assert_true(want[k] == got->count[k]);
        sum += want[k];
    }
    assert_true(sum == got->similar);
}

static void test_exact(void **state) {
    (void)state;
    double want[65];
    for (unsigned d = 1; d <= 8; d++) {
        uint64_t *a = crowded(400, d, 4, d), *b = crowded(300, d, 4, d + 50);
        for (unsigned s = 1; s <= d; s++)
            for (int method = 0; method < 3; method++) {
                weir_pairs_answer got =
                    exact(a, 400, NULL, 0, d, s, false, (weir_exact_method)method);
                naive(a, 400, NULL, 0, d, false, want);
                same_counts(want, &got);
                got = exact(a, 400, b, 300, d, s, false, (weir_exact_method)method);
                naive(a, 400, b, 300, d, false, want);
                same_counts(want, &got);
            }
        free(a);
        free(b);
    }
}

/* Sets of different sizes: items in any order, 0 for none. */
static uint64_t *sets(size_t n, unsigned d, uint64_t items, uint64_t seed) {
    uint64_t *rows = calloc(n * d, sizeof *rows), rng = seed;
    for (size_t i = 0; i < n; i++)
        for (unsigned c = 0, size = 1 + (unsigned)weir__rng_below(&rng, d); c < size;) {
            uint64_t item = 1 + weir__rng_below(&rng, items);
            unsigned j = 0;
            while (j < c && rows[i * d + j] != item) j++;
            if (j == c) rows[i * d + c++] = item;
        }
    return rows;
}

static void test_exact_sets(void **state) {
    (void)state;
    double want[65];
    enum { SET = 7 };
    uint64_t *a = sets(500, SET, 15, 3), *b = sets(200, SET, 15, 4);
    for (unsigned s = 1; s <= SET; s++) {
        weir_pairs_answer got = exact(a, 500, NULL, 0, SET, s, true, WEIR_EXACT_AUTO);
        naive(a, 500, NULL, 0, SET, true, want);
        same_counts(want, &got);
        got = exact(a, 500, b, 200, SET, s, true, WEIR_EXACT_AUTO);
        naive(a, 500, b, 200, SET, true, want);
        same_counts(want, &got);
    }
    free(a);
    free(b);
}

/* ---- all super-values drawn: no error ---- */

static void close_to(double want, double got) {
    if (fabs(want - got) > 1e-6 * (1 + fabs(want))) fail_msg("%.10g, not %.10g", got, want);
}

static void close_counts(const weir_pairs_answer *want, const weir_pairs_answer *got) {
    for (unsigned k = want->threshold; k <= want->columns; k++)
        close_to(want->count[k], got->count[k]);
    close_to(want->similar, got->similar);
    close_to(want->pairs, got->pairs);
}

static void test_whole_sample(void **state) {
    (void)state;
    for (unsigned d = 1; d <= 9; d++)
        for (unsigned s = 1; s <= d; s++) {
            char spec[128];
            uint64_t *a = crowded(500, d, 5, d), *b = crowded(400, d, 5, d + 9);
            snprintf(spec, sizeof spec,
                     "pairs:columns=%u,threshold=%u,sample=1,seed=1,draw=1,memory=4M", d, s);
            weir_pairs *p = fill(spec, a, 500);
            spec[strlen(spec) - 11]++; /* draw=2 */
            weir_pairs *q = fill(spec, b, 400);
            weir_pairs_answer got = self(p), want = exact(a, 500, NULL, 0, d, s, false, 0);
            close_counts(&want, &got);
            assert_true(got.similar_deviation < 1e-3 * (1 + got.similar));
            assert_int_equal(weir_pairs_join(p, q, &got, NULL), WEIR_OK);
            want = exact(a, 500, b, 400, d, s, false, 0);
            close_counts(&want, &got);
            assert_int_equal(weir_pairs_search(p, b, &got, NULL), WEIR_OK);
            want = exact(a, 500, b, 1, d, s, false, 0);
            close_counts(&want, &got);
            weir_pairs_free(p);
            weir_pairs_free(q);
            free(a);
            free(b);
        }
}

static void test_whole_sample_sets(void **state) {
    (void)state;
    enum { SET = 6 };
    uint64_t *a = sets(800, SET, 12, 1);
    weir_pairs *p = fill("pairs:columns=6,threshold=2,sample=1,from=set,memory=4M", a, 800);
    weir_pairs_answer got = self(p), want = exact(a, 800, NULL, 0, SET, 2, true, 0);
    close_counts(&want, &got);
    assert_int_equal(weir_pairs_search(p, a, &got, NULL), WEIR_OK);
    want = exact(a, 800, a, 1, SET, 2, true, 0);
    close_counts(&want, &got);
    weir_pairs_free(p);
    free(a);
}

/* ---- drawing ---- */

static void check_draws(const weir__level *level, bool listed) {
    enum { RECORDS = 20000 };
    uint64_t bitmap[1] = {0}, times[64] = {0}, both = 0;
    double l = level->drawn, n = level->subsets;
    assert_int_equal(level->ways != NULL, listed);
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint64_t rng = weir__draw_state(9, i);
        weir__draw(level, &rng, bitmap);
        assert_int_equal(__builtin_popcountll(bitmap[0]), level->drawn);
        both += (bitmap[0] & 3) == 3;
        for (unsigned s = 0; s < level->subsets; s++) times[s] += bitmap[0] >> s & 1;
        bitmap[0] = 0;
    }
    for (unsigned s = 0; s < level->subsets; s++)
        expect_rate("a subset is drawn", (double)times[s], RECORDS, l / n);
    expect_rate("two subsets are drawn", (double)both, RECORDS, l * (l - 1) / (n * (n - 1)));
}

static void test_draws(void **state) {
    (void)state;
    weir__shape shape;
    assert_int_equal(weir__shape_init(&shape, D, 1, 0.3, true, 7, NULL), WEIR_OK);
    static const uint32_t want[] = {2, 5, 6, 5, 2, 1}; /* ceil(0.3 C(6, k)) */
    for (unsigned i = 0; i < D; i++) assert_int_equal(shape.level[i].drawn, want[i]);
    check_draws(&shape.level[2], false); /* 6 of 20: 38,760 ways */
    check_draws(&shape.level[3], true);  /* 5 of 15: 3,003 */
    weir__shape_release(&shape);
}

/* Equal fingerprints mean equal values in the same columns. */
static void test_fingerprints(void **state) {
    (void)state;
    weir__shape shape;
    weir__labelled a, b;
    uint64_t row[D] = {1, 2, 3, 4, 5, 6}, other[D] = {2, 1, 3, 4, 5, 6}, seen[64];
    size_t n = 0;
    assert_int_equal(weir__shape_init(&shape, D, 1, 1, true, 3, NULL), WEIR_OK);
    weir__label(&shape, row, &a);
    weir__label(&shape, other, &b);
    for (unsigned i = 0; i < shape.levels; i++)
        for (uint32_t j = 0; j < shape.level[i].subsets; j++) {
            uint64_t x = weir__super_value(&shape.level[i], &a, j);
            uint64_t y = weir__super_value(&shape.level[i], &b, j);
            const weir__level *l = &shape.level[i];
            bool first_two = l->left_out; /* does the subset hold column 0 or 1? */
            unsigned out = 0;
            for (unsigned c = 0; c < l->listed; c++) out += l->lists[j * l->listed + c] < 2;
            first_two = l->left_out ? out < 2 : out > 0;
            assert_int_equal(x == y, !first_two);
            for (size_t k = 0; k < n; k++) assert_true(seen[k] != x);
            seen[n++] = x;
        }
    assert_int_equal(n, 63);
    weir__shape_release(&shape);
}

/* All super-values where they are few; half of them where they are many. */
static void test_default_sample(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        double sample;
        uint64_t per_record;
    } cases[] = {{"pairs:columns=6,threshold=4", 1, 22},
                 {"pairs:columns=6,threshold=1", 1, 63},
                 {"pairs:columns=7,threshold=3", 0.5, 52},
                 {"pairs:columns=6,threshold=4,sample=0.5", 0.5, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_pairs *p = make_pairs(cases[i].spec);
        weir_pairs_info info;
        weir_pairs_get_info(p, &info);
        assert_true(info.sample == cases[i].sample);
        assert_int_equal(info.per_record, cases[i].per_record);
        weir_pairs_free(p);
    }
}

/* The info says what the spec said. */
static void test_info(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        weir_pairs_from from;
        unsigned group;
    } cases[] = {{"pairs:columns=6,threshold=4,seed=7", WEIR_FROM_COLUMNS, 0},
                 {"pairs:columns=6,threshold=4,seed=7,from=set", WEIR_FROM_SET, 0},
                 {"pairs:columns=6,threshold=4,seed=7,from=text,group=3", WEIR_FROM_TEXT, 3},
                 {"pairs:columns=6,threshold=4,seed=7,from=cosine,group=5", WEIR_FROM_COSINE, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_pairs *p = make_pairs(cases[i].spec);
        weir_pairs_info info;
        weir_pairs_get_info(p, &info);
        assert_int_equal(info.seed, 7);
        assert_int_equal(info.from, cases[i].from);
        if (cases[i].group) assert_int_equal(info.group, cases[i].group);
        weir_pairs_free(p);
    }
}

/* Counters of 32 bits that are full say so; those of 64 go on. */
static void test_overflow(void **state) {
    (void)state;
    static const char *const specs[] = {
        "pairs:columns=2,threshold=2,method=online,width=16,depth=1,seed=1,draw=1",
        "pairs:columns=2,threshold=2,method=online,width=16,depth=1,seed=1,draw=1,counter=64"};
    uint64_t rows[2 * 64] = {0};
    for (int i = 0; i < 2; i++) {
        weir_pairs *p = make_pairs(specs[i]);
        weir_error err;
        for (int c = 0; c < 16; c++) {
            if (i) ((int64_t *)(void *)p->cells)[c] = c % 2 ? INT32_MAX : -INT32_MAX;
            else ((int32_t *)(void *)p->cells)[c] = c % 2 ? INT32_MAX : -INT32_MAX;
        }
        weir__matrix_touch(&p->matrix[0]);
        weir_status status = WEIR_OK;
        for (uint64_t n = 0; n < 50 && status == WEIR_OK; n++) { /* each another value */
            rows[0] = n;
            status = weir_pairs_add(p, n, rows, 1, &err);
        }
        assert_int_equal(status, i ? WEIR_OK : WEIR_ERR_RANGE);
        if (!i) assert_non_null(strstr(err.message, "counter=64"));
        weir_pairs_free(p);
    }
}

/* ---- unbiased, and off by as much as it says ---- */

typedef struct {
    spread similar, each[65];
    double square, claimed, bound;
    unsigned covered, runs;
} trial;

static void take(trial *t, const weir_pairs_answer *a, const weir_pairs_answer *truth) {
    spread_add(&t->similar, a->similar);
    for (unsigned k = a->threshold; k <= a->columns; k++) spread_add(&t->each[k], a->count[k]);
    t->square += pow(a->similar - truth->similar, 2);
    t->claimed += a->similar_deviation;
    t->bound += a->similar_bound;
    t->covered += truth->similar >= a->low && truth->similar <= a->high;
    t->runs++;
}

/* The claimed deviation against the real one. Over n runs the latter has a
 * relative error of about 1/sqrt(2n). The interval is of 95%; with seeds that are
 * fixed, 92% of 150 runs leave room for two deviations of their number. */
static void expect_deviation(const char *what, const trial *t, double low, double high) {
    double real = sqrt(t->square / t->runs), claimed = t->claimed / t->runs;
    printf("# %-44s off by %.4g, claimed %.4g, thesis's bound %.4g; %u of %u in the interval\n",
           what, real, claimed, t->bound / t->runs, t->covered, t->runs);
    assert_true(claimed > low * real && claimed < high * real);
    assert_true(t->covered >= 0.92 * t->runs);
}

static void run_trials(trial *t, const char *options, const uint64_t *rows, size_t n, unsigned runs,
                       const weir_pairs_answer *truth) {
    memset(t, 0, sizeof *t);
    for (unsigned i = 0; i < runs; i++) {
        char spec[200];
        snprintf(spec, sizeof spec,
                 "pairs:columns=6,threshold=4,memory=4M,witnesses=300,seed=%u,draw=%u%s", i, i + 1,
                 options);
        weir_pairs *p = fill(spec, rows, n);
        weir_pairs_answer a = self(p);
        take(t, &a, truth);
        weir_pairs_free(p);
    }
}

static void test_unbiased(void **state) {
    (void)state;
    enum { N = 1000, RUNS = 150 };
    static const char *const samples[] = {",sample=0.5", ",sample=0.25", ",sample=0.05"};
    for (uint64_t most = 4; most <= 100; most *= 25) { /* pairs, and clusters of up to 100 */
        uint64_t *rows = clustered(N, most, D, most);
        weir_pairs_answer truth = exact(rows, N, NULL, 0, D, S, false, 0);
        for (size_t i = 0; i < 3; i++) {
            trial t;
            run_trials(&t, samples[i], rows, N, RUNS, &truth);
            expect_mean(samples[i], &t.similar, truth.similar);
            expect_mean("  pairs that agree in 4", &t.each[4], truth.count[4]);
            expect_mean("  pairs that agree in 5", &t.each[5], truth.count[5]);
            assert_true(spread_mean(&t.each[6]) == truth.count[6]);
            expect_deviation(samples[i], &t, 0.8, 1.25);
            if (most == 4) assert_true(t.bound / RUNS > sqrt(t.square / RUNS));
        }
        free(rows);
    }
}

/* With r where l_k / C(d, k) belongs the count would be several times too large. */
static void test_rounding(void **state) {
    (void)state;
    enum { N = 1500, RUNS = 200 };
    uint64_t *rows = clustered(N, 6, D, 5);
    weir_pairs_answer truth = exact(rows, N, NULL, 0, D, 5, false, 0);
    spread corrected = {0}, printed = {0};
    for (unsigned i = 0; i < RUNS; i++) {
        char spec[128];
        snprintf(spec, sizeof spec,
                 "pairs:columns=6,threshold=5,sample=0.05,memory=4M,witnesses=0,seed=1,draw=%u",
                 i + 1);
        weir_pairs *p = fill(spec, rows, N);
        weir_pairs_answer a = self(p);
        double share = p->shape.level[0].drawn / 6.0, r = 0.05;
        spread_add(&corrected, a.count[5]);
        spread_add(&printed, (a.count[5] + 6 * a.count[6]) * share * share / (r * r) -
                                 6 * a.count[6] / (r * r));
        weir_pairs_free(p);
    }
    printf("# with r = 0.05 in the formula: %.4g, truth %.4g\n", spread_mean(&printed),
           truth.count[5]);
    expect_mean("with what was really drawn", &corrected, truth.count[5]);
    assert_true(fabs(spread_mean(&printed) - truth.count[5]) > 10 * spread_error(&printed));
    free(rows);
}

static void test_online(void **state) {
    (void)state;
    enum { N = 1000, RUNS = 150 };
    for (uint64_t most = 4; most <= 100; most *= 25) {
        uint64_t *rows = clustered(N, most, D, most + 1);
        weir_pairs_answer truth = exact(rows, N, NULL, 0, D, S, false, 0);
        trial t;
        run_trials(&t, ",sample=0.5,method=online,width=1024,depth=1", rows, N, RUNS, &truth);
        expect_mean("online, one row", &t.similar, truth.similar);
        expect_deviation("online, one row", &t, 0.8, 1.5);
        run_trials(&t, ",sample=0.5,method=online,width=512,depth=5", rows, N, RUNS, &truth);
        expect_deviation("online, median of five rows", &t, 0.8, 1.5);
        assert_true(t.bound / RUNS > sqrt(t.square / RUNS));
        free(rows);
    }
}

static void test_repeats(void **state) {
    (void)state;
    enum { N = 1000, RUNS = 100 };
    uint64_t *rows = clustered(N, 20, D, 8);
    weir_pairs_answer truth = exact(rows, N, NULL, 0, D, S, false, 0);
    trial one, five;
    run_trials(&one, ",sample=0.25", rows, N, RUNS, &truth);
    run_trials(&five, ",sample=0.25,repeats=5", rows, N, RUNS, &truth);
    expect_deviation("one run", &one, 0.75, 1.3);
    expect_deviation("median of five", &five, 0.75, 1.3);
    assert_true(five.square < 0.5 * one.square);
    assert_int_equal(weir__repeats_for(0.125), 1);
    assert_true(weir__repeats_for(0.01) <= 2 * log2(100) + 1);
    free(rows);
}

static void test_join_and_search(void **state) {
    (void)state;
    enum { N = 600, M = 400, RUNS = 150 };
    uint64_t *all = clustered(N + M, 40, D, 9), *a = malloc(N * D * 8), *b = malloc(M * D * 8);
    for (size_t i = 0, x = 0, y = 0; i < N + M; i++) { /* clusters fall on both sides */
        bool left = (i % 5 < 3 && x < N) || y == M;
        memcpy(left ? a + x++ * D : b + y++ * D, all + i * D, D * 8);
    }
    weir_pairs_answer both = exact(a, N, b, M, D, S, false, 0);
    weir_pairs_answer one = exact(a, N, b, 1, D, S, false, 0);
    for (int online = 0; online < 2; online++) {
        trial join = {0}, search = {0};
        for (unsigned i = 0; i < RUNS; i++) {
            char spec[160];
            const char *method = online ? ",method=online,width=2048,depth=1" : "";
            snprintf(
                spec, sizeof spec,
                "pairs:columns=6,threshold=4,sample=0.5,memory=4M,witnesses=300,seed=%u,draw=%u%s",
                i, 2 * i, method);
            weir_pairs *p = fill(spec, a, N);
            snprintf(
                spec, sizeof spec,
                "pairs:columns=6,threshold=4,sample=0.5,memory=4M,witnesses=300,seed=%u,draw=%u%s",
                i, 2 * i + 1, method);
            weir_pairs *q = fill(spec, b, M);
            weir_pairs_answer got;
            assert_int_equal(weir_pairs_join(p, q, &got, NULL), WEIR_OK);
            take(&join, &got, &both);
            assert_int_equal(weir_pairs_search(p, b, &got, NULL), WEIR_OK);
            take(&search, &got, &one);
            weir_pairs_free(p);
            weir_pairs_free(q);
        }
        const char *name = online ? "online join" : "join";
        expect_mean(name, &join.similar, both.similar);
        expect_deviation(name, &join, 0.8, 1.5);
        expect_mean(online ? "online search" : "search", &search.similar, one.similar);
        expect_deviation(online ? "online search" : "search", &search, 0.8, 1.5);
    }
    free(all);
    free(a);
    free(b);
}

/* Random sampling (5.2.3) is unbiased too. */
static void test_sampling(void **state) {
    (void)state;
    enum { N = 2000, RUNS = 200 };
    uint64_t *rows = clustered(N, 10, D, 12);
    weir_pairs_answer truth = exact(rows, N, NULL, 0, D, S, false, 0), got;
    weir_pairs_answer both = exact(rows, N / 2, rows + N / 2 * D - 5 * D, N / 2, D, S, false, 0);
    spread sample = {0}, join = {0};
    unsigned held = 0, join_held = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        char spec[160];
        snprintf(spec, sizeof spec, "pairs:columns=6,threshold=4,memory=4M,witnesses=300,draw=%u",
                 i + 7);
        weir_pairs *p = fill(spec, rows, N), *q, *r;
        assert_int_equal(weir_pairs_sampled(p, NULL, &got, NULL), WEIR_OK);
        held += got.low <= truth.similar && truth.similar <= got.high;
        spread_add(&sample, got.similar);
        snprintf(spec, sizeof spec,
                 "pairs:columns=6,threshold=4,memory=4M,witnesses=300,seed=1,draw=%u", 2 * i);
        q = fill(spec, rows, N / 2);
        snprintf(spec, sizeof spec,
                 "pairs:columns=6,threshold=4,memory=4M,witnesses=300,seed=1,draw=%u", 2 * i + 1);
        r = fill(spec, rows + N / 2 * D - 5 * D, N / 2);
        assert_int_equal(weir_pairs_sampled(q, r, &got, NULL), WEIR_OK);
        join_held += got.low <= both.similar && both.similar <= got.high;
        spread_add(&join, got.similar);
        weir_pairs_free(p);
        weir_pairs_free(q);
        weir_pairs_free(r);
    }
    printf("# %u and %u of %d intervals hold the truth\n", held, join_held, RUNS);
    assert_true(held >= RUNS * 85 / 100 && join_held >= RUNS * 85 / 100);
    expect_mean("random sampling", &sample, truth.similar);
    expect_mean("random sampling of a join", &join, both.similar);
    free(rows);
}

/* ---- parts and wholes ---- */

static bool same_answer(const weir_pairs_answer *a, const weir_pairs_answer *b) {
    return a->similar == b->similar &&
           memcmp(a->count + S, b->count + S, (D - S + 1) * sizeof *a->count) == 0;
}

/* Batches, parts that are merged and memory change nothing. */
static void test_parts(void **state) {
    (void)state;
    enum { N = 30000 };
    static const char *const specs[] = {
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,memory=64M",
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,method=online,width=512",
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,memory=1M,repeats=3"};
    uint64_t *rows = clustered(N, 30, D, 3);
    for (size_t i = 0; i < 3; i++) {
        weir_pairs *whole = fill(specs[i], rows, N);
        weir_pairs *small = make_pairs(specs[i]), *left = make_pairs(specs[i]);
        weir_pairs *right = make_pairs(specs[i]);
        for (size_t at = 0; at < N; at += 77) {
            size_t n = N - at < 77 ? N - at : 77;
            assert_int_equal(weir_pairs_add(small, at, rows + at * D, n, NULL), WEIR_OK);
            weir_pairs *to = at / 77 % 3 ? left : right;
            assert_int_equal(weir_pairs_add(to, at, rows + at * D, n, NULL), WEIR_OK);
        }
        weir_pairs_answer a = self(whole), b = self(small);
        assert_true(same_answer(&a, &b));
        assert_true(a.similar_deviation == b.similar_deviation);
        assert_int_equal(weir_pairs_merge(left, right, NULL), WEIR_OK);
        b = self(left);
        assert_true(same_answer(&a, &b));
        assert_true(fabs(a.similar_deviation - b.similar_deviation) < 1e-9 * a.similar_deviation);
        weir_pairs_info info;
        weir_pairs_get_info(right, &info);
        assert_int_equal(info.records, 0);
        b = self(right);
        assert_true(b.similar == 0 || i == 1);
        weir_pairs_free(whole);
        weir_pairs_free(small);
        weir_pairs_free(left);
        weir_pairs_free(right);
    }
    free(rows);
}

static void expect_mismatch(weir_status status, const weir_error *err, const char *word) {
    assert_int_equal(status, WEIR_ERR_MISMATCH);
    assert_non_null(strstr(err->message, word));
}

static void test_mismatches(void **state) {
    (void)state;
    enum { N = 500 };
    uint64_t *rows = clustered(N, 3, D, 3);
    weir_pairs_answer out;
    weir_error err;
    weir_pairs *a = fill("pairs:columns=6,seed=1,draw=1,memory=4M", rows, N);
    weir_pairs *twin = fill("pairs:columns=6,seed=1,draw=1,memory=4M", rows, N);
    weir_pairs *seed = fill("pairs:columns=6,seed=2,draw=2,memory=4M", rows, N);
    weir_pairs *shape = fill("pairs:columns=6,seed=1,draw=2,memory=4M,threshold=5", rows, N);
    expect_mismatch(weir_pairs_join(a, twin, &out, &err), &err, "draw");
    expect_mismatch(weir_pairs_merge(a, twin, &err), &err, "draw");
    expect_mismatch(weir_pairs_merge(a, a, &err), &err, "draw");
    expect_mismatch(weir_pairs_join(a, seed, &out, &err), &err, "'seed'");
    expect_mismatch(weir_pairs_merge(a, seed, &err), &err, "'seed'");
    expect_mismatch(weir_pairs_merge(a, shape, &err), &err, "'threshold'");
    weir_pairs_free(a);
    weir_pairs_free(twin);
    weir_pairs_free(seed);
    weir_pairs_free(shape);
    free(rows);
}

/* A saved summary answers as it did, also after it had gone to disk, and can be
 * filled on. */
static void test_saved(void **state) {
    (void)state;
    enum { N = 20000, MORE = 3000 };
    static const char *const specs[] = {
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,memory=64M",
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,memory=1M",
        "pairs:columns=6,threshold=4,sample=0.5,seed=1,draw=2,method=online,width=512"};
    uint64_t *rows = clustered(N + MORE, 30, D, 3);
    const char *path = scratch_path("pairs.weir");
    for (size_t i = 0; i < 3; i++) {
        weir_pairs *p = fill(specs[i], rows, N), *back;
        weir_error err = {0};
        weir_pairs_answer before = self(p), after;
        if (weir_pairs_save(p, path, &err) != WEIR_OK) fail_msg("%s", err.message);
        after = self(p);
        assert_true(same_answer(&before, &after));
        if (weir_pairs_load(&back, path, &err) != WEIR_OK) fail_msg("%s", err.message);
        after = self(back);
        assert_true(same_answer(&before, &after));
        assert_true(before.similar_deviation == after.similar_deviation);
        weir_pairs_add(p, N, rows + N * D, MORE, NULL);
        weir_pairs_add(back, N, rows + N * D, MORE, NULL);
        before = self(p);
        after = self(back);
        assert_true(same_answer(&before, &after));
        weir_pairs_free(back);
        weir_pairs_free(p);
    }
    free(rows);
}

/* Every byte changed, one at a time: refused, or (in nothing but padding) the same. */
static void test_damaged(void **state) {
    (void)state;
    enum { N = 200 };
    uint64_t *rows = clustered(N, 5, D, 3);
    const char *path = scratch_path("damaged.weir");
    weir_pairs *p = fill("pairs:columns=6,seed=1,draw=2,memory=1M,witnesses=8", rows, N), *back;
    assert_int_equal(weir_pairs_save(p, path, NULL), WEIR_OK);
    FILE *f = fopen(path, "r+b");
    fseek(f, 0, SEEK_END);
    long length = ftell(f);
    for (long at = 0; at < length; at += 1 + at % 13) {
        fseek(f, at, SEEK_SET);
        int c = fgetc(f);
        fseek(f, at, SEEK_SET);
        fputc(c ^ 0x20, f);
        fflush(f);
        assert_true(weir_pairs_load(&back, path, NULL) != WEIR_OK);
        assert_null(back);
        fseek(f, at, SEEK_SET);
        fputc(c, f);
    }
    fclose(f);
    weir_pairs_free(p);
    free(rows);
}

/* ---- examples ---- */

static void test_collisions(void **state) {
    (void)state;
    enum { N = 3000, MOST = 4096 };
    uint64_t *rows = clustered(N, 3, D, 4), *values = malloc(MOST * 8);
    weir_pairs *p = fill("pairs:columns=6,threshold=4,seed=1,draw=2,memory=4M", rows, N);
    size_t count, places[32], *first = malloc(MOST * sizeof *first), met = 0;
    assert_int_equal(weir_pairs_collisions(p, NULL, values, MOST, &count, NULL), WEIR_OK);
    assert_true(count > 100 && count < MOST);
    memset(first, 255, MOST * sizeof *first);
    for (size_t i = 0; i < N; i++) {
        size_t n = weir_pairs_match(p, i, rows + i * D, values, count, places, 32);
        for (size_t j = 0; j < n; j++) {
            size_t other = first[places[j]];
            if (other == SIZE_MAX) first[places[j]] = i;
            else assert_true(weir_rows_agree(rows + i * D, rows + other * D, D, false) >= S);
            met += other != SIZE_MAX;
        }
    }
    for (size_t j = 0; j < count; j++) assert_true(first[j] != SIZE_MAX);
    assert_true(met >= count);
    weir_pairs_free(p);
    free(first);
    free(values);
    free(rows);
}

/* ---- bad specs ---- */

static void test_bad_specs(void **state) {
    (void)state;
    static const struct {
        const char *spec, *message;
    } bad[] = {{"pairs", "columns="},
               {"peers:columns=6", "did you mean 'pairs'"},
               {"pairs:columns=0", "out of range"},
               {"pairs:columns=65", "out of range"},
               {"pairs:columns=6,threshold=7", "more than the 6 columns"},
               {"pairs:columns=6,threshold=0", "out of range"},
               {"pairs:columns=6,sample=0", "out of range"},
               {"pairs:columns=6,sample=1.5", ""},
               {"pairs:columns=6,repeats=2", "odd"},
               {"pairs:columns=40,threshold=20", "subsets"},
               {"pairs:columns=6,memory=70000,repeats=99", "would do"},
               {"pairs:columns=6,method=exact", "unknown method"},
               {"pairs:columns=6,widht=10", "did you mean 'width'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weir_pairs *p;
        weir_error err = {0};
        weir_status status = weir_pairs_new(&p, bad[i].spec, &err);
        if (status == WEIR_OK || !strstr(err.message, bad[i].message))
            fail_msg("%s: %d '%s'", bad[i].spec, (int)status, err.message);
        assert_null(p);
    }
    weir_error err;
    weir_pairs *online = make_pairs("pairs:columns=3,method=online");
    uint64_t value;
    size_t count;
    assert_int_equal(weir_pairs_collisions(online, NULL, &value, 1, &count, &err),
                     WEIR_ERR_UNSUPPORTED);
    weir_pairs_free(online);
}

static void test_few_records(void **state) {
    (void)state;
    uint64_t row[D] = {1, 2, 3, 4, 5, 6};
    static const char *const specs[] = {"pairs:columns=6,memory=4M",
                                        "pairs:columns=6,method=online"};
    for (size_t i = 0; i < 2; i++) {
        weir_pairs *p = make_pairs(specs[i]);
        weir_pairs_answer a = self(p);
        assert_true(a.pairs == 0 && a.similar == 0 && a.low == 0 && a.high == 0);
        weir_pairs_add(p, 0, row, 1, NULL);
        a = self(p);
        assert_true(a.pairs == 0 && fabs(a.similar) < 100 && a.high == 0);
        weir_pairs_free(p);
    }
}

/* --- neighbours -------------------------------------------------------------------------- */

static double distance_of(const uint64_t *a, const uint64_t *b, unsigned d) {
    double sum = 0;
    for (unsigned k = 0; k < d; k++) {
        double x, y;
        memcpy(&x, a + k, sizeof x);
        memcpy(&y, b + k, sizeof y);
        sum += (x - y) * (x - y);
    }
    return sqrt(sum);
}

/* By the words themselves: how many pairs are within a limit, and how many records have fewer than
 * so many others there. */
typedef struct {
    double pairs, few;
} vicinity;

static vicinity naive_vicinity(const weir_neighbours_options *o, const uint64_t *rows, size_t n,
                               double limit) {
    vicinity v = {0, 0};
    for (size_t i = 0; i < n; i++) {
        uint64_t near = 0;
        for (size_t j = 0; j < n; j++) {
            const uint64_t *a = rows + i * o->stride, *b = rows + j * o->stride;
            near += i != j && (o->distance > 0 ? distance_of(a, b, o->columns) <= limit
                                               : naive_agree(a, b, o->columns, o->set) >= limit);
        }
        v.pairs += (double)near / 2;
        v.few += near < o->fewer;
    }
    return v;
}

/* Points on a grid of quarters, so that many are exactly as far apart as asked. */
static uint64_t *points(size_t n, unsigned stride, uint64_t seed) {
    uint64_t *rows = malloc(n * stride * sizeof *rows);
    for (size_t i = 0; i < n * stride; i++) {
        double x = (double)(test_word(seed, i) % 64) / 4;
        if (test_word(seed + 1, i / stride) % 50 == 0) x *= 8;
        memcpy(rows + i, &x, sizeof x);
    }
    return rows;
}

static void compare_neighbours(weir_neighbours_options o, const uint64_t *rows, size_t n) {
    weir_neighbours a;
    vicinity near = naive_vicinity(&o, rows, n, o.distance > 0 ? o.distance : o.threshold);
    assert_int_equal(weir_pairs_neighbours(&o, rows, n, &a, NULL), WEIR_OK);
    assert_true(a.near.pairs == near.pairs && a.near.low == near.pairs);
    assert_true(a.outliers == near.few && a.outliers_high == near.few);
    assert_true(near.few > 0 && near.few < (double)n && near.pairs > 0);
    for (unsigned i = 0; i < a.rows; i++)
        if (a.row[i].pairs != naive_vicinity(&o, rows, n, a.row[i].limit).pairs)
            fail_msg("within %g: %g pairs, not %g", a.row[i].limit, a.row[i].pairs,
                     naive_vicinity(&o, rows, n, a.row[i].limit).pairs);
    assert_true(a.row[a.rows - 1].pairs == a.pairs);

    spread pairs = {0}, outliers = {0};
    unsigned held = 0, outliers_held = 0, runs = 200;
    o.sample = n / 8;
    for (unsigned i = 0; i < runs; i++) {
        o.seed = i;
        assert_int_equal(weir_pairs_neighbours(&o, rows, n, &a, NULL), WEIR_OK);
        assert_int_equal(a.compared, n / 8);
        spread_add(&pairs, a.near.pairs);
        spread_add(&outliers, a.outliers);
        held += a.near.low <= near.pairs && near.pairs <= a.near.high;
        outliers_held += a.outliers_low <= near.few && near.few <= a.outliers_high;
    }
    expect_mean("pairs of neighbours, by a sample", &pairs, near.pairs);
    expect_mean("outliers, by a sample", &outliers, near.few);
    printf("# %u and %u of %u intervals hold the truth\n", held, outliers_held, runs);
    assert_true(held >= runs * 88 / 100 && outliers_held >= runs * 88 / 100);
}

static void test_neighbours(void **state) {
    (void)state;
    enum { N = 400, STRIDE = 7 };
    uint64_t *rows = clustered(N, 10, D, 12), *wide = points(N, STRIDE, 5);
    compare_neighbours(
        (weir_neighbours_options){.columns = D, .stride = D, .threshold = 3, .fewer = 3}, rows, N);
    compare_neighbours(
        (weir_neighbours_options){
            .columns = D, .stride = D, .threshold = 3, .set = true, .fewer = 8},
        rows, N);
    compare_neighbours(
        (weir_neighbours_options){.columns = 3, .stride = STRIDE, .distance = 3, .fewer = 6}, wide,
        N);
    free(rows);
    free(wide);
}

static void test_cost(void **state) {
    (void)state;
    weir_pairs_budget b;
    weir_pairs_cost(6, 4, 1e6, 1e-3, 0.01, 0, &b);
    assert_true(b.reachable);
    close_to(8 * 225 * 6 / (1e-6 * 1e12), b.sample);
    weir_pairs_cost(6, 4, 1e6, 1e-6, 0.01, 1000, &b);
    assert_false(b.reachable);
    assert_true(b.sample == 1 && b.values == 22 * b.repeats);
    /* the remarks of theorem 7 */
    assert_int_equal((int)weir__deviation_bound(5, 4, 1, 1, 0, 0), 7);
    assert_int_equal((int)weir__deviation_bound(10, 8, 1, 1, 0, 0), 110);
    assert_int_equal((int)weir__deviation_bound(20, 16, 1, 1, 0, 0), 40536);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),        cmocka_unit_test(test_exact_sets),
        cmocka_unit_test(test_whole_sample), cmocka_unit_test(test_whole_sample_sets),
        cmocka_unit_test(test_draws),        cmocka_unit_test(test_default_sample),
        cmocka_unit_test(test_info),         cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_fingerprints), cmocka_unit_test(test_unbiased),
        cmocka_unit_test(test_rounding),     cmocka_unit_test(test_online),
        cmocka_unit_test(test_repeats),      cmocka_unit_test(test_join_and_search),
        cmocka_unit_test(test_sampling),     cmocka_unit_test(test_parts),
        cmocka_unit_test(test_mismatches),   cmocka_unit_test(test_saved),
        cmocka_unit_test(test_damaged),      cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_bad_specs),    cmocka_unit_test(test_few_records),
        cmocka_unit_test(test_neighbours),   cmocka_unit_test(test_cost),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
