/* test_stream_input.c - files, pipes and compressed input: what is read, what is refused and in
 * which words, resuming, and how soon a live pipe's records arrive.
 */
#include "test_stream_util.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

#include "stream_internal.h"

static size_t gzip_of(const char *text, unsigned char *to, size_t room) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (unsigned)strlen(text);
    z.next_out = to;
    z.avail_out = (unsigned)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t n = z.total_out;
    deflateEnd(&z);
    return n;
}

static size_t zstd_of(const char *text, unsigned char *to, size_t room) {
    ZSTD_CCtx *c = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(c, to, room, text, strlen(text));
    ZSTD_freeCCtx(c);
    assert_false(ZSTD_isError(n));
    return n;
}

static const char *read_back(const stream_options *o, const void *bytes, size_t n, test_all *a) {
    const char *file = test_file(0, bytes, n);
    *a = test_read(o, &file, 1);
    static char text[4096];
    assert_true(a->byte_count < sizeof text);
    if (a->byte_count) memcpy(text, a->bytes, a->byte_count);
    text[a->byte_count] = 0;
    return text;
}

/* Two members are one content; cut anywhere but between them it is an error, and so is a changed
 * byte; every whole record before the trouble comes through or at least a prefix of them. */
static void compressed(size_t (*pack)(const char *, unsigned char *, size_t), const char *word) {
    unsigned char packed[1024];
    size_t first = pack("alpha\nbeta\nga", packed, sizeof packed);
    size_t n = first + pack("mma\ndelta\n", packed + first, sizeof packed - first);
    const char *whole = "alpha\nbeta\ngamma\ndelta\n";
    for (unsigned threads = 1; threads <= 2; threads++) {
        for (size_t block = 16; block <= 64; block += 16) {
            stream_options o = test_options(STREAM_LINES);
            o.threads = threads;
            o.block_size = block;
            test_all a;
            assert_string_equal(read_back(&o, packed, n, &a), whole);
            assert_int_equal(a.end, STREAM_END);
            test_all_free(&a);
            for (size_t cut = 5; cut < n; cut++) {
                const char *got = read_back(&o, packed, cut, &a);
                assert_int_equal(a.end, cut == first ? STREAM_END : STREAM_FAILED);
                assert_memory_equal(got, whole, strlen(got));
                if (cut != first) assert_non_null(strstr(a.error.message, word));
                test_all_free(&a);
            }
        }
    }
    stream_options o = test_options(STREAM_LINES);
    for (size_t i = 10; i < n; i++) { /* past the headers, whose flags may be anything */
        unsigned char damaged[1024];
        if (i >= first && i < first + 10) continue;
        memcpy(damaged, packed, n);
        damaged[i] ^= 0x55;
        test_all a;
        read_back(&o, damaged, n, &a);
        assert_int_equal(a.end, STREAM_FAILED);
        test_all_free(&a);
    }
    memcpy(packed + n, "junk", 4);
    test_all a;
    read_back(&o, packed, n + 4, &a);
    assert_int_equal(a.end, STREAM_FAILED);
    test_all_free(&a);
    o.plain = true; /* asked not to look */
    read_back(&o, packed, n, &a);
    assert_int_equal(a.end, STREAM_END);
    assert_int_equal(a.byte_count, n);
    test_all_free(&a);
}

static void test_gzip(void **state) {
    (void)state;
    compressed(gzip_of, "gzip");
    unsigned char packed[512] = {0};
    size_t n = gzip_of("a\nb\n", packed, sizeof packed);
    stream_options o = test_options(STREAM_LINES);
    test_all a; /* zeros that pad the end are no content */
    assert_string_equal(read_back(&o, packed, n + 100, &a), "a\nb\n");
    assert_int_equal(a.end, STREAM_END);
    test_all_free(&a);
}

static void test_zstd(void **state) {
    (void)state;
    compressed(zstd_of, "zstd");
}

/* Large enough that decompressors must hold output back. */
static void test_compressed_large(void **state) {
    (void)state;
    size_t n = 3 << 20;
    char *text = malloc(n + 1);
    uint64_t seed = 3;
    for (size_t i = 0; i < n; i++)
        text[i] = test_random(&seed) % 30 ? (char)('a' + test_random(&seed) % 4) : '\n';
    text[n] = 0;
    unsigned char *packed = malloc(2 * n);
    for (int kind = 0; kind < 2; kind++) {
        size_t size = kind ? zstd_of(text, packed, 2 * n) : gzip_of(text, packed, 2 * n);
        const char *file = test_file(0, packed, size);
        for (unsigned threads = 1; threads <= 2; threads++) {
            stream_options o = test_options(STREAM_LINES);
            o.threads = threads;
            test_all a = test_read(&o, &file, 1);
            assert_int_equal(a.end, STREAM_END);
            assert_int_equal(a.byte_count, n);
            assert_memory_equal(a.bytes, text, n);
            test_all_free(&a);
        }
    }
    free(packed);
    free(text);
}

/* Of a file that does not compress well, how much has been read when nobody takes anything and no
 * more is read. */
static uint64_t read_ahead(const char *file, unsigned threads, uint64_t enough) {
    stream_options o = test_options(STREAM_LINES);
    stream_reader *r;
    stream_error err;
    stream_progress p = {0};
    const struct timespec some = {.tv_nsec = 10000000};
    o.threads = threads;
    o.block_size = 1 << 16;
    assert_int_equal(stream_open(&r, &o, &file, 1, &err), STREAM_OK);
    for (unsigned waits = 0; p.raw_bytes < enough && waits < 3000; waits++) {
        stream_get_progress(r, &p);
        nanosleep(&some, NULL);
    }
    stream_close(r);
    return p.raw_bytes;
}

/* Decompression is a thread's own: with two threads it goes on while nobody takes blocks, beyond
 * what the reader has room for: 6 blocks of 64 KiB, and the 128 KiB that are read at a time. */
static void test_compressed_ahead(void **state) {
    (void)state;
    enum { SIZE = 4 << 20, AHEAD = 7 << 17 };
    char *text = malloc(SIZE + 1);
    uint64_t seed = 5;
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 64 == 63 ? '\n' : (char)(' ' + test_random(&seed) % 95);
    text[SIZE] = 0;
    unsigned char *packed = malloc((size_t)2 * SIZE);
    for (int kind = 0; kind < 2; kind++) {
        size_t size = kind ? zstd_of(text, packed, (size_t)2 * SIZE)
                           : gzip_of(text, packed, (size_t)2 * SIZE);
        const char *file = test_file(0, packed, size);
        assert_true(read_ahead(file, 2, AHEAD) >= AHEAD);
        assert_int_equal(read_ahead(file, 1, 0), 0); /* alone, nothing before it is asked for */
    }
    free(packed);
    free(text);
}

/* Shorter than a magic, or starting like one. */
static void test_nearly_compressed(void **state) {
    (void)state;
    static const char *const texts[] = {"",       "\x1f", "\x1f\x8b", "(",    "(\xb5",
                                        "(\xb5/", "(a\n", "\x1f\n",   "\x50*"};
    stream_options o = test_options(STREAM_LINES);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        test_all a;
        assert_string_equal(read_back(&o, texts[i], strlen(texts[i]), &a), texts[i]);
        assert_int_equal(a.end, STREAM_END);
        test_all_free(&a);
    }
}

static void test_refused_files(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    const char *files[] = {test_text(0, "a\n"), "/nonexistent/file"};
    test_all a = test_read(&o, files, 2);
    assert_int_equal(a.end, STREAM_FAILED);
    assert_int_equal(a.count, 0);
    assert_string_equal(a.error.message,
                        "cannot read '/nonexistent/file': No such file or directory");
    assert_int_equal(a.error.os_error, ENOENT);
    files[1] = "/tmp";
    a = test_read(&o, files, 2);
    assert_non_null(strstr(a.error.message, "'/tmp': it is a directory"));
    /* Vanished since it was checked: the first file still comes. */
    files[1] = test_text(1, "b\n");
    stream_reader *r;
    const stream_batch *b;
    stream_error err;
    assert_int_equal(stream_open(&r, &o, files, 2, &err), STREAM_OK);
    unlink(files[1]);
    assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
    assert_int_equal(stream_next(r, -1, &b, &err), STREAM_FAILED);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(stream_next(r, -1, &b, &err), STREAM_FAILED);
    stream_close(r);
}

/* A record of 100 MB in a format whose limit is 64M, and smaller ones at their limits. */
static void test_max_record(void **state) {
    (void)state;
    size_t n = 100 << 20;
    char *p = malloc(n);
    memset(p, 'x', n);
    memcpy(p, "ab\ncd\n", 6);
    for (unsigned threads = 1; threads <= 2; threads++) {
        const char *file = test_file(0, p, n);
        stream_options o = test_options(STREAM_LINES);
        o.threads = threads;
        test_all a = test_read(&o, &file, 1);
        assert_int_equal(a.end, STREAM_FAILED);
        assert_int_equal(a.count, 2);
        assert_int_equal(a.error.record, 3);
        assert_int_equal(a.error.offset, 6);
        assert_non_null(strstr(a.error.message, "longer than 64M"));
        test_all_free(&a);
    }
    free(p);
    static const struct {
        stream_format format;
        const char *text;
        size_t length;
        size_t records; /* before the one that is too long; SIZE_MAX: none is */
    } cases[] = {{STREAM_LINES, "1234567890\n1234567890", 21, SIZE_MAX},
                 {STREAM_LINES, "1\n12345678901\n2\n", 16, 1},
                 {STREAM_LINES, "1\n12345678901", 13, 1},
                 {STREAM_LINES, "1\n123456789\r\n", 13, SIZE_MAX},
                 {STREAM_LINES, "1\n1234567890\r\n", 14, 1},
                 {STREAM_CSV, "1\n1234567890\r\n", 14, SIZE_MAX},
                 {STREAM_CSV, "1\n\"234\n67890\"\r\n", 15, 1},
                 {STREAM_LEN32, "\1\0\0\0a\xb\0\0\0bbbbbbbbbbb", 20, 1},
                 {STREAM_LEN32, "\1\0\0\0a\xa\0\0\0bbbbbbbbbb", 19, SIZE_MAX},
                 {STREAM_LEN32, "\1\0\0\0a\xff\xff\xff\xff", 9, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t block = 16; block < 64; block += 7) {
            stream_options o = test_options(cases[i].format);
            o.max_record = 10;
            o.block_size = block;
            const char *file = test_file(0, cases[i].text, cases[i].length);
            test_all a = test_read(&o, &file, 1);
            bool fits = cases[i].records == SIZE_MAX;
            assert_int_equal(a.end, fits ? STREAM_END : STREAM_FAILED);
            if (!fits) {
                assert_int_equal(a.count, cases[i].records);
                assert_int_equal(a.error.record, cases[i].records + 1);
                assert_int_equal(a.error.offset, a.byte_count);
            }
            test_all_free(&a);
        }
    }
}

/* Read up to a batch, close, start there again: the same records. */
static void resume(const stream_options *options, const char *const *files, size_t n) {
    test_all whole = test_read(options, files, n);
    assert_int_equal(whole.end, STREAM_END);
    for (size_t stop = 1;; stop++) {
        test_all a = {0};
        stream_options o = *options;
        stream_reader *r;
        const stream_batch *b;
        size_t batches = 0;
        assert_int_equal(stream_open(&r, &o, files, n, &a.error), STREAM_OK);
        while (batches < stop && stream_next(r, -1, &b, &a.error) == STREAM_BATCH) {
            test_all_add(&a, b);
            o.start = b->after;
            batches++;
        }
        stream_close(r);
        if (batches < stop) {
            test_all_free(&a);
            break;
        }
        assert_int_equal(stream_open(&r, &o, files, n, &a.error), STREAM_OK);
        while ((a.end = stream_next(r, -1, &b, &a.error)) == STREAM_BATCH) test_all_add(&a, b);
        if (a.end != STREAM_END) fail_msg("%s", a.error.message);
        stream_close(r);
        assert_int_equal(a.count, whole.count);
        assert_int_equal(a.byte_count, whole.byte_count);
        assert_memory_equal(a.bytes, whole.bytes, whole.byte_count);
        assert_memory_equal(a.hashes, whole.hashes, whole.count * sizeof *a.hashes);
        assert_memory_equal(a.numbers, whole.numbers, whole.count * sizeof *a.numbers);
        assert_memory_equal(a.offsets, whole.offsets, whole.count * sizeof *a.offsets);
        test_all_free(&a);
    }
    test_all_free(&whole);
}

static void test_resume(void **state) {
    (void)state;
    unsigned char packed[512];
    size_t n =
        gzip_of("k,v\n9,1\n8,\"2\n2\"\n7,33333333333333333333333\n6,4\n", packed, sizeof packed);
    const char *files[] = {test_text(0, ""),
                           test_text(1, "k,v\n1,a\n2,\"b\nb\"\n3,cccccccccccccccc\n4,d"),
                           test_file(2, packed, n), test_text(3, "k,v\n5,e\n")};
    stream_options o = test_options(STREAM_CSV);
    o.header = true;
    o.key = "k";
    o.block_size = 16;
    for (o.threads = 1; o.threads <= 2; o.threads++) resume(&o, files, 4);
    o.start = (stream_position){.file = 1, .offset = 1000, .record = 3};
    test_all a = test_read(&o, files, 4);
    assert_int_equal(a.end, STREAM_FAILED);
    assert_non_null(strstr(a.error.message, "cannot resume"));
    test_all_free(&a);
}

/* A pipe that stays open: what has arrived is delivered, then the reader is idle, then it can be
 * interrupted, and then closed while it waits. */
static void live(unsigned threads) {
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    int saved = dup(STDIN_FILENO);
    dup2(fds[0], STDIN_FILENO);
    close(fds[0]);
    stream_options o = test_options(STREAM_LINES);
    o.threads = threads;
    stream_reader *r;
    const stream_batch *b;
    stream_error err;
    assert_int_equal(stream_open(&r, &o, NULL, 0, &err), STREAM_OK);
    assert_int_equal(stream_next(r, 20, &b, &err), STREAM_IDLE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write(fds[1], "one\ntwo\nthr", 11), 11);
        assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
        assert_int_equal(b->count, 2);
        assert_int_equal(stream_next(r, 0, &b, &err), STREAM_IDLE);
        assert_int_equal(stream_next(r, 10, &b, &err), STREAM_IDLE);
        stream_interrupt(r);
        assert_int_equal(stream_next(r, -1, &b, &err), STREAM_INTERRUPTED);
        assert_int_equal(write(fds[1], "ee\n", 3), 3);
        assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
        assert_int_equal(b->count, 1);
        assert_memory_equal(b->base + b->offsets[0], "three\n", 6);
        assert_int_equal(b->first_record, 3 * (unsigned)i + 3);
    }
    stream_progress p;
    stream_get_progress(r, &p);
    assert_int_equal(p.records, 9);
    assert_int_equal(p.raw_bytes, 42);
    assert_int_equal(p.raw_total, 0);
    if (threads % 2) { /* the writer ends first */
        close(fds[1]);
        assert_int_equal(stream_next(r, -1, &b, &err), STREAM_END);
        stream_close(r);
    } else {
        stream_close(r);
        close(fds[1]);
    }
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void test_live_pipe(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) live(threads);
}

static void *interrupt_later(void *reader) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    stream_interrupt(reader);
    return NULL;
}

/* While it waits, with no end to the wait. */
static void test_interrupt_waiting(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 3; threads++) {
        int fds[2];
        char name[32];
        assert_int_equal(pipe(fds), 0);
        snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
        const char *file = name;
        stream_options o = test_options(STREAM_LINES);
        o.threads = threads;
        stream_reader *r;
        const stream_batch *b;
        stream_error err;
        assert_int_equal(stream_open(&r, &o, &file, 1, &err), STREAM_OK);
        pthread_t thread;
        pthread_create(&thread, NULL, interrupt_later, r);
        assert_int_equal(stream_next(r, -1, &b, &err), STREAM_INTERRUPTED);
        pthread_join(thread, NULL);
        stream_close(r);
        close(fds[0]);
        close(fds[1]);
    }
}

/* A pipe that is fed in odd pieces gives what a file gives. */
static void test_dribble(void **state) {
    (void)state;
    enum { SIZE = 200000 };
    static char text[SIZE];
    uint64_t seed = 11;
    for (size_t i = 0; i < SIZE; i++) text[i] = "ab,\"\n\n"[test_random(&seed) % 6];
    stream_options o = test_options(STREAM_CSV);
    o.key = "1";
    o.max_record = SIZE;
    const char *file = test_file(0, text, SIZE);
    test_all whole = test_read(&o, &file, 1);
    for (o.threads = 1; o.threads <= 3; o.threads++) {
        int fds[2];
        char name[32];
        assert_int_equal(pipe(fds), 0);
        snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
        file = name;
        pid_t child = fork();
        if (child == 0) {
            for (size_t at = 0; at < SIZE;) {
                size_t n = 1 + test_random(&seed) % 5000;
                ssize_t done = write(fds[1], text + at, n < SIZE - at ? n : SIZE - at);
                at += done > 0 ? (size_t)done : 0;
            }
            _exit(0);
        }
        close(fds[1]);
        test_all a = test_read(&o, &file, 1);
        close(fds[0]);
        waitpid(child, NULL, 0);
        assert_int_equal(a.end, whole.end);
        assert_int_equal(a.count, whole.count);
        assert_memory_equal(a.hashes, whole.hashes, a.count * sizeof *a.hashes);
        assert_memory_equal(a.status, whole.status, a.count);
        assert_memory_equal(a.bytes, text, SIZE);
        test_all_free(&a);
    }
    test_all_free(&whole);
}

/* One of several consumers, in a thread of its own. */
typedef struct {
    stream_reader *reader;
    unsigned number;
    uint64_t batches, records, sum, last; /* sum of the hashes; number of the last record */
    bool in_order;
    stream_status end;
} consumer;

static void *consume(void *context) {
    consumer *c = context;
    const stream_batch *b;
    c->in_order = true;
    while ((c->end = stream_take(c->reader, c->number, -1, &b, NULL)) == STREAM_BATCH) {
        c->batches++;
        c->records += b->count;
        c->in_order = c->in_order && b->first_record > c->last;
        c->last = b->first_record;
        for (size_t i = 0; i < b->count; i++) c->sum += b->hashes[i];
    }
    return NULL;
}

/* Every batch goes to one consumer, in turn, whether they read a file or a pipe. */
static void deal(const char *file, unsigned threads, unsigned consumers, const consumer *all) {
    stream_options o = test_options(STREAM_LINES);
    o.threads = threads;
    o.consumers = consumers;
    o.block_size = 4096;
    stream_error err;
    stream_reader *reader;
    consumer each[4] = {{0}}, sum = {0};
    pthread_t ids[4];
    assert_int_equal(stream_open(&reader, &o, &file, 1, &err), STREAM_OK);
    for (unsigned i = 0; i < consumers; i++) {
        each[i] = (consumer){.reader = reader, .number = i};
        assert_int_equal(pthread_create(&ids[i], NULL, consume, &each[i]), 0);
    }
    for (unsigned i = 0; i < consumers; i++) {
        pthread_join(ids[i], NULL);
        assert_true(each[i].in_order);
        assert_int_equal(each[i].end, STREAM_END);
        assert_true(each[i].batches + 1 >= each[0].batches && each[i].batches <= each[0].batches);
        sum.records += each[i].records;
        sum.sum += each[i].sum;
    }
    assert_true(sum.records == all->records && sum.sum == all->sum);
    stream_close(reader);
}

static void test_consumers(void **state) {
    (void)state;
    enum { LINES = 50000 };
    char *text = malloc(LINES * 8), *at = text;
    consumer all = {.records = LINES};
    for (int i = 0; i < LINES; i++) {
        int n = sprintf(at, "%d\n", i * 7 % 1000);
        all.sum += test_hash(NULL, at, (size_t)n - 1);
        at += n;
    }
    const char *file = test_file(0, text, (size_t)(at - text));
    for (unsigned threads = 1; threads <= 4; threads++)
        for (unsigned consumers = 1; consumers <= threads; consumers++)
            deal(file, threads, consumers, &all);
    free(text);
}

/* ---- work in parts ---- */

typedef struct {
    _Atomic unsigned done[100];
    _Atomic bool helped; /* by another thread than the caller's */
    pthread_t caller;
} parts;

static void do_part(void *work, size_t i) {
    parts *p = work;
    bool helps = !pthread_equal(pthread_self(), p->caller);
    /* The caller leaves something for others, and is to wait for it. */
    if (helps && !atomic_exchange(&p->helped, true)) usleep(20000);
    for (int ms = 0; !helps && i == 0 && ms < 2000 && !p->helped; ms++) usleep(1000);
    p->done[i]++;
}

/* Each part is done once, between any two batches, by the threads that there are. Who waits for
 * ever is killed. */
static void test_share(void **state) {
    (void)state;
    alarm(30);
    char text[1000]; /* more than is framed ahead, or the threads have gone home */
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 2 ? '\n' : 'a';
    const char *file = test_file(0, text, sizeof text);
    for (unsigned threads = 1; threads <= 3; threads++) {
        stream_options o = test_options(STREAM_LINES);
        stream_reader *reader;
        const stream_batch *b;
        parts p = {.caller = pthread_self(), .helped = threads == 1};
        o.threads = threads;
        o.block_size = 16;
        assert_int_equal(stream_open(&reader, &o, &file, 1, NULL), STREAM_OK);
        stream_share(reader, do_part, &p, 100);
        for (unsigned i = 0; i < 100; i++) assert_int_equal(p.done[i], 1);
        assert_true(p.helped);
        unsigned batches = 1;
        for (; stream_next(reader, -1, &b, NULL) == STREAM_BATCH; batches++)
            stream_share(reader, do_part, &p, 1);
        stream_share(reader, do_part, &p, 0);
        assert_int_equal(p.done[0], batches);
        assert_int_equal(p.done[1], 1);
        stream_close(reader);
    }
    alarm(0);
}

/* One that waits for a batch can be sent home. */
static void test_dismissed(void **state) {
    (void)state;
    int fds[2];
    char name[32];
    const char *file = name;
    stream_options o = test_options(STREAM_LINES);
    stream_reader *reader;
    stream_error err;
    pthread_t id;
    assert_int_equal(pipe(fds), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fds[0]);
    o.threads = o.consumers = 2;
    assert_int_equal(stream_open(&reader, &o, &file, 1, &err), STREAM_OK);
    consumer second = {.reader = reader, .number = 1};
    assert_int_equal(pthread_create(&id, NULL, consume, &second), 0);
    stream_dismiss(reader);
    pthread_join(id, NULL);
    assert_int_equal(second.end, STREAM_END);
    stream_close(reader);
    close(fds[0]), close(fds[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_consumers),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_dismissed),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),
        cmocka_unit_test(test_compressed_large),
        cmocka_unit_test(test_compressed_ahead),
        cmocka_unit_test(test_nearly_compressed),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_max_record),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_live_pipe),
        cmocka_unit_test(test_interrupt_waiting),
        cmocka_unit_test(test_dribble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
