/* recent.c - the default filter: keys in recency order, as many as the rate allows.
 *
 * Question   has this key come by, as far back as the memory can tell?
 * Idea       the hash chooses one line of 512 bits, and the line alone decides. It
 *            keeps what is left of the hash, whole while there is room (so the
 *            answers are exact), then shorter and shorter as keys come in, and
 *            only when the false positive rate allows no shorter does a key have
 *            to go for each one that comes. How a full line keeps its keys in order
 *            and which one goes is read off the stream, and settled by a contest.
 * Parameters L lines, e the bound on false positives. For each e the shape of a
 *            line is planned by search; see the table below.
 * Error      false positives: at most e for the next new key, at any instant.
 *            False negatives: none while keys fit; then as few as we know how.
 * Cost       one line per key; a batch asks for its lines ahead.
 * Layout     recent_line.h, recent_clock.h, recent_spread.h and recent_span.h have the forms of
 *            a line, bit by bit; with `window` the lines are those of recent_window.c.
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
 * 1 + Q/n + log2(n/Q) on top, two bits at n = Q. A clocked line pays half a bit more, a spread one
 * about one less, and an ordered group of s slots log2(s). A span pays nothing once it is full.
 * Keys in a line, beside the oracle's 512 / (log2(1/e) + 2) and the limit's 512 / log2(1/e):
 *
 *     e        flat  then cut at  full clocked spread ordered   packed    span    oracle limit
 *     10%      8 15  18 31 75       94      82    102 101 in 32 126 in 79           96.2 154.1
 *     1%       8 15  20 33 50       57      52     66 56 in 13  72 in 57  67 in 7   59.2  77.1
 *     0.1%     8 15  23 38          42      39     45 42 in 11  50 in 49  48 in 4   42.8  51.4
 *     0.0001%  8 15  21             23      22     24 23 in 6   25 in 24  25        23.3  25.7
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
 * A clocked line knows which keys were hit, and its hand goes round and takes the others in
 * turn; it may keep marks until all keys have one, or wipe those that it passes, or give new
 * keys one too. A spread line has the most keys of all forms that nothing is lost to. Marks are
 * made long before lines are full: from WORDS_MOST keys on to the last cut there are bits for
 * them, so a line that turns into a clocked one knows what was hit before.
 *
 * What to begin with is read off the stream, in some lines that are watched. Their marks tell
 * how much likelier a key that was hit is to come again than another, the skew. If it is about
 * 1, keys are alike, and lines are spread, or packed if there are very many; if it is more, they
 * are clocked, the sooner the more it is and the smaller a part of a key a mark is. Where it is
 * not so much, and flat lines tell that the keys that came first go on being hit, lines are spread
 * and what is there holds its place, which is as good as an LRU of as many places and costs
 * nothing: recent_spread.h says why. Where they tell that what came last is hit, lines are clocked
 * and the hand wipes marks, and once there are far too many keys new ones have marks too. Where
 * repeats are rare, or a key that was hit is done, keys go in the order in which they came: new
 * ones enter at the front of their lists, and then with a mark that the hand wipes as it passes, so
 * that all of them live from one visit to the next but one. If repeats are very rare the younger
 * half of a line has marks as soon as it is full, so that the hand begins with the older one, and
 * a key that was hit stands twice, for one visit more.
 * Groups do that worse, but several times faster, so they do it in large filters. A change of form
 * costs what a line has learned, so the first choice matters.
 *
 * Lines in spans hold most of all without loss, but what they hold they hold for good. A line can
 * turn into one only while it knows more of its keys than it will in the end, about half full, and
 * does so if the stream is known by then, and known to go on as it is: of a flat line the last four
 * keys are hit no more often than the first four. (If each key has a rate of its own, the last k
 * different ones and the first k have it with the same probability.) In a stream of skewed keys it
 * is better in the end to choose among them, if there will be many more than places; hits tell.
 *
 * Whether marks are kept or swept is told by rivals: some clocked lines have one that does the
 * other thing, gets the same keys and gives no verdicts. Where what two of them say differs one
 * knew better, and if both are equally good either is as likely to: the lead of one is the
 * difference in units of the square root of their number. To sweep is better where keys are in
 * fashion for a while, to keep where they always come as often. Likewise lines that hold what they
 * have are told by rivals that do not when that is no longer worth anything; spans are given up
 * only when as many hits were lost by them as keys are lost by that.
 *
 * From CONTEST_FROM keys for each place on all ways of full lines compete likewise: some lines
 * have twins, one for each way. Below that, forms with many places are always ahead, which says
 * nothing of what comes. When the lead is SURE, lines follow, each when it next misses. Streams
 * change: older verdicts count half, and half again. Small filters have no twins.
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
 * still known with probability Pr[Bin(d, 1/(G L)) < s - enter]. In a clocked line of n keys all
 * of which came with a mark the hand goes round once in 2n/3 new keys, and finds a key at its
 * second visit: it lives between 2n/3 and 4n/3 keys of its line, so its relative spread is
 * 1 / sqrt(27), where a group of 27 slots would be needed for as little.
 *
 * Measured rather than derived: KEEP_FIRSTS, the middle as the place to enter, AHEAD,
 * AT_ONCE, and all that is said of streams and of the contest below.
 */
#include "filter/recent_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "filter/filter.h"
#include "filter/recent_clock.h"
#include "filter/recent_span.h"
#include "filter/recent_spread.h"
#include "filter/recent_theory.h"
#include "filter/recent_window.h"

enum { OPT_WINDOW = WEIR__OPT_OWN, OPT_RENEW };
enum { SHARED, ORDERED, PACKED, CLOCKED, SPREAD, SPAN, FORMS }; /* what a line can look like */
static const char *const form_names[FORMS] = {"shared",  "ordered", "packed",
                                              "clocked", "spread",  "span"};

/* The ways that compete: a form, and where a new key enters in it. That of clocked lines comes
 * in two kinds, of which they settle between themselves. */
enum {
    SHARED_BEHIND,
    SHARED_FRONT,
    SPAN_HOLD,
    ORDERED_MIDDLE,
    ORDERED_FRONT,
    PACKED_ANY,
    CLOCKED_KEEP,
    CLOCKED_FRONT,
    SPREAD_ANY,
    SPREAD_HOLD,
    WAYS,
    CLOCKED_SWEEP = WAYS,
    NO_WAY,
    FIRST_TRIED = ORDERED_MIDDLE, /* those before it are for lines that are not yet full, */
    TRIED = WAYS - FIRST_TRIED    /* and have no twins */
};
static const struct {
    uint8_t form;
    bool front; /* a new key enters there, or with a mark */
    bool sweep; /* the hand wipes marks */
    bool hold;  /* keys hold their places */
    const char *name;
} ways[WAYS + 1] = {
    [SHARED_BEHIND] = {SHARED, false, false, false, "shared_behind"},
    [SHARED_FRONT] = {SHARED, true, false, false, "shared_front"},
    [SPAN_HOLD] = {SPAN, false, false, true, "span_hold"},
    [ORDERED_MIDDLE] = {ORDERED, false, false, false, "ordered_middle"},
    [ORDERED_FRONT] = {ORDERED, true, false, false, "ordered_front"},
    [PACKED_ANY] = {PACKED, true, false, false, "packed"},
    [CLOCKED_KEEP] = {CLOCKED, false, false, false, "clocked_keep"},
    [CLOCKED_FRONT] = {CLOCKED, true, true, false, "clocked_front"},
    [SPREAD_ANY] = {SPREAD, false, false, false, "spread"},
    [SPREAD_HOLD] = {SPREAD, false, false, true, "spread_hold"},
    [CLOCKED_SWEEP] = {CLOCKED, false, true, false, "clocked_sweep"},
};

#define LAYOUT 6u                    /* of lines; one more when they come to mean something else */
#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */
#define AHEAD 32u                    /* lines asked for ahead of the one at work, */
#define AT_ONCE 16u                  /* so many at a time */
#define KEEP_FIRSTS 44u              /* see "who goes" */
#define MANY_LINES 262144u           /* so many that speed counts more than a little memory */
#define TRIED_ONE_IN 512u            /* lines has twins, */
#define TRIED_FEW 4u                 /* no more than so many, */
#define RIVAL_ONE_IN 256u            /* and one in so many a rival, */
#define RIVALS_FEW 16u               /* no more than so many, */
#define MANY_FOR_ONE 4096u           /* unless one in so many lines, */
#define TWINS_MOST 64u               /* which are no more than this, are more */
#define WATCHED 256u                 /* lines that tell what the stream is like */
#define NOTED 32u                    /* of which a line of notes has some, */
#define NOTES_MOST 8u                /* and no more such lines than these */
#define JUDGE_EVERY 16u              /* verdicts in them */
#define WAITING_KEYS 8u              /* that came last, where lines may be full for good */
#define SMALLEST 64u                 /* hashes kept for counting distinct keys */
/* Keys for each place, for which spread lines are planned, and what their keys are worth. */
#define CROWDED 2.0
#define FITTING 1.15
#define FITTING_WORTH 0.5 /* beside those when it is crowded */
#define SPREAD_WORTH 0.3  /* beside those of other forms */
#define SPAN_LOAD 1.3     /* those for which spans are planned, */
#define SPAN_MORE 1.01    /* and how many more they must hold than other forms */

/* What a stream is like: see "what to begin with". */
#define RARE 8u              /* fewer than one hit in so many verdicts */
#define VERY_RARE 32u        /* so few that keys had better go in the order in which they came */
#define ONCE_MORE 2.5        /* hits for each key that is hit */
#define SPENT 0.5            /* skew of a stream in which a key that was hit is done, */
#define SKEWED 1.5           /* of one whose keys are no longer alike, */
#define SKEWED_MUCH 4        /* and of one in which that counts most */
#define ENOUGH 25u           /* hits from which on the skew is believed, about */
#define ENOUGH_FOR_SPANS 12u /* and for lines that have to turn into spans while there is time */
#define AGED 4u              /* keys of a flat line from which on it tells how old they are, */
#define AGE_ONE 65536        /* in such units, */
#define AGED_ENOUGH 64u      /* and hits from which on that is believed */
#define LASTING (-0.08)      /* freshness of a stream whose first keys go on being hit, */
#define LASTING_SURE 4       /* standard deviations from which on that is believed, */
#define LATEST 4u            /* keys of a flat line that are known to be the latest */
#define STAY_ENOUGH 50u  /* hits on the latest or the earliest keys that tell whether keys stay, */
#define STAY_LEAD 3      /* and the lead of the latest from which on they do not */
#define HOLD_LINES 2048u /* lines that are enough to see it when they cease to be, */
#define HOLD_BITS 80     /* and bits of a key times the skew up to which they hold their places */
#define FRESH 0.08       /* freshness of a stream whose latest keys are hit, */
#define FRESH_SURE 2     /* standard deviations from which on that is believed, */
#define FRESH_LEAST 0.9  /* and the skew that it takes, */
#define FRESH_SKEW 3     /* and from which on it counts less than the skew */
#define WIDE 5u          /* bits of a key in a marked line, for marks to be worth one */
#define SPAN_SOON 0.5    /* keys of a line for each that a span begins with, from which on, */
#define SPAN_LATE 0.8    /* and up to which a skewed stream's lines may still turn into spans, */
#define SPAN_HITS 0.1    /* if so many verdicts are hits where keys are alike, */
#define SPAN_HITS_LEAST 0.04   /* and where they are not, this, and for the square of the */
#define SPAN_HITS_SKEWED 0.019 /* logarithm of the skew so many more */
#define SPREAD_MORE 1.05 /* places for each of the shared form, for spread lines to be better */
/* Keys for each place from which on */
#define FRONT_FROM 1.3    /* rare repeats are best known by groups, where there is no hand, */
#define FRESH_SOON 0.8    /* fresh keys are worth marks that the hand wipes, */
#define FEW_WIDE_FROM 1.9 /* remainders of few bits are worth spreading, */
#define CONTEST_FROM 2.5  /* the contest decides, */
#define FRESH_FRONT 2.5   /* and have them from the start, */
#define MARKED_BLIND 2.3  /* a stream is worth marks if it may be skewed, */
#define MARKED_SOON 0.5   /* if it is, at least this, and */
#define MARKED_FROM 800   /* this over the bits of a key and the third power of the skew, */
#define ORDERED_SOON 1    /* a much skewed one is worth ordered groups where there are no marks, */
#define ORDERED_FROM 4.5  /* or another, */
#define PACKED_FROM 6     /* and groups of one are full. */
/* The contest. */
#define SURE 4        /* standard deviations, as the lead is looked at often */
#define LIKELY 2      /* of them where nothing is lost by a change, */
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
    uint64_t rivals;  /* the first so many have a rival, behind the last twin */
    uint64_t watched; /* the first so many, no fewer, tell what the stream is like */
    uint64_t telling; /* and the first so many by their marks at all times */
    uint64_t notes;   /* lines behind the last rival; see count_latest() */
    line_shape shape;
    ordered_form ordered[PACKED_ANY - ORDERED_MIDDLE + 1]; /* no groups: not to be had */
    window_plan window;
    struct {
        uint64_t layout; /* LAYOUT, or lines mean something else */
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
        uint64_t hit_age, hits_aged; /* see freshness() */
        uint64_t sweep;    /* 1: the hand wipes the marks that it passes; 0: they are kept */
        uint64_t fleeting; /* 1: keys that held their places were not worth it */
        uint64_t late;     /* the way of lines that had too many keys to turn into spans */
        uint64_t waiting[WAITING_KEYS];    /* hashes of keys that came last; see wait_again() */
        uint64_t rival_won, rival_lost;    /* verdicts in which a rival knew better, or worse, */
        uint64_t latest_hit, earliest_hit; /* hits on one of those, and on those that came first */
        distinct_counter keys, keys_hit;   /* all of them; those that were hit in watched lines */
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
    return code < shape->code_ordered ? SHARED : code - shape->code_ordered + ORDERED;
}
static inline unsigned code_of(const line_shape *shape, unsigned form) {
    return shape->code_ordered + form - ORDERED;
}

/* A hand forgets in order better than groups do, but these do it several times faster. */
static inline bool to_be_had(const recent_filter *f, unsigned way) {
    unsigned form = ways[way].form;
    if (way == CLOCKED_FRONT && f->lines >= MANY_LINES && f->ordered[0].groups) return false;
    return form == SHARED    ? true
           : form == SPREAD  ? f->shape.spread.most
           : form == CLOCKED ? f->shape.clock.entries
           : form == SPAN    ? f->shape.span.blocks && f->shape.spread.most && f->rivals
                             : ordered_of(f, form)->groups;
}

/* What a line costs in any form but the shared one; one in spans, if they are full. */
static inline uint64_t form_cost(const recent_filter *f, unsigned form) {
    return form == SPAN      ? f->shape.span.cost
           : form == SPREAD  ? f->shape.spread.cost
           : form == CLOCKED ? f->shape.clock.cost
                             : ordered_of(f, form)->cost;
}

/* ---- planning ---- */

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
    unsigned space = LINE_BITS - shape->code_bits - lists, top = shape->code_ordered - 1;
    unsigned narrowest = WIDTH_MAX, width = WIDTH_FIRST, n = 0;
    while (narrowest > 1 && shared_match(space / (narrowest + 1), lists, narrowest) <= eps)
        narrowest--;
    const unsigned marked = narrowest + 2;
    form->lists = lists;
    for (form->list_bits = 1; lists > 1u << form->list_bits;) form->list_bits++;
    /* Half words are worth having while they match by chance next to never. */
    double halves = shared_match(HALVES_MOST, lists, 32 - form->list_bits);
    bool room_after = space / (narrowest + 2) > HALVES_MOST;
    form->flat = halves < 0.1 * eps && room_after ? HALVES_MOST : WORDS_MOST;
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
        form->place[g] = (group_place){byte & 63u, (at - 8 * byte) & 63u, narrow};
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

/* A form that a full shared line turns into without loss; see recent_spread.h. */
static spread_form fill_spread(const line_shape *shape, unsigned finer, unsigned count_bits,
                               double eps) {
    const shared_form *shared = &shape->shared;
    unsigned lists = shared->lists << finer, bits = fair_bits(shared) - finer;
    spread_form form = {.lists = lists, .finer = finer, .width = bits, .count_bits = count_bits};
    form.code = code_of(shape, SPREAD);
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
    double extras = fmin(room / form->extra_width, most_extras(form));
    return fmin(fmin(keys, form->most), singles + extras);
}

/* What it is worth: keys where they are many, and some where they are not. */
static double spread_worth(const shared_form *shared, const spread_form *form) {
    return spread_keys(form, CROWDED * shared->fair) +
           FITTING_WORTH * spread_keys(form, FITTING * shared->fair);
}

static void plan_spread(line_shape *shape, double eps) {
    spread_form best = {0};
    double most = 0;
    for (unsigned finer = 0; finer < 4 && finer < fair_bits(&shape->shared); finer++)
        for (unsigned count_bits = 3; count_bits < 6; count_bits++) {
            spread_form form = fill_spread(shape, finer, count_bits, eps);
            double worth = spread_worth(&shape->shared, &form);
            if (worth > most) most = worth, best = form;
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
                     form->most <= 16 * CLOCK_LANES;
    for (unsigned i = 0; i < 16 * CLOCK_LANES; i++) {
        unsigned at = place_in_body(i, form->width);
        form->lane_shift[i / 16][i % 16] = at % 8;
        for (unsigned j = 0; j < 4; j++)
            form->lane_bytes[i / 16][4 * (i % 16) + j] = (uint8_t)((at / 8 + j) % LINE_BYTES);
    }
    for (unsigned i = 0; i < LINE_BYTES; i++) form->byte_numbers[i] = (uint8_t)i;
    for (unsigned i = 0; i < 16; i++) form->lane_numbers[i] = i;
}

/* The keys of a full shared line, with marks, in as many as the gaps leave room for; see
 * recent_clock.h. */
static void plan_clock(line_shape *shape, double eps) {
    const shared_form *shared = &shape->shared;
    unsigned bits = fair_bits(shared);
    double values = shared->lists * ldexp(1, (int)bits), best = 0;
    clock_form form = {.key_bits = bits, .code = code_of(shape, CLOCKED)}, *clock = &shape->clock;
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
    clock->young = clock->entries / 2;
    clock->cost = cost_of(clock->most / values, eps);
    fill_clock_lanes(clock, values);
}

/* What a line costs, if no more is known of its keys than a shared line of `from` keys does. */
static void price_span(span_form *form, const shared_form *shared, unsigned from, double eps) {
    form->from = from;
    form->known_bits = shared->width[from] - mark_of(shared, from);
    form->known_cost =
        cost_of(shared_match(form->seats * 5 / 4, shared->lists, form->known_bits), eps);
    form->cost = form->known_cost;
    for (unsigned k = 0; k < 2; k++) {
        span_kind *kind = &form->kind[k];
        double share = (double)kind->fair / form->seats;
        kind->cost = cost_of(share * ldexp(1, (int)kind->fair - (int)kind->width), eps);
        form->cost += kind->cost * (k ? form->blocks - form->wide : form->wide);
    }
}

/* The last cut of a shared line before which it knows so much of its keys that a span may be made
 * of them. */
static bool find_span_start(span_form *form, const shared_form *shared, double eps) {
    for (unsigned n = shared->fair; n-- > shared->flat;)
        if (n == shared->flat || shared->width[n] != shared->width[n + 1]) {
            price_span(form, shared, n, eps);
            if (form->cost <= COST_ONE && n < form->seats) return true;
        }
    return false;
}

static void plan_span(line_shape *shape, double eps) {
    const shared_form *shared = &shape->shared;
    unsigned rate_bits = (unsigned)ceil(log2(1 / eps) - 1e-9);
    double keys = SPAN_LOAD * shared->fair, most = 0;
    span_form form, best = {0};
    if (shape->code_bits > 7 || shared->flat != HALVES_MOST) return;
    for (unsigned blocks = 1; blocks <= SPAN_BLOCKS; blocks++)
        for (unsigned width = rate_bits + 4; width <= SPAN_WIDTH; width++)
            for (unsigned wide = 1; wide <= blocks; wide++)
                if (fill_span(&form, shape, wide, blocks, width, rate_bits) &&
                    span_keys(&form, keys) > most)
                    most = span_keys(&form, keys), best = form;
    if (most > SPAN_MORE * fmax(keys_held(shared->fair, keys), spread_keys(&shape->spread, keys)) &&
        find_span_start(&best, shared, eps))
        shape->span = best;
}

/* All forms that follow from the number of lists, and what they are worth. */
static double fill_shape(line_shape *shape, unsigned lists, double eps) {
    fill_shared(&shape->shared, shape, lists, eps);
    plan_spread(shape, eps);
    return shape->shared.fair +
           SPREAD_WORTH * spread_keys(&shape->spread, CROWDED * shape->shared.fair);
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
                if (fair_bits(&shape.shared) + j < bits || score <= best) continue;
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
            uint64_t values = (uint64_t)shared->lists << fair_bits(shared);
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

/* Lines that give no verdicts. */
static uint64_t twins(const recent_filter *f) { return f->tried * TRIED + f->rivals; }

/* One line in so many, but no more than `few`, unless there are very many. */
static uint64_t share_of(uint64_t lines, uint64_t one_in, uint64_t few) {
    uint64_t share = lines / one_in < few ? lines / one_in : few, of_many = lines / MANY_FOR_ONE;
    return share > of_many ? share : of_many < TWINS_MOST ? of_many : TWINS_MOST;
}

/* Lines with twins, or rivals: more tell more, and are lost to the keys. */
static void plan_twins(recent_filter *f) {
    f->tried = share_of(f->lines, TRIED_ONE_IN, TRIED_FEW);
    f->rivals = share_of(f->lines, RIVAL_ONE_IN, RIVALS_FEW);
    if (!f->rivals && f->lines >= RIVAL_ONE_IN * 3 / 4) f->rivals = 1;
    f->notes = f->rivals < NOTES_MOST ? f->rivals : NOTES_MOST;
    f->lines -= twins(f) + f->notes;
}

/* Codes for as many entries as a shared line can have, and for the other forms. */
static void plan_codes(line_shape *shape, double eps) {
    unsigned entries = (unsigned)(LINE_BITS / (log2(1 / eps) + 2)), others = SPAN - ORDERED;
    shape->code_bits = 5;
    while (1u << shape->code_bits < entries * 9 / 8 + 1 + others) shape->code_bits++;
    shape->code_ordered = (1u << shape->code_bits) - others;
}

static void plan_lines(recent_filter *f, double eps) {
    plan_codes(&f->shape, eps);
    plan_forms(f, eps);
    plan_clock(&f->shape, eps);
    plan_packed(f, eps);
    plan_span(&f->shape, eps);
    fill_cuts(&f->shape.shared);
}

/* What every line may cost: as much as in the form that costs most. */
static void plan_fair(recent_filter *f) {
    f->fair = f->shape.shared.cost[f->shape.shared.fair];
    for (unsigned way = 0; way < WAYS; way++)
        if (ways[way].form != SHARED && to_be_had(f, way) && form_cost(f, ways[way].form) > f->fair)
            f->fair = form_cost(f, ways[way].form);
    f->shape.span.spare = to_be_had(f, SPAN_HOLD) ? f->fair - f->shape.span.cost : 0;
}

static weir_status create(weir_filter *base, weir_error *err) {
    recent_filter *f = (recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR);
    f->lines = weir__opt_whole(base, WEIR__OPT_MEMORY) / LINE_BYTES;
    plan_lines(f, eps);
    const ordered_form *middle = ordered_way(f, ORDERED_MIDDLE);
    if (middle->groups)
        fill_ordered(ordered_way(f, ORDERED_FRONT), &f->shape, middle->groups, middle->bits, eps,
                     true);
    f->base.windowed = weir__opt_given(base, OPT_WINDOW);
    if (weir__opt_given(base, OPT_RENEW) && weir__opt_whole(base, OPT_RENEW) && !f->base.windowed)
        return weir__opt_fail(base, OPT_RENEW, err, "'renew' is about a window; give 'window' too");
    if (f->base.windowed) plan_window(f, eps);
    else plan_twins(f);
    plan_fair(f);
    f->watched = f->lines < WATCHED ? f->lines : WATCHED;
    f->telling = f->lines / 4 < f->watched ? f->lines / 4 : f->watched;
    return weir__filter_map(base, (f->lines + twins(f) + f->notes) * LINE_BYTES, err);
}

static line_books new_books(const recent_filter *f, uint64_t lines) {
    return (line_books){.pool = lines * (COST_ONE - f->fair), .in_form[SHARED] = lines};
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.layout = LAYOUT;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
    f->state.books = new_books(f, f->lines);
    f->state.twin_books = new_books(f, twins(f));
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

#if defined(__x86_64__)
FOR_AVX512 static inline __m512i mix_wide(__m512i x) {
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 30));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)WEIR__MIX_FIRST));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 27));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)WEIR__MIX_SECOND));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}
FOR_AVX512 static inline unsigned find_small_wide(const uint64_t *hashes, unsigned n,
                                                  uint64_t limit) {
    unsigned all = (1u << n) - 1;
    __m512i most = _mm512_set1_epi64((long long)limit);
    __m512i low = mix_wide(_mm512_maskz_loadu_epi64((__mmask8)all, hashes));
    __m512i high = mix_wide(_mm512_maskz_loadu_epi64((__mmask8)(all >> 8), hashes + 8));
    return (_mm512_cmple_epu64_mask(low, most) | (unsigned)_mm512_cmple_epu64_mask(high, most)
                                                     << 8) &
           all;
}
#else
#define find_small_wide(...) 0
#endif

/* A bit for each of up to AT_ONCE keys that count_distinct() may have to keep: as keys come in the
 * limit only falls. */
HOT unsigned find_small(const uint64_t *hashes, unsigned n, uint64_t limit, cpu_kind cpu) {
    unsigned found = 0;
    if (cpu == CPU_AVX512) return find_small_wide(hashes, n, limit);
    for (unsigned i = 0; i < n; i++) found |= (unsigned)(weir__mix64(hashes[i]) <= limit) << i;
    return found;
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

/* How much likelier a key that was hit is to come again than one that was not, as the marks
 * tell; 0 if there were not enough hits. */
static double skew_after(const recent_filter *f, double hits) {
    double again = (double)f->state.hit_again, first = (double)f->state.hit_first;
    return again + first > hits * f->shape.shared.fair ? again / (first + 1) : 0;
}
static double known_skew(const recent_filter *f) { return skew_after(f, ENOUGH); }

/* Where the keys that are hit stand in the order of arrival, from -1, the first, to 1; 0 on
 * average if they are of any age, or if that is not known. */
static double freshness(const recent_filter *f) {
    if (f->state.hits_aged < AGED_ENOUGH) return 0;
    return (double)(int64_t)f->state.hit_age / AGE_ONE / (double)f->state.hits_aged;
}

/* The same in standard deviations from 0: places are spread evenly over 2 if they mean nothing. */
static double surely_fresh(const recent_filter *f) {
    return freshness(f) * sqrt(3 * (double)f->state.hits_aged);
}

/* A lead in standard deviations: of the verdicts that differ, half would go either way by
 * chance. */
static double lead(uint64_t won, uint64_t lost) {
    return ((double)won - (double)lost) / sqrt((double)(won + lost) + 1);
}

/* Whether what came first is hit no less often than what came last: keys are not in fashion for a
 * while. */
static bool keys_stay(const recent_filter *f) {
    uint64_t latest = f->state.latest_hit, earliest = f->state.earliest_hit;
    return latest + earliest > STAY_ENOUGH && lead(latest, earliest) < STAY_LEAD;
}

/* Whether keys that came first go on being hit. Small filters would not see it in time when they
 * cease to be. */
static bool keys_last(const recent_filter *f) {
    return f->lines >= HOLD_LINES && !f->state.fleeting && freshness(f) < LASTING &&
           surely_fresh(f) < -LASTING_SURE;
}

/* Whether what came last is hit, and not the same keys all the time. If keys that were hit are done
 * nothing is gained by knowing them, but lines that do are not changed for that. */
static bool keys_are_fresh(const recent_filter *f) {
    double skew = known_skew(f);
    bool clocked = ways[f->state.winner].form == CLOCKED;
    return freshness(f) > FRESH && surely_fresh(f) > FRESH_SURE && skew < FRESH_SKEW &&
           (skew == 0 || skew > FRESH_LEAST || clocked);
}

/* Than one in so many verdicts. */
HOT bool repeats_are_fewer(const recent_filter *f, uint64_t one_in) {
    return f->state.hits * one_in <= f->state.hits + f->state.misses;
}

/* The part of all keys that has come by, if they are alike: with a part x, x / -log(1 - x) of the
 * records were new. */
static double part_known(double hits) {
    double x = 0.5, step = x;
    for (unsigned i = 0; i < 20; i++) {
        step /= 2;
        x += 1 + x / log1p(-x) < hits ? step : -step;
    }
    return x;
}

/* Whether lines should turn into spans as they get as many keys as these begin with: what came
 * first is as good as anything, most lines do not have as many yet, and there will not be so many
 * keys for each place that it is better to choose among them, for which hits must be the more
 * the more skewed the stream is. Alike keys must be more than there is room for in other forms. */
static bool spans_are_due(const recent_filter *f, double crowd) {
    double skew = skew_after(f, ENOUGH_FOR_SPANS), from = f->shape.span.from;
    double keys = crowd * f->shape.shared.fair, uneven = log2(fmax(skew, 1));
    double hits = (double)f->state.hits / (double)(f->state.hits + f->state.misses);
    if (!to_be_had(f, SPAN_HOLD) || f->state.fleeting || !keys_stay(f)) return false;
    if (skew == 0 || keys < SPAN_SOON * from) return false;
    if (skew >= SKEWED)
        return keys < SPAN_LATE * from && keys_last(f) &&
               hits > SPAN_HITS_LEAST + SPAN_HITS_SKEWED * uneven * uneven;
    double expected = keys / part_known(hits);
    return keys < from && hits > SPAN_HITS &&
           span_keys(&f->shape.span, expected) > keys_held(f->shape.shared.fair, expected);
}

static unsigned way_for_alike(const recent_filter *f, double crowd) {
    bool short_ones = f->shape.spread.width < 4;
    if (spans_are_due(f, crowd)) return SPAN_HOLD;
    if (crowd > PACKED_FROM) return PACKED_ANY;
    return short_ones && crowd < FEW_WIDE_FROM ? SHARED_BEHIND : SPREAD_ANY;
}

/* The way that keeps what was hit. Where keys have few bits a mark costs too many places. */
static unsigned way_of_hits(const recent_filter *f) {
    return f->shape.clock.key_bits + 1 < WIDE ? ORDERED_MIDDLE : CLOCKED_KEEP;
}

/* Marks are worth their bit the sooner the more skewed a stream is, and the less of a key the
 * bit is. */
static unsigned way_for_skewed(const recent_filter *f, double crowd, double skew) {
    unsigned way = way_of_hits(f), width = f->shape.clock.key_bits + 1;
    bool by_mark = way == CLOCKED_KEEP;
    if (spans_are_due(f, crowd)) return SPAN_HOLD;
    if (keys_last(f) && (!by_mark || width * skew < HOLD_BITS)) return SPREAD_HOLD;
    double marked_from = fmax(MARKED_SOON, MARKED_FROM / (width * pow(skew, 3)));
    if (marked_from > MARKED_BLIND) marked_from = MARKED_BLIND;
    bool spread_more = f->shape.spread.most > SPREAD_MORE * f->shape.shared.fair;
    if (by_mark) return crowd > marked_from ? way : spread_more ? SPREAD_ANY : SHARED_BEHIND;
    return crowd > (skew > SKEWED_MUCH ? ORDERED_SOON : ORDERED_FROM) ? way
                                                                      : way_for_alike(f, crowd);
}

/* The way that forgets in order. */
static unsigned way_in_order(const recent_filter *f, double crowd) {
    bool by_hand = way_of_hits(f) == CLOCKED_KEEP && to_be_had(f, CLOCKED_FRONT);
    if (by_hand) return CLOCKED_FRONT;
    return crowd < FRONT_FROM ? SHARED_FRONT : ORDERED_FRONT;
}

/* The way of fresh keys: marks that the hand wipes, and where there are far too many keys new
 * ones have them too. */
static unsigned way_for_fresh(const recent_filter *f, double crowd) {
    if (way_of_hits(f) != CLOCKED_KEEP) return way_in_order(f, crowd);
    if (crowd < FRESH_SOON) return SHARED_BEHIND;
    return crowd < FRESH_FRONT || !to_be_had(f, CLOCKED_FRONT) ? CLOCKED_KEEP : CLOCKED_FRONT;
}

/* The way to begin with, before the contest has anything to say. Where repeats are rare and no
 * more is known, keys that were hit may well be done; where they are very rare, they are not what
 * counts before there is a contest. */
static unsigned likely_way(const recent_filter *f) {
    double crowd = crowding(f), skew = known_skew(f);
    bool once = (double)f->state.hits <= ONCE_MORE * distinct(&f->state.keys_hit);
    bool spent = skew > 0 ? skew <= SPENT : once && repeats_are_fewer(f, RARE);
    spent |= crowd < CONTEST_FROM && repeats_are_fewer(f, VERY_RARE);
    if (spent) return way_in_order(f, crowd);
    if (skew == 0 && !once) return crowd > MARKED_BLIND ? way_of_hits(f) : SHARED_BEHIND;
    if (keys_are_fresh(f)) return way_for_fresh(f, crowd);
    return skew < SKEWED ? way_for_alike(f, crowd) : way_for_skewed(f, crowd, skew);
}

/* How far `way` is ahead of the one in use. */
static double lead_of(const recent_filter *f, unsigned way) {
    return lead(f->state.won[way], f->state.lost[way]);
}

static void forget_contest(recent_filter *f) {
    memset(f->state.won, 0, sizeof f->state.won);
    memset(f->state.lost, 0, sizeof f->state.lost);
}

/* A form that is not to be had at this rate has a shared one in its place. */
static void follow(recent_filter *f, unsigned way, bool decided) {
    if (!to_be_had(f, way)) way = ways[way].front ? SHARED_FRONT : SHARED_BEHIND;
    f->state.decided |= decided;
    if (way == f->state.winner) return;
    f->state.winner = way;
    f->state.sweep |= way == CLOCKED_KEEP && keys_are_fresh(f);
    f->state.late = known_skew(f) < SKEWED ? SPREAD_ANY : SPREAD_HOLD;
    forget_contest(f);
}

/* A change of lines in spans costs all keys. It is worth that when in so many lines as many hits
 * were lost by not changing: so no more is lost than twice as much as with hindsight. */
static bool is_worth(const recent_filter *f, uint64_t won, uint64_t lost, uint64_t lines) {
    uint64_t keys = f->state.winner == SPAN_HOLD ? lines * f->shape.span.seats : 0;
    return won >= lost + (keys < HORIZON / 2 ? keys : HORIZON / 2);
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

/* What a stream is like may be seen late, but what lines have learned of hits, or hold, is not
 * given up for it, unless it is known to be worth nothing: else only the contest leads away. */
static bool is_settled(const recent_filter *f) {
    uint64_t way = f->state.winner;
    if (!f->state.books.in_form[ways[way].form]) return false;
    if (way == SPAN_HOLD) return !f->state.fleeting;
    if ((known_skew(f) > 0 && known_skew(f) < SKEWED) || keys_are_fresh(f)) return false;
    return way == CLOCKED_KEEP || way == ORDERED_MIDDLE ||
           (way == SPREAD_HOLD && !f->state.fleeting);
}

__attribute__((noinline)) static void judge(recent_filter *f) {
    if (!f->state.decided && !is_settled(f)) follow(f, likely_way(f), false);
    if (!f->tried || crowding(f) < CONTEST_FROM) {
        forget_contest(f);
        return;
    }
    unsigned best = leading_way(f);
    if (lead_of(f, best) > SURE && is_worth(f, f->state.won[best], f->state.lost[best], f->tried))
        follow(f, best, true);
    halve_contest(f);
    /* After long overload, where the shared form is no better the others are faster. */
    unsigned now = (unsigned)f->state.winner,
             other = ways[now].front ? ORDERED_FRONT : ORDERED_MIDDLE;
    if (ways[now].form == SHARED && to_be_had(f, other) && f->lines >= MANY_LINES &&
        f->state.books.forgotten / f->lines > f->shape.shared.fair && lead_of(f, other) > -1)
        follow(f, other, true);
}

/* A way, or the kind of it that is in use. */
static inline unsigned way_in_use(const recent_filter *f, unsigned way) {
    return way == CLOCKED_KEEP && f->state.sweep ? CLOCKED_SWEEP : way;
}

/* The way of a line. Where new keys have marks some lines go on to tell hits by them. */
static inline unsigned way_of_line(const recent_filter *f, uint64_t number) {
    unsigned way = (unsigned)f->state.winner;
    if (number < f->telling)
        way = way == CLOCKED_FRONT ? CLOCKED_KEEP : way == SHARED_FRONT ? SHARED_BEHIND : way;
    return way_in_use(f, way);
}

/* Clocked lines have rivals that do the other thing with marks, which is better if these know
 * better. */
static void judge_rival(recent_filter *f, bool rival_seen, bool seen) {
    uint64_t *won = &f->state.rival_won, *lost = &f->state.rival_lost;
    *won += rival_seen & !seen;
    *lost += !rival_seen & seen;
    if (*won + *lost > AT_LEAST && lead(*won, *lost) > LIKELY &&
        is_worth(f, *won, *lost, f->rivals)) {
        if (ways[f->state.winner].hold) f->state.fleeting = 1;
        else f->state.sweep ^= 1;
        *won = *lost = 0;
    }
    if (*won + *lost > HORIZON) *won /= 2, *lost /= 2;
}

/* What a watched line tells: of the stream, and of the ways. */
static void count_watched(recent_filter *f, uint64_t hash, bool seen) {
    f->state.misses += !seen;
    f->state.hits += seen;
    if (seen) count_distinct(&f->state.keys_hit, hash, true);
    if ((f->state.hits + f->state.misses) % JUDGE_EVERY == 0) judge(f);
}

static unsigned line_entries(const recent_filter *f, const uint8_t *line) {
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    return form == SHARED    ? code
           : form == CLOCKED ? count_clocked(line, &f->shape.clock)
           : form == SPAN    ? span_entries(line, &f->shape.span)
           : form == SPREAD
               ? count_singles(line, &f->shape.spread) + count_extras(line, &f->shape.spread)
               : ordered_of(f, form)->entries;
}

/* Charge a line's change from one cost to another, if that can be paid. What a
 * line costs up to `fair` is set aside for it; only what goes beyond comes out of
 * the pool, so no line can take what others will need. */
static inline uint64_t beyond_fair(const recent_filter *f, uint64_t cost) {
    return cost > f->fair ? cost - f->fair : 0;
}
static inline line_price price_of(const recent_filter *f, uint64_t cost) {
    return (line_price){cost, beyond_fair(f, cost)};
}
static inline bool pay_price(recent_filter *f, line_price from, line_price to) {
    if (to.beyond > from.beyond && to.beyond - from.beyond > f->state.books.pool) return false;
    f->state.books.pool += from.beyond - to.beyond;
    f->state.books.spent += to.cost - from.cost;
    return true;
}
static inline bool pay(recent_filter *f, uint64_t from, uint64_t to) {
    if (from <= f->fair && to <= f->fair) {
        f->state.books.spent += to - from;
        return true;
    }
    return pay_price(f, price_of(f, from), price_of(f, to));
}

static line_price line_price_of(const recent_filter *f, const uint8_t *line) {
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    unsigned counts[SPAN_BLOCKS];
    if (form != SPAN)
        return price_of(f, form == SHARED ? f->shape.shared.cost[code] : form_cost(f, form));
    get_counts(line, &f->shape.span, counts);
    return span_price(&f->shape.span, counts);
}

/* ---- from one form to another ---- */

typedef struct {
    unsigned count;
    uint64_t value[ENTRIES_MAX + 1]; /* the best protected first */
    bool mark[ENTRIES_MAX + 1];
} line_content;

/* One that is read, with its place in the order: by mark, and then by rank. */
typedef struct {
    uint64_t value;
    bool mark;
    uint8_t order;
} ranked_entry;

#define RANKS 64u /* beyond which entries of a list are alike */

HOT ranked_entry entry_read(uint64_t value, bool mark, unsigned rank) {
    return (ranked_entry){value, mark, (uint8_t)(least(rank, RANKS - 1) + (mark ? 0 : RANKS))};
}

HOT void sort_entries(line_content *content, const ranked_entry *entries, unsigned n) {
    uint8_t first[2 * RANKS + 1] = {0};
    unsigned lowest = 2 * RANKS, highest = 0;
    for (unsigned i = 0; i < n; i++) { /* NOLINTNEXTLINE(clang-analyzer-core*): filled up to n */
        unsigned order = entries[i].order;
        first[order + 1]++;
        lowest = least(lowest, order);
        highest = order > highest ? order : highest;
    }
    for (unsigned order = lowest + 1; order <= highest; order++)
        first[order] = (uint8_t)(first[order] + first[order - 1]);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = first[entries[i].order]++;
        content->value[at] = entries[i].value;
        content->mark[at] = entries[i].mark;
    }
    content->count = n;
}

HOT void read_flat(const recent_filter *f, const uint8_t *line, unsigned n, line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned marks = get_flat_marks(line, n), width = form->width[n];
    for (unsigned i = 0; i < n; i++) { /* the latest stands last */
        uint64_t tag = get_tag(line, n, n - 1 - i);
        content->value[i] = value_of((unsigned)(tag >> (64 - form->list_bits)), form->lists,
                                     tag << form->list_bits >> (64 - width), width);
        content->mark[i] = marks >> (n - 1 - i) & 1;
    }
    content->count = n;
}

HOT void read_lists(const line_shape *shape, const uint8_t *line, unsigned n, unsigned width,
                    unsigned mark, line_content *content) {
    unsigned lists = shape->shared.lists, head = shape->code_bits, end = head + lists + n;
    unsigned i = 0, rank = 0, last = lists;
    ranked_entry entries[ENTRIES_MAX + 1];
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, head, end); ones; ones &= ones - 1) {
            unsigned list = 64 * k + (unsigned)__builtin_ctzll(ones) - head - i;
            uint64_t field = get_bits(line, remainder_at(i, width), width);
            uint64_t value = value_of(list, lists, field >> mark, width - mark);
            rank = list == last ? rank + 1 : 0;
            last = list;
            entries[i++] = entry_read(value, field & mark, rank);
        }
    sort_entries(content, entries, n);
}

HOT void read_shared(const recent_filter *f, const uint8_t *line, line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned n = read_code(line, &f->shape);
    if (n <= form->flat) read_flat(f, line, n, content);
    else read_lists(&f->shape, line, n, form->width[n], mark_of(form, n), content);
}

HOT void read_ordered(const ordered_form *form, const uint8_t *line, line_content *content) {
    ranked_entry entries[ENTRIES_MAX + 1];
    unsigned n = 0;
    for (unsigned g = 0; g < form->groups; g++) {
        two_words both = read_group(form, line, g);
        wide_word slots = (wide_word)both.high << 64 | both.low;
        for (unsigned j = 0; j < form->slots - (g >= form->wide); j++, n++) {
            uint64_t bits = (uint64_t)(slots >> j * form->bits) & low_mask(form->bits);
            entries[n] = entry_read(value_of(g, form->groups, bits, form->bits), false, j);
        }
    }
    sort_entries(content, entries, n);
}

/* An entry of a shared line: its list, and the bits of the value that follow. */
typedef struct {
    uint64_t rest;
    unsigned list;
    bool mark;
} list_entry;

HOT void write_flat(const recent_filter *f, uint8_t *line, const list_entry *entries, unsigned n) {
    unsigned marks = 0;
    for (unsigned i = 0; i < n; i++) {
        const list_entry *entry = &entries[n - 1 - i];
        uint64_t tag = tag_of(&f->shape.shared, entry->list, entry->rest);
        if (n <= WORDS_MOST) put_word(line, i, tag);
        else put_bits(line, 32 * (i + 1), 32, tag >> 32);
        marks |= (unsigned)entry->mark << i;
    }
    line[0] = (uint8_t)n;
    add_flat_marks(line, n, marks);
}

/* Write entries list by list, those of one list in the order in which they come. */
HOT void write_lists(const line_shape *shape, uint8_t *line, unsigned code,
                     const list_entry *entries, unsigned n, unsigned width, unsigned mark) {
    uint64_t words[9] = {code};
    uint8_t lists[ENTRIES_MAX + 1];
    for (unsigned i = 0; i < n; i++) lists[i] = (uint8_t)entries[i].list;
    for (unsigned i = 0; i < n; i++) {
        unsigned rank = 0;
        for (unsigned j = 0; j < i; j++) rank += lists[j] <= lists[i];
        for (unsigned j = i + 1; j < n; j++) rank += lists[j] < lists[i];
        unsigned bit = shape->code_bits + lists[i] + rank, at = remainder_at(rank, width);
        uint64_t bits = entries[i].rest >> (64 - width) & ~(uint64_t)mark;
        bits |= entries[i].mark & mark;
        words[bit / 64] |= UINT64_C(1) << bit % 64;
        words[at / 64] |= bits << at % 64;
        words[at / 64 + 1] |= bits >> 1 >> (63 - at % 64);
    }
    memcpy(line, words, LINE_BYTES);
}

HOT void find_lists(const shared_form *form, const line_content *content, list_entry *entries,
                    unsigned n) {
    for (unsigned i = 0; i < n; i++) { /* NOLINTNEXTLINE(clang-analyzer-core*): filled up to n */
        entries[i].list = (unsigned)weir__part(content->value[i], form->lists, &entries[i].rest);
        entries[i].mark = content->mark[i];
    }
}

HOT unsigned write_shared(const recent_filter *f, uint8_t *line, const line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned n = content->count < form->most ? content->count : form->most;
    list_entry entries[ENTRIES_MAX + 1];
    find_lists(form, content, entries, n);
    memset(line, 0, LINE_BYTES);
    if (n <= form->flat) write_flat(f, line, entries, n);
    else write_lists(&f->shape, line, n, entries, n, form->width[n], mark_of(form, n));
    return n;
}

/* Entries of a clocked line: of those alike, what the hand has passed last comes first. */
HOT void read_clocked(const line_shape *shape, const uint8_t *line, line_content *content) {
    const unsigned bits = shape->clock.key_bits, lists = shape->shared.lists;
    ranked_entry entries[ENTRIES_MAX + 1];
    clock_keys clock;
    read_clock(line, &shape->clock, &clock, CPU_ANY);
    unsigned n = 0, at = keys_below(&clock, shape->clock.sectors[clock.hand]);
    for (unsigned i = 0; i < clock.n; i++) {
        at = at ? at - 1 : clock.n - 1;
        uint64_t key = clock.keys[at + 1] >> 1;
        if (is_kept(&clock, at + 1)) continue;
        uint64_t value = value_of((unsigned)(key >> bits), lists, key & low_mask(bits), bits);
        entries[n++] = entry_read(value, clock.keys[at + 1] & 1, 0);
    }
    sort_entries(content, entries, n);
}

/* As many as fit. */
HOT unsigned write_clocked(const line_shape *shape, uint8_t *line, const line_content *content) {
    const clock_form *form = &shape->clock;
    clock_keys clock = {0};
    memset(line, 0, LINE_BYTES);
    write_code(line, shape, form->code);
    for (unsigned i = 0; i < content->count; i++) {
        uint64_t key = clock_key(shape, content->value[i]);
        unsigned below = keys_below(&clock, key);
        if (!has_room_for(&clock, form, below, key)) break;
        insert_key(line, form, &clock, below, key << 1 | content->mark[i], CPU_ANY);
    }
    return clock.n;
}

/* Entries of a spread line: those that hold their lists, then the extras, the latest first. */
HOT void read_spread(const uint8_t *line, const spread_form *form, line_content *content) {
    unsigned extras = count_extras(line, form), width = form->width, n = 0;
    ranked_entry entries[ENTRIES_MAX + 1];
    for (unsigned k = 0; k < form->words; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, form->map, form->extras); ones;
             ones &= ones - 1) {
            unsigned list = 64 * k + (unsigned)__builtin_ctzll(ones) - form->map;
            uint64_t remainder = get_bits(line, remainder_at(n, width), width);
            entries[n++] = entry_read(value_of(list, form->lists, remainder, width), false, 0);
        }
    while (extras--) {
        uint64_t extra = get_bits(line, extra_at(form, extras), form->extra_width);
        uint64_t value =
            value_of((unsigned)(extra >> width), form->lists, extra & low_mask(width), width);
        entries[n++] = entry_read(value, false, 1);
    }
    sort_entries(content, entries, n);
}

/* Each list to the first of its keys that comes, the others are extras as far as they fit. */
HOT unsigned write_spread(uint8_t *line, const line_shape *shape, const spread_form *form,
                          const line_content *content) {
    uint64_t left[ENTRIES_MAX + 1], holder[LINE_BITS], map[LINE_BITS / 64] = {0};
    unsigned others = 0, singles = 0, n = content->count < form->most ? content->count : form->most;
    line_top top = new_top();
    for (unsigned i = 0; i < n; i++) {
        spread_key key = find_spread_key(form, content->value[i]);
        uint64_t bit = UINT64_C(1) << key.bit % 64;
        if (map[key.bit / 64] & bit) left[others++] = key.extra;
        else map[key.bit / 64] |= bit, holder[key.bit] = key.remainder;
    }
    for (unsigned k = 0; k < form->words; k++)
        for (uint64_t ones = map[k]; ones; ones &= ones - 1, singles++)
            add_bits(&top, holder[64 * k + (unsigned)__builtin_ctzll(ones)], form->width);
    memcpy(line, map, LINE_BYTES);
    put_top(line, &top);
    write_code(line, shape, form->code);
    unsigned room = LINE_BITS - form->extras - singles * form->width;
    if (others > most_extras(form)) others = most_extras(form);
    if (others > room / form->extra_width) others = room / form->extra_width;
    for (unsigned j = 0; j < others; j++) add_extra(line, form, j, left[others - 1 - j]);
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
    else if (form == SPREAD) read_spread(line, &f->shape.spread, content);
    else if (form == CLOCKED) read_clocked(&f->shape, line, content);
    else read_ordered(ordered_of(f, form), line, content);
}

/* Returns how many entries were kept. */
HOT unsigned write_line(recent_filter *f, uint8_t *line, unsigned form,
                        const line_content *content) {
    if (form == SHARED) return write_shared(f, line, content);
    if (form == SPREAD) return write_spread(line, &f->shape, &f->shape.spread, content);
    if (form == CLOCKED) return write_clocked(&f->shape, line, content);
    return write_ordered(f, ordered_of(f, form), code_of(&f->shape, form), line, content);
}

/* Rewrite a line in another form, if the budget allows it. Fewer keys than a clocked line has
 * are a shared one. */
HOT bool convert_here(recent_filter *f, uint8_t *line, unsigned form) {
    unsigned old_form = form_of(&f->shape, read_code(line, &f->shape));
    unsigned entries = line_entries(f, line);
    line_content content;
    read_line(f, line, old_form, &content);
    if (form == CLOCKED && content.count < f->shape.clock.entries) form = SHARED;
    unsigned shared = least(content.count, f->shape.shared.most);
    uint64_t cost = form == SHARED ? f->shape.shared.cost[shared] : form_cost(f, form);
    if (!pay_price(f, line_price_of(f, line), price_of(f, cost))) return false;
    f->state.books.forgotten += content.count - write_line(f, line, form, &content);
    f->state.books.held += (uint64_t)line_entries(f, line) - entries;
    f->state.books.in_form[old_form]--;
    f->state.books.in_form[form]++;
    return true;
}

HOT void add_content(const recent_filter *f, const line_content *content, span_basis *bases) {
    for (unsigned i = 0; i < content->count; i++) {
        span_key key = find_span_key(&f->shape, content->value[i]);
        add_word(&bases[key.block], key.word);
    }
}

/* A shared line becomes one in spans, if these can be written and the budget allows it. */
HOT bool make_span_here(recent_filter *f, uint8_t *line) {
    const span_form *form = &f->shape.span;
    line_content content;
    span_basis bases[SPAN_BLOCKS];
    unsigned counts[SPAN_BLOCKS], held = 0;
    read_shared(f, line, &content);
    empty_span(form, bases);
    add_content(f, &content, bases);
    for (unsigned b = 0; b < form->blocks; b++) held += counts[b] = bases[b].n;
    if (!can_write_all(form, bases) ||
        !pay_price(f, line_price_of(f, line), span_price(form, counts)))
        return false;
    write_span(line, form, bases);
    f->state.books.held -= content.count - held;
    f->state.books.in_form[SHARED]--;
    f->state.books.in_form[SPAN]++;
    return true;
}

NOT_HERE(bool, make_span, (recent_filter * f, uint8_t *line), (f, line))

/* A line in spans cannot tell its keys: it begins again. */
static void empty_line(recent_filter *f, uint8_t *line) {
    unsigned held = line_entries(f, line);
    pay_price(f, line_price_of(f, line), price_of(f, f->shape.shared.cost[0]));
    memset(line, 0, LINE_BYTES);
    f->state.books.forgotten += held;
    f->state.books.held -= held;
    f->state.books.in_form[SPAN]--;
    f->state.books.in_form[SHARED]++;
}

/* A line becomes what another is, if the budget allows it. */
static void copy_line(recent_filter *f, uint8_t *line, const uint8_t *from) {
    unsigned old = read_code(line, &f->shape), new = read_code(from, &f->shape);
    if (!pay_price(f, line_price_of(f, line), line_price_of(f, from))) return;
    f->state.books.held += (uint64_t)line_entries(f, from) - line_entries(f, line);
    f->state.books.in_form[form_of(&f->shape, old)]--;
    f->state.books.in_form[form_of(&f->shape, new)]++;
    memcpy(line, from, LINE_BYTES);
}

NOT_HERE(bool, convert, (recent_filter * f, uint8_t *line, unsigned form), (f, line, form))

/* ---- looking a key up ---- */

/* Whether a line has a key, in whatever form it is. */
static bool knows(const recent_filter *f, const uint8_t *line, uint64_t value) {
    uint64_t rest;
    unsigned code = read_code(line, &f->shape);
    unsigned form = form_of(&f->shape, code);
    if (form == SPREAD) return test_spread(&f->shape.spread, line, value);
    if (form == CLOCKED) return test_clocked(&f->shape, line, value);
    if (form == SPAN) return test_span(&f->shape, line, value);
    if (form != SHARED) {
        const ordered_form *ordered = ordered_of(f, form);
        unsigned group = (unsigned)weir__part(value, ordered->groups, &rest);
        return test_group(ordered, line, group, rest >> (64 - ordered->bits));
    }
    const shared_form *shared = &f->shape.shared;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest);
    if (code <= shared->flat)
        return match_tags(line, code, tag_of(shared, list, rest), code > WORDS_MOST, CPU_ANY);
    list_place place = find_list(line, &f->shape, header_words(&f->shape, code), list, CPU_ANY);
    return find_remainder(line, shared, place, field_of(shared, code, rest)) < place.length;
}

/* ---- offering a key ---- */

HOT bool offer_ordered(const ordered_form *form, uint8_t *line, uint64_t value, cpu_kind cpu) {
    uint64_t rest;
    unsigned group = (unsigned)weir__part(value, form->groups, &rest);
    return offer_group(form, line, group, rest >> (64 - form->bits), cpu);
}

/* Where keys are to go in order, those of the second half that a line gets have a mark when it
 * fills, so that the hand takes the others first. The one that it outgrew being flat with has none.
 */
HOT unsigned is_young(const recent_filter *f, unsigned n, bool front) {
    return front && (n >= f->shape.clock.young) & repeats_are_fewer(f, VERY_RARE);
}

/* A new key in a shared line: room is made by shortening as long as the rate
 * allows, then by letting the last entry of some list go. */
HOT void enter_shared(recent_filter *f, uint8_t *line, unsigned words, unsigned n, list_place place,
                      uint64_t rest, bool front, cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    unsigned at = place.first + pick(place.length > 0, !front, 0);
    if (n < form->most && place.length < LIST_MAX && pay(f, form->cost[n], form->cost[n + 1])) {
        if (form->width[n + 1] != form->width[n]) CALL(shorten, cpu, (form, line, n));
        entry_field field = field_of(form, n + 1, rest);
        uint64_t entry = field.bits | (field.mark & is_young(f, n, front));
        insert_entry(line, &f->shape, words, n, field.width, place.head, at, entry, cpu);
        f->state.books.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n);
    bool long_only = front | ((dice & 63) < KEEP_FIRSTS);
    unsigned bit = next_end(line, &f->shape, words, n, start, long_only);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    unsigned out = entries_before(line, f->shape.code_bits, words, bit);
    entry_field field = field_of(form, n, rest);
    exchange_entry(line, words, field.width, place.head, at, bit, out, field.bits, cpu);
    f->state.books.forgotten++;
}

#if defined(__x86_64__)
/* Sixteen numbers in order. Where i ^ near is less than i, but where i & turn is not 0 the other
 * way round, number i becomes the larger one of those at i and at i ^ near (Batcher's bitonic
 * sort). */
#define LARGER_BY(i, near, turn) (unsigned)(!((i) & (near)) != !((i) & (turn))) << (i)
#define LARGER_4(i, near, turn)                                                                    \
    (LARGER_BY(i, near, turn) | LARGER_BY((i) + 1, near, turn) | LARGER_BY((i) + 2, near, turn) |  \
     LARGER_BY((i) + 3, near, turn))
#define SORT_STEP(x, swapped, near, turn)                                                          \
    _mm256_mask_max_epu16(_mm256_min_epu16(x, swapped),                                            \
                          (__mmask16)(LARGER_4(0, near, turn) | LARGER_4(4, near, turn) |          \
                                      LARGER_4(8, near, turn) | LARGER_4(12, near, turn)),         \
                          x, swapped)
#define SORT_BY_1(x, turn) SORT_STEP(x, _mm256_rol_epi32(x, 16), 1, turn)
#define SORT_BY_2(x, turn) SORT_STEP(x, _mm256_shuffle_epi32(x, _MM_PERM_CDAB), 2, turn)
#define SORT_BY_4(x, turn) SORT_STEP(x, _mm256_shuffle_epi32(x, _MM_PERM_BADC), 4, turn)
#define SORT_BY_8(x, turn) SORT_STEP(x, _mm256_permute4x64_epi64(x, _MM_PERM_BADC), 8, turn)
FOR_AVX512 static inline __m256i sort_sixteen(__m256i x) {
    x = SORT_BY_1(x, 2);
    x = SORT_BY_2(x, 4), x = SORT_BY_1(x, 4);
    x = SORT_BY_4(x, 8), x = SORT_BY_2(x, 8), x = SORT_BY_1(x, 8);
    x = SORT_BY_8(x, 16), x = SORT_BY_4(x, 16), x = SORT_BY_2(x, 16), x = SORT_BY_1(x, 16);
    return x;
}

/* Eight numbers of 32 bits or more, one below the other from the top of a line on. A word has bits
 * of up to three of them; `first` is the one that its lowest bits are of. */
FOR_AVX512 static inline __m512i pack_eight(__m512i numbers, unsigned bits) {
    const __m512i starts = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448),
                  one = _mm512_set1_epi64(1), size = _mm512_set1_epi64(bits),
                  inverse = _mm512_set1_epi64(65536 / bits + 1);
    __m512i above = _mm512_add_epi64(starts, _mm512_set1_epi64(16LL * bits - LINE_BITS));
    __m512i whole = _mm512_srli_epi64(_mm512_mul_epu32(above, inverse), 16);
    __m512i gone = _mm512_sub_epi64(above, _mm512_mul_epu32(whole, size));
    __m512i first = _mm512_sub_epi64(_mm512_set1_epi64(15), whole),
            second = _mm512_sub_epi64(first, one), third = _mm512_sub_epi64(second, one);
    __m512i place = _mm512_sub_epi64(size, gone), last = _mm512_add_epi64(place, size);
    __m512i words = _mm512_ternarylogic_epi64(
        _mm512_srlv_epi64(_mm512_permutexvar_epi64(first, numbers), gone),
        _mm512_sllv_epi64(_mm512_permutexvar_epi64(second, numbers), place),
        _mm512_sllv_epi64(_mm512_permutexvar_epi64(third, numbers), last), 0xfe); /* any of them */
    return _mm512_and_si512(words, wide_from((int)(LINE_BITS - 8 * bits)));
}

/* list_up() for a line of half words: tags side by side, the new one first. */
FOR_AVX512 static inline void list_up_wide(const line_shape *shape, uint8_t *line, uint64_t tag) {
    enum { N = HALVES_MOST + 1 };
    const shared_form *form = &shape->shared;
    const __m512i latest_first =
        _mm512_setr_epi32(0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
    const __m512i ranks = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i one = _mm512_set1_epi32(1), one_bit = _mm512_set1_epi64(1);
    unsigned width = form->width[N], words = header_words(shape, N);
    __m512i tags = _mm512_mask_set1_epi32(_mm512_loadu_si512(line), 1, (int)(tag >> 32));
    __m512i lists = _mm512_srli_epi32(tags, 32 - form->list_bits);
    __m512i fields = _mm512_srli_epi32(_mm512_slli_epi32(tags, form->list_bits), 32 - width);
    if (mark_of(form, N)) {
        __m512i marks = _mm512_maskz_set1_epi32((__mmask16)(get_flat_marks(line, N - 1) << 1), 1);
        fields = _mm512_or_si512(_mm512_andnot_si512(one, fields), marks);
    }
    __m512i order = _mm512_or_si512(_mm512_slli_epi32(lists, 4), latest_first);
    order = _mm512_cvtepu16_epi32(sort_sixteen(_mm512_cvtepi32_epi16(order)));
    /* the low bits of an order say where it stood, counted downwards */
    __m512i from = _mm512_sub_epi32(_mm512_setzero_si512(), order);
    __m512i two = _mm512_permutexvar_epi32(from, fields);
    __m512i first = _mm512_sll_epi64(_mm512_and_si512(two, _mm512_set1_epi64(UINT32_MAX)),
                                     _mm_cvtsi32_si128((int)width));
    __m512i new = pack_eight(_mm512_or_si512(first, _mm512_srli_epi64(two, 32)), 2 * width);
    __m512i bits = _mm512_add_epi32(_mm512_add_epi32(_mm512_srli_epi32(order, 4), ranks),
                                    _mm512_set1_epi32((int)shape->code_bits));
    __m512i low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(bits));
    __m512i high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(bits, 1));
    uint64_t code = N;
    for (unsigned k = 0; k < words; k++, code = 0) {
        const __m512i word = _mm512_set1_epi64(64);
        __m512i both =
            _mm512_or_si512(_mm512_sllv_epi64(one_bit, low), _mm512_sllv_epi64(one_bit, high));
        uint64_t header = code | (uint64_t)_mm512_reduce_or_epi64(both);
        new = _mm512_or_si512(new, _mm512_maskz_set1_epi64((__mmask8)(1u << k), (long long)header));
        low = _mm512_sub_epi64(low, word), high = _mm512_sub_epi64(high, word);
    }
    _mm512_storeu_si512(line, new);
}

/* A 1 at each of sixteen places of a header, as far as they are in word k. */
FOR_AVX2 static inline uint64_t ones_in_word(line_pair places, unsigned k) {
    const __m256i one = _mm256_set1_epi64x(1), start = _mm256_set1_epi64x(64 * k);
    __m256i ones = _mm256_setzero_si256();
    const __m128i quarters[4] = {
        _mm256_castsi256_si128(places.low), _mm256_extracti128_si256(places.low, 1),
        _mm256_castsi256_si128(places.high), _mm256_extracti128_si256(places.high, 1)};
    for (unsigned i = 0; i < 4; i++) {
        __m256i at = _mm256_sub_epi64(_mm256_cvtepu32_epi64(quarters[i]), start);
        ones = _mm256_or_si256(ones, _mm256_sllv_epi64(one, at));
    }
    __m128i two = _mm_or_si128(_mm256_castsi256_si128(ones), _mm256_extracti128_si256(ones, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) | (uint64_t)_mm_extract_epi64(two, 1);
}

/* The same in two registers. */
FOR_AVX2 static inline void list_up_pair(const line_shape *shape, uint8_t *line, uint64_t tag) {
    enum { N = HALVES_MOST + 1 };
    const shared_form *form = &shape->shared;
    const __m256i one = _mm256_set1_epi32(1);
    const __m128i list_shift = _mm_cvtsi32_si128((int)(32 - form->list_bits)),
                  list_bits = _mm_cvtsi32_si128((int)form->list_bits);
    unsigned width = form->width[N], words = header_words(shape, N);
    const __m128i field_shift = _mm_cvtsi32_si128((int)(32 - width));
    unsigned marks = mark_of(form, N) ? get_flat_marks(line, N - 1) << 1 : 0;
    line_pair tags = pair_load(line), ranks = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    tags.low = _mm256_blend_epi32(tags.low, _mm256_set1_epi32((int)(tag >> 32)), 1);
    line_pair lists = {_mm256_srl_epi32(tags.low, list_shift),
                       _mm256_srl_epi32(tags.high, list_shift)};
    line_pair order = {_mm256_slli_epi32(lists.low, 4), _mm256_slli_epi32(lists.high, 4)};
    order.low = _mm256_or_si256(order.low, _mm256_setr_epi32(0, 15, 14, 13, 12, 11, 10, 9));
    order.high = _mm256_or_si256(order.high, _mm256_setr_epi32(8, 7, 6, 5, 4, 3, 2, 1));
    int32_t orders[N], rank[N];
    uint32_t fields[N], sorted[N];
    pair_store((uint8_t *)orders, order);
    for (unsigned i = 0; i < N; i++) {
        __m256i other = _mm256_set1_epi32(orders[i]);
        ranks.low = _mm256_sub_epi32(ranks.low, _mm256_cmpgt_epi32(order.low, other));
        ranks.high = _mm256_sub_epi32(ranks.high, _mm256_cmpgt_epi32(order.high, other));
    }
    line_pair rests = {_mm256_srl_epi32(_mm256_sll_epi32(tags.low, list_bits), field_shift),
                       _mm256_srl_epi32(_mm256_sll_epi32(tags.high, list_bits), field_shift)};
    if (mark_of(form, N)) {
        const __m256i bits = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        __m256i low = _mm256_srlv_epi32(_mm256_set1_epi32((int)marks), bits);
        __m256i high = _mm256_srlv_epi32(_mm256_set1_epi32((int)(marks >> 8)), bits);
        rests.low =
            _mm256_or_si256(_mm256_andnot_si256(one, rests.low), _mm256_and_si256(low, one));
        rests.high =
            _mm256_or_si256(_mm256_andnot_si256(one, rests.high), _mm256_and_si256(high, one));
    }
    pair_store((uint8_t *)rank, ranks);
    pair_store((uint8_t *)fields, rests);
    for (unsigned i = 0; i < N; i++) sorted[rank[i]] = fields[i];
    __m256i code_bits = _mm256_set1_epi32((int)shape->code_bits);
    line_pair places = {_mm256_add_epi32(_mm256_add_epi32(lists.low, ranks.low), code_bits),
                        _mm256_add_epi32(_mm256_add_epi32(lists.high, ranks.high), code_bits)};
    line_top top = new_top();
    for (unsigned i = 0; i < N; i += 2)
        add_bits(&top, (uint64_t)sorted[i] << width | sorted[i + 1], 2 * width);
    memset(line, 0, LINE_BYTES);
    put_word(line, 0, ones_in_word(places, 0) | N);
    for (unsigned k = 1; k < words; k++) put_word(line, k, ones_in_word(places, k));
    put_top(line, &top);
}
#else
#define list_up_wide(...) ((void)0)
#define list_up_pair(...) ((void)0)
#endif

/* From a flat line to lists, with one key more. A flat line has its entries in the
 * order in which they came; a list has the latest first. */
HOT void list_up(const recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest) {
    enum { MOST = HALVES_MOST + 1 };
    const shared_form *form = &f->shape.shared;
    uint64_t tags[MOST] = {tag_of(form, list, rest)}, rests[MOST], sorted[MOST] = {0};
    int32_t order[MOST], rank[MOST] = {0};
    unsigned width = form->width[n + 1], marks = get_flat_marks(line, n);
    uint64_t mark = (uint64_t)mark_of(form, n + 1) << (64 - width), header[8] = {n + 1};
    line_top top = new_top();
    for (unsigned i = 1; i <= n; i++) tags[i] = get_tag(line, n, n - i);
    for (unsigned i = 0; i < MOST; i++) {
        uint64_t marked = i ? (uint64_t)marks << i >> n & 1 : 0;
        rests[i] = (tags[i] << form->list_bits & ~mark) | (mark & -marked);
        order[i] = i > n ? INT32_MAX : (int32_t)((tags[i] >> (64 - form->list_bits)) * MOST + i);
    }
    for (unsigned j = 0; j < MOST; j++)
        for (unsigned i = 0; i < MOST; i++) rank[i] += order[j] < order[i];
    for (unsigned i = 0; i <= n; i++) {
        unsigned bit = f->shape.code_bits + (unsigned)(order[i] / MOST + rank[i]);
        header[bit / 64] |= UINT64_C(1) << bit % 64;
        sorted[rank[i]] = rests[i];
    }
    pack_remainders(&top, sorted, n + 1, width);
    memcpy(line, header, LINE_BYTES);
    put_top(line, &top);
}

/* One more entry than the present way of being flat can take. */
HOT void outgrow_here(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest,
                      cpu_kind cpu) {
    uint32_t halves[WORDS_MOST];
    if (n == f->shape.shared.flat) {
        uint64_t tag = tag_of(&f->shape.shared, list, rest);
        if (n < HALVES_MOST || cpu == CPU_ANY) list_up(f, line, n, list, rest);
        else if (cpu == CPU_AVX512) list_up_wide(&f->shape, line, tag);
        else list_up_pair(&f->shape, line, tag);
        return;
    }
    for (unsigned i = 0; i < WORDS_MOST; i++) halves[i] = (uint32_t)(get_word(line, i) >> 32);
    put_bits(line, 0, 32, n + 1);
    memcpy(line + 4, halves, sizeof halves);
    put_bits(line, 32 * (n + 1), 32, tag_of(&f->shape.shared, list, rest) >> 32);
}

NOT_HERE(void, outgrow,
         (recent_filter * f, uint8_t *line, unsigned n, unsigned list, uint64_t rest),
         (f, line, n, list, rest, cpu))

/* A key and a flat line, of words or of half words: each in code of its own, as most lines are the
 * same at a time. A flat line never costs more than is set aside for it. */
HOT bool offer_flat_as(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest,
                       bool front, bool in_halves, cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    uint64_t tag = tag_of(form, list, rest);
    unsigned found = match_tags(line, n, tag, in_halves, cpu);
    if (found) {
        add_flat_marks(line, n, found);
        return true;
    }
    f->state.books.held++;
    f->state.books.spent += (uint64_t)form->cost[n + 1] - form->cost[n];
    if (n == (in_halves ? HALVES_MOST : WORDS_MOST)) CALL(outgrow, cpu, (f, line, n, list, rest));
    else put_tag(line, n, tag, is_young(f, n, front), in_halves);
    return false;
}

HOT bool offer_flat(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest,
                    bool front, cpu_kind cpu) {
    if (n > WORDS_MOST) return offer_flat_as(f, line, n, list, rest, front, true, cpu);
    return offer_flat_as(f, line, n, list, rest, front, false, cpu);
}

HOT bool offer_spread_to_here(recent_filter *f, uint8_t *line, uint64_t value, bool hold,
                              cpu_kind cpu) {
    unsigned gone;
    bool seen = offer_spread(&f->shape.spread, line, value, hold, &f->state.rng, &gone, cpu);
    f->state.books.held += !seen - (uint64_t)gone;
    f->state.books.forgotten += gone;
    return seen;
}

NOT_HERE(bool, offer_spread_to, (recent_filter * f, uint8_t *line, uint64_t value, bool hold),
         (f, line, value, hold, cpu))

/* A span grows by a new key as long as its block is not full, and as it can be written. */
HOT bool offer_span_here(recent_filter *f, uint8_t *line, uint64_t value) {
    const span_form *form = &f->shape.span;
    span_key key = find_span_key(&f->shape, value);
    if (span_has(line, form, key, get_size(line, form, key.block))) return true;
    unsigned counts[SPAN_BLOCKS] = {0};
    f->state.books.forgotten++;
    get_counts(line, form, counts);
    line_price old = span_price(form, counts);
    counts[key.block]++;
    line_price new = span_price(form, counts);
    if (counts[key.block] == kind_of(form, key.block)->width ||
        new.beyond > old.beyond + f->state.books.pool)
        return false;
    span_basis basis = read_basis(line, form, key.block);
    extend(&basis, reduce(&basis, key.word));
    if (!can_write(&basis, form, key.block) || !pay_price(f, old, new)) return false;
    write_basis(line, form, key.block, &basis);
    f->state.books.forgotten--;
    f->state.books.held++;
    return false;
}

NOT_HERE(bool, offer_span, (recent_filter * f, uint8_t *line, uint64_t value), (f, line, value))

/* A way for each form. */
static const uint8_t any_way_of[FORMS] = {SHARED_BEHIND, ORDERED_MIDDLE, PACKED_ANY,
                                          CLOCKED_KEEP,  SPREAD_ANY,     SPAN_HOLD};

/* Where new keys have marks, one that was hit stands twice if it may well come again and hits are
 * so rare that this takes few places. */
HOT bool hit_keys_stand_twice(const recent_filter *f, unsigned way) {
    if (!ways[way].front || !repeats_are_fewer(f, RARE)) return false;
    double skew = known_skew(f);
    return skew > SKEWED || (skew == 0 && repeats_are_fewer(f, VERY_RARE));
}

HOT bool offer_clocked_to(recent_filter *f, uint8_t *line, unsigned way, uint64_t value,
                          cpu_kind cpu) {
    clock_rule rule = {ways[way].front, ways[way].sweep, hit_keys_stand_twice(f, way)};
    clock_outcome outcome = CALL(offer_clocked, cpu, (&f->shape, line, value, rule));
    f->state.books.held += (uint64_t)outcome.came - outcome.gone;
    f->state.books.forgotten += outcome.gone;
    return outcome.seen;
}

/* A key and a line in the form of a way. */
HOT bool offer_formed(recent_filter *f, uint8_t *line, unsigned way, uint64_t value, cpu_kind cpu) {
    if (ways[way].form == SPREAD)
        return CALL(offer_spread_to, cpu, (f, line, value, ways[way].hold));
    if (ways[way].form == SPAN) return CALL(offer_span, cpu, (f, line, value));
    if (ways[way].form == CLOCKED) return offer_clocked_to(f, line, way, value, cpu);
    bool seen = offer_ordered(&f->ordered[way - ORDERED_MIDDLE], line, value, cpu);
    f->state.books.forgotten += !seen;
    return seen;
}

/* A key and a shared line that is no longer flat, whose header takes so many words. */
HOT bool offer_lists_here(recent_filter *f, uint8_t *line, unsigned words, unsigned n, unsigned way,
                          uint64_t value, cpu_kind cpu) {
    const shared_form *shared = &f->shape.shared;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest), form = ways[way].form;
    entry_field field = field_of(shared, n, rest);
    list_place place = find_list(line, &f->shape, words, list, cpu);
    unsigned j = find_remainder(line, shared, place, field), first = place.first;
    if (j < place.length) {
        if (j) promote(line, first + j, first, field.width, field.bits | field.mark, cpu);
        else set_mark(line, remainder_at(first, field.width), field.mark);
        return true;
    }
    unsigned full = form == CLOCKED ? f->shape.clock.entries : shared->fair;
    if (n >= full && form != SHARED && CALL(convert, cpu, (f, line, form))) {
        offer_formed(f, line, way, value, cpu);
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

NOT_HERE(bool, offer_long,
         (recent_filter * f, uint8_t *line, unsigned n, unsigned way, uint64_t value),
         (f, line, n, way, value, cpu))

/* A line in another form than that of its way changes when a new key comes, and before it does,
 * so that the key is not lost again. A clocked one becomes what it was, which is quick, and has
 * room. */
HOT void change_form_here(recent_filter *f, uint8_t *line, unsigned way, uint64_t value,
                          cpu_kind cpu) {
    unsigned old = form_of(&f->shape, read_code(line, &f->shape));
    unsigned form = old == CLOCKED ? SHARED : ways[way].form;
    if (knows(f, line, value)) return;
    if (old == SPAN) empty_line(f, line);
    else CALL(convert, cpu, (f, line, form));
}

NOT_HERE(void, change_form, (recent_filter * f, uint8_t *line, unsigned way, uint64_t value),
         (f, line, way, value, cpu))

/* A key and its line, which goes such a way when it is full. `value` is what is left of the
 * hash once it has chosen the line. */
HOT bool offer_line(recent_filter *f, uint8_t *line, unsigned way, uint64_t value, cpu_kind cpu) {
    unsigned code = read_code(line, &f->shape);
    if (ways[way].form == SPAN) {
        if (code == f->shape.span.from && !knows(f, line, value) && CALL(make_span, cpu, (f, line)))
            code = read_code(line, &f->shape);
        if (form_of(&f->shape, code) == SPAN) return offer_formed(f, line, way, value, cpu);
        way = (unsigned)f->state.late;
    }
    if (code >= f->shape.code_ordered && form_of(&f->shape, code) != ways[way].form) {
        CALL(change_form, cpu, (f, line, way, value));
        code = read_code(line, &f->shape);
    }
    if (code >= f->shape.code_ordered) {
        unsigned form = form_of(&f->shape, code);
        return offer_formed(f, line, form == ways[way].form ? way : any_way_of[form], value, cpu);
    }
    if (code > f->shape.shared.flat)
        return f->shape.shared.one_word ? offer_short_here(f, line, code, way, value, cpu)
                                        : CALL(offer_long, cpu, (f, line, code, way, value));
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    return offer_flat(f, line, code, list, rest, ways[way].front, cpu);
}

static void swap_books(recent_filter *f) {
    line_books books = f->state.books;
    f->state.books = f->state.twin_books;
    f->state.twin_books = books;
}

static inline uint8_t *twin_of(const recent_filter *f, uint64_t number, unsigned way) {
    return f->base.cells + (f->lines + number * TRIED + way - FIRST_TRIED) * LINE_BYTES;
}

/* The twins of a line get the same key; what they say is held against the winner's. */
HOT void offer_twins_here(recent_filter *f, uint64_t number, uint64_t value, bool now,
                          cpu_kind cpu) {
    bool seen[WAYS];
    swap_books(f);
    for (unsigned way = FIRST_TRIED; way < WAYS; way++)
        seen[way] = to_be_had(f, way) &&
                    offer_line(f, twin_of(f, number, way), way_in_use(f, way), value, cpu);
    swap_books(f);
    if (f->state.winner >= FIRST_TRIED) now = seen[f->state.winner];
    for (unsigned way = FIRST_TRIED; way < WAYS; way++) {
        f->state.won[way] += seen[way] & !now;
        f->state.lost[way] += !seen[way] & now;
    }
}

/* The way of rivals. */
static unsigned rival_way(const recent_filter *f) {
    if (ways[f->state.winner].hold) return SPREAD_ANY;
    if (f->state.winner != CLOCKED_KEEP) return NO_WAY;
    return f->state.sweep ? CLOCKED_KEEP : CLOCKED_SWEEP;
}

/* The rival of a line is like it until there is something to settle. */
HOT void offer_rival_here(recent_filter *f, uint64_t number, uint64_t value, bool seen,
                          cpu_kind cpu) {
    uint8_t *rival = f->base.cells + (f->lines + f->tried * TRIED + number) * LINE_BYTES;
    uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned way = rival_way(f);
    swap_books(f);
    unsigned form = form_of(&f->shape, read_code(line, &f->shape));
    if (way == NO_WAY || form != ways[f->state.winner].form) {
        copy_line(f, rival, line);
        swap_books(f);
        return;
    }
    bool rival_seen = offer_line(f, rival, way, value, cpu);
    swap_books(f);
    judge_rival(f, rival_seen, seen);
}

HOT void watch_here(recent_filter *f, uint64_t number, uint64_t hash, uint64_t value, bool seen,
                    cpu_kind cpu) {
    if (number < f->tried) offer_twins_here(f, number, value, seen, cpu);
    if (number < f->rivals) offer_rival_here(f, number, value, seen, cpu);
    count_watched(f, hash, seen);
}

/* Whether keys that were hit are hit more often than others. A hit on a key with a mark counts
 * by how many keys of the line have none, and the other way round: if all keys are alike both
 * sums grow alike. */
static void count_marked(recent_filter *f, unsigned n, unsigned marks, bool again) {
    f->state.hit_again += again ? n - marks : 0;
    f->state.hit_first += again ? 0 : marks;
}

/* Where a key that was hit stands among so many in the order in which they came. */
static void count_age(recent_filter *f, unsigned n, unsigned place) {
    int64_t twice = 2 * (int64_t)place + 1 - n;
    f->state.hit_age += (uint64_t)(twice * AGE_ONE / n);
    f->state.hits_aged++;
}

/* Of a flat line the last LATEST keys that came by are known, each by its place, in four bits. If
 * keys come as often as ever they are hit as often as those that came first. */
static void count_latest(recent_filter *f, uint64_t number, unsigned n, unsigned place, bool hit) {
    if (number >= f->notes * NOTED) return;
    uint8_t *note = f->base.cells + (f->lines + twins(f)) * LINE_BYTES + 2 * number;
    unsigned at = 0, places = n ? note[0] | (unsigned)note[1] << 8 : 0xffff;
    while (at < LATEST - 1 && (places >> 4 * at & 15) != place) at++;
    bool latest = (places >> 4 * at & 15) == place, earliest = place < LATEST;
    f->state.latest_hit += hit & latest & !earliest;
    f->state.earliest_hit += hit & earliest & !latest;
    unsigned before = places & ((1u << 4 * at) - 1), behind = places >> (4 * at + 4)
                                                                            << (4 * at + 4);
    places = behind | before << 4 | place;
    note[0] = (uint8_t)places, note[1] = (uint8_t)(places >> 8);
}

static void tell_flat(recent_filter *f, const uint8_t *line, uint64_t number, unsigned n,
                      uint64_t tag) {
    unsigned found = match_tags(line, n, tag, n > WORDS_MOST, CPU_ANY);
    unsigned marks = get_flat_marks(line, n);
    if (found || n < HALVES_MOST)
        count_latest(f, number, n, found ? (unsigned)__builtin_ctz(found) : n, found);
    if (found && n >= AGED) count_age(f, n, (unsigned)__builtin_ctz(found));
    if (found && n > WORDS_MOST)
        count_marked(f, n, (unsigned)__builtin_popcount(marks), marks & found);
}

static void tell_lists(recent_filter *f, const uint8_t *line, unsigned n, entry_field field,
                       unsigned list) {
    unsigned words = header_words(&f->shape, n), marks = 0;
    list_place place = find_list(line, &f->shape, words, list, CPU_ANY);
    unsigned j = find_remainder(line, &f->shape.shared, place, field);
    if (j == place.length) return;
    for (unsigned i = 0; i < n; i++)
        marks += (unsigned)get_bits(line, remainder_at(i, field.width), 1);
    count_marked(f, n, marks, get_bits(line, remainder_at(place.first + j, field.width), 1));
}

static void tell_clocked(recent_filter *f, const uint8_t *line, uint64_t value) {
    clock_keys clock;
    uint64_t key = clock_key(&f->shape, value);
    unsigned marks = 0;
    read_clock(line, &f->shape.clock, &clock, CPU_ANY);
    unsigned below = keys_below(&clock, key);
    if (!has_key(&clock, below, key)) return;
    for (unsigned i = 1; i <= clock.n; i++) marks += clock.keys[i] & 1;
    count_marked(f, clock.n, marks, clock.keys[below + 1] & 1);
}

/* What the line of a key tells of the stream, unless marks stand for something else there. */
static __attribute__((noinline)) void tell(recent_filter *f, uint64_t number, uint64_t value) {
    const uint8_t *line = f->base.cells + number * LINE_BYTES;
    const shared_form *shared = &f->shape.shared;
    unsigned n = read_code(line, &f->shape);
    bool front = ways[way_of_line(f, number)].front;
    uint64_t rest;
    if (is_young(f, n, front)) return;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest);
    if (n <= shared->flat) tell_flat(f, line, number, n, tag_of(shared, list, rest));
    else if (n <= shared->marked) tell_lists(f, line, n, field_of(shared, n, rest), list);
    else if (form_of(&f->shape, n) == CLOCKED && !front) tell_clocked(f, line, value);
}

/* A line in spans that is full takes no new key. So that one that comes several times in a row is
 * NEW only once, the last ones are kept beside, in a place that follows from the hash. */
HOT bool is_waiting(const recent_filter *f, uint64_t hash) {
    return f->state.winner == SPAN_HOLD && f->state.waiting[hash % WAITING_KEYS] == hash;
}
HOT bool wait_again(recent_filter *f, uint64_t hash) {
    bool waited = f->state.waiting[hash % WAITING_KEYS] == hash;
    f->state.waiting[hash % WAITING_KEYS] = hash;
    return waited;
}

/* A key whose line is watched. */
HOT bool offer_watched_here(recent_filter *f, uint64_t number, uint64_t hash, uint64_t value,
                            cpu_kind cpu) {
    tell(f, number, value);
    bool seen =
        offer_line(f, f->base.cells + number * LINE_BYTES, way_of_line(f, number), value, cpu);
    if (!seen && f->state.winner == SPAN_HOLD) seen = wait_again(f, hash);
    count_distinct(&f->state.keys, hash, !seen);
    watch_here(f, number, hash, value, seen, cpu);
    return seen;
}

NOT_HERE(bool, offer_watched, (recent_filter * f, uint64_t number, uint64_t hash, uint64_t value),
         (f, number, hash, value, cpu))

/* `may_count`: the key may be one of those that are kept for counting. */
HOT bool offer_one(recent_filter *f, uint8_t *line, uint64_t number, uint64_t hash, uint64_t value,
                   bool may_count, cpu_kind cpu) {
    if (number < f->watched) return CALL(offer_watched, cpu, (f, number, hash, value));
    bool seen = offer_line(f, line, way_in_use(f, (unsigned)f->state.winner), value, cpu);
    if (f->state.winner == SPAN_HOLD && !seen) seen = wait_again(f, hash);
    if (may_count & !seen) count_distinct(&f->state.keys, hash, true);
    return seen;
}

/* The lines of some keys: those from the i-th on that are AHEAD of it, if it is their turn, and at
 * the start those before them too. Many at once, so that the processor looks for their pages side
 * by side; into the second cache, which waits for more lines at a time than the first. */
HOT void ask_ahead(const uint8_t *cells, uint64_t lines, const weir_batch *batch, size_t i) {
    if (i % AT_ONCE) return;
    size_t end = i + AHEAD + AT_ONCE < batch->count ? i + AHEAD + AT_ONCE : batch->count;
    for (size_t j = i ? i + AHEAD : 0; j < end; j++)
        __builtin_prefetch(cells + weir__scale(batch->hashes[j], lines) * LINE_BYTES, 1, 2);
}

/* The lines of the next keys, into the first cache: how one is to be changed follows from its first
 * byte and is often guessed wrong, which is found out the sooner the nearer the byte is. */
HOT void ask_near(const uint8_t *cells, uint64_t lines, const uint64_t *hashes, unsigned some) {
    for (unsigned j = 0; j < some; j++)
        __builtin_prefetch(cells + weir__scale(hashes[j], lines) * LINE_BYTES, 1, 3);
}

/* Cells are bytes, which may be anything to the compiler: what does not change while
 * they do is kept in variables of its own. */
HOT size_t offer_all(weir_filter *base, const weir_batch *batch, uint64_t *verdicts, cpu_kind cpu) {
    recent_filter *f = (recent_filter *)base;
    const uint64_t *hashes = batch->hashes, lines = f->lines;
    uint8_t *cells = base->cells;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < count; i += AT_ONCE) {
        unsigned some = count - i < AT_ONCE ? (unsigned)(count - i) : AT_ONCE;
        ask_ahead(cells, lines, batch, i);
        ask_near(cells, lines, hashes + i, some);
        unsigned may_count = find_small(hashes + i, some, f->state.keys.limit, cpu);
        uint64_t hits = 0;
        for (unsigned j = 0; j < some; j++) {
            uint64_t hash = hashes[i + j], value, number = weir__part(hash, lines, &value);
            uint64_t hit = offer_one(f, cells + number * LINE_BYTES, number, hash, value,
                                     may_count >> j & 1, cpu);
            hits |= hit << j;
        }
        verdicts[i / 64] |= hits << i % 64;
        seen += (unsigned)__builtin_popcountll(hits);
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
        ask_ahead(f->base.cells, f->lines, batch, i);
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
    uint64_t value, number = weir__part(hash, f->lines, &value);
    return knows(f, f->base.cells + number * LINE_BYTES, value) || is_waiting(f, hash);
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const recent_filter *f = (const recent_filter *)base;
    bool is_time = base->values[OPT_WINDOW].is_time;
    int64_t now = f->base.windowed && is_time && !batch->times ? weir__clock_now() : 0;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < count; i++) {
        ask_ahead(f->base.cells, f->lines, batch, i);
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
static void unite_lists(const recent_filter *f, const uint8_t *a, const uint8_t *b,
                        line_content *both) {
    line_content other;
    unsigned n = read_code(a, &f->shape), m = read_code(b, &f->shape);
    const shared_form *form = &f->shape.shared;
    unsigned larger = n > m ? n : m, lists = form->lists;
    unsigned width = form->width[larger] - mark_of(form, larger);
    read_shared(f, a, both);
    read_shared(f, b, &other);
    for (unsigned i = 0; i < other.count; i++) {
        uint64_t rest, its_rest;
        uint64_t list = weir__part(other.value[i], lists, &rest);
        unsigned j = 0;
        while (j < n && (weir__part(both->value[j], lists, &its_rest) != list ||
                         (rest ^ its_rest) >> (64 - width) != 0))
            j++;
        if (j < n) both->mark[j] |= other.mark[i];
        if (j < n || both->count > ENTRIES_MAX) continue;
        both->mark[both->count] = other.mark[i];
        both->value[both->count++] = other.value[i];
    }
}

/* The keys of a line as spans, if so much is known of them. */
static bool add_to_spans(const recent_filter *f, const uint8_t *line, span_basis *bases) {
    const span_form *form = &f->shape.span;
    unsigned code = read_code(line, &f->shape);
    line_content content;
    if (form_of(&f->shape, code) == SPAN) {
        for (unsigned b = 0; b < form->blocks; b++) {
            span_basis basis = read_basis(line, form, b);
            for (unsigned i = 0; i < basis.n; i++) add_word(&bases[b], basis_word(&basis, i));
        }
        return true;
    }
    if (code > form->from) return false;
    read_shared(f, line, &content);
    add_content(f, &content, bases);
    return true;
}

/* What two lines hold together, if one holds it all in either form: `line` becomes that. */
static bool unite(const recent_filter *f, const uint8_t *a, const uint8_t *b, uint8_t *line) {
    const span_form *form = &f->shape.span;
    unsigned code = f->shape.code_ordered;
    line_content both;
    span_basis bases[SPAN_BLOCKS];
    if (read_code(a, &f->shape) < code && read_code(b, &f->shape) < code) {
        unite_lists(f, a, b, &both);
        write_shared(f, line, &both);
        return both.count <= f->shape.shared.fair;
    }
    empty_span(form, bases);
    if (!add_to_spans(f, a, bases) || !add_to_spans(f, b, bases)) return false;
    for (unsigned k = 0; k < form->blocks; k++)
        if (!can_write(&bases[k], form, k) || bases[k].n > kind_of(form, k)->fair) return false;
    write_span(line, form, bases);
    return true;
}

/* After a merge the twins are what their lines are. */
static void match_twins(recent_filter *f) {
    uint64_t of_ways = f->tried * TRIED;
    swap_books(f);
    for (uint64_t i = 0; i < twins(f); i++) {
        uint64_t number = i < of_ways ? i / TRIED : i - of_ways;
        copy_line(f, f->base.cells + (f->lines + i) * LINE_BYTES,
                  f->base.cells + number * LINE_BYTES);
    }
    swap_books(f);
}

/* Nothing was lost so far, and every line can still tell what it holds. */
static bool holds_all(const recent_filter *f) {
    uint64_t of_use = f->state.books.in_form[SHARED] + f->state.books.in_form[SPAN];
    return !f->state.books.forgotten && of_use == f->lines;
}

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    recent_filter *f = (recent_filter *)into;
    const recent_filter *g = (const recent_filter *)from;
    uint8_t line[LINE_BYTES];
    if (f->base.windowed)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters with a window: their clocks differ");
    bool fits = holds_all(f) && holds_all(g);
    for (uint64_t i = 0; i < f->lines && fits; i++)
        fits = unite(f, into->cells + i * LINE_BYTES, from->cells + i * LINE_BYTES, line);
    if (!fits)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters that do not hold all their keys; give "
                          "them more memory");
    if (g->state.winner == SPAN_HOLD) f->state.winner = SPAN_HOLD, f->state.late = g->state.late;
    for (uint64_t i = 0; i < f->lines; i++) {
        uint8_t *its = into->cells + i * LINE_BYTES;
        unite(f, its, from->cells + i * LINE_BYTES, line);
        copy_line(f, its, line); /* which can be paid for: up to `fair` it is set aside */
    }
    match_twins(f);
    return WEIR_OK;
}

/* ---- looking inside ---- */

/* Entries that the lines have room for, in the forms that they are in. */
static double places(const recent_filter *f) {
    const unsigned in_line[FORMS] = {
        f->shape.shared.fair,           ordered_of(f, ORDERED)->entries,
        ordered_of(f, PACKED)->entries, f->shape.clock.usual,
        f->shape.spread.most,           f->shape.span.seats};
    double sum = 0;
    for (unsigned form = 0; form < FORMS; form++)
        sum += (double)f->state.books.in_form[form] * in_line[form];
    return sum;
}

static void info(const weir_filter *base, weir_filter_info *info) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        const window_plan *plan = &f->window;
        weir__info_window(info, &base->values[OPT_WINDOW], weir__opt_whole(base, OPT_RENEW));
        info->fill = (double)f->state.window.held / ((double)f->lines * plan->groups * plan->slots);
        info->fpr_now = weir__window_fpr(plan, &f->state.window);
        info->overfull = f->state.window.forgotten > 0;
        return;
    }
    info->room = places(f);
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
    weir__detail(each, context, "freshness",
                 "1: what came last is hit; -1: what came first; 0: any, or unknown", "%.2f",
                 freshness(f));
    weir__detail(each, context, "way", "the way that full lines go", "%s",
                 ways[way_in_use(f, (unsigned)f->state.winner)].name);
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

static bool spread_is_sound(const uint8_t *line, const spread_form *form) {
    unsigned singles = count_singles(line, form), extras = count_extras(line, form);
    return singles && singles + extras <= form->most &&
           extra_at(form, extras) + singles * form->width <= LINE_BITS;
}

static bool clocked_is_sound(const line_shape *shape, const uint8_t *line) {
    clock_keys clock;
    if (!shape->clock.entries) return false;
    read_clock(line, &shape->clock, &clock, CPU_ANY);
    uint64_t last = clock.keys[clock.n] >> 1;
    return clock.n && last >> shape->clock.key_bits < shape->shared.lists;
}

static bool flat_is_sound(const shared_form *form, const uint8_t *line, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (get_tag(line, n, i) >> (64 - form->list_bits) >= form->lists) return false;
    return true;
}

static bool line_is_sound(const recent_filter *f, const uint8_t *line) {
    const shared_form *shared = &f->shape.shared;
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    if (form == SPREAD) return f->shape.spread.most && spread_is_sound(line, &f->shape.spread);
    if (form == CLOCKED) return clocked_is_sound(&f->shape, line);
    if (form == SPAN) return f->shape.span.blocks && span_is_sound(line, &f->shape.span);
    if (form != SHARED) return ordered_of(f, form)->groups;
    return code <= shared->flat ? flat_is_sound(shared, line, code)
                                : code <= shared->most && header_is_sound(f, line, code);
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
        line_price price = line_price_of(f, line);
        found.spent += price.cost, found.held += line_entries(f, line);
        found.in_form[form_of(&f->shape, read_code(line, &f->shape))]++;
        beyond += price.beyond;
    }
    found.pool = count * (COST_ONE - f->fair) - beyond;
    return beyond <= count * (COST_ONE - f->fair) && memcmp(&found, books, sizeof found) == 0
               ? WEIR_OK
               : weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

static weir_status check(const weir_filter *base, weir_error *err) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->state.layout != LAYOUT)
        return weir__fail(err, WEIR_ERR_VERSION, -1,
                          "its lines are written in another way than this version writes them; "
                          "make it again");
    if (f->base.windowed) return check_window(f, err);
    weir_status status = check_lines(f, 0, f->lines, &f->state.books, err);
    if (status == WEIR_OK) status = check_lines(f, f->lines, twins(f), &f->state.twin_books, err);
    if (status != WEIR_OK) return status;
    bool sound = f->state.winner < WAYS && to_be_had(f, (unsigned)f->state.winner) &&
                 f->state.keys.count <= SMALLEST && f->state.keys_hit.count <= SMALLEST &&
                 f->state.sweep <= 1 &&
                 (f->state.winner != SPAN_HOLD ||
                  (f->state.late < WAYS && ways[f->state.late].form == SPREAD));
    return sound ? WEIR_OK : weir__fail(err, WEIR_ERR_CORRUPT, -1, "%s", disagreement);
}

static double fnr_of_ordered(const recent_filter *f, const ordered_form *form,
                             const weir_stream_model *model) {
    double eps = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    weir__recent_way way = {(double)f->lines * form->groups, form->slots,
                            (double)form->wide / form->groups};
    return weir__recent_lru_fnr(&way, eps, model);
}

/* The best of the ways that there are formulas for; recent_theory.c has them. */
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
