/* remote_testing.h - a remote filter for a test: opened, offered to, what it says, a proxy that
 * cuts. */
#ifndef WEIR_TESTS_REMOTE_TESTING_H
#define WEIR_TESTS_REMOTE_TESTING_H

#include <poll.h>

#include "servers.h"
#include "weir_remote.h"
#include "wire.h"

/* --- what is said ------------------------------------------------------------------------- */

static char said[4096];
static inline void note(void *context, const char *message) {
    (void)context;
    size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s\n", message);
}

static inline weir_remote *open_at(uint16_t port, const char *name, weir_remote_options options,
                                   const char *spec) {
    char url[128];
    weir_remote *r;
    weir_error err;
    options.say = note;
    said[0] = 0;
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/%s", (unsigned)port, name);
    if (weir_remote_open(&r, url, &options, &err) != WEIR_OK ||
        weir_remote_begin(r, spec, 2, &err) != WEIR_OK)
        fail_msg("%s", err.message);
    return r;
}

/* A command by a connection of its own; true if the reply is no error. */
static inline bool command(uint16_t port, const char *format, const char *key) {
    wire_url url;
    wire_access *access;
    wire_options options = {0};
    wire_reply *reply;
    weir_error err;
    assert_int_equal(wire_url_parse(&url, "redis://127.0.0.1", &err), WEIR_OK);
    assert_int_equal(wire_access_new(&access, &options, &url, &err), WEIR_OK);
    wire *w = wire_new(access, &url, "127.0.0.1", port);
    assert_int_equal(wire_connect(w, &err), WIRE_OK);
    assert_int_equal(wire_call(w, &reply, &err, format, key), WIRE_OK);
    bool good = reply->type != WIRE_ERROR;
    wire_reply_free(reply);
    wire_free(w);
    wire_access_free(access);
    wire_url_release(&url);
    return good;
}

/* --- a proxy that cuts ---------------------------------------------------------------------- */

typedef struct {
    uint16_t port, to;
    int listener;
    pthread_t thread;
    _Atomic int64_t up, down; /* bytes that may still pass each way; then it is cut, once */
    _Atomic int cuts;
} proxy;

static inline int dial(uint16_t port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at)) abort();
    return fd;
}

/* Pass on what has come; false: end both connections. What is allowed passes before the cut. */
static inline bool pass_on(proxy *p, int from, int to, _Atomic int64_t *left) {
    char bytes[65536];
    ssize_t got = recv(from, bytes, sizeof bytes, 0);
    if (got <= 0) return false;
    int64_t allowed = *left;
    if (got <= allowed) {
        *left = allowed - got;
        return say_all(to, bytes, (size_t)got);
    }
    say_all(to, bytes, (size_t)allowed);
    *left = INT64_MAX / 2;
    p->cuts++;
    return false;
}

static inline void *run_proxy(void *context) {
    proxy *p = context;
    for (int client; (client = accept(p->listener, NULL, NULL)) >= 0;) {
        int server = dial(p->to);
        struct pollfd fds[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        for (bool open = true; open && poll(fds, 2, -1) > 0;) {
            if (fds[0].revents) open = pass_on(p, client, server, &p->up);
            if (open && fds[1].revents) open = pass_on(p, server, client, &p->down);
        }
        /* The server must have read what passed before the next connection comes. */
        shutdown(server, SHUT_WR);
        char rest[4096];
        while (recv(server, rest, sizeof rest, 0) > 0) {
        }
        close(client);
        close(server);
    }
    return NULL;
}

static inline void start_proxy(proxy *p, uint16_t to) {
    p->to = to;
    p->up = p->down = INT64_MAX / 2;
    p->listener = listen_anywhere(&p->port);
    if (pthread_create(&p->thread, NULL, run_proxy, p)) abort();
}

static inline void stop_proxy(proxy *p) {
    shutdown(p->listener, SHUT_RDWR);
    close(p->listener);
    pthread_join(p->thread, NULL);
}

/* Offer keys `from` to `to`; how many were NEW, or -1 when collecting failed. */
static inline long offer(weir_remote *r, uint64_t from, uint64_t to, weir_error *err) {
    uint64_t hashes[4096], verdicts[64];
    size_t seen;
    for (uint64_t i = from; i < to; i++) hashes[i - from] = test_word(77, i);
    weir_batch batch = {.count = to - from, .hashes = hashes};
    assert_int_equal(weir_remote_submit(r, &batch, err), WEIR_OK);
    weir_status status = weir_remote_collect(r, verdicts, &seen, err);
    long fresh = (long)(to - from - seen);
    return status == WEIR_OK ? fresh : -1 - fresh;
}

#endif
