/* test_apbf.c - the age-partitioned Bloom filter against a slow twin, against a list
 * of what must be remembered, and its formulas. */
#include "filter/apbf.h"
#include "theory.h"
#include "twin.h"

enum { LAYOUT = WEIR__OPT_OWN, K_PLACE, L_PLACE, GENERATION, RENEW };

static const char *const layouts[] = {"classic", "block"};

static unsigned k_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, K_PLACE); }
static unsigned l_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, L_PLACE); }
static uint64_t generation_of(const weir_filter *f) { return weir__opt_whole(f, GENERATION); }
static bool is_block(const weir_filter *f) { return weir__opt_whole(f, LAYOUT) == 1; }

/* What the block layout was planned with: 512 / lane bits to a slice. */
static unsigned lane_of(const weir_filter *f) {
    return weir__apbf_plan(true, f->cells_bytes, weir__opt_rate(f, WEIR__OPT_FPR), k_of(f), l_of(f),
                           generation_of(f))
        .lane;
}

/* --- the twin: slices of bytes, in order of age, each with its number -------------------- */

typedef struct {
    unsigned char *bits[64]; /* by age */
    uint64_t number[64];     /* by age: which slice it is */
    uint64_t taken;
} twin_line;

typedef struct {
    twin_line *lines;
    uint64_t count, m, generation;
    unsigned k, slices, lane;
    bool renew;
} twin;

static twin twin_of(const weir_filter *f) {
    twin t = {.k = k_of(f), .slices = k_of(f) + l_of(f), .generation = generation_of(f)};
    t.renew = weir__opt_whole(f, RENEW) == 0;
    t.lane = is_block(f) ? lane_of(f) : 0;
    t.count = t.lane ? f->cells_bytes / 64 : 1;
    t.m = t.lane ? 512 / t.lane : f->cells_bytes * 8 / t.slices;
    t.lines = calloc(t.count, sizeof *t.lines);
    for (uint64_t i = 0; i < t.count; i++)
        for (unsigned age = 0; age < t.slices; age++) {
            t.lines[i].bits[age] = calloc(t.m, 1);
            t.lines[i].number[age] = age;
        }
    return t;
}

static void twin_free(twin *t) {
    for (uint64_t i = 0; i < t->count; i++)
        for (unsigned age = 0; age < t->slices; age++) free(t->lines[i].bits[age]);
    free(t->lines);
}

/* In a line the words choose by bits 0 to 2 of the place times the rows of a word. */
static uint64_t twin_place(const twin *t, uint64_t hash, uint64_t slice) {
    if (!t->lane) return twin_probe(hash, slice, t->m);
    uint64_t rest = hash * t->count, a = twin_mix(rest);
    uint64_t b = twin_mix(rest + UINT64_C(0x9e3779b97f4a7c15));
    uint64_t word = (a >> slice & 1) | (a >> (32 + slice) & 1) << 1 | (b >> slice & 1) << 2;
    uint64_t row = b >> (32 + slice) & 1;
    if (t->lane == 16) row |= (b >> (48 + slice) & 1) << 1;
    return word * (64 / t->lane) + row;
}

static bool twin_bit(const twin *t, const twin_line *line, uint64_t hash, unsigned age) {
    return line->bits[age][twin_place(t, hash, line->number[age])];
}

static void twin_shift(const twin *t, twin_line *line) {
    unsigned last = t->slices - 1;
    unsigned char *bits = line->bits[last];
    uint64_t number = line->number[last];
    memmove(line->bits + 1, line->bits, last * sizeof *line->bits);
    memmove(line->number + 1, line->number, last * sizeof *line->number);
    memset(bits, 0, t->m);
    line->bits[0] = bits, line->number[0] = number, line->taken = 0;
}

static bool twin_offer(twin *t, uint64_t hash) {
    twin_line *line = t->lines + (t->lane ? twin_scale(hash, t->count) : 0);
    unsigned run = 0, newest = 0;
    bool seen = false;
    for (unsigned age = 0; age < t->slices; age++) {
        run = twin_bit(t, line, hash, age) ? run + 1 : 0;
        if (run >= t->k) seen = true;
        if (run == age + 1) newest = run;
    }
    if (seen && (!t->renew || newest >= t->k)) return true;
    if (line->taken == t->generation) twin_shift(t, line);
    for (unsigned age = 0; age < t->k; age++)
        line->bits[age][twin_place(t, hash, line->number[age])] = 1;
    line->taken++;
    return seen;
}

static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    twin t = twin_of(f);
    for (uint64_t i = 0; i < 25000; i++) {
        uint64_t hash = skewed_key(3, i, 12000);
        bool expected = twin_offer(&t, hash);
        if (offer_hash(f, hash) != expected) fail_msg("%s: key %d", spec, (int)i);
    }
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    twin_free(&t);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const char *const more[] = {"fpr=1%",      "fpr=10%",          "fpr=0.1%",
                                       "fpr=0.0001%", "fpr=5%,renew=yes", "fpr=1%,renew=yes",
                                       "fpr=20%,k=3", "fpr=5%,l=2",       "fpr=30%,k=1,l=1"};
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "apbf:memory=4K,seed=9,layout=%s,%s", layouts[l], more[i]);
            compare_with_twin(spec);
        }
}

/* --- what it promises ------------------------------------------------------------------ */

/* Of what was put in during the last l generations nothing is forgotten. In lines, each has its
 * own. */
static void test_nothing_is_forgotten_early(void **state) {
    (void)state;
    static const char *const fprs[] = {"10%", "1%", "0.01%"};
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < 3; i++) {
            char spec[128];
            snprintf(spec, sizeof spec, "apbf:memory=%s,seed=2,fpr=%s,layout=%s", l ? "1K" : "4K",
                     fprs[i], layouts[l]);
            weir_filter *f = make_filter(spec);
            uint64_t lines = l ? f->cells_bytes / 64 : 1, window = l_of(f) * generation_of(f);
            uint64_t *count = calloc(lines, sizeof *count), *born = calloc(40000, sizeof *born);
            for (uint64_t key = 0; key < 40000; key++) {
                uint64_t hash = test_word(5, key), line = l ? twin_scale(hash, lines) : 0;
                /* a false positive is not put in, and takes no place */
                if (!offer_hash(f, hash)) born[key] = ++count[line];
                uint64_t back = test_word(6, key) % (3 * window * lines) + 1;
                if (back > key) continue;
                uint64_t old = test_word(5, key - back), its = l ? twin_scale(old, lines) : 0;
                if (born[key - back] && count[its] - born[key - back] <= window)
                    assert_true(test_hash(f, old));
            }
            free(count), free(born);
            weir_filter_free(f);
        }
}

/* With renew=no a repeat changes nothing at all; with renew=yes the key is young. */
static void test_renewing(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++)
        for (int renew = 0; renew < 2; renew++) {
            char spec[128];
            snprintf(spec, sizeof spec, "apbf:memory=4K,fpr=0.01%%,seed=2,layout=%s,renew=%s",
                     layouts[l], renew ? "yes" : "no");
            weir_filter *f = make_filter(spec);
            uint64_t window = l_of(f) * generation_of(f) * (l ? f->cells_bytes / 64 : 1);
            uint64_t marker = test_word(9, 1), known = 0, at = 0;
            offer_hash(f, marker);
            for (int step = 0; step < 20; step++) {
                offer_keys(f, 1, at, window / 4), at += window / 4;
                known += offer_hash(f, marker);
            }
            printf("# %s renew=%d: known %d times of 20\n", layouts[l], renew, (int)known);
            if (renew) assert_int_equal(known, 20);
            else assert_true(known >= 12 && known < 18);
            weir_filter_free(f);
        }
}

/* --- formulas ---------------------------------------------------------------------------- */

/* The chance of k in a row by going through all patterns. */
static double run_by_patterns(const double *fill, unsigned n, unsigned k) {
    double sum = 0;
    for (unsigned pattern = 0; pattern < 1u << n; pattern++) {
        double chance = 1;
        unsigned run = 0, longest = 0;
        for (unsigned i = 0; i < n; i++) {
            bool set = pattern >> i & 1;
            chance *= set ? fill[i] : 1 - fill[i];
            run = set ? run + 1 : 0;
            if (run > longest) longest = run;
        }
        if (longest >= k) sum += chance;
    }
    return sum;
}

static void test_run(void **state) {
    (void)state;
    for (unsigned n = 1; n <= 12; n++)
        for (unsigned k = 1; k <= n; k++) {
            double fill[12];
            for (unsigned i = 0; i < n; i++)
                fill[i] = (double)(test_word(n * 16 + k, i) % 1000) / 1000;
            assert_true(fabs(weir__apbf_run(fill, n, k) - run_by_patterns(fill, n, k)) < 1e-12);
        }
    weir__apbf_shape empty = {.k = 10, .l = 7, .slice_bits = 1000000};
    assert_true(weir__apbf_fpr(&empty, 0, 0) == 0);
}

/* The rate at moments of a generation, in filters that have long been full. */
static void rate_along_a_generation(const char *spec) {
    enum { FILTERS = 60, MOMENTS = 3 };
    spread rates[MOMENTS] = {{0}};
    double formula[MOMENTS] = {0}, tests = 6000;
    for (uint64_t seed = 0; seed < FILTERS; seed++) {
        char full[160];
        snprintf(full, sizeof full, "%s,renew=no,seed=%d", spec, (int)seed);
        weir_filter *f = make_filter(full);
        unsigned k = k_of(f), l = l_of(f);
        weir__apbf_shape shape = {.k = k, .l = l, .slice_bits = f->cells_bytes * 8 / (k + l)};
        uint64_t g = generation_of(f), at = 0, *taken = weir__filter_state(f) + 1;
        offer_keys(f, seed, 0, (k + l + 2) * g), at = (k + l + 2) * g;
        for (int i = 0; i < MOMENTS; i++) {
            uint64_t until = i == 0 ? 1 : g * (uint64_t)i / (MOMENTS - 1);
            while (*taken != until) offer_hash(f, test_word(seed, at++));
            formula[i] = weir__apbf_fpr(&shape, (double)g, (double)until);
            spread_add(&rates[i], test_keys(f, seed, UINT64_C(1) << 40, (uint64_t)tests) / tests);
        }
        weir_filter_free(f);
    }
    for (int i = 0; i < MOMENTS; i++) {
        char what[96];
        snprintf(what, sizeof what, "%s, moment %d of %d", spec, i, MOMENTS - 1);
        expect_mean(what, &rates[i], formula[i]);
    }
}

static void test_rates(void **state) {
    (void)state;
    rate_along_a_generation("apbf:memory=8K,fpr=10%,layout=classic");
    rate_along_a_generation("apbf:memory=8K,fpr=2%,layout=classic");
    rate_along_a_generation("apbf:memory=8K,fpr=5%,layout=classic,k=5,l=3");
}

/* In lines the moments are mixed: each line is at one of its own, and as new keys
 * alone come, all are equally likely. */
static void test_rates_of_lines(void **state) {
    (void)state;
    static const char *const fprs[] = {"10%", "5%", "2%", "1%"};
    for (int i = 0; i < 4; i++) {
        spread rates = {0};
        double formula = 0;
        for (uint64_t seed = 0; seed < 60; seed++) {
            char spec[128];
            weir_filter_info info;
            snprintf(spec, sizeof spec, "apbf:memory=64K,layout=block,fpr=%s,renew=no,seed=%d",
                     fprs[i], (int)seed);
            weir_filter *f = make_filter(spec);
            unsigned k = k_of(f), l = l_of(f);
            weir__apbf_shape shape = {.k = k, .l = l, .slice_bits = 512 / lane_of(f)};
            uint64_t g = generation_of(f);
            offer_keys(f, seed, 0, (k + l + 4) * g * 1024 * 2);
            weir_filter_get_info(f, &info);
            spread_add(&rates, test_keys(f, seed, UINT64_C(1) << 40, 10000) / 10000);
            formula = 0;
            for (uint64_t taken = 1; taken <= g; taken++)
                formula += weir__apbf_fpr(&shape, (double)g, (double)taken) / (double)g;
            assert_true(fabs(info.fpr_now / formula - 1) < 0.2);
            weir_filter_free(f);
        }
        char what[64];
        snprintf(what, sizeof what, "block, fpr=%s, all moments alike", fprs[i]);
        expect_mean(what, &rates, formula);
    }
}

/* Under the bound, and with nothing left: one key more in a generation is too much. */
static void test_plan(void **state) {
    (void)state;
    static const double fprs[] = {0.4, 0.1, 0.01, 0.001, 1e-6, 1e-9};
    for (int block = 0; block < 2; block++)
        for (int i = 0; i < 6; i++) {
            weir__apbf_shape s = weir__apbf_plan(block, 1 << 20, fprs[i], 0, 0, 0);
            double g = (double)s.generation;
            double keys = g * s.l * (block ? (1 << 20) / 64 : 1);
            printf("# %s fpr=%g: k=%u l=%u generation=%.0f, %.1f bits a key\n", layouts[block],
                   fprs[i], s.k, s.l, g, (8 << 20) / keys);
            assert_true(weir__apbf_fpr(&s, g, g) <= fprs[i]);
            if (!block || g < 7) assert_true(weir__apbf_fpr(&s, g + 1, g + 1) > fprs[i]);
            for (unsigned k = 1; k <= 30; k += 6) /* no other pair remembers more */
                for (unsigned l = 1; l <= 60 && k + l <= 64; l += 11) {
                    weir__apbf_shape o = weir__apbf_plan(block, 1 << 20, fprs[i], k, l, 0);
                    assert_true((double)o.generation * o.l <= g * s.l * 1.003);
                }
        }
}

/* --- options ------------------------------------------------------------------------------ */

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {
        {"apbf:memory=1M,fpr=1%,k=10,l=7", GENERATION, 40000, 50000},
        {"apbf:memory=1M,fpr=1%,k=10,l=7,generation=100", GENERATION, 100, 100},
        {"apbf:memory=1M,fpr=1%,generation=5000", GENERATION, 5000, 5000},
        {"apbf:memory=1M,fpr=1%,layout=block", GENERATION, 1, 7},
        {NULL, 0, 0, 0}};
    static const refusal refused[] = {
        {"apbf:k=0", "out of range", "k="},
        {"apbf:l=64", "out of range", "l="},
        {"apbf:k=40,l=40", "more than 64 slices", "l="},
        {"apbf:memory=1K,fpr=1%,generation=100000", "leave them out", "generation="},
        {"apbf:memory=1M,fpr=1%,k=1,l=40,generation=99999", "leave them out", "k="},
        {"apbf:memory=1M,fpr=1%,k=20,l=20,layout=block", "try layout=classic", "k="},
        {"apbf:memory=1M,fpr=1%,generation=8,layout=block", "try layout=classic", "generation="},
        {"apbf:renew=maybe", "renew", "renew="},
        {NULL, NULL, NULL}};
    expect_resolutions(resolved);
    expect_refusals(refused);
    expect_no_merge("apbf:memory=4K,fpr=1%", "what is old in one");
}

static void test_check(void **state) {
    (void)state;
    weir_filter *f = make_filter("apbf:memory=4K,fpr=1%,seed=1");
    weir__filter_state(f)[0] = 64; /* a slice that is not there */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir__filter_state(f)[0] = 0, weir__filter_state(f)[1] = generation_of(f) + 1;
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
    f = make_filter("apbf:memory=4K,fpr=1%,k=8,l=20,layout=block,seed=1"); /* rows of 32 bits */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    f->cells[64 + 3] = 0x20; /* bit 29 of a row: beyond the 28 slices, below the line's own */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    f->cells[64 + 3] = 0xc0, f->cells[64 + 7] = 0xc0, f->cells[64 + 11] = 0x40; /* slice 31 */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
}

static void test_info(void **state) {
    (void)state;
    for (int l = 0; l < 2; l++) {
        char spec[128];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "apbf:memory=256K,fpr=5%%,seed=1,layout=%s", layouts[l]);
        weir_filter *f = make_filter(spec);
        weir_filter_get_info(f, &info);
        assert_true(info.fill == 0 && info.fpr_now == 0 && !info.overfull);
        offer_keys(f, 1, 0, 1000000);
        weir_filter_get_info(f, &info);
        double now = test_keys(f, 9, 0, 200000) / 200000;
        printf("# %s: fpr_now %.5f, measured %.5f\n", spec, info.fpr_now, now);
        assert_true(info.overfull && fabs(info.fpr_now / now - 1) < 0.1);
        weir_filter_free(f);
    }
}

static void test_contract(void **state) {
    (void)state;
    static const char *const some[] = {"apbf:memory=8K,fpr=10%,seed=1",
                                       "apbf:memory=8K,fpr=1e-6,seed=1",
                                       "apbf:memory=8K,fpr=1%,seed=1,renew=yes",
                                       "apbf:memory=8K,fpr=10%,seed=1,layout=block",
                                       "apbf:memory=8K,fpr=1%,seed=1,layout=block",
                                       "apbf:memory=8K,fpr=1e-6,seed=1,layout=block,renew=yes",
                                       NULL};
    expect_contract(some, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),     cmocka_unit_test(test_nothing_is_forgotten_early),
        cmocka_unit_test(test_renewing), cmocka_unit_test(test_run),
        cmocka_unit_test(test_rates),    cmocka_unit_test(test_rates_of_lines),
        cmocka_unit_test(test_plan),     cmocka_unit_test(test_options),
        cmocka_unit_test(test_check),    cmocka_unit_test(test_info),
        cmocka_unit_test(test_contract),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
