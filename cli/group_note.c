/* group_note.c - the groups of `weir count --group` in a snapshot. */
#include "group_note.h"

#include <stdlib.h>
#include <string.h>

#include "note_lines.h"

void group_label(char label[GROUP_LABEL], uint64_t hash) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < GROUP_LABEL - 1; i++, hash /= 52) label[i] = letters[hash % 52];
    label[GROUP_LABEL - 1] = 0;
}

bool group_note_next(const char **at, const char *end, char name[GROUP_LABEL], char **value,
                     size_t *length) {
    note_line line;
    const char *next = note_next(*at, end, &line);
    *value = NULL;
    if (!next || !line.value || line.name_length >= GROUP_LABEL) return false;
    memcpy(name, line.name, line.name_length);
    name[line.name_length] = 0;
    *value = malloc(line.value_length + 1);
    if (!*value || !note_value(&line, *value, line.value_length + 1, length)) {
        free(*value);
        *value = NULL;
        return false;
    }
    *at = next;
    return true;
}

/* The length of the first line, its end included; 0 if there is none. */
static size_t line_length(const char *text, size_t length) {
    note_line line;
    const char *next = note_next(text, text + length, &line);
    return next ? (size_t)(next - text) : 0;
}

static bool has_line(const char *text, size_t length, const char *line, size_t n) {
    for (size_t at = 0, own; (own = line_length(text + at, length - at)); at += own)
        if (own == n && !memcmp(text + at, line, n)) return true;
    return false;
}

char *group_notes_join(const char *a, size_t length_a, const char *b, size_t length_b,
                       size_t *length) {
    size_t field = line_length(a, length_a);
    if (!field || field != line_length(b, length_b) || memcmp(a, b, field)) return NULL;
    char *joined = malloc(length_a + length_b);
    if (!joined) return NULL;
    memcpy(joined, a, length_a);
    *length = length_a;
    for (size_t at = field, n; (n = line_length(b + at, length_b - at)); at += n) {
        if (has_line(a, length_a, b + at, n)) continue;
        memcpy(joined + *length, b + at, n);
        *length += n;
    }
    return joined;
}
