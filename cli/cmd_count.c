/* cmd_count.c - weir count: the table of its options, and from words to settings.
 *
 * What is asked for is checked here, before anything is opened or made. What the
 * settings then do is in count_run.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"
#include "opts.h"
#include "values.h"

enum {
    C_TOP = 1,
    C_ABOVE,
    C_QUERY,
    C_QUERY_FILE,
    C_DISTINCT,
    C_SELF_JOIN,
    C_JOIN,
    C_RANGE,
    C_QUANTILES,
    C_SAMPLE,
    C_SPECTRUM,
    C_WHERE,
    C_CHANGES,
    C_WEIGHT,
    C_WINDOW,
    C_DECAY,
    C_GROUP,
    C_GROUPS,
    C_SKETCH,
    C_ESTIMATOR,
    C_MEMORY,
    C_ERROR,
    C_CONFIDENCE,
    C_SEED,
    C_EXACT,
    C_EVERY,
    C_STATE,
    C_SAVE_EVERY,
    C_JSON,
    C_CSV,
    C_PLOT
};

#define G_QUESTIONS "Questions"
#define G_OF "Weights and groups"
#define G_SKETCHES "Sketches"
#define G_WINDOW "Window"
#define G_STATE "State"
#define G_REPORT "Reports"

static const opt_entry count_table[] = {
    {C_TOP, "top", 'n', OPT_VALUE, "N", NULL, "10", G_QUESTIONS, true, "The N most frequent keys.",
     "With their counts, bounds that hold the truth in 99 cases of 100 at least, and their share "
     "of the total. Below the list stands how often a key that is not in it may have come by."},
    {C_ABOVE, "above", 0, OPT_VALUE, "SHARE", NULL, NULL, G_QUESTIONS, true,
     "Every key above a share of the total, such as `0.1%`.",
     "None that is above is missed, unless the list says that it may lack some: that takes a "
     "`--memory` that is too small, or negative weights. Some that are a little below may be in "
     "the list."},
    {C_QUERY, "query", 'Q', OPT_LIST, "KEY", NULL, NULL, G_QUESTIONS, true,
     "How often KEY came by.",
     "For a --key of several columns write a row of them, for a JSON path the JSON value (or the "
     "bare string, if it is not a value), for several an array. May be given up to 64 times."},
    {C_QUERY_FILE, "query-file", 0, OPT_LIST, "FILE", NULL, NULL, G_QUESTIONS, false,
     "How often each line of FILE came by.", "Each is a key as for `--query`."},
    {C_DISTINCT, "distinct", 'd', OPT_FLAG, NULL, NULL, NULL, G_QUESTIONS, true,
     "How many different keys.", NULL},
    {C_SELF_JOIN, "self-join", 0, OPT_FLAG, NULL, NULL, NULL, G_QUESTIONS, false,
     "The sum of the squares of all counts (F2).",
     "As many rows a join of the table with itself on the key would have; a measure of skew."},
    {C_JOIN, "join", 0, OPT_VALUE, "FILE", NULL, NULL, G_QUESTIONS, false,
     "The size of a join with FILE on the key.",
     "FILE is read first, as the input is. With `--distinct` also how many different keys are in "
     "both."},
    {C_RANGE, "range", 0, OPT_LIST, "A:B", NULL, NULL, G_QUESTIONS, false,
     "How many keys are integers from A to B, both included.",
     "Keys must be integers of 64 bits. May be given up to 64 times."},
    {C_QUANTILES, "quantiles", 0, OPT_LIST, "LIST", NULL, NULL, G_QUESTIONS, false,
     "Percentiles of keys that are numbers, such as `50,90,99`.",
     "The least key that so many percent of the records do not exceed; 0 is the smallest and 100 "
     "the largest, exactly. In 1M the rank of any other is off by at most 0.006% of the records, "
     "in 99 cases of 100. Keys are integers of 64 bits or decimal numbers; with `--range` integers "
     "only. With `--weight` a percentile is of the weights, which are whole numbers from 0 on; "
     "`--sketch dyadic:bits=64` takes weights with fractions or below 0, with keys that are "
     "integers, wider intervals, and 0 and 100 not exact."},
    {C_SAMPLE, "sample", 0, OPT_VALUE, "N", NULL, NULL, G_QUESTIONS, false,
     "The keys of N random records.", "Each record has the same chance."},
    {C_SPECTRUM, "spectrum", 0, OPT_FLAG, NULL, NULL, NULL, G_QUESTIONS, false,
     "How many keys came once, twice, ...",
     "From a sample of the different keys, each with its exact count."},
    {C_WHERE, "where", 0, OPT_VALUE, "PATTERN", NULL, NULL, G_QUESTIONS, false,
     "With `--distinct`: how many of the different keys fit a pattern.",
     "As in the shell: `*`, `?` and `[a-z]`; with `!` before it those that do not fit. From a "
     "sample of the different keys."},
    {C_CHANGES, "changes", 0, OPT_VALUE, "OLD", NULL, NULL, G_QUESTIONS, false,
     "The keys whose counts differ most between two states: `--changes OLD NEW`.",
     "OLD and NEW were made with `--top N --state` and the same `--seed`. Nothing is read; "
     "`--top` says how many keys to show."},

    {C_WEIGHT, "weight", 'w', OPT_VALUE, "FIELD", NULL, "1", G_OF, true,
     "Add up a column or JSON path instead of counting.",
     "Any decimal number; a negative one takes back, where the question allows it: `--distinct` "
     "and `--sample` do not. The bounds of a count hold while no key was taken back more often "
     "than it came; where that may happen ask with `--estimator agms`. A record without it, as "
     "with `-` in clf, is treated by `--on-missing`, one in which it is not a number by "
     "`--on-bad`."},
    {C_GROUP, "group", 'g', OPT_VALUE, "FIELD", NULL, NULL, G_OF, true,
     "Answer for each value of a column or JSON path.",
     "Each group has small sketches of its own: 64K for counts, `--quantiles` and lists of up to "
     "100 keys (unless `--memory` says otherwise), 1M for a longer list and 400 bytes for each of "
     "its keys, 4K for `--distinct`, 256K for `--range`; with `--window` 18 times that. Groups are "
     "printed the largest first. With `--join` each is joined with all of the other file; with "
     "`--exact` "
     "each has its share of the memory for exact counts."},
    {C_GROUPS, "groups", 0, OPT_VALUE, "N", NULL, "100", G_OF, false,
     "The most groups to tell apart.",
     "The first N values become groups, all later ones share one more, which is printed last. "
     "Memory is bounded by N + 1 times that of a group."},

    {C_MEMORY, "memory", 'm', OPT_VALUE, "SIZE", NULL, "1M; of a window 19M", G_SKETCHES, true,
     "Memory of the counters.",
     "Of each sketch that counts, the keys of a list included (about 400 bytes for each of "
     "`--top`, and for each that could be above `--above`, half of the memory at most); 16K for "
     "`--distinct` come on top, 18 times that in a window. Up to four threads count, each in "
     "sketches of its "
     "own, as many as fit into 4M more; with what the reader takes, all of it is at most 16M above "
     "what was asked for. Of a window it is the memory of all its panes; if it is not given, each "
     "of the 18 sketches of a window has 1M (19M in all, lists included), in groups 64K."},
    {C_ERROR, "error", 0, OPT_VALUE, "SHARE", NULL, NULL, G_SKETCHES, true,
     "Size by the error instead: `0.01%` of the total.",
     "The bound on what a count may be off, with `--confidence`. Estimates are mostly far "
     "better."},
    {C_CONFIDENCE, "confidence", 0, OPT_VALUE, "SHARE", NULL, "99%", G_SKETCHES, false,
     "The chance that `--error` holds, for each answer.", NULL},
    {C_ESTIMATOR, "estimator", 0, OPT_VALUE, "HOW", "auto|cm|cmm|cmm-mean|agms|mi", "auto",
     G_SKETCHES, false, "`auto`, `cm`, `cmm`, `cmm-mean`, `agms` or `mi`.",
     "= auto\nreads each key in the way that the counters show to be best\n\n"
     "= cm\nCount-min: never too low\n\n"
     "= cmm, cmm-mean\nCount-mean-min: less the noise of the row, by its median or mean; best "
     "where no key is very frequent\n\n"
     "= agms\nFast-AGMS (Count-sketch): noise cancels by signs\n\n"
     "= mi\nminimal increase (conservative update): as cm, closer, but cannot take back, nor be "
     "merged\n\n"
     "Which one when: docs/sketches.md has a page and a picture."},
    {C_SKETCH, "sketch", 0, OPT_LIST, "SPEC", NULL, NULL, G_SKETCHES, false,
     "A sketch of your own, such as `countmin:depth=7`.",
     "It takes the place of the one for the questions that it answers. May be given once for "
     "each. Kinds and options are in docs/sketches.md."},
    {C_SEED, "seed", 0, OPT_VALUE, "N", NULL, NULL, G_SKETCHES, false,
     "Make the run repeatable: same input, same answers.",
     "Without it a seed is drawn from the system. Sketches that are to be merged need the same "
     "one."},

    READ_RECORD_ROWS("", "", 0),
    READ_KEY_ROWS,
    READ_UNJUDGED_ROWS("Neither is counted; `pass` and `drop` only count how many there were."),

    {C_WINDOW, "window", 0, OPT_VALUE, "SPAN", NULL, NULL, G_WINDOW, true,
     "Only the last `10m` of time or `1M` records.",
     "A duration has a unit: ms, s, m, h or d (so 10m are minutes and 10M are records). The "
     "window moves in sixteenths, so it may reach back up to a sixteenth too far; its memory is "
     "that of 18 sketches. A list is chosen from the keys that each sixteenth keeps: four times as "
     "many "
     "keys "
     "as `--top`, and where `--memory` allows at least 400. A record that is out of order counts "
     "as "
     "of the latest time before it, however late it is. So none is left out, and there is no "
     "`--on-late`; `--max-leap` keeps one wrong time from emptying the window."},
    {C_DECAY, "decay", 0, OPT_VALUE, "HALF-LIFE", NULL, NULL, G_WINDOW, false,
     "A record counts half as much after each `1h` or `1M`.",
     "For counts, lists and join sizes: what is recent weighs more. In time or in records."},
    READ_TIME_ROWS,
    READ_LEAP_ROW,

    {C_STATE, "state", 0, OPT_VALUE, "FILE", NULL, NULL, G_STATE, true,
     "Count on across runs: load FILE if there, save it.",
     "Saved at the end, every `--save-every` and when stopped by a signal, always as a whole. "
     "It is refused if it does not fit the options; sizes that are not given are taken from it. "
     "One run at a time may use it. `weir inspect` shows it, `weir merge` adds up those of many "
     "machines."},
    {C_SAVE_EVERY, "save-every", 0, OPT_VALUE, "DURATION", NULL, "30s", G_STATE, false,
     "How often to save the state while running.",
     "With `--at`: how often to push what was counted. From 1ms up."},

    {AT_URL, "at", 0, OPT_VALUE, "URL", NULL, NULL, AT_GROUP, false,
     "Count together with other runs, on Redis or Valkey servers.",
     "`redis://[USER@]HOST[:PORT]/NAME`, `rediss://` with TLS, `redis+cluster://` and "
     "`rediss+cluster://` through any node of a cluster, `unix:/PATH?name=NAME`. The servers need "
     "weir's module. The first run makes the sketches NAME (`weir` if there is none), and all "
     "others must fit them. Each run counts for itself and pushes what it has at the end, every "
     "`--save-every` and when stopped by a signal; a push that is sent again counts once. Answers "
     "are about all that was pushed by any run. A run that is killed loses what it had not pushed. "
     "`weir merge` pushes state files to such an address, and takes from it."},
    AT_ACCESS_ROWS,

    {C_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, G_REPORT, true,
     "Print one JSON object (one a line for groups and --every).", NULL},
    {C_CSV, "csv", 0, OPT_FLAG, NULL, NULL, NULL, G_REPORT, true, "Print rows of CSV.", NULL},
    {C_PLOT, "plot", 0, OPT_OPTIONAL, "FILE.svg", NULL, NULL, G_REPORT, false,
     "Draw the list as bars, in the terminal or as SVG.", "The first 40 of it."},
    {C_EXACT, "exact", 0, OPT_OPTIONAL, "SIZE", NULL, "256M", G_REPORT, true,
     "Count exactly as well, and show the error.",
     "In a hash table of at most SIZE, then by sorting on disk (in TMPDIR). Exact but for "
     "collisions of 64-bit hashes."},
    {C_EVERY, "every", 0, OPT_VALUE, "DURATION", NULL, NULL, G_REPORT, true,
     "Print a running answer so often.", "For live streams; from 1ms up."},
    READ_METRICS_ROW,
    READ_PROGRESS_ROWS,
    {READ_THREADS, "threads", 'j', OPT_VALUE, "N", NULL, "the cores", "Running", false,
     "Threads to use.",
     "Counts are the same with any number; which keys stand at the very end of a list that is "
     "not complete may not be, nor from one run to the next if the input is a pipe."},
    {0},
};

/* --- from words to settings ---------------------------------------------------------- */

enum {
    TOP_MOST = 10000000,
    SAMPLE_MOST = 100000000,
    GROUPS_MOST = 1000000,
    GROUPS_STANDARD = 100,
    EXACT_STANDARD = 256 << 20, /* bytes of --exact */
    SPAN_LEAST = 1000000        /* ns: the shortest --every and --save-every */
};

/* The command line: settings, and words that are resolved when all options are read. */
typedef struct {
    count_settings s;
    bool json, csv;
    uint64_t top, sample, groups; /* 0: not given */
} request;

#define IN(member) offsetof(request, member)

static const opt_target targets[] = {
    {C_TOP, KEEP_COUNT, IN(top), 1, TOP_MOST},
    {C_ABOVE, KEEP_RATE, IN(s.above), 0, 0},
    {C_DISTINCT, KEEP_FLAG, IN(s.distinct), 0, 0},
    {C_SELF_JOIN, KEEP_FLAG, IN(s.self_join), 0, 0},
    {C_JOIN, KEEP_WORD, IN(s.join), 0, 0},
    {C_SAMPLE, KEEP_COUNT, IN(sample), 1, SAMPLE_MOST},
    {C_SPECTRUM, KEEP_FLAG, IN(s.spectrum), 0, 0},
    {C_WHERE, KEEP_WORD, IN(s.where), 0, 0},
    {C_CHANGES, KEEP_WORD, IN(s.changes), 0, 0},
    {C_WINDOW, KEEP_WORD, IN(s.window), 0, 0},
    {C_DECAY, KEEP_WORD, IN(s.decay), 0, 0},
    {C_GROUP, KEEP_WORD, IN(s.group), 0, 0},
    {C_GROUPS, KEEP_COUNT, IN(groups), 1, GROUPS_MOST},
    {C_MEMORY, KEEP_WORD_OF_SIZE, IN(s.memory), 0, 0},
    {C_ERROR, KEEP_WORD_OF_RATE, IN(s.error), 0, 0},
    {C_CONFIDENCE, KEEP_WORD_OF_RATE, IN(s.confidence), 0, 0},
    {C_SEED, KEEP_WORD_OF_SEED, IN(s.seed), 0, 0},
    {C_EVERY, KEEP_SPAN, IN(s.every), SPAN_LEAST, 0},
    {C_STATE, KEEP_PATH, IN(s.state), 0, 0},
    {C_SAVE_EVERY, KEEP_SPAN, IN(s.save_every), SPAN_LEAST, 0},
    {C_JSON, KEEP_FLAG, IN(json), 0, 0},
    {C_CSV, KEEP_FLAG, IN(csv), 0, 0},
    {0},
};

/* Two integers and a colon, of any size. */
static bool are_integers(const char *text) {
    for (int i = 0; i < 2; i++) {
        text += strspn(text, " ");
        text += *text == '-' || *text == '+';
        size_t digits = strspn(text, "0123456789");
        text += digits + strspn(text + digits, " ");
        if (!digits || *text++ != (i ? 0 : ':')) return false;
    }
    return true;
}

static int parse_range(const char *text, count_range *range) {
    const char *colon = strchr(text, ':');
    weir_error err;
    if (!colon) return cli_error("--range cannot be '%s'; it is two integers, such as 10:99", text);
    weir_status low = weir_parse_integer(text, (size_t)(colon - text), &range->low, &err);
    weir_status high =
        low ? low : weir_parse_integer(colon + 1, strlen(colon + 1), &range->high, &err);
    if (high != WEIR_OK && are_integers(text))
        return cli_error("--range '%s' is out of range: integers have 64 bits", text);
    if (high != WEIR_OK)
        return cli_error("--range cannot be '%s'; it is two integers, such as 10:99", text);
    if (range->low > range->high)
        return cli_error("--range '%s' is empty: it goes from the lower to the higher", text);
    return EXIT_DONE;
}

static int parse_quantiles(count_settings *s, const char *text) {
    for (const char *at = text;;) {
        char *end;
        double percent = strtod(at, &end);
        bool good = end > at && (*end == ',' || !*end) && percent >= 0 && percent <= 100;
        if (!good)
            return cli_error("--quantiles cannot be '%s'; it is a list of percentages from 0 to "
                             "100, such as 50,90,99",
                             text);
        if (s->quantile_count == ASK_MOST) return cli_error("--quantiles: at most 64");
        s->quantiles[s->quantile_count++] = percent / 100;
        if (!*end) return EXIT_DONE;
        at = end + 1;
    }
}

static int set_estimator(count_settings *s, const char *value) {
    static const weir_estimator by[] = {WEIR_BY_AUTO,     WEIR_BY_CM,   WEIR_BY_CMM,
                                        WEIR_BY_CMM_MEAN, WEIR_BY_AUTO, WEIR_BY_CM};
    int which = value_choice("auto|cm|cmm|cmm-mean|agms|mi", value);
    s->by = by[which];
    s->by_agms = !strcmp(value, "agms");
    s->conservative = !strcmp(value, "mi");
    return EXIT_DONE;
}

static int add_word(const char *flag, const char **list, size_t *count, const char *value) {
    if (*count == ASK_MOST) return cli_error("%s can be given at most 64 times", flag);
    list[(*count)++] = value;
    return EXIT_DONE;
}

static int set_option(void *settings, int id, const char *value) {
    count_settings *s = &((request *)settings)->s;
    int code;
    switch (id) {
    case C_QUERY:
    case C_QUERY_FILE:
        if (s->query_count < ASK_MOST) s->query_is_file[s->query_count] = id == C_QUERY_FILE;
        return add_word("--query", s->queries, &s->query_count, value);
    case C_RANGE:
        if (s->range_count == ASK_MOST) return cli_error("--range can be given at most 64 times");
        return parse_range(value, &s->ranges[s->range_count++]);
    case C_QUANTILES:
        return parse_quantiles(s, value);
    case C_WEIGHT:
        s->from.in.number_field = value;
        s->from.in.number_option = "--weight";
        return EXIT_DONE;
    case C_SKETCH:
        return add_word("--sketch", s->sketches, &s->sketch_count, value);
    case C_ESTIMATOR:
        return set_estimator(s, value);
    case C_EXACT:
        s->exact = true;
        return value ? value_number("--exact", value, 1024, 1ull << 50, true, &s->exact_memory)
                     : EXIT_DONE;
    case C_PLOT:
        s->plot = true;
        s->plot_file = value;
        return EXIT_DONE;
    default:
        code = reading_option(&s->from, id, value);
        return code == EXIT_DONE ? at_option(&s->at, id, value) : code;
    }
}

/* --- what needs or excludes what -------------------------------------------------------- */

static bool asks_counts(const count_settings *s) {
    return s->top || s->above > 0 || s->query_count || s->self_join || s->join;
}

static bool asks_integers(const count_settings *s) { return s->range_count || s->quantile_count; }

static int check_span(const char *flag, const char *text) {
    int64_t span;
    bool is_time;
    return text ? value_window(flag, text, 1000000, &span, &is_time) : EXIT_DONE;
}

static int check_past(const count_settings *s) {
    const char *span = s->window ? s->window : s->decay;
    if (s->window && s->decay) return cli_error("--window and --decay do not go together");
    int code = check_span("--window", s->window);
    if (code == EXIT_DONE) code = check_span("--decay", s->decay);
    if (code != EXIT_DONE) return code;
    if (s->decay && (s->distinct || asks_integers(s) || s->sample || s->spectrum))
        return cli_error("--decay goes with counts and lists; for --distinct, --range, "
                         "--quantiles and --sample use --window");
    if (span && s->join) return cli_error("--join goes with whole streams, not with a window");
    if (span && s->exact) return cli_error("--exact goes with whole streams, not with a window");
    if (s->from.in.time_field && (!span || !value_is_duration(span)))
        return cli_error("--time goes with a --window or --decay that is a duration, such as 1h");
    return EXIT_DONE;
}

static int check_sketches(const count_settings *s) {
    if (s->memory && s->error) return cli_error("give --memory or --error, not both");
    if (s->confidence && !s->error) return cli_error("--confidence goes with --error");
    if (s->conservative && (s->decay || s->window))
        return cli_error("--estimator mi does not go with a window: what was counted by minimal "
                         "increase cannot be added up or faded");
    if (s->conservative && !asks_counts(s))
        return cli_error("--estimator mi goes with --top, --above or --query");
    if (s->conservative && (s->self_join || s->join))
        return cli_error("--estimator mi cannot tell join sizes; use auto, cmm or agms");
    if (s->where && !s->distinct) return cli_error("--where goes with --distinct");
    if ((s->where || s->spectrum) && s->from.in.number_field)
        return cli_error("--where and --spectrum do not go with --weight: they count records");
    if (s->sample && s->from.in.number_field)
        return cli_error("--sample does not go with --weight: records are sampled one by one");
    return EXIT_DONE;
}

static int check_groups(const count_settings *s, bool limited) {
    bool parts = s->from.in.format != STREAM_FIXED && s->from.in.format != STREAM_LEN32;
    if (limited && !s->group) return cli_error("--groups goes with --group FIELD");
    if (!s->group) return EXIT_DONE;
    if (!parts)
        return cli_error("--group goes with --format lines, csv, tsv, json or clf; binary records "
                         "have no fields");
    if (s->plot_file)
        return cli_error("--plot=FILE.svg draws one list, and --group makes many; use --plot "
                         "without a file, or draw the rows of --csv");
    return EXIT_DONE;
}

static count_form form_of(const request *r) {
    return r->json ? FORM_JSON : r->csv ? FORM_CSV : FORM_TEXT;
}

static int check_output(request *r) {
    count_settings *s = &r->s;
    if (s->save_every && !s->state && !s->at.url && !s->from.metrics)
        return cli_error("--save-every goes with --state FILE, --at URL or --metrics FILE");
    if (!s->save_every) s->save_every = SAVE_EVERY_STANDARD;
    if (r->json && r->csv) return cli_error("give --json or --csv, not both");
    s->form = form_of(r);
    if (s->exact && s->state)
        return cli_error("--exact does not go with --state: the exact counts are not saved");
    if (s->plot && s->form != FORM_TEXT && !s->plot_file)
        return cli_error("--plot goes with --json and --csv only as --plot=FILE.svg");
    if (s->plot && !s->top && !(s->above > 0) && !s->query_count)
        return cli_error("--plot goes with --top, --above or --query");
    return EXIT_DONE;
}

/* --at: the sketches are added up on servers. */
static int check_at(const count_settings *s) {
    const char *span = s->window ? s->window : s->decay;
    if (at_resolve(&s->at) != EXIT_DONE) return EXIT_TROUBLE;
    if (!s->at.url) return EXIT_DONE;
    if (s->state) return cli_error("--state does not go with --at: the sum stays on the servers");
    if (s->group)
        return cli_error("--group does not go with --at; push each group's records apart");
    if (s->exact) return cli_error("--exact does not go with --at: others count there, too");
    if (span && !value_is_duration(span))
        return cli_error("a window of records does not go with --at, as each run has its own; "
                         "give a duration, such as 1h");
    return EXIT_DONE;
}

static int open_at(count_settings *s) {
    return s->at.url ? count_shelf_open(&s->shelf, s->at.url, &s->at) : EXIT_DONE;
}

static int resolve(request *r) {
    count_settings *s = &r->s;
    int code = check_at(s);
    if (code == EXIT_DONE) code = open_at(s);
    if (code != EXIT_DONE) return code;
    if (!asks_counts(s) && !asks_integers(s) && !s->distinct && !s->sample && !s->spectrum &&
        !s->where) {
        s->usual = true;
        s->top = 10;
        s->distinct = !s->decay;
        if (s->state || s->shelf) code = count_set_usual(s);
    }
    if (code == EXIT_DONE) code = check_past(s);
    if (code == EXIT_DONE) code = check_sketches(s);
    if (code == EXIT_DONE) code = check_groups(s, r->groups);
    return code == EXIT_DONE ? check_output(r) : code;
}

/* --changes OLD NEW asks two files and reads nothing. */
static int resolve_changes(request *r, int operands, char **argv) {
    count_settings *s = &r->s;
    bool others = s->above > 0 || s->query_count || s->self_join || s->join || asks_integers(s) ||
                  s->distinct || s->sample || s->spectrum || s->state || s->at.url || s->window ||
                  s->decay || s->group || s->exact || s->plot || s->every;
    if (operands != 1) return cli_error("--changes takes two state files: --changes OLD NEW");
    if (others || (r->json && r->csv))
        return cli_error("--changes goes with --top, --json or --csv only");
    s->with = argv[0];
    s->form = form_of(r);
    return EXIT_DONE;
}

static int run_count(int argc, char **argv) {
    opt_parser parser;
    request r = {.s = {.from = reading_defaults(), .exact_memory = EXACT_STANDARD}};
    count_settings *s = &r.s;
    int code;
    opt_init(&parser, &cmd_count, argc, argv);
    if (!opt_read(&parser, targets, &r, set_option, &code)) return code;
    s->top = r.top;
    s->sample = r.sample;
    s->groups = r.groups ? r.groups : GROUPS_STANDARD;
    if (s->changes) {
        code = resolve_changes(&r, parser.operands, argv);
        return code == EXIT_DONE ? count_changes(s) : code;
    }
    code = resolve(&r);
    if (code == EXIT_DONE) code = reading_resolve(&s->from, parser.operands, argv);
    if (code == EXIT_DONE) code = count_run(s);
    count_shelf_close(s->shelf);
    return code;
}

/* --- the manual ------------------------------------------------------------------------- */

static const opt_section count_sections[] = {
    {"EXAMPLES", "The ten most frequent lines, and how many different ones there are:\n"
                 "\n"
                 "    weir count access.log\n"
                 "\n"
                 "Instead of sort | uniq -c | sort -rn | head -100, in a few megabytes:\n"
                 "\n"
                 "    weir count --top 100 access.log\n"
                 "\n"
                 "Every user who makes more than 1% of the traffic, by bytes:\n"
                 "\n"
                 "    weir count --format csv --header --key user --weight bytes --above 1% \\\n"
                 "        traffic.csv\n"
                 "\n"
                 "Response times by percentile:\n"
                 "\n"
                 "    weir count --format csv --header --key ms --quantiles 50,90,99 traffic.csv\n"
                 "\n"
                 "How wrong would it be in 16K, and what is the truth?\n"
                 "\n"
                 "    weir count --top 5 --distinct --memory 16K --exact access.log\n"
                 "\n"
                 "The most frequent pages of each user:\n"
                 "\n"
                 "    weir count --format csv --header --group user --key url --top 3 events.csv\n"
                 "\n"
                 "Count on every day; and add up what two machines counted:\n"
                 "\n"
                 "    weir count --seed 7 --state mon.weir access.log\n"
                 "    weir count --seed 7 --state tue.weir yesterday.log\n"
                 "    weir merge -o days.weir mon.weir tue.weir\n"
                 "    weir count --state days.weir /dev/null"},
    {"JSON",
     "`--json` prints one object on one line; with `--group` one for each group, with `--every` "
     "one each time. Its keys stay; others may be added.\n"
     "\n"
     "= version, records, missing, unweighted, bad, total, memory\nrecords read, without key or "
     "weight, of these without weight, and malformed; "
     "the sum of the weights; bytes of the sketches\n\n"
     "= group\nin place of `records`, `missing` and `bad`: the value of the group, `null` for the "
     "rest\n\n"
     "= top, above\nobjects with `keys` (an array), `complete` (nothing that belongs there is "
     "missing), `floor` (no other key came by more often), and with `--exact` `expected` and "
     "`found`: how many ought to be in the list and are; `flat`: no key is known to come more "
     "often "
     "than those that are not listed\n\n"
     "= query, range, quantile, sample, spectrum\narrays\n\n"
     "= distinct, where, skew, self_join, join, common\nobjects\n\n"
     "An element has `key`, `count` (or `value`), `low`, `high`, `share` and with `--exact` "
     "`true`. A key by a JSON path is the value, of several paths an array; any other key is a "
     "string. A key that is not UTF-8 has its bytes in `key_hex`; `cut` says that a key was "
     "longer than what is kept of it."},
    {"CSV", "A first row names the columns: `answer` (top, above, query, ...), `key`, `value`, "
            "`low`, `high`, `share`, `true`, `cut` (`cut` if the key was longer than what is "
            "kept). With `--group` a column `group` comes before, with "
            "`--every` a column `records`."},
    {"SIGNALS", "On SIGINT, SIGTERM or SIGHUP the run saves its state, prints the answers for what "
                "it has read, and exits with 128 plus the number of the signal."},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 2\nTrouble: one line on standard error says what.\n\n"
                    "= 130, 143, 129\nStopped by SIGINT, SIGTERM or SIGHUP."},
    {0},
};

const opt_command cmd_count = {
    .name = "count",
    .operands = "[FILE...]",
    .operand_glob = "*",
    .summary = "how often, how many, which most, in one pass and bounded memory",
    .description =
        "Reads records from the files, or from standard input, once, and answers questions about "
        "how often their keys came by: the most frequent, how many different, counts of given "
        "keys, sizes of joins, quantiles. Several questions can be asked at once; without any it "
        "is `--top 10 --distinct`, or those of the two that a `--state` can answer.\n"
        "\n"
        "The memory does not grow with the stream. Answers are estimates, each with bounds "
        "that hold the truth in at least 99 cases of 100; the fewer different keys, "
        "the closer they are, and counts of a few hundred keys are mostly exact. `--exact` shows "
        "how good they are.",
    .options = count_table,
    .sections = count_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-inspect(1)`, `weir-merge(1)`",
    .run = run_count,
};
