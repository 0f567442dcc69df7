/* columns.c - the value of a CSV field.
 *
 * A field is quoted if it begins with a quote. Inside, two quotes stand for one;
 * a single one ends the quoting, and what follows up to the separator is added
 * as it is ("a"b is ab), as most readers do.
 */
#include <string.h>

#include "stream_internal.h"

const unsigned char *stream__csv_value(const unsigned char *field, size_t length,
                                       stream_buffer *buffer, size_t *value_length) {
    *value_length = length;
    if (length == 0 || field[0] != '"') return field;
    const unsigned char *end = field + length, *p = field + 1;
    const unsigned char *quote = memchr(p, '"', (size_t)(end - p));
    if (quote && quote + 1 == end) { /* nearly always: "..." with nothing to undo */
        *value_length = length - 2;
        return p;
    }
    buffer->length = 0;
    if (!stream__buffer_reserve(buffer, length)) return NULL;
    unsigned char *to = buffer->bytes;
    for (; p < end; p++) {
        if (*p == '"') {
            if (++p == end) break;
            if (*p != '"') { /* closed: the rest is as it is */
                memcpy(to, p, (size_t)(end - p));
                to += end - p;
                break;
            }
        }
        *to++ = *p;
    }
    *value_length = (size_t)(to - buffer->bytes);
    return buffer->bytes;
}
