/* test_qht.c - the quotient hash table against a slow twin and its formulas. */
#include "filter/qht.h"
#include "theory.h"
#include "twin.h"

enum { SLOTS = WEIR__OPT_OWN, BITS };

static unsigned slots_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, SLOTS); }
static unsigned bits_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, BITS); }
static unsigned buckets_of(const weir_filter *f) { return 512 / (slots_of(f) * bits_of(f)); }
static double total_of(const weir_filter *f) {
    return (double)(f->cells_bytes / 64 * buckets_of(f) * slots_of(f));
}

/* --- the twin: buckets of numbers, compared with the cells bit by bit ------------------ */

typedef struct {
    uint64_t *slots; /* of all buckets, line by line */
    uint64_t lines, rng;
    unsigned buckets, per_bucket, bits;
} twin;

static bool twin_offer(twin *t, uint64_t hash) {
    uint64_t line = twin_scale(hash, t->lines), rest = twin_mix(hash * t->lines);
    uint64_t bucket = twin_scale(rest, t->buckets), left = rest * t->buckets;
    uint64_t fingerprint = 1 + twin_scale(left, (UINT64_C(1) << t->bits) - 1);
    uint64_t *slots = t->slots + (line * t->buckets + bucket) * t->per_bucket;
    unsigned empty = t->per_bucket;
    for (unsigned i = t->per_bucket; i-- > 0;) {
        if (slots[i] == fingerprint) return true;
        if (slots[i] == 0) empty = i;
    }
    if (empty == t->per_bucket)
        empty =
            (unsigned)twin_scale(twin_mix(t->rng += UINT64_C(0x9e3779b97f4a7c15)), t->per_bucket);
    slots[empty] = fingerprint;
    return false;
}

static void expect_same_cells(const weir_filter *f, const twin *t) {
    for (uint64_t line = 0; line < t->lines; line++)
        for (unsigned s = 0; s < t->buckets * t->per_bucket; s++) {
            uint64_t value = 0;
            for (unsigned b = 0; b < t->bits; b++) {
                uint64_t bit = line * 512 + s * t->bits + b;
                value |= (uint64_t)(f->cells[bit / 8] >> (bit % 8) & 1) << b;
            }
            assert_int_equal(value, t->slots[line * t->buckets * t->per_bucket + s]);
        }
}

static void compare_with_twin(const char *spec) {
    weir_filter *f = make_filter(spec);
    twin t = {.lines = f->cells_bytes / 64, .rng = *weir__filter_state(f)};
    t.buckets = buckets_of(f), t.per_bucket = slots_of(f), t.bits = bits_of(f);
    t.slots = calloc((size_t)total_of(f), sizeof *t.slots);
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t hash = skewed_key(3, i, 9000);
        bool expected = twin_offer(&t, hash);
        assert_int_equal(offer_hash(f, hash), expected);
    }
    expect_same_cells(f, &t);
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    free(t.slots);
    weir_filter_free(f);
}

static void test_twin(void **state) {
    (void)state;
    static const char *const more[] = {"fpr=10%",         "fpr=1%",
                                       "fpr=0.0001%",     "fpr=1%,slots=4",
                                       "fpr=1e-9",        "fpr=1%,slots=7",
                                       "fpr=50%,slots=1", "fpr=0.1%,slots=30",
                                       "fpr=20%,bits=9",  "fpr=1%,slots=2,bits=48"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "qht:memory=4K,seed=9,%s", more[i]);
        compare_with_twin(spec);
    }
}

/* --- formulas ---------------------------------------------------------------------------- */

/* The rate at every fill is the mean number held over the fingerprints there are;
 * when full, that of full buckets. */
static void test_rate(void **state) {
    (void)state;
    static const char *const specs[] = {"qht:memory=16K,fpr=10%,seed=1",
                                        "qht:memory=16K,fpr=1%,seed=1",
                                        "qht:memory=16K,fpr=5%,slots=6,seed=1"};
    for (int s = 0; s < 3; s++) {
        weir_filter *f = make_filter(specs[s]);
        uint64_t total = (uint64_t)total_of(f), at = 0;
        double tests = 400000;
        for (int step = 1; step <= 16; step *= 2) {
            weir_filter_info info;
            char what[96];
            for (; at < total * (uint64_t)step / 2; at += 1) offer_hash(f, test_word(1, at));
            weir_filter_get_info(f, &info);
            snprintf(what, sizeof what, "%s, fill %.2f", specs[s] + 4, info.fill);
            expect_rate(what, test_keys(f, 2, 0, (uint64_t)tests), tests,
                        weir__qht_fpr(info.fill * slots_of(f), bits_of(f)));
        }
        assert_true(weir__qht_fpr(slots_of(f), bits_of(f)) <= weir__opt_rate(f, WEIR__OPT_FPR));
        weir_filter_free(f);
    }
}

/* A key, then `gap` new ones, then the key again, in a full table. */
static void test_forgetting(void **state) {
    (void)state;
    static const char *const specs[] = {"qht:memory=1K,fpr=5%,seed=1",
                                        "qht:memory=1K,fpr=5%,slots=4,seed=1"};
    static const uint64_t gaps[] = {50, 400, 1500};
    for (int s = 0; s < 2; s++)
        for (int g = 0; g < 3; g++) {
            weir_filter *f = make_filter(specs[s]);
            uint64_t at = 40 * (uint64_t)total_of(f);
            double lost = 0, n = 4000;
            offer_keys(f, 1, 0, at);
            for (uint64_t i = 0; i < (uint64_t)n; i++) {
                offer_hash(f, test_word(31, i));
                offer_keys(f, 1, at, gaps[g]), at += gaps[g];
                lost += !test_hash(f, test_word(31, i));
            }
            char what[96];
            /* a key called SEEN when it was offered was not put in: it was there */
            snprintf(what, sizeof what, "forgotten by %s after %llu", specs[s] + 4,
                     (unsigned long long)gaps[g]);
            expect_rate(what, lost, n,
                        weir__qht_fnr(total_of(f), slots_of(f), bits_of(f), (double)gaps[g]));
            weir_filter_free(f);
        }
}

static void test_plan(void **state) {
    (void)state;
    static const double fprs[] = {0.5, 0.1, 0.03, 0.01, 0.001, 1e-6, 1e-9};
    for (int i = 0; i < 7; i++) { /* by trying everything */
        weir__qht_shape plan = weir__qht_plan(0, 0, fprs[i]);
        unsigned most = 0, held = 512 / (plan.slots * plan.bits) * plan.slots;
        for (unsigned b = 1; b <= 48; b++)
            for (unsigned s = 1; s <= 64 && s * b <= 512; s++)
                if (s / (pow(2, b) - 1) <= fprs[i] && 512 / (s * b) * s > most)
                    most = 512 / (s * b) * s;
        printf("# fpr=%g: %u slots of %u bits, %u in a line\n", fprs[i], plan.slots, plan.bits,
               held);
        assert_int_equal(held, most);
        assert_true(weir__qht_fpr(plan.slots, plan.bits) <= fprs[i]);
    }
}

/* --- options ------------------------------------------------------------------------------ */

static void test_options(void **state) {
    (void)state;
    static const resolution resolved[] = {
        {"qht:memory=1K,fpr=1%", BITS, 7, 7},         {"qht:memory=1K,fpr=1%", SLOTS, 1, 1},
        {"qht:memory=1K,fpr=1%,slots=4", BITS, 9, 9}, {"qht:memory=1K,fpr=1%,bits=10", SLOTS, 3, 3},
        {"qht:memory=1K,fpr=0.0001%", BITS, 20, 20},  {NULL, 0, 0, 0}};
    static const refusal refused[] = {{"qht:fpr=1%,bits=6", "try slots=1,bits=7", "bits="},
                                      {"qht:fpr=1%,slots=4,bits=8", "try slots=4,bits=9", "bits="},
                                      {"qht:fpr=0.0001%,slots=21", "ask for fewer slots", "slots="},
                                      {"qht:slots=0", "out of range", "slots="},
                                      {"qht:slots=65", "out of range", "slots="},
                                      {"qht:bits=0", "out of range", "bits="},
                                      {"qht:bits=49", "out of range", "bits="},
                                      {"qht:slots=20,bits=40", "do not fit a line", "slots="},
                                      {NULL, NULL, NULL}};
    expect_resolutions(resolved);
    expect_refusals(refused);
    expect_no_merge("qht:memory=4K", "which are older is not known");
}

static void test_check(void **state) {
    (void)state;
    weir_filter *f = make_filter("qht:memory=1K,fpr=10%,slots=4,seed=1"); /* 6 bits a slot */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    f->cells[1] = 0x40; /* the third slot in use, the first not */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    f->cells[0] = 0x41, f->cells[1] = 0; /* two slots alike */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    f->cells[0] = 0x81; /* sound, but not counted */
    assert_int_equal(weir__filter_check(f, NULL), WEIR_ERR_CORRUPT);
    weir__filter_state(f)[1] = 2, f->offered = 2;
    assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
    weir_filter_free(f);
}

static void test_contract(void **state) {
    (void)state;
    static const char *const some[] = {
        "qht:memory=8K,fpr=10%,seed=1", "qht:memory=8K,fpr=1%,seed=1",
        "qht:memory=8K,fpr=1e-6,seed=1", "qht:memory=8K,fpr=1%,slots=8,seed=1", NULL};
    expect_contract(some, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),       cmocka_unit_test(test_rate),
        cmocka_unit_test(test_forgetting), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_options),    cmocka_unit_test(test_check),
        cmocka_unit_test(test_contract),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
