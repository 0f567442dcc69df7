/* accuracy_recipe.c - draw what a stream is mixed of.
 *
 * Length, sizes and memory are drawn alike in their logarithms, over the ranges below.
 * A stream has one to four parts, the first of which repeats keys; every third stream
 * changes regime half way: to parts of which all are new, or some stay. Every fifth
 * part is on and off in turn.
 *
 * Nothing here knows how a filter works. The ranges were set before any filter was run
 * over what they give, and are not to be changed because of what one does.
 */
#include "accuracy_recipe.h"

#include <stdio.h>
#include <string.h>

#include "lab_math.h"
#include "lab_rng.h"

#define LEAST_RECORDS 100e3
#define MOST_RECORDS 600e3
#define MOST_PARTS 4
#define MOST_WEIGHT 9
#define LEAST_MEMORY 16384.0
#define BEYOND_FIT 1.25
#define PART_TEXT 64

enum { ZIPF, UNIFORM, LOOP, FASHION, AGAIN, BURST, SCAN, KINDS };

/* Whole, alike in the logarithm. */
static unsigned long long between(lab_rng *rng, double low, double high) {
    double power = lab_rng_unit(rng) * lab_log(high / low);
    return (unsigned long long)(low * lab_exp(power));
}

static int one_in(lab_rng *rng, uint64_t n) { return lab_rng_below(rng, n) == 0; }

static void draw_part(char *text, lab_rng *rng, int repeats, double records) {
    switch (lab_rng_below(rng, repeats ? SCAN : KINDS)) {
    case ZIPF: {
        unsigned long long hundredths = 40 + lab_rng_below(rng, 101);
        sprintf(text, "zipf;%llu.%02llu;%llu", hundredths / 100, hundredths % 100,
                between(rng, 5e3, 500e3));
        break;
    }
    case UNIFORM:
        sprintf(text, "uniform;%llu", between(rng, 3e3, 300e3));
        break;
    case LOOP:
        sprintf(text, "loop;%llu", between(rng, 2e3, 200e3));
        break;
    case FASHION:
        sprintf(text, "fashion;%llu;%llu", between(rng, 500, 50e3), between(rng, 1, 20));
        break;
    case AGAIN:
        sprintf(text, "again;%.2f;%llu", (double)between(rng, 2, 50) / 100,
                between(rng, 100, 300e3));
        break;
    case BURST:
        sprintf(text, "burst;%llu", between(rng, 2, 20));
        break;
    default:
        strcpy(text, "scan");
    }
    if (one_in(rng, 5))
        sprintf(text + strlen(text), "~%llu",
                (unsigned long long)records / (2 + lab_rng_below(rng, 19)));
}

static void append(char *to, const char *joint, uint64_t weight, const char *part) {
    sprintf(to + strlen(to), "%s%llu*%s", joint, (unsigned long long)weight, part);
}

static uint64_t draw_weight(lab_rng *rng) { return 1 + lab_rng_below(rng, MOST_WEIGHT); }

void accuracy_recipe_draw(accuracy_recipe *r, uint64_t seed, size_t number) {
    static const double rates[] = {0.1, 0.01, 0.001, 0.000001};
    lab_rng rng = lab_rng_of(seed, 1000 + number);
    char parts[MOST_PARTS][PART_TEXT];
    unsigned long long n = between(&rng, LEAST_RECORDS, MOST_RECORDS);
    memset(r, 0, sizeof *r);
    r->number = number;
    sprintf(r->spec, "mix:n=%llu,parts=", n);
    size_t count = 1 + lab_rng_below(&rng, MOST_PARTS);
    for (size_t i = 0; i < count; i++) {
        draw_part(parts[i], &rng, i == 0, (double)n);
        append(r->spec, i ? "+" : "", draw_weight(&rng), parts[i]);
    }
    if (one_in(&rng, 3)) {
        int some_stay = one_in(&rng, 2);
        count = 1 + lab_rng_below(&rng, MOST_PARTS);
        for (size_t i = 0; i < count; i++) {
            int stays = some_stay && i == 0;
            if (!stays) draw_part(parts[i], &rng, i == 0, (double)n);
            append(r->spec, i ? "+" : "/", draw_weight(&rng), parts[i]);
        }
    }
    r->fpr = rates[lab_rng_below(&rng, 4)];
    r->position = lab_rng_unit(&rng);
    r->seed = lab_rng_next(&rng);
}

size_t accuracy_recipe_memory(const accuracy_recipe *r, size_t distinct) {
    double fit = BEYOND_FIT * (double)distinct * (2 - lab_log(r->fpr) / lab_log(2)) / 8;
    double most = fit > 2 * LEAST_MEMORY ? fit : 2 * LEAST_MEMORY;
    return (size_t)(LEAST_MEMORY * lab_exp(r->position * lab_log(most / LEAST_MEMORY)));
}
