/* module_main.c - where the server enters. */
#include "config.h"
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
    RedisModule_InfoAddFieldULongLong(ctx, "has_bf", module.face[FACE_BF]);
    RedisModule_InfoAddFieldULongLong(ctx, "has_cms", module.face[FACE_CMS]);
    RedisModule_InfoAddFieldULongLong(ctx, "has_topk", module.face[FACE_TOPK]);
}

/* Has another module, loaded before, a command of this name? */
static bool is_taken(RedisModuleCtx *ctx, const char *command) {
    RedisModuleCallReply *reply = RedisModule_Call(ctx, "COMMAND", "cc", "INFO", command);
    RedisModuleCallReply *first = reply ? RedisModule_CallReplyArrayElement(reply, 0) : NULL;
    bool taken = first && RedisModule_CallReplyType(first) != REDISMODULE_REPLY_NULL;
    if (reply) RedisModule_FreeCallReply(reply);
    return taken;
}

/* All names of a family are ours, or none is. */
static bool is_free(RedisModuleCtx *ctx, command_face face) {
    for (const module_command *c = module_commands; c->name; c++)
        if (c->face == face && is_taken(ctx, c->name)) {
            RedisModule_Log(ctx, "notice", "weir: %s belongs to another module and stays so",
                            c->name);
            return false;
        }
    return true;
}

static int register_faces(RedisModuleCtx *ctx) {
    for (command_face face = 0; face < FACE_WEIR && config.redisbloom; face++) {
        module.face[face] = is_free(ctx, face);
        if (module.face[face] && commands_register(ctx, face) != REDISMODULE_OK)
            return REDISMODULE_ERR;
    }
    return REDISMODULE_OK;
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
    RedisModule_SetModuleOptions(ctx, REDISMODULE_OPTIONS_HANDLE_IO_ERRORS |
                                          REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
    if (argc) {
        RedisModule_Log(ctx, "warning",
                        "weir: no arguments are taken; set weir.* in the configuration");
        return REDISMODULE_ERR;
    }
    if (RedisModule_AddACLCategory && RedisModule_AddACLCategory(ctx, "weir") != REDISMODULE_OK)
        return REDISMODULE_ERR;
    if (config_register(ctx) != REDISMODULE_OK || types_register(ctx) != REDISMODULE_OK ||
        commands_register(ctx, FACE_WEIR) != REDISMODULE_OK ||
        register_faces(ctx) != REDISMODULE_OK ||
        RedisModule_RegisterInfoFunc(ctx, info) != REDISMODULE_OK)
        return REDISMODULE_ERR;
    return REDISMODULE_OK;
}
