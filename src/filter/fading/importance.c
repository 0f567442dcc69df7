/* importance.c - importance-aware Bloom filter (IBF): 2C, MC and H.
 *
 * Question   has this key come by, and is it one that matters?
 * Idea       a stable Bloom filter whose keys differ: a key raises its K cells to
 *            a level that follows from its importance, and never lowers one. What
 *            matters more stands higher, and takes longer to be decremented to
 *            nothing.
 *              2c  two levels: M/2 and M
 *              mc  M levels: 1 to M
 *              h   as mc, and a cell of value v that is chosen to be decremented
 *                  is spared but once in v times
 * Parameters m cells of d bits, M = 2^d - 1 (3, 7 or 15). P is the least that
 *            keeps the bound, K gives the fewest false negatives, weighted by
 *            level, over gaps of every magnitude.
 * Importance a number that comes with each record. Cuts divide the numbers into
 *            classes: of equal width (linear) or ratio (log) between low and high,
 *            or of equal size (quantile): the cuts are then those of a sample of
 *            256 of about the last 65,536 numbers, kept in the filter's state.
 *            On a cut, or on several that coincide, a number goes to the middle.
 *            Keys without importance have the highest level, so that without
 *            any this is the stable filter.
 * Error      false positives: bounded by fpr at all times; with mix=even only if no
 *            class is more frequent than the ones below it. False negatives: as
 *            stable, fewer the higher the level.
 * Cost       K + 1 random lines per key (classic) or one (block).
 * Layout     as in fading.h, which does the work on the cells; the chain of a cell
 *            and the planning are in decay.c
 * Source     Kulkarni, Boraskar, Gabale, Kulkarni: Importance-aware Bloom filter.
 *            Where we differ or had to choose a reading:
 *   - Algorithm 1 as printed sets every cell to M, since the branch for unimportant
 *     keys falls through to it. We read: else. M/2 is rounded up.
 *   - Figures 2 and 4 take p' = p(1-k) in every state. A cell that is decremented
 *     stays so unless the key raises it above where it was going, so in state v
 *     it is p(1 - k Pr[level >= v]); the figures are the limit for many cells.
 *     The exact chain has the product form of decay.h. Figure 2 gives V(M/2)
 *     twice, differently; figure 4 forgets to add up A, and writes K, P for k, p.
 *     Corrected so far they agree with ours as m grows (tested).
 *   - Theorems III.3 and III.7: the fraction of zeros is V0, not m V0, and p = P/m,
 *     k = K/m, not over M.
 *   - The bound must hold for any stream, so it is planned for the worst mix, all
 *     keys of the highest level (mix=any). The paper assumes all classes alike
 *     (mix=even), which lets P be about half.
 *   - P cells beside each other from a random one on, as the thesis does, where
 *     the paper draws P cells; decrement=random draws them.
 *   - H: the paper chooses P non-zero cells with probability inverse to their value.
 *     We choose P cells as ever and decrement those of value v with chance 1/v,
 *     which is the same with a P that is smaller by the mean of 1/v over all cells
 *     (zero ones counting nothing), costs no search for cells, and keeps the chain.
 *     The chance is a multiple of 1/1024. decrement=random goes on drawing until P
 *     cells were decremented, to the letter; the bound is that of P cells chosen,
 *     which are fewer decrements, so it holds.
 */
#include "filter/fading/importance.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "filter/filter.h"

enum {
    OPT_LAYOUT = WEIR__OPT_OWN,
    OPT_MODE,
    OPT_MAX,
    OPT_K,
    OPT_P,
    OPT_DECREMENT,
    OPT_SCALE,
    OPT_LOW,
    OPT_HIGH,
    OPT_MIX
};
enum { SCALE_LINEAR, SCALE_LOG, SCALE_QUANTILE };
enum {
    SAMPLE = 256,    /* importances kept, to cut classes of equal share by */
    SAMPLED = 65536, /* records that the sample stands for: older ones fade out of it */
    CHUNK = 256      /* keys whose levels are found at a time */
};

typedef struct {
    weir_filter base;
    weir__fading c;
    weir__importance_mode mode;
    unsigned scale;
    struct {
        uint64_t rng, sample_rng;
        uint64_t rated;                /* keys that came with an importance */
        uint64_t unusable, outside;    /* of these: not a number; below low or above high */
        uint64_t levels[WEIR__LEVELS]; /* keys by level */
        uint64_t sampled;              /* numbers in the sample */
        double sample[SAMPLE];         /* in order */
    } state;
} importance_filter;

/* --- formulas ---------------------------------------------------------------------- */

unsigned weir__importance_classes(weir__importance_mode mode, unsigned max) {
    return mode == WEIR__MODE_2C ? 2 : max;
}

unsigned weir__importance_level(weir__importance_mode mode, unsigned max, unsigned grade) {
    if (mode != WEIR__MODE_2C) return grade;
    return grade == 1 ? (max + 1) / 2 : max;
}

weir__decay weir__importance_decay(weir__importance_mode mode, bool block, unsigned max,
                                   uint64_t bytes, const double shares[WEIR__LEVELS]) {
    weir__decay d = weir__decay_of(block, max, bytes);
    double above = 0;
    assert(max < WEIR__LEVELS);
    for (unsigned v = max; shares && v-- > 0;) d.above[v] = above += shares[v + 1];
    for (unsigned v = 1; v <= max && mode == WEIR__MODE_H; v++)
        d.spared[v] = weir__fading_spared(v);
    return d;
}

void weir__importance_even(weir__importance_mode mode, unsigned max, double shares[WEIR__LEVELS]) {
    unsigned classes = weir__importance_classes(mode, max);
    assert(classes > 0 && max < WEIR__LEVELS);
    for (unsigned v = 0; v < WEIR__LEVELS; v++) shares[v] = 0;
    for (unsigned grade = 1; grade <= classes; grade++)
        shares[weir__importance_level(mode, max, grade)] = 1.0 / classes;
}

void weir__importance_limit(const weir__decay *d, double K, double P, double shares[WEIR__LEVELS]) {
    weir__decay_limit(d, K / d->m, P / d->m, shares);
    for (unsigned v = d->max; v > 0; v--) shares[v] -= shares[v - 1];
}

/* --- creation ------------------------------------------------------------------------ */

static weir__decay_goal goal_of(const importance_filter *f) {
    const weir__fading *c = &f->c;
    bool even = weir__opt_whole(&f->base, OPT_MIX) == 1;
    uint64_t bytes = c->words * 8;
    double shares[WEIR__LEVELS], sum = 0;
    weir__decay_goal goal = {.cells = (double)c->cells,
                             .fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR)};
    weir__importance_even(f->mode, c->max, shares);
    goal.usual = weir__importance_decay(f->mode, c->block, c->max, bytes, shares);
    goal.bound = weir__importance_decay(f->mode, c->block, c->max, bytes, even ? shares : NULL);
    goal.usual.drawn = goal.bound.drawn = c->drawn;
    for (unsigned v = 1; v <= c->max; v++) sum += v * shares[v];
    for (unsigned v = 1; v <= c->max; v++) goal.weights[v] = v * shares[v] / sum;
    return goal;
}

/* The cells, their K and P, for one width of a cell. */
static weir_status settle_width(importance_filter *f, unsigned width, weir_error *err) {
    weir_filter *filter = &f->base;
    f->c.drawn = weir__opt_whole(filter, OPT_DECREMENT) == 1;
    weir__fading_shape(&f->c, weir__opt_whole(filter, OPT_LAYOUT) == 1, width,
                       weir__opt_whole(filter, WEIR__OPT_MEMORY));
    weir__decay_goal goal = goal_of(f);
    return weir__decay_settle(filter, &f->c, OPT_K, OPT_P, &goal, err);
}

/* Seven levels unless the bound is then out of reach, as a tight one is in lines. */
static weir_status resolve_max(importance_filter *f, weir_error *err) {
    if (weir__opt_given(&f->base, OPT_MAX))
        return settle_width(f, (unsigned)weir__opt_whole(&f->base, OPT_MAX) + 2, err);
    unsigned width = 3;
    weir_status status = settle_width(f, width, err);
    if (status != WEIR_OK) status = settle_width(f, --width, err);
    if (status == WEIR_OK) weir__opt_resolve(&f->base, OPT_MAX, width - 2);
    return status;
}

static weir_status check_range(importance_filter *f, weir_error *err) {
    weir_filter *filter = &f->base;
    bool range = f->scale != SCALE_QUANTILE;
    if (!range && (weir__opt_given(filter, OPT_LOW) || weir__opt_given(filter, OPT_HIGH)))
        return weir__opt_fail(filter, weir__opt_given(filter, OPT_LOW) ? OPT_LOW : OPT_HIGH, err,
                              "low and high go with scale=linear and scale=log");
    if (!range) return WEIR_OK;
    if (!weir__opt_given(filter, OPT_HIGH))
        return weir__opt_fail(filter, OPT_SCALE, err,
                              "scale=%s needs high=N, the importance from which on all are alike; "
                              "or try scale=quantile",
                              f->scale == SCALE_LOG ? "log" : "linear");
    if (!weir__opt_given(filter, OPT_LOW))
        weir__opt_resolve(filter, OPT_LOW, f->scale == SCALE_LOG ? 1 : 0);
    uint64_t low = weir__opt_whole(filter, OPT_LOW), high = weir__opt_whole(filter, OPT_HIGH);
    if (low >= high)
        return weir__opt_fail(filter, OPT_HIGH, err, "low=%llu is not below high=%llu",
                              (unsigned long long)low, (unsigned long long)high);
    if (f->scale == SCALE_LOG && low == 0)
        return weir__opt_fail(filter, OPT_LOW, err, "scale=log needs a low of 1 or more");
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    importance_filter *f = (importance_filter *)filter;
    f->mode = (weir__importance_mode)weir__opt_whole(filter, OPT_MODE);
    f->scale = (unsigned)weir__opt_whole(filter, OPT_SCALE);
    weir_status status = check_range(f, err);
    if (status == WEIR_OK)
        status = weir__fading_settle_layout(filter, OPT_LAYOUT, OPT_DECREMENT, err);
    if (status == WEIR_OK) status = resolve_max(f, err);
    if (status == WEIR_OK) status = weir__filter_map(filter, f->c.words * 8, err);
    f->c.sparing = f->mode == WEIR__MODE_H;
    if (status == WEIR_OK) weir__fading_begin(&f->c, filter->cells);
    return status;
}

static void start(weir_filter *filter) {
    importance_filter *f = (importance_filter *)filter;
    uint64_t seed = weir__opt_whole(filter, WEIR__OPT_SEED);
    f->state.rng = weir__mix64(seed ^ UINT64_C(0x696d706f7274));
    f->state.sample_rng = weir__mix64(seed ^ UINT64_C(0x73616d706c65));
}

/* --- from importance to level ----------------------------------------------------------- */

/* Class c of n begins at cuts[c - 2]. */
typedef struct {
    unsigned count; /* one less than the classes */
    double cuts[WEIR__LEVELS];
    uint8_t levels[WEIR__LEVELS]; /* by class less one */
} scale;

static void cut_sample(const importance_filter *f, scale *s) {
    for (unsigned i = 0; i < s->count && f->state.sampled; i++)
        s->cuts[i] = f->state.sample[(i + 1) * f->state.sampled / (s->count + 1)];
}

static scale scale_of(const importance_filter *f) {
    scale s = {.count = weir__importance_classes(f->mode, f->c.max) - 1};
    double low = (double)weir__opt_whole(&f->base, OPT_LOW);
    double high = (double)weir__opt_whole(&f->base, OPT_HIGH);
    for (unsigned i = 0; i <= s.count; i++) {
        double part = (i + 1.0) / (s.count + 1);
        if (f->scale == SCALE_LINEAR) s.cuts[i] = low + part * (high - low);
        if (f->scale == SCALE_LOG) s.cuts[i] = low * pow(high / low, part);
        s.levels[i] = (uint8_t)weir__importance_level(f->mode, f->c.max, i + 1);
    }
    if (f->scale == SCALE_QUANTILE) cut_sample(f, &s);
    return s;
}

/* Between the classes that a number on several equal cuts could be in, the
 * middle one, rounded up. */
static inline unsigned level_of(const scale *s, double x) {
    assert(s->count < WEIR__LEVELS);
    unsigned below = 0, not_above = 0;
    for (unsigned i = 0; i < s->count; i++) {
        below += s->cuts[i] < x;
        not_above += s->cuts[i] <= x;
    }
    return s->levels[(below + not_above + 1) / 2];
}

/* Take a number into the sample, in the place of one chosen at random. */
static void replace_in_sample(importance_filter *f, double x, uint64_t out) {
    assert(out < f->state.sampled && f->state.sampled <= SAMPLE);
    double *sample = f->state.sample;
    uint64_t at = out;
    while (at + 1 < f->state.sampled && sample[at + 1] < x) sample[at] = sample[at + 1], at++;
    while (at > 0 && sample[at - 1] > x) sample[at] = sample[at - 1], at--;
    sample[at] = x;
}

/* Every number stands the same chance to be in the sample, until SAMPLED have
 * come; from there on older ones fade. */
static void learn(importance_filter *f, double x, scale *s) {
    uint64_t out = f->state.sampled;
    if (out < SAMPLE) {
        f->state.sampled++;
    } else {
        uint64_t span = f->state.rated < SAMPLED ? f->state.rated : SAMPLED;
        out = weir__rng_below(&f->state.sample_rng, span);
        if (out >= SAMPLE) return;
    }
    replace_in_sample(f, x, out);
    cut_sample(f, s);
}

static unsigned rate(importance_filter *f, double x, scale *s) {
    f->state.rated++;
    if (isnan(x)) {
        f->state.unusable++;
        return s->levels[0];
    }
    if (f->scale != SCALE_QUANTILE) {
        f->state.outside += x < (double)weir__opt_whole(&f->base, OPT_LOW) ||
                            x > (double)weir__opt_whole(&f->base, OPT_HIGH);
    } else if (isfinite(x)) {
        learn(f, x, s);
    }
    return level_of(s, x);
}

/* --- the table ---------------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    importance_filter *f = (importance_filter *)filter;
    if (!batch->importances) {
        f->state.levels[f->c.max] += batch->count;
        return weir__fading_offer(&f->c, &f->state.rng, batch, NULL, verdicts);
    }
    scale s = scale_of(f);
    size_t seen = 0;
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        uint8_t levels[CHUNK];
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        for (size_t i = 0; i < n; i++) {
            levels[i] = (uint8_t)rate(f, batch->importances[at + i], &s);
            assert(levels[i] <= f->c.max);
            f->state.levels[levels[i]]++;
        }
        weir_batch part = {.count = n, .hashes = batch->hashes + at};
        seen += weir__fading_offer(&f->c, &f->state.rng, &part, levels, verdicts + at / 64);
    }
    return seen;
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return weir__fading_test(&((const importance_filter *)filter)->c, batch, verdicts);
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const importance_filter *f = (const importance_filter *)filter;
    weir__fading_look(&f->c, &info->fill, &info->fpr_now);
    info->overfull = (double)info->offered * f->c.P >= (double)f->c.cells;
}

/* The chain for the levels that have come so far; before any, for classes alike. */
static weir__decay decay_so_far(const importance_filter *f) {
    double shares[WEIR__LEVELS], keys = 0;
    weir__importance_even(f->mode, f->c.max, shares);
    for (unsigned v = 0; v < WEIR__LEVELS; v++) keys += (double)f->state.levels[v];
    for (unsigned v = 0; v < WEIR__LEVELS && keys > 0; v++)
        shares[v] = (double)f->state.levels[v] / keys;
    weir__decay d = weir__importance_decay(f->mode, f->c.block, f->c.max, f->c.words * 8, shares);
    d.drawn = f->c.drawn;
    return d;
}

static double gap_half_forgotten(const importance_filter *f, const weir__decay *d, unsigned level) {
    assert(level <= f->c.max);
    double cells = (double)f->c.cells, low = 0, high = cells;
    if (weir__decay_fnr(d, cells, f->c.K, f->c.P, level, 64 * cells) < 0.5) return INFINITY;
    while (weir__decay_fnr(d, cells, f->c.K, f->c.P, level, high) < 0.5) low = high, high *= 2;
    while (high - low > 1) {
        double middle = floor(0.5 * (low + high));
        if (weir__decay_fnr(d, cells, f->c.K, f->c.P, level, middle) < 0.5) low = middle;
        else high = middle;
    }
    return high;
}

static void details_by_level(const importance_filter *f, const weir__decay *d, weir_detail_fn *each,
                             void *context) {
    unsigned classes = weir__importance_classes(f->mode, f->c.max);
    for (unsigned grade = 1; grade <= classes; grade++) {
        unsigned level = weir__importance_level(f->mode, f->c.max, grade);
        char name[32];
        snprintf(name, sizeof name, "keys_at_level_%u", level);
        weir__detail(each, context, name, "keys that raised their cells to this", "%llu",
                     (unsigned long long)f->state.levels[level]);
        snprintf(name, sizeof name, "half_forgotten_%u", level);
        weir__detail(each, context, name,
                     "keys between two occurrences at which half of the repeats of this level pass "
                     "as new, for the levels so far",
                     "%.0f", gap_half_forgotten(f, d, level));
    }
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const importance_filter *f = (const importance_filter *)filter;
    weir__decay_goal goal = goal_of(f);
    weir__decay now = decay_so_far(f);
    double shares[WEIR__LEVELS];
    weir__importance_limit(&now, f->c.K, f->c.P, shares);
    weir__detail(each, context, "cells", "counters", "%llu", (unsigned long long)f->c.cells);
    weir__detail(each, context, "bits_per_cell", "width of a counter", "%u", f->c.width);
    weir__detail(each, context, "k", "cells probed and raised per key", "%u", f->c.K);
    weir__detail(each, context, "p", "cells chosen to be decremented per key", "%u", f->c.P);
    weir__detail(each, context, "zeros_stable",
                 "share of zero cells that it tends to, for the levels so far", "%.4f", shares[0]);
    weir__detail(each, context, "fpr_stable",
                 "false positive rate there, for the levels so far and this layout", "%.3g",
                 weir__decay_bound(&now, f->c.K, f->c.P));
    weir__detail(each, context, "fpr_worst", "the same for the mix of levels that was planned for",
                 "%.3g", weir__decay_bound(&goal.bound, f->c.K, f->c.P));
    weir__detail(each, context, "rated", "keys that came with an importance", "%llu",
                 (unsigned long long)f->state.rated);
    weir__detail(each, context, "not_a_number", "of these, not a number: taken for the lowest",
                 "%llu", (unsigned long long)f->state.unusable);
    weir__detail(each, context, "outside", "of these, below low or above high", "%llu",
                 (unsigned long long)f->state.outside);
    details_by_level(f, &now, each, context);
}

static weir_status damaged(weir_error *err, const char *what) {
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "importance: %s", what);
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const importance_filter *f = (const importance_filter *)filter;
    if (f->state.sampled > SAMPLE || f->state.sampled > f->state.rated)
        return damaged(err, "the sample of importances is larger than it can be");
    for (uint64_t i = 0; i < SAMPLE; i++) {
        double x = f->state.sample[i];
        if (i >= f->state.sampled ? x != 0 : !isfinite(x))
            return damaged(err, "the sample of importances holds what was never put in");
        if (i && i < f->state.sampled && x < f->state.sample[i - 1])
            return damaged(err, "the sample of importances is out of order");
    }
    return weir__fading_check(&f->c, "importance", err);
}

/* For keys that come without an importance, all at the highest level. */
static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const importance_filter *f = (const importance_filter *)filter;
    weir__decay d = weir__importance_decay(f->mode, f->c.block, f->c.max, f->c.words * 8, NULL);
    double sum = 0;
    for (size_t i = 0; i < model->gap_count; i++)
        sum += model->gaps[i].share * weir__decay_fnr(&d, (double)f->c.cells, f->c.K, f->c.P,
                                                      f->c.max, fmax(1, model->gaps[i].gap));
    expectation->fpr = weir__decay_bound(&d, f->c.K, f->c.P);
    expectation->fnr = sum;
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "cells anywhere, as in the paper, or all of a key in one cache line: faster"},
    {"mode", WEIR_OPT_CHOICE, 0, 0, "2c|mc|h", "mc",
     "levels: half and full (2c), one for each value of a cell (mc), and high cells spared (h)"},
    {"max", WEIR_OPT_CHOICE, 0, 0, "3|7|15", NULL,
     "highest value of a cell, which takes 2, 3 or 4 bits; 7, or 3 where fpr needs it"},
    {"k", WEIR_OPT_COUNT, 1, WEIR__K_MOST, NULL, NULL,
     "cells probed and raised per key; derived from fpr"},
    {"p", WEIR_OPT_COUNT, 1, WEIR__P_MOST, NULL, NULL,
     "cells chosen to be decremented per key; derived from fpr and k"},
    {"decrement", WEIR_OPT_CHOICE, 0, 0, "run|random", "run",
     "the p cells: beside each other from a random one on, or drawn one by one as in the paper "
     "(layout=classic); mode=h then draws until p cells were lowered"},
    {"scale", WEIR_OPT_CHOICE, 0, 0, "linear|log|quantile", "quantile",
     "from importance to level: even steps or ratios from low to high, or by rank among the "
     "latest records"},
    {"low", WEIR_OPT_COUNT, 0, 1e15, NULL, NULL,
     "linear, log: an importance up to this is the lowest; 0, or 1 for log"},
    {"high", WEIR_OPT_COUNT, 1, 1e15, NULL, NULL,
     "linear, log: an importance from this on is the highest"},
    {"mix", WEIR_OPT_CHOICE, 0, 0, "any|even", "any",
     "fpr holds for any importances, or if all levels are equally frequent: remembers longer"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__importance_class = {
    .kind = {.name = "importance",
             .summary = "importance-aware Bloom filter: important keys are remembered longer",
             .advice = "For streams whose records say how much they matter (an amount, a size, a "
                       "rank: --importance) and memory that holds far too few of them. A false "
                       "negative then falls on what matters least. If all fits, or all matter "
                       "alike, recent remembers more.",
             .mergeable = false,
             .options = options,
             .uses_importance = true},
    WEIR__FILTER_FUNCTIONS(importance_filter),
    .details = details,
    .no_merge = "the union would be fuller than the bound on false positives allows",
    .check = check,
    .expect = expect,
};
