/* large.h - batches that would keep the server busy for more than a few milliseconds. */
#ifndef WEIR_MODULE_LARGE_H
#define WEIR_MODULE_LARGE_H

#include "key_batch.h"

/* If the batch is that large and the client can wait: take it over, memory and all, offer (or
 * test) its keys in stretches between which the server serves others, and reply when all are done.
 * False: it is to be done now. */
bool large_begin(RedisModuleCtx *ctx, RedisModuleString *key, const weir_value *value,
                 key_batch *batch, bool offer, batch_reply_fn *reply);

#endif
