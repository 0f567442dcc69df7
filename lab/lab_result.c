/* lab_result.c - means over the seeds, and the verdict from them. */
#include "lab_result.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_error.h"

#define DEVIATIONS 3.0 /* by which one run may be off: 0.3% of honest numbers are further */

const char *lab_verdict_text(lab_verdict verdict) {
    static const char *const texts[] = {"differs", "same shape", "reproduced"};
    return texts[verdict];
}

const char *lab_origin_text(lab_origin origin) {
    static const char *const texts[] = {"set after looking", "the paper's words",
                                        "a significance level"};
    return texts[origin];
}

bool lab_case_applies(const lab_case *c, bool full) {
    return c->when == LAB_ALWAYS || (c->when == LAB_FULL_ONLY) == full;
}

/* The name of a real stream is no spec. */
bool lab_reads_real(const lab_experiment *experiment) {
    for (const lab_case *c = experiment->cases; c->label; c++)
        if (c->stream && !strchr(c->stream, ':')) return true;
    return false;
}

size_t lab_column_count(const lab_experiment *experiment) {
    size_t count = 0;
    while (experiment->columns[count].name) count++;
    return count;
}

size_t lab_column_index(const lab_experiment *experiment, const char *name) {
    size_t i = 0;
    while (experiment->columns[i].name && strcmp(experiment->columns[i].name, name) != 0) i++;
    return i;
}

double lab_half_interval(double sd, unsigned seeds) {
    /* 97.5% points of Student's t by degrees of freedom. */
    static const double t[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
                               2.365, 2.306,  2.262, 2.228, 2.201, 2.179, 2.160,
                               2.145, 2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
    if (seeds < 2) return 0;
    unsigned freedom = seeds - 1;
    double quantile = freedom < sizeof t / sizeof *t ? t[freedom] : 1.96 + 2.4 / freedom;
    return quantile * sd / sqrt(seeds);
}

/* --- gathering -------------------------------------------------------------------- */

/* Running mean and sum of squares (Welford), so that no second pass is needed. */
static void add_value(double *mean, double *squares, double value, unsigned n) {
    double off = value - *mean;
    *mean += off / n;
    *squares += off * (value - *mean);
}

static bool start_cells(lab_cells *cells, const lab_entry *entry) {
    cells->rows = entry->rows;
    cells->mean = calloc(entry->rows * entry->columns + 1, sizeof *cells->mean);
    cells->sd = calloc(entry->rows * entry->columns + 1, sizeof *cells->sd);
    return cells->mean && cells->sd;
}

static bool gather_case(lab_result *r, const lab_book *book, size_t c) {
    lab_cells *cells = &r->cells[c];
    const lab_entry *entry;
    for (uint64_t seed = 1; (entry = lab_book_find(book, r->experiment, r->full, c, seed)) != NULL;
         seed++) {
        if (entry->columns != r->column_count) break;
        if (!cells->rows && !start_cells(cells, entry)) return false;
        if (entry->rows != cells->rows) break;
        cells->seeds++;
        r->seconds += entry->seconds;
        for (size_t i = 0; i < cells->rows * r->column_count; i++)
            add_value(&cells->mean[i], &cells->sd[i], entry->values[i], cells->seeds);
    }
    for (size_t i = 0; i < cells->rows * r->column_count; i++)
        cells->sd[i] = cells->seeds > 1 ? sqrt(cells->sd[i] / (cells->seeds - 1)) : 0;
    if (cells->seeds > r->seeds) r->seeds = cells->seeds;
    return true;
}

weir_status lab_result_new(lab_result **out, const lab_book *book, const lab_experiment *experiment,
                           bool full, weir_error *err) {
    *out = NULL;
    lab_result *r = calloc(1, sizeof *r);
    if (!r) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    r->experiment = experiment;
    r->full = full;
    while (experiment->cases[r->case_count].label) r->case_count++;
    r->column_count = lab_column_count(experiment);
    r->cells = calloc(r->case_count + 1, sizeof *r->cells);
    bool done = r->cells != NULL;
    for (size_t c = 0; done && c < r->case_count; c++) done = gather_case(r, book, c);
    if (done && r->seeds) {
        *out = r;
        return WEIR_OK;
    }
    lab_result_free(r);
    return done ? WEIR_OK : lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

void lab_result_free(lab_result *r) {
    if (!r) return;
    for (size_t c = 0; r->cells && c < r->case_count; c++) {
        free(r->cells[c].mean);
        free(r->cells[c].sd);
    }
    free(r->cells);
    free(r);
}

bool lab_result_whole(const lab_result *r, unsigned seeds) {
    for (size_t c = 0; c < r->case_count; c++)
        if (lab_case_applies(&r->experiment->cases[c], r->full) && r->cells[c].seeds < seeds)
            return false;
    return true;
}

/* --- looking ----------------------------------------------------------------------- */

/* The cell, or -1 if there is none. */
static ptrdiff_t find_cell(const lab_result *r, size_t c, int row, const char *column) {
    size_t at = lab_column_index(r->experiment, column);
    if (c >= r->case_count || at == r->column_count) return -1;
    size_t rows = r->cells[c].rows, wanted = row < 0 ? rows - 1 : (size_t)row;
    if (!rows || wanted >= rows) return -1;
    return (ptrdiff_t)(wanted * r->column_count + at);
}

double lab_mean(const lab_result *r, size_t c, int row, const char *column) {
    ptrdiff_t cell = find_cell(r, c, row, column);
    return cell < 0 ? NAN : r->cells[c].mean[cell];
}

double lab_spread(const lab_result *r, size_t c, int row, const char *column) {
    ptrdiff_t cell = find_cell(r, c, row, column);
    return cell < 0 ? NAN : lab_half_interval(r->cells[c].sd[cell], r->cells[c].seeds);
}

unsigned lab_seeds(const lab_result *r, size_t c) { return r->cells[c].seeds; }

size_t lab_cases(const lab_result *r) { return r->case_count; }

const lab_case *lab_case_at(const lab_result *r, size_t c) { return &r->experiment->cases[c]; }

size_t lab_rows(const lab_result *r, size_t c) { return r->cells[c].rows; }

size_t lab_find_case(const lab_result *r, const char *panel, const char *label) {
    size_t c = 0;
    for (; c < r->case_count; c++) {
        const lab_case *at = &r->experiment->cases[c];
        if (strcmp(at->label, label) != 0 || !r->cells[c].rows) continue;
        if (!panel || (at->panel && !strcmp(at->panel, panel))) break;
    }
    return c;
}

/* --- judging ------------------------------------------------------------------------ */

bool lab_say(lab_words *words, bool holds, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(words->text, sizeof words->text, format, args);
    va_end(args);
    return holds;
}

double lab_result_paper(const lab_result *r, size_t c, size_t row, size_t column) {
    const lab_case *at = &r->experiment->cases[c];
    if (!at->paper || r->experiment->columns[column].given) return NAN;
    if (at->paper_rows) return row < at->paper_rows ? at->paper[row][column] : NAN;
    return row + 1 == r->cells[c].rows ? at->paper[0][column] : NAN;
}

bool lab_result_compare(const lab_result *r, size_t c, size_t row, size_t column,
                        lab_match *match) {
    const lab_column *of = &r->experiment->columns[column];
    const lab_cells *cells = &r->cells[c];
    double paper = row < cells->rows ? lab_result_paper(r, c, row, column) : NAN;
    if (!(paper == paper)) return false;
    size_t cell = row * r->column_count + column;
    double noise = DEVIATIONS * cells->sd[cell] * sqrt(1 + 1.0 / cells->seeds);
    *match = (lab_match){.c = c, .row = row, .column = column, .paper = paper};
    match->ours = cells->mean[cell];
    match->allowed = of->within + of->within_share * fabs(paper) + noise;
    match->within = fabs(match->ours - paper) <= match->allowed * (1 + 1e-12);
    return true;
}

bool lab_result_match(const lab_result *r, size_t i, lab_match *match) {
    for (size_t c = 0; c < r->case_count; c++)
        for (size_t row = 0; row < r->cells[c].rows; row++)
            for (size_t column = 0; column < r->column_count; column++)
                if (lab_result_compare(r, c, row, column, match) && i-- == 0) return true;
    return false;
}

bool lab_claim_holds(const lab_result *r, const lab_claim *claim, lab_words *found) {
    found->text[0] = 0;
    return claim->holds(r, found);
}

lab_judgement lab_result_judge(const lab_result *r) {
    lab_judgement j = {.shape = true};
    lab_match match;
    lab_words words;
    for (size_t i = 0; lab_result_match(r, i, &match); i++) {
        j.numbers++;
        j.within += match.within;
    }
    for (const lab_claim *claim = r->experiment->claims; claim && claim->text; claim++) {
        bool holds = lab_claim_holds(r, claim, &words);
        j.claims++;
        j.held += holds;
        j.after += claim->origin == LAB_AFTER;
        if (claim->shape && !holds) j.shape = false;
    }
    if (!j.shape) j.verdict = LAB_DIFFERS;
    else if (j.within == j.numbers && j.held == j.claims && !j.after) j.verdict = LAB_REPRODUCED;
    else j.verdict = LAB_SAME_SHAPE;
    if (!r->full && j.verdict > r->experiment->full_expected)
        j.verdict = r->experiment->full_expected;
    return j;
}

void lab_result_finding(const lab_result *r, size_t i, lab_words *words) {
    const lab_claim *claims = r->experiment->claims;
    size_t claim = r->experiment->figures[i].claim;
    words->text[0] = 0;
    if (claims && claims[claim].text) lab_claim_holds(r, &claims[claim], words);
}
