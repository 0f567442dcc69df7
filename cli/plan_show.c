/* plan_show.c - the answer of `weir plan`: as text, as JSON, as a picture. */
#include "plan_show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "json_out.h"
#include "plot.h"

enum { WIDTH = 76, HEIGHT = 17, LINE = 4096 };

/* --- words ---------------------------------------------------------------------------- */

/* Three digits are plenty for an estimate. */
static char *rate_text(char *buffer, double rate) {
    snprintf(buffer, 32, "%.3g%%", 100 * rate);
    return buffer;
}

/* --filter takes a name, or a name with options. */
static void filter_words(char *out, size_t size, const weir_plan_choice *c) {
    snprintf(out, size, "%s%s%s", c->kind->name, c->options[0] ? ":" : "", c->options);
}

/* The line to run. */
static void command_of(char *out, size_t size, const plan_settings *s, const plan_answer *a) {
    char memory[32], fpr[32], filter[128];
    const weir_plan_choice *best = &a->choices[0];
    size_t used = (size_t)snprintf(out, size, "weir dedup --memory %s --fpr %s",
                                   s->memory ? s->memory : weir_print_size(memory, best->memory),
                                   weir_print_rate(fpr, a->question.fpr));
    filter_words(filter, sizeof filter, best);
    if (best->kind != weir_filter_kind(0) || best->options[0])
        used += (size_t)snprintf(out + used, size - used, " --filter %s", filter);
    if (s->window) {
        used += (size_t)snprintf(out + used, size - used, " --window %s", s->window);
    } else if (s->ask_window) {
        char span[32];
        double seconds = floor((double)a->question.window / a->question.rate);
        if (seconds >= 1) weir_print_duration(span, (int64_t)seconds * 1000000000);
        else snprintf(span, sizeof span, "%lld", (long long)a->question.window);
        used += (size_t)snprintf(out + used, size - used, " --window %s", span);
    }
    if (best->kind->uses_importance && s->from.in.number_field)
        used +=
            (size_t)snprintf(out + used, size - used, " --importance %s", s->from.in.number_field);
    snprintf(out + used, size - used, "%s", s->words);
}

/* --- as text --------------------------------------------------------------------------- */

static void show_sample(const plan_answer *a) {
    const weir_profile_report *r = &a->report;
    char x[32], y[32], z[32];
    printf("sample    %s records, %s distinct keys (%.1f%%)",
           weir_print_count(x, (double)r->covered), weir_print_count(y, r->distinct),
           100 * r->distinct / (double)r->covered);
    if (r->one_in > 1) printf("; one key in %s kept", weir_print_count(z, (double)r->one_in));
    if (r->covered < r->records)
        printf("\n          (the first of %s records)", weir_print_count(z, (double)r->records));
    printf("\nrepeats   half of them with at most %s records between, 90%% with %s,\n",
           weir_print_count(x, r->gap_median), weir_print_count(y, r->gap_90));
    printf("          or with %s and %s distinct keys between\n",
           weir_print_count(x, r->distance_median), weir_print_count(y, r->distance_90));
    if (r->zipf > 0.25) printf("keys      frequencies like Zipf %.2f\n", r->zipf);
    else printf("keys      all about as frequent\n");
    printf("          distinct keys grow as records to the power of %.2f\n", r->growth);
    printf("          drift %.0f%% (100%%: the halves have no key in common)\n", 100 * r->drift);
}

static void show_stream(const plan_settings *s, const plan_answer *a) {
    char x[32], y[32];
    const weir_plan_question *q = &a->question;
    if (a->has_report) {
        show_sample(a);
        if (q->records > PLAN_LONGER * (double)a->report.covered)
            printf("taken on  to %s records: gaps up to half of the sample as measured, longer\n"
                   "          ones by how distinct keys grow; filters forget by distance as in a\n"
                   "          replay of the sample, as crowded as the whole stream will be\n",
                   weir_print_count(x, q->records));
    } else if (q->window && !(q->distinct > 0)) {
        printf("assumed   new keys, of which one in ten comes again within the window\n");
    } else {
        printf("assumed   %s records drawn evenly from %s keys%s\n",
               weir_print_count(x, q->records), weir_print_count(y, q->distinct),
               a->asked.distinct > 0  ? ""
               : a->asked.records > 0 ? " (half as many as records)"
                                      : " (twice as many as fit)");
    }
    if (s->ask_window)
        printf("window    %s records fit, %s at %s/s\n", weir_print_count(x, (double)q->window),
               weir_print_duration(y, (int64_t)((double)q->window / q->rate) * 1000000000),
               weir_print_count((char[32]){0}, q->rate));
}

static void show_choice(const weir_plan_choice *c) {
    char filter[128], fpr[32], fnr[32], low[32], high[32], range[72], formula[32] = "-",
                                                                      speed[32] = "-";
    filter_words(filter, sizeof filter, c);
    if (!c->usable) {
        printf("%-18s not usable: %s\n", filter, c->why);
        return;
    }
    snprintf(range, sizeof range, "%s to %s", rate_text(low, c->fnr_low),
             rate_text(high, c->fnr_high));
    if (c->formula_fnr >= 0) rate_text(formula, c->formula_fnr);
    if (c->keys_per_second > 0) snprintf(speed, sizeof speed, "%.0fM", c->keys_per_second / 1e6);
    printf("%-18s %9s %9s %17s %9s %6u %6s\n", filter, rate_text(fpr, c->fpr),
           rate_text(fnr, c->fnr), range, formula, c->positions, speed);
}

static void show_table(const plan_settings *s, const plan_answer *a) {
    char memory[32];
    printf("\nwith %s of memory%s\n", weir_print_size(memory, a->choices[0].memory),
           s->from.in.number_field ? ", repeats by importance" : "");
    printf("%-18s %9s %9s %17s %9s %6s %6s\n", "filter", "fpr most", "fnr", "fnr within", "formula",
           "places", "keys/s");
    for (size_t i = 0; i < a->count; i++) show_choice(&a->choices[i]);
}

static void fill_plot(plot *p, plot_series series[PLAN_CURVES], const plan_answer *a) {
    for (size_t i = 0; i < a->curves; i++)
        series[i] = (plot_series){a->choices[i].kind->name, a->curve[i]};
    *p = (plot){.title = "false negatives by memory",
                .x_name = "memory",
                .y_name = "false negatives",
                .x_log = true,
                .points = PLAN_POINTS,
                .x = a->memories,
                .x_text = plot_size,
                .y_text = plot_rate,
                .series = series,
                .series_count = a->curves};
}

void plan_show_text(const plan_settings *s, const plan_answer *a) {
    char command[LINE], filter[128];
    const weir_plan_choice *best = &a->choices[0];
    plot p;
    plot_series series[PLAN_CURVES];
    show_stream(s, a);
    show_table(s, a);
    if (a->curves) {
        putchar('\n');
        fill_plot(&p, series, a);
        plot_terminal(stdout, &p, WIDTH, HEIGHT);
    }
    filter_words(filter, sizeof filter, best);
    command_of(command, sizeof command, s, a);
    printf("\nuse %s: %s\n\n    %s\n", filter, best->kind->summary, command);
}

/* --- as JSON ---------------------------------------------------------------------------- */

/* A number that may not be known. */
static void number(json_out *j, const char *name, double value, bool known) {
    json_number(j, name, known ? value : NAN);
}

static void question_json(json_out *j, const plan_settings *s, const plan_answer *a) {
    const weir_plan_question *q = &a->question;
    json_open(j, "stream", '{');
    json_flag(j, "assumed", !a->has_report);
    number(j, "records", q->records, q->records > 0);
    number(j, "distinct", q->distinct, q->distinct > 0);
    number(j, "window_records", (double)q->window, q->window && !q->window_is_time);
    number(j, "window_seconds", (double)q->window * 1e-9, q->window && q->window_is_time);
    if (s->ask_window) json_number(j, "window_fits_seconds", (double)q->window / q->rate);
    number(j, "rate", q->rate, q->rate > 0);
    json_close(j, '}');
}

static void sample_json(json_out *j, const plan_answer *a) {
    const weir_profile_report *r = &a->report;
    if (!a->has_report) {
        json_null(j, "sample");
        return;
    }
    json_open(j, "sample", '{');
    json_count(j, "records", r->records);
    json_count(j, "covered", r->covered);
    json_count(j, "one_in", r->one_in);
    json_count(j, "kept", r->kept);
    json_number(j, "distinct", r->distinct);
    json_number(j, "growth", r->growth);
    json_number(j, "gap_median", r->gap_median);
    json_number(j, "gap_90", r->gap_90);
    json_number(j, "distance_median", r->distance_median);
    json_number(j, "distance_90", r->distance_90);
    json_number(j, "zipf", r->zipf);
    json_number(j, "drift", r->drift);
    json_close(j, '}');
}

static void choice_json(json_out *j, const weir_plan_choice *c) {
    char filter[128];
    filter_words(filter, sizeof filter, c);
    json_open(j, NULL, '{');
    json_text(j, "filter", filter);
    json_flag(j, "usable", c->usable);
    if (c->usable) {
        json_count(j, "memory", c->memory);
        json_count(j, "positions", c->positions);
        json_number(j, "fpr", c->fpr);
        json_number(j, "fnr", c->fnr);
        json_number(j, "fnr_low", c->fnr_low);
        json_number(j, "fnr_high", c->fnr_high);
        number(j, "formula_fnr", c->formula_fnr, c->formula_fnr >= 0);
        number(j, "keys_per_second", c->keys_per_second, c->keys_per_second > 0);
    } else {
        json_text(j, "why", c->why);
    }
    json_close(j, '}');
}

static void curves_json(json_out *j, const plan_answer *a) {
    json_open(j, "curves", '[');
    for (size_t i = 0; i < a->curves; i++) {
        json_open(j, NULL, '{');
        json_text(j, "filter", a->choices[i].kind->name);
        json_open(j, "points", '[');
        for (size_t k = 0; k < PLAN_POINTS; k++) {
            json_open(j, NULL, '{');
            json_print(j, "memory", "%.0f", a->memories[k]);
            json_number(j, "fnr", a->curve[i][k]);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

void plan_show_json(const plan_settings *s, const plan_answer *a) {
    char command[LINE];
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    json_number(&j, "fpr", a->question.fpr);
    question_json(&j, s, a);
    sample_json(&j, a);
    json_open(&j, "choices", '[');
    for (size_t i = 0; i < a->count; i++) choice_json(&j, &a->choices[i]);
    json_close(&j, ']');
    curves_json(&j, a);
    command_of(command, sizeof command, s, a);
    json_text(&j, "recommended", a->choices[0].kind->name);
    json_text(&j, "command", command);
    json_close(&j, '}');
    putchar('\n');
}

int plan_show_svg(const plan_settings *s, const plan_answer *a) {
    plot p;
    plot_series series[PLAN_CURVES];
    fill_plot(&p, series, a);
    return plot_svg(s->plot, &p);
}
