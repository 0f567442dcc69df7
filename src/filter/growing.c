/* growing.c - a filter that adds filters when they are full, and drops them when empty.
 *
 * Question   has this key come by, when nobody knows how many keys there will be?
 * Idea       begin with one small filter. When it has reached its threshold a new one of
 *            the same kind and size is added, and from then on takes the new keys; a
 *            key is SEEN if any of them knows it. Filters with a window are dropped when
 *            the last key that came to them has left it.
 * Parameters of=(spec) the filters inside: bloom, or window; most, how many at once; each
 *            has memory/most. threshold says when one is full:
 *              density      its rate from the cells that are set, (z/m)^k, is at what it
 *                           may be; cells that ran out make room again
 *              cardinality  as many keys were put into it as it has capacity for; keys that
 *                           have left the window are not known and count on
 * Error      false positives: a new key is called SEEN if any filter errs, with rate
 *            1 - (1-p1)(1-p2)... of those in use, which is less than p1 + p2 + ...; each
 *            is made for fpr/most, so that is at most fpr with any number of them. (A
 *            series of tightening rates whose sum is fpr is for filters without a most;
 *            with one, equal shares leave the later filters more room.)
 *            False negatives: none, or those of the window, until `most` are full. Then
 *            the oldest is dropped and its memory taken for the new one: the bound
 *            and the memory are kept, and the oldest keys are forgotten. It says that
 *            it is overfull. To fill the last one further would break the bound for ever.
 * Cost       as many filters are asked as there are. All memory is mapped at once, but
 *            the system gives a page only when it is used.
 * Layout     `most` parts: the cells of a filter, then its state words, as they are after
 *            each batch.
 * Source     Koloniari, Ntarmos, Pitoura, Souravlias, "One is Enough", section 5. We
 *            differ: each time that 1/128 of the capacity has come in we look which filters
 *            are over and how dense the newest is, and it counts as full when the keys
 *            until the next look could bring it to its rate, which grows as the k-th
 *            power of its density; at the latest at 85% of the rate. The number of
 *            filters is bounded.
 *
 * Merging is refused: two of them have put their keys into different filters.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cells.h"
#include "core/clock.h"
#include "filter/aging.h"
#include "filter/filter.h"

enum { OPT_THRESHOLD = WEIR__OPT_OWN, OPT_MOST, OPT_OF };
enum {
    MOST = 32,  /* filters inside */
    CHUNK = 64, /* keys of a round: their verdicts are a word */
    LOOKS = 128 /* times that the fill of a filter is looked at while it fills */
};

#define FULL_AT 0.85              /* of the rate of a filter, at most */
#define STEP_CELLS 1.5            /* shares of the cells that a share of the keys sets, at most */
#define PART_LEAST UINT64_C(1024) /* bytes of a filter inside */
#define PART_LARGE (UINT64_C(2) << 20) /* parts of this size are whole pages of the system */

typedef struct {
    weir_filter base;
    unsigned most;
    bool by_density, timed, renew;
    bool by_number;       /* the window is one of records, which are numbered here */
    uint64_t part, cells; /* bytes of a part, and of the cells in it */
    uint64_t length;      /* of the window, in nanoseconds or records */
    uint64_t capacity, step;
    double full_at; /* share of its rate at which a filter is full */
    weir_filter *inside[MOST];
    struct {
        uint64_t newest;          /* of the parts, which are used in turn */
        uint64_t count;           /* of filters, the newest included */
        uint64_t added;           /* keys in the newest */
        uint64_t look_at;         /* number of keys at which to look whether it is full */
        uint64_t started, latest; /* a time has come; the latest so far, or the latest record */
        uint64_t grown, dropped;  /* filters added; of those, dropped before they were empty */
        uint64_t closed[MOST];    /* time of the last key that a part can have */
    } state;
} growing_filter;

/* --- creation -------------------------------------------------------------------- */

static void take_capacity(void *context, const char *name, const char *value, const char *meaning) {
    (void)meaning;
    if (!strcmp(name, "capacity")) *(double *)context = atof(value);
}

/* With its share of fpr, or without any. */
static weir_status try_inside(growing_filter *f, unsigned i, const char *text, bool with_fpr,
                              weir_error *why) {
    char spec[WEIR__SPEC_MAX], fpr[48] = "";
    if (with_fpr)
        snprintf(fpr, sizeof fpr, ",fpr=%.17g", weir__opt_rate(&f->base, WEIR__OPT_FPR) / f->most);
    int n = snprintf(spec, sizeof spec, "%s%cmemory=%llu%s,seed=%llu", text,
                     strchr(text, ':') ? ',' : ':', (unsigned long long)f->cells, fpr,
                     (unsigned long long)weir__opt_whole(&f->base, WEIR__OPT_SEED));
    if (n >= (int)sizeof spec)
        return weir__fail(why, WEIR_ERR_SPEC, 0, "the spec in 'of' is too long");
    return weir__filter_new_in(&f->inside[i], spec, &f->base, f->base.cells + i * f->part, f->cells,
                               why);
}

/* A filter whose every setting was given implies its rate, if nobody asked for another. */
static bool inside_implies(growing_filter *f, unsigned i, const char *text) {
    if (!weir__fpr_is_open(&f->base)) return false;
    if (try_inside(f, i, text, false, NULL) == WEIR_OK &&
        f->inside[i]->values[WEIR__OPT_FPR].implied) {
        weir__imply_fpr(&f->base, f->most * weir__opt_rate(f->inside[i], WEIR__OPT_FPR));
        return true;
    }
    weir_filter_free(f->inside[i]);
    f->inside[i] = NULL;
    return false;
}

static weir_status make_inside(growing_filter *f, unsigned i, weir_error *err) {
    const weir__value *of = &f->base.values[OPT_OF];
    const char *text = of->text ? of->text : "bloom";
    weir_error inner = {0};
    if (inside_implies(f, i, text)) return WEIR_OK;
    weir_status status = try_inside(f, i, text, true, &inner);
    if (status == WEIR_OK) return status;
    int64_t at = inner.offset >= 0 && inner.offset < (int64_t)strlen(text) ? inner.offset : 0;
    return weir__fail(err, status, of->offset < 0 ? -1 : of->offset + at, "of: %.300s",
                      inner.message);
}

static const weir__value *option_inside(const weir_filter *inside, const char *name) {
    for (int i = 0; inside->class->kind.options[i].name; i++)
        if (!strcmp(inside->class->kind.options[i].name, name))
            return &inside->values[WEIR__OPT_OWN + i];
    return NULL;
}

/* With k cells to a key a filter is full that lacks the cells of one step. Half of the cells are
 * set then, by 1/ln 2 = 1.44 times as many that were meant to be. */
static double full_at(const growing_filter *f) {
    const weir__value *k = option_inside(f->inside[0], "k");
    double left = 1 - STEP_CELLS * (double)f->step / (double)f->capacity;
    return fmin(FULL_AT, pow(fmax(left, 0), k ? (double)k->whole : 1));
}

/* Only filters that say how many keys they are made for. None of them meets every record:
 * for a window of records they are numbered here. */
static weir_status look_inside(growing_filter *f, weir_error *err) {
    const weir_filter *inside = f->inside[0];
    const weir__value *length = option_inside(inside, "length");
    const weir__value *renew = option_inside(inside, "renew");
    double capacity = 0;
    weir_filter_details(inside, take_capacity, &capacity);
    if (capacity < 1)
        return weir__opt_fail(&f->base, OPT_OF, err,
                              "'%s' filters have no capacity to grow beyond; take bloom or window",
                              inside->class->kind.name); /* NOLINT: all were made by create() */
    if (length && length->offset < 0) /* as many records as fit: never more than one filter */
        return weir__opt_fail(&f->base, OPT_OF, err,
                              "a window inside 'growing' needs a length, such as length=1h");
    f->timed = length != NULL;
    f->by_number = length && !length->is_time;
    for (unsigned i = 0; i < f->most; i++) /* NOLINTNEXTLINE(clang-analyzer-core*): likewise */
        f->inside[i]->numbered = f->by_number;
    f->length = length ? length->whole : 0;
    f->base.windowed = f->length > 0;
    f->renew = renew && renew->whole == 1;
    f->capacity = (uint64_t)capacity;
    f->step = f->capacity / LOOKS + 1;
    f->full_at = full_at(f);
    return WEIR_OK;
}

static size_t state_bytes(const growing_filter *f) {
    const char *text = f->base.values[OPT_OF].text;
    char name[WEIR__NAME_SIZE];
    if (weir__spec_name(text ? text : "bloom", name, NULL) != WEIR_OK) return 0;
    for (size_t i = 0; weir__filter_classes[i]; i++)
        if (!strcmp(weir__filter_classes[i]->kind.name, name))
            return weir__filter_classes[i]->state_words * sizeof(uint64_t);
    return 0; /* making it will say what is wrong */
}

/* Parts of the memory: cells and, at their end, state words. Where there is hardly room
 * for the cells the words come on top. */
static void divide(growing_filter *f, uint64_t memory) {
    uint64_t words = (state_bytes(f) + WEIR__LINE - 1) / WEIR__LINE * WEIR__LINE;
    f->part = memory / f->most / WEIR__LINE * WEIR__LINE;
    if (f->part >= PART_LARGE) f->part = f->part / PART_LARGE * PART_LARGE;
    if (f->part < 2 * PART_LEAST + words) f->part += words;
    f->cells = f->part - words;
    assert(f->cells && f->cells % WEIR__LINE == 0 && f->cells <= f->part);
}

static weir_status create(weir_filter *base, weir_error *err) {
    growing_filter *f = (growing_filter *)base;
    uint64_t memory = weir__opt_whole(base, WEIR__OPT_MEMORY), fit = memory / PART_LEAST;
    if (!weir__opt_given(base, OPT_MOST)) weir__opt_resolve(base, OPT_MOST, fit < 4 ? fit : 4);
    f->most = (unsigned)weir__opt_whole(base, OPT_MOST);
    f->by_density = weir__opt_whole(base, OPT_THRESHOLD) == 0;
    if (f->most > fit)
        return weir__opt_fail(base, OPT_MOST, err,
                              "most=%u leaves less than 1K for each filter; ask for more memory or "
                              "fewer filters",
                              f->most);
    divide(f, memory);
    weir_status status = weir__filter_map(base, f->part * f->most, err);
    for (unsigned i = 0; i < f->most && status == WEIR_OK; i++) status = make_inside(f, i, err);
    return status == WEIR_OK ? look_inside(f, err) : status;
}

static void release(weir_filter *base) {
    growing_filter *f = (growing_filter *)base;
    for (unsigned i = 0; i < f->most; i++) weir_filter_free(f->inside[i]);
}

/* As if nothing had ever been put into it; its cells are zero. */
static void restart(weir_filter *inside) {
    memset(weir__filter_state(inside), 0, inside->class->state_words * sizeof(uint64_t));
    inside->class->start(inside);
}

static void start(weir_filter *base) {
    growing_filter *f = (growing_filter *)base;
    memset(&f->state, 0, sizeof f->state);
    f->state.count = f->state.grown = 1;
    f->state.look_at = f->step;
    for (unsigned i = 0; i < f->most; i++) restart(f->inside[i]);
}

/* --- growing and shrinking -------------------------------------------------------- */

/* Part i, counted from the newest (0) to the oldest (count - 1). */
static unsigned part_of(const growing_filter *f, uint64_t i) {
    assert(i < f->most && f->state.newest < f->most);
    return (unsigned)((f->state.newest + f->most - i) % f->most);
}

static uint8_t *words_of_part(const growing_filter *f, unsigned part) {
    assert(part < f->most);
    return f->base.cells + part * f->part + f->cells;
}

static void keep_words(growing_filter *f) {
    const weir_filter *inside = f->inside[f->state.newest];
    memcpy(words_of_part(f, (unsigned)f->state.newest), weir__filter_state(inside),
           inside->class->state_words * sizeof(uint64_t));
}

static bool is_over(const growing_filter *f, unsigned part) {
    return f->timed && f->state.latest - f->state.closed[part] > f->length;
}

static void drop_oldest(growing_filter *f) {
    assert(f->state.count > 0);
    unsigned part = part_of(f, --f->state.count);
    weir__cells_clear(&f->base.allocator, f->base.cells + part * f->part, f->part);
    restart(f->inside[part]);
}

static void drop_what_is_over(growing_filter *f) {
    while (f->state.count > 1 && is_over(f, part_of(f, f->state.count - 1))) drop_oldest(f);
}

static bool is_full(const growing_filter *f) {
    weir_filter_info info;
    if (!f->by_density) return f->state.added >= f->capacity;
    weir_filter_get_info(f->inside[f->state.newest], &info);
    bool cut = f->timed && info.overfull; /* equal timers: the rate does not tell */
    return cut || info.fpr_now >= f->full_at * info.fpr_bound;
}

/* The newest filter has more keys than at the last look: if it is full, the next one begins. By
 * number it is full at its capacity, not after. */
static void start_next_if_full(growing_filter *f) {
    drop_what_is_over(f);
    f->state.look_at += f->step;
    if (!f->by_density && f->state.look_at > f->capacity) f->state.look_at = f->capacity;
    if (!is_full(f)) return;
    keep_words(f);
    f->state.closed[f->state.newest] = f->state.latest;
    if (f->state.count == f->most) drop_oldest(f), f->state.dropped++;
    f->state.newest = (f->state.newest + 1) % f->most;
    f->state.count++;
    f->state.grown++;
    f->state.added = 0;
    f->state.look_at = f->step;
}

/* --- batches ------------------------------------------------------------------------ */

/* At most 64 keys with their times: none is before the latest that came before, since the
 * older filters do not know how far time has gone on. */
typedef struct {
    size_t count;
    const uint64_t *hashes;
    int64_t times[CHUNK];
    int64_t latest; /* with the last of them */
} some_keys;

static some_keys take_keys(const growing_filter *f, const weir_batch *batch, size_t at, size_t n,
                           int64_t now) {
    assert(n <= CHUNK && at + n <= batch->count);
    some_keys keys = {.count = n, .hashes = batch->hashes + at, .latest = (int64_t)f->state.latest};
    for (size_t i = 0; i < n && f->timed; i++) {
        int64_t time = f->by_number ? keys.latest + 1 : weir__batch_time(batch, at + i, now);
        if (time > keys.latest || (!f->state.started && i == 0)) keys.latest = time;
        keys.times[i] = keys.latest;
    }
    return keys;
}

/* The verdicts of all filters but the newest on up to 64 keys, as bits. */
static uint64_t ask_older(const growing_filter *f, const some_keys *keys) {
    assert(keys->count <= CHUNK);
    const weir_batch batch = {.count = keys->count, .hashes = keys->hashes, .times = keys->times};
    uint64_t known = 0;
    for (uint64_t i = 1; i < f->state.count; i++) {
        const weir_filter *inside = f->inside[part_of(f, i)];
        uint64_t verdicts = 0;
        inside->class->test(inside, &batch, &verdicts);
        known |= verdicts;
    }
    return known;
}

/* Keys that no older filter knows go to the newest, in order; with renew all keys do. */
static uint64_t offer_some(growing_filter *f, const some_keys *keys) {
    uint64_t hashes[CHUNK], mine = 0, known = ask_older(f, keys), seen = known;
    int64_t times[CHUNK];
    unsigned char which[CHUNK] = {0};
    weir_filter *newest = f->inside[f->state.newest];
    weir_batch rest = {.hashes = hashes, .times = times};
    assert(keys->count <= CHUNK && f->state.newest < f->most);
    for (size_t i = 0; i < keys->count; i++) {
        if (known >> i & 1 && !f->renew) continue;
        hashes[rest.count] = keys->hashes[i];
        times[rest.count] = keys->times[i];
        which[rest.count++] = (unsigned char)i;
    }
    f->state.started = 1;
    f->state.latest = (uint64_t)keys->latest;
    if (rest.count) f->state.added += rest.count - newest->class->offer(newest, &rest, &mine);
    for (size_t i = 0; i < rest.count; i++) seen |= (mine >> i & 1) << which[i];
    return seen;
}

static size_t offer(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    growing_filter *f = (growing_filter *)base;
    int64_t now = f->timed && !f->by_number && !batch->times ? weir__clock_now() : 0;
    size_t total = 0;
    for (size_t at = 0, n; at < batch->count; at += n) {
        uint64_t before_look = f->state.look_at - f->state.added;
        n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        if (n > before_look) n = before_look;
        assert(n > 0); /* start_next_if_full() has moved the look on */
        some_keys keys = take_keys(f, batch, at, n, now);
        uint64_t seen = offer_some(f, &keys);
        for (size_t i = 0; i < n; i++) weir__mark_seen(verdicts, at + i, (seen >> i & 1) != 0);
        total += (size_t)__builtin_popcountll(seen);
        if (f->state.added >= f->state.look_at) start_next_if_full(f);
    }
    keep_words(f);
    return total;
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const growing_filter *f = (const growing_filter *)base;
    const weir_filter *newest = f->inside[f->state.newest];
    int64_t now = f->timed && !f->by_number && !batch->times ? weir__clock_now() : 0;
    size_t seen = 0;
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        some_keys keys = take_keys(f, batch, at, n, now);
        for (size_t i = 0; i < n && f->timed; i++) { /* each is tested against what is */
            int64_t latest = (int64_t)f->state.latest;
            int64_t time = f->by_number ? latest + 1 : weir__batch_time(batch, at + i, now);
            keys.times[i] = time > latest || !f->state.started ? time : latest;
        }
        uint64_t mine = 0;
        newest->class->test(
            newest, &(weir_batch){.count = n, .hashes = keys.hashes, .times = keys.times}, &mine);
        verdicts[at / 64] = mine | ask_older(f, &keys);
        seen += (size_t)__builtin_popcountll(verdicts[at / 64]);
    }
    return seen;
}

/* --- looking inside -------------------------------------------------------------------- */

static void info(const weir_filter *base, weir_filter_info *info) {
    const growing_filter *f = (const growing_filter *)base;
    double none = 1;
    info->fill = 0;
    for (uint64_t i = 0; i < f->state.count; i++) {
        weir_filter_info inner;
        weir_filter_get_info(f->inside[part_of(f, i)], &inner);
        info->fill += inner.fill / f->most;
        none *= 1 - inner.fpr_now;
    }
    info->fpr_now = 1 - none;
    info->memory += f->most * f->inside[0]->class->size;
    info->overfull = f->state.dropped > 0;
    info->window = (int64_t)f->length;
    info->window_is_time = f->timed && !f->by_number;
    info->renew = f->renew;
    info->room = (double)f->most * (double)f->capacity;
}

static void details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const growing_filter *f = (const growing_filter *)base;
    weir__detail(each, context, "filters", "filters in use", "%llu",
                 (unsigned long long)f->state.count);
    weir__detail(each, context, "grown", "filters added in all", "%llu",
                 (unsigned long long)f->state.grown);
    weir__detail(each, context, "dropped", "filters dropped full, for want of memory", "%llu",
                 (unsigned long long)f->state.dropped);
    weir__detail(each, context, "memory_in_use", "bytes of the filters in use", "%llu",
                 (unsigned long long)f->state.count * f->part);
    weir__detail(each, context, "keys_per_filter", "keys that a filter is made for", "%llu",
                 (unsigned long long)f->capacity);
    weir__detail(each, context, "fpr_each", "what each filter may have of the rate", "%.3g",
                 weir__opt_rate(base, WEIR__OPT_FPR) / f->most);
}

static bool is_zero(const uint8_t *bytes, uint64_t count) {
    assert(count % 8 == 0);
    for (uint64_t at = 0; at < count; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        if (word) return false;
    }
    return true;
}

/* The filters inside get the words that were saved with their cells. */
static weir_status check(const weir_filter *base, weir_error *err) {
    const growing_filter *f = (const growing_filter *)base;
    bool sound = f->state.newest < f->most && f->state.count >= 1 && f->state.count <= f->most &&
                 f->state.added < f->state.look_at &&
                 f->state.look_at - f->state.added <= f->capacity && f->state.look_at <= INT64_MAX;
    for (unsigned i = 0; sound && i < f->most; i++) {
        unsigned part = part_of(f, i);
        weir_filter *inside = f->inside[part];
        size_t bytes = inside->class->state_words * sizeof(uint64_t);
        bool fresh = base->offered == 0;
        if (i >= f->state.count || fresh) {
            sound = is_zero(base->cells + part * f->part, f->part);
            restart(inside);
            continue;
        }
        memcpy(weir__filter_state(inside), words_of_part(f, part), bytes);
        weir_status status = weir__filter_check(inside, err);
        if (status != WEIR_OK) return status;
    }
    return sound
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "growing: the counts contradict each other");
}

/* The keys of all filters, the newest being half full in the mean; then the oldest go. */
static double lifetime(const void *filter, double news) {
    const growing_filter *f = filter;
    return (f->most - 0.5) * (double)f->capacity / news;
}

/* Each filter that there will be errs at its share of the rate. */
static void expect(const weir_filter *base, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const growing_filter *f = (const growing_filter *)base;
    double each = weir__opt_rate(base, WEIR__OPT_FPR) / f->most;
    double filters = fmin(f->most, ceil(model->distinct / (double)f->capacity));
    expectation->fpr = -expm1(filters * log1p(-each));
    expectation->fnr = weir__aging_fnr(
        f, lifetime, f->renew ? WEIR__ENDS_AFTER_USE : WEIR__ENDS_BY_AGE, expectation->fpr, model);
}

static const weir_option options[] = {
    {"threshold", WEIR_OPT_CHOICE, 0, 0, "density|cardinality", "density",
     "when a filter is full: by the cells that are set, or by the keys that were put in"},
    {"most", WEIR_OPT_COUNT, 1, MOST, NULL, NULL,
     "filters at once; when all are full the oldest is dropped; 4, or fewer in little memory"},
    {"of", WEIR_OPT_SPEC, 0, 0, NULL, NULL,
     "the filters inside, such as (bloom:layout=classic) or (window:length=1h); bloom"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__growing_class = {
    .kind = {.name = "growing",
             .summary = "adds Bloom filters as keys come, drops them when their window has passed",
             .advice =
                 "When the number of keys is not known, or comes in bursts, and memory should "
                 "be used only as it is needed: pages of filters that were never added cost "
                 "nothing. A key costs more, since every filter in use is asked; where memory "
                 "may be used from the start recent knows more keys in it.",
             .mergeable = false,
             .options = options},
    WEIR__FILTER_FUNCTIONS(growing_filter),
    .destroy = release,
    .details = details,
    .no_merge = "they have put their keys into different filters",
    .check = check,
    .expect = expect,
};
