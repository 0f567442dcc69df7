/* cmd_sketch_count.c - WEIR.COUNT and COUNTWITH: items with weights into a sketch.
 *
 * Items are counted one after the other; where one is refused those before it are in, here and on
 * replicas.
 */
#include <math.h>

#include "item_run.h"

/* A weight is whole, or a number with a fraction for sketches that count such. */
static item_outcome count_one(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    int64_t whole;
    double fraction;
    weir_updates update = {0};
    if (integer_of(weight_at(run, i), &whole)) update.weights = &whole;
    else if (RedisModule_StringToDouble(weight_at(run, i), &fraction) == REDISMODULE_OK)
        update.fractions = &fraction;
    return item_count(run, value, i, hash, &update) ? ITEM_DONE : ITEM_REFUSED;
}

static bool reply_counted(RedisModuleCtx *ctx, const item_run *run) {
    if (!run->stopped) RedisModule_ReplyWithSimpleString(ctx, "OK");
    else
        reply_error(ctx, "ERR %s (%zu items before it were counted)", run->refused.message,
                    run->done);
    return false;
}

static bool is_weight(const RedisModuleString *text) {
    int64_t whole;
    double number;
    return integer_of(text, &whole) ||
           (RedisModule_StringToDouble(text, &number) == REDISMODULE_OK && isfinite(number));
}

static bool weights_are_numbers(RedisModuleCtx *ctx, RedisModuleString **pairs, int count) {
    for (int i = 1; i < count; i += 2) {
        if (is_weight(pairs[i])) continue;
        reply_error(ctx, "ERR a weight must be a number");
        return false;
    }
    return true;
}

/* Pairs from argv[from] on. */
static int run_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                     const int64_t *time) {
    static const item_task task = {
        .counts = true, .step = 2, .each = count_one, .begin_reply = reply_counted};
    key_handle handle;
    item_run run = {.task = &task, .strings = argv + from, .count = (size_t)(argc - from) / 2};
    if ((argc - from) % 2) return reply_error(ctx, "ERR each item needs a weight");
    if (!weights_are_numbers(ctx, argv + from, argc - from)) return REDISMODULE_OK;
    if (!key_need(ctx, argv[1], VALUE_SKETCH, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    run.has_time = time || handle.value->timed;
    run.time = time ? *time : time_now();
    item_run_start(ctx, argv[1], handle.value, &run);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_count) { return run_count(ctx, argv, argc, 2, NULL); }

COMMAND(cmd_count_with) {
    int64_t time;
    arguments args = {ctx, argv, argc, 2};
    RedisModuleString *given = take_after(&args, "TIME");
    if (given && !integer_of(given, &time))
        return reply_error(ctx, "ERR TIME must be a whole number of nanoseconds");
    if (!take_word(&args, "ITEMS")) return reply_unknown_word(&args);
    if (args.at >= argc) return reply_error(ctx, "ERR ITEMS needs an item and a weight");
    return run_count(ctx, argv, argc, args.at, given ? &time : NULL);
}
