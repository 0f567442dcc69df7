/* wire.h - one connection to a Redis or Valkey server.
 *
 * Commands are appended to a buffer, flushed together, and their replies read in the same
 * order: a pipeline. A connection that breaks says so and stays down until wire_connect() is
 * called again; what became of the commands whose replies are missing nobody knows, so
 * whoever sends them must be able to tell, or to send them again without harm.
 *
 * What can go wrong is of two kinds, which a caller treats unlike: WIRE_LOST may be better a moment
 * later (no connection, no answer in time, a server that is loading); WIRE_WRONG stays
 * wrong (a password that is refused, a certificate, something that is not Redis at all).
 * An error that the server gives as the reply to a command is neither: it is a reply.
 *
 * Passwords come from a file or the environment, stand in memory only, and in no message.
 */
#ifndef WEIR_WIRE_H
#define WEIR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

typedef enum {
    WIRE_OK,
    WIRE_LOST,   /* the connection is down; connecting again may help */
    WIRE_WRONG,  /* it is down, and connecting again will not help */
    WIRE_STOPPED /* options.stop said so while waiting; the connection is as it was */
} wire_outcome;

/* --- addresses ------------------------------------------------------------------------
 *
 *     redis://[USER@]HOST[:PORT][,HOST[:PORT]...][/NAME][?db=N][&KEY=VALUE...]
 *     rediss://...           the same over TLS
 *     redis+cluster://...    the server is one of a cluster; rediss+cluster:// over TLS
 *     unix:/PATH/OF/SOCKET[?name=NAME][&user=USER]...
 *
 * User, name and values may have %XX. A password in it is refused, without being
 * repeated in the message. */
enum { WIRE_HOSTS = 16, WIRE_PARAMETERS = 16 };

typedef struct {
    char *host; /* a name, an address without brackets, or the path of a socket */
    uint16_t port;
} wire_host;

typedef struct {
    bool tls, cluster, local; /* local: a socket of this machine */
    wire_host hosts[WIRE_HOSTS];
    size_t host_count;
    char *user; /* or NULL */
    char *name; /* after the slash; NULL: none */
    unsigned db;
    struct {
        char *key, *value;
    } parameters[WIRE_PARAMETERS];
    size_t parameter_count;
} wire_url;

/* Parse, or fail with WEIR_ERR_SPEC; to be released in either case. */
weir_status wire_url_parse(wire_url *url, const char *text, weir_error *err);
void wire_url_release(wire_url *url);

/* --- options -------------------------------------------------------------------------- */

typedef struct {
    const char *user;          /* before the one of the address; NULL: that, or the default user */
    const char *password_file; /* its first line; NULL: $WEIR_PASSWORD, else $REDISCLI_AUTH */
    const char *ca_file;       /* who may sign the server's certificate; NULL: the system's list */
    const char *cert_file, *key_file; /* who we are; both or none */
    const char *client_name;          /* shown by CLIENT LIST; NULL: "weir" */
    int64_t connect_ms, reply_ms;     /* the most to wait; 0: 5 and 10 seconds */
    uint64_t reply_bytes;             /* the most that one reply may take; 0: 64M */
    bool (*stop)(void *context);      /* asked while waiting; NULL: never */
    void *stop_context;
} wire_options;

/* State that all connections to one deployment share: the password, the state of TLS. */
typedef struct wire_access wire_access;

/* Read the password, load certificates. The options' texts must live as long as it. tls:
 * connections will need it. WEIR_ERR_IO: a file cannot be read or is no good;
 * WEIR_ERR_SPEC: certificates, and no TLS in the address;
 * WEIR_ERR_UNSUPPORTED: this build has no TLS; WEIR_ERR_MEMORY. */
weir_status wire_access_new(wire_access **out, const wire_options *options, const wire_url *url,
                            weir_error *err);
void wire_access_free(wire_access *access); /* NULL is allowed */

/* --- replies ----------------------------------------------------------------------------
 *
 * Replies are checked as they come: one that is not in the protocol, that is longer than
 * options.reply_bytes with all that is in it, or a line that has no end, is WIRE_WRONG. Of these
 * two the error has the code WEIR_ERR_RANGE. */
typedef enum {
    WIRE_STATUS, /* +OK */
    WIRE_ERROR,  /* -ERR ... */
    WIRE_INTEGER,
    WIRE_STRING,
    WIRE_ARRAY,
    WIRE_NIL
} wire_type;

typedef struct wire_reply {
    wire_type type;
    int64_t integer;
    char *text; /* STATUS, ERROR, STRING: any bytes, and a NUL behind them */
    size_t length;
    struct wire_reply **items; /* ARRAY; none of them is NULL */
    size_t count;
} wire_reply;

void wire_reply_free(wire_reply *reply); /* NULL is allowed */

/* Is it an error that begins with this word ("MOVED"); a status or string of these bytes? */
bool wire_is_error(const wire_reply *reply, const char *word);
bool wire_is_text(const wire_reply *reply, const char *text);

/* Of a map as RESP2 has it (name, value, name, value): the value, or NULL. Any reply is allowed. */
const wire_reply *wire_reply_field(const wire_reply *map, const char *name);

/* Is all of a text printable, as what is to be shown to people must be? */
bool wire_is_printable(const char *text, size_t length);

/* An integer, or a string that is one in decimal. */
bool wire_reply_number(const wire_reply *reply, int64_t *value);

/* The text of an error that a server gave in the words of a person who can do something about
 * it: what the server is ("'h:6379'"), what it said, what to try. Printable characters only. */
void wire_explain(const char *server, const wire_reply *error, weir_error *err);

/* Try again after some time? LOADING, BUSY, MASTERDOWN, CLUSTERDOWN, TRYAGAIN and their like. */
bool wire_is_passing(const wire_reply *error);

/* --- connections ------------------------------------------------------------------------- */

typedef struct wire wire;

/* Not connected yet. database: SELECT it after connecting. NULL: out of memory. */
wire *wire_new(wire_access *access, const wire_url *url, const char *host, uint16_t port);
void wire_free(wire *w); /* NULL is allowed */

/* "host:port", or the path of the socket. */
const char *wire_server(const wire *w);

/* Connect, prove who we are, choose the database. Whatever was under way before is forgotten. */
wire_outcome wire_connect(wire *w, weir_error *err);
void wire_close(wire *w);
bool wire_connected(const wire *w);

/* Append a command. Fails (WIRE_LOST) only where memory is short. */
wire_outcome wire_append(wire *w, size_t count, const char *const *words, const size_t *lengths,
                         weir_error *err);

/* The same, words as printf's %s (a text), %b (bytes and size_t), %d (int64_t), separated by
 * blanks: wire_appendf(w, &err, "SETEX %s %d %b", key, (int64_t)60, bytes, length). */
wire_outcome wire_appendf(wire *w, weir_error *err, const char *format, ...);

/* Send what was appended; replies that come meanwhile are kept. */
wire_outcome wire_flush(wire *w, weir_error *err);

/* The next reply; flushes first. WIRE_LOST after options.reply_ms without a byte, and `most_ms`
 * (unless 0) in its stead. */
wire_outcome wire_read(wire *w, wire_reply **reply, int64_t most_ms, weir_error *err);

/* Would wire_read() return at once: with a reply, or because the connection broke? */
bool wire_ready(wire *w);

/* Append, flush, read. Only while no other reply is outstanding. */
wire_outcome wire_call(wire *w, wire_reply **reply, weir_error *err, const char *format, ...);

/* Replies that are still to come. */
size_t wire_outstanding(const wire *w);

/* For poll(2); -1 while it is down. */
int wire_descriptor(const wire *w);

/* Bytes sent and received in its life, connections made. */
typedef struct {
    uint64_t sent, received, commands, replies, connects;
} wire_traffic;
void wire_get_traffic(const wire *w, wire_traffic *traffic);

/* --- waiting before trying again ------------------------------------------------------------
 *
 * Each delay is twice the one before, from 20 ms to 2 s, less up to a half by chance, so that
 * many clients do not come back all at once. Zero-fill it at first, and after a success. */
typedef struct {
    unsigned failures;
    uint64_t chance;
} wire_backoff;

/* The next delay in ms. */
int64_t wire_backoff_next(wire_backoff *b);

/* Wait so long; false if options.stop said so meanwhile. */
bool wire_pause(const wire_access *access, int64_t ms);

/* The clock for timeouts: monotonic, ms. */
int64_t wire_now(void);
uint64_t wire_nanoseconds(void);

#endif
