/* broker.h - message streams as sources and sinks: Redis Streams, NATS JetStream, Kafka.
 *
 * One interface, and one file for each broker behind it. A source hands out messages at least
 * once each and is told which of them are dealt with (settled); a sink takes messages in order.
 *
 *     broker_url_parse(&url, "redis://localhost/clicks?group=g", BROKER_SOURCE, &err)
 *     broker_source_open(&source, &url, &options, &err)
 *     broker_source_poll(source, timeout, &messages, &count, &err)    messages that are not known
 *     ... judge them; broker_sink_send(sink, message, mark, &err) those that are new
 *     broker_sink_flush(sink, &err)            they are there
 *     ... save the state, with broker_sink_position() and the ids of what was polled
 *     broker_source_settle(source, ids, &err)  the broker need not bring them again
 *
 * The output is the journal. Every message that is sent carries a mark: who sent it, and the id
 * of the message that it was made of. A state that is saved says where the sink ended then. After
 * a crash the sink is read from there on (broker_sink_tail()): each message with our mark was sent
 * after the state was saved. Its key goes into the filter, and its id on the list of those that
 * are dealt with, so that what the source brings again is neither sent twice nor taken for a
 * repeat of itself. A message is held back only if its id or its key is in the state or in the
 * sink, so none is lost, whatever order the source brings them in.
 *
 * Sources and sinks are used by one thread. Nothing is printed here; errors are lines for people.
 */
#ifndef WEIR_BROKER_H
#define WEIR_BROKER_H

#include <stdio.h>

#include "stream.h"

/* ------------------------------------------------------------------------
 * URLs
 * ------------------------------------------------------------------------ */

typedef enum { BROKER_SOURCE, BROKER_SINK } broker_role;

typedef struct {
    char *text;   /* as given, for messages */
    char *scheme; /* "redis", "rediss", "unix", "nats", "kafka" */
    char *user;   /* or "" */
    char *hosts;  /* "h:6379", of Kafka a list; of unix: the path of the socket */
    char *name;   /* the stream, subject or topic */
    struct broker_parameter {
        char *name, *value;
    } * parameters;
    size_t parameter_count;
    char *memory;
} broker_url;

/* Are its messages entries of fields? */
bool broker_is_redis(const broker_url *url);

/* Parse; parameters that the broker does not know in that role, and a password, are refused. */
stream_status broker_url_parse(broker_url *url, const char *text, broker_role role,
                               stream_error *err);
void broker_url_release(broker_url *url);

/* The value of a parameter, or `standard`. */
const char *broker_url_get(const broker_url *url, const char *name, const char *standard);

/* A parameter that is a duration, in ms, or a number. */
stream_status broker_url_ms(const broker_url *url, const char *name, uint64_t standard,
                            uint64_t *ms, stream_error *err);

/* The secret that goes with the user of a URL: the content of the file that the parameter
 * `password-file` names, else of the environment variable WEIR_PASSWORD. *secret is NULL
 * if there is none; the caller frees it. */
stream_status broker_password(const broker_url *url, char **secret, stream_error *err);

/* ------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------ */

/* What a message is called where it comes from. Redis: milliseconds and sequence; NATS: 0 and
 * sequence; Kafka: partition and offset; a file: its inode and the record. */
typedef struct {
    uint64_t hi, lo;
} broker_id;

typedef struct {
    const char *name; /* ends with a NUL, which is not counted */
    size_t name_length;
    const char *value;
    size_t length;
} broker_field;

typedef struct {
    broker_id id;
    const char *value; /* the record */
    size_t length;
    bool lacking;    /* there is none: the entry has no field of that name */
    bool null;       /* Kafka: no value at all, which is not an empty one */
    const char *key; /* Kafka's, or NULL */
    size_t key_length;
    const broker_field *fields; /* headers; of Redis the fields of the entry, */
    size_t field_count;
    bool entry; /* if so: the value is made of them */
} broker_message;

enum {
    BROKER_BATCH = 1024,          /* messages that a poll brings at most */
    BROKER_BATCH_BYTES = 4 << 20, /* and bytes, but for the last of them */
    BROKER_MARK_SIZE = 64         /* of a mark with its end */
};

/* Sets of ids: ascending ranges lo..last with the same hi, none touching another. */
typedef struct {
    uint64_t hi, lo, last;
} broker_range;

typedef struct {
    broker_range *ranges;
    size_t count, room;
    uint64_t size; /* ids in it */
} broker_ids;

bool broker_ids_add(broker_ids *ids, broker_id id); /* false: out of memory */
bool broker_ids_add_all(broker_ids *ids, const broker_ids *others);
bool broker_ids_has(const broker_ids *ids, broker_id id);
void broker_ids_clear(broker_ids *ids); /* keeps its memory */
void broker_ids_release(broker_ids *ids);
void broker_ids_write(FILE *out, const broker_ids *ids); /* "5-0..17,9-3", nothing if empty */
bool broker_ids_read(broker_ids *ids, const char *text, size_t length); /* false: not such a text */

/* ------------------------------------------------------------------------
 * Sources
 * ------------------------------------------------------------------------ */

typedef struct broker_source broker_source;

typedef struct {
    bool until_end;       /* STREAM_END when there is nothing more, instead of waiting */
    int64_t settle_every; /* ns: how long messages will be held at most before they are settled */
    bool quiet;
} broker_source_options;

stream_status broker_source_open(broker_source **out, const broker_url *url,
                                 const broker_source_options *options, stream_error *err);
void broker_source_close(broker_source *source); /* what is not settled is brought again, later */

/* These are dealt with: if they come again they are settled and not handed out. */
bool broker_source_know(broker_source *source, const broker_ids *ids);

/* Messages that are not known, good until the next call: STREAM_BATCH, STREAM_IDLE, STREAM_END or
 * STREAM_FAILED. */
stream_status broker_source_poll(broker_source *source, int timeout_ms,
                                 const broker_message **messages, size_t *count, stream_error *err);

/* May messages of the last poll have been given to another consumer of the group before? Those that
 * are given to one for the first time never come with this. */
bool broker_source_given_before(const broker_source *source);

/* All that were polled so far are dealt with, or only the first `taken` of the last batch
 * (SIZE_MAX: all of it). */
const broker_ids *broker_source_unsettled(const broker_source *source);
stream_status broker_source_settle(broker_source *source, size_t taken, stream_error *err);

/* For the state: what is dealt with when everything polled is, but may be brought again. */
bool broker_source_dealt_with(const broker_source *source, size_t taken, broker_ids *ids);

/* Is it time to settle, lest the broker bring messages again or stop to bring others? */
bool broker_source_is_pressed(const broker_source *source, int64_t now);

/* How far it is behind, in messages; -1 if the broker does not say. */
int64_t broker_source_lag(broker_source *source);

typedef struct {
    uint64_t again; /* messages that came again and were known */
} broker_source_counts;
broker_source_counts broker_source_get_counts(const broker_source *source);

/* ------------------------------------------------------------------------
 * Sinks
 * ------------------------------------------------------------------------ */

typedef struct broker_sink broker_sink;

typedef struct {
    const char *producer; /* who sends, 16 hex digits: the state's; NULL: no state, no marks */
    bool entries;         /* messages are entries of Redis, and of these */
    const char *field;    /* this field is the record; or NULL, see broker_redis.c */
} broker_sink_options;

stream_status broker_sink_open(broker_sink **out, const broker_url *url,
                               const broker_sink_options *options, stream_error *err);
void broker_sink_close(broker_sink *sink); /* what is not flushed may be lost */

/* Send a message, in order; it may wait in a queue. origin: what the ids of the source belong
 * to, such as the stream's name; or NULL if the message has no lasting id. */
stream_status broker_sink_send(broker_sink *sink, const broker_message *message, const char *origin,
                               stream_error *err);

/* All that was sent is there: the broker has said so; of a transaction, it is committed. */
stream_status broker_sink_flush(broker_sink *sink, stream_error *err);

/* Where the sink ends, as a word for broker_sink_tail(). The caller frees it; NULL: failed. */
char *broker_sink_position(broker_sink *sink, stream_error *err);

/* Read from a position on to the end of now: as broker_source_poll(), of messages with this
 * producer's mark alone, their ids those of the messages that they were made of. Before anything
 * is sent. */
stream_status broker_sink_tail(broker_sink *sink, const char *position, stream_error *err);
stream_status broker_sink_poll_tail(broker_sink *sink, int timeout_ms,
                                    const broker_message **messages, size_t *count,
                                    stream_error *err);

/* Bytes sent so far. */
uint64_t broker_sink_bytes(const broker_sink *sink);

#endif
