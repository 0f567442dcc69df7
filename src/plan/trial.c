/* trial.c - a profile replayed through a filter.
 *
 * The profile holds one key in L; a filter of 1/L of the memory that is offered only
 * these keys is as crowded as the whole would be, and errs as often. What is wrong is
 * counted against the truth that the profile knows.
 *
 * A window over records becomes one over time, the number of a record being its time:
 * the records between two that are kept pass all the same.
 *
 * After the replay a twentieth more of new keys are offered: the false positive rate that
 * the filter then states for the next new key is the highest that it comes to, whatever
 * kind of filter it is.
 */
#include "plan/trial.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/rng.h"
#include "plan/model.h"

enum {
    BATCH = 1024,        /* records offered at a time */
    MEMORY_LEAST = 1024, /* bytes of a filter that is replayed */
    LOSS_MIDDLE = 128,   /* bin of a repeat at a distance of one record for each byte */
    A_DOUBLING = 4       /* bins of distances */
};
#define LOAD 0.05 /* share of keys by which more came than were counted on */

/* 16M: a filter of a replayed sample forgets next to nothing with it; more would only be mapped. */
#define PLENTY (16.0 * (1 << 20))
#define PLENTY_A_KEY 64.0       /* bytes a key of the sample, where that is more */
#define PLENTY_IN_WINDOW 4096.0 /* filters with a window visit all of it again and again */

/* The name of the option that is a kind's window, or NULL. */
static const char *window_option(const weir_kind *kind) {
    for (const weir_option *o = kind->options; o->name; o++)
        if (!strcmp(o->name, "window") || !strcmp(o->name, "length")) return o->name;
    return NULL;
}

const char *weir__plan_spec(char spec[WEIR__PLAN_SPEC], const weir_plan_question *q,
                            const weir_plan_choice *choice, double memory) {
    size_t used = (size_t)snprintf(spec, WEIR__PLAN_SPEC, "%s:memory=%.0f,fpr=%.17g,seed=1",
                                   choice->kind->name, fmax(MEMORY_LEAST, floor(memory)), q->fpr);
    if (choice->options[0])
        used += (size_t)snprintf(spec + used, WEIR__PLAN_SPEC - used, ",%s", choice->options);
    if (q->window)
        snprintf(spec + used, WEIR__PLAN_SPEC - used, ",%s=%lldns", window_option(choice->kind),
                 (long long)q->window);
    return spec;
}

/* --- what is forgotten, by distance --------------------------------------------------- */

static size_t loss_bin(double distance, double memory) {
    assert(distance >= 0 && memory > 0);
    double at = LOSS_MIDDLE + floor(A_DOUBLING * log2((distance + 1) / memory));
    return (size_t)fmin(fmax(at, 0), WEIR__LOSS_BINS - 1);
}

/* In its own bin; where that says too little, together with those below it, and if
 * need be above it. */
double weir__loss_at(const weir__loss *loss, double distance, double memory) {
    const double enough = 20;
    size_t bin = loss_bin(distance, memory);
    double met = 0, lost = 0;
    for (size_t at = bin + 1; at > 0 && met < enough; at--)
        met += loss->met[at - 1], lost += loss->lost[at - 1];
    for (size_t at = bin + 1; at < WEIR__LOSS_BINS && met < enough; at++)
        met += loss->met[at], lost += loss->lost[at];
    return met > 0 ? lost / met : 0;
}

/* --- replaying ------------------------------------------------------------------------- */

/* One replay. entered[i]: the occurrence of record i's key that was called NEW last;
 * kept only under a window. */
typedef struct {
    const weir_profile *profile;
    const weir_plan_question *question;
    double memory;
    uint32_t *entered;
} replay;

/* A record that is new by its window, but whose key was let through again within it
 * because the filter had forgotten it, is rightly held back. */
static bool is_held_back_rightly(const replay *r, size_t i) {
    const weir_profile *p = r->profile;
    if (!r->entered || p->previous[i] == WEIR__NO_RECORD) return false;
    size_t since = r->entered[p->previous[i]];
    return weir__profile_moment(p, r->question, i) - weir__profile_moment(p, r->question, since) <=
           r->question->window;
}

static void tally(weir__trial *t, weir__loss *loss, const replay *r, size_t i, bool seen) {
    assert(i < r->profile->count);
    const weir_profile *p = r->profile;
    if (r->entered)
        r->entered[i] =
            seen && p->previous[i] != WEIR__NO_RECORD ? r->entered[p->previous[i]] : (uint32_t)i;
    if (weir__profile_is_first(p, i)) {
        t->firsts++;
        t->false_seen += seen && !is_held_back_rightly(r, i);
        return;
    }
    size_t bin = loss_bin((double)p->distances[i], r->memory);
    double weight = weir__profile_weight(p, i);
    loss->met[bin] += weight;
    loss->lost[bin] += seen ? 0 : weight;
    uint64_t group = weir__mix64(p->hashes[i] + 1) % WEIR__TRIAL_GROUPS;
    t->false_new[group] += seen ? 0 : weight;
    t->repeats += weight;
}

static void replay_all(weir__trial *t, weir__loss *loss, const replay *r, weir_filter *filter) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(BATCH)];
    int64_t times[BATCH];
    const weir_profile *p = r->profile;
    for (size_t at = 0; at < p->count; at += BATCH) {
        size_t n = p->count - at < BATCH ? p->count - at : BATCH;
        for (size_t i = 0; i < n; i++) times[i] = weir__profile_moment(p, r->question, at + i);
        weir_batch batch = {.count = n, .hashes = p->hashes + at, .times = times};
        if (p->importances) batch.importances = p->importances + at;
        weir_filter_offer_batch(filter, &batch, verdicts);
        for (size_t i = 0; i < n; i++) tally(t, loss, r, at + i, verdicts[i / 64] >> (i % 64) & 1);
    }
}

static void load(weir_filter *filter, size_t keys) {
    uint64_t hashes[BATCH], verdicts[WEIR_VERDICT_WORDS(BATCH)], rng = 0x6c6f6164;
    for (size_t at = 0; at < keys; at += BATCH) {
        weir_batch batch = {.count = keys - at < BATCH ? keys - at : BATCH, .hashes = hashes};
        for (size_t i = 0; i < batch.count; i++) hashes[i] = weir__rng_next(&rng);
        weir_filter_offer_batch(filter, &batch, verdicts);
    }
}

/* Filters name the number of their places "k" in their spec; others look at one. */
static unsigned find_positions(const weir_filter *filter) {
    char spec[1024], k[32] = "1";
    weir_filter_spec(filter, spec, sizeof spec);
    weir_spec_get(spec, "k", k, sizeof k);
    return (unsigned)strtoul(k, NULL, 10);
}

/* The formulas are about cells for each key, so those of a smaller filter serve, on a
 * stream that is as much smaller. */
static double ask_formulas(const weir_filter *filter, const weir_stream_model *model,
                           double share) {
    weir_expectation expectation;
    weir_gap gaps[WEIR__GAPS_MOST];
    weir_stream_model scaled = {model->records * share, model->distinct * share, gaps,
                                model->gap_count};
    for (size_t i = 0; i < model->gap_count; i++)
        gaps[i] = (weir_gap){model->gaps[i].gap * share, model->gaps[i].distance * share,
                             model->gaps[i].share};
    if (weir_filter_expect(filter, &scaled, &expectation, NULL) != WEIR_OK) return -1;
    return expectation.fnr;
}

/* The most kept records that are within one window. */
static size_t most_within(const weir_profile *p, const weir_plan_question *q) {
    size_t most = 0;
    for (size_t i = 0, from = 0; i < p->count; i++) {
        int64_t now = weir__profile_moment(p, q, i);
        while (now - weir__profile_moment(p, q, from) > q->window) from++;
        if (i - from >= most) most = i - from + 1;
    }
    return most;
}

/* The formulas look at the filter as it would be, and not at how it is replayed. */
static weir_status ask_as_planned(const weir_plan_question *q, const weir_plan_choice *choice,
                                  const weir_stream_model *model, double share, double memory,
                                  double *fnr, weir_error *err) {
    char spec[WEIR__PLAN_SPEC];
    weir_filter *filter;
    weir_status status = weir_filter_new(&filter, weir__plan_spec(spec, q, choice, memory), err);
    if (status != WEIR_OK) return status;
    *fnr = ask_formulas(filter, model, share);
    weir_filter_free(filter);
    return WEIR_OK;
}

weir_status weir__trial_run(weir__trial *t, weir__loss *loss, const weir_profile *p,
                            const weir_plan_question *q, const weir_plan_choice *choice,
                            const weir_stream_model *model, double share, weir_error *err) {
    char spec[WEIR__PLAN_SPEC];
    weir_filter *filter;
    weir_filter_info info;
    if (q->window && !window_option(choice->kind))
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "it has no window");
    replay r = {p, q, (double)q->memory * share, NULL};
    double memory = fmin(r.memory, fmax(PLENTY, PLENTY_A_KEY * (double)p->keys)), enough = memory;
    if (q->window) enough = fmax(PLENTY_IN_WINDOW, PLENTY_A_KEY * (double)most_within(p, q));
    *t = (weir__trial){0};
    weir_status status = ask_as_planned(q, choice, model, share, memory, &t->formula_fnr, err);
    if (status != WEIR_OK) return status;
    status = weir_filter_new(&filter, weir__plan_spec(spec, q, choice, fmin(memory, enough)), err);
    if (status != WEIR_OK) return status;
    if (q->window) r.entered = malloc(p->count * sizeof *r.entered);
    if (q->window && !r.entered) {
        weir_filter_free(filter);
        return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    }
    replay_all(t, loss, &r, filter);
    free(r.entered);
    if (!q->window) load(filter, (size_t)(LOAD * (double)p->keys));
    weir_filter_get_info(filter, &info);
    t->fpr = info.fpr_now;
    t->positions = find_positions(filter);
    weir_filter_free(filter);
    return WEIR_OK;
}
