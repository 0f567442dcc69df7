/* nest.h - filters inside a filter.
 *
 * A composition is itself a filter: it has options, cells and state, and is
 * saved and loaded as all filters are. Its cells are cut into equal shares, one
 * for each part, with a few words before each for what the part keeps outside
 * of its cells, and the composition's own counters at the end:
 *
 *     | words of part 0 | cells of part 0 | words of part 1 | ... | counters |
 *
 * Parts are made from the spec in `of=(...)`, with their share of the memory
 * and the composition's fpr, seed and hash.
 */
#ifndef WEIR_SLICE_NEST_H
#define WEIR_SLICE_NEST_H

#include "slice/site.h"

/* Counters of a site, which stand in the cells of the composition: added to atomically. */
typedef struct {
    uint64_t asked, seen;
} weir__site_counts;

/* The verdict on a key whose site is lost. */
typedef enum { WEIR__LOST_NEW, WEIR__LOST_SEEN, WEIR__LOST_WAIT, WEIR__LOST_STOP } weir__on_lost;
#define WEIR__LOST_CHOICES "new|seen|wait|stop"
#define WEIR__LOST_OPTION                                                                          \
    {                                                                                              \
        "on-lost", WEIR_OPT_CHOICE, 0, 0, WEIR__LOST_CHOICES, "new",                               \
            "a key whose site is lost: call it new or seen, wait for the site, or stop"            \
    }

/* How a composition judges a batch. Locks and counters change with a test too. */
typedef struct {
    size_t (*judge)(weir_filter *filter, const weir_batch *batch, bool offering,
                    uint64_t *verdicts);
    bool (*needs_lost)(const weir_filter *filter,
                       const weir_batch *batch); /* a site that is lost */
} weir__nest_judge;

typedef struct {
    size_t count;
    weir__on_lost on_lost;
    const weir__nest_judge *judge;
    weir_allocator allocator;  /* the composition's */
    weir__site *sites;         /* one for each part; NULL until made */
    weir__site_counts *counts; /* of each site */
    uint64_t *traffic;         /* keys, messages, bytes: added to atomically */
    uint64_t *extra;           /* the composition's own counters */
    uint64_t stride, head;     /* bytes from part to part; of these before the cells */
    pthread_mutex_t waiting;   /* for sites to come back */
    pthread_cond_t returned;
    pthread_rwlock_t gate; /* no site is lost while somebody reads; see below */
    double fpr;            /* of a part */
    bool by_places;        /* the part is to be cut by places; set before it is made */
    bool all_places;       /* all parts are arrays of places */
    bool ready;            /* the locks are made */
    bool hides_tests;      /* what is only tested is not counted */
} weir__nest;

enum { WEIR__KEYS, WEIR__MESSAGES, WEIR__BYTES, WEIR__TRAFFIC_WORDS };

/* Settle memory and fpr between the composition and the spec of its parts (each
 * may be given in either place, not in both), map the cells and make the parts.
 * `of` and `first` are places of SPEC options; `first`, unless negative and if
 * given, is the spec of part 0. A key may pass `steps` parts that each err, so
 * each gets that share of fpr, unless all are arrays of places, whose errors do
 * not add up. `extra` words of counters are kept for the composition. */
weir_status weir__nest_make(weir__nest *nest, weir_filter *filter, size_t count, int of, int first,
                            size_t steps, size_t extra, weir_error *err);
void weir__nest_free(weir__nest *nest);

/* The struct of every composition begins so. */
typedef struct {
    weir_filter base;
    weir__nest nest;
} weir__composition;

/* Locks and counters are no part of what a filter knows, so const is not kept. */
static inline weir__nest *weir__nest_of(const weir_filter *filter) {
    return &((weir__composition *)(uintptr_t)filter)->nest;
}

/* Functions of a class, as they stand. The parts as one: mean fill and rate,
 * overfull if one is. */
void weir__nest_info(const weir_filter *filter, weir_filter_info *info);
weir_status weir__nest_merge(weir_filter *into, const weir_filter *from, weir_error *err);
weir_status weir__nest_check(const weir_filter *filter, weir_error *err);
void weir__nest_pack(const weir_filter *filter, uint64_t at, uint8_t *bytes, size_t length);
void weir__nest_clear(weir_filter *filter);
void weir__nest_start(
    weir_filter *filter); /* does nothing: the parts started when they were made */
size_t weir__nest_offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts);
size_t weir__nest_test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts);

/* A site is lost and found under the gate's write lock. With on-lost=stop a batch holds the read
 * lock from the look for lost sites to its last verdict, so that no site is lost in between. */

/* Offer or test at a site and count it. With on-lost=wait the answer is never that
 * there is none. */
weir__answer weir__nest_ask(weir__nest *nest, size_t i, const weir_batch *batch, bool offering,
                            bool waiting, uint64_t *verdicts, size_t *seen);

void weir__describe_site(weir__site *site, const weir__site_counts *counts, weir_site_info *info);
void weir__nest_site(const weir__nest *nest, size_t i, weir_site_info *info);
void weir__nest_set(weir__nest *nest, size_t i, weir_site_state state);

/* The same as functions of a spread whose sites are the parts of the nest. */
size_t weir__nest_sites(const weir_filter *filter);
void weir__nest_set_site(weir_filter *filter, size_t i, weir_site_state state);
weir__site *weir__nest_place(weir_filter *filter, size_t i);
void weir__nest_traffic(const weir__nest *nest, size_t first, size_t count, weir_traffic *traffic);

/* Wait until a lost site is back; wake the threads that wait. */
void weir__nest_wait(weir__nest *nest, const weir__site *site);
void weir__nest_wake(weir__nest *nest);

/* Jain's fairness and the greatest share of the loads of `count` sites. */
void weir__fairness(const weir__site_counts *counts, size_t count, weir_traffic *traffic);

/* Tell the processor that this is a loop that waits. */
static inline void weir__pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Is a site of the composition lost? Cheap: asked before each key of a batch is looked at. */
static inline bool weir__any_lost(const weir__site *sites, size_t count) {
    bool lost = false;
    for (size_t i = 0; i < count; i++) lost |= weir__site_lost(&sites[i]);
    return lost;
}

static inline void weir__count_site(weir__site_counts *counts, uint64_t asked, uint64_t seen) {
    __atomic_fetch_add(&counts->asked, asked, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->seen, seen, __ATOMIC_RELAXED);
}

static inline void weir__count_traffic(const weir__nest *nest, uint64_t keys, uint64_t messages,
                                       uint64_t bytes) {
    __atomic_fetch_add(&nest->traffic[WEIR__KEYS], keys, __ATOMIC_RELAXED);
    __atomic_fetch_add(&nest->traffic[WEIR__MESSAGES], messages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&nest->traffic[WEIR__BYTES], bytes, __ATOMIC_RELAXED);
}

/* The part of a class that all filters made of filters have. */
#define WEIR__NEST_FUNCTIONS(type)                                                                 \
    .size = sizeof(type), .create = create, .start = weir__nest_start, .offer = weir__nest_offer,  \
    .test = weir__nest_test, .details = details, .check = weir__nest_check,                        \
    .pack = weir__nest_pack, .clear = weir__nest_clear, .destroy = destroy, .concurrent = true,    \
    .spread = &spread

/* --- one key at a time -------------------------------------------------------------
 *
 * Where a key is judged in several steps at several sites, two threads with the
 * same key must not take these steps at once, or both may be told NEW: one tests
 * place i and then j, the other j and then i, and each sees what the other has
 * not yet set. A key's hash chooses one of many small locks that is held for all
 * of its steps. Different keys hardly ever meet in one, and a lock never waits
 * for another, so nothing can lock up. */
#define WEIR__KEY_LOCKS 1024 /* two keys of several threads share one seldom */
typedef struct {
    atomic_flag locks[WEIR__KEY_LOCKS];
} weir__key_locks;

/* All of them, for what no key may see half done. */
void weir__lock_keys(weir__key_locks *locks);
void weir__unlock_keys(weir__key_locks *locks);

void weir__lock_key(weir__key_locks *locks, uint64_t hash);
void weir__unlock_key(weir__key_locks *locks, uint64_t hash);

#endif
