/* lab_run.h - the parts of a session that run.c and report.c share. */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "lab.h"
#include "lab_result.h"

/* One line to the person, if anyone listens. */
void lab_warn(const lab_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write DIR/NAME.csv, DIR/NAME.md and (draw) the figures DIR/NAME-1.svg, ... */
weir_status lab_write_result(const lab_session *session, const lab_result *result, bool draw,
                             weir_error *err);

/* lab_tables.c */
void lab_table_csv(const lab_result *result, FILE *out);
void lab_table_markdown(const lab_result *result, FILE *out);
void lab_table_html(const lab_result *result, FILE *out);
void lab_table_json(const lab_result *result, FILE *out);
void lab_json_text(const char *text, FILE *out);
void lab_html_text(const char *text, FILE *out);
const char *lab_command_of(const lab_result *result, char *buffer, size_t size);
const char *lab_print_number(char buffer[32], double value);

/* lab_plot.c: is gnuplot there (a line says so if not); draw figure i of a result. */
bool lab_check_plot(const lab_session *session);
weir_status lab_plot(const lab_result *result, size_t i, const char *path, weir_error *err);
size_t lab_figure_count(const lab_experiment *experiment);

/* lab_page.c */
weir_status lab_write_page(const lab_session *session, lab_result *const *results, size_t count,
                           const char *path, weir_error *err);

#endif
