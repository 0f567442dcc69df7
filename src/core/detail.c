/* detail.c - one line of what an object says about itself. */
#include "core/detail.h"

#include <stdarg.h>
#include <stdio.h>

void weir__detail(weir_detail_fn *each, void *context, const char *name, const char *meaning,
                  const char *format, ...) {
    char value[64];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    each(context, name, value, meaning);
}
