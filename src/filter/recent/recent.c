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
 * Layout     below; bit by bit in recent_flat.h and recent_gaps.h. With `window` lines are those of
 *            recent_window.c.
 *
 * What a line looks like. Its first bits say which form it has. A flat line has a word for each
 * key, then half a word. With more keys it has gaps: the keys in order, each as its distance from
 * the one before, and a mark for each key that was hit.
 *
 *     flat     | n | key 0 | key 1 | ... |                                     up to 15 keys
 *     gaps     | form | hand | high ends of gaps, in unary | free | low ends and marks |
 *
 * Forms with gaps differ in how many bits of a key they keep. When a line has no room for one key
 * more all of its keys lose their last bits, and it is in the next form. In the last form they have
 * as few as the bound allows. Keys in a full line, beside those of two references: the oracle, an
 * exact LRU with two bits a key more than the least, and the least itself (planned by
 * recent_plan.c; test_recent_lines prints what random keys come to):
 *
 *     e        recent  oracle  least
 *     10%        86      96     154
 *     1%         55      59      77
 *     0.1%       40      43      51
 *     0.0001%    22      23      26
 *
 * A filter begins as a table of whole hashes, some tens of KiB, that doubles as keys come until it
 * is as large as the memory and then becomes lines; recent_table.h has that. Nothing is forgotten,
 * cut or counted otherwise meanwhile, so only pages that are needed are touched.
 *
 * What happens to a key. If its line knows it, it is SEEN and gets a mark. Else it is NEW and
 * enters: where there is room, after a cut of all keys if need be, or in the place of another one.
 *
 * Who goes. A hand goes round the keys of a full line and takes the next that has no mark; it wipes
 * the marks that it passes. So a key that was hit since the hand was there stays for another round.
 * There is one policy for all streams. Others were built and left: marks that stay until all keys
 * have one, no marks and so more keys, the choice between them read off the stream. Each is better
 * on some streams, but on streams drawn at random (`make accuracy`) the choice was wrong too often
 * to pay: over 200 of them the median of FN / oracle was 1.45 with it, and 1.18 is without.
 *
 * Why the bound holds. A key's line and its number in the line are independent and uniform, so a
 * new key is called SEEN with a probability that is the mean over all lines of
 *
 *     match(line) = keys / numbers that a key can have = n / U
 *
 * No form has more than e U keys in a line. The rate that is reported, fpr_now, is the sum of all
 * n / U, kept in integers.
 *
 * One line for each key has its price. Lines get unequally many keys, so while keys just about fit
 * some lines overflow and others have room: about 0.4 / sqrt(n) of the keys do not find room that
 * one large table would have, 8% at 0.0001%, 5% at 1%.
 *
 * Lifetime. In a stream of new keys only, a full filter of N keys forgets one for each that comes,
 * so by Little's law a key lives N keys on average.
 */
#include <string.h>

#include "core/clock.h"
#include "filter/recent/recent_filter.h"
#include "filter/recent/recent_gaps.h"
#include "filter/recent/recent_line.h"
#include "filter/recent/recent_table.h"

#define AHEAD 64u   /* lines asked for ahead of the one at work, */
#define AT_ONCE 16u /* and how many of them at a time */

/* ---- making one ---- */

/* A window of n records never has more than n keys: with a line for each no fine line
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
    return weir__filter_map(base, f->lines * LINE_BYTES, err);
}

static void start(weir_filter *base) {
    recent_filter *f = (recent_filter *)base;
    f->state.layout = LAYOUT;
    f->state.table = f->base.windowed ? 0 : f->first;
    f->state.rng = weir__mix64(weir__opt_whole(base, WEIR__OPT_SEED) + 1);
}

/* ---- looking a key up ---- */

/* Whether a line has a key, in whatever form it is. */
static bool knows(const recent_filter *f, const uint8_t *line, uint64_t value) {
    uint64_t tag = tag_of(&f->shape, value);
    unsigned code = read_code(line);
    if (code >= GAP_CODE) return test_gaps(&f->shape, line, tag);
    return match_tags(line, code, tag, code > WORDS_MOST, CPU_ANY);
}

/* ---- offering a key ---- */

/* One key more than a flat line can have: from words to half words, or to gaps. */
HOT void outgrow_here(recent_filter *f, uint8_t *line, unsigned n, uint64_t tag, cpu_kind cpu) {
    const line_shape *shape = &f->shape;
    line_content content;
    if (n < shape->flat) {
        words_to_halves(line, tag);
        f->state.books.spent += shape->flat_cost[n + 1] - shape->flat_cost[n];
        return;
    }
    weir__recent_read(shape, line, &content);
    content.tag[content.count++] = tag & ~UINT64_C(1);
    if (cpu != CPU_ANY && shape->form[0].in_lanes)
        sort_to_lanes(shape, line, content.tag, content.count);
    else weir__recent_write(shape, line, &content);
    f->state.books.spent += weir__recent_cost(shape, line) - shape->flat_cost[n];
}

DEFINE_CPU_VARIANTS(void, outgrow, (recent_filter * f, uint8_t *line, unsigned n, uint64_t tag),
                    (f, line, n, tag, cpu))

/* A key and a flat line, of words or of half words: each in code of its own, as most lines are the
 * same at a time. */
HOT bool offer_flat_as(recent_filter *f, uint8_t *line, unsigned n, uint64_t tag, bool in_halves,
                       cpu_kind cpu) {
    unsigned found = match_tags(line, n, tag, in_halves, cpu);
    if (found) {
        add_flat_marks(line, n, found);
        return true;
    }
    f->state.books.held++;
    if (n == (in_halves ? HALVES_MOST : WORDS_MOST)) {
        CALL_CPU_VARIANT(outgrow, cpu, (f, line, n, tag));
    } else {
        f->state.books.spent += f->shape.flat_cost[n + 1] - f->shape.flat_cost[n];
        put_tag(line, n, tag, in_halves);
    }
    return false;
}

/* A key and its line. `value` is what is left of the hash once it has chosen the line. */
HOT bool offer_line(recent_filter *f, uint8_t *line, uint64_t value, cpu_kind cpu) {
    unsigned code = read_code(line);
    uint64_t tag = tag_of(&f->shape, value);
    if (code <= WORDS_MOST) return offer_flat_as(f, line, code, tag, false, cpu);
    if (code < GAP_CODE) return offer_flat_as(f, line, code, tag, true, cpu);
    gap_outcome outcome = CALL_CPU_VARIANT(offer_gaps, cpu, (&f->shape, line, tag));
    f->state.books.held += !outcome.seen - (uint64_t)outcome.gone;
    f->state.books.forgotten += outcome.gone;
    f->state.books.spent += outcome.cost;
    return outcome.seen;
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
    const uint64_t table = f->state.table;
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
            uint64_t value, number = weir__part(hashes[i + j], lines, &value);
            uint64_t hit = offer_line(f, cells + number * LINE_BYTES, value, cpu);
            hits |= hit << j;
        }
        verdicts[i / 64] |= hits << i % 64;
        seen += (unsigned)__builtin_popcountll(hits);
    }
    return seen;
}

/* The same again: for any processor, and for those that do it faster. */
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
#elif defined(__aarch64__)
static size_t offer_neon(weir_filter *base, const weir_batch *batch, uint64_t *verdicts) {
    return offer_all(base, batch, verdicts, CPU_NEON);
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
#elif defined(__aarch64__)
    if (weir__cpu() == CPU_NEON) return offer_neon(base, batch, verdicts);
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
