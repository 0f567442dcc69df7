/* recent_convert.h - lines of `recent` read as a whole, and written in another form. */
#ifndef WEIR_FILTER_RECENT_CONVERT_H
#define WEIR_FILTER_RECENT_CONVERT_H

#include "filter/recent/recent_plan.h"

/* The keys of a line, the best protected first. */
typedef struct {
    unsigned count;
    uint64_t value[ENTRIES_MAX + 1]; /* as far as the line knows it, then 0s */
    bool mark[ENTRIES_MAX + 1];
} line_content;

/* Keys in a line, and what it costs of the bound. */
unsigned weir__recent_entries(const line_shape *shape, const uint8_t *line);
uint64_t weir__recent_cost(const line_shape *shape, const uint8_t *line);

void weir__recent_read(const line_shape *shape, const uint8_t *line, line_content *content);

/* Writes as many keys as the form has room for, and returns how many. */
unsigned weir__recent_write(const line_shape *shape, uint8_t *line, unsigned form,
                            const line_content *content);

/* The keys of two shared lines, those in both once; false if a line has no room for them. */
bool weir__recent_unite(const line_shape *shape, const uint8_t *a, const uint8_t *b,
                        line_content *both);

/* Whether these bits are a line in some form; nothing else may be offered a key. */
bool weir__recent_is_sound(const line_shape *shape, const uint8_t *line);

#endif
