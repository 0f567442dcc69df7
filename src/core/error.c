/* error.c - status texts and the one function that reports a failure. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

const char *weir_status_text(weir_status status) {
    switch (status) {
#define WEIR_STATUS_CASE(name, number, text)                                                       \
    case name:                                                                                     \
        return text;
        WEIR_STATUS_LIST(WEIR_STATUS_CASE)
#undef WEIR_STATUS_CASE
    }
    return "unknown status";
}

const char *weir_version(void) { return WEIR_VERSION_STRING; }

void weir__report(weir_error *err, weir_status code, int64_t offset, const char *format, ...) {
    if (!err) return;
    err->code = code;
    err->offset = offset;
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
}
