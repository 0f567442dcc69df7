/* qht.h - the formulas of the quotient hash table, for planning and for tests. */
#ifndef WEIR_FILTER_QHT_H
#define WEIR_FILTER_QHT_H

/* The chance that a new key is called SEEN in a bucket, by the number of fingerprints that it
 * holds: they are distinct, and none is zero. */
double weir__qht_fpr(double held, unsigned bits);

/* The chance that a repeat is called NEW when `gap` new keys came between, in a
 * full table of `total_slots` slots. */
double weir__qht_fnr(double total_slots, unsigned slots, unsigned bits, double gap);

/* The most slots of a line of 512 bits that keep fpr: how many to a bucket and of
 * how many bits. Where one of the two is given (not 0) the other is found. Bits
 * are 0 if there is none. */
typedef struct {
    unsigned slots, bits;
} weir__qht_shape;
weir__qht_shape weir__qht_plan(unsigned slots, unsigned bits, double fpr);

#endif
