/* wire_access.h - what the connections to one deployment share, for wire.c. */
#ifndef WEIR_WIRE_ACCESS_H
#define WEIR_WIRE_ACCESS_H

#include "wire.h"
#include "wire_tls.h"

struct wire_access {
    wire_options options; /* with its defaults filled in */
    char *user, *password;
    wire_tls *tls; /* or NULL */
};

typedef enum { WIRE_WAIT_READY, WIRE_WAIT_LATE, WIRE_WAIT_STOPPED } wire_waited;

/* Wait for poll(2) events of a descriptor (-1: none) until a time of wire_now(). */
wire_waited wire_wait(const wire_access *a, int fd, short events, int64_t until);

#endif
