/* redis_api.c - finds the server's functions by name. */
#include "redis_api.h"

#include <string.h>

#define DEFINE(result, name, arguments) result(*RedisModule_##name) arguments;
REDIS_API_REQUIRED(DEFINE)
REDIS_API_OPTIONAL(DEFINE)

typedef int get_api_fn(const char *name, void *function);

typedef struct {
    const char *name;
    void *function; /* address of the pointer to it */
} wanted;

#define WANTED(result, name, arguments) {"RedisModule_" #name, &RedisModule_##name},
static const wanted required[] = {REDIS_API_REQUIRED(WANTED)};
static const wanted optional[] = {REDIS_API_OPTIONAL(WANTED)};

const char *redis_api_find(RedisModuleCtx *ctx) {
    get_api_fn *get_api;
    memcpy(&get_api, ctx, sizeof get_api); /* the first thing in the context */
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (get_api(required[i].name, required[i].function) != REDISMODULE_OK)
            return required[i].name;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        get_api(optional[i].name, optional[i].function);
    return NULL;
}
