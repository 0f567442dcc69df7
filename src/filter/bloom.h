/* bloom.h - the formulas of the Bloom filter, for planning and for tests.
 *
 * block: false for places anywhere, true for all places in a line of 64 bytes.
 */
#ifndef WEIR_FILTER_BLOOM_H
#define WEIR_FILTER_BLOOM_H

#include <stdbool.h>
#include <stdint.h>

/* The chance that a new key is called SEEN after `keys` different ones. */
double weir__bloom_fpr(bool block, uint64_t bytes, unsigned k, double keys);

/* The k at which most keys fit under fpr, and how many fit with a given k. */
unsigned weir__bloom_best_k(bool block, double fpr);
uint64_t weir__bloom_capacity(bool block, uint64_t bytes, unsigned k, double fpr);

/* The least memory, in whole lines, for `capacity` keys; UINT64_MAX if none. */
uint64_t weir__bloom_bytes(bool block, double capacity, unsigned k, double fpr);

/* How many keys leave this share of the bits set. */
double weir__bloom_keys_for_fill(bool block, uint64_t bytes, unsigned k, double fill);

#endif
