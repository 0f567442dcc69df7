/* buffer.h - the formulas of the buffer of fingerprints, for planning and tests. */
#ifndef WEIR_FILTER_BUFFER_H
#define WEIR_FILTER_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { WEIR__POLICY_LRU, WEIR__POLICY_CLOCK } weir__buffer_policy;

/* The keys that this much memory holds: all that is used counts, or (paper) the
 * fingerprints of 8 bytes alone. */
uint64_t weir__buffer_capacity(uint64_t memory, weir__buffer_policy policy, bool paper);

/* Bytes that `capacity` keys take, everything counted. */
uint64_t weir__buffer_bytes(uint64_t capacity, weir__buffer_policy policy);

/* LRU: the chance that a key is called NEW although it came by with `distance`
 * different other keys between. */
double weir__buffer_fnr(uint64_t capacity, double q, double distance);

/* Either policy, for a stream in which all of `keys` keys are alike: the share of
 * repeats that pass, once it is full. */
double weir__buffer_fnr_uniform(uint64_t capacity, double q, double keys);

#endif
