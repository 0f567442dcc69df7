/* fading.c - arrays of small counters; see fading.h. */
#include "filter/fading/fading.h"

#include <assert.h>
#include <math.h>

#include "filter/probe.h"

enum {
    CHUNK = 64,                   /* classic: keys of a round at most */
    PLACES = 512,                 /* classic: places of a round at most, 4 KiB */
    AHEAD = 16,                   /* block: keys between asking for a line and using it */
    LINE_WORDS = WEIR__LINE_WORDS /* words of a line */
};

/* The low bit of every cell of a word, by the width of a cell. */
#define LOWS_1 (~UINT64_C(0))
#define LOWS_2 UINT64_C(0x5555555555555555)
#define LOWS_3 UINT64_C(0x1249249249249249)
#define LOWS_4 UINT64_C(0x1111111111111111)

/* --- options ---------------------------------------------------------------------- */

weir_status weir__fading_settle_layout(weir_filter *filter, int opt_layout, int opt_decrement,
                                       weir_error *err) {
    if (weir__opt_whole(filter, opt_decrement) == 0) return WEIR_OK;
    if (weir__opt_given(filter, opt_layout) && weir__opt_whole(filter, opt_layout) == 1)
        return weir__opt_fail(filter, opt_decrement, err,
                              "decrement=random draws cells anywhere; take it with layout=classic");
    weir__opt_resolve(filter, opt_layout, 0);
    return WEIR_OK;
}

/* --- geometry -------------------------------------------------------------------- */

uint64_t weir__fading_shape(weir__fading *c, bool block, unsigned width, uint64_t bytes) {
    uint64_t unit = block ? WEIR__LINE : 8;
    bytes = bytes / unit * unit;
    c->block = block;
    c->width = width;
    c->max = (1u << width) - 1;
    c->per_word = 64 / width;
    c->lows = 0;
    for (unsigned i = 0; i < c->per_word; i++) c->lows |= UINT64_C(1) << (i * width);
    c->words = bytes / 8;
    c->lines = bytes / WEIR__LINE;
    c->cells = c->words * c->per_word;
    return bytes;
}

/* The low bits of the first n cells of a word. */
static uint64_t first_cells(const weir__fading *c, unsigned n) {
    unsigned bits = n * c->width;
    return c->lows & (bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1);
}

/* How many of WEIR__DRAWS draws decrement a cell of value v: one in v, rounded. */
static unsigned draws_for(unsigned v) { return (WEIR__DRAWS + v / 2) / v; }

double weir__fading_spared(unsigned v) { return v ? 1 - (double)draws_for(v) / WEIR__DRAWS : 0; }

void weir__fading_begin(weir__fading *c, uint8_t *memory) {
    c->at = (void *)memory;
    for (unsigned w = 0; w < 2 * LINE_WORDS; w++)
        c->runs[w] = first_cells(c, c->P / LINE_WORDS + (w % LINE_WORDS < c->P % LINE_WORDS));
    c->plan = line_plan_of(c->K, c->width);
    for (unsigned draw = 0; draw < WEIR__DRAWS; draw++) {
        unsigned v = 1;
        while (c->sparing && v < c->max && draw < draws_for(v + 1)) v++;
        c->reach[draw] = (uint8_t)(c->sparing ? v : c->max);
    }
}

/* --- words of cells ---------------------------------------------------------------- */

/* What follows takes a word or half a line.
 *
 * The low bit of every cell that is not zero. */
#define NONZERO_CELLS(word, width, lows)                                                           \
    (((word) | (word) >> ((width) > 1 ? 1 : 0) | (word) >> ((width) > 2 ? 2 : 0) |                 \
      (word) >> ((width) > 3 ? 3 : 0)) &                                                           \
     (lows))

/* The low bit of every cell that is this level or higher, bit by bit from the
 * lowest: a one where the level has none decides for, the other way against. A
 * level that needs more bits than a cell has is above all. */
#define CELLS_FROM(from, word, level, width, lows)                                                 \
    do {                                                                                           \
        (from) = (word) | ~(word);                                                                 \
        for (unsigned bit_ = 0; bit_ < (width); bit_++)                                            \
            (from) = ((word) >> bit_ & ((from) | (((level) >> bit_ & 1) - 1))) |                   \
                     ((from) & (((level) >> bit_ & 1) - 1));                                       \
        (from) &= (lows) & (((level) >> (width)) - 1);                                             \
    } while (0)

/* --- classic ------------------------------------------------------------------------ */

/* A cell by its lowest bit, counted from the start of the array. */
HOT uint64_t place_of(const weir__fading *c, uint64_t random) {
    assert(c->cells > 0);
    uint64_t cell = weir__scale(random, c->cells);
    return c->width == 3 ? cell / 21 * 64 + cell % 21 * 3 : cell * c->width;
}

static size_t chunk_of(unsigned places_per_key) {
    assert(places_per_key >= 1 && places_per_key <= PLACES);
    size_t keys = PLACES / places_per_key;
    return keys < CHUNK ? keys : CHUNK;
}

/* Decrement a run of P cells from a random one, around the end of the array. */
static void decrement_run(const weir__fading *c, uint64_t from, uint64_t reach) {
    uint64_t at = from / 64, spared = 0;
    assert(at < c->words && c->P >= 1);
    unsigned skip = from % 64, left = c->P * c->width, used = c->per_word * c->width;
    while (left) {
        unsigned here = used - skip < left ? used - skip : left;
        uint64_t which = c->lows << skip;
        if (skip + here < 64) which &= (UINT64_C(1) << (skip + here)) - 1;
        if (c->sparing) CELLS_FROM(spared, c->at[at], reach + 1, c->width, c->lows);
        c->at[at] -= NONZERO_CELLS(c->at[at], c->width, c->lows) & which & ~spared;
        left -= here;
        skip = 0;
        if (++at == c->words) at = 0;
    }
}

/* Decrement P cells drawn one by one. `sparing`: as many as it takes to decrement P, within
 * reason, since there may be few that are not zero. */
enum { DRAWS_A_CELL = 64 }; /* draws for each cell that is to be decremented, at most */
static void decrement_drawn(const weir__fading *c, uint64_t random) {
    uint64_t draws = (uint64_t)c->P * (c->sparing ? DRAWS_A_CELL : 1);
    unsigned left = c->P;
    for (uint64_t i = 0; i < draws && left; i++) {
        uint64_t draw = weir__mix64(random += WEIR__GOLD), place = place_of(c, draw);
        uint64_t *word = &c->at[place / 64], value = *word >> place % 64 & c->max;
        bool spared = c->sparing && value > c->reach[weir__mix64(draw) % WEIR__DRAWS];
        if (!c->sparing) left--;
        if (!value || spared) continue;
        *word -= UINT64_C(1) << place % 64;
        if (c->sparing) left--;
    }
}

static bool classic_has(const weir__fading *c, const uint64_t *places) {
    bool all = true;
    for (unsigned j = 0; j < c->K; j++)
        all &= (c->at[places[j] / 64] >> (places[j] % 64) & c->max) != 0;
    return all;
}

static void classic_raise(const weir__fading *c, const uint64_t *places, unsigned level) {
    assert(level <= c->max);
    for (unsigned j = 0; j < c->K; j++) {
        unsigned shift = places[j] % 64;
        uint64_t *word = &c->at[places[j] / 64], value = *word >> shift & c->max;
        *word += (value < level ? level - value : 0) << shift;
    }
}

/* The K cells of a key. */
static void classic_places(const weir__fading *c, uint64_t hash, uint64_t *places) {
    weir__probes probes = weir__probes_start(hash);
    for (unsigned j = 0; j < c->K; j++) {
        places[j] = place_of(c, weir__probes_next(&probes));
        __builtin_prefetch(&c->at[places[j] / 64], 1);
    }
}

/* Where a key's run begins; a long one is fetched beyond its first line too. */
static uint64_t run_start(const weir__fading *c, uint64_t random) {
    uint64_t place = place_of(c, random);
    __builtin_prefetch(&c->at[place / 64], 1);
    if (c->P * c->width > 64 && place / 64 + LINE_WORDS < c->words)
        __builtin_prefetch(&c->at[place / 64 + LINE_WORDS], 1);
    return place;
}

static size_t classic_offer(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
                            const uint8_t *levels, uint64_t *verdicts) {
    uint64_t places[PLACES], randoms[CHUNK];
    unsigned reach[CHUNK], each = c->K + 1;
    size_t seen = 0, chunk = chunk_of(each);
    assert(chunk > 0 && chunk <= CHUNK && chunk * each <= PLACES);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) {
            uint64_t random = weir__rng_next(rng);
            classic_places(c, batch->hashes[at + i], places + i * each);
            places[i * each + c->K] = run_start(c, random);
            reach[i] = c->reach[random % WEIR__DRAWS];
            randoms[i] = random;
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t *key = places + i * each;
            bool is_seen = classic_has(c, key);
            if (c->drawn) decrement_drawn(c, randoms[i]);
            else decrement_run(c, key[c->K], reach[i]);
            classic_raise(c, key, levels ? levels[at + i] : c->max);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

static size_t classic_test(const weir__fading *c, const weir_batch *batch, uint64_t *verdicts) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = chunk_of(c->K);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) classic_places(c, batch->hashes[at + i], places + i * c->K);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_has(c, places + i * c->K);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* --- block -------------------------------------------------------------------------- */

typedef struct {
    uint64_t *line;
    uint64_t rest; /* of the hash: gives the cells */
} line_of_key;

HOT line_of_key find_line(const weir__fading *c, uint64_t hash) {
    uint64_t(*lines)[LINE_WORDS] = (void *)c->at;
    line_of_key key;
    key.line = lines[weir__part(hash, c->lines, &key.rest)];
    return key;
}

/* Sixteen bits of a random word for each word of half a line. */
HOT half_line sixteen_each(uint64_t random) {
    const half_line all = {random, random, random, random}, places = {0, 16, 32, 48};
    return all >> places & 0xffff;
}

/* The low bits of the runs to be decremented: in each word P/8 cells or one more,
 * turned around its end to where a random number says. */
HOT half_line find_runs(half_line runs, uint64_t random, unsigned width) {
    half_line from = (sixteen_each(random) * (64 / width) >> 16) * width;
    if (width == 3) return (runs << from | runs >> (63 - from)) & INT64_MAX;
    return runs << from | runs >> (-from & 63);
}

/* The low bits of the cells that are spared, by a draw for each word. */
HOT half_line find_spared(const weir__fading *c, half_line words, uint64_t random, unsigned width,
                          uint64_t lows) {
    half_line draws = sixteen_each(random), from;
    for (unsigned w = 0; w < HALF_WORDS; w++) draws[w] = c->reach[draws[w] % WEIR__DRAWS] + 1u;
    CELLS_FROM(from, words, draws, width, lows);
    return from;
}

/* Raise cells to a level; cells at or above it stay as they are. */
HOT half_line raise_cells(half_line words, half_line cells, uint64_t level, unsigned width,
                          uint64_t lows) {
    const uint64_t max = (1u << width) - 1;
    half_line high;
    if (level == max) return words | cells;
    CELLS_FROM(high, words, level, width, lows);
    cells &= ~(high * max);
    return (words & ~cells) | (cells & lows * level);
}

/* One key in its line: look, decrement, raise. Words with one cell more in their run
 * begin at a random one. */
HOT bool line_offer(const weir__fading *c, line_of_key key, uint64_t random, uint64_t level,
                    unsigned width, uint64_t lows, bool sparing) {
    const uint64_t second = weir__mix64(random), third = sparing ? weir__mix64(second) : 0;
    const uint64_t starts[HALVES] = {random, second}, draws[HALVES] = {third, weir__mix64(third)};
    const uint64_t *runs = c->runs + (random ^ second) % LINE_WORDS;
    line_halves cells;
    half_line missing = {0};
    line_cells(&c->plan, key.rest, width, &cells);
    for (unsigned h = 0; h < HALVES; h++) {
        half_line words = load_half(key.line + h * HALF_WORDS);
        half_line nonzero = NONZERO_CELLS(words, width, lows);
        half_line lowered = nonzero & find_runs(load_half(runs + h * HALF_WORDS), starts[h], width);
        missing |= cells.half[h] & lows & ~nonzero;
        if (sparing) lowered &= ~find_spared(c, words, draws[h], width, lows);
        words = raise_cells(words - lowered, cells.half[h], level, width, lows);
        store_half(key.line + h * HALF_WORDS, words);
    }
    return !any_bit(missing);
}

/* The cases apart, so that the compiler knows widths and whether all keys are
 * alike: then raising is setting. */
HOT bool offer_width(const weir__fading *c, line_of_key key, uint64_t random, unsigned level,
                     unsigned width, uint64_t lows) {
    if (c->sparing) return line_offer(c, key, random, level, width, lows, true);
    if (level == (1u << width) - 1)
        return line_offer(c, key, random, (1u << width) - 1, width, lows, false);
    return line_offer(c, key, random, level, width, lows, false);
}

HOT bool offer_one(const weir__fading *c, line_of_key key, uint64_t random, unsigned level) {
    switch (c->width) {
    case 1:
        return line_offer(c, key, random, 1, 1, LOWS_1, false);
    case 2:
        return offer_width(c, key, random, level, 2, LOWS_2);
    case 3:
        return offer_width(c, key, random, level, 3, LOWS_3);
    default:
        return offer_width(c, key, random, level, 4, LOWS_4);
    }
}

HOT bool line_test(const weir__fading *c, line_of_key key, unsigned width, uint64_t lows) {
    line_halves cells;
    half_line missing = {0};
    line_cells(&c->plan, key.rest, width, &cells);
    for (unsigned h = 0; h < HALVES; h++) {
        half_line words = load_half(key.line + h * HALF_WORDS);
        missing |= cells.half[h] & lows & ~NONZERO_CELLS(words, width, lows);
    }
    return !any_bit(missing);
}

HOT bool test_one(const weir__fading *c, line_of_key key) {
    switch (c->width) {
    case 1:
        return line_test(c, key, 1, LOWS_1);
    case 2:
        return line_test(c, key, 2, LOWS_2);
    case 3:
        return line_test(c, key, 3, LOWS_3);
    default:
        return line_test(c, key, 4, LOWS_4);
    }
}

/* A line is fetched AHEAD keys before it is needed, so that the memory works
 * while cells are computed. ring[i % AHEAD] holds key i in between. */
HOT size_t lines_offer_all(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
                           const uint8_t *levels, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            unsigned level = levels ? levels[i - AHEAD] : c->max;
            bool is_seen = offer_one(c, ring[i % AHEAD], weir__rng_next(rng), level);
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(c, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 1);
        }
    }
    return seen;
}

HOT size_t lines_test_all(const weir__fading *c, const weir_batch *batch, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            bool is_seen = test_one(c, ring[i % AHEAD]);
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(c, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 0);
        }
    }
    return seen;
}

/* --- for the filters ------------------------------------------------------------------ */

FOR_EACH_CPU(size_t, lines_offer,
             (const weir__fading *c, uint64_t *rng, const weir_batch *batch, const uint8_t *levels,
              uint64_t *verdicts),
             (c, rng, batch, levels, verdicts))
FOR_EACH_CPU(size_t, lines_test,
             (const weir__fading *c, const weir_batch *batch, uint64_t *verdicts),
             (c, batch, verdicts))

size_t weir__fading_offer(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
                          const uint8_t *levels, uint64_t *verdicts) {
    return c->block ? lines_offer(c, rng, batch, levels, verdicts)
                    : classic_offer(c, rng, batch, levels, verdicts);
}

size_t weir__fading_test(const weir__fading *c, const weir_batch *batch, uint64_t *verdicts) {
    return c->block ? lines_test(c, batch, verdicts) : classic_test(c, batch, verdicts);
}

/* The chance that a new key finds its K cells of this line non-zero, over the
 * word in which it may begin. */
static double line_rate(const weir__fading *c, const double shares[LINE_WORDS]) {
    double logs[LINE_WORDS], all = 0, sum = 0;
    assert(c->K > 0);
    for (unsigned w = 0; w < LINE_WORDS; w++) {
        if (shares[w] == 0 && c->K >= LINE_WORDS) return 0;
        logs[w] = shares[w] > 0 ? log(shares[w]) : -1000;
        all += logs[w];
    }
    for (unsigned first = 0; first < LINE_WORDS; first++) {
        unsigned each = c->K / LINE_WORDS;
        double chance = each * all;
        for (unsigned j = 0; j < c->K % LINE_WORDS; j++) chance += logs[(first + j) % LINE_WORDS];
        sum += exp(chance);
    }
    return sum / LINE_WORDS;
}

/* Fill and rate from at most 4096 lines, evenly spread: keys fall on lines at
 * random, so these stand for all, to 0.2% of the fill. */
void weir__fading_look(const weir__fading *c, double *fill, double *fpr) {
    uint64_t step = (c->lines + 4095) / 4096, lines = 0;
    double filled = 0, rates = 0;
    assert(c->lines > 0 && c->per_word > 0);
    for (uint64_t at = 0; at < c->lines; at += step, lines++) {
        double shares[LINE_WORDS];
        for (unsigned w = 0; w < LINE_WORDS; w++) {
            uint64_t cells = c->at[at * LINE_WORDS + w];
            uint64_t word = NONZERO_CELLS(cells, c->width, c->lows);
            shares[w] = (double)__builtin_popcountll(word) / c->per_word;
            filled += shares[w];
        }
        if (c->block) rates += line_rate(c, shares);
    }
    *fill = filled / (double)(lines * LINE_WORDS);
    *fpr = c->block ? rates / (double)lines : pow(*fill, c->K);
}

weir_status weir__fading_check(const weir__fading *c, const char *name, weir_error *err) {
    if (c->width != 3) return WEIR_OK; /* every other pattern of bits is a state */
    for (uint64_t w = 0; w < c->words; w++)
        if (c->at[w] >> 63)
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s: word %llu holds a bit of no cell",
                              name, (unsigned long long)w);
    return WEIR_OK;
}
