/* large.c - a large batch in stretches.
 *
 * The client waits; a timer takes up the work each time that the server has served others. The keys
 * stay in the strings of the command, and a stretch of them is taken at a time. Each stretch is
 * replicated as a batch of its own, in the order in which it was decided, so replicas stay the same
 * whatever others did in between. The verdicts are those of keys that were offered one by one, with
 * other clients' keys among them.
 *
 * While writes are paused (CLIENT PAUSE, FAILOVER) nothing may be changed, and the batch waits,
 * too. The key may be gone, or the server no primary any more, when the timer comes back: then the
 * rest is not offered, and the error says so. (Numbered batches are never large: they happen wholly
 * or not at all.)
 */
#include "large.h"

#include <string.h>
#include <time.h>

enum {
    LARGE_LEAST = 16384, /* keys: fewer take two milliseconds at most, a filter's line each */
    STRETCH = 4096,      /* keys, a multiple of 64: a quarter of a millisecond, or less */
    PAUSED_RETRY = 10    /* milliseconds until writes are tried again that are paused */
};
#define TURN INT64_C(2000000) /* nanoseconds of work before others are served */

typedef struct {
    key_source source; /* its strings are retained, items from `done` on */
    batch_task task;
    key_batch batch; /* of one stretch */
    uint64_t *verdicts;
    size_t done;
    bool full;
    RedisModuleBlockedClient *client;
    RedisModuleString *key;
    int database;
    uint64_t epoch;
    const char *failure; /* a whole error, or NULL */
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

static void release(large_batch *large) {
    RedisModuleString *blobs[BLOBS];
    blobs_of(&large->source, blobs);
    for (size_t i = 0; i < BLOBS; i++)
        if (blobs[i]) RedisModule_FreeString(NULL, blobs[i]);
    if (large->source.items) free_items(large, large->done, large->source.count - large->done);
    if (large->key) RedisModule_FreeString(NULL, large->key);
    RedisModule_Free(large->source.items);
    RedisModule_Free(large->verdicts);
    batch_free(&large->batch);
    RedisModule_Free(large);
}

static void free_large(RedisModuleCtx *ctx, void *data) {
    (void)ctx;
    release(data);
}

/* The strings live on when the command is over. */
static void retain(large_batch *large, RedisModuleString *key, const key_source *source) {
    RedisModuleString *blobs[BLOBS];
    blobs_of(source, blobs);
    for (size_t i = 0; i < BLOBS; i++)
        if (blobs[i]) RedisModule_RetainString(NULL, blobs[i]);
    for (size_t i = 0; source->items && i < source->count; i++) {
        large->source.items[i] = source->items[i];
        RedisModule_RetainString(NULL, source->items[i]);
    }
    RedisModule_RetainString(NULL, key);
    large->key = key;
}

/* NULL: there is no memory for it. */
static large_batch *take_over(RedisModuleString *key, const key_source *source) {
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
    retain(large, key, source);
    return large;
}

/* --- a stretch -------------------------------------------------------------------------------- */

static void replicate(RedisModuleCtx *ctx, const large_batch *large) {
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
    RedisModule_Replicate(ctx, "WEIR.ADDHASH", "sbv", large->key, (const char *)b->hashes, bytes,
                          more, used);
    for (size_t i = 0; i < used; i++) RedisModule_FreeString(ctx, more[i]);
}

/* STRETCH keys more. */
static void stretch(RedisModuleCtx *ctx, large_batch *large, const weir_value *value) {
    key_batch *b = &large->batch;
    size_t left = large->source.count - large->done, count = left < STRETCH ? left : STRETCH;
    batch_fill(b, value->filter, &large->source, large->done, count);
    batch_run(b, value->filter, large->task.offer,
              large->task.bounded ? value_room(value) : UINT64_MAX);
    memcpy(large->verdicts + large->done / 64, b->verdicts, (b->count + 7) / 8);
    if (large->task.offer && b->count) replicate(ctx, large);
    if (large->source.items) free_items(large, large->done, b->count);
    large->done += b->count;
    large->full = b->full;
}

static bool is_done(const large_batch *large) {
    return large->failure || large->full || large->done == large->source.count;
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* As many stretches as there is time for. */
static void work(RedisModuleCtx *ctx, large_batch *large, const weir_value *value) {
    int64_t end = nanoseconds() + TURN;
    do stretch(ctx, large, value);
    while (!is_done(large) && nanoseconds() < end);
    if (large->task.offer) key_changed(ctx, large->key, "weir.add");
}

/* --- the client waits ------------------------------------------------------------------------- */

static int reply_large(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    const large_batch *large = RedisModule_GetBlockedClientPrivateData(ctx);
    const key_batch all = {.count = large->done, .full = large->full, .verdicts = large->verdicts};
    if (large->failure) RedisModule_ReplyWithError(ctx, large->failure);
    else large->task.reply(ctx, &all);
    return REDISMODULE_OK;
}

static void go_on(RedisModuleCtx *ctx, void *data);

static void proceed(RedisModuleCtx *ctx, large_batch *large) {
    if (is_done(large)) RedisModule_UnblockClient(large->client, large);
    else RedisModule_CreateTimer(ctx, 0, go_on, large);
}

static void go_on(RedisModuleCtx *ctx, void *data) {
    large_batch *large = data;
    key_handle handle = {0};
    int mode = large->task.offer ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ;
    RedisModule_SelectDb(ctx, large->database);
    if (large->task.offer && RedisModule_AvoidReplicaTraffic()) {
        RedisModule_CreateTimer(ctx, PAUSED_RETRY, go_on, large);
        return;
    }
    if (large->task.offer && (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE)) {
        large->failure = "READONLY the server became a replica; a part of the batch was added";
    } else {
        handle.key = RedisModule_OpenKey(ctx, large->key, mode);
        const weir_value *value = key_value(handle.key, VALUE_FILTER);
        if (value && value->epoch == large->epoch) work(ctx, large, value);
        else large->failure = "WEIRMISSING the key went while a large batch was under way";
        key_close(&handle);
    }
    proceed(ctx, large);
}

bool large_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const key_source *source, const batch_task *task) {
    bool waits = !(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_DENY_BLOCKING);
    if (source->count <= LARGE_LEAST || !waits || is_decided(ctx)) return false;
    large_batch *large = take_over(key, source);
    if (!large) return false;
    large->task = *task;
    large->database = RedisModule_GetSelectedDb(ctx);
    large->epoch = value->epoch;
    large->client = RedisModule_BlockClient(ctx, reply_large, NULL, free_large, 0);
    work(ctx, large, value);
    proceed(ctx, large);
    return true;
}
