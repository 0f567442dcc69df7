/* weir_remote.h - one filter for many machines, on Redis or Valkey servers. (experimental)
 *
 * A remote filter is made of slices: values of weir's module under keys of their own, spread over
 * the masters of a cluster. Any number of producers on any machines use it at once; of those that
 * offer the same key one is told NEW. It links as `-lweir_remote`.
 *
 *     weir_remote *seen;
 *     weir_remote_options options = {.on_lost = WEIR_REMOTE_NEW};
 *     weir_remote_open(&seen, "redis+cluster://h1/clicks", &options, &err);
 *     weir_remote_begin(seen, "recent:memory=1G,fpr=0.01%", 0, &err);
 *     hashes[i] = weir_filter_hash(weir_remote_twin(seen), key, length);
 *     weir_remote_submit(seen, &batch, &err);
 *     weir_remote_collect(seen, verdicts, &count, &err);
 *     weir_remote_close(seen);
 *
 * What can go wrong, and what a caller sees of it:
 *
 *   - A connection is cut, a server restarts, a primary fails over, slots move: batches are sent
 *     again until they are answered. A batch that had been applied is not applied twice: it has a
 *     number, and the slice keeps the verdicts on the last one of each producer.
 *   - A slice gives no answer for `lost_ms`: on_lost says what its keys are called. NEW is the
 *     safe side: nothing is lost, repeats may pass.
 *   - The program itself is killed: what slices had called NEW and it had not used yet they will
 *     not call NEW again. Tickets, below, are for that.
 *   - A slice is there again but empty, or a replica took over that lacked the last writes: keys
 *     are forgotten, so repeats may pass. `say` is told, and weir_remote_get_stats() counts it.
 *   - The server refuses (a password, memory, another type under the name): WEIR_ERR_IO
 *     or WEIR_ERR_MISMATCH and one line that says what to do. Nothing is sent any more. Collect
 *     what was submitted: what is not known then is called NEW, as it may have been applied, and
 *     a record that is not passed on would be lost.
 *
 * One object must not be used from two threads at once.
 */
#ifndef WEIR_REMOTE_H
#define WEIR_REMOTE_H

#include <weir.h>
#include <weir_sketch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_remote weir_remote;

/* What the keys of a slice are called that does not answer. */
typedef enum {
    WEIR_REMOTE_NEW,
    WEIR_REMOTE_SEEN, /* their records are lost */
    WEIR_REMOTE_WAIT, /* nothing: it is waited for, for ever */
    WEIR_REMOTE_STOP  /* new, and collecting fails; nothing more is sent */
} weir_remote_on_lost;

/* Zero-fill it and set what you want. Texts must live as long as the object. */
typedef struct {
    const char *password_file; /* NULL: $WEIR_PASSWORD, $REDISCLI_AUTH, or none */
    const char *ca_file; /* rediss://: who signs the servers' certificates; NULL: the system's */
    const char *cert_file, *key_file; /* who we are; both or none */
    int64_t connect_ms, reply_ms; /* the most to wait for a connection, an answer; 0: 2 s, 10 s */
    int64_t lost_ms;              /* silent for so long a slice is lost; 0: 30 s */
    weir_remote_on_lost on_lost;
    unsigned replicas;     /* each batch is to be on so many replicas when its verdicts are given */
    int64_t replicas_ms;   /* the most to wait for them; 0: 1 s. Then it goes on, and is counted */
    uint64_t local_memory; /* of a filter here that is asked first; 0: none */
    unsigned in_flight;    /* batches on their way at once, at most 8; 0: 4 */
    void (*say)(void *context, const char *message); /* one line, as it happens; may be NULL */
    bool (*stop)(void *context); /* asked while waiting: true ends it, and what is not known is
                                  * NEW; may be NULL */
    void *context;
} weir_remote_options;

/* Reach the servers of an address: redis://[user@]host[:port]/NAME, rediss://, redis+cluster://,
 * rediss+cluster://, unix:/PATH?name=NAME. No name: "weir". WEIR_ERR_SPEC: the address;
 * WEIR_ERR_IO: no server, or it refuses. */
WEIR_EXPERIMENTAL weir_status weir_remote_open(weir_remote **out, const char *url,
                                               const weir_remote_options *options, weir_error *err);
WEIR_EXPERIMENTAL void weir_remote_close(weir_remote *remote); /* NULL is allowed */

/* The full spec of the filter under that name, its memory being that of all slices: as
 * snprintf(), and 0 if there is no filter yet. */
WEIR_EXPERIMENTAL size_t weir_remote_spec(const weir_remote *remote, char *buffer, size_t size);

/* Join the filter that is there, whatever `spec` says; or make it. `slices`: of a new one, 0: as
 * many as keep each within 32M, and one for each master at least. WEIR_ERR_SPEC and
 * WEIR_ERR_RANGE: the spec; WEIR_ERR_MISMATCH: what is there is not what is needed. */
WEIR_EXPERIMENTAL weir_status weir_remote_begin(weir_remote *remote, const char *spec,
                                                size_t slices, weir_error *err);

/* Only look: weir_remote_get_slice() then works, and nothing is made. WEIR_ERR_RANGE: there is no
 * filter of that name. */
WEIR_EXPERIMENTAL weir_status weir_remote_look(weir_remote *remote, weir_error *err);

/* After weir_remote_begin(): an empty filter of the same kind as a slice, with its seed. It makes
 * hashes, and weir_filter_get_info() of it says about windows and importances what holds there. */
WEIR_EXPERIMENTAL weir_filter *weir_remote_twin(const weir_remote *remote);

/* By how many nanoseconds the clock of one server, the same for all producers, is ahead of ours:
 * what has no time of its own can be given that clock's. WEIR_ERR_IO: it gives no answer, or
 * batches are on their way. */
WEIR_EXPERIMENTAL weir_status weir_remote_clock(weir_remote *remote, int64_t *ahead,
                                                weir_error *err);

/* Send a batch. The arrays may be changed when it returns. At most as many batches as
 * weir_remote_room() says can be submitted before one must be collected. */
WEIR_EXPERIMENTAL weir_status weir_remote_submit(weir_remote *remote, const weir_batch *batch,
                                                 weir_error *err);
WEIR_EXPERIMENTAL size_t weir_remote_room(const weir_remote *remote);

/* The verdicts on the batch that was submitted first, as weir_filter_offer_batch() has them; *seen
 * (may be NULL): how many were SEEN. Also when it fails, with WEIR_ERR_IO: keys whose verdict is
 * not known are NEW then. */
WEIR_EXPERIMENTAL weir_status weir_remote_collect(weir_remote *remote, uint64_t *verdicts,
                                                  size_t *seen, weir_error *err);

/* --- batches that outlive their sender --------------------------------------------------------
 *
 * A program that must not lose records when it is itself killed takes tickets:
 *
 *     weir_remote_prepare(seen, &batch, &ticket, &length, &err);
 *     ... put the ticket where it will be found, with what it is for
 *     weir_remote_submit_ticket(seen, ticket, length, &count, &err);
 *     weir_remote_collect(seen, verdicts, &seen_count, &err);
 *     ... do what the verdicts ask for
 *
 * Killed at any instant, the next one finds the ticket and begins with weir_remote_submit_ticket():
 * the verdicts are what they would have been, whether the slices had got the batch or not. A
 * ticket is good until its sender has sent another one, and as long as none of the slices has
 * heard 1,024 other senders since. What is no longer known is called NEW. */

/* Ask the local filter, cut the rest by slices, number it; nothing is sent. The caller frees
 * *ticket with free(). WEIR_ERR_UNSUPPORTED: the slices are places on plain strings;
 * WEIR_ERR_RANGE: batches are on their way, or it has more than 65,536 keys. */
WEIR_EXPERIMENTAL weir_status weir_remote_prepare(weir_remote *remote, const weir_batch *batch,
                                                  void **ticket, size_t *length, weir_error *err);

/* Send it, or send it again; *count: keys of the batch. WEIR_ERR_CORRUPT: it is no ticket;
 * WEIR_ERR_MISMATCH: it is one of another filter; WEIR_ERR_RANGE: batches are on their way. */
WEIR_EXPERIMENTAL weir_status weir_remote_submit_ticket(weir_remote *remote, const void *ticket,
                                                        size_t length, size_t *count,
                                                        weir_error *err);

/* Notes beside the filter, as safe as it is: under names of up to 512 bytes. What is there, or
 * what was there before, is *bytes, which the caller frees with free(); NULL: nothing. All fail
 * with WEIR_ERR_IO, WEIR_ERR_MEMORY, WEIR_ERR_MISMATCH (something else is under that key) and
 * WEIR_ERR_RANGE (batches are on their way). */
WEIR_EXPERIMENTAL weir_status weir_remote_get_note(weir_remote *remote, const char *name,
                                                   void **bytes, size_t *length, weir_error *err);
WEIR_EXPERIMENTAL weir_status weir_remote_put_note(weir_remote *remote, const char *name,
                                                   const void *bytes, size_t length, void **before,
                                                   size_t *before_length, weir_error *err);

/* The names of all notes, until `take` returns false; it must not use the remote. */
WEIR_EXPERIMENTAL weir_status weir_remote_each_note(weir_remote *remote,
                                                    bool (*take)(void *context, const char *name),
                                                    void *context, weir_error *err);

/* How it stands. */
typedef struct {
    size_t slices, lost; /* lost now */
    size_t masters;      /* servers that hold slots */
    size_t share_most;   /* slices at the master that has most: they fail together */
    uint64_t keys;       /* offered by this producer; each is in one of the next three */
    uint64_t local_seen; /* SEEN by the local filter: not sent */
    uint64_t sent;       /* judged by slices */
    uint64_t guessed;    /* their slice was lost, and on_lost decided */
    uint64_t requests;   /* to slices, those that were sent again included */
    uint64_t repeated;   /* of these, sent again */
    uint64_t messages, bytes_sent, bytes_received; /* commands and bytes on the wire */
    uint64_t reconnects, redirected;
    uint64_t emptied;          /* slices that came back without what they held */
    uint64_t rolled_back;      /* slices of which a replica took over that lacked writes */
    uint64_t keys_rolled_back; /* at least so many keys were forgotten by that */
    uint64_t unsafe;           /* batches to a server of which too few replicas confirmed in time */
    uint64_t nanoseconds;      /* from sending requests to reading their answers, all together */
    double fairness;           /* Jain's index of the keys sent to each slice: 1 is even */
} weir_remote_stats;
WEIR_EXPERIMENTAL void weir_remote_get_stats(const weir_remote *remote, weir_remote_stats *stats);

/* Slice i, as its server sees it; one round trip. Fails with WEIR_ERR_RANGE or WEIR_ERR_IO. */
typedef struct {
    char key[160], server[160];
    uint64_t offered, seen, memory; /* by all producers */
    double fill, fpr_now;
    bool overfull;
    uint64_t epoch; /* drawn when it was made */
    bool gone;      /* there is no value under its key */
} weir_remote_slice;
WEIR_EXPERIMENTAL weir_status weir_remote_get_slice(weir_remote *remote, size_t i,
                                                    weir_remote_slice *slice, weir_error *err);

/* What server i says of itself (INFO), by all who use it, counted from when this object first asked
 * it. Fails with WEIR_ERR_RANGE past the last, or while batches are on their way; WEIR_ERR_IO where
 * it gives no answer. */
typedef struct {
    char server[160];
    size_t slices;
    uint64_t commands, bytes_in, bytes_out;
} weir_remote_server;
WEIR_EXPERIMENTAL weir_status weir_remote_get_server(weir_remote *remote, size_t i,
                                                     weir_remote_server *server, weir_error *err);

/* --- sketches on servers ------------------------------------------------------------------------
 *
 * A shelf has sketches under one name. Each producer counts into sketches of its own, made by the
 * specs of the shelf, and pushes them from time to time: the servers add them up. A push whose
 * reply is lost is sent again and counts once. What was not pushed when a producer is killed is
 * not counted. All fail with WEIR_ERR_IO (no server, or it refuses: the message says what to do),
 * WEIR_ERR_MEMORY, and as said. */
typedef struct weir_shelf weir_shelf;

/* Reach the servers of an address, as for weir_remote_open(), of whose options those about
 * passwords, certificates and times count, and stop. WEIR_ERR_SPEC: the address;
 * WEIR_ERR_MISMATCH: something else is under that name. */
WEIR_EXPERIMENTAL weir_status weir_shelf_open(weir_shelf **out, const char *url,
                                              const weir_remote_options *options, weir_error *err);
WEIR_EXPERIMENTAL void weir_shelf_close(weir_shelf *shelf); /* NULL is allowed */

/* What is there: name and full spec of each sketch, and the note of whoever made them. None:
 * nobody has. */
WEIR_EXPERIMENTAL size_t weir_shelf_count(const weir_shelf *shelf);
WEIR_EXPERIMENTAL bool weir_shelf_get(const weir_shelf *shelf, size_t i, const char **name,
                                      const char **spec);
WEIR_EXPERIMENTAL const void *weir_shelf_note(const weir_shelf *shelf, size_t *length);

/* Say what the sketches are to be, unless somebody has: then what is there counts. Names have up
 * to 31 bytes without blanks. WEIR_ERR_RANGE: more than 64, or a name that is too long. */
WEIR_EXPERIMENTAL weir_status weir_shelf_begin(weir_shelf *shelf,
                                               const weir_sketch *const *sketches,
                                               const char *const *names, size_t count,
                                               const void *note, size_t length, weir_error *err);

/* Add a sketch to the one of that name; and fetch the sum (*out is NULL if nothing was pushed). */
WEIR_EXPERIMENTAL weir_status weir_shelf_push(weir_shelf *shelf, const char *name,
                                              const weir_sketch *sketch, weir_error *err);
WEIR_EXPERIMENTAL weir_status weir_shelf_pull(weir_shelf *shelf, const char *name,
                                              weir_sketch **out, weir_error *err);

#ifdef __cplusplus
}
#endif

#endif
