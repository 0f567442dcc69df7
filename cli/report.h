/* report.h - the totals of a run and the reports of filters and audits. */
#ifndef WEIR_REPORT_H
#define WEIR_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "at.h"
#include "json_out.h"
#include "weir.h"
#include "weir_sketch.h"

/* What happened to the records. Every record is in exactly one of new, seen,
 * missing, bad and late. */
typedef struct {
    uint64_t records;
    uint64_t new_records;
    uint64_t seen;
    uint64_t missing;    /* without the key */
    uint64_t unweighted; /* weir count: of these, without the weight */
    uint64_t bad;        /* malformed */
    uint64_t late;       /* older than --lateness allows */
    uint64_t passed;     /* of missing, bad and late: let through unjudged */
    uint64_t bytes_in;   /* after decompression */
} run_counts;

typedef struct {
    run_counts counts;
    uint64_t bytes_out; /* after compression */
    double seconds;     /* of this run, also when it resumed another */
    uint64_t fresh;     /* records read in these seconds */
    bool resumed;
    const weir_filter *filter;     /* or NULL: exactly, by a table */
    const weir_filter_info *table; /* then its memory and fill */
    unsigned readings;             /* and how often the input was read */
    at_filter *remote;             /* or NULL; filter is then its twin */
    const weir_audit *audit;       /* or NULL */
} run_report;

void report_text(FILE *out, const run_report *report);
void report_json(FILE *out, const run_report *report);

/* The samples of --metrics. */
void report_metrics(FILE *out, const run_counts *counts, const weir_filter *filter,
                    const weir_audit *audit);

/* Pieces that inspect shares. report_audit_line writes one line without its end. */
void report_audit_line(FILE *out, const weir_audit *audit);
void report_audit_json(json_out *j, const char *name, const weir_audit *audit);

/* Values alone, for at.c, which writes members of the object of report_json() itself. */
void report_json_string(FILE *out, const char *text);
void report_json_number(FILE *out, double value);

/* A size with its unit, "512 bytes" or "1.5G"; buffer of at least 32 bytes. */
char *report_size(char *buffer, uint64_t bytes);

/* A line with the filter's full spec as a person would write it. */
void report_spec_line(FILE *out, const char *label, const weir_filter *filter);

/* How a filter stands, to go after how full it is. */
const char *report_fullness(const weir_filter_info *info);

/* The full spec of a filter, exact; the caller frees it. NULL if memory is out. */
char *report_spec(const weir_filter *filter);
char *report_sketch_spec(const weir_sketch *sketch);

/* The keys of the JSON report and their meanings, in the markup of opts.h. */
#define REPORT_JSON_KEYS                                                                           \
    "= version, filter\nthe version of weir, and the full spec of the filter, its seed "           \
    "included; `exact` if there is none\n\n"                                                       \
    "= readings\nhow often the input was read; more than once where `--emit` or `--keep` asks "    \
    "for "                                                                                         \
    "it, and without a filter then\n\n"                                                            \
    "= records\nrecords read; the sum of the next five\n\n"                                        \
    "= new, seen\nverdicts of the filter\n\n"                                                      \
    "= missing, bad, late\nrecords without the key, malformed, and later than `--lateness`\n\n"    \
    "= passed\nhow many of those three were let through\n\n"                                       \
    "= bytes_in, bytes_out\nbytes read, after decompression, and bytes written, after "            \
    "compression; of a resumed run in all\n\n"                                                     \
    "= seconds, records_per_second\nof this run, also when it resumed another\n\n"                 \
    "= resumed\ntrue if it continued an earlier run\n\n"                                           \
    "= memory, fill, overfull\nbytes held by the filter, share of it in use (0 to 1), and "        \
    "whether "                                                                                     \
    "it has begun to forget, or has more keys than its capacity\n\n"                               \
    "= fpr_bound, fpr_implied, fpr_now\nthe bound on false positives, whether it follows from "    \
    "the "                                                                                         \
    "filter's settings because `fpr` was not given, and the rate for the next new key, estimated " \
    "from the fill\n\n"                                                                            \
    "= audit\n`null`, or an object with `one_in`, `keys`, `firsts`, `repeats`, `false_seen`, "     \
    "`false_new`, `confidence`, and the rates `fpr`, `fpr_low`, `fpr_high`, `fnr`, `fnr_low`, "    \
    "`fnr_high`; a rate without any case to judge by is `null`\n\n"                                \
    "= remote\nwith `--at` only, in place of how full the filter is: `slices`, `masters`, `lost` " \
    "now, `keys` of this run and of these `local_seen`, `sent` and `guessed`; `requests`, "        \
    "`repeated` of them, `messages`, `bytes_sent`, `bytes_received`, `reconnects`, `redirected`; " \
    "`emptied`, `rolled_back` slices and `keys_rolled_back`; `unsafe`, how often too few "         \
    "replicas "                                                                                    \
    "confirmed; `nanoseconds` that all requests took; `fairness` of the keys by slice, of a tree " \
    "that of the servers; `servers` "                                                              \
    "with what INFO says of each, by all who use it, the `server_fairness` of their commands and " \
    "the `greatest_share`; `saved_bytes`, by which the messages and the "                          \
    "records written are less than those read; `events`, each with its `time` and `what` was "     \
    "said, and `event_count`. For a tree also `levels` with their messages and nanoseconds"

#endif
