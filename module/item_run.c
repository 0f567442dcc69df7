/* item_run.c - many items at a sketch, in groups and in turns; see item_run.h. */
#include "item_run.h"

#include <string.h>

enum {
    GROUP = 64,    /* items whose memory is asked for together */
    STRETCH = 256, /* items, replicated as one command */
    FEW = 64,      /* items: so many are dealt with at once */
    REPLIES = 256, /* items, replied before the clock is looked at */
    LOOK_EACH = 4  /* items that may take long, before the clock is looked at */
};
#define COUNTED "weir.count" /* the event */

/* --- counting --------------------------------------------------------------------------------- */

bool item_count(item_run *run, weir_value *value, size_t i, uint64_t hash, weir_updates *update) {
    size_t length;
    const char *item = text_of(item_at(run, i), &length);
    update->hashes = &hash;
    update->times = run->has_time ? &run->time : NULL;
    return weir_sketch_add_key(value->sketch, item, length, update, &run->refused) == WEIR_OK;
}

/* Items that were counted, each with its weight. */
typedef struct {
    RedisModuleString *strings[2 * STRETCH], *one;
    size_t count; /* strings */
} counted;

static void note_counted(counted *c, const item_run *run, size_t i) {
    c->strings[c->count++] = item_at(run, i);
    c->strings[c->count++] = run->task->step == 2 ? weight_at(run, i) : c->one;
}

static void replicate(RedisModuleCtx *ctx, RedisModuleString *key, const item_run *run,
                      counted *c) {
    if (run->has_time)
        RedisModule_Replicate(ctx, "WEIR.COUNTWITH", "sclcv", key, "TIME", (long long)run->time,
                              "ITEMS", c->strings, c->count);
    else RedisModule_Replicate(ctx, "WEIR.COUNT", "sv", key, c->strings, c->count);
}

/* --- a stretch -------------------------------------------------------------------------------- */

/* Hash the next items, and ask for their memory. */
static void look_ahead(const item_run *run, const weir_sketch *sketch, size_t count,
                       uint64_t *hashes) {
    for (size_t i = 0; i < count; i++) {
        size_t length;
        const char *item = text_of(item_at(run, run->done + i), &length);
        hashes[i] = weir_sketch_hash(sketch, item, length);
    }
    if (!run->task->listed) weir_sketch_prefetch(sketch, hashes, count);
}

static void run_group(item_run *run, weir_value *value, int64_t end, counted *c) {
    uint64_t hashes[GROUP];
    size_t left = run->count - run->done, count = left < GROUP ? left : GROUP;
    look_ahead(run, value->sketch, count, hashes);
    for (size_t i = 0; i < count; i++, run->done++) {
        if (i % LOOK_EACH == 1 && run->task->slow && turn_is_over(end)) return;
        item_outcome outcome = run->task->each(run, value, run->done, hashes[i]);
        run->stopped = outcome == ITEM_REFUSED;
        if (run->stopped) return;
        if (run->task->counts && outcome == ITEM_DONE) note_counted(c, run, run->done);
    }
}

static bool is_done(const void *work) {
    const item_run *run = work;
    return run->stopped || run->done == run->count;
}

static bool is_prepared(item_run *run, weir_value *value) {
    if (!run->task->prepare || run->task->prepare(value)) return true;
    run->refused = (weir_error){0};
    run->stopped = true;
    return false;
}

static bool stretch(RedisModuleCtx *ctx, void *work, RedisModuleString *key, weir_value *value,
                    int64_t end) {
    item_run *run = work;
    counted c = {.count = 0, .one = NULL};
    size_t from = run->done;
    if (!is_prepared(run, value)) return false;
    if (run->task->step == 1 && run->task->counts) c.one = RedisModule_CreateString(ctx, "1", 1);
    for (size_t groups = 0; groups < STRETCH / GROUP && !is_done(run); groups++) {
        run_group(run, value, end, &c);
        if (run->task->slow && turn_is_over(end)) break;
    }
    if (c.count) replicate(ctx, key, run, &c);
    if (c.one) RedisModule_FreeString(ctx, c.one);
    for (size_t i = from * run->task->step; run->taken && i < run->done * run->task->step; i++)
        RedisModule_FreeString(NULL, run->strings[i]);
    return c.count > 0;
}

/* --- the reply -------------------------------------------------------------------------------- */

static void drop_answer(const item_run *run, size_t i) {
    if (run->task->free_answer) run->task->free_answer(answer_at(run, i));
}

static bool reply_some(RedisModuleCtx *ctx, void *work) {
    item_run *run = work;
    if (!run->replied && !run->task->begin_reply(ctx, run)) return true;
    for (size_t i = 0; i < REPLIES && run->replied < run->count; i++, run->replied++) {
        run->task->reply(ctx, run, answer_at(run, run->replied));
        drop_answer(run, run->replied);
    }
    return run->replied == run->count;
}

bool reply_refusal(RedisModuleCtx *ctx, const item_run *run) {
    if (run->refused.code) reply_failure(ctx, &run->refused);
    else reply_no_memory(ctx);
    return false;
}

bool reply_array(RedisModuleCtx *ctx, const item_run *run) {
    if (run->stopped) return reply_refusal(ctx, run);
    RedisModule_ReplyWithArray(ctx, (long)run->count);
    return true;
}

/* --- all of them ------------------------------------------------------------------------------ */

static void free_answers(item_run *run) {
    for (size_t i = run->replied; i < run->count; i++) drop_answer(run, i);
    RedisModule_Free(run->answers);
}

static void release(void *work) {
    item_run *run = work;
    size_t step = run->task->step;
    for (size_t i = run->done * step; i < run->count * step; i++)
        RedisModule_FreeString(NULL, run->strings[i]);
    RedisModule_Free(run->strings);
    free_answers(run);
    RedisModule_Free(run);
}

/* The same, with strings that live on when the command is over; NULL: no memory. */
static item_run *take_over(const item_run *run) {
    size_t strings = run->count * run->task->step;
    item_run *own = RedisModule_TryAlloc(sizeof *own);
    RedisModuleString **taken = RedisModule_TryAlloc(strings * sizeof(void *));
    if (!own || !taken) {
        RedisModule_Free(own);
        RedisModule_Free(taken);
        return NULL;
    }
    *own = *run;
    own->taken = true;
    own->strings = taken;
    for (size_t i = 0; i < strings; i++) {
        taken[i] = run->strings[i];
        RedisModule_RetainString(NULL, taken[i]);
    }
    return own;
}

/* False: they are to be dealt with at once. */
static bool begin_turns(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                        const item_run *run) {
    const turn_task turns = {.kind = VALUE_SKETCH,
                             .event = run->task->counts ? COUNTED : NULL,
                             .stretch = stretch,
                             .is_done = is_done,
                             .reply = reply_some,
                             .release = release};
    if (run->count <= FEW || !turns_possible(ctx)) return false;
    item_run *own = take_over(run);
    if (!own) return false;
    if (turns_begin(ctx, key, value, &turns, own)) return true;
    own->answers = NULL; /* they are still those of `run` */
    own->replied = own->count;
    release(own);
    return false;
}

static void run_at_once(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value,
                        item_run *run) {
    bool changed = false;
    while (!is_done(run)) changed |= stretch(ctx, run, key, value, NO_END);
    if (changed) key_changed(ctx, key, COUNTED);
    bool all;
    do all = reply_some(ctx, run);
    while (!all);
    free_answers(run);
}

void item_run_start(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, item_run *run) {
    size_t bytes = run->count * run->task->answer_size;
    run->answers = bytes ? RedisModule_TryAlloc(bytes) : NULL;
    if (bytes && !run->answers) {
        reply_no_memory(ctx);
        return;
    }
    if (bytes) memset(run->answers, 0, bytes);
    if (!begin_turns(ctx, key, value, run)) run_at_once(ctx, key, value, run);
}
