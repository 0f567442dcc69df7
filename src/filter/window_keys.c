/* window_keys.c - what a window does with keys: in places anywhere, one after the other, or
 * in one line, all words at once. window.c tells what the filter does, window_ticks.h how
 * its time passes.
 */
#include <string.h>

#include "core/clock.h"
#include "filter/probe.h"
#include "filter/window_over.h"

enum { PLACE_BITS = 12, PLACE_MASK = 4095, PLACES_A_MIX = 5 }; /* of line_plan_scaled() */
enum { CHUNK = 64, PLACES = 512 };

/* --- one key ------------------------------------------------------------------------ */

/* A place is a word, times 64, and the first bit of a cell in it. */
static inline void classic_places(const weir__window *f, uint64_t hash, uint64_t *places) {
    weir__probes probes = weir__probes_start(hash);
    for (unsigned j = 0; j < f->k; j++) {
        uint64_t rest, word = weir__part(weir__probes_next(&probes), f->words, &rest);
        places[j] = word * 64 + weir__scale(rest, f->a_word) * f->width;
    }
}

/* One at a time, what line_cells_by() finds together. */
static void line_places(const weir__window *f, const uint64_t *line, uint64_t rest,
                        uint64_t *places) {
    uint64_t mix = weir__mix64(rest), from = (uint64_t)(line - f->cells);
    unsigned word = (unsigned)(mix >> 61);
    for (unsigned j = 0; j < f->k; j++, word++, mix >>= PLACE_BITS) {
        if (j && j % PLACES_A_MIX == 0) mix = weir__mix64(rest += UINT64_C(0x9e3779b97f4a7c15));
        uint64_t cell = (mix & PLACE_MASK) * f->a_word >> PLACE_BITS;
        places[j] = (from + word % WEIR__LINE_WORDS) * 64 + cell * f->width;
    }
}

static inline uint64_t value_at(const weir__window *f, uint64_t place) {
    return f->cells[place / 64] >> place % 64 & f->mask;
}

static bool enough_are_equal(const weir__window *f, const uint64_t *places) {
    uint8_t times[WEIR__MARKS + 1] = {0};
    unsigned most = 0;
    for (unsigned j = 0; j < f->k; j++) {
        unsigned n = ++times[value_at(f, places[j])];
        if (n > most) most = n;
    }
    return most >= f->equal;
}

static inline bool is_known(const weir__window *f, const uint64_t *places, uint64_t running) {
    uint64_t all = f->jumping ? running : 1;
    if (f->jumping)
        for (unsigned j = 0; j < f->k; j++) all &= f->cells[places[j] / 64] >> places[j] % 64;
    else
        for (unsigned j = 0; j < f->k; j++) all &= running >> value_at(f, places[j]);
    return all && (f->equal < 2 || enough_are_equal(f, places));
}

static inline void touch(weir__window *f, uint64_t word) {
    uint64_t block = word / WEIR__SWEPT_WORDS;
    f->dirty[block / 64] |= UINT64_C(1) << block % 64;
}

static inline void set_generation(weir__window *f, const uint64_t *places, unsigned mark) {
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
static inline void set_timers(weir__window *f, const uint64_t *places, unsigned k, unsigned mark) {
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

static inline void remember(weir__window *f, const uint64_t *places) {
    unsigned mark = weir__window_mark(f, f->state.newest);
    if (f->jumping) set_generation(f, places, mark);
    else set_timers(f, places, f->k, mark);
    for (unsigned j = 0; j < f->k; j++) weir__window_touch(f, places[j] / 64);
    if (weir__window_has_too_much(f, mark)) weir__window_make_room(f);
}

static inline bool offer_one(weir__window *f, const uint64_t *places, uint64_t at) {
    weir__window_pass_time(f, at);
    bool known = is_known(f, places, f->state.running);
    if (!known || f->renew) remember(f, places);
    return known;
}

/* --- one key in its line: all words at once -------------------------------------------- */

typedef struct {
    uint64_t *line, rest;
} key_line;

HOT key_line line_of(const weir__window *f, uint64_t hash) {
    key_line key;
    key.line = weir__line_of(&f->base, f->lines, hash, &key.rest);
    return key;
}

/* A cell that ran loses its old mark: the first of those laid together from word `lane` on.
 * If there is none, nothing is lost. */
HOT void lose_first(weir__window *f, const uint64_t *line, unsigned lane, uint64_t ran,
                    unsigned mark) {
    unsigned at = ran ? (unsigned)__builtin_ctzll(ran) : 0, low = f->low_of[at], apart = at - low;
    uint64_t value = line[lane + 4 * (apart & 1) + (apart & 2)] >> low & f->mask;
    f->state.count[ran ? value - 1 : mark] -= ran != 0;
}

/* Few of a key's cells ran. How many cannot be foreseen, so that one loop goes through two
 * words: a wrong guess costs more than a turn that does nothing. */
HOT void lose_both(weir__window *f, const uint64_t *line, unsigned lane, uint64_t a, uint64_t b,
                   unsigned mark) {
    for (; a | b; a &= a - 1, b &= b - 1) {
        lose_first(f, line, lane, a, mark);
        lose_first(f, line, lane + 1, b, mark);
    }
}

HOT void lose_marks(weir__window *f, const uint64_t *line, cell_bits ran, unsigned mark) {
    lose_both(f, line, 0, ran.word[0], ran.word[1], mark);
    lose_both(f, line, 2, ran.word[2], ran.word[3], mark);
}

/* Whether enough of a known key's cells are equal. */
static bool line_has_equal(const weir__window *f, key_line key) {
    uint64_t places[WEIR__K_MOST];
    line_places(f, key.line, key.rest, places);
    return enough_are_equal(f, places);
}

/* Known if none of its cells is over. What follows is done for known keys as well, to no
 * cell of theirs: whether a key is known cannot be foreseen. */
HOT bool offer_timers(weir__window *f, key_line key, const over_rule *rule, over_kind kind,
                      unsigned width) {
    line_halves mine;
    half_line words[HALVES], over[HALVES], set[HALVES];
    line_cells_by(&f->plan, key.rest, width, true, &mine);
    for (unsigned h = 0; h < HALVES; h++) {
        words[h] = load_half(key.line + h * HALF_WORDS);
        over[h] = over_in(words[h], rule, kind, width);
    }
    bool known = !any_bit((mine.half[0] & over[0]) | (mine.half[1] & over[1]));
    if (known && f->equal > 1) known = line_has_equal(f, key);
    const half_line value = rule->lows * (rule->newest + 1),
                    left_alone = each_word(-(uint64_t)(known && !f->renew));
    for (unsigned h = 0; h < HALVES; h++) set[h] = mine.half[h] & ~left_alone;
    half_line low = set[0] & rule->lows, high = set[1] & rule->lows;
    cell_bits ran = lay_together(low & ~over[0], high & ~over[1], width);
    uint64_t all = count_bits(lay_together(low, high, width)), still = count_bits(ran);
    f->state.idle -=
        cells_in(words[0] & set[0] & over[0], words[1] & set[1] & over[1], rule, kind, width);
    lose_marks(f, key.line, ran, rule->newest);
    for (unsigned h = 0; h < HALVES; h++)
        store_half(key.line + h * HALF_WORDS, (words[h] & ~set[h]) | (value & set[h]));
    f->state.count[rule->newest] += all;
    f->state.live += all - still;
    return known;
}

/* Known if one generation is left in all of its cells. */
HOT bool offer_generations(weir__window *f, key_line key, const over_rule *rule, unsigned width) {
    line_halves mine;
    line_cells_by(&f->plan, key.rest, width, true, &mine);
    half_line low = load_half(key.line), high = load_half(key.line + HALF_WORDS);
    half_line both = (low | ~mine.half[0]) & (high | ~mine.half[1]);
    uint64_t all = both[0] & both[1] & both[2] & both[3], lanes = f->state.running;
    for (unsigned i = 0; i < 64 / width; i++) lanes &= all >> i * width;
    bool known = lanes != 0;
    const half_line bits =
        rule->lows << rule->newest & each_word((uint64_t)(known && !f->renew) - 1);
    half_line new_low = mine.half[0] & bits & ~low, new_high = mine.half[1] & bits & ~high;
    uint64_t n = cells_in(new_low, new_high, rule, GENERATIONS, width);
    store_half(key.line, low | new_low);
    store_half(key.line + HALF_WORDS, high | new_high);
    f->state.count[rule->newest] += n;
    f->state.live += n;
    return known;
}

HOT bool offer_in_line(weir__window *f, key_line key, const over_rule *rule, unsigned width,
                       bool jumping) {
    bool known = jumping                ? offer_generations(f, key, rule, width)
                 : rule->kind == TIMERS ? offer_timers(f, key, rule, TIMERS, width)
                                        : offer_timers(f, key, rule, TIMERS_AROUND, width);
    weir__window_touch(f, (uint64_t)(key.line - f->cells));
    if (weir__window_has_too_much(f, rule->newest)) weir__window_make_room(f);
    return known;
}

/* --- batches -------------------------------------------------------------------------- */

static inline uint64_t instant_of(weir__window *f, const weir_batch *batch, size_t i, int64_t now) {
    if (!f->is_time) return ++f->state.records;
    return weir__window_instant(weir__batch_time(batch, i, now));
}

/* Keys per round: so many that their places fill, but do not flood, the nearest cache. */
static size_t classic_chunk(const weir__window *f) {
    size_t keys = PLACES / f->k;
    return keys < CHUNK ? keys : CHUNK;
}

static void find_chunk(const weir__window *f, const uint64_t *hashes, size_t n, uint64_t *places) {
    for (size_t i = 0; i < n; i++, places += f->k) {
        classic_places(f, hashes[i], places);
        for (unsigned j = 0; j < f->k; j++) __builtin_prefetch(&f->cells[places[j] / 64], 1);
    }
}

static size_t classic_offer(weir__window *f, const weir_batch *batch, uint64_t *verdicts,
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

/* The part that a round of keys has in what the sweep visits next. */
HOT void ask_for_swept(const weir__window *f) {
    uint64_t pace = f->state.pace < 4 ? f->state.pace : 4, block = f->state.visits % f->blocks;
    uint64_t line = block * WEIR__SWEPT_LINES + f->state.keys % WEIR__SWEEP_EVERY * pace;
    uint64_t end = line + WEIR__ROUND * pace;
    if (f->state.visits >= f->state.due || end > f->lines) return;
    for (; line < end; line++) __builtin_prefetch(f->cells + line * WEIR__LINE_WORDS, 1);
}

HOT void ask_for_round(const weir__window *f, const weir_batch *batch, size_t from,
                       key_line *ring) {
    ask_for_swept(f);
    for (size_t i = from; i < from + WEIR__ROUND && i < batch->count; i++) {
        key_line *key = &ring[i % (2 * WEIR__ROUND)];
        *key = line_of(f, batch->hashes[i]);
        __builtin_prefetch(key->line, 1);
    }
}

/* Lines are asked for a round of keys before they are needed (lines.h). The rule changes
 * only when a tick begins or ends. */
HOT size_t offer_lines(weir__window *f, const weir_batch *batch, uint64_t *verdicts, int64_t now,
                       unsigned width, bool jumping) {
    key_line ring[2 * WEIR__ROUND];
    over_rule rule = over_rule_of(f);
    uint64_t ticks = f->state.oldest ^ f->state.newest << 8;
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + WEIR__ROUND; i++) {
        if (i % WEIR__ROUND == 0) ask_for_round(f, batch, i, ring);
        if (i < WEIR__ROUND) continue;
        size_t at = i - WEIR__ROUND;
        weir__window_pass_time(f, instant_of(f, batch, at, now));
        if (ticks != (f->state.oldest ^ f->state.newest << 8))
            rule = over_rule_of(f), ticks = f->state.oldest ^ f->state.newest << 8;
        bool known = offer_in_line(f, ring[at % (2 * WEIR__ROUND)], &rule, width, jumping);
        weir__mark_seen(verdicts, at, known);
        seen += known;
    }
    return seen;
}

/* The widths of timers apart, so that the compiler knows them. */
HOT size_t block_offer_all(weir__window *f, const weir_batch *batch, uint64_t *verdicts,
                           int64_t now) {
    if (f->jumping) return offer_lines(f, batch, verdicts, now, f->width, true);
    switch (f->width) {
    case 3:
        return offer_lines(f, batch, verdicts, now, 3, false);
    case 4:
        return offer_lines(f, batch, verdicts, now, 4, false);
    case 5:
        return offer_lines(f, batch, verdicts, now, 5, false);
    default:
        return offer_lines(f, batch, verdicts, now, 6, false);
    }
}
FOR_EACH_CPU(size_t, block_offer,
             (weir__window * f, const weir_batch *batch, uint64_t *verdicts, int64_t now),
             (f, batch, verdicts, now))

size_t weir__window_offer_keys(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    weir__window *f = (weir__window *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    return f->block ? block_offer(f, batch, verdicts, now) : classic_offer(f, batch, verdicts, now);
}

static bool test_one(const weir__window *f, const weir_batch *batch, size_t i,
                     const uint64_t *places, int64_t now) {
    uint64_t at =
        f->is_time ? weir__window_instant(weir__batch_time(batch, i, now)) : f->state.records + 1;
    return f->state.started && is_known(f, places, weir__window_running_at(f, at));
}

static void line_chunk(const weir__window *f, const weir_batch *batch, size_t at,
                       uint64_t *places) {
    key_line key = line_of(f, batch->hashes[at]);
    if (at + WEIR__ROUND < batch->count)
        __builtin_prefetch(line_of(f, batch->hashes[at + WEIR__ROUND]).line, 0);
    line_places(f, key.line, key.rest, places);
}

size_t weir__window_test_keys(const weir_filter *base, const weir_batch *batch,
                              uint64_t *verdicts) {
    const weir__window *f = (const weir__window *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    uint64_t places[PLACES];
    size_t seen = 0, chunk = f->block ? 1 : classic_chunk(f);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        if (f->block) line_chunk(f, batch, at, places);
        else find_chunk(f, batch->hashes + at, n, places);
        for (size_t i = 0; i < n; i++) {
            bool known = test_one(f, batch, at + i, places + i * f->k, now);
            weir__mark_seen(verdicts, at + i, known);
            seen += known;
        }
    }
    return seen;
}

/* --- as an array of places: what cutting it into ranges needs --------------------------- */

/* Timers one by one; the other forms look at all cells of a key together. */
static unsigned places_shape(const weir_filter *base, uint64_t *places) {
    const weir__window *f = (const weir__window *)base;
    *places = f->words * 64;
    return f->block || f->jumping || f->equal > 1 || f->renew ? 0 : f->k;
}

static void places_find(const weir_filter *base, uint64_t hash, uint64_t *places) {
    classic_places((const weir__window *)base, hash, places);
}

static void places_advance(weir_filter *base, const weir_batch *batch, size_t i, bool offering) {
    weir__window *f = (weir__window *)base;
    if (!offering && !f->is_time) return;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    weir__window_pass_time(f, instant_of(f, batch, i, now));
}

static bool place_is_on(const weir_filter *base, uint64_t place) {
    const weir__window *f = (const weir__window *)base;
    return f->state.running >> value_at(f, place) & 1;
}

static void place_switch_on(weir_filter *base, uint64_t place) {
    weir__window *f = (weir__window *)base;
    set_timers(f, &place, 1, weir__window_mark(f, f->state.newest));
    weir__window_touch(f, place / 64);
}

static void places_took_key(weir_filter *base) {
    weir__window *f = (weir__window *)base;
    if (weir__window_has_too_much(f, weir__window_mark(f, f->state.newest)))
        weir__window_make_room(f);
}

/* A cell that is emptied no longer counts as running, or as over. */
static void places_switch_off(weir_filter *base, uint64_t first, uint64_t end) {
    weir__window *f = (weir__window *)base;
    for (uint64_t word = first / 64; word < f->words && word * 64 < end; word++)
        for (unsigned i = 0; i < f->a_word; i++) {
            uint64_t place = word * 64 + i * f->width, value = value_at(f, place);
            if (place < first || place >= end || value == 0) continue;
            if (f->state.running >> value & 1) f->state.count[value - 1]--, f->state.live--;
            else f->state.idle--;
            f->cells[word] ^= value << place % 64;
        }
}

static double places_share_on(const weir_filter *base, uint64_t first, uint64_t end) {
    const weir__window *f = (const weir__window *)base;
    uint64_t on = 0, cells = 0;
    for (uint64_t word = first / 64; word < f->words && word * 64 < end; word++)
        for (unsigned i = 0; i < f->a_word; i++) {
            uint64_t place = word * 64 + i * f->width;
            if (place < first || place >= end) continue;
            on += place_is_on(base, place);
            cells++;
        }
    return cells ? (double)on / (double)cells : 0;
}

const weir__places weir__window_places = {.shape = places_shape,
                                          .find = places_find,
                                          .advance = places_advance,
                                          .is_on = place_is_on,
                                          .switch_on = place_switch_on,
                                          .took_key = places_took_key,
                                          .switch_off = places_switch_off,
                                          .share_on = places_share_on,
                                          .once = true};
