/* window_keys.c - what a window does with keys: in places anywhere, one after the other, or
 * in one line, all words at once. window.c tells what the filter does, window_ticks.h how
 * its time passes.
 *
 * Timers in lines go by rounds of 16 keys: their lines are asked for and their cells found,
 * then those of the round before are decided on, in order. A round of a key's cells, one in
 * each word, is read, tested and set together.
 */
#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/clock.h"
#include "filter/probe.h"
#include "filter/window/window_over.h"

enum { PLACE_BITS = 12, PLACE_MASK = 4095, PLACES_A_MIX = 5 }; /* of line_plan_scaled() */
enum {
    CHUNK = 64,   /* classic: keys of a round at most */
    PLACES = 512, /* classic: places of a round at most, 4 KiB */
    FEW = 4       /* a batch of at most this many keys is offered key by key */
};

/* --- one key ------------------------------------------------------------------------ */

/* A place is a word, times 64, and the first bit of a cell in it. */
static inline void classic_places(const weir__window *f, uint64_t hash, uint64_t *places) {
    assert(f->words && f->a_word * f->width <= 64);
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
        if (j && j % PLACES_A_MIX == 0) mix = weir__mix64(rest += WEIR__GOLD);
        uint64_t cell = (mix & PLACE_MASK) * f->a_word >> PLACE_BITS;
        places[j] = (from + word % WEIR__LINE_WORDS) * 64 + cell * f->width;
    }
}

static inline uint64_t value_at(const weir__window *f, uint64_t place) {
    assert(place / 64 < f->words);
    return f->cells[place / 64] >> place % 64 & f->mask;
}

/* The same among values too many to count by. */
static bool enough_fine_are_equal(const weir__window *f, const uint64_t *places) {
    unsigned most = 0;
    for (unsigned j = 0; j < f->k; j++) {
        unsigned n = 0;
        for (unsigned i = 0; i < f->k; i++) n += value_at(f, places[i]) == value_at(f, places[j]);
        if (n > most) most = n;
    }
    return most >= f->equal;
}

static bool enough_are_equal(const weir__window *f, const uint64_t *places) {
    assert(f->fine || f->width <= WEIR__WIDTH_BLOCK);
    if (f->fine) return enough_fine_are_equal(f, places);
    uint8_t times[WEIR__MARKS + 1] = {0};
    unsigned most = 0;
    for (unsigned j = 0; j < f->k; j++) {
        unsigned n = ++times[value_at(f, places[j])];
        if (n > most) most = n;
    }
    return most >= f->equal;
}

static inline bool is_known(const weir__window *f, const uint64_t *places, uint64_t running,
                            uint64_t oldest) {
    uint64_t all = f->jumping ? running : 1;
    if (f->fine)
        for (unsigned j = 0; j < f->k && all; j++)
            all = weir__window_runs(f, value_at(f, places[j]), oldest);
    else if (f->jumping)
        for (unsigned j = 0; j < f->k; j++) all &= f->cells[places[j] / 64] >> places[j] % 64;
    else
        for (unsigned j = 0; j < f->k; j++) all &= running >> value_at(f, places[j]);
    return all && (f->equal < 2 || enough_are_equal(f, places));
}

static inline void set_generation(weir__window *f, const uint64_t *places, unsigned mark) {
    assert(f->jumping && mark < f->width);
    uint64_t added = 0;
    for (unsigned j = 0; j < f->k; j++) {
        uint64_t *word = &f->cells[places[j] / 64], at = places[j] % 64 + mark;
        added += ~(*word >> at) & 1;
        *word |= UINT64_C(1) << at;
    }
    f->count[mark] += added;
    f->state.live += added;
}

/* Which cells ran before is noted as bits, since a branch on each would be guessed wrong
 * too often. */
static inline void set_timers(weir__window *f, const uint64_t *places, unsigned k, unsigned mark) {
    assert(!f->jumping && !f->fine && k <= WEIR__K_MOST && mark < f->mask);
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
    for (; ran; ran &= ran - 1) f->count[before[__builtin_ctz(ran)] - 1]--;
    f->count[mark] += k;
    f->state.live += awakened;
    f->state.idle -= awakened - empty;
}

static inline void set_fine(weir__window *f, const uint64_t *places, unsigned k, unsigned mark) {
    assert(f->fine && mark < f->marks);
    for (unsigned j = 0; j < k; j++) {
        uint64_t *word = &f->cells[places[j] / 64], old = value_at(f, places[j]);
        bool ran = weir__window_runs(f, old, f->state.oldest);
        *word ^= (old ^ (mark + 1)) << places[j] % 64;
        f->count[mark]++;
        if (ran) f->count[old - 1]--;
        else f->state.live++, f->state.idle -= old != 0;
    }
}

static inline void remember(weir__window *f, const uint64_t *places) {
    unsigned mark = weir__window_mark(f, f->state.newest);
    if (f->jumping) set_generation(f, places, mark);
    else if (f->fine) set_fine(f, places, f->k, mark);
    else set_timers(f, places, f->k, mark);
    for (unsigned j = 0; j < (f->block ? 1 : f->k); j++) weir__window_touch(f, places[j] / 64);
    if (weir__window_has_too_much(f, mark)) weir__window_make_room(f);
}

static inline bool offer_one(weir__window *f, const uint64_t *places, uint64_t at) {
    weir__window_pass_time(f, at);
    bool known = is_known(f, places, f->state.running, f->state.oldest);
    if (!known || f->renew) remember(f, places);
    return known;
}

/* --- timers of one key in its line: all words at once ---------------------------------- */

typedef struct {
    uint64_t *line, rest;
} key_line;

HOT key_line line_of(const weir__window *f, uint64_t hash) {
    key_line key;
    key.line = weir__line_of(&f->base, f->lines, hash, &key.rest);
    return key;
}

/* Whether enough of a known key's cells are equal. */
static bool line_has_equal(const weir__window *f, key_line key) {
    uint64_t places[WEIR__K_MOST];
    line_places(f, key.line, key.rest, places);
    return enough_are_equal(f, places);
}

/* A key whose cells have been found: by word of the line and round after round, the first
 * bit of each. `late`: by how much the words are turned. */
typedef struct {
    _Alignas(WEIR__LINE) uint64_t at[LINE_ROUNDS_MOST * WEIR__LINE_WORDS];
    key_line key;
    unsigned late;
} timer_key;

/* What is the same for many keys, and what they change in the counts. These are brought up
 * to date before anybody looks at them: when a tick begins or ends, when the sweep goes on,
 * which is with every 64th key, and when enough new keys have come for there to be too
 * much. */
enum { LOST_MOST = WEIR__SWEEP_EVERY * WEIR__K_MOST };
typedef struct {
    uint64_t value, over; /* what is written; as bits: values of cells that do not run */
    int64_t spare;        /* new keys that may come before the counts are looked at */
    uint64_t keys;        /* new keys, and the values that they overwrote, some of empty cells: */
    unsigned lost;
    uint64_t next_swept, swept_a_key;              /* lines of the sweep */
    uint8_t values[LOST_MOST + sizeof(half_line)]; /* room for what is written past the last */
} timer_run;

/* After the counts were changed: a key adds at most k cells. */
static void go_on(const weir__window *f, timer_run *run) {
    unsigned mark = weir__window_mark(f, f->state.newest);
    uint64_t count = f->count[mark], live = f->state.live;
    uint64_t ends = count < f->early ? f->early - 1 - count : 0,
             fits = live < f->limit ? f->limit - live : 0;
    run->value = mark + 1;
    run->over = ~f->state.running;
    run->spare = (int64_t)((ends < fits ? ends : fits) / f->k);
    run->next_swept = f->state.visits % f->blocks * WEIR__SWEPT_LINES;
    run->swept_a_key = f->state.visits >= f->state.due ? 0 : f->state.pace < 4 ? f->state.pace : 4;
}

/* Each new key has set k cells, one after the other: what one of them overwrote is empty, is
 * over, or ran. Values are counted in four columns in turn, since many are alike and one
 * would wait for its last change. */
static __attribute__((noinline)) void count_run(weir__window *f, timer_run *run) {
    uint16_t times[WEIR__MARKS + 1][4];
    uint64_t set = run->keys * f->k, ran = 0;
    memset(times, 0, (f->marks + 1) * sizeof *times);
    for (unsigned i = 0; i < run->lost; i++) times[run->values[i]][i % 4]++;
    for (unsigned mark = 0; mark < f->marks; mark++) {
        const uint16_t *of = times[mark + 1];
        uint64_t n = (uint64_t)of[0] + of[1] + of[2] + of[3];
        bool runs = f->state.running & weir__window_running_bit(f, mark);
        f->count[mark] -= runs ? n : 0;
        f->state.idle -= runs ? 0 : n;
        ran += runs ? n : 0;
    }
    f->count[run->value - 1] += set;
    f->state.live += set - ran;
    run->keys = 0;
    run->lost = 0;
}

static __attribute__((noinline)) void look_at_counts(weir__window *f, timer_run *run) {
    count_run(f, run);
    if (weir__window_has_too_much(f, weir__window_mark(f, f->state.newest)))
        weir__window_make_room(f);
    go_on(f, run);
}

static __attribute__((noinline)) void pass_event(weir__window *f, timer_run *run, uint64_t at) {
    count_run(f, run);
    weir__window_pass_time(f, at);
    go_on(f, run);
}

#if defined(__x86_64__)
/* offer_timers() with the line in one register. Empty cells are not noted. */
FOR_AVX512 static inline bool offer_timers_wide(weir__window *f, const timer_key *key,
                                                timer_run *run, unsigned rounds) {
    const __m512i value = _mm512_set1_epi64((long long)run->value),
                  over = _mm512_set1_epi64((long long)run->over);
    __m512i line = _mm512_loadu_si512(key->key.line), any_over = _mm512_setzero_si512(),
            before = any_over;
    for (unsigned r = 0; r < rounds; r++) {
        __m512i at = _mm512_load_si512(key->at + r * WEIR__LINE_WORDS);
        __m512i mine = r + 1 < rounds ? _mm512_set1_epi64((long long)f->mask)
                                      : _mm512_loadu_si512(f->last_round + key->late);
        __m512i shown = _mm512_srlv_epi64(line, at), was = _mm512_and_si512(shown, mine);
        __m512i change = _mm512_and_si512(_mm512_xor_si512(shown, value), mine);
        any_over = _mm512_or_si512(any_over, _mm512_and_si512(_mm512_srlv_epi64(over, was), mine));
        before = _mm512_or_si512(before, _mm512_slli_epi64(was, 8 * r));
        line = _mm512_xor_si512(line, _mm512_sllv_epi64(change, at));
    }
    bool known = !_mm512_test_epi64_mask(any_over, _mm512_set1_epi64(1));
    if (f->equal > 1 && known) known = line_has_equal(f, key->key);
    const bool sets = !known | f->renew; /* not a branch, which would be guessed wrong */
    _mm512_mask_storeu_epi64(key->key.line, (__mmask8)-sets, line);
    __m256i lost = _mm512_cvtepi64_epi32(before);
    __mmask32 set = _mm256_test_epi8_mask(lost, lost) & -(uint32_t)sets;
    _mm256_storeu_si256((__m256i *)(run->values + run->lost),
                        _mm256_maskz_compress_epi8(set, lost));
    run->lost += (unsigned)__builtin_popcount(set);
    run->keys += sets;
    run->spare -= sets;
    return known;
}
#else
#define offer_timers_wide(...) false
#endif

/* `before`: the values of a key's cells, one in each byte from the lowest. */
HOT void note_lost(timer_run *run, half_line before, unsigned rounds, bool sets) {
    unsigned bytes = HALVES * rounds;
    for (unsigned lane = 0; lane < HALF_WORDS; lane++) {
        uint64_t word = before[lane];
        for (unsigned i = 0; i < bytes; i++)
            run->values[run->lost + lane * bytes + i] = (uint8_t)(word >> 8 * i);
    }
    run->lost += sets ? HALF_WORDS * bytes : 0;
}

/* Known if none of its cells is over. What follows is done for known keys as well, to no
 * cell of theirs: whether a key is known cannot be foreseen. A cell that comes twice is
 * overwritten twice. */
HOT bool offer_timers(weir__window *f, const timer_key *key, timer_run *run, unsigned rounds,
                      cpu_kind cpu) {
    if (cpu == CPU_AVX512) return offer_timers_wide(f, key, run, rounds);
    const half_line value = each_word(run->value), over = each_word(run->over);
    half_line old[HALVES], new[HALVES], any_over = {0}, before = {0};
    for (unsigned h = 0; h < HALVES; h++)
        old[h] = new[h] = load_half(key->key.line + h * HALF_WORDS);
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned h = 0; h < HALVES; h++) {
            half_line at = load_half(key->at + r * WEIR__LINE_WORDS + h * HALF_WORDS);
            half_line mine = r + 1 < rounds ? each_word(f->mask)
                                            : load_half(f->last_round + key->late + h * HALF_WORDS);
            half_line shown = new[h] >> at;
            half_line was = shown & mine;
            any_over |= over >> was & mine;
            before |= was << 8 * (HALVES * r + h);
            new[h] ^= ((shown ^ value) & mine) << at;
        }
    bool known = !any_bit(any_over & 1);
    if (f->equal > 1 && known) known = line_has_equal(f, key->key);
    const bool sets = !known | f->renew; /* not a branch, which would be guessed wrong */
    const half_line all = each_word(-(uint64_t)sets);
    for (unsigned h = 0; h < HALVES; h++)
        store_half(key->key.line + h * HALF_WORDS, old[h] ^ ((old[h] ^ new[h]) & all));
    note_lost(run, before, rounds, sets);
    run->keys += sets;
    run->spare -= sets;
    return known;
}

/* --- generations of one key in its line ------------------------------------------------ */

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
    f->count[rule->newest] += n;
    f->state.live += n;
    weir__window_touch(f, (uint64_t)(key.line - f->cells));
    if (weir__window_has_too_much(f, rule->newest)) weir__window_make_room(f);
    return known;
}

/* --- batches -------------------------------------------------------------------------- */

static inline uint64_t told_instant(const weir__window *f, const weir_batch *batch, size_t i,
                                    int64_t now) {
    assert(!f->base.numbered || batch->times); /* `growing` gives each record its number */
    if (f->base.numbered) return (uint64_t)batch->times[i]; /* NOLINT(clang-analyzer-core*) */
    return weir__window_instant(weir__batch_time(batch, i, now));
}

static inline uint64_t instant_of(weir__window *f, const weir_batch *batch, size_t i, int64_t now) {
    if (!weir__window_is_told(f)) return ++f->state.records;
    return told_instant(f, batch, i, now);
}

/* Keys per round: their places fit into the first-level cache. */
static size_t classic_chunk(const weir__window *f) {
    assert(f->k >= 1 && f->k <= PLACES);
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

/* The part that a key has in what the sweep visits next, key by key for the same reason, and
 * not into the nearest cache, which is for keys. */
HOT void ask_for_swept_by_key(const weir__window *f, const timer_run *run) {
    uint64_t line = run->next_swept + f->state.keys % WEIR__SWEEP_EVERY * run->swept_a_key;
    uint64_t end = line + run->swept_a_key;
    for (; line < end && line < f->lines; line++)
        __builtin_prefetch(f->cells + line * WEIR__LINE_WORDS, 1, 2);
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
HOT size_t generations_offer_all(weir__window *f, const weir_batch *batch, uint64_t *verdicts,
                                 int64_t now) {
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
        bool known = offer_generations(f, ring[at % (2 * WEIR__ROUND)], &rule, f->width);
        weir__mark_seen(verdicts, at, known);
        seen += known;
    }
    return seen;
}
FOR_EACH_CPU(size_t, generations_offer,
             (weir__window * f, const weir_batch *batch, uint64_t *verdicts, int64_t now),
             (f, batch, verdicts, now))

/* The lines of a round are asked for one by one while cells are found, so that they do not
 * wait for each other, and are needed a round later. */
HOT void find_round(const weir__window *f, const weir_batch *batch, size_t from, unsigned width,
                    timer_key *ring) {
    assert(width == f->width && from % WEIR__ROUND == 0);
    size_t n = batch->count > from ? batch->count - from : 0;
    uint64_t rests[LINE_KEYS] = {0}, mixes[LINE_MIXES_MOST * LINE_KEYS];
    timer_key *keys = &ring[from % (2 * WEIR__ROUND)];
    if (n > WEIR__ROUND) n = WEIR__ROUND;
    for (size_t i = 0; i < n; i++) {
        keys[i].key = line_of(f, batch->hashes[from + i]);
        rests[i] = keys[i].key.rest;
    }
    line_mixes((f->rounds * WEIR__LINE_WORDS + PLACES_A_MIX - 1) / PLACES_A_MIX, rests, mixes);
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(keys[i].key.line, 1);
        keys[i].late = line_places_by(f->rounds, mixes + i, width, keys[i].at);
    }
}

HOT size_t decide_round(weir__window *f, const weir_batch *batch, size_t from, int64_t now,
                        unsigned rounds, const timer_key *ring, timer_run *run, uint64_t *verdicts,
                        cpu_kind cpu) {
    assert(rounds == f->rounds && from < batch->count);
    size_t end = from + WEIR__ROUND < batch->count ? from + WEIR__ROUND : batch->count, seen = 0;
    for (size_t i = from; i < end; i++) {
        uint64_t at = instant_of(f, batch, i, now);
        if (!weir__window_pass_quietly(f, at)) pass_event(f, run, at);
        const timer_key *key = &ring[i % (2 * WEIR__ROUND)];
        ask_for_swept_by_key(f, run);
        bool known = offer_timers(f, key, run, rounds, cpu);
        weir__window_touch(f, (uint64_t)(key->key.line - f->cells));
        if (run->spare < 0) look_at_counts(f, run);
        weir__mark_seen(verdicts, i, known);
        seen += known;
    }
    return seen;
}

static void line_chunk(const weir__window *f, const weir_batch *batch, size_t at,
                       uint64_t *places) {
    key_line key = line_of(f, batch->hashes[at]);
    if (at + WEIR__ROUND < batch->count)
        __builtin_prefetch(line_of(f, batch->hashes[at + WEIR__ROUND]).line, 0);
    line_places(f, key.line, key.rest, places);
}

/* Cell after cell, the counts always up to date. */
static size_t offer_singly(weir__window *f, const weir_batch *batch, uint64_t *verdicts,
                           int64_t now) {
    uint64_t places[WEIR__K_MOST];
    size_t seen = 0;
    for (size_t i = 0; i < WEIR__ROUND && i < batch->count; i++)
        __builtin_prefetch(line_of(f, batch->hashes[i]).line, 1);
    for (size_t i = 0; i < batch->count; i++) {
        line_chunk(f, batch, i, places);
        bool known = offer_one(f, places, instant_of(f, batch, i, now));
        weir__mark_seen(verdicts, i, known);
        seen += known;
    }
    return seen;
}

/* One call for each width and number of rounds, so that both are constants to the compiler. */
#define FIND(width) find_round(f, batch, from, width, ring)
#define DECIDE(rounds)                                                                             \
    decide_round(f, batch, from - WEIR__ROUND, now, rounds, ring, &run, verdicts, cpu)
HOT size_t timers_offer_all(weir__window *f, const weir_batch *batch, uint64_t *verdicts,
                            int64_t now, cpu_kind cpu) {
    if (cpu == CPU_ANY) return offer_singly(f, batch, verdicts, now); /* faster there */
    timer_key ring[2 * WEIR__ROUND];
    timer_run run;
    run.keys = run.lost = 0;
    size_t seen = 0;
    go_on(f, &run);
    for (size_t from = 0; from < batch->count + WEIR__ROUND; from += WEIR__ROUND) {
        if (f->width == 3) FIND(3);
        else if (f->width == 4) FIND(4);
        else if (f->width == 5) FIND(5);
        else FIND(6);
        if (from == 0) continue;
        seen += f->rounds == 1   ? DECIDE(1)
                : f->rounds == 2 ? DECIDE(2)
                : f->rounds == 3 ? DECIDE(3)
                                 : DECIDE(4);
    }
    count_run(f, &run);
    return seen;
}
#undef FIND
#undef DECIDE
FOR_EACH_CPU_TOLD(size_t, timers_offer,
                  (weir__window * f, const weir_batch *batch, uint64_t *verdicts, int64_t now), f,
                  batch, verdicts, now)

size_t weir__window_offer_keys(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    weir__window *f = (weir__window *)base;
    int64_t now = f->is_time && !batch->times ? weir__clock_now() : 0;
    if (!f->block) return classic_offer(f, batch, verdicts, now);
    if (f->jumping) return generations_offer(f, batch, verdicts, now);
    if (batch->count <= FEW) return offer_singly(f, batch, verdicts, now);
    return timers_offer(f, batch, verdicts, now);
}

static bool test_one(const weir__window *f, const weir_batch *batch, size_t i,
                     const uint64_t *places, int64_t now) {
    uint64_t at = weir__window_is_told(f) ? told_instant(f, batch, i, now) : f->state.records + 1;
    uint64_t running, oldest = weir__window_oldest_at(f, at, &running);
    return f->state.started && is_known(f, places, running, oldest);
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
    return weir__window_runs(f, value_at(f, place), f->state.oldest);
}

static void place_switch_on(weir_filter *base, uint64_t place) {
    weir__window *f = (weir__window *)base;
    unsigned mark = weir__window_mark(f, f->state.newest);
    if (f->fine) set_fine(f, &place, 1, mark);
    else set_timers(f, &place, 1, mark);
    weir__window_touch(f, place / 64);
}

static void places_took_key(weir_filter *base) {
    weir__window *f = (weir__window *)base;
    if (weir__window_has_too_much(f, weir__window_mark(f, f->state.newest)))
        weir__window_make_room(f);
}

/* A cell that is emptied no longer counts as running, or as over. */
static void places_switch_off(weir_filter *base, uint64_t first, uint64_t end) {
    assert(first <= end);
    weir__window *f = (weir__window *)base;
    for (uint64_t word = first / 64; word < f->words && word * 64 < end; word++)
        for (unsigned i = 0; i < f->a_word; i++) {
            uint64_t place = word * 64 + i * f->width, value = value_at(f, place);
            if (place < first || place >= end || value == 0) continue;
            if (place_is_on(base, place)) f->count[value - 1]--, f->state.live--;
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

/* Ticks begin at whole ticks of the clock, whoever counts, so that processes with one clock agree.
 */
static void places_instants(const weir_filter *base, uint64_t *oldest, uint64_t *newest) {
    const weir__window *f = (const weir__window *)base;
    uint64_t at = f->state.latest, since = weir__window_into_tick(f, at);
    *oldest = at > f->length ? at - f->length : 0;
    *newest = at > since ? at - since : 0;
}

/* Cells are numbered by their first bits. */
static uint64_t places_below(const weir_filter *base, uint64_t number) {
    const weir__window *f = (const weir__window *)base;
    uint64_t in_word = (number % 64 + f->width - 1) / f->width;
    return number / 64 * f->a_word + (in_word < f->a_word ? in_word : f->a_word);
}

const weir__places weir__window_places = {.shape = places_shape,
                                          .find = places_find,
                                          .advance = places_advance,
                                          .is_on = place_is_on,
                                          .switch_on = place_switch_on,
                                          .took_key = places_took_key,
                                          .switch_off = places_switch_off,
                                          .share_on = places_share_on,
                                          .once = true,
                                          .instants = places_instants,
                                          .below = places_below};
