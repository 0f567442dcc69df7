/* occupancy.c - how full cells become when keys set k of them each.
 *
 * Question   with what chance does a new key find all of its cells set?
 * Idea       the mean share of set cells to the power k is too low, since that share
 *            varies; its second moment puts that right. In a line of eight words the
 *            number of keys varies too, and is averaged over.
 * Error      within 1% of the exact value for 64 cells and k = 4 or 1024 cells and
 *            k = 32; in lines of 64 to 168 cells, filled up to a rate from 10% to
 *            0.0001%, within 5%.
 * Source     Bloom, CACM 13(7), 1970; lines: Putze, Sanders, Singler, JEA 14, 2009. The
 *            rate in print, (1 - e^(-kn/m))^k, is the power of the mean.
 */
#include "filter/occupancy.h"

#include <assert.h>
#include <math.h>

#include "core/cells.h"

/* E[(X/cells)^power] for the number X of cells set, given the chances that one
 * cell is zero, and that two are. The power of the mean alone is too low, for X
 * varies; its second moment puts that right (within 1% of the exact value down
 * to 64 cells and power 4, or 1024 cells and power 32). */
static double occupied_power(double cells, double zero, double both_zero, unsigned power) {
    double mean = 1 - zero;
    if (mean <= 0) return power == 0;
    double square = mean / cells + (1 - 1 / cells) * (1 - 2 * zero + both_zero);
    double excess = fmax(1, square / (mean * mean));
    return fmin(1, pow(mean, power) * pow(excess, 0.5 * power * (power - 1.0)));
}

/* How a key of k cells lies in the words of a line: k/8 cells in each, and one
 * more in k%8 words in a row. For two words a distance apart: the chance that a
 * key leaves a certain cell of each alone, and how many pairs of cells of a key
 * are in such words. */
typedef struct {
    unsigned k, a_word, each, more;
    double misses, misses_both;                    /* one cell of a word; two cells of a word */
    double misses_apart[WEIR__LINE_WORDS / 2 + 1]; /* a cell of each of two words */
    double pairs_same, pairs_apart[WEIR__LINE_WORDS / 2 + 1];
} key_in_line;

static key_in_line key_in_line_of(unsigned k, unsigned a_word) {
    assert(k >= 1 && a_word >= 1);
    key_in_line l = {
        .k = k, .a_word = a_word, .each = k / WEIR__LINE_WORDS, .more = k % WEIR__LINE_WORDS};
    double share = (double)l.more / WEIR__LINE_WORDS, miss = 1 - 1.0 / a_word,
           both = 1 - 2.0 / a_word;
    double few = pow(miss, l.each), many = few * miss;
    l.misses = (1 - share) * few + share * many;
    l.misses_both = pow(both, l.each) * (1 - share + share * both);
    l.pairs_same =
        0.5 * l.each * (l.more * (l.each + 1.0) + (WEIR__LINE_WORDS - l.more) * (l.each - 1.0));
    for (int d = 1; d <= WEIR__LINE_WORDS / 2; d++) {
        double two =
            (fmax(0, (double)l.more - d) + fmax(0, (double)l.more - (WEIR__LINE_WORDS - d))) /
            WEIR__LINE_WORDS;
        double one = share - two;
        l.misses_apart[d] =
            two * many * many + 2 * one * few * many + (1 - two - 2 * one) * few * few;
        for (unsigned w = 0; w < WEIR__LINE_WORDS; w++)
            l.pairs_apart[d] += (l.each + (w < l.more)) *
                                (l.each + ((w + (unsigned)d) % WEIR__LINE_WORDS < l.more));
    }
    l.pairs_apart[WEIR__LINE_WORDS / 2] /= 2; /* met from both sides */
    return l;
}

/* What j keys leave: the chances that one bit, two cells of a word, or a cell of
 * each of two words are zero. */
typedef struct {
    double one, both, apart[WEIR__LINE_WORDS / 2 + 1];
} line_zeros;

static line_zeros line_zeros_after(const key_in_line *l, double j) {
    line_zeros z = {pow(l->misses, j), pow(l->misses_both, j), {0}};
    for (int d = 1; d <= WEIR__LINE_WORDS / 2; d++) z.apart[d] = pow(l->misses_apart[d], j);
    return z;
}

static void one_key_more(const key_in_line *l, line_zeros *z) {
    z->one *= l->misses;
    z->both *= l->misses_both;
    for (int d = 1; d <= WEIR__LINE_WORDS / 2; d++) z->apart[d] *= l->misses_apart[d];
}

/* The rate of a line in that state: the mean share of ones to the power k, times
 * the excess of each pair of the key's cells, as in occupied_power(). */
static double line_fpr(const key_in_line *l, const line_zeros *z) {
    double mean = 1 - z->one, square = mean * mean;
    if (mean <= 0) return 0;
    double same = (mean / l->a_word + (1 - 1.0 / l->a_word) * (1 - 2 * z->one + z->both)) / square;
    double rate = l->k * log(mean) + l->pairs_same * log(same);
    for (int d = 1; d <= WEIR__LINE_WORDS / 2; d++)
        if (l->more && l->pairs_apart[d] > 0) /* without `more` the words are independent */
            rate += l->pairs_apart[d] * log((1 - 2 * z->one + z->apart[d]) / square);
    return fmin(1, exp(rate));
}

/* The same over the Poisson number of keys in a line. */
static double lines_fpr(double keys_a_line, unsigned k, unsigned a_word) {
    if (keys_a_line > 64.0 * WEIR__LINE_WORDS * a_word)
        return 1; /* every cell is set many times over */
    key_in_line l = key_in_line_of(k, a_word);
    assert(k > 0 && a_word > 0);
    double spread = 8 * sqrt(keys_a_line) + 12;
    unsigned first = (unsigned)fmax(0, keys_a_line - spread);
    unsigned last = (unsigned)(keys_a_line + spread);
    double weight = exp(first * log(keys_a_line) - keys_a_line - lgamma(first + 1.0)), sum = 0;
    line_zeros zeros = line_zeros_after(&l, first);
    for (unsigned j = first; j <= last; j++) {
        sum += weight * line_fpr(&l, &zeros);
        weight *= keys_a_line / (j + 1);
        one_key_more(&l, &zeros);
    }
    return fmin(1, sum);
}

double weir__shape_fpr(weir__shape shape, unsigned k, double keys) {
    if (keys <= 0) return 0;
    double m = shape.cells;
    if (shape.a_word) return lines_fpr(keys * WEIR__LINE_WORDS * shape.a_word / m, k, shape.a_word);
    return occupied_power(m, exp(keys * k * log1p(-1 / m)), exp(keys * k * log1p(-2 / m)), k);
}

/* The rate rises with the keys. */
double weir__shape_keys(weir__shape shape, unsigned k, double fpr, double precision) {
    double low = 0, high = 0.5 * shape.cells / k; /* about half full */
    while (weir__shape_fpr(shape, k, high) <= fpr) low = high, high *= 2;
    for (int i = 0; i < 64 && high - low > 0.25 && high - low > low * precision; i++) {
        double middle = 0.5 * (low + high);
        if (weir__shape_fpr(shape, k, middle) <= fpr) low = middle;
        else high = middle;
    }
    return low;
}

/* The number of keys rises with k up to one maximum. */
unsigned weir__shape_best_k(weir__shape shape, double fpr) {
    unsigned best = 1;
    double most = 0;
    for (unsigned k = 1; k <= WEIR__K_MOST; k++) {
        double keys = weir__shape_keys(shape, k, fpr, 1e-4);
        if (keys > most) most = keys, best = k;
        if (keys < 0.97 * most) break;
    }
    return best;
}

/* A key leaves a cell alone with probability (1-1/m)^k or, in a line, that of the
 * cells in its word; over the Poisson number of keys in a line the share of zeros is
 * e^(-c hit). This is minus the log of the zeros for each key. */
static double thinning(weir__shape shape, unsigned k) {
    assert(k >= 1 && shape.cells > 1);
    if (!shape.a_word) return -(k * log1p(-1 / shape.cells));
    double hit = 1 - key_in_line_of(k, shape.a_word).misses;
    return hit * WEIR__LINE_WORDS * shape.a_word / shape.cells;
}

double weir__shape_fill(weir__shape shape, unsigned k, double keys) {
    return -expm1(-keys * thinning(shape, k));
}

double weir__shape_keys_for_fill(weir__shape shape, unsigned k, double fill) {
    return -log(fmax(1 - fill, 0.5 / shape.cells)) / thinning(shape, k);
}
