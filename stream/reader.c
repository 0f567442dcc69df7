/* reader.c - the pipeline: which thread does which block when.
 *
 * Blocks form a ring; block number s lives in slot s % slots. Making one takes
 * two steps: framing, which must be done in order and so by one thread at a time
 * (whoever holds `framing`), and keying, which may be done by all at once. A
 * thread frames a block, lets go, and keys the same block while its bytes are
 * still in its cache. The caller takes finished blocks in order.
 *
 *      slots        ... | taken | ready | keying | framing | free ...
 *      numbers          taken-1   taken             framed
 *
 * There may be several takers (options.consumers), to whom blocks are dealt in turn. Each
 * makes the next block while its own is not ready; that mostly is its own.
 *
 * With one thread there is one slot, and stream_next() does both steps itself.
 * With more, the caller lends a hand whenever the block it wants is not ready:
 * with formats that cost much to read (JSON) it so does its share. It does not
 * frame from pipes, where it might wait while a finished block lies ready.
 *
 * The caller may have work of its own that has parts (stream_share()). A thread that has ended its
 * block does some of them before it makes another.
 *
 * A failure is the outcome of a block like any other, so it comes after every
 * record that precedes it, whoever meets it first.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stream_internal.h"

enum {
    /* Bytes of a block. Measured: with one thread it then stays in the second-level cache; with
     * many threads more would only take memory. */
    BLOCK_SIZE = 256 * 1024,
    /* Bytes of a block with two or three threads. Measured: they wake each other less often. */
    FEW_THREADS_BLOCK_SIZE = 512 * 1024,
    FEW_THREADS = 3,
    RECORDS_PER_BLOCK = 16384, /* records that a block has room for at first */
    LEAST_BLOCK = 16,          /* bytes of a block that a test may ask for */
    MOST_SLOTS = 12,           /* blocks under way, whatever the number of threads */
    MOST_THREADS = 8           /* one thread at a time finds record ends, and feeds 8 at most */
};

/* One that takes blocks. */
typedef struct {
    uint64_t next; /* the number of the block that it takes next */
    bool holding;  /* it has the one before that */
    stream_keyer keyer;
} taker;

/* Work of the caller's in parts. It lives until nobody is at it. */
typedef struct {
    void (*part)(void *work, size_t i);
    void *work;
    size_t count;
    _Atomic size_t next; /* part that nobody does yet; or count and more */
    unsigned at_it;      /* threads besides the caller; guarded by the reader's lock */
} shared_work;

struct stream_reader {
    stream_options options;
    key_plan plan;
    stream_framer framer;
    source_control control;
    const char **files;
    size_t file_count;
    uint64_t raw_total;
    bool threaded;
    bool all_regular;    /* no file ever makes a reader wait */
    stream_wrong *wrong; /* room for those of a feed's messages that are no records */

    stream_block *blocks;
    size_t slots;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;  /* a slot is free, or nobody frames any more */
    pthread_cond_t news;  /* a block is ready, or the input has begun to wait */
    uint64_t framed;      /* the number of the next block to frame */
    bool framing;         /* somebody does */
    bool finished;        /* the last block has been framed */
    bool waits;           /* framing waits for input */
    bool dismissed;       /* other consumers than the first get STREAM_END */
    pthread_t *threads;
    size_t wanted, thread_count; /* besides the consumers */
    taker takers[STREAM_CONSUMERS_MOST];
    unsigned taker_count;
    shared_work *shared; /* or NULL */

    _Atomic uint64_t records, bytes;
};

/* ------------------------------------------------------------------------
 * Making blocks
 * ------------------------------------------------------------------------ */

/* The second step. It can only fail for want of memory. */
static void key_block(stream_block *block, stream_keyer *keyer) {
    block->no_memory = block->outcome == STREAM_BATCH && !stream__keys(keyer, block);
    if (block->no_memory) block->outcome = STREAM_FAILED;
}

/* The oldest block that a taker is not done with. */
static uint64_t oldest_of(const stream_reader *r, const taker *t) {
    return t->holding ? t->next - r->taker_count : t->next;
}

/* Slots that are not free: from the oldest block of all on. */
static uint64_t busy_slots(const stream_reader *r) {
    uint64_t first = r->framed;
    for (unsigned i = 0; i < r->taker_count; i++) {
        const taker *t = &r->takers[i];
        bool gone = r->dismissed && i > 0 && !t->holding;
        if (!gone && oldest_of(r, t) < first) first = oldest_of(r, t);
    }
    return r->framed - first;
}

/* May a block be framed now? */
static bool can_frame(const stream_reader *r) {
    return !r->framing && !r->finished && busy_slots(r) < r->slots;
}

/* Make the next block; the lock is held on entry and exit, and not between. */
static void make_block(stream_reader *r, stream_keyer *keyer) {
    assert(can_frame(r));
    stream_block *block = &r->blocks[r->framed++ % r->slots];
    block->ready = false;
    r->framing = true;
    pthread_mutex_unlock(&r->lock);
    block->outcome = stream__frame(&r->framer, block, -1);
    pthread_mutex_lock(&r->lock);
    r->framing = false;
    if (block->outcome != STREAM_BATCH) r->finished = true;
    pthread_cond_signal(&r->work);
    if (r->taker_count > 1) pthread_cond_broadcast(&r->news); /* another may frame */
    pthread_mutex_unlock(&r->lock);
    key_block(block, keyer);
    pthread_mutex_lock(&r->lock);
    block->ready = true;
    pthread_cond_broadcast(&r->news);
}

static void do_parts(shared_work *shared) {
    for (size_t i; (i = atomic_fetch_add(&shared->next, 1)) < shared->count;)
        shared->part(shared->work, i);
}

/* Are there parts that nobody does yet? */
static bool can_help(const stream_reader *r) {
    return r->shared && atomic_load(&r->shared->next) < r->shared->count;
}

/* Do some of the parts; the lock is held on entry and exit, and not between. */
static void help(stream_reader *r) {
    shared_work *shared = r->shared;
    shared->at_it++;
    pthread_mutex_unlock(&r->lock);
    do_parts(shared);
    pthread_mutex_lock(&r->lock);
    if (!--shared->at_it) pthread_cond_broadcast(&r->news);
}

static void *worker(void *context) {
    stream_reader *r = context;
    stream_keyer keyer;
    bool able = stream__keyer_init(&keyer, &r->plan);
    pthread_mutex_lock(&r->lock);
    while (able && !atomic_load(&r->control.stopping) && !r->finished) {
        if (can_help(r)) help(r);
        else if (can_frame(r)) make_block(r, &keyer);
        else pthread_cond_wait(&r->work, &r->lock);
    }
    pthread_cond_broadcast(&r->work); /* the others are to see that it is over */
    pthread_mutex_unlock(&r->lock);
    stream__keyer_release(&keyer);
    return NULL;
}

/* Called by the source, before and after it waits for input. */
static void on_waiting(void *context, bool waits) {
    stream_reader *r = context;
    pthread_mutex_lock(&r->lock);
    r->waits = waits;
    if (waits) pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
}

/* Called by the source when stream_interrupt() has woken it. */
static void on_attention(void *context) {
    stream_reader *r = context;
    pthread_mutex_lock(&r->lock);
    pthread_cond_broadcast(&r->news);
    pthread_mutex_unlock(&r->lock);
}

/* ------------------------------------------------------------------------
 * Taking them
 * ------------------------------------------------------------------------ */

/* Hand out a finished block, or the end or error that stands in its place. */
static stream_status deliver(stream_reader *r, stream_block *block, const stream_batch **batch,
                             stream_error *err) {
    if (block->outcome == STREAM_BATCH) {
        assert(block->count && block->ends[block->count] >= block->ends[0]);
        *batch = &block->batch;
        uint32_t bytes = block->ends[block->count] - block->ends[0];
        atomic_fetch_add_explicit(&r->records, block->count - block->header, memory_order_relaxed);
        atomic_fetch_add_explicit(&r->bytes, bytes, memory_order_relaxed);
        return STREAM_BATCH;
    }
    if (block->outcome == STREAM_FAILED) {
        if (block->no_memory) stream__no_memory(err);
        else if (err) *err = r->framer.failure;
    }
    return block->outcome;
}

static struct timespec deadline_after(int timeout_ms) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += timeout_ms / 1000;
    t.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

/* The block that a taker waits for: its next, or the last of all, which says how it ended. */
static stream_block *awaited(const stream_reader *r, const taker *t) {
    bool over = r->finished && t->next >= r->framed;
    return &r->blocks[(over ? r->framed - 1 : t->next) % r->slots];
}

static bool is_ready(const stream_reader *r, const taker *t) {
    return (t->next < r->framed || r->finished) && awaited(r, t)->ready;
}

/* Wait until there is something for a taker; help meanwhile. The lock is held. */
static stream_status await(stream_reader *r, taker *t, int timeout_ms) {
    struct timespec deadline = {0};
    bool first = t == r->takers;
    if (timeout_ms > 0) deadline = deadline_after(timeout_ms);
    while (!is_ready(r, t)) {
        if (!first && r->dismissed) return STREAM_END;
        if (first && atomic_exchange(&r->control.interrupted, false)) return STREAM_INTERRUPTED;
        if (r->all_regular && can_frame(r)) {
            make_block(r, &t->keyer);
        } else if (timeout_ms < 0 || !r->waits) {
            pthread_cond_wait(&r->news, &r->lock);
        } else if (timeout_ms == 0 ||
                   (pthread_cond_timedwait(&r->news, &r->lock, &deadline) == ETIMEDOUT &&
                    !is_ready(r, t))) {
            return STREAM_IDLE;
        }
    }
    return STREAM_OK;
}

/* Waking a thread costs more than a block: let several slots become free first. */
static void give_back(stream_reader *r, taker *t) {
    if (!t->holding) return;
    t->holding = false;
    assert(t->next >= r->taker_count);
    if (busy_slots(r) > r->slots / 2) return;
    pthread_cond_signal(&r->work);
    if (r->taker_count > 1) pthread_cond_broadcast(&r->news);
}

static stream_status next_threaded(stream_reader *r, taker *t, int timeout_ms,
                                   const stream_batch **batch, stream_error *err) {
    pthread_mutex_lock(&r->lock);
    give_back(r, t);
    bool gone = r->dismissed && t != r->takers;
    stream_status status = gone ? STREAM_END : await(r, t, timeout_ms);
    stream_block *block = awaited(r, t);
    if (status == STREAM_OK && block->outcome == STREAM_BATCH) {
        t->next += r->taker_count;
        t->holding = true;
    }
    pthread_mutex_unlock(&r->lock);
    return status == STREAM_OK ? deliver(r, block, batch, err) : status;
}

static stream_status next_alone(stream_reader *r, int timeout_ms, const stream_batch **batch,
                                stream_error *err) {
    stream_block *block = &r->blocks[0];
    if (!r->finished) {
        do { /* a wake-up may be left over from a call that was answered already */
            block->outcome = r->options.feed ? stream__feed(&r->framer, block, r->wrong, timeout_ms)
                                             : stream__frame(&r->framer, block, timeout_ms);
        } while (block->outcome == STREAM_INTERRUPTED &&
                 !atomic_exchange(&r->control.interrupted, false));
        key_block(block, &r->takers[0].keyer);
        r->finished = block->outcome == STREAM_END || block->outcome == STREAM_FAILED;
    }
    return deliver(r, block, batch, err);
}

stream_status stream_take(stream_reader *r, unsigned consumer, int timeout_ms,
                          const stream_batch **batch, stream_error *err) {
    assert(consumer < r->taker_count || !r->threaded);
    *batch = NULL;
    if (!consumer && atomic_exchange(&r->control.interrupted, false)) return STREAM_INTERRUPTED;
    return r->threaded ? next_threaded(r, &r->takers[consumer], timeout_ms, batch, err)
                       : next_alone(r, timeout_ms, batch, err);
}

stream_status stream_next(stream_reader *r, int timeout_ms, const stream_batch **batch,
                          stream_error *err) {
    return stream_take(r, 0, timeout_ms, batch, err);
}

void stream_dismiss(stream_reader *r) {
    pthread_mutex_lock(&r->lock);
    r->dismissed = true;
    pthread_cond_broadcast(&r->news);
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
}

void stream_share(stream_reader *r, void (*part)(void *work, size_t i), void *work, size_t count) {
    shared_work shared = {.part = part, .work = work, .count = count};
    if (r->threaded) {
        pthread_mutex_lock(&r->lock);
        assert(!r->shared);
        r->shared = &shared; // cppcheck-suppress autoVariables -- until this function is over
        pthread_cond_broadcast(&r->work);
        pthread_mutex_unlock(&r->lock);
    }
    do_parts(&shared);
    if (!r->threaded) return;
    pthread_mutex_lock(&r->lock);
    r->shared = NULL;
    while (shared.at_it) pthread_cond_wait(&r->news, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/* ------------------------------------------------------------------------
 * Asking
 * ------------------------------------------------------------------------ */

static stream_cause cause_of(stream_reason reason, bool message) {
    switch (reason) {
    case REASON_NO_COUNT:
    case REASON_NOT_ISO:
    case REASON_NOT_CLF_TIME:
    case REASON_NOT_PATTERN:
        return STREAM_CAUSE_TIME;
    case REASON_TIME_IS_UNIX:
        return STREAM_CAUSE_TIME_UNIX;
    case REASON_TIME_IS_MS:
        return STREAM_CAUSE_TIME_MS;
    case REASON_TIME_IS_US:
        return STREAM_CAUSE_TIME_US;
    case REASON_TIME_IS_NS:
        return STREAM_CAUSE_TIME_NS;
    case REASON_TIME_IS_ISO:
        return STREAM_CAUSE_TIME_ISO;
    case REASON_TIME_IS_CLF:
        return STREAM_CAUSE_TIME_CLF;
    case REASON_MANY_VALUES:
        return STREAM_CAUSE_MANY_VALUES;
    case REASON_TOO_LONG:
        return message ? STREAM_CAUSE_LONG_MESSAGE : STREAM_CAUSE_LONG;
    default:
        return STREAM_CAUSE_OTHER;
    }
}

void stream_record_error(const stream_reader *r, const stream_batch *batch, size_t i,
                         stream_error *err) {
    assert(i < batch->count);
    static const char *const texts[] = {
#define STREAM_REASON_TEXT(name, status, text) text,
        STREAM_REASON_LIST(STREAM_REASON_TEXT)
#undef STREAM_REASON_TEXT
    };
    const stream_block *block = NULL;
    for (size_t s = 0; s < r->slots; s++)
        if (&r->blocks[s].batch == batch) block = &r->blocks[s];
    bool marked = block && batch->status && batch->status[i] != STREAM_RECORD_OK;
    stream_reason reason = marked ? (stream_reason)block->reason[i] : REASON_NONE;
    uint64_t record = batch->first_record + i;
    uint64_t offset = batch->first_offset + (batch->offsets[i] - batch->offsets[0]);
    uint64_t where = offset + (marked ? block->where[i] : 0);
    char place[40] = "";
    if (where != offset) snprintf(place, sizeof place, " (byte %llu)", (unsigned long long)where);
    if (r->options.feed) {
        char name[64];
        if (*place) snprintf(place, sizeof place, " (byte %u)", block->where[i]);
        r->options.feed->word(r->options.feed->context, i, name, sizeof name);
        stream__fail(err, 0, "message %s of " STREAM_NAME_FORMAT ": %s%s", name, batch->file,
                     texts[reason], place);
    } else
        stream__fail(err, 0, "record %llu of " STREAM_NAME_FORMAT " (at byte %llu): %s%s",
                     (unsigned long long)record, stream__label(batch->file),
                     (unsigned long long)offset, texts[reason], place);
    stream__because(err, cause_of(reason, r->options.feed != NULL));
    err->record = record;
    err->offset = where;
    snprintf(err->file, sizeof err->file, "%s", batch->file);
}

void stream_interrupt(stream_reader *r) {
    int saved = errno;
    uint64_t one = 1;
    atomic_store(&r->control.interrupted, true);
    ssize_t n = write(r->control.wake_fd, &one, sizeof one);
    (void)n;
    errno = saved;
}

void stream_get_progress(const stream_reader *r, stream_progress *p) {
    p->raw_bytes = atomic_load_explicit(&r->control.raw_bytes, memory_order_relaxed);
    p->raw_total = r->raw_total;
    p->records = atomic_load_explicit(&r->records, memory_order_relaxed);
    p->bytes = atomic_load_explicit(&r->bytes, memory_order_relaxed);
    p->held = atomic_load_explicit(&r->framer.held, memory_order_relaxed);
}

/* ------------------------------------------------------------------------
 * Opening and closing
 * ------------------------------------------------------------------------ */

/* Every file must be there now, though it is opened only when its turn comes. */
static stream_status check_files(stream_reader *r, stream_error *err) {
    bool sized = true;
    if (r->options.feed) return stream__feed_check(&r->options, err);
    for (size_t i = 0; i < r->file_count; i++) {
        struct stat st;
        const char *name = r->files[i];
        bool in = !strcmp(name, "-");
        if ((in ? fstat(STDIN_FILENO, &st) : stat(name, &st)) != 0 ||
            (!in && access(name, R_OK) != 0)) {
            int e = errno;
            stream__fail(err, e, "cannot read " STREAM_NAME_FORMAT ": %s", name, strerror(e));
            snprintf(err->file, sizeof err->file, "%s", name);
            return STREAM_FAILED;
        }
        if (S_ISDIR(st.st_mode)) {
            stream__fail(err, EISDIR,
                         "cannot read " STREAM_NAME_FORMAT
                         ": it is a directory; name the files in it",
                         name);
            snprintf(err->file, sizeof err->file, "%s", name);
            return STREAM_FAILED;
        }
        sized = sized && S_ISREG(st.st_mode);
        r->raw_total += (uint64_t)st.st_size;
    }
    r->all_regular = sized;
    if (!sized) r->raw_total = 0;
    return STREAM_OK;
}

static stream_status make_slots(stream_reader *r, stream_error *err) {
    unsigned threads = r->options.threads < 1 || r->options.feed ? 1 : r->options.threads;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    r->threaded = r->control.threaded = threads > 1;
    size_t size = r->options.block_size;
    if (!size) size = r->threaded && threads <= FEW_THREADS ? FEW_THREADS_BLOCK_SIZE : BLOCK_SIZE;
    if (size < LEAST_BLOCK) size = LEAST_BLOCK;
    size_t records = size >= BLOCK_SIZE / 4 ? RECORDS_PER_BLOCK : 128;
    if (r->options.feed) records = STREAM_FEED_MOST;
    r->thread_count = 0;
    r->slots = threads == 1 ? 1 : 2 * threads + 2;
    if (r->slots > MOST_SLOTS) r->slots = MOST_SLOTS;
    r->taker_count = r->options.consumers < 1 ? 1 : r->options.consumers;
    if (r->taker_count > threads) r->taker_count = threads;
    r->wanted = r->all_regular ? threads - r->taker_count : threads - 1;
    r->blocks = calloc(r->slots, sizeof *r->blocks);
    r->threads = calloc(threads, sizeof *r->threads);
    if (r->options.feed) r->wrong = calloc(records, sizeof *r->wrong);
    if (!r->blocks || !r->threads || (r->options.feed && !r->wrong)) return stream__no_memory(err);
    for (size_t i = 0; i < r->slots; i++)
        if (!stream__block_init(&r->blocks[i], size, records, &r->plan))
            return stream__no_memory(err);
    for (unsigned i = 0; i < r->taker_count; i++) r->takers[i].next = i;
    for (unsigned i = 0; i < r->taker_count; i++)
        if (!stream__keyer_init(&r->takers[i].keyer, &r->plan)) return stream__no_memory(err);
    return stream__framer_init(&r->framer, &r->options, &r->plan, r->files, r->file_count,
                               &r->control, size, records, err);
}

static stream_status start_threads(stream_reader *r, stream_error *err) {
    if (!r->threaded) return STREAM_OK;
    r->control.waiting = on_waiting;
    r->control.attention = on_attention;
    r->control.context = r;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = 0;
    while (r->thread_count < r->wanted && !failed) {
        failed = pthread_create(&r->threads[r->thread_count], NULL, worker, r);
        if (!failed) r->thread_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) stream__fail(err, failed, "cannot start a thread: %s", strerror(failed));
    return failed ? stream__because(err, STREAM_CAUSE_THREAD) : STREAM_OK;
}

/* Options, the texts they point to parsed, and the list of files. */
static stream_status copy_options(stream_reader *r, const stream_options *options,
                                  const char *const *files, size_t file_count, stream_error *err) {
    static const char *const standard_input[] = {"-"};
    r->options = *options;
    if (options->feed) {
        files = &options->feed->name;
        file_count = 1;
    }
    if (file_count == 0) {
        files = standard_input;
        file_count = 1;
    }
    r->files = malloc(file_count * sizeof *r->files);
    if (!r->files) return stream__no_memory(err);
    memcpy(r->files, files, file_count * sizeof *r->files);
    r->file_count = file_count;
    if (stream__plan_init(&r->plan, options, err)) return STREAM_FAILED;
    r->options.key = r->options.time_field = r->options.time_format = NULL; /* the caller's */
    return STREAM_OK;
}

stream_status stream_open(stream_reader **out, const stream_options *options,
                          const char *const *files, size_t file_count, stream_error *err) {
    *out = NULL;
    stream_reader *r = calloc(1, sizeof *r);
    if (!r) return stream__no_memory(err);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->work, NULL);
    pthread_cond_init(&r->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    r->control.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stream_status status = STREAM_OK;
    if (r->control.wake_fd < 0)
        status = stream__fail(err, errno, "cannot make an eventfd: %s", strerror(errno));
    if (!status) status = copy_options(r, options, files, file_count, err);
    if (!status) status = check_files(r, err);
    if (!status) status = make_slots(r, err);
    if (!status) status = start_threads(r, err);
    if (status) {
        stream_close(r);
        return STREAM_FAILED;
    }
    *out = r;
    return STREAM_OK;
}

void stream_close(stream_reader *r) {
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->control.stopping, true);
    pthread_cond_broadcast(&r->work);
    pthread_mutex_unlock(&r->lock);
    if (r->control.wake_fd >= 0) stream_interrupt(r);
    for (size_t i = 0; i < r->thread_count; i++) pthread_join(r->threads[i], NULL);
    stream__framer_release(&r->framer);
    for (unsigned i = 0; i < r->taker_count; i++) stream__keyer_release(&r->takers[i].keyer);
    for (size_t i = 0; i < r->slots && r->blocks; i++) stream__block_release(&r->blocks[i]);
    stream__plan_release(&r->plan);
    if (r->control.wake_fd >= 0) close(r->control.wake_fd);
    pthread_cond_destroy(&r->news);
    pthread_cond_destroy(&r->work);
    pthread_mutex_destroy(&r->lock);
    free(r->blocks);
    free(r->threads);
    free(r->wrong);
    free(r->files);
    free(r);
}
