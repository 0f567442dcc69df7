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
 * While there are few keys a shared line is flat, as that is fast: list and remainder
 * stand together at the high end of a word, the tag. Up to 8 keys word i holds the
 * high 56 bits of the i-th tag, then up to 15 half word i + 1 holds its high 32 bits.
 * The low bits of word 0 hold n in either case.
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
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/cpu.h"

/* What happens seldom is a function of its own, one for any processor and one for
 * newer ones: code for the former stalls when it is called from code for the latter.
 * NOT_HERE makes both from NAME_here; CALL calls the one that suits. */
#define NOT_HERE(type, name, parameters, arguments)                                                \
    __attribute__((noinline, unused)) static type name##_any parameters {                          \
        return name##_here arguments;                                                              \
    }                                                                                              \
    FOR_AVX2 __attribute__((noinline, unused)) static type name##_avx2 parameters {                \
        return name##_here arguments;                                                              \
    }
#define CALL(name, cpu, arguments) ((cpu) == CPU_ANY ? name##_any arguments : name##_avx2 arguments)

#define LINE_BYTES 64u
#define LINE_BITS 512u
#define ENTRIES_MAX 240u /* the most that a line may hold */
#define WIDTH_MAX 56u    /* of a remainder: with a shift of up to 7 bits it is read in one load */
#define WIDTH_FIRST 33u  /* of the remainders of a line that is no longer flat */
#define WORDS_MOST 8u    /* entries of a flat line: in words, */
#define HALVES_MOST 15u  /* in half words */
#define LIST_MAX 40u     /* of one list: its 1s are counted in one load */
#define WORD_MAX 57u     /* bits of a group that is read in one load */
#define GROUP_MAX 121u   /* and in two */

typedef unsigned __int128 wide_word;

typedef struct {
    unsigned lists;                 /* Q */
    unsigned most;                  /* entries in a line, at most */
    unsigned fair;                  /* entries that every line may have */
    unsigned flat;                  /* entries of a flat line, at most */
    unsigned list_bits;             /* of a list's number */
    uint8_t width[ENTRIES_MAX + 2]; /* r for n entries */
    uint64_t cost[ENTRIES_MAX + 2]; /* chance match for n entries, in budget units */
} shared_form;

typedef struct {
    unsigned slots;
    unsigned enter_at; /* the first bit of the slot at which a new key enters */
    wide_word ones;    /* a 1 at the foot of every slot */
    wide_word all;     /* every bit */
    wide_word entered; /* the slots that change when a new key enters */
} group_shape;

typedef struct {
    unsigned groups; /* G */
    unsigned bits;   /* b */
    unsigned slots;  /* in the first `wide` groups; the others have one fewer */
    unsigned wide;
    unsigned entries; /* slots in all */
    bool one_word;    /* a group is read and written as one word */
    uint64_t cost;
    group_shape shape[2]; /* of wide groups and of narrow ones */
} ordered_form;

typedef struct {
    unsigned code_bits;    /* at the start of a line: n, or the code of an ordered form */
    unsigned code_ordered; /* codes from here on are ordered forms */
    shared_form shared;
} line_shape;

/* ---- bits of a line ---- */

HOT uint64_t load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}
HOT void store64(uint8_t *at, uint64_t word) { memcpy(at, &word, sizeof word); }

HOT uint64_t low_mask(unsigned count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

HOT uint64_t get_word(const uint8_t *line, unsigned k) { return load64(line + 8 * k); }
HOT void put_word(uint8_t *line, unsigned k, uint64_t word) { store64(line + 8 * k, word); }

/* Up to WIDTH_MAX bits anywhere: one load, moved back where it would leave the line. */
HOT uint64_t get_bits(const uint8_t *line, unsigned at, unsigned count) {
    unsigned byte = at / 8 < 56 ? at / 8 : 56;
    return load64(line + byte) >> (at - 8 * byte) & low_mask(count);
}
HOT void put_bits(uint8_t *line, unsigned at, unsigned count, uint64_t value) {
    unsigned byte = at / 8 < 56 ? at / 8 : 56, shift = at - 8 * byte;
    uint64_t word = load64(line + byte) & ~(low_mask(count) << shift);
    store64(line + byte, word | value << shift);
}

/* The bits of a word from place x on, for any x. */
HOT uint64_t from_place(int x) {
    uint64_t all = ~UINT64_C(0);
    return x <= 0 ? all : x > 63 ? 0 : all << x;
}
/* Move the bits [from, to) up, or down, by 1..63 places. */
HOT void move_up(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from + by) / 64, last = (to + by - 1) / 64;
    for (unsigned k = last;; k--) {
        uint64_t old = get_word(line, k), moved = old << by;
        if (k) moved |= get_word(line, k - 1) >> (64 - by);
        uint64_t mask =
            from_place((int)(from + by) - 64 * (int)k) & ~from_place((int)(to + by) - 64 * (int)k);
        put_word(line, k, (old & ~mask) | (moved & mask));
        if (k == first) break;
    }
}
HOT void move_down(uint8_t *line, unsigned from, unsigned to, unsigned by) {
    if (from >= to) return;
    unsigned first = (from - by) / 64, last = (to - by - 1) / 64;
    for (unsigned k = first; k <= last; k++) {
        uint64_t old = get_word(line, k), moved = old >> by;
        if (k < 7) moved |= get_word(line, k + 1) << (64 - by);
        uint64_t mask =
            from_place((int)(from - by) - 64 * (int)k) & ~from_place((int)(to - by) - 64 * (int)k);
        put_word(line, k, (old & ~mask) | (moved & mask));
    }
}

#if defined(__x86_64__)
/* The whole line in one register: bits from `place` on, and a value at `place`. */
FOR_AVX512 static inline __m512i wide_from(int place) {
    const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    __m512i x = _mm512_sub_epi64(_mm512_set1_epi64(place), base);
    return _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_max_epi64(x, _mm512_setzero_si512()));
}
FOR_AVX512 static inline __m512i wide_at(uint64_t value, int place) {
    const __m512i base = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    __m512i x = _mm512_sub_epi64(_mm512_set1_epi64(place), base),
            v = _mm512_set1_epi64((long long)value);
    __m512i negative = _mm512_sub_epi64(_mm512_setzero_si512(), x);
    return _mm512_or_si512(_mm512_sllv_epi64(v, x), _mm512_srlv_epi64(v, negative));
}
/* Bits [from, to) of one line, the others of another. */
FOR_AVX512 static inline __m512i wide_blend(__m512i line, __m512i moved, int from, int to) {
    __m512i mask = _mm512_andnot_si512(wide_from(to), wide_from(from));
    return _mm512_ternarylogic_epi64(mask, moved, line, 0xca); /* mask ? moved : line */
}
FOR_AVX512 static inline void splice_in_wide(uint8_t *at, int head, int stop, int low, int high,
                                             int width, uint64_t remainder) {
    __m512i line = _mm512_loadu_si512(at), zero = _mm512_setzero_si512();
    __m512i up = _mm512_shldi_epi64(line, _mm512_alignr_epi64(line, zero, 7), 1);
    __m512i down =
        _mm512_shrdv_epi64(line, _mm512_alignr_epi64(zero, line, 1), _mm512_set1_epi64(width));
    __m512i new = wide_blend(line, up, head + 1, stop + 1);
    new = wide_blend(new, down, low - width, high - width);
    new = wide_blend(new, wide_at(remainder, high - width), high - width, high);
    new = _mm512_or_si512(new, wide_at(1, head));
    _mm512_storeu_si512(at, new);
}
FOR_AVX512 static inline void splice_back_wide(uint8_t *at, int head, int gap, int low, int high,
                                               int width, uint64_t remainder) {
    __m512i line = _mm512_loadu_si512(at), zero = _mm512_setzero_si512();
    __m512i down = _mm512_shrdi_epi64(line, _mm512_alignr_epi64(zero, line, 1), 1);
    __m512i up =
        _mm512_shldv_epi64(line, _mm512_alignr_epi64(line, zero, 7), _mm512_set1_epi64(width));
    __m512i new = wide_blend(line, down, gap, head - 1);
    new = wide_blend(new, up, low + width, high + width);
    new = wide_blend(new, wide_at(remainder, low), low, low + width);
    new = _mm512_or_si512(new, wide_at(1, head - 1));
    _mm512_storeu_si512(at, new);
}
#else
#define splice_in_wide(...) ((void)0)
#define splice_back_wide(...) ((void)0)
#endif

/* The one change that a line knows: a 1 comes into the header at bit `head`, the
 * header bits from there up to `stop` move up by one; a remainder comes in at the
 * top of the body bits [low, high), and these move down by its width. */
HOT void splice_in(uint8_t *line, unsigned head, unsigned stop, unsigned low, unsigned high,
                   unsigned width, uint64_t remainder, cpu_kind cpu) {
    if (cpu == CPU_AVX512) {
        splice_in_wide(line, (int)head, (int)stop, (int)low, (int)high, (int)width, remainder);
        return;
    }
    move_up(line, head, stop, 1);
    put_bits(line, head, 1, 1);
    move_down(line, low, high, width);
    put_bits(line, high - width, width, remainder);
}

/* The same with the gap on the other side: header bits (gap, head) move down by
 * one, body bits [low, high) move up by the width. */
HOT void splice_back(uint8_t *line, unsigned head, unsigned gap, unsigned low, unsigned high,
                     unsigned width, uint64_t remainder, cpu_kind cpu) {
    if (cpu == CPU_AVX512) {
        splice_back_wide(line, (int)head, (int)gap, (int)low, (int)high, (int)width, remainder);
        return;
    }
    move_down(line, gap + 1, head, 1);
    put_bits(line, head - 1, 1, 1);
    move_up(line, low, high, width);
    put_bits(line, low, width, remainder);
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) static inline unsigned select_pdep(uint64_t word, unsigned rank) {
    return (unsigned)__builtin_ctzll(_pdep_u64(UINT64_C(1) << rank, word));
}
#else
static inline unsigned select_pdep(uint64_t word, unsigned rank) {
    (void)word;
    return rank;
}
#endif

/* Place of the 1 with `rank` others below it. Bytewise counts first, then the
 * bits of one byte (Vigna, "Broadword implementation of rank/select queries"). */
HOT unsigned select_one(uint64_t word, unsigned rank, cpu_kind cpu) {
    if (cpu != CPU_ANY) return select_pdep(word, rank);
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t sums = word - (word >> 1 & ones * 0x55);
    sums = (sums & ones * 0x33) + (sums >> 2 & ones * 0x33);
    sums = ((sums + (sums >> 4)) & ones * 0x0f) * ones;    /* byte j: 1s in bytes 0..j */
    uint64_t below = ((ones * rank | tops) - sums) & tops; /* top set: sum <= rank */
    unsigned place = (unsigned)(((below >> 7) * ones >> 56) * 8);
    unsigned left = rank - (unsigned)(sums << 8 >> place & 0xff);
    uint64_t byte = word >> place & 0xff;
    while (left--) byte &= byte - 1;
    return place + (unsigned)__builtin_ctzll(byte);
}

HOT unsigned read_code(const uint8_t *line, const line_shape *shape) {
    return line[0] & ((1u << shape->code_bits) - 1);
}
HOT void write_code(uint8_t *line, const line_shape *shape, unsigned code) {
    unsigned mask = (1u << shape->code_bits) - 1;
    line[0] = (uint8_t)((line[0] & ~mask) | code);
}

/* ---- the shared form ---- */

HOT uint64_t tag_of(const shared_form *form, unsigned list, uint64_t rest) {
    return (uint64_t)list << (64 - form->list_bits) | rest >> form->list_bits;
}

/* Bits that a flat line of n entries keeps of a tag, and the tag of entry i. */
HOT unsigned tag_bits(unsigned n) { return n <= WORDS_MOST ? 56 : 32; }
HOT uint64_t get_tag(const uint8_t *line, unsigned n, unsigned i) {
    if (n <= WORDS_MOST) return get_word(line, i) & ~low_mask(8);
    return get_bits(line, 32 * (i + 1), 32) << 32;
}

#if defined(__x86_64__)
FOR_AVX512 static inline bool find_tag_wide(const uint8_t *line, unsigned n, uint64_t tag) {
    __m512i all = _mm512_loadu_si512(line);
    if (n > WORDS_MOST)
        return _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32((int)(tag >> 32))) >> 1 &
               ((1u << n) - 1);
    __m512i differ = _mm512_xor_si512(all, _mm512_set1_epi64((long long)tag));
    return _mm512_testn_epi64_mask(differ, _mm512_set1_epi64(-256)) & ((1u << n) - 1);
}
#else
#define find_tag_wide(...) false
#endif

HOT bool find_tag(const uint8_t *line, unsigned n, uint64_t tag, cpu_kind cpu) {
    if (cpu == CPU_AVX512) return find_tag_wide(line, n, tag);
    unsigned found = 0;
    if (n > WORDS_MOST)
        for (unsigned i = 0; i < HALVES_MOST; i++)
            found |= (unsigned)(get_bits(line, 32 * (i + 1), 32) == tag >> 32) << i;
    else
        for (unsigned i = 0; i < WORDS_MOST; i++)
            found |= (unsigned)((get_word(line, i) ^ tag) >> 8 == 0) << i;
    return found & ((1u << n) - 1);
}

typedef struct {
    unsigned head;   /* header bit at which the list begins */
    unsigned first;  /* entries of the lists before it */
    unsigned length; /* its own */
} list_place;

/* How many words the header reaches into. */
HOT unsigned header_words(const line_shape *shape, unsigned n) {
    return (shape->code_bits + shape->shared.lists + n + 63) / 64;
}

HOT list_place find_list(const uint8_t *line, const line_shape *shape, unsigned words,
                         unsigned list, cpu_kind cpu) {
    /* A list begins after as many 0s as there are lists before it. Count the code
     * bits as a 0 at their last place, so that list 0 is no exception. */
    uint64_t zeros =
        (~get_word(line, 0) & ~low_mask(shape->code_bits)) | UINT64_C(1) << (shape->code_bits - 1);
    unsigned left = list, word = 0;
    for (unsigned k = 1; k < words; k++) {
        unsigned count = (unsigned)__builtin_popcountll(zeros);
        uint64_t next = ~get_word(line, k);
        bool further = word == k - 1 && count <= left;
        left = further ? left - count : left;
        zeros = further ? next : zeros;
        word = further ? k : word;
    }
    unsigned head = 64 * word + select_one(zeros, left, cpu) + 1;
    unsigned length = (unsigned)__builtin_ctzll(~get_bits(line, head, WIDTH_MAX));
    return (list_place){head, head - shape->code_bits - list, length};
}

HOT unsigned remainder_at(unsigned i, unsigned width) { return LINE_BITS - (i + 1) * width; }

/* The place in the list of a remainder, or its length if it is not there. Two are
 * compared at once: most lists are no longer, and how short is hard to guess. */
HOT unsigned find_remainder(const uint8_t *line, list_place place, unsigned width,
                            uint64_t remainder) {
    unsigned found = 0;
    for (unsigned j = 0; j < 2; j++) {
        unsigned below = (place.first + j + 1) * width;
        unsigned at = below < LINE_BITS ? LINE_BITS - below : 0;
        found |= (unsigned)(get_bits(line, at, width) == remainder) << j;
    }
    found &= (1u << (place.length < 2 ? place.length : 2)) - 1;
    if (found) return (unsigned)__builtin_ctz(found);
    unsigned j = 2;
    while (j < place.length &&
           get_bits(line, remainder_at(place.first + j, width), width) != remainder)
        j++;
    return j < place.length ? j : place.length;
}

/* One more entry: `at` is its place in the line, `head` its list's header bit. */
HOT void insert_entry(uint8_t *line, const line_shape *shape, unsigned n, unsigned width,
                      unsigned head, unsigned at, uint64_t remainder, cpu_kind cpu) {
    splice_in(line, head, shape->code_bits + shape->shared.lists + n, LINE_BITS - n * width,
              LINE_BITS - at * width, width, remainder, cpu);
}

/* Entry `out`, whose header bit is `bit`, goes; a new one comes in at `at`. */
HOT void exchange_entry(uint8_t *line, unsigned width, unsigned head, unsigned at, unsigned bit,
                        unsigned out, uint64_t remainder, cpu_kind cpu) {
    if (bit >= head && out < at) at = out; /* the head of its own list: take its place */
    if (out >= at)
        splice_in(line, head, bit, LINE_BITS - out * width, LINE_BITS - at * width, width,
                  remainder, cpu);
    else
        splice_back(line, head, bit, LINE_BITS - at * width, LINE_BITS - (out + 1) * width, width,
                    remainder, cpu);
}

/* Move entry `from` of a list up to place `to` of the line. */
HOT void promote(uint8_t *line, list_place place, unsigned from, unsigned to, unsigned width,
                 uint64_t remainder, cpu_kind cpu) {
    splice_in(line, place.head, place.head, LINE_BITS - from * width, LINE_BITS - to * width, width,
              remainder, cpu);
}

/* Cut all remainders from one width to a smaller one. */
HOT void shorten_here(uint8_t *line, unsigned n, unsigned from, unsigned to) {
    uint64_t new[9] = {0};
    for (unsigned i = 0, at = LINE_BITS - to; i < n; i++, at -= to) {
        uint64_t remainder = get_bits(line, remainder_at(i, from), from) >> (from - to);
        new[at / 64] |= remainder << at % 64;
        new[at / 64 + 1] |= remainder >> 1 >> (63 - at % 64);
    }
    for (unsigned k = 0; k < 8; k++) {
        uint64_t body = from_place((int)(LINE_BITS - n * to) - 64 * (int)k);
        put_word(line, k, (get_word(line, k) & ~body) | new[k]);
    }
}

NOT_HERE(void, shorten, (uint8_t * line, unsigned n, unsigned from, unsigned to),
         (line, n, from, to))

/* The first end of a list (a 1 with a 0 after it) at or after header bit `start`,
 * round the corner if need be. With `long_only` lists of one entry do not count,
 * unless there are no others. */
HOT unsigned next_end(const uint8_t *line, const line_shape *shape, unsigned n, unsigned start,
                      bool long_only) {
    unsigned words = header_words(shape, n), k = start / 64;
    uint64_t beyond =
        from_place((int)(shape->code_bits + shape->shared.lists + n) - 64 * ((int)words - 1));
    uint64_t from = ~low_mask(start % 64), alone = long_only ? 0 : ~UINT64_C(0);
    for (unsigned turn = 0; turn <= 2 * words + 1; turn++) {
        uint64_t word = get_word(line, k), after = get_word(line, (k + 1) & 7);
        uint64_t before = k ? get_word(line, k - 1) >> 63 : 0;
        if (k == 0) word &= ~low_mask(shape->code_bits);
        if (k == words - 1) word &= ~beyond;
        uint64_t ends = word & ~(word >> 1 | after << 63) & (word << 1 | before | alone) & from;
        if (ends) return 64 * k + (unsigned)__builtin_ctzll(ends);
        from = ~UINT64_C(0);
        if (turn >= words) alone = from;
        k = k + 1 < words ? k + 1 : 0;
    }
    return 0;
}

/* How many entries stand before header bit `bit`. */
HOT unsigned entries_before(const uint8_t *line, const line_shape *shape, unsigned words,
                            unsigned bit) {
    unsigned count = 0;
    for (unsigned k = 0; k < words; k++) {
        uint64_t word = get_word(line, k) & ~from_place((int)bit - 64 * (int)k);
        if (k == 0) word &= ~low_mask(shape->code_bits);
        count += (unsigned)__builtin_popcountll(word);
    }
    return count;
}

/* ---- the ordered form ---- */

typedef struct {
    uint8_t *at;    /* the one or two words that hold the group */
    unsigned shift; /* where it begins in them, less than 64 */
} group_place;

HOT const group_shape *shape_of(const ordered_form *form, unsigned group) {
    return &form->shape[group >= form->wide];
}
HOT group_place find_group(const ordered_form *form, const line_shape *shape, const uint8_t *line,
                           unsigned group) {
    unsigned narrow = group > form->wide ? group - form->wide : 0;
    unsigned at = shape->code_bits + (group * form->slots - narrow) * form->bits;
    unsigned last = form->one_word ? 56 : 48, byte = at / 8 < last ? at / 8 : last;
    return (group_place){(uint8_t *)(uintptr_t)line + byte, at - 8 * byte};
}

HOT wide_word wide_mask(unsigned count) { return ((wide_word)1 << count) - 1; }
HOT wide_word load_two(const uint8_t *at) { return load64(at) | (wide_word)load64(at + 8) << 64; }
/* Shifts by less than 64: compilers must assume more and are slow about it. */
HOT wide_word shift_up(wide_word x, unsigned by) {
    uint64_t low = (uint64_t)x, high = (uint64_t)(x >> 64);
    return (wide_word)(high << by | low >> 1 >> (63 - by)) << 64 | low << by;
}
HOT wide_word shift_down(wide_word x, unsigned by) {
    uint64_t low = (uint64_t)x, high = (uint64_t)(x >> 64);
    return (wide_word)(high >> by) << 64 | (low >> by | high << 1 << (63 - by));
}

/* Offer a fingerprint to a group: on a hit it moves to the front, a new one enters
 * in the middle and the last one falls out; what stood between moves on by a slot.
 *
 * All slots are compared at once: one that is zero after the exclusive or borrows
 * from its top bit. Slots above the first such one may do so wrongly, but only the
 * first is looked at. The type decides between one word and two. */
#define DEFINE_GROUP(suffix, word, load, up, down)                                                 \
    HOT word match_slot_##suffix(word slots, word ones, unsigned bits, uint64_t fingerprint) {     \
        word differ = slots ^ (ones * fingerprint);                                                \
        word zero = (differ - ones) & ~differ & up(ones, bits - 1);                                \
        return zero ? zero ^ (zero - 1) : 0; /* that slot and all below */                         \
    }                                                                                              \
    HOT word group_slots_##suffix(group_place place, const group_shape *shape) {                   \
        return down(load(place.at), place.shift) & (word)shape->all;                               \
    }                                                                                              \
    HOT bool offer_group_##suffix(group_place place, const ordered_form *form,                     \
                                  const group_shape *shape, uint64_t fingerprint) {                \
        word two = load(place.at), slots = down(two, place.shift) & (word)shape->all;              \
        word upto = match_slot_##suffix(slots, (word)shape->ones, form->bits, fingerprint);        \
        word fresh = fingerprint, changed = upto ? upto : (word)shape->entered;                    \
        if (!upto) fresh = up(fresh, shape->enter_at);                                             \
        word moved = (up(slots & changed, form->bits) & changed) | fresh;                          \
        moved = (slots & ~changed) | ((moved & changed));                                          \
        two ^= up(slots ^ moved, place.shift);                                                     \
        store_##suffix(place.at, two);                                                             \
        return upto != 0;                                                                          \
    }
HOT uint64_t up_one(uint64_t x, unsigned by) { return x << by; }
HOT uint64_t down_one(uint64_t x, unsigned by) { return x >> by; }
HOT void store_one(uint8_t *at, uint64_t x) { store64(at, x); }
HOT void store_two(uint8_t *at, wide_word x) {
    store64(at, (uint64_t)x);
    store64(at + 8, (uint64_t)(x >> 64));
}
DEFINE_GROUP(one, uint64_t, load64, up_one, down_one)
DEFINE_GROUP(two, wide_word, load_two, shift_up, shift_down)

/* Where a value begins again: the middle of what entry (part, bits) stands for. */
HOT uint64_t value_of(unsigned part, unsigned parts, uint64_t prefix, unsigned bits) {
    uint64_t fraction = prefix << (64 - bits) | UINT64_C(1) << (63 - bits);
    return (uint64_t)((((wide_word)part << 64) | fraction) / parts);
}

#endif
