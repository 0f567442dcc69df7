/* fleet.h - the servers of one deployment, and which of them has which slot.
 *
 * One server has all slots. Of a cluster the map of slots is asked from any node that answers, over
 * a connection that is used for nothing else, so that asking waits for nobody. What a
 * redirection says is put into the map at once.
 */
#ifndef WEIR_FLEET_H
#define WEIR_FLEET_H

#include "wire.h"

enum { FLEET_SLOTS = 16384, FLEET_NODES = 1024, FLEET_NOWHERE = 0xffff };

/* Commands and bytes of a server, by its INFO. */
typedef struct {
    uint64_t commands, in, out;
} fleet_work;

typedef struct {
    wire *wire;
    char *host;
    uint16_t port;
    bool primary; /* by the last map; one server alone is one */
    void *user;   /* of whoever uses the fleet */
    wire_backoff backoff;
    int64_t retry_at; /* not to be connected to before, on wire_now() */
    fleet_work first; /* what it said when it was first asked; */
    bool has_first;   /* it was */
} fleet_node;

typedef struct {
    wire_url *url;
    wire_access *access;
    wire_access *asking; /* the same with a short patience, for the map */
    bool cluster;
    fleet_node *nodes[FLEET_NODES];
    size_t node_count;
    uint16_t slots[FLEET_SLOTS]; /* index of a node, or FLEET_NOWHERE */
    int64_t reply_ms;            /* the most to wait for an answer */
    int64_t refreshed;           /* wire_now() of the last attempt */
    uint64_t refreshes;
    wire_traffic for_maps; /* of the connections over which they were asked */
    uint64_t changes;      /* of the map: slots that have gone to another node, or maps with such */
    bool late;             /* the last fleet_command() ended as its patience did; */
    size_t sendings;       /* and it was sent so often */
    weir_error why;        /* of the last failure */
} fleet;

/* Reach a server and learn the map. With an address of one server that turns out to be a
 * node of a cluster it fails and says what to write. WEIR_ERR_SPEC: the address, or parameters in
 * it other than db, name and user. */
weir_status fleet_open(fleet **out, const char *url, const wire_options *options, weir_error *err);
void fleet_close(fleet *f); /* NULL is allowed */

/* Of the cluster that the server of an address is part of: the master that has the key's slot, for
 * who needs no more than one. The address may have parameters of the caller's; the caller frees
 * *host. */
weir_status fleet_find(const char *url, const wire_options *options, const char *key, char **host,
                       uint16_t *port, weir_error *err);

/* The slot of a key: of what is between its first { and the next }, if anything is. */
uint16_t fleet_slot(const char *key, size_t length);

/* The node of a slot; NULL: nobody has it. */
fleet_node *fleet_at(fleet *f, uint16_t slot);

/* The slot is at that node, whatever the map said. */
void fleet_assign(fleet *f, uint16_t slot, const fleet_node *node);

/* "host:port" as in MOVED and ASK; an empty host is that of `from`. NULL where it makes no sense.
 */
fleet_node *fleet_named(fleet *f, const char *where, const fleet_node *from);

/* What MOVED and ASK say: the slot, and the node; NULL where it makes no sense. */
fleet_node *fleet_redirected(fleet *f, const wire_reply *error, const fleet_node *from,
                             uint16_t *slot);

/* Ask for the map again, unless that was done less than `least_ms` ago. True: there is a new one.
 * Nothing to do for one server. */
bool fleet_refresh(fleet *f, int64_t least_ms);

/* Connect unless it is connected; not before its time has come. On failure the time of the next
 * attempt is set, and *err says why. */
wire_outcome fleet_connect(fleet *f, fleet_node *node, weir_error *err);

/* Nodes that are primaries. */
size_t fleet_primaries(const fleet *f);

/* One command for a key, and its reply, following redirections; for what is done seldom.
 * It waits up to `patience_ms` for a server that may come back. words: as in wire_append(). */
weir_status fleet_command(fleet *f, const char *key, size_t count, const char *const *words,
                          const size_t *lengths, int64_t patience_ms, wire_reply **reply,
                          weir_error *err);

/* By how many nanoseconds the clock of the server that has this key is ahead of ours, give or take
 * half the time that the answer took. Only while no reply of that server is outstanding. */
weir_status fleet_clock(fleet *f, const char *key, int64_t *ahead, weir_error *err);

/* All that was sent and received. */
void fleet_traffic(const fleet *f, wire_traffic *traffic);

#endif
