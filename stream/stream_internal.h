/* stream_internal.h - how the parts of the stream layer fit together.
 *
 *   source.c    bytes: files, pipes, gzip, zstd
 *   unpack.c    xz, bzip2, lz4
 *   scan.c      where records end, 64 bytes at a time
 *   frame.c     bytes into blocks of whole records, strictly in order
 *   spec.c      the text of --key, --time and --format
 *   fields.c    where the fields of rows and lines lie
 *   columns.c   values of CSV fields
 *   json.c      parts of JSON values, over the index that json_index.cpp makes
 *   json_array.c  a file that is one JSON array into lines, one for each element
 *   moment.c    event times
 *   keys.c      a block's records into hashes
 *   reader.c    the pipeline: who does which block when
 *   feed.c      messages into blocks, in place of frame.c
 *   writer.c    records out
 *
 * A block goes: frame (one thread at a time, in order) -> keys (any thread, any
 * order) -> the caller (in order) -> back to the ring.
 */
#ifndef WEIR_STREAM_INTERNAL_H
#define WEIR_STREAM_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"
#include "stream_internal_json.h"

#define STREAM_PAD 64       /* readable bytes past the end of every buffer that is scanned */
#define STREAM_MAX_PARTS 64 /* parts of a key, the time, a number and a label together */
#define STREAM_BYTE_ORDER_MARK "\xef\xbb\xbf" /* of UTF-8; some put it before a file */
#define STREAM_RECORD_LIMIT (1u << 30)        /* bytes of a record, whatever --max-record: 1 GiB */

/* ------------------------------------------------------------------------
 * Errors
 * ------------------------------------------------------------------------ */

/* Fill an error and return STREAM_FAILED. */
__attribute__((format(printf, 3, 4))) stream_status stream__fail(stream_error *err, int os_error,
                                                                 const char *format, ...);

/* Say why, after stream__fail(). */
static inline stream_status stream__because(stream_error *err, stream_cause cause) {
    if (err) err->cause = cause;
    return STREAM_FAILED;
}

/* How a file is called in messages. */
const char *stream__label(const char *file);

/* Put a name into an error's message, cut if it is very long. */
#define STREAM_NAME_FORMAT "'%.200s'"

stream_status stream__no_memory(stream_error *err);

/* Why a record is BAD or MISSING: name, status, text. */
#define STREAM_REASON_LIST(X)                                                                      \
    X(REASON_NONE, STREAM_RECORD_OK, "nothing is wrong")                                           \
    X(REASON_NO_COLUMN, STREAM_MISSING, "the row has too few columns for the key")                 \
    X(REASON_NO_WORD, STREAM_MISSING, "the line has too few fields for the key")                   \
    X(REASON_NO_FIELD, STREAM_MISSING, "the value has no field for the key")                       \
    X(REASON_NO_TIME, STREAM_MISSING, "the record has no time")                                    \
    X(REASON_EMPTY, STREAM_MISSING, "there is nothing in it to compare")                           \
    X(REASON_MANY_VALUES, STREAM_BAD, "its set has too many different items")                      \
    X(REASON_NO_TIME_TEXT, STREAM_BAD, "the time is empty")                                        \
    X(REASON_NO_COUNT, STREAM_BAD, "the time is not a number since 1970")                          \
    X(REASON_NOT_ISO, STREAM_BAD, "the time is not one of ISO 8601, such as 2024-02-29T12:30:00Z") \
    X(REASON_NOT_CLF_TIME, STREAM_BAD,                                                             \
      "the time is not that of a web log, such as 10/Oct/2000:13:55:36 -0700")                     \
    X(REASON_NOT_PATTERN, STREAM_BAD, "the time does not fit the pattern")                         \
    X(REASON_TIME_IS_UNIX, STREAM_BAD, "the time looks like seconds")                              \
    X(REASON_TIME_IS_MS, STREAM_BAD, "the time looks like milliseconds")                           \
    X(REASON_TIME_IS_US, STREAM_BAD, "the time looks like microseconds")                           \
    X(REASON_TIME_IS_NS, STREAM_BAD, "the time looks like nanoseconds")                            \
    X(REASON_TIME_IS_ISO, STREAM_BAD, "the time looks like ISO 8601")                              \
    X(REASON_TIME_IS_CLF, STREAM_BAD, "the time looks like that of a web log")                     \
    X(REASON_TIME_RANGE, STREAM_BAD, "the time is outside of the years 1678 to 2262")              \
    X(REASON_NO_VALUE, STREAM_MISSING, "the record has no such number")                            \
    X(REASON_NO_LABEL, STREAM_MISSING, "the record does not say who it is from")                   \
    X(REASON_BAD_VALUE, STREAM_BAD, "the field is not a number")                                   \
    X(REASON_NOT_CLF, STREAM_BAD,                                                                  \
      "not a line of the common or combined log format: a quote or bracket is not closed")         \
    X(REASON_OPEN_QUOTE, STREAM_BAD, "a quote is not closed before the end of the file")           \
    X(REASON_UTF8, STREAM_BAD, "invalid JSON: not UTF-8")                                          \
    X(REASON_STRING, STREAM_BAD,                                                                   \
      "invalid JSON: a string is not closed, or holds a control character")                        \
    X(REASON_ESCAPE, STREAM_BAD, "invalid JSON: unknown escape in a string")                       \
    X(REASON_NUMBER, STREAM_BAD, "invalid JSON: malformed number")                                 \
    X(REASON_WORD, STREAM_BAD, "invalid JSON: expected a value")                                   \
    X(REASON_SYNTAX, STREAM_BAD, "invalid JSON: misplaced bracket, comma or colon")                \
    X(REASON_CUT, STREAM_BAD, "invalid JSON: the value is not complete")                           \
    X(REASON_TRAILING, STREAM_BAD, "invalid JSON: something follows the value")                    \
    X(REASON_DEPTH, STREAM_BAD, "invalid JSON: nested deeper than 1024")                           \
    X(REASON_NOT_OBJECT, STREAM_BAD, "the value is not an object")                                 \
    X(REASON_NOT_ARRAY, STREAM_BAD, "the value is not an array")                                   \
    X(REASON_LACKING, STREAM_BAD, "the message has no such field as the URL asks for (field=)")    \
    X(REASON_TOO_LONG, STREAM_BAD, "it is too long")                                               \
    X(REASON_MEMORY, STREAM_BAD, "out of memory")

typedef enum {
#define STREAM_REASON_ENUM(name, status, text) name,
    STREAM_REASON_LIST(STREAM_REASON_ENUM)
#undef STREAM_REASON_ENUM
} stream_reason;

/* ------------------------------------------------------------------------
 * source.c: one file's content, decompressed
 * ------------------------------------------------------------------------ */

typedef enum {
    SOURCE_DATA,
    SOURCE_EOF,
    SOURCE_AGAIN,
    SOURCE_INTERRUPTED,
    SOURCE_FAILED
} source_status;

typedef struct stream_source stream_source;

/* Compression by the first bytes of a file. */
typedef enum {
    KIND_UNKNOWN,
    KIND_PLAIN,
    KIND_GZIP,
    KIND_ZSTD,
    KIND_XZ,
    KIND_BZIP2,
    KIND_LZ4
} source_kind;

/* State that a source shares with the thread that may stop it. */
typedef struct {
    int wake_fd;                /* an eventfd, readable when somebody wants attention */
    _Atomic uint64_t raw_bytes; /* progress */
    _Atomic bool interrupted;   /* stream_interrupt() was called and not yet reported */
    _Atomic bool stopping;      /* stream_close() */
    bool threaded;              /* decompress regular files in a thread of their own */
    void (*waiting)(void *context, bool waits); /* told before and after a wait for input */
    void (*attention)(void *context);           /* told when woken while waiting */
    void *context;
} source_control;

stream_status stream__source_open(stream_source **out, const char *name, bool plain,
                                  source_control *control, stream_error *err);
void stream__source_close(stream_source *source);
bool stream__source_is_regular(const stream_source *source);

/* Read up to `room` bytes, at least one unless the status says otherwise. If nothing is
 * there: timeout_ms as in stream_next(). */
source_status stream__source_read(stream_source *source, void *to, size_t room, int timeout_ms,
                                  size_t *got, stream_error *err);

/* Go to a byte of the content; from the beginning only. SOURCE_EOF if it ends before. */
source_status stream__source_skip(stream_source *source, uint64_t offset, stream_error *err);

/* unpack.c: xz, bzip2 and lz4. */
typedef struct stream_unpacker stream_unpacker;

/* Bytes to take and room for others; the lengths become what is left of both. */
typedef struct {
    const unsigned char *in;
    size_t in_length;
    unsigned char *out;
    size_t out_length;
} unpack_step;

#define UNPACK_NO_MEMORY "out of memory"

bool stream__can_unpack(source_kind kind); /* is its library there? */
stream_unpacker *stream__unpack_new(source_kind kind);
void stream__unpack_free(stream_unpacker *unpacker);

/* Decompress some; *ended: at the end of a member. NULL, or what is wrong. */
const char *stream__unpack(stream_unpacker *unpacker, unpack_step *step, bool *ended);

/* ------------------------------------------------------------------------
 * scan.c: where records end
 * ------------------------------------------------------------------------ */

/* Where a CSV scan stands. */
typedef enum { CSV_FIELD_START, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE_SEEN } csv_state;

/* The scans, in the version of a vector level. All read past the end of their text, up to
 * STREAM_PAD bytes. */
typedef struct {
    /* Look at base[*pos .. end) and write the offset just after each terminator to ends[]. Stops
     * at end or when fewer than 64 of `room` entries are left, and moves *pos. Returns the
     * number of ends. */
    size_t (*lines)(const unsigned char *base, uint32_t *pos, uint32_t end,
                    unsigned char terminator, uint32_t *ends, size_t room);

    /* As above, for rows of CSV, whose line ends may be quoted. */
    size_t (*csv)(const unsigned char *base, uint32_t *pos, uint32_t end, unsigned char separator,
                  csv_state *state, uint32_t *ends, size_t room);

    /* Columns of one row without its terminator: for each of `count` wanted columns (numbers from
     * 0, ascending, no two alike) its place, quotes included, in starts[] and stops[]. Returns
     * how many were found, in order. */
    size_t (*columns)(const unsigned char *row, uint32_t length, unsigned char separator,
                      bool quoting, const uint32_t *wanted, size_t count, uint32_t *starts,
                      uint32_t *stops);

    /* Like `columns`, for words between runs of blanks and tabs. */
    size_t (*words)(const unsigned char *line, uint32_t length, const uint32_t *wanted,
                    size_t count, uint32_t *starts, uint32_t *stops);
} stream_scanner;

/* The scans of the vector level in use. */
const stream_scanner *stream__active_scanner(void);

/* ------------------------------------------------------------------------
 * spec.c: keys, times
 * ------------------------------------------------------------------------ */

typedef struct {
    const char *name; /* NULL: an index */
    uint32_t length;
    int32_t index; /* from 0; -1 is the last element, -2 the one before */
    bool each;     /* not one element but every one */
} path_step;

typedef struct {
    uint32_t count;
    path_step *steps;
    bool each; /* one of the steps is: it may lead to many values */
} json_path;

/* How a record falls into fields. */
typedef enum {
    FIELDS_NONE,   /* it does not, or is JSON */
    FIELDS_QUOTED, /* a byte separates, quotes protect */
    FIELDS_BYTE,   /* a byte separates */
    FIELDS_TEXT,   /* several bytes separate */
    FIELDS_BLANKS, /* runs of blanks and tabs separate */
    FIELDS_CLF     /* the common or combined log format of web servers */
} fields_kind;

#define STREAM_DELIMITER_MOST 16 /* bytes of a delimiter */
#define STREAM_NO_FIELD UINT32_MAX

/* Fields, numbered from 0 on, or from -1 down as counted from the end. */
typedef struct {
    int32_t first, last;
} field_range;

typedef enum {
    MOMENT_SECONDS,
    MOMENT_MS,
    MOMENT_US,
    MOMENT_NS,
    MOMENT_ISO,
    MOMENT_CLF,
    MOMENT_PATTERN
} moment_kind;

enum { STREAM_PLACES = STREAM_MAX_PARTS + 3 }; /* of a key, a time, a number and a label */

/* Everything about keys that does not change from record to record. */
typedef struct {
    stream_format format;
    bool by_parts; /* else the whole record */
    bool timed, numbered, labelled;
    bool trim, fold;
    stream_normalize normalize;
    bool as_is;    /* nothing is to be changed about the bytes of a part */
    bool flexible; /* a part counts from the end or has no last field: rows differ in what is
                    * wanted of them */
    bool joined;   /* the key is a list of parts, each behind its length */
    fields_kind fields;
    unsigned char separator; /* of fields, if it is one byte */
    char delimiter[STREAM_DELIMITER_MOST + 1];
    size_t delimiter_length;
    int json_values; /* STREAM_TYPED, STREAM_AS_TEXT or STREAM_AS_ITEMS */
    size_t skip_prefix;
    uint32_t key_count; /* parts of the key; then come time, number and label, if wanted */
    uint32_t part_count;
    char *text;                       /* the copied spec; names point into it */
    const char *names[STREAM_PLACES]; /* columns by name, else NULL */
    field_range ranges[STREAM_PLACES];
    json_path paths[STREAM_PLACES];
    uint32_t wanted_count; /* the columns without repeats, ascending; not if `flexible` */
    uint32_t wanted[STREAM_PLACES];
    uint8_t slot[STREAM_PLACES]; /* part -> place in wanted */
    moment_kind moment;
    char *pattern; /* MOMENT_PATTERN */
    const weir_filter *filter;
    const weir_sketch *sketch;
    uint64_t (*hash)(const void *, const void *, size_t);
    const void *hash_context;
    uint8_t (*row)(const void *, const void *, size_t, uint64_t *);
    size_t width; /* words of a key, 1 unless there is a `row` */
} key_plan;

stream_status stream__plan_init(key_plan *plan, const stream_options *options, stream_error *err);
void stream__plan_release(key_plan *plan);

/* Find the columns that are given by name in a header row (without its terminator). */
stream_status stream__plan_header(key_plan *plan, const unsigned char *row, size_t length,
                                  const char *file, stream_error *err);

/* ------------------------------------------------------------------------
 * fields.c: where fields lie
 * ------------------------------------------------------------------------ */

/* The fields of one record: what a thread needs to find them, and what it found. */
typedef struct {
    const stream_scanner *scanner;
    uint32_t *all;            /* 0, 1, 2, ...: the wanted of a flexible plan */
    uint32_t *starts, *stops; /* by slot of the plan, or if it is flexible by field number;
                               * the start of a field that is not there is STREAM_NO_FIELD */
    uint32_t count;           /* found; if less than wanted, some are not there */
    size_t room;
} field_finder;

bool stream__fields_init(field_finder *finder, const key_plan *plan);
void stream__fields_release(field_finder *finder);

/* Find the fields that the plan wants. REASON_NONE, also if some are not there; REASON_NOT_CLF,
 * REASON_MEMORY. */
stream_reason stream__fields_find(field_finder *finder, const key_plan *plan,
                                  const unsigned char *row, uint32_t length);

/* The number of a field of the common or combined log format by its name, from 0; or -1. */
int stream__clf_field(const char *name, size_t length);
extern const char stream__clf_names[];

/* ------------------------------------------------------------------------
 * columns.c, json.c, moment.c, number.c: values
 * ------------------------------------------------------------------------ */

/* Bytes that grow. */
typedef struct {
    unsigned char *bytes;
    size_t length, room;
} stream_buffer;

bool stream__buffer_reserve(stream_buffer *buffer, size_t more);
bool stream__buffer_append(stream_buffer *buffer, const void *bytes, size_t length);
void stream__buffer_release(stream_buffer *buffer);

/* The value of a CSV field: in place where it can, else unquoted into `buffer` (which is
 * emptied first). NULL: out of memory. */
const unsigned char *stream__csv_value(const unsigned char *field, size_t length,
                                       stream_buffer *buffer, size_t *value_length);

/* Nanoseconds since 1970 from text; or the reason, which says what the text looks like. */
stream_reason stream__moment_parse(const key_plan *plan, const unsigned char *text, size_t length,
                                   int64_t *nanoseconds);
stream_status stream__moment_format(key_plan *plan, const char *text, stream_error *err);

/* A finite number in decimal, white space around it allowed. */
bool stream__number_parse(const unsigned char *text, size_t length, double *number);

/* A part of a JSON value, as it stands in the text. */
typedef struct {
    uint32_t start, stop; /* start == stop: missing */
} json_slice;

/* Values at paths that may lead to many, in the order of the document. */
typedef struct {
    uint32_t path;
    json_slice value;
} json_item;

typedef struct {
    json_item *items;
    size_t count, room;
} json_items;

/* Check the one value in text[from..to), whose tokens begin at *tokens, and find its parts: for
 * each path one, or, if the path has a step `each`, its values in `items` (which is emptied
 * first). *tokens moves to the first from `to` on. On trouble *where is its place. */
stream_reason stream__json_find(const unsigned char *text, uint32_t from, uint32_t to,
                                const uint32_t **tokens, const json_path *paths,
                                uint32_t path_count, json_slice *parts, json_items *items,
                                uint32_t *where);

/* Append the canonical spelling of a checked value: one tag byte ('s' for a string), then its
 * bytes. False: out of memory. */
bool stream__json_canonical(const unsigned char *text, size_t length, stream_buffer *out);

/* Append a number in its canonical spelling, without the tag, as people write it: -12e2 as
 * -1200, 15e-1 as 1.5. What would be very long keeps its exponent. */
bool stream__json_plain(const unsigned char *number, size_t length, stream_buffer *out);

/* Append a checked value as text, see json_values in stream.h. */
bool stream__json_text(const unsigned char *text, size_t length, stream_buffer *out);

/* json_array.c: bytes of a file that is one JSON array into lines of its elements, in place. */
typedef enum { ARRAY_UNKNOWN, ARRAY_NO, ARRAY_YES } array_kind;

typedef struct {
    uint32_t depth; /* open brackets, the array's own included */
    bool quoted;    /* in a string */
    bool escaped;   /* after a backslash in one */
    bool element;   /* in an element: it has had a byte that is not white space */
    bool gap;       /* white space has followed the element */
    bool any;       /* there was an element */
    bool closed;    /* the array has ended */
    bool followed;  /* by something that is not white space */
} array_state;

/* What the first bytes of a file say. by_name: the keys are fields of objects. at_end: there are
 * no more bytes. */
array_kind stream__array_kind(const unsigned char *bytes, size_t length, bool by_name, bool at_end);
size_t stream__array_lines(array_state *state, unsigned char *bytes, size_t length);

/* ------------------------------------------------------------------------
 * Blocks, frame.c, keys.c
 * ------------------------------------------------------------------------ */

typedef struct {
    unsigned char *memory; /* page aligned, capacity + STREAM_PAD bytes */
    size_t capacity;
    uint32_t base;    /* first byte in use */
    uint32_t scanned; /* the scan has come this far */
    uint32_t end;     /* bytes are here up to this */
    uint32_t limit;   /* read up to here, then it is full */
    uint32_t *ends;   /* ends[0] = first record's start, ends[i] = record i's end */
    size_t count;     /* records found */
    uint64_t *hashes;
    int64_t *times;
    double *numbers;
    uint64_t *labels;
    uint8_t *status, *reason;
    uint32_t *where;                  /* in the record, for the reason */
    bool header;                      /* record 0 is one */
    bool open_quote;                  /* the last record has an open quote */
    const struct stream_wrong *wrong; /* messages that are no records; or NULL */
    size_t wrong_count;
    bool ready;            /* reader.c: may be delivered */
    bool no_memory;        /* reader.c: why it failed */
    stream_status outcome; /* of what made it: STREAM_BATCH, STREAM_END, STREAM_FAILED */
    stream_batch batch;
} stream_block;

bool stream__block_init(stream_block *block, size_t block_size, size_t max_records,
                        const key_plan *plan);
void stream__block_release(stream_block *block);

typedef struct {
    const stream_options *options;
    key_plan *plan;
    const char *const *files;
    size_t file_count;
    source_control *control;
    size_t block_size, max_records;
    size_t aim; /* bytes to have in the next block */

    stream_source *source; /* NULL: between files */
    stream_position at;    /* of carry[0], or of the block's base while one is being filled */
    bool at_eof;           /* the source has no more; carry may still hold records */
    bool header_next;      /* the next record of this file is its header */
    bool beginning;        /* the first bytes of this file have not been looked at */
    bool marked;           /* the first file began with a byte order mark: say it once */
    array_kind array;      /* is this file one JSON array? */
    array_state elements;
    const stream_scanner *scanner;
    unsigned char *carry; /* bytes after the last whole record of the last block */
    size_t carry_length, carry_capacity, carry_scanned;
    csv_state csv;
    bool crlf;                   /* the last row ended with CRLF */
    bool filling;                /* a block was left unfinished: go on with it */
    unsigned char *first_header; /* the first file's header row, without terminator */
    size_t first_header_length;
    _Atomic uint64_t held; /* bytes of last records held back */
    bool pending_failure;  /* deliver what there is, then fail with: */
    stream_error failure;
} stream_framer;

stream_status stream__framer_init(stream_framer *framer, const stream_options *options,
                                  key_plan *plan, const char *const *files, size_t file_count,
                                  source_control *control, size_t block_size, size_t max_records,
                                  stream_error *err);
void stream__framer_release(stream_framer *framer);

/* Fill a block with whole records and describe it in block->batch (without hashes): outcome
 * STREAM_BATCH; or STREAM_END, STREAM_IDLE, STREAM_INTERRUPTED, STREAM_FAILED (framer->failure).
 * After IDLE and INTERRUPTED call again with the same block. */
stream_status stream__frame(stream_framer *framer, stream_block *block, int timeout_ms);

/* A message that is no record, whatever its bytes. */
typedef struct stream_wrong {
    uint32_t record;
    stream_reason reason;
} stream_wrong;

/* feed.c: the same for messages. `wrong` is room for as many as a block has records. */
stream_status stream__feed(stream_framer *framer, stream_block *block, stream_wrong *wrong,
                           int timeout_ms);
stream_status stream__feed_check(const stream_options *options, stream_error *err);

/* Buffers and plan of one thread that makes keys. */
typedef struct {
    const key_plan *plan;
    stream_buffer key, value;
    stream_buffer spelled; /* a JSON string while its letters are changed */
    stream_buffer letters; /* code points of a part while it is folded or normalized */
    field_finder fields;
    json_items items;
    json_index *json;
} stream_keyer;

bool stream__keyer_init(stream_keyer *keyer, const key_plan *plan);
void stream__keyer_release(stream_keyer *keyer);

/* Make the block's memory at least so large; the content may be lost. */
bool stream__block_reserve(stream_block *block, size_t bytes);

/* Fill in hashes, times, numbers, labels and status of a framed block. False: out of memory. */
bool stream__keys(stream_keyer *keyer, stream_block *block);

#endif
