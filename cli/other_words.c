/* other_words.c - names of other programs: which command of weir does their work. */
#include "other_words.h"

#include <string.h>

#include "cli.h"

static const struct {
    const char *word;
    const opt_command *command;
} words[] = {{"uniq", &cmd_dedup}, {"unique", &cmd_dedup}, {"distinct", &cmd_dedup},
             {"sort", &cmd_dedup}, {"filter", &cmd_dedup}, {"wc", &cmd_count},
             {"top", &cmd_count},  {"freq", &cmd_count},   {"similar", &cmd_pairs}};

const opt_command *other_word_command(const char *word) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word)) return words[i].command;
    return NULL;
}

int other_word_complain(const char *thing, const char *word, const opt_command *command) {
    return cli_error("unknown %s '%s'; 'weir %s' does that: %s", thing, word, command->name,
                     command->summary);
}
