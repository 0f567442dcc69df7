/* sort64.c - sort 64-bit fingerprints.
 *
 * Idea       the words are hashes, so their high bits alone tell nearly all of
 *            them apart. A first counting pass by the top bits cuts them into parts
 *            that fit a processor's own cache; there a second one, by as many
 *            of the next bits as it takes, leaves groups of one or two. Small groups
 *            are finished by insertion, large ones (repeats of one word, or rarely
 *            of several that share their top bits) by quicksort with three parts.
 * Cost       two passes through memory, the rest in the cache, whatever repeats.
 */
#include "pairs/sort64.h"

#include <assert.h>
#include <string.h>

enum {
    PART_BITS = 13, /* 2^13 words and room to sort them: 128 KiB. Measured: 12 to 14 are alike */
    STEP_BITS = 8,  /* of a word that a pass in the cache sorts by */
    MOST_BITS = 12, /* of a word that the pass through memory sorts by, at most */
    SMALL = 24,     /* words: a part of at most this length is sorted by insertion */
    TINY = 64       /* words: an array of at most this length is, as a whole */
};

static void insertion(uint64_t *words, size_t count) {
    for (size_t i = 1; i < count; i++) {
        uint64_t word = words[i];
        size_t at = i;
        for (; at && words[at - 1] > word; at--) words[at] = words[at - 1];
        words[at] = word;
    }
}

static void swap(uint64_t *a, uint64_t *b) {
    uint64_t t = *a;
    *a = *b;
    *b = t;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
    if (a > b) swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

/* Less, equal, greater: repeats are done with in one go. */
static void quick(uint64_t *words, size_t count) {
    while (count > SMALL) {
        uint64_t pivot = median(words[0], words[count / 2], words[count - 1]);
        size_t low = 0, at = 0, high = count;
        while (at < high) {
            if (words[at] < pivot) swap(&words[low++], &words[at++]);
            else if (words[at] > pivot) swap(&words[at], &words[--high]);
            else at++;
        }
        if (low < count - high) {
            quick(words, low);
            words += high;
            count -= high;
        } else {
            quick(words + high, count - high);
            count = low;
        }
    }
    insertion(words, count);
}

/* How many words have each value of `bits` bits above `shift`, then where those of
 * each begin; starts[0..2^bits]. */
static void find_starts(const uint64_t *words, size_t count, unsigned shift, unsigned bits,
                        size_t *starts) {
    assert(bits <= MOST_BITS && shift < 64);
    size_t buckets = (size_t)1 << bits, sum = 0;
    memset(starts, 0, (buckets + 1) * sizeof *starts);
    for (size_t i = 0; i < count; i++) starts[words[i] >> shift & (buckets - 1)]++;
    for (size_t b = 0; b <= buckets; b++) {
        size_t n = starts[b];
        starts[b] = sum;
        sum += n;
    }
}

/* Afterwards starts[b] is where bucket b ends. */
static void scatter(const uint64_t *from, uint64_t *to, size_t count, unsigned shift, unsigned bits,
                    size_t *starts) {
    assert(bits <= MOST_BITS && shift < 64);
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (size_t i = 0; i < count; i++) to[starts[from[i] >> shift & mask]++] = from[i];
}

/* Copy words that are in order but for their bits below `shift`, in order. A group
 * of many that share the bits above is done apart. */
static void insert_copies(const uint64_t *from, uint64_t *to, size_t count, unsigned shift) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word = from[i];
        size_t at = i;
        for (; at && to[at - 1] > word && i - at < SMALL; at--) to[at] = to[at - 1];
        to[at] = word;
        if (i - at < SMALL) continue;
        size_t first = at, end = i + 1;
        while (first && to[first - 1] >> shift == word >> shift) first--;
        for (; end < count && from[end] >> shift == word >> shift; end++) to[end] = from[end];
        quick(to + first, end - first);
        i = end - 1;
    }
}

/* `count` words that share the bits above `shift`, in order to `words`; those of
 * `scratch` are lost. */
static void sort_part(uint64_t *scratch, uint64_t *words, size_t count, unsigned shift) {
    assert(shift >= 2 * STEP_BITS);
    size_t starts[(1 << MOST_BITS) + 1];
    find_starts(scratch, count, shift - 2 * STEP_BITS, STEP_BITS, starts);
    scatter(scratch, words, count, shift - 2 * STEP_BITS, STEP_BITS, starts);
    find_starts(words, count, shift - STEP_BITS, STEP_BITS, starts);
    scatter(words, scratch, count, shift - STEP_BITS, STEP_BITS, starts);
    insert_copies(scratch, words, count, shift - 2 * STEP_BITS);
}

static unsigned bits_of(size_t count, unsigned most) {
    unsigned bits = 1;
    while (bits < most && count >> bits > 1) bits++;
    return bits;
}

void weir__sort64(uint64_t *words, uint64_t *scratch, size_t count) {
    if (count <= TINY) {
        insertion(words, count);
        return;
    }
    size_t ends[(1 << MOST_BITS) + 1];
    unsigned bits = bits_of(count >> PART_BITS, MOST_BITS);
    find_starts(words, count, 64 - bits, bits, ends);
    scatter(words, scratch, count, 64 - bits, bits, ends);
    for (size_t b = 0, from = 0; from < count; from = ends[b++])
        sort_part(scratch + from, words + from, ends[b] - from, 64 - bits);
}
