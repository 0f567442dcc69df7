/* recent_window.c - the lines of `recent` when it forgets by age.
 *
 * Question   has this key come by within the window?
 * Idea       each entry is a fingerprint with the tick in which it came. The
 *            window is cut into T ticks; an entry is good in the tick in which it
 *            came and the T - 1 after it. A NEW key takes a slot whose entry is
 *            past its time or else the oldest of its group. A repeat leaves its
 *            entry alone, or with `renew` puts the present tick on it.
 * Parameters G groups of s slots in a line, fingerprints of b bits, s 2^-b <= fpr,
 *            stamps of w bits. A tick is ceil(window / most), most = 48 ticks with
 *            w = 6. With memory to spare, 16 slots for each record of a window, w goes
 *            up to 17, so that windows of up to 65,536 records are exact to the record;
 *            T = floor(window / tick), and one more where a tick is one record.
 * Error      an entry lives at most the window and more than the window less two
 *            ticks (one if 48 divides it; none where a tick is one record). False positives: at
 * most s 2^-b, and only live entries count. False negatives: as by age, and when more keys fall to
 * a group within a window than it has slots. Cost       one line per key, and one more swept while
 * this tick's share is not done. Layout     slot j of group g at bit (g s + j)(w + b) of the line:
 * w bits of stamp, b of fingerprint. Stamp 0 is an empty slot; tick t has the stamp t mod S + 1, S
 * = 2^w - 1.
 *
 * An old stamp must never be taken for a new one. Stamps come around after S ticks,
 * entries are good for T of them, so each entry has S - T ticks in which it must be
 * cleared: 15 where S = 63 and T = 48. Each tick sweeps its share of the lines, a
 * fourteenth there: one line with each key, and what is left of it when the tick changes. When the
 * clock jumps, the ticks that were jumped over sweep their share too, at most all lines once.
 */
#include "filter/recent/recent_window.h"

#include <math.h>

#include "filter/filter.h"
#include "filter/recent/recent_shared.h"

enum {
    STAMP_LEAST = 6,
    STAMP_MOST = 17,
    TICKS_LEAST = 48, /* with the least stamps */
    TICKS_MOST = 65536,
    SLOT_MOST = 57, /* bits that can be read at once */
    SLOTS = 8,
    SPARE = 16 /* slots for each record of a window that is to be exact */
};

static unsigned ticks_of(unsigned stamp_bits) {
    return stamp_bits == STAMP_LEAST ? TICKS_LEAST : 1u << (stamp_bits - 1);
}

static void plan_slots(window_plan *plan, double fpr, uint64_t span) {
    unsigned most = ticks_of(plan->stamp_bits);
    plan->tick = (span + most - 1) / most;
    plan->ticks = (unsigned)(span / plan->tick) + (plan->tick == 1); /* to the record: span back */
    plan->stamps = (1u << plan->stamp_bits) - 1;
    plan->bits = (unsigned)ceil(log2(SLOTS / fpr));
    plan->slots = SLOTS;
    unsigned fit = LINE_BITS / (plan->stamp_bits + plan->bits);
    plan->groups = fit / SLOTS ? fit / SLOTS : 1;
    /* As many slots as fit: 17 slots are two groups of 8, 15 two of 7. */
    if (fit < plan->groups * SLOTS + SLOTS / 2)
        plan->slots = fit / plan->groups < SLOTS ? fit / plan->groups : SLOTS;
    else plan->groups++, plan->slots = fit / plan->groups;
    unsigned sweeping = plan->stamps - plan->ticks - 1;
    plan->quota = (plan->lines + sweeping - 1) / sweeping;
}

/* As fine as the memory allows: the fewest bits with which ticks are single records, if these
 * leave slots to spare, else the least bits. */
void weir__window_plan(window_plan *plan, uint64_t lines, double fpr, uint64_t span, bool renew) {
    *plan = (window_plan){.lines = lines, .renew = renew, .stamp_bits = STAMP_LEAST};
    while (plan->stamp_bits < STAMP_MOST && ticks_of(plan->stamp_bits) < span) plan->stamp_bits++;
    plan_slots(plan, fpr, span);
    uint64_t slots = lines * plan->groups * plan->slots;
    if (plan->stamp_bits == STAMP_LEAST ||
        (span <= TICKS_MOST && slots / SPARE >= span && plan->stamp_bits + plan->bits <= SLOT_MOST))
        return;
    plan->stamp_bits = STAMP_LEAST;
    plan_slots(plan, fpr, span);
}

static unsigned slot_at(const window_plan *plan, unsigned group, unsigned slot) {
    return (group * plan->slots + slot) * (plan->stamp_bits + plan->bits);
}

static unsigned stamp_of(const window_plan *plan, uint64_t tick) {
    return (unsigned)(tick % plan->stamps) + 1;
}

/* Ticks since a stamp was set, 0 .. S - 1. */
static unsigned age_of(const window_plan *plan, unsigned stamp, uint64_t tick) {
    unsigned now = stamp_of(plan, tick);
    return now >= stamp ? now - stamp : now + plan->stamps - stamp;
}

static bool is_empty(const uint8_t *line) {
    uint64_t any = 0;
    for (unsigned k = 0; k < 8; k++) any |= get_word(line, k);
    return any == 0;
}

static void sweep_line(uint8_t *line, const window_plan *plan, window_state *state) {
    if (is_empty(line)) return;
    for (unsigned g = 0; g < plan->groups; g++)
        for (unsigned j = 0; j < plan->slots; j++) {
            unsigned at = slot_at(plan, g, j);
            unsigned stamp = (unsigned)get_bits(line, at, plan->stamp_bits);
            if (!stamp || age_of(plan, stamp, state->now) < plan->ticks) continue;
            put_bits(line, at, plan->stamp_bits + plan->bits, 0);
            state->held--;
        }
}

static void sweep(uint8_t *cells, const window_plan *plan, window_state *state, uint64_t lines) {
    for (; lines; lines--) {
        sweep_line(cells + state->sweep * LINE_BYTES, plan, state);
        if (++state->sweep == plan->lines) state->sweep = 0;
    }
}

/* Let time go on to a tick. The sweep goes tick by tick as long as an old stamp
 * could come around; beyond that everything is past its time, and one round with
 * the last tick before stamps come around clears it. */
static void advance(uint8_t *cells, const window_plan *plan, window_state *state, uint64_t tick) {
    uint64_t steps = 0;
    if (state->held == 0) { /* nothing to sweep; what is left of old entries has no stamp */
        state->swept = 0;
        state->now = tick;
    }
    while (state->now < tick && steps++ < plan->stamps) {
        if (state->swept < plan->quota) sweep(cells, plan, state, plan->quota - state->swept);
        state->swept = 0;
        state->now++;
    }
    state->now = tick;
}

/* Times may be negative: count ticks from a point far below any of them. */
static uint64_t tick_of(const window_plan *plan, int64_t at) {
    return ((uint64_t)at + (UINT64_C(1) << 63)) / plan->tick;
}

typedef struct {
    uint8_t *line;
    unsigned group;
    uint64_t fingerprint;
} window_place;

static window_place place_of(const uint8_t *cells, const window_plan *plan, uint64_t hash) {
    uint64_t value, rest, number = weir__part(hash, plan->lines, &value);
    unsigned group = (unsigned)weir__part(value, plan->groups, &rest);
    return (window_place){(uint8_t *)(uintptr_t)cells + number * LINE_BYTES, group,
                          rest >> (64 - plan->bits)};
}

bool weir__window_offer(uint8_t *cells, const window_plan *plan, window_state *state, uint64_t hash,
                        int64_t at) {
    uint64_t tick = tick_of(plan, at);
    if (!state->started) state->started = 1, state->now = tick;
    if (tick > state->now) advance(cells, plan, state, tick);
    if (state->swept < plan->quota) sweep(cells, plan, state, 1), state->swept++;

    window_place place = place_of(cells, plan, hash);
    unsigned victim = 0, oldest = 0, size = plan->stamp_bits + plan->bits;
    for (unsigned j = 0; j < plan->slots; j++) {
        uint64_t slot = get_bits(place.line, slot_at(plan, place.group, j), size);
        unsigned stamp = (unsigned)(slot & low_mask(plan->stamp_bits));
        unsigned age = stamp ? age_of(plan, stamp, state->now) : plan->stamps;
        if (age < plan->ticks && slot >> plan->stamp_bits == place.fingerprint) {
            if (plan->renew)
                put_bits(place.line, slot_at(plan, place.group, j), plan->stamp_bits,
                         stamp_of(plan, state->now));
            return true;
        }
        if (age >= oldest) oldest = age, victim = j;
    }
    if (oldest < plan->ticks) state->forgotten++;
    if (oldest == plan->stamps) state->held++;
    put_bits(place.line, slot_at(plan, place.group, victim), size,
             place.fingerprint << plan->stamp_bits | stamp_of(plan, state->now));
    return false;
}

bool weir__window_test(const uint8_t *cells, const window_plan *plan, const window_state *state,
                       uint64_t hash, int64_t at) {
    uint64_t tick = tick_of(plan, at), later = tick > state->now ? tick - state->now : 0;
    window_place place = place_of(cells, plan, hash);
    for (unsigned j = 0; j < plan->slots && state->started; j++) {
        uint64_t slot =
            get_bits(place.line, slot_at(plan, place.group, j), plan->stamp_bits + plan->bits);
        unsigned stamp = (unsigned)(slot & low_mask(plan->stamp_bits));
        if (stamp && age_of(plan, stamp, state->now) + later < plan->ticks &&
            slot >> plan->stamp_bits == place.fingerprint)
            return true;
    }
    return false;
}

double weir__window_fpr(const window_plan *plan, const window_state *state) {
    return (double)state->held / ((double)plan->lines * plan->groups) * ldexp(1, -(int)plan->bits);
}

uint64_t weir__window_held(const uint8_t *cells, const window_plan *plan) {
    uint64_t held = 0;
    for (uint64_t i = 0; i < plan->lines; i++)
        for (unsigned g = 0; g < plan->groups; g++)
            for (unsigned j = 0; j < plan->slots; j++)
                held +=
                    get_bits(cells + i * LINE_BYTES, slot_at(plan, g, j), plan->stamp_bits) != 0;
    return held;
}
