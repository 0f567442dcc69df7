/* weir_lab_main.c - the program weir-lab: run the papers' experiments, and report their results.
 *
 * `weir lab` runs it too (cli/cmd_lab.c), so it speaks as `weir: lab:`. The options and the manual
 * are in lab_options.c. Messages, the option parser and the options of records are those of
 * console/.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lab.h"
#include "lab_options.h"
#include "opts.h"
#include "progress.h"
#include "reading.h"
#include "stopping.h"
#include "values.h"

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
    lab_reading how = {call->from.in, call->from.on_missing == STREAM_STOP,
                       call->from.on_bad == STREAM_STOP};
    if (reading_resolve(&call->from, 0, NULL) != EXIT_DONE) return EXIT_TROUBLE;
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

int run_lab(int argc, char **argv) {
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
    if (!opt_is_choice(argv[0], LAB_ACTIONS, &action))
        return opt_complain("action", argv[0], LAB_ACTIONS);
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

const opt_command *const cli_commands[] = {&cmd_lab, NULL};

int main(int argc, char **argv) {
    cli_fill_standard_streams();
    cli_set_command(cmd_lab.name);
    if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
        printf("weir-lab %s\n", weir_version());
        return cli_finish_stdout();
    }
    return run_lab(argc, argv);
}
