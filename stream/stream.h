/* stream.h - records in and out.
 *
 * A stream_reader turns files and pipes into ordered batches of records with
 * hashed keys; a stream_writer copies chosen records out again, byte for byte.
 * Between the two stands a filter:
 *
 *     stream_options o = stream_options_defaults();
 *     o.filter = filter;
 *     if (stream_open(&reader, &o, files, file_count, &err)) fail(&err);
 *     while ((s = stream_next(reader, -1, &b, &err)) == STREAM_BATCH) {
 *         weir_batch keys = {.count = b->count, .hashes = b->hashes};
 *         weir_filter_offer_batch(filter, &keys, verdicts);
 *         if (stream_write_records(writer, b, verdicts, false, &err)) fail(&err);
 *     }
 *     if (s == STREAM_FAILED) fail(&err);
 *
 * (It must look at b->status where that is not NULL: see below.)
 *
 * Ownership: a batch belongs to the reader and is good until the next call of
 * stream_next() or stream_close(). Nothing is allocated per record.
 *
 * Threads: a reader and a writer are each used by one thread, the caller's,
 * except for what is marked thread-safe. With options.threads = 1 the reader
 * starts none; with N it starts N - 1 that read, split and hash ahead, and the
 * caller's thread joins in while it would otherwise wait. Batches, their order,
 * their records and every error are the same for any number of threads, save
 * that where one batch ends and the next begins may differ.
 *
 * Errors: a stream_error holds one line for people, lower case, the problem
 * first, the subject quoted. Callers print `message`, and say by `cause` what to try
 * in words of their own: this layer knows no options of a command line.
 *
 * Signals: writing to a closed pipe is reported (STREAM_CLOSED) only if the
 * program ignores SIGPIPE. Threads started here block all signals.
 */
#ifndef WEIR_STREAM_H
#define WEIR_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir.h>
#include <weir_sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * Outcomes
 * ------------------------------------------------------------------------ */

typedef enum {
    STREAM_OK = 0,
    STREAM_BATCH,       /* stream_next: here is a batch */
    STREAM_END,         /* stream_next: no more; all files were read to their ends */
    STREAM_IDLE,        /* stream_next: the input had nothing to read for the timeout */
    STREAM_INTERRUPTED, /* stream_next: stream_interrupt() was called */
    STREAM_CLOSED,      /* writing: the other side of the pipe is gone (EPIPE): end quietly */
    STREAM_FAILED       /* the stream_error says what happened */
} stream_status;

/* Why something failed, where the caller can advise: what to try is not in the message. */
typedef enum {
    STREAM_CAUSE_OTHER,        /* the message says all */
    STREAM_CAUSE_NO_ROOM,      /* the disk or quota of the output is full */
    STREAM_CAUSE_MEMORY,       /* out of memory */
    STREAM_CAUSE_THREAD,       /* the system starts no further thread */
    STREAM_CAUSE_LONG,         /* a record is longer than options.max_record */
    STREAM_CAUSE_LONG_CSV,     /* the same in CSV, where a quote may lack its end */
    STREAM_CAUSE_LONG_MESSAGE, /* the same of a message of a feed */
    STREAM_CAUSE_NO_HEADER,    /* a column has a name, but there is no header */
    STREAM_CAUSE_FEED_HEADER,  /* a header was announced, but messages have none */
    STREAM_CAUSE_LINE_NAME,    /* a field of a line has a name */
    STREAM_CAUSE_TIME,         /* a time is not as options.time_format says */
    STREAM_CAUSE_TIME_UNIX,    /* nor is it; it looks like seconds */
    STREAM_CAUSE_TIME_MS,
    STREAM_CAUSE_TIME_US,
    STREAM_CAUSE_TIME_NS,
    STREAM_CAUSE_TIME_ISO,
    STREAM_CAUSE_TIME_CLF,
    STREAM_CAUSE_MANY_VALUES, /* a record has more items than options.width */
    STREAM_CAUSES
} stream_cause;

typedef struct {
    stream_cause cause;
    int os_error;      /* errno of the failed call, or 0 */
    uint64_t record;   /* number in its file, from 1 (a header counts); 0: none concerned */
    uint64_t offset;   /* byte in the file's content (decompressed) at which it begins */
    char file[256];    /* its name, cut if long; "" if none is concerned */
    char message[640]; /* the problem, file, record and offset included */
} stream_error;

/* ------------------------------------------------------------------------
 * What a record is, and what of it is the key
 * ------------------------------------------------------------------------ */

typedef enum {
    STREAM_LINES, /* ends with the terminator; a CR before it belongs to the record and the key */
    STREAM_CSV,   /* RFC 4180: quoted fields may hold separators, line ends and "" for a quote.
                   * A quote opens a field only at its beginning; elsewhere it is a letter.
                   * LF or CRLF ends a row. */
    STREAM_TSV,   /* tabs, no quoting; LF or CRLF ends a row */
    STREAM_JSON,  /* one value per line, checked in full; or one array per file, whose elements
                   * are the records: they come as lines, see below */
    STREAM_CLF,   /* lines of a web server's log in the common or combined format */
    STREAM_FIXED, /* options.record_size bytes each */
    STREAM_LEN32  /* a 4-byte little-endian length, then the record, which has that many bytes */
} stream_format;

/* Read a format as the command line gives it: lines, csv, tsv, json, clf, len32, or
 * fixed:N with N from 1 to 1 GiB. Sets *format and *record_size. */
stream_status stream_parse_format(const char *text, stream_format *format, uint32_t *record_size,
                                  stream_error *err);

/* Place in a list of files: `record` records, `offset` bytes of content
 * (decompressed, which for a plain file is the offset in it) of file number
 * `file` (from 0) are done. All zero is the beginning. */
typedef struct {
    uint64_t file;
    uint64_t offset;
    uint64_t record;
} stream_position;

/* Where one file of a list begins: `record` records, `offset` bytes of its content are done, or
 * all of it is. */
typedef struct {
    uint64_t offset;
    uint64_t record;
    bool leave_out;
} stream_start;

/* Which texts are equal keys: equal bytes, equal characters (NFC), or compatible ones (NFKC). */
typedef enum { STREAM_BYTES, STREAM_NFC, STREAM_NFKC } stream_normalize;

/* The key of a record is the whole record without its terminator, unless
 * `key` names parts of it:
 *
 *   csv, tsv   columns by number from 1, or with `header` by name: "2,5",
 *              "user,url"; a name that holds a comma or a quote, or reads as
 *              numbers, is written in quotes as in CSV. Values count, not their
 *              spelling: "a" in quotes equals a without. Ranges: "2-4" is
 *              "2,3,4", "3-" all columns from the third on, "-1" the last,
 *              "2--2" the second to the last but one.
 *   lines      fields by number, as in awk: words between runs of blanks and
 *              tabs; with `delimiter` the text between delimiters.
 *   clf        host, ident, user, time, request, status, bytes, referer, agent
 *              (by number 1 to 9), and of the request method, url, protocol.
 *   json       paths: ".user.id,.tags[0],.tags[-1],.\"odd name\"". Values
 *              count, not their spelling: "\u0041" equals "A", 1 equals 1.0 and
 *              10e-1 (to any number of digits), but the number 1 is not the
 *              string "1". null is a value. An object or array counts by its
 *              text without white space, in the order of the document. Of
 *              several fields with one name the last counts. ".tags[]" is the
 *              list of all elements, ".items[].id" that of their ids.
 *
 * A file of JSON whose first byte besides white space is [ is one array, if a
 * line end follows, or if a path begins with a name: lines that are arrays
 * would not have it. Its elements are records, in lines of their own: line
 * ends inside of elements become blanks. Offsets are those of the lines.
 *
 * A byte order mark of UTF-8 before csv, tsv, json and clf is no part of the
 * first record; a writer puts that of the first file before all output.
 *
 * The whole record as key counts byte by byte in every format. Several parts
 * are joined such that ("a","bc") differs from ("ab","c"). One CSV column is
 * hashed as its plain value. Then, for each part (JSON: for strings only):
 * `trim` takes ASCII white space from both ends, key_skip_prefix drops the first
 * bytes of the first part (a shorter one becomes empty), `normalize` makes
 * equal what Unicode calls equal (NFC) or compatible (NFKC), `ignore_case`
 * folds letters as Unicode does ("STRASSE" equals "straße"). Bytes that are not
 * UTF-8 stay as they are, and beside them only ASCII letters are folded.
 *
 * A record without a part has the status STREAM_MISSING. */
typedef struct {
    /* how to cut records */
    stream_format format;
    uint32_t record_size;  /* STREAM_FIXED */
    char terminator;       /* '\n' (default) or '\0': STREAM_LINES and STREAM_JSON only */
    bool header;           /* csv, tsv: the first row of each file names the columns. The first
                            * file's comes through as STREAM_HEADER; the others must have the same
                            * names in the same order, and are left out */
    const char *delimiter; /* between fields, NULL: a comma (csv), a tab (tsv), blanks (lines).
                            * csv, tsv: one byte; lines: up to 16. \\t stands for a tab */
    bool plain;            /* take the bytes as they are: do not look for compression */
    uint64_t max_record;   /* a longer one is an error; default 64 MiB, at most 1 GiB */

    /* how to find keys */
    const char *key;              /* NULL: the whole record */
    const char *key_option;       /* what errors call it; NULL: "the key" */
    const char *time_option;      /* what errors call time_field; NULL: "the time" */
    const char *delimiter_option; /* what errors call delimiter; NULL: "the delimiter" */
    size_t key_skip_prefix;       /* bytes */
    bool trim;
    bool ignore_case;
    stream_normalize normalize;

    /* event times, for windows: a column or path as above, or NULL. A record
     * without it is STREAM_MISSING, one that does not parse is STREAM_BAD.
     * time_format: "unix" (seconds, fractions allowed; the default), "unix-ms",
     * "unix-us", "unix-ns", "iso" (ISO 8601 and RFC 3339; without a zone UTC), "clf"
     * (10/Oct/2000:13:55:36 -0700, the default of that format) or a
     * strptime(3) pattern (UTC unless it has %z; %f reads a fraction of a second). */
    const char *time_field;
    const char *time_format;

    /* a number that comes with each record, such as its importance: a column or path
     * as above, or NULL. A record without it is STREAM_MISSING, one whose number is
     * not a finite decimal number is STREAM_BAD. number_option: what errors call it. */
    const char *number_field;
    const char *number_option;

    /* what a record belongs to, such as who sent it: a column or path as above, or NULL.
     * It is hashed like a key of one part, but without skip, trim and folding. A record
     * without it is STREAM_MISSING. label_option: what errors call it. */
    const char *label_field;
    const char *label_option;

    /* how to hash keys: as the filter or the sketch does, or if `hash` is set so */
    const weir_filter *filter;
    const weir_sketch *sketch;
    uint64_t (*hash)(const void *context, const void *key, size_t length);
    const void *hash_context;

    /* or make `width` words of each key (at most STREAM_WIDTH_MOST). The parts of a key come
     * one by one: `row` is given the bytes that would have been hashed, where several parts
     * have each its length before it in four bytes, the lowest first. It returns
     * STREAM_RECORD_OK, STREAM_MISSING (nothing in it), STREAM_BAD (too much) or
     * STREAM_ROW_NO_NUMBER (which is bad too); any thread may call it. */
    uint8_t (*row)(const void *context, const void *key, size_t length, uint64_t *words);
    size_t width;

    /* how the parts of a JSON key are spelled. Typed, as above, 1 and "1" differ. As text there
     * is no tag: a string has its characters, a number is written without exponent, null is
     * empty, and so are the strings, numbers and nulls in an object or array. As items a string
     * is `s` and its characters, anything else `l` and its items, each with its length before it:
     * the elements of an array that are not null, or the one value that it is. Items are as text,
     * trimmed and folded if they are strings; objects and arrays among them as in a key. */
    enum { STREAM_TYPED, STREAM_AS_TEXT, STREAM_AS_ITEMS } json_values;

    unsigned threads;           /* in all, the caller's included; default 1, more than 8 are as 8 */
    unsigned consumers;         /* threads of these that take batches: stream_take(); default 1 */
    stream_position start;      /* where to begin: for resuming; default the beginning */
    const stream_start *starts; /* instead, a beginning for each file; NULL: none. Not copied */
    bool hold_last;             /* regular files may grow: do not deliver a last record without its
                                 * end; stream_progress.held counts its bytes */
    size_t block_size;          /* bytes read at once; 0: the measured best. Tests use tiny ones */

    const struct stream_feed *feed; /* messages instead of files, see below; or NULL */
} stream_options;

#define STREAM_WIDTH_MOST 64    /* columns of the rows that are made of records */
#define STREAM_CONSUMERS_MOST 8 /* threads that share the batches of a reader */

stream_options stream_options_defaults(void);

/* How many parts the key of every record has; 0 if the key cannot be read, or if records differ
 * in it, as by "3-" and ".tags[]". */
unsigned stream_key_parts(const stream_options *options);

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

/* Messages of a broker, each of which is one record: nothing cuts them, and a line end within one
 * is a byte like others. Only formats whose records end with a terminator go with them; each gets
 * one, so that a batch looks as if it were read from a file. There is no header, and threads = 1.
 * Everything is called by the thread that calls stream_next(). */
typedef struct {
    const void *bytes;
    size_t length;
    bool lacking; /* there is no record in it: STREAM_BAD */
} stream_message;

enum { STREAM_FEED_MOST = 4096 }; /* messages at once */

typedef struct stream_feed {
    const char *name; /* in messages for people, and of batches */

    /* Bring some, at most STREAM_FEED_MOST and 1 GiB in all, good until the next call:
     * STREAM_BATCH. Or STREAM_IDLE if there are none for timeout_ms (0: do not wait), STREAM_END if
     * none will come, STREAM_FAILED. */
    stream_status (*poll)(void *context, int timeout_ms, const stream_message **messages,
                          size_t *count, stream_error *err);

    /* The id of message i of the last batch: "1700000000000-0". */
    void (*word)(void *context, size_t i, char *text, size_t size);

    void *context;
} stream_feed;

/* Status of a record's key; the last one is set only by options.row. */
enum {
    STREAM_RECORD_OK = 0,
    STREAM_MISSING, /* it has no such column or field; hashes[i] is 0 */
    STREAM_BAD,     /* malformed: stream_record_error() says how; hashes[i] is 0 */
    STREAM_HEADER,  /* the header row; not a record to be judged; hashes[i] is 0 */
    STREAM_ROW_NO_NUMBER
};

typedef struct {
    size_t count; /* records, at least 1 */
    const unsigned char *base;
    const uint32_t *offsets; /* count + 1: record i is base[offsets[i]] up to base[offsets[i+1]],
                              * its terminator (or length prefix) included, so that consecutive
                              * records are one stretch of memory */
    const uint64_t *hashes;  /* count; or width words each, if options.row made them */
    const int64_t *times;    /* count, nanoseconds since 1970, or NULL without time_field;
                              * INT64_MIN where status is not OK */
    const double *numbers;   /* count, or NULL without number_field; not a number where status
                              * is not OK */
    const uint64_t *labels;  /* count hashes, or NULL without label_field; 0 where status is not
                              * OK */
    const uint8_t *status;   /* count, or NULL: every one is STREAM_RECORD_OK */
    size_t missing, bad;     /* how many of each status */
    size_t no_number;        /* of the missing, those that were found to lack their number */
    bool open_end;           /* the last record has no terminator: it ends its file */
    bool byte_order_mark;    /* the first file began with one, and these are its first records */
    char separator;          /* of columns, for those who add one */
    stream_format format;
    char terminator[3]; /* what would end it: "\n", "\r\n", or one NUL; "" for binary formats */
    uint8_t terminator_length;
    const char *file;      /* name; "-" is standard input */
    uint64_t first_record; /* number of the first record in its file, from 1 */
    uint64_t first_offset; /* of base[offsets[0]] in the file's content */
    stream_position after; /* just after the last record: start here to go on */
} stream_batch;

typedef struct stream_reader stream_reader;

/* Open files for reading ("-" is standard input; no files: standard input).
 * All are checked to exist and be readable; they are opened one by one as they
 * are reached. The options and the strings in them are copied; file names,
 * filter and hash_context must outlive the reader. gzip, zstd, xz, bzip2
 * and lz4 content is recognised by its first bytes, also several members or frames in
 * a row; of the last three that is refused, when it is reached, whose library was not
 * there when weir was built. Compressed regular files are decompressed by one more
 * thread, if options.threads is more than 1.
 * Fails with STREAM_FAILED; *out is then NULL. An unknown column name may show
 * only in stream_next(), when the header has been read. */
stream_status stream_open(stream_reader **out, const stream_options *options,
                          const char *const *files, size_t file_count, stream_error *err);

/* The next batch: STREAM_BATCH and *batch, or STREAM_END, STREAM_FAILED (again
 * and again, once reached; every whole record before the trouble was
 * delivered), STREAM_INTERRUPTED, or STREAM_IDLE if the input is a pipe or
 * terminal that had nothing for timeout_ms (0: only what is there, -1: wait).
 * Records that have arrived are delivered without waiting for more. A good rhythm for live
 * input: ask with 0; on STREAM_IDLE flush the writer, then ask with the time
 * until the next save. */
stream_status stream_next(stream_reader *reader, int timeout_ms, const stream_batch **batch,
                          stream_error *err);

/* The same for one of several threads among which batches are dealt in turn: batch s is for
 * consumer s modulo options.consumers; stream_next() is consumer 0. A batch is valid until its
 * consumer asks for another. While they wait, consumers help to make batches. Only consumer 0 is
 * told of idleness and interrupts. After stream_dismiss() the others get STREAM_END. Both are
 * thread-safe, one thread for each consumer. */
stream_status stream_take(stream_reader *reader, unsigned consumer, int timeout_ms,
                          const stream_batch **batch, stream_error *err);
void stream_dismiss(stream_reader *reader);

/* Call part(work, i) for each i below `count`, in any order and by the reader's threads and the
 * caller, and return when all calls have returned. A thread first ends the block that it is at.
 * For the thread that calls stream_next(), between batches. */
void stream_share(stream_reader *reader, void (*part)(void *work, size_t i), void *work,
                  size_t count);

/* Describe what is wrong with record i of a batch (STREAM_BAD or
 * STREAM_MISSING) as an error: file, record number, byte offset, reason. */
void stream_record_error(const stream_reader *reader, const stream_batch *batch, size_t i,
                         stream_error *err);

/* Make a stream_next() that waits for input, or else the next one, return
 * STREAM_INTERRUPTED, once for each call or few calls. Batches are not lost.
 * Thread-safe, and safe in signal handlers. */
void stream_interrupt(stream_reader *reader);

/* How far it has come. Thread-safe. */
typedef struct {
    uint64_t raw_bytes; /* read from the files, before decompression */
    uint64_t raw_total; /* size of all files, or 0 if one has none (a pipe). Less what
                         * lies before options.start is not subtracted from either */
    uint64_t records;   /* delivered in batches */
    uint64_t bytes;     /* of these, decompressed */
    uint64_t held;      /* bytes of last records held back by options.hold_last */
} stream_progress;

void stream_get_progress(const stream_reader *reader, stream_progress *progress);

/* Stop, join the threads, close the files; at any time. NULL is allowed. */
void stream_close(stream_reader *reader);

/* ------------------------------------------------------------------------
 * Choosing records of a batch
 * ------------------------------------------------------------------------ */

/* What is to become of a record that cannot be used as it is. JUDGE is for late records
 * alone: they are used as if they were of the latest time so far. */
typedef enum { STREAM_PASS, STREAM_DROP, STREAM_STOP, STREAM_JUDGE } stream_action;

/* Kinds of records besides those of stream_batch.status. */
enum {
    STREAM_LATE = STREAM_HEADER + 1, /* older than rules.lateness allows */
    STREAM_LEAP                      /* ahead of the latest time by more than rules.max_leap;
                                      * counts as bad */
};

/* Which records of a batch are used. Zero-fill it, then set lateness to -1 and newest to
 * INT64_MIN unless they are known. */
typedef struct {
    stream_action on_missing, on_bad, on_late; /* on_missing and on_bad may be STREAM_STOP */
    size_t width;     /* words in hashes for each record: options.width; 0: one */
    int64_t lateness; /* ns that a record may be behind the latest; -1: any */
    int64_t max_leap; /* ns that a record may be ahead of the latest; 0: any */
    int64_t newest;   /* latest time so far, kept by stream_select(); INT64_MIN: none yet */
} stream_rules;

/* The records chosen, side by side. Zero-fill it before first use. The arrays are good until
 * the next call and as long as the batch. */
typedef struct {
    size_t count;           /* records chosen */
    bool whole;             /* every record of the batch is: `places` and `kinds` are NULL */
    const uint32_t *places; /* of each in the batch */
    const uint64_t *hashes; /* width words each */
    const int64_t *times;   /* never earlier than the one before; NULL where the batch has none */
    const double *numbers;  /* NULL where the batch has none */
    const uint64_t *labels; /* NULL where the batch has none */
    const uint8_t *kinds;   /* of each record of the batch before `end` */
    size_t end;             /* records looked at: all, or those before the one that the rules
                             * do not allow, whose kind is in `stopped` */
    uint8_t stopped;        /* STREAM_MISSING, STREAM_BAD or STREAM_LEAP if end < batch.count */
    size_t missing, bad, late, headers; /* records of these kinds before `end` */
    /* own memory */
    size_t room;
    uint32_t *own_places;
    uint64_t *own_hashes, *own_labels;
    int64_t *own_times;
    double *own_numbers;
    uint8_t *own_kinds;
} stream_selection;

/* Choose. false if memory is out. */
bool stream_select(stream_selection *selection, const stream_batch *batch, stream_rules *rules);
void stream_selection_release(stream_selection *selection);

/* Make room for `count` elements in arrays that are used side by side; *room is what they
 * have, 0 at first. false if memory is out, the arrays are then as good as before. */
typedef struct {
    void *array; /* address of the pointer */
    size_t size; /* of an element */
} stream_array;
bool stream_make_room(size_t *room, size_t count, const stream_array *arrays, size_t array_count);

/* ------------------------------------------------------------------------
 * Fields of records that were read
 * ------------------------------------------------------------------------ */

/* A picker finds again what options.key names in a record of a batch, as text for
 * people: the bytes as they were hashed, but without tags; of several parts a
 * comma between them. Of JSON the value, its numbers short, not as they were spelled.
 * One thread at a time uses a picker. */
typedef struct stream_picker stream_picker;

/* Options are those of the reader, with `key` (and key_option) for the field; hash and
 * filter are not used. Fails with STREAM_FAILED; *out is then NULL. */
stream_status stream_picker_new(stream_picker **out, const stream_options *options,
                                stream_error *err);
void stream_picker_free(stream_picker *picker); /* NULL is allowed */

/* Show it the record that is STREAM_HEADER, before any other is picked from. */
stream_status stream_picker_header(stream_picker *picker, const stream_batch *batch, size_t i,
                                   stream_error *err);

/* Whether a text reads as a JSON value. A picked string that does is in quotes, so that "1" is not
 * taken for 1; any other is bare. A key of several parts is an array. */
bool stream_reads_as_json(const void *text, size_t length);

/* The field of record i, good until the next call or as long as the batch; NULL if
 * it has none or memory is out. Thread-safe on one batch with several pickers. */
const void *stream_pick(stream_picker *picker, const stream_batch *batch, size_t i, size_t *length);

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

typedef enum { STREAM_PLAIN, STREAM_GZIP, STREAM_ZSTD } stream_compression;

/* Compression by the end of a file name: .gz, .zst, else none. */
stream_compression stream_compression_of(const char *path);

/* A point at which the output can be cut and continued: everything written so
 * far lies before `offset`, compressed members and frames are complete. */
typedef struct {
    uint64_t offset; /* bytes of the output file */
    bool open_end;   /* the last record written has no terminator yet: one goes before the next */
    char terminator[3];
    uint8_t terminator_length;
} stream_mark;

typedef struct {
    const char *path; /* NULL or "-": descriptor `fd`. A file is made if need be */
    int fd;           /* default 1, standard output; not closed by the writer */
    const char *name; /* what messages call the file of `path`; NULL: `path` */
    stream_compression compression;
    int level;                 /* 0: the compressor's default (gzip 6, zstd 3) */
    bool background;           /* compress and write in a thread of its own */
    bool append;               /* go on after the end of the file instead of emptying it */
    const stream_mark *mark;   /* go on here: cut the file back to it. It must be a regular file
                                * and no shorter. Overrides append */
    const char *const *inputs; /* refuse to empty one of these files; or NULL */
    size_t input_count;
    size_t buffer_size; /* 0: the measured best */
} stream_writer_options;

stream_writer_options stream_writer_options_defaults(void);

typedef struct stream_writer stream_writer;

/* Fails with STREAM_FAILED; *out is then NULL and the file is as it was. */
stream_status stream_writer_open(stream_writer **out, const stream_writer_options *options,
                                 stream_error *err);

/* The writing functions return STREAM_OK, STREAM_CLOSED or STREAM_FAILED (with
 * err; the writer then refuses all but close). What they take is buffered. A
 * record without terminator (the end of its file) stays as it is if nothing is
 * written after it; otherwise it gets one.
 *
 * Bits are those of weir_filter_offer_batch(): bit i%64 of word i/64 belongs to
 * record i. */

/* Copy the records whose bit equals `which`: with verdicts, false copies the NEW
 * and true the SEEN. bits NULL: all. */
stream_status stream_write_records(stream_writer *writer, const stream_batch *batch,
                                   const uint64_t *bits, bool which, stream_error *err);

/* Copy records with their verdict in front, leaving out those whose bit in `drop`
 * is 1 (NULL: none are). By format:
 *
 *   lines, tsv  a column N or S and a tab
 *   csv         a column N or S and a comma
 *   json        a first field, {"verdict":"N",...}; a value that is no object
 *               becomes {"verdict":"N","value":...}, a blank line {"verdict":"N"}
 *   fixed:n     a byte N or S: records of n + 1 bytes
 *   len32       a byte N or S at the head of the payload, counted in the length
 *
 * A header row gets the column name "verdict". */
stream_status stream_write_marked(stream_writer *writer, const stream_batch *batch,
                                  const uint64_t *verdicts, const uint64_t *drop,
                                  stream_error *err);

/* Copy records with a count in front of each, in text formats as above, under the name "count"; in
 * JSON it is a number. A count of 0 leaves a record out; that of a header is any other. */
stream_status stream_write_counted(stream_writer *writer, const stream_batch *batch,
                                   const uint64_t *counts, stream_error *err);

/* Write N or S and a line end (NUL if that is what ends the records) for each
 * record whose bit in `drop` is 0 (NULL: for all). None for a header row. */
stream_status stream_write_verdicts(stream_writer *writer, const stream_batch *batch,
                                    const uint64_t *verdicts, const uint64_t *drop,
                                    stream_error *err);

/* Hand everything on to the descriptor now, so that a reader of it sees all
 * records. Compressed output stays one member or frame. */
stream_status stream_writer_flush(stream_writer *writer, stream_error *err);

/* The same, but end the member or frame, and say where: cutting the file there
 * leaves a valid file, and writing on from there continues it. With `sync` the
 * bytes are on the disk (fdatasync) when it returns, if the output is a file. */
stream_status stream_writer_mark(stream_writer *writer, bool sync, stream_mark *mark,
                                 stream_error *err);

/* Bytes handed to the descriptor so far, or lying in the file before. Thread-safe. */
uint64_t stream_writer_offset(const stream_writer *writer);

/* Finish (as stream_writer_mark does, without sync), join the thread, close what it
 * opened, free it. Returns the first failure of the writer's life, also one reported
 * before. NULL is allowed. */
stream_status stream_writer_close(stream_writer *writer, stream_error *err);

#ifdef __cplusplus
}
#endif

#endif
