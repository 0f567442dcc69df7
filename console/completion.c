/* completion.c - completion scripts for bash, zsh and fish.
 *
 * Made from the same tables as the parser: commands, options, the words that
 * an option allows, and files elsewhere. The scripts are static text; nothing
 * runs `weir` while a person presses Tab.
 */
#include <stdio.h>
#include <string.h>

#include "manual.h"
#include "weir.h"
#include "weir_text.h"

/* Print "a|b|c" with another separator. */
static void put_joined(const char *names, char separator) {
    for (names += *names == '~'; *names; names++) putchar(*names == '|' ? separator : *names);
}

static void put_filter_names(char separator) {
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++)
        printf("%s%.1s", kind->name, weir_filter_kind(i + 1) ? &separator : "");
}

static void put_command_names(char separator) {
    for (size_t i = 0; cli_commands[i]; i++)
        printf("%s%.1s", cli_commands[i]->name, cli_commands[i + 1] ? &separator : "");
}

static bool takes_file(const opt_entry *o) { return o->argument && !strcmp(o->argument, "FILE"); }

/* --- bash ---------------------------------------------------------------------- */

static void bash_option_values(const opt_command *command) {
    for (const opt_entry *o = command->options; o->name; o++) {
        bool filter = !strcmp(o->name, "filter");
        if (o->arity == OPT_FLAG || (!o->choices && !filter && !takes_file(o))) continue;
        printf("      --%s", o->name);
        if (o->letter) printf("|-%c", o->letter);
        fputs(") ", stdout);
        if (filter) {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            put_filter_names(' ');
            fputs("' -- \"$cur\"))", stdout);
        } else if (o->choices) {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            put_joined(o->choices, ' ');
            fputs("' -- \"$cur\"))", stdout);
        } else {
            fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", stdout);
        }
        puts("; return;;");
    }
}

/* Topics of weir help: the commands, and two more. */
static void put_topics(void) {
    put_command_names(' ');
    fputs(" filters sketches", stdout);
}

/* Until one of them has been given. */
static void bash_actions(const opt_command *command) {
    if (command == &cmd_help) {
        fputs("      actions='", stdout);
        put_topics();
        puts("'");
    }
    if (!command->actions) return;
    fputs("      actions='", stdout);
    put_joined(command->actions, ' ');
    printf("'\n      [[ \" ${COMP_WORDS[*]:2:COMP_CWORD-2} \" =~ ' '(%s)' ' ]] && actions=''\n",
           command->actions);
}

static void bash_command(const opt_command *command) {
    printf("    %s)\n      case $prev in\n", command->name);
    bash_option_values(command);
    puts("      esac");
    bash_actions(command);
    fputs("      words='--help", stdout);
    for (const opt_entry *o = command->options; o->name; o++) printf(" --%s", o->name);
    puts("';;");
}

static void bash_print(void) {
    puts("# bash completion for weir\n"
         "_weir() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local words='' actions=''\n"
         "  COMPREPLY=()\n"
         "  # readline splits --option=value at the '='\n"
         "  [[ $cur == '=' ]] && cur=''\n"
         "  [[ $prev == '=' ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  if ((COMP_CWORD == 1)); then");
    fputs("    COMPREPLY=($(compgen -W '", stdout);
    put_command_names(' ');
    puts(" --help --version' -- \"$cur\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in");
    for (size_t i = 0; cli_commands[i]; i++) bash_command(cli_commands[i]);
    puts("  esac\n"
         "  if [[ $cur == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  elif [[ $actions ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$actions\" -- \"$cur\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _weir weir");
}

/* --- zsh ------------------------------------------------------------------------- */

/* A meaning inside [...] within single quotes. */
static void zsh_text(const char *text) {
    for (; *text; text++) {
        if (*text == '`') continue;
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else {
            if (strchr("[]:\\", *text)) putchar('\\');
            putchar(*text);
        }
    }
}

static void zsh_value(const opt_entry *o) {
    if (o->arity == OPT_FLAG) return;
    printf("%s:%s:", o->arity == OPT_OPTIONAL ? ":" : "", o->argument);
    if (!strcmp(o->name, "filter")) {
        putchar('(');
        put_filter_names(' ');
        putchar(')');
    } else if (o->choices) {
        putchar('(');
        put_joined(o->choices, ' ');
        putchar(')');
    } else if (takes_file(o)) {
        fputs("_files", stdout);
    } else {
        putchar(' ');
    }
}

static void zsh_option(const opt_entry *o) {
    const char *joint = opt_needs_value(o) ? "=" : o->arity == OPT_OPTIONAL ? "=-" : "";
    printf("        '--%s%s[", o->name, joint);
    zsh_text(o->meaning);
    putchar(']');
    zsh_value(o);
    puts("' \\");
    if (!o->letter) return;
    printf("        '-%c%s[", o->letter, opt_needs_value(o) ? "+" : "");
    zsh_text(o->meaning);
    putchar(']');
    zsh_value(o);
    puts("' \\");
}

static void zsh_operands(const opt_command *command) {
    if (command == &cmd_help) {
        fputs("        '1:topic:(", stdout);
        put_topics();
        puts(")';;");
        return;
    }
    if (command->actions) {
        fputs("        '1:action:(", stdout);
        put_joined(command->actions, ' ');
        puts(")' \\");
    }
    puts("        '*:file:_files';;");
}

static void zsh_print(void) {
    puts("#compdef weir\n_weir() {\n  if ((CURRENT == 2)); then\n    local -a commands=(");
    for (size_t i = 0; cli_commands[i]; i++) {
        printf("      '%s:", cli_commands[i]->name);
        zsh_text(cli_commands[i]->summary);
        puts("'");
    }
    puts("    )\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in");
    for (size_t i = 0; cli_commands[i]; i++) {
        printf("    %s)\n      _arguments -s \\\n", cli_commands[i]->name);
        for (const opt_entry *o = cli_commands[i]->options; o->name; o++) zsh_option(o);
        zsh_operands(cli_commands[i]);
    }
    puts("  esac\n}\n_weir \"$@\"");
}

/* --- fish -------------------------------------------------------------------------- */

static void fish_text(const char *text) {
    putchar('\'');
    for (; *text; text++) {
        if (*text == '`') continue;
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_option(const opt_command *command, const opt_entry *o) {
    printf("complete -c weir -n '__fish_seen_subcommand_from %s' -l %s", command->name, o->name);
    if (o->letter) printf(" -s %c", o->letter);
    if (!strcmp(o->name, "filter")) {
        fputs(" -x -a '", stdout);
        put_filter_names(' ');
        putchar('\'');
    } else if (o->choices && opt_needs_value(o)) {
        fputs(" -x -a '", stdout);
        put_joined(o->choices, ' ');
        putchar('\'');
    } else if (o->choices) {
        fputs(" -f -a '", stdout);
        put_joined(o->choices, ' ');
        putchar('\'');
    } else if (opt_needs_value(o)) {
        fputs(takes_file(o) ? " -r -F" : " -x", stdout);
    }
    fputs(" -d ", stdout);
    fish_text(o->meaning);
    putchar('\n');
}

/* Until one of them has been given. */
static void fish_actions(const opt_command *command) {
    if (!command->actions) return;
    printf("complete -c weir -n '__fish_seen_subcommand_from %s; and not "
           "__fish_seen_subcommand_from ",
           command->name);
    put_joined(command->actions, ' ');
    fputs("' -f -a '", stdout);
    put_joined(command->actions, ' ');
    puts("'");
}

static void fish_print(void) {
    puts("# fish completion for weir");
    for (size_t i = 0; cli_commands[i]; i++) {
        printf("complete -c weir -n __fish_use_subcommand -f -a %s -d ", cli_commands[i]->name);
        fish_text(cli_commands[i]->summary);
        putchar('\n');
        fish_actions(cli_commands[i]);
        for (const opt_entry *o = cli_commands[i]->options; o->name; o++)
            fish_option(cli_commands[i], o);
    }
    fputs("complete -c weir -n '__fish_seen_subcommand_from help' -f -a '", stdout);
    put_topics();
    puts("'");
}

void completion_print(const char *shell) {
    if (!strcmp(shell, "bash")) bash_print();
    if (!strcmp(shell, "zsh")) zsh_print();
    if (!strcmp(shell, "fish")) fish_print();
}
