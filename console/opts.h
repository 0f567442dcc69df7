/* opts.h - one table per command, from which everything else is made.
 *
 * A command is described once: its options with their arguments, defaults and
 * meanings, and the sections of its manual page. The parser, `-h`, `--help`,
 * the man pages and the shell completions all read that table, so that none
 * of them can say something that another does not.
 *
 * Texts in the tables use a small markup: a blank line ends a paragraph,
 * `backquotes` mark what is typed, lines indented by four spaces are kept as
 * they are (examples), and a paragraph whose first line begins with "= " is an
 * item: the rest of that line is its term, the following lines its text.
 */
#ifndef WEIR_OPTS_H
#define WEIR_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OPT_FLAG,     /* takes no argument */
    OPT_VALUE,    /* takes one: --name VALUE, --name=VALUE, -nVALUE, -n VALUE */
    OPT_OPTIONAL, /* may take one, but only as --name=VALUE */
    OPT_LIST      /* takes one as OPT_VALUE does, and may be given again: the values add up */
} opt_arity;

enum { OPT_ENTRIES_MOST = 128 }; /* rows of a table */

/* In the order in which an entry reads, not in that which packs it best. */
typedef struct {      /* NOLINT(clang-analyzer-optin.performance.Padding) */
    int id;           /* for the command's switch; from 1 up */
    const char *name; /* long name */
    char letter;      /* short name, or 0 */
    opt_arity arity;
    const char *argument; /* what stands for the value: "FILE" */
    const char *choices;  /* "new|seen": the only values allowed; "~lines|csv": others too, and
                           * the command judges them; NULL: any */
    const char *standard; /* default as shown, or NULL */
    const char *group;    /* heading under which it is listed */
    bool brief;           /* also in the one-screen help */
    const char *meaning;  /* one sentence */
    const char *more;     /* further paragraphs for --help and the man page, or NULL */
} opt_entry;

typedef struct {
    const char *heading;
    const char *text;
} opt_section;

typedef struct opt_command {
    const char *name;
    bool lists_commands;      /* weir itself: its help lists cli_commands */
    const char *operands;     /* "[FILE...]" */
    const char *actions;      /* "list|run": what the first operand must be; NULL: anything */
    const char *operand_glob; /* which files completions offer, "*" for all */
    const char *summary;      /* one line, after "weir-dedup - " */
    const char *description;
    const opt_entry *options;    /* ends with a name of NULL */
    const opt_section *sections; /* ends with a heading of NULL */
    const char *see_also;
    int (*run)(int argc, char **argv);
} opt_command;

/* The commands of this program, ending with NULL; weir itself is not among them. */
extern const opt_command *const cli_commands[];
extern const opt_command cmd_weir, cmd_dedup, cmd_count, cmd_pairs, cmd_plan, cmd_inspect,
    cmd_merge, cmd_lab, cmd_help;

/* Parsing: feed argv to opt_next() until it returns 0. Options and operands
 * may be mixed; "--" ends the options. argv is reordered so that the operands
 * are argv[0 .. operands) when it is done. */
typedef struct {
    const opt_command *command;
    int argc;
    char **argv;
    int at;                       /* next word */
    const char *cluster;          /* rest of a word of short options, or NULL */
    bool ended;                   /* past "--" */
    int operands;                 /* collected so far */
    const opt_entry *entry;       /* of the option just returned */
    const char *value;            /* of it, or NULL */
    bool given[OPT_ENTRIES_MOST]; /* by the row of the table */
} opt_parser;

enum {
    OPT_END = 0,
    OPT_WRONG = -1,    /* a message has been printed */
    OPT_HELP = -2,     /* -h */
    OPT_HELP_ALL = -3, /* --help */
    OPT_VERSION = -4   /* --version */
};

/* argv[0] is the command's name and is skipped. */
void opt_init(opt_parser *parser, const opt_command *command, int argc, char **argv);
int opt_next(opt_parser *parser);

/* Where the value of an option is kept in the settings of its command, if nothing else is wanted of
 * it. A table of these ends with an id of 0. */
typedef enum {
    KEEP_FLAG,         /* bool: it was given */
    KEEP_WORD,         /* const char *: as given */
    KEEP_PATH,         /* const char *: value_path() of it */
    KEEP_FOLDER,       /* const char *: files can be made there */
    KEEP_CHOICE,       /* an enum: the place among its choices */
    KEEP_COUNT,        /* uint64_t, low to high */
    KEEP_REAL,         /* double: a whole number, low to high */
    KEEP_RATE,         /* double: above 0, below 1 */
    KEEP_SPAN,         /* int64_t: nanoseconds, at least low */
    KEEP_WORD_OF_SIZE, /* const char *: as given, and understood as the value it is */
    KEEP_WORD_OF_RATE,
    KEEP_WORD_OF_SEED
} opt_kind;
typedef struct {
    int id;
    opt_kind kind;
    size_t offset; /* offsetof(settings, member) */
    uint64_t low, high;
} opt_target;

enum { OPT_NOT_KEPT = -5 }; /* the option has no target */

/* Keep the option just returned: EXIT_DONE, EXIT_TROUBLE after a message, or OPT_NOT_KEPT. */
int opt_keep(const opt_parser *parser, const opt_target *targets, void *settings);

/* Read all options: each is kept, or else `other` is called, which returns as opt_keep() does.
 * False: all is said, help or what was wrong, and *code is the exit code. */
bool opt_read(opt_parser *parser, const opt_target *targets, void *settings,
              int (*other)(void *settings, int id, const char *value), int *code);

/* After OPT_HELP, OPT_HELP_ALL and OPT_VERSION: print what was asked for; returns the exit code. */
int opt_show_help(const opt_command *command, int which);

/* Does an option need a value? */
static inline bool opt_needs_value(const opt_entry *o) {
    return o->arity == OPT_VALUE || o->arity == OPT_LIST;
}

/* The command of that name, or NULL. */
const opt_command *opt_find_command(const char *name);

/* Complain about a word that is none of `names` ("a|b|c"), naming the nearest. */
int opt_complain(const char *what, const char *word, const char *names);

/* True if word is one of "a|b|c"; *index says which, if wanted. */
bool opt_is_choice(const char *word, const char *names, int *index);

#endif
