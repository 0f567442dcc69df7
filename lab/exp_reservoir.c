/* exp_reservoir.c - the reservoir sampling Bloom filter (RSBF) against its paper.
 *
 * Dutta, Bhattacharjee, Narang, EDBT 2012, section 6. Streams "of n records, d%
 * distinct" are drawn uniformly out of the universe in which n draws show that
 * share. SBF is the thesis's: Max = 1, K = 2, P = 4, cells anywhere. RSBF runs in
 * the reading that the tables were made with (src/filter/reservoir.c): k = 3 in
 * tables 2 and 3, k = 2 in tables 4 and 5.
 *
 * Quick sizes shrink stream, universe and memory by one factor: what an element
 * meets depends only on their ratios, so the rates stay, and only their sampling
 * error grows.
 */
#include <stdio.h>
#include <string.h>

#include "filter/reservoir.h"
#include "lab_experiment.h"
#include "lab_race.h"

#define SBF_FORMAT "stable:layout=classic,max=1,k=2,p=4,fpr=20%%,memory=%.0f"
#define RSBF_FORMAT "reservoir:reading=tables,pstar=3%%,k=%.0f,memory=%.0f"

#define LEAST_BYTES 1024 /* that a filter takes; a quick size may come below it */

enum { P_BITS, P_K, P_SHARE }; /* parameters of a case */

/* Beyond the cache a record costs twice as much. */
static double weight_of(const lab_case *c, double scale) {
    return c->p[P_BITS] * scale > 3e8 ? 2 : 1;
}

static double cost_both(const lab_case *c, double size, double scale) {
    return size * weight_of(c, scale);
}

static weir_status start_both(lab_race *race, lab_unit *unit, const char *stream) {
    double bytes = fmax(LEAST_BYTES, unit->c->p[P_BITS] * unit->scale / 8);
    if (lab_race_start(race, unit, stream)) return race->status;
    race->weight = weight_of(unit->c, unit->scale);
    if (lab_race_add(race, SBF_FORMAT, bytes)) return race->status;
    return lab_race_add(race, RSBF_FORMAT, unit->c->p[P_K], bytes);
}

static double memory_both(const lab_case *c, double size, double scale) {
    /* Two filters, and a bit for each id: fewer than there are records. */
    return 2 * c->p[P_BITS] * scale / 8 + size / 8;
}

/* --- tables 2 to 5 -------------------------------------------------------------------- */

static const lab_column table_columns[] = {
    {"bits", "space", "bits", true, 0, 0},
    {"fnr_sbf", "SBF, false negatives", "%", false, 0.05, 0.01},
    {"fnr_rsbf", "RSBF, false negatives", "%", false, 0.05, 0.01},
    {"fpr_sbf", "SBF, false positives", "%", false, 0.001, 0.05},
    {"fpr_rsbf", "RSBF, false positives", "%", false, 0.001, 0.05},
    {0}};

static weir_status run_table(lab_unit *unit) {
    lab_race race;
    char stream[128];
    snprintf(stream, sizeof stream, "uniform:n=%.0f,distinct=%g", unit->size, unit->c->p[P_SHARE]);
    weir_status status = start_both(&race, unit, stream);
    if (!status && lab_race_run(&race, UINT64_MAX)) status = race.status;
    if (!status) {
        double row[] = {unit->c->p[P_BITS], lab_race_fnr(&race, 0), lab_race_fnr(&race, 1),
                        lab_race_fpr(&race, 0), lab_race_fpr(&race, 1)};
        status = lab_emit(unit, row);
    }
    lab_race_end(&race);
    return status;
}

/* False negatives fall as the memory grows, for both. */
static bool falls_with_memory(const lab_result *r, lab_words *found) {
    size_t last = lab_cases(r) - 1;
    bool holds = true;
    for (size_t c = 1; c <= last; c++)
        holds &= lab_mean(r, c, -1, "fnr_sbf") < lab_mean(r, c - 1, -1, "fnr_sbf") &&
                 lab_mean(r, c, -1, "fnr_rsbf") < lab_mean(r, c - 1, -1, "fnr_rsbf");
    return lab_say(found, holds, "SBF from %.1f%% to %.1f%%, RSBF from %.1f%% to %.1f%%.",
                   lab_mean(r, 0, -1, "fnr_sbf"), lab_mean(r, last, -1, "fnr_sbf"),
                   lab_mean(r, 0, -1, "fnr_rsbf"), lab_mean(r, last, -1, "fnr_rsbf"));
}

static bool rates_are_similar(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        most = fmax(most, fabs(lab_mean(r, c, -1, "fpr_sbf") - lab_mean(r, c, -1, "fpr_rsbf")));
    return lab_say(found, most < 3, "False positive rates are at most %.2f points apart.", most);
}

static bool are_close(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        most = fmax(most, fabs(lab_mean(r, c, -1, "fnr_sbf") - lab_mean(r, c, -1, "fnr_rsbf")));
    return lab_say(found, most < 2, "False negative rates are at most %.2f points apart.", most);
}

static bool rsbf_wins(const lab_result *r, lab_words *found) {
    double least = INFINITY, most = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double ratio = lab_mean(r, c, -1, "fnr_sbf") / lab_mean(r, c, -1, "fnr_rsbf");
        least = fmin(least, ratio);
        most = fmax(most, ratio);
    }
    return lab_say(found, least > 1,
                   "SBF has %.2f to %.2f times the false negatives of RSBF at the same memory.",
                   least, most);
}

static const lab_claim close_claims[] = {
    {true, "False negative rates of RSBF and SBF are close to each other.", are_close,
     "at most 2 points apart", LAB_AFTER},
    {true, "False negatives fall as the memory grows.", falls_with_memory,
     "falls at every step of memory, for both", LAB_WORDS},
    {true, "False positive rates of RSBF and SBF are close to each other.", rates_are_similar,
     "at most 3 points apart", LAB_AFTER},
    {0}};

static const lab_claim wins_claims[] = {
    {true, "RSBF has fewer false negatives than SBF at every memory.", rsbf_wins,
     "RSBF below SBF at every memory", LAB_WORDS},
    {true, "False negatives fall as the memory grows.", falls_with_memory,
     "falls at every step of memory, for both", LAB_WORDS},
    {false, "False positive rates remain similar across both.", rates_are_similar,
     "at most 3 points apart", LAB_AFTER},
    {0}};

#define TABLE_FIGURES                                                                              \
    {                                                                                              \
        {.title = "False negatives against memory",                                                \
         .x_label = "space (bits)",                                                                \
         .y_label = "false negatives (%)",                                                         \
         .x = "bits",                                                                              \
         .y = {"fnr_sbf", "fnr_rsbf"},                                                             \
         .log_x = true,                                                                            \
         .y_range = "[0:100]"},                                                                    \
        {                                                                                          \
            .title = "False positives against memory", .x_label = "space (bits)",                  \
            .y_label = "false positives (%)", .x = "bits", .y = {"fpr_sbf", "fpr_rsbf"},           \
            .log_x = true, .log_y = true, .claim = 2                                               \
        }                                                                                          \
    }

static const lab_case table_2[] = {
    {.label = "16384", .p = {16384, 3, 0.76}, .paper = LAB_PAPER(NAN, 85.06, 84.49, 10.05, 11.22)},
    {.label = "65536", .p = {65536, 3, 0.76}, .paper = LAB_PAPER(NAN, 74.37, 74.85, 8.093, 8.384)},
    {.label = "4194304",
     .p = {4194304, 3, 0.76},
     .paper = LAB_PAPER(NAN, 5.51, 6.29, 0.00382, 0.00263)},
    {0}};

static const lab_case table_3[] = {
    {.label = "16384", .p = {16384, 3, 0.49}, .paper = LAB_PAPER(NAN, 88.83, 87.52, 11.08, 12.464)},
    {.label = "262144",
     .p = {262144, 3, 0.49},
     .paper = LAB_PAPER(NAN, 88.11, 86.89, 10.86, 12.12)},
    {.label = "4194304",
     .p = {4194304, 3, 0.49},
     .paper = LAB_PAPER(NAN, 77.33, 77.73, 7.822, 7.914)},
    {0}};

static const lab_case table_4[] = {
    {.label = "262144", .p = {262144, 3, 0.15}, .paper = LAB_PAPER(NAN, 88.86, 87.47, 12.51, 11.1)},
    {.label = "67108864",
     .p = {67108864, 2, 0.15},
     .paper = LAB_PAPER(NAN, 82.48, 58.2818, 8.3, 8.4)},
    {.label = "1073741824",
     .p = {1073741824, 2, 0.15},
     .paper = LAB_PAPER(NAN, 37.79, 23.12, 0.742, 0.89)},
    {.label = "4294967296",
     .p = {4294967296, 2, 0.15},
     .paper = LAB_PAPER(NAN, 12.94, 7.37, 0.069, 0.072)},
    {0}};

static const lab_case table_5[] = {{.label = "67108864",
                                    .p = {67108864, 2, 0.10},
                                    .paper = LAB_PAPER(NAN, 82.58, 67.66, 8.262, 10.262)},
                                   {.label = "1073741824",
                                    .p = {1073741824, 2, 0.10},
                                    .paper = LAB_PAPER(NAN, 38.17, 23.47, 0.7, 0.83)},
                                   {.label = "4294967296",
                                    .p = {4294967296, 2, 0.10},
                                    .paper = LAB_PAPER(NAN, 13.163, 7.53, 0.0634, 0.0664)},
                                   {0}};

/* --- figures 2 to 8: courses over the stream --------------------------------------------- */

enum { P_RECORDS = 3, COURSE_ROWS = 50, STEP = 1000 };

#define RATE_COLUMNS                                                                               \
    {"records", "records", NULL, true, 0, 0},                                                      \
        {"fnr_sbf", "SBF, false negatives", "%", false, 0.5, 0},                                   \
        {"fnr_rsbf", "RSBF, false negatives", "%", false, 0.5, 0},                                 \
        {"fpr_sbf", "SBF, false positives", "%", false, 0.05, 0}, {                                \
        "fpr_rsbf", "RSBF, false positives", "%", false, 0.05, 0                                   \
    }
#define ONES_COLUMNS                                                                               \
    {"change_sbf", "SBF, change of ones in 1000 records", NULL, false, 0, 0}, {                    \
        "change_rsbf", "RSBF, change of ones in 1000 records", NULL, false, 0, 0                   \
    }

static const lab_column rate_columns[] = {RATE_COLUMNS, {0}};
static const lab_column course_columns[] = {RATE_COLUMNS, ONES_COLUMNS, {0}};

/* How many of `cells` cells are not zero. */
static double ones_of(const lab_race *race, size_t i, double cells) {
    weir_filter_info info;
    weir_filter_get_info(race->filters[i], &info);
    return info.fill * cells;
}

/* Run on for a row; unless `cells` is 0, change[i] becomes the mean of |change of ones| of
 * a step. */
static bool run_row(lab_race *race, uint64_t records, double cells, double change[2]) {
    uint64_t steps = 0, before = race->records;
    change[0] = change[1] = 0;
    if (!(cells > 0)) return lab_race_run(race, records) == records;
    double last[2] = {ones_of(race, 0, cells), ones_of(race, 1, cells)};
    for (; race->records - before < records; steps++) {
        if (lab_race_run(race, STEP) < STEP) break;
        for (size_t i = 0; i < 2; i++) {
            double now = ones_of(race, i, cells);
            change[i] += fabs(now - last[i]);
            last[i] = now;
        }
    }
    for (size_t i = 0; i < 2 && steps; i++) change[i] /= (double)steps;
    return race->records - before >= records;
}

/* The records of the case's stream: the unit's size, or what the case says. */
static weir_status run_course(lab_unit *unit) {
    lab_race race;
    char stream[128];
    double cells = unit->experiment->columns != rate_columns ? unit->c->p[P_BITS] : 0;
    double records = unit->c->p[P_RECORDS] > 0 ? unit->c->p[P_RECORDS] : unit->size, change[2];
    if (unit->c->stream) snprintf(stream, sizeof stream, "%s", unit->c->stream);
    else
        snprintf(stream, sizeof stream, "uniform:n=%.0f,distinct=%g", records, unit->c->p[P_SHARE]);
    weir_status status = start_both(&race, unit, stream);
    for (int row = 0; !status && row < COURSE_ROWS; row++) {
        if (!run_row(&race, (uint64_t)(records / COURSE_ROWS), cells, change)) break;
        double values[] = {(double)race.records,
                           lab_race_fnr(&race, 0),
                           lab_race_fnr(&race, 1),
                           lab_race_fpr(&race, 0),
                           lab_race_fpr(&race, 1),
                           change[0],
                           change[1]};
        status = lab_emit(unit, values);
    }
    if (!status) status = race.status;
    lab_race_end(&race);
    return status;
}

/* In every case, at the end: is SBF's value the larger one? */
static bool sbf_is_above(const lab_result *r, const char *sbf, const char *rsbf, double *low,
                         double *high) {
    *low = INFINITY;
    *high = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double ratio = lab_mean(r, c, -1, sbf) / lab_mean(r, c, -1, rsbf);
        if (!(ratio == ratio)) ratio = 1; /* neither has any */
        *low = fmin(*low, ratio);
        *high = fmax(*high, ratio);
    }
    return *low > 1;
}

static bool course_fnr(const lab_result *r, lab_words *found) {
    double low, high;
    bool holds = sbf_is_above(r, "fnr_sbf", "fnr_rsbf", &low, &high);
    return lab_say(found, holds,
                   "At the end SBF has %.2f to %.2f times the false negatives of RSBF.", low, high);
}

static bool course_fpr(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        most = fmax(most, fabs(lab_mean(r, c, -1, "fpr_sbf") - lab_mean(r, c, -1, "fpr_rsbf")));
    return lab_say(found, most < 3,
                   "At the end the false positive rates are at most %.2f points apart.", most);
}

static bool course_ones(const lab_result *r, lab_words *found) {
    double low, high;
    bool holds = sbf_is_above(r, "change_sbf", "change_rsbf", &low, &high);
    return lab_say(found, holds && low > 5,
                   "At the end SBF's number of ones changes %.0f to %.0f times as much from one "
                   "thousand records to the next as RSBF's.",
                   low, high);
}

/* The first record after which RSBF's ones change by less than a fifth of what
 * SBF's do. */
static double settled(const lab_result *r, size_t c) {
    int rows = (int)lab_rows(r, c), row = rows;
    while (row > 0 &&
           lab_mean(r, c, row - 1, "change_rsbf") < 0.2 * lab_mean(r, c, row - 1, "change_sbf"))
        row--;
    return row < rows ? lab_mean(r, c, row, "records") : INFINITY;
}

static bool settles_at_pstar(const lab_result *r, lab_words *found) {
    double at = settled(r, 0), bits = lab_case_at(r, 0)->p[P_BITS];
    double expected = bits / lab_case_at(r, 0)->p[P_K] / 0.03;
    return lab_say(found, at < 1.2 * expected,
                   "RSBF's ones stand still from record %.3g on; s/i falls to p* at %.3g, which is "
                   "%.3g at the paper's size.",
                   at, expected, expected * 4194304 / bits);
}

static bool rises_then_stays(const lab_result *r, lab_words *found) {
    double rise = 0, late = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        int rows = (int)lab_rows(r, c);
        if (!rows) continue;
        double end = lab_mean(r, c, -1, "fnr_rsbf");
        rise = fmax(rise, end - lab_mean(r, c, 0, "fnr_rsbf"));
        late = fmax(late, fabs(end - lab_mean(r, c, rows * 3 / 4, "fnr_rsbf")));
    }
    return lab_say(found, late < 3 && rise > late,
                   "RSBF's false negatives rise by up to %.1f points, in the last quarter by at "
                   "most %.2f.",
                   rise, late);
}

#define COURSE_FIGURE(what, label, a, b, number)                                                   \
    {                                                                                              \
        .title = what, .x_label = "records", .y_label = label, .x = "records", .y = {a, b},        \
        .by_case = true, .claim = number                                                           \
    }

static const lab_case real_cases[] = {{.panel = "2 KB",
                                       .label = "2 KB",
                                       .stream = "repo_urls",
                                       .p = {2048 * 8, 3, 0, 2.7e6},
                                       .paper = LAB_PAPER(NAN, 15, 10, 0.25, 0.25, NAN, NAN)},
                                      {.panel = "4 KB",
                                       .label = "4 KB",
                                       .stream = "repo_urls",
                                       .p = {4096 * 8, 3, 0, 2.7e6},
                                       .paper = LAB_PAPER(NAN, 22, 12, NAN, NAN, NAN, NAN)},
                                      {0}};

static const lab_claim real_claims[] = {
    {true, "RSBF has fewer false negatives than SBF.", course_fnr,
     "RSBF below SBF at the end, at every memory", LAB_WORDS},
    {true, "False positive rates become comparable.", course_fpr,
     "at most 3 points apart at the end", LAB_AFTER},
    {true, "RSBF's number of ones stops changing, SBF's never does.", course_ones,
     "SBF's ones change more than 5 times as much at the end", LAB_AFTER},
    {true, "False negatives rise at first, then stay.", rises_then_stays,
     "less than 3 points of change in the last quarter, and than in all", LAB_AFTER},
    {0}};

static const lab_case synthetic_cases[] = {{.panel = "128 MB",
                                            .label = "128 MB",
                                            .p = {1073741824, 2, 0.10},
                                            .paper = LAB_PAPER(NAN, 38, 22, 0.7, 0.8)},
                                           {.panel = "512 MB",
                                            .label = "512 MB",
                                            .p = {4294967296, 2, 0.10},
                                            .paper = LAB_PAPER(NAN, 13, 7, 0.06, 0.06)},
                                           {0}};

static const lab_claim synthetic_claims[] = {
    {true, "RSBF has fewer false negatives than SBF.", course_fnr,
     "RSBF below SBF at the end, at every memory", LAB_WORDS},
    {true, "Both have comparable false positive rates.", course_fpr,
     "at most 3 points apart at the end", LAB_AFTER},
    {true, "False negatives rise at first, then stay.", rises_then_stays,
     "less than 3 points of change in the last quarter, and than in all", LAB_AFTER},
    {0}};

static const lab_case ones_cases[] = {{.label = "512 KB / 22", .p = {190650, 3, 0.10}}, {0}};

static const lab_claim ones_claims[] = {
    {true, "RSBF's number of ones stops changing, SBF's has not even at the end.", course_ones,
     "SBF's ones change more than 5 times as much at the end", LAB_AFTER},
    {false, "RSBF stands still shortly after 50 million of 455 million records.", settles_at_pstar,
     "still at 1.2 times the record where s/i falls below p*", LAB_AFTER},
    {0}};

/* --- figure 8: how fast the false negative rate still rises ------------------------------- */

static const lab_column slope_columns[] = {{"records", "records", NULL, true, 0, 0},
                                           {"fnr_sbf", "SBF, false negatives", "%", false, 0, 0},
                                           {"fnr_rsbf", "RSBF, false negatives", "%", false, 0, 0},
                                           {0}};

static weir_status run_slope(lab_unit *unit) {
    lab_race race;
    char stream[128];
    double change[2];
    snprintf(stream, sizeof stream, "uniform:n=%.0f,distinct=%g", unit->size, unit->c->p[P_SHARE]);
    weir_status status = start_both(&race, unit, stream);
    for (int row = 0; !status && row < COURSE_ROWS; row++) {
        if (!run_row(&race, (uint64_t)(unit->size / COURSE_ROWS), 0, change)) break;
        double values[] = {(double)race.records, lab_race_fnr(&race, 0), lab_race_fnr(&race, 1)};
        status = lab_emit(unit, values);
    }
    if (!status) status = race.status;
    lab_race_end(&race);
    return status;
}

/* Rise of the rate over the last third of the stream, points for each record. */
static double late_slope(const lab_result *r, size_t c, const char *column) {
    int rows = (int)lab_rows(r, c), from = rows * 2 / 3;
    return (lab_mean(r, c, -1, column) - lab_mean(r, c, from, column)) /
           (lab_mean(r, c, -1, "records") - lab_mean(r, c, from, "records"));
}

/* SBF's slope over RSBF's: the least and the most over the settings. */
static void slope_ratios(const lab_result *r, double *low, double *high) {
    *low = INFINITY;
    *high = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double ratio = late_slope(r, c, "fnr_sbf") / late_slope(r, c, "fnr_rsbf");
        if (!(ratio == ratio)) ratio = 1; /* neither rises */
        *low = fmin(*low, ratio);
        *high = fmax(*high, ratio);
    }
}

static bool rsbf_is_flatter(const lab_result *r, lab_words *found) {
    double low, high;
    slope_ratios(r, &low, &high);
    return lab_say(found, low > 1,
                   "In the last third SBF's rate rises %.2f to %.2f times as fast as RSBF's, "
                   "depending on the memory.",
                   low, high);
}

static bool both_still_rise(const lab_result *r, lab_words *found) {
    double least = INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        least = fmin(least, fmin(late_slope(r, c, "fnr_sbf"), late_slope(r, c, "fnr_rsbf")));
    return lab_say(found, least > 0, "In the last third by at least %.3g points a record.", least);
}

static const lab_case slope_cases[] = {
    {.panel = "128 MB / 1000", .label = "a", .p = {1073741.824, 2, 0.10}},
    {.panel = "65536 bits", .label = "b", .p = {65536, 2, 0.15}},
    {.panel = "16384 bits", .label = "c", .p = {16384, 2, 0.15}},
    {0}};

static bool slopes_differ_threefold(const lab_result *r, lab_words *found) {
    double low, high;
    slope_ratios(r, &low, &high);
    return lab_say(found, low > 2.5 && high < 4, "%.2f to %.2f times as fast.", low, high);
}

static const lab_claim slope_claims[] = {
    {true, "RSBF's false negative rate rises more slowly than SBF's.", rsbf_is_flatter,
     "RSBF's slope below SBF's at every memory", LAB_WORDS},
    {true, "Both rates still rise.", both_still_rise, "both slopes above 0 at every memory",
     LAB_WORDS},
    {false, "SBF's rises about three times as fast: 1e-6 against 0.3e-6.", slopes_differ_threefold,
     "2.5 to 4 times at every memory", LAB_AFTER},
    {0}};

/* --- theorem 5.1 ---------------------------------------------------------------------------- */

static const lab_column theorem_columns[] = {
    {"records", "records", NULL, true, 0, 0},
    {"ones", "ones, measured", "%", false, 0, 0},
    {"theory", "ones, from equation 5.22", "%", true, 0, 0},
    {0}};

/* All keys different, so that every key is offered as equation 5.22 has it. */
static weir_status run_theorem(lab_unit *unit) {
    lab_race race;
    double bits = unit->c->p[P_BITS], s = floor(bits / unit->c->p[P_K]);
    char stream[64];
    snprintf(stream, sizeof stream, "uniform:n=%.0f,universe=1T", unit->size);
    weir_status status = lab_race_start(&race, unit, stream);
    if (!status)
        status = lab_race_add(&race,
                              "reservoir:reading=tables,pstar=0.1%%,k=%.0f,"
                              "memory=%.0f",
                              unit->c->p[P_K], bits / 8);
    for (int row = 0; !status && row < COURSE_ROWS; row++) {
        double until = s / 8 * pow(1.15, row);
        if (!lab_race_run(&race, (uint64_t)until - race.records)) break;
        weir_filter_info info;
        weir_filter_get_info(race.filters[0], &info);
        double values[] = {(double)race.records, 100 * info.fill,
                           100 * weir__reservoir_fill((double)race.records, s)};
        status = lab_emit(unit, values);
    }
    if (!status) status = race.status;
    lab_race_end(&race);
    return status;
}

static bool ones_follow(const lab_result *r, lab_words *found) {
    double most = 0;
    for (int row = 0; row < (int)lab_rows(r, 0); row++)
        most = fmax(most, fabs(lab_mean(r, 0, row, "ones") - lab_mean(r, 0, row, "theory")));
    /* One filter's share has a standard deviation of about 0.5/sqrt(s) = 0.2 points. */
    return lab_say(found, most < 0.6,
                   "The share of ones is at most %.2f points from what equation 5.22 says.", most);
}

static bool ones_are_constant(const lab_result *r, lab_words *found) {
    double low = INFINITY, high = 0, bits = lab_case_at(r, 0)->p[P_BITS];
    double s = bits / lab_case_at(r, 0)->p[P_K];
    for (int row = 0; row < (int)lab_rows(r, 0); row++) {
        if (lab_mean(r, 0, row, "records") < 4 * s) continue;
        low = fmin(low, lab_mean(r, 0, row, "ones"));
        high = fmax(high, lab_mean(r, 0, row, "ones"));
    }
    return lab_say(found, high - low < 1.5,
                   "From record 4s on the share of ones stays between %.2f%% and %.2f%%.", low,
                   high);
}

static const lab_case theorem_cases[] = {{.label = "s = 65536, k = 3", .p = {196608, 3}}, {0}};

static const lab_claim theorem_claims[] = {
    {true, "Equation 5.22 gives the expected number of ones after each key.", ones_follow,
     "within 0.6 points, three deviations of one filter", LAB_LEVEL},
    {true, "The expected share of ones is a constant, for all i > s.", ones_are_constant,
     "less than 1.5 points of change beyond 4 s records", LAB_AFTER},
    {0}};

#define TABLE_ENTRY                                                                                \
    .columns = table_columns, .figures = TABLE_FIGURES, .run = run_table, .cost = cost_both,       \
    .memory = memory_both

const lab_experiment lab_exp_reservoir[] = {
    {LAB_ENTRY("rsbf-table-2", "RSBF, table 2"), .ns = 60,
     .title = "RSBF and SBF on 100K records, 76% distinct",
     .claim = "On a short stream both filters make about the same errors, at any memory.",
     .method = "100,000 draws from a universe in which 76% are expected to be distinct; K=2, P=4, "
               "Max=1 and k=3, p*=0.03.",
     .reason = "One number of twelve is off: SBF's 0.00382% false positives at 4194304 bits. With "
               "K=2 and P=4 the share of non-zero cells after i keys is (1 - e^(-6i/m))/3, 0.044 "
               "at the end; its square, averaged over the firsts, is 0.04 to 0.07%, ten times the "
               "printed rate, and nothing in the text lowers it.",
     TABLE_ENTRY, .cases = table_2, .claims = close_claims, LAB_SIZES(100000, 100000),
     LAB_SEEDS(10, 30), LAB_EXPECT(LAB_SAME_SHAPE)},
    {LAB_ENTRY("rsbf-table-3", "RSBF, table 3"), .ns = 70,
     .title = "RSBF and SBF on 10M records, 49% distinct",
     .claim = "With about as many repeats as firsts both filters still make about the same errors.",
     .method = "10 million draws (quick: 1 million, with a tenth of the memory) from a universe in "
               "which 49% are expected to be distinct; K=2, P=4, Max=1 and k=3, p*=0.03.",
     TABLE_ENTRY, .cases = table_3, .claims = close_claims, LAB_SIZES(1e6, 1e7), LAB_SEEDS(5, 3),
     LAB_EXPECT(LAB_SAME_SHAPE)},
    {LAB_ENTRY("rsbf-table-4", "RSBF, table 4"), .ns = 60,
     .title = "RSBF and SBF on 695M records, 15% distinct",
     .claim = "RSBF has fewer false negatives than SBF, the more so the larger the memory; false "
              "positive rates stay similar.",
     .method = "695 million draws (quick: 6.95 million, with a hundredth of the memory) from a "
               "universe in which 15% are expected to be distinct; K=2, P=4, Max=1 and k=2, "
               "p*=0.03.",
     .reason =
         "In the first row the two false positive rates seem to have changed places: 12.5% is "
         "2^-3, RSBF's limit with k=3, and 11.1% is (1/3)^2, SBF's for K=2, P=4. Its 87.47% "
         "false negatives are 100 - 12.5, so this row is run with k=3; the others fit k=2 (in "
         "the third k=3 gives 39.6% false negatives and 0.26% false positives). The second "
         "row fits neither: the same filters on the stream of table 5, at the same memory, "
         "are printed with 67.66%, not 58.28%. SBF's 12.94% in the last row is 0.7 points "
         "below ours; we do not know why.",
     TABLE_ENTRY, .cases = table_4, .claims = wins_claims, LAB_SIZES(6.95e6, 6.95e8),
     LAB_SEEDS(3, 1), LAB_EXPECT(LAB_SAME_SHAPE)},
    {LAB_ENTRY("rsbf-table-5", "RSBF, table 5"), .ns = 60,
     .title = "RSBF and SBF on 1B records, 10% distinct",
     .claim = "RSBF has fewer false negatives than SBF, 1.74 times at 4.2 billion bits; false "
              "positive rates stay similar.",
     .method = "1 billion draws (quick: 10 million, with a hundredth of the memory) from a "
               "universe in which 10% are expected to be distinct; K=2, P=4, Max=1 and k=2, "
               "p*=0.03.",
     .reason = "RSBF's 10.26% false positives at 67108864 bits do not go with its 67.66% false "
               "negatives, which need k=2: with half of the bits set the rate tends to 1/4, and "
               "averages 16% over this stream. SBF's 13.16% at 4294967296 bits is 0.8 points below "
               "ours; we do not know why. Rounding of the 10% does not explain it: 9, 10 and 11% "
               "distinct give 12.9, 14.0 and 15.0%, so it would take about 9.2%.",
     TABLE_ENTRY, .cases = table_5, .claims = wins_claims, LAB_SIZES(1e7, 1e9), LAB_SEEDS(3, 1),
     LAB_EXPECT(LAB_SAME_SHAPE)},
    {LAB_ENTRY("rsbf-fig-2-4-6", "RSBF, figures 2, 4, 6"), .ns = 260,
     .title = "RSBF and SBF along a real stream, in 2 KB and 4 KB",
     .claim = "On 3 million clicks both keep false positives near 0.25%; RSBF has 10% (2 KB) and "
              "12% (4 KB) false negatives where SBF has 15% and 22%; RSBF's number of ones stops "
              "changing after 500K and 1.5M records, SBF's never does.",
     .method = "The repository URLs of npm packages, 2.7 million records, in place of the KDD Cup "
               "2000 clicks, which are no longer to be had. FPR threshold 0.1: K=2, P=4, k=3, "
               "p*=0.03.",
     .reason =
         "Another stream. Probably the order of the two filters follows from the gaps: here most "
         "repeats follow at once, and SBF, which always inserts, remembers those; RSBF "
         "draws fewer and fewer keys until s/i = p*. Two things in the text cannot be: more "
         "memory raises both filters' false negatives (2 KB: 10% and 15%, 4 KB: 12% and "
         "22%), so the labels must be exchanged; and a false positive rate of 0.25% with a "
         "threshold of 10% needs a stream whose distinct keys nearly fit into 16384 bits.",
     .columns = course_columns, .cases = real_cases, .claims = real_claims,
     .figures = {COURSE_FIGURE("False negatives along the stream", "false negatives (%)", "fnr_sbf",
                               "fnr_rsbf", 0),
                 COURSE_FIGURE("False positives along the stream", "false positives (%)", "fpr_sbf",
                               "fpr_rsbf", 1),
                 COURSE_FIGURE("Change of the number of ones", "ones", "change_sbf", "change_rsbf",
                               2)},
     LAB_SIZES(2.7e6, 2.7e6), LAB_SEEDS(3, 5), .run = run_course, .memory = memory_both},
    {LAB_ENTRY("rsbf-fig-3-5", "RSBF, figures 3, 5"), .ns = 60,
     .title = "RSBF and SBF along 1B records, in 128 MB and 512 MB",
     .claim = "False positives settle at 0.8% (RSBF) and 0.7% (SBF) in 128 MB, at 0.06% in 512 MB; "
              "false negatives at 22% and 38%, 7% and 13%: 1.73 and 1.86 times fewer with RSBF.",
     .method = "1 billion draws (quick: 10 million, with a hundredth of the memory), 10% distinct; "
               "K=2, P=4, Max=1 and k=2, p*=0.03. Rates are those of the stream so far.",
     .reason = "The text reads RSBF's false negatives in 128 MB as 22% where table 5 prints 23.47% "
               "for the same run, which is ours too. SBF's false negatives in 512 MB are above the "
               "printed 13%, as in table 5.",
     .columns = rate_columns, .cases = synthetic_cases, .claims = synthetic_claims,
     .figures = {COURSE_FIGURE("False negatives along the stream", "false negatives (%)", "fnr_sbf",
                               "fnr_rsbf", 0),
                 COURSE_FIGURE("False positives along the stream", "false positives (%)", "fpr_sbf",
                               "fpr_rsbf", 1)},
     LAB_SIZES(1e7, 1e9), LAB_SEEDS(3, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_course,
     .cost = cost_both, .memory = memory_both},
    {LAB_ENTRY("rsbf-fig-7", "RSBF, figure 7"), .ns = 200,
     .title = "When the number of ones stands still",
     .claim = "With 512 KB RSBF's number of ones is stable shortly after 50 million records, SBF's "
              "is not even at 455 million.",
     .method =
         "A 22nd of both, 20.7 million records and 24 KB, 10% distinct, k=3: so small that "
         "the ones can be counted exactly after every thousand records. They are said to stand "
         "still once they change by less than a fifth of what SBF's do: the paper reads this "
         "off a plot, and the threshold is ours, chosen after seeing the course. With a "
         "tenth it would be at three times as many records.",
     .columns = course_columns, .cases = ones_cases, .claims = ones_claims,
     .figures = {COURSE_FIGURE("Change of the number of ones in 1000 records", "ones", "change_sbf",
                               "change_rsbf", 0)},
     LAB_SIZES(20.68e6, 20.68e6), LAB_SEEDS(1, 3), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_course,
     .memory = memory_both},
    {LAB_ENTRY("rsbf-fig-8", "RSBF, figure 8"), .ns = 50,
     .title = "How fast the false negative rate still rises",
     .claim = "RSBF's false negative rate rises by 0.1% over 0.35 million records, SBF's by 0.3% "
              "over 0.3 million: 0.3e-6 and 1e-6 a record.",
     .method = "The paper says neither the memory nor which part of the stream is shown, so three "
               "settings of 1 million draws: a thousandth of figure 5 in 128 MB (10% distinct), "
               "and 65536 and 16384 bits (15% distinct). The printed slopes are in percentage "
               "points: 0.1/0.35M = 0.29e-6.",
     .reason = "The order depends on the memory, which the paper does not give: it is the paper's "
               "in the first setting and the other way round in the two smaller ones.",
     .columns = slope_columns, .cases = slope_cases, .claims = slope_claims,
     .figures = {{.title = "False negatives along the stream",
                  .x_label = "records",
                  .y_label = "false negatives (%)",
                  .x = "records",
                  .y = {"fnr_sbf", "fnr_rsbf"},
                  .by_case = true}},
     LAB_SIZES(1e6, 1e6), LAB_SEEDS(5, 20), LAB_EXPECT(LAB_DIFFERS), .run = run_slope,
     .memory = memory_both},
    {LAB_ENTRY("rsbf-theorem-5.1", "RSBF, theorem 5.1"), .ns = 110,
     .title = "The share of ones tends to a constant",
     .claim = "The expected share of ones is a constant for all i > s (theorem 5.1), by equation "
              "5.22.",
     .method = "Distinct keys, k=3 filters of s=65536 bits, reading=tables, p*=0.001 so that the "
               "reservoir alone is seen. Equation 5.22 solved: 1/2 - (1/2 - x(s)) (s/i)^2.",
     .columns = theorem_columns, .cases = theorem_cases, .claims = theorem_claims,
     .figures = {{.title = "Share of ones along the stream",
                  .x_label = "records",
                  .y_label = "ones (%)",
                  .x = "records",
                  .y = {"ones", "theory"},
                  .by_case = true,
                  .log_x = true}},
     LAB_SIZES(8e6, 8e6), LAB_SEEDS(3, 10), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_theorem},
    {0}};
