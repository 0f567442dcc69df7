/* sketching.h - what the tests of the sketches share. */
#ifndef WEIR_TESTS_SKETCHING_H
#define WEIR_TESTS_SKETCHING_H

#include "model/theory.h"
#include "sketch/sketch.h"

static inline weir_sketch *make_sketch(const char *spec) {
    weir_sketch *s;
    weir_error err = {0};
    if (weir_sketch_new(&s, spec, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    return s;
}

/* A seeded spec: "countmin:width=64" becomes "countmin:width=64,seed=7". */
static inline weir_sketch *make_seeded(const char *spec, uint64_t seed) {
    char text[512];
    snprintf(text, sizeof text, "%s%cseed=%llu", spec, strchr(spec, ':') ? ',' : ':',
             (unsigned long long)seed);
    return make_sketch(text);
}

/* Keys in tests are numbers: key i has this hash and, as bytes, this text. */
static inline uint64_t key_hash(uint64_t i) { return test_word(99, i); }

static inline const void *key_text(void *context, size_t i, size_t *length) {
    static char text[24];
    const uint64_t *keys = context;
    *length = (size_t)snprintf(text, sizeof text, "key-%llu", (unsigned long long)keys[i]);
    return text;
}

/* Add keys (numbers), in batches of at most `batch`. */
static inline void add_numbers(weir_sketch *s, const uint64_t *keys, const int64_t *weights,
                               size_t n, size_t batch) {
    uint64_t *hashes = malloc(n * sizeof *hashes);
    int64_t *values = malloc(n * sizeof *values);
    weir_error err = {0};
    for (size_t i = 0; i < n; i++) hashes[i] = key_hash(keys[i]), values[i] = (int64_t)keys[i];
    for (size_t at = 0; at < n; at += batch) {
        weir_updates u = {.count = n - at < batch ? n - at : batch,
                          .hashes = hashes + at,
                          .values = values + at,
                          .weights = weights ? weights + at : NULL,
                          .key = key_text,
                          .context = (void *)(uintptr_t)(keys + at)};
        if (weir_sketch_add_batch(s, &u, &err) != WEIR_OK) fail_msg("%s", err.message);
    }
    free(hashes), free(values);
}

static inline void add_number(weir_sketch *s, uint64_t key, int64_t weight) {
    add_numbers(s, &key, &weight, 1, 1);
}

static inline weir_estimate estimate_of(weir_sketch *s, uint64_t key, weir_estimator by) {
    weir_estimate e = {0};
    weir_error err = {0};
    if (weir_sketch_estimate_hash(s, key_hash(key), by, &e, &err) != WEIR_OK)
        fail_msg("%s", err.message);
    return e;
}

static inline double distinct_of(weir_sketch *s) {
    weir_estimate e = {0};
    weir_error err = {0};
    if (weir_sketch_distinct(s, &e, &err) != WEIR_OK) fail_msg("%s", err.message);
    assert_true(e.low <= e.value && e.value <= e.high);
    return e.value;
}

/* Counts of `keys` keys that follow a power law: key i (from 0) comes about
 * scale / (i + 1)^skew times, but at least once. */
static inline uint64_t zipf_count(uint64_t i, double scale, double skew) {
    double count = scale / pow((double)i + 1, skew);
    return count < 1 ? 1 : (uint64_t)count;
}

static inline bool same_sketch(const weir_sketch *a, const weir_sketch *b) {
    return a->updates == b->updates && a->total_bits == b->total_bits &&
           a->cells_bytes == b->cells_bytes && memcmp(a->cells, b->cells, a->cells_bytes) == 0 &&
           memcmp(weir__sketch_state(a), weir__sketch_state(b), a->class->state_words * 8) == 0;
}

/* The spec is refused with a message that contains this. */
static inline void expect_spec_refused(const char *spec, const char *part) {
    weir_sketch *s;
    weir_error err = {0};
    if (weir_sketch_new(&s, spec, &err) == WEIR_OK) fail_msg("%s was accepted", spec);
    assert_null(s);
    if (!strstr(err.message, part)) fail_msg("%s: '%s' lacks '%s'", spec, err.message, part);
}

/* A call failed with that status and a message that contains this. */
static inline void expect_failed(weir_status status, weir_status expected, const weir_error *err,
                                 const char *part) {
    if (status != expected || !strstr(err->message, part))
        fail_msg("status %d '%s' where '%s' was expected", status, err->message, part);
}

#endif
