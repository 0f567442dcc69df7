/* exp_live.c - the paper on distributed filtering, on servers: slices.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011. The figures of exp_slices.c again, on real
 * servers that really fail: beside each number stands that of one process, and what is claimed is
 * that servers change neither the verdicts nor the load.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lab_live.h"
#include "lab_rng.h"
#include "slice/loss.h"
#include "weir_sites.h"

enum { SERVERS = 10 };

static bool never_apart(const lab_result *r, lab_words *found) {
    double apart = 0, verdicts = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            apart += lab_mean(r, c, row, "apart");
            verdicts += lab_mean(r, c, row, "verdicts");
        }
    return lab_say(found, apart == 0 && verdicts > 0, "%.0f of %.0f verdicts differ.", apart,
                   verdicts);
}

#define SAME_VERDICTS                                                                              \
    {                                                                                              \
        true, "Where the slices stand changes nothing of what is computed.", never_apart,          \
            "no verdict differs from those of one process", LAB_WORDS                              \
    }

/* --- figure 1: killed servers --------------------------------------------------------------- */

static const lab_column lost_columns[] = {
    {"lost", "servers killed", "%", true, 0, 0},
    {"horizontal", "horizontal, eq. 5", "%", false, 0, 0},
    {"vertical", "vertical, eq. 6", "%", false, 0, 0},
    {"horizontal_live", "horizontal, on servers", "%", false, 0, 0},
    {"vertical_live", "vertical, on servers", "%", false, 0, 0},
    {"horizontal_one", "horizontal, one process", "%", false, 0, 0},
    {"vertical_one", "vertical, one process", "%", false, 0, 0},
    {"apart", "verdicts that differ", NULL, false, 0, 0},
    {"verdicts", "verdicts", NULL, false, 0, 0},
    {0}};

/* Shares of keys never offered that are called SEEN. */
static bool probe(lab_unit *unit, const lab_twins *t, size_t probes, double *there, double *here,
                  double *apart) {
    *there = *here = 0;
    for (size_t at = 0; at < probes; at += LAB_LOG_BATCH) {
        uint64_t hashes[LAB_LOG_BATCH], a, b;
        size_t n = probes - at < LAB_LOG_BATCH ? probes - at : LAB_LOG_BATCH;
        for (size_t i = 0; i < n; i++) hashes[i] = lab_hash_id(1000000 + at + i, unit->seed);
        weir_batch batch = {.count = n, .hashes = hashes};
        *there += (double)weir_filter_test_batch(t->there, &batch, &a);
        *here += (double)weir_filter_test_batch(t->here, &batch, &b);
        *apart += __builtin_popcountll(a ^ b);
        if (!lab_tick(unit, n)) return false;
    }
    *there = lab_percent(*there, (double)probes);
    *here = lab_percent(*here, (double)probes);
    return true;
}

static bool fill(lab_unit *unit, const lab_twins *t, size_t keys) {
    for (size_t i = 0; i < keys; i++) {
        uint64_t verdict, hash = lab_hash_id(i, unit->seed);
        weir_batch one = {.count = 1, .hashes = &hash};
        weir_filter_offer_batch(t->there, &one, &verdict);
        weir_filter_offer_batch(t->here, &one, &verdict);
        if (!lab_tick(unit, 1)) return false;
    }
    return weir_live_good(t->live, &unit->error);
}

/* A filter of `parts` with room for the keys at 2%. */
static void spec_of_rate(char spec[200], const char *kind, double parts, double keys,
                         const char *more) {
    double bits = lab_bits_for(keys, 0.02), each = *kind == 'h' ? parts : 1;
    snprintf(spec, 200,
             "%s:slices=%.0f,memory=%.0f%s,of=(bloom:layout=classic,k=4,bits=%.0f,capacity=%.0f)",
             kind, parts, each * fmax(2048, bits / each / 8 + 1024) + parts * 32 + 4096, more,
             fmax(64, 8 * ceil(bits / each / 8)), fmax(1, keys / each));
}

static weir_status run_lost(lab_unit *unit) {
    enum { KILLED = 4 };
    lab_servers *servers;
    lab_twins h = {0}, v = {0};
    size_t keys = (size_t)unit->size;
    char spec[200];
    weir_status status = lab_servers_start(&servers, unit, SERVERS, false);
    if (status) return status;
    spec_of_rate(spec, "horizontal", SERVERS, unit->size, ",on-lost=seen");
    status = lab_twins_open(unit, &h, servers, "h", spec, false);
    spec_of_rate(spec, "vertical", SERVERS, unit->size, ",on-lost=seen");
    if (!status) status = lab_twins_open(unit, &v, servers, "v", spec, false);
    bool going = !status && fill(unit, &h, keys) && fill(unit, &v, keys);
    double base_h = 0, base_v = 0;
    for (size_t f = 0; going && !status && f <= KILLED; f++) {
        if (f) lab_servers_kill(servers, SERVERS - f);
        if (f) status = lab_twins_lose(unit, &h, servers, SERVERS - f, SERVERS - f + 1);
        if (f && !status) status = lab_twins_lose(unit, &v, servers, SERVERS - f, SERVERS - f + 1);
        double row[9] = {100.0 * (double)f / SERVERS, [8] = 2 * unit->size};
        going = !status && probe(unit, &h, keys, &row[3], &row[5], &row[7]) &&
                probe(unit, &v, keys, &row[4], &row[6], &row[7]);
        if (!f) base_h = row[3] / 100, base_v = row[4] / 100;
        row[1] = 100 * weir__loss_horizontal_fpr((double)f, SERVERS, base_h);
        row[2] = 100 * weir__loss_vertical_fpr((double)f, SERVERS, LAB_LOG_K,
                                               pow(base_v, 1.0 / LAB_LOG_K));
        if (going) status = lab_emit(unit, row);
    }
    lab_twins_close(&h);
    lab_twins_close(&v);
    lab_servers_stop(servers);
    return status;
}

/* Five standard deviations of the probes and a tenth of the rate: the rate with none lost is
 * measured with as many probes, and no two ranges hold the same. */
static bool equations_hold(const lab_result *r, lab_words *found) {
    double worst = 0, points = 0;
    static const char *const kinds[] = {"horizontal", "vertical"};
    for (int row = 0; row < (int)lab_rows(r, 0); row++)
        for (int i = 0; i < 2; i++) {
            char live[32];
            snprintf(live, sizeof live, "%s_live", kinds[i]);
            double expected = lab_mean(r, 0, row, kinds[i]), had = lab_mean(r, 0, row, live);
            double probes = lab_mean(r, 0, row, "verdicts") / 2;
            double allowed = 500 * sqrt(expected / 100 / probes) + 0.1 * expected;
            points = fmax(points, fabs(expected - had));
            worst = fmax(worst, fabs(expected - had) / allowed);
        }
    return lab_say(found, lab_rows(r, 0) > 2 && worst < 1,
                   "At most %.2f points apart, %.0f%% of what noise allows.", points, 100 * worst);
}

static bool vertical_stands_more(const lab_result *r, lab_words *found) {
    bool holds = lab_rows(r, 0) > 2;
    for (int row = 1; row < (int)lab_rows(r, 0); row++)
        holds &= lab_mean(r, 0, row, "vertical_live") < lab_mean(r, 0, row, "horizontal_live");
    return lab_say(found, holds,
                   "With 2 of 10 servers killed %.1f%% of new keys are lost by vertical slices, "
                   "%.1f%% by horizontal ones.",
                   lab_mean(r, 0, 2, "vertical_live"), lab_mean(r, 0, 2, "horizontal_live"));
}

static const lab_case lost_cases[] = {{.label = "10 servers, 4 hashes"}, {0}};

static const lab_claim lost_claims[] = {
    SAME_VERDICTS,
    {true, "Equations 5 and 6 give the false positives when servers are killed.", equations_hold,
     "within 5 deviations of the probes and a tenth, at each number of servers", LAB_AFTER},
    {true, "Vertical filters stand failures better than horizontal ones.", vertical_stands_more,
     "vertical below horizontal at each number of servers", LAB_WORDS},
    {0}};

/* --- figures 5b, 5c, 8: load by what the servers count ---------------------------------------- */

static const lab_column load_columns[] = {
    {"slices", "slices, one a server", NULL, true, 0, 0},
    {"fair_h", "fairness, horizontal, by INFO", NULL, false, 0, 0},
    {"fair_v", "fairness, vertical, by INFO", NULL, false, 0, 0},
    {"most_h", "greatest share, horizontal", "%", false, 0, 0},
    {"most_v", "greatest share, vertical", "%", false, 0, 0},
    {"fair_h_one", "fairness, horizontal, one process", NULL, false, 0, 0},
    {"fair_v_one", "fairness, vertical, one process", NULL, false, 0, 0},
    {"even", "1/S", "%", false, 0, 0},
    {"apart", "verdicts that differ", NULL, false, 0, 0},
    {"verdicts", "verdicts", NULL, false, 0, 0},
    {0}};

static weir_status load_of(lab_unit *unit, const lab_servers *servers, const lab_log *log,
                           const char *kind, double slices, double *fairness, double *greatest,
                           double *fairness_here, double *apart) {
    char spec[200], name[16];
    lab_twins t;
    lab_load load;
    weir_traffic traffic;
    lab_twin_errors errors = {0};
    spec_of_rate(spec, kind, slices, (double)log->truth->distinct,
                 *kind == 'v' ? ",probe=parallel" : "");
    snprintf(name, sizeof name, "%c%.0f", *kind, slices);
    weir_status status = lab_twins_open(unit, &t, servers, name, spec, false);
    if (status) return status;
    lab_load_begin(&t, &load);
    if (!lab_twins_offer(unit, &t, log, 0, log->count, &errors)) status = WEIR_ERR_IO;
    lab_load_end(&t, &load, fairness, greatest);
    if (!status) status = weir_filter_get_traffic(t.here, &traffic, &unit->error);
    if (!status) *fairness_here = traffic.fairness;
    *apart += errors.apart + errors.there.false_new; /* these filters forget nothing */
    lab_twins_close(&t);
    return status;
}

static weir_status run_load(lab_unit *unit) {
    static const double counts[] = {2, 5, SERVERS};
    lab_log log;
    lab_servers *servers = NULL;
    weir_status status = lab_log_open_first(&log, unit, (size_t)unit->size);
    if (!status) status = lab_servers_start(&servers, unit, SERVERS, false);
    for (size_t i = 0; !status && i < sizeof counts / sizeof *counts; i++) {
        double row[10] = {counts[i], [7] = 100 / counts[i], [9] = 2 * (double)log.count};
        status = load_of(unit, servers, &log, "horizontal", counts[i], &row[1], &row[3], &row[5],
                         &row[8]);
        if (!status)
            status = load_of(unit, servers, &log, "vertical", counts[i], &row[2], &row[4], &row[6],
                             &row[8]);
        if (!status) status = lab_emit(unit, row);
    }
    lab_servers_stop(servers);
    lab_log_close(&log);
    return status;
}

/* A horizontal slice gets a command a key. A vertical one is told to set besides being tested,
 * which the process does not count as asking; the places of new keys are spread evenly. */
static bool servers_count_the_same(const lab_result *r, lab_words *found) {
    double worst = 0, more = 0;
    size_t cells = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, cells++) {
            worst = fmax(worst,
                         fabs(lab_mean(r, c, row, "fair_h") - lab_mean(r, c, row, "fair_h_one")));
            more = fmax(more, lab_mean(r, c, row, "fair_v_one") - lab_mean(r, c, row, "fair_v"));
        }
    return lab_say(found, cells && worst < 0.01 && more < 0.01,
                   "Horizontal: at most %.4f apart. Vertical: less even by at most %.4f.", worst,
                   more);
}

static bool vertical_is_fairer(const lab_result *r, lab_words *found) {
    unsigned all = 0, fairer = 0, lower = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_case_at(r, c)->p[0] || !lab_rows(r, c)) continue; /* not skewed */
        all++;
        fairer += lab_mean(r, c, -1, "fair_v") > lab_mean(r, c, -1, "fair_h");
        lower += lab_mean(r, c, -1, "most_v") < lab_mean(r, c, -1, "most_h");
    }
    return lab_say(found, all && fairer == all && lower == all,
                   "On 10 servers vertical is fairer in %u and its busiest server less busy in %u "
                   "of %u skewed streams.",
                   fairer, lower, all);
}

static const lab_case load_cases[] = {
    {.panel = "web log", .label = "web log", .stream = "weblog", .p = {1}},
    {.panel = "flows", .label = "flows", .stream = "addresses", .p = {1}},
    {.panel = "synthetic", .label = "uniform", .stream = "uniform:n=100K,universe=5700"},
    {.panel = "synthetic", .label = "Zipf 1", .stream = "zipf:n=100K,s=1,domain=5700", .p = {1}},
    {0}};

static const lab_claim load_claims[] = {
    SAME_VERDICTS,
    {true, "The load of the servers is the one that the filter counts, or more even.",
     servers_count_the_same,
     "Jain's index by INFO within 0.01 of the process's (horizontal), or above it (vertical, where "
     "servers are told to set, too)",
     LAB_AFTER},
    {true, "On skewed streams vertical filters spread the load more evenly than horizontal ones.",
     vertical_is_fairer, "fairer, and less at the busiest server, on 10 servers", LAB_AFTER},
    {0}};

/* --- figure 5d: the rule of x live bits --------------------------------------------------------
 */

enum { LIVE_K = 8, LIVE_MOST = 7, LIVE_KILLED = 2 };

static const lab_column live_columns[] = {{"x", "x", NULL, true, 0, 0},
                                          {"fp", "false positives, on servers", "%", false, 0, 0},
                                          {"fn", "false negatives, on servers", "%", false, 0, 0},
                                          {"sum", "both, on servers", "%", false, 0, 0},
                                          {"sum_one", "both, one process", "%", false, 0, 0},
                                          {"apart", "verdicts that differ", NULL, false, 0, 0},
                                          {"verdicts", "verdicts", NULL, false, 0, 0},
                                          {0}};

static weir_status open_ruled(lab_unit *unit, lab_twins *t, const lab_servers *servers,
                              const lab_log *log, unsigned x) {
    char spec[200], name[16];
    double keys = (double)log->truth->distinct, bits = 8 * ceil(unit->c->p[0] * keys / 8);
    snprintf(spec, sizeof spec,
             "vertical:slices=%d,live=%u,rule=%s,memory=%.0f,of=(bloom:layout=classic,k=%d,"
             "capacity=%.0f,bits=%.0f)",
             SERVERS, x, unit->c->filter, bits / 8 + 8192, LIVE_K, keys, bits);
    snprintf(name, sizeof name, "x%u", x);
    return lab_twins_open(unit, t, servers, name, spec, false);
}

/* Half of the log is offered under each x, then servers are killed, and the rest is judged. */
static weir_status run_live(lab_unit *unit) {
    lab_log log;
    lab_servers *servers = NULL;
    lab_twins t[LIVE_MOST] = {0};
    weir_status status = lab_log_open_first(&log, unit, (size_t)unit->size);
    if (status) return status;
    status = lab_servers_start(&servers, unit, SERVERS, false);
    bool going = !status;
    for (unsigned i = 0; !status && going && i < LIVE_MOST; i++) {
        lab_twin_errors before = {0};
        status = open_ruled(unit, &t[i], servers, &log, i + 1);
        going = !status && lab_twins_offer(unit, &t[i], &log, 0, log.count / 2, &before);
        if (going && before.apart > 0)
            status = lab_fail(unit, WEIR_ERR_MISMATCH, "verdicts differ before servers are killed");
    }
    for (size_t i = 0; going && !status && i < LIVE_KILLED; i++)
        lab_servers_kill(servers, SERVERS - 1 - i);
    for (unsigned i = 0; going && !status && i < LIVE_MOST; i++) {
        lab_twin_errors e = {0};
        size_t judged = log.count - log.count / 2;
        status = lab_twins_lose(unit, &t[i], servers, SERVERS - LIVE_KILLED, SERVERS);
        going = !status && lab_twins_offer(unit, &t[i], &log, log.count / 2, log.count, &e);
        double row[] = {i + 1,
                        lab_percent(e.there.false_seen, e.there.firsts),
                        lab_percent(e.there.false_new, e.there.repeats),
                        0,
                        lab_percent(e.here.false_seen, e.here.firsts) +
                            lab_percent(e.here.false_new, e.here.repeats),
                        e.apart,
                        (double)judged};
        row[3] = row[1] + row[2];
        if (going) status = lab_emit(unit, row);
    }
    for (unsigned i = 0; i < LIVE_MOST; i++) lab_twins_close(&t[i]);
    lab_servers_stop(servers);
    lab_log_close(&log);
    return status;
}

static bool trends(const lab_result *r, lab_words *found) {
    bool holds = true;
    double fp[2] = {0}, fn[2] = {0};
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        fp[0] = lab_mean(r, c, 0, "fp"), fp[1] = lab_mean(r, c, -1, "fp");
        fn[0] = lab_mean(r, c, 0, "fn"), fn[1] = lab_mean(r, c, -1, "fn");
        holds &= fp[1] < fp[0] && fn[1] > fn[0];
    }
    return lab_say(found, holds,
                   "From x = 1 to 7, in the last case, FP goes from %.2f%% to %.2f%%, FN from "
                   "%.2f%% to %.2f%%.",
                   fp[0], fp[1], fn[0], fn[1]);
}

static const lab_case live_cases[] = {
    {.panel = "all", .label = "5.5 bits a key", .stream = "weblog", .filter = "all", .p = {5.5}},
    {.panel = "letter",
     .label = "32 bits a key",
     .stream = "weblog",
     .filter = "letter",
     .p = {32}},
    {0}};

static const lab_claim live_claims[] = {
    SAME_VERDICTS,
    {true, "The higher x, the fewer false positives and the more false negatives.", trends,
     "fewer of the first and more of the second at x = 7 than at 1", LAB_AFTER},
    {0}};

/* --- figure 7c: pipelining, in messages and in time ----------------------------------------------
 */

static const lab_column pipe_columns[] = {
    {"distinct", "distinct", "%", false, 0, 0},
    {"slices", "slices, one a server", NULL, true, 0, 0},
    {"parallel", "parallel, messages a lookup", NULL, false, 0, 0},
    {"pipeline", "pipelined", NULL, false, 0, 0},
    {"parallel_one", "parallel, slices a lookup, one process", NULL, false, 0, 0},
    {"pipeline_one", "pipelined, one process", NULL, false, 0, 0},
    {"parallel_us", "parallel, a lookup", "us", false, 0, 0},
    {"pipeline_us", "pipelined, a lookup", "us", false, 0, 0},
    {0}};

static uint64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The cost of a lookup alone: each key is tested before it is offered. */
static weir_status lookups(lab_unit *unit, const lab_servers *servers, const lab_log *log,
                           const char *probing, double slices, double *there, double *here,
                           double *us) {
    char more[32], spec[200], name[32];
    lab_twins t;
    lab_twin_errors errors = {0};
    double messages = 0, counted = 0;
    uint64_t waited = 0;
    snprintf(more, sizeof more, ",probe=%s", probing);
    snprintf(name, sizeof name, "%s%.0f", probing, slices);
    spec_of_rate(spec, "vertical", slices, fmax((double)log->truth->distinct, 6000), more);
    weir_status status = lab_twins_open(unit, &t, servers, name, spec, false);
    for (size_t at = 0; !status && at < log->count; at++) {
        uint64_t verdict, hash = lab_hash_id(log->ids[at], unit->seed);
        weir_batch one = {.count = 1, .hashes = &hash};
        weir_live_stats before, after;
        weir_traffic first, last;
        weir_live_get_stats(t.live, &before);
        weir_filter_get_traffic(t.here, &first, NULL);
        uint64_t began = nanoseconds();
        weir_filter_test_batch(t.there, &one, &verdict);
        waited += nanoseconds() - began;
        weir_filter_test_batch(t.here, &one, &verdict);
        weir_live_get_stats(t.live, &after);
        weir_filter_get_traffic(t.here, &last, NULL);
        messages += (double)(after.messages[0] - before.messages[0]);
        counted += (double)(last.messages - first.messages);
        if (!lab_twins_offer(unit, &t, log, at, at + 1, &errors)) status = WEIR_ERR_IO;
    }
    if (t.live) lab_twins_close(&t);
    *there = messages / (double)log->count;
    *here = counted / (double)log->count;
    *us = (double)waited / 1000 / (double)log->count;
    return status;
}

static weir_status run_pipe(lab_unit *unit) {
    static const double counts[] = {2, 5, SERVERS};
    lab_log log;
    lab_servers *servers = NULL;
    weir_status status = lab_log_open_first(&log, unit, (size_t)unit->size);
    if (!status) status = lab_servers_start(&servers, unit, SERVERS, false);
    for (size_t i = 0; !status && i < sizeof counts / sizeof *counts; i++) {
        double row[8] = {lab_percent((double)log.truth->distinct, (double)log.count), counts[i]};
        status = lookups(unit, servers, &log, "parallel", counts[i], &row[2], &row[4], &row[6]);
        if (!status)
            status = lookups(unit, servers, &log, "pipeline", counts[i], &row[3], &row[5], &row[7]);
        if (!status) status = lab_emit(unit, row);
    }
    lab_servers_stop(servers);
    lab_log_close(&log);
    return status;
}

static bool messages_are_those_counted(const lab_result *r, lab_words *found) {
    double worst = 0;
    size_t cells = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, cells++) {
            worst = fmax(
                worst, fabs(lab_mean(r, c, row, "parallel") - lab_mean(r, c, row, "parallel_one")));
            worst = fmax(
                worst, fabs(lab_mean(r, c, row, "pipeline") - lab_mean(r, c, row, "pipeline_one")));
        }
    return lab_say(found, cells && worst == 0,
                   "Messages sent and slices counted differ by at most %g a lookup.", worst);
}

/* Saved on the most servers in each case that was run, in the order of the table. */
static bool pipelining_saves(const lab_result *r, lab_words *found) {
    bool holds = true;
    double saved[3] = {0}, times[3] = {0};
    size_t cases = 0;
    for (size_t c = 0; c < lab_cases(r) && cases < 3; c++) {
        if (!lab_rows(r, c)) continue;
        for (int row = 0; row < (int)lab_rows(r, c); row++)
            holds &= lab_mean(r, c, row, "pipeline") < lab_mean(r, c, row, "parallel");
        saved[cases] =
            100 - lab_percent(lab_mean(r, c, -1, "pipeline"), lab_mean(r, c, -1, "parallel"));
        times[cases++] = lab_mean(r, c, -1, "pipeline_us") / lab_mean(r, c, -1, "parallel_us");
    }
    return lab_say(found, cases == 3 && holds && saved[0] > saved[1] && saved[1] > saved[2],
                   "On 10 servers it saves %.0f%%, %.0f%% and %.0f%% of the messages with 80, 50 "
                   "and 20%% distinct; on this machine a lookup takes %.2f, %.2f and %.2f times as "
                   "long.",
                   saved[0], saved[1], saved[2], times[0], times[1], times[2]);
}

#define PIPE_CASE(share)                                                                           \
    {.label = share " distinct",                                                                   \
     .stream = "uniform:n=1K,distinct=" share,                                                     \
     .when = LAB_QUICK_ONLY},                                                                      \
    {                                                                                              \
        .label = share " distinct, all", .stream = "uniform:n=20K,distinct=" share,                \
        .when = LAB_FULL_ONLY                                                                      \
    }

static const lab_case pipe_cases[] = {PIPE_CASE("80%"), PIPE_CASE("50%"), PIPE_CASE("20%"), {0}};

static const lab_claim pipe_claims[] = {
    {true, "Messages on the wire are the slices that the filter asks.", messages_are_those_counted,
     "equal, in every cell", LAB_WORDS},
    {true, "Pipelining reduces the slices accessed, the more so the fewer duplicates there are.",
     pipelining_saves, "fewer in every cell, and the saving falls from 80 to 20% distinct",
     LAB_WORDS},
    {0}};

/* --- the entries --- */

#define HERE_AND_THERE                                                                             \
    "On servers and in one process the verdicts are the same, so what is shown is the paper's "    \
    "figure with fewer slices than it has: a server each."

const lab_experiment lab_exp_live[] = {
    {LAB_ENTRY("live-fig-1", LOG_PAPER "figure 1"), .ns = 150000,
     .title = "False positives when servers are killed",
     .claim = "Vertical slices stand lost sites better than horizontal ones; equations 5 and 6.",
     .method = LIVE_MANNER
     "Ten servers, 4 hashes, a rate of 2%; servers are killed (SIGKILL) one after the other and as "
     "many keys tested as were offered. on-lost=seen, as in the equations. More than 4 of 10 "
     "cannot "
     "be lost: a cluster without its majority stops.",
     .reason = HERE_AND_THERE, .columns = lost_columns, .cases = lost_cases, .claims = lost_claims,
     .figures = {LINES("False positives with servers killed", "servers killed (%)",
                       "false positives (%)", "lost", 2, "horizontal", "vertical",
                       "horizontal_live", "vertical_live")},
     LAB_SIZES(3000, 20000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_lost},
    {LAB_ENTRY("live-fig-5-8", LOG_PAPER "figures 5b, 5c and 8"), .ns = 500000,
     .title = "How evenly servers are loaded",
     .claim = "Vertical slices spread the load of skewed streams more evenly than horizontal ones.",
     .method = OTHER_LOG LIVE_MANNER
     "The beginning of each stream; load is the number of commands that each server says it has "
     "processed (INFO).",
     .reason = HERE_AND_THERE, .columns = load_columns, .cases = load_cases, .claims = load_claims,
     .figures = {LINES("Fairness", "slices", "Jain's index", "slices", 1, "fair_h", "fair_v"),
                 LINES("Greatest share", "slices", "share of the load (%)", "slices", 2, "most_h",
                       "most_v", "even")},
     LAB_SIZES(4000, 100000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_load},
    {LAB_ENTRY("live-fig-5d", LOG_PAPER "figure 5d"), .ns = 1500000,
     .title = "The rule of x live bits when servers are killed",
     .claim = "The higher x, the fewer false positives and the more false negatives.",
     .method = OTHER_LOG LIVE_MANNER
     "Ten servers, 8 hashes, pipelined; after half of the records two servers are killed. Both "
     "readings of the rule, as in slices-fig-5d.",
     .reason = HERE_AND_THERE, .columns = live_columns, .cases = live_cases, .claims = live_claims,
     .figures = {LINES("Both errors together by x", "x", "false positives and negatives (%)", "x",
                       0, "sum", "sum_one")},
     LAB_SIZES(2000, 50000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_live},
    {LAB_ENTRY("live-fig-7c", LOG_PAPER "figure 7c"), .ns = 900000, .alone = true,
     .title = "Messages of a lookup, with and without pipelining, and the time they take",
     .claim = "Pipelining asks fewer slices, the more so the fewer duplicates there are.",
     .method = LIVE_MANNER "Uniform streams with 80, 50 and 20% distinct; 4 hashes; each key is "
                           "tested, then offered, and "
                           "the test alone is counted.",
     .reason = HERE_AND_THERE, .columns = pipe_columns, .cases = pipe_cases, .claims = pipe_claims,
     .figures = {LINES("Messages of a lookup", "slices", "messages", "slices", 1, "parallel",
                       "pipeline"),
                 LINES("Time of a lookup", "slices", "microseconds", "slices", 1, "parallel_us",
                       "pipeline_us")},
     LAB_SIZES(1000, 20000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_pipe},
    {0}};
