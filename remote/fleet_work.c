/* fleet_work.c - what the servers of a fleet say of themselves (INFO). */
#include "fleet_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire_error.h"

enum { PATIENCE_MS = 1000 }; /* whoever is silent for longer is left out of the count */

static uint64_t field(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static weir_status ask(fleet *f, fleet_node *node, fleet_work *work, weir_error *err) {
    wire_reply *reply = NULL;
    if (fleet_connect(f, node, err) != WIRE_OK ||
        wire_appendf(node->wire, err, "INFO stats") != WIRE_OK ||
        wire_read(node->wire, &reply, PATIENCE_MS, err) != WIRE_OK)
        return WEIR_ERR_IO;
    weir_status status = WEIR_OK;
    if (reply->type == WIRE_STRING) {
        *work = (fleet_work){.commands = field(reply->text, "total_commands_processed:"),
                             .in = field(reply->text, "total_net_input_bytes:"),
                             .out = field(reply->text, "total_net_output_bytes:")};
    } else {
        wire_explain(wire_server(node->wire), reply, err);
        status = WEIR_ERR_IO;
    }
    wire_reply_free(reply);
    return status;
}

weir_status fleet_work_get(fleet *f, size_t i, const uint16_t *slots, size_t count,
                           weir_remote_server *out, weir_error *err) {
    fleet_work now;
    *out = (weir_remote_server){0};
    if (i >= f->node_count) return wire_fail(err, WEIR_ERR_RANGE, "there is no server %zu", i);
    fleet_node *node = f->nodes[i];
    snprintf(out->server, sizeof out->server, "%s", wire_server(node->wire));
    for (size_t k = 0; k < count; k++) out->slices += fleet_at(f, slots[k]) == node;
    weir_status status = ask(f, node, &now, err);
    if (status != WEIR_OK) return status;
    if (!node->has_first) node->first = now;
    if (now.commands < node->first.commands) node->first = (fleet_work){0};
    node->has_first = true; /* a server that was started again counts from 0 */
    out->commands = now.commands - node->first.commands;
    out->bytes_in = now.in - node->first.in;
    out->bytes_out = now.out - node->first.out;
    return WEIR_OK;
}
