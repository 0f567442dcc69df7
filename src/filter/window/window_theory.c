/* window_theory.c - how many keys a window holds, and at which rate it errs; window.c
 * tells what the filter does.
 *
 * The running cells of a sliding window are the bits of one Bloom filter, those of each
 * generation of a jumping one the bits of one with its share of the rate. So all rates
 * and capacities are those of occupancy.h, and what is added here is how time is cut:
 * the ticks that a cell of some width tells apart.
 */
#include <math.h>
#include <string.h>

#include "core/cells.h"
#include "filter/window/window.h"

#define MARGIN 0.95 /* of fpr, for lines: what their formula may err by */

/* k! times the coefficient of x^k in the product over ticks of sum_c (s x)^c / c!,
 * c < equal: the chance that the k cells show ticks of which none comes `equal` times. */
double weir__window_equal(const double *shares, unsigned n, unsigned k, unsigned equal) {
    double sums[WEIR__K_MOST + 1] = {1}, all = 0, factorial = 1;
    for (unsigned i = 0; i < n; i++) {
        double next[WEIR__K_MOST + 1] = {0}, term = 1;
        for (unsigned c = 0; c < equal && c <= k; c++) {
            for (unsigned j = c; j <= k; j++) next[j] += sums[j - c] * term;
            term *= shares[i] / (c + 1);
        }
        memcpy(sums, next, sizeof sums);
        all += shares[i];
    }
    for (unsigned j = 2; j <= k; j++) factorial *= j;
    return fmax(0, pow(all, k) - (equal > 1 ? factorial * sums[k] : 0));
}

void weir__window_overwritten(double cells, unsigned k, const double *keys, unsigned later,
                              double *shares) {
    double left = 1;
    for (unsigned i = later; i-- > 0;) {
        double spared = exp(k * keys[i] * log1p(-1 / cells));
        shares[i + 1] = left * (1 - spared);
        left *= spared;
    }
    shares[0] = left;
}

unsigned weir__window_marks(bool jumping, unsigned width) {
    return jumping ? width : (1u << width) - 1;
}

unsigned weir__window_ticks(bool jumping, bool block, unsigned width) {
    unsigned marks = weir__window_marks(jumping, width);
    if (!jumping) return marks - marks / (width > WEIR__WIDTH_BLOCK ? 8 : 3);
    return marks - (block && width >= 8 ? width / 4 : 1);
}

unsigned weir__window_width(bool jumping, bool block, uint64_t ticks) {
    unsigned most = jumping ? WEIR__GENERATIONS + 1 : block ? WEIR__WIDTH_BLOCK : WEIR__WIDTH_MOST;
    for (unsigned width = WEIR__WIDTH_LEAST; width <= most; width++)
        if (weir__window_ticks(jumping, block, width) >= ticks) return width;
    return 0;
}

weir__shape weir__window_shape(bool block, unsigned width, uint64_t lines) {
    unsigned a_word = 64 / width;
    return (weir__shape){(double)lines * WEIR__LINE_WORDS * a_word, block ? a_word : 0};
}

double weir__window_share(bool jumping, bool block, unsigned width, double fpr) {
    if (block) fpr *= MARGIN;
    return jumping ? fpr / weir__window_ticks(true, block, width) : fpr;
}

unsigned weir__window_best_k(bool jumping, bool block, unsigned width, uint64_t lines, double fpr) {
    return weir__shape_best_k(weir__window_shape(block, width, lines),
                              weir__window_share(jumping, block, width, fpr));
}

double weir__window_capacity(bool jumping, bool block, unsigned width, uint64_t lines, unsigned k,
                             double fpr) {
    double keys = weir__shape_keys(weir__window_shape(block, width, lines), k,
                                   weir__window_share(jumping, block, width, fpr), 1e-6);
    return jumping ? keys * weir__window_ticks(true, block, width) : keys;
}
