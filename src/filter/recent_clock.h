/* recent_clock.h - a full line of `recent` that knows which keys were hit, and forgets in turn.
 *
 *     | code | header: Q lists in unary, Q + n bits | hand | free | remainder n-1 ... 1 0 |
 *
 * The lists of the shared form, with as many keys as leave room for a mark each: the last bit
 * of a remainder says that its key was hit. A new key takes the place of one without a mark,
 * and the hand says which: it goes round the line, so that what stands just before it has been
 * there longest. Nothing else tells how old a key is, yet keys without a mark live from one
 * visit of the hand to the next, not for as long as chance will have it.
 *
 * What becomes of marks is settled in one of two ways. They may stay until every key has one,
 * and are then wiped all at once: what counts is how often a key comes. Or the hand wipes those
 * that it passes, so that a key has to be hit again before the hand comes back: what counts is
 * how long ago it came (the CLOCK of operating systems, but for new keys that have no mark).
 *
 * Lists and remainders are as long as those of a full shared line, so a line loses nothing but
 * the keys that it has no place for when it changes from one form to the other, and none at all
 * if it changes as soon as it has n.
 */
#ifndef WEIR_FILTER_RECENT_CLOCK_H
#define WEIR_FILTER_RECENT_CLOCK_H

#include "filter/recent_line.h"

HOT unsigned get_hand(const uint8_t *line, const clock_form *form) {
    return (unsigned)get_bits(line, form->hand, form->hand_bits);
}
HOT void put_hand(uint8_t *line, const clock_form *form, unsigned hand) {
    put_bits(line, form->hand, form->hand_bits, hand);
}

HOT entry_field clock_field(const clock_form *form, uint64_t rest) {
    return (entry_field){form->width, 1, rest >> (64 - form->width) & ~UINT64_C(1)};
}

HOT void wipe_marks(uint8_t *line, const clock_form *form) {
    for (unsigned k = 0; k < 8; k++) put_word(line, k, get_word(line, k) & ~form->marks[k]);
}

/* The entry whose mark is this bit of the line. */
HOT unsigned clock_entry(const clock_form *form, unsigned bit) {
    return ((LINE_BITS - bit) * form->inverse >> 16) - 1;
}

/* The next key without a mark, from that at the hand on to those before it and round the line.
 * With `sweep` the hand wipes the marks that it passes; all are wiped if there is no key without.
 */
HOT unsigned find_unmarked(uint8_t *line, const clock_form *form, unsigned hand, bool sweep) {
    unsigned start = remainder_at(hand, form->width), k = start / 64;
    uint64_t from = ~low_mask(start % 64);
    for (unsigned turn = 0; turn <= 8; turn++) {
        uint64_t word = get_word(line, k), marks = form->marks[k] & from, unmarked = ~word & marks;
        if (sweep) put_word(line, k, word & ~(marks & ((unmarked & -unmarked) - 1)));
        if (unmarked) return clock_entry(form, 64 * k + (unsigned)__builtin_ctzll(unmarked));
        from = ~UINT64_C(0);
        k = (k + 1) % 8;
    }
    wipe_marks(line, form);
    return hand;
}

/* A new key, with a mark or without, takes the place of the next that has none. */
HOT void enter_clocked(const line_shape *shape, uint8_t *line, list_place place, uint64_t entry,
                       bool sweep, cpu_kind cpu) {
    const clock_form *form = &shape->clock;
    unsigned at = place.first, out = at + place.length - 1; /* of its list, if that is too long */
    if (place.length < LIST_MAX) out = find_unmarked(line, form, get_hand(line, form), sweep);
    uint64_t header = get_word(line, 0) & ~low_mask(shape->code_bits);
    unsigned bit = select_in(line, form->words, header, 0, out, cpu);
    exchange_entry(line, form->words, form->width, place.head, at, bit, out, entry, cpu);
    unsigned last = form->entries - 1,
             before = out ? pick(at < out, out, out - 1) : pick(at > last, last - 1, last);
    put_hand(line, form, before); /* where what stood before it is now, the last before the first */
}

/* Returns whether the key was there. */
HOT bool offer_clocked_here(const line_shape *shape, uint8_t *line, uint64_t value, bool mark,
                            bool sweep, cpu_kind cpu) {
    const clock_form *form = &shape->clock;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shape->shared.lists, &rest);
    entry_field field = clock_field(form, rest);
    list_place place = find_list(line, shape, form->words, list, cpu);
    unsigned j = find_remainder(line, &shape->shared, place, field);
    if (j < place.length) {
        set_mark(line, remainder_at(place.first + j, form->width), 1);
        return true;
    }
    enter_clocked(shape, line, place, field.bits | mark, sweep, cpu);
    return false;
}

NOT_HERE(bool, offer_clocked,
         (const line_shape *shape, uint8_t *line, uint64_t value, bool mark, bool sweep),
         (shape, line, value, mark, sweep, cpu))

HOT bool test_clocked(const line_shape *shape, const uint8_t *line, uint64_t value) {
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shape->shared.lists, &rest);
    list_place place = find_list(line, shape, shape->clock.words, list, CPU_ANY);
    entry_field field = clock_field(&shape->clock, rest);
    return find_remainder(line, &shape->shared, place, field) < place.length;
}

#endif
