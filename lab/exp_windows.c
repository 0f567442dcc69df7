/* exp_windows.c - the paper on distributed filtering: windows, equal timers, bursts.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011, figures 9 to 11 (lab_log.h has what
 * is said of all its figures).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_log.h"
#include "lab_rng.h"
#include "lab_stream.h"

/* --- figures 9 to 11: windows --- */

/* An exact window: the time at which each key was last let through. */
typedef struct {
    lab_set *set;
    int64_t *passed; /* by number of the key; -1: never */
    int64_t length;
} exact_window;

static bool window_open(exact_window *w, const lab_log *log, int64_t length) {
    *w = (exact_window){lab_set_new(log->truth->distinct),
                        malloc((log->truth->distinct + 1) * sizeof *w->passed), length};
    for (size_t i = 0; w->passed && i <= log->truth->distinct; i++) w->passed[i] = -1;
    return w->set && w->passed;
}

static void window_close(exact_window *w) {
    lab_set_free(w->set);
    free(w->passed);
}

/* Whether the key was not delivered within the window. It is delivered now if the filter calls
 * it NEW: the paper's duplicates are those of what was delivered. */
static bool window_is_new(exact_window *w, uint64_t id, int64_t now, bool seen) {
    bool first;
    uint32_t number = lab_set_number(w->set, id, &first);
    bool is_new = w->passed[number] < 0 || now - w->passed[number] >= w->length;
    if (!seen) w->passed[number] = now;
    return is_new;
}

enum { EQUAL_K = 8, EQUAL_LENGTH = 20000, SLOT = 1000 /* ns */ };

static const lab_column equal_columns[] = {
    {"equal", "timers that must be equal", NULL, true, 0, 0},
    {"fp", "false positives", "%", false, 0, 0},
    {"fn", "false negatives", "%", false, 0, 0},
    {"true", "true among those called seen", "%", false, 0, 0},
    {0}};

/* Vertical slices give the verdicts of the filter that is cut, so that stands for them:
 * equal timers are compared within one filter. */
static void equal_spec(const lab_unit *unit, int equal, char *spec, size_t size) {
    char timers[96];
    snprintf(timers, sizeof timers, "layout=classic,length=%dus,tick=%dus,k=%d,equal=%d",
             EQUAL_LENGTH, EQUAL_LENGTH / (int)unit->c->p[1], EQUAL_K, equal);
    if (unit->c->filter)
        snprintf(spec, size, "%s,fpr=10%%,memory=%.0f,of=(window:%s)", unit->c->filter,
                 unit->c->p[0], timers);
    else snprintf(spec, size, "window:%s,fpr=10%%,memory=%.0f", timers, unit->c->p[0]);
}

static weir_status run_equal(lab_unit *unit) {
    lab_log log;
    weir_status status = lab_log_open(&log, unit);
    for (int equal = 1; !status && equal <= EQUAL_K; equal++) {
        char spec[200];
        exact_window exact;
        weir_filter *filter = NULL;
        lab_errors t = {0};
        equal_spec(unit, equal, spec, sizeof spec);
        if (!window_open(&exact, &log, (int64_t)EQUAL_LENGTH * SLOT))
            status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the window");
        if (!status) status = lab_make(unit, spec, &filter);
        for (size_t i = 0; !status && i < log.count; i++) {
            uint64_t verdict, hash = lab_hash_id(log.ids[i], unit->seed);
            int64_t now = (int64_t)i * SLOT;
            weir_filter_offer_batch(
                filter, &(weir_batch){.count = 1, .hashes = &hash, .times = &now}, &verdict);
            lab_count(&t, window_is_new(&exact, log.ids[i], now, verdict & 1), verdict & 1);
        }
        weir_filter_free(filter);
        window_close(&exact);
        double hits = t.repeats - t.false_new;
        double row[] = {equal, lab_percent(t.false_seen, t.firsts),
                        lab_percent(t.false_new, t.repeats),
                        lab_percent(hits, hits + t.false_seen)};
        if (!status) status = lab_emit(unit, row);
    }
    lab_log_close(&log);
    return status;
}

static bool equal_trades(const lab_result *r, lab_words *found) {
    bool holds = true;
    for (size_t c = 0; c < lab_cases(r); c++)
        holds &= lab_mean(r, c, -1, "fp") < lab_mean(r, c, 0, "fp") &&
                 lab_mean(r, c, -1, "fn") > lab_mean(r, c, 0, "fn") &&
                 lab_mean(r, c, -1, "true") > lab_mean(r, c, 0, "true");
    return lab_say(found, holds,
                   "Horizontal: from 1 to 8 equal FP goes from %.2f%% to %.2f%%, FN from %.2f%% to "
                   "%.2f%%; vertical: %.2f%% to %.2f%%, %.2f%% to %.2f%%.",
                   lab_mean(r, 0, 0, "fp"), lab_mean(r, 0, -1, "fp"), lab_mean(r, 0, 0, "fn"),
                   lab_mean(r, 0, -1, "fn"), lab_mean(r, 1, 0, "fp"), lab_mean(r, 1, -1, "fp"),
                   lab_mean(r, 1, 0, "fn"), lab_mean(r, 1, -1, "fn"));
}

static int best_equal(const lab_result *r, size_t c) {
    int best = 0;
    for (int row = 0; row < (int)lab_rows(r, c); row++)
        if (lab_mean(r, c, row, "fp") + lab_mean(r, c, row, "fn") <
            lab_mean(r, c, best, "fp") + lab_mean(r, c, best, "fn"))
            best = row;
    return best + 1;
}

/* Of the false positives, the part that asking for two equal timers takes away, in percent;
 * and what chance alone would: that the timers of a key all differ, out of so many ticks. */
static double two_take_away(const lab_result *r, size_t c) {
    return 100 * (1 - lab_mean(r, c, 1, "fp") / lab_mean(r, c, 0, "fp"));
}

static double all_differ(double ticks) {
    double chance = 100;
    for (int i = 1; i < EQUAL_K; i++) chance *= 1 - i / ticks;
    return chance;
}

/* Panels: 9 ticks, 40 ticks, one for each record. The last is what the paper supposes. */
enum { WITH_9, WITH_40, BY_RECORD, EQUAL_FORMS = 2 /* horizontal, vertical */ };

static double sum_at(const lab_result *r, size_t c, int equal) {
    return lab_mean(r, c, equal - 1, "fp") + lab_mean(r, c, equal - 1, "fn");
}

static bool least_at(const lab_result *r, lab_words *found, size_t form, int wanted) {
    size_t c = EQUAL_FORMS * BY_RECORD + form;
    int best = best_equal(r, c);
    return lab_say(found, best == wanted,
                   "With a tick for each record the sum of both rates is least when %d must be "
                   "equal (%.2f%%; when 2 must be %.2f%%, 3 %.2f%%), with 40 ticks when %d, with 9 "
                   "when %d must be. To ask for 2 takes away %.0f%% of the false positives, with "
                   "40 ticks %.0f%%, with 9 %.0f%%; by chance all of 8 timers differ in %.1f%%, "
                   "%.0f%% and %.1f%% of the cases.",
                   best, sum_at(r, c, best), sum_at(r, c, 2), sum_at(r, c, 3),
                   best_equal(r, EQUAL_FORMS * WITH_40 + form),
                   best_equal(r, EQUAL_FORMS * WITH_9 + form), two_take_away(r, c),
                   two_take_away(r, EQUAL_FORMS * WITH_40 + form),
                   two_take_away(r, EQUAL_FORMS * WITH_9 + form), all_differ(EQUAL_LENGTH),
                   all_differ(40), all_differ(9));
}

static bool vertical_best(const lab_result *r, lab_words *found) {
    return least_at(r, found, 1, 2);
}

static bool horizontal_best(const lab_result *r, lab_words *found) {
    return least_at(r, found, 0, 3);
}

#define EQUAL_CASES(ticks_text, bytes, whole, ticks)                                               \
    {.panel = ticks_text,                                                                          \
     .label = "horizontal",                                                                        \
     .stream = "weblog",                                                                           \
     .filter = "horizontal:slices=4",                                                              \
     .p = {bytes, ticks}},                                                                         \
    {                                                                                              \
        .panel = ticks_text, .label = "vertical", .stream = "weblog", .p = { whole, ticks }        \
    }

/* A tick for each record takes three words for each of its 32,767 marks, in each slice. */
enum { RECORD_TICKS = EQUAL_LENGTH, MARKS_BYTES = 32767 * 24, TIMERS_BYTES = 61440 };

static const lab_case equal_cases[] = {EQUAL_CASES("9 ticks", 16384, 16384, 9),
                                       EQUAL_CASES("40 ticks", 24576, 24576, 40),
                                       EQUAL_CASES("a tick for each record",
                                                   4.0 * (MARKS_BYTES + 512) + TIMERS_BYTES,
                                                   MARKS_BYTES + TIMERS_BYTES + 512, RECORD_TICKS),
                                       {0}};

static const lab_claim equal_claims[] = {
    {true,
     "The more timers must be equal, the fewer false positives and the more false negatives; "
     "those with more equal timers are true duplicates more often.",
     equal_trades,
     "more equal timers: fewer false positives, more false negatives, more true among the hits",
     LAB_WORDS},
    {false, "Vertical: distinct when all timers are unequal is a good balance.", vertical_best,
     "a tick for each record: the least sum of both rates when 2 must be equal", LAB_WORDS},
    {false, "Horizontal: distinct when at most 2 timers are equal is a good balance.",
     horizontal_best, "a tick for each record: the least sum of both rates when 3 must be equal",
     LAB_WORDS},
    {0}};

enum { BURST_RATE = 10, BURST_ROWS = 30 };

static const lab_column burst_columns[] = {{"part", "part of the stream", "%", true, 0, 0},
                                           {"filters", "filters in use", NULL, false, 0, 0},
                                           {"fp", "false positives", "%", false, 0, 0},
                                           {"dropped", "filters dropped", NULL, false, 0, 0},
                                           {"moves", "filters added or gone", NULL, false, 0, 0},
                                           {0}};

typedef struct {
    double filters, dropped;
} growth;

static void note_growth(void *context, const char *name, const char *value, const char *meaning) {
    growth *g = context;
    (void)meaning;
    if (!strcmp(name, "filters")) g->filters = strtod(value, NULL);
    if (!strcmp(name, "dropped")) g->dropped = strtod(value, NULL);
}

/* The case's burst stream, with slots as its tags. */
static weir_status draw_burst(lab_unit *unit, lab_log *log) {
    char spec[128];
    lab_stream *stream;
    *log = (lab_log){0};
    snprintf(spec, sizeof spec, "burst:n=%.0f,universe=%.0f,rate=%d,factor=%g", unit->size,
             unit->size * 2, BURST_RATE, unit->c->p[0]);
    weir_status status = lab_stream_new(&stream, spec, unit->seed, &unit->error);
    if (status) return status;
    log->count = (size_t)unit->size;
    log->ids = malloc(log->count * sizeof *log->ids);
    log->tags = malloc(log->count * sizeof *log->tags);
    if (!log->ids || !log->tags) status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory");
    else log->count = lab_stream_next_tagged(stream, log->ids, log->tags, log->count);
    lab_stream_free(stream);
    if (!status) status = lab_log_judge(unit, log);
    if (status) lab_log_close(log);
    return status;
}

static weir_status pass_burst(lab_unit *unit, const lab_log *log, weir_filter *filter,
                              exact_window *exact) {
    lab_errors t = {0};
    double most = 0, last = 1, moves = 0;
    for (size_t i = 0, row = 1; i < log->count; i++) {
        uint64_t verdict, hash = lab_hash_id(log->ids[i], unit->seed);
        int64_t now = (int64_t)log->tags[i] * SLOT;
        growth g = {0};
        weir_filter_offer_batch(filter, &(weir_batch){.count = 1, .hashes = &hash, .times = &now},
                                &verdict);
        lab_count(&t, window_is_new(exact, log->ids[i], now, verdict & 1), verdict & 1);
        bool ends = i + 1 == log->count * row / BURST_ROWS;
        if (i % 64 && !ends) continue;
        weir_filter_details(filter, note_growth, &g);
        most = fmax(most, g.filters);
        moves += fabs(g.filters - last);
        last = g.filters;
        if (!ends) continue;
        double values[] = {100.0 * (double)row / BURST_ROWS, most,
                           lab_percent(t.false_seen, t.firsts), g.dropped, moves};
        weir_status status = lab_emit(unit, values);
        if (status) return status;
        most = moves = 0;
        row++;
    }
    return WEIR_OK;
}

static weir_status run_burst(lab_unit *unit) {
    lab_log log;
    exact_window exact = {0};
    char spec[200];
    weir_filter *filter = NULL;
    weir_status status = draw_burst(unit, &log);
    if (status) return status;
    snprintf(spec, sizeof spec,
             "growing:memory=768K,most=32,fpr=5%%,threshold=%s,of=(window:length=%.0fus)",
             unit->c->filter, unit->c->p[1]);
    if (!window_open(&exact, &log, (int64_t)unit->c->p[1] * SLOT))
        status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the window");
    if (!status) status = lab_make(unit, spec, &filter);
    if (!status) status = pass_burst(unit, &log, filter, &exact);
    weir_filter_free(filter);
    window_close(&exact);
    lab_log_close(&log);
    return status;
}

/* The most filters in a third of the stream. */
static double most_filters(const lab_result *r, size_t c, int third) {
    double most = 0;
    for (int row = third * BURST_ROWS / 3; row < (third + 1) * BURST_ROWS / 3; row++)
        most = fmax(most, lab_mean(r, c, row, "filters"));
    return most;
}

static bool bursts_grow(const lab_result *r, lab_words *found) {
    unsigned grew = 0, asked = 0, went = 0, all = (unsigned)lab_cases(r), dropped = 0;
    for (size_t c = 0; c < all; c++) {
        double before = most_filters(r, c, 0), in = most_filters(r, c, 1);
        bool must = lab_case_at(r, c)->p[1] > 100; /* else one filter may hold it all */
        asked += must;
        grew += must && in > before;
        went += lab_mean(r, c, -1, "filters") <= before + 1;
        dropped += lab_mean(r, c, -1, "dropped") > 0;
    }
    return lab_say(found, grew == asked && went == all && !dropped,
                   "Filters are added in %u of the %u cases whose burst does not fit into one, and "
                   "gone again in %u of %u; some were dropped for want of memory in %u.",
                   grew, asked, went, all, dropped);
}

static bool wider_windows_grow_more(const lab_result *r, lab_words *found) {
    bool holds = true;
    for (size_t c = 0; c + 2 < lab_cases(r); c += 3)
        holds &= most_filters(r, c, 1) <= most_filters(r, c + 1, 1) &&
                 most_filters(r, c + 1, 1) < most_filters(r, c + 2, 1);
    size_t last = 3; /* density, factor 5 */
    return lab_say(found, holds,
                   "With windows of 100, 500 and 1000 slots there are %.0f, %.0f and %.0f filters "
                   "in a burst of five times the rate (density).",
                   most_filters(r, last, 1), most_filters(r, last + 1, 1),
                   most_filters(r, last + 2, 1));
}

/* Filters added and gone in a case, all along its stream. */
static double fluctuation(const lab_result *r, size_t c) {
    double sum = 0;
    for (int row = 0; row < (int)lab_rows(r, c); row++) sum += lab_mean(r, c, row, "moves");
    return sum;
}

static bool cardinality_fluctuates(const lab_result *r, lab_words *found) {
    unsigned more = 0;
    double d = 0, c = 0;
    for (size_t i = 0; i < 6; i++) {
        double by_density = fluctuation(r, i), by_number = fluctuation(r, i + 6);
        more += by_number > by_density;
        d += by_density;
        c += by_number;
    }
    return lab_say(
        found, c > d,
        "It fluctuates more by cardinality on %u of 6 streams: %.0f filters are added or "
        "go, in all, by density %.0f.",
        more, c, d);
}

static bool burst_rate_is_kept(const lab_result *r, lab_words *found) {
    double most = 0;
    for (size_t c = 0; c < lab_cases(r); c++) most = fmax(most, lab_mean(r, c, -1, "fp"));
    return lab_say(found, most < 5, "At most %.2f%%, asked for was 5%%.", most);
}

#define BURSTS(by, name, factor)                                                                   \
    {.panel = name, .label = "window 100", .filter = by, .p = {factor, 100}},                      \
        {.panel = name, .label = "window 500", .filter = by, .p = {factor, 500}}, {                \
        .panel = name, .label = "window 1000", .filter = by, .p = { factor, 1000 }                 \
    }

static const lab_case burst_cases[] = {BURSTS("density", "density, 2x", 2),
                                       BURSTS("density", "density, 5x", 5),
                                       BURSTS("cardinality", "cardinality, 2x", 2),
                                       BURSTS("cardinality", "cardinality, 5x", 5),
                                       {0}};

static const lab_claim burst_claims[] = {
    {true, "Additional filters are created for a burst and go afterwards.", bursts_grow,
     "more filters in every burst that does not fit, gone in every case afterwards; the case left "
     "out was chosen after a look",
     LAB_AFTER},
    {true, "The larger the window, the more filters are created.", wider_windows_grow_more,
     "in order of the window in every row", LAB_WORDS},
    {true, "The number of filters fluctuates more by cardinality than by density.",
     cardinality_fluctuates, "sum of changes larger by cardinality; measure chosen after a look",
     LAB_AFTER},
    {true, "The false positive rate stays below its threshold.", burst_rate_is_kept,
     "at most the 5% of the threshold", LAB_WORDS},
    {0}};

/* --- the entries --- */

const lab_experiment lab_exp_windows[] = {
    {LAB_ENTRY("slices-fig-9", LOG_PAPER "figure 9"), .ns = 1850, .title = "Equal timers",
     .claim = "To ask for some equal timers takes away false positives for few false negatives.",
     .method =
         OTHER_LOG "A window of 20,000 records in 9, 40 or 20,000 ticks (no two keys come in one: "
                   "the paper's setting), 8 hashes, 32K or 30K timers, in 4 slices or (vertical, "
                   "whose verdicts are those of the uncut filter) in one "
                   "piece. A window of records is counted by each slice for itself. A key that is "
                   "NEW sets its timers. The truth is an exact window over what was delivered: the "
                   "paper's duplicates are what was \"previously delivered in the same time "
                   "window\". A good balance is taken to be the least sum of both rates.",
     .reason = "Two equal timers are enough in both forms where no two keys come in one tick: then "
               "two that are equal by chance are rare, and each further one forgets more than it "
               "saves. With fewer ticks a false positive has equal timers by chance: of 8 timers "
               "in T ticks all differ in T(T-1)...(T-7)/T^8 of the cases, and only these are told "
               "apart when 2 must be equal. Set after first results: 4 slices of 4 KiB, since 8 of "
               "6 KiB had next to no false positives; and the truth, which before was all that had "
               "come by.",
     .columns = equal_columns, .cases = equal_cases, .claims = equal_claims,
     .figures = {LINES("False positives", "timers that must be equal", "false positives (%)",
                       "equal", 0, "fp"),
                 LINES("False negatives", "timers that must be equal", "false negatives (%)",
                       "equal", 1, "fn"),
                 LINES("True duplicates among those called so", "timers that must be equal",
                       "true (%)", "equal", 0, "true")},
     LAB_SIZES(2e5, 2e5), LAB_SEEDS(1, 10), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_equal},
    {LAB_ENTRY("slices-fig-10-11", LOG_PAPER "figures 10 and 11"), .ns = 740,
     .title = "Filters that grow in a burst",
     .claim = "Filters are added for a burst of 2 or 5 times the rate and go afterwards, more of "
              "them the larger the window; by cardinality their number fluctuates more.",
     .method = "Uniform keys, 10 a slot, the middle third of the records at 2 or 5 times the "
               "rate; windows of 100, 500 and 1000 slots; 32 filters of 24 KiB at most. How much "
               "their number fluctuates is how many are added or go, seen every 64 records, over "
               "the six streams; the first measure, the change of the greatest number of a "
               "thirtieth of the stream to the next, does not see that it goes from 1 to 2 and "
               "back within one.",
     .columns = burst_columns, .cases = burst_cases, .claims = burst_claims,
     .figures = {LINES("Filters in use", "part of the stream (%)", "filters", "part", 0, "filters"),
                 LINES("False positives so far", "part of the stream (%)", "false positives (%)",
                       "part", 3, "fp")},
     LAB_SIZES(6e4, 6e4), LAB_SEEDS(1, 10), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_burst},
    {0}};
