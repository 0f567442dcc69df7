/* test_stream_util.h - what the tests of the stream layer share: files with given
 * content, a hash that is easy to repeat, and reading everything into one list.
 */
#ifndef WEIR_TEST_STREAM_UTIL_H
#define WEIR_TEST_STREAM_UTIL_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream.h"

#define UNUSED __attribute__((unused))

/* FNV-1a; the context is not used. */
UNUSED static uint64_t test_hash(const void *context, const void *key, size_t length) {
    (void)context;
    const unsigned char *p = key;
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

UNUSED static stream_options test_options(stream_format format) {
    stream_options o = stream_options_defaults();
    o.format = format;
    o.hash = test_hash;
    return o;
}

static char test_names[8][64];

static void test_remove_files(void) {
    for (int i = 0; i < 8; i++)
        if (test_names[i][0]) unlink(test_names[i]);
}

/* A new file under TMPDIR with this content; the name is static, one per slot. */
UNUSED static const char *test_file(int slot, const void *bytes, size_t length) {
    char(*names)[64] = test_names;
    static int made[8], any;
    if (!any) any = atexit(test_remove_files) == 0;
    if (!made[slot]) {
        const char *dir = getenv("TMPDIR");
        snprintf(names[slot], sizeof names[slot], "%.30s/weir_stream_XXXXXX", dir ? dir : "/tmp");
        int fd = mkstemp(names[slot]);
        assert_true(fd >= 0);
        close(fd);
        made[slot] = 1;
    }
    unlink(names[slot]); /* emptying a file makes some file systems flush it */
    int fd = open(names[slot], O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
    return names[slot];
}

UNUSED static const char *test_text(int slot, const char *text) {
    return test_file(slot, text, strlen(text));
}

/* Everything that a reader gives, put together. */
typedef struct {
    size_t count, room;
    uint64_t *hashes;
    int64_t *times;
    double *values;
    uint8_t *status;
    uint64_t *numbers; /* record number in its file */
    uint64_t *offsets; /* byte offset in its file */
    uint32_t *lengths; /* terminator included */
    unsigned char *bytes;
    size_t byte_count, byte_room;
    stream_status end; /* STREAM_END or STREAM_FAILED */
    stream_error error;
    stream_error record_error; /* of the first bad or missing record */
    bool open_end;
} test_all;

UNUSED static void test_all_free(test_all *a) {
    free(a->hashes);
    free(a->times);
    free(a->values);
    free(a->status);
    free(a->numbers);
    free(a->offsets);
    free(a->lengths);
    free(a->bytes);
    memset(a, 0, sizeof *a);
}

UNUSED static void test_all_add(test_all *a, const stream_batch *b) {
    if (a->count + b->count > a->room) {
        a->room = 2 * (a->count + b->count);
        a->hashes = realloc(a->hashes, a->room * sizeof *a->hashes);
        a->times = realloc(a->times, a->room * sizeof *a->times);
        a->values = realloc(a->values, a->room * sizeof *a->values);
        a->status = realloc(a->status, a->room);
        a->numbers = realloc(a->numbers, a->room * sizeof *a->numbers);
        a->offsets = realloc(a->offsets, a->room * sizeof *a->offsets);
        a->lengths = realloc(a->lengths, a->room * sizeof *a->lengths);
    }
    size_t bytes = b->offsets[b->count] - b->offsets[0];
    if (a->byte_count + bytes > a->byte_room) {
        a->byte_room = 2 * (a->byte_count + bytes);
        a->bytes = realloc(a->bytes, a->byte_room);
    }
    memcpy(a->bytes + a->byte_count, b->base + b->offsets[0], bytes);
    a->byte_count += bytes;
    for (size_t i = 0; i < b->count; i++) {
        a->hashes[a->count] = b->hashes[i];
        a->times[a->count] = b->times ? b->times[i] : 0;
        a->values[a->count] = b->numbers ? b->numbers[i] : 0;
        a->status[a->count] = b->status ? b->status[i] : STREAM_RECORD_OK;
        a->numbers[a->count] = b->first_record + i;
        a->offsets[a->count] = b->first_offset + b->offsets[i] - b->offsets[0];
        a->lengths[a->count] = b->offsets[i + 1] - b->offsets[i];
        a->count++;
    }
    a->open_end = b->open_end;
}

UNUSED static test_all test_read(const stream_options *o, const char *const *files, size_t n) {
    test_all a = {0};
    stream_reader *r;
    const stream_batch *b;
    if (stream_open(&r, o, files, n, &a.error)) {
        assert_null(r);
        a.end = STREAM_FAILED;
        return a;
    }
    while ((a.end = stream_next(r, -1, &b, &a.error)) == STREAM_BATCH) {
        assert_true(b->count > 0);
        test_all_add(&a, b);
        for (size_t i = 0; i < b->count && b->status && !a.record_error.message[0]; i++)
            if (b->status[i] == STREAM_BAD || b->status[i] == STREAM_MISSING)
                stream_record_error(r, b, i, &a.record_error);
    }
    assert_null(b);
    stream_close(r);
    return a;
}

UNUSED static test_all test_read_text(const stream_options *o, const char *text) {
    const char *file = test_text(0, text);
    return test_read(o, &file, 1);
}

/* Small and repeatable. */
UNUSED static uint32_t test_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

#endif
