/* live.c - a filter of this process whose sites are moved to servers.
 *
 * The filter is made from its spec as ever; then each of its sites, also of a root that is itself
 * cut into slices, gets a key, and the part that was made for it here stays empty: it says where a
 * key's places are and what the spec of a node is. The spec, the seed in it, and the tags of the
 * keys stand in a manifest on the servers, so that who joins needs no more than one server's
 * address.
 */
#include "live.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/rng.h"
#include "wire_error.h"

enum { CONNECT_MS = 2000, LOST_MS = 30000 };

uint64_t live_draw(weir_live *live, bool again) {
    live->chance += UINT64_C(0x9e3779b97f4a7c15);
    return manifest_epoch(weir__mix64(live->chance), again);
}

/* --- sites --------------------------------------------------------------------------------------
 */

/* The place of an option among the filter's own, or -1. */
static int own_option(const weir_filter *filter, const char *name) {
    const weir_option *options = filter->class->kind.options;
    for (int i = 0; options[i].name; i++)
        if (!strcmp(options[i].name, name)) return WEIR__OPT_OWN + i;
    return -1;
}

static size_t last_level(const weir_filter *filter) {
    size_t last = 0;
    for (size_t i = 0; i < weir_filter_sites(filter); i++) {
        weir_site_info info;
        filter->class->spread->site(filter, i, &info);
        if (info.level > last) last = info.level;
    }
    return last;
}

static weir_status take_site(weir_live *live, const weir_filter *of, weir__site *site, size_t level,
                             weir_error *err) {
    if (live->count == LIVE_SITES)
        return wire_fail(err, WEIR_ERR_RANGE, "more than %d sites on servers are needed",
                         LIVE_SITES);
    live_site *s = &live->sites[live->count];
    int rule = own_option(of, "on-lost"), live_option = own_option(of, "live");
    *s = (live_site){.live = live, .site = site, .number = live->count++, .level = level};
    s->rule = (live_rule)weir__opt_whole(of, rule);
    s->has_places = site->kind->test_places != NULL;
    s->weighs = s->rule == LIVE_SEEN || (live_option >= 0 && weir__opt_given(of, live_option));
    return WEIR_OK;
}

/* Sites on servers, in the order of their keys. */
static weir_status take_sites(weir_live *live, weir_filter *filter, size_t level, weir_error *err) {
    size_t last = last_level(filter);
    weir_status status = WEIR_OK;
    filter->elsewhere = true;
    for (size_t i = 0; i < weir_filter_sites(filter) && status == WEIR_OK; i++) {
        weir_site_info info;
        weir__site *site = filter->class->spread->place(filter, i);
        filter->class->spread->site(filter, i, &info);
        if (last && info.level == last && !live->options.leaves_on_servers) continue;
        bool nested = !site->kind->test_places && weir_filter_sites(site->filter);
        status = nested ? take_sites(live, site->filter, level + info.level, err)
                        : take_site(live, filter, site, level + info.level, err);
    }
    return status;
}

static weir_status check_shape(const weir_live *live, weir_error *err) {
    weir_filter_info info;
    weir_filter_get_info(live->filter, &info);
    if (!weir_filter_sites(live->filter))
        return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                         "a '%s' filter is in one piece; 'horizontal', 'vertical' and 'tree' have "
                         "sites",
                         info.name);
    bool places = false;
    for (size_t i = 0; i < live->count; i++) places |= live->sites[i].has_places;
    if (info.window && !info.window_is_time && (places || live->count > 1))
        return wire_fail(err, WEIR_ERR_SPEC,
                         "a window of records cannot be cut into slices, as each gets only its "
                         "share of the records; give a duration, such as --window 1h");
    int down = own_option(live->filter, "down");
    if (down >= 0 && !live->options.leaves_on_servers && weir__opt_whole(live->filter, down) &&
        weir__opt_whole(live->filter, down) >= last_level(live->filter))
        return wire_fail(err, WEIR_ERR_SPEC,
                         "down=%llu asks leaves, and those of other processes cannot be reached; "
                         "take a lower level, or put the leaves on the servers",
                         (unsigned long long)weir__opt_whole(live->filter, down));
    return WEIR_OK;
}

/* Before anything is written: what places take on the servers is not what they would take here. */
static weir_status check_memory(weir_live *live, weir_error *err) {
    weir_filter_info info;
    weir_status status = WEIR_OK;
    uint64_t bytes, all = 0;
    weir_filter_get_info(live->filter, &info);
    for (size_t i = 0; i < live->count && status == WEIR_OK; i++) {
        if (!live->sites[i].has_places) continue;
        status = live_places_fit(&live->sites[i], &bytes, err);
        all += bytes;
    }
    if (status == WEIR_OK && all > 2 * info.memory)
        live_say(live, "the timers of '%s' take up to %lluM on the servers, 8 bytes each",
                 live->name, (unsigned long long)(all >> 20) + 1);
    return status;
}

static weir_status make_filter(weir_live *live, const char *spec, weir_error *err) {
    weir_status status = weir_filter_new(&live->filter, spec, err);
    if (status == WEIR_OK && live->filter && weir_filter_sites(live->filter))
        status = take_sites(live, live->filter, 0, err);
    return status;
}

static void forget_filter(weir_live *live) {
    weir_filter_free(live->filter);
    live->filter = NULL;
    live->count = 0;
}

/* --- the manifest -------------------------------------------------------------------------------
 */

/* Where the leaves are is found out by how many sites there are. */
static weir_status join(weir_live *live, weir_error *err) {
    weir_status status = make_filter(live, live->plan.spec, err);
    if (status == WEIR_OK && live->plan.slices != live->count) {
        live->options.leaves_on_servers = !live->options.leaves_on_servers;
        forget_filter(live);
        status = make_filter(live, live->plan.spec, err);
    }
    if (status == WEIR_OK && live->plan.slices != live->count)
        status = wire_fail(err, WEIR_ERR_MISMATCH, "'%s' has %zu slices on the servers, not %zu",
                           live->name, live->plan.slices, live->count);
    return status == WEIR_OK ? check_shape(live, err) : status;
}

static weir_status write_manifest(weir_live *live, weir_error *err) {
    bool written;
    live->plan.slices = live->count;
    if (weir_filter_spec(live->filter, live->plan.spec, sizeof live->plan.spec) >=
        sizeof live->plan.spec)
        return wire_fail(err, WEIR_ERR_SPEC, "the spec is too long");
    manifest_place(&live->plan, live->fleet);
    weir_status status = manifest_write(&live->plan, live->fleet, live->name, &written, err);
    if (status != WEIR_OK || written) return status;
    forget_filter(live); /* another producer was first */
    status = manifest_read(&live->plan, live->fleet, live->name, &live->found, err);
    if (status == WEIR_OK && !live->found)
        status =
            wire_fail(err, WEIR_ERR_IO, "the filter '%s' goes as fast as it comes", live->name);
    live->found = false; /* its sites are being made */
    return status == WEIR_OK ? join(live, err) : status;
}

static weir_status join_or_make(weir_live *live, const char *spec, weir_error *err) {
    weir_status status = manifest_read(&live->plan, live->fleet, live->name, &live->found, err);
    if (status != WEIR_OK) return status;
    if (live->found) return join(live, err);
    if (!spec)
        return wire_fail(err, WEIR_ERR_RANGE, "there is no filter '%s' on the servers", live->name);
    status = make_filter(live, spec, err);
    if (status == WEIR_OK) status = check_shape(live, err);
    if (status == WEIR_OK) status = check_memory(live, err);
    return status == WEIR_OK ? write_manifest(live, err) : status;
}

static weir_status place_all(weir_live *live, weir_error *err) {
    weir_status status = WEIR_OK;
    for (size_t i = 0; i < live->count; i++) {
        live_site *s = &live->sites[i];
        manifest_slice_key(&live->plan, i, s->key, live->name);
        s->slot = live->slots[i] = fleet_slot(s->key, strlen(s->key));
    }
    live_look_at_masters(live);
    for (size_t i = 0; i < live->count && status == WEIR_OK && !live->options.look; i++) {
        live_site *s = &live->sites[i];
        if (live->found)
            manifest_let_others_make(live->fleet, s->has_places ? "STRLEN" : "WEIR.INFO", s->key,
                                     &live->waited);
        status = s->has_places ? live_places_place(s, err) : live_keys_place(s, err);
        /* Of a filter that is there a site may be lost already: its rule decides, as it does later.
         */
        if (status == WEIR_ERR_IO && live->found && weir__site_lost(s->site) && !live->failed)
            status = WEIR_OK;
    }
    if (status == WEIR_OK && live->failed) {
        if (err) *err = live->why;
        status = live->why.code;
    }
    return status;
}

/* --- opened and closed
 * ---------------------------------------------------------------------------- */

static weir_status open_fleet(weir_live *live, const char *url, weir_error *err) {
    const weir_remote_options *o = &live->options.servers;
    wire_options options = {.password_file = o->password_file,
                            .ca_file = o->ca_file,
                            .cert_file = o->cert_file,
                            .key_file = o->key_file,
                            .connect_ms = o->connect_ms,
                            .reply_ms = o->reply_ms,
                            .stop = o->stop,
                            .stop_context = o->context};
    weir_status status = fleet_open(&live->fleet, url, &options, err);
    if (status != WEIR_OK) return status;
    live->fleet->changes++; /* so that masters are looked at */
    live->name = strdup(live->fleet->url->name ? live->fleet->url->name : "weir");
    if (!live->name) return wire_no_memory(err);
    if (getrandom(&live->chance, sizeof live->chance, 0) != sizeof live->chance)
        return wire_fail(err, WEIR_ERR_IO, "the system gives no random numbers");
    snprintf(live->who, sizeof live->who, "%016" PRIx64, live_draw(live, false));
    return manifest_check_name(live->name, err);
}

weir_status weir_live_open(weir_live **out, const char *url, const char *spec,
                           const weir_live_options *options, weir_error *err) {
    wire_traffic opening;
    weir_live *live = *out = calloc(1, sizeof *live);
    if (!live) return wire_no_memory(err);
    live->options = *options;
    weir_remote_options *o = &live->options.servers;
    if (!o->connect_ms) o->connect_ms = CONNECT_MS;
    if (!o->lost_ms) o->lost_ms = LOST_MS;
    live->sites = calloc(LIVE_SITES, sizeof *live->sites);
    live->slots = calloc(LIVE_SITES, sizeof *live->slots);
    weir_status status = WEIR_OK;
    if (!live->sites || !live->slots) status = wire_no_memory(err);
    if (status == WEIR_OK) status = open_fleet(live, url, err);
    if (status == WEIR_OK) status = join_or_make(live, spec, err);
    if (status == WEIR_OK) status = place_all(live, err);
    memset(live->stats.messages, 0, sizeof live->stats.messages); /* those of keys are counted */
    memset(live->stats.nanoseconds, 0, sizeof live->stats.nanoseconds);
    if (status == WEIR_OK) {
        fleet_traffic(live->fleet, &opening);
        live->opening_bytes = opening.sent + opening.received;
    }
    if (status != WEIR_OK) {
        weir_live_close(live);
        *out = NULL;
    }
    return status;
}

void weir_live_close(weir_live *live) {
    if (!live) return;
    weir_filter_free(live->filter);
    for (size_t i = 0; i < live->count; i++) wire_reply_free(live->sites[i].reply);
    fleet_close(live->fleet);
    free(live->sites);
    free(live->slots);
    free(live->name);
    free(live);
}

weir_filter *weir_live_filter(weir_live *live) { return live->filter; }

weir_status weir_live_clock(weir_live *live, int64_t *ahead, weir_error *err) {
    char key[160];
    manifest_key(key, live->name);
    return fleet_clock(live->fleet, key, ahead, err);
}

bool weir_live_good(const weir_live *live, weir_error *err) {
    if (live->failed && err) *err = live->why;
    return !live->failed;
}
