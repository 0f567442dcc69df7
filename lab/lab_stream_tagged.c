/* lab_stream_tagged.c - drawn streams whose records carry a second number, a tag.
 *
 * importance  the synthetic data of the paper on importance-aware filters (4-B).
 *             Ids have one of `levels` importances, as many ids each. An id occurs
 *             with a probability that is equal for all, proportional to its
 *             importance, or inversely proportional to it. The universe is the one
 *             in which a share `repeat` of the n records is expected to repeat an
 *             earlier one. First the level is drawn by its weight, then an id of
 *             that level: exact, and no table of ids. Tag: importance, from 1.
 *
 * burst       a stream with a clock (distributed filtering, 7): `rate` records a
 *             slot, but `factor` times as many in the middle third of the records.
 *             Ids are uniform. Tag: slot.
 *
 * producers   for trees: a producer is drawn for each record, each alike. Ids have
 *             a home, one of the producers. With probability `local` the record is
 *             one of the producer's own ids; else it looks one level up, to the
 *             `fanout` producers of its group, with the same probability; and so
 *             on: at the root every id is as likely as any other. Tag: producer.
 */
#include <stddef.h>

#include "lab_error.h"
#include "lab_math.h"
#include "lab_stream_internal.h"

#define FIELD(name) offsetof(stream_settings, name)
#define LONGEST 1e12

static void put_tag(const lab_stream *s, size_t i, uint64_t tag) {
    if (s->tags) s->tags[i] = tag;
}

/* --- importance ------------------------------------------------------------------- */

enum { LAW_UNIFORM, LAW_PROPORTIONAL, LAW_INVERSE };

/* Weights as whole numbers, so that draws are exact; inverse: lcm-like scale. */
static uint64_t weight_of(const lab_stream *s, uint64_t level) {
    const uint64_t scale = UINT64_C(1) << 40;
    if (s->set.law == LAW_UNIFORM) return 1;
    return s->set.law == LAW_PROPORTIONAL ? level : scale / level;
}

/* The share of distinct ids that n draws are expected to show, if every level has
 * `each` ids. */
static double share_of_distinct(const lab_stream *s, double each) {
    double distinct = 0, n = (double)s->set.n, all = (double)s->below[s->set.levels - 1];
    for (uint64_t level = 1; level <= s->set.levels; level++) {
        double chance = (double)weight_of(s, level) / all / each; /* of one id of this level */
        double missed = chance < 1 ? n * lab_log1p(-chance) : -700;
        distinct += -lab_expm1(missed < -700 ? -700 : missed) * each;
    }
    return distinct / n;
}

static weir_status importance_open(lab_stream *s, weir_error *err) {
    uint64_t sum = 0, low = 1, high = 2;
    if (!s->set.levels) s->set.levels = 50;
    if (!(s->set.repeat > 0)) return lab_error(err, WEIR_ERR_SPEC, -1, "importance needs repeat=");
    for (uint64_t level = 1; level <= s->set.levels; level++)
        s->below[level - 1] = sum += weight_of(s, level);
    while (share_of_distinct(s, (double)high) < 1 - s->set.repeat && high < (UINT64_C(1) << 44))
        high *= 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (share_of_distinct(s, (double)middle) < 1 - s->set.repeat) low = middle;
        else high = middle;
    }
    s->set.universe = high; /* of one level */
    s->universe = high * s->set.levels;
    return WEIR_OK;
}

/* The level whose stretch of the weights a draw falls into. */
static uint64_t level_of(const lab_stream *s, uint64_t draw) {
    uint64_t low = 0, high = s->set.levels - 1;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (draw < s->below[middle]) high = middle;
        else low = middle + 1;
    }
    return low + 1;
}

static size_t importance_next(lab_stream *s, uint64_t *ids, size_t n) {
    uint64_t all = s->below[s->set.levels - 1], levels = s->set.levels;
    for (size_t i = 0; i < n; i++) {
        uint64_t level = s->set.law == LAW_UNIFORM ? lab_rng_below(&s->places, levels) + 1
                                                   : level_of(s, lab_rng_below(&s->places, all));
        ids[i] = lab_rng_below(&s->labels, s->set.universe) * levels + (level - 1);
        put_tag(s, i, level);
    }
    return n;
}

/* --- burst -------------------------------------------------------------------------- */

static weir_status burst_open(lab_stream *s, weir_error *err) {
    if (!s->set.universe) return lab_error(err, WEIR_ERR_SPEC, -1, "burst needs universe=");
    if (!s->set.rate) s->set.rate = 1;
    if (!(s->set.factor > 0)) s->set.factor = 2;
    s->universe = s->set.universe;
    return WEIR_OK;
}

static uint64_t slot_of(const lab_stream *s, uint64_t record) {
    uint64_t third = s->set.n / 3;
    double rate = (double)s->set.rate, at = (double)record, before = (double)third;
    if (record < third) return (uint64_t)(at / rate);
    if (record < 2 * third)
        return (uint64_t)(before / rate + (at - before) / (rate * s->set.factor));
    return (uint64_t)(before / rate + before / (rate * s->set.factor) + (at - 2 * before) / rate);
}

static size_t burst_next(lab_stream *s, uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) ids[i] = lab_rng_below(&s->labels, s->universe);
    if (s->tags)
        for (size_t i = 0; i < n; i++) s->tags[i] = slot_of(s, s->drawn + i);
    return n;
}

/* --- producers ----------------------------------------------------------------------- */

static weir_status producers_open(lab_stream *s, weir_error *err) {
    stream_settings *set = &s->set;
    if (!set->producers || !set->universe)
        return lab_error(err, WEIR_ERR_SPEC, -1, "producers needs producers= and universe=");
    if (!set->fanout) set->fanout = 4;
    if (set->universe < set->producers)
        return lab_error(err, WEIR_ERR_RANGE, -1, "universe= is less than one id a producer");
    s->arrive = set->local < 1 ? (uint64_t)(set->local * 0x1p64) : 0;
    set->universe /= set->producers; /* ids of one producer */
    s->universe = set->universe * set->producers;
    return WEIR_OK;
}

/* A producer from which the record's id is taken: its own, or one of a group around
 * it that grows by `fanout` with each step up. */
static uint64_t home_of(lab_stream *s, uint64_t producer) {
    uint64_t group = 1;
    while (group < s->set.producers) {
        if (!s->arrive || lab_rng_next(&s->places) < s->arrive) break;
        group *= s->set.fanout;
    }
    uint64_t first = producer / group * group, end = first + group;
    if (end > s->set.producers) end = s->set.producers;
    return group == 1 ? producer : first + lab_rng_below(&s->places, end - first);
}

static size_t producers_next(lab_stream *s, uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t producer = lab_rng_below(&s->places, s->set.producers);
        ids[i] =
            home_of(s, producer) * s->set.universe + lab_rng_below(&s->labels, s->set.universe);
        put_tag(s, i, producer);
    }
    return n;
}

/* --- the table -------------------------------------------------------------------------- */

static const stream_option importance_options[] = {
    {"n", STREAM_COUNT, FIELD(n), 1, LONGEST, NULL},
    {"repeat", STREAM_REAL, FIELD(repeat), 0.0001, 0.9999, NULL},
    {"levels", STREAM_COUNT, FIELD(levels), 1, STREAM_MOST_LEVELS, NULL},
    {"law", STREAM_WORD, FIELD(law), 0, 0, "uniform|proportional|inverse"},
    {0}};
static const stream_option burst_options[] = {
    {"n", STREAM_COUNT, FIELD(n), 1, LONGEST, NULL},
    {"universe", STREAM_COUNT, FIELD(universe), 1, 1e15, NULL},
    {"rate", STREAM_COUNT, FIELD(rate), 1, LONGEST, NULL},
    {"factor", STREAM_REAL, FIELD(factor), 0.001, 1e6, NULL},
    {0}};
static const stream_option producers_options[] = {
    {"n", STREAM_COUNT, FIELD(n), 1, LONGEST, NULL},
    {"universe", STREAM_COUNT, FIELD(universe), 1, 1e15, NULL},
    {"producers", STREAM_COUNT, FIELD(producers), 1, 1e9, NULL},
    {"fanout", STREAM_COUNT, FIELD(fanout), 2, 1e6, NULL},
    {"local", STREAM_REAL, FIELD(local), 0, 1, NULL},
    {0}};

const stream_kind lab_tagged_kinds[] = {
    {"importance", importance_open, importance_next, importance_options, "importance"},
    {"burst", burst_open, burst_next, burst_options, "slot"},
    {"producers", producers_open, producers_next, producers_options, "producer"},
    {0}};
