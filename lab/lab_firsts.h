/* lab_firsts.h - is this the first occurrence? Exact, in memory, as a stream runs. */
#ifndef LAB_FIRSTS_H
#define LAB_FIRSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

typedef struct lab_firsts lab_firsts;

/* universe: every id is below it, and one bit for each is kept; 0: ids are
 * hashes, and a table of those that came by is kept (about 20 bytes for each). */
weir_status lab_firsts_new(lab_firsts **out, uint64_t universe, weir_error *err);
void lab_firsts_free(lab_firsts *firsts);

/* Bit i%64 of words[i/64] becomes 1 if ids[i] comes for the first time. Fails with
 * WEIR_ERR_MEMORY when the table cannot grow. */
weir_status lab_firsts_next(lab_firsts *firsts, const uint64_t *ids, size_t count, uint64_t *words);

/* Distinct ids so far. */
uint64_t lab_firsts_count(const lab_firsts *firsts);

#endif
