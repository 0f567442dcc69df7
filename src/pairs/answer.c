/* answer.c - what a summary says: self-join, join, search, examples.
 *
 * Question   the sizes U_k of pairsize.c, and how far off they are
 * Offline    read each stream in order. Self-join: a super-value that f records
 *            drew adds f(f-1)/2. Join: two streams side by side, f1 f2. Search:
 *            the counts of the record's own super-values, all of them, since that
 *            costs nothing (so its side has a share of 1, not r).
 * Online     the same from the sketches: (Y - l n)/2, the product of two, the
 *            counters of the record's super-values; the median of the rows.
 * Deviation  offline, of the draws alone. The records' own parts are measured:
 *            for each witness, how often other records drew each of its subsets
 *            (not only those it drew itself) shows how unevenly its subsets are
 *            shared; from the variance of these counts within the record comes
 *            what its draw can change. The counts are themselves draws, which adds
 *            to that variance what is then taken off.
 *            Online the counts are the sketch's estimates (the mean of the rows),
 *            whose variance, Y/w of a row, is taken off too; and the deviation of the
 *            sizes comes on top (a row's: sqrt(2/w) Y for a self-join,
 *            sqrt((Ya Yb + J^2)/w) for a join, sqrt(Y/w) a value for a search).
 * Interval   1.96 deviations down. Up, as far as a number goes whose own deviation
 *            would still allow the estimate: the deviation is taken from the
 *            estimate, and a search that found 4 of 8 partners by chance would
 *            claim too little (1.96 both ways held 134 of 150 times).
 * Source     thesis 5.2.4 steps 2 and 3, 5.2.5, 5.3.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "pairs/pairs.h"
#include "pairs/pairsize.h"

enum { SUBSETS_SEEN = 64 }; /* of a witness, at each level */

static weir_status no_memory(weir_error *err) {
    return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

static double drawn_share(const weir__level *level) {
    return (double)level->drawn / level->subsets;
}

/* ---- counts of given super-values, found on the way through a stream ---- */

typedef struct {
    uint64_t word;
    uint32_t place; /* in `counts` */
} wanted;

typedef struct {
    wanted *list; /* by word */
    size_t count, at;
    double *counts;
} wanted_list;

static int by_word(const void *a, const void *b) {
    uint64_t x = ((const wanted *)a)->word, y = ((const wanted *)b)->word;
    return x < y ? -1 : x > y;
}

static bool wanted_new(wanted_list *w, size_t room) {
    w->count = w->at = 0;
    w->list = malloc((room + 1) * sizeof *w->list);
    w->counts = calloc(room + 1, sizeof *w->counts);
    return w->list && w->counts;
}

static void wanted_free(wanted_list *w) {
    free(w->list);
    free(w->counts);
}

static void want(wanted_list *w, uint64_t word) {
    w->list[w->count] = (wanted){word, (uint32_t)w->count};
    w->count++;
}

static void sort_wanted(wanted_list *w) {
    if (w->count) qsort(w->list, w->count, sizeof *w->list, by_word);
    w->at = 0;
}

static inline void note_count(wanted_list *w, uint64_t word, uint64_t count) {
    while (w->at < w->count && w->list[w->at].word < word) w->at++;
    while (w->at < w->count && w->list[w->at].word == word)
        w->counts[w->list[w->at++].place] = (double)count;
}

/* ---- witnesses ---- */

/* The subsets of a level that are looked at, for every witness the same. */
static uint32_t seen_subsets(const weir__level *level) {
    return level->subsets < SUBSETS_SEEN ? level->subsets : SUBSETS_SEEN;
}
static uint32_t seen_subset(const weir__level *level, uint32_t i) {
    assert(i < seen_subsets(level));
    return (uint32_t)((uint64_t)i * level->subsets / seen_subsets(level));
}

static size_t witness_values(const weir_pairs *p, const weir__level *level) {
    return weir__witness_count(p) * seen_subsets(level);
}

static void want_witnesses(wanted_list *w, const weir_pairs *p, size_t stream) {
    assert(stream < p->streams);
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    unsigned repeat = (unsigned)(stream / p->shape.levels);
    weir__labelled record;
    for (size_t i = 0; i < weir__witness_count(p); i++) {
        weir__label(&p->shape, weir__row_part(p, weir__witness_row(p, i), repeat), &record);
        for (uint32_t j = 0; j < seen_subsets(level); j++)
            want(w, weir__super_value(level, &record, seen_subset(level, j)));
    }
    sort_wanted(w);
}

/* Which subsets of a stream did a witness draw itself? */
static void witness_draws(weir_pairs *p, size_t witness, size_t stream) {
    assert(witness < weir__witness_count(p) && stream < p->streams);
    unsigned level = (unsigned)(stream % p->shape.levels);
    uint64_t rng =
        weir__repeat_state(*weir__witness(p, witness), (unsigned)(stream / p->shape.levels));
    for (unsigned i = 0; i <= level; i++) {
        memset(p->bitmap, 0, p->shape.bitmap_words * sizeof *p->bitmap);
        weir__draw(&p->shape.level[i], &rng, p->bitmap);
    }
}

static bool taken(const weir_pairs *p, uint32_t subset) {
    assert(subset / 64 < p->shape.bitmap_words);
    return p->bitmap[subset / 64] >> (subset % 64) & 1;
}

/* The records' part of the variance of a size: of the n records that the
 * witnesses stand for, against partners who drew a share `other` of their
 * subsets. own: they are among the partners themselves. noise: variance of the
 * counts for other reasons. Negative if there are too few witnesses. */
static double measured_variance(weir_pairs *p, size_t stream, const double *counts, double other,
                                bool own, double noise) {
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    uint32_t seen = seen_subsets(level);
    size_t witnesses = weir__witness_count(p);
    double share = drawn_share(level), sum = 0;
    if (witnesses < 2) return -1;
    if (seen < 2) return 0;
    for (size_t i = 0; i < witnesses; i++) {
        double total = 0, squares = 0;
        if (own) witness_draws(p, i, stream);
        for (uint32_t j = 0; j < seen; j++) {
            double g = counts[i * seen + j];
            if (own && taken(p, seen_subset(level, j))) g -= 1;
            total += g;
            squares += g * g;
        }
        double mean = total / seen, variance = (squares - total * mean) / (seen - 1);
        sum += variance - noise - mean * (1 - other);
    }
    memset(p->bitmap, 0, p->shape.bitmap_words * sizeof *p->bitmap);
    double one = level->drawn * (1 - share) * sum / (double)witnesses;
    return one > 0 ? one * (double)p->records : 0;
}

/* ---- one stream ---- */

/* The estimate for one stream, or one pair of streams. */
typedef struct {
    double size;
    double records; /* variance from the records' own parts; negative: not measured */
    double sketch;  /* variance from the sketch */
} stream_size;

static weir_status self_offline(weir_pairs *p, size_t stream, stream_size *out, weir_error *err) {
    assert(!p->online && stream < p->streams);
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    wanted_list w;
    weir_status status = WEIR_OK;
    unsigned __int128 twice = 0;
    if (!wanted_new(&w, witness_values(p, level))) {
        wanted_free(&w);
        return no_memory(err);
    }
    want_witnesses(&w, p, stream);
    weir__cursor *c = weir__cursor_open(p->store, stream, err);
    if (!c) status = WEIR_ERR_MEMORY;
    for (uint64_t word, count; c && weir__cursor_next(c, &word, &count);) {
        twice += (unsigned __int128)count * (count - 1);
        note_count(&w, word, count);
    }
    if (c) status = weir__cursor_close(c, err);
    twice /= 2; /* each pair was counted from both ends */
    out->size = (double)twice;
    out->records = measured_variance(p, stream, w.counts, drawn_share(level), true, 0);
    wanted_free(&w);
    return status;
}

static weir_status join_offline(weir_pairs *a, weir_pairs *b, size_t stream, stream_size *out,
                                weir_error *err) {
    const weir__level *level = &a->shape.level[stream % a->shape.levels];
    weir_status status = WEIR_ERR_MEMORY, other = WEIR_OK;
    unsigned __int128 sum = 0;
    wanted_list in_b = {0}, in_a = {0};
    weir__cursor *ca = NULL, *cb = NULL;
    bool room =
        wanted_new(&in_b, witness_values(a, level)) && wanted_new(&in_a, witness_values(b, level));
    if (!room) no_memory(err);
    if (room) ca = weir__cursor_open(a->store, stream, err);
    if (ca) cb = weir__cursor_open(b->store, stream, err);
    if (ca && cb) {
        uint64_t x, f, y, g;
        want_witnesses(&in_b, a, stream);
        want_witnesses(&in_a, b, stream);
        bool more_a = weir__cursor_next(ca, &x, &f), more_b = weir__cursor_next(cb, &y, &g);
        while (more_a || more_b) {
            if (more_a && more_b && x == y) sum += (unsigned __int128)f * g;
            bool step_a = more_a && (!more_b || x <= y), step_b = more_b && (!more_a || y <= x);
            if (step_a) note_count(&in_a, x, f), more_a = weir__cursor_next(ca, &x, &f);
            if (step_b) note_count(&in_b, y, g), more_b = weir__cursor_next(cb, &y, &g);
        }
        status = WEIR_OK;
    }
    if (ca) other = weir__cursor_close(ca, err);
    if (status == WEIR_OK) status = other;
    if (cb) other = weir__cursor_close(cb, err);
    if (status == WEIR_OK) status = other;
    out->size = (double)sum;
    if (status == WEIR_OK) {
        double left = measured_variance(a, stream, in_b.counts, drawn_share(level), false, 0);
        double right = measured_variance(b, stream, in_a.counts, drawn_share(level), false, 0);
        out->records = left < 0 || right < 0 ? -1 : left + right;
    }
    wanted_free(&in_a);
    wanted_free(&in_b);
    return status;
}

static weir_status search_offline(weir_pairs *p, size_t stream, const weir__labelled *record,
                                  stream_size *out, weir_error *err) {
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    wanted_list w;
    if (!wanted_new(&w, level->subsets)) {
        wanted_free(&w);
        return no_memory(err);
    }
    for (uint32_t i = 0; i < level->subsets; i++) want(&w, weir__super_value(level, record, i));
    sort_wanted(&w);
    weir__cursor *c = weir__cursor_open(p->store, stream, err);
    weir_status status = c ? WEIR_OK : WEIR_ERR_MEMORY;
    for (uint64_t word, count; c && weir__cursor_next(c, &word, &count);)
        note_count(&w, word, count);
    if (c) status = weir__cursor_close(c, err);
    for (uint32_t i = 0; i < level->subsets; i++) out->size += (double)w.counts[i];
    wanted_free(&w);
    return status;
}

/* ---- the same from sketches ---- */

/* The variance of the median of the rows, from that of one. */
static double median_variance(const weir__matrix *m, double of_row) {
    double factor = weir__median_deviation(m->depth);
    return of_row * factor * factor;
}

static double self_size(const weir__matrix *m) {
    double rows[WEIR__DEPTH_MOST];
    assert(m->depth > 0 && m->depth <= WEIR__DEPTH_MOST);
    for (unsigned i = 0; i < m->depth; i++) rows[i] = weir__row_self_join(m, i, 0);
    return weir__median(rows, m->depth);
}

/* The records' part, with the counts of `p`'s witnesses in a sketch of size y. */
static weir_status sketched_variance(weir_pairs *p, size_t stream, const weir__matrix *m, double y,
                                     bool own, double *variance, weir_error *err) {
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    wanted_list w = {0};
    double values[WEIR__DEPTH_MOST];
    bool room = wanted_new(&w, witness_values(p, level));
    if (room) {
        want_witnesses(&w, p, stream);
        for (size_t i = 0; i < w.count; i++) {
            double sum = 0;
            weir__matrix_values(m, w.list[i].word, values);
            for (unsigned row = 0; row < m->depth; row++) sum += values[row];
            w.counts[w.list[i].place] = sum / m->depth;
        }
        *variance = measured_variance(p, stream, w.counts, drawn_share(level), own,
                                      y / (double)m->width / m->depth);
    }
    wanted_free(&w);
    return room ? WEIR_OK : no_memory(err);
}

static weir_status self_online(weir_pairs *p, size_t stream, stream_size *out, weir_error *err) {
    assert(p->online && stream < p->streams);
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    const weir__matrix *m = &p->matrix[stream];
    double y = self_size(m);
    out->size = (y - (double)level->drawn * (double)p->records) / 2;
    out->sketch = median_variance(m, y * y / 2 / (double)m->width);
    return sketched_variance(p, stream, m, y, true, &out->records, err);
}

static weir_status join_online(weir_pairs *a, weir_pairs *b, size_t stream, stream_size *out,
                               weir_error *err) {
    assert(a->online && b->online && stream < a->streams && stream < b->streams);
    const weir__matrix *ma = &a->matrix[stream], *mb = &b->matrix[stream];
    double rows[WEIR__DEPTH_MOST], ya = self_size(ma), yb = self_size(mb), left, right;
    for (unsigned i = 0; i < ma->depth; i++) rows[i] = weir__row_join(ma, mb, i, 0, 0);
    out->size = weir__median(rows, ma->depth);
    out->sketch = median_variance(ma, (ya * yb + out->size * out->size) / (double)ma->width);
    weir_status status = sketched_variance(a, stream, mb, yb, false, &left, err);
    if (status == WEIR_OK) status = sketched_variance(b, stream, ma, ya, false, &right, err);
    if (status == WEIR_OK) out->records = left < 0 || right < 0 ? -1 : left + right;
    return status;
}

static void search_online(const weir_pairs *p, size_t stream, const weir__labelled *record,
                          stream_size *out) {
    const weir__level *level = &p->shape.level[stream % p->shape.levels];
    const weir__matrix *m = &p->matrix[stream];
    double sums[WEIR__DEPTH_MOST] = {0}, values[WEIR__DEPTH_MOST];
    assert(m->depth > 0 && m->depth <= WEIR__DEPTH_MOST);
    for (uint32_t i = 0; i < level->subsets; i++) {
        weir__matrix_values(m, weir__super_value(level, record, i), values);
        for (unsigned row = 0; row < m->depth; row++) sums[row] += values[row];
    }
    out->size = weir__median(sums, m->depth);
    out->sketch = median_variance(m, level->subsets * self_size(m) / (double)m->width);
}

/* ---- answers ---- */

typedef struct {
    weir_pairs *a, *b;      /* b: of a join */
    const uint64_t *record; /* of a search: its row */
} question;

static weir_status stream_of(const question *q, size_t stream, stream_size *out, weir_error *err) {
    weir__labelled record;
    unsigned repeat = (unsigned)(stream / q->a->shape.levels);
    *out = (stream_size){.records = -1};
    if (q->record) weir__label(&q->a->shape, weir__row_part(q->a, q->record, repeat), &record);
    if (!q->a->online) {
        if (q->record) return search_offline(q->a, stream, &record, out, err);
        return q->b ? join_offline(q->a, q->b, stream, out, err)
                    : self_offline(q->a, stream, out, err);
    }
    if (!q->record)
        return q->b ? join_online(q->a, q->b, stream, out, err)
                    : self_online(q->a, stream, out, err);
    search_online(q->a, stream, &record, out);
    return WEIR_OK;
}

/* One repetition: first the counts, then with these the variances. */
static weir_status answer_once(const question *q, unsigned repeat, weir_pairs_answer *out,
                               weir_error *err) {
    const weir__shape *shape = &q->a->shape;
    weir__level_size sizes[WEIR__COLUMNS_MOST];
    stream_size streams[WEIR__COLUMNS_MOST] = {{0}};
    for (unsigned i = 0; i < shape->levels; i++) {
        double share = drawn_share(&shape->level[i]);
        weir_status status = stream_of(q, (size_t)repeat * shape->levels + i, &streams[i], err);
        if (status != WEIR_OK) return status;
        sizes[i] =
            (weir__level_size){{share, q->record ? 1 : share}, streams[i].size, streams[i].sketch};
    }
    weir__estimate(shape, sizes, out);
    for (unsigned i = 0; i < shape->levels; i++) {
        sizes[i].variance += weir__pair_variance(shape, i, sizes[i].share, out);
        sizes[i].variance += streams[i].records >= 0
                                 ? streams[i].records
                                 : weir__record_variance(shape, i, sizes[i].share, out);
    }
    weir__estimate(shape, sizes, out);
    return WEIR_OK;
}

/* The median of a field over the repetitions. */
static double median_of(const weir_pairs_answer *all, unsigned n, size_t offset) {
    double numbers[100];
    assert(n >= 1 && n <= sizeof numbers / sizeof *numbers);
    for (unsigned i = 0; i < n; i++)
        memcpy(&numbers[i], (const char *)&all[i] + offset, sizeof *numbers);
    return weir__median(numbers, n);
}

static void take_medians(weir_pairs_answer *all, unsigned n) {
    double factor = n > 1 ? weir__median_deviation(n) : 1;
    weir_pairs_answer out = all[0];
    out.similar = median_of(all, n, offsetof(weir_pairs_answer, similar));
    out.similar_deviation =
        factor * median_of(all, n, offsetof(weir_pairs_answer, similar_deviation));
    for (size_t k = 0; k < 65; k++) {
        out.count[k] = median_of(all, n, offsetof(weir_pairs_answer, count) + k * sizeof(double));
        out.deviation[k] =
            factor * median_of(all, n, offsetof(weir_pairs_answer, deviation) + k * sizeof(double));
    }
    all[0] = out;
}

static double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

double weir__student(unsigned freedom) {
    assert(freedom >= 1);
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};
    enum { KNOWN = sizeof t / sizeof *t };
    return freedom <= KNOWN ? t[freedom - 1] : 2.131;
}

/* How far above the mean the interval of a lognormal variable reaches (Cox): counts of texts are
 * skewed, as a few seeds let large groups of texts agree. */
static double skewed_reach(const double *x, unsigned n, double mean) {
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!(x[i] > 0)) return 0;
        sum += log(x[i]);
        squares += log(x[i]) * log(x[i]);
    }
    double variance = fmax(0, squares - sum * sum / n) / (n - 1);
    double error = sqrt(variance / n + variance * variance / (2.0 * (n - 1)));
    return exp(sum / n + variance / 2 + weir__student(n - 1) * error) - mean;
}

/* The mean of a field and its deviation, such that 1.96 of it are the interval: Student's, or
 * that of a lognormal variable where it reaches further. */
static double mean_of(const weir_pairs_answer *all, unsigned n, size_t offset, double *deviation) {
    double x[WEIR__COLUMNS_MOST] = {0}, sum = 0, squares = 0;
    assert(n > 1 && n <= WEIR__COLUMNS_MOST);
    for (unsigned i = 0; i < n; i++) {
        memcpy(&x[i], (const char *)&all[i] + offset, sizeof *x);
        sum += x[i];
    }
    double mean = sum / n;
    for (unsigned i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    double reach = weir__student(n - 1) * sqrt(squares / (n - 1) / n);
    *deviation = fmax(reach, skewed_reach(x, n, mean)) / 1.96;
    return mean;
}

void weir_pairs_average(weir_pairs_answer *all, size_t count) {
    weir_pairs_answer out = all[0];
    unsigned n = (unsigned)count;
    if (n < 2) return;
    out.similar = mean_of(all, n, offsetof(weir_pairs_answer, similar), &out.similar_deviation);
    for (size_t k = 0; k < 65; k++)
        out.count[k] = mean_of(all, n, offsetof(weir_pairs_answer, count) + k * sizeof(double),
                               &out.deviation[k]);
    out.low = clip(out.similar - 1.96 * out.similar_deviation, 0, out.pairs);
    out.high = clip(out.similar + 1.96 * out.similar_deviation, 0, out.pairs);
    all[0] = out;
}

/* By how much one more similar pair raises the variance, if it is of the kind
 * that raises it most. */
static double variance_of_a_pair(const weir_pairs *p, bool search) {
    const weir__shape *shape = &p->shape;
    double most = 0, factor = p->repeats > 1 ? weir__median_deviation(p->repeats) : 1;
    if (p->signatures > 1) return 0; /* the interval is measured */
    for (unsigned k = shape->s; k <= shape->d; k++) {
        weir__level_size sizes[WEIR__COLUMNS_MOST];
        weir_pairs_answer one = {0};
        one.count[k] = 1;
        for (unsigned i = 0; i < shape->levels; i++) {
            double share = drawn_share(&shape->level[i]);
            sizes[i] = (weir__level_size){{share, search ? 1 : share}, 0, 0};
            sizes[i].variance = weir__pair_variance(shape, i, sizes[i].share, &one) +
                                weir__record_variance(shape, i, sizes[i].share, &one);
        }
        weir__estimate(shape, sizes, &one);
        most = fmax(most, pow(factor * one.similar_deviation, 2));
    }
    return most;
}

/* How far above the estimate the interval goes. The deviation follows from the
 * estimate, so it is too small where that came out too small: this solves for the
 * largest number of pairs that is within 1.96 of its own deviations. */
static double upper_reach(double deviation, double of_a_pair) {
    double half = 1.96 * 1.96 * of_a_pair / 2;
    return half + sqrt(half * half + 1.96 * 1.96 * deviation * deviation);
}

/* Pairs that are similar or not. */
static double pairs_of(const question *q) {
    double n = (double)q->a->records;
    return q->record ? n : q->b ? n * (double)q->b->records : n * (n - 1) / 2;
}

static void complete(const question *q, weir_pairs_answer *out) {
    const weir_pairs *p = q->a;
    double n = (double)p->records, m = q->record ? 1 : q->b ? (double)q->b->records : n;
    out->columns = p->shape.d;
    out->threshold = p->shape.s;
    out->records[0] = p->records;
    out->records[1] = q->record ? 1 : q->b ? q->b->records : p->records;
    out->pairs = pairs_of(q);
    out->values = p->shape.per_record * p->repeats * (p->records + (q->b ? q->b->records : 0));
    out->similar_bound =
        weir__deviation_bound(p->shape.d, p->shape.s, p->sample, out->similar, q->b ? n + m : n,
                              p->online ? (double)p->matrix[0].width : 0);
    out->low = clip(out->similar - 1.96 * out->similar_deviation, 0, out->pairs);
    double reach = upper_reach(out->similar_deviation, variance_of_a_pair(p, q->record != NULL));
    out->high = clip(out->similar + reach, 0, out->pairs);
}

static weir_status answer(const question *q, weir_pairs_answer *out, weir_error *err) {
    unsigned n = q->a->repeats;
    weir_status status = WEIR_OK;
    weir_pairs_answer *all = calloc(n, sizeof *all);
    if (!all) return no_memory(err);
    for (unsigned i = 0; i < n && status == WEIR_OK; i++) status = answer_once(q, i, &all[i], err);
    if (status == WEIR_OK) {
        if (q->a->signatures > 1) weir_pairs_average(all, n);
        else if (n > 1) take_medians(all, n);
    }
    if (status == WEIR_OK && q->a->signatures > 1)
        status = weir__redraw(q->a, q->b, q->record, pairs_of(q), &all[0], err);
    if (status == WEIR_OK) {
        complete(q, &all[0]);
        *out = all[0];
    }
    free(all);
    return status;
}

weir_status weir_pairs_self(weir_pairs *p, weir_pairs_answer *out, weir_error *err) {
    return answer(&(question){.a = p}, out, err);
}

static weir_status joinable(const weir_pairs *a, const weir_pairs *b, weir_error *err) {
    weir_status status = weir__pairs_fit(a, b, err);
    if (status != WEIR_OK || (a != b && a->draw != b->draw)) return status;
    return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                      "the summaries were made with the same draw, which would count too many "
                      "pairs: they are the same one, or made with one seed from inputs of one "
                      "name; give one another name, or draw");
}

weir_status weir_pairs_join(weir_pairs *a, weir_pairs *b, weir_pairs_answer *out, weir_error *err) {
    weir_status status = joinable(a, b, err);
    return status == WEIR_OK ? answer(&(question){.a = a, .b = b}, out, err) : status;
}

weir_status weir_pairs_search(weir_pairs *p, const uint64_t *row, weir_pairs_answer *out,
                              weir_error *err) {
    return answer(&(question){.a = p, .record = row}, out, err);
}

/* ---- examples ---- */

/* Super-values of one level that two records or more have drawn. They come in
 * the order of their hashes, so the first are as good a choice as any. */
static weir_status level_collisions(weir_pairs *a, weir_pairs *b, size_t level, uint64_t *values,
                                    size_t most, size_t *found, weir_error *err) {
    weir__cursor *ca = weir__cursor_open(a->store, level, err);
    weir__cursor *cb = ca && b ? weir__cursor_open(b->store, level, err) : NULL;
    bool good = ca && (!b || cb);
    uint64_t x, f, y = 0, g;
    bool more = good && cb && weir__cursor_next(cb, &y, &g);
    while (good && *found < most && weir__cursor_next(ca, &x, &f)) {
        while (more && y < x) more = weir__cursor_next(cb, &y, &g);
        if (b ? more && y == x : f > 1) values[(*found)++] = x;
        if (b && !more) break;
    }
    weir_status status = ca ? weir__cursor_close(ca, err) : WEIR_ERR_MEMORY;
    weir_status other = cb ? weir__cursor_close(cb, err) : WEIR_OK;
    if (status == WEIR_OK) status = other;
    return status == WEIR_OK && !good ? WEIR_ERR_MEMORY : status;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

weir_status weir_pairs_collisions(weir_pairs *a, weir_pairs *b, uint64_t *values, size_t most,
                                  size_t *count, weir_error *err) {
    *count = 0;
    if (a->online || (b && b->online))
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "a sketch does not hold the super-values that examples are found by; use "
                          "method=offline");
    weir_status status = b ? joinable(a, b, err) : WEIR_OK;
    unsigned levels = a->shape.levels;
    for (unsigned i = 0; i < levels && status == WEIR_OK;
         i++) { /* an equal part of the room each */
        size_t room = *count + (most - *count) / (levels - i);
        status = level_collisions(a, b, i, values, room, count, err);
    }
    if (status == WEIR_OK && *count) qsort(values, *count, sizeof *values, by_value);
    return status;
}

size_t weir_pairs_match(weir_pairs *p, uint64_t number, const uint64_t *row, const uint64_t *values,
                        size_t count, size_t *places, size_t most) {
    weir__labelled record;
    uint64_t rng = weir__draw_state(p->draw, number);
    size_t found = 0;
    weir__label(&p->shape, row, &record);
    for (unsigned i = 0; i < p->shape.levels; i++) {
        const weir__level *level = &p->shape.level[i];
        weir__draw(level, &rng, p->bitmap);
        for (uint32_t j = 0; j < level->subsets; j++) {
            if (!taken(p, j)) continue;
            uint64_t value = weir__super_value(level, &record, j);
            const uint64_t *at =
                count ? bsearch(&value, values, count, sizeof *values, by_value) : NULL;
            if (at && found < most) places[found++] = (size_t)(at - values);
        }
        memset(p->bitmap, 0, p->shape.bitmap_words * sizeof *p->bitmap);
    }
    return found;
}
