/* bench.h - what the benchmark programs share: a clock, a mixer, a way to give up.
 *
 * The mixer is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter in odd
 * steps, mixed. It costs about a nanosecond, so that keys can be made inside
 * the loops that are timed, the same way for every contestant.
 */
#ifndef WEIR_BENCH_H
#define WEIR_BENCH_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A bijection of 64-bit words in which every bit depends on every other. */
static inline uint64_t bench_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t bench_next(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return bench_mix(*state);
}

/* A number in [0, range), without division. */
static inline uint64_t bench_scale(uint64_t word, uint64_t range) {
    return (uint64_t)(((unsigned __int128)word * range) >> 64);
}

static inline double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_die(const char *format,
                                                                             ...) {
    va_list list;
    va_start(list, format);
    fputs("weir-bench: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(2);
}

#endif
