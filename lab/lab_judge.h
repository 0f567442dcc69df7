/* lab_judge.h - what `recent` must show and what it aims at, cell by cell.
 *
 * A cell is one stream at one memory and one false positive rate. The rules:
 *
 *   exact    no error at all while the distinct keys at 64 bits each take at
 *            most 60% of the memory
 *   fpr      false positives within the bound in every stretch (lab_trial.h)
 *   fn       false negatives at most 1.30 x the oracle's + 3 points where the
 *            oracle has at least 5%, at most 12% where it has less;
 *            aim: 1.10 x the oracle's + 1 point
 *   oracle   on uniform and Zipf streams at or below the oracle, where that has
 *            at least 5%. (Where it has less the keys just about fit; there the
 *            12% above hold, and being above the oracle is only noted.)
 *   rival    below each rival at equal memory and a false positive rate no
 *            higher than the one the rival was measured to have
 *   3/4      on Zipf of exponent 0.9 and above and on real streams: at most 0.75
 *            times such a rival's wherever that exceeds 20%, unless the limit at
 *            that false positive rate lies above this
 *   memory   no more memory than was asked for, and 8 KiB for the object around it
 *
 * A measured rate carries noise from the filter's own choices; comparisons with
 * the oracle and with rivals allow three standard deviations of a binomial of
 * that many repeats. (For rivals, of the difference of two.) The other
 * comparisons have room of their own and allow none.
 */
#ifndef LAB_JUDGE_H
#define LAB_JUDGE_H

#include "lab_trial.h"

#define LAB_EXACT_SHARE 0.6
#define LAB_EXACT_BITS 64
#define LAB_OFF_FIT 0.05 /* oracle below this: the keys just about fit */
#define LAB_FIT_MUST 0.12
#define LAB_NOISE 3.0        /* standard deviations */
#define LAB_FALSE_ALARM 1e-6 /* of the fpr rule, for each cell */

#define LAB_OBJECT_BYTES 8192

/* Properties of a stream that the rules use. */
enum { LAB_EVEN = 1 /* uniform or Zipf */, LAB_STRONG = 2 /* Zipf >= 0.9 or real */ };

/* Rules broken, as bits. */
enum {
    LAB_BROKE_EXACT = 1,
    LAB_BROKE_FPR = 2,
    LAB_BROKE_FN = 4,
    LAB_BROKE_ORACLE = 8,
    LAB_BROKE_RIVAL = 16,
    LAB_BROKE_QUARTERS = 32,
    LAB_BROKE_MEMORY = 64,
    LAB_BROKE_MADE = 128,
    LAB_BROKE_MUST = 255,
    LAB_MISSED_AIM = 256,
    LAB_ABOVE_TIGHT = 512 /* a note: above an oracle of less than 5% on an even stream */
};

typedef struct {
    double bits, fpr;     /* asked for */
    double oracle, limit; /* false negative rates of the references */
    unsigned traits;      /* LAB_EVEN, LAB_STRONG */
} lab_cell;

void lab_cell_init(lab_cell *cell, const lab_truth *truth, double bits, double fpr,
                   unsigned traits);

/* The rules that need only the filter itself and the references. */
unsigned lab_judge_alone(const lab_cell *cell, const lab_truth *truth, const lab_trial *own);

/* The false positive rate that a rival was measured to have, at least half a
 * false positive: none in so many firsts does not show a rate of 0. */
double lab_rival_rate(const lab_truth *truth, const lab_trial *rival);

/* The rules against one rival: `own` ran at the same memory. Says nothing (0)
 * about a rival that could not be made. Broken too when neither own's bound nor
 * its measured rate is within lab_rival_rate(). */
unsigned lab_judge_rival(const lab_cell *cell, const lab_truth *truth, const lab_trial *own,
                         const lab_trial *rival);

/* The largest false negative rate that the fn rule and the aim allow. */
double lab_judge_must(const lab_cell *cell);
double lab_judge_aim(const lab_cell *cell);

/* The broken rules in words, "fn,oracle"; "aim" or "must" when none is. */
const char *lab_judge_words(unsigned broken, char *buffer, size_t size);

#endif
