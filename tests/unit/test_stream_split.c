/* test_stream_split.c - cutting records and finding keys, against a slow twin.
 *
 * The twin reads a content byte by byte, without blocks, threads, vectors or carry,
 * and says which records there are and what their keys are. The reader must
 * agree for every format, tiny blocks, several threads, and each instruction
 * set, on contents made to be awkward.
 */
#include <weir_cpu.h>

#include "test_stream_util.h"

#include "stream_internal.h"

typedef struct {
    size_t count;
    uint32_t lengths[4096];
    uint64_t hashes[4096];
    uint8_t status[4096];
    bool cut; /* the last record is cut short: an error */
} twin;

typedef struct {
    unsigned char bytes[8192];
    size_t length;
} text;

static void push(text *t, unsigned char c) { t->bytes[t->length++] = c; }

static void push_part(text *key, const text *part, size_t parts) {
    if (parts > 1)
        for (int i = 0; i < 4; i++) push(key, (unsigned char)(part->length >> (8 * i)));
    for (size_t i = 0; i < part->length; i++) push(key, part->bytes[i]);
}

static void twin_add(twin *t, size_t length, int status, const void *key, size_t key_length) {
    t->lengths[t->count] = (uint32_t)length;
    t->status[t->count] = (uint8_t)status;
    t->hashes[t->count++] = status == STREAM_RECORD_OK ? test_hash(NULL, key, key_length) : 0;
}

static void twin_lines(twin *t, const unsigned char *p, size_t n, unsigned char end) {
    for (size_t start = 0, i = 0; i < n; i++) {
        if (p[i] != end && i + 1 < n) continue;
        size_t content = p[i] == end ? i - start : i + 1 - start;
        twin_add(t, i + 1 - start, STREAM_RECORD_OK, p + start, content);
        start = i + 1;
    }
}

/* The rows of a table by the book: one state machine, fields collected as they come. */
static void twin_table(twin *t, const unsigned char *p, size_t n, bool csv, const uint32_t *columns,
                       size_t parts) {
    static text fields[64];
    size_t i = 0;
    while (i < n) {
        size_t start = i, field = 0;
        bool quoted = false, ended = false;
        fields[0].length = 0;
        bool field_start = true;
        while (i < n && !ended) {
            unsigned char c = p[i++];
            if (quoted) {
                if (c != '"') push(&fields[field], c);
                else if (i < n && p[i] == '"') push(&fields[field], p[i++]);
                else quoted = false;
            } else if (csv && c == '"' && field_start) {
                quoted = true;
            } else if (c == (csv ? ',' : '\t')) {
                fields[++field].length = 0;
                field_start = true;
                continue;
            } else if (c == '\n') {
                ended = true;
            } else {
                push(&fields[field], c);
            }
            field_start = false;
        }
        /* A CR before the LF is no part of the last field, unless it was quoted. */
        if (ended && i - start >= 2 && p[i - 2] == '\r') fields[field].length--;
        text key = {.length = 0};
        int status = quoted ? STREAM_BAD : STREAM_RECORD_OK;
        for (size_t k = 0; k < parts && status == STREAM_RECORD_OK; k++) {
            if (columns[k] > field) status = STREAM_MISSING;
            else push_part(&key, &fields[columns[k]], parts);
        }
        twin_add(t, i - start, status, key.bytes, key.length);
    }
}

static void twin_binary(twin *t, const unsigned char *p, size_t n, uint32_t size) {
    for (size_t i = 0; i < n;) {
        size_t head = size ? 0 : 4, length = size;
        if (!size && n - i >= 4) length = p[i] | (size_t)p[i + 1] << 8;
        if (n - i < head + length || n - i < head) {
            t->cut = true;
            return;
        }
        twin_add(t, head + length, STREAM_RECORD_OK, p + i + head, length);
        i += head + length;
    }
}

/* Letters that matter to some format, in the mix of a style. */
static size_t awkward(unsigned char *p, size_t most, int style, uint64_t *seed) {
    static const char *const styles[] = {
        "a\n",        "ab,\"\n",    "abc,,\r\n\"",   "aaaaaaaaaaaaaaaaaaaaaa\n",
        "a\tb\r\n\"", "a\"\"\",\n", "xyz,xyz,xyz,\n"};
    const char *letters = styles[style % 7];
    size_t count = strlen(letters), n = test_random(seed) % most;
    for (size_t i = 0; i < n; i++) {
        p[i] = (unsigned char)letters[test_random(seed) % count];
        if (test_random(seed) % 50 == 0) p[i] = 0;
        if (test_random(seed) % 50 == 0) p[i] = 0xe9;
    }
    return n;
}

/* Rows that are mostly well formed, long enough to cross many chunks. */
static size_t well_formed(unsigned char *p, size_t most, uint64_t *seed) {
    size_t n = 0;
    while (n + 200 < most && test_random(seed) % 40) {
        int fields = 1 + (int)(test_random(seed) % 5);
        for (int f = 0; f < fields; f++) {
            bool quoted = test_random(seed) % 3 == 0;
            if (f) p[n++] = ',';
            if (quoted) p[n++] = '"';
            for (int i = (int)(test_random(seed) % 20); i > 0; i--) {
                unsigned char c = quoted ? (unsigned char)"ab\n,\""[test_random(seed) % 5] : 'c';
                p[n++] = c;
                if (c == '"') p[n++] = '"';
            }
            if (quoted) p[n++] = '"';
        }
        if (test_random(seed) % 4 == 0) p[n++] = '\r';
        p[n++] = '\n';
    }
    return n;
}

static size_t binary(unsigned char *p, size_t most, uint64_t *seed) {
    size_t n = 0;
    while (n + 400 < most && test_random(seed) % 30) {
        size_t length = test_random(seed) % 10 ? test_random(seed) % 20 : test_random(seed) % 390;
        p[n++] = (unsigned char)length;
        p[n++] = (unsigned char)(length >> 8);
        p[n++] = 0;
        p[n++] = 0;
        for (; length; length--) p[n++] = (unsigned char)test_random(seed);
    }
    if (test_random(seed) % 2 && n) n -= test_random(seed) % 3;
    return n;
}

static void compare(const twin *t, const test_all *a, const unsigned char *p, size_t n) {
    assert_int_equal(a->count, t->count);
    assert_int_equal(a->end, t->cut ? STREAM_FAILED : STREAM_END);
    assert_true(a->byte_count <= n);
    if (a->byte_count) assert_memory_equal(a->bytes, p, a->byte_count);
    uint64_t offset = 0;
    for (size_t i = 0; i < t->count; i++) {
        assert_int_equal(a->lengths[i], t->lengths[i]);
        assert_int_equal(a->status[i], t->status[i]);
        assert_true(a->hashes[i] == t->hashes[i]);
        assert_int_equal(a->numbers[i], i + 1);
        assert_int_equal(a->offsets[i], offset);
        offset += t->lengths[i];
    }
    if (t->cut) {
        assert_int_equal(a->error.record, t->count + 1);
        assert_int_equal(a->error.offset, offset);
    }
}

static void one_case(uint64_t seed, const char *scanner) {
    static unsigned char p[4096];
    static twin t;
    static const char *const keys[] = {NULL, "1", "2", "2,1", "3,3,1"};
    static const uint32_t columns[][3] = {{0}, {0}, {1}, {1, 0}, {2, 2, 0}};
    static const size_t parts[] = {0, 1, 1, 2, 3};
    t.count = 0;
    t.cut = false;
    assert_int_equal(weir_cpu_choose(scanner, NULL), WEIR_OK);
    static const stream_format formats[] = {STREAM_LINES, STREAM_CSV,   STREAM_TSV,
                                            STREAM_CSV,   STREAM_FIXED, STREAM_LEN32};
    stream_options o = test_options(formats[test_random(&seed) % 6]);
    size_t n = awkward(p, 1500, (int)test_random(&seed), &seed);
    if (o.format == STREAM_CSV && test_random(&seed) % 2) n = well_formed(p, sizeof p, &seed);
    if (o.format == STREAM_LEN32) n = binary(p, sizeof p, &seed);
    uint32_t k = o.format == STREAM_CSV || o.format == STREAM_TSV ? 1 + test_random(&seed) % 4 : 0;
    o.key = keys[k];
    o.threads = 1u << (test_random(&seed) % 3);
    o.block_size = 16 + test_random(&seed) % 300;
    if (o.format == STREAM_LINES) {
        o.terminator = test_random(&seed) % 3 ? '\n' : '\0';
        twin_lines(&t, p, n, (unsigned char)o.terminator);
    } else if (o.format == STREAM_CSV || o.format == STREAM_TSV) {
        twin_table(&t, p, n, o.format == STREAM_CSV, columns[k], parts[k]);
    } else {
        o.record_size = o.format == STREAM_FIXED ? 1 + test_random(&seed) % 40 : 0;
        twin_binary(&t, p, n, o.record_size);
    }
    const char *file = test_file(0, p, n);
    test_all a = test_read(&o, &file, 1);
    compare(&t, &a, p, n);
    test_all_free(&a);
}

static void agree(const char *scanner) {
    if (weir_cpu_choose(scanner, NULL) != WEIR_OK) {
        print_message("this machine has no %s\n", scanner);
        return;
    }
    for (uint64_t seed = 1; seed <= 1500; seed++) one_case(seed * 7919, scanner);
    weir_cpu_choose(NULL, NULL);
}

static void test_agrees_portable(void **s) {
    (void)s;
    agree("scalar");
}
static void test_agrees_neon(void **s) {
    (void)s;
    agree("neon");
}
static void test_agrees_sse2(void **s) {
    (void)s;
    agree("sse");
}
static void test_agrees_avx2(void **s) {
    (void)s;
    agree("avx2");
}
static void test_agrees_avx512(void **s) {
    (void)s;
    agree("avx512");
}

/* At the usual block size: many blocks, records that straddle them, and a crowd of empty ones. */
static void test_usual_blocks(void **state) {
    (void)state;
    static twin t; /* lengths are not needed here: only the reader against itself */
    (void)t;
    size_t n = 6 << 20;
    unsigned char *p = malloc(n);
    uint64_t seed = 5;
    for (size_t i = 0; i < n; i++) {
        bool crowd = (i >> 20) == 2;
        p[i] = test_random(&seed) % (crowd ? 2 : 61)
                   ? 'a' + (unsigned char)(test_random(&seed) % 26)
                   : '\n';
    }
    const char *file = test_file(0, p, n);
    stream_options o = test_options(STREAM_LINES);
    size_t count = 0, start = 0;
    test_all one = test_read(&o, &file, 1);
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\n' && i + 1 < n) continue;
        assert_int_equal(one.lengths[count], i + 1 - start);
        assert_true(one.hashes[count] == test_hash(NULL, p + start, i - start + (p[i] != '\n')));
        count++;
        start = i + 1;
    }
    assert_int_equal(one.count, count);
    assert_int_equal(one.byte_count, n);
    assert_memory_equal(one.bytes, p, n);
    for (o.threads = 2; o.threads <= 4; o.threads++) {
        test_all many = test_read(&o, &file, 1);
        assert_int_equal(many.count, count);
        assert_memory_equal(many.hashes, one.hashes, count * sizeof *many.hashes);
        assert_memory_equal(many.bytes, p, n);
        test_all_free(&many);
    }
    test_all_free(&one);
    free(p);
}

static void test_empty_and_unterminated(void **state) {
    (void)state;
    stream_options o = test_options(STREAM_LINES);
    test_all a = test_read_text(&o, "");
    assert_int_equal(a.end, STREAM_END);
    assert_int_equal(a.count, 0);
    test_all_free(&a);
    a = test_read_text(&o, "\n");
    assert_int_equal(a.count, 1);
    assert_false(a.open_end);
    test_all_free(&a);
    a = test_read_text(&o, "x\ny");
    assert_int_equal(a.count, 2);
    assert_true(a.open_end);
    assert_true(a.hashes[1] == test_hash(NULL, "y", 1));
    test_all_free(&a);
    /* The same key with and without terminator. */
    a = test_read_text(&o, "y\ny");
    assert_true(a.hashes[0] == a.hashes[1]);
    test_all_free(&a);
}

static void test_early_close(void **state) {
    (void)state;
    size_t n = 3 << 20;
    char *p = malloc(n);
    memset(p, '\n', n);
    const char *file = test_file(0, p, n);
    free(p);
    for (unsigned threads = 1; threads <= 4; threads++) {
        for (int batches = 0; batches < 4; batches++) {
            stream_options o = test_options(STREAM_LINES);
            o.threads = threads;
            stream_reader *r;
            stream_error err;
            const stream_batch *b;
            assert_int_equal(stream_open(&r, &o, &file, 1, &err), STREAM_OK);
            for (int i = 0; i < batches; i++)
                assert_int_equal(stream_next(r, -1, &b, &err), STREAM_BATCH);
            stream_close(r);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_portable),
        cmocka_unit_test(test_agrees_neon),
        cmocka_unit_test(test_agrees_sse2),
        cmocka_unit_test(test_agrees_avx2),
        cmocka_unit_test(test_agrees_avx512),
        cmocka_unit_test(test_usual_blocks),
        cmocka_unit_test(test_empty_and_unterminated),
        cmocka_unit_test(test_early_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
