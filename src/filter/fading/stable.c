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
 * Layout     as in fading.h, which does the work on the cells
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
 *   - Eq. 3.12 leaves out the variance of the share of non-zero cells; P is
 *     planned with it (decay.c).
 *   - The search for K weighs gaps of all magnitudes alike instead of trying
 *     one gap (200), where the rounding of P decides.
 */
#include "filter/fading/stable.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "filter/fading/decay.h"
#include "filter/fading/fading.h"
#include "filter/filter.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_MAX, OPT_K, OPT_P, OPT_DECREMENT };

typedef struct {
    weir_filter base;
    weir__fading c;
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

static weir__decay decay_of(const weir__stable_shape *s) {
    weir__decay d = weir__decay_of(s->block, s->max, 0);
    d.m = s->m;
    return d;
}

double weir__stable_bound(const weir__stable_shape *s, unsigned K, unsigned P) {
    weir__decay d = decay_of(s);
    return weir__decay_bound(&d, K, P);
}

static weir__decay_goal goal_of(const weir__stable_shape *s, double cells, double fpr) {
    weir__decay_goal goal = {
        .bound = decay_of(s), .usual = decay_of(s), .cells = cells, .fpr = fpr};
    assert(s->max < WEIR__LEVELS);
    goal.weights[s->max] = 1;
    return goal;
}

weir__stable_pair weir__stable_plan(const weir__stable_shape *s, double cells, double fpr) {
    weir__decay_goal goal = goal_of(s, cells, fpr);
    weir__decay_pair pair = weir__decay_plan(&goal);
    return (weir__stable_pair){pair.K, pair.P};
}

weir__stable_shape weir__stable_shape_of(bool block, unsigned max, uint64_t bytes) {
    uint64_t words = block ? WEIR__LINE_WORDS : bytes / 8, per_word = 64 / weir__fading_width(max);
    weir__stable_shape s = {block, max, (double)(words * per_word)};
    return s;
}

/* --- creation ---------------------------------------------------------------- */

static weir_status create(weir_filter *filter, weir_error *err) {
    stable_filter *f = (stable_filter *)filter;
    weir_status status = weir__fading_settle_layout(filter, OPT_LAYOUT, OPT_DECREMENT, err);
    if (status != WEIR_OK) return status;
    bool block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    f->c.drawn = weir__opt_whole(filter, OPT_DECREMENT) == 1;
    unsigned width = (unsigned)weir__opt_whole(filter, OPT_MAX) + 1;
    uint64_t bytes =
        weir__fading_shape(&f->c, block, width, weir__opt_whole(filter, WEIR__OPT_MEMORY));
    weir__stable_shape s = weir__stable_shape_of(block, f->c.max, bytes);
    weir__decay_goal goal = goal_of(&s, (double)f->c.cells, weir__opt_rate(filter, WEIR__OPT_FPR));
    goal.bound.drawn = goal.usual.drawn = f->c.drawn;
    status = weir__decay_settle(filter, &f->c, OPT_K, OPT_P, &goal, err);
    if (status == WEIR_OK) status = weir__filter_map(filter, bytes, err);
    if (status == WEIR_OK) weir__fading_begin(&f->c, filter->cells);
    return status;
}

static void start(weir_filter *filter) {
    stable_filter *f = (stable_filter *)filter;
    f->state.rng = weir__mix64(weir__opt_whole(filter, WEIR__OPT_SEED) ^ UINT64_C(0x737461626c65));
}

/* --- the table ------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    stable_filter *f = (stable_filter *)filter;
    return weir__fading_offer(&f->c, &f->state.rng, batch, NULL, verdicts);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return weir__fading_test(&((const stable_filter *)filter)->c, batch, verdicts);
}

/* Keys that may be lost by now: one of its K cells was decremented max times since. A cell
 * is chosen offered * P / cells times since the first key, by chance. */
static double lost_keys(const stable_filter *f, double offered) {
    double chosen = offered * f->c.P / (double)f->c.cells, lost = offered * f->c.K;
    for (unsigned v = 1; v <= f->c.max; v++) lost *= chosen / (v + 1);
    return lost;
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const stable_filter *f = (const stable_filter *)filter;
    weir__fading_look(&f->c, &info->fill, &info->fpr_now);
    info->overfull = lost_keys(f, (double)info->offered) >= 1;
}

static double gap_half_forgotten(const stable_filter *f, double cells) {
    double low = 0, high = cells;
    if (weir__stable_fnr(cells, f->c.K, f->c.P, f->c.max, 64 * cells, 0) < 0.5) return INFINITY;
    while (weir__stable_fnr(cells, f->c.K, f->c.P, f->c.max, ceil(high), 0) < 0.5)
        low = high, high *= 2;
    while (high - low > 1) {
        double middle = 0.5 * (low + high);
        if (weir__stable_fnr(cells, f->c.K, f->c.P, f->c.max, ceil(middle), 0) < 0.5) low = middle;
        else high = middle;
    }
    return floor(high);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const stable_filter *f = (const stable_filter *)filter;
    double cells = (double)f->c.cells;
    weir__stable_shape s = weir__stable_shape_of(f->c.block, f->c.max, f->c.words * 8);
    weir__detail(each, context, "cells", "counters", "%.0f", cells);
    weir__detail(each, context, "bits_per_cell", "width of a counter", "%u", f->c.width);
    weir__detail(each, context, "k", "cells probed and set per key", "%u", f->c.K);
    weir__detail(each, context, "p", "cells decremented per key", "%u", f->c.P);
    weir__detail(each, context, "zeros_stable", "share of zero cells that it tends to (theorem 3)",
                 "%.4f", weir__stable_zeros(s.m, f->c.K, f->c.P, f->c.max));
    weir__detail(each, context, "fpr_stable", "false positive rate there, for this layout", "%.3g",
                 weir__stable_bound(&s, f->c.K, f->c.P));
    weir__detail(each, context, "keys_to_stable",
                 "keys until the zeros are within 1% of that share", "%.0f",
                 weir__stable_converged(cells, f->c.K, f->c.P, f->c.max, 0.01));
    weir__detail(each, context, "gap_half_forgotten",
                 "keys between two occurrences at which half of the repeats pass as new", "%.0f",
                 gap_half_forgotten(f, cells));
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    return weir__fading_check(&((const stable_filter *)filter)->c, "stable", err);
}

/* Equation 3.20 over a gap distribution: the mean chance of a false negative. */
static double fnr_of_gaps(double cells, weir__stable_pair pair, unsigned max,
                          const weir_stream_model *model) {
    double sum = 0;
    for (size_t i = 0; i < model->gap_count; i++)
        sum += model->gaps[i].share *
               weir__stable_fnr(cells, pair.K, pair.P, max, fmax(1, model->gaps[i].gap), 0);
    return sum;
}

static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const stable_filter *f = (const stable_filter *)filter;
    weir__stable_shape s = weir__stable_shape_of(f->c.block, f->c.max, f->c.words * 8);
    weir__stable_pair pair = {f->c.K, f->c.P};
    expectation->fpr = weir__stable_bound(&s, f->c.K, f->c.P);
    expectation->fnr = fnr_of_gaps((double)f->c.cells, pair, f->c.max, model);
}

unsigned weir__stable_best_max(bool block, uint64_t bytes, double fpr,
                               const weir_stream_model *model) {
    unsigned best = 1;
    double least = 2;
    for (unsigned max = 1; max <= 7; max = 2 * max + 1) {
        weir__stable_shape s = weir__stable_shape_of(block, max, bytes);
        uint64_t cells = bytes / 8 * (64 / weir__fading_width(max));
        weir__stable_pair pair = weir__stable_plan(&s, (double)cells, fpr);
        if (!pair.K) continue;
        double fnr = fnr_of_gaps((double)cells, pair, max, model);
        if (fnr < least) least = fnr, best = max;
    }
    return best;
}

static void tune(const weir_stream_model *model, uint64_t memory, double fpr, char *options,
                 size_t size) {
    unsigned max = weir__stable_best_max(true, memory, fpr, model);
    if (max != 1) snprintf(options, size, "max=%u", max);
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "cells anywhere, as in the thesis, or all of a key in one cache line: faster"},
    {"max", WEIR_OPT_CHOICE, 0, 0, "1|3|7|15", "1",
     "what a cell is set to; larger ones suit short gaps and take 2, 3 or 4 bits a cell"},
    {"k", WEIR_OPT_COUNT, 1, WEIR__K_MOST, NULL, NULL,
     "cells probed and set per key; derived from fpr"},
    {"p", WEIR_OPT_COUNT, 1, WEIR__P_MOST, NULL, NULL,
     "cells decremented per key; derived from fpr and k"},
    {"decrement", WEIR_OPT_CHOICE, 0, 0, "run|random", "run",
     "the p cells: beside each other from a random one on, or drawn one by one (layout=classic)"},
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
    WEIR__FILTER_FUNCTIONS(stable_filter),
    .details = details,
    .no_merge = "the union would be fuller than the bound on false positives allows",
    .check = check,
    .expect = expect,
    .tune = tune,
};
