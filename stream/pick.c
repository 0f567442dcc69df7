/* pick.c - a field of a record that was read before.
 *
 * The reader hands on hashes and not the keys, which few need. Those who do make the
 * key of that one record again: the record is put up as a block of its own and goes
 * through the same code, with a hash function that looks at the bytes instead of
 * hashing them. So a picked field cannot differ from what was hashed.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

struct stream_picker {
    key_plan plan;
    stream_keyer keyer;
    stream_buffer text; /* several parts, or numbers, as people write them */
    const unsigned char *seen;
    size_t seen_length;
    /* a block of one record */
    uint32_t ends[2], where;
    uint64_t hash;
    uint8_t status, reason;
};

/* Given as the hash function: remembers where the key is. */
static uint64_t note_key(const void *context, const void *key, size_t length) {
    stream_picker *picker = (stream_picker *)(uintptr_t)context;
    picker->seen = key;
    picker->seen_length = length;
    return 0;
}

stream_status stream_picker_new(stream_picker **out, const stream_options *options,
                                stream_error *err) {
    stream_options o = *options;
    *out = NULL;
    stream_picker *picker = calloc(1, sizeof *picker);
    if (!picker) return stream__no_memory(err);
    o.time_field = o.number_field = NULL;
    o.hash = note_key;
    o.hash_context = picker;
    if (stream__plan_init(&picker->plan, &o, err)) {
        free(picker);
        return STREAM_FAILED;
    }
    if (!stream__keyer_init(&picker->keyer, &picker->plan)) {
        stream_picker_free(picker);
        return stream__no_memory(err);
    }
    *out = picker;
    return STREAM_OK;
}

void stream_picker_free(stream_picker *picker) {
    if (!picker) return;
    stream__keyer_release(&picker->keyer);
    stream__plan_release(&picker->plan);
    stream__buffer_release(&picker->text);
    free(picker);
}

stream_status stream_picker_header(stream_picker *picker, const stream_batch *batch, size_t i,
                                   stream_error *err) {
    const unsigned char *row = batch->base + batch->offsets[i];
    size_t length = batch->offsets[i + 1] - batch->offsets[i];
    while (length && (row[length - 1] == '\n' || row[length - 1] == '\r')) length--;
    return stream__plan_header(&picker->plan, row, length, batch->file, err);
}

/* ------------------------------------------------------------------------
 * For people
 * ------------------------------------------------------------------------ */

/* A string as JSON writes it. */
static bool append_string(stream_buffer *b, const unsigned char *p, size_t length) {
    bool done = stream__buffer_append(b, "\"", 1);
    for (size_t i = 0; i < length && done; i++) {
        char escape[8] = {'\\', (char)p[i], 0};
        if (p[i] < 0x20) snprintf(escape, sizeof escape, "\\u%04x", p[i]);
        bool plain = p[i] >= 0x20 && p[i] != '"' && p[i] != '\\';
        done = stream__buffer_append(b, plain ? escape + 1 : escape, plain ? 1 : strlen(escape));
    }
    return done && stream__buffer_append(b, "\"", 1);
}

static bool append_json(stream_buffer *b, const unsigned char *p, size_t length, bool bare);

/* The values of a path that leads to many, each behind its length, as an array. */
static bool append_list(stream_buffer *b, const unsigned char *p, size_t length) {
    const unsigned char *end = p + length;
    bool done = stream__buffer_append(b, "[", 1);
    for (bool first = true; p < end && done; first = false) {
        size_t n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        done = (first || stream__buffer_append(b, ",", 1)) && append_json(b, p + 4, n, false);
        p += 4 + n;
    }
    return done && stream__buffer_append(b, "]", 1);
}

/* One JSON value as json.c spells it, without the tag; a string bare if it can be told from all
 * other values, and among several never. */
static bool append_json(stream_buffer *b, const unsigned char *p, size_t length, bool bare) {
    assert(length > 0); /* a part begins with its type */
    switch (*p) {
    case 'm':
        return append_list(b, p + 1, length - 1);
    case 's':
        if (bare && !stream_reads_as_json(p + 1, length - 1)) break;
        return append_string(b, p + 1, length - 1);
    case 'n':
        return stream__json_plain(p + 1, length - 1, b);
    case 't':
        return stream__buffer_append(b, "true", 4);
    case 'f':
        return stream__buffer_append(b, "false", 5);
    case 'z':
        return stream__buffer_append(b, "null", 4);
    default:
        break;
    }
    return stream__buffer_append(b, p + 1, length - 1);
}

static bool needs_quotes(const unsigned char *p, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (p[i] == ',' || p[i] == '"' || p[i] == '\n' || p[i] == '\r') return true;
    return false;
}

/* Put what was appended from `at` on in quotes, as CSV does, if it could be misread. */
static bool quote_from(stream_buffer *b, size_t at) {
    assert(at <= b->length);
    size_t length = b->length - at;
    if (!needs_quotes(b->bytes + at, length)) return true;
    unsigned char *part = malloc(length);
    if (!part) return false;
    memcpy(part, b->bytes + at, length);
    b->length = at;
    bool done = stream__buffer_append(b, "\"", 1);
    for (size_t i = 0; i < length && done; i++)
        done = stream__buffer_append(b, part[i] == '"' ? "\"\"" : (const char *)&part[i],
                                     1 + (part[i] == '"'));
    free(part);
    return done && stream__buffer_append(b, "\"", 1);
}

static bool append_part(stream_buffer *b, bool json, const unsigned char *p, size_t length) {
    size_t at = b->length;
    if (json) return append_json(b, p, length, false);
    return stream__buffer_append(b, p, length) && quote_from(b, at);
}

/* Put the parts together again, as a row of CSV or an array of JSON: each stands behind its
 * length in four bytes. */
static bool join_parts(stream_picker *picker, bool json) {
    const unsigned char *p = picker->seen, *end = p + picker->seen_length;
    stream_buffer *b = &picker->text;
    bool done = !json || stream__buffer_append(b, "[", 1);
    for (bool first = true; p < end && done; first = false) {
        size_t n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
        done = (first || stream__buffer_append(b, ",", 1)) && append_part(b, json, p + 4, n);
        p += 4 + n;
    }
    return done && (!json || stream__buffer_append(b, "]", 1));
}

static const void *readable(stream_picker *picker, size_t *length) {
    const key_plan *plan = &picker->plan;
    bool several = plan->joined;
    bool json = plan->format == STREAM_JSON && plan->by_parts;
    *length = picker->seen_length;
    if (!several && !json) return *length ? picker->seen : (const void *)"";
    picker->text.length = 0;
    if (!stream__buffer_reserve(&picker->text, 1)) return NULL;
    bool done = several ? join_parts(picker, json)
                        : append_json(&picker->text, picker->seen, picker->seen_length, true);
    *length = picker->text.length;
    return done ? picker->text.bytes : NULL;
}

const void *stream_pick(stream_picker *picker, const stream_batch *batch, size_t i,
                        size_t *length) {
    assert(i < batch->count);
    picker->ends[0] = batch->offsets[i];
    picker->ends[1] = batch->offsets[i + 1];
    picker->seen = NULL;
    stream_block block = {
        .memory = (unsigned char *)(uintptr_t)batch->base,
        .ends = picker->ends,
        .count = 1,
        .hashes = &picker->hash,
        .status = &picker->status,
        .reason = &picker->reason,
        .where = &picker->where,
        .batch = *batch,
    };
    block.batch.count = 1;
    if (i > 0) block.batch.first_offset += batch->offsets[i] - batch->offsets[0];
    block.batch.status = NULL;
    block.batch.open_end = batch->open_end && i + 1 == batch->count;
    if (!stream__keys(&picker->keyer, &block) || !picker->seen) return NULL;
    return readable(picker, length);
}
