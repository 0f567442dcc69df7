/* fading.h - arrays of small counters that keys set and chance decrements.
 *
 * What `stable` and `importance` do to their memory; their formulas are
 * elsewhere (decay.h). For each key: are its K cells all non-zero? Then P cells
 * from a random place on are decremented, and the K cells raised to the key's
 * level, never lowered.
 *
 * Layout   64-bit words of 64/d cells each, cell 0 in the low bits: 64, 32, 21
 *          or 16 cells a word. With d = 3 the top bit of a word is unused and
 *          zero; it is counted as memory.
 *            classic  the K cells lie anywhere; the run of P cells starts at a
 *                     random cell and goes around the end of the array
 *            block    the high bits of the hash choose a line of 8 words, what
 *                     is left of it a first word and K cells, one in each word
 *                     from there on, around and around; of the P cells each word
 *                     takes its share as a run from a random cell, around its
 *                     own end
 *
 * `drawn` (classic only): P cells drawn one by one instead of a run. With `sparing` too, draws
 * go on until P cells were decremented, a cell of value v with chance 1/v, or 64 P were drawn.
 *
 * With `sparing` a chosen cell of value v is decremented only once in v times: a
 * draw for each word and key (classic: for each key) gives the highest value
 * that is still decremented. The generator is drawn from once per key whatever
 * the verdict, so drawing ahead changes nothing.
 */
#ifndef WEIR_FILTER_FADING_H
#define WEIR_FILTER_FADING_H

#include "core/cells.h"
#include "filter/filter.h"
#include "filter/line/line_cells.h"

enum {
    WEIR__K_MOST = LINE_CELLS_MOST, /* cells of a key */
    WEIR__DRAWS = 1024              /* outcomes of the draw that spares high cells */
};
#define WEIR__P_MOST 1000000 /* cells that a key decrements */

typedef struct {
    uint64_t *at; /* the words */
    uint64_t words, lines, cells;
    unsigned K, P, max;
    unsigned width;    /* d: bits of a cell */
    unsigned per_word; /* cells of a word */
    uint64_t lows;     /* the low bit of every cell of a word */
    /* block: the low bits of the run in each word, P/8 cells or one more; eight
     * beginnings, so that the words with one more can start anywhere */
    uint64_t runs[2 * WEIR__LINE_WORDS];
    line_plan plan; /* block: how a key's cells are found */
    bool block, sparing, drawn;
    uint8_t reach[WEIR__DRAWS]; /* sparing: the highest value that a draw decrements */
} weir__fading;

static inline unsigned weir__fading_width(unsigned max) {
    return max == 1 ? 1 : max == 3 ? 2 : max == 7 ? 3 : 4;
}

/* decrement=random goes with layout=classic, which it implies. */
weir_status weir__fading_settle_layout(weir_filter *filter, int opt_layout, int opt_decrement,
                                       weir_error *err);

/* Bytes that are used of `bytes`: whole words, or whole lines. */
uint64_t weir__fading_shape(weir__fading *c, bool block, unsigned width, uint64_t bytes);

/* Once K, P, sparing and the memory are known. */
void weir__fading_begin(weir__fading *c, uint8_t *memory);

/* The chance that a chosen cell of value v is not decremented. */
double weir__fading_spared(unsigned v);

/* levels: 1 to max for each key, or NULL: all max. */
size_t weir__fading_offer(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
                          const uint8_t *levels, uint64_t *verdicts);
size_t weir__fading_test(const weir__fading *c, const weir_batch *batch, uint64_t *verdicts);

/* The share of non-zero cells, and the false positive rate of the next new key. */
void weir__fading_look(const weir__fading *c, double *fill, double *fpr);

/* No bit is set that belongs to no cell. */
weir_status weir__fading_check(const weir__fading *c, const char *name, weir_error *err);

#endif
