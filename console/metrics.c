/* metrics.c - numbers of a run in the text format of Prometheus.
 *
 * The file is read by another process at any time, so it is written beside its place and
 * renamed over it: a reader finds the old numbers or the new ones, never half of either.
 */
#include "metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value) {
    if (isnan(value)) return;
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name, help, name, type, name, value);
}

bool metrics_write(const char *path, void (*fill)(void *context, FILE *out), void *context) {
    char *beside = NULL;
    if (asprintf(&beside, "%s.%ld.tmp", path, (long)getpid()) < 0) {
        cli_error("out of memory");
        return false;
    }
    FILE *out = fopen(beside, "we");
    bool good = out != NULL;
    if (good) {
        fill(context, out);
        good = !ferror(out);
        good = !fclose(out) && good;
        good = good && !rename(beside, path);
    }
    if (!good) {
        cli_error("cannot write the metrics to '%s': %s", path, strerror(errno));
        unlink(beside);
    }
    free(beside);
    return good;
}
