/* manual.h - help texts, man pages and completions from the option tables. */
#ifndef WEIR_MANUAL_H
#define WEIR_MANUAL_H

#include "opts.h"

typedef enum { MANUAL_TEXT, MANUAL_ROFF } manual_form;

/* One screen: how to call it and the options used most. */
void manual_brief(const opt_command *command);

/* All of it, as plain text for a terminal or as a man page. */
void manual_print(const opt_command *command, manual_form form);

/* How to choose a filter, made from the library's tables of filters. */
void manual_filters(manual_form form);

/* The page on choosing a sketch. */
void manual_sketches(manual_form form);

/* The completion script of a shell, "bash", "zsh" or "fish", on standard output. */
void completion_print(const char *shell);

#endif
