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
 *            auto       the likeliest count, given the noise that all counters show: likely.c
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
 * Cost       a key: d counters; auto more (likely.c). All but CM first look at all counters,
 *            once after each change
 *
 * Source     thesis chapter 4; Charikar, Chen, Farach-Colton 2002; Cormode,
 *            Garofalakis 2005
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "sketch/likely.h"
#include "sketch/matrix.h"

#define CHANCE 0.01 /* that a bound fails */

struct weir__row_view {
    double square[WEIR__DEPTH_MOST]; /* sum of the squares of a row's counters */
    double median[WEIR__DEPTH_MOST]; /* of the counters of a row, once `halved` */
    bool halved;
    weir__noise noise; /* once `learnt` */
    bool learnt;
};

/* ---- medians ---- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void weir__sort(double *numbers, size_t n) {
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
    weir__sort(numbers, n);
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
    assert(row < m->depth && rank < m->width);
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
        m->view = weir__alloc(&m->allocator, sizeof *m->view);
        m->stale = true;
    }
    if (!m->view) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    if (m->stale) {
        view_rows(m, m->view);
        m->view->learnt = m->view->halved = false;
        m->stale = false;
    }
    return WEIR_OK;
}

void weir__matrix_close(weir__matrix *m) {
    weir__free(&m->allocator, m->view);
    m->view = NULL;
}

/* ---- a key ---- */

static weir_status refresh_noise(weir__matrix *m, double total, weir_error *err) {
    weir_status status = refresh(m, err);
    if (status != WEIR_OK || m->view->learnt) return status;
    double most = sqrt(weir__least(m->view->square, m->depth));
    weir__noise_learn(&m->view->noise, m, most, total);
    m->view->learnt = true;
    return WEIR_OK;
}

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
    double cm = weir__least(values, m->depth);
    *out = (weir_estimate){cm, lower_bound(m, cm, total, -1), cm, 0};
    out->deviation = (out->high - out->low) / 2;
}

/* Bounds about the unbiased estimate, inside those of CM, around the value. */
static void bound_cmm(const weir__matrix *m, const double *values, double total,
                      weir_estimate *out) {
    assert(m->width > 1); /* else there is no noise to take off */
    double unbiased[WEIR__DEPTH_MOST], w = (double)m->width;
    for (unsigned i = 0; i < m->depth; i++) unbiased[i] = values[i] - (total - values[i]) / (w - 1);
    double cm = weir__least(values, m->depth), most = weir__least(m->view->square, m->depth);
    double middle = weir__median(unbiased, m->depth);
    double reach = weir__median_reach(m->depth, CHANCE) * sqrt(most / (w - 1));
    out->low = fmin(out->value, fmax(middle - reach, lower_bound(m, cm, total, most)));
    out->high = fmax(out->value, fmin(middle + reach, cm));
}

static void estimate_cmm(const weir__matrix *m, double *values, double total, bool by_mean,
                         weir_estimate *out) {
    assert(!m->with_sign && !m->conservative);
    double residues[WEIR__DEPTH_MOST], w = (double)m->width;
    if (!by_mean) find_medians(m, m->view);
    for (unsigned i = 0; i < m->depth; i++)
        residues[i] = values[i] - (by_mean ? (total - values[i]) / (w - 1) : m->view->median[i]);
    double cm = weir__least(values, m->depth), square = weir__least(m->view->square, m->depth);
    out->value = weir__clip(weir__median(residues, m->depth), 0, fmax(cm, 0));
    out->deviation = sqrt(fmax(0, square - out->value * out->value) / (w - 1)) *
                     weir__median_deviation(m->depth);
    bound_cmm(m, values, total, out);
}

static void estimate_auto(const weir__matrix *m, double *values, double total, weir_estimate *out) {
    weir__noise_read(&m->view->noise, values, m->depth, out);
    bound_cmm(m, values, total, out);
}

static void estimate_signed(const weir__matrix *m, double *values, weir_estimate *out) {
    assert(m->with_sign);
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
    status = by == WEIR_BY_AUTO && !m->with_sign ? refresh_noise(m, total, err) : refresh(m, err);
    if (status != WEIR_OK) return status;
    if (m->with_sign) estimate_signed(m, values, out);
    else if (by == WEIR_BY_AUTO) estimate_auto(m, values, total, out);
    else estimate_cmm(m, values, total, by == WEIR_BY_CMM_MEAN, out);
    return WEIR_OK;
}

double weir__row_estimate(const weir__matrix *m, unsigned row, uint64_t hash, double total) {
    assert(row < m->depth);
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
    assert(row < a->depth && a->width == b->width && a->depth == b->depth);
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
    assert(m->depth > 0 && m->depth <= WEIR__DEPTH_MOST && w > 0);
    for (unsigned i = 0; i < m->depth; i++) rows[i] = unbiased_square(m, sums[i], total_a, total_b);
    double middle = weir__median(rows, m->depth), row = scale / sqrt(w);
    double reach = weir__median_reach(m->depth, CHANCE) * row;
    double high = m->with_sign ? HUGE_VAL : weir__least(sums, m->depth);
    out->value = by_minimum ? high : m->with_sign ? middle : weir__clip(middle, 0, high);
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
    assert(a->depth == b->depth && a->width == b->width);
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
    assert(error > 0 && confidence > 0 && confidence < 1);
    double d = ceil(-log1p(-confidence) - 1e-9);
    *depth = d < 1 ? 1 : d > WEIR__DEPTH_MOST ? WEIR__DEPTH_MOST : (unsigned)d;
    *width = (uint64_t)ceil(exp(1) / error);
}

void weir__matrix_plan_median(double error, double confidence, uint64_t *width, unsigned *depth) {
    double best = HUGE_VAL;
    assert(error > 0 && confidence < 1);
    for (unsigned d = 1; d <= WEIR__DEPTH_MOST; d += 2) {
        double reach = weir__median_reach(d, 1 - confidence);
        double w = ceil(reach * reach / (error * error));
        if (w * d >= best) continue;
        best = w * d;
        *width = (uint64_t)w;
        *depth = d;
    }
}
