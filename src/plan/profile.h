/* profile.h - a stream as the plan keeps it: every occurrence of some of its keys. */
#ifndef WEIR_PLAN_PROFILE_H
#define WEIR_PLAN_PROFILE_H

#include "weir.h"
#include "weir_plan.h"

#define WEIR__NO_RECORD UINT32_MAX /* in place of a record: a key came for the first time */

struct weir_profile {
    /* the records of the sample, in the order of the stream */
    size_t room, capacity, count;
    uint64_t *hashes;
    uint64_t *positions; /* in the stream, from 0 */
    int64_t *times;      /* nanoseconds, or NULL */
    double *importances; /* or NULL */

    uint64_t records, covered; /* observed; of these, looked at */
    uint64_t one_in, one_in_most;
    double share;  /* of the keys: 1 / one_in, or what a drawn stream stands for */
    double one_of; /* number of keys, all equally frequent; 0: measured */
    bool timed;    /* batches come with times */
    bool weighted; /* batches come with importances */
    bool closed;   /* full, and a smaller share would be too few keys */

    /* found out once, when first asked for */
    bool analysed;
    size_t keys;
    uint32_t *previous; /* the last occurrence of the same key, or WEIR__NO_RECORD */
    float *distances;   /* kept keys between the two */

    /* what is true under a window; made for the window asked for last */
    uint64_t *first; /* a bit for each kept record */
    size_t firsts;
    int64_t window;
    bool window_is_time;
    double rate;
};

/* previous, distances, keys. */
weir_status weir__profile_analyse(weir_profile *profile, weir_error *err);

/* first, firsts: after that the truth of this question. */
weir_status weir__profile_judge(weir_profile *profile, const weir_plan_question *question,
                                weir_error *err);

static inline bool weir__profile_is_first(const weir_profile *profile, size_t i) {
    return profile->first[i / 64] >> (i % 64) & 1;
}

/* When kept record i came: its own time or by the rate, in nanoseconds; or for a window
 * over records its number. */
static inline int64_t weir__profile_moment(const weir_profile *profile,
                                           const weir_plan_question *question, size_t i) {
    if (!question->window_is_time) return (int64_t)profile->positions[i];
    if (profile->times) return profile->times[i];
    return (int64_t)((double)profile->positions[i] / question->rate * 1e9);
}

/* The weight of an error about kept record i: its importance, or 1. */
static inline double weir__profile_weight(const weir_profile *profile, size_t i) {
    if (!profile->importances) return 1;
    return profile->importances[i] > 0 ? profile->importances[i] : 0;
}

/* Records between a repeat and its predecessor. */
static inline double weir__profile_gap(const weir_profile *profile, size_t i) {
    return (double)(profile->positions[i] - profile->positions[profile->previous[i]] - 1);
}

#endif
