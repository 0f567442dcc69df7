/* cmd_sketch.c - questions to sketches.
 *
 * An estimate is three numbers: the value, and the ends of the interval that holds the truth with
 * a chance of 99% at least.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "item_run.h"

enum { TOP_STANDARD = 10, TOP_MOST = 1000000 };

/* --- estimates -------------------------------------------------------------------------------- */

static void reply_estimate(RedisModuleCtx *ctx, const weir_estimate *e) {
    RedisModule_ReplyWithArray(ctx, 3);
    RedisModule_ReplyWithDouble(ctx, e->value);
    RedisModule_ReplyWithDouble(ctx, e->low);
    RedisModule_ReplyWithDouble(ctx, e->high);
}

static const struct {
    const char *name;
    weir_estimator by;
} estimators[] = {{"auto", WEIR_BY_AUTO},
                  {"cm", WEIR_BY_CM},
                  {"cmm", WEIR_BY_CMM},
                  {"mean", WEIR_BY_CMM_MEAN},
                  {"agms", WEIR_BY_AUTO}};

/* BY and a word, if they are next. False: the reply is given. */
static bool read_by(arguments *args, weir_estimator *by) {
    RedisModuleString *word = take_after(args, "BY");
    *by = WEIR_BY_AUTO;
    if (!word) return true;
    for (size_t i = 0; i < sizeof estimators / sizeof *estimators; i++) {
        if (!word_is(word, estimators[i].name)) continue;
        *by = estimators[i].by;
        return true;
    }
    reply_error(args->ctx, "ERR BY takes auto, cm, cmm, mean or agms");
    return false;
}

/* A sketch for a question. */
static bool open_sketch(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle) {
    return key_need(ctx, name, VALUE_SKETCH, REDISMODULE_READ, handle);
}

static void finish_estimate(RedisModuleCtx *ctx, weir_status status, const weir_estimate *e,
                            const weir_error *err) {
    if (status == WEIR_OK) reply_estimate(ctx, e);
    else reply_failure(ctx, err);
}

static item_outcome ask_estimate(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    weir_status status =
        weir_sketch_estimate_hash(value->sketch, hash, run->by, answer_at(run, i), &run->refused);
    return status == WEIR_OK ? ITEM_DONE : ITEM_REFUSED;
}

/* One estimate is not in an array of its own. */
static bool begin_estimates(RedisModuleCtx *ctx, const item_run *run) {
    return !run->stopped && run->count == 1 ? true : reply_array(ctx, run);
}

static void reply_one_estimate(RedisModuleCtx *ctx, const item_run *run, const void *answer) {
    (void)run;
    reply_estimate(ctx, answer);
}

COMMAND(cmd_estimate) {
    static const item_task task = {.step = 1,
                                   .answer_size = sizeof(weir_estimate),
                                   .each = ask_estimate,
                                   .begin_reply = begin_estimates,
                                   .reply = reply_one_estimate};
    key_handle handle;
    item_run run = {.task = &task, .by = WEIR_BY_AUTO};
    arguments args = {ctx, argv, argc, 2};
    if (argc > 4 && !read_by(&args, &run.by)) return REDISMODULE_OK; /* else `BY` is an item */
    if (!open_sketch(ctx, argv[1], &handle)) return REDISMODULE_OK;
    run.strings = argv + args.at;
    run.count = (size_t)(argc - args.at);
    item_run_start(ctx, argv[1], handle.value, &run);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_distinct) {
    (void)argc;
    key_handle handle;
    weir_estimate e;
    weir_error err = {0};
    if (!open_sketch(ctx, argv[1], &handle)) return REDISMODULE_OK;
    weir_status status = weir_sketch_distinct(handle.value->sketch, &e, &err);
    finish_estimate(ctx, status, &e, &err);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_self_join) {
    key_handle handle;
    weir_estimate e;
    weir_estimator by;
    weir_error err = {0};
    arguments args = {ctx, argv, argc, 2};
    if (!read_by(&args, &by)) return REDISMODULE_OK;
    if (args.at < argc) return reply_unknown_word(&args);
    if (!open_sketch(ctx, argv[1], &handle)) return REDISMODULE_OK;
    weir_status status = weir_sketch_self_join(handle.value->sketch, by, &e, &err);
    finish_estimate(ctx, status, &e, &err);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_join) {
    key_handle one, other;
    weir_estimate e;
    weir_estimator by;
    weir_error err = {0};
    arguments args = {ctx, argv, argc, 3};
    if (!read_by(&args, &by)) return REDISMODULE_OK;
    if (args.at < argc) return reply_unknown_word(&args);
    if (!open_sketch(ctx, argv[1], &one)) return REDISMODULE_OK;
    if (open_sketch(ctx, argv[2], &other)) {
        weir_status status = weir_sketch_join(one.value->sketch, other.value->sketch, by, &e, &err);
        finish_estimate(ctx, status, &e, &err);
        key_close(&other);
    }
    key_close(&one);
    return REDISMODULE_OK;
}

/* --- quantiles -------------------------------------------------------------------------------- */

static void reply_quantile(RedisModuleCtx *ctx, const weir_quantile *q) {
    const double decimals[3] = {q->decimal, q->decimal_low, q->decimal_high};
    const int64_t wholes[3] = {q->value, q->low, q->high};
    RedisModule_ReplyWithArray(ctx, 3);
    for (size_t i = 0; i < 3; i++) {
        if (q->is_decimal) RedisModule_ReplyWithDouble(ctx, decimals[i]);
        else RedisModule_ReplyWithLongLong(ctx, wholes[i]);
    }
}

COMMAND(cmd_quantile) {
    key_handle handle;
    weir_error err = {0};
    double share;
    for (int i = 2; i < argc; i++)
        if (RedisModule_StringToDouble(argv[i], &share) != REDISMODULE_OK ||
            !(share >= 0 && share <= 1))
            return reply_error(ctx, "ERR a share must be a number from 0 to 1");
    if (!open_sketch(ctx, argv[1], &handle)) return REDISMODULE_OK;
    size_t count = (size_t)(argc - 2);
    weir_quantile *q = RedisModule_TryAlloc(count * sizeof *q);
    weir_status status = q ? WEIR_OK : WEIR_ERR_MEMORY;
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        RedisModule_StringToDouble(argv[2 + i], &share);
        status = weir_sketch_quantile(handle.value->sketch, share, &q[i], &err);
    }
    if (!q) reply_no_memory(ctx);
    else if (status != WEIR_OK) reply_failure(ctx, &err);
    else if (count > 1) RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) reply_quantile(ctx, &q[i]);
    RedisModule_Free(q);
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- the most frequent ------------------------------------------------------------------------ */

static void reply_items(RedisModuleCtx *ctx, const weir_items *top) {
    RedisModule_ReplyWithArray(ctx, (long)top->found);
    for (size_t i = 0; i < top->found; i++) {
        const weir_item *item = &top->items[i];
        RedisModule_ReplyWithArray(ctx, 4);
        RedisModule_ReplyWithStringBuffer(ctx, item->key, item->length);
        RedisModule_ReplyWithDouble(ctx, item->count.value);
        RedisModule_ReplyWithDouble(ctx, item->count.low);
        RedisModule_ReplyWithDouble(ctx, item->count.high);
    }
}

COMMAND(cmd_top) {
    key_handle handle;
    weir_error err = {0};
    weir_estimator by;
    uint64_t most = TOP_STANDARD;
    arguments args = {ctx, argv, argc, 2};
    if (argc > 2 && !word_is(argv[2], "BY") &&
        (!whole_of(argv[args.at++], &most) || most < 1 || most > TOP_MOST))
        return reply_error(ctx, "ERR the number of items must be from 1 to %d", TOP_MOST);
    if (!read_by(&args, &by)) return REDISMODULE_OK;
    if (args.at < argc) return reply_unknown_word(&args);
    if (!open_sketch(ctx, argv[1], &handle)) return REDISMODULE_OK;
    weir_items top = {.items = RedisModule_TryAlloc(most * sizeof *top.items), .room = most};
    if (!top.items) reply_no_memory(ctx);
    else if (weir_sketch_top(handle.value->sketch, by, &top, &err) != WEIR_OK)
        reply_failure(ctx, &err);
    else reply_items(ctx, &top);
    RedisModule_Free(top.items);
    key_close(&handle);
    return REDISMODULE_OK;
}
