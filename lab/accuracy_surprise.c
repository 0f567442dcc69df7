/* accuracy_surprise.c - does the seed decide, does more memory hurt? On the reference
 * streams, at memories that are steps of a half apart, so that every one but the last
 * two has its double among them; ten seeds at each (accuracy_drawn.h has the rules).
 */
#include <stdlib.h>
#include <string.h>

#include "accuracy_drawn.h"
#include "accuracy_surprise.h"
#include "weir_text.h"

/* Of 64 bits for each distinct key; i + 2 is twice i. */
static const double memories[] = {1.0 / 32, 3.0 / 64, 1.0 / 16, 3.0 / 32, 1.0 / 8,
                                  3.0 / 16, 1.0 / 4,  3.0 / 8,  1.0 / 2};
static const double rates[] = {0.1, 0.01, 0.001, 0.000001};

#define MEMORIES (sizeof memories / sizeof *memories)
#define RATES (sizeof rates / sizeof *rates)
#define LEAST_BYTES 1024

_Static_assert(MEMORIES *RATES == ACCURACY_SURPRISES, "the cells of one stream");

typedef struct {
    const accuracy_setup *setup;
    const char *extra;
    const accuracy_stream *stream;
    accuracy_surprise *cells;
} surprise_work;

static void run_cell(void *context, size_t i) {
    const surprise_work *w = context;
    const lab_truth *truth = w->stream->truth;
    accuracy_surprise *c = &w->cells[i];
    c->stream = w->stream->name;
    c->fpr = rates[i % RATES];
    c->bytes = (size_t)((double)truth->distinct * 8 * memories[i / RATES]) + 1;
    if (c->bytes < LEAST_BYTES) c->bytes = LEAST_BYTES;
    accuracy_spread_run(&c->spread, truth, w->stream->hashes, w->setup->filters[0], w->extra,
                        c->bytes, c->fpr);
}

void accuracy_surprise_run(const accuracy_setup *setup, const char *extra,
                           const accuracy_stream *stream, accuracy_surprise *cells) {
    surprise_work work = {setup, extra, stream, cells};
    memset(cells, 0, ACCURACY_SURPRISES * sizeof *cells);
    accuracy_each(ACCURACY_SURPRISES, setup->jobs, run_cell, &work);
    for (size_t i = 2 * RATES; i < ACCURACY_SURPRISES; i++) {
        const accuracy_surprise *half = &cells[i - 2 * RATES];
        cells[i].half = half->spread.mean;
        cells[i].worse = accuracy_worse_with_more(&half->spread, &cells[i].spread);
    }
}

bool accuracy_surprise_holds(const accuracy_surprise *cells, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!cells[i].spread.made || cells[i].spread.wide || cells[i].worse) return false;
    return true;
}

void accuracy_surprise_print(const accuracy_surprise *cells, size_t count, const char *gap) {
    size_t wide = 0, worse = 0;
    char size[32], rate[32];
    for (size_t i = 0; i < count; i++) {
        wide += !cells[i].spread.made || cells[i].spread.wide;
        worse += cells[i].worse;
    }
    printf("%zu cells of the reference streams with %d seeds each: %zu too far apart, %zu worse "
           "than at half the memory\n",
           count, ACCURACY_SEEDS, wide, worse);
    for (size_t i = 0; i < count; i++) {
        const accuracy_spread *s = &cells[i].spread;
        if (!s->wide && !cells[i].worse) continue;
        printf("%s%s, %s, fpr %s: ", gap, cells[i].stream, weir_print_size(size, cells[i].bytes),
               weir_print_rate(rate, cells[i].fpr));
        if (s->wide)
            printf("%.2f%% to %.2f%% by the seed (%.2f points allowed)", 100 * s->low,
                   100 * s->high, 100 * s->room);
        if (cells[i].worse)
            printf("%s%.2f%%, and %.2f%% at half the memory", s->wide ? "; " : "", 100 * s->mean,
                   100 * cells[i].half);
        printf("\n");
    }
}
