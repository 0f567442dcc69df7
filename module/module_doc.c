/* module_doc.c - the list of commands for docs/redis.md (--list) and the man page weir-module(7),
 * both from the tables that the module registers. A program of its own, used by the build. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "table.h"

/* --- markdown --------------------------------------------------------------------------------- */

static void list_face(command_face face) {
    for (const module_command *c = module_commands; c->name; c++)
        if (c->face == face)
            printf("- **`%s %s`**: %s Reply: %s. Cost: %s.\n", c->name, c->syntax, c->summary,
                   c->reply, c->cost);
}

static void print_list(void) {
    puts("### Filters and sketches\n");
    list_face(FACE_WEIR);
    puts("\n### RedisBloom's names\n");
    list_face(FACE_BF);
    list_face(FACE_CMS);
    list_face(FACE_TOPK);
    puts("\n### Arguments\n");
    for (const argument_kind *a = argument_kinds; a->name; a++)
        printf("- `%s`: %s\n", a->name, a->meaning);
    puts("\n### Settings\n");
    for (const setting *s = settings; s->name; s++)
        printf("- `weir.%s` (%s): %s%s\n", s->name, s->standard, s->meaning,
               s->fixed ? "; only when the server starts" : "");
}

/* --- roff ------------------------------------------------------------------------------------- */

static void roff(const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\') fputs("\\e", stdout);
        else if (*text == '-') fputs("\\-", stdout);
        else if (*text != '`') putchar(*text);
    }
    putchar('\n');
}

static void man_face(const char *title, command_face face) {
    printf(".SH \"%s\"\n", title);
    for (const module_command *c = module_commands; c->name; c++) {
        if (c->face != face) continue;
        printf(".TP\n.B %s\n", c->name);
        roff(c->syntax);
        puts(".br");
        roff(c->summary);
        printf("Reply: ");
        roff(c->reply);
        puts(".br");
        printf("Cost: ");
        roff(c->cost);
    }
}

static void print_man(void) {
    printf(".TH WEIR-MODULE 7 \"\" \"weir %s\"\n.SH NAME\nweir\\-module \\- filters and sketches "
           "inside Redis and Valkey\n.SH DESCRIPTION\n",
           WEIR_VERSION_STRING);
    puts("The module weir.so makes filters and sketches types of a Redis 7 or Valkey server. Load "
         "it with\n.PP\n.RS\nloadmodule /usr/local/lib/weir/weir.so\n.RE\n.PP\nin the server's "
         "configuration. Specs are those of\n.BR weir-filters (7)\nand\n.BR weir-sketches (7).\n"
         "Verdicts are 1 for new and 0 for seen.");
    man_face("FILTERS AND SKETCHES", FACE_WEIR);
    man_face("BLOOM FILTERS, AS REDISBLOOM HAS THEM", FACE_BF);
    man_face("COUNT-MIN SKETCHES, AS REDISBLOOM HAS THEM", FACE_CMS);
    man_face("MOST FREQUENT ITEMS, AS REDISBLOOM HAS THEM", FACE_TOPK);
    puts(".SH ARGUMENTS");
    for (const argument_kind *a = argument_kinds; a->name; a++) {
        printf(".TP\n.I %s\n", a->name);
        roff(a->meaning);
    }
    puts(".SH SETTINGS");
    for (const setting *s = settings; s->name; s++) {
        printf(".TP\n.B weir.%s\n", s->name);
        roff(s->meaning);
        printf("(%s%s)\n", s->standard, s->fixed ? "; only when the server starts" : "");
    }
    puts(".SH \"SEE ALSO\"\n.BR weir (1),\n.BR weir-filters (7),\n.BR weir-sketches (7)");
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--list")) print_list();
    else if (argc == 2 && !strcmp(argv[1], "--man")) print_man();
    else return fputs("weir-module-doc --list|--man\n", stderr), 2;
    return 0;
}
