/* reading.h - the options that every command with records as input shares.
 *
 * How records are cut, which part of them is the key, what happens to those
 * without one, and how a run shows itself: one set of rows for the option
 * tables, one struct for what they say, one function that understands them.
 */
#ifndef WEIR_READING_H
#define WEIR_READING_H

#include <stdbool.h>

#include "opts.h"
#include "progress.h"
#include "stream.h"

typedef struct {
    const char *const *files; /* never empty: "-" for standard input */
    size_t file_count;
    stream_options in;  /* without filter, hash and start, which the run sets */
    const char *format; /* as given */
    stream_action on_missing, on_bad;
    progress_mode progress;
    const char *metrics; /* file, or NULL */
    int64_t max_leap;    /* ns that a time may be ahead; 0: any; -1: not given */
    bool quiet;
} reading;

/* Ids of the shared options, beyond those of any command. */
enum {
    READ_FORMAT = 1000,
    READ_NULL,
    READ_HEADER,
    READ_MAX_RECORD,
    READ_KEY,
    READ_SKIP,
    READ_CASE,
    READ_DELIMITER,
    READ_NORMALIZE,
    READ_TRIM,
    READ_MISSING,
    READ_BAD,
    READ_TIME,
    READ_TIME_FORMAT,
    READ_MAX_LEAP,
    READ_IMPORTANCE,
    READ_PRODUCER,
    READ_METRICS,
    READ_PROGRESS,
    READ_QUIET,
    READ_THREADS
};

/* Rows for a command's table, by group. What becomes of records and of a header is said by
 * those that write them. */
/* delimiter_letter: short form of --delimiter, 0 where -d means something else. */
#define READ_RECORD_ROWS(records_written, header_written, delimiter_letter)                        \
    {READ_FORMAT,                                                                                  \
     "format",                                                                                     \
     0,                                                                                            \
     OPT_VALUE,                                                                                    \
     "FORMAT",                                                                                     \
     "~lines|csv|tsv|json|clf|fixed:|len32",                                                       \
     "lines",                                                                                      \
     "Records",                                                                                    \
     true,                                                                                         \
     "`lines`, `csv`, `tsv`, `json`, `clf`, `fixed:N` or `len32`.",                                \
     "= lines\nlines of text; a carriage return before the line end belongs to the line\n\n"       \
     "= csv\nfields in quotes may hold commas, quotes and line ends\n\n"                           \
     "= tsv\ntabs, no quoting\n\n"                                                                 \
     "= json\ntaken by itself where `--key` begins with a dot, as `.id` does; one value a line; "  \
     "a "                                                                                          \
     "blank line is a record without `--key`. A file that is one "                                 \
     "array is read as the lines of its elements: if its first line is `[`, or if `--key` names "  \
     "fields of objects\n\n"                                                                       \
     "= clf\nthe common or combined log format of web servers\n\n"                                 \
     "= fixed:N\nbinary records of N bytes\n\n"                                                    \
     "= len32\na length in four bytes, the lowest first, then as many bytes\n\n" records_written   \
     "A byte order mark before csv, tsv, json and clf is no part of the first record; that of "    \
     "the first file stays first in the output. gzip, zstd, xz, bzip2 and lz4 are recognised by "  \
     "their first bytes, whatever the file is called; a build without the library of one of the "  \
     "last three refuses it."},                                                                    \
        {READ_DELIMITER,                                                                           \
         "delimiter",                                                                              \
         delimiter_letter,                                                                         \
         OPT_VALUE,                                                                                \
         "TEXT",                                                                                   \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "Records",                                                                                \
         false,                                                                                    \
         "What stands between fields (lines, csv, tsv).",                                          \
         "One byte such as `;` or `|`, or `\\t` for a tab; of lines up to 16 bytes. Without it a " \
         "comma "                                                                                  \
         "(csv), a tab (tsv), or runs of blanks and tabs (lines)."},                               \
        {READ_NULL,                                                                                \
         "null",                                                                                   \
         'z',                                                                                      \
         OPT_FLAG,                                                                                 \
         NULL,                                                                                     \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "Records",                                                                                \
         true,                                                                                     \
         "Lines end with a NUL byte.",                                                             \
         "As `find -print0` writes them."},                                                        \
        {READ_HEADER,                                                                              \
         "header",                                                                                 \
         0,                                                                                        \
         OPT_FLAG,                                                                                 \
         NULL,                                                                                     \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "Records",                                                                                \
         true,                                                                                     \
         "The first row names the columns (csv, tsv).",                                            \
         header_written "All files must have the same one."},                                      \
    {                                                                                              \
        READ_MAX_RECORD, "max-record", 0, OPT_VALUE, "SIZE", NULL, "64M", "Records", false,        \
            "A longer record is an error.", "At most 1G."                                          \
    }

#define READ_KEY_ROWS                                                                               \
    {READ_KEY,                                                                                      \
     "key",                                                                                         \
     'k',                                                                                           \
     OPT_LIST,                                                                                      \
     "KEYS",                                                                                        \
     NULL,                                                                                          \
     NULL,                                                                                          \
     "Keys",                                                                                        \
     true,                                                                                          \
     "Fields (`2,5`, `2-4`, `user,url`) or JSON paths (`.user.id`).",                               \
     "What two records must have in common to be the same; without it, all of the record. "         \
     "Columns of csv and tsv and fields of lines are numbered from 1; `2-4` is `2,3,4`, `3-` all "  \
     "from the third on, `-1` the last. Fields of lines are words, as in awk, unless there is a "   \
     "`--delimiter`. With `--header` columns go by name, in double quotes if it is a number or "    \
     "has a comma: `-k '\"2\"'`. Fields of clf are `host`, `ident`, `user`, `time`, `request`, "    \
     "`status`, `bytes`, `referer`, `agent`, and of the request `method`, `url`, `protocol`. "      \
     "Given again, the keys add up: `-k 1 -k 2` is `-k 1,2`. "                                      \
     "JSON paths are such as `.user.id,.tags[0],.tags[-1]`; `.tags[]` is the list of all "          \
     "elements, `.items[].id` that of their ids; of several fields with one name the last "         \
     "counts. Several parts are joined so "                                                         \
     "that (ab, c) is not (a, bc). Values count, not their spelling: a quoted CSV field equals "    \
     "an "                                                                                          \
     "unquoted one, \"\\u0041\" equals \"A\", the number 1 equals 1.0 but not the string \"1\". "   \
     "A JSON object or array counts by its text without white space."},                             \
        {READ_SKIP,                                                                                 \
         "key-skip-prefix",                                                                         \
         0,                                                                                         \
         OPT_VALUE,                                                                                 \
         "BYTES",                                                                                   \
         NULL,                                                                                      \
         "0",                                                                                       \
         "Keys",                                                                                    \
         false,                                                                                     \
         "Leave out the first bytes of the key.",                                                   \
         "Such as a time stamp before each line. Of a key that is not longer nothing is left, "     \
         "and all such keys are equal, as for `uniq -s`."},                                         \
        {READ_CASE,                                                                                 \
         "ignore-case",                                                                             \
         'i',                                                                                       \
         OPT_FLAG,                                                                                  \
         NULL,                                                                                      \
         NULL,                                                                                      \
         NULL,                                                                                      \
         "Keys",                                                                                    \
         false,                                                                                     \
         "a equals A, and so on for all letters of Unicode.",                                       \
         "By its full case folding: `STRASSE` equals `straße`. Where a key is not UTF-8 only the " \
         "letters of ASCII count."},                                                                \
        {READ_NORMALIZE,                                                                            \
         "normalize",                                                                               \
         0,                                                                                         \
         OPT_VALUE,                                                                                 \
         "FORM",                                                                                    \
         "nfc|nfkc",                                                                                \
         NULL,                                                                                      \
         "Keys",                                                                                    \
         false,                                                                                     \
         "Characters of Unicode are equal however they are made up.",                               \
         "By `nfc` an e with a separate accent equals the one character é; by `nfkc` also a "      \
         "ligature equals its letters, and a full-width letter the usual one. Keys that are not "   \
         "UTF-8 stay as they are."},                                                                \
    {                                                                                               \
        READ_TRIM, "trim", 0, OPT_FLAG, NULL, NULL, NULL, "Keys", false,                            \
            "Leave out white space at both ends of each part of the key.", NULL                     \
    }

/* passing: what happens to a record without the key that passes. */
#define READ_UNJUDGED_ROWS(passing)                                                                \
    {READ_MISSING,                                                                                 \
     "on-missing",                                                                                 \
     0,                                                                                            \
     OPT_VALUE,                                                                                    \
     "WHAT",                                                                                       \
     "pass|drop|fail",                                                                             \
     "pass",                                                                                       \
     "Keys",                                                                                       \
     false,                                                                                        \
     "A record without the key: `pass`, `drop` or `fail`.",                                        \
     passing},                                                                                     \
    {                                                                                              \
        READ_BAD, "on-bad", 0, OPT_VALUE, "WHAT", "pass|drop|fail", "fail", "Keys", false,         \
            "A malformed record: `pass`, `drop` or `fail`.",                                       \
            "`fail` says in which file, at which record and byte, and why. A record that is "      \
            "longer than `--max-record`, or a binary one that is cut short, always ends the run: " \
            "nobody knows where the next one begins."                                              \
    }

#define READ_TIME_ROWS                                                                             \
    {READ_TIME,                                                                                    \
     "time",                                                                                       \
     0,                                                                                            \
     OPT_VALUE,                                                                                    \
     "FIELD",                                                                                      \
     NULL,                                                                                         \
     NULL,                                                                                         \
     "Window",                                                                                     \
     false,                                                                                        \
     "The column or JSON path that holds the time of a record.",                                   \
     "Time runs forward: a record that is out of order is judged as of the latest time so far."},  \
    {                                                                                              \
        READ_TIME_FORMAT, "time-format", 0, OPT_VALUE, "FORMAT",                                   \
            "~unix|unix-ms|unix-us|unix-ns|iso|clf", "unix", "Window", false,                      \
            "`unix`, `unix-ms`, `unix-us`, `unix-ns`, `iso`, `clf` or a pattern.",                 \
            "unix is seconds since 1970, fractions allowed; iso is ISO 8601 and RFC 3339; clf is " \
            "10/Oct/2000:13:55:36 -0700, the default of that format; a "                           \
            "pattern is "                                                                          \
            "one of strptime(3), with %f for a fraction of a second. Without a zone times are "    \
            "UTC."                                                                                 \
    }

#define READ_LEAP_ROW                                                                              \
    {                                                                                              \
        READ_MAX_LEAP, "max-leap", 0, OPT_VALUE, "DURATION", NULL, "ten windows", "Window", false, \
            "How far ahead of the latest a record's time may be.",                                 \
            "A time far in the future would make all records after it late. A record that is "     \
            "further ahead than this is malformed, and `--on-bad` says what becomes of it. Raise " \
            "it for streams with longer gaps; `none` takes any time."                              \
    }

#define READ_IMPORTANCE_ROW                                                                        \
    {                                                                                              \
        READ_IMPORTANCE, "importance", 0, OPT_VALUE, "FIELD", NULL, NULL, "Filter", false,         \
            "The column or JSON path that says how much a record matters.",                        \
            "For `--filter importance`, which remembers longer what matters more. Any number, "    \
            "larger for "                                                                          \
            "what matters more; what it means is said by the filter's `scale`. A record without "  \
            "it is "                                                                               \
            "treated by `--on-missing`, one in which it is not a number by `--on-bad`, and both "  \
            "are "                                                                                 \
            "counted. With `scale=linear` or `log` what is outside of `low` to `high` counts as "  \
            "the "                                                                                 \
            "nearer of the two; `weir inspect` shows how many were."                               \
    }

#define READ_PRODUCER_ROW                                                                          \
    {                                                                                              \
        READ_PRODUCER, "producer", 0, OPT_VALUE, "FIELD", NULL, NULL, "Filter", false,             \
            "The column or JSON path that says who sent a record.",                                \
            "For `--filter tree`: records of one producer enter the tree at the same leaf. "       \
            "Without it the leaf is chosen by the input file if there are several, else by the "   \
            "key. A record without the field is treated by `--on-missing`."                        \
    }

#define READ_METRICS_ROW                                                                           \
    {                                                                                              \
        READ_METRICS, "metrics", 0, OPT_VALUE, "FILE", NULL, NULL, "Reports", false,               \
            "Keep numbers for Prometheus in FILE.",                                                \
            "In its text format, for the textfile collector of the node exporter: records, "       \
            "repeats, bytes, records a second, fill, rates of error, the audit, and with "         \
            "`--time` how far the latest time is behind the clock. Replaced as a whole every "     \
            "`--save-every` and at the end."                                                       \
    }

#define READ_PROGRESS_ROWS                                                                         \
    {READ_PROGRESS,                                                                                \
     "progress",                                                                                   \
     0,                                                                                            \
     OPT_FLAG,                                                                                     \
     NULL,                                                                                         \
     NULL,                                                                                         \
     NULL,                                                                                         \
     "Reports",                                                                                    \
     false,                                                                                        \
     "Show progress also if standard error is not a terminal, or if records are written to one.",  \
     NULL},                                                                                        \
    {                                                                                              \
        READ_QUIET, "quiet", 'q', OPT_FLAG, NULL, NULL, NULL, "Reports", false,                    \
            "No progress and no warnings; errors are still told.", NULL                            \
    }

#define READ_THREAD_ROWS                                                                           \
    {                                                                                              \
        READ_THREADS, "threads", 'j', OPT_VALUE, "N", NULL, "the cores", "Running", false,         \
            "Threads to use.", "The output is the same with any number."                           \
    }

/* Everything at its default: lines, all cores, malformed records are errors. */
reading reading_defaults(void);

/* Take in a shared option; EXIT_TROUBLE after a message. Other ids are left
 * alone. */
int reading_option(reading *r, int id, const char *value);

/* The leap of times that is allowed with a window of `window` ns: --max-leap, or ten windows. */
int64_t reading_max_leap(const reading *r, int64_t window);

/* When all options are known: the operands are the files, and what was asked
 * for must go together. */
int reading_resolve(reading *r, int operands, char **argv);

#endif
