/* twin.h - where keys live, written a second time for the slow twins of filters. */
#ifndef WEIR_TESTS_TWIN_H
#define WEIR_TESTS_TWIN_H

#include <stdint.h>

static inline uint64_t twin_mix(uint64_t x) {
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t twin_scale(uint64_t word, uint64_t range) {
    return (uint64_t)((unsigned __int128)word * range >> 64);
}

/* Probe j of a word, below range (probe.h). */
static inline uint64_t twin_probe(uint64_t word, uint64_t j, uint64_t range) {
    uint64_t x = word + j * (twin_mix(word) | 1);
    unsigned __int128 product = (unsigned __int128)(x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return twin_scale((uint64_t)product ^ (uint64_t)(product >> 64), range);
}

/* Cell j of a key in its line, one in each group (lines.h). */
static inline uint64_t twin_group_cell(uint64_t rest, unsigned j, unsigned group) {
    uint64_t mix = twin_mix(rest + j / 4 * UINT64_C(0x9e3779b97f4a7c15));
    return (uint64_t)j * group + ((mix >> (16 * (j % 4)) & 0xffff) * group >> 16);
}

#endif
