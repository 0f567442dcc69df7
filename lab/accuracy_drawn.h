/* accuracy_drawn.h - the first filter over streams drawn from a seed, and over ten seeds. */
#ifndef LAB_ACCURACY_DRAWN_H
#define LAB_ACCURACY_DRAWN_H

#include <stdio.h>

#include "accuracy.h"
#include "accuracy_recipe.h"

#define ACCURACY_SEEDS 10
#define ACCURACY_MOST_ONLY 64

/* --- one filter, one stream, one memory, several seeds --------------------------------- */

typedef struct {
    double mean, low, high; /* false negative rates */
    double room;            /* what high - low may be */
    double noise;           /* standard deviation of one rate, by the number of repeats */
    bool made, wide;        /* wide: high - low is more than that */
} accuracy_spread;

/* Rates lie within 1 point or 15% of their mean of each other, whichever is more, and six
 * standard deviations of a rate (ten normal numbers are further apart with a chance of
 * 0.1%), or else they are wide. */
void accuracy_spread_of(accuracy_spread *spread, const double *rates, size_t count, size_t repeats);

/* The rates of seeds 1, 2, ... of the hashes and the filter; not made if the filter could
 * not be. */
void accuracy_spread_run(accuracy_spread *spread, const lab_truth *truth, const uint64_t *ids,
                         const char *filter, const char *extra, size_t bytes, double fpr);

/* Is the mean of twice the memory more than half a point above, and four standard
 * deviations of the difference? */
bool accuracy_worse_with_more(const accuracy_spread *less, const accuracy_spread *more);

/* --- drawn streams ------------------------------------------------------------------------ */

typedef struct {
    const char *filter, *extra; /* extra: more of its spec, or NULL */
    uint64_t seed;              /* of the drawing */
    size_t count;
    size_t only[ACCURACY_MOST_ONLY], only_count; /* numbers; none: 1..count */
    int jobs;
    bool seeds; /* ten seeds and twice the memory for each */
} accuracy_drawing;

typedef struct {
    accuracy_recipe recipe;
    size_t records, distinct, repeats, bytes;
    lab_cell cell; /* its oracle has the memory that the filter really holds */
    lab_trial trial;
    unsigned broken;           /* LAB_BROKE_EXACT, FPR, FN, MEMORY, MADE */
    accuracy_spread spread[2]; /* at its memory and twice that */
    bool worse;                /* with twice the memory */
} accuracy_drawn;

/* What a set of drawn streams comes to. */
typedef struct {
    size_t count, forgetting; /* streams; those whose oracle lets ACCURACY_FORGETS pass */
    double median;            /* of FN / oracle among these */
    double within;            /* share of all that are within 1.30 x + 3 points */
    size_t broken;            /* streams with another rule broken */
    size_t wide, worse;       /* memories of which seeds differ; streams that memory hurts */
    bool holds;
} accuracy_drawn_sum;

#define ACCURACY_FORGETS 0.005
#define ACCURACY_MEDIAN 1.0
#define ACCURACY_WITHIN 0.95

/* rows has room for drawing->count or only_count; returns how many were run. */
size_t accuracy_drawn_run(const accuracy_drawing *drawing, accuracy_drawn *rows);
void accuracy_drawn_sum_up(accuracy_drawn_sum *sum, const accuracy_drawn *rows, size_t count,
                           bool seeds);

/* How far above 1.30 x oracle + 3 points, in points of rate; negative if below. */
double accuracy_drawn_excess(const accuracy_drawn *row);
/* Order rows: the worst first. */
void accuracy_drawn_sort(accuracy_drawn *rows, size_t count);

/* As text: the sums, and those that are worst or break a rule; or all rows as CSV. */
void accuracy_drawn_print(const accuracy_drawing *drawing, accuracy_drawn *rows, size_t count,
                          double seconds);
void accuracy_drawn_csv(FILE *out, const accuracy_drawing *drawing, const accuracy_drawn *rows,
                        size_t count);

/* Call work(context, i) for i in 0..count-1 on several threads. */
void accuracy_each(size_t count, int jobs, void (*work)(void *, size_t), void *context);

#endif
