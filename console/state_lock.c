/* state_lock.c - one run at a time on a state file.
 *
 * The state file itself is replaced at every save, so a lock on it would be a
 * lock on a file that is no longer there. The lock is on a sibling, FILE.lock.
 * The kernel drops it when the process dies, however it dies; a lock file left
 * behind by `kill -9` is therefore harmless and is simply taken again.
 *
 * The lock file is removed before it is unlocked. Another process may have
 * opened the old one in between and now holds a lock on a file without a name:
 * it notices by comparing what it has open with what the name shows, and tries
 * again.
 */
#include "state_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* The lock file says who holds it, for the message that the next one prints. */
static void write_holder(int fd) {
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n) return; /* only a courtesy */
}

static long read_holder(int fd) {
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static bool still_named(int fd, const char *path) {
    struct stat open_file, named;
    return !fstat(fd, &open_file) && !stat(path, &named) && open_file.st_ino == named.st_ino &&
           open_file.st_dev == named.st_dev;
}

static int complain(int fd, const char *state_path) {
    if (errno != EWOULDBLOCK) return cli_error("cannot lock '%s': %s", state_path, strerror(errno));
    long holder = read_holder(fd);
    if (holder > 0)
        return cli_error("another run (process %ld) is using the state file '%s'; wait for it or "
                         "give this one a file of its own",
                         holder, state_path);
    return cli_error("another run is using the state file '%s'; wait for it or give this one a "
                     "file of its own",
                     state_path);
}

int state_lock_take(state_lock *lock, const char *state_path) {
    char real[PATH_MAX]; /* a link and its target are one state */
    lock->fd = -1;
    if (asprintf(&lock->path, "%s.lock", realpath(state_path, real) ? real : state_path) < 0) {
        lock->path = NULL;
        return cli_error("out of memory");
    }
    for (;;) {
        int fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0) {
            int code = cli_error("cannot create '%s': %s", lock->path, strerror(errno));
            free(lock->path);
            lock->path = NULL;
            return code;
        }
        if (flock(fd, LOCK_EX | LOCK_NB)) {
            int code = complain(fd, state_path);
            close(fd);
            free(lock->path);
            lock->path = NULL;
            return code;
        }
        if (still_named(fd, lock->path)) {
            write_holder(fd);
            lock->fd = fd;
            return EXIT_DONE;
        }
        close(fd);
    }
}

void state_lock_drop(state_lock *lock) {
    if (!lock->path || lock->fd < 0) return;
    unlink(lock->path);
    close(lock->fd);
    free(lock->path);
    *lock = (state_lock){.fd = -1};
}
