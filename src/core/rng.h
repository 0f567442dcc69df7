/* rng.h - a small generator whose whole state is one word.
 *
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the state is a counter in
 * steps of an odd constant, the output a mix of it. One word of state lives in
 * each filter, so the same seed and the same stream give the same choices, on
 * every machine and after a snapshot.
 */
#ifndef WEIR_CORE_RNG_H
#define WEIR_CORE_RNG_H

#include <assert.h>
#include <stdint.h>

/* The step from one state to the next, and the factors of the mix. */
#define WEIR__GOLD UINT64_C(0x9e3779b97f4a7c15)
#define WEIR__MIX_FIRST UINT64_C(0xbf58476d1ce4e5b9)
#define WEIR__MIX_SECOND UINT64_C(0x94d049bb133111eb)

/* A bijection of 64-bit words in which every bit depends on every other. */
static inline uint64_t weir__mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * WEIR__MIX_FIRST;
    x = (x ^ (x >> 27)) * WEIR__MIX_SECOND;
    return x ^ (x >> 31);
}

static inline uint64_t weir__rng_next(uint64_t *state) {
    *state += WEIR__GOLD;
    return weir__mix64(*state);
}

/* A number in [0, range): the high word of a product, so no division. The
 * bias is below range / 2^64. */
static inline uint64_t weir__scale(uint64_t word, uint64_t range) {
    return (uint64_t)(((unsigned __int128)word * range) >> 64);
}

static inline uint64_t weir__rng_below(uint64_t *state, uint64_t range) {
    assert(range > 0);
    return weir__scale(weir__rng_next(state), range);
}

#endif
