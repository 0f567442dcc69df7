/* lab_live.c - one filter twice: on servers, and in this process. */
#include "lab_live.h"

#include <stdio.h>
#include <string.h>

#include "lab_rng.h"
#include "weir_sites.h"

enum { PATIENCE_MS = 2000, LOST_MS = 50 };

weir_status lab_twins_open(lab_unit *unit, lab_twins *t, const lab_servers *servers,
                           const char *name, const char *spec, bool leaves_on_servers) {
    char url[128];
    weir_live_options options = {
        .servers = {.connect_ms = PATIENCE_MS, .reply_ms = PATIENCE_MS, .lost_ms = LOST_MS},
        .leaves_on_servers = leaves_on_servers};
    *t = (lab_twins){0};
    weir_status status = lab_make(unit, spec, &t->here);
    char whole[512];
    if (!status && weir_filter_spec(t->here, whole, sizeof whole) >= sizeof whole)
        status = lab_fail(unit, WEIR_ERR_SPEC, "the spec '%s' is too long", spec);
    lab_servers_url(servers, name, url);
    if (!status) status = weir_live_open(&t->live, url, whole, &options, &unit->error);
    if (status) lab_twins_close(t);
    else t->there = weir_live_filter(t->live);
    return status;
}

void lab_twins_close(lab_twins *t) {
    weir_live_close(t->live);
    weir_filter_free(t->here);
    *t = (lab_twins){0};
}

bool lab_twins_offer(lab_unit *unit, const lab_twins *t, const lab_log *log, size_t from, size_t to,
                     lab_twin_errors *errors) {
    for (; from < to; from++) {
        uint64_t hash = lab_hash_id(log->ids[from], unit->seed), there, here;
        uint64_t producer = log->tags ? lab_hash_id(log->tags[from], 1) : 0;
        weir_batch one = {.count = 1, .hashes = &hash, .producers = log->tags ? &producer : NULL};
        bool seen_there = weir_filter_offer_batch(t->there, &one, &there) == 1;
        bool seen_here = weir_filter_offer_batch(t->here, &one, &here) == 1;
        bool first = lab_truth_is_first(log->truth, from);
        lab_count(&errors->there, first, seen_there);
        lab_count(&errors->here, first, seen_here);
        errors->apart += seen_there != seen_here;
        if (!lab_tick(unit, 1) || !weir_live_good(t->live, &unit->error)) return false;
    }
    return true;
}

weir_status lab_twins_lose(lab_unit *unit, const lab_twins *t, const lab_servers *servers,
                           size_t first, size_t end) {
    weir_remote_slice slice;
    size_t level;
    for (size_t i = 0; i < weir_filter_sites(t->here); i++) {
        weir_status status = weir_live_get_slice(t->live, i, &slice, &level, &unit->error);
        if (status && !*slice.server) return status;
        size_t at = lab_servers_find(servers, slice.server);
        if (at >= first && at < end) weir_filter_set_site(t->here, i, WEIR_SITE_LOST, NULL);
    }
    return WEIR_OK;
}

/* --- load ----------------------------------------------------------------------------------- */

static size_t ask_commands(const lab_twins *t, double commands[LAB_SERVERS_MOST]) {
    weir_remote_server server;
    size_t count = 0;
    for (size_t i = 0; count < LAB_SERVERS_MOST; i++) {
        weir_status status = weir_live_get_server(t->live, i, &server, NULL);
        if (status == WEIR_ERR_RANGE) break;
        if (status == WEIR_OK && server.slices) commands[count++] = (double)server.commands;
    }
    return count;
}

void lab_load_begin(const lab_twins *t, lab_load *load) { ask_commands(t, load->commands); }

void lab_load_end(const lab_twins *t, const lab_load *load, double *fairness, double *greatest) {
    double now[LAB_SERVERS_MOST], sum = 0, squares = 0, most = 0;
    size_t count = ask_commands(t, now);
    for (size_t i = 0; i < count; i++) {
        double commands = now[i] - load->commands[i];
        sum += commands, squares += commands * commands;
        if (commands > most) most = commands;
    }
    *fairness = squares > 0 ? sum * sum / (squares * (double)count) : 1;
    *greatest = lab_percent(most, sum);
}

/* --- streams --------------------------------------------------------------------------------- */

weir_status lab_log_open_first(lab_log *log, lab_unit *unit, size_t most) {
    weir_status status = lab_log_open(log, unit);
    if (status || log->count <= most) return status;
    log->count = most;
    lab_truth_free(log->truth);
    log->truth = NULL;
    status = lab_log_judge(unit, log);
    if (status) lab_log_close(log);
    return status;
}
