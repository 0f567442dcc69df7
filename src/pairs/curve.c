/* curve.c - what a threshold of s in d values means for the similarity of texts.
 *
 * Question   which pairs does "s of d values agree" count, when values agree by
 *            chance?
 * Idea       each of d values agrees independently with probability p(t), t being
 *            the similarity, so a pair is counted with probability
 *            Pr[Bin(d, p(t)) >= s]: an S-shaped curve over t, which more columns
 *            make steeper. For a wanted t choose s and the hashes in a value, g, such
 *            that about as many pairs below t are counted as pairs above are missed.
 *            That depends on how many there are: a curve that is one half at t
 *            counts far too many, since less similar pairs are many more. Their
 *            density is taken to fall with the fifth power of the similarity, as it
 *            does among the titles of Debian's packages (3 times too many at 0.6
 *            with one half at t; see docs/pairs.md for what this gives).
 * Error      pairs well above t are counted, pairs well below are not, those about
 *            t are counted in part: the count is that of a blurred threshold.
 */
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

/* How far the pairs counted are from those at or above t, in numbers and one by
 * one, as shares of the latter. */
static double choice_cost(bool cosine, unsigned d, unsigned s, unsigned g, double t) {
    double above = 0, counted = 0, wrong = 0;
    for (int i = 10; i < 100; i++) {
        double x = i / 100.0, density = pow(x, -5), chance = weir_pairs_curve(cosine, d, s, g, x);
        counted += density * chance;
        if (x >= t) above += density;
        wrong += density * (x >= t ? 1 - chance : chance);
    }
    return fabs(counted - above) / above + 0.2 * wrong / above;
}

void weir_pairs_choose(bool cosine, unsigned columns, double similarity, unsigned *threshold,
                       unsigned *group) {
    double best = HUGE_VAL;
    for (unsigned g = 1; g <= WEIR__GROUP_MOST; g++)
        for (unsigned s = (columns + 1) / 2; s <= columns; s++) {
            double cost = choice_cost(cosine, columns, s, g, similarity);
            if (cost >= best) continue;
            best = cost;
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
