/* pins.c - which slices stand on one master, and so fail together. */
#include "pins.h"

#include <stdio.h>

pins pins_count(const fleet *f, const uint16_t *slots, size_t sites) {
    size_t at[FLEET_NODES] = {0}, all = fleet_primaries(f);
    pins p = {.sites = sites};
    for (size_t i = 0; i < sites; i++) {
        uint16_t node = f->slots[slots[i]];
        if (node == FLEET_NOWHERE) p.nowhere++;
        else if (++at[node] > p.most) p.most = at[node], p.where = f->nodes[node];
    }
    for (size_t i = 0; i < f->node_count; i++) p.masters += at[i] > 0;
    p.least_most = all ? (sites + all - 1) / all : sites;
    return p;
}

bool pins_say(const pins *p, const char *name, char *line, size_t size) {
    if (p->most < 2) return false;
    int used = snprintf(line, size,
                        "%zu slices of '%s' stand on %zu master%s: the %zu on '%s' fail together",
                        p->sites, name, p->masters, p->masters == 1 ? "" : "s", p->most,
                        wire_server(p->where->wire));
    if (p->most > p->least_most && used > 0 && (size_t)used < size)
        snprintf(line + used, size - (size_t)used,
                 "; slots have moved, spread evenly it would be %zu", p->least_most);
    return true;
}
