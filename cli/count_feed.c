/* count_feed.c - records on their way into sketches.
 *
 * With several threads each has sketches of its own and takes batches in turn with the
 * others, so that what each sketch sees does not depend on which thread was faster.
 * Counters add up when they are merged, so the counts are those of a single sketch. Each
 * goes on at its own pace; they meet only where the answers so far are wanted: then
 * those behind come as far as the first has, and nobody goes on before that.
 *
 * Where the order of records does not matter, those of a batch with the same key are
 * folded into one update that weighs as much: a small table remembers where in the batch
 * keys were met last. A stream of few keys then costs little more than its hashes. Where
 * a batch has few repeats, the next ones are not looked at for any.
 *
 * A window or a half-life that goes by records needs all of them in order, in one
 * sketch; so do groups.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"
#include "engine.h"

enum { LINE = 640 };        /* bytes of a message that ends the run */
enum { FOLD_SLOTS = 2048 }; /* hashes of a batch that are remembered, to add up equal keys */
enum { FOLD_REST = 16 };    /* batches that are not folded after one in which few keys were equal */

/* One thread's share of the work. */
typedef struct {
    count_feed *feed;
    const stream_batch *batch; /* in hand */
    unsigned number;
    count_set own, *set; /* the first feeds the caller's set */
    stream_picker *picker;
    stream_rules rules;
    stream_selection selection;
    pthread_t thread;
    bool running;

    /* the records to be added: places in the batch, and what goes with them */
    size_t room, count;
    uint32_t *places;
    uint64_t *hashes;
    int64_t *values, *times, *weights;
    double *fractions, *decimals;
    bool whole;   /* all weights are */
    bool decimal; /* some key of the batch is no integer */
    bool folded;
    unsigned rest; /* batches before folding is tried again */
    uint32_t *met; /* by hash: which update a key may be part of */

    count_totals totals;  /* since the threads last met */
    uint64_t next, ended; /* number of the next batch to begin; of how many have ended, times
                           * the threads; guarded by the feed's lock */
    uint64_t stopped;     /* the number of the batch that has the trouble */
    uint32_t trouble;     /* the record that stopped it; UINT32_MAX: none */
    char message[LINE];
} feeder;

struct count_feed {
    const count_settings *settings;
    const count_truths *truths;
    bool integers, takes_decimals, weighs, folds;
    unsigned threads;
    feeder *feeders;

    /* several threads */
    stream_reader *reader;
    count_totals *totals;
    _Atomic bool troubled; /* one of them is */
    pthread_mutex_t lock;
    pthread_cond_t go, done; /* the limit was raised; a batch has ended */
    uint64_t limit;          /* batches before this number may be begun */
};

/* --- one feeder ------------------------------------------------------------------------ */

static bool room_for(feeder *f, size_t count) {
    const stream_array arrays[] = {
        {&f->places, sizeof *f->places},     {&f->hashes, sizeof *f->hashes},
        {&f->values, sizeof *f->values},     {&f->times, sizeof *f->times},
        {&f->weights, sizeof *f->weights},   {&f->fractions, sizeof *f->fractions},
        {&f->decimals, sizeof *f->decimals},
    };
    return stream_make_room(&f->room, count, arrays, sizeof arrays / sizeof *arrays);
}

/* Its message is up to the caller. The first thread may be waiting for input. */
static void note_trouble(feeder *f, uint32_t place) {
    f->trouble = place;
    f->stopped = f->next;
    atomic_store(&f->feed->troubled, true);
    if (f->number) stream_interrupt(f->feed->reader);
}

static void stop_at(feeder *f, uint32_t place, const char *why) {
    const stream_batch *b = f->batch;
    note_trouble(f, place);
    snprintf(f->message, sizeof f->message, "record %llu of '%s': %s",
             (unsigned long long)b->first_record + place,
             strcmp(b->file, "-") ? b->file : "standard input", why);
}

/* The number that is the key of a record, decimals[n] and, as far as all of the batch are
 * integers, values[n]. false: it has none, and has been dealt with. */
static bool take_number(feeder *f, uint32_t place, size_t n) {
    size_t length = 0;
    weir_error err;
    const char *key = stream_pick(f->picker, f->batch, place, &length);
    bool quoted = key && f->batch->format == STREAM_JSON && length > 2 && *key == '"';
    const char *text = key ? key + quoted : "";
    if (key) length -= 2u * quoted;
    if (weir_parse_integer(text, length, &f->values[n], &err) == WEIR_OK) {
        f->decimals[n] = (double)f->values[n];
        return true;
    }
    if (f->feed->takes_decimals &&
        weir_parse_decimal(text, length, &f->decimals[n], &err) == WEIR_OK) {
        f->decimal = true;
        f->values[n] = 0; /* not used */
        return true;
    }
    if (f->feed->settings->from.on_bad != STREAM_STOP) {
        f->totals.bad++;
        return false;
    }
    char why[400];
    snprintf(why, sizeof why, "%.200s%s", err.message,
             f->feed->takes_decimals              ? ", as --quantiles need"
             : f->feed->settings->range_count > 0 ? ", as --range needs"
                                                  : ", as the --sketch needs");
    stop_at(f, place, why);
    return false;
}

/* Collect the update of record i of those chosen; false if it stops the run. */
static bool add_record(feeder *f, size_t i) {
    const stream_batch *b = f->batch;
    const stream_selection *s = &f->selection;
    uint32_t place = s->places ? s->places[i] : (uint32_t)i;
    size_t n = f->count;
    if (f->feed->integers && !take_number(f, place, n)) return f->trouble == UINT32_MAX;
    if (f->feed->weighs) {
        double weight = b->numbers[place];
        f->fractions[n] = weight;
        f->whole = f->whole && weight == floor(weight) && fabs(weight) < 0x1p53;
        if (f->whole) f->weights[n] = (int64_t)weight;
    }
    f->places[n] = place;
    f->hashes[n] = b->hashes[place];
    if (s->times) f->times[n] = s->times[i];
    f->count++;
    return true;
}

static const void *key_of(void *context, size_t i, size_t *length) {
    feeder *f = context;
    const void *key = stream_pick(f->picker, f->batch, f->places[i], length);
    if (!key) *length = 0;
    return key ? key : "";
}

static const void *key_in_place(void *context, size_t i, size_t *length) {
    feeder *f = context;
    const void *key = stream_pick(f->picker, f->batch, i, length);
    if (!key) *length = 0;
    return key ? key : "";
}

/* The first record of those collected whose weight is below 0 or has a fraction; false: none. */
static bool refused_weight(const feeder *f, uint32_t *place, double *weight) {
    for (size_t i = 0; i < f->count; i++) {
        double w = f->batch->numbers[f->places[i]];
        if (w >= 0 && w == floor(w) && w < 0x1p53) continue;
        *place = f->places[i];
        *weight = w;
        return true;
    }
    return false;
}

/* Why a part refuses an update: of one that takes back, in the words of the command line. */
static void refuse(feeder *f, const weir_updates *u, count_part part, const weir_error *err) {
    const count_settings *s = f->feed->settings;
    size_t at = err->offset >= 0 && (size_t)err->offset < u->count ? (size_t)err->offset : 0;
    uint32_t place = u->key == key_of ? f->places[at] : (uint32_t)at;
    double weight = f->feed->weighs ? f->batch->numbers[place] : 1;
    char why[256];
    if (weight < 0 && part == PART_DISTINCT)
        snprintf(why, sizeof why,
                 "its weight %g takes back, which the number of different keys cannot; %s", weight,
                 s->usual ? "ask for a list alone, such as --top 10" : "leave out --distinct");
    else if (weight < 0 && part == PART_KEYS && s->conservative)
        snprintf(why, sizeof why,
                 "its weight %g takes back, which --estimator mi cannot; use another, such as agms",
                 weight);
    else if (part == PART_QUANTILES && f->feed->weighs && refused_weight(f, &place, &weight))
        snprintf(why, sizeof why,
                 "its weight %.15g is no whole number from 0 on, as --quantiles need; --sketch "
                 "dyadic:bits=64 takes any, with wider intervals and ends that are not exact",
                 weight);
    else snprintf(why, sizeof why, "%.250s", err->message);
    stop_at(f, place, why);
}

static void add_to(feeder *f, count_set *set, const weir_updates *all) {
    weir_error err;
    for (int i = 0; i < PARTS && f->trouble == UINT32_MAX; i++) {
        weir_updates u = *all;
        if (!set->part[i]) continue;
        if (i == PART_SAMPLE) u.weights = NULL, u.fractions = NULL;
        if (weir_sketch_add_batch(set->part[i], &u, &err) != WEIR_OK)
            refuse(f, &u, (count_part)i, &err);
    }
}

/* Add the updates that are collected. */
static void add_taken(feeder *f, count_set *set) {
    const stream_batch *b = f->batch;
    weir_updates u = {
        .count = f->count,
        .hashes = f->hashes,
        .values = f->values,
        .decimals = f->decimal ? f->decimals : NULL,
        .weights = f->folded || (f->feed->weighs && f->whole) ? f->weights : NULL,
        .fractions = f->feed->weighs && !f->whole ? f->fractions : NULL,
        .times = b->times ? f->times : NULL,
        .key = key_of,
        .context = f,
    };
    if (f->count) add_to(f, set, &u);
}

/* Nothing but keys, all in order. */
static void take_all(feeder *f) {
    const stream_batch *b = f->batch;
    for (size_t i = 0; i < b->count; i++) f->places[i] = (uint32_t)i;
    memcpy(f->hashes, b->hashes, b->count * sizeof *f->hashes);
    if (b->times) memcpy(f->times, f->selection.times, b->count * sizeof *f->times);
    f->count = b->count;
}

/* The same, and records of one key become one update: without branches, which could not
 * be foretold. */
static void take_folded(feeder *f) {
    const stream_batch *b = f->batch;
    size_t n = 0;
    for (size_t i = 0; i < b->count; i++) {
        uint64_t hash = b->hashes[i];
        uint32_t *met = &f->met[hash % FOLD_SLOTS];
        bool again = *met < n && f->hashes[*met] == hash;
        uint32_t at = again ? *met : (uint32_t)n;
        f->places[n] = (uint32_t)i;
        f->hashes[n] = hash;
        f->weights[n] = 0;
        f->weights[at]++;
        *met = at;
        n += !again;
    }
    f->count = n;
    f->folded = true;
    f->rest = n > b->count / 2 ? FOLD_REST : 0;
}

static void take_singly(feeder *f) {
    const stream_selection *s = &f->selection;
    for (size_t i = 0; i < s->count; i++)
        if (!add_record(f, i)) break;
}

/* Feed the batch in hand. */
static void feed_all(feeder *f) {
    count_feed *feed = f->feed;
    const stream_batch *b = f->batch;
    f->count = 0;
    f->whole = true;
    f->decimal = false;
    bool plain = f->selection.count == b->count && !feed->integers && !feed->weighs;
    bool fold = plain && feed->folds && !f->rest;
    f->folded = false;
    if (f->rest) f->rest--;
    if (plain && !fold && !feed->truths) {
        weir_updates u = {.count = b->count,
                          .hashes = b->hashes,
                          .times = f->selection.times,
                          .key = key_in_place,
                          .context = f};
        add_to(f, f->set, &u);
        return;
    }
    if (!room_for(f, b->count)) {
        stop_at(f, 0, "out of memory");
        return;
    }
    if (fold) take_folded(f);
    else if (plain) take_all(f);
    else take_singly(f);
    add_taken(f, f->set);
}

/* --- threads ------------------------------------------------------------------------------ */

/* Note that a batch begins, once it may. */
static void begin_batch(feeder *f, const stream_batch *batch) {
    count_feed *feed = f->feed;
    f->batch = batch;
    if (!feed->reader) return;
    pthread_mutex_lock(&feed->lock);
    while (f->next >= feed->limit) pthread_cond_wait(&feed->go, &feed->lock);
    f->next += feed->threads;
    pthread_mutex_unlock(&feed->lock);
}

static void end_batch(feeder *f) {
    count_feed *feed = f->feed;
    if (!feed->reader) return;
    pthread_mutex_lock(&feed->lock);
    f->ended = f->next;
    if (feed->limit != UINT64_MAX) pthread_cond_signal(&feed->done);
    pthread_mutex_unlock(&feed->lock);
}

static void refuse_batch(feeder *f, uint32_t place, const char *message) {
    note_trouble(f, place);
    snprintf(f->message, sizeof f->message, "%s", message);
}

/* Choose the records of the batch in hand, count them, and see that they are in order. */
static void check_batch(feeder *f, const stream_reader *reader) {
    const stream_batch *b = f->batch;
    const stream_selection *s = &f->selection;
    stream_error err;
    if (!stream_select(&f->selection, b, &f->rules)) {
        refuse_batch(f, 0, "out of memory");
        return;
    }
    f->totals.records += b->count - s->headers;
    f->totals.missing += s->missing;
    f->totals.unweighted += b->no_number;
    f->totals.bad += s->bad;
    if (s->end < b->count) {
        engine_word_record(reader, &f->rules, b, s, &err);
        refuse_batch(f, (uint32_t)s->end, cli_stream_words(&err));
    }
    for (unsigned i = 0; i < f->feed->threads && s->headers && f->trouble == UINT32_MAX; i++)
        if (stream_picker_header(f->feed->feeders[i].picker, b, 0, &err) != STREAM_OK)
            refuse_batch(f, 0, cli_stream_words(&err));
}

static void do_batch(feeder *f, const stream_reader *reader, const stream_batch *batch) {
    begin_batch(f, batch);
    if (f->trouble == UINT32_MAX) check_batch(f, reader);
    if (f->trouble == UINT32_MAX) feed_all(f);
    end_batch(f);
}

static void *work(void *context) {
    feeder *f = context;
    stream_reader *reader = f->feed->reader;
    const stream_batch *batch;
    while (stream_take(reader, f->number, -1, &batch, NULL) == STREAM_BATCH)
        do_batch(f, reader, batch);
    return NULL;
}

/* --- batches ------------------------------------------------------------------------------ */

static int tell_truth(const count_feed *feed, const feeder *f) {
    int code = EXIT_DONE;
    if (!feed->truths) return EXIT_DONE;
    for (size_t i = 0; i < f->count && code == EXIT_DONE; i++) {
        double weight = feed->weighs ? f->fractions[i] : f->folded ? (double)f->weights[i] : 1;
        if (feed->truths->hashes) code = truth_add(feed->truths->hashes, f->hashes[i], weight);
        if (feed->truths->integers && code == EXIT_DONE)
            code = truth_add(feed->truths->integers, truth_word(f->values[i]), weight);
        if (feed->truths->decimals && code == EXIT_DONE)
            code = truth_add(feed->truths->decimals, truth_word_of_decimal(f->decimals[i]), weight);
    }
    return code;
}

static void collect_totals(count_feed *feed, count_totals *totals) {
    for (unsigned i = 0; i < feed->threads; i++) {
        feeder *f = &feed->feeders[i];
        totals->records += f->totals.records;
        totals->missing += f->totals.missing;
        totals->unweighted += f->totals.unweighted;
        totals->bad += f->totals.bad;
        f->totals = (count_totals){0};
    }
}

/* The totals of the feeders, and the error of the earliest record, if any. */
static int collect_errors(count_feed *feed, count_totals *totals) {
    const feeder *first = NULL;
    collect_totals(feed, totals);
    for (unsigned i = 0; i < feed->threads; i++) {
        const feeder *f = &feed->feeders[i];
        if (f->trouble == UINT32_MAX) continue;
        bool before = !first || f->stopped < first->stopped ||
                      (f->stopped == first->stopped && f->trouble < first->trouble);
        if (before) first = f;
    }
    return first ? cli_error("%s", first->message) : EXIT_DONE;
}

int count_feed_check(count_feed *feed, const stream_reader *reader, const stream_batch *batch,
                     count_totals *totals) {
    feeder *f = &feed->feeders[0];
    f->batch = batch;
    check_batch(f, reader);
    return collect_errors(feed, totals);
}

const stream_selection *count_feed_chosen(const count_feed *feed) {
    return &feed->feeders[0].selection;
}

/* Let all come as far as the first has; the lock is held. */
static void set_limit(count_feed *feed) {
    feed->limit = 0;
    for (unsigned i = 0; i < feed->threads; i++) {
        const feeder *f = &feed->feeders[i];
        bool any = f->next >= feed->threads;
        if (any && f->next - feed->threads >= feed->limit)
            feed->limit = f->next - feed->threads + 1;
    }
}

static bool all_there(const count_feed *feed) {
    for (unsigned i = 0; i < feed->threads; i++) {
        const feeder *f = &feed->feeders[i];
        if (f->next < feed->limit || f->ended != f->next) return false;
    }
    return true;
}

/* Bring the threads to where no batch is missing among those begun, and hold them there. */
static void barrier_enter(count_feed *feed) {
    const stream_batch *batch;
    feeder *f = &feed->feeders[0];
    if (!feed->reader) return;
    pthread_mutex_lock(&feed->lock);
    set_limit(feed);
    pthread_mutex_unlock(&feed->lock);
    while (f->next < feed->limit)
        if (stream_next(feed->reader, -1, &batch, NULL) == STREAM_BATCH)
            do_batch(f, feed->reader, batch);
    pthread_mutex_lock(&feed->lock);
    while (!all_there(feed)) pthread_cond_wait(&feed->done, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
}

static void barrier_leave(count_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    feed->limit = UINT64_MAX;
    pthread_cond_broadcast(&feed->go);
    pthread_mutex_unlock(&feed->lock);
}

/* After the first batch: it may have the header, which all pickers need. */
static int start_threads(count_feed *feed) {
    for (unsigned i = 1; i < feed->threads; i++) {
        feeder *f = &feed->feeders[i];
        if (pthread_create(&f->thread, NULL, work, f)) return cli_error("cannot start a thread");
        f->running = true;
    }
    return EXIT_DONE;
}

int count_feed_batch(count_feed *feed, const stream_reader *reader, const stream_batch *batch,
                     count_totals *totals) {
    feeder *f = &feed->feeders[0];
    bool first = f->next == 0;
    do_batch(f, reader, batch);
    int code = tell_truth(feed, f);
    if (code != EXIT_DONE) return code;
    if (!feed->reader) return collect_errors(feed, totals);
    return first ? start_threads(feed) : EXIT_DONE;
}

void count_feed_finish(count_feed *feed) {
    for (unsigned i = 0; i < feed->threads; i++) {
        feeder *f = &feed->feeders[i];
        if (f->running) pthread_join(f->thread, NULL);
        f->running = false;
    }
}

int count_feed_trouble(count_feed *feed) {
    if (!feed->reader || !atomic_load(&feed->troubled)) return EXIT_DONE;
    barrier_enter(feed);
    int code = collect_errors(feed, feed->totals);
    barrier_leave(feed);
    return code;
}

int count_feed_some(count_feed *feed, count_group *into, const stream_batch *batch,
                    const uint32_t *indices, count_totals *totals) {
    feeder *f = &feed->feeders[0];
    f->batch = batch;
    f->count = 0;
    f->whole = true;
    f->decimal = false;
    f->folded = false;
    feed->truths = feed->settings->exact ? &into->truths : NULL;
    if (!room_for(f, into->records)) return cli_error("out of memory");
    for (size_t i = 0; i < into->records && add_record(f, indices[i]); i++) {
    }
    add_taken(f, &into->set);
    int code = collect_errors(feed, totals);
    return code == EXIT_DONE ? tell_truth(feed, f) : code;
}

int64_t count_feed_meet(count_feed *feed) {
    int64_t newest = INT64_MIN;
    barrier_enter(feed);
    if (feed->reader) collect_totals(feed, feed->totals);
    for (unsigned i = 0; i < feed->threads; i++)
        if (feed->feeders[i].rules.newest > newest) newest = feed->feeders[i].rules.newest;
    barrier_leave(feed);
    return newest;
}

int count_feed_gather(count_feed *feed) {
    barrier_enter(feed);
    int code = feed->reader ? collect_errors(feed, feed->totals) : EXIT_DONE;
    for (unsigned i = 1; i < feed->threads && code == EXIT_DONE; i++) {
        code = count_set_merge(feed->feeders[0].set, &feed->feeders[i].own);
        if (code == EXIT_DONE) count_set_clear(&feed->feeders[i].own);
    }
    barrier_leave(feed);
    return code;
}

void count_feed_truths(count_feed *feed, const count_truths *truths) { feed->truths = truths; }

/* A time that leaps ahead would move all that was counted out of the window. */
static int64_t leap_of(const count_settings *s) {
    const char *span = s->window ? s->window : s->decay;
    int64_t window = 0;
    if (!s->from.in.time_field || !span || weir_parse_duration(span, &window, NULL) != WEIR_OK)
        return 0;
    return reading_max_leap(&s->from, window);
}

/* --- making and freeing ---------------------------------------------------------------------- */

static int make_feeder(count_feed *feed, unsigned number, count_set *set) {
    feeder *f = &feed->feeders[number];
    stream_error err;
    *f = (feeder){.feed = feed,
                  .number = number,
                  .next = number,
                  .ended = number,
                  .set = number ? &f->own : set,
                  .rules = {.on_missing = feed->settings->from.on_missing,
                            .on_bad = feed->settings->from.on_bad,
                            .lateness = -1,
                            .max_leap = leap_of(feed->settings),
                            .newest = INT64_MIN},
                  .trouble = UINT32_MAX};
    stream_options options = feed->settings->from.in;
    f->met = calloc(FOLD_SLOTS, sizeof *f->met);
    if (!f->met) return cli_error("out of memory");
    if (stream_picker_new(&f->picker, &options, &err) != STREAM_OK) return cli_stream_error(&err);
    return number ? count_set_like(&f->own, set) : EXIT_DONE;
}

void count_feed_start(count_feed *feed, stream_reader *reader, count_totals *totals) {
    if (feed->threads < 2) return;
    feed->reader = reader;
    feed->totals = totals;
}

int count_feed_new(count_feed **out, const count_settings *settings, count_set *set,
                   unsigned threads) {
    *out = NULL;
    count_feed *feed = calloc(1, sizeof *feed);
    feeder *feeders = calloc(threads, sizeof *feeders);
    if (!feed || !feeders) {
        free(feed);
        free(feeders);
        return cli_error("out of memory");
    }
    feed->settings = settings;
    feed->feeders = feeders;
    feed->integers = settings->range_count || settings->quantile_count ||
                     (set && (set->part[PART_INTEGERS] || set->part[PART_QUANTILES]));
    feed->takes_decimals = set && count_set_takes_decimals(set);
    feed->weighs = settings->from.in.number_field != NULL;
    feed->folds = !settings->window && !settings->decay && !settings->conservative &&
                  !settings->sketch_count && !settings->sample;
    feed->limit = UINT64_MAX;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->go, NULL);
    pthread_cond_init(&feed->done, NULL);
    int code = EXIT_DONE;
    for (unsigned i = 0; i < threads && code == EXIT_DONE; i++) {
        code = make_feeder(feed, i, set);
        feed->threads = i + 1;
    }
    *out = feed;
    return code;
}

void count_feed_free(count_feed *feed) {
    if (!feed) return;
    if (feed->reader) stream_dismiss(feed->reader);
    barrier_leave(feed);
    count_feed_finish(feed);
    for (unsigned i = 0; i < feed->threads; i++) {
        feeder *f = &feed->feeders[i];
        stream_picker_free(f->picker);
        stream_selection_release(&f->selection);
        count_set_free(&f->own);
        free(f->met);
        free(f->places);
        free(f->hashes);
        free(f->values);
        free(f->times);
        free(f->weights);
        free(f->fractions);
        free(f->decimals);
    }
    pthread_mutex_destroy(&feed->lock);
    pthread_cond_destroy(&feed->go);
    pthread_cond_destroy(&feed->done);
    free(feed->feeders);
    free(feed);
}
