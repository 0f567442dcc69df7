/* live_told.c - what is told of sites on servers: events, messages, what servers say of themselves.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet_work.h"
#include "live.h"
#include "pins.h"
#include "wire_error.h"

void live_say(weir_live *live, const char *format, ...) {
    char line[512];
    va_list args;
    live->said++;
    if (!live->options.servers.say) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    live->options.servers.say(live->options.servers.context, line);
}

void live_event(weir_live *live, weir_live_what what, size_t site, uint64_t count) {
    struct timespec now;
    uint64_t i = live->event_count++;
    if (i >= LIVE_EVENTS) return;
    clock_gettime(CLOCK_REALTIME, &now);
    weir_live_event *e = &live->events[i];
    *e = (weir_live_event){.time = now.tv_sec * INT64_C(1000000000) + now.tv_nsec,
                           .what = what,
                           .site = site,
                           .count = count};
    fleet_node *node = fleet_at(live->fleet, live->sites[site].slot);
    snprintf(e->server, sizeof e->server, "%s", node ? wire_server(node->wire) : "nowhere");
}

const weir_live_event *weir_live_events(const weir_live *live, size_t *kept, uint64_t *all) {
    *kept = live->event_count < LIVE_EVENTS ? (size_t)live->event_count : LIVE_EVENTS;
    if (all) *all = live->event_count;
    return live->events;
}

void live_look_at_masters(weir_live *live) {
    char line[320];
    if (live->changes == live->fleet->changes) return;
    bool first = !live->changes;
    live->changes = live->fleet->changes;
    pins p = pins_count(live->fleet, live->slots, live->count);
    size_t before = live->share_most;
    live->share_most = p.most;
    if (!first) live_event(live, WEIR_LIVE_TOPOLOGY, 0, p.most);
    if ((first || p.most != before) && pins_say(&p, live->name, line, sizeof line))
        live_say(live, "%s", line);
}

void weir_live_get_stats(const weir_live *live, weir_live_stats *stats) {
    wire_traffic t;
    pins p = pins_count(live->fleet, live->slots, live->count);
    *stats = live->stats;
    stats->sites = live->count;
    stats->masters = p.masters;
    stats->share_most = p.most;
    for (size_t i = 0; i < live->count; i++) stats->lost += weir__site_lost(live->sites[i].site);
    fleet_traffic(live->fleet, &t);
    stats->commands = t.commands;
    stats->bytes_sent = t.sent;
    stats->bytes_received = t.received;
}

void live_sent(const weir__site *site, uint64_t *messages, uint64_t *bytes) {
    const weir_live *live = ((const live_site *)site->host)->live;
    wire_traffic t;
    fleet_traffic(live->fleet, &t);
    *messages = 0;
    for (size_t i = 0; i < WEIR_LIVE_LEVELS; i++) *messages += live->stats.messages[i];
    *bytes = t.sent + t.received - live->opening_bytes;
}

weir_status weir_live_get_slice(weir_live *live, size_t i, weir_remote_slice *out, size_t *level,
                                weir_error *err) {
    *out = (weir_remote_slice){0};
    if (i >= live->count) return wire_fail(err, WEIR_ERR_RANGE, "there is no slice %zu", i);
    live_site *s = &live->sites[i];
    *level = s->level;
    snprintf(out->key, sizeof out->key, "%s", s->key);
    weir_status status =
        s->has_places ? live_places_look(s, out, err) : live_keys_look(s, out, err);
    fleet_node *node = fleet_at(live->fleet, s->slot);
    if (node) snprintf(out->server, sizeof out->server, "%s", wire_server(node->wire));
    return status;
}

weir_status weir_live_get_server(weir_live *live, size_t i, weir_remote_server *out,
                                 weir_error *err) {
    return fleet_work_get(live->fleet, i, live->slots, live->count, out, err);
}
