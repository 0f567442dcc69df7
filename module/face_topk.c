/* face_topk.c - TOPK.*: the commands of RedisBloom's lists of the most frequent items, over `top`.
 *
 * Counts come from a count-min sketch and not from HeavyKeeper, so the decay that TOPK.RESERVE
 * takes has no use here; nothing is left to chance, and a replica has the same list. An item that
 * another one pushes out of the list is named in the reply: see topk_list.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "item_run.h"
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

typedef struct {
    RedisModuleString *gone; /* what left the list, or NULL */
    bool refused;            /* as run->refused says */
} add_answer;

/* One item, whose increment is behind it where it has one. */
static item_outcome add_item(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    add_answer *answer = answer_at(run, i);
    int64_t increment = 1;
    if (run->task->step == 2) integer_of(weight_at(run, i), &increment);
    answer->refused = !item_count(run, value, i, hash, &(weir_updates){.weights = &increment});
    if (answer->refused) return ITEM_SKIPPED;
    answer->gone = topk_list_counted(value, item_at(run, i), hash);
    return ITEM_DONE;
}

static bool knows_list(weir_value *value) { return topk_list_known(value) != NULL; }

static void reply_added(RedisModuleCtx *ctx, const item_run *run, const void *data) {
    const add_answer *answer = data;
    size_t length;
    if (answer->refused) {
        reply_failure(ctx, &run->refused);
    } else if (answer->gone) {
        const char *name = text_of(answer->gone, &length);
        RedisModule_ReplyWithStringBuffer(ctx, name, length);
    } else {
        RedisModule_ReplyWithNull(ctx);
    }
}

static void free_added(void *answer) {
    RedisModuleString *gone = ((add_answer *)answer)->gone;
    if (gone) RedisModule_FreeString(NULL, gone);
}

/* step 2: each item has an increment behind it. */
#define ADD_TASK(strings)                                                                          \
    {                                                                                              \
        .counts = true, .slow = true, .step = (strings), .answer_size = sizeof(add_answer),        \
        .prepare = knows_list, .each = add_item, .begin_reply = reply_array, .reply = reply_added, \
        .free_answer = free_added                                                                  \
    }
static const item_task add_task = ADD_TASK(1), increase_task = ADD_TASK(2);

static void add_items(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                      const item_task *task, weir_value *value) {
    item_run run = {.task = task,
                    .strings = argv + 2,
                    .count = (size_t)(argc - 2) / task->step,
                    .has_time = value->timed,
                    .time = time_now()};
    item_run_start(ctx, argv[1], value, &run);
}

COMMAND(topk_add) {
    key_handle handle;
    if (!open_top(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    add_items(ctx, argv, argc, &add_task, handle.value);
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
    if (good) add_items(ctx, argv, argc, &increase_task, handle.value);
    else
        reply_error(ctx, "TopK: increment must be an integer greater or equal to 0 and smaller or "
                         "equal to 100,000");
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- the list --------------------------------------------------------------------------------- */

static bool reads_list(weir_value *value) { return topk_list_now(value) != NULL; }

static item_outcome ask_listed(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    *(bool *)answer_at(run, i) = topk_list_find(value->list, hash) != NULL;
    return ITEM_DONE;
}

static void reply_listed(RedisModuleCtx *ctx, const item_run *run, const void *answer) {
    (void)run;
    RedisModule_ReplyWithBool(ctx, *(const bool *)answer);
}

static item_outcome ask_count(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    weir_estimate e = {0};
    weir_sketch_estimate_hash(value->sketch, hash, WEIR_BY_CM, &e, NULL);
    *(long long *)answer_at(run, i) = llround(e.value);
    return ITEM_DONE;
}

static void reply_count(RedisModuleCtx *ctx, const item_run *run, const void *answer) {
    (void)run;
    RedisModule_ReplyWithLongLong(ctx, *(const long long *)answer);
}

static int run_query(RedisModuleCtx *ctx, RedisModuleString **argv, int argc,
                     const item_task *task) {
    key_handle handle;
    item_run run = {.task = task, .strings = argv + 2, .count = (size_t)(argc - 2)};
    if (!open_top(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    item_run_start(ctx, argv[1], handle.value, &run);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(topk_query) {
    static const item_task task = {.slow = true,
                                   .listed = true,
                                   .step = 1,
                                   .answer_size = sizeof(bool),
                                   .prepare = reads_list,
                                   .each = ask_listed,
                                   .begin_reply = reply_array,
                                   .reply = reply_listed};
    return run_query(ctx, argv, argc, &task);
}

COMMAND(topk_count) {
    static const item_task task = {.step = 1,
                                   .answer_size = sizeof(long long),
                                   .each = ask_count,
                                   .begin_reply = reply_array,
                                   .reply = reply_count};
    return run_query(ctx, argv, argc, &task);
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
