/* note_lines.c - notes that are text, a `name=value` a line. */
#include "note_lines.h"

#include <ctype.h>
#include <string.h>

const char *note_next(const char *at, const char *end, note_line *line) {
    const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    if (!stop) return NULL;
    const char *equals = memchr(at, '=', (size_t)(stop - at));
    *line = (note_line){.name = at, .name_length = (size_t)((equals ? equals : stop) - at)};
    if (equals) line->value = equals + 1, line->value_length = (size_t)(stop - equals) - 1;
    return stop + 1;
}

bool note_find(const char *note, size_t length, const char *name, note_line *line) {
    size_t n = strlen(name);
    const char *end = note + length;
    while ((note = note_next(note, end, line)))
        if (line->value && line->name_length == n && !memcmp(line->name, name, n)) return true;
    return false;
}

bool note_value(const note_line *line, char *value, size_t room, size_t *length) {
    size_t used = 0;
    for (const char *at = line->value, *end = at + line->value_length; at < end; at++) {
        unsigned byte = (unsigned char)*at;
        if (used + 1 >= room) return false;
        if (*at == '%') {
            if (end - at < 3 || !isxdigit((unsigned char)at[1]) ||
                sscanf(at + 1, "%2x", &byte) != 1 || !isxdigit((unsigned char)at[2]))
                return false;
            at += 2;
        }
        value[used++] = (char)byte;
    }
    if (!room) return false;
    value[used] = 0;
    if (length) *length = used;
    return true;
}

void note_put(FILE *out, const char *name, const char *value, size_t length) {
    fprintf(out, "%s=", name);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c < 32 || c == 127 || c == '%') fprintf(out, "%%%02X", c);
        else fputc(c, out);
    }
    fputc('\n', out);
}
