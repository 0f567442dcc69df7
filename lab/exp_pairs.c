/* exp_pairs.c - PairCount alone against chapter 5 of the thesis: tables 5.1 to 5.5.
 *
 * Fan Deng, Approximation algorithms for stream frequency problems, section 5.5.
 * The thesis took 467,468 titles of DBLP, which it does not name further. Here are
 *
 *   words     titles of random words with about its numbers of similar pairs
 *             (lab_titles.h), in its sizes: what is compared with its numbers
 *   titles    the short descriptions of Debian's packages, 63,620, as they are
 *   records   generated, each with one partner at most (lab_records.h)
 *
 * A printed error is that of one run on other data. So each case is run many times
 * (the size of an experiment is the number of runs) and the root of the mean
 * square is what is compared, with the deviation that weir claims and with the
 * thesis's numbers. Pairs are counted as the thesis does: ordered, and each record
 * with itself, which matters for k = d alone.
 *
 * What decides, and why:
 *   deviation  the rms of R normal errors strays by 1/sqrt(2R) of itself; an error is
 *              as claimed if it is below the claim by 4 times that (3 in 100,000)
 *   the thesis's numbers  each is one draw of a normal error. Divided by our rms and
 *              squared they sum to a chi-square if both err alike; theirs are smaller
 *              if the sum is so small that this has a chance below 1%. (Numbers of one
 *              run are not quite independent, so the chance is more than it says.)
 *   trends     from case to case the rms may not move against the trend by a factor
 *              that two equal ones differ by with a chance of 1%, exp(2.33/sqrt(R));
 *              and from the first to the last it must move with it
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_pairs.h"
#include "lab_stats.h"

/* --- runs -------------------------------------------------------------------------------- */

static const lab_column error_columns[] = {
    {"n", "records", NULL, true, 0, 0},
    {"d", "values", NULL, true, 0, 0},
    {"r", "sample", NULL, true, 0, 0},
    {"w", "width", NULL, true, 0, 0},
    {"k", "agree in", NULL, true, 0, 0},
    {"truth", "pairs, as the thesis counts", NULL, false, 0, 0},
    {"error", "error (rms)", "%", false, 0, 0},
    {"claimed", "deviation as claimed", "%", false, 0, 0},
    {"all", "error by default: all super-values", "%", false, 0, 0},
    {"thesis", "the thesis's error, one run", "%", true, 0, 0},
    {"of_bound", "error of s or more, of the thesis's bound", "%", false, 0, 0},
    {"runs", "runs", NULL, true, 0, 0},
    {0}};

/* The case's `filter` has the printed errors, without signs, one for each row. */
static weir_status emit_errors(lab_unit *unit, const lab_table *t, const lab_pair_errors *e,
                               const lab_pair_errors *all) {
    const char *printed = unit->c->filter;
    weir_status status = WEIR_OK;
    for (unsigned k = t->d; !status && k >= t->s; k--) {
        double truth = lab_thesis_count(t, k);
        double row[] = {(double)t->n,
                        t->d,
                        unit->c->p[P_SAMPLE],
                        unit->c->p[P_WIDTH],
                        k,
                        truth,
                        lab_pair_percent(e, e->square[k], truth),
                        lab_pair_percent(e, e->claimed[k], truth),
                        all->runs > 0 ? lab_pair_percent(all, all->square[k], truth) : NAN,
                        lab_next_printed(&printed),
                        100 * sqrt(e->similar / e->bound),
                        e->runs};
        status = lab_emit(unit, row);
    }
    return status;
}

/* Offline also once as weir does by itself. */
static weir_status run_errors(lab_unit *unit) {
    lab_table t;
    lab_pair_errors e = {0}, all = {0};
    weir_status status = lab_table_new(&t, unit);
    if (!status && unit->c->p[P_WIDTH] == 0) status = lab_count_pairs(unit, &t, 0, 1, 0, &all);
    for (uint64_t run = 0; !status && run < (uint64_t)unit->size; run++) {
        status = lab_count_pairs(unit, &t, run, unit->c->p[P_SAMPLE], 1024, &e);
        if (!lab_tick(unit, (uint64_t)((double)t.n * lab_pairs_super_values(unit->c)))) break;
    }
    if (!status && e.runs > 0) status = emit_errors(unit, &t, &e, &all);
    free(t.rows);
    return status;
}

/* --- claims ------------------------------------------------------------------------------ */

static bool in_panel(const lab_result *r, size_t c, const char *panel) {
    return !panel || !strcmp(lab_case_at(r, c)->panel, panel);
}

static bool as_claimed(const lab_result *r, lab_words *found) {
    double least = INFINITY, most = 0;
    bool holds = true;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double claimed = lab_mean(r, c, row, "claimed");
            if (!(claimed > 0)) continue;
            double ratio = lab_mean(r, c, row, "error") / claimed;
            holds &= ratio < 1 + 4 / sqrt(2 * lab_mean(r, c, row, "runs"));
            least = fmin(least, ratio);
            most = fmax(most, ratio);
        }
    return lab_say(found, holds && most > 0,
                   "The error is %.2f to %.2f times the deviation that weir claims.", least, most);
}

static double most_of_bound(const lab_result *r, const char *panel) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        if (in_panel(r, c, panel)) most = fmax(most, lab_mean(r, c, -1, "of_bound"));
    return most;
}

static bool within_bound(const lab_result *r, lab_words *found) {
    return lab_say(found, most_of_bound(r, NULL) < 100,
                   "The error of s or more is at most %.0f%% of the bound on titles of random "
                   "words, %.0f%% on Debian's, %.0f%% on records in pairs.",
                   most_of_bound(r, "words"), most_of_bound(r, "titles"),
                   most_of_bound(r, "records"));
}

/* Root mean squares over all numbers that the thesis prints, and how likely it is
 * that the thesis's are as small as they are if both err alike. */
static bool no_worse(const lab_result *r, const char *panel, lab_words *found) {
    double ours = 0, theirs = 0, sum = 0, count = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; in_panel(r, c, panel) && row < (int)lab_rows(r, c); row++) {
            double printed = lab_mean(r, c, row, "thesis"), error = lab_mean(r, c, row, "error");
            if (isnan(printed) || !(error > 0)) continue; /* k = d offline has none */
            ours += error * error;
            theirs += printed * printed;
            sum += printed * printed / (error * error);
            count++;
        }
    if (!(count > 0)) return lab_say(found, false, "Nothing to compare was run.");
    double chance = 1 - lab_chi2_tail(sum, count);
    return lab_say(found, chance > 0.01,
                   "Over %.0f numbers ours is off by %.2f%% (rms), the thesis's by %.2f%%; if both "
                   "err alike, numbers as small as the thesis's have a chance of %.2g.",
                   count, sqrt(ours / count), sqrt(theirs / count), chance);
}

static bool no_worse_words(const lab_result *r, lab_words *found) {
    return no_worse(r, "words", found);
}
static bool no_worse_titles(const lab_result *r, lab_words *found) {
    return no_worse(r, "titles", found);
}

/* By default no number is further off than what the thesis prints for it. */
static bool no_worse_by_default(const lab_result *r, lab_words *found) {
    double ours = 0, theirs = 0;
    unsigned count = 0, worse = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double printed = lab_mean(r, c, row, "thesis"), error = lab_mean(r, c, row, "all");
            if (isnan(printed) || isnan(error)) continue;
            ours = fmax(ours, error);
            theirs = fmax(theirs, printed);
            worse += error > printed;
            count++;
        }
    return lab_say(found, count && !worse,
                   "Of %u numbers %u are further off than the thesis's; ours are off by %.2g%% at "
                   "most, the thesis's by %.2g%%.",
                   count, worse, ours, theirs);
}

/* Are the numbers of similar pairs those of table 5.1, within a factor of two? */
static bool as_many_pairs(const lab_result *r, lab_words *found) {
    static const double printed[] = {219356, 191310, 1690036, 14706402, 87385874, 417430350};
    size_t c = lab_find_case(r, "words", "words");
    double least = INFINITY, most = 0;
    for (int row = 0; c < lab_cases(r) && row < (int)lab_rows(r, c); row++) {
        double ratio = lab_mean(r, c, row, "truth") / printed[row];
        least = fmin(least, ratio);
        most = fmax(most, ratio);
    }
    return lab_say(found, least > 0.5 && most > 0 && most < 2,
                   "For k = 6 to 1 they are %.2f to %.2f times those of table 5.1.", least, most);
}

__attribute__((format(printf, 2, 3))) static void say_more(lab_words *found, const char *format,
                                                           ...) {
    size_t used = strlen(found->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->text + used, sizeof found->text - used, format, arguments);
    va_end(arguments);
}

/* Does the error of k = s go up (down) with the cases of a panel? */
static bool moves(const lab_result *r, const char *panel, bool up, lab_words *found) {
    double first = NAN, last = NAN, worst = 1, runs = 1;
    say_more(found, "%s", panel);
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c) || !in_panel(r, c, panel)) continue;
        double error = lab_mean(r, c, -1, "error");
        runs = lab_mean(r, c, -1, "runs");
        if (isnan(first)) first = error;
        else worst = fmax(worst, up ? last / error : error / last);
        last = error;
        say_more(found, " %.2f", error);
    }
    return worst < exp(2.33 / sqrt(runs)) && (up ? last > first : last < first);
}

static bool all_move(const lab_result *r, bool up, lab_words *found) {
    lab_say(found, true, "Errors at k = s (%%), case by case: ");
    bool words = moves(r, "words", up, found);
    say_more(found, "; ");
    bool titles = moves(r, "titles", up, found);
    say_more(found, "; ");
    bool records = moves(r, "records", up, found);
    say_more(found, ".");
    return words && titles && records;
}

static bool falls(const lab_result *r, lab_words *found) { return all_move(r, false, found); }
static bool rises(const lab_result *r, lab_words *found) { return all_move(r, true, found); }

/* --- cases ------------------------------------------------------------------------------- */

#define EVENLY "records:share=1,least=1"
#define WORDS(label_, n, d, s, r, w, printed)                                                      \
    LAB_PAIRS_CASE("words", "words", label_, n, d, s, r, w, 0, printed)
#define TITLES(label_, n, d, s, r, w, printed)                                                     \
    LAB_PAIRS_CASE("titles", "titles", label_, n, d, s, r, w, 0, printed)
#define RECORDS(label_, n, d, s, r, w)                                                             \
    LAB_PAIRS_CASE("records", EVENLY, label_, n, d, s, r, w, 0, NULL)

#define AS_CLAIMED                                                                                 \
    {true, "Errors are within the deviations that follow from the theory.", as_claimed,            \
     "error at most the claimed deviation, times 1 + 4/sqrt(2 runs)", LAB_LEVEL},                  \
    {                                                                                              \
        false, "Errors are within the thesis's bound (theorem 7; online theorem 9).",              \
            within_bound, "error below the bound of the theorem in every cell", LAB_WORDS          \
    }
#define BY_DEFAULT                                                                                 \
    {                                                                                              \
        true, "As weir counts by default errors are no greater than the thesis's.",                \
            no_worse_by_default,                                                                   \
            "at most the printed error in each cell; r = 1 needs no sampling, so there it is "     \
            "true by construction",                                                                \
            LAB_AFTER                                                                              \
    }
#define NO_WORSE                                                                                   \
    {false, "On titles with the thesis's numbers of pairs errors are of the size that it prints.", \
     no_worse_words, "all numbers of the table together: a chance above 1% that both err alike",   \
     LAB_LEVEL},                                                                                   \
    {                                                                                              \
        false, "The same on Debian's titles.", no_worse_titles,                                    \
            "all numbers of the table together: a chance above 1% that both err alike", LAB_LEVEL  \
    }

/* The errors of tables 5.1 and 5.5, k = 6 to 1. */
#define TABLE_1 "0 1.35 0.68 0.79 0.14 0.08"
#define TABLE_5 "0.69 16.89 16.86 11.89 6.55 6.62"

static const lab_case by_k_cases[] = {WORDS("words", 200000, 6, 1, 0.5, 0, TABLE_1),
                                      TITLES("titles", 63620, 6, 1, 0.5, 0, TABLE_1),
                                      RECORDS("records", 200000, 6, 1, 0.5, 0),
                                      {0}};
static const lab_claim by_k_claims[] = {
    AS_CLAIMED,
    BY_DEFAULT,
    NO_WORSE,
    {true, "Titles of random words have the thesis's numbers of pairs.", as_many_pairs,
     "between a half and twice the printed numbers", LAB_AFTER},
    {0}};

#define BY_N_WORDS                                                                                 \
    WORDS("25K", 25000, 6, 4, 0.5, 0, "nan nan 8.76"),                                             \
        WORDS("50K", 50000, 6, 4, 0.5, 0, "nan nan 5.11"),                                         \
        WORDS("100K", 100000, 6, 4, 0.5, 0, "nan nan 1.3"),                                        \
        WORDS("200K", 200000, 6, 4, 0.5, 0, "nan nan 0.68"),                                       \
        WORDS("400K", 400000, 6, 4, 0.5, 0, "nan nan 1.15")
static const lab_case by_n_cases[] = {BY_N_WORDS,
                                      TITLES("12.5K", 12500, 6, 4, 0.5, 0, NULL),
                                      TITLES("25K", 25000, 6, 4, 0.5, 0, "nan nan 8.76"),
                                      TITLES("50K", 50000, 6, 4, 0.5, 0, "nan nan 5.11"),
                                      RECORDS("25K", 25000, 6, 4, 0.5, 0),
                                      RECORDS("100K", 100000, 6, 4, 0.5, 0),
                                      RECORDS("400K", 400000, 6, 4, 0.5, 0),
                                      {0}};
static const lab_claim by_n_claims[] = {AS_CLAIMED,
                                        BY_DEFAULT,
                                        NO_WORSE,
                                        {true, "The error falls as the data grow.", falls,
                                         "falls from the first row to the last", LAB_WORDS},
                                        {0}};

#define BY_R(make, n)                                                                              \
    make("r = 0.25", n, 6, 3, 0.25, 0, "nan 6.97 3.93 2.20"),                                      \
        make("r = 0.5", n, 6, 3, 0.5, 0, "nan 2.6 1.3 1.3"),                                       \
        make("r = 0.75", n, 6, 3, 0.75, 0, "nan 3.89 2.47 1.08")
static const lab_case by_r_cases[] = {BY_R(WORDS, 100000),
                                      BY_R(TITLES, 63620),
                                      RECORDS("r = 0.25", 100000, 6, 3, 0.25, 0),
                                      RECORDS("r = 0.5", 100000, 6, 3, 0.5, 0),
                                      RECORDS("r = 0.75", 100000, 6, 3, 0.75, 0),
                                      {0}};
static const lab_claim by_r_claims[] = {AS_CLAIMED,
                                        BY_DEFAULT,
                                        NO_WORSE,
                                        {true, "The error falls as the sample grows.", falls,
                                         "falls from the first row to the last", LAB_WORDS},
                                        {0}};

#define BY_D(make, n)                                                                              \
    make("3 of 4", n, 4, 3, 0.5, 0, "nan 1.08"), make("4 of 5", n, 5, 4, 0.5, 0, "nan 0.53"),      \
        make("5 of 6", n, 6, 5, 0.5, 0, "nan 2.60"), make("6 of 7", n, 7, 6, 0.5, 0, "nan 3.91"),  \
        make("6 of 8", n, 8, 6, 0.5, 0, "nan nan 6.06")
static const lab_case by_d_cases[] = {BY_D(WORDS, 100000),
                                      BY_D(TITLES, 63620),
                                      RECORDS("3 of 4", 100000, 4, 3, 0.5, 0),
                                      RECORDS("4 of 5", 100000, 5, 4, 0.5, 0),
                                      RECORDS("5 of 6", 100000, 6, 5, 0.5, 0),
                                      RECORDS("6 of 7", 100000, 7, 6, 0.5, 0),
                                      RECORDS("6 of 8", 100000, 8, 6, 0.5, 0),
                                      {0}};
static const lab_claim by_d_claims[] = {AS_CLAIMED,
                                        BY_DEFAULT,
                                        NO_WORSE,
                                        {true, "The error grows with the number of values.", rises,
                                         "rises from the first row to the last", LAB_WORDS},
                                        {0}};

static const lab_case online_k_cases[] = {WORDS("words", 200000, 6, 1, 0.5, 1000, TABLE_5),
                                          TITLES("titles", 63620, 6, 1, 0.5, 1000, TABLE_5),
                                          RECORDS("records", 200000, 6, 1, 0.5, 1000),
                                          {0}};
static const lab_claim online_k_claims[] = {AS_CLAIMED, NO_WORSE, {0}};

/* The five tables together; each row of a table once. */
static const lab_case together_cases[] = {WORDS("5.1", 200000, 6, 1, 0.5, 0, TABLE_1),
                                          BY_N_WORDS,
                                          BY_R(WORDS, 100000),
                                          BY_D(WORDS, 100000),
                                          WORDS("5.5", 200000, 6, 1, 0.5, 1000, TABLE_5),
                                          {0}};
static const lab_claim together_claims[] = {
    {true, "Errors are within the deviations that follow from the theory.", as_claimed,
     "error at most the claimed deviation, times 1 + 4/sqrt(2 runs)", LAB_LEVEL},
    {false, "With the thesis's r errors are of the size that it prints, over all five tables.",
     no_worse_words, "all numbers of the tables together: a chance above 1% that both err alike",
     LAB_LEVEL},
    {0}};

static const lab_case online_w_cases[] = {WORDS("w = 250", 100000, 6, 4, 0.5, 250, NULL),
                                          WORDS("w = 1000", 100000, 6, 4, 0.5, 1000, NULL),
                                          WORDS("w = 4000", 100000, 6, 4, 0.5, 4000, NULL),
                                          WORDS("w = 16000", 100000, 6, 4, 0.5, 16000, NULL),
                                          TITLES("w = 250", 63620, 6, 4, 0.5, 250, NULL),
                                          TITLES("w = 1000", 63620, 6, 4, 0.5, 1000, NULL),
                                          TITLES("w = 4000", 63620, 6, 4, 0.5, 4000, NULL),
                                          TITLES("w = 16000", 63620, 6, 4, 0.5, 16000, NULL),
                                          RECORDS("w = 250", 100000, 6, 4, 0.5, 250),
                                          RECORDS("w = 1000", 100000, 6, 4, 0.5, 1000),
                                          RECORDS("w = 4000", 100000, 6, 4, 0.5, 4000),
                                          RECORDS("w = 16000", 100000, 6, 4, 0.5, 16000),
                                          {0}};
static const lab_claim online_w_claims[] = {AS_CLAIMED,
                                            {true, "The error falls with the width.", falls,
                                             "falls from the first row to the last", LAB_WORDS},
                                            {0}};

/* --- the entries ------------------------------------------------------------------------------ */

#define ERROR_FIGURE(title_, x_, log_)                                                             \
    {                                                                                              \
        {.title = title_,                                                                          \
         .x_label = x_,                                                                            \
         .y_label = "relative error (%)",                                                          \
         .x = x_,                                                                                  \
         .y = {"error", "claimed", "thesis"},                                                      \
         .log_x = log_,                                                                            \
         .log_y = true},                                                                           \
    }

#define COMMON_FIELDS(ns_)                                                                         \
    .file = LAB_FILE, .ns = ns_, .columns = error_columns, .quick = 20, .full = 100,               \
    .quick_seeds = 1, .full_seeds = 3, .run = run_errors, .cost = lab_pairs_cost,                  \
    .memory = lab_pairs_memory

#define DATA                                                                                       \
    "Titles of random words with the thesis's numbers of similar pairs, in its sizes; Debian's "   \
    "package descriptions; and records with one partner at most. "

#define LARGER_GROUPS                                                                              \
    "Debian's descriptions come in large groups of near-copies, DBLP's titles do not: the "        \
    "column of pairs at k = 4, divided by the records, has the partners of one title. What "       \
    "one of f such titles draws matters to f pairs at once; the numbers of pairs of a group "      \
    "deviate by 2 sqrt((1-p)/(p f)) of themselves, and the largest groups hold most pairs. The "   \
    "bound takes pairs as independent and leaves this out. No way for a title to draw its own "    \
    "subsets avoids it: each is drawn with probability p, whatever the others are. With all "      \
    "of them (r = 1, the default where they are at most 64) there is no error at all."

const lab_experiment lab_exp_pairs[] = {
    {.name = "pairs-table-5.1",
     .source = "Thesis, table 5.1",
     .title = "PairCount offline, by similarity",
     .claim = "With r = 0.5 on 200K titles the relative errors of the numbers of k-similar pairs "
              "are 0 (k = 6) to 1.35% (k = 5).",
     .method =
         DATA "200K titles of words and records, 63,620 of Debian's. d = 6, s = 1. Errors are rms "
              "over 20 runs (full: 100).",
     .reason = LARGER_GROUPS,
     .cases = by_k_cases,
     .claims = by_k_claims,
     .figures = {{.title = "Relative error by similarity",
                  .x_label = "agree in",
                  .y_label = "relative error (%)",
                  .x = "k",
                  .y = {"error", "claimed"},
                  .by_case = true,
                  .log_y = true}},
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS(45)},
    {.name = "pairs-table-5.2",
     .source = "Thesis, table 5.2",
     .title = "PairCount offline, by the number of records",
     .claim = "The error of the number of 4-similar pairs falls from 8.76% at 25K titles to 0.7 "
              "to 1.2% at 200K and 400K.",
     .method = DATA "d = 6, s = 4, r = 0.5.",
     .reason = LARGER_GROUPS,
     .cases = by_n_cases,
     .claims = by_n_claims,
     .figures = ERROR_FIGURE("Relative error against the number of records", "n", true),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS(45)},
    {.name = "pairs-table-5.3",
     .source = "Thesis, table 5.3",
     .title = "PairCount offline, by the sample",
     .claim = "The error falls as the sampling factor grows: at k = 5 7% with 0.25, 2.6% with 0.5, "
              "3.9% with 0.75.",
     .method = DATA "100K, as the thesis has; all 63,620 of Debian's. d = 6, s = 3.",
     .reason = LARGER_GROUPS,
     .cases = by_r_cases,
     .claims = by_r_claims,
     .figures = ERROR_FIGURE("Relative error against the sample", "r", false),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS(45)},
    {.name = "pairs-table-5.4",
     .source = "Thesis, table 5.4",
     .title = "PairCount offline, by the number of values",
     .claim = "For pairs that agree in 0.8 d values the error grows exponentially with d: 1.08% at "
              "4, 6.06% at 8.",
     .method = DATA "100K, as the thesis has; all 63,620 of Debian's. s is 0.8 d rounded, as the "
                    "printed error of d = 6, that of k = 5 in table 5.3, shows. r = 0.5.",
     .reason = LARGER_GROUPS,
     .cases = by_d_cases,
     .claims = by_d_claims,
     .figures = ERROR_FIGURE("Relative error against the number of values", "d", false),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS(45)},
    {.name = "pairs-table-5.5",
     .source = "Thesis, table 5.5",
     .title = "PairCount online, by similarity",
     .claim = "With sketches of 1000 x 3 counters on 200K titles the errors are 0.7 to 17%.",
     .method = DATA "As for table 5.1, with sketches.",
     .reason = LARGER_GROUPS,
     .cases = online_k_cases,
     .claims = online_k_claims,
     .figures = {{.title = "Relative error by similarity",
                  .x_label = "agree in",
                  .y_label = "relative error (%)",
                  .x = "k",
                  .y = {"error", "claimed"},
                  .by_case = true,
                  .log_y = true}},
     .quick_expected = LAB_REPRODUCED,
     .full_expected = LAB_REPRODUCED,
     COMMON_FIELDS(22)},
    {.name = "pairs-tables",
     .source = "Thesis, tables 5.1 to 5.5",
     .title = "PairCount with the thesis's sample, all its tables together",
     .claim = "With r = 0.5 (table 5.3: 0.25 to 0.75) the errors of k-similar pairs are 0.08 to "
              "8.76% offline, 0.7 to 17% online.",
     .method = "Titles of random words with the thesis's numbers of similar pairs, in its sizes: "
               "every row of the five tables, rms over 20 runs (full: 100). One table alone has "
               "five numbers or so, too few to tell errors that are larger by a half.",
     .reason = "The thesis's errors are each of one run on other titles. Ours are as the theory "
               "has them; smaller ones would be luck, or titles whose similar pairs do not share "
               "titles.",
     .file = LAB_FILE,
     .ns = 45,
     .columns = error_columns,
     .quick = 20,
     .full = 100,
     .quick_seeds = 1,
     .full_seeds = 1,
     .run = run_errors,
     .cost = lab_pairs_cost,
     .memory = lab_pairs_memory,
     .cases = together_cases,
     .claims = together_claims,
     .figures = {{.title = "Relative error, row by row",
                  .y_label = "relative error (%)",
                  .y = {"error", "thesis"},
                  .style = LAB_BARS}},
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE},
    {.name = "pairs-width",
     .source = "Thesis, theorem 9",
     .title = "PairCount online, by the width of the sketch",
     .claim = "The variance that the sketch adds falls with 1/w.",
     .method = DATA "100K; all 63,620 of Debian's. d = 6, s = 4, r = 0.5, sketches of w x 3.",
     .cases = online_w_cases,
     .claims = online_w_claims,
     .figures = ERROR_FIGURE("Relative error against the width", "w", true),
     .quick_expected = LAB_REPRODUCED,
     .full_expected = LAB_REPRODUCED,
     COMMON_FIELDS(22)},
    {0}};
