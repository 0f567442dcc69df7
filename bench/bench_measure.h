/* bench_measure.h - run a command and say what it took.
 *
 * Wall time, processor time (user and system together), the peak of resident memory and the
 * part of the processor time that is the system's, from the system's own account of the finished
 * child; to the microsecond, where time(1) rounds to hundredths of a second.
 */
#ifndef WEIR_BENCH_MEASURE_H
#define WEIR_BENCH_MEASURE_H

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static inline double measure_seconds(struct timeval t) {
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* Append "wall cpu KiB" to a file; the exit status is the command's. */
static inline int measure_command(const char *path, char **command) {
    pid_t child;
    int status;
    struct rusage used;
    double begin = bench_now();
    int failed = posix_spawnp(&child, command[0], NULL, NULL, command, environ);
    if (failed) bench_die("cannot run '%s': %s", command[0], strerror(failed));
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) bench_die("lost '%s': %s", command[0], strerror(errno));
    double wall = bench_now() - begin;
    FILE *file = fopen(path, "a");
    if (!file) bench_die("cannot write '%s': %s", path, strerror(errno));
    double user = measure_seconds(used.ru_utime), system = measure_seconds(used.ru_stime);
    fprintf(file, "%.6f %.6f %ld %.6f\n", wall, user + system, used.ru_maxrss, system);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
