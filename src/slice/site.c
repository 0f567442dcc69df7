/* site.c - sites in this process. */
#include "slice/site.h"

#include <assert.h>

/* --- a filter of its own ----------------------------------------- */

/* A site that is lost while somebody waits for its lock gives no answer, and one whose
 * filter is spread over sites itself, and stops, gives none either. */
static weir__answer enter(weir__site *site, bool waiting) {
    if (weir__site_lost(site)) return WEIR__NO_ANSWER;
    if (waiting) pthread_mutex_lock(&site->lock);
    else if (pthread_mutex_trylock(&site->lock)) return WEIR__NOT_NOW;
    if (!weir__site_lost(site)) return WEIR__ANSWER;
    pthread_mutex_unlock(&site->lock);
    return WEIR__NO_ANSWER;
}

static weir__answer own_offer(weir__site *site, const weir_batch *batch, bool waiting,
                              uint64_t *verdicts, size_t *seen) {
    weir__answer answer = enter(site, waiting);
    if (answer != WEIR__ANSWER) return answer;
    *seen = weir_filter_offer_batch(site->filter, batch, verdicts);
    pthread_mutex_unlock(&site->lock);
    return *seen == WEIR_STOPPED ? WEIR__NO_ANSWER : WEIR__ANSWER;
}

static weir__answer own_test(weir__site *site, const weir_batch *batch, bool waiting,
                             uint64_t *verdicts, size_t *seen) {
    weir__answer answer = enter(site, waiting);
    if (answer != WEIR__ANSWER) return answer;
    *seen = weir_filter_test_batch(site->filter, batch, verdicts);
    pthread_mutex_unlock(&site->lock);
    return *seen == WEIR_STOPPED ? WEIR__NO_ANSWER : WEIR__ANSWER;
}

static void own_describe(weir__site *site, weir_site_info *info) {
    weir_filter_info filter;
    pthread_mutex_lock(&site->lock);
    weir_filter_get_info(site->filter, &filter);
    pthread_mutex_unlock(&site->lock);
    *info = (weir_site_info){.alive = !weir__site_lost(site),
                             .parent = SIZE_MAX,
                             .memory = filter.memory,
                             .fill = filter.fill};
}

static void own_put(weir__site *site, weir_site_state state) {
    pthread_mutex_lock(&site->lock);
    if (state == WEIR_SITE_EMPTY) weir_filter_clear(site->filter);
    atomic_store_explicit(&site->lost, state == WEIR_SITE_LOST, memory_order_release);
    pthread_mutex_unlock(&site->lock);
}

void weir__site_own(weir__site *site) {
    static const weir__site_kind kind = {
        .offer = own_offer, .test = own_test, .describe = own_describe, .put = own_put};
    pthread_mutexattr_t spinning;
    pthread_mutexattr_init(&spinning);
    pthread_mutexattr_settype(&spinning, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&site->lock, &spinning);
    pthread_mutexattr_destroy(&spinning);
    site->kind = &kind;
}

/* --- a range of places ------------------------------------------- */

static weir__answer range_test(weir__site *site, const uint64_t *places, size_t count,
                               uint64_t *on) {
    assert(count <= 64);
    const weir__places *of = site->filter->class->places;
    if (weir__site_lost(site)) return WEIR__NO_ANSWER;
    *on = 0;
    for (size_t i = 0; i < count; i++) *on |= (uint64_t)of->is_on(site->filter, places[i]) << i;
    return WEIR__ANSWER;
}

static weir__answer range_set(weir__site *site, const uint64_t *places, size_t count,
                              uint64_t *on) {
    assert(count <= 64);
    const weir__places *of = site->filter->class->places;
    if (weir__site_lost(site)) return WEIR__NO_ANSWER;
    *on = 0;
    for (size_t i = 0; i < count; i++) {
        bool was_on = of->is_on(site->filter, places[i]);
        *on |= (uint64_t)was_on << i;
        if (!was_on || of->once) of->switch_on(site->filter, places[i]);
    }
    return WEIR__ANSWER;
}

static void range_describe(weir__site *site, weir_site_info *info) {
    const weir__places *of = site->filter->class->places;
    uint64_t places;
    of->shape(site->filter, &places);
    double share = (double)(site->end - site->first) / (double)places;
    *info = (weir_site_info){.alive = !weir__site_lost(site),
                             .parent = SIZE_MAX,
                             .memory = (uint64_t)((double)site->filter->cells_bytes * share),
                             .fill = of->share_on(site->filter, site->first, site->end)};
}

/* Nobody else uses the filter meanwhile: its owner sees to that. */
static void range_put(weir__site *site, weir_site_state state) {
    if (state == WEIR_SITE_EMPTY)
        site->filter->class->places->switch_off(site->filter, site->first, site->end);
    atomic_store_explicit(&site->lost, state == WEIR_SITE_LOST, memory_order_release);
}

void weir__site_range(weir__site *site, weir_filter *whole, uint64_t first, uint64_t end) {
    assert(whole->class->places && first <= end);
    static const weir__site_kind kind = {.test_places = range_test,
                                         .set_places = range_set,
                                         .describe = range_describe,
                                         .put = range_put};
    site->kind = &kind;
    site->filter = whole;
    site->first = first;
    site->end = end;
}
