/* filter.c - what all filters share: from a spec to a filter, and the public calls.
 *
 * A spec is `name` or `name:option=value,option=value`. Its options are checked
 * against two tables, the common options and the filter's own, so a new option
 * is a line in a table. Values keep their place in the text, and every message
 * about one points there.
 */
#include "filter/filter.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const weir__filter_class weir__recent_class, weir__bloom_class, weir__stable_class,
    weir__reservoir_class;

/* A new filter is its file and a line here. */
const weir__filter_class *const weir__filter_classes[] = {
    &weir__recent_class, &weir__bloom_class, &weir__stable_class, &weir__reservoir_class, NULL,
};

static const weir_option common_options[] = {
    [WEIR__OPT_MEMORY] = {"memory", WEIR_OPT_SIZE, 1024, 0x1p50, NULL, "256M",
                          "the most memory the filter may use"},
    [WEIR__OPT_FPR] = {"fpr", WEIR_OPT_RATE, 1e-9, 0.5, NULL, "0.0001%",
                       "bound on the share of new keys wrongly called seen"},
    [WEIR__OPT_SEED] = {"seed", WEIR_OPT_SEED, 0, 0, NULL, NULL,
                        "makes a run repeatable; drawn from the system if not given"},
    [WEIR__OPT_HASH] = {"hash", WEIR_OPT_CHOICE, 0, 0, WEIR__HASH_CHOICES, "xxh3",
                        "hash function; siphash for streams made by an adversary"},
    [WEIR__OPT_OWN] = {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir_option *weir_common_options(void) { return common_options; }

const weir_kind *weir_filter_kind(size_t i) {
    for (size_t j = 0; weir__filter_classes[j]; j++)
        if (j == i) return &weir__filter_classes[j]->kind;
    return NULL;
}

/* ---- from text to values ---- */

#define SPEC_MAX 1024 /* longest spec that is read */

typedef struct {
    const char *text;    /* the whole spec */
    char copy[SPEC_MAX]; /* cut into words */
    weir_error *err;
} spec_reader;

static const weir_option *option_at(const weir__filter_class *class, size_t place) {
    return place < WEIR__OPT_OWN ? &common_options[place]
                                 : &class->kind.options[place - WEIR__OPT_OWN];
}

static void join_names(char *out, size_t size, const weir__filter_class *class) {
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; option_at(class, i)->name && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "|" : "",
                                 option_at(class, i)->name);
}

static weir_status unknown_word(spec_reader *r, int64_t offset, const char *what, const char *word,
                                const char *names) {
    char near[32], list[512];
    if (weir_nearest(word, names, near))
        return weir__fail(r->err, WEIR_ERR_SPEC, offset, "unknown %s '%.40s'; did you mean '%s'?",
                          what, word, near);
    size_t used = 0;
    list[0] = 0;
    for (const char *at = names; *at && used < sizeof list - 2;) {
        size_t n = strcspn(at, "|");
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "",
                                 (int)n, at);
        at += n + (at[n] == '|');
    }
    return weir__fail(r->err, WEIR_ERR_SPEC, offset, "unknown %s '%.40s'; there are %s", what, word,
                      list);
}

static weir_status find_class(spec_reader *r, const char *name, const weir__filter_class **class) {
    char names[256] = "";
    size_t used = 0;
    for (size_t i = 0; weir__filter_classes[i]; i++) {
        *class = weir__filter_classes[i];
        if (strcmp((*class)->kind.name, name) == 0) return WEIR_OK;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "",
                                 (*class)->kind.name);
    }
    return unknown_word(r, 0, "filter", name, names);
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
        weir_print_count(low, o->low);
        weir_print_count(high, o->high);
    }
    return weir__fail(r->err, WEIR_ERR_RANGE, offset,
                      "%s=%.40s is out of range; it goes from %s to %s", o->name, text, low, high);
}

static weir_status read_seed(spec_reader *r, const char *text, int64_t offset, uint64_t *seed) {
    char *end;
    bool hexadecimal = strncmp(text, "0x", 2) == 0;
    *seed = strtoull(text + (hexadecimal ? 2 : 0), &end, hexadecimal ? 16 : 10);
    if (*text < '0' || *text > '9' || *end || end == text + (hexadecimal ? 2 : 0))
        return weir__fail(r->err, WEIR_ERR_RANGE, offset,
                          "seed=%.40s is not a number from 0 to 2^64-1", text);
    return WEIR_OK;
}

static weir_status read_choice(spec_reader *r, const weir_option *o, const char *text,
                               int64_t offset, uint64_t *place) {
    const char *at = o->choices;
    for (*place = 0; *at; (*place)++) {
        size_t n = strcspn(at, "|");
        if (strlen(text) == n && memcmp(at, text, n) == 0) return WEIR_OK;
        at += n + (at[n] == '|');
    }
    char what[64];
    snprintf(what, sizeof what, "%s", o->name);
    return unknown_word(r, offset, what, text, o->choices);
}

static bool has_time_unit(const char *text) {
    return *text && strchr("dhms", text[strlen(text) - 1]) != NULL;
}

static weir_status read_whole(const weir_option *o, const char *text, weir__value *value,
                              weir_error *err) {
    weir_status status;
    int64_t nanoseconds;
    value->is_time = o->type == WEIR_OPT_SPAN && has_time_unit(text);
    if (o->type == WEIR_OPT_SIZE) return weir_parse_size(text, &value->whole, err);
    if (!value->is_time) return weir_parse_count(text, &value->whole, err);
    status = weir_parse_duration(text, &nanoseconds, err);
    if (status == WEIR_OK) value->whole = (uint64_t)nanoseconds;
    return status;
}

static weir_status read_value(spec_reader *r, const weir_option *o, const char *text,
                              int64_t offset, weir__value *value) {
    weir_status status = WEIR_OK;
    bool inside = true;
    value->offset = offset;
    switch (o->type) {
    case WEIR_OPT_SEED:
        status = read_seed(r, text, offset, &value->whole);
        break;
    case WEIR_OPT_CHOICE:
        status = read_choice(r, o, text, offset, &value->whole);
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
    if (status != WEIR_OK && r->err && o->type < WEIR_OPT_CHOICE) {
        char reason[sizeof r->err->message];
        memcpy(reason, r->err->message, sizeof reason);
        return weir__fail(r->err, status, offset + r->err->offset, "%s: %.300s", o->name, reason);
    }
    return status;
}

static weir_status read_option(spec_reader *r, weir_filter *filter, char *word) {
    const weir__filter_class *class = filter->class;
    int64_t offset = word - r->copy;
    char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return weir__fail(r->err, WEIR_ERR_SPEC, offset,
                          "'%.40s' in the spec is not of the form option=value", word);
    *equals = 0;
    for (size_t i = 0; option_at(class, i)->name; i++) {
        if (strcmp(option_at(class, i)->name, word) != 0) continue;
        if (filter->values[i].given)
            return weir__fail(r->err, WEIR_ERR_SPEC, offset, "option '%s' is given twice", word);
        weir_status status = read_value(r, option_at(class, i), equals + 1, equals + 1 - r->copy,
                                        &filter->values[i]);
        filter->values[i].given = status == WEIR_OK;
        return status;
    }
    char names[512], what[64];
    join_names(names, sizeof names, class);
    snprintf(what, sizeof what, "option of filter '%s'", class->kind.name);
    return unknown_word(r, offset, what, word, names);
}

/* Defaults first, so that what the spec says stands over them; `given` stays
 * false for a default. */
static weir_status read_options(spec_reader *r, weir_filter *filter, char *options) {
    for (size_t i = 0; option_at(filter->class, i)->name; i++) {
        const weir_option *o = option_at(filter->class, i);
        filter->values[i].offset = -1;
        if (!o->standard) continue;
        weir_status status = read_value(r, o, o->standard, -1, &filter->values[i]);
        if (status != WEIR_OK) return status;
    }
    while (options) {
        char *next = strchr(options, ',');
        if (next) *next++ = 0;
        weir_status status = read_option(r, filter, options);
        if (status != WEIR_OK) return status;
        options = next;
    }
    return WEIR_OK;
}

static weir_status resolve_seed(weir_filter *filter, weir_error *err) {
    weir__value *seed = &filter->values[WEIR__OPT_SEED];
    if (!seed->given && !weir__random_seed(&seed->whole))
        return weir__fail(err, WEIR_ERR_IO, -1, "the system gives no random seed; set seed=");
    weir__hasher_init(&filter->hasher, (weir__hash_kind)weir__opt_whole(filter, WEIR__OPT_HASH),
                      seed->whole);
    return WEIR_OK;
}

weir_status weir_filter_new(weir_filter **out, const char *spec, weir_error *err) {
    spec_reader r = {.text = spec, .err = err};
    const weir__filter_class *class;
    *out = NULL;
    if (strlen(spec) >= sizeof r.copy)
        return weir__fail(err, WEIR_ERR_SPEC, SPEC_MAX, "the spec is longer than %d bytes",
                          SPEC_MAX - 1);
    memcpy(r.copy, spec, strlen(spec) + 1);
    char *options = strchr(r.copy, ':');
    if (options) *options++ = 0;
    weir_status status = find_class(&r, r.copy, &class);
    if (status != WEIR_OK) return status;

    weir_filter *filter = calloc(1, class->size);
    if (!filter) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    filter->class = class;
    status = read_options(&r, filter, options);
    if (status == WEIR_OK) status = resolve_seed(filter, err);
    if (status == WEIR_OK) status = class->create(filter, err);
    if (status != WEIR_OK) {
        weir_filter_free(filter);
        return status;
    }
    class->start(filter);
    *out = filter;
    return WEIR_OK;
}

weir_status weir__filter_map(weir_filter *filter, uint64_t bytes, weir_error *err) {
    filter->cells_bytes = bytes;
    void *memory;
    weir_status status = weir__map(&memory, bytes, err);
    filter->cells = memory;
    return status;
}

void weir_filter_free(weir_filter *filter) {
    if (!filter) return;
    weir__unmap(filter->cells, filter->cells_bytes);
    free(filter);
}

void weir_filter_clear(weir_filter *filter) {
    weir__map_clear(filter->cells, filter->cells_bytes);
    memset(weir__filter_state(filter), 0, filter->class->state_words * sizeof(uint64_t));
    filter->offered = filter->seen = 0;
    filter->class->start(filter);
}

/* ---- offering and testing ---- */

uint64_t weir_filter_hash(const weir_filter *filter, const void *key, size_t length) {
    return weir__hash(&filter->hasher, key, length);
}

size_t weir_filter_offer_batch(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * sizeof *verdicts);
    size_t seen = filter->class->offer(filter, batch, verdicts);
    filter->offered += batch->count;
    filter->seen += seen;
    return seen;
}

size_t weir_filter_test_batch(const weir_filter *filter, const weir_batch *batch,
                              uint64_t *verdicts) {
    memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * sizeof *verdicts);
    return filter->class->test(filter, batch, verdicts);
}

weir_verdict weir_filter_offer(weir_filter *filter, const void *key, size_t length) {
    uint64_t hash = weir_filter_hash(filter, key, length), verdict;
    weir_filter_offer_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return (weir_verdict)verdict;
}

weir_verdict weir_filter_test(const weir_filter *filter, const void *key, size_t length) {
    uint64_t hash = weir_filter_hash(filter, key, length), verdict;
    weir_filter_test_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return (weir_verdict)verdict;
}

/* ---- looking inside ---- */

void weir_filter_get_info(const weir_filter *filter, weir_filter_info *info) {
    *info = (weir_filter_info){
        .name = filter->class->kind.name,
        .seed = weir__opt_whole(filter, WEIR__OPT_SEED),
        .memory = filter->cells_bytes + filter->class->size,
        .offered = filter->offered,
        .seen = filter->seen,
        .fpr_bound = weir__opt_rate(filter, WEIR__OPT_FPR),
    };
    filter->class->info(filter, info);
}

static size_t print_value(char *out, size_t size, const weir_option *o, const weir__value *value) {
    const char *at = o->choices;
    switch (o->type) {
    case WEIR_OPT_RATE:
        return (size_t)snprintf(out, size, "%.17g", value->number);
    case WEIR_OPT_CHOICE:
        for (uint64_t i = 0; i < value->whole; i++) at += strcspn(at, "|") + 1;
        return (size_t)snprintf(out, size, "%.*s", (int)strcspn(at, "|"), at);
    default:
        return (size_t)snprintf(out, size, "%" PRIu64 "%s", value->whole,
                                value->is_time ? "ns" : "");
    }
}

size_t weir_filter_spec(const weir_filter *filter, char *buffer, size_t size) {
    char text[SPEC_MAX];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", filter->class->kind.name);
    char separator = ':';
    for (size_t i = 0; option_at(filter->class, i)->name; i++) {
        const weir_option *o = option_at(filter->class, i);
        const weir__value *value = &filter->values[i];
        if (!value->given && !o->standard && i != WEIR__OPT_SEED) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%c%s=", separator, o->name);
        used += print_value(text + used, sizeof text - used, o, value);
        separator = ',';
    }
    if (size) snprintf(buffer, size, "%s", text);
    return used;
}

void weir__detail(weir_detail_fn *each, void *context, const char *name, const char *meaning,
                  const char *format, ...) {
    char value[64];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    each(context, name, value, meaning);
}

void weir_filter_details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    if (filter->class->details) filter->class->details(filter, each, context);
}

/* ---- merging and checking ---- */

weir_status weir_filter_merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    const char *name = into->class->kind.name;
    char a[SPEC_MAX], b[SPEC_MAX];
    if (into->class != from->class)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "cannot merge a '%s' filter with a '%s' filter", name,
                          from->class->kind.name);
    if (!into->class->merge)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "'%s' filters cannot be merged: %s", name,
                          into->class->no_merge);
    weir_filter_spec(into, a, sizeof a);
    weir_filter_spec(from, b, sizeof b);
    if (strcmp(a, b) != 0)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "cannot merge filters of different spec or seed: '%.120s' and '%.120s'",
                          a, b);
    weir_status status = into->class->merge(into, from, err);
    if (status == WEIR_OK) {
        into->offered += from->offered;
        into->seen += from->seen;
    }
    return status;
}

weir_status weir__filter_check(const weir_filter *filter, weir_error *err) {
    if (filter->seen > filter->offered)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                          "the counters of the filter contradict each other");
    return filter->class->check ? filter->class->check(filter, err) : WEIR_OK;
}
