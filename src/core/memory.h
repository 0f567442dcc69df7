/* memory.h - where objects get their memory from.
 *
 * Large arrays are mapped, zero, on huge pages where there are any; small ones come from
 * calloc(). An object that was made with an allocator gets all of its memory from that.
 */
#ifndef WEIR_CORE_MEMORY_H
#define WEIR_CORE_MEMORY_H

#include <stddef.h>

#include "weir.h"
#include "weir_embed.h"

/* Zeroed memory from an allocator, or from calloc() if it has no functions; NULL if there is
 * none. */
void *weir__alloc(const weir_allocator *from, size_t bytes);
void weir__free(const weir_allocator *from, void *memory); /* NULL is allowed */

/* A copy of the first `length` bytes of a text, with its end; NULL if there is no memory. */
char *weir__alloc_text(const weir_allocator *from, const char *text, size_t length);

/* The cells of an object: zero and aligned to a cache line, from an allocator or mapped. *base
 * is what weir__cells_free() wants. */
weir_status weir__cells_new(const weir_allocator *from, uint64_t bytes, uint8_t **cells,
                            void **base, weir_error *err);
void weir__cells_free(const weir_allocator *from, void *base, uint64_t bytes);
void weir__cells_clear(const weir_allocator *from, uint8_t *cells, uint64_t bytes);

/* Map `bytes` zero bytes, aligned to a cache line at least and to a huge page
 * from 2 MiB up. Refuses with WEIR_ERR_MEMORY more than the machine has,
 * since the system would promise it and kill the process later. */
weir_status weir__map(void **out, uint64_t bytes, weir_error *err);

void weir__unmap(void *memory, uint64_t bytes);

/* Back to all zeros, these bytes of a map and no others; large ones give their pages back to
 * the system. */
void weir__map_clear(void *memory, uint64_t bytes);

/* Bytes of memory this process may hope for: the machine's, or its control
 * group's where that is less. */
uint64_t weir__machine_memory(void);

#endif
