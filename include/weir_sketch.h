/* weir_sketch.h - how often, how many, which most: counts in fixed memory.
 *
 * A sketch summarises how often keys came by. It is made from a spec as a
 * filter is, takes keys with weights, and answers some of the questions below;
 * which ones depends on its kind (docs/sketches.md has the table), and a
 * question that it cannot answer fails with WEIR_ERR_UNSUPPORTED and a text
 * that names the kinds which can.
 *
 *     weir_sketch *s;
 *     weir_estimate e;
 *     weir_sketch_new(&s, "countmin:error=0.1%,confidence=99%", &err);
 *     weir_sketch_add(s, "a key", 5, 1, &err);
 *     weir_sketch_estimate(s, "a key", 5, WEIR_BY_AUTO, &e, &err);
 *     printf("%.0f (%.0f to %.0f)\n", e.value, e.low, e.high);
 *
 * Every sketch takes memory=SIZE, seed=N and hash=NAME; most can be sized by
 * error and confidence instead of memory.
 *
 * Contents:
 *
 *   1. Making and filling  new, add, batches of updates
 *   2. Counts              estimate, self_join, join
 *   3. Frequent keys       top, above
 *   4. Integer keys        range, quantile
 *   5. Distinct keys       distinct, common, distinct_where, sample
 *   6. State               merge, save, load, clone, parts of a snapshot
 *   7. Looking inside      info, spec, details, the tables of sketches
 *
 * Threads, statuses and errors are as in weir.h. Experimental: weir_sketch_quantile and
 * weir_quantile, weir_sketch_distinct_where and the rows that belong to it.
 */
#ifndef WEIR_SKETCH_H
#define WEIR_SKETCH_H

#include <weir_embed.h>
#include <weir_text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. Making and filling
 * ------------------------------------------------------------------------ */

typedef struct weir_sketch weir_sketch;

/* As weir_filter_new() and weir_filter_new_with() do for filters. Fail, and *out is then NULL,
 * with WEIR_ERR_SPEC or WEIR_ERR_RANGE (err->offset points into the spec), WEIR_ERR_IO (the
 * system gives no random seed) or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_new(weir_sketch **out, const char *spec, weir_error *err);
WEIR_API weir_status weir_sketch_new_with(weir_sketch **out, const char *spec,
                                          const weir_allocator *allocator, weir_error *err);
WEIR_API void weir_sketch_free(weir_sketch *sketch); /* NULL is allowed */
WEIR_API void weir_sketch_clear(weir_sketch *sketch);

/* Count a key, `weight` times. A negative weight takes back what was added
 * before, where the sketch can; the bounds of `countmin` and `top` hold while no key was
 * taken back more often than it came. Fails with WEIR_ERR_RANGE, and changes nothing, when a
 * counter would overflow, the weight makes no sense, or the key is no number and the
 * sketch is one of numbers. */
WEIR_API weir_status weir_sketch_add(weir_sketch *sketch, const void *key, size_t length,
                                     int64_t weight, weir_error *err);

/* The hash under which this sketch knows a key; see weir_filter_hash(). */
WEIR_API uint64_t weir_sketch_hash(const weir_sketch *sketch, const void *key, size_t length);

/* The hashes of records in a row; see weir_filter_hash_records(). */
WEIR_API void weir_sketch_hash_records(const weir_sketch *sketch, const void *base,
                                       const uint32_t *offsets, size_t count, size_t tail,
                                       uint64_t *hashes);

/* Ask for the memory of keys with these hashes, which are soon to be added or asked for one by one;
 * a batch does so by itself. For some dozens of keys: more would drive each other out of the cache.
 * Nothing is changed, and for sketches that hold little there is nothing to do. */
WEIR_API void weir_sketch_prefetch(const weir_sketch *sketch, const uint64_t *hashes, size_t count);

/* Bytes that belong to update i of a batch, good until the call returns.
 * Called only for those few keys that a sketch keeps. */
typedef const void *weir_bytes_fn(void *context, size_t i, size_t *length);

/* A batch of updates. Zero-fill it and set what you have. */
typedef struct {
    size_t count;
    const uint64_t *hashes;  /* from weir_sketch_hash(); not for integer keys */
    const int64_t *values;   /* integer keys: for ranges and quantiles */
    const double *decimals;  /* keys that are not all integers: for `kll`, in place of values */
    const int64_t *weights;  /* NULL: 1 each */
    const double *fractions; /* weights that are not whole (or NULL): need counter=real */
    const int64_t *times;    /* nanoseconds, for window and decay; NULL: now */
    weir_bytes_fn *key;      /* for sketches that hand keys back: `top`, samples */
    weir_bytes_fn *row;      /* for `distinct` with rows=: what a predicate looks at */
    void *context;           /* for key and row */
} weir_updates;

/* Add a batch: the same as adding its keys one by one, with two exceptions.
 * `top` (also within `window`) counts up to 256 keys of a batch before it looks
 * for candidates: counts and estimates are the same, but which keys near the
 * floor it holds, and the floor, can depend on where batches end. With decay=
 * counters may differ in rounding, and where no times are given all of a batch
 * has the same time. Fails with WEIR_ERR_RANGE as weir_sketch_add() does, or when the
 * batch lacks what the sketch needs; those before err->offset are in then, that one and
 * those after it are not. */
WEIR_API weir_status weir_sketch_add_batch(weir_sketch *sketch, const weir_updates *updates,
                                           weir_error *err);

/* Add one key, with what `update` has of weights, fractions and times (one of each), and with its
 * hash if that is there; the rest of it is not looked at. Fails with WEIR_ERR_RANGE as
 * weir_sketch_add() does. */
WEIR_API weir_status weir_sketch_add_key(weir_sketch *sketch, const void *key, size_t length,
                                         const weir_updates *update, weir_error *err);

/* Let time pass to `time` without a record: windows and decay look from there. */
WEIR_API void weir_sketch_advance(weir_sketch *sketch, int64_t time);

/* ------------------------------------------------------------------------
 * 2. Counts
 * ------------------------------------------------------------------------ */

/* How to read a count-min sketch; other sketches have one way and take any. */
typedef enum {
    WEIR_BY_AUTO = 0, /* whichever the counters show to be best for this stream */
    WEIR_BY_CM,       /* the minimum: never too low */
    WEIR_BY_CMM,      /* counter less the median of its row; the median of the rows */
    WEIR_BY_CMM_MEAN  /* counter less the mean of the others in its row: unbiased by row */
} weir_estimator;

/* An answer. low and high hold the truth with a chance of 99% at least (where
 * a side is certain the kind says so); deviation is the standard deviation of
 * value by the theory of the kind, 0 where the value is exact. */
typedef struct {
    double value, low, high, deviation;
} weir_estimate;

/* How often did a key come by (the sum of its weights)? Queries may compute
 * and keep row statistics: none of them is thread-safe on one object. Fail with
 * WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_estimate(weir_sketch *sketch, const void *key, size_t length,
                                          weir_estimator by, weir_estimate *out, weir_error *err);
WEIR_API weir_status weir_sketch_estimate_hash(weir_sketch *sketch, uint64_t hash,
                                               weir_estimator by, weir_estimate *out,
                                               weir_error *err);

/* The sum over keys of count squared. Fails with WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_self_join(weir_sketch *sketch, weir_estimator by,
                                           weir_estimate *out, weir_error *err);

/* The sum over keys of the product of the counts in two streams. The sketches must be alike in
 * all options (WEIR_ERR_MISMATCH). Or WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_join(weir_sketch *a, weir_sketch *b, weir_estimator by,
                                      weir_estimate *out, weir_error *err);

/* ------------------------------------------------------------------------
 * 3. Frequent keys
 * ------------------------------------------------------------------------ */

/* A key that a sketch kept. The bytes are good until the sketch is changed,
 * queried again or freed. */
typedef struct {
    const void *key;
    size_t length; /* of what is kept */
    bool cut;      /* the key was longer than the sketch keeps */
    uint64_t hash;
    weir_estimate count;
    const void *row; /* one row seen with the key, or NULL */
    size_t row_length;
} weir_item;

typedef struct {
    weir_item *items; /* room for `room` items, the caller's; filled, most frequent first */
    size_t room;
    size_t found;  /* items filled in */
    bool complete; /* nothing can be missing: the sketch vouches for it */
    double floor;  /* a key that is not listed came by at most this often (99% for samples) */
} weir_items;

/* The most frequent keys, as many as there is room for. Fails with WEIR_ERR_UNSUPPORTED,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_top(weir_sketch *sketch, weir_estimator by, weir_items *out,
                                     weir_error *err);

/* All keys whose count may exceed `share` of the total. Fails with WEIR_ERR_RANGE (the share is
 * not between 0 and 1), WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_above(weir_sketch *sketch, double share, weir_estimator by,
                                       weir_items *out, weir_error *err);

/* ------------------------------------------------------------------------
 * 4. Integer keys
 * ------------------------------------------------------------------------ */

/* The weight of the integer keys from low to high, both included. Fails with WEIR_ERR_RANGE
 * (low is above high), WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_sketch_range(weir_sketch *sketch, int64_t low, int64_t high,
                                       weir_estimator by, weir_estimate *out, weir_error *err);

/* The least key such that the keys up to it hold `share` of the weight. low and high
 * hold the true one with a chance of 99%. `kll` has the least key for 0 and the greatest for 1,
 * exactly. Fails with WEIR_ERR_RANGE (the share is not from 0 to 1, or nothing was counted),
 * WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
typedef struct {
    int64_t value, low, high; /* integer keys */
    bool is_decimal;          /* some key was not an integer: the answer is in these */
    double decimal, decimal_low, decimal_high;
} weir_quantile;
WEIR_EXPERIMENTAL weir_status weir_sketch_quantile(weir_sketch *sketch, double share,
                                                   weir_quantile *out, weir_error *err);

/* ------------------------------------------------------------------------
 * 5. Distinct keys
 * ------------------------------------------------------------------------ */

/* How many different keys. Fails with WEIR_ERR_RANGE (the sketch is too full to tell),
 * WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_sketch_distinct(weir_sketch *sketch, weir_estimate *out, weir_error *err);

/* How many different keys came in both of two streams. Fails with WEIR_ERR_MISMATCH (the options
 * differ), WEIR_ERR_RANGE (a sketch is too full to tell), WEIR_ERR_UNSUPPORTED, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_common(weir_sketch *a, weir_sketch *b, weir_estimate *out,
                                        weir_error *err);

/* How many different keys, of those that `accept` says yes to. It is asked
 * about every key in the sample and, where rows are kept, about each of its
 * rows: one yes is enough. Fails with WEIR_ERR_UNSUPPORTED. */
typedef bool weir_accept_fn(void *context, const weir_item *item);
WEIR_EXPERIMENTAL weir_status weir_sketch_distinct_where(weir_sketch *sketch,
                                                         weir_accept_fn *accept, void *context,
                                                         weir_estimate *out, weir_error *err);

/* The keys of a sample; count.value is how many records (or, for a sample of
 * distinct keys, how often this key came by). Fails with WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_sketch_sample(weir_sketch *sketch, weir_items *out, weir_error *err);

/* ------------------------------------------------------------------------
 * 6. State
 * ------------------------------------------------------------------------ */

/* Make `into` the sketch of both streams. They must be alike in all options
 * (WEIR_ERR_MISMATCH says which differs), and of a kind that can be merged
 * (WEIR_ERR_UNSUPPORTED says why not). Or WEIR_ERR_RANGE (a counter would overflow),
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_merge(weir_sketch *into, const weir_sketch *from, weir_error *err);

/* The statuses of the functions below are those of their namesakes for filters. Saving:
 * WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_save(const weir_sketch *sketch, const char *path, weir_error *err);

/* Fails with WEIR_ERR_IO, WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_load(weir_sketch **out, const char *path, weir_error *err);

/* Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_save_to(const weir_sketch *sketch, weir_write_fn *write,
                                         void *context, weir_error *err);

/* Fails with WEIR_ERR_IO, WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_load_from(weir_sketch **out, weir_read_fn *read, void *context,
                                           const weir_allocator *allocator, weir_error *err);

/* Fails with WEIR_ERR_RANGE (it does not fit), WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_save_bytes(const weir_sketch *sketch, void *buffer, size_t size,
                                            size_t *length, weir_error *err);

/* Fails with WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_load_bytes(weir_sketch **out, const void *bytes, size_t length,
                                            const weir_allocator *allocator, weir_error *err);

/* Fails with WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_sketch_clone(weir_sketch **out, const weir_sketch *sketch,
                                       const weir_allocator *allocator, weir_error *err);

/* Fails with WEIR_ERR_RANGE (the name). */
WEIR_API weir_status weir_snapshot_put_sketch(weir_snapshot *snapshot, const char *name,
                                              const weir_sketch *sketch, weir_error *err);
WEIR_API weir_sketch *weir_snapshot_take_sketch(weir_snapshot *snapshot, const char *name);

/* ------------------------------------------------------------------------
 * 7. Looking inside
 * ------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    uint64_t seed;
    uint64_t memory;     /* bytes held: its cells and a few KiB of tables */
    uint64_t updates;    /* added since creation or clear */
    double total;        /* sum of the weights, as of now under decay and windows */
    bool takes_decimals; /* keys may be decimal numbers */
    bool uses_time;      /* it looks at the times of updates */
    double error;        /* the error that the size stands for, relative as the kind says */
    double confidence;   /* with which that error holds */
    bool overfull;       /* more was added than it was planned for: see the kind's advice */
    uint32_t answers;    /* bits of weir_answer */
    uint64_t listed;     /* keys that its list is planned for (top: k), of a window that of a
                          * pane; 0: it keeps none, or without such a plan */
    uint64_t key_bytes;  /* memory for the bytes of these keys, if it was given; or 0 */
} weir_sketch_info;

/* What a sketch can answer. */
typedef enum {
    WEIR_CAN_ESTIMATE = 1,
    WEIR_CAN_SELF_JOIN = 2,
    WEIR_CAN_JOIN = 4,
    WEIR_CAN_TOP = 8,
    WEIR_CAN_RANGE = 16,
    WEIR_CAN_QUANTILE = 32,
    WEIR_CAN_DISTINCT = 64,
    WEIR_CAN_COMMON = 128,
    WEIR_CAN_WHERE = 256,
    WEIR_CAN_SAMPLE = 512
} weir_answer;

WEIR_API void weir_sketch_get_info(const weir_sketch *sketch, weir_sketch_info *info);
WEIR_API size_t weir_sketch_spec(const weir_sketch *sketch, char *buffer, size_t size);
WEIR_API void weir_sketch_details(const weir_sketch *sketch, weir_detail_fn *each, void *context);

/* Kind i of the sketches, NULL past the last; the options that all take; what
 * kind i can answer (bits of weir_answer). */
WEIR_API const weir_kind *weir_sketch_kind(size_t i);
WEIR_API uint32_t weir_sketch_kind_answers(size_t i);
WEIR_API const weir_option *weir_sketch_common_options(void);

#ifdef __cplusplus
}
#endif

#endif
