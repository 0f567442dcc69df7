/* recent_span.h - a line of `recent` that keeps the linear span of its keys.
 *
 * Each key of the line is a word of W bits, taken from its hash, and words are vectors: they add
 * by exclusive or. The line keeps the span of its n keys, all sums of some of them, and a key is
 * called SEEN if its word is in it. So every key is, and a new one is by chance with probability
 * 2^n / 2^W. The basis of a span in its reduced form has a column of its own for each of its n
 * vectors, a pivot, where it has a 1 and the others a 0; what stands in the other W - n columns is
 * all there is to write down:
 *
 *     n (W - n) bits, and four or so for n and for where the pivots are,
 *
 * which is n log2(1/e) when n has grown to W - log2(1/e): there is no order, no list and no
 * empty place, nothing is paid but for the rate. At 0.0001% a line holds 25 keys, where
 * lists hold 23 and the limit is 25.7. The price: a span does not tell its keys, so none
 * can be let go, and no other form can be made of it. What came first holds its place, as good as
 * an LRU of as many places while keys come as often as ever (recent_spread.h says why), and lines
 * like this are for such streams only. When they are no longer worth it they begin again, empty.
 *
 * A span takes most bits at half its width, W^2 / 4, which must fit the line as well; so at higher
 * rates a line is cut into blocks with a span each, and a key's hash chooses a block. Keys come
 * from shared lines with as many bits as these have kept of them, so that many are all that a
 * word is made of.
 *
 *     | first byte | block 0 | block 1 | ...
 *     block: | column 0: n bits | column 1 | ... | column W - n - 1 | free | head |
 *
 * Bit i of a column is what vector i has there. In a basis with its pivots as far left as can be
 * they are the first n columns but for some holes: a hole is a column before the last pivot that
 * is not one itself, and a vector whose pivot is behind it has a 0 there. So the column of a hole
 * needs a bit only for each vector with its pivot before it, and the next bit, a 1, says how many
 * they are; the rest is 0. Holes are far from the last pivot as seldom as that takes bits. The
 * head has n and the number of holes, h: one span in 2^h has more than h. It is read from its
 * high end, and is the longer the more bits the columns leave. Holes that it cannot count are not
 * written: a key that would make them is let go, and the next one is tried.
 *
 * The first byte has a number of up to 15 where other lines have their code, as flat lines do, but
 * these have nothing but 0s above it. Those four bits are the last ones of the line, behind bit
 * 511. One block of W = 45 takes two bits more than there are, and has the first three of its head
 * in the high bits of that byte, where it never has three 0s; otherwise there is a 1.
 */
#ifndef WEIR_FILTER_RECENT_SPAN_H
#define WEIR_FILTER_RECENT_SPAN_H

#include <math.h>

#include "core/rng.h"
#include "filter/filter.h"
#include "filter/recent_line.h"

#define TIGHT_BITS 3u     /* of the first byte that no code has, where they are most */
#define TIGHT_CODE 5u     /* bits of a code that leave so many */
#define HEAD_LEAST 4u     /* bits of the head of a span, at least */
#define WRITTEN_SHORT 24u /* width up to which sizes of spans are written with a bit less */

/* ---- where its bits are ---- */

/* The bits of a line from the second byte on, and then the low ones of the first. */
HOT uint64_t get_ring(const uint8_t *line, unsigned at, unsigned count) {
    if (at + count <= RING_STRAIGHT) return get_bits(line, 8 + at, count);
    if (at >= RING_STRAIGHT) return get_bits(line, at - RING_STRAIGHT, count);
    unsigned before = RING_STRAIGHT - at;
    return get_bits(line, 8 + at, before) | get_bits(line, 0, count - before) << before;
}
HOT void put_ring(uint8_t *line, unsigned at, unsigned count, uint64_t bits) {
    unsigned before = at < RING_STRAIGHT ? least(count, RING_STRAIGHT - at) : 0;
    if (before) put_bits(line, 8 + at, before, bits & low_mask(before));
    if (before == count) return;
    put_bits(line, at + before - RING_STRAIGHT, count - before, bits >> before);
}

HOT const span_kind *kind_of(const span_form *form, unsigned block) {
    return &form->kind[block >= form->wide];
}

/* Where a block ends. One that is tight has its last three bits in the first byte's highest. */
HOT unsigned block_end(const span_form *form, unsigned block) {
    return form->at[block] + kind_of(form, block)->size;
}

/* The last bits of a block, the longest head. */
HOT unsigned get_head(const uint8_t *line, const span_form *form, unsigned block) {
    unsigned end = block_end(form, block);
    if (!form->tight) return (unsigned)get_ring(line, end - HEAD_BITS, HEAD_BITS);
    unsigned high = line[0] >> form->code_bits;
    return high << (HEAD_BITS - TIGHT_BITS) |
           (unsigned)get_ring(line, end - HEAD_BITS, HEAD_BITS - TIGHT_BITS);
}
HOT void put_head(uint8_t *line, const span_form *form, unsigned block, unsigned head,
                  unsigned bits) {
    unsigned end = block_end(form, block), low = bits;
    head >>= HEAD_BITS - bits;
    if (form->tight) {
        low -= TIGHT_BITS, end -= TIGHT_BITS;
        line[0] = (uint8_t)((line[0] & low_mask(form->code_bits)) | head >> low << form->code_bits);
    }
    put_ring(line, end - low, low, head & low_mask(low));
}

/* What the head of a block says. */
typedef struct {
    unsigned n, holes;
} span_size;

HOT span_size get_size(const uint8_t *line, const span_form *form, unsigned block) {
    const span_kind *kind = kind_of(form, block);
    const span_head *last = &kind->heads[SPAN_HEADS - 1], *head = kind->heads;
    unsigned value = get_head(line, form, block), end = block_end(form, block);
    if (value >= last->first) {
        unsigned at = end - (HEAD_BITS - last->spare) - kind->count_bits;
        return (span_size){(unsigned)get_ring(line, at, kind->count_bits),
                           (unsigned)get_ring(line, at - kind->hole_bits, kind->hole_bits)};
    }
    while (value >= head[1].first) head++;
    return (span_size){head->n, (value - head->first) >> head->spare};
}
HOT void put_size(uint8_t *line, const span_form *form, unsigned block, span_size size) {
    const span_kind *kind = kind_of(form, block);
    const span_head *last = &kind->heads[SPAN_HEADS - 1], *head = kind->heads;
    while (head < last && head->n != size.n) head++;
    unsigned bits = HEAD_BITS - head->spare, end = block_end(form, block);
    if (head < last) {
        put_head(line, form, block, head->first + (size.holes << head->spare), bits);
        return;
    }
    put_head(line, form, block, last->first, bits);
    put_ring(line, end - bits - kind->count_bits, kind->count_bits, size.n);
    put_ring(line, end - bits - kind->count_bits - kind->hole_bits, kind->hole_bits, size.holes);
}

static unsigned span_entries(const uint8_t *line, const span_form *form) {
    unsigned sum = 0;
    for (unsigned b = 0; b < form->blocks; b++) sum += get_size(line, form, b).n;
    return sum;
}

/* The block of a seat: those of the first kind have one more. */
HOT unsigned block_of_seat(const span_form *form, unsigned seat) {
    unsigned in_wide = form->wide * form->kind[0].fair;
    return seat < in_wide ? seat / form->kind[0].fair
                          : form->wide + (seat - in_wide) / form->kind[1].fair;
}

/* What a block of n keys costs: each one doubles it. */
HOT uint64_t block_cost(const span_kind *kind, unsigned n) {
    return n <= kind->fair ? ((kind->cost - 1) >> (kind->fair - n)) + 1
                           : kind->cost << (n - kind->fair);
}

/* The vector before whose pivot a hole is, and what the vectors before that have in it. */
HOT unsigned hole_before(uint64_t column) { return 63 - (unsigned)__builtin_clzll(column); }
HOT uint64_t without_hole(uint64_t column) { return column ^ UINT64_C(1) << hole_before(column); }

/* ---- a key ---- */

typedef struct {
    unsigned block;
    uint64_t word;
} span_key;

HOT span_key find_span_key(const line_shape *shape, uint64_t value) {
    const span_form *form = &shape->span;
    uint64_t rest, list = weir__part(value, shape->shared.lists, &rest);
    uint64_t known = list << form->known_bits | rest >> (64 - form->known_bits);
    unsigned seat = (unsigned)weir__part(weir__mix64(known), form->seats, &rest);
    unsigned block = block_of_seat(form, seat);
    return (span_key){block, rest >> (64 - kind_of(form, block)->width)};
}

/* A bit less: those above move down. */
HOT uint64_t take_bit(uint64_t word, unsigned at) {
    return (word & low_mask(at)) | (word >> 1 & ~low_mask(at));
}
/* A bit more: those from there on move up. */
HOT uint64_t give_bit(uint64_t word, unsigned at, uint64_t bit) {
    return (word & low_mask(at)) | (word & ~low_mask(at)) << 1 | bit << at;
}

HOT bool is_odd(uint64_t word) { return __builtin_parityll(word); }

/* Whether the span of a block has a word: it is the sum of the vectors in whose pivots it has a
 * 1, or not in the span. Most that are not differ from that sum in one of the first columns. */
HOT bool span_has(const uint8_t *line, const span_form *form, span_key key, span_size size) {
    unsigned columns = kind_of(form, key.block)->width - size.n, at = form->at[key.block], j = 0;
    unsigned n = size.n, holes = size.holes;
    uint64_t word = key.word, in_holes = 0, differ = 0;
    for (; j < holes; j++) {
        unsigned hole = hole_before(get_ring(line, at + j * n, n));
        in_holes |= (word >> hole & 1) << j;
        word = take_bit(word, hole);
    }
    uint64_t others = word >> n << holes | in_holes;
    word &= low_mask(n);
    for (j = 0; j < holes; j++)
        differ |= is_odd(without_hole(get_ring(line, at + j * n, n)) & word) ^ (others >> j & 1);
    for (; j < columns && !differ; j++)
        differ = is_odd(get_ring(line, at + j * n, n) & word) ^ (others >> j & 1);
    return !differ;
}

/* ---- a basis beside the line, to be changed ---- */

typedef struct {
    unsigned width, n, holes;
    uint64_t column[SPAN_WIDTH]; /* those of holes with the 1 that says where they are */
} span_basis;

HOT span_basis read_basis(const uint8_t *line, const span_form *form, unsigned b) {
    span_size size = get_size(line, form, b);
    span_basis basis = {kind_of(form, b)->width, size.n, size.holes, {0}};
    for (unsigned j = 0; j < basis.width - basis.n; j++)
        basis.column[j] = get_ring(line, form->at[b] + j * basis.n, basis.n);
    return basis;
}

HOT bool can_write(const span_basis *basis, const span_form *form, unsigned b) {
    return basis->holes < kind_of(form, b)->holes[basis->n];
}

HOT void write_basis(uint8_t *line, const span_form *form, unsigned b, const span_basis *basis) {
    put_size(line, form, b, (span_size){basis->n, basis->holes});
    for (unsigned j = 0; j < basis->width - basis->n; j++)
        put_ring(line, form->at[b] + j * basis->n, basis->n, basis->column[j]);
}

/* What is left of a word when the vectors in whose pivots it has a 1 are taken away: a bit for
 * each column that is not a pivot. Nothing, if it is in the span. */
HOT uint64_t reduce(const span_basis *basis, uint64_t word) {
    uint64_t left = 0;
    for (unsigned j = 0; j < basis->holes; j++) {
        unsigned hole = hole_before(basis->column[j]);
        left |= (word >> hole & 1) << j;
        word = take_bit(word, hole);
    }
    left |= word >> basis->n << basis->holes;
    word &= low_mask(basis->n);
    for (unsigned j = 0; j < basis->width - basis->n; j++) {
        uint64_t column = basis->column[j];
        if (j < basis->holes) column = without_hole(column);
        left ^= (uint64_t)is_odd(column & word) << j;
    }
    return left;
}

/* The span grows by a vector that has a 1 where `left` says, which is not 0. Its pivot is the first
 * of these columns: a hole, which is then none, or one behind the last pivot, and those that
 * this leaves out are holes from now on. Vectors with a 1 in that column have it taken away. */
HOT void extend(span_basis *basis, uint64_t left) {
    unsigned first = (unsigned)__builtin_ctzll(left), columns = basis->width - basis->n;
    uint64_t had = basis->column[first];
    unsigned row = basis->n;
    if (first < basis->holes) row = hole_before(had), had = without_hole(had);
    for (unsigned j = basis->holes; j < first; j++) basis->column[j] |= UINT64_C(1) << basis->n;
    for (unsigned j = first + 1; j < columns; j++) {
        uint64_t bit = left >> j & 1, column = basis->column[j] ^ (had & -bit);
        basis->column[j - 1] = give_bit(column, row, bit);
    }
    basis->holes = first < basis->holes ? basis->holes - 1 : first;
    basis->n++;
}

/* One of the vectors, as a word: its pivot, and what it has in the other columns. */
static uint64_t basis_word(const span_basis *basis, unsigned i) {
    unsigned before = 0; /* holes before its pivot */
    uint64_t word = 0;
    for (unsigned j = 0; j < basis->width - basis->n; j++) {
        uint64_t column = basis->column[j];
        unsigned at = basis->n + j;
        if (j < basis->holes) {
            at = hole_before(column) + j;
            before += hole_before(column) <= i;
            column = without_hole(column);
        }
        word |= (column >> i & 1) << at;
    }
    return word | UINT64_C(1) << (i + before);
}

/* ---- the line ---- */

/* A span of nothing in every block. */
HOT void empty_span(const span_form *form, span_basis *bases) {
    for (unsigned b = 0; b < form->blocks; b++)
        bases[b] = (span_basis){.width = kind_of(form, b)->width};
}

HOT void add_word(span_basis *basis, uint64_t word) {
    uint64_t left = reduce(basis, word);
    if (left) extend(basis, left);
}

HOT bool can_write_all(const span_form *form, const span_basis *bases) {
    for (unsigned b = 0; b < form->blocks; b++)
        if (!can_write(&bases[b], form, b)) return false;
    return true;
}

HOT void write_span(uint8_t *line, const span_form *form, const span_basis *bases) {
    memset(line, 0, LINE_BYTES);
    line[0] = (uint8_t)(1u << form->code_bits);
    for (unsigned b = 0; b < form->blocks; b++) write_basis(line, form, b, &bases[b]);
}

HOT bool test_span(const line_shape *shape, const uint8_t *line, uint64_t value) {
    span_key key = find_span_key(shape, value);
    return span_has(line, &shape->span, key, get_size(line, &shape->span, key.block));
}

/* What a line with so many keys in its blocks costs, and how much of that is not set aside for it:
 * blocks that have more than is fair share what a line has to spare. */
HOT line_price span_price(const span_form *form, const unsigned *counts) {
    uint64_t cost = form->known_cost, more = 0;
    for (unsigned b = 0; b < form->blocks; b++) {
        const span_kind *kind = kind_of(form, b);
        uint64_t its = block_cost(kind, counts[b]);
        cost += its;
        more += its > kind->cost ? its - kind->cost : 0;
    }
    return (line_price){cost, more > form->spare ? more - form->spare : 0};
}

HOT void get_counts(const uint8_t *line, const span_form *form, unsigned *counts) {
    for (unsigned b = 0; b < form->blocks; b++) counts[b] = get_size(line, form, b).n;
}

static bool block_is_sound(const uint8_t *line, const span_form *form, unsigned b) {
    const span_kind *kind = kind_of(form, b);
    span_size size = get_size(line, form, b);
    if (size.n >= kind->width || size.holes >= kind->holes[size.n]) return false;
    span_basis basis = read_basis(line, form, b);
    unsigned behind = 0;
    for (unsigned j = 0; j < basis.holes; j++) {
        if (!basis.column[j] || hole_before(basis.column[j]) < behind) return false;
        behind = hole_before(basis.column[j]);
    }
    return true;
}

static bool span_is_sound(const uint8_t *line, const span_form *form) {
    for (unsigned b = 0; b < form->blocks; b++)
        if (!block_is_sound(line, form, b)) return false;
    return true;
}

/* ---- planning ---- */

/* Keys that a place for so many has on average, if so many come by. */
static double keys_held(unsigned places, double keys) {
    double chance = exp(-keys), below = 0, sum = 0; /* of i keys, of no more, and how many stay */
    for (unsigned i = 0; i < places; i++) {
        below += chance;
        sum += 1 - below;
        chance *= keys / (i + 1);
    }
    return sum;
}

/* Bits that a span takes with n keys. */
static unsigned span_bits(unsigned width, unsigned n) { return n * (width - n); }

/* A head has as many bits as the span leaves, four at least, so those for which it leaves most are
 * few: heads are shared out so that as many holes can be counted as come, and the highest are left
 * for sizes that leave enough to be written out. With an odd width spans are largest for two
 * sizes, and the first heads are left out: a tight line has none that begin with three 0s. */
static void fill_heads(span_kind *kind, unsigned width) {
    static const struct {
        int8_t n;
        uint8_t spare, holes;
    } even[] = {{0, 4, 7}, {-1, 3, 7}, {1, 3, 7}, {-2, 0, 9}, {2, 0, 15}, {0, 3, 0}, {0, 3, 1}},
      odd[] = {{0, 4, 5}, {1, 4, 5}, {-1, 2, 5}, {2, 2, 5}, {-2, 0, 7}, {3, 0, 9}, {0, 3, 1}};
    unsigned first = width % 2 ? 1u << (HEAD_BITS - TIGHT_BITS) : 0;
    for (unsigned i = 0; i < SPAN_HEADS; i++) {
        int n = (int)(width / 2) + (width % 2 ? odd[i].n : even[i].n);
        unsigned spare = width % 2 ? odd[i].spare : even[i].spare;
        unsigned holes = width % 2 ? odd[i].holes : even[i].holes;
        kind->heads[i] = (span_head){(uint8_t)first, (uint8_t)n, (uint8_t)spare, (uint8_t)holes};
        first += holes << spare;
        if (i + 1 < SPAN_HEADS) kind->holes[n] = (uint8_t)(kind->holes[n] + holes);
    }
}

static void fill_kind(span_kind *kind, unsigned width, unsigned rate_bits) {
    *kind = (span_kind){.width = width, .fair = width - rate_bits};
    kind->size = span_bits(width, width / 2) + HEAD_LEAST;
    kind->count_bits = width > WRITTEN_SHORT ? 5 : 4;
    kind->hole_bits = 8 - kind->count_bits;
    fill_heads(kind, width);
    for (unsigned n = 0; n < width && n >> kind->count_bits == 0; n++)
        if (!kind->holes[n]) kind->holes[n] = (uint8_t)(1u << kind->hole_bits);
    /* on its way to the middle, where there is least room for them, a span loses a hole with each
     * key at best */
    for (unsigned n = width / 2; n > 0; n--)
        kind->holes[n - 1] = (uint8_t)least(kind->holes[n - 1], kind->holes[n] + 1u);
}

/* So many blocks, the first `wide` of a width, the others of one bit less. */
static bool fill_span(span_form *form, const line_shape *shape, unsigned wide, unsigned blocks,
                      unsigned width, unsigned rate_bits) {
    unsigned at = 0;
    *form = (span_form){.blocks = blocks, .wide = wide, .code_bits = shape->code_bits};
    fill_kind(&form->kind[0], width, rate_bits);
    fill_kind(&form->kind[1], width - 1, rate_bits);
    for (unsigned b = 0; b < blocks; b++) {
        form->at[b] = (uint16_t)at;
        form->seats += kind_of(form, b)->fair;
        at += kind_of(form, b)->size;
    }
    form->tight = at > RING_BITS && blocks == 1 && width % 2 && shape->code_bits <= TIGHT_CODE;
    if (form->tight) form->at[0] = (uint16_t)(RING_BITS + TIGHT_BITS - at);
    return at <= RING_BITS + (form->tight ? TIGHT_BITS : 0);
}

static double span_keys(const span_form *form, double keys) {
    double sum = 0;
    for (unsigned b = 0; b < form->blocks; b++) {
        unsigned fair = kind_of(form, b)->fair;
        sum += keys_held(fair, keys * fair / form->seats);
    }
    return sum;
}

#endif
