/* exp_ours.c - what weir itself promises: its default filter, its bound, its audit.
 *
 * No paper stands behind these; the claims are those of the README and of
 * DESIGN's list of what a user can rely on. The oracle and the limit are exact
 * LRUs with the bits a key that a practical and a perfect structure need
 * (lab_truth.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab_experiment.h"
#include "lab_judge.h"
#include "lab_prepared.h"
#include "lab_race.h"
#include "lab_rng.h"
#include "lab_stats.h"

#define EXACT_BITS 64.0 /* a key, in what we call the memory of the exact answer */

/* --- recent against every filter and the oracle ------------------------------------------- */

#define RATE 0.01
#define MOST_RECORDS 4e6 /* of a real stream */
#define REAL_RECORDS 1e6 /* on average */

static const double shares[] = {1.0 / 4, 1.0 / 8, 1.0 / 16, 1.0 / 32};

/* Every filter of the library, at the same memory and bound; those that spread over sites
 * or levels with two parts. */
#define AGAINST(column, spec)                                                                      \
    { column, column ", false negatives", "%", false, 0, 0 }
#define FILTERS(row)                                                                               \
    row("recent", "recent:hash=xxh3"), row("stable", "stable:layout=block"),                       \
        row("reservoir", "reservoir:aim=fpr"), row("apbf", "apbf:"), row("qht", "qht:"),           \
        row("window", "window:"), row("importance", "importance:"),                                \
        row("lru", "buffer:policy=lru"), row("clock", "buffer:policy=clock"),                      \
        row("bloom", "bloom:"), row("growing", "growing:"), row("counting", "counting:"),          \
        row("spectral", "spectral:"), row("horizontal", "horizontal:"),                            \
        row("vertical", "vertical:"), row("tree", "tree:")
#define SPEC_OF(column, spec) spec

static const char *const filters[] = {FILTERS(SPEC_OF)};
enum { FILTER_COUNT = sizeof filters / sizeof *filters, AFTER_FILTERS = 2 + FILTER_COUNT };

static const lab_column against_columns[] = {
    {"share", "memory, of 64 bits a key", NULL, true, 0, 0},
    {"repeats", "repeats", NULL, true, 0, 0},
    FILTERS(AGAINST),
    {"oracle", "oracle", "%", false, 0, 0},
    {"limit", "limit", "%", false, 0, 0},
    {"fpr_recent", "recent, false positives", "%", false, 0, 0},
    {0}};

/* The false negatives of a filter in percent; no number if it cannot be made so small, or
 * has more false positives than chance allows under the bound. */
static double answers_with(lab_unit *unit, const lab_prepared *p, const char *filter, double bytes,
                           double *fpr) {
    char spec[160];
    lab_trial trial;
    size_t length = strlen(filter);
    snprintf(spec, sizeof spec, "%s%smemory=%.0f,fpr=%g", filter,
             filter[length - 1] == ':' ? "" : ",", bytes, RATE);
    if (lab_try(unit, p, spec, RATE, &trial) || trial.surprise < LAB_FALSE_ALARM) return NAN;
    *fpr = 100 * trial.fpr;
    return 100 * trial.fnr;
}

static weir_status run_share(lab_unit *unit, const lab_prepared *p, double share) {
    double bytes = fmax(1024, floor((double)p->truth->distinct * EXACT_BITS / 8 * share));
    double row[AFTER_FILTERS + 3] = {share, (double)p->truth->repeats}, fpr = 0;
    for (size_t i = FILTER_COUNT; i-- > 0;) /* recent last: its false positives are kept */
        row[2 + i] = answers_with(unit, p, filters[i], bytes, &fpr);
    row[AFTER_FILTERS] = 100 * lab_lru_fnr(p->truth, lab_oracle_keys(bytes * 8, RATE), RATE);
    row[AFTER_FILTERS + 1] = 100 * lab_lru_fnr(p->truth, lab_limit_keys(bytes * 8, RATE), RATE);
    row[AFTER_FILTERS + 2] = fpr;
    return lab_emit(unit, row);
}

/* A drawn stream's spec has % for its length and ends in what is a part of it. */
static void stream_spec(const lab_unit *unit, char *spec, size_t size) {
    const char *percent = strchr(unit->c->stream, '%');
    if (!percent) snprintf(spec, size, "%s", unit->c->stream);
    else
        snprintf(spec, size, "%.*s%.0f%s%.0f", (int)(percent - unit->c->stream), unit->c->stream,
                 unit->size, percent + 1, floor(unit->size / unit->c->p[0]));
}

static weir_status run_against(lab_unit *unit) {
    char spec[160];
    lab_prepared p;
    stream_spec(unit, spec, sizeof spec);
    weir_status status = lab_prepare(&p, unit, spec, 0);
    for (size_t i = 0; !status && i < sizeof shares / sizeof *shares; i++)
        status = run_share(unit, &p, shares[i]);
    lab_discard(&p);
    return status;
}

static double against_cost(const lab_case *c, double size, double scale) {
    (void)scale;
    return (c->p[0] > 0 ? size : REAL_RECORDS) * FILTER_COUNT * sizeof shares / sizeof *shares;
}

static double against_memory(const lab_case *c, double size, double scale) {
    (void)c;
    (void)scale;
    return lab_prepared_bytes(fmax(size, MOST_RECORDS));
}

/* Three standard deviations of the difference of two rates over so many repeats, in points. */
static double noise_of(const lab_result *r, size_t c, int row, double a, double b) {
    double seeds = (double)lab_seeds(r, c), repeats = lab_mean(r, c, row, "repeats");
    return LAB_NOISE * sqrt((a * (100 - a) + b * (100 - b)) / (repeats * seeds));
}

/* Over the cells in which a filter answers at the bound: how many there are, in how many recent has
 * no more false negatives, but for noise, and in how many it has fewer, beyond noise. */
static unsigned cells_kept(const lab_result *r, const char *filter, unsigned *all, unsigned *fewer,
                           double *worst) {
    unsigned kept = 0;
    *all = *fewer = 0;
    *worst = -INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double own = lab_mean(r, c, row, "recent"), other = lab_mean(r, c, row, filter);
            if (isnan(other)) continue;
            ++*all;
            kept += own <= other + noise_of(r, c, row, own, other);
            *fewer += own < other - noise_of(r, c, row, own, other);
            *worst = fmax(*worst, own - other);
        }
    return kept;
}

static bool never_above(const lab_result *r, const char *filter, lab_words *found) {
    unsigned all, fewer;
    double worst;
    unsigned kept = cells_kept(r, filter, &all, &fewer, &worst);
    return lab_say(found, fewer && kept == all,
                   "recent keeps to this in %u of %u cells; at most it has %.2f points %s than %s.",
                   kept, all, fabs(worst), worst > 0 ? "more" : "fewer", filter);
}

static bool below_stable(const lab_result *r, lab_words *found) {
    return never_above(r, "stable", found);
}

static bool below_reservoir(const lab_result *r, lab_words *found) {
    return never_above(r, "reservoir", found);
}

/* The others, each with the cells in which it answers. */
static bool below_all(const lab_result *r, lab_words *found) {
    char lost[320] = "", few[320] = "";
    unsigned beaten = 0, most = 0;
    for (size_t i = 1; i < FILTER_COUNT; i++) {
        const char *name = against_columns[2 + i].name;
        double worst;
        unsigned all, fewer, kept = cells_kept(r, name, &all, &fewer, &worst);
        size_t used = strlen(lost), said = strlen(few);
        if (all > most) most = all;
        beaten += kept == all;
        if (kept < all)
            snprintf(lost + used, sizeof lost - used,
                     " %s is ahead in %u of %u, by up to %.2f points.", name, all - kept, all,
                     worst);
        if (all < most)
            snprintf(few + said, sizeof few - said, "%s %s %u", said ? "," : "", name, all);
    }
    return lab_say(
        found, beaten == FILTER_COUNT - 1,
        "Of %d filters recent is ahead of or level with %u in all of their cells.%s Cells "
        "in which the bound is kept, of %u:%s.",
        FILTER_COUNT - 1, beaten, lost, most, few);
}

/* The rule of lab_judge.h, in percent. */
static bool near_oracle(const lab_result *r, lab_words *found) {
    unsigned all = 0, kept = 0;
    double worst = -INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, all++) {
            double own = lab_mean(r, c, row, "recent"), oracle = lab_mean(r, c, row, "oracle");
            lab_cell cell = {.oracle = oracle / 100};
            kept += own <= 100 * lab_judge_must(&cell);
            worst = fmax(worst, own - oracle);
        }
    return lab_say(found, kept == all,
                   "recent keeps to this in %u of %u cells; at most it has %.2f points more than "
                   "the oracle.",
                   kept, all, worst);
}

/* A filter that breaks its bound has no rate. */
static bool rate_is_kept(const lab_result *r, lab_words *found) {
    double most = 0;
    unsigned all = 0, known = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, all++) {
            double rate = lab_mean(r, c, row, "fpr_recent");
            known += !isnan(rate);
            most = fmax(most, rate);
        }
    return lab_say(found, known == all && most < 105 * RATE,
                   "The bound is kept in %u of %u cells; the highest rate there is %.3f%%, asked "
                   "for was %.0f%%.",
                   known, all, most, 100 * RATE);
}

static const lab_case against_cases[] = {
    {.label = "uniform", .stream = "uniform:n=%,universe=", .p = {3}},
    {.label = "zipf 0.6", .stream = "zipf:s=0.6,n=%,domain=", .p = {2}},
    {.label = "zipf 0.9", .stream = "zipf:s=0.9,n=%,domain=", .p = {2}},
    {.label = "zipf 1.2", .stream = "zipf:s=1.2,n=%,domain=", .p = {2}},
    {.label = "poisson", .stream = "poisson:lambda=0.5,n=%,u=", .p = {16}},
    {.label = "bmodel", .stream = "bmodel:b=0.7,l=6,v=0.1,n=%,u=", .p = {16}},
    {.label = "weblog", .stream = "weblog"},
    {.label = "trending", .stream = "trending"},
    {.label = "flows", .stream = "flows"},
    {.label = "recommendations", .stream = "recommendations"},
    {.label = "repo_urls", .stream = "repo_urls"},
    {.label = "block_trace", .stream = "block_trace"},
    {0}};

static const lab_claim against_claims[] = {
    {false,
     "recent has at most 1.3 times the oracle's false negatives and 3 points, or 12% where "
     "the oracle has less than 5%.",
     near_oracle,
     "1.30 times the oracle and 3 points, 12% where it has less than 5%: set beforehand",
     LAB_WORDS},
    {true, "recent has no more false negatives than stable at the same memory and bound.",
     below_stable, "never more, and fewer somewhere, beyond three deviations of the difference",
     LAB_LEVEL},
    {true, "recent has no more false negatives than reservoir.", below_reservoir,
     "never more, and fewer somewhere, beyond three deviations of the difference", LAB_LEVEL},
    {true, "recent keeps its bound on false positives.", rate_is_kept,
     "at most 1.05 times the bound in every cell", LAB_AFTER},
    {false, "No filter that keeps the bound has fewer false negatives than recent.", below_all,
     "never more than any filter that keeps the bound, beyond three deviations", LAB_LEVEL},
    {0}};

/* --- exact while it fits --------------------------------------------------------------------- */

static const lab_column exact_columns[] = {{"load", "keys x 64 bits / memory", NULL, true, 0, 0},
                                           {"errors", "wrong verdicts", NULL, false, 0, 0},
                                           {"fnr", "false negatives", "%", false, 0, 0},
                                           {0}};

static weir_status run_exact(lab_unit *unit) {
    static const double loads[] = {0.1, 0.3, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2, 3};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        lab_race race;
        char stream[96];
        double keys = floor(unit->size / 5);
        snprintf(stream, sizeof stream, "%sn=%.0f,%s=%.0f", unit->c->stream, unit->size,
                 unit->c->filter, keys);
        weir_status status = lab_race_start(&race, unit, stream);
        /* The load is that of the keys which do come by, at the end. */
        if (!status)
            status = lab_race_add(&race, "recent:fpr=0.0001%%,memory=%.0f",
                                  ceil(unit->c->p[0] * keys * 8 / loads[i]));
        while (!status && lab_race_run(&race, 1 << 20)) {
        }
        if (!status) status = race.status;
        double row[] = {loads[i], (double)(race.tallies[0].false_new + race.tallies[0].false_seen),
                        lab_race_fnr(&race, 0)};
        lab_race_end(&race);
        if (!status) status = lab_emit(unit, row);
        if (status) return status;
    }
    return WEIR_OK;
}

static double exact_cost(const lab_case *c, double size, double scale) {
    (void)c;
    (void)scale;
    return 10 * size;
}

static bool no_error_while_it_fits(const lab_result *r, lab_words *found) {
    double errors = 0, least = INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double load = lab_mean(r, c, row, "load"), here = lab_mean(r, c, row, "errors");
            if (load <= LAB_EXACT_SHARE) errors += here;
            if (here > 0) least = fmin(least, load);
        }
    return lab_say(found, errors == 0,
                   "No wrong verdict up to a load of %.1f; the first ones come at %.1f.",
                   LAB_EXACT_SHARE, least);
}

static const lab_case exact_cases[] = {
    {.label = "uniform", .stream = "uniform:", .filter = "universe", .p = {0.9933}},
    {.label = "zipf 0.6", .stream = "zipf:s=0.6,", .filter = "domain", .p = {1}},
    {0}};

static const lab_claim exact_claims[] = {
    {true, "While the distinct keys fit (64 bits each in 0.6 of the memory), no verdict is wrong.",
     no_error_while_it_fits, "no wrong verdict at all up to a load of 0.6", LAB_WORDS},
    {0}};

/* --- the bound over time ------------------------------------------------------------------------
 */

enum { BOUND_ROWS = 40 };

static const lab_column bound_columns[] = {
    {"records", "records", NULL, true, 0, 0},
    {"of_bound", "false positive rate / bound", NULL, false, 0, 0},
    {"surprise", "log10 of the chance of so many", NULL, false, 0, 0},
    {0}};

static weir_status run_bound(lab_unit *unit) {
    lab_race race;
    char stream[96];
    double bound = unit->c->p[0];
    snprintf(stream, sizeof stream, "zipf:s=0.6,n=%.0f,domain=%.0f", unit->size, unit->size * 2);
    weir_status status = lab_race_start(&race, unit, stream);
    if (!status)
        status =
            lab_race_add(&race, "%s,fpr=%g,memory=%.0f", unit->c->filter, bound, unit->size / 16);
    for (int row = 0; !status && row < BOUND_ROWS; row++) {
        lab_look look = lab_race_look(&race);
        if (!lab_race_run(&race, (uint64_t)(unit->size / BOUND_ROWS))) break;
        uint64_t firsts = race.firsts - look.firsts;
        uint64_t wrong = race.tallies[0].false_seen - look.tallies[0].false_seen;
        double values[] = {(double)race.records, lab_race_fpr_since(&race, 0, &look) / 100 / bound,
                           log10(fmax(1e-300, lab_binomial_tail(firsts, bound, wrong)))};
        status = lab_emit(unit, values);
    }
    if (!status) status = race.status;
    lab_race_end(&race);
    return status;
}

/* The false alarm: 240 stretches, each at 10^-6 at most. */
static bool never_over_the_bound(const lab_result *r, lab_words *found) {
    double least = 0, most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            least = fmin(least, lab_mean(r, c, row, "surprise"));
            most = fmax(most, lab_mean(r, c, row, "of_bound"));
        }
    return lab_say(found, least > -6,
                   "In no stretch is the rate above the bound by more than chance (10^%.1f at "
                   "least); at most it is %.2f of the bound.",
                   least, most);
}

/* A filter that calls every key new keeps any bound. */
static bool bound_is_used(const lab_result *r, lab_words *found) {
    double least = INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double most = 0;
        for (int row = 0; row < (int)lab_rows(r, c); row++)
            most = fmax(most, lab_mean(r, c, row, "of_bound"));
        least = fmin(least, most);
    }
    return lab_say(found, least > 0,
                   "In every case some stretch has false positives, %.3f of the bound at least.",
                   least);
}

static const lab_case bound_cases[] = {
    {.panel = "recent", .label = "10%", .filter = "recent:hash=xxh3", .p = {0.1}},
    {.panel = "recent", .label = "1%", .filter = "recent:hash=xxh3", .p = {0.01}},
    {.panel = "recent", .label = "0.1%", .filter = "recent:hash=xxh3", .p = {0.001}},
    {.panel = "stable", .label = "10%", .filter = "stable:layout=block", .p = {0.1}},
    {.panel = "stable", .label = "1%", .filter = "stable:layout=block", .p = {0.01}},
    {.panel = "stable", .label = "0.1%", .filter = "stable:layout=block", .p = {0.001}},
    {0}};

static const lab_claim bound_claims[] = {
    {true, "The false positive rate is never above the bound, at any time of the stream.",
     never_over_the_bound, "chance of such an excess above 1 in a million in every stretch",
     LAB_LEVEL},
    {true, "The filter is at work: it does call keys seen.", bound_is_used,
     "false positives in some stretch of every case", LAB_WORDS},
    {0}};

/* --- the audit's intervals
 * ------------------------------------------------------------------------ */

enum { AUDIT_RUNS = 50, AUDIT_RECORDS = 20000 };

static const lab_column audit_columns[] = {
    {"runs", "runs", NULL, true, 0, 0},
    {"fpr", "intervals that hold the false positive rate", "%", false, 0, 0},
    {"fnr", "intervals that hold the false negative rate", "%", false, 0, 0},
    {"width", "mean width of the latter", "points", false, 0, 0},
    {0}};

/* Shares of the firsts called SEEN and of the repeats called NEW. */
static void true_rates(const lab_truth *truth, const uint64_t *verdicts, double *fpr, double *fnr) {
    size_t false_seen = 0, false_new = 0;
    for (size_t i = 0; i < truth->count; i++) {
        bool seen = verdicts[i / 64] >> (i % 64) & 1, first = lab_truth_is_first(truth, i);
        false_seen += seen && first;
        false_new += !seen && !first;
    }
    *fpr = (double)false_seen / (double)truth->distinct;
    *fnr = (double)false_new / (double)truth->repeats;
}

/* One stream past a filter with an audit beside it. */
static weir_status audit_stream(lab_unit *unit, const lab_prepared *p, weir_audit_report *report,
                                double *fpr, double *fnr) {
    char spec[160];
    uint64_t verdicts[WEIR_VERDICT_WORDS(AUDIT_RECORDS)];
    uint64_t one_in = (uint64_t)unit->c->p[0];
    weir_filter *filter;
    weir_audit *audit = NULL;
    snprintf(spec, sizeof spec, "%s,seed=%llu", unit->c->filter, (unsigned long long)unit->seed);
    weir_status status = weir_filter_new(&filter, spec, &unit->error);
    if (!status) status = weir_audit_new(&audit, 1 << 20, one_in, 0, false, false, &unit->error);
    if (!status) {
        weir_batch batch = {.count = p->truth->count, .hashes = p->hashes};
        weir_filter_offer_batch(filter, &batch, verdicts);
        weir_audit_observe(audit, &batch, verdicts);
        weir_audit_get_report(audit, report);
        true_rates(p->truth, verdicts, fpr, fnr);
    }
    weir_audit_free(audit);
    weir_filter_free(filter);
    return status;
}

/* The same with a stream of its own for each of the runs of a unit. */
static weir_status audit_once(const lab_unit *unit, uint64_t seed, weir_audit_report *report,
                              double *fpr, double *fnr, weir_error *err) {
    lab_unit own = *unit;
    lab_prepared p;
    char stream[96];
    own.seed = seed;
    snprintf(stream, sizeof stream, "%s,n=%d", unit->c->stream, AUDIT_RECORDS);
    weir_status status = lab_prepare(&p, &own, stream, 0);
    if (!status) status = audit_stream(&own, &p, report, fpr, fnr);
    lab_discard(&p);
    *err = own.error;
    return status;
}

static weir_status run_audit(lab_unit *unit) {
    double held_fpr = 0, held_fnr = 0, width = 0;
    for (uint64_t i = 0; i < AUDIT_RUNS; i++) {
        weir_audit_report report;
        double fpr = 0, fnr = 0;
        weir_status status =
            audit_once(unit, unit->seed * AUDIT_RUNS + i, &report, &fpr, &fnr, &unit->error);
        if (status) return status;
        held_fpr += report.fpr_low <= fpr && fpr <= report.fpr_high;
        held_fnr += report.fnr_low <= fnr && fnr <= report.fnr_high;
        width += 100 * (report.fnr_high - report.fnr_low) / AUDIT_RUNS;
        if (!lab_tick(unit, AUDIT_RECORDS)) return WEIR_OK;
    }
    double row[] = {AUDIT_RUNS, 100 * held_fpr / AUDIT_RUNS, 100 * held_fnr / AUDIT_RUNS, width};
    return lab_emit(unit, row);
}

static double audit_cost(const lab_case *c, double size, double scale) {
    (void)c;
    (void)size;
    (void)scale;
    return (double)AUDIT_RUNS * AUDIT_RECORDS;
}

/* The share of intervals that hold, over all cases, must not be below 95% by more
 * than four standard deviations of so many runs: a false alarm in 30,000. */
static bool intervals_hold(const lab_result *r, lab_words *found) {
    double fpr = 0, fnr = 0, least = 100;
    size_t cases = lab_cases(r);
    for (size_t c = 0; c < cases; c++) {
        fpr += lab_mean(r, c, 0, "fpr") / (double)cases;
        fnr += lab_mean(r, c, 0, "fnr") / (double)cases;
        least = fmin(least, fmin(lab_mean(r, c, 0, "fpr"), lab_mean(r, c, 0, "fnr")));
    }
    double allowed = 100 * 4 * sqrt(0.95 * 0.05 / (AUDIT_RUNS * 4.0 * (double)cases));
    return lab_say(found, fpr > 95 - allowed && fnr > 95 - allowed,
                   "%.1f%% and %.1f%% of the intervals hold the truth; in the worst case %.1f%%.",
                   fpr, fnr, least);
}

static const lab_case audit_cases[] = {{.label = "stable 10%, uniform, 1/1",
                                        .stream = "uniform:universe=8K",
                                        .filter = "stable:memory=1K,fpr=10%",
                                        .p = {1}},
                                       {.label = "stable 10%, uniform, 1/16",
                                        .stream = "uniform:universe=8K",
                                        .filter = "stable:memory=1K,fpr=10%",
                                        .p = {16}},
                                       {.label = "stable 10%, zipf 0.9, 1/16",
                                        .stream = "zipf:s=0.9,domain=20K",
                                        .filter = "stable:memory=1K,fpr=10%",
                                        .p = {16}},
                                       {.label = "recent 1%, zipf 0.9, 1/16",
                                        .stream = "zipf:s=0.9,domain=20K",
                                        .filter = "recent:memory=4K,fpr=1%",
                                        .p = {16}},
                                       {.label = "recent 10%, zipf 1.2, 1/4",
                                        .stream = "zipf:s=1.2,domain=20K",
                                        .filter = "recent:memory=1K,fpr=10%",
                                        .p = {4}},
                                       {0}};

static const lab_claim audit_claims[] = {
    {true, "The audit's 95% intervals hold the true rates in 95 of 100 runs.", intervals_hold,
     "95% of the intervals, within four deviations", LAB_LEVEL},
    {0}};

/* --- cost
 * ---------------------------------------------------------------------------------------------- */

enum { COST_ROWS = 20, COST_BATCH = 16384 };

static const lab_column cost_columns[] = {{"x", "records, or memory", NULL, true, 0, 0},
                                          {"ns", "nanoseconds a key", "ns", false, 0, 0},
                                          {0}};

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Offer so many hashes, half of them repeats of one of the last million; the
 * median over batches of the time for a key. */
static double time_stretch(weir_filter *filter, lab_rng *rng, uint64_t *fresh, uint64_t records) {
    static double times[4096];
    uint64_t hashes[COST_BATCH], verdicts[WEIR_VERDICT_WORDS(COST_BATCH)];
    size_t batches = 0;
    for (uint64_t done = 0; done < records && batches < 4096; done += COST_BATCH) {
        for (size_t i = 0; i < COST_BATCH; i++) {
            uint64_t back = lab_rng_next(rng);
            uint64_t id = back & 1 ? *fresh - (back >> 44) : (*fresh)++;
            hashes[i] = lab_hash_id(id, 1);
        }
        weir_batch batch = {.count = COST_BATCH, .hashes = hashes};
        double start = now_ns();
        weir_filter_offer_batch(filter, &batch, verdicts);
        times[batches++] = (now_ns() - start) / COST_BATCH;
    }
    qsort(times, batches, sizeof *times, by_value);
    return times[batches / 2];
}

static weir_status run_cost(lab_unit *unit) {
    bool by_memory = unit->c->p[0] > 0;
    lab_rng rng = lab_rng_of(unit->seed, 7);
    uint64_t fresh = 1 << 20;
    weir_filter *filter = NULL;
    weir_status status = WEIR_OK;
    for (int row = 0; !status && row < (by_memory ? 10 : COST_ROWS); row++) {
        char spec[160];
        double memory = by_memory ? ldexp(1 << 20, row) : 1 << 24;
        uint64_t records = (uint64_t)(unit->size / COST_ROWS);
        if (by_memory) {
            weir_filter_free(filter);
            filter = NULL;
        }
        snprintf(spec, sizeof spec, "%s,memory=%.0f,seed=%llu", unit->c->filter, memory,
                 (unsigned long long)unit->seed);
        if (!filter) status = weir_filter_new(&filter, spec, &unit->error);
        if (status) break;
        if (by_memory) time_stretch(filter, &rng, &fresh, records);
        double ns = time_stretch(filter, &rng, &fresh, records);
        double values[] = {by_memory ? memory : (double)records * (row + 1), ns};
        status = lab_emit(unit, values);
        if (!lab_tick(unit, records)) break;
    }
    weir_filter_free(filter);
    return status;
}

static double cost_memory(const lab_case *c, double size, double scale) {
    (void)size;
    (void)scale;
    return c->p[0] > 0 ? 512e6 : 16e6;
}

static bool cost_is_flat(const lab_result *r, lab_words *found) {
    double worst = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double sum = 0, late = 0;
        int rows = (int)lab_rows(r, c);
        if (lab_case_at(r, c)->p[0] > 0 || rows < 4) continue;
        for (int row = rows / 4; row < rows / 2; row++) sum += lab_mean(r, c, row, "ns");
        for (int row = rows - rows / 4; row < rows; row++) late += lab_mean(r, c, row, "ns");
        worst = fmax(worst, late / sum);
    }
    return lab_say(found, worst < 1.5,
                   "A key in the last quarter of the stream costs %.2f times one in the second "
                   "quarter, at most.",
                   worst);
}

static bool memory_costs_little(const lab_result *r, lab_words *found) {
    double worst = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        if (lab_case_at(r, c)->p[0] > 0)
            worst = fmax(worst, lab_mean(r, c, -1, "ns") / lab_mean(r, c, 0, "ns"));
    return lab_say(found, worst < 12,
                   "512 times the memory costs at most %.1f times as much a key: cache misses.",
                   worst);
}

static const lab_case cost_cases[] = {
    {.panel = "along the stream, 16 MiB", .label = "recent", .filter = "recent:fpr=0.1%"},
    {.panel = "along the stream, 16 MiB", .label = "stable", .filter = "stable:fpr=1%"},
    {.panel = "against memory (bytes)", .label = "recent", .filter = "recent:fpr=0.1%", .p = {1}},
    {.panel = "against memory (bytes)", .label = "stable", .filter = "stable:fpr=1%", .p = {1}},
    {0}};

static const lab_claim cost_claims[] = {
    {true, "The cost of a key does not grow with the length of the stream.", cost_is_flat,
     "the last quarter of the stream costs less than 1.5 times the second", LAB_AFTER},
    {true, "It grows little with the memory.", memory_costs_little,
     "at most 12 times from the least to the most memory", LAB_AFTER},
    {0}};

/* --- the entries
 * ------------------------------------------------------------------------------------ */

const lab_experiment lab_exp_ours[] = {
    {LAB_ENTRY("ours-recent", "weir"), .ns = 80,
     .title = "recent against every filter and the oracle",
     .claim =
         "At the same memory and bound, the default filter makes fewer false negatives than "
         "any other filter of ours, and about as many as an exact LRU with two bits a key more "
         "than the least possible.",
     .method = "Drawn and real streams, fpr = 1%, memories of 1/4 to 1/32 of 64 bits for each "
               "distinct key. Each point of the figure is a stream at a memory. There is no number "
               "where a filter cannot be made in that memory, or has more false positives than the "
               "bound and chance allow (10^-6 a cell).",
     .reason =
         "Keys that come twice at long distances, as on the b-model, want strict first in, "
         "first out over all of the memory; recent keeps the order within a line only and "
         "is further from the oracle there. Where the order says nothing, as on uniform "
         "streams, qht is ahead in the smallest memory: of keys that all come alike it "
         "knows the share 1 - fnr / (1 - fpr), 34% of them where recent knows 31%. And bloom, "
         "which forgets nothing, is ahead where all keys just fit its bound.",
     .columns = against_columns, .cases = against_cases, .claims = against_claims,
     .figures = {{.title = "False negatives against the oracle's",
                  .x_label = "oracle, false negatives (%)",
                  .y_label = "false negatives (%)",
                  .x = "oracle",
                  .y = {"recent", "stable", "reservoir", "apbf", "qht", "window", "importance",
                        "lru"},
                  .style = LAB_POINTS}},
     LAB_SIZES(3e5, 3e6), LAB_SEEDS(1, 3), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_against,
     .cost = against_cost, .memory = against_memory},
    {LAB_ENTRY("ours-exact", "weir"), .ns = 35, .title = "Exact while it fits",
     .claim = "As long as the distinct keys fit the memory, the answers are exact but for 64-bit "
              "hash collisions.",
     .method = "recent with fpr = 0.0001%, streams of five records for each key of the universe, "
               "memories from ten times what 64 bits a key take down to a third of it.",
     .columns = exact_columns, .cases = exact_cases, .claims = exact_claims,
     .figures = {{.title = "False negatives against the load",
                  .x_label = "keys x 64 bits / memory",
                  .y_label = "false negatives (%)",
                  .x = "load",
                  .y = {"fnr"},
                  .by_case = true}},
     LAB_SIZES(5e5, 5e6), LAB_SEEDS(3, 5), LAB_EXPECT(LAB_REPRODUCED), .run = run_exact,
     .cost = exact_cost},
    {LAB_ENTRY("ours-bound", "weir"), .ns = 57,
     .title = "The bound on false positives, all along the stream",
     .claim = "The false positive rate is never above fpr, at any time.",
     .method = "A Zipf stream (0.6) on which new keys keep coming, in a sixteenth of a byte for "
               "each record; the rate in 40 stretches, over the bound.",
     .columns = bound_columns, .cases = bound_cases, .claims = bound_claims,
     .figures = {{.title = "False positive rate over the bound",
                  .x_label = "records",
                  .y_label = "rate / bound",
                  .x = "records",
                  .y = {"of_bound"},
                  .by_case = true,
                  .y_range = "[0:1.5]"}},
     LAB_SIZES(2e6, 2e7), LAB_SEEDS(3, 5), LAB_EXPECT(LAB_REPRODUCED), .run = run_bound},
    {LAB_ENTRY("ours-audit", "weir"), .ns = 170, .title = "The audit's intervals hold the truth",
     .claim = "The audit reports the error rates that really happen, with an interval that holds "
              "them at its stated rate of 95%.",
     .method = "Streams of 20,000 records, 50 runs a seed, an audit of every key, of one in 4, "
               "and of one in 16; the true rates are those of the whole stream.",
     .columns = audit_columns, .cases = audit_cases, .claims = audit_claims,
     .figures = {{.title = "Intervals that hold the truth",
                  .y_label = "runs (%)",
                  .y = {"fpr", "fnr"},
                  .style = LAB_BARS,
                  .y_range = "[80:100]"}},
     LAB_SIZES(1e6, 1e6), LAB_SEEDS(4, 20), LAB_EXPECT(LAB_REPRODUCED), .run = run_audit,
     .cost = audit_cost},
    {LAB_ENTRY("ours-cost", "weir"), .ns = 46,
     .title = "The cost of a key, along the stream and against memory",
     .claim = "A key costs the same however long the stream; it costs more in a large memory only "
              "because that is not in the cache.",
     .method = "Half of the keys are new, half repeat one of the last million; median over batches "
               "of 16384. Times are this machine's, only their ratios are judged.",
     .columns = cost_columns, .cases = cost_cases, .claims = cost_claims,
     .figures = {{.title = "Nanoseconds a key",
                  .x_label = "records, or bytes",
                  .y_label = "ns",
                  .x = "x",
                  .y = {"ns"},
                  .by_case = true,
                  .log_x = true,
                  .y_range = "[0:*]"}},
     LAB_SIZES(2e7, 4e8), LAB_SEEDS(1, 3), .alone = true,
     .reason = "The quick stream ends while the filter still fills, and a key costs more, the more "
               "keys a line holds.",
     .quick_expected = LAB_DIFFERS, .full_expected = LAB_SAME_SHAPE, .run = run_cost,
     .memory = cost_memory},
    {0}};
