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
#include <math.h>
#include <string.h>

#include "stream_internal.h"

bool stream__keyer_init(stream_keyer *keyer, const key_plan *plan) {
    memset(keyer, 0, sizeof *keyer);
    keyer->plan = plan;
    if (plan->format == STREAM_JSON) keyer->json = stream__json_index_new();
    return plan->format != STREAM_JSON || keyer->json;
}

void stream__keyer_release(stream_keyer *keyer) {
    stream__buffer_release(&keyer->key);
    stream__buffer_release(&keyer->value);
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
    return status == STREAM_RECORD_OK ? REASON_NONE
           : status == STREAM_MISSING ? REASON_EMPTY
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

static void fold(unsigned char *p, size_t length) {
    for (size_t i = 0; i < length; i++) p[i] |= (unsigned char)((p[i] >= 'A' && p[i] <= 'Z') << 5);
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
    narrow(k->plan, true, &p, &length);
    if (k->plan->fold) {
        k->key.length = 0;
        if (!stream__buffer_reserve(&k->key, length + 1)) return REASON_MEMORY;
        memcpy(k->key.bytes, p, length);
        fold(k->key.bytes, length);
        p = k->key.bytes;
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
    bool as_is = !plan->trim && !plan->fold && !plan->skip_prefix;
    if (as_is && plan->format == STREAM_LINES && !plan->row && !plan->hash) {
        hash_lines(plan, block); /* lines have no header */
        return true;
    }
    for (size_t i = first; i < block->count; i++) {
        uint32_t length;
        const unsigned char *p = content(block, i, &length);
        stream_reason reason = as_is ? hash(plan, p, length, words_of(k, block, i))
                                     : hash_single(k, p, length, words_of(k, block, i));
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
    if (k->plan->key_count > 1) k->key.length += 4;
    return at;
}

static void close_part(stream_keyer *k, size_t at) {
    if (k->plan->key_count < 2) return;
    put_length(k->key.bytes + at, k->key.length - at - 4);
}

static bool add_bytes(stream_keyer *k, uint32_t part, const unsigned char *p, size_t length) {
    narrow(k->plan, part == 0, &p, &length);
    if (!stream__buffer_reserve(&k->key, length + 4)) return false;
    size_t at = open_part(k);
    unsigned char *to = k->key.bytes + k->key.length;
    memcpy(to, p, length);
    if (k->plan->fold) fold(to, length);
    k->key.length += length;
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
 * CSV and TSV
 * ------------------------------------------------------------------------ */

typedef struct {
    const unsigned char *row;
    uint32_t length;
    uint32_t starts[STREAM_PLACES], stops[STREAM_PLACES];
} table_row;

/* The value of a part: of the key, the time, the number or the label. */
static const unsigned char *part_value(stream_keyer *k, const table_row *r, uint32_t part,
                                       size_t *length) {
    uint32_t slot = k->plan->slot[part];
    const unsigned char *field = r->row + r->starts[slot];
    *length = r->stops[slot] - r->starts[slot];
    if (k->plan->format == STREAM_TSV) return field;
    return stream__csv_value(field, *length, &k->value, length);
}

static stream_reason row_time(stream_keyer *k, const table_row *r, int64_t *time, uint32_t *where) {
    size_t length;
    const unsigned char *text = part_value(k, r, k->plan->key_count, &length);
    if (!text) return REASON_MEMORY;
    *where = r->starts[k->plan->slot[k->plan->key_count]];
    return stream__moment_parse(k->plan, text, length, time) ? REASON_NONE : REASON_BAD_TIME;
}

static stream_reason row_number(stream_keyer *k, const table_row *r, double *number,
                                uint32_t *where) {
    size_t length;
    uint32_t part = number_part(k->plan);
    const unsigned char *text = part_value(k, r, part, &length);
    if (!text) return REASON_MEMORY;
    *where = r->starts[k->plan->slot[part]];
    return stream__number_parse(text, length, number) ? REASON_NONE : REASON_BAD_VALUE;
}

static stream_reason row_label(stream_keyer *k, const table_row *r, uint64_t *label) {
    size_t length;
    const unsigned char *text = part_value(k, r, label_part(k->plan), &length);
    if (!text) return REASON_MEMORY;
    *label = hash_label(k->plan, text, length);
    return REASON_NONE;
}

static stream_reason row_key(stream_keyer *k, const table_row *r, uint64_t *out) {
    const key_plan *plan = k->plan;
    size_t length;
    if (!plan->by_parts) return hash_single(k, r->row, r->length, out);
    if (plan->key_count == 1) {
        const unsigned char *value = part_value(k, r, 0, &length);
        return value ? hash_single(k, value, length, out) : REASON_MEMORY;
    }
    k->key.length = 0;
    for (uint32_t part = 0; part < plan->key_count; part++) {
        const unsigned char *value = part_value(k, r, part, &length);
        if (!value || !add_bytes(k, part, value, length)) return REASON_MEMORY;
    }
    return hash(plan, k->key.bytes, k->key.length, out);
}

/* Only `found` of the wanted columns are there: what is it that lacks one? */
static stream_reason lacking(const key_plan *plan, size_t found) {
    for (uint32_t part = 0; part < plan->key_count; part++)
        if (plan->slot[part] >= found) return REASON_NO_COLUMN;
    if (plan->timed && plan->slot[plan->key_count] >= found) return REASON_NO_TIME;
    bool number = plan->numbered && plan->slot[number_part(plan)] >= found;
    return number ? REASON_NO_VALUE : REASON_NO_LABEL;
}

static bool row_keys(stream_keyer *k, stream_block *block, size_t first) {
    const key_plan *plan = k->plan;
    bool csv = plan->format == STREAM_CSV;
    table_row r;
    for (size_t i = first; i < block->count; i++) {
        r.row = content(block, i, &r.length);
        uint32_t where = 0;
        size_t found = stream__scan_columns(r.row, r.length, csv ? ',' : '\t', csv, plan->wanted,
                                            plan->wanted_count, r.starts, r.stops);
        stream_reason reason = REASON_NONE;
        if (found < plan->wanted_count) {
            reason = lacking(plan, found);
            where = r.length;
        }
        if (!reason && plan->timed) reason = row_time(k, &r, &block->times[i], &where);
        if (!reason && plan->numbered) reason = row_number(k, &r, &block->numbers[i], &where);
        if (!reason && plan->labelled) reason = row_label(k, &r, &block->labels[i]);
        if (!reason) reason = row_key(k, &r, words_of(k, block, i));
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
    if (k->key.bytes[start] == 's' && (plan->trim || plan->fold || plan->skip_prefix)) {
        unsigned char *value = k->key.bytes + start + 1;
        const unsigned char *p = value;
        size_t n = k->key.length - start - 1;
        narrow(plan, first, &p, &n);
        memmove(value, p, n);
        if (plan->fold) fold(value, n);
        k->key.length = start + 1 + n;
    }
    return true;
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
                : k->plan->json_values == STREAM_AS_TEXT ? stream__json_text(text, length, &k->key)
                                                         : add_items(k, part == 0, text, length);
    if (!done) return false;
    close_part(k, at);
    return true;
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
    return stream__moment_parse(k->plan, p, length, time) ? REASON_NONE : REASON_BAD_TIME;
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
        if (parts[i].start == parts[i].stop) return REASON_NO_FIELD;
    k->key.length = 0;
    for (uint32_t i = 0; i < plan->key_count; i++)
        if (!add_json(k, i, text + parts[i].start, parts[i].stop - parts[i].start))
            return REASON_MEMORY;
    return hash(plan, k->key.bytes, k->key.length, out);
}

/* A byte order mark before the first value of a file belongs to its record, but not to its key. */
static uint32_t mark_before(const stream_block *block, size_t i, const unsigned char *line,
                            uint32_t length) {
    bool first = i == 0 && block->batch.first_offset == 0;
    return first && length >= 3 && !memcmp(line, STREAM_BYTE_ORDER_MARK, 3) ? 3 : 0;
}

/* One line: text[from..to) whose tokens begin at *tokens, which moves past them. */
static bool json_line(stream_keyer *k, stream_block *block, size_t i, const unsigned char *text,
                      uint32_t from, uint32_t to, const uint32_t **tokens) {
    const key_plan *plan = k->plan;
    json_slice parts[STREAM_PLACES];
    uint32_t where = from;
    bool blank = **tokens >= to;
    stream_reason reason = REASON_NONE;
    if (blank && plan->part_count) reason = lacking(plan, 0);
    else if (!blank)
        reason =
            stream__json_find(text, from, to, tokens, plan->paths, plan->part_count, parts, &where);
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
    const unsigned char *record = block->memory + block->ends[i]; /* a mark may be before `from` */
    if (reason)
        mark_reason(k, block, i, reason, where > from ? (uint32_t)(text + where - record) : 0);
    return true;
}

/* Line by line, for blocks in which something is wrong: the index of one line cannot be upset by
 * the quotes of another. */
static bool json_singly(stream_keyer *k, stream_block *block, size_t first) {
    static const uint32_t none[] = {UINT32_MAX};
    for (size_t i = first; i < block->count; i++) {
        uint32_t length;
        const unsigned char *p = content(block, i, &length);
        const uint32_t *tokens = none, skip = mark_before(block, i, p, length);
        p += skip;
        length -= skip;
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
    text += mark_before(block, first, text, length);
    const uint32_t *tokens, origin = (uint32_t)(text - block->memory);
    if (block->batch.terminator[0] != '\n' ||
        stream__json_index(k->json, text, end - origin, &tokens) != JSON_INDEX_OK)
        return json_singly(k, block, first);
    for (size_t i = first; i < block->count; i++) {
        const unsigned char *line = content(block, i, &length);
        uint32_t skip = mark_before(block, i, line, length);
        uint32_t from = (uint32_t)(line + skip - text);
        length -= skip;
        if (!json_line(k, block, i, text, from, from + length, &tokens)) return false;
    }
    return true;
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
    if (done && block->open_quote && !(block->header && last == 0)) {
        b->missing -= b->status && b->status[last] == STREAM_MISSING;
        b->no_number -= b->status && b->status[last] == STREAM_MISSING &&
                        block->reason[last] == REASON_NO_VALUE;
        b->bad -= b->status && b->status[last] == STREAM_BAD;
        mark_reason(k, block, last, REASON_OPEN_QUOTE, 0);
    }
    return done;
}
