/* filter.c - what all filters share: from a spec to a filter, and the public calls.
 */
#include "filter/filter.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cells.h"

static const weir_option common_options[] = {
    [WEIR__OPT_MEMORY] =
        {"memory", WEIR_OPT_SIZE, 1024, 0x1p50, NULL, "256M",
         "the most memory its cells may use; tables of at most 8K come on top, for each "
         "slice or site"},
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

/* ---- from a spec to a filter ---- */

static weir__tables tables_of(const weir__filter_class *class) {
    return (weir__tables){.family = "filter",
                          .name = class->kind.name,
                          .common = common_options,
                          .own = class->kind.options};
}

weir_status weir__filter_find(const char *spec, const weir__filter_class **class, weir_error *err) {
    char name[WEIR__NAME_SIZE], names[256] = "";
    size_t used = 0;
    *class = NULL;
    weir_status status = weir__spec_name(spec, name, err);
    if (status != WEIR_OK) return status;
    for (size_t i = 0; weir__filter_classes[i]; i++) {
        const char *other = weir__filter_classes[i]->kind.name;
        if (strcmp(other, name) == 0) {
            *class = weir__filter_classes[i];
            return WEIR_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "", other);
    }
    return weir__unknown(err, 0, "filter", name, names);
}

static weir_status resolve_seed(weir_filter *filter, weir_error *err) {
    weir__value *seed = &filter->values[WEIR__OPT_SEED];
    if (!seed->given && !weir__random_seed(&seed->whole))
        return weir__fail(err, WEIR_ERR_IO, -1, "the system gives no random seed; set seed=");
    seed->given = true;
    weir__hasher_init(&filter->hasher, (weir__hash_kind)weir__opt_whole(filter, WEIR__OPT_HASH),
                      seed->whole);
    return WEIR_OK;
}

static weir_status make(weir_filter **out, const char *spec, const weir_allocator *allocator,
                        uint8_t *memory, uint64_t bytes, weir_error *err) {
    const weir__filter_class *class;
    *out = NULL;
    weir_status status = weir__filter_find(spec, &class, err);
    if (!class) return status == WEIR_OK ? WEIR_ERR_SPEC : status;

    weir_filter *filter = weir__alloc(allocator, class->size);
    if (!filter) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    filter->class = class;
    filter->allocator = *allocator;
    filter->cells = memory;
    filter->lent_bytes = bytes;
    weir__tables tables = tables_of(class);
    tables.allocator = *allocator;
    status = weir__spec_read(&tables, spec, filter->values, err);
    if (status == WEIR_OK) status = resolve_seed(filter, err);
    if (status == WEIR_OK) status = class->create(filter, err);
    if (status == WEIR_OK) status = weir__spec_fits(weir_filter_spec(filter, NULL, 0), err);
    if (status != WEIR_OK) {
        weir_filter_free(filter);
        return status;
    }
    assert(filter->cells && filter->cells_bytes);                 /* create() has mapped them */
    assert(memory || (uintptr_t)filter->cells % WEIR__LINE == 0); /* lines are cache lines */
    class->start(filter);
    *out = filter;
    return WEIR_OK;
}

weir_status weir__filter_new_in(weir_filter **out, const char *spec, const weir_filter *owner,
                                uint8_t *memory, uint64_t bytes, weir_error *err) {
    return make(out, spec, &owner->allocator, memory, bytes, err);
}

weir_status weir_filter_new_with(weir_filter **out, const char *spec,
                                 const weir_allocator *allocator, weir_error *err) {
    return make(out, spec, allocator ? allocator : &(weir_allocator){0}, NULL, 0, err);
}

weir_status weir_filter_new(weir_filter **out, const char *spec, weir_error *err) {
    return weir_filter_new_with(out, spec, NULL, err);
}

weir_status weir__filter_map(weir_filter *filter, uint64_t bytes, weir_error *err) {
    filter->cells_bytes = bytes;
    if (filter->lent_bytes)
        return bytes <= filter->lent_bytes
                   ? WEIR_OK
                   : weir__fail(err, WEIR_ERR_MEMORY, -1,
                                "a filter asks for %llu bytes of a share of %llu",
                                (unsigned long long)bytes, (unsigned long long)filter->lent_bytes);
    return weir__cells_new(&filter->allocator, bytes, &filter->cells, &filter->cells_base, err);
}

void weir_filter_free(weir_filter *filter) {
    if (!filter) return;
    if (filter->class->destroy) filter->class->destroy(filter);
    weir_allocator allocator = filter->allocator;
    if (filter->cells_base) weir__cells_free(&allocator, filter->cells_base, filter->cells_bytes);
    weir__values_free(&allocator, filter->values);
    weir__free(&allocator, filter);
}

void weir_filter_clear(weir_filter *filter) {
    assert(filter->cells_bytes);
    if (filter->lent_bytes) memset(filter->cells, 0, filter->cells_bytes);
    else weir__cells_clear(&filter->allocator, filter->cells, filter->cells_bytes);
    if (filter->class->clear) filter->class->clear(filter);
    memset(weir__filter_state(filter), 0, filter->class->state_words * sizeof(uint64_t));
    filter->offered = filter->seen = 0;
    filter->class->start(filter);
}

/* ---- helpers ---- */

void weir_filter_share(weir_filter *filter, weir_share_fn *share, void *context) {
    filter->share = share;
    filter->share_context = context;
}

void weir__filter_share(weir_filter *filter, weir_part_fn *part, void *work, size_t count) {
    if (filter->share && count > 1) filter->share(filter->share_context, part, work, count);
    else
        for (size_t i = 0; i < count; i++) part(work, i);
}

/* ---- offering and testing ---- */

/* Every class promises of its verdicts: as many bits as keys were called SEEN, none past the
 * last key. */
__attribute__((unused)) static bool verdicts_add_up(const uint64_t *verdicts, size_t count,
                                                    size_t seen) {
    size_t ones = 0, last = count % 64;
    for (size_t i = 0; i < WEIR_VERDICT_WORDS(count); i++)
        ones += (size_t)__builtin_popcountll(verdicts[i]);
    return ones == seen && (!last || verdicts[count / 64] >> last == 0);
}

uint64_t weir_filter_hash(const weir_filter *filter, const void *key, size_t length) {
    return weir__hash(&filter->hasher, key, length);
}

void weir_filter_hash_records(const weir_filter *filter, const void *base, const uint32_t *offsets,
                              size_t count, size_t tail, uint64_t *hashes) {
    weir__hash_records(&filter->hasher, base, offsets, count, tail, hashes);
}

size_t weir_filter_offer_batch(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    if (!batch->count) return 0;
    memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * sizeof *verdicts);
    size_t seen = filter->class->offer(filter, batch, verdicts);
    if (seen == WEIR_STOPPED) return seen;
    assert(verdicts_add_up(verdicts, batch->count, seen));
    if (filter->class->concurrent) {
        __atomic_fetch_add(&filter->offered, batch->count, __ATOMIC_RELAXED);
        __atomic_fetch_add(&filter->seen, seen, __ATOMIC_RELAXED);
    } else {
        filter->offered += batch->count;
        filter->seen += seen;
    }
    return seen;
}

size_t weir_filter_test_batch(const weir_filter *filter, const weir_batch *batch,
                              uint64_t *verdicts) {
    if (!batch->count) return 0;
    memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * sizeof *verdicts);
    size_t seen = filter->class->test(filter, batch, verdicts);
    assert(seen == WEIR_STOPPED || verdicts_add_up(verdicts, batch->count, seen));
    return seen;
}

weir_verdict weir_filter_offer(weir_filter *filter, const void *key, size_t length) {
    uint64_t hash = weir_filter_hash(filter, key, length), verdict;
    size_t seen =
        weir_filter_offer_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return seen == WEIR_STOPPED ? WEIR_UNDECIDED : (weir_verdict)verdict;
}

weir_verdict weir_filter_test(const weir_filter *filter, const void *key, size_t length) {
    uint64_t hash = weir_filter_hash(filter, key, length), verdict;
    size_t seen =
        weir_filter_test_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return seen == WEIR_STOPPED ? WEIR_UNDECIDED : (weir_verdict)verdict;
}

/* ---- taking out and counting ---- */

weir_status weir_filter_remove_batch(weir_filter *filter, const weir_batch *batch,
                                     uint64_t *verdicts, weir_error *err) {
    memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * sizeof *verdicts);
    if (!filter->class->remove)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "keys cannot be removed from a '%s' filter; take counting or spectral",
                          filter->class->kind.name);
    return filter->class->remove(filter, batch, verdicts, err);
}

weir_status weir_filter_remove(weir_filter *filter, const void *key, size_t length,
                               weir_verdict *was, weir_error *err) {
    uint64_t hash = weir_filter_hash(filter, key, length), verdict;
    weir_status status =
        weir_filter_remove_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict, err);
    if (status == WEIR_OK && was) *was = (weir_verdict)verdict;
    return status;
}

weir_status weir_filter_count(const weir_filter *filter, const void *key, size_t length,
                              uint64_t *count, weir_error *err) {
    if (!filter->class->count)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "a '%s' filter does not count; take spectral or counting",
                          filter->class->kind.name);
    *count = filter->class->count(filter, weir_filter_hash(filter, key, length));
    return WEIR_OK;
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
        .fpr_implied = filter->values[WEIR__OPT_FPR].implied,
        .uses_importance = filter->class->kind.uses_importance,
        .memory_asked = weir__opt_whole(filter, WEIR__OPT_MEMORY),
    };
    filter->class->info(filter, info);
}

void weir_filter_totals(const weir_filter *filter, uint64_t *offered, uint64_t *seen) {
    *offered = filter->offered;
    *seen = filter->seen;
}

size_t weir_filter_spec(const weir_filter *filter, char *buffer, size_t size) {
    weir__tables tables = tables_of(filter->class);
    return weir__spec_print(&tables, filter->values, buffer, size);
}

void weir_filter_details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    if (filter->class->details) filter->class->details(filter, each, context);
}

weir_status weir_filter_expect(const weir_filter *filter, const weir_stream_model *model,
                               weir_expectation *expectation, weir_error *err) {
    if (!filter->class->expect)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "'%s' filters have no formula for that",
                          filter->class->kind.name);
    filter->class->expect(filter, model, expectation);
    return WEIR_OK;
}

/* ---- merging and checking ---- */

weir_status weir_filter_merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    const char *name = into->class->kind.name;
    weir__tables tables = tables_of(into->class);
    if (into->class != from->class)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "cannot merge a '%s' filter with a '%s' filter", name,
                          from->class->kind.name);
    if (!into->class->merge)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "'%s' filters cannot be merged: %s", name,
                          into->class->no_merge);
    const weir_option *other = weir__values_differ(&tables, into->values, from->values);
    if (other)
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "cannot merge filters of different spec: '%s' is not the same",
                          other->name);
    weir_status status = into->class->merge(into, from, err);
    if (status == WEIR_OK) {
        into->offered += from->offered;
        into->seen += from->seen;
    }
    return status;
}

/* ---- for snapshots ---- */

static weir_status make_any(void **out, const char *spec, const weir_allocator *allocator,
                            weir_error *err) {
    weir_filter *filter;
    weir_status status = weir_filter_new_with(&filter, spec, allocator, err);
    *out = filter;
    return status;
}

static size_t spec_of_any(const void *filter, char *buffer, size_t size) {
    return weir_filter_spec(filter, buffer, size);
}

static void image_of_any(const void *object, weir__image *image) {
    weir_filter *filter = (weir_filter *)(uintptr_t)object;
    *image = (weir__image){
        .probe = weir_filter_hash(filter, "weir", 4),
        .totals = {&filter->offered, &filter->seen},
        .words = weir__filter_state(filter),
        .word_count = filter->class->state_words,
        .cells = filter->cells,
        .cells_bytes = filter->cells_bytes,
    };
}

weir_status weir__filter_check(const weir_filter *filter, weir_error *err) {
    if (filter->seen > filter->offered)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                          "the counters of the filter contradict each other");
    return filter->class->check ? filter->class->check(filter, err) : WEIR_OK;
}

static weir_status check_any(void *filter, weir_error *err) {
    return weir__filter_check(filter, err);
}

static void free_any(void *filter) { weir_filter_free(filter); }

static bool packs_any(const void *filter) {
    return ((const weir_filter *)filter)->class->pack != NULL;
}

static void pack_any(const void *filter, uint64_t at, uint8_t *bytes, size_t length) {
    ((const weir_filter *)filter)->class->pack(filter, at, bytes, length);
}

const weir__family weir__filter_family = {
    .name = "filter",
    .number = 1,
    .make = make_any,
    .spec = spec_of_any,
    .image = image_of_any,
    .check = check_any,
    .free = free_any,
    .pack = pack_any,
    .packs = packs_any,
};
