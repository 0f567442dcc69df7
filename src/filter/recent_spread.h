/* recent_spread.h - a full line of `recent` with one key in each of many lists.
 *
 *     | code | map: Q' bits | extra 0, 1, ... x-1 | free | remainder n-1 ... 1 0 |
 *
 * Q' lists, more than there are keys, and a bit for each: a 1 where the list has a key,
 * whose remainder is the i-th for the i-th 1. A second key of a list is an extra, with the
 * number of its list before its remainder; extras stand in the order in which they came,
 * and the code says how many there are.
 *
 * A header in unary says more than this one, a bit a key more, of which a line that has to
 * let keys go anyway has no need: keys are let go so that lists have one each. With n of
 * Q' lists taken a key costs Q'/n - log2(Q'/n) bits on top of log2(1/e), 1.0 to 1.1 where
 * half of them are, if there are keys enough for that. Extras go first, the oldest before
 * others: a new key whose list is taken has to be hit as an extra to take its list.
 *
 * Lists are those of the shared form cut into 2^finer each, and remainders that much
 * shorter, so a line loses nothing when it changes from one form to the other.
 */
#ifndef WEIR_FILTER_RECENT_SPREAD_H
#define WEIR_FILTER_RECENT_SPREAD_H

#include "core/rng.h"
#include "filter/filter.h"
#include "filter/recent_line.h"

HOT unsigned count_extras(const uint8_t *line, const line_shape *shape) {
    return read_code(line, shape) - shape->code_spread;
}
HOT unsigned count_singles(const uint8_t *line, const line_shape *shape) {
    return entries_before(line, shape, shape->spread.words, shape->spread.extras);
}

HOT unsigned extra_at(const spread_form *form, unsigned j) {
    return form->extras + j * form->extra_width;
}

/* The list of a key, as a bit of the line, and what stands for it in the list and beside. */
typedef struct {
    unsigned bit;
    uint64_t remainder, extra;
} spread_key;

HOT spread_key find_spread_key(const line_shape *shape, uint64_t value) {
    const spread_form *form = &shape->spread;
    uint64_t rest, list = weir__part(value, form->lists, &rest);
    uint64_t remainder = rest >> (64 - form->width);
    return (spread_key){shape->code_bits + (unsigned)list, remainder,
                        list << form->width | remainder};
}

HOT bool is_taken(const uint8_t *line, unsigned bit) { return line[bit / 8] >> bit % 8 & 1; }

/* The place of an extra, or their number if it is not there. */
HOT unsigned find_extra(const uint8_t *line, const spread_form *form, unsigned extras,
                        uint64_t extra) {
    unsigned j = 0;
    while (j < extras && get_bits(line, extra_at(form, j), form->extra_width) != extra) j++;
    return j;
}

HOT void drop_extra(uint8_t *line, const line_shape *shape, unsigned extras, unsigned j) {
    const spread_form *form = &shape->spread;
    move_down(line, extra_at(form, j + 1), extra_at(form, extras), form->extra_width);
    write_code(line, shape, shape->code_spread + extras - 1);
}
HOT void add_extra(uint8_t *line, const line_shape *shape, unsigned extras, uint64_t extra) {
    const spread_form *form = &shape->spread;
    put_bits(line, extra_at(form, extras), form->extra_width, extra);
    write_code(line, shape, shape->code_spread + extras + 1);
}

/* One list more. */
HOT void add_single(uint8_t *line, const line_shape *shape, unsigned singles, unsigned rank,
                    const spread_key *key, cpu_kind cpu) {
    unsigned width = shape->spread.width;
    splice_map(line, key->bit, key->bit, false, LINE_BITS - singles * width,
               LINE_BITS - rank * width, width, key->remainder, cpu);
}
/* One list for another. */
HOT void exchange_single(uint8_t *line, const line_shape *shape, unsigned out, unsigned rank,
                         const spread_key *key, cpu_kind cpu) {
    unsigned width = shape->spread.width;
    unsigned bit = entry_bit(line, shape, shape->spread.words, out, cpu);
    bool back = out < rank;
    unsigned low = pick(back, rank, out), high = pick(back, out + 1, rank);
    splice_map(line, key->bit, bit, back, LINE_BITS - low * width, LINE_BITS - high * width, width,
               key->remainder, cpu);
}

/* An extra that was hit takes its list; what held it is an extra now. */
HOT void swap_extra(uint8_t *line, const line_shape *shape, unsigned extras, unsigned j,
                    unsigned rank, const spread_key *key, cpu_kind cpu) {
    const spread_form *form = &shape->spread;
    if (!is_taken(line, key->bit)) {
        unsigned singles = count_singles(line, shape);
        drop_extra(line, shape, extras, j);
        add_single(line, shape, singles, rank, key, cpu);
        return;
    }
    unsigned at = remainder_at(rank, form->width);
    uint64_t other = get_bits(line, at, form->width);
    put_bits(line, at, form->width, key->remainder);
    put_bits(line, extra_at(form, j), form->extra_width,
             (key->extra & ~low_mask(form->width)) | other);
}

HOT void add_key(uint8_t *line, const line_shape *shape, unsigned singles, unsigned extras,
                 unsigned rank, const spread_key *key, cpu_kind cpu) {
    if (is_taken(line, key->bit)) add_extra(line, shape, extras, key->extra);
    else add_single(line, shape, singles, rank, key, cpu);
}

/* A new key. Where there is no room the oldest extra goes, or what holds the key's list, or
 * any other. Returns by how much the number of entries has grown. */
HOT int enter_spread(uint8_t *line, const line_shape *shape, unsigned extras, unsigned rank,
                     const spread_key *key, uint64_t *rng, cpu_kind cpu) {
    const spread_form *form = &shape->spread;
    unsigned singles = count_singles(line, shape);
    unsigned room = LINE_BITS - singles * form->width - extra_at(form, extras);
    bool taken = is_taken(line, key->bit), more = !taken || extras < form->most_extras;
    if (singles + extras < form->most && more &&
        room >= (taken ? form->extra_width : form->width)) {
        add_key(line, shape, singles, extras, rank, key, cpu);
        return 1;
    }
    if (extras) {
        drop_extra(line, shape, extras, 0);
        add_key(line, shape, singles, extras - 1, rank, key, cpu);
    } else if (taken) {
        put_bits(line, remainder_at(rank, form->width), form->width, key->remainder);
    } else {
        unsigned out = (unsigned)weir__scale(weir__rng_next(rng), singles);
        exchange_single(line, shape, out, rank, key, cpu);
    }
    return 0;
}

/* Returns whether the key was there; `grown` is by how much the number of entries grew. */
HOT bool offer_spread(const line_shape *shape, uint8_t *line, uint64_t value, uint64_t *rng,
                      int *grown, cpu_kind cpu) {
    const spread_form *form = &shape->spread;
    spread_key key = find_spread_key(shape, value);
    unsigned rank = entries_before(line, shape, form->words, key.bit);
    unsigned extras = count_extras(line, shape);
    *grown = 0;
    if (is_taken(line, key.bit) &
        (get_bits(line, place_in_body(rank, form->width), form->width) == key.remainder))
        return true;
    unsigned j = find_extra(line, form, extras, key.extra);
    if (j < extras) {
        swap_extra(line, shape, extras, j, rank, &key, cpu);
        return true;
    }
    *grown = enter_spread(line, shape, extras, rank, &key, rng, cpu);
    return false;
}

HOT bool test_spread(const line_shape *shape, const uint8_t *line, uint64_t value) {
    const spread_form *form = &shape->spread;
    spread_key key = find_spread_key(shape, value);
    unsigned rank = entries_before(line, shape, form->words, key.bit);
    unsigned extras = count_extras(line, shape);
    return (is_taken(line, key.bit) &&
            get_bits(line, place_in_body(rank, form->width), form->width) == key.remainder) ||
           find_extra(line, form, extras, key.extra) < extras;
}

#endif
