/* lab_report.c - puts the results of a folder into files that people read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab_error.h"
#include "lab_run.h"

enum { MOST_RESULTS = 256 };

typedef void writer(const lab_result *result, FILE *out);

static weir_status write_with(writer *write, const lab_result *r, const char *dir,
                              const char *ending, weir_error *err) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s%s", dir, r->experiment->name, ending);
    FILE *out = fopen(path, "w");
    if (!out)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    write(r, out);
    bool failed = ferror(out) != 0;
    if (fclose(out) || failed)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    return WEIR_OK;
}

weir_status lab_write_result(const lab_session *s, const lab_result *r, bool draw,
                             weir_error *err) {
    char path[1200];
    weir_status status = write_with(lab_table_csv, r, s->out, ".csv", err);
    if (!status) status = write_with(lab_table_markdown, r, s->out, ".md", err);
    for (size_t i = 0; !status && draw && i < lab_figure_count(r->experiment); i++) {
        snprintf(path, sizeof path, "%s/%s-%zu.svg", s->out, r->experiment->name, i + 1);
        status = lab_plot(r, i, path, err);
    }
    return status;
}

/* The full result where all of it is there, else the quick one, else what there
 * is of the full one. */
static weir_status choose(const lab_book *book, const lab_experiment *e, lab_result **out,
                          weir_error *err) {
    lab_result *quick = NULL, *full = NULL;
    weir_status status = lab_result_new(&full, book, e, true, err);
    if (!status) status = lab_result_new(&quick, book, e, false, err);
    bool take_full = full && (!quick || lab_result_whole(full, 1));
    *out = take_full ? full : quick;
    lab_result_free(take_full ? quick : full);
    return status;
}

static weir_status write_index(const lab_session *s, lab_result *const *results, size_t count,
                               weir_error *err) {
    char path[1200];
    snprintf(path, sizeof path, "%s/report.md", s->out);
    FILE *out = fopen(path, "w");
    if (!out)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    fputs("# The papers' claims, on this code\n\n| experiment | source | size | verdict | limits "
          "set after looking | found |\n|---|---|---|---|---|---|\n",
          out);
    for (size_t i = 0; i < count; i++) {
        const lab_experiment *e = results[i]->experiment;
        lab_words words;
        lab_result_finding(results[i], 0, &words);
        lab_judgement j = lab_result_judge(results[i]);
        fprintf(out, "| [%s](%s.md) | %s | %s | %s | %u of %u | %s |\n", e->title, e->name,
                e->source, results[i]->full ? "full" : "quick", lab_verdict_text(j.verdict),
                j.after, j.claims, words.text);
    }
    return fclose(out) ? lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s'", path) : WEIR_OK;
}

static weir_status gather(const lab_book *book, lab_result **results, size_t *count,
                          lab_outcome *outcome, weir_error *err) {
    for (size_t i = 0; lab_experiment_at(i) && *count < MOST_RESULTS; i++) {
        const lab_experiment *e = lab_experiment_at(i);
        lab_result *result = NULL;
        weir_status status = choose(book, e, &result, err);
        if (status) return status;
        if (!result) continue;
        results[(*count)++] = result;
        lab_verdict expected = result->full ? e->full_expected : e->quick_expected;
        outcome->worse +=
            lab_result_whole(result, 1) && lab_result_judge(result).verdict < expected;
    }
    outcome->experiments = (unsigned)*count;
    return WEIR_OK;
}

static weir_status nothing_to_show(const lab_session *s, const lab_book *book, weir_error *err) {
    if (lab_book_stale(book))
        return lab_error(err, WEIR_ERR_VERSION, -1,
                         "all %zu results in '%s' are of other versions of the code; run 'weir lab "
                         "run' again",
                         lab_book_stale(book), s->out);
    return lab_error(err, WEIR_ERR_IO, -1, "'%s' has no results; run 'weir lab run' first", s->out);
}

weir_status lab_report(const lab_session *s, char *page, size_t size, lab_outcome *outcome,
                       weir_error *err) {
    lab_book *book;
    lab_result *results[MOST_RESULTS];
    size_t count = 0;
    memset(outcome, 0, sizeof *outcome);
    snprintf(page, size, "%s/report.html", s->out);
    weir_status status = lab_book_open(&book, s->out, false, err);
    if (status) return status;
    status = gather(book, results, &count, outcome, err);
    if (!status && !count) status = nothing_to_show(s, book, err);
    bool draw = !status && lab_check_plot(s);
    for (size_t i = 0; !status && i < count; i++) {
        if (s->progress) s->progress(s->context, results[i]->experiment->name, i, count);
        status = lab_write_result(s, results[i], draw, err);
    }
    if (!status) status = write_index(s, results, count, err);
    if (!status) status = lab_write_page(s, results, count, page, err);
    while (count > 0) lab_result_free(results[--count]);
    lab_book_close(book);
    return status;
}
