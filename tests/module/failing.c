/* failing.c - the module with allocations that fail on demand, in it and in the library.
 *
 *   FAIL.AT n   the nth allocation from now on fails; 0: none. Replies how many are left to go of
 *               those before, so 0 says that one failed since.
 *
 * Linked with --wrap (tests/CMakeLists.txt): commands_register() is where the server's functions
 * are known and commands can be made.
 */
#include "failing.h"
#include "table.h"

static void *(*try_alloc)(size_t bytes);
static void *(*try_calloc)(size_t count, size_t size);

static void *failing_alloc(size_t bytes) { return fails_now() ? NULL : try_alloc(bytes); }
static void *failing_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : try_calloc(count, size);
}

static int fail_at(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    long long number = 0;
    if (argc != 2 || RedisModule_StringToLongLong(argv[1], &number) != REDISMODULE_OK)
        return RedisModule_WrongArity(ctx);
    RedisModule_ReplyWithLongLong(ctx, until_failure);
    until_failure = (long)number;
    return REDISMODULE_OK;
}

int __real_commands_register(RedisModuleCtx *ctx, command_face face);
int __wrap_commands_register(RedisModuleCtx *ctx, command_face face);
int __wrap_commands_register(RedisModuleCtx *ctx, command_face face) {
    int status = __real_commands_register(ctx, face);
    if (face != FACE_WEIR || status != REDISMODULE_OK) return status;
    try_alloc = RedisModule_TryAlloc;
    RedisModule_TryAlloc = failing_alloc;
    try_calloc = RedisModule_TryCalloc;
    if (try_calloc) RedisModule_TryCalloc = failing_calloc;
    return RedisModule_CreateCommand(ctx, "FAIL.AT", fail_at, "readonly", 0, 0, 0);
}
