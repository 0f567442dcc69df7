/* face_topk.c - TOPK.*: the commands of RedisBloom's lists of the most frequent items, over `top`.
 *
 * Counts come from a count-min sketch and not from HeavyKeeper, so the decay that TOPK.RESERVE
 * takes has no use here; nothing is left to chance, and a replica has the same list. An item that
 * another one pushes out of the list is named in the reply: see topk_list.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "topk_list.h"

enum { WIDTH_STANDARD = 8, DEPTH_STANDARD = 7, INCREMENT_MOST = 100000 };
#define DECAY_STANDARD 0.9

static bool open_top(RedisModuleCtx *ctx, RedisModuleString *name, int mode, key_handle *out) {
    key_state state = key_open(ctx, name, VALUE_SKETCH, mode, out);
    weir_sketch_info info;
    if (state == KEY_ABSENT) {
        key_close(out);
        reply_error(ctx, "TopK: key does not exist");
        return false;
    }
    if (state == KEY_REFUSED) return false;
    weir_sketch_get_info(out->value->sketch, &info);
    if ((info.answers & WEIR_CAN_TOP) && spec_number(out->value, "k") >= 1) return true;
    key_close(out);
    RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    return false;
}

COMMAND(topk_reserve) {
    int64_t k, width = WIDTH_STANDARD, depth = DEPTH_STANDARD;
    double decay = DECAY_STANDARD;
    char spec[160];
    key_handle handle;
    if (argc != 3 && argc != 6) return RedisModule_WrongArity(ctx);
    if (!integer_of(argv[2], &k) || k < 1) return reply_error(ctx, "TopK: invalid k");
    if (argc == 6 && (!integer_of(argv[3], &width) || width < 1))
        return reply_error(ctx, "TopK: invalid width");
    if (argc == 6 && (!integer_of(argv[4], &depth) || depth < 1))
        return reply_error(ctx, "TopK: invalid depth");
    if (argc == 6 && (RedisModule_StringToDouble(argv[5], &decay) != REDISMODULE_OK ||
                      !(decay > 0 && decay <= 1)))
        return reply_error(ctx, "TopK: invalid decay value. must be '<= 1' & '> 0'");
    snprintf(spec, sizeof spec, "top:k=%" PRId64 ",width=%" PRId64 ",depth=%" PRId64, k, width,
             depth);
    if (!key_vacant(ctx, argv[1], "TopK: key already exists", &handle)) return REDISMODULE_OK;
    weir_value *value = create_value(ctx, spec, VALUE_SKETCH);
    if (value) {
        value->epoch = value_draw_epoch();
        create_at(ctx, argv[1], &handle, value);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Items one after the other; step 2: each with an increment behind it. Those that were counted go
 * to replicas as one command. */
static void add_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int step,
                      weir_value *value) {
    int count = (argc - 2) / step;
    size_t used = 0;
    int64_t increment = 1, now = time_now();
    const int64_t *time = value->timed ? &now : NULL;
    RedisModuleString **pairs = RedisModule_TryAlloc((size_t)count * 2 * sizeof(void *));
    RedisModuleString *one = RedisModule_CreateString(ctx, "1", 1);
    weir_error err = {0};
    if (!pairs || !topk_list_known(value)) {
        reply_no_memory(ctx);
        count = 0;
    } else {
        RedisModule_ReplyWithArray(ctx, count);
    }
    for (int i = 0; i < count; i++) {
        RedisModuleString *item = argv[2 + i * step];
        if (step == 2) integer_of(argv[3 + i * step], &increment);
        if (!count_item(value, item, increment, time, &err)) {
            reply_failure(ctx, &err);
            continue;
        }
        topk_list_counted(ctx, value, item);
        pairs[used++] = item;
        pairs[used++] = step == 2 ? argv[3 + i * step] : one;
    }
    if (used) {
        replicate_pairs(ctx, argv[1], time, pairs, used);
        key_changed(ctx, argv[1], "weir.count");
    }
    RedisModule_FreeString(ctx, one);
    RedisModule_Free(pairs);
}

COMMAND(topk_add) {
    key_handle handle;
    if (!open_top(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    add_items(ctx, argv, argc, 1, handle.value);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(topk_incrby) {
    key_handle handle;
    int64_t increment;
    if (argc % 2) return RedisModule_WrongArity(ctx);
    if (!open_top(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    bool good = true;
    for (int i = 3; i < argc && good; i += 2)
        good = integer_of(argv[i], &increment) && increment >= 0 && increment <= INCREMENT_MOST;
    if (good) add_items(ctx, argv, argc, 2, handle.value);
    else
        reply_error(ctx, "TopK: increment must be an integer greater or equal to 0 and smaller or "
                         "equal to 100,000");
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- the list --------------------------------------------------------------------------------- */

COMMAND(topk_query) {
    key_handle handle;
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    const topk_list *list = topk_list_now(handle.value);
    if (list) RedisModule_ReplyWithArray(ctx, argc - 2);
    else reply_no_memory(ctx);
    for (int i = 2; list && i < argc; i++) {
        size_t length;
        const char *item = text_of(argv[i], &length);
        uint64_t hash = weir_sketch_hash(handle.value->sketch, item, length);
        RedisModule_ReplyWithBool(ctx, topk_list_find(list, hash) != NULL);
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

static long long count_of(weir_value *value, RedisModuleString *item) {
    size_t length;
    weir_estimate e = {0};
    const char *key = text_of(item, &length);
    weir_sketch_estimate(value->sketch, key, length, WEIR_BY_CM, &e, NULL);
    return llround(e.value);
}

COMMAND(topk_count) {
    key_handle handle;
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    RedisModule_ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++)
        RedisModule_ReplyWithLongLong(ctx, count_of(handle.value, argv[i]));
    key_close(&handle);
    return REDISMODULE_OK;
}

static void reply_list(RedisModuleCtx *ctx, const topk_list *list, bool counts) {
    RedisModule_ReplyWithArray(ctx, (long)list->count << counts);
    for (size_t i = 0; i < list->count; i++) {
        const topk_entry *entry = &list->entries[i];
        RedisModule_ReplyWithStringBuffer(ctx, topk_list_name(list, entry), entry->length);
        if (counts) RedisModule_ReplyWithLongLong(ctx, llround(entry->count));
    }
}

COMMAND(topk_items) {
    key_handle handle;
    bool counts = argc == 3 && word_is(argv[2], "WITHCOUNT");
    if (argc > 3) return RedisModule_WrongArity(ctx);
    if (argc == 3 && !counts) return reply_error(ctx, "WITHCOUNT keyword expected");
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    const topk_list *list = topk_list_now(handle.value);
    if (list) reply_list(ctx, list, counts);
    else reply_no_memory(ctx);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(topk_info) {
    (void)argc;
    static const char *const fields[] = {"k", "width", "depth"};
    key_handle handle;
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    RedisModule_ReplyWithMap(ctx, 4);
    for (size_t i = 0; i < 3; i++) {
        RedisModule_ReplyWithSimpleString(ctx, fields[i]);
        RedisModule_ReplyWithLongLong(ctx, (long long)spec_number(handle.value, fields[i]));
    }
    RedisModule_ReplyWithSimpleString(ctx, "decay");
    RedisModule_ReplyWithDouble(ctx, DECAY_STANDARD);
    key_close(&handle);
    return REDISMODULE_OK;
}
