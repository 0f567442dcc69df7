/* engine.c - the loop that dedup, count, pairs and plan share.
 *
 * Output and state agree at all times. A save first commits the output (on the disk, under
 * its own name), then the consumer writes the state with the note of how far both have come; a
 * crash between the two leaves a state that claims less than was written, and resuming cuts the
 * rest off. A run that fails cuts it off itself.
 *
 * Signals ask the loop to stop: it finishes the batch, saves and leaves. A second one leaves
 * at once; what was saved stays good.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "metrics.h"
#include "stopping.h"

enum {
    TICK_MS = 200,         /* a waiting run redraws its progress this often */
    LONGEST_WAIT = 3600000 /* ms; longer waits are several */
};

engine_outcome engine_no_memory(void) {
    cli_error("out of memory");
    return ENGINE_TROUBLE;
}

engine_outcome engine_fail(engine *e, stream_status status, stream_error *err) {
    if (status == STREAM_CLOSED) return ENGINE_CLOSED;
    if (e->consumer->word) e->consumer->word(e->context, err);
    cli_stream_error(err);
    return ENGINE_TROUBLE;
}

engine_outcome engine_flush_stdout(void) {
    bool failed = fflush(stdout) || ferror(stdout);
    if (!failed) return ENGINE_GO_ON;
    if (errno == EPIPE) return ENGINE_CLOSED;
    cli_error("cannot write to standard output: %s", strerror(errno));
    return ENGINE_TROUBLE;
}

/* --- choosing ------------------------------------------------------------------------- */

engine_outcome engine_select(engine *e, const stream_batch *batch) {
    return stream_select(&e->selection, batch, &e->rules) ? ENGINE_GO_ON : engine_no_memory();
}

static void word_leap(const stream_rules *rules, const stream_batch *b, size_t i,
                      stream_error *err) {
    char ahead[32], most[32];
    uint64_t by = (uint64_t)b->times[i] - (uint64_t)rules->newest;
    weir_print_duration(ahead, by > INT64_MAX ? INT64_MAX : (int64_t)by);
    *err = (stream_error){.record = b->first_record + i};
    snprintf(err->message, sizeof err->message,
             "record %llu of '%s': its time is %s after the latest before it, which is more than "
             "--max-leap %s; mend it, or raise --max-leap if the stream has such gaps",
             (unsigned long long)err->record, strcmp(b->file, "-") ? b->file : "standard input",
             ahead, weir_print_duration(most, rules->max_leap));
}

void engine_word_record(const stream_reader *reader, const stream_rules *rules,
                        const stream_batch *batch, const stream_selection *selection,
                        stream_error *err) {
    if (selection->stopped == STREAM_LEAP) word_leap(rules, batch, selection->end, err);
    else stream_record_error(reader, batch, selection->end, err);
}

engine_outcome engine_refuse(engine *e, const stream_batch *batch) {
    stream_error err;
    if (e->selection.end == batch->count) return ENGINE_GO_ON;
    engine_word_record(e->reader, &e->rules, batch, &e->selection, &err);
    return engine_fail(e, STREAM_FAILED, &err);
}

/* --- saves, metrics, answers
 * ------------------------------------------------------------------------ */

static uint64_t records_so_far(const engine *e, uint64_t *seen) {
    uint64_t records = 0;
    *seen = PROGRESS_NO_REPEATS;
    if (e->consumer->count) e->consumer->count(e->context, &records, seen);
    return records;
}

engine_outcome engine_save(engine *e, bool complete) {
    stream_error err;
    uint64_t seen;
    if (e->output) {
        stream_status status = run_output_commit(e->output, true, &err);
        if (status != STREAM_OK) return engine_fail(e, status, &err);
    }
    engine_outcome so_far = e->consumer->save(e->context, complete);
    if (so_far != ENGINE_GO_ON) return so_far;
    if (e->output) run_output_keep(e->output);
    e->saved = clock_now(CLOCK_MONOTONIC);
    e->records_saved = records_so_far(e, &seen);
    e->save_now = false;
    return e->consumer->saved ? e->consumer->saved(e->context) : ENGINE_GO_ON;
}

static void put_metrics(void *context, FILE *out) {
    engine *e = context;
    int64_t now = clock_now(CLOCK_MONOTONIC);
    stream_progress p;
    uint64_t seen, records = records_so_far(e, &seen);
    int64_t newest = e->consumer->newest ? e->consumer->newest(e->context) : e->rules.newest;
    double seconds = (double)(now - e->measured) / 1e9;
    stream_get_progress(e->reader, &p);
    metrics_put(out, "weir_records_total", "counter", "Records read.", (double)records);
    metrics_put(out, "weir_bytes_total", "counter", "Bytes read, after decompression.",
                (double)p.bytes);
    metrics_put(out, "weir_records_per_second", "gauge", "Records read a second of late.",
                seconds > 0 ? (double)(records - e->records_measured) / seconds : 0);
    if (e->from->in.time_field && newest != INT64_MIN)
        metrics_put(out, "weir_lag_seconds", "gauge",
                    "How far the latest time of a record is behind the clock.",
                    (double)(clock_now(CLOCK_REALTIME) - newest) / 1e9);
    if (e->consumer->measure) e->consumer->measure(e->context, out);
    e->measured = now;
    e->records_measured = records;
}

static engine_outcome measure(engine *e) {
    if (!e->from->metrics) return ENGINE_GO_ON;
    return metrics_write(e->from->metrics, put_metrics, e) ? ENGINE_GO_ON : ENGINE_TROUBLE;
}

static engine_outcome between_batches(engine *e) {
    int64_t now = clock_now(CLOCK_MONOTONIC);
    stream_progress p;
    uint64_t seen, records = records_so_far(e, &seen);
    engine_outcome so_far = ENGINE_GO_ON;
    stream_get_progress(e->reader, &p);
    progress_update(records, seen, p.raw_bytes);
    if (e->consumer->look) so_far = e->consumer->look(e->context, now);
    bool dirty = e->state && records != e->records_saved;
    if (so_far == ENGINE_GO_ON && (e->save_now || (dirty && now - e->saved >= e->save_every)))
        so_far = engine_save(e, false);
    if (so_far == ENGINE_GO_ON && e->from->metrics && now - e->measured >= e->save_every)
        so_far = measure(e);
    if (so_far == ENGINE_GO_ON && e->answer_every && now - e->answered >= e->answer_every) {
        so_far = e->consumer->answer(e->context);
        e->answered = clock_now(CLOCK_MONOTONIC);
    }
    return so_far;
}

/* How long the reader may wait for input, in ms: until something else is due. */
static int waiting_time(const engine *e) {
    uint64_t seen;
    int64_t until = INT64_MAX, now = clock_now(CLOCK_MONOTONIC);
    if (e->state && records_so_far(e, &seen) != e->records_saved) until = e->saved + e->save_every;
    if (e->from->metrics && e->measured + e->save_every < until)
        until = e->measured + e->save_every;
    if (e->answer_every && e->answered + e->answer_every < until)
        until = e->answered + e->answer_every;
    int64_t wait = until == INT64_MAX ? LONGEST_WAIT : (until - now) / 1000000 + 1;
    if (wait < 0) wait = 0;
    if (progress_is_on() && wait > TICK_MS) return TICK_MS;
    if (e->wait_most && wait > e->wait_most) return e->wait_most;
    return wait < LONGEST_WAIT ? (int)wait : LONGEST_WAIT;
}

/* --- the loop ----------------------------------------------------------------------------- */

/* Counts of a unit that is too fine stand for times of early 1970: today's seconds, read as
 * milliseconds, for some day from 12 January to 25 April. A monotonic clock may have such counts
 * too, so this is a warning, at the first time of the input. */
static void look_at_first_time(engine *e, const stream_batch *b) {
    static const struct {
        const char *given, *wanted, *name;
    } units[] = {{"unix-ms", "unix", "seconds"},
                 {"unix-us", "unix-ms", "milliseconds"},
                 {"unix-ns", "unix-us", "microseconds"}};
    const int64_t early = 1000000 * 1000000000LL, late = 10 * early; /* ns since 1970 */
    size_t first = 0, unit = 0;
    while (first < b->count && b->status && b->status[first] != STREAM_RECORD_OK) first++;
    if (first == b->count) return;
    e->time_seen = true;
    const char *format = e->from->in.time_format;
    while (unit < 3 && (!format || strcmp(format, units[unit].given))) unit++;
    if (unit == 3 || b->times[first] < early || b->times[first] >= late) return;
    cli_warn("record %llu of '%s': its time by %s is in early 1970; it looks like %s: "
             "--time-format %s",
             (unsigned long long)b->first_record + first,
             strcmp(b->file, "-") ? b->file : "standard input", units[unit].given, units[unit].name,
             units[unit].wanted);
}

/* On a screen with both, the progress makes way for records, and comes back after whole ones. */
static engine_outcome take(engine *e, const stream_batch *batch) {
    if (e->on_screen) progress_clear();
    if (batch->times && !e->time_seen) look_at_first_time(e, batch);
    engine_outcome so_far = e->consumer->take(e->context, batch);
    if (so_far == ENGINE_GO_ON && e->on_screen && e->consumer->rest)
        so_far = e->consumer->rest(e->context);
    return so_far;
}

/* Errors of the consumer's threads come before the end of the input, or before the error there. */
static engine_outcome end_of_input(engine *e, stream_status status, stream_error *err) {
    engine_outcome so_far = ENGINE_GO_ON;
    if (e->consumer->finish) so_far = e->consumer->finish(e->context);
    if (so_far != ENGINE_GO_ON) return so_far;
    return status == STREAM_END ? ENGINE_ALL_READ : engine_fail(e, status, err);
}

engine_outcome engine_run(engine *e) {
    const stream_batch *batch;
    stream_error err;
    if (measure(e) != ENGINE_GO_ON) return ENGINE_TROUBLE;
    while (!stopping_signal) {
        stream_status status = stream_next(e->reader, e->idle ? waiting_time(e) : 0, &batch, &err);
        engine_outcome so_far = ENGINE_GO_ON;
        if (status == STREAM_BATCH) {
            so_far = take(e, batch);
            e->idle = false;
        } else if (status == STREAM_IDLE && !e->idle) {
            if (e->consumer->rest) so_far = e->consumer->rest(e->context);
            e->idle = true;
        } else if (status == STREAM_END || status == STREAM_FAILED) {
            return end_of_input(e, status, &err);
        }
        if (so_far == ENGINE_GO_ON) so_far = between_batches(e);
        if (so_far != ENGINE_GO_ON) return so_far;
    }
    return ENGINE_STOPPED;
}

/* --- beginning and ending --------------------------------------------------------------- */

void engine_init(engine *e, const engine_consumer *consumer, void *context, const reading *from) {
    *e = (engine){.consumer = consumer,
                  .context = context,
                  .from = from,
                  .lock = {.fd = -1},
                  .rules = {.on_missing = from->on_missing,
                            .on_bad = from->on_bad,
                            .lateness = -1,
                            .newest = INT64_MIN}};
}

int engine_open(engine *e, const stream_options *in, const char *const *files, size_t file_count) {
    stream_error err;
    if (stream_open(&e->reader, in, files, file_count, &err) != STREAM_OK) {
        engine_fail(e, STREAM_FAILED, &err);
        return EXIT_TROUBLE;
    }
    stopping_interrupts(e->reader);
    return EXIT_DONE;
}

int engine_lock_state(engine *e, bool *exists) {
    struct stat there;
    *exists = false;
    if (!e->state) return EXIT_DONE;
    if (!stat(e->state, &there) && !S_ISREG(there.st_mode))
        return cli_error("the state '%s' is a %s; it must be a file", e->state,
                         S_ISDIR(there.st_mode) ? "directory" : "pipe or device");
    int code = state_lock_take(&e->lock, e->state);
    if (code != EXIT_DONE) return code;
    *exists = !stat(e->state, &there);
    if (*exists || errno == ENOENT) return EXIT_DONE;
    return cli_error("cannot open '%s': %s", e->state, strerror(errno));
}

void engine_start(engine *e) {
    progress_mode mode = e->from->progress;
    stream_progress p;
    uint64_t seen;
    if (mode == PROGRESS_AUTO && e->on_screen) mode = PROGRESS_OFF;
    stream_get_progress(e->reader, &p);
    progress_start(mode, p.raw_total, p.raw_bytes);
    e->records_before = e->records_saved = e->records_measured = records_so_far(e, &seen);
    e->started = e->saved = e->answered = e->measured = clock_now(CLOCK_MONOTONIC);
}

engine_outcome engine_conclude(engine *e, engine_outcome how, uint64_t *bytes_out) {
    stream_error err;
    stream_status status = STREAM_OK;
    progress_clear();
    if (how == ENGINE_TROUBLE || how == ENGINE_CLOSED) return how;
    if (measure(e) != ENGINE_GO_ON) return ENGINE_TROUBLE;
    if (e->state) {
        engine_outcome saved = engine_save(e, how == ENGINE_ALL_READ);
        if (saved != ENGINE_GO_ON) return saved;
    } else if (e->output && how == ENGINE_STOPPED && e->output->path) {
        return how; /* half a file is no file: it is abandoned */
    } else if (e->output) {
        status = run_output_commit(e->output, false, &err);
    }
    if (!e->output) return how;
    if (bytes_out) *bytes_out = e->output->mark.offset - e->output->before;
    if (status == STREAM_OK) status = run_output_close(e->output, &err);
    return status == STREAM_OK ? how : engine_fail(e, status, &err);
}

void engine_release(engine *e) {
    stopping_interrupts(NULL);
    if (e->output) run_output_abandon(e->output);
    stream_close(e->reader);
    e->reader = NULL;
    stream_selection_release(&e->selection);
    state_lock_drop(&e->lock);
}

int engine_exit(engine_outcome how) {
    if (how == ENGINE_TROUBLE) return EXIT_TROUBLE;
    if (how == ENGINE_STOPPED) return 128 + stopping_signal;
    return how == ENGINE_CLOSED ? cli_reader_left() : EXIT_DONE;
}
