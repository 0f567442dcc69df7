/* error.h - one way to fail: fill a weir_error, return its code. */
#ifndef WEIR_CORE_ERROR_H
#define WEIR_CORE_ERROR_H

#include "weir.h"

/* Fill *err (if there is one) and return code, so that a caller can write
 * `return weir__fail(err, WEIR_ERR_RANGE, offset, "...", ...)`. */
weir_status weir__fail(weir_error *err, weir_status code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
