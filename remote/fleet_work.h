/* fleet_work.h - what the servers of a fleet say of themselves. */
#ifndef WEIR_FLEET_WORK_H
#define WEIR_FLEET_WORK_H

#include "fleet.h"
#include "weir_remote.h"

/* Server i: how many of the slots are its own, and its work since it was first asked. Only while no
 * reply is outstanding. WEIR_ERR_RANGE, WEIR_ERR_IO. */
weir_status fleet_work_get(fleet *f, size_t i, const uint16_t *slots, size_t count,
                           weir_remote_server *out, weir_error *err);

#endif
