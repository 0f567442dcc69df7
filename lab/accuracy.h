/* accuracy.h - what the parts of weir-accuracy share: the cells of its table. */
#ifndef LAB_ACCURACY_H
#define LAB_ACCURACY_H

#include <stdio.h>

#include "lab_judge.h"

#define ACCURACY_FILTERS 16

typedef enum { ACCURACY_TEXT, ACCURACY_MARKDOWN, ACCURACY_CSV } accuracy_form;

/* One stream of the table, as long as its cells are worked on. */
typedef struct {
    const char *name, *spec;
    unsigned traits; /* LAB_EVEN, LAB_STRONG */
    lab_truth *truth;
    uint64_t *hashes;
} accuracy_stream;

/* One row: a stream at one memory and one false positive rate. */
typedef struct {
    const char *stream;
    double bits_per_key;
    size_t bytes;
    lab_cell cell;
    lab_trial trials[ACCURACY_FILTERS];  /* by filter; 0 is the one that is judged */
    lab_trial matched[ACCURACY_FILTERS]; /* filter 0 as it met rival i */
    unsigned broken;
    unsigned lost_to; /* bit i: broke a rule against rival i */
} accuracy_row;

typedef struct {
    accuracy_form form;
    const char *filters[ACCURACY_FILTERS]; /* names */
    size_t filter_count;
    const char *memories, *rates; /* as they were asked for */
    uint64_t seed;
    int jobs;
    bool quick;
} accuracy_setup;

/* Opening: machine, versions, seeds, how to read it. */
void accuracy_print_head(const accuracy_setup *setup);
void accuracy_print_stream(const accuracy_setup *setup, const accuracy_stream *stream);
void accuracy_print_columns(const accuracy_setup *setup);
void accuracy_print_row(const accuracy_setup *setup, const accuracy_row *row);

/* Every row as CSV, after a line with the names of the columns. */
void accuracy_print_csv(FILE *out, const accuracy_setup *setup, const accuracy_row *rows,
                        size_t count);

/* Closing: how many cells meet what, the closest and the worst. */
void accuracy_print_summary(const accuracy_setup *setup, const accuracy_row *rows, size_t count,
                            double seconds);

#endif
