/* recent_spread.h - a full line of `recent` with one key in each of many lists.
 *
 *     | code | x | map: Q' bits | extra 0, 1, ... x-1 | free | remainder n-1 ... 1 0 |
 *
 * Q' lists, more than there are keys, and a bit for each: a 1 where the list has a key,
 * whose remainder is the i-th for the i-th 1. A second key of a list is an extra, with the
 * number of its list before its remainder; the x extras stand in the order in which they came.
 *
 * A header in unary says more than this one, a bit a key more, of which a line that has to
 * let keys go anyway has no need: keys are let go so that lists have one each. With n of
 * Q' lists taken a key costs Q'/n - log2(Q'/n) bits on top of log2(1/e), 1.0 to 1.1 where
 * half of them are, if there are keys enough for that. Extras go first, the oldest before
 * others: a new key whose list is taken has to be hit as an extra to take it.
 *
 * Without extras any key may go for a new one.
 *
 * Lists are those of the shared form cut into 2^finer each, and remainders that much
 * shorter, so a line loses nothing when it changes from one form to the other.
 */
#ifndef WEIR_FILTER_RECENT_SPREAD_H
#define WEIR_FILTER_RECENT_SPREAD_H

#include "core/rng.h"
#include "filter/filter.h"
#include "filter/recent/recent_shared.h"

HOT unsigned count_extras(const uint8_t *line, const spread_form *form) {
    return (unsigned)get_bits(line, form->map - form->count_bits, form->count_bits);
}
HOT void put_count(uint8_t *line, const spread_form *form, unsigned extras) {
    put_bits(line, form->map - form->count_bits, form->count_bits, extras);
}
HOT unsigned most_extras(const spread_form *form) { return (1u << form->count_bits) - 1; }
HOT unsigned count_singles(const uint8_t *line, const spread_form *form) {
    return entries_before(line, form->map, form->words, form->extras);
}

HOT unsigned extra_at(const spread_form *form, unsigned j) {
    return form->extras + j * form->extra_width;
}

/* The list of a key, as a bit of the line, and what stands for it in the list and beside. */
typedef struct {
    unsigned bit;
    uint64_t remainder, extra;
} spread_key;

HOT spread_key find_spread_key(const spread_form *form, uint64_t value) {
    uint64_t rest, list = weir__part(value, form->lists, &rest);
    uint64_t remainder = rest >> (64 - form->width);
    return (spread_key){form->map + (unsigned)list, remainder, list << form->width | remainder};
}

HOT bool is_taken(const uint8_t *line, unsigned bit) { return line[bit / 8] >> bit % 8 & 1; }

/* Whether the list of a key, which has so many others before it, holds the key. */
HOT bool holds(const uint8_t *line, const spread_form *form, const spread_key *key, unsigned rank) {
    uint64_t holder = get_bits(line, place_in_body(rank, form->width), form->width);
    return is_taken(line, key->bit) & (holder == key->remainder);
}

/* The place of an extra, or their number if it is not there. */
HOT unsigned find_extra(const uint8_t *line, const spread_form *form, unsigned extras,
                        uint64_t extra) {
    unsigned j = 0;
    while (j < extras && get_bits(line, extra_at(form, j), form->extra_width) != extra) j++;
    return j;
}

/* ---- changing a line ---- */

HOT void drop_extra(uint8_t *line, const spread_form *form, unsigned extras, unsigned j) {
    move_down(line, extra_at(form, j + 1), extra_at(form, extras), form->extra_width);
    put_count(line, form, extras - 1);
}
HOT void add_extra(uint8_t *line, const spread_form *form, unsigned extras, uint64_t extra) {
    put_bits(line, extra_at(form, extras), form->extra_width, extra);
    put_count(line, form, extras + 1);
}

/* One list more. */
HOT void add_single(uint8_t *line, const spread_form *form, unsigned singles, unsigned rank,
                    const spread_key *key, cpu_kind cpu) {
    unsigned width = form->width;
    splice_map(line, key->bit, key->bit, false, LINE_BITS - singles * width,
               LINE_BITS - rank * width, width, key->remainder, cpu);
}

/* The bit of the map for the i-th list that is taken. */
HOT unsigned single_bit(const uint8_t *line, const spread_form *form, unsigned i, cpu_kind cpu) {
    return select_in(line, form->words, get_word(line, 0) & ~low_mask(form->map), 0, i, cpu);
}

/* One list less. */
HOT void drop_single(uint8_t *line, const spread_form *form, unsigned singles, unsigned out,
                     cpu_kind cpu) {
    unsigned bit = single_bit(line, form, out, cpu);
    line[bit / 8] &= (uint8_t) ~(1u << bit % 8);
    move_up(line, LINE_BITS - singles * form->width, remainder_at(out, form->width), form->width);
}

/* One list for another. */
HOT void exchange_single(uint8_t *line, const spread_form *form, unsigned out, unsigned rank,
                         const spread_key *key, cpu_kind cpu) {
    unsigned width = form->width, bit = single_bit(line, form, out, cpu);
    bool back = out < rank;
    unsigned low = pick(back, rank, out), high = pick(back, out + 1, rank);
    splice_map(line, key->bit, bit, back, LINE_BITS - low * width, LINE_BITS - high * width, width,
               key->remainder, cpu);
}

/* An extra that was hit takes its list; what held it is an extra now. */
HOT void swap_extra(uint8_t *line, const spread_form *form, unsigned extras, unsigned j,
                    unsigned rank, const spread_key *key, cpu_kind cpu) {
    if (!is_taken(line, key->bit)) {
        unsigned singles = count_singles(line, form);
        drop_extra(line, form, extras, j);
        add_single(line, form, singles, rank, key, cpu);
        return;
    }
    unsigned at = remainder_at(rank, form->width);
    uint64_t other = get_bits(line, at, form->width);
    put_bits(line, at, form->width, key->remainder);
    put_bits(line, extra_at(form, j), form->extra_width,
             (key->extra & ~low_mask(form->width)) | other);
}

HOT void add_key(uint8_t *line, const spread_form *form, unsigned singles, unsigned extras,
                 unsigned rank, const spread_key *key, cpu_kind cpu) {
    if (is_taken(line, key->bit)) add_extra(line, form, extras, key->extra);
    else add_single(line, form, singles, rank, key, cpu);
}

HOT bool has_room(const uint8_t *line, const spread_form *form, unsigned singles, unsigned extras,
                  const spread_key *key) {
    unsigned room = LINE_BITS - singles * form->width - extra_at(form, extras);
    bool taken = is_taken(line, key->bit);
    return singles + extras < form->most && (!taken || extras < most_extras(form)) &&
           room >= (taken ? form->extra_width : form->width);
}

/* A new key in a line that has no room for it: the oldest extra goes, or what holds the key's
 * list, or any other. */
HOT void enter_full(uint8_t *line, const spread_form *form, unsigned singles, unsigned extras,
                    unsigned rank, const spread_key *key, uint64_t *rng, cpu_kind cpu) {
    if (extras) {
        drop_extra(line, form, extras, 0);
        add_key(line, form, singles, extras - 1, rank, key, cpu);
    } else if (is_taken(line, key->bit)) {
        put_bits(line, remainder_at(rank, form->width), form->width, key->remainder);
    } else {
        unsigned out = (unsigned)weir__scale(weir__rng_next(rng), singles);
        exchange_single(line, form, out, rank, key, cpu);
    }
}

/* ---- offering a key ---- */

/* Returns whether the key was there; `gone` is how many had to go for it if it was not. */
HOT bool offer_spread(const spread_form *form, uint8_t *line, uint64_t value, uint64_t *rng,
                      unsigned *gone, cpu_kind cpu) {
    spread_key key = find_spread_key(form, value);
    unsigned rank = entries_before(line, form->map, form->words, key.bit);
    unsigned extras = count_extras(line, form);
    *gone = 0;
    if (holds(line, form, &key, rank)) return true;
    unsigned j = find_extra(line, form, extras, key.extra);
    if (j < extras) {
        swap_extra(line, form, extras, j, rank, &key, cpu);
        return true;
    }
    unsigned singles = count_singles(line, form);
    if (has_room(line, form, singles, extras, &key)) {
        add_key(line, form, singles, extras, rank, &key, cpu);
    } else {
        *gone = 1;
        enter_full(line, form, singles, extras, rank, &key, rng, cpu);
    }
    return false;
}

HOT bool test_spread(const spread_form *form, const uint8_t *line, uint64_t value) {
    spread_key key = find_spread_key(form, value);
    unsigned rank = entries_before(line, form->map, form->words, key.bit);
    unsigned extras = count_extras(line, form);
    return holds(line, form, &key, rank) || find_extra(line, form, extras, key.extra) < extras;
}

#endif
