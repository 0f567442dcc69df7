/* weir_cpu.h - the vector level: which instructions weir uses. (experimental)
 *
 * Loops that are worth it exist once for each level; every level gives the same
 * answers. weir uses the best level that the processor has. The environment
 * variable WEIR_CPU names another one, for tests and measurements:
 *
 *   scalar   plain C
 *   sse      128-bit vectors of x86-64 (every such processor has them)
 *   neon     128-bit vectors of ARM64 (every such processor has them)
 *   avx2     AVX2, BMI1 and BMI2
 *   avx512   AVX-512 with BW, DQ, VL, VBMI, VBMI2 and VPOPCNTDQ
 *
 * Where a loop has no version of its own for a level it uses that of the next
 * lower level. Programs need none of this.
 */
#ifndef WEIR_CPU_H
#define WEIR_CPU_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    WEIR_CPU_SCALAR,
    WEIR_CPU_VECTOR128, /* sse or neon */
    WEIR_CPU_AVX2,
    WEIR_CPU_AVX512
} weir_cpu_level;

/* The level in use. The first call reads WEIR_CPU; a name that is unknown, or a level that the
 * processor lacks, then counts as not given (weir_cpu_choose() reports it). Thread-safe. */
WEIR_EXPERIMENTAL weir_cpu_level weir_cpu_now(void);

/* Use the level of this name from now on. NULL: the level of WEIR_CPU, or without it the best.
 * Objects that exist keep working and give the same answers. Not thread-safe.
 * Fails with WEIR_ERR_RANGE: no such level, or not on this processor; nothing is changed. */
WEIR_EXPERIMENTAL weir_status weir_cpu_choose(const char *name, weir_error *err);

/* The name of a level on this kind of processor, or NULL if this processor lacks it. */
WEIR_EXPERIMENTAL const char *weir_cpu_name(weir_cpu_level level);

#ifdef __cplusplus
}
#endif

#endif
