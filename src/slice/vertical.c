/* vertical.c - one Bloom filter cut by places: a key touches several slices.
 *
 * Question   how is one filter spread so that losing a site loses no key?
 * Idea       the m places of one filter in S equal ranges, each at a site of its
 *            own. A key's k places are asked of the sites that hold them, all at
 *            once or one after the other until a place is off, which proves that
 *            the key is new.
 * Parameters slices; of: a filter of places (bloom in its classic layout, window);
 *            probe=parallel|pipeline; primitive=test-then-set|test-and-set;
 *            on-lost, live
 * Error      that of the filter that was cut (eq. 3): verdicts are the same, place
 *            by place. With lost sites: src/slice/loss.h.
 * Lost sites on-lost=new calls a key NEW if any of its places is lost, seen counts
 *            lost places as on. live=x lies between: SEEN if all places that live
 *            are on and at least x live (x = 0 is seen, x = k is new). rule=letter is the
 *            heuristic as printed: SEEN if at least x places are on at sites that live,
 *            whatever the others show, lost or not.
 * Messages   one to each site asked. test-then-set asks first and then, if the key
 *            is NEW, sends the places to set; test-and-set does both in one message,
 *            which timers do not allow, since a repeat must not renew them.
 * Elsewhere  sites on servers are used by other processes too, which no lock here holds back. So
 * the sites of a NEW key are told to set in the order of its places from the last to the first, and
 * last of all the one that was found off first: it decides. If its places are on by then, another
 * has set them meanwhile, and the key is SEEN. Of several that offer one key at once exactly one is
 * told NEW, since all that have found it off ask the same site last. (An other key may set these
 * places in the moment between: a false positive that costs k/m for each key that others have under
 * way.) test-and-set has no such order: two may both be told NEW, at most with chance 1 - 2^(1-d)
 * for a key at d sites. Threads    any number may offer and test at once. Places are switched on by
 * atomic operations, and a small lock chosen by the key's hash is held for all of its steps: nest.h
 * says why. Timers count what runs as they are set, so one thread at a time uses them. Source
 * Koloniari et al., CIKM 2011, section 3
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cells.h"
#include "slice/loss.h"
#include "slice/nest.h"

enum { OPT_SLICES = WEIR__OPT_OWN, OPT_OF, OPT_PROBE, OPT_PRIMITIVE, OPT_LIVE, OPT_RULE, OPT_LOST };
#define SLICES_MOST 1024 /* ranges */
#define K_MOST 64        /* places of a key: those that are on are bits of a word */
#define CHUNK 64         /* keys whose places are fetched ahead */

typedef struct {
    weir_filter base;
    weir__nest nest;    /* one part: the filter that is cut */
    weir_filter *whole; /* that part */
    const weir__places *places;
    unsigned k, live; /* places of a key; of these to live for SEEN */
    uint64_t all;     /* places of the whole */
    size_t slices;
    double place_bytes; /* of a place in a message */
    bool pipeline, at_once, letter;
    weir__site *sites;         /* of each slice: a range of the whole */
    weir__site_counts *counts; /* of each slice */
    weir__key_locks *locks;
} vertical_filter;

/* One key under way. */
typedef struct {
    const uint64_t *places;
    uint16_t slices[K_MOST]; /* of each place */
    uint64_t asked;          /* bit j: the site of place j was asked */
    unsigned live, on;       /* places that answered; of these on (rule=letter) */
    bool off;                /* one of them is off */
    unsigned first_off;      /* the first place whose site has shown one that is off */
    uint64_t messages, positions;
    weir__site_counts *counts; /* of this thread, added to the filter's later */
} inquiry;

/* Slices differ by one place at most. */
static inline size_t slice_of(const vertical_filter *f, uint64_t place) {
    assert(place < f->all);
    return (size_t)((unsigned __int128)place * f->slices / f->all);
}

static uint64_t first_of(const vertical_filter *f, size_t slice) {
    assert(slice <= f->slices);
    return (uint64_t)(((unsigned __int128)slice * f->all + f->slices - 1) / f->slices);
}

static inline bool is_lost(const vertical_filter *f, size_t slice) {
    return weir__site_lost(&f->sites[slice]);
}

/* All places of the key at the site of place j, which is the first of them. */
static unsigned gather(const vertical_filter *f, inquiry *q, unsigned j, uint64_t *places) {
    assert(f->k <= K_MOST && j < f->k);
    unsigned count = 0;
    for (unsigned i = j; i < f->k; i++) {
        if (q->slices[i] != q->slices[j]) continue;
        q->asked |= UINT64_C(1) << i;
        places[count++] = q->places[i];
    }
    return count;
}

/* One message to the site of place j about all places of the key there. True: it has answered, and
 * all of them are on, or were. */
static bool ask_site(vertical_filter *f, inquiry *q, unsigned j, bool test, bool set) {
    assert(q->slices[j] < f->slices);
    weir__site *site = &f->sites[q->slices[j]];
    uint64_t places[K_MOST], on;
    unsigned count = gather(f, q, j, places);
    weir__answer answer = set ? site->kind->set_places(site, places, count, &on)
                              : site->kind->test_places(site, places, count, &on);
    if (answer != WEIR__ANSWER) return false;
    unsigned ones = (unsigned)__builtin_popcountll(on);
    q->messages++;
    q->positions += count;
    if (!test) return ones == count;
    q->live += count;
    q->on += ones;
    q->off |= ones < count;
    if (ones < count && j < q->first_off) q->first_off = j;
    q->counts[q->slices[j]].asked++;
    q->counts[q->slices[j]].seen += ones == count;
    return ones == count;
}

/* Tell every site of the key, except the site of place `but`, its next question. */
static void announce(vertical_filter *f, inquiry *q, unsigned but, bool backwards, bool set) {
    assert(but <= f->k);
    uint64_t places[K_MOST], asked = q->asked, first = 0;
    if (!f->base.elsewhere) return;
    for (unsigned j = 0; j < f->k; j++) {
        if (q->asked >> j & 1) continue;
        gather(f, q, j, places);
        if (but == f->k || q->slices[j] != q->slices[but]) first |= UINT64_C(1) << j;
    }
    for (unsigned i = 0; i < f->k; i++) {
        unsigned j = backwards ? f->k - 1 - i : i;
        weir__site *site = &f->sites[q->slices[j]];
        if (!(first >> j & 1) || !site->kind->announce) continue;
        site->kind->announce(site, places, gather(f, q, j, places), set);
    }
    q->asked = asked;
}

/* With test-and-set in a pipeline the sites after the first zero are only told
 * to set. */
static void ask_all(vertical_filter *f, inquiry *q, bool offering) {
    bool set = offering && f->at_once;
    if (!f->pipeline) announce(f, q, f->k, false, set);
    for (unsigned j = 0; j < f->k; j++) {
        if (q->asked >> j & 1) continue;
        bool decided = f->pipeline && (f->letter ? q->on >= f->live : q->off);
        if (decided && !set) return;
        ask_site(f, q, j, !decided, set);
    }
}

/* From the last place to the first, and the site that was first found off at the end. False: its
 * places are on by now. */
static bool set_deciding(vertical_filter *f, inquiry *q) {
    unsigned decides = q->first_off < f->k ? q->first_off : 0;
    uint64_t first = 0, places[K_MOST];
    q->asked = 0;
    for (unsigned j = 0; j < f->k; j++) {
        if (q->asked >> j & 1) continue;
        gather(f, q, j, places);
        if (q->slices[j] == q->slices[decides]) decides = j;
        else first |= UINT64_C(1) << j;
    }
    q->asked = 0;
    announce(f, q, decides, true, true);
    for (unsigned j = f->k; j-- > 0;)
        if (first >> j & 1) ask_site(f, q, j, false, true);
    bool were_on = ask_site(f, q, decides, false, true);
    return !(were_on && q->first_off < f->k);
}

/* False: another process has set the key meanwhile. */
static bool set_all(vertical_filter *f, inquiry *q) {
    if (f->base.elsewhere) return set_deciding(f, q);
    q->asked = 0;
    for (unsigned j = 0; j < f->k; j++)
        if (!(q->asked >> j & 1)) ask_site(f, q, j, false, true);
    return true;
}

static void start_inquiry(inquiry *q, const uint64_t *places) {
    q->places = places;
    q->asked = 0;
    q->live = q->on = 0;
    q->off = false;
    q->first_off = K_MOST;
}

/* Add the counts of one thread to the shared counters. */
static void add_counts(vertical_filter *f, const inquiry *q, size_t keys) {
    for (size_t i = 0; i < f->slices; i++)
        weir__count_site(&f->counts[i], q->counts[i].asked, q->counts[i].seen);
    uint64_t bytes = (uint64_t)((double)q->positions * f->place_bytes) + q->messages;
    weir__count_traffic(&f->nest, keys, q->messages, bytes);
}

/* Under the key's lock. */
static bool judge(vertical_filter *f, inquiry *q, bool offering) {
    assert(f->k >= 1 && f->live <= f->k);
    for (unsigned j = 0; j < f->k; j++) q->slices[j] = (uint16_t)slice_of(f, q->places[j]);
    ask_all(f, q, offering);
    bool seen = f->letter ? q->on >= f->live : !q->off && q->live >= f->live;
    if (seen || !offering) return seen;
    if (!f->at_once && !set_all(f, q)) return true;
    if (q->off) f->places->took_key(f->whole); /* else it is NEW for want of sites alone */
    return false;
}

/* Nobody else judges the same key meanwhile or, with timers, any key. */
static bool judge_alone(vertical_filter *f, inquiry *q, const weir_batch *batch, size_t i,
                        bool offering) {
    pthread_mutex_t *whole = &f->nest.sites[0].lock;
    if (f->places->once) {
        pthread_mutex_lock(whole);
        f->places->advance(f->whole, batch, i, offering);
    } else {
        weir__lock_key(f->locks, batch->hashes[i]);
    }
    bool seen = judge(f, q, offering);
    if (f->places->once) pthread_mutex_unlock(whole);
    else weir__unlock_key(f->locks, batch->hashes[i]);
    return seen;
}

/* With on-lost=wait: sites that a key needs are there, and stay until it is judged. */
static bool judge_when_there(vertical_filter *f, inquiry *q, const weir_batch *batch, size_t i,
                             bool offering) {
    for (;;) {
        weir__site *missing = NULL;
        pthread_rwlock_rdlock(&f->nest.gate);
        for (unsigned j = 0; j < f->k && !missing; j++)
            if (is_lost(f, slice_of(f, q->places[j])))
                missing = &f->sites[slice_of(f, q->places[j])];
        bool seen = !missing && judge_alone(f, q, batch, i, offering);
        pthread_rwlock_unlock(&f->nest.gate);
        if (!missing) return seen;
        weir__nest_wait(&f->nest, missing);
    }
}

static bool needs_lost(const weir_filter *filter, const weir_batch *batch) {
    const vertical_filter *f = (const vertical_filter *)filter;
    uint64_t places[K_MOST];
    assert(f->k <= K_MOST);
    if (!weir__any_lost(f->sites, f->slices)) return false;
    for (size_t i = 0; i < batch->count; i++) {
        f->places->find(f->whole, batch->hashes[i], places);
        for (unsigned j = 0; j < f->k; j++)
            if (is_lost(f, slice_of(f, places[j]))) return true;
    }
    return false;
}

static size_t judge_batch(weir_filter *filter, const weir_batch *batch, bool offering,
                          uint64_t *verdicts) {
    vertical_filter *f = (vertical_filter *)filter;
    uint64_t places[CHUNK * K_MOST];
    weir__site_counts counts[SLICES_MOST];
    inquiry q = {.counts = counts};
    size_t seen = 0;
    memset(counts, 0, f->slices * sizeof *counts);
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        for (size_t i = 0; i < n; i++)
            f->places->find(f->whole, batch->hashes[at + i], places + i * f->k);
        for (size_t i = 0; i < n; i++) {
            start_inquiry(&q, places + i * f->k);
            bool is_seen = f->nest.on_lost == WEIR__LOST_WAIT && !filter->elsewhere
                               ? judge_when_there(f, &q, batch, at + i, offering)
                               : judge_alone(f, &q, batch, at + i, offering);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    if (offering || !f->nest.hides_tests) add_counts(f, &q, batch->count);
    return seen;
}

static const weir__nest_judge judging = {judge_batch, needs_lost};

/* --- making ------------------------------------------------------ */

static weir_status check_part(vertical_filter *f, weir_error *err) {
    uint64_t places = 0;
    const weir__filter_class *class = f->whole->class;
    f->places = class->places;
    f->k = f->places ? f->places->shape(f->whole, &places) : 0;
    if (f->k == 0)
        return weir__opt_fail(
            &f->base, OPT_OF, err,
            "a '%s' filter cannot be cut by places; use of=(bloom:layout=classic) or "
            "of=(window:layout=classic)",
            class->kind.name);
    if (f->k > K_MOST || places < f->slices)
        return weir__opt_fail(&f->base, OPT_SLICES, err, "slices=%zu is more than the %llu places",
                              f->slices, (unsigned long long)places);
    if (f->places->once && f->at_once)
        return weir__opt_fail(&f->base, OPT_PRIMITIVE, err,
                              "timers cannot be tested and set at once: a repeat would renew them; "
                              "use primitive=test-then-set");
    f->all = places;
    f->place_bytes = ceil(log2(ceil((double)places / (double)f->slices)) / 8);
    for (size_t i = 0; i < f->slices; i++)
        weir__site_range(&f->sites[i], f->whole, first_of(f, i), first_of(f, i + 1));
    return WEIR_OK;
}

static weir_status settle_live(vertical_filter *f, weir_error *err) {
    uint64_t live = weir__opt_whole(&f->base, OPT_LIVE);
    if (!weir__opt_given(&f->base, OPT_LIVE)) {
        f->live = f->nest.on_lost == WEIR__LOST_SEEN ? 0 : f->k;
        return WEIR_OK;
    }
    if (live > f->k)
        return weir__opt_fail(&f->base, OPT_LIVE, err, "live=%llu is more than the k=%u places",
                              (unsigned long long)live, f->k);
    f->live = (unsigned)live;
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    vertical_filter *f = (vertical_filter *)filter;
    f->slices = weir__opt_whole(filter, OPT_SLICES);
    f->pipeline = weir__opt_whole(filter, OPT_PROBE) == 1;
    f->at_once = weir__opt_whole(filter, OPT_PRIMITIVE) == 1;
    f->letter = weir__opt_whole(filter, OPT_RULE) == 1;
    f->nest.on_lost = (weir__on_lost)weir__opt_whole(filter, OPT_LOST);
    f->nest.judge = &judging;
    f->nest.by_places = true;
    weir_status status = weir__nest_make(&f->nest, filter, 1, OPT_OF, -1, 1, 2 * f->slices, err);
    if (status != WEIR_OK) return status;
    f->whole = f->nest.sites[0].filter;
    f->counts = (weir__site_counts *)f->nest.extra;
    f->sites = weir__alloc(&filter->allocator, f->slices * sizeof *f->sites);
    f->locks = weir__alloc(&filter->allocator, sizeof *f->locks);
    if (!f->sites || !f->locks) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    status = check_part(f, err);
    return status == WEIR_OK ? settle_live(f, err) : status;
}

/* --- the table --------------------------------------------------- */

#define SELF(filter) ((vertical_filter *)(uintptr_t)(filter))

static size_t site_count(const weir_filter *filter) { return SELF(filter)->slices; }

static void site(const weir_filter *filter, size_t i, weir_site_info *out) {
    vertical_filter *f = SELF(filter);
    pthread_mutex_lock(&f->nest.sites[0].lock);
    weir__describe_site(&f->sites[i], &f->counts[i], out);
    pthread_mutex_unlock(&f->nest.sites[0].lock);
}

static void set_site(weir_filter *filter, size_t i, weir_site_state state) {
    vertical_filter *f = SELF(filter);
    pthread_rwlock_wrlock(&f->nest.gate);
    weir__lock_keys(f->locks);
    pthread_mutex_lock(&f->nest.sites[0].lock);
    f->sites[i].kind->put(&f->sites[i], state);
    pthread_mutex_unlock(&f->nest.sites[0].lock);
    weir__unlock_keys(f->locks);
    pthread_rwlock_unlock(&f->nest.gate);
    weir__nest_wake(&f->nest);
}

static void traffic(const weir_filter *filter, weir_traffic *out) {
    const vertical_filter *f = SELF(filter);
    weir__nest_traffic(&f->nest, 0, 1, out);
    weir__fairness(f->counts, f->slices, out);
    out->sites = f->slices;
    for (size_t i = 0; i < f->slices; i++) out->lost += is_lost(f, i);
}

static void describe_cut(const weir_filter *filter, weir_cut *cut) {
    const vertical_filter *f = SELF(filter);
    *cut = (weir_cut){.places = f->all,
                      .slices = f->slices,
                      .k = f->k,
                      .live = f->live,
                      .letter = f->letter,
                      .pipeline = f->pipeline,
                      .at_once = f->at_once,
                      .timers = f->places->once};
}

static void find_places(const weir_filter *filter, uint64_t hash, uint64_t *places) {
    const vertical_filter *f = SELF(filter);
    f->places->find(f->whole, hash, places);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    vertical_filter *f = SELF(filter);
    weir_traffic t;
    traffic(filter, &t);
    weir__detail(each, context, "slices", "ranges that the places are spread over", "%zu", t.sites);
    weir__detail(each, context, "places_per_key", "k of the filter that is cut", "%u", f->k);
    weir__detail(each, context, "messages_per_key", "to sites, for testing and for setting", "%.3f",
                 t.keys ? (double)t.messages / (double)t.keys : 0);
    weir__detail(each, context, "fairness", "Jain's index of the load of the slices, 1 is even",
                 "%.4f", t.fairness);
    weir__detail(each, context, "greatest_share", "load of the busiest slice", "%.4f", t.greatest);
    weir_filter_info whole;
    pthread_mutex_lock(&f->nest.sites[0].lock);
    weir_filter_get_info(f->whole, &whole);
    pthread_mutex_unlock(&f->nest.sites[0].lock);
    weir__detail(each, context, "fpr_one_lost", "false positive rate now if one site were lost",
                 "%.3g", weir__loss_rule_fpr(1, (double)f->slices, f->k, whole.fill, f->live));
    weir__detail(each, context, "fnr_one_lost", "repeats that would pass if one site were lost",
                 "%.3g", weir__loss_rule_fnr(1, (double)f->slices, f->k, f->live));
}

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    vertical_filter *f = SELF(into);
    weir_status status = weir__nest_merge(into, from, err);
    for (size_t i = 0; status == WEIR_OK && i < f->slices; i++) {
        f->counts[i].asked += SELF(from)->counts[i].asked;
        f->counts[i].seen += SELF(from)->counts[i].seen;
    }
    return status;
}
static void destroy(weir_filter *filter) {
    vertical_filter *f = SELF(filter);
    weir__nest_free(&f->nest);
    weir__free(&filter->allocator, f->sites);
    weir__free(&filter->allocator, f->locks);
}

static const weir_option options[] = {
    {"slices", WEIR_OPT_COUNT, 1, SLICES_MOST, NULL, "8", "ranges that the places are spread over"},
    {"of", WEIR_OPT_SPEC, 0, 0, NULL, "(bloom:layout=classic)", "the filter that is cut"},
    {"probe", WEIR_OPT_CHOICE, 0, 0, "parallel|pipeline", "pipeline",
     "ask all sites of a key at once, or one by one until a place is off"},
    {"primitive", WEIR_OPT_CHOICE, 0, 0, "test-then-set|test-and-set", "test-then-set",
     "set the places of a new key when all were tested, or as they are tested"},
    {"live", WEIR_OPT_COUNT, 0, K_MOST, NULL, NULL,
     "a key with lost places is SEEN if all others are on and at least so many live"},
    {"rule", WEIR_OPT_CHOICE, 0, 0, "all|letter", "all",
     "what 'live' counts: places that live, all of them on; or, as printed, places that are on"},
    WEIR__LOST_OPTION,
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static weir__site *place(weir_filter *filter, size_t i) { return &SELF(filter)->sites[i]; }

static const weir__spread spread = {site_count, site,         set_site,   traffic,
                                    place,      describe_cut, find_places};

const weir__filter_class weir__vertical_class = {
    .kind = {.name = "vertical",
             .summary = "one Bloom filter cut into ranges of places",
             .advice = "Use it when sites can fail: a lost site takes one place of some keys and "
                       "not all of a few. It costs up to k messages for a key where horizontal "
                       "slices cost one.",
             .mergeable = true,
             .options = options},
    WEIR__NEST_FUNCTIONS(vertical_filter),
    .info = weir__nest_info,
    .merge = merge,
};
