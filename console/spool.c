/* spool.c - temporary files without a name, and inputs that can be read only once kept in them. */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "stopping.h"

int spool_file(const char *folder) {
    char path[4096];
    if (!folder) folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    int n = snprintf(path, sizeof path, "%s/weir-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path) return errno = ENAMETOOLONG, -1;
    fd = mkostemp(path, O_CLOEXEC); /* a file system without O_TMPFILE */
    if (fd >= 0) unlink(path);
    return fd;
}

bool spool_is_needed(const char *path) {
    struct stat st;
    return !strcmp(path, "-") || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static bool write_all(int out, const char *bytes, size_t length) {
    for (ssize_t n; length; bytes += n, length -= (size_t)n)
        if ((n = write(out, bytes, length)) < 0) {
            if (errno != EINTR) return false;
            n = 0;
        }
    return true;
}

static int copy_input(const char *path, int out, const char *advice) {
    char buffer[65536];
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "standard input" : path;
    int in = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int code = EXIT_DONE;
    while (in >= 0 && code == EXIT_DONE && !stopping_signal) {
        ssize_t n = read(in, buffer, sizeof buffer);
        if (n == 0) break;
        if (n < 0 && errno != EINTR)
            code = cli_error("cannot read '%s': %s", name, strerror(errno));
        if (n > 0 && !write_all(out, buffer, (size_t)n))
            code = cli_error("cannot keep '%s' in a temporary file: %s; %s", name, strerror(errno),
                             advice);
    }
    if (in < 0) return cli_error("cannot read '%s': %s", name, strerror(errno));
    if (!standard) close(in);
    return stopping_signal ? 128 + stopping_signal : code;
}

int spool_inputs(spool *s, const char *const *given, size_t count, bool twice, const char *folder,
                 const char *advice) {
    int code = EXIT_DONE;
    *s = (spool){.given = given, .count = count};
    s->names = calloc(count + 1, sizeof *s->names);
    s->copies = calloc(count + 1, sizeof *s->copies);
    if (!s->names || !s->copies) return cli_error("out of memory");
    for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
        s->names[i] = given[i];
        if (!twice || !spool_is_needed(given[i])) continue;
        int fd = spool_file(folder);
        if (fd < 0)
            return cli_error("cannot make a temporary file: %s; %s", strerror(errno), advice);
        snprintf(s->copies[i], sizeof s->copies[i], "/proc/self/fd/%d", fd);
        s->names[i] = s->copies[i];
        code = copy_input(given[i], fd, advice);
    }
    return code;
}

const char *spool_given(const spool *s, const char *name) {
    for (size_t i = 0; i < s->count; i++)
        if (s->names[i] && !strcmp(s->names[i], name)) return s->given[i];
    return name;
}

void spool_word(const spool *s, stream_error *err) {
    for (size_t i = 0; i < s->count; i++) {
        char *at = *s->copies[i] ? strstr(err->message, s->copies[i]) : NULL, rest[640];
        if (!at) continue;
        snprintf(rest, sizeof rest, "%s", at + strlen(s->copies[i]));
        snprintf(at, sizeof err->message - (size_t)(at - err->message), "%s%s",
                 strcmp(s->given[i], "-") ? s->given[i] : "standard input", rest);
        return;
    }
}

void spool_release(spool *s) {
    for (size_t i = 0; s->copies && i < s->count; i++)
        if (*s->copies[i]) close(atoi(strrchr(s->copies[i], '/') + 1));
    free(s->names);
    free(s->copies);
    *s = (spool){0};
}
