/* messages.c - how a program of weir speaks: errors, warnings, and the end of standard output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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

/* Advice that follows an error, by its cause. */
static const char *const advice[STREAM_CAUSES] = {
    [STREAM_CAUSE_NO_ROOM] =
        "; make room, then go on with --resume if a --state was kept, or start over",
    [STREAM_CAUSE_MEMORY] = ": give less to other programs, or lower --memory or --threads",
    [STREAM_CAUSE_THREAD] = "; try fewer --threads",
    [STREAM_CAUSE_LONG] = ": check --format, or raise --max-record",
    [STREAM_CAUSE_LONG_CSV] = ": look for a quote that is never closed, or raise --max-record",
    [STREAM_CAUSE_LONG_MESSAGE] = ": it is longer than --max-record",
    [STREAM_CAUSE_NO_HEADER] = ": give --header, or the number of the column",
    [STREAM_CAUSE_FEED_HEADER] = "; give --key by number",
    [STREAM_CAUSE_LINE_NAME] = ": give their numbers, or --format csv, json or clf",
    [STREAM_CAUSE_TIME] = "; --time-format says how times are written",
    [STREAM_CAUSE_TIME_UNIX] = ": --time-format unix",
    [STREAM_CAUSE_TIME_MS] = ": --time-format unix-ms",
    [STREAM_CAUSE_TIME_US] = ": --time-format unix-us",
    [STREAM_CAUSE_TIME_NS] = ": --time-format unix-ns",
    [STREAM_CAUSE_TIME_ISO] = ": --time-format iso",
    [STREAM_CAUSE_TIME_CLF] = ": --time-format clf",
    [STREAM_CAUSE_MANY_VALUES] = "; raise --values",
};

const char *cli_stream_words(stream_error *err) {
    size_t used = strlen(err->message);
    const char *more = advice[err->cause];
    if (more) snprintf(err->message + used, sizeof err->message - used, "%s", more);
    err->cause = STREAM_CAUSE_OTHER;
    return err->message;
}

int cli_stream_error(stream_error *err) { return cli_error("%s", cli_stream_words(err)); }

void cli_warn(const char *format, ...) {
    char text[2048];
    va_list args;
    if (quiet) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say(text);
}

int cli_reader_left(void) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    return 128 + SIGPIPE;
}

int cli_finish_stdout(void) {
    if (!fflush(stdout) && !ferror(stdout)) return EXIT_DONE;
    if (errno == EPIPE) return cli_reader_left();
    return cli_error("cannot write to standard output: %s", strerror(errno));
}

void cli_fill_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0) return;
}
