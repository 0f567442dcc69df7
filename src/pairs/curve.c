/* curve.c - what a threshold of s in d values means for the similarity of texts.
 *
 * Question   which pairs does "s of d values agree" count, when values agree by
 *            chance?
 * Idea       each of d values agrees independently with probability p(t), t being
 *            the similarity, so a pair is counted with probability
 *            Pr[Bin(d, p(t)) >= s]: an S-shaped curve over t, which more columns
 *            make steeper. For a wanted t the best would be a step: choose s and the
 *            hashes in a value, g, for which the area between the curve and that step
 *            is least. This balances a curve that is one half at t with one
 *            that is steep, and knows nothing of the data. More hashes with a lower s
 *            are steeper (for s = 1 it is the banding of min-wise hashing), but a
 *            low s has many super-values: s is at least half of d.
 * Error      pairs well above t are counted, pairs well below are not, those about
 *            t are counted in part: the count is that of a blurred threshold. Where
 *            less similar pairs are many more than similar ones it is too high, and
 *            far too high for a t below one half (docs/pairs.md has the numbers).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs/rows.h"
#include "pairs/supervalue.h"

enum { AREA_STEPS = 100 }; /* of the integral over similarities */

double weir_pairs_chance(unsigned columns, unsigned threshold, double agrees) {
    double sum = 0;
    for (unsigned k = threshold; k <= columns; k++)
        sum += weir__choose(columns, k) * pow(agrees, k) * pow(1 - agrees, columns - k);
    return sum < 1 ? sum : 1;
}

double weir_pairs_curve(bool cosine, unsigned columns, unsigned threshold, unsigned group,
                        double similarity) {
    weir__from from = cosine ? WEIR__FROM_COSINE : WEIR__FROM_TEXT;
    return weir_pairs_chance(columns, threshold, weir__value_agrees(from, group, similarity));
}

/* The area between the curve and a step at t. */
static double area_off(bool cosine, unsigned d, unsigned s, unsigned g, double t) {
    double area = 0;
    for (int i = 0; i < AREA_STEPS; i++) {
        double x = (i + 0.5) / AREA_STEPS, chance = weir_pairs_curve(cosine, d, s, g, x);
        area += x >= t ? 1 - chance : chance;
    }
    return area / AREA_STEPS;
}

void weir_pairs_choose(bool cosine, unsigned columns, double similarity, unsigned *threshold,
                       unsigned *group) {
    double best = HUGE_VAL;
    for (unsigned g = 1; g <= WEIR__GROUP_MOST; g++)
        for (unsigned s = (columns + 1) / 2; s <= columns; s++) {
            double area = area_off(cosine, columns, s, g, similarity);
            if (area >= best) continue;
            best = area;
            *threshold = s;
            *group = g;
        }
}

bool weir_round_number(const void *bytes, size_t length, double step, char *out) {
    char text[64], *end;
    if (length == 0 || length >= sizeof text || !(step > 0) || !isfinite(step)) return false;
    memcpy(text, bytes, length);
    text[length] = 0;
    double number = strtod(text, &end);
    while (*end == ' ') end++;
    if (end == text || *end || !isfinite(number)) return false;
    double rounded = round(number / step) * step;
    if (!isfinite(rounded)) rounded = number;
    snprintf(out, 40, "%.12g", rounded == 0 ? 0.0 : rounded);
    return true;
}
