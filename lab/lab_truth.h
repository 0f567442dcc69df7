/* lab_truth.h - what is true of a stream, and what the two references make of it.
 *
 * A lab_truth is computed once from the ids of a stream and then answers for
 * every memory: which positions are first occurrences, and how many repeats an
 * exact LRU of any number of keys would have forgotten.
 */
#ifndef LAB_TRUTH_H
#define LAB_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- a set of ids ------------------------------------------------------------- */

typedef struct lab_set lab_set;

/* NULL when out of memory. It grows by doubling; room is what to expect. */
lab_set *lab_set_new(size_t room);
void lab_set_free(lab_set *set);

/* The number of an id: 0, 1, 2, ... in order of first occurrence, at most
 * 2^32 - 2 of them. *first tells whether this is it. LAB_SET_FULL when out of
 * memory or numbers. */
#define LAB_SET_FULL UINT32_MAX
#define LAB_SET_BYTES 24 /* of memory for each id, on average */
uint32_t lab_set_number(lab_set *set, uint64_t id, bool *first);

size_t lab_set_count(const lab_set *set);

/* --- the truth of a stream ------------------------------------------------------ */

typedef struct {
    size_t count;        /* records */
    size_t distinct;     /* first occurrences */
    size_t repeats;      /* the others */
    uint64_t *first;     /* bit i%64 of word i/64: record i is a first occurrence */
    uint64_t *forgotten; /* [c]: repeats that an LRU of c keys has forgotten; 0..distinct */
} lab_truth;

/* NULL when out of memory. At most 2^32 - 2 records; about 20 bytes for each
 * while it computes. */
lab_truth *lab_truth_new(const uint64_t *ids, size_t count);
void lab_truth_free(lab_truth *truth);

static inline bool lab_truth_is_first(const lab_truth *truth, size_t i) {
    return truth->first[i / 64] >> (i % 64) & 1;
}

/* --- the references --------------------------------------------------------------
 *
 * An exact LRU of C keys in which every key comes to the front when it is
 * offered, whatever the verdict on it: a forgotten key that returns enters at
 * the front whether it was called NEW or (wrongly for what is remembered,
 * rightly for the stream) SEEN. A key that is not remembered is called SEEN with
 * probability fpr. So the false negative rate is (1 - fpr) times the share of
 * repeats that are forgotten, and the false positive rate is fpr. */

/* False negative rate, 0 if there are no repeats. */
double lab_lru_fnr(const lab_truth *truth, double keys, double fpr);

/* The keys that a memory of `bits` holds: log2(1/fpr) bits a key in the limit,
 * two more for the oracle. */
double lab_limit_keys(double bits, double fpr);
double lab_oracle_keys(double bits, double fpr);

#endif
