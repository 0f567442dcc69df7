/* lab_firsts.c - first occurrences, exactly: a bitmap of ids, or a table of hashes.
 *
 * The bitmap is what makes a billion records possible: 100 million ids take 12
 * MiB. Its words are fetched ahead of use, since they miss the cache.
 */
#include "lab_firsts.h"

#include <stdlib.h>

#include "lab_error.h"
#include "lab_truth.h"

enum { AHEAD = 16 };

struct lab_firsts {
    uint64_t *bits; /* by id; NULL: use the table */
    lab_set *table;
    uint64_t count;
};

weir_status lab_firsts_new(lab_firsts **out, uint64_t universe, weir_error *err) {
    lab_firsts *f = calloc(1, sizeof *f);
    *out = f;
    if (f && universe) f->bits = calloc(universe / 64 + 1, sizeof *f->bits);
    else if (f) f->table = lab_set_new(1 << 16);
    if (f && (f->bits || f->table)) return WEIR_OK;
    lab_firsts_free(f);
    *out = NULL;
    return lab_error(err, WEIR_ERR_MEMORY, -1, "no memory for the truth of %llu ids",
                     (unsigned long long)universe);
}

void lab_firsts_free(lab_firsts *f) {
    if (!f) return;
    free(f->bits);
    lab_set_free(f->table);
    free(f);
}

static uint64_t mark(lab_firsts *f, uint64_t id) {
    uint64_t *word = &f->bits[id / 64], bit = UINT64_C(1) << (id % 64);
    uint64_t first = !(*word & bit);
    *word |= bit;
    return first;
}

static void next_by_bits(lab_firsts *f, const uint64_t *ids, size_t count, uint64_t *words) {
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) __builtin_prefetch(&f->bits[ids[i + AHEAD] / 64], 1);
        uint64_t first = mark(f, ids[i]);
        f->count += first;
        if (i % 64 == 0) words[i / 64] = 0;
        words[i / 64] |= first << (i % 64);
    }
}

weir_status lab_firsts_next(lab_firsts *f, const uint64_t *ids, size_t count, uint64_t *words) {
    if (f->bits) {
        next_by_bits(f, ids, count, words);
        return WEIR_OK;
    }
    for (size_t i = 0; i < count; i++) {
        bool first;
        if (lab_set_number(f->table, ids[i], &first) == LAB_SET_FULL) return WEIR_ERR_MEMORY;
        f->count += first;
        if (i % 64 == 0) words[i / 64] = 0;
        words[i / 64] |= (uint64_t)first << (i % 64);
    }
    return WEIR_OK;
}

uint64_t lab_firsts_count(const lab_firsts *f) { return f->count; }
