/* sort64.c - sort 64-bit fingerprints.
 *
 * Idea       the words are hashes, so their high bits alone tell nearly all of
 *            them apart: two stable passes of counting sort by the top bits, about
 *            as many as log2(count), leave groups of one or two. Small groups are
 *            finished by insertion, large ones (repeats of one word, or rarely of
 *            several that share their top bits) by quicksort with three parts.
 * Cost       two passes over the words and one over the result, whatever repeats.
 */
#include "pairs/sort64.h"

enum { LEAST_BITS = 4, MOST_BITS = 12, SMALL = 24, TINY = 64 };

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

static void starts_of(size_t *counts, size_t buckets) {
    size_t sum = 0;
    for (size_t b = 0; b < buckets; b++) {
        size_t n = counts[b];
        counts[b] = sum;
        sum += n;
    }
}

static void scatter(const uint64_t *from, uint64_t *to, size_t count, size_t *starts,
                    unsigned shift, uint64_t mask) {
    for (size_t i = 0; i < count; i++) to[starts[(from[i] >> shift) & mask]++] = from[i];
}

/* Words that share the bits above `shift` stand together: put each group in order. */
static void finish_groups(uint64_t *words, size_t count, unsigned shift) {
    for (size_t i = 0; i < count;) {
        uint64_t top = words[i] >> shift;
        size_t end = i + 1;
        while (end < count && words[end] >> shift == top) end++;
        if (end - i > 1) quick(words + i, end - i);
        i = end;
    }
}

void weir__sort64(uint64_t *words, uint64_t *scratch, size_t count) {
    if (count <= TINY) {
        insertion(words, count);
        return;
    }
    unsigned bits = LEAST_BITS;
    while (bits < MOST_BITS && (count >> (2 * bits)) > 0) bits++;
    size_t low[1 << MOST_BITS] = {0}, high[1 << MOST_BITS] = {0};
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (size_t i = 0; i < count; i++) {
        high[words[i] >> (64 - bits)]++;
        low[(words[i] >> (64 - 2 * bits)) & mask]++;
    }
    starts_of(low, mask + 1);
    starts_of(high, mask + 1);
    scatter(words, scratch, count, low, 64 - 2 * bits, mask);
    scatter(scratch, words, count, high, 64 - bits, mask);
    finish_groups(words, count, 64 - 2 * bits);
}
