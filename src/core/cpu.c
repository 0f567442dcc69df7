/* cpu.c - the vector level: what the processor can do, and what WEIR_CPU allows. */
#include "core/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

cpu_kind weir__cpu_most = CPU_AVX512;

enum {
    LEVELS = WEIR_CPU_AVX512 + 1, /* number of weir_cpu_level */
    NOT_CHOSEN = -1               /* no level was asked for or read yet */
};

static _Atomic int chosen = NOT_CHOSEN; /* a weir_cpu_level */

#if defined(__x86_64__)
static const char *const names[LEVELS] = {"scalar", "sse", "avx2", "avx512"};
static const cpu_kind kinds[LEVELS] = {CPU_ANY, CPU_ANY, CPU_AVX2, CPU_AVX512};

static weir_cpu_level best(void) {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return WEIR_CPU_VECTOR128;
    bool wide = __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq");
    return wide ? WEIR_CPU_AVX512 : WEIR_CPU_AVX2;
}
#elif defined(__aarch64__)
static const char *const names[LEVELS] = {"scalar", "neon", NULL, NULL};
static const cpu_kind kinds[LEVELS] = {CPU_ANY, CPU_NEON, CPU_ANY, CPU_ANY};

static weir_cpu_level best(void) { return WEIR_CPU_VECTOR128; }
#else
static const char *const names[LEVELS] = {"scalar", NULL, NULL, NULL};
static const cpu_kind kinds[LEVELS] = {CPU_ANY, CPU_ANY, CPU_ANY, CPU_ANY};

static weir_cpu_level best(void) { return WEIR_CPU_SCALAR; }
#endif

const char *weir_cpu_name(weir_cpu_level level) { return level <= best() ? names[level] : NULL; }

/* The level of this name, or NOT_CHOSEN. */
static int level_of(const char *name) {
    for (int level = 0; level <= (int)best(); level++)
        if (!strcmp(name, names[level])) return level;
    return NOT_CHOSEN;
}

weir_status weir_cpu_choose(const char *name, weir_error *err) {
    const char *given = name ? name : getenv("WEIR_CPU");
    if (!given || !*given) {
        atomic_store(&chosen, (int)best());
        return WEIR_OK;
    }
    int level = level_of(given);
    if (level == NOT_CHOSEN) {
        char list[64] = "";
        for (int i = 0; i <= (int)best(); i++) {
            if (i) strcat(list, ", ");
            strcat(list, names[i]);
        }
        return weir__fail(err, WEIR_ERR_RANGE, 0, "%s cannot be '%.40s'; this processor has %s",
                          name ? "the vector level" : "WEIR_CPU", given, list);
    }
    atomic_store(&chosen, level);
    return WEIR_OK;
}

weir_cpu_level weir_cpu_now(void) {
    int level = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (__builtin_expect(level != NOT_CHOSEN, 1)) return (weir_cpu_level)level;
    /* Two threads may both be first; they choose alike. */
    if (weir_cpu_choose(NULL, NULL) != WEIR_OK) atomic_store(&chosen, (int)best());
    return (weir_cpu_level)atomic_load(&chosen);
}

cpu_kind weir__cpu(void) {
    unsigned level = weir_cpu_now();
    while (kinds[level] > weir__cpu_most) level--;
    return kinds[level];
}
