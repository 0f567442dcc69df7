/* lab_error.h - fill a weir_error and return its code. */
#ifndef LAB_ERROR_H
#define LAB_ERROR_H

#include "weir.h"

/* offset: the byte of a spec at which the trouble begins, or -1. err may be NULL. */
weir_status lab_error(weir_error *err, weir_status code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
