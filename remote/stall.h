/* stall.h - what is said when a slice has let a producer wait. */
#ifndef WEIR_STALL_H
#define WEIR_STALL_H

#include "fleet.h"

typedef struct {
    int64_t began;            /* on wire_now() */
    const fleet_node *failed; /* whose connection broke, or that has the slot no more; or NULL */
} stall;

/* One line about a wait that is over, or false where it was too short to be told. */
bool stall_say(const stall *s, const fleet *f, size_t slice, const char *name, uint16_t slot,
               char *line, size_t size);

#endif
