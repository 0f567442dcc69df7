/* recent_gaps.h - a line of `recent` whose keys stand in order, as gaps, with marks and a hand.
 *
 *     | code | hand | n | gaps: n in unary | free: 0s | remainder n-1 ... 1 0 |
 *
 * A key is a number below U: the first bits of its tag, as many as the form keeps. Keys stand in
 * order, each as what it is more than the one before it: the high bits of that gap in unary, as so
 * many 0s and a 1, and the low b bits with the key's mark in its remainder. Gaps are spread like
 * waiting times, so that with 2^b about 0.7 U/n this takes 1.5 bits a key more than log2(U/n). The
 * price: to know a key all those before it have to be added up.
 *
 * When one key more has no room all lose their last bits, and the line is in the next form. In the
 * last form a key has to go. A key that is hit gets a mark; a new key takes the place of one
 * without a mark, of two if need be, of none if there is room. The hand says which: it goes round
 * the line, sector by sector, and leaves one when it has no key without a mark any more, and wipes
 * the marks there. So a key stays that is hit again before the hand comes back: what counts is how
 * long ago it came (the CLOCK of operating systems, but for new keys that have no mark). Nothing
 * else tells how old a key is, yet keys without a mark live from one visit of the hand to the next,
 * not for as long as chance will have it. A new key in the sector of the hand has a mark, or it
 * would go before those that the hand has yet to come to.
 *
 * In the last form the number of keys is not written down. If n were too small, what is left of the
 * line below n remainders would have more than n 1s in it, and fewer if it were too large.
 */
#ifndef WEIR_FILTER_RECENT_GAPS_H
#define WEIR_FILTER_RECENT_GAPS_H

#include "filter/recent/recent_flat.h"
#include "filter/recent/recent_lanes.h"

/* A line as it is worked on. */
typedef struct {
    unsigned n;
    unsigned hand;                  /* the sector where it is */
    unsigned zeros;                 /* of the gaps */
    uint64_t keys[1 + ENTRIES_MAX]; /* in order, after a 0: each with its mark as the last bit */
} gap_keys;

/* The outcome for a key: whether it was there; if not, how many others had to go for it, and by
 * how much the line costs more. */
typedef struct {
    bool seen;
    uint8_t gone;
    uint64_t cost;
} gap_outcome;

HOT const gap_form *form_of(const line_shape *shape, const uint8_t *line) {
    return &shape->form[read_code(line) - GAP_CODE];
}

/* How many keys a line has; 0 if it is damaged. */
HOT unsigned count_keys(const uint8_t *line, const gap_form *form) {
    unsigned n = form->usual;
    if (form->counted) {
        n = (unsigned)get_bits(line, form->gaps - COUNT_BITS, COUNT_BITS);
        return n <= form->most ? n : 0;
    }
    unsigned ones = ones_among(line, form->gaps, LINE_BITS - n * form->width);
    bool more = ones > n;
    while (more ? ones > n && n < form->most : ones < n && n) {
        n = more ? n + 1 : n - 1;
        ones = ones_among(line, form->gaps, LINE_BITS - n * form->width);
    }
    return ones == n ? n : 0;
}

HOT void read_gaps(const uint8_t *line, const gap_form *form, gap_keys *keys) {
    unsigned width = form->width, n = count_keys(line, form), end = LINE_BITS - n * width, i = 0;
    uint64_t sum = 0;
    keys->n = n;
    keys->hand = (unsigned)get_bits(line, CODE_BITS, SECTOR_BITS);
    keys->zeros = 0;
    keys->keys[0] = 0;
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, form->gaps, end); ones && i < n;
             ones &= ones - 1) {
            uint64_t field = get_bits(line, remainder_at(i, width), width);
            keys->zeros = 64 * k + (unsigned)__builtin_ctzll(ones) - form->gaps - i;
            sum += field >> 1;
            keys->keys[++i] = (((uint64_t)keys->zeros << form->gap_bits) + sum) << 1 | (field & 1);
        }
}

/* The top of a line that is written anew, from its end downwards. */
typedef struct {
    unsigned k;    /* the word at work, */
    unsigned room; /* the bits that are left in it, */
    uint64_t word; /* and those that are not */
    uint64_t words[8];
} line_top;

HOT line_top new_top(void) { return (line_top){7, 64, 0, {0}}; }

/* More bits, up to 63, below those that are there. */
HOT void add_bits(line_top *top, uint64_t bits, unsigned count) {
    if (top->room < count) {
        unsigned over = count - top->room;
        top->words[top->k--] = top->word | bits >> over;
        top->room = 64 - over;
        top->word = bits << top->room;
    } else {
        top->room -= count;
        top->word |= bits << top->room % 64;
    }
}

/* The line has this top in place of its own. */
HOT void put_top(uint8_t *line, line_top *top) {
    unsigned place = 64 * top->k + top->room;
    top->words[top->k] = top->word;
    for (unsigned k = 0; k < 8; k++) {
        uint64_t body = from_place((int)place - 64 * (int)k);
        put_word(line, k, (get_word(line, k) & ~body) | (top->words[k] & body));
    }
}

/* A line anew. */
HOT void write_gaps(uint8_t *line, unsigned code, const gap_form *form, const gap_keys *keys) {
    unsigned bit = form->gaps, n = keys->n;
    uint64_t header[LINE_BITS / 64] = {code | keys->hand << CODE_BITS};
    line_top top = new_top();
    if (form->counted) header[0] |= n << (CODE_BITS + SECTOR_BITS);
    for (unsigned i = 1; i <= n; i++, bit++) {
        uint64_t gap = (keys->keys[i] >> 1) - (keys->keys[i - 1] >> 1);
        bit += (unsigned)(gap >> form->gap_bits);
        header[bit / 64] |= UINT64_C(1) << bit % 64;
        add_bits(&top, (gap & low_mask(form->gap_bits)) << 1 | (keys->keys[i] & 1), form->width);
    }
    memcpy(line, header, LINE_BYTES);
    put_top(line, &top);
}

/* How many keys are less than this one. */
HOT unsigned keys_below(const gap_keys *keys, uint64_t key) {
    unsigned count = 0;
    for (unsigned i = 1; i <= keys->n; i++) /* NOLINTNEXTLINE(clang-analyzer-core*): up to n */
        count += keys->keys[i] >> 1 < key;
    return count;
}
HOT bool has_key(const gap_keys *keys, unsigned below, uint64_t key) {
    return below < keys->n && keys->keys[below + 1] >> 1 == key;
}

/* The 0s of the gap between two keys with their marks. */
HOT unsigned zeros_of_gap(const gap_form *form, uint64_t a, uint64_t b) {
    return (unsigned)(((b >> 1) - (a >> 1)) >> form->gap_bits);
}

/* By how many 0s the gaps grow with a key, behind the first `below` keys and before the next. */
HOT unsigned zeros_more(const gap_keys *keys, const gap_form *form, unsigned below, uint64_t key,
                        unsigned next) {
    uint64_t before = keys->keys[below];
    unsigned more = zeros_of_gap(form, before, key);
    if (next > keys->n) return more;
    uint64_t after = keys->keys[next];
    return more + zeros_of_gap(form, key, after) - zeros_of_gap(form, before, after);
}

/* Whether one more key can be written behind the first `below` keys. */
HOT bool has_room_for(const gap_keys *keys, const gap_form *form, unsigned below, uint64_t key) {
    unsigned zeros = keys->zeros + zeros_more(keys, form, below, key << 1, below + 1);
    return keys->n < form->most &&
           form->gaps + zeros + (keys->n + 1) * (1 + form->width) <= LINE_BITS;
}

/* A key with its mark comes behind the first `below` keys; the i-th key goes. */
HOT void insert_key(gap_keys *keys, const gap_form *form, unsigned below, uint64_t key) {
    uint64_t *at = &keys->keys[below + 1];
    keys->zeros += zeros_more(keys, form, below, key, below + 1);
    memmove(at + 1, at, (keys->n++ - below) * sizeof *at);
    *at = key;
}
HOT void remove_key(gap_keys *keys, const gap_form *form, unsigned i) {
    uint64_t *at = &keys->keys[i];
    keys->zeros -= zeros_more(keys, form, i - 1, *at, i + 1);
    memmove(at, at + 1, (keys->n-- - i) * sizeof *at);
}

/* All keys lose their last bits. */
HOT void cut_keys(gap_keys *keys, const gap_form *from, const gap_form *to) {
    keys->zeros = 0;
    for (unsigned i = 1; i <= keys->n; i++) {
        uint64_t key = keys->keys[i];
        keys->keys[i] = key >> 1 >> (to->shift - from->shift) << 1 | (key & 1);
        keys->zeros += zeros_of_gap(to, keys->keys[i - 1], keys->keys[i]);
    }
}

/* On to the next key without a mark: of the sector where the hand is, or of those after it and
 * round the line. The hand wipes the marks of a sector as it leaves. */
HOT unsigned turn_hand(gap_keys *keys, const gap_form *form) {
    unsigned first = 1 + keys_below(keys, form->sectors[keys->hand]);
    for (;;) {
        uint64_t end = form->sectors[keys->hand + 1] << 1;
        unsigned i = first;
        while (i <= keys->n && keys->keys[i] < end && keys->keys[i] & 1) i++;
        if (i <= keys->n && keys->keys[i] < end) return i;
        while (first < i) keys->keys[first++] &= ~UINT64_C(1);
        keys->hand = (keys->hand + 1) % SECTORS;
        first = keys->hand ? i : 1;
    }
}

/* Whether a key is in the sector of the hand. */
HOT bool is_at_hand(const gap_form *form, unsigned hand, uint64_t key) {
    return key >= form->sectors[hand] && key < form->sectors[hand + 1];
}

/* A new key comes to the keys of a line, which are cut or let go until there is room. Returns the
 * form that they are in then. */
HOT const gap_form *enter_gaps(gap_keys *keys, const gap_form *form, uint64_t tag, uint8_t *gone) {
    for (;;) {
        uint64_t key = tag >> form->shift;
        unsigned below = keys_below(keys, key);
        if (has_room_for(keys, form, below, key)) {
            bool mark = form->last && is_at_hand(form, keys->hand, key);
            insert_key(keys, form, below, key << 1 | mark);
            return form;
        }
        if (form->last) {
            remove_key(keys, form, turn_hand(keys, form));
            (*gone)++;
        } else {
            cut_keys(keys, form, form + 1);
            form++;
        }
    }
}

HOT gap_outcome offer_gaps_here(const line_shape *shape, uint8_t *line, uint64_t tag,
                                cpu_kind cpu) {
    const gap_form *form = form_of(shape, line), *then;
    uint64_t key = tag >> form->shift, before;
    gap_outcome outcome = {false, 0, 0};
    gap_keys keys;
    if (cpu != CPU_ANY && form->in_lanes && (form->last || form[1].in_lanes)) {
        unsigned n = is_usual(line, form) ? form->usual : count_keys(line, form);
        outcome.seen = offer_lanes(shape, line, form, n, tag, &outcome.gone, &outcome.cost);
        return outcome;
    }
    read_gaps(line, form, &keys);
    unsigned below = keys_below(&keys, key);
    if (has_key(&keys, below, key)) {
        line[remainder_at(below, form->width) / 8] |=
            (uint8_t)(1u << remainder_at(below, form->width) % 8);
        outcome.seen = true;
        return outcome;
    }
    before = keys.n * form->cost;
    then = enter_gaps(&keys, form, tag, &outcome.gone);
    write_gaps(line, GAP_CODE + (unsigned)(then - shape->form), then, &keys);
    outcome.cost = keys.n * then->cost - before;
    return outcome;
}

DEFINE_CPU_VARIANTS(gap_outcome, offer_gaps, (const line_shape *shape, uint8_t *line, uint64_t tag),
                    (shape, line, tag, cpu))

HOT bool test_gaps(const line_shape *shape, const uint8_t *line, uint64_t tag) {
    const gap_form *form = form_of(shape, line);
    uint64_t key = tag >> form->shift;
    gap_keys keys;
    read_gaps(line, form, &keys);
    return has_key(&keys, keys_below(&keys, key), key);
}

#endif
