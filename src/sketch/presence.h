/* presence.h - what the distinct counters share: they ask whether, not how often. */
#ifndef WEIR_SKETCH_PRESENCE_H
#define WEIR_SKETCH_PRESENCE_H

#include <math.h>

#include "sketch/matrix_sketch.h"

#define WEIR__NEEDS_PRESENT (WEIR__NEEDS_HASHES | WEIR__NEEDS_PRESENCE)
#define WEIR__Z99 2.5758 /* deviations from the mean that hold 99% of a normal variable */

/* Call put(sketch, hash) for every key with a weight, and count them in the total. */
static inline void weir__presence_add(weir_sketch *s, const weir_updates *u, size_t *done,
                                      void (*put)(weir_sketch *s, uint64_t hash)) {
    for (size_t i = 0; i < u->count; i++)
        if (weir__weight(u, i) > 0) put(s, u->hashes[i]);
    weir__count_total(s, u, u->count);
    *done = u->count;
}

/* An estimate with that relative deviation, 99% bounds from it, not below `least`. */
static inline weir_estimate weir__relative(double value, double relative, double least) {
    double deviation = value * relative;
    return (weir_estimate){value, fmax(least, value - WEIR__Z99 * deviation),
                           value + WEIR__Z99 * deviation, deviation};
}

/* Cells needed for an error with a confidence, where the relative deviation is
 * c / sqrt(cells): (c z / error)^2, z from the normal distribution. */
double weir__presence_cells(double c, double error, double confidence);

/* The pair common to two streams by inclusion and exclusion: |A| + |B| - |A or B|. */
weir_status weir__common_by_union(weir_sketch *a, weir_sketch *b, weir_estimate *out,
                                  weir_error *err);

/* The add() of a sketch of presences, by what puts one hash into it. */
#define WEIR__PRESENCE_ADD(put)                                                                    \
    static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) { \
        (void)err;                                                                                 \
        weir__presence_add(s, u, done, put);                                                       \
        return WEIR_OK;                                                                            \
    }

/* The merge() of sketches whose cells are bits: a bit is set that is set in either. */
weir_status weir__presence_unite(weir_sketch *into, const weir_sketch *from, weir_error *err);

/* The part of a class that all sketches of presences in bits have. */
#define WEIR__BITMAP_FUNCTIONS(type)                                                               \
    .size = sizeof(type), .create = create, .add = add, .needs = WEIR__NEEDS_PRESENT,              \
    .merge = weir__presence_unite, .info = info, .distinct = distinct,                             \
    .common = weir__common_by_union

/* The totals of a merged sketch. */
static inline void weir__merge_totals(weir_sketch *into, const weir_sketch *from) {
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
}

/* The options that size them, in these places. */
enum { WEIR__PR_ERROR = WEIR__SK_OWN, WEIR__PR_CONFIDENCE, WEIR__PR_OWN };
#define WEIR__PRESENCE_OPTIONS                                                                     \
    {"error", WEIR_OPT_RATE, 1e-5, 0.9, NULL, NULL, "size it for this relative error"}, {          \
        "confidence", WEIR_OPT_RATE, 0.5, 1 - 1e-9, NULL, NULL,                                    \
            "chance that the error keeps within it (99%)"                                          \
    }

/* Cells from error and confidence where these are given, else from memory with
 * `bits` each; both options are used up. */
double weir__presence_plan(weir_sketch *s, double c, double bits, uint64_t standard_memory);

#endif
