/* accuracy_drawn.c - is the filter as good on streams that nobody tuned it on?
 *
 * For each drawn stream, memory and rate (accuracy_recipe.h):
 *
 *   oracle     an exact LRU of M / (log2(1/fpr) + 2) keys, where M is the memory that
 *              the filter really held at the end, tables included
 *   exact,     as in lab_judge.h, by the memory that was asked for
 *   fpr, ...
 *   fn         at most 1.30 x the oracle + 3 points, however little the oracle forgets
 *   seeds      rates of ten seeds lie close together, at that memory and at twice that
 *   memory     twice the memory is never worse by more than half a point
 *
 * A set of streams holds if every stream keeps exact, fpr, memory and seeds, if the
 * median of FN / oracle is at most ACCURACY_MEDIAN and if a share of ACCURACY_WITHIN
 * keeps fn. The median is taken over the streams whose oracle forgets at least
 * ACCURACY_FORGETS of the repeats; the share over all.
 */
#include "accuracy_drawn.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lab_rng.h"
#include "lab_stream.h"

#define SPREAD_POINTS 0.01
#define SPREAD_SHARE 0.15
#define SPREAD_NOISE 6.0
#define MORE_POINTS 0.005
#define MORE_NOISE 4.0
#define WORST_SHOWN 10

/* --- threads ------------------------------------------------------------------------------ */

typedef struct {
    void (*work)(void *, size_t);
    void *context;
    size_t count;
    atomic_size_t next;
} queue;

static void *take_turns(void *context) {
    queue *q = context;
    for (size_t i; (i = atomic_fetch_add(&q->next, 1)) < q->count;) q->work(q->context, i);
    return NULL;
}

void accuracy_each(size_t count, int jobs, void (*work)(void *, size_t), void *context) {
    queue q = {.work = work, .context = context, .count = count};
    pthread_t threads[256];
    int started = 0;
    while (started < jobs - 1 && !pthread_create(&threads[started], NULL, take_turns, &q))
        started++;
    take_turns(&q);
    while (started > 0) pthread_join(threads[--started], NULL);
}

/* --- seeds --------------------------------------------------------------------------------- */

static void run_seed(lab_trial *trial, const lab_truth *truth, const uint64_t *ids,
                     const char *filter, const char *extra, size_t bytes, double fpr,
                     uint64_t seed) {
    char spec[512];
    uint64_t *hashes = malloc((truth->count + 1) * sizeof *hashes);
    memset(trial, 0, sizeof *trial);
    if (!hashes) return;
    for (size_t i = 0; i < truth->count; i++) hashes[i] = lab_hash_id(ids[i], seed);
    snprintf(spec, sizeof spec, "%s:memory=%zu,fpr=%.15f,seed=%llu%s%s", filter, bytes, fpr,
             (unsigned long long)seed, extra ? "," : "", extra ? extra : "");
    lab_trial_run(trial, truth, hashes, spec, fpr);
    free(hashes);
}

void accuracy_spread_of(accuracy_spread *s, const double *rates, size_t count, size_t repeats) {
    double sum = 0;
    memset(s, 0, sizeof *s);
    s->made = true;
    s->low = s->high = rates[0];
    for (size_t i = 0; i < count; i++) {
        sum += rates[i];
        s->low = fmin(s->low, rates[i]);
        s->high = fmax(s->high, rates[i]);
    }
    s->mean = sum / (double)count;
    s->noise = repeats ? sqrt(s->mean * (1 - s->mean) / (double)repeats) : 0;
    s->room = fmax(SPREAD_POINTS, SPREAD_SHARE * s->mean) + SPREAD_NOISE * s->noise;
    s->wide = s->high - s->low > s->room;
}

void accuracy_spread_run(accuracy_spread *s, const lab_truth *truth, const uint64_t *ids,
                         const char *filter, const char *extra, size_t bytes, double fpr) {
    double rates[ACCURACY_SEEDS];
    memset(s, 0, sizeof *s);
    for (uint64_t seed = 1; seed <= ACCURACY_SEEDS; seed++) {
        lab_trial trial;
        run_seed(&trial, truth, ids, filter, extra, bytes, fpr, seed);
        if (!trial.made) return;
        rates[seed - 1] = trial.fnr;
    }
    accuracy_spread_of(s, rates, ACCURACY_SEEDS, truth->repeats);
}

bool accuracy_worse_with_more(const accuracy_spread *less, const accuracy_spread *more) {
    double noise = sqrt((less->noise * less->noise + more->noise * more->noise) / ACCURACY_SEEDS);
    return more->mean > less->mean + MORE_POINTS + MORE_NOISE * noise;
}

/* --- drawn streams -------------------------------------------------------------------------- */

typedef struct {
    const accuracy_drawing *drawing;
    accuracy_drawn *rows;
} drawn_work;

static double fn_allowed(const lab_cell *cell) { return 1.30 * cell->oracle + 0.03; }

double accuracy_drawn_excess(const accuracy_drawn *row) {
    return row->trial.fnr - fn_allowed(&row->cell);
}

static void judge(accuracy_drawn *row, const lab_truth *truth) {
    lab_cell asked;
    lab_cell_init(&asked, truth, 8.0 * (double)row->bytes, row->recipe.fpr, 0);
    lab_cell_init(&row->cell, truth, 8.0 * (double)row->trial.memory, row->recipe.fpr, 0);
    row->broken = lab_judge_alone(&asked, truth, &row->trial) & LAB_BROKE_MUST & ~LAB_BROKE_FN;
    if (row->trial.made && accuracy_drawn_excess(row) > 0) row->broken |= LAB_BROKE_FN;
}

static void run_stream(const accuracy_drawing *d, accuracy_drawn *row, const lab_truth *truth,
                       const uint64_t *ids) {
    row->records = truth->count;
    row->distinct = truth->distinct;
    row->repeats = truth->repeats;
    row->bytes = accuracy_recipe_memory(&row->recipe, truth->distinct);
    run_seed(&row->trial, truth, ids, d->filter, d->extra, row->bytes, row->recipe.fpr, 1);
    judge(row, truth);
    for (size_t i = 0; d->seeds && i < 2; i++)
        accuracy_spread_run(&row->spread[i], truth, ids, d->filter, d->extra, row->bytes << i,
                            row->recipe.fpr);
    row->worse = d->seeds && accuracy_worse_with_more(&row->spread[0], &row->spread[1]);
}

static void run_number(void *context, size_t i) {
    const drawn_work *w = context;
    const accuracy_drawing *d = w->drawing;
    accuracy_drawn *row = &w->rows[i];
    uint64_t *ids = NULL;
    size_t count;
    weir_error err = {0};
    memset(row, 0, sizeof *row);
    accuracy_recipe_draw(&row->recipe, d->seed, d->only_count ? d->only[i] : i + 1);
    weir_status status = lab_stream_collect(&ids, &count, row->recipe.spec, row->recipe.seed, &err);
    lab_truth *truth = status ? NULL : lab_truth_new(ids, count);
    if (!truth) {
        row->broken = LAB_BROKE_MADE;
        snprintf(row->trial.why, sizeof row->trial.why, "%.200s",
                 status ? err.message : "out of memory");
    } else {
        run_stream(d, row, truth, ids);
    }
    lab_truth_free(truth);
    free(ids);
}

size_t accuracy_drawn_run(const accuracy_drawing *d, accuracy_drawn *rows) {
    drawn_work work = {d, rows};
    size_t count = d->only_count ? d->only_count : d->count;
    accuracy_each(count, d->jobs, run_number, &work);
    return count;
}

/* --- what they come to ----------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t count) {
    if (!count) return 0;
    qsort(values, count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void accuracy_drawn_sum_up(accuracy_drawn_sum *sum, const accuracy_drawn *rows, size_t count,
                           bool seeds) {
    double *ratios = malloc((count + 1) * sizeof *ratios);
    size_t within = 0;
    memset(sum, 0, sizeof *sum);
    sum->count = count;
    for (size_t i = 0; i < count; i++) {
        const accuracy_drawn *r = &rows[i];
        within += !(r->broken & (LAB_BROKE_FN | LAB_BROKE_MADE));
        sum->broken += (r->broken & ~LAB_BROKE_FN) != 0;
        if (ratios && r->cell.oracle >= ACCURACY_FORGETS)
            ratios[sum->forgetting++] = r->trial.fnr / r->cell.oracle;
        for (size_t j = 0; seeds && j < 2; j++)
            sum->wide += !r->spread[j].made || r->spread[j].wide;
        sum->worse += r->worse;
    }
    sum->median = ratios ? median_of(ratios, sum->forgetting) : INFINITY;
    sum->within = count ? (double)within / (double)count : 1;
    sum->holds = sum->median <= ACCURACY_MEDIAN && sum->within >= ACCURACY_WITHIN && !sum->broken &&
                 !sum->wide && !sum->worse;
    free(ratios);
}

static int by_excess(const void *a, const void *b) {
    double x = accuracy_drawn_excess(a), y = accuracy_drawn_excess(b);
    return (x < y) - (x > y);
}

void accuracy_drawn_sort(accuracy_drawn *rows, size_t count) {
    qsort(rows, count, sizeof *rows, by_excess);
}

/* --- printing ----------------------------------------------------------------------------------
 */

static void print_row(const accuracy_drawn *r) {
    char size[32], rate[32], words[96];
    printf("  %4zu  FN %6.2f%%  oracle %6.2f%%  %s, fpr %s: %s\n", r->recipe.number,
           100 * r->trial.fnr, 100 * r->cell.oracle, weir_print_size(size, r->bytes),
           weir_print_rate(rate, r->recipe.fpr), r->recipe.spec);
    if (r->broken & ~LAB_BROKE_FN)
        printf("        %s %s\n", lab_judge_words(r->broken, words, sizeof words), r->trial.why);
}

static void print_seeds(const accuracy_drawn *rows, size_t count) {
    char size[32], rate[32];
    for (size_t i = 0; i < count; i++) {
        const accuracy_drawn *r = &rows[i];
        const accuracy_spread *s = r->spread;
        for (size_t j = 0; j < 2; j++)
            if (s[j].wide)
                printf("  %4zu  %.2f%% to %.2f%% by the seed (%.2f points allowed): %s, fpr %s: "
                       "%s\n",
                       r->recipe.number, 100 * s[j].low, 100 * s[j].high, 100 * s[j].room,
                       weir_print_size(size, r->bytes << j), weir_print_rate(rate, r->recipe.fpr),
                       r->recipe.spec);
        if (r->worse)
            printf("  %4zu  %.2f%% with %s, %.2f%% with twice that, fpr %s: %s\n", r->recipe.number,
                   100 * s[0].mean, weir_print_size(size, r->bytes), 100 * s[1].mean,
                   weir_print_rate(rate, r->recipe.fpr), r->recipe.spec);
    }
}

void accuracy_drawn_print(const accuracy_drawing *d, accuracy_drawn *rows, size_t count,
                          double seconds) {
    accuracy_drawn_sum sum;
    accuracy_drawn_sum_up(&sum, rows, count, d->seeds);
    accuracy_drawn_sort(rows, count);
    printf("%zu streams drawn from seed %llu, %s, %.0f s: %s\n", count, (unsigned long long)d->seed,
           d->filter, seconds, sum.holds ? "holds" : "FAIL");
    printf("  FN / oracle: median %.3f over the %zu streams whose oracle lets %g%% of the repeats "
           "pass (at most %g)\n",
           sum.median, sum.forgetting, 100 * ACCURACY_FORGETS, ACCURACY_MEDIAN);
    printf("  %.1f%% within 1.30 x oracle + 3 points (at least %g%%); %zu break another rule\n",
           100 * sum.within, 100 * ACCURACY_WITHIN, sum.broken);
    if (d->seeds)
        printf("  ten seeds, at the memory and at twice that: %zu of %zu too far apart; %zu "
               "streams worse with twice the memory\n",
               sum.wide, 2 * count, sum.worse);
    printf("furthest above 1.30 x oracle + 3 points, or below it by least:\n");
    for (size_t i = 0; i < count; i++)
        if (i < WORST_SHOWN || rows[i].broken) print_row(&rows[i]);
    if (sum.wide || sum.worse) printf("surprises:\n");
    print_seeds(rows, count);
}

void accuracy_drawn_csv(FILE *out, const accuracy_drawing *d, const accuracy_drawn *rows,
                        size_t count) {
    char words[96];
    fprintf(out, "draw_seed,number,records,distinct,bytes,held,fpr,oracle,fn,fp,low,high,room,"
                 "twice,twice_low,twice_high,twice_room,worse,verdict,recipe,stream_seed\n");
    for (size_t i = 0; i < count; i++) {
        const accuracy_drawn *r = &rows[i];
        const accuracy_spread *s = r->spread;
        fprintf(out, "%llu,%zu,%zu,%zu,%zu,%llu,%g,%.6f,%.6f,%.8f,", (unsigned long long)d->seed,
                r->recipe.number, r->records, r->distinct, r->bytes,
                (unsigned long long)r->trial.memory, r->recipe.fpr, r->cell.oracle, r->trial.fnr,
                r->trial.fpr);
        if (d->seeds)
            fprintf(out, "%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f,%d,", s[0].low, s[0].high, s[0].room,
                    s[1].mean, s[1].low, s[1].high, s[1].room, r->worse);
        else fprintf(out, ",,,,,,,,");
        fprintf(out, "\"%s\",\"%s\",%llu\n", lab_judge_words(r->broken, words, sizeof words),
                r->recipe.spec, (unsigned long long)r->recipe.seed);
    }
}
