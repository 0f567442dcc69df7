/* recent.c - the default filter: keys in recency order, as many as the rate allows.
 *
 * Question   has this key come by, as far back as the memory can tell?
 * Idea       the hash chooses one line of 512 bits, and the line alone decides. It
 *            keeps what is left of the hash, whole while there is room (so the
 *            answers are exact), then shorter and shorter as keys come in, and
 *            only when the false positive rate allows no shorter does a key have
 *            to go for each one that comes. How a full line keeps its keys in order
 *            and which one goes is settled by a contest between five ways.
 * Parameters L lines, e the bound on false positives. For each e the shape of a
 *            line is planned by search; see the table below.
 * Error      false positives: at most e for the next new key, at any instant.
 *            False negatives: none while keys fit; then as few as we know how.
 * Cost       one line per key; a batch asks for its lines ahead.
 * Layout     recent_line.h has the two forms of a line, bit by bit; with `window`
 *            the lines are those of recent_window.c.
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
 * 1 + Q/n + log2(n/Q) on top, two bits at n = Q. An ordered group of s slots pays
 * log2(s) on top. Keys in a line, beside the oracle's 512 / (log2(1/e) + 2) and the
 * limit's 512 / log2(1/e):
 *
 *     e         flat    then cut at    full  ordered          packed       oracle  limit
 *     10%       8  15   19  31  54       95   99 in 31 groups  126 in 79     96.2  154.1
 *     1%        8  15   20  34           58   56 in 12          72 in 57     59.2   77.1
 *     0.1%      8  15   23               42   42 in 11          50 in 49     42.8   51.4
 *     0.0001%   8  15                    23   23 in 6           25 in 24     23.3   25.7
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
 * Five ways compete: shared lines entered behind the first or at the front, ordered
 * groups entered in the middle or at the front, and packed groups, mostly of one slot.
 * Shared lines win when keys nearly fit, since nothing is lost to groups that fill
 * unevenly; ordered ones win on skewed streams under pressure; packed ones, which pay
 * nothing on top of log2(1/e) bits, when keys are many and all alike.
 *
 * What to begin with is read off the stream: distinct keys are counted (by their
 * smallest hashes), and so are the hits for each key that was hit. If those are fewer
 * than ONCE_MORE, keys are alike: lines are packed from PACKED_FROM keys for each place
 * on, and where repeats are rare as well keys enter at the front, of groups from
 * FRONT_FROM on, since these forget in order. If they are more, lines are ordered from
 * ORDERED_FROM on.
 *
 * The contest then decides. One line in 32 (up to 256 in larger filters) leads for each
 * way: it goes that way when full. Keys fall to lines by hash, so all leaders get equally
 * many really new keys, and the way whose leaders give fewer NEW verdicts has caught
 * more repeats: hot keys, which are always hit, do not blur the count as they would a
 * count of hits. When the lead is three standard deviations, the other lines follow,
 * each when it next misses. The lead is looked at so often that chance alone gives three
 * in the end: large filters, which have much to rewrite, wait for five. Streams change: what
 * is older than two fillings of the leading lines counts half, and half again.
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
 * Measured rather than derived: KEEP_FIRSTS, the middle as the place to enter,
 * ORDERED_FROM, PACKED_FROM, FRONT_FROM, RARE, ONCE_MORE, ENOUGH, SHORT_HORIZON, the
 * shares of leaders, AHEAD.
 */
#include "filter/recent_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "filter/filter.h"
#include "filter/recent_theory.h"
#include "filter/recent_window.h"

enum { OPT_WINDOW = WEIR__OPT_OWN, OPT_RENEW };
enum { SHARED, ORDERED, PACKED, FORMS }; /* what a line can look like */
static const char *const form_names[FORMS] = {"shared", "ordered", "packed"};

/* The ways that compete: a form, and where a new key enters in it. */
enum { SHARED_BEHIND, SHARED_FRONT, ORDERED_MIDDLE, ORDERED_FRONT, PACKED_ANY, WAYS };
static const struct {
    uint8_t form;
    bool front;
    const char *name;
} ways[WAYS] = {{SHARED, false, "shared_behind"},
                {SHARED, true, "shared_front"},
                {ORDERED, false, "ordered_middle"},
                {ORDERED, true, "ordered_front"},
                {PACKED, true, "packed"}};

#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */
#define AHEAD 24u                    /* lines asked for ahead of the one at work */
#define KEEP_FIRSTS 44u              /* see "who goes" */
#define FEW_LINES 512u               /* too few to tell one way from another */
#define MANY_LINES 65536u            /* enough for every 64th to be many */
#define LARGE (UINT64_C(1) << 18)    /* changing so many lines takes more than a whim */
#define ORDERED_FROM 2.2             /* keys for each place, from which on groups are full, */
#define PACKED_FROM 3.0              /* and so are groups of one */
#define RARE 8u                      /* fewer than one hit in so many verdicts, and */
#define ONCE_MORE 2.5                /* hits for each key that is hit: see "who goes" */
#define FRONT_FROM 1.45      /* keys for each place, from which on rare ones are in groups */
#define SHORT_HORIZON 20000u /* verdicts that the contest keeps in mind at least */
#define ENOUGH 1000u         /* verdicts before the contest says anything */
#define SMALLEST 64u         /* hashes kept for counting distinct keys */

/* Counts distinct keys, roughly: of n uniform words the SMALLEST-th smallest is about
 * SMALLEST / n of the range. State words only. */
typedef struct {
    uint64_t count;
    uint64_t limit;              /* words above this do not matter */
    uint64_t smallest[SMALLEST]; /* in order */
} distinct_counter;

typedef struct {
    weir_filter base;
    uint64_t lines;
    uint64_t fair;        /* the cost that every line may have */
    bool contest;         /* there are lines enough for one */
    uint64_t horizon;     /* NEW verdicts after which the contest counts older ones half */
    unsigned duel_period; /* one line in so many leads for each way; a power of two */
    line_shape shape;
    ordered_form ordered[WAYS - ORDERED_MIDDLE]; /* of those ways; no groups: not to be had */
    window_plan window;
    struct {
        uint64_t rng;
        uint64_t spent;        /* sum of the costs of all lines */
        uint64_t pool;         /* what is left for lines that cost more than `fair` */
        uint64_t held;         /* entries in all lines */
        uint64_t forgotten;    /* entries that had to go */
        uint64_t winner;       /* the way of the lines without a task of their own */
        uint64_t decided;      /* 1: by the contest; 0: by what is known of the stream */
        uint64_t misses[WAYS]; /* NEW verdicts in the lines that lead */
        uint64_t hits;         /* SEEN verdicts there */
        uint64_t in_form[FORMS];
        distinct_counter keys, keys_hit; /* all of them; those that were hit in leading lines */
        window_state window;
    } state;
} recent_filter;

static inline ordered_form *ordered_way(recent_filter *f, unsigned way) {
    return &f->ordered[way - ORDERED_MIDDLE];
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

/* The shared and the ordered form together: a key's values in both must be parts
 * of one another, lists = groups * 2^j and width + j >= bits, or each change of
 * form would lose half of what it knows. */
static void plan_forms(recent_filter *f, double eps) {
    double best = 0;
    unsigned room = LINE_BITS - f->shape.code_bits;
    for (unsigned bits = 3; bits <= GROUP_MAX / 3; bits++)
        for (unsigned groups = 1; groups <= room / bits / 3; groups++) {
            ordered_form ordered;
            if (!fill_ordered(&ordered, &f->shape, groups, bits, eps, false)) continue;
            if (ordered.entries < 3 * groups || ordered.slots > 6) continue;
            for (unsigned j = 0, lists; lists = groups << j, lists <= room / 3; j++) {
                shared_form shared;
                fill_shared(&shared, &f->shape, lists, eps);
                double score = shared.fair + ordered.entries * 0.5;
                if (shared.width[shared.fair] + j < bits || score <= best) continue;
                best = score, f->shape.shared = shared, *ordered_way(f, ORDERED_MIDDLE) = ordered;
            }
        }
    if (best > 0) return;
    for (unsigned lists = 4; lists <= room / 3; lists++) {
        shared_form shared;
        fill_shared(&shared, &f->shape, lists, eps);
        double score = shared.fair;
        if (score > best) best = score, f->shape.shared = shared;
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

/* More leaders tell more, and cost more where their way is not the best. */
static unsigned duel_period_of(uint64_t lines) {
    if (lines < FEW_LINES) return 8;
    return lines < 8192 ? 32 : lines < 32768 ? 64 : lines < LARGE ? 128 : 256;
}

static weir_status create(weir_filter *base, weir_error *err) {
    recent_filter *f = (recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR);
    f->lines = weir__opt_whole(base, WEIR__OPT_MEMORY) / LINE_BYTES;
    f->shape.code_bits = 5;
    while ((1u << f->shape.code_bits) - FORMS < LINE_BITS / (log2(1 / eps) + 2) + 1.5)
        f->shape.code_bits++;
    f->shape.code_ordered = (1u << f->shape.code_bits) - FORMS + 1;
    plan_forms(f, eps);
    plan_packed(f, eps);
    const ordered_form *middle = ordered_way(f, ORDERED_MIDDLE);
    if (middle->groups)
        fill_ordered(ordered_way(f, ORDERED_FRONT), &f->shape, middle->groups, middle->bits, eps,
                     true);
    f->fair = f->shape.shared.cost[f->shape.shared.fair];
    for (unsigned way = ORDERED_MIDDLE; way < WAYS; way++)
        if (ordered_way(f, way)->cost > f->fair) f->fair = ordered_way(f, way)->cost;
    f->contest = f->lines >= FEW_LINES;
    f->duel_period = duel_period_of(f->lines);
    uint64_t leaders = f->lines / f->duel_period;
    f->horizon = 2 * leaders * f->shape.shared.fair;
    if (f->horizon < SHORT_HORIZON) f->horizon = SHORT_HORIZON;
    f->base.windowed = weir__opt_given(base, OPT_WINDOW);
    if (weir__opt_given(base, OPT_RENEW) && weir__opt_whole(base, OPT_RENEW) && !f->base.windowed)
        return weir__opt_fail(base, OPT_RENEW, err, "'renew' is about a window; give 'window' too");
    if (f->base.windowed) plan_window(f, eps);
    return weir__filter_map(base, f->lines * LINE_BYTES, err);
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
    f->state.pool = f->lines * (COST_ONE - f->fair);
    f->state.in_form[SHARED] = f->lines;
    f->state.keys.limit = f->state.keys_hit.limit = UINT64_MAX;
}

/* ---- which way a line should go ---- */

static inline unsigned leads_for(const recent_filter *f, uint64_t line) {
    unsigned place = (unsigned)(line & (f->duel_period - 1));
    return place < WAYS ? place : WAYS;
}

static inline bool to_be_had(const recent_filter *f, unsigned way) {
    return ways[way].form == SHARED || f->ordered[way - ORDERED_MIDDLE].groups;
}

static inline unsigned wanted_way(const recent_filter *f, uint64_t line) {
    unsigned way = f->contest ? leads_for(f, line) : WAYS;
    if (way == WAYS) way = (unsigned)f->state.winner;
    return to_be_had(f, way) ? way : SHARED_BEHIND;
}

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

/* The way to begin with, before the contest has anything to say. */
static unsigned likely_way(const recent_filter *f) {
    uint64_t verdicts = f->state.hits;
    for (unsigned i = 0; i < WAYS; i++) verdicts += f->state.misses[i];
    bool once = (double)f->state.hits < ONCE_MORE * distinct(&f->state.keys_hit);
    double crowd = crowding(f);
    if (once && f->state.hits * RARE < verdicts && crowd < 2 * PACKED_FROM)
        return crowd > FRONT_FROM && to_be_had(f, ORDERED_FRONT) ? ORDERED_FRONT : SHARED_FRONT;
    if (once && crowd > PACKED_FROM) return PACKED_ANY;
    return !once && crowd > ORDERED_FROM && to_be_had(f, ORDERED_MIDDLE) ? ORDERED_MIDDLE
                                                                         : SHARED_BEHIND;
}

/* How far `way` is ahead of the one in use, in standard deviations. */
static double lead_of(const recent_filter *f, unsigned way) {
    const uint64_t *m = f->state.misses, now = f->state.winner;
    double leaders = (double)f->lines / f->duel_period;
    /* of the verdicts, and of the keys that happen to fall to the leading lines */
    double noise = sqrt((double)(m[now] + m[way])) + 0.04 * (double)m[now] / sqrt(leaders);
    return ((double)m[now] - (double)m[way]) / noise;
}

/* Every NEW verdict in a leading line counts against its way. */
__attribute__((noinline)) static void judge(recent_filter *f) {
    uint64_t *m = f->state.misses, now = f->state.winner, best = now;
    if (!f->state.decided) f->state.winner = now = best = likely_way(f);
    if (!f->contest) return;
    for (unsigned i = 0; i < WAYS; i++)
        if (to_be_had(f, i) && m[i] < m[best]) best = i;
    double sure = f->lines < LARGE ? 3 : 5;
    if (best != now && m[best] > ENOUGH && lead_of(f, (unsigned)best) > sure) {
        f->state.winner = best;
        f->state.decided = 1;
    }
    /* After long overload, where the shared form is no better the others are faster;
     * in a small filter there are too few leaders to say so and speed matters less. */
    unsigned other = ways[now].front ? ORDERED_FRONT : ORDERED_MIDDLE;
    if (ways[f->state.winner].form == SHARED && to_be_had(f, other) && f->lines >= MANY_LINES &&
        f->state.forgotten / f->lines > f->shape.shared.fair && lead_of(f, other) > -1) {
        f->state.winner = other;
        f->state.decided = 1;
    }
    if (m[now] <= f->horizon) return;
    for (unsigned i = 0; i < WAYS; i++) m[i] /= 2;
}

/* Whether the line leads and its verdicts count. Known before the verdict is. */
static inline bool is_watched(const recent_filter *f, uint64_t line) {
    return (leads_for(f, line) < WAYS) & (f->state.forgotten >= f->lines);
}

__attribute__((noinline)) static void count_leader(recent_filter *f, uint64_t line, uint64_t hash,
                                                   bool seen) {
    if (seen) {
        f->state.hits++;
        count_distinct(&f->state.keys_hit, hash, true);
    } else if (++f->state.misses[leads_for(f, line)] % 256 == 0) {
        judge(f);
    }
}

static inline void count_verdict(recent_filter *f, uint64_t line, uint64_t hash, bool seen) {
    count_distinct(&f->state.keys, hash, !seen);
    if (is_watched(f, line)) count_leader(f, line, hash, seen);
}

/* An ordered form by its number; the ways that share it have the same places. */
static inline const ordered_form *ordered_of(const recent_filter *f, unsigned form) {
    return &f->ordered[form == ORDERED ? 0 : PACKED_ANY - ORDERED_MIDDLE];
}

static uint64_t line_cost(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? f->shape.shared.cost[code]
                                        : ordered_of(f, code - f->shape.code_ordered + 1)->cost;
}
static unsigned line_entries(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? code
                                        : ordered_of(f, code - f->shape.code_ordered + 1)->entries;
}

/* Charge a line's change from one cost to another, if that can be paid. What a
 * line costs up to `fair` is set aside for it; only what goes beyond comes out of
 * the pool, so no line can take what others will need. */
static inline bool pay(recent_filter *f, uint64_t from, uint64_t to) {
    uint64_t back = from > f->fair ? from - f->fair : 0, out = to > f->fair ? to - f->fair : 0;
    if (out > back && out - back > f->state.pool) return false;
    f->state.pool += back - out;
    f->state.spent += to - from;
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
HOT void write_lists(const recent_filter *f, uint8_t *line, const list_entry *entries, unsigned n) {
    unsigned width = f->shape.shared.width[n];
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

HOT void write_shared(const recent_filter *f, uint8_t *line, const line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned n = content->count < form->most ? content->count : form->most;
    list_entry entries[ENTRIES_MAX + 1];
    for (unsigned i = 0; i < n; i++)
        entries[i].list = (unsigned)weir__part(content->value[i], form->lists, &entries[i].rest);
    memset(line, 0, LINE_BYTES);
    if (n <= form->flat) write_flat(f, line, entries, n);
    else write_lists(f, line, entries, n);
}

HOT void write_ordered(recent_filter *f, const ordered_form *form, unsigned code, uint8_t *line,
                       const line_content *content) {
    uint8_t used[ENTRIES_MAX + 1] = {0};
    wide_word groups[ENTRIES_MAX + 1] = {0};
    memset(line, 0, LINE_BYTES);
    for (unsigned i = 0; i < content->count; i++) {
        uint64_t rest;
        unsigned g = (unsigned)weir__part(content->value[i], form->groups, &rest);
        if (used[g] == form->slots - (g >= form->wide)) continue;
        groups[g] |= (wide_word)(rest >> (64 - form->bits)) << used[g]++ * form->bits;
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
}

/* Rewrite a line in another form, if the budget allows it. */
HOT bool convert_here(recent_filter *f, uint8_t *line, unsigned form) {
    unsigned old = read_code(line, &f->shape);
    unsigned old_form = old < f->shape.code_ordered ? SHARED : old - f->shape.code_ordered + 1;
    line_content content;
    unsigned most = f->shape.shared.most;
    if (old_form != SHARED && ordered_of(f, old_form)->entries < most)
        most = ordered_of(f, old_form)->entries;
    uint64_t cost = form == SHARED ? f->shape.shared.cost[most] : ordered_of(f, form)->cost;
    if (!pay(f, line_cost(f, old), cost)) return false;
    if (old_form == SHARED) read_shared(f, line, &content);
    else read_ordered(ordered_of(f, old_form), line, &content);
    if (form == SHARED) write_shared(f, line, &content);
    else write_ordered(f, ordered_of(f, form), f->shape.code_ordered + form - 1, line, &content);
    unsigned code = read_code(line, &f->shape);
    f->state.held += (uint64_t)line_entries(f, code) - line_entries(f, old);
    f->state.in_form[old_form]--;
    f->state.in_form[form]++;
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
        f->state.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n);
    bool long_only = front | ((dice & 63) < KEEP_FIRSTS);
    unsigned bit = next_end(line, &f->shape, words, n, start, long_only);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    unsigned out = entries_before(line, &f->shape, words, bit);
    exchange_entry(line, words, width, place.head, at, bit, out, rest >> (64 - width), cpu);
    f->state.forgotten++;
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
    f->state.held++;
    if (n == WORDS_MOST || n == form->flat) {
        CALL(outgrow, cpu, (f, line, n, list, rest));
        return false;
    }
    put_tag(line, n, tag);
    line[0] = (uint8_t)(n + 1);
    return false;
}

/* A key and a shared line that is no longer flat, whose header takes so many words. */
HOT bool offer_lists_here(recent_filter *f, uint8_t *line, unsigned words, unsigned n,
                          uint64_t number, uint64_t hash, uint64_t value, cpu_kind cpu) {
    const shared_form *shared = &f->shape.shared;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest), width = shared->width[n];
    list_place place = find_list(line, &f->shape, words, list, cpu);
    unsigned j = find_remainder(line, shared, place, width, rest >> (64 - width));
    bool seen = j < place.length;
    count_verdict(f, number, hash, seen);
    if (seen) {
        if (j) promote(line, place.first + j, place.first, width, rest >> (64 - width), cpu);
        return true;
    }
    unsigned way = wanted_way(f, number);
    if (n >= shared->fair && ways[way].form != SHARED &&
        CALL(convert, cpu, (f, line, ways[way].form))) {
        offer_ordered(&f->ordered[way - ORDERED_MIDDLE], line, value, cpu);
        f->state.forgotten++;
        return false;
    }
    enter_shared(f, line, words, n, place, rest, ways[way].front, cpu);
    return false;
}

HOT bool offer_short_here(recent_filter *f, uint8_t *line, unsigned n, uint64_t number,
                          uint64_t hash, uint64_t value, cpu_kind cpu) {
    return offer_lists_here(f, line, 1, n, number, hash, value, cpu);
}
HOT bool offer_long_here(recent_filter *f, uint8_t *line, unsigned n, uint64_t number,
                         uint64_t hash, uint64_t value, cpu_kind cpu) {
    unsigned words = header_words(&f->shape, n + 1); /* it may grow */
    return offer_lists_here(f, line, words, n, number, hash, value, cpu);
}

NOT_HERE(bool, offer_short,
         (recent_filter * f, uint8_t *line, unsigned n, uint64_t number, uint64_t hash,
          uint64_t value),
         (f, line, n, number, hash, value, cpu))
NOT_HERE(bool, offer_long,
         (recent_filter * f, uint8_t *line, unsigned n, uint64_t number, uint64_t hash,
          uint64_t value),
         (f, line, n, number, hash, value, cpu))

/* `value` is what is left of the hash once it has chosen line number `number`. */
HOT bool offer_one(recent_filter *f, uint8_t *line, uint64_t number, uint64_t hash, uint64_t value,
                   cpu_kind cpu) {
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        unsigned form = code - f->shape.code_ordered + 1, way = wanted_way(f, number);
        bool its_own = ways[way].form == form;
        bool seen = offer_ordered(its_own ? &f->ordered[way - ORDERED_MIDDLE] : ordered_of(f, form),
                                  line, value, cpu);
        count_verdict(f, number, hash, seen);
        f->state.forgotten += !seen;
        if (!its_own & !seen) CALL(convert, cpu, (f, line, ways[way].form));
        return seen;
    }
    if (code > f->shape.shared.flat)
        return f->shape.shared.one_word
                   ? CALL(offer_short, cpu, (f, line, code, number, hash, value))
                   : CALL(offer_long, cpu, (f, line, code, number, hash, value));
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    bool seen = offer_flat(f, line, code, list, rest, cpu);
    count_verdict(f, number, hash, seen);
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
        bool hit = offer_one(f, cells + number * LINE_BYTES, number, hashes[i], value, cpu);
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
    if (code >= f->shape.code_ordered) {
        const ordered_form *form = ordered_of(f, code - f->shape.code_ordered + 1);
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

static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    recent_filter *f = (recent_filter *)into;
    const recent_filter *g = (const recent_filter *)from;
    line_content both;
    if (f->base.windowed)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "cannot merge 'recent' filters with a window: their clocks differ");
    bool fits = !f->state.forgotten && !g->state.forgotten &&
                f->state.in_form[SHARED] == f->lines && g->state.in_form[SHARED] == f->lines;
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
        f->state.held += both.count - old;
    }
    return WEIR_OK;
}

/* ---- looking inside ---- */

static void info(const weir_filter *base, weir_filter_info *info) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) {
        const window_plan *plan = &f->window;
        info->fill = (double)f->state.window.held / ((double)f->lines * plan->groups * plan->slots);
        info->fpr_now = weir__window_fpr(plan, &f->state.window);
        info->overfull = f->state.window.forgotten > 0;
        return;
    }
    double fill = (double)f->state.held / ((double)f->lines * f->shape.shared.fair);
    info->fill = fill < 1 ? fill : 1;
    info->fpr_now =
        (double)f->state.spent / ((double)f->lines * (double)COST_ONE) * info->fpr_bound;
    info->overfull = f->state.forgotten > 0;
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
    const shared_form *shared = &f->shape.shared;
    weir__detail(each, context, "lines", "lines of 64 bytes", "%llu", (unsigned long long)f->lines);
    weir__detail(each, context, "held", "keys remembered", "%llu",
                 (unsigned long long)f->state.held);
    weir__detail(each, context, "room", "keys that can be remembered", "%llu",
                 (unsigned long long)f->lines * shared->fair);
    weir__detail(each, context, "forgotten", "keys that had to go", "%llu",
                 (unsigned long long)f->state.forgotten);
    weir__detail(each, context, "crowding", "distinct keys so far for each one of that room",
                 "%.2f", crowding(f));
    weir__detail(each, context, "hits_per_key", "for each key that was hit, in leading lines",
                 "%.2f", f->state.hits ? (double)f->state.hits / distinct(&f->state.keys_hit) : 0);
    weir__detail(each, context, "way", "the way that full lines go", "%s",
                 ways[f->state.winner].name);
    weir__detail(each, context, "way_by", "what chose it", "%s",
                 f->state.decided ? "contest" : "stream");
    for (unsigned i = 0; i < FORMS; i++) {
        char name[32], meaning[80];
        snprintf(name, sizeof name, "%s_lines", form_names[i]);
        snprintf(meaning, sizeof meaning, "share of the lines in the %s form", form_names[i]);
        weir__detail(each, context, name, meaning, "%.4f",
                     (double)f->state.in_form[i] / (double)f->lines);
    }
    for (unsigned i = 0; i < WAYS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_misses", ways[i].name);
        weir__detail(each, context, name, "NEW verdicts in the lines that lead for this way",
                     "%llu", (unsigned long long)f->state.misses[i]);
    }
}

/* ---- checking what was loaded ---- */

/* A shared line's header must close its last list exactly where n says. */
static bool header_is_sound(const recent_filter *f, const uint8_t *line, unsigned n) {
    if (n <= f->shape.shared.flat) return true;
    unsigned zeros = 0, end = f->shape.code_bits + f->shape.shared.lists + n;
    for (unsigned bit = f->shape.code_bits; bit < end; bit++) zeros += !get_bits(line, bit, 1);
    return zeros == f->shape.shared.lists && !get_bits(line, end - 1, 1);
}

static weir_status check_window(const recent_filter *f, weir_error *err) {
    uint64_t held = weir__window_held(f->base.cells, &f->window);
    const window_state *state = &f->state.window;
    if (held == state->held && state->sweep < f->lines && state->swept <= f->window.quota)
        return WEIR_OK;
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the lines do not agree with the counts");
}

static weir_status check(const weir_filter *base, weir_error *err) {
    const recent_filter *f = (const recent_filter *)base;
    if (f->base.windowed) return check_window(f, err);
    uint64_t spent = 0, beyond = 0, held = 0, in_form[FORMS] = {0};
    for (uint64_t i = 0; i < f->lines; i++) {
        const uint8_t *line = base->cells + i * LINE_BYTES;
        unsigned code = read_code(line, &f->shape);
        bool shared = code < f->shape.code_ordered;
        unsigned form = shared ? SHARED : code - f->shape.code_ordered + 1;
        if (shared ? code > f->shape.shared.most || !header_is_sound(f, line, code)
                   : !ordered_of(f, form)->groups)
            return weir__fail(err, WEIR_ERR_CORRUPT, (int64_t)(i * LINE_BYTES),
                              "line %llu of the filter is not in any form", (unsigned long long)i);
        uint64_t cost = line_cost(f, code);
        spent += cost, held += line_entries(f, code), in_form[form]++;
        beyond += cost > f->fair ? cost - f->fair : 0;
    }
    bool sound = spent == f->state.spent && held == f->state.held && f->state.winner < WAYS &&
                 f->state.keys.count <= SMALLEST && f->state.keys_hit.count <= SMALLEST &&
                 beyond + f->state.pool == f->lines * (COST_ONE - f->fair) &&
                 memcmp(in_form, f->state.in_form, sizeof in_form) == 0;
    return sound ? WEIR_OK
                 : weir__fail(err, WEIR_ERR_CORRUPT, -1, "the lines do not agree with the counts");
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
