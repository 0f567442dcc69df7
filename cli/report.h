/* report.h - the totals of a run and the reports of filters and audits. */
#ifndef WEIR_REPORT_H
#define WEIR_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "weir.h"

/* What happened to the records. Every record is in exactly one of new, seen,
 * missing, bad and late. */
typedef struct {
    uint64_t records;
    uint64_t new_records;
    uint64_t seen;
    uint64_t missing;  /* without the key */
    uint64_t bad;      /* malformed */
    uint64_t late;     /* older than --lateness allows */
    uint64_t passed;   /* of missing, bad and late: let through unjudged */
    uint64_t bytes_in; /* after decompression */
} run_counts;

typedef struct {
    run_counts counts;
    uint64_t bytes_out; /* after compression */
    double seconds;     /* of this run, also when it resumed another */
    uint64_t fresh;     /* records read in these seconds */
    bool resumed;
    const weir_filter *filter;
    const weir_audit *audit; /* or NULL */
} run_report;

void report_text(FILE *out, const run_report *report);
void report_json(FILE *out, const run_report *report);

/* Pieces that inspect shares. report_audit_line writes one line without its end. */
void report_audit_line(FILE *out, const weir_audit *audit);
void report_audit_json(FILE *out, const weir_audit *audit);
void report_json_string(FILE *out, const char *text);
void report_json_number(FILE *out, double value);

/* A line with the filter's full spec as a person would write it. */
void report_spec_line(FILE *out, const char *label, const weir_filter *filter);

/* The full spec of a filter, exact; the caller frees it. NULL if memory is out. */
char *report_spec(const weir_filter *filter);

/* The keys of the JSON report and their meanings, in the markup of opts.h. */
extern const char report_json_keys[];

#endif
