/* wire_error.h - one way to fail for the files of remote/. */
#ifndef WEIR_WIRE_ERROR_H
#define WEIR_WIRE_ERROR_H

#include "weir.h"

/* Fill *err, if there is one. */
void wire_report(weir_error *err, weir_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the value `code`: `return wire_fail(err, WEIR_ERR_SPEC, "...", ...)`. */
#define wire_fail(err, code, ...) (wire_report((err), (code), __VA_ARGS__), (code))
#define wire_no_memory(err) wire_fail((err), WEIR_ERR_MEMORY, "out of memory")

#endif
