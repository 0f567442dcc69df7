/* keys.c - from the records of a block to hashes.
 *
 * The plain case, the whole record as it stands, is a loop around the hash
 * function. Parts are hashed where they lie if there is one and nothing is to be
 * changed about it; otherwise they are put together in the thread's buffer:
 *
 *     one part        its bytes
 *     several         for each a 4-byte little-endian length and its bytes, which
 *                     no other list of parts can give
 *
 * JSON parts are spelled as json.c says, tag included.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "stream_internal.h"

bool stream__keyer_init(stream_keyer *keyer, const key_plan *plan) {
    memset(keyer, 0, sizeof *keyer);
    keyer->plan = plan;
    if (!stream__fields_init(&keyer->fields, plan)) return false;
    if (plan->format == STREAM_JSON) keyer->json = stream__json_index_new();
    return plan->format != STREAM_JSON || keyer->json;
}

void stream__keyer_release(stream_keyer *keyer) {
    stream__buffer_release(&keyer->key);
    stream__buffer_release(&keyer->value);
    stream__buffer_release(&keyer->spelled);
    stream__buffer_release(&keyer->letters);
    stream__fields_release(&keyer->fields);
    free(keyer->items.items);
    if (keyer->json) stream__json_index_free(keyer->json);
    memset(keyer, 0, sizeof *keyer);
}

/* ------------------------------------------------------------------------
 * Records and what became of them
 * ------------------------------------------------------------------------ */

/* Where the hash of record i goes, or its words. */
static inline uint64_t *words_of(const stream_keyer *k, const stream_block *block, size_t i) {
    return block->hashes + i * k->plan->width;
}

/* Note that record i has no key. The array is made the first time. */
static void mark(const stream_keyer *k, stream_block *block, size_t i, uint8_t status,
                 stream_reason reason, uint32_t where) {
    stream_batch *b = &block->batch;
    if (!b->status) {
        memset(block->status, STREAM_RECORD_OK, block->count);
        b->status = block->status;
    }
    block->status[i] = status;
    block->reason[i] = (uint8_t)reason;
    block->where[i] = where;
    memset(words_of(k, block, i), 0, k->plan->width * sizeof *block->hashes);
    if (block->times) block->times[i] = INT64_MIN;
    if (block->numbers) block->numbers[i] = NAN;
    if (block->labels) block->labels[i] = 0;
    b->missing += status == STREAM_MISSING;
    b->bad += status == STREAM_BAD;
}

static void mark_reason(const stream_keyer *k, stream_block *block, size_t i, stream_reason reason,
                        uint32_t where) {
    static const uint8_t statuses[] = {
#define STREAM_REASON_STATUS(name, status, text) status,
        STREAM_REASON_LIST(STREAM_REASON_STATUS)
#undef STREAM_REASON_STATUS
    };
    block->batch.no_number += reason == REASON_NO_VALUE;
    mark(k, block, i, statuses[reason], reason, where);
}

/* The record without terminator or length prefix. */
static inline const unsigned char *content(const stream_block *block, size_t i, uint32_t *length) {
    const unsigned char *start = block->memory + block->ends[i];
    uint32_t n = block->ends[i + 1] - block->ends[i];
    stream_format format = block->batch.format;
    if (format == STREAM_LEN32) {
        *length = n - 4;
        return start + 4;
    }
    bool open = block->batch.open_end && i + 1 == block->count;
    if (format != STREAM_FIXED && !open) {
        n--;
        if ((format == STREAM_CSV || format == STREAM_TSV) && n && start[n - 1] == '\r') n--;
    }
    *length = n;
    return start;
}

/* ------------------------------------------------------------------------
 * Hashing
 * ------------------------------------------------------------------------ */

static stream_reason make_row(const key_plan *plan, const void *key, size_t length, uint64_t *out) {
    uint8_t status = plan->row(plan->hash_context, key, length, out);
    return status == STREAM_RECORD_OK       ? REASON_NONE
           : status == STREAM_MISSING       ? REASON_EMPTY
           : status == STREAM_ROW_NO_NUMBER ? REASON_BAD_VALUE
                                            : REASON_MANY_VALUES;
}

static inline stream_reason hash(const key_plan *plan, const void *key, size_t length,
                                 uint64_t *out) {
    if (plan->row) return make_row(plan, key, length, out);
    *out = plan->hash     ? plan->hash(plan->hash_context, key, length)
           : plan->sketch ? weir_sketch_hash(plan->sketch, key, length)
                          : weir_filter_hash(plan->filter, key, length);
    return REASON_NONE;
}

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool is_ascii(const unsigned char *p, size_t length) {
    uint64_t all = 0, word;
    for (; length >= 8; p += 8, length -= 8) {
        memcpy(&word, p, 8);
        all |= word;
    }
    for (; length; p++, length--) all |= *p;
    return !(all & 0x8080808080808080ull);
}

static void fold_ascii(unsigned char *p, size_t length) {
    for (size_t i = 0; i < length; i++) p[i] |= (unsigned char)((p[i] >= 'A' && p[i] <= 'Z') << 5);
}

/* Letters of Unicode, folded and normalized as the plan says, into `letters`. False: out of memory.
 * What is not UTF-8 has *length -1. */
static bool map_letters(stream_keyer *k, const unsigned char *p, size_t length, ptrdiff_t *mapped) {
    const key_plan *plan = k->plan;
    utf8proc_option_t how = UTF8PROC_STABLE;
    if (plan->fold) how |= UTF8PROC_CASEFOLD;
    if (plan->normalize) how |= UTF8PROC_COMPOSE;
    if (plan->normalize == STREAM_NFKC) how |= UTF8PROC_COMPAT;
    k->letters.length = 0;
    size_t room = 2 * length + 16; /* code points, of 4 bytes; nearly always enough */
    for (;;) {
        if (!stream__buffer_reserve(&k->letters, 4 * room + 4)) return false;
        utf8proc_int32_t *points = (utf8proc_int32_t *)(void *)k->letters.bytes;
        *mapped =
            utf8proc_decompose(p, (utf8proc_ssize_t)length, points, (utf8proc_ssize_t)room, how);
        if (*mapped < 0) return *mapped = -1, true;
        if ((size_t)*mapped <= room) {
            *mapped = utf8proc_reencode(points, *mapped, how);
            return true;
        }
        room = (size_t)*mapped;
    }
}

/* Append a part with its letters folded and normalized. */
static bool append_letters(stream_keyer *k, const unsigned char *p, size_t length) {
    const key_plan *plan = k->plan;
    size_t at = k->key.length;
    ptrdiff_t mapped = -1;
    bool ascii = (!plan->fold && !plan->normalize) || is_ascii(p, length);
    if (!ascii && !map_letters(k, p, length, &mapped)) return false;
    if (mapped >= 0) return stream__buffer_append(&k->key, k->letters.bytes, (size_t)mapped);
    if (!stream__buffer_append(&k->key, p, length)) return false;
    if (plan->fold) fold_ascii(k->key.bytes + at, length);
    return true;
}

/* Narrow a part to what counts of it. */
static void narrow(const key_plan *plan, bool first, const unsigned char **p, size_t *length) {
    if (plan->trim) {
        while (*length && is_space(**p)) ++*p, --*length;
        while (*length && is_space((*p)[*length - 1])) --*length;
    }
    if (first && plan->skip_prefix) {
        size_t n = plan->skip_prefix < *length ? plan->skip_prefix : *length;
        *p += n;
        *length -= n;
    }
}

/* Hash a key that is one stretch of plain bytes. */
static inline stream_reason hash_single(stream_keyer *k, const unsigned char *p, size_t length,
                                        uint64_t *out) {
    if (k->plan->as_is) return hash(k->plan, p, length, out);
    narrow(k->plan, true, &p, &length);
    if (k->plan->fold || k->plan->normalize) {
        k->key.length = 0;
        if (!append_letters(k, p, length)) return REASON_MEMORY;
        p = k->key.bytes;
        length = k->key.length;
    }
    return hash(k->plan, p, length, out);
}

/* The commonest case, lines as they stand, for itself; the last may lack its end. */
static void hash_lines(const key_plan *plan, stream_block *block) {
    const uint32_t *ends = block->ends;
    size_t whole = block->count - block->batch.open_end;
    if (plan->sketch)
        weir_sketch_hash_records(plan->sketch, block->memory, ends, whole, 1, block->hashes);
    else weir_filter_hash_records(plan->filter, block->memory, ends, whole, 1, block->hashes);
    if (whole < block->count)
        hash(plan, block->memory + ends[whole], ends[whole + 1] - ends[whole],
             &block->hashes[whole]);
}

static bool whole_keys(stream_keyer *k, stream_block *block, size_t first) {
    const key_plan *plan = k->plan;
    bool line = plan->format == STREAM_LINES || plan->format == STREAM_CLF;
    if (plan->as_is && line && !plan->row && !plan->hash) {
        hash_lines(plan, block); /* lines have no header */
        return true;
    }
    for (size_t i = first; i < block->count; i++) {
        uint32_t length;
        const unsigned char *p = content(block, i, &length);
        stream_reason reason = hash_single(k, p, length, words_of(k, block, i));
        if (reason == REASON_MEMORY) return false;
        if (reason) mark_reason(k, block, i, reason, 0);
    }
    return true;
}

/* ------------------------------------------------------------------------
 * Several parts
 * ------------------------------------------------------------------------ */

static void put_length(unsigned char *to, size_t length) {
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(length >> (8 * i));
}

/* Leave room for a part's length; returns where. */
static size_t open_part(stream_keyer *k) {
    size_t at = k->key.length;
    if (k->plan->joined) k->key.length += 4;
    return at;
}

static void close_part(stream_keyer *k, size_t at) {
    if (!k->plan->joined) return;
    put_length(k->key.bytes + at, k->key.length - at - 4);
}

static bool add_bytes(stream_keyer *k, uint32_t part, const unsigned char *p, size_t length) {
    narrow(k->plan, part == 0, &p, &length);
    if (!stream__buffer_reserve(&k->key, length + 4)) return false;
    size_t at = open_part(k);
    if (!append_letters(k, p, length)) return false;
    close_part(k, at);
    return true;
}

/* Which part is the number. */
static inline uint32_t number_part(const key_plan *plan) { return plan->key_count + plan->timed; }

/* Which part is the label: the last. */
static inline uint32_t label_part(const key_plan *plan) { return plan->part_count - 1; }

static uint64_t hash_label(const key_plan *plan, const unsigned char *text, size_t length) {
    if (plan->hash) return plan->hash(plan->hash_context, text, length);
    if (plan->sketch) return weir_sketch_hash(plan->sketch, text, length);
    return plan->filter ? weir_filter_hash(plan->filter, text, length) : 0;
}

/* ------------------------------------------------------------------------
 * Rows and lines of fields
 * ------------------------------------------------------------------------ */

/* The fields of a part, as indexes of the finder's. False if one is not there. */
static inline bool fields_of(const stream_keyer *k, uint32_t part, uint32_t *first,
                             uint32_t *last) {
    const key_plan *plan = k->plan;
    if (!plan->flexible) {
        *first = *last = plan->slot[part];
        return k->fields.starts[*first] != STREAM_NO_FIELD;
    }
    int64_t count = k->fields.count, a = plan->ranges[part].first, b = plan->ranges[part].last;
    if (a < 0) a += count;
    if (b < 0) b += count;
    if (a < 0 || a > b || b >= count) return false;
    *first = (uint32_t)a;
    *last = (uint32_t)b;
    return true;
}

static const unsigned char *field_value(stream_keyer *k, const unsigned char *row, uint32_t field,
                                        size_t *length) {
    const unsigned char *p = row + k->fields.starts[field];
    *length = k->fields.stops[field] - k->fields.starts[field];
    if (k->plan->fields != FIELDS_QUOTED) return p;
    return stream__csv_value(p, *length, &k->value, length);
}

/* The value of a time, number or label and its place in the row. */
static stream_reason single_value(stream_keyer *k, const unsigned char *row, uint32_t part,
                                  stream_reason without, const unsigned char **text, size_t *length,
                                  uint32_t *where) {
    uint32_t first, last;
    if (!fields_of(k, part, &first, &last)) return without;
    *where = k->fields.starts[first];
    *text = field_value(k, row, first, length);
    return *text ? REASON_NONE : REASON_MEMORY;
}

static stream_reason row_time(stream_keyer *k, const unsigned char *row, int64_t *time,
                              uint32_t *where) {
    size_t length;
    const unsigned char *text;
    stream_reason reason =
        single_value(k, row, k->plan->key_count, REASON_NO_TIME, &text, &length, where);
    return reason ? reason : stream__moment_parse(k->plan, text, length, time);
}

static stream_reason row_number(stream_keyer *k, const unsigned char *row, double *number,
                                uint32_t *where) {
    size_t length;
    const unsigned char *text;
    stream_reason reason =
        single_value(k, row, number_part(k->plan), REASON_NO_VALUE, &text, &length, where);
    if (reason) return reason;
    if (k->plan->format == STREAM_CLF && length == 1 && *text == '-') return REASON_NO_VALUE;
    return stream__number_parse(text, length, number) ? REASON_NONE : REASON_BAD_VALUE;
}

static stream_reason row_label(stream_keyer *k, const unsigned char *row, uint64_t *label,
                               uint32_t *where) {
    size_t length;
    const unsigned char *text;
    stream_reason reason =
        single_value(k, row, label_part(k->plan), REASON_NO_LABEL, &text, &length, where);
    if (!reason) *label = hash_label(k->plan, text, length);
    return reason;
}

static stream_reason row_key(stream_keyer *k, const unsigned char *row, uint64_t *out) {
    const key_plan *plan = k->plan;
    size_t length;
    uint32_t first, last;
    stream_reason lacks = plan->fields == FIELDS_QUOTED || plan->format == STREAM_TSV
                              ? REASON_NO_COLUMN
                              : REASON_NO_WORD;
    if (!plan->joined) {
        if (!fields_of(k, 0, &first, &last)) return lacks;
        const unsigned char *value = field_value(k, row, first, &length);
        return value ? hash_single(k, value, length, out) : REASON_MEMORY;
    }
    k->key.length = 0;
    for (uint32_t part = 0; part < plan->key_count; part++) {
        if (!fields_of(k, part, &first, &last)) return lacks;
        for (uint32_t field = first; field <= last; field++) {
            const unsigned char *value = field_value(k, row, field, &length);
            if (!value || !add_bytes(k, part, value, length)) return REASON_MEMORY;
        }
    }
    return hash(plan, k->key.bytes, k->key.length, out);
}

/* Nothing of what is wanted is there: the first of it. */
static stream_reason lacking(const key_plan *plan) {
    return plan->by_parts   ? REASON_NO_FIELD
           : plan->timed    ? REASON_NO_TIME
           : plan->numbered ? REASON_NO_VALUE
                            : REASON_NO_LABEL;
}

/* A key that lacks counts before a time that does, whoever is looked at first. */
static stream_reason row_record(stream_keyer *k, stream_block *block, size_t i,
                                const unsigned char *row, uint32_t length, uint32_t *where) {
    const key_plan *plan = k->plan;
    uint32_t first, last;
    stream_reason reason = stream__fields_find(&k->fields, plan, row, length);
    for (uint32_t part = 0; part < plan->key_count && !reason; part++)
        if (!fields_of(k, part, &first, &last)) return row_key(k, row, words_of(k, block, i));
    if (!reason && plan->timed) reason = row_time(k, row, &block->times[i], where);
    if (!reason && plan->numbered) reason = row_number(k, row, &block->numbers[i], where);
    if (!reason && plan->labelled) reason = row_label(k, row, &block->labels[i], where);
    if (reason) return reason;
    if (!plan->by_parts) return hash_single(k, row, length, words_of(k, block, i));
    return row_key(k, row, words_of(k, block, i));
}

static bool row_keys(stream_keyer *k, stream_block *block, size_t first) {
    for (size_t i = first; i < block->count; i++) {
        uint32_t length;
        const unsigned char *row = content(block, i, &length);
        uint32_t where = length;
        stream_reason reason = row_record(k, block, i, row, length, &where);
        if (reason == REASON_MEMORY) return false;
        if (reason) mark_reason(k, block, i, reason, where);
    }
    return true;
}

/* ------------------------------------------------------------------------
 * JSON
 * ------------------------------------------------------------------------ */

/* Append the canonical spelling of a value; strings obey trim, skip and fold like other parts. */
static inline bool spell(stream_keyer *k, bool first, const unsigned char *text, size_t length) {
    const key_plan *plan = k->plan;
    size_t start = k->key.length;
    if (!stream__json_canonical(text, length, &k->key)) return false;
    if (k->key.bytes[start] != 's' || plan->as_is) return true;
    const unsigned char *p = k->key.bytes + start + 1;
    size_t n = k->key.length - start - 1;
    narrow(plan, first, &p, &n);
    /* what is appended replaces the spelling that it is made of */
    k->spelled.length = 0;
    if (!stream__buffer_append(&k->spelled, p, n)) return false;
    k->key.length = start + 1;
    return append_letters(k, k->spelled.bytes, n);
}

/* Append a value as text; letters are folded and normalized, nothing is trimmed. */
static bool add_text(stream_keyer *k, const unsigned char *text, size_t length) {
    size_t start = k->key.length;
    if (!stream__json_text(text, length, &k->key)) return false;
    if (k->plan->as_is) return true;
    k->spelled.length = 0;
    if (!stream__buffer_append(&k->spelled, k->key.bytes + start, k->key.length - start))
        return false;
    k->key.length = start;
    return append_letters(k, k->spelled.bytes, k->spelled.length);
}

/* An item behind its length: by its value, as text. */
static bool add_item(stream_keyer *k, const unsigned char *text, size_t length) {
    bool nested = *text == '[' || *text == '{';
    size_t at = k->key.length, start = at + 4;
    if (*text == 'n') return true;
    if (!stream__buffer_reserve(&k->key, 4)) return false;
    k->key.length = start;
    if (*text == '"' || nested) {
        if (!spell(k, false, text, length)) return false;
        memmove(k->key.bytes + start, k->key.bytes + start + 1, k->key.length - start - 1);
        k->key.length--; /* the tag */
    } else if (!stream__json_text(text, length, &k->key)) {
        return false;
    }
    put_length(k->key.bytes + at, k->key.length - start);
    return true;
}

/* The elements of an array, one after the other. */
static bool add_array(stream_keyer *k, const unsigned char *text, size_t length) {
    k->value.length = 0;
    if (!stream__json_canonical(text, length, &k->value)) return false;
    const unsigned char *at = k->value.bytes + 2, *end = k->value.bytes + k->value.length - 1;
    unsigned depth = 0;
    bool quoted = false;
    for (const unsigned char *item = at; at <= end; at++) {
        if (at == end || (!quoted && depth == 0 && *at == ',')) {
            if (at > item && !add_item(k, item, (size_t)(at - item))) return false;
            item = at + 1;
        } else if (quoted && *at == '\\') at++;
        else if (*at == '"') quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{')) depth++;
        else if (!quoted && (*at == ']' || *at == '}')) depth--;
    }
    return true;
}

/* Of a string the reader says what separates items; anything else is a list of them. */
static bool add_items(stream_keyer *k, bool first, const unsigned char *text, size_t length) {
    if (*text == '"') return spell(k, first, text, length);
    if (!stream__buffer_append(&k->key, "l", 1)) return false;
    return *text == '[' ? add_array(k, text, length) : add_item(k, text, length);
}

static bool add_json(stream_keyer *k, uint32_t part, const unsigned char *text, size_t length) {
    if (!stream__buffer_reserve(&k->key, 4)) return false;
    size_t at = open_part(k);
    bool done = k->plan->json_values == STREAM_TYPED     ? spell(k, part == 0, text, length)
                : k->plan->json_values == STREAM_AS_TEXT ? add_text(k, text, length)
                                                         : add_items(k, part == 0, text, length);
    if (!done) return false;
    close_part(k, at);
    return true;
}

/* All values of a path that leads to many: the tag m, and each behind its length; as text they are
 * an array, as items a list. False: out of memory. */
static bool add_many(stream_keyer *k, uint32_t part, const unsigned char *text) {
    int how = k->plan->json_values;
    if (!stream__buffer_reserve(&k->key, 8)) return false;
    size_t outer = open_part(k);
    bool done = stream__buffer_append(&k->key,
                                      how == STREAM_TYPED     ? "m"
                                      : how == STREAM_AS_TEXT ? "["
                                                              : "l",
                                      1),
         any = false;
    for (size_t i = 0; i < k->items.count && done; i++) {
        if (k->items.items[i].path != part) continue;
        json_slice s = k->items.items[i].value;
        const unsigned char *value = text + s.start;
        size_t length = s.stop - s.start, at = k->key.length;
        if (how == STREAM_AS_ITEMS) {
            done = add_item(k, value, length);
        } else if (how == STREAM_AS_TEXT) {
            done = (!any || stream__buffer_append(&k->key, ",", 1)) && add_text(k, value, length);
        } else {
            done = stream__buffer_append(&k->key, "....", 4) && spell(k, part == 0, value, length);
            if (done) put_length(k->key.bytes + at, k->key.length - at - 4);
        }
        any = true;
    }
    if (done && how == STREAM_AS_TEXT) done = stream__buffer_append(&k->key, "]", 1);
    if (done) close_part(k, outer);
    return done;
}

static bool has_items(const stream_keyer *k, uint32_t path) {
    for (size_t i = 0; i < k->items.count; i++)
        if (k->items.items[i].path == path) return true;
    return false;
}

/* The text of a part: of a string what is in it. NULL: out of memory. */
static const unsigned char *json_text(stream_keyer *k, const unsigned char *text, json_slice s,
                                      size_t *length) {
    const unsigned char *p = text + s.start;
    *length = s.stop - s.start;
    if (*p != '"') return p;
    k->value.length = 0;
    if (!stream__json_canonical(p, *length, &k->value)) return NULL;
    *length = k->value.length - 1;
    return k->value.bytes + 1; /* past the tag */
}

static stream_reason json_time(stream_keyer *k, const unsigned char *text, json_slice s,
                               int64_t *time) {
    size_t length;
    if (s.start == s.stop) return REASON_NO_TIME;
    const unsigned char *p = json_text(k, text, s, &length);
    if (!p) return REASON_MEMORY;
    return stream__moment_parse(k->plan, p, length, time);
}

static stream_reason json_number(stream_keyer *k, const unsigned char *text, json_slice s,
                                 double *number) {
    size_t length;
    if (s.start == s.stop) return REASON_NO_VALUE;
    const unsigned char *p = json_text(k, text, s, &length);
    if (!p) return REASON_MEMORY;
    return stream__number_parse(p, length, number) ? REASON_NONE : REASON_BAD_VALUE;
}

static stream_reason json_label(stream_keyer *k, const unsigned char *text, json_slice s,
                                uint64_t *label) {
    size_t length;
    if (s.start == s.stop) return REASON_NO_LABEL;
    const unsigned char *p = json_text(k, text, s, &length);
    if (!p) return REASON_MEMORY;
    *label = hash_label(k->plan, p, length);
    return REASON_NONE;
}

static stream_reason json_key(stream_keyer *k, const unsigned char *text, const json_slice *parts,
                              uint64_t *out) {
    const key_plan *plan = k->plan;
    for (uint32_t i = 0; i < plan->key_count; i++)
        if (plan->paths[i].each ? !has_items(k, i) : parts[i].start == parts[i].stop)
            return REASON_NO_FIELD;
    k->key.length = 0;
    for (uint32_t i = 0; i < plan->key_count; i++)
        if (plan->paths[i].each
                ? !add_many(k, i, text)
                : !add_json(k, i, text + parts[i].start, parts[i].stop - parts[i].start))
            return REASON_MEMORY;
    return hash(plan, k->key.bytes, k->key.length, out);
}

/* One line: text[from..to) whose tokens begin at *tokens, which moves past them. */
static bool json_line(stream_keyer *k, stream_block *block, size_t i, const unsigned char *text,
                      uint32_t from, uint32_t to, const uint32_t **tokens) {
    const key_plan *plan = k->plan;
    json_slice parts[STREAM_PLACES];
    uint32_t where = from;
    bool blank = **tokens >= to;
    stream_reason reason = REASON_NONE;
    if (blank && plan->part_count) reason = lacking(plan);
    else if (!blank)
        reason = stream__json_find(text, from, to, tokens, plan->paths, plan->part_count, parts,
                                   &k->items, &where);
    if (!reason && plan->timed) {
        where = parts[plan->key_count].start;
        reason = json_time(k, text, parts[plan->key_count], &block->times[i]);
    }
    if (!reason && plan->numbered) {
        where = parts[number_part(plan)].start;
        reason = json_number(k, text, parts[number_part(plan)], &block->numbers[i]);
    }
    if (!reason && !blank && plan->labelled) {
        where = parts[label_part(plan)].start;
        reason = json_label(k, text, parts[label_part(plan)], &block->labels[i]);
    }
    if (!reason && !blank && plan->by_parts)
        reason = json_key(k, text, parts, words_of(k, block, i));
    else if (!reason) reason = hash_single(k, text + from, to - from, words_of(k, block, i));
    if (reason == REASON_MEMORY) return false;
    if (reason) mark_reason(k, block, i, reason, where > from ? where - from : 0);
    return true;
}

/* Line by line, for blocks in which something is wrong: the index of one line cannot be upset by
 * the quotes of another. */
static bool json_singly(stream_keyer *k, stream_block *block, size_t first) {
    static const uint32_t none[] = {UINT32_MAX};
    for (size_t i = first; i < block->count; i++) {
        uint32_t length;
        const unsigned char *p = content(block, i, &length);
        const uint32_t *tokens = none;
        switch (stream__json_index(k->json, p, length, &tokens)) {
        case JSON_INDEX_MEMORY:
            return false;
        case JSON_INDEX_UTF8:
            mark_reason(k, block, i, REASON_UTF8, 0);
            continue;
        case JSON_INDEX_STRING:
            mark_reason(k, block, i, REASON_STRING, 0);
            continue;
        case JSON_INDEX_EMPTY:
            tokens = none;
            break;
        case JSON_INDEX_OK:
            break;
        }
        if (!json_line(k, block, i, p, 0, length, &tokens)) return false;
    }
    return true;
}

static bool json_keys(stream_keyer *k, stream_block *block, size_t first) {
    uint32_t length, end = block->ends[block->count];
    const unsigned char *text = content(block, first, &length);
    const uint32_t *tokens, origin = (uint32_t)(text - block->memory);
    if (block->batch.terminator[0] != '\n' ||
        stream__json_index(k->json, text, end - origin, &tokens) != JSON_INDEX_OK)
        return json_singly(k, block, first);
    for (size_t i = first; i < block->count; i++) {
        const unsigned char *line = content(block, i, &length);
        uint32_t from = (uint32_t)(line - text);
        if (!json_line(k, block, i, text, from, from + length, &tokens)) return false;
    }
    return true;
}

/* Say that a record is bad, whatever was said of it before. */
static void mark_bad(const stream_keyer *k, stream_block *block, size_t i, stream_reason reason) {
    stream_batch *b = &block->batch;
    uint8_t before = b->status ? b->status[i] : STREAM_RECORD_OK;
    b->missing -= before == STREAM_MISSING;
    b->no_number -= before == STREAM_MISSING && block->reason[i] == REASON_NO_VALUE;
    b->bad -= before == STREAM_BAD;
    mark_reason(k, block, i, reason, 0);
}

bool stream__keys(stream_keyer *k, stream_block *block) {
    stream_batch *b = &block->batch;
    size_t first = block->header;
    b->hashes = block->hashes;
    b->times = block->times;
    b->numbers = block->numbers;
    b->labels = block->labels;
    if (block->header) mark(k, block, 0, STREAM_HEADER, REASON_NONE, 0);
    bool done = k->plan->format == STREAM_JSON ? json_keys(k, block, first)
                : k->plan->part_count          ? row_keys(k, block, first)
                                               : whole_keys(k, block, first);
    size_t last = block->count - 1;
    if (done && block->open_quote && !(block->header && last == 0))
        mark_bad(k, block, last, REASON_OPEN_QUOTE);
    for (size_t i = 0; done && i < block->wrong_count; i++)
        mark_bad(k, block, block->wrong[i].record, block->wrong[i].reason);
    return done;
}
