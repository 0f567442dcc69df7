/* exp_importance.c - the importance-aware Bloom filter (IBF) against its paper.
 *
 * Kulkarni, Boraskar, Gabale, Kulkarni, section 4 and table II: 16384 cells, M = 7, K = 5, P = 10,
 * the P cells drawn one by one; H lowers P cells. (P = 10 is said to keep false positives under
 * 20%, but by the paper's own chain SBF tends to (1 - (2/3)^7)^5 = 74% and 2C to 59%; the streams
 * end long before.) BF is M-insert with M = 1 and no deletion, SBF sets every key's cells to M.
 *
 * Rates are shares of all queries, as the definitions of section IV-B have it: their sums run
 * over all n queries, and those by importance are divided by all elements of an importance. So
 * read, the headline (MC: FN 8.91%, wFN 4.76%) can come about; as shares of the repeats alone,
 * which is what false negative rates mean elsewhere and what the columns "of repeats" show, it
 * cannot. wFP and wFN are printed as sums but shown as percentages: sums of importances over that
 * of all queries.
 *
 * The length of the trace is not in the text. Of the campus trace that it names 12,955 requests are
 * known, a quarter of them repeats; 16,000 records, 23% repeats, give a Bloom filter of K = 5 about
 * the 34.81% of table I.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/fading/importance.h"
#include "lab_experiment.h"
#include "lab_firsts.h"
#include "lab_rng.h"
#include "lab_stream.h"

enum { CELLS = 16384, LEVELS = 50, K = 5, P = 10, MAX = 7, BATCH = 64 };

/* Three bits a cell, 21 cells to a word. */
#define CELL_BYTES ((CELLS + 20) / 21 * 8)

#define IBF_READING(mode, cells)                                                                   \
    "importance:layout=classic,decrement=" cells                                                   \
    ",max=7,k=5,mix=even,scale=linear,low=0,high=50,mode=" mode
#define IBF_SPEC(mode) IBF_READING(mode, "random")

/* All keys as important as can be: the stable filter with the same numbers. */
#define SBF_SPEC IBF_SPEC("mc")

/* --- a stream with importances, and what a filter makes of it ------------------------------ */

typedef struct {
    size_t count;
    uint64_t *ids, *tags; /* tags: importances 1 to LEVELS */
    uint64_t *first;      /* bitmap */
} rated_stream;

/* By importance; 0 holds the sums over all. */
typedef struct {
    double firsts[LEVELS + 1], repeats[LEVELS + 1];
    double false_seen[LEVELS + 1], false_new[LEVELS + 1];
} rated_tally;

static void release(rated_stream *s) {
    free(s->ids);
    free(s->tags);
    free(s->first);
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sizes become importances: by rank, or proportional up to the 90th percentile
 * and LEVELS beyond it, as for the two data sets of the paper. */
static bool rate_by_size(rated_stream *s, bool by_rank) {
    uint64_t *sorted = malloc((s->count + 1) * sizeof *sorted);
    if (!sorted) return false;
    memcpy(sorted, s->tags, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, by_value);
    size_t ninth = s->count / 10 * 9;
    double cap = (double)sorted[ninth];
    for (size_t i = 0; i < s->count; i++) {
        size_t low = 0, high = s->count; /* how many are smaller */
        while (by_rank && low < high) {
            size_t middle = (low + high) / 2;
            if (sorted[middle] < s->tags[i]) low = middle + 1;
            else high = middle;
        }
        double share = by_rank ? (double)low / (double)s->count : (double)s->tags[i] / cap;
        s->tags[i] = share >= 1 ? LEVELS : (uint64_t)(share * (LEVELS - 1)) + 1;
    }
    free(sorted);
    return true;
}

static weir_status draw(rated_stream *s, lab_unit *unit, const char *spec, size_t most) {
    lab_stream *stream;
    lab_firsts *truth = NULL;
    *s = (rated_stream){0};
    weir_status status = lab_stream_new(&stream, spec, unit->seed, &unit->error);
    if (status) return status;
    s->ids = malloc(most * sizeof *s->ids);
    s->tags = malloc(most * sizeof *s->tags);
    s->first = calloc(most / 64 + 1, sizeof *s->first);
    status = lab_firsts_new(&truth, lab_stream_universe(stream), &unit->error);
    if (!status && s->ids && s->tags && s->first) {
        s->count = lab_stream_next_tagged(stream, s->ids, s->tags, most);
        status = lab_stream_check(stream, &unit->error);
    }
    if (!status && s->count) status = lab_firsts_next(truth, s->ids, s->count, s->first);
    else if (!status) status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the stream");
    lab_firsts_free(truth);
    lab_stream_free(stream);
    return status;
}

/* The case's stream: drawn with importances, or a trace whose sizes are rated. */
static weir_status draw_case(rated_stream *s, lab_unit *unit) {
    char spec[128];
    if (unit->c->stream && strchr(unit->c->stream, ':')) {
        snprintf(spec, sizeof spec, "%s,n=%.0f", unit->c->stream, unit->size);
        return draw(s, unit, spec, (size_t)unit->size);
    }
    weir_status status = draw(s, unit, unit->c->stream, (size_t)unit->size);
    if (!status && !rate_by_size(s, unit->c->p[0] > 0))
        status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the stream");
    return status;
}

static bool is_stable(const lab_case *c) { return !strcmp(c->label, "SBF"); }

/* The shares of the levels when importances 1 to LEVELS are equally frequent: not quite alike,
 * since the classes do not divide them. One on a cut goes to the higher class. */
static void drawn_shares(weir__importance_mode mode, double shares[WEIR__LEVELS]) {
    unsigned classes = weir__importance_classes(mode, MAX);
    for (unsigned v = 0; v < WEIR__LEVELS; v++) shares[v] = 0;
    for (unsigned x = 1; x <= LEVELS; x++) {
        unsigned grade = x * classes / LEVELS + 1;
        if (grade > classes) grade = classes;
        shares[weir__importance_level(mode, MAX, grade)] += 1.0 / LEVELS;
    }
}

/* The chain of a case's cells, if all importances are equally frequent. */
static weir__decay chain_of(const lab_case *c) {
    double shares[WEIR__LEVELS];
    weir__importance_mode mode = !strcmp(c->label, "IBF-2C")  ? WEIR__MODE_2C
                                 : !strcmp(c->label, "IBF-H") ? WEIR__MODE_H
                                                              : WEIR__MODE_MC;
    drawn_shares(mode, shares);
    return weir__importance_decay(mode, false, MAX, CELL_BYTES, is_stable(c) ? NULL : shares);
}

/* The chain chooses cells and lowers one of value v with chance 1/v; H lowers P cells. So many
 * have to be chosen. */
static double chosen_of(const lab_case *c) {
    double shares[WEIR__LEVELS], low = P, high = 100 * P;
    weir__decay d = chain_of(c);
    if (strcmp(c->label, "IBF-H") != 0) return P;
    for (int i = 0; i < 50; i++) {
        double middle = 0.5 * (low + high), inverse = 0;
        weir__importance_limit(&d, K, middle, shares);
        for (unsigned v = 1; v <= MAX; v++) inverse += shares[v] / v;
        if (inverse * middle < P) low = middle;
        else high = middle;
    }
    return high;
}

static weir_filter *make(lab_unit *unit) {
    char whole[256];
    weir_filter *filter;
    const char *spec = unit->c->filter;
    unsigned long long seed = unit->seed;
    if (!strncmp(spec, "bloom", 5))
        snprintf(whole, sizeof whole, "%s,memory=%d,seed=%llu", spec, CELLS / 8, seed);
    else snprintf(whole, sizeof whole, "%s,p=%d,memory=%d,seed=%llu", spec, P, CELL_BYTES, seed);
    return weir_filter_new(&filter, whole, &unit->error) ? NULL : filter;
}

static void add_verdict(rated_tally *t, uint64_t level, bool first, bool seen) {
    double *all = first ? t->firsts : t->repeats, *wrong = first ? t->false_seen : t->false_new;
    all[level]++;
    wrong[level] += first == seen;
}

/* Offer records from..to-1 with their importances. */
static void offer(weir_filter *filter, const lab_unit *unit, const rated_stream *s, size_t from,
                  size_t to, rated_tally *t) {
    for (; from < to; from += BATCH) {
        uint64_t hashes[BATCH], verdict;
        double importances[BATCH];
        size_t n = to - from < BATCH ? to - from : BATCH;
        for (size_t i = 0; i < n; i++) {
            hashes[i] = lab_hash_id(s->ids[from + i], unit->seed);
            importances[i] = is_stable(unit->c) ? LEVELS : (double)s->tags[from + i];
        }
        weir_batch batch = {.count = n, .hashes = hashes, .importances = importances};
        weir_filter_offer_batch(filter, &batch, &verdict);
        for (size_t i = 0; t && i < n; i++)
            add_verdict(t, s->tags[from + i], s->first[(from + i) / 64] >> ((from + i) % 64) & 1,
                        verdict >> i & 1);
    }
}

static double share(const double *part, const double *whole, int from, int to, bool weighted) {
    double sum = 0, all = 0;
    for (int level = from; level <= to; level++) {
        sum += part[level] * (weighted ? level : 1);
        all += whole[level] * (weighted ? level : 1);
    }
    return all > 0 ? 100 * sum / all : 0;
}

/* --- table I, and the same on drawn streams --------------------------------------------------- */

static const lab_column rate_columns[] = {{"fp", "FP", "%", false, 0.5, 0},
                                          {"fn", "FN", "%", false, 0.5, 0},
                                          {"wfp", "wFP", "%", false, 0.5, 0},
                                          {"wfn", "wFN", "%", false, 0.5, 0},
                                          {"fp_firsts", "FP, of firsts", "%", false, 0, 0},
                                          {"fn_repeats", "FN, of repeats", "%", false, 0, 0},
                                          {"wfn_repeats", "wFN, of repeats", "%", false, 0, 0},
                                          {0}};

static weir_status run_case(lab_unit *unit, rated_tally *t) {
    rated_stream s;
    weir_filter *filter = NULL;
    weir_status status = draw_case(&s, unit);
    if (!status && !(filter = make(unit))) status = unit->error.code;
    if (!status) offer(filter, unit, &s, 0, s.count, t);
    weir_filter_free(filter);
    release(&s);
    return status;
}

static weir_status run_rates(lab_unit *unit) {
    rated_tally t = {0};
    weir_status status = run_case(unit, &t);
    if (status) return status;
    double all[LEVELS + 1];
    for (int level = 0; level <= LEVELS; level++) all[level] = t.firsts[level] + t.repeats[level];
    double row[] = {share(t.false_seen, all, 1, LEVELS, false),
                    share(t.false_new, all, 1, LEVELS, false),
                    share(t.false_seen, all, 1, LEVELS, true),
                    share(t.false_new, all, 1, LEVELS, true),
                    share(t.false_seen, t.firsts, 1, LEVELS, false),
                    share(t.false_new, t.repeats, 1, LEVELS, false),
                    share(t.false_new, t.repeats, 1, LEVELS, true)};
    return lab_emit(unit, row);
}

/* Cases come in fives: BF, SBF, 2C, MC, H. */
enum { BF, SBF, C2, MC, H, VARIANTS };

/* The first case of the next panel from case c on whose stream was there. */
static size_t panel_from(const lab_result *r, size_t c) {
    while (c < lab_cases(r) && !lab_rows(r, c)) c += VARIANTS;
    return c;
}

static bool fp_order(const lab_result *r, lab_words *found) {
    bool holds = true;
    double sbf = 0, mc = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        double bf = lab_mean(r, c + BF, -1, "fp"), two = lab_mean(r, c + C2, -1, "fp");
        holds &= bf > lab_mean(r, c + SBF, -1, "fp") && lab_mean(r, c + SBF, -1, "fp") > two &&
                 two > lab_mean(r, c + MC, -1, "fp");
        sbf += lab_mean(r, c + SBF, -1, "wfp");
        mc += lab_mean(r, c + MC, -1, "wfp");
    }
    return lab_say(found, holds,
                   "False positives fall from BF over SBF and 2C to MC; wFP of SBF is %.1f times "
                   "that of MC.",
                   sbf / mc);
}

static bool fn_order(const lab_result *r, lab_words *found) {
    bool holds = true;
    double most = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        double sbf = lab_mean(r, c + SBF, -1, "fn"), mc = lab_mean(r, c + MC, -1, "fn");
        holds &= lab_mean(r, c + BF, -1, "fn") == 0 && sbf < lab_mean(r, c + C2, -1, "fn") &&
                 lab_mean(r, c + C2, -1, "fn") < mc;
        most = fmax(most, mc - sbf);
    }
    return lab_say(found, holds,
                   "False negatives rise from none over SBF and 2C to MC, which has up to %.1f "
                   "points more than SBF.",
                   most);
}

static bool weights_help(const lab_result *r, lab_words *found) {
    bool holds = true;
    double ratio = 0, count = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        count++;
        double own = lab_mean(r, c + MC, -1, "wfn") / lab_mean(r, c + MC, -1, "fn");
        holds &= own < 1;
        ratio += own;
    }
    return lab_say(found, holds, "MC's wFN is %.2f of its FN on average.", ratio / count);
}

static bool h_resembles_mc(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS))
        most = fmax(most, fabs(lab_mean(r, c + H, -1, "fn") - lab_mean(r, c + MC, -1, "fn")));
    return lab_say(found, most < 5, "H's false negatives are up to %.1f points from MC's.", most);
}

/* The headline, for the panels that have printed numbers. */
static bool headline_holds(const lab_result *r, lab_words *found) {
    bool holds = true;
    char text[320] = "";
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        const lab_case *mc = lab_case_at(r, c + MC);
        if (!mc->paper) continue;
        double fn = lab_mean(r, c + MC, -1, "fn"), wfn = lab_mean(r, c + MC, -1, "wfn");
        holds &= fn - lab_spread(r, c + MC, -1, "fn") <= mc->paper[0][1] &&
                 wfn - lab_spread(r, c + MC, -1, "wfn") <= mc->paper[0][3];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used,
                 "%s%s: FN %.2f%% (printed %.2f%%), wFN %.2f%% (%.2f%%), of the repeats %.1f%%",
                 used ? "; " : "", mc->panel, fn, mc->paper[0][1], wfn, mc->paper[0][3],
                 lab_mean(r, c + MC, -1, "fn_repeats"));
    }
    return lab_say(found, holds && *text, "%s.", text);
}

static bool rise_is_marginal(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS))
        most = fmax(most, lab_mean(r, c + MC, -1, "wfn") - lab_mean(r, c + SBF, -1, "wfn"));
    return lab_say(found, most <= 5, "MC's wFN is at most %.2f points above SBF's.", most);
}

/* Table I has no rates of firsts and repeats. */
#define TABLE_1(fp, fn, wfp, wfn) LAB_PAPER(fp, fn, wfp, wfn, NAN, NAN, NAN)

#define VARIANT(panel_name, of, spec, scale, name, ...)                                            \
    { .panel = panel_name, .label = name, .stream = of, .filter = spec, .p = {scale}, __VA_ARGS__ }
#define TRACE(panel_name, of, scale, bf, sbf, two, mc, h)                                          \
    VARIANT(panel_name, of, "bloom:layout=classic,fpr=50%,k=5", scale, "BF", bf),                  \
        VARIANT(panel_name, of, SBF_SPEC, scale, "SBF", sbf),                                      \
        VARIANT(panel_name, of, IBF_SPEC("2c"), scale, "IBF-2C", two),                             \
        VARIANT(panel_name, of, IBF_SPEC("mc"), scale, "IBF-MC", mc),                              \
        VARIANT(panel_name, of, IBF_SPEC("h"), scale, "IBF-H", h)
#define DRAWN(panel_name, of)                                                                      \
    {.panel = panel_name,                                                                          \
     .label = "BF",                                                                                \
     .stream = of,                                                                                 \
     .filter = "bloom:layout=classic,fpr=50%,k=5"},                                                \
        {.panel = panel_name, .label = "SBF", .stream = of, .filter = SBF_SPEC},                   \
        {.panel = panel_name, .label = "IBF-2C", .stream = of, .filter = IBF_SPEC("2c")},          \
        {.panel = panel_name, .label = "IBF-MC", .stream = of, .filter = IBF_SPEC("mc")}, {        \
        .panel = panel_name, .label = "IBF-H", .stream = of, .filter = IBF_SPEC("h")               \
    }

static const lab_case table_cases[] = {
    TRACE("1: size, capped", "block_requests", 0, .paper = TABLE_1(34.81, 0, 35.29, 0),
          .paper = TABLE_1(25.83, 0.84, 26.23, 0.87), .paper = TABLE_1(16.14, 2.49, 16.34, 1.99),
          .paper = TABLE_1(5.19, 8.91, 5.23, 4.76), .paper = TABLE_1(9.08, 13.25, 9.39, 10.43)),
    TRACE("2: rank of size", "block_requests", 1, .paper = TABLE_1(34.81, 0, 34.17, 0),
          .paper = TABLE_1(26, 0.9, 25.55, 0.81), .paper = TABLE_1(10.16, 3.97, 9.95, 2.91),
          .paper = TABLE_1(0.84, 14.01, 0.87, 7.52), .paper = TABLE_1(0.12, 16.07, 0.07, 10.34)),
    TRACE("web log: size, capped", "weblog_sizes", 0, .paper = TABLE_1(34.81, 0, 35.29, 0),
          .paper = TABLE_1(25.83, 0.84, 26.23, 0.87), .paper = TABLE_1(16.14, 2.49, 16.34, 1.99),
          .paper = TABLE_1(5.19, 8.91, 5.23, 4.76), .paper = TABLE_1(9.08, 13.25, 9.39, 10.43)),
    {0}};

/* As long as the trace of the paper, as far as it is known. */
#define AS_LONG(panel_name, of, bf, sbf, two, mc, h)                                               \
    VARIANT(panel_name, of, "bloom:layout=classic,fpr=50%,k=5", 0, "BF", bf),                      \
        VARIANT(panel_name, of, SBF_SPEC, 0, "SBF", sbf),                                          \
        VARIANT(panel_name, of, IBF_SPEC("2c"), 0, "IBF-2C", two),                                 \
        VARIANT(panel_name, of, IBF_SPEC("mc"), 0, "IBF-MC", mc),                                  \
        VARIANT(panel_name, of, IBF_SPEC("h"), 0, "IBF-H", h)

static const lab_case headline_cases[] = {
    AS_LONG("ranks, 23% repeats", "importance:repeat=23%", .paper = TABLE_1(34.81, 0, 34.17, 0),
            .paper = TABLE_1(26, 0.9, 25.55, 0.81), .paper = TABLE_1(10.16, 3.97, 9.95, 2.91),
            .paper = TABLE_1(0.84, 14.01, 0.87, 7.52), .paper = TABLE_1(0.12, 16.07, 0.07, 10.34)),
    {0}};

static const lab_case drawn_cases[] = {
    DRAWN("uniform, 10%", "importance:repeat=10%"),
    DRAWN("uniform, 30%", "importance:repeat=30%"),
    DRAWN("uniform, 50%", "importance:repeat=50%"),
    DRAWN("proportional, 10%", "importance:law=proportional,repeat=10%"),
    DRAWN("proportional, 30%", "importance:law=proportional,repeat=30%"),
    DRAWN("proportional, 50%", "importance:law=proportional,repeat=50%"),
    DRAWN("inverse, 10%", "importance:law=inverse,repeat=10%"),
    DRAWN("inverse, 30%", "importance:law=inverse,repeat=30%"),
    DRAWN("inverse, 50%", "importance:law=inverse,repeat=50%"),
    {0}};

static const lab_claim headline_claims[] = {
    {true, "IBF has fewer false positives than SBF, and SBF than BF; MC the fewest.", fp_order,
     "BF > SBF > 2C > MC in every panel", LAB_WORDS},
    {true, "IBF has more false negatives than SBF, MC more than 2C; BF has none.", fn_order,
     "BF = 0 < SBF < 2C < MC in every panel", LAB_WORDS},
    {true, "The increase in false negatives is marginal: wFN of 1% for SBF, 5% for IBF.",
     rise_is_marginal, "wFN of MC at most 5 points above SBF's", LAB_WORDS},
    {false, "MC has 8.9% false negatives, 4.8% weighted (14.0% and 7.5% by ranks).", headline_holds,
     "MC's FN and wFN at most the printed ones, beyond the 95% interval of ours", LAB_LEVEL},
    {0}};

static const lab_claim rate_claims[] = {
    {true, "IBF has fewer false positives than SBF, and SBF than BF; MC the fewest.", fp_order,
     "BF > SBF > 2C > MC in every panel", LAB_WORDS},
    {true, "IBF has more false negatives than SBF, MC more than 2C; BF has none.", fn_order,
     "BF = 0 < SBF < 2C < MC in every panel", LAB_WORDS},
    {true, "Weighted by importance, MC's false negatives count less.", weights_help,
     "wFN of MC below its FN in every panel", LAB_WORDS},
    {false, "H behaves almost like MC.", h_resembles_mc,
     "false negatives within 5 points of MC's in every panel", LAB_AFTER},
    {0}};

/* --- readings of the text ------------------------------------------------------------------------
 */

/* Without BF, which has no cells to lower. */
enum { READ_SBF, READ_C2, READ_MC, READ_H, READ_VARIANTS };

#define PRINTED_1(i)                                                                               \
    .paper = i == READ_SBF  ? TABLE_1(25.83, 0.84, 26.23, 0.87)                                    \
             : i == READ_C2 ? TABLE_1(16.14, 2.49, 16.34, 1.99)                                    \
             : i == READ_MC ? TABLE_1(5.19, 8.91, 5.23, 4.76)                                      \
                            : TABLE_1(9.08, 13.25, 9.39, 10.43)
#define PRINTED_2(i)                                                                               \
    .paper = i == READ_SBF  ? TABLE_1(26, 0.9, 25.55, 0.81)                                        \
             : i == READ_C2 ? TABLE_1(10.16, 3.97, 9.95, 2.91)                                     \
             : i == READ_MC ? TABLE_1(0.84, 14.01, 0.87, 7.52)                                     \
                            : TABLE_1(0.12, 16.07, 0.07, 10.34)
#define READING(name, of, cells, printed)                                                          \
    VARIANT(name, of, IBF_READING("mc", cells), 0, "SBF", printed(READ_SBF)),                      \
        VARIANT(name, of, IBF_READING("2c", cells), 0, "IBF-2C", printed(READ_C2)),                \
        VARIANT(name, of, IBF_READING("mc", cells), 0, "IBF-MC", printed(READ_MC)),                \
        VARIANT(name, of, IBF_READING("h", cells), 0, "IBF-H", printed(READ_H))

#define RANKS "importance:repeat=23%"
#define SIZES "importance:law=inverse,repeat=23%"

static const lab_case reading_cases[] = {
    READING("ranks, P draws", RANKS, "random", PRINTED_2),
    READING("ranks, P cells in a run", RANKS, "run", PRINTED_2),
    READING("sizes, P draws", SIZES, "random", PRINTED_1),
    READING("sizes, P cells in a run", SIZES, "run", PRINTED_1),
    {0}};

/* How far the four rates of the three variants with classes are from the printed ones, in points
 * on average: rates of all records, or false negatives of the repeats and positives of the
 * firsts. */
static double off_printed(const lab_result *r, size_t panel, bool of_all) {
    double sum = 0, count = 0;
    for (size_t i = READ_C2; i < READ_VARIANTS; i++) {
        size_t c = panel + i;
        const double *printed = lab_case_at(r, c)->paper[0];
        const char *const fp = of_all ? "fp" : "fp_firsts", *const fn =
                                                                of_all ? "fn" : "fn_repeats";
        sum +=
            fabs(lab_mean(r, c, -1, fp) - printed[0]) + fabs(lab_mean(r, c, -1, fn) - printed[1]);
        sum += fabs(lab_mean(r, c, -1, of_all ? "wfn" : "wfn_repeats") - printed[3]);
        count += 3;
    }
    return sum / count;
}

static bool all_records_are_meant(const lab_result *r, lab_words *found) {
    bool holds = true;
    double all = 0, parts = 0;
    size_t panels = lab_cases(r) / READ_VARIANTS;
    for (size_t c = 0; c < lab_cases(r); c += READ_VARIANTS) {
        double a = off_printed(r, c, true), b = off_printed(r, c, false);
        holds &= a < b;
        all += a / (double)panels;
        parts += b / (double)panels;
    }
    return lab_say(found, holds,
                   "As shares of all records the rates are %.1f points from the printed ones, on "
                   "average; as shares of the firsts and repeats %.1f.",
                   all, parts);
}

/* In each panel: fewer false positives and more false negatives from SBF over 2C to MC. */
static bool readings_keep_the_order(const lab_result *r, lab_words *found) {
    unsigned kept = 0, panels = 0;
    for (size_t c = 0; c < lab_cases(r); c += READ_VARIANTS, panels++)
        kept += lab_mean(r, c + READ_SBF, -1, "fp") > lab_mean(r, c + READ_C2, -1, "fp") &&
                lab_mean(r, c + READ_C2, -1, "fp") > lab_mean(r, c + READ_MC, -1, "fp") &&
                lab_mean(r, c + READ_SBF, -1, "fn") < lab_mean(r, c + READ_C2, -1, "fn") &&
                lab_mean(r, c + READ_C2, -1, "fn") < lab_mean(r, c + READ_MC, -1, "fn");
    return lab_say(found, kept == panels, "By %u of %u readings.", kept, panels);
}

static bool draws_as_a_run(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c += 2 * READ_VARIANTS)
        for (size_t i = 0; i < READ_H; i++)
            most = fmax(most, fabs(lab_mean(r, c + i, -1, "fn") -
                                   lab_mean(r, c + READ_VARIANTS + i, -1, "fn")));
    size_t run = READ_VARIANTS + READ_H;
    return lab_say(found, most < 1,
                   "Of SBF, 2C and MC the false negatives differ by %.2f points at most. H: by "
                   "draws until P cells were lowered %.1f%%, by a run of P %.1f%%; printed %.1f%%.",
                   most, lab_mean(r, READ_H, -1, "fn"), lab_mean(r, run, -1, "fn"),
                   lab_case_at(r, READ_H)->paper[0][1]);
}

static bool reading_headline(const lab_result *r, lab_words *found) {
    bool holds = true;
    char text[400] = "";
    for (size_t c = 0; c < lab_cases(r); c += READ_VARIANTS) {
        const double *printed = lab_case_at(r, c + READ_MC)->paper[0];
        double fn = lab_mean(r, c + READ_MC, -1, "fn"), wfn = lab_mean(r, c + READ_MC, -1, "wfn");
        holds &= fn - lab_spread(r, c + READ_MC, -1, "fn") <= printed[1] &&
                 wfn - lab_spread(r, c + READ_MC, -1, "wfn") <= printed[3];
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s: %.2f%% (%.2f%%), %.2f%% (%.2f%%)",
                 used ? "; " : "", lab_case_at(r, c)->panel, fn, printed[1], wfn, printed[3]);
    }
    return lab_say(found, holds, "MC's FN and wFN (printed): %s.", text);
}

static const lab_claim reading_claims[] = {
    {true, "Rates are shares of all queries, as section IV-B defines them.", all_records_are_meant,
     "nearer to the printed rates, on average, than shares of firsts and repeats, in every panel",
     LAB_WORDS},
    {true, "From SBF over 2C to MC false positives fall and false negatives rise.",
     readings_keep_the_order, "SBF > 2C > MC and SBF < 2C < MC in every panel", LAB_WORDS},
    {true, "P cells are chosen at random: drawn one by one, or the first of a run.", draws_as_a_run,
     "false negatives of SBF, 2C and MC within 1 point", LAB_AFTER},
    {false, "MC has 8.9% false negatives, 4.8% weighted (14.0% and 7.5% by ranks).",
     reading_headline,
     "MC's FN and wFN at most the printed ones, beyond the 95% interval of ours, in every panel",
     LAB_LEVEL},
    {0}};

/* --- figures 5 to 19: by importance -------------------------------------------------------------
 */

enum { STEP = 5 };

static const lab_column level_columns[] = {{"importance", "importance", NULL, true, 0, 0},
                                           {"share", "share of the records", "%", false, 0, 0},
                                           {"fp", "false positives", "%", false, 0, 0},
                                           {"fn", "false negatives", "%", false, 0, 0},
                                           {0}};

static weir_status run_levels(lab_unit *unit) {
    rated_tally t = {0};
    weir_status status = run_case(unit, &t);
    double records = 0;
    for (int level = 1; level <= LEVELS; level++) records += t.firsts[level] + t.repeats[level];
    for (int from = 1; !status && from <= LEVELS; from += STEP) {
        double here = 0;
        for (int level = from; level < from + STEP; level++)
            here += t.firsts[level] + t.repeats[level];
        double row[] = {from + (STEP - 1) / 2.0, 100 * here / records,
                        share(t.false_seen, t.firsts, from, from + STEP - 1, false),
                        share(t.false_new, t.repeats, from, from + STEP - 1, false)};
        status = lab_emit(unit, row);
    }
    return status;
}

/* In how many stretches of importance, over all panels, is a column of MC below SBF's. */
static bool lower_than_sbf(const lab_result *r, lab_words *found) {
    unsigned lower = 0, all = 0;
    bool holds = true;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        unsigned here = 0, rows = (unsigned)lab_rows(r, c + MC);
        for (int row = 0; row < (int)rows; row++)
            here += lab_mean(r, c + MC, row, "fp") < lab_mean(r, c + SBF, row, "fp");
        holds &= here >= 0.9 * rows;
        lower += here;
        all += rows;
    }
    return lab_say(found, holds && all,
                   "MC has fewer false positives than SBF in %u of %u stretches of importance.",
                   lower, all);
}

static bool fn_falls(const lab_result *r, lab_words *found) {
    bool holds = true;
    double low = 0, high = 0, panels = 0;
    for (size_t c = panel_from(r, 0); c < lab_cases(r); c = panel_from(r, c + VARIANTS)) {
        panels++;
        double first = lab_mean(r, c + MC, 0, "fn"), last = lab_mean(r, c + MC, -1, "fn");
        holds &= last < first;
        low += first;
        high += last;
    }
    return lab_say(found, holds,
                   "MC has %.1f%% false negatives among the least important and %.1f%% among the "
                   "most important, on average.",
                   low / panels, high / panels);
}

static bool two_classes(const lab_result *r, lab_words *found) {
    double below = 0, above = 0, panels = 0;
    for (size_t c = 0; c < lab_cases(r); c += VARIANTS, panels++)
        for (int row = 0; row < 10; row++)
            *(row < 5 ? &below : &above) += lab_mean(r, c + C2, row, "fn") / 5;
    return lab_say(found, below > 1.2 * above,
                   "2C has %.1f%% false negatives in the lower class, %.1f%% in the higher.",
                   below / panels, above / panels);
}

/* MC against SBF for importances above 35, where important keys are rare. */
static bool above_35(const lab_result *r, lab_words *found) {
    size_t panel = lab_cases(r) - VARIANTS;
    double fp = 0, fn = 0;
    for (int row = 7; row < 10; row++) {
        fp += (lab_mean(r, panel + SBF, row, "fp") - lab_mean(r, panel + MC, row, "fp")) / 3;
        fn += (lab_mean(r, panel + SBF, row, "fn") - lab_mean(r, panel + MC, row, "fn")) / 3;
    }
    return lab_say(found, fabs(fn - 4) < 2 && fabs(fp - 8) < 3,
                   "Above 35 MC has %.1f points fewer false positives and %.1f fewer false "
                   "negatives than SBF.",
                   fp, fn);
}

static const lab_case level_cases[] = {
    DRAWN("uniform", "importance:repeat=30%"),
    DRAWN("proportional", "importance:law=proportional,repeat=30%"),
    DRAWN("inverse", "importance:law=inverse,repeat=30%"),
    {0}};

static const lab_case trace_cases[] = {
    TRACE("1: size, capped", "block_requests", 0, .when = LAB_ALWAYS, .when = LAB_ALWAYS,
          .when = LAB_ALWAYS, .when = LAB_ALWAYS, .when = LAB_ALWAYS),
    TRACE("2: rank of size", "block_requests", 1, .when = LAB_ALWAYS, .when = LAB_ALWAYS,
          .when = LAB_ALWAYS, .when = LAB_ALWAYS, .when = LAB_ALWAYS),
    TRACE("web log: size, capped", "weblog_sizes", 0, .when = LAB_ALWAYS, .when = LAB_ALWAYS,
          .when = LAB_ALWAYS, .when = LAB_ALWAYS, .when = LAB_ALWAYS),
    {0}};

static const lab_claim level_claims[] = {
    {true, "IBF has fewer false positives than SBF for almost all importances.", lower_than_sbf,
     "lower in 9 of 10 stretches of importance, in every panel", LAB_AFTER},
    {true, "MC's false negatives fall with importance.", fn_falls,
     "MC's rate in the highest stretch below that in the lowest, in every panel", LAB_WORDS},
    {true, "2C tells two classes apart.", two_classes,
     "2C's rate in the lower class above 1.2 times that in the higher", LAB_AFTER},
    {false,
     "Where important elements are rare, IBF has about 8% lower false positives and 4% lower "
     "false negatives than SBF for importances above 35.",
     above_35, "8 points within 3, and 4 points within 2", LAB_AFTER},
    {0}};

static const lab_claim trace_claims[] = {
    {true, "IBF has fewer false positives than SBF for almost all importances.", lower_than_sbf,
     "lower in 9 of 10 stretches of importance, in every panel", LAB_AFTER},
    {true, "MC's false negatives fall with importance.", fn_falls,
     "MC's rate in the highest stretch below that in the lowest, in every panel", LAB_WORDS},
    {0}};

/* --- figure 20: zeros over time ------------------------------------------------------------------
 */

enum { ZERO_ROWS = 40 };

static const lab_column zero_columns[] = {{"records", "records", NULL, true, 0, 0},
                                          {"zeros", "zero cells", "%", false, 0, 0},
                                          {"theory", "zero cells in the limit", "%", true, 0, 0},
                                          {0}};

static double limit_of(const lab_case *c) {
    double shares[WEIR__LEVELS];
    weir__decay d = chain_of(c);
    weir__importance_limit(&d, K, chosen_of(c), shares);
    return 100 * shares[0];
}

static weir_status run_zeros(lab_unit *unit) {
    rated_stream s;
    weir_filter *filter = NULL;
    weir_status status = draw_case(&s, unit);
    if (!status && !(filter = make(unit))) status = unit->error.code;
    for (size_t row = 1; !status && row <= ZERO_ROWS; row++) {
        weir_filter_info info;
        offer(filter, unit, &s, s.count * (row - 1) / ZERO_ROWS, s.count * row / ZERO_ROWS, NULL);
        weir_filter_get_info(filter, &info);
        size_t done = s.count * row / ZERO_ROWS;
        double values[] = {(double)done, 100 * (1 - info.fill),
                           unit->c->p[1] > 0 ? 0 : limit_of(unit->c)};
        status = lab_emit(unit, values);
    }
    weir_filter_free(filter);
    release(&s);
    return status;
}

/* At the end only: rows of one run are not independent of each other. */
static bool zeros_as_theory(const lab_result *r, lab_words *found) {
    double most = 0, deviations = 0;
    for (size_t c = 1; c < lab_cases(r); c++) {
        double off = fabs(lab_mean(r, c, -1, "zeros") - lab_mean(r, c, -1, "theory"));
        most = fmax(most, off);
        deviations = fmax(deviations, 1.96 * off / lab_spread(r, c, -1, "zeros"));
    }
    return lab_say(found, deviations < 4.5,
                   "At the end the share of zeros is at most %.2f points from the limit of the "
                   "chain, %.1f standard deviations.",
                   most, deviations);
}

static bool bloom_fills_up(const lab_result *r, lab_words *found) {
    double end = lab_mean(r, 0, -1, "zeros");
    return lab_say(found, end < 0.1, "The Bloom filter has %.2f%% zeros left at the end.", end);
}

static const lab_case zero_cases[] = {
    {.label = "BF",
     .stream = "importance:repeat=0.1%",
     .filter = "bloom:layout=classic,fpr=50%,k=5",
     .p = {0, 1}},
    {.label = "SBF", .stream = "importance:repeat=0.1%", .filter = SBF_SPEC},
    {.label = "IBF-2C", .stream = "importance:repeat=0.1%", .filter = IBF_SPEC("2c")},
    {.label = "IBF-MC", .stream = "importance:repeat=0.1%", .filter = IBF_SPEC("mc")},
    {.label = "IBF-H", .stream = "importance:repeat=0.1%", .filter = IBF_SPEC("h")},
    {0}};

static const lab_claim zero_claims[] = {
    {true, "SBF and IBF come to a stable number of zeros, as the theory of 3-A and 3-B says.",
     zeros_as_theory, "within 4.5 standard deviations of the limit of the chain at the end",
     LAB_LEVEL},
    {true, "BF gets full.", bloom_fills_up, "full: less than 1 cell in 1000 is zero at the end",
     LAB_WORDS},
    {0}};

/* --- the entries
 * ------------------------------------------------------------------------------------ */

#define LENGTH_NOTE                                                                                \
    "16384 cells, M=7, K=5, P=10 drawn one by one, as in table II; rates are shares of all "       \
    "records, as the paper defines them, and beside them those of firsts and repeats; 10,000 "     \
    "records. "

#define BARS(what)                                                                                 \
    { .title = what, .y_label = "%", .y = {"fp", "fn", "wfp", "wfn"}, .style = LAB_BARS }
#define LEVEL_FIGURES                                                                              \
    {                                                                                              \
        {.title = "False positives by importance",                                                 \
         .x_label = "importance",                                                                  \
         .y_label = "false positives (%)",                                                         \
         .x = "importance",                                                                        \
         .y = {"fp"},                                                                              \
         .by_case = true},                                                                         \
        {                                                                                          \
            .title = "False negatives by importance", .x_label = "importance",                     \
            .y_label = "false negatives (%)", .x = "importance", .y = {"fn"}, .by_case = true,     \
            .claim = 1                                                                             \
        }                                                                                          \
    }

const lab_experiment lab_exp_importance[] = {
    {LAB_ENTRY("ibf-table-1", "IBF, table I"), .ns = 240,
     .title = "False and weighted false rates on a trace with sizes",
     .claim = "IBF has several times fewer false positives than SBF, weighted or not, for somewhat "
              "more false negatives.",
     .method = LENGTH_NOTE "A block trace in place of the YouTube trace: the first page of a "
                           "request is the key, its length the importance, capped at the 90th "
                           "percentile (1) or by rank (2); and the log of a blog, by the bytes "
                           "that were sent.",
     .reason =
         "Other traces: their repeats are at other distances, and their sizes are distributed "
         "otherwise.",
     .columns = rate_columns, .cases = table_cases, .claims = headline_claims,
     .figures = {BARS("Rates by filter")}, LAB_SIZES(1e4, 1e4), LAB_SEEDS(5, 20),
     LAB_EXPECT(LAB_SAME_SHAPE), .run = run_rates},
    {LAB_ENTRY("ibf-headline", "IBF, tables I and II"),
     .title = "The headline on a stream as long as the paper's",
     .claim =
         "False positives fall from 26% to 0.84% from SBF to MC by ranks, false negatives rise "
         "to 14%, 7.5% weighted.",
     .method = "16384 cells, M=7, K=5, P=10 drawn one by one. 16,000 records of which 23% repeat, "
               "importances of 1 to 50 alike. Rates are shares of all records: among the readings "
               "tried (P draws or a run of P cells, H with P cells chosen or lowered, rates of all "
               "records or of the repeats) it is the one that comes near the table; of the "
               "repeats MC forgets three times as many.",
     .reason = "The trace is not published with the paper: how far its repeats are apart is not "
               "known, and decides both rates.",
     .columns = rate_columns, .cases = headline_cases, .claims = headline_claims,
     .figures = {BARS("Rates by filter")}, LAB_SIZES(1.6e4, 1.6e4), LAB_SEEDS(5, 50),
     LAB_EXPECT(LAB_SAME_SHAPE), .run = run_rates},
    {LAB_ENTRY("ibf-readings", "IBF, tables I and II"),
     .title = "The headline by other readings of the text",
     .claim =
         "MC has 8.9% false negatives, 4.8% weighted, on the first data set, 14.0% and 7.5% on "
         "the second.",
     .method =
         "16384 cells, M=7, K=5, P=10; 16,000 records of which 23% repeat. The P cells drawn "
         "one by one (H: until P were lowered) or beside each other (H: of which those that "
         "it spares stay); importances of 1 to 50 alike, as ranks make them, or in inverse "
         "proportion to their frequency, as sizes have it; rates as shares of all records, or "
         "of the firsts and of the repeats.",
     .reason =
         "The trace is not published with the paper: how far its repeats are apart is not "
         "known, and decides both rates. Of SBF, 2C and MC it does not matter how the P cells are "
         "chosen, and only shares of all records come near the printed rates. H alone is "
         "another filter when it lowers P cells than when P are chosen: by ranks the former "
         "is near the table.",
     .columns = rate_columns, .cases = reading_cases, .claims = reading_claims,
     .figures = {BARS("Rates by reading")}, LAB_SIZES(1.6e4, 1.6e4), LAB_SEEDS(5, 50),
     LAB_EXPECT(LAB_SAME_SHAPE), .run = run_rates},
    {LAB_ENTRY("ibf-rates", "IBF, section 4-D"),
     .title = "The same on drawn streams, 10, 30 and 50% repeating",
     .claim = "As on the trace: fewer false positives than SBF for somewhat more false negatives.",
     .method = LENGTH_NOTE "Importances 1 to 50; an element is equally frequent whatever its "
                           "importance, or in proportion, or in inverse proportion to it.",
     .reason = "No numbers are printed for these streams; where an order differs, the claim says "
               "which.",
     .columns = rate_columns, .cases = drawn_cases, .claims = rate_claims,
     .figures = {BARS("Rates by filter")}, LAB_SIZES(1e4, 1e4), LAB_SEEDS(5, 50),
     LAB_EXPECT(LAB_SAME_SHAPE), .run = run_rates},
    {LAB_ENTRY("ibf-fig-5-10", "IBF, figures 5-10"), .ns = 210,
     .title = "False rates by importance, on a trace",
     .claim = "IBF has fewer false positives than SBF for almost all importances, and false "
              "negatives that fall with importance.",
     .method = LENGTH_NOTE "The traces of table I, in stretches of five importances.",
     .reason = "Another trace than the paper's.", .columns = level_columns, .cases = trace_cases,
     .claims = trace_claims, .figures = LEVEL_FIGURES, LAB_SIZES(1e4, 1e4), LAB_SEEDS(10, 50),
     LAB_EXPECT(LAB_DIFFERS), .run = run_levels},
    {LAB_ENTRY("ibf-fig-11-19", "IBF, figures 11-19"),
     .title = "False rates by importance, on drawn streams",
     .claim = "IBF has fewer false positives than SBF at almost all importances and false "
              "negatives that fall with importance, most useful where important elements are rare.",
     .method = LENGTH_NOTE "30% of the records repeat; in stretches of five importances.",
     .reason = "The length of the stream decides how many points apart the filters are, and the "
               "text does not give it.",
     .columns = level_columns, .cases = level_cases, .claims = level_claims,
     .figures = LEVEL_FIGURES, LAB_SIZES(1e4, 1e4), LAB_SEEDS(20, 200), LAB_EXPECT(LAB_SAME_SHAPE),
     .run = run_levels},
    {LAB_ENTRY("ibf-fig-20", "IBF, figure 20"),
     .title = "Zero cells along the stream, and what theory says",
     .claim = "BF fills up; SBF and IBF stabilise at the number of zeros that the theory gives.",
     .method = "16384 cells, M=7, K=5, P=10; 60,000 records, uniform importances, nearly all "
               "different, as the theory supposes. The theory is the "
               "exact chain of a cell (src/filter/fading/importance.c says what is wrong with the "
               "printed "
               "one), for importances as they fall on the classes.",
     .columns = zero_columns, .cases = zero_cases, .claims = zero_claims,
     .figures = {{.title = "Share of zero cells",
                  .x_label = "records",
                  .y_label = "zeros (%)",
                  .x = "records",
                  .y = {"zeros"},
                  .by_case = true}},
     LAB_SIZES(6e4, 6e4), LAB_SEEDS(5, 20), LAB_EXPECT(LAB_REPRODUCED), .run = run_zeros},
    {0}};
