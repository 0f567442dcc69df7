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
 *            window less one tick. At most R ticks run at a time:
 *              sliding  b bits tell S = 2^b - 1 ticks apart, R = S - S/3
 *              jumping  a bit for each of S = b generations, R = S - 1, in lines S - S/4
 *            S - R of them are past their time and being cleared.
 *            If tick is not given, b is 6 (jumping 16) for a window of records that
 *            fits so, else the widest that fits; for a window of time, whose keys
 *            are not known beforehand, 4 (jumping 8).
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
 * An old cell is never taken for a running one. Ticks are numbered as they begin, and
 * tick n is written as the mark n mod S. At most R ticks run at a time and only the
 * newest one's mark is ever written, so no cell comes to bear the mark of a tick that is
 * over. Cells that do are cleared by a sweep that goes round and round, block by block,
 * and each visit to a block clears all that is over in it. The filter notes how many
 * visits there had been when a tick ended, and a tick begins only when since the end of
 * the last one with its mark there were as many visits as there are blocks, or when no
 * cell is left that is over. Were it not so, the visits that lack are made first. So at any
 * instant all cells that bear one mark were set in one and the same tick, and whether that
 * tick runs is known from when it began. Nothing of this depends on how fast keys come:
 * ticks in which no new key came do not take a number, so a pause of any length is one
 * step, after which everything before it is over.
 * The sweep is paced so that the visits seldom lack: a mark lies idle for S - R ticks.
 *
 * A tick also ends early when its cells are 2/R of what may run (jumping: when the
 * generation is full), so that there is always something older to forget than what has
 * just come.
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
#include "filter/window.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/cells.h"
#include "core/clock.h"
#include "filter/filter.h"
#include "filter/occupancy.h"
#include "filter/probe.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_MODE, OPT_LENGTH, OPT_TICK, OPT_K, OPT_EQUAL, OPT_RENEW };
enum { WORDS = WEIR__LINE_WORDS, MARKS_MOST = 63, GENERATIONS_MOST = 15, BLOCK_LINES = 64 };
enum { PLACE_BITS = 12, PLACE_MASK = 4095, PLACES_A_MIX = 5 };
enum { WIDTH_LEAST = 3, WIDTH_MOST = 6, CHUNK = 64, PLACES = 512, AHEAD = 16, SWEEP_EVERY = 64 };

#define BLOCK_WORDS ((uint64_t)BLOCK_LINES * WORDS)
#define LINES_A_FLAG_LINE ((uint64_t)BLOCK_LINES * WEIR__LINE * 8)
#define HOT static inline __attribute__((always_inline))
#define MARGIN 0.95 /* of fpr, for lines: what their formula may err by */

typedef struct {
    weir_filter base;
    bool block, jumping, renew, is_time;
    unsigned k, equal, width, a_word; /* bits in a cell, cells in a word */
    unsigned marks, running_most;     /* S and R */
    uint64_t mask, lows;              /* of a cell; the lowest bit of each cell of a word */
    uint64_t words, lines, blocks;
    uint64_t length, tick;            /* records or nanoseconds */
    uint64_t limit;                   /* cells that may run; jumping: in a generation */
    uint64_t early;                   /* cells in a tick that end it */
    uint64_t quota;                   /* blocks to sweep in each tick */
    uint64_t *cells, *dirty;          /* in the map; a bit of dirty for each block */
    uint8_t low_of[64];               /* from a bit of a word to the lowest of its cell */
    uint8_t shift_of[PLACE_MASK + 1]; /* from bits of a hash to the first bit of a cell */
    struct {
        uint64_t started; /* a key has come */
        uint64_t records;
        uint64_t latest;            /* time, of the latest key so far */
        uint64_t newest, oldest;    /* numbers of the ticks that run; none if newest < oldest */
        uint64_t tick_end;          /* when the newest is over */
        uint64_t event;             /* the next time at which something ends */
        uint64_t running;           /* as bits: values of cells that run; jumping: their bits */
        uint64_t live;              /* cells that run; jumping: of all generations */
        uint64_t cut;               /* ticks forgotten before their time */
        uint64_t idle;              /* cells set in ticks that are over */
        uint64_t visits;            /* to blocks, by the sweep */
        uint64_t due;               /* how many there are to be at the end of this tick */
        uint64_t pace, keys;        /* blocks to visit at a time; keys in this tick */
        uint64_t began[MARKS_MOST]; /* by mark: when its tick began */
        uint64_t ended[MARKS_MOST]; /* how many visits there had been at its end */
        uint64_t count[MARKS_MOST]; /* cells, if it runs */
    } state;
} window_filter;

/* --- formulas ------------------------------------------------------------------ */

/* k! times the coefficient of x^k in the product over ticks of sum_c (s x)^c / c!,
 * c < equal: the chance that the k cells show ticks of which none comes `equal` times. */
double weir__window_equal(const double *shares, unsigned n, unsigned k, unsigned equal) {
    double sums[WEIR__K_MOST + 1] = {1}, all = 0, factorial = 1;
    for (unsigned i = 0; i < n; i++) {
        double next[WEIR__K_MOST + 1] = {0}, term = 1;
        for (unsigned c = 0; c < equal && c <= k; c++) {
            for (unsigned j = c; j <= k; j++) next[j] += sums[j - c] * term;
            term *= shares[i] / (c + 1);
        }
        memcpy(sums, next, sizeof sums);
        all += shares[i];
    }
    for (unsigned j = 2; j <= k; j++) factorial *= j;
    return fmax(0, pow(all, k) - (equal > 1 ? factorial * sums[k] : 0));
}

void weir__window_overwritten(double cells, unsigned k, const double *keys, unsigned later,
                              double *shares) {
    double left = 1;
    for (unsigned i = later; i-- > 0;) {
        double spared = exp(k * keys[i] * log1p(-1 / cells));
        shares[i + 1] = left * (1 - spared);
        left *= spared;
    }
    shares[0] = left;
}

static unsigned marks_of(bool jumping, unsigned width) {
    return jumping ? width : (1u << width) - 1;
}

unsigned weir__window_ticks(bool jumping, bool block, unsigned width) {
    unsigned marks = marks_of(jumping, width);
    if (!jumping) return marks - marks / 3;
    return marks - (block && width >= 8 ? width / 4 : 1);
}

unsigned weir__window_width(bool jumping, bool block, uint64_t ticks) {
    unsigned most = jumping ? GENERATIONS_MOST + 1 : WIDTH_MOST;
    for (unsigned width = WIDTH_LEAST; width <= most; width++)
        if (weir__window_ticks(jumping, block, width) >= ticks) return width;
    return 0;
}

static weir__shape shape_of(bool block, unsigned width, uint64_t lines) {
    unsigned a_word = 64 / width;
    return (weir__shape){(double)lines * WORDS * a_word, block ? a_word : 0};
}

/* What one Bloom filter may have of the rate. */
static double share_of_rate(bool jumping, bool block, unsigned width, double fpr) {
    if (block) fpr *= MARGIN;
    return jumping ? fpr / weir__window_ticks(true, block, width) : fpr;
}

static unsigned best_k(bool jumping, bool block, unsigned width, uint64_t lines, double fpr) {
    return weir__shape_best_k(shape_of(block, width, lines),
                              share_of_rate(jumping, block, width, fpr));
}

double weir__window_capacity(bool jumping, bool block, unsigned width, uint64_t lines, unsigned k,
                             double fpr) {
    double keys = weir__shape_keys(shape_of(block, width, lines), k,
                                   share_of_rate(jumping, block, width, fpr), 1e-6);
    return jumping ? keys * weir__window_ticks(true, block, width) : keys;
}

/* --- creation ------------------------------------------------------------------- */

/* Lines for cells, the rest being for the flags of blocks. */
static uint64_t lines_in(uint64_t bytes) {
    uint64_t lines = bytes / WEIR__LINE;
    return lines - (lines + LINES_A_FLAG_LINE) / (LINES_A_FLAG_LINE + 1);
}

static double keys_that_fit(const window_filter *f, unsigned width) {
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    unsigned k = weir__opt_given(&f->base, OPT_K)
                     ? (unsigned)weir__opt_whole(&f->base, OPT_K)
                     : best_k(f->jumping, f->block, width, f->lines, fpr);
    return weir__window_capacity(f->jumping, f->block, width, f->lines, k, fpr);
}

/* The widest that fits, which is that of the finest ticks; if none fits, the one that
 * lasts longest, less half a tick. */
static unsigned choose_width(const window_filter *f) {
    static const unsigned for_sliding[] = {6, 5, 4, 3}, for_jumping[] = {16, 8, 4, 3};
    const unsigned *widths = f->jumping ? for_jumping : for_sliding;
    unsigned best = 0;
    double most = 0;
    if (!weir__opt_given(&f->base, OPT_LENGTH) || f->is_time) return f->jumping ? 8 : 4;
    for (int i = 0; i < 4; i++) {
        double keys = keys_that_fit(f, widths[i]),
               grain = weir__window_ticks(f->jumping, f->block, widths[i]);
        if (keys >= (double)f->length * 1.02 + 2) return widths[i];
        keys *= 1 - 0.5 / grain;
        if (keys > most) most = keys, best = widths[i];
    }
    return best;
}

static weir_status settle_tick(window_filter *f, weir_error *err) {
    weir_filter *base = &f->base;
    weir__value *tick = &base->values[OPT_TICK];
    if (!tick->given) {
        unsigned ticks = weir__window_ticks(f->jumping, f->block, choose_width(f));
        weir__opt_resolve(base, OPT_TICK, f->length / ticks + 1);
        tick->is_time = f->is_time;
        /* a window of a few records has a tick for each */
        if (tick->whole > f->length) tick->whole = f->length;
    }
    if (tick->is_time != f->is_time)
        return weir__opt_fail(base, OPT_TICK, err,
                              "'length' and 'tick' are both durations or both counts of records");
    if (tick->whole > f->length)
        return weir__opt_fail(base, OPT_TICK, err,
                              "a window shorter than its tick forgets everything at once; ask for "
                              "a tick of at most half of 'length'");
    f->tick = tick->whole;
    uint64_t ticks = f->length / f->tick + 1;
    f->width = weir__window_width(f->jumping, f->block, ticks);
    unsigned most =
        weir__window_ticks(f->jumping, f->block, f->jumping ? GENERATIONS_MOST + 1 : WIDTH_MOST);
    if (!f->width)
        return weir__opt_fail(base, OPT_TICK, err,
                              "a window of %llu ticks is cut too fine; at most %u are told apart",
                              (unsigned long long)ticks, most);
    return WEIR_OK;
}

static weir_status settle_k(window_filter *f, weir_error *err) {
    weir_filter *base = &f->base;
    double fpr = weir__opt_rate(base, WEIR__OPT_FPR);
    if (!weir__opt_given(base, OPT_K))
        weir__opt_resolve(base, OPT_K, best_k(f->jumping, f->block, f->width, f->lines, fpr));
    f->k = (unsigned)weir__opt_whole(base, OPT_K);
    f->equal = (unsigned)weir__opt_whole(base, OPT_EQUAL);
    f->a_word = 64 / f->width;
    uint64_t reach = f->block ? (uint64_t)WORDS * f->a_word : f->lines * WORDS * f->a_word;
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

/* A window of records never has more keys than records: room for twice as many is
 * enough, and more would only be farther apart. */
static void leave_out_what_is_not_needed(window_filter *f) {
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR), want = 2.0 * ((double)f->length + 2);
    if (f->is_time) return;
    while (f->lines >= 32 &&
           weir__window_capacity(f->jumping, f->block, f->width, f->lines / 2, f->k, fpr) >= want)
        f->lines /= 2;
}

static weir_status settle_limits(window_filter *f, weir_error *err) {
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    double rate = share_of_rate(f->jumping, f->block, f->width, fpr);
    weir__shape shape = shape_of(f->block, f->width, f->lines);
    double fill = f->block
                      ? weir__shape_fill(shape, f->k, weir__shape_keys(shape, f->k, rate, 1e-6))
                      : pow(rate, 1.0 / f->k);
    f->limit = (uint64_t)(shape.cells * fill);
    f->early = f->jumping ? f->limit : f->limit * 2 / f->running_most;
    if (f->early >= f->k + 1) return WEIR_OK;
    char has[32], asked[32];
    return weir__opt_fail(&f->base, WEIR__OPT_MEMORY, err,
                          "memory=%s is too small for a window at fpr=%s; ask for more, or for a "
                          "longer tick",
                          weir_print_size(has, weir__opt_whole(&f->base, WEIR__OPT_MEMORY)),
                          weir_print_rate(asked, fpr));
}

/* Without a length: the window that fits, in records. */
static void settle_length(window_filter *f) {
    weir__value *length = &f->base.values[OPT_LENGTH];
    if (!length->given) {
        double keys = keys_that_fit(f, choose_width(f));
        weir__opt_resolve(&f->base, OPT_LENGTH, keys < 2 ? 1 : (uint64_t)(keys * 0.98));
    }
    f->length = length->whole;
}

static weir_status create(weir_filter *base, weir_error *err) {
    window_filter *f = (window_filter *)base;
    f->block = weir__opt_whole(base, OPT_LAYOUT) == 1;
    f->jumping = weir__opt_whole(base, OPT_MODE) == 1;
    f->renew = weir__opt_whole(base, OPT_RENEW) == 1;
    f->is_time = base->values[OPT_LENGTH].is_time;
    f->lines = lines_in(weir__opt_whole(base, WEIR__OPT_MEMORY));
    settle_length(f);
    weir_status status = settle_tick(f, err);
    if (status == WEIR_OK) status = settle_k(f, err);
    if (status != WEIR_OK) return status;
    leave_out_what_is_not_needed(f);
    f->marks = marks_of(f->jumping, f->width);
    f->running_most = weir__window_ticks(f->jumping, f->block, f->width);
    f->mask = (UINT64_C(1) << f->width) - 1;
    for (unsigned i = 0; i < f->a_word; i++) f->lows |= UINT64_C(1) << (i * f->width);
    for (unsigned i = 0; i < 64; i++) f->low_of[i] = (uint8_t)(i - i % f->width);
    for (unsigned i = 0; i <= PLACE_MASK; i++)
        f->shift_of[i] = (uint8_t)((i * f->a_word >> PLACE_BITS) * f->width);
    f->words = f->lines * WORDS;
    f->blocks = (f->lines + BLOCK_LINES - 1) / BLOCK_LINES;
    f->quota = (f->blocks + f->marks - f->running_most - 1) / (f->marks - f->running_most);
    status = settle_limits(f, err);
    if (status != WEIR_OK) return status;
    uint64_t flags = (f->blocks + WEIR__LINE * 8 - 1) / (WEIR__LINE * 8);
    status = weir__filter_map(base, (f->lines + flags) * WEIR__LINE, err);
    f->cells = (void *)base->cells;
    f->dirty = f->cells + f->words;
    return status;
}

static void start(weir_filter *base) {
    window_filter *f = (window_filter *)base;
    memset(&f->state, 0, sizeof f->state);
    f->state.oldest = 1;
    f->state.pace = 1;
}

/* --- ticks ------------------------------------------------------------------------ */

static unsigned mark_of(const window_filter *f, uint64_t tick) {
    return (unsigned)(tick % f->marks);
}

/* A mark among the running ones. */
static uint64_t running_bit(const window_filter *f, unsigned mark) {
    return f->jumping ? UINT64_C(1) << mark : UINT64_C(2) << mark;
}

static void forget_oldest(window_filter *f) {
    unsigned mark = mark_of(f, f->state.oldest++);
    f->state.running &= ~running_bit(f, mark);
    f->state.live -= f->state.count[mark];
    f->state.idle += f->state.count[mark];
    f->state.count[mark] = 0;
    f->state.ended[mark] = f->state.visits;
}

/* Which cells of a word are over. Sliding: those that run show values from `first` to
 * `last`, around the end if last < first, and each cell is compared with both in its own
 * bits; `highs` are the highest bits of the cells. Jumping: `over` are the bits. */
typedef enum { TIMERS, TIMERS_AROUND, GENERATIONS } sweep_kind;

typedef struct {
    sweep_kind kind;
    unsigned width, newest; /* the mark that is written */
    uint64_t first, last, highs, over;
} sweep_rule;

static sweep_rule rule_of(const window_filter *f) {
    uint64_t lows = f->lows, first = mark_of(f, f->state.oldest) + 1,
             last = mark_of(f, f->state.newest) + 1;
    sweep_rule rule = {
        .width = f->width, .newest = (unsigned)last - 1, .highs = lows << (f->width - 1)};
    bool none = f->state.newest < f->state.oldest;
    rule.kind = f->jumping ? GENERATIONS : none || first <= last ? TIMERS : TIMERS_AROUND;
    rule.first = lows * (none ? f->mask : first);
    rule.last = none ? 0 : lows * last;
    rule.over = f->jumping ? ~(lows * f->state.running) : 0;
    return rule;
}

/* In each cell, as its highest bit: x >= y. */
HOT uint64_t at_least(uint64_t x, uint64_t y, uint64_t highs) {
    uint64_t difference = (x | highs) - (y & ~highs);
    return highs & ((x & ~y) | (~(x ^ y) & difference));
}

/* One bit for each cell that is not empty; for generations each bit is one. */
HOT uint64_t set_cells(uint64_t word, const sweep_rule *rule, sweep_kind kind) {
    if (kind == GENERATIONS) return word;
    uint64_t all_but = rule->highs - (rule->highs >> (rule->width - 1));
    return (((word & ~rule->highs) + all_but) | word) & rule->highs;
}

/* All bits of the cells that are over, of empty ones too. */
HOT uint64_t over_in(uint64_t word, const sweep_rule *rule, sweep_kind kind) {
    if (kind == GENERATIONS) return rule->over;
    uint64_t from = at_least(word, rule->first, rule->highs);
    uint64_t to = at_least(rule->last, word, rule->highs);
    uint64_t runs = kind == TIMERS_AROUND ? from | (to & set_cells(word, rule, kind)) : from & to;
    uint64_t over = rule->highs & ~runs;
    return over | (over - (over >> (rule->width - 1)));
}

/* Clear what is over in some lines; adds up the cells cleared and returns what is left of
 * all words together. */
HOT uint64_t sweep_lines(uint64_t *words, uint64_t count, const sweep_rule *rule, sweep_kind kind,
                         uint64_t *cleared) {
    uint64_t left = 0, n = 0;
    for (uint64_t at = 0; at < count; at += WORDS, words += WORDS) {
        uint64_t any = 0, over[WORDS];
        for (unsigned i = 0; i < WORDS; i++) {
            over[i] = words[i] & over_in(words[i], rule, kind);
            left |= words[i] ^ over[i];
            any |= over[i];
        }
        if (!any) continue; /* nor is the line written */
        for (unsigned i = 0; i < WORDS; i++) {
            words[i] ^= over[i];
            n += (uint64_t)__builtin_popcountll(set_cells(over[i], rule, kind));
        }
    }
    *cleared += n;
    return left;
}

HOT uint64_t sweep_any(uint64_t *words, uint64_t count, sweep_rule rule, uint64_t *cleared) {
    switch (rule.kind) {
    case TIMERS:
        return sweep_lines(words, count, &rule, TIMERS, cleared);
    case TIMERS_AROUND:
        return sweep_lines(words, count, &rule, TIMERS_AROUND, cleared);
    default:
        return sweep_lines(words, count, &rule, GENERATIONS, cleared);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) static uint64_t
sweep_avx2(uint64_t *words, uint64_t count, const sweep_rule *rule, uint64_t *cleared) {
    return sweep_any(words, count, *rule, cleared);
}
#endif

static uint64_t sweep_words(uint64_t *words, uint64_t count, const sweep_rule *rule,
                            uint64_t *cleared) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        return sweep_avx2(words, count, rule, cleared);
#endif
    return sweep_any(words, count, *rule, cleared);
}

static void visit(window_filter *f, uint64_t block, const sweep_rule *rule) {
    uint64_t from = block * BLOCK_WORDS, cleared = 0;
    uint64_t count = f->words - from < BLOCK_WORDS ? f->words - from : BLOCK_WORDS;
    uint64_t left = sweep_words(f->cells + from, count, rule, &cleared);
    f->state.idle -= cleared;
    if (!left) f->dirty[block / 64] &= ~(UINT64_C(1) << block % 64);
}

/* Visit the next blocks; those without a cell set take no time. */
static void sweep(window_filter *f, uint64_t visits) {
    sweep_rule rule = rule_of(f);
    uint64_t to = f->state.visits + visits;
    while (f->state.idle && f->state.visits < to) {
        uint64_t at = f->state.visits % f->blocks, step = 1;
        uint64_t flags = f->dirty[at / 64] >> at % 64;
        if (flags & 1) visit(f, at, &rule);
        else step = flags ? (uint64_t)__builtin_ctzll(flags) : 64 - at % 64;
        if (step > f->blocks - at) step = f->blocks - at;
        if (step > to - f->state.visits) step = to - f->state.visits;
        f->state.visits += step;
    }
    f->state.visits = to; /* where nothing is idle a visit would change nothing */
}

static uint64_t plus(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

static void foresee(window_filter *f) {
    uint64_t began = f->state.began[mark_of(f, f->state.oldest)];
    uint64_t expiry = plus(plus(began, f->length), 1);
    f->state.event = expiry < f->state.tick_end ? expiry : f->state.tick_end;
}

/* Make the visits due by the end of a tick, and choose how fast to go in the next. */
static void settle_sweep(window_filter *f) {
    if (f->state.visits < f->state.due) sweep(f, f->state.due - f->state.visits);
    uint64_t turns = f->state.keys / SWEEP_EVERY + 1;
    f->state.pace = (f->quota + turns - 1) / turns;
    f->state.due = f->state.visits + f->quota;
    f->state.keys = 0;
}

/* A tick begins, with a mark that no cell bears. */
static void begin_tick(window_filter *f, uint64_t began) {
    bool none = f->state.newest < f->state.oldest;
    if (none || f->state.count[mark_of(f, f->state.newest)]) {
        settle_sweep(f);
        uint64_t next = f->state.newest + 1;
        if (next - f->state.oldest >= f->running_most) forget_oldest(f), f->state.cut++;
        uint64_t visits = f->state.visits - f->state.ended[mark_of(f, next)];
        if (visits < f->blocks) sweep(f, f->blocks - visits);
        f->state.newest = next;
    }
    unsigned mark = mark_of(f, f->state.newest);
    f->state.running |= running_bit(f, mark);
    f->state.began[mark] = began;
}

/* Ticks are over that began before the window; a new one begins where time is. */
static void go_on_to(window_filter *f, uint64_t at) {
    while (f->state.oldest <= f->state.newest &&
           at - f->state.began[mark_of(f, f->state.oldest)] > f->length)
        forget_oldest(f);
    if (!f->state.started || at >= f->state.tick_end) {
        uint64_t began = at - at % f->tick;
        f->state.started = 1;
        f->state.tick_end = plus(began, f->tick);
        begin_tick(f, began);
    }
    foresee(f);
}

/* Which ticks would run at a time to come. */
static uint64_t running_at(const window_filter *f, uint64_t at) {
    uint64_t running = f->state.running, oldest = f->state.oldest;
    if (!f->state.started || at < f->state.event) return running;
    for (; oldest <= f->state.newest; oldest++) {
        unsigned mark = mark_of(f, oldest);
        bool over = at - f->state.began[mark] > f->length;
        bool crowded = at >= f->state.tick_end && f->state.newest + 1 - oldest >= f->running_most &&
                       f->state.count[mark_of(f, f->state.newest)];
        if (!over && !crowded) break;
        running &= ~running_bit(f, mark);
    }
    return running;
}

/* Times may be negative: count from the lowest. */
static uint64_t instant(int64_t time) { return (uint64_t)time ^ UINT64_C(1) << 63; }

/* --- one key ------------------------------------------------------------------------ */

/* A place is a word, times 64, and the first bit of a cell in it. */
static inline void classic_places(const window_filter *f, uint64_t hash, uint64_t *places) {
    weir__probes probes = weir__probes_start(hash);
    for (unsigned j = 0; j < f->k; j++) {
        uint64_t rest, word = weir__part(weir__probes_next(&probes), f->words, &rest);
        places[j] = word * 64 + weir__scale(rest, f->a_word) * f->width;
    }
}

/* One cell to a word in turn, twelve bits of a mix choosing it; of the four that are
 * left the first mix's choose the first word. find_line() does the same for all words. */
static void line_places(const window_filter *f, uint64_t hash, uint64_t *places) {
    uint64_t rest, line = weir__part(hash, f->lines, &rest), mix = weir__mix64(rest);
    unsigned word = (unsigned)(mix >> 61);
    for (unsigned j = 0; j < f->k; j++, word++, mix >>= PLACE_BITS) {
        if (j && j % PLACES_A_MIX == 0) mix = weir__mix64(rest += UINT64_C(0x9e3779b97f4a7c15));
        places[j] = (line * WORDS + word % WORDS) * 64 + f->shift_of[mix & PLACE_MASK];
    }
}

static inline uint64_t value_at(const window_filter *f, uint64_t place) {
    return f->cells[place / 64] >> place % 64 & f->mask;
}

static bool enough_are_equal(const window_filter *f, const uint64_t *places) {
    uint8_t times[MARKS_MOST + 1] = {0};
    unsigned most = 0;
    for (unsigned j = 0; j < f->k; j++) {
        unsigned n = ++times[value_at(f, places[j])];
        if (n > most) most = n;
    }
    return most >= f->equal;
}

static inline bool is_known(const window_filter *f, const uint64_t *places, uint64_t running) {
    uint64_t all = f->jumping ? running : 1;
    if (f->jumping)
        for (unsigned j = 0; j < f->k; j++) all &= f->cells[places[j] / 64] >> places[j] % 64;
    else
        for (unsigned j = 0; j < f->k; j++) all &= running >> value_at(f, places[j]);
    return all && (f->equal < 2 || enough_are_equal(f, places));
}

static inline void touch(window_filter *f, uint64_t word) {
    uint64_t block = word / BLOCK_WORDS;
    f->dirty[block / 64] |= UINT64_C(1) << block % 64;
}

static inline void set_generation(window_filter *f, const uint64_t *places, unsigned mark) {
    uint64_t added = 0;
    for (unsigned j = 0; j < f->k; j++) {
        uint64_t *word = &f->cells[places[j] / 64], at = places[j] % 64 + mark;
        added += ~(*word >> at) & 1;
        *word |= UINT64_C(1) << at;
    }
    f->state.count[mark] += added;
    f->state.live += added;
}

/* Which cells ran before is noted as bits, since a branch on each would be guessed wrong
 * too often. */
static inline void set_timers(window_filter *f, const uint64_t *places, unsigned k, unsigned mark) {
    uint64_t empty = 0, value = mark + 1, running = f->state.running;
    uint32_t ran = 0;
    uint8_t before[WEIR__K_MOST] = {0};
    for (unsigned j = 0; j < k; j++) {
        uint64_t *word = &f->cells[places[j] / 64], old = value_at(f, places[j]);
        *word ^= (old ^ value) << places[j] % 64;
        before[j] = (uint8_t)old;
        empty += old == 0;
        ran |= (uint32_t)(running >> old & 1) << j;
    }
    uint64_t awakened = k - (unsigned)__builtin_popcount(ran);
    for (; ran; ran &= ran - 1) f->state.count[before[__builtin_ctz(ran)] - 1]--;
    f->state.count[mark] += k;
    f->state.live += awakened;
    f->state.idle -= awakened - empty;
}

/* Forget what has become too much with the last key. */
static void make_room(window_filter *f) {
    if (f->state.count[mark_of(f, f->state.newest)] >= f->early) begin_tick(f, f->state.latest);
    while (!f->jumping && f->state.live > f->limit && f->state.oldest < f->state.newest)
        forget_oldest(f), f->state.cut++;
    foresee(f);
}

static inline bool has_too_much(const window_filter *f, unsigned mark) {
    return f->state.count[mark] >= f->early || (!f->jumping && f->state.live > f->limit);
}

static inline void remember(window_filter *f, const uint64_t *places) {
    unsigned mark = mark_of(f, f->state.newest);
    if (f->jumping) set_generation(f, places, mark);
    else set_timers(f, places, f->k, mark);
    for (unsigned j = 0; j < f->k; j++) touch(f, places[j] / 64);
    if (has_too_much(f, mark)) make_room(f);
}

/* Time goes on, and with it the sweep. */
static inline void pass_time(window_filter *f, uint64_t at) {
    if (at >= f->state.event || !f->state.started) go_on_to(f, at);
    if (at > f->state.latest) f->state.latest = at;
    if (++f->state.keys % SWEEP_EVERY == 0 && f->state.visits < f->state.due)
        sweep(f, f->state.pace);
}

static inline bool offer_one(window_filter *f, const uint64_t *places, uint64_t at) {
    pass_time(f, at);
    bool known = is_known(f, places, f->state.running);
    if (!known || f->renew) remember(f, places);
    return known;
}

/* --- one key in its line: all words at once -------------------------------------------- */

/* The line of a key, and all bits of its cells. */
typedef struct {
    uint64_t *line, cells[WORDS];
} key_line;

HOT key_line find_line(const window_filter *f, uint64_t hash) {
    uint64_t rest, line = weir__part(hash, f->lines, &rest), mix = weir__mix64(rest);
    key_line key = {f->cells + line * WORDS, {0}};
    unsigned word = (unsigned)(mix >> 61);
    for (unsigned left = f->k;;) {
        unsigned n = left < PLACES_A_MIX ? left : PLACES_A_MIX;
        for (unsigned j = 0; j < n; j++, word++, mix >>= PLACE_BITS)
            key.cells[word % WORDS] |= f->mask << f->shift_of[mix & PLACE_MASK];
        if ((left -= n) == 0) return key;
        mix = weir__mix64(rest += UINT64_C(0x9e3779b97f4a7c15));
    }
}

/* The rule says which cells are over: the key is known if none of its own is or, with
 * generations, if one is left in all of them. */
HOT bool line_knows(const window_filter *f, const key_line *key, const sweep_rule *rule,
                    sweep_kind kind) {
    uint64_t missing = 0, all = ~UINT64_C(0), lanes = ~UINT64_C(0);
    for (unsigned i = 0; i < WORDS; i++) {
        if (kind == GENERATIONS) all &= key->line[i] | ~key->cells[i];
        else missing |= key->cells[i] & over_in(key->line[i], rule, kind);
    }
    if (kind != GENERATIONS) return missing == 0;
    for (unsigned i = 0; i < f->a_word; i++) lanes &= all >> i * f->width;
    return (lanes & f->mask & ~rule->over) != 0;
}

HOT void set_line_generation(window_filter *f, const key_line *key, unsigned mark) {
    uint64_t bits = f->lows << mark, added = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t set = key->cells[i] & bits;
        added += (uint64_t)__builtin_popcountll(set & ~key->line[i]);
        key->line[i] |= set;
    }
    f->state.count[mark] += added;
    f->state.live += added;
}

/* Cells that ran lose their old mark. There are few, in any word: their lowest bits are
 * laid side by side, as cells have three bits at least, so that there are three loops
 * whose length has to be guessed and not eight. */
HOT void discount(window_filter *f, const uint64_t *ran, const uint64_t *words) {
    for (unsigned from = 0; from < WORDS; from += WIDTH_LEAST) {
        uint64_t bits = 0;
        for (unsigned i = from; i < WORDS && i < from + WIDTH_LEAST; i++)
            bits |= ran[i] << (i - from);
        for (; bits; bits &= bits - 1) {
            unsigned at = (unsigned)__builtin_ctzll(bits), low = f->low_of[at];
            f->state.count[(words[from + at - low] >> low & f->mask) - 1]--;
        }
    }
}

HOT void set_line_timers(window_filter *f, const key_line *key, unsigned mark,
                         const sweep_rule *rule, sweep_kind kind) {
    const uint64_t lows = f->lows, value = lows * (mark + 1);
    uint64_t words[WORDS], ran[WORDS], idle[WORDS], cells = 0, still = 0, none = 0;
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word = key->line[i], mine = key->cells[i], over = over_in(word, rule, kind);
        words[i] = word;
        ran[i] = mine & ~over & lows;
        idle[i] = word & mine & over;
        none |= idle[i];
        key->line[i] = (word & ~mine) | (value & mine);
    }
    for (unsigned i = 0; i < WORDS; i++) {
        cells += (uint64_t)__builtin_popcountll(key->cells[i] & lows);
        still += (uint64_t)__builtin_popcountll(ran[i]);
    }
    for (unsigned i = 0; none && i < WORDS; i++)
        f->state.idle -= (uint64_t)__builtin_popcountll(set_cells(idle[i], rule, kind));
    if (still) discount(f, ran, words);
    f->state.count[mark] += cells;
    f->state.live += cells - still;
}

HOT bool offer_line(window_filter *f, const key_line *key, const sweep_rule *rule, sweep_kind kind,
                    uint64_t hash) {
    bool known = line_knows(f, key, rule, kind);
    if (known && f->equal > 1) {
        uint64_t places[WEIR__K_MOST];
        line_places(f, hash, places);
        known = enough_are_equal(f, places);
    }
    if (known && !f->renew) return known;
    unsigned mark = rule->newest;
    if (kind == GENERATIONS) set_line_generation(f, key, mark);
    else set_line_timers(f, key, mark, rule, kind);
    touch(f, (uint64_t)(key->line - f->cells));
    if (has_too_much(f, mark)) make_room(f);
    return known;
}

/* --- batches -------------------------------------------------------------------------- */

static inline uint64_t instant_of(window_filter *f, const weir_batch *batch, size_t i,
                                  int64_t now) {
    if (!f->is_time) return ++f->state.records;
    return instant(weir__batch_time(batch, i, now));
}

/* Keys per round: so many that their places fill, but do not flood, the nearest cache. */
static size_t classic_chunk(const window_filter *f) {
    size_t keys = PLACES / f->k;
    return keys < CHUNK ? keys : CHUNK;
}

static void find_chunk(const window_filter *f, const uint64_t *hashes, size_t n, uint64_t *places) {
    for (size_t i = 0; i < n; i++, places += f->k) {
        classic_places(f, hashes[i], places);
        for (unsigned j = 0; j < f->k; j++) __builtin_prefetch(&f->cells[places[j] / 64], 1);
    }
}

static size_t classic_offer(window_filter *f, const weir_batch *batch, uint64_t *verdicts,
                            int64_t now) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = classic_chunk(f);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        find_chunk(f, batch->hashes + at, n, places);
        for (size_t i = 0; i < n; i++) {
            bool known = offer_one(f, places + i * f->k, instant_of(f, batch, at + i, now));
            weir__mark_seen(verdicts, at + i, known);
            seen += known;
        }
    }
    return seen;
}

/* Always inline: a compiler may take a function that only asks ahead for one that does
 * nothing. */
HOT void ask_for_line(const window_filter *f, const weir_batch *batch, size_t i) {
    uint64_t rest;
    if (i < batch->count)
        __builtin_prefetch(&f->cells[weir__part(batch->hashes[i], f->lines, &rest) * WORDS], 1);
}

/* The rule changes only when a tick begins or ends. */
HOT size_t offer_lines(window_filter *f, const weir_batch *batch, uint64_t *verdicts, int64_t now) {
    sweep_rule rule = rule_of(f);
    uint64_t ticks = f->state.oldest ^ f->state.newest << 8;
    size_t seen = 0;
    for (size_t i = 0; i < AHEAD; i++) ask_for_line(f, batch, i);
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t hash = batch->hashes[i];
        ask_for_line(f, batch, i + AHEAD);
        pass_time(f, instant_of(f, batch, i, now));
        if (ticks != (f->state.oldest ^ f->state.newest << 8))
            rule = rule_of(f), ticks = f->state.oldest ^ f->state.newest << 8;
        key_line key = find_line(f, hash);
        bool known = rule.kind == GENERATIONS ? offer_line(f, &key, &rule, GENERATIONS, hash)
                     : rule.kind == TIMERS    ? offer_line(f, &key, &rule, TIMERS, hash)
                                              : offer_line(f, &key, &rule, TIMERS_AROUND, hash);
        weir__mark_seen(verdicts, i, known);
        seen += known;
    }
    return seen;
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt,bmi,bmi2"))) static size_t
block_offer_avx2(window_filter *f, const weir_batch *batch, uint64_t *verdicts, int64_t now) {
    return offer_lines(f, batch, verdicts, now);
}
#endif

static size_t block_offer(window_filter *f, const weir_batch *batch, uint64_t *verdicts,
                          int64_t now) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return block_offer_avx2(f, batch, verdicts, now);
#endif
    return offer_lines(f, batch, verdicts, now);
}

static size_t offer(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    window_filter *f = (window_filter *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    return f->block ? block_offer(f, batch, verdicts, now) : classic_offer(f, batch, verdicts, now);
}

static bool test_one(const window_filter *f, const weir_batch *batch, size_t i,
                     const uint64_t *places, int64_t now) {
    uint64_t at = f->is_time ? instant(weir__batch_time(batch, i, now)) : f->state.records + 1;
    return f->state.started && is_known(f, places, running_at(f, at));
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const window_filter *f = (const window_filter *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    uint64_t places[PLACES];
    size_t seen = 0, chunk = f->block ? 1 : classic_chunk(f);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        if (f->block) ask_for_line(f, batch, at + AHEAD), line_places(f, batch->hashes[at], places);
        else find_chunk(f, batch->hashes + at, n, places);
        for (size_t i = 0; i < n; i++) {
            bool known = test_one(f, batch, at + i, places + i * f->k, now);
            weir__mark_seen(verdicts, at + i, known);
            seen += known;
        }
    }
    return seen;
}

/* --- looking inside --------------------------------------------------------------------- */

static double total_cells(const window_filter *f) { return (double)f->words * f->a_word; }

/* The rate of one Bloom filter with so many cells set. */
/* --- as an array of places: what cutting it into ranges needs --------------------------- */

/* Timers one by one; the other forms look at all cells of a key together. */
static unsigned places_shape(const weir_filter *base, uint64_t *places) {
    const window_filter *f = (const window_filter *)base;
    *places = f->words * 64;
    return f->block || f->jumping || f->equal > 1 || f->renew ? 0 : f->k;
}

static void places_find(const weir_filter *base, uint64_t hash, uint64_t *places) {
    classic_places((const window_filter *)base, hash, places);
}

static void places_advance(weir_filter *base, const weir_batch *batch, size_t i) {
    window_filter *f = (window_filter *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    pass_time(f, instant_of(f, batch, i, now));
}

static bool place_is_on(const weir_filter *base, uint64_t place) {
    const window_filter *f = (const window_filter *)base;
    return f->state.running >> value_at(f, place) & 1;
}

static void place_switch_on(weir_filter *base, uint64_t place) {
    window_filter *f = (window_filter *)base;
    set_timers(f, &place, 1, mark_of(f, f->state.newest));
    touch(f, place / 64);
}

static void places_took_key(weir_filter *base) {
    window_filter *f = (window_filter *)base;
    if (has_too_much(f, mark_of(f, f->state.newest))) make_room(f);
}

/* A cell that is emptied no longer counts as running, or as over. */
static void places_switch_off(weir_filter *base, uint64_t first, uint64_t end) {
    window_filter *f = (window_filter *)base;
    for (uint64_t word = first / 64; word < f->words && word * 64 < end; word++)
        for (unsigned i = 0; i < f->a_word; i++) {
            uint64_t place = word * 64 + i * f->width, value = value_at(f, place);
            if (place < first || place >= end || value == 0) continue;
            if (f->state.running >> value & 1) f->state.count[value - 1]--, f->state.live--;
            else f->state.idle--;
            f->cells[word] ^= value << place % 64;
        }
}

static const weir__places cells_apart = {.shape = places_shape,
                                         .find = places_find,
                                         .advance = places_advance,
                                         .is_on = place_is_on,
                                         .switch_on = place_switch_on,
                                         .took_key = places_took_key,
                                         .switch_off = places_switch_off,
                                         .once = true};

static double rate_of(const window_filter *f, double set) {
    weir__shape shape = shape_of(f->block, f->width, f->lines);
    double fill = set / shape.cells;
    if (!f->block) return pow(fill, f->k);
    return weir__shape_fpr(shape, f->k, weir__shape_keys_for_fill(shape, f->k, fill));
}

static double rate_now(const window_filter *f) {
    double shares[MARKS_MOST], sum = 0;
    unsigned n = 0;
    for (uint64_t tick = f->state.oldest; tick <= f->state.newest; tick++) {
        double set = (double)f->state.count[mark_of(f, tick)];
        shares[n++] = set / total_cells(f);
        if (f->jumping) sum += rate_of(f, set);
    }
    if (f->jumping) return sum;
    if (f->equal > 1 && !f->block) return weir__window_equal(shares, n, f->k, f->equal);
    return rate_of(f, (double)f->state.live);
}

static void info(const weir_filter *base, weir_filter_info *info) {
    const window_filter *f = (const window_filter *)base;
    double places = total_cells(f) * (f->jumping ? f->running_most : 1);
    info->fill = (double)f->state.live / places;
    info->fpr_now = rate_now(f);
    info->overfull = f->state.cut > 0;
}

static void details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const window_filter *f = (const window_filter *)base;
    uint64_t reach = 0;
    if (f->state.oldest <= f->state.newest)
        reach = f->state.latest - f->state.began[mark_of(f, f->state.oldest)];
    weir__detail(each, context, "cells", "cells, each with a timer or a bit for each generation",
                 "%.0f", total_cells(f));
    weir__detail(each, context, "bits_per_cell", "width of a cell", "%u", f->width);
    weir__detail(each, context, "ticks_most", "ticks that can run at a time", "%u",
                 f->running_most);
    weir__detail(each, context, "ticks", "ticks that run now", "%llu",
                 (unsigned long long)(f->state.newest + 1 - f->state.oldest));
    weir__detail(each, context, "capacity", "new keys that a window may have before it is cut",
                 "%.0f",
                 weir__window_capacity(f->jumping, f->block, f->width, f->lines, f->k,
                                       weir__opt_rate(base, WEIR__OPT_FPR)));
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
    uint64_t count[MARKS_MOST]; /* cells that bear each mark */
    bool sound; /* no bits but those of cells, and none in a block said to be clean */
} census;

static census count_cells(const window_filter *f) {
    census c = {.sound = true};
    uint64_t used =
        f->a_word * f->width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << f->a_word * f->width) - 1;
    for (uint64_t i = 0; i < f->words; i++) {
        uint64_t word = f->cells[i], block = i / BLOCK_WORDS;
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

/* The marks that run are those of the ticks from oldest to newest; a mark that the sweep
 * has gone all round for is on no cell. */
static bool ticks_are_sound(const window_filter *f) {
    uint64_t running = 0, live = 0, idle = 0;
    census c = count_cells(f);
    if (!f->state.started && (f->state.newest != 0 || f->state.oldest != 1)) return false;
    if (f->state.started && (f->state.oldest > f->state.newest || f->state.newest > INT64_MAX ||
                             f->state.newest - f->state.oldest >= f->running_most))
        return false;
    for (uint64_t tick = f->state.oldest; tick <= f->state.newest; tick++)
        running |= running_bit(f, mark_of(f, tick));
    for (unsigned mark = 0; mark < f->marks; mark++) {
        bool runs = running & running_bit(f, mark);
        uint64_t visits = f->state.visits - f->state.ended[mark];
        if (runs ? c.count[mark] != f->state.count[mark] : f->state.count[mark] != 0) return false;
        if (f->state.ended[mark] > f->state.visits) return false;
        if (!runs && visits >= f->blocks && c.count[mark]) return false;
        if (runs) live += c.count[mark];
        else idle += c.count[mark];
    }
    return c.sound && running == f->state.running && live == f->state.live && idle == f->state.idle;
}

static weir_status check(const weir_filter *base, weir_error *err) {
    const window_filter *f = (const window_filter *)base;
    bool paced = f->state.pace > 0 && f->state.pace <= f->quota && f->state.visits <= INT64_MAX &&
                 f->state.due <= f->state.visits + f->quota;
    return paced && ticks_are_sound(f)
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "the cells do not agree with the counts");
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
    .size = sizeof(window_filter),
    .state_offset = offsetof(window_filter, state),
    .state_words = sizeof(((window_filter *)0)->state) / sizeof(uint64_t),
    .create = create,
    .start = start,
    .offer = offer,
    .test = test,
    .info = info,
    .details = details,
    .no_merge = "their ticks began at different times",
    .check = check,
    .places = &cells_apart,
};
