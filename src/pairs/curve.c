/* curve.c - what a threshold of s in d values means for the similarity of texts.
 *
 * Question   which pairs does "s of d values agree" count, when values agree by
 *            chance?
 * Idea       each of d values agrees independently with probability p(t), t being
 *            the similarity, so a pair is counted with probability
 *            Pr[Bin(d, p(t)) >= s]: an S-shaped curve over t, which more columns
 *            make steeper. For a wanted t choose s and the hashes in a value, g, so
 *            that the curve passes nearest to one half there; of those about as
 *            near, the one with the fewest hashes.
 * Error      pairs well above t are counted, pairs well below are not, those about
 *            t are counted in part: the count is that of a blurred threshold.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs/rows.h"
#include "pairs/supervalue.h"

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

void weir_pairs_choose(bool cosine, unsigned columns, double similarity, unsigned *threshold,
                       unsigned *group) {
    double best = 2;
    *threshold = columns;
    *group = 1;
    for (unsigned g = 1; g <= WEIR__GROUP_MOST; g++)
        for (unsigned s = (columns + 1) / 2; s <= columns; s++) {
            double off = fabs(weir_pairs_curve(cosine, columns, s, g, similarity) - 0.5);
            if (off >= best - 0.02) continue;
            best = off;
            *threshold = s;
            *group = g;
        }
}

bool weir_round_number(const void *bytes, size_t length, double step, char *out) {
    char text[64], *end;
    if (length == 0 || length >= sizeof text) return false;
    memcpy(text, bytes, length);
    text[length] = 0;
    double number = strtod(text, &end);
    while (*end == ' ') end++;
    if (end == text || *end || !isfinite(number)) return false;
    double rounded = round(number / step) * step;
    snprintf(out, 40, "%.12g", rounded == 0 ? 0.0 : rounded);
    return true;
}
