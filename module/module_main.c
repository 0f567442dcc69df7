/* module_main.c - where the server enters. */
#include "module.h"
#include "table.h"

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc);

/* INFO: what there is of ours in this server. */
static void info(RedisModuleInfoCtx *ctx, int for_crash_report) {
    (void)for_crash_report;
    value_totals now = value_count();
    if (RedisModule_InfoAddSection(ctx, "values") != REDISMODULE_OK) return;
    RedisModule_InfoAddFieldCString(ctx, "version", weir_version());
    RedisModule_InfoAddFieldULongLong(ctx, "filters", now.filters);
    RedisModule_InfoAddFieldULongLong(ctx, "sketches", now.sketches);
    RedisModule_InfoAddFieldULongLong(ctx, "imports", now.imports);
    RedisModule_InfoAddFieldULongLong(ctx, "memory", now.memory);
}

static int version_number(void) {
    return WEIR_VERSION_MAJOR * 10000 + WEIR_VERSION_MINOR * 100 + WEIR_VERSION_PATCH;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    (void)argv;
    const char *missing = redis_api_find(ctx);
    if (missing) {
        if (RedisModule_Log)
            RedisModule_Log(ctx, "warning", "weir: this server has no %s; Redis 7.0 is needed",
                            missing);
        return REDISMODULE_ERR;
    }
    if (RedisModule_IsModuleNameBusy("weir")) return REDISMODULE_ERR;
    RedisModule_SetModuleAttribs(ctx, "weir", version_number(), REDISMODULE_APIVER_1);
    RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS);
    if (argc) {
        RedisModule_Log(ctx, "warning",
                        "weir: no arguments are taken; set weir.* in the configuration");
        return REDISMODULE_ERR;
    }
    if (RedisModule_AddACLCategory && RedisModule_AddACLCategory(ctx, "weir") != REDISMODULE_OK)
        return REDISMODULE_ERR;
    if (types_register(ctx) != REDISMODULE_OK ||
        commands_register(ctx, FACE_WEIR) != REDISMODULE_OK ||
        RedisModule_RegisterInfoFunc(ctx, info) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    return REDISMODULE_OK;
}
