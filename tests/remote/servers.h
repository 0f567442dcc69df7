/* servers.h - servers for tests of the client: real ones, and one that says what it is told to.
 *
 * All stand on 127.0.0.1, on ports that the system gave, in the scratch folder of the test.
 */
#ifndef WEIR_TESTS_SERVERS_H
#define WEIR_TESTS_SERVERS_H

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "testing.h"

static inline void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* A socket that listens on a port of the system's choice. */
static inline int listen_anywhere(uint16_t *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&at, &length))
        abort();
    *port = ntohs(at.sin_port);
    return fd;
}

static inline uint16_t free_port(void) {
    uint16_t port;
    close(listen_anywhere(&port));
    return port;
}

/* --- a real server ---------------------------------------------------------------------- */

static inline bool have_program(const char *name) {
    char command[128];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

typedef struct {
    pid_t pid;
    uint16_t port;
} real_server;

static inline bool answers(uint16_t port) {
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    if (fd >= 0) close(fd);
    return there;
}

/* Start redis-server with further words on its command line, ended by NULL, and wait for it.
 * tls_only: the port speaks TLS. */
static inline real_server start_real_at(uint16_t port, bool tls_only, const char *const *more) {
    const char *words[64] = {"redis-server", tls_only ? "--tls-port" : "--port"};
    char number[8];
    size_t n = 2;
    real_server s = {.port = port};
    snprintf(number, sizeof number, "%u", (unsigned)port);
    words[n++] = number;
    if (tls_only) words[n++] = "--port", words[n++] = "0";
    const char *fixed[] = {"--save",         "",          "--bind",    "127.0.0.1",   "--dir",
                           scratch_folder(), "--logfile", "/dev/null", "--daemonize", "no"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) words[n++] = fixed[i];
    while (*more) words[n++] = *more++;
    s.pid = fork();
    if (s.pid == 0) {
        /* It ends with the test, and keeps nobody waiting who reads what the test prints. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    for (int i = 0; i < 500 && !answers(port); i++) nap(10);
    if (!answers(port)) fail_msg("redis-server does not start");
    return s;
}

static inline real_server start_real(const char *const *more) {
    return start_real_at(free_port(), false, more);
}

static inline void stop_real(real_server *s) {
    if (s->pid <= 0) return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

/* --- a server that says what it is told to ------------------------------------------------ */

typedef struct {
    const char *says; /* sent after each command that comes, at once to whoever connects if
                       * eager; then the connection is closed if `closes` */
    size_t length;
    bool eager, closes, endless; /* endless: again and again */
    uint16_t port;
    int listener;
    pthread_t thread;
} fake_server;

static inline bool say_all(int fd, const char *bytes, size_t length) {
    while (length) {
        ssize_t done = send(fd, bytes, length, MSG_NOSIGNAL);
        if (done <= 0) return false;
        bytes += done;
        length -= (size_t)done;
    }
    return true;
}

static inline void *fake_serve(void *context) {
    fake_server *s = context;
    char bytes[4096];
    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0; close(fd)) {
        bool open = !s->eager || say_all(fd, s->says, s->length);
        while (open && recv(fd, bytes, sizeof bytes, 0) > 0) {
            do open = say_all(fd, s->says, s->length);
            while (open && s->endless);
            if (s->closes) open = false;
        }
    }
    return NULL;
}

static inline void start_fake(fake_server *s) {
    s->listener = listen_anywhere(&s->port);
    if (pthread_create(&s->thread, NULL, fake_serve, s)) abort();
}

static inline void stop_fake(fake_server *s) {
    shutdown(s->listener, SHUT_RDWR);
    close(s->listener);
    pthread_join(s->thread, NULL);
}

#endif
