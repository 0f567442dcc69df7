/* lab_rng.h - the lab's random numbers: integers only, the same everywhere.
 *
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter in odd steps, mixed.
 * Any position can be reached at once, nothing is allocated, and the outputs
 * depend on 64-bit integer arithmetic alone.
 */
#ifndef LAB_RNG_H
#define LAB_RNG_H

#include <stdint.h>

/* A bijection of 64-bit words in which every bit depends on every other. */
static inline uint64_t lab_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The hash under which the lab offers an id to a filter: two rounds, keyed
 * between them, so that runs of small ids and different keys share nothing. */
static inline uint64_t lab_hash_id(uint64_t id, uint64_t key) {
    return lab_mix(lab_mix(id + UINT64_C(0x9e3779b97f4a7c15)) ^ lab_mix(~key));
}

typedef struct {
    uint64_t state;
} lab_rng;

/* `purpose` separates the sequences that one seed feeds. */
static inline lab_rng lab_rng_of(uint64_t seed, uint64_t purpose) {
    lab_rng rng = {lab_hash_id(seed, purpose)};
    return rng;
}

static inline uint64_t lab_rng_next(lab_rng *rng) {
    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    return lab_mix(rng->state);
}

/* Uniform in [0, range), range >= 1, without bias: the high word of a product,
 * drawn again in the rare case that the low word falls into the uneven rest
 * (Lemire, ACM TOMACS 29(1), 2019). */
static inline uint64_t lab_rng_below(lab_rng *rng, uint64_t range) {
    unsigned __int128 product = (unsigned __int128)lab_rng_next(rng) * range;
    if ((uint64_t)product < range) {
        uint64_t rest = (0 - range) % range;
        while ((uint64_t)product < rest) product = (unsigned __int128)lab_rng_next(rng) * range;
    }
    return (uint64_t)(product >> 64);
}

/* Uniform on the multiples of 2^-53 in [0, 1): an exact conversion. */
static inline double lab_rng_unit(lab_rng *rng) {
    return (double)(lab_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
