/* pairs_rows.c - from the fields of a record to its values.
 *
 * The reader hands over a key as keys.c of the stream layer puts it together:
 * one part as it is, several each with its length before it; JSON values with a
 * letter for their type first if they are columns, for sets as items. Here it is cut into fields
 * again: columns, rounded where they are numbers; the items of a set; a text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pairs_command.h"

enum { ITEMS_MOST = 1024 }; /* items of a set that are read; 64 different ones may remain */

typedef struct {
    const pairs_rows *rows;
    weir_field fields[ITEMS_MOST];
    size_t count;
    bool trim, full;
} field_list;

static void add_field(field_list *list, const unsigned char *bytes, size_t length) {
    if (list->count < ITEMS_MOST) list->fields[list->count++] = (weir_field){bytes, length};
    else list->full = true;
}

static uint32_t length_at(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- items of a set ---- */

static bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void add_item(field_list *list, const unsigned char *item, const unsigned char *end) {
    while (list->trim && item < end && is_space(*item)) item++;
    while (list->trim && item < end && is_space(end[-1])) end--;
    if (end > item) add_field(list, item, (size_t)(end - item));
}

static void split_items(field_list *list, const unsigned char *at, size_t length) {
    const unsigned char *end = at + length, *item = at;
    for (; at <= end; at++) {
        if (at < end && !strchr(list->rows->split, (char)*at)) continue;
        add_item(list, item, at);
        item = at + 1;
    }
}

/* The items of a JSON value that is no string, each with its length before it. */
static void add_elements(field_list *list, const unsigned char *at, size_t length) {
    for (const unsigned char *end = at + length; end - at >= 4; at += 4 + length_at(at))
        add_item(list, at + 4, at + 4 + length_at(at));
}

static void add_items(field_list *list, const unsigned char *bytes, size_t length) {
    if (list->rows->json && length && bytes[0] == 'l') add_elements(list, bytes + 1, length - 1);
    else if (list->rows->json && length) split_items(list, bytes + 1, length - 1);
    else split_items(list, bytes, length);
}

/* ---- parts ---- */

static void add_part(field_list *list, size_t part, const unsigned char *bytes, size_t length,
                     char *rounded) {
    double step = part < PAIRS_COLUMNS_MOST ? list->rows->round[part] : 0;
    bool tagged = list->rows->json && length > 0 && list->rows->parts > 0;
    if (list->rows->from == WEIR_FROM_SET) add_items(list, bytes, length);
    else if (list->rows->from != WEIR_FROM_COLUMNS) add_field(list, bytes, length);
    else if (step > 0 && weir_round_number(bytes + tagged, length - tagged, step, rounded))
        add_field(list, (const unsigned char *)rounded, strlen(rounded));
    else add_field(list, bytes, length);
}

/* A point: the bits of its numbers. */
static bool make_point(const field_list *list, uint64_t *words) {
    for (size_t i = 0; i < list->count; i++) {
        char text[64], *end;
        const weir_field *f = &list->fields[i];
        const char *from = f->bytes;
        size_t skip = list->rows->json && f->length; /* its type */
        if (f->length - skip == 0 || f->length - skip >= sizeof text) return false;
        memcpy(text, from + skip, f->length - skip);
        text[f->length - skip] = 0;
        double number = strtod(text, &end);
        while (*end == ' ') end++;
        if (end == text || *end || !isfinite(number)) return false;
        memcpy(&words[i], &number, sizeof number);
    }
    return true;
}

uint8_t pairs_make_row(const void *context, const void *key, size_t length, uint64_t *words) {
    const row_context *c = context;
    char rounded[PAIRS_COLUMNS_MOST][40];
    const unsigned char *at = key, *end = at + length;
    field_list list;
    list.rows = c->rows;
    list.count = 0;
    list.trim = c->trim;
    list.full = false;
    if (c->rows->parts < 2) add_part(&list, 0, at, length, rounded[0]);
    for (size_t part = 0; c->rows->parts > 1 && end - at >= 4; part++) {
        uint32_t n = length_at(at);
        add_part(&list, part, at + 4, n, rounded[part % PAIRS_COLUMNS_MOST]);
        at += 4 + n;
    }
    if (list.full) return STREAM_BAD;
    if (c->rows->points) return make_point(&list, words) ? STREAM_RECORD_OK : STREAM_ROW_NO_NUMBER;
    switch (weir_pairs_row(c->pairs, list.fields, list.count, words)) {
    case WEIR_ROW_OK:
        return STREAM_RECORD_OK;
    case WEIR_ROW_TOO_MANY:
        return STREAM_BAD;
    default:
        return STREAM_MISSING;
    }
}
