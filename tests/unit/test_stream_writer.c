/* test_stream_writer.c - chosen records out: every choice of bits, marks by format, missing
 * terminators, compression with cuts at marks, short writes, closed pipes, full disks.
 */
#include "test_stream_util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "stream_internal.h"

/* What a file holds, decompressed; static. */
static const char *content_of(const char *file, size_t *length) {
    static unsigned char *text;
    stream_options o = test_options(STREAM_FIXED);
    o.record_size = 1;
    test_all a = test_read(&o, &file, 1);
    if (a.end != STREAM_END) fail_msg("%s", a.error.message);
    text = realloc(text, a.byte_count + 1);
    if (a.byte_count) memcpy(text, a.bytes, a.byte_count);
    text[a.byte_count] = 0;
    if (length) *length = a.byte_count;
    test_all_free(&a);
    return (const char *)text;
}

static stream_writer *open_file(const char *path, stream_compression compression, bool background,
                                size_t buffer) {
    stream_writer_options o = stream_writer_options_defaults();
    stream_writer *w;
    stream_error err;
    o.path = path;
    o.compression = compression;
    o.background = background;
    o.buffer_size = buffer;
    if (stream_writer_open(&w, &o, &err)) fail_msg("%s", err.message);
    return w;
}

/* One record of at most 4096 bytes. */
static stream_status write_record(stream_writer *w, const void *bytes, size_t length,
                                  stream_error *err) {
    unsigned char base[4096 + STREAM_PAD];
    const uint32_t offsets[2] = {0, (uint32_t)length};
    const stream_batch batch = {.base = base, .offsets = offsets, .count = 1};
    assert_true(length <= 4096);
    memcpy(base, bytes, length);
    return stream_write_records(w, &batch, NULL, true, err);
}

/* Random bits over random lines, buffers of all sizes: each chosen line and no other. */
static void test_choices(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 300; round++) {
        char text[24000], expected[24000];
        uint64_t bits[64] = {0};
        size_t n = 0, lines = test_random(&seed) % 1800, e = 0;
        bool which = test_random(&seed) % 2, all = test_random(&seed) % 8 == 0;
        uint32_t density = test_random(&seed) % 5;
        for (size_t i = 0; i < lines; i++) {
            size_t start = n;
            for (uint32_t k = test_random(&seed) % 12; k; k--)
                text[n++] = (char)('a' + test_random(&seed) % 26);
            if (i + 1 < lines || test_random(&seed) % 2 || n == start) text[n++] = '\n';
            bool one = test_random(&seed) % 4 < density;
            bits[i / 64] |= (uint64_t)one << (i % 64);
            if (one != which && !all) continue;
            memcpy(expected + e, text + start, n - start);
            e += n - start;
        }
        const char *in = test_file(0, text, n), *out = test_text(1, "old content");
        bool background = test_random(&seed) % 2;
        size_t size = test_random(&seed) % 8 ? 16 + test_random(&seed) % 500 : 4096;
        stream_writer *w =
            open_file(out, (stream_compression)(test_random(&seed) % 3), background, size);
        stream_options o = test_options(STREAM_LINES);
        stream_reader *r;
        const stream_batch *b;
        stream_error err;
        assert_int_equal(stream_open(&r, &o, &in, 1, &err), STREAM_OK);
        while (stream_next(r, -1, &b, &err) == STREAM_BATCH) {
            assert_int_equal(b->count, lines); /* it fits one block */
            assert_int_equal(stream_write_records(w, b, all ? NULL : bits, which, &err), STREAM_OK);
        }
        stream_close(r);
        assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
        size_t length;
        const char *got = content_of(out, &length);
        assert_int_equal(length, e);
        assert_memory_equal(got, expected, e);
    }
}

/* Write texts, one file each, by one of the functions; bit 1 of `verdicts` is record 1, etc. */
static const char *pass(stream_options o, const char *const *texts, const size_t *lengths, size_t n,
                        int how, uint64_t verdicts, uint64_t drop, size_t *length) {
    const char *files[4], *out = test_text(7, "");
    for (size_t i = 0; i < n; i++)
        files[i] = test_file((int)i, texts[i], lengths ? lengths[i] : strlen(texts[i]));
    stream_writer *w = open_file(out, STREAM_PLAIN, false, 0);
    stream_reader *r;
    const stream_batch *b;
    stream_error err;
    assert_int_equal(stream_open(&r, &o, files, n, &err), STREAM_OK);
    while (stream_next(r, -1, &b, &err) == STREAM_BATCH) {
        stream_status s = how == 0   ? stream_write_records(w, b, &drop, false, &err)
                          : how == 1 ? stream_write_marked(w, b, &verdicts, &drop, &err)
                                     : stream_write_verdicts(w, b, &verdicts, &drop, &err);
        assert_int_equal(s, STREAM_OK);
        verdicts >>= b->count;
        drop >>= b->count;
    }
    stream_close(r);
    assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
    return content_of(out, length);
}

static void test_terminators(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    const char *two[] = {"a\nb", "c\nd"};
    assert_string_equal(pass(o, two, NULL, 2, 0, 0, 0, NULL), "a\nb\nc\nd");
    assert_string_equal(pass(o, two, NULL, 2, 0, 0, 2, NULL), "a\nc\nd");
    assert_string_equal(pass(o, two, NULL, 2, 0, 0, 12, NULL), "a\nb");
    assert_string_equal(pass(o, two, NULL, 2, 0, 0, 8, NULL), "a\nb\nc\n");
    assert_string_equal(pass(o, two, NULL, 2, 1, 2, 0, NULL), "N\ta\nS\tb\nN\tc\nN\td");
    assert_string_equal(pass(o, two, NULL, 2, 2, 2, 0, NULL), "N\nS\nN\nN\n");
    o.format = STREAM_CSV;
    const char *rows[] = {"a\r\nb", "c\r\nd"};
    assert_string_equal(pass(o, rows, NULL, 2, 0, 0, 0, NULL), "a\r\nb\r\nc\r\nd");
    o.format = STREAM_LINES;
    o.terminator = 0;
    const char *nul[] = {"a\0b", "c"};
    const size_t lengths[] = {3, 1};
    size_t n;
    assert_memory_equal(pass(o, nul, lengths, 2, 0, 0, 0, &n), "a\0b\0c", 5);
    assert_int_equal(n, 5);
    assert_memory_equal(pass(o, nul, lengths, 2, 2, 1, 0, &n), "S\0N\0N\0", 6);
}

static void test_marked(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_CSV);
    o.header = true;
    const char *csv = "k,v\r\n1,2\r\n1,2\r\n3,4\r\n";
    assert_string_equal(pass(o, &csv, NULL, 1, 1, 4, 8, NULL), "verdict,k,v\r\nN,1,2\r\nS,1,2\r\n");
    assert_string_equal(pass(o, &csv, NULL, 1, 2, 4, 0, NULL), "N\nS\nN\n");
    o.format = STREAM_TSV;
    const char *tsv = "k\tv\n1\t2\n";
    assert_string_equal(pass(o, &tsv, NULL, 1, 1, 2, 0, NULL), "verdict\tk\tv\nS\t1\t2\n");
    o = test_options(STREAM_JSON);
    const char *json = "{\"a\":1}\n { } \r\n[1]\n\n{\"b\":2}";
    assert_string_equal(
        pass(o, &json, NULL, 1, 1, 2, 0, NULL),
        "{\"verdict\":\"N\",\"a\":1}\n {\"verdict\":\"S\" } "
        "\r\n{\"verdict\":\"N\",\"value\":[1]}\n{\"verdict\":\"N\"}\n{\"verdict\":\"N\",\"b\":2}");
    o = test_options(STREAM_FIXED);
    o.record_size = 2;
    const char *fixed = "aabb";
    assert_string_equal(pass(o, &fixed, NULL, 1, 1, 2, 0, NULL), "NaaSbb");
    o = test_options(STREAM_LEN32);
    const char *len = "\2\0\0\0aa\0\0\0\0";
    const size_t length = 10;
    size_t n;
    assert_memory_equal(pass(o, &len, &length, 1, 1, 2, 0, &n), "\3\0\0\0Naa\1\0\0\0S", 12);
    assert_int_equal(n, 12);
}

/* At each mark the file so far must decompress; cut back to it and continued, the whole must too.
 */
static void test_marks(void **state) {
    (void)state;
    for (int kind = 0; kind < 6; kind++) {
        const char *out = test_text(1, "");
        bool background = kind >= 3;
        stream_compression compression = (stream_compression)(kind % 3);
        stream_writer *w = open_file(out, compression, background, 64);
        stream_error err;
        stream_mark mark = {0};
        char expected[8192] = "";
        for (int i = 0; i < 20; i++) {
            char line[64];
            snprintf(line, sizeof line, "line number %d, and some more text\n", i);
            strcat(expected, line);
            assert_int_equal(write_record(w, line, strlen(line), &err), STREAM_OK);
            if (i % 3) assert_int_equal(stream_writer_flush(w, &err), STREAM_OK);
            if (i % 3 != 2) continue;
            assert_int_equal(stream_writer_mark(w, i == 8, &mark, &err), STREAM_OK);
            assert_int_equal(mark.offset, stream_writer_offset(w));
            struct stat st;
            stat(out, &st);
            assert_int_equal(st.st_size, mark.offset);
            assert_string_equal(content_of(out, NULL), expected);
            if (i != 8) continue;
            /* A run that is killed after the mark: garbage follows it. */
            write_record(w, "lost\n", 5, &err);
            assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
            stream_writer_options o = stream_writer_options_defaults();
            o.path = out;
            o.compression = compression;
            o.background = background;
            o.mark = &mark;
            assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_OK);
        }
        assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
        assert_string_equal(content_of(out, NULL), expected);
    }
    /* Nothing written is a valid file, too; a shorter file cannot be continued. */
    const char *out = test_text(1, "");
    stream_error err;
    assert_int_equal(stream_writer_close(open_file(out, STREAM_GZIP, false, 0), &err), STREAM_OK);
    struct stat st;
    stat(out, &st);
    assert_true(st.st_size > 0);
    assert_string_equal(content_of(out, NULL), "");
    stream_mark far = {.offset = 1000};
    stream_writer_options o = stream_writer_options_defaults();
    stream_writer *w;
    o.path = out;
    o.mark = &far;
    assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_FAILED);
    assert_null(w);
    assert_non_null(strstr(err.message, "shorter"));
}

static void test_mark_keeps_open_end(void **state) {
    (void)state;
    const char *in[] = {test_text(0, "a\nb"), test_text(2, "c\n")}, *out = test_text(1, "");
    stream_options o = test_options(STREAM_LINES);
    stream_writer_options wo = stream_writer_options_defaults();
    stream_writer *w = open_file(out, STREAM_PLAIN, false, 0);
    stream_reader *r;
    const stream_batch *b;
    stream_error err;
    stream_mark mark;
    assert_int_equal(stream_open(&r, &o, in, 2, &err), STREAM_OK);
    assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
    assert_int_equal(stream_write_records(w, b, NULL, false, &err), STREAM_OK);
    assert_int_equal(stream_writer_mark(w, true, &mark, &err), STREAM_OK);
    assert_true(mark.open_end);
    stream_writer_close(w, &err);
    wo.path = out;
    wo.mark = &mark;
    assert_int_equal(stream_writer_open(&w, &wo, &err), STREAM_OK);
    assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
    assert_int_equal(stream_write_records(w, b, NULL, false, &err), STREAM_OK);
    stream_writer_close(w, &err);
    stream_close(r);
    assert_string_equal(content_of(out, NULL), "a\nb\nc\n");
}

typedef struct {
    int fd;
    size_t total;
    uint64_t hash;
} drain;

/* A slow reader of odd pieces. */
static void *drain_pipe(void *context) {
    drain *d = context;
    unsigned char piece[777];
    ssize_t n;
    d->hash = 0xcbf29ce484222325ull;
    while ((n = read(d->fd, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < n; i++) d->hash = (d->hash ^ piece[i]) * 0x100000001b3ull;
        d->total += (size_t)n;
    }
    return NULL;
}

/* A pipe that does not block takes a part each time. */
static void test_short_writes(void **state) {
    (void)state;
    size_t n = 1 << 20;
    unsigned char *bytes = malloc(n);
    uint64_t seed = 4;
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)test_random(&seed);
    for (int background = 0; background < 2; background++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        fcntl(fds[1], F_SETFL, O_NONBLOCK);
        drain d = {.fd = fds[0]};
        pthread_t thread;
        pthread_create(&thread, NULL, drain_pipe, &d);
        stream_writer_options o = stream_writer_options_defaults();
        stream_writer *w;
        stream_error err;
        o.fd = fds[1];
        o.background = background;
        assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_OK);
        for (size_t at = 0; at < n; at += 4096) write_record(w, bytes + at, 4096, &err);
        assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
        close(fds[1]);
        pthread_join(thread, NULL);
        close(fds[0]);
        assert_int_equal(d.total, n);
        assert_true(d.hash == test_hash(NULL, bytes, n));
    }
    free(bytes);
}

static void test_closed_pipe(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (int kind = 0; kind < 6; kind++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        close(fds[0]);
        stream_writer_options o = stream_writer_options_defaults();
        stream_writer *w;
        stream_error err;
        o.fd = fds[1];
        o.compression = (stream_compression)(kind % 3);
        o.background = kind >= 3;
        assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_OK);
        write_record(w, "abc\n", 4, &err);
        assert_int_equal(stream_writer_flush(w, &err), STREAM_CLOSED);
        assert_int_equal(write_record(w, "abc\n", 4, &err), STREAM_CLOSED);
        assert_int_equal(stream_writer_close(w, &err), STREAM_CLOSED);
        close(fds[1]);
    }
}

static void test_full_disk(void **state) {
    (void)state;
    stream_writer_options o = stream_writer_options_defaults();
    stream_writer *w;
    stream_error err = {0};
    o.path = "/dev/full";
    for (int background = 0; background < 2; background++) {
        o.background = background;
        assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_OK);
        write_record(w, "abc\n", 4, &err);
        assert_int_equal(stream_writer_flush(w, &err), STREAM_FAILED);
        assert_int_equal(err.os_error, ENOSPC);
        assert_non_null(strstr(err.message, "cannot write '/dev/full': No space left"));
        memset(&err, 0, sizeof err);
        assert_int_equal(stream_writer_close(w, &err), STREAM_FAILED);
        assert_int_equal(err.os_error, ENOSPC);
    }
}

static void test_refused_outputs(void **state) {
    (void)state;
    stream_writer_options o = stream_writer_options_defaults();
    stream_writer *w;
    stream_error err;
    o.path = "/nonexistent/x";
    assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_FAILED);
    assert_string_equal(err.message, "cannot write '/nonexistent/x': No such file or directory");
    o.path = "/tmp";
    assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_FAILED);
    /* The file that is read is not emptied. */
    const char *in = test_text(0, "precious\n");
    o.path = in;
    o.inputs = &in;
    o.input_count = 1;
    assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_FAILED);
    assert_string_equal(content_of(in, NULL), "precious\n");
    o = stream_writer_options_defaults();
    o.path = test_text(1, "kept\n");
    o.append = true;
    assert_int_equal(stream_writer_open(&w, &o, &err), STREAM_OK);
    write_record(w, "more\n", 5, &err);
    assert_int_equal(stream_writer_close(w, &err), STREAM_OK);
    assert_string_equal(content_of(o.path, NULL), "kept\nmore\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_terminators),
        cmocka_unit_test(test_marked),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_mark_keeps_open_end),
        cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_closed_pipe),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_refused_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
