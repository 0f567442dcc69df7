/* key_batch.h - keys by the hundred: what WEIR.ADD, ADDHASH and BF.MADD have in common. */
#ifndef WEIR_MODULE_KEY_BATCH_H
#define WEIR_MODULE_KEY_BATCH_H

#include "module.h"

enum {
    BATCH_MOST = 65536, /* keys of a numbered batch */
    BATCH_FEW = 65      /* words that need no memory of their own: 64 hashes and their verdicts */
};

/* Where the keys of a command are: in items, or in blobs of 8 bytes a key. Strings are the
 * command's. */
typedef struct {
    size_t count;
    RedisModuleString **items;                                   /* or NULL: there are hashes */
    RedisModuleString *hashes, *times, *importances, *producers; /* blobs, or NULL */
    bool has_time, has_importance, has_producer;                 /* one for all keys: */
    int64_t time;
    double importance;
    uint64_t producer;
} key_source;

/* Keys on their way to a filter. */
typedef struct {
    size_t count;
    bool full; /* a new key had no room: `count` are those before it */
    uint64_t *hashes, *verdicts;
    int64_t *times;      /* or NULL */
    double *importances; /* or NULL */
    uint64_t *producers; /* or NULL */
    uint64_t *memory;    /* of all these, or NULL: they stand in `few` */
    uint64_t few[BATCH_FEW];
} key_batch;

/* A filter with a window of time has to be told the time. Is it in the command? If not, it is now
 * from here on. */
bool source_said_time(key_source *source, const weir_value *value);

/* Room for `most` keys of a source at a time; false: no memory. */
bool batch_room(key_batch *batch, const key_source *source, size_t most);
void batch_free(key_batch *batch);

/* The keys from number `from` on, which there must be room for. Items are hashed. */
void batch_fill(key_batch *batch, const weir_filter *filter, const key_source *source, size_t from,
                size_t count);

/* Both, for all keys of a source. False: no memory, and the reply is given. */
bool batch_take(RedisModuleCtx *ctx, key_batch *batch, const weir_filter *filter,
                const key_source *source);

/* Offer or test. verdicts: 1 for NEW, the rest of the last word 0. Of new keys `room` are offered;
 * where one more comes the batch ends before it, and is `full`. (Sites of a filter in a key are
 * never lost, so no batch is stopped.) */
void batch_run(key_batch *batch, weir_filter *filter, bool offer, uint64_t room);

static inline bool batch_is_new(const key_batch *batch, size_t i) {
    return batch->verdicts[i / 64] >> (i % 64) & 1;
}

/* One number, or an array of them; the verdicts as a bitmap. */
void batch_reply(RedisModuleCtx *ctx, const key_batch *batch);
void batch_reply_bits(RedisModuleCtx *ctx, const key_batch *batch);

/* Was this numbered batch answered before? True: the reply was given, that of then or an error.
 * bitmap: the reply has the verdicts, too. */
bool batch_answered(RedisModuleCtx *ctx, const weir_value *value, const RedisModuleString *who,
                    uint64_t number, bool bitmap);

#endif
