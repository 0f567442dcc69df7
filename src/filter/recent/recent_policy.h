/* recent_policy.h - which key a full line of `recent` lets go: chosen from what the stream is like.
 */
#ifndef WEIR_FILTER_RECENT_POLICY_H
#define WEIR_FILTER_RECENT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define AGE_ONE 65536 /* unit of ages */

typedef enum { FILL, ANY, KEEP, SWEEP, POLICIES } recent_policy;

/* What some lines have counted. */
typedef struct {
    uint64_t hits, misses;         /* verdicts SEEN and NEW */
    uint64_t hit_again, hit_first; /* hits on keys that had been hit before, each counted by how
                                    * many of its line had not, and the other way round */
    uint64_t age, aged;            /* where hit keys stood in the order of arrival, and how many */
} recent_counts;

/* What follows from it. */
typedef struct {
    double crowd;     /* distinct keys so far for each place */
    double rate;      /* hits for each verdict */
    double again;     /* hits for each key that was hit */
    double skew;      /* how much likelier a key that was hit comes again; 0: not known */
    double freshness; /* 1: what came last is hit, -1: what came first, 0: any, or not known */
    double sure;      /* the freshness in standard deviations */
    unsigned width;   /* bits that a key has in a line with marks */
    bool spread_more; /* spread lines hold more keys than shared ones */
    bool in_use;      /* some lines are in the form of the policy in use */
} recent_stream;

recent_policy weir__recent_choose(recent_policy now, const recent_stream *stream);

double weir__recent_skew(const recent_counts *counts, double enough);
double weir__recent_freshness(const recent_counts *counts);
double weir__recent_sure(const recent_counts *counts);

extern const char *const weir__recent_policies[POLICIES];

#endif
