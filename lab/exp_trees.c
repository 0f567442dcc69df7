/* exp_trees.c - the paper on distributed filtering: trees of filters.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011, table 1 and figure 12 (lab_log.h has
 * what is said of all its figures). Producers are the clients of a log.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_log.h"
#include "weir_sites.h"

enum { MOST_LEVELS = 5 };

/* --- table 1 and figure 12: trees --- */

static const lab_column tree_columns[] = {{"level", "level", NULL, true, 0, 0},
                                          {"hits", "hits", "% of the records", false, 3, 0},
                                          {"accesses", "accesses", "% of the records", false, 3, 0},
                                          {0}};

static weir_status make_tree(lab_unit *unit, const lab_log *log, int levels, int fanout,
                             double rate, int down, weir_filter **filter) {
    char spec[200];
    double nodes = 0, width = 1;
    for (int i = 0; i < levels; i++, width *= fanout) nodes += width;
    snprintf(
        spec, sizeof spec,
        "tree:fanout=%d,levels=%d,mode=%s,down=%d,rule=%s,fpr=5%%,of=(bloom:layout=classic,k=4)",
        fanout, levels, unit->c->filter, down, unit->c->p[5] > 0 ? "letter" : "on");
    return lab_make_of_bits(unit, spec, true, nodes,
                            nodes * lab_bits_for((double)log->truth->distinct, rate), filter);
}

static weir_status emit_levels(lab_unit *unit, const weir_filter *filter, int levels,
                               double records) {
    double hits[MOST_LEVELS] = {0}, accesses[MOST_LEVELS] = {0};
    weir_site_info site;
    for (size_t i = 0; i < weir_filter_sites(filter); i++) {
        if (weir_filter_get_site(filter, i, &site, &unit->error)) return WEIR_ERR_RANGE;
        hits[site.level] += (double)site.seen;
        accesses[site.level] += (double)site.asked;
    }
    for (int level = 0; level < levels; level++) {
        double row[] = {level, lab_percent(hits[level], records),
                        lab_percent(accesses[level], records)};
        weir_status status = lab_emit(unit, row);
        if (status) return status;
    }
    return WEIR_OK;
}

static weir_status run_tree(lab_unit *unit) {
    lab_log log;
    weir_filter *filter;
    lab_errors t = {0};
    int levels = (int)unit->c->p[0], fanout = (int)unit->c->p[1];
    weir_status status = lab_log_open(&log, unit);
    if (status) return status;
    status = make_tree(unit, &log, levels, fanout, 0.02, 0, &filter);
    if (!status) {
        lab_log_offer(unit, filter, &log, 0, log.count, &t);
        status = emit_levels(unit, filter, levels, (double)log.count);
        weir_filter_free(filter);
    }
    lab_log_close(&log);
    return status;
}

static bool dense_is_local(const lab_result *r, lab_words *found) {
    double leaf = lab_mean(r, 0, -1, "hits"), above = 0;
    for (int row = 0; row + 1 < (int)lab_rows(r, 0); row++) above += lab_mean(r, 0, row, "hits");
    return lab_say(found, leaf > above, "%.1f%% of the records at the leaves, %.1f%% above.", leaf,
                   above);
}

static bool sparse_is_not(const lab_result *r, lab_words *found) {
    double leaf = lab_mean(r, 1, -1, "hits"), root = lab_mean(r, 1, 0, "hits");
    return lab_say(found, root > leaf, "%.1f%% of the records at the root, %.1f%% at the leaves.",
                   root, leaf);
}

static double all_of(const lab_result *r, size_t c, const char *column) {
    double sum = 0;
    for (int row = 0; row < (int)lab_rows(r, c); row++) sum += lab_mean(r, c, row, column);
    return sum;
}

static bool dense_asks_less(const lab_result *r, lab_words *found) {
    double dense = all_of(r, 0, "accesses"), sparse = all_of(r, 1, "accesses");
    bool holds = dense < sparse;
    for (int row = 0; row < (int)lab_rows(r, 0); row++)
        holds &= lab_mean(r, 0, row, "accesses") <= lab_mean(r, 1, row, "accesses");
    return lab_say(found, holds,
                   "%.2f filters are asked for a record in the dense tree, %.2f in "
                   "the sparse one.",
                   dense / 100, sparse / 100);
}

static const lab_case table_cases[] = {{.label = "dense",
                                        .stream = "weblog",
                                        .filter = "dense",
                                        .p = {2, LAB_LOG_LEAVES},
                                        .paper = LAB_PAPER_ROWS({0, 34, 50}, {0, 49, 100}),
                                        .paper_rows = 2},
                                       {.label = "sparse",
                                        .stream = "weblog",
                                        .filter = "sparse",
                                        .p = {2, LAB_LOG_LEAVES},
                                        .paper = LAB_PAPER_ROWS({0, 77, 111}, {0, 5, 116}),
                                        .paper_rows = 2},
                                       {0}};

static const lab_case deep_cases[] = {
    {.label = "dense", .stream = "weblog", .filter = "dense", .p = {5, 4}},
    {.label = "sparse", .stream = "weblog", .filter = "sparse", .p = {5, 4}},
    {0}};

static const lab_claim tree_claims[] = {
    {true, "Dense trees find most duplicates at the leaves.", dense_is_local,
     "more at the leaves than above", LAB_WORDS},
    {true, "Sparse trees find the majority of them at the root.", sparse_is_not,
     "more at the root than at the leaves", LAB_WORDS},
    {true, "Dense trees access fewer filters, at each level.", dense_asks_less,
     "fewer in all, and no more at any level", LAB_WORDS},
    {0}};

static const lab_column down_columns[] = {
    {"down", "ask below a hit down to level", NULL, true, 0, 0},
    {"fp", "false positives", "%", false, 0, 0},
    {"fn", "false negatives", "%", false, 0, 0},
    {0}};

static weir_status run_down(lab_unit *unit) {
    lab_log log;
    weir_status status = lab_log_open(&log, unit);
    for (int down = 0; !status && down < MOST_LEVELS; down++) {
        weir_filter *filter;
        lab_errors t = {0};
        status = make_tree(unit, &log, MOST_LEVELS, 4, 0.08, down, &filter);
        if (status) break;
        lab_log_offer(unit, filter, &log, 0, log.count, &t);
        weir_filter_free(filter);
        double row[] = {down, lab_percent(t.false_seen, t.firsts),
                        lab_percent(t.false_new, t.repeats)};
        status = lab_emit(unit, row);
    }
    lab_log_close(&log);
    return status;
}

static bool doubt_helps(const lab_result *r, lab_words *found) {
    bool holds = true;
    for (size_t c = 0; c < 2; c++) holds &= lab_mean(r, c, 2, "fp") < lab_mean(r, c, 0, "fp");
    return lab_say(found, holds,
                   "Dense: %.2f%% without, %.2f%% down to level 2; sparse: %.2f%% and %.2f%%.",
                   lab_mean(r, 0, 0, "fp"), lab_mean(r, 0, 2, "fp"), lab_mean(r, 1, 0, "fp"),
                   lab_mean(r, 1, 2, "fp"));
}

/* Most of what all levels gain is gained at level 2. */
static bool two_levels_are_enough(const lab_result *r, lab_words *found) {
    double part[2];
    for (size_t c = 0; c < 2; c++) {
        double none = lab_mean(r, c, 0, "fp"), two = lab_mean(r, c, 2, "fp");
        part[c] = lab_percent(none - two, none - lab_mean(r, c, -1, "fp"));
    }
    return lab_say(found, part[0] >= 90 && part[1] >= 90,
                   "Of what level 4 gains, level 2 gains %.0f%% (dense) and %.0f%% (sparse).",
                   part[0], part[1]);
}

static bool same_for_both(const lab_result *r, lab_words *found) {
    double dense = lab_mean(r, 0, 0, "fp"), sparse = lab_mean(r, 1, 0, "fp");
    return lab_say(found, dense == sparse, "%.4f%% and %.4f%%.", dense, sparse);
}

static const lab_case down_cases[] = {
    {.label = "dense", .stream = "weblog", .filter = "dense"},
    {.label = "sparse", .stream = "weblog", .filter = "sparse"},
    {.label = "dense, by the letter", .stream = "weblog", .filter = "dense", .p = {[5] = 1}},
    {.label = "sparse, by the letter", .stream = "weblog", .filter = "sparse", .p = {[5] = 1}},
    {0}};

/* A key whose hit proves false is new at once, though a node above may know it. */
static bool letter_lets_pass(const lab_result *r, lab_words *found) {
    double apart = 0;
    for (size_t c = 0; c < 2; c++)
        apart = fmax(apart, fabs(lab_mean(r, c, 2, "fp") - lab_mean(r, c + 2, 2, "fp")));
    return lab_say(found, apart < 1,
                   "Down to level 2 dense trees have %.2f%% false positives and %.3f%% false "
                   "negatives, by the letter %.2f%% and %.3f%%; sparse ones %.2f%% and %.3f%%, by "
                   "the letter %.2f%% and %.3f%%.",
                   lab_mean(r, 0, 2, "fp"), lab_mean(r, 0, 2, "fn"), lab_mean(r, 2, 2, "fp"),
                   lab_mean(r, 2, 2, "fn"), lab_mean(r, 1, 2, "fp"), lab_mean(r, 1, 2, "fn"),
                   lab_mean(r, 3, 2, "fp"), lab_mean(r, 3, 2, "fn"));
}

static const lab_claim down_claims[] = {
    {true, "Asking below a hit reduces false positives.", doubt_helps,
     "lower with level 2 than without, in both trees", LAB_WORDS},
    {false, "Level 2 is the best choice: lower ones practically do not improve the rate.",
     two_levels_are_enough, "level 2 has 90% of the gain of the deepest", LAB_AFTER},
    {true, "Without it the rate of dense and sparse trees is the same (proposition 3).",
     same_for_both, "equal to the last digit", LAB_WORDS},
    {true, "That the process stops there, as printed, hardly changes the rate.", letter_lets_pass,
     "less than a point of false positives apart", LAB_AFTER},
    {0}};

/* --- the entries --- */

const lab_experiment lab_exp_trees[] = {
    {LAB_ENTRY("slices-table-1", LOG_PAPER "table 1"), .ns = 950,
     .title = "Local filters: hits and accesses of two levels",
     .claim = "Dense trees find most duplicates at the leaves, sparse ones at the root.",
     .method =
         OTHER_LOG "Level 0 is the root; 256 leaves, chosen by a hash of the client. The paper's "
                   "counts are of 100K records, so its thousands are percent.",
     .reason = OTHER_LOG "How many leaves it had is not printed.", .columns = tree_columns,
     .cases = table_cases, .claims = tree_claims,
     .figures = {{.title = "Hits and accesses by level",
                  .y_label = "% of the records",
                  .y = {"hits", "accesses"},
                  .style = LAB_BARS}},
     LAB_SIZES(2e5, 2e5), LAB_SEEDS(1, 3), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_tree},
    {LAB_ENTRY("slices-fig-12", LOG_PAPER "figures 12a and 12b"), .ns = 1170,
     .title = "Where a tree of five levels decides",
     .claim = "The dense tree resolves most requests at the lower levels.",
     .method = OTHER_LOG "Five levels, fanout 4. Level 0 is the root.", .reason = OTHER_LOG,
     .columns = tree_columns, .cases = deep_cases, .claims = tree_claims,
     .figures = {LINES("Hits by level", "level", "hits (% of records)", "level", 0, "hits"),
                 LINES("Accesses by level", "level", "accesses (% of records)", "level", 2,
                       "accesses")},
     LAB_SIZES(2e5, 2e5), LAB_SEEDS(1, 3), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_tree},
    {LAB_ENTRY("slices-fig-12c", LOG_PAPER "figure 12c"), .ns = 3200, .title = "Asking below a hit",
     .claim = "Top-down testing to level 2 takes away false positives; further down it gains "
              "little.",
     .method = OTHER_LOG "Five levels, fanout 4, nodes sized for 8%. By the letter a key whose hit "
                         "proves false is new at once; we let it go on up, for a node above may "
                         "know it from another way.",
     .reason = OTHER_LOG, .columns = down_columns, .cases = down_cases, .claims = down_claims,
     .figures = {LINES("False positives", "level down to which is asked", "false positives (%)",
                       "down", 1, "fp")},
     LAB_SIZES(2e5, 2e5), LAB_SEEDS(1, 3), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_down},
    {0}};
