/* horizontal.c - one filter cut by keys: each key belongs to one slice.
 *
 * Question   how do several threads, or several machines, share a filter?
 * Idea       S slices, each a whole filter with a share of the memory. A hash of
 *            its own, independent of what the slice makes of the key, chooses the
 *            slice; everything about a key happens there.
 * Parameters slices, of (the spec of a slice), on-lost
 * Error      that of the slices: a slice gets n/S of the keys on average and has
 *            1/S of the memory (eq. 4 of the paper, which for S much smaller than m
 *            is eq. 2). The keys of a slice vary by sqrt(n/S), which small slices
 *            feel: a filter whose fpr is a bound keeps it in each slice.
 *            With f of S slices lost: src/slice/loss.h.
 * Threads    any number may offer and test at once: a slice has a lock, held while
 *            a stretch of keys passes through it. A lock for each slice, and not
 *            for each line or none at all, because a stretch of a few hundred keys
 *            pays for it once, any kind of filter can be a slice as it is, and the
 *            verdicts in a slice are those of its keys one after the other. A
 *            thread takes whichever of its slices is free.
 * Cost       sorting a stretch of keys by slice: stretch.h
 * Source     Koloniari, Ntarmos, Pitoura, Souravlias: One is enough: distributed
 *            filtering for duplicate elimination, CIKM 2011, section 3
 */
#include <assert.h>
#include <string.h>

#include "slice/nest.h"
#include "slice/stretch.h"

enum { OPT_SLICES = WEIR__OPT_OWN, OPT_OF, OPT_LOST };
#define PATIENCE 4000 /* looks at slices that are busy before a thread goes to sleep */

typedef struct {
    weir_filter base;
    weir__nest nest;
} horizontal_filter;

/* --- asking a slice, and answering for a lost one ---------------- */

static void without_slice(const horizontal_filter *f, const weir_batch *part, uint64_t *verdicts) {
    memset(verdicts, f->nest.on_lost == WEIR__LOST_SEEN ? 0xff : 0,
           WEIR_VERDICT_WORDS(part->count) * 8);
}

/* Pass a stretch through one slice; false if it was busy. */
static bool pass_slice(horizontal_filter *f, weir__stretch *s, const weir_batch *batch,
                       size_t slice, bool offering, bool waiting) {
    assert(slice < f->nest.count);
    uint64_t *verdicts = weir__stretch_room(s, slice);
    weir_batch part = weir__stretch_part(s, batch, slice);
    size_t seen;
    weir__answer answer =
        weir__nest_ask(&f->nest, slice, &part, offering, waiting, verdicts, &seen);
    if (answer == WEIR__NOT_NOW) return false;
    if (answer != WEIR__ANSWER) without_slice(f, &part, verdicts);
    weir__stretch_answered(s, slice);
    return true;
}

/* Whichever slice is free comes next. If none is, a thread looks again for about
 * as long as a stretch takes, which is less than going to sleep and being woken. */
static void pass_stretch(horizontal_filter *f, weir__stretch *s, const weir_batch *batch,
                         bool offering) {
    uint16_t left[WEIR__SLICES_MOST];
    size_t count = 0;
    for (size_t i = 0; i < s->slices; i++)
        if (s->start[i + 1] > s->start[i]) left[count++] = (uint16_t)i;
    for (unsigned tries = 0; count; tries++) {
        size_t before = count;
        bool waiting = tries > PATIENCE;
        for (size_t i = 0; i < count;)
            if (pass_slice(f, s, batch, left[i], offering, waiting)) left[i] = left[--count];
            else i++;
        if (count < before) tries = 0;
        else weir__pause();
    }
}

static bool needs_lost(const weir_filter *filter, const weir_batch *batch) {
    const weir__nest *nest = weir__nest_of(filter);
    if (!weir__any_lost(nest->sites, nest->count)) return false;
    for (size_t i = 0; i < batch->count; i++)
        if (weir__site_lost(&nest->sites[weir__slice_of(batch->hashes[i], nest->count)]))
            return true;
    return false;
}

static size_t judge_batch(weir_filter *filter, const weir_batch *batch, bool offering,
                          uint64_t *verdicts) {
    horizontal_filter *f = (horizontal_filter *)filter;
    assert(f->nest.count <= WEIR__SLICES_MOST);
    size_t seen = 0;
    weir__stretch s;
    for (size_t at = 0; at < batch->count; at += s.count) {
        weir__stretch_sort(&s, batch, at, f->nest.count);
        pass_stretch(f, &s, batch, offering);
        seen += weir__stretch_gather(&s, verdicts + at / 64);
    }
    if (offering || !f->nest.hides_tests) weir__count_traffic(&f->nest, batch->count, 0, 0);
    return seen;
}

static const weir__nest_judge judging = {judge_batch, needs_lost};

/* --- the table --------------------------------------------------- */

static weir_status create(weir_filter *filter, weir_error *err) {
    horizontal_filter *f = (horizontal_filter *)filter;
    f->nest.on_lost = (weir__on_lost)weir__opt_whole(filter, OPT_LOST);
    f->nest.judge = &judging;
    return weir__nest_make(&f->nest, filter, weir__opt_whole(filter, OPT_SLICES), OPT_OF, -1, 1, 0,
                           err);
}

static void site(const weir_filter *filter, size_t i, weir_site_info *out) {
    weir__nest_site(weir__nest_of(filter), i, out);
}
static void traffic(const weir_filter *filter, weir_traffic *out) {
    weir__nest_traffic(weir__nest_of(filter), 0, weir__nest_of(filter)->count, out);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    weir_traffic t;
    traffic(filter, &t);
    weir__detail(each, context, "slices", "slices that the keys are spread over", "%zu", t.sites);
    weir__detail(each, context, "fairness", "Jain's index of the load of the slices, 1 is even",
                 "%.4f", t.fairness);
    weir__detail(each, context, "greatest_share", "load of the busiest slice", "%.4f", t.greatest);
}

static void destroy(weir_filter *filter) { weir__nest_free(weir__nest_of(filter)); }

static const weir_option options[] = {
    {"slices", WEIR_OPT_COUNT, 1, WEIR__SLICES_MOST, NULL, "2",
     "filters that the keys are spread over"},
    {"of", WEIR_OPT_SPEC, 0, 0, NULL, "(recent)", "the filter of each slice"},
    WEIR__LOST_OPTION,
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static const weir__spread spread = {.count = weir__nest_sites,
                                    .site = site,
                                    .set = weir__nest_set_site,
                                    .traffic = traffic,
                                    .place = weir__nest_place};

const weir__filter_class weir__horizontal_class = {
    .kind = {.name = "horizontal",
             .summary = "slices of any filter: a key belongs to one of them",
             .advice = "Use it to share one filter between threads: several can offer at once, and "
                       "of two with the same key one is told NEW. One thread gains nothing by it.",
             .mergeable = true,
             .options = options},
    WEIR__NEST_FUNCTIONS(horizontal_filter),
    .info = weir__nest_info,
    .merge = weir__nest_merge,
};
