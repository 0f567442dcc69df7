/* lab_judge.c - the rules of lab_judge.h as arithmetic. */
#include "lab_judge.h"

#include <math.h>
#include <stdio.h>

void lab_cell_init(lab_cell *cell, const lab_truth *truth, double bits, double fpr,
                   unsigned traits) {
    cell->bits = bits;
    cell->fpr = fpr;
    cell->oracle = lab_lru_fnr(truth, lab_oracle_keys(bits, fpr), fpr);
    cell->limit = lab_lru_fnr(truth, lab_limit_keys(bits, fpr), fpr);
    cell->traits = traits;
}

double lab_judge_must(const lab_cell *cell) {
    return cell->oracle >= LAB_OFF_FIT ? 1.30 * cell->oracle + 0.03 : LAB_FIT_MUST;
}

double lab_judge_aim(const lab_cell *cell) { return 1.10 * cell->oracle + 0.01; }

/* Variance of a rate measured over the repeats. */
static double variance(double rate, const lab_truth *truth) {
    return truth->repeats ? rate * (1 - rate) / (double)truth->repeats : 0;
}

static int must_be_exact(const lab_cell *cell, const lab_truth *truth) {
    return (double)truth->distinct * LAB_EXACT_BITS <= LAB_EXACT_SHARE * cell->bits;
}

unsigned lab_judge_alone(const lab_cell *cell, const lab_truth *truth, const lab_trial *own) {
    unsigned broken = 0;
    if (!own->made) return LAB_BROKE_MADE;
    if (must_be_exact(cell, truth) && own->false_new + own->false_seen > 0)
        broken |= LAB_BROKE_EXACT;
    if (own->surprise < LAB_FALSE_ALARM) broken |= LAB_BROKE_FPR;
    if (own->fnr > lab_judge_must(cell)) broken |= LAB_BROKE_FN;
    if (own->fnr > lab_judge_aim(cell)) broken |= LAB_MISSED_AIM;
    if ((double)own->memory * 8 > cell->bits + 8 * LAB_OBJECT_BYTES) broken |= LAB_BROKE_MEMORY;
    double noise = LAB_NOISE * sqrt(variance(own->fnr, truth));
    if ((cell->traits & LAB_EVEN) && own->fnr > cell->oracle + noise)
        broken |= cell->oracle >= LAB_OFF_FIT ? LAB_BROKE_ORACLE : LAB_ABOVE_TIGHT;
    return broken;
}

double lab_rival_rate(const lab_truth *truth, const lab_trial *rival) {
    double least = truth->distinct ? 0.5 / (double)truth->distinct : 0;
    return rival->fpr > least ? rival->fpr : least;
}

unsigned lab_judge_rival(const lab_cell *cell, const lab_truth *truth, const lab_trial *own,
                         const lab_trial *rival) {
    if (!rival->made) return 0;
    if (!own->made) return LAB_BROKE_RIVAL;
    double rate = lab_rival_rate(truth, rival);
    unsigned broken = own->bound > rate && own->fpr > rate ? LAB_BROKE_RIVAL : 0;
    double noise = LAB_NOISE * sqrt(variance(own->fnr, truth) + variance(rival->fnr, truth));
    if (own->fnr > rival->fnr + noise) broken |= LAB_BROKE_RIVAL;
    if (!(cell->traits & LAB_STRONG) || rival->fnr <= 0.20) return broken;
    double allowed = 0.75 * rival->fnr;
    double limit = lab_lru_fnr(truth, lab_limit_keys(cell->bits, own->bound), own->bound);
    if (own->fnr > allowed + noise && limit <= allowed) broken |= LAB_BROKE_QUARTERS;
    return broken;
}

const char *lab_judge_words(unsigned broken, char *buffer, size_t size) {
    static const char *const words[] = {"exact", "fpr", "fn",     "oracle",
                                        "rival", "3/4", "memory", "made"};
    if (!(broken & LAB_BROKE_MUST)) return broken & LAB_MISSED_AIM ? "must" : "aim";
    int at = snprintf(buffer, size, "FAIL");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (broken >> i & 1 && at < (int)size)
            at += snprintf(buffer + at, size - (size_t)at, "%c%s", at == 4 ? ' ' : ',', words[i]);
    return buffer;
}
