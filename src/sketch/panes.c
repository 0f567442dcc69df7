/* panes.c - `window`: any mergeable sketch over the recent past.
 *
 * Question   whatever the inner sketch answers, of the last `length` of the stream
 * Idea       time is cut into panes; each has a sketch of its own. A question is
 *            answered from the merged sketch of the panes that are still in the
 *            window; as a pane begins, the one that has left is cleared for it.
 * Parameters length, a duration or a number of records; panes (16); of=(spec)
 * Error      that of the inner sketch, and of the edge: the window reaches from now
 *            back to the beginning of the oldest pane, so it holds all of the
 *            last `length`, in whole panes, and up to a pane more, never less.
 * Cost       of the inner sketch per record; a question after a change merges
 *            panes + 1 sketches and, for a list of keys, ranks the candidates of all
 *            panes by their counts in the window. Memory: panes + 1 inner sketches and
 *            one to merge into.
 * Layout     panes + 1 slots, each: updates, total and state words of a sketch, and
 *            its cells from a multiple of 64 bytes on. Pane number p stands in slot
 *            p mod (panes + 1).
 * Source     thesis 1.3.3 (sliding windows); panes: Li et al. 2005. Records that are
 *            late go to their own pane while the window has it, and are left out
 *            (and counted in details) when it does not.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "filter/filter.h"
#include "sketch/sketch.h"

enum { OPT_LENGTH = WEIR__SK_OWN, OPT_PANES, OPT_OF };

typedef struct {
    weir_sketch base;
    weir_sketch *pane; /* looks at one slot at a time */
    weir_sketch *view; /* all live panes merged */
    bool stale;
    uint64_t slots, stride, head; /* head: bytes before a slot's cells */
    uint64_t span;                /* of a pane: records or nanoseconds */
    uint64_t shown;               /* the slot that `pane` looks at */
    struct {
        uint64_t started;
        uint64_t newest; /* number of the newest pane (int64_t) */
        uint64_t records;
        uint64_t late;
    } state;
} window_sketch;

/* ---- making ---- */

/* Records or nanoseconds in a pane, and panes in the length: fewer than asked for if it is short.
 */
static uint64_t span_of(const weir_sketch *s) {
    uint64_t panes = weir__sk_whole(s, OPT_PANES), length = weir__sk_whole(s, OPT_LENGTH);
    assert(panes >= 1 && length >= 1);
    return (length + panes - 1) / panes;
}
static uint64_t panes_of(const weir_sketch *s) {
    uint64_t span = span_of(s);
    return (weir__sk_whole(s, OPT_LENGTH) + span - 1) / span;
}

static bool names(const char *spec, const char *option) {
    char value[WEIR__SPEC_MAX];
    return weir_spec_get(spec, option, value, sizeof value);
}

/* The inner spec with the window's seed and hash and, if the inner size is open,
 * its share of the window's memory. */
static weir_status inner_spec(const weir_sketch *s, char *out, size_t size, weir_error *err) {
    static const char *const hashes[] = {"xxh3", "siphash"};
    const char *of = s->values[OPT_OF].text;
    if (!of)
        return weir__fail(err, WEIR_ERR_SPEC, -1,
                          "a window needs of=(SPEC), such as of=(countmin:memory=1M)");
    size_t used = (size_t)snprintf(out, size, "%s%c", of, strchr(of, ':') ? ',' : ':');
    if (!names(of, "seed") && used < size)
        used += (size_t)snprintf(out + used, size - used, "seed=%llu,hash=%s,",
                                 (unsigned long long)weir__sk_whole(s, WEIR__SK_SEED),
                                 hashes[weir__sk_whole(s, WEIR__SK_HASH)]);
    bool sized = names(of, "memory") || names(of, "width") || names(of, "error");
    if (weir__sk_given(s, WEIR__SK_MEMORY) && !sized && used < size) {
        uint64_t share = weir__sk_whole(s, WEIR__SK_MEMORY) / (panes_of(s) + 2);
        used += (size_t)snprintf(out + used, size - used, "memory=%llu,",
                                 (unsigned long long)(share > 256 ? share - 192 : 64));
    }
    if (used >= size) return weir__fail(err, WEIR_ERR_SPEC, -1, "the spec in of= is too long");
    out[used - 1] = 0;
    return WEIR_OK;
}

static weir_status refuse_inner(const window_sketch *w, weir_error *err) {
    const weir__sketch_class *class = w->pane->class;
    if (!class->merge || class->create == w->base.class->create)
        return weir__sk_fail(
            &w->base, OPT_OF, err, "a window cannot be made of '%s' sketches%s%s", class->kind.name,
            class->merge ? "" : ": they cannot be merged: ", class->merge ? "" : class->no_merge);
    if (weir__sk_whole(w->pane, WEIR__SK_SEED) != weir__sk_whole(&w->base, WEIR__SK_SEED) ||
        weir__sk_whole(w->pane, WEIR__SK_HASH) != weir__sk_whole(&w->base, WEIR__SK_HASH))
        return weir__sk_fail(&w->base, OPT_OF, err,
                             "give seed and hash to the window, not to the sketch in of=");
    return WEIR_OK;
}

static weir_status make_inner(window_sketch *w, weir_error *err) {
    char spec[WEIR__SPEC_MAX], full[WEIR__SPEC_MAX];
    weir_error reason = {0};
    weir_status status = inner_spec(&w->base, spec, sizeof spec, err);
    if (status != WEIR_OK) return status;
    status = weir__sketch_make(&w->pane, spec, &w->base.allocator, &reason);
    if (status != WEIR_OK)
        return weir__fail(err, status, w->base.values[OPT_OF].offset, "of: %.300s", reason.message);
    status = refuse_inner(w, err);
    if (status != WEIR_OK) return status;
    weir_sketch_spec(w->pane, full, sizeof full);
    status = weir_sketch_new_with(&w->view, full, &w->base.allocator, err);
    if (status != WEIR_OK) return status;
    char *text = weir__alloc_text(&w->base.allocator, full, strlen(full));
    if (!text) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    weir__free(&w->base.allocator, w->base.values[OPT_OF].text);
    w->base.values[OPT_OF].text = text;
    return WEIR_OK;
}

static weir_status create(weir_sketch *s, weir_error *err) {
    window_sketch *w = (window_sketch *)s;
    if (!weir__sk_given(s, OPT_LENGTH))
        return weir__fail(err, WEIR_ERR_SPEC, -1,
                          "a window needs length=, a duration or a number of records");
    weir_status status = make_inner(w, err);
    if (status != WEIR_OK) return status;
    w->span = span_of(s);
    w->slots = panes_of(s) + 1;
    w->head = (8 * (2 + w->pane->class->state_words) + 63) / 64 * 64;
    w->stride = w->head + (w->pane->cells_bytes + 63) / 64 * 64;
    s->needs = w->pane->needs;
    return weir__sketch_claim(s, w->slots * w->stride, err);
}

static void close(weir_sketch *s) {
    weir_sketch_free(((window_sketch *)s)->pane);
    weir_sketch_free(((window_sketch *)s)->view);
}

/* ---- slots ---- */

static uint64_t *head_of(const window_sketch *w, uint64_t slot) {
    assert(slot < w->slots);
    return (void *)(w->base.cells + slot * w->stride);
}

static void store(window_sketch *w) {
    uint64_t *head = head_of(w, w->shown);
    head[0] = w->pane->updates;
    head[1] = w->pane->total_bits;
    memcpy(head + 2, weir__sketch_state(w->pane), 8 * w->pane->class->state_words);
}

static void show(window_sketch *w, uint64_t slot) {
    const uint64_t *head = head_of(w, slot);
    w->shown = slot;
    w->pane->cells = w->base.cells + slot * w->stride + w->head;
    w->pane->updates = head[0];
    w->pane->total_bits = head[1];
    memcpy(weir__sketch_state(w->pane), head + 2, 8 * w->pane->class->state_words);
    if (w->pane->class->bind) w->pane->class->bind(w->pane);
}

static void empty(window_sketch *w, uint64_t slot) {
    show(w, slot);
    weir_sketch_clear(w->pane);
    store(w);
}

static void bind(weir_sketch *s) {
    window_sketch *w = (window_sketch *)s;
    w->stale = true;
    show(w, 0);
}

static void start(weir_sketch *s) {
    window_sketch *w = (window_sketch *)s;
    for (uint64_t i = 0; i < w->slots; i++) empty(w, i);
}

static uint64_t slot_of(const window_sketch *w, int64_t pane) {
    int64_t slots = (int64_t)w->slots;
    return (uint64_t)((pane % slots + slots) % slots);
}

/* The window moves on until this pane is its newest. */
static void roll_to(window_sketch *w, int64_t pane) {
    assert(w->slots >= 2);
    int64_t newest = (int64_t)w->state.newest;
    if (w->state.started && pane <= newest) return;
    int64_t from = w->state.started && pane - newest < (int64_t)w->slots
                       ? newest + 1
                       : pane - (int64_t)w->slots + 1;
    for (int64_t p = from; p <= pane; p++) empty(w, slot_of(w, p));
    w->state.started = 1;
    w->state.newest = (uint64_t)pane;
    w->stale = true;
}

/* ---- adding ---- */

static bool is_time(const window_sketch *w) { return w->base.values[OPT_LENGTH].is_time; }

static int64_t pane_of(const window_sketch *w, int64_t time) {
    int64_t span = (int64_t)w->span, pane = time / span;
    return pane - (time % span < 0);
}

static int64_t time_at(const window_sketch *w, const weir_updates *u, size_t i, int64_t now) {
    if (!is_time(w)) return (int64_t)(w->state.records + i);
    return u->times ? u->times[i] : now;
}

typedef struct {
    const weir_updates *all;
    size_t from;
} run_context;

static const void *key_of_run(void *context, size_t i, size_t *length) {
    const run_context *run = context;
    return run->all->key(run->all->context, run->from + i, length);
}

static const void *row_of_run(void *context, size_t i, size_t *length) {
    const run_context *run = context;
    return run->all->row(run->all->context, run->from + i, length);
}

/* Updates from..until belong to one pane. */
static weir_status add_run(window_sketch *w, const weir_updates *u, size_t from, size_t until,
                           int64_t pane, weir_error *err) {
    assert(from < until && until <= u->count);
    run_context run = {u, from};
    weir_updates part = {.count = until - from,
                         .hashes = u->hashes ? u->hashes + from : NULL,
                         .values = u->values ? u->values + from : NULL,
                         .decimals = u->decimals ? u->decimals + from : NULL,
                         .weights = u->weights ? u->weights + from : NULL,
                         .fractions = u->fractions ? u->fractions + from : NULL,
                         .times = u->times ? u->times + from : NULL,
                         .key = u->key ? key_of_run : NULL,
                         .row = u->row ? row_of_run : NULL,
                         .context = &run};
    roll_to(w, pane);
    if (pane <= (int64_t)w->state.newest - (int64_t)w->slots) {
        w->state.late += part.count;
        return WEIR_OK;
    }
    show(w, slot_of(w, pane));
    weir_status status = weir_sketch_add_batch(w->pane, &part, err);
    store(w);
    w->stale = true;
    return status;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    window_sketch *w = (window_sketch *)s;
    int64_t now = is_time(w) && !u->times ? weir__clock_now() : 0;
    weir_status status = WEIR_OK;
    for (*done = 0; *done < u->count && status == WEIR_OK;) {
        int64_t pane = pane_of(w, time_at(w, u, *done, now));
        size_t until = *done + 1;
        while (until < u->count && pane_of(w, time_at(w, u, until, now)) == pane) until++;
        weir_error inner = {.offset = 0};
        status = add_run(w, u, *done, until, pane, &inner);
        *done = status == WEIR_OK ? until : *done + (size_t)(inner.offset > 0 ? inner.offset : 0);
        if (status != WEIR_OK) weir__report(err, status, (int64_t)*done, "%s", inner.message);
    }
    w->state.records += *done;
    return status;
}

/* What was touched last is most likely what will be: the newest pane, or the sum of all. */
static void prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count) {
    const window_sketch *w = (const window_sketch *)s;
    weir_sketch_prefetch(w->stale ? w->pane : w->view, hashes, count);
}

static void advance(weir_sketch *s, int64_t time) {
    window_sketch *w = (window_sketch *)s;
    if (is_time(w) && w->state.started) roll_to(w, pane_of(w, time));
}

/* ---- answers: the inner sketch's, of the panes merged ---- */

static weir_status refresh(weir_sketch *s, weir_error *err) {
    window_sketch *w = (window_sketch *)s;
    if (!w->stale) return WEIR_OK;
    weir_sketch_clear(w->view);
    for (uint64_t i = 0; i < w->slots; i++) {
        show(w, i);
        weir_status status = weir_sketch_merge(w->view, w->pane, err);
        if (status != WEIR_OK) return status;
    }
    for (uint64_t i = 0; i < w->slots && w->view->class->recall; i++) {
        show(w, i);
        w->view->class->recall(w->view, w->pane);
    }
    w->stale = false;
    return WEIR_OK;
}

static weir_sketch *view_of(weir_sketch *s) { return ((window_sketch *)s)->view; }

#define ASK(question, ...)                                                                         \
    weir_status status = refresh(s, err);                                                          \
    return status == WEIR_OK ? weir_sketch_##question(view_of(s), __VA_ARGS__, err) : status

static weir_status estimate(weir_sketch *s, uint64_t hash, weir_estimator by, weir_estimate *out,
                            weir_error *err) {
    ASK(estimate_hash, hash, by, out);
}
static weir_status self_join(weir_sketch *s, weir_estimator by, weir_estimate *out,
                             weir_error *err) {
    ASK(self_join, by, out);
}
static weir_status join(weir_sketch *s, weir_sketch *b, weir_estimator by, weir_estimate *out,
                        weir_error *err) {
    weir_status other = refresh(b, err);
    if (other != WEIR_OK) return other;
    ASK(join, view_of(b), by, out);
}
static weir_status top(weir_sketch *s, double above, weir_estimator by, weir_items *out,
                       weir_error *err) {
    weir_status status = refresh(s, err);
    if (status != WEIR_OK) return status;
    if (above > 0) {
        weir_sketch_info inner;
        weir_sketch_get_info(view_of(s), &inner);
        return weir_sketch_above(view_of(s), above / inner.total, by, out, err);
    }
    return weir_sketch_top(view_of(s), by, out, err);
}
static weir_status range(weir_sketch *s, int64_t low, int64_t high, weir_estimator by,
                         weir_estimate *out, weir_error *err) {
    ASK(range, low, high, by, out);
}
static weir_status quantile(weir_sketch *s, double share, weir_quantile *out, weir_error *err) {
    ASK(quantile, share, out);
}
static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    ASK(distinct, out);
}
static weir_status common(weir_sketch *s, weir_sketch *b, weir_estimate *out, weir_error *err) {
    weir_status other = refresh(b, err);
    if (other != WEIR_OK) return other;
    ASK(common, view_of(b), out);
}
static weir_status where(weir_sketch *s, weir_accept_fn *accept, void *context, weir_estimate *out,
                         weir_error *err) {
    ASK(distinct_where, accept, context, out);
}
static weir_status sample(weir_sketch *s, weir_items *out, weir_error *err) { ASK(sample, out); }

/* ---- the rest ---- */

/* Pane by pane, for windows of time: the same pane is the same time in both. */
static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    window_sketch *a = (window_sketch *)into, *b = (window_sketch *)(uintptr_t)from;
    if (!is_time(a))
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "windows of so many records cannot be merged: the last records of each "
                          "are not the last of both; use a duration");
    if (!b->state.started) return WEIR_OK;
    int64_t newest = (int64_t)b->state.newest;
    roll_to(a, newest);
    for (int64_t p = newest - (int64_t)b->slots + 1; p <= newest; p++) {
        if (p <= (int64_t)a->state.newest - (int64_t)a->slots) continue;
        show(a, slot_of(a, p));
        show(b, slot_of(b, p));
        weir_status status = weir_sketch_merge(a->pane, b->pane, err);
        store(a);
        if (status != WEIR_OK) return status;
    }
    a->stale = true;
    a->state.late += b->state.late;
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    window_sketch *w = (window_sketch *)(uintptr_t)s;
    weir_sketch_info inner;
    if (refresh(&w->base, NULL) != WEIR_OK) return;
    weir_sketch_get_info(w->view, &inner);
    out->total = inner.total;
    out->error = inner.error;
    out->confidence = inner.confidence;
    out->overfull = inner.overfull;
    out->answers = inner.answers;
    out->listed = inner.listed;
    out->key_bytes = inner.key_bytes;
    out->memory += 2 * inner.memory - w->view->cells_bytes;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const window_sketch *w = (const window_sketch *)s;
    weir__detail(each, context, "pane", "length of a pane, in records or nanoseconds", "%llu",
                 (unsigned long long)w->span);
    weir__detail(each, context, "late", "records that were older than the window", "%llu",
                 (unsigned long long)w->state.late);
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    window_sketch *w = (window_sketch *)(uintptr_t)s;
    if (w->state.started > 1)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the clock of the window is not understood");
    for (uint64_t i = 0; i < w->slots; i++) {
        show(w, i);
        weir_status status = weir__sketch_check(w->pane, err);
        if (status != WEIR_OK) return status;
    }
    return WEIR_OK;
}

static const weir_option options[] = {
    {"length", WEIR_OPT_SPAN, 1, 0x1p60, NULL, NULL,
     "how far the window reaches back, a duration or a number of records"},
    {"panes", WEIR_OPT_COUNT, 1, 10000, NULL, "16",
     "parts of the window; it may hold one part too much, and each takes memory"},
    {"of", WEIR_OPT_SPEC, 0, 0, NULL, NULL, "the sketch of each pane"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__panes_sketch = {
    .kind = {.name = "window",
             .summary = "another sketch over the last so much time or so many records",
             .advice =
                 "Counts, top lists, quantiles or distinct keys of the recent past: "
                 "window:length=1h,of=(top:k=100,memory=256K). Where older records should "
                 "fade rather than drop out, use decay= of countmin, agms or top: less memory.",
             .mergeable = true,
             .options = options},
    .size = sizeof(window_sketch),
    .state_offset = offsetof(window_sketch, state),
    .state_words = sizeof(((window_sketch *)0)->state) / 8,
    .create = create,
    .bind = bind,
    .start = start,
    .close = close,
    .add = add,
    .prefetch = prefetch,
    .advance = advance,
    .merge = merge,
    .info = info,
    .details = details,
    .check = check,
    .estimate = estimate,
    .self_join = self_join,
    .join = join,
    .top = top,
    .range = range,
    .quantile = quantile,
    .distinct = distinct,
    .common = common,
    .where = where,
    .sample = sample,
};
