/* spec_text.h - options of the command line that stand for options of a spec. */
#ifndef WEIR_SPEC_TEXT_H
#define WEIR_SPEC_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "weir.h"

enum { SPEC_SIZE = 1024 }; /* the library reads specs up to this length */

/* An option of the command line that stands for an option of the spec. */
typedef struct {
    const char *flag;  /* "--memory" */
    const char *name;  /* "memory" */
    const char *value; /* as given; NULL: not given */
} spec_addition;

/* Put the additions that were given behind a spec. 0, or EXIT_TROUBLE after a
 * message if the spec says something else itself, or has no such option. */
int spec_fold(char out[SPEC_SIZE], const char *spec, const spec_addition *additions, size_t count);

/* The part of a spec that the user gave, for weir_spec_fits(): the name only if --filter gave it.
 */
const char *spec_asked(const char *spec, bool kind_given);

/* The library speaks of options of a spec: `memory=10 is out of range`. Where the user gave a flag
 * instead, and no such option in the spec `given` (NULL: no spec), name that: `--memory 10`. */
void spec_name_flag(weir_error *err, const char *given);

/* The option that sets the window in the filter of a spec: "window", or "length". */
const char *spec_window_option(const char *spec);

#endif
