/* fields.c - where the fields of a row or line lie.
 *
 * Columns between single bytes and words between blanks are found by the vector
 * scans of scan.c; delimiters of several bytes by memmem(), fields of a web log by
 * memchr() from quote to quote. A plan that counts fields from the end, or has a
 * range without end, asks for all fields of a row.
 *
 * The combined log format is
 *
 *     host ident user [time] "request" status bytes "referer" "agent"
 *
 * and the common one ends after bytes. A backslash protects a quote in quotes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

/* Fields of a web log by their numbers, from 0. The last three are parts of the request. */
enum {
    CLF_REQUEST = 4,
    CLF_RAW = 9, /* fields that are read as they stand */
    CLF_METHOD = CLF_RAW,
    CLF_URL,
    CLF_PROTOCOL
};

const char stream__clf_names[] =
    "host|ident|user|time|request|status|bytes|referer|agent|method|url|protocol";

int stream__clf_field(const char *name, size_t length) {
    int i = 0;
    for (const char *p = stream__clf_names;; i++) {
        size_t n = strcspn(p, "|");
        if (n == length && !memcmp(p, name, n)) return i;
        if (!p[n]) return -1;
        p += n + 1;
    }
}

/* ------------------------------------------------------------------------
 * Room
 * ------------------------------------------------------------------------ */

static bool make_room(field_finder *f, size_t room) {
    uint32_t *all = realloc(f->all, room * sizeof *all);
    if (all) f->all = all;
    uint32_t *starts = realloc(f->starts, room * sizeof *starts);
    if (starts) f->starts = starts;
    uint32_t *stops = realloc(f->stops, room * sizeof *stops);
    if (stops) f->stops = stops;
    if (!all || !starts || !stops) return false;
    for (size_t i = f->room; i < room; i++) all[i] = (uint32_t)i;
    f->room = room;
    return true;
}

bool stream__fields_init(field_finder *f, const key_plan *plan) {
    memset(f, 0, sizeof *f);
    f->scanner = stream__active_scanner();
    return plan->fields == FIELDS_NONE || make_room(f, STREAM_PLACES);
}

void stream__fields_release(field_finder *f) {
    free(f->all);
    free(f->starts);
    free(f->stops);
    memset(f, 0, sizeof *f);
}

/* ------------------------------------------------------------------------
 * Finding
 * ------------------------------------------------------------------------ */

static size_t find_text(const key_plan *plan, const unsigned char *row, uint32_t length,
                        const uint32_t *wanted, size_t count, uint32_t *starts, uint32_t *stops) {
    size_t found = 0;
    uint32_t start = 0;
    for (uint32_t field = 0; found < count; field++) {
        const unsigned char *at =
            memmem(row + start, length - start, plan->delimiter, plan->delimiter_length);
        uint32_t stop = at ? (uint32_t)(at - row) : length;
        if (field == wanted[found]) {
            starts[found] = start;
            stops[found++] = stop;
        }
        if (!at) break;
        start = stop + (uint32_t)plan->delimiter_length;
    }
    return found;
}

static size_t find_by(const field_finder *f, const key_plan *plan, const unsigned char *row,
                      uint32_t length, const uint32_t *wanted, size_t count) {
    if (count == 0) return 0;
    if (plan->fields == FIELDS_BLANKS)
        return f->scanner->words(row, length, wanted, count, f->starts, f->stops);
    if (plan->fields == FIELDS_TEXT)
        return find_text(plan, row, length, wanted, count, f->starts, f->stops);
    return f->scanner->columns(row, length, plan->separator, plan->fields == FIELDS_QUOTED, wanted,
                               count, f->starts, f->stops);
}

/* The end of the text in quotes from p on; NULL if the quotes are not closed. */
static const unsigned char *end_of_quotes(const unsigned char *p, const unsigned char *end) {
    const unsigned char *from = p;
    for (const unsigned char *q; (q = memchr(p, '"', (size_t)(end - p))); p = q + 1) {
        const unsigned char *b = q;
        while (b > from && b[-1] == '\\') b--;
        if ((q - b) % 2 == 0) return q;
    }
    return NULL;
}

/* The first `most` fields of a line as they stand; how many are there, or -1. */
static int raw_fields(const unsigned char *row, uint32_t length, int most, uint32_t *starts,
                      uint32_t *stops) {
    const unsigned char *p = row, *end = row + length;
    for (int i = 0; i < most; i++) {
        while (p < end && *p == ' ') p++;
        if (p == end) return i;
        bool quoted = *p == '"', bracket = *p == '[';
        const unsigned char *stop;
        p += quoted || bracket;
        if (quoted) stop = end_of_quotes(p, end);
        else stop = memchr(p, bracket ? ']' : ' ', (size_t)(end - p));
        if (!stop && (quoted || bracket)) return -1;
        if (!stop) stop = end;
        starts[i] = (uint32_t)(p - row);
        stops[i] = (uint32_t)(stop - row);
        p = stop + (quoted || bracket);
    }
    return most;
}

/* METHOD URL PROTOCOL; a request of one word has only a method. */
static void split_request(const unsigned char *row, int what, uint32_t *start, uint32_t *stop) {
    const unsigned char *from = row + *start, *end = row + *stop;
    const unsigned char *first = memchr(from, ' ', (size_t)(end - from));
    const unsigned char *last = first ? memrchr(first, ' ', (size_t)(end - first)) : NULL;
    bool has_protocol = last && end - last > 5 && !memcmp(last, " HTTP/", 6);
    if (what == CLF_METHOD) {
        *stop = (uint32_t)((first ? first : end) - row);
    } else if (what == CLF_URL && first && (last != first || !has_protocol)) {
        *start = (uint32_t)(first + 1 - row);
        if (has_protocol) *stop = (uint32_t)(last - row);
    } else if (what == CLF_PROTOCOL && has_protocol) {
        *start = (uint32_t)(last + 1 - row);
    } else {
        *start = STREAM_NO_FIELD;
    }
}

static stream_reason find_clf(field_finder *f, const key_plan *plan, const unsigned char *row,
                              uint32_t length) {
    uint32_t starts[CLF_RAW], stops[CLF_RAW];
    int most = 0;
    for (uint32_t i = 0; i < plan->wanted_count; i++) {
        int raw = plan->wanted[i] < CLF_RAW ? (int)plan->wanted[i] : CLF_REQUEST;
        if (raw + 1 > most) most = raw + 1;
    }
    int there = raw_fields(row, length, most, starts, stops);
    if (there < 0) return REASON_NOT_CLF;
    f->count = 0;
    for (uint32_t i = 0; i < plan->wanted_count; i++) {
        int what = (int)plan->wanted[i], raw = what < CLF_RAW ? what : CLF_REQUEST;
        f->starts[i] = STREAM_NO_FIELD;
        if (raw >= there) continue;
        f->starts[i] = starts[raw];
        f->stops[i] = stops[raw];
        if (what >= CLF_RAW) split_request(row, what, &f->starts[i], &f->stops[i]);
        f->count += f->starts[i] != STREAM_NO_FIELD;
    }
    return REASON_NONE;
}

stream_reason stream__fields_find(field_finder *f, const key_plan *plan, const unsigned char *row,
                                  uint32_t length) {
    assert(plan->fields != FIELDS_NONE);
    if (plan->fields == FIELDS_CLF) return find_clf(f, plan, row, length);
    if (!plan->flexible) {
        f->count = (uint32_t)find_by(f, plan, row, length, plan->wanted, plan->wanted_count);
        for (uint32_t i = f->count; i < plan->wanted_count; i++) f->starts[i] = STREAM_NO_FIELD;
        return REASON_NONE;
    }
    for (;;) {
        f->count = (uint32_t)find_by(f, plan, row, length, f->all, f->room);
        if (f->count < f->room) return REASON_NONE;
        if (!make_room(f, 2 * f->room)) return REASON_MEMORY;
    }
}
