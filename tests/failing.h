/* failing.h - allocations that fail on demand. The program is linked with --wrap for malloc,
 * calloc, realloc and mmap (tests/CMakeLists.txt).
 */
#ifndef WEIR_TESTS_FAILING_H
#define WEIR_TESTS_FAILING_H

#include <stddef.h>
#include <sys/mman.h>

static long until_failure = -1; /* allocations until one fails, that one included; -1: none does */

static int fails_now(void) { return until_failure > 0 && --until_failure == 0; }

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) { return fails_now() ? NULL : __real_calloc(n, size); }
void *__real_realloc(void *at, size_t size);
void *__wrap_realloc(void *at, size_t size) {
    return fails_now() ? NULL : __real_realloc(at, size);
}
void *__real_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return fails_now() ? MAP_FAILED : __real_mmap(at, length, protection, flags, fd, offset);
}

#endif
