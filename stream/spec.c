/* spec.c - the texts that say what a record and its key are.
 *
 * format   lines, csv, tsv, json, clf, fixed:N, len32
 * key      columns "2,5", "2-4", "-1", "user,\"last, first\""; JSON paths ".user.id,.tags[0]"
 * time     one column or path
 *
 * They are parsed once into a key_plan; columns given by name wait there for
 * the header.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

/* ------------------------------------------------------------------------
 * Errors and buffers, for the whole layer
 * ------------------------------------------------------------------------ */

stream_status stream__fail(stream_error *err, int os_error, const char *format, ...) {
    if (!err) return STREAM_FAILED;
    memset(err, 0, sizeof *err);
    err->os_error = os_error;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return STREAM_FAILED;
}

stream_status stream__no_memory(stream_error *err) {
    stream__fail(err, ENOMEM, "out of memory for reading records");
    return stream__because(err, STREAM_CAUSE_MEMORY);
}

const char *stream__label(const char *file) {
    return strcmp(file, "-") != 0 ? file : "standard input";
}

bool stream__buffer_reserve(stream_buffer *b, size_t more) {
    if (b->room - b->length >= more) return true;
    size_t room = b->room ? b->room : 256;
    while (room - b->length < more) room *= 2;
    unsigned char *bytes = realloc(b->bytes, room);
    if (!bytes) return false;
    b->bytes = bytes;
    b->room = room;
    return true;
}

bool stream__buffer_append(stream_buffer *b, const void *bytes, size_t length) {
    if (!stream__buffer_reserve(b, length)) return false;
    memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
    return true;
}

void stream__buffer_release(stream_buffer *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

/* ------------------------------------------------------------------------
 * Formats
 * ------------------------------------------------------------------------ */

/* The nearest of the names, as ": did you mean 'x'?", or "". */
static const char *did_you_mean(const char *word, const char *names, char *text, size_t size) {
    char near[64];
    text[0] = 0;
    if (weir_nearest(word, names, near)) snprintf(text, size, ": did you mean '%s'?", near);
    return text;
}

stream_status stream_parse_format(const char *text, stream_format *format, uint32_t *record_size,
                                  stream_error *err) {
    static const char *const names[] = {"lines", "csv", "tsv", "json", "clf", "fixed", "len32"};
    *record_size = 0;
    for (int i = 0; i < 7; i++) {
        if (i == STREAM_FIXED || strcmp(text, names[i]) != 0) continue;
        *format = (stream_format)i;
        return STREAM_OK;
    }
    if (!strncmp(text, "fixed", 5) && (text[5] == ':' || !text[5])) {
        uint64_t size;
        if (!text[5] || weir_parse_size(text + 6, &size, NULL) || !size ||
            size > STREAM_RECORD_LIMIT)
            return stream__fail(
                err, 0, "format '%.80s' needs a record size from 1 to 1G: try fixed:16", text);
        *format = STREAM_FIXED;
        *record_size = (uint32_t)size;
        return STREAM_OK;
    }
    char hint[128];
    return stream__fail(
        err, 0, "unknown format '%.80s'%s (formats: lines, csv, tsv, json, clf, fixed:N, len32)",
        text, did_you_mean(text, "lines|csv|tsv|json|clf|fixed|len32", hint, sizeof hint));
}

stream_compression stream_compression_of(const char *path) {
    size_t n = strlen(path);
    if (n > 3 && !strcmp(path + n - 3, ".gz")) return STREAM_GZIP;
    return n > 4 && !strcmp(path + n - 4, ".zst") ? STREAM_ZSTD : STREAM_PLAIN;
}

stream_options stream_options_defaults(void) {
    return (stream_options){
        .format = STREAM_LINES, .terminator = '\n', .max_record = 64u << 20, .threads = 1};
}

/* ------------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------------ */

enum {
    MOST_COLUMNS = 1000000,         /* the largest number of a column */
    COLUMN_OUT_OF_RANGE = INT32_MIN /* stands for a number beyond MOST_COLUMNS */
};

/* A spec being read: text is where we are, store is where names are kept. */
typedef struct {
    const char *whole, *text;
    char *store;
    const char *option; /* what the caller calls the text, for messages */
} spec_cursor;

static stream_status bad_spec(const spec_cursor *c, stream_error *err, const char *what) {
    return stream__fail(err, 0, "cannot read %s '%.160s' at character %d: %s", c->option, c->whole,
                        (int)(c->text - c->whole) + 1, what);
}

/* Copy a name in quotes, `quote` doubled or after a backslash standing for itself. The
 * cursor is on the opening quote. */
static stream_status quoted_name(spec_cursor *c, bool backslash, const char **name, size_t *length,
                                 stream_error *err) {
    char *to = c->store;
    for (c->text++;; c->text++) {
        if (!*c->text) return bad_spec(c, err, "the quote is not closed");
        if (backslash && *c->text == '\\' && c->text[1]) {
            *to++ = *++c->text;
        } else if (*c->text != '"') {
            *to++ = *c->text;
        } else if (!backslash && c->text[1] == '"') {
            *to++ = *c->text++;
        } else {
            break;
        }
    }
    c->text++;
    *name = c->store;
    *length = (size_t)(to - c->store);
    *to = 0;
    c->store = to + 1;
    return STREAM_OK;
}

/* A number from 1, or with a minus before it from the end: 0, 1, ... or -1, -2, ... False if
 * there is none; *p moves past it. */
static bool field_number(const char **p, int32_t *number) {
    bool from_end = **p == '-' && (*p)[1] >= '0' && (*p)[1] <= '9';
    const char *digits = *p + from_end;
    size_t n = strspn(digits, "0123456789");
    if (n == 0) return false;
    unsigned long value = n > 7 ? 0 : strtoul(digits, NULL, 10);
    if (value > MOST_COLUMNS) value = 0; /* no column has that number */
    *number = from_end ? -(int32_t)value : (int32_t)value - 1;
    if (value == 0) *number = COLUMN_OUT_OF_RANGE;
    *p = digits + n;
    return true;
}

/* "2", "2-4", "3-", "-1", "-3--1", which end at a comma or the end of the text; anything else is a
 * name. */
static bool read_range(const char *text, field_range *range) {
    const char *p = text;
    if (!field_number(&p, &range->first)) return false;
    range->last = range->first;
    if (*p == '-') {
        p++;
        range->last = -1;
        if (*p && *p != ',' && !field_number(&p, &range->last)) return false;
    }
    return !*p || *p == ',';
}

static stream_status check_range(const spec_cursor *c, const field_range *r, stream_error *err) {
    if (r->first == COLUMN_OUT_OF_RANGE || r->last == COLUMN_OUT_OF_RANGE)
        return bad_spec(c, err, "columns count from 1 to 1000000");
    if ((r->first < 0) == (r->last < 0) && r->last < r->first)
        return bad_spec(c, err, "the range ends before it begins");
    return STREAM_OK;
}

static stream_status parse_column(spec_cursor *c, const char **name, field_range *range,
                                  stream_error *err) {
    size_t length;
    if (*c->text == '"') return quoted_name(c, false, name, &length, err);
    const char *start = c->text;
    length = strcspn(start, ",");
    if (length == 0) return bad_spec(c, err, "a column is missing");
    if (read_range(start, range)) {
        if (check_range(c, range, err)) return STREAM_FAILED;
    } else {
        memcpy(c->store, start, length);
        c->store[length] = 0;
        *name = c->store;
        c->store += length + 1;
    }
    c->text += length;
    return STREAM_OK;
}

/* The fields of a web log have names of their own. */
static stream_status parse_clf(spec_cursor *c, field_range *range, stream_error *err) {
    const char *start = c->text, *name = NULL;
    if (parse_column(c, &name, range, err)) return STREAM_FAILED;
    if (name) range->first = range->last = stream__clf_field(name, strlen(name));
    if (range->first >= 0 && range->last >= 0 && (name || range->last < 9)) return STREAM_OK;
    char hint[128];
    return stream__fail(err, 0, "a web log has no field '%.*s'%s (its fields: %s, or 1 to 9)",
                        (int)strcspn(start, ","), start,
                        did_you_mean(name ? name : "", stream__clf_names, hint, sizeof hint),
                        stream__clf_names);
}

/* ------------------------------------------------------------------------
 * JSON paths
 * ------------------------------------------------------------------------ */

static stream_status add_step(const spec_cursor *c, json_path *path, path_step step,
                              stream_error *err) {
    path_step *steps = realloc(path->steps, (path->count + 1) * sizeof *steps);
    if (!steps) return stream__no_memory(err);
    path->steps = steps;
    if (path->count == 255) return bad_spec(c, err, "the path is too long");
    steps[path->count++] = step;
    return STREAM_OK;
}

static stream_status parse_bracket(spec_cursor *c, json_path *path, stream_error *err) {
    path_step step = {0};
    size_t length = 0;
    c->text++;
    if (*c->text == '"') {
        if (quoted_name(c, true, &step.name, &length, err)) return STREAM_FAILED;
        step.length = (uint32_t)length;
    } else if (*c->text == ']') {
        step.each = path->each = true;
    } else {
        bool from_end = *c->text == '-';
        c->text += from_end;
        length = strspn(c->text, "0123456789");
        if (length == 0 || length > 9) return bad_spec(c, err, "an index is missing, as in .a[0]");
        step.index = (int32_t)strtoul(c->text, NULL, 10);
        if (from_end && step.index == 0)
            return bad_spec(c, err, "the last element is [-1], the first [0]");
        if (from_end) step.index = -step.index;
        c->text += length;
    }
    if (*c->text != ']') return bad_spec(c, err, "a ] is missing");
    c->text++;
    return add_step(c, path, step, err);
}

static stream_status parse_name(spec_cursor *c, json_path *path, stream_error *err) {
    path_step step = {0};
    size_t length = 0;
    if (*c->text == '"') {
        if (quoted_name(c, true, &step.name, &length, err)) return STREAM_FAILED;
    } else {
        length = strcspn(c->text, ".[,\"");
        if (length == 0) return bad_spec(c, err, "a field name is missing");
        memcpy(c->store, c->text, length);
        c->store[length] = 0;
        step.name = c->store;
        c->store += length + 1;
        c->text += length;
    }
    step.length = (uint32_t)length;
    return add_step(c, path, step, err);
}

/* .a.b, .a[0], .a[-1], .a[], ."odd name", .["odd name"], .[0]; "." alone is the whole value. */
static stream_status parse_path(spec_cursor *c, json_path *path, stream_error *err) {
    if (*c->text != '.') return bad_spec(c, err, "a JSON path begins with a dot, as in .user.id");
    if (c->text[1] == ',' || !c->text[1]) {
        c->text++;
        return STREAM_OK;
    }
    while (*c->text == '.' || *c->text == '[') {
        if (*c->text == '.' && c->text[1] == '[') c->text++;
        if (*c->text == '[') {
            if (parse_bracket(c, path, err)) return STREAM_FAILED;
            continue;
        }
        c->text++;
        if (parse_name(c, path, err)) return STREAM_FAILED;
    }
    return STREAM_OK;
}

/* ------------------------------------------------------------------------
 * Plans
 * ------------------------------------------------------------------------ */

static stream_status parse_part(key_plan *plan, spec_cursor *c, uint32_t i, stream_error *err) {
    if (plan->format == STREAM_JSON) return parse_path(c, &plan->paths[i], err);
    if (plan->fields == FIELDS_CLF) return parse_clf(c, &plan->ranges[i], err);
    return parse_column(c, &plan->names[i], &plan->ranges[i], err);
}

/* The last part may be a range with a known end: make a part of each of its columns. Columns that
 * are counted from the end, or up to it, wait for the row. */
static bool spread_range(key_plan *plan, uint32_t most) {
    field_range r = plan->ranges[plan->part_count - 1];
    if (plan->format == STREAM_JSON || plan->names[plan->part_count - 1]) return true;
    if (r.first < 0 || r.last < 0) {
        plan->flexible = true;
        if (r.first != r.last) plan->joined = true;
        return true;
    }
    if ((uint32_t)(r.last - r.first) > most - 1) return false;
    plan->ranges[plan->part_count - 1].last = r.first;
    for (int32_t at = r.first + 1; at <= r.last; at++)
        plan->ranges[plan->part_count++] = (field_range){at, at};
    return true;
}

static stream_status parse_parts(key_plan *plan, const char *spec, const char *option,
                                 uint32_t most, char **store, stream_error *err) {
    spec_cursor c = {spec, spec, *store, option};
    const char *too_many = most == 1 ? "one is enough" : "too many parts (at most 64)";
    for (uint32_t before = plan->part_count;; c.text++) {
        if (plan->part_count - before == most) return bad_spec(&c, err, too_many);
        if (parse_part(plan, &c, plan->part_count, err)) return STREAM_FAILED;
        plan->part_count++;
        if (!spread_range(plan, most - (plan->part_count - 1 - before)))
            return bad_spec(&c, err, too_many);
        if (most == 1 &&
            (plan->ranges[before].first != plan->ranges[before].last || plan->paths[before].each))
            return bad_spec(&c, err, "one value is needed, not a list");
        if (!*c.text) break;
        if (*c.text != ',') return bad_spec(&c, err, "a comma goes between parts");
    }
    *store = c.store;
    return STREAM_OK;
}

/* The columns that rows are searched for: each once, in order. */
static void settle_columns(key_plan *plan) {
    plan->wanted_count = 0;
    if (plan->flexible) return;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        uint32_t n = plan->wanted_count, column = (uint32_t)plan->ranges[i].first, at = 0;
        while (at < n && plan->wanted[at] < column) at++;
        if (at < n && plan->wanted[at] == column) continue;
        memmove(plan->wanted + at + 1, plan->wanted + at, (n - at) * sizeof plan->wanted[0]);
        plan->wanted[at] = column;
        plan->wanted_count++;
    }
    for (uint32_t i = 0; i < plan->part_count; i++) {
        plan->slot[i] = 0;
        while (plan->wanted[plan->slot[i]] != (uint32_t)plan->ranges[i].first) plan->slot[i]++;
    }
}

static const char *key_option(const stream_options *o) {
    return o->key_option ? o->key_option : "the key";
}

static const char *time_option(const stream_options *o) {
    return o->time_option ? o->time_option : "the time";
}

static const char *delimiter_option(const stream_options *o) {
    return o->delimiter_option ? o->delimiter_option : "the delimiter";
}

static bool is_table(stream_format format) { return format == STREAM_CSV || format == STREAM_TSV; }

static stream_status check_no_field(const char *field, const char *option, stream_error *err) {
    if (!field) return STREAM_OK;
    return stream__fail(err, 0,
                        "records of this format have no part that '%.80s' could name: "
                        "leave out %s, or read lines, csv, tsv, json or clf",
                        field, option);
}

/* A delimiter as it is given, into what the bytes are. */
static stream_status read_delimiter(key_plan *plan, const stream_options *o, stream_error *err) {
    const char *text = o->delimiter;
    if (!is_table(o->format) && o->format != STREAM_LINES)
        return stream__fail(err, 0, "only lines, csv and tsv have a delimiter");
    for (; *text && plan->delimiter_length < STREAM_DELIMITER_MOST; text++) {
        bool tab = text[0] == '\\' && text[1] == 't';
        plan->delimiter[plan->delimiter_length++] = tab ? '\t' : *text;
        text += tab;
    }
    bool one = plan->delimiter_length == 1 && !*text;
    if (is_table(o->format) && (!one || strchr("\"\r\n", plan->delimiter[0])))
        return stream__fail(err, 0,
                            "%s cannot be '%.80s'; of csv and tsv it is one byte, such as "
                            "';' or '|', and no quote or line end",
                            delimiter_option(o), o->delimiter);
    if (!plan->delimiter_length || *text || strchr(plan->delimiter, '\n'))
        return stream__fail(err, 0, "%s cannot be '%.80s'; it is 1 to %d bytes without a line end",
                            delimiter_option(o), o->delimiter, STREAM_DELIMITER_MOST);
    plan->separator = (unsigned char)plan->delimiter[0];
    if (o->format == STREAM_LINES) plan->fields = one ? FIELDS_BYTE : FIELDS_TEXT;
    return STREAM_OK;
}

static stream_status choose_fields(key_plan *plan, const stream_options *o, stream_error *err) {
    static const fields_kind kinds[] = {[STREAM_LINES] = FIELDS_BLANKS,
                                        [STREAM_CSV] = FIELDS_QUOTED,
                                        [STREAM_TSV] = FIELDS_BYTE,
                                        [STREAM_CLF] = FIELDS_CLF,
                                        [STREAM_LEN32] = FIELDS_NONE};
    plan->fields = kinds[o->format];
    plan->separator = o->format == STREAM_CSV ? ',' : '\t';
    return o->delimiter ? read_delimiter(plan, o, err) : STREAM_OK;
}

static stream_status check_options(const stream_options *o, stream_error *err) {
    bool parts = o->format != STREAM_FIXED && o->format != STREAM_LEN32;
    bool nul_ends = o->format == STREAM_LINES || o->format == STREAM_JSON;
    if (o->format == STREAM_FIXED && o->record_size == 0)
        return stream__fail(err, 0,
                            "records of 0 bytes are not possible: give a size, as in fixed:16");
    if (o->terminator != '\n' && o->terminator != '\0')
        return stream__fail(err, 0, "records end with a line end or with NUL, nothing else");
    if (o->terminator == '\0' && !nul_ends)
        return stream__fail(err, 0, "NUL-terminated records are possible with lines and json only");
    if (o->header && !is_table(o->format))
        return stream__fail(err, 0, "only csv and tsv have a header");
    if (!parts && (check_no_field(o->key, key_option(o), err) ||
                   check_no_field(o->time_field, time_option(o), err) ||
                   check_no_field(o->number_field, o->number_option, err) ||
                   check_no_field(o->label_field, o->label_option, err)))
        return STREAM_FAILED;
    if (o->max_record == 0 || o->max_record > STREAM_RECORD_LIMIT)
        return stream__fail(err, 0, "the longest record must be from 1 byte to 1G");
    if (!o->filter && !o->sketch && !o->hash && !o->row)
        return stream__fail(err, 0, "no filter and no hash function given");
    if (o->row && (o->width < 1 || o->width > STREAM_WIDTH_MOST))
        return stream__fail(err, 0, "rows have from 1 to %d words", STREAM_WIDTH_MOST);
    return STREAM_OK;
}

static stream_status check_names(const key_plan *plan, bool header, stream_error *err) {
    for (uint32_t i = 0; i < plan->part_count && !header; i++)
        if (plan->names[i] && plan->format == STREAM_LINES) {
            stream__fail(err, 0, "fields of lines have no names such as '%.80s'", plan->names[i]);
            return stream__because(err, STREAM_CAUSE_LINE_NAME);
        } else if (plan->names[i]) {
            stream__fail(err, 0, "column '%.80s' is given by name, but there is no header",
                         plan->names[i]);
            return stream__because(err, STREAM_CAUSE_NO_HEADER);
        }
    return STREAM_OK;
}

stream_status stream__plan_init(key_plan *plan, const stream_options *o, stream_error *err) {
    memset(plan, 0, sizeof *plan);
    if (check_options(o, err)) return STREAM_FAILED;
    plan->format = o->format;
    if (choose_fields(plan, o, err)) return STREAM_FAILED;
    plan->normalize = o->normalize;
    plan->as_is = !o->trim && !o->ignore_case && !o->normalize && !o->key_skip_prefix;
    plan->trim = o->trim;
    plan->fold = o->ignore_case;
    plan->json_values = (int)o->json_values;
    plan->skip_prefix = o->key_skip_prefix;
    plan->filter = o->filter;
    plan->sketch = o->sketch;
    plan->hash = o->hash;
    plan->hash_context = o->hash_context;
    plan->row = o->row;
    plan->width = o->row ? o->width : 1;
    plan->by_parts = o->key != NULL;
    plan->timed = o->time_field != NULL;
    plan->numbered = o->number_field != NULL;
    plan->labelled = o->label_field != NULL;
    size_t room = 8;
    if (o->key) room += 2 * strlen(o->key);
    if (o->time_field) room += 2 * strlen(o->time_field);
    if (o->number_field) room += 2 * strlen(o->number_field);
    if (o->label_field) room += 2 * strlen(o->label_field);
    plan->text = malloc(room);
    char *store = plan->text;
    if (!store) return stream__no_memory(err);
    /* a bit for each in json.c */
    uint32_t most = STREAM_MAX_PARTS - plan->timed - plan->numbered - plan->labelled;
    if (o->key && parse_parts(plan, o->key, key_option(o), most, &store, err)) goto failed;
    plan->key_count = plan->part_count;
    if (o->time_field && parse_parts(plan, o->time_field, time_option(o), 1, &store, err))
        goto failed;
    if (o->number_field && parse_parts(plan, o->number_field, o->number_option, 1, &store, err))
        goto failed;
    if (o->label_field && parse_parts(plan, o->label_field, o->label_option, 1, &store, err))
        goto failed;
    plan->joined |= plan->key_count > 1;
    const char *usual_time = o->format == STREAM_CLF ? "clf" : "unix";
    if (stream__moment_format(plan, o->time_format ? o->time_format : usual_time, err)) goto failed;
    if (check_names(plan, o->header, err)) goto failed;
    settle_columns(plan);
    return STREAM_OK;
failed:
    stream__plan_release(plan);
    return STREAM_FAILED;
}

static uint64_t no_hash(const void *context, const void *key, size_t length) {
    (void)context, (void)key, (void)length;
    return 0;
}

unsigned stream_key_parts(const stream_options *options) {
    stream_options o = *options;
    key_plan plan;
    o.hash = no_hash;
    if (stream__plan_init(&plan, &o, NULL)) return 0;
    bool list = plan.flexible && plan.joined;
    for (uint32_t i = 0; i < plan.key_count; i++) list |= plan.paths[i].each;
    unsigned parts = list ? 0 : plan.key_count;
    stream__plan_release(&plan);
    return parts;
}

void stream__plan_release(key_plan *plan) {
    for (uint32_t i = 0; i < STREAM_PLACES; i++) free(plan->paths[i].steps);
    free(plan->text);
    free(plan->pattern);
    memset(plan, 0, sizeof *plan);
}

/* ------------------------------------------------------------------------
 * Headers
 * ------------------------------------------------------------------------ */

/* The value of column i of the header; false past the last. */
static bool header_name(const key_plan *plan, const unsigned char *row, size_t length, uint32_t i,
                        stream_buffer *buffer, const unsigned char **name, size_t *name_length) {
    uint32_t start, stop;
    bool quoting = plan->fields == FIELDS_QUOTED;
    if (!stream__active_scanner()->columns(row, (uint32_t)length, plan->separator, quoting, &i, 1,
                                           &start, &stop))
        return false;
    *name = row + start;
    *name_length = stop - start;
    if (quoting) *name = stream__csv_value(row + start, stop - start, buffer, name_length);
    return *name != NULL;
}

/* A column by number: every row has as many columns as its header, or is not whole. */
static stream_status check_number(const key_plan *plan, const field_range *range,
                                  const unsigned char *row, size_t length, const char *file,
                                  stream_error *err) {
    stream_buffer value = {0};
    const unsigned char *name;
    size_t n;
    int32_t columns = 0;
    while (header_name(plan, row, length, (uint32_t)columns, &value, &name, &n)) columns++;
    stream__buffer_release(&value);
    int32_t ends[] = {range->first, range->last};
    for (int i = 0; i < 2; i++) {
        if (ends[i] < 0 ? -ends[i] <= columns : ends[i] < columns) continue;
        return stream__fail(err, 0, "no column %ld in " STREAM_NAME_FORMAT ": its header has %ld",
                            ends[i] < 0 ? (long)ends[i] : ends[i] + 1L, stream__label(file),
                            (long)columns);
    }
    return STREAM_OK;
}

static stream_status unknown_column(const key_plan *plan, const char *wanted,
                                    const unsigned char *row, size_t length, const char *file,
                                    stream_error *err) {
    stream_buffer value = {0};
    char names[2048] = "", list[300] = "", hint[128];
    const unsigned char *name;
    size_t n, used = 0;
    for (uint32_t i = 0; i < 1000 && header_name(plan, row, length, i, &value, &name, &n); i++) {
        size_t room = sizeof list - strlen(list);
        snprintf(list + strlen(list), room, "%s%.*s", i ? ", " : "", (int)(n < 60 ? n : 60),
                 (const char *)name);
        if (n == 0 || n > 31 || memchr(name, '|', n) || used + n + 2 > sizeof names) continue;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.*s", used ? "|" : "",
                                 (int)n, (const char *)name);
    }
    stream__buffer_release(&value);
    return stream__fail(err, 0, "no column '%.80s' in " STREAM_NAME_FORMAT "%s (its columns: %s)",
                        wanted, stream__label(file), did_you_mean(wanted, names, hint, sizeof hint),
                        list);
}

stream_status stream__plan_header(key_plan *plan, const unsigned char *row, size_t length,
                                  const char *file, stream_error *err) {
    stream_buffer value = {0};
    stream_status status = STREAM_OK;
    for (uint32_t part = 0; part < plan->part_count && status == STREAM_OK; part++) {
        const char *wanted = plan->names[part];
        if (!wanted) {
            status = check_number(plan, &plan->ranges[part], row, length, file, err);
            continue;
        }
        const unsigned char *name;
        size_t n;
        uint32_t i = 0;
        bool more;
        while ((more = header_name(plan, row, length, i, &value, &name, &n)) &&
               (n != strlen(wanted) || memcmp(name, wanted, n) != 0))
            i++;
        if (more) plan->ranges[part] = (field_range){(int32_t)i, (int32_t)i};
        else status = unknown_column(plan, wanted, row, length, file, err);
    }
    stream__buffer_release(&value);
    if (status == STREAM_OK) settle_columns(plan);
    return status;
}
