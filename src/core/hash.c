/* hash.c - XXH3 and SipHash behind one call.
 *
 * XXH3 with a seed derives a secret from it for keys over 240 bytes; that is
 * done once here, and XXH3_64bits_withSecretandSeed then gives the very values
 * of XXH3_64bits_withSeed. Keys of 33 to 96 bytes, as most lines and URLs are, have
 * a way of their own that gives the same values: one by one, or four or eight records
 * side by side. The 16-byte SipHash key is two mixed words of the seed: 2^64 keys, none of
 * which an outsider can tell from the verdicts.
 */
#include "core/hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <assert.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/cpu.h"
#include "core/rng.h"

_Static_assert(sizeof(((weir__hasher *)0)->secret) == XXH3_SECRET_DEFAULT_SIZE,
               "XXH3 derives a secret of its own size");
_Static_assert(crypto_shorthash_KEYBYTES == 16, "SipHash takes a 16-byte key");
_Static_assert(crypto_shorthash_BYTES == 8, "SipHash gives a 64-bit word");

void weir__hasher_init(weir__hasher *hasher, weir__hash_kind kind, uint64_t seed) {
    memset(hasher, 0, sizeof *hasher);
    hasher->kind = kind;
    hasher->seed = seed;
    XXH3_generateSecret_fromSeed(hasher->secret, seed);
    uint64_t state = seed;
    uint64_t words[2] = {weir__rng_next(&state), weir__rng_next(&state)};
    memcpy(hasher->key, words, sizeof hasher->key);
}

/* Lengths of keys, in bytes, for which XXH3 has code of its own that is inlined here. Keys of 17 to
 * 32 bytes have another form and go through the library. */
enum {
    SHORT_MOST = 16,     /* longest short key */
    MIDDLING_LEAST = 33, /* shortest of the middle form */
    MIDDLING_MOST = 96   /* longest of the middle form that is inlined */
};

/* 16 bytes of a key, with 16 of the secret that has the seed in it already. */
static inline uint64_t mix(const uint8_t *in, const uint8_t *secret) {
    return XXH3_mul128_fold64(XXH_readLE64(in) ^ XXH_readLE64(secret),
                              XXH_readLE64(in + 8) ^ XXH_readLE64(secret + 8));
}

/* XXH3 of a middling key. From 65 bytes on two more mixes count; they are made in any case, and
 * masked, since lengths on either side of 64 follow each other in no order that a branch could
 * learn. */
static inline uint64_t hash_middling(const weir__hasher *hasher, const uint8_t *key,
                                     size_t length) {
    assert(length >= MIDDLING_LEAST && length <= MIDDLING_MOST);
    const uint8_t *end = key + length, *secret = hasher->secret;
    uint64_t more = -(uint64_t)(length > 64);
    uint64_t inner =
        mix(key + (32 & more), secret + 64) + mix(key + ((length - 48) & more), secret + 80);
    uint64_t outer = mix(key, secret) + mix(end - 16, secret + 16) + mix(key + 16, secret + 32) +
                     mix(end - 32, secret + 48);
    return XXH3_avalanche(length * XXH_PRIME64_1 + outer + (inner & more));
}

/* Any key. Not inlined, since the long ones would make weir__hash() save registers for all. */
__attribute__((noinline)) static uint64_t hash_any(const weir__hasher *hasher, const void *key,
                                                   size_t length) {
    if (hasher->kind == WEIR__HASH_SIPHASH) {
        uint64_t hash;
        crypto_shorthash((unsigned char *)&hash, key, length, hasher->key);
        return hash;
    }
    return XXH3_64bits_withSecretandSeed(key, length, hasher->secret, sizeof hasher->secret,
                                         hasher->seed);
}

uint64_t weir__hash(const weir__hasher *hasher, const void *key, size_t length) {
    if (hasher->kind != WEIR__HASH_XXH3) return hash_any(hasher, key, length);
    if (length <= SHORT_MOST) return XXH3_len_0to16_64b(key, length, XXH3_kSecret, hasher->seed);
    bool middling = length - MIDDLING_LEAST <= MIDDLING_MOST - MIDDLING_LEAST;
    return middling ? hash_middling(hasher, key, length) : hash_any(hasher, key, length);
}

/* ---- several records at a time ---- */

/* Hash of `width` records at offsets[0], offsets[1], ... if all are middling, else false. Where
 * the inner mixes do not count they read up to 15 bytes of the neighbours. */
typedef bool hash_side_by_side(const weir__hasher *hasher, const uint8_t *base,
                               const uint32_t *offsets, uint32_t tail, uint64_t *hashes);

/* Records one by one. */
HOT void hash_singly(const weir__hasher *hasher, const uint8_t *base, const uint32_t *offsets,
                     size_t from, size_t to, size_t tail, uint64_t *hashes) {
    assert(from <= to);
    for (size_t i = from; i < to; i++)
        hashes[i] = weir__hash(hasher, base + offsets[i], offsets[i + 1] - offsets[i] - tail);
}

/* All records: `width` at a time while there are neighbours on both sides to read, and those that
 * are not middling with the others of their group one by one. */
HOT void hash_in_groups(const weir__hasher *hasher, const uint8_t *base, const uint32_t *offsets,
                        size_t count, size_t tail, uint64_t *hashes, size_t width,
                        hash_side_by_side *group) {
    assert(width == 4 || width == 8);
    size_t first = offsets[0], end = offsets[count], i = 0;
    for (; count - i >= width; i += width)
        if (offsets[i] - first < 16 || end - offsets[i + width] < 16 ||
            !group(hasher, base, offsets + i, (uint32_t)tail, hashes + i))
            hash_singly(hasher, base, offsets, i, i + width, tail, hashes);
    hash_singly(hasher, base, offsets, i, count, tail, hashes);
}

#if defined(__x86_64__)

/* The 16 bytes at base + offset + shift of records 0 and 2. */
FOR_AVX2 static inline __m256i two_pieces(const uint8_t *base, const uint32_t *offsets,
                                          ptrdiff_t shift) {
    const uint8_t *first = base + (offsets[0] + shift), *third = base + (offsets[2] + shift);
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)first)),
        _mm_loadu_si128((const __m128i *)(const void *)third), 1);
}

/* The halves of a * b, 128 bits, one XORed with the other; by products of 32 bits. */
FOR_AVX2 static inline __m256i multiply_fold_four(__m256i a, __m256i b) {
    __m256i a_high = _mm256_srli_epi64(a, 32), b_high = _mm256_srli_epi64(b, 32);
    __m256i low = _mm256_mul_epu32(a, b), high = _mm256_mul_epu32(a_high, b_high);
    __m256i one = _mm256_mul_epu32(a_high, b), other = _mm256_mul_epu32(a, b_high);
    one = _mm256_add_epi64(one, _mm256_srli_epi64(low, 32));
    other = _mm256_add_epi64(other, _mm256_blend_epi32(one, _mm256_setzero_si256(), 0xaa));
    high = _mm256_add_epi64(high, _mm256_srli_epi64(one, 32));
    high = _mm256_add_epi64(high, _mm256_srli_epi64(other, 32));
    low = _mm256_blend_epi32(low, _mm256_slli_epi64(other, 32), 0xaa);
    return _mm256_xor_si256(high, low);
}

/* mix() of a piece of each record. */
FOR_AVX2 static inline __m256i mix_four(const uint8_t *base, const uint32_t *offsets,
                                        ptrdiff_t shift, const uint8_t *secret) {
    __m256i key =
        _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)secret));
    __m256i even = _mm256_xor_si256(two_pieces(base, offsets, shift), key);
    __m256i odd = _mm256_xor_si256(two_pieces(base, offsets + 1, shift), key);
    return multiply_fold_four(_mm256_unpacklo_epi64(even, odd), _mm256_unpackhi_epi64(even, odd));
}

/* x * factor, the lower 64 bits of each. */
FOR_AVX2 static inline __m256i multiply_four(__m256i x, uint64_t factor) {
    __m256i low = _mm256_set1_epi64x((int64_t)(factor & UINT32_MAX));
    __m256i high = _mm256_set1_epi64x((int64_t)(factor >> 32));
    __m256i upper = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), low),
                                     _mm256_mul_epu32(x, high));
    return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(upper, 32));
}

FOR_AVX2 static inline __m256i avalanche_four(__m256i x) {
    x = _mm256_xor_si256(x, _mm256_srli_epi64(x, 37));
    x = multiply_four(x, UINT64_C(0x165667919e3779f9));
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
}

FOR_AVX2 static inline bool hash_four(const weir__hasher *hasher, const uint8_t *base,
                                      const uint32_t *offsets, uint32_t tail, uint64_t *hashes) {
    const uint32_t *ends = offsets + 1;
    const uint8_t *secret = hasher->secret;
    ptrdiff_t end = -(ptrdiff_t)tail;
    __m128i length = _mm_sub_epi32(_mm_loadu_si128((const __m128i *)(const void *)ends),
                                   _mm_loadu_si128((const __m128i *)(const void *)offsets));
    length = _mm_sub_epi32(length, _mm_set1_epi32((int)tail));
    __m128i above = _mm_sub_epi32(length, _mm_set1_epi32(MIDDLING_LEAST));
    __m128i most = _mm_min_epu32(above, _mm_set1_epi32(MIDDLING_MOST - MIDDLING_LEAST));
    if (_mm_movemask_epi8(_mm_cmpeq_epi32(above, most)) != 0xffff) return false;
    __m256i lengths = _mm256_cvtepu32_epi64(length);
    __m256i more = _mm256_cmpgt_epi64(lengths, _mm256_set1_epi64x(64));
    __m256i sum = multiply_four(lengths, XXH_PRIME64_1);
    sum = _mm256_add_epi64(sum, mix_four(base, offsets, 0, secret));
    sum = _mm256_add_epi64(sum, mix_four(base, ends, end - 16, secret + 16));
    sum = _mm256_add_epi64(sum, mix_four(base, offsets, 16, secret + 32));
    sum = _mm256_add_epi64(sum, mix_four(base, ends, end - 32, secret + 48));
    __m256i inner = _mm256_add_epi64(mix_four(base, offsets, 32, secret + 64),
                                     mix_four(base, ends, end - 48, secret + 80));
    sum = _mm256_add_epi64(sum, _mm256_and_si256(inner, more));
    _mm256_storeu_si256((__m256i *)(void *)hashes, avalanche_four(sum));
    return true;
}

FOR_AVX2 static void hash_by_four(const weir__hasher *hasher, const uint8_t *base,
                                  const uint32_t *offsets, size_t count, size_t tail,
                                  uint64_t *hashes) {
    hash_in_groups(hasher, base, offsets, count, tail, hashes, 4, hash_four);
}

/* The 16 bytes at base + offset + shift of every second record, from the first on. */
FOR_AVX512 static inline __m512i four_pieces(const uint8_t *base, const uint32_t *offsets,
                                             ptrdiff_t shift) {
    __m128i piece[4];
    for (int i = 0; i < 4; i++)
        piece[i] =
            _mm_loadu_si128((const __m128i *)(const void *)(base + (offsets[2 * i] + shift)));
    __m512i four = _mm512_castsi128_si512(piece[0]);
    four = _mm512_mask_broadcast_i64x2(four, 0x0c, piece[1]);
    four = _mm512_mask_broadcast_i64x2(four, 0x30, piece[2]);
    return _mm512_mask_broadcast_i64x2(four, 0xc0, piece[3]);
}

/* The halves of a * b, 128 bits, one XORed with the other; by products of 32 bits. */
FOR_AVX512 static inline __m512i multiply_fold(__m512i a, __m512i b) {
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    __m512i low = _mm512_mul_epu32(a, b), high = _mm512_mul_epu32(a_high, b_high);
    __m512i one = _mm512_mul_epu32(a_high, b), other = _mm512_mul_epu32(a, b_high);
    one = _mm512_add_epi64(one, _mm512_srli_epi64(low, 32));
    other = _mm512_add_epi64(other, _mm512_and_si512(one, _mm512_set1_epi64(UINT32_MAX)));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(one, 32));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(other, 32));
    low = _mm512_mask_shuffle_epi32(low, 0xaaaa, other, 0xa0); /* its lower half moves up */
    return _mm512_xor_si512(high, low);
}

/* mix() of a piece of each record. */
FOR_AVX512 static inline __m512i mix_eight(const uint8_t *base, const uint32_t *offsets,
                                           ptrdiff_t shift, const uint8_t *secret) {
    __m512i key = _mm512_broadcast_i64x2(_mm_loadu_si128((const __m128i *)(const void *)secret));
    __m512i even = _mm512_xor_si512(four_pieces(base, offsets, shift), key);
    __m512i odd = _mm512_xor_si512(four_pieces(base, offsets + 1, shift), key);
    return multiply_fold(_mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd));
}

FOR_AVX512 static inline __m512i avalanche_eight(__m512i x) {
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 37));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64(0x165667919e3779f9));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
}

FOR_AVX512 static inline bool hash_eight(const weir__hasher *hasher, const uint8_t *base,
                                         const uint32_t *offsets, uint32_t tail, uint64_t *hashes) {
    const uint32_t *ends = offsets + 1;
    const uint8_t *secret = hasher->secret;
    ptrdiff_t end = -(ptrdiff_t)tail;
    __m256i length = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(const void *)ends),
                                      _mm256_loadu_si256((const __m256i *)(const void *)offsets));
    length = _mm256_sub_epi32(length, _mm256_set1_epi32((int)tail));
    __m256i above = _mm256_sub_epi32(length, _mm256_set1_epi32(MIDDLING_LEAST));
    if (_mm256_cmpgt_epu32_mask(above, _mm256_set1_epi32(MIDDLING_MOST - MIDDLING_LEAST)))
        return false;
    __mmask8 more = _mm256_cmpgt_epu32_mask(length, _mm256_set1_epi32(64));
    __m512i sum = _mm512_mullo_epi64(_mm512_cvtepu32_epi64(length),
                                     _mm512_set1_epi64((int64_t)XXH_PRIME64_1));
    sum = _mm512_add_epi64(sum, mix_eight(base, offsets, 0, secret));
    sum = _mm512_add_epi64(sum, mix_eight(base, ends, end - 16, secret + 16));
    sum = _mm512_add_epi64(sum, mix_eight(base, offsets, 16, secret + 32));
    sum = _mm512_add_epi64(sum, mix_eight(base, ends, end - 32, secret + 48));
    sum = _mm512_mask_add_epi64(sum, more, sum, mix_eight(base, offsets, 32, secret + 64));
    sum = _mm512_mask_add_epi64(sum, more, sum, mix_eight(base, ends, end - 48, secret + 80));
    _mm512_storeu_si512(hashes, avalanche_eight(sum));
    return true;
}

FOR_AVX512 static void hash_by_eight(const weir__hasher *hasher, const uint8_t *base,
                                     const uint32_t *offsets, size_t count, size_t tail,
                                     uint64_t *hashes) {
    hash_in_groups(hasher, base, offsets, count, tail, hashes, 8, hash_eight);
}
#endif

void weir__hash_records(const weir__hasher *hasher, const void *base, const uint32_t *offsets,
                        size_t count, size_t tail, uint64_t *hashes) {
#if defined(__x86_64__)
    cpu_kind cpu = hasher->kind == WEIR__HASH_XXH3 ? weir__cpu() : CPU_ANY;
    if (cpu == CPU_AVX512) hash_by_eight(hasher, base, offsets, count, tail, hashes);
    else if (cpu == CPU_AVX2) hash_by_four(hasher, base, offsets, count, tail, hashes);
    else
#endif
        hash_singly(hasher, base, offsets, 0, count, tail, hashes);
}

uint64_t weir__checksum(const void *bytes, size_t length, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, length, seed);
}

int weir__random_seed(uint64_t *seed) {
    return getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed;
}
