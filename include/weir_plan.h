/* weir_plan.h - which filter, and what will it cost? (experimental)
 *
 * A profile measures a stream, or stands for one that is only known by its numbers; the
 * plan replays it through every kind of filter against exact truth. `weir plan` is these
 * functions and a table.
 *
 * Contents:
 *
 *   1. Formulas   what a filter's own formulas say about a stream
 *   2. Profiles   measure a stream, or assume one
 *   3. Plans      rank all kinds, try one, the least memory, the longest window, speed
 *
 * Threads, statuses and errors are as in weir.h. How to spread a filter over sites is
 * weir_plan_sites() in weir_sites.h.
 */
#ifndef WEIR_PLAN_H
#define WEIR_PLAN_H

#include <weir_text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. Formulas
 * ------------------------------------------------------------------------ */

/* A stream as the formulas see it: how many records, how many keys, and for the
 * repeats how long ago the key came by last. */
typedef struct {
    double gap;      /* records between the two occurrences */
    double distance; /* distinct keys among these */
    double share;    /* of the repeats; all shares add up to 1 */
} weir_gap;

typedef struct {
    double records, distinct;
    const weir_gap *gaps; /* from short to long */
    size_t gap_count;
} weir_stream_model;

/* What the formulas of a filter say about such a stream: fpr is the highest rate
 * that it comes to, fnr the mean over the repeats. Some kinds have none:
 * WEIR_ERR_UNSUPPORTED. */
typedef struct {
    double fpr, fnr;
} weir_expectation;
WEIR_EXPERIMENTAL weir_status weir_filter_expect(const weir_filter *filter,
                                                 const weir_stream_model *model,
                                                 weir_expectation *expectation, weir_error *err);

/* ------------------------------------------------------------------------
 * 2. Profiles
 * ------------------------------------------------------------------------ */

/* What is asked. Zero-fill it; 0 is "not known" in every field but fpr. */
typedef struct {
    uint64_t memory; /* bytes of the filter */
    double fpr;      /* bound on false positives, above 0 and up to 0.5 */
    double records;  /* of the whole stream */
    double distinct; /* keys in it */
    int64_t window;  /* records or nanoseconds; a repeat older than this is new */
    bool window_is_time;
    double rate; /* records a second, where a window in time meets records without times */
} weir_plan_question;

/* A stream, of which every occurrence of a part of its keys is kept: all of them
 * as long as they fit, then one in 2, in 4, ... chosen by hash. */
typedef struct weir_profile weir_profile;

/* memory: the most it may use (at least 64K). The question's memory says how few
 * keys are still enough (0: not known). Hashes are those of any one filter. Fails with
 * WEIR_ERR_RANGE, WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_profile_new(weir_profile **out, uint64_t memory,
                                               const weir_plan_question *question, weir_error *err);

/* A stream drawn by the question's numbers: keys alike, `distinct` of them, or
 * with a window and no `distinct` new keys of which one in ten comes again within
 * the window. What is not known is assumed and filled in. Fails with
 * WEIR_ERR_RANGE if memory and all the rest are unknown, a window in time comes
 * without a rate, or a number is out of range: below 0, none at all, or a stream of
 * more than 1e18 records. Or WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_profile_assume(weir_profile **out, uint64_t memory,
                                                  weir_plan_question *question, weir_error *err);
WEIR_EXPERIMENTAL void weir_profile_free(weir_profile *profile);

/* Take note of a batch, its times and its importances if it has any; with importances
 * a repeat counts as much as it matters. Fails with WEIR_ERR_MEMORY, or
 * WEIR_ERR_MISMATCH if only some batches have them. */
WEIR_EXPERIMENTAL weir_status weir_profile_observe(weir_profile *profile, const weir_batch *batch,
                                                   weir_error *err);

typedef struct {
    uint64_t records;                    /* observed */
    uint64_t covered;                    /* records from the first on that are looked at */
    uint64_t one_in;                     /* the sample has one key in this many */
    uint64_t kept;                       /* records of those keys */
    uint64_t keys;                       /* distinct ones among them */
    double distinct;                     /* distinct keys in what is covered */
    double growth;                       /* distinct keys grow as records to this power, 0 to 1 */
    double gap_median, gap_90;           /* records between a repeat and its predecessor */
    double distance_median, distance_90; /* distinct keys between */
    double zipf;  /* exponent of the frequencies by rank; 0: even, or too few to say */
    double drift; /* 0: both halves draw from the same keys, 1: they have none in common */
} weir_profile_report;

/* Fails with WEIR_ERR_RANGE if there is too little to judge by, WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_profile_get_report(weir_profile *profile,
                                                      weir_profile_report *report, weir_error *err);

/* ------------------------------------------------------------------------
 * 3. Plans
 * ------------------------------------------------------------------------ */

/* One answer. */
typedef struct {
    const weir_kind *kind;
    char options[64]; /* of the spec, beside memory, fpr and window: "max=3", or "" */
    uint64_t memory;
    double fpr;               /* the highest rate that a new key meets */
    double fnr;               /* share of the repeats that pass as new, */
    double fnr_low, fnr_high; /* and where it should lie in a real run */
    double formula_fnr;       /* what the filter's formulas say; below 0: it has none */
    double keys_per_second;   /* 0 until weir_plan_calibrate() */
    unsigned positions;       /* places looked at for each key */
    bool usable;              /* keeps the bound on false positives, for all of the stream */
    char why[160];            /* if not: the reason */
} weir_plan_choice;

/* Try every kind; best first, those that are not usable last. size: of the array;
 * *count: how many there are. Fails with WEIR_ERR_RANGE (the question, or an empty profile),
 * WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_plan_rank(weir_profile *profile,
                                             const weir_plan_question *question,
                                             weir_plan_choice *choices, size_t size, size_t *count,
                                             weir_error *err);

/* The same filter with another memory (of the question): fills in *choice again. Fails with
 * WEIR_ERR_RANGE (the question, or an empty profile), WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_plan_try(weir_profile *profile,
                                            const weir_plan_question *question,
                                            weir_plan_choice *choice, weir_error *err);

/* The least memory at which any filter has at most this fnr; *choice is that
 * filter. Fails with WEIR_ERR_RANGE if none up to 1T does, WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_plan_memory(weir_profile *profile,
                                               const weir_plan_question *question, double fnr,
                                               weir_plan_choice *choice, weir_error *err);

/* The longest window, in records, that fits the question's memory with at most
 * this fnr when every key may be new. Fails with WEIR_ERR_RANGE (no window fits),
 * WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_plan_window(const weir_plan_question *question, double fnr,
                                               uint64_t *window, weir_plan_choice *choice,
                                               weir_error *err);

/* Measure keys_per_second on this machine with keys that are all new, at the
 * choice's memory but at most 64M of it, for about so long. Fails with WEIR_ERR_RANGE (no such
 * filter can be made), WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_plan_calibrate(const weir_plan_question *question,
                                                  weir_plan_choice *choice, double seconds,
                                                  weir_error *err);

#ifdef __cplusplus
}
#endif

#endif
