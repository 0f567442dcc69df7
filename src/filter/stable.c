/* stable.c - stable Bloom filter (SBF), classic and blocked.
 *
 * Question   has this key come by, lately?
 * Idea       a Bloom filter of small counters that makes room as it goes: each
 *            key is SEEN if its K cells are all non-zero; then P cells are
 *            decremented and the K cells are set to Max. The share of zeros
 *            falls to a stable point and stays there, so the false positive
 *            rate is bounded for ever.
 * Parameters m cells of d bits, Max = 2^d - 1. P is the least that keeps the
 *            bound (eq. 3.21); K gives the fewest false negatives (the search
 *            of 3.4.1); Max = 1 serves most streams, larger ones suit short
 *            gaps between repeats.
 * Error      false positives: bounded by fpr at all times. False negatives: a
 *            key may be forgotten from the first key after it on; the more came
 *            between, the likelier.
 * Cost       K + 1 random lines per key (classic) or one (block).
 * Layout     64-bit words of 64/d cells each, cell 0 in the low bits: 64, 32, 21
 *            or 16 cells a word. With d = 3 the top bit of a word is unused and
 *            zero; it is counted as memory.
 *              classic  the K cells lie anywhere; the run of P cells starts at a
 *                       random cell and goes around the end of the array
 *              block    the high bits of the hash choose a line of 8 words, what
 *                       is left of it a first word and K cells, one in each word
 *                       from there on, around and around; of the P cells each
 *                       word takes its share as a run from a random cell, around
 *                       its own end
 * Source     thesis chapter 3. Where we differ or had to choose a reading:
 *   - P is rounded up. The thesis rounds to K=2, P=4 for 10%, which allows
 *     11.1%, and P=10 for 1% at K=3, which allows 1.2%.
 *   - A gap (3.3.6) is the number of keys between two occurrences, so eq. 3.13
 *     spans `gap` rounds of decrementing and setting; the text also writes the
 *     predecessor as x_(i-gap), which would make it one less.
 *   - Eq. 3.13 and eq. 3.1 have closed forms. With s = k + p - kp and z the
 *     stable point of one cell,
 *         forgotten(gap) = z Pr[Bin(gap, s) >= Max]
 *         zeros(n)       = z Pr[Bin(n, s) >= Max] + (1-k)^n Pr[Bin(n, p) < Max]
 *     (sum 3.13 by the round of the Max-th decrement: a negative binomial
 *     thinned by "not set since"). The tests compare them with the sums.
 *   - Eq. 3.12 raises the mean share of non-zero cells to the power K. That
 *     share varies, and the mean of a power is more than the power of the mean:
 *     by next to nothing in a large array, by 3% in one of 1 KiB, by 11% in a
 *     line at fpr = 0.0001%. weir__stable_bound() puts in the variance, from the
 *     exact chain of two cells, and P is planned by it.
 *   - In a line, one run of P neighbours would nearly triple that variance (the
 *     cells of a run empty together); a run in each word costs little more.
 *   - The search for K weighs gaps of all magnitudes alike instead of trying
 *     one gap (200), where the rounding of P decides.
 */
#include "filter/stable.h"

#include <math.h>
#include <stdio.h>

#include "core/cells.h"
#include "filter/filter.h"
#include "filter/probe.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_MAX, OPT_K, OPT_P };
enum { K_MOST = 32, CHUNK = 64, PLACES = 512, AHEAD = 16, LINE_WORDS = WEIR__LINE / 8 };
#define P_MOST 1000000

/* The low bit of every cell of a word, by the width of a cell. */
#define LOWS_1 (~UINT64_C(0))
#define LOWS_2 UINT64_C(0x5555555555555555)
#define LOWS_3 UINT64_C(0x1249249249249249)
#define LOWS_4 UINT64_C(0x1111111111111111)

typedef struct {
    weir_filter base;
    uint64_t words, lines, cells;
    unsigned K, P, max;
    unsigned width;    /* d: bits of a cell */
    unsigned per_word; /* cells of a word */
    uint64_t lows;     /* the low bit of every cell of a word */
    /* block: the low bits of the run in each word, P/8 cells or one more; eight
     * beginnings, so that the words with one more can start anywhere */
    uint64_t runs[2 * LINE_WORDS];
    bool block;
    struct {
        uint64_t rng;
    } state;
} stable_filter;

/* --- formulas ---------------------------------------------------------------- */

/* The stable point of a cell that a key sets with probability k and decrements
 * with probability p (theorem 2). */
static double cell_zero(double k, double p, unsigned max) {
    return pow(1 / (1 + 1 / (p * (1 / k - 1))), max);
}

/* Pr[Bin(n, s) < max], for n that may be huge and s that may be tiny. */
static double binomial_below(double n, double s, unsigned max) {
    double sum = 0, log_choose = 0;
    for (unsigned j = 0; j < max && j <= n; j++) {
        sum += exp(log_choose + j * log(s) + (n - j) * log1p(-s));
        log_choose += log((n - j) / (j + 1));
    }
    return sum < 1 ? sum : 1;
}

/* The other side, exact where it is tiny. */
static double binomial_reaches(double n, double s, unsigned max) {
    if (n < max) return 0;
    if (max == 1) return -expm1(n * log1p(-s));
    if (n * s > 0.5) return 1 - binomial_below(n, s, max);
    double log_choose = 0, sum = 0;
    for (unsigned j = 0; j < max + 60 && j <= n; j++) {
        if (j >= max) sum += exp(log_choose + j * log(s) + (n - j) * log1p(-s));
        log_choose += log((n - j) / (j + 1));
    }
    return sum;
}

double weir__stable_zeros(double m, double K, double P, unsigned max) {
    return cell_zero(K / m, P / m, max);
}

double weir__stable_forgotten(double k, double p, unsigned max, double gap) {
    return cell_zero(k, p, max) * binomial_reaches(gap, k + p - k * p, max);
}

double weir__stable_zeros_after(double m, double K, double P, unsigned max, double n) {
    double k = K / m, p = P / m;
    double untouched = exp(n * log1p(-k)) * binomial_below(n, p, max);
    return weir__stable_forgotten(k, p, max, n) + untouched;
}

double weir__stable_converged(double m, double K, double P, unsigned max, double close) {
    double target = weir__stable_zeros(m, K, P, max) + close;
    double low = 0, high = 1;
    while (weir__stable_zeros_after(m, K, P, max, high) > target) low = high, high *= 2;
    while (high - low > 1 && high - low > high * 1e-6) {
        double middle = 0.5 * (low + high);
        if (weir__stable_zeros_after(m, K, P, max, middle) > target) low = middle;
        else high = middle;
    }
    return ceil(high);
}

double weir__stable_fps(double m, double K, double P, unsigned max) {
    return pow(1 - weir__stable_zeros(m, K, P, max), K);
}

double weir__stable_p(double m, double K, unsigned max, double fps) {
    double zeros_of_one = pow(1 - pow(fps, 1 / K), 1.0 / max);
    return 1 / ((1 / zeros_of_one - 1) * (1 / K - 1 / m));
}

double weir__stable_fnr(double m, double K, double P, unsigned max, double gap, double share) {
    double k = share + K / m * (1 - share);
    return -expm1(K * log1p(-weir__stable_forgotten(k, P / m, max, gap)));
}

/* --- the bound for a layout ---------------------------------------------------- */

/* What one key does to a pair of cells: the chances that it decrements, or
 * sets, both of them, exactly the first, or neither. */
typedef struct {
    double both, one, none;
} pair_event;

static pair_event pair_of(double each, double both) {
    pair_event e = {both, each - both, 1 - 2 * each + both};
    return e;
}

/* The chance that two cells are both non-zero at the stable point. Their joint
 * chain only goes down but for jumps to Max, and how often it jumps to (Max, v)
 * follows from the chain of one cell; so the states are solved from the top,
 * one after the other, each from those above it. */
static double pair_nonzero(unsigned max, double k, double p, pair_event set, pair_event dec) {
    double single[17], lowered[17], joint[17][17] = {{0}};
    double ratio = 1 + 1 / (p * (1 / k - 1)); /* of the shares of "at most v" */
    for (unsigned v = 0; v <= max; v++)
        single[v] = pow(ratio, (double)v - max) - (v ? pow(ratio, (double)v - 1 - max) : 0);
    for (unsigned v = 0; v <= max; v++)
        lowered[v] = single[v] * (v ? 1 - p : 1) + (v < max ? p * single[v + 1] : 0);
    double sum = 0;
    for (unsigned u = max; u >= 1; u--) {
        for (unsigned v = max; v >= 1; v--) {
            double in =
                dec.both * joint[u + 1][v + 1] + dec.one * (joint[u + 1][v] + joint[u][v + 1]);
            in *= set.none;
            if (u == max) in += set.one * lowered[v];
            if (v == max) in += set.one * lowered[u];
            if (u == max && v == max) in += set.both;
            joint[u][v] = in / (1 - set.none * dec.none);
            sum += joint[u][v];
        }
    }
    return sum;
}

/* pair_nonzero() averaged over the distances of two cells in a region that has
 * one run of `run` cells decremented, around its end. Beyond the run's length
 * distance makes no difference; within it, at most 64 distances are tried. */
static double region_pairs(unsigned max, double region, double run, double k, pair_event set) {
    double p = run / region, reach = fmin(run, region - run), sum = 0, weight = 0;
    unsigned step = reach >= 128 ? (unsigned)(reach / 64) : 1;
    for (unsigned d = 1; d < reach; d += step) {
        double both = fmax(0, run - d) + fmax(0, run - (region - d));
        double w = fmin(step, reach - d);
        sum += w * pair_nonzero(max, k, p, set, pair_of(p, both / region));
        weight += w;
    }
    double others = (region - 1) / 2 - weight;
    if (others > 0) {
        double both = fmax(0, 2 * run - region) / region;
        sum += others * pair_nonzero(max, k, p, set, pair_of(p, both));
    }
    return sum / ((region - 1) / 2);
}

/* What n throws into a region do to two of its cells. */
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

static double classic_bound(const weir__stable_shape *s, unsigned K, unsigned P) {
    pair_event set = throws_at(s->m, K);
    double k = set.both + set.one, filled = 1 - cell_zero(k, P / s->m, s->max);
    if (K == 1) return filled;
    double excess = excess_of_region(s->m, filled, region_pairs(s->max, s->m, P, k, set));
    return pow(filled, K) * pow(excess, 0.5 * K * (K - 1.0));
}

/* What n things do that are dealt to the eight words of a line one by one, from
 * a random word on: each word gets n/8, and n%8 words in a row one more. The
 * chance that a certain cell of each of two words a distance apart is met, where
 * `few` and `many` are the chances within a word that gets n/8 or one more. */
static double both_met(unsigned n, unsigned distance, double few, double many) {
    double more = n % LINE_WORDS, d = distance;
    double two = (fmax(0, more - d) + fmax(0, more - (LINE_WORDS - d))) / LINE_WORDS;
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
static double block_bound(const weir__stable_shape *s, unsigned K, unsigned P) {
    unsigned each = K / LINE_WORDS, more = K % LINE_WORDS, run = P / LINE_WORDS;
    double word = s->m / LINE_WORDS, p = P / s->m;
    pair_event many = throws_at(word, each + 1), few = throws_at(word, each);
    pair_event set = mixture((double)more / LINE_WORDS, many, few);
    double k = set.both + set.one, filled = 1 - cell_zero(k, p, s->max), rate = pow(filled, K);
    for (unsigned d = 1; d < LINE_WORDS; d++) {
        double sets = both_met(K, d, few.both + few.one, many.both + many.one);
        double decrements = both_met(P, d, run / word, (run + 1) / word);
        double apart = pair_nonzero(s->max, k, p, pair_of(k, sets), pair_of(p, decrements));
        rate *= pow(apart / (filled * filled), pairs_at(K, d));
    }
    double pairs_same = 0.5 * each * (more * (each + 1.0) + (LINE_WORDS - more) * (each - 1.0));
    if (pairs_same == 0) return rate;
    double same = region_pairs(s->max, word, P / (double)LINE_WORDS, k, set);
    return rate * pow(excess_of_region(word, filled, same), pairs_same);
}

double weir__stable_bound(const weir__stable_shape *s, unsigned K, unsigned P) {
    return fmin(1, s->block ? block_bound(s, K, P) : classic_bound(s, K, P));
}

unsigned weir__stable_least_p(const weir__stable_shape *s, unsigned K, double fpr) {
    double most = fmin(s->m, P_MOST);
    double P = ceil(fmax(1, weir__stable_p(s->m, K, s->max, fpr) * 0.98 - 1));
    while (P <= most && weir__stable_bound(s, K, (unsigned)P) > fpr) P++;
    return P <= most ? (unsigned)P : 0;
}

/* The mean chance of a false negative over gaps of every magnitude up to where
 * nothing is remembered. */
static double mean_fnr(double cells, unsigned max, unsigned K, unsigned P) {
    double sum = 0;
    const int magnitudes = 24;
    for (int i = 0; i < magnitudes; i++)
        sum += weir__stable_fnr(cells, K, P, max, ceil(cells * ldexp(1, -i)), 0);
    return sum / magnitudes;
}

weir__stable_pair weir__stable_plan(const weir__stable_shape *s, double cells, double fpr) {
    weir__stable_pair best = {0, 0};
    double least = 2;
    for (unsigned K = 1; K <= K_MOST; K++) {
        if (weir__stable_p(s->m, K, s->max, fpr) > fmin(s->m, P_MOST)) continue;
        unsigned P = weir__stable_least_p(s, K, fpr);
        if (P == 0) continue;
        double fnr = mean_fnr(cells, s->max, K, P);
        if (fnr < least) least = fnr, best.K = K, best.P = P;
        if (best.K && K > 2 * best.K + 2) break;
    }
    return best;
}

static unsigned width_of(unsigned max) { return max == 1 ? 1 : max == 3 ? 2 : max == 7 ? 3 : 4; }

weir__stable_shape weir__stable_shape_of(bool block, unsigned max, uint64_t bytes) {
    uint64_t words = block ? LINE_WORDS : bytes / 8, per_word = 64 / width_of(max);
    weir__stable_shape s = {block, max, (double)(words * per_word)};
    return s;
}

/* --- creation ---------------------------------------------------------------- */

static weir_status no_such_pair(const stable_filter *f, const weir__stable_shape *s,
                                weir_error *err) {
    char rate[32], can[32];
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    if (f->K && f->P)
        return weir__opt_fail(
            &f->base, OPT_P, err,
            "k=%u, p=%u allow a false positive rate of %s, above fpr=%s; try p=%u", f->K, f->P,
            weir_print_rate(can, weir__stable_bound(s, f->K, f->P)), weir_print_rate(rate, fpr),
            weir__stable_least_p(s, f->K, fpr));
    if (f->P)
        return weir__opt_fail(&f->base, OPT_P, err, "p=%u keeps no k under fpr=%s; raise p", f->P,
                              weir_print_rate(rate, fpr));
    return weir__opt_fail(&f->base, f->K ? OPT_K : WEIR__OPT_FPR, err,
                          "fpr=%s is out of reach with %s of %.0f cells%s%u; try %s",
                          weir_print_rate(rate, fpr), s->block ? "lines" : "an array", s->m,
                          f->K ? " and k=" : " and k up to ", f->K ? f->K : K_MOST,
                          s->block ? "layout=classic or a smaller max"
                                   : "another k or more memory");
}

/* The K with the fewest false negatives among those for which P suffices. */
static unsigned best_k_for_p(const weir__stable_shape *s, double cells, unsigned P, double fpr) {
    unsigned best = 0;
    double least = 2;
    for (unsigned K = 1; K <= K_MOST; K++) {
        if (weir__stable_bound(s, K, P) > fpr) continue;
        double fnr = mean_fnr(cells, s->max, K, P);
        if (fnr < least) least = fnr, best = K;
    }
    return best;
}

static weir_status settle_k_and_p(stable_filter *f, weir_error *err) {
    uint64_t bytes = f->words * 8;
    weir__stable_shape s = weir__stable_shape_of(f->block, f->max, bytes);
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    double cells = (double)f->cells;
    f->K = (unsigned)weir__opt_whole(&f->base, OPT_K);
    f->P = (unsigned)weir__opt_whole(&f->base, OPT_P);
    weir__stable_pair pair = {f->K, f->P};
    if (f->P > s.m)
        return weir__opt_fail(&f->base, OPT_P, err, "p=%u is more than the %.0f cells %s", f->P,
                              s.m, f->block ? "of a line" : "there are");
    if (f->K && f->P) {
        if (weir__stable_bound(&s, f->K, f->P) > fpr * (1 + 1e-9)) pair.P = 0;
    } else if (f->K) {
        pair.P = weir__stable_least_p(&s, f->K, fpr);
    } else if (f->P) {
        pair.K = best_k_for_p(&s, cells, f->P, fpr);
    } else {
        pair = weir__stable_plan(&s, cells, fpr);
    }
    if (!pair.K || !pair.P) return no_such_pair(f, &s, err);
    f->K = pair.K, f->P = pair.P;
    weir__opt_resolve(&f->base, OPT_K, pair.K);
    weir__opt_resolve(&f->base, OPT_P, pair.P);
    return WEIR_OK;
}

/* The low bits of the first n cells of a word. */
static uint64_t first_cells(const stable_filter *f, unsigned n) {
    unsigned bits = n * f->width;
    return f->lows & (bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1);
}

static weir_status create(weir_filter *filter, weir_error *err) {
    stable_filter *f = (stable_filter *)filter;
    f->block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    f->width = (unsigned)weir__opt_whole(filter, OPT_MAX) + 1;
    f->max = (1u << f->width) - 1;
    f->per_word = 64 / f->width;
    for (unsigned i = 0; i < f->per_word; i++) f->lows |= UINT64_C(1) << (i * f->width);
    uint64_t unit = f->block ? WEIR__LINE : 8;
    uint64_t bytes = weir__opt_whole(filter, WEIR__OPT_MEMORY) / unit * unit;
    f->words = bytes / 8;
    f->lines = bytes / WEIR__LINE;
    f->cells = f->words * f->per_word;
    weir_status status = settle_k_and_p(f, err);
    if (status) return status;
    for (unsigned w = 0; w < 2 * LINE_WORDS; w++)
        f->runs[w] = first_cells(f, f->P / LINE_WORDS + (w % LINE_WORDS < f->P % LINE_WORDS));
    return weir__filter_map(filter, bytes, err);
}

static void start(weir_filter *filter) {
    stable_filter *f = (stable_filter *)filter;
    f->state.rng = weir__mix64(weir__opt_whole(filter, WEIR__OPT_SEED) ^ UINT64_C(0x737461626c65));
}

/* --- words of cells ------------------------------------------------------------- */

/* The low bit of every cell that is not zero. */
static inline uint64_t nonzero_cells(uint64_t word, unsigned width, uint64_t lows) {
    if (width == 1) return word;
    uint64_t any = word | word >> 1;
    if (width > 2) any |= word >> 2;
    if (width > 3) any |= word >> 3;
    return any & lows;
}

/* Decrement the cells whose low bits are in `which`, but none below zero. */
static inline uint64_t decrement(uint64_t word, uint64_t which, unsigned width, uint64_t lows) {
    return word - (nonzero_cells(word, width, lows) & which);
}

/* --- classic ---------------------------------------------------------------------- */

/* A cell by its lowest bit, counted from the start of the array. */
static inline uint64_t place_of(const stable_filter *f, uint64_t random) {
    uint64_t cell = weir__scale(random, f->cells);
    return f->width == 3 ? cell / 21 * 64 + cell % 21 * 3 : cell * f->width;
}

static inline uint64_t *words_of(const stable_filter *f) { return (void *)f->base.cells; }

static size_t chunk_of(unsigned places_per_key) {
    size_t keys = PLACES / places_per_key;
    return keys < CHUNK ? keys : CHUNK;
}

/* Decrement a run of P cells from a random one, around the end of the array. */
static void decrement_run(stable_filter *f, uint64_t from) {
    uint64_t *words = words_of(f), at = from / 64;
    unsigned skip = from % 64, left = f->P * f->width, used = f->per_word * f->width;
    while (left) {
        unsigned here = used - skip < left ? used - skip : left;
        uint64_t which = f->lows << skip;
        if (skip + here < 64) which &= (UINT64_C(1) << (skip + here)) - 1;
        words[at] = decrement(words[at], which, f->width, f->lows);
        left -= here;
        skip = 0;
        if (++at == f->words) at = 0;
    }
}

static bool classic_has(const stable_filter *f, const uint64_t *places) {
    const uint64_t *words = words_of(f);
    bool all = true;
    for (unsigned j = 0; j < f->K; j++)
        all &= (words[places[j] / 64] >> (places[j] % 64) & f->max) != 0;
    return all;
}

static void classic_set(stable_filter *f, const uint64_t *places) {
    uint64_t *words = words_of(f);
    for (unsigned j = 0; j < f->K; j++)
        words[places[j] / 64] |= (uint64_t)f->max << (places[j] % 64);
}

/* The K cells of each key and the start of its run. The generator is drawn
 * from once per key whatever the verdict, so drawing ahead changes nothing. */
static void classic_places(stable_filter *f, const uint64_t *hashes, size_t n, uint64_t *places) {
    const uint64_t *words = words_of(f);
    for (size_t i = 0; i < n; i++) {
        weir__probes probes = weir__probes_start(hashes[i]);
        for (unsigned j = 0; j < f->K; j++) {
            *places = place_of(f, weir__probes_next(&probes));
            __builtin_prefetch(&words[*places++ / 64], 1);
        }
        *places = place_of(f, weir__rng_next(&f->state.rng));
        __builtin_prefetch(&words[*places++ / 64], 1);
    }
}

static size_t classic_offer(stable_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = chunk_of(f->K + 1);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        classic_places(f, batch->hashes + at, n, places);
        for (size_t i = 0; i < n; i++) {
            const uint64_t *key = places + i * (f->K + 1);
            bool is_seen = classic_has(f, key);
            decrement_run(f, key[f->K]);
            classic_set(f, key);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

static size_t classic_test(const stable_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = chunk_of(f->K);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) {
            weir__probes probes = weir__probes_start(batch->hashes[at + i]);
            for (unsigned j = 0; j < f->K; j++) {
                places[i * f->K + j] = place_of(f, weir__probes_next(&probes));
                __builtin_prefetch(&words_of(f)[places[i * f->K + j] / 64], 0);
            }
        }
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_has(f, places + i * f->K);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* --- block ---------------------------------------------------------------------- */

typedef struct {
    uint64_t *line;
    uint64_t rest; /* of the hash: gives the cells */
} line_of_key;

static inline line_of_key find_line(const stable_filter *f, uint64_t hash) {
    uint64_t(*lines)[LINE_WORDS] = (void *)f->base.cells;
    line_of_key key;
    key.line = lines[weir__part(hash, f->lines, &key.rest)];
    return key;
}

/* The key's cells as the eight words of a line, all bits of each cell set. One
 * cell to a word in turn, six bits choosing it; with 21 cells to a word it takes
 * twelve, for six would favour some. Four bits of each mix are left over, and
 * those of the first choose the first word. */
static inline void find_cells(unsigned K, uint64_t rest, uint64_t cells[LINE_WORDS],
                              unsigned width) {
    unsigned piece = width == 3 ? 12 : 6, a_mix = 60 / piece, per_word = 64 / width;
    memset(cells, 0, LINE_WORDS * sizeof *cells);
    uint64_t mix = weir__mix64(rest), max = (1u << width) - 1;
    unsigned word = (unsigned)(mix >> 61);
    for (unsigned left = K;;) {
        unsigned n = left < a_mix ? left : a_mix;
        for (unsigned j = 0; j < n; j++, word++, mix >>= piece) {
            uint64_t cell = width == 3 ? (mix & 0xfff) * per_word >> 12 : mix % per_word;
            cells[word % LINE_WORDS] |= max << (cell * width);
        }
        if ((left -= n) == 0) break;
        rest += UINT64_C(0x9e3779b97f4a7c15);
        mix = weir__mix64(rest);
    }
}

/* Turn a word's cells by some, around its end. */
static inline uint64_t turn(uint64_t word, unsigned bits, unsigned width) {
    if (width != 3) return word << bits | word >> (-bits & 63);
    return (word << bits | word >> (63 - bits)) & INT64_MAX;
}

/* One key in its line, word by word: look, decrement, set. In each word a run
 * of P/8 cells or, in P%8 words from a random one on, of one more, is
 * decremented; sixteen random bits choose where it starts. */
static inline bool line_offer(const stable_filter *f, line_of_key key, uint64_t random,
                              unsigned width, uint64_t lows) {
    uint64_t cells[LINE_WORDS], missing = 0, second = weir__mix64(random);
    const uint64_t *runs = f->runs + ((random ^ second) % LINE_WORDS);
    find_cells(f->K, key.rest, cells, width);
    for (unsigned w = 0; w < LINE_WORDS; w++) {
        unsigned piece = (unsigned)((w < 4 ? random : second) >> (16 * (w % 4))) & 0xffff;
        unsigned from = (piece * (64 / width) >> 16) * width;
        uint64_t word = key.line[w];
        missing |= cells[w] & lows & ~nonzero_cells(word, width, lows);
        key.line[w] = decrement(word, turn(runs[w], from, width), width, lows) | cells[w];
    }
    return missing == 0;
}

static inline bool line_has(const uint64_t *line, const uint64_t cells[LINE_WORDS], unsigned width,
                            uint64_t lows) {
    uint64_t missing = 0;
    for (unsigned w = 0; w < LINE_WORDS; w++)
        missing |= cells[w] & lows & ~nonzero_cells(line[w], width, lows);
    return missing == 0;
}

/* The widths apart, so that the compiler knows them. */
static inline bool offer_one(const stable_filter *f, line_of_key key, uint64_t random) {
    switch (f->width) {
    case 1:
        return line_offer(f, key, random, 1, LOWS_1);
    case 2:
        return line_offer(f, key, random, 2, LOWS_2);
    case 3:
        return line_offer(f, key, random, 3, LOWS_3);
    default:
        return line_offer(f, key, random, 4, LOWS_4);
    }
}

static inline bool line_test(const stable_filter *f, line_of_key key, unsigned width,
                             uint64_t lows) {
    uint64_t cells[LINE_WORDS];
    find_cells(f->K, key.rest, cells, width);
    return line_has(key.line, cells, width, lows);
}

static inline bool test_one(const stable_filter *f, line_of_key key) {
    switch (f->width) {
    case 1:
        return line_test(f, key, 1, LOWS_1);
    case 2:
        return line_test(f, key, 2, LOWS_2);
    case 3:
        return line_test(f, key, 3, LOWS_3);
    default:
        return line_test(f, key, 4, LOWS_4);
    }
}

/* A line is fetched AHEAD keys before it is needed, so that the memory works
 * while cells are computed. ring[i % AHEAD] holds key i in between. */
static size_t block_offer(stable_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            bool is_seen = offer_one(f, ring[i % AHEAD], weir__rng_next(&f->state.rng));
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(f, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 1);
        }
    }
    return seen;
}

static size_t block_test(const stable_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            bool is_seen = test_one(f, ring[i % AHEAD]);
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(f, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 0);
        }
    }
    return seen;
}

/* --- the table ------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    stable_filter *f = (stable_filter *)filter;
    return f->block ? block_offer(f, batch, verdicts) : classic_offer(f, batch, verdicts);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const stable_filter *f = (const stable_filter *)filter;
    return f->block ? block_test(f, batch, verdicts) : classic_test(f, batch, verdicts);
}

/* The chance that a new key finds its K cells of this line non-zero, over the
 * word in which it may begin. */
static double line_rate(const stable_filter *f, const double shares[LINE_WORDS]) {
    double logs[LINE_WORDS], all = 0, sum = 0;
    for (unsigned w = 0; w < LINE_WORDS; w++) {
        if (shares[w] == 0 && f->K >= LINE_WORDS) return 0;
        logs[w] = shares[w] > 0 ? log(shares[w]) : -1000;
        all += logs[w];
    }
    for (unsigned first = 0; first < LINE_WORDS; first++) {
        unsigned each = f->K / LINE_WORDS;
        double chance = each * all;
        for (unsigned j = 0; j < f->K % LINE_WORDS; j++) chance += logs[(first + j) % LINE_WORDS];
        sum += exp(chance);
    }
    return sum / LINE_WORDS;
}

/* Fill and rate from at most 4096 lines, evenly spread: keys fall on lines at
 * random, so these stand for all, to 0.2% of the fill. */
static void info(const weir_filter *filter, weir_filter_info *info) {
    const stable_filter *f = (const stable_filter *)filter;
    uint64_t step = (f->lines + 4095) / 4096, lines = 0;
    double filled = 0, rates = 0;
    for (uint64_t at = 0; at < f->lines; at += step, lines++) {
        double shares[LINE_WORDS];
        for (unsigned w = 0; w < LINE_WORDS; w++) {
            uint64_t word = nonzero_cells(words_of(f)[at * LINE_WORDS + w], f->width, f->lows);
            shares[w] = (double)__builtin_popcountll(word) / f->per_word;
            filled += shares[w];
        }
        if (f->block) rates += line_rate(f, shares);
    }
    info->fill = filled / (double)(lines * LINE_WORDS);
    info->fpr_now = f->block ? rates / (double)lines : pow(info->fill, f->K);
    info->overfull = (double)info->offered * f->P >= (double)f->cells;
}

static double gap_half_forgotten(const stable_filter *f, double cells) {
    double low = 0, high = cells;
    if (weir__stable_fnr(cells, f->K, f->P, f->max, 64 * cells, 0) < 0.5) return INFINITY;
    while (weir__stable_fnr(cells, f->K, f->P, f->max, ceil(high), 0) < 0.5) low = high, high *= 2;
    while (high - low > 1) {
        double middle = 0.5 * (low + high);
        if (weir__stable_fnr(cells, f->K, f->P, f->max, ceil(middle), 0) < 0.5) low = middle;
        else high = middle;
    }
    return floor(high);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const stable_filter *f = (const stable_filter *)filter;
    double cells = (double)f->cells;
    weir__stable_shape s = weir__stable_shape_of(f->block, f->max, f->words * 8);
    weir__detail(each, context, "cells", "counters", "%.0f", cells);
    weir__detail(each, context, "bits_per_cell", "width of a counter", "%u", f->width);
    weir__detail(each, context, "k", "cells probed and set per key", "%u", f->K);
    weir__detail(each, context, "p", "cells decremented per key", "%u", f->P);
    weir__detail(each, context, "zeros_stable", "share of zero cells that it tends to (theorem 3)",
                 "%.4f", weir__stable_zeros(s.m, f->K, f->P, f->max));
    weir__detail(each, context, "fpr_stable", "false positive rate there, for this layout", "%.3g",
                 weir__stable_bound(&s, f->K, f->P));
    weir__detail(each, context, "keys_to_stable",
                 "keys until the zeros are within 1% of that share", "%.0f",
                 weir__stable_converged(cells, f->K, f->P, f->max, 0.01));
    weir__detail(each, context, "gap_half_forgotten",
                 "keys between two occurrences at which half of the repeats pass as new", "%.0f",
                 gap_half_forgotten(f, cells));
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const stable_filter *f = (const stable_filter *)filter;
    if (f->width != 3) return WEIR_OK; /* every other pattern of bits is a state */
    for (uint64_t w = 0; w < f->words; w++)
        if (weir__load_word(filter->cells + w * 8) >> 63)
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "stable: word %llu holds a bit of no cell",
                              (unsigned long long)w);
    return WEIR_OK;
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "cells anywhere, as in the thesis, or all of a key in one cache line: faster"},
    {"max", WEIR_OPT_CHOICE, 0, 0, "1|3|7|15", "1",
     "what a cell is set to; larger ones suit short gaps and take 2, 3 or 4 bits a cell"},
    {"k", WEIR_OPT_COUNT, 1, K_MOST, NULL, NULL, "cells probed and set per key; derived from fpr"},
    {"p", WEIR_OPT_COUNT, 1, P_MOST, NULL, NULL,
     "cells decremented per key; derived from fpr and k"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__stable_class = {
    .kind = {.name = "stable",
             .summary = "stable Bloom filter: forgets at random, false positives bounded for ever",
             .advice = "The method of the thesis (chapter 3), for comparison and for reproducing "
                       "its figures. Its strength is a loose bound (10%) with very little memory; "
                       "under tight bounds it forgets far sooner than recent.",
             .mergeable = false,
             .options = options},
    .size = sizeof(stable_filter),
    .state_offset = offsetof(stable_filter, state),
    .state_words = 1,
    .create = create,
    .start = start,
    .offer = offer,
    .test = test,
    .info = info,
    .details = details,
    .no_merge = "the union would be fuller than the bound on false positives allows",
    .check = check,
};
