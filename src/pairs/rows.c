/* rows.c - from fields to the d values that are compared.
 *
 * Question   when is a set, a text or a vector of words like a record of d
 *            columns?
 * Idea       columns  one field each, hashed
 *            set      up to d items without order; the rest are places that agree
 *                     with nothing (0 here, made unique when the record is added)
 *            text     lower case, cut into words, w of them in a row (or w letters)
 *                     make a shingle; a value is the least of all shingles' hashes
 *                     under a function of its own: two texts agree in it with the
 *                     probability of their Jaccard similarity J. A value of g such
 *                     minima, a super-shingle, agrees with probability J^g.
 *            cosine   the shingles count as often as they occur; a value holds the
 *                     signs of g random projections: two texts at an angle a agree
 *                     with probability (1 - a/pi)^g.
 * Error      a pair of similarity t is counted with the probability that at least
 *            s of d values agree: weir_pairs_chance() has the curve. It is a curve
 *            and not a step; more columns make it steeper and cost more.
 * Cost       d g mixes a shingle.
 * Letters    of UTF-8; ASCII, Latin-1, Greek and Cyrillic capitals become small (weir pairs
 *            folds all letters of Unicode before, with a library that this one does without);
 *            a word is made of letters, digits and underscores, and every character
 *            above U+00BF counts as one that is not known to be punctuation.
 * Source     thesis 5.1 and 5.4; Broder, SEQUENCES 1997; Charikar, STOC 2002.
 */
#include "pairs/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "pairs/supervalue.h"

/* ---- letters ---- */

/* The next character; a byte that is not UTF-8 stands for itself. */
static uint32_t next_letter(const uint8_t **at, const uint8_t *end) {
    assert(*at < end);
    const uint8_t *p = *at;
    unsigned more = *p >= 0xf0 && *p < 0xf8   ? 3
                    : *p >= 0xe0 && *p < 0xf0 ? 2
                    : *p >= 0xc2 && *p < 0xe0 ? 1
                                              : 0;
    uint32_t c = more ? *p & (0x3fu >> more) : *p;
    *at = p + 1;
    for (unsigned i = 1; i <= more; i++) {
        if (p + i >= end || (p[i] & 0xc0) != 0x80) return *p;
        c = c << 6 | (p[i] & 0x3f);
    }
    *at = p + 1 + more;
    return c;
}

static uint32_t lower(uint32_t c) {
    if (c >= 'A' && c <= 'Z') return c + 32;
    if (c < 0xc0) return c;
    if (c <= 0xde && c != 0xd7) return c + 32;
    if (c >= 0x391 && c <= 0x3a9) return c + 32;
    if (c >= 0x410 && c <= 0x42f) return c + 32;
    if (c >= 0x400 && c <= 0x40f) return c + 80;
    return c;
}

static bool is_word(uint32_t c) {
    static const uint32_t others[][2] = {/* ranges of signs and punctuation */
                                         {0xd7, 0xd7},     {0xf7, 0xf7},      {0x2000, 0x206f},
                                         {0x20a0, 0x20cf}, {0x2190, 0x2bff},  {0x3000, 0x3004},
                                         {0x3008, 0x3020}, {0xfe10, 0xfe6f},  {0xff00, 0xff0f},
                                         {0xff1a, 0xff20}, {0x1f000, 0x1faff}};
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' ||
               (c >= 'A' && c <= 'Z');
    if (c < 0xc0) return c == 0xaa || c == 0xb5 || c == 0xba || c == 0xb2 || c == 0xb3 || c == 0xb9;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c >= others[i][0] && c <= others[i][1]) return false;
    return true;
}

/* ---- shingles ---- */

typedef void shingle_fn(void *context, uint64_t shingle);

/* The last few words (their hashes) or letters, and what is done with each w. */
typedef struct {
    uint64_t last[WEIR__SHINGLE_MOST];
    unsigned w;
    size_t count;
    uint64_t seed;
    shingle_fn *each;
    void *context;
} shingler;

static void hand_over(shingler *s, unsigned length) {
    assert(length && length <= s->w && length <= s->count);
    uint64_t h = s->seed;
    for (size_t i = s->count - length; i < s->count; i++)
        h = weir__mix64((h ^ s->last[i % s->w]) + WEIR__GOLD);
    s->each(s->context, h);
}

static void add_token(shingler *s, uint64_t token) {
    s->last[s->count++ % s->w] = token;
    if (s->count >= s->w) hand_over(s, s->w);
}

/* A text shorter than a shingle is one. */
static size_t finish(shingler *s) {
    if (s->count && s->count < s->w) hand_over(s, (unsigned)s->count);
    return s->count;
}

static void cut_letters(shingler *s, const uint8_t *at, const uint8_t *end) {
    bool gap = false;
    while (at < end) {
        uint32_t c = lower(next_letter(&at, end));
        if (!is_word(c)) {
            gap = s->count > 0;
            continue;
        }
        if (gap) add_token(s, ' ');
        gap = false;
        add_token(s, c);
    }
}

static void cut_words(shingler *s, const uint8_t *at, const uint8_t *end) {
    uint64_t word = 0;
    bool inside = false;
    while (at < end) {
        uint32_t c = lower(next_letter(&at, end));
        if (is_word(c)) {
            word = (inside ? word ^ c : s->seed ^ c) * UINT64_C(0x9fb21c651e98df25);
            word ^= word >> 29;
            inside = true;
        } else if (inside) {
            add_token(s, word);
            inside = false;
        }
    }
    if (inside) add_token(s, word);
}

/* Returns how many words or letters there were. */
static size_t shingles(const weir__row_maker *m, const weir_field *field, shingle_fn *each,
                       void *context) {
    shingler s = {.w = m->shingle, .seed = m->hasher.seed, .each = each, .context = context};
    const uint8_t *at = field->bytes;
    if (m->letters) cut_letters(&s, at, at + field->length);
    else cut_words(&s, at, at + field->length);
    return finish(&s);
}

/* ---- min-wise hashing ---- */

typedef struct {
    unsigned functions;
    uint64_t keys[WEIR__COLUMNS_MOST * WEIR__GROUP_MOST];
    uint64_t least[WEIR__COLUMNS_MOST * WEIR__GROUP_MOST];
} minima;

static void keep_least(void *context, uint64_t shingle) {
    minima *m = context;
    for (unsigned i = 0; i < m->functions; i++) {
        uint64_t h = weir__mix64(shingle ^ m->keys[i]);
        if (h < m->least[i]) m->least[i] = h;
    }
}

static weir_row_status text_row(const weir__row_maker *maker, const weir_field *field,
                                uint64_t *row) {
    minima m = {.functions = maker->columns * maker->group};
    assert(m.functions <= WEIR__COLUMNS_MOST * WEIR__GROUP_MOST);
    uint64_t state = maker->hasher.seed;
    for (unsigned i = 0; i < m.functions; i++) {
        m.keys[i] = weir__rng_next(&state);
        m.least[i] = UINT64_MAX;
    }
    if (!shingles(maker, field, keep_least, &m)) return WEIR_ROW_EMPTY;
    for (unsigned c = 0; c < maker->columns; c++) {
        row[c] = 0;
        for (unsigned g = 0; g < maker->group; g++)
            row[c] = weir__mix64(row[c] + m.least[c * maker->group + g]);
    }
    return WEIR_ROW_OK;
}

/* ---- random projection ---- */

typedef struct {
    unsigned projections;
    int64_t sums[WEIR__COLUMNS_MOST * WEIR__GROUP_MOST + 64 * WEIR__ANGLES_MOST];
} projected;

/* A shingle stands for a vector of random numbers, each the sum of four uniform
 * ones: near enough to normal, and no ties as random signs would give. */
static void project(void *context, uint64_t shingle) {
    projected *p = context;
    uint64_t state = shingle;
    for (unsigned i = 0; i < p->projections; i++) {
        uint64_t word = weir__rng_next(&state);
        p->sums[i] += (int64_t)((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) +
                                (word >> 48)) -
                      2 * 0xffff;
    }
}

static weir_row_status cosine_row(const weir__row_maker *maker, const weir_field *field,
                                  uint64_t *row) {
    projected p = {.projections = maker->columns * maker->group + 64 * maker->angles};
    const int64_t *sum = p.sums;
    assert(maker->columns <= WEIR__COLUMNS_MOST && maker->group <= WEIR__GROUP_MOST);
    assert(maker->angles <= WEIR__ANGLES_MOST);
    if (!shingles(maker, field, project, &p)) return WEIR_ROW_EMPTY;
    for (unsigned c = 0; c < maker->columns + maker->angles; c++) {
        row[c] = 0;
        for (unsigned g = 0; g < (c < maker->columns ? maker->group : 64); g++)
            row[c] = row[c] << 1 | (*sum++ > 0);
    }
    return WEIR_ROW_OK;
}

/* ---- columns and sets ---- */

static weir_row_status column_row(const weir__row_maker *m, const weir_field *fields, size_t count,
                                  uint64_t *row) {
    if (count != m->columns) return WEIR_ROW_TOO_FEW;
    for (size_t c = 0; c < count; c++)
        row[c] = weir__hash(&m->hasher, fields[c].bytes, fields[c].length);
    return WEIR_ROW_OK;
}

static weir_row_status set_row(const weir__row_maker *m, const weir_field *fields, size_t count,
                               uint64_t *row) {
    unsigned used = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t item = weir__hash(&m->hasher, fields[i].bytes, fields[i].length);
        unsigned c = 0;
        item += item == 0; /* 0 stands for no item */
        while (c < used && row[c] != item) c++;
        if (c < used) continue;
        if (used == m->columns) return WEIR_ROW_TOO_MANY;
        row[used++] = item;
    }
    memset(row + used, 0, (m->columns - used) * sizeof *row);
    return used ? WEIR_ROW_OK : WEIR_ROW_EMPTY;
}

weir_row_status weir__make_row(const weir__row_maker *maker, const weir_field *fields, size_t count,
                               uint64_t *row) {
    switch (maker->from) {
    case WEIR__FROM_SET:
        return set_row(maker, fields, count, row);
    case WEIR__FROM_TEXT:
        return count == 1 ? text_row(maker, fields, row) : WEIR_ROW_TOO_FEW;
    case WEIR__FROM_COSINE:
        return count == 1 ? cosine_row(maker, fields, row) : WEIR_ROW_TOO_FEW;
    case WEIR__FROM_COLUMNS:
        break;
    }
    return column_row(maker, fields, count, row);
}

/* ---- from a similarity to values that agree ---- */

double weir__value_agrees(weir__from from, unsigned group, double similarity) {
    double one = from == WEIR__FROM_COSINE ? 1 - acos(similarity) / M_PI : similarity;
    return from == WEIR__FROM_TEXT || from == WEIR__FROM_COSINE ? pow(one, group) : one;
}
