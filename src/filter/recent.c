#include <math.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/recent_line.h"

enum { OPT_WINDOW = WEIR__OPT_OWN, OPT_RENEW };
enum { SHARED, ORDERED, PACKED, FORMS }; /* the forms that compete */

int tune_cpu = 9;
#ifdef RECENT_TUNE
int tune_mix = 44; int tune_force = -1; int tune_enter=1;
#else
#define tune_mix 44
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

/* Widths and costs of a shared line with so many lists. Widths go from wide to
 * narrow, down to the first that can break the bound: in strides at first, as each
 * step rewrites the line, and near the bound by single bits, as each one counts. */
static void fill_shared(shared_form *form, const line_shape *shape, unsigned lists, double eps) {
    unsigned space = LINE_BITS - shape->code_bits - lists, top = shape->code_ordered - 1;
    unsigned narrowest = WIDTH_MAX, width = WIDTH_MAX, n = 0;
    while (narrowest > 1 && shared_match(space / (narrowest + 1), lists, narrowest) <= eps)
        narrowest--;
    form->lists = lists;
    for (;;) {
        for (; n <= space / (width + 1) && n <= top; n++) {
            form->width[n] = (uint8_t)width;
            form->cost[n] = cost_of(shared_match(n, lists, width), eps);
            form->most = n;
        }
        if (width == narrowest) break;
        unsigned next = width * 3 / 5;
        width = next > narrowest + 2 ? next : width > narrowest + 1 ? narrowest + 1 : narrowest;
    }
    for (form->fair = form->most; form->cost[form->fair] > COST_ONE;) form->fair--;
}

/* Slots for as many keys as fit and as the bound allows. */
static bool fill_ordered(ordered_form *form, const line_shape *shape, unsigned groups,
                         unsigned bits, double eps) {
    double values = groups * ldexp(1, (int)bits);
    unsigned entries = (LINE_BITS - shape->code_bits) / bits;
    if (entries > ENTRIES_MAX) entries = ENTRIES_MAX;
    if (entries > eps * values) entries = (unsigned)(eps * values);
    unsigned slots = (entries + groups - 1) / groups;
    *form = (ordered_form){.groups = groups, .bits = bits, .slots = slots, .entries = entries};
    form->wide = entries - groups * (slots - 1);
    form->enter = slots / 2;
    form->cost = cost_of(entries / values, eps);
    return entries >= groups && slots * bits <= WINDOW_MAX;
}

/* The shared and the ordered form together: a key's values in both must be parts
 * of one another, lists = groups * 2^j and width + j >= bits, or each change of
 * form would lose half of what it knows. */
static void plan_forms(recent_filter *f, double eps) {
    double best = 0;
    unsigned room = LINE_BITS - f->shape.code_bits;
    for (unsigned bits = 3; bits <= WINDOW_MAX / 3; bits++)
        for (unsigned groups = 1; groups <= room / bits / 3; groups++) {
            ordered_form ordered;
            if (!fill_ordered(&ordered, &f->shape, groups, bits, eps)) continue;
            if (ordered.entries < 3 * groups || ordered.slots > 6) continue;
            for (unsigned j = 0, lists; lists = groups << j, lists <= room / 3; j++) {
                shared_form shared;
                fill_shared(&shared, &f->shape, lists, eps);
                double score = shared.fair + ordered.entries * 0.5;
                if (shared.width[shared.fair] + j < bits || score <= best) continue;
                best = score, f->shape.shared = shared, f->ordered[ORDERED] = ordered;
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
    unsigned best = 0;
    for (unsigned bits = 2; bits <= WINDOW_MAX / 2; bits++)
        for (unsigned groups = 1; groups <= ENTRIES_MAX; groups++) {
            ordered_form packed;
            if (!fill_ordered(&packed, &f->shape, groups, bits, eps)) continue;
            if (packed.entries * 2 < 3 * groups || packed.entries <= best) continue;
            best = packed.entries, f->ordered[PACKED] = packed;
        }
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
    f->fair = f->shape.shared.cost[f->shape.shared.fair];
    for (unsigned form = ORDERED; form < FORMS; form++)
        if (f->ordered[form].cost > f->fair) f->fair = f->ordered[form].cost;
    f->duel_period = f->lines < 65536 ? 16 : 32;
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
    unsigned place = (unsigned)(line & (f->duel_period - 1));
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
    if (lead > 2.5 * sqrt((double)(m[now] + m[best]))) f->state.winner = best;
    if (m[now] > 100000)
        for (unsigned i = 0; i < FORMS; i++) m[i] /= 2;
}

static inline void count_miss(recent_filter *f, uint64_t line) {
    if (!f->state.forgotten) return;
    unsigned form = leads_for(f, line);
    if (form < FORMS && ++f->state.misses[form] % 256 == 0) judge(f);
}

static uint64_t line_cost(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? f->shape.shared.cost[code]
                                        : f->ordered[code - f->shape.code_ordered + 1].cost;
}
static unsigned line_entries(const recent_filter *f, unsigned code) {
    return code < f->shape.code_ordered ? code : f->ordered[code - f->shape.code_ordered + 1].entries;
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
        unsigned words = header_words(&f->shape, n);
        list_place place = find_list(line, &f->shape, words, list, CPU_ANY);
        while (place.length >= LIST_MAX)
            place = find_list(line, &f->shape, words, list = (list + 1) % form->lists, CPU_ANY);
        insert_entry(line, &f->shape, n++, width, place.head, place.first + place.length,
                     rest >> (64 - width), CPU_ANY);
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
    unsigned old_form = old < f->shape.code_ordered ? SHARED : old - f->shape.code_ordered + 1;
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
        write_ordered(f, &f->ordered[form], f->shape.code_ordered + form - 1, line, &content);
    unsigned code = read_code(line, &f->shape);
    f->state.held += (uint64_t)line_entries(f, code) - line_entries(f, old);
    f->state.in_form[old_form]--;
    f->state.in_form[form]++;
    return true;
}

/* ---- offering a key ---- */

/* The slot that a new key may take: a copy of the first one where there is one. */
HOT unsigned last_slot(wide_word slots, unsigned count, unsigned bits) {
    unsigned copy = 1 + find_slot(slots >> bits, count - 1, bits, (uint64_t)slots & low_mask(bits));
    return copy < count ? copy : count - 1;
}

HOT bool offer_ordered(recent_filter *f, const ordered_form *form, uint8_t *line,
                                 uint64_t value) {
    uint64_t rest;
    unsigned group = (unsigned)weir__part(value, form->groups, &rest);
    uint64_t fingerprint = rest >> (64 - form->bits);
    group_window window = find_group(form, &f->shape, group);
    wide_word slots = load_window(line, window);
    unsigned j = find_slot(slots, window.slots, form->bits, fingerprint);
    bool seen = j < window.slots;
    unsigned from = seen ? j : last_slot(slots, window.slots, form->bits);
    unsigned to = seen ? 0 : form->enter < from ? form->enter : from;
    store_window(line, window, form->bits, move_slot(slots, from, to, form->bits, fingerprint));
    return seen;
}

/* A new key in a shared line: room is made by shortening as long as the rate
 * allows, then by letting the last entry of some list go. */
HOT void enter_shared(recent_filter *f, uint8_t *line, unsigned n, list_place place,
                         uint64_t rest, cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    unsigned width = form->width[n];
    unsigned at = place.first + (place.length > 0 && tune_enter);
    if (n < form->most && place.length < LIST_MAX && pay(f, form->cost[n], form->cost[n + 1])) {
        if (form->width[n + 1] != width) shorten(line, n, width, form->width[n + 1]);
        width = form->width[n + 1];
        insert_entry(line, &f->shape, n, width, place.head, at, rest >> (64 - width), cpu);
        write_code(line, &f->shape, n + 1);
        f->state.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n);
    unsigned bit = next_end(line, &f->shape, n, start, (int)(dice & 63) < tune_mix);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    unsigned out = entries_before(line, &f->shape, header_words(&f->shape, n), bit);
    exchange_entry(line, width, place.head, at, bit, out, rest >> (64 - width), cpu);
    f->state.forgotten++;
}

HOT bool offer_one(recent_filter *f, uint64_t hash, cpu_kind cpu) {
    uint64_t value, rest, number = weir__part(hash, f->lines, &value);
    uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        unsigned form = code - f->shape.code_ordered + 1;
        if (offer_ordered(f, &f->ordered[form], line, value)) return true;
        count_miss(f, number);
        f->state.forgotten++;
        unsigned wanted = wanted_form(f, number);
        if (wanted != form) convert(f, line, wanted);
        return false;
    }
    const shared_form *shared = &f->shape.shared;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest), width = shared->width[code];
    list_place place = find_list(line, &f->shape, header_words(&f->shape, code), list, cpu);
    unsigned j = find_remainder(line, place, width, rest >> (64 - width));
    if (j < place.length) {
        if (j) promote(line, place, place.first + j, place.first, width, rest >> (64 - width), cpu);
        return true;
    }
    count_miss(f, number);
    if (code >= shared->fair) {
        unsigned wanted = wanted_form(f, number);
        if (wanted != SHARED && convert(f, line, wanted)) {
            offer_ordered(f, &f->ordered[wanted], line, value);
            f->state.forgotten++;
            return false;
        }
    }
    enter_shared(f, line, code, place, rest, cpu);
    return false;
}

static inline void ask_for(const recent_filter *f, uint64_t hash) {
    __builtin_prefetch(f->base.cells + weir__scale(hash, f->lines) * LINE_BYTES, 1);
}

HOT size_t offer_all(weir_filter *base, const weir_batch *batch, uint64_t *verdicts, cpu_kind cpu) {
    recent_filter *f = (recent_filter *)base;
    size_t seen = 0, count = batch->count;
    for (size_t i = 0; i < AHEAD && i < count; i++) ask_for(f, batch->hashes[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) ask_for(f, batch->hashes[i + AHEAD]);
        bool hit = offer_one(f, batch->hashes[i], cpu);
        weir__mark_seen(verdicts, i, hit);
        seen += hit;
    }
    return seen;
}

static size_t offer_plain(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_ANY);
}
#if defined(__x86_64__)
__attribute__((target("popcnt,lzcnt,bmi,bmi2,avx2")))
static size_t offer_avx2(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_AVX2);
}
FOR_AVX512
static size_t offer_avx512(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_AVX512);
}
#endif

static size_t offer(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
#if defined(__x86_64__)
    if (tune_cpu >= 2 && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512dq"))
        return offer_avx512(base, batch, verdicts);
    if (tune_cpu >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return offer_avx2(base, batch, verdicts);
#endif
    return offer_plain(base, batch, verdicts);
}

static bool test_one(const recent_filter *f, uint64_t hash) {
    uint64_t value, rest, number = weir__part(hash, f->lines, &value);
    const uint8_t *line = f->base.cells + number * LINE_BYTES;
    unsigned code = read_code(line, &f->shape);
    if (code >= f->shape.code_ordered) {
        const ordered_form *form = &f->ordered[code - f->shape.code_ordered + 1];
        unsigned group = (unsigned)weir__part(value, form->groups, &rest);
        group_window window = find_group(form, &f->shape, group);
        return find_slot(load_window(line, window), window.slots, form->bits,
                         rest >> (64 - form->bits)) < window.slots;
    }
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    unsigned width = f->shape.shared.width[code];
    list_place place = find_list(line, &f->shape, header_words(&f->shape, code), list, CPU_ANY);
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
