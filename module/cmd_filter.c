/* cmd_filter.c - commands that add items to filters and ask for them.
 *
 * A verdict is 1 for NEW and 0 for SEEN, in all of them. A filter that forgets by time is told the
 * time by its primary: what is replicated has it as an argument, so that a replica and a reload
 * decide as the primary did.
 */
#include "large.h"

/* --- items ------------------------------------------------------------------------------------ */

static bool read_number(arguments *args, const char *word, RedisModuleString **string) {
    return (*string = take_after(args, word)) != NULL;
}

/* Options before ITEMS. False: the reply is given. */
static bool read_with(arguments *args, key_source *source, bool offer) {
    RedisModuleString *s;
    while (args->at < args->argc && !word_is(args->argv[args->at], "ITEMS")) {
        if (read_number(args, "TIME", &s)) {
            source->has_time = true;
            if (integer_of(s, &source->time)) continue;
            reply_error(args->ctx, "ERR TIME must be a whole number of nanoseconds");
        } else if (offer && read_number(args, "IMPORTANCE", &s)) {
            source->has_importance = true;
            if (RedisModule_StringToDouble(s, &source->importance) == REDISMODULE_OK) continue;
            reply_error(args->ctx, "ERR IMPORTANCE must be a number");
        } else if (read_number(args, "PRODUCER", &s)) {
            source->has_producer = true;
            if (whole_of(s, &source->producer)) continue;
            reply_error(args->ctx, "ERR PRODUCER must be a whole number from 0");
        } else {
            reply_unknown_word(args);
        }
        return false;
    }
    if (args->at + 1 < args->argc) {
        args->at++;
        return true;
    }
    reply_error(args->ctx, "ERR syntax error: ITEMS and at least one item are needed");
    return false;
}

/* As it was, or with the time that the primary went by. */
static void replicate_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                            const key_source *source, bool said) {
    if (said) RedisModule_ReplicateVerbatim(ctx);
    else if (from == 2)
        RedisModule_Replicate(ctx, "WEIR.ADDWITH", "sclcv", argv[1], "TIME",
                              (long long)source->time, "ITEMS", argv + 2, (size_t)(argc - 2));
    else
        RedisModule_Replicate(ctx, "WEIR.ADDWITH", "sclv", argv[1], "TIME", (long long)source->time,
                              argv + 2, (size_t)(argc - 2));
}

/* Items from argv[from] on. */
static int run_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                     key_source *source, bool offer) {
    key_handle handle;
    key_batch batch;
    const batch_task task = {.offer = offer, .reply = batch_reply};
    int mode = offer ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ;
    if (!key_need(ctx, argv[1], VALUE_FILTER, mode, &handle)) return REDISMODULE_OK;
    weir_value *value = handle.value;
    bool said = source_said_time(source, value);
    source->items = argv + from;
    source->count = (size_t)(argc - from);
    if (!large_begin(ctx, argv[1], value, source, &task) &&
        batch_take(ctx, &batch, value->filter, source)) {
        batch_run(&batch, value->filter, offer, UINT64_MAX);
        batch_reply(ctx, &batch);
        if (offer) replicate_items(ctx, argv, argc, from, source, said);
        if (offer) key_changed(ctx, argv[1], "weir.add");
        batch_free(&batch);
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_add) { return run_items(ctx, argv, argc, 2, &(key_source){0}, true); }
COMMAND(cmd_test) { return run_items(ctx, argv, argc, 2, &(key_source){0}, false); }

static int run_with(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool offer) {
    key_source source = {0};
    arguments args = {ctx, argv, argc, 2};
    if (!read_with(&args, &source, offer)) return REDISMODULE_OK;
    return run_items(ctx, argv, argc, args.at, &source, offer);
}

COMMAND(cmd_add_with) { return run_with(ctx, argv, argc, true); }
COMMAND(cmd_test_with) { return run_with(ctx, argv, argc, false); }

static void remove_all(RedisModuleCtx *ctx, RedisModuleString *key, weir_filter *filter,
                       const key_source *source) {
    key_batch batch;
    if (!batch_take(ctx, &batch, filter, source)) return;
    weir_batch b = {.count = batch.count, .hashes = batch.hashes};
    weir_filter_remove_batch(filter, &b, batch.verdicts, NULL);
    batch_reply(ctx, &batch); /* here 1 is for one that was taken back */
    RedisModule_ReplicateVerbatim(ctx);
    key_changed(ctx, key, "weir.remove");
    batch_free(&batch);
}

COMMAND(cmd_remove) {
    key_handle handle;
    weir_error err;
    uint64_t none;
    const key_source source = {.items = argv + 2, .count = (size_t)(argc - 2)};
    const batch_task task = {.remove = true, .reply = batch_reply};
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    weir_filter *filter = handle.value->filter;
    if (weir_filter_remove_batch(filter, &(weir_batch){0}, &none, &err) != WEIR_OK)
        reply_failure(ctx, &err); /* this filter cannot: also not of no items */
    else if (!large_begin(ctx, argv[1], handle.value, &source, &task))
        remove_all(ctx, argv[1], filter, &source);
    key_close(&handle);
    return REDISMODULE_OK;
}
