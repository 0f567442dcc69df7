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

/* A setting: its name, default and meaning, for the server, the docs and the man page. */
typedef struct {
    const char *name, *standard, *meaning;
    bool fixed; /* only when the server starts */
} setting;
extern const setting settings[];

int config_register(RedisModuleCtx *ctx);

#endif
