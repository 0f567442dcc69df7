/* supervalue.c - from a record of d values to its super-values.
 *
 * Question   which parts of a record are compared with those of others?
 * Idea       two records that agree in j of d columns agree in C(j, k) of their
 *            C(d, k) k-subsets of columns. Each record draws l_k = ceil(r C(d, k))
 *            different subsets of each size k = s..d at random; the values in a
 *            subset, each labelled with its column, in the order of the columns,
 *            make one super-value. Equal super-values betray similar records.
 * Fingerprint  a labelled value is a mixed word; a super-value is the mixed sum
 *            of its words and of a word for k. The label is in the word, so the
 *            sum stands for the labelled values in column order and for nothing
 *            else, but for chance: two different ones collide with probability
 *            2^-64. A sum lets a subset of many columns be the record's sum less
 *            the few that are left out. Sets have items without a place: their
 *            words carry no label.
 * Drawing    where there are few ways to draw (6,435 for 8 subsets of 15) they are
 *            listed, and one is taken. Else Floyd's algorithm over the subsets by
 *            number, with the bits of a map for what is taken; more than half are
 *            drawn by drawing what is left out. The generator starts from the
 *            record's number, so a record draws the same in every run, thread and batch.
 * Cost       about min(k, d-k) additions a super-value; one generator word for a way
 *            that is listed, else for two draws
 * Source     thesis 5.2.4, step 1. "Repeat this process l_k times" is read as l_k
 *            different subsets: only then does a record meet itself exactly l_k times
 *            (eq. 5.1 takes l_k n off) and a pair at most l_k times (the proof of
 *            theorem 7), and row k = d of table 5.1 has no error.
 */
#include "pairs/supervalue.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

enum { WAYS_MOST = 8192 }; /* 32 KiB a level */

double weir__choose(unsigned n, unsigned k) {
    if (k > n) return 0;
    if (k > n - k) k = n - k;
    double c = 1;
    for (unsigned i = 1; i <= k; i++) c = c * (n - k + i) / i;
    return round(c);
}

/* ---- the tables ---- */

/* Write down every subset of `size` out of d columns, in lexical order. */
static void list_subsets(uint8_t *out, unsigned d, unsigned size) {
    assert(size <= d && d <= WEIR__COLUMNS_MOST);
    uint8_t at[WEIR__COLUMNS_MOST];
    for (unsigned i = 0; i < size; i++) at[i] = (uint8_t)i;
    while (size) {
        memcpy(out, at, size);
        out += size;
        unsigned i = size;
        while (i && at[i - 1] == d - size + i - 1) i--;
        if (!i) return;
        at[i - 1]++;
        for (; i < size; i++) at[i] = (uint8_t)(at[i - 1] + 1);
    }
}

/* All ways to draw, as bits, if they are few: the next larger word with as many
 * bits is found by carrying the lowest run of ones. */
static bool list_ways(weir__level *level) {
    assert(level->drawn >= 1 && level->drawn <= level->subsets);
    double ways = weir__choose(level->subsets, level->drawn);
    if (level->subsets >= 32 || ways > WAYS_MOST) return true;
    level->ways = malloc((size_t)ways * sizeof *level->ways);
    if (!level->ways) return false;
    uint64_t bits = (UINT64_C(1) << level->drawn) - 1;
    for (level->way_count = 0; level->way_count < (uint32_t)ways; level->way_count++) {
        uint64_t lowest = bits & (0 - bits), carried = bits + lowest;
        level->ways[level->way_count] = (uint32_t)bits;
        bits = carried | ((bits ^ carried) / lowest >> 2);
    }
    return true;
}

static bool level_init(weir__level *level, unsigned d, unsigned k, double r, uint64_t *state) {
    double subsets = weir__choose(d, k);
    assert(d >= k && subsets <= WEIR__SUBSETS_MOST);
    level->k = k;
    level->subsets = (uint32_t)subsets;
    level->drawn = (uint32_t)ceil(r * subsets * (1 - 1e-12)); /* 0.1 x 10 is 1, not 2 */
    if (level->drawn < 1) level->drawn = 1;
    level->left_out = k > d - k;
    level->listed = level->left_out ? d - k : k;
    level->key = weir__rng_next(state);
    level->lists = malloc((size_t)level->subsets * level->listed + 1);
    if (level->lists) list_subsets(level->lists, d, level->listed);
    return level->lists && list_ways(level);
}

weir_status weir__shape_init(weir__shape *shape, unsigned d, unsigned s, double r, bool labelled,
                             uint64_t seed, weir_error *err) {
    assert(s >= 1 && s <= d && d <= WEIR__COLUMNS_MOST && r > 0 && r <= 1);
    memset(shape, 0, sizeof *shape);
    shape->d = d;
    shape->s = s;
    double all = 0;
    for (unsigned k = s; k <= d; k++) all += weir__choose(d, k);
    if (all > WEIR__SUBSETS_MOST)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "%u columns have %.3g subsets of %u or more, over 1M; compare fewer "
                          "columns or raise the threshold",
                          d, all, s);
    uint64_t state = seed ^ UINT64_C(0x7061697273); /* "pairs" */
    uint64_t label = weir__rng_next(&state);
    for (unsigned c = 0; c < d; c++)
        shape->column_key[c] = labelled ? weir__rng_next(&state) : label;
    for (unsigned k = s; k <= d; k++) {
        weir__level *level = &shape->level[shape->levels++];
        if (!level_init(level, d, k, r, &state)) {
            weir__shape_release(shape);
            return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
        }
        shape->per_record += level->drawn;
        size_t words = (level->subsets + 63) / 64;
        if (words > shape->bitmap_words) shape->bitmap_words = words;
    }
    return WEIR_OK;
}

void weir__shape_release(weir__shape *shape) {
    for (unsigned i = 0; i < shape->levels; i++) {
        free(shape->level[i].lists);
        free(shape->level[i].ways);
    }
    memset(shape, 0, sizeof *shape);
}

/* ---- one record ---- */

void weir__label(const weir__shape *shape, const uint64_t *row, weir__labelled *out) {
    out->sum = 0;
    for (unsigned c = 0; c < shape->d; c++) {
        out->value[c] = weir__mix64(row[c] ^ shape->column_key[c]);
        out->sum += out->value[c];
    }
}

static inline uint64_t fingerprint(const weir__level *level, const weir__labelled *record,
                                   uint32_t subset, unsigned listed) {
    assert(subset < level->subsets);
    const uint8_t *list = level->lists + (size_t)subset * listed;
    uint64_t part = 0;
    for (unsigned i = 0; i < listed; i++) part += record->value[list[i]];
    return weir__mix64((level->left_out ? record->sum - part : part) + level->key);
}

uint64_t weir__super_value(const weir__level *level, const weir__labelled *record,
                           uint32_t subset) {
    return fingerprint(level, record, subset, level->listed);
}

static void draw_floyd(const weir__level *level, uint64_t *state, uint64_t *bitmap) {
    uint32_t n = level->subsets, words = (n + 63) / 64;
    assert(level->drawn <= n);
    bool inverse = level->drawn > n / 2;
    uint32_t count = inverse ? n - level->drawn : level->drawn;
    uint64_t word = 0;
    bool half = false;
    for (uint32_t j = n - count; j < n; j++) {
        word = half ? word >> 32 : weir__rng_next(state);
        half = !half;
        uint32_t pick = (uint32_t)(((word & UINT32_MAX) * (j + 1)) >> 32);
        uint64_t bit = UINT64_C(1) << (pick % 64);
        if (bitmap[pick / 64] & bit) bitmap[j / 64] |= UINT64_C(1) << (j % 64);
        else bitmap[pick / 64] |= bit;
    }
    if (!inverse) return;
    for (uint32_t w = 0; w < words; w++) bitmap[w] = ~bitmap[w];
    if (n % 64) bitmap[words - 1] &= (UINT64_C(1) << (n % 64)) - 1;
}

void weir__draw(const weir__level *level, uint64_t *state, uint64_t *bitmap) {
    if (level->ways) bitmap[0] = level->ways[weir__rng_below(state, level->way_count)];
    else draw_floyd(level, state, bitmap);
}

/* The loop for a fixed number of listed columns, so that it can be unrolled. */
static inline uint64_t *emit(const weir__level *level, const weir__labelled *record,
                             uint64_t *bitmap, uint64_t *out, unsigned listed) {
    for (uint32_t at = 0; at < level->subsets; at += 64) {
        uint64_t bits = bitmap[at / 64];
        bitmap[at / 64] = 0;
        for (; bits; bits &= bits - 1) {
            uint32_t subset = at + (uint32_t)__builtin_ctzll(bits);
            *out++ = fingerprint(level, record, subset, listed);
        }
    }
    return out;
}

void weir__super_values(const weir__level *level, const weir__labelled *record, uint64_t *bitmap,
                        uint64_t *out) {
    switch (level->listed) {
    case 0:
        emit(level, record, bitmap, out, 0);
        break;
    case 1:
        emit(level, record, bitmap, out, 1);
        break;
    case 2:
        emit(level, record, bitmap, out, 2);
        break;
    case 3:
        emit(level, record, bitmap, out, 3);
        break;
    default:
        emit(level, record, bitmap, out, level->listed);
    }
}
