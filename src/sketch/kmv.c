/* kmv.c - the k minimum values: different keys, and what streams have in common.
 *
 * Question   how many different keys came by; how many in both of two streams?
 * Idea       keep the smallest hashes. If those below a fraction `theta` of the
 *            hash space are kept, c of them, there are c/theta keys. When the table
 *            is full, all but the k smallest go and theta becomes the (k+1)-th.
 *            The hashes of two tables below the lesser theta are a random
 *            sample of the union, and those that stand in both show what is common.
 * Parameters a table of 2^b hashes; k is half of it, and up to 7/8 are held
 * Error      both ways, unbiased, at most 1/sqrt(k-1) relative (standard deviation);
 *            exact while nothing had to go. Common: c of the sample, deviation
 *            sqrt(c (1 - theta))/theta: relative to the intersection, not the union.
 * Cost       a comparison for most keys once theta is small
 * Layout     a table of hashes with linear probing; 0: free, so a hash of 0 counts
 *            as 1
 * Source     Bar-Yossef et al. 2002; Beyer et al. 2007; thesis 2.1.2. Halving a table
 *            instead of keeping a heap: Dasgupta et al. 2016, who show that c/theta
 *            is unbiased.
 */
#include <assert.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "sketch/presence.h"

#define STANDARD_MEMORY ((uint64_t)32 << 10) /* bytes, if memory= is not given */
enum { SLOTS_LEAST = 16 };                   /* of the table */

typedef struct {
    weir_sketch base;
    uint64_t k, slots;
    uint64_t *scratch; /* for trim() */
    struct {
        uint64_t held;
        uint64_t theta; /* hashes below this are kept; 0: all of them */
    } state;
} kmv_sketch;

static uint64_t *table_of(const weir_sketch *s) { return (void *)s->cells; }

static weir_status create(weir_sketch *s, weir_error *err) {
    kmv_sketch *v = (kmv_sketch *)s;
    bool by_error = weir__sk_given(s, WEIR__PR_ERROR);
    double cells = weir__presence_plan(s, 1, 64, STANDARD_MEMORY);
    v->slots = SLOTS_LEAST;
    if (by_error)
        while ((double)v->slots < 2 * (cells + 1)) v->slots *= 2;
    else
        while ((double)v->slots * 2 <= cells) v->slots *= 2;
    v->k = v->slots / 2;
    v->scratch = weir__alloc(&s->allocator, v->slots * sizeof *v->scratch);
    if (!v->scratch) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    return weir__sketch_claim(s, 8 * v->slots, err);
}

static void close(weir_sketch *s) { weir__free(&s->allocator, ((kmv_sketch *)s)->scratch); }

static bool below(const kmv_sketch *v, uint64_t hash) {
    return v->state.theta == 0 || hash < v->state.theta;
}

/* The slot that holds a hash, or the free one where it would stand. */
static uint64_t slot_of(const kmv_sketch *v, uint64_t hash) {
    assert(v->state.held < v->slots); /* a free slot ends the search */
    const uint64_t *table = table_of(&v->base);
    uint64_t slot = weir__mix64(hash) & (v->slots - 1);
    while (table[slot] && table[slot] != hash) slot = (slot + 1) & (v->slots - 1);
    return slot;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void insert(kmv_sketch *v, uint64_t hash) {
    assert(hash && below(v, hash)); /* 0 is an empty slot */
    uint64_t slot = slot_of(v, hash);
    v->state.held += table_of(&v->base)[slot] == 0;
    table_of(&v->base)[slot] = hash;
}

/* Keep hashes below theta, and at most `most` of them, by way of `scratch`,
 * which has room for all slots. */
static void trim(kmv_sketch *v, uint64_t most) {
    uint64_t *table = table_of(&v->base), n = 0;
    for (uint64_t i = 0; i < v->slots; i++)
        if (table[i] && below(v, table[i])) v->scratch[n++] = table[i];
    qsort(v->scratch, n, sizeof *v->scratch, ascending);
    if (n > most) v->state.theta = v->scratch[n = most];
    memset(table, 0, v->slots * sizeof *table);
    v->state.held = 0;
    for (uint64_t i = 0; i < n; i++) insert(v, v->scratch[i]);
}

static void put(weir_sketch *s, uint64_t hash) {
    kmv_sketch *v = (kmv_sketch *)s;
    hash += hash == 0;
    if (!below(v, hash)) return;
    insert(v, hash);
    if (v->state.held > v->slots / 8 * 7) trim(v, v->k);
}

WEIR__PRESENCE_ADD(put)

static double theta_of(const kmv_sketch *v) {
    return v->state.theta ? (double)v->state.theta * 0x1p-64 : 1;
}

/* c hashes below theta. A binomial number of them, so the deviation of c is
 * sqrt(c (1 - theta)). */
static weir_estimate scaled(double c, double theta) {
    double deviation = sqrt(c * (1 - theta)) / theta;
    double reach = WEIR__Z99 * deviation + (c < 10 && theta < 1 ? 5 / theta : 0);
    return (weir_estimate){c / theta, fmax(c, c / theta - reach), c / theta + reach, deviation};
}

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const kmv_sketch *v = (const kmv_sketch *)s;
    (void)err;
    *out = scaled((double)v->state.held, theta_of(v));
    return WEIR_OK;
}

static weir_status common(weir_sketch *a, weir_sketch *b, weir_estimate *out, weir_error *err) {
    const kmv_sketch *x = (const kmv_sketch *)a, *y = (const kmv_sketch *)b;
    double both = 0;
    (void)err;
    for (uint64_t i = 0; i < x->slots; i++) {
        uint64_t hash = table_of(a)[i];
        if (hash && below(y, hash)) both += table_of(b)[slot_of(y, hash)] == hash;
    }
    *out = scaled(both, fmin(theta_of(x), theta_of(y)));
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    kmv_sketch *a = (kmv_sketch *)into;
    const kmv_sketch *b = (const kmv_sketch *)from;
    (void)err;
    if (b->state.theta && below(a, b->state.theta)) a->state.theta = b->state.theta;
    trim(a, a->slots);
    for (uint64_t i = 0; i < b->slots; i++)
        if (table_of(from)[i]) put(into, table_of(from)[i]);
    weir__merge_totals(into, from);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    out->error = WEIR__Z99 / sqrt((double)((const kmv_sketch *)s)->k - 1);
    out->confidence = 0.99;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const kmv_sketch *v = (const kmv_sketch *)s;
    weir__detail(each, context, "held", "hashes held", "%llu", (unsigned long long)v->state.held);
    weir__detail(each, context, "theta", "share of the keys that they stand for", "%.6g",
                 theta_of(v));
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const kmv_sketch *v = (const kmv_sketch *)s;
    uint64_t held = 0;
    for (uint64_t i = 0; i < v->slots; i++) held += table_of(s)[i] != 0;
    if (held != v->state.held || held > v->slots / 8 * 7)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the table of hashes is not understood");
    for (uint64_t i = 0; i < v->slots; i++) {
        uint64_t hash = table_of(s)[i];
        if (hash && (!below(v, hash) || slot_of(v, hash) != i))
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the table of hashes is not understood");
    }
    return WEIR_OK;
}

static const weir_option options[] = {WEIR__PRESENCE_OPTIONS, {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__kmv_sketch = {
    .kind = {.name = "kmv",
             .summary = "k minimum values: different keys, and those common to two streams",
             .advice = "Where intersections matter: their error is relative to the intersection "
                       "itself, not to the union as with hll. Exact for few keys.",
             .mergeable = true,
             .options = options},
    .size = sizeof(kmv_sketch),
    .state_offset = offsetof(kmv_sketch, state),
    .state_words = sizeof(((kmv_sketch *)0)->state) / 8,
    .create = create,
    .close = close,
    .add = add,
    .needs = WEIR__NEEDS_PRESENT,
    .merge = merge,
    .info = info,
    .details = details,
    .check = check,
    .distinct = distinct,
    .common = common,
};
