/* scan.c - where records and fields end, 64 bytes at a time.
 *
 * Question   at which bytes do records end, and where in a row are its columns?
 * Idea       compare 64 bytes with the byte looked for at once, which gives a
 *            64-bit mask, and walk its set bits. For CSV a running parity of
 *            the quotes says which line ends are quoted: a prefix XOR of the
 *            mask of quotes. Parity is wrong where a quote stands in the middle
 *            of an unquoted field, so a chunk is checked for such and then, and
 *            only then, read byte by byte.
 * Cost       lines: about 2 ns per 64 bytes with AVX-512, 3.5 with AVX2; CSV
 *            with some quotes in it about 13 with AVX-512, 14 to 16 with AVX2.
 * Versions   AVX-512, AVX2, SSE2, NEON and plain C give the same answers;
 *            weir_cpu_now() says which is used. The scans live in scan_kernel.h.
 */
#include <assert.h>
#include <string.h>

#include <weir_cpu.h>

#include "stream_internal.h"

/* The result of the kernels' csv_chunk(), computed a byte at a time. */
static void csv_chunk_slowly(const unsigned char *p, uint32_t n, unsigned char separator,
                             csv_state *state, uint64_t *separators, uint64_t *line_ends) {
    csv_state s = *state;
    *separators = *line_ends = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (p[i] == '"') {
            s = s == CSV_QUOTED                               ? CSV_QUOTE_SEEN
                : s == CSV_FIELD_START || s == CSV_QUOTE_SEEN ? CSV_QUOTED
                                                              : CSV_PLAIN;
        } else if (s != CSV_QUOTED) {
            bool ends_field = p[i] == separator || p[i] == '\n';
            if (ends_field) *(p[i] == '\n' ? line_ends : separators) |= 1ull << i;
            s = ends_field ? CSV_FIELD_START : CSV_PLAIN;
        }
    }
    *state = s;
}

/* One bit after the other. Most chunks hold none to four; those are written without
 * asking how many, since the answer is what a branch could not guess. */
__attribute__((always_inline)) static inline size_t put_singly(uint32_t *ends, uint32_t pos,
                                                               uint64_t bits) {
    size_t count = (size_t)__builtin_popcountll(bits);
    const uint64_t top = 1ull << 63; /* keeps ctz defined; never changes a count */
    for (int i = 0; i < 4; i++) {
        ends[i] = pos + (uint32_t)__builtin_ctzll(bits | top) + 1;
        bits &= bits - 1;
    }
    for (size_t i = 4; bits; i++, bits &= bits - 1)
        ends[i] = pos + (uint32_t)__builtin_ctzll(bits) + 1;
    return count;
}

/* Eight bytes at a time: a byte of x is zero where v equals c; the exact "has zero" trick sets
 * its top bit, and a multiplication gathers the eight top bits. */
static inline uint64_t equal_portable(const unsigned char *p, unsigned char c) {
    const uint64_t ones = 0x0101010101010101ull, low = 0x7f7f7f7f7f7f7f7full;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t v;
        memcpy(&v, p + 8 * i, 8);
        uint64_t x = v ^ (ones * c);
        uint64_t zero = ~(((x & low) + low) | x | low);
        bits |= (((zero >> 7) * 0x0102040810204080ull) >> 56) << (8 * i);
    }
    return bits;
}

#define SCAN_NAME(x) x##_portable
#define SCAN_TARGET
#define SCAN_EQUAL equal_portable
#define SCAN_PUT put_singly
#include "scan_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>

static inline uint64_t equal_sse2(const unsigned char *p, unsigned char c) {
    __m128i wanted = _mm_set1_epi8((char)c);
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, wanted)) << (16 * i);
    }
    return bits;
}

#define SCAN_NAME(x) x##_sse2
#define SCAN_TARGET
#define SCAN_EQUAL equal_sse2
#define SCAN_PUT put_singly
#include "scan_kernel.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt")))

AVX2 static inline uint64_t equal_avx2(const unsigned char *p, unsigned char c) {
    __m256i wanted = _mm256_set1_epi8((char)c);
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    uint32_t l = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    uint32_t h = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return (uint64_t)h << 32 | l;
}

#define SCAN_NAME(x) x##_avx2
#define SCAN_TARGET AVX2
#define SCAN_EQUAL equal_avx2
#define SCAN_PUT put_singly
#include "scan_kernel.h"

#define AVX512                                                                                     \
    __attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512vl,avx512vbmi2")))

AVX512 static inline uint64_t equal_avx512(const unsigned char *p, unsigned char c) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8((char)c));
}

/* The numbers of the bits side by side, eight at a time. */
AVX512 static inline size_t put_avx512(uint32_t *ends, uint32_t pos, uint64_t bits) {
    static const unsigned char numbers[64] = {
        1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
        23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
        45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64};
    size_t count = (size_t)__builtin_popcountll(bits);
    __m512i found = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(numbers));
    __m256i base = _mm256_set1_epi32((int)pos);
    size_t i = 0;
    do {
        __m256i eight = _mm256_cvtepu8_epi32(_mm512_castsi512_si128(found));
        _mm256_storeu_si256((__m256i *)(void *)(ends + i), _mm256_add_epi32(eight, base));
        found = _mm512_alignr_epi64(found, found, 1);
        i += 8;
    } while (i < count);
    return count;
}

#define SCAN_NAME(x) x##_avx512
#define SCAN_TARGET AVX512
#define SCAN_EQUAL equal_avx512
#define SCAN_PUT put_avx512
#include "scan_kernel.h"
#elif defined(__aarch64__)
#include <arm_neon.h>

/* NEON has no instruction that gathers the top bits of bytes: each byte keeps the bit of its
 * place in a group of eight, and three rounds of pairwise additions put 64 of them side by side. */
static inline uint64_t equal_neon(const unsigned char *p, unsigned char c) {
    const uint8x16_t place = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t wanted = vdupq_n_u8(c);
    uint8x16_t a = vandq_u8(vceqq_u8(vld1q_u8(p), wanted), place);
    uint8x16_t b = vandq_u8(vceqq_u8(vld1q_u8(p + 16), wanted), place);
    uint8x16_t d = vandq_u8(vceqq_u8(vld1q_u8(p + 32), wanted), place);
    uint8x16_t e = vandq_u8(vceqq_u8(vld1q_u8(p + 48), wanted), place);
    uint8x16_t sum = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(d, e));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
}

#define SCAN_NAME(x) x##_neon
#define SCAN_TARGET
#define SCAN_EQUAL equal_neon
#define SCAN_PUT put_singly
#include "scan_kernel.h"
#endif

#define SCANNER(version)                                                                           \
    { lines_##version, csv_##version, columns_##version, words_##version }

/* One for each weir_cpu_level; a level that has no version of its own uses that below it. */
static const stream_scanner scanners[] = {
    [WEIR_CPU_SCALAR] = SCANNER(portable),
#if defined(__x86_64__)
    [WEIR_CPU_VECTOR128] = SCANNER(sse2),
    [WEIR_CPU_AVX2] = SCANNER(avx2),
    [WEIR_CPU_AVX512] = SCANNER(avx512),
#elif defined(__aarch64__)
    [WEIR_CPU_VECTOR128] = SCANNER(neon),
#endif
};

const stream_scanner *stream__active_scanner(void) {
    weir_cpu_level level = weir_cpu_now();
    assert(level < sizeof scanners / sizeof scanners[0]);
    return &scanners[level];
}
