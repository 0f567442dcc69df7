/* supervalue.h - from a record of d values to its super-values.
 *
 * Level k of a shape stands for the k-subsets of the d columns: how many there
 * are, and how many of them each record draws.
 */
#ifndef WEIR_PAIRS_SUPERVALUE_H
#define WEIR_PAIRS_SUPERVALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rng.h"
#include "weir.h"

#define WEIR__COLUMNS_MOST 64         /* values of a record */
#define WEIR__SUBSETS_MOST (1u << 20) /* of all levels together */

typedef struct {
    unsigned k;
    uint32_t subsets; /* C(d, k) */
    uint32_t drawn;   /* l_k = ceil(r C(d, k)) */
    unsigned listed;  /* columns written down for each subset: the fewer of in and out */
    bool left_out;    /* those listed are the ones left out */
    uint8_t *lists;   /* subsets x listed */
    uint32_t *ways;   /* all ways to draw, as bits; NULL if there are many */
    uint32_t way_count;
    uint64_t key; /* tells the levels' fingerprints apart */
} weir__level;

typedef struct {
    unsigned d, s, levels; /* level i is k = s + i */
    weir__level level[WEIR__COLUMNS_MOST];
    uint64_t column_key[WEIR__COLUMNS_MOST]; /* the label of a column; all alike for sets */
    uint64_t per_record;                     /* super-values that a record draws */
    size_t bitmap_words;                     /* that drawing needs */
} weir__shape;

/* C(n, k) as a double, exact as long as it fits. */
double weir__choose(unsigned n, unsigned k);

/* Fails with WEIR_ERR_RANGE if there are more subsets than WEIR__SUBSETS_MOST. */
weir_status weir__shape_init(weir__shape *shape, unsigned d, unsigned s, double r, bool labelled,
                             uint64_t seed, weir_error *err);
void weir__shape_release(weir__shape *shape);

/* A record made ready: its labelled values and their sum. */
typedef struct {
    uint64_t value[WEIR__COLUMNS_MOST], sum;
} weir__labelled;

void weir__label(const weir__shape *shape, const uint64_t *row, weir__labelled *out);

/* The fingerprint of one subset. */
uint64_t weir__super_value(const weir__level *level, const weir__labelled *record, uint32_t subset);

/* Draw the level's subsets for a record; *state is its generator and goes on
 * from level to level. The bits of `bitmap` (zero before) say which. */
void weir__draw(const weir__level *level, uint64_t *state, uint64_t *bitmap);

/* The super-values of the drawn subsets, `drawn` of them, in the order of the
 * subsets; the bitmap is zero afterwards. */
void weir__super_values(const weir__level *level, const weir__labelled *record, uint64_t *bitmap,
                        uint64_t *out);

/* The generator with which record `number` of a summary draws. */
static inline uint64_t weir__draw_state(uint64_t draw_key, uint64_t number) {
    return weir__mix64(draw_key ^ weir__mix64(number + UINT64_C(0x632be59bd9b4e019)));
}

#endif
