/* occupancy.h - how full cells become when keys set k of them each.
 *
 * The formulas that a Bloom filter shares with all that are made like one: any
 * array of cells of which a key has k, SEEN when all are set.
 */
#ifndef WEIR_FILTER_OCCUPANCY_H
#define WEIR_FILTER_OCCUPANCY_H

/* How a key's cells lie: anywhere among all, or one in each of the eight words
 * of a line in turn, from a word of its own on. */
typedef struct {
    double cells;
    unsigned a_word; /* cells in a word of a line; 0: anywhere */
} weir__shape;

enum { WEIR__K_MOST = 32 }; /* cells of a key */

/* The chance that a new key finds its k cells set after `keys` different ones. */
double weir__shape_fpr(weir__shape shape, unsigned k, double keys);

/* The most keys that keep this rate, to a relative precision. */
double weir__shape_keys(weir__shape shape, unsigned k, double fpr, double precision);

/* The k, at most WEIR__K_MOST, at which most keys keep this rate. */
unsigned weir__shape_best_k(weir__shape shape, double fpr);

/* The share of cells that `keys` set; the number of keys that set a share. */
double weir__shape_fill(weir__shape shape, unsigned k, double keys);
double weir__shape_keys_for_fill(weir__shape shape, unsigned k, double fill);

#endif
