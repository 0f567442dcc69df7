/* recent_whole.c - the filter `recent` as a whole: described, merged, checked and foreseen. */
#include <math.h>
#include <string.h>

#include "filter/recent/recent_bits.h"
#include "filter/recent/recent_filter.h"
#include "filter/recent/recent_line.h"
#include "filter/recent/recent_table.h"
#include "filter/recent/recent_theory.h"

/* ---- merging ---- */

/* All keys of one table come into another, which has room for them when it is as large as can be.
 */
static void unite_tables(recent_filter *f, const recent_filter *g) {
    /* at once, as they come in order: half a table would be full before the other had any */
    while (f->state.books.held + g->state.books.held >= TABLE_LOAD * f->state.table)
        weir__recent_grow(f);
    for (uint64_t i = 0; i < 8 * g->state.table; i++) {
        uint64_t hash = load64(g->base.cells + 8 * i);
        if (!hash) continue;
        unsigned outcome = table_offer(f->base.cells, f->state.table, hash, true);
        f->state.books.held += outcome == ENTERED;
        f->state.books.forgotten += outcome == NO_PLACE;
    }
}

static bool unite_line(const recent_filter *f, const recent_filter *g, uint64_t number,
                       line_content *both) {
    uint8_t a[LINE_BYTES], b[LINE_BYTES];
    return weir__recent_unite(&f->shape, weir__recent_line(f, number, a),
                              weir__recent_line(g, number, b), both);
}

weir_status weir__recent_merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    recent_filter *f = (recent_filter *)into;
    const recent_filter *g = (const recent_filter *)from;
    line_content both;
    if (f->base.windowed)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters with a window: their clocks differ");
    bool fits = !f->state.books.forgotten && !g->state.books.forgotten;
    if (fits && f->state.table && g->state.table &&
        f->state.books.held + g->state.books.held < TABLE_LOAD * f->lines) {
        unite_tables(f, g);
        return WEIR_OK;
    }
    for (uint64_t i = 0; i < f->lines && fits; i++) fits = unite_line(f, g, i, &both);
    if (!fits)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters that do not hold all their keys; give "
                          "them more memory");
    while (f->state.table) weir__recent_grow(f);
    for (uint64_t i = 0; i < f->lines; i++) {
        uint8_t *line = into->cells + i * LINE_BYTES;
        f->state.books.held -= weir__recent_entries(&f->shape, line);
        f->state.books.spent -= weir__recent_cost(&f->shape, line);
        unite_line(f, g, i, &both);
        weir__recent_write(&f->shape, line, &both);
        f->state.books.held += weir__recent_entries(&f->shape, line);
        f->state.books.spent += weir__recent_cost(&f->shape, line);
    }
    return WEIR_OK;
}

/* ---- looking inside ---- */

/* Keys that full lines have. */
static double places(const recent_filter *f) {
    return (double)f->lines * last_form(&f->shape)->usual;
}

void weir__recent_info(const weir_filter *base, weir_filter_info *info) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        const window_form *form = weir__window_form(&f->window, &f->state.window);
        weir__info_window(info, &base->values[RECENT_WINDOW], weir__opt_whole(base, RECENT_RENEW));
        info->fill = (double)f->state.window.held / ((double)f->lines * form->groups * form->slots);
        info->fpr_now = weir__window_fpr(&f->window, &f->state.window);
        info->overfull = f->state.window.forgotten > 0;
        info->memory += WINDOW_RUN_WORDS * sizeof *f->window.empty;
        return;
    }
    info->room = places(f);
    double fill = (double)f->state.books.held / places(f);
    info->fill = fill < 1 ? fill : 1;
    info->fpr_now =
        (double)f->state.books.spent / ((double)f->lines * (double)COST_ONE) * info->fpr_bound;
    info->overfull = f->state.books.forgotten > 0;
}

static void window_details(const recent_filter *f, weir_detail_fn *each, void *context) {
    const window_form *form = weir__window_form(&f->window, &f->state.window);
    weir__detail(each, context, "lines", "lines of 64 bytes", "%llu", (unsigned long long)f->lines);
    weir__detail(each, context, "slots", "entries that a line can hold", "%u",
                 form->groups * form->slots);
    weir__detail(each, context, "held", "entries in all, some of them past their time", "%llu",
                 (unsigned long long)f->state.window.held);
    weir__detail(each, context, "forgotten", "entries that had to go before their time", "%llu",
                 (unsigned long long)f->state.window.forgotten);
    weir__detail(each, context, "tick", "the grain of ages, in records or nanoseconds", "%llu",
                 (unsigned long long)form->tick);
    weir__detail(each, context, "ticks", "an entry is good for so many", "%u", form->ticks);
}

void weir__recent_details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        window_details(f, each, context);
        return;
    }
    weir__detail(each, context, "lines", "lines of 64 bytes", "%llu", (unsigned long long)f->lines);
    weir__detail(each, context, "table",
                 "lines of whole hashes in use while it is small; 0: all are", "%llu",
                 (unsigned long long)f->state.table);
    weir__detail(each, context, "held", "keys remembered", "%llu",
                 (unsigned long long)f->state.books.held);
    weir__detail(each, context, "room", "keys that can be remembered", "%.0f", places(f));
    weir__detail(each, context, "forgotten", "keys that had to go", "%llu",
                 (unsigned long long)f->state.books.forgotten);
}

/* ---- checking what was loaded ---- */

static const char disagreement[] = "the lines do not agree with the counts";

static weir_status check_window(const recent_filter *f, weir_error *err) {
    const window_state *state = &f->state.window;
    bool known = state->form == WINDOW_NO_TIME || state->form == WINDOW_COARSE ||
                 (state->form == WINDOW_FINE && f->window.has_fine);
    if (known && state->sweep < f->lines &&
        state->swept <= weir__window_form(&f->window, state)->quota &&
        state->held == weir__window_held(f->base.cells, &f->window, state))
        return WEIR_OK;
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

/* The lines against their books. */
static weir_status check_lines(const recent_filter *f, weir_error *err) {
    line_books found = {.forgotten = f->state.books.forgotten};
    for (uint64_t i = 0; i < f->lines; i++) {
        const uint8_t *line = f->base.cells + i * LINE_BYTES;
        if (!weir__recent_is_sound(&f->shape, line))
            return weir__fail(err, WEIR_ERR_CORRUPT, (int64_t)(i * LINE_BYTES),
                              "line %llu of the filter is not in any form", (unsigned long long)i);
        found.spent += weir__recent_cost(&f->shape, line);
        found.held += weir__recent_entries(&f->shape, line);
    }
    return memcmp(&found, &f->state.books, sizeof found) == 0
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

/* A table against its books: every key can be found, and what it has yet to grow into is empty. */
static weir_status check_table(const recent_filter *f, weir_error *err) {
    uint64_t table = f->state.table, held = 0, beyond = 0;
    bool sound = table >= f->first && table <= f->lines && f->lines % table == 0 &&
                 (f->lines / table & (f->lines / table - 1)) == 0;
    for (uint64_t i = 0; i < 8 * f->lines && sound; i++) {
        uint64_t hash = load64(f->base.cells + 8 * i);
        if (i >= 8 * table) beyond |= hash;
        else if (hash) held++, sound = table_offer(f->base.cells, table, hash, false) == IN_TABLE;
    }
    line_books books = {.held = held, .forgotten = f->state.books.forgotten};
    if (sound && !beyond && held < TABLE_LOAD * table &&
        memcmp(&books, &f->state.books, sizeof books) == 0)
        return WEIR_OK;
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

weir_status weir__recent_check(const weir_filter *base, weir_error *err) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->state.layout != LAYOUT)
        return weir__fail(err, WEIR_ERR_VERSION, -1,
                          "its lines are written in another way than this version writes them; "
                          "make it again");
    if (f->base.windowed) return check_window(f, err);
    return f->state.table ? check_table(f, err) : check_lines(f, err);
}

/* The best of what there are formulas for; recent_theory.c has them. */
void weir__recent_expect(const weir_filter *base, const weir_stream_model *model,
                         weir_expectation *expectation) {
    const recent_filter *f = (const recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR), lines = (double)f->lines;
    bool exact = model->distinct <= lines * f->shape.flat / 2;
    expectation->fpr = exact && !f->base.windowed ? 0 : eps;
    if (f->base.windowed) {
        weir__recent_way way = {lines * f->window.coarse.groups, f->window.coarse.slots, 1};
        expectation->fnr = weir__recent_lru_fnr(&way, eps, model);
        return;
    }
    weir__recent_way line = {lines, last_form(&f->shape)->usual, 1};
    double fnr = fmin(weir__recent_lru_fnr(&line, eps, model),
                      weir__recent_random_fnr(places(f), eps, model));
    expectation->fnr = fnr;
}
