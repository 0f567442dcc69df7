/* aging.c - what filters lose that know a key for some while after it was put in.
 *
 * Question   how many repeats will pass as new?
 * Idea       Let a key be known for w records after it was put in.
 *              by chance  it may go with every record alike, at the rate 1/w: of its
 *                         repeats after a gap of g records 1 - e^(-g/w) pass
 *              by age     it goes after w records, whether it was seen since or not, and
 *                         is put in anew when it comes next. If it comes at the rate r
 *                         that is after w + 1/r records, in which it came rw + 1 times,
 *                         so the share 1/(1 + rw) passes. The gaps of such a key are
 *                         exponential, and the only function of a gap with that mean for
 *                         every r is once more 1 - e^(-g/w). So the gaps of all keys
 *                         together are enough, and how often each one comes need not
 *                         be known. A stream of n records that ends cuts off half a life
 *                         of keys that come often: (1 - e^(-g/w)) (1 - w/2n e^(-g/w)), and
 *                         nothing at all goes if n < w.
 *              after use  repeats after gaps above w pass
 *            w depends on how many records are called NEW, which are the first
 *            occurrences and those that pass: a fixed point.
 * Error      by age, keys that come at even gaps lose 1 in floor(w/g) + 1, which may be
 *            a half where the formula says 0.63. The tests of `weir plan` hold all of it
 *            against the reference streams.
 * Source     ours; by age it is a renewal process.
 */
#include "filter/aging.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { ROUNDS = 60 }; /* at most; each halves what is missing to the fixed point */

double weir__poisson_reaches(double mean, unsigned n) {
    if (n == 0) return 1;
    if (mean <= 0) return 0;
    double below = 0;
    assert(n > 0 && mean > 0);
    for (unsigned j = 0; j < n; j++) below += exp(j * log(mean) - mean - lgamma(j + 1.0));
    return fmax(0, 1 - below);
}

/* The chance that a repeat after this gap passes. */
static double lost(double gap, double life, double records, weir__ending ending) {
    double passes = -expm1(-gap / life);
    assert(gap >= 0 && life >= 0);
    if (ending == WEIR__ENDS_AFTER_USE) return gap > life;
    if (ending == WEIR__ENDS_BY_CHANCE) return passes;
    return records < life ? 0 : passes * (1 - life / (2 * records) * (1 - passes));
}

double weir__aging_fnr(const void *filter, weir__lifetime_fn *lifetime, weir__ending ending,
                       double fpr, const weir_stream_model *model) {
    double records = fmax(1, model->records), firsts = fmin(1, model->distinct / records), fnr = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double life = lifetime(filter, firsts + fnr * (1 - firsts)), next = 0;
        for (size_t i = 0; i < model->gap_count; i++)
            next += model->gaps[i].share * lost(model->gaps[i].gap, life, records, ending);
        next *= 1 - fpr;
        if (fabs(next - fnr) < 1e-6) return next;
        fnr = 0.5 * (fnr + next);
    }
    return fnr;
}
