/* values.h - the values of options: numbers with units, words of a list. Each
 * says what is wrong and returns EXIT_TROUBLE, or EXIT_DONE. */
#ifndef WEIR_VALUES_H
#define WEIR_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

int value_bad(const char *flag, const weir_error *err);
int value_number(const char *flag, const char *text, uint64_t low, uint64_t high, bool is_size,
                 uint64_t *value);
int value_seed(const char *flag, const char *text, uint64_t *value);
int value_rate(const char *flag, const char *text, double *value); /* between 0 and 1 */
int value_span(const char *flag, const char *text, int64_t low, int64_t *value);

/* Of a window: 10m is ten minutes, 10M ten million records. */
bool value_is_duration(const char *text);

/* A duration of at least `least` nanoseconds, or a number of records. */
int value_window(const char *flag, const char *text, int64_t least, int64_t *value, bool *is_time);

/* A folder that files can be made in. */
int value_folder(const char *flag, const char *path);

/* A file that a link leads to though there is none yet: its own name, in memory that lasts; any
 * other name as it is. */
const char *value_path(const char *path);

/* The open descriptor that a path names, itself or by links: /dev/stdout, /dev/fd/3; -1: none. The
 * file that it leads to is written into and never replaced: whoever opened it would not see
 * another in its place. */
int value_descriptor(const char *path);

/* Place of a word in "a|b|c"; the parser has checked that it is there. */
int value_choice(const char *names, const char *value);

#define SAVE_EVERY_STANDARD (30 * INT64_C(1000000000)) /* of a state, in nanoseconds */

#endif
