/* other_bf.c - a module that was there first and has BF.ADD. */
#include "redis_api.h"

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

static int add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    return RedisModule_ReplyWithSimpleString(ctx, "another");
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    (void)argc;
    if (redis_api_find(ctx)) return REDISMODULE_ERR;
    RedisModule_SetModuleAttribs(ctx, "bf", 1, REDISMODULE_APIVER_1);
    return RedisModule_CreateCommand(ctx, "BF.ADD", add, "readonly", 1, 1, 1);
}
