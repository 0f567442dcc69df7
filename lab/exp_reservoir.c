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
#define RSBF_FORMAT "reservoir:fpr=10%%,reading=tables,pstar=3%%,k=%.0f,memory=%.0f"

#define LEAST_BYTES 1024 /* that a filter takes; a quick size may come below it */

enum { P_BITS, P_K, P_SHARE }; /* parameters of a case */

static weir_status start_both(lab_race *race, lab_unit *unit, const char *stream) {
    double bytes = fmax(LEAST_BYTES, unit->c->p[P_BITS] * unit->scale / 8);
    if (lab_race_start(race, unit, stream)) return race->status;
    if (lab_race_add(race, SBF_FORMAT, bytes)) return race->status;
    return lab_race_add(race, RSBF_FORMAT, unit->c->p[P_K], bytes);
}

static double memory_both(const lab_case *c, double size, double scale) {
    /* Two filters, and a bit for each id: fewer than there are records. */
    return 2 * c->p[P_BITS] * scale / 8 + size / 8;
}

static double cost_both(const lab_case *c, double size, double scale) {
    /* Beyond the cache a record costs several times as much. */
    return size * (c->p[P_BITS] * scale > 6.4e7 ? 4 : 1);
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

static bool are_close(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        most = fmax(most, fabs(lab_mean(r, c, -1, "fnr_sbf") - lab_mean(r, c, -1, "fnr_rsbf")));
    return lab_say(found, most < 2, "false negative rates are at most %.2f points apart.", most);
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
    {true, "FNR and FPR of RSBF and SBF are close to each other.", are_close},
    {true, "False negatives fall as the memory grows.", falls_with_memory},
    {0}};

static const lab_claim wins_claims[] = {
    {true, "RSBF has fewer false negatives than SBF at every memory.", rsbf_wins},
    {true, "False negatives fall as the memory grows.", falls_with_memory},
    {0}};

#define TABLE_FIGURES                                                                              \
    {                                                                                              \
        {"False negatives against memory",                                                         \
         "space (bits)",                                                                           \
         "false negatives (%)",                                                                    \
         "bits",                                                                                   \
         {"fnr_sbf", "fnr_rsbf"},                                                                  \
         false,                                                                                    \
         true,                                                                                     \
         false,                                                                                    \
         LAB_LINES,                                                                                \
         "[0:100]"},                                                                               \
            {"False positives against memory",                                                     \
             "space (bits)",                                                                       \
             "false positives (%)",                                                                \
             "bits",                                                                               \
             {"fpr_sbf", "fpr_rsbf"},                                                              \
             false,                                                                                \
             true,                                                                                 \
             true,                                                                                 \
             LAB_LINES,                                                                            \
             NULL},                                                                                \
    }

static const lab_case table_2[] = {{NULL,
                                    "16384",
                                    NULL,
                                    NULL,
                                    {16384, 3, 0.76},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 85.06, 84.49, 10.05, 11.22)},
                                   {NULL,
                                    "65536",
                                    NULL,
                                    NULL,
                                    {65536, 3, 0.76},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 74.37, 74.85, 8.093, 8.384)},
                                   {NULL,
                                    "4194304",
                                    NULL,
                                    NULL,
                                    {4194304, 3, 0.76},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 5.51, 6.29, 0.00382, 0.00263)},
                                   {0}};

static const lab_case table_3[] = {{NULL,
                                    "16384",
                                    NULL,
                                    NULL,
                                    {16384, 3, 0.49},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 88.83, 87.52, 11.08, 12.464)},
                                   {NULL,
                                    "262144",
                                    NULL,
                                    NULL,
                                    {262144, 3, 0.49},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 88.11, 86.89, 10.86, 12.12)},
                                   {NULL,
                                    "4194304",
                                    NULL,
                                    NULL,
                                    {4194304, 3, 0.49},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 77.33, 77.73, 7.822, 7.914)},
                                   {0}};

static const lab_case table_4[] = {{NULL,
                                    "262144",
                                    NULL,
                                    NULL,
                                    {262144, 2, 0.15},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 88.86, 87.47, 12.51, 11.1)},
                                   {NULL,
                                    "67108864",
                                    NULL,
                                    NULL,
                                    {67108864, 2, 0.15},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 82.48, 58.2818, 8.3, 8.4)},
                                   {NULL,
                                    "1073741824",
                                    NULL,
                                    NULL,
                                    {1073741824, 2, 0.15},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 37.79, 23.12, 0.742, 0.89)},
                                   {NULL,
                                    "4294967296",
                                    NULL,
                                    NULL,
                                    {4294967296, 2, 0.15},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 12.94, 7.37, 0.069, 0.072)},
                                   {0}};

static const lab_case table_5[] = {{NULL,
                                    "67108864",
                                    NULL,
                                    NULL,
                                    {67108864, 2, 0.10},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 82.58, 67.66, 8.262, 10.262)},
                                   {NULL,
                                    "1073741824",
                                    NULL,
                                    NULL,
                                    {1073741824, 2, 0.10},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 38.17, 23.47, 0.7, 0.83)},
                                   {NULL,
                                    "4294967296",
                                    NULL,
                                    NULL,
                                    {4294967296, 2, 0.10},
                                    LAB_ALWAYS,
                                    LAB_PAPER(NAN, 13.163, 7.53, 0.0634, 0.0664)},
                                   {0}};

const lab_experiment lab_exp_reservoir[] = {
    {.name = "rsbf-table-2",
     .file = LAB_FILE,
     .source = "RSBF, table 2",
     .title = "RSBF and SBF on 100K records, 76% distinct",
     .claim = "On a short stream both filters make about the same errors, at any memory.",
     .method = "100,000 draws from a universe in which 76% are expected to be distinct; K=2, P=4, "
               "Max=1 and k=3, p*=0.03.",
     .columns = table_columns,
     .cases = table_2,
     .claims = close_claims,
     .figures = TABLE_FIGURES,
     .quick = 100000,
     .full = 100000,
     .quick_seeds = 10,
     .full_seeds = 30,
     .run = run_table,
     .cost = cost_both,
     .memory = memory_both},
    {.name = "rsbf-table-3",
     .file = LAB_FILE,
     .source = "RSBF, table 3",
     .title = "RSBF and SBF on 10M records, 49% distinct",
     .claim = "With about as many repeats as firsts both filters still make about the same errors.",
     .method = "10 million draws (quick: 1 million, with a tenth of the memory) from a universe in "
               "which 49% are expected to be distinct; K=2, P=4, Max=1 and k=3, p*=0.03.",
     .columns = table_columns,
     .cases = table_3,
     .claims = close_claims,
     .figures = TABLE_FIGURES,
     .quick = 1e6,
     .full = 1e7,
     .quick_seeds = 5,
     .full_seeds = 3,
     .run = run_table,
     .cost = cost_both,
     .memory = memory_both},
    {.name = "rsbf-table-4",
     .file = LAB_FILE,
     .source = "RSBF, table 4",
     .title = "RSBF and SBF on 695M records, 15% distinct",
     .claim = "RSBF has fewer false negatives than SBF, the more so the larger the memory; false "
              "positive rates stay similar.",
     .method = "695 million draws (quick: 6.95 million, with a hundredth of the memory) from a "
               "universe in which 15% are expected to be distinct; K=2, P=4, Max=1 and k=2, "
               "p*=0.03.",
     .columns = table_columns,
     .cases = table_4,
     .claims = wins_claims,
     .figures = TABLE_FIGURES,
     .quick = 6.95e6,
     .full = 6.95e8,
     .quick_seeds = 3,
     .full_seeds = 1,
     .run = run_table,
     .cost = cost_both,
     .memory = memory_both},
    {.name = "rsbf-table-5",
     .file = LAB_FILE,
     .source = "RSBF, table 5",
     .title = "RSBF and SBF on 1B records, 10% distinct",
     .claim = "RSBF has fewer false negatives than SBF, 1.74 times at 4.2 billion bits; false "
              "positive rates stay similar.",
     .method = "1 billion draws (quick: 10 million, with a hundredth of the memory) from a "
               "universe in which 10% are expected to be distinct; K=2, P=4, Max=1 and k=2, "
               "p*=0.03.",
     .columns = table_columns,
     .cases = table_5,
     .claims = wins_claims,
     .figures = TABLE_FIGURES,
     .quick = 1e7,
     .full = 1e9,
     .quick_seeds = 3,
     .full_seeds = 1,
     .run = run_table,
     .cost = cost_both,
     .memory = memory_both},
    {0}};
