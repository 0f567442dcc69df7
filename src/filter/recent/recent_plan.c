/* recent_plan.c - the shapes of lines for a given bound on false positives.
 *
 * Question   how many keys fit into 512 bits, if a new key may match by chance with `eps`?
 * Idea       A full shared line of n keys in Q lists with remainders of r bits takes
 *            code + Q + n + n r bits and matches with n / (Q 2^r). For each Q the narrowest r is
 *            found that the bound allows; of all Q the one is taken whose full shared and full
 *            spread line have the most keys together. The spread form cuts these lists into 2^j
 *            each, the clocked one writes the same bits of a key as gaps: so a line loses nothing
 *            when it turns from a shared one into either.
 * Cost       some thousand shapes are tried, a few milliseconds, once per filter.
 */
#include "filter/recent/recent_plan.h"

#include <math.h>

#include "filter/recent/recent_shared.h"

#define WIDTH_FIRST 33u  /* bits of a remainder in a line that is no longer flat, at most */
#define CROWDED 2.0      /* keys for each place for which spread lines are planned */
#define HALVES_SHARE 0.1 /* of the bound, that a flat line of half words may cost */

static uint64_t cost_of(double match, double eps) {
    return (uint64_t)ceil(match / eps * (double)COST_ONE);
}

static double shared_match(unsigned n, unsigned lists, unsigned width) {
    return n / (lists * ldexp(1, (int)width));
}

/* Bits that a full shared line keeps of a remainder. */
static unsigned fair_bits(const shared_form *form) {
    return form->width[form->fair] - mark_of(form, form->fair);
}

/* A remainder loses its last bits, but a mark that it goes on having stays. */
static void fill_cut(shared_form *form, line_cut *cut, unsigned n) {
    unsigned from = form->width[n], to = form->width[n + 1], mark = mark_of(form, n + 1);
    *cut = (line_cut){.n = n};
    for (unsigned i = 0; i < n; i++)
        for (unsigned bit = 0; bit < from; bit++) {
            unsigned at = remainder_at(i, from) + bit;
            bool kept = bit >= from - to + mark || (mark && bit == 0);
            cut->keep[at / 64] |= (uint64_t)kept << at % 64;
        }
}

static void fill_cuts(shared_form *form) {
    unsigned cuts = 0;
    for (unsigned n = form->flat + 1; n < form->most && cuts < CUTS_MOST; n++)
        if (form->width[n + 1] != form->width[n]) fill_cut(form, &form->cuts[cuts++], n);
}

/* Widths and costs of a shared line with so many lists. Widths go from wide to
 * narrow, down to the first that can break the bound: in strides at first, as each
 * step rewrites the line, and near the bound by single bits, as each one counts. All
 * but the last two have a bit to spare for marks. */
static void fill_shared(shared_form *form, const line_shape *shape, unsigned lists, double eps) {
    unsigned space = LINE_BITS - shape->code_bits - lists, top = shape->code_clocked - 1;
    unsigned narrowest = WIDTH_MAX, width = WIDTH_FIRST, n = 0;
    while (narrowest > 1 && shared_match(space / (narrowest + 1), lists, narrowest) <= eps)
        narrowest--;
    const unsigned marked = narrowest + 2;
    form->lists = lists;
    for (form->list_bits = 1; lists > 1u << form->list_bits;) form->list_bits++;
    /* Half words are worth having while they match by chance next to never. */
    double halves = shared_match(HALVES_MOST, lists, 32 - form->list_bits);
    bool room_after = space / (narrowest + 2) > HALVES_MOST;
    form->flat = halves < HALVES_SHARE * eps && room_after ? HALVES_MOST : WORDS_MOST;
    form->marked = 0;
    for (; n <= form->flat; n++) {
        form->width[n] = (uint8_t)(tag_bits(n) - form->list_bits);
        form->cost[n] = (uint32_t)cost_of(shared_match(n, lists, form->width[n]), eps);
    }
    if (form->flat == HALVES_MOST) width = width * 3 / 5;
    if (width < marked) width = marked;
    for (;;) {
        unsigned mark = width >= marked;
        for (; n <= space / (width + 1) && n <= top; n++) {
            form->width[n] = (uint8_t)width;
            form->cost[n] = (uint32_t)cost_of(shared_match(n, lists, width - mark), eps);
            form->most = n;
            if (mark) form->marked = n;
        }
        if (width == narrowest) break;
        unsigned next = width * 3 / 5;
        width = next * 2 > marked * 3 ? next : width > marked ? marked : width - 1;
    }
    for (form->fair = form->most; form->cost[form->fair] > COST_ONE;) form->fair--;
    form->one_word = shape->code_bits + lists + form->most <= 64;
    form->in_pairs = true;
    for (n = form->flat + 1; n <= form->most; n++)
        form->in_pairs &= 2 * form->width[n] <= WIDTH_MAX && (n + 1) * form->width[n] <= LINE_BITS;
}

/* A form that a full shared line turns into without loss; see recent_spread.h. */
static spread_form fill_spread(const line_shape *shape, unsigned finer, unsigned count_bits,
                               double eps) {
    const shared_form *shared = &shape->shared;
    unsigned lists = shared->lists << finer, bits = fair_bits(shared) - finer;
    spread_form form = {.lists = lists, .finer = finer, .width = bits, .count_bits = count_bits};
    form.code = shape->code_clocked + 1;
    form.map = shape->code_bits + count_bits;
    form.extras = form.map + lists;
    form.extra_width = bits + shared->list_bits + finer;
    if (form.extras + bits > LINE_BITS || form.extra_width > WIDTH_MAX) return form;
    form.words = (form.extras + 63) / 64;
    form.most = (LINE_BITS - form.extras) / bits;
    unsigned allowed = (unsigned)(eps * lists * ldexp(1, (int)bits));
    if (form.most > allowed) form.most = allowed;
    form.cost = cost_of(shared_match(form.most, lists, bits), eps);
    return form;
}

/* Keys that a spread line has when so many have come by. */
static double spread_keys(const spread_form *form, double keys) {
    if (!form->most) return 0;
    double singles = fmin(form->most, form->lists * -expm1(-keys / form->lists));
    double room = LINE_BITS - form->extras - singles * form->width;
    double extras = fmin(room / form->extra_width, (1u << form->count_bits) - 1);
    return fmin(fmin(keys, form->most), singles + extras);
}

static void plan_spread(line_shape *shape, double eps) {
    spread_form best = {0};
    double most = 0;
    for (unsigned finer = 0; finer < 4 && finer < fair_bits(&shape->shared); finer++)
        for (unsigned count_bits = 3; count_bits < 6; count_bits++) {
            spread_form form = fill_spread(shape, finer, count_bits, eps);
            double keys = spread_keys(&form, CROWDED * shape->shared.fair);
            if (keys > most) most = keys, best = form;
        }
    shape->spread = best;
}

/* Keys of a clocked line, on average: gaps are spread like waiting times. */
static double clock_keys_held(const clock_form *form, double values) {
    double low = 1, high = ENTRIES_MAX, part = ldexp(1, (int)form->gap_bits) / values;
    while (high - low > 0.01) {
        double n = (low + high) / 2;
        bool fits = form->gaps + n * (1 + form->width + 1 / expm1(n * part)) <= LINE_BITS;
        if (fits) low = n;
        else high = n;
    }
    return low;
}

/* Where each remainder is, for reading sixteen at once. */
static void fill_clock_lanes(clock_form *form, double values) {
    double end = form->gaps + ldexp(values, -(int)form->gap_bits) + form->most; /* of the gaps */
    form->in_lanes = form->width <= CLOCK_LANE_MAX && 2 * values < 0x1p32 && end < 256 &&
                     form->most <= 16 * CLOCK_LANES &&
                     (form->most + 3) / 4 * 4 * form->width <= LINE_BITS;
    for (unsigned i = 0; i < 16 * CLOCK_LANES; i++) {
        unsigned at = place_in_body(i, form->width), last = place_in_body(i | 3, form->width);
        unsigned first = least(last / 8, LINE_BYTES - 16);
        form->four_first[i / 4] = (uint8_t)first;
        form->four_bit[i] = (uint8_t)(at - 8 * first);
        form->lane_shift[i / 16][i % 16] = at % 8;
        for (unsigned j = 0; j < 4; j++)
            form->lane_bytes[i / 16][4 * (i % 16) + j] = (uint8_t)((at / 8 + j) % LINE_BYTES);
    }
}

/* The keys of a full shared line, with marks, in as many as the gaps leave room for; see
 * recent_clock.h. */
static void plan_clock(line_shape *shape, double eps) {
    const shared_form *shared = &shape->shared;
    unsigned bits = fair_bits(shared);
    double values = shared->lists * ldexp(1, (int)bits), best = 0;
    clock_form form = {.key_bits = bits, .code = shape->code_clocked}, *clock = &shape->clock;
    form.gaps = shape->code_bits + SECTOR_BITS;
    for (unsigned i = 0; i <= SECTORS; i++)
        form.sectors[i] = (uint64_t)(i * shared->lists / SECTORS) << bits;
    for (form.gap_bits = 1; form.gap_bits < WIDTH_MAX; form.gap_bits++) {
        form.width = form.gap_bits + 1;
        double held = clock_keys_held(&form, values);
        if (held > best) best = held, *clock = form;
    }
    unsigned allowed = (unsigned)fmin(eps * values, ENTRIES_MAX - 1);
    allowed = least(allowed, (LINE_BITS - clock->gaps) / (1 + clock->width));
    clock->usual = least((unsigned)best, allowed);
    clock->most = least(allowed, clock->usual * 9 / 8 + 1);
    clock->entries = clock->usual < shared->marked ? clock->usual : shared->marked;
    if (clock->entries <= shared->flat) clock->entries = 0;
    clock->cost = cost_of(clock->most / values, eps);
    fill_clock_lanes(clock, values);
}

/* Codes for as many entries as a shared line can have, and for the two other forms. */
static void plan_codes(line_shape *shape, double eps) {
    unsigned entries = (unsigned)(LINE_BITS / (log2(1 / eps) + 2)), others = FORMS - 1;
    shape->code_bits = 5;
    while (1u << shape->code_bits < entries * 9 / 8 + 1 + others) shape->code_bits++;
    shape->code_clocked = (1u << shape->code_bits) - others;
}

void weir__recent_plan(line_shape *shape, double eps) {
    line_shape best = {0}, tried = {0};
    double most = 0;
    plan_codes(&tried, eps);
    for (unsigned lists = 4; lists <= LINE_BITS / 3; lists++) {
        fill_shared(&tried.shared, &tried, lists, eps);
        plan_spread(&tried, eps);
        double keys = tried.shared.fair + spread_keys(&tried.spread, CROWDED * tried.shared.fair);
        if (keys > most) most = keys, best = tried;
    }
    plan_clock(&best, eps);
    fill_cuts(&best.shared);
    best.fair = best.shared.cost[best.shared.fair];
    if (best.clock.entries && best.clock.cost > best.fair) best.fair = best.clock.cost;
    if (best.spread.most && best.spread.cost > best.fair) best.fair = best.spread.cost;
    *shape = best;
}
