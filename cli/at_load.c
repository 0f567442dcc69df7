/* at_load.c - what the servers of `--at` say that they have done (INFO). */
#include "at_load.h"

#include <inttypes.h>

#include "report.h"
#include "weir_text.h"

#ifdef HAVE_REMOTE

static weir_status ask(const at_filter *f, size_t i, weir_remote_server *server) {
    weir_error ignored;
    return f->live ? weir_live_get_server(f->live, i, server, &ignored)
                   : weir_remote_get_server(f->remote, i, server, &ignored);
}

at_load at_ask_load(const at_filter *f) {
    at_load l = {0};
    weir_status status = WEIR_OK;
    double sum = 0, squares = 0, most = 0;
    for (size_t i = 0; status != WEIR_ERR_RANGE; i++) {
        weir_remote_server server;
        status = ask(f, i, &server);
        if (status != WEIR_OK || !server.slices) continue;
        if (l.count < AT_SERVERS_SHOWN) l.servers[l.count] = server;
        l.count++;
        double commands = (double)server.commands;
        sum += commands, squares += commands * commands;
        if (commands > most) most = commands;
    }
    l.fairness = squares > 0 ? sum * sum / (squares * (double)l.count) : 1;
    l.greatest = sum > 0 ? most / sum : 0;
    return l;
}

static size_t shown(const at_load *load) {
    return load->count < AT_SERVERS_SHOWN ? load->count : AT_SERVERS_SHOWN;
}

void at_load_text(FILE *out, const at_load *load) {
    char a[32], b[32], c[32];
    for (size_t i = 0; i < shown(load); i++) {
        const weir_remote_server *s = &load->servers[i];
        fprintf(out, "server           %s: %zu slices; by INFO %s commands, %s in, %s out\n",
                s->server, s->slices, weir_print_count(a, (double)s->commands),
                report_size(b, s->bytes_in), report_size(c, s->bytes_out));
    }
    if (load->count)
        fprintf(out,
                "load             even to %.3f (Jain), at most %.1f%% at one server, by INFO\n",
                load->fairness, 100 * load->greatest);
}

void at_load_json(FILE *out, const at_load *load) {
    fputs(",\"servers\":[", out);
    for (size_t i = 0; i < shown(load); i++) {
        const weir_remote_server *s = &load->servers[i];
        fputs(i ? ",{\"server\":" : "{\"server\":", out);
        report_json_string(out, s->server);
        fprintf(out,
                ",\"slices\":%zu,\"commands\":%" PRIu64 ",\"bytes_in\":%" PRIu64
                ",\"bytes_out\":%" PRIu64 "}",
                s->slices, s->commands, s->bytes_in, s->bytes_out);
    }
    fputs("],\"server_fairness\":", out);
    report_json_number(out, load->fairness);
    fputs(",\"greatest_share\":", out);
    report_json_number(out, load->greatest);
}

#endif
