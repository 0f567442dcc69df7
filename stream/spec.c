/* spec.c - the texts that say what a record and its key are.
 *
 * --format   lines, csv, tsv, json, fixed:N, len32
 * --key      columns "2,5", "user,\"last, first\""; JSON paths ".user.id,.tags[0]"
 * --time     one column or path
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
    return stream__fail(err, ENOMEM,
                        "out of memory for reading records: give less to other "
                        "programs, or lower --memory or --threads");
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
    static const char *const names[] = {"lines", "csv", "tsv", "json", "fixed", "len32"};
    *record_size = 0;
    for (int i = 0; i < 6; i++) {
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
        err, 0, "unknown format '%.80s'%s (formats: lines, csv, tsv, json, fixed:N, len32)", text,
        did_you_mean(text, "lines|csv|tsv|json|fixed|len32", hint, sizeof hint));
}

stream_status stream_parse_compression(const char *text, stream_compression *compression,
                                       stream_error *err) {
    static const char *const names[] = {"none", "gzip", "zstd"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *compression = (stream_compression)i;
        return STREAM_OK;
    }
    char hint[128];
    return stream__fail(err, 0, "unknown compression '%.80s'%s (choose none, gzip or zstd)", text,
                        did_you_mean(text, "none|gzip|zstd", hint, sizeof hint));
}

stream_options stream_options_defaults(void) {
    return (stream_options){
        .format = STREAM_LINES, .terminator = '\n', .max_record = 64u << 20, .threads = 1};
}

/* ------------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------------ */

/* A spec being read: text is where we are, store is where names are kept. */
typedef struct {
    const char *whole, *text;
    char *store;
    const char *option; /* "--key", "--time" and such, for messages */
} spec_cursor;

static stream_status bad_spec(const spec_cursor *c, stream_error *err, const char *what) {
    return stream__fail(err, 0, "cannot read %s '%.160s' at character %d: %s", c->option, c->whole,
                        (int)(c->text - c->whole) + 1, what);
}

static bool is_number(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return length > 0;
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

static stream_status parse_column(spec_cursor *c, const char **name, uint32_t *column,
                                  stream_error *err) {
    size_t length;
    if (*c->text == '"') return quoted_name(c, false, name, &length, err);
    const char *start = c->text;
    length = strcspn(start, ",");
    if (length == 0) return bad_spec(c, err, "a column is missing");
    if (is_number(start, length)) {
        unsigned long n = length > 7 ? 0 : strtoul(start, NULL, 10);
        if (n == 0 || n > 1000000) return bad_spec(c, err, "columns count from 1 to 1000000");
        *column = (uint32_t)n - 1;
    } else {
        memcpy(c->store, start, length);
        c->store[length] = 0;
        *name = c->store;
        c->store += length + 1;
    }
    c->text += length;
    return STREAM_OK;
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
    size_t length;
    c->text++;
    if (*c->text == '"') {
        if (quoted_name(c, true, &step.name, &length, err)) return STREAM_FAILED;
        step.length = (uint32_t)length;
    } else {
        length = strspn(c->text, "0123456789");
        if (length == 0 || length > 9) return bad_spec(c, err, "an index is missing, as in .a[0]");
        step.index = (uint32_t)strtoul(c->text, NULL, 10);
        c->text += length;
    }
    if (*c->text != ']') return bad_spec(c, err, "a ] is missing");
    c->text++;
    return add_step(c, path, step, err);
}

static stream_status parse_name(spec_cursor *c, json_path *path, stream_error *err) {
    path_step step = {0};
    size_t length;
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

/* .a.b, .a[0], ."odd name", .["odd name"], .[0]; "." alone is the whole value. */
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
    return parse_column(c, &plan->names[i], &plan->columns[i], err);
}

static stream_status parse_parts(key_plan *plan, const char *spec, const char *option,
                                 uint32_t most, char **store, stream_error *err) {
    spec_cursor c = {spec, spec, *store, option};
    for (uint32_t n = 0;; c.text++) {
        if (n++ == most)
            return bad_spec(&c, err, most == 1 ? "one is enough" : "too many parts (at most 64)");
        if (parse_part(plan, &c, plan->part_count, err)) return STREAM_FAILED;
        plan->part_count++;
        if (!*c.text) break;
        if (*c.text != ',') return bad_spec(&c, err, "a comma goes between parts");
    }
    *store = c.store;
    return STREAM_OK;
}

/* The columns that rows are searched for: each once, in order. */
static void settle_columns(key_plan *plan) {
    plan->wanted_count = 0;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        uint32_t n = plan->wanted_count, column = plan->columns[i], at = 0;
        while (at < n && plan->wanted[at] < column) at++;
        if (at < n && plan->wanted[at] == column) continue;
        memmove(plan->wanted + at + 1, plan->wanted + at, (n - at) * sizeof plan->wanted[0]);
        plan->wanted[at] = column;
        plan->wanted_count++;
    }
    for (uint32_t i = 0; i < plan->part_count; i++) {
        plan->slot[i] = 0;
        while (plan->wanted[plan->slot[i]] != plan->columns[i]) plan->slot[i]++;
    }
}

static const char *key_option(const stream_options *o) {
    return o->key_option ? o->key_option : "--key";
}

static stream_status check_no_field(const char *field, const char *option, stream_error *err) {
    if (!field) return STREAM_OK;
    return stream__fail(err, 0,
                        "records of this format have no part that '%.80s' could name: "
                        "leave out %s, or give --format csv, tsv or json",
                        field, option);
}

static stream_status check_options(const stream_options *o, stream_error *err) {
    bool table = o->format == STREAM_CSV || o->format == STREAM_TSV;
    bool parts = table || o->format == STREAM_JSON;
    if (o->format == STREAM_FIXED && o->record_size == 0)
        return stream__fail(err, 0,
                            "records of 0 bytes are not possible: give a size, as in fixed:16");
    if (o->terminator != '\n' && o->terminator != '\0')
        return stream__fail(err, 0, "records end with a line end or with NUL, nothing else");
    if (o->terminator == '\0' && o->format != STREAM_LINES && o->format != STREAM_JSON)
        return stream__fail(err, 0,
                            "NUL-terminated records are possible with lines and json only: "
                            "leave out -z, or choose another --format");
    if (o->header && !table)
        return stream__fail(
            err, 0, "only csv and tsv have a header: leave out --header, or give --format csv");
    if (o->key && !parts)
        return stream__fail(err, 0,
                            "records of this format have no parts that '%.80s' could name: "
                            "leave out %s, or give --format csv, tsv or json",
                            o->key, key_option(o));
    if (!parts && (check_no_field(o->time_field, "--time", err) ||
                   check_no_field(o->number_field, o->number_option, err) ||
                   check_no_field(o->label_field, o->label_option, err)))
        return STREAM_FAILED;
    if (o->max_record == 0 || o->max_record > STREAM_RECORD_LIMIT)
        return stream__fail(err, 0,
                            "the longest record must be from 1 byte to 1G: change --max-record");
    if (!o->filter && !o->sketch && !o->hash && !o->row)
        return stream__fail(err, 0, "no filter and no hash function given");
    if (o->row && (o->width < 1 || o->width > STREAM_WIDTH_MOST))
        return stream__fail(err, 0, "rows have from 1 to %d words", STREAM_WIDTH_MOST);
    return STREAM_OK;
}

static stream_status check_names(const key_plan *plan, bool header, stream_error *err) {
    for (uint32_t i = 0; i < plan->part_count && !header; i++)
        if (plan->names[i])
            return stream__fail(err, 0,
                                "column '%.80s' is given by name, but there is no header: "
                                "give --header, or the number of the column",
                                plan->names[i]);
    return STREAM_OK;
}

stream_status stream__plan_init(key_plan *plan, const stream_options *o, stream_error *err) {
    memset(plan, 0, sizeof *plan);
    if (check_options(o, err)) return STREAM_FAILED;
    plan->format = o->format;
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
    if (o->time_field && parse_parts(plan, o->time_field, "--time", 1, &store, err)) goto failed;
    if (o->number_field && parse_parts(plan, o->number_field, o->number_option, 1, &store, err))
        goto failed;
    if (o->label_field && parse_parts(plan, o->label_field, o->label_option, 1, &store, err))
        goto failed;
    if (stream__moment_format(plan, o->time_format ? o->time_format : "unix", err)) goto failed;
    if (check_names(plan, o->header, err)) goto failed;
    settle_columns(plan);
    return STREAM_OK;
failed:
    stream__plan_release(plan);
    return STREAM_FAILED;
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
    bool csv = plan->format == STREAM_CSV;
    if (!stream__scan_columns(row, (uint32_t)length, csv ? ',' : '\t', csv, &i, 1, &start, &stop))
        return false;
    *name = row + start;
    *name_length = stop - start;
    if (csv) *name = stream__csv_value(row + start, stop - start, buffer, name_length);
    return *name != NULL;
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
    if (length >= 3 &&
        !memcmp(row, STREAM_BYTE_ORDER_MARK, 3)) { /* a byte order mark is no part of a name */
        row += 3;
        length -= 3;
    }
    stream_buffer value = {0};
    stream_status status = STREAM_OK;
    for (uint32_t part = 0; part < plan->part_count && status == STREAM_OK; part++) {
        const char *wanted = plan->names[part];
        if (!wanted) continue;
        const unsigned char *name;
        size_t n;
        uint32_t i = 0;
        bool more;
        while ((more = header_name(plan, row, length, i, &value, &name, &n)) &&
               (n != strlen(wanted) || memcmp(name, wanted, n) != 0))
            i++;
        if (more) plan->columns[part] = i;
        else status = unknown_column(plan, wanted, row, length, file, err);
    }
    stream__buffer_release(&value);
    if (status == STREAM_OK) settle_columns(plan);
    return status;
}
