/* at.c - `--at URL`: the filter stands on Redis or Valkey servers. */
#include "at_live.h"
#include "at_load.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "progress.h"
#include "report.h"
#include "spec_text.h"
#include "stopping.h"
#include "values.h"
#include "weir_sites.h"
#include "weir_text.h"

/* PLACES_KEYS: of slices of places. The more keys a batch has, the more of those that other runs
 * offer at the same time come out twice (remote/places.h), and a server takes as long for a key. */
enum { MS = 1000000, KEYS_MOST = 65536, PLACES_KEYS = 256 };
#define GRACE (3 * INT64_C(1000000000)) /* ns after a signal in which batches may come home */

static int durability(at_settings *at, const char *value) {
    uint64_t n = 0;
    if (!strcmp(value, "async")) return EXIT_DONE;
    if (strncmp(value, "wait:", 5) != 0)
        return cli_error("--durability cannot be '%s'; it is async, or wait:N with a number of "
                         "replicas",
                         value);
    int code = value_number("--durability wait:", value + 5, 1, 100, false, &n);
    at->options.replicas = (unsigned)n;
    return code;
}

static int take(at_settings *at, int id, const char *value) {
    weir_remote_options *o = &at->options;
    uint64_t number = 0;
    int64_t span = 0;
    int code = EXIT_DONE;
    switch (id) {
    case AT_ON_LOST:
        o->on_lost = (weir_remote_on_lost)value_choice("new|seen|wait|stop", value);
        break;
    case AT_LOST_AFTER:
        code = value_span("--lost-after", value, MS, &span);
        o->lost_ms = span / MS;
        break;
    case AT_DURABILITY:
        return durability(at, value);
    case AT_LOCAL:
        return value_number("--local-memory", value, 4096, UINT64_C(1) << 50, true,
                            &o->local_memory);
    case AT_SLICES:
        code = value_number("--slices", value, 1, 8192, false, &number);
        at->slices = (size_t)number;
        break;
    case AT_LEAF:
        code = value_number("--leaf", value, 0, UINT32_MAX, false, &number);
        at->leaf = number + 1;
        break;
    case AT_LEAVES:
        at->leaves_on_servers = !strcmp(value, "servers");
        break;
    case AT_PASSWORD:
        o->password_file = value;
        break;
    case AT_CA:
        o->ca_file = value;
        break;
    case AT_CERT:
        o->cert_file = value;
        break;
    case AT_KEY:
        o->key_file = value;
        break;
    default:
        break;
    }
    return code;
}

int at_option(at_settings *at, int id, const char *value) {
    static const opt_entry rows[] = {AT_ROWS};
    if (id == AT_URL) at->url = value;
    for (size_t i = 1; i < sizeof rows / sizeof *rows && !at->given; i++)
        if (rows[i].id == id) at->given = rows[i].name;
    return id >= AT_ON_LOST && id <= AT_KEY ? take(at, id, value) : EXIT_DONE;
}

bool at_is_url(const char *text) {
    return (strstr(text, "://") && strpbrk(text, ":/") == strstr(text, "://")) ||
           !strncmp(text, "unix:", 5);
}

int at_resolve(const at_settings *at) {
    if (at->given && !at->url) return cli_error("--%s goes with --at URL", at->given);
    return EXIT_DONE;
}

#ifdef HAVE_REMOTE

/* Keep a message about servers for --stats. */
static void keep_event(at_filter *f, const char *message) {
    if (f->event_count++ >= AT_EVENTS) return;
    at_event *e = &f->events[f->event_count - 1];
    e->time = clock_now(CLOCK_REALTIME);
    snprintf(e->text, sizeof e->text, "%s", message);
}

/* Said as it happens. */
static void say(void *context, const char *message) {
    progress_clear();
    cli_warn("%s", message);
    keep_event(context, message);
}

bool at_failed(at_filter *f, const weir_error *why) {
    cli_error("%s", why->message);
    keep_event(f, why->message);
    return false;
}

/* A signal ends the wait for servers that do not answer, but not at once. */
static bool stop(void *context) {
    static int64_t first;
    (void)context;
    if (!stopping_signal) return false;
    int64_t now = clock_now(CLOCK_MONOTONIC);
    if (!first) first = now;
    return now - first > GRACE;
}

bool at_gave_up(void) { return stop(NULL); }

/* The filter that is there must be the one that is asked for. */
static int check_spec(const weir_remote *remote, const char *url, const char *spec,
                      bool kind_given) {
    char there[SPEC_SIZE];
    weir_error difference;
    if (!weir_remote_spec(remote, there, sizeof there)) return EXIT_DONE;
    if (weir_spec_fits(spec_asked(spec, kind_given), there, &difference) == WEIR_OK)
        return EXIT_DONE;
    return cli_error("'%s' holds %s; use the same options or another name", url,
                     difference.message);
}

/* What there is under the name, or else what was asked for, may be a filter that is asked a message
 * at a time. */
static bool goes_live(const weir_remote *remote, const char *spec) {
    char there[SPEC_SIZE];
    return at_live_is_for(weir_remote_spec(remote, there, sizeof there) ? there : spec);
}

/* The number of slices, too, must be what is asked for. */
static int check_slices(const weir_remote *remote, const at_settings *at) {
    weir_remote_stats s;
    weir_remote_get_stats(remote, &s);
    if (!at->slices || at->slices == s.slices) return EXIT_DONE;
    return cli_error("'%s' holds a filter in %zu slices, not %zu; use the same options or another "
                     "name",
                     at->url, s.slices, at->slices);
}

static int begin(at_filter *f, at_settings *at, const char *spec, bool kind_given) {
    weir_error err;
    if (weir_remote_open(&f->remote, at->url, &at->options, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    int code = check_spec(f->remote, at->url, spec, kind_given);
    if (code != EXIT_DONE) return code;
    if (goes_live(f->remote, spec)) {
        weir_remote_get_stats(f->remote, &f->first);
        weir_remote_close(f->remote);
        f->remote = NULL;
        return at_live_begin(f, at, spec);
    }
    if (at->leaf || at->leaves_on_servers)
        return cli_error("--%s goes with --filter tree", at->leaf ? "leaf" : "leaves");
    if (weir_remote_begin(f->remote, spec, at->slices, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    weir_cut cut;
    bool places = weir_filter_get_cut(weir_remote_twin(f->remote), &cut, NULL) == WEIR_OK;
    f->batch_most = places ? PLACES_KEYS : KEYS_MOST;
    code = check_slices(f->remote, at);
    return code == EXIT_DONE ? check_spec(f->remote, at->url, spec, kind_given) : code;
}

int at_begin(at_filter **out, at_settings *at, const char *spec, bool kind_given) {
    at_filter *f = *out = calloc(1, sizeof *f);
    if (!f) return cli_error("out of memory");
    f->leaf = at->leaf;
    f->counts_load = at->counts_load;
    at->options.say = say;
    at->options.stop = stop;
    at->options.context = f;
    int code = begin(f, at, spec, kind_given);
    if (code == EXIT_DONE && f->counts_load) at_ask_load(f); /* from now on it is counted */
    if (code == EXIT_DONE) return code;
    at_end(f);
    *out = NULL;
    return code;
}

weir_filter *at_twin(const at_filter *f) {
    return f->live ? weir_live_filter(f->live) : weir_remote_twin(f->remote);
}

/* --- the servers' clock -------------------------------------------------------------------- */

int64_t at_now(at_filter *f) {
    enum { LOOK_S = 60 };
    weir_error err;
    int64_t ahead, now = clock_now(CLOCK_MONOTONIC);
    if (!f->looked || now - f->looked > LOOK_S * INT64_C(1000000000)) {
        weir_status status = f->live ? weir_live_clock(f->live, &ahead, &err)
                                     : weir_remote_clock(f->remote, &ahead, &err);
        if (status == WEIR_OK) f->ahead = ahead;
        else if (!f->looked)
            cli_warn("the clock of the servers cannot be read, so records have the time of this "
                     "machine: %s",
                     err.message);
        f->looked = now;
    }
    return clock_now(CLOCK_REALTIME) + f->ahead;
}

/* --- batches -------------------------------------------------------------------------------- */

/* Batches of the most that is allowed, several on their way at a time. */
static bool offer_to_slices(at_filter *f, const weir_batch *batch, uint64_t *verdicts,
                            size_t *seen) {
    weir_remote *remote = f->remote;
    weir_error err = {0};
    bool good = true;
    size_t sent = 0, got = 0;
    *seen = 0;
    while (got < batch->count) {
        while (sent < batch->count && weir_remote_room(remote)) {
            weir_batch part = {.count = batch->count - sent, .hashes = batch->hashes + sent};
            if (part.count > f->batch_most) part.count = f->batch_most;
            if (batch->times) part.times = batch->times + sent;
            if (batch->importances) part.importances = batch->importances + sent;
            if (weir_remote_submit(remote, &part, &err) != WEIR_OK) return at_failed(f, &err);
            sent += part.count;
        }
        size_t part_seen, count = batch->count - got;
        if (count > f->batch_most) count = f->batch_most;
        if (weir_remote_collect(remote, verdicts + got / 64, &part_seen, &err) != WEIR_OK)
            good = false;
        *seen += part_seen;
        got += count;
    }
    return good ? good : at_failed(f, &err);
}

bool at_offer(at_filter *f, const weir_batch *batch, uint64_t *verdicts, size_t *seen) {
    return f->live ? at_live_offer(f, batch, verdicts, seen)
                   : offer_to_slices(f, batch, verdicts, seen);
}

void at_end(at_filter *f) {
    if (!f) return;
    if (f->remote) weir_remote_close(f->remote);
    if (f->live) weir_live_close(f->live);
    free(f->producers);
    free(f);
}

char *at_spec(const at_filter *f) {
    char *spec = malloc(SPEC_SIZE);
    if (spec && f->live) weir_filter_spec(weir_live_filter(f->live), spec, SPEC_SIZE);
    else if (spec) weir_remote_spec(f->remote, spec, SPEC_SIZE);
    return spec;
}

/* --- reports ------------------------------------------------------------------------------ */

static double ratio(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static double share(uint64_t part, uint64_t whole) { return 100 * ratio(part, whole); }

static void slices_text(FILE *out, const weir_remote *remote) {
    weir_remote_stats s;
    char spec[SPEC_SIZE] = "", shown[SPEC_SIZE] = "", a[32], b[32], c[32];
    weir_remote_get_stats(remote, &s);
    weir_remote_spec(remote, spec, sizeof spec);
    weir_spec_pretty(spec, shown, sizeof shown);
    fprintf(out, "filter           %s\n", shown);
    fprintf(out,
            "servers          %zu slices on %zu masters, at most %zu on one; keys even to %.3f "
            "(Jain)\n",
            s.slices, s.masters, s.share_most, s.fairness);
    fprintf(out,
            "level 1, local   %s keys asked, %.2f%% answered here\n"
            "level 2, slices  %s keys in %s requests (%.2g a key), %.0f us each; %.1f bytes a key "
            "sent and %.1f received\n",
            weir_print_count(a, (double)s.keys), share(s.local_seen, s.keys),
            weir_print_count(b, (double)s.sent), weir_print_count(c, (double)s.requests),
            ratio(s.requests, s.keys), ratio(s.nanoseconds, s.requests) / 1e3,
            ratio(s.bytes_sent, s.keys), ratio(s.bytes_received, s.keys));
    if (s.reconnects + s.repeated + s.redirected)
        fprintf(out,
                "failures         %" PRIu64 " connections made again, %" PRIu64
                " requests sent again, %" PRIu64 " redirected\n",
                s.reconnects, s.repeated, s.redirected);
    if (s.guessed)
        fprintf(out, "lost slices      %" PRIu64 " keys were not judged; %zu slices are lost now\n",
                s.guessed, s.lost);
    if (s.emptied + s.rolled_back)
        fprintf(out,
                "forgotten        %" PRIu64 " slices came back empty, %" PRIu64
                " without their last writes (%" PRIu64 " keys or more)\n",
                s.emptied, s.rolled_back, s.keys_rolled_back);
    if (s.unsafe)
        fprintf(out, "not confirmed    %" PRIu64 " times too few replicas answered in time\n",
                s.unsafe);
}

static void slices_json(FILE *out, const weir_remote *remote) {
    weir_remote_stats s;
    weir_remote_get_stats(remote, &s);
    fprintf(out,
            ",\"remote\":{\"slices\":%zu,\"masters\":%zu,\"together\":%zu,\"lost\":%zu,\"keys\":"
            "%" PRIu64 ",\"local_seen\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"guessed\":%" PRIu64
            ",\"requests\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"messages\":%" PRIu64
            ",\"bytes_sent\":%" PRIu64 ",\"bytes_received\":%" PRIu64 ",\"reconnects\":%" PRIu64
            ",\"redirected\":%" PRIu64 ",\"emptied\":%" PRIu64 ",\"rolled_back\":%" PRIu64
            ",\"keys_rolled_back\":%" PRIu64 ",\"unsafe\":%" PRIu64 ",\"nanoseconds\":%" PRIu64
            ",\"fairness\":",
            s.slices, s.masters, s.share_most, s.lost, s.keys, s.local_seen, s.sent, s.guessed,
            s.requests, s.repeated, s.messages, s.bytes_sent, s.bytes_received, s.reconnects,
            s.redirected, s.emptied, s.rolled_back, s.keys_rolled_back, s.unsafe, s.nanoseconds);
    report_json_number(out, s.fairness);
}

/* Bytes that went over the wire for verdicts. */
static uint64_t wire_bytes(const at_filter *f) {
    weir_remote_stats remote;
    if (f->live) {
        weir_live_stats live = at_live_stats(f);
        return live.bytes_sent + live.bytes_received;
    }
    weir_remote_get_stats(f->remote, &remote);
    return remote.bytes_sent + remote.bytes_received;
}

/* "2026-11-19T05:30:01.123Z" */
static const char *print_instant(char text[40], int64_t time) {
    enum { NS_A_MS = 1000000 };
    time_t seconds = (time_t)(time / 1000000000);
    struct tm parts;
    size_t used = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));
    snprintf(text + used, 40 - used, ".%03dZ", (int)(time % 1000000000 / NS_A_MS));
    return text;
}

static size_t kept_events(const at_filter *f) {
    return f->event_count < AT_EVENTS ? (size_t)f->event_count : AT_EVENTS;
}

void at_report_text(FILE *out, at_filter *f, uint64_t bytes_in, uint64_t bytes_out) {
    char a[32], b[32], c[32], when[40];
    uint64_t wire = wire_bytes(f);
    at_load load = {0};
    if (f->counts_load) load = at_ask_load(f);
    if (f->live) at_live_report_text(out, f);
    else slices_text(out, f->remote);
    if (f->counts_load) at_load_text(out, &load);
    fprintf(out, "bytes            %s for verdicts and %s of records written, where %s were read",
            report_size(a, wire), report_size(b, bytes_out), report_size(c, bytes_in));
    if (bytes_in > wire + bytes_out)
        fprintf(out, ": %s saved\n", report_size(a, bytes_in - wire - bytes_out));
    else fputs(": none saved\n", out);
    for (size_t i = 0; i < kept_events(f); i++)
        fprintf(out, "%-16s %s %s\n", i ? "" : "happened", print_instant(when, f->events[i].time),
                f->events[i].text);
    if (f->event_count > AT_EVENTS)
        fprintf(out, "%-16s and %" PRIu64 " more\n", "", f->event_count - AT_EVENTS);
}

void at_report_json(FILE *out, at_filter *f, uint64_t bytes_in, uint64_t bytes_out) {
    char when[40];
    at_load load = {0};
    int64_t saved = (int64_t)(bytes_in - wire_bytes(f) - bytes_out);
    if (f->counts_load) load = at_ask_load(f);
    if (f->live) at_live_report_json(out, f);
    else slices_json(out, f->remote);
    at_load_json(out, &load);
    if (f->live) fputs(",\"fairness\":", out), report_json_number(out, load.fairness);
    fprintf(out, ",\"saved_bytes\":%" PRId64 ",\"events\":[", saved);
    for (size_t i = 0; i < kept_events(f); i++) {
        fprintf(out, "%s{\"time\":\"%s\",\"what\":", i ? "," : "",
                print_instant(when, f->events[i].time));
        report_json_string(out, f->events[i].text);
        fputc('}', out);
    }
    fprintf(out, "],\"event_count\":%" PRIu64 "}", f->event_count);
}

/* --- weir inspect ------------------------------------------------------------------------- */

static void inspect_text(const char *spec, const char *url, const weir_remote_slice *slices,
                         size_t count) {
    char shown[SPEC_SIZE] = "", a[32], b[32];
    weir_spec_pretty(spec, shown, sizeof shown);
    printf("%s\nfilter           %s\n%-32s %-22s %10s %10s %7s\n", url, shown, "slice", "server",
           "offered", "seen", "fill");
    for (size_t i = 0; i < count; i++) {
        const weir_remote_slice *s = &slices[i];
        printf("%-32s %-22s ", s->key, s->server);
        if (s->gone) puts("is gone");
        else
            printf("%10s %10s %6.1f%%%s\n", weir_print_count(a, (double)s->offered),
                   weir_print_count(b, (double)s->seen), 100 * s->fill,
                   s->overfull ? ", forgetting" : "");
    }
}

static void inspect_json(const char *spec, const char *url, const weir_remote_slice *slices,
                         size_t count, double fairness, double alone) {
    fputs("{\"at\":", stdout);
    report_json_string(stdout, url);
    fputs(",\"spec\":", stdout);
    report_json_string(stdout, spec);
    fputs(",\"slices\":[", stdout);
    for (size_t i = 0; i < count; i++) {
        const weir_remote_slice *s = &slices[i];
        printf("%s{\"key\":\"%s\",\"server\":\"%s\",\"gone\":%s,\"offered\":%" PRIu64
               ",\"seen\":%" PRIu64 ",\"memory\":%" PRIu64 ",\"fill\":%.9g,\"epoch\":\"%016" PRIx64
               "\"}",
               i ? "," : "", s->key, s->server, s->gone ? "true" : "false", s->offered, s->seen,
               s->memory, s->fill, s->epoch);
    }
    printf("],\"fairness\":%.9g", fairness);
    if (alone > 0) printf(",\"messages_per_key\":%.9g", alone);
    puts("}");
}

/* Jain's index of what the slices were offered: 1 is even. */
static double fairness_of(const weir_remote_slice *slices, size_t count) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)slices[i].offered;
        squares += (double)slices[i].offered * (double)slices[i].offered;
    }
    return squares > 0 ? sum * sum / (squares * (double)count) : 1;
}

/* How many slices a key is asked at that travels alone: its own, or those that have its places. */
static double messages_of(const weir_remote *remote, size_t slices) {
    weir_cut cut;
    const weir_filter *twin = weir_remote_twin(remote);
    if (!twin || weir_filter_get_cut(twin, &cut, NULL) != WEIR_OK) return 1;
    return (double)slices * (1 - pow(1 - 1 / (double)slices, cut.k));
}

/* The slices of a filter that is asked in batches; NULL after a message. */
static weir_remote_slice *look(weir_remote *remote, char spec[SPEC_SIZE],
                               weir_remote_stats *stats) {
    weir_error err;
    weir_status status = weir_remote_look(remote, &err);
    weir_remote_get_stats(remote, stats);
    weir_remote_spec(remote, spec, SPEC_SIZE);
    weir_remote_slice *slices = calloc(stats->slices + 1, sizeof *slices);
    if (!slices) cli_error("out of memory");
    for (size_t i = 0; slices && i < stats->slices && status == WEIR_OK; i++)
        status = weir_remote_get_slice(remote, i, &slices[i], &err);
    if (!slices || status == WEIR_OK) return slices;
    cli_error("%s", err.message);
    free(slices);
    return NULL;
}

int at_inspect(const at_settings *at, const char *url, bool json, bool after) {
    char spec[SPEC_SIZE] = "";
    weir_remote *remote;
    weir_remote_stats stats;
    weir_error err;
    if (weir_remote_open(&remote, url, &at->options, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    bool live = weir_remote_spec(remote, spec, sizeof spec) && at_live_is_for(spec);
    if (after && !*spec) {
        weir_remote_close(remote);
        return EXIT_DONE;
    }
    if (after && !json) putchar('\n');
    weir_remote_slice *slices =
        live ? at_live_look(at, url, spec, &stats) : look(remote, spec, &stats);
    double alone = slices && !live ? messages_of(remote, stats.slices) : 0;
    weir_remote_close(remote);
    if (!slices) return EXIT_TROUBLE;
    double fairness = fairness_of(slices, stats.slices);
    if (json) inspect_json(spec, url, slices, stats.slices, fairness, alone);
    else inspect_text(spec, url, slices, stats.slices);
    if (!json)
        printf(
            "load             even to %.3f (Jain), %zu slices on %zu masters, at most %zu on one\n",
            fairness, stats.slices, stats.masters, stats.share_most);
    if (!json && alone > 0)
        printf("messages         %.2f for a key that comes alone; a batch of %d keys takes one to "
               "each "
               "slice, %.2g a key\n",
               alone, KEYS_MOST, (double)stats.slices / KEYS_MOST);
    free(slices);
    return EXIT_DONE;
}

#else

int at_inspect(const at_settings *at, const char *url, bool json, bool after) {
    (void)at, (void)json, (void)after;
    return cli_error("cannot reach '%s': this weir was built without hiredis", url);
}

int at_begin(at_filter **filter, at_settings *at, const char *spec, bool kind_given) {
    (void)filter, (void)spec, (void)kind_given;
    return cli_error("cannot reach '%s': this weir was built without hiredis; build it where "
                     "libhiredis-dev is installed",
                     at->url);
}

/* There is no filter on servers without at_begin(). */
bool at_offer(at_filter *f, const weir_batch *batch, uint64_t *verdicts, size_t *seen) {
    (void)f, (void)batch, (void)verdicts, (void)seen;
    return false;
}
bool at_gave_up(void) { return false; }
void at_end(at_filter *f) { (void)f; }
weir_filter *at_twin(const at_filter *f) { return (void)f, NULL; }
int64_t at_now(at_filter *f) { return (void)f, 0; }
char *at_spec(const at_filter *f) { return (void)f, NULL; }
void at_report_text(FILE *out, at_filter *f, uint64_t bytes_in, uint64_t bytes_out) {
    (void)out, (void)f, (void)bytes_in, (void)bytes_out;
}
void at_report_json(FILE *out, at_filter *f, uint64_t bytes_in, uint64_t bytes_out) {
    (void)out, (void)f, (void)bytes_in, (void)bytes_out;
}

#endif
