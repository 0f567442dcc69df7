/* test_slice_threads.c - threads on filters that are spread over sites. */
#include <pthread.h>
#include <stdatomic.h>

#include "slice/stretch.h"
#include "testing.h"

#define THREADS 4
#define ROUNDS 60
#define SHARED 64

typedef struct {
    weir_filter *filter;
    unsigned number;
    pthread_barrier_t *together;
    atomic_uint *told_new; /* of each key: how many were told NEW */
} racer;

/* All offer the same keys in different orders. */
static void *race(void *argument) {
    racer *r = argument;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(r->together);
        for (uint64_t i = 0; i < SHARED; i++) {
            uint64_t k = r->number % 2 ? SHARED - 1 - i : i;
            k = (k + r->number * 7) % SHARED;
            uint64_t key = test_word(21, round * SHARED + k), verdict, from = r->number;
            weir_filter_offer_batch(
                r->filter, &(weir_batch){.count = 1, .hashes = &key, .producers = &from}, &verdict);
            if (!(verdict & 1)) atomic_fetch_add(&r->told_new[round * SHARED + k], 1);
        }
    }
    return NULL;
}

static void of_those_who_race_one_is_told_new(void **state) {
    (void)state;
    static const char *const specs[] = {
        "horizontal:slices=2,memory=4M,seed=1",
        "vertical:slices=8,memory=4M,seed=1,of=(bloom:layout=classic),probe=parallel",
        "vertical:slices=8,memory=4M,seed=1,of=(bloom:layout=classic),primitive=test-and-set",
        "tree:fanout=4,levels=2,mode=dense,memory=4M,seed=1",
        "tree:fanout=4,levels=2,mode=sparse,memory=4M,seed=1"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        static atomic_uint told_new[ROUNDS * SHARED];
        pthread_barrier_t together;
        pthread_t threads[THREADS];
        racer racers[THREADS];
        weir_filter *f = make_filter(specs[s]);
        for (size_t i = 0; i < ROUNDS * SHARED; i++) atomic_store(&told_new[i], 0);
        pthread_barrier_init(&together, NULL, THREADS);
        for (unsigned t = 0; t < THREADS; t++) {
            racers[t] = (racer){f, t, &together, told_new};
            assert_int_equal(pthread_create(&threads[t], NULL, race, &racers[t]), 0);
        }
        for (unsigned t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
        pthread_barrier_destroy(&together);
        for (size_t i = 0; i < ROUNDS * SHARED; i++)
            if (told_new[i] != 1)
                fail_msg("%s: %u threads were told NEW of key %zu", specs[s], told_new[i], i);
        weir_filter_info info;
        weir_filter_get_info(f, &info);
        assert_int_equal(info.offered, THREADS * ROUNDS * SHARED);
        assert_int_equal(info.seen, (THREADS - 1) * ROUNDS * SHARED);
        weir_filter_free(f);
    }
}

typedef struct {
    weir_filter *filter;
    atomic_bool *done;
} breaker;

/* Lose and bring back sites at any time. */
static void *break_sites(void *argument) {
    breaker *b = argument;
    for (uint64_t i = 0; !atomic_load(b->done); i++) {
        size_t site = test_word(31, i) % weir_filter_sites(b->filter);
        weir_filter_set_site(b->filter, site, (weir_site_state)(test_word(32, i) % 3), NULL);
        usleep(200);
    }
    for (size_t i = 0; i < weir_filter_sites(b->filter); i++)
        weir_filter_set_site(b->filter, i, WEIR_SITE_ALIVE, NULL);
    return NULL;
}

/* Whatever fails, the books are kept: every key is counted once. */
static void sites_may_fail_at_any_time(void **state) {
    (void)state;
    static const char *const specs[] = {
        "horizontal:slices=4,memory=256K,seed=1",
        "vertical:slices=8,memory=256K,seed=1,of=(bloom:layout=classic),on-lost=seen",
        "tree:fanout=2,levels=3,memory=256K,seed=1"};
    for (size_t s = 0; s < 3; s++) {
        weir_filter *f = make_filter(specs[s]);
        atomic_bool done = false;
        breaker b = {f, &done};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, break_sites, &b), 0);
        uint64_t hashes[256], verdicts[4], seen = 0;
        for (uint64_t i = 0; i < 200; i++) {
            for (uint64_t j = 0; j < 256; j++) hashes[j] = test_word(33, (i * 256 + j) % 9000);
            seen +=
                weir_filter_offer_batch(f, &(weir_batch){.count = 256, .hashes = hashes}, verdicts);
        }
        atomic_store(&done, true);
        pthread_join(thread, NULL);
        weir_filter_info info;
        weir_filter_get_info(f, &info);
        assert_int_equal(info.offered, 200 * 256);
        assert_int_equal(info.seen, seen);
        weir_traffic t;
        weir_filter_get_traffic(f, &t, NULL);
        assert_int_equal(t.keys, 200 * 256);
        weir_filter_free(f);
    }
}

/* Keys of some slices of a filter, in order, and the verdicts on them. */
typedef struct {
    weir_filter *filter;
    uint64_t *hashes, *verdicts;
    size_t count;
} share;

enum { SHARE_BATCH = 64 };

static void *offer_share(void *argument) {
    share *s = argument;
    for (size_t at = 0; at < s->count; at += SHARE_BATCH) {
        size_t n = s->count - at < SHARE_BATCH ? s->count - at : SHARE_BATCH;
        weir_filter_offer_batch(s->filter, &(weir_batch){.count = n, .hashes = s->hashes + at},
                                s->verdicts + at / SHARE_BATCH);
    }
    return NULL;
}

/* Slices much too small for their keys, so that each verdict depends on all before it in
 * its slice: threads that each have slices of their own get those of one after the other. */
static void threads_do_not_change_verdicts(void **state) {
    (void)state;
    enum { MANY = 200000 };
    static const char spec[] = "horizontal:slices=8,memory=24K,fpr=1%,seed=3";
    weir_filter *together = make_filter(spec), *in_turn = make_filter(spec);
    share side_by_side[THREADS], alone[THREADS];
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        side_by_side[t] = (share){together, calloc(MANY, 8), calloc(MANY / 64 + 1, 8), 0};
        alone[t] = (share){in_turn, side_by_side[t].hashes, calloc(MANY / 64 + 1, 8), 0};
    }
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t hash = test_word(41, test_word(42, i) % 30000);
        share *s = &side_by_side[weir__slice_of(hash, 8) % THREADS];
        s->hashes[s->count++] = hash;
    }
    for (unsigned t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, offer_share, &side_by_side[t]), 0);
    for (unsigned t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    uint64_t seen = 0;
    for (unsigned t = 0; t < THREADS; t++) {
        size_t words = WEIR_VERDICT_WORDS(side_by_side[t].count);
        alone[t].count = side_by_side[t].count;
        offer_share(&alone[t]);
        assert_memory_equal(side_by_side[t].verdicts, alone[t].verdicts, words * 8);
        for (size_t i = 0; i < words; i++)
            seen += (uint64_t)__builtin_popcountll(alone[t].verdicts[i]);
        free(side_by_side[t].hashes);
        free(side_by_side[t].verdicts);
        free(alone[t].verdicts);
    }
    assert_true(seen > MANY / 4 && seen < MANY * 4 / 5); /* much was forgotten */
    weir_filter_free(together);
    weir_filter_free(in_turn);
}

/* Flickering sites; what they hold stays. */
static void *flicker(void *argument) {
    breaker *b = argument;
    for (uint64_t i = 0; !atomic_load(b->done); i++) {
        size_t site = test_word(31, i) % weir_filter_sites(b->filter);
        weir_filter_set_site(b->filter, site, WEIR_SITE_LOST, NULL);
        usleep(20);
        weir_filter_set_site(b->filter, site, WEIR_SITE_ALIVE, NULL);
        usleep(200);
    }
    return NULL;
}

/* Who stops or waits is never told that a known key is new, at whatever instant a site
 * is lost. */
static void to_stop_or_to_wait_loses_nothing(void **state) {
    (void)state;
    enum { KNOWN = 512, ENOUGH = 500, BATCHES_MOST = 10000000 };
    static uint64_t hashes[KNOWN], verdicts[WEIR_VERDICT_WORDS(KNOWN)];
    static const char *const specs[] = {
        "horizontal:slices=4,memory=256K,seed=1,on-lost=stop",
        "horizontal:slices=4,memory=256K,seed=1,on-lost=wait",
        "vertical:slices=8,memory=256K,seed=1,of=(bloom),on-lost=stop",
        "vertical:slices=8,memory=256K,seed=1,of=(bloom),on-lost=wait",
        "tree:fanout=2,levels=3,memory=256K,seed=1,on-lost=stop",
        "tree:fanout=2,levels=3,memory=256K,seed=1,on-lost=wait",
    };
    for (uint64_t i = 0; i < KNOWN; i++) hashes[i] = test_word(34, i);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        weir_filter *f = make_filter(specs[s]);
        weir_batch batch = {.count = KNOWN, .hashes = hashes};
        assert_int_equal(weir_filter_offer_batch(f, &batch, verdicts), 0);
        atomic_bool done = false;
        breaker b = {f, &done};
        pthread_t thread;
        unsigned answered = 0;
        assert_int_equal(pthread_create(&thread, NULL, flicker, &b), 0);
        for (unsigned i = 0; i < BATCHES_MOST && answered < ENOUGH; i++) {
            size_t seen = weir_filter_offer_batch(f, &batch, verdicts);
            if (seen == WEIR_STOPPED) continue;
            if (seen != KNOWN) fail_msg("%s: %zu of %d", specs[s], seen, KNOWN);
            answered++;
        }
        atomic_store(&done, true);
        pthread_join(thread, NULL);
        assert_int_equal(answered, ENOUGH);
        weir_filter_free(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_those_who_race_one_is_told_new),
        cmocka_unit_test(sites_may_fail_at_any_time),
        cmocka_unit_test(threads_do_not_change_verdicts),
        cmocka_unit_test(to_stop_or_to_wait_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
