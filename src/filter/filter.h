/* filter.h - what a filter is, inside the library.
 *
 * A filter is one file that ends in a table, `weir__filter_class`, and one
 * line in registry/filter_classes.c. The table says what its options are and how it
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

#include "core/detail.h"
#include "core/error.h"
#include "core/family.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/rng.h"
#include "weir.h"
#include "weir_embed.h"
#include "weir_plan.h"
#include "weir_sites.h"
#include "weir_text.h"

/* Options by place: the common ones first, then a filter's own in the order of
 * its table (WEIR__OPT_OWN + 0, + 1, ...). */
enum { WEIR__OPT_MEMORY, WEIR__OPT_FPR, WEIR__OPT_SEED, WEIR__OPT_HASH, WEIR__OPT_OWN };

struct weir_filter {
    const struct weir__filter_class *class;
    weir__value values[WEIR__OPTIONS_MAX];
    weir__hasher hasher;
    weir_allocator allocator; /* of all that it holds; all NULL: the system's */
    uint8_t *cells;
    void *cells_base;     /* what was allocated for them */
    uint64_t cells_bytes; /* what the filter asked for */
    uint64_t lent_bytes;  /* bytes of another filter's memory that its cells are; 0: its own */
    bool windowed;        /* forgets by age; set by create() */
    bool numbered;        /* its window of records goes by numbers that batches have as times */
    bool elsewhere;       /* it has sites on servers, which other processes use too */
    weir_share_fn *share; /* or NULL; see weir__filter_share() */
    void *share_context;
    uint64_t offered, seen;
};

/* A filter that is an array of places, each of which is on or off: what cutting
 * it into ranges needs. Reading and switching on are safe beside other threads
 * that do the same. */
typedef struct {
    /* How many places there are, and how many of them a key has; 0: this filter
     * is laid out otherwise. */
    unsigned (*shape)(const weir_filter *filter, uint64_t *places);
    void (*find)(const weir_filter *filter, uint64_t hash, uint64_t *places);
    /* Time goes on to that of key i, or by one key that is offered; NULL where there is
     * no time. */
    void (*advance)(weir_filter *filter, const weir_batch *batch, size_t i, bool offering);
    bool (*is_on)(const weir_filter *filter, uint64_t place);
    void (*switch_on)(weir_filter *filter, uint64_t place);
    void (*took_key)(weir_filter *filter); /* a NEW key's places are on now */
    void (*switch_off)(weir_filter *filter, uint64_t first, uint64_t end); /* alone */
    double (*share_on)(const weir_filter *filter, uint64_t first, uint64_t end);
    bool once; /* timers: only NEW keys switch them on, and one thread at a time uses them */
    /* The instants from which on a place that is switched on is on, and which one that is switched
     * on now would be given; NULL where there is no time. They rise with time. */
    void (*instants)(const weir_filter *filter, uint64_t *oldest, uint64_t *newest);
    /* How many of the numbers below this one are places, where not all are; else NULL. */
    uint64_t (*below)(const weir_filter *filter, uint64_t number);
} weir__places;

/* A filter that is spread over sites: what can be asked of it as a whole. */
typedef struct weir__spread {
    size_t (*count)(const weir_filter *filter);
    void (*site)(const weir_filter *filter, size_t i, weir_site_info *info);
    void (*set)(weir_filter *filter, size_t i, weir_site_state state);
    void (*traffic)(const weir_filter *filter, weir_traffic *traffic);
    struct weir__site *(*place)(weir_filter *filter, size_t i); /* for who moves it elsewhere */
    /* Both NULL unless it is cut by places. */
    void (*cut)(const weir_filter *filter, weir_cut *cut);
    void (*find_places)(const weir_filter *filter, uint64_t hash, uint64_t *places);
} weir__spread;

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

    /* Fill in fill, fpr_now, overfull, and where they apply keeps_all, room, uses_producers, waits
     * and those of the window; the rest is filled in already. */
    void (*info)(const weir_filter *filter, weir_filter_info *info);

    /* Optional: NULL means no details / cannot be merged / nothing to check. */
    void (*details)(const weir_filter *filter, weir_detail_fn *each, void *context);
    weir_status (*merge)(weir_filter *into, const weir_filter *from, weir_error *err);
    const char *no_merge; /* why not, as the end of a sentence, when merge is NULL */
    weir_status (*check)(const weir_filter *filter, weir_error *err);

    /* For filters made of filters; NULL otherwise. pack() writes what is kept elsewhere
     * into a copy of `length` cells from `at` on, for saving, and check() takes over what was
     * loaded; clear() forgets what is not in the cells; destroy() frees it. */
    void (*pack)(const weir_filter *filter, uint64_t at, uint8_t *bytes, size_t length);
    void (*clear)(weir_filter *filter);
    void (*destroy)(weir_filter *filter);
    bool concurrent;                   /* offer and test may be called by several threads at once */
    const weir__places *places;        /* an array of places, or NULL */
    const struct weir__spread *spread; /* the sites that it is spread over, or NULL */

    /* Optional: NULL means that keys cannot be taken out / are not counted. As
     * the public functions; verdicts arrive zeroed. */
    weir_status (*remove)(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                          weir_error *err);
    uint64_t (*count)(const weir_filter *filter, uint64_t hash);

    /* Optional, for planning: what the formulas say about a stream, and the
     * options that suit it best ("max=3"; nothing where the defaults do). */
    void (*expect)(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation);
    void (*tune)(const weir_stream_model *model, uint64_t memory, double fpr, char *options,
                 size_t size);
} weir__filter_class;

/* The part of a class that every filter has, its functions under these names. */
#define WEIR__FILTER_FUNCTIONS(type)                                                               \
    .size = sizeof(type), .state_offset = offsetof(type, state),                                   \
    .state_words = sizeof(((type *)0)->state) / sizeof(uint64_t), .create = create,                \
    .start = start, .offer = offer, .test = test, .info = info

/* The class that a spec names. */
weir_status weir__filter_find(const char *spec, const weir__filter_class **class, weir_error *err);

/* Do all parts of a piece of work, with others if the filter was given any. */
void weir__filter_share(weir_filter *filter, weir_part_fn *part, void *work, size_t count);

/* As weir_filter_new(), in zeroed memory of another filter and with its allocator. */
weir_status weir__filter_new_in(weir_filter **out, const char *spec, const weir_filter *owner,
                                uint8_t *memory, uint64_t bytes, weir_error *err);

/* Map the cells: `bytes` must be at most the memory option. */
weir_status weir__filter_map(weir_filter *filter, uint64_t bytes, weir_error *err);

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

/* The options that are given imply this bound on false positives; for filters whose every
 * setting was given, fpr not. */
static inline void weir__imply_fpr(weir_filter *f, double bound) {
    f->values[WEIR__OPT_FPR].number = bound < 1 ? bound : 1;
    f->values[WEIR__OPT_FPR].implied = true;
}
static inline bool weir__fpr_is_open(const weir_filter *f) {
    return !f->values[WEIR__OPT_FPR].given;
}

/* Describe the window of a filter by its option of that name, a span, and whether repeats
 * renew it. */
static inline void weir__info_window(weir_filter_info *info, const weir__value *span, bool renew) {
    info->window = (int64_t)span->whole;
    info->window_is_time = span->is_time;
    info->renew = renew;
}

/* Fail at the place of an option in the spec. */
#define weir__opt_fail(filter, place, err, ...)                                                    \
    weir__fail((err), WEIR_ERR_RANGE, (filter)->values[place].offset, __VA_ARGS__)

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

/* The filters, the default first; ends with NULL. registry/filter_classes.c lists them. */
extern const weir__filter_class *const weir__filter_classes[];

#endif
