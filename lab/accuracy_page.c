/* accuracy_page.c - the page docs/accuracy.md, printed from what was measured.
 *
 * Every number and every verdict on the page comes from the run. The text says how to
 * read them and is the same for every run.
 */
#include "accuracy_page.h"
#include "weir_text.h"

#include <stdlib.h>
#include <string.h>

#define WORST_SHOWN 10
#define PAGE_FPR 0.01  /* of the table */
#define PAGE_BITS 1.1  /* a key: the rows with at most so many */
#define MOST_MEAN 0.97 /* of FN / oracle */
#define MOST_ABOVE 8   /* cells above 1.30 x oracle + 3 points */

void accuracy_page_head(const accuracy_setup *setup) {
    printf("# Error rates\n\n"
           "What `make accuracy` prints; weir %s, seed %llu. Nothing on this page is written by "
           "hand, and the rates\n"
           "are the same on every machine. `make accuracy` also writes all cells to "
           "`build/accuracy-cells.csv`.\n\n"
           "A filter makes two kinds of errors. A **false negative** is a repeat that it lets "
           "pass because it has\n"
           "forgotten the key; the rate is a share of all repeats. A **false positive** is a new "
           "key that it calls seen;\n"
           "the rate is a share of all first occurrences, and `fpr` is the bound on it. The "
           "**oracle** is an exact LRU\n"
           "that remembers M/(log2(1/fpr)+2) keys, about what a practical filter can hold in M "
           "bits. It is no lower\n"
           "limit: a filter that knows better than LRU what to keep can be below it.\n\n",
           weir_version(), (unsigned long long)setup->seed);
}

/* --- reference streams ------------------------------------------------------------------ */

static void table_head(const accuracy_setup *setup) {
    printf("## Reference streams\n\n"
           "Repeats let through in %%, at an fpr of %g%% and one bit of memory for each distinct "
           "key: far too little,\nso that what a filter forgets decides.\n\n| stream | memory |",
           100 * PAGE_FPR);
    for (size_t i = 0; i < setup->filter_count; i++) printf(" %s |", setup->filters[i]);
    printf(" oracle |\n|---|--:|");
    for (size_t i = 0; i <= setup->filter_count; i++) printf("--:|");
    printf("\n");
}

static void table_row(const accuracy_setup *setup, const accuracy_row *row) {
    char size[32];
    printf("| %s | %s |", row->stream, weir_print_size(size, row->bytes));
    for (size_t i = 0; i < setup->filter_count; i++) printf(" %.2f |", 100 * row->trials[i].fnr);
    printf(" %.2f |\n", 100 * row->cell.oracle);
}

static bool forgets(const accuracy_row *row) { return row->cell.oracle >= LAB_OFF_FIT; }

static bool table_sum(const accuracy_setup *setup, const accuracy_row *rows, size_t count) {
    size_t cells = 0, exact = 0, bound = 0, above = 0, other = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        exact += !(rows[i].broken & LAB_BROKE_EXACT);
        bound += !(rows[i].broken & LAB_BROKE_FPR);
        above += (rows[i].broken & LAB_BROKE_FN) != 0;
        other += (rows[i].broken & (LAB_BROKE_MEMORY | LAB_BROKE_MADE)) != 0;
        if (!forgets(&rows[i])) continue;
        sum += rows[i].trials[0].fnr / rows[i].cell.oracle;
        cells++;
    }
    printf("\nOver memories of %s of 64 bits a key and bounds of %s, %zu cells, of `%s`:\n\n",
           setup->memories, setup->rates, count, setup->filters[0]);
    printf("- no error at all where the keys take at most 60%% of the memory: %zu of %zu cells\n",
           exact, count);
    printf("- false positives within the bound in every stretch: %zu of %zu cells\n", bound, count);
    printf("- false negatives / oracle, where the oracle has at least 5%%: %.3f on average over "
           "%zu cells (at most %g)\n",
           cells ? sum / (double)cells : 1, cells, MOST_MEAN);
    printf("- above 1.30 x oracle + 3 points (or above 12%% where the oracle has less than 5%%): "
           "%zu cells%s\n",
           above, above ? ":" : "");
    return exact == count && bound == count && !other && above <= MOST_ABOVE &&
           sum <= MOST_MEAN * (double)cells;
}

static void table_above(const accuracy_row *rows, size_t count) {
    char size[32], rate[32];
    for (size_t i = 0; i < count; i++) {
        const accuracy_row *r = &rows[i];
        if (!(r->broken & LAB_BROKE_FN)) continue;
        printf("  - %s, %s, fpr %s: %.2f%%, oracle %.2f%%\n", r->stream,
               weir_print_size(size, r->bytes), weir_print_rate(rate, r->cell.fpr),
               100 * r->trials[0].fnr, 100 * r->cell.oracle);
    }
}

bool accuracy_page_table(const accuracy_setup *setup, const accuracy_row *rows, size_t count) {
    table_head(setup);
    for (size_t i = 0; i < count; i++)
        if (rows[i].cell.fpr == PAGE_FPR && rows[i].bits_per_key < PAGE_BITS)
            table_row(setup, &rows[i]);
    bool holds = table_sum(setup, rows, count);
    table_above(rows, count);
    return holds;
}

/* --- drawn streams -------------------------------------------------------------------------- */

void accuracy_page_draws(size_t count) {
    printf("\n## Streams that no filter was tuned on\n\n"
           "Streams drawn from a seed: mixtures of skewed and even draws, loops over an array, "
           "scans, fashions that come\n"
           "and go, repeats of at-least-once delivery at every distance, bursts, and changes of "
           "regime half way, each at\n"
           "a memory and a bound drawn too. The oracle has the memory that the filter really "
           "holds. Seed 1 is for tuning,\nthe others are only reported. `weir-accuracy --drawn "
           "%zu --draw-seed 2` repeats a row.\n\n"
           "| seed | streams | FN / oracle, median (at most %g) | within 1.30 x + 3 points (at "
           "least %g%%) | other rules broken | seeds too far apart | worse with twice the memory "
           "| verdict |\n|--:|--:|--:|--:|--:|--:|--:|---|\n",
           count, ACCURACY_MEDIAN, 100 * ACCURACY_WITHIN);
}

void accuracy_page_draw(const accuracy_drawing *d, const accuracy_drawn_sum *sum) {
    printf("| %llu | %zu | %.3f | %.1f%% | %zu |", (unsigned long long)d->seed, sum->count,
           sum->median, 100 * sum->within, sum->broken);
    if (d->seeds) printf(" %zu of %zu | %zu |", sum->wide, 2 * sum->count, sum->worse);
    else printf(" - | - |");
    printf(" %s |\n", sum->holds ? "holds" : "fails");
    fflush(stdout);
}

void accuracy_page_worst(const accuracy_drawing *d, accuracy_drawn *rows, size_t count) {
    char size[32], rate[32];
    printf("\nThe %d furthest above (or least below) 1.30 x oracle + 3 points, of seed %llu:\n\n"
           "| no. | FN | oracle | memory | fpr | stream |\n|--:|--:|--:|--:|--:|---|\n",
           WORST_SHOWN, (unsigned long long)d->seed);
    accuracy_drawn_sort(rows, count);
    for (size_t i = 0; i < count && i < WORST_SHOWN; i++)
        printf("| %zu | %.2f | %.2f | %s | %s | `%s` |\n", rows[i].recipe.number,
               100 * rows[i].trial.fnr, 100 * rows[i].cell.oracle,
               weir_print_size(size, rows[i].bytes), weir_print_rate(rate, rows[i].recipe.fpr),
               strchr(rows[i].recipe.spec, ':') + 1);
}

/* --- the rest ------------------------------------------------------------------------------------
 */

void accuracy_page_surprises(const accuracy_surprise *cells, size_t count) {
    printf("\n## No surprises\n\n"
           "The same stream with %d seeds: the rates lie within 1 point or 15%% of each other, "
           "whichever is more, and six\nstandard deviations of their noise. At twice the memory "
           "the mean is at most half a point higher.\n\n",
           ACCURACY_SEEDS);
    accuracy_surprise_print(cells, count, "- ");
}

void accuracy_page_end(double seconds) { printf("\nAll of this took %.0f s.\n", seconds); }
