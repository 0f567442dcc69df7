/* broker_internal.h - what a broker must do; broker.c does for all of them what is alike. */
#ifndef WEIR_BROKER_INTERNAL_H
#define WEIR_BROKER_INTERNAL_H

#include "broker.h"

/* Fill an error and return STREAM_FAILED. */
__attribute__((format(printf, 2, 3))) stream_status broker__fail(stream_error *err,
                                                                 const char *format, ...);
stream_status broker__no_memory(stream_error *err);

int64_t broker__now_ms(void); /* on the monotonic clock */

/* A mark is "PRODUCER:HI-LO". */
#define BROKER_MARK "weir" /* what the header or field is called */
void broker__mark(char mark[BROKER_MARK_SIZE], const char *producer, broker_id id);
bool broker__read_mark(const char *producer, const char *mark, size_t length, broker_id *id);

/* Grow an array of elements; false if memory is out, it is then as it was. */
bool broker__room(void *array, size_t *room, size_t needed, size_t size);

/* Bytes that grow. */
typedef struct {
    char *bytes;
    size_t length, room;
} broker_text;
bool broker__append(broker_text *text, const void *bytes, size_t length);

/* What a source tells of itself. */
typedef struct {
    uint64_t again_ms;  /* how long it waits before it brings a message again; 0: never while we
                         * are connected */
    uint64_t most_held; /* unsettled messages beyond which it brings no more; 0: any number */
} broker_habits;

/* All get what open() made. */
typedef struct {
    stream_status (*open)(void **self, const broker_url *url, const broker_source_options *options,
                          broker_habits *habits, stream_error *err);
    void (*close)(void *self);
    /* As broker_source_poll(), also what has come before. At most BROKER_BATCH. With STREAM_END
     * *count says how many messages the group has been given that are not settled. */
    stream_status (*poll)(void *self, int timeout_ms, const broker_message **messages,
                          size_t *count, stream_error *err);
    stream_status (*settle)(void *self, const broker_ids *ids, stream_error *err);
    int64_t (*lag)(void *self);
    /* Of the messages of the last poll: may some have been given to another consumer before? */
    bool (*given_before)(const void *self);
} broker_source_class;

typedef struct {
    stream_status (*open)(void **self, const broker_url *url, const broker_sink_options *options,
                          stream_error *err);
    void (*close)(void *self);
    /* mark: NULL for none. unique: a name that no other message has, or NULL. */
    stream_status (*send)(void *self, const broker_message *message, const char *mark,
                          const char *unique, stream_error *err);
    stream_status (*flush)(void *self, stream_error *err);
    char *(*position)(void *self, stream_error *err);
    stream_status (*tail)(void *self, const char *position, stream_error *err);
    stream_status (*poll_tail)(void *self, int timeout_ms, const broker_message **messages,
                               size_t *count, stream_error *err);
} broker_sink_class;

/* The tables of a broker, whose functions have these names. */
#define BROKER_CLASSES                                                                             \
    static const broker_source_class source_class = {.open = source_open,                          \
                                                     .close = source_close,                        \
                                                     .poll = source_poll,                          \
                                                     .settle = source_settle,                      \
                                                     .lag = source_lag,                            \
                                                     .given_before = source_given_before};         \
    static const broker_sink_class sink_class = {.open = sink_open,                                \
                                                 .close = sink_close,                              \
                                                 .send = sink_send,                                \
                                                 .flush = sink_flush,                              \
                                                 .position = sink_position,                        \
                                                 .tail = sink_tail,                                \
                                                 .poll_tail = sink_poll_tail};

/* A broker: its URLs, and what it can do. */
typedef struct {
    const char *schemes;           /* "redis|rediss|unix" */
    const char *library;           /* what it takes to build it */
    const char *source_parameters; /* "group|consumer|..." */
    const char *sink_parameters;
    const broker_source_class *source; /* NULL: not built in */
    const broker_sink_class *sink;
} broker_kind;

extern const broker_kind broker__redis, broker__nats, broker__kafka;

/* The broker of a scheme, or NULL. */
const broker_kind *broker__kind(const char *scheme);

#endif
