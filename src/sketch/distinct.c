/* distinct.c - distinct sampling: a sample of the keys in which every different key
 * has the same chance, however often it came by.
 *
 * Question   how many different keys are there of some sort, the sort being asked
 *            for afterwards? How many came by once, twice, ...?
 * Idea       a key is in the sample if its hash falls below 2^-level: then all of
 *            its occurrences are counted. When the sample outgrows its memory
 *            the level rises by one and half of the keys go. With rows, each
 *            key keeps up to `rows` of the records it came with, a random sample
 *            of them, so that a predicate can look at more than the key.
 * Parameters memory=; rows (0) and row, the bytes kept of each
 * Error      unbiased: sample keys that satisfy the predicate times 2^level; with c of
 *            them the deviation is 2^level sqrt(c (1 - 2^-level)). Where rows are
 *            kept and a key came with more than `rows` records, one that would
 *            satisfy the predicate may have been dropped: the answer is then too low.
 * Cost       a comparison for most keys once the level is high
 * Layout     a roster (roster.h); behind each key its rows, u32 length and bytes each
 * Source     Gibbons 2001; thesis 2.2.2
 */
#include <assert.h>
#include <math.h>

#include "filter/filter.h"
#include "sketch/presence.h"
#include "sketch/roster.h"

enum { OPT_ROWS = WEIR__SK_OWN, OPT_ROW, OPT_KEY };
enum { CAPACITY_LEAST = 16 };               /* keys of the sample */
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    unsigned rows;
    uint32_t row; /* bytes kept of each */
    weir__roster roster;
    struct {
        weir__roster_state roster;
        uint64_t level;
        uint64_t rng;
    } state;
} distinct_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    distinct_sketch *d = (distinct_sketch *)s;
    d->rows = (unsigned)weir__sk_whole(s, OPT_ROWS);
    d->row = (uint32_t)weir__sk_whole(s, OPT_ROW);
    uint32_t extra = d->rows * (d->row + 4);
    uint64_t each = weir__sk_whole(s, OPT_KEY) + extra;
    uint64_t budget = weir__sketch_budget(s, STANDARD_MEMORY), capacity = CAPACITY_LEAST;
    while (weir__roster_plan(&d->roster, capacity * 5 / 4, each, extra),
           weir__roster_bytes(&d->roster) <= budget && capacity < UINT32_MAX / 2)
        capacity = capacity * 5 / 4;
    weir__roster_plan(&d->roster, capacity, each, extra);
    return weir__sketch_claim(s, weir__roster_bytes(&d->roster), err);
}

static void bind(weir_sketch *s) {
    distinct_sketch *d = (distinct_sketch *)s;
    weir__roster_bind(&d->roster, s->cells, &d->state.roster);
}

static void start(weir_sketch *s) {
    ((distinct_sketch *)s)->state.rng = weir__sk_whole(s, WEIR__SK_SEED);
}

static bool in_sample(const distinct_sketch *d, uint64_t hash) {
    return d->state.level == 0 || hash >> (64 - d->state.level) == 0;
}

static bool stays(void *context, const weir__entry *e) { return in_sample(context, e->hash); }

static void raise_level(distinct_sketch *d) {
    d->state.level++;
    weir__roster_keep(&d->roster, stays, d);
}

/* Occurrence number `count` of a key came with this row: keep it with the chance
 * that makes the kept ones a random sample of all. */
static void keep_row(distinct_sketch *d, weir__entry *e, const void *row, size_t length) {
    uint64_t slot = e->count;
    if (slot >= d->rows) slot = weir__rng_below(&d->state.rng, e->count + 1);
    if (slot >= d->rows) return;
    uint8_t *at = weir__entry_extra(&d->roster, e) + slot * (d->row + 4);
    uint32_t kept = length < d->row ? (uint32_t)length : d->row;
    memcpy(at, &kept, sizeof kept);
    if (kept) memcpy(at + 4, row, kept);
}

static void put(distinct_sketch *d, const weir_updates *u, size_t i) {
    uint64_t hash = u->hashes[i];
    size_t length;
    if (!in_sample(d, hash)) return;
    weir__entry *e = weir__roster_find(&d->roster, hash);
    if (!e) {
        const void *key = weir__key_bytes(u, i, &length);
        while (!(e = weir__roster_add(&d->roster, hash, key, length))) {
            raise_level(d);
            if (!in_sample(d, hash)) return;
        }
    }
    if (d->rows && u->row) {
        const void *row = u->row(u->context, i, &length);
        keep_row(d, e, row, length);
    }
    e->count += u->weights ? (uint64_t)u->weights[i] : 1;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    (void)err;
    for (size_t i = 0; i < u->count; i++)
        if (!u->weights || u->weights[i] > 0) put((distinct_sketch *)s, u, i);
    weir__count_total(s, u, u->count);
    *done = u->count;
    return WEIR_OK;
}

/* ---- answers ---- */

static weir_estimate scaled(const distinct_sketch *d, double c) {
    double one_in = exp2((double)d->state.level), share = 1 / one_in;
    double deviation = one_in * sqrt(c * (1 - share));
    double reach = WEIR__Z99 * deviation + (c < 10 && one_in > 1 ? 5 * one_in : 0);
    double low = fmax(c, c * one_in - reach);
    return (weir_estimate){c * one_in, low, c * one_in + reach, deviation};
}

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    (void)err;
    *out = scaled(d, (double)d->state.roster.entries);
    return WEIR_OK;
}

static weir_item item_of(const distinct_sketch *d, const weir__entry *e, unsigned row) {
    weir_item item = weir__roster_item(&d->roster, e);
    double count = (double)e->count;
    item.count = (weir_estimate){count, count, count, 0};
    if (row < d->rows && row < e->count) {
        const uint8_t *at = weir__entry_extra(&d->roster, e) + row * (d->row + 4);
        uint32_t length;
        memcpy(&length, at, sizeof length);
        item.row = at + 4;
        item.row_length = length;
    }
    return item;
}

static bool accepted(const distinct_sketch *d, const weir__entry *e, weir_accept_fn *accept,
                     void *context) {
    for (unsigned row = 0; row == 0 || (row < d->rows && row < e->count); row++) {
        weir_item item = item_of(d, e, row);
        if (accept(context, &item)) return true;
    }
    return false;
}

static weir_status where(weir_sketch *s, weir_accept_fn *accept, void *context, weir_estimate *out,
                         weir_error *err) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    double yes = 0;
    (void)err;
    for (uint64_t i = 0; i < d->state.roster.entries; i++)
        yes += accepted(d, &d->roster.entries[i], accept, context);
    *out = scaled(d, yes);
    return WEIR_OK;
}

static weir_status sample(weir_sketch *s, weir_items *out, weir_error *err) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    (void)err;
    for (uint64_t i = 0; i < d->state.roster.entries; i++) {
        weir_item item = item_of(d, &d->roster.entries[i], 0);
        weir__items_add(out, &item);
    }
    weir__items_sort(out);
    out->complete = d->state.level == 0 && out->found == d->state.roster.entries;
    out->floor = out->complete ? 0 : weir__total(s);
    return WEIR_OK;
}

/* ---- the rest ---- */

/* The entry of a key of another sample, made if need be; NULL if the level has
 * risen over it. */
static weir__entry *entry_for(distinct_sketch *d, const distinct_sketch *from,
                              const weir__entry *e) {
    assert(d->state.level >= from->state.level);
    weir__entry *mine = weir__roster_find(&d->roster, e->hash);
    if (mine) return mine;
    const void *key = from->roster.arena + e->at;
    while (!(mine = weir__roster_add(&d->roster, e->hash, key, weir__entry_length(e)))) {
        raise_level(d);
        if (!in_sample(d, e->hash)) return NULL;
    }
    mine->length |= e->length & WEIR__KEY_CUT;
    return mine;
}

static void take_over(distinct_sketch *d, const distinct_sketch *from, const weir__entry *e) {
    weir__entry *mine = entry_for(d, from, e);
    if (!mine) return;
    uint64_t before = mine->count;
    for (unsigned row = 0; row < d->rows && row < e->count; row++) {
        weir_item item = item_of(from, e, row);
        keep_row(d, mine, item.row, item.row_length);
        mine->count++; /* each stands for one occurrence while it is drawn */
    }
    mine->count = before + e->count;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    distinct_sketch *a = (distinct_sketch *)into;
    const distinct_sketch *b = (const distinct_sketch *)from;
    (void)err;
    while (a->state.level < b->state.level) raise_level(a);
    for (uint64_t i = 0; i < b->state.roster.entries; i++)
        if (in_sample(a, b->roster.entries[i].hash)) take_over(a, b, &b->roster.entries[i]);
    weir__merge_totals(into, from);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    out->error = WEIR__Z99 / sqrt((double)d->roster.capacity / 2);
    out->confidence = 0.99;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    weir__detail(each, context, "keys", "keys in the sample", "%llu",
                 (unsigned long long)d->state.roster.entries);
    weir__detail(each, context, "one-in", "one key in so many is in the sample", "%.0f",
                 exp2((double)d->state.level));
}

static bool rows_sound(const distinct_sketch *d) {
    for (uint64_t i = 0; i < d->state.roster.entries; i++)
        for (unsigned row = 0; row < d->rows; row++) {
            uint32_t length;
            memcpy(&length,
                   weir__entry_extra(&d->roster, &d->roster.entries[i]) + row * (d->row + 4), 4);
            if (length > d->row) return false;
        }
    return true;
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const distinct_sketch *d = (const distinct_sketch *)s;
    bool sound =
        d->state.level < 64 && weir__roster_sound(&d->roster, &d->state.roster) && rows_sound(d);
    for (uint64_t i = 0; sound && i < d->state.roster.entries; i++)
        sound = in_sample(d, d->roster.entries[i].hash);
    return sound ? WEIR_OK
                 : weir__fail(err, WEIR_ERR_CORRUPT, -1, "the sample of keys is not understood");
}

static const weir_option options[] = {
    {"rows", WEIR_OPT_COUNT, 0, 64, NULL, "0", "records kept of each key, for predicates"},
    {"row", WEIR_OPT_SIZE, 1, 65536, NULL, "64", "bytes kept of each of them"},
    {"key", WEIR_OPT_SIZE, 1, 65536, NULL, "32", "bytes of a key to plan for, on average"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__distinct_sketch = {
    .kind = {.name = "distinct",
             .summary = "distinct sampling: different keys, of any sort that is asked for later",
             .advice = "A sample of the different keys with their exact counts: how many satisfy a "
                       "condition, how many came once or twice. For the plain number of keys hll "
                       "needs far less memory.",
             .mergeable = true,
             .options = options},
    .size = sizeof(distinct_sketch),
    .state_offset = offsetof(distinct_sketch, state),
    .state_words = sizeof(((distinct_sketch *)0)->state) / 8,
    .create = create,
    .bind = bind,
    .start = start,
    .add = add,
    .needs = WEIR__NEEDS_PRESENT | WEIR__NEEDS_KEYS | WEIR__NEEDS_WHOLES,
    .merge = merge,
    .info = info,
    .details = details,
    .check = check,
    .distinct = distinct,
    .where = where,
    .sample = sample,
};
