/* rowhash.h - from a key's hash to its places in d rows, 4-wise independent.
 *
 * Lemma 2 needs rows whose hash functions are pairwise independent, lemma 4
 * and Fast-AGMS need them 4-wise. A polynomial of degree 3 with random
 * coefficients over the field of 2^61 - 1 elements is 4-wise independent
 * (Wegman, Carter 1981); its argument is the key's 64-bit hash, folded to 61 bits.
 *
 * One value has 61 random bits and a place needs log2(width), so one value
 * serves several rows: the value is read as a fraction of 2^64 and multiplied by
 * the width; the high word is the place, the low word is the fraction for the
 * next row. The bits of one uniform value are independent of each other, so the
 * rows are too, and any four keys have independent values, hence independent
 * places and signs. Where the width is no power of two a place's chance is off
 * by at most 2^-16 of itself: that many bits are left in reserve.
 */
#ifndef WEIR_SKETCH_ROWHASH_H
#define WEIR_SKETCH_ROWHASH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rng.h"

#define WEIR__FIELD ((UINT64_C(1) << 61) - 1) /* the prime of the field */
#define WEIR__FIELD_BITS 61                   /* of one of its numbers */
#define WEIR__RESERVE_BITS 16                 /* left over, so that chances are even to 2^-16 */

typedef struct {
    uint64_t a[4];
} weir__poly;

static inline weir__poly weir__poly_draw(uint64_t *rng) {
    weir__poly p;
    for (int i = 0; i < 4; i++) p.a[i] = weir__rng_below(rng, WEIR__FIELD);
    return p;
}

static inline uint64_t weir__field_fold(uint64_t x) {
    return (x & WEIR__FIELD) + (x >> WEIR__FIELD_BITS);
}

/* x * y + a, below 2^64 but not reduced; x below 2^64, y below 2^61 + 8. */
static inline uint64_t weir__field_step(uint64_t x, uint64_t y, uint64_t a) {
    unsigned __int128 product = (unsigned __int128)x * y;
    return ((uint64_t)product & WEIR__FIELD) + (uint64_t)(product >> WEIR__FIELD_BITS) + a;
}

/* The value at a folded hash, as a fraction of 2^64: its low three bits are 0.
 * Sums stay below 2^64: the first step is below 2^61 + 2^61 + 2^61, a later one
 * adds at most 2^62 to the number it multiplied. */
static inline uint64_t weir__poly_at(const weir__poly *p, uint64_t x) {
    uint64_t v = weir__field_step(p->a[3], x, p->a[2]);
    v = weir__field_step(v, x, p->a[1]);
    v = weir__field_step(v, x, p->a[0]);
    v = weir__field_fold(v);
    return (v >= WEIR__FIELD ? v - WEIR__FIELD : v) << 3;
}

/* The next place in [0, width) out of a fraction, which is used up by that. */
static inline uint64_t weir__take_place(uint64_t *fraction, uint64_t width) {
    unsigned __int128 product = (unsigned __int128)*fraction * width;
    *fraction = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

static inline uint64_t weir__take_bits(uint64_t *fraction, unsigned bits) {
    uint64_t taken = bits ? *fraction >> (64 - bits) : 0;
    *fraction <<= bits;
    return taken;
}

/* How many places one value yields. */
static inline unsigned weir__places_each(uint64_t width, bool with_sign) {
    bool power = (width & (width - 1)) == 0;
    unsigned bits = 0;
    while (bits < 61 && (UINT64_C(1) << bits) < width) bits++;
    unsigned each = bits + with_sign, reserve = power ? 0 : WEIR__RESERVE_BITS;
    unsigned room = WEIR__FIELD_BITS > reserve ? WEIR__FIELD_BITS - reserve : 1;
    return each == 0 ? WEIR__FIELD_BITS : room / each ? room / each : 1;
}

#endif
