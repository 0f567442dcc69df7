/* hll.c - HyperLogLog: how many different keys, in very little memory.
 *
 * Question   how many different keys came by; how many are common to two streams?
 * Idea       the hash chooses one of m registers; the rest of it has a leading run
 *            of zeros whose length a register keeps the greatest of. n different
 *            keys make runs of about log2(n/m).
 * Parameters m = 2^p registers of 6 bits, p from 4 to 26
 * Error      both ways, 1.04/sqrt(m) relative (standard deviation), at any count:
 *            the estimator is Ertl's, which uses the numbers of registers at zero
 *            and at the greatest value and so needs no correction for small or
 *            large counts, and no table. Intersections by inclusion and exclusion:
 *            the error is relative to the union.
 * Cost       one register per key
 * Layout     6-bit registers, low bits of a byte first
 * Source     Flajolet, Fusy, Gandouet, Meunier 2007; Ertl, "New cardinality
 *            estimation algorithms for HyperLogLog sketches", 2017
 */
#include <assert.h>

#include "filter/filter.h"
#include "sketch/presence.h"

enum { OPT_P = WEIR__PR_OWN };
enum {
    P_LEAST = 4, /* 2^4 registers */
    P_MOST = 26  /* 2^26 registers: 48 MiB */
};
#define STANDARD_MEMORY ((uint64_t)12 << 10) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    unsigned p, q; /* registers hold 0 to q + 1 */
} hll_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    hll_sketch *h = (hll_sketch *)s;
    if (weir__sk_given(s, OPT_P)) {
        h->p = (unsigned)weir__sk_whole(s, OPT_P);
    } else {
        bool by_error = weir__sk_given(s, WEIR__PR_ERROR);
        double registers = log2(weir__presence_plan(s, 1.04, 6, STANDARD_MEMORY));
        registers = by_error ? ceil(registers) : floor(registers + 1e-9);
        h->p = (unsigned)fmax(P_LEAST, fmin(P_MOST, registers));
    }
    h->q = 62 - (h->p > 2 ? h->p : 2); /* 6 bits hold 63 at most */
    weir__sk_resolve(s, OPT_P, h->p);
    return weir__sketch_claim(s, (UINT64_C(6) << h->p) / 8, err);
}

/* Where a register stands: two bytes that hold it, and how far up in them. */
static uint8_t *word_of(const weir_sketch *s, uint64_t i, unsigned *shift) {
    uint64_t at = 6 * i / 8, last = s->cells_bytes - 2;
    if (at > last) at = last;
    *shift = (unsigned)(6 * i - 8 * at);
    return s->cells + at;
}

static unsigned get(const weir_sketch *s, uint64_t i) {
    assert(i < UINT64_C(1) << ((const hll_sketch *)s)->p);
    unsigned shift;
    uint16_t word;
    memcpy(&word, word_of(s, i, &shift), sizeof word);
    return word >> shift & 63;
}

static void set(weir_sketch *s, uint64_t i, unsigned value) {
    assert(value < 64);
    unsigned shift;
    uint16_t word;
    uint8_t *at = word_of(s, i, &shift);
    memcpy(&word, at, sizeof word);
    word = (uint16_t)((word & ~(63u << shift)) | value << shift);
    memcpy(at, &word, sizeof word);
}

static void put(weir_sketch *s, uint64_t hash) {
    const hll_sketch *h = (const hll_sketch *)s;
    uint64_t rest = hash << h->p;
    unsigned run = rest ? (unsigned)__builtin_clzll(rest) : 64;
    unsigned value = (run < h->q ? run : h->q) + 1;
    uint64_t i = hash >> (64 - h->p);
    if (value > get(s, i)) set(s, i, value);
}

WEIR__PRESENCE_ADD(put)

/* Ertl's two series: for registers at 0 and registers at q + 1. */
static double sigma(double x) {
    double y = 1, z = x, before;
    if (x == 1) return HUGE_VAL;
    do {
        x *= x;
        before = z;
        z += x * y;
        y += y;
    } while (z != before);
    return z;
}

static double tau(double x) {
    double y = 1, z = 1 - x, before;
    if (x == 0 || x == 1) return 0;
    do {
        x = sqrt(x);
        before = z;
        y *= 0.5;
        z -= (1 - x) * (1 - x) * y;
    } while (z != before);
    return z / 3;
}

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const hll_sketch *h = (const hll_sketch *)s;
    uint64_t counts[64] = {0}, registers = UINT64_C(1) << h->p;
    (void)err;
    for (uint64_t i = 0; i < registers; i++) counts[get(s, i)]++;
    double m = (double)registers, z = m * tau(1 - (double)counts[h->q + 1] / m);
    for (unsigned k = h->q; k >= 1; k--) z = 0.5 * (z + (double)counts[k]);
    z += m * sigma((double)counts[0] / m);
    double value = m * m / (2 * log(2)) / z;
    double used = (double)(registers - counts[0]);
    *out = weir__relative(value, 1.04 / sqrt(m), fmin(used, value));
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    const hll_sketch *h = (const hll_sketch *)into;
    (void)err;
    for (uint64_t i = 0; i < UINT64_C(1) << h->p; i++)
        if (get(from, i) > get(into, i)) set(into, i, get(from, i));
    weir__merge_totals(into, from);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    out->error = WEIR__Z99 * 1.04 / exp2(((const hll_sketch *)s)->p / 2.0);
    out->confidence = 0.99;
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const hll_sketch *h = (const hll_sketch *)s;
    for (uint64_t i = 0; i < UINT64_C(1) << h->p; i++)
        if (get(s, i) > h->q + 1)
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "a register is out of range");
    return WEIR_OK;
}

static const weir_option options[] = {
    WEIR__PRESENCE_OPTIONS,
    {"p", WEIR_OPT_COUNT, P_LEAST, P_MOST, NULL, NULL, "log2 of the number of registers"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__hll_sketch = {
    .kind = {.name = "hll",
             .summary = "HyperLogLog: number of different keys in a few KiB",
             .advice = "The distinct counter to begin with: any number of keys, fixed relative "
                       "error, lossless merging. For intersections of streams of unlike size use "
                       "kmv; for a count under a condition, distinct.",
             .mergeable = true,
             .options = options},
    .size = sizeof(hll_sketch),
    .create = create,
    .add = add,
    .needs = WEIR__NEEDS_PRESENT,
    .merge = merge,
    .info = info,
    .check = check,
    .distinct = distinct,
    .common = weir__common_by_union,
};
