/* exp_pairs.c - PairCount against chapter 5 of the thesis: tables 5.1 to 5.7.
 *
 * Fan Deng, Approximation algorithms for stream frequency problems, section 5.5.
 * The thesis took 467,468 titles of DBLP, which it does not name further. Here are
 *
 *   titles    the short descriptions of Debian's packages, 63,620: each becomes d
 *             min-hashes of its words, one a value; the truth by comparing all
 *   records   generated, with a known number of pairs (lab_records.h)
 *
 * A printed error is that of one run on other data. So each case is run many times
 * (the size of an experiment is the number of runs) and the root of the mean
 * square is what is compared, with the deviation that weir claims and with the
 * thesis's numbers. Pairs are counted as the thesis does: ordered, and each record
 * with itself, which matters for k = d alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_experiment.h"
#include "lab_file.h"
#include "lab_records.h"
#include "lab_stream.h"

enum { P_RECORDS, P_D, P_S, P_SAMPLE, P_WIDTH, P_QUICK };
/* Parameters of a case; width 0: offline; P_QUICK: records of a quick run, 0: as many. */
enum { DEPTH = 3, MOST_D = 8, BATCH = 4096 };

/* --- data --------------------------------------------------------------------------- */

typedef struct {
    uint64_t *rows;
    size_t n;
    unsigned d, s;
    double truth[65]; /* [k] pairs that agree in exactly k, in no order */
} table;

static uint64_t *row_of(const table *t, size_t i) { return t->rows + i * t->d; }

/* Words to values: any summary knows how, so the smallest. */
static weir_status new_maker(weir_pairs **out, lab_unit *unit, unsigned d) {
    char spec[160];
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,from=text,method=online,width=16,depth=1,witnesses=0,seed=%llu", d,
             (unsigned long long)unit->seed);
    return weir_pairs_new(out, spec, &unit->error);
}

static weir_status read_titles(table *t, lab_unit *unit, size_t most) {
    lab_file *file = NULL;
    weir_pairs *maker = NULL;
    weir_status status = lab_real_open(&file, lab_real_find("package_titles"), &unit->error);
    if (!status) status = new_maker(&maker, unit, t->d);
    for (weir_field field; !status && t->n < most;) {
        field.bytes = lab_file_text(file, &field.length);
        if (!field.bytes) break;
        if (weir_pairs_row(maker, &field, 1, row_of(t, t->n)) == WEIR_ROW_OK) t->n++;
    }
    if (!status) status = lab_file_check(file, &unit->error);
    weir_pairs_free(maker);
    lab_file_free(file);
    if (status) return status;
    weir_exact_options how = {.columns = t->d, .threshold = t->s};
    weir_pairs_answer exact;
    status = weir_pairs_exact(&how, t->rows, t->n, NULL, 0, &exact, &unit->error);
    memcpy(t->truth, exact.count, sizeof t->truth);
    return status;
}

static weir_status draw_records(table *t, lab_unit *unit, size_t most) {
    lab_records records;
    char spec[128];
    snprintf(spec, sizeof spec, "%s,d=%u,n=%zu", unit->c->stream, t->d, most);
    weir_status status = lab_records_init(&records, spec, unit->seed, &unit->error);
    while (!status && t->n < most && lab_records_next(&records, row_of(t, t->n))) t->n++;
    for (unsigned k = 1; !status && k <= t->d; k++) t->truth[k] = (double)records.pairs[k];
    return status;
}

static weir_status new_table(table *t, lab_unit *unit) {
    const double *p = unit->c->p;
    size_t most = (size_t)(!unit->full && p[P_QUICK] > 0 ? p[P_QUICK] : p[P_RECORDS]);
    *t = (table){.d = (unsigned)p[P_D], .s = (unsigned)p[P_S]};
    t->rows = malloc(most * t->d * sizeof *t->rows);
    if (!t->rows) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for %zu records", most);
    return !strcmp(unit->c->stream, "titles") ? read_titles(t, unit, most)
                                              : draw_records(t, unit, most);
}

static double records_memory(const lab_case *c, double size, double scale) {
    (void)size, (void)scale;
    double words = c->p[P_WIDTH] > 0 ? 0 : exp2(c->p[P_D]) * c->p[P_SAMPLE];
    return c->p[P_RECORDS] * 8 * (c->p[P_D] + 2 * words);
}

static double records_cost(const lab_case *c, double size, double scale) {
    (void)scale;
    return size * c->p[P_RECORDS];
}

/* --- runs ----------------------------------------------------------------------------- */

/* Squared errors so far of one way to estimate. */
typedef struct {
    double square[65], claimed[65]; /* [k]: of the count, and its variance as claimed */
    double similar, bound;          /* of s or more, and by the thesis's theorems */
    double runs;
} errors;

static void take(errors *e, const table *t, const weir_pairs_answer *a) {
    double similar = 0;
    for (unsigned k = t->s; k <= t->d; k++) {
        e->square[k] += pow(a->count[k] - t->truth[k], 2);
        e->claimed[k] += pow(a->deviation[k], 2);
        similar += t->truth[k];
    }
    e->similar += pow(a->similar - similar, 2);
    e->bound += pow(a->similar_bound, 2);
    e->runs++;
}

/* As the thesis counts. */
static double thesis_truth(const table *t, unsigned k) {
    return 2 * t->truth[k] + (k == t->d ? (double)t->n : 0);
}

static double percent(const errors *e, double squares, double truth) {
    return truth > 0 ? 100 * 2 * sqrt(squares / e->runs) / truth : NAN;
}

static weir_status fill(weir_pairs **out, lab_unit *unit, const table *t, const char *spec) {
    weir_status status = weir_pairs_new(out, spec, &unit->error);
    for (size_t i = 0; !status && i < t->n; i += BATCH) {
        size_t count = t->n - i < BATCH ? t->n - i : BATCH;
        status = weir_pairs_add(*out, i, row_of(t, i), count, &unit->error);
    }
    return status;
}

/* PairCount once; `bytes`, if wanted: what its sketches take. */
static weir_status count_pairs(lab_unit *unit, const table *t, uint64_t run, unsigned witnesses,
                               errors *e, double *bytes) {
    char spec[256], online[64] = "";
    weir_pairs *pairs = NULL;
    weir_pairs_answer answer;
    unsigned long long seed = lab_hash_id(run, unit->seed);
    if (unit->c->p[P_WIDTH] > 0)
        snprintf(online, sizeof online, ",method=online,width=%.0f,depth=%d", unit->c->p[P_WIDTH],
                 DEPTH);
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,threshold=%u,sample=%g,witnesses=%u,seed=%llu,draw=%llu%s", t->d,
             t->s, unit->c->p[P_SAMPLE], witnesses, seed >> 1, seed >> 2, online);
    weir_status status = fill(&pairs, unit, t, spec);
    if (!status) status = weir_pairs_self(pairs, &answer, &unit->error);
    if (!status) {
        weir_pairs_info info;
        weir_pairs_get_info(pairs, &info);
        if (bytes) *bytes = (double)info.memory;
        take(e, t, &answer);
    }
    weir_pairs_free(pairs);
    return status;
}

/* Random sampling once, of so many records. */
static weir_status sample_pairs(lab_unit *unit, const table *t, uint64_t run, double records,
                                errors *e) {
    char spec[256];
    weir_pairs *pairs = NULL;
    weir_pairs_answer answer = {0};
    unsigned long long seed = lab_hash_id(run, ~unit->seed);
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,threshold=%u,sample=1e-9,method=online,width=16,depth=1,"
             "witnesses=%.0f,seed=%llu,draw=%llu",
             t->d, t->s, records, seed >> 1, seed >> 2);
    weir_status status = fill(&pairs, unit, t, spec);
    if (!status) status = weir_pairs_sampled(pairs, NULL, &answer, &unit->error);
    if (!status) take(e, t, &answer);
    weir_pairs_free(pairs);
    return status;
}

/* --- tables 5.1 to 5.6 ------------------------------------------------------------------- */

static const lab_column error_columns[] = {
    {"n", "records", NULL, true, 0, 0},
    {"d", "values", NULL, true, 0, 0},
    {"r", "sample", NULL, true, 0, 0},
    {"w", "width", NULL, true, 0, 0},
    {"k", "agree in", NULL, true, 0, 0},
    {"truth", "pairs, as the thesis counts", NULL, false, 0, 0},
    {"error", "error (rms)", "%", false, 0, 0},
    {"claimed", "deviation as claimed", "%", false, 0, 0},
    {"thesis", "the thesis's error, one run", "%", true, 0, 0},
    {"of_bound", "error of s or more, of the thesis's bound", "%", false, 0, 0},
    {"runs", "runs", NULL, true, 0, 0},
    {0}};

/* The case's `filter` has the printed errors, without signs, one for each row. */
static double next_printed(const char **at) {
    char *end;
    if (!*at) return NAN;
    double printed = strtod(*at, &end);
    if (end == *at) return NAN;
    *at = end;
    return printed;
}

static weir_status emit_errors(lab_unit *unit, const table *t, const errors *e) {
    const char *printed = unit->c->filter;
    weir_status status = WEIR_OK;
    for (unsigned k = t->d; !status && k >= t->s; k--) {
        double truth = thesis_truth(t, k);
        double row[] = {(double)t->n,
                        t->d,
                        unit->c->p[P_SAMPLE],
                        unit->c->p[P_WIDTH],
                        k,
                        truth,
                        percent(e, e->square[k], truth),
                        percent(e, e->claimed[k], truth),
                        next_printed(&printed),
                        100 * sqrt(e->similar / e->bound),
                        e->runs};
        status = lab_emit(unit, row);
    }
    return status;
}

static weir_status run_errors(lab_unit *unit) {
    table t;
    errors e = {0};
    weir_status status = new_table(&t, unit);
    for (uint64_t run = 0; !status && run < (uint64_t)unit->size; run++) {
        status = count_pairs(unit, &t, run, 1024, &e, NULL);
        if (!lab_tick(unit, t.n)) break;
    }
    if (!status && e.runs > 0) status = emit_errors(unit, &t, &e);
    free(t.rows);
    return status;
}

/* The rms of n normal errors strays by 1/sqrt(2n) of itself; four times that has a
 * chance of 3 in 100,000. */
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

static bool within_bound(const lab_result *r, lab_words *found) {
    double titles = 0, records = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double *most = strcmp(lab_case_at(r, c)->panel, "titles") ? &records : &titles;
        *most = fmax(*most, lab_mean(r, c, -1, "of_bound"));
    }
    return lab_say(found, titles < 100 && records < 100,
                   "The error of s or more is at most %.0f%% of the bound on titles, %.0f%% on "
                   "generated records.",
                   titles, records);
}

/* Root mean squares over all numbers that the thesis prints. */
static bool no_worse(const lab_result *r, lab_words *found) {
    double ours = 0, theirs = 0;
    unsigned count = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double printed = lab_mean(r, c, row, "thesis"), error = lab_mean(r, c, row, "error");
            if (isnan(printed) || isnan(error)) continue;
            ours += error * error;
            theirs += printed * printed;
            count++;
        }
    if (!count) return lab_say(found, false, "Nothing to compare was run.");
    return lab_say(found, ours <= theirs,
                   "Over %u numbers ours is off by %.2f%% (rms), the thesis's by %.2f%%.", count,
                   sqrt(ours / count), sqrt(theirs / count));
}

/* Is the error of k = s in the last case of a panel smaller (larger) than in the
 * first? ends: x and error of both. */
static bool moves(const lab_result *r, const char *panel, const char *by, bool falls,
                  double ends[4]) {
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c) || strcmp(lab_case_at(r, c)->panel, panel) != 0) continue;
        double error = lab_mean(r, c, -1, "error"), x = lab_mean(r, c, -1, by);
        if (isnan(ends[0])) ends[0] = x, ends[1] = error;
        ends[2] = x, ends[3] = error;
    }
    return falls ? ends[3] < ends[1] : ends[3] > ends[1];
}

static bool falls_with(const lab_result *r, const char *by, lab_words *found) {
    double t[4] = {NAN, NAN, NAN, NAN}, g[4] = {NAN, NAN, NAN, NAN};
    bool holds = moves(r, "titles", by, true, t);
    holds &= moves(r, "records", by, true, g);
    return lab_say(found, holds,
                   "On titles from %.2f%% at %s = %g to %.2f%% at %g; on generated records from "
                   "%.2f%% at %g to %.2f%% at %g.",
                   t[1], by, t[0], t[3], t[2], g[1], g[0], g[3], g[2]);
}

static bool falls_with_n(const lab_result *r, lab_words *found) {
    return falls_with(r, "n", found);
}
static bool falls_with_r(const lab_result *r, lab_words *found) {
    return falls_with(r, "r", found);
}
static bool falls_with_w(const lab_result *r, lab_words *found) {
    return falls_with(r, "w", found);
}

static bool rises_with_d(const lab_result *r, lab_words *found) {
    double t[4] = {NAN, NAN, NAN, NAN}, g[4] = {NAN, NAN, NAN, NAN};
    bool holds = moves(r, "titles", "d", false, t);
    holds &= moves(r, "records", "d", false, g);
    return lab_say(found, holds,
                   "On titles from %.2f%% at d = %g to %.2f%% at %g; on generated records from "
                   "%.2f%% to %.2f%%, where the step is that from d - s = 1 to 2.",
                   t[1], t[0], t[3], t[2], g[1], g[3]);
}

#define CASE(panel_, stream_, label_, n, d, s, r, w, quick, printed)                               \
    {                                                                                              \
        .panel = panel_, .label = label_, .stream = stream_, .filter = printed, .p = {             \
            n,                                                                                     \
            d,                                                                                     \
            s,                                                                                     \
            r,                                                                                     \
            w,                                                                                     \
            quick                                                                                  \
        }                                                                                          \
    }
#define EVENLY "records:share=1,least=1"
#define TITLES(label_, n, d, s, r, w, printed)                                                     \
    CASE("titles", "titles", label_, n, d, s, r, w, 0, printed)
#define ALL_TITLES(label_, d, s, r, w, printed)                                                    \
    CASE("titles", "titles", label_, 63620, d, s, r, w, 20000, printed)
#define RECORDS(label_, n, d, s, r, w, printed)                                                    \
    CASE("records", EVENLY, label_, n, d, s, r, w, (n) / 4.0, printed)

#define AS_CLAIMED                                                                                 \
    {true, "Errors are within the deviations that follow from the theory.", as_claimed}, {         \
        false, "Errors are within the thesis's bound (theorem 7; online theorem 9).", within_bound \
    }
#define NO_WORSE                                                                                   \
    { false, "Errors are of the size that the thesis prints, or smaller.", no_worse }

static const lab_case by_k_cases[] = {
    ALL_TITLES("titles", 6, 1, 0.5, 0, "0 1.35 0.68 0.79 0.14 0.08"),
    RECORDS("records", 200000, 6, 1, 0.5, 0, NULL),
    {0}};
static const lab_claim by_k_claims[] = {AS_CLAIMED, NO_WORSE, {0}};

static const lab_case by_n_cases[] = {TITLES("12.5K titles", 12500, 6, 4, 0.5, 0, NULL),
                                      TITLES("25K titles", 25000, 6, 4, 0.5, 0, "nan nan 8.76"),
                                      TITLES("50K titles", 50000, 6, 4, 0.5, 0, "nan nan 5.11"),
                                      RECORDS("n/16", 25000, 6, 4, 0.5, 0, NULL),
                                      RECORDS("n/4", 100000, 6, 4, 0.5, 0, NULL),
                                      RECORDS("n", 400000, 6, 4, 0.5, 0, NULL),
                                      {0}};
static const lab_claim by_n_claims[] = {
    AS_CLAIMED, NO_WORSE, {true, "The error falls as the data grow.", falls_with_n}, {0}};

static const lab_case by_r_cases[] = {ALL_TITLES("r = 0.25", 6, 3, 0.25, 0, "nan 6.97 3.93 2.20"),
                                      ALL_TITLES("r = 0.5", 6, 3, 0.5, 0, "nan 2.6 1.3 1.3"),
                                      ALL_TITLES("r = 0.75", 6, 3, 0.75, 0, "nan 3.89 2.47 1.08"),
                                      RECORDS("r = 0.25", 100000, 6, 3, 0.25, 0, NULL),
                                      RECORDS("r = 0.5", 100000, 6, 3, 0.5, 0, NULL),
                                      RECORDS("r = 0.75", 100000, 6, 3, 0.75, 0, NULL),
                                      {0}};
static const lab_claim by_r_claims[] = {
    AS_CLAIMED, NO_WORSE, {true, "The error falls as the sample grows.", falls_with_r}, {0}};

static const lab_case by_d_cases[] = {ALL_TITLES("3 of 4", 4, 3, 0.5, 0, "nan 1.08"),
                                      ALL_TITLES("4 of 5", 5, 4, 0.5, 0, "nan 0.53"),
                                      ALL_TITLES("5 of 6", 6, 5, 0.5, 0, "nan 2.60"),
                                      ALL_TITLES("6 of 7", 7, 6, 0.5, 0, "nan 3.91"),
                                      ALL_TITLES("6 of 8", 8, 6, 0.5, 0, "nan nan 6.06"),
                                      RECORDS("3 of 4", 100000, 4, 3, 0.5, 0, NULL),
                                      RECORDS("4 of 5", 100000, 5, 4, 0.5, 0, NULL),
                                      RECORDS("5 of 6", 100000, 6, 5, 0.5, 0, NULL),
                                      RECORDS("6 of 7", 100000, 7, 6, 0.5, 0, NULL),
                                      RECORDS("6 of 8", 100000, 8, 6, 0.5, 0, NULL),
                                      {0}};
static const lab_claim by_d_claims[] = {
    AS_CLAIMED, NO_WORSE, {true, "The error grows with the number of values.", rises_with_d}, {0}};

static const lab_case online_k_cases[] = {
    ALL_TITLES("titles", 6, 1, 0.5, 1000, "0.69 16.89 16.86 11.89 6.55 6.62"),
    RECORDS("records", 200000, 6, 1, 0.5, 1000, NULL),
    {0}};

static const lab_case online_w_cases[] = {ALL_TITLES("w = 250", 6, 4, 0.5, 250, NULL),
                                          ALL_TITLES("w = 1000", 6, 4, 0.5, 1000, NULL),
                                          ALL_TITLES("w = 4000", 6, 4, 0.5, 4000, NULL),
                                          ALL_TITLES("w = 16000", 6, 4, 0.5, 16000, NULL),
                                          RECORDS("w = 250", 100000, 6, 4, 0.5, 250, NULL),
                                          RECORDS("w = 1000", 100000, 6, 4, 0.5, 1000, NULL),
                                          RECORDS("w = 4000", 100000, 6, 4, 0.5, 4000, NULL),
                                          RECORDS("w = 16000", 100000, 6, 4, 0.5, 16000, NULL),
                                          {0}};
static const lab_claim online_w_claims[] = {
    AS_CLAIMED, {true, "The error falls with the root of the width.", falls_with_w}, {0}};

/* --- tables 5.6 and 5.7: PairCount and random sampling ------------------------------------- */

enum { SAMPLE_OF_THESIS = 750 };

static const lab_column rival_columns[] = {
    {"n", "records", NULL, true, 0, 0},
    {"k", "agree in", NULL, true, 0, 0},
    {"truth", "pairs, as the thesis counts", NULL, false, 0, 0},
    {"pairs", "PairCount", "%", false, 0, 0},
    {"sample", "sampling, 750 records", "%", false, 0, 0},
    {"equal", "sampling in the same bytes", "%", false, 0, 0},
    {"records", "records in the same bytes", NULL, false, 0, 0},
    {"thesis", "the thesis's PairCount, one run", "%", true, 0, 0},
    {"thesis_sample", "its sampling, one run", "%", true, 0, 0},
    {0}};

/* The three estimators side by side: PairCount first, it says how much memory. */
static weir_status run_all(lab_unit *unit, const table *t, errors e[3], double *records) {
    weir_status status = WEIR_OK;
    double bytes = 0;
    for (uint64_t run = 0; !status && run < (uint64_t)unit->size; run++) {
        status = count_pairs(unit, t, run, 0, &e[0], &bytes);
        *records = floor(bytes / 8 / t->d);
        if (!status) status = sample_pairs(unit, t, run, SAMPLE_OF_THESIS, &e[1]);
        if (!status) status = sample_pairs(unit, t, run, *records, &e[2]);
        if (!lab_tick(unit, t->n)) break;
    }
    return status;
}

static weir_status run_rival(lab_unit *unit) {
    table t;
    errors e[3] = {0};
    double records = 0;
    const char *printed = unit->c->filter;
    weir_status status = new_table(&t, unit);
    if (!status) status = run_all(unit, &t, e, &records);
    for (unsigned k = t.d; !status && e[2].runs > 0 && k >= t.s; k--) {
        double truth = thesis_truth(&t, k), row[9] = {(double)t.n, k, truth};
        for (int i = 0; i < 3; i++) row[3 + i] = percent(&e[i], e[i].square[k], truth);
        row[6] = records;
        row[7] = next_printed(&printed);
        row[8] = next_printed(&printed);
        status = lab_emit(unit, row);
    }
    free(t.rows);
    return status;
}

/* A ratio of two rms of 20 runs that err alike is above 1.5 in 4% of all cases. */
#define CLEARLY 1.5

/* Where PairCount is clearly better than `rival` at k = 4, and where it is not. */
static unsigned wins(const lab_result *r, const char *rival, lab_words *where, lab_words *where_not,
                     unsigned *cases) {
    unsigned won = 0;
    *cases = 0;
    where->text[0] = where_not->text[0] = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double ratio = lab_mean(r, c, -1, rival) / lab_mean(r, c, -1, "pairs");
        lab_words *list = ratio > CLEARLY ? where : where_not;
        size_t used = strlen(list->text);
        snprintf(list->text + used, sizeof list->text - used, "%s%s (%.2f)", used ? ", " : "",
                 lab_case_at(r, c)->label, ratio);
        won += ratio > CLEARLY;
        ++*cases;
    }
    return won;
}

static bool beats(const lab_result *r, const char *rival, lab_words *found) {
    lab_words where, where_not;
    unsigned cases, won = wins(r, rival, &where, &where_not, &cases);
    return lab_say(
        found, cases && won == cases,
        "Sampling's error at k = 4 as a multiple of PairCount's, clearly more at: %.180s; not "
        "clearly more at: %.180s.",
        won ? where.text : "none", won < cases ? where_not.text : "none");
}

static bool beats_750(const lab_result *r, lab_words *found) { return beats(r, "sample", found); }
static bool beats_equal(const lab_result *r, lab_words *found) { return beats(r, "equal", found); }

static double gain(const lab_result *r, size_t c) {
    return lab_mean(r, c, -1, "equal") / lab_mean(r, c, -1, "pairs");
}

/* In each panel: does PairCount gain on sampling from case to case? */
static bool gains_with_n(const lab_result *r, lab_words *found) {
    bool holds = true;
    size_t before = lab_cases(r);
    found->text[0] = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        bool same = before < c && !strcmp(lab_case_at(r, c)->panel, lab_case_at(r, before)->panel);
        if (same) {
            size_t used = strlen(found->text);
            snprintf(found->text + used, sizeof found->text - used,
                     "%sfrom %s to %s sampling's error goes from %.2f to %.2f times PairCount's",
                     used ? "; " : "In the same bytes, ", lab_case_at(r, before)->label,
                     lab_case_at(r, c)->label, gain(r, before), gain(r, c));
            holds &= gain(r, c) > gain(r, before);
        }
        before = c;
    }
    return holds;
}

#define IN_PAIRS "records:share=1,least=4"

static const lab_case rival_cases[] = {
    TITLES("15K titles", 15000, 6, 4, 0.5, 1000, NULL),
    TITLES("30K titles", 30000, 6, 4, 0.5, 1000, NULL),
    TITLES("63,620 titles", 63620, 6, 4, 0.5, 1000, "0.69 56 16.89 25.47 16.86 66.25"),
    CASE("records", IN_PAIRS, "20K records", 20000, 6, 4, 0.5, 1000, 0, NULL),
    CASE("records", IN_PAIRS, "200K records", 200000, 6, 4, 0.5, 1000, 0, NULL),
    {.panel = "records",
     .label = "2M records",
     .stream = IN_PAIRS,
     .p = {2e6, 6, 4, 0.5, 1000},
     .when = LAB_FULL_ONLY},
    {0}};

static const lab_claim rival_claims[] = {
    {false, "PairCount is significantly more accurate than random sampling of 750 records.",
     beats_750},
    {false, "The same when sampling gets the bytes that PairCount really takes.", beats_equal},
    {true, "In the same memory PairCount gains on sampling as the data grow.", gains_with_n},
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

#define COMMON_FIELDS                                                                              \
    .file = LAB_FILE, .columns = error_columns, .quick = 10, .full = 100, .quick_seeds = 1,        \
    .full_seeds = 3, .run = run_errors, .cost = records_cost, .memory = records_memory

#define DATA "Debian's package descriptions in place of DBLP's titles, d min-hashes of the words; "

#define LARGER_GROUPS                                                                              \
    "Debian's descriptions come in larger groups of near-copies: with d = 6 a title has 52 "       \
    "others that agree in exactly 4 (3,294,426 ordered pairs of 63,620), the thesis's 8.5 "        \
    "(1,690,036 of 200K). What one title draws then matters to many pairs at once, which the "     \
    "bound, taking pairs as independent, leaves out. Generated records have one partner at "       \
    "most, and there the bound holds."

const lab_experiment lab_exp_pairs[] = {
    {.name = "pairs-table-5.1",
     .source = "Thesis, table 5.1",
     .title = "PairCount offline, by similarity",
     .claim = "With r = 0.5 on 200K titles the relative errors of the numbers of k-similar pairs "
              "are 0 (k = 6) to 1.35% (k = 5).",
     .method = DATA "all 63,620 (quick: 20K). Generated: 200K records (quick: 50K), half of them "
                    "near-copies, k = 1 to 6 "
                    "equally often. d = 6, s = 1. Errors are rms over 10 runs (full: 100).",
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
     COMMON_FIELDS},
    {.name = "pairs-table-5.2",
     .source = "Thesis, table 5.2",
     .title = "PairCount offline, by the number of records",
     .claim = "The error of the number of 4-similar pairs falls from 8.76% at 25K titles to 0.7 "
              "to 1.2% at 200K and 400K.",
     .method = DATA "the first 12.5K, 25K and 50K. Generated: 25K to 400K (quick: a quarter). d = "
                    "6, s = 4, r = 0.5.",
     .reason = LARGER_GROUPS,
     .cases = by_n_cases,
     .claims = by_n_claims,
     .figures = ERROR_FIGURE("Relative error against the number of records", "n", true),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS},
    {.name = "pairs-table-5.3",
     .source = "Thesis, table 5.3",
     .title = "PairCount offline, by the sample",
     .claim = "The error falls as the sampling factor grows: at k = 5 7% with 0.25, 2.6% with 0.5, "
              "3.9% with 0.75.",
     .method = DATA "all 63,620 (quick: 20K) where the thesis has 100K. Generated: 100K (quick: "
                    "25K). d = 6, s = 3.",
     .reason = LARGER_GROUPS,
     .cases = by_r_cases,
     .claims = by_r_claims,
     .figures = ERROR_FIGURE("Relative error against the sample", "r", false),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS},
    {.name = "pairs-table-5.4",
     .source = "Thesis, table 5.4",
     .title = "PairCount offline, by the number of values",
     .claim = "For pairs that agree in 0.8 d values the error grows exponentially with d: 1.08% at "
              "4, 6.06% at 8.",
     .method = DATA "all 63,620 (quick: 20K) where the thesis has 100K. Generated: 100K (quick: "
                    "25K). s is 0.8 d rounded, "
                    "as the printed error of d = 6, that of k = 5 in table 5.3, shows. r = 0.5.",
     .reason = LARGER_GROUPS,
     .cases = by_d_cases,
     .claims = by_d_claims,
     .figures = ERROR_FIGURE("Relative error against the number of values", "d", false),
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     COMMON_FIELDS},
    {.name = "pairs-table-5.5",
     .source = "Thesis, table 5.5",
     .title = "PairCount online, by similarity",
     .claim = "With sketches of 1000 x 3 counters on 200K titles the errors are 0.7 to 17%.",
     .method = DATA "all 63,620 (quick: 20K). Generated: 200K records (quick: 50K) as for table "
                    "5.1. d = 6, s = 1, r = 0.5.",
     .reason =
         "A quick run has a tenth of the thesis's titles, and the fewer they are the larger is "
         "the error of a sketch beside what is counted: over ten runs it was 22.0% (rms of "
         "the six numbers) with 20K titles and 10.4% with all 63,620, where the thesis has "
         "11.5%.",
     .cases = online_k_cases,
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
     COMMON_FIELDS},
    {.name = "pairs-width",
     .source = "Thesis, theorem 9",
     .title = "PairCount online, by the width of the sketch",
     .claim = "The variance that the sketch adds falls with 1/w.",
     .method = DATA "all 63,620 (quick: 20K). Generated: 100K (quick: 25K). d = 6, s = 4, r = 0.5, "
                    "sketches of w x 3.",
     .cases = online_w_cases,
     .claims = online_w_claims,
     .figures = ERROR_FIGURE("Relative error against the width", "w", true),
     .quick_expected = LAB_REPRODUCED,
     .full_expected = LAB_REPRODUCED,
     COMMON_FIELDS},
    {.name = "pairs-table-5.7",
     .file = LAB_FILE,
     .source = "Thesis, tables 5.6 and 5.7",
     .title = "PairCount online and random sampling in the same memory",
     .claim = "With 9000 counters PairCount is significantly more accurate than a sample of 750 "
              "records, on 200K, 300K and 400K titles; its error falls as the data grow.",
     .method =
         DATA "15K and 63,620. Generated: records in pairs that agree in 4, 5 or 6 values, and "
              "the same with every record 64 times. w = 1000, depth 3, s = 4, r = 0.5. 750 "
              "records is the thesis's reckoning, with counters of 4 bytes; the same bytes is "
              "what the summary really holds. Clearly: an rms error 1.5 times as large.",
     .reason =
         "The order depends on the number x of similar pairs more than on n. Where few records "
         "are alike PairCount's error at k = 4 is a multiple of n (measured: about 1.3 n "
         "pairs in no order), that of a sample of R records about n sqrt(x) / R: so it takes "
         "x = (1.3 R)^2 pairs to be even, 1 million for R = 750 and 4 million for "
         "the same bytes. Titles get there because x grows with n^2, and sooner because "
         "their groups disturb a sample too; records in pairs have x = n/6.",
     .columns = rival_columns,
     .cases = rival_cases,
     .claims = rival_claims,
     .figures = {{.title = "Error at k = 4 against the number of records",
                  .x_label = "records",
                  .y_label = "relative error (%)",
                  .x = "n",
                  .y = {"pairs", "equal"},
                  .log_x = true,
                  .log_y = true,
                  .claim = 1}},
     .quick = 20,
     .full = 100,
     .quick_seeds = 1,
     .full_seeds = 3,
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     .run = run_rival,
     .cost = records_cost,
     .memory = records_memory},
    {0}};
