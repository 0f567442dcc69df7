/* counting.c - counting Bloom filter: keys can be taken out again.
 *
 * Question   is this key in the set, which grows and shrinks?
 * Idea       a Bloom filter of small counters. Offering a key raises its k
 *            counters, each time it is offered; removing it lowers them. All
 *            non-zero means SEEN.
 * Parameters m counters of d bits (4: a counter passes 15 by chance once in
 *            10^15 at capacity), k per key, n distinct keys. Two of memory,
 *            capacity and fpr give the third.
 * Error      false positives: as a Bloom filter of m bits that holds the keys
 *            which are in now. No false negatives: a key offered more often
 *            than removed is SEEN. Only removing what was never offered breaks
 *            that: such a key is refused if it is NEW (nothing changes), but at
 *            the rate fpr it is called SEEN, and takes its counters from others.
 * Overflow   a counter that reaches its top stays there and is never lowered, as
 *            its true value is not known. That keeps the promise above and costs
 *            false positives: what was stuck stays in. Keys offered very often
 *            (15 times, with 4 bits) therefore stay for good.
 * Count      the least of a key's counters: never too low; too high with the
 *            chance that a new key is called SEEN, since all its counters were
 *            then raised by others as well.
 * Merge      counters added: the filter of both streams.
 * Cost       classic: k random lines per key; block: one. d bits for each bit
 *            of a Bloom filter; counters.h has the layouts.
 * Source     Fan, Cao, Almeida, Broder, ToN 8(3), 2000; thesis 2.1.1. We differ:
 *            places from one hash, the exact rates (counters.c), k groups in a
 *            line, and a removal looks first whether the key is there.
 */
#include "filter/counters/counters_line.h"

typedef struct {
    weir_filter base;
    weir__counters counters;
    group_plan plan; /* block: how a key's counters are found */
    struct {
        uint64_t removed; /* offers taken back */
        uint64_t absent;  /* removals of keys that were not there */
    } state;
} counting_filter;

static weir_status create(weir_filter *filter, weir_error *err) {
    counting_filter *f = (counting_filter *)filter;
    weir_status status = weir__counters_create(filter, &f->counters, NULL, false, err);
    if (status == WEIR_OK && f->counters.block) counters_plan(&f->counters, &f->plan);
    return status;
}

static void start(weir_filter *filter) { (void)filter; }

static bool note_removal(counting_filter *f, bool was_there) {
    f->state.removed += was_there;
    f->state.absent += !was_there;
    return was_there;
}

/* --- classic ---------------------------------------------------------------------- */

static void find(const void *filter, uint64_t hash, uint64_t *places) {
    const counting_filter *f = filter;
    weir__counters_find(&f->base, &f->counters, hash, places);
}

static uint64_t *words_of(const counting_filter *f) { return (uint64_t *)(void *)f->base.cells; }

static bool classic_test(void *filter, const uint64_t *places) {
    const counting_filter *f = filter;
    bool all = true;
    for (unsigned j = 0; j < f->counters.k; j++)
        all &= weir__counters_get(words_of(f), &f->counters, places[j]) != 0;
    return all;
}

static bool classic_offer(void *filter, const uint64_t *places) {
    counting_filter *f = filter;
    bool all = classic_test(filter, places);
    for (unsigned j = 0; j < f->counters.k; j++)
        weir__counters_raise(words_of(f), &f->counters, places[j], 1);
    return all;
}

static bool classic_remove(void *filter, const uint64_t *places) {
    counting_filter *f = filter;
    bool all = classic_test(filter, places);
    for (unsigned j = 0; all && j < f->counters.k; j++)
        weir__counters_lower(words_of(f), &f->counters, places[j]);
    return note_removal(f, all);
}

/* --- block: the words of a line at once -------------------------------------------- */

enum { TEST, OFFER, REMOVE };

HOT bool line_do(counting_filter *f, uint64_t *line, uint64_t rest, int what, unsigned width,
                 cpu_kind cpu) {
    line_halves ones = group_ones(&f->plan, rest, cpu), words = load_line(line);
    bool has = all_used(&words, &ones, width);
    if (what == OFFER) raise_ones(&words, &ones, width);
    if (what == REMOVE && has) lower_ones(&words, &ones, width);
    if (what != TEST) store_line(line, words);
    return what == REMOVE ? note_removal(f, has) : has;
}

/* The widths apart, so that the compiler knows them. */
HOT bool line_with_width(counting_filter *f, uint64_t *line, uint64_t rest, int what,
                         cpu_kind cpu) {
    switch (f->counters.width) {
    case 2:
        return line_do(f, line, rest, what, 2, cpu);
    case 4:
        return line_do(f, line, rest, what, 4, cpu);
    case 8:
        return line_do(f, line, rest, what, 8, cpu);
    default:
        return line_do(f, line, rest, what, 16, cpu);
    }
}

HOT bool block_test(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    return line_with_width(f, line, rest, TEST, cpu);
}
HOT bool block_offer(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    return line_with_width(f, line, rest, OFFER, cpu);
}
HOT bool block_remove(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    return line_with_width(f, line, rest, REMOVE, cpu);
}

HOT size_t lines_do_all(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                        int what, cpu_kind cpu) {
    uint64_t lines = ((const counting_filter *)filter)->counters.lines;
    if (what == TEST)
        return weir__each_line(filter, lines, batch, verdicts, false, block_test, cpu);
    if (what == OFFER)
        return weir__each_line(filter, lines, batch, verdicts, true, block_offer, cpu);
    return weir__each_line(filter, lines, batch, verdicts, true, block_remove, cpu);
}
FOR_EACH_CPU_TOLD(size_t, lines_do,
                  (const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                   int what),
                  filter, batch, verdicts, what)

/* --- the table ----------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const weir__counters *c = &((const counting_filter *)filter)->counters;
    if (c->block) return lines_do(filter, batch, verdicts, OFFER);
    return weir__each_key(filter, c->k, batch, verdicts, find, classic_offer);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const weir__counters *c = &((const counting_filter *)filter)->counters;
    if (c->block) return lines_do(filter, batch, verdicts, TEST);
    return weir__each_key(filter, c->k, batch, verdicts, find, classic_test);
}

static weir_status remove_keys(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                               weir_error *err) {
    (void)err;
    const weir__counters *c = &((const counting_filter *)filter)->counters;
    if (c->block) lines_do(filter, batch, verdicts, REMOVE);
    else weir__each_key(filter, c->k, batch, verdicts, find, classic_remove);
    return WEIR_OK;
}

static uint64_t count(const weir_filter *filter, uint64_t hash) {
    const weir__counters *c = &((const counting_filter *)filter)->counters;
    weir__counters_key key = weir__counters_key_of(filter, c, hash);
    uint64_t places[WEIR__COUNTERS_K_MOST];
    unsigned times;
    weir__counters_places(filter, c, key, places);
    return weir__counters_least(key.words, c, places, &times);
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    weir__counters_info(filter, &((const counting_filter *)filter)->counters, info);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const counting_filter *f = (const counting_filter *)filter;
    weir__counters_details(filter, &f->counters, each, context);
    weir__detail(each, context, "removed", "offers taken back", "%llu",
                 (unsigned long long)f->state.removed);
    weir__detail(each, context, "removed_absent", "removals of keys that were not there", "%llu",
                 (unsigned long long)f->state.absent);
}

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    (void)err;
    counting_filter *f = (counting_filter *)into;
    const counting_filter *other = (const counting_filter *)from;
    weir__counters_add(into, from, f->counters.width);
    f->state.removed += other->state.removed;
    f->state.absent += other->state.absent;
    return WEIR_OK;
}

static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    weir__counters_expect(&((const counting_filter *)filter)->counters, model, expectation);
}

static const weir_option options[] = {
    WEIR__COUNTERS_OPTIONS("classic", "4"),
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__counting_class = {
    .kind = {.name = "counting",
             .summary = "counting Bloom filter: never forgets, but keys can be removed",
             .advice = "Use it when keys are taken back one by one (a session ends, an order is "
                       "cancelled) and the number of keys in at a time is known. It takes four "
                       "times the memory of bloom; where old keys may simply fade take recent.",
             .mergeable = true,
             .options = options},
    WEIR__FILTER_FUNCTIONS(counting_filter),
    .details = details,
    .merge = merge,
    .remove = remove_keys,
    .count = count,
    .expect = expect,
};
