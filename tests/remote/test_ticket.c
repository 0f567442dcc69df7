/* test_ticket.c - batches and notes that outlive their sender. */
#include "remote_testing.h"

static const char *module_path(void) {
    const char *given = getenv("WEIR_MODULE");
    return given ? given : WEIR_MODULE_PATH;
}

static bool can_run(void) { return have_program("redis-server") && !access(module_path(), R_OK); }

static real_server start_with_module(void) {
    const char *more[] = {"--loadmodule", module_path(), NULL};
    return start_real(more);
}

#define SPEC "recent:memory=4M,fpr=1e-9,seed=5"
enum { KEYS = 70 };

static weir_batch batch_of(uint64_t *hashes, uint64_t from) {
    for (uint64_t i = 0; i < KEYS; i++) hashes[i] = test_word(3, from + i);
    return (weir_batch){.count = KEYS, .hashes = hashes};
}

/* Send a ticket; how many keys were NEW. */
static long send_ticket(weir_remote *r, const void *ticket, size_t length) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(KEYS)];
    size_t count, seen;
    weir_error err;
    if (weir_remote_submit_ticket(r, ticket, length, &count, &err) != WEIR_OK ||
        weir_remote_collect(r, verdicts, &seen, &err) != WEIR_OK)
        fail_msg("%s", err.message);
    assert_int_equal(count, KEYS);
    return (long)(count - seen);
}

/* Sent by one process, by another, and by a third: the same verdicts, and nothing is applied
 * twice. One that was never sent is applied when it is found. */
static void a_ticket_is_answered_as_before(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    uint64_t hashes[KEYS];
    void *ticket, *second;
    size_t length, second_length;
    weir_error err;
    weir_remote *r = open_at(s.port, "t", (weir_remote_options){.local_memory = 65536}, SPEC);
    weir_batch batch = batch_of(hashes, 0);
    assert_int_equal(weir_remote_prepare(r, &batch, &ticket, &length, &err), WEIR_OK);
    weir_remote_close(r);
    for (int i = 0; i < 3; i++) {
        r = open_at(s.port, "t", (weir_remote_options){0}, SPEC);
        assert_int_equal(send_ticket(r, ticket, length), KEYS);
        assert_int_equal(offer(r, 5000 + (uint64_t)i, 5001 + (uint64_t)i, &err), 1);
        assert_int_equal(send_ticket(r, ticket, length), KEYS);
        assert_string_equal(said, "");
        weir_remote_close(r);
    }
    r = open_at(s.port, "t", (weir_remote_options){0}, SPEC);
    assert_int_equal(weir_remote_prepare(r, &batch, &second, &second_length, &err), WEIR_OK);
    assert_int_equal(send_ticket(r, second, second_length), 0);
    assert_int_equal(send_ticket(r, ticket, length), KEYS);
    free(ticket);
    /* a later ticket of the same sender has taken the place of an earlier one: NEW, not lost */
    ticket = second;
    length = second_length;
    batch = batch_of(hashes, 100);
    assert_int_equal(weir_remote_prepare(r, &batch, &second, &second_length, &err), WEIR_OK);
    assert_int_equal(send_ticket(r, second, second_length), KEYS);
    assert_int_equal(send_ticket(r, ticket, length), KEYS);
    weir_remote_stats stats;
    weir_remote_get_stats(r, &stats);
    assert_true(stats.guessed > 0 && stats.guessed <= KEYS);
    free(ticket);
    free(second);
    weir_remote_close(r);
    stop_real(&s);
}

/* Cut at every byte of the batch and of its reply, then asked by another process: each key is NEW
 * both times, and SEEN to whoever comes with a batch of his own. */
static void no_cut_changes_what_a_ticket_says(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    proxy p = {0};
    start_proxy(&p, s.port);
    weir_error err;
    weir_remote *cut = open_at(p.port, "c", (weir_remote_options){0}, SPEC);
    weir_remote *other = open_at(s.port, "c", (weir_remote_options){0}, SPEC);
    uint64_t next = 0;
    int step = test_slowness() ? 41 : 1;
    for (int down = 0; down < 2; down++) {
        int cuts = p.cuts;
        for (int64_t at = 0;; at += step) {
            uint64_t hashes[KEYS];
            void *ticket;
            size_t length;
            weir_batch batch = batch_of(hashes, next);
            next += KEYS;
            assert_int_equal(weir_remote_prepare(cut, &batch, &ticket, &length, &err), WEIR_OK);
            *(down ? &p.down : &p.up) = at;
            assert_int_equal(send_ticket(cut, ticket, length), KEYS);
            assert_int_equal(send_ticket(other, ticket, length), KEYS);
            free(ticket);
            assert_int_equal(weir_remote_prepare(other, &batch, &ticket, &length, &err), WEIR_OK);
            assert_int_equal(send_ticket(other, ticket, length), 0);
            free(ticket);
            if (p.cuts == cuts) break; /* beyond the last byte */
            cuts = p.cuts;
        }
        p.up = p.down = INT64_MAX / 2;
    }
    printf("# %d cuts\n", p.cuts);
    assert_true(p.cuts > (test_slowness() ? 10 : 700));
    weir_remote_close(cut);
    weir_remote_close(other);
    stop_proxy(&p);
    stop_real(&s);
}

/* What the local filter said is in it. */
static void a_ticket_has_what_was_said_here(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    uint64_t hashes[KEYS];
    void *ticket;
    size_t length;
    weir_error err;
    weir_remote *r = open_at(s.port, "l", (weir_remote_options){.local_memory = 65536}, SPEC);
    weir_batch batch = batch_of(hashes, 0);
    hashes[7] = hashes[3];
    assert_int_equal(weir_remote_prepare(r, &batch, &ticket, &length, &err), WEIR_OK);
    assert_int_equal(send_ticket(r, ticket, length), KEYS - 1);
    weir_remote_close(r);
    r = open_at(s.port, "l", (weir_remote_options){0}, SPEC);
    assert_int_equal(send_ticket(r, ticket, length), KEYS - 1);
    free(ticket);
    weir_remote_close(r);
    stop_real(&s);
}

/* Bytes that a server gives back are input like any other. */
static void damaged_tickets_are_refused(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    uint64_t hashes[KEYS], verdicts[WEIR_VERDICT_WORDS(65536)];
    int64_t times[KEYS] = {0};
    void *ticket;
    size_t length, count;
    weir_error err;
    weir_remote *r = open_at(s.port, "d", (weir_remote_options){0}, "bloom:memory=256K,seed=5");
    weir_batch batch = batch_of(hashes, 0);
    batch.times = times;
    assert_int_equal(weir_remote_prepare(r, &batch, &ticket, &length, &err), WEIR_OK);
    for (size_t i = 0; i <= length; i++) {
        /* of its own size, so that a sanitizer sees what is read behind it */
        uint8_t *cut = malloc(i + 1);
        memcpy(cut, ticket, i);
        if (i < length)
            assert_int_equal(weir_remote_submit_ticket(r, cut, i, &count, &err), WEIR_ERR_CORRUPT);
        free(cut);
    }
    for (size_t i = 0; i < length; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            uint8_t *other = malloc(length);
            memcpy(other, ticket, length);
            other[i] ^= (uint8_t)(1 << bit);
            weir_status status = weir_remote_submit_ticket(r, other, length, &count, &err);
            if (status == WEIR_OK) weir_remote_collect(r, verdicts, NULL, &err);
            else assert_true(status == WEIR_ERR_CORRUPT || status == WEIR_ERR_MISMATCH);
            free(other);
        }
    free(ticket);
    weir_remote_close(r);
    stop_real(&s);
}

static void tickets_have_their_time(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    uint64_t hashes[KEYS], verdicts[WEIR_VERDICT_WORDS(KEYS)];
    void *ticket, *other;
    size_t length, count;
    weir_error err;
    weir_remote *r = open_at(s.port, "w", (weir_remote_options){0}, SPEC);
    weir_remote *elsewhere =
        open_at(s.port, "x", (weir_remote_options){0}, "recent:memory=256K,fpr=1e-9,seed=6");
    weir_batch batch = batch_of(hashes, 0);
    assert_int_equal(weir_remote_prepare(r, &batch, &ticket, &length, &err), WEIR_OK);
    assert_int_equal(weir_remote_submit_ticket(elsewhere, ticket, length, &count, &err),
                     WEIR_ERR_MISMATCH);
    weir_remote_close(elsewhere);
    assert_int_equal(weir_remote_submit(r, &batch, &err), WEIR_OK);
    assert_int_equal(weir_remote_prepare(r, &batch, &other, &length, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_remote_submit_ticket(r, ticket, length, &count, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_remote_get_note(r, "n", &other, &length, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_remote_collect(r, verdicts, NULL, &err), WEIR_OK);
    free(ticket);
    weir_remote_close(r);
    r = open_at(s.port, "v", (weir_remote_options){0}, "vertical:memory=256K,of=(bloom)");
    assert_int_equal(weir_remote_prepare(r, &batch, &other, &length, &err), WEIR_ERR_UNSUPPORTED);
    weir_remote_close(r);
    stop_real(&s);
}

static bool add_name(void *context, const char *name) {
    strcat(context, name);
    return true;
}

static void notes_are_kept(void **state) {
    if (!can_run()) skip();
    (void)state;
    real_server s = start_with_module();
    char names[64] = "";
    void *bytes;
    size_t length;
    weir_error err;
    weir_remote *r = open_at(s.port, "n", (weir_remote_options){0}, SPEC);
    assert_int_equal(weir_remote_get_note(r, "a", &bytes, &length, &err), WEIR_OK);
    assert_null(bytes);
    assert_int_equal(weir_remote_put_note(r, "a", "1\0", 3, &bytes, &length, &err), WEIR_OK);
    assert_null(bytes);
    assert_int_equal(weir_remote_put_note(r, "a", "", 0, &bytes, &length, &err), WEIR_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(bytes, "1\0", 3);
    free(bytes);
    assert_int_equal(weir_remote_get_note(r, "a", &bytes, &length, &err), WEIR_OK);
    assert_int_equal(length, 0);
    free(bytes);
    assert_int_equal(weir_remote_each_note(r, add_name, names, &err), WEIR_OK);
    assert_string_equal(names, "a");
    assert_true(command(s.port, "LPUSH %s x", "n:run:b"));
    assert_int_equal(weir_remote_get_note(r, "b", &bytes, &length, &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "WRONGTYPE"));
    weir_remote_close(r);
    stop_real(&s);
}

int main(void) {
#ifdef __SANITIZE_ADDRESS__
    if (!getenv("WEIR_MODULE")) {
        puts("ok test_ticket # skip a module with sanitizers needs a server with sanitizers");
        return 0;
    }
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ticket_is_answered_as_before),
        cmocka_unit_test(no_cut_changes_what_a_ticket_says),
        cmocka_unit_test(a_ticket_has_what_was_said_here),
        cmocka_unit_test(damaged_tickets_are_refused),
        cmocka_unit_test(tickets_have_their_time),
        cmocka_unit_test(notes_are_kept),
    };
    int failed = cmocka_run_group_tests_name("ticket", tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
