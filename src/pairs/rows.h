/* rows.h - from fields to the d values that are compared. */
#ifndef WEIR_PAIRS_ROWS_H
#define WEIR_PAIRS_ROWS_H

#include "core/hash.h"
#include "weir.h"
#include "weir_pairs.h"

#define WEIR__GROUP_MOST 64   /* hash functions or projections of a column */
#define WEIR__SHINGLE_MOST 64 /* letters or words of a shingle */
#define WEIR__ANGLES_MOST 64  /* words of signs of a row that only tell the angle */

typedef enum { WEIR__FROM_COLUMNS, WEIR__FROM_SET, WEIR__FROM_TEXT, WEIR__FROM_COSINE } weir__from;

typedef struct {
    weir__from from;
    unsigned columns;
    unsigned shingle; /* words or letters */
    bool letters;
    unsigned group;  /* min-hashes, or signs, that make one value */
    unsigned angles; /* cosine: words of 64 more signs, behind the values */
    weir__hasher hasher;
} weir__row_maker;

/* As weir_pairs_row(). */
weir_row_status weir__make_row(const weir__row_maker *maker, const weir_field *fields, size_t count,
                               uint64_t *row);

/* The chance that one value of two records agrees, at this similarity. */
double weir__value_agrees(weir__from from, unsigned group, double similarity);

#endif
