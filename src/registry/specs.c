/* specs.c - specs as text: the value of an option, whether two say the same, as a person writes
 * one.
 *
 * A full spec (weir_filter_spec) is exact and hard to read: memory=67108864,fpr=0.001. A person
 * asks for memory=64M,fpr=0.1%. Both are compared and printed here by the tables of options, which
 * say of each value whether it is a size, a rate, a time or a spec of its own.
 *
 * Names are looked up among the options that all filters have, then among those of the kind; the
 * kind `pairs` is that of weir_pairs_new().
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "weir.h"
#include "weir_pairs.h"
#include "weir_text.h"

/* Rates that differ by less are the same: 0.1% and 0.001 differ in the last bit of a double. */
#define RATE_TOLERANCE 1e-12

/* --- the words of a spec ---------------------------------------------------------- */

typedef struct {
    const char *name, *value;
    size_t name_length, value_length;
} spec_word;

/* Up to the comma that ends a word; commas in parentheses do not. */
static size_t word_length(const char *text) {
    size_t length = 0;
    for (int depth = 0; text[length] && (text[length] != ',' || depth > 0); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

/* The next option=value at *at, which moves behind it. */
static bool next_word(const char **at, spec_word *word) {
    if (!**at) return false;
    size_t length = word_length(*at), name = strcspn(*at, "=,");
    bool has_value = name < length;
    *word = (spec_word){*at, *at + name + has_value, name, has_value ? length - name - 1 : 0};
    *at += length + ((*at)[length] == ',');
    return true;
}

static const char *first_word(const char *spec) {
    const char *colon = strchr(spec, ':');
    return colon ? colon + 1 : spec + strlen(spec);
}

static void copy(char *out, size_t size, const char *text, size_t length) {
    snprintf(out, size, "%.*s", (int)length, text);
}

/* --- the tables ------------------------------------------------------------------- */

static const weir_option *find_in(const weir_option *options, const char *name) {
    for (; options->name; options++)
        if (!strcmp(options->name, name)) return options;
    return NULL;
}

const weir_option *weir_spec_option(const char *kind, const char *option) {
    const weir_option *common = find_in(weir_common_options(), option);
    if (common) return common;
    const weir_kind *k;
    for (size_t i = 0; (k = weir_filter_kind(i)); i++)
        if (!strcmp(k->name, kind)) return find_in(k->options, option);
    k = weir_pairs_kind();
    return strcmp(k->name, kind) ? NULL : find_in(k->options, option);
}

/* --- comparing -------------------------------------------------------------------- */

/* A number of records, or a time as a negative number of nanoseconds: the two are never equal. */
static bool span_number(const char *text, double *number) {
    int64_t nanoseconds;
    uint64_t count;
    if (weir__has_time_unit(text)) {
        if (weir_parse_duration(text, &nanoseconds, NULL) != WEIR_OK) return false;
        *number = -(double)nanoseconds;
    } else {
        if (weir_parse_count(text, &count, NULL) != WEIR_OK) return false;
        *number = (double)count;
    }
    return true;
}

static bool number_of(weir_option_type type, const char *text, double *number) {
    uint64_t whole;
    if (type == WEIR_OPT_RATE) return weir_parse_rate(text, number, NULL) == WEIR_OK;
    if (type == WEIR_OPT_SPAN) return span_number(text, number);
    bool good = (type == WEIR_OPT_SIZE && weir_parse_size(text, &whole, NULL) == WEIR_OK) ||
                (type == WEIR_OPT_COUNT && weir_parse_count(text, &whole, NULL) == WEIR_OK);
    if (good) *number = (double)whole;
    return good;
}

/* The inside of `(spec)`, or the text as it is. */
static void without_parentheses(char out[WEIR__SPEC_MAX], const char *text) {
    size_t length = strlen(text);
    bool inside = length >= 2 && text[0] == '(' && text[length - 1] == ')';
    copy(out, WEIR__SPEC_MAX, text + inside, inside ? length - 2 : length);
}

/* A spec in parentheses is the same if all that `a` names is so in `b`. */
static bool same_nested(const char *a, const char *b) {
    char inner_a[WEIR__SPEC_MAX], inner_b[WEIR__SPEC_MAX];
    without_parentheses(inner_a, a);
    without_parentheses(inner_b, b);
    return weir_spec_fits(inner_a, inner_b, NULL) == WEIR_OK;
}

bool weir_spec_same(const char *kind, const char *option, const char *a, const char *b) {
    const weir_option *o = weir_spec_option(kind, option);
    double x, y;
    uint64_t s, t;
    if (!strcmp(a, b)) return true;
    if (!o) return false;
    if (o->type == WEIR_OPT_SPEC) return same_nested(a, b);
    if (o->type == WEIR_OPT_SEED)
        return !weir_parse_seed(a, &s, NULL) && !weir_parse_seed(b, &t, NULL) && s == t;
    if (!number_of(o->type, a, &x) || !number_of(o->type, b, &y)) return false;
    return fabs(x - y) <= RATE_TOLERANCE * fabs(x);
}

/* --- as a person writes it -------------------------------------------------------- */

/* With units, where that reads back as the same value. */
static void pretty_value(const char *kind, const char *option, const char *value, char *out,
                         size_t size) {
    const weir_option *o = weir_spec_option(kind, option);
    char text[64] = "";
    double number;
    if (o && o->type == WEIR_OPT_SPEC) {
        char inner[WEIR__SPEC_MAX], pretty[WEIR__SPEC_MAX];
        without_parentheses(inner, value);
        weir_spec_pretty(inner, pretty, sizeof pretty);
        snprintf(out, size, "(%.1000s)", pretty);
        return;
    }
    if (o && o->type != WEIR_OPT_COUNT && number_of(o->type, value, &number)) {
        if (o->type == WEIR_OPT_SIZE) weir_print_size(text, (uint64_t)number);
        if (o->type == WEIR_OPT_RATE) snprintf(text, sizeof text, "%.12g%%", number * 100);
        if (o->type == WEIR_OPT_SPAN && number < 0) weir_print_duration(text, (int64_t)-number);
    }
    bool same = *text && weir_spec_same(kind, option, text, value);
    snprintf(out, size, "%s", same ? text : value);
}

size_t weir_spec_pretty(const char *spec, char *buffer, size_t size) {
    char kind[WEIR__NAME_SIZE], name[64], value[WEIR__SPEC_MAX], shown[WEIR__SPEC_MAX];
    char text[2 * WEIR__SPEC_MAX];
    copy(kind, sizeof kind, spec, strcspn(spec, ":"));
    size_t used = (size_t)snprintf(text, sizeof text, "%s", kind);
    const char *at = first_word(spec);
    spec_word word;
    for (char joint = ':'; used < sizeof text && next_word(&at, &word); joint = ',') {
        copy(name, sizeof name, word.name, word.name_length);
        copy(value, sizeof value, word.value, word.value_length);
        pretty_value(kind, name, value, shown, sizeof shown);
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%s=%s", joint, name, shown);
    }
    if (size) snprintf(buffer, size, "%s", text);
    return used;
}

weir_status weir_spec_fits(const char *asked, const char *spec, weir_error *err) {
    char kind[WEIR__NAME_SIZE], own_kind[WEIR__NAME_SIZE], name[64];
    char want[WEIR__SPEC_MAX], have[WEIR__SPEC_MAX], shown[WEIR__SPEC_MAX];
    copy(kind, sizeof kind, asked, strcspn(asked, ":"));
    copy(own_kind, sizeof own_kind, spec, strcspn(spec, ":"));
    if (*kind && strcmp(kind, own_kind) != 0)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1, "the filter '%s', not '%s'", own_kind, kind);
    const char *at = first_word(asked);
    for (spec_word word; next_word(&at, &word);) {
        copy(name, sizeof name, word.name, word.name_length);
        copy(want, sizeof want, word.value, word.value_length);
        if (!weir_spec_get(spec, name, have, sizeof have))
            return weir__fail(err, WEIR_ERR_MISMATCH, -1, "a '%s' filter without '%s'", own_kind,
                              name);
        if (weir_spec_same(own_kind, name, want, have)) continue;
        pretty_value(own_kind, name, have, shown, sizeof shown);
        return weir__fail(err, WEIR_ERR_MISMATCH, -1, "a filter with %s=%.150s, not %.150s", name,
                          shown, want);
    }
    return WEIR_OK;
}
