/* recent_line.c - lines of `recent` read as a whole, and written anew.
 *
 * Question   what does a line hold, and how would another form write it?
 * Idea       each form is read into a list of tags, and written from one. All forms keep the first
 *            bits of a tag, so a line of tags fits any form that keeps no more of them.
 * Cost       some hundred ns a line, for those of a table that becomes lines and those that are
 *            merged.
 */
#include "filter/recent/recent_line.h"

#include <stdlib.h>

#include "filter/recent/recent_gaps.h"

static void read_flat(const uint8_t *line, unsigned n, line_content *content) {
    unsigned marks = get_flat_marks(line, n);
    for (unsigned i = 0; i < n; i++) content->tag[i] = get_tag(line, n, i) | (marks >> i & 1);
    content->count = n;
    content->kept = n <= WORDS_MOST ? 56 : 32;
}

void weir__recent_read(const line_shape *shape, const uint8_t *line, line_content *content) {
    gap_keys keys;
    if (read_code(line) < GAP_CODE) {
        read_flat(line, read_code(line), content);
        return;
    }
    const gap_form *form = form_of(shape, line);
    read_gaps(line, form, &keys);
    content->count = keys.n;
    content->kept = 64 - form->shift;
    for (unsigned i = 0; i < keys.n; i++) {
        uint64_t key = keys.keys[i + 1];
        content->tag[i] = key >> 1 << form->shift | (key & 1);
    }
}

static void write_flat(uint8_t *line, const line_content *content) {
    unsigned n = content->count, marks = 0;
    memset(line, 0, LINE_BYTES);
    for (unsigned i = 0; i < n; i++) {
        uint64_t tag = content->tag[i];
        if (n <= WORDS_MOST) put_word(line, i, tag & ~low_mask(8));
        else put_bits(line, 32 * (i + 1), 32, tag >> 32);
        marks |= (unsigned)(tag & 1) << i;
    }
    line[0] = (uint8_t)n;
    add_flat_marks(line, n, marks);
}

static int by_tag(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* False: the form has no room for all keys. `sorted` are all tags in order. */
static bool write_in(const line_shape *shape, uint8_t *line, unsigned number,
                     const line_content *sorted) {
    const gap_form *form = &shape->form[number];
    gap_keys keys = {.n = 0};
    for (unsigned i = 0; i < sorted->count; i++) {
        uint64_t key = sorted->tag[i] >> form->shift;
        if (!has_room_for(&keys, form, i, key)) return false;
        insert_key(&keys, form, i, key << 1 | (sorted->tag[i] & 1));
    }
    write_gaps(line, GAP_CODE + number, form, &keys);
    return true;
}

bool weir__recent_write(const line_shape *shape, uint8_t *line, const line_content *content) {
    unsigned n = content->count;
    if (n <= shape->flat && (n > WORDS_MOST ? 32 : 56) <= content->kept) {
        write_flat(line, content);
        return true;
    }
    line_content sorted = *content;
    qsort(sorted.tag, n, sizeof *sorted.tag, by_tag);
    for (unsigned i = 0; i < shape->forms; i++)
        if (64 - shape->form[i].shift <= content->kept && write_in(shape, line, i, &sorted))
            return true;
    return false;
}

unsigned weir__recent_entries(const line_shape *shape, const uint8_t *line) {
    unsigned code = read_code(line);
    return code < GAP_CODE ? code : count_keys(line, form_of(shape, line));
}

uint64_t weir__recent_cost(const line_shape *shape, const uint8_t *line) {
    unsigned code = read_code(line);
    if (code < GAP_CODE) return shape->flat_cost[code];
    const gap_form *form = form_of(shape, line);
    return count_keys(line, form) * form->cost;
}

/* ---- merging ---- */

bool weir__recent_unite(const line_shape *shape, const uint8_t *a, const uint8_t *b,
                        line_content *both) {
    line_content other;
    uint8_t room[LINE_BYTES];
    weir__recent_read(shape, a, both);
    weir__recent_read(shape, b, &other);
    if (other.kept < both->kept) both->kept = other.kept;
    for (unsigned i = 0, n = both->count; i < other.count; i++) {
        unsigned j = 0;
        while (j < n && (both->tag[j] ^ other.tag[i]) >> (64 - both->kept) != 0) j++;
        if (j < n) both->tag[j] |= other.tag[i] & 1;
        else if (both->count > ENTRIES_MAX) return false;
        else both->tag[both->count++] = other.tag[i];
    }
    return weir__recent_write(shape, room, both);
}

/* ---- checking ---- */

static bool flat_is_sound(const line_shape *shape, const uint8_t *line, unsigned n) {
    if (line[0] != n || n > shape->flat) return false;
    for (unsigned i = 0; i < n; i++)
        if (get_tag(line, n, i) >> (64 - LIST_BITS) >= shape->lists) return false;
    return true;
}

bool weir__recent_is_sound(const line_shape *shape, const uint8_t *line) {
    unsigned code = read_code(line);
    gap_keys keys;
    if (code < GAP_CODE) return flat_is_sound(shape, line, code);
    if (code - GAP_CODE >= shape->forms) return false;
    const gap_form *form = form_of(shape, line);
    unsigned n = count_keys(line, form);
    if (!n || form->gaps + n * (1 + form->width) > LINE_BITS ||
        ones_among(line, form->gaps, LINE_BITS - n * form->width) != n)
        return false;
    read_gaps(line, form, &keys);
    return keys.keys[n] >> 1 < form->sectors[SECTORS];
}
