/* matrix.c - updating d rows of w counters.
 *
 * Question   how to count a batch of keys in d rows as fast as memory allows
 * Idea       places of a run of keys first, then prefetches, then the counters
 *            in order, so that many cache misses are under way at a time
 * Parameters d rows, w columns; counters of 32 or 64 bits (signed), or doubles
 * Error      none here: a counter is the exact sum of the weights of its keys, or
 *            the update is refused. With `conservative` (thesis 2.1.1: minimal
 *            increase) a key raises its counters only as far as its least one
 *            plus the weight: less noise, no deletions, order matters.
 * Cost       d counters per key, in d lines (rows) or one (block)
 * Layout     rows   counter j of row i is number i*w + j
 *            block  a line of 64 bytes holds 16 (or 8) counters, those of row i
 *                   being the i-th share of it. A key's line is the same for all
 *                   rows, its counter in each share is not. Each row for itself
 *                   is a 4-wise independent hash into w counters as before, so
 *                   lemmas 2-4 hold for it unchanged; but two keys that share a
 *                   line are likelier to meet in several rows, so the minimum
 *                   and the median gain less from depth.
 * Overflow   `room` is a bound on the weight that fits for certain. While a batch
 *            stays below it no counter is looked at; when it is used up, all
 *            counters are scanned for a new bound, at most once in as many updates
 *            as there are counters; between, each addition is checked.
 */
#include "sketch/matrix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 };                 /* keys whose places are found before the first is counted */
#define CACHED ((uint64_t)256 << 10) /* cells up to this size are not prefetched */

#define INLINE static inline __attribute__((always_inline))

void weir__matrix_init(weir__matrix *m, uint64_t seed) {
    assert(m->depth >= 1 && m->depth <= WEIR__DEPTH_MOST && m->width >= 1);
    uint64_t rng = seed ^ UINT64_C(0x6d61747269780001);
    for (unsigned i = 0; i < WEIR__DEPTH_MOST; i++) m->poly[i] = weir__poly_draw(&rng);
    m->each = weir__places_each(m->width, m->with_sign);
    if (m->block) {
        unsigned share = (unsigned)weir__matrix_width_step(m);
        m->lines = m->width / share;
        m->sub_bits = (unsigned)__builtin_ctz(share);
        unsigned needed = WEIR__RESERVE_BITS + m->depth * m->sub_bits;
        for (uint64_t lines = m->lines; lines > 1; lines /= 2) needed++;
        m->two = needed > WEIR__FIELD_BITS;
    }
    m->stale = true;
}

void weir__matrix_touch(weir__matrix *m) {
    m->stale = true;
    m->room = 0;
    m->since_scan = UINT64_MAX / 2;
}

/* ---- places ---- */

/* The numbers of a key's counters, and its signs as bits. */
INLINE uint64_t places_of(const weir__matrix *m, uint64_t hash, unsigned depth, bool with_sign,
                          uint64_t *places) {
    uint64_t x = weir__field_fold(hash), fraction = 0, signs = 0;
    const weir__poly *poly = m->poly;
    unsigned left = 0;
    for (unsigned i = 0; i < depth; i++) {
        if (left-- == 0) {
            fraction = weir__poly_at(poly++, x);
            left = m->each - 1;
        }
        places[i] = i * m->width + weir__take_place(&fraction, m->width);
        if (with_sign) signs |= weir__take_bits(&fraction, 1) << i;
    }
    return signs;
}

/* Counters of a key in a block layout: a line, and a counter in each row's share of it. */
INLINE uint64_t block_places(const weir__matrix *m, uint64_t hash, unsigned depth,
                             uint64_t *places) {
    uint64_t x = weir__field_fold(hash), fraction = weir__poly_at(&m->poly[0], x);
    unsigned bits = m->sub_bits;
    uint64_t line = weir__take_place(&fraction, m->lines) * depth << bits;
    if (m->two) fraction = weir__poly_at(&m->poly[1], x);
    for (unsigned i = 0; i < depth; i++) {
        places[i] = line + ((uint64_t)i << bits) + weir__take_bits(&fraction, bits);
    }
    return 0;
}

static uint64_t any_places(const weir__matrix *m, uint64_t hash, uint64_t *places) {
    assert(!m->direct || (m->depth == 1 && hash < m->width));
    if (m->direct) {
        places[0] = hash;
        return 0;
    }
    return m->block ? block_places(m, hash, m->depth, places)
                    : places_of(m, hash, m->depth, m->with_sign, places);
}

INLINE void prefetch(const weir__matrix *m, const uint64_t *places, unsigned depth, bool block) {
    unsigned bytes = weir__counter_bytes(m->counter);
    for (unsigned i = 0; i < (block ? 1 : depth); i++)
        __builtin_prefetch(m->cells + places[i] * bytes, 1, 3);
}

void weir__matrix_prefetch(const weir__matrix *m, const uint64_t *hashes, size_t n) {
    uint64_t places[WEIR__DEPTH_MOST] = {0};
    if (m->direct || weir__matrix_bytes(m) <= CACHED) return;
    for (size_t k = 0; k < n; k++) {
        any_places(m, hashes[k], places);
        prefetch(m, places, m->depth, m->block);
    }
}

/* ---- fast updates: nothing can overflow ---- */

/* The updates of a chunk, weights all of one type, for one type of counter. */
#define DEFINE_APPLY(name, T, W)                                                                   \
    INLINE void name(T *cells, const uint64_t *places, const uint64_t *signs, const W *weights,    \
                     size_t n, unsigned depth, bool with_sign, double *lows) {                     \
        for (size_t k = 0; k < n; k++, places += depth) {                                          \
            T weight = (T)weights[k], low = 0;                                                     \
            for (unsigned i = 0; i < depth; i++) {                                                 \
                T step = with_sign && (signs[k] >> i & 1) ? -weight : weight;                      \
                T now = cells[places[i]] += step;                                                  \
                if (i == 0 || now < low) low = now;                                                \
            }                                                                                      \
            if (lows) lows[k] = (double)low;                                                       \
        }                                                                                          \
    }
DEFINE_APPLY(apply_32, int32_t, int64_t)
DEFINE_APPLY(apply_64, int64_t, int64_t)
DEFINE_APPLY(apply_real, double, double)

/* Conservative: raise what lies below the least counter plus the weight. */
#define DEFINE_RAISE(name, T, W)                                                                   \
    INLINE void name(T *cells, const uint64_t *places, const W *weights, size_t n, unsigned depth, \
                     double *lows) {                                                               \
        for (size_t k = 0; k < n; k++, places += depth) {                                          \
            T low = cells[places[0]];                                                              \
            for (unsigned i = 1; i < depth; i++)                                                   \
                if (cells[places[i]] < low) low = cells[places[i]];                                \
            low += (T)weights[k];                                                                  \
            for (unsigned i = 0; i < depth; i++)                                                   \
                if (cells[places[i]] < low) cells[places[i]] = low;                                \
            if (lows) lows[k] = (double)low;                                                       \
        }                                                                                          \
    }
DEFINE_RAISE(raise_32, int32_t, int64_t)
DEFINE_RAISE(raise_64, int64_t, int64_t)
DEFINE_RAISE(raise_real, double, double)

typedef struct {
    uint64_t places[CHUNK * WEIR__DEPTH_MOST], signs[CHUNK];
    int64_t whole[CHUNK];
    double real[CHUNK];
} chunk;

INLINE void find_places(const weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n,
                        unsigned depth, bool with_sign, bool block) {
    bool far = weir__matrix_bytes(m) > CACHED;
    for (size_t k = 0; k < n; k++) {
        uint64_t *places = c->places + k * depth;
        c->signs[k] = block ? block_places(m, hashes[k], depth, places)
                            : places_of(m, hashes[k], depth, with_sign, places);
        if (far) prefetch(m, places, depth, block);
    }
}

INLINE void apply_chunk(weir__matrix *m, const chunk *c, size_t n, unsigned depth, bool with_sign,
                        double *lows) {
    void *cells = m->cells;
    if (m->counter == WEIR__COUNTER_32)
        apply_32(cells, c->places, c->signs, c->whole, n, depth, with_sign, lows);
    else if (m->counter == WEIR__COUNTER_64)
        apply_64(cells, c->places, c->signs, c->whole, n, depth, with_sign, lows);
    else apply_real(cells, c->places, c->signs, c->real, n, depth, with_sign, lows);
}

INLINE void raise_chunk(weir__matrix *m, const chunk *c, size_t n, unsigned depth, double *lows) {
    void *cells = m->cells;
    if (m->counter == WEIR__COUNTER_32) raise_32(cells, c->places, c->whole, n, depth, lows);
    else if (m->counter == WEIR__COUNTER_64) raise_64(cells, c->places, c->whole, n, depth, lows);
    else raise_real(cells, c->places, c->real, n, depth, lows);
}

INLINE void add_shape(weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n, unsigned depth,
                      double *lows) {
    if (m->with_sign) {
        find_places(m, c, hashes, n, depth, true, false);
        apply_chunk(m, c, n, depth, true, lows);
        return;
    }
    if (m->block) find_places(m, c, hashes, n, depth, false, true);
    else find_places(m, c, hashes, n, depth, false, false);
    if (m->conservative) raise_chunk(m, c, n, depth, lows);
    else apply_chunk(m, c, n, depth, false, lows);
}

static void add_direct(weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n, double *lows) {
    memcpy(c->places, hashes, n * sizeof *hashes);
    apply_chunk(m, c, n, 1, false, lows);
}

/* The common depths are compiled for themselves. */
#define SHAPES(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DEFINE_SHAPE(d)                                                                            \
    static void add_##d(weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n,               \
                        double *lows) {                                                            \
        add_shape(m, c, hashes, n, d, lows);                                                       \
    }
SHAPES(DEFINE_SHAPE)

static void add_chunk(weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n, double *lows) {
    assert(n <= CHUNK);
    if (m->direct) {
        add_direct(m, c, hashes, n, lows);
        return;
    }
    switch (m->depth) {
#define CASE_SHAPE(d)                                                                              \
    case d:                                                                                        \
        add_##d(m, c, hashes, n, lows);                                                            \
        return;
        SHAPES(CASE_SHAPE)
    default:
        add_shape(m, c, hashes, n, m->depth, lows);
    }
}

/* ---- overflow ---- */

static int64_t whole_at(const weir__matrix *m, uint64_t place) {
    assert(m->counter != WEIR__COUNTER_REAL && place < m->width * m->depth);
    return m->counter == WEIR__COUNTER_32 ? ((const int32_t *)(const void *)m->cells)[place]
                                          : ((const int64_t *)(const void *)m->cells)[place];
}

static int64_t counter_most(const weir__matrix *m) {
    return m->counter == WEIR__COUNTER_32 ? INT32_MAX : INT64_MAX;
}

static uint64_t magnitude(int64_t x) { return x < 0 ? -(uint64_t)x : (uint64_t)x; }

static void scan_room(weir__matrix *m) {
    assert(m->counter != WEIR__COUNTER_REAL);
    uint64_t counters = m->width * m->depth, most = 0;
    for (uint64_t i = 0; i < counters; i++) {
        uint64_t size = magnitude(whole_at(m, i));
        if (size > most) most = size;
    }
    uint64_t limit = (uint64_t)counter_most(m);
    m->room = most < limit ? limit - most : 0;
    m->since_scan = 0;
}

/* True if weights of that sum surely fit; takes them off the room. */
static bool take_room(weir__matrix *m, uint64_t sum) {
    if (m->counter == WEIR__COUNTER_REAL) return true;
    if (sum > m->room && m->since_scan >= m->width * m->depth) scan_room(m);
    if (sum > m->room) return false;
    m->room -= sum;
    return true;
}

static bool fits_one(const weir__matrix *m, const uint64_t *places, uint64_t signs,
                     int64_t weight) {
    assert(m->counter != WEIR__COUNTER_REAL);
    int64_t sum, limit = counter_most(m);
    if (weight > limit || weight < -limit) return false;
    for (unsigned i = 0; i < m->depth; i++) {
        int64_t step = signs >> i & 1 ? -weight : weight;
        if (__builtin_add_overflow(whole_at(m, places[i]), step, &sum) || sum > limit ||
            sum < -limit)
            return false;
    }
    return true;
}

/* One by one, each looked at before it is added; stops at one that does not fit. */
static size_t add_checked(weir__matrix *m, chunk *c, const uint64_t *hashes, size_t n,
                          double *lows) {
    uint64_t places[WEIR__DEPTH_MOST] = {0};
    chunk one;
    m->room = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t signs = any_places(m, hashes[k], places);
        if (!fits_one(m, places, signs, c->whole[k])) return k;
        one.whole[0] = c->whole[k];
        add_chunk(m, &one, hashes + k, 1, lows ? lows + k : NULL);
    }
    return n;
}

/* Weights of a chunk into it; returns the sum of their sizes, UINT64_MAX if huge. */
static uint64_t load_weights(chunk *c, weir__counter counter, size_t n, const int64_t *weights,
                             const double *fractions) {
    assert(n <= CHUNK && (counter == WEIR__COUNTER_REAL || !fractions));
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++) {
        c->whole[k] = weights ? weights[k] : 1;
        if (__builtin_add_overflow(sum, magnitude(c->whole[k]), &sum)) sum = UINT64_MAX;
    }
    if (counter == WEIR__COUNTER_REAL)
        for (size_t k = 0; k < n; k++) c->real[k] = fractions ? fractions[k] : (double)c->whole[k];
    return sum;
}

size_t weir__matrix_add(weir__matrix *m, const uint64_t *hashes, size_t n, const int64_t *weights,
                        const double *fractions, double *lows) {
    chunk c;
    m->stale = true;
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t count = n - at < CHUNK ? n - at : CHUNK;
        double *some = lows ? lows + at : NULL;
        uint64_t sum = load_weights(&c, m->counter, count, weights ? weights + at : NULL,
                                    fractions ? fractions + at : NULL);
        m->since_scan += count;
        if (take_room(m, sum)) {
            add_chunk(m, &c, hashes + at, count, some);
        } else {
            size_t done = add_checked(m, &c, hashes + at, count, some);
            if (done < count) return at + done;
        }
    }
    return n;
}

/* ---- reading and combining ---- */

void weir__matrix_values(const weir__matrix *m, uint64_t hash, double values[WEIR__DEPTH_MOST]) {
    uint64_t places[WEIR__DEPTH_MOST] = {0};
    assert(m->depth <= WEIR__DEPTH_MOST);
    uint64_t signs = any_places(m, hash, places);
    for (unsigned i = 0; i < m->depth; i++) {
        double value = weir__cell_value(m, places[i]);
        values[i] = signs >> i & 1 ? -value : value;
    }
}

static bool sum_fits(const weir__matrix *m, const weir__matrix *from, uint64_t place) {
    int64_t sum, limit = counter_most(m);
    return !__builtin_add_overflow(whole_at(m, place), whole_at(from, place), &sum) &&
           sum <= limit && sum >= -limit;
}

bool weir__matrix_fits(const weir__matrix *m, const weir__matrix *from) {
    if (m->counter == WEIR__COUNTER_REAL) return true;
    for (uint64_t i = 0; i < m->width * m->depth; i++)
        if (!sum_fits(m, from, i)) return false;
    return true;
}

void weir__matrix_merge(weir__matrix *m, const weir__matrix *from, double factor) {
    assert(m->counter == from->counter && m->width == from->width && m->depth == from->depth);
    uint64_t counters = m->width * m->depth;
    int32_t *to_32 = (void *)m->cells;
    int64_t *to_64 = (void *)m->cells;
    double *to_real = (void *)m->cells;
    for (uint64_t i = 0; i < counters; i++) {
        if (m->counter == WEIR__COUNTER_32) to_32[i] += (int32_t)whole_at(from, i);
        else if (m->counter == WEIR__COUNTER_64) to_64[i] += whole_at(from, i);
        else to_real[i] += factor * weir__cell_value(from, i);
    }
    weir__matrix_touch(m);
}

void weir__matrix_shrink(weir__matrix *m, int shift) {
    assert(m->counter == WEIR__COUNTER_REAL);
    double *cells = (void *)m->cells, factor = ldexp(1, -shift);
    for (uint64_t i = 0; i < m->width * m->depth; i++) cells[i] *= factor;
    m->stale = true;
}

bool weir__matrix_sound(const weir__matrix *m) {
    if (m->counter != WEIR__COUNTER_REAL) return true;
    for (uint64_t i = 0; i < m->width * m->depth; i++)
        if (!isfinite(weir__cell_value(m, i))) return false;
    return true;
}
