/* counters.h - arrays of small counters, k of them per key: what `counting` and
 * `spectral` share.
 *
 * A counter has 2, 4, 8 or 16 bits and stays at its top once it is there: how
 * often it was raised beyond is not known, so it is never lowered again. Counter
 * i of width w is bits iw .. iw+w-1 of its array, low bits first.
 *
 *   classic  a key's counters lie anywhere in the array
 *   block    all in one line, one in each of k groups (lines.h)
 *
 * A place is the number of the counter's first bit, in the filter's cells
 * (classic) or in the key's line (block).
 */
#ifndef WEIR_FILTER_COUNTERS_H
#define WEIR_FILTER_COUNTERS_H

#include <assert.h>

#include "filter/filter.h"
#include "filter/line/lines.h"
#include "filter/probe.h"
#include "weir_plan.h"
#include "weir_text.h"

/* The first options of both filters, in this order. */
enum {
    WEIR__COUNTERS_LAYOUT = WEIR__OPT_OWN,
    WEIR__COUNTERS_BITS,
    WEIR__COUNTERS_K,
    WEIR__COUNTERS_CAPACITY,
    WEIR__COUNTERS_OWN
};
enum { WEIR__COUNTERS_K_MOST = 32 }; /* counters of a key */

#define WEIR__COUNTERS_OPTIONS(layout, bits)                                                       \
    {"layout",                                                                                     \
     WEIR_OPT_CHOICE,                                                                              \
     0,                                                                                            \
     0,                                                                                            \
     "classic|block",                                                                              \
     layout,                                                                                       \
     "counters anywhere, or all of a key in one cache line: faster, for more memory per key"},     \
        {"bits", WEIR_OPT_CHOICE, 0, 0, "2|4|8|16", bits, "width of a counter"},                   \
        {"k",                                                                                      \
         WEIR_OPT_COUNT,                                                                           \
         1,                                                                                        \
         WEIR__COUNTERS_K_MOST,                                                                    \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "counters per key; derived from fpr"},                                                    \
    {                                                                                              \
        "capacity", WEIR_OPT_COUNT, 1, 1e15, NULL, NULL,                                           \
            "distinct keys it is made for; derived from memory and fpr, or the memory from it"     \
    }

typedef struct {
    bool block;
    unsigned k, width, top;
    uint64_t first; /* its first counter: of the filter (classic) or of each line (block) */
    uint64_t size;  /* classic: counters */
    uint64_t lines; /* block */
    unsigned group; /* block: counters of a group */
    uint64_t salt;  /* sets this array's places apart from another's */
} weir__counters;

/* --- formulas ------------------------------------------------------------------- */

/* The chance that a new key finds its k counters non-zero, or that those of a
 * key were all raised by others, after `keys` distinct ones. */
double weir__counters_fpr(const weir__counters *c, double keys);

/* How many keys reach fpr, and how many leave this share of counters non-zero. */
double weir__counters_capacity(const weir__counters *c, double fpr);
double weir__counters_keys(const weir__counters *c, double fill);

/* --- a filter made of them --------------------------------------------------------- */

/* Resolve the options, cut the memory into a first array and, if `with_second`, a
 * second of half its size, and map it. */
weir_status weir__counters_create(weir_filter *filter, weir__counters *first,
                                  weir__counters *second, bool with_second, weir_error *err);

/* Expected rates for a stream. */
void weir__counters_expect(const weir__counters *c, const weir_stream_model *model,
                           weir_expectation *expectation);

/* fill, fpr_now and overfull, of the first array, from a sample evenly spread. */
void weir__counters_info(const weir_filter *filter, const weir__counters *c,
                         weir_filter_info *info);

/* Info and details of both filters. */
void weir__counters_details(const weir_filter *filter, const weir__counters *c,
                            weir_detail_fn *each, void *context);

/* Add all counters of one filter to another's, stopping at their top. */
void weir__counters_add(weir_filter *into, const weir_filter *from, unsigned width);

/* --- a word of counters at once ---------------------------------------------------- */

/* The low bit of every counter of a word; of those that are at their top; of those
 * that are not zero. */
static inline uint64_t weir__counters_lows(unsigned width) {
    return ~UINT64_C(0) / ((UINT64_C(1) << width) - 1);
}
static inline uint64_t weir__counters_at_top(uint64_t word, unsigned width) {
    for (unsigned s = 1; s < width; s *= 2) word &= word >> s;
    return word & weir__counters_lows(width);
}
static inline uint64_t weir__counters_in_use(uint64_t word, unsigned width) {
    for (unsigned s = 1; s < width; s *= 2) word |= word >> s;
    return word & weir__counters_lows(width);
}

/* --- one key ------------------------------------------------------------------------ */

/* The k places of a key: anywhere, from its hash, prefetched; or in its line, from
 * what of the hash did not choose the line. */
static inline void weir__counters_find(const weir_filter *f, const weir__counters *c, uint64_t hash,
                                       uint64_t *places) {
    weir__probes probes = weir__probes_start(c->salt ? weir__mix64(hash ^ c->salt) : hash);
    for (unsigned j = 0; j < c->k; j++) {
        places[j] = (c->first + weir__scale(weir__probes_next(&probes), c->size)) * c->width;
        __builtin_prefetch(f->cells + places[j] / 8, 1);
    }
}
static inline void weir__counters_find_in_line(const weir__counters *c, uint64_t rest,
                                               uint64_t *places) {
    uint64_t cells[WEIR__GROUPS_MOST];
    assert(c->k <= WEIR__GROUPS_MOST);
    weir__find_groups(rest ^ c->salt, c->group, c->k, cells);
    for (unsigned j = 0; j < c->k; j++) places[j] = (c->first + cells[j]) * c->width;
}

/* Where a key's counters are: the words that its places count from, and the word
 * that its places come from. */
typedef struct {
    uint64_t *words;
    uint64_t source;
} weir__counters_key;

static inline weir__counters_key weir__counters_key_of(const weir_filter *f,
                                                       const weir__counters *c, uint64_t hash) {
    weir__counters_key key = {(uint64_t *)(void *)f->cells, hash};
    if (c->block) key.words = weir__line_of(f, c->lines, hash, &key.source);
    return key;
}
static inline void weir__counters_places(const weir_filter *f, const weir__counters *c,
                                         weir__counters_key key, uint64_t *places) {
    if (c->block) weir__counters_find_in_line(c, key.source, places);
    else weir__counters_find(f, c, key.source, places);
}

static inline unsigned weir__counters_get(const uint64_t *words, const weir__counters *c,
                                          uint64_t place) {
    assert(place % c->width == 0);
    return (unsigned)(words[place / 64] >> (place % 64)) & c->top;
}

/* Raise a counter, to its top at most; lower one that is above zero and has never
 * reached the top. */
static inline void weir__counters_raise(uint64_t *words, const weir__counters *c, uint64_t place,
                                        unsigned by) {
    unsigned room = c->top - weir__counters_get(words, c, place);
    words[place / 64] += (uint64_t)(by < room ? by : room) << (place % 64);
}
static inline void weir__counters_lower(uint64_t *words, const weir__counters *c, uint64_t place) {
    uint64_t can = weir__counters_get(words, c, place) - 1 < c->top - 1;
    assert(c->top >= 3);
    words[place / 64] -= can << (place % 64);
}

/* The least of a key's counters, and how many of them have that value. */
static inline unsigned weir__counters_least(const uint64_t *words, const weir__counters *c,
                                            const uint64_t *places, unsigned *times) {
    unsigned least = c->top;
    *times = 0;
    for (unsigned j = 0; j < c->k; j++) {
        unsigned value = weir__counters_get(words, c, places[j]);
        *times = value < least ? 1 : *times + (value == least);
        least = value < least ? value : least;
    }
    return least;
}

#endif
