/* large.c - a large batch in stretches.
 *
 * The client waits; a timer takes up the work each time that the server has served others. Each
 * stretch is replicated as a batch of its own, in the order in which it was decided, so replicas
 * stay the same whatever others did in between. The verdicts are those of keys that were offered
 * one by one, with other clients' keys among them.
 *
 * The key may be gone, or the server no primary any more, when the timer comes back: then the rest
 * is not offered, and the error says so. (Numbered batches are never large: they happen wholly or
 * not at all.)
 */
#include "large.h"

#include <string.h>

enum { STRETCH = 16384 }; /* keys, a multiple of 64 */

typedef struct {
    key_batch batch;
    size_t done;
    RedisModuleBlockedClient *client;
    RedisModuleString *key;
    int database;
    uint64_t epoch;
    bool offer;
    batch_reply_fn *reply;
    const char *failure; /* a whole error, or NULL */
} large_batch;

static void free_large(RedisModuleCtx *ctx, void *data) {
    large_batch *large = data;
    RedisModule_FreeString(ctx, large->key);
    batch_free(&large->batch);
    RedisModule_Free(large);
}

static int reply_large(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    large_batch *large = RedisModule_GetBlockedClientPrivateData(ctx);
    if (large->failure) RedisModule_ReplyWithError(ctx, large->failure);
    else large->reply(ctx, &large->batch);
    return REDISMODULE_OK;
}

static void replicate(RedisModuleCtx *ctx, const large_batch *large, size_t from, size_t count) {
    const key_batch *b = &large->batch;
    const char *names[3] = {"TIMES", "IMPORTANCES", "PRODUCERS"};
    const void *parts[3] = {b->times, b->importances, b->producers};
    RedisModuleString *more[6];
    size_t used = 0;
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i]) continue;
        more[used++] = RedisModule_CreateString(ctx, names[i], strlen(names[i]));
        more[used++] = RedisModule_CreateString(ctx, (const char *)parts[i] + from * 8, count * 8);
    }
    RedisModule_Replicate(ctx, "WEIR.ADDHASH", "sbv", large->key, (const char *)(b->hashes + from),
                          count * 8, more, used);
    for (size_t i = 0; i < used; i++) RedisModule_FreeString(ctx, more[i]);
}

/* STRETCH keys more. */
static void stretch(RedisModuleCtx *ctx, large_batch *large, weir_filter *filter) {
    key_batch *b = &large->batch;
    size_t from = large->done, left = b->count - from, count = left < STRETCH ? left : STRETCH;
    key_batch part = {.count = count,
                      .hashes = b->hashes + from,
                      .verdicts = b->verdicts + from / 64,
                      .times = b->times ? b->times + from : NULL,
                      .importances = b->importances ? b->importances + from : NULL,
                      .producers = b->producers ? b->producers + from : NULL};
    batch_run(ctx, &part, filter, large->offer);
    if (large->offer) replicate(ctx, large, from, count);
    large->done += count;
}

static void go_on(RedisModuleCtx *ctx, void *data);

static void proceed(RedisModuleCtx *ctx, large_batch *large) {
    if (!large->failure && large->done < large->batch.count)
        RedisModule_CreateTimer(ctx, 0, go_on, large);
    else RedisModule_UnblockClient(large->client, large);
}

static void go_on(RedisModuleCtx *ctx, void *data) {
    large_batch *large = data;
    key_handle handle = {0};
    RedisModule_SelectDb(ctx, large->database);
    if (large->offer && (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE)) {
        large->failure = "READONLY the server became a replica; a part of the batch was added";
    } else {
        handle.key = RedisModule_OpenKey(ctx, large->key,
                                         large->offer ? REDISMODULE_READ | REDISMODULE_WRITE
                                                      : REDISMODULE_READ);
        weir_value *value = key_value(handle.key, VALUE_FILTER);
        if (value && value->epoch == large->epoch) stretch(ctx, large, value->filter);
        else large->failure = "WEIRMISSING the key went while a large batch was under way";
        if (!large->failure && large->offer) key_changed(ctx, large->key, "weir.add");
        key_close(&handle);
    }
    proceed(ctx, large);
}

bool large_begin(RedisModuleCtx *ctx, RedisModuleString *key, const weir_value *value,
                 key_batch *batch, bool offer, batch_reply_fn *reply) {
    int flags = RedisModule_GetContextFlags(ctx);
    if (batch->count <= BATCH_MOST || (flags & REDISMODULE_CTX_FLAGS_DENY_BLOCKING) ||
        is_decided(ctx))
        return false;
    large_batch *large = RedisModule_TryAlloc(sizeof *large);
    if (!large) return false;
    *large = (large_batch){.batch = *batch,
                           .key = key,
                           .database = RedisModule_GetSelectedDb(ctx),
                           .epoch = value->epoch,
                           .offer = offer,
                           .reply = reply};
    RedisModule_RetainString(NULL, key);
    large->client = RedisModule_BlockClient(ctx, reply_large, NULL, free_large, 0);
    stretch(ctx, large, value->filter);
    if (offer) key_changed(ctx, key, "weir.add");
    proceed(ctx, large);
    return true;
}
