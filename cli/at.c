/* at.c - `--at URL`: the filter stands on Redis or Valkey servers. */
#include "at.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "progress.h"
#include "report.h"
#include "spec_text.h"
#include "stopping.h"
#include "values.h"

enum { MS = 1000000, KEYS_MOST = 65536 };
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
        code = value_number("--slices", value, 1, 1024, false, &number);
        at->slices = (size_t)number;
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

static void say(void *context, const char *message) {
    (void)context;
    progress_clear();
    cli_warn("%s", message);
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

int at_begin(weir_remote **remote, at_settings *at, const char *spec, bool kind_given) {
    weir_error err;
    at->options.say = say;
    at->options.stop = stop;
    if (weir_remote_open(remote, at->url, &at->options, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    int code = check_spec(*remote, at->url, spec, kind_given);
    if (code == EXIT_DONE && weir_remote_begin(*remote, spec, at->slices, &err) != WEIR_OK)
        code = cli_error("%s", err.message);
    if (code == EXIT_DONE) code = check_spec(*remote, at->url, spec, kind_given);
    return code;
}

/* Batches of the most that is allowed, several on their way at a time. */
bool at_offer(weir_remote *remote, const weir_batch *batch, uint64_t *verdicts, size_t *seen) {
    weir_error err = {0};
    bool good = true;
    size_t sent = 0, got = 0;
    *seen = 0;
    while (got < batch->count) {
        while (sent < batch->count && weir_remote_room(remote)) {
            weir_batch part = {.count = batch->count - sent, .hashes = batch->hashes + sent};
            if (part.count > KEYS_MOST) part.count = KEYS_MOST;
            if (batch->times) part.times = batch->times + sent;
            if (batch->importances) part.importances = batch->importances + sent;
            if (weir_remote_submit(remote, &part, &err) != WEIR_OK) {
                cli_error("%s", err.message);
                return false;
            }
            sent += part.count;
        }
        size_t part_seen, count = batch->count - got < KEYS_MOST ? batch->count - got : KEYS_MOST;
        if (weir_remote_collect(remote, verdicts + got / 64, &part_seen, &err) != WEIR_OK)
            good = false;
        *seen += part_seen;
        got += count;
    }
    if (!good) cli_error("%s", err.message);
    return good;
}

void at_end(weir_remote *remote) { weir_remote_close(remote); }

char *at_spec(const weir_remote *remote) {
    char *spec = malloc(SPEC_SIZE);
    if (spec) weir_remote_spec(remote, spec, SPEC_SIZE);
    return spec;
}

/* --- reports ------------------------------------------------------------------------------ */

static double share(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

void at_report_text(FILE *out, const weir_remote *remote) {
    weir_remote_stats s;
    char spec[SPEC_SIZE] = "", shown[SPEC_SIZE] = "", a[32], b[32], c[32];
    weir_remote_get_stats(remote, &s);
    weir_remote_spec(remote, spec, sizeof spec);
    weir_spec_pretty(spec, shown, sizeof shown);
    fprintf(out, "filter           %s\n", shown);
    fprintf(out, "servers          %zu slices on %zu masters; load even to %.3f (Jain)\n", s.slices,
            s.masters, s.fairness);
    fprintf(out,
            "level 1, local   %s keys asked, %.2f%% answered here\n"
            "level 2, slices  %s keys in %s requests (%.2g a key), %.1f bytes a key\n",
            weir_print_count(a, (double)s.keys), share(s.local_seen, s.keys),
            weir_print_count(b, (double)s.sent), weir_print_count(c, (double)s.requests),
            s.keys ? (double)s.requests / (double)s.keys : 0,
            s.keys ? (double)(s.bytes_sent + s.bytes_received) / (double)s.keys : 0);
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

void at_report_json(FILE *out, const weir_remote *remote) {
    weir_remote_stats s;
    weir_remote_get_stats(remote, &s);
    fprintf(out,
            ",\"remote\":{\"slices\":%zu,\"masters\":%zu,\"lost\":%zu,\"keys\":%" PRIu64
            ",\"local_seen\":%" PRIu64 ",\"sent\":%" PRIu64 ",\"guessed\":%" PRIu64
            ",\"requests\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"messages\":%" PRIu64
            ",\"bytes_sent\":%" PRIu64 ",\"bytes_received\":%" PRIu64 ",\"reconnects\":%" PRIu64
            ",\"redirected\":%" PRIu64 ",\"emptied\":%" PRIu64 ",\"rolled_back\":%" PRIu64
            ",\"keys_rolled_back\":%" PRIu64 ",\"unsafe\":%" PRIu64 ",\"fairness\":",
            s.slices, s.masters, s.lost, s.keys, s.local_seen, s.sent, s.guessed, s.requests,
            s.repeated, s.messages, s.bytes_sent, s.bytes_received, s.reconnects, s.redirected,
            s.emptied, s.rolled_back, s.keys_rolled_back, s.unsafe);
    report_json_number(out, s.fairness);
    fputc('}', out);
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
                         size_t count, double fairness) {
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
    printf("],\"fairness\":%.9g}\n", fairness);
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

int at_inspect(const at_settings *at, const char *url, bool json) {
    char spec[SPEC_SIZE] = "";
    weir_remote *remote;
    weir_remote_stats stats;
    weir_error err;
    if (weir_remote_open(&remote, url, &at->options, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    weir_status status = weir_remote_look(remote, &err);
    weir_remote_get_stats(remote, &stats);
    weir_remote_slice *slices = calloc(stats.slices + 1, sizeof *slices);
    for (size_t i = 0; slices && i < stats.slices && status == WEIR_OK; i++)
        status = weir_remote_get_slice(remote, i, &slices[i], &err);
    int code = EXIT_DONE;
    if (!slices) code = cli_error("out of memory");
    else if (status != WEIR_OK) code = cli_error("%s", err.message);
    else {
        double fairness = fairness_of(slices, stats.slices);
        weir_remote_spec(remote, spec, sizeof spec);
        if (json) inspect_json(spec, url, slices, stats.slices, fairness);
        else inspect_text(spec, url, slices, stats.slices);
        if (!json)
            printf("load             even to %.3f (Jain), %zu slices on %zu masters\n", fairness,
                   stats.slices, stats.masters);
    }
    free(slices);
    weir_remote_close(remote);
    return code;
}

#else

int at_inspect(const at_settings *at, const char *url, bool json) {
    (void)at, (void)json;
    return cli_error("cannot reach '%s': this weir was built without hiredis", url);
}

int at_begin(weir_remote **remote, at_settings *at, const char *spec, bool kind_given) {
    (void)remote, (void)spec, (void)kind_given;
    return cli_error("cannot reach '%s': this weir was built without hiredis; build it where "
                     "libhiredis-dev is installed",
                     at->url);
}

/* There is no remote filter without at_begin(). */
bool at_offer(weir_remote *remote, const weir_batch *batch, uint64_t *verdicts, size_t *seen) {
    (void)remote, (void)batch, (void)verdicts, (void)seen;
    return false;
}
void at_end(weir_remote *remote) { (void)remote; }
char *at_spec(const weir_remote *remote) { return (void)remote, NULL; }
weir_filter *weir_remote_twin(const weir_remote *remote) { return (void)remote, NULL; }
void at_report_text(FILE *out, const weir_remote *remote) { (void)out, (void)remote; }
void at_report_json(FILE *out, const weir_remote *remote) { (void)out, (void)remote; }

#endif
