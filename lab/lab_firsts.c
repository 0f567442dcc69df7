/* lab_firsts.c - first occurrences, exactly: a bitmap, a table, or files.
 *
 * bitmap  for drawn ids: 100 million of them take 12 MiB. Its words are fetched
 *         ahead of use, since they miss the cache.
 * table   for hashes that fit the memory.
 * files   for hashes that do not: (id, position) is appended to one of 256 files
 *         by the id, so that all occurrences of an id are in one file, in order;
 *         each file then goes through a table of its own, which says which
 *         positions are firsts. A billion records: 16 GB of disk, 125 MB for the
 *         answer, and a table of some 4 million ids at a time.
 */
#include "lab_firsts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_rng.h"
#include "lab_stream.h"
#include "lab_truth.h"

enum { AHEAD = 16, FILES = 256, BATCH = 4096 };

struct lab_firsts {
    uint64_t *bits; /* by id; NULL: use the table */
    lab_set *table;
    uint64_t *known;   /* by position: found beforehand */
    uint64_t position; /* known: of the next id */
    uint64_t count;
};

weir_status lab_firsts_new(lab_firsts **out, uint64_t universe, weir_error *err) {
    lab_firsts *f = calloc(1, sizeof *f);
    *out = f;
    if (f && universe) f->bits = calloc(universe / 64 + 1, sizeof *f->bits);
    else if (f) f->table = lab_set_new(1 << 16);
    if (f && (f->bits || f->table)) return WEIR_OK;
    lab_firsts_free(f);
    *out = NULL;
    return lab_error(err, WEIR_ERR_MEMORY, -1, "no memory for the truth of %llu ids",
                     (unsigned long long)universe);
}

void lab_firsts_free(lab_firsts *f) {
    if (!f) return;
    free(f->bits);
    free(f->known);
    lab_set_free(f->table);
    free(f);
}

static uint64_t mark(lab_firsts *f, uint64_t id) {
    uint64_t *word = &f->bits[id / 64], bit = UINT64_C(1) << (id % 64);
    uint64_t first = !(*word & bit);
    *word |= bit;
    return first;
}

static void next_by_bits(lab_firsts *f, const uint64_t *ids, size_t count, uint64_t *words) {
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) __builtin_prefetch(&f->bits[ids[i + AHEAD] / 64], 1);
        uint64_t first = mark(f, ids[i]);
        f->count += first;
        if (i % 64 == 0) words[i / 64] = 0;
        words[i / 64] |= first << (i % 64);
    }
}

static void next_known(lab_firsts *f, size_t count, uint64_t *words) {
    for (size_t i = 0; i < count; i++, f->position++) {
        uint64_t first = f->known[f->position / 64] >> (f->position % 64) & 1;
        f->count += first;
        if (i % 64 == 0) words[i / 64] = 0;
        words[i / 64] |= first << (i % 64);
    }
}

weir_status lab_firsts_next(lab_firsts *f, const uint64_t *ids, size_t count, uint64_t *words) {
    if (f->known) {
        next_known(f, count, words);
        return WEIR_OK;
    }
    if (f->bits) {
        next_by_bits(f, ids, count, words);
        return WEIR_OK;
    }
    for (size_t i = 0; i < count; i++) {
        bool first;
        if (lab_set_number(f->table, ids[i], &first) == LAB_SET_FULL) return WEIR_ERR_MEMORY;
        f->count += first;
        if (i % 64 == 0) words[i / 64] = 0;
        words[i / 64] |= (uint64_t)first << (i % 64);
    }
    return WEIR_OK;
}

uint64_t lab_firsts_count(const lab_firsts *f) { return f->count; }

/* --- by way of files ------------------------------------------------------------------ */

typedef struct {
    uint64_t id, position;
} occurrence;

typedef struct {
    const lab_firsts_plan *plan;
    FILE *files[FILES];
    char *buffers;
    uint64_t records;
    uint64_t *first;
    bool stopped;
} sorting;

/* A file without a name. */
static FILE *open_unnamed(const char *folder) {
    char path[1024];
    const char *named = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/weir-lab.XXXXXX", folder ? folder : named ? named : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) return NULL;
    unlink(path);
    FILE *file = fdopen(fd, "w+");
    if (!file) close(fd);
    return file;
}

static weir_status open_files(sorting *s, weir_error *err) {
    size_t each = s->plan->memory / 4 / FILES;
    if (each > 1 << 20) each = 1 << 20;
    if (each < 4096) each = 4096;
    s->buffers = malloc(each * FILES);
    if (!s->buffers) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (size_t i = 0; i < FILES; i++) {
        s->files[i] = open_unnamed(s->plan->folder);
        if (!s->files[i])
            return lab_error(err, WEIR_ERR_IO, -1, "cannot make a file to sort in: %s",
                             strerror(errno));
        setvbuf(s->files[i], s->buffers + i * each, _IOFBF, each);
    }
    return WEIR_OK;
}

static bool tell(sorting *s, const char *what, uint64_t done, uint64_t total) {
    if (s->plan->progress && !s->plan->progress(s->plan->context, what, done, total))
        s->stopped = true;
    return !s->stopped;
}

static weir_status spread(sorting *s, lab_stream *stream, weir_error *err) {
    uint64_t ids[BATCH];
    size_t got;
    while ((got = lab_stream_next(stream, ids, BATCH)) > 0) {
        for (size_t i = 0; i < got; i++) {
            occurrence o = {ids[i], s->records++};
            if (fwrite(&o, sizeof o, 1, s->files[lab_mix(~ids[i]) % FILES]) != 1)
                return lab_error(err, WEIR_ERR_IO, -1,
                                 "cannot sort on disk: %s; TMPDIR names another folder",
                                 strerror(errno));
        }
        if (!tell(s, "sorting", s->records, lab_stream_length(stream))) return WEIR_OK;
    }
    return lab_stream_check(stream, err);
}

static weir_status find_in_file(sorting *s, FILE *file, weir_error *err) {
    occurrence o;
    weir_status status = WEIR_OK;
    if (fflush(file) || fseek(file, 0, SEEK_SET))
        return lab_error(err, WEIR_ERR_IO, -1, "cannot sort on disk: %s", strerror(errno));
    lab_set *set = lab_set_new(1 << 10);
    while (set && !status && fread(&o, sizeof o, 1, file) == 1) {
        bool first;
        if (lab_set_number(set, o.id, &first) == LAB_SET_FULL) status = WEIR_ERR_MEMORY;
        if (first) s->first[o.position / 64] |= UINT64_C(1) << (o.position % 64);
        if (lab_set_count(set) * LAB_SET_BYTES > s->plan->memory) status = WEIR_ERR_MEMORY;
    }
    lab_set_free(set);
    if (set && !status) return WEIR_OK;
    return lab_error(err, WEIR_ERR_MEMORY, -1,
                     "the truth needs more memory than was given: a %dth of the distinct keys, %d "
                     "bytes each",
                     FILES, LAB_SET_BYTES);
}

static weir_status sort_out(sorting *s, lab_stream *stream, weir_error *err) {
    weir_status status = open_files(s, err);
    if (!status) status = spread(s, stream, err);
    if (status || s->stopped) return status;
    s->first = calloc(s->records / 64 + 1, sizeof *s->first);
    if (!s->first) return lab_error(err, WEIR_ERR_MEMORY, -1, "no memory for the truth");
    for (size_t i = 0; !status && i < FILES; i++) {
        if (!tell(s, "finding firsts", i, FILES)) return WEIR_OK;
        status = find_in_file(s, s->files[i], err);
        fclose(s->files[i]); /* gives its disk back */
        s->files[i] = NULL;
    }
    return status;
}

weir_status lab_firsts_from_disk(lab_firsts **out, const lab_firsts_plan *plan, weir_error *err) {
    sorting s = {.plan = plan};
    lab_stream *stream;
    *out = NULL;
    weir_status status = lab_stream_read(&stream, plan->spec, plan->seed, plan->reading, err);
    if (status) return status;
    status = sort_out(&s, stream, err);
    lab_stream_free(stream);
    for (size_t i = 0; i < FILES; i++)
        if (s.files[i]) fclose(s.files[i]);
    free(s.buffers);
    if (!status && !s.stopped) *out = calloc(1, sizeof **out);
    if (*out) (*out)->known = s.first;
    else free(s.first);
    if (!status && !s.stopped && !*out)
        status = lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    return status;
}
