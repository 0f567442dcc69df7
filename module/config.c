/* config.c - settings, which the server reads, sets and saves as its own. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

enum { SET_BF_SPEC, SET_BF_ERROR, SET_BF_CAPACITY, SET_CMS_SEED, SET_HUGE_PAGES, SET_REDISBLOOM };

const setting settings[] = {
    [SET_BF_SPEC] =
        {"bf-spec", "bloom",
         "what BF.RESERVE makes: any filter's spec, to which the rate and the capacity are "
         "added unless it has fpr= and memory=; a value may forget, as `recent` does",
         false},
    [SET_BF_ERROR] = {"bf-error-rate", "0.01", "false positive rate of a filter that BF.ADD makes",
                      false},
    [SET_BF_CAPACITY] = {"bf-initial-size", "100", "capacity of a filter that BF.ADD makes", false},
    [SET_CMS_SEED] = {"cms-seed", "0",
                      "seed of all sketches that CMS.* makes: those of one seed can be merged",
                      false},
    [SET_HUGE_PAGES] = {"huge-pages", "yes",
                        "ask the system for huge pages of 2 MiB for values that are larger; one is "
                        "copied as a whole when it is written to while the server saves",
                        false},
    [SET_REDISBLOOM] = {"redisbloom", "yes",
                        "take the commands BF.*, CMS.* and TOPK.*, if no other module has them",
                        true},
    {0},
};

module_config config;

static int refuse(RedisModuleString **err, const char *message) {
    *err = RedisModule_CreateString(NULL, message, strlen(message));
    return REDISMODULE_ERR;
}

static RedisModuleString *get_text(const char *name, void *data) {
    (void)name;
    return RedisModule_CreateString(NULL, data, strlen(data));
}

/* A spec that makes nothing now would make nothing later either. */
static int set_spec(const char *name, RedisModuleString *value, void *data,
                    RedisModuleString **err) {
    (void)name;
    char text[SPEC_SIZE], message[sizeof((weir_error){0}).message];
    weir_filter *filter = NULL;
    weir_error why = {0};
    if (!spec_of(value, text, sizeof text)) return refuse(err, "the spec is too long");
    if (strcmp(text, "bloom") != 0 && weir_filter_new(&filter, text, &why) == WEIR_ERR_SPEC) {
        strcpy(message, why.message);
        return refuse(err, message);
    }
    weir_filter_free(filter);
    strcpy(data, text);
    return REDISMODULE_OK;
}

static int set_error(const char *name, RedisModuleString *value, void *data,
                     RedisModuleString **err) {
    (void)name;
    double rate;
    if (RedisModule_StringToDouble(value, &rate) != REDISMODULE_OK ||
        !(rate >= BF_RATE_LEAST && rate < 1) || !spec_of(value, data, sizeof config.bf_error))
        return refuse(err, "a rate is a number from 1e-08 to below 1");
    return REDISMODULE_OK;
}

static long long get_number(const char *name, void *data) {
    (void)name;
    return *(long long *)data;
}
static int set_number(const char *name, long long value, void *data, RedisModuleString **err) {
    (void)name;
    (void)err;
    *(long long *)data = value;
    return REDISMODULE_OK;
}

static int get_bool(const char *name, void *data) {
    (void)name;
    return *(bool *)data;
}
static int set_bool(const char *name, int value, void *data, RedisModuleString **err) {
    (void)name;
    (void)err;
    *(bool *)data = value;
    return REDISMODULE_OK;
}

static int numeric(RedisModuleCtx *ctx, const setting *s, long long low, long long high,
                   void *data) {
    return RedisModule_RegisterNumericConfig(ctx, s->name, atoll(s->standard),
                                             REDISMODULE_CONFIG_DEFAULT, low, high, get_number,
                                             set_number, NULL, data);
}

static int text(RedisModuleCtx *ctx, const setting *s, RedisModuleConfigSetStringFunc set,
                void *data) {
    return RedisModule_RegisterStringConfig(ctx, s->name, s->standard, REDISMODULE_CONFIG_DEFAULT,
                                            get_text, set, NULL, data);
}

static int truth(RedisModuleCtx *ctx, const setting *s, bool *data) {
    return RedisModule_RegisterBoolConfig(ctx, s->name, strcmp(s->standard, "yes") == 0,
                                          s->fixed ? REDISMODULE_CONFIG_IMMUTABLE
                                                   : REDISMODULE_CONFIG_DEFAULT,
                                          get_bool, set_bool, NULL, data);
}

int config_register(RedisModuleCtx *ctx) {
    const setting *s = settings;
    return text(ctx, &s[SET_BF_SPEC], set_spec, config.bf_spec) != REDISMODULE_OK ||
           text(ctx, &s[SET_BF_ERROR], set_error, config.bf_error) != REDISMODULE_OK ||
           numeric(ctx, &s[SET_BF_CAPACITY], 1, BF_CAPACITY_MOST, &config.bf_capacity) !=
               REDISMODULE_OK ||
           numeric(ctx, &s[SET_CMS_SEED], 0, INT64_MAX, &config.cms_seed) != REDISMODULE_OK ||
           truth(ctx, &s[SET_HUGE_PAGES], &config.huge_pages) != REDISMODULE_OK ||
           truth(ctx, &s[SET_REDISBLOOM], &config.redisbloom) != REDISMODULE_OK ||
           RedisModule_LoadConfigs(ctx) != REDISMODULE_OK;
}
