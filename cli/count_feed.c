/* count_feed.c - records on their way into sketches.
 *
 * With several threads each has sketches of its own and takes the keys of one range of
 * hashes: all of a batch at once, in the order of the stream, so that what each
 * sketch sees does not depend on how the stream was cut into batches. Counters add
 * up when they are merged, so the counts are those of a single sketch.
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
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"

enum { LINE = 640, FOLD_SLOTS = 2048, FOLD_REST = 16 }; /* batches without folding */

/* One thread's share of the work. */
typedef struct {
    count_feed *feed;
    unsigned number;
    count_set own, *set; /* the first feeds the caller's set */
    stream_picker *picker;
    pthread_t thread;
    bool running;

    /* the records to be added: places in the batch, and what goes with them */
    size_t room, count;
    uint32_t *places;
    uint64_t *hashes;
    int64_t *values, *times, *weights;
    double *fractions;
    bool whole; /* all weights are */
    bool folded;
    unsigned rest; /* batches before folding is tried again */
    uint32_t *met; /* by hash: which update a key may be part of */

    uint64_t bad;     /* of this batch */
    uint32_t trouble; /* the record that stopped it; UINT32_MAX: none */
    char message[LINE];
} feeder;

struct count_feed {
    const count_settings *settings;
    const stream_batch *batch;
    const count_truths *truths;
    bool integers, weighs, folds;
    unsigned threads;
    feeder *feeders;

    pthread_mutex_t lock;
    pthread_cond_t go, done;
    uint64_t turn;    /* number of the batch in hand */
    unsigned waiting; /* feeders still busy with it */
    bool closing;
};

/* --- one feeder ------------------------------------------------------------------------ */

static bool make_room(feeder *f, size_t count) {
    if (count <= f->room) return true;
    size_t room = count + count / 2 + 64;
    void *places = realloc(f->places, room * sizeof *f->places);
    if (places) f->places = places;
    void *hashes = realloc(f->hashes, room * sizeof *f->hashes);
    if (hashes) f->hashes = hashes;
    void *values = realloc(f->values, room * sizeof *f->values);
    if (values) f->values = values;
    void *times = realloc(f->times, room * sizeof *f->times);
    if (times) f->times = times;
    void *weights = realloc(f->weights, room * sizeof *f->weights);
    if (weights) f->weights = weights;
    void *fractions = realloc(f->fractions, room * sizeof *f->fractions);
    if (fractions) f->fractions = fractions;
    if (!places || !hashes || !values || !times || !weights || !fractions) return false;
    f->room = room;
    return true;
}

static void stop_at(feeder *f, uint32_t place, const char *why) {
    const stream_batch *b = f->feed->batch;
    f->trouble = place;
    snprintf(f->message, sizeof f->message, "record %llu of '%s': %s",
             (unsigned long long)b->first_record + place, b->file, why);
}

/* The integer that a key is; false if it is none. */
static bool integer_of(const char *key, size_t length, int64_t *value) {
    size_t i = 0;
    while (length && (key[length - 1] == ' ' || key[length - 1] == '\r')) length--;
    while (i < length && key[i] == ' ') i++;
    bool minus = i < length && key[i] == '-';
    if (i < length && (key[i] == '-' || key[i] == '+')) i++;
    uint64_t sum = 0, most = minus ? UINT64_C(1) << 63 : INT64_MAX;
    if (i == length) return false;
    for (; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)key[i] - '0';
        if (digit > 9 || sum > (most - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *value = minus ? (int64_t)-sum : (int64_t)sum;
    return true;
}

/* The integer key of a record. false: it has none, and has been dealt with. */
static bool take_integer(feeder *f, uint32_t place, int64_t *value) {
    size_t length = 0;
    const char *key = stream_pick(f->picker, f->feed->batch, place, &length);
    if (key && integer_of(key, length, value)) return true;
    if (f->feed->settings->from.on_bad != DO_FAIL) {
        f->bad++;
        return false;
    }
    char why[160];
    snprintf(why, sizeof why,
             "the key '%.*s' is not an integer of 64 bits, as --range and --quantiles need",
             (int)(length < 60 ? length : 60), key ? key : "");
    stop_at(f, place, why);
    return false;
}

/* Take a record in hand; false if it stops the run. */
static bool take(feeder *f, uint32_t place) {
    const stream_batch *b = f->feed->batch;
    size_t n = f->count;
    if (f->feed->integers && !take_integer(f, place, &f->values[n]))
        return f->trouble == UINT32_MAX;
    if (f->feed->weighs) {
        double weight = b->numbers[place];
        f->fractions[n] = weight;
        f->whole = f->whole && weight == floor(weight) && fabs(weight) < 0x1p53;
        if (f->whole) f->weights[n] = (int64_t)weight;
    }
    f->places[n] = place;
    f->hashes[n] = b->hashes[place];
    if (b->times) f->times[n] = b->times[place];
    f->count++;
    return true;
}

static const void *key_of(void *context, size_t i, size_t *length) {
    feeder *f = context;
    const void *key = stream_pick(f->picker, f->feed->batch, f->places[i], length);
    if (!key) *length = 0;
    return key ? key : "";
}

static const void *key_in_place(void *context, size_t i, size_t *length) {
    feeder *f = context;
    const void *key = stream_pick(f->picker, f->feed->batch, i, length);
    if (!key) *length = 0;
    return key ? key : "";
}

static void add_to(feeder *f, count_set *set, const weir_updates *all) {
    weir_error err;
    for (int i = 0; i < PARTS && f->trouble == UINT32_MAX; i++) {
        weir_updates u = *all;
        if (!set->part[i]) continue;
        if (i == PART_SAMPLE) u.weights = NULL, u.fractions = NULL;
        if (weir_sketch_add_batch(set->part[i], &u, &err) == WEIR_OK) continue;
        size_t at = err.offset >= 0 && (size_t)err.offset < u.count ? (size_t)err.offset : 0;
        stop_at(f, u.key == key_of ? f->places[at] : (uint32_t)at, err.message);
    }
}

/* Add what is in hand. */
static void add_taken(feeder *f, count_set *set) {
    const stream_batch *b = f->feed->batch;
    weir_updates u = {
        .count = f->count,
        .hashes = f->hashes,
        .values = f->values,
        .weights = f->folded || (f->feed->weighs && f->whole) ? f->weights : NULL,
        .fractions = f->feed->weighs && !f->whole ? f->fractions : NULL,
        .times = b->times ? f->times : NULL,
        .key = key_of,
        .context = f,
    };
    if (f->count) add_to(f, set, &u);
}

static bool is_mine(const feeder *f, uint64_t hash) {
    return (unsigned)((hash >> 32) * f->feed->threads >> 32) == f->number;
}

/* Nothing but keys, all in order: without branches, which could not be foretold. */
static void take_mine(feeder *f) {
    const stream_batch *b = f->feed->batch;
    size_t n = 0;
    for (size_t i = 0; i < b->count; i++) {
        f->places[n] = (uint32_t)i;
        f->hashes[n] = b->hashes[i];
        n += is_mine(f, b->hashes[i]);
    }
    f->count = n;
    for (size_t i = 0; b->times && i < n; i++) f->times[i] = b->times[f->places[i]];
}

/* The same, and records of one key become one update, without branches too. */
static void take_folded(feeder *f) {
    const stream_batch *b = f->feed->batch;
    size_t n = 0, taken = 0;
    for (size_t i = 0; i < b->count; i++) {
        uint64_t hash = b->hashes[i];
        uint32_t *met = &f->met[hash % FOLD_SLOTS], mine = is_mine(f, hash);
        bool again = *met < n && f->hashes[*met] == hash;
        uint32_t at = again ? *met : (uint32_t)n;
        f->places[n] = (uint32_t)i;
        f->hashes[n] = hash;
        f->weights[n] = 0;
        f->weights[at] += mine;
        *met = at;
        n += mine && !again;
        taken += mine;
    }
    f->count = n;
    f->folded = true;
    f->rest = n > taken / 2 ? FOLD_REST : 0;
}

static void take_singly(feeder *f) {
    const stream_batch *b = f->feed->batch;
    for (size_t i = 0; i < b->count; i++) {
        if (b->status && b->status[i] != STREAM_RECORD_OK) continue;
        if (f->feed->threads > 1 && !is_mine(f, b->hashes[i])) continue;
        if (!take(f, (uint32_t)i)) break;
    }
}

/* This feeder's share of the batch. */
static void feed_share(feeder *f) {
    count_feed *feed = f->feed;
    const stream_batch *b = feed->batch;
    f->count = 0;
    f->bad = 0;
    f->whole = true;
    f->trouble = UINT32_MAX;
    bool plain = !b->status && !feed->integers && !feed->weighs;
    bool fold = plain && feed->folds && !f->rest;
    f->folded = false;
    if (f->rest) f->rest--;
    if (plain && !fold && feed->threads == 1 && !feed->truths) {
        weir_updates u = {.count = b->count,
                          .hashes = b->hashes,
                          .times = b->times,
                          .key = key_in_place,
                          .context = f};
        add_to(f, f->set, &u);
        return;
    }
    if (!make_room(f, b->count)) {
        stop_at(f, 0, "out of memory");
        return;
    }
    if (fold) take_folded(f);
    else if (plain) take_mine(f);
    else take_singly(f);
    add_taken(f, f->set);
}

/* --- threads ------------------------------------------------------------------------------ */

static void *work(void *context) {
    feeder *f = context;
    count_feed *feed = f->feed;
    uint64_t turn = 0;
    pthread_mutex_lock(&feed->lock);
    while (true) {
        while (feed->turn == turn && !feed->closing) pthread_cond_wait(&feed->go, &feed->lock);
        if (feed->closing) break;
        turn = feed->turn;
        pthread_mutex_unlock(&feed->lock);
        feed_share(f);
        pthread_mutex_lock(&feed->lock);
        if (--feed->waiting == 0) pthread_cond_signal(&feed->done);
    }
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

static void feed_all(count_feed *feed) {
    if (feed->threads > 1) {
        pthread_mutex_lock(&feed->lock);
        feed->turn++;
        feed->waiting = feed->threads - 1;
        pthread_cond_broadcast(&feed->go);
        pthread_mutex_unlock(&feed->lock);
    }
    feed_share(&feed->feeders[0]);
    if (feed->threads < 2) return;
    pthread_mutex_lock(&feed->lock);
    while (feed->waiting) pthread_cond_wait(&feed->done, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
}

/* --- batches ------------------------------------------------------------------------------ */

static int show_header(count_feed *feed, const stream_batch *b) {
    stream_error err;
    for (unsigned i = 0; i < feed->threads; i++)
        if (stream_picker_header(feed->feeders[i].picker, b, 0, &err) != STREAM_OK)
            return cli_error("%s", err.message);
    return EXIT_DONE;
}

int count_feed_check(count_feed *feed, const stream_reader *reader, const stream_batch *b,
                     count_totals *totals) {
    const reading *from = &feed->settings->from;
    stream_error err;
    totals->records += b->count;
    if (!b->status) return EXIT_DONE;
    if (b->status[0] == STREAM_HEADER) {
        totals->records--;
        int code = show_header(feed, b);
        if (code != EXIT_DONE) return code;
    }
    totals->missing += b->missing;
    totals->bad += b->bad;
    bool missing = b->missing && from->on_missing == DO_FAIL;
    bool bad = b->bad && from->on_bad == DO_FAIL;
    for (size_t i = 0; (missing || bad) && i < b->count; i++) {
        if (!(missing && b->status[i] == STREAM_MISSING) && !(bad && b->status[i] == STREAM_BAD))
            continue;
        stream_record_error(reader, b, i, &err);
        return cli_error("%s", err.message);
    }
    return EXIT_DONE;
}

static int tell_truth(const count_feed *feed, const feeder *f) {
    int code = EXIT_DONE;
    if (!feed->truths) return EXIT_DONE;
    for (size_t i = 0; i < f->count && code == EXIT_DONE; i++) {
        double weight = feed->weighs ? f->fractions[i] : f->folded ? (double)f->weights[i] : 1;
        if (feed->truths->hashes) code = truth_add(feed->truths->hashes, f->hashes[i], weight);
        if (feed->truths->integers && code == EXIT_DONE)
            code = truth_add(feed->truths->integers, truth_word(f->values[i]), weight);
    }
    return code;
}

/* What the feeders have to say: the error of the earliest record, if any. */
static int hear(const count_feed *feed, count_totals *totals) {
    const feeder *first = NULL;
    for (unsigned i = 0; i < feed->threads; i++) {
        const feeder *f = &feed->feeders[i];
        totals->bad += f->bad;
        if (f->trouble != UINT32_MAX && (!first || f->trouble < first->trouble)) first = f;
    }
    return first ? cli_error("%s", first->message) : EXIT_DONE;
}

int count_feed_batch(count_feed *feed, const stream_reader *reader, const stream_batch *batch,
                     count_totals *totals) {
    int code = count_feed_check(feed, reader, batch, totals);
    if (code != EXIT_DONE) return code;
    feed->batch = batch;
    feed_all(feed);
    code = hear(feed, totals);
    for (unsigned i = 0; i < feed->threads && code == EXIT_DONE; i++)
        code = tell_truth(feed, &feed->feeders[i]);
    return code;
}

int count_feed_some(count_feed *feed, count_set *into, const stream_batch *batch,
                    const uint32_t *indices, size_t count, count_totals *totals) {
    feeder *f = &feed->feeders[0];
    feed->batch = batch;
    f->count = 0;
    f->bad = 0;
    f->whole = true;
    f->folded = false;
    f->trouble = UINT32_MAX;
    if (!make_room(f, count)) return cli_error("out of memory");
    for (size_t i = 0; i < count && take(f, indices[i]); i++) {
    }
    add_taken(f, into);
    return hear(feed, totals);
}

int count_feed_gather(count_feed *feed) {
    for (unsigned i = 1; i < feed->threads; i++) {
        int code = count_set_merge(feed->feeders[0].set, &feed->feeders[i].own);
        if (code != EXIT_DONE) return code;
        count_set_clear(&feed->feeders[i].own);
    }
    return EXIT_DONE;
}

void count_feed_truths(count_feed *feed, const count_truths *truths) { feed->truths = truths; }

/* --- making and freeing ---------------------------------------------------------------------- */

static int start_feeder(count_feed *feed, unsigned number, count_set *set) {
    feeder *f = &feed->feeders[number];
    stream_error err;
    *f = (feeder){.feed = feed, .number = number, .set = number ? &f->own : set};
    stream_options options = feed->settings->from.in;
    f->met = calloc(FOLD_SLOTS, sizeof *f->met);
    if (!f->met) return cli_error("out of memory");
    if (stream_picker_new(&f->picker, &options, &err) != STREAM_OK)
        return cli_error("%s", err.message);
    if (!number) return EXIT_DONE;
    int code = count_set_like(&f->own, set);
    if (code != EXIT_DONE) return code;
    if (pthread_create(&f->thread, NULL, work, f)) return cli_error("cannot start a thread");
    f->running = true;
    return EXIT_DONE;
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
    feed->integers =
        settings->range_count || settings->quantile_count || (set && set->part[PART_INTEGERS]);
    feed->weighs = settings->from.in.number_field != NULL;
    feed->folds = !settings->window && !settings->decay && !settings->conservative &&
                  !settings->sketch_count && !settings->sample;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->go, NULL);
    pthread_cond_init(&feed->done, NULL);
    int code = EXIT_DONE;
    for (unsigned i = 0; i < threads && code == EXIT_DONE; i++) {
        code = start_feeder(feed, i, set);
        feed->threads = i + 1;
    }
    *out = feed;
    return code;
}

void count_feed_free(count_feed *feed) {
    if (!feed) return;
    pthread_mutex_lock(&feed->lock);
    feed->closing = true;
    pthread_cond_broadcast(&feed->go);
    pthread_mutex_unlock(&feed->lock);
    for (unsigned i = 0; i < feed->threads; i++) {
        feeder *f = &feed->feeders[i];
        if (f->running) pthread_join(f->thread, NULL);
        stream_picker_free(f->picker);
        count_set_free(&f->own);
        free(f->met);
        free(f->places);
        free(f->hashes);
        free(f->values);
        free(f->times);
        free(f->weights);
        free(f->fractions);
    }
    pthread_mutex_destroy(&feed->lock);
    pthread_cond_destroy(&feed->go);
    pthread_cond_destroy(&feed->done);
    free(feed->feeders);
    free(feed);
}
