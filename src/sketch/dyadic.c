/* dyadic.c - ranges and quantiles of integer keys.
 *
 * Question   how much weight lies between two keys? Which key has a share q of
 *            the weight at or below it?
 * Idea       a tree over the key space whose nodes have `fanout` children; each
 *            level counts its nodes in a count-min sketch of its own. A range is
 *            the union of few nodes; a quantile is found by going down from the
 *            top, taking off what lies to the left.
 * Parameters keys from 0 to 2^bits - 1 (bits = 64: all of int64_t), fanout F: bits /
 *            log2 F levels. A level that has no more nodes than a sketch would have
 *            counters is counted exactly, one counter a node.
 *            Sizes: width and depth of each level, or error (of the total, for
 *            any range) and confidence, or memory.
 * Error      CM: the sum of the nodes' minima, never too low. Else the unbiased
 *            CMM of a row, c - (N - c)/(w - 1), summed over the nodes of the range
 *            row by row, and the median of the rows, clipped to [0, CM]: errors
 *            of nodes cancel instead of adding up. Variance of a row: the sum over
 *            levels of (nodes of the range) x F2 of the level / (w - 1), errors of
 *            nodes in one level being uncorrelated but for 1/w.
 *            A quantile is off by what the range from the left is: low and high
 *            are the keys at which the estimated rank is 6 of the worst deviations
 *            of such a range away, the few heaviest counters left aside.
 * Cost       depth counters for each level that is not exact. fanout=16 needs a
 *            quarter of the levels of 2; a range has more nodes (up to 30 a level
 *            for 2), but the levels are four times as wide for the same memory, so
 *            the error is about the same and updates are four times as fast.
 * Layout     the matrices of the levels, leaves first, each from a multiple of 64
 * Source     Cormode, Muthukrishnan 2005 (section 4.2); thesis 4.1 and 4.5
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "sketch/matrix_sketch.h"

enum {
    OPT_WIDTH = WEIR__SK_OWN,
    OPT_DEPTH,
    OPT_ERROR,
    OPT_CONFIDENCE,
    OPT_COUNTER,
    OPT_BITS,
    OPT_FANOUT
};
enum {
    LEVELS_MOST = 64,   /* levels of the tree: one a bit of a key */
    CHUNK = 256,        /* keys added to all levels at a time */
    STANDARD_DEPTH = 4, /* rows of a level, if depth= is not given */
    HEAVIEST = 64       /* counters of a row that are taken out of its variance */
};
#define RARE 1e-4 /* a chance that is neglected, for each level */
#define REACH 6.0 /* deviations: twice 3, as the way down errs by what lies right of it too */
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    unsigned bits, step, levels; /* step: log2 of the fanout */
    weir__matrix level[LEVELS_MOST];
} dyadic_sketch;

static unsigned level_bits(const dyadic_sketch *d, unsigned level) {
    assert(level < d->levels);
    return d->bits - level * d->step;
}

static bool is_exact(const dyadic_sketch *d, unsigned level, uint64_t counters) {
    unsigned bits = level_bits(d, level);
    return bits < 40 && (UINT64_C(1) << bits) <= counters;
}

static uint64_t level_bytes(const weir__matrix *m) {
    return (weir__matrix_bytes(m) + 63) / 64 * 64;
}

/* Shape all levels for sketches of that width; returns the bytes they take. */
static uint64_t shape(dyadic_sketch *d, uint64_t width, unsigned depth, weir__counter counter) {
    uint64_t bytes = 0;
    for (unsigned l = 0; l < d->levels; l++) {
        weir__matrix *m = &d->level[l];
        m->counter = counter;
        m->direct = is_exact(d, l, width * depth);
        m->depth = m->direct ? 1 : depth;
        m->width = m->direct ? UINT64_C(1) << level_bits(d, l) : width;
        bytes += level_bytes(m);
    }
    return bytes;
}

/* The greatest width that fits. */
static uint64_t fit_width(dyadic_sketch *d, uint64_t budget, unsigned depth,
                          weir__counter counter) {
    uint64_t low = 1, high = budget / depth / weir__counter_bytes(counter) + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (shape(d, middle, depth, counter) <= budget) low = middle;
        else high = middle;
    }
    return low;
}

static weir_status plan(dyadic_sketch *d, uint64_t *width, unsigned *depth, weir_error *err) {
    weir_sketch *s = &d->base;
    weir__counter counter = (weir__counter)weir__sk_whole(s, OPT_COUNTER);
    if (weir__sk_given(s, OPT_ERROR)) {
        double nodes = 2.0 * ((1 << d->step) - 1) * d->levels;
        if (weir__sk_given(s, OPT_WIDTH) || weir__sk_given(s, OPT_DEPTH))
            return weir__sk_fail(s, OPT_ERROR, err,
                                 "the size is given twice: leave out error, or width and depth");
        weir__matrix_plan_cm(weir__sk_rate(s, OPT_ERROR) / nodes,
                             weir__sk_given(s, OPT_CONFIDENCE) ? weir__sk_rate(s, OPT_CONFIDENCE)
                                                               : 0.99,
                             width, depth);
        s->values[OPT_ERROR].given = s->values[OPT_CONFIDENCE].given = false;
        return WEIR_OK;
    }
    *depth = weir__sk_given(s, OPT_DEPTH) ? (unsigned)weir__sk_whole(s, OPT_DEPTH) : STANDARD_DEPTH;
    *width = weir__sk_given(s, OPT_WIDTH)
                 ? weir__sk_whole(s, OPT_WIDTH)
                 : fit_width(d, weir__sketch_budget(s, STANDARD_MEMORY), *depth, counter);
    return WEIR_OK;
}

static weir_status create(weir_sketch *s, weir_error *err) {
    static const unsigned steps[] = {1, 2, 4, 8};
    dyadic_sketch *d = (dyadic_sketch *)s;
    uint64_t width = 0;
    unsigned depth = 0;
    d->bits = (unsigned)weir__sk_whole(s, OPT_BITS);
    d->step = steps[weir__sk_whole(s, OPT_FANOUT)];
    if (d->step > d->bits) d->step = d->bits;
    d->levels = (d->bits + d->step - 1) / d->step;
    weir_status status = plan(d, &width, &depth, err);
    if (status != WEIR_OK) return status;
    if (width < 2)
        return weir__sk_fail(s, weir__sk_given(s, OPT_WIDTH) ? OPT_WIDTH : WEIR__SK_MEMORY, err,
                             "%u levels need a width of 2 at least each; give more memory",
                             d->levels);
    uint64_t bytes = shape(d, width, depth, (weir__counter)weir__sk_whole(s, OPT_COUNTER));
    uint64_t rng = weir__sk_whole(s, WEIR__SK_SEED);
    for (unsigned l = 0; l < d->levels; l++) {
        weir__matrix_init(&d->level[l], weir__rng_next(&rng));
        d->level[l].allocator = s->allocator;
    }
    weir__sk_resolve(s, OPT_WIDTH, width);
    weir__sk_resolve(s, OPT_DEPTH, depth);
    return weir__sketch_claim(s, bytes, err);
}

static void bind(weir_sketch *s) {
    dyadic_sketch *d = (dyadic_sketch *)s;
    uint8_t *cells = s->cells;
    for (unsigned l = 0; l < d->levels; l++) {
        d->level[l].cells = cells;
        weir__matrix_touch(&d->level[l]);
        cells += level_bytes(&d->level[l]);
    }
}

static void close(weir_sketch *s) {
    dyadic_sketch *d = (dyadic_sketch *)s;
    for (unsigned l = 0; l < d->levels; l++) weir__matrix_close(&d->level[l]);
}

/* ---- adding ---- */

/* The place of a key in the key space; false if it is outside. */
static bool locate(const dyadic_sketch *d, int64_t value, uint64_t *place) {
    if (d->bits == 64) {
        *place = (uint64_t)value ^ UINT64_C(1) << 63;
        return true;
    }
    *place = (uint64_t)value;
    return value >= 0 && (uint64_t)value >> d->bits == 0;
}

static int64_t value_at(const dyadic_sketch *d, uint64_t place) {
    return (int64_t)(d->bits == 64 ? place ^ UINT64_C(1) << 63 : place);
}

static uint64_t node_of(const dyadic_sketch *d, uint64_t place, unsigned level) {
    assert(level < d->levels && level * d->step < 64);
    return place >> (level * d->step);
}

static weir_status outside(const dyadic_sketch *d, int64_t value, int64_t offset, weir_error *err) {
    return weir__fail(err, WEIR_ERR_RANGE, offset,
                      "the key %lld is not from 0 to 2^%u - 1; give more bits (64 for negative "
                      "keys too)",
                      (long long)value, d->bits);
}

/* One chunk into all levels. If one cannot take it all, the levels before it
 * give back what is too much, so that all hold the same updates. */
static size_t add_chunk(dyadic_sketch *d, const uint64_t *places, size_t n, const int64_t *weights,
                        const double *fractions) {
    assert(n <= CHUNK);
    uint64_t nodes[CHUNK] = {0};
    int64_t losses[CHUNK] = {0};
    for (unsigned l = 0; l < d->levels; l++) {
        for (size_t k = 0; k < n; k++) nodes[k] = node_of(d, places[k], l);
        size_t in = weir__matrix_add(&d->level[l], nodes, n, weights, fractions, NULL);
        if (in == n) continue;
        for (size_t k = in; k < n; k++) losses[k] = weights ? (int64_t) - (uint64_t)weights[k] : -1;
        for (unsigned back = 0; back < l; back++) {
            for (size_t k = in; k < n; k++) nodes[k] = node_of(d, places[k], back);
            weir__matrix_add(&d->level[back], nodes + in, n - in, losses + in, NULL, NULL);
        }
        n = in;
    }
    return n;
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    dyadic_sketch *d = (dyadic_sketch *)s;
    uint64_t places[CHUNK] = {0};
    if (u->fractions && d->level[0].counter != WEIR__COUNTER_REAL)
        return weir__fail(err, WEIR_ERR_RANGE, 0,
                          "weights with fractions need a sketch with counter=real");
    for (*done = 0; *done < u->count;) {
        size_t n = u->count - *done < CHUNK ? u->count - *done : CHUNK, good = 0;
        while (good < n && locate(d, u->values[*done + good], &places[good])) good++;
        assert(good <= CHUNK);
        weir_updates part = *u;
        if (u->weights) part.weights += *done;
        if (u->fractions) part.fractions += *done;
        size_t in = add_chunk(d, places, good, part.weights, part.fractions);
        weir__count_total(s, &part, in);
        *done += in;
        if (in < good)
            return weir__fail(err, WEIR_ERR_RANGE, (int64_t)*done,
                              "a counter would overflow; make the sketch with counter=64 or real");
        if (good < n) return outside(d, u->values[*done], (int64_t)*done, err);
    }
    return WEIR_OK;
}

/* ---- ranges ---- */

typedef struct {
    double cm;                     /* sum of minima */
    double rows[WEIR__DEPTH_MOST]; /* sums of unbiased counts, row by row */
    double variance;               /* of a row */
} range_sum;

/* An upper bound of the level's self-join size. */
static double level_square(const dyadic_sketch *d, unsigned level, double total) {
    weir_estimate square;
    weir__matrix *m = (weir__matrix *)&d->level[level];
    if (weir__matrix_self_join(m, total, WEIR_BY_CMM, &square, NULL) != WEIR_OK)
        return total * total;
    return square.value;
}

static void add_node(const weir__matrix *m, uint64_t node, double total, unsigned depth,
                     range_sum *sum) {
    double values[WEIR__DEPTH_MOST], low, w = (double)m->width;
    assert(depth <= WEIR__DEPTH_MOST && (m->direct || (depth <= m->depth && m->width > 1)));
    weir__matrix_values(m, node, values);
    low = values[0];
    for (unsigned i = 0; i < depth; i++) {
        double c = m->direct ? values[0] : values[i];
        low = fmin(low, c);
        sum->rows[i] += m->direct ? c : c - (total - c) / (w - 1);
    }
    sum->cm += low;
}

static void add_nodes(const dyadic_sketch *d, unsigned level, uint64_t first, uint64_t count,
                      unsigned depth, range_sum *sum) {
    double total = weir__total(&d->base);
    const weir__matrix *m = &d->level[level];
    for (uint64_t i = 0; i < count; i++) add_node(m, first + i, total, depth, sum);
    if (count && !m->direct)
        sum->variance += (double)count * level_square(d, level, total) / ((double)m->width - 1);
}

/* Nodes low to end (not included) of a level: those that stick out at either
 * side are counted there, what is left is whole nodes of the level above. One
 * bit more than a word, since the key space may have 2^64 places. */
static void sum_range(const dyadic_sketch *d, unsigned __int128 low, unsigned __int128 end,
                      unsigned depth, range_sum *sum) {
    assert(low <= end);
    for (unsigned l = 0;; l++) {
        unsigned __int128 up_low = (low + ((UINT64_C(1) << d->step) - 1)) >> d->step;
        unsigned __int128 up_end = end >> d->step;
        if (l + 1 == d->levels || up_low >= up_end) {
            add_nodes(d, l, (uint64_t)low, (uint64_t)(end - low), depth, sum);
            return;
        }
        add_nodes(d, l, (uint64_t)low, (uint64_t)((up_low << d->step) - low), depth, sum);
        add_nodes(d, l, (uint64_t)(up_end << d->step), (uint64_t)(end - (up_end << d->step)), depth,
                  sum);
        low = up_low;
        end = up_end;
    }
}

static unsigned depth_of(const dyadic_sketch *d) {
    return (unsigned)weir__sk_whole(&d->base, OPT_DEPTH);
}

static void range_of(const dyadic_sketch *d, uint64_t low, uint64_t high, weir_estimator by,
                     weir_estimate *out) {
    range_sum sum = {0};
    unsigned depth = depth_of(d);
    sum_range(d, low, (unsigned __int128)high + 1, depth, &sum);
    double middle = weir__median(sum.rows, depth), row = sqrt(sum.variance);
    double reach = weir__median_reach(depth, 0.01) * row;
    double most = fmin(sum.cm, fmax(0, weir__total(&d->base)));
    double value = by == WEIR_BY_CM ? sum.cm : fmax(0, fmin(middle, most));
    *out = (weir_estimate){value, fmin(value, fmax(0, middle - reach)),
                           fmax(value, fmin(most, middle + reach)),
                           row * weir__median_deviation(depth)};
}

static weir_status range(weir_sketch *s, int64_t low, int64_t high, weir_estimator by,
                         weir_estimate *out, weir_error *err) {
    dyadic_sketch *d = (dyadic_sketch *)s;
    uint64_t from, to;
    if (!locate(d, low, &from)) return outside(d, low, -1, err);
    if (!locate(d, high, &to)) return outside(d, high, -1, err);
    range_of(d, from, to, by, out);
    return WEIR_OK;
}

/* ---- quantiles ---- */

static double node_count(const dyadic_sketch *d, unsigned level, uint64_t node) {
    range_sum sum = {0};
    unsigned depth = depth_of(d);
    add_node(&d->level[level], node, weir__total(&d->base), depth, &sum);
    return fmax(0, fmin(weir__median(sum.rows, depth), sum.cm));
}

/* Go down to the child in which the rank is reached. The children of a node are
 * estimated, so they do not add up to it: the rank is taken as a share of the node,
 * and that share of the children's sum is looked for. */
static uint64_t place_of_rank(const dyadic_sketch *d, double share) {
    assert(share >= 0 && share <= 1);
    uint64_t node = 0;
    double counts[256] = {0};
    for (unsigned l = d->levels; l-- > 0;) {
        unsigned bits = l + 1 == d->levels ? level_bits(d, l) : d->step;
        uint64_t first = node << bits, children = UINT64_C(1) << bits, child = 0, last = 0;
        double sum = 0;
        for (uint64_t i = 0; i < children; i++) {
            counts[i] = node_count(d, l, first + i);
            sum += counts[i];
            if (counts[i] > 0) last = i;
        }
        double rank = share * sum;
        while (child < last && (rank > counts[child] || counts[child] == 0))
            rank -= counts[child++];
        share = counts[child] > 0 ? fmax(0, fmin(1, rank / counts[child])) : 0.5;
        node = first + child;
    }
    return node;
}

/* A place at or before the first key, or at or after the last: CM is never zero for
 * a node that has one. */
static uint64_t edge_place(const dyadic_sketch *d, bool last) {
    uint64_t node = 0;
    for (unsigned l = d->levels; l-- > 0;) {
        unsigned bits = l + 1 == d->levels ? level_bits(d, l) : d->step;
        uint64_t first = node << bits, children = UINT64_C(1) << bits;
        node = last ? first + children - 1 : first;
        for (uint64_t i = 0; i < children; i++) {
            uint64_t child = last ? first + children - 1 - i : first + i;
            range_sum sum = {0};
            add_node(&d->level[l], child, weir__total(&d->base), depth_of(d), &sum);
            if (sum.cm <= 0) continue;
            node = child;
            break;
        }
    }
    return node;
}

/* How many counters of a row are so few that no median meets them: half of the rows
 * would have to, for one of the nodes of a range, with a chance of less than RARE. */
static size_t few_counters(const weir__matrix *m, double nodes) {
    unsigned need = (m->depth + 1) / 2;
    double ways = exp2(m->depth); /* to choose the rows, at most */
    double share = pow(RARE / (nodes * ways), 1.0 / need);
    double most = floor(share * (double)m->width);
    return most < HEAVIEST ? (size_t)most : HEAVIEST;
}

/* The sum of squares about the mean of a row, without its `few` largest counters. */
static double row_scatter(const weir__matrix *m, unsigned row, size_t few) {
    assert(few <= HEAVIEST && row < m->depth);
    double heavy[HEAVIEST + 1], sum = 0, squares = 0;
    size_t n = 0;
    for (uint64_t j = 0; j < m->width; j++) {
        double c = weir__cell_value(m, weir__cell_number(m, row, j));
        sum += c, squares += c * c;
        if (n == few && (!few || c <= heavy[n - 1])) continue;
        size_t at = n < few ? n++ : n - 1;
        for (; at > 0 && heavy[at - 1] < c; at--) heavy[at] = heavy[at - 1];
        heavy[at] = c;
    }
    for (size_t i = 0; i < n; i++) sum -= heavy[i], squares -= heavy[i] * heavy[i];
    return fmax(0, squares - sum * sum / (double)m->width);
}

/* The most that the deviation of the weight up to any key can be, but for what is rare. A
 * level near the top has few nodes, all heavy: what they would do to a row is no measure
 * of what they do to the median. */
static double prefix_deviation(const dyadic_sketch *d) {
    double variance = 0, nodes = (double)(UINT64_C(1) << d->step) - 1;
    for (unsigned l = 0; l < d->levels; l++) {
        const weir__matrix *m = &d->level[l];
        double most = 0;
        if (m->direct) continue;
        size_t few = few_counters(m, nodes);
        for (unsigned row = 0; row < m->depth; row++) most = fmax(most, row_scatter(m, row, few));
        variance += nodes * most / ((double)m->width - 1);
    }
    return sqrt(variance) * weir__median_deviation(depth_of(d));
}

static weir_status quantile(weir_sketch *s, double share, weir_quantile *out, weir_error *err) {
    dyadic_sketch *d = (dyadic_sketch *)s;
    (void)err;
    double total = weir__total(s), off = REACH * prefix_deviation(d) / total;
    double least = fmin(1, 0.5 / total); /* not before the first key */
    uint64_t place = place_of_rank(d, fmax(share, least)), low = place, high = place;
    if (off > 0) {
        low = share - off > least ? place_of_rank(d, share - off) : edge_place(d, false);
        high = share + off < 1 ? place_of_rank(d, share + off) : edge_place(d, true);
    }
    *out = (weir_quantile){.value = value_at(d, place),
                           .low = value_at(d, low < place ? low : place),
                           .high = value_at(d, high > place ? high : place)};
    return WEIR_OK;
}

/* ---- the rest ---- */

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    dyadic_sketch *a = (dyadic_sketch *)into;
    const dyadic_sketch *b = (const dyadic_sketch *)from;
    for (unsigned l = 0; l < a->levels; l++)
        if (!weir__matrix_fits(&a->level[l], &b->level[l]))
            return weir__fail(err, WEIR_ERR_RANGE, 0,
                              "a counter would overflow; make the sketches with counter=64 or "
                              "real");
    for (unsigned l = 0; l < a->levels; l++) weir__matrix_merge(&a->level[l], &b->level[l], 1);
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    const dyadic_sketch *d = (const dyadic_sketch *)s;
    double nodes = 0;
    for (unsigned l = 0; l < d->levels; l++)
        if (!d->level[l].direct) nodes += 2.0 * ((1 << d->step) - 1);
    out->error = nodes * exp(1) / (double)weir__sk_whole(s, OPT_WIDTH);
    out->confidence = -expm1(-(double)depth_of(d));
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const dyadic_sketch *d = (const dyadic_sketch *)s;
    unsigned exact = 0;
    for (unsigned l = 0; l < d->levels; l++) exact += d->level[l].direct;
    weir__detail(each, context, "levels", "levels of the tree", "%u", d->levels);
    weir__detail(each, context, "exact", "levels that are counted exactly", "%u", exact);
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const dyadic_sketch *d = (const dyadic_sketch *)s;
    for (unsigned l = 0; l < d->levels; l++)
        if (!weir__matrix_sound(&d->level[l]))
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the sketch holds numbers that are none");
    return WEIR_OK;
}

static const weir_option options[] = {
    {"width", WEIR_OPT_COUNT, 2, 0x1p40, NULL, NULL, "counters in a row of each level"},
    {"depth", WEIR_OPT_COUNT, 1, WEIR__DEPTH_MOST, NULL, NULL, "rows of each level"},
    {"error", WEIR_OPT_RATE, 1e-9, 0.5, NULL, NULL,
     "size it for an error of this share of the total, for any range"},
    {"confidence", WEIR_OPT_RATE, 0.5, 1 - 1e-9, NULL, NULL,
     "chance that the error keeps within it (99%)"},
    {"counter", WEIR_OPT_CHOICE, 0, 0, WEIR__COUNTER_CHOICES, "32",
     "bits of a counter, or real for weights with fractions"},
    {"bits", WEIR_OPT_COUNT, 1, 64, NULL, "32",
     "keys are from 0 to 2^bits - 1; 64: any 64-bit integer, negative ones too"},
    {"fanout", WEIR_OPT_CHOICE, 0, 0, "2|4|16|256", "16", "children of a node"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__dyadic_sketch = {
    .kind = {.name = "dyadic",
             .summary = "sums over ranges and quantiles of integer keys",
             .advice = "Range sums, quantiles, histograms of integers such as sizes, prices or "
                       "times. Set bits to what the keys need: fewer levels, better answers.",
             .mergeable = true,
             .options = options},
    .size = sizeof(dyadic_sketch),
    .create = create,
    .bind = bind,
    .close = close,
    .add = add,
    .needs = WEIR__NEEDS_VALUES,
    .merge = merge,
    .info = info,
    .details = details,
    .check = check,
    .range = range,
    .quantile = quantile,
};
