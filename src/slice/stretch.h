/* stretch.h - a stretch of keys in the order of their slices, and its verdicts back
 * in the order of the keys.
 *
 * Question   how do the keys of one slice get together, so that a slice is locked
 *            once for many, at a cost that is small beside one memory access?
 * Idea       a counting sort. For any number of slices it goes by places: `from` says
 *            which key stands where. For few slices, and where the processor has the
 *            instructions, a slice has a mask of its keys: eight keys at a time are
 *            pressed together by it, and its verdicts are laid out again by it.
 * Cost       2 to 3 ns a key by places, less than 1 ns by masks
 */
#ifndef WEIR_SLICE_STRETCH_H
#define WEIR_SLICE_STRETCH_H

#include "core/rng.h"
#include "filter/filter.h"

#define WEIR__SLICE_SALT                                                                           \
    UINT64_C(0x5bd1e995a3c59ac3) /* a slice is chosen by other bits than a line */

enum {
    WEIR__STRETCH = 2048, /* keys sorted at a time; with columns as many as fit below */
    WEIR__STRETCH_COLUMNS = 512,
    WEIR__SLICES_MOST = 1024,
    WEIR__SLICES_MASKED = 8, /* with more than these, places cost less than masks */
    WEIR__LANES = 4,         /* parts of a stretch that are counted side by side */
};

typedef struct {
    size_t slices, count;
    bool masked;
    uint16_t start[WEIR__SLICES_MOST + 1]; /* where the keys of a slice begin */
    uint64_t hashes[WEIR__STRETCH];

    /* by masks: */
    uint8_t masks[WEIR__SLICES_MASKED][WEIR__STRETCH / 8];
    uint64_t parts[WEIR__SLICES_MASKED][WEIR__STRETCH / 64 + 1]; /* verdicts of a slice */

    /* by places: */
    uint16_t slice[WEIR__STRETCH]; /* of key i */
    uint16_t from[WEIR__STRETCH];  /* which key stands here */
    uint16_t next[WEIR__LANES][WEIR__SLICES_MOST];
    uint64_t part[WEIR__STRETCH / 64]; /* verdicts of one slice */
    uint8_t seen[WEIR__STRETCH];       /* verdict of key i */
    int64_t times[WEIR__STRETCH_COLUMNS];
    uint64_t producers[WEIR__STRETCH_COLUMNS];
    double importances[WEIR__STRETCH_COLUMNS];
} weir__stretch;

/* The slice of a key, by a hash that has nothing to do with what a slice makes of it. */
static inline uint64_t weir__slice_of(uint64_t hash, size_t slices) {
    return weir__scale(weir__mix64(hash ^ WEIR__SLICE_SALT), slices);
}

/* Take up to a stretch of keys from `at` on. */
void weir__stretch_sort(weir__stretch *s, const weir_batch *batch, size_t at, size_t slices);

/* The keys of one slice; they lie in the stretch. */
weir_batch weir__stretch_part(const weir__stretch *s, const weir_batch *whole, size_t slice);

/* Where the verdicts of a slice are to be written; then say that they are there. */
uint64_t *weir__stretch_room(weir__stretch *s, size_t slice);
void weir__stretch_answered(weir__stretch *s, size_t slice);

/* All verdicts, in the order of the keys; returns how many are SEEN. */
size_t weir__stretch_gather(weir__stretch *s, uint64_t *verdicts);

#endif
