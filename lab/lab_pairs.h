/* lab_pairs.h - tables of records with a known number of similar pairs, and how
 * far off one way to estimate it is. For the experiments with PairCount. */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

#include "lab_experiment.h"

/* Parameters of a case. Width 0: offline. Copies, of generated records: how often
 * each is written down; 0 and 1: once. */
enum { P_RECORDS, P_D, P_S, P_SAMPLE, P_WIDTH, P_COPIES };
enum { LAB_PAIRS_DEPTH = 3 };

typedef struct {
    uint64_t *rows;
    size_t n;
    unsigned d, s;
    double truth[65]; /* [k] pairs that agree in exactly k, in no order */
} lab_table;

/* The records of a case, by its `stream`:
 *   titles     the first of the descriptions of Debian's packages
 *   words      lab_titles.h
 *   records:.. lab_records.h
 * Free its rows. */
weir_status lab_table_new(lab_table *table, lab_unit *unit);
static inline uint64_t *lab_table_row(const lab_table *t, size_t i) { return t->rows + i * t->d; }

/* As the thesis counts: ordered pairs, and each record with itself. */
double lab_thesis_count(const lab_table *table, unsigned k);

/* Squared errors so far of one way to estimate. */
typedef struct {
    double square[65], claimed[65]; /* [k]: of the count, and its variance as claimed */
    double similar, bound;          /* of s or more, and by the thesis's theorems */
    double runs;
} lab_pair_errors;

/* The rms as a share of a count of the thesis, in percent. */
double lab_pair_percent(const lab_pair_errors *errors, double squares, double truth);

/* PairCount once, with the width and depth of the case. witnesses: by which the
 * deviation is measured. */
weir_status lab_count_pairs(lab_unit *unit, const lab_table *table, uint64_t run, double sample,
                            unsigned witnesses, lab_pair_errors *errors);

/* One random sample of `records` records. */
weir_status lab_sample_pairs(lab_unit *unit, const lab_table *table, uint64_t run, unsigned records,
                             lab_pair_errors *errors);

/* Super-values of a record. The cost of a run is that of all of them. */
double lab_pairs_super_values(const lab_case *c);

double lab_pairs_memory(const lab_case *c, double size, double scale);
double lab_pairs_cost(const lab_case *c, double size, double scale);

/* The next number of a list in text, NAN past its end. */
double lab_next_printed(const char **at);

/* A case in one line. */
#define LAB_PAIRS_CASE(panel_, stream_, label_, n, d, s, r, w, copies, printed)                    \
    {                                                                                              \
        .panel = panel_, .label = label_, .stream = stream_, .filter = printed, .p = {             \
            n,                                                                                     \
            d,                                                                                     \
            s,                                                                                     \
            r,                                                                                     \
            w,                                                                                     \
            copies                                                                                 \
        }                                                                                          \
    }

#endif
