/* cmd_hash.c - WEIR.ADDHASH and WEIR.TESTHASH: many keys in one argument, a bitmap back.
 *
 * The client hashes with the seed of the filter, so 8 bytes a key go one way and one bit comes
 * back. It says which seed, version of the hash functions and epoch it goes by, and nothing happens
 * where these are not the value's.
 */
#include <inttypes.h>
#include <string.h>

#include "key_batch.h"
#include "large.h"

typedef struct {
    RedisModuleString *times, *importances, *producers, *who;
    bool has_time, has_epoch;
    int64_t time;
    uint64_t seed, version, epoch, number;
    bool has_seed, has_version;
} hash_options;

/* --- options: each returns false after the reply was given ----------------------------------- */

static bool bad(arguments *args, const char *message) {
    reply_error(args->ctx, "ERR %s", message);
    return false;
}

static bool read_batch(arguments *args, hash_options *o) {
    size_t length;
    if (args->argc - args->at < 2) return bad(args, "BATCH needs a producer and a number");
    o->who = args->argv[args->at++];
    text_of(o->who, &length);
    if (length < 1 || length > PRODUCER_NAME_MOST)
        return bad(args, "the name of a producer has 1 to 64 bytes");
    return whole_of(args->argv[args->at++], &o->number) ||
           bad(args, "the number of a batch must be a whole number from 0");
}

static bool read_option(arguments *args, hash_options *o, bool offer) {
    RedisModuleString *s;
    if ((s = take_after(args, "SEED"))) {
        o->has_seed = true;
        return whole_of(s, &o->seed) || bad(args, "SEED must be a whole number");
    }
    if ((s = take_after(args, "HASHVERSION"))) {
        o->has_version = true;
        return whole_of(s, &o->version) || bad(args, "HASHVERSION must be a whole number");
    }
    if ((s = take_after(args, "EPOCH"))) {
        o->has_epoch = true;
        return hex_of(s, &o->epoch) || bad(args, "EPOCH must be up to 16 hexadecimal digits");
    }
    if ((s = take_after(args, "TIME"))) {
        o->has_time = true;
        return integer_of(s, &o->time) || bad(args, "TIME must be a whole number of nanoseconds");
    }
    if ((s = take_after(args, "TIMES"))) return (o->times = s) != NULL;
    if ((s = take_after(args, "PRODUCERS"))) return (o->producers = s) != NULL;
    if (offer && (s = take_after(args, "IMPORTANCES"))) return (o->importances = s) != NULL;
    if (offer && take_word(args, "BATCH")) return read_batch(args, o);
    reply_unknown_word(args);
    return false;
}

static bool length_fits(RedisModuleCtx *ctx, const RedisModuleString *string, const char *what,
                        size_t wanted) {
    size_t length;
    if (!string) return true;
    text_of(string, &length);
    if (length == wanted) return true;
    reply_error(ctx, "ERR %s has %zu bytes, the hashes have %zu", what, length, wanted);
    return false;
}

static bool read_options(arguments *args, hash_options *o, size_t *bytes, bool offer) {
    text_of(args->argv[2], bytes);
    if (*bytes % 8) return bad(args, "the hashes must be 8 bytes each");
    while (args->at < args->argc)
        if (!read_option(args, o, offer)) return false;
    if (o->who && *bytes / 8 > BATCH_MOST)
        return bad(args, "a batch with a number has at most 65536 keys");
    return length_fits(args->ctx, o->times, "TIMES", *bytes) &&
           length_fits(args->ctx, o->importances, "IMPORTANCES", *bytes) &&
           length_fits(args->ctx, o->producers, "PRODUCERS", *bytes);
}

/* --- is it the filter that the client means? -------------------------------------------------- */

static bool fits(RedisModuleCtx *ctx, const weir_value *value, const hash_options *o) {
    if (o->has_epoch && o->epoch != value->epoch) {
        reply_error(ctx, "WEIREPOCH %016" PRIx64 " is the epoch of the key, not %016" PRIx64,
                    value->epoch, o->epoch);
    } else if (o->has_version && o->version != WEIR_HASH_VERSION) {
        reply_error(ctx, "WEIRSEED the server hashes by version %d, not %" PRIu64,
                    WEIR_HASH_VERSION, o->version);
    } else if (o->has_seed && o->seed != value->seed) {
        reply_error(ctx, "WEIRSEED the seed of the key is %" PRIu64 ", not %" PRIu64, value->seed,
                    o->seed);
    } else {
        return true;
    }
    return false;
}

/* --- numbered batches ------------------------------------------------------------------------- */

static void reply_batch(RedisModuleCtx *ctx, const void *bitmap, size_t length, uint64_t offered) {
    RedisModule_ReplyWithArray(ctx, 2);
    RedisModule_ReplyWithStringBuffer(ctx, bitmap, length);
    reply_whole(ctx, offered);
}

bool batch_answered(RedisModuleCtx *ctx, const weir_value *value, const RedisModuleString *who,
                    uint64_t number, bool bitmap) {
    size_t length;
    const char *name = text_of(who, &length);
    const producer *last = producers_find(value->last, name, length);
    if (!last || last->number < number) return false;
    if (last->number > number)
        reply_error(ctx, "WEIRSTALE the last batch of this producer is %" PRIu64, last->number);
    else if (bitmap) reply_batch(ctx, last->reply, last->reply_length, last->offered);
    else reply_whole(ctx, last->offered);
    return true;
}

/* --- the commands ------------------------------------------------------------------------------
 */

static bool copy_part(void *out, const RedisModuleString *string) {
    size_t length;
    if (!string) return true;
    const char *bytes = text_of(string, &length);
    void *copy = batch_copy(bytes, length);
    memcpy(out, &copy, sizeof copy);
    return copy != NULL;
}

/* Copies are aligned; a string of the server need not be. */
static bool fill(RedisModuleCtx *ctx, key_batch *batch, RedisModuleString *hashes, size_t bytes,
                 const hash_options *o) {
    if (!batch_room(ctx, batch, bytes / 8)) return false;
    if (bytes) memcpy(batch->hashes, text_of(hashes, &bytes), bytes);
    bool good = copy_part(&batch->importances, o->importances) &&
                copy_part(&batch->producers, o->producers) && copy_part(&batch->times, o->times);
    if (good && o->has_time && !batch->times)
        good = (batch->times = batch_repeat(o->time, batch->count)) != NULL;
    if (!good) reply_no_memory(ctx);
    return good;
}

static void replicate(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool said,
                      int64_t time) {
    if (said) RedisModule_ReplicateVerbatim(ctx);
    else
        RedisModule_Replicate(ctx, "WEIR.ADDHASH", "vcl", argv + 1, (size_t)(argc - 1), "TIME",
                              (long long)time);
}

static void reply_bitmap(RedisModuleCtx *ctx, const key_batch *batch) {
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)batch->verdicts, (batch->count + 7) / 8);
}

/* Offer all of them at once. */
static void offer(RedisModuleCtx *ctx, weir_value *value, key_batch *batch, const hash_options *o,
                  RedisModuleString **argv, int argc, bool said) {
    producer *who = NULL;
    size_t length;
    if (o->who) {
        const char *name = text_of(o->who, &length);
        who = producers_prepare(&value->last, name, length, (batch->count + 7) / 8);
        if (!who) {
            reply_no_memory(ctx);
            return;
        }
    }
    if (!batch_run(ctx, batch, value->filter, true)) return;
    if (who) {
        producers_note(value->last, who, o->number, value_offered(value), batch->verdicts);
        reply_batch(ctx, batch->verdicts, (batch->count + 7) / 8, who->offered);
    } else {
        reply_bitmap(ctx, batch);
    }
    replicate(ctx, argv, argc, said, o->time);
    key_changed(ctx, argv[1], "weir.add");
}

static void run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, key_handle *handle,
                bool offering) {
    weir_value *value = handle->value;
    hash_options o = {0};
    key_batch batch = {0};
    size_t bytes;
    arguments args = {ctx, argv, argc, 3};
    if (!read_options(&args, &o, &bytes, offering) || !fits(ctx, value, &o)) return;
    if (o.who && batch_answered(ctx, value, o.who, o.number, true)) return;
    bool said = !value->timed || o.times || o.has_time;
    if (!said) {
        o.has_time = true;
        o.time = time_now();
    }
    if (fill(ctx, &batch, argv[2], bytes, &o)) {
        if (!o.who && large_begin(ctx, argv[1], value, &batch, offering, reply_bitmap)) return;
        if (offering) offer(ctx, value, &batch, &o, argv, argc, said);
        else if (batch_run(ctx, &batch, value->filter, false)) reply_bitmap(ctx, &batch);
    }
    batch_free(&batch);
}

COMMAND(cmd_add_hash) {
    key_handle handle;
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    run(ctx, argv, argc, &handle, true);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_test_hash) {
    key_handle handle;
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    run(ctx, argv, argc, &handle, false);
    key_close(&handle);
    return REDISMODULE_OK;
}
