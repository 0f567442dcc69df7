/* plot.c - small plots, in the terminal and as SVG.
 *
 * Both map values to a frame whose y axis begins at 0 and ends at a round number; a
 * terminal's cell or an SVG's unit is all that differs. In the terminal each series has
 * a letter of its own, and where two meet the earlier one shows.
 */
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "weir.h"
#include "weir_text.h"

enum {
    COLUMNS_MOST = 200, /* columns of a plot of text */
    ROWS_MOST = 60,     /* rows of it */
    Y_STEPS = 4,        /* labels of its y axis, less one */
    LABEL = 8           /* columns of a label */
};

static const char marks[PLOT_SERIES_MOST + 1] = "ox+*#@";

char *plot_rate(char *buffer, double value) { return weir_print_rate(buffer, value); }
char *plot_size(char *buffer, double value) { return weir_print_size(buffer, (uint64_t)value); }
char *plot_count(char *buffer, double value) { return weir_print_count(buffer, value); }

/* --- the frame ---------------------------------------------------------------------- */

static size_t series_of(const plot *p) {
    return p->series_count < PLOT_SERIES_MOST ? p->series_count : PLOT_SERIES_MOST;
}

/* The least of 1, 2, 4, 6, 8 times a power of ten that no value exceeds: it has
 * round quarters. */
static double top_of(const plot *p) {
    double most = 0;
    for (size_t s = 0; s < series_of(p); s++)
        for (size_t i = 0; i < p->points; i++)
            if (p->series[s].y[i] > most) most = p->series[s].y[i];
    if (!(most > 0)) return 1;
    double ten = pow(10, floor(log10(most)));
    const double steps[] = {1, 2, 4, 6, 8, 10};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * ten >= most * 0.999) return steps[i] * ten;
    return 10 * ten;
}

/* Where point i lies between the left (0) and the right (1). */
static double across(const plot *p, size_t i) {
    if (p->points < 2) return 0.5;
    double low = p->x[0], high = p->x[p->points - 1], x = p->x[i];
    if (p->x_log) low = log(low), high = log(high), x = log(x);
    return high > low ? (x - low) / (high - low) : 0.5;
}

/* --- in the terminal ----------------------------------------------------------------- */

typedef struct {
    int columns, rows;
    char cells[ROWS_MOST][COLUMNS_MOST];
} canvas;

static int cell_of(double share, int count) { return (int)lround(share * (count - 1)); }

static void put_line(canvas *c, const plot *p, size_t s, double top) {
    for (size_t i = 0; i < p->points; i++) {
        double y = p->series[s].y[i];
        if (isnan(y)) continue;
        int column = cell_of(across(p, i), c->columns), row = cell_of(y / top, c->rows);
        c->cells[row][column] = marks[s];
        if (i + 1 == p->points || isnan(p->series[s].y[i + 1])) continue;
        int next = cell_of(across(p, i + 1), c->columns);
        for (int at = column + 1; at < next; at++) {
            double part = (double)(at - column) / (next - column);
            row = cell_of((y + part * (p->series[s].y[i + 1] - y)) / top, c->rows);
            if (c->cells[row][at] == ' ') c->cells[row][at] = '.';
        }
    }
}

static void print_x_axis(FILE *out, const plot *p, const canvas *c) {
    char labels[COLUMNS_MOST + 32], text[32];
    memset(labels, ' ', sizeof labels);
    int free_from = 0;
    for (size_t i = 0; i < p->points; i++) {
        int at = cell_of(across(p, i), c->columns);
        int length = (int)strlen(p->x_text(text, p->x[i]));
        int from = at - length / 2 < 0 ? 0 : at - length / 2;
        if (from < free_from || from + length > c->columns + 4) continue;
        memcpy(labels + from, text, (size_t)length);
        free_from = from + length + 1;
    }
    int end = (int)sizeof labels;
    while (end > 0 && labels[end - 1] == ' ') end--;
    fprintf(out, "%*s +", LABEL, "");
    for (int i = 0; i < c->columns; i++) fputc('-', out);
    fprintf(out, "\n%*s  %.*s\n%*s  %s\n", LABEL, "", end, labels, LABEL, "", p->x_name);
}

static void print_lines(FILE *out, const plot *p, int width, int height) {
    canvas c = {.columns = width - LABEL - 6, .rows = height - 5};
    double top = top_of(p);
    if (c.columns > COLUMNS_MOST) c.columns = COLUMNS_MOST;
    if (c.columns < 10) c.columns = 10;
    if (c.rows > ROWS_MOST) c.rows = ROWS_MOST;
    if (c.rows < Y_STEPS + 1) c.rows = Y_STEPS + 1;
    memset(c.cells, ' ', sizeof c.cells);
    for (size_t s = series_of(p); s > 0; s--) put_line(&c, p, s - 1, top);
    for (int row = c.rows - 1; row >= 0; row--) {
        char text[32] = "";
        for (int step = 0; step <= Y_STEPS; step++)
            if (cell_of((double)step / Y_STEPS, c.rows) == row)
                p->y_text(text, top * step / Y_STEPS);
        int end = c.columns;
        while (end > 0 && c.cells[row][end - 1] == ' ') end--;
        fprintf(out, "%*s |%.*s\n", LABEL, text, end, c.cells[row]);
    }
    print_x_axis(out, p, &c);
    fprintf(out, "%*s  ", LABEL, "");
    for (size_t s = 0; s < series_of(p); s++)
        fprintf(out, "%s%c %s", s ? "   " : "", marks[s], p->series[s].name);
    fputc('\n', out);
}

/* A label in UTF-8, flush right in a field of `columns` columns. */
static void print_label(FILE *out, const char *text, int columns) {
    for (const char *p = text; *p; p++) columns -= ((unsigned char)*p & 0xc0) != 0x80;
    fprintf(out, "%*s%s |", columns > 0 ? columns : 0, "", text);
}

static void print_bars(FILE *out, const plot *p, int width) {
    double top = top_of(p);
    int room = width - 2 * LABEL - 6;
    for (size_t i = 0; i < p->points; i++)
        for (size_t s = 0; s < series_of(p); s++) {
            char text[32], value[32];
            double y = p->series[s].y[i];
            if (isnan(y)) continue;
            print_label(out, s ? "" : p->x_text(text, p->x[i]), LABEL + 4);
            for (int n = cell_of(y / top, room); n > 0; n--)
                fputc(series_of(p) > 1 ? marks[s] : '#', out);
            fprintf(out, " %s\n", p->y_text(value, y));
        }
    if (series_of(p) < 2) return;
    fprintf(out, "%*s  ", LABEL + 4, "");
    for (size_t s = 0; s < series_of(p); s++)
        fprintf(out, "%s%c %s", s ? "   " : "", marks[s], p->series[s].name);
    fputc('\n', out);
}

void plot_terminal(FILE *out, const plot *p, int width, int height) {
    fprintf(out, "%s\n", p->title);
    if (p->bars) print_bars(out, p, width);
    else print_lines(out, p, width, height);
}

/* --- SVG ------------------------------------------------------------------------------- */

/* An SVG and its margins, in pixels. */
enum { W = 640, H = 380, LEFT = 70, RIGHT = 20, TOP = 60, BOTTOM = 60 };
static const char *const colours[PLOT_SERIES_MOST] = {"#3b7dd8", "#e07b39", "#3a9d5d",
                                                      "#b04fbf", "#c94f4f", "#7a7a7a"};

static void put_text(FILE *out, double x, double y, const char *anchor, const char *text) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++) {
        if (*text == '<') fputs("&lt;", out);
        else if (*text == '&') fputs("&amp;", out);
        else fputc(*text, out);
    }
    fputs("</text>\n", out);
}

static double svg_x(double share) { return LEFT + share * (W - LEFT - RIGHT); }
static double svg_y(double share) { return H - BOTTOM - share * (H - TOP - BOTTOM); }

static void svg_frame(FILE *out, const plot *p, double top) {
    char text[32];
    for (int step = 0; step <= Y_STEPS; step++) {
        double y = svg_y((double)step / Y_STEPS);
        fprintf(out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT,
                y, W - RIGHT, y);
        put_text(out, LEFT - 8, y + 4, "end", p->y_text(text, top * step / Y_STEPS));
    }
    put_text(out, LEFT, 20, "start", p->title);
    put_text(out, svg_x(0.5), H - 12, "middle", p->x_name);
    for (size_t s = 0; s < series_of(p); s++) {
        double x = LEFT + 110.0 * (double)s;
        fprintf(out, "<rect x=\"%.1f\" y=\"33\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                colours[s]);
        put_text(out, x + 18, 43, "start", p->series[s].name);
    }
}

static void svg_line(FILE *out, const plot *p, size_t s, double top) {
    const double *y = p->series[s].y;
    bool open = false;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colours[s]);
    for (size_t i = 0; i < p->points; i++) {
        if (!isnan(y[i]))
            fprintf(out, "%c%.1f %.1f", open ? 'L' : 'M', svg_x(across(p, i)), svg_y(y[i] / top));
        open = !isnan(y[i]);
    }
    fputs("\"/>\n", out);
    for (size_t i = 0; i < p->points; i++)
        if (!isnan(y[i]))
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    svg_x(across(p, i)), svg_y(y[i] / top), colours[s]);
}

static void svg_bars(FILE *out, const plot *p, size_t s, double top) {
    double slot = 1.0 / (double)p->points, width = 0.8 * slot / (double)series_of(p);
    for (size_t i = 0; i < p->points; i++) {
        double from = ((double)i + 0.1) * slot + (double)s * width, y = p->series[s].y[i];
        if (isnan(y)) continue;
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                svg_x(from), svg_y(y / top), width * (W - LEFT - RIGHT), svg_y(0) - svg_y(y / top),
                colours[s]);
    }
}

static void svg_x_labels(FILE *out, const plot *p) {
    size_t every = p->points / 12 + 1;
    for (size_t i = 0; i < p->points; i += every) {
        char text[32];
        double share = p->bars ? ((double)i + 0.5) / (double)p->points : across(p, i);
        put_text(out, svg_x(share), H - BOTTOM + 20, "middle", p->x_text(text, p->x[i]));
    }
}

int plot_svg(const char *path, const plot *p) {
    FILE *out = fopen(path, "w");
    if (!out) return cli_error("cannot write '%s': %s", path, strerror(errno));
    double top = top_of(p);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\">\n<style>text{font:13px sans-serif;fill:#333}.grid{stroke:#8884}"
            "@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>\n",
            W, H, W, H);
    svg_frame(out, p, top);
    svg_x_labels(out, p);
    for (size_t s = 0; s < series_of(p); s++) {
        if (p->bars) svg_bars(out, p, s, top);
        else svg_line(out, p, s, top);
    }
    fputs("</svg>\n", out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return cli_error("cannot write '%s': %s", path, strerror(errno));
    return EXIT_DONE;
}
