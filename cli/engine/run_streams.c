/* run_streams.c - a run that reads from a broker, writes to one, or both. */
#include "run_streams.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli.h"
#include "metrics.h"
#include "note_lines.h"

#define FLUSH_EVERY INT64_C(1000000000) /* ns between flushes of a journal while busy */

/* --- what is asked for ---------------------------------------------------------------- */

int run_streams_parse(run_streams *s, const dedup_settings *settings) {
    stream_error err;
    s->settings = settings;
    if (settings->source &&
        broker_url_parse(&s->from, settings->source, BROKER_SOURCE, &err) != STREAM_OK)
        return cli_error("--from: %s", err.message);
    if (settings->sink && broker_url_parse(&s->to, settings->sink, BROKER_SINK, &err) != STREAM_OK)
        return cli_error("--to: %s", err.message);
    s->journal = settings->sink && settings->state && settings->emit == EMIT_NEW;
    return EXIT_DONE;
}

/* --- the note -------------------------------------------------------------------------- */

/* A stream as it is recognised: parameters may change, but for the group. */
char *run_streams_name(const broker_url *url) {
    char *name = NULL;
    if (!url->text) return strdup("");
    if (asprintf(&name, "%s://%s/%s?group=%s", url->scheme, url->hosts, url->name,
                 broker_url_get(url, "group", "")) < 0)
        return NULL;
    return name;
}

static bool is_value(const char *note, size_t length, const char *name, const char *value) {
    note_line line;
    return value && note_find(note, length, name, &line) && line.value_length == strlen(value) &&
           !memcmp(line.value, value, line.value_length);
}

int run_streams_use_note(run_streams *s, const char *note, size_t length) {
    note_line line;
    char *from = run_streams_name(&s->from), *to = run_streams_name(&s->to);
    int code = EXIT_DONE;
    if (note_find(note, length, "id", &line) && line.value_length == RUN_STREAMS_ID - 1)
        memcpy(s->id, line.value, line.value_length);
    if (note_find(note, length, "position", &line) && is_value(note, length, "to", to))
        s->position = strndup(line.value, line.value_length);
    if (note_find(note, length, "done", &line) && s->settings->source &&
        is_value(note, length, "from", from) &&
        !broker_ids_read(&s->done, line.value, line.value_length))
        code = cli_error("the state file '%s' has a list of messages that is not understood",
                         s->settings->state);
    if (!from || !to) code = cli_error("out of memory");
    free(from);
    free(to);
    return code;
}

char *run_streams_write_note(run_streams *s, size_t *length, stream_error *err) {
    char *text = NULL, *from = run_streams_name(&s->from), *to = run_streams_name(&s->to);
    char *position = s->sink ? broker_sink_position(s->sink, err) : NULL;
    broker_ids done = {0};
    bool failed = s->sink && !position;
    bool room = from && to && (!s->source || broker_source_dealt_with(s->source, SIZE_MAX, &done));
    FILE *out = !failed && room ? open_memstream(&text, length) : NULL;
    if (out) {
        fprintf(out, "id=%s\nfrom=%s\nto=%s\n", s->id, from, to);
        if (position) fprintf(out, "position=%s\n", position);
        fputs("done=", out);
        broker_ids_write(out, &done);
        fputc('\n', out);
        if (fclose(out)) {
            free(text);
            text = NULL;
        }
    }
    if (!text && !failed) snprintf(err->message, sizeof err->message, "out of memory");
    broker_ids_release(&done);
    free(position);
    free(from);
    free(to);
    return text;
}

/* --- messages as records ---------------------------------------------------------------- */

static bool make_plain(run_streams *s) {
    const stream_array arrays[] = {{&s->plain, sizeof *s->plain}};
    if (!stream_make_room(&s->plain_room, s->count, arrays, 1)) return false;
    for (size_t i = 0; i < s->count; i++)
        s->plain[i] =
            (stream_message){s->messages[i].value, s->messages[i].length, s->messages[i].lacking};
    return true;
}

static stream_status give(run_streams *s, stream_status status, const stream_message **messages,
                          size_t *count, stream_error *err) {
    if (status != STREAM_BATCH) {
        s->count = 0;
        return status;
    }
    if (!make_plain(s)) {
        snprintf(err->message, sizeof err->message, "out of memory");
        return STREAM_FAILED;
    }
    *messages = s->plain;
    *count = s->count;
    return STREAM_BATCH;
}

static stream_status poll_source(void *context, int timeout_ms, const stream_message **messages,
                                 size_t *count, stream_error *err) {
    run_streams *s = context;
    stream_status status = broker_source_poll(s->source, timeout_ms, &s->messages, &s->count, err);
    return give(s, status, messages, count, err);
}

static stream_status poll_tail(void *context, int timeout_ms, const stream_message **messages,
                               size_t *count, stream_error *err) {
    run_streams *s = context;
    stream_status status = broker_sink_poll_tail(s->sink, timeout_ms, &s->messages, &s->count, err);
    for (size_t i = 0; status == STREAM_BATCH && i < s->count; i++)
        if (!broker_ids_add(&s->done, s->messages[i].id)) {
            snprintf(err->message, sizeof err->message, "out of memory");
            return STREAM_FAILED;
        }
    return give(s, status, messages, count, err);
}

static void word(void *context, size_t i, char *text, size_t size) {
    const run_streams *s = context;
    broker_id id = i < s->count ? s->messages[i].id : (broker_id){0};
    snprintf(text, size, "%" PRIu64 "-%" PRIu64, id.hi, id.lo);
}

/* --- opening ------------------------------------------------------------------------------ */

static stream_status draw_id(run_streams *s, stream_error *err) {
    uint64_t number;
    if (!s->settings->state || *s->id) return STREAM_OK;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
        snprintf(err->message, sizeof err->message, "the system gave no random number");
        return STREAM_FAILED;
    }
    snprintf(s->id, sizeof s->id, "%016" PRIx64, number);
    s->id_is_new = true;
    return STREAM_OK;
}

stream_status run_streams_open_as(const run_streams *s, const char *id, broker_sink **sink,
                                  stream_error *err) {
    const broker_sink_options options = {
        .producer = *id ? id : NULL,
        .entries = s->from.text && broker_is_redis(&s->from),
        .field = s->from.text ? broker_url_get(&s->from, "field", NULL) : NULL};
    return broker_sink_open(sink, &s->to, &options, err);
}

stream_status run_streams_open_sink(run_streams *s, bool *any, stream_error *err) {
    *any = false;
    if (draw_id(s, err) != STREAM_OK) return STREAM_FAILED;
    if (!s->settings->sink) return STREAM_OK;
    stream_status status = run_streams_open_as(s, s->id, &s->sink, err);
    if (status != STREAM_OK || s->id_is_new || !s->position) return status;
    s->feed = (stream_feed){s->to.text, poll_tail, word, s};
    *any = true;
    return broker_sink_tail(s->sink, s->position, err);
}

stream_status run_streams_open_source(run_streams *s, stream_error *err) {
    const dedup_settings *o = s->settings;
    if (!o->source) return STREAM_OK;
    const broker_source_options options = {.until_end = o->until_end};
    stream_status status = broker_source_open(&s->source, &s->from, &options, err);
    if (status != STREAM_OK) return status;
    s->feed = (stream_feed){s->from.text, poll_source, word, s};
    s->count = 0;
    if (broker_source_know(s->source, &s->done)) return STREAM_OK;
    snprintf(err->message, sizeof err->message, "out of memory");
    return STREAM_FAILED;
}

/* --- sending ------------------------------------------------------------------------------- */

/* A record of a file as a message: without what ends it there. */
static broker_message of_file(const stream_batch *b, uint64_t inode, size_t i) {
    const char *p = (const char *)b->base + b->offsets[i];
    size_t length = b->offsets[i + 1] - b->offsets[i];
    if (b->format == STREAM_LEN32) p += 4, length -= 4;
    bool ended = b->terminator_length && !(b->open_end && i + 1 == b->count);
    if (ended) length--;
    bool table = b->format == STREAM_CSV || b->format == STREAM_TSV;
    if (ended && table && length && p[length - 1] == '\r') length--;
    return (broker_message){.id = {inode, b->first_record + i}, .value = p, .length = length};
}

stream_status run_streams_send(run_streams *s, const stream_batch *b, uint64_t inode,
                               const uint64_t *bits, bool which, uint64_t *again,
                               stream_error *err) {
    const char *origin = s->source ? s->from.name : *s->id ? "" : NULL;
    for (size_t i = 0; i < b->count; i++) {
        if ((bits[i / 64] >> (i % 64) & 1) != which) continue;
        if (b->status && b->status[i] == STREAM_HEADER) continue;
        broker_message m = s->source ? s->messages[i] : of_file(b, inode, i);
        if (!s->source && broker_ids_has(&s->done, m.id)) {
            ++*again;
            continue;
        }
        stream_status status = broker_sink_send(s->sink, &m, origin, err);
        if (status != STREAM_OK) return status;
    }
    return STREAM_OK;
}

stream_status run_streams_flush(run_streams *s, stream_error *err) {
    return s->sink ? broker_sink_flush(s->sink, err) : STREAM_OK;
}

stream_status run_streams_settle(run_streams *s, stream_error *err) {
    if (!s->source) return STREAM_OK;
    return broker_source_settle(s->source, s->taken_part ? s->taken : SIZE_MAX, err);
}

stream_status run_streams_look(run_streams *s, int64_t now, bool idle, bool *save,
                               stream_error *err) {
    bool pressed = s->source && broker_source_is_pressed(s->source, now / 1000000);
    bool at_once = s->settings->at.url && s->source; /* run_shared.h */
    bool due = idle || pressed || at_once || now - s->flushed >= FLUSH_EVERY;
    *save = pressed && s->settings->state && !s->journal;
    if (s->settings->state && (!s->journal || !due)) return STREAM_OK;
    stream_status status = run_streams_flush(s, err);
    if (status == STREAM_OK) status = run_streams_settle(s, err);
    s->flushed = now;
    return status;
}

/* --- reports ------------------------------------------------------------------------------- */

void run_streams_measure(run_streams *s, FILE *out) {
    if (!s->source) return;
    int64_t lag = broker_source_lag(s->source);
    if (lag >= 0)
        metrics_put(out, "weir_stream_lag_messages", "gauge", "Messages that wait in the stream.",
                    (double)lag);
    metrics_put(out, "weir_stream_unsettled_messages", "gauge",
                "Messages read that the broker was not yet told to be dealt with.",
                (double)broker_source_unsettled(s->source)->size);
    metrics_put(out, "weir_stream_again_total", "counter",
                "Messages that the broker brought again though they were dealt with.",
                (double)broker_source_get_counts(s->source).again);
}

void run_streams_release(run_streams *s) {
    broker_source_close(s->source);
    broker_sink_close(s->sink);
    broker_url_release(&s->from);
    broker_url_release(&s->to);
    broker_ids_release(&s->done);
    free(s->position);
    free(s->plain);
    *s = (run_streams){0};
}
