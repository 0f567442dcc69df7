/* cmd_help.c - weir help: explains commands and filters.
 *
 * Also prints what the build turns into files: `weir help --man PAGE` (roff)
 * and `weir help --completion SHELL`. Those two are for packagers and are not
 * listed among the options that a person meets first.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "manual.h"
#include "other_words.h"

enum { HELP_MAN = 1, HELP_COMPLETION };

static const opt_entry help_table[] = {
    {HELP_MAN, "man", 0, OPT_FLAG, NULL, NULL, NULL, NULL, false,
     "Print the page as roff, for man(1).", NULL},
    {HELP_COMPLETION, "completion", 0, OPT_VALUE, "SHELL", "bash|zsh|fish", NULL, NULL, false,
     "Print the completion script for a shell.", NULL},
    {0},
};

static int explain(const char *topic, manual_form form) {
    const opt_command *command = opt_find_command(topic);
    if (!strcmp(topic, "filters")) {
        manual_filters(form);
    } else if (!strcmp(topic, "sketches")) {
        manual_sketches(form);
    } else if (!strcmp(topic, "weir")) {
        manual_print(&cmd_weir, form);
    } else if (command) {
        manual_print(command, form);
    } else if (other_word_command(topic)) {
        return other_word_complain("topic", topic, other_word_command(topic));
    } else {
        char names[256] = "filters|sketches|weir";
        for (size_t i = 0, used = strlen(names); cli_commands[i]; i++)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "|%s", cli_commands[i]->name);
        return opt_complain("topic", topic, names);
    }
    return cli_finish_stdout();
}

static int run_help(int argc, char **argv) {
    opt_parser parser;
    manual_form form = MANUAL_TEXT;
    opt_init(&parser, &cmd_help, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_help, id);
        if (id == HELP_MAN) form = MANUAL_ROFF;
        if (id == HELP_COMPLETION) {
            completion_print(parser.value);
            return cli_finish_stdout();
        }
    }
    if (parser.operands > 1) return cli_error("one topic at a time, please");
    if (parser.operands == 1) return explain(argv[0], form);
    if (form == MANUAL_ROFF) return explain("weir", form);
    return opt_show_help(&cmd_weir, OPT_HELP);
}

static const opt_section no_sections[] = {{0}};

const opt_command cmd_help = {
    .name = "help",
    .operands = "[COMMAND|filters|sketches]",
    .operand_glob = "",
    .summary = "explain a command, or how to choose a filter or a sketch",
    .description =
        "Prints the manual of a command, or with `filters` or `sketches` what each "
        "of these is good for and which options it takes. The man pages have the same text.",
    .options = help_table,
    .sections = no_sections,
    .see_also = "`weir(1)`",
    .run = run_help,
};
