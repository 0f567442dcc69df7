/* main.c - the weir command: finds the command that was asked for.
 *
 * Everything else is in cmd_<name>.c, one file per command, each with its own
 * table of options; cli_commands lists them.
 */
#include <stdio.h>
#include <string.h>

#include <weir_cpu.h>

#include "cli.h"
#include "opts.h"
#include "other_words.h"
#include "weir.h"
#include <weir_text.h>

const opt_command *const cli_commands[] = {&cmd_dedup, &cmd_count,   &cmd_pairs,
                                           &cmd_plan,  &cmd_inspect, &cmd_merge,
                                           &cmd_lab,   &cmd_help,    NULL};

/* --- weir without a command ------------------------------------------------------ */

enum { MAIN_VERSION = 1 };

static const opt_entry main_table[] = {
    {MAIN_VERSION, "version", 'V', OPT_FLAG, NULL, NULL, NULL, NULL, true, "Print the version.",
     NULL},
    {0},
};

static int unknown_command(const char *name) {
    const opt_command *other = other_word_command(name);
    if (other) return other_word_complain("command", name, other);
    char names[256] = "", near[64];
    for (size_t i = 0, used = 0; cli_commands[i]; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? "|" : "",
                                 cli_commands[i]->name);
    if (weir_nearest(name, names, near))
        return cli_error("unknown command '%s'; did you mean '%s'?", name, near);
    return cli_error("unknown command '%s'; see 'weir help'", name);
}

static int run_weir(int argc, char **argv) {
    opt_parser parser;
    opt_init(&parser, &cmd_weir, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_weir, id);
        printf("weir %s\n", weir_version());
        return cli_finish_stdout();
    }
    return cli_error("a command is missing, such as 'weir dedup'; see 'weir help'");
}

int main(int argc, char **argv) {
    cli_fill_standard_streams();
    if (argc < 2) {
        opt_show_help(&cmd_weir, OPT_HELP);
        return EXIT_TROUBLE;
    }
    weir_error err;
    if (weir_cpu_choose(NULL, &err) != WEIR_OK) return cli_error("%s", err.message);
    if (argv[1][0] == '-') return run_weir(argc, argv);
    const opt_command *command = opt_find_command(argv[1]);
    if (!command) return unknown_command(argv[1]);
    cli_set_command(command->name);
    return command->run(argc - 1, argv + 1);
}

static const opt_section main_sections[] = {
    {"EXAMPLES", "Each line of a log once, in order:\n"
                 "\n"
                 "    weir dedup access.log > once.log\n"
                 "\n"
                 "Each user and day of a table once, in 64 MiB:\n"
                 "\n"
                 "    weir dedup --format csv --header --key user,day --memory 64M events.csv\n"
                 "\n"
                 "Which filter, and how much memory? By a sample of the stream:\n"
                 "\n"
                 "    weir plan --memory 16M --sample access.log\n"
                 "\n"
                 "The ten most frequent lines, and how many different ones there are:\n"
                 "\n"
                 "    weir count access.log\n"
                 "\n"
                 "What a saved state holds:\n"
                 "\n"
                 "    weir inspect seen.weir"},
    {"ENVIRONMENT",
     "= WEIR_CPU\nThe vector instructions to use: `scalar`, `sse`, `neon`, `avx2` or `avx512`, as "
     "far "
     "as the processor has them; by default its best. The output is the same with any."},
    {"EXIT STATUS",
     "= 0\nDone.\n\n"
     "= 1\nNothing was new (only with `weir dedup --exit-code`).\n\n"
     "= 2\nTrouble: one line on standard error says what.\n\n"
     "= 128+N\nStopped by signal N after saving what was done: 130 for an interrupt, 143 for a "
     "termination."},
    {0},
};

const opt_command cmd_weir = {
    .name = "weir",
    .lists_commands = true,
    .operands = "COMMAND [ARGUMENTS]",
    .operand_glob = "",
    .summary = "let each record of a stream through once, in memory that never grows",
    .description =
        "`weir` reads a stream of records once and answers whether each was seen before, in an "
        "amount of memory that you choose and that it never exceeds, however long the stream. "
        "While the distinct keys fit the memory its answers are exact. When they no longer fit "
        "it begins to forget: at most a stated share of the new records is then wrongly held "
        "back (`--fpr`, one in a million unless you say otherwise), and some repeats pass.\n"
        "\n"
        "It reads files or standard input, writes to standard output or a file, and keeps "
        "messages to standard error.",
    .options = main_table,
    .sections = main_sections,
    .see_also = "`weir-filters(7)`",
    .run = run_weir,
};
