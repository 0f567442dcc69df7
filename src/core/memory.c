/* memory.c - the large arrays.
 *
 * A filter touches one random line of its array per key. With 4 KiB pages
 * nearly each touch also misses the TLB; with 2 MiB pages nearly none does, so
 * maps of 2 MiB and more are aligned to and advised for huge pages. Where the
 * system has none to give, everything works as before, only slower.
 */
#include "core/memory.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "weir_text.h"

#define HUGE_PAGE                                                                                  \
    ((uint64_t)2 << 20)             /* bytes of a huge page of x86-64 and of most ARM64 kernels    \
                                     */
#define SMALL_PAGE ((uint64_t)4096) /* bytes of the smallest page */
#define CACHE_LINE 64               /* bytes to which cells are aligned */

static uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

static uint64_t mapped_size(uint64_t bytes) {
    return round_up(bytes, bytes >= HUGE_PAGE ? HUGE_PAGE : SMALL_PAGE);
}

/* The limit of this process's control group (version 2), or all ones. */
static uint64_t control_group_limit(void) {
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (!file) return UINT64_MAX;
    uint64_t limit;
    if (fscanf(file, "%" SCNu64, &limit) != 1) limit = UINT64_MAX;
    fclose(file);
    return limit;
}

uint64_t weir__machine_memory(void) {
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = control_group_limit();
    return limit < physical ? limit : physical;
}

/* Map with room to spare, then give back what lies outside the aligned part. */
static void *map_aligned(uint64_t size, uint64_t alignment) {
    uint64_t padded = size + alignment;
    uint8_t *raw = mmap(NULL, padded, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    uint64_t before = round_up((uintptr_t)raw, alignment) - (uintptr_t)raw;
    if (before) munmap(raw, before);
    munmap(raw + before + size, padded - before - size);
    return raw + before;
}

weir_status weir__map(void **out, uint64_t bytes, weir_error *err) {
    char wanted[32], has[32];
    *out = NULL;
    uint64_t machine = weir__machine_memory();
    if (bytes > machine)
        return weir__fail(err, WEIR_ERR_MEMORY, -1,
                          "memory of %s is more than this machine has (%s); ask for less",
                          weir_print_size(wanted, bytes), weir_print_size(has, machine));
    uint64_t size = mapped_size(bytes);
    void *memory = map_aligned(size, size >= HUGE_PAGE ? HUGE_PAGE : SMALL_PAGE);
    if (!memory)
        return weir__fail(err, WEIR_ERR_MEMORY, -1, "cannot get %s of memory: %s",
                          weir_print_size(wanted, bytes), strerror(errno));
    assert((uintptr_t)memory % (size >= HUGE_PAGE ? HUGE_PAGE : SMALL_PAGE) == 0);
    if (size >= HUGE_PAGE) madvise(memory, size, MADV_HUGEPAGE);
    *out = memory;
    return WEIR_OK;
}

void weir__unmap(void *memory, uint64_t bytes) {
    if (memory) munmap(memory, mapped_size(bytes));
}

void weir__map_clear(void *memory, uint64_t bytes) {
    uint8_t *at = memory;
    uint64_t before = round_up((uintptr_t)at, SMALL_PAGE) - (uintptr_t)at;
    uint64_t whole = bytes > before ? (bytes - before) / SMALL_PAGE * SMALL_PAGE : 0;
    if (bytes < HUGE_PAGE || madvise(at + before, whole, MADV_DONTNEED) != 0) {
        memset(memory, 0, bytes);
        return;
    }
    memset(at, 0, before);
    memset(at + before + whole, 0, bytes - before - whole);
}

/* ---- of an allocator ---- */

void *weir__alloc(const weir_allocator *from, size_t bytes) {
    return from->take ? from->take(from->context, bytes ? bytes : 1) : calloc(1, bytes ? bytes : 1);
}

void weir__free(const weir_allocator *from, void *memory) {
    if (!from->take) free(memory);
    else if (memory) from->give(from->context, memory);
}

char *weir__alloc_text(const weir_allocator *from, const char *text, size_t length) {
    char *copy = weir__alloc(from, length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

/* Allocators round sizes up, some by a quarter, so `bytes` are asked for as they are; only if
 * what comes is not aligned, a little more. */
static uint8_t *take_aligned(const weir_allocator *from, uint64_t bytes, void **base) {
    *base = weir__alloc(from, bytes);
    if (!*base || (uintptr_t)*base % CACHE_LINE == 0) return *base;
    weir__free(from, *base);
    *base = weir__alloc(from, bytes + CACHE_LINE);
    return *base ? (uint8_t *)*base + (CACHE_LINE - (uintptr_t)*base % CACHE_LINE) % CACHE_LINE
                 : NULL;
}

weir_status weir__cells_new(const weir_allocator *from, uint64_t bytes, uint8_t **cells,
                            void **base, weir_error *err) {
    *cells = NULL;
    if (!from->take) {
        weir_status status = weir__map(base, bytes, err);
        *cells = *base;
        return status;
    }
    char wanted[32];
    *cells = take_aligned(from, bytes, base);
    assert((uintptr_t)*cells % 64 == 0);
    return *cells ? WEIR_OK
                  : weir__fail(err, WEIR_ERR_MEMORY, -1, "cannot get %s of memory; ask for less",
                               weir_print_size(wanted, bytes));
}

void weir__cells_free(const weir_allocator *from, void *base, uint64_t bytes) {
    if (from->take) weir__free(from, base);
    else weir__unmap(base, bytes);
}

void weir__cells_clear(const weir_allocator *from, uint8_t *cells, uint64_t bytes) {
    if (from->take) memset(cells, 0, bytes);
    else weir__map_clear(cells, bytes);
}
