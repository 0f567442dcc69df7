/* spec_text.c - filter specs as text: put together, compare, show.
 *
 * The library reads specs; what is done here is what only a command line
 * needs: folding `--memory 64M` into `--filter stable:max=1`, telling whether a
 * saved filter is the one that was asked for, and printing the exact but ugly
 * resolved spec the way a person would have typed it. The tables of the
 * library say of which type an option is.
 */
#include "spec_text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "weir.h"
#include "weir_pairs.h"

/* --- reading ---------------------------------------------------------------------- */

typedef struct {
    const char *name, *value;
    int name_length, value_length;
} spec_pair;

/* Up to the comma that ends an option; those in parentheses do not. */
static size_t pair_length(const char *text) {
    size_t length = 0;
    for (int depth = 0; text[length] && (text[length] != ',' || depth > 0); length++)
        depth += (text[length] == '(') - (text[length] == ')');
    return length;
}

/* The next option=value at *at, which moves behind it. */
static bool next_pair(const char **at, spec_pair *pair) {
    if (!**at) return false;
    size_t length = pair_length(*at), name = strcspn(*at, "=,");
    *pair = (spec_pair){*at, *at + name + (name < length), (int)name,
                        (int)(name < length ? length - name - 1 : 0)};
    *at += length + ((*at)[length] == ',');
    return true;
}

static const char *first_pair(const char *spec) {
    const char *colon = strchr(spec, ':');
    return colon ? colon + 1 : spec + strlen(spec);
}

static void kind_name(const char *spec, char *name, size_t size) {
    snprintf(name, size, "%.*s", (int)strcspn(spec, ":"), spec);
}

bool spec_get(const char *spec, const char *name, char *value, size_t size) {
    const char *at = first_pair(spec);
    spec_pair pair;
    while (next_pair(&at, &pair)) {
        if ((int)strlen(name) != pair.name_length) continue;
        if (memcmp(name, pair.name, strlen(name)) != 0) continue;
        snprintf(value, size, "%.*s", pair.value_length, pair.value);
        return true;
    }
    return false;
}

void spec_drop(char *spec, const char *name) {
    char *at = spec + (first_pair(spec) - spec);
    while (*at) {
        size_t length = pair_length(at), n = strlen(name);
        char *next = at + length + (at[length] == ',');
        if (strncmp(at, name, n) != 0 || at[n] != '=') at = next;
        else if (*next) memmove(at, next, strlen(next) + 1);
        else at[-1] = 0, at[0] = 0;
    }
}

static const weir_option *find_in(const weir_option *options, const char *name) {
    for (; options && options->name; options++)
        if (!strcmp(options->name, name)) return options;
    return NULL;
}

/* The table entry of an option; NULL if the kind or the option is not known. */
static const weir_option *find_option(const char *kind, const char *name) {
    const weir_option *common = find_in(weir_common_options(), name);
    const weir_kind *k;
    if (common) return common;
    for (size_t i = 0; (k = weir_filter_kind(i)); i++)
        if (!strcmp(k->name, kind)) return find_in(k->options, name);
    if (!strcmp(kind, "pairs")) return find_in(weir_pairs_kind()->options, name);
    return NULL;
}

const char *spec_window_option(const char *spec) {
    char kind[64];
    kind_name(spec, kind, sizeof kind);
    return !find_option(kind, "window") && find_option(kind, "length") ? "length" : "window";
}

static bool kind_exists(const char *kind) {
    const weir_kind *k;
    for (size_t i = 0; (k = weir_filter_kind(i)); i++)
        if (!strcmp(k->name, kind)) return true;
    return false;
}

/* --- putting together --------------------------------------------------------------- */

/* A filter that has no window itself may have one in the filters inside: of those that can
 * have one, name the first that it takes. */
static int refuse_option(const char *kind, const spec_addition *a) {
    static const char *const inside[] = {"recent:window", "window:length"};
    char inner[SPEC_SIZE], spec[2 * SPEC_SIZE];
    weir_error err;
    for (size_t i = 0; find_option(kind, "of") && i < sizeof inside / sizeof *inside; i++) {
        weir_filter *filter;
        snprintf(inner, sizeof inner, "%s:of=(%s=%s)", kind, inside[i], a->value);
        snprintf(spec, sizeof spec, "%s,memory=16M", inner);
        if (weir_filter_new(&filter, spec, &err) != WEIR_OK) continue;
        weir_filter_free(filter);
        return cli_error("%s belongs to the filters inside '%s'; write --filter '%s'", a->flag,
                         kind, inner);
    }
    return cli_error("%s %s does not go with the filter '%s'%s%s; leave out --filter, or take "
                     "--filter window",
                     a->flag, a->value, kind, find_option(kind, "of") ? ": " : "",
                     find_option(kind, "of") ? err.message : "");
}

static int fold_one(char *out, const char *spec, const char *kind, const spec_addition *a) {
    char own[SPEC_SIZE];
    if (spec_get(spec, a->name, own, sizeof own)) {
        if (spec_same_value(kind, a->name, own, a->value)) return EXIT_DONE;
        return cli_error("%s %s and %s=%s in --filter '%s' disagree; give it once", a->flag,
                         a->value, a->name, own, spec);
    }
    if (kind_exists(kind) && !find_option(kind, a->name)) return refuse_option(kind, a);
    if (strpbrk(a->value, ",=:")) return cli_error("%s cannot be '%s'", a->flag, a->value);
    size_t used = strlen(out);
    int n = snprintf(out + used, SPEC_SIZE - used, "%c%s=%s", strchr(out, ':') ? ',' : ':', a->name,
                     a->value);
    if (n < 0 || (size_t)n >= SPEC_SIZE - used) return cli_error("the filter's spec is too long");
    return EXIT_DONE;
}

int spec_fold(char out[SPEC_SIZE], const char *spec, const spec_addition *additions, size_t count) {
    char kind[64];
    if (strlen(spec) >= SPEC_SIZE) return cli_error("the filter's spec is too long");
    strcpy(out, spec);
    kind_name(spec, kind, sizeof kind);
    for (size_t i = 0; i < count; i++) {
        if (!additions[i].value) continue;
        int code = fold_one(out, spec, kind, &additions[i]);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

void spec_name_flag(weir_error *err, const char *given) {
    static const char *const flags[][2] = {
        {"memory", "memory"}, {"fpr", "fpr"},         {"window", "window"},
        {"length", "window"}, {"seed", "seed"},       {"error", "error"},
        {"sample", "sample"}, {"repeats", "repeats"}, {"confidence", "confidence"},
    };
    char rest[sizeof err->message], own[SPEC_SIZE];
    size_t name = strcspn(err->message, "= ");
    if (err->message[name] != '=') return;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strlen(flags[i][0]) != name || memcmp(flags[i][0], err->message, name) != 0) continue;
        if (given && spec_get(given, flags[i][0], own, sizeof own)) return;
        snprintf(rest, sizeof rest, "%s", err->message + name + 1);
        snprintf(err->message, sizeof err->message, "--%s %.*s", flags[i][1],
                 (int)(sizeof rest - 16), rest);
        return;
    }
}

/* --- comparing ------------------------------------------------------------------------ */

bool spec_is_duration(const char *text) {
    return *text && strchr("dhms", text[strlen(text) - 1]) != NULL;
}

/* A span as a number, with the sign telling durations from counts. */
static bool span_value(const char *text, double *value) {
    int64_t nanoseconds;
    uint64_t count;
    if (spec_is_duration(text)) {
        if (weir_parse_duration(text, &nanoseconds, NULL) != WEIR_OK) return false;
        *value = -(double)nanoseconds;
    } else {
        if (weir_parse_count(text, &count, NULL) != WEIR_OK) return false;
        *value = (double)count;
    }
    return true;
}

static bool number_value(weir_option_type type, const char *text, double *value) {
    uint64_t whole;
    switch (type) {
    case WEIR_OPT_SIZE:
        if (weir_parse_size(text, &whole, NULL) != WEIR_OK) return false;
        *value = (double)whole;
        return true;
    case WEIR_OPT_COUNT:
        if (weir_parse_count(text, &whole, NULL) != WEIR_OK) return false;
        *value = (double)whole;
        return true;
    case WEIR_OPT_RATE:
        return weir_parse_rate(text, value, NULL) == WEIR_OK;
    case WEIR_OPT_SPAN:
        return span_value(text, value);
    default:
        return false;
    }
}

/* The inside of `(spec)`, or the text as it is. */
static void without_parentheses(char out[SPEC_SIZE], const char *text) {
    size_t length = strlen(text);
    bool inside = length >= 2 && text[0] == '(' && text[length - 1] == ')';
    snprintf(out, SPEC_SIZE, "%.*s", (int)(inside ? length - 2 : length), text + inside);
}

/* A nested spec is the same if everything that `a` names is so in `b`. */
static bool same_nested(const char *a, const char *b) {
    char inner_a[SPEC_SIZE], inner_b[SPEC_SIZE], difference[SPEC_SIZE];
    without_parentheses(inner_a, a);
    without_parentheses(inner_b, b);
    return spec_fits(inner_a, true, inner_b, difference, sizeof difference);
}

static bool same_seed(const char *a, const char *b) {
    uint64_t x, y;
    return !weir_parse_seed(a, &x, NULL) && !weir_parse_seed(b, &y, NULL) && x == y;
}

bool spec_same_value(const char *kind, const char *option, const char *a, const char *b) {
    const weir_option *o = find_option(kind, option);
    double x, y;
    if (!strcmp(a, b)) return true;
    if (!o) return false;
    if (o->type == WEIR_OPT_SPEC) return same_nested(a, b);
    if (o->type == WEIR_OPT_SEED) return same_seed(a, b);
    if (!number_value(o->type, a, &x) || !number_value(o->type, b, &y)) return false;
    return fabs(x - y) <= 1e-12 * fabs(x); /* 0.1% and 0.001 differ in the last bit */
}

/* A value as a person would write it, if that means the same. */
static void pretty_value(const char *kind, const char *option, const char *value, char *out,
                         size_t size) {
    const weir_option *o = find_option(kind, option);
    char text[64] = "";
    double number;
    if (o && o->type == WEIR_OPT_SPEC) {
        char inner[SPEC_SIZE], pretty[SPEC_SIZE];
        without_parentheses(inner, value);
        spec_pretty(pretty, inner);
        snprintf(out, size, "(%.1000s)", pretty);
        return;
    }
    if (o && o->type != WEIR_OPT_COUNT && number_value(o->type, value, &number)) {
        if (o->type == WEIR_OPT_SIZE) weir_print_size(text, (uint64_t)number);
        if (o->type == WEIR_OPT_RATE) snprintf(text, sizeof text, "%.12g%%", number * 100);
        if (o->type == WEIR_OPT_SPAN && number < 0) weir_print_duration(text, (int64_t)-number);
    }
    bool same = *text && spec_same_value(kind, option, text, value);
    snprintf(out, size, "%s", same ? text : value);
}

bool spec_fits(const char *asked, bool kind_counts, const char *saved, char *difference,
               size_t size) {
    char kind[64], saved_kind[64], name[64], want[SPEC_SIZE], have[SPEC_SIZE];
    kind_name(asked, kind, sizeof kind);
    kind_name(saved, saved_kind, sizeof saved_kind);
    if (kind_counts && strcmp(kind, saved_kind) != 0) {
        snprintf(difference, size, "the filter '%s', not '%s'", saved_kind, kind);
        return false;
    }
    const char *at = first_pair(asked);
    spec_pair pair;
    while (next_pair(&at, &pair)) {
        snprintf(name, sizeof name, "%.*s", pair.name_length, pair.name);
        snprintf(want, sizeof want, "%.*s", pair.value_length, pair.value);
        if (!spec_get(saved, name, have, sizeof have)) {
            snprintf(difference, size, "a '%s' filter without '%s'", saved_kind, name);
            return false;
        }
        if (spec_same_value(saved_kind, name, want, have)) continue;
        char shown[SPEC_SIZE];
        pretty_value(saved_kind, name, have, shown, sizeof shown);
        snprintf(difference, size, "a filter with %s=%s, not %s", name, shown, want);
        return false;
    }
    return true;
}

void spec_pretty(char out[SPEC_SIZE], const char *spec) {
    char kind[64], name[64], value[SPEC_SIZE], shown[SPEC_SIZE];
    kind_name(spec, kind, sizeof kind);
    size_t used = (size_t)snprintf(out, SPEC_SIZE, "%s", kind);
    const char *at = first_pair(spec);
    spec_pair pair;
    for (char joint = ':'; next_pair(&at, &pair) && used < SPEC_SIZE; joint = ',') {
        snprintf(name, sizeof name, "%.*s", pair.name_length, pair.name);
        snprintf(value, sizeof value, "%.*s", pair.value_length, pair.value);
        pretty_value(kind, name, value, shown, sizeof shown);
        used += (size_t)snprintf(out + used, SPEC_SIZE - used, "%c%s=%s", joint, name, shown);
    }
}
