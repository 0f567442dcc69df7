/* spec_text.h - filter specs as text: put together, compare, show. */
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

/* The library speaks of options of a spec: `memory=10 is out of range`. Where the user gave a flag
 * instead, and no such option in the spec `given` (NULL: no spec), name that: `--memory 10`. */
void spec_name_flag(weir_error *err, const char *given);

/* The value of an option in a spec; false if it does not name it. */
bool spec_get(const char *spec, const char *name, char *value, size_t size);

/* Take an option out of a spec, if it is there. */
void spec_drop(char *spec, const char *name);

/* What the filter of a spec calls its window. */
const char *spec_window_option(const char *spec);

/* Of a span: 10m is ten minutes, 10M ten million records. */
bool spec_is_duration(const char *text);

/* True if two values of an option mean the same: 64M and 65536K. */
bool spec_same_value(const char *kind, const char *option, const char *a, const char *b);

/* Does a saved filter fit what was asked for? Only what `asked` names counts,
 * and its kind only if `kind_counts`. If not, returns false and describes the
 * first difference: "memory=64M, not 32M". */
bool spec_fits(const char *asked, bool kind_counts, const char *saved, char *difference,
               size_t size);

/* A resolved spec as a person would write it. */
void spec_pretty(char out[SPEC_SIZE], const char *spec);

#endif
