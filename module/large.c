/* large.c - a large batch in stretches.
 *
 * The keys stay in the strings of the command, and a stretch of them is taken at a time, in turns
 * (turns.h). The verdicts are those of keys that were offered one by one, with other clients' keys
 * among them. (Numbered batches are never large: they happen wholly or not at all.)
 */
#include "large.h"

#include <string.h>

#include "turns.h"

enum {
    LARGE_LEAST = 16384, /* keys: fewer take two milliseconds at most, a filter's line each */
    STRETCH = 4096       /* keys, a multiple of 64: a quarter of a millisecond, or less */
};

typedef struct {
    key_source source; /* its strings are retained, items from `done` on */
    batch_task task;
    key_batch batch; /* of one stretch */
    uint64_t *verdicts;
    size_t done;
    bool full;
} large_batch;

/* --- taking over ------------------------------------------------------------------------------ */

enum { BLOBS = 4 };
static void blobs_of(const key_source *source, RedisModuleString *blobs[BLOBS]) {
    blobs[0] = source->hashes;
    blobs[1] = source->times;
    blobs[2] = source->importances;
    blobs[3] = source->producers;
}

static void free_items(large_batch *large, size_t from, size_t count) {
    for (size_t i = 0; i < count; i++) RedisModule_FreeString(NULL, large->source.items[from + i]);
}

static void release(void *work) {
    large_batch *large = work;
    RedisModuleString *blobs[BLOBS];
    blobs_of(&large->source, blobs);
    for (size_t i = 0; i < BLOBS; i++)
        if (blobs[i]) RedisModule_FreeString(NULL, blobs[i]);
    if (large->source.items) free_items(large, large->done, large->source.count - large->done);
    RedisModule_Free(large->source.items);
    RedisModule_Free(large->verdicts);
    batch_free(&large->batch);
    RedisModule_Free(large);
}

/* The strings live on when the command is over. */
static void retain(large_batch *large, const key_source *source) {
    RedisModuleString *blobs[BLOBS];
    blobs_of(source, blobs);
    for (size_t i = 0; i < BLOBS; i++)
        if (blobs[i]) RedisModule_RetainString(NULL, blobs[i]);
    for (size_t i = 0; source->items && i < source->count; i++) {
        large->source.items[i] = source->items[i];
        RedisModule_RetainString(NULL, source->items[i]);
    }
}

/* NULL: there is no memory for it. */
static large_batch *take_over(const key_source *source) {
    large_batch *large = RedisModule_TryAlloc(sizeof *large);
    if (!large) return NULL;
    *large = (large_batch){.source = *source};
    size_t words = WEIR_VERDICT_WORDS(source->count);
    large->verdicts = RedisModule_TryAlloc(words * sizeof *large->verdicts);
    if (source->items) large->source.items = RedisModule_TryAlloc(source->count * sizeof(void *));
    bool good = large->verdicts && (!source->items || large->source.items);
    if (!good || !batch_room(&large->batch, source, STRETCH)) {
        RedisModule_Free(large->source.items);
        RedisModule_Free(large->verdicts);
        RedisModule_Free(large);
        return NULL;
    }
    retain(large, source);
    return large;
}

/* --- a stretch -------------------------------------------------------------------------------- */

static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const large_batch *large) {
    const key_batch *b = &large->batch;
    const char *names[3] = {"TIMES", "IMPORTANCES", "PRODUCERS"};
    const void *parts[3] = {b->times, b->importances, b->producers};
    RedisModuleString *more[6];
    size_t used = 0, bytes = b->count * 8;
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i]) continue;
        more[used++] = RedisModule_CreateString(ctx, names[i], strlen(names[i]));
        more[used++] = RedisModule_CreateString(ctx, parts[i], bytes);
    }
    RedisModule_Replicate(ctx, "WEIR.ADDHASH", "sbv", key, (const char *)b->hashes, bytes, more,
                          used);
    for (size_t i = 0; i < used; i++) RedisModule_FreeString(ctx, more[i]);
}

static void take_back(RedisModuleCtx *ctx, RedisModuleString *key, large_batch *large,
                      weir_filter *filter) {
    const key_batch *b = &large->batch;
    weir_batch batch = {.count = b->count, .hashes = b->hashes};
    weir_filter_remove_batch(filter, &batch, b->verdicts, NULL);
    RedisModule_Replicate(ctx, "WEIR.REMOVE", "sv", key, large->source.items + large->done,
                          b->count);
}

static void decide(RedisModuleCtx *ctx, RedisModuleString *key, large_batch *large,
                   const weir_value *value) {
    const batch_task *task = &large->task;
    key_batch *b = &large->batch;
    batch_run(b, value->filter, task->offer, task->bounded ? value_room(value) : UINT64_MAX);
    if (task->offer && b->count) replicate(ctx, key, large);
}

/* STRETCH keys more. */
static bool stretch(RedisModuleCtx *ctx, void *work, RedisModuleString *key, weir_value *value,
                    int64_t end) {
    (void)end;
    large_batch *large = work;
    key_batch *b = &large->batch;
    size_t left = large->source.count - large->done, count = left < STRETCH ? left : STRETCH;
    batch_fill(b, value->filter, &large->source, large->done, count);
    if (large->task.remove) take_back(ctx, key, large, value->filter);
    else decide(ctx, key, large, value);
    memcpy(large->verdicts + large->done / 64, b->verdicts, (b->count + 7) / 8);
    if (large->source.items) free_items(large, large->done, b->count);
    large->done += b->count;
    large->full = b->full;
    return large->task.remove || (large->task.offer && b->count);
}

static bool is_done(const void *work) {
    const large_batch *large = work;
    return large->full || large->done == large->source.count;
}

static bool reply_large(RedisModuleCtx *ctx, void *work) {
    const large_batch *large = work;
    const key_batch all = {.count = large->done, .full = large->full, .verdicts = large->verdicts};
    large->task.reply(ctx, &all);
    return true;
}

bool large_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const key_source *source, const batch_task *task) {
    const turn_task turns = {.kind = VALUE_FILTER,
                             .event = task->offer    ? "weir.add"
                                      : task->remove ? "weir.remove"
                                                     : NULL,
                             .stretch = stretch,
                             .is_done = is_done,
                             .reply = reply_large,
                             .release = release};
    if (source->count <= LARGE_LEAST || !turns_possible(ctx)) return false;
    large_batch *large = take_over(source);
    if (!large) return false;
    large->task = *task;
    if (turns_begin(ctx, key, value, &turns, large)) return true;
    release(large);
    return false;
}
