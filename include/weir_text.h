/* weir_text.h - what programs show and read: tables of kinds, specs and numbers as text.
 *
 * A program that has a filter for its own use needs none of this. It serves those that let people
 * choose one: help texts, configuration, reports.
 *
 * Contents:
 *
 *   1. The tables of filters   names, options and advice, for help texts
 *   2. Specs as text           read an option, compare two, print one for people
 *   3. Numbers with units      parse and print 64M, 0.1%, 1h30m; the number that a key is
 *
 * Threads, statuses and errors are as in weir.h. All functions here are thread-safe.
 */
#ifndef WEIR_TEXT_H
#define WEIR_TEXT_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. The tables of filters
 * ------------------------------------------------------------------------ */

/* What `weir help filters`, the man page and the spec parser are made from. */
typedef enum {
    WEIR_OPT_SIZE,   /* bytes, K M G T are powers of 1024 */
    WEIR_OPT_COUNT,  /* a whole number, K M G are powers of 1000 */
    WEIR_OPT_RATE,   /* 0 to 1, or with a % sign */
    WEIR_OPT_SPAN,   /* a duration (ms s m h d) or a count of records */
    WEIR_OPT_CHOICE, /* one of the words in `choices` */
    WEIR_OPT_SEED,   /* a 64-bit number: a count, or 0x hexadecimal */
    WEIR_OPT_SPEC    /* another spec, in parentheses */
} weir_option_type;

typedef struct {
    const char *name;
    weir_option_type type;
    double low, high;     /* allowed range, both ends included; rates and spans exclude 0 */
    const char *choices;  /* "classic|block" */
    const char *standard; /* default, as text; NULL if it is derived */
    const char *meaning;  /* one sentence */
} weir_option;

typedef struct {
    const char *name;
    const char *summary; /* one line */
    const char *advice;  /* when to use it and when not: a short paragraph */
    bool mergeable;
    const weir_option *options; /* ends with a name of NULL; common options not repeated */
    bool fpr_is_target;   /* fpr is aimed at but may be passed; else it is a bound that holds */
    bool uses_importance; /* looks at the importances of a batch */
} weir_kind;

/* Kind i of the filters, NULL past the last. Kind 0 is the default. */
WEIR_API const weir_kind *weir_filter_kind(size_t i);

/* The options that every filter takes; ends with a name of NULL. */
WEIR_API const weir_option *weir_common_options(void);

/* ------------------------------------------------------------------------
 * 2. Specs as text
 * ------------------------------------------------------------------------ */

/* These read specs of filters, as typed or as weir_filter_spec() prints them, and of summaries of
 * pairs. They cost no more than to scan the text; none makes an object. */

/* The table entry of an option of a kind, common options included; NULL if there is no such kind
 * (of filters, or "pairs") or option. */
WEIR_API const weir_option *weir_spec_option(const char *kind, const char *option);

/* The value of an option as the text has it: at most `size` bytes with the NUL, cut if longer.
 * False, and *value as it was, if the spec does not name the option itself; one that stands in the
 * parentheses of another is not found. */
WEIR_API bool weir_spec_get(const char *spec, const char *option, char *value, size_t size);

/* The same, and the option with its value is cut out of `spec`. */
WEIR_API bool weir_spec_take(char *spec, const char *option, char *value, size_t size);

/* True if two values of an option mean the same: 64M and 65536K. */
WEIR_API bool weir_spec_same(const char *kind, const char *option, const char *a, const char *b);

/* Does a filter with the full spec `spec` fit what was asked for? Only options that `asked` names
 * count; without a name (":memory=64M" or "") any kind fits. Else WEIR_ERR_MISMATCH, and the
 * message is the first difference as a noun: "a filter with memory=64M, not 32M". */
WEIR_API weir_status weir_spec_fits(const char *asked, const char *spec, weir_error *err);

/* A spec as a person would write it: memory=64M for memory=67108864. It makes the same filter.
 * Writes at most `size` bytes, the NUL included; returns the length of the whole text, as
 * snprintf() does. */
WEIR_API size_t weir_spec_pretty(const char *spec, char *buffer, size_t size);

/* ------------------------------------------------------------------------
 * 3. Numbers with units
 * ------------------------------------------------------------------------ */

/* One place parses and prints them, for specs, options and reports alike. The
 * parsers read the whole text or fail with WEIR_ERR_RANGE and an offset. A seed is
 * written as a count is, or 0x hexadecimal. */
WEIR_API weir_status weir_parse_size(const char *text, uint64_t *bytes, weir_error *err);
WEIR_API weir_status weir_parse_count(const char *text, uint64_t *count, weir_error *err);
WEIR_API weir_status weir_parse_seed(const char *text, uint64_t *seed, weir_error *err);
WEIR_API weir_status weir_parse_rate(const char *text, double *rate, weir_error *err);
WEIR_API weir_status weir_parse_duration(const char *text, int64_t *nanoseconds, weir_error *err);

/* The number that a key is: `length` bytes, blanks and carriage returns at both ends left
 * aside, a sign allowed. An integer that does not fit 64 bits is refused as such
 * (WEIR_ERR_RANGE), and so is what is not an integer. A decimal number may have a point and an
 * exponent and must be finite. */
WEIR_API weir_status weir_parse_integer(const void *text, size_t length, int64_t *value,
                                        weir_error *err);
WEIR_API weir_status weir_parse_decimal(const void *text, size_t length, double *value,
                                        weir_error *err);

/* Print for people ("64M", "1.5G", "0.0001%", "12.3M", "1m30s"); buffer of at
 * least 32 bytes. Return buffer. The text of a size or duration that is a
 * whole number of its unit parses back to the same value. */
WEIR_API char *weir_print_size(char *buffer, uint64_t bytes);
WEIR_API char *weir_print_count(char *buffer, double count);
WEIR_API char *weir_print_rate(char *buffer, double rate);
WEIR_API char *weir_print_duration(char *buffer, int64_t nanoseconds);

/* The name in a '|'-separated list nearest to a word that was not understood,
 * for "did you mean": copied into buffer (at least 32 bytes), or NULL when
 * none is near. */
WEIR_API const char *weir_nearest(const char *word, const char *names, char *buffer);

#ifdef __cplusplus
}
#endif

#endif
