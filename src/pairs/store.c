/* store.c - streams of fingerprints kept whole: in memory, then on disk.
 *
 * Question   how often does each fingerprint occur in a stream that may be larger
 *            than the memory?
 * Idea       gather words in memory; when it is full sort them, count repeats and
 *            write the run to a file; at the end read all runs together in order.
 *            While everything fits there is no file, and one sort in memory takes
 *            the place of the thesis's hash index: it needs no room for empty
 *            slots, and leaves the stream in the order in which it is joined,
 *            searched and saved. Which is faster has not been measured; adding,
 *            sorting and answering take about a fifth of the time of qsort() on as many
 *            words (docs/pairs.md).
 * Memory     the arena given: per record one place in each stream, and room to
 *            sort the largest. Reading runs uses that same room for its buffers;
 *            when there are more runs than buffers they are first merged into one.
 * Disk       one file for all streams, without a name from the moment it is made
 *            (O_TMPFILE, or unlinked at once), so that nothing is left behind
 *            however the process ends.
 * Run        words ascending; a word that occurs once as it is, any other as the
 *            word twice and then its count. A stretch of memory and a stretch of
 *            the file look alike.
 * Cost       a sort of each word, and for what does not fit one write and one
 *            read, as long as the runs are fewer than memory / 160 KiB or so.
 * Source     thesis 5.2.4, step 2.
 */
#include "pairs/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "pairs/sort64.h"
#include "weir_text.h"

enum {
    BUFFER_WORDS = 4096, /* to read one run */
    LEAST_BUFFERS = 4,
    MOST_BUFFERS = 1024,
    LEAST_RECORDS = 16
};

/* Words of a stream in order, in memory or in the file. */
typedef struct {
    const uint64_t *memory; /* NULL: in the file */
    uint64_t offset;        /* there, in bytes */
    uint64_t words;
} run;

typedef struct {
    uint64_t *words; /* gathered, in the arena */
    size_t share;    /* super-values that a record adds */
    run *runs;
    size_t run_count, run_room;
} stream;

struct weir__store {
    uint64_t *arena;
    uint64_t arena_bytes;
    uint64_t *scratch; /* its end: to sort, to read runs */
    size_t scratch_words;
    size_t records, record_room; /* gathered, and how many can be */
    bool sorted;
    int fd; /* -1: none */
    uint64_t file_end;
    char folder[PATH_MAX];
    uint64_t *image; /* see store.h */
    uint64_t image_words;
    bool image_in_file;
    weir__store *next; /* taken over from others */
    size_t stream_count;
    stream streams[];
};

/* ---- making ---- */

static weir_status no_memory(weir_error *err) {
    return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

static void default_folder(char folder[PATH_MAX]) {
    const char *named = getenv("TMPDIR");
    snprintf(folder, PATH_MAX, "%s", named && *named ? named : "/tmp");
}

static weir_status divide_arena(weir__store *store, uint64_t memory, weir_error *err) {
    size_t all = 0, largest = 1;
    char need[32], given[32];
    for (size_t i = 0; i < store->stream_count; i++) {
        all += store->streams[i].share;
        if (store->streams[i].share > largest) largest = store->streams[i].share;
    }
    store->record_room = memory / 8 / (all + largest);
    if (store->record_room < LEAST_RECORDS ||
        store->record_room * largest < LEAST_BUFFERS * BUFFER_WORDS)
        return weir__fail(
            err, WEIR_ERR_RANGE, -1,
            "memory=%s is too small for %zu super-values a record; %s would do",
            weir_print_size(given, memory), all,
            weir_print_size(need, 64 * (LEAST_BUFFERS * BUFFER_WORDS / largest + LEAST_RECORDS) *
                                      (all + largest) / 8));
    store->arena_bytes = store->record_room * (all + largest) * 8;
    void *map;
    weir_status status = weir__map(&map, store->arena_bytes, err);
    if (status != WEIR_OK) return status;
    uint64_t *at = store->arena = map;
    for (size_t i = 0; i < store->stream_count; i++) {
        store->streams[i].words = at;
        at += store->record_room * store->streams[i].share;
    }
    store->scratch = at;
    store->scratch_words = store->record_room * largest;
    assert(store->scratch + store->scratch_words == store->arena + store->arena_bytes / 8);
    return WEIR_OK;
}

weir_status weir__store_new(weir__store **out, uint64_t memory, size_t streams,
                            const uint32_t *share, weir_error *err) {
    weir__store *store = calloc(1, sizeof *store + streams * sizeof(stream));
    *out = NULL;
    if (!store) return no_memory(err);
    store->fd = -1;
    store->stream_count = streams;
    default_folder(store->folder);
    for (size_t i = 0; i < streams; i++) store->streams[i].share = share[i];
    weir_status status = divide_arena(store, memory, err);
    if (status != WEIR_OK) weir__store_free(store);
    else *out = store;
    return status;
}

static void unmap_image(uint64_t *image, uint64_t words, bool in_file) {
    assert(!image || words); /* none is mapped for nothing */
    if (!image) return;
    if (in_file) munmap(image, words * 8);
    else weir__unmap(image, words * 8);
}

static void drop_image(weir__store *store) {
    unmap_image(store->image, store->image_words, store->image_in_file);
    store->image = NULL;
}

static void drop_file(weir__store *store) {
    if (store->fd >= 0) close(store->fd);
    store->fd = -1;
    store->file_end = 0;
}

void weir__store_free(weir__store *store) {
    while (store) {
        weir__store *next = store->next;
        drop_file(store);
        drop_image(store);
        weir__unmap(store->arena, store->arena_bytes);
        for (size_t i = 0; i < store->stream_count; i++) free(store->streams[i].runs);
        free(store);
        store = next;
    }
}

weir_status weir__store_folder(weir__store *store, const char *folder, weir_error *err) {
    if (strlen(folder) >= sizeof store->folder - 32)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "the name of the folder '%.60s...' is too long",
                          folder);
    strcpy(store->folder, folder);
    return WEIR_OK;
}

/* ---- the file ---- */

static weir_status disk_trouble(const weir__store *store, const char *what, weir_error *err) {
    return weir__fail(err, WEIR_ERR_IO, -1,
                      "cannot %s a temporary file in '%.160s': %s; name another folder, or give "
                      "more memory",
                      what, store->folder, strerror(errno));
}

/* A file that nobody can find, and that ends with the process. */
static weir_status open_file(weir__store *store, int *fd, weir_error *err) {
    char path[PATH_MAX + 16];
    *fd = open(store->folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (*fd >= 0) return WEIR_OK;
    snprintf(path, sizeof path, "%s/weir-XXXXXX", store->folder);
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0) return disk_trouble(store, "make", err);
    unlink(path);
    return WEIR_OK;
}

static weir_status write_words(weir__store *store, const uint64_t *words, size_t count,
                               weir_error *err) {
    assert(store->fd >= 0);
    const uint8_t *at = (const uint8_t *)words;
    for (size_t left = count * 8; left;) {
        ssize_t n = pwrite(store->fd, at, left, (off_t)store->file_end);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return disk_trouble(store, "write", err);
        at += n;
        left -= (size_t)n;
        store->file_end += (uint64_t)n;
    }
    return WEIR_OK;
}

static weir_status reserve_run(stream *s, weir_error *err) {
    if (s->run_count < s->run_room) return WEIR_OK;
    size_t room = s->run_room ? 2 * s->run_room : 8;
    run *more = realloc(s->runs, room * sizeof *more);
    if (!more) return no_memory(err);
    s->runs = more;
    s->run_room = room;
    return WEIR_OK;
}

static weir_status add_run(stream *s, run r, weir_error *err) {
    weir_status status = reserve_run(s, err);
    if (status == WEIR_OK) s->runs[s->run_count++] = r;
    return status;
}

/* ---- writing runs ---- */

/* Words on their way into the file, through a buffer. */
typedef struct {
    weir__store *store;
    uint64_t *buffer;
    size_t used, room;
    uint64_t start, written; /* bytes where it began; words so far */
    weir_status status;
    weir_error *err;
} run_writer;

/* An entry of a run; returns where the next one goes. */
static inline uint64_t *put_counted(uint64_t *out, uint64_t word, uint64_t count) {
    assert(count >= 1);
    *out++ = word;
    if (count > 1) {
        *out++ = word;
        *out++ = count;
    }
    return out;
}

static void flush_run(run_writer *w) {
    if (w->status == WEIR_OK) w->status = write_words(w->store, w->buffer, w->used, w->err);
    w->written += w->used;
    w->used = 0;
}

static inline void write_counted(run_writer *w, uint64_t word, uint64_t count) {
    if (w->used + 3 > w->room) flush_run(w);
    assert(w->used + 3 <= w->room); /* a word with a count takes three */
    w->used = (size_t)(put_counted(w->buffer + w->used, word, count) - w->buffer);
}

static run_writer begin_run(weir__store *store, uint64_t *buffer, size_t room, weir_error *err) {
    return (run_writer){
        .store = store, .buffer = buffer, .room = room, .start = store->file_end, .err = err};
}

static weir_status end_run(run_writer *w, stream *s) {
    flush_run(w);
    if (w->status != WEIR_OK) return w->status;
    return add_run(s, (run){NULL, w->start, w->written}, w->err);
}

/* The next word of a sorted array and how often it stands there. */
static inline uint64_t count_repeats(const uint64_t *at, const uint64_t *end) {
    assert(at < end);
    const uint64_t *from = at;
    while (at < end && *at == *from) at++;
    return (uint64_t)(at - from);
}

static weir_status write_gathered(weir__store *store, stream *s, weir_error *err) {
    assert(store->sorted);
    size_t count = store->records * s->share;
    run_writer w = begin_run(store, store->scratch, store->scratch_words, err);
    for (const uint64_t *at = s->words, *end = at + count; at && at < end;) {
        uint64_t repeats = count_repeats(at, end);
        write_counted(&w, *at, repeats);
        at += repeats;
    }
    return end_run(&w, s);
}

void weir__store_sort(weir__store *store) {
    if (store->sorted) return;
    for (size_t i = 0; i < store->stream_count; i++) {
        stream *s = &store->streams[i];
        weir__sort64(s->words, store->scratch, store->records * s->share);
    }
    store->sorted = true;
}

static size_t buffers_of(const weir__store *store) {
    size_t n = store->scratch_words / BUFFER_WORDS;
    return n < MOST_BUFFERS ? n : MOST_BUFFERS;
}

static weir_status merge_runs(weir__store *store, size_t stream_number, weir_error *err);

/* Everything gathered goes to disk, a run for each stream. */
static weir_status spill(weir__store *store, weir_error *err) {
    weir_status status = WEIR_OK;
    if (store->fd < 0) status = open_file(store, &store->fd, err);
    if (status != WEIR_OK) return status;
    weir__store_sort(store);
    for (size_t i = 0; i < store->stream_count && status == WEIR_OK; i++)
        status = write_gathered(store, &store->streams[i], err);
    if (status != WEIR_OK) return status;
    store->records = 0;
    for (size_t i = 0; i < store->stream_count && status == WEIR_OK; i++)
        if (store->streams[i].run_count + 1 >= buffers_of(store))
            status = merge_runs(store, i, err);
    return status;
}

/* ---- gathering ---- */

size_t weir__store_reserve(weir__store *store, size_t records, weir_error *err) {
    if (store->records == store->record_room && spill(store, err) != WEIR_OK) return 0;
    size_t left = store->record_room - store->records;
    return records < left ? records : left;
}

uint64_t *weir__store_end(weir__store *store, size_t i) {
    assert(i < store->stream_count);
    return store->streams[i].words + store->records * store->streams[i].share;
}

void weir__store_commit(weir__store *store, size_t records) {
    assert(records <= store->record_room - store->records); /* weir__store_reserve() said so */
    store->records += records;
    store->sorted = false;
}

static weir_status empty_like(weir__store **out, const weir__store *store, weir_error *err) {
    uint32_t *share = malloc(store->stream_count * sizeof *share);
    if (!share) return no_memory(err);
    for (size_t i = 0; i < store->stream_count; i++) share[i] = (uint32_t)store->streams[i].share;
    weir_status status = weir__store_new(out, store->arena_bytes, store->stream_count, share, err);
    if (status == WEIR_OK) strcpy((*out)->folder, store->folder);
    free(share);
    return status;
}

/* The object `from` must stay where it is for its owner, so what it holds moves
 * to a new one behind `into`, and it gets the empty insides of that. */
weir_status weir__store_take(weir__store *into, weir__store *from, weir_error *err) {
    weir__store *taken;
    weir_status status = empty_like(&taken, from, err);
    if (status != WEIR_OK) return status;
    size_t size = sizeof *from + from->stream_count * sizeof(stream);
    weir__store *spare = malloc(size);
    if (!spare) {
        weir__store_free(taken);
        return no_memory(err);
    }
    memcpy(spare, taken, size);
    memcpy(taken, from, size);
    memcpy(from, spare, size);
    free(spare);
    weir__store *last = taken;
    while (last->next) last = last->next;
    last->next = into->next;
    into->next = taken;
    return WEIR_OK;
}

uint64_t weir__store_memory(const weir__store *store) {
    uint64_t bytes = 0;
    for (; store; store = store->next) {
        bytes += store->arena_bytes;
        if (!store->image_in_file) bytes += store->image_words * 8;
    }
    return bytes;
}

uint64_t weir__store_disk(const weir__store *store) {
    uint64_t bytes = 0;
    for (; store; store = store->next)
        bytes += store->file_end + (store->image_in_file ? store->image_words * 8 : 0);
    return bytes;
}

/* ---- reading ---- */

typedef struct {
    const uint64_t *at, *end;
    bool gathered; /* plain sorted words; else a run */
    weir__store *store;
    uint64_t offset, left; /* of the file: next byte, words to come */
    uint64_t *buffer;
    size_t buffer_words;
    uint64_t count; /* of the word that the heap holds */
} source;

typedef struct {
    uint64_t word;
    source *from;
} heap_entry;

struct weir__cursor {
    size_t heap_count;
    heap_entry *heap; /* the least word first */
    weir_status status;
    weir_error error;
    source sources[];
};

/* A run is read in whole entries: refill when fewer than three words are left. */
static weir_status refill(source *s, weir_error *err) {
    assert(s->at <= s->end && (size_t)(s->end - s->at) < s->buffer_words);
    size_t kept = (size_t)(s->end - s->at);
    memmove(s->buffer, s->at, kept * 8);
    size_t room = s->buffer_words - kept;
    size_t want = s->left < room ? (size_t)s->left : room;
    uint8_t *to = (uint8_t *)(s->buffer + kept);
    for (size_t left = want * 8; left;) {
        ssize_t n = pread(s->store->fd, to, left, (off_t)s->offset);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return disk_trouble(s->store, "read", err);
        to += n;
        left -= (size_t)n;
        s->offset += (uint64_t)n;
    }
    s->left -= want;
    s->at = s->buffer;
    s->end = s->buffer + kept + want;
    return WEIR_OK;
}

/* The next word of a source; false if there is none. */
static inline bool advance(weir__cursor *c, source *s, uint64_t *word) {
    if (s->left && s->end - s->at < 3) {
        c->status = refill(s, &c->error);
        if (c->status != WEIR_OK) return false;
    }
    if (s->at == s->end) return false;
    *word = *s->at;
    if (s->gathered) {
        s->count = count_repeats(s->at, s->end);
        s->at += s->count;
    } else if (s->end - s->at >= 3 && s->at[1] == *word) {
        s->count = s->at[2];
        s->at += 3;
    } else {
        s->count = 1;
        s->at++;
    }
    return true;
}

static void sift_down(weir__cursor *c, size_t at) {
    assert(at < c->heap_count);
    heap_entry entry = c->heap[at];
    for (size_t child; (child = 2 * at + 1) < c->heap_count; at = child) {
        if (child + 1 < c->heap_count && c->heap[child + 1].word < c->heap[child].word) child++;
        if (entry.word <= c->heap[child].word) break;
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = entry;
}

static void open_run(source *to, weir__store *store, const run *r, uint64_t *buffer, size_t words) {
    *to = (source){.store = store};
    if (r->memory) {
        to->at = r->memory;
        to->end = r->memory + r->words;
    } else {
        to->offset = r->offset;
        to->left = r->words;
        to->buffer = buffer;
        to->buffer_words = words;
        to->at = to->end = buffer;
    }
}

/* Sources of one store, its runs' buffers out of its scratch. */
static size_t open_store(source *to, weir__store *store, size_t stream_number, bool gathered,
                         uint64_t *scratch, size_t scratch_words) {
    assert(stream_number < store->stream_count);
    stream *s = &store->streams[stream_number];
    size_t n = 0, each = s->run_count ? scratch_words / s->run_count : 0;
    for (size_t i = 0; i < s->run_count; i++)
        open_run(&to[n++], store, &s->runs[i], scratch + i * each, each);
    if (gathered && store->records) {
        weir__store_sort(store);
        to[n++] = (source){.at = s->words,
                           .end = s->words + store->records * s->share,
                           .gathered = true,
                           .store = store};
    }
    return n;
}

static void start_heap(weir__cursor *c, size_t sources) {
    for (size_t i = 0; i < sources && c->status == WEIR_OK; i++)
        if (advance(c, &c->sources[i], &c->heap[c->heap_count].word))
            c->heap[c->heap_count++].from = &c->sources[i];
    for (size_t i = c->heap_count / 2; i-- > 0;) sift_down(c, i);
}

static weir__cursor *new_cursor(size_t sources, weir_error *err) {
    weir__cursor *c = calloc(1, sizeof *c + (sources + 1) * sizeof(source));
    if (c) c->heap = malloc((sources + 1) * sizeof *c->heap);
    if (c && c->heap) return c;
    free(c);
    no_memory(err);
    return NULL;
}

weir__cursor *weir__cursor_open(weir__store *store, size_t stream_number, weir_error *err) {
    size_t most = 0;
    for (weir__store *s = store; s; s = s->next) most += s->streams[stream_number].run_count + 1;
    weir__cursor *c = new_cursor(most, err);
    if (!c) return NULL;
    size_t n = 0;
    for (weir__store *s = store; s; s = s->next) {
        weir__store_sort(s); /* before its scratch becomes buffers */
        n += open_store(&c->sources[n], s, stream_number, true, s->scratch, s->scratch_words);
    }
    start_heap(c, n);
    return c;
}

/* Let the first of the heap go on. */
static inline void step(weir__cursor *c) {
    assert(c->heap_count);
    if (!advance(c, c->heap[0].from, &c->heap[0].word)) c->heap[0] = c->heap[--c->heap_count];
    if (c->heap_count > 1) sift_down(c, 0);
}

bool weir__cursor_next(weir__cursor *c, uint64_t *word, uint64_t *count) {
    if (!c->heap_count || c->status != WEIR_OK) return false;
    *word = c->heap[0].word;
    *count = 0;
    do {
        *count += c->heap[0].from->count;
        step(c);
    } while (c->heap_count && c->heap[0].word == *word && c->status == WEIR_OK);
    return c->status == WEIR_OK;
}

weir_status weir__cursor_close(weir__cursor *c, weir_error *err) {
    if (!c) return WEIR_OK;
    weir_status status = c->status;
    if (status != WEIR_OK && err) *err = c->error;
    free(c->heap);
    free(c);
    return status;
}

/* All runs of a stream into one, when they become too many to read together. The
 * space that they took in the file is given back. */
static weir_status merge_runs(weir__store *store, size_t stream_number, weir_error *err) {
    stream *s = &store->streams[stream_number];
    size_t room = store->scratch_words / (s->run_count + 1);
    assert(s->run_count && room >= 3); /* buffers_of() keeps runs few enough */
    weir__cursor *c = new_cursor(s->run_count, err);
    if (!c) return WEIR_ERR_MEMORY;
    size_t n =
        open_store(c->sources, store, stream_number, false, store->scratch, room * s->run_count);
    start_heap(c, n);
    run_writer w = begin_run(store, store->scratch + room * s->run_count, room, err);
    for (uint64_t word, count; weir__cursor_next(c, &word, &count);) write_counted(&w, word, count);
    weir_status status = weir__cursor_close(c, err);
    size_t merged = s->run_count;
    if (status == WEIR_OK) status = end_run(&w, s);
    if (status != WEIR_OK) return status;
    for (size_t i = 0; i < merged; i++)
        if (!s->runs[i].memory)
            fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      (off_t)s->runs[i].offset, (off_t)(s->runs[i].words * 8));
    s->runs[0] = s->runs[merged];
    s->run_count = 1;
    return WEIR_OK;
}

/* ---- as one image ---- */

static weir_status measure(weir__store *store, uint64_t *lengths, uint64_t *all, weir_error *err) {
    *all = 0;
    for (size_t i = 0; i < store->stream_count; i++) {
        weir__cursor *c = weir__cursor_open(store, i, err);
        if (!c) return WEIR_ERR_MEMORY;
        lengths[i] = 0;
        for (uint64_t word, count; weir__cursor_next(c, &word, &count);)
            lengths[i] += count > 1 ? 3 : 1;
        *all += lengths[i];
        weir_status status = weir__cursor_close(c, err);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

/* Room for an image: memory while it is no more than the arena, else a file. */
static weir_status map_image(weir__store *store, uint64_t words, uint64_t **image, bool *in_file,
                             weir_error *err) {
    *image = NULL;
    *in_file = words * 8 > store->arena_bytes;
    if (!words) return WEIR_OK;
    void *map;
    if (!*in_file) {
        weir_status status = weir__map(&map, words * 8, err);
        *image = map;
        return status;
    }
    int fd;
    weir_status status = open_file(store, &fd, err);
    if (status != WEIR_OK) return status;
    map = MAP_FAILED;
    if (posix_fallocate(fd, 0, (off_t)(words * 8)) == 0)
        map = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) status = disk_trouble(store, "write", err);
    else *image = map;
    close(fd);
    return status;
}

static weir_status fill_image(weir__store *store, uint64_t *image, weir_error *err) {
    for (size_t i = 0; i < store->stream_count; i++) {
        weir__cursor *c = weir__cursor_open(store, i, err);
        if (!c) return WEIR_ERR_MEMORY;
        for (uint64_t word, count; weir__cursor_next(c, &word, &count);)
            image = put_counted(image, word, count);
        weir_status status = weir__cursor_close(c, err);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

/* The image is all there is: a run in memory for each stream. */
static weir_status adopt_image(weir__store *store, uint64_t *image, const uint64_t *lengths,
                               weir_error *err) {
    const uint64_t *at = image;
    for (size_t i = 0; i < store->stream_count; i++) {
        weir_status status = reserve_run(&store->streams[i], err);
        if (status != WEIR_OK) return status;
    }
    for (size_t i = 0; i < store->stream_count; i++) {
        store->streams[i].runs[0] = (run){at, 0, lengths[i]};
        store->streams[i].run_count = lengths[i] > 0;
        at += lengths[i];
    }
    drop_file(store);
    drop_image(store);
    weir__store_free(store->next);
    store->next = NULL;
    store->records = 0;
    store->image = image;
    store->image_words = (uint64_t)(at - image);
    return WEIR_OK;
}

weir_status weir__store_settle(weir__store *store, uint64_t *lengths, weir_error *err) {
    uint64_t words, *image;
    bool in_file;
    weir_status status = measure(store, lengths, &words, err);
    if (status == WEIR_OK) status = map_image(store, words, &image, &in_file, err);
    if (status != WEIR_OK) return status;
    if (image) status = fill_image(store, image, err);
    if (status == WEIR_OK) status = adopt_image(store, image, lengths, err);
    if (status == WEIR_OK) store->image_in_file = in_file;
    else unmap_image(image, words, in_file);
    return status;
}

uint8_t *weir__store_image(const weir__store *store, uint64_t *bytes) {
    *bytes = store->image ? store->image_words * 8 : 0;
    return (uint8_t *)store->image;
}

weir_status weir__store_image_room(weir__store *store, const uint64_t *lengths, weir_error *err) {
    uint64_t words = 0;
    void *image = NULL;
    for (size_t i = 0; i < store->stream_count; i++) {
        if (lengths[i] > UINT64_MAX / 16 - words)
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the lengths of the streams are absurd");
        words += lengths[i];
    }
    weir_status status = words ? weir__map(&image, words * 8, err) : WEIR_OK;
    if (status != WEIR_OK) return status;
    status = adopt_image(store, image, lengths, err);
    if (status == WEIR_OK) store->image_in_file = false;
    else unmap_image(image, words, false);
    return status;
}

weir_status weir__store_image_check(const weir__store *store, weir_error *err) {
    for (size_t i = 0; i < store->stream_count; i++) {
        const stream *s = &store->streams[i];
        if (!s->run_count) continue;
        const uint64_t *at = s->runs[0].memory, *end = at + s->runs[0].words;
        bool first = true;
        for (uint64_t last = 0; at < end; first = false) {
            uint64_t word = *at++;
            bool good = first || word > last;
            if (good && at < end && *at == word) {
                good = end - at >= 2 && at[1] >= 2 && at[1] <= UINT64_MAX >> 16;
                at += 2;
            }
            if (!good)
                return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                                  "the super-values of a summary are not in order");
            last = word;
        }
    }
    return WEIR_OK;
}
