/* sketch.c - what all sketches share: from a spec to a sketch, and the public calls. */
#include "sketch/sketch.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A new sketch is its file and a line here. */
#define WEIR__SKETCHES(X)                                                                          \
    X(countmin)                                                                                    \
    X(agms)                                                                                        \
    X(top)                                                                                         \
    X(dyadic)                                                                                      \
    X(kll)                                                                                         \
    X(hll)                                                                                         \
    X(kmv)                                                                                         \
    X(linear)                                                                                      \
    X(multires)                                                                                    \
    X(pcsa)                                                                                        \
    X(distinct)                                                                                    \
    X(sample)                                                                                      \
    X(sticky)                                                                                      \
    X(spectral)                                                                                    \
    X(ams)                                                                                         \
    X(spacecode)                                                                                   \
    X(panes)

#define WEIR__DECLARE(name) extern const weir__sketch_class weir__##name##_sketch;
WEIR__SKETCHES(WEIR__DECLARE)

#define WEIR__LIST(name) &weir__##name##_sketch,
const weir__sketch_class *const weir__sketch_classes[] = {WEIR__SKETCHES(WEIR__LIST) NULL};

static const weir_option common_options[] = {
    [WEIR__SK_MEMORY] = {"memory", WEIR_OPT_SIZE, 64, 0x1p50, NULL, NULL,
                         "the most memory the sketch may use; each kind has its own default"},
    [WEIR__SK_SEED] = {"seed", WEIR_OPT_SEED, 0, 0, NULL, NULL,
                       "makes a run repeatable; drawn from the system if not given. Sketches that "
                       "are to be merged or joined need the same"},
    [WEIR__SK_HASH] = {"hash", WEIR_OPT_CHOICE, 0, 0, WEIR__HASH_CHOICES, "xxh3",
                       "hash function; siphash for streams made by an adversary"},
    [WEIR__SK_OWN] = {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir_option *weir_sketch_common_options(void) { return common_options; }

static uint32_t answers_of(const weir__sketch_class *c) {
    return (c->estimate ? WEIR_CAN_ESTIMATE : 0u) | (c->self_join ? WEIR_CAN_SELF_JOIN : 0u) |
           (c->join ? WEIR_CAN_JOIN : 0u) | (c->top ? WEIR_CAN_TOP : 0u) |
           (c->range ? WEIR_CAN_RANGE : 0u) | (c->quantile ? WEIR_CAN_QUANTILE : 0u) |
           (c->distinct ? WEIR_CAN_DISTINCT : 0u) | (c->common ? WEIR_CAN_COMMON : 0u) |
           (c->where ? WEIR_CAN_WHERE : 0u) | (c->sample ? WEIR_CAN_SAMPLE : 0u);
}

static const weir__sketch_class *class_at(size_t i) {
    for (size_t j = 0; weir__sketch_classes[j]; j++)
        if (j == i) return weir__sketch_classes[j];
    return NULL;
}

const weir_kind *weir_sketch_kind(size_t i) { return class_at(i) ? &class_at(i)->kind : NULL; }

uint32_t weir_sketch_kind_answers(size_t i) { return class_at(i) ? answers_of(class_at(i)) : 0; }

/* ---- from a spec to a sketch ---- */

static weir__tables tables_of(const weir__sketch_class *class) {
    return (weir__tables){.family = "sketch",
                          .name = class->kind.name,
                          .common = common_options,
                          .own = class->kind.options};
}

static weir_status find_class(const char *spec, const weir__sketch_class **class, weir_error *err) {
    char name[WEIR__NAME_SIZE], names[256] = "";
    size_t used = 0;
    *class = NULL;
    weir_status status = weir__spec_name(spec, name, err);
    if (status != WEIR_OK) return status;
    for (size_t i = 0; weir__sketch_classes[i]; i++) {
        const char *other = weir__sketch_classes[i]->kind.name;
        if (strcmp(other, name) == 0) {
            *class = weir__sketch_classes[i];
            return WEIR_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "", other);
    }
    return weir__unknown(err, 0, "sketch", name, names);
}

static weir_status resolve_seed(weir_sketch *s, weir_error *err) {
    weir__value *seed = &s->values[WEIR__SK_SEED];
    if (!seed->given && !weir__random_seed(&seed->whole))
        return weir__fail(err, WEIR_ERR_IO, -1, "the system gives no random seed; set seed=");
    seed->given = true;
    weir__hasher_init(&s->hasher, (weir__hash_kind)weir__sk_whole(s, WEIR__SK_HASH), seed->whole);
    return WEIR_OK;
}

weir_status weir__sketch_claim(weir_sketch *s, uint64_t bytes, weir_error *err) {
    if (weir__sk_given(s, WEIR__SK_MEMORY) && weir__sk_whole(s, WEIR__SK_MEMORY) < bytes) {
        char needed[32], given[32];
        return weir__sk_fail(s, WEIR__SK_MEMORY, err,
                             "memory=%s is less than the %s that this size needs",
                             weir_print_size(given, weir__sk_whole(s, WEIR__SK_MEMORY)),
                             weir_print_size(needed, bytes));
    }
    weir__sk_resolve(s, WEIR__SK_MEMORY, bytes < 64 ? 64 : bytes);
    s->cells_bytes = bytes;
    return WEIR_OK;
}

weir_status weir__sketch_make(weir_sketch **out, const char *spec, const weir_allocator *allocator,
                              weir_error *err) {
    const weir__sketch_class *class;
    *out = NULL;
    weir_status status = find_class(spec, &class, err);
    if (!class) return status == WEIR_OK ? WEIR_ERR_SPEC : status;
    weir_sketch *s = weir__alloc(allocator, class->size);
    if (!s) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    s->class = class;
    s->allocator = *allocator;
    s->borrows = true;
    s->needs = class->needs;
    weir__tables tables = tables_of(class);
    tables.allocator = *allocator;
    status = weir__spec_read(&tables, spec, s->values, err);
    if (status == WEIR_OK) status = resolve_seed(s, err);
    if (status == WEIR_OK) status = class->create(s, err);
    if (status != WEIR_OK) {
        weir_sketch_free(s);
        return status;
    }
    *out = s;
    return WEIR_OK;
}

weir_status weir_sketch_new_with(weir_sketch **out, const char *spec,
                                 const weir_allocator *allocator, weir_error *err) {
    weir_status status =
        weir__sketch_make(out, spec, allocator ? allocator : &(weir_allocator){0}, err);
    if (status != WEIR_OK) return status;
    weir_sketch *s = *out;
    status = weir__cells_new(&s->allocator, s->cells_bytes, &s->cells, &s->cells_base, err);
    if (status != WEIR_OK) {
        weir_sketch_free(s);
        *out = NULL;
        return status;
    }
    s->borrows = false;
    if (s->class->start) s->class->start(s);
    if (s->class->bind) s->class->bind(s);
    return WEIR_OK;
}

weir_status weir_sketch_new(weir_sketch **out, const char *spec, weir_error *err) {
    return weir_sketch_new_with(out, spec, NULL, err);
}

void weir_sketch_free(weir_sketch *s) {
    if (!s) return;
    if (s->class->close) s->class->close(s);
    weir_allocator allocator = s->allocator;
    if (s->cells_base) weir__cells_free(&allocator, s->cells_base, s->cells_bytes);
    weir__values_free(&allocator, s->values);
    weir__free(&allocator, s);
}

void weir_sketch_clear(weir_sketch *s) {
    if (s->borrows) memset(s->cells, 0, s->cells_bytes);
    else weir__cells_clear(&s->allocator, s->cells, s->cells_bytes);
    memset(weir__sketch_state(s), 0, s->class->state_words * sizeof(uint64_t));
    s->updates = s->total_bits = 0;
    if (s->class->start) s->class->start(s);
    if (s->class->bind) s->class->bind(s);
}

/* ---- adding ---- */

uint64_t weir_sketch_hash(const weir_sketch *s, const void *key, size_t length) {
    return weir__hash(&s->hasher, key, length);
}

void weir_sketch_hash_records(const weir_sketch *s, const void *base, const uint32_t *offsets,
                              size_t count, size_t tail, uint64_t *hashes) {
    weir__hash_records(&s->hasher, base, offsets, count, tail, hashes);
}

void weir_sketch_prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count) {
    if (s->class->prefetch) s->class->prefetch(s, hashes, count);
}

static weir_status refuse_batch(const weir_sketch *s, const weir_updates *u, weir_error *err) {
    unsigned needs = s->needs;
    const char *name = s->class->kind.name;
    if ((needs & WEIR__NEEDS_HASHES) && !u->hashes)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "a '%s' sketch takes hashes of keys", name);
    if ((needs & WEIR__NEEDS_VALUES) && !u->values)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "a '%s' sketch takes integer keys", name);
    if ((needs & WEIR__NEEDS_NUMBERS) && !u->values && !u->decimals)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "a '%s' sketch takes numbers as keys", name);
    if ((needs & WEIR__NEEDS_KEYS) && !u->key)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "a '%s' sketch needs the bytes of the keys",
                          name);
    if ((needs & WEIR__NEEDS_WHOLES) && u->fractions)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "a '%s' sketch takes whole weights only", name);
    return WEIR_OK;
}

/* How many updates come before the first whose weight makes no sense here. */
static size_t sensible(const weir_sketch *s, const weir_updates *u) {
    unsigned needs = s->needs;
    if (!u->weights && !u->fractions) return u->count;
    if (u->fractions)
        for (size_t i = 0; i < u->count; i++)
            if (!isfinite(u->fractions[i])) return i;
    if (!(needs & (WEIR__NEEDS_UNITS | WEIR__NEEDS_GAINS | WEIR__NEEDS_PRESENCE))) return u->count;
    for (size_t i = 0; i < u->count; i++) {
        double weight = weir__weight(u, i);
        if (weight < 0 || ((needs & WEIR__NEEDS_UNITS) && weight != 1)) return i;
    }
    return u->count;
}

static weir_status refuse_weight(const weir_sketch *s, const weir_updates *u, size_t i,
                                 weir_error *err) {
    double weight = weir__weight(u, i);
    if (s->needs & WEIR__NEEDS_UNITS)
        return weir__fail(err, WEIR_ERR_RANGE, (int64_t)i,
                          "a '%s' sketch takes records one by one: a weight of %g makes no sense",
                          s->class->kind.name, weight);
    if (!isfinite(weight))
        return weir__fail(err, WEIR_ERR_RANGE, (int64_t)i, "a weight of %g is not a number",
                          weight);
    return weir__fail(err, WEIR_ERR_RANGE, (int64_t)i,
                      "a '%s' sketch cannot take a negative weight (%g)", s->class->kind.name,
                      weight);
}

weir_status weir_sketch_add_batch(weir_sketch *s, const weir_updates *u, weir_error *err) {
    weir_updates part = *u;
    size_t done = 0;
    weir_status status = refuse_batch(s, u, err);
    if (status != WEIR_OK) return status;
    part.count = sensible(s, u);
    status = s->class->add(s, &part, &done, err);
    assert(status == WEIR_OK ? done == part.count : done <= part.count);
    s->updates += done;
    if (status != WEIR_OK || part.count == u->count) return status;
    return refuse_weight(s, u, part.count, err);
}

typedef struct {
    const void *key;
    size_t length;
} one_key;

static const void *bytes_of_one(void *context, size_t i, size_t *length) {
    (void)i;
    const one_key *one = context;
    *length = one->length;
    return one->key;
}

weir_status weir_sketch_add_key(weir_sketch *s, const void *key, size_t length,
                                const weir_updates *update, weir_error *err) {
    uint64_t hash = update->hashes ? update->hashes[0] : weir_sketch_hash(s, key, length);
    int64_t value = 0;
    double decimal = 0;
    one_key one = {key, length};
    weir_updates u = {.count = 1,
                      .hashes = &hash,
                      .values = &value,
                      .weights = update->weights,
                      .fractions = update->fractions,
                      .times = update->times,
                      .key = bytes_of_one,
                      .context = &one};
    if (s->needs & WEIR__NEEDS_VALUES) {
        weir_status status = weir_parse_integer(key, length, &value, err);
        if (status != WEIR_OK) return status;
    }
    if ((s->needs & WEIR__NEEDS_NUMBERS) && weir_parse_integer(key, length, &value, NULL)) {
        weir_status status = weir_parse_decimal(key, length, &decimal, err);
        if (status != WEIR_OK) return status;
        u.decimals = &decimal;
    }
    return weir_sketch_add_batch(s, &u, err);
}

weir_status weir_sketch_add(weir_sketch *s, const void *key, size_t length, int64_t weight,
                            weir_error *err) {
    return weir_sketch_add_key(s, key, length, &(weir_updates){.weights = &weight}, err);
}

void weir_sketch_advance(weir_sketch *s, int64_t time) {
    if (s->class->advance) s->class->advance(s, time);
}

/* ---- questions ---- */

static weir_status unanswered(const weir_sketch *s, const char *question, uint32_t answer,
                              weir_error *err) {
    char names[160] = "";
    size_t used = 0;
    for (size_t i = 0; class_at(i) && used < sizeof names; i++)
        if (class_at(i)->needs && (answers_of(class_at(i)) & answer)) /* a window needs nothing */
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     class_at(i)->kind.name);
    return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "a '%s' sketch cannot tell %s; use %s",
                      s->class->kind.name, question, names);
}

weir_status weir_sketch_estimate_hash(weir_sketch *s, uint64_t hash, weir_estimator by,
                                      weir_estimate *out, weir_error *err) {
    if (!s->class->estimate)
        return unanswered(s, "how often a key came by", WEIR_CAN_ESTIMATE, err);
    return s->class->estimate(s, hash, by, out, err);
}

weir_status weir_sketch_estimate(weir_sketch *s, const void *key, size_t length, weir_estimator by,
                                 weir_estimate *out, weir_error *err) {
    return weir_sketch_estimate_hash(s, weir_sketch_hash(s, key, length), by, out, err);
}

weir_status weir_sketch_self_join(weir_sketch *s, weir_estimator by, weir_estimate *out,
                                  weir_error *err) {
    if (!s->class->self_join) return unanswered(s, "the self-join size", WEIR_CAN_SELF_JOIN, err);
    return s->class->self_join(s, by, out, err);
}

/* Fails unless the two are alike in everything that matters. */
static weir_status compare(const weir_sketch *a, const weir_sketch *b, const char *what,
                           weir_error *err) {
    weir__tables tables = tables_of(a->class);
    if (a->class != b->class)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1, "cannot %s a '%s' sketch with a '%s' sketch",
                          what, a->class->kind.name, b->class->kind.name);
    const weir_option *other = weir__values_differ(&tables, a->values, b->values);
    if (other)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "cannot %s sketches of different spec: '%s' is not the same", what,
                          other->name);
    return WEIR_OK;
}

weir_status weir_sketch_join(weir_sketch *a, weir_sketch *b, weir_estimator by, weir_estimate *out,
                             weir_error *err) {
    if (!a->class->join) return unanswered(a, "the join size of two streams", WEIR_CAN_JOIN, err);
    weir_status status = compare(a, b, "join", err);
    return status == WEIR_OK ? a->class->join(a, b, by, out, err) : status;
}

static weir_status list_top(weir_sketch *s, double above, weir_estimator by, weir_items *out,
                            weir_error *err) {
    if (!s->class->top) return unanswered(s, "which keys are the most frequent", WEIR_CAN_TOP, err);
    out->found = 0;
    out->complete = false;
    return s->class->top(s, above, by, out, err);
}

weir_status weir_sketch_top(weir_sketch *s, weir_estimator by, weir_items *out, weir_error *err) {
    return list_top(s, 0, by, out, err);
}

weir_status weir_sketch_above(weir_sketch *s, double share, weir_estimator by, weir_items *out,
                              weir_error *err) {
    weir_sketch_info info;
    if (!(share > 0 && share < 1))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a share of %g is not between 0 and 1", share);
    weir_sketch_get_info(s, &info);
    return list_top(s, share * info.total, by, out, err);
}

weir_status weir_sketch_range(weir_sketch *s, int64_t low, int64_t high, weir_estimator by,
                              weir_estimate *out, weir_error *err) {
    if (!s->class->range) return unanswered(s, "the weight of a range", WEIR_CAN_RANGE, err);
    if (low > high)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a range from %lld to %lld is empty",
                          (long long)low, (long long)high);
    return s->class->range(s, low, high, by, out, err);
}

weir_status weir_sketch_quantile(weir_sketch *s, double share, weir_quantile *out,
                                 weir_error *err) {
    if (!s->class->quantile) return unanswered(s, "quantiles", WEIR_CAN_QUANTILE, err);
    if (!(share >= 0 && share <= 1))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a quantile of %g is not between 0 and 1",
                          share);
    weir_sketch_info info;
    weir_sketch_get_info(s, &info);
    if (!(info.total > 0))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "nothing was counted, so there is no quantile");
    return s->class->quantile(s, share, out, err);
}

weir_status weir_sketch_distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    if (!s->class->distinct)
        return unanswered(s, "how many different keys there were", WEIR_CAN_DISTINCT, err);
    return s->class->distinct(s, out, err);
}

weir_status weir_sketch_common(weir_sketch *a, weir_sketch *b, weir_estimate *out,
                               weir_error *err) {
    if (!a->class->common)
        return unanswered(a, "how many keys two streams have in common", WEIR_CAN_COMMON, err);
    weir_status status = compare(a, b, "compare", err);
    return status == WEIR_OK ? a->class->common(a, b, out, err) : status;
}

weir_status weir_sketch_distinct_where(weir_sketch *s, weir_accept_fn *accept, void *context,
                                       weir_estimate *out, weir_error *err) {
    if (!s->class->where)
        return unanswered(s, "how many different keys are of some sort", WEIR_CAN_WHERE, err);
    return s->class->where(s, accept, context, out, err);
}

weir_status weir_sketch_sample(weir_sketch *s, weir_items *out, weir_error *err) {
    if (!s->class->sample) return unanswered(s, "a sample of the keys", WEIR_CAN_SAMPLE, err);
    out->found = 0;
    out->complete = false;
    return s->class->sample(s, out, err);
}

/* ---- merging and looking inside ---- */

weir_status weir_sketch_merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    if (into->class == from->class && !into->class->merge)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "'%s' sketches cannot be merged: %s",
                          into->class->kind.name, into->class->no_merge);
    weir_status status = compare(into, from, "merge", err);
    if (status == WEIR_OK) status = into->class->merge(into, from, err);
    if (status == WEIR_OK) into->updates += from->updates;
    return status;
}

/* A window or a half-life that is a duration, here or in a sketch within. */
static bool uses_time(const weir_sketch *s) {
    const weir_option *own = s->class->kind.options;
    for (int i = 0; own[i].name; i++) {
        const weir__value *value = &s->values[WEIR__SK_OWN + i];
        if (own[i].type == WEIR_OPT_SPAN && value->whole && value->is_time) return true;
        char decay[64];
        if (own[i].type == WEIR_OPT_SPEC && value->text &&
            weir_spec_get(value->text, "decay", decay, sizeof decay))
            return true;
    }
    return false;
}

void weir_sketch_get_info(const weir_sketch *s, weir_sketch_info *info) {
    *info = (weir_sketch_info){
        .name = s->class->kind.name,
        .seed = weir__sk_whole(s, WEIR__SK_SEED),
        .memory = s->cells_bytes + s->class->size,
        .updates = s->updates,
        .total = weir__total(s),
        .answers = answers_of(s->class),
        .takes_decimals = (s->needs & WEIR__NEEDS_NUMBERS) != 0,
        .uses_time = uses_time(s),
    };
    if (s->class->info) s->class->info(s, info);
}

size_t weir_sketch_spec(const weir_sketch *s, char *buffer, size_t size) {
    weir__tables tables = tables_of(s->class);
    return weir__spec_print(&tables, s->values, buffer, size);
}

void weir_sketch_details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    if (s->class->details) s->class->details(s, each, context);
}

/* ---- for snapshots ---- */

static weir_status make_any(void **out, const char *spec, const weir_allocator *allocator,
                            weir_error *err) {
    weir_sketch *s;
    weir_status status = weir_sketch_new_with(&s, spec, allocator, err);
    *out = s;
    return status;
}

static size_t spec_of_any(const void *s, char *buffer, size_t size) {
    return weir_sketch_spec(s, buffer, size);
}

static void image_of_any(const void *object, weir__image *image) {
    weir_sketch *s = (weir_sketch *)(uintptr_t)object;
    *image = (weir__image){
        .probe = weir_sketch_hash(s, "weir", 4),
        .totals = {&s->updates, &s->total_bits},
        .words = weir__sketch_state(s),
        .word_count = s->class->state_words,
        .cells = s->cells,
        .cells_bytes = s->cells_bytes,
    };
}

weir_status weir__sketch_check(weir_sketch *s, weir_error *err) {
    if (!isfinite(weir__total(s)))
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the total of the sketch is no number");
    weir_status status = s->class->check ? s->class->check(s, err) : WEIR_OK;
    if (status == WEIR_OK && s->class->bind) s->class->bind(s);
    return status;
}

static weir_status check_any(void *s, weir_error *err) { return weir__sketch_check(s, err); }

static void free_any(void *s) { weir_sketch_free(s); }

const weir__family weir__sketch_family = {
    .name = "sketch",
    .number = 4,
    .make = make_any,
    .spec = spec_of_any,
    .image = image_of_any,
    .check = check_any,
    .free = free_any,
};
