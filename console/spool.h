/* spool.h - temporary files without a name, and inputs that can be read only once kept in them. */
#ifndef WEIR_SPOOL_H
#define WEIR_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "stream.h"

/* A new file in a folder (NULL: $TMPDIR, or /tmp) that nobody else sees and that goes with the
 * process; -1 and errno if it cannot be made. */
int spool_file(const char *folder);

/* The names of files to read: those that can be read again as they were given, and of those that
 * cannot (pipes, standard input) the copies. */
typedef struct {
    const char **names;
    const char *const *given;
    size_t count;
    char (*copies)[32];
} spool;

/* Can a file be read only once? */
bool spool_is_needed(const char *path);

/* Copy what can be read only once, if `twice`. Returns EXIT_DONE; EXIT_TROUBLE after a message;
 * or 128 and a signal that came. `advice` ends the message that a folder is full. Release it in
 * any case. */
int spool_inputs(spool *s, const char *const *given, size_t count, bool twice, const char *folder,
                 const char *advice);

/* The name that the user gave for a name of the list. */
const char *spool_given(const spool *s, const char *name);

/* A message about a copy speaks of what it is a copy of. */
void spool_word(const spool *s, stream_error *err);

void spool_release(spool *s);

#endif
