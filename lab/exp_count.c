/* exp_count.c - how often, which most, how many: the thesis's chapter 4, and what weir promises.
 *
 * Figures 4.1 to 4.4 compare ways to read how often a key came by: CM, CMM (by the
 * median and by the mean), Fast-AGMS, and CM over counters with minimal increase
 * (MI); figures 4.5 to 4.7 do so for the self-join size. Negative answers count as
 * 0 and CMM is kept below CM, as there. The figures print no numbers, so claims are
 * of order; where the text says "significantly" or "similar" the claim says what was
 * taken for it. The thesis's crawl is not to be had: a real stream of URLs stands
 * in its place.
 *
 * Then weir's own promises: `auto` is as good as the better of CM and CMM, the top
 * 100 are found in the memory that theory asks for, distinct counts keep to their
 * formulas, and an update costs the same however long the stream.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab_experiment.h"
#include "lab_prepared.h"
#include "lab_rng.h"
#include "lab_stream.h"

enum { TOP = 100, BATCH = 4096 };

/* --- a stream and its true counts ------------------------------------------------------ */

typedef struct {
    uint64_t hash;
    double count;
} counted;

typedef struct {
    uint64_t *hashes; /* of the records, in order */
    size_t records;
    counted *keys; /* the most frequent first */
    size_t distinct;
    double self_join;
} tally;

static int more_frequent(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static void tally_free(tally *t) {
    free(t->hashes);
    free(t->keys);
    *t = (tally){0};
}

/* Count the ids of a stream; hashes[] holds ids until then. */
static bool count_ids(tally *t, uint64_t seed) {
    lab_set *set = lab_set_new(t->records / 2);
    t->keys = calloc(t->records + 1, sizeof *t->keys);
    bool good = set && t->keys;
    for (size_t i = 0; good && i < t->records; i++) {
        bool first;
        uint32_t number = lab_set_number(set, t->hashes[i], &first);
        good = number != LAB_SET_FULL;
        if (!good) break;
        t->hashes[i] = lab_hash_id(t->hashes[i], seed);
        t->keys[number].hash = t->hashes[i];
        t->keys[number].count++;
    }
    if (good) t->distinct = lab_set_count(set);
    lab_set_free(set);
    return good;
}

static weir_status tally_new(tally *t, lab_unit *unit, const char *spec, size_t most) {
    *t = (tally){0};
    weir_status status =
        lab_stream_collect(&t->hashes, &t->records, spec, unit->seed, &unit->error);
    if (status) return status;
    if (most && t->records > most) t->records = most;
    if (!count_ids(t, unit->seed)) {
        tally_free(t);
        return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the true counts");
    }
    qsort(t->keys, t->distinct, sizeof *t->keys, more_frequent);
    for (size_t i = 0; i < t->distinct; i++) t->self_join += t->keys[i].count * t->keys[i].count;
    return WEIR_OK;
}

/* n draws from a domain of n keys: the synthetic streams of the thesis. */
static weir_status tally_zipf(tally *t, lab_unit *unit, double skew) {
    char spec[96];
    snprintf(spec, sizeof spec, "zipf:n=%.0f,domain=%.0f,s=%g", unit->size, unit->size, skew);
    return tally_new(t, unit, spec, 0);
}

static const void *hash_as_key(void *context, size_t i, size_t *length) {
    const uint64_t *hashes = context;
    *length = sizeof *hashes;
    return &hashes[i];
}

/* A sketch of the stream; NULL and a message if it cannot be. */
static weir_sketch *sketch_of(lab_unit *unit, const tally *t, const char *spec) {
    weir_sketch *sketch;
    if (weir_sketch_new(&sketch, spec, &unit->error)) return NULL;
    weir_updates u = {
        .count = t->records, .hashes = t->hashes, .key = hash_as_key, .context = t->hashes};
    if (weir_sketch_add_batch(sketch, &u, &unit->error) == WEIR_OK) return sketch;
    weir_sketch_free(sketch);
    return NULL;
}

/* --- the ways to read a count ----------------------------------------------------------- */

enum { PLAIN, CONSERVATIVE, AGMS, SKETCHES };
enum { BY_CM, BY_MI, BY_CMM, BY_CMM_MEAN, BY_AGMS, BY_AUTO, WAYS };

static const struct {
    int sketch;
    weir_estimator by;
} ways[WAYS] = {{PLAIN, WEIR_BY_CM},       {CONSERVATIVE, WEIR_BY_CM}, {PLAIN, WEIR_BY_CMM},
                {PLAIN, WEIR_BY_CMM_MEAN}, {AGMS, WEIR_BY_AUTO},       {PLAIN, WEIR_BY_AUTO}};

typedef struct {
    weir_sketch *of[SKETCHES];
} trio;

static void trio_free(trio *three) {
    for (int i = 0; i < SKETCHES; i++) weir_sketch_free(three->of[i]);
}

static weir_status trio_new(trio *three, lab_unit *unit, const tally *t, unsigned width,
                            unsigned depth) {
    static const char *const kinds[] = {"countmin:update=plain", "countmin:update=conservative",
                                        "agms:counter=64"};
    *three = (trio){{NULL}};
    for (int i = 0; i < SKETCHES; i++) {
        char spec[128];
        snprintf(spec, sizeof spec, "%s,width=%u,depth=%u,seed=%llu", kinds[i], width, depth,
                 (unsigned long long)unit->seed);
        three->of[i] = sketch_of(unit, t, spec);
        if (three->of[i]) continue;
        trio_free(three);
        return unit->error.code;
    }
    return WEIR_OK;
}

static double read_count(trio *three, int way, uint64_t hash) {
    weir_estimate e = {0};
    weir_sketch_estimate_hash(three->of[ways[way].sketch], hash, ways[way].by, &e, NULL);
    return fmax(0, e.value);
}

/* Key i of the domain, which has as many keys as the stream has records: those that
 * came by, the most frequent first, then those that never did. */
static counted domain_key(const tally *t, size_t i, uint64_t seed) {
    if (i < t->distinct) return t->keys[i];
    return (counted){lab_hash_id(i, ~seed), 0}; /* an id of no stream */
}

enum { QUICK_QUERIES = 5000 };

/* Mean absolute error over all of the domain (evenly chosen keys of it in a quick
 * run), or over the most frequent keys. */
static double mean_error(const lab_unit *unit, trio *three, int way, const tally *t, bool all) {
    double sum = 0, asked = 0;
    size_t n = all ? t->records : TOP, step = all && !unit->full ? n / QUICK_QUERIES | 1 : 1;
    for (size_t i = 0; i < n; i += step, asked++) {
        counted key = domain_key(t, i, unit->seed);
        sum += fabs(read_count(three, way, key.hash) - key.count);
    }
    return sum / asked;
}

static weir_status emit_errors(lab_unit *unit, const tally *t, double x, unsigned width,
                               unsigned depth, bool all) {
    trio three;
    weir_status status = trio_new(&three, unit, t, width, depth);
    if (status) return status;
    double row[1 + WAYS] = {x};
    for (int way = 0; way < WAYS; way++) row[1 + way] = mean_error(unit, &three, way, t, all);
    trio_free(&three);
    return lab_emit(unit, row);
}

#define ERROR_COLUMNS                                                                              \
    {"cm", "CM", NULL, false, 0, 0}, {"mi", "MI", NULL, false, 0, 0},                              \
        {"cmm", "CMM", NULL, false, 0, 0}, {"cmm_mean", "CMM-mean", NULL, false, 0, 0},            \
        {"agms", "Fast-AGMS", NULL, false, 0, 0}, {"auto", "auto", NULL, false, 0, 0}, {           \
        0                                                                                          \
    }

static const lab_column by_skew_columns[] = {{"skew", "Zipf skew", NULL, true, 0, 0},
                                             ERROR_COLUMNS};
static const lab_column by_width_columns[] = {{"width", "width", NULL, true, 0, 0}, ERROR_COLUMNS};
static const lab_column by_depth_columns[] = {{"depth", "depth", NULL, true, 0, 0}, ERROR_COLUMNS};

#define SKEWS                                                                                      \
    {.label = "0", .p = {0}}, {.label = "0.25", .p = {0.25}}, {.label = "0.5", .p = {0.5}},        \
        {.label = "0.75", .p = {0.75}}, {.label = "1", .p = {1}}, {.label = "1.25", .p = {1.25}},  \
        {.label = "1.5", .p = {1.5}}, {.label = "1.75", .p = {1.75}}, {.label = "2", .p = {2}}, {  \
        0                                                                                          \
    }
static const lab_case skew_cases[] = {SKEWS};

static const lab_case url_cases[] = {{.label = "repo_urls", .stream = "repo_urls"}, {0}};

static double stream_memory(const lab_case *c, double size, double scale) {
    (void)c;
    (void)scale;
    return lab_prepared_bytes(size);
}

/* --- figures 4.1 and 4.2: against skew ------------------------------------------------------ */

static weir_status run_skew(lab_unit *unit, unsigned width, unsigned depth, bool all) {
    tally t;
    weir_status status = tally_zipf(&t, unit, unit->c->p[0]);
    if (!status) status = emit_errors(unit, &t, unit->c->p[0], width, depth, all);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

static weir_status run_4_1(lab_unit *unit) { return run_skew(unit, 64, 3, true); }
static weir_status run_4_2(lab_unit *unit) { return run_skew(unit, 256, 5, false); }

/* The greatest of a / b over all rows whose first column is within [from, to]. */
static double greatest_ratio(const lab_result *r, const char *a, const char *b, const char *x,
                             double from, double to) {
    double most = -INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double at = lab_mean(r, c, row, x);
            if (at < from || at > to) continue;
            most = fmax(most, lab_mean(r, c, row, a) / lab_mean(r, c, row, b));
        }
    return most;
}

static bool ahead_at_low_skew(const lab_result *r, lab_words *found) {
    double cmm = greatest_ratio(r, "cmm", "cm", "skew", 0, 0.5);
    double agms = greatest_ratio(r, "agms", "cm", "skew", 0, 0.5);
    return lab_say(found, cmm < 0.2 && agms < 0.2,
                   "Up to a skew of 0.5, CMM has at most %.2g and Fast-AGMS %.2g times the error "
                   "of CM.",
                   cmm, agms);
}

/* The least skew from which on column a stays below b; INFINITY if there is none. */
static double crossover(const lab_result *r, const char *a, const char *b) {
    double from = INFINITY;
    for (size_t c = lab_cases(r); c-- > 0;) {
        if (!(lab_mean(r, c, 0, a) < lab_mean(r, c, 0, b))) break;
        from = lab_mean(r, c, 0, "skew");
    }
    return from;
}

static bool cm_passes_agms(const lab_result *r, lab_words *found) {
    double cm = crossover(r, "cm", "agms"), mi = crossover(r, "mi", "agms");
    return lab_say(found, cm <= 2 && mi <= 2 && cm > 0.5 && mi > 0.5,
                   "CM is more accurate than Fast-AGMS from a skew of %g on, MI from %g on.", cm,
                   mi);
}

static bool bound_helps_cmm(const lab_result *r, lab_words *found) {
    double cmm = greatest_ratio(r, "cmm", "agms", "skew", 1.5, 2);
    double mean = greatest_ratio(r, "cmm_mean", "agms", "skew", 1.5, 2);
    return lab_say(found, cmm < 1 && mean < 1,
                   "From a skew of 1.5 on, CMM has at most %.2f and CMM-mean %.2f times the error "
                   "of Fast-AGMS.",
                   cmm, mean);
}

static bool agms_is_between(const lab_result *r, lab_words *found) {
    double mean = greatest_ratio(r, "cmm_mean", "agms", "skew", 0.5, 1);
    double cmm = greatest_ratio(r, "agms", "cmm", "skew", 0.5, 1);
    return lab_say(found, mean <= 1 && cmm <= 1,
                   "At skews of 0.5 to 1, CMM-mean has at most %.2f times the error of Fast-AGMS, "
                   "and that %.2f times the error of CMM.",
                   mean, cmm);
}

static const lab_claim claims_4_1[] = {
    {true, "At low skew CMM and Fast-AGMS are far below CM (a fifth, up to a skew of 0.5).",
     ahead_at_low_skew, "both below a fifth of CM's error at each skew up to 0.5", LAB_AFTER},
    {true, "CM and MI become more accurate than Fast-AGMS at high skew.", cm_passes_agms,
     "CM and MI have the lower error from some skew between 0.5 and 2 on", LAB_AFTER},
    {true, "At high skew both forms of CMM are better than Fast-AGMS, by the bound of CM.",
     bound_helps_cmm, "both forms of CMM below Fast-AGMS at each skew from 1.5 on", LAB_WORDS},
    {true, "At lower skew Fast-AGMS is between CMM-mean and CMM (0.5 to 1; below, all are alike).",
     agms_is_between, "CMM-mean <= Fast-AGMS <= CMM at each skew from 0.5 to 1", LAB_AFTER},
    {0}};

/* How far apart CMM and Fast-AGMS are, either way. */
static double apart(const lab_result *r, const char *x) {
    return fmax(greatest_ratio(r, "cmm", "agms", x, 0, INFINITY),
                greatest_ratio(r, "agms", "cmm", x, 0, INFINITY));
}

static bool alike_at_any_skew(const lab_result *r, lab_words *found) {
    double most = apart(r, "skew");
    return lab_say(found, most < 2, "They are apart by a factor of %.2f at most.", most);
}

static bool cm_passes_cmm(const lab_result *r, lab_words *found) {
    double cm = crossover(r, "cm", "cmm"), agms = crossover(r, "cm", "agms");
    return lab_say(found, cm <= 2 && agms <= 2 && cm > 0.5 && agms > 0.5,
                   "CM is more accurate than CMM from a skew of %g on, than Fast-AGMS from %g on.",
                   cm, agms);
}

static bool mi_is_below_cm(const lab_result *r, lab_words *found) {
    double most = greatest_ratio(r, "mi", "cm", "skew", 0, 2);
    double low = greatest_ratio(r, "cmm", "mi", "skew", 0, 0.5);
    double high = greatest_ratio(r, "mi", "cmm", "skew", 1.5, 2);
    return lab_say(found, most < 1 && low < 0.5 && high < 0.5,
                   "MI has at most %.2f times the error of CM; up to a skew of 0.5 CMM has at most "
                   "%.2g times the error of MI, from 1.5 on MI has at most %.2g times that of CMM.",
                   most, low, high);
}

static const lab_claim claims_4_2[] = {
    {true, "CMM and Fast-AGMS are alike (within a factor of 2) at any skew.", alike_at_any_skew,
     "a factor of 2 at most between them, at each skew", LAB_AFTER},
    {true, "At low skew they are far below CM (a fifth, up to a skew of 0.5).", ahead_at_low_skew,
     "both below a fifth of CM's error at each skew up to 0.5", LAB_AFTER},
    {true, "At high skew CM becomes more accurate than both.", cm_passes_cmm,
     "CM has the lower error from some skew between 0.5 and 2 on", LAB_AFTER},
    {true,
     "MI is better than CM throughout, much worse than CMM at low skew, and much better at "
     "high skew (a half).",
     mi_is_below_cm, "MI below CM at each skew, below a half of it up to 0.5 and from 1.5 on",
     LAB_AFTER},
    {0}};

/* --- figures 4.3 and 4.4: against width and depth, on URLs ------------------------------------ */

static const unsigned widths[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};

static weir_status run_4_3(lab_unit *unit) {
    tally t;
    weir_status status = tally_new(&t, unit, unit->c->stream, (size_t)unit->size);
    for (size_t i = 0; !status && i < sizeof widths / sizeof *widths; i++)
        status = emit_errors(unit, &t, widths[i], widths[i], 5, false);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

enum { DEPTH_MOST = 10 };

static weir_status run_4_4(lab_unit *unit) {
    tally t;
    weir_status status = tally_new(&t, unit, unit->c->stream, (size_t)unit->size);
    for (unsigned depth = 1; !status && depth <= DEPTH_MOST; depth++)
        status = emit_errors(unit, &t, depth, 256, depth, false);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

static bool say_alike(const lab_result *r, const char *x, lab_words *found) {
    double most = apart(r, x);
    return lab_say(found, most < 2, "They are apart by a factor of %.2f at most.", most);
}

static bool say_far_below_cm(const lab_result *r, const char *x, lab_words *found) {
    double cmm = greatest_ratio(r, "cmm", "cm", x, 0, INFINITY);
    double agms = greatest_ratio(r, "agms", "cm", x, 0, INFINITY);
    return lab_say(found, cmm < 0.5 && agms < 0.5 && cmm > 0,
                   "CMM has at most %.2g and Fast-AGMS %.2g times the error of CM.", cmm, agms);
}

static bool alike_at_any_width(const lab_result *r, lab_words *found) {
    return say_alike(r, "width", found);
}
static bool alike_at_any_depth(const lab_result *r, lab_words *found) {
    return say_alike(r, "depth", found);
}
static bool below_cm_at_any_width(const lab_result *r, lab_words *found) {
    return say_far_below_cm(r, "width", found);
}
static bool below_cm_at_any_depth(const lab_result *r, lab_words *found) {
    return say_far_below_cm(r, "depth", found);
}

static bool mi_gains_by_width(const lab_result *r, lab_words *found) {
    double narrow = lab_mean(r, 0, 0, "mi") / lab_mean(r, 0, 0, "cmm");
    double wide = lab_mean(r, 0, -1, "mi") / lab_mean(r, 0, -1, "cmm");
    return lab_say(found, narrow > 1 && wide < narrow / 2,
                   "MI has %.2g times the error of CMM at width 64, %.2g times at 8192.", narrow,
                   wide);
}

static bool mi_is_between(const lab_result *r, lab_words *found) {
    double cm = greatest_ratio(r, "mi", "cm", "depth", 2, INFINITY);
    double cmm = greatest_ratio(r, "cmm", "mi", "depth", 2, INFINITY);
    return lab_say(found, cm < 1 && cmm < 1,
                   "From depth 2 on (at 1 MI is CM), MI has at most %.2f times the error of CM, "
                   "CMM at most %.2g times that of MI.",
                   cm, cmm);
}

static const lab_claim claims_4_3[] = {
    {true, "CMM and Fast-AGMS are alike (within a factor of 2).", alike_at_any_width,
     "a factor of 2 at most between them, at each width", LAB_AFTER},
    {true, "Both are far below CM (a half).", below_cm_at_any_width,
     "both below a half of CM's error at each width", LAB_AFTER},
    {true, "MI does not do well when the space is small and becomes better when it is large.",
     mi_gains_by_width, "above CMM at the least width, at most half that ratio at the greatest",
     LAB_AFTER},
    {0}};

static const lab_claim claims_4_4[] = {
    {true, "CMM and Fast-AGMS are alike (within a factor of 2).", alike_at_any_depth,
     "a factor of 2 at most between them, at each depth", LAB_AFTER},
    {true, "Both are far below CM (a half).", below_cm_at_any_depth,
     "both below a half of CM's error at each depth", LAB_AFTER},
    {true, "MI is better than CM, but not as good as CMM and Fast-AGMS.", mi_is_between,
     "MI below CM and above CMM at each depth from 2 on", LAB_WORDS},
    {0}};

/* --- figures 4.5 to 4.7: self-joins --------------------------------------------------------------
 */

#define JOIN_COLUMNS                                                                               \
    {"cm", "CM", "%", false, 0, 0}, {"cmm", "CMM", "%", false, 0, 0},                              \
        {"agms", "Fast-AGMS", "%", false, 0, 0}, {                                                 \
        0                                                                                          \
    }
static const lab_column join_skew_columns[] = {{"skew", "Zipf skew", NULL, true, 0, 0},
                                               JOIN_COLUMNS};
static const lab_column join_width_columns[] = {{"width", "width", NULL, true, 0, 0}, JOIN_COLUMNS};
static const lab_column join_depth_columns[] = {{"depth", "depth", NULL, true, 0, 0}, JOIN_COLUMNS};

static weir_status emit_joins(lab_unit *unit, const tally *t, double x, unsigned width,
                              unsigned depth) {
    static const int asked[] = {BY_CM, BY_CMM, BY_AGMS};
    trio three;
    double row[4] = {x};
    weir_status status = trio_new(&three, unit, t, width, depth);
    for (size_t i = 0; !status && i < 3; i++) {
        weir_estimate e = {0};
        status = weir_sketch_self_join(three.of[ways[asked[i]].sketch], ways[asked[i]].by, &e,
                                       &unit->error);
        row[1 + i] = 100 * fabs(e.value - t->self_join) / t->self_join;
    }
    trio_free(&three);
    return status ? status : lab_emit(unit, row);
}

static weir_status run_4_5(lab_unit *unit) {
    tally t;
    weir_status status = tally_zipf(&t, unit, unit->c->p[0]);
    if (!status) status = emit_joins(unit, &t, unit->c->p[0], 16, 5);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

static const unsigned join_widths[] = {8, 16, 32, 64, 128, 256, 512, 1024};

static weir_status run_4_6(lab_unit *unit) {
    tally t;
    weir_status status = tally_new(&t, unit, unit->c->stream, (size_t)unit->size);
    for (size_t i = 0; !status && i < sizeof join_widths / sizeof *join_widths; i++)
        status = emit_joins(unit, &t, join_widths[i], join_widths[i], 3);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

static weir_status run_4_7(lab_unit *unit) {
    tally t;
    weir_status status = tally_new(&t, unit, unit->c->stream, (size_t)unit->size);
    for (unsigned depth = 1; !status && depth <= DEPTH_MOST; depth++)
        status = emit_joins(unit, &t, depth, 16, depth);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

/* The cell in which CMM and Fast-AGMS are furthest apart, as a factor. */
static bool say_close_joins(const lab_result *r, lab_words *found) {
    double most = 0, cmm_then = NAN, agms_then = NAN, cm_then = NAN;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double cmm = lab_mean(r, c, row, "cmm"), agms = lab_mean(r, c, row, "agms");
            double factor = fmax(cmm, agms) / fmin(cmm, agms);
            if (!(factor > most)) continue;
            most = factor, cmm_then = cmm, agms_then = agms, cm_then = lab_mean(r, c, row, "cm");
        }
    return lab_say(found, most < 2,
                   "They are apart by a factor of up to %.2f: CMM errs by %.2f%%, Fast-AGMS by "
                   "%.2f%% where CM errs by %.2f%%.",
                   most, cmm_then, agms_then, cm_then);
}

static bool joins_below_cm(const lab_result *r, lab_words *found) {
    double cmm = greatest_ratio(r, "cmm", "cm", "skew", 0, 0.75);
    double agms = greatest_ratio(r, "agms", "cm", "skew", 0, 0.75);
    double low = lab_mean(r, 0, 0, "cm"), high = lab_mean(r, lab_cases(r) - 1, 0, "cm");
    return lab_say(found, cmm < 0.05 && agms < 0.05 && high < low / 100,
                   "Up to a skew of 0.75 CMM has at most %.2g and Fast-AGMS %.2g times the error "
                   "of CM, which falls from %.3g%% at skew 0 to %.2g%% at 2.",
                   cmm, agms, low, high);
}

static bool joins_below_cm_by_width(const lab_result *r, lab_words *found) {
    return say_far_below_cm(r, "width", found);
}
static bool joins_below_cm_by_depth(const lab_result *r, lab_words *found) {
    return say_far_below_cm(r, "depth", found);
}

static bool depth_hardly_matters(const lab_result *r, lab_words *found) {
    double one = lab_mean(r, 0, 0, "cm"), ten = lab_mean(r, 0, -1, "cm");
    double first = lab_mean(r, 0, 0, "cmm"), last = lab_mean(r, 0, -1, "cmm");
    return lab_say(found, fabs(ten - one) < one / 10 && fabs(first - last) < first / 10,
                   "From depth 1 to 10 the error of CM goes from %.3g%% to %.3g%%, that of CMM "
                   "from %.3g%% to %.3g%%.",
                   one, ten, first, last);
}

static const lab_claim claims_4_5[] = {
    {true, "At low skew CMM and Fast-AGMS are far below CM; the difference shrinks with skew.",
     joins_below_cm,
     "both below a twentieth of CM's error up to a skew of 0.75, CM at skew 2 below a hundredth of "
     "CM at 0",
     LAB_AFTER},
    {true, "CMM and Fast-AGMS are always alike.", say_close_joins,
     "a factor of 2 at most between them, in every cell, as for figures 4.2 to 4.4", LAB_AFTER},
    {0}};
static const lab_claim claims_4_6[] = {
    {true, "Both are far below CM (a half) at every width.", joins_below_cm_by_width,
     "both below a half of CM's error at each width", LAB_AFTER},
    {true, "CMM and Fast-AGMS are alike.", say_close_joins,
     "a factor of 2 at most between them, in every cell, as for figures 4.2 to 4.4", LAB_AFTER},
    {0}};
static const lab_claim claims_4_7[] = {
    {true, "Both are far below CM (a half) at every depth.", joins_below_cm_by_depth,
     "both below a half of CM's error at each depth", LAB_AFTER},
    {true, "CMM and Fast-AGMS are alike.", say_close_joins,
     "a factor of 2 at most between them, in every cell, as for figures 4.2 to 4.4", LAB_AFTER},
    {true, "Depth from 1 to 10 has almost no impact.", depth_hardly_matters,
     "errors at depth 10 within 10% of those at depth 1, for CM and CMM", LAB_AFTER},
    {0}};

/* --- auto
 * ------------------------------------------------------------------------------------------ */

static const lab_column auto_columns[] = {{"skew", "Zipf skew", NULL, true, 0, 0},
                                          {"cm", "CM", NULL, false, 0, 0},
                                          {"cmm", "CMM", NULL, false, 0, 0},
                                          {"auto", "auto", NULL, false, 0, 0},
                                          {"one", "one number for all", NULL, false, 0, 0},
                                          {0}};

/* The mean absolute error of the mean count as the answer for every key that mean_error() asks for.
 * The domain has as many keys as there are records: its mean is 1. */
static double error_of_one(const tally *t, bool all) {
    size_t n = all ? t->records : TOP;
    double sum = 0, mean = 1;
    for (size_t i = 0; !all && i < n; i++) sum += domain_key(t, i, 0).count;
    if (!all) mean = sum / (double)n, sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs(domain_key(t, i, 0).count - mean);
    return sum / (double)n;
}

static weir_status emit_auto(lab_unit *unit, const tally *t, double skew) {
    static const int asked[] = {BY_CM, BY_CMM, BY_AUTO};
    trio only = {{NULL}};
    char spec[128];
    double row[5] = {skew};
    snprintf(spec, sizeof spec, "countmin:width=%.0f,depth=%.0f,seed=%llu", unit->c->p[0],
             unit->c->p[1], (unsigned long long)unit->seed);
    only.of[PLAIN] = sketch_of(unit, t, spec);
    if (!only.of[PLAIN]) return unit->error.code;
    for (size_t i = 0; i < 3; i++)
        row[1 + i] = mean_error(unit, &only, asked[i], t, unit->c->p[2] > 0);
    row[4] = error_of_one(t, unit->c->p[2] > 0);
    trio_free(&only);
    return lab_emit(unit, row);
}

static weir_status run_auto(lab_unit *unit) {
    for (int i = 0; i <= 8; i++) {
        tally t;
        weir_status status = tally_zipf(&t, unit, i / 4.0);
        if (!status) status = emit_auto(unit, &t, i / 4.0);
        tally_free(&t);
        if (status || !lab_tick(unit, (uint64_t)(unit->size / 9))) return status;
    }
    return WEIR_OK;
}

static bool auto_is_as_good(const lab_result *r, lab_words *found) {
    double worst = 0, best = INFINITY;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double better = fmin(lab_mean(r, c, row, "cm"), lab_mean(r, c, row, "cmm"));
            double ratio = lab_mean(r, c, row, "auto") / better;
            if (better == 0) continue;
            worst = fmax(worst, ratio), best = fmin(best, ratio);
        }
    return lab_say(found, worst <= 1.1,
                   "auto has %.2f to %.2f times the error of the better of the two.", best, worst);
}

static bool auto_tells_keys_apart(const lab_result *r, lab_words *found) {
    double worst = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c) && lab_case_at(r, c)->p[2] == 0; row++)
            if (lab_mean(r, c, row, "skew") >= 1)
                worst = fmax(worst, lab_mean(r, c, row, "auto") / lab_mean(r, c, row, "one"));
    return lab_say(found, worst > 0 && worst <= 0.5,
                   "At most %.2f times the error of the mean count as the answer for every key.",
                   worst);
}

static const lab_case auto_cases[] = {
    {.panel = "all keys", .label = "64 x 3, all", .p = {64, 3, 1}},
    {.panel = "all keys", .label = "256 x 5, all", .p = {256, 5, 1}},
    {.panel = "all keys", .label = "512 x 2, all", .p = {512, 2, 1}},
    {.panel = "all keys", .label = "2048 x 4, all", .p = {2048, 4, 1}},
    {.panel = "all keys", .label = "4096 x 7, all", .p = {4096, 7, 1}},
    {.panel = "top 100", .label = "64 x 3, top 100", .p = {64, 3, 0}},
    {.panel = "top 100", .label = "256 x 5, top 100", .p = {256, 5, 0}},
    {.panel = "top 100", .label = "512 x 2, top 100", .p = {512, 2, 0}},
    {.panel = "top 100", .label = "2048 x 4, top 100", .p = {2048, 4, 0}},
    {.panel = "top 100", .label = "4096 x 7, top 100", .p = {4096, 7, 0}},
    {0}};

static const lab_claim auto_claims[] = {
    {false, "auto has at most 1.1 times the error of the better of CM and CMM, skew 0 to 2.",
     auto_is_as_good, "at most 1.1 times the better of both in each cell", LAB_AFTER},
    {true, "auto tells the 100 most frequent keys apart, from a skew of 1 on.",
     auto_tells_keys_apart, "at most half of the error of one number for all, in each cell",
     LAB_AFTER},
    {0}};

/* --- the top 100 of real streams
 * ---------------------------------------------------------------------- */

static const lab_column top_columns[] = {
    {"hundredth", "share of the 100th key", "%", false, 0, 0},
    {"memory", "memory", "KiB", false, 0, 0},
    {"missing", "of the top 100, not listed above that share", NULL, false, 0, 0},
    {"vouched", "the list vouches for itself", NULL, false, 0, 0},
    {"false_keys", "listed below half of that share", NULL, false, 0, 0},
    {"listed", "keys listed", NULL, false, 0, 0},
    {"top_missing", "of the top 100, not among the first 100 by auto", NULL, false, 0, 0},
    {0}};

enum { ROOM = 4 * TOP };

static double true_count(const tally *t, uint64_t hash) {
    for (size_t i = 0; i < t->distinct; i++)
        if (t->keys[i].hash == hash) return t->keys[i].count;
    return 0;
}

/* Keys as frequent as the hundredth that a list has, 100 at most, and those below
 * `low`. Ties for the hundredth place may stand for each other. */
static void judge_list(const tally *t, const weir_items *list, double low, double *missing,
                       double *false_keys) {
    double good = 0;
    *false_keys = 0;
    for (size_t i = 0; i < list->found; i++) {
        double count = true_count(t, list->items[i].hash);
        good += count >= t->keys[TOP - 1].count;
        *false_keys += count < low;
    }
    *missing = fmax(0, TOP - good);
}

static weir_status emit_top(lab_unit *unit, const tally *t) {
    static const char form[] = "top:k=%.0f,error=%.9g,confidence=99%%,seed=%llu";
    if (!t->keys) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the counts");
    double share = t->keys[TOP - 1].count / (double)t->records, ignored;
    char spec[160];
    weir_item items[ROOM], first[TOP];
    weir_items list = {.items = items, .room = ROOM}, top = {.items = first, .room = TOP};
    weir_sketch_info info;
    snprintf(spec, sizeof spec, form, unit->c->p[0], share / 2, (unsigned long long)unit->seed);
    weir_sketch *sketch = sketch_of(unit, t, spec);
    if (!sketch) return unit->error.code;
    weir_sketch_get_info(sketch, &info);
    double row[7] = {100 * share, (double)info.memory / 1024};
    weir_status status = weir_sketch_above(sketch, share, WEIR_BY_CM, &list, &unit->error);
    if (!status) {
        judge_list(t, &list, t->keys[TOP - 1].count / 2, &row[2], &row[4]);
        row[3] = list.complete, row[5] = (double)list.found;
        status = weir_sketch_top(sketch, WEIR_BY_AUTO, &top, &unit->error);
    }
    if (!status) {
        judge_list(t, &top, 0, &row[6], &ignored);
        status = lab_emit(unit, row);
    }
    weir_sketch_free(sketch);
    return status;
}

static weir_status run_top(lab_unit *unit) {
    tally t;
    weir_status status = tally_new(&t, unit, unit->c->stream, 0);
    if (!status && t.distinct < ROOM)
        status = lab_fail(unit, WEIR_ERR_RANGE, "the stream has too few keys");
    if (!status) status = emit_top(unit, &t);
    tally_free(&t);
    lab_tick(unit, (uint64_t)unit->size);
    return status;
}

static double sum_of(const lab_result *r, const char *column) {
    double sum = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        if (lab_rows(r, c)) sum += lab_mean(r, c, -1, column);
    return sum;
}

static bool none_is_missed(const lab_result *r, lab_words *found) {
    double missing = sum_of(r, "missing"), vouched = 0, streams = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        if (lab_rows(r, c)) streams++, vouched += lab_mean(r, c, -1, "vouched") == 1;
    return lab_say(found, missing == 0 && streams > 0,
                   "%.0f keys are missing on %.0f streams; %.0f lists vouch for themselves.",
                   missing, streams, vouched);
}

static bool none_is_far_below(const lab_result *r, lab_words *found) {
    double listed = sum_of(r, "listed"), wrong = sum_of(r, "false_keys");
    return lab_say(found, wrong <= listed / 100, "%.1f of %.1f listed keys are below.", wrong,
                   listed);
}

static const lab_case top_cases[] = {
    {.label = "weblog", .stream = "weblog", .p = {TOP}},
    {.label = "trending", .stream = "trending", .p = {TOP}},
    {.label = "flows", .stream = "flows", .p = {TOP}},
    {.label = "recommendations", .stream = "recommendations", .p = {TOP}},
    {.label = "repo_urls", .stream = "repo_urls", .p = {TOP}},
    {.label = "block_trace", .stream = "block_trace", .p = {TOP}},
    {.label = "zipf 1", .stream = "zipf:n=500K,domain=500K,s=1", .p = {TOP}},
    {.label = "flows, k = 300", .stream = "flows", .p = {3 * TOP}},
    {0}};

static const lab_claim top_claims[] = {
    {true, "Every key as frequent as the 100th is in the list of those above its share.",
     none_is_missed, "no key missing on any stream", LAB_WORDS},
    {true, "No more than one in a hundred listed keys is below half of that share.",
     none_is_far_below, "at most 1 in 100 listed keys below half of the share", LAB_AFTER},
    {0}};

/* --- different keys
 * --------------------------------------------------------------------------------------- */

static const lab_column distinct_columns[] = {
    {"n", "different keys", NULL, true, 0, 0},
    {"error", "root mean square error", "%", false, 0, 0},
    {"formula", "by the formula", "%", true, 0, 0},
    {"published", "published for DataSketches", "%", true, 0, 0},
    {"bias", "mean error", "%", false, 0, 0},
    {"runs", "runs", NULL, true, 0, 0},
    {0}};

enum { HLL_P = 10, KMV_K = 1024, LINEAR_BITS = 1 << 16 };
enum { IS_HLL, IS_KMV, IS_LINEAR };

/* Relative standard deviation by the formula of the kind. */
static double formula_of(int kind, double n) {
    double t = n / LINEAR_BITS;
    if (kind == IS_HLL) return 1.04 / sqrt(1 << HLL_P);
    if (kind == IS_KMV) return 1 / sqrt(KMV_K - 1);
    return sqrt(LINEAR_BITS * (exp(t) - t - 1)) / n;
}

/* What Apache DataSketches states for sketches of the same size: HLL without the
 * order of arrival (after a merge) sqrt(3 ln 2 - 1)/sqrt(m), HLL_NON_HIP_RSE_FACTOR in
 * hll/include/HllUtil.hpp of datasketches-cpp; Theta 1/sqrt(k - 1), which is the table in
 * docs/Theta/ThetaErrorTable.md of its site; it has no linear counting. */
static double published_of(int kind) {
    if (kind == IS_HLL) return sqrt(3 * 0.693147180559945 - 1) / sqrt(1 << HLL_P);
    return kind == IS_KMV ? 1 / sqrt(KMV_K - 1) : NAN;
}

/* The relative error of one sketch of n keys. */
static weir_status one_distinct(lab_unit *unit, uint64_t seed, uint64_t n, double *error) {
    char spec[96];
    weir_sketch *sketch;
    weir_estimate e = {0};
    uint64_t hashes[BATCH];
    snprintf(spec, sizeof spec, "%s,seed=%llu", unit->c->filter, (unsigned long long)seed);
    weir_status status = weir_sketch_new(&sketch, spec, &unit->error);
    for (uint64_t done = 0; !status && done < n; done += BATCH) {
        size_t count = (size_t)(n - done < BATCH ? n - done : BATCH);
        for (size_t i = 0; i < count; i++) hashes[i] = lab_hash_id(done + i, seed);
        weir_updates u = {.count = count, .hashes = hashes};
        status = weir_sketch_add_batch(sketch, &u, &unit->error);
    }
    if (!status) status = weir_sketch_distinct(sketch, &e, &unit->error);
    if (!status) *error = (e.value - (double)n) / (double)n;
    weir_sketch_free(sketch);
    return status;
}

static weir_status run_distinct(lab_unit *unit) {
    static const uint64_t counts[] = {1000, 3000, 10000, 30000, 100000};
    int kind = (int)unit->c->p[0];
    uint64_t runs = (uint64_t)unit->size;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        double squares = 0, sum = 0, error = 0;
        for (uint64_t i = 0; i < runs; i++) {
            weir_status status = one_distinct(unit, unit->seed * runs + i, counts[k], &error);
            if (status) return status;
            squares += error * error, sum += error;
        }
        double n = (double)counts[k], all = (double)runs;
        double row[] = {n,
                        100 * sqrt(squares / all),
                        100 * formula_of(kind, n),
                        100 * published_of(kind),
                        100 * sum / all,
                        all};
        weir_status status = lab_emit(unit, row);
        if (status || !lab_tick(unit, runs / 5)) return status;
    }
    return WEIR_OK;
}

/* The root mean square of R errors has a deviation of 1/sqrt(2R) of itself: four of
 * them are allowed, a false alarm in about 2000 for all 15 rows. */
static double allowed(const lab_result *r, size_t c, int row, unsigned seeds) {
    return 1 + 4 / sqrt(2 * lab_mean(r, c, row, "runs") * seeds);
}

static bool keeps_to(const lab_result *r, const char *column, lab_words *found) {
    double worst = 0, room = 0;
    bool kept = true;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double limit = lab_mean(r, c, row, column);
            if (isnan(limit)) continue;
            double ratio = lab_mean(r, c, row, "error") / limit;
            room = allowed(r, c, row, 1);
            kept = kept && ratio <= room;
            worst = fmax(worst, ratio);
        }
    return lab_say(found, kept, "At most %.3f times it (sampling alone allows %.2f).", worst, room);
}

static bool keeps_to_formula(const lab_result *r, lab_words *found) {
    return keeps_to(r, "formula", found);
}

static bool keeps_to_published(const lab_result *r, lab_words *found) {
    return keeps_to(r, "published", found);
}

/* Of a mean of R errors, likewise. */
static bool is_unbiased(const lab_result *r, lab_words *found) {
    double worst = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            double deviation = lab_mean(r, c, row, "error") / sqrt(lab_mean(r, c, row, "runs"));
            if (deviation > 0) worst = fmax(worst, fabs(lab_mean(r, c, row, "bias")) / deviation);
        }
    return lab_say(found, worst < 4.5,
                   "The mean error is at most %.1f of its own standard deviations from 0.", worst);
}

static const lab_case distinct_cases[] = {
    {.label = "hll, 1024 registers", .filter = "hll:p=10", .p = {IS_HLL}},
    {.label = "kmv, k = 1024", .filter = "kmv:memory=16K", .p = {IS_KMV}},
    {.label = "linear, 65536 bits", .filter = "linear:memory=8K", .p = {IS_LINEAR}},
    {0}};

static const lab_claim distinct_claims[] = {
    {true, "The error is no greater than the formula of the sketch.", keeps_to_formula,
     "at most the formula, times what sampling allows (4.5 deviations)", LAB_LEVEL},
    {true, "It is no greater than what DataSketches publishes for HLL (merged) and Theta.",
     keeps_to_published, "at most the published error, times what sampling allows (4.5 deviations)",
     LAB_LEVEL},
    {true, "The estimates are unbiased.", is_unbiased,
     "mean error within 4.5 standard deviations of 0", LAB_LEVEL},
    {0}};

/* --- cost
 * ----------------------------------------------------------------------------------------------------
 */

enum { COST_ROWS = 20 };

static const lab_column cost_columns[] = {{"updates", "updates", NULL, true, 0, 0},
                                          {"ns", "nanoseconds an update", "ns", false, 0, 0},
                                          {0}};

static double thread_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Half of the keys are new, half are of a thousand that keep coming. */
static weir_status time_updates(lab_unit *unit, weir_sketch *sketch, lab_rng *rng, uint64_t updates,
                                double *ns) {
    uint64_t hashes[BATCH];
    weir_updates u = {.count = BATCH, .hashes = hashes, .key = hash_as_key, .context = hashes};
    double spent = 0;
    uint64_t done = 0;
    for (; done < updates; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            uint64_t word = lab_rng_next(rng);
            hashes[i] = word & 1 ? lab_hash_id(word % 1000, 3) : word;
        }
        double start = thread_ns();
        weir_status status = weir_sketch_add_batch(sketch, &u, &unit->error);
        spent += thread_ns() - start;
        if (status) return status;
    }
    *ns = spent / (double)done;
    return WEIR_OK;
}

static weir_status run_cost(lab_unit *unit) {
    char spec[128];
    weir_sketch *sketch;
    lab_rng rng = lab_rng_of(unit->seed, 11);
    uint64_t updates = (uint64_t)(unit->size / COST_ROWS);
    snprintf(spec, sizeof spec, "%s,seed=%llu", unit->c->filter, (unsigned long long)unit->seed);
    weir_status status = weir_sketch_new(&sketch, spec, &unit->error);
    for (int row = 1; !status && row <= COST_ROWS; row++) {
        double values[] = {(double)updates * row, 0};
        status = time_updates(unit, sketch, &rng, updates, &values[1]);
        if (!status) status = lab_emit(unit, values);
        if (!lab_tick(unit, updates)) break;
    }
    weir_sketch_free(sketch);
    return status;
}

static bool cost_is_flat(const lab_result *r, lab_words *found) {
    double worst = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        double early = 0, late = 0;
        int rows = (int)lab_rows(r, c), quarter = rows / 4;
        for (int i = 0; i < quarter; i++) {
            early += lab_mean(r, c, quarter + i, "ns");
            late += lab_mean(r, c, rows - quarter + i, "ns");
        }
        worst = fmax(worst, late / early);
    }
    return lab_say(found, worst < 1.5,
                   "An update in the last quarter of the stream costs %.2f times one in the second "
                   "quarter, at most.",
                   worst);
}

static const lab_case cost_cases[] = {{.label = "countmin", .filter = "countmin:memory=1M,depth=4"},
                                      {.label = "agms", .filter = "agms:memory=1M,depth=4"},
                                      {.label = "top", .filter = "top:k=100,memory=1M"},
                                      {.label = "hll", .filter = "hll:memory=12K"},
                                      {0}};

static const lab_claim cost_claims[] = {
    {true, "The cost of an update does not grow with the length of the stream.", cost_is_flat,
     "the last quarter of the stream costs less than 1.5 times the second", LAB_AFTER},
    {0}};

/* --- the entries
 * ------------------------------------------------------------------------------------------------
 */

#define SKEW_METHOD                                                                                \
    "n draws from a domain of n keys, Zipf skew 0 to 2; n is 1 million, and 200,000 in a quick "   \
    "run. "
#define URL_METHOD                                                                                 \
    "The first 1 million records (200,000 in a quick run) of repo_urls, in place of the "          \
    "thesis's crawl. "
#define READ_METHOD                                                                                \
    "Negative answers count as 0, CMM is at most CM. `auto` is weir's own and not in the thesis. "
#define BOTH_SIZES .quick = 2e5, .full = 1e6, .memory = stream_memory
#define EXPECT_ALL .quick_expected = LAB_REPRODUCED, .full_expected = LAB_REPRODUCED

const lab_experiment lab_exp_count[] = {
    {.name = "count-figure-4.1",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.1",
     .title = "How often: all keys of the domain, against skew",
     .claim =
         "CMM and Fast-AGMS are far better than CM at low skew; CM and MI become more accurate "
         "than Fast-AGMS at high skew.",
     .method = SKEW_METHOD READ_METHOD
     "Width 64, depth 3; mean absolute error over all keys of "
     "the domain, also those that never came (a quick run asks for 5,000 of them, evenly by rank).",
     .columns = by_skew_columns,
     .cases = skew_cases,
     .claims = claims_4_1,
     .figures = {{.title = "Mean absolute error, all keys",
                  .x_label = "Zipf skew",
                  .y_label = "error",
                  .x = "skew",
                  .y = {"cm", "mi", "cmm", "cmm_mean", "agms", "auto"},
                  .log_y = true}},
     BOTH_SIZES,
     .quick_seeds = 3,
     .full_seeds = 10,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .ns = 800,
     .run = run_4_1},
    {.name = "count-figure-4.2",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.2",
     .title = "How often: the 100 most frequent, against skew",
     .claim = "CMM and Fast-AGMS are alike and far below CM at low skew; CM passes them at high "
              "skew; MI is better than CM throughout and best at high skew.",
     .method = SKEW_METHOD READ_METHOD "Width 256, depth 5.",
     .columns = by_skew_columns,
     .cases = skew_cases,
     .claims = claims_4_2,
     .figures = {{.title = "Mean absolute error, 100 most frequent keys",
                  .x_label = "Zipf skew",
                  .y_label = "error",
                  .x = "skew",
                  .y = {"cm", "mi", "cmm", "agms", "auto"},
                  .log_y = true,
                  .claim = 2}},
     BOTH_SIZES,
     .quick_seeds = 4,
     .full_seeds = 10,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .ns = 175,
     .run = run_4_2},
    {.name = "count-figure-4.3",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.3",
     .title = "How often: URLs, against width",
     .claim = "CMM is very close to Fast-AGMS, both are significantly better than CM; MI becomes "
              "better when the space is large.",
     .method = URL_METHOD READ_METHOD "Depth 5; the 100 most frequent.",
     .columns = by_width_columns,
     .cases = url_cases,
     .claims = claims_4_3,
     .figures = {{.title = "Mean absolute error, 100 most frequent URLs",
                  .x_label = "width",
                  .y_label = "error",
                  .x = "width",
                  .y = {"cm", "mi", "cmm", "agms", "auto"},
                  .by_case = true,
                  .log_x = true,
                  .log_y = true}},
     BOTH_SIZES,
     .quick_seeds = 4,
     .full_seeds = 10,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .ns = 840,
     .run = run_4_3},
    {.name = "count-figure-4.4",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.4",
     .title = "How often: URLs, against depth",
     .claim = "CMM is very similar to Fast-AGMS, both are significantly better than CM; MI is "
              "between.",
     .method = URL_METHOD READ_METHOD "Width 256; the 100 most frequent.",
     .columns = by_depth_columns,
     .cases = url_cases,
     .claims = claims_4_4,
     .figures = {{.title = "Mean absolute error, 100 most frequent URLs",
                  .x_label = "depth",
                  .y_label = "error",
                  .x = "depth",
                  .y = {"cm", "mi", "cmm", "agms", "auto"},
                  .by_case = true,
                  .log_y = true}},
     BOTH_SIZES,
     .quick_seeds = 4,
     .full_seeds = 10,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .ns = 1200,
     .run = run_4_4},
    {.name = "count-figure-4.5",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.5",
     .title = "Self-join size, against skew",
     .claim = "CMM and Fast-AGMS are far better than CM at low skew and always alike.",
     .method = SKEW_METHOD "Width 16, depth 5; the error relative to the true size.",
     .reason = "At a skew of 2 CMM errs several times as much as Fast-AGMS, with CM between them; "
               "the thesis calls the two always alike. Its figure, which goes up to the 3 million "
               "percent of CM at skew 0, cannot show it.",
     .columns = join_skew_columns,
     .cases = skew_cases,
     .claims = claims_4_5,
     .figures = {{.title = "Error of the self-join size",
                  .x_label = "Zipf skew",
                  .y_label = "error (%)",
                  .x = "skew",
                  .y = {"cm", "cmm", "agms"}},
                 {.title = "The same, close up",
                  .x_label = "Zipf skew",
                  .y_label = "error (%)",
                  .x = "skew",
                  .y = {"cmm", "agms"},
                  .claim = 1}},
     BOTH_SIZES,
     .quick_seeds = 8,
     .full_seeds = 20,
     LAB_EXPECT(LAB_DIFFERS),
     .ns = 170,
     .run = run_4_5},
    {.name = "count-figure-4.6",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.6",
     .title = "Self-join size: URLs, against width",
     .claim = "CMM and Fast-AGMS are always similar and both outperform CM significantly, "
              "especially when the space is small.",
     .method = URL_METHOD "Depth 3.",
     .reason = "Beside CM the two are close, but at some width they are apart by more than a "
               "factor of 2.",
     .columns = join_width_columns,
     .cases = url_cases,
     .claims = claims_4_6,
     .figures = {{.title = "Error of the self-join size",
                  .x_label = "width",
                  .y_label = "error (%)",
                  .x = "width",
                  .y = {"cm", "cmm", "agms"},
                  .by_case = true,
                  .log_x = true},
                 {.title = "The same, close up",
                  .x_label = "width",
                  .y_label = "error (%)",
                  .x = "width",
                  .y = {"cmm", "agms"},
                  .by_case = true,
                  .log_x = true,
                  .claim = 1}},
     BOTH_SIZES,
     .quick_seeds = 8,
     .full_seeds = 20,
     LAB_EXPECT(LAB_DIFFERS),
     .ns = 580,
     .run = run_4_6},
    {.name = "count-figure-4.7",
     .file = LAB_FILE,
     .source = "Thesis, figure 4.7",
     .title = "Self-join size: URLs, against depth",
     .claim = "CMM and Fast-AGMS are similar, both outperform CM significantly; depth has almost "
              "no impact.",
     .method = URL_METHOD "Width 16.",
     .reason = "The error of CM falls to a third from depth 1 to depth 10, and at some depth CMM "
               "and Fast-AGMS are apart by more than a factor of 2.",
     .columns = join_depth_columns,
     .cases = url_cases,
     .claims = claims_4_7,
     .figures = {{.title = "Error of the self-join size",
                  .x_label = "depth",
                  .y_label = "error (%)",
                  .x = "depth",
                  .y = {"cm", "cmm", "agms"},
                  .by_case = true}},
     BOTH_SIZES,
     .quick_seeds = 8,
     .full_seeds = 20,
     LAB_EXPECT(LAB_DIFFERS),
     .ns = 900,
     .run = run_4_7},
    {.name = "count-auto",
     .file = LAB_FILE,
     .source = "weir",
     .title = "auto against the better of CM and CMM",
     .claim =
         "The estimator `auto` is never worse than 1.1 times the better of CM and CMM, whatever "
         "the skew.",
     .method = "n draws from a domain of n keys, Zipf skew 0 to 2; n is 1 million, and 100,000 in "
               "a quick run. Mean absolute errors over the domain and over the 100 most frequent; "
               "means over the seeds are compared.",
     .columns = auto_columns,
     .cases = auto_cases,
     .claims = auto_claims,
     .figures = {{.title = "Mean absolute error",
                  .x_label = "Zipf skew",
                  .y_label = "error",
                  .x = "skew",
                  .y = {"cm", "cmm", "auto"},
                  .by_case = true,
                  .log_y = true}},
     .ns = 4000,
     .quick = 1e5,
     .full = 1e6,
     .quick_seeds = 3,
     .full_seeds = 10,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .run = run_auto,
     .memory = stream_memory},
    {.name = "count-top",
     .file = LAB_FILE,
     .source = "weir",
     .title = "The 100 most frequent keys of real streams",
     .claim = "The top 100 are found complete in the memory that theory asks for.",
     .method = "Theory: with error e of the total, a list of the keys above a share s has all of "
               "them and none below s - e. Here s is the share of the 100th key, e is half of it, "
               "confidence 99%; keys as frequent as the 100th may stand for each other. The last "
               "column is what a list of just 100 by `auto` misses: there keys next to the 100th "
               "compete, which no error short of exact decides.",
     .columns = top_columns,
     .cases = top_cases,
     .claims = top_claims,
     .figures = {{.title = "Memory for the top 100",
                  .y_label = "KiB",
                  .y = {"memory"},
                  .style = LAB_BARS}},
     .ns = 425,
     .quick = 5e5,
     .full = 5e5,
     .quick_seeds = 1,
     .full_seeds = 5,
     LAB_EXPECT(LAB_SAME_SHAPE),
     .run = run_top,
     .memory = stream_memory},
    {.name = "count-distinct",
     .file = LAB_FILE,
     .source = "weir",
     .title = "Different keys: errors against the formulas",
     .claim =
         "HyperLogLog, k minimum values and linear counting keep to their formulas and to what "
         "Apache DataSketches publishes for sketches of the same size.",
     .method =
         "1,000 to 100,000 keys; the root mean square of the relative error over many runs "
         "(100 a seed in a quick run, 1000 in a full one). DataSketches states "
         "sqrt(3 ln 2 - 1)/sqrt(m) = 1.039/sqrt(m) for HLL in the general case (HllUtil.hpp of "
         "datasketches-cpp), and for Theta a table that is 1/sqrt(k - 1) "
         "(datasketches.apache.org, ThetaErrorTable: 25.820% for k = 16). For an HLL that saw its "
         "stream in order and was never "
         "merged it states sqrt(ln 2)/sqrt(m) = 0.833/sqrt(m), by an estimator that "
         "counts as it goes; ours does not, and is not below that.",
     .columns = distinct_columns,
     .cases = distinct_cases,
     .claims = distinct_claims,
     .figures = {{.title = "Root mean square error and formula",
                  .x_label = "different keys",
                  .y_label = "error (%)",
                  .x = "n",
                  .y = {"error", "formula"},
                  .by_case = true,
                  .log_x = true,
                  .y_range = "[0:*]"}},
     .ns = 1.7e6,
     .quick = 100,
     .full = 1000,
     .quick_seeds = 2,
     .full_seeds = 4,
     EXPECT_ALL,
     .run = run_distinct},
    {.name = "count-cost",
     .file = LAB_FILE,
     .source = "weir",
     .title = "The cost of an update along the stream",
     .claim = "An update costs the same however long the stream.",
     .method =
         "Half of the keys are new, half are of a thousand that keep coming; the thread's own "
         "time in twenty stretches. 20 million updates, 1 billion in a full run. Times are "
         "this machine's, only their ratios are judged.",
     .columns = cost_columns,
     .cases = cost_cases,
     .claims = cost_claims,
     .figures = {{.title = "Nanoseconds an update",
                  .x_label = "updates",
                  .y_label = "ns",
                  .x = "updates",
                  .y = {"ns"},
                  .by_case = true,
                  .y_range = "[0:*]"}},
     .ns = 19,
     .quick = 2e7,
     .full = 1e9,
     .quick_seeds = 1,
     .full_seeds = 1,
     .alone = true,
     .reason = "Other work took the cores while it was measured.",
     .quick_expected = LAB_DIFFERS,
     .full_expected = LAB_SAME_SHAPE,
     .run = run_cost},
    {0}};
