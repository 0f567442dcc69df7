/* recent_plan.c - the shapes of lines for a given bound on false positives.
 *
 * Question   how many keys fit into 512 bits, if a new key may match by chance with `eps`?
 * Idea       A line of n keys below U matches with n / U, so it may have eps U keys. It has room
 *            for n if their gaps fit: each takes a 1, b + 1 bits for the low end of the gap and the
 *            mark, and as many 0s as the high end says, 1 / (e^(n 2^b / U) - 1) on average. Of all
 *            U = Q 2^r, with Q from 128 to 255, and all b the pair is taken that holds most.
 *            Wider forms have keys of more bits of the same tag, each for a third more keys than
 *            the one before: so a line loses nothing but last bits on its way to the narrowest.
 * Cost       some thousand pairs are tried, a few milliseconds, once per filter.
 */
#include "filter/recent/recent_plan.h"

#include <math.h>

#include "filter/recent/recent_bits.h"

#define STEP (4 / 3.0)   /* keys of a form for those of the one before, at least */
#define HALVES_SHARE 0.1 /* of the bound, that a flat line of half words may cost */
#define OVERHEAD 2.6     /* bits a key besides log2(1/eps), about: where the search begins, */
#define RANGE 1.3        /* and up to which factor of it U is tried */

static uint64_t cost_of(double match, double eps) {
    return (uint64_t)ceil(match / eps * (double)COST_ONE);
}

/* Keys that a line has room for, on average, if keys are below `numbers`. */
static double keys_held(const gap_form *form, double numbers) {
    double low = 1, high = ENTRIES_MAX, part = ldexp(1, (int)form->gap_bits) / numbers;
    while (high - low > 0.01) {
        double n = (low + high) / 2;
        bool fits = form->gaps + n * (1 + form->width + 1 / expm1(n * part)) <= LINE_BITS;
        if (fits) low = n;
        else high = n;
    }
    return low;
}

/* The split of gaps into high and low bits that holds most, of those about U / n. Returns how many
 * that is. */
static double split_gaps(gap_form *form, double numbers) {
    gap_form tried = *form;
    double best = 0;
    unsigned least_bits = numbers > LINE_BITS ? (unsigned)log2(numbers / LINE_BITS) : 1;
    for (tried.gap_bits = least_bits; tried.gap_bits < WIDTH_MAX; tried.gap_bits++) {
        tried.width = tried.gap_bits + 1;
        double held = keys_held(&tried, numbers);
        if (held < best) break;
        best = held, *form = tried;
    }
    return best;
}

/* Where each remainder is, for reading eight at once. */
static void fill_lanes_of(gap_form *form, double numbers) {
    double end = form->gaps + ldexp(numbers, -(int)form->gap_bits) + form->most; /* of the gaps */
    form->in_lanes = form->width <= LANE_MAX && 2 * numbers < 0x1p32 && end < 256 &&
                     form->most <= LANES_MOST &&
                     (form->most + 3) / 4 * 4 * form->width <= LINE_BITS;
    for (unsigned i = 0; i < LANES_MOST; i++) {
        unsigned at = place_in_body(i, form->width), last = place_in_body(i | 3, form->width);
        unsigned first = least(last / 8, LINE_BYTES - 16);
        form->four_first[i / 4] = (uint8_t)first;
        form->four_bit[i] = (uint8_t)(at - 8 * first);
    }
}

/* The form whose keys have `rest` bits behind the number of their list. */
static double plan_form(gap_form *form, unsigned lists, unsigned rest, double eps, bool counted) {
    double numbers = ldexp(lists, (int)rest);
    *form = (gap_form){.shift = 64 - LIST_BITS - rest, .counted = counted, .last = !counted};
    form->gaps = CODE_BITS + SECTOR_BITS + (counted ? COUNT_BITS : 0);
    double held = split_gaps(form, numbers);
    unsigned allowed = (unsigned)fmin(eps * numbers, ENTRIES_MAX);
    allowed = least(allowed, (LINE_BITS - form->gaps) / (1 + form->width));
    form->usual = least((unsigned)held, allowed);
    form->most = least(allowed, form->usual * 9 / 8 + 1);
    return fmin(held, allowed);
}

static void finish_form(gap_form *form, unsigned lists, double eps) {
    unsigned rest = 64 - LIST_BITS - form->shift;
    double numbers = ldexp(lists, (int)rest);
    form->cost = cost_of(1 / numbers, eps);
    while (form->cost * form->most > COST_ONE) form->most--; /* rounded up */
    form->usual = least(form->usual, form->most);
    for (unsigned i = 0; i <= SECTORS; i++)
        form->sectors[i] = (uint64_t)(i * lists / SECTORS) << rest;
    fill_lanes_of(form, numbers);
}

/* Forms that lead to the narrowest, the widest first. Where that is read into registers, so are
 * they. */
static void plan_wider(line_shape *shape, double eps, const gap_form *narrowest) {
    unsigned rest = 64 - LIST_BITS - narrowest->shift, want = shape->flat + 2;
    gap_form form;
    shape->forms = 0;
    unsigned kept = shape->flat == HALVES_MOST ? 32 : 56; /* of a tag in a flat line */
    for (unsigned wider = kept - LIST_BITS; wider > rest && shape->forms < GAP_FORMS - 1; wider--) {
        plan_form(&form, shape->lists, wider, eps, true);
        if (form.usual < want || form.width > WIDTH_MAX) continue;
        finish_form(&form, shape->lists, eps);
        if (narrowest->in_lanes && !form.in_lanes) continue;
        if (form.usual >= narrowest->usual) break;
        shape->form[shape->forms++] = form;
        want = (unsigned)(form.usual * STEP) + 1;
    }
    shape->form[shape->forms++] = *narrowest;
}

/* Half words are worth having while they match by chance next to never. */
static void plan_flat(line_shape *shape, double eps) {
    double words = ldexp(shape->lists, 56 - LIST_BITS),
           halves = ldexp(shape->lists, 32 - LIST_BITS);
    shape->flat = HALVES_MOST / halves < HALVES_SHARE * eps ? HALVES_MOST : WORDS_MOST;
    for (unsigned n = 0; n <= shape->flat; n++)
        shape->flat_cost[n] = cost_of(n / (n <= WORDS_MOST ? words : halves), eps);
}

void weir__recent_plan(line_shape *shape, double eps) {
    double about = LINE_BITS / (log2(1 / eps) + OVERHEAD) / eps, most = 0;
    gap_form best = {0}, form;
    *shape = (line_shape){0};
    for (unsigned rest = 1; ldexp(128, (int)rest) < about * RANGE; rest++)
        for (unsigned lists = 128; lists < 1u << LIST_BITS; lists++) {
            double numbers = ldexp(lists, (int)rest);
            if (numbers < about / RANGE || numbers > about * RANGE) continue;
            double keys = plan_form(&form, lists, rest, eps, false);
            if (keys > most) most = keys, best = form, shape->lists = lists;
        }
    finish_form(&best, shape->lists, eps);
    plan_flat(shape, eps);
    plan_wider(shape, eps, &best);
}
