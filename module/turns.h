/* turns.h - work that would keep the server busy for more than a few milliseconds, in turns. */
#ifndef WEIR_MODULE_TURNS_H
#define WEIR_MODULE_TURNS_H

#include "module.h"

/* What is to be done at a key. `work` is the command's own; all get it. */
typedef struct {
    value_kind kind;   /* of the value */
    const char *event; /* of a change; NULL: nothing is ever changed */
    /* Some of the work, replicated; true: the value has changed. */
    bool (*stretch)(RedisModuleCtx *ctx, void *work, RedisModuleString *key, weir_value *value);
    bool (*is_done)(const void *work);
    void (*reply)(RedisModuleCtx *ctx, const void *work); /* when it is done */
    void (*release)(void *work);
} turn_task;

/* May the client wait, and is it for us to decide? Else all is to be done at once. */
bool turns_possible(RedisModuleCtx *ctx);

/* Do a stretch after the other until all are done, and serve others in between; then reply. The
 * work is released at the end. False: no memory, and nothing has begun. */
bool turns_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const turn_task *task, void *work);

#endif
