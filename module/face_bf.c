/* face_bf.c - BF.*: the commands of RedisBloom's Bloom filters, over any filter of ours.
 *
 * People have clients that speak them. Replies and error texts are the documented ones. What
 * BF.RESERVE makes is a setting. By default a filter that may not scale is `bloom` with the rate
 * and capacity that were asked for, and refuses items beyond; one that may scale is `growing`, with
 * PARTS filters of that capacity, of which the oldest is forgotten when all are full: RedisBloom
 * takes more and more memory there, and ours never does. What is replicated are commands of our
 * own, so a replica need not have these names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "key_batch.h"
#include "large.h"

enum { PARTS = 8, CAPACITY_LEAST = 1 };

typedef struct {
    double rate;
    int64_t capacity;
    bool fixed, create; /* NONSCALING; may be made if it is absent */
} bf_options;

/* --- making a filter -------------------------------------------------------------------------- */

/* Bytes of a Bloom filter for so many keys at that rate. */
static bool bloom_memory(double rate, double capacity, uint64_t *bytes, weir_error *err) {
    char spec[128];
    weir_filter *filter;
    weir_filter_info info;
    snprintf(spec, sizeof spec, "bloom:capacity=%.0f,fpr=%.17g", capacity, rate);
    if (weir_filter_new(&filter, spec, err) != WEIR_OK) return false;
    weir_filter_get_info(filter, &info);
    weir_filter_free(filter);
    *bytes = info.memory_asked;
    return true;
}

static bool has_option(const char *spec, const char *name) {
    char value[64];
    return weir_spec_get(spec, name, value, sizeof value);
}

/* The setting, with what was asked for where it leaves that open. */
static bool spec_from_setting(const bf_options *o, char *spec, size_t size, weir_error *err) {
    uint64_t bytes;
    char fpr[48] = "", memory[48] = "";
    const char *base = config.bf_spec;
    if (!has_option(base, "fpr")) snprintf(fpr, sizeof fpr, ",fpr=%.17g", o->rate);
    if (!has_option(base, "memory")) {
        if (!bloom_memory(o->rate, (double)o->capacity, &bytes, err)) return false;
        snprintf(memory, sizeof memory, ",memory=%" PRIu64, bytes < 4096 ? 4096 : bytes);
    }
    char more[96];
    snprintf(more, sizeof more, "%s%s", fpr, memory);
    if (*more && !strchr(base, ':')) *more = ':'; /* the first option of the spec */
    int n = snprintf(spec, size, "%s%s", base, more);
    return n > 0 && (size_t)n < size;
}

static bool choose_spec(const bf_options *given, char *spec, size_t size, weir_error *err) {
    uint64_t bytes;
    bf_options o = *given;
    if (o.rate > 0.5) o.rate = 0.5; /* the highest that a filter is made for */
    if (strcmp(config.bf_spec, "bloom") != 0) return spec_from_setting(&o, spec, size, err);
    if (o.fixed) {
        snprintf(spec, size, "bloom:capacity=%" PRId64 ",fpr=%.17g", o.capacity, o.rate);
        return true;
    }
    /* A part counts as full a little before its capacity: it gets a fifth more. */
    if (!bloom_memory(o.rate / PARTS, 1.2 * (double)o.capacity, &bytes, err)) return false;
    snprintf(spec, size, "growing:most=%d,memory=%" PRIu64 ",fpr=%.17g,of=(bloom)", PARTS,
             PARTS * bytes, o.rate);
    return true;
}

/* The reply is given where it fails. */
static weir_value *make(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle,
                        const bf_options *o) {
    char spec[SPEC_SIZE];
    weir_error err = {.message = "the spec is too long"};
    if (!choose_spec(o, spec, sizeof spec, &err)) {
        reply_failure(ctx, &err);
        return NULL;
    }
    weir_value *value = create_value(ctx, spec, VALUE_FILTER);
    if (!value) return NULL;
    value->epoch = value_draw_epoch();
    create_at(ctx, name, handle, value);
    return value;
}

static int reply_rate_too_low(RedisModuleCtx *ctx) {
    return reply_error(ctx, "ERR bad error rate: the lowest is %g", BF_RATE_LEAST);
}

COMMAND(bf_reserve) {
    bf_options o = {.create = true};
    arguments args = {ctx, argv, argc, 4};
    int64_t expansion = 2;
    bool expands = false;
    if (RedisModule_StringToDouble(argv[2], &o.rate) != REDISMODULE_OK)
        return reply_error(ctx, "ERR bad error rate");
    if (!(o.rate > 0 && o.rate < 1)) return reply_error(ctx, "ERR (0 < error rate range < 1)");
    if (o.rate < BF_RATE_LEAST) return reply_rate_too_low(ctx);
    if (!integer_of(argv[3], &o.capacity) || o.capacity > BF_CAPACITY_MOST)
        return reply_error(ctx, "ERR bad capacity");
    if (o.capacity < CAPACITY_LEAST)
        return reply_error(ctx, "ERR (capacity should be larger than 0)");
    while (args.at < argc) {
        RedisModuleString *s;
        if (take_word(&args, "NONSCALING")) {
            o.fixed = true;
        } else if ((s = take_after(&args, "EXPANSION"))) {
            expands = true;
            if (!integer_of(s, &expansion) || expansion < 0)
                return reply_error(ctx, "ERR bad expansion");
        } else if (take_word(&args, "EXPANSION")) {
            return reply_error(ctx, "ERR no expansion");
        } else {
            return reply_error(ctx, "ERR Unknown argument received");
        }
    }
    if (o.fixed && expands) return reply_error(ctx, "Nonscaling filters cannot expand");
    o.fixed |= expands && expansion == 0;
    key_handle handle;
    key_state state =
        key_open(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    if (state == KEY_FOUND) reply_error(ctx, "ERR item exists");
    if (state == KEY_ABSENT && make(ctx, argv[1], &handle, &o))
        RedisModule_ReplyWithSimpleString(ctx, "OK");
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- adding ----------------------------------------------------------------------------------- */

static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const key_source *source,
                      size_t count) {
    if (source->has_time)
        RedisModule_Replicate(ctx, "WEIR.ADDWITH", "sclcv", key, "TIME", (long long)source->time,
                              "ITEMS", source->items, count);
    else RedisModule_Replicate(ctx, "WEIR.ADD", "sv", key, source->items, count);
}

static void reply_full(RedisModuleCtx *ctx) { reply_error(ctx, "ERR non scaling filter is full"); }

/* Where a filter that may not scale is full, the array ends with that error. */
static void reply_added(RedisModuleCtx *ctx, const key_batch *batch) {
    RedisModule_ReplyWithArray(ctx, (long)batch->count + batch->full);
    for (size_t i = 0; i < batch->count; i++)
        RedisModule_ReplyWithBool(ctx, batch_is_new(batch, i));
    if (batch->full) reply_full(ctx);
}

static void reply_one(RedisModuleCtx *ctx, const key_batch *batch) {
    if (batch->full) reply_full(ctx);
    else RedisModule_ReplyWithBool(ctx, batch_is_new(batch, 0));
}

/* False: no memory, nothing was added and the reply is given. */
static bool add_items(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                      key_source *source, batch_reply_fn *reply) {
    key_batch batch;
    const batch_task task = {.offer = true, .bounded = true, .reply = reply};
    source_said_time(source, value);
    if (large_begin(ctx, key, value, source, &task)) return true;
    if (!batch_take(ctx, &batch, value->filter, source)) return false;
    batch_run(&batch, value->filter, true, value_room(value));
    reply(ctx, &batch);
    if (batch.count) {
        replicate(ctx, key, source, batch.count);
        key_changed(ctx, key, "weir.add");
    }
    batch_free(&batch);
    return true;
}

static int insert(RedisModuleCtx *ctx, RedisModuleString *name, key_source items,
                  batch_reply_fn *reply, const bf_options *o) {
    key_handle handle;
    key_state state =
        key_open(ctx, name, VALUE_FILTER, REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    weir_value *value = handle.value;
    if (state == KEY_ABSENT && o->create) value = make(ctx, name, &handle, o);
    else if (state == KEY_ABSENT) reply_error(ctx, "ERR not found");
    if (value && !add_items(ctx, name, value, &items, reply) && state == KEY_ABSENT)
        key_drop(ctx, name, &handle); /* what was made for it */
    key_close(&handle);
    return REDISMODULE_OK;
}

static key_source items_from(RedisModuleString **argv, int argc, int from) {
    return (key_source){.items = argv + from, .count = (size_t)(argc - from)};
}

static bf_options standard_options(void) {
    return (bf_options){atof(config.bf_error), config.bf_capacity, false, true};
}

COMMAND(bf_add) {
    bf_options o = standard_options();
    return insert(ctx, argv[1], items_from(argv, argc, 2), reply_one, &o);
}

COMMAND(bf_madd) {
    bf_options o = standard_options();
    return insert(ctx, argv[1], items_from(argv, argc, 2), reply_added, &o);
}

COMMAND(bf_insert) {
    bf_options o = standard_options();
    int64_t expansion = 2;
    arguments args = {ctx, argv, argc, 2};
    while (args.at < argc && !word_is(argv[args.at], "ITEMS")) {
        RedisModuleString *s;
        if (take_word(&args, "NOCREATE")) {
            o.create = false;
        } else if (take_word(&args, "NONSCALING")) {
            o.fixed = true;
        } else if ((s = take_after(&args, "ERROR"))) {
            if (RedisModule_StringToDouble(s, &o.rate) != REDISMODULE_OK)
                return reply_error(ctx, "ERR Bad error rate");
        } else if ((s = take_after(&args, "CAPACITY"))) {
            if (!integer_of(s, &o.capacity) || o.capacity > BF_CAPACITY_MOST)
                return reply_error(ctx, "ERR Bad capacity");
        } else if ((s = take_after(&args, "EXPANSION"))) {
            if (!integer_of(s, &expansion)) return reply_error(ctx, "ERR Bad expansion");
        } else {
            return reply_error(ctx, "ERR Unknown argument received");
        }
    }
    if (args.at + 1 >= argc) return RedisModule_WrongArity(ctx);
    if (!(o.rate > 0 && o.rate < 1) || o.capacity < CAPACITY_LEAST || expansion < 0)
        return reply_error(ctx, "ERR Bad argument received");
    if (o.rate < BF_RATE_LEAST) return reply_rate_too_low(ctx);
    o.fixed |= expansion == 0;
    return insert(ctx, argv[1], items_from(argv, argc, args.at + 1), reply_added, &o);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void reply_exist(RedisModuleCtx *ctx, const key_batch *batch) {
    RedisModule_ReplyWithArray(ctx, (long)batch->count);
    for (size_t i = 0; i < batch->count; i++)
        RedisModule_ReplyWithBool(ctx, !batch_is_new(batch, i));
}

static void reply_exists(RedisModuleCtx *ctx, const key_batch *batch) {
    RedisModule_ReplyWithBool(ctx, !batch_is_new(batch, 0));
}

static void reply_absent(RedisModuleCtx *ctx, size_t count, bool several) {
    if (several) RedisModule_ReplyWithArray(ctx, (long)count);
    for (size_t i = 0; i < count; i++) RedisModule_ReplyWithBool(ctx, false);
}

static void test_items(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                       key_source *source, batch_reply_fn *reply) {
    key_batch batch;
    const batch_task task = {.reply = reply};
    source_said_time(source, value);
    if (large_begin(ctx, key, value, source, &task) ||
        !batch_take(ctx, &batch, value->filter, source))
        return;
    batch_run(&batch, value->filter, false, UINT64_MAX);
    reply(ctx, &batch);
    batch_free(&batch);
}

static int ask(RedisModuleCtx *ctx, RedisModuleString *name, key_source items,
               batch_reply_fn *reply) {
    key_handle handle;
    key_state state = key_open(ctx, name, VALUE_FILTER, REDISMODULE_READ, &handle);
    if (state == KEY_FOUND) test_items(ctx, name, handle.value, &items, reply);
    if (state == KEY_ABSENT) reply_absent(ctx, items.count, reply == reply_exist);
    key_close(&handle);
    return REDISMODULE_OK;
}

COMMAND(bf_exists) { return ask(ctx, argv[1], items_from(argv, argc, 2), reply_exists); }
COMMAND(bf_mexists) { return ask(ctx, argv[1], items_from(argv, argc, 2), reply_exist); }

COMMAND(bf_card) {
    (void)argc;
    key_handle handle;
    key_state state = key_open(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ, &handle);
    if (state == KEY_FOUND) reply_whole(ctx, value_distinct(handle.value));
    else if (state == KEY_ABSENT) RedisModule_ReplyWithLongLong(ctx, 0);
    key_close(&handle);
    return REDISMODULE_OK;
}

static void take_filters(void *context, const char *name, const char *value, const char *meaning) {
    (void)meaning;
    if (!strcmp(name, "filters")) *(uint64_t *)context = strtoull(value, NULL, 10);
}

static const struct {
    const char *option, *name;
} info_fields[] = {{"CAPACITY", "Capacity"},
                   {"SIZE", "Size"},
                   {"FILTERS", "Number of filters"},
                   {"ITEMS", "Number of items inserted"},
                   {"EXPANSION", "Expansion rate"}};
enum { INFO_FIELDS = sizeof info_fields / sizeof *info_fields };

static void reply_info_value(RedisModuleCtx *ctx, const weir_value *value, size_t field) {
    weir_filter_info info;
    uint64_t keys = value_distinct(value), filters = 1;
    weir_filter_get_info(value->filter, &info);
    weir_filter_details(value->filter, take_filters, &filters);
    const uint64_t numbers[] = {(uint64_t)info.room, value_memory(value), filters, keys};
    if (field < INFO_FIELDS - 1) reply_whole(ctx, numbers[field]);
    else if (strcmp(info.name, "growing") != 0) RedisModule_ReplyWithNull(ctx);
    else RedisModule_ReplyWithLongLong(ctx, 1); /* parts are alike */
}

static void reply_info(RedisModuleCtx *ctx, const weir_value *value) {
    RedisModule_ReplyWithMap(ctx, INFO_FIELDS);
    for (size_t i = 0; i < INFO_FIELDS; i++) {
        RedisModule_ReplyWithSimpleString(ctx, info_fields[i].name);
        reply_info_value(ctx, value, i);
    }
}

COMMAND(bf_info) {
    key_handle handle;
    size_t field = 0;
    if (argc > 3) return RedisModule_WrongArity(ctx);
    while (argc == 3 && field < INFO_FIELDS && !word_is(argv[2], info_fields[field].option))
        field++;
    if (field == INFO_FIELDS) return reply_error(ctx, "ERR Invalid information value");
    key_state state = key_open(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ, &handle);
    if (state == KEY_ABSENT) reply_error(ctx, "ERR not found");
    if (state == KEY_FOUND && argc == 2) reply_info(ctx, handle.value);
    if (state == KEY_FOUND && argc == 3) {
        RedisModule_ReplyWithArray(ctx, 1);
        reply_info_value(ctx, handle.value, field);
    }
    key_close(&handle);
    return REDISMODULE_OK;
}

/* --- in chunks: a chunk's iterator says where it ends, and whether it is the last ------------- */

enum { DUMP_CHUNK = 16 << 20 };
#define DUMP_LAST (UINT64_C(1) << 39) /* above every offset, below the number of the copy */
#define DUMP_MASK ((UINT64_C(1) << 40) - 1)

COMMAND(bf_scandump) {
    (void)argc;
    key_handle handle;
    uint64_t iterator;
    if (!whole_of(argv[2], &iterator))
        return reply_error(ctx, "ERR Second argument must be numeric");
    key_state state = key_open(ctx, argv[1], VALUE_FILTER, REDISMODULE_READ, &handle);
    if (state == KEY_ABSENT) reply_error(ctx, "ERR not found");
    if (state == KEY_FOUND) dump_chunk(ctx, argv[1], handle.value, iterator, DUMP_CHUNK, DUMP_LAST);
    key_close(&handle);
    return REDISMODULE_OK;
}

static void load_last(RedisModuleCtx *ctx, RedisModuleString **argv, key_handle *handle,
                      uint64_t begin) {
    char epoch[EPOCH_SIZE];
    weir_value *value = import_end(ctx, argv[1], handle, argv[3], VALUE_FILTER);
    if (!value) return;
    value->epoch = value_draw_epoch();
    snprintf(epoch, sizeof epoch, "%016" PRIx64, value->epoch);
    RedisModule_Replicate(ctx, "WEIR.IMPORT", "slsccc", argv[1], (long long)begin, argv[3], "LAST",
                          "EPOCH", epoch);
    RedisModule_ReplyWithSimpleString(ctx, "OK");
    key_changed(ctx, argv[1], "weir.import");
}

/* Is there a filter that gives way to the first chunk? False: the reply is given. */
static bool make_way(RedisModuleCtx *ctx, RedisModuleString *name, size_t length) {
    key_handle handle;
    key_state state = key_open(ctx, name, VALUE_FILTER | VALUE_IMPORT,
                               REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    bool room = length <= memory_left(ctx);
    if (state != KEY_REFUSED && !room) reply_no_memory(ctx);
    if (state == KEY_FOUND && room && handle.value->kind == VALUE_FILTER)
        key_drop(ctx, name, &handle);
    key_close(&handle);
    return state != KEY_REFUSED && room;
}

COMMAND(bf_loadchunk) {
    (void)argc;
    key_handle handle = {0};
    uint64_t iterator;
    size_t length;
    if (!whole_of(argv[2], &iterator))
        return reply_error(ctx, "ERR Second argument must be numeric");
    text_of(argv[3], &length);
    bool last = iterator & DUMP_LAST;
    uint64_t end = iterator & DUMP_MASK & ~DUMP_LAST;
    if (end < length) return reply_error(ctx, "ERR received bad data");
    if (end == length && !make_way(ctx, argv[1], length)) return REDISMODULE_OK;
    const weir_value *import = import_chunk(ctx, argv[1], end - length, argv[3], &handle);
    if (import && last) {
        load_last(ctx, argv, &handle, end - length);
    } else if (import) {
        RedisModule_Replicate(ctx, "WEIR.IMPORT", "sls", argv[1], (long long)(end - length),
                              argv[3]);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
        key_changed(ctx, argv[1], "weir.import");
    }
    key_close(&handle);
    return REDISMODULE_OK;
}
