/* pins.h - which slices stand on one master, and so fail together.
 *
 * Tags choose slots, slots stand on masters. The paper's equations 5 and 6 take each slice to fail
 * by itself; with fewer masters than slices, or after slots have moved, that is not so.
 */
#ifndef WEIR_PINS_H
#define WEIR_PINS_H

#include "fleet.h"

typedef struct {
    size_t sites, masters;   /* masters that have any */
    size_t most;             /* sites at the one that has most */
    size_t least_most;       /* what that would be if they were spread evenly over all masters */
    size_t nowhere;          /* sites whose slots nobody has */
    const fleet_node *where; /* the one that has most */
} pins;

/* slots[i] is the slot of site i. */
pins pins_count(const fleet *f, const uint16_t *slots, size_t sites);

/* One line for a person, or false where each site has a master of its own. */
bool pins_say(const pins *p, const char *name, char *line, size_t size);

#endif
