/* plan.c - which filter, and with what numbers.
 *
 * Question   of all filters, which one lets the fewest repeats of this stream pass,
 *            within this memory and without losing more new records than allowed?
 *            And the other way around: how much memory, how long a window.
 * Idea       ask the filters themselves. Each kind is replayed on the profile, which is
 *            small enough for that to take some milliseconds (trial.c); its own formulas
 *            tune its options before (`tune`) and are shown beside the outcome
 *            (`expect`), and what the sample is too short to show follows from how a
 *            filter forgets by distance (below) and from how the stream goes on
 *            (model.c).
 * Longer     For a stream longer than the sample: the sample is replayed in a memory in
 *            which its keys crowd as those of the whole stream will in theirs. How many
 *            repeats are forgotten at each distance, for each byte of memory, is taken
 *            from there, and how many repeats there will be at each from the model.
 * Choice     usable are those that keep the bound on false positives until the end of
 *            the stream; of these the one with the fewest false negatives, but the
 *            default where it is as good within CLOSE.
 * Error      the stated interval: two standard deviations over groups of keys, and 10%
 *            and half a point for what a seed and a scaled memory change; beyond the
 *            sample 30% and three points around both the replay and the formula, which
 *            err differently there: one goes by distances, the other by records too;
 *            60% for filters without a formula.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "core/rng.h"
#include "filter/filter.h"
#include "plan/model.h"
#include "plan/profile.h"
#include "plan/trial.h"

enum {
    MEMORY_LEAST = 1024,       /* bytes: least memory of a filter that is searched for */
    CALIBRATE_MOST = 64 << 20, /* bytes of a filter whose speed is measured */
    BATCH = 1024               /* keys offered at a time when speed is measured */
};
#define MEMORY_MOST (UINT64_C(1) << 40) /* bytes: most that is searched */
#define PRECISION 1.03                  /* of a memory or window that is searched for */
#define CLOSE 1.05          /* two rates are as good when one is at most 5% above the other, */
#define CLOSE_POINTS 0.0005 /* or at most 0.05 points */
#define BOUND_NOISE 1.1     /* a stated rate may be estimated from the fill */
#define DISTINCT_MOST 0.9   /* of the records; above, count repeats, not what is left */
#define DISTINCT_MISS 2.0   /* times more or fewer keys than asked for are another stream */

/* --- one trial ----------------------------------------------------------------------- */

/* All that a question needs of the profile. */
typedef struct {
    weir_profile *profile;
    weir_plan_question question;
    weir__model model;
} inquiry;

/* No curve through a sample comes to just any number of keys: one that it misses by far
 * is no plan for that stream. */
static weir_status check_distinct(const inquiry *q, weir_error *err) {
    double asked = q->question.distinct, reached = q->model.stream.distinct;
    char records[32], about[32], given[32];
    if (!q->model.extended || !(asked > 0) || q->profile->one_of > 0) return WEIR_OK;
    if (asked <= DISTINCT_MISS * reached && reached <= DISTINCT_MISS * asked) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_RANGE, -1,
                      "a stream that goes on as the sample does has at %s %s distinct keys in %s "
                      "records, not %s; take a longer sample, or leave out the distinct keys",
                      asked > reached ? "most" : "least", weir_print_count(about, reached),
                      weir_print_count(records, q->model.stream.records),
                      weir_print_count(given, asked));
}

static weir_status prepare(inquiry *q, weir_profile *p, const weir_plan_question *question,
                           weir_error *err) {
    q->profile = p;
    q->question = *question;
    if (!(question->fpr > 0 && question->fpr <= 0.5))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "fpr must lie above 0 and not above 50%%");
    if (question->window && question->window_is_time && !p->times && !(question->rate > 0))
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "a window in time says nothing without times or a rate of records");
    if (p->count == 0)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "the profile is empty; nothing to judge by");
    weir_status status = weir__profile_judge(p, question, err);
    if (status != WEIR_OK) return status;
    weir__model_build(&q->model, p, question);
    return check_distinct(q, err);
}

/* Repeats in what is covered: what is left of the records (profile.c says why), or
 * where that is mostly noise those that were kept. */
static double repeats_of(const weir_profile *p, const weir__trial *t) {
    if (p->importances) return t->repeats / p->share;
    double firsts = (double)p->firsts / p->share, records = (double)p->covered;
    if (p->share < 1 && firsts < DISTINCT_MOST * records) return records - firsts;
    return (double)(p->count - p->firsts) / p->share;
}

static void set_rates(weir_plan_choice *c, const weir__trial *t, const weir_profile *p) {
    double repeats = fmax(1e-9, repeats_of(p, t)), sum = 0, squares = 0;
    for (int i = 0; i < WEIR__TRIAL_GROUPS; i++) sum += t->false_new[i];
    double mean = sum / WEIR__TRIAL_GROUPS;
    for (int i = 0; i < WEIR__TRIAL_GROUPS; i++)
        squares += (t->false_new[i] - mean) * (t->false_new[i] - mean);
    double deviation = sqrt(squares * WEIR__TRIAL_GROUPS / (WEIR__TRIAL_GROUPS - 1));
    c->fnr = fmin(1, sum / p->share / repeats);
    double room = 2 * deviation / p->share / repeats + 0.1 * c->fnr + 0.005;
    c->fnr_low = fmax(0, c->fnr - room);
    c->fnr_high = fmin(1, c->fnr + room);
}

/* The memory in which the keys of the sample crowd as those of the whole stream will
 * in the memory in question. */
static double crowded_share(const inquiry *q) {
    if (!q->model.extended) return q->profile->share;
    double keys = (double)q->profile->keys / q->profile->share;
    return q->profile->share * fmin(1, keys / q->model.stream.distinct);
}

static void set_extended(const inquiry *q, weir_plan_choice *c, const weir__loss *loss) {
    double sum = 0;
    for (size_t i = 0; i < q->model.stream.gap_count; i++) {
        const weir_gap *gap = &q->model.gaps[i];
        sum += gap->share * weir__loss_at(loss, gap->distance, (double)q->question.memory);
    }
    c->fnr = fmin(1, sum);
    bool known = c->formula_fnr >= 0;
    double formula = known ? c->formula_fnr : c->fnr, room = known ? 0.3 : 0.6;
    /* formulas do not know which keys a filter protects, and are the more too high for it */
    c->fnr_low = fmax(0, 0.4 * fmin(c->fnr, formula) - 0.03);
    c->fnr_high = fmin(1, (1 + room) * fmax(c->fnr, formula) + 0.03);
}

static bool judge_bound(weir_plan_choice *c, const weir__trial *t, double fpr) {
    char rate[32];
    double most = fpr * t->firsts, spread = 4 * sqrt(most) + 4;
    c->fpr = t->fpr;
    if (t->false_seen > most + spread) c->fpr = fmax(c->fpr, t->false_seen / t->firsts);
    if (c->fpr <= fpr * BOUND_NOISE) {
        /* a filter may have been emptied just now, and have no rate at the end */
        c->fpr = fmax(c->fpr, fmin(fpr, t->false_seen / fmax(1, t->firsts)));
        return true;
    }
    snprintf(c->why, sizeof c->why, "its false positive rate comes to %s",
             weir_print_rate(rate, c->fpr));
    return false;
}

static weir_status try_choice(const inquiry *q, weir_plan_choice *c, weir_error *err) {
    weir__trial trial;
    weir__loss *loss = calloc(1, sizeof *loss);
    weir_error reason = {.message = ""};
    if (!loss) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    c->usable = false;
    c->why[0] = 0;
    c->formula_fnr = -1;
    c->memory = q->question.memory;
    weir_status status = weir__trial_run(&trial, loss, q->profile, &q->question, c,
                                         &q->model.stream, crowded_share(q), &reason);
    if (status == WEIR_OK) {
        c->positions = trial.positions;
        c->usable = judge_bound(c, &trial, q->question.fpr);
        set_rates(c, &trial, q->profile);
        c->formula_fnr = trial.formula_fnr;
        if (q->model.extended) set_extended(q, c, loss);
    }
    free(loss);
    if (status == WEIR_ERR_MEMORY) return weir__fail(err, status, -1, "%s", reason.message);
    if (status != WEIR_OK) {
        c->usable = false;
        snprintf(c->why, sizeof c->why, "%.159s", reason.message);
    }
    return WEIR_OK;
}

weir_status weir_plan_try(weir_profile *p, const weir_plan_question *question,
                          weir_plan_choice *choice, weir_error *err) {
    inquiry q;
    weir_status status = prepare(&q, p, question, err);
    return status == WEIR_OK ? try_choice(&q, choice, err) : status;
}

/* --- all of them ----------------------------------------------------------------------- */

/* Filters over sites forget as those that they are made of: no choices of their own. */
static bool is_over_sites(const weir__filter_class *class) { return class->spread != NULL; }

static weir_plan_choice start_choice(const inquiry *q, const weir__filter_class *class) {
    weir_plan_choice c = {.kind = &class->kind, .memory = q->question.memory, .formula_fnr = -1};
    if (class->tune)
        class->tune(&q->model.stream, q->question.memory, q->question.fpr, c.options,
                    sizeof c.options);
    return c;
}

static int by_merit(const void *a, const void *b) {
    const weir_plan_choice *x = a, *y = b;
    if (x->usable != y->usable) return y->usable - x->usable;
    return (x->fnr > y->fnr) - (x->fnr < y->fnr);
}

/* The default comes first where it is as good. */
static void prefer_default(weir_plan_choice *choices, size_t count) {
    size_t at = 0;
    while (at < count && choices[at].kind != &weir__filter_classes[0]->kind) at++;
    if (at == 0 || at == count || !choices[at].usable) return;
    weir_plan_choice standard = choices[at];
    if (standard.fnr > CLOSE * choices[0].fnr + CLOSE_POINTS) return;
    memmove(choices + 1, choices, at * sizeof *choices);
    choices[0] = standard;
}

weir_status weir_plan_rank(weir_profile *p, const weir_plan_question *question,
                           weir_plan_choice *choices, size_t size, size_t *count, weir_error *err) {
    inquiry q;
    *count = 0;
    weir_status status = prepare(&q, p, question, err);
    for (size_t i = 0; status == WEIR_OK && weir__filter_classes[i] && *count < size; i++) {
        if (is_over_sites(weir__filter_classes[i])) continue;
        choices[*count] = start_choice(&q, weir__filter_classes[i]);
        status = try_choice(&q, &choices[*count], err);
        *count += status == WEIR_OK;
    }
    if (status != WEIR_OK) return status;
    qsort(choices, *count, sizeof *choices, by_merit);
    prefer_default(choices, *count);
    return WEIR_OK;
}

/* --- how much memory -------------------------------------------------------------------- */

/* Try a class with this memory; *good: its fnr is at most this one. */
static weir_status try_memory(inquiry *q, const weir__filter_class *class, uint64_t memory,
                              double fnr, weir_plan_choice *c, bool *good, weir_error *err) {
    q->question.memory = memory;
    *c = start_choice(q, class);
    weir_status status = try_choice(q, c, err);
    *good = status == WEIR_OK && c->usable && c->fnr <= fnr;
    return status;
}

/* The least memory below `high`, which is known to be enough, as *best. */
static weir_status search_below(inquiry *q, const weir__filter_class *class, double fnr,
                                uint64_t low, uint64_t high, weir_plan_choice *best,
                                weir_error *err) {
    assert(low && low <= high);
    weir_plan_choice c;
    bool good;
    while ((double)high / (double)low > PRECISION) {
        uint64_t middle = (uint64_t)sqrt((double)low * (double)high);
        weir_status status = try_memory(q, class, middle, fnr, &c, &good, err);
        if (status != WEIR_OK) return status;
        if (good) high = middle, *best = c;
        else low = middle;
    }
    return WEIR_OK;
}

weir_status weir_plan_memory(weir_profile *p, const weir_plan_question *question, double fnr,
                             weir_plan_choice *best, weir_error *err) {
    inquiry q;
    weir_plan_choice c;
    bool good = false;
    memset(best, 0, sizeof *best);
    weir_status status = prepare(&q, p, question, err);
    if (status != WEIR_OK) return status;
    uint64_t start = (uint64_t)fmax(MEMORY_LEAST / p->share, q.model.stream.distinct / 4);
    uint64_t high = MEMORY_MOST;
    for (size_t i = 0; status == WEIR_OK && weir__filter_classes[i]; i++) {
        const weir__filter_class *class = weir__filter_classes[i];
        if (is_over_sites(class)) continue;
        uint64_t memory = best->kind ? (uint64_t)((double)high / PRECISION) : start;
        status = try_memory(&q, class, memory, fnr, &c, &good, err);
        while (status == WEIR_OK && !good && !best->kind && memory < MEMORY_MOST) {
            memory *= 4;
            status = try_memory(&q, class, memory, fnr, &c, &good, err);
        }
        if (status != WEIR_OK || !good) continue;
        *best = c;
        status =
            search_below(&q, class, fnr, (uint64_t)(MEMORY_LEAST / p->share), memory, best, err);
        high = best->memory;
    }
    if (status == WEIR_OK && !best->kind)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "no filter of up to 1T comes to that; ask for "
                          "a higher fnr or fpr");
    return status;
}

/* --- how long a window ------------------------------------------------------------------ */

/* The best filter for a stream of new keys under this window. */
static weir_status try_window(const weir_plan_question *question, uint64_t window,
                              weir_plan_choice *choice, weir_error *err) {
    enum { KINDS = 64, PROFILE_BYTES = 16 << 20 };
    weir_plan_question q = {.memory = question->memory, .fpr = question->fpr};
    weir_plan_choice *choices = calloc(KINDS, sizeof *choices);
    weir_profile *p = NULL;
    size_t count;
    if (!choices) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    q.window = (int64_t)window;
    weir_status status = weir_profile_assume(&p, PROFILE_BYTES, &q, err);
    if (status == WEIR_OK) status = weir_plan_rank(p, &q, choices, KINDS, &count, err);
    if (status == WEIR_OK) *choice = choices[0];
    weir_profile_free(p);
    free(choices);
    return status;
}

/* A filter that is pressed cuts a window into ticks and loses the repeats of the last one or two:
 * with the 48 ticks of `recent` 1.5/48 of the repeats, if they are spread evenly over the window.
 * Only the loss on top of this share, or of the loss with room in plenty if that is more, counts.
 */
#define EDGE (1.5 / 48)

weir_status weir_plan_window(const weir_plan_question *question, double fnr, uint64_t *window,
                             weir_plan_choice *choice, weir_error *err) {
    double low = ceil((double)question->memory / 64), high = (double)question->memory * 8;
    *window = (uint64_t)low;
    weir_status status = try_window(question, *window, choice, err);
    if (status != WEIR_OK) return status;
    if (!choice->usable)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "no window fits so little memory; give more");
    double most = fmax(choice->fnr, EDGE) + fnr;
    while (high / low > PRECISION) {
        weir_plan_choice c;
        double middle = floor(sqrt(low * high));
        status = try_window(question, (uint64_t)middle, &c, err);
        if (status != WEIR_OK) return status;
        if (c.usable && c.fnr <= most) low = middle, *window = (uint64_t)middle, *choice = c;
        else high = middle;
    }
    return WEIR_OK;
}

/* --- how fast ----------------------------------------------------------------------------- */

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* New keys as fast as it takes them, for so long; keys a second. */
static double offer_for(weir_filter *filter, double seconds, uint64_t *rng) {
    uint64_t hashes[BATCH], verdicts[WEIR_VERDICT_WORDS(BATCH)];
    int64_t times[BATCH];
    double start = seconds_now(), spent = 0, keys = 0, now = start;
    while (now - start < seconds) {
        for (size_t i = 0; i < BATCH; i++) hashes[i] = weir__rng_next(rng), times[i] = 0;
        weir_batch batch = {.count = BATCH, .hashes = hashes, .times = times};
        double before = seconds_now();
        weir_filter_offer_batch(filter, &batch, verdicts);
        now = seconds_now();
        spent += now - before;
        keys += BATCH;
    }
    return keys / spent;
}

weir_status weir_plan_calibrate(const weir_plan_question *question, weir_plan_choice *choice,
                                double seconds, weir_error *err) {
    char spec[WEIR__PLAN_SPEC];
    weir_filter *filter;
    weir_plan_question q = *question;
    uint64_t rng = 0x7370656564;
    const int slices = 4;
    q.memory = choice->memory < CALIBRATE_MOST ? choice->memory : CALIBRATE_MOST;
    weir_status status =
        weir_filter_new(&filter, weir__plan_spec(spec, &q, choice, (double)q.memory), err);
    if (status != WEIR_OK) return status;
    offer_for(filter, seconds / 3, &rng); /* pages are touched, lines are full */
    choice->keys_per_second = 0;
    for (int i = 0; i < slices; i++) {
        double rate = offer_for(filter, seconds * 2 / 3 / slices, &rng);
        choice->keys_per_second = fmax(choice->keys_per_second, rate);
    }
    weir_filter_free(filter);
    return WEIR_OK;
}
