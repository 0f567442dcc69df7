/* recent_bits.h - the bits of one cache line of `recent`, read, written and moved.
 *
 * A line is 512 bits, numbered from the low bit of byte 0, so the picture is the same on every
 * machine. Here they are handled a word at a time; recent_wide.h does the same to the whole line
 * at once where the processor can.
 */
#ifndef WEIR_FILTER_RECENT_BITS_H
#define WEIR_FILTER_RECENT_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/recent/recent_plan.h"

/* What does not happen with every key is a function of its own, one for each kind of
 * processor: code for one stalls when it is called from code for another. NOT_HERE makes
 * them from NAME_here, whose arguments may name the `cpu`; CALL calls the one that suits. */
#define NOT_HERE(type, name, parameters, arguments)                                                \
    NOT_HERE_FOR(, CPU_ANY, type, name##_any, parameters, name##_here arguments)                   \
    NOT_HERE_FOR(FOR_AVX2, CPU_AVX2, type, name##_avx2, parameters, name##_here arguments)         \
    NOT_HERE_FOR(FOR_AVX512, CPU_AVX512, type, name##_avx512, parameters, name##_here arguments)
#define NOT_HERE_FOR(target, kind, type, name, parameters, call)                                   \
    target __attribute__((noinline, unused)) static type name parameters {                         \
        const cpu_kind cpu = kind;                                                                 \
        (void)cpu;                                                                                 \
        return call;                                                                               \
    }
#define CALL(name, cpu, arguments)                                                                 \
    ((cpu) == CPU_ANY    ? name##_any arguments                                                    \
     : (cpu) == CPU_AVX2 ? name##_avx2 arguments                                                   \
                         : name##_avx512 arguments)

HOT uint64_t load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
HOT void store64(uint8_t *at, uint64_t word) { memcpy(at, &word, sizeof word); }

HOT uint64_t low_mask(unsigned count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

HOT uint64_t get_word(const uint8_t *line, unsigned k) { return load64(line + 8 * k); }
HOT void put_word(uint8_t *line, unsigned k, uint64_t word) { store64(line + 8 * k, word); }

/* One number or the other. The compiler is kept from making a branch of it, where the
 * condition is hard to guess. */
HOT uint64_t pick64(bool first, uint64_t a, uint64_t b) {
    if (__builtin_constant_p(first)) return first ? a : b;
    uint64_t mask = -(uint64_t)first;
    __asm__("" : "+r"(mask));
    return b ^ (mask & (a ^ b));
}
HOT unsigned pick(bool first, unsigned a, unsigned b) { return (unsigned)pick64(first, a, b); }
HOT unsigned least(unsigned a, unsigned b) {
    unsigned x = a < b ? a : b;
    __asm__("" : "+r"(x));
    return x;
}

/* Up to WIDTH_MAX bits anywhere: one load, moved back where it would leave the line. */
HOT uint64_t get_bits(const uint8_t *line, unsigned at, unsigned count) {
    unsigned byte = least(at / 8, 56);
    return load64(line + byte) >> (at - 8 * byte) & ((UINT64_C(1) << count) - 1);
}
HOT void put_bits(uint8_t *line, unsigned at, unsigned count, uint64_t value) {
    unsigned byte = least(at / 8, 56), shift = at - 8 * byte;
    uint64_t word = load64(line + byte) & ~(low_mask(count) << shift);
    store64(line + byte, word | value << shift);
}

/* The bits of a word from place x on, for any x. */
HOT uint64_t from_place(int x) {
    uint64_t all = ~UINT64_C(0);
    return x <= 0 ? all : x > 63 ? 0 : all << x;
}
/* Those of word k that are among the bits [from, to) of a line. */
HOT uint64_t places_in(unsigned k, unsigned from, unsigned to) {
    return from_place((int)from - 64 * (int)k) & ~from_place((int)to - 64 * (int)k);
}
HOT void clear_bits(uint8_t *line, unsigned from, unsigned to) {
    for (unsigned k = from / 64; 64 * k < to; k++)
        put_word(line, k, get_word(line, k) & ~places_in(k, from, to));
}

/* Move the bits [from, to) up, or down, by 1..63 places. */
HOT void move_up(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from + by) / 64, last = (to + by - 1) / 64;
    for (unsigned k = last;; k--) {
        uint64_t old = get_word(line, k), moved = old << by;
        if (k) moved |= get_word(line, k - 1) >> (64 - by);
        uint64_t mask = places_in(k, from + by, to + by);
        put_word(line, k, (old & ~mask) | (moved & mask));
        if (k == first) break;
    }
}
HOT void move_down(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from - by) / 64, last = (to - by - 1) / 64;
    for (unsigned k = first; k <= last; k++) {
        uint64_t old = get_word(line, k), moved = old >> by;
        if (k < 7) moved |= get_word(line, k + 1) << (64 - by);
        uint64_t mask = places_in(k, from - by, to - by);
        put_word(line, k, (old & ~mask) | (moved & mask));
    }
}

#endif
