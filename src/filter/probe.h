/* probe.h - from one hash to many places.
 *
 * A key's places are scrambled steps of double hashing: the i-th is the folded
 * product of x ^ x/2^32 and a constant, x being a + i*b, a the hash and b a mix
 * of it. Plain double hashing gives a key one of only about m^2 sets of places,
 * each an even progression; in an array of a few thousand bits that alone makes
 * false positives of one in a million out of reach. The fold costs one
 * multiplication and breaks the progression, but for places a fixed distance
 * apart, which the shift sees to: without it all of a key's places fall among
 * every fifth of 40 ranges 70 times too often. So the places behave as if they
 * were drawn independently at every size.
 */
#ifndef WEIR_FILTER_PROBE_H
#define WEIR_FILTER_PROBE_H

#include "core/bytes.h"
#include "core/rng.h"

typedef struct {
    uint64_t at, step;
} weir__probes;

static inline weir__probes weir__probes_start(uint64_t hash) {
    weir__probes probes = {hash, weir__mix64(hash) | 1};
    return probes;
}

/* The next word of the sequence; scale it to the range that is needed. */
static inline uint64_t weir__probes_next(weir__probes *probes) {
    uint64_t x = probes->at ^ (probes->at >> 32);
    unsigned __int128 product = (unsigned __int128)x * UINT64_C(0xd6e8feb86659fd93);
    probes->at += probes->step;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Words of an array of cells. */
static inline uint64_t weir__load_word(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void weir__store_word(uint8_t *bytes, uint64_t word) {
    memcpy(bytes, &word, sizeof word);
}

#endif
