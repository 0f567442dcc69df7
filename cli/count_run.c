/* count_run.c - the loop of `weir count`: batches in, sketches fed, answers out.
 *
 * Nothing is written until the end, unless --every asks for running answers. A save of
 * the state first brings together what the threads have counted. A signal ends the
 * loop: what was counted so far is saved and printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "count.h"
#include "progress.h"
#include "state_lock.h"
#include "stopping.h"

enum { TICK_MS = 200, FEEDERS_MOST = 4 };
#define COPIES_MOST (4u << 20) /* bytes of sketches besides those asked for */

typedef struct {
    const count_settings *settings;
    count_specs specs;
    count_set set;
    count_feed *feed;
    count_groups *groups; /* or NULL */
    count_other other;    /* of --join */
    count_truths truths;
    count_key *keys;
    size_t key_count;
    stream_reader *reader;
    state_lock lock;
    count_totals totals;
    uint64_t records_read, records_saved; /* by this run; of those read */
    int64_t saved, printed;               /* on the monotonic clock, ns */
    bool any_printed;
} counting;

/* --- answers ----------------------------------------------------------------------------- */

static int print_one(counting *c, count_set *set, const count_truths *truths,
                     const count_group *group) {
    const count_settings *s = c->settings;
    count_report report = {.totals = c->totals,
                           .group = group ? group->name : NULL,
                           .group_length = group ? group->length : 0,
                           .grouped = c->groups != NULL,
                           .running = s->every > 0};
    int code = count_report_make(&report, s, set, s->join ? &c->other : NULL,
                                 s->exact ? truths : NULL, c->keys, c->key_count);
    if (code == EXIT_DONE) code = count_print(&report, !c->any_printed);
    c->any_printed = true;
    count_report_release(&report);
    return code;
}

/* A running answer in text is told from the next by an empty line. */
static int print_answers(counting *c) {
    progress_clear();
    if (c->any_printed && c->settings->form == FORM_TEXT) putchar('\n');
    int code = EXIT_DONE;
    if (!c->groups) {
        code = count_feed_gather(c->feed);
        if (code == EXIT_DONE) code = print_one(c, &c->set, &c->truths, NULL);
    } else {
        size_t n = count_groups_sort(c->groups);
        for (size_t i = 0; i < n && code == EXIT_DONE; i++) {
            count_group *one = count_groups_get(c->groups, i);
            code = print_one(c, &one->set, &one->truths, one);
        }
    }
    c->printed = clock_now(CLOCK_MONOTONIC);
    int finish = cli_finish_stdout();
    return code == EXIT_DONE ? finish : code;
}

static int save(counting *c) {
    int code = c->feed ? count_feed_gather(c->feed) : EXIT_DONE;
    if (code == EXIT_DONE) code = count_set_save(&c->set, c->settings, &c->totals, c->groups);
    c->saved = clock_now(CLOCK_MONOTONIC);
    c->records_saved = c->records_read;
    return code;
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Windows that go by the clock move on while nothing comes. */
static void let_time_pass(counting *c) {
    const char *span = c->settings->window ? c->settings->window : c->settings->decay;
    if (!span || c->settings->from.in.time_field || !spec_is_duration(span)) return;
    int64_t now = clock_now(CLOCK_REALTIME);
    count_set_advance(&c->set, now);
    size_t groups = c->groups ? count_groups_sort(c->groups) : 0;
    for (size_t i = 0; i < groups; i++)
        count_set_advance(&count_groups_get(c->groups, i)->set, now);
}

static int between_batches(counting *c) {
    const count_settings *s = c->settings;
    int64_t now = clock_now(CLOCK_MONOTONIC);
    stream_progress p;
    stream_get_progress(c->reader, &p);
    c->records_read = p.records;
    progress_update(c->records_read, PROGRESS_NO_REPEATS, p.raw_bytes);
    int code = c->feed ? count_feed_trouble(c->feed) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    if (s->state && c->records_read != c->records_saved && now - c->saved >= s->save_every)
        code = save(c);
    if (s->every && now - c->printed >= s->every && code == EXIT_DONE) {
        let_time_pass(c);
        code = print_answers(c);
    }
    return code;
}

/* How long the reader may wait for input: until something else is to be done. */
static int waiting_time(const counting *c) {
    const count_settings *s = c->settings;
    int64_t now = clock_now(CLOCK_MONOTONIC), until = INT64_MAX;
    if (s->state && c->records_read != c->records_saved) until = c->saved + s->save_every;
    if (s->every && c->printed + s->every < until) until = c->printed + s->every;
    if (until == INT64_MAX) return progress_is_on() ? TICK_MS : -1;
    int64_t wait = until > now ? (until - now) / 1000000 + 1 : 0;
    if (progress_is_on() && wait > TICK_MS) return TICK_MS;
    return wait < 3600000 ? (int)wait : 3600000;
}

static int take_batch(counting *c, const stream_batch *batch) {
    if (c->groups) return count_groups_batch(c->groups, c->reader, batch, &c->totals);
    return count_feed_batch(c->feed, c->reader, batch, &c->totals);
}

/* What other threads have met comes before the end, or before what ended it. */
static int finish_feed(counting *c) {
    if (!c->feed) return EXIT_DONE;
    count_feed_finish(c->feed);
    return count_feed_trouble(c->feed);
}

static int pump(counting *c) {
    const stream_batch *batch;
    stream_error err;
    while (!stopping_signal) {
        stream_status status = stream_next(c->reader, waiting_time(c), &batch, &err);
        int code = EXIT_DONE;
        if (status == STREAM_BATCH) code = take_batch(c, batch);
        if (status == STREAM_END || status == STREAM_FAILED) code = finish_feed(c);
        if (status == STREAM_FAILED && code == EXIT_DONE) code = cli_error("%s", err.message);
        if (code != EXIT_DONE || status == STREAM_END) return code;
        code = between_batches(c);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* --- beginning ------------------------------------------------------------------------------- */

static int open_reader(stream_reader **reader, const count_settings *s, const weir_sketch *hasher,
                       const char *const *files, size_t count, unsigned consumers) {
    stream_options in = s->from.in;
    stream_error err;
    in.consumers = consumers;
    in.sketch = hasher;
    if (stream_open(reader, &in, files, count, &err) == STREAM_OK) return EXIT_DONE;
    return cli_error("%s", err.message);
}

static int get_set(counting *c) {
    const count_settings *s = c->settings;
    if (s->state) {
        int code = state_lock_take(&c->lock, s->state);
        if (code != EXIT_DONE) return code;
        struct stat there;
        if (!stat(s->state, &there)) return count_set_load(&c->set, s, &c->totals, c->groups);
        if (errno != ENOENT) return cli_error("cannot open '%s': %s", s->state, strerror(errno));
    }
    return count_set_make(&c->set, &c->specs);
}

/* Threads that count: more than one only where sketches add up in any order, and as many
 * as have room for sketches of their own. */
static unsigned feeders_for(const counting *c) {
    const count_settings *s = c->settings;
    const char *span = s->window ? s->window : s->decay;
    unsigned threads = s->from.in.threads < FEEDERS_MOST ? s->from.in.threads : FEEDERS_MOST;
    uint64_t more = COPIES_MOST / (count_set_memory(&c->set) + 1);
    bool by_records = span && !spec_is_duration(span);
    if (by_records || s->conservative || s->sketch_count || s->exact) return 1;
    return threads < more + 1 ? threads : (unsigned)more + 1;
}

/* Read the other file of a join, all of it, into sketches of the same shape. */
static int read_other(counting *c) {
    const count_settings *s = c->settings;
    const stream_batch *batch;
    stream_reader *reader = NULL;
    count_feed *feed = NULL;
    stream_error err;
    count_totals totals = {0};
    if (!s->join) return EXIT_DONE;
    int code = count_set_like(&c->other.set, &c->set);
    if (code == EXIT_DONE) code = count_truths_make(&c->other.truths, s, s->exact_memory);
    if (code == EXIT_DONE) code = count_feed_new(&feed, s, &c->other.set, 1);
    if (code == EXIT_DONE) code = open_reader(&reader, s, count_set_any(&c->set), &s->join, 1, 1);
    if (code == EXIT_DONE && s->exact) count_feed_truths(feed, &c->other.truths);
    stream_status status = STREAM_BATCH;
    while (code == EXIT_DONE && !stopping_signal &&
           (status = stream_next(reader, -1, &batch, &err)) == STREAM_BATCH)
        code = count_feed_batch(feed, reader, batch, &totals);
    if (code == EXIT_DONE && status == STREAM_FAILED) code = cli_error("%s", err.message);
    stream_close(reader);
    count_feed_free(feed);
    return code;
}

static int begin(counting *c) {
    const count_settings *s = c->settings;
    int code = count_specs_make(&c->specs, s);
    if (code == EXIT_DONE && s->group) code = count_groups_new(&c->groups, s);
    if (code == EXIT_DONE) code = get_set(c);
    if (code == EXIT_DONE && s->group) code = count_groups_start(c->groups, &c->set);
    unsigned feeders = s->group ? 1 : feeders_for(c);
    if (code == EXIT_DONE && !s->group) {
        code = count_truths_make(&c->truths, s, s->exact_memory);
        if (code == EXIT_DONE) code = count_feed_new(&c->feed, s, &c->set, feeders);
        if (code == EXIT_DONE && s->exact) count_feed_truths(c->feed, &c->truths);
    }
    if (code != EXIT_DONE) return code;
    const weir_sketch *hasher = count_set_any(&c->set);
    if (s->query_count) code = count_keys_read(&c->keys, &c->key_count, s, hasher);
    if (code == EXIT_DONE) code = read_other(c);
    if (code == EXIT_DONE)
        code = open_reader(&c->reader, s, hasher, s->from.files, s->from.file_count, feeders);
    if (code != EXIT_DONE) return code;
    if (c->feed) count_feed_start(c->feed, c->reader, &c->totals);
    c->saved = c->printed = clock_now(CLOCK_MONOTONIC);
    stream_progress p;
    stream_get_progress(c->reader, &p);
    progress_start(s->from.progress, p.raw_total, 0);
    return EXIT_DONE;
}

static void release(counting *c) {
    stopping_interrupts(NULL);
    count_feed_free(c->feed);
    stream_close(c->reader);
    count_groups_free(c->groups);
    count_set_free(&c->set);
    count_set_free(&c->other.set);
    count_truths_free(&c->truths);
    count_truths_free(&c->other.truths);
    count_keys_free(c->keys, c->key_count);
    state_lock_drop(&c->lock);
}

int count_run(const count_settings *settings) {
    counting c = {.settings = settings, .lock = {.fd = -1}};
    stopping_catch(NULL);
    int code = begin(&c);
    if (code == EXIT_DONE) {
        stopping_interrupts(c.reader);
        code = pump(&c);
        progress_clear();
    }
    if (code == EXIT_DONE && settings->state) code = save(&c);
    if (code == EXIT_DONE) code = print_answers(&c);
    if (code == EXIT_DONE && stopping_signal) code = 128 + stopping_signal;
    release(&c);
    return code;
}
