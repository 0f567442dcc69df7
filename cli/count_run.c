/* count_run.c - weir count: a consumer of the engine that feeds sketches and prints answers.
 *
 * Nothing is written until the end, unless --every asks for running answers. A save of
 * the state first brings together what the threads have counted. A signal ends the
 * run: what was counted so far is saved and printed.
 *
 * With --at the set holds what was counted since it was last pushed to the servers, and answers
 * are about the sum that is there.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"
#include "engine.h"
#include "metrics.h"
#include "stopping.h"
#include "values.h"

enum { FEEDERS_MOST = 4 };     /* threads that count */
#define COPIES_MOST (4u << 20) /* bytes of sketches besides those asked for */

typedef struct {
    const count_settings *settings;
    engine engine;
    count_specs specs;
    count_set set;
    count_set sum; /* with --at: of all that count there, as last pulled */
    count_feed *feed;
    count_groups *groups; /* or NULL */
    count_other other;    /* of --join */
    count_truths truths;
    count_key *keys;
    size_t key_count;
    count_totals totals;
    bool any_printed;
} counting;

static engine_outcome outcome_of(int code) {
    return code == EXIT_DONE ? ENGINE_GO_ON : ENGINE_TROUBLE;
}

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

/* Push what is not there yet, and ask the sum. */
static int print_shared(counting *c) {
    int code = count_set_push(&c->set, c->settings);
    count_set_free(&c->sum);
    if (code == EXIT_DONE) code = count_set_pull(&c->sum, c->settings);
    return code == EXIT_DONE ? print_one(c, &c->sum, &c->truths, NULL) : code;
}

/* A running answer in text is told from the next by an empty line. */
static engine_outcome print_answers(counting *c) {
    progress_clear();
    if (c->any_printed && c->settings->form == FORM_TEXT) putchar('\n');
    int code = EXIT_DONE;
    if (!c->groups) {
        code = count_feed_gather(c->feed);
        if (code == EXIT_DONE && c->settings->shelf) code = print_shared(c);
        else if (code == EXIT_DONE) code = print_one(c, &c->set, &c->truths, NULL);
    } else {
        size_t n = count_groups_sort(c->groups);
        for (size_t i = 0; i < n && code == EXIT_DONE; i++) {
            count_group *one = count_groups_get(c->groups, i);
            code = print_one(c, &one->set, &one->truths, one);
        }
    }
    return code == EXIT_DONE ? engine_flush_stdout() : ENGINE_TROUBLE;
}

static engine_outcome save(void *context, bool complete) {
    counting *c = context;
    (void)complete;
    int code = c->feed ? count_feed_gather(c->feed) : EXIT_DONE;
    if (code == EXIT_DONE && c->settings->shelf)
        return outcome_of(count_set_push(&c->set, c->settings));
    if (code == EXIT_DONE) code = count_set_save(&c->set, c->settings, &c->totals, c->groups);
    return outcome_of(code);
}

/* --- the loop ------------------------------------------------------------------------------ */

/* Windows that go by the clock move on while nothing comes. */
static void let_time_pass(counting *c) {
    const char *span = c->settings->window ? c->settings->window : c->settings->decay;
    if (!span || c->settings->from.in.time_field || !value_is_duration(span)) return;
    int64_t now = clock_now(CLOCK_REALTIME);
    count_set_advance(&c->set, now);
    size_t groups = c->groups ? count_groups_sort(c->groups) : 0;
    for (size_t i = 0; i < groups; i++)
        count_set_advance(&count_groups_get(c->groups, i)->set, now);
}

static engine_outcome look(void *context, int64_t now) {
    counting *c = context;
    (void)now;
    return c->feed ? outcome_of(count_feed_trouble(c->feed)) : ENGINE_GO_ON;
}

static engine_outcome answer(void *context) {
    let_time_pass(context);
    return print_answers(context);
}

static engine_outcome take_batch(void *context, const stream_batch *batch) {
    counting *c = context;
    if (c->groups)
        return outcome_of(count_groups_batch(c->groups, c->engine.reader, batch, &c->totals));
    return outcome_of(count_feed_batch(c->feed, c->engine.reader, batch, &c->totals));
}

static engine_outcome finish(void *context) {
    counting *c = context;
    if (c->feed) count_feed_finish(c->feed);
    return look(c, 0);
}

/* Threads take batches too: the reader knows best how many records there were. */
static void count_records(void *context, uint64_t *records, uint64_t *seen) {
    const counting *c = context;
    stream_progress p;
    stream_get_progress(c->engine.reader, &p);
    *records = p.records;
    *seen = PROGRESS_NO_REPEATS;
}

static int64_t newest(void *context) {
    const counting *c = context;
    return count_feed_meet(c->feed);
}

static void measure(void *context, FILE *out) {
    const counting *c = context;
    metrics_put(out, "weir_missing_total", "counter", "Records without the key.",
                (double)c->totals.missing);
    metrics_put(out, "weir_bad_total", "counter", "Malformed records.", (double)c->totals.bad);
    metrics_put(out, "weir_sketch_memory_bytes", "gauge", "Memory of the sketches.",
                (double)count_set_memory(&c->set));
}

static const engine_consumer consumer = {.take = take_batch,
                                         .newest = newest,
                                         .measure = measure,
                                         .look = look,
                                         .save = save,
                                         .answer = answer,
                                         .finish = finish,
                                         .count = count_records};

/* --- beginning ------------------------------------------------------------------------------- */

static stream_options reading_with(const counting *c, unsigned consumers) {
    stream_options in = c->settings->from.in;
    in.consumers = consumers;
    in.sketch = count_set_any(&c->set);
    return in;
}

/* Sketches like those on the servers, empty. They are made there if there are none; if somebody
 * else was quicker, his count. */
static int get_shared_set(counting *c) {
    const count_settings *s = c->settings;
    int code = EXIT_DONE;
    if (!count_shelf_exists(s->shelf)) {
        code = count_set_make(&c->set, &c->specs);
        if (code == EXIT_DONE) code = count_set_offer(&c->set, s);
        count_set_free(&c->set);
    }
    if (code == EXIT_DONE) code = count_set_pull(&c->sum, s);
    return code == EXIT_DONE ? count_set_like(&c->set, &c->sum) : code;
}

static int get_set(counting *c) {
    bool exists;
    if (c->settings->shelf) return get_shared_set(c);
    int code = engine_lock_state(&c->engine, &exists);
    if (code != EXIT_DONE) return code;
    if (exists) return count_set_load(&c->set, c->settings, &c->totals, c->groups);
    return count_set_make(&c->set, &c->specs);
}

/* Threads that count: more than one only where sketches add up in any order, and as many
 * as have room for sketches of their own. */
static unsigned feeders_for(const counting *c) {
    const count_settings *s = c->settings;
    const char *span = s->window ? s->window : s->decay;
    unsigned threads = s->from.in.threads < FEEDERS_MOST ? s->from.in.threads : FEEDERS_MOST;
    uint64_t more = COPIES_MOST / (count_set_memory(&c->set) + 1);
    bool by_records = span && !value_is_duration(span);
    if (by_records || s->conservative || s->sketch_count || s->exact) return 1;
    return threads < more + 1 ? threads : (unsigned)more + 1;
}

/* Read the other file of a join, all of it, into sketches of the same shape. */
typedef struct {
    engine engine;
    count_feed *feed;
    count_totals totals;
} joining;

static engine_outcome take_other(void *context, const stream_batch *batch) {
    joining *j = context;
    return outcome_of(count_feed_batch(j->feed, j->engine.reader, batch, &j->totals));
}

static int read_other(counting *c) {
    static const engine_consumer other = {.take = take_other};
    const count_settings *s = c->settings;
    joining j = {0};
    if (!s->join) return EXIT_DONE;
    stream_options in = reading_with(c, 1);
    engine_init(&j.engine, &other, &j, &s->from);
    int code = count_set_like(&c->other.set, &c->set);
    if (code == EXIT_DONE) code = count_truths_make(&c->other.truths, s, s->exact_memory);
    if (code == EXIT_DONE) code = count_feed_new(&j.feed, s, &c->other.set, 1);
    if (code == EXIT_DONE) code = engine_open(&j.engine, &in, &s->join, 1);
    if (code == EXIT_DONE && s->exact) count_feed_truths(j.feed, &c->other.truths);
    if (code == EXIT_DONE && engine_run(&j.engine) == ENGINE_TROUBLE) code = EXIT_TROUBLE;
    engine_release(&j.engine);
    count_feed_free(j.feed);
    return code;
}

static int begin(counting *c) {
    const count_settings *s = c->settings;
    c->engine.state = s->shelf ? s->at.url : s->state;
    c->engine.save_every = s->save_every;
    c->engine.answer_every = s->every;
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
    stream_options in = reading_with(c, feeders);
    if (code == EXIT_DONE) code = engine_open(&c->engine, &in, s->from.files, s->from.file_count);
    if (code != EXIT_DONE) return code;
    if (c->feed) count_feed_start(c->feed, c->engine.reader, &c->totals);
    engine_start(&c->engine);
    return EXIT_DONE;
}

static void release(counting *c) {
    count_feed_free(c->feed); /* its threads use the reader */
    engine_release(&c->engine);
    count_groups_free(c->groups);
    count_set_free(&c->set);
    count_set_free(&c->sum);
    count_set_free(&c->other.set);
    count_truths_free(&c->truths);
    count_truths_free(&c->other.truths);
    count_keys_free(c->keys, c->key_count);
}

static engine_outcome run_to_end(counting *c) {
    engine_outcome how = engine_conclude(&c->engine, engine_run(&c->engine), NULL);
    if (how != ENGINE_ALL_READ && how != ENGINE_STOPPED) return how;
    engine_outcome printed = print_answers(c);
    return printed == ENGINE_GO_ON ? how : printed;
}

int count_run(const count_settings *settings) {
    counting c = {.settings = settings};
    engine_init(&c.engine, &consumer, &c, &settings->from);
    stopping_catch(NULL);
    int code = begin(&c);
    engine_outcome how = code == EXIT_DONE ? run_to_end(&c) : ENGINE_TROUBLE;
    release(&c);
    return engine_exit(how);
}
