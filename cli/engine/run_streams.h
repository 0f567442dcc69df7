/* run_streams.h - a run that reads from a broker, writes to one, or both.
 *
 * The order of things at a save, each done before the next begins:
 *
 *     1  the output is where it belongs (on the disk, or the broker has said so)
 *     2  the state: filter, where the output ended, which messages are dealt with
 *     3  the source is told that they are (settled)
 *
 * After a crash the state is loaded and the sink read from where it ended then: what stands there
 * with this state's mark was sent since (see broker.h). So a sink that is a broker is a journal of
 * the run, and messages can be settled as soon as it has what came of them, between saves. Any
 * other output has to wait for the next save.
 */
#ifndef WEIR_RUN_STREAMS_H
#define WEIR_RUN_STREAMS_H

#include "broker.h"
#include "dedup.h"

enum { RUN_STREAMS_ID = 17 }; /* 16 hex digits and a NUL */

typedef struct {
    const dedup_settings *settings;
    broker_url from, to;
    broker_source *source;   /* NULL: files */
    broker_sink *sink;       /* NULL: a file, or standard output */
    char id[RUN_STREAMS_ID]; /* of the state; "": there is none */
    bool id_is_new;
    char *position;  /* where the sink ended at the last save; or NULL */
    broker_ids done; /* sent or dealt with after the state was saved, or maybe settled */
    stream_feed feed;
    const broker_message *messages; /* of the last poll, as the batch has them */
    size_t count;
    stream_message *plain;
    size_t plain_room;
    bool journal;    /* the sink is one: settle between saves */
    bool taken_part; /* the last batch was refused, at */
    size_t taken;
    int64_t flushed; /* on the monotonic clock, ns */
} run_streams;

/* Parse what --from and --to say. EXIT_DONE, or EXIT_TROUBLE after a message. */
int run_streams_parse(run_streams *s, const dedup_settings *settings);

/* The part of a state that speaks of streams, from and to a note. */
int run_streams_use_note(run_streams *s, const char *note, size_t length);
char *run_streams_write_note(run_streams *s, size_t *length, stream_error *err);

/* A stream as it is recognised: parameters may change, but for the group. The caller frees it;
 * NULL: out of memory. */
char *run_streams_name(const broker_url *url);

/* Open the sink once more, by the name of another run; "": of none. */
stream_status run_streams_open_as(const run_streams *s, const char *id, broker_sink **sink,
                                  stream_error *err);

/* Open the sink; begin to read back from it what was sent since the last save. *any: there is a
 * tail, and `feed` gives it. */
stream_status run_streams_open_sink(run_streams *s, bool *any, stream_error *err);

/* When the tail has been read: open the source; `feed` gives its messages. */
stream_status run_streams_open_source(run_streams *s, stream_error *err);

/* Send the records of a batch whose bit is `which`. Those of files are known by the file's inode
 * and their number; those that were sent before the run was resumed are left out, and *again
 * counts them. */
stream_status run_streams_send(run_streams *s, const stream_batch *batch, uint64_t inode,
                               const uint64_t *bits, bool which, uint64_t *again,
                               stream_error *err);

/* The sink has all. */
stream_status run_streams_flush(run_streams *s, stream_error *err);

/* Messages are dealt with. */
stream_status run_streams_settle(run_streams *s, stream_error *err);

/* What is due between batches: flush and settle. *save: the state must be saved first. */
stream_status run_streams_look(run_streams *s, int64_t now, bool idle, bool *save,
                               stream_error *err);

void run_streams_measure(run_streams *s, FILE *out);
void run_streams_release(run_streams *s);

#endif
