/* lab_firsts.h - is this the first occurrence? Exact, for up to billions of records. */
#ifndef LAB_FIRSTS_H
#define LAB_FIRSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lab_keys.h"
#include "weir.h"

typedef struct lab_firsts lab_firsts;

/* universe: every id is below it, and one bit for each is kept; 0: ids are
 * hashes, and a table of those that came by is kept (about 20 bytes for each). */
weir_status lab_firsts_new(lab_firsts **out, uint64_t universe, weir_error *err);
void lab_firsts_free(lab_firsts *firsts);

/* For streams of any length in bounded memory: reads the stream of that spec once,
 * sorts its ids into files in `folder` (NULL: $TMPDIR or /tmp; they have no name
 * and vanish with the process), and finds the firsts file by file. Takes 16 bytes
 * of disk and one bit of memory for each record, and besides no more than
 * `memory`. progress may be NULL; it returns false to stop (WEIR_OK, *out NULL).
 * lab_firsts_next() then expects the ids of that stream, in order. */
typedef struct {
    const char *spec;
    uint64_t seed;
    const lab_reading *reading; /* of a file; or NULL */
    uint64_t memory;
    const char *folder;
    bool (*progress)(void *context, const char *what, uint64_t done, uint64_t total);
    void *context;
} lab_firsts_plan;
weir_status lab_firsts_from_disk(lab_firsts **out, const lab_firsts_plan *plan, weir_error *err);

/* Bit i%64 of words[i/64] becomes 1 if ids[i] comes for the first time. Fails with
 * WEIR_ERR_MEMORY when the table cannot grow. */
weir_status lab_firsts_next(lab_firsts *firsts, const uint64_t *ids, size_t count, uint64_t *words);

/* Distinct ids so far. */
uint64_t lab_firsts_count(const lab_firsts *firsts);

#endif
