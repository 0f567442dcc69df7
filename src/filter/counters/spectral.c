/* spectral.c - spectral Bloom filter: how often, more closely than by counting.
 *
 * Question   is this key in the set, and how often was it offered?
 * Idea       counters as in counting.c, whose least one overestimates a key now
 *            and then. Two ways to be wrong less often:
 *   method=increase   (minimal increase) an offer raises only those of the key's
 *            counters that are at the least value. Never too low, and too high
 *            less often than plain counters; but nothing can be removed, as it is
 *            not known which counters a key has raised.
 *   method=recurring  (recurring minimum) an offer raises all. A key whose least
 *            value stands in two of its counters is rarely wrong; one whose least
 *            value stands alone is kept in a second, smaller array as well, from
 *            that value on, and asked for there. Keys can be removed.
 * Parameters m counters of d bits (8), k per key; recurring gives a third of the
 *            memory to the second array, as its authors do.
 * Error      verdicts: false positives as a Bloom filter of m bits; no false
 *            negatives (the verdict looks at the first array alone). Counts:
 *            increase is wrong, upwards, at most with the chance that a new key is
 *            called SEEN. recurring may be wrong both ways: a key that is in the
 *            second array but stood safely in the first for a while is not counted
 *            there meanwhile.
 * Overflow   a counter stays at its top: counts of 2^d - 1 mean that or more.
 * Merge      increase: counters added; still never too low, though higher than one
 *            filter over both streams would be. recurring: refused, since a key
 *            may be in the second array of one filter only.
 * Cost       classic: k random lines per key, 2k where a least value stands alone;
 *            block: one.
 * Source     Cohen, Matias, SIGMOD 2003; thesis 2.1.1. We differ: places from one
 *            hash, no third array that marks the keys of the second, whether a least
 *            value stands alone is looked up before the counters change (the same,
 *            but where one sticks), and a count from the second array is cut to
 *            what the first allows.
 */
#include <assert.h>

#include "filter/counters/counters_line.h"

enum { OPT_METHOD = WEIR__COUNTERS_OWN };

typedef struct {
    weir_filter base;
    weir__counters first, second;
    bool recurring;
    group_plan plan; /* block: how a key's counters in the first array are found */
    struct {
        uint64_t removed; /* offers taken back */
        uint64_t absent;  /* removals of keys that were not there */
        uint64_t moved;   /* recurring: keys put into the second array */
    } state;
} spectral_filter;

static weir_status create(weir_filter *filter, weir_error *err) {
    spectral_filter *f = (spectral_filter *)filter;
    f->recurring = weir__opt_whole(filter, OPT_METHOD) == 0;
    weir_status status = weir__counters_create(filter, &f->first, &f->second, f->recurring, err);
    if (status == WEIR_OK && f->first.block) counters_plan(&f->first, &f->plan);
    return status;
}

static void start(weir_filter *filter) { (void)filter; }

/* --- one key ------------------------------------------------------------------------ */

static bool has(const spectral_filter *f, weir__counters_key key, const uint64_t *places) {
    bool all = true;
    for (unsigned j = 0; j < f->first.k; j++)
        all &= weir__counters_get(key.words, &f->first, places[j]) != 0;
    return all;
}

static bool increase(const spectral_filter *f, weir__counters_key key, const uint64_t *places) {
    unsigned times, least = weir__counters_least(key.words, &f->first, places, &times);
    for (unsigned j = 0; j < f->first.k; j++) /* no branch: it could not be foreseen */
        weir__counters_raise(key.words, &f->first, places[j],
                             weir__counters_get(key.words, &f->first, places[j]) == least);
    return least > 0;
}

/* One more in the second array; a key that was not there yet comes with all that
 * the first says it has. */
static void raise_second(spectral_filter *f, weir__counters_key key, unsigned value) {
    assert(f->recurring && value > 0);
    uint64_t places[WEIR__COUNTERS_K_MOST];
    unsigned times;
    weir__counters_places(&f->base, &f->second, key, places);
    bool there = weir__counters_least(key.words, &f->second, places, &times) > 0;
    f->state.moved += !there;
    for (unsigned j = 0; j < f->second.k; j++)
        weir__counters_raise(key.words, &f->second, places[j], there ? 1 : value);
}

static void lower_second(const spectral_filter *f, weir__counters_key key) {
    assert(f->recurring);
    uint64_t places[WEIR__COUNTERS_K_MOST];
    unsigned times;
    weir__counters_places(&f->base, &f->second, key, places);
    if (weir__counters_least(key.words, &f->second, places, &times) == 0) return;
    for (unsigned j = 0; j < f->second.k; j++)
        weir__counters_lower(key.words, &f->second, places[j]);
}

/* With one counter per key a least value says nothing by standing alone. */
static bool stands_alone(const spectral_filter *f, unsigned times) {
    return times == 1 && f->first.k > 1;
}

static bool raise_all(spectral_filter *f, weir__counters_key key, const uint64_t *places) {
    unsigned times, least = weir__counters_least(key.words, &f->first, places, &times);
    for (unsigned j = 0; j < f->first.k; j++)
        weir__counters_raise(key.words, &f->first, places[j], 1);
    if (stands_alone(f, times)) raise_second(f, key, least + 1);
    return least > 0;
}

static bool lower_all(spectral_filter *f, weir__counters_key key, const uint64_t *places) {
    unsigned times, least = weir__counters_least(key.words, &f->first, places, &times);
    f->state.removed += least > 0;
    f->state.absent += least == 0;
    if (least == 0) return false;
    for (unsigned j = 0; j < f->first.k; j++) weir__counters_lower(key.words, &f->first, places[j]);
    if (stands_alone(f, times)) lower_second(f, key);
    return true;
}

/* --- in batches ------------------------------------------------------------------------ */

/* A key's places in the first array, then what those in the second are found from
 * where they are needed. Also in a line the places of many keys are found before the
 * first is decided on: what is decided cannot be foreseen, and a wrong guess would
 * throw away the work on the next keys. */
static void find(const void *filter, uint64_t hash, uint64_t *places) {
    const spectral_filter *f = filter;
    assert(f->first.k + 2 <= WEIR__PLACES);
    weir__counters_key key = weir__counters_key_of(&f->base, &f->first, hash);
    if (f->first.block) __builtin_prefetch(key.words, 1);
    weir__counters_places(&f->base, &f->first, key, places);
    places[f->first.k] = key.source;
    places[f->first.k + 1] = (uint64_t)(key.words - (uint64_t *)(void *)f->base.cells);
}

static weir__counters_key key_at(const spectral_filter *f, const uint64_t *places) {
    uint64_t *words = (uint64_t *)(void *)f->base.cells + places[f->first.k + 1];
    return (weir__counters_key){words, places[f->first.k]};
}

static bool test_one(void *f, const uint64_t *places) { return has(f, key_at(f, places), places); }
static bool increase_one(void *f, const uint64_t *places) {
    return increase(f, key_at(f, places), places);
}
static bool raise_one(void *f, const uint64_t *places) {
    return raise_all(f, key_at(f, places), places);
}
static bool lower_one(void *f, const uint64_t *places) {
    return lower_all(f, key_at(f, places), places);
}

/* --- block: the words of a line at once -------------------------------------------------- */

HOT bool line_test(spectral_filter *f, const uint64_t *line, uint64_t rest, unsigned width,
                   cpu_kind cpu) {
    line_halves ones = group_ones(&f->plan, rest, cpu), words = load_line(line);
    return all_used(&words, &ones, width);
}

HOT bool line_offer(spectral_filter *f, uint64_t *line, uint64_t rest, unsigned width,
                    cpu_kind cpu) {
    line_halves ones = group_ones(&f->plan, rest, cpu), words = load_line(line), least_ones;
    least_ones = unused_ones(&words, &ones, width);
    uint64_t times = ones_in(&least_ones);
    unsigned least = 0;
    if (!times) { /* else the least is 0: what a new key finds is as good as foreseen */
        least = least_of(&words, &ones, width, &least_ones, cpu);
        times = ones_in(&least_ones);
    }
    raise_ones(&words, f->recurring ? &ones : &least_ones, width);
    store_line(line, words);
    if (f->recurring && stands_alone(f, (unsigned)times))
        raise_second(f, (weir__counters_key){line, rest}, least + 1);
    return least > 0;
}

/* The widths apart, so that the compiler knows them. */
HOT bool block_test(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    switch (((const spectral_filter *)f)->first.width) {
    case 2:
        return line_test(f, line, rest, 2, cpu);
    case 4:
        return line_test(f, line, rest, 4, cpu);
    case 8:
        return line_test(f, line, rest, 8, cpu);
    default:
        return line_test(f, line, rest, 16, cpu);
    }
}
HOT bool block_offer(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    switch (((const spectral_filter *)f)->first.width) {
    case 2:
        return line_offer(f, line, rest, 2, cpu);
    case 4:
        return line_offer(f, line, rest, 4, cpu);
    case 8:
        return line_offer(f, line, rest, 8, cpu);
    default:
        return line_offer(f, line, rest, 16, cpu);
    }
}

HOT size_t lines_do_all(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                        bool offers, cpu_kind cpu) {
    uint64_t lines = ((const spectral_filter *)filter)->first.lines;
    if (!offers) return weir__each_line(filter, lines, batch, verdicts, false, block_test, cpu);
    return weir__each_line(filter, lines, batch, verdicts, true, block_offer, cpu);
}
FOR_EACH_CPU_TOLD(size_t, lines_do,
                  (const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                   bool offers),
                  filter, batch, verdicts, offers)

/* --- the table ------------------------------------------------------------------------- */

static unsigned per_key(const weir_filter *filter) {
    return ((const spectral_filter *)filter)->first.k + 2;
}

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    if (((const spectral_filter *)filter)->first.block)
        return lines_do(filter, batch, verdicts, true);
    if (((const spectral_filter *)filter)->recurring)
        return weir__each_key(filter, per_key(filter), batch, verdicts, find, raise_one);
    return weir__each_key(filter, per_key(filter), batch, verdicts, find, increase_one);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    if (((const spectral_filter *)filter)->first.block)
        return lines_do(filter, batch, verdicts, false);
    return weir__each_key(filter, per_key(filter), batch, verdicts, find, test_one);
}

static weir_status remove_keys(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                               weir_error *err) {
    if (!((const spectral_filter *)filter)->recurring)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "keys cannot be removed from a 'spectral' filter with method=increase: "
                          "it is not known which counters a key has raised; take "
                          "method=recurring");
    weir__each_key(filter, per_key(filter), batch, verdicts, find, lower_one);
    return WEIR_OK;
}

static uint64_t count(const weir_filter *filter, uint64_t hash) {
    const spectral_filter *f = (const spectral_filter *)filter;
    weir__counters_key key = weir__counters_key_of(filter, &f->first, hash);
    uint64_t places[WEIR__COUNTERS_K_MOST];
    unsigned times, ignored;
    weir__counters_places(filter, &f->first, key, places);
    unsigned least = weir__counters_least(key.words, &f->first, places, &times);
    if (!f->recurring || least == 0 || !stands_alone(f, times)) return least;
    weir__counters_places(filter, &f->second, key, places);
    unsigned second = weir__counters_least(key.words, &f->second, places, &ignored);
    return second > 0 && second < least ? second : least;
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    weir__counters_info(filter, &((const spectral_filter *)filter)->first, info);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const spectral_filter *f = (const spectral_filter *)filter;
    weir__counters_details(filter, &f->first, each, context);
    weir__detail(each, context, "removed", "offers taken back", "%llu",
                 (unsigned long long)f->state.removed);
    weir__detail(each, context, "removed_absent", "removals of keys that were not there", "%llu",
                 (unsigned long long)f->state.absent);
    weir__detail(each, context, "moved", "times that a key was put into the second array", "%llu",
                 (unsigned long long)f->state.moved);
}

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    const spectral_filter *f = (const spectral_filter *)into;
    if (f->recurring)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "'spectral' filters with method=recurring cannot be merged: a key may "
                          "be in the second array of one of them only; take method=increase");
    weir__counters_add(into, from, f->first.width);
    return WEIR_OK;
}

static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    weir__counters_expect(&((const spectral_filter *)filter)->first, model, expectation);
}

static const weir_option options[] = {
    WEIR__COUNTERS_OPTIONS("classic", "8"),
    {"method", WEIR_OPT_CHOICE, 0, 0, "recurring|increase", "recurring",
     "recurring minimum, which can remove keys, or minimal increase, which counts more closely"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__spectral_class = {
    .kind = {.name = "spectral",
             .summary = "spectral Bloom filter: never forgets, and says how often a key came",
             .advice = "Use it when both are asked of the same memory: seen before, and how "
                       "often. For verdicts alone bloom takes a twelfth of the memory; for counts "
                       "alone, of more keys than fit here, take a sketch.",
             .mergeable = false,
             .options = options},
    WEIR__FILTER_FUNCTIONS(spectral_filter),
    .details = details,
    .merge = merge,
    .remove = remove_keys,
    .count = count,
    .expect = expect,
};
