/* matrix_sketch.c - options, sizes and decay of the sketches that hold a matrix. */
#include "sketch/matrix_sketch.h"

#include <assert.h>
#include <math.h>

#include "core/clock.h"
#include "filter/filter.h"

enum {
    STANDARD_DEPTH = 4, /* rows, if depth= is not given */
    CHUNK = 256,        /* decayed weights computed at a time */
    SHRINK =
        256 /* half-lives after which all counters are scaled down; a double has room for 1,000 */
};

static weir__counting *counting(weir_sketch *s) { return (weir__counting *)s; }
static const weir__counting *counting_of(const weir_sketch *s) { return (const weir__counting *)s; }

/* ---- sizes ---- */

static weir_status size_twice(const weir_sketch *s, int place, weir_error *err) {
    return weir__sk_fail(s, place, err, "the size is given twice: leave out %s or error",
                         s->class->kind.options[place - WEIR__SK_OWN].name);
}

static weir_status plan_by_error(weir_sketch *s, weir__matrix *m, weir_error *err) {
    if (weir__sk_given(s, WEIR__CO_WIDTH)) return size_twice(s, WEIR__CO_WIDTH, err);
    if (weir__sk_given(s, WEIR__CO_DEPTH)) return size_twice(s, WEIR__CO_DEPTH, err);
    double confidence =
        weir__sk_given(s, WEIR__CO_CONFIDENCE) ? weir__sk_rate(s, WEIR__CO_CONFIDENCE) : 0.99;
    double error = weir__sk_rate(s, WEIR__CO_ERROR);
    if (m->with_sign) weir__matrix_plan_median(error, confidence, &m->width, &m->depth);
    else weir__matrix_plan_cm(error, confidence, &m->width, &m->depth);
    /* The size stands for them from here on: the printed spec has width and depth. */
    s->values[WEIR__CO_ERROR].given = s->values[WEIR__CO_CONFIDENCE].given = false;
    return WEIR_OK;
}

static weir_status check_block(const weir_sketch *s, const weir__matrix *m, weir_error *err) {
    if (m->depth == 1 || m->depth == 2 || m->depth == 4 || m->depth == 8) return WEIR_OK;
    return weir__sk_fail(s, WEIR__CO_DEPTH, err,
                         "layout=block needs a depth of 1, 2, 4 or 8, not %u", m->depth);
}

static weir_status resolve_counter(weir_sketch *s, weir__matrix *m, weir_error *err) {
    bool decays = weir__sk_given(s, WEIR__CO_DECAY);
    if (decays && !weir__sk_given(s, WEIR__CO_COUNTER))
        weir__sk_resolve(s, WEIR__CO_COUNTER, WEIR__COUNTER_REAL);
    m->counter = (weir__counter)weir__sk_whole(s, WEIR__CO_COUNTER);
    if (decays && m->counter != WEIR__COUNTER_REAL)
        return weir__sk_fail(s, WEIR__CO_COUNTER, err, "decay needs counter=real");
    return WEIR_OK;
}

static weir_status plan_shape(weir_sketch *s, weir__matrix *m, uint64_t budget, weir_error *err) {
    if (weir__sk_given(s, WEIR__CO_ERROR)) return plan_by_error(s, m, err);
    if (weir__sk_given(s, WEIR__CO_CONFIDENCE))
        return weir__sk_fail(s, WEIR__CO_CONFIDENCE, err,
                             "confidence means something only together with error");
    m->depth = weir__sk_given(s, WEIR__CO_DEPTH) ? (unsigned)weir__sk_whole(s, WEIR__CO_DEPTH)
                                                 : STANDARD_DEPTH;
    m->width = weir__sk_given(s, WEIR__CO_WIDTH)
                   ? weir__sk_whole(s, WEIR__CO_WIDTH)
                   : budget / m->depth / weir__counter_bytes(m->counter);
    return WEIR_OK;
}

weir_status weir__counting_plan(weir_sketch *s, uint64_t budget, weir_error *err) {
    weir__matrix *m = &counting(s)->matrix;
    weir_status status = resolve_counter(s, m, err);
    if (status == WEIR_OK) status = plan_shape(s, m, budget, err);
    if (status == WEIR_OK && m->block) status = check_block(s, m, err);
    if (status != WEIR_OK) return status;
    uint64_t step = weir__matrix_width_step(m);
    m->width = m->width / step * step;
    if (m->width == 0) m->width = step;
    assert(m->width && m->width % step == 0);
    weir__sk_resolve(s, WEIR__CO_WIDTH, m->width);
    weir__sk_resolve(s, WEIR__CO_DEPTH, m->depth);
    weir__matrix_init(m, weir__sk_whole(s, WEIR__SK_SEED));
    m->allocator = s->allocator;
    return WEIR_OK;
}

void weir__counting_bind(weir_sketch *s) {
    counting(s)->matrix.cells = s->cells;
    weir__matrix_touch(&counting(s)->matrix);
}

void weir__counting_close(weir_sketch *s) { weir__matrix_close(&counting(s)->matrix); }

/* ---- decay ---- */

static bool decays(const weir_sketch *s) { return weir__sk_given(s, WEIR__CO_DECAY); }

static double half_lives(const weir_sketch *s, uint64_t from, uint64_t to) {
    return (double)(int64_t)(to - from) / (double)weir__sk_whole(s, WEIR__CO_DECAY);
}

double weir__counting_now(const weir_sketch *s) {
    const weir__decay *d = &counting_of(s)->state.decay;
    return decays(s) && d->started ? exp2(-half_lives(s, d->landmark, d->latest)) : 1;
}

/* Move the landmark until `time` is at most SHRINK half-lives after it. After a
 * very long pause everything is too small to matter and becomes 0. */
static void keep_near(weir_sketch *s, uint64_t time) {
    assert(decays(s));
    weir__decay *d = &counting(s)->state.decay;
    double away = half_lives(s, d->landmark, time);
    if (away <= SHRINK) return;
    int shift = (int)fmin(away, 4000);
    weir__matrix_shrink(&counting(s)->matrix, shift);
    s->total_bits = weir__as_bits(ldexp(weir__total(s), -shift));
    d->shrunk += (uint64_t)shift;
    d->landmark += (uint64_t)away * weir__sk_whole(s, WEIR__CO_DECAY);
}

static uint64_t time_of(const weir_sketch *s, const weir_updates *u, size_t i, int64_t now) {
    if (!s->values[WEIR__CO_DECAY].is_time) return s->updates + i;
    return (uint64_t)(u->times ? u->times[i] : now);
}

/* Note the times of updates from..until: the landmark is in reach of them then. */
static void note_times(weir_sketch *s, const weir_updates *u, size_t from, size_t until,
                       int64_t now) {
    assert(from < until && until <= u->count);
    weir__decay *d = &counting(s)->state.decay;
    if (!d->started) d->landmark = d->latest = time_of(s, u, from, now);
    d->started = 1;
    for (size_t i = from; i < until; i++) {
        uint64_t time = time_of(s, u, i, now);
        if ((int64_t)(time - d->latest) > 0) d->latest = time;
    }
    keep_near(s, d->latest);
}

static void add_decayed(weir_sketch *s, const weir_updates *u, double *lows) {
    assert(decays(s) && counting(s)->matrix.counter == WEIR__COUNTER_REAL);
    weir__counting *c = counting(s);
    double weights[CHUNK];
    int64_t now = u->times || !s->values[WEIR__CO_DECAY].is_time ? 0 : weir__clock_now();
    for (size_t at = 0; at < u->count; at += CHUNK) {
        size_t n = u->count - at < CHUNK ? u->count - at : CHUNK;
        double sum = 0;
        note_times(s, u, at, at + n, now);
        for (size_t k = 0; k < n; k++) {
            double age = half_lives(s, c->state.decay.landmark, time_of(s, u, at + k, now));
            weights[k] = weir__weight(u, at + k) * exp2(age);
            sum += weights[k];
        }
        weir__matrix_add(&c->matrix, u->hashes + at, n, NULL, weights, lows ? lows + at : NULL);
        s->total_bits = weir__as_bits(weir__total(s) + sum);
    }
}

void weir__counting_advance(weir_sketch *s, int64_t time) {
    weir__decay *d = &counting(s)->state.decay;
    if (!decays(s) || !s->values[WEIR__CO_DECAY].is_time || !d->started) return;
    if (time > (int64_t)d->latest) d->latest = (uint64_t)time;
}

/* ---- adding ---- */

void weir__counting_prefetch(const weir_sketch *s, const uint64_t *hashes, size_t count) {
    weir__matrix_prefetch(&counting_of(s)->matrix, hashes, count);
}

void weir__count_total(weir_sketch *s, const weir_updates *u, size_t done) {
    double sum = 0;
    if (!u->weights && !u->fractions) sum = (double)done;
    else
        for (size_t i = 0; i < done; i++) sum += weir__weight(u, i);
    s->total_bits = weir__as_bits(weir__total(s) + sum);
}

static weir_status overflow(const weir__matrix *m, size_t at, weir_error *err) {
    return weir__fail(err, WEIR_ERR_RANGE, (int64_t)at,
                      "a counter of %s bits would overflow; make the sketch with counter=%s",
                      m->counter == WEIR__COUNTER_32 ? "32" : "64",
                      m->counter == WEIR__COUNTER_32 ? "64" : "real");
}

/* How many updates come before the first negative weight. */
static size_t count_before_negative(const weir_updates *u) {
    if (!u->weights && !u->fractions) return u->count;
    for (size_t i = 0; i < u->count; i++)
        if (weir__weight(u, i) < 0) return i;
    return u->count;
}

static weir_status add_positive(weir_sketch *s, const weir_updates *u, double *lows, size_t *done,
                                weir_error *err) {
    weir__matrix *m = &counting(s)->matrix;
    if (decays(s)) {
        add_decayed(s, u, lows);
        *done = u->count;
        return WEIR_OK;
    }
    *done = weir__matrix_add(m, u->hashes, u->count, u->weights, u->fractions, lows);
    weir__count_total(s, u, *done);
    return *done == u->count ? WEIR_OK : overflow(m, *done, err);
}

weir_status weir__counting_add_lows(weir_sketch *s, const weir_updates *u, double *lows,
                                    size_t *done, weir_error *err) {
    weir__matrix *m = &counting(s)->matrix;
    weir_updates part = *u;
    *done = 0;
    if (u->fractions && m->counter != WEIR__COUNTER_REAL)
        return weir__fail(err, WEIR_ERR_RANGE, 0,
                          "weights with fractions need a sketch with counter=real");
    if (m->conservative) part.count = count_before_negative(u);
    weir_status status = add_positive(s, &part, lows, done, err);
    if (status != WEIR_OK || part.count == u->count) return status;
    return weir__fail(err, WEIR_ERR_RANGE, (int64_t)part.count,
                      "update=conservative cannot take a negative weight; use update=plain for "
                      "deletions");
}

weir_status weir__counting_add(weir_sketch *s, const weir_updates *u, size_t *done,
                               weir_error *err) {
    return weir__counting_add_lows(s, u, NULL, done, err);
}

/* Counters of `from` are relative to its landmark; for a half-life in records
 * the two streams are taken to have ended together. */
static double merge_factor(weir_sketch *into, const weir_sketch *from) {
    weir__decay *d = &counting(into)->state.decay;
    const weir__decay *other = &counting_of(from)->state.decay;
    if (!decays(into) || !other->started) return 1;
    if (!d->started) *d = *other;
    if (!into->values[WEIR__CO_DECAY].is_time)
        return exp2(half_lives(into, d->landmark, d->latest) -
                    half_lives(from, other->landmark, other->latest));
    if ((int64_t)(other->latest - d->latest) > 0) d->latest = other->latest;
    keep_near(into, d->latest);
    return exp2(half_lives(into, d->landmark, other->landmark));
}

weir_status weir__counting_merge_by(weir_sketch *into, const weir_sketch *from, double *factor,
                                    weir_error *err) {
    weir__matrix *m = &counting(into)->matrix;
    if (!weir__matrix_fits(m, &counting_of(from)->matrix)) return overflow(m, 0, err);
    *factor = merge_factor(into, from);
    weir__matrix_merge(m, &counting_of(from)->matrix, *factor);
    into->total_bits = weir__as_bits(weir__total(into) + *factor * weir__total(from));
    return WEIR_OK;
}

weir_status weir__counting_merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    double factor;
    return weir__counting_merge_by(into, from, &factor, err);
}

/* ---- answers ---- */

weir_status weir__counting_estimate(weir_sketch *s, uint64_t hash, weir_estimator by,
                                    weir_estimate *out, weir_error *err) {
    weir_status status =
        weir__matrix_estimate(&counting(s)->matrix, hash, weir__total(s), by, out, err);
    if (status == WEIR_OK) weir__estimate_scale(out, weir__counting_now(s));
    return status;
}

weir_status weir__counting_self_join(weir_sketch *s, weir_estimator by, weir_estimate *out,
                                     weir_error *err) {
    double now = weir__counting_now(s);
    weir_status status = weir__matrix_self_join(&counting(s)->matrix, weir__total(s), by, out, err);
    if (status == WEIR_OK) weir__estimate_scale(out, now * now);
    return status;
}

weir_status weir__counting_join(weir_sketch *a, weir_sketch *b, weir_estimator by,
                                weir_estimate *out, weir_error *err) {
    weir_status status = weir__matrix_join(&counting(a)->matrix, &counting(b)->matrix,
                                           weir__total(a), weir__total(b), by, out, err);
    if (status == WEIR_OK) weir__estimate_scale(out, weir__counting_now(a) * weir__counting_now(b));
    return status;
}

/* ---- describing ---- */

void weir__counting_info(const weir_sketch *s, weir_sketch_info *info) {
    const weir__matrix *m = &counting_of(s)->matrix;
    double w = (double)m->width;
    info->total = weir__total(s) * weir__counting_now(s);
    if (m->with_sign) {
        info->confidence = 0.99;
        info->error = weir__median_reach(m->depth, 0.01) / sqrt(w);
    } else {
        info->confidence = -expm1(-(double)m->depth);
        info->error = exp(1) / w;
    }
}

void weir__counting_details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const weir__matrix *m = &counting_of(s)->matrix;
    uint64_t used = 0, counters = m->width * m->depth;
    double most = 0;
    for (uint64_t i = 0; i < counters; i++) {
        double value = fabs(weir__cell_value(m, i));
        used += value != 0;
        most = fmax(most, value);
    }
    weir__detail(each, context, "used", "share of the counters that are not zero", "%.6g",
                 (double)used / (double)counters);
    weir__detail(each, context, "largest", "the largest counter, without its sign", "%.15g", most);
}

weir_status weir__counting_check(const weir_sketch *s, weir_error *err) {
    const weir__decay *d = &counting_of(s)->state.decay;
    if (!weir__matrix_sound(&counting_of(s)->matrix) || !isfinite(weir__total(s)))
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the sketch holds numbers that are none");
    if (d->started > 1 || (decays(s) && half_lives(s, d->landmark, d->latest) > 1e6))
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the clock of the sketch is not understood");
    return WEIR_OK;
}
