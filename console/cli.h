/* cli.h - what the commands share: exit codes and one voice for messages.
 *
 * Every message is one line on standard error, `weir: COMMAND: what is wrong`,
 * lower case, the subject quoted, and what to try where there is something to
 * try. The program leaves with one of three numbers, like grep and diff.
 */
#ifndef WEIR_CLI_H
#define WEIR_CLI_H

#include <stdbool.h>

#include "stream.h"

enum {
    EXIT_DONE = 0,    /* all went well */
    EXIT_NOTHING = 1, /* nothing was new, and --exit-code asked for this */
    EXIT_TROUBLE = 2  /* one line on standard error says what */
};

/* Name the command that speaks; NULL for none. */
void cli_set_command(const char *name);

/* Say what is wrong. Returns EXIT_TROUBLE, so that a caller can write
 * `return cli_error(...)`. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The message of an error of the reading or writing, with the options that may help; and the same
 * said as cli_error() does. */
const char *cli_stream_words(stream_error *err);
int cli_stream_error(stream_error *err);

/* Say what a person may want to know; silent after cli_be_quiet(). */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_be_quiet(void);

/* The reader of the output has gone: end as a filter does that SIGPIPE kills. Returns only where
 * the signal is blocked: the exit status. */
int cli_reader_left(void);

/* Flush standard output and complain if that fails, or end if its reader has gone: for commands
 * that print their answer. Returns EXIT_DONE or EXIT_TROUBLE. */
int cli_finish_stdout(void);

/* A file that is opened must not become standard output because the caller had
 * closed it: fill the gap with something on which reading or writing fails. */
void cli_fill_standard_streams(void);

#endif
