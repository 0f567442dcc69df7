/* cpu.c - what the processor at hand can do. */
#include "core/cpu.h"

#include <stdbool.h>

cpu_kind weir__cpu_most = CPU_AVX512;

#if defined(__x86_64__)
static cpu_kind best(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2")) return CPU_ANY;
    bool wide = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
    return wide ? CPU_AVX512 : CPU_AVX2;
}
#else
static cpu_kind best(void) { return CPU_ANY; }
#endif

cpu_kind weir__cpu(void) {
    cpu_kind kind = best();
    return kind < weir__cpu_most ? kind : weir__cpu_most;
}
