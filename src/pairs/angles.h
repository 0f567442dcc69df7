/* angles.h - how many pairs of texts have at least a cosine, by the records that are kept whole. */
#ifndef WEIR_PAIRS_ANGLES_H
#define WEIR_PAIRS_ANGLES_H

#include "pairs/pairs.h"

typedef struct weir__angles weir__angles;

typedef struct {
    double pairs, low, high; /* with an interval of 95% */
    bool told;               /* the interval is narrow enough to tell something */
} weir__above;

/* b: the other side of a join, or NULL. */
weir_status weir__angles_new(weir__angles **out, const weir_pairs *a, const weir_pairs *b,
                             weir_error *err);
void weir__angles_free(weir__angles *angles);

void weir__angles_above(const weir__angles *angles, double cosine, weir__above *out);

#endif
