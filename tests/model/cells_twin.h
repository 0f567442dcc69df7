/* cells_twin.h - a slow twin of arrays of small counters: a byte for each cell.
 *
 * For the filters that raise cells and decrement others: where their cells lie,
 * written down a second time in the plainest way.
 */
#ifndef WEIR_TESTS_CELLS_TWIN_H
#define WEIR_TESTS_CELLS_TWIN_H

#include "theory.h"

typedef struct {
    unsigned char *cells;
    uint64_t m, rng;
    unsigned K, P, max, per_word;
    bool block, sparing, drawn;
} twin;

static inline uint64_t twin_mix(uint64_t x) {
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static inline uint64_t scale(uint64_t word, uint64_t range) {
    return (uint64_t)((unsigned __int128)word * range >> 64);
}

static inline uint64_t twin_place(const twin *t, uint64_t hash, unsigned j) {
    if (!t->block) {
        uint64_t x = hash + j * (twin_mix(hash) | 1);
        unsigned __int128 product = (unsigned __int128)(x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
        return scale((uint64_t)product ^ (uint64_t)(product >> 64), t->m);
    }
    uint64_t line_cells = t->per_word * 8, lines = t->m / line_cells;
    uint64_t line = scale(hash, lines), rest = hash * lines, first = twin_mix(rest) >> 61;
    unsigned piece = t->per_word == 21 ? 12 : 6, a_mix = 60 / piece;
    uint64_t mix = twin_mix(rest + j / a_mix * UINT64_C(0x9e3779b97f4a7c15));
    uint64_t bits = mix >> (piece * (j % a_mix)) & ((1u << piece) - 1);
    uint64_t cell = t->per_word == 21 ? bits * 21 / 4096 : bits % t->per_word;
    return line * line_cells + (first + j) % 8 * t->per_word + cell;
}

/* The highest value that a draw of 1024 decrements: 1/v of the draws, rounded,
 * go as high as v. */
static inline unsigned twin_reach(const twin *t, uint64_t draw) {
    unsigned reach = t->max;
    while (t->sparing && reach > 1 && (double)(draw % 1024) >= floor(1024.0 / reach + 0.5)) reach--;
    return reach;
}

static inline void twin_lower(twin *t, uint64_t cell, unsigned reach) {
    if (t->cells[cell] && t->cells[cell] <= reach) t->cells[cell]--;
}

static inline uint64_t twin_piece(uint64_t first, uint64_t second, unsigned w) {
    return (w < 4 ? first >> (16 * w) : second >> (16 * (w - 4))) & 0xffff;
}

/* P cells one by one; of those that may be spared, as many as it takes. */
static inline void twin_draw(twin *t, uint64_t random) {
    unsigned lowered = 0;
    for (unsigned i = 1; i <= t->P * 64 && lowered < t->P; i++) {
        uint64_t draw = twin_mix(random + i * UINT64_C(0x9e3779b97f4a7c15));
        uint64_t cell = scale(draw, t->m);
        unsigned before = t->cells[cell];
        twin_lower(t, cell, twin_reach(t, twin_mix(draw)));
        lowered += !t->sparing || t->cells[cell] != before;
    }
}

static inline void twin_decrement(twin *t, uint64_t hash) {
    uint64_t random = twin_mix(t->rng += UINT64_C(0x9e3779b97f4a7c15));
    if (t->drawn) {
        twin_draw(t, random);
        return;
    }
    if (!t->block) {
        for (unsigned i = 0; i < t->P; i++)
            twin_lower(t, (scale(random, t->m) + i) % t->m, twin_reach(t, random));
        return;
    }
    uint64_t second = twin_mix(random), third = twin_mix(second), fourth = twin_mix(third);
    uint64_t line = scale(hash, t->m / t->per_word / 8) * t->per_word * 8;
    for (unsigned w = 0; w < 8; w++) {
        uint64_t from = twin_piece(random, second, w) * t->per_word / 65536;
        uint64_t turned = (w + (random ^ second)) % 8;
        unsigned length = t->P / 8 + (turned < t->P % 8);
        unsigned reach = twin_reach(t, twin_piece(third, fourth, w));
        for (unsigned i = 0; i < length; i++)
            twin_lower(t, line + w * t->per_word + (from + i) % t->per_word, reach);
    }
}

static inline bool twin_offer(twin *t, uint64_t hash, unsigned level) {
    bool all = true;
    for (unsigned j = 0; j < t->K; j++) all &= t->cells[twin_place(t, hash, j)] > 0;
    twin_decrement(t, hash);
    for (unsigned j = 0; j < t->K; j++) {
        unsigned char *cell = &t->cells[twin_place(t, hash, j)];
        if (*cell < level) *cell = (unsigned char)level;
    }
    return all;
}

static inline unsigned bits_of(unsigned max) {
    return max == 1 ? 1 : max == 3 ? 2 : max == 7 ? 3 : 4;
}

/* Cell i of a filter whose cells go up to max. */
static inline unsigned cell_of(const weir_filter *f, uint64_t i, unsigned max) {
    uint64_t word;
    unsigned width = bits_of(max), per_word = 64 / width;
    memcpy(&word, f->cells + i / per_word * 8, 8);
    return (unsigned)(word >> (i % per_word * width)) & max;
}

/* A twin of an empty filter; its generator is the first word of the state. */
static inline twin make_twin(const weir_filter *f, bool block, unsigned K, unsigned P,
                             unsigned max) {
    twin t = {.K = K, .P = P, .max = max, .block = block, .per_word = 64 / bits_of(max)};
    t.m = f->cells_bytes / 8 * t.per_word;
    t.cells = calloc(t.m, 1);
    t.rng = *weir__filter_state(f);
    return t;
}

static inline void expect_same_cells(const twin *t, const weir_filter *f) {
    for (uint64_t c = 0; c < t->m; c++) assert_int_equal(cell_of(f, c, t->max), t->cells[c]);
}

#endif
