/* decay.c - the chains of cells that are raised and lowered; see decay.h.
 *
 * Where we differ from the papers: the printed bound raises the mean share of
 * non-zero cells to the power K. That share varies, and the mean of a power is
 * more than the power of the mean: by next to nothing in a large array, by 3% in
 * one of 1 KiB, by 11% in a line at fpr = 0.0001%. The bound here multiplies in,
 * for each pair of a key's cells, by how much "both are non-zero" is likelier
 * than the square says, from the exact chain of two cells.
 *
 * In a line, one run of P neighbours would nearly triple that variance (the
 * cells of a run empty together); a run in each word costs little more.
 */
#include "filter/fading/decay.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_WORDS = WEIR__LINE_WORDS };

weir__decay weir__decay_of(bool block, unsigned max, uint64_t bytes) {
    uint64_t words = block ? LINE_WORDS : bytes / 8, per_word = 64 / weir__fading_width(max);
    weir__decay d = {.block = block, .max = max, .m = (double)(words * per_word)};
    for (unsigned v = 0; v < max; v++) d.above[v] = 1;
    return d;
}

/* --- one cell ---------------------------------------------------------------------- */

void weir__decay_limit(const weir__decay *d, double k, double p, double at_most[WEIR__LEVELS]) {
    at_most[d->max] = 1;
    for (unsigned v = d->max; v-- > 0;) {
        double c = k * d->above[v], a = p * (1 - d->spared[v + 1]);
        at_most[v] = at_most[v + 1] * (a * (1 - c)) / (a * (1 - c) + c);
    }
}

/* F' = step F, and the product of two such; entries below the diagonal are 0. */
typedef struct {
    double at[WEIR__LEVELS][WEIR__LEVELS];
} matrix;

static matrix step_of(const weir__decay *d, double k, double p) {
    matrix step = {{{0}}};
    for (unsigned v = 0; v < d->max; v++) {
        double stays = 1 - k * d->above[v], a = p * (1 - d->spared[v + 1]);
        step.at[v][v] = stays * (1 - a);
        step.at[v][v + 1] = stays * a;
    }
    step.at[d->max][d->max] = 1;
    return step;
}

static matrix product(const matrix *a, const matrix *b, unsigned max) {
    matrix c = {{{0}}};
    for (unsigned i = 0; i <= max; i++)
        for (unsigned k = i; k <= max; k++)
            for (unsigned j = k; j <= max; j++) c.at[i][j] += a->at[i][k] * b->at[k][j];
    return c;
}

/* Row 0 of the n-th power: what each start value adds to the zeros after n
 * keys. The powers of one matrix commute, so they are applied as they come up. */
static void zeros_row(const weir__decay *d, double k, double p, double n,
                      double row[WEIR__LEVELS]) {
    matrix power = step_of(d, k, p);
    assert(d->max < WEIR__LEVELS && n >= 0);
    memset(row, 0, WEIR__LEVELS * sizeof *row);
    row[0] = 1;
    for (uint64_t left = n < 0x1p62 ? (uint64_t)n : (uint64_t)1 << 62; left; left /= 2) {
        for (unsigned j = d->max + 1; j-- > 0 && left % 2;) {
            double sum = 0;
            for (unsigned i = 0; i <= j; i++) sum += row[i] * power.at[i][j];
            row[j] = sum;
        }
        power = product(&power, &power, d->max);
    }
}

/* The chance of zero, given that row and a level that the cell was set to: it
 * had been decremented like any other, then was raised to the level at least. */
static double zero_from(const weir__decay *d, const double limit[WEIR__LEVELS], double p,
                        unsigned level, const double row[WEIR__LEVELS]) {
    double sum = 0;
    assert(level <= d->max && d->max < WEIR__LEVELS);
    for (unsigned v = level; v <= d->max; v++) {
        double next = v < d->max ? (1 - d->spared[v + 1]) * p * (limit[v + 1] - limit[v]) : 0;
        sum += row[v] * (limit[v] + next);
    }
    return sum;
}

double weir__decay_forgotten(const weir__decay *d, double cells, double K, double P, unsigned level,
                             double gap) {
    double k = K / cells, p = P / cells, limit[WEIR__LEVELS], row[WEIR__LEVELS];
    weir__decay_limit(d, k, p, limit);
    zeros_row(d, k, p, gap, row);
    return zero_from(d, limit, p, level, row);
}

double weir__decay_zeros_after(const weir__decay *d, double cells, double K, double P, double n) {
    double row[WEIR__LEVELS], sum = 0;
    zeros_row(d, K / cells, P / cells, n, row);
    for (unsigned v = 0; v <= d->max; v++) sum += row[v];
    return sum;
}

double weir__decay_fnr(const weir__decay *d, double cells, double K, double P, unsigned level,
                       double gap) {
    return -expm1(K * log1p(-weir__decay_forgotten(d, cells, K, P, level, gap)));
}

/* --- two cells ---------------------------------------------------------------------- */

/* The effect of one key on a pair of cells: the chances that it chooses, or sets,
 * both of them, exactly the first, or neither. */
typedef struct {
    double both, one, none;
} pair_event;

static pair_event pair_of(double each, double both) {
    pair_event e = {both, each - both, 1 - 2 * each + both};
    return e;
}

/* The chance that two cells are both non-zero in the limit. `together`: one
 * draw decides for both whether they are spared, so that the one that is spared
 * less often goes with the other. */
static double pair_nonzero(const weir__decay *d, pair_event set, pair_event dec, bool together) {
    double single[WEIR__LEVELS], joint[WEIR__LEVELS + 1][WEIR__LEVELS + 1];
    unsigned max = d->max;
    assert(max < WEIR__LEVELS);
    weir__decay_limit(d, set.both + set.one, dec.both + dec.one, single);
    for (unsigned v = 0; v <= max; v++) joint[max][v] = joint[v][max] = single[v];
    for (unsigned u = max; u-- > 0;)
        for (unsigned v = max; v-- > 0;) {
            double a = 1 - d->spared[u + 1], b = 1 - d->spared[v + 1];
            double both = dec.both * (together ? fmin(a, b) : a * b);
            double first = (dec.both + dec.one) * a, second = (dec.both + dec.one) * b;
            double stays =
                1 - set.one * (d->above[u] + d->above[v]) - set.both * d->above[u < v ? u : v];
            double in = (first - both) * joint[u + 1][v] + (second - both) * joint[u][v + 1] +
                        both * joint[u + 1][v + 1];
            joint[u][v] = stays * in / (1 - stays * (1 - first - second + both));
        }
    return 1 - 2 * single[0] + joint[0][0];
}

/* pair_nonzero() averaged over the distances of two cells in a region that has
 * one run of `run` cells decremented, around its end. Beyond the run's length
 * distance makes no difference; within it, at most 64 distances are tried. */
static double region_pairs(const weir__decay *d, double region, double run, pair_event set) {
    double p = run / region, reach = fmin(run, region - run), sum = 0, weight = 0;
    unsigned step = reach >= 128 ? (unsigned)(reach / 64) : 1;
    for (unsigned far = 1; far < reach; far += step) {
        double both = fmax(0, run - far) + fmax(0, run - (region - far));
        double w = fmin(step, reach - far);
        sum += w * pair_nonzero(d, set, pair_of(p, both / region), true);
        weight += w;
    }
    double others = (region - 1) / 2 - weight;
    if (others > 0) {
        double both = fmax(0, 2 * run - region) / region;
        sum += others * pair_nonzero(d, set, pair_of(p, both), true);
    }
    return sum / ((region - 1) / 2);
}

/* --- the bound for a layout ----------------------------------------------------------- */

/* The effect of n throws into a region on two of its cells. */
static pair_event throws_at(double region, double n) {
    double miss = exp(n * log1p(-1 / region)), miss_both = exp(n * log1p(-2 / region));
    return pair_of(1 - miss, 1 - 2 * miss + miss_both);
}

static pair_event mixture(double share, pair_event a, pair_event b) {
    pair_event e = {share * a.both + (1 - share) * b.both, share * a.one + (1 - share) * b.one,
                    share * a.none + (1 - share) * b.none};
    return e;
}

/* By what the chance that two cells chosen by a new key are both non-zero
 * exceeds the square of `filled`: in one region, two choices may fall on the
 * same cell. */
static double excess_of_region(double region, double filled, double pairs) {
    return (filled / region + (1 - 1 / region) * pairs) / (filled * filled);
}

static double filled_share(const weir__decay *d, double k, double p) {
    double at_most[WEIR__LEVELS];
    weir__decay_limit(d, k, p, at_most);
    return 1 - at_most[0];
}

static double classic_bound(const weir__decay *d, unsigned K, unsigned P) {
    pair_event set = throws_at(d->m, K);
    double filled = filled_share(d, set.both + set.one, P / d->m);
    if (K == 1) return filled;
    pair_event draws = pair_of(P / d->m, P / d->m * (P - 1.0) / d->m);
    double pairs = d->drawn ? pair_nonzero(d, set, draws, false) : region_pairs(d, d->m, P, set);
    double excess = excess_of_region(d->m, filled, pairs);
    return pow(filled, K) * pow(excess, 0.5 * K * (K - 1.0));
}

/* What n things do that are dealt to the eight words of a line one by one, from
 * a random word on: each word gets n/8, and n%8 words in a row one more. The
 * chance that a certain cell of each of two words a distance apart is met, where
 * `few` and `many` are the chances within a word that gets n/8 or one more. */
static double both_met(unsigned n, unsigned distance, double few, double many) {
    double more = n % LINE_WORDS, far = distance;
    double two = (fmax(0, more - far) + fmax(0, more - (LINE_WORDS - far))) / LINE_WORDS;
    double one = more / LINE_WORDS - two;
    return two * many * many + 2 * one * few * many + (1 - two - 2 * one) * few * few;
}

/* How many pairs of a key's cells stand in words this far apart, of the two
 * ways around the line one. */
static double pairs_at(unsigned K, unsigned distance) {
    unsigned each = K / LINE_WORDS, more = K % LINE_WORDS;
    double pairs = 0;
    for (unsigned w = 0; w < LINE_WORDS; w++)
        pairs += 0.5 * (each + (w < more)) * (each + ((w + distance) % LINE_WORDS < more));
    return pairs;
}

/* Two of a key's cells in one word meet as in a small array; two in different
 * words are tied by the keys that set both, and by the runs' dealing. */
static double block_bound(const weir__decay *d, unsigned K, unsigned P) {
    unsigned each = K / LINE_WORDS, more = K % LINE_WORDS, run = P / LINE_WORDS;
    double word = d->m / LINE_WORDS, p = P / d->m;
    pair_event many = throws_at(word, each + 1), few = throws_at(word, each);
    pair_event set = mixture((double)more / LINE_WORDS, many, few);
    double k = set.both + set.one, filled = filled_share(d, k, p), rate = pow(filled, K);
    for (unsigned far = 1; far < LINE_WORDS; far++) {
        double sets = both_met(K, far, few.both + few.one, many.both + many.one);
        double decrements = both_met(P, far, run / word, (run + 1) / word);
        double apart = pair_nonzero(d, pair_of(k, sets), pair_of(p, decrements), false);
        rate *= pow(apart / (filled * filled), pairs_at(K, far));
    }
    double pairs_same = 0.5 * each * (more * (each + 1.0) + (LINE_WORDS - more) * (each - 1.0));
    if (pairs_same == 0) return rate;
    double same = region_pairs(d, word, P / (double)LINE_WORDS, set);
    return rate * pow(excess_of_region(word, filled, same), pairs_same);
}

double weir__decay_bound(const weir__decay *d, unsigned K, unsigned P) {
    return fmin(1, d->block ? block_bound(d, K, P) : classic_bound(d, K, P));
}

/* The P, in fractions, that makes the printed bound equal to fpr; more than m if
 * there is none. */
static double printed_p(const weir__decay *d, unsigned K, double fpr) {
    double low = 0, high = 2 * d->m;
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (pow(filled_share(d, K / d->m, middle / d->m), K) > fpr) low = middle;
        else high = middle;
    }
    return high;
}

unsigned weir__decay_least_p(const weir__decay *d, unsigned K, double fpr) {
    double most = fmin(d->m, WEIR__P_MOST), printed = printed_p(d, K, fpr);
    if (printed > most) return 0;
    double P = ceil(fmax(1, printed * 0.98 - 1));
    while (P <= most && weir__decay_bound(d, K, (unsigned)P) > fpr) P++;
    return P <= most ? (unsigned)P : 0;
}

/* --- planning ------------------------------------------------------------------------- */

/* The mean chance of a false negative over gaps of every magnitude up to where
 * nothing is remembered. */
static double mean_fnr(const weir__decay_goal *goal, unsigned K, unsigned P) {
    const weir__decay *d = &goal->usual;
    const int magnitudes = 24;
    double k = K / goal->cells, p = P / goal->cells, limit[WEIR__LEVELS], row[WEIR__LEVELS];
    double sum = 0;
    weir__decay_limit(d, k, p, limit);
    for (int i = 0; i < magnitudes; i++) {
        zeros_row(d, k, p, ceil(goal->cells * ldexp(1, -i)), row);
        for (unsigned level = 1; level <= d->max; level++)
            if (goal->weights[level] > 0)
                sum -= goal->weights[level] * expm1(K * log1p(-zero_from(d, limit, p, level, row)));
    }
    return sum / magnitudes;
}

weir__decay_pair weir__decay_plan(const weir__decay_goal *goal) {
    weir__decay_pair best = {0, 0};
    double least = 2;
    for (unsigned K = 1; K <= WEIR__K_MOST; K++) {
        unsigned P = weir__decay_least_p(&goal->bound, K, goal->fpr);
        if (P == 0) continue;
        double fnr = mean_fnr(goal, K, P);
        if (fnr < least) least = fnr, best.K = K, best.P = P;
        if (best.K && K > 2 * best.K + 2) break;
    }
    return best;
}

/* The K with the fewest false negatives among those for which P suffices. */
static unsigned best_k_for_p(const weir__decay_goal *goal, unsigned P) {
    unsigned best = 0;
    double least = 2;
    for (unsigned K = 1; K <= WEIR__K_MOST; K++) {
        if (weir__decay_bound(&goal->bound, K, P) > goal->fpr) continue;
        double fnr = mean_fnr(goal, K, P);
        if (fnr < least) least = fnr, best = K;
    }
    return best;
}

static weir_status no_such_pair(weir_filter *filter, const weir__fading *c, int opt_k, int opt_p,
                                const weir__decay_goal *goal, weir_error *err) {
    char rate[32], can[32];
    const weir__decay *d = &goal->bound;
    if (c->K && c->P) {
        unsigned enough = weir__decay_least_p(d, c->K, goal->fpr);
        char more[32] = "another k";
        if (enough) snprintf(more, sizeof more, "p=%u", enough);
        return weir__opt_fail(filter, opt_p, err,
                              "k=%u, p=%u allow a false positive rate of %s, above fpr=%s; try %s",
                              c->K, c->P, weir_print_rate(can, weir__decay_bound(d, c->K, c->P)),
                              weir_print_rate(rate, goal->fpr), more);
    }
    if (c->P)
        return weir__opt_fail(filter, opt_p, err, "p=%u keeps no k under fpr=%s; raise p", c->P,
                              weir_print_rate(rate, goal->fpr));
    return weir__opt_fail(filter, c->K ? opt_k : WEIR__OPT_FPR, err,
                          "fpr=%s is out of reach with %s of %.0f cells%s%u; try %s",
                          weir_print_rate(rate, goal->fpr), d->block ? "lines" : "an array", d->m,
                          c->K ? " and k=" : " and k up to ", c->K ? c->K : WEIR__K_MOST,
                          d->block ? "layout=classic or a smaller max"
                                   : "another k or more memory");
}

weir_status weir__decay_settle(weir_filter *filter, weir__fading *c, int opt_k, int opt_p,
                               const weir__decay_goal *goal, weir_error *err) {
    const weir__decay *d = &goal->bound;
    c->K = (unsigned)weir__opt_whole(filter, opt_k);
    c->P = (unsigned)weir__opt_whole(filter, opt_p);
    weir__decay_pair pair = {c->K, c->P};
    if (c->P > d->m)
        return weir__opt_fail(filter, opt_p, err, "p=%u is more than the %.0f cells %s", c->P, d->m,
                              d->block ? "of a line" : "there are");
    if (c->K && c->P) {
        double bound = weir__decay_bound(d, c->K, c->P);
        if (weir__fpr_is_open(filter)) weir__imply_fpr(filter, bound);
        else if (bound > goal->fpr * (1 + 1e-9)) pair.P = 0;
    } else if (c->K) {
        pair.P = weir__decay_least_p(d, c->K, goal->fpr);
    } else if (c->P) {
        pair.K = best_k_for_p(goal, c->P);
    } else {
        pair = weir__decay_plan(goal);
    }
    if (!pair.K || !pair.P) return no_such_pair(filter, c, opt_k, opt_p, goal, err);
    c->K = pair.K, c->P = pair.P;
    weir__opt_resolve(filter, opt_k, pair.K);
    weir__opt_resolve(filter, opt_p, pair.P);
    return WEIR_OK;
}
