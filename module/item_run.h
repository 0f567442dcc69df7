/* item_run.h - the items of a command at a sketch, counted or asked for.
 *
 * The items are taken in groups: all of a group are hashed, their memory is asked for, and then
 * they are dealt with one after the other, as if each had come alone. So what a sketch holds does
 * not depend on how the items were cut into commands or groups. Where that takes longer than a
 * turn (turns.h) others are served in between.
 */
#ifndef WEIR_MODULE_ITEM_RUN_H
#define WEIR_MODULE_ITEM_RUN_H

#include "turns.h"

typedef struct item_run item_run;

typedef enum {
    ITEM_DONE,    /* counted or answered */
    ITEM_SKIPPED, /* not counted; its answer says so */
    ITEM_REFUSED  /* and so are those behind it: run->refused says why */
} item_outcome;

/* What a command does with an item, and what it replies. */
typedef struct {
    bool counts;        /* the sketch changes: what was counted goes to replicas */
    bool slow;          /* one item may take long */
    bool listed;        /* the answer stands in the list beside the sketch */
    size_t step;        /* strings to an item: 2 with its weight */
    size_t answer_size; /* bytes that are kept of each */

    /* Optional, before each stretch of items: false where memory is wanting, as above. */
    bool (*prepare)(weir_value *value);
    item_outcome (*each)(item_run *run, weir_value *value, size_t i, uint64_t hash);

    /* At the end: its head, which may be all; true: then those of the items follow. */
    bool (*begin_reply)(RedisModuleCtx *ctx, const item_run *run);
    void (*reply)(RedisModuleCtx *ctx, const item_run *run, const void *answer);

    void (*free_answer)(void *answer); /* optional */
} item_task;

struct item_run {
    const item_task *task;
    RedisModuleString **strings;
    size_t count, done, replied; /* items */
    bool has_time, stopped, taken;
    int64_t time;
    weir_estimator by;
    weir_error refused; /* without a code: no memory */
    uint8_t *answers;
};

/* Some ways to begin a reply: with an error, and with an array unless there was one. */
bool reply_refusal(RedisModuleCtx *ctx, const item_run *run);
bool reply_array(RedisModuleCtx *ctx, const item_run *run);

/* What is given: task, strings (those of the command), count, time and by. Replies. */
void item_run_start(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, item_run *run);

static inline RedisModuleString *item_at(const item_run *run, size_t i) {
    return run->strings[i * run->task->step];
}
static inline RedisModuleString *weight_at(const item_run *run, size_t i) {
    return run->strings[i * run->task->step + 1];
}

/* Where the answer of item i is to be written: answer_size bytes of zero. */
static inline void *answer_at(const item_run *run, size_t i) {
    return run->answers + i * run->task->answer_size;
}

/* Count item i of a run; false: it is refused, and run->refused says why. */
bool item_count(item_run *run, weir_value *value, size_t i, uint64_t hash, weir_updates *update);

#endif
