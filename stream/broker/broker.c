/* broker.c - what is alike for all brokers: which messages are known, and what is to be settled.
 *
 * A message is in one of three sets, or new:
 *
 *   unsettled   handed out, not yet settled; it comes again if the broker has lost patience
 *   known       dealt with by an earlier run: by the state, or by what is in the sink
 *   again       known ones that did come again, to be settled with the next
 *
 * Known ones are kept for a while: their settling may have been lost, or not. When the broker
 * would long have brought them again they are forgotten.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "broker_internal.h"

enum {
    MOST_HELD = 100000,    /* unsettled messages, unless the broker allows fewer */
    PATIENCE = 3,          /* times the broker's own, before known messages are forgotten */
    LEAST_PATIENCE = 60000 /* ms */
};

stream_status broker__fail(stream_error *err, const char *format, ...) {
    va_list args;
    *err = (stream_error){0};
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return STREAM_FAILED;
}

stream_status broker__no_memory(stream_error *err) { return broker__fail(err, "out of memory"); }

int64_t broker__now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void broker__mark(char mark[BROKER_MARK_SIZE], const char *producer, broker_id id) {
    snprintf(mark, BROKER_MARK_SIZE, "%.16s:%" PRIu64 "-%" PRIu64, producer, id.hi, id.lo);
}

bool broker__read_mark(const char *producer, const char *mark, size_t length, broker_id *id) {
    size_t own = strlen(producer);
    broker_ids one = {0};
    if (length <= own || memcmp(mark, producer, own) != 0 || mark[own] != ':') return false;
    bool read = broker_ids_read(&one, mark + own + 1, length - own - 1) && one.size == 1;
    if (read) *id = (broker_id){one.ranges[0].hi, one.ranges[0].lo};
    broker_ids_release(&one);
    return read;
}

/* ------------------------------------------------------------------------
 * Sources
 * ------------------------------------------------------------------------ */

struct broker_source {
    const broker_source_class *class;
    void *self;
    broker_habits habits;
    broker_ids unsettled, known, again;
    broker_message *fresh; /* of the last poll, those that are not known */
    size_t fresh_count, fresh_room;
    int64_t opened; /* ms */
    int64_t oldest; /* when the first of the unsettled came, ms */
    broker_source_counts counts;
};

stream_status broker_source_open(broker_source **out, const broker_url *url,
                                 const broker_source_options *options, stream_error *err) {
    broker_source *s = *out = NULL;
    s = calloc(1, sizeof *s);
    if (!s) return broker__no_memory(err);
    s->class = broker__kind(url->scheme)->source;
    stream_status status = s->class->open(&s->self, url, options, &s->habits, err);
    if (!s->habits.most_held || s->habits.most_held > MOST_HELD) s->habits.most_held = MOST_HELD;
    s->opened = broker__now_ms();
    if (status == STREAM_OK) *out = s;
    else broker_source_close(s);
    return status;
}

void broker_source_close(broker_source *s) {
    if (!s) return;
    if (s->self) s->class->close(s->self);
    broker_ids_release(&s->unsettled);
    broker_ids_release(&s->known);
    broker_ids_release(&s->again);
    free(s->fresh);
    free(s);
}

bool broker_source_know(broker_source *s, const broker_ids *ids) {
    return broker_ids_add_all(&s->known, ids);
}

static void forget_known(broker_source *s) {
    int64_t patience = PATIENCE * (int64_t)s->habits.again_ms;
    if (patience < LEAST_PATIENCE) patience = LEAST_PATIENCE;
    if (s->known.count && broker__now_ms() - s->opened > patience) broker_ids_release(&s->known);
}

/* Is a message to be handed out? It is then unsettled. */
static bool is_fresh(broker_source *s, const broker_message *m, bool *no_memory) {
    bool known = broker_ids_has(&s->known, m->id);
    if (broker_ids_has(&s->unsettled, m->id) || known) {
        if (known) *no_memory |= !broker_ids_add(&s->again, m->id);
        s->counts.again++;
        return false;
    }
    if (!s->unsettled.size) s->oldest = broker__now_ms();
    *no_memory |= !broker_ids_add(&s->unsettled, m->id);
    return true;
}

stream_status broker_source_poll(broker_source *s, int timeout_ms, const broker_message **messages,
                                 size_t *count, stream_error *err) {
    const broker_message *all = NULL;
    size_t n = 0;
    bool no_memory = false;
    s->fresh_count = 0;
    forget_known(s);
    stream_status status = s->class->poll(s->self, timeout_ms, &all, &n, err);
    bool held = status == STREAM_END && n > s->unsettled.size + s->again.size;
    if (status != STREAM_BATCH) return held ? STREAM_IDLE : status; /* others have some */
    if (!broker__room(&s->fresh, &s->fresh_room, n, sizeof *s->fresh))
        return broker__no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (is_fresh(s, &all[i], &no_memory)) s->fresh[s->fresh_count++] = all[i];
    if (no_memory) return broker__no_memory(err);
    *messages = s->fresh;
    *count = s->fresh_count;
    return s->fresh_count ? STREAM_BATCH : STREAM_IDLE;
}

bool broker_source_given_before(const broker_source *s) { return s->class->given_before(s->self); }

const broker_ids *broker_source_unsettled(const broker_source *s) { return &s->unsettled; }

/* The ids to be settled: all, less those of the last batch that were not taken. */
static bool taken_ids(const broker_source *s, size_t taken, broker_ids *ids) {
    broker_ids left = {0};
    bool done = true;
    if (taken > s->fresh_count) taken = s->fresh_count;
    for (size_t i = taken; i < s->fresh_count && done; i++)
        done = broker_ids_add(&left, s->fresh[i].id);
    for (size_t i = 0; i < s->unsettled.count && done; i++) {
        const broker_range *r = &s->unsettled.ranges[i];
        for (uint64_t lo = r->lo; done; lo++) {
            broker_id id = {r->hi, lo};
            if (!broker_ids_has(&left, id)) done = broker_ids_add(ids, id);
            if (lo == r->last) break;
        }
    }
    broker_ids_release(&left);
    return done;
}

bool broker_source_dealt_with(const broker_source *s, size_t taken, broker_ids *ids) {
    broker_ids_clear(ids);
    return broker_ids_add_all(ids, &s->known) && taken_ids(s, taken, ids);
}

stream_status broker_source_settle(broker_source *s, size_t taken, stream_error *err) {
    broker_ids part = {0};
    const broker_ids *settled = &s->unsettled;
    stream_status status = STREAM_OK;
    if (taken < s->fresh_count) {
        settled = &part;
        if (!taken_ids(s, taken, &part)) status = broker__no_memory(err);
    }
    if (status == STREAM_OK && s->again.count) status = s->class->settle(s->self, &s->again, err);
    if (status == STREAM_OK && settled->count) status = s->class->settle(s->self, settled, err);
    broker_ids_release(&part);
    if (status != STREAM_OK) return status;
    broker_ids_clear(&s->again);
    broker_ids_clear(&s->unsettled);
    return STREAM_OK;
}

bool broker_source_is_pressed(const broker_source *s, int64_t now_ms) {
    if (!s->unsettled.size) return s->again.size > 0;
    if (s->unsettled.size >= s->habits.most_held / 2) return true;
    return s->habits.again_ms && now_ms - s->oldest > (int64_t)s->habits.again_ms / 3;
}

int64_t broker_source_lag(broker_source *s) { return s->class->lag(s->self); }

broker_source_counts broker_source_get_counts(const broker_source *s) { return s->counts; }

/* ------------------------------------------------------------------------
 * Sinks
 * ------------------------------------------------------------------------ */

struct broker_sink {
    const broker_sink_class *class;
    void *self;
    char *producer;
    uint64_t bytes;
};

stream_status broker_sink_open(broker_sink **out, const broker_url *url,
                               const broker_sink_options *options, stream_error *err) {
    broker_sink *s = *out = NULL;
    s = calloc(1, sizeof *s);
    if (!s) return broker__no_memory(err);
    s->class = broker__kind(url->scheme)->sink;
    if (options->producer && !(s->producer = strdup(options->producer))) {
        free(s);
        return broker__no_memory(err);
    }
    stream_status status = s->class->open(&s->self, url, options, err);
    if (status == STREAM_OK) *out = s;
    else broker_sink_close(s);
    return status;
}

void broker_sink_close(broker_sink *s) {
    if (!s) return;
    if (s->self) s->class->close(s->self);
    free(s->producer);
    free(s);
}

stream_status broker_sink_send(broker_sink *s, const broker_message *message, const char *origin,
                               stream_error *err) {
    char mark[BROKER_MARK_SIZE], unique[2 * BROKER_MARK_SIZE + 256];
    bool named = s->producer || origin;
    if (s->producer) broker__mark(mark, s->producer, message->id);
    snprintf(unique, sizeof unique, "%s:%.255s:%" PRIu64 "-%" PRIu64,
             s->producer ? s->producer : "weir", origin ? origin : "", message->id.hi,
             message->id.lo);
    s->bytes += message->length;
    return s->class->send(s->self, message, s->producer ? mark : NULL, named ? unique : NULL, err);
}

stream_status broker_sink_flush(broker_sink *s, stream_error *err) {
    return s->class->flush(s->self, err);
}

char *broker_sink_position(broker_sink *s, stream_error *err) {
    return s->class->position(s->self, err);
}

stream_status broker_sink_tail(broker_sink *s, const char *position, stream_error *err) {
    return s->class->tail(s->self, position, err);
}

stream_status broker_sink_poll_tail(broker_sink *s, int timeout_ms, const broker_message **messages,
                                    size_t *count, stream_error *err) {
    return s->class->poll_tail(s->self, timeout_ms, messages, count, err);
}

uint64_t broker_sink_bytes(const broker_sink *s) { return s->bytes; }
