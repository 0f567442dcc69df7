/* cmd_sketch_count.c - WEIR.COUNT and COUNTWITH: items with weights into a sketch.
 *
 * Items are counted one after the other; where one is refused those before it are in, here and on
 * replicas. Many of them are counted in turns (turns.h), each stretch replicated as a command of
 * its own.
 */
#include <math.h>

#include "turns.h"

enum {
    LARGE_LEAST = 4096, /* strings, two to an item: fewer take two milliseconds at most */
    STRETCH = 512       /* strings: a quarter of a millisecond, or less */
};

/* What is to be counted: pairs of item and weight. */
typedef struct {
    RedisModuleString **pairs;
    size_t count, done; /* strings */
    bool has_time;
    int64_t time;
    weir_error refused; /* has a code: the pair at `done` was */
} counting;

/* A weight is whole, or a number with a fraction for sketches that count such. */
static bool add_one(weir_sketch *sketch, RedisModuleString *item, RedisModuleString *weight,
                    const int64_t *time, weir_error *err) {
    size_t length;
    const char *key = text_of(item, &length);
    int64_t whole;
    double fraction;
    weir_updates update = {.times = time};
    if (integer_of(weight, &whole)) update.weights = &whole;
    else if (RedisModule_StringToDouble(weight, &fraction) == REDISMODULE_OK)
        update.fractions = &fraction;
    return weir_sketch_add_key(sketch, key, length, &update, err) == WEIR_OK;
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

void replicate_pairs(RedisModuleCtx *ctx, RedisModuleString *key, const int64_t *time,
                     RedisModuleString **pairs, size_t count) {
    if (time)
        RedisModule_Replicate(ctx, "WEIR.COUNTWITH", "sclcv", key, "TIME", (long long)*time,
                              "ITEMS", pairs, count);
    else RedisModule_Replicate(ctx, "WEIR.COUNT", "sv", key, pairs, count);
}

static bool is_done(const void *work) {
    const counting *c = work;
    return c->refused.code || c->done == c->count;
}

/* At most so many strings more. True: something was counted. */
static bool count_some(RedisModuleCtx *ctx, counting *c, size_t most, RedisModuleString *key,
                       const weir_value *value) {
    size_t from = c->done, end = c->count - from < most ? c->count : from + most;
    const int64_t *at = c->has_time ? &c->time : NULL;
    while (c->done < end &&
           add_one(value->sketch, c->pairs[c->done], c->pairs[c->done + 1], at, &c->refused))
        c->done += 2;
    if (c->done == from) return false;
    replicate_pairs(ctx, key, at, c->pairs + from, c->done - from);
    return true;
}

static void reply_counted(RedisModuleCtx *ctx, const void *work) {
    const counting *c = work;
    if (!c->refused.code) RedisModule_ReplyWithSimpleString(ctx, "OK");
    else
        reply_error(ctx, "ERR %s (%zu items before it were counted)", c->refused.message,
                    c->done / 2);
}

/* --- many ------------------------------------------------------------------------------------- */

static bool stretch(RedisModuleCtx *ctx, void *work, RedisModuleString *key, weir_value *value) {
    counting *c = work;
    size_t from = c->done;
    bool counted = count_some(ctx, c, STRETCH, key, value);
    for (size_t i = from; i < c->done; i++) RedisModule_FreeString(NULL, c->pairs[i]);
    return counted;
}

static void release(void *work) {
    counting *c = work;
    for (size_t i = c->done; i < c->count; i++) RedisModule_FreeString(NULL, c->pairs[i]);
    RedisModule_Free(c->pairs);
    RedisModule_Free(c);
}

/* The same, with strings that live on when the command is over; NULL: no memory. */
static counting *take_over(const counting *c) {
    counting *own = RedisModule_TryAlloc(sizeof *own);
    RedisModuleString **pairs = RedisModule_TryAlloc(c->count * sizeof(void *));
    if (!own || !pairs) {
        RedisModule_Free(own);
        RedisModule_Free(pairs);
        return NULL;
    }
    *own = *c;
    own->pairs = pairs;
    for (size_t i = 0; i < c->count; i++) {
        pairs[i] = c->pairs[i];
        RedisModule_RetainString(NULL, pairs[i]);
    }
    return own;
}

/* False: they are to be counted at once. */
static bool begin_many(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                       const counting *c) {
    static const turn_task turns = {.kind = VALUE_SKETCH,
                                    .event = "weir.count",
                                    .stretch = stretch,
                                    .is_done = is_done,
                                    .reply = reply_counted,
                                    .release = release};
    if (c->count < LARGE_LEAST || !turns_possible(ctx)) return false;
    counting *own = take_over(c);
    if (!own) return false;
    if (turns_begin(ctx, key, value, &turns, own)) return true;
    release(own);
    return false;
}

/* --- the commands ----------------------------------------------------------------------------- */

/* Pairs from argv[from] on. */
static int run_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                     const int64_t *time) {
    key_handle handle;
    counting c = {.pairs = argv + from, .count = (size_t)(argc - from)};
    if (c.count % 2) return reply_error(ctx, "ERR each item needs a weight");
    if (!weights_are_numbers(ctx, argv + from, argc - from)) return REDISMODULE_OK;
    if (!key_need(ctx, argv[1], VALUE_SKETCH, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    c.has_time = time || handle.value->timed;
    c.time = time ? *time : time_now();
    if (!begin_many(ctx, argv[1], handle.value, &c)) {
        if (count_some(ctx, &c, c.count, argv[1], handle.value))
            key_changed(ctx, argv[1], "weir.count");
        reply_counted(ctx, &c);
    }
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

/* --- for the names of RedisBloom -------------------------------------------------------------- */

bool count_item(weir_value *value, RedisModuleString *item, int64_t weight, const int64_t *time,
                weir_error *err) {
    size_t length;
    const char *key = text_of(item, &length);
    weir_updates update = {.weights = &weight, .times = time};
    return weir_sketch_add_key(value->sketch, key, length, &update, err) == WEIR_OK;
}
