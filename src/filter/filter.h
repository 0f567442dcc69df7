/* filter.h - what a filter is, inside the library.
 *
 * A filter is one file that ends in a table, `weir__filter_class`, and one
 * line in the list in filter.c. The table says what its options are and how it
 * plans, offers, tests and describes; everything else is done once, here and in
 * filter.c, for all filters: parsing the spec, drawing the seed, hashing,
 * mapping memory, counting, printing the resolved spec, snapshots.
 *
 * What a filter keeps, and nothing else:
 *
 *   options   resolved values of its option table. create() fills in those that
 *             were not given (k, p, ...), so that the printed spec makes the
 *             same filter again.
 *   cells     one zeroed map of memory.
 *   state     a few 64-bit words that change as keys come (generator, counters),
 *             held in its struct where `state_offset` and `state_words` say.
 *
 * A snapshot is exactly: resolved spec, state words, cells. Loading makes a
 * filter from the spec, copies words and cells in, and calls check(), which
 * must find anything that could make a later call go wrong.
 *
 * The struct of a filter begins with a `weir_filter` and is allocated zeroed
 * with `size` bytes:
 *
 *     typedef struct {
 *         weir_filter base;
 *         uint64_t lines;              // derived in create()
 *         struct { uint64_t rng, ones; } state;
 *     } stable_filter;
 */
#ifndef WEIR_FILTER_FILTER_H
#define WEIR_FILTER_FILTER_H

#include "core/error.h"
#include "core/family.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/rng.h"
#include "weir.h"

/* Options by place: the common ones first, then a filter's own in the order of
 * its table (WEIR__OPT_OWN + 0, + 1, ...). */
enum { WEIR__OPT_MEMORY, WEIR__OPT_FPR, WEIR__OPT_SEED, WEIR__OPT_HASH, WEIR__OPT_OWN };

struct weir_filter {
    const struct weir__filter_class *class;
    weir__value values[WEIR__OPTIONS_MAX];
    weir__hasher hasher;
    uint8_t *cells;
    uint64_t cells_bytes; /* what the filter asked for */
    uint64_t lent;        /* bytes at `cells` that belong to a filter around this one */
    uint64_t offered, seen;
};

typedef struct weir__filter_class {
    weir_kind kind; /* name, summary, advice, mergeable, options: the public part */
    size_t size;    /* of the filter's struct */
    size_t state_offset, state_words;

    /* Resolve open options, derive the geometry, call weir__filter_map(). On
     * failure nothing needs undoing: filter.c releases the cells. */
    weir_status (*create)(weir_filter *filter, weir_error *err);

    /* Set state words to their start for an empty filter; the cells are zero.
     * The generator starts from the seed. Also called by clear. */
    void (*start)(weir_filter *filter);

    /* As the public functions; verdicts arrive zeroed, so only SEEN is set
     * (weir__mark_seen). Return how many were SEEN. */
    size_t (*offer)(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts);
    size_t (*test)(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts);

    /* Fill in fill, fpr_now, overfull; the rest is filled in already. */
    void (*info)(const weir_filter *filter, weir_filter_info *info);

    /* Optional: NULL means no details / cannot be merged / nothing to check. */
    void (*details)(const weir_filter *filter, weir_detail_fn *each, void *context);
    weir_status (*merge)(weir_filter *into, const weir_filter *from, weir_error *err);
    void (*release)(weir_filter *filter); /* what create() made beside the cells */
    const char *no_merge; /* why not, as the end of a sentence, when merge is NULL */
    weir_status (*check)(const weir_filter *filter, weir_error *err);
} weir__filter_class;

/* Map the cells: `bytes` must be at most the memory option. */
weir_status weir__filter_map(weir_filter *filter, uint64_t bytes, weir_error *err);

/* A filter inside another one: its cells are `room` zero bytes at `cells`, lent to it. */
weir_status weir__filter_new_in(weir_filter **out, const char *spec, uint8_t *cells, uint64_t room,
                                weir_error *err);

/* Read a resolved option, and resolve an open one. */
static inline uint64_t weir__opt_whole(const weir_filter *f, int place) {
    return f->values[place].whole;
}
static inline double weir__opt_rate(const weir_filter *f, int place) {
    return f->values[place].number;
}
static inline bool weir__opt_given(const weir_filter *f, int place) {
    return f->values[place].given;
}
static inline void weir__opt_resolve(weir_filter *f, int place, uint64_t whole) {
    f->values[place].whole = whole;
    f->values[place].given = true;
}

/* Fail at the place of an option in the spec. */
#define weir__opt_fail(filter, place, err, ...)                                                    \
    weir__fail((err), WEIR_ERR_RANGE, (filter)->values[place].offset, __VA_ARGS__)

/* One detail, value printed printf-style. */
void weir__detail(weir_detail_fn *each, void *context, const char *name, const char *meaning,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

static inline void weir__mark_seen(uint64_t *verdicts, size_t i, bool seen) {
    verdicts[i / 64] |= (uint64_t)seen << (i % 64);
}

/* Time of key i: what the batch says, or the one reading for all of it. */
static inline int64_t weir__batch_time(const weir_batch *batch, size_t i, int64_t now) {
    return batch->times ? batch->times[i] : now;
}

/* Which of n equal parts a hash falls into (its high bits decide), and what of
 * the hash is left over: a word whose bits are independent of the part. */
static inline uint64_t weir__part(uint64_t hash, uint64_t parts, uint64_t *rest) {
    unsigned __int128 product = (unsigned __int128)hash * parts;
    *rest = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

/* --- for snapshots --------------------------------------------------------- */

weir_status weir__filter_check(const weir_filter *filter, weir_error *err);
static inline uint64_t *weir__filter_state(const weir_filter *filter) {
    return (uint64_t *)((uint8_t *)(uintptr_t)filter + filter->class->state_offset);
}

/* The filters, the default first; ends with NULL. */
extern const weir__filter_class *const weir__filter_classes[];

#endif
