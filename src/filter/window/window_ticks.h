/* window_ticks.h - the cells of a window, and its ticks.
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
 * Timers of up to 6 bits have up to 63 marks; the state has a word for each, and a word of
 * bits for those that run. Wider ones (fine) have their words in the map, after the cells; they
 * run if they lie between the oldest and the newest.
 *
 * A tick also ends early when its cells are 2/R of what may run (jumping: when the
 * generation is full), so that there is always something older to forget than what has
 * just come.
 */
#ifndef WEIR_FILTER_WINDOW_TICKS_H
#define WEIR_FILTER_WINDOW_TICKS_H

#include "filter/filter.h"
#include "filter/line/line_cells.h"
#include "filter/line/lines.h"
#include "filter/window/window.h"

enum {
    WEIR__MARKS = 63, /* marks of cells of at most six bits */
    WEIR__SWEPT_LINES =
        64, /* lines of a block, which is swept as a whole and has a bit that says whether to */
    WEIR__SWEEP_EVERY = 64 /* keys between two turns of the sweep */
};
#define WEIR__SWEPT_WORDS ((uint64_t)WEIR__SWEPT_LINES * WEIR__LINE_WORDS) /* of a block */

typedef struct {
    weir_filter base;
    bool block, jumping, renew, is_time;
    bool length_given, k_given;       /* by the spec, not derived */
    unsigned k, equal, width, a_word; /* bits in a cell, cells in a word */
    unsigned marks, running_most;     /* S and R */
    uint64_t mask, lows;              /* of a cell; the lowest bit of each cell of a word */
    uint64_t words, lines, blocks;
    double fits;                               /* keys that may run at once */
    uint64_t length, tick;                     /* records or nanoseconds */
    uint64_t phase;                            /* instants modulo tick at which ticks begin */
    uint64_t limit;                            /* cells that may run; jumping: in a generation */
    uint64_t early;                            /* cells in a tick that end it */
    uint64_t quota;                            /* blocks to sweep in each tick */
    uint64_t *cells, *dirty;                   /* in the map; a bit of dirty for each block */
    bool fine;                                 /* more marks than the state has room for */
    uint64_t *began, *ended, *count;           /* by mark: in the state, or (fine) in the map: */
    line_plan plan;                            /* block: how a key's cells are found, */
    unsigned rounds;                           /* in so many rounds of the words of a line, */
    uint64_t last_round[2 * WEIR__LINE_WORDS]; /* the mask in those of the last, twice over */
    struct {
        uint64_t started; /* a key has come */
        uint64_t records;
        uint64_t latest;             /* time, of the latest key so far */
        uint64_t newest, oldest;     /* numbers of the ticks that run; none if newest < oldest */
        uint64_t tick_end;           /* when the newest is over */
        uint64_t event;              /* the next time at which something ends */
        uint64_t running;            /* as bits: values of cells that run; jumping: their bits */
        uint64_t live;               /* cells that run; jumping: of all generations */
        uint64_t cut;                /* ticks forgotten before their time */
        uint64_t idle;               /* cells set in ticks that are over */
        uint64_t visits;             /* to blocks, by the sweep */
        uint64_t due;                /* how many there are to be at the end of this tick */
        uint64_t pace, keys;         /* blocks to visit at a time; keys in this tick */
        uint64_t began[WEIR__MARKS]; /* when its tick began */
        uint64_t ended[WEIR__MARKS]; /* how many visits there had been at its end */
        uint64_t count[WEIR__MARKS]; /* cells, if it runs */
    } state;
} weir__window;

/* Whether the batches tell where a key is, by its time or by the number of its record. */
static inline bool weir__window_is_told(const weir__window *f) {
    return f->is_time || f->base.numbered;
}

static inline unsigned weir__window_mark(const weir__window *f, uint64_t tick) {
    return (unsigned)(tick % f->marks);
}

/* A mark among the running ones; fine ticks are too many for bits of a word. */
static inline uint64_t weir__window_running_bit(const weir__window *f, unsigned mark) {
    if (f->fine) return 0;
    return f->jumping ? UINT64_C(1) << mark : UINT64_C(2) << mark;
}

/* Whether a timer of this value runs, when the ticks from `oldest` on do. */
static inline bool weir__window_runs(const weir__window *f, uint64_t value, uint64_t oldest) {
    if (value == 0 || oldest > f->state.newest) return false;
    uint64_t first = oldest % f->marks, mark = value - 1;
    uint64_t after = mark >= first ? mark - first : mark + f->marks - first;
    return after <= f->state.newest - oldest;
}

/* Something was set in the block of this word. */
static inline void weir__window_touch(weir__window *f, uint64_t word) {
    uint64_t block = word / WEIR__SWEPT_WORDS;
    f->dirty[block / 64] |= UINT64_C(1) << block % 64;
}

/* Times may be negative: count from the lowest. */
#define WEIR__INSTANT_ZERO (UINT64_C(1) << 63) /* the instant of time 0 */
static inline uint64_t weir__window_instant(int64_t time) {
    return (uint64_t)time ^ WEIR__INSTANT_ZERO;
}

/* How long before an instant its tick began. */
static inline uint64_t weir__window_into_tick(const weir__window *f, uint64_t at) {
    return (at % f->tick + f->tick - f->phase) % f->tick;
}

/* Ticks are over that began before the window; a new one begins where time is. */
void weir__window_go_on_to(weir__window *f, uint64_t at);

/* Visit the next blocks; a block without a set cell is skipped by its flag. */
void weir__window_sweep(weir__window *f, uint64_t visits);

/* Forget what has become too much with the last key. */
void weir__window_make_room(weir__window *f);

/* Which ticks would run at a time to come: from which on, and as bits of `running`. */
uint64_t weir__window_oldest_at(const weir__window *f, uint64_t at, uint64_t *running);

static inline bool weir__window_has_too_much(const weir__window *f, unsigned mark) {
    return f->count[mark] >= f->early || (!f->jumping && f->state.live > f->limit);
}

/* Time goes on, and with it the sweep. */
static inline void weir__window_pass_time(weir__window *f, uint64_t at) {
    if (at >= f->state.event || !f->state.started) weir__window_go_on_to(f, at);
    if (at > f->state.latest) f->state.latest = at;
    if (++f->state.keys % WEIR__SWEEP_EVERY == 0 && f->state.visits < f->state.due)
        weir__window_sweep(f, f->state.pace);
}

/* The same where nothing begins, ends or is swept; else false, and nothing is done. */
static inline bool weir__window_pass_quietly(weir__window *f, uint64_t at) {
    if (at >= f->state.event || !f->state.started) return false;
    if ((f->state.keys + 1) % WEIR__SWEEP_EVERY == 0) return false;
    if (at > f->state.latest) f->state.latest = at;
    f->state.keys++;
    return true;
}

/* --- offering and testing: window_keys.c ------------------------------------------------ */

size_t weir__window_offer_keys(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts);
size_t weir__window_test_keys(const weir_filter *filter, const weir_batch *batch,
                              uint64_t *verdicts);
extern const weir__places weir__window_places;

#endif
