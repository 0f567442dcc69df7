/* sample.c - reservoir: a random sample of the records.
 *
 * Question   what do typical records look like? (Every record has the same chance,
 *            so frequent keys come often.)
 * Idea       record number i replaces a random one of the n kept with chance n/i.
 *            How many records pass before the next one is drawn directly, so that
 *            almost no record costs anything.
 * Parameters n; `key`, the bytes kept of each key: a longer one is cut
 * Error      none but chance: all sets of n records are equally likely
 * Cost       n (1 + ln(N/n)) records of N touch memory
 * Layout     n slots of: u64 hash, u64 number of the record, u32 length (the highest
 *            bit: the key was cut), then `key` bytes
 * Source     Vitter 1985, with the skips of Li 1994 (algorithm L); thesis 2.2.1.
 *            Merging draws from either sample in proportion to the records that it
 *            stands for, without replacement.
 */
#include <assert.h>
#include <math.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"
#include "sketch/roster.h"

enum { OPT_N = WEIR__SK_OWN, OPT_KEY };
enum { SLOT_HEAD = 24 }; /* bytes before the key in a slot */

typedef struct {
    weir_sketch base;
    uint64_t n, stride;
    uint32_t key; /* bytes kept of a key */
    struct {
        uint64_t rng;
        uint64_t records;
        uint64_t next; /* the number of the record that comes in next */
        uint64_t w;    /* bits of a double: algorithm L's running product */
    } state;
} sample_sketch;

typedef struct {
    uint64_t hash, number;
    uint32_t length, unused;
} slot_head;

_Static_assert(sizeof(slot_head) == SLOT_HEAD, "a slot has a head of 24 bytes");

static weir_status create(weir_sketch *s, weir_error *err) {
    sample_sketch *r = (sample_sketch *)s;
    r->key = (uint32_t)weir__sk_whole(s, OPT_KEY);
    r->stride = SLOT_HEAD + (r->key + 7) / 8 * 8;
    if (!weir__sk_given(s, OPT_N)) {
        uint64_t fit = weir__sketch_budget(s, 1000 * r->stride) / r->stride;
        weir__sk_resolve(s, OPT_N, fit ? fit : 1);
    }
    r->n = weir__sk_whole(s, OPT_N);
    return weir__sketch_claim(s, r->n * r->stride, err);
}

static double unit(sample_sketch *r) {
    return ((double)(weir__rng_next(&r->state.rng) >> 11) + 0.5) * 0x1p-53;
}

/* The next record with a uniform number below w is geometrically far away. */
static void skip_records(sample_sketch *r, double w) {
    assert(w > 0 && w <= 1);
    double skip = floor(log(unit(r)) / log1p(-w));
    r->state.next += skip < 0x1p62 ? (uint64_t)skip + 1 : UINT64_C(1) << 62;
}

/* After the reservoir is full: how far to the next record that comes in. */
static void draw_skip(sample_sketch *r) {
    double w = weir__as_double(r->state.w) * exp(log(unit(r)) / (double)r->n);
    r->state.w = weir__as_bits(w);
    skip_records(r, w);
}

static void start(weir_sketch *s) {
    sample_sketch *r = (sample_sketch *)s;
    r->state.rng = weir__sk_whole(s, WEIR__SK_SEED) ^ UINT64_C(0x73616d706c65);
    r->state.w = weir__as_bits(1);
}

static uint8_t *slot_at(const weir_sketch *s, uint64_t i) {
    assert(i < ((const sample_sketch *)s)->n);
    return s->cells + i * ((const sample_sketch *)s)->stride;
}

static void fill_slot(weir_sketch *s, uint64_t i, const weir_updates *u, size_t at,
                      uint64_t number) {
    sample_sketch *r = (sample_sketch *)s;
    size_t length;
    const void *key = weir__key_bytes(u, at, &length);
    slot_head head = {.hash = u->hashes[at], .number = number};
    head.length = length < r->key ? (uint32_t)length : r->key | WEIR__KEY_CUT;
    if (length == r->key) head.length = r->key;
    uint8_t *slot = slot_at(s, i);
    memcpy(slot, &head, sizeof head);
    memset(slot + SLOT_HEAD, 0, r->stride - SLOT_HEAD);
    if (length) memcpy(slot + SLOT_HEAD, key, length < r->key ? length : r->key);
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    sample_sketch *r = (sample_sketch *)s;
    size_t at = 0;
    (void)err;
    for (; at < u->count && r->state.records + at < r->n; at++) {
        uint64_t number = r->state.records + at;
        fill_slot(s, number, u, at, number);
        if (number + 1 == r->n) {
            r->state.next = number;
            draw_skip(r);
        }
    }
    for (; r->state.records + u->count > r->n && r->state.next < r->state.records + u->count;) {
        fill_slot(s, weir__rng_below(&r->state.rng, r->n), u,
                  (size_t)(r->state.next - r->state.records), r->state.next);
        draw_skip(r);
    }
    r->state.records += u->count;
    weir__count_total(s, u, u->count);
    *done = u->count;
    return WEIR_OK;
}

static uint64_t held(const sample_sketch *r) {
    return r->state.records < r->n ? r->state.records : r->n;
}

static weir_status sample(weir_sketch *s, weir_items *out, weir_error *err) {
    const sample_sketch *r = (const sample_sketch *)s;
    double each = (double)r->state.records / fmax(1, (double)held(r));
    (void)err;
    for (uint64_t i = 0; i < held(r) && out->found < out->room; i++) {
        slot_head head;
        memcpy(&head, slot_at(s, i), sizeof head);
        out->items[out->found++] = (weir_item){.key = slot_at(s, i) + SLOT_HEAD,
                                               .length = head.length & ~WEIR__KEY_CUT,
                                               .cut = (head.length & WEIR__KEY_CUT) != 0,
                                               .hash = head.hash,
                                               .count = {each, each, each, 0}};
    }
    out->complete = r->state.records == out->found;
    out->floor = out->complete ? 0 : (double)r->state.records;
    return WEIR_OK;
}

/* ---- merging ---- */

/* A gamma variable of shape a: a sum of exponentials, or by the cube of a normal
 * one (Wilson, Hilferty), which is exact to 1e-4 for so large a shape. */
static double draw_gamma(sample_sketch *r, double a) {
    double sum = 0;
    if (a > 4096) {
        double z = sqrt(-2 * log(unit(r))) * cos(2 * M_PI * unit(r));
        return a * pow(1 - 1 / (9 * a) + z / (3 * sqrt(a)), 3);
    }
    for (unsigned i = 0; i < (unsigned)a; i++) sum -= log(unit(r));
    return sum;
}

/* In algorithm L every record has a uniform number and the n with the least are
 * kept; w is the greatest of these: of N records, a beta variable. */
static void restart_skips(sample_sketch *r) {
    double n = (double)r->n, kept = draw_gamma(r, n);
    double others = draw_gamma(r, (double)r->state.records - n + 1);
    r->state.w = weir__as_bits(kept / (kept + others));
    r->state.next = r->state.records - 1;
    skip_records(r, weir__as_double(r->state.w));
}

/* How many of the merged sample are of the first stream: each is drawn from the
 * records of both that were not drawn yet. */
static uint64_t draw_share(sample_sketch *r, uint64_t want, uint64_t first, uint64_t second) {
    uint64_t share = 0;
    for (uint64_t i = 0; i < want; i++) {
        if (weir__rng_below(&r->state.rng, first + second) < first) share++, first--;
        else second--;
    }
    return share;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    sample_sketch *a = (sample_sketch *)into;
    const sample_sketch *b = (const sample_sketch *)from;
    uint64_t all = a->state.records + b->state.records, want = all < a->n ? all : a->n;
    uint64_t kept = draw_share(a, want, a->state.records, b->state.records), need = want - kept;
    (void)err;
    for (uint64_t i = held(a); i > kept; i--) {
        uint64_t gone = weir__rng_below(&a->state.rng, i);
        memmove(slot_at(into, gone), slot_at(into, i - 1), a->stride);
    }
    for (uint64_t i = 0; need; i++)
        if (weir__rng_below(&a->state.rng, held(b) - i) < need)
            memcpy(slot_at(into, want - need--), slot_at(from, i), a->stride);
    a->state.records = all;
    if (all >= a->n) restart_skips(a);
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    out->error = 1 / sqrt((double)((const sample_sketch *)s)->n);
    out->confidence = 0.68;
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const sample_sketch *r = (const sample_sketch *)s;
    double w = weir__as_double(r->state.w);
    bool sound = w > 0 && w <= 1 && (r->state.records < r->n || r->state.next >= r->state.records);
    for (uint64_t i = 0; sound && i < held(r); i++) {
        slot_head head;
        memcpy(&head, slot_at(s, i), sizeof head);
        sound = (head.length & ~WEIR__KEY_CUT) <= r->key;
    }
    return sound ? WEIR_OK : weir__fail(err, WEIR_ERR_CORRUPT, -1, "the sample is not understood");
}

static const weir_option options[] = {
    {"n", WEIR_OPT_COUNT, 1, 0x1p32, NULL, NULL, "records in the sample (1000)"},
    {"key", WEIR_OPT_SIZE, 1, 65536, NULL, "64", "bytes kept of each key"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__sample_sketch = {
    .kind = {.name = "sample",
             .summary = "reservoir: a random sample of the records",
             .advice = "Typical records, for a look or for questions nobody has thought of yet. "
                       "For a sample in which each different key has the same chance use distinct.",
             .mergeable = true,
             .options = options},
    .size = sizeof(sample_sketch),
    .state_offset = offsetof(sample_sketch, state),
    .state_words = sizeof(((sample_sketch *)0)->state) / 8,
    .create = create,
    .start = start,
    .add = add,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_KEYS | WEIR__NEEDS_UNITS,
    .merge = merge,
    .info = info,
    .check = check,
    .sample = sample,
};
