/* memory.h - the large arrays: mapped, zero, on huge pages where there are any. */
#ifndef WEIR_CORE_MEMORY_H
#define WEIR_CORE_MEMORY_H

#include "weir.h"

/* Map `bytes` zero bytes, aligned to a cache line at least and to a huge page
 * from 2 MiB up. Refuses with WEIR_ERR_MEMORY more than the machine has,
 * since the system would promise it and kill the process later. */
weir_status weir__map(void **out, uint64_t bytes, weir_error *err);

void weir__unmap(void *memory, uint64_t bytes);

/* Back to all zeros; large maps give their pages back to the system. */
void weir__map_clear(void *memory, uint64_t bytes);

/* Bytes of memory this process may hope for: the machine's, or its control
 * group's where that is less. */
uint64_t weir__machine_memory(void);

#endif
