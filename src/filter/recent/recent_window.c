/* recent_window.c - the lines of `recent` when it forgets by age.
 *
 * Question   has this key come by within the window?
 * Idea       each entry is a fingerprint with a stamp, the tick in which it came. An
 *            entry is good in that tick and the T - 1 after it. A NEW key takes a slot
 *            whose entry is past its time or else the oldest of its group. A repeat
 *            leaves its entry alone, or with `renew` puts the present tick on it.
 * Forms      Fine: stamps of 22 bits, a group a line; a tick is one record, or the
 *            shortest power of ten of nanoseconds of which FINE_TICKS cover the window.
 *            Coarse: stamps of 6 bits, a tick is ceil(window / 48). All lines have the
 *            same form. The fine one is left for good when a live entry would have to go
 *            while an eighth of the slots are in use: then entries are more than would be
 *            unlucky by chance (with Poisson's law, 1 line in 10^8 is full at that load).
 * Parameters G groups of s slots in a line, fingerprints of b bits, s 2^-b <= fpr.
 * Error      fine: an entry lives for the window, to the record, or to the tick (1 ms of
 *            10 minutes; exactly where all times are whole ticks). Coarse: at most the
 *            window and more than the window less two ticks (one if 48 divides it).
 *            False positives: at most s 2^-b, and only live entries count. False
 *            negatives: as by age, and when more keys fall to a group within a window
 *            than it has slots. Where G is no power of two, one entry in 64 is lost when
 *            the form changes: of its fingerprint too little was kept.
 * Cost       one line per key, and one more swept while this tick's share is not
 *            done; runs of lines that are known to be empty are not read again until an
 *            entry comes. The change of form reads all lines once.
 * Layout     slot j of group g at bit (g s + j)(stamp + b) of the line: the stamp, then
 *            b of fingerprint. Stamp 0 is an empty slot; tick t has the stamp
 *            t mod stamps + 1.
 *
 * An old stamp must never be taken for a new one. Stamps come around, entries are good for
 * three quarters of that, so each entry has a quarter of the round in which it must be
 * cleared. Each tick sweeps a share of the lines: one line with each key, and what is left
 * of it when the tick changes. When the clock jumps, the ticks that were jumped over sweep
 * their share too, or all lines are swept a few times if that is less: the last time when the
 * clock has arrived, or an entry that was just good before would come around.
 */
#include "filter/recent/recent_window.h"

#include <math.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/recent/recent_bits.h"

enum {
    COARSE_BITS = 6,      /* of a stamp: 63 stamps, and 0 for an empty slot */
    COARSE_TICKS = 48,    /* in a window: 15 of 63 ticks are left to clear what is past its time */
    FINE_BITS = 22,       /* of a stamp: 2^22 - 1 stamps */
    FINE_TICKS = 3 << 20, /* in a window at most: three quarters of the stamps */
    SPARE_BITS = 6,       /* of a fine fingerprint, so that a coarse one can be made of it */
    ENTRY_MOST = 57,      /* bits that get_bits() reads wherever they are */
    PRESSED = 8,          /* one slot in 8 is in use: from there on the fine form is left */
    SLOTS = 8             /* in a coarse group */
};

static void set_stamps(window_form *form, unsigned stamp_bits, uint64_t lines) {
    form->stamp_bits = stamp_bits;
    form->stamps = (UINT32_C(1) << stamp_bits) - 1;
    uint64_t sweeping = form->stamps - form->ticks - 1;
    form->quota = (lines + sweeping - 1) / sweeping;
}

static void plan_coarse(window_form *form, uint64_t lines, double fpr, uint64_t span) {
    form->tick = (span + COARSE_TICKS - 1) / COARSE_TICKS;
    form->ticks = (uint32_t)(span / form->tick);
    form->bits = (unsigned)ceil(log2(SLOTS / fpr));
    form->slots = SLOTS;
    unsigned fit = LINE_BITS / (COARSE_BITS + form->bits);
    form->groups = fit / SLOTS ? fit / SLOTS : 1;
    /* As many slots as fit: 17 slots are two groups of 8, 15 two of 7. */
    if (fit < form->groups * SLOTS + SLOTS / 2)
        form->slots = fit / form->groups < SLOTS ? fit / form->groups : SLOTS;
    else form->groups++, form->slots = fit / form->groups;
    set_stamps(form, COARSE_BITS, lines);
}

/* A fine fingerprint has the bits that tell the coarse group, and spare ones where that is not
 * a matter of whole bits. */
static bool plan_fine(window_form *form, const window_form *coarse, uint64_t lines, double fpr,
                      uint64_t span, bool is_time) {
    unsigned group_bits = 0, spare = coarse->groups & (coarse->groups - 1) ? SPARE_BITS : 0;
    while (1u << group_bits < coarse->groups) group_bits++;
    form->tick = 1;
    if (is_time)
        while (span / form->tick >= FINE_TICKS) form->tick *= 10;
    else form->tick = (span + FINE_TICKS - 2) / (FINE_TICKS - 1);
    form->ticks = (uint32_t)(span / form->tick) + 1;
    form->groups = 1;
    form->bits = coarse->bits + group_bits + spare;
    form->slots = LINE_BITS / (FINE_BITS + form->bits);
    while (form->slots * ldexp(1, -(int)form->bits) > fpr) form->bits++;
    form->slots = LINE_BITS / (FINE_BITS + form->bits);
    set_stamps(form, FINE_BITS, lines);
    return FINE_BITS + form->bits <= ENTRY_MOST;
}

void weir__window_plan(window_plan *plan, uint64_t lines, double fpr, uint64_t span, bool is_time,
                       bool renew) {
    *plan = (window_plan){.lines = lines, .renew = renew};
    plan_coarse(&plan->coarse, lines, fpr, span);
    while (lines > (uint64_t)64 * WINDOW_RUN_WORDS << plan->run) plan->run++;
    plan->has_fine = plan_fine(&plan->fine, &plan->coarse, lines, fpr, span, is_time);
}

const window_form *weir__window_form(const window_plan *plan, const window_state *state) {
    bool fine = state->form == WINDOW_FINE || (state->form == WINDOW_NO_TIME && plan->has_fine);
    return fine ? &plan->fine : &plan->coarse;
}

static unsigned entry_bits(const window_form *form) { return form->stamp_bits + form->bits; }

static unsigned slot_at(const window_form *form, unsigned group, unsigned slot) {
    return (group * form->slots + slot) * entry_bits(form);
}

static uint32_t stamp_of(const window_form *form, uint64_t tick) {
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there are 63 stamps at least */
    return (uint32_t)(tick % form->stamps) + 1;
}

/* Ticks since a stamp was set, 0 to stamps - 1. */
static uint32_t age_of(const window_form *form, uint32_t stamp, uint64_t tick) {
    uint32_t now = stamp_of(form, tick);
    return now >= stamp ? now - stamp : now + form->stamps - stamp;
}

static bool is_empty(const uint8_t *line) {
    uint64_t any = 0;
    for (unsigned k = 0; k < 8; k++) any |= get_word(line, k);
    return any == 0;
}

static void sweep_line(uint8_t *line, const window_form *form, window_state *state) {
    if (is_empty(line)) return;
    for (unsigned j = 0; j < form->groups * form->slots; j++) {
        unsigned at = j * entry_bits(form);
        uint32_t stamp = (uint32_t)get_bits(line, at, form->stamp_bits);
        if (!stamp || age_of(form, stamp, state->now) < form->ticks) continue;
        put_bits(line, at, entry_bits(form), 0);
        state->held--;
    }
}

/* ---- runs of lines that are known to be empty ---- */

/* How many lines from this one on are known to be empty; those of the same word at most. */
static uint64_t empty_from(const window_plan *plan, uint64_t line) {
    uint64_t first = line >> plan->run, bits = ~(plan->empty[first / 64] >> first % 64);
    uint64_t runs = bits ? (uint64_t)__builtin_ctzll(bits) : 64;
    if (runs > 64 - first % 64) runs = 64 - first % 64;
    uint64_t end = (first + runs) << plan->run;
    return !runs ? 0 : (end < plan->lines ? end : plan->lines) - line;
}

/* The line where an entry was put is not empty. */
static void mark_used(window_plan *plan, const window_state *state, uint64_t line) {
    uint64_t run = line >> plan->run;
    plan->empty[run / 64] &= ~(UINT64_C(1) << run % 64);
    if (line < state->sweep && line + plan->clean >= state->sweep)
        plan->clean = state->sweep - line - 1;
}

/* The sweep has come to another line; of runs that end there is known whether they are empty. */
static void sweep_on(window_plan *plan, window_state *state, uint64_t to, uint64_t clean) {
    state->sweep = to;
    plan->clean = clean;
    if (to & low_mask(plan->run) && to != plan->lines) return;
    uint64_t run = (to - 1) >> plan->run;
    if (clean >= to - (run << plan->run)) plan->empty[run / 64] |= UINT64_C(1) << run % 64;
    if (to == plan->lines) state->sweep = plan->clean = 0;
}

/* ---- sweeping ---- */

static void sweep(uint8_t *cells, window_plan *plan, window_state *state, uint64_t lines) {
    const window_form *form = weir__window_form(plan, state);
    while (lines) {
        uint64_t line = state->sweep, skip = empty_from(plan, line);
        if (skip > lines) skip = lines;
        if (skip) {
            sweep_on(plan, state, line + skip, plan->clean + skip);
        } else {
            uint8_t *at = cells + line * LINE_BYTES;
            sweep_line(at, form, state);
            sweep_on(plan, state, line + 1, is_empty(at) ? plan->clean + 1 : 0);
        }
        lines -= skip ? skip : 1;
    }
}

/* Everything is past its time. Lines that are empty are only read, so that memory that was never
 * written stays so. */
static void clear(uint8_t *cells, window_plan *plan, window_state *state) {
    for (uint64_t line = 0; line < plan->lines;) {
        uint64_t skip = empty_from(plan, line);
        uint8_t *at = cells + line * LINE_BYTES;
        if (!skip && !is_empty(at)) memset(at, 0, LINE_BYTES);
        line += skip ? skip : 1;
    }
    memset(plan->empty, 0xFF, WINDOW_RUN_WORDS * sizeof *plan->empty);
    plan->clean = state->sweep;
    state->held = 0;
}

/* Over a long way: all lines are swept, as often as stamps might come around meanwhile. */
static void leap(uint8_t *cells, window_plan *plan, window_state *state, uint64_t tick) {
    const window_form *form = weir__window_form(plan, state);
    uint64_t safe = form->stamps - form->ticks;
    if (tick - state->now >= form->ticks) {
        clear(cells, plan, state);
        state->now = tick;
        return;
    }
    sweep(cells, plan, state, plan->lines);
    while (state->now < tick) {
        state->now = tick - state->now < safe ? tick : state->now + safe;
        sweep(cells, plan, state, plan->lines);
    }
}

/* Let time go on to a tick: tick by tick, each with its share of the sweep; ticks that would
 * sweep lines that are empty at once. */
static void advance(uint8_t *cells, window_plan *plan, window_state *state, uint64_t tick) {
    uint64_t quota = weir__window_form(plan, state)->quota;
    if (state->held == 0) state->now = tick;
    else if (tick - state->now >= plan->lines / quota) leap(cells, plan, state, tick);
    while (state->now < tick) {
        if (state->swept < quota) sweep(cells, plan, state, quota - state->swept);
        state->swept = 0;
        state->now++;
        uint64_t idle = empty_from(plan, state->sweep) / quota, left = tick - state->now;
        if (idle > left) idle = left;
        state->now += idle;
        sweep(cells, plan, state, idle * quota);
    }
    state->swept = 0;
}

/* Times may be negative: count ticks from a point far below any of them. */
static uint64_t ticks_at(const window_form *form, int64_t at) {
    return ((uint64_t)at + (UINT64_C(1) << 63)) / form->tick;
}

typedef struct {
    uint8_t *line;
    unsigned group;
    uint64_t fingerprint;
} window_place;

static window_place place_in(uint8_t *line, const window_form *form, uint64_t value) {
    uint64_t rest;
    unsigned group = (unsigned)weir__part(value, form->groups, &rest);
    return (window_place){line, group, rest >> (64 - form->bits)};
}

static window_place place_of(const uint8_t *cells, const window_plan *plan, const window_form *form,
                             uint64_t hash) {
    uint64_t value, number = weir__part(hash, plan->lines, &value);
    return place_in((uint8_t *)(uintptr_t)cells + number * LINE_BYTES, form, value);
}

static void put_entry(const window_form *form, const window_place *place, unsigned slot,
                      uint32_t stamp) {
    put_bits(place->line, slot_at(form, place->group, slot), entry_bits(form),
             place->fingerprint << form->stamp_bits | stamp);
}

/* Write the entries of a fine line in the coarse form: those that are good in both. */
static void coarsen_line(uint8_t *line, const window_plan *plan, window_state *state,
                         uint64_t now) {
    const window_form *fine = &plan->fine, *coarse = &plan->coarse;
    uint8_t old[LINE_BYTES];
    unsigned used[LINE_BITS / 2 / SLOTS] = {0}; /* slots of each group */
    memcpy(old, line, sizeof old);
    memset(line, 0, LINE_BYTES);
    for (unsigned j = 0; j < fine->slots; j++) {
        uint64_t entry = get_bits(old, slot_at(fine, 0, j), entry_bits(fine));
        uint32_t stamp = (uint32_t)(entry & low_mask(fine->stamp_bits));
        if (!stamp) continue;
        state->held--;
        uint32_t age = age_of(fine, stamp, state->now);
        uint64_t came = (state->now - age) * fine->tick / coarse->tick;
        if (age >= fine->ticks || now - came >= coarse->ticks) continue;
        uint64_t value = (entry >> fine->stamp_bits) << (64 - fine->bits);
        window_place place = place_in(line, coarse, value | UINT64_C(1) << (63 - fine->bits));
        if (used[place.group] == coarse->slots) {
            state->forgotten++;
            continue;
        }
        put_entry(coarse, &place, used[place.group]++, stamp_of(coarse, came));
        state->held++;
    }
}

/* There is no more room for fine stamps. */
static void coarsen(uint8_t *cells, window_plan *plan, window_state *state) {
    uint64_t now = state->now * plan->fine.tick / plan->coarse.tick;
    for (uint64_t i = 0; i < plan->lines; i++)
        coarsen_line(cells + i * LINE_BYTES, plan, state, now);
    state->form = WINDOW_COARSE;
    state->now = now;
    state->swept = state->sweep = plan->clean = 0;
}

static bool is_pressed(const window_plan *plan, const window_state *state) {
    return state->form == WINDOW_FINE && state->held >= plan->lines * plan->fine.slots / PRESSED;
}

bool weir__window_offer(uint8_t *cells, window_plan *plan, window_state *state, uint64_t hash,
                        int64_t at) {
    const window_form *form = weir__window_form(plan, state);
    uint64_t tick = ticks_at(form, at);
    if (state->form == WINDOW_NO_TIME) {
        state->form = plan->has_fine ? WINDOW_FINE : WINDOW_COARSE;
        state->now = tick;
    }
    if (tick > state->now) advance(cells, plan, state, tick);
    if (state->swept < form->quota) sweep(cells, plan, state, 1), state->swept++;

    window_place place = place_of(cells, plan, form, hash);
    unsigned victim = 0;
    uint32_t oldest = 0;
    for (unsigned j = 0; j < form->slots; j++) {
        uint64_t slot = get_bits(place.line, slot_at(form, place.group, j), entry_bits(form));
        uint32_t stamp = (uint32_t)(slot & low_mask(form->stamp_bits));
        uint32_t age = stamp ? age_of(form, stamp, state->now) : form->stamps;
        if (age < form->ticks && slot >> form->stamp_bits == place.fingerprint) {
            if (plan->renew) put_entry(form, &place, j, stamp_of(form, state->now));
            return true;
        }
        if (age >= oldest) oldest = age, victim = j;
    }
    if (oldest < form->ticks && is_pressed(plan, state)) {
        coarsen(cells, plan, state);
        return weir__window_offer(cells, plan, state, hash, at);
    }
    if (oldest < form->ticks) state->forgotten++;
    if (oldest == form->stamps) state->held++;
    put_entry(form, &place, victim, stamp_of(form, state->now));
    mark_used(plan, state, (uint64_t)(place.line - cells) / LINE_BYTES);
    return false;
}

bool weir__window_test(const uint8_t *cells, const window_plan *plan, const window_state *state,
                       uint64_t hash, int64_t at) {
    const window_form *form = weir__window_form(plan, state);
    uint64_t tick = ticks_at(form, at), later = tick > state->now ? tick - state->now : 0;
    window_place place = place_of(cells, plan, form, hash);
    for (unsigned j = 0; j < form->slots && state->form != WINDOW_NO_TIME; j++) {
        uint64_t slot = get_bits(place.line, slot_at(form, place.group, j), entry_bits(form));
        uint32_t stamp = (uint32_t)(slot & low_mask(form->stamp_bits));
        if (stamp && age_of(form, stamp, state->now) + later < form->ticks &&
            slot >> form->stamp_bits == place.fingerprint)
            return true;
    }
    return false;
}

double weir__window_fpr(const window_plan *plan, const window_state *state) {
    const window_form *form = weir__window_form(plan, state);
    return (double)state->held / ((double)plan->lines * form->groups) * ldexp(1, -(int)form->bits);
}

uint64_t weir__window_held(const uint8_t *cells, const window_plan *plan,
                           const window_state *state) {
    const window_form *form = weir__window_form(plan, state);
    uint64_t held = 0;
    for (uint64_t i = 0; i < plan->lines; i++)
        for (unsigned j = 0; j < form->groups * form->slots; j++)
            held += get_bits(cells + i * LINE_BYTES, j * entry_bits(form), form->stamp_bits) != 0;
    return held;
}
