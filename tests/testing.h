/* testing.h - what the test programs share. */
#ifndef WEIR_TESTING_H
#define WEIR_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir.h"
#include "weir_text.h"

/* How slow the checker is that the test runs under, by WEIR_SLOW. 0: none. 1: a sanitizer, and what
 * is repeated for statistics is so less often. 2: valgrind, and tests of every byte take samples.
 */
static inline int test_slowness(void) {
    const char *slow = getenv("WEIR_SLOW");
    return slow ? (int)strtol(slow, NULL, 10) : 0;
}

/* A folder of its own for a test, removed with what is in it at the end. */
static inline const char *scratch_folder(void) {
    static char path[64];
    if (!path[0]) {
        strcpy(path, "/tmp/weir-test-XXXXXX");
        if (!mkdtemp(path)) abort();
    }
    return path;
}

static inline const char *scratch_path(const char *name) {
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_folder(), name);
    return path;
}

static inline void remove_scratch_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder());
    if (system(command) != 0) fprintf(stderr, "# cannot remove %s\n", scratch_folder());
}

static inline weir_filter *make_filter(const char *spec) {
    weir_filter *filter;
    weir_error err = {0};
    if (weir_filter_new(&filter, spec, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    return filter;
}

/* `memory`, or what a filter made of filters needs at least. */
static inline const char *least_memory(const weir_kind *kind, const char *memory) {
    char spec[128];
    weir_filter *filter;
    snprintf(spec, sizeof spec, "%s:memory=%s,fpr=1%%", kind->name, memory);
    weir_status status = weir_filter_new(&filter, spec, NULL);
    weir_filter_free(filter);
    return status == WEIR_OK ? memory : "16K";
}

/* The i-th word of an unrelated sequence per seed, to stand for keys' hashes. */
static inline uint64_t test_word(uint64_t seed, uint64_t i) {
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1342543de82ef95) + 1;
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ (x >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

#endif
