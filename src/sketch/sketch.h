/* sketch.h - what a sketch is, inside the library.
 *
 * As with filters, a sketch is one file that ends in a table of functions,
 * `weir__sketch_class`, and one line in the list in sketch.c. The questions
 * that it can answer are the query functions that its table has; sketch.c
 * refuses the others and names the kinds that can.
 *
 * What a sketch keeps, and nothing else: options, cells (one zeroed map), the
 * words of its `state`, and the two totals in its base. A snapshot is exactly
 * these. A window keeps many sketches in its own cells and moves one struct
 * from one to the next, so whatever is derived from cells or state is either
 * set in bind() or marked stale by it.
 */
#ifndef WEIR_SKETCH_SKETCH_H
#define WEIR_SKETCH_SKETCH_H

#include <string.h>

#include "core/error.h"
#include "core/family.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/rng.h"
#include "weir.h"
#include "weir_embed.h"
#include "weir_sketch.h"
#include "weir_text.h"

enum { WEIR__SK_MEMORY, WEIR__SK_SEED, WEIR__SK_HASH, WEIR__SK_OWN };

struct weir_sketch {
    const struct weir__sketch_class *class;
    weir__value values[WEIR__OPTIONS_MAX];
    weir__hasher hasher;
    weir_allocator allocator; /* of all that it holds; all NULL: the system's */
    uint8_t *cells;
    void *cells_base;     /* what was allocated for them */
    uint64_t cells_bytes; /* set by create() */
    bool borrows;         /* the cells belong to a window */
    unsigned needs;       /* the class's; a window's is that of its inner sketch */
    uint64_t updates;
    uint64_t total_bits; /* sum of the weights, a double: weir__total() */
};

typedef struct weir__sketch_class {
    weir_kind kind;
    size_t size;
    size_t state_offset, state_words;

    /* Resolve open options, derive the geometry, set cells_bytes. */
    weir_status (*create)(weir_sketch *sketch, weir_error *err);

    /* Optional. bind: cells or state stand elsewhere or were filled in from
     * outside. start: state words of an empty sketch. close: free what the
     * sketch holds besides its struct and cells. */
    void (*bind)(weir_sketch *sketch);
    void (*start)(weir_sketch *sketch);
    void (*close)(weir_sketch *sketch);

    /* Add a batch. sketch.c has checked that what `needs` says is there, and
     * counts updates and total afterwards. On failure *done says how many are in. */
    weir_status (*add)(weir_sketch *sketch, const weir_updates *updates, size_t *done,
                       weir_error *err);
    unsigned needs; /* bits of weir__need */

    /* Optional, where a hash tells the memory: ask for it. */
    void (*prefetch)(const weir_sketch *sketch, const uint64_t *hashes, size_t count);

    /* Optional: time passes. */
    void (*advance)(weir_sketch *sketch, int64_t time);

    weir_status (*merge)(weir_sketch *into, const weir_sketch *from, weir_error *err);
    /* Optional, for a sum of many: what is kept of keys is looked at again when the counts of
     * all are merged, as the first of them knew only a part. */
    void (*recall)(weir_sketch *into, const weir_sketch *from);
    const char *no_merge; /* why not, as the end of a sentence, when merge is NULL */
    void (*info)(const weir_sketch *sketch,
                 weir_sketch_info *info); /* error, confidence, overfull */
    void (*details)(const weir_sketch *sketch, weir_detail_fn *each, void *context);
    weir_status (*check)(const weir_sketch *sketch, weir_error *err);

    /* Queries; NULL: cannot answer. Pairs of sketches are alike in all options. */
    weir_status (*estimate)(weir_sketch *sketch, uint64_t hash, weir_estimator by,
                            weir_estimate *out, weir_error *err);
    weir_status (*self_join)(weir_sketch *sketch, weir_estimator by, weir_estimate *out,
                             weir_error *err);
    weir_status (*join)(weir_sketch *a, weir_sketch *b, weir_estimator by, weir_estimate *out,
                        weir_error *err);
    weir_status (*top)(weir_sketch *sketch, double above, weir_estimator by, weir_items *out,
                       weir_error *err); /* above: a weight, 0 for the most frequent */
    weir_status (*range)(weir_sketch *sketch, int64_t low, int64_t high, weir_estimator by,
                         weir_estimate *out, weir_error *err);
    weir_status (*quantile)(weir_sketch *sketch, double share, weir_quantile *out, weir_error *err);
    weir_status (*distinct)(weir_sketch *sketch, weir_estimate *out, weir_error *err);
    weir_status (*common)(weir_sketch *a, weir_sketch *b, weir_estimate *out, weir_error *err);
    weir_status (*where)(weir_sketch *sketch, weir_accept_fn *accept, void *context,
                         weir_estimate *out, weir_error *err);
    weir_status (*sample)(weir_sketch *sketch, weir_items *out, weir_error *err);
} weir__sketch_class;

typedef enum {
    WEIR__NEEDS_HASHES = 1,
    WEIR__NEEDS_VALUES = 2,    /* integer keys */
    WEIR__NEEDS_KEYS = 4,      /* the bytes */
    WEIR__NEEDS_UNITS = 8,     /* weights of 1 only: a sample of records */
    WEIR__NEEDS_GAINS = 16,    /* no negative weights */
    WEIR__NEEDS_WHOLES = 32,   /* no fractions */
    WEIR__NEEDS_PRESENCE = 64, /* weights mean nothing: a key is there or not */
    WEIR__NEEDS_NUMBERS = 128  /* integer or decimal keys */
} weir__need;

/* Read a resolved option, and resolve an open one. */
static inline uint64_t weir__sk_whole(const weir_sketch *s, int place) {
    return s->values[place].whole;
}
static inline double weir__sk_rate(const weir_sketch *s, int place) {
    return s->values[place].number;
}
static inline bool weir__sk_given(const weir_sketch *s, int place) {
    return s->values[place].given;
}
static inline void weir__sk_resolve(weir_sketch *s, int place, uint64_t whole) {
    s->values[place].whole = whole;
    s->values[place].given = true;
}

/* Fail at the place of an option in the spec. */
#define weir__sk_fail(sketch, place, err, ...)                                                     \
    weir__fail((err), WEIR_ERR_RANGE, (sketch)->values[place].offset, __VA_ARGS__)

/* Set cells_bytes, and the memory option to it; fails where memory= was given
 * and is less. */
weir_status weir__sketch_claim(weir_sketch *sketch, uint64_t bytes, weir_error *err);

/* The memory to plan with: what was given, or this. */
static inline uint64_t weir__sketch_budget(const weir_sketch *s, uint64_t standard) {
    return weir__sk_given(s, WEIR__SK_MEMORY) ? weir__sk_whole(s, WEIR__SK_MEMORY) : standard;
}

/* Doubles in words of state. */
static inline double weir__as_double(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}
static inline uint64_t weir__as_bits(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}
static inline double weir__total(const weir_sketch *s) { return weir__as_double(s->total_bits); }

static inline uint64_t *weir__sketch_state(const weir_sketch *sketch) {
    return (uint64_t *)((uint8_t *)(uintptr_t)sketch + sketch->class->state_offset);
}

/* Weight of update i. */
static inline double weir__weight(const weir_updates *u, size_t i) {
    return u->fractions ? u->fractions[i] : u->weights ? (double)u->weights[i] : 1;
}

/* Make a sketch whose cells will be lent to it: it has none yet and is not started. */
weir_status weir__sketch_make(weir_sketch **out, const char *spec, const weir_allocator *allocator,
                              weir_error *err);
weir_status weir__sketch_check(weir_sketch *sketch, weir_error *err);

/* The sketches; ends with NULL. */
extern const weir__sketch_class *const weir__sketch_classes[];

#endif
