/* options.h - from a spec's text to values, and back.
 *
 * A spec is `name` or `name:option=value,option=value`. Filters, sketches and
 * pair summaries are all made from one. What may stand in it is said by two
 * tables, the options common to the family and those of the kind, so a new
 * option is a line in a table. Values keep their place in the text, and every
 * message about one points there.
 *
 * The value of a SPEC option is a spec itself and stands in parentheses:
 * `growing:of=(bloom:k=4),most=8`.
 */
#ifndef WEIR_CORE_OPTIONS_H
#define WEIR_CORE_OPTIONS_H

#include <stddef.h>

#include "core/error.h"
#include "weir.h"
#include "weir_embed.h"
#include "weir_text.h"

#define WEIR__SPEC_MAX 1024 /* longest spec that is read, its end included */

/* Fails with WEIR_ERR_SPEC if the full spec of a new object is so long that no snapshot of it
 * could be read again: a short spec may be much longer once every option is resolved. */
weir_status weir__spec_fits(size_t length, weir_error *err);
#define WEIR__NAME_SIZE 32   /* longest name of a kind, its end included */
#define WEIR__OPTIONS_MAX 20 /* most options of a kind, the common ones included */

/* One option's value. Which field holds it follows from the option's type. */
typedef struct {
    bool given;     /* named in the spec, or resolved since; else the default or still open */
    bool implied;   /* RATE: not given, follows from the options that are: not printed */
    bool is_time;   /* SPAN: a duration in nanoseconds, not a count */
    double number;  /* RATE */
    uint64_t whole; /* SIZE, COUNT, SPAN, SEED; CHOICE: place in the list */
    char *text;     /* SPEC: without the parentheses, owned; NULL if not given */
    int64_t offset; /* where the value stands in the spec text, for messages */
} weir__value;

/* The tables that a spec is read against. Options have places: those of the
 * family first, then the kind's own in the order of its table. */
typedef struct {
    const char *family; /* "filter", for messages */
    const char *name;   /* of the kind */
    const weir_option *common, *own;
    weir_allocator allocator; /* of the texts of values; all NULL: calloc() */
} weir__tables;

/* Option `place`; its name is NULL past the last. */
const weir_option *weir__table_at(const weir__tables *tables, size_t place);

/* The name that a spec begins with. */
weir_status weir__spec_name(const char *spec, char name[WEIR__NAME_SIZE], weir_error *err);

/* Of a SPAN: 10m is ten minutes, 10M ten million records. */
bool weir__has_time_unit(const char *text);

/* "unknown WHAT 'WORD'", with the nearest of `names` ("a|b|c") or all of them. */
weir_status weir__unknown(weir_error *err, int64_t offset, const char *what, const char *word,
                          const char *names);

/* Fill in values[WEIR__OPTIONS_MAX], zeroed before: defaults, then what the
 * spec says. On failure too they are to be freed, with the tables' allocator. */
weir_status weir__spec_read(const weir__tables *tables, const char *spec, weir__value *values,
                            weir_error *err);
void weir__values_free(const weir_allocator *from, weir__value *values);

/* The full spec: every option that was given, resolved or has a default, but for
 * implied ones; the text makes the same values again. As snprintf(). */
size_t weir__spec_print(const weir__tables *tables, const weir__value *values, char *buffer,
                        size_t size);

/* The first option in which two sets of values differ, or NULL. */
const weir_option *weir__values_differ(const weir__tables *tables, const weir__value *a,
                                       const weir__value *b);

#endif
