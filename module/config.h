/* config.h - what the server's configuration says of the module: CONFIG GET weir.* */
#ifndef WEIR_MODULE_CONFIG_H
#define WEIR_MODULE_CONFIG_H

#include "module.h"

typedef struct {
    char bf_spec[SPEC_SIZE]; /* what BF.RESERVE makes; "bloom": by its arguments */
    char bf_error[32];       /* the rate of a filter that BF.ADD makes */
    long long bf_capacity;   /* and its capacity */
    long long cms_seed;      /* of the sketches of CMS.*, so that they can be merged */
    bool huge_pages;         /* ask the system for them */
    bool redisbloom;         /* take the names BF.*, CMS.* and TOPK.* */
} module_config;
extern module_config config;

/* What BF.RESERVE, BF.INSERT and the settings take. A filter is made for 1e-9 at the lowest, and
 * those that may scale are several that share the rate; the capacity is beyond any memory. */
#define BF_RATE_LEAST 1e-8
#define BF_CAPACITY_MOST INT64_C(100000000000000)

/* A setting: its name, default and meaning, for the server, the docs and the man page. */
typedef struct {
    const char *name, *standard, *meaning;
    bool fixed; /* only when the server starts */
} setting;
extern const setting settings[];

int config_register(RedisModuleCtx *ctx);

#endif
