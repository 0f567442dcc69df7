/* cmd_filter.c - commands that add items to filters and ask for them.
 *
 * A verdict is 1 for NEW and 0 for SEEN, in all of them. A filter that forgets by time is told the
 * time by its primary: what is replicated has it as an argument, so that a replica and a reload
 * decide as the primary did.
 */
#include <stdio.h>
#include <string.h>

#include "large.h"

/* --- items ------------------------------------------------------------------------------------ */

/* Options before ITEMS. */
typedef struct {
    bool has_time, has_importance, has_producer;
    int64_t time;
    double importance;
    uint64_t producer;
} with_options;

static bool read_number(arguments *args, const char *word, RedisModuleString **string) {
    return (*string = take_after(args, word)) != NULL;
}

/* False: the reply is given. */
static bool read_with(arguments *args, with_options *with, bool offer) {
    RedisModuleString *s;
    while (args->at < args->argc && !word_is(args->argv[args->at], "ITEMS")) {
        if (read_number(args, "TIME", &s)) {
            with->has_time = true;
            if (integer_of(s, &with->time)) continue;
            reply_error(args->ctx, "ERR TIME must be a whole number of nanoseconds");
        } else if (offer && read_number(args, "IMPORTANCE", &s)) {
            with->has_importance = true;
            if (RedisModule_StringToDouble(s, &with->importance) == REDISMODULE_OK) continue;
            reply_error(args->ctx, "ERR IMPORTANCE must be a number");
        } else if (read_number(args, "PRODUCER", &s)) {
            with->has_producer = true;
            if (whole_of(s, &with->producer)) continue;
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

/* One time, importance and producer for all of them. */
static bool spread(RedisModuleCtx *ctx, key_batch *batch, const with_options *with) {
    if (with->has_time) batch->times = batch_repeat(with->time, batch->count);
    if (with->has_importance) {
        int64_t bits;
        memcpy(&bits, &with->importance, sizeof bits);
        batch->importances = (double *)(void *)batch_repeat(bits, batch->count);
    }
    if (with->has_producer)
        batch->producers = (uint64_t *)(void *)batch_repeat((int64_t)with->producer, batch->count);
    bool good = (!with->has_time || batch->times) &&
                (!with->has_importance || batch->importances) &&
                (!with->has_producer || batch->producers);
    if (!good) reply_no_memory(ctx);
    return good;
}

/* As it was, or with the time that the primary went by. */
static void replicate_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                            const with_options *with, bool said) {
    if (said) RedisModule_ReplicateVerbatim(ctx);
    else if (from == 2)
        RedisModule_Replicate(ctx, "WEIR.ADDWITH", "sclcv", argv[1], "TIME", (long long)with->time,
                              "ITEMS", argv + 2, (size_t)(argc - 2));
    else
        RedisModule_Replicate(ctx, "WEIR.ADDWITH", "sclv", argv[1], "TIME", (long long)with->time,
                              argv + 2, (size_t)(argc - 2));
}

/* Items from argv[from] on. */
static int run_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int from,
                     with_options *with, bool offer) {
    key_handle handle;
    key_batch batch = {0};
    int mode = offer ? REDISMODULE_READ | REDISMODULE_WRITE : REDISMODULE_READ;
    if (!key_need(ctx, argv[1], VALUE_FILTER, mode, &handle)) return REDISMODULE_OK;
    bool said = !handle.value->timed || with->has_time;
    if (!said) {
        with->has_time = true;
        with->time = time_now();
    }
    weir_filter *filter = handle.value->filter;
    bool good = batch_room(ctx, &batch, (size_t)(argc - from)) && spread(ctx, &batch, with);
    if (good) {
        batch_hash(&batch, filter, argv + from);
        if (large_begin(ctx, argv[1], handle.value, &batch, offer, batch_reply)) {
            key_close(&handle);
            return REDISMODULE_OK;
        }
        good = batch_run(ctx, &batch, filter, offer);
    }
    if (good) {
        batch_reply(ctx, &batch);
        if (offer) replicate_items(ctx, argv, argc, from, with, said);
        if (offer) key_changed(ctx, argv[1], "weir.add");
    }
    batch_free(&batch);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_add) { return run_items(ctx, argv, argc, 2, &(with_options){0}, true); }
COMMAND(cmd_test) { return run_items(ctx, argv, argc, 2, &(with_options){0}, false); }

static int run_with(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool offer) {
    with_options with = {0};
    arguments args = {ctx, argv, argc, 2};
    if (!read_with(&args, &with, offer)) return REDISMODULE_OK;
    return run_items(ctx, argv, argc, args.at, &with, offer);
}

COMMAND(cmd_add_with) { return run_with(ctx, argv, argc, true); }
COMMAND(cmd_test_with) { return run_with(ctx, argv, argc, false); }

COMMAND(cmd_remove) {
    key_handle handle;
    key_batch batch = {0};
    weir_error err;
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    if (batch_room(ctx, &batch, (size_t)(argc - 2))) {
        batch_hash(&batch, handle.value->filter, argv + 2);
        weir_batch b = {.count = batch.count, .hashes = batch.hashes};
        if (weir_filter_remove_batch(handle.value->filter, &b, batch.verdicts, &err) != WEIR_OK) {
            reply_failure(ctx, &err);
        } else {
            batch_reply(ctx, &batch); /* here 1 is for one that was taken back */
            RedisModule_ReplicateVerbatim(ctx);
            key_changed(ctx, argv[1], "weir.remove");
        }
    }
    batch_free(&batch);
    key_close(&handle);
    return REDISMODULE_OK;
}
