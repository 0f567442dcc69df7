/* turns.c - large work in turns.
 *
 * What is done within the first turn is replied at once. Else the client waits, and a timer takes
 * up the work each time that the server has served others, and at last the reply, which may be
 * long, too. Each stretch is replicated as a command of its own, in the order in which it was done,
 * so replicas stay the same whatever others did in between.
 *
 * While writes are paused (CLIENT PAUSE, FAILOVER) nothing may be changed, and the work waits, too.
 * The key may be gone, or the server no primary any more, when the timer comes back: then the rest
 * is not done, and the error says so.
 */
#include "turns.h"

#include <time.h>

enum { PAUSED_RETRY = 10 /* milliseconds until writes are tried again that are paused */ };
#define TURN INT64_C(2000000) /* nanoseconds of work before others are served */

typedef struct {
    turn_task task;
    void *work;
    RedisModuleBlockedClient *client;
    RedisModuleCtx *replies; /* to the client that waits */
    RedisModuleString *key;
    int database;
    uint64_t epoch;
    const char *failure; /* a whole error, or NULL */
} turns;

static void free_turns(RedisModuleCtx *ctx, void *data) {
    (void)ctx;
    turns *t = data;
    t->task.release(t->work);
    RedisModule_FreeThreadSafeContext(t->replies);
    RedisModule_FreeString(NULL, t->key);
    RedisModule_Free(t);
}

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

bool turn_is_over(int64_t end) { return end != NO_END && nanoseconds() >= end; }

/* As many stretches as there is time for. */
static void take_turn(RedisModuleCtx *ctx, const turns *t, weir_value *value) {
    int64_t end = nanoseconds() + TURN;
    bool changed = false;
    do changed |= t->task.stretch(ctx, t->work, t->key, value, end);
    while (!t->task.is_done(t->work) && !turn_is_over(end));
    if (changed) key_changed(ctx, t->key, t->task.event);
}

static int reply_turns(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    const turns *t = RedisModule_GetBlockedClientPrivateData(ctx);
    if (t->failure) RedisModule_ReplyWithError(ctx, t->failure);
    return REDISMODULE_OK; /* else the replies are there */
}

/* As much of the reply as there is time for. */
static void reply_more(RedisModuleCtx *ctx, void *data) {
    turns *t = data;
    int64_t end = nanoseconds() + TURN;
    bool all;
    do all = t->task.reply(t->replies, t->work);
    while (!all && !turn_is_over(end));
    if (all) RedisModule_UnblockClient(t->client, t);
    else RedisModule_CreateTimer(ctx, 0, reply_more, t);
}

static void go_on(RedisModuleCtx *ctx, void *data);

static void proceed(RedisModuleCtx *ctx, turns *t) {
    if (t->failure) RedisModule_UnblockClient(t->client, t);
    else RedisModule_CreateTimer(ctx, 0, t->task.is_done(t->work) ? reply_more : go_on, t);
}

static void go_on(RedisModuleCtx *ctx, void *data) {
    turns *t = data;
    key_handle handle = {0};
    bool writes = t->task.event != NULL;
    int mode = writes ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ;
    RedisModule_SelectDb(ctx, t->database);
    if (writes && RedisModule_AvoidReplicaTraffic()) {
        RedisModule_CreateTimer(ctx, PAUSED_RETRY, go_on, t);
        return;
    }
    if (writes && (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_SLAVE)) {
        t->failure = "READONLY the server became a replica; a part of the batch was done";
    } else {
        handle.key = RedisModule_OpenKey(ctx, t->key, mode);
        weir_value *value = key_value(handle.key, t->task.kind);
        if (value && value->epoch == t->epoch) take_turn(ctx, t, value);
        else t->failure = "WEIRMISSING the key went while a large batch was under way";
        key_close(&handle);
    }
    proceed(ctx, t);
}

bool turns_possible(RedisModuleCtx *ctx) {
    return !(RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_DENY_BLOCKING) &&
           !is_decided(ctx);
}

/* It takes longer than a turn: let the client wait. */
static void block(RedisModuleCtx *ctx, turns *t, const weir_value *value) {
    RedisModule_RetainString(NULL, t->key);
    t->database = RedisModule_GetSelectedDb(ctx);
    t->epoch = value->epoch;
    t->client = RedisModule_BlockClient(ctx, reply_turns, NULL, free_turns, 0);
    t->replies = RedisModule_GetThreadSafeContext(t->client);
}

bool turns_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const turn_task *task, void *work) {
    turns *t = RedisModule_TryAlloc(sizeof *t);
    if (!t) return false;
    *t = (turns){.task = *task, .work = work, .key = key};
    take_turn(ctx, t, value);
    if (task->is_done(work)) {
        bool all;
        do all = task->reply(ctx, work);
        while (!all);
        task->release(work);
        RedisModule_Free(t);
        return true;
    }
    block(ctx, t, value);
    proceed(ctx, t);
    return true;
}
