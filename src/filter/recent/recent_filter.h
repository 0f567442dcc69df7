/* recent_filter.h - the filter `recent`: what it is made of, and what its files do for each other.
 */
#ifndef WEIR_FILTER_RECENT_FILTER_H
#define WEIR_FILTER_RECENT_FILTER_H

#include "filter/filter.h"
#include "filter/recent/recent_plan.h"
#include "filter/recent/recent_window.h"

enum { RECENT_WINDOW = WEIR__OPT_OWN, RECENT_RENEW }; /* its own options */

#define LAYOUT 10u /* of lines; one more when they come to mean something else */

/* Sums over all lines. State words only. */
typedef struct {
    uint64_t spent;     /* sum of their costs */
    uint64_t held;      /* entries in all of them */
    uint64_t forgotten; /* entries that had to go */
} line_books;

typedef struct {
    weir_filter base;
    uint64_t lines;
    uint64_t first; /* lines that the table of a new filter has */
    line_shape shape;
    window_plan window;
    struct {
        uint64_t layout; /* LAYOUT, or lines mean something else */
        uint64_t rng;
        uint64_t table; /* lines of the table that the filter is while it is small; 0: it is not */
        line_books books;
        window_state window;
    } state;
} recent_filter;

/* The table of a filter that is small has twice the lines, or becomes lines that keep less of a
 * hash. */
void weir__recent_grow(recent_filter *f);

/* A line as it would be if the filter were no table; `line` has room for it. */
const uint8_t *weir__recent_line(const recent_filter *f, uint64_t number, uint8_t *line);

/* The filter as a whole. */
void weir__recent_info(const weir_filter *base, weir_filter_info *info);
void weir__recent_details(const weir_filter *base, weir_detail_fn *each, void *context);
weir_status weir__recent_merge(weir_filter *into, const weir_filter *from, weir_error *err);
weir_status weir__recent_check(const weir_filter *base, weir_error *err);
void weir__recent_expect(const weir_filter *base, const weir_stream_model *model,
                         weir_expectation *expectation);

#endif
