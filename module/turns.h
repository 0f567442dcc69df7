/* turns.h - work that would keep the server busy for more than a few milliseconds, in turns. */
#ifndef WEIR_MODULE_TURNS_H
#define WEIR_MODULE_TURNS_H

#include "module.h"

/* What is to be done at a key. `work` is the command's own; all get it. */
typedef struct {
    value_kind kind;   /* of the value */
    const char *event; /* of a change; NULL: nothing is ever changed */
    /* Some of the work, replicated; true: the value has changed. Where a piece of it may take long
     * a stretch ends with the turn. */
    bool (*stretch)(RedisModuleCtx *ctx, void *work, RedisModuleString *key, weir_value *value,
                    int64_t end);
    bool (*is_done)(const void *work);
    /* Some of the reply, when it is done; true: that was the last of it. */
    bool (*reply)(RedisModuleCtx *ctx, void *work);
    void (*release)(void *work);
} turn_task;

/* Is the turn over that ends then? NO_END: never. */
#define NO_END INT64_MAX
bool turn_is_over(int64_t end);

/* May the client wait, and is it for us to decide? Else all is to be done at once. */
bool turns_possible(RedisModuleCtx *ctx);

/* Do a stretch after the other until all are done, and serve others in between; then reply. The
 * work is released at the end. False: no memory, and nothing has begun. */
bool turns_begin(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                 const turn_task *task, void *work);

#endif
