/* cpu.h - code compiled for what the processor at hand can do.
 *
 * A loop that is worth it is written once, as an inline function, and compiled
 * once for each kind of processor: by functions marked FOR_AVX2 and FOR_AVX512
 * that do nothing but call it, and one without a mark. weir__cpu() says which of
 * them to call, by the level of weir_cpu.h: scalar and sse use the one without a
 * mark, and so does neon, which every arm64 has, where a loop has none for it. The
 * answers are the same; the tests hold them against each other.
 */
#ifndef WEIR_CORE_CPU_H
#define WEIR_CORE_CPU_H

#include <weir_cpu.h>

/* Inlined into its caller, and so compiled for the caller's processor. */
#define HOT static inline __attribute__((always_inline))

typedef enum { CPU_ANY, CPU_NEON, CPU_AVX2, CPU_AVX512 } cpu_kind;

extern cpu_kind weir__cpu_most; /* for tests: use no better than this */

#if defined(__x86_64__)
#define FOR_AVX2 __attribute__((target("popcnt,lzcnt,bmi,bmi2,avx2")))
#define FOR_AVX512                                                                                 \
    __attribute__((target("popcnt,lzcnt,bmi,bmi2,avx2,avx512f,avx512bw,avx512dq,avx512vl,"         \
                          "avx512vbmi,avx512vbmi2,avx512vpopcntdq")))
#else
#define FOR_AVX2
#define FOR_AVX512
#endif

/* The kind that the vector level in use stands for. */
cpu_kind weir__cpu(void);

/* Makes the function NAME of NAME_all, which is HOT: compiled for any processor and for
 * newer ones, the one that suits is called. */
#define FOR_EACH_CPU(type, name, parameters, arguments)                                            \
    FOR_AVX512 static type name##_avx512 parameters { return name##_all arguments; }               \
    FOR_AVX2 static type name##_avx2 parameters { return name##_all arguments; }                   \
    static type name##_any parameters { return name##_all arguments; }                             \
    CHOOSE_BY_CPU(type, name, parameters, arguments)

/* The same, but NAME_all gets the kind of processor as its last argument. The arguments here have
 * no parentheses. */
#define FOR_EACH_CPU_TOLD(type, name, parameters, ...)                                             \
    FOR_AVX512 static type name##_avx512 parameters {                                              \
        return name##_all(__VA_ARGS__, CPU_AVX512);                                                \
    }                                                                                              \
    FOR_AVX2 static type name##_avx2 parameters { return name##_all(__VA_ARGS__, CPU_AVX2); }      \
    static type name##_any parameters { return name##_all(__VA_ARGS__, CPU_ANY); }                 \
    CHOOSE_BY_CPU(type, name, parameters, (__VA_ARGS__))

#define CHOOSE_BY_CPU(type, name, parameters, arguments)                                           \
    static type name parameters {                                                                  \
        cpu_kind cpu = weir__cpu();                                                                \
        return cpu == CPU_AVX512 ? name##_avx512 arguments                                         \
               : cpu == CPU_AVX2 ? name##_avx2 arguments                                           \
                                 : name##_any arguments;                                           \
    }

#endif
