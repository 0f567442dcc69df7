/* open_key.c - from a key's name to what it holds. */
#include "module.h"

static weir_value *ours(RedisModuleKey *key) {
    RedisModuleType *type = RedisModule_ModuleTypeGetType(key);
    bool known = type && (type == module.filter || type == module.sketch || type == module.import);
    return known ? RedisModule_ModuleTypeGetValue(key) : NULL;
}

weir_value *key_value(RedisModuleKey *key, unsigned kinds) {
    weir_value *value = key ? ours(key) : NULL;
    return value && (value->kind & kinds) ? value : NULL;
}

key_state key_open(RedisModuleCtx *ctx, RedisModuleString *name, unsigned kinds, int mode,
                   key_handle *out) {
    *out = (key_handle){.key = RedisModule_OpenKey(ctx, name, mode)};
    if (!out->key || RedisModule_KeyType(out->key) == REDISMODULE_KEYTYPE_EMPTY) return KEY_ABSENT;
    weir_value *value = ours(out->key);
    if (value && (value->kind & kinds)) {
        out->value = value;
        return KEY_FOUND;
    }
    key_close(out);
    RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    return KEY_REFUSED;
}

bool key_vacant(RedisModuleCtx *ctx, RedisModuleString *name, const char *taken, key_handle *out) {
    *out =
        (key_handle){.key = RedisModule_OpenKey(ctx, name, REDISMODULE_READ | REDISMODULE_WRITE)};
    if (RedisModule_KeyType(out->key) == REDISMODULE_KEYTYPE_EMPTY) return true;
    key_close(out);
    reply_error(ctx, "%s", taken);
    return false;
}

void key_close(key_handle *handle) {
    if (handle->key) RedisModule_CloseKey(handle->key);
    *handle = (key_handle){0};
}

bool key_need(RedisModuleCtx *ctx, RedisModuleString *name, unsigned kinds, int mode,
              key_handle *out) {
    key_state state = key_open(ctx, name, kinds, mode, out);
    if (state == KEY_ABSENT) {
        key_close(out);
        reply_error(ctx, "WEIRMISSING no such key");
    }
    return state == KEY_FOUND;
}

void key_set(key_handle *handle, weir_value *value) {
    RedisModule_ModuleTypeSetValue(handle->key, type_of(value), value);
    handle->value = value;
}

/* To those who watch the key, or keep what they read of it, and to those who listen to events. */
static void tell(RedisModuleCtx *ctx, RedisModuleString *name, int type, const char *event) {
    RedisModule_SignalModifiedKey(ctx, name);
    RedisModule_NotifyKeyspaceEvent(ctx, type, event, name);
}

void key_drop(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle) {
    RedisModule_DeleteKey(handle->key);
    handle->value = NULL;
    RedisModule_Replicate(ctx, "DEL", "s", name);
    tell(ctx, name, REDISMODULE_NOTIFY_GENERIC, "del");
}

void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event) {
    tell(ctx, name, REDISMODULE_NOTIFY_MODULE, event);
}
