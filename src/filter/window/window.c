/* window.c - forgets by age: timers in a Bloom filter, or generations of Bloom filters.
 *
 * Question   has this key come by within the last `length` of time, or of records?
 * Idea       time is cut into ticks. sliding: each cell holds the last tick in which a
 *            new key set it; a key has k cells and is SEEN when all of them are
 *            running, that is show ticks within the window. jumping: each tick is a
 *            generation with a Bloom filter of its own, and the bits that the
 *            generations have at one place lie side by side, so that k reads show
 *            all of them. A key is SEEN when all its bits are set in one generation.
 *            A SEEN key is left alone unless renew=yes: then it is set again.
 * Parameters m cells of b bits, k of them for each key. A tick is the grain: the cells
 *            of a tick are forgotten together, when its first instant has left the
 *            window. So a key is known for at most the window and at least the
 *            window less one tick; to the record where a tick is one. At most R ticks run
 *            at a time:
 *              sliding  b bits tell S = 2^b - 1 ticks apart, R = S - S/3; of more than 6
 *                       bits, which do not lie in lines, R = S - S/8, up to 65,536
 *              jumping  a bit for each of S = b generations, R = S - 1, in lines S - S/4
 *            S - R of them are past their time and being cleared.
 *            If tick is not given, b is the widest with which the records of the window
 *            fit, so that a window is exact to the record while memory lasts, then loses
 *            bits; if layout=block is, 6 (jumping 16) or less. For a window of time,
 *            whose keys are not known beforehand, 4 (jumping 8).
 * Error      false positives: at most fpr, at any time. Where newer keys overwrite
 *            older ones the later tick stays, so the running cells of a sliding
 *            window are exactly the bits of a Bloom filter of the keys in it, and
 *            those of a generation are by construction. With z cells running the
 *            rate is (z/m)^k, so it may run z = m fpr^(1/k) (the density threshold of
 *            section 5 of the paper); each of R generations may have
 *            m (fpr/R)^(1/k). In lines the rate is that of occupancy.h, planned
 *            for 5% less. The number running is counted and never more.
 *            False negatives: none within the window but for its last tick, as long
 *            as the window's keys fit. When more keys come than fit, the oldest tick
 *            is forgotten before its time: the window is shortened to what fits,
 *            the bound holds, and the filter says that it is overfull. (The other
 *            choice, to leave new keys out, would know the old keys, which are
 *            less likely to come again.)
 * Cost       classic: k random lines per key; block: one. Cells are cleared behind
 *            time's back, a few lines with every 64th key.
 * Layout     words of 64/b cells, the lowest bits first. block: as in bloom.c, one
 *            cell in each word of a line in turn. At the end of the cells a bit for
 *            every 64 lines says whether anything was ever set in them.
 * Source     sliding: Koloniari, Ntarmos, Pitoura, Souravlias, "One is Enough", section
 *            4, of which the first page is missing in our copy; jumping: Metwally,
 *            Agrawal, El Abbadi, WWW 2005, as told in section 3.6 of the thesis. We
 *            differ: a cell keeps when it was set and not how long it still runs, so
 *            nothing has to be counted down; ticks are few; and generations share
 *            probes and need no counting filter, since a generation is forgotten by
 *            clearing its bit everywhere.
 *
 * window_ticks.h tells why an old cell is never taken for a running one, window_keys.c what
 * is done with a key, window_theory.c has the formulas.
 *
 * equal=k' (the equal-timers heuristic): SEEN only if at least k' of the k running cells
 * show the same tick, as those of a key do that were set together. It lowers the rate of
 * false positives, weir__window_equal() says how far, and forgets keys of which more than
 * k - k' cells were overwritten. The bound is planned as if there were no such rule: in a
 * burst all cells show the same tick and it excludes nothing. The formula in print,
 * (1 - e^(-k/m))^k, supposes that no two keys come in one tick.
 *
 * Merging is refused: two filters number their ticks differently.
 */
#include "filter/window/window.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filter/aging.h"
#include "filter/window/window_ticks.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_MODE, OPT_LENGTH, OPT_TICK, OPT_K, OPT_EQUAL, OPT_RENEW };
#define LINES_A_FLAG_LINE ((uint64_t)WEIR__SWEPT_LINES * WEIR__LINE * 8)

/* --- creation ------------------------------------------------------------------- */

/* Bytes that the words of marks take in the map. */
static uint64_t marks_bytes(bool jumping, unsigned width) {
    if (jumping || width <= WEIR__WIDTH_BLOCK) return 0;
    uint64_t bytes = 3 * sizeof(uint64_t) * weir__window_marks(false, width);
    return (bytes + WEIR__LINE - 1) / WEIR__LINE * WEIR__LINE;
}

/* Lines for cells, the rest being for the flags of blocks and the words of marks. */
static uint64_t lines_in(uint64_t bytes, bool jumping, unsigned width) {
    uint64_t words = marks_bytes(jumping, width);
    uint64_t lines = bytes > words ? (bytes - words) / WEIR__LINE : 0;
    return lines - (lines + LINES_A_FLAG_LINE) / (LINES_A_FLAG_LINE + 1);
}

/* Timers that are wider than lines take lie anywhere. */
static bool in_lines(const weir__window *f, unsigned width) {
    return f->block && (f->jumping || width <= WEIR__WIDTH_BLOCK);
}

static double keys_that_fit(const weir__window *f, unsigned width) {
    assert(width >= WEIR__WIDTH_LEAST && width <= WEIR__WIDTH_MOST);
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    bool block = in_lines(f, width);
    uint64_t lines = lines_in(weir__opt_whole(&f->base, WEIR__OPT_MEMORY), f->jumping, width);
    if (lines == 0) return 0;
    unsigned k = weir__opt_given(&f->base, OPT_K)
                     ? (unsigned)weir__opt_whole(&f->base, OPT_K)
                     : weir__window_best_k(f->jumping, block, width, lines, fpr);
    return weir__window_capacity(f->jumping, block, width, lines, k, fpr);
}

/* Whether timers may be wider than lines take: nobody asked for lines. */
static bool may_be_fine(const weir__window *f) {
    return !f->jumping && !(weir__opt_given(&f->base, OPT_LAYOUT) && f->block);
}

/* The narrowest timer that has a tick for each record of the window, or the widest. */
static unsigned finest_width(const weir__window *f) {
    unsigned width = WEIR__WIDTH_MOST;
    while (width > WEIR__WIDTH_BLOCK && weir__window_ticks(false, false, width - 1) > f->length)
        width--;
    return width;
}

/* Where length, in records, and k are given but no rate, the rate follows from both. */
static bool rate_follows(const weir__window *f) {
    return f->length_given && f->k_given && !f->is_time && weir__fpr_is_open(&f->base);
}

/* The rate at which the records of the window, and of a tick, fit; at least that of the options. */
static double rate_of_length(const weir__window *f, bool block, unsigned width, uint64_t lines,
                             uint64_t tick) {
    unsigned k = (unsigned)weir__opt_whole(&f->base, OPT_K);
    double want = ((double)f->length + (double)tick) * 1.02 + 2; /* 2%: cells fall unevenly */
    double low = weir__opt_rate(&f->base, WEIR__OPT_FPR), high = 1;
    if (weir__window_capacity(f->jumping, block, width, lines, k, low) >= want) return low;
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        if (weir__window_capacity(f->jumping, block, width, lines, k, middle) < want) low = middle;
        else high = middle;
    }
    return high;
}

/* Where the rate follows from the settings any width fits: a tick for each record if that costs
 * nothing, else the widest in lines. */
static unsigned width_for_length(const weir__window *f, unsigned in_lines) {
    uint64_t memory = weir__opt_whole(&f->base, WEIR__OPT_MEMORY);
    unsigned fine = finest_width(f);
    uint64_t lines = lines_in(memory, false, fine);
    if (!may_be_fine(f) || !lines || weir__window_ticks(false, false, fine) <= f->length)
        return in_lines;
    uint64_t tick = f->length / weir__window_ticks(false, f->block, in_lines) + 1;
    double coarse = rate_of_length(f, f->block, in_lines, lines_in(memory, false, in_lines), tick);
    return rate_of_length(f, false, fine, lines, 1) <= coarse ? fine : in_lines;
}

/* The widest that fits, which is that of the finest ticks; if none fits, the one that
 * lasts longest, less half a tick. */
static unsigned choose_width(const weir__window *f) {
    static const unsigned for_sliding[] = {6, 5, 4, 3}, for_jumping[] = {16, 8, 4, 3};
    const unsigned *widths = f->jumping ? for_jumping : for_sliding;
    double want = (double)f->length * 1.02 + 2, most = 0;
    unsigned best = widths[3];
    if (!f->length_given || f->is_time) return f->jumping ? 8 : 4;
    if (may_be_fine(f))
        for (unsigned width = finest_width(f); width > WEIR__WIDTH_BLOCK; width--)
            if (keys_that_fit(f, width) >= want) return width;
    for (int i = 0; i < 4; i++) {
        double keys = keys_that_fit(f, widths[i]),
               grain = weir__window_ticks(f->jumping, f->block, widths[i]);
        if (keys >= want) return widths[i];
        keys *= 1 - 0.5 / grain;
        if (keys > most) most = keys, best = widths[i];
    }
    return rate_follows(f) ? width_for_length(f, widths[0]) : best;
}

static weir_status too_many_ticks(const weir__window *f, uint64_t ticks, weir_error *err) {
    unsigned most = f->jumping       ? weir__window_ticks(true, f->block, WEIR__GENERATIONS + 1)
                    : may_be_fine(f) ? WEIR__TICKS_MOST
                                     : weir__window_ticks(false, true, WEIR__WIDTH_BLOCK);
    return weir__opt_fail(&f->base, OPT_TICK, err,
                          "a window of %llu ticks is cut too fine; at most %u are told apart%s",
                          (unsigned long long)ticks, most,
                          f->jumping       ? " in mode=jumping, more in mode=sliding"
                          : may_be_fine(f) ? ""
                                           : " in layout=block, more in layout=classic");
}

/* Take as many ticks as timers of this width tell apart, at most one for each record. */
static void resolve_tick(weir__window *f) {
    weir__value *tick = &f->base.values[OPT_TICK];
    unsigned width = choose_width(f);
    unsigned ticks = weir__window_ticks(f->jumping, in_lines(f, width), width);
    if (ticks > WEIR__TICKS_MOST) ticks = WEIR__TICKS_MOST + 1; /* and the one under way */
    weir__opt_resolve(&f->base, OPT_TICK, f->length / ticks + 1);
    tick->is_time = f->is_time;
    if (tick->whole > f->length) tick->whole = f->length;
}

static weir_status settle_tick(weir__window *f, weir_error *err) {
    weir_filter *base = &f->base;
    const weir__value *tick = &base->values[OPT_TICK];
    if (!tick->given) resolve_tick(f);
    if (tick->is_time != f->is_time)
        return weir__opt_fail(base, OPT_TICK, err,
                              "'length' and 'tick' are both durations or both counts of records");
    if (tick->whole > f->length)
        return weir__opt_fail(base, OPT_TICK, err,
                              "a window shorter than its tick forgets everything at once; ask for "
                              "a tick of at most half of 'length'");
    f->tick = tick->whole;
    assert(f->tick >= 1);
    f->phase = f->is_time ? WEIR__INSTANT_ZERO % f->tick : 0; /* at whole ticks of the clock */
    uint64_t ticks = f->length / f->tick + 1;
    f->width = weir__window_width(f->jumping, f->block && !may_be_fine(f), ticks);
    if (!f->width || (!f->jumping && f->length / f->tick > WEIR__TICKS_MOST))
        return too_many_ticks(f, ticks, err);
    f->fine = !f->jumping && f->width > WEIR__WIDTH_BLOCK;
    if (f->fine) weir__opt_resolve(base, OPT_LAYOUT, 0), f->block = false;
    f->lines = lines_in(weir__opt_whole(base, WEIR__OPT_MEMORY), f->jumping, f->width);
    if (f->lines) return WEIR_OK;
    char has[32];
    return weir__opt_fail(base, WEIR__OPT_MEMORY, err,
                          "memory=%s has no room for the words of %llu ticks; ask for more, or for "
                          "a longer tick",
                          weir_print_size(has, weir__opt_whole(base, WEIR__OPT_MEMORY)),
                          (unsigned long long)ticks);
}

static weir_status settle_k(weir__window *f, weir_error *err) {
    assert(f->width && f->lines);
    weir_filter *base = &f->base;
    double fpr = weir__opt_rate(base, WEIR__OPT_FPR);
    if (!f->k_given)
        weir__opt_resolve(base, OPT_K,
                          weir__window_best_k(f->jumping, f->block, f->width, f->lines, fpr));
    f->k = (unsigned)weir__opt_whole(base, OPT_K);
    f->equal = (unsigned)weir__opt_whole(base, OPT_EQUAL);
    f->a_word = 64 / f->width;
    uint64_t reach =
        f->block ? (uint64_t)WEIR__LINE_WORDS * f->a_word : f->lines * WEIR__LINE_WORDS * f->a_word;
    if (f->k > reach)
        return weir__opt_fail(base, OPT_K, err,
                              "k=%u is more than the %llu cells that a key can have", f->k,
                              (unsigned long long)reach);
    if (f->equal > f->k)
        return weir__opt_fail(base, OPT_EQUAL, err,
                              "equal=%u is more than k=%u; of the k cells of "
                              "a key at most k are equal",
                              f->equal, f->k);
    if (f->equal > 1 && f->jumping)
        return weir__opt_fail(base, OPT_EQUAL, err,
                              "generations have no timers; 'equal' goes with mode=sliding");
    return WEIR_OK;
}

/* The records of a window decide how many cells run at most, and so the rate. That stands in for an
 * fpr that nobody asked for and that would cut the window short. */
static void imply_fpr(weir__window *f) {
    if (!rate_follows(f)) return;
    double rate = rate_of_length(f, f->block, f->width, f->lines, f->tick);
    if (rate > weir__opt_rate(&f->base, WEIR__OPT_FPR)) weir__imply_fpr(&f->base, rate);
}

/* A window of records never has more keys than records: room for twice as many is
 * enough, and more would only be farther apart. */
static void leave_out_what_is_not_needed(weir__window *f) {
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR), want = 2.0 * ((double)f->length + 2);
    if (f->is_time) return;
    while (f->lines >= 32 &&
           weir__window_capacity(f->jumping, f->block, f->width, f->lines / 2, f->k, fpr) >= want)
        f->lines /= 2;
}

static weir_status settle_limits(weir__window *f, weir_error *err) {
    assert(f->k >= 1 && f->running_most >= 1);
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    double rate = weir__window_share(f->jumping, f->block, f->width, fpr);
    weir__shape shape = weir__window_shape(f->block, f->width, f->lines);
    double fill = f->block
                      ? weir__shape_fill(shape, f->k, weir__shape_keys(shape, f->k, rate, 1e-6))
                      : pow(rate, 1.0 / f->k);
    f->limit = (uint64_t)(shape.cells * fill);
    f->early = f->jumping ? f->limit : f->limit * 2 / f->running_most;
    if (f->fine && f->early <= f->k && f->limit > 4 * f->k) f->early = f->k + 1;
    if (f->early >= f->k + 1) return WEIR_OK;
    char has[32], asked[32];
    return weir__opt_fail(&f->base, WEIR__OPT_MEMORY, err,
                          "memory=%s is too small for a window at fpr=%s; ask for more, or for a "
                          "longer tick",
                          weir_print_size(has, weir__opt_whole(&f->base, WEIR__OPT_MEMORY)),
                          weir_print_rate(asked, fpr));
}

/* Without a length: the window that fits, in records. */
static void settle_length(weir__window *f) {
    weir__value *length = &f->base.values[OPT_LENGTH];
    if (!length->given) {
        double keys = keys_that_fit(f, choose_width(f));
        weir__opt_resolve(&f->base, OPT_LENGTH, keys < 2 ? 1 : (uint64_t)(keys * 0.98));
    }
    f->length = length->whole;
}

static void settle_rounds(weir__window *f) {
    f->plan = line_plan_scaled(f->k);
    assert(f->k > 0);
    f->rounds = (f->k + WEIR__LINE_WORDS - 1) / WEIR__LINE_WORDS;
    unsigned before = (f->rounds - 1) * WEIR__LINE_WORDS;
    for (unsigned i = 0; i < 2 * WEIR__LINE_WORDS; i++)
        f->last_round[i] = before + i % WEIR__LINE_WORDS < f->k ? f->mask : 0;
}

static weir_status create(weir_filter *base, weir_error *err) {
    weir__window *f = (weir__window *)base;
    base->windowed = true;
    f->block = weir__opt_whole(base, OPT_LAYOUT) == 1;
    f->jumping = weir__opt_whole(base, OPT_MODE) == 1;
    f->renew = weir__opt_whole(base, OPT_RENEW) == 1;
    f->is_time = base->values[OPT_LENGTH].is_time;
    f->length_given = weir__opt_given(base, OPT_LENGTH);
    f->k_given = weir__opt_given(base, OPT_K);
    settle_length(f);
    weir_status status = settle_tick(f, err);
    if (status == WEIR_OK) status = settle_k(f, err);
    if (status != WEIR_OK) return status;
    imply_fpr(f);
    leave_out_what_is_not_needed(f);
    f->marks = weir__window_marks(f->jumping, f->width);
    f->running_most = weir__window_ticks(f->jumping, f->block, f->width);
    f->mask = (UINT64_C(1) << f->width) - 1;
    for (unsigned i = 0; i < f->a_word; i++) f->lows |= UINT64_C(1) << (i * f->width);
    settle_rounds(f);
    f->words = f->lines * WEIR__LINE_WORDS;
    f->blocks = (f->lines + WEIR__SWEPT_LINES - 1) / WEIR__SWEPT_LINES;
    f->quota = (f->blocks + f->marks - f->running_most - 1) / (f->marks - f->running_most);
    f->fits = weir__window_capacity(f->jumping, f->block, f->width, f->lines, f->k,
                                    weir__opt_rate(base, WEIR__OPT_FPR));
    status = settle_limits(f, err);
    if (status != WEIR_OK) return status;
    uint64_t flags = (f->blocks + WEIR__LINE * 8 - 1) / (WEIR__LINE * 8);
    uint64_t words = marks_bytes(f->jumping, f->width);
    status = weir__filter_map(base, (f->lines + flags) * WEIR__LINE + words, err);
    f->cells = (void *)base->cells;
    f->dirty = f->cells + f->words;
    uint64_t *own = f->dirty + flags * WEIR__LINE_WORDS;
    f->began = f->fine ? own : f->state.began;
    f->ended = f->fine ? own + f->marks : f->state.ended;
    f->count = f->fine ? own + (size_t)2 * f->marks : f->state.count;
    return status;
}

static void start(weir_filter *base) {
    weir__window *f = (weir__window *)base;
    memset(&f->state, 0, sizeof f->state);
    f->state.oldest = 1;
    f->state.pace = 1;
}

/* --- looking inside --------------------------------------------------------------------- */

static double total_cells(const weir__window *f) { return (double)f->words * f->a_word; }

/* The rate of one Bloom filter of which `set` cells are set. */
static double rate_of(const weir__window *f, double set) {
    weir__shape shape = weir__window_shape(f->block, f->width, f->lines);
    double fill = set / shape.cells;
    if (!f->block) return pow(fill, f->k);
    return weir__shape_fpr(shape, f->k, weir__shape_keys_for_fill(shape, f->k, fill));
}

/* With equal timers the rate is at most that without, which is cheap to know. */
static double fine_rate_now(const weir__window *f) {
    double *shares = f->equal > 1 ? calloc(f->marks, sizeof *shares) : NULL;
    unsigned n = 0;
    if (!shares) return rate_of(f, (double)f->state.live);
    for (uint64_t tick = f->state.oldest; tick <= f->state.newest; tick++) {
        double set = (double)f->count[weir__window_mark(f, tick)];
        if (set > 0) shares[n++] = set / total_cells(f);
    }
    double rate = weir__window_equal(shares, n, f->k, f->equal);
    free(shares);
    return rate;
}

static double rate_now(const weir__window *f) {
    double shares[WEIR__MARKS], sum = 0;
    unsigned n = 0;
    if (f->fine) return fine_rate_now(f);
    for (uint64_t tick = f->state.oldest; tick <= f->state.newest; tick++) {
        double set = (double)f->count[weir__window_mark(f, tick)];
        assert(n < WEIR__MARKS);
        shares[n++] = set / total_cells(f);
        if (f->jumping) sum += rate_of(f, set);
    }
    if (f->jumping) return sum;
    if (f->equal > 1 && !f->block) return weir__window_equal(shares, n, f->k, f->equal);
    return rate_of(f, (double)f->state.live);
}

/* New keys that a window may have before it is cut. */
static double capacity(const weir__window *f) {
    return weir__window_capacity(f->jumping, f->block, f->width, f->lines, f->k,
                                 weir__opt_rate(&f->base, WEIR__OPT_FPR));
}

static void info(const weir_filter *base, weir_filter_info *info) {
    const weir__window *f = (const weir__window *)base;
    double places = total_cells(f) * (f->jumping ? f->running_most : 1);
    weir__info_window(info, &base->values[OPT_LENGTH], weir__opt_whole(base, OPT_RENEW));
    info->fill = (double)f->state.live / places;
    info->fpr_now = rate_now(f);
    info->overfull = f->state.cut > 0;
    info->room = capacity(f);
}

static void details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const weir__window *f = (const weir__window *)base;
    uint64_t reach = 0;
    if (f->state.oldest <= f->state.newest)
        reach = f->state.latest - f->began[weir__window_mark(f, f->state.oldest)];
    weir__detail(each, context, "cells", "cells, each with a timer or a bit for each generation",
                 "%.0f", total_cells(f));
    weir__detail(each, context, "bits_per_cell", "width of a cell", "%u", f->width);
    weir__detail(each, context, "ticks_most", "ticks that can run at a time", "%u",
                 f->running_most);
    weir__detail(each, context, "ticks", "ticks that run now", "%llu",
                 (unsigned long long)(f->state.newest + 1 - f->state.oldest));
    weir__detail(each, context, "capacity", "new keys that a window may have before it is cut",
                 "%.0f", capacity(f));
    weir__detail(each, context, "running", "cells that run", "%llu",
                 (unsigned long long)f->state.live);
    weir__detail(each, context, "idle", "cells past their time, not cleared yet", "%llu",
                 (unsigned long long)f->state.idle);
    weir__detail(each, context, "reach", "how far back it knows, in records or nanoseconds", "%llu",
                 (unsigned long long)reach);
    weir__detail(each, context, "cut", "ticks forgotten before their time, for want of memory",
                 "%llu", (unsigned long long)f->state.cut);
}

/* --- checking what was loaded ------------------------------------------------------------- */

typedef struct {
    uint64_t *count; /* cells that bear each mark */
    bool sound;      /* no bits but those of cells, and none in a block said to be clean */
} census;

static census count_cells(const weir__window *f) {
    census c = {.count = calloc(f->marks + 1, sizeof *c.count)};
    c.sound = c.count != NULL;
    if (!c.sound) return c;
    uint64_t used =
        f->a_word * f->width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << f->a_word * f->width) - 1;
    for (uint64_t i = 0; i < f->words; i++) {
        uint64_t word = f->cells[i], block = i / WEIR__SWEPT_WORDS;
        if (!word) continue;
        c.sound &= !(word & ~used) && f->dirty[block / 64] >> block % 64 & 1;
        for (unsigned j = 0; j < f->a_word; j++) {
            uint64_t value = word >> (j * f->width) & f->mask;
            if (!f->jumping && value) c.count[value - 1]++;
            for (; f->jumping && value; value &= value - 1) c.count[__builtin_ctzll(value)]++;
        }
    }
    return c;
}

static bool mark_runs(const weir__window *f, unsigned mark) {
    return weir__window_runs(f, mark + 1, f->state.oldest);
}

/* The marks that run are those of the ticks from oldest to newest; a mark that the sweep
 * has gone all round for is on no cell. */
static bool counts_are_sound(const weir__window *f, const census *c) {
    uint64_t running = 0, live = 0, idle = 0;
    for (unsigned mark = 0; mark < f->marks; mark++) {
        bool runs = mark_runs(f, mark);
        uint64_t visits = f->state.visits - f->ended[mark];
        if (runs ? c->count[mark] != f->count[mark] : f->count[mark] != 0) return false;
        if (f->ended[mark] > f->state.visits) return false;
        if (!runs && visits >= f->blocks && c->count[mark]) return false;
        if (runs) live += c->count[mark], running |= weir__window_running_bit(f, mark);
        else idle += c->count[mark];
    }
    return running == f->state.running && live == f->state.live && idle == f->state.idle;
}

static bool ticks_are_sound(const weir__window *f) {
    if (!f->state.started && (f->state.newest != 0 || f->state.oldest != 1)) return false;
    if (f->state.started && (f->state.oldest > f->state.newest || f->state.newest > INT64_MAX ||
                             f->state.newest - f->state.oldest >= f->running_most))
        return false;
    census c = count_cells(f);
    bool sound = c.sound && counts_are_sound(f, &c);
    free(c.count);
    return sound;
}

static weir_status check(const weir_filter *base, weir_error *err) {
    const weir__window *f = (const weir__window *)base;
    bool paced = f->state.pace > 0 && f->state.pace <= f->quota && f->state.visits <= INT64_MAX &&
                 f->state.due <= f->state.visits + f->quota;
    return paced && ticks_are_sound(f)
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "the cells do not agree with the counts");
}

/* The window, less half a tick; and for no more NEW keys than fit. A window of time says
 * nothing in records: only the latter. */
static double lifetime(const void *filter, double news) {
    const weir__window *f = filter;
    double fits = (f->fits - 0.5 * f->fits / f->running_most) / news;
    return f->is_time ? fits : fmin(fits, (double)f->length - 0.5 * (double)f->tick);
}

static void expect(const weir_filter *base, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const weir__window *f = (const weir__window *)base;
    expectation->fpr = weir__opt_rate(base, WEIR__OPT_FPR);
    expectation->fnr = weir__aging_fnr(
        f, lifetime, f->renew ? WEIR__ENDS_AFTER_USE : WEIR__ENDS_BY_AGE, expectation->fpr, model);
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "k cells anywhere, or all in one cache line: faster, but fewer keys fit"},
    {"mode", WEIR_OPT_CHOICE, 0, 0, "sliding|jumping", "sliding",
     "timers that run out one tick after the other, or generations of bits: more keys fit"},
    {"length", WEIR_OPT_SPAN, 1, 0x1p62, NULL, NULL,
     "the window: a duration (10m) or a number of records (1M); as many records as fit"},
    {"tick", WEIR_OPT_SPAN, 1, 0x1p62, NULL, NULL,
     "the grain of time, what is forgotten together; derived from length and memory"},
    {"k", WEIR_OPT_COUNT, 1, WEIR__K_MOST, NULL, NULL, "cells set per key; derived from fpr"},
    {"equal", WEIR_OPT_COUNT, 1, WEIR__K_MOST, NULL, "1",
     "SEEN only if so many of the k timers are equal: fewer false positives, more forgotten"},
    {"renew", WEIR_OPT_CHOICE, 0, 0, "no|yes", "no", "whether a repeat makes its key young again"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__window_class = {
    .kind = {.name = "window",
             .summary = "timers in a Bloom filter: knows a key for a time, or for so many records",
             .advice = "The methods of the papers for windows: sliding, with a timer in each cell, "
                       "and jumping, by generations. Every key of the window is known as long as "
                       "they fit; when they do not, the window gets shorter. A key takes several "
                       "times the memory that it takes in recent:window=..., which is the one to "
                       "use.",
             .mergeable = false,
             .options = options},
    .size = sizeof(weir__window),
    .state_offset = offsetof(weir__window, state),
    .state_words = sizeof(((weir__window *)0)->state) / sizeof(uint64_t),
    .create = create,
    .start = start,
    .offer = weir__window_offer_keys,
    .test = weir__window_test_keys,
    .info = info,
    .details = details,
    .no_merge = "their ticks began at different times",
    .check = check,
    .expect = expect,
    .places = &weir__window_places,
};
