/* large.h - batches that would keep the server busy for more than a few milliseconds. */
#ifndef WEIR_MODULE_LARGE_H
#define WEIR_MODULE_LARGE_H

#include "key_batch.h"

typedef void batch_reply_fn(RedisModuleCtx *ctx, const key_batch *batch);

/* The work on a batch, and the function that replies. */
typedef struct {
    bool offer;   /* or test */
    bool remove;  /* or take back items, of a filter that can */
    bool bounded; /* of new keys only so many as the filter is made for (value_room) */
    batch_reply_fn *reply;
} batch_task;

/* If there are that many keys and the client can wait: offer (or test) them in stretches between
 * which the server serves others, and reply when all are done. The strings of the source are kept
 * until then. False: it is to be done now. */
bool large_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const key_source *source, const batch_task *task);

#endif
