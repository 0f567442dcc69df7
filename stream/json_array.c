/* json_array.c - a file that is one JSON array, as lines of its elements.
 *
 * Bytes are changed in place as they are read: the outer brackets go, commas
 * between elements become line ends, line ends inside of elements blanks. The
 * lines are then checked and searched as if they had been written so. What is
 * wrong with the array itself stays in a line, where it is no JSON: a comma
 * without an element before it. What follows the last bracket stays as it is.
 */
#include "stream_internal.h"

static bool is_blank(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

array_kind stream__array_kind(const unsigned char *bytes, size_t length, bool by_name,
                              bool at_end) {
    size_t i = 0;
    while (i < length && is_blank(bytes[i])) i++;
    if (i == length) return at_end ? ARRAY_NO : ARRAY_UNKNOWN;
    if (bytes[i] != '[') return ARRAY_NO;
    if (by_name) return ARRAY_YES;
    for (i++; i < length && is_blank(bytes[i]); i++)
        if (bytes[i] == '\n') return ARRAY_YES;
    return i == length && !at_end ? ARRAY_UNKNOWN : ARRAY_NO;
}

/* A byte of an element. */
static unsigned char inside(array_state *s, unsigned char c) {
    if (s->quoted) {
        if (s->escaped) s->escaped = false;
        else if (c == '\\') s->escaped = true;
        else if (c == '"') s->quoted = false;
        return c;
    }
    if (c == '"') s->quoted = true;
    else if (c == '[' || c == '{') s->depth++;
    else if (c == ']' || c == '}') s->depth--;
    return c == '\n' || c == '\r' ? ' ' : c;
}

size_t stream__array_lines(array_state *s, unsigned char *bytes, size_t length) {
    unsigned char *to = bytes;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = bytes[i];
        bool outer = s->depth == 1 && !s->quoted;
        if (s->closed) {
            s->followed |= !is_blank(c);
            if (s->followed) *to++ = c;
        } else if (s->depth == 0) {
            s->depth = c == '[';
        } else if (outer && !s->element && is_blank(c)) {
            continue;
        } else if (outer && is_blank(c)) {
            s->gap = true;
        } else if (outer && c == ',' && s->element) {
            *to++ = '\n';
            s->element = s->gap = false;
        } else if (outer && c == ']') {
            s->closed = true;
            if (s->element) *to++ = '\n';
            else if (s->any) *to++ = c; /* a comma was the last */
        } else {
            c = inside(s, c);
            *to++ = s->gap ? ',' : c; /* "1 2" is no element, and must not become 12 */
            s->gap = false;
            s->element = s->any = true;
        }
    }
    return (size_t)(to - bytes);
}
