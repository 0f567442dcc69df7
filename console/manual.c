/* manual.c - help texts and man pages.
 *
 * One writer, two forms. A page is written as headings, running text and
 * items; the text form wraps it at 80 columns for a terminal, the roff form
 * leaves the wrapping to man(1). What a page says comes from the tables
 * (opts.h, and the library's tables of filters), how it looks from here.
 */
#include "manual.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "weir.h"
#include "weir_sketch.h"
#include "weir_text.h"

enum {
    WIDTH = 80, /* columns of a help text */
    INDENT = 4, /* columns before an option */
    HANG = 8    /* columns before what it means */
};

typedef struct {
    manual_form form;
    int indent; /* of running text, in the text form */
} page;

/* Make a sentence of a phrase: a capital and a full stop. One that begins with
 * a letter of a formula ("k bits a key") keeps it. */
static void sentence(char *out, size_t size, const char *phrase) {
    int n = snprintf(out, size, "%s", phrase);
    if (n <= 0 || (size_t)n + 1 >= size) return;
    if (isalpha((unsigned char)out[1])) out[0] = (char)toupper((unsigned char)out[0]);
    if (out[n - 1] != '.') memcpy(out + n, ".", 2);
}

/* --- the text form ---------------------------------------------------------- */

/* Write one word without its backquotes; returns its width on the screen. */
static int put_word(const char *word, size_t length, bool count_only) {
    int width = 0;
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '`') continue;
        if (!count_only) putchar(word[i]);
        width += ((unsigned char)word[i] & 0xC0) != 0x80;
    }
    return width;
}

/* Wrap a paragraph, beginning at `column`; later lines begin at `indent`. */
static void put_wrapped(const char *text, size_t length, int column, int indent) {
    const char *end = text + length;
    bool first = true;
    while (text < end) {
        while (text < end && isspace((unsigned char)*text)) text++;
        const char *word = text;
        bool quoted = false; /* what is typed stays on one line, spaces and all */
        while (text < end && (quoted || !isspace((unsigned char)*text)) && *text != '\n')
            quoted ^= *text++ == '`';
        if (word == text) break;
        size_t size = (size_t)(text - word);
        int width = put_word(word, size, true);
        if (!first && column + 1 + width > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        put_word(word, size, false);
        column += width;
        first = false;
    }
    putchar('\n');
}

/* --- the roff form ------------------------------------------------------------ */

/* Text for troff: its special characters escaped, typed words in bold. */
static void put_roff(const char *text, size_t length) {
    bool bold = false, line_start = true;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (line_start && (c == '.' || c == '\'')) fputs("\\&", stdout);
        line_start = c == '\n';
        if (c == '`') {
            bold = !bold;
            fputs(bold ? "\\fB" : "\\fR", stdout);
            line_start = false;
        } else if (c == '\\') {
            fputs("\\e", stdout);
        } else if (c == '-') {
            fputs("\\-", stdout);
        } else if (c == '~') {
            fputs("\\(ti", stdout);
        } else if (c == '^') {
            fputs("\\(ha", stdout);
        } else if (c == '\'' && bold) {
            fputs("\\(aq", stdout);
        } else {
            putchar(c);
        }
    }
}

static void put_roff_text(const char *text) { put_roff(text, strlen(text)); }

/* --- pages ---------------------------------------------------------------------- */

static void page_heading(const page *p, const char *heading) {
    if (p->form == MANUAL_ROFF) {
        printf(".SH \"%s\"\n", heading);
    } else {
        printf("\n%s\n", heading);
    }
}

static void page_subheading(const page *p, const char *heading) {
    if (p->form == MANUAL_ROFF) {
        printf(".SS \"%s\"\n", heading);
    } else {
        printf("\n  %s\n", heading);
    }
}

static void page_verbatim(const page *p, const char *text, size_t length) {
    if (p->form == MANUAL_ROFF) {
        fputs(".PP\n.RS 4\n.nf\n", stdout);
        for (const char *end = text + length; text < end;) {
            size_t n = strcspn(text, "\n");
            size_t skip = n < 4 ? n : 4;
            put_roff(text + skip, n - skip);
            putchar('\n');
            text += n + 1;
        }
        fputs(".fi\n.RE\n", stdout);
    } else {
        for (const char *end = text + length; text < end;) {
            size_t n = strcspn(text, "\n");
            printf("%*s%.*s\n", p->indent, "", (int)n, text);
            text += n + 1;
        }
    }
}

static void page_paragraph(const page *p, const char *text, size_t length) {
    if (p->form == MANUAL_ROFF) {
        fputs(".PP\n", stdout);
        put_roff(text, length);
        putchar('\n');
    } else {
        printf("%*s", p->indent, "");
        put_wrapped(text, length, p->indent, p->indent);
    }
}

static void page_item(const page *p, const char *term, size_t term_length, const char *text,
                      size_t length) {
    if (p->form == MANUAL_ROFF) {
        fputs(".TP\n\\fB", stdout);
        put_roff(term, term_length);
        fputs("\\fR\n", stdout);
        put_roff(text, length);
        putchar('\n');
    } else {
        int width = put_word(term, term_length, true);
        printf("%*s", p->indent, "");
        put_word(term, term_length, false);
        if (width + 2 <= HANG * 2) { /* short terms share the line with their text */
            printf("%*s", HANG * 2 - width, "");
        } else {
            printf("\n%*s", p->indent + HANG * 2, "");
        }
        put_wrapped(text, length, p->indent + HANG * 2, p->indent + HANG * 2);
    }
}

/* Running text with the markup of opts.h. */
static void page_text(const page *p, const char *text) {
    bool first = true, was_item = false;
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        bool item = !strncmp(text, "= ", 2);
        if (p->form == MANUAL_TEXT && !first && !(item && was_item)) putchar('\n');
        if (item) {
            size_t line = strcspn(text, "\n");
            size_t body = line < length ? line + 1 : length;
            page_item(p, text + 2, line - 2, text + body, length - body);
        } else if (!strncmp(text, "    ", 4)) {
            page_verbatim(p, text, length);
        } else {
            page_paragraph(p, text, length);
        }
        was_item = item;
        first = false;
        text += length;
        while (*text == '\n') text++;
    }
}

/* --- options ----------------------------------------------------------------------- */

/* "-o, --output FILE" */
static void option_term(char *buffer, size_t size, const opt_entry *o) {
    char letter[8] = "    ";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    const char *format = o->arity == OPT_FLAG       ? "%s--%s"
                         : o->arity == OPT_OPTIONAL ? "%s--%s[=%s]"
                                                    : "%s--%s %s";
    snprintf(buffer, size, format, letter, o->name, o->argument);
}

static void option_text(const opt_entry *o, int column) {
    char text[512];
    int n = snprintf(text, sizeof text, "%s", o->meaning);
    if (o->standard) snprintf(text + n, sizeof text - (size_t)n, " `[%s]`", o->standard);
    put_wrapped(text, strlen(text), column, column);
}

static void option_roff(const opt_entry *o) {
    fputs(".TP\n", stdout);
    if (o->letter) printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff_text(o->name);
    fputs("\\fR", stdout);
    if (o->arity != OPT_FLAG) {
        fputs(opt_needs_value(o) ? " \\fI" : "[=\\fI", stdout);
        put_roff_text(o->argument);
        fputs(opt_needs_value(o) ? "\\fR" : "\\fR]", stdout);
    }
    putchar('\n');
    put_roff_text(o->meaning);
    if (o->standard) {
        fputs(" Default: ", stdout);
        put_roff_text(o->standard);
        putchar('.');
    }
    putchar('\n');
    if (o->more) {
        page inner = {MANUAL_ROFF, 0};
        fputs(".RS\n", stdout);
        page_text(&inner, o->more);
        fputs(".RE\n", stdout);
    }
}

static void option_full_text(const opt_entry *o) {
    char term[128];
    option_term(term, sizeof term, o);
    int width = printf("%*s%s", INDENT, "", term);
    int column = INDENT + HANG + 18;
    if (width + 2 > column) {
        printf("\n%*s", column, "");
    } else {
        printf("%*s", column - width, "");
    }
    option_text(o, column);
    if (o->more) {
        page inner = {MANUAL_TEXT, column};
        page_text(&inner, o->more);
        if (o[1].name && o->group && !strcmp(o[1].group, o->group)) putchar('\n');
    }
}

static void page_options(const page *p, const opt_command *command) {
    const char *group = NULL;
    if (!command->options->name) return;
    page_heading(p, "OPTIONS");
    for (const opt_entry *o = command->options; o->name; o++) {
        if (o->group && (!group || strcmp(group, o->group))) page_subheading(p, o->group);
        group = o->group;
        if (p->form == MANUAL_ROFF) {
            option_roff(o);
        } else {
            option_full_text(o);
        }
    }
}

/* --- whole pages ---------------------------------------------------------------------- */

/* "weir dedup", or "weir" for the program itself. */
static void full_name(char *buffer, size_t size, const opt_command *command, const char *joint) {
    if (command->lists_commands) snprintf(buffer, size, "weir");
    else snprintf(buffer, size, "weir%s%s", joint, command->name);
}

void manual_brief(const opt_command *command) {
    char name[64];
    full_name(name, sizeof name, command, " ");
    printf("Usage: %s %s%s\n", name, command->options->name ? "[OPTIONS] " : "", command->operands);
    char summary[160];
    sentence(summary, sizeof summary, command->summary);
    put_wrapped(summary, strlen(summary), 0, 0);
    if (command->lists_commands) {
        puts("\nCommands:");
        for (size_t i = 0; cli_commands[i]; i++)
            printf("  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    putchar('\n');
    for (const opt_entry *o = command->options; o->name; o++) {
        if (!o->brief) continue;
        char term[128];
        option_term(term, sizeof term, o);
        printf("  %-24s ", term);
        option_text(o, 27);
    }
    if (command->lists_commands)
        puts("\n'weir help COMMAND' explains a command, 'weir help filters' the filters,\n'weir "
             "help sketches' the sketches.");
    else
        printf("\n'weir help %s' explains these and the other options, with examples.\n",
               command->name);
}

static void page_open(const page *p, const char *name, int section, const char *summary) {
    if (p->form == MANUAL_ROFF) {
        char upper[64];
        size_t i = 0;
        for (; name[i] && i + 1 < sizeof upper; i++)
            upper[i] = (char)toupper((unsigned char)name[i]);
        upper[i] = 0;
        printf(".TH \"%s\" %d \"\" \"weir %s\" \"weir manual\"\n", upper, section,
               WEIR_VERSION_STRING);
        fputs(".nh\n.ad l\n.SH NAME\n", stdout);
        put_roff_text(name);
        fputs(" \\- ", stdout);
        put_roff_text(summary);
        putchar('\n');
    } else {
        printf("%s - ", name);
        put_wrapped(summary, strlen(summary), (int)strlen(name) + 3, INDENT);
    }
}

static void page_synopsis(const page *p, const opt_command *command) {
    char name[64];
    full_name(name, sizeof name, command, " ");
    page_heading(p, "SYNOPSIS");
    const char *options = command->options->name ? "[OPTIONS] " : "";
    if (p->form == MANUAL_ROFF) {
        printf("\\fB%s\\fR %s", name, options);
        put_roff_text(command->operands);
        putchar('\n');
    } else {
        printf("%*s%s %s%s\n", INDENT, "", name, options, command->operands);
    }
}

/* The page of weir itself names those of all commands. */
static void page_see_also(const page *p, const opt_command *command) {
    char text[1024] = "";
    size_t used = 0;
    for (size_t i = 0; command->lists_commands && cli_commands[i]; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "`weir-%s(1)`, ",
                                 cli_commands[i]->name);
    snprintf(text + used, sizeof text - used, "%s", command->see_also);
    page_heading(p, "SEE ALSO");
    page_text(p, text);
}

void manual_print(const opt_command *command, manual_form form) {
    page p = {form, INDENT};
    char name[64];
    full_name(name, sizeof name, command, "-");
    page_open(&p, name, 1, command->summary);
    page_synopsis(&p, command);
    page_heading(&p, "DESCRIPTION");
    page_text(&p, command->description);
    if (command->lists_commands) {
        page_heading(&p, "COMMANDS");
        for (size_t i = 0; cli_commands[i]; i++)
            page_item(&p, cli_commands[i]->name, strlen(cli_commands[i]->name),
                      cli_commands[i]->summary, strlen(cli_commands[i]->summary));
    }
    page_options(&p, command);
    for (const opt_section *s = command->sections; s->heading; s++) {
        page_heading(&p, s->heading);
        page_text(&p, s->text);
    }
    if (command->see_also) page_see_also(&p, command);
}

/* --- filters --------------------------------------------------------------------------- */

static const char filters_choose[] =
    "A filter remembers keys and says of each record whether its key is new or was seen. "
    "All of them keep to the memory they are given; they differ in what they do when the keys "
    "no longer fit it.\n"
    "\n"
    "If in doubt take the first one, which is the default: it is exact while the keys fit, "
    "keeps the bound on false positives afterwards, and forgets what is least likely to come "
    "again. Take another one for the reason that it gives below.\n"
    "\n"
    "A filter is named by a spec, the same on the command line, in C and in a snapshot:\n"
    "\n"
    "    NAME\n"
    "    NAME:OPTION=VALUE,OPTION=VALUE\n"
    "\n"
    "    weir dedup --filter stable:max=3 --memory 64M --fpr 1% access.log\n"
    "\n"
    "The two ways to err are not alike. A false positive calls a new record seen, and it is "
    "lost: `fpr` bounds their rate. A false negative calls a repeat new, and a duplicate "
    "passes: more memory makes it rarer. `weir dedup --audit` measures both on your stream.";

static const char filters_size[] =
    "Exact answers take about 8 bytes for each distinct key, and a little room: 256M hold "
    "at least 20 million keys exactly. Past that, `recent` at an `fpr` of 0.0001% remembers "
    "about one key in 3 bytes, the most recent and most frequent ones; at 1% about one in "
    "1.3 bytes. Numbers: SIZE takes K, M, G (powers of 1024), COUNT takes K, M, G (powers of "
    "1000), RATE is 0.001 or 0.1%, SPAN is a duration (ms, s, m, h, d) or a number of records.";

/* The decision list: the case, the filter that it calls for (left out where this build
 * has none of that name), and what to type. */
static const struct {
    const char *filter, *when, *use;
} filter_cases[] = {
    {"recent", "you want few duplicates and are not sure of anything else",
     "`recent`, the default. `weir plan` says what it will do with your memory and your stream, "
     "and compares it with all others."},
    {"bloom", "no repeat may ever pass, and you know how many keys there will be",
     "`bloom:capacity=N`. It never forgets, but past its capacity it loses more and more new "
     "records."},
    {"growing", "no repeat may ever pass, and you do not know how many keys there will be",
     "`growing`, as far as memory allows."},
    {"recent", "only repeats within a time or a number of records count",
     "`--window`, with `recent` or any filter that has a window."},
    {"importance", "a repeat that passes costs more for some records than for others",
     "`importance`, with `--importance FIELD`."},
    {"counting", "keys must be taken back, from a program", "`counting`, or `spectral` to count."},
    {"apbf", "you want the last so many keys, for certain, and nothing older",
     "`apbf`: no false negative among them."},
    {"horizontal", "the keys are spread over threads or sites",
     "`horizontal`, `vertical` or `tree`, made of any of the others."},
    {"stable", "you compare with the filters of the literature",
     "`stable` and `reservoir`, as their papers have them; `stable` also where memory is tiny "
     "and the bound loose (10%)."},
};

static bool has_filter(const char *name) {
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++)
        if (!strcmp(kind->name, name)) return true;
    return false;
}

static void decision_list(const page *p) {
    for (size_t i = 0; i < sizeof filter_cases / sizeof *filter_cases; i++) {
        char term[160];
        if (!has_filter(filter_cases[i].filter)) continue;
        snprintf(term, sizeof term, "If %s:", filter_cases[i].when);
        page_item(p, term, strlen(term), filter_cases[i].use, strlen(filter_cases[i].use));
    }
}

static const char *type_word(weir_option_type type) {
    switch (type) {
    case WEIR_OPT_SIZE:
        return "SIZE";
    case WEIR_OPT_COUNT:
        return "COUNT";
    case WEIR_OPT_RATE:
        return "RATE";
    case WEIR_OPT_SPAN:
        return "SPAN";
    case WEIR_OPT_CHOICE:
        return "WORD";
    case WEIR_OPT_SEED:
        return "N";
    case WEIR_OPT_SPEC:
        return "(SPEC)";
    }
    return "VALUE";
}

static void filter_option(const page *p, const weir_option *o) {
    char term[160], text[768];
    snprintf(term, sizeof term, "%s=%s", o->name,
             o->type == WEIR_OPT_CHOICE && o->choices ? o->choices : type_word(o->type));
    sentence(text, sizeof text, o->meaning);
    size_t n = strlen(text);
    if (n < sizeof text && o->standard) snprintf(text + n, sizeof text - n, " `[%s]`", o->standard);
    page_item(p, term, strlen(term), text, strlen(text));
}

static void filter_kind(const page *p, const weir_kind *kind, bool standard) {
    char title[256];
    snprintf(title, sizeof title, "%s%s", kind->name, standard ? " (the default)" : "");
    page_subheading(p, title);
    char summary[512];
    sentence(summary, sizeof summary - 20, kind->summary);
    if (kind->mergeable) strcat(summary, " Can be merged.");
    page_text(p, summary);
    if (kind->advice) {
        if (p->form == MANUAL_TEXT) putchar('\n');
        page_text(p, kind->advice);
    }
    if (kind->options && kind->options->name && p->form == MANUAL_TEXT) putchar('\n');
    for (const weir_option *o = kind->options; o && o->name; o++) filter_option(p, o);
}

void manual_filters(manual_form form) {
    page p = {form, INDENT};
    page_open(&p, "weir-filters", 7, "how to choose a filter");
    page_heading(&p, "CHOOSING");
    decision_list(&p);
    page_heading(&p, "HOW FILTERS ARE NAMED AND HOW THEY ERR");
    page_text(&p, filters_choose);
    page_heading(&p, "MEMORY");
    page_text(&p, filters_size);
    page_heading(&p, "OPTIONS OF EVERY FILTER");
    for (const weir_option *o = weir_common_options(); o->name; o++) filter_option(&p, o);
    page_heading(&p, "FILTERS");
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++) filter_kind(&p, kind, i == 0);
    page_heading(&p, "SEE ALSO");
    page_text(&p, "`weir(1)`, `weir-dedup(1)`, `weir-plan(1)`");
}

static const char sketches_choose[] =
    "A sketch summarises a stream in fixed memory and answers questions about it: how often a "
    "key came, which came most, how many different ones there were. `weir count` picks one for "
    "each question; `--sketch SPEC` takes another. A spec is written as that of a filter:\n"
    "\n"
    "    NAME\n"
    "    NAME:OPTION=VALUE,OPTION=VALUE\n"
    "\n"
    "    weir count --sketch countmin:memory=4M --query /index.html access.log";

void manual_sketches(manual_form form) {
    page p = {form, INDENT};
    page_open(&p, "weir-sketches", 7, "what each sketch answers");
    page_heading(&p, "CHOOSING");
    page_text(&p, sketches_choose);
    page_heading(&p, "SKETCHES");
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_sketch_kind(i)); i++) filter_kind(&p, kind, false);
    page_heading(&p, "SEE ALSO");
    page_text(&p, "`weir(1)`, `weir-count(1)`, `weir-filters(7)`");
}
