/* recent_watch.c - what some lines of `recent` tell of the stream.
 *
 * Question   how should full lines choose who goes?
 * Idea       The first WATCHED lines count. How often are their keys hit? How much likelier is a
 *            key that was hit to be hit again than another of its line, the skew? Where do
 *            keys that are hit stand in the order in which they came, the freshness? How many
 *            different keys have come by? recent_policy.c makes a policy of the answers.
 * Cost       a few hundred ns for a key of a watched line; other lines are not concerned.
 */
#include <math.h>
#include <string.h>

#include "filter/recent/recent_clock.h"
#include "filter/recent/recent_filter.h"
#include "filter/recent/recent_shared.h"

#define JUDGE_EVERY 16u /* verdicts in them */
#define AGED 4u         /* keys of a flat line from which on it tells how old they are */
#define ENOUGH 25u

static void insert_word(distinct_counter *counter, uint64_t word) {
    uint64_t n = counter->count, *smallest = counter->smallest, at = 0;
    while (at < n && smallest[at] < word) at++;
    if (at == SMALLEST || (at < n && smallest[at] == word)) return;
    if (n < SMALLEST) counter->count = ++n;
    memmove(smallest + at + 1, smallest + at, (n - 1 - at) * sizeof *smallest);
    smallest[at] = word;
    if (n == SMALLEST) counter->limit = smallest[n - 1];
}

/* Without a branch that depends on `counts`, which is hard to guess. */
static inline void count_distinct(distinct_counter *counter, uint64_t hash, bool counts) {
    uint64_t word = weir__mix64(hash);
    if ((word <= counter->limit) & counts) insert_word(counter, word);
}

static double distinct(const distinct_counter *counter) {
    uint64_t n = counter->count;
    if (n < SMALLEST) return (double)n;
    return (double)(n - 1) * 0x1p64 / ((double)counter->smallest[n - 1] + 1);
}

/* Distinct keys so far for each place that there is. */
static double crowding(const recent_filter *f) {
    return distinct(&f->state.keys) / ((double)f->watched * f->shape.shared.fair);
}

recent_stream weir__recent_describe(const recent_filter *f) {
    const recent_counts *counts = &f->state.counts;
    double hits = (double)counts->hits;
    return (recent_stream){
        .crowd = crowding(f),
        .rate = hits / (hits + (double)counts->misses),
        .again = counts->hits ? hits / distinct(&f->state.keys_hit) : 0,
        .skew = weir__recent_skew(counts, ENOUGH * f->shape.shared.fair),
        .freshness = weir__recent_freshness(counts),
        .sure = weir__recent_sure(counts),
        .width = f->shape.clock.key_bits + 1,
        .spread_more = f->shape.spread.most > f->shape.shared.fair * 21 / 20,
        .in_use = f->state.books.in_form[weir__recent_ways[f->state.policy].form] > 0,
    };
}

static __attribute__((noinline)) void judge(recent_filter *f) {
    recent_stream stream = weir__recent_describe(f);
    recent_policy next = weir__recent_choose((recent_policy)f->state.policy, &stream);
    if (!form_is_possible(&f->shape, weir__recent_ways[next].form)) next = FILL;
    f->state.policy = next;
}

/* Whether keys that were hit are hit more often than others. A hit on a key with a mark counts
 * by how many keys of the line have none, and the other way round: if all keys are alike both
 * sums grow alike. */
static void count_marked(recent_filter *f, unsigned n, unsigned marks, bool again) {
    f->state.counts.hit_again += again ? n - marks : 0;
    f->state.counts.hit_first += again ? 0 : marks;
}

/* Where a key that was hit stands among so many in the order in which they came. */
static void count_age(recent_filter *f, unsigned n, unsigned place) {
    int64_t twice = 2 * (int64_t)place + 1 - n;
    f->state.counts.age += (uint64_t)(twice * AGE_ONE / n);
    f->state.counts.aged++;
}

static void tell_flat(recent_filter *f, const uint8_t *line, unsigned n, uint64_t tag) {
    unsigned found = match_tags(line, n, tag, n > WORDS_MOST, CPU_ANY);
    unsigned marks = get_flat_marks(line, n);
    if (found && n >= AGED) count_age(f, n, (unsigned)__builtin_ctz(found));
    if (found && n > WORDS_MOST)
        count_marked(f, n, (unsigned)__builtin_popcount(marks), marks & found);
}

static void tell_lists(recent_filter *f, const uint8_t *line, unsigned n, entry_field field,
                       unsigned list) {
    unsigned words = header_words(&f->shape, n), marks = 0;
    list_place place = find_list(line, &f->shape, words, list, CPU_ANY);
    unsigned j = find_remainder(line, &f->shape.shared, place, field);
    if (j == place.length) return;
    for (unsigned i = 0; i < n; i++)
        marks += (unsigned)get_bits(line, remainder_at(i, field.width), 1);
    count_marked(f, n, marks, get_bits(line, remainder_at(place.first + j, field.width), 1));
}

static void tell_clocked(recent_filter *f, const uint8_t *line, uint64_t value) {
    clock_keys clock;
    uint64_t key = clock_key(&f->shape, value);
    unsigned marks = 0;
    read_clock(line, &f->shape.clock, &clock, CPU_ANY);
    unsigned below = keys_below(&clock, key);
    if (!has_key(&clock, below, key)) return;
    for (unsigned i = 1; i <= clock.n; i++) marks += clock.keys[i] & 1;
    count_marked(f, clock.n, marks, clock.keys[below + 1] & 1);
}

void weir__recent_tell(recent_filter *f, const uint8_t *line, uint64_t value) {
    const shared_form *shared = &f->shape.shared;
    unsigned n = read_code(line, &f->shape);
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest);
    if (n <= shared->flat) tell_flat(f, line, n, tag_of(shared, list, rest));
    else if (n <= shared->marked) tell_lists(f, line, n, field_of(shared, n, rest), list);
    else if (form_of(&f->shape, n) == CLOCKED) tell_clocked(f, line, value);
}

void weir__recent_count(recent_filter *f, uint64_t hash, bool seen) {
    recent_counts *counts = &f->state.counts;
    count_distinct(&f->state.keys, hash, !seen);
    count_distinct(&f->state.keys_hit, hash, seen);
    counts->misses += !seen;
    counts->hits += seen;
    if ((counts->hits + counts->misses) % JUDGE_EVERY == 0) judge(f);
}
