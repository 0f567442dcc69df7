/* recent_testing.h - what tests that look into the filter `recent` share.
 *
 * The filter's file is included once more under another name, so that the tests can
 * look into lines and choose the processor that the code is written for.
 */
#ifndef WEIR_RECENT_TESTING_H
#define WEIR_RECENT_TESTING_H

#define weir__recent_class recent_class_under_test
#include "filter/recent.c"
#undef weir__recent_class

#include <math.h>

#include "testing.h"

/* A filter made by hand, with everything in reach. */
static inline recent_filter *make_recent(uint64_t memory, double fpr, uint64_t seed) {
    recent_filter *f = test_calloc(1, sizeof *f);
    f->base.class = &recent_class_under_test;
    f->base.values[WEIR__OPT_MEMORY].whole = memory;
    f->base.values[WEIR__OPT_FPR].number = fpr;
    f->base.values[WEIR__OPT_SEED].whole = seed;
    assert_int_equal(create(&f->base, NULL), WEIR_OK);
    start(&f->base);
    return f;
}

static inline void free_recent(recent_filter *f) {
    weir__unmap(f->base.cells, f->base.cells_bytes);
    test_free(f);
}

static inline bool offer_hash(recent_filter *f, uint64_t hash) {
    uint64_t verdict = 0;
    offer(&f->base, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return verdict & 1;
}

static inline bool test_hash(const recent_filter *f, uint64_t hash) {
    uint64_t verdict = 0;
    test(&f->base, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return verdict & 1;
}

static inline void assert_sound(const recent_filter *f) {
    weir_error err = {0};
    if (check(&f->base, &err) != WEIR_OK) fail_msg("%s", err.message);
}

/* One whose lines never turn into spans. */
static inline recent_filter *make_without_spans(uint64_t memory, double fpr, uint64_t seed) {
    recent_filter *f = make_recent(memory, fpr, seed);
    f->shape.span.blocks = 0;
    return f;
}

/* A number in [0, 1). */
static inline double test_part(uint64_t stream, uint64_t i) {
    return (double)(test_word(stream, i) >> 11) * 0x1p-53;
}

#endif
