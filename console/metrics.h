/* metrics.h - numbers of a run in the text format of Prometheus. */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

#include <stdbool.h>
#include <stdio.h>

/* One sample with its help and type ("counter" or "gauge"). Names begin with weir_; a value that
 * is no number is left out. */
void metrics_put(FILE *out, const char *name, const char *type, const char *help, double value);

/* Replace a file as a whole by what `fill` writes; false after a message. */
bool metrics_write(const char *path, void (*fill)(void *context, FILE *out), void *context);

#endif
