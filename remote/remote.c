/* remote.c - a filter whose slices stand on servers: opened, joined, described.
 *
 * The first producer decides what the filter is and writes it down beside the slices
 * (manifest.h); all others read it there, so they hash alike and cut alike. Slices are made with an
 * epoch drawn by who makes them: a slice that was lost and made anew has another, and a
 * producer that still means the old one is told so.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fleet_work.h"
#include "pins.h"
#include "places.h"
#include "slice_info.h"
#include "weir_text.h"
#include "wire_error.h"

enum { CONNECT_MS = 2000, PATIENCE_MS = 10000, LOST_MS = 30000, REPLICAS_MS = 1000, IN_FLIGHT = 4 };
#define SLICE_BYTES (32u << 20)
#define SLICE_BYTES_MOST (UINT64_C(512) << 20)
#define LEAF_SHARE 100  /* the local filter's rate is this part of the rate of the slices, */
#define LEAF_LEAST 1e-9 /* but what a filter can be asked for */

void remote_say(weir_remote *r, const char *format, ...) {
    char line[512];
    va_list args;
    if (!r->options.say) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->options.say(r->options.context, line);
}

static weir_status draw(uint64_t *word, weir_error *err) {
    if (getrandom(word, sizeof *word, 0) == sizeof *word) return WEIR_OK;
    return wire_fail(err, WEIR_ERR_IO, "the system gives no random numbers");
}

/* --- opened and closed ---------------------------------------------------------------------- */

static weir_status open_fleet(weir_remote *r, const char *url, weir_error *err) {
    const weir_remote_options *o = &r->options;
    wire_options options = {.password_file = o->password_file,
                            .ca_file = o->ca_file,
                            .cert_file = o->cert_file,
                            .key_file = o->key_file,
                            .connect_ms = o->connect_ms,
                            .reply_ms = o->reply_ms,
                            .stop = o->stop,
                            .stop_context = o->context};
    uint64_t who;
    weir_status status = fleet_open(&r->fleet, url, &options, err);
    if (status != WEIR_OK) return status;
    r->name = strdup(r->fleet->url->name ? r->fleet->url->name : "weir");
    if (!r->name) return wire_no_memory(err);
    status = manifest_check_name(r->name, err);
    if (status == WEIR_OK) status = draw(&who, err);
    if (status == WEIR_OK) status = manifest_read(&r->plan, r->fleet, r->name, &r->found, err);
    if (status != WEIR_OK) return status;
    snprintf(r->who, sizeof r->who, "%016" PRIx64, who);
    r->claimant = places_claimant(who);
    return WEIR_OK;
}

weir_status weir_remote_open(weir_remote **out, const char *url, const weir_remote_options *options,
                             weir_error *err) {
    weir_remote *r = *out = calloc(1, sizeof *r);
    if (!r) return wire_no_memory(err);
    r->options = *options;
    r->opening_ms = PATIENCE_MS;
    if (!r->options.connect_ms) r->options.connect_ms = CONNECT_MS;
    if (!r->options.lost_ms) r->options.lost_ms = LOST_MS;
    if (!r->options.replicas_ms) r->options.replicas_ms = REPLICAS_MS;
    if (!r->options.in_flight) r->options.in_flight = IN_FLIGHT;
    if (r->options.in_flight > FLIGHTS_MOST) r->options.in_flight = FLIGHTS_MOST;
    weir_status status = open_fleet(r, url, err);
    if (status != WEIR_OK) {
        weir_remote_close(r);
        *out = NULL;
    }
    return status;
}

void weir_remote_close(weir_remote *r) {
    if (!r) return;
    requests_release(r);
    fleet_close(r->fleet);
    weir_filter_free(r->twin);
    weir_filter_free(r->leaf);
    free(r->slices);
    free(r->name);
    free(r);
}

size_t weir_remote_spec(const weir_remote *r, char *buffer, size_t size) {
    return r->found ? (size_t)snprintf(buffer, size, "%s", r->plan.spec) : 0;
}

weir_filter *weir_remote_twin(const weir_remote *r) { return r->twin; }

/* --- what the filter is ------------------------------------------------------------------------
 */

static weir_status too_large(uint64_t bytes, weir_error *err) {
    return wire_fail(err, WEIR_ERR_RANGE,
                     "a slice of %" PRIu64 "M would stop a server for too long when it moves; take "
                     "more slices, or less memory",
                     bytes >> 20);
}

/* Is this a filter whose places stand on plain strings? */
static bool by_places(const char *spec) {
    return !strncmp(spec, "vertical", 8) && (!spec[8] || spec[8] == ':');
}

/* The filter is `vertical`: its spec is that of the whole. */
static weir_status make_vertical_twin(weir_remote *r, const char *spec, weir_error *err) {
    weir_filter_info info;
    weir_status status = weir_filter_new(&r->twin, spec, err);
    if (status == WEIR_OK) status = weir_filter_get_cut(r->twin, &r->cut, err);
    if (status != WEIR_OK) return status;
    if (weir_filter_spec(r->twin, r->plan.spec, sizeof r->plan.spec) >= sizeof r->plan.spec)
        return wire_fail(err, WEIR_ERR_SPEC, "the spec '%.100s...' is too long", spec);
    if (r->cut.timers)
        return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                         "places that are timers need weir's module on the servers; take --window "
                         "without --filter vertical, or of=(bloom:layout=classic)");
    weir_filter_get_info(r->twin, &info);
    r->seed = info.seed;
    r->plan.slices = r->cut.slices;
    r->live = r->cut.live == r->cut.k && r->options.on_lost == WEIR_REMOTE_SEEN ? 0 : r->cut.live;
    if (r->cut.places / r->cut.slices / 8 > SLICE_BYTES_MOST)
        return too_large(r->cut.places / r->cut.slices / 8, err);
    return WEIR_OK;
}

/* The filter of a slice, here: it checks the spec, draws the seed if none is given, and says what
 * the full spec is. */
static weir_status make_twin(weir_remote *r, const char *spec, size_t slices, weir_error *err) {
    if (by_places(spec)) return make_vertical_twin(r, spec, err);
    uint64_t total = manifest_memory(spec);
    weir_filter_info info;
    if (!total) return weir_filter_new(&r->twin, spec, err); /* which says what is wrong */
    if (!manifest_with_memory(r->slice_spec, spec, total / slices))
        return wire_fail(err, WEIR_ERR_SPEC, "the spec '%.100s...' is too long", spec);
    weir_status status = weir_filter_new(&r->twin, r->slice_spec, err);
    if (status != WEIR_OK) return status;
    if (weir_filter_spec(r->twin, r->slice_spec, sizeof r->slice_spec) >= sizeof r->slice_spec ||
        !manifest_with_memory(r->plan.spec, r->slice_spec, total))
        return wire_fail(err, WEIR_ERR_SPEC, "the spec '%.100s...' is too long", spec);
    weir_filter_get_info(r->twin, &info);
    r->seed = info.seed;
    if (info.window && !info.window_is_time && slices > 1)
        return wire_fail(err, WEIR_ERR_SPEC,
                         "a window of records cannot be cut into slices, as each gets only its "
                         "share of the records; give a duration, such as --window 1h");
    if (info.uses_producers)
        return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                         "the filter '%s' is itself spread over sites and cannot be a slice",
                         info.name);
    return WEIR_OK;
}

static weir_status plan_new(weir_remote *r, const char *spec, size_t asked, weir_error *err) {
    uint64_t total = manifest_memory(spec);
    size_t masters = fleet_primaries(r->fleet), slices = asked;
    if (!asked) {
        slices = (size_t)((total + SLICE_BYTES - 1) / SLICE_BYTES);
        if (slices < masters) slices = masters;
        if (slices < 1) slices = 1;
    }
    if (slices > MANIFEST_SLICES)
        return wire_fail(err, WEIR_ERR_RANGE,
                         "%zu slices are needed, which is more than %d; ask for less memory",
                         slices, MANIFEST_SLICES);
    if (total / slices > SLICE_BYTES_MOST) return too_large(total / slices, err);
    char full[MANIFEST_SPEC];
    if (by_places(spec)) {
        if (!manifest_with_slices(full, spec, slices))
            return wire_fail(err, WEIR_ERR_SPEC, "the spec '%.100s...' is too long", spec);
        spec = full;
    }
    r->plan.slices = slices;
    weir_status status = make_twin(r, spec, slices, err);
    if (status != WEIR_OK) return status;
    if (asked && r->plan.slices != asked)
        return wire_fail(err, WEIR_ERR_SPEC,
                         "the filter is to have %zu slices by its spec and %zu by --slices",
                         r->plan.slices, asked);
    manifest_place(&r->plan, r->fleet);
    bool written;
    status = manifest_write(&r->plan, r->fleet, r->name, &written, err);
    if (status != WEIR_OK || written) return status;
    weir_filter_free(r->twin); /* another producer was first */
    r->twin = NULL;
    status = manifest_read(&r->plan, r->fleet, r->name, &r->found, err);
    if (status == WEIR_OK && !r->found)
        status = wire_fail(err, WEIR_ERR_IO, "the filter '%s' goes as fast as it comes", r->name);
    return status == WEIR_OK ? make_twin(r, r->plan.spec, r->plan.slices, err) : status;
}

/* --- the slices ---------------------------------------------------------------------------------
 */

static weir_status call(weir_remote *r, const slice *s, size_t count, const char *const *words,
                        wire_reply **reply, weir_error *err) {
    size_t lengths[8];
    for (size_t i = 0; i < count; i++) lengths[i] = strlen(words[i]);
    weir_status status =
        fleet_command(r->fleet, s->key, count, words, lengths, r->opening_ms, reply, err);
    if (status == WEIR_OK && (*reply)->type == WIRE_ERROR) {
        fleet_node *node = fleet_at(r->fleet, s->slot);
        wire_explain(node ? wire_server(node->wire) : "cluster", *reply, err);
        wire_reply_free(*reply);
        *reply = NULL;
        status = WEIR_ERR_IO;
    }
    return status;
}

static weir_status check_slice(weir_remote *r, slice *s, const wire_reply *info, weir_error *err) {
    const wire_reply *spec = wire_reply_field(info, "spec");
    const wire_reply *epoch = wire_reply_field(info, "epoch");
    int64_t offered;
    if (!spec || !epoch || !wire_reply_number(wire_reply_field(info, "offered"), &offered) ||
        spec->type != WIRE_STRING || epoch->type != WIRE_STRING)
        return wire_fail(err, WEIR_ERR_MISMATCH,
                         "the server says of '%s' what this version of weir does not understand",
                         s->key);
    if (strcmp(spec->text, r->slice_spec) != 0)
        return wire_fail(err, WEIR_ERR_MISMATCH,
                         "the key '%s' on the server is %.120s, not %.120s; take another name",
                         s->key, spec->text, r->slice_spec);
    s->epoch = strtoull(epoch->text, NULL, 16);
    s->offered = (uint64_t)offered;
    return WEIR_OK;
}

static weir_status made_again(weir_remote *r, size_t i, weir_error *err) {
    weir_status status = requests_may_go_on(r, i, "is gone from the server", err);
    r->stats.emptied++;
    if (status == WEIR_OK)
        remote_say(r,
                   "slice %zu of '%s' was gone and begins again empty: repeats of what it knew "
                   "will pass",
                   i, r->name);
    return status;
}

/* A slice of places on a plain string. */
static weir_status open_places(weir_remote *r, size_t i, uint64_t epoch, weir_error *err) {
    bool made;
    slice *s = &r->slices[i];
    if (r->found) manifest_let_others_make(r->fleet, "STRLEN", s->key, &r->waited);
    s->epoch = places_epoch(r, i, epoch, r->found);
    weir_status status = places_open_slice(r, i, &made, err);
    s->hollow = s->epoch & MANIFEST_AGAIN;
    return status == WEIR_OK && made && r->found ? made_again(r, i, err) : status;
}

static weir_status open_slice(weir_remote *r, size_t i, weir_error *err) {
    slice *s = &r->slices[i];
    char epoch[24];
    uint64_t word;
    wire_reply *reply;
    weir_status status = draw(&word, err);
    if (status != WEIR_OK) return status;
    if (r->cut.k) return open_places(r, i, word, err);
    snprintf(epoch, sizeof epoch, "%016" PRIx64, manifest_epoch(word, r->found));
    if (r->found) manifest_let_others_make(r->fleet, "WEIR.INFO", s->key, &r->waited);
    const char *create[] = {"WEIR.CREATE", s->key, r->slice_spec, "IFABSENT", "EPOCH", epoch};
    status = call(r, s, 6, create, &reply, err);
    if (status != WEIR_OK) return status;
    bool made = reply->type != WIRE_NIL;
    wire_reply_free(reply);
    status = made && r->found ? made_again(r, i, err) : WEIR_OK;
    if (status != WEIR_OK) return status;
    const char *info[] = {"WEIR.INFO", s->key};
    status = call(r, s, 2, info, &reply, err);
    if (status != WEIR_OK) return status;
    status = check_slice(r, s, reply, err);
    wire_reply_free(reply);
    return status;
}

static weir_status make_leaf(weir_remote *r, weir_error *err) {
    char spec[256];
    weir_filter_info info;
    weir_filter_get_info(r->twin, &info);
    if (info.window)
        return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                         "--local-memory does not go with a window: what is forgotten on the "
                         "servers would still be known here");
    char hash[32] = "xxh3";
    double fpr = info.fpr_bound / LEAF_SHARE;
    if (fpr < LEAF_LEAST) fpr = LEAF_LEAST;
    weir_spec_get(r->plan.spec, "hash", hash, sizeof hash);
    snprintf(spec, sizeof spec, "recent:memory=%" PRIu64 ",fpr=%.9g,seed=%" PRIu64 ",hash=%s",
             r->options.local_memory, fpr, info.seed, hash);
    return weir_filter_new(&r->leaf, spec, err);
}

static weir_status name_slices(weir_remote *r, weir_error *err) {
    r->slices = calloc(r->plan.slices, sizeof *r->slices);
    if (!r->slices) return wire_no_memory(err);
    for (size_t i = 0; i < r->plan.slices; i++) {
        slice *s = &r->slices[i];
        manifest_slice_key(&r->plan, i, s->key, r->name);
        s->slot = fleet_slot(s->key, strlen(s->key));
    }
    return WEIR_OK;
}

weir_status weir_remote_look(weir_remote *r, weir_error *err) {
    if (!r->found)
        return wire_fail(err, WEIR_ERR_RANGE, "there is no filter '%s' on the servers", r->name);
    weir_status status = make_twin(r, r->plan.spec, r->plan.slices, err);
    return status == WEIR_OK ? name_slices(r, err) : status;
}

static size_t slots_of(const weir_remote *r, uint16_t slots[MANIFEST_SLICES]) {
    size_t count = r->slices ? r->plan.slices : 0;
    for (size_t i = 0; i < count; i++) slots[i] = r->slices[i].slot;
    return count;
}

static pins count_pins(const weir_remote *r) {
    uint16_t slots[MANIFEST_SLICES];
    size_t count = slots_of(r, slots);
    return pins_count(r->fleet, slots, count);
}

void remote_look_at_masters(weir_remote *r) {
    char line[320];
    if (r->changes == r->fleet->changes + 1) return;
    r->changes = r->fleet->changes + 1;
    pins p = count_pins(r);
    bool matters = r->cut.k || p.most > p.least_most;
    if (matters && p.most != r->said_most && pins_say(&p, r->name, line, sizeof line))
        remote_say(r, "%s", line);
    r->said_most = matters ? p.most : 0;
}

static bool stopped(const weir_remote *r) {
    return r->options.stop && r->options.stop(r->options.context);
}

/* A slice of a filter that is there may be lost already when a producer comes: on_lost decides.
 * What it then says of its epoch is taken as it is. Others at the same server are not waited for.
 */
static weir_status open_or_lose(weir_remote *r, size_t i, weir_error *err) {
    slice *s = &r->slices[i];
    weir_remote_on_lost rule = r->options.on_lost;
    weir_status status = open_slice(r, i, err);
    if (!r->found || rule == WEIR_REMOTE_STOP) return status;
    while (status == WEIR_ERR_IO && r->fleet->late && rule == WEIR_REMOTE_WAIT && !stopped(r)) {
        requests_say_lost(r, i, err ? err->message : "");
        status = open_slice(r, i, err);
        if (status == WEIR_OK) requests_recovered(r, s);
    }
    if (status != WEIR_ERR_IO || !r->fleet->late || rule == WEIR_REMOTE_WAIT) return status;
    requests_say_lost(r, i, err ? err->message : "");
    s->unopened = true;
    s->epoch = 0;
    s->since = wire_now();
    r->opening_ms = 0;
    return WEIR_OK;
}

weir_status weir_remote_begin(weir_remote *r, const char *spec, size_t slices, weir_error *err) {
    weir_status status =
        r->found ? make_twin(r, r->plan.spec, r->plan.slices, err) : plan_new(r, spec, slices, err);
    if (status == WEIR_OK && r->options.local_memory) status = make_leaf(r, err);
    if (status == WEIR_OK) status = name_slices(r, err);
    if (r->options.lost_ms < r->opening_ms) r->opening_ms = r->options.lost_ms;
    for (size_t i = 0; i < r->plan.slices && status == WEIR_OK; i++)
        status = open_or_lose(r, i, err);
    r->opening_ms = PATIENCE_MS;
    r->found = status == WEIR_OK;
    if (r->found) remote_look_at_masters(r);
    return status;
}

weir_status weir_remote_clock(weir_remote *r, int64_t *ahead, weir_error *err) {
    char key[160];
    manifest_key(key, r->name);
    if (!r->flight_count) requests_settle(r, err);
    return fleet_clock(r->fleet, key, ahead, err);
}

/* --- what is told of it
 * ---------------------------------------------------------------------------- */

void weir_remote_get_stats(const weir_remote *r, weir_remote_stats *stats) {
    wire_traffic t;
    double sum = 0, squares = 0;
    *stats = r->stats;
    stats->slices = r->slices ? r->plan.slices : 0;
    stats->masters = fleet_primaries(r->fleet);
    stats->share_most = count_pins(r).most;
    for (size_t i = 0; i < stats->slices; i++) {
        double sent = (double)r->slices[i].sent;
        sum += sent;
        squares += sent * sent;
        stats->lost += r->slices[i].lost;
    }
    stats->fairness = squares > 0 ? sum * sum / (squares * (double)stats->slices) : 1;
    fleet_traffic(r->fleet, &t);
    stats->messages = t.commands;
    stats->bytes_sent = t.sent;
    stats->bytes_received = t.received;
    stats->reconnects = t.connects > r->fleet->node_count ? t.connects - r->fleet->node_count : 0;
}

weir_status weir_remote_get_server(weir_remote *r, size_t i, weir_remote_server *out,
                                   weir_error *err) {
    uint16_t slots[MANIFEST_SLICES];
    size_t count = slots_of(r, slots);
    *out = (weir_remote_server){0};
    weir_status status = requests_settle(r, err);
    return status == WEIR_OK ? fleet_work_get(r->fleet, i, slots, count, out, err) : status;
}

weir_status weir_remote_get_slice(weir_remote *r, size_t i, weir_remote_slice *out,
                                  weir_error *err) {
    wire_reply *reply;
    *out = (weir_remote_slice){0};
    if (!r->slices || i >= r->plan.slices)
        return wire_fail(err, WEIR_ERR_RANGE, "there is no slice %zu", i);
    const slice *s = &r->slices[i];
    weir_status status = requests_settle(r, err);
    if (status != WEIR_OK) return status;
    fleet_node *node = fleet_at(r->fleet, s->slot);
    snprintf(out->key, sizeof out->key, "%s", s->key);
    if (node) snprintf(out->server, sizeof out->server, "%s", wire_server(node->wire));
    if (r->cut.k) return places_get_slice(r, i, out, err);
    const char *info[] = {"WEIR.INFO", s->key};
    weir_error why = {0};
    status = call(r, s, 2, info, &reply, &why);
    out->gone = status != WEIR_OK && strstr(why.message, "WEIRMISSING");
    if (status != WEIR_OK && !out->gone) {
        if (err) *err = why;
        return status;
    }
    if (out->gone) return WEIR_OK;
    node = fleet_at(r->fleet, s->slot); /* it may have moved */
    if (node) snprintf(out->server, sizeof out->server, "%s", wire_server(node->wire));
    slice_info_read(reply, out);
    wire_reply_free(reply);
    return WEIR_OK;
}
