/* lab_servers.h - Redis or Valkey servers for an experiment, with weir's module, here and now.
 *
 * They are primaries of one cluster, each with an equal range of slots, on free ports of 127.0.0.1.
 * They end with the process that started them, keep nothing in memory beyond the experiment, and
 * each can be killed, started again, paused, or cut off: the last one then stands in a network
 * namespace of its own, which only root may make.
 */
#ifndef LAB_SERVERS_H
#define LAB_SERVERS_H

#include "lab_experiment.h"

typedef struct lab_servers lab_servers;

enum { LAB_SERVERS_MOST = 16 };

/* WEIR_ERR_IO, so that the case is left out, with the reason: no server program, no module, or
 * (apart: the last one is to stand in a namespace) no right to make one. */
weir_status lab_servers_start(lab_servers **out, lab_unit *unit, size_t count, bool apart);
void lab_servers_stop(lab_servers *servers); /* NULL is allowed */

/* The address of a filter there. */
void lab_servers_url(const lab_servers *servers, const char *name, char url[128]);

/* The number of the server that calls itself "host:port"; their count if none does. */
size_t lab_servers_find(const lab_servers *servers, const char *address);

void lab_servers_kill(lab_servers *servers, size_t i);               /* SIGKILL */
void lab_servers_pause(lab_servers *servers, size_t i, bool paused); /* SIGSTOP, SIGCONT */
void lab_servers_cut(lab_servers *servers, bool cut);                /* the last one's network */

/* Write to the disk what it holds now, which is what it begins with when it is started again;
 * without that it begins empty. */
weir_status lab_servers_save(lab_servers *servers, lab_unit *unit, size_t i);
weir_status lab_servers_again(lab_servers *servers, lab_unit *unit, size_t i);

#endif
