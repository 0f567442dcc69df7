/* key_batch.c - hash all, then decide all: the library overlaps the cache misses of a batch. */
#include "key_batch.h"

#include <string.h>

void *batch_copy(const void *blob, size_t bytes) {
    void *copy = RedisModule_TryAlloc(bytes ? bytes : 1);
    if (copy && bytes) memcpy(copy, blob, bytes);
    return copy;
}

int64_t *batch_repeat(int64_t number, size_t count) {
    int64_t *numbers = RedisModule_TryAlloc(count ? count * sizeof *numbers : 1);
    for (size_t i = 0; numbers && i < count; i++) numbers[i] = number;
    return numbers;
}

bool batch_room(RedisModuleCtx *ctx, key_batch *batch, size_t count) {
    batch->count = count;
    batch->hashes = batch->few;
    batch->verdicts = batch->few + BATCH_SMALL;
    if (count <= BATCH_SMALL) return true;
    size_t words = count + WEIR_VERDICT_WORDS(count);
    batch->hashes = RedisModule_TryAlloc(words * sizeof *batch->hashes);
    batch->verdicts = batch->hashes + count;
    if (batch->hashes) return true;
    reply_no_memory(ctx);
    return false;
}

void batch_free(key_batch *batch) {
    if (batch->hashes != batch->few) RedisModule_Free(batch->hashes);
    RedisModule_Free(batch->times);
    RedisModule_Free(batch->importances);
    RedisModule_Free(batch->producers);
}

void batch_hash(key_batch *batch, const weir_filter *filter, RedisModuleString **items) {
    for (size_t i = 0; i < batch->count; i++) {
        size_t length;
        const char *item = text_of(items[i], &length);
        batch->hashes[i] = weir_filter_hash(filter, item, length);
    }
}

/* The library says 1 for SEEN. */
static void turn_over(uint64_t *verdicts, size_t count) {
    size_t words = WEIR_VERDICT_WORDS(count);
    for (size_t i = 0; i < words; i++) verdicts[i] = ~verdicts[i];
    if (count % 64) verdicts[words - 1] &= (UINT64_C(1) << count % 64) - 1;
}

bool batch_run(RedisModuleCtx *ctx, key_batch *batch, weir_filter *filter, bool offer) {
    weir_batch b = {.count = batch->count,
                    .hashes = batch->hashes,
                    .times = batch->times,
                    .importances = batch->importances,
                    .producers = batch->producers};
    size_t seen = offer ? weir_filter_offer_batch(filter, &b, batch->verdicts)
                        : weir_filter_test_batch(filter, &b, batch->verdicts);
    if (seen == WEIR_STOPPED) {
        reply_error(ctx, "ERR a site that a key needs is lost; nothing was added");
        return false;
    }
    turn_over(batch->verdicts, batch->count);
    return true;
}

void batch_reply(RedisModuleCtx *ctx, const key_batch *batch) {
    if (batch->count == 1) {
        RedisModule_ReplyWithLongLong(ctx, batch_is_new(batch, 0));
        return;
    }
    RedisModule_ReplyWithArray(ctx, (long)batch->count);
    for (size_t i = 0; i < batch->count; i++)
        RedisModule_ReplyWithLongLong(ctx, batch_is_new(batch, i));
}
