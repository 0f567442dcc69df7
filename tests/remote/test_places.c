/* test_places.c - slices of places on plain strings: the verdicts of one process, and nothing lost.
 */
#include "remote_testing.h"

#define SPEC(more) "vertical:memory=8K,seed=9," more ",of=(bloom:k=5,layout=classic)"

static real_server start_plain(void) {
    const char *none[] = {NULL};
    return start_real(none);
}

/* --- the same verdicts as in one process ------------------------------------------------------ */

/* A stream in which keys come again, some of them within the same batch. */
static uint64_t *stream_with_repeats(size_t count) {
    uint64_t *hashes = malloc(count * 8);
    for (uint64_t i = 0; i < count; i++) hashes[i] = test_word(3, test_word(4, i) % (count / 2));
    return hashes;
}

/* Several batches on their way at once are judged as if each were alone. The filter is so full that
 * keys of a batch share places. */
static void same_as_here(const char *spec) {
    enum { KEYS = 24000, STEP = 3000, AHEAD = 3 };
    real_server s = start_plain();
    uint64_t *hashes = stream_with_repeats(KEYS);
    weir_remote *r = open_at(s.port, "places", (weir_remote_options){0}, spec);
    weir_filter *here = make_filter(spec);
    weir_error err;
    size_t seen, repeats = 0;
    uint64_t none[1];
    assert_int_equal(weir_remote_submit(r, &(weir_batch){.count = 0}, &err), WEIR_OK);
    assert_int_equal(weir_remote_collect(r, none, &seen, &err), WEIR_OK);
    assert_int_equal(seen, 0);
    for (size_t at = 0, sent = 0; at < KEYS; at += STEP) {
        uint64_t there[WEIR_VERDICT_WORDS(STEP)], verdicts[WEIR_VERDICT_WORDS(STEP)];
        weir_batch batch = {.count = STEP, .hashes = hashes + at};
        for (; sent < KEYS && sent < at + AHEAD * STEP; sent += STEP) {
            weir_batch next = {.count = STEP, .hashes = hashes + sent};
            assert_int_equal(weir_remote_submit(r, &next, &err), WEIR_OK);
        }
        assert_int_equal(weir_remote_collect(r, there, &seen, &err), WEIR_OK);
        repeats += seen;
        assert_int_equal(weir_filter_offer_batch(here, &batch, verdicts), seen);
        assert_memory_equal(there, verdicts, sizeof there);
    }
    assert_in_range(repeats, KEYS / 4, KEYS - 1000);
    /* that both slices are on one server is said, once, and nothing else */
    assert_non_null(strstr(said, "2 slices of 'places' stand on 1 master"));
    assert_string_equal(strchr(said, '\n'), "\n");
    weir_filter_free(here);
    weir_remote_close(r);
    free(hashes);
    stop_real(&s);
}

static void verdicts_are_those_of_one_process(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    same_as_here(SPEC("slices=2,probe=parallel"));
    same_as_here(SPEC("slices=2,probe=pipeline"));
    same_as_here(SPEC("slices=2,probe=parallel,rule=letter,live=3"));
    same_as_here(SPEC("slices=2,probe=pipeline,rule=letter,live=3"));
    same_as_here(SPEC("slices=2,primitive=test-and-set"));
}

/* --- cut anywhere -------------------------------------------------------------------------------
 */

/* Two batches on their way at once, of 4 keys each, 2 of them in both. */
static void two_batches(weir_remote *r, uint64_t seed, bool once) {
    enum { BATCH = 4, SHARED = 2 };
    uint64_t hashes[2][BATCH], verdicts[2][1];
    weir_error err;
    for (int b = 0; b < 2; b++)
        for (uint64_t i = 0; i < BATCH; i++)
            hashes[b][i] = test_word(seed, b && i >= SHARED ? BATCH + i : i);
    for (int b = 0; b < 2; b++) {
        weir_batch batch = {.count = BATCH, .hashes = hashes[b]};
        assert_int_equal(weir_remote_submit(r, &batch, &err), WEIR_OK);
    }
    for (int b = 0; b < 2; b++)
        if (weir_remote_collect(r, verdicts[b], NULL, &err) != WEIR_OK) fail_msg("%s", err.message);
    for (int i = 0; i < BATCH; i++) {
        bool first = !(verdicts[0][0] >> i & 1), second = !(verdicts[1][0] >> i & 1);
        assert_true(first);
        if (i >= SHARED) assert_true(second);
        else if (once) assert_false(second);
    }
}

/* The connection is cut once at every byte of two batches, and at every byte of their replies. */
static void cut_everywhere(const char *spec, bool once) {
    real_server s = start_plain();
    proxy p = {0};
    start_proxy(&p, s.port);
    weir_remote *r = open_at(p.port, "cut", (weir_remote_options){.in_flight = 2}, spec);
    weir_remote_stats before, after;
    weir_remote_get_stats(r, &before);
    two_batches(r, 1, once);
    weir_remote_get_stats(r, &after);
    int64_t up = (int64_t)(after.bytes_sent - before.bytes_sent),
            down = (int64_t)(after.bytes_received - before.bytes_received);
    assert_true(up > 500 && down > 50);
    int step = test_slowness() ? 37 : 1;
    for (int64_t cut = 0; cut < up; cut += step) {
        p.up = cut;
        two_batches(r, (uint64_t)(1000 + cut), once);
    }
    for (int64_t cut = 0; cut < down; cut += step) {
        p.down = cut;
        two_batches(r, (uint64_t)(100000 + cut), once);
    }
    weir_remote_get_stats(r, &after);
    if (p.cuts < (up + down) / step * 9 / 10)
        fail_msg("%s: %d cuts of %lld + %lld bytes", spec, (int)p.cuts, (long long)up,
                 (long long)down);
    assert_true(after.reconnects >= (uint64_t)p.cuts);
    assert_int_equal(after.guessed, 0);
    assert_int_equal(after.rolled_back, 0);
    weir_remote_close(r);
    stop_proxy(&p);
    stop_real(&s);
}

#define LARGE(more) "vertical:memory=1M,seed=5,slices=2," more ",of=(bloom:k=4,layout=classic)"

/* Tested and set in one message, a batch that was cut is NEW all of it: nothing is lost. */
static void no_cut_loses_or_doubles_a_key(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    cut_everywhere(LARGE("probe=parallel"), true);
    cut_everywhere(LARGE("probe=pipeline"), true);
    cut_everywhere(LARGE("primitive=test-and-set"), false);
}

/* --- two producers ------------------------------------------------------------------------------
 */

enum { RACED = 20000, RACE_STEP = 500 };

typedef struct {
    uint16_t port;
    const char *spec;
    bool turned; /* the batches in the reverse order */
    uint8_t fresh[RACED];
} racer;

static void *race(void *context) {
    racer *me = context;
    weir_error err;
    weir_remote *r;
    char url[64];
    uint64_t hashes[RACE_STEP], verdicts[WEIR_VERDICT_WORDS(RACE_STEP)];
    weir_remote_options options = {0};
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/race", (unsigned)me->port);
    if (weir_remote_open(&r, url, &options, &err) != WEIR_OK ||
        weir_remote_begin(r, me->spec, 0, &err) != WEIR_OK)
        abort();
    for (size_t at = 0; at < RACED; at += RACE_STEP) {
        size_t from = me->turned ? RACED - RACE_STEP - at : at;
        for (size_t i = 0; i < RACE_STEP; i++) hashes[i] = test_word(8, from + i);
        weir_batch batch = {.count = RACE_STEP, .hashes = hashes};
        if (weir_remote_submit(r, &batch, &err) != WEIR_OK ||
            weir_remote_collect(r, verdicts, NULL, &err) != WEIR_OK)
            abort();
        for (size_t i = 0; i < RACE_STEP; i++)
            me->fresh[from + i] = !(verdicts[i / 64] >> (i % 64) & 1);
    }
    weir_remote_close(r);
    return NULL;
}

/* Both offer the same keys at the same time: each key is NEW to one of them, but for few that are
 * NEW to both; no key is SEEN by both, but for the false positives of the filter. */
static void of_two_producers_one_is_told_new(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    static const char *const specs[] = {LARGE("probe=parallel"), LARGE("probe=pipeline")};
    for (size_t i = 0; i < 2; i++) {
        real_server s = start_plain();
        static racer racers[2];
        pthread_t threads[2];
        size_t both = 0, none = 0;
        weir_remote *r = open_at(s.port, "race", (weir_remote_options){0}, specs[i]);
        for (int t = 0; t < 2; t++) {
            racers[t] = (racer){.port = s.port, .spec = specs[i], .turned = false};
            if (pthread_create(&threads[t], NULL, race, &racers[t])) abort();
        }
        for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
        for (size_t k = 0; k < RACED; k++) {
            both += racers[0].fresh[k] && racers[1].fresh[k];
            none += !racers[0].fresh[k] && !racers[1].fresh[k];
        }
        if (both > RACED / 20 || none > 20)
            fail_msg("%s: %zu keys were NEW twice, %zu never", specs[i], both, none);
        weir_remote_close(r);
        stop_real(&s);
    }
}

/* --- slices that go, come back and lose writes ---------------------------------------------------
 */

static void a_slice_that_went_is_made_again(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    real_server s = start_plain();
    weir_error err;
    weir_remote_stats stats;
    weir_remote_slice slice;
    weir_remote *r = open_at(s.port, "gone", (weir_remote_options){0}, LARGE("probe=parallel"));
    weir_remote *other = open_at(s.port, "gone", (weir_remote_options){0}, "vertical");
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(offer(other, 0, 1000, &err), 0);
    assert_int_equal(weir_remote_get_slice(r, 0, &slice, &err), WEIR_OK);
    assert_in_range(slice.memory, 500000, (1 << 19) + (1 << 17) + 16);
    assert_in_range((int)(slice.fill * 1e6), 400, 500); /* 2,000 of 2^22 bits */
    assert_true(slice.epoch && slice.offered >= 1900);
    assert_true(command(s.port, "FLUSHALL", NULL));
    assert_int_equal(weir_remote_get_slice(r, 0, &slice, &err), WEIR_OK);
    assert_true(slice.gone);
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    weir_remote_get_stats(r, &stats);
    assert_int_equal(stats.emptied, 2);
    assert_non_null(strstr(said, "begins again empty"));
    assert_int_equal(offer(other, 0, 1500, &err), 500);
    weir_remote_get_stats(other, &stats);
    assert_int_equal(stats.emptied, 2);
    assert_non_null(strstr(said, "made again by another"));
    weir_remote_close(other);
    weir_remote_close(r);
    r = open_at(s.port, "strict", (weir_remote_options){.on_lost = WEIR_REMOTE_STOP},
                LARGE("probe=parallel"));
    assert_true(command(s.port, "FLUSHALL", NULL));
    assert_int_equal(offer(r, 0, 100, &err), -1 - 100);
    assert_non_null(strstr(err.message, "is gone from the server"));
    weir_remote_close(r);
    stop_real(&s);
}

/* The description of the filter is gone, and the next producer makes another one of that name. The
 * places that are on are not its own, and would call new keys SEEN. */
static void places_of_another_filter_are_not_taken(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    static const char spec[] = "vertical:memory=1M,slices=2,of=(bloom:k=4,layout=classic)";
    static const char *const others[] = {
        spec, "vertical:memory=1M,seed=5,slices=2,of=(bloom:k=5,layout=classic)",
        "vertical:memory=1M,seed=5,hash=siphash,slices=2,of=(bloom:k=4,layout=classic)"};
    real_server s = start_plain();
    weir_error err;
    char url[64];
    weir_remote_options options = {0};
    weir_remote *r = open_at(s.port, "mine", options, LARGE("probe=parallel")), *other;
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/mine", (unsigned)s.port);
    for (size_t i = 0; i < 3; i++) {
        assert_true(command(s.port, "DEL mine:weir", NULL));
        assert_int_equal(weir_remote_open(&other, url, &options, &err), WEIR_OK);
        assert_int_equal(weir_remote_begin(other, others[i], 2, &err), WEIR_ERR_MISMATCH);
        assert_non_null(strstr(err.message, "is not a slice of this filter; take another name"));
        weir_remote_close(other);
    }
    assert_int_equal(offer(r, 500, 1500, &err), 500);
    weir_remote_close(r);
    stop_real(&s);
}

/* An older copy of a slice is put back, as after a failover to a replica that lacked writes. */
static void missing_writes_are_noticed(void **state) {
    (void)state;
    if (!have_program("redis-server")) skip();
    real_server s = start_plain();
    weir_error err;
    weir_remote_stats stats;
    weir_remote_slice slice;
    weir_remote *r = open_at(s.port, "roll", (weir_remote_options){0}, LARGE("probe=parallel"));
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(weir_remote_get_slice(r, 0, &slice, &err), WEIR_OK);
    assert_true(command(s.port, "COPY %s copy", slice.key));
    assert_int_equal(offer(r, 1000, 2000, &err), 1000);
    assert_true(command(s.port, "COPY copy %s REPLACE", slice.key));
    assert_true(offer(r, 1000, 2000, &err) > 800); /* a key has places in both slices, mostly */
    weir_remote_get_stats(r, &stats);
    assert_int_equal(stats.rolled_back, 1);
    assert_true(stats.keys_rolled_back > 1000);
    assert_non_null(strstr(said, "places that it had: a replica without them took over"));
    weir_remote_close(r);
    stop_real(&s);
}

/* What is off at a slice that came back empty proves nothing under on-lost=seen and live; what is
 * off elsewhere does. */
static void rules_hold_for_a_slice_that_came_back_empty(void **state) {
    (void)state;
    static const char *const specs[] = {
        "vertical:memory=1M,seed=5,slices=2,of=(bloom:k=8,layout=classic)",
        "vertical:memory=1M,seed=5,slices=2,live=1,probe=pipeline,of=(bloom:k=8,layout=classic)"};
    static const weir_remote_on_lost rules[] = {WEIR_REMOTE_SEEN, WEIR_REMOTE_NEW};
    if (!have_program("redis-server")) skip();
    real_server s = start_plain();
    weir_error err;
    weir_remote_slice slice;
    for (int i = 0; i < 2; i++) {
        weir_remote *r = open_at(s.port, i ? "live" : "seen",
                                 (weir_remote_options){.on_lost = rules[i]}, specs[i]);
        assert_int_equal(offer(r, 0, 1000, &err), 1000);
        assert_int_equal(weir_remote_get_slice(r, 1, &slice, &err), WEIR_OK);
        assert_true(command(s.port, "DEL %s", slice.key));
        /* one in 256 has no place elsewhere: up to 12 of 1000 */
        assert_in_range(offer(r, 0, 1000, &err), 0, 12);
        assert_non_null(strstr(said, "begins again empty"));
        assert_in_range(offer(r, 1000, 2000, &err), 988, 1000);
        assert_int_equal(offer(r, 1000, 2000, &err), 0);
        assert_int_equal(weir_remote_get_slice(r, 1, &slice, &err), WEIR_OK);
        assert_true(slice.fill > 0); /* it is filled again */
        /* who joins later knows that, too, from the slice's epoch */
        weir_remote *later = open_at(s.port, i ? "live" : "seen",
                                     (weir_remote_options){.on_lost = rules[i]}, specs[i]);
        assert_in_range(offer(later, 0, 1000, &err), 0, 12);
        weir_remote_close(later);
        weir_remote_close(r);
    }
    stop_real(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_one_process),
        cmocka_unit_test(no_cut_loses_or_doubles_a_key),
        cmocka_unit_test(of_two_producers_one_is_told_new),
        cmocka_unit_test(a_slice_that_went_is_made_again),
        cmocka_unit_test(places_of_another_filter_are_not_taken),
        cmocka_unit_test(missing_writes_are_noticed),
        cmocka_unit_test(rules_hold_for_a_slice_that_came_back_empty),
    };
    int failed = cmocka_run_group_tests_name("places", tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
