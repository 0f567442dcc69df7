/* cmd_dedup.c - weir dedup: the table of its options, and from words to settings.
 *
 * What is asked for is checked here, before anything is opened or made:
 * numbers and their ranges, options that need or exclude each other. What the
 * settings then do is in dedup_run.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "dedup.h"
#include "opts.h"
#include "report.h"
#include "run_output.h"
#include "values.h"

enum {
    D_OUTPUT = 1,
    D_MEMORY,
    D_FPR,
    D_FILTER,
    D_SEED,
    D_COMPRESS,
    D_EMIT,
    D_KEEP,
    D_WINDOW,
    D_LATENESS,
    D_ON_LATE,
    D_STATE,
    D_SAVE_EVERY,
    D_RESUME,
    D_INCOMPLETE,
    D_AUDIT,
    D_LOSE,
    D_STATS,
    D_EXIT_CODE,
    D_FROM,
    D_TO,
    D_UNTIL_END
};

#define EMIT_NAMES "new|seen|all|verdicts|once|repeated|counts"
#define MEMORY_STANDARD "256M" /* of the filter, unless --memory says otherwise */

#define G_OUTPUT "Output"
#define G_STREAMS "Streams"
#define G_FILTER "Filter"
#define G_WINDOW "Window"
#define G_STATE "State"
#define G_REPORT "Reports"
#define G_RUNNING "Running"

static const opt_entry dedup_table[] = {
    {D_OUTPUT, "output", 'o', OPT_VALUE, "FILE", NULL, NULL, G_OUTPUT, true,
     "Write to FILE instead of standard output.",
     "The file is written under a temporary name beside FILE and renamed at the end, so a run "
     "that fails leaves the old file, or none. FILE may be one of the inputs, but not with "
     "`--state`: then it takes its name at the first save, and a failure cuts it back to the last "
     "one."},
    {D_EMIT, "emit", 0, OPT_VALUE, "WHAT", EMIT_NAMES, "new", G_OUTPUT, true,
     "What to write: `new`, `seen`, `all`, `verdicts`, `once`, `repeated` or `counts`.",
     "= new\nrecords seen for the first time\n\n"
     "= seen\nthe repeats\n\n"
     "= all\nevery record, marked N or S: a first column in lines (with a tab), CSV and TSV; a "
     "first field \"verdict\" in JSON, whose blank lines are records and get an object of the "
     "verdict alone; a first byte in binary records\n\n"
     "= verdicts\nonly N or S, one a line\n\n"
     "= once\nrecords whose key comes once\n\n"
     "= repeated\nthe first record of each key that comes more than once\n\n"
     "= counts\nthe first record of each key with how often it comes: a first column in lines "
     "(with a tab), CSV and TSV, a first field \"count\" in JSON\n\n"
     "For the last three all of the input must be known, so it is read twice (standard input and "
     "pipes are kept in a temporary file in TMPDIR), and nothing is written before. They are "
     "exact, by a table instead of a filter: 42 bytes of `--memory` a key, 6.3 million keys in "
     "256M. "
     "More keys are counted in parts, and the input is read once more for each part: of 256M that "
     "is one for about 4.4 million keys. 24 bytes "
     "of each record to be written wait on the disk."},
    {D_KEEP, "keep", 0, OPT_VALUE, "WHICH", "first|last", "first", G_OUTPUT, true,
     "Which record of a key to write: the `first` or the `last`.",
     "With `last`, `--emit` `new` and `counts` write the last record of each key, in the order of "
     "these. Read as for `--emit once`."},
    {D_COMPRESS, "compress", 0, OPT_VALUE, "HOW", "none|gzip|zstd", "by the name", G_OUTPUT, false,
     "Compress the output: `none`, `gzip` or `zstd`.",
     "Without it `--output` decides: a name that ends with .gz or .zst is compressed so."},

    {D_FROM, "from", 0, OPT_VALUE, "URL", NULL, NULL, G_STREAMS, true,
     "Read a broker's stream (`--to` writes one).",
     "= redis://HOST/STREAM?group=G\na stream of Redis or Valkey, by a consumer group; also "
     "`rediss://`, `redis+cluster://` and `unix:/PATH?name=STREAM`\n\n"
     "= nats://HOST/STREAM?group=G\na stream of NATS JetStream, by a durable consumer\n\n"
     "= kafka://HOST/TOPIC?group=G\na topic of Kafka, by a consumer group\n\n"
     "Each message is a record; `--format` says how to find a key in it. A message is acknowledged "
     "when what came of it is written and, with `--state`, saved, so none is lost by a crash. "
     "The run waits for more until it is stopped by a signal, or see `--until-end`. "
     "docs/streams.md has the parameters and what is promised."},
    {D_TO, "to", 0, OPT_VALUE, "URL", NULL, NULL, G_STREAMS, false,
     "Write records as messages to a broker's stream.",
     "URLs as for `--from`, without a group; of NATS the name is a subject. With `--state` each "
     "message carries a mark, by which a run that was killed knows what it has sent: no record is "
     "lost and none sent twice."},
    {D_UNTIL_END, "until-end", 0, OPT_FLAG, NULL, NULL, NULL, G_STREAMS, false,
     "With --from: end when the stream has nothing more.",
     "Messages that another consumer of the group has, or had when it was killed, are waited "
     "for."},

    {D_MEMORY, "memory", 'm', OPT_VALUE, "SIZE", NULL, MEMORY_STANDARD, G_FILTER, true,
     "The most memory that the filter may use.",
     "64M, 1.5G; K, M, G and T are powers of 1024. Nothing that grows with the stream is kept "
     "outside of it; reports also count the tables of a filter, at most 8K, and as much for each "
     "slice or site that it is made of. Reading zstd takes the window of its frames besides, up to "
     "128M."},
    {D_FPR, "fpr", 0, OPT_VALUE, "RATE", NULL, "0.0001%", G_FILTER, true,
     "The share of new records that may be lost.",
     "0.01%, 0.0001 or 1e-4. While the keys fit the memory none are lost; the bound also holds "
     "afterwards, at any time. A higher one lets the filter remember more keys."},
    {D_FILTER, "filter", 0, OPT_VALUE, "SPEC", NULL, "recent", G_FILTER, true,
     "The filter, such as `stable` or `stable:max=3`.",
     "`weir help filters` lists them and says how to choose. `--memory`, `--fpr`, `--seed` and "
     "`--window` are options of the filter too and may stand in the SPEC instead."},
    {D_SEED, "seed", 0, OPT_VALUE, "N", NULL, NULL, G_FILTER, false,
     "Make the run repeatable: same input, same verdicts.",
     "Without it a seed is drawn from the system, so that nobody can prepare records that "
     "collide. Filters that are to be merged need the same one."},
    READ_IMPORTANCE_ROW,
    READ_PRODUCER_ROW,
    {D_LOSE, "lose", 0, OPT_LIST, "SITE[-SITE]@RECORD[-RECORD]", NULL, NULL, G_FILTER, false,
     "Try it out: a site is lost at a record, and back.",
     "For filters with sites (`horizontal`, `vertical`, `tree`). SITE is a number as `weir "
     "inspect` "
     "shows it. The site gives no answer from the first RECORD to the last one, or to the end; "
     "records count from 1, and only those that are judged. Then it is back with what it held. "
     "Several losses are given one by one or with commas: `--lose 0-3@1000-2000,5@1500`. `--audit` "
     "measures what it costs; `weir plan --sites` prints the command that tries its choice."},

    READ_RECORD_ROWS("Records are written as they were read, byte for byte. ",
                     "It is written once, whatever `--emit` says (but `verdicts`). ", 'd'),
    READ_KEY_ROWS,
    READ_UNJUDGED_ROWS("What passes is written like a new record but not remembered. `--stats` "
                       "counts them, and if no record has the key a warning says so."),

    {D_WINDOW, "window", 0, OPT_VALUE, "SPAN", NULL, NULL, G_WINDOW, true,
     "Forget keys after a time (`10m`) or records (`1M`).",
     "A duration has a unit: ms, s, m, h or d (so 10m are minutes and 10M are records). A key "
     "that comes again after that long is new. Time is when a record arrives unless `--time` "
     "says otherwise. Repeats do not prolong the time; with `--filter recent:renew=yes` they do."},
    READ_TIME_ROWS,
    {D_LATENESS, "lateness", 0, OPT_VALUE, "DURATION", NULL, "the window", G_WINDOW, false,
     "How far out of order a record may be.",
     "A record later than that is late: `--on-late` says what becomes of it. A warning says how "
     "many were."},
    {D_ON_LATE, "on-late", 0, OPT_VALUE, "WHAT", "pass|drop|judge", "pass", G_WINDOW, false,
     "A late record: `pass`, `drop` or `judge`.",
     "= pass\nit is written like a new one, so that nothing is lost, counted as late, and not "
     "remembered\n\n"
     "= drop\nit is left out and counted as late\n\n"
     "= judge\nit is judged as of the latest time so far, as far as the window reaches back from "
     "there, and counted as new or seen"},
    READ_LEAP_ROW,

    {D_STATE, "state", 0, OPT_VALUE, "FILE", NULL, NULL, G_STATE, true,
     "Remember across runs: load FILE if there, save it.",
     "It is saved at the end, every `--save-every` and when the run is stopped by SIGINT, SIGTERM "
     "or SIGHUP. "
     "The file is replaced as a whole and never holds a record whose output was not written "
     "before. It is refused if it does not fit the options; options that are not given (such as "
     "`--memory`) are taken from it. One run at a time may use it. `weir inspect` shows what it "
     "holds."},
    {D_SAVE_EVERY, "save-every", 0, OPT_VALUE, "DURATION", NULL, "30s", G_STATE, false,
     "How often to save the state while running.", "From 1ms up."},
    {D_RESUME, "resume", 0, OPT_FLAG, NULL, NULL, NULL, G_STATE, true,
     "Continue a run that was stopped or killed.",
     "Needs `--state`, `--output` and files as input, all as before. The output is cut back to "
     "the last save and the input continues there; the records written are those of a run that "
     "was never stopped. If there is nothing to continue the run begins at the start; if the run "
     "had finished, what was added to its files is read, and files that were added to the list. "
     "Files are known by device, inode and their first and last bytes: of a log that was renamed "
     "in its folder the rest is read, at each run until it is gone, then the new file under its "
     "name."},

    {D_INCOMPLETE, "incomplete", 0, OPT_VALUE, "WHAT", "hold|judge", "hold", G_STATE, false,
     "A last record without its end: `hold` or `judge`.",
     "With `--state` a file that is read may still grow, and its last line may be half written. "
     "It is held back, neither judged nor written, and read by a later run with `--resume`. "
     "`judge` takes it as it is. Without `--state`, and from pipes, it always is."},

    AT_ROWS,

    {D_AUDIT, "audit", 0, OPT_OPTIONAL, "1/N", NULL, "1/64", G_REPORT, true,
     "Measure the errors on one key in N.",
     "Keeps the exact truth for a sample of the keys (in at most 4M) and reports with the totals "
     "how often the filter was wrong, with an interval. N is a power of two. The sample is "
     "halved when it outgrows its memory."},
    {D_STATS, "stats", 0, OPT_OPTIONAL, "FORM", "text|json", "text", G_REPORT, true,
     "Print totals at the end, as `text` or `json`.", "They go to standard error."},
    READ_METRICS_ROW,
    READ_PROGRESS_ROWS,
    READ_THREAD_ROWS,
    {D_EXIT_CODE, "exit-code", 0, OPT_FLAG, NULL, NULL, NULL, G_RUNNING, false,
     "Exit with 1 if no record was new.", NULL},
    {0},
};

/* --- from words to settings ---------------------------------------------------------- */

enum { SPAN_LEAST = 1000000 };    /* ns: the shortest --save-every */
enum { TABLE_LEAST = 64 * 1024 }; /* bytes of --memory for what needs all of the input */

/* The command line: settings, and words that are resolved when all options are read. */
typedef struct {
    dedup_settings s;
    const char *memory, *fpr, *lateness, *on_late;
} request;

#define IN(member) offsetof(request, member)

static const opt_target targets[] = {
    {D_EMIT, KEEP_CHOICE, IN(s.emit), 0, 0},
    {D_STATE, KEEP_PATH, IN(s.state), 0, 0},
    {D_FROM, KEEP_WORD, IN(s.source), 0, 0},
    {D_TO, KEEP_WORD, IN(s.sink), 0, 0},
    {D_UNTIL_END, KEEP_FLAG, IN(s.until_end), 0, 0},
    {D_SAVE_EVERY, KEEP_SPAN, IN(s.save_every), SPAN_LEAST, 0},
    {D_RESUME, KEEP_FLAG, IN(s.resume), 0, 0},
    {D_EXIT_CODE, KEEP_FLAG, IN(s.exit_code), 0, 0},
    {D_MEMORY, KEEP_WORD_OF_SIZE, IN(memory), 0, 0},
    {D_FPR, KEEP_WORD_OF_RATE, IN(fpr), 0, 0},
    {D_FILTER, KEEP_WORD, IN(s.filter), 0, 0},
    {D_SEED, KEEP_WORD_OF_SEED, IN(s.seed), 0, 0},
    {D_WINDOW, KEEP_WORD, IN(s.window), 0, 0},
    {D_LATENESS, KEEP_WORD, IN(lateness), 0, 0},
    {D_ON_LATE, KEEP_WORD, IN(on_late), 0, 0},
    {0},
};

/* "1/64" or "64": a power of two. */
static int parse_audit(const char *text, uint64_t *one_in) {
    const char *number = strncmp(text, "1/", 2) ? text : text + 2;
    int code = value_number("--audit", number, 1, 1ull << 40, false, one_in);
    if (code != EXIT_DONE) return code;
    if ((*one_in & (*one_in - 1)) == 0) return EXIT_DONE;
    uint64_t below = 1;
    while (below * 2 <= *one_in) below *= 2;
    return cli_error("--audit cannot be '%s'; N is a power of two, such as %llu or %llu", text,
                     (unsigned long long)below, (unsigned long long)below * 2);
}

static int set_option(void *settings, int id, const char *value) {
    dedup_settings *s = &((request *)settings)->s;
    int code;
    switch (id) {
    case D_OUTPUT:
        s->output = strcmp(value, "-") ? value : NULL;
        return EXIT_DONE;
    case D_KEEP:
        s->keep_last = !strcmp(value, "last");
        return EXIT_DONE;
    case D_COMPRESS:
        s->compression = (stream_compression)value_choice("none|gzip|zstd", value);
        s->compression_given = true;
        return EXIT_DONE;
    case D_INCOMPLETE:
        s->judge_last = !strcmp(value, "judge");
        return EXIT_DONE;
    case D_STATS:
        s->stats = value && !strcmp(value, "json") ? STATS_JSON : STATS_TEXT;
        return EXIT_DONE;
    case D_LOSE:
        return site_losses_add(&s->losses, value);
    case D_AUDIT:
        s->audit = true;
        return value ? parse_audit(value, &s->audit_one_in) : EXIT_DONE;
    default:
        code = reading_option(&s->from, id, value);
        return code == EXIT_DONE ? at_option(&s->at, id, value) : code;
    }
}

/* --- what needs or excludes what -------------------------------------------------------- */

static int resolve_filter(request *r) {
    dedup_settings *s = &r->s;
    const spec_addition additions[] = {
        {"--memory", "memory", r->memory},
        {"--fpr", "fpr", r->fpr},
        {"--seed", "seed", s->seed},
        {"--window", spec_window_option(s->filter ? s->filter : ""), s->window},
    };
    int64_t span;
    bool is_time;
    if (s->window && value_window("--window", s->window, 1, &span, &is_time) != EXIT_DONE)
        return EXIT_TROUBLE;
    return spec_fold(s->spec, s->filter ? s->filter : weir_filter_kind(0)->name, additions,
                     sizeof additions / sizeof *additions);
}

/* Which window there is, the filter says when it is made: what depends on it is decided then. */
static int resolve_times(request *r) {
    const char *flag = r->lateness ? "--lateness" : r->on_late ? "--on-late" : NULL;
    dedup_settings *s = &r->s;
    s->lateness = -1;
    if (flag && !s->from.in.time_field) return cli_error("%s goes with --time", flag);
    if (r->on_late)
        s->on_late = strcmp(r->on_late, "judge")
                         ? (stream_action)value_choice("pass|drop", r->on_late)
                         : STREAM_JUDGE;
    return r->lateness ? value_span("--lateness", r->lateness, 0, &s->lateness) : EXIT_DONE;
}

/* A name that promises a compression gets it, or is refused: plain text under such a name would
 * surprise whoever reads it. */
static int resolve_compression(dedup_settings *s) {
    static const char *const unknown[] = {".xz", ".bz2", ".lz4"};
    size_t length = s->output ? strlen(s->output) : 0;
    if (!s->output || s->compression_given) return EXIT_DONE;
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        size_t end = strlen(unknown[i]);
        if (length > end && !strcmp(s->output + length - end, unknown[i]))
            return cli_error("cannot write '%s': %s is read, not written; name it .gz or .zst, or "
                             "give --compress none for plain text",
                             s->output, unknown[i] + 1);
    }
    s->compression = stream_compression_of(s->output);
    return EXIT_DONE;
}

/* Check the options beside --from and --to. */
static int check_streams(const dedup_settings *s, int operands) {
    if (s->source && operands) return cli_error("--from reads a stream; leave out the files");
    if (s->until_end && !s->source) return cli_error("--until-end goes with --from");
    if (s->sink && s->output) return cli_error("--to and --output exclude each other");
    if (s->sink && s->compression_given) return cli_error("--compress goes with --output");
    if (s->sink && s->emit != EMIT_NEW && s->emit != EMIT_SEEN)
        return cli_error("--to takes --emit new or seen: messages are sent as they are");
    if (s->at.url && s->source && run_output_is_file(s->output))
        return cli_error(
            "--from with --at writes to a stream, --to URL, or to a pipe: a file cannot "
            "be cut back to what the servers know");
    if (s->source && dedup_needs_all(s))
        return cli_error(
            "--from goes with --emit new, seen, all and verdicts: what is known only at "
            "the end is not known of a stream");
    if (s->source && !s->state && run_output_is_file(s->output))
        return cli_error("--from and --output need --state FILE: messages are acknowledged when "
                         "the file is saved, and a run that is stopped must know how far it has "
                         "come");
    return EXIT_DONE;
}

static int check_together(const dedup_settings *s) {
    if (s->at.url && s->state)
        return cli_error("--state does not go with --at: what is known stays on the servers");
    if (s->at.url && s->audit)
        return cli_error("--audit does not go with --at: it cannot know what others have offered");
    if (s->at.url && s->losses.count)
        return cli_error("--lose does not go with --at: it plays with sites of this process");
    if (at_resolve(&s->at) != EXIT_DONE) return EXIT_TROUBLE;
    if (s->resume && !s->state) return cli_error("--resume needs --state FILE to continue from");
    if (s->save_every && !s->state && !s->from.metrics)
        return cli_error("--save-every goes with --state FILE or --metrics FILE");
    if (s->resume && !s->output && !s->sink)
        return cli_error("--resume needs --output FILE to continue");
    if (s->state && s->output && strcmp(s->state, s->output) == 0)
        return cli_error("--state and --output are the same file '%s'", s->state);
    return EXIT_DONE;
}

/* --keep and the --emit that read all input: refuse options of a filter and of a state. */
static int resolve_choice(request *r) {
    dedup_settings *s = &r->s;
    const struct {
        const char *flag;
        bool given;
    } others[] = {
        {"--filter", s->filter},
        {"--lose", s->losses.count > 0},
        {"--at", s->at.url},
        {"--fpr", r->fpr},
        {"--window", s->window},
        {"--time", s->from.in.time_field},
        {"--state", s->state},
        {"--audit", s->audit},
        {"--importance", s->from.in.number_field},
        {"--producer", s->from.in.label_field},
    };
    static const char *const names[] = {
        "", "", "", "", "--emit once", "--emit repeated", "--emit counts"};
    const char *what = dedup_needs_all(s) && s->emit >= EMIT_ONCE ? names[s->emit] : "--keep last";
    if (!dedup_needs_all(s)) return EXIT_DONE;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return cli_error("%s does not go with %s, which counts all of the input exactly",
                             others[i].flag, what);
    if (s->keep_last && s->emit != EMIT_NEW && s->emit != EMIT_COUNTS)
        return cli_error("--keep last goes with --emit new or counts");
    if (s->emit == EMIT_COUNTS &&
        (s->from.in.format == STREAM_FIXED || s->from.in.format == STREAM_LEN32))
        return cli_error("--emit counts goes with formats of text; binary records have no columns");
    return value_number("--memory", r->memory ? r->memory : MEMORY_STANDARD, TABLE_LEAST,
                        UINT64_C(1) << 50, true, &s->table_memory);
}

static int resolve(request *r) {
    dedup_settings *s = &r->s;
    int code = resolve_filter(r);
    if (code == EXIT_DONE) code = resolve_choice(r);
    if (code == EXIT_DONE) code = resolve_times(r);
    if (code == EXIT_DONE) code = check_together(s);
    if (s->audit && s->stats == STATS_NONE) s->stats = STATS_TEXT;
    if (!s->save_every) s->save_every = SAVE_EVERY_STANDARD;
    return code;
}

static int run_dedup(int argc, char **argv) {
    opt_parser parser;
    request r = {.s = {.from = reading_defaults(), .audit_one_in = 64}};
    dedup_settings *s = &r.s;
    int code;
    opt_init(&parser, &cmd_dedup, argc, argv);
    if (!opt_read(&parser, targets, &r, set_option, &code)) return code;
    code = resolve(&r);
    if (code == EXIT_DONE) code = resolve_compression(s);
    if (code == EXIT_DONE) code = check_streams(s, parser.operands);
    if (code == EXIT_DONE) code = reading_resolve(&s->from, parser.operands, argv);
    if (code != EXIT_DONE) return code;
    if (s->output)
        s->output = value_path(s->output); /* the name that was given says how to compress */
    return dedup_needs_all(s) ? dedup_choose(s) : dedup_run(s);
}

/* --- the manual ------------------------------------------------------------------------- */

static const opt_section dedup_sections[] = {
    {"EXAMPLES",
     "Each line once, in order:\n"
     "\n"
     "    weir dedup access.log > once.log\n"
     "\n"
     "In 16M, with totals and the errors that were made:\n"
     "\n"
     "    weir dedup --memory 16M --audit access.log > once.log\n"
     "\n"
     "The first row of each user and day of a compressed table, compressed again:\n"
     "\n"
     "    weir dedup --format csv --header --key user,day --compress zstd \\\n"
     "        -o once.csv.zst events.csv.gz\n"
     "\n"
     "Events that were delivered twice within the hour, by their own time:\n"
     "\n"
     "    weir dedup --format json --key .id --window 1h --time .at --time-format iso \\\n"
     "        --emit seen events.json\n"
     "\n"
     "Payments once, in memory for a fraction of them; large ones are the last to be forgotten:\n"
     "\n"
     "    weir dedup --format csv --header --key id --memory 1M --fpr 0.1% \\\n"
     "        --filter importance --importance amount payments.csv > once.csv\n"
     "\n"
     "Only what was not in yesterday's log either:\n"
     "\n"
     "    weir dedup --state seen.weir yesterday.log > /dev/null\n"
     "    weir dedup --state seen.weir access.log > new.log\n"
     "\n"
     "A long run that may be killed at any time and started again with the same words:\n"
     "\n"
     "    weir dedup --state run.weir --resume -o once.log access.log\n"
     "\n"
     "Lines that come once, and how often each other comes; the last row of each user:\n"
     "\n"
     "    weir dedup --emit once access.log > singles.log\n"
     "    weir dedup --emit counts access.log | awk '$1 > 1' > repeats.log\n"
     "    weir dedup --keep last --format csv --header -k user events.csv > latest.csv\n"
     "\n"
     "From one stream to another, by a filter that other hosts share; may be killed at any time:\n"
     "\n"
     "    weir dedup --from 'redis://h/clicks?group=g' --to redis://h/clean --key .id \\\n"
     "        --at redis+cluster://h/seen\n"
     "\n"
     "One filter for many machines, on a cluster that has loaded weir's module:\n"
     "\n"
     "    weir dedup --format json --key .id --memory 1G --at redis+cluster://h1/clicks \\\n"
     "        clicks.json > once.json\n"
     "\n"
     "Does this batch hold anything new?\n"
     "\n"
     "    weir dedup --exit-code --state seen.weir access.log > /dev/null || echo nothing new"},
    {"STATS AS JSON",
     "`--stats=json` prints one object on one line. Its keys stay; others may be added.\n"
     "\n" REPORT_JSON_KEYS},
    {"SIGNALS",
     "On SIGINT, SIGTERM or SIGHUP the run finishes the records in hand, writes them, saves the "
     "state and exits with 128 plus the number of the signal. Without `--state` an output FILE "
     "is then left as it was. A second signal ends the run at once (unless it comes with the "
     "first, as those of `timeout(1)` do); the last save stays good. "
     "When the reader of the output goes away the run ends quietly, by SIGPIPE, as other filters "
     "do, and the state keeps to its last save."},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 1\nNo record was new, and `--exit-code` was given.\n\n"
                    "= 2\nTrouble: one line on standard error says what.\n\n"
                    "= 130, 143, 129\nStopped by SIGINT, SIGTERM or SIGHUP."},
    {"FILES",
     "= FILE.lock\nbeside a state file while a run uses it; one that was left behind by a killed "
     "run is harmless\n\n"
     "= .FILE.weir-XXXXXX\nan output file under way, or the one that it replaces; those of a "
     "killed "
     "run are removed by the next run with this output"},
    {"NOTES",
     "Compressed output ends a gzip member or zstd frame at each save, so that it can be cut "
     "there; its content, not its bytes, is the same after a resumed run. A window over the time "
     "of arrival depends on when records arrive, so a resumed run may judge otherwise than one "
     "that was never stopped; use `--time` or a window of records."},
    {0},
};

const opt_command cmd_dedup = {
    .name = "dedup",
    .operands = "[FILE...]",
    .operand_glob = "*",
    .summary = "write each record the first time it comes, in bounded memory",
    .description =
        "Reads records from the files, or from standard input, and writes those whose key has "
        "not come before to standard output, in order and byte for byte. `-` stands for standard "
        "input.\n"
        "\n"
        "The memory of the filter is bounded by `--memory`, however long the stream. While the "
        "distinct keys fit (14 bytes each) the answer is exact. When they no "
        "longer fit the filter forgets some, and repeats of those pass; a warning says so. New "
        "records wrongly held back stay below `--fpr` at any time. `--audit` measures both kinds "
        "of error while the run goes on.",
    .options = dedup_table,
    .sections = dedup_sections,
    .see_also = "`weir(1)`, `weir-plan(1)`, `weir-inspect(1)`, `weir-merge(1)`, `weir-filters(7)`, "
                "`uniq(1)`, "
                "`sort(1)`",
    .run = run_dedup,
};
