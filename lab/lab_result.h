/* lab_result.h - an experiment's units put together: means, intervals, verdict. */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include "lab_book.h"

typedef struct {
    size_t rows;
    unsigned seeds;    /* over which the means are */
    double *mean, *sd; /* rows x columns; sd over the seeds, 0 with one */
} lab_cells;

struct lab_result {
    const lab_experiment *experiment;
    bool full;
    size_t case_count, column_count;
    unsigned seeds; /* the most that any case has */
    double seconds; /* of a processor that its units took */
    lab_cells *cells;
};

/* Gather what the book has of an experiment at a size. Cases that were not run
 * have no rows; if none was, *out is NULL. */
weir_status lab_result_new(lab_result **out, const lab_book *book, const lab_experiment *experiment,
                           bool full, weir_error *err);
void lab_result_free(lab_result *result);

/* True if every case of the size has at least `seeds` seeds. */
bool lab_result_whole(const lab_result *result, unsigned seeds);

/* The number of an experiment's columns; the place of one, or that number. */
size_t lab_column_count(const lab_experiment *experiment);
size_t lab_column_index(const lab_experiment *experiment, const char *name);

/* One printed number beside ours. */
typedef struct {
    size_t c, row, column;
    double ours, paper;
    double allowed; /* how far apart they may be */
    bool within;
} lab_match;

/* The paper's number for a cell; NAN if it prints none. */
double lab_result_paper(const lab_result *result, size_t c, size_t row, size_t column);

/* Compare a cell with it; false if there is none. */
bool lab_result_compare(const lab_result *result, size_t c, size_t row, size_t column,
                        lab_match *match);

/* Compare number i of those printed in the paper; false past the last. */
bool lab_result_match(const lab_result *result, size_t i, lab_match *match);

typedef struct {
    lab_verdict verdict;
    unsigned numbers, within; /* printed numbers compared; how many agree */
    unsigned claims, held;    /* claims checked; how many hold */
    unsigned after;           /* claims whose limit was set after a look at results */
    bool shape;               /* all claims of order and trend hold */
} lab_judgement;

/* reproduced: every printed number within tolerance and every claim holds, by a limit that the
 * paper or a level of significance gives, and a quick run is expected to be no better than a full
 * one; same shape: every claim of order or trend holds; differs: one does not. The
 * tolerance of a number is the column's, and three standard deviations of the
 * difference between one more run and our mean: the paper's number is one run. */
lab_judgement lab_result_judge(const lab_result *result);

bool lab_claim_holds(const lab_result *result, const lab_claim *claim, lab_words *found);

/* The one sentence under figure i: what was found for the claim that it shows. */
void lab_result_finding(const lab_result *result, size_t i, lab_words *words);

const char *lab_verdict_text(lab_verdict verdict);
const char *lab_origin_text(lab_origin origin);

/* Half of the 95% interval of the mean of `seeds` values (Student's t). */
double lab_half_interval(double sd, unsigned seeds);

bool lab_case_applies(const lab_case *c, bool full);

/* Some of its cases are about real streams. */
bool lab_reads_real(const lab_experiment *experiment);

#endif
