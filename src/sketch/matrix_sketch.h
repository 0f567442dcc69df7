/* matrix_sketch.h - a sketch whose heart is a matrix: its options, sizes and decay.
 *
 * countmin, agms and top take the same options for their counters, in the same
 * places, and the same damped window (thesis 1.3.3): with decay=HALF-LIFE a
 * record counts half as much for each half-life that has passed since.
 *
 * Decay is forward: nothing is ever scaled down as time goes by; a record that
 * comes t later than the landmark is added with its weight times 2^(t/H), and an
 * answer is divided by the same for now. Every ratio of a count to the total, and
 * so every order of keys, is what it would be with all counters decayed at every
 * step. When t/H passes 256 all counters are multiplied by 2^-256 and the
 * landmark moves up: once in 256 half-lives.
 */
#ifndef WEIR_SKETCH_COUNTING_H
#define WEIR_SKETCH_COUNTING_H

#include "sketch/matrix.h"
#include "sketch/sketch.h"

enum {
    WEIR__CO_WIDTH = WEIR__SK_OWN,
    WEIR__CO_DEPTH,
    WEIR__CO_ERROR,
    WEIR__CO_CONFIDENCE,
    WEIR__CO_COUNTER,
    WEIR__CO_DECAY,
    WEIR__CO_OWN
};

/* The lines of an option table that these places stand for. */
#define WEIR__COUNTING_OPTIONS(error_of)                                                           \
    {"width", WEIR_OPT_COUNT, 1, 0x1p40, NULL, NULL, "counters in a row"},                         \
        {"depth", WEIR_OPT_COUNT, 1, WEIR__DEPTH_MOST, NULL, NULL, "rows"},                        \
        {"error",                                                                                  \
         WEIR_OPT_RATE,                                                                            \
         1e-9,                                                                                     \
         0.5,                                                                                      \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "size it for an error of this share of " error_of},                                       \
        {"confidence",                                                                             \
         WEIR_OPT_RATE,                                                                            \
         0.5,                                                                                      \
         1 - 1e-9,                                                                                 \
         NULL,                                                                                     \
         NULL,                                                                                     \
         "chance that the error keeps within it (99%)"},                                           \
        {"counter",                                                                                \
         WEIR_OPT_CHOICE,                                                                          \
         0,                                                                                        \
         0,                                                                                        \
         WEIR__COUNTER_CHOICES,                                                                    \
         "32",                                                                                     \
         "bits of a counter, or real for weights with fractions"},                                 \
    {                                                                                              \
        "decay", WEIR_OPT_SPAN, 1, 0x1p60, NULL, NULL,                                             \
            "half-life of a record, a duration or a number of records"                             \
    }

/* All 64-bit words: part of a sketch's state. */
typedef struct {
    uint64_t started;
    uint64_t landmark; /* a time (int64_t) or number of a record; weights are relative to it */
    uint64_t latest;   /* the latest seen */
    uint64_t shrunk;   /* total of the exponents that counters were shrunk by */
} weir__decay;

/* The struct of such a sketch begins with this one. State of its own follows
 * directly, so that it continues these words. */
typedef struct {
    weir_sketch base;
    weir__matrix matrix; /* its cells are the first of the sketch */
    struct {
        weir__decay decay;
    } state;
} weir__counting;

/* Resolve width, depth and counter, from (error, confidence), (width, depth) or
 * `budget` bytes, and fill in the matrix, whose with_sign, conservative and
 * block are set. */
weir_status weir__counting_plan(weir_sketch *s, uint64_t budget, weir_error *err);

/* Add the updates and count them in the total. lows: as weir__matrix_add(). */
weir_status weir__counting_add_lows(weir_sketch *s, const weir_updates *u, double *lows,
                                    size_t *done, weir_error *err);

/* The factor from a counter to the count that it stands for now: 1 without decay. */
double weir__counting_now(const weir_sketch *s);

/* Add matrix and total of `from`; *factor is what its counters were multiplied by. */
weir_status weir__counting_merge_by(weir_sketch *into, const weir_sketch *from, double *factor,
                                    weir_error *err);

/* Functions for the tables. */
void weir__counting_bind(weir_sketch *s);
void weir__counting_close(weir_sketch *s);
weir_status weir__counting_add(weir_sketch *s, const weir_updates *u, size_t *done,
                               weir_error *err);
void weir__counting_prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count);
void weir__counting_advance(weir_sketch *s, int64_t time);
weir_status weir__counting_merge(weir_sketch *into, const weir_sketch *from, weir_error *err);
void weir__counting_info(const weir_sketch *s, weir_sketch_info *info);
void weir__counting_details(const weir_sketch *s, weir_detail_fn *each, void *context);
weir_status weir__counting_check(const weir_sketch *s, weir_error *err);
weir_status weir__counting_estimate(weir_sketch *s, uint64_t hash, weir_estimator by,
                                    weir_estimate *out, weir_error *err);
weir_status weir__counting_self_join(weir_sketch *s, weir_estimator by, weir_estimate *out,
                                     weir_error *err);
weir_status weir__counting_join(weir_sketch *a, weir_sketch *b, weir_estimator by,
                                weir_estimate *out, weir_error *err);

/* The part of a class that all sketches of counters have. */
#define WEIR__COUNTING_FUNCTIONS                                                                   \
    .prefetch = weir__counting_prefetch, .advance = weir__counting_advance,                        \
    .estimate = weir__counting_estimate, .self_join = weir__counting_self_join,                    \
    .join = weir__counting_join

/* And a sketch that is a matrix and nothing more. */
#define WEIR__COUNTING_ONLY                                                                        \
    WEIR__COUNTING_FUNCTIONS,                                                                      \
        .size = sizeof(weir__counting), .state_words = sizeof(((weir__counting *)0)->state) / 8,   \
        .bind = weir__counting_bind, .close = weir__counting_close, .add = weir__counting_add,     \
        .needs = WEIR__NEEDS_HASHES, .merge = weir__counting_merge, .info = weir__counting_info,   \
        .details = weir__counting_details, .check = weir__counting_check,                          \
        .state_offset = offsetof(weir__counting, state)

/* Answers in units of now. */
static inline void weir__estimate_scale(weir_estimate *e, double factor) {
    e->value *= factor, e->low *= factor, e->high *= factor, e->deviation *= factor;
}

/* Count updates in the total of a sketch without decay. */
void weir__count_total(weir_sketch *s, const weir_updates *u, size_t done);

#endif
