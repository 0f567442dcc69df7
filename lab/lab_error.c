/* lab_error.c - fill a weir_error and return its code. */
#include "lab_error.h"

#include <stdarg.h>
#include <stdio.h>

weir_status lab_error(weir_error *err, weir_status code, int64_t offset, const char *format, ...) {
    if (!err) return code;
    err->code = code;
    err->offset = offset;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return code;
}
