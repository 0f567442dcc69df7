/* clock.h - the time of day, for keys that come without one. */
#ifndef WEIR_CORE_CLOCK_H
#define WEIR_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since 1970. */
static inline int64_t weir__clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
