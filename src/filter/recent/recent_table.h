/* recent_table.h - `recent` while it is small: a table of whole hashes that doubles as keys come.
 *
 * Question   has this key come by, while 8 bytes a key are to be had?
 * Idea       A line is eight words, a word is a hash or empty. A hash is in the line that its high
 *            bits choose, floor(hash T / 2^64) of T, or in the first one after it that was not full
 *            when it came. When lines hold TABLE_LOAD keys on average T doubles, in place: line i
 *            becomes lines 2i and 2i + 1, so that the keys of the last lines move first. A table
 *            as large as the filter turns into lines of remainders; recent_grow.c does both.
 * Error      none: a hash is 64 bits, and all of it is kept. (0 stands for 1.)
 * Cost       one line for each key, seldom two; each key moves once on average for all doublings.
 *
 * A key is at most TABLE_RUN - 1 lines behind its own. With TABLE_LOAD keys in eight places so long
 * a run of full lines comes about with a probability of e^(-0.76 TABLE_RUN) for each line, so it is
 * somebody's doing; a key that finds no place in it is forgotten, and nothing worse happens.
 */
#ifndef WEIR_FILTER_RECENT_TABLE_H
#define WEIR_FILTER_RECENT_TABLE_H

#include "core/rng.h"
#include "filter/recent/recent_bits.h"

#define TABLE_FIRST 512u /* lines that a table begins with, at least: 32 KiB, the nearest cache */
#define TABLE_LOAD                                                                                 \
    5u                /* keys a line, 62.5% of its places: exact until 60% of the memory is used   \
                       */
#define TABLE_RUN 64u /* lines that a key is looked for in */

enum { IN_TABLE, ENTERED, NO_PLACE };

/* The words of a line that are a hash, and those that are empty: a bit for each. */
typedef struct {
    unsigned same, empty;
} table_found;

HOT unsigned table_match(const uint8_t *line, uint64_t hash) {
    unsigned found = 0;
    for (unsigned j = 0; j < 8; j++) found |= (unsigned)(get_word(line, j) == hash) << j;
    return found;
}

#if defined(__x86_64__)
FOR_AVX512 static inline table_found table_look_wide(const uint8_t *line, uint64_t hash) {
    __m512i all = _mm512_loadu_si512(line);
    return (table_found){_mm512_cmpeq_epi64_mask(all, _mm512_set1_epi64((long long)hash)),
                         _mm512_testn_epi64_mask(all, all)};
}
FOR_AVX2 static inline unsigned table_match_pair(line_pair line, __m256i word) {
    __m256i low = _mm256_cmpeq_epi64(line.low, word), high = _mm256_cmpeq_epi64(line.high, word);
    return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
           (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
}
FOR_AVX2 static inline table_found table_look_pair(const uint8_t *line, uint64_t hash) {
    line_pair all = pair_load(line);
    return (table_found){table_match_pair(all, _mm256_set1_epi64x((long long)hash)),
                         table_match_pair(all, _mm256_setzero_si256())};
}
#else
#define table_look_wide(...)                                                                       \
    (table_found) { 0, 0 }
#define table_look_pair(...)                                                                       \
    (table_found) { 0, 0 }
#endif

#if defined(__aarch64__)
HOT table_found table_look_quad(const uint8_t *line, uint64_t hash) {
    const uint64x2_t word = vdupq_n_u64(hash);
    line_quad all = quad_load(line), same, empty;
    for (unsigned i = 0; i < 4; i++) {
        same.part[i] = vceqq_u64(all.part[i], word);
        empty.part[i] = vceqzq_u64(all.part[i]);
    }
    unsigned found = bits_of_pairs(quad_narrow(same), quad_narrow(empty));
    return (table_found){found & 255, found >> 8};
}
#else
#define table_look_quad(...)                                                                       \
    (table_found) { 0, 0 }
#endif

HOT table_found table_look(const uint8_t *line, uint64_t hash, cpu_kind cpu) {
    if (cpu == CPU_AVX512) return table_look_wide(line, hash);
    if (cpu == CPU_AVX2) return table_look_pair(line, hash);
    if (cpu == CPU_NEON) return table_look_quad(line, hash);
    return (table_found){table_match(line, hash), table_match(line, 0)};
}

HOT uint64_t table_hash(uint64_t hash) { return hash | (hash == 0); }

/* Whether a table of `lines` lines has a hash; if not it is put there, with `enter`. */
HOT unsigned table_offer(uint8_t *cells, uint64_t lines, uint64_t hash, bool enter) {
    uint64_t number = weir__scale(hash, lines);
    for (unsigned run = 0; run < TABLE_RUN; run++) {
        uint8_t *line = cells + number * LINE_BYTES;
        unsigned empty = table_match(line, 0);
        if (table_match(line, hash)) return IN_TABLE;
        if (empty) {
            if (enter) put_word(line, (unsigned)__builtin_ctz(empty), hash);
            return ENTERED;
        }
        number = number + 1 == lines ? 0 : number + 1;
    }
    return NO_PLACE;
}

#endif
