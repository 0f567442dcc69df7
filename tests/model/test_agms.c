/* test_agms.c - Fast-AGMS and AMS: unbiased, with the variance of the lemmas. */
#include "model/sketching.h"
#include "sketch/matrix_sketch.h"

enum { W = 16, SEEDS = 3000, FEW = 60 };

typedef struct {
    double f[FEW], g[FEW], F2, F4, G2, J, fg;
} two_streams;

static two_streams draw_streams(void) {
    two_streams t = {.F2 = 0};
    for (int i = 0; i < FEW; i++) {
        t.f[i] = (double)zipf_count((uint64_t)i, 40, 0.8), t.g[i] = 1 + (i * 7) % 13;
        t.F2 += t.f[i] * t.f[i], t.F4 += pow(t.f[i], 4), t.G2 += t.g[i] * t.g[i];
        t.J += t.f[i] * t.g[i], t.fg += t.f[i] * t.f[i] * t.g[i] * t.g[i];
    }
    return t;
}

/* By the public answers of a sketch with one row, whose median is that row. */
static void lemmas_hold_for(const char *spec) {
    two_streams t = draw_streams();
    spread count = {0}, count_square = {0}, self = {0}, self_square = {0}, join = {0},
           join_square = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        weir_sketch *a = make_seeded(spec, seed), *b = make_seeded(spec, seed);
        weir_estimate s, j;
        for (uint64_t i = 0; i < FEW; i++)
            add_number(a, i, (int64_t)t.f[i]), add_number(b, i, (int64_t)t.g[i]);
        double e = estimate_of(a, 5, WEIR_BY_AUTO).value - t.f[5];
        assert_int_equal(weir_sketch_self_join(a, WEIR_BY_AUTO, &s, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_join(a, b, WEIR_BY_AUTO, &j, NULL), WEIR_OK);
        s.value -= t.F2, j.value -= t.J;
        spread_add(&count, e), spread_add(&count_square, e * e);
        spread_add(&self, s.value), spread_add(&self_square, s.value * s.value);
        spread_add(&join, j.value), spread_add(&join_square, j.value * j.value);
        weir_sketch_free(a), weir_sketch_free(b);
    }
    printf("# %s\n", spec);
    expect_mean("lemma 3: bias of a count", &count, 0);
    expect_mean("lemma 3: variance of a count", &count_square, (t.F2 - t.f[5] * t.f[5]) / W);
    expect_mean("bias of the self-join size", &self, 0);
    expect_mean("its variance", &self_square, 2 * (t.F2 * t.F2 - t.F4) / W);
    expect_mean("bias of the join size", &join, 0);
    expect_mean("its variance", &join_square, (t.F2 * t.G2 + t.J * t.J - 2 * t.fg) / W);
}

static void fast_agms_is_unbiased(void **state) {
    (void)state;
    lemmas_hold_for("agms:width=16,depth=1");
}

static void ams_is_unbiased(void **state) {
    (void)state;
    lemmas_hold_for("ams:width=16,depth=1");
}

/* The deviation that an answer of several rows carries is what it has, or more. */
static void deviations_are_honest(void **state) {
    (void)state;
    static const char *const specs[] = {"agms:width=64,depth=5", "ams:width=64,depth=5",
                                        "countmin:width=64,depth=5"};
    for (size_t k = 0; k < 3; k++) {
        double squares = 0, said = 0, counts = 0, counts_said = 0, outside = 0, n = 0;
        for (uint64_t seed = 0; seed < 300; seed++) {
            weir_sketch *s = make_seeded(specs[k], seed);
            double F2 = 0;
            for (uint64_t i = 0; i < 150; i++) {
                add_number(s, i, (int64_t)zipf_count(i, 60, 0.6));
                F2 += pow((double)zipf_count(i, 60, 0.6), 2);
            }
            weir_estimate e;
            assert_int_equal(weir_sketch_self_join(s, WEIR_BY_AUTO, &e, NULL), WEIR_OK);
            squares += pow(e.value - F2, 2), said += e.deviation * e.deviation, n++;
            outside += F2 < e.low || F2 > e.high;
            e = estimate_of(s, 20, WEIR_BY_CMM_MEAN);
            double truth = (double)zipf_count(20, 60, 0.6);
            counts += pow(e.value - truth, 2), counts_said += e.deviation * e.deviation;
            outside += truth < e.low || truth > e.high, n++;
            weir_sketch_free(s);
        }
        printf("# %s: deviation of the self-join size %.3f of what is said, of a count %.3f\n",
               specs[k], sqrt(squares / said), sqrt(counts / counts_said));
        assert_true(squares < said * 1.2 && squares > said * 0.3);
        assert_true(counts < counts_said * 1.3);
        expect_at_most("truth outside the bounds", outside, n, 0.01);
    }
}

static void sizes_follow_the_error(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("agms:error=5%,confidence=99%,seed=1");
    weir_sketch_info info;
    weir_sketch_get_info(s, &info);
    assert_true(info.error <= 0.0501);
    weir_sketch_free(s);
    expect_spec_refused("agms:width=0", "out of range");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_agms_is_unbiased), cmocka_unit_test(ams_is_unbiased),
        cmocka_unit_test(deviations_are_honest), cmocka_unit_test(sizes_follow_the_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
