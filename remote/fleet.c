/* fleet.c - the servers of one deployment, and which of them has which slot.
 *
 * A key's slot is CRC16 (XMODEM) of the key modulo 16,384, as the specification of Redis Cluster
 * has it. The map comes from CLUSTER SLOTS, which servers from 3.0 on know.
 */
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire_access.h"
#include "wire_error.h"

enum { ASKING_MS = 1000, REDIRECTIONS = 16 };

uint16_t fleet_slot(const char *key, size_t length) {
    const char *open = memchr(key, '{', length);
    if (open) {
        size_t rest = length - (size_t)(open + 1 - key);
        const char *close = memchr(open + 1, '}', rest);
        if (close && close > open + 1) {
            key = open + 1;
            length = (size_t)(close - key);
        }
    }
    uint16_t crc = 0;
    for (size_t i = 0; i < length; i++) {
        crc ^= (uint16_t)((unsigned char)key[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc % FLEET_SLOTS;
}

/* --- nodes -------------------------------------------------------------------------------- */

static fleet_node *node_of(fleet *f, const char *host, uint16_t port) {
    for (size_t i = 0; i < f->node_count; i++)
        if (f->nodes[i]->port == port && !strcmp(f->nodes[i]->host, host)) return f->nodes[i];
    if (f->node_count == FLEET_NODES) return NULL;
    fleet_node *node = calloc(1, sizeof *node);
    if (!node) return NULL;
    node->host = strdup(host);
    node->port = port;
    node->wire = wire_new(f->access, f->url, host, port);
    if (!node->host || !node->wire) {
        wire_free(node->wire);
        free(node->host);
        free(node);
        return NULL;
    }
    f->nodes[f->node_count++] = node;
    return node;
}

fleet_node *fleet_named(fleet *f, const char *where, const fleet_node *from) {
    char host[256];
    char *end;
    const char *colon = strrchr(where, ':');
    if (!colon || (size_t)(colon - where) >= sizeof host) return NULL;
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end || port < 1 || port > 65535) return NULL;
    snprintf(host, sizeof host, "%.*s", (int)(colon - where), where);
    if (!*host && !from) return NULL;
    return node_of(f, *host ? host : from->host, (uint16_t)port);
}

fleet_node *fleet_redirected(fleet *f, const wire_reply *error, const fleet_node *from,
                             uint16_t *slot) {
    char *end;
    const char *at = strchr(error->text, ' ');
    unsigned long number = at ? strtoul(at, &end, 10) : FLEET_SLOTS;
    if (number >= FLEET_SLOTS || *end != ' ') return NULL;
    *slot = (uint16_t)number;
    return fleet_named(f, end + 1, from);
}

fleet_node *fleet_at(fleet *f, uint16_t slot) {
    return f->slots[slot] == FLEET_NOWHERE ? NULL : f->nodes[f->slots[slot]];
}

static uint16_t index_of(const fleet *f, const fleet_node *node) {
    for (size_t i = 0; i < f->node_count; i++)
        if (f->nodes[i] == node) return (uint16_t)i;
    return FLEET_NOWHERE;
}

void fleet_assign(fleet *f, uint16_t slot, const fleet_node *node) {
    uint16_t at = index_of(f, node);
    f->changes += f->slots[slot] != at;
    f->slots[slot] = at;
}

size_t fleet_primaries(const fleet *f) {
    size_t count = 0;
    for (size_t i = 0; i < f->node_count; i++) count += f->nodes[i]->primary;
    return count;
}

wire_outcome fleet_connect(fleet *f, fleet_node *node, weir_error *err) {
    if (wire_connected(node->wire)) return WIRE_OK;
    if (wire_now() < node->retry_at) {
        *err = f->why;
        return WIRE_LOST;
    }
    wire_outcome how = wire_connect(node->wire, err);
    if (how == WIRE_OK) node->backoff.failures = 0;
    else f->why = *err;
    if (how == WIRE_LOST) node->retry_at = wire_now() + wire_backoff_next(&node->backoff);
    return how;
}

/* --- the map ---------------------------------------------------------------------------------- */

/* [first, last, [host, port, ...], ...] */
static bool take_range(fleet *f, const wire_reply *range, uint16_t *slots, const char *asked) {
    int64_t first, last, port;
    if (range->type != WIRE_ARRAY || range->count < 3) return false;
    const wire_reply *node = range->items[2];
    if (!wire_reply_number(range->items[0], &first) || !wire_reply_number(range->items[1], &last) ||
        first < 0 || last < first || last >= FLEET_SLOTS || node->type != WIRE_ARRAY ||
        node->count < 2 || !wire_reply_number(node->items[1], &port) || port < 1 || port > 65535)
        return false;
    const wire_reply *name = node->items[0];
    bool named = name->type == WIRE_STRING && name->length && strcmp(name->text, "?") != 0;
    fleet_node *owner = node_of(f, named ? name->text : asked, (uint16_t)port);
    if (!owner) return false;
    uint16_t index = index_of(f, owner);
    owner->primary = true;
    for (int64_t s = first; s <= last; s++) slots[s] = index;
    return true;
}

static bool take_map(fleet *f, const wire_reply *map, const char *asked) {
    uint16_t slots[FLEET_SLOTS];
    if (map->type != WIRE_ARRAY || !map->count) return false;
    for (size_t s = 0; s < FLEET_SLOTS; s++) slots[s] = FLEET_NOWHERE;
    for (size_t i = 0; i < f->node_count; i++) f->nodes[i]->primary = false;
    for (size_t i = 0; i < map->count; i++)
        if (!take_range(f, map->items[i], slots, asked)) return false;
    f->changes += memcmp(f->slots, slots, sizeof slots) != 0;
    memcpy(f->slots, slots, sizeof slots);
    return true;
}

/* WEIR_OK; WEIR_ERR_SPEC: it is no cluster. */
static weir_status ask_for_map(fleet *f, const char *host, uint16_t port, weir_error *err) {
    wire_reply *reply = NULL;
    wire_traffic t;
    wire *w = wire_new(f->asking, f->url, host, port);
    weir_status status = WEIR_ERR_IO;
    if (!w) return wire_no_memory(err);
    if (wire_connect(w, err) == WIRE_OK && wire_call(w, &reply, err, "CLUSTER SLOTS") == WIRE_OK) {
        if (take_map(f, reply, host)) {
            status = WEIR_OK;
        } else if (reply->type == WIRE_ERROR) {
            wire_explain(wire_server(w), reply, err);
            if (strstr(reply->text, "cluster support disabled")) {
                wire_report(err, WEIR_ERR_SPEC,
                            "the server '%s' is not part of a cluster: write redis:// in place of "
                            "redis+cluster://",
                            wire_server(w));
                status = WEIR_ERR_SPEC;
            }
        } else {
            wire_report(err, WEIR_ERR_IO, "the server '%s' knows of no cluster that has slots",
                        wire_server(w));
        }
    }
    wire_reply_free(reply);
    wire_get_traffic(w, &t);
    f->for_maps.sent += t.sent;
    f->for_maps.received += t.received;
    f->for_maps.commands += t.commands;
    f->for_maps.replies += t.replies;
    wire_free(w);
    return status;
}

static weir_status find_map(fleet *f, weir_error *err) {
    weir_status status = WEIR_ERR_IO;
    f->refreshed = wire_now();
    f->refreshes++;
    /* Connected nodes answer soonest. */
    for (int connected = 1; connected >= 0; connected--)
        for (size_t i = 0; i < f->node_count && status == WEIR_ERR_IO; i++)
            if (wire_connected(f->nodes[i]->wire) == connected)
                status = ask_for_map(f, f->nodes[i]->host, f->nodes[i]->port, err);
    for (size_t i = 0; i < f->url->host_count && status == WEIR_ERR_IO; i++)
        status = ask_for_map(f, f->url->hosts[i].host, f->url->hosts[i].port, err);
    return status;
}

bool fleet_refresh(fleet *f, int64_t least_ms) {
    if (!f->cluster || wire_now() - f->refreshed < least_ms) return false;
    return find_map(f, &f->why) == WEIR_OK;
}

/* --- opened and closed ------------------------------------------------------------------------ */

static weir_status reach(fleet *f, weir_error *err) {
    f->cluster = f->url->cluster;
    for (size_t s = 0; s < FLEET_SLOTS; s++) f->slots[s] = FLEET_NOWHERE;
    if (f->cluster) return find_map(f, err);
    fleet_node *node = node_of(f, f->url->hosts[0].host, f->url->hosts[0].port);
    if (!node) return wire_no_memory(err);
    node->primary = true;
    memset(f->slots, 0, sizeof f->slots);
    return fleet_connect(f, node, err) == WIRE_OK ? WEIR_OK : WEIR_ERR_IO;
}

/* A parameter that is not known here is a slip, or meant for somebody else. */
static weir_status check_parameters(const wire_url *url, weir_error *err) {
    static const char *const known[] = {"db", "name", "user"};
    enum { KNOWN = sizeof known / sizeof *known };
    for (size_t i = 0; i < url->parameter_count; i++) {
        size_t k = 0;
        while (k < KNOWN && strcmp(url->parameters[i].key, known[k]) != 0) k++;
        if (k == KNOWN)
            return wire_fail(err, WEIR_ERR_SPEC,
                             "the address has '%.32s=', which is not known there; db=, name= and "
                             "user= are, all else is an option",
                             url->parameters[i].key);
    }
    return WEIR_OK;
}

/* A deployment of which nothing is known yet; *out is to be closed in either case. */
static weir_status begin(fleet **out, const char *url, const wire_options *options,
                         weir_error *err) {
    fleet *f = *out = calloc(1, sizeof *f);
    wire_options asking = *options;
    if (!f || !(f->url = calloc(1, sizeof *f->url))) return wire_no_memory(err);
    if (!asking.reply_ms || asking.reply_ms > ASKING_MS) asking.reply_ms = ASKING_MS;
    if (!asking.connect_ms || asking.connect_ms > ASKING_MS) asking.connect_ms = ASKING_MS;
    weir_status status = wire_url_parse(f->url, url, err);
    if (status == WEIR_OK) status = wire_access_new(&f->access, options, f->url, err);
    if (status == WEIR_OK) status = wire_access_new(&f->asking, &asking, f->url, err);
    if (status == WEIR_OK) f->reply_ms = f->access->options.reply_ms;
    return status;
}

weir_status fleet_open(fleet **out, const char *url, const wire_options *options, weir_error *err) {
    weir_status status = begin(out, url, options, err);
    if (status == WEIR_OK) status = check_parameters((*out)->url, err);
    if (status == WEIR_OK) status = reach(*out, err);
    if (status != WEIR_OK) {
        fleet_close(*out);
        *out = NULL;
    }
    return status;
}

weir_status fleet_find(const char *url, const wire_options *options, const char *key, char **host,
                       uint16_t *port, weir_error *err) {
    fleet *f;
    const fleet_node *node = NULL;
    *host = NULL;
    weir_status status = begin(&f, url, options, err);
    if (status == WEIR_OK) {
        f->url->cluster = true;
        status = reach(f, err);
    }
    if (status == WEIR_OK && !(node = fleet_at(f, fleet_slot(key, strlen(key)))))
        status = wire_fail(err, WEIR_ERR_IO, "no node of the cluster has the slot of '%s'", key);
    if (status == WEIR_OK && !(*host = strdup(node->host))) status = wire_no_memory(err);
    if (status == WEIR_OK) *port = node->port;
    fleet_close(f);
    return status;
}

void fleet_close(fleet *f) {
    if (!f) return;
    for (size_t i = 0; i < f->node_count; i++) {
        wire_free(f->nodes[i]->wire);
        free(f->nodes[i]->host);
        free(f->nodes[i]);
    }
    wire_access_free(f->asking);
    wire_access_free(f->access);
    if (f->url) wire_url_release(f->url);
    free(f->url);
    free(f);
}

/* --- one command
 * ---------------------------------------------------------------------------------- */

/* What an error reply asks for. True: send again, to *node, first ASKING if *asking. */
static bool again(fleet *f, const wire_reply *reply, uint16_t slot, fleet_node **node, bool *asking,
                  bool *pause) {
    uint16_t said;
    bool moved = wire_is_error(reply, "MOVED"), ask = wire_is_error(reply, "ASK");
    *asking = false;
    if (f->cluster && (moved || ask)) {
        fleet_node *to = fleet_redirected(f, reply, *node, &said);
        if (!to) return false;
        if (moved) fleet_assign(f, slot, to);
        *node = to;
        *asking = ask;
        return true;
    }
    if (!wire_is_passing(reply) && !(f->cluster && wire_is_error(reply, "READONLY"))) return false;
    *pause = true;
    return true;
}

weir_status fleet_command(fleet *f, const char *key, size_t count, const char *const *words,
                          const size_t *lengths, int64_t patience_ms, wire_reply **reply,
                          weir_error *err) {
    uint16_t slot = fleet_slot(key, strlen(key));
    fleet_node *node = fleet_at(f, slot);
    wire_backoff backoff = {0};
    int64_t until = wire_now() + patience_ms;
    bool asking = false, pause = false;
    *reply = NULL;
    f->late = false;
    f->sendings = 0;
    for (int redirections = 0;;) {
        wire_outcome how = WIRE_LOST;
        if (node) how = fleet_connect(f, node, err);
        else wire_report(err, WEIR_ERR_IO, "no node of the cluster has the slot of '%s'", key);
        if (how == WIRE_OK && asking) how = wire_appendf(node->wire, err, "ASKING");
        if (how == WIRE_OK) how = wire_append(node->wire, count, words, lengths, err);
        f->sendings += how == WIRE_OK;
        if (how == WIRE_OK && asking) {
            how = wire_read(node->wire, reply, 0, err);
            wire_reply_free(*reply);
            *reply = NULL;
        }
        if (how == WIRE_OK) how = wire_read(node->wire, reply, 0, err);
        if (how == WIRE_WRONG || how == WIRE_STOPPED) return WEIR_ERR_IO;
        pause = how == WIRE_LOST;
        if (how == WIRE_OK) {
            if ((*reply)->type != WIRE_ERROR) return WEIR_OK;
            if (!again(f, *reply, slot, &node, &asking, &pause) || wire_now() >= until ||
                redirections++ >= REDIRECTIONS)
                return WEIR_OK; /* the error is the reply */
            wire_reply_free(*reply);
            *reply = NULL;
        }
        if (!pause) continue;
        f->late = wire_now() >= until;
        if (f->late) return WEIR_ERR_IO;
        if (!wire_pause(f->access, wire_backoff_next(&backoff))) return WEIR_ERR_IO;
        redirections = 0;
        asking = false;
        fleet_refresh(f, 0);
        node = fleet_at(f, slot);
    }
}

static int64_t clock_here(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

weir_status fleet_clock(fleet *f, const char *key, int64_t *ahead, weir_error *err) {
    int64_t seconds = 0, micros = 0;
    wire_reply *reply = NULL;
    fleet_node *node = fleet_at(f, fleet_slot(key, strlen(key)));
    if (!node)
        return wire_fail(err, WEIR_ERR_IO, "no node of the cluster has the slot of '%s'", key);
    if (fleet_connect(f, node, err) != WIRE_OK) return WEIR_ERR_IO;
    if (wire_outstanding(node->wire))
        return wire_fail(err, WEIR_ERR_IO, "the server '%s' is busy", wire_server(node->wire));
    int64_t before = clock_here();
    if (wire_call(node->wire, &reply, err, "TIME") != WIRE_OK) return WEIR_ERR_IO;
    int64_t after = clock_here();
    bool good = reply->type == WIRE_ARRAY && reply->count == 2 &&
                wire_reply_number(reply->items[0], &seconds) &&
                wire_reply_number(reply->items[1], &micros);
    weir_status status = WEIR_OK;
    if (good) {
        *ahead = seconds * 1000000000 + micros * 1000 - (before + (after - before) / 2);
    } else {
        status = WEIR_ERR_IO;
        wire_explain(wire_server(node->wire), reply, err);
    }
    wire_reply_free(reply);
    return status;
}

void fleet_traffic(const fleet *f, wire_traffic *traffic) {
    *traffic = f->for_maps;
    for (size_t i = 0; i < f->node_count; i++) {
        wire_traffic t;
        wire_get_traffic(f->nodes[i]->wire, &t);
        traffic->sent += t.sent;
        traffic->received += t.received;
        traffic->commands += t.commands;
        traffic->replies += t.replies;
        traffic->connects += t.connects;
    }
}
