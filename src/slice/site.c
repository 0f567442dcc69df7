/* site.c - sites in this process. */
#include "slice/site.h"

/* --- a filter of its own ----------------------------------------- */

/* A site that is lost while somebody waits for its lock gives no answer. */
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
    return answer;
}

static weir__answer own_test(weir__site *site, const weir_batch *batch, bool waiting,
                             uint64_t *verdicts, size_t *seen) {
    weir__answer answer = enter(site, waiting);
    if (answer != WEIR__ANSWER) return answer;
    *seen = weir_filter_test_batch(site->filter, batch, verdicts);
    pthread_mutex_unlock(&site->lock);
    return answer;
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
                               bool *all_on) {
    const weir__places *of = site->filter->class->places;
    if (weir__site_lost(site)) return WEIR__NO_ANSWER;
    *all_on = true;
    for (size_t i = 0; i < count; i++) *all_on &= of->is_on(site->filter, places[i]);
    return WEIR__ANSWER;
}

static weir__answer range_set(weir__site *site, const uint64_t *places, size_t count,
                              bool *all_on) {
    const weir__places *of = site->filter->class->places;
    if (weir__site_lost(site)) return WEIR__NO_ANSWER;
    *all_on = true;
    for (size_t i = 0; i < count; i++) {
        if (of->is_on(site->filter, places[i])) continue;
        *all_on = false;
        of->switch_on(site->filter, places[i]);
    }
    return WEIR__ANSWER;
}

#define LOOKS 65536 /* places that are looked at for the fill, at most */

static void range_describe(weir__site *site, weir_site_info *info) {
    const weir__places *of = site->filter->class->places;
    uint64_t on = 0, looked = 0, places, step = 1 + (site->end - site->first) / LOOKS;
    of->shape(site->filter, &places);
    for (uint64_t at = site->first; at < site->end; at += step, looked++)
        on += of->is_on(site->filter, at);
    double share = (double)(site->end - site->first) / (double)places;
    *info = (weir_site_info){.alive = !weir__site_lost(site),
                             .parent = SIZE_MAX,
                             .memory = (uint64_t)((double)site->filter->cells_bytes * share),
                             .fill = looked ? (double)on / (double)looked : 0};
}

/* Nobody else uses the filter meanwhile: its owner sees to that. */
static void range_put(weir__site *site, weir_site_state state) {
    if (state == WEIR_SITE_EMPTY)
        site->filter->class->places->switch_off(site->filter, site->first, site->end);
    atomic_store_explicit(&site->lost, state == WEIR_SITE_LOST, memory_order_release);
}

void weir__site_range(weir__site *site, weir_filter *whole, uint64_t first, uint64_t end) {
    static const weir__site_kind kind = {.test_places = range_test,
                                         .set_places = range_set,
                                         .describe = range_describe,
                                         .put = range_put};
    site->kind = &kind;
    site->filter = whole;
    site->first = first;
    site->end = end;
}
