/* wire.c - one connection: sockets that do not block, a buffer out, a parser in.
 *
 * A pipeline may lock up when both sides only write: the server stops reading while its replies
 * find no room. So flushing also reads what has come. Every wait has an end: connecting, each
 * stretch without a byte while replies are awaited, each stretch in which nothing could be sent.
 * After a wait that ended so the connection is closed, as a late reply would be taken for that
 * of a later command.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire_access.h"
#include "wire_error.h"
#include "wire_reply.h"

enum { CHUNK = 65536, WORDS_MOST = 64 };

/* Bytes from `at` up to `length`. */
typedef struct {
    char *bytes;
    size_t at, length, room;
} wire_buffer;

struct wire {
    wire_access *access;
    char *host, *server;
    uint16_t port;
    bool local;
    unsigned db;
    int fd;
    wire_tls_stream *tls; /* or NULL */
    wire_parser parser;
    wire_buffer out; /* what is to be sent */
    wire_buffer in;  /* what came while something was sent, for the parser */
    size_t outstanding;
    wire_traffic traffic;
    wire_reply *held; /* parsed by wire_ready(), not read yet */
    bool answered;    /* since it was connected */
};

/* --- buffers ----------------------------------------------------------------------------- */

static bool add(wire_buffer *b, const char *bytes, size_t length) {
    if (b->room - b->length < length) {
        size_t room = b->room ? b->room : 4096;
        while (room - b->length < length) room *= 2;
        char *larger = realloc(b->bytes, room);
        if (!larger) return false;
        b->bytes = larger;
        b->room = room;
    }
    memcpy(b->bytes + b->length, bytes, length);
    b->length += length;
    return true;
}

static void take(wire_buffer *b, size_t length) {
    b->at += length;
    if (b->at == b->length) b->at = b->length = 0;
}

/* --- made and freed ---------------------------------------------------------------------- */

wire *wire_new(wire_access *access, const wire_url *url, const char *host, uint16_t port) {
    char number[8];
    wire *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->access = access;
    w->port = port;
    w->local = url->local;
    w->db = url->db;
    w->fd = -1;
    w->host = strdup(host);
    snprintf(number, sizeof number, ":%u", (unsigned)port);
    w->server = malloc(strlen(host) + sizeof number + 2);
    if (!w->host || !w->server) {
        wire_free(w);
        return NULL;
    }
    bool brackets = !w->local && strchr(host, ':');
    sprintf(w->server, "%s%s%s%s", brackets ? "[" : "", host, brackets ? "]" : "",
            w->local ? "" : number);
    return w;
}

void wire_free(wire *w) {
    if (!w) return;
    wire_close(w);
    free(w->out.bytes);
    free(w->in.bytes);
    free(w->host);
    free(w->server);
    free(w);
}

const char *wire_server(const wire *w) { return w->server; }
bool wire_connected(const wire *w) { return w->fd >= 0; }
int wire_descriptor(const wire *w) { return w->fd; }
size_t wire_outstanding(const wire *w) { return w->outstanding; }
void wire_get_traffic(const wire *w, wire_traffic *traffic) { *traffic = w->traffic; }

void wire_close(wire *w) {
    wire_tls_close(w->tls);
    w->tls = NULL;
    if (w->fd >= 0) close(w->fd);
    w->fd = -1;
    wire_parser_release(&w->parser);
    wire_reply_free(w->held);
    w->held = NULL;
    w->out.at = w->out.length = w->in.at = w->in.length = w->outstanding = 0;
    w->answered = false;
}

/* --- failing: the connection is closed, and *err says why ----------------------------------- */

static wire_outcome lost(wire *w, weir_error *err, const char *what) {
    bool fresh = !w->answered && w->fd >= 0;
    wire_close(w);
    wire_report(err, WEIR_ERR_IO, "the connection to '%s' was cut: %s%s", w->server, what,
                fresh ? "; does it want TLS (rediss://), or is it no Redis server?" : "");
    return WIRE_LOST;
}

static wire_outcome silent(wire *w, weir_error *err, int64_t ms) {
    wire_close(w);
    wire_report(err, WEIR_ERR_IO, "the server '%s' has not answered for %g s", w->server,
                (double)ms / 1000);
    return WIRE_LOST;
}

static wire_outcome no_memory(wire *w, weir_error *err) {
    wire_close(w);
    wire_report(err, WEIR_ERR_MEMORY, "out of memory");
    return WIRE_WRONG;
}

static wire_outcome stopped(weir_error *err) {
    wire_report(err, WEIR_ERR_IO, "stopped");
    return WIRE_STOPPED;
}

static wire_outcome refuse(wire *w, weir_error *err, wire_parsed why) {
    if (why == WIRE_PARSED_NO_MEMORY) return no_memory(w, err);
    wire_close(w);
    if (why == WIRE_PARSED_TOO_LONG)
        wire_report(err, WEIR_ERR_RANGE, "the server '%s' sends a reply of more than %llu bytes",
                    w->server, (unsigned long long)w->access->options.reply_bytes);
    else
        wire_report(err, WEIR_ERR_IO,
                    "what the server '%s' sends is no reply in the Redis protocol; is this the "
                    "right port?",
                    w->server);
    return WIRE_WRONG;
}

/* --- bytes in and out ------------------------------------------------------------------------ */

static int64_t put(wire *w, const char *bytes, size_t length) {
    if (w->tls) return wire_tls_write(w->tls, bytes, length);
    ssize_t done = send(w->fd, bytes, length, MSG_NOSIGNAL);
    if (done >= 0) return done;
    return errno == EAGAIN || errno == EINTR ? WIRE_IO_WANT_WRITE : WIRE_IO_FAILED;
}

static int64_t get(wire *w, char *bytes, size_t length) {
    if (w->tls) return wire_tls_read(w->tls, bytes, length);
    ssize_t done = recv(w->fd, bytes, length, 0);
    if (done >= 0) return done;
    return errno == EAGAIN || errno == EINTR ? WIRE_IO_WANT_READ : WIRE_IO_FAILED;
}

/* Take in what has come. *events is what to wait for next. */
static wire_outcome receive(wire *w, short *events, weir_error *err) {
    char bytes[CHUNK];
    errno = 0;
    int64_t got = get(w, bytes, sizeof bytes);
    *events = got == WIRE_IO_WANT_WRITE ? POLLOUT : POLLIN;
    if (got == WIRE_IO_END) return lost(w, err, "the other side closed it");
    if (got == WIRE_IO_FAILED) return lost(w, err, errno ? strerror(errno) : "TLS failed");
    if (got < 0) return WIRE_OK;
    w->traffic.received += (uint64_t)got;
    w->answered = true;
    *events = 0; /* something came: look at it first */
    return add(&w->in, bytes, (size_t)got) ? WIRE_OK : no_memory(w, err);
}

/* The next reply from what has come, piece by piece: the parser copies what it has not used yet
 * whenever it gets more. */
static wire_parsed parse(wire *w, wire_reply **reply) {
    for (;;) {
        wire_parsed got = wire_parser_next(&w->parser, reply);
        size_t piece = w->in.length - w->in.at;
        if (got != WIRE_PARSED_MORE || !piece) return got;
        if (piece > CHUNK) piece = CHUNK;
        if (!wire_parser_feed(&w->parser, w->in.bytes + w->in.at, piece))
            return WIRE_PARSED_NO_MEMORY;
        take(&w->in, piece);
    }
}

/* Send as much as goes without waiting. */
static wire_outcome send_some(wire *w, short *events, weir_error *err) {
    *events = 0;
    while (w->out.at < w->out.length) {
        errno = 0;
        int64_t done = put(w, w->out.bytes + w->out.at, w->out.length - w->out.at);
        if (done == WIRE_IO_WANT_READ || done == WIRE_IO_WANT_WRITE) {
            *events = done == WIRE_IO_WANT_READ ? POLLIN : POLLOUT;
            return WIRE_OK;
        }
        if (done <= 0) return lost(w, err, errno ? strerror(errno) : "TLS failed");
        take(&w->out, (size_t)done);
        w->traffic.sent += (uint64_t)done;
    }
    return WIRE_OK;
}

wire_outcome wire_flush(wire *w, weir_error *err) {
    int64_t patience = w->access->options.reply_ms;
    if (w->fd < 0) return lost(w, err, "it is not connected");
    for (;;) {
        short out, in;
        wire_outcome so_far = send_some(w, &out, err);
        if (so_far != WIRE_OK || !w->out.length) return so_far;
        wire_waited waited =
            wire_wait(w->access, w->fd, (short)(out | POLLIN), wire_now() + patience);
        if (waited == WIRE_WAIT_STOPPED) return stopped(err);
        if (waited == WIRE_WAIT_LATE) return silent(w, err, patience);
        so_far = receive(w, &in, err);
        if (so_far != WIRE_OK) return so_far;
        if (w->in.length > w->access->options.reply_bytes * 2)
            return refuse(w, err, WIRE_PARSED_TOO_LONG);
    }
}

static wire_outcome parsed(wire *w, wire_reply **reply, bool *more, weir_error *err) {
    wire_parsed got = WIRE_PARSED;
    *reply = w->held;
    w->held = NULL;
    if (!*reply) got = parse(w, reply);
    *more = got == WIRE_PARSED_MORE;
    if (*more) return WIRE_OK;
    if (got != WIRE_PARSED) return refuse(w, err, got);
    if (!w->outstanding) { /* nobody asked */
        wire_reply_free(*reply);
        *reply = NULL;
        return refuse(w, err, WIRE_PARSED_GARBAGE);
    }
    w->outstanding--;
    w->traffic.replies++;
    return WIRE_OK;
}

wire_outcome wire_read(wire *w, wire_reply **reply, int64_t most_ms, weir_error *err) {
    int64_t patience = most_ms ? most_ms : w->access->options.reply_ms;
    int64_t until = wire_now() + patience;
    *reply = NULL;
    if (w->fd < 0) return lost(w, err, "it is not connected");
    wire_outcome so_far = w->out.length ? wire_flush(w, err) : WIRE_OK;
    while (so_far == WIRE_OK) {
        short events;
        bool more;
        so_far = parsed(w, reply, &more, err);
        if (so_far != WIRE_OK || !more) return so_far;
        so_far = receive(w, &events, err);
        if (so_far != WIRE_OK) return so_far;
        if (!events) {
            until = wire_now() + patience;
            continue;
        }
        wire_waited waited = wire_wait(w->access, w->fd, events, until);
        if (waited == WIRE_WAIT_STOPPED) return stopped(err);
        if (waited == WIRE_WAIT_LATE) return silent(w, err, patience);
    }
    return so_far;
}

/* A broken connection is ready too: reading says what is wrong with it. */
bool wire_ready(wire *w) {
    short events;
    weir_error err;
    if (w->fd < 0 || w->held) return true;
    if (!w->outstanding) return false;
    for (;;) {
        if (parse(w, &w->held) != WIRE_PARSED_MORE) return true;
        if (receive(w, &events, &err) != WIRE_OK) return true;
        if (events) return false;
    }
}

/* --- connecting ------------------------------------------------------------------------------ */

static int open_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* 0 or an errno; -1: stopped. */
static int connect_to(wire *w, int family, const struct sockaddr *to, socklen_t length,
                      int64_t until) {
    int failed = 0, yes = 1;
    socklen_t size = sizeof failed;
    w->fd = open_socket(family);
    if (w->fd < 0) return errno;
    if (connect(w->fd, to, length) != 0) failed = errno == EAGAIN ? ECONNREFUSED : errno;
    if (failed == EINPROGRESS) {
        wire_waited waited = wire_wait(w->access, w->fd, POLLOUT, until);
        if (waited == WIRE_WAIT_STOPPED) failed = -1;
        else if (waited == WIRE_WAIT_LATE) failed = ETIMEDOUT;
        else if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &failed, &size)) failed = errno;
    }
    if (failed) {
        close(w->fd);
        w->fd = -1;
    } else if (family != AF_UNIX) {
        setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        setsockopt(w->fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    }
    return failed;
}

static int connect_local(wire *w, int64_t until) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(w->host) >= sizeof to.sun_path) return ENAMETOOLONG;
    strcpy(to.sun_path, w->host);
    return connect_to(w, AF_UNIX, (const struct sockaddr *)&to, sizeof to, until);
}

/* Each address of the name in turn, the time shared among them. */
static int connect_far(wire *w, int64_t until, const char **why) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found, *at;
    char port[8];
    int left = 0, failed = EHOSTUNREACH;
    snprintf(port, sizeof port, "%u", (unsigned)w->port);
    int code = getaddrinfo(w->host, port, &hints, &found);
    if (code) {
        *why = gai_strerror(code);
        return EHOSTUNREACH;
    }
    for (at = found; at; at = at->ai_next) left++;
    for (at = found; at && failed && failed != -1; at = at->ai_next, left--) {
        int64_t share = (until - wire_now()) / left;
        failed = connect_to(w, at->ai_family, at->ai_addr, at->ai_addrlen, wire_now() + share);
    }
    freeaddrinfo(found);
    return failed;
}

static wire_outcome shake_hands(wire *w, int64_t until, weir_error *err) {
    char why[224] = "";
    if (!(w->tls = wire_tls_open(w->access->tls, w->fd, w->host))) return no_memory(w, err);
    for (int got; (got = wire_tls_shake(w->tls, why, sizeof why)) != 1;) {
        if (got == WIRE_IO_END || (got == WIRE_IO_FAILED && !why[0]))
            return lost(w, err, "the other side closed it before TLS was agreed on");
        if (got == WIRE_IO_FAILED) {
            wire_close(w);
            wire_report(err, WEIR_ERR_IO, "no TLS connection to '%s': %s", w->server, why);
            return WIRE_WRONG;
        }
        wire_waited waited =
            wire_wait(w->access, w->fd, got == WIRE_IO_WANT_WRITE ? POLLOUT : POLLIN, until);
        if (waited == WIRE_WAIT_STOPPED) return wire_close(w), stopped(err);
        if (waited == WIRE_WAIT_LATE) {
            wire_close(w);
            wire_report(err, WEIR_ERR_IO,
                        "no TLS connection to '%s': it has not answered for %g s; does it speak "
                        "TLS on this port?",
                        w->server, (double)w->access->options.connect_ms / 1000);
            return WIRE_LOST;
        }
    }
    return WIRE_OK;
}

/* Say who we are. Each command gets its reply before the next: a refusal is told as such. */
static wire_outcome introduce(wire *w, int64_t until, weir_error *err) {
    const wire_access *a = w->access;
    for (int step = 0; step < 3; step++) {
        wire_reply *reply = NULL;
        wire_outcome so_far = WIRE_OK;
        if (step == 0 && a->user)
            so_far =
                wire_call(w, &reply, err, "AUTH %s %s", a->user, a->password ? a->password : "");
        else if (step == 0 && a->password) so_far = wire_appendf(w, err, "AUTH %s", a->password);
        else if (step == 1)
            so_far = wire_appendf(w, err, "CLIENT SETNAME %s", a->options.client_name);
        else if (step == 2 && w->db) so_far = wire_appendf(w, err, "SELECT %d", (int64_t)w->db);
        int64_t left = until - wire_now();
        if (left > a->options.reply_ms) left = a->options.reply_ms;
        if (so_far == WIRE_OK && w->outstanding)
            so_far = wire_read(w, &reply, left > 0 ? left : 1, err);
        if (w->out.bytes) explicit_bzero(w->out.bytes, w->out.room); /* the password was in it */
        if (so_far != WIRE_OK) return so_far;
        bool refused = reply && reply->type == WIRE_ERROR;
        /* A password that the server does not want does no harm; nor does a name that it may not
         * know, and old servers know no users. */
        if (refused && step == 0 && !a->user && strstr(reply->text, "without any password"))
            refused = false;
        if (refused && step == 1 && (wire_is_error(reply, "NOPERM") || wire_is_error(reply, "ERR")))
            refused = strstr(reply->text, "max number of clients") != NULL;
        if (refused) {
            bool later = wire_is_passing(reply) || strstr(reply->text, "max number of clients");
            wire_explain(w->server, reply, err);
            wire_reply_free(reply);
            wire_close(w);
            return later ? WIRE_LOST : WIRE_WRONG;
        }
        wire_reply_free(reply);
    }
    return WIRE_OK;
}

wire_outcome wire_connect(wire *w, weir_error *err) {
    const char *why = NULL;
    int64_t until = wire_now() + w->access->options.connect_ms;
    wire_close(w);
    int failed = w->local ? connect_local(w, until) : connect_far(w, until, &why);
    if (failed == -1) return stopped(err);
    if (failed) {
        wire_report(err, WEIR_ERR_IO, "no connection to '%s': %s", w->server,
                    why ? why : strerror(failed));
        return WIRE_LOST;
    }
    w->traffic.connects++;
    if (!wire_parser_init(&w->parser, w->access->options.reply_bytes)) return no_memory(w, err);
    wire_outcome so_far = w->access->tls ? shake_hands(w, until, err) : WIRE_OK;
    if (so_far == WIRE_OK) so_far = introduce(w, until, err);
    if (so_far == WIRE_STOPPED) wire_close(w);
    return so_far;
}

/* --- commands -------------------------------------------------------------------------------- */

wire_outcome wire_append(wire *w, size_t count, const char *const *words, const size_t *lengths,
                         weir_error *err) {
    char *command;
    if (w->fd < 0) return lost(w, err, "it is not connected");
    int length = redisFormatCommandArgv(&command, (int)count, (const char **)words, lengths);
    if (length < 0) return no_memory(w, err);
    bool fits = add(&w->out, command, (size_t)length);
    redisFreeCommand(command);
    if (!fits) return no_memory(w, err);
    w->outstanding++;
    w->traffic.commands++;
    return WIRE_OK;
}

static wire_outcome append_list(wire *w, weir_error *err, const char *format, va_list args) {
    const char *words[WORDS_MOST];
    size_t lengths[WORDS_MOST], count = 0;
    char numbers[WORDS_MOST][24];
    for (const char *at = format; *at && count < WORDS_MOST; count++) {
        size_t length = strcspn(at, " ");
        words[count] = at;
        lengths[count] = length;
        if (length == 2 && !strncmp(at, "%s", 2)) {
            words[count] = va_arg(args, const char *);
            lengths[count] = strlen(words[count]);
        } else if (length == 2 && !strncmp(at, "%b", 2)) {
            words[count] = va_arg(args, const char *);
            lengths[count] = va_arg(args, size_t);
        } else if (length == 2 && !strncmp(at, "%d", 2)) {
            lengths[count] = (size_t)snprintf(numbers[count], sizeof numbers[count], "%lld",
                                              (long long)va_arg(args, int64_t));
            words[count] = numbers[count];
        }
        at += length;
        at += strspn(at, " ");
    }
    return wire_append(w, count, words, lengths, err);
}

wire_outcome wire_appendf(wire *w, weir_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    wire_outcome so_far = append_list(w, err, format, args);
    va_end(args);
    return so_far;
}

wire_outcome wire_call(wire *w, wire_reply **reply, weir_error *err, const char *format, ...) {
    va_list args;
    *reply = NULL;
    va_start(args, format);
    wire_outcome so_far = append_list(w, err, format, args);
    va_end(args);
    return so_far == WIRE_OK ? wire_read(w, reply, 0, err) : so_far;
}
