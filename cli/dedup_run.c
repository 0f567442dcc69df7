/* dedup_run.c - weir dedup: a consumer of the engine that gives verdicts and writes records.
 *
 * The engine chooses the records of a batch that have a key; the filter gives its verdicts on
 * all of them at once, and the writer copies what was asked for. The records without a verdict
 * (no key, malformed, late, a header) are put back into their places.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "dedup.h"
#include "dedup_watch.h"
#include "engine.h"
#include "report.h"
#include "run_note.h"
#include "run_shared.h"
#include "run_streams.h"
#include "stopping.h"

#define AUDIT_MEMORY (4u << 20) /* bytes, the most that the sample takes */

enum { LOOK_MS = 1000 }; /* between looks at whether messages must be settled */

typedef struct {
    const dedup_settings *settings; /* `own` */
    dedup_settings own;             /* as asked for, and with the defaults that the window gives */
    engine engine;
    weir_filter *filter;
    at_filter *remote; /* or NULL; filter is then its twin: it makes hashes, and stays empty */
    weir_audit *audit;
    run_output output;
    run_files files;
    run_streams streams;
    run_shared shared; /* where both the filter and the stream are elsewhere */
    bool recovering;   /* reading back what the sink got after the last save */
    run_point point;   /* how far it has come */
    bool resumed;
    uint64_t recovered;      /* records that the sink had got after the last save */
    uint64_t written_before; /* records that the run that is resumed let through */
    bool arrival_times;      /* the window is a duration, and there is no --time */
    bool remote_failed;      /* for good; its message has been printed */
    bool by_file;            /* a tree, several files and no --producer: a file is a producer */
    dedup_watch watch;

    /* room for one batch */
    size_t room;
    uint64_t *verdicts, *drop, *compact, *piece; /* one bit a record, in a byte of room for each */
    int64_t *times;
    uint64_t *producers;
} dedup;

/* --- one batch ------------------------------------------------------------------------ */

static bool room_for(dedup *d, size_t count) {
    const stream_array arrays[] = {
        {&d->verdicts, 1},
        {&d->drop, 1},
        {&d->compact, 1},
        {&d->piece, 1},
        {&d->times, sizeof *d->times},
        {&d->producers, sizeof *d->producers},
    };
    return stream_make_room(&d->room, count, arrays, sizeof arrays / sizeof *arrays);
}

/* Arrival times never run backwards, whatever the system's clock does. */
static const int64_t *now_for_all(dedup *d, size_t count) {
    int64_t now = d->remote ? at_now(d->remote) : clock_now(CLOCK_REALTIME),
            *newest = &d->engine.rules.newest;
    if (now > *newest) *newest = now;
    for (size_t i = 0; i < count; i++) d->times[i] = *newest;
    return d->times;
}

/* The same producer for all of a batch, which is of one file. By its name, so that a file
 * keeps its leaf when others come beside it. */
static const uint64_t *file_as_producer(dedup *d, const stream_batch *b) {
    uint64_t producer = weir_filter_hash(d->filter, b->file, strlen(b->file));
    for (size_t i = 0; i < b->count; i++) d->producers[i] = producer;
    return d->producers;
}

/* Keys first .. first + count - 1 of a batch. */
static weir_batch part_of(const weir_batch *b, size_t first, size_t count) {
    return (weir_batch){.count = count,
                        .hashes = b->hashes + first,
                        .times = b->times ? b->times + first : NULL,
                        .importances = b->importances ? b->importances + first : NULL,
                        .producers = b->producers ? b->producers + first : NULL};
}

/* With --lose: between two records at which a site is lost or comes back. */
static size_t offer_in_pieces(dedup *d, const weir_batch *keys, uint64_t *verdicts) {
    uint64_t before = d->point.counts.new_records + d->point.counts.seen;
    size_t seen = 0, count;
    memset(verdicts, 0, WEIR_VERDICT_WORDS(keys->count) * sizeof *verdicts);
    for (size_t at = 0; at < keys->count; at += count) {
        uint64_t until = site_losses_apply(&d->settings->losses, d->filter, before + at + 1);
        count = until < keys->count - at ? (size_t)until : keys->count - at;
        weir_batch part = part_of(keys, at, count);
        size_t of_these = weir_filter_offer_batch(d->filter, &part, d->piece);
        if (of_these == WEIR_STOPPED) return WEIR_STOPPED;
        seen += of_these;
        for (size_t i = 0; i < count; i++)
            verdicts[(at + i) / 64] |= (d->piece[i / 64] >> i % 64 & 1) << (at + i) % 64;
    }
    return seen;
}

/* Nothing is known of the last batch: it comes again. */
static engine_outcome leave_batch(dedup *d, engine_outcome how) {
    d->streams.taken_part = true;
    d->streams.taken = 0;
    return how;
}

/* Verdicts on the records chosen. */
static engine_outcome judge(dedup *d, const stream_batch *b, uint64_t *verdicts) {
    const stream_selection *s = &d->engine.selection;
    weir_batch keys = {.count = s->count,
                       .hashes = s->hashes,
                       .times = s->times,
                       .importances = s->numbers,
                       .producers = s->labels};
    if (!s->count) return ENGINE_GO_ON;
    if (d->by_file) keys.producers = file_as_producer(d, b);
    if (d->arrival_times) keys.times = now_for_all(d, s->count);
    size_t seen;
    if (d->shared.remote) {
        engine_outcome so_far =
            run_shared_judge(&d->shared, s, &keys, d->settings->emit == EMIT_SEEN, verdicts, &seen);
        if (so_far != ENGINE_GO_ON) return leave_batch(d, so_far);
    } else if (d->remote) d->remote_failed = !at_offer(d->remote, &keys, verdicts, &seen);
    else if (d->settings->losses.count) seen = offer_in_pieces(d, &keys, verdicts);
    else seen = weir_filter_offer_batch(d->filter, &keys, verdicts);
    if (seen == WEIR_STOPPED) {
        cli_error("a site is lost that keys from record %llu of '%s' on need, and the filter has "
                  "on-lost=stop; bring it back and go on from the last save, or take "
                  "on-lost=new",
                  (unsigned long long)b->first_record, b->file);
        return ENGINE_TROUBLE;
    }
    if (d->audit) weir_audit_observe(d->audit, &keys, verdicts);
    d->point.counts.seen += seen;
    d->point.counts.new_records += s->count - seen;
    return ENGINE_GO_ON;
}

/* Records that were sent before the run was resumed were new then; by now their keys are seen. */
static stream_status send(dedup *d, const stream_batch *b, stream_error *err) {
    bool seen = d->settings->emit == EMIT_SEEN;
    uint64_t again = 0;
    stream_status status = run_streams_send(&d->streams, b, d->files.list[b->after.file].inode,
                                            d->verdicts, seen, &again, err);
    if (!seen && again <= d->point.counts.seen) {
        d->point.counts.seen -= again;
        d->point.counts.new_records += again;
    }
    return status;
}

static stream_status emit(dedup *d, const stream_batch *b, const uint64_t *drop,
                          stream_error *err) {
    if (d->recovering) return STREAM_OK;
    if (d->streams.sink) return send(d, b, err);
    switch (d->settings->emit) {
    case EMIT_NEW:
        return stream_write_records(d->output.writer, b, d->verdicts, false, err);
    case EMIT_SEEN:
        return stream_write_records(d->output.writer, b, d->verdicts, true, err);
    case EMIT_ALL:
        return stream_write_marked(d->output.writer, b, d->verdicts, drop, err);
    case EMIT_VERDICTS:
        return stream_write_verdicts(d->output.writer, b, d->verdicts, drop, err);
    default: /* dedup_choose() */
        assert(false);
    }
    return STREAM_OK;
}

/* Is a record without a verdict let through? A header always is. */
static bool passes(const stream_rules *rules, uint8_t kind) {
    if (kind == STREAM_MISSING) return rules->on_missing == STREAM_PASS;
    if (kind == STREAM_BAD || kind == STREAM_LEAP) return rules->on_bad == STREAM_PASS;
    return kind != STREAM_LATE || rules->on_late == STREAM_PASS;
}

/* Put verdicts in their places. A record let through counts as new, one that is dropped is
 * never written, and a header is written wherever records are. */
static void spread_verdicts(dedup *d) {
    const stream_selection *s = &d->engine.selection;
    size_t bytes = WEIR_VERDICT_WORDS(s->end) * sizeof *d->verdicts, next = 0;
    emit_mode mode = d->settings->emit;
    memset(d->verdicts, 0, bytes);
    memset(d->drop, 0, bytes);
    for (size_t i = 0; i < s->end; i++) {
        uint64_t bit = 1ull << (i % 64);
        uint8_t kind = s->kinds[i];
        if (kind == STREAM_RECORD_OK) {
            if (d->compact[next / 64] >> (next % 64) & 1) d->verdicts[i / 64] |= bit;
            next++;
        } else if (!passes(&d->engine.rules, kind)) {
            d->drop[i / 64] |= bit;
            if (mode == EMIT_NEW) d->verdicts[i / 64] |= bit;
        } else if (kind == STREAM_HEADER) {
            if (mode == EMIT_SEEN) d->verdicts[i / 64] |= bit;
        } else {
            d->point.counts.passed++;
        }
    }
}

static void count_records(dedup *d, const stream_batch *b) {
    const stream_selection *s = &d->engine.selection;
    run_counts *c = &d->point.counts;
    c->records += s->end - s->headers;
    c->missing += s->missing;
    c->bad += s->bad;
    c->late += s->late;
    c->bytes_in += b->offsets[s->end] - b->offsets[0];
}

static engine_outcome take_batch(void *context, const stream_batch *whole) {
    dedup *d = context;
    const stream_selection *s = &d->engine.selection;
    stream_error err;
    engine_outcome so_far = engine_select(&d->engine, whole);
    if (so_far != ENGINE_GO_ON) return so_far;
    if (!room_for(d, whole->count)) return engine_no_memory();
    stream_batch b = *whole;
    b.count = s->end;
    if (b.count < whole->count) b.open_end = false;
    so_far = judge(d, &b, s->whole ? d->verdicts : d->compact);
    if (so_far != ENGINE_GO_ON) return so_far;
    count_records(d, &b);
    if (!s->whole) spread_verdicts(d);
    stream_status status = b.count ? emit(d, &b, s->whole ? NULL : d->drop, &err) : STREAM_OK;
    if (status != STREAM_OK) return engine_fail(&d->engine, status, &err);
    if (d->remote_failed) return ENGINE_TROUBLE;
    if (b.count < whole->count) {
        d->streams.taken_part = true;
        d->streams.taken = b.count;
        return engine_refuse(&d->engine, whole);
    }
    if (!d->recovering) run_files_reach(&d->files, &whole->after, whole->open_end);
    return ENGINE_GO_ON;
}

static engine_outcome flush(void *context) {
    dedup *d = context;
    stream_error err;
    stream_status status = d->streams.sink ? run_streams_flush(&d->streams, &err)
                                           : stream_writer_flush(d->output.writer, &err);
    return status == STREAM_OK ? ENGINE_GO_ON : engine_fail(&d->engine, status, &err);
}

static engine_outcome look(void *context, int64_t now) {
    dedup *d = context;
    dedup_watch_look(&d->watch, d->filter, &d->point.counts, now);
    if (!d->streams.source && !d->streams.sink) return ENGINE_GO_ON;
    /* what has no state is settled when it is written */
    if (d->streams.source && !d->settings->state && !d->streams.sink) {
        engine_outcome so_far = flush(d);
        if (so_far != ENGINE_GO_ON) return so_far;
    }
    stream_error err;
    bool save_now = false;
    stream_status status = run_streams_look(&d->streams, now, d->engine.idle, &save_now, &err);
    d->engine.save_now |= save_now;
    return status == STREAM_OK ? ENGINE_GO_ON : engine_fail(&d->engine, status, &err);
}

static void count(void *context, uint64_t *records, uint64_t *seen) {
    const dedup *d = context;
    *records = d->point.counts.records;
    *seen = d->point.counts.seen;
}

/* --- saving -------------------------------------------------------------------------- */

static weir_status write_snapshot(dedup *d, const char *note, size_t length, const char *streams,
                                  weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status != WEIR_OK) return status;
    status = weir_snapshot_put_filter(snapshot, "filter", d->filter, err);
    if (status == WEIR_OK && d->audit)
        status = weir_snapshot_put_audit(snapshot, "audit", d->audit, err);
    if (status == WEIR_OK) status = weir_snapshot_put_note(snapshot, "run", note, length, err);
    if (status == WEIR_OK && streams)
        status = weir_snapshot_put_note(snapshot, "streams", streams, strlen(streams), err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, d->settings->state, err);
    weir_snapshot_free(snapshot);
    return status;
}

/* The sink has everything before the state says so. */
static engine_outcome streams_note(dedup *d, char **note) {
    stream_error err;
    size_t length;
    if (!d->settings->source && !d->settings->sink) return ENGINE_GO_ON;
    stream_status status = run_streams_flush(&d->streams, &err);
    if (status == STREAM_OK && !(*note = run_streams_write_note(&d->streams, &length, &err)))
        status = STREAM_FAILED;
    return status == STREAM_OK ? ENGINE_GO_ON : engine_fail(&d->engine, status, &err);
}

static engine_outcome save(void *context, bool complete) {
    dedup *d = context;
    weir_error err;
    size_t length;
    d->point.mark = d->output.mark;
    d->point.complete = complete;
    d->point.newest = d->engine.rules.newest;
    char *streams = NULL;
    engine_outcome so_far = streams_note(d, &streams);
    if (so_far != ENGINE_GO_ON) return so_far;
    run_files_mark(&d->files, complete, d->filter);
    char *note = run_note_write(d->settings, &d->files, &d->point, &length);
    weir_status saved = note ? write_snapshot(d, note, length, streams, &err) : WEIR_ERR_MEMORY;
    if (!note) engine_no_memory();
    else if (saved != WEIR_OK) cli_error("%s", err.message);
    free(note);
    free(streams);
    return saved == WEIR_OK ? ENGINE_GO_ON : ENGINE_TROUBLE;
}

static engine_outcome saved(void *context) {
    dedup *d = context;
    stream_error err;
    stream_status status = run_streams_settle(&d->streams, &err);
    return status == STREAM_OK ? ENGINE_GO_ON : engine_fail(&d->engine, status, &err);
}

static void measure(void *context, FILE *out) {
    dedup *d = context;
    run_streams_measure(&d->streams, out);
    report_metrics(out, &d->point.counts, d->filter, d->audit);
}

static const engine_consumer consumer = {.take = take_batch,
                                         .rest = flush,
                                         .look = look,
                                         .save = save,
                                         .saved = saved,
                                         .count = count,
                                         .measure = measure};

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
    if (weir_audit_new(&d->audit, AUDIT_MEMORY, s->audit_one_in, info.window, info.window_is_time,
                       info.renew, &err))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

/* The saved filter must be the one that is asked for. */
static int check_filter(const dedup *d) {
    const dedup_settings *s = d->settings;
    weir_error difference;
    char *spec = report_spec(d->filter);
    if (!spec) return cli_error("out of memory");
    bool fits = weir_spec_fits(spec_asked(s->spec, s->filter), spec, &difference) == WEIR_OK;
    free(spec);
    if (fits) return EXIT_DONE;
    return cli_error("the state file '%s' holds %s; use the same options or another state file",
                     s->state, difference.message);
}

static int use_note(dedup *d, const weir_snapshot *snapshot) {
    size_t length;
    const char *streams = weir_snapshot_note(snapshot, "streams", &length);
    if (streams && (d->settings->source || d->settings->sink) &&
        run_streams_use_note(&d->streams, streams, length) != EXIT_DONE)
        return EXIT_TROUBLE;
    const char *note = weir_snapshot_note(snapshot, "run", &length);
    if (!note) return EXIT_DONE; /* made by the library or by merge: a filter alone */
    switch (run_note_judge(d->settings, d->filter, note, length, &d->point, &d->files)) {
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

/* Times, lateness and leap of records, by the window of the filter. */
static int set_times(dedup *d) {
    dedup_settings *s = &d->own;
    weir_filter_info info;
    weir_filter_get_info(d->filter, &info);
    d->arrival_times = !s->from.in.time_field && info.window_is_time;
    if (!s->from.in.time_field) return EXIT_DONE;
    if (!info.window || !info.window_is_time)
        return cli_error("--time goes with a --window that is a duration, such as --window 1h");
    if (s->lateness < 0) s->lateness = info.window;
    d->engine.rules.lateness = s->lateness;
    d->engine.rules.max_leap = reading_max_leap(&s->from, info.window);
    d->engine.rules.on_late = s->on_late;
    return EXIT_DONE;
}

static int look_at_files(dedup *d) {
    if (run_files_look(&d->files, &d->own.from, d->filter)) return EXIT_DONE;
    return cli_error("out of memory");
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
    if (code == EXIT_DONE) code = set_times(d);
    if (code == EXIT_DONE) code = look_at_files(d);
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

static int get_remote(dedup *d) {
    d->own.at.counts_load = d->own.stats != STATS_NONE;
    int code = at_begin(&d->remote, &d->own.at, d->own.spec, d->own.filter != NULL);
    if (code != EXIT_DONE) return code;
    d->filter = at_twin(d->remote);
    code = set_times(d);
    return code == EXIT_DONE ? look_at_files(d) : code;
}

static int get_filter(dedup *d) {
    weir_error err;
    bool exists;
    if (d->own.at.url) return get_remote(d);
    int code = engine_lock_state(&d->engine, &exists);
    if (code != EXIT_DONE) return code;
    if (exists) return load_state(d);
    if (weir_filter_new(&d->filter, d->settings->spec, &err) != WEIR_OK) {
        spec_name_flag(&err, d->settings->filter);
        return cli_error("%s", err.message);
    }
    say_implied_bound(d->filter);
    int fine = set_times(d);
    return fine == EXIT_DONE ? look_at_files(d) : fine;
}

/* Files in, file out: a run that can be resumed. */
static bool all_files(const dedup_settings *s) {
    struct stat now;
    if (!s->sink && !run_output_is_file(s->output)) return false;
    if (s->source) return !s->sink; /* with a sink it goes on by itself */
    for (size_t i = 0; i < s->from.file_count; i++)
        if (!strcmp(s->from.files[i], "-") || stat(s->from.files[i], &now) || !S_ISREG(now.st_mode))
            return false;
    return true;
}

/* Read back what the sink got after the last save: the filter learns those keys. Where only repeats
 * are sent their keys are no news to it. */
static int recover(dedup *d, const stream_options *in) {
    const stream_batch *batch;
    stream_error err;
    stream_status status;
    int code = engine_open(&d->engine, in, d->files.paths, d->files.count);
    run_counts before = d->point.counts;
    engine_outcome so_far = code == EXIT_DONE ? ENGINE_GO_ON : ENGINE_TROUBLE;
    d->recovering = true;
    while (so_far == ENGINE_GO_ON && !stopping_signal &&
           (status = stream_next(d->engine.reader, -1, &batch, &err)) != STREAM_END) {
        if (status == STREAM_FAILED) so_far = engine_fail(&d->engine, status, &err);
        if (status == STREAM_BATCH && d->settings->emit == EMIT_NEW) so_far = take_batch(d, batch);
    }
    d->recovering = false;
    stopping_interrupts(NULL);
    stream_close(d->engine.reader);
    d->engine.reader = NULL;
    d->recovered = d->point.counts.records - before.records;
    if (!d->settings->source) d->point.counts = before; /* these records are read again */
    return so_far == ENGINE_GO_ON ? EXIT_DONE : EXIT_TROUBLE;
}

/* A state that knows nothing of this sink is saved before anything is sent there: a crash would
 * leave records that nobody knows to be ours. */
static int open_brokers(dedup *d, stream_options *in) {
    stream_error err;
    bool tail;
    if (!d->settings->source && !d->settings->sink) return EXIT_DONE;
    if (d->remote && d->settings->source) {
        if (run_shared_open(&d->shared, d->remote, &d->streams) != EXIT_DONE) return EXIT_TROUBLE;
        tail = false;
    } else if (run_streams_open_sink(&d->streams, &tail, &err) != STREAM_OK) {
        return cli_stream_error(&err);
    }
    in->feed = &d->streams.feed;
    if (tail && recover(d, in) != EXIT_DONE) return EXIT_TROUBLE;
    in->feed = d->settings->source ? &d->streams.feed : NULL;
    if (!d->settings->source && !d->resumed) broker_ids_release(&d->streams.done);
    if (run_streams_open_source(&d->streams, &err) != STREAM_OK) return cli_stream_error(&err);
    return EXIT_DONE;
}

/* The threads that read help the filter, too. */
static void share_parts(void *context, weir_part_fn *part, void *work, size_t count) {
    stream_share(context, part, work, count);
}

static int open_streams(dedup *d) {
    const dedup_settings *s = d->settings;
    stream_options in = s->from.in;
    in.filter = d->filter;
    in.hold_last = s->state && !s->judge_last;
    in.starts = d->files.starts;
    int code = open_brokers(d, &in);
    if (code != EXIT_DONE) return code;
    code = engine_open(&d->engine, &in, d->files.paths, d->files.count);
    if (code != EXIT_DONE) return code;
    weir_filter_share(d->filter, share_parts, d->engine.reader);
    d->point.resumable = s->state && all_files(s);
    if (s->resume && !d->point.resumable && !(s->source && s->sink))
        return cli_error("--resume reads files and writes a file; pipes and devices cannot be "
                         "continued");
    if (s->sink) return EXIT_DONE;
    d->engine.output = &d->output;
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

/* Who sent a record is for a filter that keeps producers apart. */
static int check_producer(dedup *d) {
    const reading *from = &d->settings->from;
    weir_filter_info info;
    weir_filter_get_info(d->filter, &info);
    if (from->in.label_field && !info.uses_producers)
        return cli_error("--producer goes with --filter tree; to '%s' it does not matter who sent "
                         "a record",
                         info.name);
    d->by_file = info.uses_producers && !from->in.label_field && from->file_count > 1;
    return EXIT_DONE;
}

static int begin(dedup *d) {
    d->point.newest = INT64_MIN;
    d->engine.state = d->settings->state;
    d->engine.save_every = d->settings->save_every;
    d->engine.wait_most = d->settings->source ? LOOK_MS : 0;
    int code = run_streams_parse(&d->streams, d->settings);
    if (code == EXIT_DONE) code = get_filter(d);
    if (code == EXIT_DONE) code = check_importance(d);
    if (code == EXIT_DONE) code = check_producer(d);
    if (code == EXIT_DONE) code = site_losses_check(&d->settings->losses, d->filter);
    if (code == EXIT_DONE) code = begin_audit(d);
    if (code == EXIT_DONE) code = open_streams(d);
    if (code != EXIT_DONE) return code;
    d->engine.rules.newest = d->point.newest;
    dedup_watch_begin(&d->watch, d->settings, d->filter, &d->point.counts);
    d->written_before = d->point.counts.new_records + d->point.counts.passed;
    d->engine.on_screen = !d->settings->output && !d->settings->sink && isatty(STDOUT_FILENO);
    engine_start(&d->engine);
    bool unknown = d->settings->sink && d->settings->state &&
                   (d->streams.id_is_new || !d->streams.position || d->recovered);
    if (unknown && engine_save(&d->engine, false) != ENGINE_GO_ON) return EXIT_TROUBLE;
    return EXIT_DONE;
}

/* --- the end ---------------------------------------------------------------------------- */

static void print_stats(dedup *d, uint64_t bytes_out) {
    const dedup_settings *s = d->settings;
    run_report report = {
        .counts = d->point.counts,
        .bytes_out = bytes_out,
        .seconds = (double)(clock_now(CLOCK_MONOTONIC) - d->engine.started) / 1e9,
        .fresh = d->point.counts.records - d->engine.records_before,
        .resumed = d->resumed,
        .filter = d->filter,
        .remote = d->remote,
        .audit = d->audit,
    };
    if (s->stats == STATS_TEXT) report_text(stderr, &report);
    if (s->stats == STATS_JSON) report_json(stderr, &report);
}

static void release(dedup *d) {
    engine_release(&d->engine);
    run_streams_release(&d->streams);
    run_shared_release(&d->shared);
    if (d->remote) at_end(d->remote);
    else weir_filter_free(d->filter);
    weir_audit_free(d->audit);
    run_files_release(&d->files);
    free(d->verdicts);
    free(d->drop);
    free(d->compact);
    free(d->piece);
    free(d->times);
    free(d->producers);
}

static void say_held(const dedup *d) {
    stream_progress p;
    char size[32];
    stream_get_progress(d->engine.reader, &p);
    if (p.held)
        cli_warn("a last record without its end, %s, is held back until the input has grown; "
                 "--incomplete judge takes it as it is",
                 report_size(size, p.held));
}

/* What the servers called new they will not call new again: a run that ends early keeps what it
 * has written. */
static engine_outcome keep_output(dedup *d, engine_outcome how, uint64_t *bytes_out) {
    stream_error err;
    if (how == ENGINE_CLOSED || !d->output.writer) return how;
    stream_status status = run_output_commit(&d->output, false, &err);
    *bytes_out = d->output.mark.offset - d->output.before;
    if (status == STREAM_OK) status = run_output_close(&d->output, &err);
    if (status != STREAM_OK) return engine_fail(&d->engine, status, &err);
    d->engine.output = NULL;
    return how;
}

/* Without a state what was written is settled now. A record that is refused ends the run, but those
 * before it are dealt with. */
static engine_outcome end_streams(dedup *d, engine_outcome how) {
    stream_error err;
    bool ended = how == ENGINE_ALL_READ || how == ENGINE_STOPPED || d->streams.taken_part;
    bool may = !d->settings->state || d->streams.journal;
    if ((!d->settings->source && !d->settings->sink) || !ended || !may) return how;
    engine_outcome so_far = flush(d);
    if (so_far != ENGINE_GO_ON) return so_far;
    stream_status status = run_streams_settle(&d->streams, &err);
    if (status != STREAM_OK) return engine_fail(&d->engine, status, &err);
    bool all = d->shared.remote && !(d->streams.taken_part && !d->streams.taken);
    return all && run_shared_end(&d->shared) != EXIT_DONE ? ENGINE_TROUBLE : how;
}

/* Read all, then say what a person should know. */
static engine_outcome run_to_end(dedup *d) {
    uint64_t bytes_out = 0;
    engine_outcome how = engine_run(&d->engine);
    progress_clear();
    how = end_streams(d, how);
    if (how == ENGINE_ALL_READ) say_held(d);
    if (how == ENGINE_ALL_READ) dedup_watch_end(&d->watch, d->filter, &d->point.counts);
    if (d->remote && how != ENGINE_ALL_READ) how = keep_output(d, how, &bytes_out);
    how = engine_conclude(&d->engine, how, &bytes_out);
    if (d->streams.sink) bytes_out = broker_sink_bytes(d->streams.sink);
    if (how == ENGINE_ALL_READ || how == ENGINE_STOPPED || (how == ENGINE_TROUBLE && d->remote))
        print_stats(d, bytes_out); /* what ended it is among what happened */
    return how;
}

int dedup_run(const dedup_settings *settings) {
    dedup d = {.own = *settings};
    d.settings = &d.own;
    engine_init(&d.engine, &consumer, &d, &d.own.from);
    stopping_catch(run_output_remove_temporary);
    int code = begin(&d);
    engine_outcome how = code == EXIT_DONE ? run_to_end(&d) : ENGINE_TROUBLE;
    uint64_t written = d.point.counts.new_records + d.point.counts.passed;
    bool nothing = settings->exit_code && written == d.written_before;
    release(&d);
    code = engine_exit(how);
    return code == EXIT_DONE && nothing ? EXIT_NOTHING : code;
}
