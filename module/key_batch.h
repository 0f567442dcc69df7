/* key_batch.h - keys by the hundred: what WEIR.ADD, ADDHASH and BF.MADD have in common. */
#ifndef WEIR_MODULE_KEY_BATCH_H
#define WEIR_MODULE_KEY_BATCH_H

#include "module.h"

enum {
    BATCH_MOST = 65536, /* keys of a numbered batch; and what is decided without a pause */
    BATCH_SMALL = 64    /* hashes that need no memory of their own */
};

/* Keys on their way to a filter. Arrays are owned, or stand in `few`. */
typedef struct {
    size_t count;
    uint64_t *hashes, *verdicts;
    int64_t *times;      /* or NULL */
    double *importances; /* or NULL */
    uint64_t *producers; /* or NULL */
    uint64_t few[BATCH_SMALL + 1];
} key_batch;

/* Room for `count` keys; false: no memory, and the reply is given. */
bool batch_room(RedisModuleCtx *ctx, key_batch *batch, size_t count);
void batch_free(key_batch *batch);

/* The hashes of items, which there must be room for. */
void batch_hash(key_batch *batch, const weir_filter *filter, RedisModuleString **items);

/* An array of 8-byte numbers from a blob, or one number over and over; NULL: no memory. */
void *batch_copy(const void *blob, size_t bytes);
int64_t *batch_repeat(int64_t number, size_t count);

/* Offer or test. verdicts: 1 for NEW, the rest of the last word 0. False: nothing was done and the
 * reply is given. */
bool batch_run(RedisModuleCtx *ctx, key_batch *batch, weir_filter *filter, bool offer);
static inline bool batch_is_new(const key_batch *batch, size_t i) {
    return batch->verdicts[i / 64] >> (i % 64) & 1;
}

/* One number, or an array of them. */
void batch_reply(RedisModuleCtx *ctx, const key_batch *batch);

/* Was this numbered batch answered before? True: the reply was given, that of then or an error.
 * bitmap: the reply has the verdicts, too. */
bool batch_answered(RedisModuleCtx *ctx, const weir_value *value, const RedisModuleString *who,
                    uint64_t number, bool bitmap);

/* The replies of large batches are made key by key in the same way after a pause. */
typedef void batch_reply_fn(RedisModuleCtx *ctx, const key_batch *batch);

#endif
