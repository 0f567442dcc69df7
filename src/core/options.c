/* options.c - reading specs against their tables, and printing them. */
#include "core/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#define COUNT_EXAMPLE 10e6 /* that which the parser of counts gives */

/* A spec being read. */
typedef struct {
    const weir__tables *tables;
    char copy[WEIR__SPEC_MAX]; /* cut into words */
    weir_error *err;
} spec_reader;

const weir_option *weir__table_at(const weir__tables *tables, size_t place) {
    for (size_t i = 0; tables->common[i].name; i++, place--)
        if (place == 0) return &tables->common[i];
    return &tables->own[place];
}

static weir_status too_long(weir_error *err) {
    return weir__fail(err, WEIR_ERR_SPEC, WEIR__SPEC_MAX, "the spec is longer than %d bytes",
                      WEIR__SPEC_MAX - 1);
}

weir_status weir__spec_fits(size_t length, weir_error *err) {
    if (length < WEIR__SPEC_MAX) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_SPEC, -1,
                      "with all its options the spec has %zu bytes, more than %d; write it shorter",
                      length, WEIR__SPEC_MAX - 1);
}

weir_status weir__spec_name(const char *spec, char name[WEIR__NAME_SIZE], weir_error *err) {
    if (strlen(spec) >= WEIR__SPEC_MAX) return too_long(err);
    snprintf(name, WEIR__NAME_SIZE, "%.*s", (int)strcspn(spec, ":"), spec);
    return WEIR_OK;
}

static void join_names(char *out, size_t size, const weir__tables *tables) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; weir__table_at(tables, i)->name && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "|" : "",
                                 weir__table_at(tables, i)->name);
}

weir_status weir__unknown(weir_error *err, int64_t offset, const char *what, const char *word,
                          const char *names) {
    char near[32], list[512];
    if (weir_nearest(word, names, near))
        return weir__fail(err, WEIR_ERR_SPEC, offset, "unknown %s '%.40s'; did you mean '%s'?",
                          what, word, near);
    size_t used = 0;
    list[0] = 0;
    for (const char *at = names; *at && used < sizeof list - 2;) {
        size_t n = strcspn(at, "|");
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "",
                                 (int)n, at);
        at += n + (at[n] == '|');
    }
    return weir__fail(err, WEIR_ERR_SPEC, offset, "unknown %s '%.40s'; there are %s", what, word,
                      list);
}

static weir_status out_of_range(spec_reader *r, const weir_option *o, int64_t offset,
                                const char *text) {
    char low[32], high[32];
    switch (o->type) {
    case WEIR_OPT_SIZE:
        weir_print_size(low, (uint64_t)o->low);
        weir_print_size(high, (uint64_t)o->high);
        break;
    case WEIR_OPT_RATE:
        weir_print_rate(low, o->low);
        weir_print_rate(high, o->high);
        break;
    default:
        snprintf(low, sizeof low, "%.15g", o->low);
        snprintf(high, sizeof high, "%.15g", o->high);
    }
    return weir__fail(r->err, WEIR_ERR_RANGE, offset,
                      "%s=%.40s is out of range; it goes from %s to %s", o->name, text, low, high);
}

static weir_status read_seed(spec_reader *r, const weir_option *o, const char *text, int64_t offset,
                             uint64_t *seed) {
    weir_error why;
    if (weir_parse_seed(text, seed, &why) == WEIR_OK) return WEIR_OK;
    return weir__fail(r->err, WEIR_ERR_RANGE, offset, "%s: %s", o->name, why.message);
}

static weir_status read_choice(spec_reader *r, const weir_option *o, const char *text,
                               int64_t offset, uint64_t *place) {
    const char *at = o->choices;
    for (*place = 0; *at; (*place)++) {
        size_t n = strcspn(at, "|");
        if (strlen(text) == n && memcmp(at, text, n) == 0) return WEIR_OK;
        at += n + (at[n] == '|');
    }
    return weir__unknown(r->err, offset, o->name, text, o->choices);
}

bool weir__has_time_unit(const char *text) {
    return *text && strchr("dhms", text[strlen(text) - 1]) != NULL;
}

static weir_status read_whole(const weir_option *o, const char *text, weir__value *value,
                              weir_error *err) {
    weir_status status;
    int64_t nanoseconds;
    value->is_time = o->type == WEIR_OPT_SPAN && weir__has_time_unit(text);
    if (o->type == WEIR_OPT_SIZE) return weir_parse_size(text, &value->whole, err);
    if (!value->is_time) return weir_parse_count(text, &value->whole, err);
    status = weir_parse_duration(text, &nanoseconds, err);
    if (status == WEIR_OK) value->whole = (uint64_t)nanoseconds;
    return status;
}

/* The text is no number of the option's type: the message gives one that is, for this option. */
static weir_status not_a_number(spec_reader *r, const weir_option *o, const char *text,
                                int64_t offset, weir_status status) {
    char reason[sizeof r->err->message];
    if (!r->err) return status;
    memcpy(reason, r->err->message, sizeof reason);
    offset += r->err->offset;
    if (o->type == WEIR_OPT_SPAN && !weir__has_time_unit(text))
        return weir__fail(r->err, status, offset,
                          "%s: '%.40s' is neither a number of records such as 10M nor a time such "
                          "as 10m",
                          o->name, text);
    if (o->type == WEIR_OPT_COUNT && o->high < COUNT_EXAMPLE)
        return weir__fail(r->err, status, offset, "%s: '%.40s' is not a count from %.15g to %.15g",
                          o->name, text, o->low, o->high);
    return weir__fail(r->err, status, offset, "%s: %.300s", o->name, reason);
}

/* `(...)`, balanced and not empty. */
static weir_status read_nested(spec_reader *r, const weir_option *o, const char *text,
                               int64_t offset, weir__value *value) {
    size_t length = strlen(text);
    if (length < 3 || text[0] != '(' || text[length - 1] != ')')
        return weir__fail(r->err, WEIR_ERR_SPEC, offset,
                          "%s takes a spec in parentheses, such as %s=(bloom:fpr=1%%)", o->name,
                          o->name);
    weir__free(&r->tables->allocator, value->text); /* the default's */
    value->text = weir__alloc_text(&r->tables->allocator, text + 1, length - 2);
    return value->text ? WEIR_OK : weir__fail(r->err, WEIR_ERR_MEMORY, -1, "out of memory");
}

static weir_status read_value(spec_reader *r, const weir_option *o, const char *text,
                              int64_t offset, weir__value *value) {
    weir_status status = WEIR_OK;
    bool inside = true;
    value->offset = offset;
    switch (o->type) {
    case WEIR_OPT_SEED:
        status = read_seed(r, o, text, offset, &value->whole);
        break;
    case WEIR_OPT_CHOICE:
        status = read_choice(r, o, text, offset, &value->whole);
        break;
    case WEIR_OPT_SPEC:
        status = read_nested(r, o, text, offset, value);
        break;
    case WEIR_OPT_RATE:
        status = weir_parse_rate(text, &value->number, r->err);
        inside = value->number >= o->low && value->number <= o->high;
        break;
    default:
        status = read_whole(o, text, value, r->err);
        inside = value->is_time ? value->whole > 0
                                : (double)value->whole >= o->low && (double)value->whole <= o->high;
    }
    if (status == WEIR_OK && !inside) return out_of_range(r, o, offset, text);
    bool is_number = o->type < WEIR_OPT_CHOICE;
    return status == WEIR_OK || !is_number ? status : not_a_number(r, o, text, offset, status);
}

static weir_status read_option(spec_reader *r, weir__value *values, char *word) {
    const weir__tables *tables = r->tables;
    int64_t offset = word - r->copy;
    char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return weir__fail(r->err, WEIR_ERR_SPEC, offset,
                          "'%.40s' in the spec is not of the form option=value, such as memory=64M",
                          word);
    *equals = 0;
    for (size_t i = 0; weir__table_at(tables, i)->name; i++) {
        const weir_option *o = weir__table_at(tables, i);
        if (strcmp(o->name, word) != 0) continue;
        if (values[i].given)
            return weir__fail(r->err, WEIR_ERR_SPEC, offset, "option '%s' is given twice", word);
        weir_status status = read_value(r, o, equals + 1, equals + 1 - r->copy, &values[i]);
        values[i].given = status == WEIR_OK;
        return status;
    }
    char names[512], what[96];
    join_names(names, sizeof names, tables);
    snprintf(what, sizeof what, "option of %s '%s'", tables->family, tables->name);
    return weir__unknown(r->err, offset, what, word, names);
}

/* The comma that ends a word, or its NUL; commas in parentheses do not count.
 * NULL if the parentheses do not fit. */
static char *end_of_word(char *at) {
    size_t depth = 0;
    for (; *at && (*at != ',' || depth); at++) {
        if (*at == '(') depth++;
        if (*at == ')' && depth-- == 0) return NULL;
    }
    return depth ? NULL : at;
}

/* The word of an option in a spec, and its end; NULL if it is not there. */
static char *find_word(const char *spec, const char *option, char **end) {
    size_t length = strlen(option);
    for (char *at = strchr(spec, ':'); at && *at; at = *end) {
        *end = end_of_word(at + 1);
        if (!*end) return NULL;
        if (strncmp(at + 1, option, length) == 0 && at[1 + length] == '=') return at + 1;
    }
    return NULL;
}

bool weir_spec_get(const char *spec, const char *option, char *value, size_t size) {
    char *end, *word = find_word(spec, option, &end);
    if (!word) return false;
    word += strlen(option) + 1;
    snprintf(value, size, "%.*s", (int)(end - word), word);
    return true;
}

bool weir_spec_take(char *spec, const char *option, char *value, size_t size) {
    char *end, *word = find_word(spec, option, &end);
    if (!word) return false;
    weir_spec_get(spec, option, value, size);
    if (*end) memmove(word, end + 1, strlen(end + 1) + 1);
    else word[-1] = 0; /* the last one goes with the comma or colon before it */
    return true;
}

/* Defaults first, so that what the spec says stands over them; `given` stays
 * false for a default. */
static weir_status read_defaults(spec_reader *r, weir__value *values) {
    for (size_t i = 0; weir__table_at(r->tables, i)->name; i++) {
        const weir_option *o = weir__table_at(r->tables, i);
        values[i].offset = -1;
        if (!o->standard) continue;
        weir_status status = read_value(r, o, o->standard, -1, &values[i]);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

weir_status weir__spec_read(const weir__tables *tables, const char *spec, weir__value *values,
                            weir_error *err) {
    spec_reader r = {.tables = tables, .err = err};
    if (strlen(spec) >= sizeof r.copy) return too_long(err);
    memcpy(r.copy, spec, strlen(spec) + 1);
    weir_status status = read_defaults(&r, values);
    char *at = strchr(r.copy, ':');
    while (status == WEIR_OK && at) {
        char *word = at + 1, *end = end_of_word(word);
        if (!end)
            return weir__fail(err, WEIR_ERR_SPEC, word - r.copy,
                              "the parentheses in '%.60s' do not fit together", word);
        at = *end ? end : NULL;
        *end = 0;
        status = read_option(&r, values, word);
    }
    return status;
}

void weir__values_free(const weir_allocator *from, weir__value *values) {
    for (size_t i = 0; i < WEIR__OPTIONS_MAX; i++) {
        weir__free(from, values[i].text);
        values[i].text = NULL;
    }
}

/* ---- back to text ---- */

/* The shortest of two forms that reads back as the same number. */
static size_t print_number(char *out, size_t size, double number) {
    char text[32];
    snprintf(text, sizeof text, "%.15g", number);
    if (strtod(text, NULL) != number) snprintf(text, sizeof text, "%.17g", number);
    return (size_t)snprintf(out, size, "%s", text);
}

static size_t print_value(char *out, size_t size, const weir_option *o, const weir__value *value) {
    const char *at = o->choices;
    switch (o->type) {
    case WEIR_OPT_RATE:
        return print_number(out, size, value->number);
    case WEIR_OPT_CHOICE:
        for (uint64_t i = 0; i < value->whole; i++) at += strcspn(at, "|") + 1;
        return (size_t)snprintf(out, size, "%.*s", (int)strcspn(at, "|"), at);
    case WEIR_OPT_SPEC:
        return (size_t)snprintf(out, size, "(%s)", value->text);
    default:
        return (size_t)snprintf(out, size, "%" PRIu64 "%s", value->whole,
                                value->is_time ? "ns" : "");
    }
}

size_t weir__spec_print(const weir__tables *tables, const weir__value *values, char *buffer,
                        size_t size) {
    char text[2 * WEIR__SPEC_MAX];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", tables->name);
    char separator = ':';
    for (size_t i = 0; weir__table_at(tables, i)->name && used < sizeof text; i++) {
        const weir_option *o = weir__table_at(tables, i);
        if (values[i].implied || (!values[i].given && !o->standard)) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%s=", separator, o->name);
        if (used < sizeof text) used += print_value(text + used, sizeof text - used, o, &values[i]);
        separator = ',';
    }
    if (size) snprintf(buffer, size, "%s", text);
    return used;
}

const weir_option *weir__values_differ(const weir__tables *tables, const weir__value *a,
                                       const weir__value *b) {
    char left[WEIR__SPEC_MAX], right[WEIR__SPEC_MAX];
    for (size_t i = 0; weir__table_at(tables, i)->name; i++) {
        const weir_option *o = weir__table_at(tables, i);
        bool in_a = a[i].given || o->standard, in_b = b[i].given || o->standard;
        if (in_a != in_b) return o;
        if (!in_a) continue;
        print_value(left, sizeof left, o, &a[i]);
        print_value(right, sizeof right, o, &b[i]);
        if (strcmp(left, right) != 0) return o;
    }
    return NULL;
}
