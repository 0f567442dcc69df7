/* stall.c - what is said when a slice has let a producer wait.
 *
 * A server that fails and is replaced, or comes back in time, costs no record and no repeat, but
 * the run has stood still meanwhile, and whoever watches it should know why. What is shorter than
 * the times below is left to the counters.
 */
#include "stall.h"

#include <stdio.h>

enum { FAILED_MS = 500, SLOW_MS = 2000 };

bool stall_say(const stall *s, const fleet *f, size_t slice, const char *name, uint16_t slot,
               char *line, size_t size) {
    int64_t lasted = wire_now() - s->began;
    if (lasted < (s->failed ? FAILED_MS : SLOW_MS) || f->slots[slot] == FLEET_NOWHERE) return false;
    const fleet_node *now = f->nodes[f->slots[slot]];
    double seconds = (double)lasted / 1000;
    if (!s->failed)
        snprintf(line, size, "slice %zu of '%s' answered after %.1f s: the server '%s' was slow",
                 slice, name, seconds, wire_server(now->wire));
    else if (now == s->failed)
        snprintf(line, size, "slice %zu of '%s' answered after %.1f s: the server '%s' had failed",
                 slice, name, seconds, wire_server(now->wire));
    else
        snprintf(line, size,
                 "slice %zu of '%s' answered after %.1f s, from '%s': the server '%s' had failed",
                 slice, name, seconds, wire_server(now->wire), wire_server(s->failed->wire));
    return true;
}
