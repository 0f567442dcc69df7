/* sticky.c - sticky sampling and counting samples: frequent keys by sampling.
 *
 * Question   which keys are frequent, and how often did they come by?
 * Idea       a key that is in the sample is counted at each occurrence; one that is
 *            not enters with chance 1/rate. When the sample is full, or by plan, the
 *            rate doubles, and every key pays what it would have missed at
 *            the new rate: with chance 1/2 nothing; else one occurrence and as many
 *            more as it takes to succeed with chance 1/rate each. Whoever has nothing
 *            left goes.
 * Parameters mode=sticky: support s, error e, confidence 1-d: with t = ln(1/(s d))/e the
 *            first 2t records have rate 1, the next 2t rate 2, the next 4t rate 4 and
 *            so on; 2t keys are expected to be held, room is made for 3t. mode=
 *            counting: the rate rises when the roster is full, whatever memory= holds.
 * Error      a key's count is never too high. sticky: with the confidence asked for
 *            all keys above support are listed and none is too low by more than e x
 *            total. counting: 0.418 rate - 1 is added for what was probably missed.
 * Cost       one look into the roster per record
 * Layout     a roster (roster.h)
 * Source     Manku, Motwani 2002; Gibbons, Matias 1998; thesis 2.2.3. Manku and Motwani
 *            toss a fair coin again and again where we and Gibbons and Matias toss
 *            one of 1/rate from the second time on, which makes the sample exactly
 *            what the new rate would have given.
 */
#include <assert.h>
#include <math.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"
#include "sketch/roster.h"

enum { OPT_MODE = WEIR__SK_OWN, OPT_SUPPORT, OPT_ERROR, OPT_CONFIDENCE, OPT_KEY };
enum { MODE_STICKY, MODE_COUNTING };
#define STANDARD_MEMORY ((uint64_t)256 << 10) /* bytes, if memory= is not given */
#define LN_100 4.60517 /* a miss of more than rate x this has a chance of 1% */

typedef struct {
    weir_sketch base;
    bool counting;
    double t; /* sticky: half the records before the first doubling */
    weir__roster roster;
    struct {
        weir__roster_state roster;
        uint64_t rng;
        uint64_t doubled; /* log2 of the rate */
    } state;
} sticky_sketch;

static double rate_of(const sticky_sketch *y) { return exp2((double)y->state.doubled); }

static weir_status create(weir_sketch *s, weir_error *err) {
    sticky_sketch *y = (sticky_sketch *)s;
    uint64_t each = weir__sk_whole(s, OPT_KEY), capacity = 16;
    double support = weir__sk_rate(s, OPT_SUPPORT);
    y->counting = weir__sk_whole(s, OPT_MODE) == MODE_COUNTING;
    if (y->counting) {
        uint64_t budget = weir__sketch_budget(s, STANDARD_MEMORY);
        while (weir__roster_plan(&y->roster, capacity * 5 / 4, each, 0),
               weir__roster_bytes(&y->roster) <= budget && capacity < UINT32_MAX / 2)
            capacity = capacity * 5 / 4;
    } else {
        double error = weir__sk_given(s, OPT_ERROR) ? weir__sk_rate(s, OPT_ERROR) : support / 10;
        double failure = 1 - weir__sk_rate(s, OPT_CONFIDENCE);
        if (error > support)
            return weir__sk_fail(s, OPT_ERROR, err, "error must not exceed support");
        s->values[OPT_ERROR].number = error;
        s->values[OPT_ERROR].given = true;
        y->t = log(1 / (support * failure)) / error;
        capacity = (uint64_t)fmin(3 * y->t + 16, UINT32_MAX / 2);
    }
    weir__roster_plan(&y->roster, capacity, each, 0);
    return weir__sketch_claim(s, weir__roster_bytes(&y->roster), err);
}

static void bind(weir_sketch *s) {
    sticky_sketch *y = (sticky_sketch *)s;
    weir__roster_bind(&y->roster, s->cells, &y->state.roster);
}

static void start(weir_sketch *s) {
    ((sticky_sketch *)s)->state.rng = weir__sk_whole(s, WEIR__SK_SEED) ^ UINT64_C(0x737469636b79);
}

/* Failures before the first success of chance 1/rate. */
static double failures(sticky_sketch *y, double rate) {
    double u = ((double)(weir__rng_next(&y->state.rng) >> 11) + 0.5) * 0x1p-53;
    return rate > 1 ? floor(log(u) / log1p(-1 / rate)) : 0;
}

static bool pays(void *context, const weir__entry *e) {
    sticky_sketch *y = context;
    weir__entry *entry = (weir__entry *)(uintptr_t)e;
    if (weir__rng_next(&y->state.rng) >> 63) return true;
    double left = (double)e->count - 1 - failures(y, rate_of(y));
    if (left < 1) return false;
    entry->count = (uint64_t)left;
    return true;
}

static void double_rate(sticky_sketch *y) {
    assert(y->state.doubled < 64);
    y->state.doubled++;
    weir__roster_keep(&y->roster, pays, y);
}

static void enter(sticky_sketch *y, const weir_updates *u, size_t i, uint64_t weight) {
    size_t length;
    double left = (double)weight - failures(y, rate_of(y));
    if (left < 1) return;
    const void *key = weir__key_bytes(u, i, &length);
    weir__entry *e;
    while (!(e = weir__roster_add(&y->roster, u->hashes[i], key, length))) {
        double_rate(y);
        if (weir__rng_next(&y->state.rng) >> 63) continue;
        left -= 1 + failures(y, rate_of(y));
        if (left < 1) return;
    }
    e->count = (uint64_t)left;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    sticky_sketch *y = (sticky_sketch *)s;
    double total = weir__total(s);
    (void)err;
    for (size_t i = 0; i < u->count; i++) {
        uint64_t weight = u->weights ? (uint64_t)u->weights[i] : 1;
        total += (double)weight;
        while (!y->counting && total > 2 * y->t * rate_of(y)) double_rate(y);
        weir__entry *e = weir__roster_find(&y->roster, u->hashes[i]);
        if (e) e->count += weight;
        else if (weight) enter(y, u, i, weight);
    }
    weir__count_total(s, u, u->count);
    *done = u->count;
    return WEIR_OK;
}

/* ---- answers ---- */

static weir_estimate estimate_of(const sticky_sketch *y, const weir__entry *e) {
    double rate = rate_of(y), missed = rate > 1 ? LN_100 * rate : 0;
    double count = e ? (double)e->count : 0;
    double value = e && y->counting && rate > 1 ? count + 0.418 * rate - 1 : count;
    return (weir_estimate){value, count, fmax(value, count + missed), rate > 1 ? rate : 0};
}

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    const sticky_sketch *y = (const sticky_sketch *)s;
    (void)by, (void)err;
    *out = estimate_of(y, weir__roster_find(&y->roster, hash));
    return WEIR_OK;
}

/* A bound for one key fails in 1% of cases. What a list says of all keys that are missing must
 * hold for each of those that could exceed it, of which there are at most total / bound: so
 * much more may have been missed. */
static double for_all_keys(const sticky_sketch *y) {
    double rate = rate_of(y), keys = weir__total(&y->base) / (LN_100 * rate);
    return keys > 1 ? rate * log(keys) : 0;
}

static weir_status top(weir_sketch *s, double above, weir_estimator by, weir_items *out,
                       weir_error *err) {
    const sticky_sketch *y = (const sticky_sketch *)s;
    uint64_t listed = 0;
    (void)by, (void)err;
    out->floor = rate_of(y) > 1 ? LN_100 * rate_of(y) : 0;
    for (uint64_t i = 0; i < y->state.roster.entries; i++) {
        weir_item item = weir__roster_item(&y->roster, &y->roster.entries[i]);
        item.count = estimate_of(y, &y->roster.entries[i]);
        if (above > 0 && item.count.high < above) {
            weir__items_leave_out(out, &item);
            continue;
        }
        weir__items_add(out, &item);
        listed++;
    }
    weir__items_sort(out);
    if (rate_of(y) > 1) out->floor += for_all_keys(y);
    out->complete = rate_of(y) == 1 && listed == out->found; /* else it is only likely */
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const sticky_sketch *y = (const sticky_sketch *)s;
    out->error = y->counting ? rate_of(y) / fmax(1, weir__total(s)) : weir__sk_rate(s, OPT_ERROR);
    out->confidence = weir__sk_rate(s, OPT_CONFIDENCE);
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const sticky_sketch *y = (const sticky_sketch *)s;
    weir__detail(each, context, "rate", "a new key enters once in so many records", "%.0f",
                 rate_of(y));
    weir__detail(each, context, "keys", "keys held", "%llu",
                 (unsigned long long)y->state.roster.entries);
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const sticky_sketch *y = (const sticky_sketch *)s;
    if (y->state.doubled > 63 || !weir__roster_sound(&y->roster, &y->state.roster))
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the sample of keys is not understood");
    return WEIR_OK;
}

static const weir_option options[] = {
    {"mode", WEIR_OPT_CHOICE, 0, 0, "sticky|counting", "sticky",
     "sticky is sized by support and error, counting by memory"},
    {"support", WEIR_OPT_RATE, 1e-7, 0.5, NULL, "0.1%",
     "share of the total that makes a key frequent"},
    {"error", WEIR_OPT_RATE, 1e-8, 0.5, NULL, NULL,
     "share of the total by which a count may be low (support / 10)"},
    {"confidence", WEIR_OPT_RATE, 0.5, 1 - 1e-9, NULL, "99%", "chance that all of this holds"},
    {"key", WEIR_OPT_SIZE, 1, 65536, NULL, "32", "bytes of a key to plan for, on average"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__sticky_sketch = {
    .kind = {.name = "sticky",
             .summary = "sticky and counting samples: frequent keys, counted exactly once sampled",
             .advice =
                 "An alternative to top that never overestimates. It needs more memory for the "
                 "same error, cannot be merged and takes no deletions.",
             .options = options},
    .size = sizeof(sticky_sketch),
    .state_offset = offsetof(sticky_sketch, state),
    .state_words = sizeof(((sticky_sketch *)0)->state) / 8,
    .create = create,
    .bind = bind,
    .start = start,
    .add = add,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_KEYS | WEIR__NEEDS_GAINS | WEIR__NEEDS_WHOLES,
    .no_merge = "each has missed occurrences of a key that the other counted; use top",
    .info = info,
    .details = details,
    .check = check,
    .estimate = estimate,
    .top = top,
};
