/* recent_theory.h - what to expect of `recent` on a stream, for planning. */
#ifndef WEIR_FILTER_RECENT_THEORY_H
#define WEIR_FILTER_RECENT_THEORY_H

#include "weir.h"
#include "weir_plan.h"

/* A way to lay out all lines: `groups` groups, of which the keys that fall into
 * one push each other out. Groups have `slots` places, a share `wide` of them,
 * and the others one fewer. */
typedef struct {
    double groups;
    unsigned slots;
    double wide;
} weir__recent_way;

/* The share of the repeats that pass as new when lines are laid out so. The last
 * to come pushes out the one that came longest ago. */
double weir__recent_lru_fnr(const weir__recent_way *way, double fpr,
                            const weir_stream_model *model);

/* The same where any of `places` keys may be pushed out. */
double weir__recent_random_fnr(double places, double fpr, const weir_stream_model *model);

#endif
