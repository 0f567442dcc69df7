/* metrics.c - numbers of a run in the text format of Prometheus.
 *
 * The file is read by another process at any time, so it is written beside its place and
 * renamed over it: a reader finds the old numbers or the new ones, never half of either. An open
 * descriptor, a pipe or a device is written into.
 */
#include "metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "values.h"

void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value) {
    if (isnan(value)) return;
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

static bool write_all(FILE *out, void (*fill)(void *context, FILE *out), void *context) {
    if (!out) return false;
    fill(context, out);
    bool good = !ferror(out);
    return !fclose(out) && good;
}

/* The file behind a path, which may be a link; NULL: there is none that could be replaced. */
static char *replaceable(const char *path) {
    struct stat there;
    if (value_descriptor(path) >= 0) return NULL;
    if (stat(path, &there)) return errno == ENOENT ? strdup(value_path(path)) : NULL;
    return S_ISREG(there.st_mode) ? realpath(path, NULL) : NULL;
}

static FILE *open_as_it_is(const char *path) {
    int fd = value_descriptor(path);
    if (fd < 0) return fopen(path, "we");
    return (fd = dup(fd)) < 0 ? NULL : fdopen(fd, "w");
}

bool metrics_write(const char *path, void (*fill)(void *context, FILE *out), void *context) {
    char *target = replaceable(path), *beside = NULL;
    bool good;
    if (!target) {
        good = write_all(open_as_it_is(path), fill, context);
    } else if (asprintf(&beside, "%s.tmp", target) < 0) {
        free(target);
        cli_error("out of memory");
        return false;
    } else {
        good = write_all(fopen(beside, "we"), fill, context) && !rename(beside, target);
    }
    if (!good) cli_error("cannot write the metrics to '%s': %s", path, strerror(errno));
    if (!good && beside) unlink(beside);
    free(beside);
    free(target);
    return good;
}
