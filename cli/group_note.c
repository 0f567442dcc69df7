/* group_note.c - the groups of `weir count --group` in a snapshot. */
#include "group_note.h"

#include <stdlib.h>
#include <string.h>

void group_label(char label[GROUP_LABEL], uint64_t hash) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < GROUP_LABEL - 1; i++, hash /= 52) label[i] = letters[hash % 52];
    label[GROUP_LABEL - 1] = 0;
}

void group_note_put(FILE *out, const char *name, const char *value, size_t length) {
    fprintf(out, "%s=", name);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if (c < 32 || c == 127 || c == '%') fprintf(out, "%%%02X", c);
        else fputc(c, out);
    }
    fputc('\n', out);
}

static bool unescape(const char *from, const char *end, char *to, size_t *length) {
    *length = 0;
    for (; from < end; from++) {
        char digits[3] = {0}, *stop;
        if (*from != '%') {
            to[(*length)++] = *from;
            continue;
        }
        if (end - from < 3) return false;
        memcpy(digits, from + 1, 2);
        to[(*length)++] = (char)strtoul(digits, &stop, 16);
        if (stop != digits + 2) return false;
        from += 2;
    }
    return true;
}

bool group_note_next(const char **at, const char *end, char name[GROUP_LABEL], char **value,
                     size_t *length) {
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    const char *equals = stop ? memchr(*at, '=', (size_t)(stop - *at)) : NULL;
    *value = NULL;
    if (!equals || equals - *at >= GROUP_LABEL) return false;
    memcpy(name, *at, (size_t)(equals - *at));
    name[equals - *at] = 0;
    *value = malloc((size_t)(stop - equals));
    if (!*value || !unescape(equals + 1, stop, *value, length)) {
        free(*value);
        *value = NULL;
        return false;
    }
    *at = stop + 1;
    return true;
}

/* The length of the first line, its end included; 0 if there is none. */
static size_t line_length(const char *text, size_t length) {
    const char *stop = length ? memchr(text, '\n', length) : NULL;
    return stop ? (size_t)(stop - text) + 1 : 0;
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
