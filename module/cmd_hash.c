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
    key_source source;
    RedisModuleString *who; /* of a numbered batch, or NULL */
    uint64_t number;
    bool has_seed, has_version, has_epoch;
    uint64_t seed, version, epoch;
} hash_options;

/* --- options: each returns false after the reply was given ------------------------------------ */

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
        o->source.has_time = true;
        return integer_of(s, &o->source.time) ||
               bad(args, "TIME must be a whole number of nanoseconds");
    }
    if ((s = take_after(args, "TIMES"))) return (o->source.times = s) != NULL;
    if ((s = take_after(args, "PRODUCERS"))) return (o->source.producers = s) != NULL;
    if (offer && (s = take_after(args, "IMPORTANCES"))) return (o->source.importances = s) != NULL;
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

static bool read_options(arguments *args, hash_options *o, bool offer) {
    size_t bytes;
    text_of(args->argv[2], &bytes);
    o->source.hashes = args->argv[2];
    o->source.count = bytes / 8;
    if (bytes % 8) return bad(args, "the hashes must be 8 bytes each");
    while (args->at < args->argc)
        if (!read_option(args, o, offer)) return false;
    if (o->who && o->source.count > BATCH_MOST)
        return bad(args, "a batch with a number has at most 65536 keys");
    return length_fits(args->ctx, o->source.times, "TIMES", bytes) &&
           length_fits(args->ctx, o->source.importances, "IMPORTANCES", bytes) &&
           length_fits(args->ctx, o->source.producers, "PRODUCERS", bytes);
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

/* --- the commands ----------------------------------------------------------------------------- */

static void replicate(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool said,
                      int64_t time) {
    if (said) RedisModule_ReplicateVerbatim(ctx);
    else
        RedisModule_Replicate(ctx, "WEIR.ADDHASH", "vcl", argv + 1, (size_t)(argc - 1), "TIME",
                              (long long)time);
}

/* A numbered batch: offered, noted and answered. False: no memory, and nothing was offered. */
static bool offer_numbered(RedisModuleCtx *ctx, weir_value *value, key_batch *batch,
                           const hash_options *o) {
    producer answer = {.number = o->number, .reply_length = (batch->count + 7) / 8};
    size_t length;
    const char *name = text_of(o->who, &length);
    answer.reply = producers_reserve(&value->last, answer.reply_length);
    if (!answer.reply) {
        reply_no_memory(ctx);
        return false;
    }
    batch_run(batch, value->filter, true, UINT64_MAX);
    memcpy(answer.reply, batch->verdicts, answer.reply_length);
    answer.offered = value_offered(value);
    producers_note(value->last, name, length, &answer);
    reply_batch(ctx, batch->verdicts, answer.reply_length, answer.offered);
    return true;
}

/* Offer all of them at once. */
static bool offer_all(RedisModuleCtx *ctx, weir_value *value, key_batch *batch,
                      const hash_options *o) {
    if (o->who) return offer_numbered(ctx, value, batch, o);
    batch_run(batch, value->filter, true, UINT64_MAX);
    batch_reply_bits(ctx, batch);
    return true;
}

static void run(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, weir_value *value,
                bool offer) {
    hash_options o = {0};
    key_batch batch;
    arguments args = {ctx, argv, argc, 3};
    const batch_task task = {.offer = offer, .reply = batch_reply_bits};
    if (!read_options(&args, &o, offer) || !fits(ctx, value, &o)) return;
    if (o.who && batch_answered(ctx, value, o.who, o.number, true)) return;
    bool said = source_said_time(&o.source, value);
    if (!o.who && large_begin(ctx, argv[1], value, &o.source, &task)) return;
    if (!batch_take(ctx, &batch, value->filter, &o.source)) return;
    if (!offer) {
        batch_run(&batch, value->filter, false, UINT64_MAX);
        batch_reply_bits(ctx, &batch);
    } else if (offer_all(ctx, value, &batch, &o)) {
        replicate(ctx, argv, argc, said, o.source.time);
        key_changed(ctx, argv[1], "weir.add");
    }
    batch_free(&batch);
}

COMMAND(cmd_add_hash) {
    key_handle handle;
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    run(ctx, argv, argc, handle.value, true);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cmd_test_hash) {
    key_handle handle;
    if (!key_need(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    run(ctx, argv, argc, handle.value, false);
    key_close(&handle);
    return REDISMODULE_OK;
}
