/* test_buffer.c - the buffer of fingerprints against exact twins and the thesis. */
#include "filter/buffer.h"

#include "theory.h"

enum { POLICY = WEIR__OPT_OWN, Q, ACCOUNTING };

static weir__buffer_policy policy_of(const weir_filter *f) {
    return (weir__buffer_policy)weir__opt_whole(f, POLICY);
}
static uint64_t capacity_of(const weir_filter *f) {
    return weir__buffer_capacity(weir__opt_whole(f, WEIR__OPT_MEMORY), policy_of(f),
                                 weir__opt_whole(f, ACCOUNTING) == 1);
}

/* --- the twins: arrays that are searched from end to end ---------------------------- */

typedef struct {
    uint64_t *keys;
    bool *used;
    size_t capacity, held, hand;
    bool clock;
} twin;

static twin make_twin(const weir_filter *f) {
    twin t = {.capacity = (size_t)capacity_of(f), .clock = policy_of(f) == WEIR__POLICY_CLOCK};
    t.keys = calloc(t.capacity, sizeof *t.keys);
    t.used = calloc(t.capacity, sizeof *t.used);
    return t;
}

static void free_twin(twin *t) { free(t->keys), free(t->used); }

static size_t twin_find(const twin *t, uint64_t key) {
    size_t i = 0;
    while (i < t->held && t->keys[i] != key) i++;
    return i;
}

/* keys[0] is the newest; a key that is used moves there. */
static bool lru_offer(twin *t, uint64_t key) {
    size_t at = twin_find(t, key);
    bool found = at < t->held;
    if (!found && t->held < t->capacity) t->held++;
    if (!found) at = t->held - 1;
    memmove(t->keys + 1, t->keys, at * sizeof *t->keys);
    t->keys[0] = key;
    return found;
}

static bool clock_offer(twin *t, uint64_t key) {
    size_t at = twin_find(t, key);
    if (at < t->held) return t->used[at] = true;
    while (t->held == t->capacity && t->used[t->hand]) {
        t->used[t->hand] = false;
        t->hand = (t->hand + 1) % t->capacity;
    }
    if (t->held < t->capacity) t->held++;
    t->keys[t->hand] = key;
    t->used[t->hand] = false;
    t->hand = (t->hand + 1) % t->capacity;
    return false;
}

static bool twin_offer(twin *t, uint64_t key) {
    return t->clock ? clock_offer(t, key) : lru_offer(t, key);
}

static const char *const some[] = {"buffer:memory=8K,seed=1",
                                   "buffer:memory=8K,seed=1,policy=clock",
                                   "buffer:memory=1K,seed=1",
                                   "buffer:memory=1K,seed=1,policy=clock",
                                   "buffer:memory=8K,seed=1,accounting=paper",
                                   "buffer:memory=3000,seed=1,policy=clock,accounting=paper"};
enum { SOME = sizeof some / sizeof *some };

static void test_twin(void **state) {
    (void)state;
    for (int s = 0; s < SOME; s++) {
        weir_filter *f = make_filter(some[s]);
        twin t = make_twin(f);
        double keys = 4.0 * (double)t.capacity;
        for (uint64_t i = 0; i < 60000; i++) {
            uint64_t hash = skewed_key(3, i, keys);
            if (i % 5000 == 77) hash = 0; /* a hash like any other */
            bool expected = twin_offer(&t, hash);
            assert_int_equal(offer_hash(f, hash), expected);
            if (i % 10000 != 9999) continue;
            for (size_t k = 0; k < t.held; k++) assert_true(test_hash(f, t.keys[k]));
            weir_error err = {0};
            if (weir__filter_check(f, &err)) fail_msg("%s: %s", some[s], err.message);
        }
        free_twin(&t);
        weir_filter_free(f);
    }
}

/* Hashes that all belong to a few lines: keys stand far from where they belong,
 * and the counts of overflows reach their end. */
static void test_crowded(void **state) {
    (void)state;
    for (int s = 0; s < SOME; s++) {
        weir_filter *f = make_filter(some[s]);
        twin t = make_twin(f);
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t hash = skewed_key(3, i, 2.0 * (double)t.capacity) >> 20;
            if (i % 3 == 0) hash = ~hash; /* the last line: around the end */
            bool expected = twin_offer(&t, hash);
            assert_int_equal(offer_hash(f, hash), expected);
        }
        assert_int_equal(weir__filter_check(f, NULL), WEIR_OK);
        free_twin(&t);
        weir_filter_free(f);
    }
}

/* --- FPBuffering ----------------------------------------------------------------------- */

/* 3.5.2: the false positive rate is q; of the repeats that are gone 1 - q pass. On a
 * stream of N keys all alike an LRU of C holds any C of them: C/N are found. */
static void test_rates(void **state) {
    (void)state;
    static const char *const specs[] = {"buffer:memory=20K,seed=1,q=10%",
                                        "buffer:memory=20K,seed=1,q=1%,policy=clock",
                                        "buffer:memory=20K,seed=1,q=2%,fpr=5%,accounting=paper"};
    for (int s = 0; s < 3; s++) {
        weir_filter *f = make_filter(specs[s]);
        double q = weir__opt_rate(f, Q), n = 200000, keys = 5000, found = 0;
        expect_rate(specs[s], offer_keys(f, 4, 0, (uint64_t)n), n, q);
        expect_rate("tested", test_keys(f, 5, 0, (uint64_t)n), n, q);
        weir_filter_clear(f);
        for (uint64_t i = 0; i < (uint64_t)n; i++) { /* the first come until it is settled */
            bool seen = offer_hash(f, test_word(6, test_word(7, i) % (uint64_t)keys));
            if (i >= 50000) found += seen;
        }
        double formula = weir__buffer_fnr_uniform(capacity_of(f), q, keys);
        /* neighbours in the stream see nearly the same buffer, but what they find of it is
         * independent */
        expect_rate("repeats that pass", n - 50000 - found, n - 50000, formula);
        weir_filter_free(f);
    }
}

/* LRU: found while fewer different keys than it holds came between, else not. */
static void test_distance(void **state) {
    (void)state;
    weir_filter *f = make_filter("buffer:memory=16K,seed=1");
    uint64_t capacity = capacity_of(f), at = 0;
    for (uint64_t distance = capacity - 3; distance < capacity + 3; distance++) {
        uint64_t marker = test_word(9, distance);
        offer_hash(f, marker);
        offer_keys(f, 8, at, distance), at += distance;
        assert_int_equal(!test_hash(f, marker),
                         weir__buffer_fnr(capacity, 0, (double)distance) > 0);
    }
    assert_true(weir__buffer_fnr(100, 0.1, 100) == 0.9 && weir__buffer_fnr(100, 0.1, 99) == 0);
    weir_filter_free(f);
}

/* --- memory ------------------------------------------------------------------------------- */

static void test_accounting(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1024, 1500, 65536, 1000000, UINT64_C(1) << 28};
    for (int i = 0; i < 5; i++)
        for (int p = 0; p < 2; p++) {
            weir__buffer_policy policy = p ? WEIR__POLICY_CLOCK : WEIR__POLICY_LRU;
            uint64_t honest = weir__buffer_capacity(sizes[i], policy, false);
            assert_true(weir__buffer_bytes(honest, policy) <= sizes[i]);
            assert_true(weir__buffer_bytes(honest + 1, policy) > sizes[i]);
            assert_int_equal(weir__buffer_capacity(sizes[i], policy, true), sizes[i] / 8);
            double per_key = (double)sizes[i] / (double)honest;
            printf("# %s in %llu bytes: %llu keys, %.2f bytes each\n", p ? "clock" : "lru",
                   (unsigned long long)sizes[i], (unsigned long long)honest, per_key);
            if (sizes[i] > 100000) assert_true(per_key < (p ? 20.4 : 21.6));
        }
    weir_filter_info info;
    weir_filter *f = make_filter("buffer:memory=64K,accounting=paper");
    weir_filter_get_info(f, &info);
    assert_true(info.memory > 2 * 65536); /* what is held is told as it is */
    weir_filter_free(f);
    /* more places than 32 bits can name */
    assert_true(weir__buffer_capacity(UINT64_C(1) << 45, WEIR__POLICY_LRU, true) < UINT32_MAX);
    assert_true(weir__buffer_capacity(UINT64_C(1) << 45, WEIR__POLICY_LRU, false) < UINT32_MAX);
}

/* --- the rest ------------------------------------------------------------------------------- */

static void test_options(void **state) {
    (void)state;
    weir_filter *f = make_filter("buffer:memory=4K,q=5%");
    assert_true(weir__opt_rate(f, WEIR__OPT_FPR) == 0.05);
    weir_filter_free(f);
    expect_refused("buffer:q=5%,fpr=1%", "above fpr=1%", "q=");
    expect_refused("buffer:q=0", "out of range", "q=");
    expect_refused("buffer:q=60%", "out of range", "q=");
    expect_refused("buffer:policy=fifo", "policy", "policy=");
    expect_refused("buffer:accounting=none", "accounting", "accounting=");
    expect_refused("buffer:k=2", "unknown option", NULL);
}

static void test_info(void **state) {
    (void)state;
    weir_filter_info info;
    weir_filter *f = make_filter("buffer:memory=8K");
    uint64_t capacity = capacity_of(f);
    offer_keys(f, 1, 0, capacity);
    weir_filter_get_info(f, &info);
    assert_true(info.fill == 1 && !info.overfull && info.fpr_now < 1e-15);
    offer_keys(f, 1, capacity, 1);
    weir_filter_get_info(f, &info);
    assert_true(info.fill == 1 && info.overfull);
    weir_filter_free(f);
    expect_details("buffer:memory=8K", 5);
}

static void merge_of(const char *spec) {
    weir_error err;
    weir_filter *a = make_filter(spec), *b = make_filter(spec), *both = make_filter(spec);
    uint64_t capacity = capacity_of(a), half = capacity / 2;
    offer_keys(a, 1, 0, half), offer_keys(b, 1, half / 2, half);
    offer_keys(both, 1, 0, half), offer_keys(both, 1, half / 2, half);
    if (weir_filter_merge(a, b, &err)) fail_msg("%s: %s", spec, err.message);
    assert_int_equal(weir__filter_check(a, &err), WEIR_OK);
    assert_true(test_keys(a, 1, 0, half / 2 + half) == (double)(half / 2 + half));
    /* it goes on as if all had come to one: the same keys are let go, in the same order */
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t hash = skewed_key(1, i, 1000);
        bool expected = offer_hash(both, hash);
        assert_int_equal(offer_hash(a, hash), expected);
    }
    weir_filter_clear(a), weir_filter_clear(b);
    offer_keys(a, 1, 0, capacity), offer_keys(b, 2, 0, 3);
    assert_int_equal(weir_filter_merge(a, b, &err), WEIR_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "there is room for"));
    offer_keys(a, 1, capacity, 1);
    assert_int_equal(weir_filter_merge(b, a, &err), WEIR_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "has let keys go"));
    weir_filter_free(a), weir_filter_free(b), weir_filter_free(both);
}

static void test_merge(void **state) {
    (void)state;
    merge_of("buffer:memory=8K,seed=1");
    merge_of("buffer:memory=8K,seed=1,policy=clock");
}

/* Every byte of the cells and state changed: found, or harmless. */
static void damage(const char *spec) {
    weir_filter *f = make_filter(spec);
    for (uint64_t i = 0; i < 3000; i++) offer_hash(f, skewed_key(1, i, 300));
    size_t state_bytes = f->class->state_words * 8, found = 0;
    uint8_t *state = (uint8_t *)weir__filter_state(f), *cells = malloc(f->cells_bytes);
    uint8_t *words = malloc(state_bytes);
    memcpy(cells, f->cells, f->cells_bytes), memcpy(words, state, state_bytes);
    for (size_t i = 0; i < f->cells_bytes + state_bytes; i++) {
        uint8_t *byte = i < f->cells_bytes ? &f->cells[i] : &state[i - f->cells_bytes];
        *byte ^= (uint8_t)(1 + test_word(5, i) % 255);
        if (weir__filter_check(f, NULL) != WEIR_OK) found++;
        else offer_keys(f, 9, 0, 500); /* goes on, whatever it says */
        memcpy(f->cells, cells, f->cells_bytes), memcpy(state, words, state_bytes);
    }
    printf("# %s: %zu of %zu changed bytes found\n", spec, found,
           (size_t)f->cells_bytes + state_bytes);
    assert_true(found > f->cells_bytes / 3);
    free(cells), free(words);
    weir_filter_free(f);
}

static void test_damage(void **state) {
    (void)state;
    damage("buffer:memory=1K,seed=1");
    damage("buffer:memory=1K,seed=1,policy=clock");
}

static const char *const with_q[] = {"buffer:memory=8K,seed=1,q=10%",
                                     "buffer:memory=8K,seed=1,policy=clock,q=10%"};

static void test_batches(void **state) {
    (void)state;
    for (int i = 0; i < SOME; i++) expect_batch_independence(some[i]);
    for (int i = 0; i < 2; i++) expect_batch_independence(with_q[i]);
}
static void test_test(void **state) {
    (void)state;
    for (int i = 0; i < SOME; i++) expect_test_agrees(some[i]);
    for (int i = 0; i < 2; i++) expect_test_agrees(with_q[i]);
}
static void test_survival(void **state) {
    (void)state;
    for (int i = 0; i < SOME; i++) expect_survives(some[i]);
    for (int i = 0; i < 2; i++) expect_survives(with_q[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),       cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_rates),      cmocka_unit_test(test_distance),
        cmocka_unit_test(test_accounting), cmocka_unit_test(test_options),
        cmocka_unit_test(test_info),       cmocka_unit_test(test_merge),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_batches),
        cmocka_unit_test(test_test),       cmocka_unit_test(test_survival),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
