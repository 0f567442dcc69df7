/* cmd_state.c - values as bytes: WEIR.EXPORT, IMPORT, ABSORB and MERGE.
 *
 * An export of more than one chunk is made once, as a copy that waits at the value, so that its
 * chunks fit together whatever comes in meanwhile; a copy that nobody asks for goes after a minute.
 * Its cursors hold a number of the copy, too, so that of two exports of one key the older one is
 * told to begin again. An import collects its chunks at the key, as a value of its own kind that
 * is saved and replicated like any other, and becomes the filter or sketch with the last one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "key_batch.h"

enum { CHUNK_STANDARD = 1 << 20, PATIENCE = 60000 /* milliseconds */ };

#define CHUNK_MOST (UINT64_C(64) << 20)
#define CURSOR_UNIT (UINT64_C(1) << 40) /* cursor = number of the copy x unit + offset */
#define CURSOR_COPIES 8191 /* so that cursors stay below 2^53: some clients have doubles */

/* --- WEIR.EXPORT ------------------------------------------------------------------------------ */

typedef struct {
    value_buffer *buffer;
    size_t most;
    bool full;
} buffer_writer;

static bool write_buffer(void *context, const void *bytes, size_t length) {
    buffer_writer *w = context;
    w->full = w->buffer->length + length > w->most;
    return !w->full && buffer_append(w->buffer, bytes, length);
}

typedef struct {
    RedisModuleString *key;
    int database;
    uint64_t epoch;
} copy_watch;

/* Once in a while: has anybody asked for the copy? */
static void watch_copy(RedisModuleCtx *ctx, void *data) {
    copy_watch *watch = data;
    RedisModule_SelectDb(ctx, watch->database);
    RedisModuleKey *key = RedisModule_OpenKey(ctx, watch->key, REDISMODULE_READ);
    weir_value *value = key_value(key, VALUE_FILTER | VALUE_SKETCH);
    bool there = value && value->epoch == watch->epoch && value->copy.bytes;
    if (there && RedisModule_Milliseconds() - value->copy.touched >= PATIENCE) {
        buffer_free(&value->copy);
        there = false;
    }
    if (key) RedisModule_CloseKey(key);
    if (there) {
        RedisModule_CreateTimer(ctx, PATIENCE, watch_copy, watch);
        return;
    }
    RedisModule_FreeString(NULL, watch->key);
    RedisModule_Free(watch);
}

/* False: no memory, the copy is gone and the reply is given. */
static bool begin_watch(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value) {
    copy_watch *watch = RedisModule_TryAlloc(sizeof *watch);
    if (!watch) {
        buffer_free(&value->copy);
        reply_no_memory(ctx);
        return false;
    }
    *watch = (copy_watch){key, RedisModule_GetSelectedDb(ctx), value->epoch};
    RedisModule_RetainString(NULL, key);
    RedisModule_CreateTimer(ctx, PATIENCE, watch_copy, watch);
    return true;
}

static bool make_copy(RedisModuleCtx *ctx, weir_value *value) {
    weir_error err = {0};
    uint64_t number = value->copies % CURSOR_COPIES + 1;
    buffer_free(&value->copy);
    buffer_writer w = {.buffer = &value->copy, .most = memory_left(ctx)};
    weir_status status = value_save(value, false, write_buffer, &w, &err);
    value->copies = number;
    if (status == WEIR_OK) return true;
    buffer_free(&value->copy);
    return reply_no_memory(ctx), false;
}

static void reply_chunk(RedisModuleCtx *ctx, weir_value *value, size_t offset, size_t most) {
    size_t left = value->copy.length - offset, length = left < most ? left : most;
    bool last = length == left;
    value->copy.touched = RedisModule_Milliseconds();
    RedisModule_ReplyWithArray(ctx, 2);
    reply_whole(ctx, last ? 0 : value->copies * CURSOR_UNIT + offset + length);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)value->copy.bytes + offset, length);
    if (last) buffer_free(&value->copy);
}

/* The chunk at a cursor. False: the reply is an error. */
bool export_chunk(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, uint64_t cursor,
                  uint64_t most) {
    uint64_t offset = cursor % CURSOR_UNIT;
    bool known = value->copy.bytes && cursor / CURSOR_UNIT == value->copies;
    if (cursor && (!known || offset >= value->copy.length)) {
        reply_error(ctx, "ERR no export is at this cursor any more; begin again with cursor 0");
        return false;
    }
    if (!cursor && !make_copy(ctx, value)) return false;
    if (!cursor && value->copy.length > most && !begin_watch(ctx, key, value)) return false;
    reply_chunk(ctx, value, offset, most);
    return true;
}

/* As BF.SCANDUMP wants it: the cursor that comes with a chunk is where it ends, with `flag` at the
 * last one; asked with that, the reply is 0 and nothing. */
void dump_chunk(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, uint64_t cursor,
                size_t most, uint64_t flag) {
    uint64_t offset = cursor % CURSOR_UNIT & ~flag;
    bool known = value->copy.bytes && cursor / CURSOR_UNIT == value->copies;
    if (cursor && (!known || offset > value->copy.length)) {
        reply_error(ctx, "ERR no dump is at this iterator any more; begin again with 0");
        return;
    }
    if (!cursor && (!make_copy(ctx, value) || !begin_watch(ctx, key, value))) return;
    size_t left = value->copy.length - offset, length = left < most ? left : most;
    uint64_t end = offset + length;
    value->copy.touched = RedisModule_Milliseconds();
    RedisModule_ReplyWithArray(ctx, 2);
    reply_whole(ctx, left ? value->copies * CURSOR_UNIT + end + (length == left ? flag : 0) : 0);
    RedisModule_ReplyWithStringBuffer(ctx, (const char *)value->copy.bytes + offset, length);
    if (!left) buffer_free(&value->copy);
}

COMMAND(cmd_export) {
    key_handle handle;
    uint64_t cursor, most = CHUNK_STANDARD;
    arguments args = {ctx, argv, argc, 3};
    if (!whole_of(argv[2], &cursor)) return reply_error(ctx, "ERR the cursor must be a number");
    RedisModuleString *bytes = take_after(&args, "BYTES");
    if (args.at < argc) return reply_unknown_word(&args);
    if (bytes && (!whole_of(bytes, &most) || most < 1 || most > CHUNK_MOST))
        return reply_error(ctx, "ERR BYTES must be from 1 to %" PRIu64, CHUNK_MOST);
    if (!key_need(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH, REDISMODULE_READ, &handle))
        return REDISMODULE_OK;
    export_chunk(ctx, argv[1], handle.value, cursor, most);
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- WEIR.IMPORT ------------------------------------------------------------------------------ */

/* May a chunk for this cursor go to what is at the key? False: the reply is given. */
static bool fits_import(RedisModuleCtx *ctx, const weir_value *value, uint64_t cursor) {
    if (value && value->kind != VALUE_IMPORT) {
        reply_error(ctx, "ERR key exists: delete it before an import");
    } else if (cursor && (!value || cursor != value->import.length)) {
        reply_error(ctx, "ERR the import of this key stands at %zu; go on from there or from 0",
                    value ? value->import.length : 0);
    } else {
        return true;
    }
    return false;
}

/* The first chunk begins an import, or one that is there anew. NULL: no memory. */
static weir_value *begin_import(key_handle *handle, const char *bytes, size_t length) {
    value_buffer first = {0};
    weir_value *value = handle->value ? handle->value : value_new_import();
    if (!value || !buffer_append(&first, bytes, length)) {
        if (!handle->value) value_free(value);
        return NULL;
    }
    buffer_free(&value->import);
    value->import = first;
    if (!handle->value) key_set(handle, value);
    return value;
}

weir_value *import_chunk(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t cursor,
                         const RedisModuleString *chunk, key_handle *handle) {
    size_t length;
    const char *bytes = text_of(chunk, &length);
    key_state state = key_open(ctx, name, VALUE_FILTER | VALUE_SKETCH | VALUE_IMPORT,
                               REDISMODULE_READ | REDISMODULE_WRITE, handle);
    if (state == KEY_REFUSED || !fits_import(ctx, handle->value, cursor)) return NULL;
    weir_value *value = NULL;
    if (length <= memory_left(ctx)) {
        if (!cursor) value = begin_import(handle, bytes, length);
        else if (buffer_append(&handle->value->import, bytes, length)) value = handle->value;
    }
    if (!value) reply_no_memory(ctx);
    return value;
}

/* Where there is no memory the last chunk can be sent once more; from damaged chunks nothing comes.
 */
static void fail_import(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle,
                        size_t last, const weir_error *err) {
    value_buffer *b = &handle->value->import;
    reply_failure(ctx, err);
    if (err->code == WEIR_ERR_MEMORY && b->length > last) b->length -= last;
    else key_drop(ctx, name, handle);
}

weir_value *import_end(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle,
                       const RedisModuleString *chunk, unsigned kinds) {
    weir_value *value;
    weir_error err = {0};
    size_t last;
    const value_buffer *b = &handle->value->import;
    text_of(chunk, &last);
    if (value_load_bytes(&value, b->bytes, b->length, kinds, memory_left(ctx), &err) != WEIR_OK) {
        fail_import(ctx, name, handle, last, &err);
        return NULL;
    }
    key_set(handle, value); /* which frees the import */
    return value;
}

static void import_last(RedisModuleCtx *ctx, RedisModuleString **argv, key_handle *handle,
                        bool has_epoch, uint64_t epoch) {
    char text[EPOCH_SIZE];
    weir_value *value = import_end(ctx, argv[1], handle, argv[3], VALUE_FILTER | VALUE_SKETCH);
    if (!value) return;
    if (has_epoch) value->epoch = epoch;
    if (!value->epoch) value->epoch = value_draw_epoch();
    snprintf(text, sizeof text, "%016" PRIx64, value->epoch);
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    RedisModule_Replicate(ctx, "WEIR.IMPORT",
                          "ssscc"
                          "c",
                          argv[1], argv[2], argv[3], "LAST", "EPOCH", text);
    key_changed(ctx, argv[1], "weir.import");
}

COMMAND(cmd_import) {
    key_handle handle = {0};
    uint64_t cursor, epoch = 0;
    arguments args = {ctx, argv, argc, 4};
    if (!whole_of(argv[2], &cursor)) return reply_error(ctx, "ERR the cursor must be a number");
    bool last = take_word(&args, "LAST");
    RedisModuleString *given = last ? take_after(&args, "EPOCH") : NULL;
    if (args.at < argc) return reply_unknown_word(&args);
    if (given && !hex_of(given, &epoch))
        return reply_error(ctx, "ERR EPOCH must be up to 16 hexadecimal digits");
    const weir_value *value = import_chunk(ctx, argv[1], cursor, argv[3], &handle);
    if (value && last) {
        import_last(ctx, argv, &handle, given != NULL, epoch);
    } else if (value) {
        reply_whole(ctx, value->import.length);
        RedisModule_ReplicateVerbatim(ctx);
        key_changed(ctx, argv[1], "weir.import");
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- WEIR.ABSORB ------------------------------------------------------------------------------ */

typedef struct {
    RedisModuleString *who;
    uint64_t number, epoch;
    bool has_epoch;
} absorb_options;

static bool read_absorb(arguments *args, absorb_options *o) {
    RedisModuleString *s;
    size_t length = 1;
    while (args->at < args->argc) {
        if ((s = take_after(args, "EPOCH"))) {
            o->has_epoch = true;
            if (hex_of(s, &o->epoch)) continue;
            reply_error(args->ctx, "ERR EPOCH must be up to 16 hexadecimal digits");
            return false;
        }
        if (args->argc - args->at < 3 || !take_word(args, "BATCH"))
            return reply_unknown_word(args), false;
        o->who = args->argv[args->at++];
        text_of(o->who, &length);
        if (length < 1 || length > PRODUCER_NAME_MOST)
            return reply_error(args->ctx, "ERR the name of a producer has 1 to 64 bytes"), false;
        if (!whole_of(args->argv[args->at++], &o->number))
            return reply_error(args->ctx,
                               "ERR the number of a batch must be a whole number from 0"),
                   false;
    }
    return true;
}

static bool merge_values(weir_value *into, const weir_value *from, weir_error *err) {
    if (into->kind != from->kind) {
        *err = (weir_error){WEIR_ERR_MISMATCH, -1, "a filter and a sketch cannot be merged"};
        return false;
    }
    return (into->kind == VALUE_FILTER
                ? weir_filter_merge(into->filter, from->filter, err)
                : weir_sketch_merge(into->sketch, from->sketch, err)) == WEIR_OK;
}

/* A value that comes from a client is not that of another server: it has no history here. */
static weir_value *received(RedisModuleCtx *ctx, const RedisModuleString *snapshot) {
    size_t length;
    weir_value *value;
    weir_error err = {0};
    const char *bytes = text_of(snapshot, &length);
    if (value_load_bytes(&value, bytes, length, VALUE_FILTER | VALUE_SKETCH, memory_left(ctx),
                         &err) != WEIR_OK) {
        reply_failure(ctx, &err);
        return NULL;
    }
    producers_free(value->last);
    value->last = NULL;
    value->epoch = 0;
    return value;
}

/* The value at the key knows what came, or is what came. False: nothing changed, and the reply is
 * given. *got is the key's, or NULL, afterwards. */
static bool take_in(RedisModuleCtx *ctx, key_handle *handle, weir_value **got,
                    const absorb_options *o) {
    weir_error err = {0};
    if (!handle->value) {
        (*got)->epoch = o->has_epoch ? o->epoch : value_draw_epoch();
        key_set(handle, *got);
        *got = NULL;
        return true;
    }
    if (merge_values(handle->value, *got, &err)) return true;
    reply_failure(ctx, &err);
    return false;
}

/* The same, and the batch is noted if it has a number. */
static bool take_in_numbered(RedisModuleCtx *ctx, key_handle *handle, weir_value **got,
                             const absorb_options *o) {
    size_t length;
    producer answer = {.number = o->number};
    producers **last = handle->value ? &handle->value->last : &(*got)->last;
    if (!o->who) return take_in(ctx, handle, got, o);
    const char *name = text_of(o->who, &length);
    answer.reply = producers_reserve(last, 0);
    if (!answer.reply) {
        reply_no_memory(ctx);
        return false;
    }
    if (!take_in(ctx, handle, got, o)) {
        RedisModule_Free(answer.reply);
        return false;
    }
    answer.offered = value_offered(handle->value);
    producers_note(handle->value->last, name, length, &answer);
    return true;
}

/* As it was, or with the epoch of a value that was made. */
static void replicate_absorb(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, bool made,
                             uint64_t epoch) {
    char text[EPOCH_SIZE];
    snprintf(text, sizeof text, "%016" PRIx64, epoch);
    if (!made) RedisModule_ReplicateVerbatim(ctx);
    else
        RedisModule_Replicate(ctx, "WEIR.ABSORB", "vcc", argv + 1, (size_t)(argc - 1), "EPOCH",
                              text);
}

static void absorb(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, key_handle *handle,
                   const absorb_options *o) {
    weir_value *got = received(ctx, argv[2]);
    if (!got) return;
    bool made = !handle->value && !o->has_epoch;
    if (take_in_numbered(ctx, handle, &got, o)) {
        reply_whole(ctx, value_offered(handle->value));
        replicate_absorb(ctx, argv, argc, made, handle->value->epoch);
        key_changed(ctx, argv[1], "weir.absorb");
    }
    value_free(got);
}

COMMAND(cmd_absorb) {
    key_handle handle;
    absorb_options o = {0};
    arguments args = {ctx, argv, argc, 3};
    if (!read_absorb(&args, &o)) return REDISMODULE_OK;
    key_state state = key_open(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH,
                               REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    const weir_value *value = handle.value;
    if (state == KEY_FOUND && o.has_epoch && o.epoch != value->epoch)
        reply_error(ctx, "WEIREPOCH %016" PRIx64 " is the epoch of the key, not %016" PRIx64,
                    value->epoch, o.epoch);
    else if (state != KEY_REFUSED &&
             !(value && o.who && batch_answered(ctx, value, o.who, o.number, false)))
        absorb(ctx, argv, argc, &handle, &o);
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- WEIR.MERGE ------------------------------------------------------------------------------- */

/* All sources go into a copy of what is at dest, whose object takes its place when they are in. */
static bool merge_sources(RedisModuleCtx *ctx, weir_value *sum, RedisModuleString **sources,
                          int count) {
    weir_error err = {0};
    for (int i = 0; i < count; i++) {
        key_handle source;
        if (!key_need(ctx, sources[i], VALUE_FILTER | VALUE_SKETCH, REDISMODULE_READ, &source))
            return false;
        bool good = merge_values(sum, source.value, &err);
        key_close(&source);
        if (good) continue;
        reply_failure(ctx, &err);
        return false;
    }
    return true;
}

/* What to begin with: a copy of dest, or an empty one like the first source. */
static weir_value *begin_sum(RedisModuleCtx *ctx, const key_handle *dest,
                             RedisModuleString *first) {
    char spec[SPEC_SIZE];
    key_handle source;
    weir_value *sum = NULL;
    if (dest->value) {
        if (value_memory(dest->value) <= memory_left(ctx)) sum = value_clone(dest->value);
        if (!sum) reply_no_memory(ctx);
        return sum;
    }
    if (!key_need(ctx, first, VALUE_FILTER | VALUE_SKETCH, REDISMODULE_READ, &source)) return NULL;
    value_spec(source.value, spec, sizeof spec);
    sum = create_value(ctx, spec, source.value->kind);
    key_close(&source);
    if (sum) sum->epoch = value_draw_epoch();
    return sum;
}

COMMAND(cmd_merge) {
    key_handle dest;
    key_state state = key_open(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH,
                               REDISMODULE_READ | REDISMODULE_WRITE, &dest);
    weir_value *sum = state == KEY_REFUSED ? NULL : begin_sum(ctx, &dest, argv[2]);
    if (sum && !merge_sources(ctx, sum, argv + 2, argc - 2)) {
        value_free(sum);
        sum = NULL;
    }
    if (sum) {
        if (state == KEY_ABSENT) {
            create_at(ctx, argv[1], &dest, sum);
        } else {
            value_swap(dest.value, sum); /* so the key keeps when it expires */
            value_free(sum);
        }
        RedisModule_ReplicateVerbatim(ctx);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
        key_changed(ctx, argv[1], "weir.merge");
    }
    key_close(&dest);
    return REDISMODULE_OK;
}
