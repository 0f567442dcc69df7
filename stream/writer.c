/* writer.c - chosen records out, byte for byte.
 *
 * Runs of neighbouring records that are both chosen are one stretch of memory,
 * so they are copied as one, into a large buffer that is written whenever it is
 * full: at multiples of its size, which spares the kernel half-filled pages. A
 * run that is as large as the buffer goes past it. Most runs are a few hundred
 * bytes: they are copied in whole pieces of STREAM_PAD bytes, which batches and
 * buffers have to spare behind their ends.
 *
 * Compressed output is a row of members (gzip) or frames (zstd). A mark ends the
 * one under way, so that everything before it can be decompressed if the file is
 * cut there, and the next record begins another; readers take a row of them as
 * one. Nothing written gives one empty member.
 *
 * With `background` a thread compresses and writes one buffer while the caller
 * fills the other. A failure there is reported by the next call.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "stream_internal.h"

enum {
    BUFFER_SIZE = 256 * 1024, /* bytes that are collected before they are written */
    /* Bytes that are collected for a background thread: more, so that it is woken less often. */
    BACKGROUND_BUFFER_SIZE = 1024 * 1024,
    PACKED_SIZE = 128 * 1024, /* bytes of compressed output that are written at once */
    RUN_SHORT = 1024,         /* bytes of a run of records; longer runs are left to memcpy() */
    PAGE = 4096               /* bytes; buffers begin at a multiple of it */
};

/* After a buffer is passed on: nothing more, a flush, or the end of a member or frame. */
typedef enum { GO_ON, PUSH, END } output_end;

struct stream_writer {
    char *name; /* for messages */
    int fd;
    bool owned; /* close it */
    stream_compression compression;
    size_t size;           /* of a buffer */
    unsigned char *buffer; /* the caller fills it */
    size_t used;
    bool open_end; /* a terminator is owed */
    bool marked;   /* the byte order mark of the input has been copied */
    char terminator[3];
    uint8_t terminator_length;

    /* Used where the output is made: by the caller or by the thread. */
    z_stream gzip;
    ZSTD_CCtx *zstd;
    unsigned char *packed; /* compressed bytes on their way out */
    bool member_open;      /* a member or frame has been begun */
    _Atomic uint64_t offset;
    stream_status status; /* what became of it; the first failure stays */
    stream_error error;

    bool background;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, and status and error */
    pthread_cond_t change;
    unsigned char *other; /* the second buffer: the thread's while busy */
    size_t other_used;
    output_end other_end;
    bool busy, stopping;
};

/* ------------------------------------------------------------------------
 * Out to the descriptor
 * ------------------------------------------------------------------------ */

static stream_status write_failed(stream_writer *w, int error) {
    if (error == EPIPE) return w->status = STREAM_CLOSED;
    stream__fail(&w->error, error, "cannot write %s: %s", w->name, strerror(error));
    if (error == ENOSPC || error == EDQUOT) stream__because(&w->error, STREAM_CAUSE_NO_ROOM);
    return w->status = STREAM_FAILED;
}

/* All of it, however often the kernel takes only a part. */
static stream_status write_all(stream_writer *w, const unsigned char *p, size_t n) {
    while (n) {
        ssize_t done = write(w->fd, p, n < (1u << 30) ? n : 1u << 30);
        if (done >= 0) {
            p += done;
            n -= (size_t)done;
            atomic_fetch_add_explicit(&w->offset, (uint64_t)done, memory_order_relaxed);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd wait = {.fd = w->fd, .events = POLLOUT};
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            return write_failed(w, errno);
        }
    }
    return STREAM_OK;
}

static stream_status put_gzip(stream_writer *w, const unsigned char *p, size_t n, output_end end) {
    assert(w->packed && n <= UINT32_MAX);
    int flush = end == END ? Z_FINISH : end == PUSH ? Z_SYNC_FLUSH : Z_NO_FLUSH;
    w->gzip.next_in = (unsigned char *)p;
    w->gzip.avail_in = (unsigned)n;
    do {
        w->gzip.next_out = w->packed;
        w->gzip.avail_out = PACKED_SIZE;
        deflate(&w->gzip, flush);
        if (write_all(w, w->packed, PACKED_SIZE - w->gzip.avail_out)) return w->status;
    } while (w->gzip.avail_out == 0);
    if (end == END) deflateReset(&w->gzip);
    return STREAM_OK;
}

static stream_status put_zstd(stream_writer *w, const unsigned char *p, size_t n, output_end end) {
    assert(w->packed && w->zstd);
    ZSTD_EndDirective flush = end == END    ? ZSTD_e_end
                              : end == PUSH ? ZSTD_e_flush
                                            : ZSTD_e_continue;
    ZSTD_inBuffer in = {p, n, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {w->packed, PACKED_SIZE, 0};
        left = ZSTD_compressStream2(w->zstd, &out, &in, flush);
        if (ZSTD_isError(left)) {
            stream__fail(&w->error, 0, "cannot compress %s: %s", w->name, ZSTD_getErrorName(left));
            return w->status = STREAM_FAILED;
        }
        if (write_all(w, w->packed, out.pos)) return w->status;
    } while (end == GO_ON ? in.pos < in.size : left != 0);
    return STREAM_OK;
}

/* Compress if asked to, and write. */
static stream_status put_out(stream_writer *w, const unsigned char *p, size_t n, output_end end) {
    if (w->status) return w->status;
    if (w->compression == STREAM_PLAIN) return write_all(w, p, n);
    if (n == 0 && !w->member_open) return STREAM_OK;
    w->member_open = end != END;
    return w->compression == STREAM_GZIP ? put_gzip(w, p, n, end) : put_zstd(w, p, n, end);
}

/* ------------------------------------------------------------------------
 * The thread
 * ------------------------------------------------------------------------ */

static void *output_thread(void *context) {
    stream_writer *w = context;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->busy && !w->stopping) pthread_cond_wait(&w->change, &w->lock);
        if (!w->busy) break;
        pthread_mutex_unlock(&w->lock);
        put_out(w, w->other, w->other_used, w->other_end);
        pthread_mutex_lock(&w->lock);
        w->busy = false;
        pthread_cond_broadcast(&w->change);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Wait until the output thread has nothing to do: its state may be read then. */
static void wait_until_idle(stream_writer *w) {
    if (!w->background) return;
    pthread_mutex_lock(&w->lock);
    while (w->busy) pthread_cond_wait(&w->change, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static void hand_over(stream_writer *w, output_end end) {
    assert(w->background && w->used <= w->size);
    pthread_mutex_lock(&w->lock);
    while (w->busy) pthread_cond_wait(&w->change, &w->lock);
    unsigned char *empty = w->other;
    w->other = w->buffer;
    w->other_used = w->used;
    w->other_end = end;
    w->buffer = empty;
    w->busy = true;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

static bool start_thread(stream_writer *w) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&w->thread, NULL, output_thread, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ------------------------------------------------------------------------
 * The buffer
 * ------------------------------------------------------------------------ */

/* Pass the buffer on, and empty it. */
static stream_status pass_on(stream_writer *w, output_end end) {
    if (w->background) {
        hand_over(w, end);
        if (end != GO_ON) wait_until_idle(w);
    } else {
        put_out(w, w->buffer, w->used, end);
    }
    w->used = 0;
    return STREAM_OK;
}

/* The writer's status. A failure of the background thread is reported by a later call. */
static stream_status state(stream_writer *w, stream_error *err) {
    stream_status status;
    if (w->background) pthread_mutex_lock(&w->lock);
    status = w->background && w->busy ? STREAM_OK : w->status;
    if (status == STREAM_FAILED && err) *err = w->error;
    if (w->background) pthread_mutex_unlock(&w->lock);
    return status;
}

static void put_slowly(stream_writer *w, const unsigned char *p, size_t n) {
    assert(w->used < w->size);
    while (n) {
        if (w->used == 0 && n >= w->size && !w->background) { /* nothing to gather */
            put_out(w, p, w->size, GO_ON);
            p += w->size;
            n -= w->size;
            continue;
        }
        size_t part = w->size - w->used < n ? w->size - w->used : n;
        memcpy(w->buffer + w->used, p, part);
        w->used += part;
        p += part;
        n -= part;
        if (w->used == w->size) pass_on(w, GO_ON);
    }
}

static inline void put(stream_writer *w, const unsigned char *p, size_t n) {
    if (n < w->size - w->used) {
        memcpy(w->buffer + w->used, p, n);
        w->used += n;
    } else {
        put_slowly(w, p, n);
    }
}

static void pay_terminator(stream_writer *w) {
    if (!w->open_end) return;
    w->open_end = false;
    put(w, (const unsigned char *)w->terminator, w->terminator_length);
}

/* Remember that what was just written lacks its end. */
static void owe_terminator(stream_writer *w, const stream_batch *b) {
    assert(!w->open_end && b->terminator_length <= sizeof w->terminator);
    w->open_end = true;
    w->terminator_length = b->terminator_length;
    memcpy(w->terminator, b->terminator, sizeof w->terminator);
}

/* ------------------------------------------------------------------------
 * Records
 * ------------------------------------------------------------------------ */

/* In whole pieces, so that only their number is left to guess. */
static inline void copy_run(unsigned char *to, const unsigned char *from, size_t n) {
    for (size_t done = 0; done < n; done += STREAM_PAD) memcpy(to + done, from + done, STREAM_PAD);
}

static inline void put_run(stream_writer *w, const stream_batch *b, size_t from, size_t to) {
    assert(from < to && to <= b->count);
    const unsigned char *p = b->base + b->offsets[from];
    size_t n = b->offsets[to] - b->offsets[from];
    pay_terminator(w);
    if (n <= RUN_SHORT && n < w->size - w->used) {
        copy_run(w->buffer + w->used, p, n);
        w->used += n;
    } else {
        put(w, p, n);
    }
    if (b->open_end && to == b->count) owe_terminator(w, b);
}

/* A byte order mark goes before everything, whether or not the first record is written. */
static void put_byte_order_mark(stream_writer *w, const stream_batch *b) {
    if (!b->byte_order_mark || w->marked || atomic_load(&w->offset)) return;
    w->marked = true;
    put(w, (const unsigned char *)STREAM_BYTE_ORDER_MARK, 3);
}

/* Runs of set bits: `edges` has a bit wherever one begins or ends. */
static void put_runs(stream_writer *w, const stream_batch *b, const uint64_t *bits, uint64_t flip) {
    size_t from = 0;
    uint64_t before = 0;
    bool inside = false;
    for (size_t first = 0; first < b->count; first += 64) {
        uint64_t word = bits[first / 64] ^ flip;
        if (b->count - first < 64) word &= ~(~0ull << (b->count - first));
        uint64_t edges = word ^ (word << 1 | before);
        before = word >> 63;
        for (; edges; edges &= edges - 1, inside = !inside) {
            size_t at = first + (size_t)__builtin_ctzll(edges);
            if (inside) put_run(w, b, from, at);
            else from = at;
        }
    }
    if (inside) put_run(w, b, from, b->count);
}

stream_status stream_write_records(stream_writer *w, const stream_batch *b, const uint64_t *bits,
                                   bool which, stream_error *err) {
    put_byte_order_mark(w, b);
    if (bits) put_runs(w, b, bits, which ? 0 : ~0ull);
    else put_run(w, b, 0, b->count);
    return state(w, err);
}

static bool bit(const uint64_t *bits, size_t i) { return bits && (bits[i / 64] >> (i % 64) & 1); }

static void put_text(stream_writer *w, const char *text) {
    put(w, (const unsigned char *)text, strlen(text));
}

/* Text in front of each record: a column or field of this name. */
typedef struct {
    const char *name;
    const char *value;
    bool quoted; /* in JSON */
} front;

/* A JSON value with something as its first field; of a blank line, which is a record too, that
 * alone. n counts the terminator, if there is one. */
static void put_json_behind(stream_writer *w, const unsigned char *p, size_t n, const front *f,
                            bool ended) {
    size_t end = n - ended, start = 0; /* of the value, white space aside */
    while (start < end && strchr(" \t\r\n", p[start]) && p[start]) start++;
    while (end > start && strchr(" \t\r\n", p[end - 1]) && p[end - 1]) end--;
    put(w, p, start);
    put_text(w, "{\"");
    put_text(w, f->name);
    put_text(w, f->quoted ? "\":\"" : "\":");
    put_text(w, f->value);
    if (f->quoted) put_text(w, "\"");
    if (start < end && p[start] == '{') {
        size_t next = start + 1;
        while (next < end && strchr(" \t\r\n", p[next]) && p[next]) next++;
        if (next < end && p[next] != '}') put_text(w, ",");
        put(w, p + start + 1, end - start - 1);
    } else {
        if (start < end) put_text(w, ",\"value\":"); /* a blank line has none */
        put(w, p + start, end - start);
        put_text(w, "}");
    }
    put(w, p + end, n - end);
}

static void put_behind(stream_writer *w, const stream_batch *b, size_t i, const front *f) {
    assert(i < b->count);
    const unsigned char *p = b->base + b->offsets[i];
    size_t n = b->offsets[i + 1] - b->offsets[i], more = strlen(f->value);
    bool ended = !(b->open_end && i + 1 == b->count);
    bool header = b->status && b->status[i] == STREAM_HEADER;
    const char separator[] = {b->separator, 0};
    pay_terminator(w);
    switch (b->format) {
    case STREAM_JSON:
        put_json_behind(w, p, n, f, ended);
        break;
    case STREAM_LEN32: {
        uint32_t length = (uint32_t)(n - 4 + more);
        unsigned char head[4] = {(unsigned char)length, (unsigned char)(length >> 8),
                                 (unsigned char)(length >> 16), (unsigned char)(length >> 24)};
        put(w, head, sizeof head);
        put_text(w, f->value);
        put(w, p + 4, n - 4);
        break;
    }
    case STREAM_FIXED:
        put_text(w, f->value);
        put(w, p, n);
        break;
    default:
        put_text(w, header ? f->name : f->value);
        put_text(w, separator);
        put(w, p, n);
    }
    if (!ended) owe_terminator(w, b);
}

stream_status stream_write_marked(stream_writer *w, const stream_batch *b, const uint64_t *verdicts,
                                  const uint64_t *drop, stream_error *err) {
    put_byte_order_mark(w, b);
    for (size_t i = 0; i < b->count; i++) {
        const front mark = {"verdict", bit(verdicts, i) ? "S" : "N", true};
        if (!bit(drop, i)) put_behind(w, b, i, &mark);
    }
    return state(w, err);
}

stream_status stream_write_counted(stream_writer *w, const stream_batch *b, const uint64_t *counts,
                                   stream_error *err) {
    char digits[24];
    const front count = {"count", digits, false};
    put_byte_order_mark(w, b);
    for (size_t i = 0; i < b->count; i++) {
        if (!counts[i]) continue;
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)counts[i]);
        put_behind(w, b, i, &count);
    }
    return state(w, err);
}

stream_status stream_write_verdicts(stream_writer *w, const stream_batch *b,
                                    const uint64_t *verdicts, const uint64_t *drop,
                                    stream_error *err) {
    bool nul = b->terminator_length == 1 && b->terminator[0] == 0;
    for (size_t i = 0; i < b->count; i++) {
        if (bit(drop, i) || (b->status && b->status[i] == STREAM_HEADER)) continue;
        const unsigned char line[2] = {bit(verdicts, i) ? 'S' : 'N', nul ? 0 : '\n'};
        put(w, line, 2);
    }
    return state(w, err);
}

/* ------------------------------------------------------------------------
 * Flushing and marks
 * ------------------------------------------------------------------------ */

stream_status stream_writer_flush(stream_writer *w, stream_error *err) {
    pass_on(w, PUSH);
    return state(w, err);
}

stream_status stream_writer_mark(stream_writer *w, bool sync, stream_mark *mark,
                                 stream_error *err) {
    pass_on(w, END);
    if (sync && !w->status && fdatasync(w->fd) != 0 && errno != EINVAL && errno != EROFS)
        write_failed(w, errno);
    if (mark) {
        memset(mark, 0, sizeof *mark);
        mark->offset = atomic_load(&w->offset);
        mark->open_end = w->open_end;
        mark->terminator_length = w->terminator_length;
        memcpy(mark->terminator, w->terminator, sizeof mark->terminator);
    }
    return state(w, err);
}

uint64_t stream_writer_offset(const stream_writer *w) {
    return atomic_load_explicit(&w->offset, memory_order_relaxed);
}

/* ------------------------------------------------------------------------
 * Opening and closing
 * ------------------------------------------------------------------------ */

stream_writer_options stream_writer_options_defaults(void) {
    return (stream_writer_options){.fd = STDOUT_FILENO, .compression = STREAM_PLAIN};
}

static bool is_path(const stream_writer_options *o) { return o->path && strcmp(o->path, "-") != 0; }

/* Would emptying or continuing the output destroy what is yet to be read? */
static stream_status check_inputs(const stream_writer *w, const stream_writer_options *o,
                                  const struct stat *out, stream_error *err) {
    for (size_t i = 0; o->inputs && i < o->input_count; i++) {
        struct stat in;
        bool from_stdin = !strcmp(o->inputs[i], "-");
        if ((from_stdin ? fstat(STDIN_FILENO, &in) : stat(o->inputs[i], &in)) != 0) continue;
        if (S_ISREG(in.st_mode) && in.st_dev == out->st_dev && in.st_ino == out->st_ino)
            return stream__fail(err, 0, "%s is also read: give another file to write to", w->name);
    }
    return STREAM_OK;
}

/* Cut or continue the file as the options say; *offset is where we are. */
static stream_status place(stream_writer *w, const stream_writer_options *o, stream_error *err) {
    struct stat st;
    if (fstat(w->fd, &st) != 0)
        return stream__fail(err, errno, "cannot write %s: %s", w->name, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return stream__fail(err, EISDIR, "cannot write %s: it is a directory; name a file",
                            w->name);
    bool regular = S_ISREG(st.st_mode);
    if (regular && check_inputs(w, o, &st, err)) return STREAM_FAILED;
    if (o->mark) {
        if (!regular || (uint64_t)st.st_size < o->mark->offset)
            return stream__fail(err, 0, "cannot resume in %s: %s", w->name,
                                regular ? "it is shorter than when it was left"
                                        : "it is not a file");
        w->open_end = o->mark->open_end;
        w->terminator_length = o->mark->terminator_length;
        memcpy(w->terminator, o->mark->terminator, sizeof w->terminator);
    }
    if (!regular) return STREAM_OK;
    off_t at = o->mark ? (off_t)o->mark->offset : o->append ? st.st_size : 0;
    if (!is_path(o) && !o->mark) { /* a descriptor stays where the shell has put it */
        at = lseek(w->fd, 0, SEEK_CUR);
        if (fcntl(w->fd, F_GETFL) & O_APPEND) at = st.st_size;
        atomic_store(&w->offset, at > 0 ? (uint64_t)at : 0);
        return STREAM_OK;
    }
    if (ftruncate(w->fd, at) != 0 || lseek(w->fd, at, SEEK_SET) < 0)
        return stream__fail(err, errno, "cannot write %s: %s", w->name, strerror(errno));
    atomic_store(&w->offset, (uint64_t)at);
    return STREAM_OK;
}

static stream_status start_compressor(stream_writer *w, int level, stream_error *err) {
    if (w->compression == STREAM_PLAIN) return STREAM_OK;
    w->packed = malloc(PACKED_SIZE);
    if (!w->packed) return stream__no_memory(err);
    if (w->compression == STREAM_GZIP) {
        if (level < 0 || level > 9)
            return stream__fail(err, 0, "gzip has no level %d: choose 1 to 9", level);
        int result =
            deflateInit2(&w->gzip, level ? level : 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        return result == Z_OK ? STREAM_OK : stream__no_memory(err);
    }
    if (level < 0 || level > ZSTD_maxCLevel())
        return stream__fail(err, 0, "zstd has no level %d: choose 1 to %d", level,
                            ZSTD_maxCLevel());
    w->zstd = ZSTD_createCCtx();
    if (!w->zstd) return stream__no_memory(err);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level ? level : 3);
    ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
    return STREAM_OK;
}

static void release(stream_writer *w) {
    if (w->compression == STREAM_GZIP && w->gzip.state) deflateEnd(&w->gzip);
    ZSTD_freeCCtx(w->zstd);
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->lock);
    free(w->packed);
    free(w->buffer);
    free(w->other);
    free(w->name);
    free(w);
}

static stream_status make_buffers(stream_writer *w, const stream_writer_options *o,
                                  stream_error *err) {
    w->size = o->background ? BACKGROUND_BUFFER_SIZE : BUFFER_SIZE;
    if (o->buffer_size) w->size = o->buffer_size;
    if (w->size < 16) w->size = 16;
    size_t bytes = (w->size + STREAM_PAD + PAGE - 1) / PAGE * PAGE;
    const char *label = o->name ? o->name : is_path(o) ? o->path : NULL;
    size_t room = strlen(label ? label : "standard output") + 3;
    w->name = malloc(room);
    w->buffer = aligned_alloc(PAGE, bytes);
    if (o->background) w->other = aligned_alloc(PAGE, bytes);
    if (!w->name || !w->buffer || (o->background && !w->other)) return stream__no_memory(err);
    snprintf(w->name, room, label ? "'%s'" : "%s", label ? label : "standard output");
    return STREAM_OK;
}

stream_status stream_writer_open(stream_writer **out, const stream_writer_options *o,
                                 stream_error *err) {
    *out = NULL;
    stream_writer *w = calloc(1, sizeof *w);
    if (!w) return stream__no_memory(err);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
    w->compression = o->compression;
    w->fd = o->fd;
    stream_status status = make_buffers(w, o, err);
    if (!status) status = start_compressor(w, o->level, err);
    if (!status && is_path(o)) {
        w->fd = open(o->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        w->owned = w->fd >= 0;
        if (w->fd < 0)
            status = stream__fail(err, errno, "cannot write %s: %s", w->name, strerror(errno));
    }
    if (!status) status = place(w, o, err);
    if (!status && o->background) {
        w->background = start_thread(w);
        if (!w->background) {
            stream__fail(err, errno, "cannot start a thread");
            status = stream__because(err, STREAM_CAUSE_THREAD);
        }
    }
    if (status) {
        if (w->owned) close(w->fd);
        release(w);
        return STREAM_FAILED;
    }
    *out = w;
    return STREAM_OK;
}

stream_status stream_writer_close(stream_writer *w, stream_error *err) {
    if (!w) return STREAM_OK;
    wait_until_idle(w);
    if (atomic_load(&w->offset) == 0 && w->used == 0) w->member_open = true; /* at least one */
    pass_on(w, END);
    if (w->background) {
        pthread_mutex_lock(&w->lock);
        w->stopping = true;
        pthread_cond_broadcast(&w->change);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        w->background = false;
    }
    if (w->owned && close(w->fd) != 0 && !w->status && errno != EINTR) write_failed(w, errno);
    stream_status status = state(w, err);
    release(w);
    return status;
}
