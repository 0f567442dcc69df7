/* test_broker.c - URLs of streams, marks, sets of ids, and messages as records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "broker_internal.h"

/* --- sets of ids ------------------------------------------------------------------------ */

enum { HIS = 3, LOS = 40 };

/* Ids are added at random, and the set is what a table of them says. */
static void ids_are_a_set(void **state) {
    (void)state;
    unsigned chance = 5;
    for (int round = 0; round < 200; round++) {
        broker_ids ids = {0}, again = {0};
        bool table[HIS][LOS] = {{false}};
        uint64_t size = 0;
        char *text = NULL;
        size_t length = 0;
        for (int i = 0; i < round; i++) {
            chance = chance * 1103515245u + 12345u;
            broker_id id = {chance >> 16 & 1 ? chance >> 20 & 1 : 2, (chance >> 8) % LOS};
            size += !table[id.hi][id.lo];
            table[id.hi][id.lo] = true;
            assert_true(broker_ids_add(&ids, id));
        }
        FILE *out = open_memstream(&text, &length);
        broker_ids_write(out, &ids);
        fclose(out);
        assert_true(broker_ids_read(&again, text, length));
        assert_int_equal(ids.size, size);
        assert_int_equal(again.size, size);
        for (uint64_t hi = 0; hi < HIS; hi++)
            for (uint64_t lo = 0; lo < LOS; lo++) {
                assert_int_equal(broker_ids_has(&ids, (broker_id){hi, lo}), table[hi][lo]);
                assert_int_equal(broker_ids_has(&again, (broker_id){hi, lo}), table[hi][lo]);
            }
        for (size_t i = 1; i < ids.count; i++) /* ascending, and none could be joined */
            assert_true(ids.ranges[i - 1].hi < ids.ranges[i].hi ||
                        ids.ranges[i - 1].last + 1 < ids.ranges[i].lo);
        free(text);
        broker_ids_release(&ids);
        broker_ids_release(&again);
    }
}

static void odd_lists_are_refused(void **state) {
    (void)state;
    static const char *const odd[] = {"1",      "1-",        "-1",      "1-2..",
                                      "1-5..2", "1-2,",      "1-2,1-2", "2-1,1-1",
                                      "1-2 ",   "1-2..3..4", "a-b",     "1-18446744073709551616"};
    broker_ids ids = {0};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_false(broker_ids_read(&ids, odd[i], strlen(odd[i])));
    assert_true(broker_ids_read(&ids, "", 0));
    assert_int_equal(ids.size, 0);
    broker_ids_release(&ids);
}

/* --- marks -------------------------------------------------------------------------------- */

static void marks_say_whose_and_which(void **state) {
    (void)state;
    static const char ours[] = "0123456789abcdef", other[] = "0123456789abcdee";
    char mark[BROKER_MARK_SIZE];
    broker_id id = {0};
    broker__mark(mark, ours, (broker_id){1700000000000, UINT64_MAX});
    assert_string_equal(mark, "0123456789abcdef:1700000000000-18446744073709551615");
    assert_true(broker__read_mark(ours, mark, strlen(mark), &id));
    assert_true(id.hi == 1700000000000 && id.lo == UINT64_MAX);
    assert_false(broker__read_mark(other, mark, strlen(mark), &id));
    assert_false(broker__read_mark(ours, mark, strlen(mark) - 4, &id) && id.lo == UINT64_MAX);
    assert_false(broker__read_mark(ours, ours, strlen(ours), &id));
    assert_false(broker__read_mark(ours, "0123456789abcdef:1-2..3", 23, &id));
}

/* --- URLs --------------------------------------------------------------------------------- */

#ifdef HAVE_HIREDIS
static void urls_are_taken_apart(void **state) {
    (void)state;
    broker_url url;
    stream_error err;
    uint64_t ms = 0;
    assert_int_equal(
        broker_url_parse(&url, "redis://ann@h:7/a%20b?group=g%26&claim=5s", BROKER_SOURCE, &err),
        STREAM_OK);
    assert_string_equal(url.scheme, "redis");
    assert_string_equal(url.user, "ann");
    assert_string_equal(url.hosts, "h:7");
    assert_string_equal(url.name, "a b");
    assert_string_equal(broker_url_get(&url, "group", ""), "g&");
    assert_string_equal(broker_url_get(&url, "start", "first"), "first");
    assert_int_equal(broker_url_ms(&url, "claim", 1, &ms, &err), STREAM_OK);
    assert_int_equal(ms, 5000);
    broker_url_release(&url);
    assert_int_equal(broker_url_parse(&url, "unix:/run/r.sock?name=n", BROKER_SINK, &err),
                     STREAM_OK);
    assert_string_equal(url.hosts, "/run/r.sock");
    assert_string_equal(url.name, "n");
    broker_url_release(&url);
}

static void odd_urls_are_refused(void **state) {
    (void)state;
    static const char *const odd[] = {"redis:h/s",
                                      "redis://h",
                                      "redis:///s",
                                      "redis://h/",
                                      "redis://h/s?x=1",
                                      "redis://h/s?group",
                                      "redis://h/%zz",
                                      "redis://h/%00",
                                      "unix:/a",
                                      "unix:a?name=b",
                                      "redis://u:secret@h/s",
                                      "redis://h/s?password=secret",
                                      "smtp://h/s",
                                      ""};
    broker_url url;
    stream_error err;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_int_equal(broker_url_parse(&url, odd[i], BROKER_SOURCE, &err), STREAM_FAILED);
        assert_null(strstr(err.message, "secret"));
        assert_true(*err.message != 0);
    }
}
#endif

/* --- messages as records -------------------------------------------------------------------- */

typedef struct {
    const stream_message *messages;
    size_t count;
    int polls;
} script;

static stream_status poll_script(void *context, int timeout_ms, const stream_message **messages,
                                 size_t *count, stream_error *err) {
    script *s = context;
    (void)timeout_ms, (void)err;
    if (s->polls++) return s->polls == 2 ? STREAM_IDLE : STREAM_END;
    *messages = s->messages;
    *count = s->count;
    return STREAM_BATCH;
}

static void word(void *context, size_t i, char *text, size_t size) {
    (void)context;
    snprintf(text, size, "m%zu", i);
}

static uint64_t first_bytes(const void *context, const void *key, size_t length) {
    uint64_t sum = length;
    (void)context;
    for (size_t i = 0; i < length; i++) sum = sum * 31 + ((const unsigned char *)key)[i];
    return sum;
}

#define MESSAGE(text)                                                                              \
    { text, sizeof(text) - 1, false }

static void messages_are_records(void **state) {
    (void)state;
    static const stream_message messages[] = {
        MESSAGE("{\"id\":1}"),
        MESSAGE("{\n  \"id\": 1\n}"),
        MESSAGE(""),
        MESSAGE("{\"id\":"),
        MESSAGE("{\"id\":2}"),
        {NULL, 0, true},
        MESSAGE("{\"id\":1,\"long\":\"......................................\"}")};
    script s = {messages, sizeof messages / sizeof *messages, 0};
    const stream_feed feed = {"test://x", poll_script, word, &s};
    stream_options o = stream_options_defaults();
    stream_reader *reader;
    stream_error err;
    const stream_batch *b;
    o.format = STREAM_JSON;
    o.key = ".id";
    o.hash = first_bytes;
    o.feed = &feed;
    o.threads = 4;
    o.max_record = 40;
    assert_int_equal(stream_open(&reader, &o, NULL, 0, &err), STREAM_OK);
    assert_int_equal(stream_next(reader, 0, &b, &err), STREAM_BATCH);
    assert_int_equal(b->count, 7);
    assert_int_equal(b->hashes[0], b->hashes[1]); /* a line end in the middle cuts nothing */
    assert_true(b->hashes[0] != b->hashes[4]);
    static const uint8_t status[] = {STREAM_RECORD_OK, STREAM_RECORD_OK, STREAM_MISSING, STREAM_BAD,
                                     STREAM_RECORD_OK, STREAM_BAD,       STREAM_BAD};
    assert_memory_equal(b->status, status, sizeof status);
    assert_int_equal(b->bad, 3);
    assert_int_equal(b->missing, 1);
    for (size_t i = 0; i < b->count; i++) {
        size_t length = b->offsets[i + 1] - b->offsets[i] - 1;
        assert_int_equal(length, messages[i].length);
        assert_int_equal(b->base[b->offsets[i] + length], '\n');
    }
    stream_record_error(reader, b, 5, &err);
    assert_non_null(strstr(err.message, "message m5 of 'test://x'"));
    assert_non_null(strstr(err.message, "field="));
    stream_record_error(reader, b, 6, &err);
    assert_int_equal(err.cause, STREAM_CAUSE_LONG_MESSAGE);
    assert_int_equal(stream_next(reader, 0, &b, &err), STREAM_IDLE);
    assert_int_equal(stream_next(reader, 0, &b, &err), STREAM_END);
    stream_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_a_set),
        cmocka_unit_test(odd_lists_are_refused),
        cmocka_unit_test(marks_say_whose_and_which),
#ifdef HAVE_HIREDIS
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(odd_urls_are_refused),
#endif
        cmocka_unit_test(messages_are_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
