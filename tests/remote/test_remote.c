/* test_remote.c - a filter whose slices stand on a server: judged once, whatever is cut. */
#include "fleet.h"
#include "manifest.h"
#include "remote_testing.h"
#include "slice/stretch.h"

static const char *module_path(void) {
    const char *given = getenv("WEIR_MODULE");
    return given ? given : WEIR_MODULE_PATH;
}

/* Without them there is nothing to test: say so. */
static bool can_run(void) { return have_program("redis-server") && !access(module_path(), R_OK); }

static real_server start_with_module(void) {
    const char *more[] = {"--loadmodule", module_path(), "--enable-debug-command", "yes", NULL};
    return start_real(more);
}

/* Two batches on their way at once, of 30 keys each, 10 of them in both. Each key must be called
 * NEW once, wherever the connection is cut. */
enum { BATCH = 30, SHARED = 10 };
static void two_batches(weir_remote *r, uint64_t seed) {
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
        if (i < SHARED) assert_int_equal(first + second, 1);
        else assert_true(first && second);
    }
}

static void no_cut_loses_or_doubles_a_key(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    proxy p = {0};
    start_proxy(&p, s.port);
    weir_remote *r = open_at(p.port, "cut", (weir_remote_options){.in_flight = 2},
                             "recent:memory=256K,fpr=1e-9,seed=5");
    weir_remote_stats before, after;
    weir_remote_get_stats(r, &before);
    two_batches(r, 1);
    weir_remote_get_stats(r, &after);
    int64_t up = (int64_t)(after.bytes_sent - before.bytes_sent),
            down = (int64_t)(after.bytes_received - before.bytes_received);
    assert_true(up > 500 && down > 50);
    int step = test_slowness() ? 37 : 1;
    for (int64_t cut = 0; cut < up; cut += step) {
        p.up = cut;
        two_batches(r, (uint64_t)(1000 + cut));
    }
    for (int64_t cut = 0; cut < down; cut++) {
        p.down = cut;
        two_batches(r, (uint64_t)(100000 + cut));
    }
    weir_remote_get_stats(r, &after);
    assert_true(p.cuts >= up / step + down - 2);
    assert_true(after.reconnects >= (uint64_t)p.cuts);
    assert_int_equal(after.guessed, 0);
    assert_int_equal(after.rolled_back, 0);
    weir_remote_close(r);
    stop_proxy(&p);
    stop_real(&s);
}

/* --- the same verdicts as in one process ------------------------------------------------------ */

static void same_verdicts_as_here(void **state) {
    enum { KEYS = 40000, STEP = 5000 };
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    uint64_t *hashes = malloc(KEYS * 8);
    for (uint64_t i = 0; i < KEYS; i++) hashes[i] = test_word(3, test_word(4, i) % 20000);
    /* less memory than the keys need, so that it forgets and its random choices matter */
    weir_remote *r =
        open_at(s.port, "same", (weir_remote_options){0}, "recent:memory=16K,fpr=0.1%,seed=9");
    weir_filter *here[2] = {make_filter("recent:memory=8K,fpr=0.1%,seed=9"),
                            make_filter("recent:memory=8K,fpr=0.1%,seed=9")};
    uint64_t verdicts[WEIR_VERDICT_WORDS(STEP)], repeats = 0;
    for (size_t at = 0; at < KEYS; at += STEP) {
        weir_batch batch = {.count = STEP, .hashes = hashes + at};
        weir_error err;
        size_t seen;
        assert_int_equal(weir_remote_submit(r, &batch, &err), WEIR_OK);
        assert_int_equal(weir_remote_collect(r, verdicts, &seen, &err), WEIR_OK);
        repeats += seen;
        for (size_t i = 0; i < STEP; i++) {
            weir_batch one = {.count = 1, .hashes = hashes + at + i};
            uint64_t verdict;
            weir_filter_offer_batch(here[weir__slice_of(hashes[at + i], 2)], &one, &verdict);
            assert_int_equal(verdicts[i / 64] >> (i % 64) & 1, verdict);
        }
    }
    assert_in_range(repeats, 1000, KEYS - 20000 + 1000); /* it forgot many, and knew some */
    weir_filter_free(here[0]);
    weir_filter_free(here[1]);
    weir_remote_close(r);
    free(hashes);
    stop_real(&s);
}

/* --- slices that go and come
 * ---------------------------------------------------------------------- */

static void a_slice_that_went_is_made_again(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_stats stats;
    weir_remote *r = open_at(s.port, "gone", (weir_remote_options){0}, "recent:memory=128K,seed=1");
    weir_remote *other = open_at(s.port, "gone", (weir_remote_options){0}, "recent");
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(offer(other, 0, 1000, &err), 0);
    assert_true(command(s.port, "FLUSHALL", NULL));
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    weir_remote_get_stats(r, &stats);
    assert_int_equal(stats.emptied, 2);
    assert_non_null(strstr(said, "begins again empty"));
    assert_int_equal(offer(other, 0, 1500, &err), 500); /* the new epoch is adopted */
    weir_remote_get_stats(other, &stats);
    assert_int_equal(stats.emptied, 2);
    assert_non_null(strstr(said, "made again by another"));
    weir_remote_close(other);
    weir_remote_close(r);
    r = open_at(s.port, "strict", (weir_remote_options){.on_lost = WEIR_REMOTE_STOP},
                "recent:memory=128K,seed=1");
    assert_true(command(s.port, "FLUSHALL", NULL));
    assert_int_equal(offer(r, 0, 100, &err), -1 - 100);
    assert_non_null(strstr(err.message, "is gone from the server"));
    assert_int_equal(offer(r, 0, 100, &err), -1 - 100); /* it stays so */
    weir_remote_close(r);
    stop_real(&s);
}

/* A value that knows of fewer keys than it did, as after a failover: played with DEBUG-free means,
 * by putting back an older copy. */
static void missing_writes_are_noticed(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_stats stats;
    weir_remote *r = open_at(s.port, "roll", (weir_remote_options){0}, "recent:memory=128K,seed=1");
    weir_remote_slice slice;
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(weir_remote_get_slice(r, 0, &slice, &err), WEIR_OK);
    assert_true(command(s.port, "COPY %s copy", slice.key));
    assert_int_equal(offer(r, 1000, 2000, &err), 1000);
    assert_true(command(s.port, "COPY copy %s REPLACE", slice.key));
    long fresh = offer(r, 1000, 2000, &err);
    assert_in_range(fresh, 400, 600); /* the half that is in this slice */
    weir_remote_get_stats(r, &stats);
    assert_int_equal(stats.rolled_back, 1);
    assert_int_equal(stats.keys_rolled_back, fresh);
    assert_non_null(strstr(said, "a replica without them took over"));
    weir_remote_close(r);
    stop_real(&s);
}

static void lost_slices_follow_the_rule(void **state) {
    static const struct {
        weir_remote_on_lost rule;
        long fresh;
    } cases[] = {{WEIR_REMOTE_NEW, 100}, {WEIR_REMOTE_SEEN, 0}, {WEIR_REMOTE_STOP, -101}};
    if (!can_run()) skip();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        real_server s = start_with_module();
        weir_error err;
        weir_remote_stats stats;
        weir_remote_options o = {
            .on_lost = cases[i].rule, .lost_ms = 150, .reply_ms = 100, .connect_ms = 100};
        weir_remote *r = open_at(s.port, "lost", o, "recent:memory=128K,seed=1");
        assert_int_equal(offer(r, 0, 100, &err), 100);
        kill(s.pid, SIGSTOP);
        assert_int_equal(offer(r, 100, 200, &err), cases[i].fresh);
        if (cases[i].rule == WEIR_REMOTE_STOP) {
            assert_non_null(strstr(err.message, "is lost, and on-lost is stop"));
        } else {
            weir_remote_get_stats(r, &stats);
            assert_int_equal(stats.guessed, 100);
            assert_int_equal(stats.lost, 2);
            assert_non_null(strstr(said, "is lost, with 1 more on its server, their keys are "));
            kill(s.pid, SIGCONT);
            nap(1100); /* a lost slice is tried again after a second */
            assert_int_equal(offer(r, 0, 100, &err), 0);
            assert_int_equal(offer(r, 200, 300, &err), 100);
            assert_non_null(strstr(said, "answers again"));
            size_t lines = 0; /* one server, one line; and one when it is back */
            for (const char *c = said; *c; c++) lines += *c == '\n';
            assert_int_equal(lines, 2);
        }
        weir_remote_close(r);
        stop_real(&s);
    }
}

static void waiting_waits(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_options o = {.on_lost = WEIR_REMOTE_WAIT, .lost_ms = 50, .reply_ms = 60};
    weir_remote *r = open_at(s.port, "wait", o, "recent:memory=128K,seed=1");
    assert_int_equal(offer(r, 0, 100, &err), 100);
    kill(s.pid, SIGSTOP);
    pid_t waker = fork();
    if (waker == 0) {
        nap(400);
        kill(s.pid, SIGCONT);
        _exit(0);
    }
    assert_int_equal(offer(r, 50, 150, &err), 50);
    assert_non_null(strstr(said, "and they are waited for: "));
    assert_non_null(strstr(said, "answers again"));
    waitpid(waker, NULL, 0);
    weir_remote_close(r);
    stop_real(&s);
}

static bool stop_now(void *context) { return *(bool *)context; }

/* Whoever stops gets what is not known as NEW: it may have been applied. */
static void stopping_calls_the_rest_new(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    bool stop = false;
    weir_remote_options o = {.on_lost = WEIR_REMOTE_WAIT, .stop = stop_now, .context = &stop};
    weir_remote *r = open_at(s.port, "stop", o, "recent:memory=128K,seed=1");
    assert_int_equal(offer(r, 0, 100, &err), 100);
    kill(s.pid, SIGSTOP);
    stop = true;
    assert_int_equal(offer(r, 0, 100, &err), 100);
    weir_remote_close(r);
    stop_real(&s);
}

/* --- the local filter
 * -------------------------------------------------------------------------------- */

static void repeats_here_cost_nothing_there(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_stats stats;
    weir_remote *r = open_at(s.port, "leaf", (weir_remote_options){.local_memory = 1 << 20},
                             "recent:memory=128K,seed=1");
    weir_remote *other =
        open_at(s.port, "leaf", (weir_remote_options){.local_memory = 1 << 20}, "recent");
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(offer(r, 0, 1000, &err), 0);
    assert_int_equal(offer(other, 500, 1500, &err), 500);
    weir_remote_get_stats(r, &stats);
    assert_int_equal(stats.local_seen, 1000);
    assert_int_equal(stats.sent, 1000);
    weir_remote_close(other);
    weir_remote_close(r);
    stop_real(&s);
}

/* What the server says of itself is what was sent. */
static void the_server_counts_what_is_sent(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_server before, after;
    weir_remote_stats first, last;
    weir_remote *r = open_at(s.port, "load", (weir_remote_options){0}, "recent:memory=128K,seed=1");
    assert_int_equal(weir_remote_get_server(r, 0, &before, &err), WEIR_OK);
    assert_true(before.slices == 2 && before.commands == 0);
    weir_remote_get_stats(r, &first);
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    weir_remote_get_stats(r, &last);
    assert_int_equal(weir_remote_get_server(r, 0, &after, &err), WEIR_OK);
    /* besides, INFO itself was asked: its answer is counted with what comes after it */
    assert_int_equal(after.commands, last.messages - first.messages + 1);
    assert_in_range(after.bytes_in - (last.bytes_sent - first.bytes_sent), 1, 40);
    assert_true(after.bytes_out > last.bytes_received - first.bytes_received);
    assert_true(last.nanoseconds && last.requests == 2);
    assert_int_equal(weir_remote_get_server(r, 1, &after, &err), WEIR_ERR_RANGE);
    uint64_t hash = 1, verdict;
    assert_int_equal(weir_remote_submit(r, &(weir_batch){.count = 1, .hashes = &hash}, &err),
                     WEIR_OK);
    assert_int_equal(weir_remote_get_server(r, 0, &after, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_remote_collect(r, &verdict, NULL, &err), WEIR_OK);
    weir_remote_close(r);
    stop_real(&s);
}

/* The last batch of a run is sent again, to a replica that lacks what came before. */
static void missing_writes_are_noticed_when_sent_again(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    proxy p = {0};
    start_proxy(&p, s.port);
    weir_error err;
    weir_remote_stats stats;
    weir_remote_slice slice;
    static const char spec[] = "recent:memory=128K,seed=1";
    weir_remote *r = open_at(p.port, "again", (weir_remote_options){0}, spec);
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    assert_int_equal(weir_remote_get_slice(r, 0, &slice, &err), WEIR_OK);
    assert_true(command(s.port, "COPY %s copy", slice.key));
    assert_int_equal(offer(r, 1000, 2000, &err), 1000);
    assert_true(command(s.port, "COPY copy %s REPLACE", slice.key));
    p.up = 0; /* the next byte breaks the connection */
    assert_int_equal(offer(r, 2000, 2100, &err), 100);
    weir_remote_get_stats(r, &stats);
    assert_true(stats.repeated && p.cuts == 1);
    assert_int_equal(stats.rolled_back, 1);
    assert_in_range(stats.keys_rolled_back, 400, 600);
    weir_remote_close(r);
    r = open_at(s.port, "again", (weir_remote_options){.on_lost = WEIR_REMOTE_STOP}, spec);
    assert_int_equal(offer(r, 3000, 4000, &err), 1000);
    assert_true(command(s.port, "COPY copy %s REPLACE", slice.key));
    assert_int_equal(offer(r, 4000, 5000, &err), -1 - 1000); /* the rule holds for this loss, too */
    assert_non_null(strstr(err.message, "lacks writes that it had, and on-lost is stop"));
    weir_remote_close(r);
    stop_proxy(&p);
    stop_real(&s);
}

/* A request that was given up while its server slept is answered when that wakes. What is asked
 * next must not get that answer. */
static void a_late_answer_is_not_that_to_another_question(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    weir_error err;
    weir_remote_slice slice;
    int64_t ahead;
    weir_remote *r =
        open_at(s.port, "late", (weir_remote_options){.lost_ms = 100}, "recent:memory=128K,seed=1");
    assert_int_equal(offer(r, 0, 1000, &err), 1000);
    kill(s.pid, SIGSTOP);
    assert_int_equal(offer(r, 1000, 2000, &err), 1000);
    assert_non_null(strstr(said, "is lost"));
    kill(s.pid, SIGCONT);
    nap(50);
    for (size_t i = 0; i < 2; i++) {
        if (weir_remote_get_slice(r, i, &slice, &err) != WEIR_OK) fail_msg("%s", err.message);
        assert_true(slice.offered > 400 && slice.memory && slice.epoch);
    }
    assert_int_equal(weir_remote_clock(r, &ahead, &err), WEIR_OK);
    assert_int_equal(weir_remote_put_note(r, "run", "text", 4, &(void *){NULL}, &(size_t){0}, &err),
                     WEIR_OK);
    nap(1000); /* a lost slice is tried once a second */
    assert_int_equal(offer(r, 1000, 2000, &err), 0);
    weir_remote_close(r);
    stop_real(&s);
}

/* --- what cannot be used
 * ------------------------------------------------------------------------------- */

static void cannot(uint16_t port, const char *name, const char *spec, const char *says) {
    char url[128];
    weir_remote *r;
    weir_error err = {0};
    weir_remote_options o = {0};
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/%s", (unsigned)port, name);
    weir_status status = weir_remote_open(&r, url, &o, &err);
    if (status == WEIR_OK) status = weir_remote_begin(r, spec, 2, &err);
    assert_int_not_equal(status, WEIR_OK);
    if (!strstr(err.message, says)) fail_msg("%s: %s", name, err.message);
    assert_null(strchr(err.message, '\n'));
    weir_remote_close(r);
}

static void what_cannot_be_used_is_said(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    assert_true(command(s.port, "LPUSH list:weir %s", "x"));
    cannot(s.port, "list", "recent", "WRONGTYPE");
    assert_true(command(s.port, "SET text:weir %s", "x"));
    cannot(s.port, "text", "recent", "is not the description of a filter");
    cannot(s.port, "spec", "recnt", "recnt");
    cannot(s.port, "a{b", "recent", "without blanks and braces");
    cannot(s.port, "records", "recent:window=1000,memory=128K", "window of records");
    cannot(s.port, "tree", "tree:memory=1M", "is itself spread over sites");
    cannot(s.port, "much", "recent:memory=1023T", "more slices");
    cannot(s.port, "big", "recent:memory=lots", "lots");
    weir_remote *r =
        open_at(s.port, "other", (weir_remote_options){0}, "recent:memory=128K,seed=1");
    weir_remote_slice slice;
    weir_error err;
    assert_int_equal(weir_remote_get_slice(r, 1, &slice, &err), WEIR_OK);
    assert_int_equal(weir_remote_get_slice(r, 2, &slice, &err), WEIR_ERR_RANGE);
    assert_true(command(s.port, "DEL %s", slice.key));
    assert_true(command(s.port, "DEL other:{0}:1", NULL));
    weir_remote_close(r);
    r = open_at(s.port, "mixed", (weir_remote_options){0}, "recent:memory=128K,seed=1");
    assert_int_equal(weir_remote_get_slice(r, 1, &slice, &err), WEIR_OK);
    weir_remote_close(r);
    assert_true(command(s.port, "DEL %s", slice.key));
    assert_true(command(s.port, "WEIR.CREATE %s bloom:memory=64K", slice.key));
    cannot(s.port, "mixed", "recent", "take another name");
    assert_true(command(s.port, "CONFIG SET maxmemory %s", "1"));
    cannot(s.port, "oom", "recent", "OOM");
    stop_real(&s);
    const char *none[] = {NULL};
    s = start_real(none);
    cannot(s.port, "plain", "recent", "has not loaded weir's module");
    stop_real(&s);
}

/* --- slots and plans
 * -------------------------------------------------------------------------------------- */

static void slots_are_those_of_the_specification(void **state) {
    (void)state;
    assert_int_equal(fleet_slot("123456789", 9), 0x31c3 % FLEET_SLOTS); /* CRC16 of XMODEM */
    assert_int_equal(fleet_slot("{user1000}.following", 20), fleet_slot("user1000", 8));
    assert_int_equal(fleet_slot("foo{}{bar}", 10), 8363); /* an empty tag is none */
    assert_int_equal(fleet_slot("foo{{bar}}zap", 13), fleet_slot("{bar", 4));
    assert_int_equal(fleet_slot("foo{bar", 7), 15278);
}

static void specs_get_another_memory(void **state) {
    char out[MANIFEST_SPEC];
    (void)state;
    assert_int_equal(manifest_memory("recent"), 256 << 20);
    assert_int_equal(manifest_memory("recent:fpr=1%,memory=3M"), 3 << 20);
    assert_int_equal(manifest_memory("growing:of=(bloom:memory=1M),memory=2M"), 2 << 20);
    assert_true(manifest_with_memory(out, "recent", 7));
    assert_string_equal(out, "recent:memory=7");
    assert_true(manifest_with_memory(out, "recent:fpr=1%", 7));
    assert_string_equal(out, "recent:fpr=1%,memory=7");
    assert_true(manifest_with_memory(out, "recent:memory=64M,seed=1", 7));
    assert_string_equal(out, "recent:memory=7,seed=1");
}

/* Slices go to all masters alike, whichever slots these have. */
static void slices_are_spread(void **state) {
    fleet *f = calloc(1, sizeof *f);
    manifest *m = calloc(1, sizeof *m);
    fleet_node nodes[3] = {0};
    size_t load[3] = {0};
    char key[160];
    (void)state;
    f->node_count = 3;
    for (size_t i = 0; i < 3; i++) f->nodes[i] = &nodes[i];
    for (size_t s = 0; s < FLEET_SLOTS; s++) f->slots[s] = s < 100 ? 0 : s % 2 ? 1 : 2;
    m->slices = 30;
    manifest_place(m, f);
    for (size_t i = 0; i < 30; i++) {
        manifest_slice_key(m, i, key, "name");
        load[f->slots[fleet_slot(key, strlen(key))]]++;
    }
    for (size_t i = 0; i < 3; i++) assert_int_equal(load[i], 10);
    free(f);
    free(m);
}

int main(void) {
#ifdef __SANITIZE_ADDRESS__
    if (!getenv("WEIR_MODULE")) {
        puts("ok test_remote # skip a module with sanitizers needs a server with sanitizers");
        return 0;
    }
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_the_specification),
        cmocka_unit_test(specs_get_another_memory),
        cmocka_unit_test(slices_are_spread),
        cmocka_unit_test(same_verdicts_as_here),
        cmocka_unit_test(no_cut_loses_or_doubles_a_key),
        cmocka_unit_test(a_slice_that_went_is_made_again),
        cmocka_unit_test(missing_writes_are_noticed),
        cmocka_unit_test(lost_slices_follow_the_rule),
        cmocka_unit_test(waiting_waits),
        cmocka_unit_test(stopping_calls_the_rest_new),
        cmocka_unit_test(repeats_here_cost_nothing_there),
        cmocka_unit_test(the_server_counts_what_is_sent),
        cmocka_unit_test(missing_writes_are_noticed_when_sent_again),
        cmocka_unit_test(a_late_answer_is_not_that_to_another_question),
        cmocka_unit_test(what_cannot_be_used_is_said),
    };
    int failed = cmocka_run_group_tests_name("remote", tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
