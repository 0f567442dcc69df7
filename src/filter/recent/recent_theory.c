/* recent_theory.c - what to expect of `recent` on a stream.
 *
 * Question   how many repeats will pass as new?
 * Idea       A group of s places in recency order has lost a key when s other keys
 *            have come to it since. d distinct keys have come since in all, and
 *            hashing deals them to G groups evenly: the number that fell into this
 *            one is Poisson with mean d/G, so the key is forgotten with probability
 *                Pr[Poisson(d/G) >= s],
 *            exactly so for an LRU, whatever the stream. A line is one group of all its
 *            places. Where the one that goes is chosen at random, each verdict NEW takes a
 *            key with it with probability 1/places; there are as many of those as first
 *            occurrences and forgotten repeats, so the rate is the fixed point of
 *                f = sum over gaps g of share (1 - e^(-g new(f) / places)).
 *            `recent` is near the better of the two.
 * Error      Keys that were hit are kept longer than either formula knows, so both are too
 *            high where such keys are likelier to come again: on poisson at 1/32 of the
 *            memory they say 0.38, it is 0.27 (test_plan).
 * Source     ours; the fixed point is that of a cache with random replacement.
 */
#include "filter/recent/recent_theory.h"

#include <math.h>

#include "filter/aging.h"

double weir__recent_lru_fnr(const weir__recent_way *way, double fpr,
                            const weir_stream_model *model) {
    double sum = 0;
    for (size_t i = 0; i < model->gap_count; i++) {
        double mean = model->gaps[i].distance / way->groups;
        sum +=
            model->gaps[i].share * (way->wide * weir__poisson_reaches(mean, way->slots) +
                                    (1 - way->wide) * weir__poisson_reaches(mean, way->slots - 1));
    }
    return sum * (1 - fpr);
}

double weir__recent_random_fnr(double places, double fpr, const weir_stream_model *model) {
    double repeats = fmax(1, model->records - model->distinct), f = 0.5;
    if (model->distinct <= places) return 0;
    for (int round = 0; round < 100; round++) {
        double new_share = (model->distinct + f * repeats) / fmax(1, model->records), sum = 0;
        for (size_t i = 0; i < model->gap_count; i++)
            sum += model->gaps[i].share * -expm1(-model->gaps[i].gap * new_share / places);
        double next = sum * (1 - fpr);
        if (fabs(next - f) < 1e-7) return next;
        f = next;
    }
    return f;
}
