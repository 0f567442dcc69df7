/* plot.h - small plots, in the terminal and as SVG.
 *
 * One description serves both: lines through points that share their x, or bars.
 */
#ifndef WEIR_PLOT_H
#define WEIR_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints a value for an axis into a buffer of 32 bytes and returns it. */
typedef char *plot_text(char *buffer, double value);

typedef struct {
    const char *name;
    const double *y; /* as many as there are points; NAN: none here */
} plot_series;

typedef struct {
    const char *title, *x_name, *y_name;
    bool bars;  /* one bar for each point and series, instead of lines */
    bool x_log; /* lines: equal ratios of x are equal distances */
    size_t points;
    const double *x;
    plot_text *x_text, *y_text;
    const plot_series *series; /* at most PLOT_SERIES_MOST are drawn */
    size_t series_count;
} plot;

enum { PLOT_SERIES_MOST = 6 }; /* curves of a plot: as many as there are signs and colours */

/* width, height: of the whole, in characters. */
void plot_terminal(FILE *out, const plot *p, int width, int height);

/* Write an SVG that suits light and dark pages. EXIT_DONE, or EXIT_TROUBLE after a
 * message. */
int plot_svg(const char *path, const plot *p);

/* Texts for axes: 25%, 64M (a size), 12.3K (a count). */
char *plot_rate(char *buffer, double value);
char *plot_size(char *buffer, double value);
char *plot_count(char *buffer, double value);

#endif
