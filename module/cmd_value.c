/* cmd_value.c - WEIR.CREATE and WEIR.INFO: what filters and sketches have in common. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* --- WEIR.CREATE ------------------------------------------------------------------------------ */

typedef struct {
    bool if_absent, sketch, has_epoch;
    uint64_t epoch;
} create_options;

static bool read_create(arguments *args, create_options *o) {
    RedisModuleString *s;
    while (args->at < args->argc) {
        if (take_word(args, "IFABSENT")) {
            o->if_absent = true;
        } else if (take_word(args, "SKETCH")) {
            o->sketch = true;
        } else if ((s = take_after(args, "EPOCH"))) {
            o->has_epoch = hex_of(s, &o->epoch);
            if (o->has_epoch) continue;
            reply_error(args->ctx, "ERR EPOCH must be up to 16 hexadecimal digits");
            return false;
        } else {
            reply_unknown_word(args);
            return false;
        }
    }
    return true;
}

weir_value *create_value(RedisModuleCtx *ctx, const char *spec, unsigned kinds) {
    weir_value *value;
    weir_error err = {0};
    if (value_new(&value, spec, kinds, memory_left(ctx), &err) == WEIR_OK) return value;
    reply_failure(ctx, &err);
    return NULL;
}

void create_at(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle,
               weir_value *value) {
    char spec[SPEC_SIZE], epoch[EPOCH_SIZE];
    value_spec(value, spec, sizeof spec);
    snprintf(epoch, sizeof epoch, "%016" PRIx64, value->epoch);
    key_set(handle, value);
    if (value->kind == VALUE_SKETCH)
        RedisModule_Replicate(ctx, "WEIR.CREATE", "scccc", name, spec, "SKETCH", "EPOCH", epoch);
    else RedisModule_Replicate(ctx, "WEIR.CREATE", "sccc", name, spec, "EPOCH", epoch);
    key_changed(ctx, name, "weir.create");
}

static void create(RedisModuleCtx *ctx, RedisModuleString **argv, const create_options *o) {
    char text[SPEC_SIZE];
    key_handle handle;
    const char *spec = spec_of(argv[2], text, sizeof text);
    key_state state = key_open(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH | VALUE_IMPORT,
                               REDISMODULE_READ | REDISMODULE_WRITE, &handle);
    weir_value *value = NULL;
    if (state == KEY_FOUND) {
        if (o->if_absent) RedisModule_ReplyWithNull(ctx);
        else reply_error(ctx, "ERR key exists: delete it first, or say IFABSENT");
    } else if (state == KEY_ABSENT && !spec) {
        reply_error(ctx, "ERR the spec is too long, or has a byte 0 in it");
    } else if (state == KEY_ABSENT) {
        value = create_value(ctx, spec, o->sketch ? VALUE_SKETCH : VALUE_FILTER | VALUE_SKETCH);
    }
    if (value) {
        value->epoch = o->has_epoch ? o->epoch : value_draw_epoch();
        create_at(ctx, argv[1], &handle, value);
        RedisModule_ReplyWithSimpleString(ctx, "OK");
    }
    key_close(&handle);
}

COMMAND(cmd_create) {
    create_options o = {0};
    arguments args = {ctx, argv, argc, 3};
    if (read_create(&args, &o)) create(ctx, argv, &o);
    return REDISMODULE_OK;
}

/* --- WEIR.INFO -------------------------------------------------------------------------------- */

typedef struct {
    RedisModuleCtx *ctx;
    long pairs;
} info_writer;

static void put_text(info_writer *w, const char *name, const char *text) {
    reply_field(w->ctx, name, text);
    w->pairs++;
}
static void put_whole(info_writer *w, const char *name, uint64_t number) {
    reply_field_whole(w->ctx, name, number);
    w->pairs++;
}
static void put_number(info_writer *w, const char *name, double number) {
    reply_field_number(w->ctx, name, number);
    w->pairs++;
}

static void put_detail(void *context, const char *name, const char *value, const char *meaning) {
    (void)meaning;
    char field[64];
    snprintf(field, sizeof field, "detail:%s", name);
    put_text(context, field, value);
}

double spec_number(const weir_value *value, const char *name) {
    char spec[SPEC_SIZE], number[64] = "0";
    value_spec(value, spec, sizeof spec);
    weir_spec_get(spec, name, number, sizeof number);
    return atof(number);
}

static void put_common(info_writer *w, const weir_value *value, const char *name, uint64_t seed) {
    char spec[SPEC_SIZE], epoch[EPOCH_SIZE], hash[32];
    value_spec(value, spec, sizeof spec);
    snprintf(epoch, sizeof epoch, "%016" PRIx64, value->epoch);
    put_text(w, "type", value->kind == VALUE_FILTER ? "filter" : "sketch");
    put_text(w, "name", name);
    put_text(w, "spec", spec);
    put_whole(w, "seed", seed);
    if (!weir_spec_get(spec, "hash", hash, sizeof hash)) *hash = 0;
    put_text(w, "hash", hash);
    put_whole(w, "hash_version", WEIR_HASH_VERSION);
    put_text(w, "epoch", epoch);
}

static void info_of_filter(info_writer *w, const weir_value *value) {
    weir_filter_info i;
    weir_filter_get_info(value->filter, &i);
    put_common(w, value, i.name, i.seed);
    put_whole(w, "offered", i.offered);
    put_whole(w, "seen", i.seen);
    put_whole(w, "memory", i.memory);
    put_number(w, "fill", i.fill);
    put_number(w, "fpr", i.fpr_bound);
    put_number(w, "fpr_now", i.fpr_now);
    put_whole(w, "overfull", i.overfull);
    put_whole(w, "keeps_all", i.keeps_all);
    put_number(w, "room", i.room);
    put_whole(w, "window", (uint64_t)i.window);
    put_whole(w, "window_is_time", i.window_is_time);
    put_whole(w, "uses_importance", i.uses_importance);
    put_whole(w, "uses_producers", i.uses_producers);
    put_whole(w, "producers", value->last ? value->last->count : 0);
    weir_filter_details(value->filter, put_detail, w);
}

static void info_of_sketch(info_writer *w, const weir_value *value) {
    weir_sketch_info i;
    weir_sketch_get_info(value->sketch, &i);
    put_common(w, value, i.name, i.seed);
    put_whole(w, "offered", i.updates);
    put_number(w, "total", i.total);
    put_whole(w, "memory", i.memory);
    put_number(w, "error", i.error);
    put_number(w, "confidence", i.confidence);
    put_whole(w, "overfull", i.overfull);
    put_whole(w, "producers", value->last ? value->last->count : 0);
    weir_sketch_details(value->sketch, put_detail, w);
}

COMMAND(cmd_info) {
    (void)argc;
    key_handle handle;
    info_writer w = {ctx, 0};
    if (!key_need(ctx, argv[1], VALUE_FILTER | VALUE_SKETCH, REDISMODULE_READ, &handle))
        return REDISMODULE_OK;
    RedisModule_ReplyWithMap(ctx, REDISMODULE_POSTPONED_LEN);
    if (handle.value->kind == VALUE_FILTER) info_of_filter(&w, handle.value);
    else info_of_sketch(&w, handle.value);
    RedisModule_ReplySetMapLength(ctx, w.pairs);
    key_close(&handle);
    return REDISMODULE_OK;
}
