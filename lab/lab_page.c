/* lab_page.c - report.html: one page with everything in it.
 *
 * No network and no scripts: figures are SVG inside the page, data are links that
 * carry it (data: URIs). It reads on a phone (one column, wide tables scroll), in
 * print, in the light and in the dark.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_run.h"

static const char style[] =
    ":root{--paper:#fff;--ink:#1d2530;--soft:#5b6675;--line:#d4dae2;--tint:#f4f6f9;"
    "--good:#12733a;--mild:#8a5a00;--bad:#b3261e;color-scheme:light dark}\n"
    "@media(prefers-color-scheme:dark){:root{--paper:#14181e;--ink:#e4e8ee;--soft:#9aa6b5;"
    "--line:#39424f;--tint:#1c222a;--good:#5fd38d;--mild:#f0b94b;--bad:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--paper);color:var(--ink);"
    "font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\n"
    "main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.5rem 0}h2{font-size:1.25rem;margin:0}\n"
    "section{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:1.5rem}\n"
    "a{color:inherit}p{max-width:46rem}.small{color:var(--soft);font-size:.88rem}\n"
    ".verdict{display:inline-block;border:1px solid;border-radius:1rem;padding:0 .7rem;"
    "font-size:.85rem;font-weight:600;white-space:nowrap}\n"
    ".v2{color:var(--good)}.v1{color:var(--mild)}.v0{color:var(--bad)}\n"
    "figure{margin:1rem 0}figure svg{width:100%;height:auto;max-width:47.5rem;display:block}\n"
    "figcaption{font-weight:600;max-width:46rem}\n"
    ".wide{overflow-x:auto;margin:1rem 0}\n"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:bottom}th{font-weight:600}.n{text-align:right;white-space:nowrap}"
    "th.n{white-space:normal}.p{color:var(--soft)}.in{color:var(--good)}.off{color:var(--mild)}\n"
    "pre{background:var(--tint);padding:.6rem .8rem;overflow-x:auto;border-radius:.3rem;"
    "font-size:.88rem}ul.claims{list-style:none;padding:0}ul.claims li{margin:.5rem 0;"
    "padding-left:1.5rem;text-indent:-1.5rem;max-width:46rem}\n"
    ".yes{color:var(--good)}.no{color:var(--bad)}\n"
    "@page{margin:14mm}@page sheet{size:landscape}\n"
    "@media print{:root{color-scheme:light}body{font-size:10pt}main{max-width:none;padding:0}"
    "h2,section>p{break-after:avoid}figure,tr,li,pre{break-inside:avoid}"
    "figure svg{max-width:none;max-height:170mm}pre{white-space:pre-wrap}"
    ".wide{overflow:visible}table{font-size:7.5pt}th,td{padding:.1rem .4rem .1rem 0}"
    ".many{page:sheet}.many table{font-size:6.5pt}nav{break-after:page}}\n";

static void put_paragraph(const char *class, const char *before, const char *text, FILE *out) {
    fprintf(out, "<p%s%s%s>%s", *class ? " class=\"" : "", class, *class ? "\"" : "", before);
    lab_html_text(text, out);
    fputs("</p>\n", out);
}

static void put_verdict(lab_verdict verdict, FILE *out) {
    fprintf(out, "<span class=\"verdict v%d\">%s</span>", (int)verdict, lab_verdict_text(verdict));
}

static void put_base64(const char *text, size_t length, FILE *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        unsigned long word = (unsigned long)(unsigned char)text[i] << 16;
        if (i + 1 < length) word |= (unsigned long)(unsigned char)text[i + 1] << 8;
        if (i + 2 < length) word |= (unsigned char)text[i + 2];
        fputc(digits[word >> 18 & 63], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(i + 1 < length ? digits[word >> 6 & 63] : '=', out);
        fputc(i + 2 < length ? digits[word & 63] : '=', out);
    }
}

static void put_data_link(const lab_result *r, FILE *out) {
    char *csv = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&csv, &length);
    if (!text) return;
    lab_table_csv(r, text);
    if (!fclose(text)) {
        fprintf(out, "<p class=\"small\"><a download=\"%s.csv\" href=\"data:text/csv;base64,",
                r->experiment->name);
        put_base64(csv, length, out);
        fprintf(out, "\">Data of %s (CSV, %zu bytes)</a></p>\n", r->experiment->name, length);
    }
    free(csv);
}

/* The drawing without its XML head; nothing if it was not drawn. */
static bool put_svg(const char *path, FILE *out) {
    char line[4096];
    bool inside = false;
    FILE *in = fopen(path, "r");
    if (!in) return false;
    while (fgets(line, sizeof line, in)) {
        const char *from = inside ? line : strstr(line, "<svg");
        if (!from) continue;
        inside = true;
        fputs(from, out);
    }
    fclose(in);
    return inside;
}

static void put_figures(const lab_session *s, const lab_result *r, FILE *out) {
    const lab_experiment *e = r->experiment;
    char path[1200];
    lab_words words;
    for (size_t i = 0; i < lab_figure_count(e); i++) {
        lab_result_finding(r, i, &words);
        snprintf(path, sizeof path, "%s/%s-%zu.svg", s->out, e->name, i + 1);
        fprintf(out, "<figure id=\"%s-%zu\">\n", e->name, i + 1);
        if (!put_svg(path, out))
            put_paragraph("small", "", "The figure was not drawn: gnuplot is not installed.", out);
        fputs("<figcaption>", out);
        lab_html_text(words.text, out);
        fputs("</figcaption></figure>\n", out);
    }
}

static void put_claims(const lab_result *r, FILE *out) {
    lab_words words;
    if (!r->experiment->claims || !r->experiment->claims->text) return;
    fputs("<ul class=\"claims\">\n", out);
    for (const lab_claim *claim = r->experiment->claims; claim->text; claim++) {
        bool holds = lab_claim_holds(r, claim, &words);
        fprintf(out, "<li><b class=\"%s\">%s</b> ", holds ? "yes" : "no", holds ? "✓" : "✗");
        lab_html_text(claim->text, out);
        fprintf(out, " <span class=\"small\">Criterion (%s): ", lab_origin_text(claim->origin));
        lab_html_text(claim->criterion, out);
        fputs(". Found: ", out);
        lab_html_text(words.text, out);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_section(const lab_session *s, const lab_result *r, FILE *out) {
    const lab_experiment *e = r->experiment;
    lab_judgement j = lab_result_judge(r);
    char command[160];
    fprintf(out, "<section id=\"%s\">\n<p class=\"small\">", e->name);
    lab_html_text(e->source, out);
    fprintf(out, " · %s size, %u seed%s</p>\n<h2>", r->full ? "full" : "quick", r->seeds,
            r->seeds == 1 ? "" : "s");
    lab_html_text(e->title, out);
    fputs("</h2>\n<p>", out);
    put_verdict(j.verdict, out);
    if (j.numbers) fprintf(out, " %u of %u printed numbers agree", j.within, j.numbers);
    if (j.claims) fprintf(out, "%s %u of %u claims hold", j.numbers ? ";" : "", j.held, j.claims);
    fputs("</p>\n", out);
    put_paragraph("", strcmp(e->source, "weir") ? "<b>The paper.</b> " : "<b>The promise.</b> ",
                  e->claim, out);
    put_paragraph("small", "<b>Here.</b> ", e->method, out);
    put_figures(s, r, out);
    lab_table_html(r, out);
    put_claims(r, out);
    if (e->reason && j.verdict != LAB_REPRODUCED)
        put_paragraph("", "<b>Why it differs.</b> ", e->reason, out);
    fprintf(out, "<pre>%s</pre>\n", lab_command_of(r, command, sizeof command));
    put_data_link(r, out);
    fputs("<p class=\"small\"><a href=\"#contents\">Contents</a></p>\n</section>\n", out);
}

static void put_contents(lab_result *const *results, size_t count, FILE *out) {
    fputs("<nav id=\"contents\"><div class=\"wide\"><table>\n<thead><tr><th>experiment</th>"
          "<th>source</th><th>verdict</th><th>limits set after looking</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < count; i++) {
        const lab_experiment *e = results[i]->experiment;
        fprintf(out, "<tr><td><a href=\"#%s\">", e->name);
        lab_html_text(e->title, out);
        fputs("</a></td><td>", out);
        lab_html_text(e->source, out);
        fputs("</td><td>", out);
        lab_judgement j = lab_result_judge(results[i]);
        put_verdict(j.verdict, out);
        fprintf(out, "</td><td>%u of %u</td></tr>\n", j.after, j.claims);
    }
    fputs("</tbody></table></div></nav>\n", out);
}

static void put_missing(lab_result *const *results, size_t count, FILE *out) {
    bool any = false;
    for (size_t i = 0; lab_experiment_at(i); i++) {
        bool here = false;
        for (size_t j = 0; j < count; j++) here |= results[j]->experiment == lab_experiment_at(i);
        if (here) continue;
        fputs(any ? ", " : "<p class=\"small\">Not run: ", out);
        fputs(lab_experiment_at(i)->name, out);
        any = true;
    }
    if (any) fputs(".</p>\n", out);
}

static void put_page(const lab_session *s, lab_result *const *results, size_t count, FILE *out) {
    char day[64];
    time_t now = time(NULL);
    struct tm when;
    unsigned verdicts[3] = {0};
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &when));
    for (size_t i = 0; i < count; i++) verdicts[lab_result_judge(results[i]).verdict]++;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n"
            "<title>weir lab: the papers' claims on this code</title>\n<style>\n%s</style></head>\n"
            "<body><main>\n<h1>The papers' claims, on this code</h1>\n"
            "<p>%zu experiments with weir %s, %s: %u reproduced, %u of the same shape, %u "
            "different. Verdicts are computed: <i>reproduced</i> means that every printed number "
            "is within tolerance (the sampling error of one more run, and what rounding leaves "
            "open) and every claim holds; <i>same shape</i> that order and trend agree, but not "
            "all values, or that a claim has a limit set after a look at results; <i>differs</i> "
            "that they do not. ± is half of a 95%% interval over the "
            "seeds; hollow circles in the figures are the paper's numbers.</p>\n",
            style, count, weir_version(), day, verdicts[LAB_REPRODUCED], verdicts[LAB_SAME_SHAPE],
            verdicts[LAB_DIFFERS]);
    put_contents(results, count, out);
    put_missing(results, count, out);
    for (size_t i = 0; i < count; i++) put_section(s, results[i], out);
    fputs("</main></body></html>\n", out);
}

weir_status lab_write_page(const lab_session *s, lab_result *const *results, size_t count,
                           const char *path, weir_error *err) {
    FILE *out = fopen(path, "w");
    if (!out)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    put_page(s, results, count, out);
    bool failed = ferror(out) != 0;
    if (fclose(out) || failed)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    return WEIR_OK;
}
