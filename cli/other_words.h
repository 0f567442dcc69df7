/* other_words.h - names of other programs: which command of weir does their work. */
#ifndef OTHER_WORDS_H
#define OTHER_WORDS_H

#include "opts.h"

/* The command that does the work of the program `word`, such as uniq; or NULL. */
const opt_command *other_word_command(const char *word);

/* Print that `word` is no command (or topic: `thing`) and which command does its work. Returns
 * EXIT_TROUBLE. */
int other_word_complain(const char *thing, const char *word, const opt_command *command);

#endif
