/* windows_main.c - weir-windows: which filter forgets least under a window?
 *
 * Question   at equal memory and false positive rate, how many repeats within the window
 *            does each windowed filter let through, and how much does it lose?
 * Truth      exact, and of what the user gets: a record is a repeat if its key was called
 *            NEW, and so passed on, within the window before it; else it is a first. A
 *            repeat called NEW is a false negative, a first called SEEN a false positive.
 *            (So each filter is measured against its own output, and one that passes a key
 *            on a little too early is not blamed again for what follows.)
 * Memory     in bits for each key of a window, of which there are as many as an exact
 *            filter passes on in one window, on average.
 *
 * A window of records is a tenth of its stream, so that ten go by. The web log is
 * also tried with the times of its lines.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lab_stream.h"
#include "lab_truth.h"

enum { BATCH = 1024, CONTENDERS = 5 };

static const struct {
    const char *name, *spec, *window; /* the option that the window is given by */
} contenders[CONTENDERS] = {{"recent", "recent:", "window"},
                            {"sliding block", "window:layout=block,", "length"},
                            {"sliding classic", "window:layout=classic,", "length"},
                            {"jumping block", "window:mode=jumping,layout=block,", "length"},
                            {"jumping classic", "window:mode=jumping,layout=classic,", "length"}};

static const struct {
    const char *name, *spec, *quick;
} references[] = {
    {"uniform", "uniform:n=3M,universe=1M", "uniform:n=240K,universe=80K"},
    {"zipf-0.9", "zipf:n=3M,s=0.9,domain=1500K", "zipf:n=240K,s=0.9,domain=120K"},
    {"poisson", "poisson:n=4194304,lambda=0.5,u=250K", "poisson:n=262144,lambda=0.5,u=16K"},
    {"weblog", "weblog", "weblog"},
    {"repo_urls", "repo_urls", NULL}};

/* A stream as numbers of keys, in order, with hashes and (or not) times. */
typedef struct {
    char name[32];
    uint32_t *keys;
    uint64_t *hashes;
    int64_t *times; /* NULL: the number of the record is its time */
    size_t count, distinct;
    int64_t window;
} stream;

typedef struct {
    uint64_t repeats, firsts, false_new, false_seen;
} errors;

static void die(const char *what, const char *why) {
    fprintf(stderr, "weir-windows: %s: %s\n", what, why);
    exit(2);
}

static void *must(void *memory) {
    if (!memory) die("out of memory", "the streams are some millions of records");
    return memory;
}

static int64_t time_of(const stream *s, size_t i) {
    return s->times ? s->times[i] : (int64_t)i + 1;
}

/* --- streams -------------------------------------------------------------------------- */

/* From ids to numbers of keys, and to hashes that fill 64 bits. */
static void number_keys(stream *s, const uint64_t *ids) {
    lab_set *set = must(lab_set_new(s->count));
    bool first;
    s->keys = must(malloc(s->count * sizeof *s->keys));
    s->hashes = must(malloc(s->count * sizeof *s->hashes));
    for (size_t i = 0; i < s->count; i++) {
        s->keys[i] = lab_set_number(set, ids[i], &first);
        s->hashes[i] = XXH3_64bits_withSeed(&ids[i], sizeof ids[i], 1);
    }
    s->distinct = lab_set_count(set);
    lab_set_free(set);
}

static bool read_stream(stream *s, const char *name, const char *spec) {
    uint64_t *ids;
    weir_error err;
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    if (lab_stream_collect(&ids, &s->count, spec, 1, &err)) {
        fprintf(stderr, "weir-windows: without %s: %s\n", name, err.message);
        return false;
    }
    number_keys(s, ids);
    free(ids);
    s->window = (int64_t)s->count / 10;
    return true;
}

/* Client, time and URL of a line of the log; false if it has no such. */
static bool read_log_line(char *line, uint64_t *id, int64_t *when) {
    struct tm tm = {0};
    char *client = strtok(line, " "), *open = strtok(NULL, "["), *url;
    char *date = open ? strtok(NULL, " ") : NULL;
    if (!date || !strptime(date, "%d/%b/%Y:%H:%M:%S", &tm)) return false;
    if (!strtok(NULL, "\"") || !strtok(NULL, " ") || !(url = strtok(NULL, " "))) return false;
    *id = XXH3_64bits_withSeed(url, strlen(url), XXH3_64bits(client, strlen(client)));
    *when = (int64_t)timegm(&tm) * 1000000000;
    return true;
}

/* The web log with its own times, and a day for a window. */
static bool read_timed_log(stream *s) {
    enum { MOST = 300000 };
    char path[400], command[512], line[16384];
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "weblog, 1 day");
    lab_data_path(path, sizeof path, "weblog.log.zst", NULL);
    snprintf(command, sizeof command, "zstd -dcq '%s' 2>/dev/null", path);
    FILE *file = popen(command, "r");
    uint64_t *ids = must(calloc(MOST, sizeof *ids));
    s->times = must(malloc(MOST * sizeof *s->times));
    while (file && s->count < MOST && fgets(line, sizeof line, file))
        s->count += read_log_line(line, &ids[s->count], &s->times[s->count]);
    if (file) pclose(file);
    if (s->count) number_keys(s, ids);
    else fprintf(stderr, "weir-windows: without the times of the web log: it is not there\n");
    free(ids);
    s->window = INT64_C(86400) * 1000000000;
    return s->count > 0;
}

static void free_stream(stream *s) { free(s->keys), free(s->hashes), free(s->times); }

/* --- one filter ------------------------------------------------------------------------ */

static bool within(const stream *s, int64_t last, int64_t now) {
    return last != INT64_MIN && now - last <= s->window;
}

/* Keys in a window: what an exact filter passes on, over the windows that go by. */
static double keys_in_window(const stream *s) {
    int64_t *last = must(malloc(s->distinct * sizeof *last));
    double passed = 0;
    for (size_t i = 0; i < s->distinct; i++) last[i] = INT64_MIN;
    for (size_t i = 0; i < s->count; i++)
        if (!within(s, last[s->keys[i]], time_of(s, i))) last[s->keys[i]] = time_of(s, i), passed++;
    free(last);
    return passed * (double)s->window / (double)(time_of(s, s->count - 1) - time_of(s, 0));
}

static bool run_filter(const stream *s, const char *spec, errors *e) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(BATCH)];
    weir_filter *filter;
    weir_error err;
    memset(e, 0, sizeof *e);
    if (weir_filter_new(&filter, spec, &err)) return false;
    int64_t *last = must(malloc(s->distinct * sizeof *last));
    for (size_t i = 0; i < s->distinct; i++) last[i] = INT64_MIN;
    for (size_t at = 0; at < s->count; at += BATCH) {
        size_t n = s->count - at < BATCH ? s->count - at : BATCH;
        weir_batch batch = {
            .count = n, .hashes = s->hashes + at, .times = s->times ? s->times + at : NULL};
        weir_filter_offer_batch(filter, &batch, verdicts);
        for (size_t i = 0; i < n; i++) {
            int64_t *mine = &last[s->keys[at + i]], now = time_of(s, at + i);
            bool seen = verdicts[i / 64] >> (i % 64) & 1, repeat = within(s, *mine, now);
            e->repeats += repeat, e->firsts += !repeat;
            e->false_new += repeat && !seen, e->false_seen += !repeat && seen;
            if (!seen) *mine = now;
        }
    }
    free(last);
    weir_filter_free(filter);
    return true;
}

static void print_cell(const stream *s, size_t who, double bytes, double fpr) {
    char spec[256];
    errors e;
    snprintf(spec, sizeof spec, "%smemory=%.0f,fpr=%.12f,seed=1,%s=%lld%s", contenders[who].spec,
             bytes < 1024 ? 1024 : bytes, fpr, contenders[who].window, (long long)s->window,
             s->times ? "ns" : "");
    if (!run_filter(s, spec, &e)) printf(" - |");
    else
        printf(" %.2f (%.2g) |", e.repeats ? 100.0 * (double)e.false_new / (double)e.repeats : 0,
               e.firsts ? 100.0 * (double)e.false_seen / (double)e.firsts : 0);
    fflush(stdout);
}

/* --- all of it --------------------------------------------------------------------------- */

static void print_stream(const stream *s) {
    static const double rates[] = {0.01, 0.000001}, bits[] = {8, 16, 32, 64, 128};
    double keys = keys_in_window(s);
    for (size_t r = 0; r < 2; r++)
        for (size_t b = 0; b < 5; b++) {
            printf("| %s | %.3g | %g%% | %g |", s->name, keys, 100 * rates[r], bits[b]);
            for (size_t who = 0; who < CONTENDERS; who++)
                print_cell(s, who, keys * bits[b] / 8, rates[r]);
            puts("");
        }
}

int main(int argc, char **argv) {
    bool quick = argc == 2 && !strcmp(argv[1], "--quick");
    if (argc > 1 && !quick) {
        fputs(
            "usage: weir-windows [--quick]\nFalse negatives (and false positives) of the windowed "
            "filters, in percent.\n",
            stderr);
        return 2;
    }
    printf("| stream | keys in a window | fpr | bits a key |");
    for (size_t i = 0; i < CONTENDERS; i++) printf(" %s |", contenders[i].name);
    puts("\n|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    stream s;
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const char *spec = quick ? references[i].quick : references[i].spec;
        if (!spec || !read_stream(&s, references[i].name, spec)) continue;
        print_stream(&s);
        free_stream(&s);
    }
    if (read_timed_log(&s)) print_stream(&s);
    free_stream(&s);
    return 0;
}
