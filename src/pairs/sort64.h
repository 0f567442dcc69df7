/* sort64.h - sort 64-bit fingerprints. */
#ifndef WEIR_PAIRS_SORT64_H
#define WEIR_PAIRS_SORT64_H

#include <stddef.h>
#include <stdint.h>

/* Ascending, in place; `scratch` has room for as many. Made for words that are
 * hashes, with any number of repeats; right for all. */
void weir__sort64(uint64_t *words, uint64_t *scratch, size_t count);

#endif
