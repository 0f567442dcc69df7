/* opts.c - the option parser.
 *
 * Reads the tables of opts.h. It is a plain left-to-right scan: what looks
 * like an option is looked up, what does not is moved to the front of argv as
 * an operand. A name that is not known is answered with the nearest one that
 * is, never with a guess: abbreviations are not accepted, so that an option
 * added later cannot change what an old script means.
 */
#include "opts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "manual.h"
#include "values.h"
#include "weir.h"
#include "weir_text.h"

/* Every command has these; an option of its own comes before --version. */
static const opt_entry help_options[] = {
    {OPT_HELP, "-h", 'h', OPT_FLAG, NULL, NULL, NULL, NULL, false, NULL, NULL},
    {OPT_HELP_ALL, "help", 0, OPT_FLAG, NULL, NULL, NULL, NULL, false, NULL, NULL},
    {OPT_VERSION, "version", 0, OPT_FLAG, NULL, NULL, NULL, NULL, false, NULL, NULL},
};

void opt_init(opt_parser *parser, const opt_command *command, int argc, char **argv) {
    *parser = (opt_parser){.command = command, .argc = argc, .argv = argv, .at = 1};
}

static const opt_entry *find_long(const opt_command *command, const char *name, size_t length) {
    for (const opt_entry *o = command->options; o->name; o++)
        if (strlen(o->name) == length && !memcmp(o->name, name, length)) return o;
    for (size_t i = 0; i < sizeof help_options / sizeof *help_options; i++)
        if (strlen(help_options[i].name) == length && !memcmp(help_options[i].name, name, length))
            return &help_options[i];
    return NULL;
}

static const opt_entry *find_short(const opt_command *command, char letter) {
    if (letter == 'h') return &help_options[0];
    for (const opt_entry *o = command->options; o->name; o++)
        if (o->letter == letter) return o;
    return NULL;
}

bool opt_is_choice(const char *word, const char *names, int *index) {
    size_t length = strlen(word);
    int i = 0;
    for (const char *p = names; *p; i++) {
        size_t n = strcspn(p, "|");
        if (n == length && !memcmp(p, word, n)) {
            if (index) *index = i;
            return true;
        }
        p += n + (p[n] == '|');
    }
    return false;
}

int opt_complain(const char *what, const char *word, const char *names) {
    char near[64];
    if (weir_nearest(word, names, near))
        return cli_error("unknown %s '%s'; did you mean '%s'?", what, word, near);
    return cli_error("unknown %s '%s'; it is one of %s", what, word, names);
}

static int complain_option(const opt_parser *parser, const char *word, size_t length) {
    char names[2048] = "help";
    size_t used = strlen(names);
    for (const opt_entry *o = parser->command->options; o->name; o++) {
        int n = snprintf(names + used, sizeof names - used, "|%s", o->name);
        if (n < 0 || (size_t)n >= sizeof names - used) break;
        used += (size_t)n;
    }
    char name[64], near[64];
    snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), word);
    if (weir_nearest(name, names, near))
        cli_error("unknown option '--%s'; did you mean '--%s'?", name, near);
    else cli_error("unknown option '--%s'; see 'weir help %s'", name, parser->command->name);
    return OPT_WRONG;
}

/* Does its value name a file or a folder? One of no name, as from a variable that is not set,
 * would be found out only when it is written. */
static bool is_path(const opt_entry *o) {
    return o->argument && (!strncmp(o->argument, "FILE", 4) || !strcmp(o->argument, "FOLDER") ||
                           !strcmp(o->argument, "DIR"));
}

/* Of two values of an option one would be lost without a word, unless they add up. A flag
 * says the same twice. */
static bool may_be_given(opt_parser *parser, const opt_entry *o) {
    const opt_entry *table = parser->command->options;
    if (o->id < 0) return true;
    size_t row = (size_t)(o - table);
    assert(row < OPT_ENTRIES_MOST);
    bool again = parser->given[row];
    parser->given[row] = true;
    if (!again || o->arity == OPT_FLAG || o->arity == OPT_LIST) return true;
    cli_error("--%s is given twice; give it once", o->name);
    return false;
}

/* An option with its value is complete: check it against the choices. */
static int deliver(opt_parser *parser, const opt_entry *o, const char *value) {
    parser->entry = o;
    parser->value = value;
    if (!may_be_given(parser, o)) return OPT_WRONG;
    if (value && !*value && is_path(o)) {
        cli_error("--%s cannot be ''; it is the name of a %s", o->name,
                  !strncmp(o->argument, "FILE", 4) ? "file" : "folder");
        return OPT_WRONG;
    }
    if (!value || !o->choices || *o->choices == '~') return o->id;
    if (opt_is_choice(value, o->choices, NULL)) return o->id;
    char what[64], near[64];
    snprintf(what, sizeof what, "--%s", o->name);
    if (weir_nearest(value, o->choices, near))
        cli_error("%s cannot be '%s'; did you mean '%s'?", what, value, near);
    else cli_error("%s cannot be '%s'; it is one of %s", what, value, o->choices);
    return OPT_WRONG;
}

static int next_long(opt_parser *parser, const char *word) {
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : NULL;
    const opt_entry *o = find_long(parser->command, word, length);
    if (!o) return complain_option(parser, word, length);
    if (o->arity == OPT_FLAG && value) {
        cli_error("--%s takes no value, but got '%s'", o->name, value);
        return OPT_WRONG;
    }
    if (opt_needs_value(o) && !value) {
        if (parser->at >= parser->argc) {
            cli_error("--%s needs a value: --%s %s", o->name, o->name, o->argument);
            return OPT_WRONG;
        }
        value = parser->argv[parser->at++];
    }
    return deliver(parser, o, value);
}

static int next_short(opt_parser *parser) {
    char letter = *parser->cluster++;
    const opt_entry *o = find_short(parser->command, letter);
    const char *rest = *parser->cluster ? parser->cluster : NULL;
    if (!rest || !o || opt_needs_value(o)) parser->cluster = NULL;
    if (!o) {
        cli_error("unknown option '-%c'; see 'weir help %s'", letter, parser->command->name);
        return OPT_WRONG;
    }
    if (!opt_needs_value(o)) return deliver(parser, o, NULL);
    if (!rest) {
        if (parser->at >= parser->argc) {
            cli_error("-%c needs a value: -%c %s", letter, letter, o->argument);
            return OPT_WRONG;
        }
        rest = parser->argv[parser->at++];
    }
    return deliver(parser, o, rest);
}

int opt_next(opt_parser *parser) {
    parser->value = NULL;
    if (parser->cluster) return next_short(parser);
    while (parser->at < parser->argc) {
        char *word = parser->argv[parser->at++];
        if (parser->ended || word[0] != '-' || !word[1]) {
            parser->argv[parser->operands++] = word;
        } else if (!strcmp(word, "--")) {
            parser->ended = true;
        } else if (word[1] == '-') {
            return next_long(parser, word + 2);
        } else {
            parser->cluster = word + 1;
            return next_short(parser);
        }
    }
    return OPT_END;
}

/* --- keeping -------------------------------------------------------------------------- */

/* Check the value of an option that is kept as text. */
static int check_word(const opt_target *t, const char *flag, const char *text) {
    uint64_t number;
    double rate;
    weir_error err;
    if (t->kind == KEEP_FOLDER) return value_folder(flag, text);
    if (t->kind == KEEP_WORD_OF_RATE) return value_rate(flag, text, &rate);
    if (t->kind == KEEP_WORD_OF_SEED) return value_seed(flag, text, &number);
    if (t->kind == KEEP_WORD_OF_SIZE && weir_parse_size(text, &number, &err) != WEIR_OK)
        return value_bad(flag, &err);
    return EXIT_DONE;
}

static int keep(const opt_target *t, const opt_entry *entry, const char *text, void *member) {
    char flag[64];
    uint64_t number;
    int code, choice;
    snprintf(flag, sizeof flag, "--%s", entry->name);
    switch (t->kind) {
    case KEEP_FLAG:
        *(bool *)member = true;
        return EXIT_DONE;
    case KEEP_CHOICE:
        choice = value_choice(entry->choices, text);
        memcpy(member, &choice, sizeof choice);
        return EXIT_DONE;
    case KEEP_RATE:
        return value_rate(flag, text, member);
    case KEEP_SPAN:
        return value_span(flag, text, (int64_t)t->low, member);
    case KEEP_COUNT:
        return value_number(flag, text, t->low, t->high, false, member);
    case KEEP_REAL:
        code = value_number(flag, text, t->low, t->high, false, &number);
        if (code == EXIT_DONE) *(double *)member = (double)number;
        return code;
    default:
        *(const char **)member = t->kind == KEEP_PATH ? value_path(text) : text;
        return check_word(t, flag, text);
    }
}

int opt_keep(const opt_parser *parser, const opt_target *targets, void *settings) {
    for (const opt_target *t = targets; t->id; t++)
        if (t->id == parser->entry->id)
            return keep(t, parser->entry, parser->value, (char *)settings + t->offset);
    return OPT_NOT_KEPT;
}

bool opt_read(opt_parser *parser, const opt_target *targets, void *settings,
              int (*other)(void *settings, int id, const char *value), int *code) {
    for (int id; (id = opt_next(parser)) != OPT_END;) {
        if (id == OPT_WRONG) *code = EXIT_TROUBLE;
        else if (id < 0) *code = opt_show_help(parser->command, id);
        else *code = opt_keep(parser, targets, settings);
        if (*code == OPT_NOT_KEPT) *code = other(settings, id, parser->value);
        assert(*code != OPT_NOT_KEPT || id < 0);
        if (id < 0 || *code != EXIT_DONE) return false;
    }
    *code = EXIT_DONE;
    return true;
}

int opt_show_help(const opt_command *command, int which) {
    if (which == OPT_VERSION) printf("weir %s\n", weir_version());
    else if (which == OPT_HELP) manual_brief(command);
    else manual_print(command, MANUAL_TEXT);
    return cli_finish_stdout();
}

const opt_command *opt_find_command(const char *name) {
    for (size_t i = 0; cli_commands[i]; i++)
        if (!strcmp(cli_commands[i]->name, name)) return cli_commands[i];
    return NULL;
}
