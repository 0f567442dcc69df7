/* spec_text.c - what only a command line does with specs: `--memory 64M` goes into
 * `--filter stable:max=1`, and a message of the library names the flag that the user gave.
 */
#include "spec_text.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"

const char *spec_window_option(const char *spec) {
    char kind[64];
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(spec, ":"), spec);
    return !weir_spec_option(kind, "window") && weir_spec_option(kind, "length") ? "length"
                                                                                 : "window";
}

const char *spec_asked(const char *spec, bool kind_given) {
    return kind_given ? spec : spec + strcspn(spec, ":");
}

static bool kind_exists(const char *kind) {
    const weir_kind *k;
    for (size_t i = 0; (k = weir_filter_kind(i)); i++)
        if (!strcmp(k->name, kind)) return true;
    return false;
}

/* A filter that has no window itself may have one in the filters inside: of those that can
 * have one, name the first that it takes. */
static int refuse_option(const char *kind, const spec_addition *a) {
    static const char *const inside[] = {"recent:window", "window:length"};
    char inner[SPEC_SIZE], spec[2 * SPEC_SIZE];
    weir_error err;
    for (size_t i = 0; weir_spec_option(kind, "of") && i < sizeof inside / sizeof *inside; i++) {
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
                     a->flag, a->value, kind, weir_spec_option(kind, "of") ? ": " : "",
                     weir_spec_option(kind, "of") ? err.message : "");
}

static int fold_one(char *out, const char *spec, const char *kind, const spec_addition *a) {
    char own[SPEC_SIZE];
    if (weir_spec_get(spec, a->name, own, sizeof own)) {
        if (weir_spec_same(kind, a->name, own, a->value)) return EXIT_DONE;
        return cli_error("%s %s and %s=%s in --filter '%s' disagree; give it once", a->flag,
                         a->value, a->name, own, spec);
    }
    if (kind_exists(kind) && !weir_spec_option(kind, a->name)) return refuse_option(kind, a);
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
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(spec, ":"), spec);
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
        if (given && weir_spec_get(given, flags[i][0], own, sizeof own)) return;
        snprintf(rest, sizeof rest, "%s", err->message + name + 1);
        snprintf(err->message, sizeof err->message, "--%s %.*s", flags[i][1],
                 (int)(sizeof rest - 16), rest);
        return;
    }
}
