/* recent_testing.h - what tests that look into the filter `recent` share. */
#ifndef WEIR_RECENT_TESTING_H
#define WEIR_RECENT_TESTING_H

#include <math.h>

#include "filter/recent/recent_filter.h"
#include "testing.h"

/* A filter with everything in reach. */
static inline recent_filter *make_recent(uint64_t memory, double fpr, uint64_t seed) {
    char spec[128];
    snprintf(spec, sizeof spec, "recent:memory=%llu,fpr=%.17g,seed=%llu",
             (unsigned long long)memory, fpr, (unsigned long long)seed);
    return (recent_filter *)make_filter(spec);
}

static inline void free_recent(recent_filter *f) { weir_filter_free(&f->base); }

static inline bool offer_hash(recent_filter *f, uint64_t hash) {
    uint64_t verdict = 0;
    weir_filter_offer_batch(&f->base, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return verdict & 1;
}

static inline bool test_hash(const recent_filter *f, uint64_t hash) {
    uint64_t verdict = 0;
    weir_filter_test_batch(&f->base, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
    return verdict & 1;
}

static inline void assert_sound(const recent_filter *f) {
    weir_error err = {0};
    if (weir__filter_check(&f->base, &err) != WEIR_OK) fail_msg("%s", err.message);
}

/* A number in [0, 1). */
static inline double test_part(uint64_t stream, uint64_t i) {
    return (double)(test_word(stream, i) >> 11) * 0x1p-53;
}

#endif
