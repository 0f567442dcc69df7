/* estimate.c - what the counters of a matrix say: CM, CMM, Fast-AGMS, and auto.
 *
 * Question   how often did a key come by; how large are self-join and join?
 * Idea       CM         the least of a key's counters: noise only adds to them
 *            CMM-mean   a counter less the mean of the others in its row,
 *                       c - (N - c)/(w - 1), is unbiased (lemma 2); the median
 *                       of the rows
 *            CMM        the same with the median of the row as its noise (4.2.4)
 *            Fast-AGMS  signed counters; the median of the rows (lemma 3)
 *            all clipped to [0, CM] where there is a CM
 *            auto       see below
 * Error      a row's variance: CMM (F2 - f^2)/(w-1), Fast-AGMS the same over w,
 *            where F2 is the self-join size. CM errs upwards only.
 *            Bounds: with weights that leave no key below zero, CM is an upper
 *            bound for certain. A lower one: all d noises exceed t with a chance
 *            of at most (N/(w t))^d (Markov) and (1/(1+z^2))^d for t = N/w +
 *            z sqrt(F2/w) (Cantelli), both set to 1%; for F2 CM's own upper bound
 *            is put in. For medians: at least half of the rows must err by
 *            more than z deviations, each with a chance of at most 1/z^2.
 * Self-join  a row's (w S - N^2)/(w-1), S the sum of its squared counters: this is
 *            the formula of 4.3.1 multiplied out. Its variance (lemma 4) is
 *            4/(w-1) sum_(x<y) fx^2 fy^2 = 2/(w-1) (F2^2 - F4), at most 2 F2^2/(w-1).
 * Join       a row's (w P - Na Nb)/(w-1), P the sum of products of the counters of
 *            two streams. The same steps as for lemma 4 give its mean, the join
 *            size J, and its variance
 *                1/(w-1) sum_(x<y) (fx gy + fy gx)^2
 *                    = 1/(w-1) (F2 G2 + J^2 - 2 sum f^2 g^2),
 *            which is lemma 4's for f = g. Fast-AGMS has w for w-1.
 * Medians    the deviation of a median of d rows is taken to be that of a median
 *            of normal variables. Noise with a heavier tail has a better median.
 * Cost       a key: d counters (CM), auto about a microsecond; all but CM first look at
 *            all counters, once after each change
 *
 * auto. Section 4.2.1 observes that the counters of a row show the distribution of
 * the noise in it. So a key's d counters tell how likely each count f is: all of
 * counter - f must be noise. auto takes the counters of all rows (or 4096 of them) for
 * the distribution q, and reads the median of what
 *
 *     prior(f) x q(c1 - f) x ... x q(cd - f),    0 <= f <= CM
 *
 * says. With a prior that is flat this is, whatever the noise, the least mean
 * absolute error of any reading that moves along with the key's count, as CM and CMM do.
 * But CMM is cut off at 0, which helps it with keys that never came; so 0 itself has
 * the weight of SPIKE counts, less where the noise is wide, and of SPIKE_SPREAD times
 * half the distance of its quartiles besides. These two were measured, for the least
 * regret over skew 0 to 2, several shapes, all keys and the most frequent.
 * Tested in tests/model/test_countmin.c and by the lab (count-auto): at most 1.1 times
 * the error of the better of CM and CMM, but for single cells of a full run (1.18). At
 * medium skew it has half the error of either.
 *
 * Source     thesis chapter 4; Charikar, Chen, Farach-Colton 2002; Cormode,
 *            Garofalakis 2005. auto is ours; Ting 2018 reads counters by the likelihood
 *            of their noise as well.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "sketch/matrix.h"

enum { NOISE_MOST = 4096, STRETCHES = 48, STRETCH_LEAST = 4 };
enum { STEPS_MOST = 4 * STRETCHES, SEGMENTS_MOST = STEPS_MOST * WEIR__DEPTH_MOST + 2 };
#define CHANCE 0.01 /* that a bound fails */
#define SPIKE 10.0
#define SPIKE_SPREAD 0.75

struct weir__row_view {
    double square[WEIR__DEPTH_MOST]; /* sum of the squares of a row's counters */
    double median[WEIR__DEPTH_MOST]; /* of the counters of a row, once `halved` */
    bool halved;
    bool drawn; /* what follows is set */

    /* the distribution of the noise: constant from each start to the next */
    double start[STEPS_MOST + 1], density[STEPS_MOST]; /* densities relative to the greatest */
    unsigned steps;
    double unit;  /* how far apart two counts are at least; of real counters next to nothing */
    double spike; /* the weight of the count 0, in counts */
};

/* ---- medians ---- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_doubles(double *numbers, size_t n) {
    if (n > 32) {
        qsort(numbers, n, sizeof *numbers, compare_doubles);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        double x = numbers[i];
        size_t j = i;
        for (; j > 0 && numbers[j - 1] > x; j--) numbers[j] = numbers[j - 1];
        numbers[j] = x;
    }
}

static double middle_of(const double *sorted, size_t n) {
    if (n == 0) return 0;
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double weir__median(double *numbers, size_t n) {
    sort_doubles(numbers, n);
    return middle_of(numbers, n);
}

double weir__median_deviation(unsigned depth) {
    static const double exact[] = {0, 1, .7071, .6698, .5460, .5357, .4634, .4587, .4097, .4076};
    return depth < 10 ? exact[depth] : sqrt(M_PI / 2 / depth);
}

/* Pr[Bin(d, p) >= need]. */
static double at_least(unsigned d, unsigned need, double p) {
    double sum = 0, choose = 1;
    for (unsigned j = 0; j <= d; j++) {
        if (j >= need) sum += choose * pow(p, j) * pow(1 - p, d - j);
        choose = choose * (d - j) / (j + 1);
    }
    return sum;
}

/* Every estimate asks for it, and mostly for the same one again. */
double weir__median_reach(unsigned depth, double chance) {
    static _Thread_local struct { double chance, reach; } last[WEIR__DEPTH_MOST + 1];
    double low = 0, high = 1;
    if (depth <= WEIR__DEPTH_MOST && last[depth].chance == chance) return last[depth].reach;
    for (int i = 0; i < 60; i++) {
        double p = (low + high) / 2;
        if (at_least(depth, (depth + 1) / 2, p) > chance) high = p;
        else low = p;
    }
    if (depth <= WEIR__DEPTH_MOST) {
        last[depth].chance = chance;
        last[depth].reach = 1 / sqrt(low);
    }
    return 1 / sqrt(low);
}

/* Doubles in an order that unsigned words share. */
static uint64_t ordered(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double unordered(uint64_t word) {
    uint64_t bits = word >> 63 ? word & ~(UINT64_C(1) << 63) : ~word;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The counter of a row that `rank` others do not exceed, found digit by digit
 * of 11 bits, so that no copy of the row is needed. */
static double select_counter(const weir__matrix *m, unsigned row, uint64_t rank) {
    uint64_t prefix = 0, known = 0;
    for (int shift = 55; shift > -11; shift -= 11) {
        unsigned bits = shift >= 0 ? 11 : (unsigned)(11 + shift),
                 at = shift >= 0 ? (unsigned)shift : 0;
        uint64_t counts[2048] = {0};
        for (uint64_t j = 0; j < m->width; j++) {
            uint64_t word = ordered(weir__cell_value(m, weir__cell_number(m, row, j)));
            if ((word & known) == prefix) counts[word >> at & ((1u << bits) - 1)]++;
        }
        uint64_t digit = 0;
        while (rank >= counts[digit]) rank -= counts[digit++];
        prefix |= digit << at;
        known |= (uint64_t)((1u << bits) - 1) << at;
    }
    return unordered(prefix);
}

/* ---- the view ---- */

static void view_rows(const weir__matrix *m, weir__row_view *v) {
    for (unsigned i = 0; i < m->depth; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < m->width; j++) {
            double c = weir__cell_value(m, weir__cell_number(m, i, j));
            sum += c * c;
        }
        v->square[i] = sum;
    }
}

static void find_medians(const weir__matrix *m, weir__row_view *v) {
    for (unsigned i = 0; i < m->depth && !v->halved; i++)
        v->median[i] = select_counter(m, i, (m->width - 1) / 2);
    v->halved = true;
}

static weir_status refresh(weir__matrix *m, weir_error *err) {
    if (!m->view) {
        m->view = calloc(1, sizeof *m->view);
        m->stale = true;
    }
    if (!m->view) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    if (m->stale) {
        view_rows(m, m->view);
        m->view->drawn = m->view->halved = false;
        m->stale = false;
    }
    return WEIR_OK;
}

void weir__matrix_close(weir__matrix *m) {
    free(m->view);
    m->view = NULL;
}

static double least(const double *numbers, unsigned n) {
    double low = HUGE_VAL;
    for (unsigned i = 0; i < n; i++) low = fmin(low, numbers[i]);
    return low;
}

/* ---- auto ---- */

/* Counters of each row, evenly chosen, in ascending order. Returns how many. */
static size_t sample_noise(const weir__matrix *m, double noise[NOISE_MOST]) {
    size_t most = NOISE_MOST / m->depth, each = m->width < most ? (size_t)m->width : most, n = 0;
    for (unsigned row = 0; row < m->depth; row++)
        for (size_t i = 0; i < each; i++) {
            uint64_t j = (uint64_t)((double)i * (double)m->width / (double)each);
            noise[n++] = weir__cell_value(m, weir__cell_number(m, row, j));
        }
    sort_doubles(noise, n);
    return n;
}

static void add_step(weir__row_view *v, double start, double end, double share) {
    v->start[v->steps] = start;
    v->density[v->steps++] = share / (end - start);
}

static size_t equals(const double *sorted, size_t n, size_t at) {
    size_t end = at;
    while (end < n && sorted[end] == sorted[at]) end++;
    return end - at;
}

/* The end of a stretch of noises: `each` of them, or those before a value that has
 * as many for itself. */
static size_t stretch_end(const double *sorted, size_t n, size_t at, size_t each) {
    size_t end = at + equals(sorted, n, at);
    while (end < n && end - at < each) {
        size_t same = equals(sorted, n, end);
        if (same >= each) break;
        end += same;
    }
    return end;
}

/* A value that many counters have is a step of its own; what lies between is cut into
 * stretches of equally many. Where none was seen, half of one might have been. */
static void spread_noise(weir__row_view *v, const double *noise, size_t n) {
    size_t each = n / STRETCHES > STRETCH_LEAST ? n / STRETCHES : STRETCH_LEAST;
    double rare = 0.5 / (double)n, last = noise[n - 1] + v->unit, most = 0;
    v->steps = 0;
    if (noise[0] > 0) add_step(v, 0, noise[0], rare);
    for (size_t at = 0, end; at < n; at = end) {
        end = stretch_end(noise, n, at, each);
        double next = end < n ? noise[end] : last;
        double stop = equals(noise, n, at) >= each ? fmin(noise[at] + v->unit, next) : next;
        add_step(v, noise[at], stop, (double)(end - at) / (double)n);
        if (stop < next) add_step(v, stop, next, rare);
    }
    add_step(v, last, last + fabs(last) + v->unit, rare);
    v->start[v->steps] = HUGE_VAL;
    for (unsigned i = 0; i < v->steps; i++) most = fmax(most, v->density[i]);
    for (unsigned i = 0; i < v->steps; i++) v->density[i] /= most;
}

/* What a record weighs: where weights are no whole numbers, the least noise that is any. */
static double least_weight(const weir__matrix *m, const double *noise, size_t n) {
    for (size_t i = 0; i < n && m->counter == WEIR__COUNTER_REAL; i++)
        if (noise[i] > 0) return noise[i];
    return 1;
}

static void learn_noise(const weir__matrix *m, weir__row_view *v) {
    double noise[NOISE_MOST] = {0};
    size_t n = sample_noise(m, noise);
    double weight = least_weight(m, noise, n), spread = (noise[n * 3 / 4] - noise[n / 4]) / 2;
    bool real = m->counter == WEIR__COUNTER_REAL;
    double most = sqrt(least(v->square, m->depth)); /* no key has a greater count */
    v->unit = real ? fmax(weight * 1e-9, most * 0x1p-48) : 1;
    v->spike = SPIKE * weight / (1 + spread / weight) + SPIKE_SPREAD * spread;
    spread_noise(v, noise, n);
    v->drawn = true;
}

/* How likely the counts of a key are: segments from CM down to 0. */
typedef struct {
    size_t count;
    double top;                 /* CM, where the first begins */
    double from[SEGMENTS_MOST]; /* where they end; the end is not part of them */
    double mass[SEGMENTS_MOST], total;
} likely_counts;

static void weigh_counts(const weir__row_view *v, const double *values, unsigned depth,
                         likely_counts *l) {
    unsigned at[WEIR__DEPTH_MOST] = {0};
    double top = l->top = fmax(0, least(values, depth)), from;
    l->count = 0;
    l->total = 0;
    for (unsigned i = 0; i < depth; i++)
        while (at[i] + 1 < v->steps && v->start[at[i] + 1] <= values[i] - top) at[i]++;
    for (bool zero = top == 0;; zero = top == 0) {
        double mass = zero ? v->unit + v->spike : 1;
        from = zero ? -v->unit : 0;
        for (unsigned i = 0; i < depth; i++) {
            from = fmax(from, values[i] - v->start[at[i] + 1]);
            mass *= v->density[at[i]];
        }
        if (!zero) mass *= top - from;
        l->from[l->count] = from;
        l->mass[l->count++] = mass;
        l->total += mass;
        if (zero) return;
        for (unsigned i = 0; i < depth; i++) at[i] += values[i] - v->start[at[i] + 1] >= from;
        top = from;
    }
}

/* The count above which a share of the mass lies. */
static double count_at(const weir__row_view *v, const likely_counts *l, double share) {
    double top = l->top, mass = share * l->total;
    size_t i = 0;
    for (; i + 1 < l->count && l->mass[i] < mass; i++) {
        mass -= l->mass[i];
        top = l->from[i];
    }
    double width = top - l->from[i];
    if (width < 2 * v->unit) return top; /* a single count */
    double count = top - mass / l->mass[i] * width;
    return v->unit == 1 ? ceil(count) : count;
}

static weir_status refresh_noise(weir__matrix *m, weir_error *err) {
    weir_status status = refresh(m, err);
    if (status == WEIR_OK && !m->view->drawn) learn_noise(m, m->view);
    return status;
}

/* ---- a key ---- */

/* CM less the most that its noise is with 99%, by Markov and, where the squares
 * are known, by Cantelli. */
static double lower_bound(const weir__matrix *m, double cm, double total, double most_square) {
    double w = (double)m->width, each = pow(CHANCE, -1.0 / m->depth);
    double noise = total / w * each;
    if (most_square >= 0) noise = fmin(noise, total / w + sqrt((each - 1) * most_square / w));
    return fmax(0, cm - fmax(0, noise));
}

static void estimate_cm(const weir__matrix *m, const double *values, double total,
                        weir_estimate *out) {
    double cm = least(values, m->depth);
    *out = (weir_estimate){cm, lower_bound(m, cm, total, -1), cm, 0};
    out->deviation = (out->high - out->low) / 2;
}

static double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* Bounds about the unbiased estimate, inside those of CM, around the value. */
static void bound_cmm(const weir__matrix *m, const double *values, double total,
                      weir_estimate *out) {
    double unbiased[WEIR__DEPTH_MOST], w = (double)m->width;
    for (unsigned i = 0; i < m->depth; i++) unbiased[i] = values[i] - (total - values[i]) / (w - 1);
    double cm = least(values, m->depth), most = least(m->view->square, m->depth);
    double middle = weir__median(unbiased, m->depth);
    double reach = weir__median_reach(m->depth, CHANCE) * sqrt(most / (w - 1));
    out->low = fmin(out->value, fmax(middle - reach, lower_bound(m, cm, total, most)));
    out->high = fmax(out->value, fmin(middle + reach, cm));
}

static void estimate_cmm(const weir__matrix *m, double *values, double total, bool by_mean,
                         weir_estimate *out) {
    double residues[WEIR__DEPTH_MOST], w = (double)m->width;
    if (!by_mean) find_medians(m, m->view);
    for (unsigned i = 0; i < m->depth; i++)
        residues[i] = values[i] - (by_mean ? (total - values[i]) / (w - 1) : m->view->median[i]);
    double cm = least(values, m->depth), square = least(m->view->square, m->depth);
    out->value = clip(weir__median(residues, m->depth), 0, fmax(cm, 0));
    out->deviation = sqrt(fmax(0, square - out->value * out->value) / (w - 1)) *
                     weir__median_deviation(m->depth);
    bound_cmm(m, values, total, out);
}

static void estimate_auto(const weir__matrix *m, double *values, double total, weir_estimate *out) {
    likely_counts l;
    weigh_counts(m->view, values, m->depth, &l);
    *out = (weir_estimate){.value = l.top, .deviation = l.top};
    if (l.total > 0) {
        out->value = count_at(m->view, &l, 0.5);
        out->deviation = (count_at(m->view, &l, 0.16) - count_at(m->view, &l, 0.84)) / 2;
    }
    bound_cmm(m, values, total, out);
}

static void estimate_signed(const weir__matrix *m, double *values, weir_estimate *out) {
    double squares[WEIR__DEPTH_MOST];
    memcpy(squares, m->view->square, m->depth * sizeof *squares);
    double square = weir__median(squares, m->depth);
    double value = weir__median(values, m->depth), w = (double)m->width;
    double row = sqrt(fmax(0, square - value * value) / w);
    double reach = weir__median_reach(m->depth, CHANCE) * sqrt(square / w);
    *out = (weir_estimate){value, value - reach, value + reach,
                           row * weir__median_deviation(m->depth)};
}

static bool plain_minimum(const weir__matrix *m, weir_estimator by) {
    return !m->with_sign && (by == WEIR_BY_CM || m->conservative || m->width == 1);
}

static weir_status refuse_cmm(const weir__matrix *m, weir_estimator by, weir_error *err) {
    if (!m->conservative || by == WEIR_BY_AUTO || by == WEIR_BY_CM) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                      "counters with update=conservative do not show their noise, which CMM takes "
                      "off; use cm, or update=plain");
}

weir_status weir__matrix_estimate(weir__matrix *m, uint64_t hash, double total, weir_estimator by,
                                  weir_estimate *out, weir_error *err) {
    double values[WEIR__DEPTH_MOST];
    weir_status status = refuse_cmm(m, by, err);
    if (status != WEIR_OK) return status;
    weir__matrix_values(m, hash, values);
    if (plain_minimum(m, by)) {
        estimate_cm(m, values, total, out);
        return WEIR_OK;
    }
    status = by == WEIR_BY_AUTO && !m->with_sign ? refresh_noise(m, err) : refresh(m, err);
    if (status != WEIR_OK) return status;
    if (m->with_sign) estimate_signed(m, values, out);
    else if (by == WEIR_BY_AUTO) estimate_auto(m, values, total, out);
    else estimate_cmm(m, values, total, by == WEIR_BY_CMM_MEAN, out);
    return WEIR_OK;
}

double weir__row_estimate(const weir__matrix *m, unsigned row, uint64_t hash, double total) {
    double values[WEIR__DEPTH_MOST];
    weir__matrix_values(m, hash, values);
    if (m->with_sign) return values[row];
    return values[row] - (total - values[row]) / ((double)m->width - 1);
}

/* ---- self-join and join ---- */

static double unbiased_square(const weir__matrix *m, double sum, double total_a, double total_b) {
    double w = (double)m->width;
    return m->with_sign ? sum : (w * sum - total_a * total_b) / (w - 1);
}

static double row_product(const weir__matrix *a, const weir__matrix *b, unsigned row) {
    double sum = 0;
    for (uint64_t j = 0; j < a->width; j++) {
        uint64_t number = weir__cell_number(a, row, j);
        sum += weir__cell_value(a, number) * weir__cell_value(b, number);
    }
    return sum;
}

double weir__row_self_join(const weir__matrix *m, unsigned row, double total) {
    return unbiased_square(m, row_product(m, m, row), total, total);
}

double weir__row_join(const weir__matrix *a, const weir__matrix *b, unsigned row, double total_a,
                      double total_b) {
    return unbiased_square(a, row_product(a, b, row), total_a, total_b);
}

static weir_status refuse_squares(const weir__matrix *m, weir_error *err) {
    if (m->conservative)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "counters with update=conservative are no sums, so they give no join "
                          "sizes; use update=plain");
    if (m->width == 1)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "a width of 1 gives no join sizes; use a greater width");
    return WEIR_OK;
}

/* From the sums of products of the rows. `scale` bounds the deviation of a row
 * times sqrt(w - 1). */
static void join_estimate(const weir__matrix *m, const double *sums, double total_a, double total_b,
                          bool by_minimum, double scale, weir_estimate *out) {
    double rows[WEIR__DEPTH_MOST], w = (double)m->width - !m->with_sign;
    for (unsigned i = 0; i < m->depth; i++) rows[i] = unbiased_square(m, sums[i], total_a, total_b);
    double middle = weir__median(rows, m->depth), row = scale / sqrt(w);
    double reach = weir__median_reach(m->depth, CHANCE) * row;
    double high = m->with_sign ? HUGE_VAL : least(sums, m->depth);
    out->value = by_minimum ? high : m->with_sign ? middle : clip(middle, 0, high);
    out->deviation = row * weir__median_deviation(m->depth);
    out->low = fmin(out->value, m->with_sign ? middle - reach : fmax(0, middle - reach));
    out->high = fmax(out->value, fmin(high, middle + reach));
    if (by_minimum) out->high = high;
}

weir_status weir__matrix_self_join(weir__matrix *m, double total, weir_estimator by,
                                   weir_estimate *out, weir_error *err) {
    double sums[WEIR__DEPTH_MOST];
    weir_status status = refuse_squares(m, err);
    if (status == WEIR_OK) status = refresh(m, err);
    if (status != WEIR_OK) return status;
    memcpy(sums, m->view->square, m->depth * sizeof *sums);
    join_estimate(m, sums, total, total, by == WEIR_BY_CM && !m->with_sign, 0, out);
    double scale = sqrt(2) * out->value;
    join_estimate(m, sums, total, total, by == WEIR_BY_CM && !m->with_sign, scale, out);
    return WEIR_OK;
}

weir_status weir__matrix_join(weir__matrix *a, weir__matrix *b, double total_a, double total_b,
                              weir_estimator by, weir_estimate *out, weir_error *err) {
    double sums[WEIR__DEPTH_MOST];
    weir_estimate self_a = {0}, self_b = {0};
    weir_status status = weir__matrix_self_join(a, total_a, WEIR_BY_CMM, &self_a, err);
    if (status == WEIR_OK) status = weir__matrix_self_join(b, total_b, WEIR_BY_CMM, &self_b, err);
    if (status != WEIR_OK) return status;
    for (unsigned i = 0; i < a->depth; i++) sums[i] = row_product(a, b, i);
    bool by_minimum = by == WEIR_BY_CM && !a->with_sign;
    join_estimate(a, sums, total_a, total_b, by_minimum, 0, out);
    double most = fmax(0, self_a.value) * fmax(0, self_b.value);
    double scale = sqrt(most + fmin(out->value * out->value, most)); /* Cauchy: J^2 <= F2 G2 */
    join_estimate(a, sums, total_a, total_b, by_minimum, scale, out);
    return WEIR_OK;
}

/* ---- sizes ---- */

void weir__matrix_plan_cm(double error, double confidence, uint64_t *width, unsigned *depth) {
    double d = ceil(-log1p(-confidence) - 1e-9);
    *depth = d < 1 ? 1 : d > WEIR__DEPTH_MOST ? WEIR__DEPTH_MOST : (unsigned)d;
    *width = (uint64_t)ceil(exp(1) / error);
}

void weir__matrix_plan_median(double error, double confidence, uint64_t *width, unsigned *depth) {
    double best = HUGE_VAL;
    for (unsigned d = 1; d <= WEIR__DEPTH_MOST; d += 2) {
        double reach = weir__median_reach(d, 1 - confidence);
        double w = ceil(reach * reach / (error * error));
        if (w * d >= best) continue;
        best = w * d;
        *width = (uint64_t)w;
        *depth = d;
    }
}
