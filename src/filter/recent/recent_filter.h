/* recent_filter.h - the filter `recent`: what it is made of, and what its files do for each other.
 */
#ifndef WEIR_FILTER_RECENT_FILTER_H
#define WEIR_FILTER_RECENT_FILTER_H

#include "filter/filter.h"
#include "filter/recent/recent_plan.h"
#include "filter/recent/recent_policy.h"
#include "filter/recent/recent_window.h"

enum { RECENT_WINDOW = WEIR__OPT_OWN, RECENT_RENEW }; /* its own options */

#define LAYOUT 9u    /* of lines; one more when they come to mean something else */
#define SMALLEST 64u /* hashes kept for counting distinct keys */

/* Counts distinct keys, roughly: of n uniform words the SMALLEST-th smallest is about
 * SMALLEST / n of the range. State words only. */
typedef struct {
    uint64_t count;
    uint64_t limit;              /* words above this do not matter */
    uint64_t smallest[SMALLEST]; /* in order */
} distinct_counter;

/* What is known of the lines. State words only. */
typedef struct {
    uint64_t spent;     /* sum of their costs */
    uint64_t pool;      /* what is left for lines that cost more than `fair` */
    uint64_t held;      /* entries in all of them */
    uint64_t forgotten; /* entries that had to go */
    uint64_t in_form[FORMS];
} line_books;

typedef struct {
    weir_filter base;
    uint64_t lines;
    uint64_t first;        /* lines that the table of a new filter has */
    uint64_t watched;      /* the first so many tell what the stream is like, */
    uint64_t watched_last; /* and the last hash that has one of them */
    line_shape shape;
    window_plan window;
    struct {
        uint64_t layout; /* LAYOUT, or lines mean something else */
        uint64_t rng;
        uint64_t table; /* lines of the table that the filter is while it is small; 0: it is not */
        line_books books;
        uint64_t policy;
        recent_counts counts;
        distinct_counter keys, keys_hit; /* of watched lines: all, and those that were hit */
        window_state window;
    } state;
} recent_filter;

/* What a policy does in a line that is full. */
typedef struct {
    uint8_t form;
    bool sweep; /* the hand wipes marks */
} recent_way;
extern const recent_way weir__recent_ways[POLICIES];

/* Charge a line's change from one cost to another, if that can be paid. What a line costs up to
 * `fair` is set aside for it; only what goes beyond comes out of the pool, so no line can take
 * what others will need. */
static inline bool weir__recent_pay(recent_filter *f, uint64_t from, uint64_t to) {
    uint64_t fair = f->shape.fair;
    uint64_t had = from > fair ? from - fair : 0, needs = to > fair ? to - fair : 0;
    if (needs > had && needs - had > f->state.books.pool) return false;
    f->state.books.pool += had - needs;
    f->state.books.spent += to - from;
    return true;
}

/* What a line that is watched tells of the stream before it is offered a key. */
void weir__recent_tell(recent_filter *f, const uint8_t *line, uint64_t value);

/* Its verdict; from time to time the policy is chosen anew. */
void weir__recent_count(recent_filter *f, uint64_t hash, bool seen);

/* What the stream is like. */
recent_stream weir__recent_describe(const recent_filter *f);

/* The table of a filter that is small has twice the lines, or becomes lines of remainders. */
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
