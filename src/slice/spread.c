/* spread.c - the public calls about sites. */
#include "filter/filter.h"

#include "slice/nest.h"
#include <assert.h>

size_t weir_filter_sites(const weir_filter *filter) {
    return filter->class->spread ? filter->class->spread->count(filter) : 0;
}

static weir_status find_site(const weir_filter *filter, size_t i, weir_error *err) {
    size_t count = weir_filter_sites(filter);
    if (i < count) return WEIR_OK;
    if (count == 0)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a '%s' filter is in one piece",
                          filter->class->kind.name);
    return weir__fail(err, WEIR_ERR_RANGE, -1, "there is no site %zu; they go from 0 to %zu", i,
                      count - 1);
}

weir_status weir_filter_get_site(const weir_filter *filter, size_t i, weir_site_info *info,
                                 weir_error *err) {
    weir_status status = find_site(filter, i, err);
    if (status == WEIR_OK) filter->class->spread->site(filter, i, info);
    return status;
}

weir_status weir_filter_set_site(weir_filter *filter, size_t i, weir_site_state state,
                                 weir_error *err) {
    weir_status status = find_site(filter, i, err);
    if (status == WEIR_OK && state != WEIR_SITE_ALIVE && state != WEIR_SITE_LOST &&
        state != WEIR_SITE_EMPTY)
        status = weir__fail(err, WEIR_ERR_RANGE, -1, "there is no such state of a site: %d", state);
    if (status == WEIR_OK) filter->class->spread->set(filter, i, state);
    return status;
}

/* Or of the filter that is there, if it is itself spread over sites. */
static weir__site *first_elsewhere(weir_filter *filter) {
    weir__site *site = filter->class->spread->place(filter, 0);
    return site->host ? site : first_elsewhere(site->filter);
}

weir_status weir_filter_get_traffic(const weir_filter *filter, weir_traffic *traffic,
                                    weir_error *err) {
    if (!filter->class->spread)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "a '%s' filter is in one piece",
                          filter->class->kind.name);
    filter->class->spread->traffic(filter, traffic);
    if (!filter->elsewhere) return WEIR_OK;
    weir__site *site = first_elsewhere((weir_filter *)(uintptr_t)filter);
    site->kind->sent(site, &traffic->messages, &traffic->bytes);
    return WEIR_OK;
}

void weir_filter_hide_tests(weir_filter *filter) {
    if (filter->class->spread) weir__nest_of(filter)->hides_tests = true;
}

weir_status weir_filter_get_cut(const weir_filter *filter, weir_cut *cut, weir_error *err) {
    const weir__spread *spread = filter->class->spread;
    if (!spread || !spread->cut)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1, "a '%s' filter is not cut by places",
                          filter->class->kind.name);
    spread->cut(filter, cut);
    return WEIR_OK;
}

void weir_filter_find_places(const weir_filter *filter, uint64_t hash, uint64_t *places) {
    assert(filter->class->spread && filter->class->spread->find_places);
    filter->class->spread->find_places(filter, hash, places);
}
