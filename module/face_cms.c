/* face_cms.c - CMS.*: the commands of RedisBloom's count-min sketches, over `countmin`.
 *
 * Counts are the minimum over the rows, never too low, as there. All sketches that CMS.* makes have
 * one seed, a setting, so that those of one size can be merged.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "config.h"
#include "item_run.h"

static bool open_cms(RedisModuleCtx *ctx, RedisModuleString *name, int mode, key_handle *out) {
    key_state state = key_open(ctx, name, VALUE_SKETCH, mode, out);
    weir_sketch_info info;
    if (state == KEY_ABSENT) {
        key_close(out);
        reply_error(ctx, "CMS: key does not exist");
        return false;
    }
    if (state == KEY_REFUSED) return false;
    weir_sketch_get_info(out->value->sketch, &info);
    if (info.answers & WEIR_CAN_ESTIMATE) return true;
    key_close(out);
    RedisModule_ReplyWithError(ctx, REDISMODULE_ERRORMSG_WRONGTYPE);
    return false;
}

/* --- making ----------------------------------------------------------------------------------- */

static int init(RedisModuleCtx *ctx, RedisModuleString *name, int64_t width, int64_t depth) {
    char spec[160];
    key_handle handle;
    snprintf(spec, sizeof spec, "countmin:width=%" PRId64 ",depth=%" PRId64 ",seed=%lld", width,
             depth, config.cms_seed);
    if (!key_vacant(ctx, name, "CMS: key already exists", &handle)) return REDISMODULE_OK;
    weir_value *value = create_value(ctx, spec, VALUE_SKETCH);
    if (value) {
        value->epoch = value_draw_epoch();
        create_at(ctx, name, &handle, value);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cms_initbydim) {
    (void)argc;
    int64_t width, depth;
    if (!integer_of(argv[2], &width) || width < 1) return reply_error(ctx, "CMS: invalid width");
    if (!integer_of(argv[3], &depth) || depth < 1) return reply_error(ctx, "CMS: invalid depth");
    return init(ctx, argv[1], width, depth);
}

COMMAND(cms_initbyprob) {
    (void)argc;
    double error, chance;
    if (RedisModule_StringToDouble(argv[2], &error) != REDISMODULE_OK || !(error > 0 && error < 1))
        return reply_error(ctx, "CMS: invalid overestimation value");
    if (RedisModule_StringToDouble(argv[3], &chance) != REDISMODULE_OK ||
        !(chance > 0 && chance < 1))
        return reply_error(ctx, "CMS: invalid prob value");
    double width = ceil(2 / error), depth = ceil(log(chance) / log(0.5));
    if (width > 1e15) return reply_error(ctx, "CMS: invalid init arguments");
    return init(ctx, argv[1], (int64_t)width, (int64_t)depth);
}

/* --- counting --------------------------------------------------------------------------------- */

/* What is said of an item: its count, or why there is none. */
typedef struct {
    long long count;
    enum { COUNT_KNOWN, COUNT_OVERFLOWS, COUNT_NO_MEMORY } state;
} count_answer;

static void ask_count(const item_run *run, weir_value *value, size_t i, uint64_t hash) {
    weir_estimate e;
    count_answer *answer = answer_at(run, i);
    weir_status status = weir_sketch_estimate_hash(value->sketch, hash, WEIR_BY_CM, &e, NULL);
    if (status == WEIR_OK) answer->count = llround(e.value);
    else answer->state = COUNT_NO_MEMORY;
}

static void reply_count(RedisModuleCtx *ctx, const item_run *run, const void *data) {
    (void)run;
    const count_answer *answer = data;
    if (answer->state == COUNT_KNOWN) RedisModule_ReplyWithLongLong(ctx, answer->count);
    else if (answer->state == COUNT_OVERFLOWS) reply_error(ctx, "CMS: INCRBY overflow");
    else reply_no_memory(ctx);
}

static bool increments_are_good(RedisModuleCtx *ctx, RedisModuleString **argv, int argc) {
    int64_t number;
    for (int i = 3; i < argc; i += 2) {
        bool good = integer_of(argv[i], &number);
        if (good && number >= 0) continue;
        reply_error(ctx, good ? "CMS: Number cannot be negative" : "CMS: Cannot parse number");
        return false;
    }
    return true;
}

/* An item that would overflow is an error in the array; those around it are counted. */
static item_outcome increase(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    int64_t number;
    integer_of(weight_at(run, i), &number);
    bool good = item_count(run, value, i, hash, &(weir_updates){.weights = &number});
    if (good) ask_count(run, value, i, hash);
    else ((count_answer *)answer_at(run, i))->state = COUNT_OVERFLOWS;
    return good ? ITEM_DONE : ITEM_SKIPPED;
}

static item_outcome ask(item_run *run, weir_value *value, size_t i, uint64_t hash) {
    ask_count(run, value, i, hash);
    return ITEM_DONE;
}

COMMAND(cms_incrby) {
    /* slow: a window adds up its panes for each answer */
    static const item_task task = {.counts = true,
                                   .slow = true,
                                   .step = 2,
                                   .answer_size = sizeof(count_answer),
                                   .each = increase,
                                   .begin_reply = reply_array,
                                   .reply = reply_count};
    key_handle handle;
    if (argc % 2) return RedisModule_WrongArity(ctx);
    if (!open_cms(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, &handle))
        return REDISMODULE_OK;
    item_run run = {.task = &task,
                    .strings = argv + 2,
                    .count = (size_t)(argc - 2) / 2,
                    .has_time = handle.value->timed,
                    .time = time_now()};
    if (increments_are_good(ctx, argv, argc)) item_run_start(ctx, argv[1], handle.value, &run);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(cms_query) {
    static const item_task task = {.step = 1,
                                   .answer_size = sizeof(count_answer),
                                   .each = ask,
                                   .begin_reply = reply_array,
                                   .reply = reply_count};
    key_handle handle;
    item_run run = {.task = &task, .strings = argv + 2, .count = (size_t)(argc - 2)};
    if (!open_cms(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    item_run_start(ctx, argv[1], handle.value, &run);
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- merging ---------------------------------------------------------------------------------- */

/* `from` goes into the sum as often as its weight says: by doubling a copy. */
static bool add_weighted(weir_value *sum, const weir_value *from, uint64_t weight,
                         weir_error *err) {
    if (weight == 1) return weir_sketch_merge(sum->sketch, from->sketch, err) == WEIR_OK;
    weir_value *part = value_clone(from);
    bool good = part != NULL;
    while (good && weight) {
        if (weight & 1) good = weir_sketch_merge(sum->sketch, part->sketch, err) == WEIR_OK;
        weight >>= 1;
        if (!good || !weight) break;
        weir_value *same = value_clone(part);
        good = same && weir_sketch_merge(part->sketch, same->sketch, err) == WEIR_OK;
        value_free(same);
    }
    value_free(part);
    return good;
}

static bool same_size(const weir_value *a, const weir_value *b) {
    return spec_number(a, "width") == spec_number(b, "width") &&
           spec_number(a, "depth") == spec_number(b, "depth");
}

/* err: without a code, a copy had no memory. */
static void reply_unmerged(RedisModuleCtx *ctx, const weir_error *err) {
    if (!err->code || err->code == WEIR_ERR_MEMORY) reply_no_memory(ctx);
    else if (err->code == WEIR_ERR_RANGE) reply_error(ctx, "CMS: MERGE overflow");
    else reply_error(ctx, "CMS: %s", err->message);
}

/* One source of a merge, and its weight. */
static bool add_source(RedisModuleCtx *ctx, weir_value *sum, RedisModuleString *name,
                       const RedisModuleString *weight_text) {
    key_handle source;
    int64_t weight = 1;
    weir_error err = {0};
    if (weight_text && (!integer_of(weight_text, &weight) || weight < 0)) {
        reply_error(ctx, "CMS: invalid weight value");
        return false;
    }
    if (!open_cms(ctx, name, REDISMODULE_READ, &source)) return false;
    bool good = same_size(sum, source.value);
    if (!good) reply_error(ctx, "CMS: width/depth is not equal");
    else if (!(good = add_weighted(sum, source.value, (uint64_t)weight, &err)))
        reply_unmerged(ctx, &err);
    key_close(&source);
    return good;
}

/* How many sources, and where the weights are (0: none). False: the reply is given. */
static bool read_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int *keys,
                       int *weights) {
    int64_t number;
    *weights = 0;
    if (!integer_of(argv[2], &number)) return reply_error(ctx, "CMS: invalid numkeys"), false;
    if (number < 1) return reply_error(ctx, "CMS: Number of keys must be positive"), false;
    for (int i = 3; i < argc && !*weights; i++)
        if (word_is(argv[i], "WEIGHTS")) *weights = i;
    if (!*weights && number != argc - 3)
        return reply_error(ctx, "CMS: wrong number of keys"), false;
    if (*weights && (number != *weights - 3 || number != argc - *weights - 1))
        return reply_error(ctx, "CMS: wrong number of keys/weights"), false;
    *keys = (int)number;
    return true;
}

/* An empty one like dest, or NULL. */
static weir_value *begin_sum(RedisModuleCtx *ctx, const weir_value *dest) {
    char spec[SPEC_SIZE];
    value_spec(dest, spec, sizeof spec);
    return create_value(ctx, spec, VALUE_SKETCH);
}

COMMAND(cms_merge) {
    key_handle dest;
    int keys, weights;
    if (!open_cms(ctx, argv[1], REDISMODULE_READ | REDISMODULE_WRITE, &dest)) return REDISMODULE_OK;
    weir_value *sum =
        read_merge(ctx, argv, argc, &keys, &weights) ? begin_sum(ctx, dest.value) : NULL;
    bool good = sum != NULL;
    for (int i = 0; good && i < keys; i++)
        good = add_source(ctx, sum, argv[3 + i], weights ? argv[weights + 1 + i] : NULL);
    if (good) {
        value_swap(dest.value, sum); /* so the key keeps when it expires, and its batches */
        RedisModule_ReplicateVerbatim(ctx);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
        key_changed(ctx, argv[1], "weir.merge");
    }
    value_free(sum);
    key_close(&dest);
    return REDISMODULE_OK;
}

COMMAND(cms_info) {
    (void)argc;
    key_handle handle;
    weir_sketch_info info;
    if (!open_cms(ctx, argv[1], REDISMODULE_READ, &handle)) return REDISMODULE_OK;
    weir_sketch_get_info(handle.value->sketch, &info);
    RedisModule_ReplyWithMap(ctx, 3);
    RedisModule_ReplyWithSimpleString(ctx, "width");
    RedisModule_ReplyWithLongLong(ctx, (long long)spec_number(handle.value, "width"));
    RedisModule_ReplyWithSimpleString(ctx, "depth");
    RedisModule_ReplyWithLongLong(ctx, (long long)spec_number(handle.value, "depth"));
    RedisModule_ReplyWithSimpleString(ctx, "count");
    RedisModule_ReplyWithLongLong(ctx, llround(info.total));
    key_close(&handle);
    return REDISMODULE_OK;
}
