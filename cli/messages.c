/* messages.c - how a program of weir speaks: errors, warnings, and the end of standard output. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

/* One process, one voice: the only state that the commands share. */
static const char *speaker;
static bool quiet;

void cli_set_command(const char *name) { speaker = name; }

void cli_be_quiet(void) { quiet = true; }

static void say(const char *text) {
    progress_clear();
    fputs("weir: ", stderr);
    if (speaker) fprintf(stderr, "%s: ", speaker);
    fprintf(stderr, "%s\n", text);
}

int cli_error(const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(text);
    return EXIT_TROUBLE;
}

void cli_warn(const char *format, ...) {
    char text[2048];
    va_list args;
    if (quiet) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(text);
}

int cli_finish_stdout(void) {
    if (!fflush(stdout) && !ferror(stdout)) return EXIT_DONE;
    if (errno == EPIPE) return EXIT_DONE; /* the reader has had enough */
    return cli_error("cannot write to standard output: %s", strerror(errno));
}

void cli_fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) return;
}
