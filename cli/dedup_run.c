/* dedup_run.c - the loop of `weir dedup`: batches in, verdicts, records out.
 *
 * The reader hands over batches of records with hashed keys, the filter gives
 * its verdicts on the whole batch, the writer copies what was asked for. A
 * batch in which every record has a key goes straight through; one with
 * exceptions (no key, malformed, late, a header) is judged without them and
 * put together again.
 *
 * Output and state agree at all times. A save first commits the output (on the
 * disk, under its own name), then writes the state with the note of how far
 * both have come; a crash between the two leaves a state that claims less than
 * was written, and resuming cuts the rest off. A run that fails cuts it off
 * itself.
 *
 * Signals ask the loop to stop: it finishes the batch, saves and leaves. A
 * second one leaves at once; what was saved stays good.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "dedup.h"
#include "report.h"
#include "run_note.h"
#include "run_output.h"
#include "state_lock.h"
#include "stopping.h"

#define AUDIT_MEMORY (4u << 20)
#define LOOK_EVERY (100 * 1000000LL) /* ns between looks at whether the filter is full */
#define FULL_LEAST 0.25              /* below this fill it is not for want of room that keys go */
#define MORE_MEMORY 4                /* times what was asked for: what a warning suggests */
#define ROOM_FOR_ALL 0.5 /* of the room: with more keys some find none where they belong */
#define TICK_MS 200      /* so often a waiting run redraws its progress */

/* How the loop ended. */
typedef enum {
    GO_ON,
    ALL_READ,
    STOPPED, /* by a signal */
    CLOSED,  /* nobody reads the output any more */
    TROUBLE  /* a message has been printed */
} outcome;

/* Records that the filter does not judge, beside the reader's own words. */
enum { RECORD_LATE = 100 };

typedef struct {
    const dedup_settings *settings;
    weir_filter *filter;
    weir_audit *audit;
    stream_reader *reader;
    run_output output;
    state_lock lock;
    run_input *inputs;
    run_point point; /* how far it has come */
    bool resumed;
    uint64_t records_before;        /* of the run that is resumed, */
    uint64_t written_before;        /* and those that it let through */
    bool arrival_times;             /* the window is a duration, and there is no --time */
    int64_t started, saved, looked; /* on the monotonic clock, ns */
    uint64_t records_saved;         /* records at the last save */
    bool was_overfull;
    bool was_beyond;  /* its bound */
    double keys_room; /* for so many keys the filter had room when the run began; 0: unknown */
    bool on_screen;   /* records go to a terminal */
    bool by_file;     /* a tree, several files and no --producer: a file is a producer */

    /* room for one batch */
    size_t room;
    uint64_t *verdicts, *drop, *compact; /* bits */
    uint64_t *hashes;
    int64_t *times;
    double *importances;
    uint64_t *producers;
    uint8_t *kinds;
} dedup;

static outcome stream_trouble(const dedup *d, stream_status status, stream_error *err) {
    if (status == STREAM_CLOSED) return CLOSED;
    run_output_rename_error(&d->output, err);
    cli_error("%s", err->message);
    return TROUBLE;
}

static outcome out_of_memory(void) {
    cli_error("out of memory");
    return TROUBLE;
}

/* --- saving -------------------------------------------------------------------------- */

static weir_status write_snapshot(dedup *d, const char *note, size_t length, weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status != WEIR_OK) return status;
    status = weir_snapshot_put_filter(snapshot, "filter", d->filter, err);
    if (status == WEIR_OK && d->audit)
        status = weir_snapshot_put_audit(snapshot, "audit", d->audit, err);
    if (status == WEIR_OK) status = weir_snapshot_put_note(snapshot, "run", note, length, err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, d->settings->state, err);
    weir_snapshot_free(snapshot);
    return status;
}

/* The output first, then the state that speaks of it. */
static outcome save(dedup *d, bool complete) {
    stream_error failed;
    weir_error err;
    size_t length;
    stream_status status = run_output_commit(&d->output, true, &failed);
    if (status != STREAM_OK) return stream_trouble(d, status, &failed);
    d->point.mark = d->output.mark;
    d->point.complete = complete;
    char *note = run_note_write(d->settings, d->inputs, &d->point, &length);
    if (!note) return out_of_memory();
    weir_status saved = write_snapshot(d, note, length, &err);
    free(note);
    if (saved != WEIR_OK) {
        cli_error("%s", err.message);
        return TROUBLE;
    }
    run_output_settle(&d->output);
    d->saved = clock_now(CLOCK_MONOTONIC);
    d->records_saved = d->point.counts.records;
    return GO_ON;
}

/* --- one batch ------------------------------------------------------------------------ */

static bool make_room(dedup *d, size_t count) {
    if (count <= d->room) return true;
    size_t room = count + count / 2 + 64, words = WEIR_VERDICT_WORDS(room);
    void *verdicts = realloc(d->verdicts, words * 8);
    if (verdicts) d->verdicts = verdicts;
    void *drop = realloc(d->drop, words * 8);
    if (drop) d->drop = drop;
    void *compact = realloc(d->compact, words * 8);
    if (compact) d->compact = compact;
    void *hashes = realloc(d->hashes, room * sizeof *d->hashes);
    if (hashes) d->hashes = hashes;
    void *times = realloc(d->times, room * sizeof *d->times);
    if (times) d->times = times;
    void *importances = realloc(d->importances, room * sizeof *d->importances);
    if (importances) d->importances = importances;
    void *producers = realloc(d->producers, room * sizeof *d->producers);
    if (producers) d->producers = producers;
    void *kinds = realloc(d->kinds, room);
    if (kinds) d->kinds = kinds;
    if (!verdicts || !drop || !compact || !hashes || !times || !importances || !producers || !kinds)
        return false;
    d->room = room;
    return true;
}

/* Verdicts on keys; times that the caller does not know are filled in here. */
static void judge(dedup *d, weir_batch keys, uint64_t *verdicts) {
    size_t count = keys.count;
    if (!count) return;
    if (d->arrival_times) {
        int64_t now = clock_now(CLOCK_REALTIME);
        if (now > d->point.newest) d->point.newest = now;
        for (size_t i = 0; i < count; i++) d->times[i] = d->point.newest;
        keys.times = d->times;
    }
    size_t seen = weir_filter_offer_batch(d->filter, &keys, verdicts);
    if (d->audit) weir_audit_observe(d->audit, &keys, verdicts);
    d->point.counts.seen += seen;
    d->point.counts.new_records += count - seen;
}

static stream_status emit(dedup *d, const stream_batch *b, const uint64_t *drop,
                          stream_error *err) {
    switch (d->settings->emit) {
    case EMIT_NEW:
        return stream_write_records(d->output.writer, b, d->verdicts, false, err);
    case EMIT_SEEN:
        return stream_write_records(d->output.writer, b, d->verdicts, true, err);
    case EMIT_ALL:
        return stream_write_marked(d->output.writer, b, d->verdicts, drop, err);
    case EMIT_VERDICTS:
        return stream_write_verdicts(d->output.writer, b, d->verdicts, drop, err);
    }
    return STREAM_OK;
}

/* Event time runs forward for the filter: a record that comes out of order is
 * judged as of the latest time so far. One that is later than allowed is not
 * judged at all. */
static bool on_time(dedup *d, int64_t *time) {
    if (*time >= d->point.newest) {
        d->point.newest = *time;
        return true;
    }
    bool late = d->settings->lateness >= 0 && d->point.newest - *time > d->settings->lateness;
    *time = d->point.newest;
    return !late;
}

/* Pick the records to be judged; the others' kinds are remembered. */
static size_t pick(dedup *d, const stream_batch *b) {
    size_t n = 0;
    for (size_t i = 0; i < b->count; i++) {
        uint8_t kind = b->status ? b->status[i] : STREAM_RECORD_OK;
        int64_t time = b->times ? b->times[i] : 0;
        if (kind == STREAM_RECORD_OK && b->times && !on_time(d, &time)) kind = RECORD_LATE;
        d->kinds[i] = kind;
        if (kind != STREAM_RECORD_OK) continue;
        d->hashes[n] = b->hashes[i];
        d->times[n] = time;
        if (b->numbers) d->importances[n] = b->numbers[i];
        if (b->labels) d->producers[n] = b->labels[i];
        n++;
    }
    return n;
}

/* Count a record that was not judged; true if it is let through. */
static bool passes(dedup *d, uint8_t kind) {
    run_counts *c = &d->point.counts;
    unjudged what = DO_PASS;
    if (kind == STREAM_HEADER) return true;
    if (kind == STREAM_MISSING) c->missing++, what = d->settings->from.on_missing;
    if (kind == STREAM_BAD) c->bad++, what = d->settings->from.on_bad;
    if (kind == RECORD_LATE) c->late++;
    c->passed += what == DO_PASS;
    return what == DO_PASS;
}

/* The same producer for all of a batch, which is of one file. By its name, so that a file
 * keeps its leaf when others come beside it. */
static const uint64_t *file_as_producer(dedup *d, const stream_batch *b) {
    uint64_t producer = weir_filter_hash(d->filter, b->file, strlen(b->file));
    for (size_t i = 0; i < b->count; i++) d->producers[i] = producer;
    return d->producers;
}

/* A batch with exceptions: judge the others, then put the verdicts in their
 * places. What is let through counts as new, what is dropped is never written,
 * and a header is written wherever records are. */
static stream_status take_mixed(dedup *d, const stream_batch *b, stream_error *err) {
    size_t words = WEIR_VERDICT_WORDS(b->count), next = 0;
    emit_mode mode = d->settings->emit;
    weir_batch keys = {.count = pick(d, b), .hashes = d->hashes};
    if (b->times) keys.times = d->times;
    if (b->numbers) keys.importances = d->importances;
    if (b->labels) keys.producers = d->producers;
    if (d->by_file) keys.producers = file_as_producer(d, b);
    judge(d, keys, d->compact);
    memset(d->verdicts, 0, words * 8);
    memset(d->drop, 0, words * 8);
    for (size_t i = 0; i < b->count; i++) {
        uint64_t bit = 1ull << (i % 64);
        if (d->kinds[i] == STREAM_RECORD_OK) {
            if (d->compact[next / 64] >> (next % 64) & 1) d->verdicts[i / 64] |= bit;
            next++;
        } else if (!passes(d, d->kinds[i])) {
            d->drop[i / 64] |= bit;
            if (mode == EMIT_NEW) d->verdicts[i / 64] |= bit;
        } else if (d->kinds[i] == STREAM_HEADER) {
            d->point.counts.records--; /* it is not a record */
            if (mode == EMIT_SEEN) d->verdicts[i / 64] |= bit;
        }
    }
    return emit(d, b, d->drop, err);
}

static stream_status take_plain(dedup *d, const stream_batch *b, stream_error *err) {
    weir_batch keys = {
        .count = b->count, .hashes = b->hashes, .producers = b->labels, .importances = b->numbers};
    if (d->by_file) keys.producers = file_as_producer(d, b);
    judge(d, keys, d->verdicts);
    return emit(d, b, NULL, err);
}

/* The first record that the settings do not tolerate, or count. */
static size_t first_intolerable(const dedup *d, const stream_batch *b) {
    bool missing = b->missing && d->settings->from.on_missing == DO_FAIL;
    bool bad = b->bad && d->settings->from.on_bad == DO_FAIL;
    if (!b->status || (!missing && !bad)) return b->count;
    for (size_t i = 0; i < b->count; i++)
        if ((missing && b->status[i] == STREAM_MISSING) || (bad && b->status[i] == STREAM_BAD))
            return i;
    return b->count;
}

static outcome take_batch(dedup *d, const stream_batch *whole) {
    stream_error err;
    stream_status status = STREAM_OK;
    if (!make_room(d, whole->count)) return out_of_memory();
    stream_batch b = *whole;
    b.count = first_intolerable(d, whole);
    if (b.count < whole->count) b.open_end = false;
    d->point.counts.records += b.count;
    d->point.counts.bytes_in += b.offsets[b.count] - b.offsets[0];
    if (b.count && (b.status || b.times)) status = take_mixed(d, &b, &err);
    else if (b.count) status = take_plain(d, &b, &err);
    if (status != STREAM_OK) return stream_trouble(d, status, &err);
    if (b.count < whole->count) {
        stream_record_error(d->reader, whole, b.count, &err);
        return stream_trouble(d, STREAM_FAILED, &err);
    }
    d->point.position = whole->after;
    d->point.open_end = whole->open_end;
    return GO_ON;
}

/* --- between batches -------------------------------------------------------------------- */

/* The memory that was asked for, which is a little more than what is held. */
static uint64_t asked_memory(const char *spec, const weir_filter_info *info) {
    char value[64];
    uint64_t bytes = info->memory;
    if (spec_get(spec, "memory", value, sizeof value)) weir_parse_size(value, &bytes, NULL);
    return bytes;
}

static void warn_over_capacity(const dedup *d, const weir_filter_info *info) {
    char now[32], capacity[32];
    bool planned = !spec_get(d->settings->spec, "capacity", capacity, sizeof capacity);
    cli_warn("more keys came than the filter was made for: new records are now lost at a rate "
             "of %s; give it %s",
             weir_print_rate(now, info->fpr_now), planned ? "more --memory" : "a higher capacity");
}

/* A window of records needs only so much memory, and `recent` takes no more. */
static void warn_window(const weir_filter_info *info, uint64_t memory) {
    char more[32];
    if (info->memory < memory)
        cli_warn("some keys of the window had to go before their time, as a few do by chance: "
                 "repeats may pass; more --memory would change nothing");
    else
        cli_warn("some keys of the window had to go before their time: repeats may pass; "
                 "--memory %s would keep more of them",
                 weir_print_size(more, memory * MORE_MEMORY));
}

static void warn_full(const dedup *d, uint64_t memory) {
    char now[32], more[32], keys[32], room[48] = "hold more";
    if (d->keys_room > 0)
        snprintf(room, sizeof room, "do for about %s",
                 weir_print_count(keys, d->keys_room * MORE_MEMORY * ROOM_FOR_ALL));
    cli_warn("the keys no longer fit %s: repeats may pass; --memory %s would %s",
             weir_print_size(now, memory), weir_print_size(more, memory * MORE_MEMORY), room);
}

static void warn_forgetting(const dedup *d, const weir_filter_info *info) {
    char *spec = report_spec(d->filter), window[64];
    bool renew;
    if (!spec) return;
    uint64_t memory = asked_memory(spec, info);
    if (spec_window(spec, window, sizeof window, &renew)) warn_window(info, memory);
    else if (info->fill >= FULL_LEAST) warn_full(d, memory);
    else
        cli_warn("the filter '%s' has begun to forget, as it does long before it is full: repeats "
                 "may pass; 'recent' forgets nothing while the keys fit",
                 info->name);
    free(spec);
}

static bool is_beyond(const weir_filter_info *info) {
    return info->overfull && info->fpr_now > info->fpr_bound * 1.01;
}

/* Say once that the filter has begun to forget, or is beyond its bound, and what would help. One
 * that forgets nothing is no worse for having more keys until it is beyond. */
static void look_at_fill(dedup *d) {
    weir_filter_info info;
    if (d->was_beyond) return;
    weir_filter_get_info(d->filter, &info);
    bool forgets = info.overfull && !info.keeps_all;
    if (is_beyond(&info)) warn_over_capacity(d, &info);
    else if (forgets && !d->was_overfull) warn_forgetting(d, &info);
    d->was_overfull = info.overfull;
    d->was_beyond = is_beyond(&info);
}

/* A key that no record has is most likely misspelled. */
static void look_at_missing(const dedup *d) {
    const run_counts *c = &d->point.counts;
    const char *key = d->settings->from.in.key;
    char records[32];
    if (!key || !c->records || c->missing < c->records) return;
    cli_warn("nothing was compared: of %s record%s none has the key '%s'; look at --key, or at "
             "--on-missing",
             weir_print_count(records, (double)c->records), c->records == 1 ? "" : "s", key);
}

static void show_progress(dedup *d) {
    stream_progress p;
    stream_get_progress(d->reader, &p);
    progress_update(d->point.counts.records, d->point.counts.seen, p.raw_bytes);
}

static outcome between_batches(dedup *d) {
    int64_t now = clock_now(CLOCK_MONOTONIC);
    show_progress(d);
    if (now - d->looked >= LOOK_EVERY) {
        d->looked = now;
        look_at_fill(d);
    }
    bool dirty = d->point.counts.records != d->records_saved;
    if (d->settings->state && dirty && now - d->saved >= d->settings->save_every)
        return save(d, false);
    return GO_ON;
}

/* How long the reader may wait for input: until something else is to be done. */
static int waiting_time(const dedup *d) {
    int64_t wait = INT64_MAX;
    if (d->settings->state && d->point.counts.records != d->records_saved) {
        wait = (d->saved + d->settings->save_every - clock_now(CLOCK_MONOTONIC)) / 1000000 + 1;
        if (wait < 0) wait = 0;
    }
    if (progress_is_on() && wait > TICK_MS) return TICK_MS;
    return wait < 3600000 ? (int)wait : -1;
}

static outcome flush(dedup *d) {
    stream_error err;
    stream_status status = stream_writer_flush(d->output.writer, &err);
    return status == STREAM_OK ? GO_ON : stream_trouble(d, status, &err);
}

/* On a screen with both, the progress makes way for records, and comes back after whole ones. */
static outcome take_and_show(dedup *d, const stream_batch *batch) {
    if (d->on_screen) progress_clear();
    outcome so_far = take_batch(d, batch);
    return so_far == GO_ON && d->on_screen ? flush(d) : so_far;
}

static outcome pump(dedup *d) {
    const stream_batch *batch;
    stream_error err;
    bool idle = false; /* everything that has come is passed on */
    while (!stopping_signal) {
        stream_status status = stream_next(d->reader, idle ? waiting_time(d) : 0, &batch, &err);
        outcome so_far = GO_ON;
        if (status == STREAM_BATCH) {
            so_far = take_and_show(d, batch);
            idle = false;
        } else if (status == STREAM_IDLE && !idle) {
            so_far = flush(d);
            idle = true;
        } else if (status == STREAM_END) {
            return ALL_READ;
        } else if (status == STREAM_FAILED) {
            return stream_trouble(d, status, &err);
        }
        if (so_far == GO_ON) so_far = between_batches(d);
        if (so_far != GO_ON) return so_far;
    }
    return STOPPED;
}

/* --- beginning ------------------------------------------------------------------------- */

static int begin_audit(dedup *d) {
    const dedup_settings *s = d->settings;
    weir_filter_info info;
    weir_error err;
    if (d->audit || !s->audit) return EXIT_DONE;
    weir_filter_get_info(d->filter, &info);
    if (info.offered)
        return cli_error("the state file '%s' has no audit, and one cannot begin in the middle: "
                         "what came before is not known; leave out --audit or start a new state",
                         s->state);
    char *spec = report_spec(d->filter), value[64];
    if (!spec) return cli_error("out of memory");
    int64_t window = 0;
    bool is_time = false, renew = false;
    if (spec_window(spec, value, sizeof value, &renew)) {
        uint64_t count = 0;
        is_time = spec_is_duration(value);
        if (is_time) weir_parse_duration(value, &window, NULL);
        else if (weir_parse_count(value, &count, NULL) == WEIR_OK) window = (int64_t)count;
    }
    free(spec);
    if (weir_audit_new(&d->audit, AUDIT_MEMORY, s->audit_one_in, window, is_time, renew, &err))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

/* The saved filter must be the one that is asked for. */
static int check_filter(const dedup *d) {
    const dedup_settings *s = d->settings;
    char difference[256];
    char *spec = report_spec(d->filter);
    if (!spec) return cli_error("out of memory");
    bool fits = spec_fits(s->spec, s->kind_given, spec, difference, sizeof difference);
    free(spec);
    if (fits) return EXIT_DONE;
    return cli_error("the state file '%s' holds %s; use the same options or another state file",
                     s->state, difference);
}

static int use_note(dedup *d, const weir_snapshot *snapshot) {
    size_t length;
    const char *note = weir_snapshot_note(snapshot, "run", &length);
    if (!note) return EXIT_DONE; /* made by the library or by merge: a filter alone */
    switch (run_note_judge(d->settings, d->filter, note, length, &d->point)) {
    case NOTE_REFUSED:
        return EXIT_TROUBLE;
    case NOTE_CONTINUE:
        d->resumed = true;
        break;
    case NOTE_FRESH:
        break;
    }
    return EXIT_DONE;
}

static int load_state(dedup *d) {
    weir_snapshot *snapshot;
    weir_error err;
    if (weir_snapshot_read(&snapshot, d->settings->state, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    d->filter = weir_snapshot_take_filter(snapshot, "filter");
    d->audit = weir_snapshot_take_audit(snapshot, "audit");
    int code = EXIT_DONE;
    if (!d->filter) code = cli_error("'%s' holds no filter", d->settings->state);
    if (code == EXIT_DONE) code = check_filter(d);
    if (code == EXIT_DONE) code = use_note(d, snapshot);
    weir_snapshot_free(snapshot);
    return code;
}

/* Who gives every setting of a filter has chosen its rate, and is told which. */
static void say_implied_bound(const weir_filter *filter) {
    weir_filter_info info;
    char rate[32];
    weir_filter_get_info(filter, &info);
    if (info.fpr_implied)
        cli_warn("the settings of '%s' allow a false positive rate of up to %s; give fpr to have "
                 "it bounded",
                 info.name, weir_print_rate(rate, info.fpr_bound));
}

static int get_filter(dedup *d) {
    const dedup_settings *s = d->settings;
    weir_error err;
    if (s->state) {
        int code = state_lock_take(&d->lock, s->state);
        if (code != EXIT_DONE) return code;
        struct stat there;
        if (!stat(s->state, &there)) return load_state(d);
        if (errno != ENOENT) return cli_error("cannot open '%s': %s", s->state, strerror(errno));
    }
    if (weir_filter_new(&d->filter, s->spec, &err) != WEIR_OK) return cli_error("%s", err.message);
    say_implied_bound(d->filter);
    return EXIT_DONE;
}

/* Files in, file out: a run that can be resumed. */
static bool all_files(const dedup_settings *s) {
    struct stat now;
    if (!s->output || (!stat(s->output, &now) && !S_ISREG(now.st_mode))) return false;
    for (size_t i = 0; i < s->from.file_count; i++)
        if (!strcmp(s->from.files[i], "-") || stat(s->from.files[i], &now) || !S_ISREG(now.st_mode))
            return false;
    return true;
}

static int open_streams(dedup *d) {
    const dedup_settings *s = d->settings;
    stream_options in = s->from.in;
    stream_error err;
    in.filter = d->filter;
    if (d->resumed) in.start = d->point.position;
    if (stream_open(&d->reader, &in, s->from.files, s->from.file_count, &err) != STREAM_OK)
        return cli_error("%s", err.message);
    d->point.resumable = s->state && all_files(s);
    if (s->resume && !d->point.resumable)
        return cli_error("--resume reads files and writes a file; pipes and devices cannot be "
                         "continued");
    d->inputs = run_inputs_look(s, d->filter);
    if (!d->inputs) return cli_error("out of memory");
    return run_output_open(&d->output, s, in.threads > 1, d->resumed ? &d->point.mark : NULL);
}

/* Importance is for a filter that looks at it. */
static int check_importance(const dedup *d) {
    const char *field = d->settings->from.in.number_field;
    weir_filter_info info;
    weir_filter_get_info(d->filter, &info);
    if (field && !info.uses_importance)
        return cli_error("--importance goes with --filter importance; to '%s' all records are "
                         "alike",
                         info.name);
    if (info.uses_importance && !field)
        cli_warn("without --importance all records are as important as can be, and '%s' is no "
                 "better than 'stable'",
                 info.name);
    return EXIT_DONE;
}

/* Whether a tree is the filter or a part of it. */
static bool has_tree(const char *spec) {
    return !strncmp(spec, "tree", 4) || strstr(spec, "(tree");
}

/* Who sent a record is for a filter that keeps producers apart. */
static int check_producer(dedup *d) {
    const reading *from = &d->settings->from;
    char *spec = report_spec(d->filter);
    if (!spec) return cli_error("out of memory");
    bool tree = has_tree(spec);
    free(spec);
    if (from->in.label_field && !tree) {
        weir_filter_info info;
        weir_filter_get_info(d->filter, &info);
        return cli_error("--producer goes with --filter tree; to '%s' it does not matter who sent "
                         "a record",
                         info.name);
    }
    d->by_file = tree && !from->in.label_field && from->file_count > 1;
    return EXIT_DONE;
}

static void begin_progress(dedup *d) {
    progress_mode mode = d->settings->from.progress;
    stream_progress p;
    d->on_screen = !d->settings->output && isatty(STDOUT_FILENO);
    if (mode == PROGRESS_AUTO && d->on_screen) mode = PROGRESS_OFF;
    stream_get_progress(d->reader, &p);
    progress_start(mode, p.raw_total, p.raw_bytes);
}

static int begin(dedup *d) {
    d->point.newest = INT64_MIN;
    int code = get_filter(d);
    if (code == EXIT_DONE) code = check_importance(d);
    if (code == EXIT_DONE) code = check_producer(d);
    if (code == EXIT_DONE) code = begin_audit(d);
    if (code == EXIT_DONE) code = open_streams(d);
    if (code != EXIT_DONE) return code;
    weir_filter_info info;
    weir_filter_get_info(d->filter, &info);
    d->was_overfull = info.overfull; /* an old story: not told again */
    d->was_beyond = is_beyond(&info);
    d->keys_room = info.room;
    char *spec = report_spec(d->filter), window[64];
    bool renew;
    if (!spec) return cli_error("out of memory");
    d->arrival_times = !d->settings->from.in.time_field &&
                       spec_window(spec, window, sizeof window, &renew) && spec_is_duration(window);
    free(spec);
    d->records_before = d->records_saved = d->point.counts.records;
    d->written_before = d->point.counts.new_records + d->point.counts.passed;
    d->started = d->saved = clock_now(CLOCK_MONOTONIC);
    begin_progress(d);
    return EXIT_DONE;
}

/* --- the end ---------------------------------------------------------------------------- */

static void print_stats(dedup *d, uint64_t bytes_out) {
    const dedup_settings *s = d->settings;
    run_report report = {
        .counts = d->point.counts,
        .bytes_out = bytes_out,
        .seconds = (double)(clock_now(CLOCK_MONOTONIC) - d->started) / 1e9,
        .fresh = d->point.counts.records - d->records_before,
        .resumed = d->resumed,
        .filter = d->filter,
        .audit = d->audit,
    };
    progress_clear();
    if (s->stats == STATS_TEXT) report_text(stderr, &report);
    if (s->stats == STATS_JSON) report_json(stderr, &report);
}

/* Save or keep what was done, and leave the output in order. */
static outcome conclude(dedup *d, outcome how, uint64_t *bytes_out) {
    stream_error err;
    outcome saved = GO_ON;
    stream_status status;
    if (how == TROUBLE || how == CLOSED) return how;
    if (d->settings->state) {
        saved = save(d, how == ALL_READ);
    } else if (how == STOPPED && d->output.path) {
        return how; /* half a file is no file: it is abandoned */
    } else {
        status = run_output_commit(&d->output, false, &err);
        if (status != STREAM_OK) saved = stream_trouble(d, status, &err);
    }
    if (saved != GO_ON) return saved;
    *bytes_out = d->output.mark.offset - d->output.before;
    status = run_output_close(&d->output, &err);
    return status == STREAM_OK ? how : stream_trouble(d, status, &err);
}

static int exit_code(const dedup *d, outcome how) {
    const run_counts *c = &d->point.counts;
    if (how == TROUBLE) return EXIT_TROUBLE;
    if (how == STOPPED) return 128 + stopping_signal;
    bool nothing = c->new_records + c->passed == d->written_before;
    if (d->settings->exit_code && nothing) return EXIT_NOTHING;
    return EXIT_DONE;
}

static void release(dedup *d) {
    stopping_interrupts(NULL);
    run_output_abandon(&d->output);
    stream_close(d->reader);
    weir_filter_free(d->filter);
    weir_audit_free(d->audit);
    free(d->inputs);
    free(d->verdicts);
    free(d->drop);
    free(d->compact);
    free(d->hashes);
    free(d->times);
    free(d->importances);
    free(d->producers);
    free(d->kinds);
    state_lock_drop(&d->lock);
}

int dedup_run(const dedup_settings *settings) {
    dedup d = {.settings = settings, .lock = {.fd = -1}};
    uint64_t bytes_out = 0;
    stopping_catch(run_output_remove_temporary);
    int code = begin(&d);
    if (code == EXIT_DONE) {
        stopping_interrupts(d.reader);
        outcome how = pump(&d);
        if (how == ALL_READ) look_at_fill(&d);
        progress_clear();
        if (how == ALL_READ) look_at_missing(&d);
        how = conclude(&d, how, &bytes_out);
        if (how == ALL_READ || how == STOPPED) print_stats(&d, bytes_out);
        code = exit_code(&d, how);
        if (how == CLOSED) {
            release(&d);
            signal(SIGPIPE, SIG_DFL); /* end as any filter does whose reader has left */
            raise(SIGPIPE);
            return 128 + SIGPIPE;
        }
    }
    release(&d);
    return code;
}
