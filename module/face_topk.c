/* face_topk.c - TOPK.*: the commands of RedisBloom's lists of the most frequent items, over `top`.
 *
 * Counts come from a count-min sketch and not from HeavyKeeper, so the decay that TOPK.RESERVE
 * takes has no use here; nothing is left to chance, and a replica has the same list. An item that
 * another one pushes out of the list is named in the reply, so the list is looked at before and
 * after.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "module.h"

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
    key_state state = key_open(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH | VALUE_IMPORT,
                               REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    if (state == KEY_FOUND) reply_error(ctx, "TopK: key already exists");
    weir_value *value = state == KEY_ABSENT ? create_value(ctx, spec, VALUE_SKETCH) : NULL;
    if (value) {
        value->epoch = value_draw_epoch();
        create_at(ctx, argv[1], &handle, value);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- the list
 * ----------------------------------------------------------------------------------------- */

/* The k most frequent now. Freed with RedisModule_Free(top->items). False: no memory. */
static bool list_now(weir_value *value, weir_items *top) {
    size_t k = (size_t)spec_number(value, "k");
    *top = (weir_items){.items = RedisModule_TryAlloc(k * sizeof *top->items), .room = k};
    return top->items && weir_sketch_top(value->sketch, WEIR_BY_CM, top, NULL) == WEIR_OK;
}

/* Names outlive a change of the sketch. */
typedef struct {
    value_buffer bytes;
    size_t *ends;
    size_t count;
} name_list;

static void free_names(name_list *list) {
    buffer_free(&list->bytes);
    RedisModule_Free(list->ends);
    *list = (name_list){0};
}

static bool copy_names(name_list *list, const weir_items *top) {
    *list = (name_list){.ends = RedisModule_TryAlloc((top->found + 1) * sizeof *list->ends)};
    for (size_t i = 0; list->ends && i < top->found; i++) {
        if (!buffer_append(&list->bytes, top->items[i].key, top->items[i].length)) return false;
        list->ends[list->count++] = list->bytes.length;
    }
    return list->ends != NULL;
}

static bool is_listed(const weir_items *top, const void *key, size_t length) {
    for (size_t i = 0; i < top->found; i++)
        if (top->items[i].length == length && !memcmp(top->items[i].key, key, length)) return true;
    return false;
}

/* The name that was listed and is not any more, or null. */
static void reply_dropped(RedisModuleCtx *ctx, const name_list *before, const weir_items *now) {
    for (size_t i = 0; i < before->count; i++) {
        size_t at = i ? before->ends[i - 1] : 0, length = before->ends[i] - at;
        const char *name = (const char *)before->bytes.bytes + at;
        if (length && is_listed(now, name, length)) continue;
        if (!length && is_listed(now, "", 0)) continue;
        RedisModule_ReplyWithStringBuffer(ctx, length ? name : "", length);
        return;
    }
    RedisModule_ReplyWithNull(ctx);
}

static bool look(weir_value *value, name_list *names) {
    weir_items top;
    free_names(names);
    bool good = list_now(value, &top) && copy_names(names, &top);
    RedisModule_Free(top.items);
    return good;
}

/* Count one, and reply what it pushed out. */
static void add_one(RedisModuleCtx *ctx, weir_value *value, RedisModuleString *item,
                    int64_t increment, int64_t time, name_list *before) {
    weir_items now;
    weir_error err = {0};
    if (!count_item(value, item, increment, time, &err)) {
        reply_failure(ctx, &err);
        return;
    }
    if (list_now(value, &now)) reply_dropped(ctx, before, &now);
    else RedisModule_ReplyWithNull(ctx);
    RedisModule_Free(now.items);
    look(value, before);
}

/* Items one after the other; step 2: each with an increment behind it. */
static void add_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int step,
                      weir_value *value) {
    name_list names = {0};
    int64_t increment = 1, time = time_now();
    RedisModuleString *one = RedisModule_CreateString(ctx, "1", 1);
    if (!look(value, &names)) {
        free_names(&names);
        reply_no_memory(ctx);
    } else {
        RedisModule_ReplyWithArray(ctx, (argc - 2) / step);
        for (int i = 2; i < argc; i += step) {
            RedisModuleString *pair[2] = {argv[i], step == 2 ? argv[i + 1] : one};
            integer_of(pair[1], &increment);
            add_one(ctx, value, argv[i], increment, time, &names);
            replicate_pairs(ctx, argv[1], value, pair, 2, time);
        }
        free_names(&names);
        key_changed(ctx, argv[1], "weir.count");
    }
    RedisModule_FreeString(ctx, one);
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

COMMAND(topk_query) {
    key_handle handle;
    weir_items top;
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    if (list_now(handle.value, &top)) {
        RedisModule_ReplyWithArray(ctx, argc - 2);
        for (int i = 2; i < argc; i++) {
            size_t length;
            const char *item = text_of(argv[i], &length);
            RedisModule_ReplyWithBool(ctx, is_listed(&top, item, length));
        }
    } else {
        reply_no_memory(ctx);
    }
    RedisModule_Free(top.items);
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

COMMAND(topk_list) {
    key_handle handle;
    weir_items top;
    bool counts = argc == 3 && word_is(argv[2], "WITHCOUNT");
    if (argc > 3) return RedisModule_WrongArity(ctx);
    if (argc == 3 && !counts) return reply_error(ctx, "WITHCOUNT keyword expected");
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    if (list_now(handle.value, &top)) {
        RedisModule_ReplyWithArray(ctx, (long)top.found << counts);
        for (size_t i = 0; i < top.found; i++) {
            RedisModule_ReplyWithStringBuffer(ctx, top.items[i].key, top.items[i].length);
            if (counts) RedisModule_ReplyWithLongLong(ctx, llround(top.items[i].count.value));
        }
    } else {
        reply_no_memory(ctx);
    }
    RedisModule_Free(top.items);
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
