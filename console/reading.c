/* reading.c - what the shared options say. */
#include "reading.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "values.h"

#define MAX_RECORD_MOST (1ull << 30) /* bytes that --max-record may be */

enum {
    KEYS_SIZE = 4096, /* bytes of all keys together, their end included */
    LEAP_WINDOWS = 10 /* windows that a time may be ahead, unless --max-leap says */
};

static unsigned available_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

static const char lines_by_default[] = "lines";

reading reading_defaults(void) {
    reading r = {.in = stream_options_defaults(),
                 .format = lines_by_default,
                 .on_bad = STREAM_STOP,
                 .max_leap = -1};
    r.in.key_option = "--key";
    r.in.time_option = "--time";
    r.in.delimiter_option = "--delimiter";
    r.in.threads = available_cores();
    return r;
}

static int number_option(reading *r, int id, const char *value) {
    uint64_t number;
    int code;
    switch (id) {
    case READ_MAX_RECORD:
        return value_number("--max-record", value, 1, MAX_RECORD_MOST, true, &r->in.max_record);
    case READ_SKIP:
        code = value_number("--key-skip-prefix", value, 0, MAX_RECORD_MOST, true, &number);
        if (code == EXIT_DONE) r->in.key_skip_prefix = (size_t)number;
        return code;
    case READ_THREADS:
        code = value_number("--threads", value, 1, 256, false, &number);
        if (code == EXIT_DONE) r->in.threads = (unsigned)number;
        return code;
    default:
        return EXIT_DONE;
    }
}

static int leap_option(reading *r, const char *value) {
    r->max_leap = 0;
    return strcmp(value, "none") ? value_span("--max-leap", value, 1, &r->max_leap) : EXIT_DONE;
}

int64_t reading_max_leap(const reading *r, int64_t window) {
    if (r->max_leap >= 0) return r->max_leap;
    return window < INT64_MAX / LEAP_WINDOWS ? LEAP_WINDOWS * window : 0;
}

static int format_option(reading *r, const char *value) {
    stream_error err;
    r->format = value;
    if (stream_parse_format(value, &r->in.format, &r->in.record_size, &err) != STREAM_OK)
        return cli_stream_error(&err);
    return EXIT_DONE;
}

/* Keys of several options, one after the other. */
static int add_key(reading *r, const char *value) {
    static char joined[KEYS_SIZE];
    size_t used = strlen(joined);
    if (!r->in.key) {
        r->in.key = value;
        return EXIT_DONE;
    }
    if (!used) used = (size_t)snprintf(joined, sizeof joined, "%s", r->in.key);
    if (used < sizeof joined)
        used += (size_t)snprintf(joined + used, sizeof joined - used, ",%s", value);
    r->in.key = joined;
    return used < sizeof joined ? EXIT_DONE : cli_error("the keys are too long");
}

int reading_option(reading *r, int id, const char *value) {
    switch (id) {
    case READ_FORMAT:
        return format_option(r, value);
    case READ_NULL:
        r->in.terminator = 0;
        break;
    case READ_HEADER:
        r->in.header = true;
        break;
    case READ_KEY:
        return add_key(r, value);
    case READ_DELIMITER:
        r->in.delimiter = value;
        break;
    case READ_NORMALIZE:
        r->in.normalize = (stream_normalize)(STREAM_NFC + value_choice("nfc|nfkc", value));
        break;
    case READ_CASE:
        r->in.ignore_case = true;
        break;
    case READ_TRIM:
        r->in.trim = true;
        break;
    case READ_MISSING:
        r->on_missing = (stream_action)value_choice("pass|drop|fail", value);
        break;
    case READ_BAD:
        r->on_bad = (stream_action)value_choice("pass|drop|fail", value);
        break;
    case READ_TIME:
        r->in.time_field = value;
        break;
    case READ_TIME_FORMAT:
        r->in.time_format = value;
        break;
    case READ_MAX_LEAP:
        return leap_option(r, value);
    case READ_IMPORTANCE:
        r->in.number_field = value;
        r->in.number_option = "--importance";
        break;
    case READ_PRODUCER:
        r->in.label_field = value;
        r->in.label_option = "--producer";
        break;
    case READ_METRICS:
        r->metrics = value;
        break;
    case READ_PROGRESS:
        r->progress = PROGRESS_ON;
        break;
    case READ_QUIET:
        r->quiet = true;
        break;
    default:
        return number_option(r, id, value);
    }
    return EXIT_DONE;
}

static int check_together(const reading *r) {
    bool table = r->in.format == STREAM_CSV || r->in.format == STREAM_TSV;
    bool lines = r->in.format == STREAM_LINES || r->in.format == STREAM_JSON;
    bool binary = r->in.format == STREAM_FIXED || r->in.format == STREAM_LEN32;
    const char *field = r->in.key            ? "--key"
                        : r->in.time_field   ? "--time"
                        : r->in.number_field ? r->in.number_option
                        : r->in.label_field  ? r->in.label_option
                                             : NULL;
    if (!r->in.time_field && (r->in.time_format || r->max_leap >= 0))
        return cli_error("%s goes with --time", r->max_leap >= 0 ? "--max-leap" : "--time-format");
    if (r->in.header && !table) return cli_error("--header goes with --format csv or tsv");
    if (r->in.terminator == 0 && !lines) return cli_error("-z goes with --format lines or json");
    if (r->in.delimiter && !table && r->in.format != STREAM_LINES)
        return cli_error("--delimiter goes with --format lines, csv or tsv");
    if (field && binary)
        return cli_error("%s goes with --format lines, csv, tsv, json or clf; binary records have "
                         "no fields",
                         field);
    return EXIT_DONE;
}

/* A key `.id` is the name of a field of JSON; lines have none of the kind. */
static void infer_format(reading *r) {
    bool named = r->in.key && *r->in.key == '.';
    if (!named || r->format != lines_by_default) return;
    r->format = "json";
    r->in.format = STREAM_JSON;
}

int reading_resolve(reading *r, int operands, char **argv) {
    static const char *const standard_input[] = {"-"};
    r->files = operands ? (const char *const *)argv : standard_input;
    r->file_count = operands ? (size_t)operands : 1;
    if (r->quiet) {
        cli_be_quiet();
        r->progress = PROGRESS_OFF;
    }
    infer_format(r);
    return check_together(r);
}
