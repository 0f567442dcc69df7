/* run_shared.h - a run over streams whose filter stands on servers.
 *
 * What such a filter has called NEW it will not call NEW again, so a run that is killed must be
 * able to find out what it had been told. Before a batch is offered a note is put beside the
 * filter (weir_remote.h): the ids of its messages, the ticket by which their verdicts can be
 * asked for again, and where the sink ended. Then
 *
 *     1  the slices are asked
 *     2  what is NEW is sent, and the sink has it
 *     3  the source is told that the batch is dealt with (settled)
 *
 * and only then comes the next batch. So at any instant one batch at most is open. Whoever comes
 * after a run that was killed reads its note, sends the ticket again and reads the sink from the
 * place in the note on. Then it knows of each message of that batch whether it was NEW, SEEN or has
 * already been sent: these are its doubts. When a message in doubt comes, it is not offered: what
 * is known of it counts.
 *
 * A run begins with its own note. Those of others in the group are read when a message comes that
 * may have been given to another consumer before, and taken over if such a message is in them.
 * Opening the sink by the name of the other makes sure that it is gone: see run_streams.h.
 */
#ifndef WEIR_RUN_SHARED_H
#define WEIR_RUN_SHARED_H

#include "engine.h"
#include "run_streams.h"

enum { RUN_SHARED_NAME = 512 };

typedef enum { DOUBT_NEW, DOUBT_SEEN, DOUBT_SENT } doubt_verdict;

typedef struct {
    broker_id id;
    doubt_verdict verdict;
    bool used; /* the message has come, and is settled before the next batch */
} run_doubt;

typedef struct {
    weir_remote *remote;
    run_streams *streams;
    char name[RUN_SHARED_NAME];    /* of our note */
    char token[RUN_STREAMS_ID];    /* of this process */
    char expected[RUN_STREAMS_ID]; /* of who wrote our note last; "": nobody */
    char *from, *to;               /* as run_streams_name() has them */
    run_doubt *doubts;             /* by id */
    size_t doubt_count, doubt_room;
    int64_t until; /* when doubts about messages that never came are dropped, monotonic ns */

    /* room for one batch: the keys that are offered */
    size_t room;
    uint64_t *hashes, *verdicts;
    int64_t *times;
    double *importances;
    uint32_t *from_at;
} run_shared;

/* Open the sink, and find out what the run before us has left open. EXIT_DONE, or EXIT_TROUBLE
 * after a message. */
int run_shared_open(run_shared *s, const at_filter *filter, run_streams *streams);

/* Verdicts on the keys of a batch, those of `chosen`. What has been sent already gets the verdict
 * that is not sent. ENGINE_STOPPED: a signal came while servers were waited for, and nothing is to
 * be done with the batch. */
engine_outcome run_shared_judge(run_shared *s, const stream_selection *chosen,
                                const weir_batch *keys, bool sends_seen, uint64_t *verdicts,
                                size_t *seen);

/* All is settled: nothing is left open. */
int run_shared_end(run_shared *s);

void run_shared_release(run_shared *s);

#endif
