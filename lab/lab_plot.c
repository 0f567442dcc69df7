/* lab_plot.c - the figures of a result, drawn by gnuplot as SVG.
 *
 * Each panel is a small plot of its own. Curves carry the 95% intervals of their
 * points where there are few enough to see them; the paper's numbers are hollow
 * circles in the colour of their curve. What gnuplot draws in black is given the
 * colour var(--ink, black), so that the page can turn it light in the dark.
 */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_run.h"

enum {
    MOST_PANELS = 16,
    FEW_POINTS = 16,
    WIDTH = 640,
    HEIGHT = 380,
    SMALL_HEIGHT = 290,
    KEY_HEIGHT = 19,
    ROOM_FOR = 2,
    MOST_CURVES = 64
};

/* Told apart by those who see fewer colours, and on white as on black. */
static const char *const colours[] = {"#0077bb", "#dd6600", "#119966", "#cc5599",
                                      "#bb9900", "#33aadd", "#888888", "#8866cc"};
#define COLOURS (sizeof colours / sizeof *colours)

/* A curve of a panel: points of one case, or one point of every case. */
typedef struct {
    size_t column;
    size_t c; /* by_case: its case */
    size_t points, papers;
    bool bars;
} curve;

typedef struct {
    const lab_result *r;
    const lab_figure *f;
    const char *panel;
    size_t x;
    FILE *out;
    size_t number; /* of data blocks so far */
} plot;

size_t lab_figure_count(const lab_experiment *e) {
    size_t count = 0;
    while (count < LAB_MOST_FIGURES && e->figures[count].title) count++;
    return count;
}

static void put_text(const char *text, FILE *out) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static bool in_panel(const plot *p, size_t c) {
    const char *own = p->r->experiment->cases[c].panel;
    return p->r->cells[c].rows && (!p->panel || (own && !strcmp(own, p->panel)));
}

static double value_at(const plot *p, size_t c, size_t row, size_t column) {
    return p->r->cells[c].mean[row * p->r->column_count + column];
}

/* A point, with its interval; points that a logarithm cannot show are left out. */
static void put_point(const plot *p, curve *k, size_t c, size_t row) {
    double x = value_at(p, c, row, p->x), y = value_at(p, c, row, k->column);
    if (!(y == y) || (p->f->log_y && y <= 0) || (p->f->log_x && x <= 0)) return;
    double half = lab_half_interval(p->r->cells[c].sd[row * p->r->column_count + k->column],
                                    p->r->cells[c].seeds);
    double low = p->f->log_y && y - half <= 0 ? y / 10 : y - half;
    fprintf(p->out, "%.10g %.10g %.10g %.10g\n", x, y, low, y + half);
    k->points++;
    k->bars |= half > 0;
}

static void put_papers(const plot *p, curve *k, size_t c) {
    for (size_t row = 0; row < p->r->cells[c].rows; row++) {
        double paper = lab_result_paper(p->r, c, row, k->column);
        if (!(paper == paper)) continue;
        fprintf(p->out, "%.10g %.10g\n", value_at(p, c, row, p->x), paper);
        k->papers++;
    }
}

/* The two data blocks of a curve: ours and the paper's. */
static void put_data(plot *p, curve *k) {
    size_t from = p->f->by_case ? k->c : 0, to = p->f->by_case ? k->c + 1 : p->r->case_count;
    fprintf(p->out, "$d%zu << EOD\n", p->number);
    for (size_t c = from; c < to; c++) {
        if (!in_panel(p, c)) continue;
        size_t rows = p->r->cells[c].rows;
        for (size_t row = p->f->by_case ? 0 : rows - 1; row < rows; row++) put_point(p, k, c, row);
    }
    fprintf(p->out, "EOD\n$p%zu << EOD\n", p->number);
    for (size_t c = from; c < to; c++)
        if (in_panel(p, c)) put_papers(p, k, c);
    fputs("EOD\n", p->out);
    p->number++;
}

static size_t cases_in_panel(const plot *p) {
    size_t count = 0;
    for (size_t c = 0; c < p->r->case_count; c++) count += in_panel(p, c);
    return count;
}

/* What tells a curve from the others of its panel: its case, its column, or both. */
static void put_title(const plot *p, const curve *k) {
    const lab_experiment *e = p->r->experiment;
    const char *column = e->columns[k->column].title, *label = e->cases[k->c].label;
    char title[200];
    if (!p->f->by_case || (p->f->y[1] && cases_in_panel(p) == 1)) put_text(column, p->out);
    else if (!p->f->y[1]) put_text(label, p->out);
    else {
        snprintf(title, sizeof title, "%s, %s", label, column);
        put_text(title, p->out);
    }
}

static void put_curve(const plot *p, const curve *k, size_t block, size_t i) {
    const char *colour = colours[i % COLOURS];
    bool points = p->f->style == LAB_POINTS, few = !points && k->points <= FEW_POINTS;
    fprintf(p->out, "%s$d%zu using 1:2 with %s lc rgb '%s' lw 2 pt 7 ps 0.5 title ",
            i ? ", \\\n  " : "plot ", block,
            points ? "points"
            : few  ? "linespoints"
                   : "lines",
            colour);
    put_title(p, k);
    if (k->bars && few)
        fprintf(p->out, ", \\\n  $d%zu using 1:2:3:4 with yerrorbars lc rgb '%s' pt 7 ps 0 notitle",
                block, colour);
    if (k->papers)
        fprintf(p->out, ", \\\n  $p%zu using 1:2 with points lc rgb '%s' pt 6 ps 1.2 lw 2 notitle",
                block, colour);
}

/* Which curves a panel has; returns how many. */
static size_t find_curves(const plot *p, curve *curves, size_t most) {
    size_t count = 0;
    for (size_t c = 0; c < (p->f->by_case ? p->r->case_count : 1); c++) {
        if (p->f->by_case && !in_panel(p, c)) continue;
        for (size_t y = 0; y < 8 && p->f->y[y] && count < most; y++)
            curves[count++] =
                (curve){.column = lab_column_index(p->r->experiment, p->f->y[y]), .c = c};
    }
    return count;
}

static void put_lines(plot *p) {
    curve curves[MOST_CURVES];
    size_t count = find_curves(p, curves, MOST_CURVES), first = p->number, drawn = 0;
    for (size_t i = 0; i < count; i++) put_data(p, &curves[i]);
    for (size_t i = 0; i < count; i++)
        if (curves[i].points) put_curve(p, &curves[i], first + i, drawn++);
    if (drawn && p->f->style == LAB_POINTS)
        fputs(", x with lines lc rgb 'gray' dt 2 title \"equal\"", p->out);
    fputs(drawn ? "\n" : "plot [0:1][0:1] NaN notitle\n", p->out);
}

static void put_bars(plot *p) {
    const lab_experiment *e = p->r->experiment;
    size_t block = p->number++;
    fprintf(p->out, "$d%zu << EOD\n", block);
    for (size_t c = 0; c < p->r->case_count; c++) {
        if (!in_panel(p, c)) continue;
        put_text(e->cases[c].label, p->out);
        for (size_t y = 0; y < 8 && p->f->y[y]; y++)
            fprintf(p->out, " %.10g",
                    value_at(p, c, p->r->cells[c].rows - 1, lab_column_index(e, p->f->y[y])));
        fputc('\n', p->out);
    }
    fputs("EOD\nset style fill solid 0.85 noborder\nset boxwidth 0.9\nset style histogram "
          "clustered gap 1\nset xtics rotate by -30\n",
          p->out);
    for (size_t y = 0; y < 8 && p->f->y[y]; y++) {
        fprintf(p->out, "%s$d%zu using %zu:xtic(1) with histograms lc rgb '%s' title ",
                y ? ", \\\n  " : "plot ", block, y + 2, colours[y % COLOURS]);
        put_text(e->columns[lab_column_index(e, p->f->y[y])].title, p->out);
    }
    fputc('\n', p->out);
}

static void put_axes(const plot *p) {
    fputs("set title ", p->out);
    put_text(p->panel ? p->panel : p->f->title, p->out);
    fputs("\nset xlabel ", p->out);
    put_text(p->f->x_label ? p->f->x_label : "", p->out);
    fputs("\nset ylabel ", p->out);
    put_text(p->f->y_label ? p->f->y_label : "", p->out);
    fprintf(p->out, "\nset yrange %s\n", p->f->y_range ? p->f->y_range : "[*:*]");
    fputs(p->f->log_x ? "set logscale x\n" : "unset logscale x\n", p->out);
    fputs(p->f->log_y ? "set logscale y\n" : "unset logscale y\n", p->out);
}

static double greatest_x(const plot *p) {
    double most = 0;
    for (size_t c = 0; c < p->r->case_count; c++)
        for (size_t row = 0; row < p->r->cells[c].rows; row++)
            most = fmax(most, value_at(p, c, row, p->x));
    return most;
}

/* Numbers on the x axis: plain where small, else with k, M, G. */
static const char *x_format(const plot *p) {
    if (greatest_x(p) < 1000) return "%g";
    return p->f->log_x ? "%.0s%c" : "%.1s%c";
}

/* From number to number on the x axis of a small panel: 1, 2 or 5 times a power of ten,
 * so that there is room for each. */
static double x_step(const plot *p) {
    double least = greatest_x(p) / 4, ten = pow(10, floor(log10(least)));
    return ten * (least <= ten ? 1 : least <= 2 * ten ? 2 : least <= 5 * ten ? 5 : 10);
}

static size_t find_panels(const lab_result *r, const char **panels) {
    size_t count = 0;
    for (size_t c = 0; c < r->case_count; c++) {
        const char *panel = r->experiment->cases[c].panel;
        size_t i = 0;
        if (!r->cells[c].rows) continue;
        while (i < count && panel && panels[i] && strcmp(panels[i], panel) != 0) i++;
        if (i == count && count < MOST_PANELS) panels[count++] = panel;
    }
    return count;
}

/* Names inside the drawing must be unique on a page that holds several. */
static const char *drawing_name(const lab_result *r, const lab_figure *f, char *name, size_t size) {
    snprintf(name, size, "%s_%td", r->experiment->name, f - r->experiment->figures);
    for (char *at = name; *at; at++)
        if (*at == '-' || *at == '.') *at = '_';
    return name;
}

/* A panel has a line of its legend for each curve; a lone plot has room for some. */
static size_t height_of(plot *p, const char *const *panels, size_t count) {
    curve curves[MOST_CURVES];
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        p->panel = panels[i];
        size_t here = find_curves(p, curves, MOST_CURVES);
        if (here > most) most = here;
    }
    if (count == 1) return HEIGHT + KEY_HEIGHT * (most > ROOM_FOR ? most - ROOM_FOR : 0);
    return SMALL_HEIGHT + KEY_HEIGHT * most;
}

static void put_script(const lab_result *r, const lab_figure *f, const char *path, FILE *out) {
    const char *panels[MOST_PANELS];
    char name[64];
    size_t count = find_panels(r, panels), columns = count > 1 ? 2 : 1;
    size_t lines = (count + columns - 1) / columns;
    plot p = {.r = r, .f = f, .x = f->x ? lab_column_index(r->experiment, f->x) : 0, .out = out};
    fprintf(out,
            "set terminal svg noenhanced size %d,%zu dynamic font 'sans-serif,14' name '%s'\n"
            "set output ",
            WIDTH, lines * height_of(&p, panels, count), drawing_name(r, f, name, sizeof name));
    put_text(path, out);
    fprintf(out,
            "\nset border 3\nset tics nomirror\nset grid ytics lw 0.5\n"
            "set key outside below height 0.5 samplen 2 spacing 1.1\nset format x '%s'\n",
            x_format(&p));
    if (count > 1 && f->log_x) fputs("set xtics 100\n", out);
    else if (count > 1 && f->style != LAB_BARS) fprintf(out, "set xtics %g\n", x_step(&p));
    if (count > 1 && f->log_y) fputs("set ytics 100\n", out);
    if (count > 1) fprintf(out, "set multiplot layout %zu,%zu\n", lines, columns);
    for (size_t i = 0; i < count; i++) {
        p.panel = panels[i];
        put_axes(&p);
        if (f->style == LAB_BARS) put_bars(&p);
        else put_lines(&p);
    }
    if (count > 1) fputs("unset multiplot\n", out);
}

/* --- running gnuplot ------------------------------------------------------------------ */

/* Its exit code, or -1 if it is not installed. */
static int run_gnuplot(const char *script) {
    char program[] = "gnuplot", *argv[] = {program, (char *)script, NULL};
    posix_spawn_file_actions_t quiet;
    pid_t child;
    int code = -1;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", 1, 0);
    if (!posix_spawnp(&child, program, &quiet, NULL, argv, environ)) {
        while (waitpid(child, &code, 0) < 0 && errno == EINTR) {
        }
        code = WIFEXITED(code) && WEXITSTATUS(code) != 127 ? WEXITSTATUS(code) : -1;
    }
    posix_spawn_file_actions_destroy(&quiet);
    return code;
}

bool lab_check_plot(const lab_session *session) {
    if (run_gnuplot("/dev/null") == 0) return true;
    lab_warn(session, "gnuplot is not installed: tables are made, figures are not; install "
                      "gnuplot-nox");
    return false;
}

static char *read_whole(const char *path) {
    char *text = NULL;
    size_t length = 0;
    int c;
    FILE *in = fopen(path, "r"), *copy = open_memstream(&text, &length);
    while (in && copy && (c = fgetc(in)) != EOF) fputc(c, copy);
    if (copy) fclose(copy);
    if (in) fclose(in);
    return text;
}

/* Black becomes the page's ink, grey its lines; what gnuplot names in every
 * drawing gets this drawing's name before it. */
static bool ink(const char *path, const char *name) {
    static const struct {
        const char *from, *to;
        bool named;
    } changes[] = {{"black", "var(--ink, black)", false},
                   {"white", "var(--paper, white)", false},
                   {"rgb(  0,   0,   0)", "var(--ink, black)", false},
                   {"gray", "var(--line, gray)", false},
                   {"gpDot", "gpDot", true},
                   {"gpPt", "gpPt", true},
                   {"gnuplot_canvas", "canvas", true},
                   {"textbox", "textbox", true},
                   {"greybox", "greybox", true}};
    const size_t count = sizeof changes / sizeof *changes;
    char *text = read_whole(path);
    FILE *out = text ? fopen(path, "w") : NULL;
    for (const char *at = text; out && *at;) {
        size_t i = 0;
        while (i < count && strncmp(at, changes[i].from, strlen(changes[i].from)) != 0) i++;
        if (i < count) {
            fprintf(out, "%s%s", changes[i].named ? name : "", changes[i].to);
            at += strlen(changes[i].from);
        } else {
            fputc(*at++, out);
        }
    }
    bool done = out && !fclose(out);
    free(text);
    return done;
}

weir_status lab_plot(const lab_result *r, size_t i, const char *path, weir_error *err) {
    char script[1100], name[64];
    snprintf(script, sizeof script, "%s.gnuplot", path);
    unlink(path);
    FILE *out = fopen(script, "w");
    if (!out)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", script, strerror(errno));
    put_script(r, &r->experiment->figures[i], path, out);
    if (fclose(out) || run_gnuplot(script) != 0)
        return lab_error(err, WEIR_ERR_IO, -1, "gnuplot failed; its script is '%s'", script);
    unlink(script);
    drawing_name(r, &r->experiment->figures[i], name, sizeof name);
    return ink(path, name) ? WEIR_OK : lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s'", path);
}
