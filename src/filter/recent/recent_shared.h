/* recent_shared.h - a line of `recent` whose keys share its space; flat while they are few.
 *
 *     | n | header: Q lists in unary, Q + n bits | free | remainder n-1 ... 1 0 |
 *
 * A key's value v (64 bits that remain of its hash once the line is chosen) picks list
 * floor(v Q / 2^64), and the first r bits of what is left of v are its remainder. The header
 * writes each list as one 1 per entry and a closing 0; remainder i belongs to the i-th 1. The width
 * r follows from n alone: as n grows the remainders are cut shorter in place, nothing else changes.
 * The entries of a list stand in order, the first one best protected. As long as it costs no place
 * a remainder has a bit more, its last, which marks a key that was hit.
 *
 * While there are few keys a line is flat, as that is fast: list and remainder stand together at
 * the high end of a word, the tag. Up to 8 keys word i holds the high 56 bits of the i-th tag, then
 * up to 15 half word i + 1 holds its high 32 bits, and bit 8 + i its mark. The low bits of word 0
 * hold n in either case.
 */
#ifndef WEIR_FILTER_RECENT_SHARED_H
#define WEIR_FILTER_RECENT_SHARED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "filter/recent/recent_bits.h"
#include "filter/recent/recent_plan.h"
#include "filter/recent/recent_wide.h"

#define LIST_MAX 40u /* entries of one list: its 1s are counted in one load */

/* A remainder comes into the body, see splice(), and some bits of the first word are flipped. */
HOT void splice_body(uint8_t *line, uint64_t flip, bool back, unsigned low, unsigned high,
                     unsigned width, uint64_t remainder, cpu_kind cpu) {
    if (cpu == CPU_AVX512) {
        splice_body_wide(line, flip, back, low, high, width, remainder);
    } else if (cpu == CPU_AVX2) {
        splice_body_pair(line, flip, back, low, high, width, remainder);
    } else {
        put_word(line, 0, get_word(line, 0) ^ flip);
        if (back) move_up(line, low, high, width);
        else move_down(line, low, high, width);
        put_bits(line, back ? low : high - width, width, remainder);
    }
}

/* A bit goes from a word, and a 1 comes in at a place of what is left. Bit 64, where
 * the header fills its word, is not there to go. */
HOT uint64_t change_header(uint64_t word, unsigned out, unsigned in) {
    uint64_t below = out < 64 ? (UINT64_C(1) << out) - 1 : UINT64_MAX,
             before = (UINT64_C(1) << in) - 1;
    word = (word & below) | (word >> 1 & ~below);
    return (word & before) | (word & ~before) << 1 | UINT64_C(1) << in;
}

/* splice() where the header is one word, of which some bits are flipped besides. */
HOT void splice_short(uint8_t *line, uint64_t flip, bool back, unsigned head, unsigned stop,
                      unsigned low, unsigned high, unsigned width, uint64_t remainder,
                      cpu_kind cpu) {
    uint64_t word = get_word(line, 0), new = change_header(word, stop, head - back);
    splice_body(line, word ^ new ^ flip, back, low, high, width, remainder, cpu);
}

/* The one change that a line knows: a 1 comes into the header at bit `head`, the
 * header bits from there up to `stop` move up by one; a remainder comes in at the
 * top of the body bits [low, high), and these move down by its width. Or `back`, with
 * the gap on the other side: the header bits (stop, head) move down by one, and the
 * body bits up by the width. A header of one word is changed as such. */
HOT void splice(uint8_t *line, unsigned words, bool back, unsigned head, unsigned stop,
                unsigned low, unsigned high, unsigned width, uint64_t remainder, cpu_kind cpu) {
    if (words == 1) {
        splice_short(line, 0, back, head, stop, low, high, width, remainder, cpu);
    } else if (cpu == CPU_AVX512) {
        splice_wide(line, back, head, stop, low, high, width, remainder);
    } else if (cpu == CPU_AVX2) {
        splice_pair(line, back, head, stop, low, high, width, remainder);
    } else {
        if (back) move_down(line, stop + 1, head, 1);
        else move_up(line, head, stop, 1);
        put_bits(line, head - back, 1, 1);
        splice_body(line, 0, back, low, high, width, remainder, cpu);
    }
}

/* The same where the header is a map: bit `out` is cleared and bit `in` set, nothing moves. */
HOT void splice_map(uint8_t *line, unsigned in, unsigned out, bool back, unsigned low,
                    unsigned high, unsigned width, uint64_t remainder, cpu_kind cpu) {
    if (cpu == CPU_AVX512) {
        splice_map_wide(line, in, out, back, low, high, width, remainder);
    } else if (cpu == CPU_AVX2) {
        splice_map_pair(line, in, out, back, low, high, width, remainder);
    } else {
        line[out / 8] &= (uint8_t) ~(1u << out % 8);
        line[in / 8] |= (uint8_t)(1u << in % 8);
        splice_body(line, 0, back, low, high, width, remainder, cpu);
    }
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
    unsigned left = rank - (unsigned)(sums << 8 >> place % 64 & 0xff);
    uint64_t byte = word >> place % 64 & 0xff;
    while (left--) byte &= byte - 1;
    return place + (unsigned)__builtin_ctzll(byte);
}

/* Place of the 1 with `rank` others before it in a header of so many words: `first`, and
 * those that follow, flipped or as they are. */
HOT unsigned select_in(const uint8_t *line, unsigned words, uint64_t first, uint64_t flip,
                       unsigned rank, cpu_kind cpu) {
    unsigned word = 0;
    for (unsigned k = 1; k < words; k++) {
        unsigned count = (unsigned)__builtin_popcountll(first);
        uint64_t next = get_word(line, k) ^ flip;
        bool further = word == k - 1 && count <= rank;
        rank = further ? rank - count : rank;
        first = further ? next : first;
        word = further ? k : word;
    }
    return 64 * word + select_one(first, rank, cpu);
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
    uint32_t half;
    memcpy(&half, line + 4 * (i + 1), sizeof half);
    return (uint64_t)half << 32;
}

#if defined(__x86_64__)
FOR_AVX512 static inline unsigned match_tags_wide(const uint8_t *line, unsigned n, uint64_t tag,
                                                  bool in_halves) {
    __m512i all = _mm512_loadu_si512(line);
    __m512i differ = _mm512_xor_si512(all, _mm512_set1_epi64((long long)tag));
    unsigned words = _mm512_testn_epi64_mask(differ, _mm512_set1_epi64(-256));
    unsigned halves = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32((int)(tag >> 32))) >> 1;
    return (in_halves ? halves : words) & ((1u << n) - 1);
}
FOR_AVX2 static inline unsigned match_words_pair(const uint8_t *line, uint64_t tag) {
    const __m256i none = _mm256_setzero_si256(), kept = _mm256_set1_epi64x(-256);
    __m256i word = _mm256_set1_epi64x((long long)tag);
    line_pair differ = pair_xor(pair_load(line), (line_pair){word, word});
    differ = pair_and(differ, (line_pair){kept, kept});
    __m256i low = _mm256_cmpeq_epi64(differ.low, none),
            high = _mm256_cmpeq_epi64(differ.high, none);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
           (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
}
FOR_AVX2 static inline unsigned match_halves_pair(const uint8_t *line, uint64_t tag) {
    __m256i half = _mm256_set1_epi32((int)(tag >> 32));
    line_pair all = pair_load(line);
    __m256i low = _mm256_cmpeq_epi32(all.low, half), high = _mm256_cmpeq_epi32(all.high, half);
    return ((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(low)) |
            (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(high)) << 8) >>
           1;
}
FOR_AVX2 static inline unsigned match_tags_pair(const uint8_t *line, unsigned n, uint64_t tag,
                                                bool in_halves) {
    unsigned found = in_halves ? match_halves_pair(line, tag) : match_words_pair(line, tag);
    return found & ((1u << n) - 1);
}
#else
#define match_tags_wide(...) 0
#define match_tags_pair(...) 0
#endif

/* A bit for each entry that has the tag, in a line of words or of half words. */
HOT unsigned match_tags(const uint8_t *line, unsigned n, uint64_t tag, bool in_halves,
                        cpu_kind cpu) {
    if (cpu == CPU_AVX512) return match_tags_wide(line, n, tag, in_halves);
    if (cpu == CPU_AVX2) return match_tags_pair(line, n, tag, in_halves);
    unsigned found = 0;
    if (in_halves)
        for (unsigned i = 0; i < HALVES_MOST; i++)
            found |= (unsigned)(get_bits(line, 32 * (i + 1), 32) == tag >> 32) << i;
    else
        for (unsigned i = 0; i < WORDS_MOST; i++)
            found |= (unsigned)((get_word(line, i) ^ tag) >> 8 == 0) << i;
    return found & ((1u << n) - 1);
}

/* The marks of a flat line, a bit for each entry. */
HOT unsigned get_flat_marks(const uint8_t *line, unsigned n) {
    return n > WORDS_MOST ? (unsigned)get_bits(line, 8, HALVES_MOST) : 0;
}
HOT void add_flat_marks(uint8_t *line, unsigned n, unsigned marks) {
    uint64_t some = -(uint64_t)(n > WORDS_MOST);
    put_word(line, 0, get_word(line, 0) | ((uint64_t)marks << 8 & some));
}

/* Put a tag after n others, where the way of being flat stays the same. A half word is written
 * with the one before it, and the number of entries with the marks: a byte that was just stored
 * would hold up the load of its word. */
HOT void put_tag(uint8_t *line, unsigned n, uint64_t tag, bool in_halves) {
    uint8_t *at = line + (in_halves ? 4 : 8) * n;
    uint64_t kept = in_halves ? UINT32_MAX : 0;
    store64(at, (load64(at) & kept) | (tag & ~kept));
    put_word(line, 0, (get_word(line, 0) & ~low_mask(8)) | (n + 1));
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
    if (words == 1) {
        uint64_t word = get_word(line, 0);
        unsigned begin = select_one(~word >> (shape->code_bits - 1) | 1, list, cpu);
        unsigned start = begin + shape->code_bits;
        return (list_place){start, begin - list, (unsigned)__builtin_ctzll(~(word >> start))};
    }
    uint64_t zeros =
        (~get_word(line, 0) & ~low_mask(shape->code_bits)) | UINT64_C(1) << (shape->code_bits - 1);
    unsigned head = select_in(line, words, zeros, UINT64_MAX, list, cpu) + 1;
    unsigned length = (unsigned)__builtin_ctzll(~get_bits(line, head, WIDTH_MAX));
    return (list_place){head, head - shape->code_bits - list, length};
}

HOT unsigned remainder_at(unsigned i, unsigned width) { return LINE_BITS - (i + 1) * width; }

/* Where remainder i is or, after the last, might be. */
HOT unsigned place_in_body(unsigned i, unsigned width) {
    return LINE_BITS - least((i + 1) * width, LINE_BITS);
}

/* Whether the remainders of a line of n entries have a mark, as a number. */
HOT unsigned mark_of(const shared_form *form, unsigned n) {
    return (n > form->flat) & (n <= form->marked);
}

/* A remainder as it stands in a line of n entries, without its mark. */
typedef struct {
    unsigned width;
    unsigned mark;
    uint64_t bits;
} entry_field;

HOT entry_field field_of(const shared_form *form, unsigned n, uint64_t rest) {
    unsigned width = form->width[n], mark = mark_of(form, n);
    return (entry_field){width, mark, rest >> (64 - width) & ~(uint64_t)mark};
}

/* The same key, whatever the mark. */
HOT bool is_same(uint64_t bits, entry_field field) { return (bits ^ field.bits) <= field.mark; }

HOT void set_mark(uint8_t *line, unsigned bit, unsigned mark) {
    line[bit / 8] |= (uint8_t)(mark << bit % 8);
}

/* Whether the first two entries of a list hold a remainder, as two bits; entries that it
 * does not have count for nothing. */
HOT unsigned match_two(const uint8_t *line, const shared_form *form, unsigned first,
                       entry_field field) {
    unsigned width = field.width, next = place_in_body(first + 1, width);
    if (form->in_pairs) {
        uint64_t two = get_bits(line, next, 2 * width);
        return (unsigned)is_same(two >> width, field) |
               (unsigned)is_same(two & ((UINT64_C(1) << width) - 1), field) << 1;
    }
    return (unsigned)is_same(get_bits(line, place_in_body(first, width), width), field) |
           (unsigned)is_same(get_bits(line, next, width), field) << 1;
}

/* The place in the list of a remainder, or its length if it is not there. Two are
 * compared at once: most lists are no longer, and how short is hard to guess. */
HOT unsigned find_remainder(const uint8_t *line, const shared_form *form, list_place place,
                            entry_field field) {
    unsigned found = match_two(line, form, place.first, field), width = field.width;
    found &= (1u << (place.length < 2 ? place.length : 2)) - 1;
    if (found) return (unsigned)__builtin_ctz(found);
    unsigned j = 2;
    while (j < place.length &&
           !is_same(get_bits(line, remainder_at(place.first + j, width), width), field))
        j++;
    return j < place.length ? j : place.length;
}

/* One more entry than n: `at` is its place in the line, `head` its list's header bit. Where the
 * header is one word n changes with it: a byte of a line that was just stored is slow to load. */
HOT void insert_entry(uint8_t *line, const line_shape *shape, unsigned words, unsigned n,
                      unsigned width, unsigned head, unsigned at, uint64_t remainder,
                      cpu_kind cpu) {
    unsigned stop = shape->code_bits + shape->shared.lists + n;
    unsigned low = LINE_BITS - n * width, high = LINE_BITS - at * width;
    if (words == 1) {
        splice_short(line, n ^ (n + 1), false, head, stop, low, high, width, remainder, cpu);
        return;
    }
    splice(line, words, false, head, stop, low, high, width, remainder, cpu);
    write_code(line, shape, n + 1);
}

/* Entry `out`, whose header bit is `bit`, goes; a new one comes in at `at`. */
HOT void exchange_entry(uint8_t *line, unsigned words, unsigned width, unsigned head, unsigned at,
                        unsigned bit, unsigned out, uint64_t remainder, cpu_kind cpu) {
    at = pick((bit >= head) & (out < at), out, at); /* the head of its own list: its place */
    bool back = out < at;
    unsigned low = pick(back, at, out), high = pick(back, out + 1, at);
    splice(line, words, back, head, bit, LINE_BITS - low * width, LINE_BITS - high * width, width,
           remainder, cpu);
}

/* Move entry `from` of a list up to place `to` of the line. */
HOT void promote(uint8_t *line, unsigned from, unsigned to, unsigned width, uint64_t remainder,
                 cpu_kind cpu) {
    unsigned low = LINE_BITS - from * width, high = LINE_BITS - to * width;
    splice_body(line, 0, false, low, high, width, remainder, cpu);
}

/* The top of a line that is written anew, from its end downwards. */
typedef struct {
    unsigned k;    /* the word at work, */
    unsigned room; /* the bits that are left in it, */
    uint64_t word; /* and those that are not */
    uint64_t words[8];
} line_top;

HOT line_top new_top(void) { return (line_top){7, 64, 0, {0}}; }

/* More bits, up to 63, below those that are there. */
HOT void add_bits(line_top *top, uint64_t bits, unsigned count) {
    if (top->room < count) {
        unsigned over = count - top->room;
        top->words[top->k--] = top->word | bits >> over;
        top->room = 64 - over;
        top->word = bits << top->room;
    } else {
        top->room -= count;
        top->word |= bits << top->room % 64;
    }
}

/* The line has this top in place of its own. */
HOT void put_top(uint8_t *line, line_top *top) {
    unsigned place = 64 * top->k + top->room;
    top->words[top->k] = top->word;
    for (unsigned k = 0; k < 8; k++) {
        uint64_t body = from_place((int)place - 64 * (int)k);
        put_word(line, k, (get_word(line, k) & ~body) | (top->words[k] & body));
    }
}

/* Remainders, the first bits of so many words, in their order to the top of a line. */
HOT void pack_remainders(line_top *top, const uint64_t *rests, unsigned n, unsigned width) {
    unsigned i = 0;
    if (2 * width < 64)
        for (; i + 1 < n; i += 2)
            add_bits(top, rests[i] >> (64 - width) << width | rests[i + 1] >> (64 - width),
                     2 * width);
    for (; i < n; i++) add_bits(top, rests[i] >> (64 - width), width);
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) static inline void cut_pext(line_top *top, const uint8_t *line,
                                                            const line_cut *cut) {
    for (unsigned k = 8; k-- > 0;)
        add_bits(top, _pext_u64(get_word(line, k), cut->keep[k]),
                 (unsigned)__builtin_popcountll(cut->keep[k]));
}
#else
#define cut_pext(...) ((void)0)
#endif

/* Cut all remainders to the width that they have in a line of one more. */
HOT void shorten_here(const shared_form *form, uint8_t *line, unsigned n, cpu_kind cpu) {
    line_top top = new_top();
    if (cpu != CPU_ANY) {
        const line_cut *cut = form->cuts;
        while (cut->n != n) cut++;
        cut_pext(&top, line, cut);
    } else {
        unsigned from = form->width[n], to = form->width[n + 1];
        uint64_t rests[ENTRIES_MAX], mark = mark_of(form, n + 1);
        for (unsigned i = 0; i < n; i++) {
            uint64_t bits = get_bits(line, remainder_at(i, from), from);
            rests[i] = ((bits >> (from - to) & ~mark) | (bits & mark)) << (64 - to);
        }
        pack_remainders(&top, rests, n, to);
    }
    put_top(line, &top);
}

NOT_HERE(void, shorten, (const shared_form *form, uint8_t *line, unsigned n), (form, line, n, cpu))

/* The ends of lists in word k of a header, a 1 with a 0 after it: of all lists, and of
 * those of several entries. */
typedef struct {
    uint64_t all, of_several;
} list_ends;

HOT list_ends ends_in(const uint8_t *line, const line_shape *shape, unsigned n, unsigned k) {
    unsigned end = shape->code_bits + shape->shared.lists + n;
    uint64_t word = get_word(line, k), after = get_word(line, (k + 1) & 7);
    uint64_t before = k ? get_word(line, k - 1) >> 63 : 0;
    word &= ~from_place((int)end - 64 * (int)k);
    if (k == 0) word &= ~low_mask(shape->code_bits);
    uint64_t all = word & ~(word >> 1 | after << 63);
    return (list_ends){all, all & (word << 1 | before)};
}

/* The first end of a list at or after header bit `start`, round the corner if need be.
 * With `long_only` lists of one entry do not count, unless there are no others. */
HOT unsigned next_end(const uint8_t *line, const line_shape *shape, unsigned words, unsigned n,
                      unsigned start, bool long_only) {
    unsigned k = start / 64;
    uint64_t from = ~low_mask(start % 64);
    if (words == 1) { /* without a branch, as there are many outcomes */
        list_ends ends = ends_in(line, shape, n, 0);
        uint64_t wanted = pick64(long_only, ends.of_several, ends.all);
        uint64_t last = pick64(wanted != 0, wanted, ends.all);
        return (unsigned)__builtin_ctzll(pick64((wanted & from) != 0, wanted & from, last));
    }
    for (unsigned turn = 0; turn <= 2 * words + 1; turn++) {
        list_ends ends = ends_in(line, shape, n, k);
        uint64_t wanted = (long_only ? ends.of_several : ends.all) & from;
        if (wanted) return 64 * k + (unsigned)__builtin_ctzll(wanted);
        from = ~UINT64_C(0);
        if (turn >= words) long_only = false;
        k = k + 1 < words ? k + 1 : 0;
    }
    return 0;
}

/* How many entries stand before bit `bit` of a header, or of a map, that begins at bit
 * `head` of the line. */
HOT unsigned entries_before(const uint8_t *line, unsigned head, unsigned words, unsigned bit) {
    unsigned count = 0;
    for (unsigned k = 0; k < words; k++) {
        uint64_t word = get_word(line, k) & ~from_place((int)bit - 64 * (int)k);
        if (k == 0) word &= ~low_mask(head);
        count += (unsigned)__builtin_popcountll(word);
    }
    return count;
}

/* Where a value begins again: about the middle of what entry (part, bits) stands for. It is
 * (part + fraction) / parts of 2^64, up to two units, without the long division that this takes. */
HOT uint64_t value_of(unsigned part, unsigned parts, uint64_t prefix, unsigned bits) {
    uint64_t fraction = prefix << (64 - bits) | UINT64_C(1) << (63 - bits);
    /* NOLINTNEXTLINE(clang-analyzer-core*): a form that is in use has parts */
    uint64_t unit = UINT64_MAX / parts;
    unsigned left = (unsigned)(UINT64_MAX - unit * parts) + 1;
    uint64_t within = (uint64_t)((unsigned __int128)fraction * unit >> 64);
    return part * unit + part * left / parts + within;
}

#endif
