/* lab.h - the laboratory, as the command sees it.
 *
 * A session works in one results folder. `run` fills it: every unit of work is
 * kept in DIR/results as soon as it is done, so a run that was stopped goes on
 * where it was, and nothing is computed twice by the same code. `report` makes
 * tables, figures and one page of what is there.
 */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lab_keys.h"
#include "weir.h"

typedef struct {
    const char *out;                   /* results folder; made if it is not there */
    bool full;                         /* the papers' sizes, not the quick ones */
    unsigned seeds;                    /* repetitions; 0: as many as the experiment asks for */
    unsigned jobs;                     /* threads; 0: one for each core */
    const volatile sig_atomic_t *stop; /* becomes nonzero to stop; NULL: never */
    /* How far it is, in parts of `total`; called by one thread at a time. */
    void (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    /* One line that a person should see: a case left out, gnuplot missing. */
    void (*warn)(void *context, const char *line);
    void *context;
} lab_session;

typedef struct {
    unsigned experiments;
    unsigned units, cached; /* units of work, and how many of them were there already */
    unsigned worse;         /* experiments whose verdict is worse than expected */
    bool stopped;           /* by `stop` */
} lab_outcome;

/* Print the experiments, for people or as JSON. */
void lab_list(FILE *out, bool json);

/* Run the experiments of these names ('*' and '?' match; none: all), write a CSV,
 * a Markdown and the figures of each into the folder, and the summary to `out`. */
weir_status lab_run(const lab_session *session, int count, char *const *names, bool json, FILE *out,
                    lab_outcome *outcome, weir_error *err);

/* Make the tables and figures of all that the folder has, and report.html and
 * report.md. The path of the page is written to page[size]. */
weir_status lab_report(const lab_session *session, char *page, size_t size, lab_outcome *outcome,
                       weir_error *err);

typedef struct {
    const char *spec;           /* lab_stream.h has the kinds; also "records:..." */
    const lab_reading *reading; /* how to read a file; NULL: by its spec */
    uint64_t seed;
    uint64_t limit;  /* stop after so many records; 0: all */
    bool truth;      /* a 1 before the first record of each id, a 0 before the others */
    uint64_t memory; /* that finding the truth of a file may take, besides a bit a record */
} lab_stream_call;

/* Write a stream to standard output, a line for each record. */
weir_status lab_write_stream(const lab_session *session, const lab_stream_call *call,
                             weir_error *err);

#endif
