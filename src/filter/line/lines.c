/* lines.c - the rate of filters that give each key k groups of its line. */
#include "filter/line/lines.h"

#include <math.h>

double weir__groups_fpr(double keys_a_line, double k, double group) {
    if (keys_a_line <= 0) return 0;
    if (keys_a_line > WEIR__LINE_BITS * 64) return 1; /* every cell is in use many times over */
    double spread = 8 * sqrt(keys_a_line) + 12, sum = 0;
    unsigned first = (unsigned)fmax(0, keys_a_line - spread);
    unsigned last = (unsigned)(keys_a_line + spread);
    double weight = exp(first * log(keys_a_line) - keys_a_line - lgamma(first + 1.0));
    double zero = pow(1 - 1 / group, first);
    for (unsigned j = first; j <= last; j++) {
        sum += weight * pow(1 - zero, k);
        weight *= keys_a_line / (j + 1);
        zero *= 1 - 1 / group;
    }
    return fmin(1, sum);
}
