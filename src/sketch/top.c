/* top.c - the most frequent keys, and every key above a share.
 *
 * Question   which keys are the k most frequent (top-k)? Which hold more than a
 *            share of the total (iceberg)?
 * Idea       a count-min sketch counts all keys; beside it stands a roster of
 *            candidates with their bytes. A key whose CM estimate, just after it
 *            was counted, exceeds the `floor` becomes a candidate. When the roster
 *            is full the worse half goes, by their estimates of that moment (of
 *            equals the later), and the floor rises to the best of those that went.
 *            Merged, the candidates of both are ranked by the sum of the counts.
 * Error      none is missed without being told: a key that is not on the roster
 *            was at its last occurrence at or below the floor of that time, or was
 *            let go at or below it, and CM never underestimates. So its count
 *            is at most the floor, for certain (as long as no weight is negative).
 *            A list of all keys above x is complete if the floor is below x.
 *            Listed keys carry the estimate asked for, and CM's bounds, the lower ones
 *            widened so that all of a list hold at once with a chance of 99%: a key
 *            that is on the list by noise alone has a lower bound that says so.
 * Parameters k (100); the roster has room for 4k keys and 64 bytes of each on average,
 *            or for keys= bytes of them; long ones shorten the list, and one that is longer
 *            than an eighth of the room is cut; the rest of memory= is counters
 * Cost       d counters per key, and a look into the roster for frequent keys
 * Layout     the matrix, then the roster (roster.h)
 * Source     Cormode, Muthukrishnan 2005; thesis, introduction of chapter 4: CM
 *            finds the candidates, CMM says how frequent they are. They keep a
 *            heap; halving a list costs a key less and gives the floor.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"
#include "sketch/roster.h"

enum { OPT_K = WEIR__CO_OWN, OPT_UPDATE, OPT_KEYS };
enum {
    CHUNK = 256,     /* keys counted before those that came often are looked at */
    ROSTER_EACH = 4, /* candidates for each key of the list */
    KEY_BYTES = 64   /* bytes of the candidates' keys, for each, if keys= is not given */
};
enum { LEAST_COUNTERS = 256 };              /* bytes, unless width= says how many there are */
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */
#define LIST_CHANCE 0.01    /* that the lower bound of any key of a list is too high */
#define NOISE_SAMPLE 65536u /* counters that show how much noise there is */

typedef struct {
    weir__counting counting;
    struct {
        weir__roster_state roster;
        uint64_t floor; /* bits of a double, in units of the counters */
    } state;
    weir__roster roster;
    double *scratch; /* estimates of the entries while half of them go */
} top_sketch;

static double floor_of(const top_sketch *t) { return weir__as_double(t->state.floor); }

static weir_status create(weir_sketch *s, weir_error *err) {
    top_sketch *t = (top_sketch *)s;
    weir__matrix *m = &t->counting.matrix;
    weir__roster_plan(&t->roster, ROSTER_EACH * weir__sk_whole(s, OPT_K), KEY_BYTES, 0);
    if (weir__sk_given(s, OPT_KEYS))
        weir__roster_set_arena(&t->roster, weir__sk_whole(s, OPT_KEYS));
    uint64_t roster = weir__roster_bytes(&t->roster);
    uint64_t budget = weir__sketch_budget(s, STANDARD_MEMORY + roster);
    if (budget < roster + (weir__sk_given(s, WEIR__CO_WIDTH) ? 0 : LEAST_COUNTERS)) {
        char needed[32];
        return weir__sk_fail(
            s, WEIR__SK_MEMORY, err, "a list of %llu keys needs more memory than %s",
            (unsigned long long)weir__sk_whole(s, OPT_K), weir_print_size(needed, roster));
    }
    m->conservative = weir__sk_whole(s, OPT_UPDATE) == 1;
    weir_status status = weir__counting_plan(s, budget - roster, err);
    if (status != WEIR_OK) return status;
    t->scratch = weir__alloc(&s->allocator, t->roster.capacity * sizeof *t->scratch);
    if (!t->scratch) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    return weir__sketch_claim(s, (weir__matrix_bytes(m) + 7) / 8 * 8 + roster, err);
}

static void bind(weir_sketch *s) {
    top_sketch *t = (top_sketch *)s;
    weir__counting_bind(s);
    uint64_t matrix = (weir__matrix_bytes(&t->counting.matrix) + 7) / 8 * 8;
    weir__roster_bind(&t->roster, s->cells + matrix, &t->state.roster);
}

static void close(weir_sketch *s) {
    weir__counting_close(s);
    weir__free(&s->allocator, ((top_sketch *)s)->scratch);
}

/* ---- candidates ---- */

static double cm_of(const top_sketch *t, uint64_t hash) {
    double values[WEIR__DEPTH_MOST];
    const weir__matrix *m = &t->counting.matrix;
    weir__matrix_values(m, hash, values);
    double low = values[0];
    for (unsigned i = 1; i < m->depth; i++) low = fmin(low, values[i]);
    return low;
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

typedef struct {
    const top_sketch *t;
    double bar;
    uint64_t equals; /* how many of those that are just at the bar still find room */
} survivors;

static bool survives(void *context, const weir__entry *e) {
    survivors *s = context;
    double low = cm_of(s->t, e->hash);
    if (low == s->bar && s->equals) return s->equals--, true;
    return low > s->bar;
}

/* Let the worse go until at most `most` are left, of equals those that came last; returns
 * the best estimate of those that went. */
static double cut_to(top_sketch *t, uint64_t most) {
    uint64_t n = t->state.roster.entries, better = 0;
    assert(most < n);
    for (uint64_t i = 0; i < n; i++) t->scratch[i] = cm_of(t, t->roster.entries[i].hash);
    qsort(t->scratch, n, sizeof *t->scratch, descending);
    double bar = t->scratch[most];
    while (better < most && t->scratch[better] > bar) better++;
    survivors s = {t, bar, most - better};
    if (bar > floor_of(t)) t->state.floor = weir__as_bits(bar);
    weir__roster_keep(&t->roster, survives, &s);
    return bar;
}

/* A candidate with its estimate finds room, or is no better than those that went: NULL. */
static weir__entry *admit(top_sketch *t, uint64_t hash, const void *key, size_t length,
                          double low) {
    weir__entry *e;
    while (!(e = weir__roster_add(&t->roster, hash, key, length)))
        if (low <= cut_to(t, t->state.roster.entries / 2)) return NULL;
    return e;
}

static void nominate(top_sketch *t, const weir_updates *u, size_t i, double low) {
    size_t length;
    if (weir__roster_find(&t->roster, u->hashes[i])) return;
    const void *key = weir__key_bytes(u, i, &length);
    admit(t, u->hashes[i], key, length, low);
}

static weir_updates part_of(const weir_updates *u, size_t at, size_t count) {
    weir_updates part = *u;
    part.count = count;
    part.hashes += at;
    if (u->weights) part.weights += at;
    if (u->fractions) part.fractions += at;
    if (u->times) part.times += at;
    return part;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    top_sketch *t = (top_sketch *)s;
    double lows[CHUNK];
    uint64_t updates = s->updates;
    weir_status status = WEIR_OK;
    for (*done = 0; *done < u->count && status == WEIR_OK;) {
        size_t n = u->count - *done < CHUNK ? u->count - *done : CHUNK, in;
        weir_updates part = part_of(u, *done, n);
        uint64_t shrunk = t->counting.state.decay.shrunk;
        s->updates = updates + *done; /* the clock of a half-life in records */
        status = weir__counting_add_lows(s, &part, lows, &in, err);
        assert(in <= n && n <= CHUNK);
        if (status != WEIR_OK && err) err->offset += (int64_t)*done;
        int shift = (int)(t->counting.state.decay.shrunk - shrunk);
        t->state.floor = weir__as_bits(ldexp(floor_of(t), -shift));
        for (size_t k = 0; k < in; k++)
            if (lows[k] > floor_of(t)) nominate(t, u, *done + k, lows[k]);
        *done += in;
    }
    s->updates = updates;
    return status;
}

/* ---- answers ---- */

/* A whole count that is at least 0.9998 is at least 1. */
static double at_least(const top_sketch *t, double low) {
    return t->counting.matrix.counter == WEIR__COUNTER_REAL ? low : ceil(low);
}

/* A list takes the keys that are read highest, so noise chooses among all keys, not for one. The
 * most noise that one of n keys has with a chance above LIST_CHANCE: n S(x)^depth, S(x) being the
 * share of counters that are x or more. At most NOISE_SAMPLE counters are looked at. */
static double noise_of_list(const top_sketch *t) {
    const weir__matrix *m = &t->counting.matrix;
    uint64_t all = m->width * m->depth, n = all < NOISE_SAMPLE ? all : NOISE_SAMPLE;
    double keys = fmax(1, (double)t->counting.base.updates);
    double share = pow(LIST_CHANCE / keys, 1.0 / m->depth), noise = 0;
    double *counters = weir__alloc(&t->counting.base.allocator, n * sizeof *counters);
    if (!counters) return HUGE_VAL;
    for (uint64_t i = 0; i < n; i++)
        counters[i] = weir__cell_value(m, (uint64_t)((double)i * (double)all / (double)n));
    qsort(counters, n, sizeof *counters, descending);
    noise = fmax(0, counters[(uint64_t)fmin(floor(share * (double)n), (double)n - 1)]);
    weir__free(&t->counting.base.allocator, counters);
    return noise;
}

static weir_status top(weir_sketch *s, double above, weir_estimator by, weir_items *out,
                       weir_error *err) {
    top_sketch *t = (top_sketch *)s;
    uint64_t listed = 0;
    double least = HUGE_VAL, now = weir__counting_now(s), noise = noise_of_list(t);
    out->floor = floor_of(t) * weir__counting_now(s);
    for (uint64_t i = 0; i < t->state.roster.entries; i++) {
        const weir__entry *e = &t->roster.entries[i];
        weir_item item = weir__roster_item(&t->roster, e);
        weir_status status = weir__counting_estimate(s, e->hash, by, &item.count, err);
        if (status != WEIR_OK) return status;
        item.count.low = fmin(item.count.low, fmax(0, (cm_of(t, e->hash) - noise) * now));
        if (above > 0 && item.count.high < above) {
            weir__items_leave_out(out, &item);
            continue;
        }
        weir__items_add(out, &item);
        listed++;
    }
    weir__items_sort(out);
    for (size_t i = 0; i < out->found; i++)
        least = fmin(least, at_least(t, out->items[i].count.low));
    if (above > 0) out->complete = out->floor < above && listed == out->found;
    else out->complete = out->floor == 0 || (out->found == out->room && least >= out->floor);
    return WEIR_OK;
}

/* The candidates of another sketch whose counts are in: those above the floor and those
 * below it, which the sum of two floors says little about. */
static void recall(weir_sketch *into, const weir_sketch *from) {
    top_sketch *a = (top_sketch *)into;
    const top_sketch *b = (const top_sketch *)from;
    for (uint64_t i = 0; i < b->state.roster.entries; i++) {
        const weir__entry *e = &b->roster.entries[i];
        if (weir__roster_find(&a->roster, e->hash)) continue;
        weir__entry *in =
            admit(a, e->hash, b->roster.arena + e->at, weir__entry_length(e), cm_of(a, e->hash));
        if (in) in->length = e->length; /* with its mark if it was cut */
    }
}

/* A key that neither knows is at or below both floors, so below their sum. */
static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    top_sketch *a = (top_sketch *)into;
    const top_sketch *b = (const top_sketch *)from;
    double factor;
    weir_status status = weir__counting_merge_by(into, from, &factor, err);
    if (status != WEIR_OK) return status;
    a->state.floor = weir__as_bits(floor_of(a) + factor * floor_of(b));
    recall(into, from);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    weir__counting_info(s, out);
    out->listed = weir__sk_whole(s, OPT_K);
    out->key_bytes = weir__sk_given(s, OPT_KEYS) ? weir__sk_whole(s, OPT_KEYS) : 0;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const top_sketch *t = (const top_sketch *)s;
    weir__counting_details(s, each, context);
    weir__detail(each, context, "candidates", "keys on the roster", "%llu",
                 (unsigned long long)t->state.roster.entries);
    weir__detail(each, context, "floor", "no key that is missing came by more often than this",
                 "%.15g", floor_of(t) * weir__counting_now(s));
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const top_sketch *t = (const top_sketch *)s;
    if (!weir__roster_sound(&t->roster, &t->state.roster) || !isfinite(floor_of(t)))
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the list of keys is not understood");
    return weir__counting_check(s, err);
}

static const weir_option options[] = {
    WEIR__COUNTING_OPTIONS("the total"),
    {"k", WEIR_OPT_COUNT, 1, 10000000, NULL, "100",
     "how many keys to find; memory for keys grows with it"},
    {"update", WEIR_OPT_CHOICE, 0, 0, "plain|conservative", "plain",
     "conservative raises only the least counters: better for frequent keys, no deletions"},
    {"keys", WEIR_OPT_SIZE, 512, 0x1p30, NULL, NULL,
     "memory for the bytes of keys; a key longer than an eighth of it is kept cut. If not given "
     "64 bytes for each of 4k keys"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__top_sketch = {
    .kind = {.name = "top",
             .summary = "Count-min with a list of the most frequent keys",
             .advice = "The most frequent keys and all keys above a share of the total; none that "
                       "matters is missed, and the answer says so. Answers what countmin answers "
                       "as well. For a second opinion by sampling use sticky.",
             .mergeable = true,
             .options = options},
    WEIR__COUNTING_FUNCTIONS,
    .size = sizeof(top_sketch),
    .state_offset = offsetof(weir__counting, state),
    .state_words = (sizeof(((weir__counting *)0)->state) + sizeof(((top_sketch *)0)->state)) / 8,
    .create = create,
    .bind = bind,
    .close = close,
    .add = add,
    .needs = WEIR__NEEDS_HASHES | WEIR__NEEDS_KEYS,
    .merge = merge,
    .recall = recall,
    .info = info,
    .details = details,
    .check = check,
    .top = top,
};

_Static_assert(offsetof(top_sketch, state) ==
                   offsetof(weir__counting, state) + sizeof(((weir__counting *)0)->state),
               "the words of state must follow each other");
