/* accuracy_print.c - the table of weir-accuracy: for people, for docs, as CSV. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "accuracy.h"
#include "weir_text.h"

#define WORST_SHOWN 12
#define FAILURES_SHOWN 60

static void print_machine(void) {
    struct utsname system;
    char line[256], *model = NULL;
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info))
        if (!strncmp(line, "model name", 10) && (model = strchr(line, ':'))) break;
    if (info) fclose(info);
    if (model) model[strcspn(model, "\n")] = 0;
    if (!uname(&system)) printf("machine: %s %s, ", system.sysname, system.machine);
    printf("%s, %ld cores; compiler " __VERSION__ "\n", model ? model + 2 : "unknown processor",
           sysconf(_SC_NPROCESSORS_ONLN));
}

void accuracy_print_head(const accuracy_setup *setup) {
    if (setup->form == ACCURACY_CSV) return;
    const char *gap = setup->form == ACCURACY_MARKDOWN ? "\n" : "";
    printf("weir %s, error rates on reference streams%s; seed %llu, %d jobs\n%s", weir_version(),
           setup->quick ? " (quick sizes)" : "", (unsigned long long)setup->seed, setup->jobs, gap);
    print_machine();
    printf("%sFN: repeats called NEW, of all repeats. FP: first occurrences called SEEN, of all\n"
           "firsts; worst: the same in the worst of %d equal stretches. All in %%.\n"
           "oracle, limit: an exact LRU of M/(log2(1/fpr)+2) and of M/log2(1/fpr) keys.\n"
           "x oracle, x limit: FN of %s divided by theirs.\n"
           "verdict: aim (at most 1.10 x oracle + 1 point, and every must), must (every must),\n"
           "FAIL and what: exact (an error although the keys take at most 60%% of the memory),\n"
           "fpr (more false positives than the bound explains, in some stretch; false alarm\n"
           "%g a cell, over %d stretches), fn (above 1.30 x oracle + 3 points; above 12%% where\n"
           "the oracle is below 5%%), oracle (above it on a uniform or Zipf stream, where it is\n"
           "at least 5%%), rival (not below one, at equal memory and an fpr no higher than the\n"
           "rival's measured one), 3/4 (above 0.75 x such a rival of over 20%%, on real streams\n"
           "and Zipf >= 0.9, where the limit allows it), memory. A ~ marks an FN above an oracle\n"
           "of less than 5%% on a uniform or Zipf stream. Comparisons with the oracle and rivals\n"
           "allow %g standard deviations.\n%s",
           gap, LAB_TRIAL_SHOWN, setup->filters[0], LAB_FALSE_ALARM, 2 * LAB_TRIAL_STRETCHES - 1,
           LAB_NOISE, gap);
}

void accuracy_print_stream(const accuracy_setup *setup, const accuracy_stream *s) {
    if (setup->form == ACCURACY_CSV) return;
    printf("%s%s = %s: %zu records, %zu distinct (%.1f%%)\n",
           setup->form == ACCURACY_MARKDOWN ? "- " : "", s->name, s->spec, s->truth->count,
           s->truth->distinct, 100.0 * (double)s->truth->distinct / (double)s->truth->count);
}

/* A rate in %, to three figures where it is small. */
static const char *percent(char *buffer, double rate) {
    double p = 100 * rate;
    if (p == 0) strcpy(buffer, "0");
    else if (p >= 0.1) sprintf(buffer, "%.2f", p);
    else sprintf(buffer, "%.2g", p);
    return buffer;
}

static const char *ratio(char *buffer, double own, double other) {
    if (other > 0) sprintf(buffer, "%.2f", own / other);
    else strcpy(buffer, own > 0 ? "inf" : "1.00");
    return buffer;
}

static void csv_columns(FILE *out, const accuracy_setup *setup) {
    fprintf(out, "stream,bytes,bits_per_key,fpr,oracle,limit");
    for (size_t i = 0; i < setup->filter_count; i++) {
        const char *f = setup->filters[i];
        fprintf(out, ",%s_fn,%s_fp,%s_worst,%s_surprise,%s_memory,%s_seconds", f, f, f, f, f, f);
        if (i) fprintf(out, ",met_%s_fpr,met_%s_fn,met_%s_fp", f, f, f);
    }
    fprintf(out, ",must,aim,verdict\n");
}

static void csv_row(FILE *out, const accuracy_setup *setup, const accuracy_row *row,
                    const char *verdict) {
    fprintf(out, "%s,%zu,%.4f,%g,%.8f,%.8f", row->stream, row->bytes, row->bits_per_key,
            row->cell.fpr, row->cell.oracle, row->cell.limit);
    for (size_t i = 0; i < setup->filter_count; i++) {
        const lab_trial *t = &row->trials[i], *m = &row->matched[i];
        if (t->made)
            fprintf(out, ",%.8f,%.9f,%.9f,%.3g,%llu,%.4f", t->fnr, t->fpr, t->worst, t->surprise,
                    (unsigned long long)t->memory, t->seconds);
        else fprintf(out, ",,,,,,");
        if (!i) continue;
        if (m->made) fprintf(out, ",%g,%.8f,%.9f", m->bound, m->fnr, m->fpr);
        else fprintf(out, ",,,");
    }
    fprintf(out, ",%.8f,%.8f,\"%s\"\n", lab_judge_must(&row->cell), lab_judge_aim(&row->cell),
            verdict);
}

/* A cell of the table: padded in text, between bars in Markdown. */
static void put(const accuracy_setup *setup, int width, const char *text) {
    if (setup->form == ACCURACY_MARKDOWN) printf(" %s |", text);
    else printf("%*s ", width, text);
}

static const int own_widths[] = {-16, 8, 8, 7, 9, 8, 8}, end_widths[] = {7, 7, 8, 7, -6};
#define RIVAL_WIDTH 18

void accuracy_print_columns(const accuracy_setup *setup) {
    const char *own[] = {"stream", "memory", "bits/key", "fpr", NULL, "FP", "worst"};
    const char *end[] = {"oracle", "limit", "x oracle", "x limit", "verdict"};
    char name[64];
    if (setup->form == ACCURACY_CSV) {
        csv_columns(stdout, setup);
        return;
    }
    snprintf(name, sizeof name, "%s FN", setup->filters[0]);
    own[4] = name;
    printf(setup->form == ACCURACY_MARKDOWN ? "\n|" : "\n");
    for (size_t i = 0; i < 7; i++) put(setup, own_widths[i], own[i]);
    for (size_t i = 1; i < setup->filter_count; i++) {
        char rival[64];
        snprintf(rival, sizeof rival, "%s FN (FP)", setup->filters[i]);
        put(setup, RIVAL_WIDTH, rival);
    }
    for (size_t i = 0; i < 5; i++) put(setup, end_widths[i], end[i]);
    if (setup->form == ACCURACY_MARKDOWN) printf("\n|");
    for (size_t i = 0; setup->form == ACCURACY_MARKDOWN && i < setup->filter_count + 11; i++)
        printf("---|");
    printf("\n");
}

static void table_row(const accuracy_setup *setup, const accuracy_row *row, const char *verdict) {
    const lab_trial *own = &row->trials[0];
    char text[128], fp[32];
    if (setup->form == ACCURACY_MARKDOWN) printf("|");
    put(setup, own_widths[0], row->stream);
    put(setup, own_widths[1], weir_print_size(text, row->bytes));
    snprintf(text, sizeof text, "%.2f", row->bits_per_key);
    put(setup, own_widths[2], text);
    put(setup, own_widths[3], weir_print_rate(text, row->cell.fpr));
    put(setup, own_widths[4], percent(text, own->fnr));
    put(setup, own_widths[5], percent(text, own->fpr));
    put(setup, own_widths[6], percent(text, own->worst));
    for (size_t i = 1; i < setup->filter_count; i++) {
        const lab_trial *t = &row->trials[i];
        percent(text, t->fnr);
        snprintf(text + strlen(text), 64, " (%s)", percent(fp, t->fpr));
        put(setup, RIVAL_WIDTH, t->made ? text : "-");
    }
    put(setup, end_widths[0], percent(text, row->cell.oracle));
    put(setup, end_widths[1], percent(text, row->cell.limit));
    put(setup, end_widths[2], ratio(text, own->fnr, row->cell.oracle));
    put(setup, end_widths[3], ratio(text, own->fnr, row->cell.limit));
    snprintf(text, sizeof text, "%s%s", verdict, row->broken & LAB_ABOVE_TIGHT ? " ~" : "");
    put(setup, end_widths[4], text);
    printf("\n");
}

void accuracy_print_row(const accuracy_setup *setup, const accuracy_row *row) {
    char buffer[96];
    const char *verdict = lab_judge_words(row->broken, buffer, sizeof buffer);
    if (setup->form == ACCURACY_CSV) csv_row(stdout, setup, row, verdict);
    else table_row(setup, row, verdict);
}

void accuracy_print_csv(FILE *out, const accuracy_setup *setup, const accuracy_row *rows,
                        size_t count) {
    char buffer[96];
    csv_columns(out, setup);
    for (size_t i = 0; i < count; i++)
        csv_row(out, setup, &rows[i], lab_judge_words(rows[i].broken, buffer, sizeof buffer));
}

/* --- summary ------------------------------------------------------------------- */

static double excess(const accuracy_row *row) {
    return row->trials[0].fnr - lab_judge_aim(&row->cell);
}

static int by_excess(const void *a, const void *b) {
    double x = excess(*(const accuracy_row *const *)a), y = excess(*(const accuracy_row *const *)b);
    return (x < y) - (x > y);
}

static void print_worst(const accuracy_setup *setup, const accuracy_row *rows, size_t count) {
    const accuracy_row **order = malloc(count * sizeof(const accuracy_row *));
    char size[32], rate[32];
    if (!order) return;
    for (size_t i = 0; i < count; i++) order[i] = &rows[i];
    qsort(order, count, sizeof(const accuracy_row *), by_excess);
    printf("furthest above the aim of 1.10 x oracle + 1 point:\n");
    for (size_t i = 0; i < count && i < WORST_SHOWN && excess(order[i]) > 0; i++)
        printf("%s%s, %s, fpr %s: FN %.2f%%, oracle %.2f%%, limit %.2f%%\n",
               setup->form == ACCURACY_MARKDOWN ? "- " : "  ", order[i]->stream,
               weir_print_size(size, order[i]->bytes), weir_print_rate(rate, order[i]->cell.fpr),
               100 * order[i]->trials[0].fnr, 100 * order[i]->cell.oracle,
               100 * order[i]->cell.limit);
    free(order);
}

static void print_failures(const accuracy_setup *setup, const accuracy_row *rows, size_t count) {
    char buffer[96], size[32], rate[32];
    const char *gap = setup->form == ACCURACY_MARKDOWN ? "- " : "  ";
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const accuracy_row *r = &rows[i];
        if (!(r->broken & LAB_BROKE_MUST)) continue;
        if (++shown > FAILURES_SHOWN) continue;
        printf("%s%s, %s, fpr %s: %s", gap, r->stream, weir_print_size(size, r->bytes),
               weir_print_rate(rate, r->cell.fpr),
               lab_judge_words(r->broken, buffer, sizeof buffer));
        if (r->broken & LAB_BROKE_MADE) printf(" (%s)", r->trials[0].why);
        if (r->broken & LAB_BROKE_FN)
            printf(" (FN %.2f%%, must %.2f%%)", 100 * r->trials[0].fnr,
                   100 * lab_judge_must(&r->cell));
        if (r->broken & LAB_BROKE_ORACLE)
            printf(" (FN %.2f%%, oracle %.2f%%)", 100 * r->trials[0].fnr, 100 * r->cell.oracle);
        for (size_t j = 1; j < setup->filter_count; j++)
            if (r->lost_to >> j & 1)
                printf(" (%s %.2f%% at fpr %.3g%%, %s %.2f%%)", setup->filters[j],
                       100 * r->trials[j].fnr, 100 * r->trials[j].fpr, setup->filters[0],
                       100 * r->matched[j].fnr);
        printf("\n");
    }
    if (shown > FAILURES_SHOWN) printf("%sand %zu more\n", gap, shown - FAILURES_SHOWN);
}

/* Geometric means of the ratios, over the cells where the reference forgets. */
static void print_closeness(const accuracy_row *rows, size_t count) {
    double to_oracle = 0, to_limit = 0, points = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const lab_cell *c = &rows[i].cell;
        double own = rows[i].trials[0].fnr;
        if (c->limit < LAB_OFF_FIT || own <= 0) continue;
        to_oracle += log(own / c->oracle);
        to_limit += log(own / c->limit);
        points += own - c->limit;
        n++;
    }
    if (!n) return;
    printf("where the limit is at least 5%% (%zu cells): FN is %.3f x the oracle's, %.3f x the "
           "limit's (geometric means); %+.2f points from the limit on average\n",
           n, exp(to_oracle / (double)n), exp(to_limit / (double)n), 100 * points / (double)n);
}

void accuracy_print_summary(const accuracy_setup *setup, const accuracy_row *rows, size_t count,
                            double seconds) {
    size_t must = 0, aim = 0, fn_must = 0, fn_aim = 0, tight = 0;
    if (setup->form == ACCURACY_CSV) return;
    for (size_t i = 0; i < count; i++) {
        unsigned broken = rows[i].broken;
        must += !(broken & LAB_BROKE_MUST);
        aim += !(broken & (LAB_BROKE_MUST | LAB_MISSED_AIM));
        fn_must += !(broken & LAB_BROKE_FN);
        fn_aim += !(broken & LAB_MISSED_AIM);
        tight += (broken & LAB_ABOVE_TIGHT) != 0;
    }
    printf("\n%zu cells in %.0f s: %zu meet every must, %zu of them the aim too; FN alone: %zu the "
           "must, %zu the aim; %zu marked ~\n",
           count, seconds, must, aim, fn_must, fn_aim, tight);
    print_closeness(rows, count);
    if (must < count) printf("cells that miss a must:\n");
    print_failures(setup, rows, count);
    if (fn_aim < count) print_worst(setup, rows, count);
}
