/* lab_trial.c - run a filter against the truth.
 *
 * Verdicts and truth are both bitmaps, so errors are counted 64 records at a
 * time: a false negative is NEW and not first, a false positive SEEN and first.
 * Only for false positives does it matter where they fall.
 */
#include "lab_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lab_stats.h"

#define BATCH 4096 /* a multiple of 64; large enough that batching shows its speed */

typedef struct {
    uint64_t firsts;                    /* passed so far */
    uint64_t hits[LAB_TRIAL_STRETCHES]; /* false positives in each stretch */
    uint64_t false_new;
} tally;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t stretch_of(uint64_t index, uint64_t firsts) {
    return (size_t)((unsigned __int128)index * LAB_TRIAL_STRETCHES / firsts);
}

/* Indices at which stretch i of the firsts begins (rounded up, as stretch_of). */
static uint64_t stretch_begin(size_t i, uint64_t firsts) {
    return (uint64_t)(((unsigned __int128)i * firsts + LAB_TRIAL_STRETCHES - 1) /
                      LAB_TRIAL_STRETCHES);
}

static void tally_word(tally *t, const lab_truth *truth, uint64_t seen, uint64_t first,
                       uint64_t valid) {
    t->false_new += (uint64_t)__builtin_popcountll(~seen & ~first & valid);
    for (uint64_t wrong = seen & first; wrong; wrong &= wrong - 1) {
        uint64_t before = first & ((wrong & -wrong) - 1);
        uint64_t index = t->firsts + (uint64_t)__builtin_popcountll(before);
        t->hits[stretch_of(index, truth->distinct)]++;
    }
    t->firsts += (uint64_t)__builtin_popcountll(first);
}

static void offer_all(weir_filter *filter, const lab_truth *truth, const uint64_t *hashes,
                      tally *t) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(BATCH)];
    for (size_t at = 0; at < truth->count; at += BATCH) {
        size_t n = truth->count - at < BATCH ? truth->count - at : BATCH;
        weir_batch batch = {.count = n, .hashes = hashes + at};
        weir_filter_offer_batch(filter, &batch, verdicts);
        for (size_t w = 0; w < WEIR_VERDICT_WORDS(n); w++) {
            size_t left = n - 64 * w;
            uint64_t valid = left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
            tally_word(t, truth, verdicts[w], truth->first[at / 64 + w], valid);
        }
    }
}

/* The smallest binomial tail over all stretches and their dyadic unions, times
 * the number of them. */
static double find_surprise(const tally *t, uint64_t firsts, double bound) {
    uint64_t sums[LAB_TRIAL_STRETCHES];
    double least = 1;
    memcpy(sums, t->hits, sizeof sums);
    for (size_t wide = 1; wide <= LAB_TRIAL_STRETCHES; wide *= 2) {
        for (size_t i = 0; i < LAB_TRIAL_STRETCHES / wide; i++) {
            if (wide > 1) sums[i] = sums[2 * i] + sums[2 * i + 1];
            uint64_t length =
                stretch_begin((i + 1) * wide, firsts) - stretch_begin(i * wide, firsts);
            if ((double)sums[i] <= (double)length * bound) continue;
            double tail = lab_binomial_tail(length, bound, sums[i]);
            if (tail < least) least = tail;
        }
    }
    double tests = 2 * LAB_TRIAL_STRETCHES - 1;
    return least * tests < 1 ? least * tests : 1;
}

static double find_worst(const tally *t, uint64_t firsts) {
    const size_t wide = LAB_TRIAL_STRETCHES / LAB_TRIAL_SHOWN;
    double worst = 0;
    for (size_t i = 0; i < LAB_TRIAL_SHOWN; i++) {
        uint64_t sum = 0;
        for (size_t j = i * wide; j < (i + 1) * wide; j++) sum += t->hits[j];
        uint64_t length = stretch_begin((i + 1) * wide, firsts) - stretch_begin(i * wide, firsts);
        if (length && (double)sum / (double)length > worst) worst = (double)sum / (double)length;
    }
    return worst;
}

void lab_trial_run(lab_trial *trial, const lab_truth *truth, const uint64_t *hashes,
                   const char *spec, double bound) {
    weir_filter *filter;
    weir_filter_info info;
    weir_error err;
    tally t = {0};
    memset(trial, 0, sizeof *trial);
    trial->bound = bound;
    if (weir_filter_new(&filter, spec, &err)) {
        snprintf(trial->why, sizeof trial->why, "%.255s", err.message);
        return;
    }
    double start = now();
    offer_all(filter, truth, hashes, &t);
    trial->seconds = now() - start;
    weir_filter_get_info(filter, &info);
    weir_filter_free(filter);
    for (size_t i = 0; i < LAB_TRIAL_STRETCHES; i++) trial->false_seen += t.hits[i];
    trial->made = true;
    trial->memory = info.memory;
    trial->false_new = t.false_new;
    trial->fnr = truth->repeats ? (double)t.false_new / (double)truth->repeats : 0;
    trial->fpr = truth->distinct ? (double)trial->false_seen / (double)truth->distinct : 0;
    trial->worst = find_worst(&t, truth->distinct);
    trial->surprise = find_surprise(&t, truth->distinct, bound);
}
