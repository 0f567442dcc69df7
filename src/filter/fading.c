/* fading.c - arrays of small counters; see fading.h. */
#include "filter/fading.h"

#include <math.h>

#include "filter/probe.h"

enum { CHUNK = 64, PLACES = 512, AHEAD = 16, LINE_WORDS = WEIR__LINE_WORDS };

#define INLINE inline __attribute__((always_inline))

/* The low bit of every cell of a word, by the width of a cell. */
#define LOWS_1 (~UINT64_C(0))
#define LOWS_2 UINT64_C(0x5555555555555555)
#define LOWS_3 UINT64_C(0x1249249249249249)
#define LOWS_4 UINT64_C(0x1111111111111111)

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

/* Of WEIR__DRAWS draws so many decrement a cell of value v. */
static unsigned draws_for(unsigned v) { return (WEIR__DRAWS + v / 2) / v; }

double weir__fading_spared(unsigned v) { return v ? 1 - (double)draws_for(v) / WEIR__DRAWS : 0; }

/* Bits of a piece that chooses a cell of a word, and pieces in a mix. With 21
 * cells to a word six bits would favour some. */
static INLINE unsigned piece_bits(unsigned width) { return width == 3 ? 12 : 6; }
static INLINE unsigned pieces_in_mix(unsigned width) { return 60 / piece_bits(width); }

static void begin_choices(weir__fading *c) {
    unsigned a_mix = pieces_in_mix(c->width);
    memset(c->choices, 0, sizeof c->choices);
    for (unsigned j = 0; j < WEIR__K_MOST; j++) {
        weir__cell_choice *choice = &c->choices[j / LINE_WORDS];
        unsigned w = j % LINE_WORDS, first_mix = (j - w) / a_mix;
        choice->from[j / a_mix - first_mix][w] = ~UINT64_C(0);
        choice->shift[w] = j % a_mix * piece_bits(c->width);
        choice->wanted[w] = j < c->K ? c->max : 0;
    }
}

void weir__fading_begin(weir__fading *c, uint8_t *memory) {
    c->at = (void *)memory;
    for (unsigned w = 0; w < 2 * LINE_WORDS; w++)
        c->runs[w] = first_cells(c, c->P / LINE_WORDS + (w % LINE_WORDS < c->P % LINE_WORDS));
    begin_choices(c);
    for (unsigned draw = 0; draw < WEIR__DRAWS; draw++) {
        unsigned v = 1;
        while (c->sparing && v < c->max && draw < draws_for(v + 1)) v++;
        c->reach[draw] = (uint8_t)(c->sparing ? v : c->max);
    }
}

/* --- words of cells ---------------------------------------------------------------- */

/* The words of a line, for operations on all of them at once. They are passed by
 * address, since how a vector is passed depends on the processor. */
typedef uint64_t line_words __attribute__((vector_size(WEIR__LINE)));

/* What follows takes a word or the words of a line.
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
static INLINE uint64_t place_of(const weir__fading *c, uint64_t random) {
    uint64_t cell = weir__scale(random, c->cells);
    return c->width == 3 ? cell / 21 * 64 + cell % 21 * 3 : cell * c->width;
}

static size_t chunk_of(unsigned places_per_key) {
    size_t keys = PLACES / places_per_key;
    return keys < CHUNK ? keys : CHUNK;
}

/* Decrement a run of P cells from a random one, around the end of the array. */
static void decrement_run(const weir__fading *c, uint64_t from, uint64_t reach) {
    uint64_t at = from / 64, spared = 0;
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

static bool classic_has(const weir__fading *c, const uint64_t *places) {
    bool all = true;
    for (unsigned j = 0; j < c->K; j++)
        all &= (c->at[places[j] / 64] >> (places[j] % 64) & c->max) != 0;
    return all;
}

static void classic_raise(const weir__fading *c, const uint64_t *places, unsigned level) {
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
    uint64_t places[PLACES];
    unsigned reach[CHUNK], each = c->K + 1;
    size_t seen = 0, chunk = chunk_of(each);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) {
            uint64_t random = weir__rng_next(rng);
            classic_places(c, batch->hashes[at + i], places + i * each);
            places[i * each + c->K] = run_start(c, random);
            reach[i] = c->reach[random % WEIR__DRAWS];
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t *key = places + i * each;
            bool is_seen = classic_has(c, key);
            decrement_run(c, key[c->K], reach[i]);
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

static INLINE line_of_key find_line(const weir__fading *c, uint64_t hash) {
    uint64_t(*lines)[LINE_WORDS] = (void *)c->at;
    line_of_key key;
    key.line = lines[weir__part(hash, c->lines, &key.rest)];
    return key;
}

static INLINE void load_line(const uint64_t *words, line_words *line) {
    memcpy(line, words, sizeof *line);
}

/* Move the words of a line on by some places, around its end. */
static INLINE void move_words(line_words *line, unsigned places) {
    line_words from = {0, 1, 2, 3, 4, 5, 6, 7}, old = *line;
    from = (from - places) % LINE_WORDS;
#if defined(__clang__)
    for (unsigned w = 0; w < LINE_WORDS; w++) (*line)[w] = old[from[w]];
#else
    *line = __builtin_shuffle(old, from);
#endif
}

/* The key's cells as the eight words of a line, all bits of each cell set. One
 * cell to a word in turn, chosen by a piece of a mix. Four bits of each mix are
 * left over, and those of the first choose the first word. */
static INLINE void find_cells(const weir__fading *c, uint64_t rest, line_words *cells,
                              unsigned width) {
    const unsigned a_mix = pieces_in_mix(width), per_word = 64 / width;
    uint64_t mixes[12] = {weir__mix64(rest)};
    for (unsigned n = 1; n * a_mix < c->K; n++)
        mixes[n] = weir__mix64(rest += UINT64_C(0x9e3779b97f4a7c15));
    line_words found = {0}, from[3], shift, wanted;
    for (unsigned done = 0; done < c->K; done += LINE_WORDS) {
        const weir__cell_choice *choice = &c->choices[done / LINE_WORDS];
        const uint64_t *mix = mixes + done / a_mix;
        for (unsigned i = 0; i < 3; i++) load_line(choice->from[i], &from[i]);
        load_line(choice->shift, &shift);
        load_line(choice->wanted, &wanted);
        line_words piece = (from[0] & mix[0]) | (from[1] & mix[1]);
        if (width == 3) piece |= from[2] & mix[2];
        piece >>= shift;
        piece = width == 3 ? (piece & 0xfff) * per_word >> 12 : piece & (per_word - 1);
        found |= wanted << (piece * width);
    }
    move_words(&found, (unsigned)(mixes[0] >> 61));
    *cells = found;
}

static INLINE bool is_zero(const line_words *words) {
    uint64_t any = 0;
    for (unsigned w = 0; w < LINE_WORDS; w++) any |= (*words)[w];
    return any == 0;
}

/* Sixteen bits for each word of a line, from two random words. */
static INLINE void sixteen_each(uint64_t first, uint64_t second, line_words *out) {
    line_words words = {first,  first >> 16,  first >> 32,  first >> 48,
                        second, second >> 16, second >> 32, second >> 48};
    *out = words & 0xffff;
}

/* Turn the cells of words by some bits each, around their ends. */
static INLINE void turn(line_words *words, const line_words *bits, unsigned width) {
    line_words low = *words << *bits;
    if (width == 3) *words = (low | *words >> (63 - *bits)) & INT64_MAX;
    else *words = low | *words >> (-*bits & 63);
}

/* The low bits of the runs to be decremented: in each word P/8 cells or, in P%8
 * words from a random one on, one more; sixteen random bits choose where. */
static INLINE void find_runs(const weir__fading *c, uint64_t random, uint64_t second,
                             line_words *runs, unsigned width) {
    line_words from;
    sixteen_each(random, second, &from);
    from = (from * (64 / width) >> 16) * width;
    load_line(c->runs + ((random ^ second) % LINE_WORDS), runs);
    turn(runs, &from, width);
}

/* The low bits of the cells that are spared, by a draw for each word. */
static INLINE void find_spared(const weir__fading *c, const line_words *words, uint64_t second,
                               line_words *spared, unsigned width, uint64_t lows) {
    uint64_t third = weir__mix64(second);
    line_words draws, from;
    sixteen_each(third, weir__mix64(third), &draws);
    for (unsigned w = 0; w < LINE_WORDS; w++) draws[w] = c->reach[draws[w] % WEIR__DRAWS] + 1u;
    CELLS_FROM(from, *words, draws, width, lows);
    *spared = from;
}

/* One key in its line: look, decrement, raise. */
static INLINE bool line_offer(const weir__fading *c, line_of_key key, uint64_t random,
                              uint64_t level, unsigned width, uint64_t lows, bool sparing) {
    const uint64_t max = (1u << width) - 1;
    uint64_t second = weir__mix64(random);
    line_words cells, runs, spared, words, high;
    find_cells(c, key.rest, &cells, width);
    find_runs(c, random, second, &runs, width);
    load_line(key.line, &words);
    line_words nonzero = NONZERO_CELLS(words, width, lows);
    line_words missing = cells & lows & ~nonzero;
    runs &= nonzero;
    if (sparing) {
        find_spared(c, &words, second, &spared, width, lows);
        runs &= ~spared;
    }
    words -= runs;
    if (level < max) { /* the cells that are at the level already stay as they are */
        CELLS_FROM(high, words, level, width, lows);
        cells &= ~(high * max);
        words = (words & ~cells) | (cells & lows * level);
    } else {
        words |= cells;
    }
    memcpy(key.line, &words, sizeof words);
    return is_zero(&missing);
}

/* The cases apart, so that the compiler knows widths and whether all keys are
 * alike: then raising is setting. */
static INLINE bool offer_width(const weir__fading *c, line_of_key key, uint64_t random,
                               unsigned level, unsigned width, uint64_t lows) {
    if (c->sparing) return line_offer(c, key, random, level, width, lows, true);
    if (level == (1u << width) - 1)
        return line_offer(c, key, random, (1u << width) - 1, width, lows, false);
    return line_offer(c, key, random, level, width, lows, false);
}

static INLINE bool offer_one(const weir__fading *c, line_of_key key, uint64_t random,
                             unsigned level) {
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

static INLINE bool line_test(const weir__fading *c, line_of_key key, unsigned width,
                             uint64_t lows) {
    line_words cells, words;
    find_cells(c, key.rest, &cells, width);
    load_line(key.line, &words);
    line_words missing = cells & lows & ~NONZERO_CELLS(words, width, lows);
    return is_zero(&missing);
}

static INLINE bool test_one(const weir__fading *c, line_of_key key) {
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
static INLINE size_t block_offer(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
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

static INLINE size_t block_test(const weir__fading *c, const weir_batch *batch,
                                uint64_t *verdicts) {
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

/* Lines are worked on with the widest vectors that the machine has. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2,bmi,bmi2")))
#define WIDER                                                                                      \
    __attribute__((target("avx2,bmi,bmi2,avx512f,avx512vl,avx512dq,prefer-vector-width=512")))

#define LINES_FOR(name, target)                                                                    \
    target static size_t name##_offer(const weir__fading *c, uint64_t *rng,                        \
                                      const weir_batch *batch, const uint8_t *levels,              \
                                      uint64_t *verdicts) {                                        \
        return block_offer(c, rng, batch, levels, verdicts);                                       \
    }                                                                                              \
    target static size_t name##_test(const weir__fading *c, const weir_batch *batch,               \
                                     uint64_t *verdicts) {                                         \
        return block_test(c, batch, verdicts);                                                     \
    }
LINES_FOR(wide, WIDE)
LINES_FOR(wider, WIDER)
#undef LINES_FOR

/* The verdicts are the same; the tests hold them against each other by lowering this. */
enum { ANY, AVX2, AVX512 };
int weir__fading_cpu = AVX512;

static int best_cpu(void) {
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    int best = avx512 ? AVX512 : avx2 ? AVX2 : ANY;
    return best < weir__fading_cpu ? best : weir__fading_cpu;
}
#endif

size_t weir__fading_offer(const weir__fading *c, uint64_t *rng, const weir_batch *batch,
                          const uint8_t *levels, uint64_t *verdicts) {
    if (!c->block) return classic_offer(c, rng, batch, levels, verdicts);
#if defined(__x86_64__)
    if (best_cpu() == AVX512) return wider_offer(c, rng, batch, levels, verdicts);
    if (best_cpu() == AVX2) return wide_offer(c, rng, batch, levels, verdicts);
#endif
    return block_offer(c, rng, batch, levels, verdicts);
}

size_t weir__fading_test(const weir__fading *c, const weir_batch *batch, uint64_t *verdicts) {
    if (!c->block) return classic_test(c, batch, verdicts);
#if defined(__x86_64__)
    if (best_cpu() == AVX512) return wider_test(c, batch, verdicts);
    if (best_cpu() == AVX2) return wide_test(c, batch, verdicts);
#endif
    return block_test(c, batch, verdicts);
}

/* The chance that a new key finds its K cells of this line non-zero, over the
 * word in which it may begin. */
static double line_rate(const weir__fading *c, const double shares[LINE_WORDS]) {
    double logs[LINE_WORDS], all = 0, sum = 0;
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
