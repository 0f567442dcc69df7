/* at_live.c - the filters of `--at` that are asked a message at a time: trees, and places that are
 * timers.
 *
 * A batch of the engine goes to the filter as it is; the filter asks its sites on servers. What is
 * reported was counted on the wire, by level, and by the servers themselves (INFO).
 */
#include "at_live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "report.h"
#include "spec_text.h"
#include "weir_sites.h"
#include "weir_text.h"

#ifdef HAVE_REMOTE

static bool kind_is(const char *spec, const char *kind) {
    size_t length = strlen(kind);
    return !strncmp(spec, kind, length) && (!spec[length] || spec[length] == ':');
}

static bool has_timers(const char *spec) {
    weir_filter *filter;
    weir_cut cut;
    if (weir_filter_new(&filter, spec, NULL) != WEIR_OK) return false;
    bool timers = weir_filter_get_cut(filter, &cut, NULL) == WEIR_OK && cut.timers;
    weir_filter_free(filter);
    return timers;
}

bool at_live_is_for(const char *spec) {
    return kind_is(spec, "tree") || (kind_is(spec, "vertical") && has_timers(spec));
}

/* --- options that other filters have ------------------------------------------------------ */

static int refuse(const at_settings *at) {
    if (at->options.replicas)
        return cli_error("--durability does not go with a tree or timers: replicas are not waited "
                         "for at each message");
    if (at->options.local_memory)
        return cli_error("--local-memory does not go with a tree, which has its leaves here, or "
                         "with timers");
    if (at->slices)
        return cli_error("--slices does not go with a tree or timers; write slices=%zu in --filter",
                         at->slices);
    return EXIT_DONE;
}

/* Add the rule to a spec whose kind has one, unless it says. */
static bool add_rule(char spec[SPEC_SIZE], const char *rule) {
    char kind[64], there[16];
    size_t used = strlen(spec);
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(spec, ":"), spec);
    if (!weir_spec_option(kind, "on-lost") || weir_spec_get(spec, "on-lost", there, sizeof there))
        return true;
    int more = snprintf(spec + used, SPEC_SIZE - used, "%con-lost=%s",
                        strchr(spec, ':') ? ',' : ':', rule);
    return more > 0 && used + (size_t)more < SPEC_SIZE;
}

/* The spec with the rule of --on-lost, and so a root that is in slices itself. */
static bool with_rule(char out[SPEC_SIZE], const char *spec, weir_remote_on_lost rule) {
    static const char *const names[] = {"new", "seen", "wait", "stop"};
    char root[SPEC_SIZE];
    if ((size_t)snprintf(out, SPEC_SIZE, "%s", spec) >= SPEC_SIZE) return false;
    if (rule == WEIR_REMOTE_NEW) return true;
    if (weir_spec_take(out, "root", root, sizeof root)) {
        size_t length = strlen(root);
        if (length < 2 || root[length - 1] != ')') return false;
        root[length - 1] = 0;
        memmove(root, root + 1, length - 1);
        size_t used = strlen(out);
        if (!add_rule(root, names[rule])) return false;
        int more = snprintf(out + used, SPEC_SIZE - used, "%croot=(%s)",
                            strchr(out, ':') ? ',' : ':', root);
        if (more < 0 || used + (size_t)more >= SPEC_SIZE) return false;
    }
    return add_rule(out, names[rule]);
}

int at_live_begin(at_filter *f, const at_settings *at, const char *spec) {
    char ruled[SPEC_SIZE];
    weir_error err;
    weir_live_options options = {.servers = at->options,
                                 .leaves_on_servers = at->leaves_on_servers};
    int code = refuse(at);
    if (code != EXIT_DONE) return code;
    if (!with_rule(ruled, spec, at->options.on_lost)) return cli_error("the spec is too long");
    if (weir_live_open(&f->live, at->url, ruled, &options, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

/* --- batches -------------------------------------------------------------------------------- */

/* All of the batch enters at one leaf. */
static const uint64_t *at_one_leaf(at_filter *f, size_t count) {
    uint64_t *room = realloc(f->producers, count * sizeof *room);
    if (!room) return NULL;
    f->producers = room;
    for (size_t i = 0; i < count; i++) room[i] = f->leaf - 1;
    return room;
}

bool at_live_offer(at_filter *f, const weir_batch *batch, uint64_t *verdicts, size_t *seen) {
    weir_error err;
    weir_batch keys = *batch;
    if (f->leaf && !(keys.producers = at_one_leaf(f, batch->count))) {
        cli_error("out of memory");
        memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * 8);
        *seen = 0;
        return false;
    }
    *seen = weir_filter_offer_batch(weir_live_filter(f->live), &keys, verdicts);
    if (*seen == WEIR_STOPPED) {
        memset(verdicts, 0, WEIR_VERDICT_WORDS(batch->count) * 8);
        *seen = 0;
    }
    return weir_live_good(f->live, &err) ? true : at_failed(f, &err);
}

weir_remote_slice *at_live_look(const at_settings *at, const char *url, char spec[SPEC_SIZE],
                                weir_remote_stats *stats) {
    weir_error err;
    weir_live *live;
    weir_live_stats s;
    size_t level;
    weir_live_options options = {.servers = at->options, .look = true};
    if (weir_live_open(&live, url, NULL, &options, &err) != WEIR_OK) {
        cli_error("%s", err.message);
        return NULL;
    }
    weir_live_get_stats(live, &s);
    *stats =
        (weir_remote_stats){.slices = s.sites, .masters = s.masters, .share_most = s.share_most};
    weir_filter_spec(weir_live_filter(live), spec, SPEC_SIZE);
    weir_remote_slice *slices = calloc(s.sites + 1, sizeof *slices);
    if (!slices) cli_error("out of memory");
    for (size_t i = 0; slices && i < s.sites; i++) {
        if (weir_live_get_slice(live, i, &slices[i], &level, &err) == WEIR_OK) continue;
        cli_error("%s", err.message);
        free(slices);
        slices = NULL;
    }
    weir_live_close(live);
    return slices;
}

/* --- reports -------------------------------------------------------------------------------- */

weir_live_stats at_live_stats(const at_filter *f) {
    weir_live_stats s;
    weir_live_get_stats(f->live, &s);
    s.commands += f->first.messages;
    s.bytes_sent += f->first.bytes_sent;
    s.bytes_received += f->first.bytes_received;
    return s;
}

static double per_key(uint64_t count, uint64_t keys) {
    return keys ? (double)count / (double)keys : 0;
}

static void print_levels(FILE *out, const weir_live_stats *s, uint64_t keys) {
    char a[32];
    for (size_t level = 0; level < WEIR_LIVE_LEVELS; level++)
        if (s->messages[level])
            fprintf(out, "level %zu          %s messages, %.2g a key, %.0f us each\n", level,
                    weir_print_count(a, (double)s->messages[level]),
                    per_key(s->messages[level], keys),
                    (double)s->nanoseconds[level] / 1e3 / (double)s->messages[level]);
}

/* Levels whose nodes are here. */
static void print_here(FILE *out, const weir_filter *filter, const weir_live_stats *s) {
    uint64_t asked = 0, seen = 0;
    weir_site_info site;
    size_t level = 0;
    if (weir_filter_sites(filter) == s->sites) return;
    size_t last = weir_filter_sites(filter) - 1;
    if (weir_filter_get_site(filter, last, &site, NULL) != WEIR_OK) return;
    level = site.level;
    for (size_t i = last;; i--) {
        if (weir_filter_get_site(filter, i, &site, NULL) != WEIR_OK || site.level != level) break;
        asked += site.asked, seen += site.seen;
        if (!i) break;
    }
    char a[32];
    if (level && !s->messages[level])
        fprintf(out, "level %zu, here    %s keys asked, %.2f%% answered here\n", level,
                weir_print_count(a, (double)asked), asked ? 100 * (double)seen / (double)asked : 0);
}

void at_live_report_text(FILE *out, const at_filter *f) {
    char shown[SPEC_SIZE] = "", a[32];
    weir_live_stats s = at_live_stats(f);
    weir_traffic t = {0};
    weir_filter *filter = weir_live_filter(f->live);
    weir_filter_get_traffic(filter, &t, NULL);
    char *spec = report_spec(filter);
    weir_spec_pretty(spec ? spec : "", shown, sizeof shown);
    free(spec);
    fprintf(out,
            "filter           %s\n"
            "servers          %zu slices on %zu masters, at most %zu on one\n",
            shown, s.sites, s.masters, s.share_most);
    print_levels(out, &s, t.keys);
    print_here(out, filter, &s);
    fprintf(
        out,
        "on the wire      %s commands; %.1f bytes a key sent, %.1f of them hashes or positions, "
        "and %.1f received\n",
        weir_print_count(a, (double)s.commands), per_key(s.bytes_sent, t.keys),
        per_key(s.positions, t.keys), per_key(s.bytes_received, t.keys));
    if (s.silent + s.lost)
        fprintf(out, "lost slices      %" PRIu64 " times one gave no answer; %zu are lost now\n",
                s.silent, s.lost);
    if (s.emptied + s.rewound)
        fprintf(out,
                "forgotten        %" PRIu64 " slices came back empty, %" PRIu64
                " without their last writes (%" PRIu64 " keys or more)\n",
                s.emptied, s.rewound, s.keys_rewound);
    if (s.doubtful)
        fprintf(out, "sent again       %" PRIu64 " messages whose answer was lost\n", s.doubtful);
}

void at_live_report_json(FILE *out, const at_filter *f) {
    weir_live_stats s = at_live_stats(f);
    weir_traffic t = {0};
    weir_filter_get_traffic(weir_live_filter(f->live), &t, NULL);
    fprintf(out,
            ",\"remote\":{\"slices\":%zu,\"masters\":%zu,\"together\":%zu,\"lost\":%zu,"
            "\"keys\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"bytes_sent\":%" PRIu64
            ",\"bytes_received\":%" PRIu64 ",\"positions\":%" PRIu64 ",\"silent\":%" PRIu64
            ",\"emptied\":%" PRIu64 ",\"rolled_back\":%" PRIu64 ",\"keys_rolled_back\":%" PRIu64
            ",\"repeated\":%" PRIu64 ",\"levels\":[",
            s.sites, s.masters, s.share_most, s.lost, t.keys, s.commands, s.bytes_sent,
            s.bytes_received, s.positions, s.silent, s.emptied, s.rewound, s.keys_rewound,
            s.doubtful);
    for (size_t level = 0; level < WEIR_LIVE_LEVELS; level++)
        if (s.messages[level])
            fprintf(out, "%s{\"level\":%zu,\"messages\":%" PRIu64 ",\"nanoseconds\":%" PRIu64 "}",
                    level && s.messages[level - 1] ? "," : "", level, s.messages[level],
                    s.nanoseconds[level]);
    fputs("]", out);
}

#endif
