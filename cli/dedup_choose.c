/* dedup_choose.c - records that can be chosen only when all of the input is known.
 *
 * Question   which keys came once, or more than once, or how often; or which record of each key
 *            was the last?
 * Idea       the input is read twice. The first reading makes a table of keys: hash, number of
 *            the record to write, count. Its entries, sorted by that number, are what the second
 *            reading writes.
 * Memory     an entry takes ENTRY_BYTES, and the table two thirds of --memory: the rest is for
 *            the moments in which it grows or is cut. When it is full, the upper half of the
 *            hashes is left for another reading, and so on: any number of keys fits, for more
 *            readings. What a reading chose waits in a temporary file then.
 * Error      none, but for keys whose 64-bit hashes are equal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "dedup.h"
#include "engine.h"
#include "report.h"
#include "spool.h"
#include "stopping.h"

typedef struct {
    uint64_t hash;
    uint64_t record; /* number in all of the input, from 0 */
    uint64_t count;  /* how often the key came; 0: an empty slot */
} entry;

enum {
    SLOTS_LEAST = 1024,     /* of a table that will grow */
    GROWTH = 4,             /* times the slots when a table that may grow is full */
    RUNS_BUFFER = 64 * 1024 /* bytes read ahead of each run */
};

#define FULL 0.85 /* share of slots in use at which a table is full */
#define ENTRY_BYTES sizeof(entry)

/* Records that one reading has chosen, by number: in memory, or in a file. */
typedef struct {
    FILE *file;
    const entry *at, *end;
    entry next;
    bool any; /* `next` is there */
} run;

typedef struct {
    const dedup_settings *settings;
    reading from; /* with copies of what can be read only once */
    spool inputs;
    weir_filter *hasher;
    engine engine;
    run_output output;
    run_counts counts;

    entry *slots;
    uint64_t size, most, used;
    uint64_t low, high; /* hashes of this reading, both included */
    uint64_t at;        /* number of the next record */
    uint64_t total;     /* records of the first reading */
    bool first;         /* this is it */
    unsigned readings;
    run *runs;
    size_t run_count;
    uint64_t fullest; /* most entries at the end of a reading */
    uint64_t written; /* records */
    uint64_t bytes_out;

    size_t room;
    uint64_t *marks; /* of a batch: a bit a record, or its count */
} choice;

/* --- the table ------------------------------------------------------------------------------ */

/* Hashes of a later reading agree in their first bits, so that these must not place them. */
static entry *slot_of(const choice *c, uint64_t hash) {
    uint64_t mixed = hash * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t i = (uint64_t)((unsigned __int128)mixed * c->size >> 64);
    while (c->slots[i].count && c->slots[i].hash != hash) i = i + 1 < c->size ? i + 1 : 0;
    return &c->slots[i];
}

/* Fill slots, all empty, with entries. */
static void refill(choice *c, const entry *entries, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) *slot_of(c, entries[i].hash) = entries[i];
    c->used = count;
}

/* Bring entries together in the first slots: those of hashes up to `high`. */
static uint64_t gather(choice *c, uint64_t high) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < c->size; i++)
        if (c->slots[i].count && c->slots[i].hash <= high) c->slots[n++] = c->slots[i];
    return n;
}

static bool grow(choice *c) {
    uint64_t n = gather(c, UINT64_MAX);
    entry *old = c->slots;
    /* The last step is a large one, so that the old slots and the new are within the bound. */
    uint64_t size = c->size * GROWTH < c->most / 2 ? c->size * GROWTH : c->most;
    entry *slots = calloc(size, sizeof *slots);
    if (!slots) return false;
    c->slots = slots;
    c->size = size;
    refill(c, old, n);
    free(old);
    return true;
}

/* Leave the upper half of the hashes to another reading. */
static bool cut(choice *c) {
    c->high = c->low + (c->high - c->low) / 2;
    uint64_t n = gather(c, c->high);
    entry *kept = malloc((n + 1) * sizeof *kept);
    if (!kept) return false;
    memcpy(kept, c->slots, n * sizeof *kept);
    memset(c->slots, 0, c->size * sizeof *c->slots);
    refill(c, kept, n);
    free(kept);
    return true;
}

static bool add(choice *c, uint64_t hash, uint64_t record) {
    while (hash >= c->low && hash <= c->high) {
        entry *e = slot_of(c, hash);
        if (e->count) {
            e->count++;
            if (c->settings->keep_last) e->record = record;
            return true;
        }
        if ((double)c->used + 1 <= FULL * (double)c->size) {
            *e = (entry){hash, record, 1};
            c->used++;
            return true;
        }
        if (!(c->size < c->most ? grow(c) : cut(c))) return false;
    }
    return true;
}

/* --- what a reading has chosen -------------------------------------------------------------- */

static bool is_wanted(const choice *c, const entry *e) {
    if (c->settings->emit == EMIT_ONCE) return e->count == 1;
    if (c->settings->emit == EMIT_REPEATED) return e->count > 1;
    return true;
}

static void swap(entry *a, entry *b) {
    entry kept = *a;
    *a = *b;
    *b = kept;
}

/* Quicksort in place, because qsort() may take as much memory again. The entries come in the order
 * of hashes, so that the one in the
 * middle is as good a pivot as any; it must not be the last, or nothing would be split off. */
static void sort_by_record(entry *entries, uint64_t count) {
    while (count > 1) {
        uint64_t pivot = entries[(count - 1) / 2].record, i = 0, j = count - 1;
        for (;; i++, j--) {
            while (entries[i].record < pivot) i++;
            while (entries[j].record > pivot) j--;
            if (i >= j) break;
            swap(&entries[i], &entries[j]);
        }
        uint64_t left = j + 1, right = count - left;
        bool left_is_smaller = left < right;
        sort_by_record(left_is_smaller ? entries : entries + left, left_is_smaller ? left : right);
        if (left_is_smaller) entries += left;
        count = left_is_smaller ? right : left;
    }
}

static int no_disk(void) {
    return cli_error("cannot keep what was chosen in a temporary file: %s; give more --memory, or "
                     "set TMPDIR to a folder with room",
                     strerror(errno));
}

static int spill(run *r, const entry *entries, uint64_t count) {
    int fd = spool_file(NULL);
    r->file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!r->file) {
        if (fd >= 0) close(fd);
        return no_disk();
    }
    setvbuf(r->file, NULL, _IOFBF, RUNS_BUFFER);
    if (fwrite(entries, sizeof *entries, count, r->file) != count || fflush(r->file))
        return no_disk();
    rewind(r->file);
    return EXIT_DONE;
}

/* The table becomes a run. It stays in memory if it is the only one. */
static int end_reading(choice *c) {
    run *runs = realloc(c->runs, (c->run_count + 1) * sizeof *runs);
    uint64_t n = gather(c, UINT64_MAX), wanted = 0;
    if (!runs) return cli_error("out of memory");
    c->runs = runs;
    if (n > c->fullest) c->fullest = n;
    for (uint64_t i = 0; i < n; i++)
        if (is_wanted(c, &c->slots[i])) c->slots[wanted++] = c->slots[i];
    sort_by_record(c->slots, wanted);
    run *r = &runs[c->run_count++];
    *r = (run){.at = c->slots, .end = c->slots + wanted};
    if (c->first && c->high == UINT64_MAX) return EXIT_DONE;
    int code = spill(r, c->slots, wanted);
    memset(c->slots, 0, c->size * sizeof *c->slots);
    c->used = 0;
    return code;
}

static void advance(run *r) {
    if (r->file) r->any = fread(&r->next, sizeof r->next, 1, r->file) == 1;
    else if ((r->any = r->at < r->end)) r->next = *r->at++;
}

/* The run whose next record is the first of all; NULL: nothing is left. */
static run *first_run(choice *c) {
    run *found = NULL;
    for (size_t i = 0; i < c->run_count; i++)
        if (c->runs[i].any && (!found || c->runs[i].next.record < found->next.record))
            found = &c->runs[i];
    return found;
}

/* --- the readings that count ---------------------------------------------------------------- */

static void count_records(choice *c, const stream_batch *b) {
    const stream_selection *s = &c->engine.selection;
    c->counts.records += s->end - s->headers;
    c->counts.missing += s->missing;
    c->counts.bad += s->bad;
    c->counts.bytes_in += b->offsets[s->end] - b->offsets[0];
}

static engine_outcome take_to_count(void *context, const stream_batch *b) {
    choice *c = context;
    const stream_selection *s = &c->engine.selection;
    engine_outcome so_far = engine_select(&c->engine, b);
    if (so_far == ENGINE_GO_ON) so_far = engine_refuse(&c->engine, b);
    if (so_far != ENGINE_GO_ON) return so_far;
    for (size_t n = 0; n < s->count; n++)
        if (!add(c, s->hashes[n], c->at + (s->places ? s->places[n] : n)))
            return engine_no_memory();
    if (c->first) count_records(c, b);
    c->at += b->count;
    return ENGINE_GO_ON;
}

static void count(void *context, uint64_t *records, uint64_t *seen) {
    const choice *c = context;
    *records = c->at;
    *seen = PROGRESS_NO_REPEATS;
}

static void word(void *context, stream_error *err) {
    const choice *c = context;
    spool_word(&c->inputs, err);
}

static const engine_consumer counting = {.take = take_to_count, .count = count, .word = word};

/* --- the reading that writes ---------------------------------------------------------------- */

static int changed(const stream_batch *b) {
    return cli_error("'%s' has changed while it was read: nothing may be written to it meanwhile",
                     strcmp(b->file, "-") ? b->file : "standard input");
}

/* How often the key of a record that is to be written came; 0: it is not to be written. */
static bool look_up(choice *c, const stream_batch *b, size_t n, uint64_t record, uint64_t *times) {
    run *r = first_run(c);
    *times = 0;
    if (!r || r->next.record != record) return true;
    if (r->next.hash != c->engine.selection.hashes[n]) return changed(b) == EXIT_DONE;
    *times = r->next.count;
    advance(r);
    c->written++;
    return true;
}

/* Does a record without a key, or a header, go through? */
static bool passes(const choice *c, uint8_t kind) {
    if (kind == STREAM_HEADER) return true;
    if (c->settings->emit == EMIT_REPEATED) return false;
    return (kind == STREAM_MISSING ? c->from.on_missing : c->from.on_bad) == STREAM_PASS;
}

/* Mark what is written of a batch. */
static bool mark(choice *c, const stream_batch *b) {
    const stream_selection *s = &c->engine.selection;
    bool counts = c->settings->emit == EMIT_COUNTS;
    size_t n = 0;
    memset(c->marks, 0, (s->end + 1) * sizeof *c->marks);
    for (size_t i = 0; i < s->end; i++) {
        uint8_t kind = s->kinds ? s->kinds[i] : STREAM_RECORD_OK;
        uint64_t times = 0;
        if (kind == STREAM_RECORD_OK && !look_up(c, b, n++, c->at + i, &times)) return false;
        if (kind != STREAM_RECORD_OK && c->at + i < c->total && passes(c, kind)) {
            times = 1;
            c->counts.passed += kind != STREAM_HEADER;
        }
        if (counts) c->marks[i] = times;
        else if (times) c->marks[i / 64] |= 1ull << (i % 64);
    }
    c->at += s->end;
    return true;
}

static engine_outcome take_to_write(void *context, const stream_batch *whole) {
    choice *c = context;
    stream_error err;
    const stream_array arrays[] = {{&c->marks, sizeof *c->marks}};
    engine_outcome so_far = engine_select(&c->engine, whole);
    if (so_far == ENGINE_GO_ON) so_far = engine_refuse(&c->engine, whole);
    if (so_far != ENGINE_GO_ON) return so_far;
    if (!stream_make_room(&c->room, whole->count + 1, arrays, 1)) return engine_no_memory();
    if (!mark(c, whole)) return ENGINE_TROUBLE;
    stream_status status =
        c->settings->emit == EMIT_COUNTS
            ? stream_write_counted(c->output.writer, whole, c->marks, &err)
            : stream_write_records(c->output.writer, whole, c->marks, true, &err);
    return status == STREAM_OK ? ENGINE_GO_ON : engine_fail(&c->engine, status, &err);
}

static const engine_consumer writing = {.take = take_to_write, .count = count, .word = word};

/* --- the run -------------------------------------------------------------------------------- */

/* Read all files with a consumer. */
static engine_outcome read_all(choice *c, const engine_consumer *consumer, run_output *output) {
    stream_options in = c->from.in;
    in.filter = c->hasher;
    engine_init(&c->engine, consumer, c, &c->from);
    c->engine.output = output;
    c->engine.save_every = c->settings->save_every;
    c->at = 0;
    c->readings++;
    if (engine_open(&c->engine, &in, c->from.files, c->from.file_count) != EXIT_DONE) {
        engine_release(&c->engine);
        return ENGINE_TROUBLE;
    }
    engine_start(&c->engine);
    engine_outcome how = engine_run(&c->engine);
    if (output && how == ENGINE_ALL_READ && first_run(c)) {
        cli_error("the input has changed while it was read: records are gone that were there");
        how = ENGINE_TROUBLE;
    }
    how = engine_conclude(&c->engine, how, &c->bytes_out);
    if (output) c->counts.new_records = c->written;
    engine_release(&c->engine);
    return how;
}

/* Read until every hash was looked at. */
static engine_outcome choose(choice *c) {
    c->low = 0;
    for (c->first = true;; c->first = false) {
        c->high = UINT64_MAX;
        engine_outcome how = read_all(c, &counting, NULL);
        if (how != ENGINE_ALL_READ) return how;
        if (c->first) c->total = c->at;
        if (end_reading(c) != EXIT_DONE) return ENGINE_TROUBLE;
        if (c->high == UINT64_MAX) return how;
        c->low = c->high + 1;
    }
}

static void print_stats(const choice *c, int64_t began) {
    const weir_filter_info table = {.memory = c->size * ENTRY_BYTES,
                                    .fill = (double)c->fullest / (double)c->most};
    run_report report = {.counts = c->counts,
                         .bytes_out = c->bytes_out,
                         .seconds = (double)(clock_now(CLOCK_MONOTONIC) - began) / 1e9,
                         .fresh = c->counts.records,
                         .table = &table,
                         .readings = c->readings};
    if (c->settings->stats == STATS_TEXT) report_text(stderr, &report);
    if (c->settings->stats == STATS_JSON) report_json(stderr, &report);
}

static engine_outcome choose_and_write(choice *c) {
    const dedup_settings *s = c->settings;
    int64_t began = clock_now(CLOCK_MONOTONIC);
    engine_outcome how = choose(c);
    if (how != ENGINE_ALL_READ) return how;
    if (run_output_open(&c->output, s, c->from.in.threads > 1, NULL) != EXIT_DONE)
        return ENGINE_TROUBLE;
    for (size_t i = 0; i < c->run_count; i++) advance(&c->runs[i]);
    how = read_all(c, &writing, &c->output);
    c->counts.seen = c->counts.records - c->counts.missing - c->counts.bad - c->counts.new_records;
    if (how == ENGINE_ALL_READ) print_stats(c, began);
    return how;
}

static int begin(choice *c) {
    weir_error err;
    char spec[64];
    const dedup_settings *s = c->settings;
    c->most = s->table_memory / 3 * 2 / ENTRY_BYTES;
    c->size = c->most < SLOTS_LEAST ? c->most : SLOTS_LEAST;
    c->slots = calloc(c->size, sizeof *c->slots);
    snprintf(spec, sizeof spec, "recent:memory=1K%s%.32s", s->seed ? ",seed=" : "",
             s->seed ? s->seed : "");
    if (!c->slots) return cli_error("out of memory");
    if (weir_filter_new(&c->hasher, spec, &err) != WEIR_OK) return cli_error("%s", err.message);
    int code = spool_inputs(&c->inputs, s->from.files, s->from.file_count, true, NULL,
                            "set TMPDIR to a folder with more room");
    c->from.files = c->inputs.names;
    return code;
}

int dedup_choose(const dedup_settings *settings) {
    choice c = {.settings = settings, .from = settings->from};
    stopping_catch(run_output_remove_temporary);
    int code = begin(&c);
    if (code == EXIT_DONE) {
        engine_outcome how = choose_and_write(&c);
        code = engine_exit(how);
    }
    bool nothing = settings->exit_code && !c.written && !c.counts.passed;
    for (size_t i = 0; i < c.run_count; i++)
        if (c.runs[i].file) fclose(c.runs[i].file);
    free(c.runs);
    free(c.slots);
    free(c.marks);
    weir_filter_free(c.hasher);
    spool_release(&c.inputs);
    return code == EXIT_DONE && nothing ? EXIT_NOTHING : code;
}
