/* lab_records.h - near-duplicate records with a known number of similar pairs. */
#ifndef LAB_RECORDS_H
#define LAB_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "lab_rng.h"
#include "weir.h"

enum { LAB_MOST_ATTRIBUTES = 32, LAB_PAIR_GAP = 64 };

typedef struct {
    uint64_t n;     /* records */
    uint64_t d;     /* attributes, 2 to LAB_MOST_ATTRIBUTES */
    uint64_t least; /* fewest attributes that a pair shares, 1 to d */
    double share;   /* of the records that could be copies: half of all */
    uint64_t seed;
    uint64_t drawn; /* so far */
    /* Pairs so far that agree in exactly k attributes, for k >= 1: no others do. */
    uint64_t pairs[LAB_MOST_ATTRIBUTES + 1];
} lab_records;

/* "records:n=,d=,least=,share=": fails with WEIR_ERR_SPEC or WEIR_ERR_RANGE. */
weir_status lab_records_init(lab_records *records, const char *spec, uint64_t seed,
                             weir_error *err);

/* The values of the next record, d of them; 0 past the end. A value stands for
 * itself in its own column: compare column with column. */
int lab_records_next(lab_records *records, uint64_t *values);

#endif
