/* recent_clock.h - a full line of `recent` that knows which keys were hit, and a hand that goes
 * round it.
 *
 *     | code | hand | gaps: n in unary | free: 0s | remainder n-1 ... 1 0 |
 *
 * A key is a number below U = Q 2^r, its list and the bits that a full shared line keeps of it.
 * Keys stand in order, each as what it is more than the one before it: the high bits of that gap in
 * unary, as so many 0s and a 1, and the low b bits with the key's mark in its remainder. Gaps are
 * spread like waiting times, so that with 2^b about 0.7 U/n this takes 1.5 bits a key more than
 * log2(U/n); lists in unary take 2, as they count from fixed places. The price: to know a key all
 * those before it have to be added up.
 *
 * A new key takes the place of one without a mark, of two if need be, of none if there is room. The
 * hand says which: it goes round the line, sector by sector, and leaves one when it has no key
 * without a mark any more. Nothing else tells how old a key is, yet keys without a mark live from
 * one visit of the hand to the next, not for as long as chance will have it.
 *
 * What becomes of marks is settled in one of two ways. They may stay until every key has one,
 * and are then wiped all at once: what counts is how often a key comes. Or the hand wipes those
 * that it passes, so that a key has to be hit again before the hand comes back: what counts is
 * how long ago it came (the CLOCK of operating systems, but for new keys that have no mark). There
 * a new key in the sector of the hand has one, or it would go before those that the hand has yet to
 * come to.
 *
 * Where all new keys have marks these tell nothing of hits. A key that was hit stands twice then:
 * the second time takes no 0s, and is what the hand takes first.
 *
 * The number of keys is not written down. If n were too small, what is left of the line below n
 * remainders would have more than n 1s in it, and fewer if it were too large.
 *
 * As much is kept of a key as in a full shared line, so a line loses nothing but the keys that
 * it has no place for when it changes from one form to the other.
 */
#ifndef WEIR_FILTER_RECENT_CLOCK_H
#define WEIR_FILTER_RECENT_CLOCK_H

#include "filter/filter.h"
#include "filter/recent_line.h"

/* A line as it is worked on. */
typedef struct {
    unsigned n;
    unsigned hand;                  /* the sector where it is */
    unsigned zeros;                 /* of the gaps */
    unsigned gone;                  /* keys that had to go */
    uint64_t keys[1 + ENTRIES_MAX]; /* in order, after a 0: each with its mark as the last bit */
} clock_keys;

HOT unsigned get_hand(const uint8_t *line, const clock_form *form) {
    return (unsigned)get_bits(line, form->gaps - SECTOR_BITS, SECTOR_BITS);
}

HOT uint64_t clock_key(const line_shape *shape, uint64_t value) {
    uint64_t rest, list = weir__part(value, shape->shared.lists, &rest);
    return list << shape->clock.key_bits | rest >> (64 - shape->clock.key_bits);
}

/* How many keys a line has; 0 if it is damaged. */
HOT unsigned count_clocked(const uint8_t *line, const clock_form *form) {
    unsigned n = form->most;
    for (; n; n--) {
        unsigned end = LINE_BITS - n * form->width;
        if (entries_before(line, form->gaps, (end + 63) / 64, end) == n) break;
    }
    return n;
}

HOT void read_clock(const uint8_t *line, const clock_form *form, clock_keys *clock) {
    unsigned n = count_clocked(line, form), end = LINE_BITS - n * form->width, i = 0, zeros = 0;
    uint64_t sum = 0;
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, form->gaps, end); ones;
             ones &= ones - 1) {
            uint64_t field = get_bits(line, remainder_at(i, form->width), form->width);
            zeros = 64 * k + (unsigned)__builtin_ctzll(ones) - form->gaps - i;
            sum += field >> 1;
            clock->keys[++i] = (((uint64_t)zeros << form->gap_bits) + sum) << 1 | (field & 1);
        }
    clock->keys[0] = 0;
    clock->gone = 0;
    clock->n = n;
    clock->zeros = zeros;
    clock->hand = get_hand(line, form);
}

/* The gap before the i-th key, from 1 on. */
HOT uint64_t gap_before(const clock_keys *clock, unsigned i) {
    return (clock->keys[i] >> 1) - (clock->keys[i - 1] >> 1);
}

HOT void write_clock(uint8_t *line, const line_shape *shape, const clock_keys *clock) {
    const clock_form *form = &shape->clock;
    uint64_t header[LINE_BITS / 64] = {form->code | (uint64_t)clock->hand << shape->code_bits};
    unsigned at = form->gaps;
    line_top top = new_top();
    for (unsigned i = 1; i <= clock->n; i++, at++) {
        uint64_t gap = gap_before(clock, i), low = gap & low_mask(form->gap_bits);
        at += (unsigned)(gap >> form->gap_bits);
        header[at / 64] |= UINT64_C(1) << at % 64;
        add_bits(&top, low << 1 | (clock->keys[i] & 1), form->width);
    }
    memcpy(line, header, LINE_BYTES);
    put_top(line, &top);
}

/* How many keys are less than this one. */
HOT unsigned keys_below(const clock_keys *clock, uint64_t key) {
    unsigned count = 0;
    for (unsigned i = 1; i <= clock->n; i++) count += clock->keys[i] >> 1 < key;
    return count;
}
HOT bool has_key(const clock_keys *clock, unsigned below, uint64_t key) {
    return below < clock->n && clock->keys[below + 1] >> 1 == key;
}

/* The 0s of the gaps that end at the i-th key and at the one after it. */
HOT unsigned zeros_around(const clock_keys *clock, const clock_form *form, unsigned i) {
    uint64_t zeros = gap_before(clock, i) >> form->gap_bits;
    if (i < clock->n) zeros += gap_before(clock, i + 1) >> form->gap_bits;
    return (unsigned)zeros;
}

HOT void remove_key(clock_keys *clock, const clock_form *form, unsigned i) {
    clock->zeros -= zeros_around(clock, form, i);
    memmove(&clock->keys[i], &clock->keys[i + 1], (clock->n - i) * sizeof *clock->keys);
    clock->n--;
    if (i <= clock->n) clock->zeros += (unsigned)(gap_before(clock, i) >> form->gap_bits);
}

/* After so many others. */
HOT void insert_key(clock_keys *clock, const clock_form *form, unsigned below, uint64_t key) {
    unsigned i = below + 1;
    if (i <= clock->n) clock->zeros -= (unsigned)(gap_before(clock, i) >> form->gap_bits);
    memmove(&clock->keys[i + 1], &clock->keys[i], (clock->n - below) * sizeof *clock->keys);
    clock->keys[i] = key;
    clock->n++;
    clock->zeros += zeros_around(clock, form, i);
}

/* Whether one more key can be written, after so many others. */
HOT bool has_room_for(const clock_keys *clock, const clock_form *form, unsigned below,
                      uint64_t key) {
    const uint64_t *keys = &clock->keys[below];
    uint64_t zeros = clock->zeros + ((key - (keys[0] >> 1)) >> form->gap_bits);
    if (below < clock->n) {
        zeros += ((keys[1] >> 1) - key) >> form->gap_bits;
        zeros -= gap_before(clock, below + 1) >> form->gap_bits;
    }
    return clock->n < form->most &&
           form->gaps + zeros + (clock->n + 1) * (1 + form->width) <= LINE_BITS;
}

/* Whether the i-th key stands twice. */
HOT bool is_kept(const clock_keys *clock, unsigned i) {
    return i < clock->n && clock->keys[i + 1] >> 1 == clock->keys[i] >> 1;
}

HOT void wipe_marks(clock_keys *clock, unsigned from, unsigned to) {
    for (unsigned i = from; i <= to; i++) clock->keys[i] &= ~UINT64_C(1);
}

/* On to the next key without a mark: of the sector where the hand is, or of those after it and
 * round the line. With `sweep` the hand wipes the marks of a sector as it leaves; all are wiped if
 * there is no key without. */
HOT unsigned turn_hand(clock_keys *clock, const clock_form *form, bool sweep) {
    for (unsigned turn = 0;; turn++) {
        unsigned before = keys_below(clock, form->sectors[clock->hand]), i = before + 1;
        unsigned last = keys_below(clock, form->sectors[clock->hand + 1]);
        while (i <= last && clock->keys[i] & 1) i += 1 + is_kept(clock, i);
        if (i <= last) return i;
        if (sweep) wipe_marks(clock, before + 1, last);
        if (turn == SECTORS) wipe_marks(clock, 1, clock->n);
        clock->hand = (clock->hand + 1) % SECTORS;
    }
}

/* A key goes; one that stands twice has a mark then, and stands once. */
HOT void let_go(clock_keys *clock, const clock_form *form, unsigned i) {
    bool kept = is_kept(clock, i);
    clock->keys[i] |= kept;
    clock->gone++;
    remove_key(clock, form, i + kept);
}

/* Room for a key, by letting others go. Returns how many keys are less than it. */
HOT unsigned make_room(clock_keys *clock, const clock_form *form, uint64_t key, bool sweep) {
    unsigned below = keys_below(clock, key);
    while (!has_room_for(clock, form, below, key)) {
        let_go(clock, form, turn_hand(clock, form, sweep));
        below = keys_below(clock, key);
    }
    return below;
}

/* Whether a key is in the sector of the hand. */
HOT bool is_at_hand(const clock_keys *clock, const clock_form *form, uint64_t key) {
    return key >= form->sectors[clock->hand] && key < form->sectors[clock->hand + 1];
}

/* What becomes of a key in a clocked line. */
typedef struct {
    bool mark;  /* a new one has a mark */
    bool sweep; /* the hand wipes marks */
    bool keep;  /* one that is hit stands twice from then on */
} clock_rule;

/* What came of it: whether the key was there, and by how many more keys the line has. */
typedef struct {
    bool seen;
    uint8_t came, gone;
} clock_outcome;

HOT clock_outcome offer_clocked_here(const line_shape *shape, uint8_t *line, uint64_t value,
                                     clock_rule rule) {
    const clock_form *form = &shape->clock;
    uint64_t key = clock_key(shape, value);
    clock_keys clock;
    read_clock(line, form, &clock);
    unsigned below = keys_below(&clock, key), before = clock.n;
    bool seen = has_key(&clock, below, key);
    if (seen && !(rule.keep && !is_kept(&clock, below + 1))) {
        set_mark(line, remainder_at(below, form->width), 1);
        return (clock_outcome){.seen = true};
    }
    if (seen) clock.keys[below + 1] |= 1;
    below = make_room(&clock, form, key, rule.sweep);
    /* one that was hit may have had to go itself, if all keys had marks */
    bool mark = rule.mark || (rule.sweep && is_at_hand(&clock, form, key));
    if (!seen) insert_key(&clock, form, below, key << 1 | mark);
    else if (has_key(&clock, below, key)) insert_key(&clock, form, below + 1, key << 1);
    write_clock(line, shape, &clock);
    return (clock_outcome){seen, (uint8_t)(clock.n + clock.gone - before), (uint8_t)clock.gone};
}

NOT_HERE(clock_outcome, offer_clocked,
         (const line_shape *shape, uint8_t *line, uint64_t value, clock_rule rule),
         (shape, line, value, rule))

HOT bool test_clocked(const line_shape *shape, const uint8_t *line, uint64_t value) {
    clock_keys clock;
    uint64_t key = clock_key(shape, value);
    read_clock(line, &shape->clock, &clock);
    return has_key(&clock, keys_below(&clock, key), key);
}

#endif
