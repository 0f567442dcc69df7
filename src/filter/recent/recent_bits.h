/* recent_bits.h - the bits of one cache line of `recent`, read, written and moved.
 *
 * A line is 512 bits, numbered from the low bit of byte 0, so the picture is the same on every
 * machine.
 */
#ifndef WEIR_FILTER_RECENT_BITS_H
#define WEIR_FILTER_RECENT_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/recent/recent_plan.h"

/* What does not happen with every key is a function of its own, one for each kind of
 * processor: code for one stalls when it is called from code for another. DEFINE_CPU_VARIANTS makes
 * them from NAME_here, whose arguments may name the `cpu`; CALL_CPU_VARIANT calls the one that
 * suits. */
#define DEFINE_CPU_VARIANTS(type, name, parameters, arguments)                                     \
    CPU_VARIANT(, CPU_ANY, type, name##_any, parameters, name##_here arguments)                    \
    CPU_VARIANT(FOR_AVX2, CPU_AVX2, type, name##_avx2, parameters, name##_here arguments)          \
    CPU_VARIANT(FOR_AVX512, CPU_AVX512, type, name##_avx512, parameters, name##_here arguments)
#define CPU_VARIANT(target, kind, type, name, parameters, call)                                    \
    target __attribute__((noinline, unused)) static type name parameters {                         \
        const cpu_kind cpu = kind;                                                                 \
        (void)cpu;                                                                                 \
        return call;                                                                               \
    }
#define CALL_CPU_VARIANT(name, cpu, arguments)                                                     \
    ((cpu) == CPU_AVX512 ? name##_avx512 arguments                                                 \
     : (cpu) == CPU_AVX2 ? name##_avx2 arguments                                                   \
                         : name##_any arguments)

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
/* The bits of word k that are among the bits [from, to) of a line. */
HOT uint64_t places_in(unsigned k, unsigned from, unsigned to) {
    return from_place((int)from - 64 * (int)k) & ~from_place((int)to - 64 * (int)k);
}

/* Where remainder i stands, the first at the end of the line, or where after the last it might. */
HOT unsigned remainder_at(unsigned i, unsigned width) { return LINE_BITS - (i + 1) * width; }
HOT unsigned place_in_body(unsigned i, unsigned width) {
    return LINE_BITS - least((i + 1) * width, LINE_BITS);
}

/* The 1s among the bits [from, to) of a line. */
HOT unsigned ones_among(const uint8_t *line, unsigned from, unsigned to) {
    unsigned count = 0;
    for (unsigned k = from / 64; 64 * k < to; k++)
        count += (unsigned)__builtin_popcountll(get_word(line, k) & places_in(k, from, to));
    return count;
}

HOT unsigned read_code(const uint8_t *line) { return line[0] & (uint8_t)low_mask(CODE_BITS); }

#if defined(__x86_64__)
#include <immintrin.h>

/* A line in two registers. */
typedef struct {
    __m256i low, high;
} line_pair;

FOR_AVX2 static inline line_pair pair_load(const uint8_t *at) {
    return (line_pair){_mm256_loadu_si256((const __m256i *)at),
                       _mm256_loadu_si256((const __m256i *)(at + LINE_BYTES / 2))};
}
#elif defined(__aarch64__)
#include <arm_neon.h>

/* A line in four registers. */
typedef struct {
    uint64x2_t part[4];
} line_quad;

HOT line_quad quad_load(const uint8_t *at) {
    line_quad all;
    for (unsigned i = 0; i < 4; i++) all.part[i] = vreinterpretq_u64_u8(vld1q_u8(at + 16 * i));
    return all;
}

/* Half of the bits of each word. */
HOT uint32x4_t narrow_words(uint64x2_t a, uint64x2_t b) {
    return vuzp1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b));
}
/* Half of the bits of each half word. */
HOT uint8x16_t narrow_halves(uint32x4_t a, uint32x4_t b) {
    return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
}
HOT uint8x16_t quad_narrow(line_quad all) {
    return narrow_halves(narrow_words(all.part[0], all.part[1]),
                         narrow_words(all.part[2], all.part[3]));
}

/* A bit for each pair of bytes of `first`, then of `second`; all bits of a pair are alike. Each
 * keeps the bit of its place among eight, and additions put them side by side. */
HOT unsigned bits_of_pairs(uint8x16_t first, uint8x16_t second) {
    const uint8x16_t place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t sum = vandq_u8(vuzp1q_u8(first, second), place);
    for (unsigned i = 0; i < 3; i++) sum = vpaddq_u8(sum, sum);
    return vgetq_lane_u16(vreinterpretq_u16_u8(sum), 0);
}
#endif

#endif
