/* pairs_report.c - the answer, for people and for machines.
 *
 *     200,000 records, 20 billion pairs, 2.4 million super-values drawn
 *
 *     agree in          pairs   95% from           to       share
 *     6 of 6            9.68K      9.68K        9.68K  0.0000484%  ##
 *     5 of 6            94.4K       ...
 *     4 or more          950K
 *
 *     about 950 thousand of 20 billion pairs share 4 or more of 6 fields; 0.0047%
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "json_out.h"
#include "pairs_command.h"
#include "plain_text.h"
#include "plot.h"

enum { BAR_MOST = 24 }; /* characters of the longest bar */
#define WHOLE UINT_MAX  /* the last row, in place of a number of values */

/* "1.7 million": three digits and a word. */
static char *in_words(char *buffer, double n) {
    static const char *const words[] = {"", " thousand", " million", " billion", " trillion"};
    unsigned w = 0;
    n = n < 0 ? 0 : n;
    while (n >= 999.5 && w < 4) n /= 1000, w++;
    if (w == 0) snprintf(buffer, 32, "%.0f", n);
    else if (n >= 1e6) snprintf(buffer, 32, "%.3g%s", n, words[w]);
    else snprintf(buffer, 32, "%.*f%s", n < 9.95 ? 1 : 0, n, words[w]);
    char *tail = strstr(buffer, ".0 ");
    if (tail) memmove(tail, tail + 2, strlen(tail + 2) + 1);
    return buffer;
}

static char *share_text(char *buffer, double part, double all) {
    double share = all > 0 && part > 0 ? 100 * part / all : 0;
    snprintf(buffer, 32, "%.*g%%", share >= 0.01 ? 3 : 2, share);
    return buffer;
}

/* A row of the report: name, count, interval. */
typedef struct {
    char name[32];
    double count, low, high;
} line;

static double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static double ordered(const pairs_settings *s, const weir_pairs_answer *a, double count,
                      bool with_self) {
    bool self = s->question == ASK_SELF;
    if (!s->ordered || !self) return count;
    return 2 * count + (with_self ? (double)a->records[0] : 0);
}

static double all_pairs(const pairs_settings *s, const weir_pairs_answer *a) {
    return ordered(s, a, a->pairs, true);
}

static line make_line(const pairs_settings *s, const weir_pairs_answer *a, unsigned k) {
    line l;
    bool total = k == WHOLE;
    double deviation = total ? a->similar_deviation : a->deviation[k];
    double count = total ? a->similar : a->count[k];
    bool self = total || k == a->columns;
    if (total) snprintf(l.name, sizeof l.name, "%u or more", a->threshold);
    else snprintf(l.name, sizeof l.name, "%u of %u", k, a->columns);
    l.count = ordered(s, a, clip(count, 0, a->pairs), self);
    l.low = ordered(s, a, clip(count - 1.96 * deviation, 0, a->pairs), self);
    l.high = ordered(s, a, clip(count + 1.96 * deviation, 0, a->pairs), self);
    return l;
}

/* ---- for people ---- */

static void print_bar(double count, double most) {
    if (count < 0.5 || most <= 0) return;
    double length = BAR_MOST * log1p(count) / log1p(most); /* counts differ by powers of ten */
    int whole = (int)(length + 0.5);
    printf("  ");
    for (int i = 0; i < (whole ? whole : 1); i++) fputs("█", stdout);
}

static void print_line(const line *l, double all, double most, bool bar) {
    char count[32], low[32], high[32], share[32];
    printf("  %-12s %9s %10s %10s %12s", l->name, weir_print_count(count, l->count),
           weir_print_count(low, l->low), weir_print_count(high, l->high),
           share_text(share, l->count, all));
    if (bar) print_bar(l->count, most);
    putchar('\n');
}

static void print_table(const pairs_settings *s, const weir_pairs_answer *a) {
    double most = 0, all = all_pairs(s, a);
    for (unsigned k = a->threshold; k <= a->columns; k++)
        if (make_line(s, a, k).count > most) most = make_line(s, a, k).count;
    printf("\n  %-12s %9s %10s %10s %12s\n", "agree in", s->ordered ? "ordered" : "pairs",
           s->exact ? "from" : "95% from", "to", "share");
    for (unsigned k = a->columns + 1; k-- > a->threshold;) {
        line l = make_line(s, a, k);
        print_line(&l, all, most, true);
    }
    line total = make_line(s, a, WHOLE);
    print_line(&total, all, most, false);
}

static const char *things(const pairs_settings *s) {
    switch (s->rows.from) {
    case WEIR_FROM_SET:
        return "items";
    case WEIR_FROM_TEXT:
        return "min-hashes";
    case WEIR_FROM_COSINE:
        return "projections";
    case WEIR_FROM_COLUMNS:
        break;
    }
    return "fields";
}

/* The sentence that says what it means. */
static void print_sentence(const pairs_settings *s, const weir_pairs_answer *a) {
    char count[32], all[32], share[32];
    line l = make_line(s, a, WHOLE);
    double pairs = all_pairs(s, a);
    printf("\n%s%s of %s %s share %u or more of %u %s; %s\n", s->exact ? "" : "about ",
           in_words(count, l.count), in_words(all, pairs), s->ordered ? "ordered pairs" : "pairs",
           a->threshold, a->columns, things(s), share_text(share, l.count, pairs));
    if (!s->exact && a->similar < 2 * a->similar_deviation && a->pairs > 0) {
        char high[32];
        printf("that is within the error: there may be none, and there are hardly more than %s; "
               "a larger --sample%s brings it closer\n",
               in_words(high, l.high), a->similar_bound > 0 ? " or --memory" : "");
    }
}

/* Print which share of the pairs of each similarity is counted. */
static void print_curve(const pairs_settings *s) {
    static const double at[] = {0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
    bool cosine = s->rows.from == WEIR_FROM_COSINE;
    if (s->rows.from != WEIR_FROM_TEXT && !cosine) return;
    printf("\na pair of %s  ", cosine ? "cosine" : "Jaccard");
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) printf("%7g", at[i]);
    printf("\nis counted in     ");
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        printf("%6.1f%%",
               100 * weir_pairs_curve(cosine, s->columns, s->threshold, s->group, at[i]));
    printf("  of all cases\n");
    if (s->signatures > 1)
        printf("the mean of %u signatures; the interval covers the choice of hashes\n",
               s->signatures);
    else
        printf("the interval leaves out the choice of hashes: another --seed gives another number; "
               "--signatures 5 covers it\n");
}

/* How many have the cosine; else how many of those counted have not, from one in ten. */
static void print_doubt(const pairs_settings *s, const weir_pairs_answer *a,
                        const weir_pairs_doubt *doubt) {
    char below[32], similar[32], all[32], low[32], high[32];
    if (doubt && doubt->told)
        printf("about %s of %s pairs have a cosine of %g or more (95%%: %s to %s)\n",
               in_words(similar, round(doubt->pairs)), in_words(all, a->pairs), s->similarity,
               in_words(low, round(doubt->low)), in_words(high, round(doubt->high)));
    if (!doubt || doubt->told || !(doubt->below > a->similar / 10)) return;
    printf("about %s of the %s counted are less similar than %g\n",
           in_words(below, fmin(doubt->below, a->similar)), in_words(similar, a->similar),
           s->similarity);
}

static void print_examples(const pairs_settings *s, const pairs_examples *e) {
    for (size_t i = 0; i < e->count; i++) {
        const pairs_example *x = &e->list[i];
        unsigned long long a = x->record[0], b = x->record[1];
        if (s->in.file_count == 1) printf("\nagree in %u: records %llu and %llu\n", x->agree, a, b);
        else
            printf("\nagree in %u: record %llu of '%s' and record %llu of '%s'\n", x->agree, a,
                   x->file[0], b, x->file[1]);
        printf("  %s\n  %s\n", x->text[0], x->text[1]);
    }
    if (e->found > e->count)
        printf("\n%zu of the %llu similar pairs that were found; a longer --list shows more\n",
               e->count, (unsigned long long)e->found);
}

static void print_head(const pairs_settings *s, const weir_pairs_answer *a, const uint64_t *dropped,
                       double seconds) {
    char first[32], second[32], pairs[32], values[32];
    printf("%s", in_words(first, (double)a->records[0]));
    if (s->question == ASK_JOIN) printf(" and %s", in_words(second, (double)a->records[1]));
    printf(" records, %s pairs", in_words(pairs, all_pairs(s, a)));
    if (!s->exact) printf(", %s super-values", in_words(values, (double)a->values));
    unsigned long long left_out = dropped[0] + dropped[1];
    if (left_out) printf(", %llu left out", left_out);
    printf("; %.2f s\n", seconds);
}

/* ---- for machines ---- */

static void json_examples(json_out *j, const pairs_examples *e) {
    json_open(j, "examples", '[');
    for (size_t i = 0; i < e->count; i++) {
        const pairs_example *x = &e->list[i];
        json_open(j, NULL, '{');
        json_count(j, "agree", x->agree);
        json_print(j, "similarity", "%.4g", x->similarity);
        json_open(j, "records", '[');
        for (size_t k = 0; k < 2; k++) json_count(j, NULL, x->record[k]);
        json_close(j, ']');
        json_open(j, "files", '[');
        for (size_t k = 0; k < 2; k++) json_text(j, NULL, x->file[k]);
        json_close(j, ']');
        json_open(j, "text", '[');
        for (size_t k = 0; k < 2; k++) json_text(j, NULL, x->text[k]);
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
    json_count(j, "found", e->found);
}

static void print_csv(const pairs_examples *e) {
    puts("agree,similarity,record_a,record_b,file_a,file_b,text_a,text_b");
    for (size_t i = 0; i < e->count; i++) {
        const pairs_example *x = &e->list[i];
        printf("%u,%.4g,%llu,%llu", x->agree, x->similarity, (unsigned long long)x->record[0],
               (unsigned long long)x->record[1]);
        const char *const words[] = {x->file[0], x->file[1], x->text[0], x->text[1]};
        for (size_t k = 0; k < 4; k++) {
            putchar(',');
            plain_text_csv(stdout, words[k], strlen(words[k]));
        }
        putchar('\n');
    }
}

static void json_counts(json_out *j, const pairs_settings *s, const weir_pairs_answer *a) {
    int twice = s->ordered ? 2 : 1;
    json_open(j, "counts", '[');
    for (unsigned k = a->threshold; k <= a->columns; k++) {
        line l = make_line(s, a, k);
        json_open(j, NULL, '{');
        json_count(j, "agree", k);
        json_number(j, "pairs", ordered(s, a, a->count[k], k == a->columns));
        json_number(j, "deviation", a->deviation[k] * twice);
        json_number(j, "low", l.low);
        json_number(j, "high", l.high);
        json_close(j, '}');
    }
    json_close(j, ']');
    line total = make_line(s, a, WHOLE);
    json_number(j, "similar", ordered(s, a, a->similar, true));
    json_number(j, "deviation", a->similar_deviation * twice);
    json_number(j, "bound", a->similar_bound * twice);
    json_number(j, "low", total.low);
    json_number(j, "high", total.high);
    json_number(j, "share", a->pairs > 0 ? total.count / all_pairs(s, a) : 0);
}

static void print_json(const pairs_settings *s, const weir_pairs *pairs, const weir_pairs_answer *a,
                       const uint64_t *dropped, const pairs_examples *e,
                       const weir_pairs_doubt *doubt, double seconds) {
    char spec[SPEC_SIZE];
    weir_pairs_info info;
    json_out j = json_begin(stdout);
    weir_pairs_spec(pairs, spec, sizeof spec);
    weir_pairs_get_info(pairs, &info);
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    json_text(&j, "summary", s->exact ? s->spec : spec);
    json_text(&j, "method",
              s->exact      ? "exact"
              : s->sampled  ? "sample"
              : info.online ? "online"
                            : "offline");
    json_open(&j, "records", '[');
    for (size_t k = 0; k < 2; k++) json_count(&j, NULL, a->records[k]);
    json_close(&j, ']');
    json_count(&j, "dropped", dropped[0] + dropped[1]);
    json_number(&j, "pairs", all_pairs(s, a));
    json_flag(&j, "ordered", s->ordered);
    json_count(&j, "columns", a->columns);
    json_count(&j, "threshold", a->threshold);
    json_count(&j, "values", a->values);
    json_counts(&j, s, a);
    if (doubt) json_number(&j, "below", fmin(doubt->below, fmax(0, a->similar)));
    if (doubt && doubt->told) {
        json_open(&j, "at_least", '{');
        json_number(&j, "similarity", s->similarity);
        json_number(&j, "pairs", doubt->pairs);
        json_number(&j, "low", doubt->low);
        json_number(&j, "high", doubt->high);
        json_close(&j, '}');
    }
    json_number(&j, "memory", (double)info.memory);
    json_number(&j, "disk", (double)info.disk);
    json_number(&j, "seconds", seconds);
    if (e->list) json_examples(&j, e);
    json_close(&j, '}');
    putchar('\n');
}

/* ---- a figure ---- */

static int draw_plot(const pairs_settings *s, const weir_pairs_answer *a) {
    double x[65], y[65];
    size_t n = 0;
    for (unsigned k = a->threshold; k <= a->columns; k++, n++) {
        x[n] = k;
        y[n] = make_line(s, a, k).count;
    }
    plot_series series = {"pairs", y};
    plot p = {.title = "Pairs by how many values they share",
              .x_name = "values in common",
              .y_name = "pairs",
              .bars = true,
              .points = n,
              .x = x,
              .x_text = plot_count,
              .y_text = plot_count,
              .series = &series,
              .series_count = 1};
    return plot_svg(s->plot, &p);
}

int pairs_report(const pairs_settings *s, const weir_pairs *pairs, const weir_pairs_answer *a,
                 const uint64_t *dropped, const pairs_examples *examples,
                 const weir_pairs_doubt *doubt, double seconds) {
    if (s->csv) {
        print_csv(examples);
    } else if (s->json) {
        print_json(s, pairs, a, dropped, examples, doubt, seconds);
    } else {
        print_head(s, a, dropped, seconds);
        print_table(s, a);
        print_sentence(s, a);
        print_curve(s);
        print_doubt(s, a, doubt);
        print_examples(s, examples);
    }
    int code = s->plot ? draw_plot(s, a) : EXIT_DONE;
    return code == EXIT_DONE ? cli_finish_stdout() : code;
}

/* ---- neighbours ---- */

static void neighbours_json_row(json_out *j, const char *name, const weir_neighbours_row *r) {
    json_open(j, name, '{');
    json_number(j, "limit", r->limit);
    json_number(j, "pairs", r->pairs);
    json_number(j, "low", r->low);
    json_number(j, "high", r->high);
    json_close(j, '}');
}

static void neighbours_json(const pairs_settings *s, const weir_neighbours *a, uint64_t dropped,
                            double seconds) {
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    json_text(&j, "method", "neighbours");
    json_count(&j, "records", a->records);
    json_count(&j, "compared", a->compared);
    json_count(&j, "dropped", dropped);
    json_number(&j, "pairs", a->pairs);
    neighbours_json_row(&j, "near", &a->near);
    if (s->outliers) {
        json_open(&j, "outliers", '{');
        json_count(&j, "fewer", s->outliers);
        json_number(&j, "records", a->outliers);
        json_number(&j, "low", a->outliers_low);
        json_number(&j, "high", a->outliers_high);
        json_close(&j, '}');
    }
    json_open(&j, "distribution", '[');
    for (unsigned i = 0; i < a->rows; i++) neighbours_json_row(&j, NULL, &a->row[i]);
    json_close(&j, ']');
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
    putchar('\n');
}

static void neighbours_table(const pairs_settings *s, const weir_neighbours *a) {
    bool exact = a->compared == a->records, by_distance = s->distance > 0;
    printf("\n  %-12s %9s %10s %10s %12s\n", by_distance ? "within" : "agree in", "pairs",
           exact ? "from" : "95% from", "to", "share");
    for (unsigned i = 0; i < a->rows; i++) {
        const weir_neighbours_row *r = &a->row[i];
        line l = {.count = r->pairs, .low = r->low, .high = r->high};
        if (by_distance) snprintf(l.name, sizeof l.name, "%.6g", r->limit);
        else snprintf(l.name, sizeof l.name, "%.0f or more", r->limit);
        print_line(&l, a->pairs, a->pairs, true);
    }
}

static void neighbours_sentences(const pairs_settings *s, const weir_neighbours *a) {
    const char *about = a->compared == a->records ? "" : "about ";
    char count[32], all[32], share[32], low[32], high[32], near[64];
    if (s->distance > 0) snprintf(near, sizeof near, "are within %g", s->distance);
    else
        snprintf(near, sizeof near, "share %u or more of %u %s", s->threshold, s->columns,
                 things(s));
    printf("\n%s%s of %s pairs %s; %s\n", about, in_words(count, a->near.pairs),
           in_words(all, a->pairs), near, share_text(share, a->near.pairs, a->pairs));
    if (!s->outliers) return;
    printf("%s%s of %s records have fewer than %llu such neighbours; %s", about,
           weir_print_count(count, round(a->outliers)), in_words(all, (double)a->records),
           (unsigned long long)s->outliers, share_text(share, a->outliers, (double)a->records));
    if (*about)
        printf(" (95%%: %s to %s)", weir_print_count(low, a->outliers_low),
               weir_print_count(high, a->outliers_high));
    putchar('\n');
}

int pairs_report_neighbours(const pairs_settings *s, const weir_neighbours *a, uint64_t dropped,
                            double seconds) {
    char records[32], pairs[32];
    if (s->json) {
        neighbours_json(s, a, dropped, seconds);
        return cli_finish_stdout();
    }
    printf("%s records, %s pairs", in_words(records, (double)a->records),
           in_words(pairs, a->pairs));
    if (a->compared < a->records)
        printf(", %llu records compared with all", (unsigned long long)a->compared);
    if (dropped) printf(", %llu left out", (unsigned long long)dropped);
    printf("; %.2f s\n", seconds);
    neighbours_table(s, a);
    neighbours_sentences(s, a);
    return cli_finish_stdout();
}

int pairs_report_search(const pairs_settings *s, const char *const *records, size_t count,
                        const weir_pairs_answer *answers) {
    for (size_t i = 0; i < count; i++) {
        const weir_pairs_answer *a = &answers[i];
        char n[32], all[32], low[32], high[32];
        if (s->json) {
            json_out j = json_begin(stdout);
            json_open(&j, NULL, '{');
            json_text(&j, "record", records[i]);
            json_count(&j, "records", a->records[0]);
            json_count(&j, "columns", a->columns);
            json_count(&j, "threshold", a->threshold);
            json_counts(&j, s, a);
            json_close(&j, '}');
            putchar('\n');
            continue;
        }
        printf("about %s of %s records share %u or more of %u %s (95%%: %s to %s): %s\n",
               in_words(n, a->similar + 0.0), in_words(all, a->pairs), a->threshold, a->columns,
               things(s), in_words(low, a->low), in_words(high, a->high), records[i]);
    }
    return cli_finish_stdout();
}
