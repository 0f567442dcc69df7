/* lab_experiments.c - the list of all experiments, in the order of the report. */
#include "lab_experiment.h"

static const lab_experiment *const all[] = {
    lab_exp_stable,      lab_exp_reservoir,
    lab_exp_importance,  lab_exp_count,
    lab_exp_pairs,       lab_exp_pairs_rivals,
    lab_exp_pairs_texts, lab_exp_slices,
    lab_exp_windows,     lab_exp_trees,
#ifdef HAVE_REMOTE
    lab_exp_live,        lab_exp_live_trees,
    lab_exp_live_faults, lab_exp_live_designs,
#endif
    lab_exp_ours,        NULL,
};

const lab_experiment *lab_experiment_at(size_t i) {
    for (size_t list = 0; all[list]; list++)
        for (const lab_experiment *e = all[list]; e->name; e++)
            if (i-- == 0) return e;
    return NULL;
}
