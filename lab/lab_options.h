/* lab_options.h - the options of weir-lab.
 *
 * Both programs link the table: `weir-lab` parses by it, `weir` prints the manual and the
 * completions of `weir lab` from it. Each has a run_lab() of its own.
 */
#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include "opts.h"

enum {
    LAB_FULL = 1,
    LAB_SEEDS,
    LAB_JOBS,
    LAB_OUT,
    LAB_JSON,
    LAB_SEED,
    LAB_COUNT,
    LAB_TRUTH,
    LAB_MEMORY,
    LAB_PROGRESS,
    LAB_QUIET
};

#define LAB_ACTIONS "list|run|report|stream"

/* The action of the table. In weir-lab it does the work (weir_lab_main.c), in weir it runs weir-lab
 * (cli/cmd_lab.c). */
int run_lab(int argc, char **argv);

#endif
