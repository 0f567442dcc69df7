/* scan_kernel.h - the scans of scan.c, written once and compiled for each
 * instruction set. No include guard: scan.c includes it with
 *
 *   SCAN_NAME(x)   the name of x in this version
 *   SCAN_TARGET    attributes of its functions
 *   SCAN_EQUAL     function: bit i of the result says that byte i of 64 equals c
 *   SCAN_PUT       function: write pos + i + 1 for each bit i to ends[], of which 64 may be
 *                  overwritten, and return how many there are
 */

/* The first n of 64 bits; n from 1 to 64. */
SCAN_TARGET static inline uint64_t SCAN_NAME(first_bits)(uint32_t n) { return ~0ull >> (64 - n); }

SCAN_TARGET static size_t SCAN_NAME(lines)(const unsigned char *base, uint32_t *pos, uint32_t end,
                                           unsigned char terminator, uint32_t *ends, size_t room) {
    size_t n = 0;
    uint32_t p = *pos;
    while (end - p >= 64 && room - n >= 64) {
        n += SCAN_PUT(ends + n, p, SCAN_EQUAL(base + p, terminator));
        p += 64;
    }
    if (p < end && end - p < 64 && room - n >= 64) {
        uint64_t bits = SCAN_EQUAL(base + p, terminator) & SCAN_NAME(first_bits)(end - p);
        n += SCAN_PUT(ends + n, p, bits);
        p = end;
    }
    *pos = p;
    return n;
}

/* Of a chunk of n bytes, the separators and line ends that are not quoted. */
SCAN_TARGET static inline void SCAN_NAME(csv_chunk)(const unsigned char *p, uint32_t n,
                                                    unsigned char separator, bool quoting,
                                                    csv_state *state, uint64_t *separators,
                                                    uint64_t *line_ends) {
    uint64_t valid = SCAN_NAME(first_bits)(n);
    uint64_t s = SCAN_EQUAL(p, separator) & valid;
    uint64_t l = SCAN_EQUAL(p, '\n') & valid;
    uint64_t q = quoting ? SCAN_EQUAL(p, '"') & valid : 0;
    uint64_t last = 1ull << (n - 1);
    if (q == 0) {
        bool quoted = *state == CSV_QUOTED;
        *separators = quoted ? 0 : s;
        *line_ends = quoted ? 0 : l;
        if (!quoted) *state = (s | l) & last ? CSV_FIELD_START : CSV_PLAIN;
        return;
    }
    /* Bit i of `inside`: after byte i an odd number of quotes has gone by. That is what
     * "quoted" means, provided that each quote which opens does so where one may: at the
     * start of a field, or just after one that closed (then the two are a doubled quote). */
    uint64_t inside = q;
    inside ^= inside << 1;
    inside ^= inside << 2;
    inside ^= inside << 4;
    inside ^= inside << 8;
    inside ^= inside << 16;
    inside ^= inside << 32;
    if (*state == CSV_QUOTED) inside = ~inside;
    uint64_t opening = q & inside, closing = q & ~inside;
    uint64_t outside = (s | l) & ~inside;
    uint64_t may_open =
        (outside << 1) | (closing << 1) | (*state == CSV_FIELD_START || *state == CSV_QUOTE_SEEN);
    if (opening & ~may_open) {
        csv_chunk_slowly(p, n, separator, state, separators, line_ends);
        return;
    }
    *separators = s & ~inside;
    *line_ends = l & ~inside;
    *state = inside & last    ? CSV_QUOTED
             : closing & last ? CSV_QUOTE_SEEN
             : outside & last ? CSV_FIELD_START
                              : CSV_PLAIN;
}

SCAN_TARGET static size_t SCAN_NAME(csv)(const unsigned char *base, uint32_t *pos, uint32_t end,
                                         unsigned char separator, csv_state *state, uint32_t *ends,
                                         size_t room) {
    size_t n = 0;
    uint32_t p = *pos;
    while (p < end && room - n >= 64) {
        uint32_t length = end - p < 64 ? end - p : 64;
        uint64_t separators, line_ends;
        SCAN_NAME(csv_chunk)(base + p, length, separator, true, state, &separators, &line_ends);
        n += SCAN_PUT(ends + n, p, line_ends);
        p += length;
    }
    *pos = p;
    return n;
}

SCAN_TARGET static size_t SCAN_NAME(columns)(const unsigned char *row, uint32_t length,
                                             unsigned char separator, bool quoting,
                                             const uint32_t *wanted, size_t count, uint32_t *starts,
                                             uint32_t *stops) {
    size_t found = 0;
    uint32_t column = 0, start = 0; /* of the field that the scan is in */
    csv_state state = CSV_FIELD_START;
    for (uint32_t p = 0; p < length;) {
        uint32_t n = length - p < 64 ? length - p : 64;
        uint64_t bits, line_ends;
        SCAN_NAME(csv_chunk)(row + p, n, separator, quoting, &state, &bits, &line_ends);
        uint32_t in_chunk = (uint32_t)__builtin_popcountll(bits);
        while (wanted[found] < column + in_chunk) { /* the separator that ends it is here */
            for (; column < wanted[found]; column++, in_chunk--, bits &= bits - 1)
                start = p + (uint32_t)__builtin_ctzll(bits) + 1;
            starts[found] = start;
            stops[found] = p + (uint32_t)__builtin_ctzll(bits);
            if (++found == count) return found;
        }
        if (in_chunk) {
            column += in_chunk;
            start = p + 64 - (uint32_t)__builtin_clzll(bits);
        }
        p += n;
    }
    if (wanted[found] == column) { /* the last field ends with the row */
        starts[found] = start;
        stops[found++] = length;
    }
    return found;
}

/* Of a chunk of n bytes, the first byte of each word, and the first blank after each word.
 * *in_word says whether the byte before the chunk belongs to a word. */
SCAN_TARGET static inline void SCAN_NAME(word_chunk)(const unsigned char *p, uint32_t n,
                                                     bool *in_word, uint64_t *begins,
                                                     uint64_t *ends) {
    uint64_t valid = SCAN_NAME(first_bits)(n);
    uint64_t words = ~(SCAN_EQUAL(p, ' ') | SCAN_EQUAL(p, '\t')) & valid;
    uint64_t before = words << 1 | *in_word;
    *begins = words & ~before;
    *ends = ~words & before & valid;
    *in_word = words >> (n - 1) & 1;
}

SCAN_TARGET static size_t SCAN_NAME(words)(const unsigned char *line, uint32_t length,
                                           const uint32_t *wanted, size_t count, uint32_t *starts,
                                           uint32_t *stops) {
    size_t opened = 0, found = 0;              /* of the wanted words: those begun, those ended */
    uint32_t words_begun = 0, words_ended = 0; /* before the chunk */
    bool in_word = false;
    for (uint32_t p = 0; p < length; p += 64) {
        uint32_t n = length - p < 64 ? length - p : 64;
        uint64_t begins, ends;
        SCAN_NAME(word_chunk)(line + p, n, &in_word, &begins, &ends);
        uint32_t begun = (uint32_t)__builtin_popcountll(begins);
        uint32_t ended = (uint32_t)__builtin_popcountll(ends), at = words_begun;
        for (; opened < count && wanted[opened] < words_begun + begun; opened++) {
            for (; at < wanted[opened]; at++) begins &= begins - 1;
            starts[opened] = p + (uint32_t)__builtin_ctzll(begins);
        }
        at = words_ended;
        for (; found < count && wanted[found] < words_ended + ended; found++) {
            for (; at < wanted[found]; at++) ends &= ends - 1;
            stops[found] = p + (uint32_t)__builtin_ctzll(ends);
        }
        if (found == count) return found;
        words_begun += begun;
        words_ended += ended;
    }
    if (in_word && found < count && wanted[found] == words_ended) stops[found++] = length;
    return found;
}

#undef SCAN_NAME
#undef SCAN_TARGET
#undef SCAN_EQUAL
#undef SCAN_PUT
