/* note_lines.h - notes that are text: a `name=value` a line, bytes below 32, 127 and '%' of the
 * value written %XX. So `weir inspect` can show them, and a person can read them. */
#ifndef WEIR_NOTE_LINES_H
#define WEIR_NOTE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A line of a note; the value as it is written there, NULL: it has none. */
typedef struct {
    const char *name, *value;
    size_t name_length, value_length;
} note_line;

/* The line that begins at `at`: returns where the next one does, NULL at the end of the note. */
const char *note_next(const char *at, const char *end, note_line *line);

/* The first line of that name; false if there is none. */
bool note_find(const char *note, size_t length, const char *name, note_line *line);

/* Its value as it was put, with a zero behind it. False if `room` bytes do not hold it, or it was
 * not written so. */
bool note_value(const note_line *line, char *value, size_t room, size_t *length);

void note_put(FILE *out, const char *name, const char *value, size_t length);

#endif
