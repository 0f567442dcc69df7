/* stream_internal_json.h - the C face of json_index.cpp, apart from the rest of
 * stream_internal.h since C++ does not know C's atomics.
 */
#ifndef WEIR_STREAM_INTERNAL_JSON_H
#define WEIR_STREAM_INTERNAL_JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct json_index json_index;
typedef enum {
    JSON_INDEX_OK,
    JSON_INDEX_EMPTY,  /* nothing but white space */
    JSON_INDEX_UTF8,   /* not UTF-8 */
    JSON_INDEX_STRING, /* a string is not closed, or holds a control character */
    JSON_INDEX_MEMORY
} json_index_status;

json_index *stream__json_index_new(void);
void stream__json_index_free(json_index *index);

/* Where the tokens of JSON text lie: brackets, commas, colons and the first
 * bytes of strings and other scalars, by offset, then UINT32_MAX; valid until
 * the next call. Strings are known to be closed and free of control characters,
 * the text to be UTF-8; nothing else is. */
json_index_status stream__json_index(json_index *index, const unsigned char *text, size_t length,
                                     const uint32_t **tokens);

#ifdef __cplusplus
}
#endif

#endif
