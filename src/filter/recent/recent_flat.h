/* recent_flat.h - a line of `recent` with few keys: as they came, side by side.
 *
 *     words    | key 0, n | key 1 | key 2 | ... | key 7 |          up to 8 keys
 *     halves   | marks, n | key 0 | key 1 | ... | key 14 |         up to 15
 *
 * A tag is what stands for a key in a line of any form: 8 bits of a number below Q, and the bits of
 * the hash that are left once it has chosen line and number. Word i holds the first 56 bits of the
 * i-th tag, half word i + 1 its first 32, and bit 8 + i its mark: whether it was hit. The low bits
 * of word 0 hold n in either case.
 */
#ifndef WEIR_FILTER_RECENT_FLAT_H
#define WEIR_FILTER_RECENT_FLAT_H

#include "filter/filter.h"
#include "filter/recent/recent_bits.h"

/* The tag of a key; `value` is what is left of its hash once it has chosen the line. */
HOT uint64_t tag_of(const line_shape *shape, uint64_t value) {
    uint64_t rest, list = weir__part(value, shape->lists, &rest);
    return list << (64 - LIST_BITS) | rest >> LIST_BITS;
}

/* The i-th tag of a line of n, as far as it is kept. */
HOT uint64_t get_tag(const uint8_t *line, unsigned n, unsigned i) {
    return n <= WORDS_MOST ? get_word(line, i) & ~low_mask(8)
                           : get_bits(line, 32 * (i + 1), 32) << 32;
}

/* The marks, a bit for each entry. */
HOT unsigned get_flat_marks(const uint8_t *line, unsigned n) {
    return n > WORDS_MOST ? (unsigned)get_bits(line, 8, HALVES_MOST) : 0;
}
HOT void add_flat_marks(uint8_t *line, unsigned n, unsigned marks) {
    uint64_t some = -(uint64_t)(n > WORDS_MOST);
    put_word(line, 0, get_word(line, 0) | ((uint64_t)marks << 8 & some));
}

#if defined(__x86_64__)
FOR_AVX512 static inline unsigned match_tags_wide(const uint8_t *line, uint64_t tag,
                                                  bool in_halves) {
    __m512i all = _mm512_loadu_si512(line);
    __m512i differ = _mm512_xor_si512(all, _mm512_set1_epi64((long long)tag));
    unsigned words = _mm512_testn_epi64_mask(differ, _mm512_set1_epi64(-256));
    unsigned halves = _mm512_cmpeq_epi32_mask(all, _mm512_set1_epi32((int)(tag >> 32))) >> 1;
    return in_halves ? halves : words;
}
FOR_AVX2 static inline unsigned match_words_pair(const uint8_t *line, uint64_t tag) {
    const __m256i kept = _mm256_set1_epi64x(-256);
    __m256i word = _mm256_set1_epi64x((long long)(tag & ~low_mask(8)));
    line_pair all = pair_load(line);
    __m256i low = _mm256_cmpeq_epi64(_mm256_and_si256(all.low, kept), word),
            high = _mm256_cmpeq_epi64(_mm256_and_si256(all.high, kept), word);
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
#else
#define match_tags_wide(...) 0
#define match_words_pair(...) 0
#define match_halves_pair(...) 0
#endif

#if defined(__aarch64__)
HOT unsigned match_words_quad(const uint8_t *line, uint64_t tag) {
    const uint64x2_t word = vdupq_n_u64(tag);
    line_quad all = quad_load(line);
    for (unsigned i = 0; i < 4; i++)
        all.part[i] = vceqzq_u64(vshrq_n_u64(veorq_u64(all.part[i], word), 8));
    uint8x16_t same = quad_narrow(all);
    return bits_of_pairs(same, same);
}
HOT unsigned match_halves_quad(const uint8_t *line, uint64_t tag) {
    const uint32x4_t half = vdupq_n_u32((uint32_t)(tag >> 32));
    uint32x4_t same[4];
    line_quad all = quad_load(line);
    for (unsigned i = 0; i < 4; i++) same[i] = vceqq_u32(vreinterpretq_u32_u64(all.part[i]), half);
    return bits_of_pairs(narrow_halves(same[0], same[1]), narrow_halves(same[2], same[3])) >> 1;
}
#else
#define match_words_quad(...) 0
#define match_halves_quad(...) 0
#endif

/* A bit for each of n entries that has the tag, in a line of words or of half words. */
HOT unsigned match_tags(const uint8_t *line, unsigned n, uint64_t tag, bool in_halves,
                        cpu_kind cpu) {
    unsigned found = 0;
    if (cpu == CPU_AVX512) found = match_tags_wide(line, tag, in_halves);
    else if (cpu == CPU_AVX2)
        found = in_halves ? match_halves_pair(line, tag) : match_words_pair(line, tag);
    else if (cpu == CPU_NEON)
        found = in_halves ? match_halves_quad(line, tag) : match_words_quad(line, tag);
    else if (in_halves)
        for (unsigned i = 0; i < HALVES_MOST; i++)
            found |= (unsigned)(get_bits(line, 32 * (i + 1), 32) == tag >> 32) << i;
    else
        for (unsigned i = 0; i < WORDS_MOST; i++)
            found |= (unsigned)((get_word(line, i) ^ tag) >> 8 == 0) << i;
    return found & (unsigned)low_mask(n);
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

/* Eight words become half words, with one more. */
HOT void words_to_halves(uint8_t *line, uint64_t tag) {
    uint32_t halves[WORDS_MOST];
    for (unsigned i = 0; i < WORDS_MOST; i++) halves[i] = (uint32_t)(get_word(line, i) >> 32);
    memset(line, 0, LINE_BYTES);
    memcpy(line + 4, halves, sizeof halves);
    put_bits(line, 32 * (WORDS_MOST + 1), 32, tag >> 32);
    line[0] = WORDS_MOST + 1;
}

#endif
