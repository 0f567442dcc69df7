/* recent_line.h - what one cache line of `recent` holds, in two forms.
 *
 * A line is 512 bits and stands in one of two forms; its first bits say which.
 * Bits are numbered from the low bit of byte 0, so the picture is the same on
 * every machine.
 *
 * The shared form: all keys of the line share its space
 *
 *     | n | header: Q lists in unary, Q + n bits | free | remainder n-1 ... 1 0 |
 *
 * A key's value v (64 bits that remain of its hash once the line is chosen)
 * picks list floor(v Q / 2^64), and the first r bits of what is left of v are
 * its remainder. The header writes each list as one 1 per entry and a closing
 * 0; remainder i belongs to the i-th 1. The width r follows from n alone: as n
 * grows the remainders are cut shorter in place, nothing else changes. The
 * entries of a list stand in order, the first one best protected.
 *
 * The ordered form: G groups, each with a few slots at a fixed place
 *
 *     | code | group 0: slot 0, slot 1, ... | group 1 | ... |
 *
 * v picks group floor(v G / 2^64), the first b bits of the rest are the
 * fingerprint, slots stand in order of recency. A slot is never empty: where
 * there are too few keys, copies stand in, and the rate counts every slot.
 *
 * Either way a new key matches by chance with probability
 * (entries) / (values that an entry can take): n / (Q 2^r), n / (G 2^b).
 */
#ifndef WEIR_FILTER_RECENT_LINE_H
#define WEIR_FILTER_RECENT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>


#define LINE_BYTES 64u
#define LINE_BITS 512u
#define ENTRIES_MAX 240u /* the most that a line may hold */
#define WIDTH_MAX 56u    /* of a remainder: with a shift of up to 7 bits it is read in one load */
#define LIST_MAX 40u     /* of one list: its 1s are counted in one load */
#define WINDOW_MAX 121u  /* bits of a group, likewise in two loads */

typedef struct {
    unsigned lists;                  /* Q */
    unsigned most;                   /* entries in a line, at most */
    uint8_t width[ENTRIES_MAX + 2];  /* r for n entries */
    uint64_t cost[ENTRIES_MAX + 2];  /* chance match for n entries, in budget units */
} shared_form;

typedef struct {
    unsigned groups;   /* G */
    unsigned bits;     /* b */
    unsigned slots;    /* in the first `wide` groups; the others have one fewer */
    unsigned wide;
    unsigned enter;    /* place at which a new key enters */
    unsigned entries;  /* slots in all */
    uint64_t cost;
} ordered_form;

typedef struct {
    unsigned code_bits; /* at the start of a line: n, or the code of an ordered form */
    unsigned code_ordered; /* codes from here on are ordered forms */
    shared_form shared;
} line_shape;

typedef unsigned __int128 wide_word;

/* ---- bits of a line ---- */

static inline uint64_t load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
static inline void store64(uint8_t *at, uint64_t word) { memcpy(at, &word, sizeof word); }

static inline uint64_t low_mask(unsigned count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

static inline uint64_t get_word(const uint8_t *line, unsigned k) {
    return load64(line + 8 * k);
}
static inline void put_word(uint8_t *line, unsigned k, uint64_t word) {
    store64(line + 8 * k, word);
}

/* Up to WIDTH_MAX bits anywhere: one load, moved back where it would leave the line. */
static inline uint64_t get_bits(const uint8_t *line, unsigned at, unsigned count) {
    unsigned byte = at / 8 < 56 ? at / 8 : 56;
    return load64(line + byte) >> (at - 8 * byte) & low_mask(count);
}
static inline void put_bits(uint8_t *line, unsigned at, unsigned count, uint64_t value) {
    unsigned byte = at / 8 < 56 ? at / 8 : 56, shift = at - 8 * byte;
    uint64_t word = load64(line + byte) & ~(low_mask(count) << shift);
    store64(line + byte, word | value << shift);
}

/* Move the bits [from, to) up, or down, by 1..63 places. */
static inline void move_up(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from + by) / 64, last = (to + by - 1) / 64;
    for (unsigned k = last;; k--) {
        uint64_t old = get_word(line, k), moved = old << by;
        if (k) moved |= get_word(line, k - 1) >> (64 - by);
        uint64_t mask = ~UINT64_C(0);
        if (k == last) mask &= low_mask(to + by - 64 * k);
        if (k == first) mask &= ~low_mask(from + by - 64 * k);
        put_word(line, k, (old & ~mask) | (moved & mask));
        if (k == first) break;
    }
}
static inline void move_down(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from - by) / 64, last = (to - by - 1) / 64;
    for (unsigned k = first; k <= last; k++) {
        uint64_t old = get_word(line, k), moved = old >> by;
        if (k < 7) moved |= get_word(line, k + 1) << (64 - by);
        uint64_t mask = ~UINT64_C(0);
        if (k == last) mask &= low_mask(to - by - 64 * k);
        if (k == first) mask &= ~low_mask(from - by - 64 * k);
        put_word(line, k, (old & ~mask) | (moved & mask));
    }
}

/* Place of the 1 with `rank` others below it. Bytewise counts first, then the
 * bits of one byte (Vigna, "Broadword implementation of rank/select queries"). */
static inline unsigned select_one(uint64_t word, unsigned rank) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t sums = word - (word >> 1 & ones * 0x55);
    sums = (sums & ones * 0x33) + (sums >> 2 & ones * 0x33);
    sums = ((sums + (sums >> 4)) & ones * 0x0f) * ones; /* byte j: 1s in bytes 0..j */
    uint64_t below = ((ones * rank | tops) - sums) & tops; /* top set: sum <= rank */
    unsigned place = (unsigned)(((below >> 7) * ones >> 56) * 8);
    unsigned left = rank - (unsigned)(sums << 8 >> place & 0xff);
    uint64_t byte = word >> place & 0xff;
    while (left--) byte &= byte - 1;
    return place + (unsigned)__builtin_ctzll(byte);
}

static inline unsigned read_code(const uint8_t *line, const line_shape *shape) {
    return line[0] & ((1u << shape->code_bits) - 1);
}
static inline void write_code(uint8_t *line, const line_shape *shape, unsigned code) {
    unsigned mask = (1u << shape->code_bits) - 1;
    line[0] = (uint8_t)((line[0] & ~mask) | code);
}

/* ---- the shared form ---- */

typedef struct {
    unsigned head;   /* header bit at which the list begins */
    unsigned first;  /* entries of the lists before it */
    unsigned length; /* its own */
} list_place;

static inline list_place find_list(const uint8_t *line, const line_shape *shape, unsigned list) {
    unsigned head = shape->code_bits;
    if (list) {
        unsigned k = 0, left = list - 1;
        uint64_t zeros = ~get_word(line, 0) & ~low_mask(shape->code_bits);
        for (unsigned count; (count = (unsigned)__builtin_popcountll(zeros)) <= left;) {
            left -= count;
            zeros = ~get_word(line, ++k);
        }
        head = 64 * k + select_one(zeros, left) + 1;
    }
    unsigned length = (unsigned)__builtin_ctzll(~get_bits(line, head, WIDTH_MAX));
    return (list_place){head, head - shape->code_bits - list, length};
}

static inline unsigned remainder_at(unsigned i, unsigned width) {
    return LINE_BITS - (i + 1) * width;
}

/* The place in the list of a remainder, or its length if it is not there. */
static inline unsigned find_remainder(const uint8_t *line, list_place place, unsigned width,
                                      uint64_t remainder) {
    unsigned j = 0;
    while (j < place.length &&
           get_bits(line, remainder_at(place.first + j, width), width) != remainder)
        j++;
    return j;
}

/* Move entry `from` of the line to place `to` <= from; those between make room. */
static inline void promote(uint8_t *line, unsigned from, unsigned to, unsigned width,
                           uint64_t remainder) {
    move_down(line, remainder_at(from, width) + width, remainder_at(to, width) + width, width);
    put_bits(line, remainder_at(to, width), width, remainder);
}

/* One more entry: `at` is its place in the line, `head` its list's header bit. */
static inline void insert_entry(uint8_t *line, const line_shape *shape, unsigned n, unsigned width,
                                unsigned head, unsigned at, uint64_t remainder) {
    move_up(line, head, shape->code_bits + shape->shared.lists + n, 1);
    put_bits(line, head, 1, 1);
    promote(line, n, at, width, remainder);
}

/* Entry `out`, whose header bit is `bit`, goes; a new one comes in at `at`. */
static inline void exchange_entry(uint8_t *line, unsigned width, unsigned head, unsigned at,
                                  unsigned bit, unsigned out, uint64_t remainder) {
    if (out >= at) {
        move_up(line, head, bit, 1);
        put_bits(line, head, 1, 1);
        promote(line, out, at, width, remainder);
        return;
    }
    if (bit < head) {
        move_down(line, bit + 1, head, 1);
        put_bits(line, head - 1, 1, 1);
    }
    move_up(line, remainder_at(at - 1, width), remainder_at(out, width), width);
    put_bits(line, remainder_at(at - 1, width), width, remainder);
}

/* Cut all remainders from one width to a smaller one. Entry i moves up, never
 * onto one that is still to be read. */
static inline void shorten(uint8_t *line, unsigned n, unsigned from, unsigned to) {
    for (unsigned i = 0; i < n; i++) {
        uint64_t remainder = get_bits(line, remainder_at(i, from), from) >> (from - to);
        put_bits(line, remainder_at(i, to), to, remainder);
    }
}

/* The ends of lists: 1s with a 0 after them; `long_only`: and a 1 before them. */
static inline uint64_t list_ends(const uint8_t *line, unsigned k, unsigned header_from,
                                 bool long_only) {
    uint64_t word = get_word(line, k), next = k < 7 ? get_word(line, k + 1) : 0;
    if (k == 0) word &= ~low_mask(header_from);
    uint64_t ends = word & ~(word >> 1 | next << 63);
    if (long_only) ends &= word << 1 | (k ? get_word(line, k - 1) >> 63 : 0);
    return k == 0 ? ends & ~low_mask(header_from) : ends;
}

/* The first list end at or after header bit `start`, round the corner if need
 * be; 0 if there is none. */
static inline unsigned next_end(const uint8_t *line, const line_shape *shape, unsigned n,
                                unsigned start, bool long_only) {
    unsigned stop = shape->code_bits + shape->shared.lists + n, words = (stop + 63) / 64;
    unsigned k = start / 64;
    uint64_t ends = list_ends(line, k, shape->code_bits, long_only) & ~low_mask(start % 64);
    for (unsigned turn = 0; turn <= words; turn++) {
        if (k == words - 1) ends &= low_mask(stop - 64 * k);
        if (ends) return 64 * k + (unsigned)__builtin_ctzll(ends);
        k = k + 1 < words ? k + 1 : 0;
        ends = list_ends(line, k, shape->code_bits, long_only);
    }
    return 0;
}

/* How many entries stand before header bit `bit`. */
static inline unsigned entries_before(const uint8_t *line, const line_shape *shape, unsigned bit) {
    unsigned count = 0, k = 0;
    uint64_t skip = ~low_mask(shape->code_bits);
    for (; k < bit / 64; k++, skip = ~UINT64_C(0))
        count += (unsigned)__builtin_popcountll(get_word(line, k) & skip);
    return count + (unsigned)__builtin_popcountll(get_word(line, k) & skip & low_mask(bit % 64));
}

/* ---- the ordered form ---- */

typedef struct {
    unsigned byte, shift; /* where to load the two words, and where the window begins in them */
    unsigned slots;
} group_window;

static inline group_window find_group(const ordered_form *form, const line_shape *shape,
                                      unsigned group) {
    unsigned narrow = group > form->wide ? group - form->wide : 0;
    unsigned at = shape->code_bits + (group * form->slots - narrow) * form->bits;
    unsigned byte = at / 8 < 48 ? at / 8 : 48;
    return (group_window){byte, at - 8 * byte, form->slots - (group >= form->wide)};
}

static inline wide_word load_window(const uint8_t *line, group_window window) {
    wide_word both = load64(line + window.byte) |
                     (wide_word)load64(line + window.byte + 8) << 64;
    return both >> window.shift;
}

static inline wide_word wide_mask(unsigned count) { return ((wide_word)1 << count) - 1; }

static inline void store_window(uint8_t *line, group_window window, unsigned bits,
                                wide_word slots) {
    wide_word both = load64(line + window.byte) |
                     (wide_word)load64(line + window.byte + 8) << 64;
    wide_word mask = wide_mask(bits * window.slots) << window.shift;
    both = (both & ~mask) | (slots << window.shift & mask);
    store64(line + window.byte, (uint64_t)both);
    store64(line + window.byte + 8, (uint64_t)(both >> 64));
}

static inline unsigned find_slot(wide_word slots, unsigned count, unsigned bits,
                                 uint64_t fingerprint) {
    unsigned j = 0;
    while (j < count && ((uint64_t)(slots >> j * bits) & low_mask(bits)) != fingerprint) j++;
    return j;
}

/* The fingerprint goes to place `to`, what stood in to..from-1 moves on by one,
 * what stood at `from` is gone. */
static inline wide_word move_slot(wide_word slots, unsigned from, unsigned to, unsigned bits,
                                  uint64_t fingerprint) {
    wide_word moving = wide_mask(from * bits) & ~wide_mask(to * bits);
    wide_word changed = wide_mask((from + 1) * bits) & ~wide_mask(to * bits);
    return (slots & ~changed) | (slots & moving) << bits | (wide_word)fingerprint << to * bits;
}

/* Where a value begins again: the middle of what entry (part, bits) stands for. */
static inline uint64_t value_of(unsigned part, unsigned parts, uint64_t prefix, unsigned bits) {
    uint64_t fraction = prefix << (64 - bits) | UINT64_C(1) << (63 - bits);
    return (uint64_t)((((wide_word)part << 64) | fraction) / parts);
}

#endif
