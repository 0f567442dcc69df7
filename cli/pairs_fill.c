/* pairs_fill.c - records in, several threads' summaries, merged.
 *
 * The reader's threads cut records and make their values. The main thread
 * numbers those that are accepted and hands them on in slots; each worker adds
 * what it takes to a summary of its own. What a record draws follows from its
 * number, so the answer does not depend on who took it. At the end the
 * summaries are merged. With one thread there are no slots and no workers.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "engine.h"
#include "pairs_command.h"
#include "spool.h"
#include "stopping.h"

enum { WORKER_MEMORY = 8 << 20 }; /* bytes of a summary of which each thread has one of its own */
enum { NOTE_SIZE = 8192 };        /* bytes of the note that says how records are laid out */

/* ---- reading ---- */

typedef struct {
    const pairs_settings *settings;
    engine engine;
    uint64_t next, dropped;
    accepted_fn *each;
    void *context;
    int code; /* what `each` returned */
} intake;

static int out_of_memory(void) { return cli_error("out of memory"); }

/* The record of a search is in a temporary file: errors name the command line instead. */
static void word_error(void *context, stream_error *err) {
    const intake *in = context;
    bool searching = in->settings->question == ASK_SEARCH && *err->file;
    char *name = searching ? strstr(err->message, err->file) : NULL;
    if (!name || name == err->message) return;
    char rest[sizeof err->message];
    snprintf(rest, sizeof rest, "%s", name + strlen(err->file) + 1);
    snprintf(name - 1, sizeof err->message - (size_t)(name - 1 - err->message),
             "the command line%s", rest);
}

/* The records of a batch that have values go on, side by side. */
static engine_outcome take_batch(void *context, const stream_batch *b) {
    intake *in = context;
    const stream_selection *s = &in->engine.selection;
    engine_outcome so_far = engine_select(&in->engine, b);
    if (so_far == ENGINE_GO_ON) so_far = engine_refuse(&in->engine, b);
    if (so_far != ENGINE_GO_ON) return so_far;
    accepted records = {
        .count = s->count, .first = in->next, .batch = b, .places = s->places, .rows = s->hashes};
    in->next += s->count;
    in->dropped += s->missing + s->bad;
    if (s->count) in->code = in->each(in->context, &records);
    return in->code == EXIT_DONE ? ENGINE_GO_ON : ENGINE_TROUBLE;
}

static void count_records(void *context, uint64_t *records, uint64_t *seen) {
    *records = ((const intake *)context)->next;
    *seen = PROGRESS_NO_REPEATS;
}

/* A row of too few columns is malformed; any other record without values has none. */
static stream_rules rules_of(const pairs_settings *s, size_t width) {
    bool ragged = s->rows.from == WEIR_FROM_COLUMNS;
    return (stream_rules){.on_missing = ragged ? s->in.on_bad : s->in.on_missing,
                          .on_bad = s->in.on_bad,
                          .width = width,
                          .lateness = -1,
                          .newest = INT64_MIN};
}

/* Texts are compared without case, by the reader's folding of Unicode letters. */
static bool is_text(const pairs_settings *s) {
    return s->rows.from == WEIR_FROM_TEXT || s->rows.from == WEIR_FROM_COSINE;
}

int pairs_read(const pairs_settings *s, const weir_pairs *pairs, const char *const *files,
               size_t file_count, uint64_t *dropped, accepted_fn *each, void *context) {
    static const engine_consumer consumer = {
        .take = take_batch, .word = word_error, .count = count_records};
    row_context rows = {pairs, &s->rows, s->in.in.trim};
    stream_options o = s->in.in;
    weir_pairs_info info;
    weir_pairs_get_info(pairs, &info);
    o.row = pairs_make_row;
    o.hash_context = &rows;
    o.width = info.row_words;
    o.ignore_case |= is_text(s);
    o.json_values = s->rows.from == WEIR_FROM_COLUMNS ? STREAM_TYPED
                    : s->rows.from == WEIR_FROM_SET   ? STREAM_AS_ITEMS
                                                      : STREAM_AS_TEXT;
    intake in = {.settings = s, .each = each, .context = context};
    engine_init(&in.engine, &consumer, &in, &s->in);
    in.engine.rules = rules_of(s, info.row_words);
    engine_outcome how = ENGINE_TROUBLE;
    if (engine_open(&in.engine, &o, files, file_count) == EXIT_DONE) {
        engine_start(&in.engine);
        how = engine_run(&in.engine);
        progress_clear();
    }
    engine_release(&in.engine);
    *dropped = in.dropped;
    return in.code == EXIT_DONE ? engine_exit(how) : in.code;
}

/* ---- workers ---- */

typedef struct {
    uint64_t first, *rows;
    size_t count, room;
    enum { SLOT_FREE, SLOT_FULL, SLOT_TAKEN } state;
} slot;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    slot *slots;
    size_t slot_count, width;
    bool over; /* no more will come */
    weir_status failed;
    weir_error error;
} pool;

typedef struct {
    pool *pool;
    weir_pairs *pairs;
    pthread_t thread;
} worker;

static slot *find_slot(pool *p, int state) {
    for (size_t i = 0; i < p->slot_count; i++)
        if ((int)p->slots[i].state == state) return &p->slots[i];
    return NULL;
}

static void *work(void *context) {
    worker *w = context;
    pool *p = w->pool;
    weir_error err;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        slot *s;
        while (!(s = find_slot(p, SLOT_FULL)) && !p->over) pthread_cond_wait(&p->filled, &p->lock);
        if (!s) break;
        s->state = SLOT_TAKEN;
        pthread_mutex_unlock(&p->lock);
        weir_status status = weir_pairs_add(w->pairs, s->first, s->rows, s->count, &err);
        pthread_mutex_lock(&p->lock);
        if (status != WEIR_OK && !p->failed) {
            p->failed = status;
            p->error = err;
        }
        s->state = SLOT_FREE;
        pthread_cond_signal(&p->freed);
    }
    pthread_mutex_unlock(&p->lock);
    weir_pairs_prepare(w->pairs);
    return NULL;
}

static bool copy_rows(slot *s, const accepted *records, size_t width) {
    const stream_array rows[] = {{&s->rows, width * sizeof *s->rows}};
    if (!stream_make_room(&s->room, records->count, rows, 1)) return false;
    memcpy(s->rows, records->rows, records->count * width * sizeof *s->rows);
    s->first = records->first;
    s->count = records->count;
    return true;
}

static int hand_on(pool *p, const accepted *records) {
    slot *s;
    pthread_mutex_lock(&p->lock);
    while (!(s = find_slot(p, SLOT_FREE))) pthread_cond_wait(&p->freed, &p->lock);
    bool failed = p->failed;
    bool room = !failed && copy_rows(s, records, p->width);
    if (room) s->state = SLOT_FULL;
    pthread_cond_signal(&p->filled);
    pthread_mutex_unlock(&p->lock);
    if (failed) return cli_error("%s", p->error.message);
    return room ? EXIT_DONE : out_of_memory();
}

/* ---- a side ---- */

typedef struct {
    const pairs_settings *settings;
    pairs_side *side;
    size_t width;
    bool keep;
    pool pool;
    worker *workers;
    unsigned worker_count; /* 0: the main thread adds */
} filling;

static int keep_rows(pairs_side *side, const accepted *records, size_t width) {
    size_t need = side->row_count + records->count;
    const stream_array rows[] = {{&side->rows, width * sizeof *side->rows}};
    if (!stream_make_room(&side->row_room, need, rows, 1)) return out_of_memory();
    memcpy(side->rows + side->row_count * width, records->rows,
           records->count * width * sizeof *records->rows);
    side->row_count = need;
    return EXIT_DONE;
}

static int take_records(void *context, const accepted *records) {
    filling *f = context;
    weir_error err;
    f->side->records += records->count;
    if (f->keep) return keep_rows(f->side, records, f->width);
    if (f->worker_count) return hand_on(&f->pool, records);
    if (weir_pairs_add(f->side->pairs, records->first, records->rows, records->count, &err))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

/* A summary like another, in its share of the memory. */
static int new_summary(const pairs_settings *s, const char *spec, weir_pairs **out) {
    weir_error err;
    if (weir_pairs_new(out, spec, &err) != WEIR_OK ||
        (s->folder && weir_pairs_set_folder(*out, s->folder, &err) != WEIR_OK))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

static int start_workers(filling *f, const char *spec, unsigned count) {
    sigset_t all, before;
    int code = EXIT_DONE;
    f->workers = calloc(count, sizeof *f->workers);
    f->pool.slot_count = 2 * (size_t)count;
    f->pool.slots = calloc(f->pool.slot_count, sizeof *f->pool.slots);
    f->pool.width = f->width;
    if (!f->workers || !f->pool.slots) return out_of_memory();
    pthread_mutex_init(&f->pool.lock, NULL);
    pthread_cond_init(&f->pool.filled, NULL);
    pthread_cond_init(&f->pool.freed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; i < count && code == EXIT_DONE; i++) {
        worker *w = &f->workers[i];
        w->pool = &f->pool;
        if (i == 0) w->pairs = f->side->pairs;
        else code = new_summary(f->settings, spec, &w->pairs);
        if (code == EXIT_DONE && pthread_create(&w->thread, NULL, work, w))
            code = cli_error("cannot start a thread; try fewer --threads");
        if (code == EXIT_DONE) f->worker_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static int stop_workers(filling *f, int code) {
    weir_error err;
    if (!f->workers) return code;
    pthread_mutex_lock(&f->pool.lock);
    f->pool.over = true;
    pthread_cond_broadcast(&f->pool.filled);
    pthread_mutex_unlock(&f->pool.lock);
    for (unsigned i = 0; i < f->worker_count; i++) pthread_join(f->workers[i].thread, NULL);
    if (code == EXIT_DONE && f->pool.failed) code = cli_error("%s", f->pool.error.message);
    for (unsigned i = 1; i < f->worker_count; i++) {
        if (code == EXIT_DONE && weir_pairs_merge(f->side->pairs, f->workers[i].pairs, &err))
            code = cli_error("%s", err.message);
        weir_pairs_free(f->workers[i].pairs);
    }
    for (size_t i = 0; i < f->pool.slot_count; i++) free(f->pool.slots[i].rows);
    free(f->pool.slots);
    free(f->workers);
    return code;
}

/* Draw from the system, or with --seed from it and the names of the files: then
 * a run can be repeated, and still two sides, or two parts, draw differently. */
static uint64_t draw_for(const pairs_settings *s, const char *const *files, size_t count,
                         unsigned number) {
    uint64_t h = s->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (size_t i = 0; i < count; i++)
        for (const char *c = files[i]; *c; c++)
            h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return h + number * UINT64_C(0x9e3779b97f4a7c15);
}

/* The memory that was asked for, and the length of the spec without it: it stands
 * last there. */
static uint64_t asked_memory(const pairs_settings *s, size_t *length) {
    char given[64];
    uint64_t bytes = 256u << 20;
    *length = strlen(s->maker);
    if (!weir_spec_get(s->maker, "memory", given, sizeof given)) return bytes;
    weir_parse_size(given, &bytes, NULL);
    *length -= strlen(",memory=") + strlen(given);
    return bytes;
}

/* Workers share the memory; with little of it there are fewer. */
static unsigned worker_count(const pairs_settings *s, bool keep) {
    size_t length;
    uint64_t most = asked_memory(s, &length) / WORKER_MEMORY;
    unsigned threads = keep || most < 1 ? 1 : s->in.in.threads;
    return threads <= most || most < 1 ? threads : (unsigned)most;
}

static int side_spec(char out[SPEC_SIZE], const pairs_settings *s, const char *const *files,
                     size_t count, unsigned number, unsigned workers) {
    char draw[32] = "";
    size_t length;
    uint64_t bytes = asked_memory(s, &length) / workers;
    if (s->seeded)
        snprintf(draw, sizeof draw, ",draw=%llu",
                 (unsigned long long)draw_for(s, files, count, number));
    int n = snprintf(out, SPEC_SIZE, "%.*s%s,memory=%llu", (int)length, s->maker, draw,
                     (unsigned long long)bytes);
    return n < SPEC_SIZE ? EXIT_DONE : cli_error("the options are too long");
}

static int fill_from_records(pairs_side *side, const pairs_settings *s, const char *const *files,
                             size_t file_count, unsigned number, bool keep) {
    char spec[SPEC_SIZE];
    unsigned workers = worker_count(s, keep);
    filling f = {.settings = s, .side = side, .keep = keep};
    weir_pairs_info info;
    int code = side_spec(spec, s, files, file_count, number, workers);
    if (code == EXIT_DONE) code = new_summary(s, spec, &side->pairs);
    if (code != EXIT_DONE) return code;
    weir_pairs_get_info(side->pairs, &info);
    f.width = info.row_words;
    /* all workers draw alike: their records have different numbers */
    char whole[SPEC_SIZE];
    weir_pairs_spec(side->pairs, whole, sizeof whole);
    if (workers > 1) code = start_workers(&f, whole, workers);
    if (code == EXIT_DONE)
        code = pairs_read(s, side->pairs, files, file_count, &side->dropped, take_records, &f);
    return stop_workers(&f, code); /* NOLINT(clang-analyzer-unix.Malloc): it frees the pool */
}

bool pairs_is_summary(const char *path) {
    unsigned char mark[5];
    if (spool_is_needed(path)) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, mark, sizeof mark) == sizeof mark && !memcmp(mark, "\x89weir", 5);
    if (fd >= 0) close(fd);
    return is;
}

static int fill_from_summaries(pairs_side *side, const pairs_settings *s, const char *const *files,
                               size_t file_count) {
    int code = pairs_load(side, s, files[0]);
    for (size_t i = 1; i < file_count && code == EXIT_DONE; i++) {
        pairs_side other = {0};
        weir_error err;
        code = pairs_load(&other, s, files[i]);
        if (code == EXIT_DONE) code = pairs_check_notes(side, files[0], &other, files[i]);
        if (code == EXIT_DONE && weir_pairs_merge(side->pairs, other.pairs, &err) != WEIR_OK)
            code = cli_error("'%s' and '%s': %s", files[0], files[i], err.message);
        side->records += other.records;
        pairs_side_release(&other);
    }
    return code;
}

int pairs_fill(pairs_side *side, const pairs_settings *s, const char *const *files,
               size_t file_count, unsigned number, bool keep) {
    size_t summaries = 0;
    for (size_t i = 0; i < file_count; i++) summaries += pairs_is_summary(files[i]);
    if (summaries && summaries < file_count)
        return cli_error("summaries and records cannot be read together");
    if (summaries && keep) return cli_error("--exact and --list need the records, not a summary");
    if (summaries) return fill_from_summaries(side, s, files, file_count);
    if (!s->columns)
        return cli_error("nothing to compare is named: give --columns, --text or --set");
    return fill_from_records(side, s, files, file_count, number, keep);
}

void pairs_side_release(pairs_side *side) {
    weir_pairs_free(side->pairs);
    free(side->rows);
    free(side->note);
    memset(side, 0, sizeof *side);
}

/* ---- the note ----
 *
 * How the records of a summary were read, a line each: format, header, null, case, trim,
 * and what makes a row of them. */

static int write_note(const pairs_settings *s, char *note, size_t size) {
    const stream_options *in = &s->in.in;
    int n = snprintf(note, size, "format=%s\n%s%s%s%sparts=%u\n", s->in.format,
                     in->header ? "header=1\n" : "", in->terminator == 0 ? "null=1\n" : "",
                     in->ignore_case ? "case=1\n" : "", in->trim ? "trim=1\n" : "", s->rows.parts);
    if (s->rows.from == WEIR_FROM_SET && n < (int)size) {
        n += snprintf(note + n, size - (size_t)n, "split=");
        for (const char *c = s->rows.split; *c && n < (int)size; c++)
            n += snprintf(note + n, size - (size_t)n, "%02x", (unsigned char)*c);
        if (n < (int)size) n += snprintf(note + n, size - (size_t)n, "\n");
    }
    for (unsigned i = 0; i < s->rows.parts && n < (int)size; i++)
        if (s->rows.round[i] > 0)
            n += snprintf(note + n, size - (size_t)n, "round=%u %.17g\n", i, s->rows.round[i]);
    if (s->fields && n < (int)size)
        n += snprintf(note + n, size - (size_t)n, "fields=%s\n", s->fields);
    return n < (int)size ? n : -1;
}

int pairs_save(const pairs_settings *s, pairs_side *side) {
    char fresh[NOTE_SIZE];
    const char *note = side->note ? side->note : fresh;
    weir_snapshot *snapshot;
    weir_error err;
    int length = side->note ? (int)strlen(side->note) : write_note(s, fresh, sizeof fresh);
    if (length < 0) return cli_error("the names of the columns are too long to save");
    weir_status status = weir_snapshot_new(&snapshot, &err);
    if (status == WEIR_OK) status = weir_snapshot_put_pairs(snapshot, "pairs", side->pairs, &err);
    if (status == WEIR_OK)
        status = weir_snapshot_put_note(snapshot, "fields", note, (size_t)length, &err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, s->save, &err);
    weir_snapshot_free(snapshot);
    return status == WEIR_OK ? EXIT_DONE : cli_error("%s", err.message);
}

static void read_split(pairs_rows *rows, const char *hex) {
    size_t n = 0;
    for (unsigned c; n + 1 < sizeof rows->split && sscanf(hex + 2 * n, "%2x", &c) == 1; n++)
        rows->split[n] = (char)c;
    rows->split[n] = 0;
}

static void read_note_line(pairs_settings *s, char *line) {
    char *value = strchr(line, '=');
    stream_error ignored;
    if (!value) return;
    *value++ = 0;
    unsigned part;
    double step;
    if (!strcmp(line, "format")) {
        s->in.format = value;
        stream_parse_format(value, &s->in.in.format, &s->in.in.record_size, &ignored);
    } else if (!strcmp(line, "header")) s->in.in.header = atoi(value);
    else if (!strcmp(line, "null")) s->in.in.terminator = atoi(value) ? 0 : '\n';
    else if (!strcmp(line, "case")) s->in.in.ignore_case = atoi(value);
    else if (!strcmp(line, "trim")) s->in.in.trim = atoi(value);
    else if (!strcmp(line, "parts")) s->rows.parts = (unsigned)atoi(value) % 65;
    else if (!strcmp(line, "split")) read_split(&s->rows, value);
    else if (!strcmp(line, "fields")) s->fields = value;
    else if (!strcmp(line, "round") && sscanf(value, "%u %lf", &part, &step) == 2 && part < 64)
        s->rows.round[part] = step;
}

void pairs_apply_note(pairs_settings *s, pairs_side *side) {
    weir_pairs_info info;
    weir_pairs_get_info(side->pairs, &info);
    s->columns = info.columns;
    s->threshold = info.threshold;
    s->signatures = info.signatures;
    s->rows.from = info.from;
    if (info.group) s->group = info.group;
    s->note = side->note ? strdup(side->note) : NULL;
    for (char *line = s->note, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        read_note_line(s, line);
    }
    s->rows.json = s->in.in.format == STREAM_JSON && s->rows.parts > 0;
}

/* The spec of a summary for another like it, which draws for itself and has its own memory. */
static void adopt_spec(pairs_settings *s, const weir_pairs *pairs) {
    static const char *const own[] = {"draw", "memory"};
    char saved[SPEC_SIZE], memory[64], dropped[64];
    weir_pairs_info info;
    bool asked = weir_spec_get(s->maker, "memory", memory, sizeof memory);
    weir_pairs_spec(pairs, saved, sizeof saved);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        weir_spec_take(saved, own[i], dropped, sizeof dropped);
    snprintf(s->maker, sizeof s->maker, "%.900s%s%s", saved, asked ? ",memory=" : "",
             asked ? memory : "");
    weir_pairs_get_info(pairs, &info);
    s->seed = info.seed;
}

int pairs_adopt(pairs_settings *s, pairs_side *side, const char *path) {
    pairs_settings given = *s;
    pairs_apply_note(s, side);
    bool typed = s->rows.from == WEIR_FROM_COLUMNS && s->in.in.format == STREAM_JSON;
    if (given.formatted && s->rows.from == WEIR_FROM_COLUMNS && side->note &&
        typed != (given.in.in.format == STREAM_JSON))
        return cli_error("'%s' was made with --format %s, not %s: JSON values have types and equal "
                         "no others; convert the records, or make the summary anew from such",
                         path, s->in.format, given.in.format);
    if (given.formatted) {
        s->in.format = given.in.format;
        s->in.in.format = given.in.in.format;
        s->in.in.record_size = given.in.in.record_size;
        s->in.in.header = given.in.in.header;
        s->in.in.terminator = given.in.in.terminator;
    }
    if (given.fields) {
        s->fields = given.fields;
        s->rows.parts = given.rows.parts;
    }
    /* `.` is the value of a line of JSON, which is a part; else the record, which is none */
    if (s->rows.from != WEIR_FROM_COLUMNS && s->fields && !strcmp(s->fields, "."))
        s->rows.parts = s->in.in.format == STREAM_JSON;
    s->rows.json = s->in.in.format == STREAM_JSON && s->rows.parts > 0;
    s->in.in.key = s->rows.parts ? s->fields : NULL;
    adopt_spec(s, side->pairs);
    return EXIT_DONE;
}

static int contradicts(const char *path, const char *own, const char *asked) {
    return cli_error("'%s' was made %s, not %s; leave out the option, or make it anew from the "
                     "records",
                     path, own, asked);
}

/* Whether two lists have the same characters, in any order. */
static bool same_characters(const char *a, const char *b) {
    return !a[strspn(a, b)] && !b[strspn(b, a)];
}

/* Does the note of a summary agree with what the command line says of records? In a join
 * the other side may have another format, and call its columns otherwise. */
static int check_note(const pairs_settings *s, const pairs_settings *noted, const char *path) {
    char own[1024], asked[1024];
    bool words = noted->rows.from == WEIR_FROM_TEXT || noted->rows.from == WEIR_FROM_COSINE;
    bool rounded = false, alike = true;
    for (unsigned i = 0; i < PAIRS_COLUMNS_MOST; i++) {
        rounded |= s->rows.round[i] > 0;
        alike &= s->rows.round[i] == noted->rows.round[i];
    }
    snprintf(own, sizeof own, "of '%.1000s'", noted->fields ? noted->fields : "");
    snprintf(asked, sizeof asked, "of '%.1000s'", s->fields ? s->fields : "");
    if (s->question != ASK_JOIN && s->fields && noted->fields && strcmp(own, asked) != 0)
        return contradicts(path, own, asked);
    snprintf(own, sizeof own, "with --format %.100s", noted->in.format);
    if (s->question != ASK_JOIN && s->formatted && strcmp(s->in.format, noted->in.format) != 0)
        return contradicts(path, own, s->in.format);
    if (s->in.in.ignore_case && !noted->in.in.ignore_case && !words)
        return contradicts(path, "without --ignore-case", "with it");
    if (s->in.in.trim && !noted->in.in.trim && !words)
        return contradicts(path, "without --trim", "with it");
    if (s->split_given && !same_characters(s->rows.split, noted->rows.split))
        return contradicts(path, "with another --split", "with this");
    if (rounded && !alike) return contradicts(path, "with another --round", "with this");
    return EXIT_DONE;
}

/* Does its spec agree with what the command line says of the summary? */
static int check_spec(const pairs_side *side, const pairs_settings *s, const char *path) {
    static const char *const names[] = {"columns", "threshold", "sample",  "method",    "width",
                                        "depth",   "counter",   "repeats", "from",      "shingle",
                                        "unit",    "group",     "seed",    "signatures"};
    char saved[SPEC_SIZE], asked[64], own[64], made[160];
    weir_pairs_spec(side->pairs, saved, sizeof saved);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (weir_spec_get(s->asked, names[i], asked, sizeof asked) &&
            weir_spec_get(saved, names[i], own, sizeof own) &&
            !weir_spec_same("pairs", names[i], asked, own)) {
            snprintf(made, sizeof made, "with %s=%s", names[i], own);
            return contradicts(path, made, asked);
        }
    return EXIT_DONE;
}

/* ---- two summaries ----
 *
 * They may differ in how records were laid out and in what columns were called, not in what
 * makes values equal: such values would not meet, and too few pairs be counted. */

enum { MADE_SIZE = 160 }; /* bytes of the words for one difference */

static void print_split(char *out, const char *split) {
    int n = snprintf(out, MADE_SIZE, "with --split '");
    for (; *split; split++)
        n += snprintf(out + n, MADE_SIZE - (size_t)n, *split >= ' ' ? "%c" : "\\x%02x",
                      (unsigned char)*split);
    snprintf(out + n, MADE_SIZE - (size_t)n, "'");
}

static void print_round(char *out, unsigned column, double step) {
    if (step > 0) snprintf(out, MADE_SIZE, "with --round %g for column %u", step, column + 1);
    else snprintf(out, MADE_SIZE, "without --round for column %u", column + 1);
}

static void print_given(char *out, const char *option, bool given) {
    snprintf(out, MADE_SIZE, given ? "with --%s" : "without --%s", option);
}

/* How the first of them was made and how the second, if that differs; else false. */
static bool made_otherwise(const pairs_settings *const two[2], char made[2][MADE_SIZE]) {
    const pairs_settings *a = two[0], *b = two[1];
    bool words = a->rows.from == WEIR_FROM_TEXT || a->rows.from == WEIR_FROM_COSINE;
    bool cased = !words && a->in.in.ignore_case != b->in.in.ignore_case;
    bool trimmed = !words && a->in.in.trim != b->in.in.trim;
    bool split = a->rows.from == WEIR_FROM_SET && !same_characters(a->rows.split, b->rows.split);
    bool typed = a->rows.from == WEIR_FROM_COLUMNS && a->rows.json != b->rows.json;
    unsigned column = 0;
    while (column < PAIRS_COLUMNS_MOST && a->rows.round[column] == b->rows.round[column]) column++;
    bool rounded = a->rows.from == WEIR_FROM_COLUMNS && column < PAIRS_COLUMNS_MOST;
    for (size_t i = 0; i < 2; i++) {
        if (cased) print_given(made[i], "ignore-case", two[i]->in.in.ignore_case);
        else if (trimmed) print_given(made[i], "trim", two[i]->in.in.trim);
        else if (split) print_split(made[i], two[i]->rows.split);
        else if (typed) snprintf(made[i], MADE_SIZE, "with --format %.100s", two[i]->in.format);
        else if (rounded) print_round(made[i], column, two[i]->rows.round[column]);
    }
    return cased || trimmed || split || typed || rounded;
}

int pairs_check_notes(pairs_side *a, const char *path_a, pairs_side *b, const char *path_b) {
    pairs_settings noted[2];
    char made[2][MADE_SIZE];
    pairs_side *const sides[] = {a, b};
    bool differ = false;
    for (size_t i = 0; i < 2; i++) {
        noted[i] = (pairs_settings){.in = reading_defaults(), .rows = {.split = PAIRS_SPLIT}};
        pairs_apply_note(&noted[i], sides[i]);
    }
    if (noted[0].note && noted[1].note && noted[0].rows.from == noted[1].rows.from)
        differ = made_otherwise((const pairs_settings *[]){&noted[0], &noted[1]}, made);
    int code = !differ ? EXIT_DONE
                       : cli_error("'%s' was made %s, '%s' %s, so their values do not compare; "
                                   "make one anew from its records, as the other was",
                                   path_a, made[0], path_b, made[1]);
    for (size_t i = 0; i < 2; i++) free(noted[i].note);
    return code;
}

static int check_asked(pairs_side *side, const pairs_settings *s, const char *path) {
    pairs_settings noted = {.in = reading_defaults(), .rows = {.split = PAIRS_SPLIT}};
    pairs_apply_note(&noted, side);
    int code = noted.note ? check_note(s, &noted, path) : EXIT_DONE;
    free(noted.note);
    return code == EXIT_DONE ? check_spec(side, s, path) : code;
}

int pairs_load(pairs_side *side, const pairs_settings *s, const char *path) {
    weir_snapshot *snapshot;
    weir_error err;
    weir_pairs_info info;
    if (weir_snapshot_read(&snapshot, path, &err) != WEIR_OK) return cli_error("%s", err.message);
    size_t length = 0;
    const char *note = weir_snapshot_note(snapshot, "fields", &length);
    side->note = note ? strndup(note, length) : NULL;
    side->pairs = weir_snapshot_take_pairs(snapshot, "pairs");
    weir_snapshot_free(snapshot);
    if (!side->pairs)
        return cli_error("'%s' holds no summary of pairs; `weir pairs --save` makes one", path);
    if (side->note && strncmp(side->note, "format=", strlen("format=")) != 0)
        return cli_error("'%s' does not say in a way known here how its records were read; make it "
                         "anew from them",
                         path);
    weir_pairs_get_info(side->pairs, &info);
    side->records = info.records;
    side->loaded = true;
    return check_asked(side, s, path);
}
