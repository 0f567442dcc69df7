/* trial.h - a profile replayed through a filter, against exact truth. */
#ifndef WEIR_PLAN_TRIAL_H
#define WEIR_PLAN_TRIAL_H

#include "plan/profile.h"

/* Repeats by distance for each byte of memory, four bins a doubling, and how many
 * of them were forgotten. */
enum { WEIR__LOSS_BINS = 256 };
typedef struct {
    double met[WEIR__LOSS_BINS], lost[WEIR__LOSS_BINS];
} weir__loss;

enum { WEIR__TRIAL_GROUPS = 16 }; /* groups of keys: how much a rate varies by chance */
typedef struct {
    double fpr;                           /* at the end */
    double firsts, false_seen;            /* kept records */
    double repeats;                       /* kept, by their weight */
    double false_new[WEIR__TRIAL_GROUPS]; /* of them, by keys in groups, to see how they vary */
    double formula_fnr;                   /* or -1 */
    unsigned positions;
} weir__trial;

/* The replay has a `share` of the question's memory; model: the whole stream. Fails as
 * weir_filter_new() does: the filter cannot be made, or has no window. */
weir_status weir__trial_run(weir__trial *trial, weir__loss *loss, const weir_profile *profile,
                            const weir_plan_question *question, const weir_plan_choice *choice,
                            const weir_stream_model *model, double share, weir_error *err);

/* The spec of a choice with this memory, in bytes; returns its text. */
enum { WEIR__PLAN_SPEC = 512 };
const char *weir__plan_spec(char spec[WEIR__PLAN_SPEC], const weir_plan_question *question,
                            const weir_plan_choice *choice, double memory);

/* The chance that a repeat at this distance is forgotten, by what was met. */
double weir__loss_at(const weir__loss *loss, double distance, double memory);

#endif
