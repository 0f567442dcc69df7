#include <math.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/recent_line.h"

enum { OPT_WINDOW = WEIR__OPT_OWN, OPT_RENEW };
enum { SHARED, ORDERED, PACKED, FORMS }; /* the forms that compete */

#ifdef RECENT_TUNE
double tune_limit = 2; int tune_mix = 64; int tune_force = -1; int tune_enter=1;
#else
#define tune_limit 2.0
#define tune_mix 64
#define tune_force (-1)
#define tune_enter 1
#endif

#define COST_ONE (UINT64_C(1) << 24) /* the cost of a line that matches at the bound exactly */
#define AHEAD 24u                    /* lines asked for ahead of the one at work */

typedef struct {
    weir_filter base;
    uint64_t lines;
    uint64_t fair; /* the cost that every line may have */
    unsigned duel_period; /* one line in so many leads for each form */
    line_shape shape;
    ordered_form ordered[FORMS]; /* [SHARED] is not used */
    struct {
        uint64_t rng;
        uint64_t spent;         /* sum of the costs of all lines */
        uint64_t pool;          /* what is left to lines that cost more than `fair` */
        uint64_t held;          /* entries in all lines */
        uint64_t forgotten;     /* entries that had to go */
        uint64_t winner;        /* the form that lines without a task of their own take */
        uint64_t misses[FORMS]; /* NEW verdicts in the lines that lead */
        uint64_t in_form[FORMS];
    } state;
} recent_filter;

/* ---- planning ---- */

static uint64_t cost_of(double match, double eps) {
    return (uint64_t)ceil(match / eps * (double)COST_ONE);
}

static double shared_match(unsigned n, unsigned lists, unsigned width) {
    return n / (lists * ldexp(1, (int)width));
}

/* Entries that a line holds on average when the whole filter just meets eps. */
static double shared_capacity(unsigned room, unsigned lists, double eps) {
    double below_n = 0, below = 0;
    for (unsigned width = WIDTH_MAX; width >= 1; width--) {
        unsigned n = (room - lists) / (width + 1);
        double match = shared_match(n, lists, width);
        if (match > eps)
            return below_n + (n > below_n ? (n - below_n) * (eps - below) / (match - below) : 0);
        below_n = n, below = match;
    }
    return below_n;
}

static void plan_shared(line_shape *shape, double eps) {
    shared_form *form = &shape->shared;
    unsigned room = LINE_BITS - shape->code_bits;
    double best = 0;
    for (unsigned lists = 8; lists < ENTRIES_MAX && lists < room - 64; lists++) {
        double capacity = shared_capacity(room, lists, eps);
        if (capacity > best + 1e-9) best = capacity, form->lists = lists;
    }
    /* Widths from wide to narrow. Far from the bound they go down in strides, as
     * each step rewrites the line; near it by single bits, as each one counts. */
    unsigned width = WIDTH_MAX, n = 0, narrowest = WIDTH_MAX;
    unsigned top = shape->code_ordered - 1;
    while (narrowest > 1 && shared_match((room - form->lists) / (narrowest + 1) + 1, form->lists, narrowest - 1) <= tune_limit * eps &&
        (room - form->lists) / (narrowest + 1) < top) narrowest--;
    for (;;) {
        unsigned fits = (room - form->lists) / (width + 1);
        if (fits > top) fits = top;
        for (; n <= fits; n++) {
            double match = shared_match(n, form->lists, width);
            if (match > tune_limit * eps) break;
            form->width[n] = (uint8_t)width;
            form->cost[n] = cost_of(match, eps);
            form->most = n;
        }
        if (width == narrowest) break;
        unsigned next = width * 3 / 4;
        width = next > narrowest + 2 ? next : width > narrowest + 2 ? narrowest + 2 : width - 1;
    }
    form->width[0] = form->width[1];
}

/* The narrowest fingerprints with at least `depth` slots a group on average. */
static bool plan_ordered(ordered_form *form, const line_shape *shape, double eps, double depth) {
    unsigned room = LINE_BITS - shape->code_bits;
    for (unsigned bits = 2; bits < 64; bits++) {
        unsigned entries = room / bits < ENTRIES_MAX ? room / bits : ENTRIES_MAX;
        unsigned groups = (unsigned)ceil(entries / (eps * ldexp(1, (int)bits)));
        if (!groups || entries < depth * groups) continue;
        unsigned slots = (entries + groups - 1) / groups;
        if (slots * bits > WINDOW_MAX) return false;
        form->groups = groups, form->bits = bits, form->slots = slots, form->entries = entries;
        form->wide = entries - groups * (slots - 1);
        form->enter = slots / 2;
        form->cost = cost_of(entries / (groups * ldexp(1, (int)bits)), eps);
        return true;
    }
    return false;
}

static weir_status create(weir_filter *base, weir_error *err) {
    recent_filter *f = (recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR);
    f->lines = weir__opt_whole(base, WEIR__OPT_MEMORY) / LINE_BYTES;
    f->shape.code_bits = LINE_BITS / (log2(1 / eps) + 1) < 56 ? 6 : 8;
    f->shape.code_ordered = (1u << f->shape.code_bits) - FORMS;
    plan_shared(&f->shape, eps);
    for (unsigned n = 0; n <= f->shape.shared.most; n++)
        if (f->shape.shared.cost[n] <= COST_ONE) f->fair = f->shape.shared.cost[n];
    plan_ordered(&f->ordered[ORDERED], &f->shape, eps, 3);
    plan_ordered(&f->ordered[PACKED], &f->shape, eps, 1.5);
    f->duel_period = f->lines < 4096 ? 12 : f->lines < 65536 ? 24 : 48;
    return weir__filter_map(base, f->lines * LINE_BYTES, err);
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
    f->state.pool = f->lines * (COST_ONE - f->fair);
    f->state.in_form[SHARED] = f->lines;
}

/* ---- which form a line should have ---- */

static inline unsigned leads_for(const recent_filter *f, uint64_t line) {
    unsigned place = (unsigned)(line % f->duel_period);
    return place < FORMS ? place : FORMS;
}

static inline unsigned wanted_form(const recent_filter *f, uint64_t line) {
    if (tune_force >= 0) return (unsigned)tune_force;
    unsigned form = leads_for(f, line);
    if (form == FORMS) form = (unsigned)f->state.winner;
    return f->ordered[form].groups || form == SHARED ? form : SHARED;
}

/* Every NEW verdict in a leading line counts against its form. */
static void judge(recent_filter *f) {
    uint64_t *m = f->state.misses, now = f->state.winner, best = now;
    for (unsigned i = 0; i < FORMS; i++)
        if (m[i] < m[best]) best = i;
    double lead = (double)m[now] - (double)m[best];
    if (lead > 3 * sqrt((double)(m[now] + m[best]))) f->state.winner = best;
    if (m[now] > 100000)
        for (unsigned i = 0; i < FORMS; i++) m[i] /= 2;
}

static inline void count_miss(recent_filter *f, uint64_t line) {
    unsigned form = leads_for(f, line);
    if (form < FORMS && ++f->state.misses[form] % 256 == 0) judge(f);
}

static uint64_t line_cost(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? f->shape.shared.cost[code]
                                        : f->ordered[code - f->shape.code_ordered].cost;
}
static unsigned line_entries(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? code : f->ordered[code - f->shape.code_ordered].entries;
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

static void add_rank(line_content *content, unsigned rank, const uint8_t *ranks,
                     const uint64_t *values, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        if (ranks[i] == rank) content->value[content->count++] = values[i];
}

static void sort_by_rank(line_content *content, const uint8_t *ranks, const uint64_t *values,
                         unsigned n) {
    content->count = 0;
    for (unsigned rank = 0; content->count < n; rank++) add_rank(content, rank, ranks, values, n);
}

static void read_shared(const recent_filter *f, const uint8_t *line, line_content *content) {
    unsigned n = read_code(line, &f->shape), lists = f->shape.shared.lists;
    unsigned width = f->shape.shared.width[n], i = 0;
    uint8_t ranks[ENTRIES_MAX + 1];
    uint64_t values[ENTRIES_MAX + 1];
    unsigned bit = f->shape.code_bits;
    for (unsigned list = 0; list < lists; list++, bit++)
        for (unsigned rank = 0; get_bits(line, bit, 1); bit++, i++) {
            ranks[i] = (uint8_t)rank++;
            values[i] = value_of(list, lists, get_bits(line, remainder_at(i, width), width), width);
        }
    sort_by_rank(content, ranks, values, n);
}

static void read_ordered(const recent_filter *f, const ordered_form *form, const uint8_t *line,
                         line_content *content) {
    uint8_t ranks[ENTRIES_MAX + 1];
    uint64_t values[ENTRIES_MAX + 1];
    unsigned n = 0;
    for (unsigned g = 0; g < form->groups; g++) {
        group_window window = find_group(form, &f->shape, g);
        wide_word slots = load_window(line, window);
        for (unsigned j = 0; j < window.slots; j++, n++) {
            ranks[n] = (uint8_t)j;
            values[n] = value_of(g, form->groups,
                                 (uint64_t)(slots >> j * form->bits) & low_mask(form->bits),
                                 form->bits);
        }
    }
    sort_by_rank(content, ranks, values, n);
}

static void write_shared(const recent_filter *f, uint8_t *line, const line_content *content) {
    const shared_form *form = &f->shape.shared;
    unsigned total = content->count < form->most ? content->count : form->most, n = 0;
    unsigned width = form->width[total];
    memset(line, 0, LINE_BYTES);
    for (unsigned i = 0; i < total; i++) {
        uint64_t rest;
        unsigned list = (unsigned)weir__part(content->value[i], form->lists, &rest);
        list_place place = find_list(line, &f->shape, list);
        while (place.length >= LIST_MAX)
            place = find_list(line, &f->shape, list = (list + 1) % form->lists);
        insert_entry(line, &f->shape, n++, width, place.head, place.first + place.length,
                     rest >> (64 - width));
    }
    write_code(line, &f->shape, n);
}

static void write_ordered(recent_filter *f, const ordered_form *form, unsigned code, uint8_t *line,
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
        group_window window = find_group(form, &f->shape, g);
        if (!used[g]) groups[g] = weir__rng_next(&f->state.rng) >> (64 - form->bits), used[g] = 1;
        for (; used[g] < window.slots; used[g]++)
            groups[g] |= (groups[g] & low_mask(form->bits)) << used[g] * form->bits;
        store_window(line, window, form->bits, groups[g]);
    }
    write_code(line, &f->shape, code);
}

/* Rewrite a line in another form, if the budget allows it. */
static bool convert(recent_filter *f, uint8_t *line, unsigned form) {
    unsigned old = read_code(line, &f->shape);
    unsigned old_form = old < f->shape.code_ordered ? SHARED : old - f->shape.code_ordered;
    line_content content;
    unsigned most = f->shape.shared.most;
    if (old_form != SHARED && f->ordered[old_form].entries < most) most = f->ordered[old_form].entries;
    uint64_t cost = form == SHARED ? f->shape.shared.cost[most] : f->ordered[form].cost;
    if (!pay(f, line_cost(f, old), cost)) return false;
    if (old_form == SHARED)
        read_shared(f, line, &content);
    else
        read_ordered(f, &f->ordered[old_form], line, &content);
    if (form == SHARED)
        write_shared(f, line, &content);
    else
        write_ordered(f, &f->ordered[form], f->shape.code_ordered + form, line, &content);
    unsigned code = read_code(line, &f->shape);
    f->state.held += (uint64_t)line_entries(f, code) - line_entries(f, old);
    f->state.in_form[old_form]--;
    f->state.in_form[form]++;
    return true;
}

/* ---- offering a key ---- */

static inline bool offer_ordered(recent_filter *f, const ordered_form *form, uint8_t *line,
                                 uint64_t value) {
    uint64_t rest;
    unsigned group = (unsigned)weir__part(value, form->groups, &rest);
    uint64_t fingerprint = rest >> (64 - form->bits);
    group_window window = find_group(form, &f->shape, group);
    wide_word slots = load_window(line, window);
    unsigned j = find_slot(slots, window.slots, form->bits, fingerprint);
    bool seen = j < window.slots;
    unsigned from = seen ? j : window.slots - 1;
    unsigned to = seen ? 0 : form->enter < from ? form->enter : from;
    store_window(line, window, form->bits, move_slot(slots, from, to, form->bits, fingerprint));
    return seen;
}

/* A new key in a shared line: room is made by shortening as long as the rate
 * allows, then by letting the last entry of some list go. */
static void enter_shared(recent_filter *f, uint8_t *line, unsigned n, list_place place,
                         uint64_t rest) {
    const shared_form *form = &f->shape.shared;
    unsigned width = form->width[n];
    unsigned at = place.first + (place.length > 0 && tune_enter);
    if (n < form->most && place.length < LIST_MAX && pay(f, form->cost[n], form->cost[n + 1])) {
        if (form->width[n + 1] != width) shorten(line, n, width, form->width[n + 1]);
        width = form->width[n + 1];
        insert_entry(line, &f->shape, n, width, place.head, at, rest >> (64 - width));
        write_code(line, &f->shape, n + 1);
        f->state.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n), bit = 0;
    if ((int)(dice & 63) < tune_mix) bit = next_end(line, &f->shape, n, start, true);
    if (!bit) bit = next_end(line, &f->shape, n, start, false);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    exchange_entry(line, width, place.head, at, bit, entries_before(line, &f->shape, bit),
                   rest >> (64 - width));
    f->state.forgotten++;
}

static inline bool is_full(const recent_filter *f, unsigned n) {
    const shared_form *form = &f->shape.shared;
    if (n == form->most) return true;
    uint64_t from = form->cost[n], to = form->cost[n + 1];
    return to > f->fair && to - (from > f->fair ? from : f->fair) > f->state.pool;
}

static inline bool offer_one(recent_filter *f, uint64_t hash) {
    uint64_t value, rest, number = weir__part(hash, f->lines, &value);
    uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        unsigned form = code - f->shape.code_ordered;
        if (offer_ordered(f, &f->ordered[form], line, value)) return true;
        count_miss(f, number);
        f->state.forgotten++;
        unsigned wanted = wanted_form(f, number);
        if (wanted != form) convert(f, line, wanted);
        return false;
    }
    const shared_form *shared = &f->shape.shared;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest), width = shared->width[code];
    list_place place = find_list(line, &f->shape, list);
    unsigned j = find_remainder(line, place, width, rest >> (64 - width));
    if (j < place.length) {
        if (j) promote(line, place.first + j, place.first, width, rest >> (64 - width));
        return true;
    }
    count_miss(f, number);
    if (is_full(f, code)) {
        unsigned wanted = wanted_form(f, number);
        if (wanted != SHARED && convert(f, line, wanted)) {
            offer_ordered(f, &f->ordered[wanted], line, value);
            f->state.forgotten++;
            return false;
        }
    }
    enter_shared(f, line, code, place, rest);
    return false;
}

static inline void ask_for(const recent_filter *f, uint64_t hash) {
    __builtin_prefetch(f->base.cells + weir__scale(hash, f->lines) * LINE_BYTES, 1);
}

static size_t offer(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    recent_filter *f = (recent_filter *)base;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < AHEAD && i < count; i++) ask_for(f, batch->hashes[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(f, batch->hashes[i + AHEAD]);
        bool hit = offer_one(f, batch->hashes[i]);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

static bool test_one(const recent_filter *f, uint64_t hash) {
    uint64_t value, rest, number = weir__part(hash, f->lines, &value);
    const uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        const ordered_form *form = &f->ordered[code - f->shape.code_ordered];
        unsigned group = (unsigned)weir__part(value, form->groups, &rest);
        group_window window = find_group(form, &f->shape, group);
        return find_slot(load_window(line, window), window.slots, form->bits,
                         rest >> (64 - form->bits)) < window.slots;
    }
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    unsigned width = f->shape.shared.width[code];
    list_place place = find_list(line, &f->shape, list);
    return find_remainder(line, place, width, rest >> (64 - width)) < place.length;
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const recent_filter *f = (const recent_filter *)base;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(f, batch->hashes[i + AHEAD]);
        bool hit = test_one(f, batch->hashes[i]);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

static void info(const weir_filter *base, weir_filter_info *info) {
    const recent_filter *f = (const recent_filter *)base;
    double full = (double)f->lines * f->shape.shared.most;
    info->fill = (double)f->state.held / full;
    info->fpr_now = (double)f->state.spent / ((double)f->lines * (double)COST_ONE) * info->fpr_bound;
    info->overfull = f->state.forgotten > 0;
}

static void details(const weir_filter *base, weir_detail_fn *each, void *context) {
    const recent_filter *f = (const recent_filter *)base;
    weir__detail(each, context, "held", "x", "%llu", (unsigned long long)f->state.held);
}

static const weir_option options[] = {
    {"window", WEIR_OPT_SPAN, 1, 9e18, NULL, NULL, "forget"},
    {"renew", WEIR_OPT_CHOICE, 0, 0, "no|yes", "no", "renew"},
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__recent_class = {
    .kind = {"recent", "", "", false, options},
    .size = sizeof(recent_filter),
    .state_offset = offsetof(recent_filter, state),
    .state_words = sizeof(((recent_filter *)0)->state) / 8,
    .create = create, .start = start, .offer = offer, .test = test, .info = info, .details = details,
    .no_merge = "x",
};
