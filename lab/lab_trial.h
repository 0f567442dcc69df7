/* lab_trial.h - one filter over one stream: the errors it made, and where. */
#ifndef LAB_TRIAL_H
#define LAB_TRIAL_H

#include "lab_truth.h"
#include "weir.h"

/* The firsts are cut into this many stretches of equal length to look for a
 * stretch with too many false positives; a power of two. */
#define LAB_TRIAL_STRETCHES 256
/* The rate that is reported as the worst is that of the worst of so many. */
#define LAB_TRIAL_SHOWN 16

typedef struct {
    bool made;           /* the filter could be made */
    char why[256];       /* if not: the reason */
    double bound;        /* the false positive rate that was asked for */
    uint64_t false_new;  /* repeats called NEW */
    uint64_t false_seen; /* firsts called SEEN */
    double fnr, fpr;     /* as shares of the repeats, of the firsts */
    double worst;        /* fpr in the worst of LAB_TRIAL_SHOWN equal stretches */
    double surprise;     /* chance that a filter within the bound looks as bad; see below */
    uint64_t memory;     /* bytes that the filter holds */
    double seconds;
} lab_trial;

/* Offer the hashes of a stream's records, in order, to a filter made from
 * `spec`, and compare with the truth of that stream.
 *
 * surprise: a first is a key that the filter never met, so whatever happened
 * before, its chance to be called SEEN is at most the bound; the number of false
 * positives in any stretch of w firsts is then at most as large as a binomial
 * one of w trials. All LAB_TRIAL_STRETCHES stretches, and those of 2, 4, ...
 * joined up to the whole, are tested against that; surprise is the smallest tail
 * times the number of tests (Bonferroni), so it is below x with a chance of at
 * most x when the bound holds. */
void lab_trial_run(lab_trial *trial, const lab_truth *truth, const uint64_t *hashes,
                   const char *spec, double bound);

#endif
