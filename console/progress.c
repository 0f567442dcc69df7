/* progress.c - one line that shows how a run is doing.
 *
 *     12.3M records, 4.1M/s, 31.2% repeats, 45% done, 12s left
 *
 * On a terminal it is rewritten in place five times a second and cut to the
 * width of the window; elsewhere (--progress into a file, or a terminal that
 * cannot erase) it is a line of its own once a second. Work that is done within
 * a second shows none. The speed is that of the last few seconds, so that it
 * follows a pipe that runs dry; the time left is from the whole run, so that
 * it does not jump.
 */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"
#include "weir_text.h"

enum {
    TICK_MS = 200,        /* between two drawings on a terminal */
    PLAIN_TICK_MS = 1000, /* between two lines elsewhere */
    FIRST_MS = 1000       /* before the first */
};

#define ERASE_TO_END "\033[K"

static struct {
    bool on;
    bool terminal;
    bool shown; /* a line stands on the screen */
    uint64_t total, done_before;
    int64_t started, last;
    uint64_t last_records;
    double rate; /* records a second, smoothed */
} line;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A terminal on which a line can be erased. */
static bool can_erase(int fd) {
    const char *kind = getenv("TERM");
    return isatty(fd) && !(kind && !strcmp(kind, "dumb"));
}

void progress_start(progress_mode mode, uint64_t total, uint64_t done) {
    memset(&line, 0, sizeof line);
    line.terminal = can_erase(STDERR_FILENO);
    line.on = mode == PROGRESS_ON || (mode == PROGRESS_AUTO && line.terminal);
    line.total = total;
    line.done_before = done;
    line.started = line.last = now_ms();
}

static int window_width(void) {
    struct winsize w;
    if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col > 0) return w.ws_col;
    return 80;
}

/* Append ", 45% done, 12s left" as far as it can be told. */
static size_t put_share(char *text, size_t used, size_t size, uint64_t bytes, int64_t now) {
    if (!line.total || used >= size) return used;
    double share = (double)bytes / (double)line.total;
    if (share > 1) share = 1;
    used += (size_t)snprintf(text + used, size - used, ", %.0f%% done", 100 * share);
    double read = (double)bytes - (double)line.done_before;
    double left = (double)line.total - (double)bytes;
    if (read <= 0 || left < 0 || now - line.started < 1000 || used >= size) return used;
    char span[32];
    double seconds = left / read * (double)(now - line.started) / 1000;
    if (seconds > 1e8) return used;
    weir_print_duration(span, (int64_t)(seconds + 0.5) * 1000000000);
    return used + (size_t)snprintf(text + used, size - used, ", %s left", span);
}

static void put_line(const char *text) {
    if (line.terminal) {
        fprintf(stderr, "\r%.*s" ERASE_TO_END, window_width() - 1, text);
    } else {
        fprintf(stderr, "%s\n", text);
    }
    fflush(stderr);
    line.shown = line.terminal;
}

static void show(uint64_t records, uint64_t seen, uint64_t bytes, int64_t now) {
    char text[256], count[32], rate[32];
    double repeats = records ? 100.0 * (double)seen / (double)records : 0;
    size_t used = (size_t)snprintf(text, sizeof text, "%s record%s, %s/s",
                                   weir_print_count(count, (double)records),
                                   records == 1 ? "" : "s", weir_print_count(rate, line.rate));
    if (seen != PROGRESS_NO_REPEATS)
        used += (size_t)snprintf(text + used, sizeof text - used, ", %.1f%% repeats", repeats);
    put_share(text, used, sizeof text, bytes, now);
    put_line(text);
}

static bool is_due(int64_t now) {
    return now - line.started >= FIRST_MS &&
           now - line.last >= (line.terminal ? TICK_MS : PLAIN_TICK_MS);
}

void progress_step(const char *what, uint64_t done) {
    int64_t now = now_ms();
    if (!line.on || !is_due(now)) return;
    char text[256], bar[] = "....................";
    double share = line.total ? (double)done / (double)line.total : 0;
    for (size_t i = 0; bar[i] && (double)(i + 1) <= share * (double)(sizeof bar - 1); i++)
        bar[i] = '#';
    size_t used = (size_t)snprintf(text, sizeof text, "[%s] %.100s", bar, what);
    put_share(text, used, sizeof text, done, now);
    put_line(text);
    line.last = now;
}

void progress_update(uint64_t records, uint64_t seen, uint64_t bytes) {
    int64_t now = now_ms();
    if (!line.on || !is_due(now)) return;
    double rate = (double)(records - line.last_records) * 1000 / (double)(now - line.last);
    line.rate = line.rate > 0 ? 0.8 * line.rate + 0.2 * rate : rate;
    line.last = now;
    line.last_records = records;
    show(records, seen, bytes, now);
}

bool progress_is_on(void) { return line.on; }

void progress_clear(void) {
    if (!line.shown) return;
    fputs("\r" ERASE_TO_END, stderr);
    fflush(stderr);
    line.shown = false;
}
