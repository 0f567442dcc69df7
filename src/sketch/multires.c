/* multires.c - multi-resolution bitmap: linear counting for any number of keys.
 *
 * Question   how many different keys came by, however many there are?
 * Idea       c components of b bits. A key belongs to component i with
 *            chance 2^-(i+1) (the last one takes the rest) and sets a bit in it. Some
 *            component has a sensible share of zeros whatever the number of keys:
 *            from there on down all are counted linearly, and the sum is scaled up
 *            by what the coarser ones would have had.
 * Parameters b bits in each of c = 16 + components, from memory=
 * Error      both ways. With base component i: the sum of linear counts of components
 *            i.. estimates n 2^-i; deviation from their linear counting and
 *            from the binomial choice of keys.
 * Cost       one bit per key
 * Layout     the components one after the other, bits low bits of a byte first
 * Source     Estan, Varghese, Fisk 2003; thesis 2.1.1. We take the finest base whose
 *            component has at most `full` = 93% of its bits set, as they do, and
 *            all components have the same number of bits (theirs has more in the
 *            last).
 */
#include "core/cells.h"
#include "filter/filter.h"
#include "sketch/presence.h"

enum { COMPONENTS = 32 }; /* component i has one key in 2^(i+1), the last all others */
#define FULL 0.93         /* share of set bits from which on a component is not read */
#define STANDARD_MEMORY ((uint64_t)32 << 10) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    uint64_t bits; /* of a component */
} multires_sketch;

/* A base at full load t = n 2^-(i+1)/b between -ln(1-FULL)/2 and -ln(1-FULL): the
 * worst deviation in it is about 1.1/sqrt(b), found by computing it (the tests
 * compare what distinct() says with what happens). */
static weir_status create(weir_sketch *s, weir_error *err) {
    multires_sketch *m = (multires_sketch *)s;
    bool by_error = weir__sk_given(s, WEIR__PR_ERROR);
    double cells = weir__presence_plan(s, 1.1, 1, STANDARD_MEMORY);
    uint64_t words = (uint64_t)(by_error ? cells : cells / COMPONENTS) / 64;
    m->bits = 64 * (words ? words : 1);
    return weir__sketch_claim(s, m->bits / 8 * COMPONENTS, err);
}

static void put(weir_sketch *s, uint64_t hash) {
    const multires_sketch *m = (const multires_sketch *)s;
    uint64_t spread = weir__mix64(hash);
    unsigned i = (unsigned)__builtin_clzll(hash | 1);
    if (i >= COMPONENTS) i = COMPONENTS - 1;
    weir__bit_set(s->cells, i * m->bits + weir__scale(spread, m->bits));
}

WEIR__PRESENCE_ADD(put)

static double set_bits(const multires_sketch *m, unsigned i) {
    return (double)weir__bits_set(m->base.cells + i * (m->bits / 8), m->bits / 8);
}

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const multires_sketch *m = (const multires_sketch *)s;
    double b = (double)m->bits, sum = 0, variance = 0;
    unsigned base = 0;
    for (unsigned i = COMPONENTS; i-- > 0;)
        if (set_bits(m, i) > FULL * b) {
            base = i + 1;
            break;
        }
    if (base == COMPONENTS)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "all components are full, so the number of keys cannot be told; give "
                          "more memory, or use hll");
    for (unsigned i = base; i < COMPONENTS; i++) {
        double n = -b * log1p(-set_bits(m, i) / b), t = n / b;
        sum += n;
        variance += b * (exp(t) - t - 1);
    }
    double share = exp2(-(double)base), value = sum / share;
    variance += sum * (1 - share); /* which keys fall into the components at all */
    *out = weir__relative(value, value > 0 ? sqrt(variance) / sum : 0, 0);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const multires_sketch *m = (const multires_sketch *)s;
    out->error = WEIR__Z99 * 1.1 / sqrt((double)m->bits);
    out->confidence = 0.99;
    out->overfull = set_bits(m, COMPONENTS - 1) > FULL * (double)m->bits;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const multires_sketch *m = (const multires_sketch *)s;
    weir__detail(each, context, "bits", "of a component", "%llu", (unsigned long long)m->bits);
}

static const weir_option options[] = {WEIR__PRESENCE_OPTIONS, {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__multires_sketch = {
    .kind = {.name = "multires",
             .summary = "multi-resolution bitmap: number of different keys",
             .advice = "Linear counting for an unknown number of keys. Here for comparison: hll "
                       "is more exact in the same memory.",
             .mergeable = true,
             .options = options},
    WEIR__BITMAP_FUNCTIONS(multires_sketch),
    .details = details,
};
