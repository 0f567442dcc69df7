/* wire_access.c - what the connections to one deployment share, and how failures are told.
 *
 * The password is the first line of a file, or stands in the environment. It is wiped from
 * memory when the access is freed.
 */
#include "wire_access.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire_error.h"

enum {
    CONNECT_MS = 5000,
    REPLY_MS = 10000,
    REPLY_BYTES = 64 << 20,
    SLICE_MS = 200, /* options.stop is asked this often */
    PASSWORD_MOST = 4096
};

void wire_report(weir_error *err, weir_status code, const char *format, ...) {
    if (!err) return;
    err->code = code;
    err->offset = -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    /* Names and texts in it may be a server's: nothing that a terminal would obey. */
    for (char *c = err->message; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
}

/* --- the password ------------------------------------------------------------------------ */

static weir_status read_password(char **out, const char *path, weir_error *err) {
    FILE *file = fopen(path, "re");
    if (!file)
        return wire_fail(err, WEIR_ERR_IO, "cannot open the password file '%s': %s", path,
                         strerror(errno));
    char *line = malloc(PASSWORD_MOST);
    bool failed = line && !fgets(line, PASSWORD_MOST, file);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (!line) return wire_no_memory(err);
    if (!failed) line[strcspn(line, "\r\n")] = 0;
    if (failed || !*line) {
        free(line);
        return wire_fail(err, WEIR_ERR_IO, "the password file '%s' %s%s", path,
                         error ? "cannot be read: " : "has no password in its first line",
                         error ? strerror(error) : "");
    }
    *out = line;
    return WEIR_OK;
}

static weir_status find_password(wire_access *a, weir_error *err) {
    static const char *const names[] = {"WEIR_PASSWORD", "REDISCLI_AUTH", "VALKEYCLI_AUTH"};
    if (a->options.password_file) return read_password(&a->password, a->options.password_file, err);
    for (size_t i = 0; i < sizeof names / sizeof *names && !a->password; i++) {
        const char *value = getenv(names[i]);
        if (value && *value && !(a->password = strdup(value))) return wire_no_memory(err);
    }
    return WEIR_OK;
}

/* --- access -------------------------------------------------------------------------------- */

weir_status wire_access_new(wire_access **out, const wire_options *options, const wire_url *url,
                            weir_error *err) {
    wire_access *a = *out = calloc(1, sizeof *a);
    const char *user = url->user ? url->user : options->user;
    if (!a) return wire_no_memory(err);
    a->options = *options;
    if (!a->options.connect_ms) a->options.connect_ms = CONNECT_MS;
    if (!a->options.reply_ms) a->options.reply_ms = REPLY_MS;
    if (!a->options.reply_bytes) a->options.reply_bytes = REPLY_BYTES;
    if (!a->options.client_name) a->options.client_name = "weir";
    weir_status status = WEIR_OK;
    if (user && !(a->user = strdup(user))) status = wire_no_memory(err);
    if (status == WEIR_OK) status = find_password(a, err);
    if (status == WEIR_OK && url->tls) status = wire_tls_new(&a->tls, options, err);
    else if (status == WEIR_OK && (options->ca_file || options->cert_file || options->key_file))
        status = wire_fail(err, WEIR_ERR_SPEC,
                           "certificates are for TLS, which the address does not ask for: write "
                           "rediss:// or rediss+cluster://");
    if (status != WEIR_OK) {
        wire_access_free(a);
        *out = NULL;
    }
    return status;
}

void wire_access_free(wire_access *a) {
    if (!a) return;
    if (a->password) explicit_bzero(a->password, strlen(a->password));
    free(a->password);
    free(a->user);
    wire_tls_free(a->tls);
    free(a);
}

/* --- waiting ------------------------------------------------------------------------------- */

uint64_t wire_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int64_t wire_now(void) { return (int64_t)(wire_nanoseconds() / 1000000); }

wire_waited wire_wait(const wire_access *a, int fd, short events, int64_t until) {
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int64_t left = until - wire_now();
        if (a->options.stop && a->options.stop(a->options.stop_context)) return WIRE_WAIT_STOPPED;
        if (left < 0) left = 0;
        int got = poll(&p, fd >= 0, (int)(left < SLICE_MS ? left : SLICE_MS));
        if (got > 0) return WIRE_WAIT_READY;
        if (left == 0) return WIRE_WAIT_LATE;
    }
}

bool wire_pause(const wire_access *access, int64_t ms) {
    return wire_wait(access, -1, 0, wire_now() + ms) != WIRE_WAIT_STOPPED;
}

int64_t wire_backoff_next(wire_backoff *b) {
    enum { FIRST_MS = 20, MOST_MS = 2000, DOUBLINGS = 7 };
    int64_t delay = (int64_t)FIRST_MS << (b->failures < DOUBLINGS ? b->failures : DOUBLINGS);
    if (!b->chance) b->chance = (uint64_t)wire_now() ^ (uint64_t)(uintptr_t)b;
    b->chance = b->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    b->failures++;
    if (delay > MOST_MS) delay = MOST_MS;
    return delay - (int64_t)((b->chance >> 33) % (uint64_t)(delay / 2 + 1));
}
