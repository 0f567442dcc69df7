/* recent_marked.h - a full line of `recent` that knows which of its keys were hit.
 *
 * The shared form once more, with a fixed number of entries n and a mark for each:
 *
 *     | code | header: Q lists in unary, Q + n bits | marks, n bits | free | remainder n-1 ... 1 0
 * |
 *
 * A hit marks its entry. A new key takes the place of any entry without a mark, and
 * has none itself; once all are marked the marks are wiped, so that what is no longer
 * hit can go. A mark costs a bit a key, and buys the order that counts on skewed
 * streams: what came twice stays, what came once makes room. Where there are too few
 * keys for all entries, copies stand in, and the rate counts every one.
 */
#ifndef WEIR_FILTER_RECENT_MARKED_H
#define WEIR_FILTER_RECENT_MARKED_H

#include "core/rng.h"
#include "filter/filter.h"
#include "filter/recent_line.h"

HOT uint64_t get_marks(const uint8_t *line, const marked_form *form) {
    return get_bits(line, form->marks, form->entries);
}

/* An entry to go: one without a mark, from a random place on. Wipes all marks if there
 * is none. */
HOT unsigned pick_unmarked(uint64_t *marks, unsigned entries, uint64_t dice) {
    uint64_t unmarked = ~*marks & low_mask(entries);
    if (!unmarked) *marks = 0, unmarked = low_mask(entries);
    uint64_t behind = unmarked & ~low_mask((unsigned)weir__scale(dice, entries));
    return (unsigned)__builtin_ctzll(behind ? behind : unmarked);
}

/* A bit goes from a word, and a 0 comes in at a place of what is left. */
HOT uint64_t change_marks(uint64_t marks, unsigned out, unsigned in) {
    return change_header(marks, out, in) & ~(UINT64_C(1) << in);
}

HOT bool offer_marked(const line_shape *shape, uint8_t *line, unsigned words, uint64_t value,
                      uint64_t *rng, cpu_kind cpu) {
    const marked_form *form = &shape->marked;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shape->shared.lists, &rest), width = form->width;
    uint64_t remainder = rest >> (64 - width);
    list_place place = find_list(line, shape, words, list, cpu);
    unsigned j = find_remainder(line, &shape->shared, place, width, remainder), at = place.first;
    if (j < place.length) {
        unsigned mark = form->marks + at + j;
        line[mark / 8] |= (uint8_t)(1u << mark % 8);
        return true;
    }
    uint64_t marks = get_marks(line, form);
    unsigned out = pick_unmarked(&marks, form->entries, weir__rng_next(rng));
    unsigned bit = entry_bit(line, shape, words, out, cpu);
    marks = change_marks(marks, out, at - (out < at));
    exchange_entry(line, words, width, place.head, at, bit, out, remainder, cpu);
    put_bits(line, form->marks, form->entries, marks);
    return false;
}

/* The entry of a key, or their number if it is not there. */
static inline unsigned find_marked(const line_shape *shape, const uint8_t *line, uint64_t value) {
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shape->shared.lists, &rest);
    unsigned width = shape->marked.width;
    list_place place = find_list(line, shape, shape->marked.words, list, CPU_ANY);
    unsigned j = find_remainder(line, &shape->shared, place, width, rest >> (64 - width));
    return j < place.length ? place.first + j : shape->marked.entries;
}

#endif
