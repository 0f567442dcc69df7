/* source.c - the content of one file, pipe or terminal, decompressed.
 *
 * The first bytes say what it is: gzip (1f 8b 08), zstd (28 b5 2f fd, or the
 * magic of a skippable frame), anything else is taken as it stands and read
 * straight into the caller's buffer. Several gzip members or zstd frames in a
 * row are one content, as for gunzip and unzstd; so are zeros that pad the end
 * of a gzip file. Content that stops in the middle of a member is an error, not
 * an end. A zstd frame may ask for a window of up to 128M, which is the
 * decompressor's own limit. xz, bzip2 and lz4 are read by unpack.c, or refused
 * where their library is not there: as lines they would make no sense.
 *
 * With several threads a regular file that is compressed is decompressed by a thread
 * of its own, RING_BUFFERS buffers ahead of the reader, so that the slower of the
 * two decides how long it takes. Its failure comes after all bytes before it.
 *
 * A file that is not regular may have nothing to say for a while. Before each
 * read of such a one we poll it together with an eventfd through which the
 * rest of the program can ask for attention, so that nobody ever sits in a read
 * that cannot be left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "stream_internal.h"

enum {
    INPUT_SIZE = 128 * 1024, /* bytes of a compressed file that are read at once */
    RING_BUFFERS = 4,        /* between the decompressing thread and the reader */
    RING_SIZE = 256 * 1024   /* bytes of one of these buffers */
};

/* A thread that decompresses ahead. `made` and `taken` count buffers; one with a status other than
 * SOURCE_DATA is the last. */
typedef struct {
    pthread_t thread;
    pthread_mutex_t lock; /* guards made, taken and stopping */
    pthread_cond_t change;
    uint64_t made, taken;
    bool stopping;
    unsigned char *bytes[RING_BUFFERS];
    size_t lengths[RING_BUFFERS];
    source_status status; /* of the last */
    stream_error error;
    size_t used; /* of the buffer that is being taken */
} source_ring;

struct stream_source {
    const char *name;
    int fd;
    bool regular, plain;
    bool raw_eof;
    bool between; /* at the end of a member or frame: content may end here */
    source_kind kind;
    source_control *control;
    unsigned char *in; /* raw bytes: the first few, or what is to be decompressed */
    size_t in_start, in_end;
    z_stream gzip;
    ZSTD_DStream *zstd;
    stream_unpacker *unpacker;
    source_ring *ring; /* NULL: the reader decompresses */
};

static bool is_stdin(const char *name) { return !strcmp(name, "-"); }

static source_status fail(stream_source *s, stream_error *err, int os_error, const char *what,
                          const char *advice) {
    stream__fail(err, os_error, "cannot read " STREAM_NAME_FORMAT ": %s%s%s",
                 stream__label(s->name), what, *advice ? "; " : "", advice);
    strncpy(err->file, s->name, sizeof err->file - 1);
    return SOURCE_FAILED;
}

/* ------------------------------------------------------------------------
 * Raw bytes
 * ------------------------------------------------------------------------ */

/* Wait until there is something to read. */
static source_status wait_readable(stream_source *s, int timeout_ms) {
    source_control *c = s->control;
    struct pollfd fds[2] = {{.fd = s->fd, .events = POLLIN}, {.fd = c->wake_fd, .events = POLLIN}};
    int n = poll(fds, 2, 0);
    if (n == 0 && timeout_ms != 0) {
        if (c->waiting) c->waiting(c->context, true);
        n = poll(fds, 2, timeout_ms);
        if (c->waiting) c->waiting(c->context, false);
    }
    if (n < 0)
        return errno == EINTR && !atomic_load(&c->interrupted) ? SOURCE_AGAIN : SOURCE_INTERRUPTED;
    if (fds[1].revents) {
        uint64_t calls;
        while (read(c->wake_fd, &calls, sizeof calls) < 0 && errno == EINTR) {
        }
        return SOURCE_INTERRUPTED;
    }
    return n == 0 ? SOURCE_AGAIN : SOURCE_DATA;
}

static source_status wait_for_input(stream_source *s, int timeout_ms) {
    for (;;) {
        source_status status = wait_readable(s, timeout_ms);
        if (status == SOURCE_AGAIN && timeout_ms < 0) continue; /* a signal that is not for us */
        if (status != SOURCE_INTERRUPTED || !s->control->attention) return status;
        if (atomic_load(&s->control->stopping)) return status;
        s->control->attention(s->control->context);
    }
}

static source_status read_raw(stream_source *s, void *to, size_t room, int timeout_ms, size_t *got,
                              stream_error *err) {
    for (;;) {
        if (!s->regular) {
            source_status ready = wait_for_input(s, timeout_ms);
            if (ready != SOURCE_DATA) return ready;
        }
        ssize_t n = read(s->fd, to, room);
        if (n > 0) {
            *got = (size_t)n;
            atomic_fetch_add_explicit(&s->control->raw_bytes, *got, memory_order_relaxed);
            return SOURCE_DATA;
        }
        if (n == 0) {
            s->raw_eof = true;
            return SOURCE_EOF;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK) { /* somebody else emptied it */
            if (timeout_ms == 0) return SOURCE_AGAIN;
            continue;
        }
        return fail(s, err, errno, strerror(errno), "");
    }
}

/* More raw bytes into s->in. */
static source_status refill(stream_source *s, int timeout_ms, stream_error *err) {
    if (s->in_start) memmove(s->in, s->in + s->in_start, s->in_end - s->in_start);
    s->in_end -= s->in_start;
    s->in_start = 0;
    size_t got = 0;
    source_status status =
        read_raw(s, s->in + s->in_end, INPUT_SIZE - s->in_end, timeout_ms, &got, err);
    if (status == SOURCE_DATA) s->in_end += got;
    return status;
}

/* ------------------------------------------------------------------------
 * What kind it is
 * ------------------------------------------------------------------------ */

/* Does the beginning fit a magic? Bits of mask that are 0 may be anything. */
static bool fits(const stream_source *s, const char *magic, const char *mask, size_t length) {
    for (size_t i = 0; i < length && s->in_start + i < s->in_end; i++)
        if ((s->in[s->in_start + i] ^ (unsigned char)magic[i]) & (unsigned char)mask[i])
            return false;
    return true;
}

/* "BZh", a digit from 1 on, then the mark of the first block, or of the end if there is none. */
static bool fits_bzip2(const stream_source *s) {
    const char *mask = "\xff\xff\xff\xf0\xff\xff\xff\xff\xff\xff";
    size_t digit = s->in_start + 3;
    if (digit < s->in_end && (s->in[digit] < '1' || s->in[digit] > '9')) return false;
    return fits(s, "BZh0\x31\x41\x59\x26\x53\x59", mask, 10) ||
           fits(s, "BZh0\x17\x72\x45\x38\x50\x90", mask, 10);
}

static source_kind kind_of(const stream_source *s) {
    size_t n = s->in_end - s->in_start;
    if (n && fits(s, "\x1f\x8b\x08", "\xff\xff\xff", 3)) return n < 3 ? KIND_UNKNOWN : KIND_GZIP;
    if (n && (fits(s, "\x28\xb5\x2f\xfd", "\xff\xff\xff\xff", 4) ||
              fits(s, "\x50\x2a\x4d\x18", "\xf0\xff\xff\xff", 4)))
        return n < 4 ? KIND_UNKNOWN : KIND_ZSTD;
    if (n && fits(s, "\xfd\x37zXZ\0", "\xff\xff\xff\xff\xff\xff", 6))
        return n < 6 ? KIND_UNKNOWN : KIND_XZ;
    if (n && fits(s, "\x04\x22\x4d\x18", "\xff\xff\xff\xff", 4))
        return n < 4 ? KIND_UNKNOWN : KIND_LZ4;
    if (n && fits_bzip2(s)) return n < 10 ? KIND_UNKNOWN : KIND_BZIP2;
    return KIND_PLAIN;
}

static void start_ahead(stream_source *s);

static bool start_decompressor(stream_source *s) {
    s->between = false;
    if (s->kind == KIND_GZIP) return inflateInit2(&s->gzip, 15 + 16) == Z_OK;
    if (s->kind == KIND_ZSTD) return (s->zstd = ZSTD_createDStream()) != NULL;
    if (s->kind != KIND_PLAIN) return (s->unpacker = stream__unpack_new(s->kind)) != NULL;
    return true;
}

static const char *kind_name(source_kind kind) {
    static const char *const names[] = {[KIND_GZIP] = "gzip",
                                        [KIND_ZSTD] = "zstd",
                                        [KIND_XZ] = "xz",
                                        [KIND_BZIP2] = "bzip2",
                                        [KIND_LZ4] = "lz4"};
    return names[kind];
}

static source_status refuse(stream_source *s, stream_error *err) {
    const char *format = kind_name(s->kind);
    char what[96], advice[64];
    snprintf(what, sizeof what, "it is compressed by %s, which this weir was built without",
             format);
    snprintf(advice, sizeof advice, "read it by '%s -dc%s | weir ...'", format,
             is_stdin(s->name) ? "" : " FILE");
    return fail(s, err, 0, what, advice);
}

static source_status find_kind(stream_source *s, int timeout_ms, stream_error *err) {
    while (s->in_end == 0 || (kind_of(s) == KIND_UNKNOWN && !s->raw_eof)) {
        source_status status = refill(s, timeout_ms, err);
        if (status == SOURCE_EOF) break;
        if (status != SOURCE_DATA) return status;
    }
    s->kind = kind_of(s);
    if (s->kind == KIND_UNKNOWN) s->kind = KIND_PLAIN; /* shorter than any magic */
    if (s->kind > KIND_ZSTD && !stream__can_unpack(s->kind)) {
        source_status refused = refuse(s, err);
        s->kind = KIND_PLAIN; /* nothing to release */
        return refused;
    }
    if (!start_decompressor(s)) {
        s->kind = KIND_PLAIN;
        return fail(s, err, ENOMEM, "out of memory", "");
    }
    if (s->kind != KIND_PLAIN && s->regular && s->control->threaded) start_ahead(s);
    return SOURCE_DATA;
}

/* ------------------------------------------------------------------------
 * Content
 * ------------------------------------------------------------------------ */

static source_status damaged(stream_source *s, stream_error *err, const char *what) {
    char text[160], advice[64];
    snprintf(text, sizeof text, "damaged %s data (%s)", kind_name(s->kind), what);
    snprintf(advice, sizeof advice, "check it with '%s -t'", kind_name(s->kind));
    return fail(s, err, 0, text, advice);
}

/* Zeros up to the end of the input are padding; anything else is not. */
static source_status gzip_padding(stream_source *s, int timeout_ms, stream_error *err) {
    for (;;) {
        for (; s->in_start < s->in_end; s->in_start++)
            if (s->in[s->in_start]) return damaged(s, err, "something follows its end");
        source_status status = refill(s, timeout_ms, err);
        if (status != SOURCE_DATA) return status;
    }
}

static source_status inflate_some(stream_source *s, unsigned char *to, size_t room, size_t *got,
                                  int timeout_ms, stream_error *err) {
    if (s->between) {
        if (s->in[s->in_start] == 0) return gzip_padding(s, timeout_ms, err);
        if (inflateReset(&s->gzip) != Z_OK) return damaged(s, err, "it cannot be continued");
        s->between = false;
    }
    s->gzip.next_in = s->in + s->in_start;
    s->gzip.avail_in = (unsigned)(s->in_end - s->in_start);
    s->gzip.next_out = to;
    s->gzip.avail_out = (unsigned)room;
    int result = inflate(&s->gzip, Z_NO_FLUSH);
    s->in_start = s->in_end - s->gzip.avail_in;
    *got = room - s->gzip.avail_out;
    if (result == Z_STREAM_END) s->between = true;
    if (result == Z_MEM_ERROR) return fail(s, err, ENOMEM, "out of memory", "");
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return damaged(s, err, s->gzip.msg ? s->gzip.msg : "it does not decompress");
    return SOURCE_DATA;
}

/* The window that a zstd frame asks for; 0 if none begins here. */
static uint64_t zstd_window(const unsigned char *frame, size_t length) {
    if (length < 6 || memcmp(frame, "\x28\xb5\x2f\xfd", 4) != 0) return 0;
    bool all_at_once = frame[4] & 0x20; /* the content is its own window */
    if (all_at_once) return ZSTD_getFrameContentSize(frame, length);
    uint64_t base = 1ull << (10 + (frame[5] >> 3));
    return base + base / 8 * (frame[5] & 7);
}

/* Sound, but not for us: zstd itself reads windows of up to 2G if it is told to. */
static source_status window_too_large(stream_source *s, stream_error *err) {
    uint64_t window = zstd_window(s->in + s->in_start, s->in_end - s->in_start);
    unsigned log = 31;
    char size[32], what[128], advice[128];
    if (window > 1ull << log) return damaged(s, err, "its window is out of range");
    while (window && 1ull << (log - 1) >= window) log--;
    snprintf(what, sizeof what, "its zstd frames need a window of %s, more than 128M",
             window ? weir_print_size(size, window) : "up to 2G");
    snprintf(advice, sizeof advice, "read it by 'zstd -dc --long=%u%s | weir ...'", log,
             is_stdin(s->name) ? "" : " FILE");
    return fail(s, err, 0, what, advice);
}

static source_status unzstd_some(stream_source *s, unsigned char *to, size_t room, size_t *got,
                                 stream_error *err) {
    ZSTD_inBuffer in = {s->in + s->in_start, s->in_end - s->in_start, 0};
    ZSTD_outBuffer out = {to, room, 0};
    size_t result = ZSTD_decompressStream(s->zstd, &out, &in);
    s->in_start += in.pos;
    *got = out.pos;
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return window_too_large(s, err);
    if (ZSTD_isError(result)) return damaged(s, err, ZSTD_getErrorName(result));
    s->between = result == 0;
    return SOURCE_DATA;
}

static source_status unpack_some(stream_source *s, unsigned char *to, size_t room, size_t *got,
                                 stream_error *err) {
    *got = 0;
    while (s->kind == KIND_XZ && s->between && s->in_start < s->in_end && !s->in[s->in_start])
        s->in_start++; /* xz files may be padded with zeros */
    if (s->between && s->in_start == s->in_end) return SOURCE_DATA;
    unpack_step step = {s->in + s->in_start, s->in_end - s->in_start, to, room};
    const char *wrong = stream__unpack(s->unpacker, &step, &s->between);
    s->in_start = s->in_end - step.in_length;
    *got = room - step.out_length;
    if (!wrong) return SOURCE_DATA;
    if (!strcmp(wrong, UNPACK_NO_MEMORY)) return fail(s, err, ENOMEM, "out of memory", "");
    return damaged(s, err, wrong);
}

/* Decompressors may hold back output that did not fit, so they are asked once more when their
 * input has run out, before new input is waited for. */
static source_status decompress(stream_source *s, unsigned char *to, size_t room, int timeout_ms,
                                size_t *got, stream_error *err) {
    for (bool tried = false;; tried = true) {
        if (s->in_start < s->in_end || (!tried && !s->between)) {
            source_status status = s->kind == KIND_GZIP
                                       ? inflate_some(s, to, room, got, timeout_ms, err)
                                   : s->kind == KIND_ZSTD ? unzstd_some(s, to, room, got, err)
                                                          : unpack_some(s, to, room, got, err);
            if (status != SOURCE_DATA || *got) return status;
            if (s->in_start < s->in_end) continue;
        }
        source_status status = s->raw_eof ? SOURCE_EOF : refill(s, timeout_ms, err);
        if (status == SOURCE_EOF && !s->between) return damaged(s, err, "it ends too early");
        if (status != SOURCE_DATA) return status;
    }
}

/* ------------------------------------------------------------------------
 * Decompressing ahead
 * ------------------------------------------------------------------------ */

/* Fill a buffer; a status other than SOURCE_DATA comes with what was there before it. */
static source_status fill_ahead(stream_source *s, unsigned char *to, size_t *length,
                                stream_error *err) {
    source_status status = SOURCE_DATA;
    for (*length = 0; *length < RING_SIZE && status == SOURCE_DATA;) {
        size_t got = 0;
        status = decompress(s, to + *length, RING_SIZE - *length, -1, &got, err);
        *length += got;
    }
    return status;
}

static void *decompress_ahead(void *context) {
    stream_source *s = context;
    source_ring *r = s->ring;
    source_status status = SOURCE_DATA;
    pthread_mutex_lock(&r->lock);
    while (status == SOURCE_DATA) {
        while (r->made - r->taken == RING_BUFFERS && !r->stopping)
            pthread_cond_wait(&r->change, &r->lock);
        if (r->stopping) break;
        size_t slot = r->made % RING_BUFFERS;
        pthread_mutex_unlock(&r->lock);
        status = fill_ahead(s, r->bytes[slot], &r->lengths[slot], &r->error);
        pthread_mutex_lock(&r->lock);
        r->status = status;
        r->made++;
        pthread_cond_signal(&r->change);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void free_ring(source_ring *r) {
    for (int i = 0; i < RING_BUFFERS; i++) free(r->bytes[i]);
    pthread_cond_destroy(&r->change);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* Without memory or a thread the reader decompresses by itself. */
static void start_ahead(stream_source *s) {
    source_ring *r = calloc(1, sizeof *r);
    if (!r) return;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->change, NULL);
    bool able = true;
    for (int i = 0; i < RING_BUFFERS; i++) able &= (r->bytes[i] = malloc(RING_SIZE)) != NULL;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->ring = r;
    if (!able || pthread_create(&r->thread, NULL, decompress_ahead, s) != 0) {
        s->ring = NULL;
        free_ring(r);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_ahead(stream_source *s) {
    source_ring *r = s->ring;
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    free_ring(r);
}

static source_status take_ahead(stream_source *s, unsigned char *to, size_t room, size_t *got,
                                stream_error *err) {
    source_ring *r = s->ring;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (r->made == r->taken && r->status == SOURCE_DATA)
            pthread_cond_wait(&r->change, &r->lock);
        bool over = r->made == r->taken;
        pthread_mutex_unlock(&r->lock);
        if (over) {
            if (r->status == SOURCE_FAILED && err) *err = r->error;
            return r->status;
        }
        size_t slot = r->taken % RING_BUFFERS, left = r->lengths[slot] - r->used;
        *got = left < room ? left : room;
        memcpy(to, r->bytes[slot] + r->used, *got);
        r->used += *got;
        if (*got) return SOURCE_DATA;
        r->used = 0; /* all of it is taken */
        pthread_mutex_lock(&r->lock);
        r->taken++;
        pthread_cond_signal(&r->change);
        pthread_mutex_unlock(&r->lock);
    }
}

source_status stream__source_read(stream_source *s, void *to, size_t room, int timeout_ms,
                                  size_t *got, stream_error *err) {
    if (s->kind == KIND_UNKNOWN) {
        source_status status = find_kind(s, timeout_ms, err);
        if (status != SOURCE_DATA) return status;
    }
    if (room > 1u << 30) room = 1u << 30; /* zlib counts in 32 bits */
    if (s->ring) return take_ahead(s, to, room, got, err);
    if (s->kind != KIND_PLAIN) return decompress(s, to, room, timeout_ms, got, err);
    if (s->in_start < s->in_end) { /* what was read to find the kind */
        size_t n = s->in_end - s->in_start;
        if (n > room) n = room;
        memcpy(to, s->in + s->in_start, n);
        s->in_start += n;
        *got = n;
        return SOURCE_DATA;
    }
    return s->raw_eof ? SOURCE_EOF : read_raw(s, to, room, timeout_ms, got, err);
}

/* A plain file is sought; the rest is read and thrown away. */
source_status stream__source_skip(stream_source *s, uint64_t offset, stream_error *err) {
    if (s->kind == KIND_UNKNOWN) {
        source_status status = find_kind(s, -1, err);
        if (status != SOURCE_DATA) return status;
    }
    struct stat st;
    if (s->kind == KIND_PLAIN && s->regular && fstat(s->fd, &st) == 0) {
        if ((uint64_t)st.st_size < offset) return SOURCE_EOF;
        if (lseek(s->fd, (off_t)offset, SEEK_SET) < 0)
            return fail(s, err, errno, strerror(errno), "");
        s->in_start = s->in_end = 0;
        s->raw_eof = false;
        return SOURCE_DATA;
    }
    unsigned char *sink = malloc(INPUT_SIZE);
    if (!sink) return fail(s, err, ENOMEM, "out of memory", "");
    source_status status = SOURCE_DATA;
    while (offset && status == SOURCE_DATA) {
        size_t got = 0;
        status =
            stream__source_read(s, sink, offset < INPUT_SIZE ? offset : INPUT_SIZE, -1, &got, err);
        if (status == SOURCE_DATA) offset -= got;
    }
    free(sink);
    return status;
}

/* ------------------------------------------------------------------------
 * Opening and closing
 * ------------------------------------------------------------------------ */

stream_status stream__source_open(stream_source **out, const char *name, bool plain,
                                  source_control *control, stream_error *err) {
    *out = NULL;
    stream_source *s = calloc(1, sizeof *s);
    if (!s) return stream__no_memory(err);
    s->name = name;
    s->plain = plain;
    s->control = control;
    s->kind = plain ? KIND_PLAIN : KIND_UNKNOWN;
    s->in = malloc(INPUT_SIZE);
    s->fd = is_stdin(name) ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (!s->in) {
        stream__no_memory(err);
        goto failed;
    }
    if (s->fd < 0 || fstat(s->fd, &st) != 0) {
        fail(s, err, errno, strerror(errno), "");
        goto failed;
    }
    if (S_ISDIR(st.st_mode)) {
        fail(s, err, EISDIR, "it is a directory", "name the files in it");
        goto failed;
    }
    s->regular = S_ISREG(st.st_mode);
    if (s->regular) posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    *out = s;
    return STREAM_OK;
failed:
    stream__source_close(s);
    return STREAM_FAILED;
}

bool stream__source_is_regular(const stream_source *s) { return s->regular; }

void stream__source_close(stream_source *s) {
    if (!s) return;
    stop_ahead(s);
    stream__unpack_free(s->unpacker);
    if (s->kind == KIND_GZIP) inflateEnd(&s->gzip);
    if (s->zstd) ZSTD_freeDStream(s->zstd);
    if (s->fd >= 0 && s->fd != STDIN_FILENO) close(s->fd);
    free(s->in);
    free(s);
}
