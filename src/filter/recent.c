/* recent.c - the default filter: keys in recency order, as many as the rate allows.
 *
 * Question   has this key come by, as far back as the memory can tell?
 * Idea       the hash chooses one line of 512 bits, and the line alone decides. It
 *            keeps what is left of the hash, whole while there is room (so the
 *            answers are exact), then shorter and shorter as keys come in, and
 *            only when the false positive rate allows no shorter does a key have
 *            to go for each one that comes. How a full line keeps its keys in order
 *            and which one goes is settled by a contest between seven ways.
 * Parameters L lines, e the bound on false positives. For each e the shape of a
 *            line is planned by search; see the table below.
 * Error      false positives: at most e for the next new key, at any instant.
 *            False negatives: none while keys fit; then as few as we know how.
 * Cost       one line per key; a batch asks for its lines ahead.
 * Layout     recent_line.h, recent_marked.h and recent_spread.h have the forms of a
 *            line, bit by bit; with `window` the lines are those of recent_window.c.
 *
 * The bound. A key's line and its value in the line are independent and uniform, so
 * a new key is called SEEN with a probability that is the mean over all lines of
 *
 *     match(line) = entries / values an entry can take = n / (Q 2^r)  or  n / (G 2^b)
 *
 * Every change of a line is charged to a running sum (in integers, so it is exact):
 * e is met for the whole, not line by line. A line may cost up to `fair`, at most e,
 * without asking; what is then left of e is a pool from which lines with more keys
 * than others pay for going one bit further. The rate that is reported, fpr_now, is
 * that sum.
 *
 * Capacity. The shared form pays r + 1 + Q/n bits a key where log2(1/e) are needed:
 * 1 + Q/n + log2(n/Q) on top, two bits at n = Q. A marked line pays a bit more for each
 * key, a spread one about one less, an ordered group of s slots log2(s). Keys in a line,
 * beside the oracle's 512 / (log2(1/e) + 2) and the limit's 512 / log2(1/e):
 *
 *     e        flat   then cut at  full  marked  spread  ordered    packed     oracle  limit
 *     10%      8  15  18  31  53     94       -     102  101 in 32  126 in 79    96.2  154.1
 *     1%       8  15  20  33         57      50      66   56 in 13   72 in 57    59.2   77.1
 *     0.1%     8  15  23             42      38      45   42 in 11   50 in 49    42.8   51.4
 *     0.0001%  8  15                 23      21      24   23 in 6    25 in 24    23.3   25.7
 *
 * With 60% of the memory at 64 bits a key a line has 4.8 keys on average and more
 * than 15 with probability 5e-5; up to 8 they match by chance at 2^-53 each, up to 15
 * at 2^-31: exact for all purposes.
 *
 * Who goes. In a shared line the last entry of a list goes: of a list of several in
 * KEEP_FIRSTS of 64 cases, else of any. A hit moves to the front of its list, and a new
 * key enters behind the first entry, so keys that were hit are protected without a bit
 * of their own, yet dead ones die. In an ordered group a hit moves to the front and a
 * new key enters in the middle, so keys seen once pass through the rear half only.
 * Where repeats are rare and a key that was hit is not likelier to come again than a
 * fresh one (at-least-once delivery is like that), nothing deserves such protection:
 * then new keys enter at the front, and what goes is what came first.
 *
 * A marked line knows which keys were hit, and lets others go; a spread one has the most
 * keys of all forms that nothing is lost to.
 *
 * Seven ways compete: shared lines entered behind the first or at the front, ordered
 * groups entered in the middle or at the front, packed groups, mostly of one slot, marked
 * lines and spread ones. Shared lines win when keys nearly fit; spread ones when keys are
 * more than that and all alike, packed ones when they are many more; marked ones on skewed
 * streams under pressure, and ordered ones where recency counts.
 *
 * What to begin with is read off the stream. Some lines have twins, which get the same keys
 * and give no verdicts: one for each way, and one that has only keys that were hit. By the
 * last we know how much likelier a key that was hit is to come again than another, the skew.
 * If it is about 1, keys are alike, and lines are spread; if it is more, they are marked, the
 * sooner the more it is and the fewer places that costs; where repeats are rare and no key
 * comes often, new keys enter at the front, and in groups from FRONT_FROM on, since these
 * forget in order. A change of form costs what a line has learned, so the first choice
 * matters. Small filters have no twins, and count hits for each key hit.
 *
 * From CONTEST_FROM keys for each place on the contest decides. The twins of a line see the
 * same keys, so where the verdicts of two ways differ one of them knew better, and if they
 * are equally good either is as likely to be: the lead of one is the difference in units
 * of the square root of their number. Below that, forms with many places are always ahead,
 * which says nothing of what comes. When the lead is SURE, lines follow, each when it next
 * misses. Streams change: older verdicts count half, and half again.
 *
 * One line for each key has its price. Lines get unequally many keys, so while keys
 * just about fit some lines overflow and others have room: Pr[Poisson(m) > c] of them
 * for m keys a line and places for c. Near m = c about 0.4 / sqrt(c) of the keys do not
 * find room that a filter with one large table would have, 8% at 0.0001%, 5% at 1%.
 *
 * Lifetime. In a stream of new keys only, a full filter of N entries forgets one key
 * for each that comes, so by Little's law a key lives N keys on average, whatever the
 * form. In an ordered group a key that is never hit lives until s - enter more have
 * come to its group: (s - enter) G L keys on average, negative binomial, so its
 * relative spread is 1 / sqrt(s - enter). A key seen again at a distance of d keys is
 * still known with probability Pr[Bin(d, 1/(G L)) < s - enter].
 *
 * Measured rather than derived: KEEP_FIRSTS, the middle as the place to enter, AHEAD, and
 * all that is said of streams and of the contest below.
 */
#include "filter/recent_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "filter/filter.h"
#include "filter/recent_marked.h"
#include "filter/recent_spread.h"
#include "filter/recent_theory.h"
#include "filter/recent_window.h"

enum { OPT_WINDOW = WEIR__OPT_OWN, OPT_RENEW };
enum { SHARED, ORDERED, PACKED, MARKED, SPREAD, FORMS }; /* what a line can look like */
static const char *const form_names[FORMS] = {"shared", "ordered", "packed", "marked", "spread"};
#define TWINS (WAYS + 1) /* of a line: one for each way, and one of keys that were hit */
#define SPREAD_CODES 5u  /* at least so many, for 0, 1, ... extras */

/* The ways that compete: a form, and where a new key enters in it. */
enum {
    SHARED_BEHIND,
    SHARED_FRONT,
    ORDERED_MIDDLE,
    ORDERED_FRONT,
    PACKED_ANY,
    MARKED_ANY,
    SPREAD_ANY,
    WAYS
};
static const struct {
    uint8_t form;
    bool front;
    const char *name;
} ways[WAYS] = {{SHARED, false, "shared_behind"},   {SHARED, true, "shared_front"},
                {ORDERED, false, "ordered_middle"}, {ORDERED, true, "ordered_front"},
                {PACKED, true, "packed"},           {MARKED, false, "marked"},
                {SPREAD, false, "spread"}};

#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */
#define AHEAD 24u                    /* lines asked for ahead of the one at work */
#define KEEP_FIRSTS 44u              /* see "who goes" */
#define FEW_LINES 512u               /* too few to spare any for twins */
#define MANY_LINES 65536u            /* so many that speed counts more than a little memory */
#define TRIED_LEAST 8u               /* lines with twins, from 8 FEW_LINES on, */
#define TRIED_MOST 64u               /* and with ever more lines */
#define JUDGE_EVERY 16u              /* verdicts in watched lines */
#define SMALLEST 64u                 /* hashes kept for counting distinct keys */
#define CROWDED 2.0      /* keys for each place, for which the spread form is planned, */
#define SPREAD_WORTH 0.3 /* and what its places count beside those of others */

/* What a stream is like: see "what to begin with". */
#define RARE 8u          /* fewer than one hit in so many verdicts */
#define ONCE_MORE 2.5    /* hits for each key that is hit */
#define SPENT 0.5        /* skew of a stream in which a key that was hit is done, */
#define SKEWED 1.7       /* of one whose keys are no longer alike, */
#define SKEWED_MUCH 7    /* and of one in which that counts most */
#define ENOUGH 25u       /* hits from which on the skew is believed, */
#define ENOUGH_A_LINE 6u /* or so many for each line with twins */
/* Keys for each place from which on */
#define FRONT_FROM 1.3    /* rare repeats are best known by groups, which forget in order, */
#define FEW_WIDE_FROM 1.9 /* remainders of few bits are worth spreading, */
#define CONTEST_FROM 2.5  /* the contest decides, */
#define MARKED_SOON 1.25  /* a much skewed stream is worth marks, */
#define MARKED_BLIND 2.2  /* or this where it may be skewed, */
#define MARKED_FROM 1.6   /* or at least this if it is, */
#define MARKED_BY_SKEW 8  /* or this divided by its skew, */
#define MARKED_LATE 5.5   /* or this where marks cost many places, as does the contest, */
#define ORDERED_FROM 4.5  /* or ordered groups where there are none, */
#define PACKED_FROM 6     /* and groups of one are full. */
/* The contest. */
#define SURE 4        /* standard deviations, as the lead is looked at often */
#define AT_LEAST 64u  /* verdicts that differ before it says anything, */
#define HORIZON 1000u /* and from which on older ones count half */

/* Counts distinct keys, roughly: of n uniform words the SMALLEST-th smallest is about
 * SMALLEST / n of the range. State words only. */
typedef struct {
    uint64_t count;
    uint64_t limit;              /* words above this do not matter */
    uint64_t smallest[SMALLEST]; /* in order */
} distinct_counter;

/* What is known of a number of lines. State words only. */
typedef struct {
    uint64_t spent;     /* sum of their costs */
    uint64_t pool;      /* what is left for lines that cost more than `fair` */
    uint64_t held;      /* entries in all of them */
    uint64_t forgotten; /* entries that had to go */
    uint64_t in_form[FORMS];
} line_books;

typedef struct {
    weir_filter base;
    uint64_t lines;
    uint64_t fair;    /* the cost that every line may have */
    uint64_t tried;   /* the first so many lines have a twin for each way, behind the last line */
    uint64_t watched; /* the first so many tell what the stream is like */
    line_shape shape;
    ordered_form ordered[PACKED_ANY - ORDERED_MIDDLE + 1]; /* no groups: not to be had */
    window_plan window;
    struct {
        uint64_t rng;
        line_books books;      /* of the lines that decide, */
        line_books twin_books; /* and of their twins */
        uint64_t winner;       /* the way that full lines go */
        uint64_t decided;      /* 1: by the contest; 0: by what is known of the stream */
        /* Verdicts in which the twin of a way knew better than that of the winner, and the
         * other way round, since the winner is in use. */
        uint64_t won[WAYS], lost[WAYS];
        uint64_t hits, misses; /* SEEN and NEW verdicts in the lines that are watched */
        /* Hits on keys that had been hit before and on others, each counted by how many of
         * the other kind there were. */
        uint64_t hit_again, hit_first;
        distinct_counter keys, keys_hit; /* all of them; those that were hit in watched lines */
        window_state window;
    } state;
} recent_filter;

static inline ordered_form *ordered_way(recent_filter *f, unsigned way) {
    return &f->ordered[way - ORDERED_MIDDLE];
}

/* An ordered form by its number; the ways that share it have the same places. */
static inline const ordered_form *ordered_of(const recent_filter *f, unsigned form) {
    return &f->ordered[form == ORDERED ? 0 : PACKED_ANY - ORDERED_MIDDLE];
}

static inline unsigned form_of(const line_shape *shape, unsigned code) {
    if (code < shape->code_ordered) return SHARED;
    return code < shape->code_spread ? code - shape->code_ordered + ORDERED : SPREAD;
}
static inline unsigned code_of(const line_shape *shape, unsigned form) {
    return shape->code_ordered + form - ORDERED;
}

static inline bool to_be_had(const recent_filter *f, unsigned way) {
    unsigned form = ways[way].form;
    return form == SHARED   ? true
           : form == MARKED ? f->shape.marked.entries
           : form == SPREAD ? f->shape.spread.most
                            : ordered_of(f, form)->groups;
}

/* What a line costs in any form but the shared one. */
static inline uint64_t form_cost(const recent_filter *f, unsigned form) {
    return form == MARKED   ? f->shape.marked.cost
           : form == SPREAD ? f->shape.spread.cost
                            : ordered_of(f, form)->cost;
}

/* ---- planning ---- */

static uint64_t cost_of(double match, double eps) {
    return (uint64_t)ceil(match / eps * (double)COST_ONE);
}

static double shared_match(unsigned n, unsigned lists, unsigned width) {
    return n / (lists * ldexp(1, (int)width));
}

/* Widths and costs of a shared line with so many lists. Widths go from wide to
 * narrow, down to the first that can break the bound: in strides at first, as each
 * step rewrites the line, and near the bound by single bits, as each one counts. */
static void fill_shared(shared_form *form, const line_shape *shape, unsigned lists, double eps) {
    unsigned space = LINE_BITS - shape->code_bits - lists, top = shape->code_ordered - 1;
    unsigned narrowest = WIDTH_MAX, width = WIDTH_FIRST, n = 0;
    while (narrowest > 1 && shared_match(space / (narrowest + 1), lists, narrowest) <= eps)
        narrowest--;
    form->lists = lists;
    for (form->list_bits = 1; lists > 1u << form->list_bits;) form->list_bits++;
    /* Half words are worth having while they match by chance next to never. */
    double halves = shared_match(HALVES_MOST, lists, 32 - form->list_bits);
    bool room_after = space / (narrowest + 2) > HALVES_MOST;
    form->flat = halves < 0.1 * eps && room_after ? HALVES_MOST : WORDS_MOST;
    for (; n <= form->flat; n++) {
        form->width[n] = (uint8_t)(tag_bits(n) - form->list_bits);
        form->cost[n] = cost_of(shared_match(n, lists, form->width[n]), eps);
    }
    if (form->flat == HALVES_MOST) width = width * 3 / 5;
    if (width < narrowest + 1) width = narrowest + 1;
    for (;;) {
        for (; n <= space / (width + 1) && n <= top; n++) {
            form->width[n] = (uint8_t)width;
            form->cost[n] = cost_of(shared_match(n, lists, width), eps);
            form->most = n;
        }
        if (width == narrowest) break;
        unsigned next = width * 3 / 5, base = narrowest + 1;
        width = next * 2 > base * 3 ? next : width > base ? base : narrowest;
    }
    for (form->fair = form->most; form->cost[form->fair] > COST_ONE;) form->fair--;
    form->one_word = shape->code_bits + lists + form->most <= 64;
    form->in_pairs = true;
    for (n = form->flat + 1; n <= form->most; n++)
        form->in_pairs &= 2 * form->width[n] <= WIDTH_MAX && (n + 1) * form->width[n] <= LINE_BITS;
}

/* Slots for as many keys as fit and as the bound allows. */
static bool fill_ordered(ordered_form *form, const line_shape *shape, unsigned groups,
                         unsigned bits, double eps, bool front) {
    double values = groups * ldexp(1, (int)bits);
    unsigned entries = (LINE_BITS - shape->code_bits) / bits;
    if (entries > ENTRIES_MAX) entries = ENTRIES_MAX;
    if (entries > eps * values) entries = (unsigned)(eps * values);
    unsigned slots = (entries + groups - 1) / groups;
    *form = (ordered_form){.groups = groups, .bits = bits, .slots = slots, .entries = entries};
    form->wide = entries - groups * (slots - 1);
    form->one_word = slots * bits <= WORD_MAX;
    if (entries < groups || slots * bits > GROUP_MAX) return false;
    for (unsigned narrow = 0; narrow < 2 && narrow < slots; narrow++) {
        group_shape *its = &form->shape[narrow];
        wide_word ones = 0;
        its->slots = slots - narrow;
        for (unsigned j = 0; j < its->slots; j++) ones |= (wide_word)1 << j * bits;
        its->ones = two_of(ones);
        its->tops = two_of(ones << (bits - 1));
        wide_word all = wide_mask(its->slots * bits);
        unsigned enter = slots / 2 < its->slots ? slots / 2 : its->slots - 1;
        if (front) enter = 0;
        its->enter = enter;
        its->all = two_of(all);
        its->entry = two_of(wide_mask(bits) << enter * bits);
        its->entered = two_of(all & ~wide_mask(enter * bits));
    }
    for (unsigned g = 0, at = shape->code_bits, last = form->one_word ? 56 : 48; g < groups; g++) {
        bool narrow = g >= form->wide;
        unsigned byte = at / 8 < last ? at / 8 : last;
        form->place[g] = (group_place){(uint8_t)byte, (uint8_t)(at - 8 * byte), narrow};
        at += (slots - narrow) * bits;
    }
    form->in_lanes = bits <= LANE_MAX && slots <= LANES;
    for (unsigned j = 0; j < LANES; j++) {
        for (unsigned i = 0; i < 8; i++)
            form->lane_bytes[8 * j + i] = (uint8_t)((j * bits / 8 + i) % LINE_BYTES);
        form->lane_shift[j] = j * bits % 8;
    }
    form->cost = cost_of(entries / values, eps);
    return true;
}

/* The forms that a full shared line turns into without loss; see recent_marked.h, */
static void fill_marked(line_shape *shape, double eps) {
    const shared_form *shared = &shape->shared;
    marked_form *form = &shape->marked;
    unsigned width = shared->width[shared->fair], room = LINE_BITS - shape->code_bits;
    unsigned entries = (room - shared->lists) / (width + 2);
    if (entries > WIDTH_MAX || entries > shared->fair) entries = 0;
    form->entries = entries;
    form->width = width;
    form->words = (shape->code_bits + shared->lists + entries + 63) / 64;
    form->marks = shape->code_bits + shared->lists + entries;
    form->cost = cost_of(shared_match(entries, shared->lists, width), eps);
}

/* and recent_spread.h. */
static void fill_spread(line_shape *shape, unsigned finer, unsigned width, double eps) {
    spread_form *form = &shape->spread;
    unsigned lists = shape->shared.lists << finer;
    *form = (spread_form){.lists = lists, .finer = finer, .width = width};
    form->extras = shape->code_bits + lists;
    form->extra_width = width + shape->shared.list_bits + finer;
    if (form->extras + width > LINE_BITS || form->extra_width > WIDTH_MAX) return;
    form->words = (form->extras + 63) / 64;
    form->most = (LINE_BITS - form->extras) / width;
    unsigned allowed = (unsigned)(eps * lists * ldexp(1, (int)width));
    if (form->most > allowed) form->most = allowed;
    form->most_extras = (1u << shape->code_bits) - 1 - shape->code_spread;
    form->cost = cost_of(shared_match(form->most, lists, width), eps);
}

/* Keys that a spread line has when CROWDED times as many as a shared one has come by. */
static double spread_keys(const line_shape *shape) {
    const spread_form *form = &shape->spread;
    if (!form->most) return 0;
    double keys = CROWDED * shape->shared.fair;
    double singles = fmin(form->most, form->lists * -expm1(-keys / form->lists));
    double room = LINE_BITS - form->extras - singles * form->width;
    return fmin(form->most, singles + room / form->extra_width);
}

static void plan_spread(line_shape *shape, double eps) {
    spread_form best = {0};
    double most = 0;
    unsigned width = shape->shared.width[shape->shared.fair];
    for (unsigned finer = 0; finer < 4 && finer < width; finer++) {
        fill_spread(shape, finer, width - finer, eps);
        double keys = spread_keys(shape);
        if (keys > most) most = keys, best = shape->spread;
    }
    shape->spread = best;
}

/* All forms that follow from the number of lists, and what they are worth. */
static double fill_shape(line_shape *shape, unsigned lists, double eps) {
    fill_shared(&shape->shared, shape, lists, eps);
    fill_marked(shape, eps);
    plan_spread(shape, eps);
    return shape->shared.fair + SPREAD_WORTH * spread_keys(shape);
}

/* The shared and the ordered form together: a key's values in both must be parts
 * of one another, lists = groups * 2^j and width + j >= bits, or each change of
 * form would lose half of what it knows. */
static void plan_forms(recent_filter *f, double eps) {
    double best = 0;
    unsigned room = LINE_BITS - f->shape.code_bits;
    line_shape shape = f->shape;
    for (unsigned bits = 3; bits <= GROUP_MAX / 3; bits++)
        for (unsigned groups = 1; groups <= room / bits / 3; groups++) {
            ordered_form ordered;
            if (!fill_ordered(&ordered, &f->shape, groups, bits, eps, false)) continue;
            if (ordered.entries < 3 * groups || ordered.slots > 6) continue;
            for (unsigned j = 0, lists; lists = groups << j, lists <= room / 3; j++) {
                double score = fill_shape(&shape, lists, eps) + ordered.entries * 0.5;
                if (shape.shared.width[shape.shared.fair] + j < bits || score <= best) continue;
                best = score, f->shape = shape, *ordered_way(f, ORDERED_MIDDLE) = ordered;
            }
        }
    if (best > 0) return;
    for (unsigned lists = 4; lists <= room / 3; lists++) {
        double score = fill_shape(&shape, lists, eps);
        if (score > best) best = score, f->shape = shape;
    }
}

static void plan_packed(recent_filter *f, double eps) {
    const shared_form *shared = &f->shape.shared;
    ordered_form *packed_form = ordered_way(f, PACKED_ANY);
    double best = 0;
    for (unsigned bits = 2; bits <= GROUP_MAX / 2; bits++)
        for (unsigned groups = 1; groups <= ENTRIES_MAX; groups++) {
            ordered_form packed;
            if (!fill_ordered(&packed, &f->shape, groups, bits, eps, true)) continue;
            /* one that a shared line turns into without loss is worth some entries */
            double score = packed.entries;
            uint64_t values = (uint64_t)shared->lists << shared->width[shared->fair];
            if (values % ((uint64_t)groups << bits) == 0) score *= 1.02;
            if (score > best) best = score, *packed_form = packed;
        }
}

/* A window of so many records never has more keys than that: room for four times as
 * many leaves nothing to wish for, and more would only have to be swept. */
static void plan_window(recent_filter *f, double eps) {
    const weir__value *window = &f->base.values[OPT_WINDOW];
    bool renew = weir__opt_whole(&f->base, OPT_RENEW) == 1;
    weir__window_plan(&f->window, f->lines, eps, window->whole, renew);
    uint64_t enough = 16 + 4 * (window->whole / (f->window.groups * f->window.slots));
    if (window->is_time || f->lines <= enough) return;
    f->lines = enough;
    weir__window_plan(&f->window, f->lines, eps, window->whole, renew);
}

/* Lines with twins: more tell more, and are lost to the keys. */
static void plan_twins(recent_filter *f) {
    uint64_t tried = f->lines / FEW_LINES;
    if (tried > TRIED_LEAST) tried = TRIED_LEAST;
    if (f->lines / 4096 > tried) tried = f->lines / 4096;
    f->tried = tried < TRIED_MOST ? tried : TRIED_MOST;
    f->lines -= f->tried * TWINS;
}

/* Codes for as many entries as a shared line can have, and for the other forms. */
static void plan_codes(line_shape *shape, double eps) {
    unsigned entries = (unsigned)(LINE_BITS / (log2(1 / eps) + 2)), others = MARKED + SPREAD_CODES;
    shape->code_bits = 5;
    while (1u << shape->code_bits < entries + 1 + others) shape->code_bits++;
    unsigned spare = (1u << shape->code_bits) - (entries + 1 + others);
    shape->code_ordered = entries + 1 + spare * 3 / 4;
    shape->code_marked = shape->code_ordered + MARKED - ORDERED;
    shape->code_spread = shape->code_marked + 1;
}

static weir_status create(weir_filter *base, weir_error *err) {
    recent_filter *f = (recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR);
    f->lines = weir__opt_whole(base, WEIR__OPT_MEMORY) / LINE_BYTES;
    plan_codes(&f->shape, eps);
    plan_forms(f, eps);
    plan_packed(f, eps);
    const ordered_form *middle = ordered_way(f, ORDERED_MIDDLE);
    if (middle->groups)
        fill_ordered(ordered_way(f, ORDERED_FRONT), &f->shape, middle->groups, middle->bits, eps,
                     true);
    f->fair = f->shape.shared.cost[f->shape.shared.fair];
    for (unsigned way = 0; way < WAYS; way++)
        if (ways[way].form != SHARED && to_be_had(f, way) && form_cost(f, ways[way].form) > f->fair)
            f->fair = form_cost(f, ways[way].form);
    f->base.windowed = weir__opt_given(base, OPT_WINDOW);
    if (weir__opt_given(base, OPT_RENEW) && weir__opt_whole(base, OPT_RENEW) && !f->base.windowed)
        return weir__opt_fail(base, OPT_RENEW, err, "'renew' is about a window; give 'window' too");
    if (f->base.windowed) plan_window(f, eps);
    else plan_twins(f);
    f->watched = f->tried ? f->tried : f->lines;
    return weir__filter_map(base, (f->lines + f->tried * TWINS) * LINE_BYTES, err);
}

static line_books new_books(const recent_filter *f, uint64_t lines) {
    return (line_books){.pool = lines * (COST_ONE - f->fair), .in_form[SHARED] = lines};
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
    f->state.books = new_books(f, f->lines);
    f->state.twin_books = new_books(f, f->tried * TWINS);
    f->state.keys.limit = f->state.keys_hit.limit = UINT64_MAX;
}

/* ---- which way a line should go ---- */

static void insert_word(distinct_counter *counter, uint64_t word) {
    uint64_t n = counter->count, *smallest = counter->smallest, at = 0;
    while (at < n && smallest[at] < word) at++;
    if (at == SMALLEST || (at < n && smallest[at] == word)) return;
    if (n < SMALLEST) counter->count = ++n;
    memmove(smallest + at + 1, smallest + at, (n - 1 - at) * sizeof *smallest);
    smallest[at] = word;
    if (n == SMALLEST) counter->limit = smallest[n - 1];
}

/* Without a branch that depends on `counts`, which is hard to guess. */
static inline void count_distinct(distinct_counter *counter, uint64_t hash, bool counts) {
    uint64_t word = weir__mix64(hash);
    if ((word <= counter->limit) & counts) insert_word(counter, word);
}

static double distinct(const distinct_counter *counter) {
    uint64_t n = counter->count;
    if (n < SMALLEST) return (double)n;
    return (double)(n - 1) * 0x1p64 / ((double)counter->smallest[n - 1] + 1);
}

/* Distinct keys so far for each place that there is. */
static double crowding(const recent_filter *f) {
    return distinct(&f->state.keys) / ((double)f->lines * f->shape.shared.fair);
}

/* How much likelier a key that was hit is to come again than one that was not, as the twins
 * tell; 0 if they do not know. */
static double known_skew(const recent_filter *f) {
    double again = (double)f->state.hit_again, first = (double)f->state.hit_first;
    uint64_t enough = ENOUGH_A_LINE * f->tried < ENOUGH ? ENOUGH_A_LINE * f->tried : ENOUGH;
    return again + first > (double)enough * f->shape.shared.fair ? again / (first + 1) : 0;
}

static unsigned first_to_be_had(const recent_filter *f, unsigned way, unsigned other) {
    return to_be_had(f, way) ? way : to_be_had(f, other) ? other : SHARED_BEHIND;
}

static unsigned way_for_alike(const recent_filter *f, double crowd) {
    bool short_ones = f->shape.spread.width < 4;
    if (crowd > PACKED_FROM) return PACKED_ANY;
    if (short_ones && crowd < FEW_WIDE_FROM) return SHARED_BEHIND;
    return first_to_be_had(f, SPREAD_ANY, SHARED_BEHIND);
}

/* Whether a marked line has many keys less than a spread one. */
static bool marks_cost_much(const recent_filter *f) {
    return to_be_had(f, MARKED_ANY) && f->shape.spread.most > 1.25 * f->shape.marked.entries;
}

static unsigned way_for_skewed(const recent_filter *f, double crowd, double skew) {
    bool much = skew > SKEWED_MUCH;
    if (!to_be_had(f, MARKED_ANY))
        return much || crowd > ORDERED_FROM ? first_to_be_had(f, ORDERED_MIDDLE, SPREAD_ANY)
                                            : way_for_alike(f, crowd);
    bool costly = marks_cost_much(f);
    if ((much && crowd > MARKED_SOON) ||
        crowd > (costly ? MARKED_LATE : fmax(MARKED_FROM, MARKED_BY_SKEW / skew)))
        return MARKED_ANY;
    return costly ? SPREAD_ANY : SHARED_BEHIND;
}

/* The way to begin with, before the contest has anything to say. */
static unsigned likely_way(const recent_filter *f) {
    uint64_t hits = f->state.hits, verdicts = hits + f->state.misses;
    double crowd = crowding(f), skew = known_skew(f);
    bool once = (double)hits <= ONCE_MORE * distinct(&f->state.keys_hit);
    bool alike = skew > 0 ? skew > SPENT && skew < SKEWED : crowd > PACKED_FROM;
    if (once && hits * RARE <= verdicts && !alike)
        return crowd > FRONT_FROM && to_be_had(f, ORDERED_FRONT) ? ORDERED_FRONT : SHARED_FRONT;
    if (skew == 0 && !once)
        return crowd > MARKED_BLIND ? first_to_be_had(f, MARKED_ANY, ORDERED_MIDDLE)
                                    : SHARED_BEHIND;
    return skew < SKEWED ? way_for_alike(f, crowd) : way_for_skewed(f, crowd, skew);
}

/* How far `way` is ahead of the one in use, in standard deviations: of the verdicts that
 * differ, half would go either way by chance. */
static double lead_of(const recent_filter *f, unsigned way) {
    double won = (double)f->state.won[way], lost = (double)f->state.lost[way];
    return (won - lost) / sqrt(won + lost + 1);
}

static void forget_contest(recent_filter *f) {
    memset(f->state.won, 0, sizeof f->state.won);
    memset(f->state.lost, 0, sizeof f->state.lost);
}

static void follow(recent_filter *f, unsigned way, bool decided) {
    f->state.decided |= decided;
    if (way == f->state.winner) return;
    f->state.winner = way;
    forget_contest(f);
}

/* The way that is furthest ahead. */
static unsigned leading_way(const recent_filter *f) {
    unsigned best = (unsigned)f->state.winner;
    for (unsigned way = 0; way < WAYS; way++)
        if (f->state.won[way] + f->state.lost[way] > AT_LEAST && lead_of(f, way) > lead_of(f, best))
            best = way;
    return best;
}

static void halve_contest(recent_filter *f) {
    for (unsigned way = 0; way < WAYS; way++)
        if (f->state.won[way] + f->state.lost[way] > HORIZON)
            f->state.won[way] /= 2, f->state.lost[way] /= 2;
}

/* What a stream is like may be seen late, but what marks and groups have learned is not given
 * up for it: only the contest leads away from them. */
__attribute__((noinline)) static void judge(recent_filter *f) {
    unsigned form = ways[f->state.winner].form;
    if (!f->state.decided && form != MARKED && f->state.winner != ORDERED_MIDDLE)
        follow(f, likely_way(f), false);
    if (!f->tried || crowding(f) < (marks_cost_much(f) ? MARKED_LATE : CONTEST_FROM)) {
        forget_contest(f);
        return;
    }
    unsigned best = leading_way(f);
    if (lead_of(f, best) > SURE) follow(f, best, true);
    halve_contest(f);
    /* After long overload, where the shared form is no better the others are faster. */
    unsigned now = (unsigned)f->state.winner,
             other = ways[now].front ? ORDERED_FRONT : ORDERED_MIDDLE;
    if (ways[now].form == SHARED && to_be_had(f, other) && f->lines >= MANY_LINES &&
        f->state.books.forgotten / f->lines > f->shape.shared.fair && lead_of(f, other) > -1)
        follow(f, other, true);
}

/* What a watched line tells: of the stream, and of the ways. */
static void count_watched(recent_filter *f, uint64_t hash, bool seen) {
    f->state.misses += !seen;
    f->state.hits += seen;
    if (seen) count_distinct(&f->state.keys_hit, hash, true);
    if ((f->state.hits + f->state.misses) % JUDGE_EVERY == 0) judge(f);
}

static uint64_t line_cost(const recent_filter *f, unsigned code) {
    unsigned form = form_of(&f->shape, code);
    return form == SHARED ? f->shape.shared.cost[code] : form_cost(f, form);
}
static unsigned line_entries(const recent_filter *f, const uint8_t *line) {
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    return form == SHARED   ? code
           : form == SPREAD ? count_singles(line, &f->shape) + count_extras(line, &f->shape)
           : form == MARKED ? f->shape.marked.entries
                            : ordered_of(f, form)->entries;
}

/* Charge a line's change from one cost to another, if that can be paid. What a
 * line costs up to `fair` is set aside for it; only what goes beyond comes out of
 * the pool, so no line can take what others will need. */
static inline bool pay(recent_filter *f, uint64_t from, uint64_t to) {
    uint64_t back = from > f->fair ? from - f->fair : 0, out = to > f->fair ? to - f->fair : 0;
    if (out > back && out - back > f->state.books.pool) return false;
    f->state.books.pool += back - out;
    f->state.books.spent += to - from;
    return true;
}

/* ---- from one form to another ---- */

typedef struct {
    unsigned count;
    uint64_t value[ENTRIES_MAX + 1]; /* the best protected first */
} line_content;

HOT void add_rank(line_content *content, unsigned rank, const uint8_t *ranks,
                  const uint64_t *values, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (ranks[i] == rank) /* NOLINTNEXTLINE(clang-analyzer-core*): both are filled up to n */
            content->value[content->count++] = values[i];
}

HOT void sort_by_rank(line_content *content, const uint8_t *ranks, const uint64_t *values,
                      unsigned n) {
    content->count = 0;
    for (unsigned rank = 0; content->count < n; rank++) add_rank(content, rank, ranks, values, n);
}

HOT void read_shared(const recent_filter *f, const uint8_t *line, line_content *content) {
    unsigned n = read_code(line, &f->shape), lists = f->shape.shared.lists;
    unsigned width = f->shape.shared.width[n], i = 0;
    if (n <= f->shape.shared.flat) {
        for (content->count = 0; content->count < n; content->count++) {
            uint64_t tag = get_tag(line, n, content->count);
            unsigned list_bits = f->shape.shared.list_bits;
            content->value[content->count] = value_of((unsigned)(tag >> (64 - list_bits)), lists,
                                                      tag << list_bits >> (64 - width), width);
        }
        return;
    }
    uint8_t ranks[ENTRIES_MAX + 1] = {0};
    uint64_t values[ENTRIES_MAX + 1];
    unsigned bit = f->shape.code_bits;
    for (unsigned list = 0; list < lists; list++, bit++)
        for (unsigned rank = 0; get_bits(line, bit, 1); bit++, i++) {
            ranks[i] = (uint8_t)rank++;
            values[i] = value_of(list, lists, get_bits(line, remainder_at(i, width), width), width);
        }
    sort_by_rank(content, ranks, values, n);
}

HOT void read_ordered(const ordered_form *form, const uint8_t *line, line_content *content) {
    uint8_t ranks[ENTRIES_MAX + 1] = {0};
    uint64_t values[ENTRIES_MAX + 1];
    unsigned n = 0;
    for (unsigned g = 0; g < form->groups; g++) {
        two_words both = read_group(form, line, g);
        wide_word slots = (wide_word)both.high << 64 | both.low;
        for (unsigned j = 0; j < form->slots - (g >= form->wide); j++, n++) {
            ranks[n] = (uint8_t)j;
            values[n] =
                value_of(g, form->groups,
                         (uint64_t)(slots >> j * form->bits) & low_mask(form->bits), form->bits);
        }
    }
    sort_by_rank(content, ranks, values, n);
}

/* An entry of a shared line: its list, and the bits of the value that follow. */
typedef struct {
    unsigned list;
    uint64_t rest;
} list_entry;

HOT void write_flat(const recent_filter *f, uint8_t *line, const list_entry *entries, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        uint64_t tag = tag_of(&f->shape.shared, entries[i].list, entries[i].rest);
        if (n <= WORDS_MOST) put_word(line, i, tag);
        else put_bits(line, 32 * (i + 1), 32, tag >> 32);
    }
    line[0] = (uint8_t)n;
}

/* Write entries list by list, those of one list in the order in which they come. */
HOT void write_lists(const recent_filter *f, uint8_t *line, const list_entry *entries, unsigned n,
                     unsigned width) {
    uint64_t words[9] = {n};
    uint8_t lists[ENTRIES_MAX + 1];
    for (unsigned i = 0; i < n; i++) lists[i] = (uint8_t)entries[i].list;
    for (unsigned i = 0; i < n; i++) {
        unsigned rank = 0;
        for (unsigned j = 0; j < i; j++) rank += lists[j] <= lists[i];
        for (unsigned j = i + 1; j < n; j++) rank += lists[j] < lists[i];
        unsigned bit = f->shape.code_bits + lists[i] + rank, at = remainder_at(rank, width);
        uint64_t remainder = entries[i].rest >> (64 - width);
        words[bit / 64] |= UINT64_C(1) << bit % 64;
        words[at / 64] |= remainder << at % 64;
        words[at / 64 + 1] |= remainder >> 1 >> (63 - at % 64);
    }
    memcpy(line, words, LINE_BYTES);
}

HOT unsigned write_shared(const recent_filter *f, uint8_t *line, const line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned n = content->count < form->most ? content->count : form->most;
    list_entry entries[ENTRIES_MAX + 1];
    for (unsigned i = 0; i < n; i++)
        entries[i].list = (unsigned)weir__part(content->value[i], form->lists, &entries[i].rest);
    memset(line, 0, LINE_BYTES);
    if (n <= form->flat) write_flat(f, line, entries, n);
    else write_lists(f, line, entries, n, form->width[n]);
    return n;
}

/* Entries of a marked line: those with a mark first. */
HOT void read_marked(const recent_filter *f, const uint8_t *line, line_content *content) {
    const marked_form *form = &f->shape.marked;
    uint64_t values[WIDTH_MAX], marks = get_marks(line, form);
    uint8_t ranks[WIDTH_MAX] = {0};
    unsigned bit = f->shape.code_bits, lists = f->shape.shared.lists, i = 0;
    for (unsigned list = 0; list < lists; list++, bit++)
        for (; get_bits(line, bit, 1); bit++, i++) {
            ranks[i] = !(marks >> i & 1);
            values[i] =
                value_of(list, lists, get_bits(line, remainder_at(i, form->width), form->width),
                         form->width);
        }
    sort_by_rank(content, ranks, values, i);
}

HOT unsigned write_marked(const recent_filter *f, uint8_t *line, line_content *content) {
    const marked_form *form = &f->shape.marked;
    list_entry entries[WIDTH_MAX];
    for (unsigned i = content->count; i < form->entries; i++) content->value[i] = content->value[0];
    for (unsigned i = 0; i < form->entries; i++)
        entries[i].list =
            (unsigned)weir__part(content->value[i], f->shape.shared.lists, &entries[i].rest);
    write_lists(f, line, entries, form->entries, form->width);
    write_code(line, &f->shape, f->shape.code_marked);
    return least(content->count, form->entries);
}

/* Entries of a spread line: those that hold their lists, then the extras, the latest first. */
HOT void read_spread(const recent_filter *f, const uint8_t *line, line_content *content) {
    const spread_form *form = &f->shape.spread;
    unsigned extras = count_extras(line, &f->shape);
    content->count = 0;
    for (unsigned list = 0; list < form->lists; list++)
        if (is_taken(line, f->shape.code_bits + list)) {
            unsigned at = remainder_at(content->count, form->width);
            content->value[content->count++] =
                value_of(list, form->lists, get_bits(line, at, form->width), form->width);
        }
    while (extras--) {
        uint64_t extra = get_bits(line, extra_at(form, extras), form->extra_width);
        content->value[content->count++] = value_of((unsigned)(extra >> form->width), form->lists,
                                                    extra & low_mask(form->width), form->width);
    }
}

/* Each list to the first of its keys that comes, the others are extras as far as they fit. */
HOT unsigned write_spread(const recent_filter *f, uint8_t *line, const line_content *content) {
    const line_shape *shape = &f->shape;
    const spread_form *form = &shape->spread;
    uint64_t left[ENTRIES_MAX + 1];
    unsigned others = 0, singles = 0, n = content->count < form->most ? content->count : form->most;
    memset(line, 0, LINE_BYTES);
    write_code(line, shape, shape->code_spread);
    for (unsigned i = 0; i < n; i++) {
        spread_key key = find_spread_key(shape, content->value[i]);
        unsigned rank = entries_before(line, shape, form->words, key.bit);
        if (is_taken(line, key.bit)) left[others++] = key.extra;
        else add_single(line, shape, singles++, rank, &key, CPU_ANY);
    }
    unsigned room = LINE_BITS - form->extras - singles * form->width;
    if (others > form->most_extras) others = form->most_extras;
    if (others > room / form->extra_width) others = room / form->extra_width;
    for (unsigned j = 0; j < others; j++) add_extra(line, shape, j, left[others - 1 - j]);
    return singles + others;
}

HOT unsigned write_ordered(recent_filter *f, const ordered_form *form, unsigned code, uint8_t *line,
                           const line_content *content) {
    uint8_t used[ENTRIES_MAX + 1] = {0};
    wide_word groups[ENTRIES_MAX + 1] = {0};
    unsigned kept = 0;
    memset(line, 0, LINE_BYTES);
    for (unsigned i = 0; i < content->count; i++) {
        uint64_t rest;
        unsigned g = (unsigned)weir__part(content->value[i], form->groups, &rest);
        if (used[g] == form->slots - (g >= form->wide)) continue;
        groups[g] |= (wide_word)(rest >> (64 - form->bits)) << used[g]++ * form->bits;
        kept++;
    }
    for (unsigned g = 0; g < form->groups; g++) {
        group_place place = form->place[g];
        uint8_t *at = line + place.byte;
        if (!used[g]) groups[g] = weir__rng_next(&f->state.rng) >> (64 - form->bits), used[g] = 1;
        for (; used[g] < form->slots - (g >= form->wide); used[g]++)
            groups[g] |= (groups[g] & low_mask(form->bits)) << used[g] * form->bits;
        two_words moved = two_of(groups[g] << place.shift);
        store64(at, load64(at) | moved.low);
        if (!form->one_word) store64(at + 8, load64(at + 8) | moved.high);
    }
    write_code(line, &f->shape, code);
    return kept;
}

HOT void read_line(const recent_filter *f, const uint8_t *line, unsigned form,
                   line_content *content) {
    if (form == SHARED) read_shared(f, line, content);
    else if (form == MARKED) read_marked(f, line, content);
    else if (form == SPREAD) read_spread(f, line, content);
    else read_ordered(ordered_of(f, form), line, content);
}

/* Returns how many entries were kept. */
HOT unsigned write_line(recent_filter *f, uint8_t *line, unsigned form, line_content *content) {
    if (form == SHARED) return write_shared(f, line, content);
    if (form == MARKED) return write_marked(f, line, content);
    if (form == SPREAD) return write_spread(f, line, content);
    return write_ordered(f, ordered_of(f, form), code_of(&f->shape, form), line, content);
}

/* Rewrite a line in another form, if the budget allows it. */
HOT bool convert_here(recent_filter *f, uint8_t *line, unsigned form) {
    unsigned old = read_code(line, &f->shape), old_form = form_of(&f->shape, old);
    unsigned entries = line_entries(f, line), most = f->shape.shared.most;
    line_content content;
    uint64_t cost =
        form == SHARED ? f->shape.shared.cost[entries < most ? entries : most] : form_cost(f, form);
    if (!pay(f, line_cost(f, old), cost)) return false;
    read_line(f, line, old_form, &content);
    f->state.books.forgotten += content.count - write_line(f, line, form, &content);
    f->state.books.held += (uint64_t)line_entries(f, line) - entries;
    f->state.books.in_form[old_form]--;
    f->state.books.in_form[form]++;
    return true;
}

NOT_HERE(bool, convert, (recent_filter * f, uint8_t *line, unsigned form), (f, line, form))

/* ---- offering a key ---- */

HOT bool offer_ordered(const ordered_form *form, uint8_t *line, uint64_t value, cpu_kind cpu) {
    uint64_t rest;
    unsigned group = (unsigned)weir__part(value, form->groups, &rest);
    return offer_group(form, line, group, rest >> (64 - form->bits), cpu);
}

/* A new key in a shared line: room is made by shortening as long as the rate
 * allows, then by letting the last entry of some list go. */
HOT void enter_shared(recent_filter *f, uint8_t *line, unsigned words, unsigned n, list_place place,
                      uint64_t rest, bool front, cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    unsigned width = form->width[n];
    unsigned at = place.first + pick(place.length > 0, !front, 0);
    if (n < form->most && place.length < LIST_MAX && pay(f, form->cost[n], form->cost[n + 1])) {
        if (form->width[n + 1] != width) CALL(shorten, cpu, (line, n, width, form->width[n + 1]));
        width = form->width[n + 1];
        insert_entry(line, &f->shape, words, n, width, place.head, at, rest >> (64 - width), cpu);
        write_code(line, &f->shape, n + 1);
        f->state.books.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n);
    bool long_only = front | ((dice & 63) < KEEP_FIRSTS);
    unsigned bit = next_end(line, &f->shape, words, n, start, long_only);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    unsigned out = entries_before(line, &f->shape, words, bit);
    exchange_entry(line, words, width, place.head, at, bit, out, rest >> (64 - width), cpu);
    f->state.books.forgotten++;
}

/* From a flat line to lists, with one key more. A flat line has its entries in the
 * order in which they came; a list has the latest first. */
HOT void list_up(const recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest) {
    enum { MOST = HALVES_MOST + 1 };
    const shared_form *form = &f->shape.shared;
    uint64_t rests[MOST] = {rest}, sorted[MOST] = {0}, words[8] = {n + 1};
    int32_t order[MOST] = {(int32_t)(list * MOST)}, rank[MOST] = {0};
    for (unsigned i = n + 1; i < MOST; i++) order[i] = INT32_MAX;
    for (unsigned i = 1; i <= n; i++) {
        uint64_t tag = get_tag(line, n, n - i);
        rests[i] = tag << form->list_bits;
        order[i] = (int32_t)((tag >> (64 - form->list_bits)) * MOST + i);
    }
    for (unsigned j = 0; j < MOST; j++)
        for (unsigned i = 0; i < MOST; i++) rank[i] += order[j] < order[i];
    for (unsigned i = 0; i <= n; i++) {
        unsigned bit = f->shape.code_bits + (unsigned)(order[i] / MOST + rank[i]);
        words[bit / 64] |= UINT64_C(1) << bit % 64;
        sorted[rank[i]] = rests[i];
    }
    pack_remainders(words, sorted, n + 1, form->width[n + 1]);
    memcpy(line, words, LINE_BYTES);
}

/* One more entry than the present way of being flat can take. */
HOT void outgrow_here(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest) {
    uint32_t halves[WORDS_MOST];
    if (n == f->shape.shared.flat) {
        list_up(f, line, n, list, rest);
        return;
    }
    for (unsigned i = 0; i < WORDS_MOST; i++) halves[i] = (uint32_t)(get_word(line, i) >> 32);
    memcpy(line + 4, halves, sizeof halves);
    put_bits(line, 32 * (n + 1), 32, tag_of(&f->shape.shared, list, rest) >> 32);
    line[0] = (uint8_t)(n + 1);
}

NOT_HERE(void, outgrow,
         (recent_filter * f, uint8_t *line, unsigned n, unsigned list, uint64_t rest),
         (f, line, n, list, rest))

HOT bool offer_flat(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest,
                    cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    uint64_t tag = tag_of(form, list, rest);
    if (find_tag(line, n, tag, cpu)) return true;
    pay(f, form->cost[n], form->cost[n + 1]);
    f->state.books.held++;
    if (n == WORDS_MOST || n == form->flat) {
        CALL(outgrow, cpu, (f, line, n, list, rest));
        return false;
    }
    put_tag(line, n, tag);
    line[0] = (uint8_t)(n + 1);
    return false;
}

HOT bool offer_spread_here(recent_filter *f, uint8_t *line, uint64_t value, cpu_kind cpu) {
    int grown;
    bool seen = offer_spread(&f->shape, line, value, &f->state.rng, &grown, cpu);
    f->state.books.held += (uint64_t)(int64_t)grown;
    return seen;
}
HOT bool offer_marked_here(recent_filter *f, uint8_t *line, uint64_t value, cpu_kind cpu) {
    return offer_marked(&f->shape, line, f->shape.marked.words, value, &f->state.rng, cpu);
}

NOT_HERE(bool, offer_spread, (recent_filter * f, uint8_t *line, uint64_t value),
         (f, line, value, cpu))
NOT_HERE(bool, offer_marked, (recent_filter * f, uint8_t *line, uint64_t value),
         (f, line, value, cpu))

/* A way for each form. */
static const uint8_t any_way_of[FORMS] = {SHARED_BEHIND, ORDERED_MIDDLE, PACKED_ANY, MARKED_ANY,
                                          SPREAD_ANY};

/* A key and a line in the form of a way. */
HOT bool offer_formed(recent_filter *f, uint8_t *line, unsigned way, uint64_t value, cpu_kind cpu) {
    if (ways[way].form == SPREAD) return CALL(offer_spread, cpu, (f, line, value));
    if (ways[way].form == MARKED) return CALL(offer_marked, cpu, (f, line, value));
    return offer_ordered(&f->ordered[way - ORDERED_MIDDLE], line, value, cpu);
}

/* A key and a shared line that is no longer flat, whose header takes so many words. */
HOT bool offer_lists_here(recent_filter *f, uint8_t *line, unsigned words, unsigned n, unsigned way,
                          uint64_t value, cpu_kind cpu) {
    const shared_form *shared = &f->shape.shared;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest), width = shared->width[n];
    list_place place = find_list(line, &f->shape, words, list, cpu);
    unsigned j = find_remainder(line, shared, place, width, rest >> (64 - width));
    if (j < place.length) {
        if (j) promote(line, place.first + j, place.first, width, rest >> (64 - width), cpu);
        return true;
    }
    if (n >= shared->fair && ways[way].form != SHARED &&
        CALL(convert, cpu, (f, line, ways[way].form))) {
        offer_formed(f, line, way, value, cpu);
        f->state.books.forgotten++;
        return false;
    }
    enter_shared(f, line, words, n, place, rest, ways[way].front, cpu);
    return false;
}

HOT bool offer_short_here(recent_filter *f, uint8_t *line, unsigned n, unsigned way, uint64_t value,
                          cpu_kind cpu) {
    return offer_lists_here(f, line, 1, n, way, value, cpu);
}
HOT bool offer_long_here(recent_filter *f, uint8_t *line, unsigned n, unsigned way, uint64_t value,
                         cpu_kind cpu) {
    unsigned words = header_words(&f->shape, n + 1); /* it may grow */
    return offer_lists_here(f, line, words, n, way, value, cpu);
}

NOT_HERE(bool, offer_short,
         (recent_filter * f, uint8_t *line, unsigned n, unsigned way, uint64_t value),
         (f, line, n, way, value, cpu))
NOT_HERE(bool, offer_long,
         (recent_filter * f, uint8_t *line, unsigned n, unsigned way, uint64_t value),
         (f, line, n, way, value, cpu))

/* A key and its line, which goes such a way when it is full. `value` is what is left of the
 * hash once it has chosen the line. */
HOT bool offer_line(recent_filter *f, uint8_t *line, unsigned way, uint64_t value, cpu_kind cpu) {
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        unsigned form = form_of(&f->shape, code);
        bool its_own = ways[way].form == form;
        bool seen = offer_formed(f, line, its_own ? way : any_way_of[form], value, cpu);
        f->state.books.forgotten += !seen;
        if (!its_own & !seen) CALL(convert, cpu, (f, line, ways[way].form));
        return seen;
    }
    if (code > f->shape.shared.flat)
        return f->shape.shared.one_word ? CALL(offer_short, cpu, (f, line, code, way, value))
                                        : CALL(offer_long, cpu, (f, line, code, way, value));
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    return offer_flat(f, line, code, list, rest, cpu);
}

static void swap_books(recent_filter *f) {
    line_books books = f->state.books;
    f->state.books = f->state.twin_books;
    f->state.twin_books = books;
}

static inline uint8_t *twin_of(const recent_filter *f, uint64_t number, unsigned way) {
    return f->base.cells + (f->lines + number * TWINS + way) * LINE_BYTES;
}

/* Once known, the skew is that of the time when keys began to be forgotten: later the twin of
 * the keys that were hit is too full to tell. */
static bool skew_is_settled(const recent_filter *f) {
    const line_books *books = &f->state.twin_books; /* of the lines: the books are swapped */
    return books->forgotten >= f->lines && known_skew(f) > 0;
}

/* Whether keys that were hit are hit more often than others. A key that its line knows is
 * offered to one more twin, which so has all keys that were hit. If all are alike both sums
 * grow alike. */
HOT void count_again(recent_filter *f, uint64_t number, uint64_t value, cpu_kind cpu) {
    uint8_t *hit = twin_of(f, number, WAYS);
    unsigned before = line_entries(f, hit);
    unsigned all = line_entries(f, twin_of(f, number, SHARED_BEHIND));
    bool again = offer_line(f, hit, SHARED_BEHIND, value, cpu);
    if (4 * before > 3 * all || skew_is_settled(f)) return;
    f->state.hit_again += again ? all - before : 0;
    f->state.hit_first += again ? 0 : before;
}

/* The twins of a line get the same key; what they say is held against the winner's. */
HOT void offer_twins_here(recent_filter *f, uint64_t number, uint64_t value, cpu_kind cpu) {
    bool seen[WAYS], now;
    swap_books(f);
    for (unsigned way = 0; way < WAYS; way++)
        seen[way] = to_be_had(f, way) && offer_line(f, twin_of(f, number, way), way, value, cpu);
    if (seen[SHARED_BEHIND]) count_again(f, number, value, cpu);
    swap_books(f);
    now = seen[f->state.winner];
    for (unsigned way = 0; way < WAYS; way++) {
        f->state.won[way] += seen[way] & !now;
        f->state.lost[way] += !seen[way] & now;
    }
}

HOT void watch_here(recent_filter *f, uint64_t number, uint64_t hash, uint64_t value, bool seen,
                    cpu_kind cpu) {
    if (f->tried) offer_twins_here(f, number, value, cpu);
    count_watched(f, hash, seen);
}

NOT_HERE(void, watch,
         (recent_filter * f, uint64_t number, uint64_t hash, uint64_t value, bool seen),
         (f, number, hash, value, seen, cpu))

HOT bool offer_one(recent_filter *f, uint8_t *cells, uint64_t number, uint64_t hash, uint64_t value,
                   cpu_kind cpu) {
    bool seen = offer_line(f, cells + number * LINE_BYTES, (unsigned)f->state.winner, value, cpu);
    count_distinct(&f->state.keys, hash, !seen);
    if (number < f->watched) CALL(watch, cpu, (f, number, hash, value, seen));
    return seen;
}

HOT void ask_for(const uint8_t *cells, uint64_t lines, uint64_t hash) {
    __builtin_prefetch(cells + weir__scale(hash, lines) * LINE_BYTES, 1);
}

/* Cells are bytes, which may be anything to the compiler: what does not change while
 * they do is kept in variables of its own. */
HOT size_t offer_all(weir_filter *base, const weir_batch *batch, uint64_t *verdicts, cpu_kind cpu) {
    recent_filter *f = (recent_filter *)base;
    const uint64_t *hashes = batch->hashes, lines = f->lines;
    uint8_t *cells = base->cells;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < AHEAD && i < count; i++) ask_for(cells, lines, hashes[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(cells, lines, hashes[i + AHEAD]);
        uint64_t value, number = weir__part(hashes[i], lines, &value);
        bool hit = offer_one(f, cells, number, hashes[i], value, cpu);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

/* The same three times: for any processor, and for two that do it faster. */
static size_t offer_plain(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_ANY);
}
#if defined(__x86_64__)
FOR_AVX2 static size_t offer_avx2(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_AVX2);
}
FOR_AVX512
static size_t offer_avx512(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_AVX512);
}
#endif

static size_t offer_windowed(recent_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    bool is_time = f->base.values[OPT_WINDOW].is_time;
    int64_t now = is_time && !batch->times ? weir__clock_now() : 0;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(f->base.cells, f->lines, batch->hashes[i + AHEAD]);
        int64_t at = is_time ? weir__batch_time(batch, i, now) : (int64_t)++f->state.window.records;
        bool hit =
            weir__window_offer(f->base.cells, &f->window, &f->state.window, batch->hashes[i], at);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

static size_t offer(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    recent_filter *f = (recent_filter *)base;
    if (f->base.windowed) return offer_windowed(f, batch, verdicts);
#if defined(__x86_64__)
    cpu_kind cpu = weir__cpu();
    if (cpu == CPU_AVX512) return offer_avx512(base, batch, verdicts);
    if (cpu == CPU_AVX2) return offer_avx2(base, batch, verdicts);
#endif
    return offer_plain(base, batch, verdicts);
}

static bool test_one(const recent_filter *f, uint64_t hash) {
    uint64_t value, rest, number = weir__part(hash, f->lines, &value);
    const uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_spread) return test_spread(&f->shape, line, value);
    if (code == f->shape.code_marked)
        return find_marked(&f->shape, line, value) < f->shape.marked.entries;
    if (code >= f->shape.code_ordered) {
        const ordered_form *form = ordered_of(f, form_of(&f->shape, code));
        unsigned group = (unsigned)weir__part(value, form->groups, &rest);
        return test_group(form, line, group, rest >> (64 - form->bits));
    }
    const shared_form *shared = &f->shape.shared;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest);
    unsigned width = shared->width[code];
    if (code <= shared->flat) return find_tag(line, code, tag_of(shared, list, rest), CPU_ANY);
    list_place place = find_list(line, &f->shape, header_words(&f->shape, code), list, CPU_ANY);
    return find_remainder(line, shared, place, width, rest >> (64 - width)) < place.length;
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const recent_filter *f = (const recent_filter *)base;
    bool is_time = base->values[OPT_WINDOW].is_time;
    int64_t now = f->base.windowed && is_time && !batch->times ? weir__clock_now() : 0;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(f->base.cells, f->lines, batch->hashes[i + AHEAD]);
        int64_t at =
            is_time ? weir__batch_time(batch, i, now) : (int64_t)f->state.window.records + 1;
        bool hit = f->base.windowed ? weir__window_test(base->cells, &f->window, &f->state.window,
                                                        batch->hashes[i], at)
                                    : test_one(f, batch->hashes[i]);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

/* ---- merging ---- */

/* Both lines' entries, those in both once. A line that holds them all has a width
 * no larger than either, so nothing is lost. */
static void unite(const recent_filter *f, const uint8_t *a, const uint8_t *b, line_content *both) {
    line_content other;
    unsigned n = read_code(a, &f->shape), m = read_code(b, &f->shape);
    unsigned width = f->shape.shared.width[n > m ? n : m], lists = f->shape.shared.lists;
    read_shared(f, a, both);
    read_shared(f, b, &other);
    for (unsigned i = 0; i < other.count; i++) {
        uint64_t rest, its_rest;
        uint64_t list = weir__part(other.value[i], lists, &rest);
        bool known = false;
        for (unsigned j = 0; j < n && !known; j++)
            known = weir__part(both->value[j], lists, &its_rest) == list &&
                    (rest ^ its_rest) >> (64 - width) == 0;
        if (!known && both->count <= ENTRIES_MAX) both->value[both->count++] = other.value[i];
    }
}

/* After a merge the twins are what their lines are. */
static void match_twins(recent_filter *f) {
    f->state.twin_books = new_books(f, f->tried * TWINS);
    for (uint64_t i = 0; i < f->tried; i++)
        for (unsigned way = 0; way < TWINS; way++) {
            memcpy(twin_of(f, i, way), f->base.cells + i * LINE_BYTES, LINE_BYTES);
            unsigned n = read_code(twin_of(f, i, way), &f->shape);
            f->state.twin_books.spent += f->shape.shared.cost[n];
            f->state.twin_books.held += n;
        }
}

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    recent_filter *f = (recent_filter *)into;
    const recent_filter *g = (const recent_filter *)from;
    line_content both;
    if (f->base.windowed)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters with a window: their clocks differ");
    bool fits = !f->state.books.forgotten && !g->state.books.forgotten &&
                f->state.books.in_form[SHARED] == f->lines &&
                g->state.books.in_form[SHARED] == f->lines;
    for (uint64_t i = 0; i < f->lines && fits; i++) {
        unite(f, into->cells + i * LINE_BYTES, from->cells + i * LINE_BYTES, &both);
        fits = both.count <= f->shape.shared.fair;
    }
    if (!fits)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters that do not hold all their keys; give "
                          "them more memory");
    for (uint64_t i = 0; i < f->lines; i++) {
        uint8_t *line = into->cells + i * LINE_BYTES;
        unsigned old = read_code(line, &f->shape);
        unite(f, line, from->cells + i * LINE_BYTES, &both);
        if (both.count == old || !pay(f, line_cost(f, old), f->shape.shared.cost[both.count]))
            continue; /* paying cannot fail up to `fair` */
        write_shared(f, line, &both);
        f->state.books.held += both.count - old;
    }
    match_twins(f);
    return WEIR_OK;
}

/* ---- looking inside ---- */

/* Entries that the lines have room for, in the forms that they are in. */
static double places(const recent_filter *f) {
    const unsigned in_line[FORMS] = {f->shape.shared.fair, ordered_of(f, ORDERED)->entries,
                                     ordered_of(f, PACKED)->entries, f->shape.marked.entries,
                                     f->shape.spread.most};
    double sum = 0;
    for (unsigned form = 0; form < FORMS; form++)
        sum += (double)f->state.books.in_form[form] * in_line[form];
    return sum;
}

static void info(const weir_filter *base, weir_filter_info *info) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        const window_plan *plan = &f->window;
        info->fill = (double)f->state.window.held / ((double)f->lines * plan->groups * plan->slots);
        info->fpr_now = weir__window_fpr(plan, &f->state.window);
        info->overfull = f->state.window.forgotten > 0;
        return;
    }
    double fill = (double)f->state.books.held / places(f);
    info->fill = fill < 1 ? fill : 1;
    info->fpr_now =
        (double)f->state.books.spent / ((double)f->lines * (double)COST_ONE) * info->fpr_bound;
    info->overfull = f->state.books.forgotten > 0;
}

static void window_details(const recent_filter *f, weir_detail_fn *each, void *context) {
    const window_plan *plan = &f->window;
    weir__detail(each, context, "lines", "lines of 64 bytes", "%llu", (unsigned long long)f->lines);
    weir__detail(each, context, "slots", "entries that a line can hold", "%u",
                 plan->groups * plan->slots);
    weir__detail(each, context, "held", "entries in all, some of them past their time", "%llu",
                 (unsigned long long)f->state.window.held);
    weir__detail(each, context, "forgotten", "entries that had to go before their time", "%llu",
                 (unsigned long long)f->state.window.forgotten);
    weir__detail(each, context, "tick", "the grain of ages, in records or nanoseconds", "%llu",
                 (unsigned long long)plan->tick);
    weir__detail(each, context, "ticks", "an entry is good for so many", "%u", plan->ticks);
}

static void details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        window_details(f, each, context);
        return;
    }
    weir__detail(each, context, "lines", "lines of 64 bytes", "%llu", (unsigned long long)f->lines);
    weir__detail(each, context, "held", "keys remembered", "%llu",
                 (unsigned long long)f->state.books.held);
    weir__detail(each, context, "room", "keys that can be remembered", "%.0f", places(f));
    weir__detail(each, context, "forgotten", "keys that had to go", "%llu",
                 (unsigned long long)f->state.books.forgotten);
    weir__detail(each, context, "crowding",
                 "distinct keys so far for each place of the shared form", "%.2f", crowding(f));
    weir__detail(each, context, "hits_per_key", "for each key that was hit, in watched lines",
                 "%.2f", f->state.hits ? (double)f->state.hits / distinct(&f->state.keys_hit) : 0);
    weir__detail(each, context, "skew",
                 "how much likelier a key that was hit comes again; 0: unknown", "%.2f",
                 known_skew(f));
    weir__detail(each, context, "way", "the way that full lines go", "%s",
                 ways[f->state.winner].name);
    weir__detail(each, context, "way_by", "what chose it", "%s",
                 f->state.decided ? "contest" : "stream");
    for (unsigned i = 0; i < FORMS; i++) {
        char name[32], meaning[80];
        snprintf(name, sizeof name, "%s_lines", form_names[i]);
        snprintf(meaning, sizeof meaning, "share of the lines in the %s form", form_names[i]);
        weir__detail(each, context, name, meaning, "%.4f",
                     (double)f->state.books.in_form[i] / (double)f->lines);
    }
    unsigned best = leading_way(f);
    weir__detail(each, context, "ahead", "another way, by standard deviations", "%s %.1f",
                 best == f->state.winner ? "none" : ways[best].name, lead_of(f, best));
}

/* ---- checking what was loaded ---- */

static const char disagreement[] = "the lines do not agree with the counts";

/* The header of lists must close its last one exactly where n says. */
static bool header_is_sound(const recent_filter *f, const uint8_t *line, unsigned n) {
    unsigned zeros = 0, end = f->shape.code_bits + f->shape.shared.lists + n;
    for (unsigned bit = f->shape.code_bits; bit < end; bit++) zeros += !get_bits(line, bit, 1);
    return zeros == f->shape.shared.lists && !get_bits(line, end - 1, 1);
}

static bool spread_is_sound(const recent_filter *f, const uint8_t *line) {
    const spread_form *form = &f->shape.spread;
    unsigned singles = count_singles(line, &f->shape), extras = count_extras(line, &f->shape);
    return singles + extras <= form->most && extras <= form->most_extras &&
           extra_at(form, extras) + singles * form->width <= LINE_BITS;
}

static bool line_is_sound(const recent_filter *f, const uint8_t *line) {
    const shared_form *shared = &f->shape.shared;
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    if (form == MARKED)
        return f->shape.marked.entries && header_is_sound(f, line, f->shape.marked.entries);
    if (form == SPREAD) return f->shape.spread.most && spread_is_sound(f, line);
    if (form != SHARED) return ordered_of(f, form)->groups;
    return code <= shared->most && (code <= shared->flat || header_is_sound(f, line, code));
}

static weir_status check_window(const recent_filter *f, weir_error *err) {
    uint64_t held = weir__window_held(f->base.cells, &f->window);
    const window_state *state = &f->state.window;
    if (held == state->held && state->sweep < f->lines && state->swept <= f->window.quota)
        return WEIR_OK;
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

/* A number of lines against their books. */
static weir_status check_lines(const recent_filter *f, uint64_t first, uint64_t count,
                               const line_books *books, weir_error *err) {
    line_books found = {.forgotten = books->forgotten};
    uint64_t beyond = 0;
    for (uint64_t i = first; i < first + count; i++) {
        const uint8_t *line = f->base.cells + i * LINE_BYTES;
        if (!line_is_sound(f, line))
            return weir__fail(err, WEIR_ERR_CORRUPT, (int64_t)(i * LINE_BYTES),
                              "line %llu of the filter is not in any form", (unsigned long long)i);
        uint64_t cost = line_cost(f, read_code(line, &f->shape));
        found.spent += cost, found.held += line_entries(f, line);
        found.in_form[form_of(&f->shape, read_code(line, &f->shape))]++;
        beyond += cost > f->fair ? cost - f->fair : 0;
    }
    found.pool = count * (COST_ONE - f->fair) - beyond;
    return memcmp(&found, books, sizeof found) == 0
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

static weir_status check(const weir_filter *base, weir_error *err) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) return check_window(f, err);
    weir_status status = check_lines(f, 0, f->lines, &f->state.books, err);
    if (status == WEIR_OK)
        status = check_lines(f, f->lines, f->tried * TWINS, &f->state.twin_books, err);
    if (status != WEIR_OK) return status;
    bool sound = f->state.winner < WAYS && to_be_had(f, (unsigned)f->state.winner) &&
                 f->state.keys.count <= SMALLEST && f->state.keys_hit.count <= SMALLEST;
    return sound ? WEIR_OK : weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

static double fnr_of_ordered(const recent_filter *f, const ordered_form *form,
                             const weir_stream_model *model) {
    double eps = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    weir__recent_way way = {(double)f->lines * form->groups, form->slots,
                            (double)form->wide / form->groups};
    return weir__recent_lru_fnr(&way, eps, model);
}

/* The best of the ways that compete; recent_theory.c has the formulas. */
static void expect(const weir_filter *base, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const recent_filter *f = (const recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR), lines = (double)f->lines;
    const shared_form *shared = &f->shape.shared;
    bool exact = model->distinct <= lines * shared->flat / 2;
    expectation->fpr = exact && !f->base.windowed ? 0 : eps;
    if (f->base.windowed) {
        weir__recent_way way = {lines * f->window.groups, f->window.slots, 1};
        expectation->fnr = weir__recent_lru_fnr(&way, eps, model);
        return;
    }
    weir__recent_way line = {lines, shared->fair, 1};
    double fnr = fmin(weir__recent_lru_fnr(&line, eps, model),
                      weir__recent_random_fnr(lines * shared->fair, eps, model));
    for (unsigned way = ORDERED_FRONT; way <= PACKED_ANY; way++) {
        const ordered_form *form = &f->ordered[way - ORDERED_MIDDLE];
        if (form->groups) fnr = fmin(fnr, fnr_of_ordered(f, form, model));
    }
    expectation->fnr = fnr;
}

static const weir_option options[] = {
    {"window", WEIR_OPT_SPAN, 1, 0x1p62, NULL, NULL,
     "forget keys older than this: a duration (10m) or a number of records (1M)"},
    {"renew", WEIR_OPT_CHOICE, 0, 0, "no|yes", "no",
     "whether a repeat makes its key young again; with window"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__recent_class = {
    .kind = {"recent", "exact while the keys fit, then remembers the most useful ones",
             "The filter to use unless you know better: exact as long as the distinct keys fit "
             "the memory, the false positive rate bounded at every instant, and of all filters "
             "the fewest duplicates let through when the keys no longer fit. With a window it "
             "forgets by age instead. Filters without a window can be merged while they hold all "
             "their keys.",
             .mergeable = true, .options = options},
    .size = sizeof(recent_filter),
    .state_offset = offsetof(recent_filter, state),
    .state_words = sizeof(((recent_filter *)0)->state) / sizeof(uint64_t),
    .create = create,
    .start = start,
    .offer = offer,
    .test = test,
    .info = info,
    .details = details,
    .merge = merge,
    .check = check,
    .expect = expect,
};
