/* apbf.h - the formulas of the age-partitioned Bloom filter. */
#ifndef WEIR_FILTER_APBF_H
#define WEIR_FILTER_APBF_H

#include <stdbool.h>
#include <stdint.h>

enum { WEIR__APBF_SLICES_MOST = 64 }; /* k + l */

/* The chance that k of n slices in a row match, slice i matching with fill[i]. */
double weir__apbf_run(const double *fill, unsigned n, unsigned k);

/* k + l slices: bits of a slice follow from the layout, the memory and k + l. In a line
 * (block) there are 512 / lane bits to a slice, and at most lane - 2 slices. */
typedef struct {
    unsigned k, l;
    unsigned lane;       /* block: 16 or 32; else 0 */
    uint64_t slice_bits; /* m */
    uint64_t generation; /* keys: of the filter, or of each line; 0 if there is no plan */
} weir__apbf_shape;

/* The chance that a new key is called SEEN: `keys` make a generation, and the newest slice
 * has taken `taken` of them. `generation` of the shape is not used. */
double weir__apbf_fpr(const weir__apbf_shape *s, double generation, double taken);

/* The shape that surely remembers most keys (l generations) under fpr. k, l and
 * generation are kept where they are given (not 0). */
weir__apbf_shape weir__apbf_plan(bool block, uint64_t bytes, double fpr, unsigned k, unsigned l,
                                 uint64_t generation);

#endif
