/* reply.c - replies, and what they need to know of the server. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "module.h"

/* A reply of one line is ended by its line end, so what a user typed must not bring another. */
static void one_line(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ') *text = ' ';
}

int reply_error(RedisModuleCtx *ctx, const char *format, ...) {
    char text[640];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values); /* NOLINT(clang-analyzer-valist*): begun above */
    va_end(values);
    one_line(text);
    return RedisModule_ReplyWithError(ctx, text);
}

int reply_no_memory(RedisModuleCtx *ctx) {
    return reply_error(ctx, "OOM the server gets no memory for that");
}

int reply_failure(RedisModuleCtx *ctx, const weir_error *err) {
    return reply_error(ctx, "%s %s", err->code == WEIR_ERR_MEMORY ? "OOM" : "ERR", err->message);
}

void reply_whole(RedisModuleCtx *ctx, uint64_t number) {
    char text[24];
    if (number <= INT64_MAX) {
        RedisModule_ReplyWithLongLong(ctx, (long long)number);
        return;
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    RedisModule_ReplyWithCString(ctx, text);
}

void reply_field(RedisModuleCtx *ctx, const char *name, const char *text) {
    RedisModule_ReplyWithCString(ctx, name);
    RedisModule_ReplyWithCString(ctx, text);
}

void reply_field_whole(RedisModuleCtx *ctx, const char *name, uint64_t number) {
    RedisModule_ReplyWithCString(ctx, name);
    reply_whole(ctx, number);
}

void reply_field_number(RedisModuleCtx *ctx, const char *name, double number) {
    RedisModule_ReplyWithCString(ctx, name);
    RedisModule_ReplyWithDouble(ctx, number);
}

bool is_decided(RedisModuleCtx *ctx) {
    return RedisModule_GetContextFlags(ctx) &
           (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING);
}

/* Under a policy that evicts, others may go to make room; a value larger than all of it never
 * has any. */
size_t memory_left(RedisModuleCtx *ctx) {
    int failed = 0;
    if (is_decided(ctx)) return SIZE_MAX;
    RedisModuleServerInfoData *info = RedisModule_GetServerInfo(ctx, "memory");
    uint64_t most = RedisModule_ServerInfoGetFieldUnsigned(info, "maxmemory", &failed);
    uint64_t used = RedisModule_ServerInfoGetFieldUnsigned(info, "used_memory", &failed);
    RedisModule_FreeServerInfo(ctx, info);
    if (failed || !most) return SIZE_MAX;
    if (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_EVICT) used = 0;
    return used < most ? most - used : 0;
}

int64_t time_now(void) { return (int64_t)RedisModule_Milliseconds() * 1000000; }
