/* cells.h - arrays of bits and of small counters.
 *
 * A cell is 1, 2 or 4 bits wide (a 3-bit counter takes 4), so that no cell
 * crosses a byte. Cell i of width d stands in bits (i*d)%8 .. of byte i*d/8,
 * low bits first: the same on every machine.
 */
#ifndef WEIR_CORE_CELLS_H
#define WEIR_CORE_CELLS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR__LINE 64 /* bytes in a cache line */
enum { WEIR__LINE_WORDS = WEIR__LINE / 8 };

static inline bool weir__bit_get(const uint8_t *cells, uint64_t i) {
    return (cells[i >> 3] >> (i & 7)) & 1;
}
static inline void weir__bit_set(uint8_t *cells, uint64_t i) {
    cells[i >> 3] |= (uint8_t)(1u << (i & 7));
}
static inline void weir__bit_clear(uint8_t *cells, uint64_t i) {
    cells[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

/* Cells of width 1 << shift, shift 0..3. */
static inline unsigned weir__cell_get(const uint8_t *cells, unsigned shift, uint64_t i) {
    assert(shift <= 3);
    uint64_t bit = i << shift;
    return (cells[bit >> 3] >> (bit & 7)) & ((1u << (1u << shift)) - 1);
}
static inline void weir__cell_set(uint8_t *cells, unsigned shift, uint64_t i, unsigned value) {
    assert(shift <= 3 && value < 1u << (1u << shift)); /* a larger one would change the next cell */
    uint64_t bit = i << shift;
    unsigned mask = ((1u << (1u << shift)) - 1) << (bit & 7);
    cells[bit >> 3] = (uint8_t)((cells[bit >> 3] & ~mask) | (value << (bit & 7)));
}

/* Number of 1 bits in a whole number of 64-bit words. */
static inline uint64_t weir__bits_set(const uint8_t *cells, uint64_t bytes) {
    uint64_t ones = 0;
    assert(bytes % 8 == 0);
    for (uint64_t at = 0; at < bytes; at += 8) {
        uint64_t word;
        __builtin_memcpy(&word, cells + at, 8);
        ones += (uint64_t)__builtin_popcountll(word);
    }
    return ones;
}

#endif
