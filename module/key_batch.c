/* key_batch.c - hash all, then decide all: the library overlaps the cache misses of a batch. */
#include "key_batch.h"

#include <string.h>

bool source_said_time(key_source *source, const weir_value *value) {
    if (!value->timed || source->has_time || source->times) return true;
    source->has_time = true;
    source->time = time_now();
    return false;
}

/* --- memory ----------------------------------------------------------------------------------- */

bool batch_room(key_batch *batch, const key_source *source, size_t most) {
    bool times = source->times || source->has_time;
    bool importances = source->importances || source->has_importance;
    bool senders = source->producers || source->has_producer;
    size_t arrays = (size_t)1 + times + importances + senders;
    size_t words = arrays * most + WEIR_VERDICT_WORDS(most);
    batch->memory = words > BATCH_FEW ? RedisModule_TryAlloc(words * sizeof *batch->memory) : NULL;
    if (words > BATCH_FEW && !batch->memory) return false;
    uint64_t *at = batch->memory ? batch->memory : batch->few;
    batch->hashes = at;
    batch->times = times ? (int64_t *)(at += most) : NULL;
    batch->importances = importances ? (double *)(void *)(at += most) : NULL;
    batch->producers = senders ? (at += most) : NULL;
    batch->verdicts = at + most;
    return true;
}

void batch_free(key_batch *batch) { RedisModule_Free(batch->memory); }

/* --- keys ------------------------------------------------------------------------------------- */

/* 8 bytes a key from a blob. A string of the server need not be aligned, so they are copied. */
static void copy_words(void *to, const RedisModuleString *blob, size_t from, size_t count) {
    size_t length;
    if (count) memcpy(to, text_of(blob, &length) + 8 * from, 8 * count);
}

/* From a blob, or where there is none `one` over and over. */
static void fill(void *to, const RedisModuleString *blob, const void *one, size_t from,
                 size_t count) {
    if (blob) copy_words(to, blob, from, count);
    else
        for (size_t i = 0; i < count; i++) memcpy((uint64_t *)to + i, one, 8);
}

static void hash_items(uint64_t *hashes, const weir_filter *filter, RedisModuleString **items,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *item = text_of(items[i], &length);
        hashes[i] = weir_filter_hash(filter, item, length);
    }
}

void batch_fill(key_batch *batch, const weir_filter *filter, const key_source *source, size_t from,
                size_t count) {
    batch->count = count;
    batch->full = false;
    if (source->items) hash_items(batch->hashes, filter, source->items + from, count);
    else copy_words(batch->hashes, source->hashes, from, count);
    if (batch->times) fill(batch->times, source->times, &source->time, from, count);
    if (batch->importances)
        fill(batch->importances, source->importances, &source->importance, from, count);
    if (batch->producers) fill(batch->producers, source->producers, &source->producer, from, count);
}

bool batch_take(RedisModuleCtx *ctx, key_batch *batch, const weir_filter *filter,
                const key_source *source) {
    if (!batch_room(batch, source, source->count)) {
        reply_no_memory(ctx);
        return false;
    }
    batch_fill(batch, filter, source, 0, source->count);
    return true;
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* The library says 1 for SEEN. */
static void turn_over(uint64_t *verdicts, size_t count) {
    size_t words = WEIR_VERDICT_WORDS(count);
    for (size_t i = 0; i < words; i++) verdicts[i] = ~verdicts[i];
    if (count % 64) verdicts[words - 1] &= (UINT64_C(1) << count % 64) - 1;
}

static void decide(const key_batch *batch, size_t from, size_t count, weir_filter *filter,
                   bool offer, uint64_t *verdicts) {
    weir_batch b = {.count = count,
                    .hashes = batch->hashes + from,
                    .times = batch->times ? batch->times + from : NULL,
                    .importances = batch->importances ? batch->importances + from : NULL,
                    .producers = batch->producers ? batch->producers + from : NULL};
    if (offer) weir_filter_offer_batch(filter, &b, verdicts);
    else weir_filter_test_batch(filter, &b, verdicts);
}

/* One after the other, up to the first new one that has no room. */
static void offer_until_full(key_batch *batch, weir_filter *filter, uint64_t room) {
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t seen = 0;
        decide(batch, i, 1, filter, false, &seen);
        bool is_new = !(seen & 1);
        if (is_new && !room) {
            batch->count = i;
            batch->full = true;
            return;
        }
        decide(batch, i, 1, filter, true, &seen);
        room -= is_new;
        if (i % 64 == 0) batch->verdicts[i / 64] = 0;
        batch->verdicts[i / 64] |= (uint64_t)is_new << i % 64;
    }
}

void batch_run(key_batch *batch, weir_filter *filter, bool offer, uint64_t room) {
    if (offer && room < batch->count) {
        offer_until_full(batch, filter, room);
    } else {
        decide(batch, 0, batch->count, filter, offer, batch->verdicts);
        turn_over(batch->verdicts, batch->count);
    }
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

void batch_reply_bits(RedisModuleCtx *ctx, const key_batch *batch) {
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)batch->verdicts, (batch->count + 7) / 8);
}
