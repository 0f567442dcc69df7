/* error.h - one way to fail: fill a weir_error, return its code. */
#ifndef WEIR_CORE_ERROR_H
#define WEIR_CORE_ERROR_H

#include "weir.h"

/* Fill *err, if there is one. */
void weir__report(weir_error *err, weir_status code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same, with the value `code`: `return weir__fail(err, WEIR_ERR_RANGE, offset, "...",
 * ...)`. A macro, so that an analyser sees that the value is never WEIR_OK. */
#define weir__fail(err, code, ...) (weir__report((err), (code), __VA_ARGS__), (code))

#endif
