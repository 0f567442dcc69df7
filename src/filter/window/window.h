/* window.h - the formulas of the windowed filter, for planning and for tests. */
#ifndef WEIR_FILTER_WINDOW_H
#define WEIR_FILTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "filter/occupancy.h"

/* Bits of a cell with a timer; generations that may run at once, a bit for each and one
 * more. */
enum {
    WEIR__WIDTH_LEAST = 3,
    WEIR__WIDTH_BLOCK = 6, /* the widest in lines */
    WEIR__WIDTH_MOST = 17,
    WEIR__GENERATIONS = 15,
    WEIR__TICKS_MOST = 65536 /* that a window may be cut into */
};

/* The chance that k cells are all running and at least `equal` of them show the same
 * tick, when a cell shows tick i with probability shares[i], independently. With the
 * shares of all cells this is the false positive rate; with the shares of the cells
 * of a key that was set some time ago, the chance that it is still known. */
double weir__window_equal(const double *shares, unsigned n, unsigned k, unsigned equal);

/* The chance that a cell still shows the tick of its key, or a later one of the
 * `later` ticks, in each of which keys[i] new keys came: shares[0] is the former. */
void weir__window_overwritten(double cells, unsigned k, const double *keys, unsigned later,
                              double *shares);

/* The marks that a cell of `width` bits tells apart. */
unsigned weir__window_marks(bool jumping, unsigned width);

/* Ticks that may run at once, by the width of a cell; the width that some ticks need
 * (0: no width is enough). */
unsigned weir__window_ticks(bool jumping, bool block, unsigned width);
unsigned weir__window_width(bool jumping, bool block, uint64_t ticks);

/* The cells, as places of a Bloom filter; what one of these may have of the rate; and the
 * k with which most keys fit. */
weir__shape weir__window_shape(bool block, unsigned width, uint64_t lines);
double weir__window_share(bool jumping, bool block, unsigned width, double fpr);
unsigned weir__window_best_k(bool jumping, bool block, unsigned width, uint64_t lines, double fpr);

/* The keys that may run at once in `lines` lines of 64 bytes. */
double weir__window_capacity(bool jumping, bool block, unsigned width, uint64_t lines, unsigned k,
                             double fpr);

#endif
