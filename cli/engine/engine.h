/* engine.h - the loop that dedup, count, pairs and plan share.
 *
 * The engine reads batches, chooses the records that can be used, hands them to a consumer,
 * and between batches saves the state, writes metrics, shows progress and asks for running
 * answers, each when it is due. What a batch means is the consumer's business:
 *
 *     read -> select -> consumer.take -> (output) -> save -> report
 *
 * It ends in one of four ways, for every command alike: all was read, a signal came, nobody
 * reads the output any more, or something went wrong and a message was printed.
 */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

#include <stdio.h>

#include "reading.h"
#include "run_output.h"
#include "state_lock.h"

typedef enum {
    ENGINE_GO_ON,
    ENGINE_ALL_READ,
    ENGINE_STOPPED, /* by a signal */
    ENGINE_CLOSED,  /* nobody reads the output any more */
    ENGINE_TROUBLE  /* a message has been printed */
} engine_outcome;

/* What a command does with records; all functions get engine.context. take is needed, the
 * others may be NULL. */
typedef struct {
    engine_outcome (*take)(void *context, const stream_batch *batch);

    /* Everything that has come is taken, and the engine is about to wait. */
    engine_outcome (*rest)(void *context);

    /* After each batch; now is on the monotonic clock, ns. */
    engine_outcome (*look)(void *context, int64_t now);

    /* Write the state; with engine.output, what was written so far is on the disk. */
    engine_outcome (*save)(void *context, bool complete);

    /* The state is saved: others may be told so. */
    engine_outcome (*saved)(void *context);

    /* engine.answer_every has passed. */
    engine_outcome (*answer)(void *context);

    /* The input has ended, well or badly: wait for threads of the consumer's own. */
    engine_outcome (*finish)(void *context);

    /* Say an error of the reader in words that a person knows. */
    void (*word)(void *context, stream_error *err);

    /* Records so far, and how many of them were repeats (PROGRESS_NO_REPEATS: not known). */
    void (*count)(void *context, uint64_t *records, uint64_t *seen);

    /* The latest time of a record so far, INT64_MIN without one: for consumers whose records
     * engine.rules do not select. */
    int64_t (*newest)(void *context);

    /* Samples for --metrics besides the engine's own. */
    void (*measure)(void *context, FILE *out);
} engine_consumer;

typedef struct {
    const engine_consumer *consumer;
    void *context;
    const reading *from;
    stream_reader *reader;
    stream_rules rules;
    stream_selection selection;
    run_output *output;   /* or NULL */
    const char *state;    /* file, or NULL */
    int64_t save_every;   /* ns; of the state and of the metrics */
    int64_t answer_every; /* ns; 0: only at the end */
    bool on_screen;       /* records go to a terminal */
    bool save_now;        /* a consumer's look() wants the state saved before it is due */
    bool time_seen;       /* a record with a time has come */
    bool idle;            /* everything that has come is passed on */
    int wait_most;        /* ms between looks while idle; 0: any time */

    int64_t started, saved, answered, measured; /* on the monotonic clock, ns */
    uint64_t records_saved;                     /* records at the last save */
    uint64_t records_before;                    /* of the run that is resumed */
    uint64_t records_measured;                  /* at the last write of the metrics */
    state_lock lock;
} engine;

/* An engine at rest: what from says of records, and no clock. */
void engine_init(engine *e, const engine_consumer *consumer, void *context, const reading *from);

/* Open files with options that the consumer has completed; then an interrupt stops the wait
 * for them. EXIT_DONE, or EXIT_TROUBLE after a message. */
int engine_open(engine *e, const stream_options *in, const char *const *files, size_t file_count);

/* Lock the state file, if there is one, and say whether it exists. */
int engine_lock_state(engine *e, bool *exists);

/* Begin to show progress, and set the clocks. */
void engine_start(engine *e);

/* Save the state now. */
engine_outcome engine_save(engine *e, bool complete);

/* Run until the input ends, a signal comes or something goes wrong. */
engine_outcome engine_run(engine *e);

/* After engine_run(): a last save, and the output whole or as it was. bytes_out, if not NULL,
 * gets what was written by this run. */
engine_outcome engine_conclude(engine *e, engine_outcome how, uint64_t *bytes_out);

/* Close the reader and the output, drop the lock. */
void engine_release(engine *e);

/* The exit code of a run that ended so. Does not return if the reader of the output has left:
 * the process then ends by SIGPIPE as any filter does. Call it when all is released. */
int engine_exit(engine_outcome how);

/* Choose records of a batch by e->rules into e->selection. A record that is not allowed is
 * worded and printed by engine_refuse(), after those before it were dealt with. */
engine_outcome engine_select(engine *e, const stream_batch *batch);
engine_outcome engine_refuse(engine *e, const stream_batch *batch);

/* The message of engine_refuse(), for a thread of the consumer. */
void engine_word_record(const stream_reader *reader, const stream_rules *rules,
                        const stream_batch *batch, const stream_selection *selection,
                        stream_error *err);

/* Print what a stream call said, unless the output was closed. */
engine_outcome engine_fail(engine *e, stream_status status, stream_error *err);
engine_outcome engine_no_memory(void);

/* Flush standard output: ENGINE_GO_ON, ENGINE_CLOSED or ENGINE_TROUBLE. */
engine_outcome engine_flush_stdout(void);

#endif
