/* lab_tables.c - a result as CSV, Markdown, HTML and JSON.
 *
 * The CSV has every row and every number: the mean over the seeds, half of its
 * 95% interval (_ci) and the paper's number where one is printed (_paper). The
 * tables for people show the last row of each case when there are many.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab_run.h"

enum { MANY_ROWS = 40, PORTRAIT_COLUMNS = 12 /* more are printed across */ };

const char *lab_print_number(char buffer[32], double value) {
    if (value != value) return strcpy(buffer, "-");
    if (fabs(value) < 1e15 && value == floor(value)) snprintf(buffer, 32, "%.0f", value);
    else if (fabs(value) >= 1000) snprintf(buffer, 32, "%.0f", value);
    else if (fabs(value) >= 10) snprintf(buffer, 32, "%.2f", value);
    else if (fabs(value) >= 0.1) snprintf(buffer, 32, "%.3f", value);
    else snprintf(buffer, 32, "%.2g", value);
    return buffer;
}

const char *lab_command_of(const lab_result *r, char *buffer, size_t size) {
    snprintf(buffer, size, "weir lab run %s%s --seeds %u", r->experiment->name,
             r->full ? " --full" : "", r->seeds);
    return buffer;
}

/* --- what the tables share --------------------------------------------------------- */

static bool has_paper(const lab_result *r, size_t column) {
    lab_match match;
    for (size_t i = 0; lab_result_match(r, i, &match); i++)
        if (match.column == column) return true;
    return false;
}

static bool has_panels(const lab_experiment *e) { return e->cases[0].panel != NULL; }

static bool shows_all_rows(const lab_result *r) {
    size_t rows = 0;
    for (size_t c = 0; c < r->case_count; c++) rows += r->cells[c].rows;
    return rows <= MANY_ROWS;
}

static double cell_mean(const lab_result *r, size_t c, size_t row, size_t column) {
    return r->cells[c].mean[row * r->column_count + column];
}

static double cell_spread(const lab_result *r, size_t c, size_t row, size_t column) {
    return lab_half_interval(r->cells[c].sd[row * r->column_count + column], r->cells[c].seeds);
}

/* --- CSV ----------------------------------------------------------------------------- */

static void csv_text(const char *text, FILE *out) {
    fputc('"', out);
    for (; *text; text++) fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', out);
}

static void csv_number(double value, FILE *out) {
    if (value == value) fprintf(out, ",%.10g", value);
    else fputc(',', out);
}

static void csv_row(const lab_result *r, size_t c, size_t row, FILE *out) {
    const lab_case *at = &r->experiment->cases[c];
    csv_text(at->panel ? at->panel : "", out);
    fputc(',', out);
    csv_text(at->label, out);
    fprintf(out, ",%zu,%u", row, r->cells[c].seeds);
    for (size_t i = 0; i < r->column_count; i++) {
        csv_number(cell_mean(r, c, row, i), out);
        if (r->experiment->columns[i].given) continue;
        csv_number(cell_spread(r, c, row, i), out);
        if (has_paper(r, i)) csv_number(lab_result_paper(r, c, row, i), out);
    }
    fputc('\n', out);
}

void lab_table_csv(const lab_result *r, FILE *out) {
    fputs("panel,case,row,seeds", out);
    for (size_t i = 0; i < r->column_count; i++) {
        const lab_column *column = &r->experiment->columns[i];
        fprintf(out, ",%s", column->name);
        if (!column->given) fprintf(out, ",%s_ci", column->name);
        if (has_paper(r, i)) fprintf(out, ",%s_paper", column->name);
    }
    fputc('\n', out);
    for (size_t c = 0; c < r->case_count; c++)
        for (size_t row = 0; row < r->cells[c].rows; row++) csv_row(r, c, row, out);
}

/* --- Markdown and HTML: one walk, two ways to write a cell ----------------------------- */

typedef struct {
    FILE *out;
    bool html;
} table;

void lab_html_text(const char *text, FILE *out) {
    for (; *text; text++) switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
}

static void begin_row(const table *t) { fputs(t->html ? "<tr>" : "|", t->out); }

static void end_row(const table *t) { fputs(t->html ? "</tr>\n" : "\n", t->out); }

static void put_cell(const table *t, const char *tag, const char *class, const char *text) {
    if (!t->html) {
        fprintf(t->out, " %s |", text);
        return;
    }
    fprintf(t->out, "<%s%s%s%s>", tag, *class ? " class=\"" : "", class, *class ? "\"" : "");
    lab_html_text(text, t->out);
    fprintf(t->out, "</%s>", tag);
}

static void put_head(const table *t, const lab_result *r) {
    char text[160];
    begin_row(t);
    if (has_panels(r->experiment)) put_cell(t, "th", "", "");
    put_cell(t, "th", "", "case");
    for (size_t i = 0; i < r->column_count; i++) {
        const lab_column *column = &r->experiment->columns[i];
        snprintf(text, sizeof text, "%s%s%s%s", column->title, column->unit ? " (" : "",
                 column->unit ? column->unit : "", column->unit ? ")" : "");
        put_cell(t, "th", "n", text);
        if (has_paper(r, i)) put_cell(t, "th", "n p", "paper");
    }
    end_row(t);
    if (t->html) return;
    fputc('|', t->out);
    if (has_panels(r->experiment)) fputs("---|", t->out);
    fputs("---|", t->out);
    for (size_t i = 0; i < r->column_count; i++)
        fputs(has_paper(r, i) ? "---:|---:|" : "---:|", t->out);
    fputc('\n', t->out);
}

static void put_value(const table *t, const lab_result *r, size_t c, size_t row, size_t i) {
    char text[80], mean[32], half[32];
    lab_print_number(mean, cell_mean(r, c, row, i));
    double spread = cell_spread(r, c, row, i);
    if (spread > 0 && !r->experiment->columns[i].given) {
        snprintf(half, sizeof half, "%.1g", spread);
        if (spread >= 10) lab_print_number(half, floor(spread + 0.5));
        snprintf(text, sizeof text, "%s ± %s", mean, half);
    } else {
        snprintf(text, sizeof text, "%s", mean);
    }
    put_cell(t, "td", "n", text);
}

static void put_row(const table *t, const lab_result *r, size_t c, size_t row) {
    const lab_case *at = &r->experiment->cases[c];
    char text[32];
    lab_match match;
    begin_row(t);
    if (has_panels(r->experiment)) put_cell(t, "td", "", at->panel ? at->panel : "");
    put_cell(t, "td", "", at->label);
    for (size_t i = 0; i < r->column_count; i++) {
        put_value(t, r, c, row, i);
        if (!has_paper(r, i)) continue;
        const char *class = "n p";
        if (lab_result_compare(r, c, row, i, &match)) class = match.within ? "n p in" : "n p off";
        put_cell(t, "td", class, lab_print_number(text, lab_result_paper(r, c, row, i)));
    }
    end_row(t);
}

static size_t columns_shown(const lab_result *r) {
    size_t count = r->column_count;
    for (size_t i = 0; i < r->column_count; i++) count += has_paper(r, i);
    return count;
}

static void put_table(const table *t, const lab_result *r) {
    bool all = shows_all_rows(r);
    if (t->html)
        fprintf(t->out, "<div class=\"wide%s\"><table>\n<thead>",
                columns_shown(r) > PORTRAIT_COLUMNS ? " many" : "");
    put_head(t, r);
    if (t->html) fputs("</thead><tbody>\n", t->out);
    for (size_t c = 0; c < r->case_count; c++)
        for (size_t row = all || !r->cells[c].rows ? 0 : r->cells[c].rows - 1;
             row < r->cells[c].rows; row++)
            put_row(t, r, c, row);
    if (t->html) fputs("</tbody></table></div>\n", t->out);
    if (all) return;
    fputs(t->html ? "<p class=\"small\">The last row of each case; all are in the data.</p>\n"
                  : "\nThe last row of each case; all are in the CSV.\n",
          t->out);
}

void lab_table_html(const lab_result *r, FILE *out) {
    table t = {out, true};
    put_table(&t, r);
}

void lab_table_markdown(const lab_result *r, FILE *out) {
    const lab_experiment *e = r->experiment;
    lab_judgement j = lab_result_judge(r);
    lab_words words;
    char command[160];
    table t = {out, false};
    fprintf(out, "# %s\n\n%s. Verdict: **%s**", e->title, e->source, lab_verdict_text(j.verdict));
    if (j.numbers) fprintf(out, " (%u of %u printed numbers agree)", j.within, j.numbers);
    fprintf(out, ".\n\n%s\n\n%s\n\n", e->claim, e->method);
    for (size_t i = 0; i < lab_figure_count(e); i++) {
        lab_result_finding(r, i, &words);
        fprintf(out, "![%s](%s-%zu.svg)\n\n%s\n\n", e->figures[i].title, e->name, i + 1,
                words.text);
    }
    put_table(&t, r);
    fputc('\n', out);
    for (const lab_claim *claim = e->claims; claim && claim->text; claim++) {
        bool holds = lab_claim_holds(r, claim, &words);
        fprintf(out, "- %s %s Criterion (%s): %s. Found: %s\n", holds ? "[x]" : "[ ]", claim->text,
                lab_origin_text(claim->origin), claim->criterion, words.text);
    }
    if (e->reason && j.verdict != LAB_REPRODUCED) fprintf(out, "\nWhy it differs: %s\n", e->reason);
    fprintf(out, "\n    %s\n", lab_command_of(r, command, sizeof command));
}

/* --- JSON ------------------------------------------------------------------------------- */

void lab_json_text(const char *text, FILE *out) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ') fprintf(out, "\\u%04x", (unsigned)*text);
        else fputc(*text, out);
    }
    fputc('"', out);
}

static void json_number(const char *name, double value, FILE *out) {
    fprintf(out, ", \"%s\": ", name);
    if (value == value) fprintf(out, "%.10g", value);
    else fputs("null", out);
}

static void json_row(const lab_result *r, size_t c, size_t row, FILE *out) {
    const lab_case *at = &r->experiment->cases[c];
    char name[96];
    fputs("{\"case\": ", out);
    lab_json_text(at->label, out);
    if (at->panel) {
        fputs(", \"panel\": ", out);
        lab_json_text(at->panel, out);
    }
    fprintf(out, ", \"row\": %zu, \"seeds\": %u", row, r->cells[c].seeds);
    for (size_t i = 0; i < r->column_count; i++) {
        const char *column = r->experiment->columns[i].name;
        json_number(column, cell_mean(r, c, row, i), out);
        if (r->experiment->columns[i].given) continue;
        snprintf(name, sizeof name, "%s_ci", column);
        json_number(name, cell_spread(r, c, row, i), out);
        snprintf(name, sizeof name, "%s_paper", column);
        if (has_paper(r, i)) json_number(name, lab_result_paper(r, c, row, i), out);
    }
    fputc('}', out);
}

void lab_table_json(const lab_result *r, FILE *out) {
    lab_judgement j = lab_result_judge(r);
    lab_words words;
    bool first = true;
    fputs("{\"name\": ", out);
    lab_json_text(r->experiment->name, out);
    fprintf(out, ", \"size\": \"%s\", \"seeds\": %u, \"verdict\": \"%s\"",
            r->full ? "full" : "quick", r->seeds, lab_verdict_text(j.verdict));
    fprintf(out, ", \"seconds\": %.3f, \"numbers\": %u, \"within\": %u,\n \"claims\": [",
            r->seconds, j.numbers, j.within);
    for (const lab_claim *claim = r->experiment->claims; claim && claim->text; claim++) {
        bool holds = lab_claim_holds(r, claim, &words);
        fprintf(out, "%s{\"holds\": %s, \"claim\": ", first ? "" : ",\n  ",
                holds ? "true" : "false");
        lab_json_text(claim->text, out);
        fputs(", \"criterion\": ", out);
        lab_json_text(claim->criterion, out);
        fprintf(out, ", \"origin\": \"%s\"", lab_origin_text(claim->origin));
        fputs(", \"found\": ", out);
        lab_json_text(words.text, out);
        fputc('}', out);
        first = false;
    }
    fputs("],\n \"rows\": [", out);
    first = true;
    for (size_t c = 0; c < r->case_count; c++)
        for (size_t row = 0; row < r->cells[c].rows; row++, first = false) {
            if (!first) fputs(",\n  ", out);
            json_row(r, c, row, out);
        }
    fputs("]}", out);
}
