/* lab_truth.c - exact truth, and the LRU of every size in one pass.
 *
 * Question   which records are first occurrences, and for every C at once: how
 *            many repeats would an exact LRU of C keys have forgotten?
 * Idea       an LRU of C keys still has a key exactly if at most C distinct keys
 *            (itself included) were offered since its last offer. That number,
 *            its stack distance, does not depend on C (Mattson and others, IBM
 *            Systems Journal 9(2), 1970), so one histogram of distances answers
 *            for all C.
 * Method     one mark at the last occurrence of every key; the distance is the
 *            number of marks since the key's own. Marks are bits; a Fenwick tree
 *            counts them by words, so it is small enough for the cache.
 * Cost       one probe of the set and two walks of log2(n/64) steps a record
 */
#include "lab_truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab_rng.h"

/* --- set: open addressing, at most 5/8 full -------------------------------------- */

struct lab_set {
    uint64_t *ids;
    uint32_t *numbers; /* number + 1; 0: the place is free */
    size_t places;     /* a power of two */
    size_t count;
};

/* Give the set empty places; on failure it is as it was. */
static int set_allocate(lab_set *set, size_t places) {
    uint64_t *ids = malloc(places * sizeof *ids);
    uint32_t *numbers = calloc(places, sizeof *numbers);
    if (!ids || !numbers) {
        free(ids);
        free(numbers);
        return 0;
    }
    set->ids = ids;
    set->numbers = numbers;
    set->places = places;
    return 1;
}

lab_set *lab_set_new(size_t room) {
    lab_set *set = calloc(1, sizeof *set);
    size_t places = 64;
    while (places / 8 * 5 < room) places *= 2;
    if (set && !set_allocate(set, places)) {
        lab_set_free(set);
        set = NULL;
    }
    return set;
}

void lab_set_free(lab_set *set) {
    if (!set) return;
    free(set->ids);
    free(set->numbers);
    free(set);
}

/* The place of an id, or the free place where it belongs. */
static size_t set_place(const lab_set *set, uint64_t id) {
    size_t at = lab_mix(id) & (set->places - 1);
    while (set->numbers[at] && set->ids[at] != id) at = (at + 1) & (set->places - 1);
    return at;
}

static int set_grow(lab_set *set) {
    uint64_t *ids = set->ids;
    uint32_t *numbers = set->numbers;
    size_t places = set->places;
    if (!set_allocate(set, 2 * places)) return 0;
    for (size_t i = 0; i < places; i++) {
        if (!numbers[i]) continue;
        size_t at = set_place(set, ids[i]);
        set->ids[at] = ids[i];
        set->numbers[at] = numbers[i];
    }
    free(ids);
    free(numbers);
    return 1;
}

uint32_t lab_set_number(lab_set *set, uint64_t id, bool *first) {
    size_t at = set_place(set, id);
    *first = !set->numbers[at];
    if (!*first) return set->numbers[at] - 1;
    if (set->count >= set->places / 8 * 5) {
        if (!set_grow(set)) return LAB_SET_FULL;
        at = set_place(set, id);
    }
    if (set->count >= UINT32_MAX - 1) return LAB_SET_FULL;
    set->ids[at] = id;
    set->numbers[at] = (uint32_t)++set->count;
    return (uint32_t)(set->count - 1);
}

size_t lab_set_count(const lab_set *set) { return set->count; }

/* --- marks: bits with a count of those before a position -------------------------- */

typedef struct {
    uint64_t *bits;
    uint32_t *tree; /* Fenwick tree over the words, from 1 */
    size_t words;
} marks;

static void marks_change(marks *m, size_t at, uint32_t by) {
    m->bits[at / 64] ^= UINT64_C(1) << (at % 64);
    for (size_t i = at / 64 + 1; i <= m->words; i += i & -i) m->tree[i] += by;
}

static size_t marks_before(const marks *m, size_t at) {
    uint64_t below = m->bits[at / 64] & ((UINT64_C(1) << (at % 64)) - 1);
    size_t sum = (size_t)__builtin_popcountll(below);
    for (size_t i = at / 64; i; i &= i - 1) sum += m->tree[i];
    return sum;
}

/* --- truth ----------------------------------------------------------------------- */

/* Working memory of the pass over a stream. */
typedef struct {
    lab_set *set;
    marks marks;
    uint32_t *last;      /* by key number: where it occurred last */
    uint64_t *distances; /* [d]: repeats at stack distance d */
} pass;

static int pass_init(pass *p, size_t count) {
    memset(p, 0, sizeof *p);
    p->set = lab_set_new(count / 4);
    p->marks.words = count / 64 + 1;
    p->marks.bits = calloc(p->marks.words, sizeof *p->marks.bits);
    p->marks.tree = calloc(p->marks.words + 1, sizeof *p->marks.tree);
    p->last = malloc((count + 1) * sizeof *p->last);
    p->distances = calloc(count + 2, sizeof *p->distances);
    return p->set && p->marks.bits && p->marks.tree && p->last && p->distances;
}

static void pass_release(pass *p) {
    lab_set_free(p->set);
    free(p->marks.bits);
    free(p->marks.tree);
    free(p->last);
    free(p->distances);
}

static int run_pass(pass *p, lab_truth *t, const uint64_t *ids) {
    for (size_t i = 0; i < t->count; i++) {
        bool first;
        uint32_t key = lab_set_number(p->set, ids[i], &first);
        if (key == LAB_SET_FULL) return 0;
        if (first) {
            t->first[i / 64] |= UINT64_C(1) << (i % 64);
        } else {
            /* Every key has one mark: those at or after the last occurrence. */
            size_t distance = lab_set_count(p->set) - marks_before(&p->marks, p->last[key]);
            p->distances[distance]++;
            marks_change(&p->marks, p->last[key], (uint32_t)-1);
        }
        marks_change(&p->marks, i, 1);
        p->last[key] = (uint32_t)i;
    }
    t->distinct = lab_set_count(p->set);
    t->repeats = t->count - t->distinct;
    return 1;
}

/* forgotten[c] = repeats at a distance above c. */
static int sum_up(const pass *p, lab_truth *t) {
    t->forgotten = malloc((t->distinct + 1) * sizeof *t->forgotten);
    if (!t->forgotten) return 0;
    uint64_t above = 0;
    for (size_t c = t->distinct + 1; c-- > 0;) {
        t->forgotten[c] = above;
        above += p->distances[c];
    }
    return 1;
}

lab_truth *lab_truth_new(const uint64_t *ids, size_t count) {
    lab_truth *t = calloc(1, sizeof *t);
    pass p;
    if (!t || count >= UINT32_MAX) {
        free(t);
        return NULL;
    }
    t->count = count;
    t->first = calloc(count / 64 + 1, sizeof *t->first);
    int done = pass_init(&p, count) && t->first && run_pass(&p, t, ids) && sum_up(&p, t);
    pass_release(&p);
    if (done) return t;
    lab_truth_free(t);
    return NULL;
}

void lab_truth_free(lab_truth *t) {
    if (!t) return;
    free(t->first);
    free(t->forgotten);
    free(t);
}

/* --- references ------------------------------------------------------------------- */

double lab_lru_fnr(const lab_truth *t, double keys, double fpr) {
    if (!t->repeats || keys >= (double)t->distinct) return 0;
    size_t c = keys > 0 ? (size_t)keys : 0;
    return (1 - fpr) * (double)t->forgotten[c] / (double)t->repeats;
}

double lab_limit_keys(double bits, double fpr) { return bits / -log2(fpr); }

double lab_oracle_keys(double bits, double fpr) { return bits / (2 - log2(fpr)); }
