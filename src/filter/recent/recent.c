/* recent.c - the default filter: exact while keys fit, then it keeps those likeliest to come again.
 *
 * Question   has this key come by, as far back as the memory can tell?
 * Idea       the hash chooses one line of 512 bits, and the line alone decides. It keeps what is
 *            left of the hash, whole while there is room (so the answers are exact), then shorter
 *            and shorter as keys come, and only when the bound allows no shorter does a key have to
 *            go for each one that comes.
 * Parameters L lines, e the bound on false positives (`fpr`); n keys in a line.
 * Error      false positives: at most e for the next new key, at any instant, in a stream of any
 *            length. False negatives: none while keys fit; then repeats of keys that had to go.
 * Cost       one line for each key; a batch asks for its lines ahead.
 * Layout     below; bit by bit in recent_shared.h, recent_clock.h and recent_spread.h. With
 * `window` lines are those of recent_window.c.
 *
 * What a line looks like. Its first bits are its code: n, or one of two that follow. A flat line
 * has a word, then half a word for each key. With more keys it is shared: a key's first bits say
 * which of Q lists it is in, and the rest is its remainder.
 *
 *     flat     | n | key 0 | key 1 | ... |                                   up to 15 keys
 *     shared   | n | length of each list, in unary | free | remainders |     Q lists, 1 bit a list
 *     clocked  | c | hand | gaps, high bits in unary | free | gaps, low bits and marks |
 *     spread   | s | x | a bit for each of many lists | x extras | free | remainders |
 *
 * With every few keys more all remainders of a shared line lose their last bits, in place. When
 * that would break the bound the line is full, and may take one of two other forms. A clocked line
 * knows which keys were hit: keys stand in order as gaps, each with a mark, and a hand goes round
 * and takes those without. A spread line has one key in each of many lists and the most keys of
 * all, but knows nothing about them. Keys in a full line, beside those of two references: the
 * oracle, an exact LRU with two bits a key more than the least, and the least itself:
 *
 *     e        shared clocked spread  oracle  least
 *     10%        91      79     111     96     154
 *     1%         57      52      66     59      77
 *     0.1%       42      39      45     43      51
 *     0.0001%    23      22      24     23      26
 *
 * A filter begins as a table of whole hashes, some tens of KiB, that doubles as keys come until it
 * is as large as the memory and then becomes lines; recent_table.h has that. Nothing is forgotten,
 * cut or counted otherwise meanwhile, so only pages that are needed are touched.
 *
 * What happens to a key. If its line knows it, it is SEEN: it moves to the front of its list, or
 * gets a mark. Else it is NEW and enters: where there is room, after a cut of all remainders if
 * need be, or in the place of another one.
 *
 * Who goes is the policy's affair, one for the whole filter, read off the stream by recent_watch.c
 * and chosen by recent_policy.c:
 *
 *     fill     shared    the last of a list; a new key enters behind the first
 *     any      spread    any other key
 *     keep     clocked   the next without a mark; marks stay until all keys have one
 *     sweep    clocked   the next without a mark; the hand wipes marks as it passes
 *
 * Why the bound holds. A key's line and its value in the line are independent and uniform, so a new
 * key is called SEEN with a probability that is the mean over all lines of
 *
 *     match(line) = keys / values that a key can take = n / (Q 2^r)
 *
 * Every change of a line is charged to a running sum, in integers, so it is exact: e is met by the
 * whole, not line by line. A line may cost up to `fair`, at most e, without asking; what is then
 * left of e is a pool from which lines with more keys than others pay for going a bit further. The
 * rate that is reported, fpr_now, is that sum.
 *
 * One line for each key has its price. Lines get unequally many keys, so while keys just about fit
 * some lines overflow and others have room: about 0.4 / sqrt(n) of the keys do not find room that
 * one large table would have, 8% at 0.0001%, 5% at 1%.
 *
 * Lifetime. In a stream of new keys only, a full filter of N keys forgets one for each that comes,
 * so by Little's law a key lives N keys on average, whatever the form.
 */
#include <string.h>

#include "core/clock.h"
#include "filter/recent/recent_clock.h"
#include "filter/recent/recent_convert.h"
#include "filter/recent/recent_filter.h"
#include "filter/recent/recent_shared.h"
#include "filter/recent/recent_spread.h"
#include "filter/recent/recent_table.h"

#define AHEAD 64u       /* lines asked for ahead of the one at work, */
#define WATCHED 256u    /* lines that tell what the stream is like */
#define AT_ONCE 16u     /* so many at a time */
#define KEEP_FIRSTS 44u /* see "who goes" */

const recent_way weir__recent_ways[POLICIES] = {
    [FILL] = {SHARED, false},
    [ANY] = {SPREAD, false},
    [KEEP] = {CLOCKED, false},
    [SWEEP] = {CLOCKED, true},
};

/* ---- making one ---- */

/* A window of so many records never has more keys than that: with a line for each no fine line
 * overflows, and more would only have to be swept. */
static weir_status plan_window(recent_filter *f, double eps, weir_error *err) {
    const weir__value *window = &f->base.values[RECENT_WINDOW];
    bool renew = weir__opt_whole(&f->base, RECENT_RENEW) == 1;
    uint64_t enough = window->whole < f->lines ? window->whole + 16 : f->lines;
    if (!window->is_time && f->lines > enough) f->lines = enough;
    weir__window_plan(&f->window, f->lines, eps, window->whole, window->is_time, renew);
    f->window.empty = weir__alloc(&f->base.allocator, WINDOW_RUN_WORDS * sizeof *f->window.empty);
    return f->window.empty ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

static void destroy(weir_filter *base) {
    weir__free(&base->allocator, ((recent_filter *)base)->window.empty);
}

/* Lines for so much memory. A table that doubles until it has them all begins with as many, halved
 * often enough. */
static void plan_lines(recent_filter *f, uint64_t memory) {
    f->lines = f->first = memory / LINE_BYTES;
    if (f->base.windowed) return;
    unsigned doublings = 0;
    while (f->lines >> (doublings + 1) >= TABLE_FIRST) doublings++;
    f->first = f->lines >> doublings;
    f->lines = f->first << doublings;
}

static weir_status create(weir_filter *base, weir_error *err) {
    recent_filter *f = (recent_filter *)base;
    double eps = weir__opt_rate(base, WEIR__OPT_FPR);
    weir__recent_plan(&f->shape, eps);
    f->base.windowed = weir__opt_given(base, RECENT_WINDOW);
    if (weir__opt_given(base, RECENT_RENEW) && weir__opt_whole(base, RECENT_RENEW) &&
        !f->base.windowed)
        return weir__opt_fail(base, RECENT_RENEW, err,
                              "'renew' is about a window; give 'window' too");
    plan_lines(f, weir__opt_whole(base, WEIR__OPT_MEMORY));
    weir_status status = f->base.windowed ? plan_window(f, eps, err) : WEIR_OK;
    if (status != WEIR_OK) return status;
    f->watched = f->lines < WATCHED ? f->lines : WATCHED;
    unsigned __int128 beyond = (unsigned __int128)f->watched << 64;
    f->watched_last = (uint64_t)((beyond - 1) / f->lines);
    return weir__filter_map(base, f->lines * LINE_BYTES, err);
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.layout = LAYOUT;
    f->state.table = f->base.windowed ? 0 : f->first;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
    f->state.books.pool = f->lines * (COST_ONE - f->shape.fair);
    f->state.books.in_form[SHARED] = f->lines;
    f->state.keys.limit = f->state.keys_hit.limit = UINT64_MAX;
}

/* ---- from one form to another ---- */

/* Rewrite a line in another form, if the budget allows it. Fewer keys than a clocked line has
 * are a shared one. */
static __attribute__((noinline)) bool convert(recent_filter *f, uint8_t *line, unsigned form) {
    unsigned old_form = form_of(&f->shape, read_code(line, &f->shape));
    unsigned entries = weir__recent_entries(&f->shape, line);
    line_content content;
    weir__recent_read(&f->shape, line, &content);
    if (form == CLOCKED && content.count < f->shape.clock.entries) form = SHARED;
    uint64_t cost = form_cost(&f->shape, form, least(content.count, f->shape.shared.most));
    if (!weir__recent_pay(f, weir__recent_cost(&f->shape, line), cost)) return false;
    f->state.books.forgotten += content.count - weir__recent_write(&f->shape, line, form, &content);
    f->state.books.held += (uint64_t)weir__recent_entries(&f->shape, line) - entries;
    f->state.books.in_form[old_form]--;
    f->state.books.in_form[form]++;
    return true;
}

/* ---- looking a key up ---- */

/* Whether a line has a key, in whatever form it is. */
static bool knows(const recent_filter *f, const uint8_t *line, uint64_t value) {
    uint64_t rest;
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    if (form == SPREAD) return test_spread(&f->shape.spread, line, value);
    if (form == CLOCKED) return test_clocked(&f->shape, line, value);
    const shared_form *shared = &f->shape.shared;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest);
    if (code <= shared->flat)
        return match_tags(line, code, tag_of(shared, list, rest), code > WORDS_MOST, CPU_ANY);
    list_place place = find_list(line, &f->shape, header_words(&f->shape, code), list, CPU_ANY);
    return find_remainder(line, shared, place, field_of(shared, code, rest)) < place.length;
}

/* ---- offering a key ---- */

/* A new key in a shared line: room is made by shortening as long as the rate
 * allows, then by letting the last entry of some list go. */
HOT void enter_shared(recent_filter *f, uint8_t *line, unsigned words, unsigned n, list_place place,
                      uint64_t rest, cpu_kind cpu) {
    const shared_form *form = &f->shape.shared;
    unsigned at = place.first + (place.length > 0);
    if (n < form->most && place.length < LIST_MAX &&
        weir__recent_pay(f, form->cost[n], form->cost[n + 1])) {
        if (form->width[n + 1] != form->width[n]) CALL(shorten, cpu, (form, line, n));
        entry_field field = field_of(form, n + 1, rest);
        insert_entry(line, &f->shape, words, n, field.width, place.head, at, field.bits, cpu);
        f->state.books.held++;
        return;
    }
    uint64_t dice = weir__rng_next(&f->state.rng);
    unsigned start = f->shape.code_bits + (unsigned)weir__scale(dice, form->lists + n);
    bool long_only = (dice & 63) < KEEP_FIRSTS;
    unsigned bit = next_end(line, &f->shape, words, n, start, long_only);
    if (place.length >= LIST_MAX) bit = place.head + place.length - 1;
    unsigned out = entries_before(line, f->shape.code_bits, words, bit);
    entry_field field = field_of(form, n, rest);
    exchange_entry(line, words, field.width, place.head, at, bit, out, field.bits, cpu);
    f->state.books.forgotten++;
}

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
    (void)cpu;
    uint32_t halves[WORDS_MOST];
    if (n == f->shape.shared.flat) {
        list_up(f, line, n, list, rest);
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
                       bool in_halves, cpu_kind cpu) {
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
    else put_tag(line, n, tag, in_halves);
    return false;
}

HOT bool offer_flat(recent_filter *f, uint8_t *line, unsigned n, unsigned list, uint64_t rest,
                    cpu_kind cpu) {
    if (n > WORDS_MOST) return offer_flat_as(f, line, n, list, rest, true, cpu);
    return offer_flat_as(f, line, n, list, rest, false, cpu);
}

HOT bool offer_spread_to_here(recent_filter *f, uint8_t *line, uint64_t value, cpu_kind cpu) {
    unsigned gone;
    bool seen = offer_spread(&f->shape.spread, line, value, &f->state.rng, &gone, cpu);
    f->state.books.held += !seen - (uint64_t)gone;
    f->state.books.forgotten += gone;
    return seen;
}

NOT_HERE(bool, offer_spread_to, (recent_filter * f, uint8_t *line, uint64_t value),
         (f, line, value, cpu))

HOT bool offer_clocked_to(recent_filter *f, uint8_t *line, recent_policy policy, uint64_t value,
                          cpu_kind cpu) {
    clock_rule rule = {weir__recent_ways[policy].sweep};
    clock_outcome outcome = CALL(offer_clocked, cpu, (&f->shape, line, value, rule));
    f->state.books.held += (uint64_t)outcome.came - outcome.gone;
    f->state.books.forgotten += outcome.gone;
    return outcome.seen;
}

/* A key and a line in the form of a policy. */
HOT bool offer_formed(recent_filter *f, uint8_t *line, recent_policy policy, uint64_t value,
                      cpu_kind cpu) {
    if (weir__recent_ways[policy].form == SPREAD)
        return CALL(offer_spread_to, cpu, (f, line, value));
    return offer_clocked_to(f, line, policy, value, cpu);
}

/* A key and a shared line that is no longer flat, whose header takes so many words. */
HOT bool offer_lists_here(recent_filter *f, uint8_t *line, unsigned words, unsigned n,
                          recent_policy policy, uint64_t value, cpu_kind cpu) {
    const shared_form *shared = &f->shape.shared;
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, shared->lists, &rest),
             form = weir__recent_ways[policy].form;
    entry_field field = field_of(shared, n, rest);
    list_place place = find_list(line, &f->shape, words, list, cpu);
    unsigned j = find_remainder(line, shared, place, field), first = place.first;
    if (j < place.length) {
        if (j) promote(line, first + j, first, field.width, field.bits | field.mark, cpu);
        else set_mark(line, remainder_at(first, field.width), field.mark);
        return true;
    }
    unsigned full = form == CLOCKED ? f->shape.clock.entries : shared->fair;
    if (n >= full && form != SHARED && convert(f, line, form)) {
        offer_formed(f, line, policy, value, cpu);
        return false;
    }
    enter_shared(f, line, words, n, place, rest, cpu);
    return false;
}

HOT bool offer_short_here(recent_filter *f, uint8_t *line, unsigned n, recent_policy policy,
                          uint64_t value, cpu_kind cpu) {
    return offer_lists_here(f, line, 1, n, policy, value, cpu);
}
HOT bool offer_long_here(recent_filter *f, uint8_t *line, unsigned n, recent_policy policy,
                         uint64_t value, cpu_kind cpu) {
    unsigned words = header_words(&f->shape, n + 1); /* it may grow */
    return offer_lists_here(f, line, words, n, policy, value, cpu);
}

NOT_HERE(bool, offer_long,
         (recent_filter * f, uint8_t *line, unsigned n, recent_policy policy, uint64_t value),
         (f, line, n, policy, value, cpu))

/* A key and its line. `value` is what is left of the hash once it has chosen the line. A full line
 * in another form than that of its policy changes when a new key comes, before it does, so that the
 * key is not lost again; a clocked one becomes a shared one first, which has room. */
HOT bool offer_line(recent_filter *f, uint8_t *line, recent_policy policy, uint64_t value,
                    cpu_kind cpu) {
    static const recent_policy any_policy[FORMS] = {FILL, KEEP, ANY};
    unsigned code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    if (form != SHARED && form != weir__recent_ways[policy].form && !knows(f, line, value)) {
        convert(f, line, form == CLOCKED ? SHARED : weir__recent_ways[policy].form);
        code = read_code(line, &f->shape), form = form_of(&f->shape, code);
    }
    if (form != SHARED)
        return offer_formed(f, line,
                            form == weir__recent_ways[policy].form ? policy : any_policy[form],
                            value, cpu);
    if (code > f->shape.shared.flat)
        return f->shape.shared.one_word ? offer_short_here(f, line, code, policy, value, cpu)
                                        : CALL(offer_long, cpu, (f, line, code, policy, value));
    uint64_t rest;
    unsigned list = (unsigned)weir__part(value, f->shape.shared.lists, &rest);
    return offer_flat(f, line, code, list, rest, cpu);
}

/* A key whose line is watched. */
HOT bool offer_watched_here(recent_filter *f, uint64_t number, uint64_t hash, uint64_t value,
                            cpu_kind cpu) {
    uint8_t *line = f->base.cells + number * LINE_BYTES;
    recent_policy policy = (recent_policy)f->state.policy;
    weir__recent_tell(f, line, value);
    bool seen = offer_line(f, line, policy, value, cpu);
    weir__recent_count(f, hash, seen);
    return seen;
}

NOT_HERE(bool, offer_watched, (recent_filter * f, uint64_t number, uint64_t hash, uint64_t value),
         (f, number, hash, value, cpu))

HOT bool offer_one(recent_filter *f, uint8_t *line, uint64_t number, uint64_t hash, uint64_t value,
                   cpu_kind cpu) {
    if (number < f->watched) return CALL(offer_watched, cpu, (f, number, hash, value));
    return offer_line(f, line, (recent_policy)f->state.policy, value, cpu);
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

/* Some of the next keys, whose lines have been asked for: where a line is full a key may be in the
 * next one, or go there. That one is not near, and one key in 15 would wait for it. Of a line the
 * last word is filled last. */
HOT void ask_behind(const uint8_t *cells, uint64_t table, const uint64_t *hashes, size_t some) {
    for (size_t j = 0; j < some; j++) {
        const uint8_t *line = cells + weir__scale(hashes[j], table) * LINE_BYTES;
        __builtin_prefetch(line + (get_word(line, 7) ? LINE_BYTES : 0), 1, 3);
    }
}

/* Keys that come into a table one after the other, `some` of them, of which it has room for all.
 * Returns a bit for each that was there. Whether a key is there is hard to guess, so both cases are
 * one: what is stored goes into the line, or beside it. */
HOT uint64_t offer_some_to_table(recent_filter *f, const uint64_t *hashes, unsigned some,
                                 cpu_kind cpu) {
    const uint64_t table = f->state.table, watched_last = f->watched_last;
    uint8_t *cells = f->base.cells, beside[LINE_BYTES];
    uint64_t hits = 0, entered = 0;
    for (unsigned j = 0; j < some; j++) {
        uint64_t hash = table_hash(hashes[j]);
        uint8_t *line = cells + weir__scale(hash, table) * LINE_BYTES;
        table_found found = table_look(line, hash, cpu);
        bool hit = found.same != 0, came = !hit;
        if (__builtin_expect((found.same | found.empty) != 0, 1)) {
            uint8_t *to = (uint8_t *)pick64(hit, (uintptr_t)beside, (uintptr_t)line);
            put_word(to, (unsigned)__builtin_ctz(found.same | found.empty), hash);
        } else {
            unsigned outcome = table_offer(cells, table, hash, true);
            hit = outcome == IN_TABLE;
            came = outcome == ENTERED;
            f->state.books.forgotten += outcome == NO_PLACE;
        }
        entered += came;
        hits |= (uint64_t)hit << j;
        if (__builtin_expect(hashes[j] <= watched_last, 0)) weir__recent_count(f, hashes[j], hit);
    }
    f->state.books.held += entered;
    return hits;
}

/* Keys while the filter is a table. Returns where it went on to. */
HOT size_t offer_to_table(recent_filter *f, const weir_batch *batch, uint64_t *verdicts,
                          size_t *seen, cpu_kind cpu) {
    size_t i = 0;
    for (unsigned some; i < batch->count && f->state.table; i += some) {
        uint64_t room = TABLE_LOAD * f->state.table - f->state.books.held;
        size_t most = batch->count - i < room ? batch->count - i : room;
        unsigned whole = AT_ONCE - (unsigned)(i % AT_ONCE);
        some = most < whole ? (unsigned)most : whole;
        ask_ahead(f->base.cells, f->state.table, batch, i);
        if (i % AT_ONCE == 0 && batch->count - i > AT_ONCE) {
            size_t left = batch->count - i - AT_ONCE;
            ask_behind(f->base.cells, f->state.table, batch->hashes + i + AT_ONCE,
                       left < AT_ONCE ? left : AT_ONCE);
        }
        uint64_t hits = offer_some_to_table(f, batch->hashes + i, some, cpu);
        verdicts[i / 64] |= hits << i % 64;
        *seen += (unsigned)__builtin_popcountll(hits);
        if (f->state.books.held == TABLE_LOAD * f->state.table) weir__recent_grow(f);
    }
    return i;
}

/* Cells are bytes, which may be anything to the compiler: what does not change while
 * they do is kept in variables of its own. */
HOT size_t offer_all(weir_filter *base, const weir_batch *batch, uint64_t *verdicts, cpu_kind cpu) {
    recent_filter *f = (recent_filter *)base;
    const uint64_t *hashes = batch->hashes, lines = f->lines;
    uint8_t *cells = base->cells;
    size_t seen = 0, count = batch->count, i = 0;
    if (f->state.table) i = offer_to_table(f, batch, verdicts, &seen, cpu);
    for (unsigned some; i < count; i += some) {
        unsigned whole = AT_ONCE - (unsigned)(i % AT_ONCE);
        some = count - i < whole ? (unsigned)(count - i) : whole;
        ask_ahead(cells, lines, batch, i);
        ask_near(cells, lines, hashes + i, some);
        uint64_t hits = 0;
        for (unsigned j = 0; j < some; j++) {
            uint64_t hash = hashes[i + j], value, number = weir__part(hash, lines, &value);
            uint64_t hit = offer_one(f, cells + number * LINE_BYTES, number, hash, value, cpu);
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
    bool is_time = f->base.values[RECENT_WINDOW].is_time;
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
    uint8_t *cells = f->base.cells;
    uint64_t value, number = weir__part(hash, f->lines, &value);
    if (f->state.table)
        return table_offer(cells, f->state.table, table_hash(hash), false) == IN_TABLE;
    return knows(f, cells + number * LINE_BYTES, value);
}

static size_t test(const weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    const recent_filter *f = (const recent_filter *)base;
    bool is_time = base->values[RECENT_WINDOW].is_time;
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
    .info = weir__recent_info,
    .details = weir__recent_details,
    .merge = weir__recent_merge,
    .destroy = destroy,
    .check = weir__recent_check,
    .expect = weir__recent_expect,
};
