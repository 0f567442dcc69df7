/* recent_line.h - lines of `recent` read as a whole, and written anew. */
#ifndef WEIR_FILTER_RECENT_LINE_H
#define WEIR_FILTER_RECENT_LINE_H

#include "filter/recent/recent_plan.h"

/* The keys of a line: their tags as far as the line knows them, then 0s. The last bit, which no
 * line keeps of a tag, is the mark. */
typedef struct {
    unsigned count, kept; /* bits that are kept of a tag */
    uint64_t tag[ENTRIES_MAX + 1];
} line_content;

/* Keys in a line, and what it costs of the bound. */
unsigned weir__recent_entries(const line_shape *shape, const uint8_t *line);
uint64_t weir__recent_cost(const line_shape *shape, const uint8_t *line);

void weir__recent_read(const line_shape *shape, const uint8_t *line, line_content *content);

/* In the first form that has room, but none whose keys have more bits than are kept. False, and
 * nothing is written: no form has room. */
bool weir__recent_write(const line_shape *shape, uint8_t *line, const line_content *content);

/* The keys of two lines, those in both once. False: there are more than any line holds. */
bool weir__recent_unite(const line_shape *shape, const uint8_t *a, const uint8_t *b,
                        line_content *both);

/* Whether these bits are a line in some form; nothing else may be offered a key. */
bool weir__recent_is_sound(const line_shape *shape, const uint8_t *line);

#endif
