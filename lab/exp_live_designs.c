/* exp_live_designs.c - which way to put a filter on servers, by what each costs and loses.
 *
 * Not in the paper: the ways of docs/cluster.md on one stream and the same four servers, first
 * whole, then with one of them killed. Its table is the one that docs/cluster.md shows.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lab_live.h"
#include "lab_rng.h"
#include "weir_remote.h"

enum { SERVERS = 4, BATCH = 1024 };

static const lab_column design_columns[] = {
    {"messages", "commands a record", NULL, false, 0, 0},
    {"bytes", "bytes a record", NULL, false, 0, 0},
    {"us", "a record", "us", false, 0, 0},
    {"seen", "repeats", "% of the records", false, 0, 0},
    {"passed", "repeats that pass with one of 4 servers lost, on-lost=new", "%", false, 0, 0},
    {"lost", "new records lost with one lost, on-lost=seen", "%", false, 0, 0},
    {0}};

typedef struct {
    weir_remote *remote; /* or */
    weir_live *live;
} design;

static weir_status open_design(lab_unit *unit, const lab_servers *servers, const char *name,
                               bool lost_is_seen, design *d) {
    enum { PATIENCE_MS = 1000, LOST_MS = 100 };
    char url[128], spec[320];
    weir_remote_options access = {.connect_ms = PATIENCE_MS,
                                  .reply_ms = PATIENCE_MS,
                                  .lost_ms = LOST_MS,
                                  .on_lost = lost_is_seen ? WEIR_REMOTE_SEEN : WEIR_REMOTE_NEW,
                                  .local_memory = (uint64_t)unit->c->p[1]};
    *d = (design){0};
    lab_servers_url(servers, name, url);
    bool live = unit->c->p[0] > 0;
    const char *rule = live && lost_is_seen ? ",on-lost=seen" : "";
    /* a root in slices has a rule of its own */
    const char *root = unit->c->p[2] > 0 ? ",root=(horizontal:slices=4,of=(recent)" : "";
    snprintf(spec, sizeof spec, "%s%s%s%s,memory=4M,seed=%llu%s", unit->c->filter, root,
             *root ? rule : "", *root ? ")" : "", (unsigned long long)unit->seed, rule);
    if (live)
        return weir_live_open(&d->live, url, spec, &(weir_live_options){.servers = access},
                              &unit->error);
    weir_status status = weir_remote_open(&d->remote, url, &access, &unit->error);
    return status ? status : weir_remote_begin(d->remote, spec, SERVERS, &unit->error);
}

static void close_design(design *d) {
    weir_remote_close(d->remote);
    weir_live_close(d->live);
    *d = (design){0};
}

/* How many of them are SEEN. */
static weir_status offer(lab_unit *unit, const design *d, const weir_batch *batch, size_t *seen) {
    uint64_t verdicts[BATCH / 64];
    if (d->live) {
        *seen = weir_filter_offer_batch(weir_live_filter(d->live), batch, verdicts);
        return weir_live_good(d->live, &unit->error) ? WEIR_OK : WEIR_ERR_IO;
    }
    weir_status status = weir_remote_submit(d->remote, batch, &unit->error);
    return status ? status : weir_remote_collect(d->remote, verdicts, seen, &unit->error);
}

/* Records of the log, or keys that nobody has offered; their share that is SEEN, in percent. */
static weir_status pass(lab_unit *unit, const design *d, const lab_log *log, bool fresh,
                        double *share) {
    uint64_t hashes[BATCH], producers[BATCH];
    double all = 0;
    weir_status status = WEIR_OK;
    for (size_t at = 0; at < log->count && !status; at += BATCH) {
        size_t n = log->count - at < BATCH ? log->count - at : BATCH, seen = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t id = fresh ? UINT64_C(1) << 40 | (at + i) : log->ids[at + i];
            hashes[i] = lab_hash_id(id, unit->seed);
            producers[i] = lab_hash_id(log->tags[at + i], 1);
        }
        status = offer(unit, d, &(weir_batch){.count = n, .hashes = hashes, .producers = producers},
                       &seen);
        all += (double)seen;
        if (!lab_tick(unit, n)) break;
    }
    *share = lab_percent(all, (double)log->count);
    return status;
}

static void traffic_of(const design *d, double *messages, double *bytes) {
    weir_live_stats live;
    weir_remote_stats remote;
    if (d->live) {
        weir_live_get_stats(d->live, &live);
        *messages = (double)live.commands;
        *bytes = (double)(live.bytes_sent + live.bytes_received);
        return;
    }
    weir_remote_get_stats(d->remote, &remote);
    *messages = (double)remote.messages;
    *bytes = (double)(remote.bytes_sent + remote.bytes_received);
}

/* Messages and bytes of a record while all servers run. */
static weir_status measure(lab_unit *unit, const design *d, const lab_log *log, double *row) {
    double before[2], after[2], records = (double)log->count;
    struct timespec from, to;
    traffic_of(d, &before[0], &before[1]);
    clock_gettime(CLOCK_MONOTONIC, &from);
    weir_status status = pass(unit, d, log, false, &row[3]);
    clock_gettime(CLOCK_MONOTONIC, &to);
    traffic_of(d, &after[0], &after[1]);
    row[0] = (after[0] - before[0]) / records;
    row[1] = (after[1] - before[1]) / records;
    row[2] =
        (1e6 * (double)(to.tv_sec - from.tv_sec) + 1e-3 * (double)(to.tv_nsec - from.tv_nsec)) /
        records;
    return status;
}

/* The server that has the first slice, or the root. */
static weir_status find_first(lab_unit *unit, const lab_servers *servers, const design *d,
                              size_t *at) {
    weir_remote_slice slice;
    size_t level;
    weir_status status = d->live ? weir_live_get_slice(d->live, 0, &slice, &level, &unit->error)
                                 : weir_remote_get_slice(d->remote, 0, &slice, &unit->error);
    *at = lab_servers_find(servers, slice.server);
    if (!status && *at == SERVERS)
        status = lab_fail(unit, WEIR_ERR_RANGE, "nobody is '%s'", slice.server);
    return status;
}

static weir_status run_design(lab_unit *unit) {
    lab_log log;
    lab_servers *servers = NULL;
    design calls_new = {0}, calls_seen = {0};
    double row[6] = {0}, ignored, seen = 0;
    size_t first = 0;
    weir_status status = lab_log_open_first(&log, unit, (size_t)unit->size);
    if (status) return status;
    status = lab_servers_start(&servers, unit, SERVERS, false);
    if (!status) status = open_design(unit, servers, "new", false, &calls_new);
    if (!status) status = open_design(unit, servers, "seen", true, &calls_seen);
    if (!status) status = measure(unit, &calls_new, &log, row);
    if (!status) status = pass(unit, &calls_seen, &log, false, &ignored);
    if (!status) status = find_first(unit, servers, &calls_new, &first);
    if (!status) lab_servers_kill(servers, first);
    if (!status) status = pass(unit, &calls_new, &log, false, &seen);
    if (!status) status = pass(unit, &calls_seen, &log, true, &row[5]);
    row[4] = 100 - seen;
    if (!status) status = lab_emit(unit, row);
    close_design(&calls_new);
    close_design(&calls_seen);
    lab_servers_stop(servers);
    lab_log_close(&log);
    return status;
}

static double of(const lab_result *r, const char *label, const char *column) {
    return lab_mean(r, lab_find_case(r, NULL, label), 0, column);
}

static bool horizontal_is_cheapest(const lab_result *r, lab_words *found) {
    double h = of(r, "horizontal", "bytes"), v = of(r, "vertical, plain strings", "bytes"),
           s = of(r, "tree, sparse", "bytes");
    return lab_say(found, h < v && h < s,
                   "Bytes a record: horizontal %.1f, vertical %.1f, a sparse tree %.1f.", h, v, s);
}

static bool a_leaf_saves(const lab_result *r, lab_words *found) {
    double h = of(r, "horizontal", "bytes"), l = of(r, "horizontal behind a leaf", "bytes");
    double repeats = of(r, "horizontal", "seen");
    return lab_say(found, l < h, "%.1f bytes a record with a leaf, %.1f without; %.0f%% repeat.", l,
                   h, repeats);
}

static bool what_lost_servers_cost(const lab_result *r, lab_words *found) {
    double hp = of(r, "horizontal", "passed"), vp = of(r, "vertical, plain strings", "passed");
    double hl = of(r, "horizontal", "lost"), vl = of(r, "vertical, plain strings", "lost");
    return lab_say(found, hp < vp && vl < hl,
                   "With one of four lost %.1f%% of the records pass again (horizontal) and %.1f%% "
                   "(vertical) under on-lost=new; under on-lost=seen %.1f%% and %.1f%% of new ones "
                   "are lost.",
                   hp, vp, hl, vl);
}

static const lab_case design_cases[] = {
    {.label = "horizontal", .stream = "weblog", .filter = "recent:fpr=0.01%"},
    {.label = "horizontal behind a leaf",
     .stream = "weblog",
     .filter = "recent:fpr=0.01%",
     .p = {0, 1 << 20}},
    {.label = "vertical, plain strings",
     .stream = "weblog",
     .filter = "vertical:slices=4,fpr=0.01%,of=(bloom:layout=classic)"},
    {.label = "tree, dense",
     .stream = "weblog",
     .filter = "tree:fanout=4,fpr=0.01%,of=(recent)",
     .p = {1}},
    {.label = "tree, dense, root in 4 slices",
     .stream = "weblog",
     .filter = "tree:fanout=4,fpr=0.01%,of=(recent)",
     .p = {1, 0, 1}},
    {.label = "tree, sparse",
     .stream = "weblog",
     .filter = "tree:fanout=4,mode=sparse,fpr=0.01%,of=(recent)",
     .p = {1}},
    {.label = "vertical, timers of an hour",
     .stream = "weblog",
     .filter = "vertical:slices=4,fpr=0.01%,of=(window:length=1h,layout=classic)",
     .p = {1}},
    {0}};

static const lab_claim design_claims[] = {
    {true, "With horizontal slices a record costs the least on the wire.", horizontal_is_cheapest,
     "fewer bytes than vertical slices and than a sparse tree", LAB_AFTER},
    {true, "A leaf saves messages where producers repeat themselves.", a_leaf_saves,
     "fewer bytes with a leaf than without", LAB_AFTER},
    {true,
     "A lost server costs vertical slices fewer new records, and horizontal ones fewer repeats.",
     what_lost_servers_cost,
     "fewer of the first under on-lost=seen, fewer of the second under on-lost=new", LAB_AFTER},
    {0}};

const lab_experiment lab_exp_live_designs[] = {
    {LAB_ENTRY("live-designs", "weir"), .ns = 30000,
     .title = "Ways to put a filter on servers: what they cost, and lose",
     .claim =
         "Horizontal slices for nearly everyone, vertical ones where no module can be loaded, a "
         "leaf where producers repeat themselves.",
     .method =
         "Servers are started for it on 127.0.0.1, four primaries of one cluster; the beginning "
         "of a web log, its clients the producers, in batches of 1,024. Slices are asked in "
         "batches, and so is a dense tree; a sparse tree and timers a message at a time. Then "
         "one server is killed, and the same records come again, or as many new ones.",
     .columns = design_columns, .cases = design_cases, .claims = design_claims,
     .figures =
         {{.title = "Bytes a record", .y_label = "bytes", .y = {"bytes"}, .style = LAB_BARS}},
     LAB_SIZES(5000, 100000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_design},
    {0}};
