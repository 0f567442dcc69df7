/* group_note.h - the groups of `weir count --group` in a snapshot.
 *
 * Parts of a snapshot are named by letters. The sketches of a group have the first two
 * letters of what they are for ("ke" for keys) and a label of twelve that stands for the
 * hash of the group's value, or "rest"; a note "groups" says which value that is:
 *
 *     group=user
 *     AbQzmfKdaEfa=ann
 *
 * Empty sketches, under full names, go with them: what new groups begin with.
 */
#ifndef WEIR_GROUP_NOTE_H
#define WEIR_GROUP_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUP_NOTE "groups"
#define GROUP_FIELD "group" /* the name of the line with the field */
#define GROUP_REST "rest"
enum { GROUP_LABEL = 13 };

void group_label(char label[GROUP_LABEL], uint64_t hash);

/* The next line, its value unescaped in memory that the caller frees; false at the end
 * (*at is then end) or where it is not understood. */
bool group_note_next(const char **at, const char *end, char name[GROUP_LABEL], char **value,
                     size_t *length);

/* The lines of `a` and those that only `b` has; the caller frees it. NULL if memory is out,
 * or if they are not of the same field. */
char *group_notes_join(const char *a, size_t length_a, const char *b, size_t length_b,
                       size_t *length);

#endif
