/* likely.c - auto: the count that a key's counters speak for.
 *
 * Question   how often did a key come by, if all counters show what noise there is?
 * Idea       a counter is the key's count plus noise, and the counters of a row show how noise
 *            is distributed (thesis, section 4.2.1). So a key's d counters tell how likely each
 *            count f is: all of counter - f must be noise. auto takes the counters of all rows
 *            (or 4096 of them) for the distribution q, and reads the median of what
 *
 *                prior(f) x q(c1 - f) x ... x q(cd - f),    0 <= f <= CM
 *
 *            says. With a prior that is flat this is, whatever the noise, the least mean
 *            absolute error of any reading that moves along with the key's count, as CM and
 *            CMM do.
 * Spike      But CMM is cut off at 0, which helps it with keys that never came; so 0 itself has
 *            the weight of SPIKE counts, less where the noise is wide, and of SPIKE_SPREAD times
 *            half the distance of its quartiles besides. These two were measured, for the least
 *            regret over skew 0 to 2, several shapes, all keys and the most frequent. The
 *            heavier it is, the better for keys that never came, and the worse for those that
 *            hardly did.
 * Trials     No formula suits every sketch, so this one is tried first. Counters drawn from the
 *            sample, with a count added to each, are a key whose count is known; it is read by
 *            CM, by CMM, and with spikes of 1/8 to 8 times the formula's. They are judged by all
 *            keys, taken to be as many as the records, of which some never came (the counters
 *            at 0 tell how many) and the others came once; and by frequent keys, that came
 *            twice, or as often as half, once and twice the spread of the noise. The spike
 *            nearest to the formula's that has at most ENOUGH times the error of the better of
 *            CM and CMM for all of these is taken; if there is none, that with the least regret.
 *            The draws are the same every time, so the same counters give the same answers.
 * Error      at most 1.1 times that of the better of CM and CMM, for all keys of a domain as
 *            large as the stream and for the most frequent ones: the lab (count-auto) and
 *            tests/model/test_countmin.c. At medium skew half the error of either. There is no
 *            such promise for keys that came just once: where noise is rare, they are read as
 *            0 more often than by CM, in favour of the many that never came.
 * Cost       a key: about a microsecond, more in deep sketches. After each change once: 4096
 *            counters are sorted and the trials made, a few milliseconds (TRIALS_WORK).
 * Source     ours; Ting 2018 reads counters by the likelihood of their noise as well
 */
#include "sketch/likely.h"

#include <assert.h>
#include <math.h>

#include "core/rng.h"

enum {
    SAMPLE_MOST = 4096, /* counters that the noise is read from */
    STRETCHES =
        WEIR__NOISE_STEPS / 4, /* stretches of equally many counters that the noise is cut into */
    STRETCH_LEAST = 4          /* counters of a stretch */
};
enum {
    SEGMENTS_MOST = WEIR__NOISE_STEPS * WEIR__DEPTH_MOST + 2
};                        /* of the likelihood of a count */
#define ROUNDING 0x1p-48  /* of sums of reals, relative */
#define SPIKE 10.0        /* weight of the count 0, in counts, where the noise is narrow */
#define SPIKE_SPREAD 0.75 /* and the part of it that grows with the spread of the noise */

/* ---- the noise ---- */

/* Counters of each row, evenly chosen, in ascending order. Returns how many. */
static size_t sample_noise(const weir__matrix *m, double sample[SAMPLE_MOST]) {
    size_t most = SAMPLE_MOST / m->depth, each = m->width < most ? (size_t)m->width : most, n = 0;
    for (unsigned row = 0; row < m->depth; row++)
        for (size_t i = 0; i < each; i++) {
            uint64_t j = (uint64_t)((double)i * (double)m->width / (double)each);
            sample[n++] = weir__cell_value(m, weir__cell_number(m, row, j));
        }
    weir__sort(sample, n);
    return n;
}

static void add_step(weir__noise *noise, double start, double end, double share) {
    noise->start[noise->steps] = start;
    noise->density[noise->steps++] = share / (end - start);
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
static void spread_noise(weir__noise *noise, const double *sample, size_t n) {
    size_t each = n / STRETCHES > STRETCH_LEAST ? n / STRETCHES : STRETCH_LEAST;
    double rare = 0.5 / (double)n, last = sample[n - 1] + noise->unit, most = 0;
    noise->steps = 0;
    if (sample[0] > 0) add_step(noise, 0, sample[0], rare);
    for (size_t at = 0, end; at < n; at = end) {
        end = stretch_end(sample, n, at, each);
        double next = end < n ? sample[end] : last;
        double stop = equals(sample, n, at) >= each ? fmin(sample[at] + noise->unit, next) : next;
        add_step(noise, sample[at], stop, (double)(end - at) / (double)n);
        if (stop < next) add_step(noise, stop, next, rare);
    }
    add_step(noise, last, last + fabs(last) + noise->unit, rare);
    noise->start[noise->steps] = HUGE_VAL;
    for (unsigned i = 0; i < noise->steps; i++) most = fmax(most, noise->density[i]);
    for (unsigned i = 0; i < noise->steps; i++) noise->density[i] /= most;
}

/* What a record weighs: where weights are no whole numbers, the least that a counter has beyond
 * the least noisy, roundings aside. */
static double least_weight(const weir__matrix *m, const double *sample, size_t n) {
    double quiet = fmax(0, sample[0]), rounding = fabs(sample[n - 1]) * ROUNDING;
    for (size_t i = 0; i < n && m->counter == WEIR__COUNTER_REAL; i++)
        if (sample[i] - quiet > rounding) return sample[i] - quiet;
    return 1;
}

/* ---- reading ---- */

/* How likely the counts of a key are: segments from CM down to 0. */
typedef struct {
    size_t count;
    double top;                 /* CM, where the first begins */
    double from[SEGMENTS_MOST]; /* where they end; the end is not part of them */
    double mass[SEGMENTS_MOST], total;
} likely_counts;

static void weigh_counts(const weir__noise *noise, const double *values, unsigned depth,
                         likely_counts *l) {
    unsigned at[WEIR__DEPTH_MOST] = {0};
    assert(depth > 0 && depth <= WEIR__DEPTH_MOST && noise->steps > 0);
    double top = l->top = fmax(0, weir__least(values, depth)), from;
    l->count = 0;
    l->total = 0;
    for (unsigned i = 0; i < depth; i++)
        while (at[i] + 1 < noise->steps && noise->start[at[i] + 1] <= values[i] - top) at[i]++;
    for (bool zero = top == 0;; zero = top == 0) {
        double mass = zero ? noise->unit + noise->spike : 1;
        from = zero ? -noise->unit : 0;
        for (unsigned i = 0; i < depth; i++) {
            from = fmax(from, values[i] - noise->start[at[i] + 1]);
            mass *= noise->density[at[i]];
        }
        if (!zero) mass *= top - from;
        l->from[l->count] = from;
        l->mass[l->count++] = mass;
        l->total += mass;
        if (zero) return;
        for (unsigned i = 0; i < depth; i++) at[i] += values[i] - noise->start[at[i] + 1] >= from;
        top = from;
    }
}

/* A place among the segments, from the top down. */
typedef struct {
    size_t segment;
    double top, above; /* where the segment begins, and the mass above that */
} place;

static place top_place(const likely_counts *l) { return (place){0, l->top, 0}; }

static void next_segment(const likely_counts *l, place *p) {
    p->above += l->mass[p->segment];
    p->top = l->from[p->segment++];
}

/* The count above which `mass` of the likelihood lies, searched from the place p down; p moves
 * there. */
static double count_below(const weir__noise *noise, const likely_counts *l, double mass, place *p) {
    while (p->segment + 1 < l->count && p->above + l->mass[p->segment] < mass) next_segment(l, p);
    double width = p->top - l->from[p->segment];
    if (width < 2 * noise->unit) return p->top; /* a single count */
    double count = p->top - (mass - p->above) / l->mass[p->segment] * width;
    return noise->unit == 1 ? ceil(count) : count;
}

void weir__noise_read(const weir__noise *noise, const double *values, unsigned depth,
                      weir_estimate *out) {
    likely_counts l;
    weigh_counts(noise, values, depth, &l);
    out->value = out->deviation = l.top;
    if (!(l.total > 0)) return;
    place p = top_place(&l);
    double high = count_below(noise, &l, 0.16 * l.total, &p);
    out->value = count_below(noise, &l, 0.5 * l.total, &p);
    out->deviation = (high - count_below(noise, &l, 0.84 * l.total, &p)) / 2;
}

/* ---- trials ---- */

enum {
    COUNTS_TRIED = 6,      /* true counts: 0, that of a record, and greater ones */
    SPIKES = 13,           /* weights of the count 0 that are tried, half a doubling apart */
    STANDING = SPIKES / 2, /* the formula's, in the middle */
    TRIALS_MOST = 4096,    /* for each of the true counts */
    TRIALS_WORK = 1 << 19  /* steps of all trials together, a few milliseconds */
};
#define ENOUGH 1.02 /* errors above those of the better of CM and CMM that are as good */

/* A true count, and what it was read as: errors summed over the trials. */
typedef struct {
    double count, cm, cmm, by_spike[SPIKES];
} tried_count;

typedef struct {
    const double *sample; /* n counters in ascending order, of which `quiet` have the least noise */
    size_t n, quiet;
    unsigned depth;
    double spike[SPIKES];         /* from light to heavy; the formula's in the middle */
    tried_count of[COUNTS_TRIED]; /* 0, that of a record, and greater ones */
} trials;

/* Quiet counters are drawn less often than they are, by these factors in turn: where most counters
 * are quiet, keys that have none or few are rare, and decide all the same. */
static const double thinning[] = {1, 0.5, 0.25, 0};
enum { THINNINGS = sizeof thinning / sizeof *thinning };

/* The chance to draw this number of quiet counters where this share of all is quiet. */
static double chance_of_quiet(const trials *t, unsigned quiet, double share) {
    return pow(share, quiet) * pow(1 - share, t->depth - quiet);
}

/* Draw the counters of a key that never came. Returns the weight that makes up for the thinning. */
static double draw_counters(const trials *t, double thinned, uint64_t *rng, double *draw) {
    double share = (double)t->quiet / (double)t->n, chance = 0;
    uint64_t least = (uint64_t)(thinned * share * 0x1p63) * 2;
    unsigned quiet = 0;
    for (unsigned i = 0; i < t->depth; i++) {
        bool noisy = weir__rng_next(rng) >= least;
        draw[i] = t->sample[noisy ? t->quiet + weir__rng_below(rng, t->n - t->quiet) : 0];
        quiet += !noisy;
    }
    for (unsigned i = 0; i < THINNINGS; i++)
        chance += chance_of_quiet(t, quiet, thinning[i] * share);
    return chance_of_quiet(t, quiet, share) * THINNINGS / chance;
}

/* Counters of a greater count say the same further up, so one weighing serves all counts:
 * `zero` is where the count 0 would be. */
static void try_spikes(const trials *t, const weir__noise *noise, const likely_counts *l,
                       double zero, double weight, tried_count *tried) {
    place p = top_place(l);
    while (p.segment + 1 < l->count && l->from[p.segment] >= zero) next_segment(l, &p);
    double density = l->mass[p.segment] / (p.top - l->from[p.segment]);
    double above = p.above + density * (p.top - zero), truth = zero + tried->count;
    p = top_place(l);
    for (unsigned i = 0; i < SPIKES; i++) {
        double half = (above + density * (noise->unit + t->spike[i])) / 2;
        double read = half < above ? count_below(noise, l, half, &p) : zero;
        tried->by_spike[i] += weight * fabs(read - truth);
    }
}

/* Read one draw of noise with each of the counts. Returns how much work it was. */
static size_t try_counts(trials *t, const weir__noise *noise, const double *draw, double weight) {
    double values[WEIR__DEPTH_MOST], most = t->of[COUNTS_TRIED - 1].count;
    likely_counts l;
    assert(t->depth <= WEIR__DEPTH_MOST && t->n > 0);
    for (unsigned i = 0; i < t->depth; i++) values[i] = draw[i] + most;
    weigh_counts(noise, values, t->depth, &l);
    double cm = l.top - most;
    double cmm = weir__median(values, t->depth) - most - t->sample[(t->n - 1) / 2];
    for (tried_count *tried = t->of; tried < t->of + COUNTS_TRIED; tried++) {
        tried->cm += weight * fabs(cm);
        tried->cmm += weight * fabs(weir__clip(cmm, -tried->count, cm));
        try_spikes(t, noise, &l, most - tried->count, weight, tried);
    }
    return l.count * (t->depth + COUNTS_TRIED);
}

static void run_trials(trials *t, const weir__noise *noise) {
    double draw[WEIR__DEPTH_MOST];
    uint64_t rng = 0;
    size_t work = 0;
    for (unsigned i = 0; i < TRIALS_MOST && work < TRIALS_WORK; i++) {
        double weight = draw_counters(t, thinning[i % THINNINGS], &rng, draw);
        work += try_counts(t, noise, draw, weight);
    }
}

/* The error with a spike, in errors of the better of CM and CMM, if a share of the keys have the
 * count of a, and the others that of b. */
static double regret(const tried_count *a, double share, const tried_count *b, unsigned spike) {
    double rest = 1 - share, error = share * a->by_spike[spike] + rest * b->by_spike[spike];
    double better = fmin(share * a->cm + rest * b->cm, share * a->cmm + rest * b->cmm);
    return error > 0 ? error / better : 0;
}

static double worst_regret(const trials *t, double never_came, unsigned spike) {
    double worst = regret(&t->of[0], never_came, &t->of[1], spike);
    for (unsigned k = 2; k < COUNTS_TRIED; k++)
        worst = fmax(worst, regret(&t->of[k], 1, &t->of[k], spike));
    return worst;
}

static double choose_spike(const trials *t, double never_came) {
    unsigned best = STANDING;
    double least_regret = HUGE_VAL;
    for (unsigned i = 0; i < SPIKES && least_regret > ENOUGH; i++) {
        unsigned spike = i % 2 ? STANDING + (i + 1) / 2 : STANDING - i / 2;
        double worst = worst_regret(t, never_came, spike);
        if (!(worst < least_regret)) continue;
        least_regret = worst;
        best = spike;
    }
    return t->spike[best];
}

/* ---- learning ---- */

/* The share of the keys that never came, if as many are asked for as there are records. With D
 * keys a counter is left at 0 with a chance of e^(-D/w). */
static double share_never_came(const weir__matrix *m, const trials *t, double records) {
    double zeros = 0;
    for (size_t i = 0; i < t->n; i++) zeros += t->sample[i] == 0;
    double keys = (double)m->width * log((double)t->n / fmax(zeros, 0.5));
    return weir__clip(1 - keys / records, 0, 1);
}

/* The counts and spikes to try, for records of this weight and noise of this spread; ascending. */
static void plan_trials(trials *t, double weight, double spread, bool whole) {
    double spike = SPIKE * weight / (1 + spread / weight) + SPIKE_SPREAD * spread;
    for (int i = 0; i < SPIKES; i++) t->spike[i] = spike * exp2((i - STANDING) / 2.0);
    for (int k = 1; k < COUNTS_TRIED; k++) {
        double count = k < 3 ? k * weight : fmax(k * weight, spread * exp2(k - 4));
        t->of[k].count = whole ? round(count) : count;
    }
    t->quiet = equals(t->sample, t->n, 0);
}

void weir__noise_learn(weir__noise *noise, const weir__matrix *m, double most, double total) {
    double sample[SAMPLE_MOST] = {0};
    size_t n = sample_noise(m, sample);
    assert(n > 0 && n <= SAMPLE_MOST);
    trials t = {.sample = sample, .n = n, .depth = m->depth};
    double weight = least_weight(m, sample, n), spread = (sample[n * 3 / 4] - sample[n / 4]) / 2;
    bool whole = m->counter != WEIR__COUNTER_REAL;
    noise->unit = whole ? 1 : fmax(weight * 1e-9, most * ROUNDING);
    noise->spike = 0;
    spread_noise(noise, sample, n);
    plan_trials(&t, weight, spread, whole);
    if (isfinite(most) && t.quiet < n) run_trials(&t, noise);
    noise->spike = choose_spike(&t, share_never_came(m, &t, total / weight));
}
