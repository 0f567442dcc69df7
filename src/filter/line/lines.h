/* lines.h - batches, key by key: one line for each key, or places anywhere.
 *
 * Two loops that filters share. Each computes where keys live some way ahead and
 * asks for the memory, then decides in order, so the verdicts are those of one
 * key after the other. What is done to a key is a function that the compiler
 * sees, and so puts into the loop.
 *
 * And one way to lay k cells of a key into a line: the line is cut into k groups
 * of g cells, and the key has one cell in each. The groups of a line are then
 * independent of each other, and each has had one throw for each key, so that
 * after j keys a new one finds all its cells in use with probability
 *     (1 - (1 - 1/g)^j)^k
 * exactly. Cells that k groups leave over at the end of a line are not used.
 */
#ifndef WEIR_FILTER_LINES_H
#define WEIR_FILTER_LINES_H

#include <assert.h>

#include "core/cells.h"
#include "core/cpu.h"
#include "filter/filter.h"

enum {
    WEIR__LINE_BITS = WEIR__LINE * 8, /* bits of a line */
    WEIR__ROUND =
        16, /* keys whose lines are asked for together, one round before they are needed */
    WEIR__CHUNK = 64,   /* places anywhere: keys of a round at most */
    WEIR__PLACES = 1024 /* places anywhere: of a round at most, 8 KiB */
};

#define WEIR__INLINE static inline __attribute__((always_inline))

/* --- one line for each key ----------------------------------------------------- */

/* Decide on a key in its line; `rest` is what of the hash did not choose the line, and `cpu`
 * what the code is compiled for. */
typedef bool weir__line_fn(void *filter, uint64_t *line, uint64_t rest, cpu_kind cpu);

static inline uint64_t *weir__line_of(const weir_filter *f, uint64_t lines, uint64_t hash,
                                      uint64_t *rest) {
    assert(lines > 0 && lines * WEIR__LINE <= f->cells_bytes);
    uint64_t(*all)[WEIR__LINE_WORDS] = (void *)f->cells;
    return all[weir__part(hash, lines, rest)];
}

/* Lines are asked for in rounds, one before they are needed; the ring holds the keys of
 * two. Asked for one by one, between the work on keys, each would wait for its page to be
 * found; side by side they wait together. `filter` is not changed if decide() does not. */
WEIR__INLINE size_t weir__each_line(const weir_filter *filter, uint64_t lines,
                                    const weir_batch *batch, uint64_t *verdicts, bool write,
                                    weir__line_fn *decide, cpu_kind cpu) {
    struct {
        uint64_t *line, rest;
    } ring[2 * WEIR__ROUND];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + WEIR__ROUND; i++) {
        for (size_t j = i; i % WEIR__ROUND == 0 && j < i + WEIR__ROUND && j < n; j++) {
            size_t at = j % (2 * WEIR__ROUND);
            ring[at].line = weir__line_of(filter, lines, batch->hashes[j], &ring[at].rest);
            if (write) __builtin_prefetch(ring[at].line, 1);
            else __builtin_prefetch(ring[at].line, 0);
        }
        if (i < WEIR__ROUND) continue;
        size_t at = (i - WEIR__ROUND) % (2 * WEIR__ROUND);
        bool is_seen = decide((void *)(uintptr_t)filter, ring[at].line, ring[at].rest, cpu);
        weir__mark_seen(verdicts, i - WEIR__ROUND, is_seen);
        seen += is_seen;
    }
    return seen;
}

/* --- places anywhere ------------------------------------------------------------ */

/* Write a key's places and ask for their memory; then decide on the key. */
typedef void weir__find_fn(const void *filter, uint64_t hash, uint64_t *places);
typedef bool weir__decide_fn(void *filter, const uint64_t *places);

WEIR__INLINE size_t weir__each_key(const weir_filter *filter, unsigned per_key,
                                   const weir_batch *batch, uint64_t *verdicts, weir__find_fn *find,
                                   weir__decide_fn *decide) {
    assert(per_key >= 1 && per_key <= WEIR__PLACES);
    uint64_t places[WEIR__PLACES];
    size_t seen = 0, chunk = WEIR__PLACES / per_key;
    if (chunk > WEIR__CHUNK) chunk = WEIR__CHUNK;
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) find(filter, batch->hashes[at + i], places + i * per_key);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = decide((void *)(uintptr_t)filter, places + i * per_key);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* --- k groups of g cells in a line ----------------------------------------------- */

enum { WEIR__GROUPS_MOST = 64 }; /* groups of a line, and so cells of a key */

/* The key's cells from group 0 on: room for k rounded up to four. Sixteen bits
 * choose each, so that a cell is off its even chance by at most g / 2^16. */
static inline void weir__find_groups(uint64_t rest, uint64_t group, unsigned k, uint64_t *cells) {
    assert(k <= WEIR__GROUPS_MOST && group >= 1);
    uint64_t base = 0;
    for (unsigned j = 0; j < k; j += 4, base += 4 * group, rest += WEIR__GOLD) {
        uint64_t mix = weir__mix64(rest);
        cells[j] = base + ((mix & 0xffff) * group >> 16);
        cells[j + 1] = base + group + ((mix >> 16 & 0xffff) * group >> 16);
        cells[j + 2] = base + 2 * group + ((mix >> 32 & 0xffff) * group >> 16);
        cells[j + 3] = base + 3 * group + ((mix >> 48) * group >> 16);
    }
}

/* The rate above over the Poisson number of keys in a line. */
double weir__groups_fpr(double keys_a_line, double k, double group);

#endif
