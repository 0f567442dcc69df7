/* cmd_lab.c - weir lab: run the papers' experiments, and report what came out. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lab.h"
#include "opts.h"
#include "progress.h"
#include "reading.h"
#include "stopping.h"
#include "values.h"

enum {
    LAB_FULL = 1,
    LAB_SEEDS,
    LAB_JOBS,
    LAB_OUT,
    LAB_JSON,
    LAB_SEED,
    LAB_COUNT,
    LAB_TRUTH,
    LAB_MEMORY,
    LAB_PROGRESS,
    LAB_QUIET
};

#define ACTIONS "list|run|report|stream"

typedef struct {
    lab_session session;
    bool json;
    lab_stream_call stream;
    reading from; /* how a file is read */
    bool reads;   /* an option of it was given */
    progress_mode progress;
} lab_call;

/* --- what a session calls ------------------------------------------------------------ */

static void show_progress(void *context, const char *what, uint64_t done, uint64_t total) {
    lab_call *call = context;
    static uint64_t begun; /* the total that the line was started with */
    if (begun != total) progress_start(call->progress, begun = total, 0);
    progress_step(what, done);
}

static void show_line(void *context, const char *line) {
    (void)context;
    cli_warn("%s", line);
}

/* --- the actions ------------------------------------------------------------------------ */

static int end_by_signal(const lab_call *call) {
    cli_warn("stopped; what was done is in '%s', and the same command goes on from there",
             call->session.out);
    return 128 + stopping_signal;
}

static int run_experiments(lab_call *call, int count, char **names) {
    lab_outcome outcome;
    weir_error err;
    weir_status status = lab_run(&call->session, count, names, call->json, stdout, &outcome, &err);
    progress_clear();
    if (status) return cli_error("%s", err.message);
    if (outcome.stopped) return end_by_signal(call);
    int code = cli_finish_stdout();
    if (code != EXIT_DONE) return code;
    if (!outcome.experiments)
        return cli_error("nothing was run: the data is missing; WEIR_DATA names its folder");
    cli_warn("%u experiments, %u of %u units of work were there already; 'weir lab report --out "
             "%s' makes the page",
             outcome.experiments, outcome.cached, outcome.units, call->session.out);
    if (outcome.worse)
        cli_warn("%u verdict%s worse than expected", outcome.worse,
                 outcome.worse == 1 ? " is" : "s are");
    return outcome.worse ? EXIT_NOTHING : EXIT_DONE;
}

static int report(lab_call *call) {
    lab_outcome outcome;
    weir_error err;
    char page[1200];
    weir_status status = lab_report(&call->session, page, sizeof page, &outcome, &err);
    progress_clear();
    if (status) return cli_error("%s", err.message);
    printf("%s\n", page);
    return cli_finish_stdout();
}

static int write_stream(lab_call *call, int count, char **operands) {
    weir_error err;
    if (count != 1)
        return cli_error("name one stream, such as 'weir lab stream zipf:n=1M,s=1,domain=100K'");
    lab_reading how = {call->from.in, call->from.on_missing == DO_FAIL,
                       call->from.on_bad == DO_FAIL};
    if (reading_settle(&call->from, 0, NULL) != EXIT_DONE) return EXIT_TROUBLE;
    call->stream.reading = call->reads ? &how : NULL;
    call->stream.spec = operands[0];
    weir_status status = lab_write_stream(&call->session, &call->stream, &err);
    progress_clear();
    if (stopping_signal) return 128 + stopping_signal;
    return status ? cli_error("%s", err.message) : cli_finish_stdout();
}

static int list(const lab_call *call, int count) {
    if (count) return cli_error("list takes no names");
    lab_list(stdout, call->json);
    return cli_finish_stdout();
}

/* --- options ------------------------------------------------------------------------------ */

static int parse_number(const char *name, const char *text, uint64_t low, uint64_t high,
                        uint64_t *value) {
    weir_error err;
    if (weir_parse_count(text, value, &err) != WEIR_OK)
        return cli_error("--%s: %s", name, err.message);
    if (*value < low || *value > high)
        return cli_error("--%s %s is not between %llu and %llu", name, text,
                         (unsigned long long)low, (unsigned long long)high);
    return EXIT_DONE;
}

static int parse_memory(const char *text, uint64_t *bytes) {
    weir_error err;
    if (weir_parse_size(text, bytes, &err) != WEIR_OK)
        return cli_error("--memory: %s", err.message);
    return *bytes >= 1 << 20 ? EXIT_DONE : cli_error("--memory %s is less than 1M", text);
}

static int take_option(lab_call *call, int id, const char *value) {
    uint64_t number = 0;
    int code = EXIT_DONE;
    switch (id) {
    case LAB_FULL:
        call->session.full = true;
        break;
    case LAB_SEEDS:
        code = parse_number("seeds", value, 1, 1000, &number);
        call->session.seeds = (unsigned)number;
        break;
    case LAB_JOBS:
        code = parse_number("jobs", value, 1, 256, &number);
        call->session.jobs = (unsigned)number;
        break;
    case LAB_OUT:
        call->session.out = value;
        break;
    case LAB_JSON:
        call->json = true;
        break;
    case LAB_SEED:
        code = value_seed("--seed", value, &call->stream.seed);
        break;
    case LAB_COUNT:
        code = parse_number("count", value, 1, UINT64_MAX, &call->stream.limit);
        break;
    case LAB_TRUTH:
        call->stream.truth = true;
        break;
    case LAB_MEMORY:
        code = parse_memory(value, &call->stream.memory);
        break;
    case LAB_PROGRESS:
        call->progress = PROGRESS_ON;
        break;
    case LAB_QUIET:
        cli_be_quiet();
        call->progress = PROGRESS_OFF;
        break;
    default:
        call->reads = true;
        code = reading_option(&call->from, id, value);
    }
    return code;
}

static int run_lab(int argc, char **argv) {
    opt_parser parser;
    lab_call call = {.stream = {.seed = 1, .memory = 256 << 20}, .from = reading_defaults()};
    call.session = (lab_session){.out = "lab-results",
                                 .stop = &stopping_signal,
                                 .progress = show_progress,
                                 .warn = show_line,
                                 .context = &call};
    opt_init(&parser, &cmd_lab, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_lab, id);
        if (take_option(&call, id, parser.value) != EXIT_DONE) return EXIT_TROUBLE;
    }
    if (!parser.operands) return cli_error("say what to do: weir lab list, run, report or stream");
    int action;
    if (!opt_is_choice(argv[0], ACTIONS, &action)) return opt_complain("action", argv[0], ACTIONS);
    if (call.reads && action != 3)
        return cli_error(
            "the options of records and keys go with 'weir lab stream file:path=FILE'");
    stopping_catch(NULL);
    signal(SIGPIPE, SIG_DFL); /* a stream ends quietly with its reader */
    switch (action) {
    case 0:
        return list(&call, parser.operands - 1);
    case 1:
        return run_experiments(&call, parser.operands - 1, argv + 1);
    case 2:
        if (parser.operands > 1) return cli_error("report takes no names");
        return report(&call);
    default:
        return write_stream(&call, parser.operands - 1, argv + 1);
    }
}

static const opt_entry lab_table[] = {
    {LAB_FULL, "full", 0, OPT_FLAG, NULL, NULL, NULL, "Running", true,
     "Run at the papers' sizes, up to a billion records, not at the quick ones.", NULL},
    {LAB_SEEDS, "seeds", 0, OPT_VALUE, "N", NULL, NULL, "Running", true,
     "Repeat each case with the seeds 1 to N.",
     "Means and 95% intervals are over the seeds. Without it each experiment has a number of its "
     "own, mostly 3."},
    {LAB_JOBS, "jobs", 'j', OPT_VALUE, "N", NULL, "the cores", "Running", true,
     "Work on so many cases at a time.",
     "Fewer are used where the memory would not hold them. Experiments that measure time run one "
     "by one, after the others."},
    {LAB_OUT, "out", 0, OPT_VALUE, "DIR", NULL, "lab-results", "Results", true,
     "Keep results, tables, figures and the page in this folder.", NULL},
    {LAB_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, "Results", true,
     "Print the list, or the results of a run, as JSON.", NULL},
    {LAB_SEED, "seed", 0, OPT_VALUE, "N", NULL, "1", "Streams", true,
     "The seed of the stream: the same seed gives the same stream on every machine.", NULL},
    {LAB_COUNT, "count", 'n', OPT_VALUE, "N", NULL, "all", "Streams", true,
     "Write only the first N records.", NULL},
    {LAB_TRUTH, "truth", 0, OPT_FLAG, NULL, NULL, NULL, "Streams", true,
     "Write 1 and a tab before a record that comes for the first time, else 0.", NULL},
    {LAB_MEMORY, "memory", 0, OPT_VALUE, "SIZE", NULL, "256M", "Streams", false,
     "The most that finding the truth may take, besides one bit a record.",
     "What does not fit is sorted on disk, in `$TMPDIR` or /tmp: 16 bytes a record."},
    READ_RECORD_ROWS("", ""),
    READ_KEY_ROWS,
    READ_UNJUDGED_ROWS("What passes is left out of the stream, as what is dropped."),
    {LAB_PROGRESS, "progress", 0, OPT_FLAG, NULL, NULL, NULL, "Messages", false,
     "Show progress even if standard error is not a terminal.", NULL},
    {LAB_QUIET, "quiet", 'q', OPT_FLAG, NULL, NULL, NULL, "Messages", true,
     "Say nothing but errors.", NULL},
    {0},
};

static const opt_section lab_sections[] = {
    {"ACTIONS",
     "= list\nName the experiments, and the paper's table or figure that each repeats.\n\n"
     "= run [NAME...]\nRun experiments: all, or those named; `*` and `?` match. Every unit of "
     "work (a case with a seed) is kept in DIR/results as soon as it is done, with the code that "
     "made it: a run that was interrupted goes on where it was, and nothing is run twice by the "
     "same code. Writes NAME.csv, NAME.md and NAME-1.svg ... for each, and prints the "
     "verdicts.\n\n"
     "= report\nMake tables and figures of all that the folder has, report.md, and report.html: "
     "one page with everything in it.\n\n"
     "= stream SPEC\nWrite a stream to standard output, a record a line."},
    {"STREAMS",
     "Counts take K, M, G; shares a % sign.\n\n"
     "= uniform:n=,universe=\nEvery id below the universe alike. `distinct=30%` in place of "
     "`universe=` finds the universe in which that share of the records is distinct.\n\n"
     "= zipf:n=,s=,domain=\nRank k with a probability proportional to k^-s.\n\n"
     "= poisson:n=,lambda=,u=\nThe thesis's streams (3.5.1): a share `lambda` of the records have "
     "ids whose probability falls exponentially, with a mean of `u`; the others come once.\n\n"
     "= bmodel:n=,b=,l=,v=,u=,order=\nThe same with a share `v`, in bursts: of two halves of a "
     "stretch one has a share `b` of what the stretch has, `l` times over; which, is drawn, or "
     "always the first (`order=first`).\n\n"
     "= importance:n=,repeat=,law=,levels=\nWith an importance from 1 to 50 (or `levels`) before "
     "each id; `law` is how often an id comes by its importance: uniform, proportional or "
     "inverse.\n\n"
     "= burst:n=,universe=,rate=,factor=\nWith the time slot before each id: `rate` records a "
     "slot, `factor` times as many in the middle third.\n\n"
     "= producers:n=,universe=,producers=,fanout=,local=\nWith the producer before each id; a "
     "share `local` of its records are ids of its own, the others of its neighbours.\n\n"
     "= records:n=,d=,least=,share=\nRecords of d attributes; a share of them are near-copies of "
     "another, in `least` to d attributes. Says how many pairs agree in how many.\n\n"
     "= file:path=,columns=,split=\nThe hashes of the lines of a file or of columns (4, 2-5, 1+7), "
     "split by tab or space. Or, with `--format`, `--key` and the other options of records and "
     "keys, the hashes of the keys that `weir dedup` would compare.\n\n"
     "= weblog, repo_urls, ...\nThe real streams, from `WEIR_DATA`: also trending, "
     "recommendations, "
     "block_trace, flows, package_titles."},
    {"VERDICTS",
     "A verdict is computed. `reproduced`: every printed number of the paper is within tolerance "
     "of ours (three standard deviations of one more run, and what rounding leaves open), and "
     "every claim holds. `same shape`: order and trend agree, not all values. `differs`: they do "
     "not."},
    {"EXAMPLES", "Table 2 of the paper on reservoir sampling, with ten seeds:\n"
                 "\n"
                 "    weir lab run rsbf-table-2 --seeds 10\n"
                 "\n"
                 "All experiments of one paper, then the page:\n"
                 "\n"
                 "    weir lab run 'rsbf-*' && weir lab report\n"
                 "\n"
                 "A stream to try a filter on:\n"
                 "\n"
                 "    weir lab stream zipf:n=1M,s=1,domain=100K | weir dedup --stats > once"},
    {"ENVIRONMENT", "= WEIR_DATA\nThe folder of the real streams; if it is not set, a folder "
                    "`shared/data` beside that of the program or up to four above. Experiments on "
                    "a stream that is not there are left out, with a word."},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 1\nDone, and a verdict is worse than expected.\n\n"
                    "= 2\nTrouble: one line on standard error says what.\n\n"
                    "= 128+N\nStopped by signal N; the same command goes on from there."},
    {0},
};

const opt_command cmd_lab = {
    .name = "lab",
    .operands = ACTIONS " [NAME...]",
    .actions = ACTIONS,
    .operand_glob = "",
    .summary = "repeat the papers' experiments on this code",
    .description = "Every table and figure of the papers behind weir is an experiment: it is run "
                   "against the exact truth, over several seeds, and judged by the numbers and "
                   "claims that the paper prints.",
    .options = lab_table,
    .sections = lab_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-filters(7)`",
    .run = run_lab,
};
