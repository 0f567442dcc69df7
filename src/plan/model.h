/* model.h - a stream as the formulas see it, as long as it is going to be. */
#ifndef WEIR_PLAN_MODEL_H
#define WEIR_PLAN_MODEL_H

#include "plan/profile.h"
#include "weir_plan.h"

enum { WEIR__GAPS_MOST = 512 }; /* bins of gaps: four a doubling up to 2^128 */

typedef struct {
    weir_stream_model stream; /* its gaps are those below */
    weir_gap gaps[WEIR__GAPS_MOST];
    bool extended; /* it goes on beyond what was observed */
} weir__model;

/* The stream of the profile, as long as the question says and under its window.
 * The profile must have been judged. */
void weir__model_build(weir__model *model, const weir_profile *profile,
                       const weir_plan_question *question);

#endif
