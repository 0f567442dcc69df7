/* bloom.c - Bloom filter, classic and blocked.
 *
 * Question   has this key been added since creation?
 * Idea       k hashed bits per key; all set means SEEN, else NEW and they are
 *            set. Nothing is ever forgotten, so the filter fills up: it is
 *            made for a number of keys, its capacity, and says when it is over.
 * Parameters m bits, k bits per key, n keys. Two of memory, capacity and fpr
 *            give the third; k is the one that lets most keys in.
 * Error      false positives only: no key that was added is ever called NEW.
 *            The rate grows with the keys and reaches fpr at the capacity;
 *            beyond it the bound no longer holds.
 *              classic  E[(X/m)^k], X bits set by kn throws into m
 *              block    the same for each word of a line, the words multiplied,
 *                       averaged over the Poisson number of keys in a line
 *            The second is higher than the first, since some lines are fuller
 *            than others: a key takes 3% more memory at fpr=1%, 8% more at 0.1%
 *            and 35% more at 0.0001%. The plan uses the rate of the layout in
 *            hand, so the bound holds for both.
 * Cost       classic: k random lines per key; block: one. memory as asked for.
 * Layout     classic: bit i is bit i%8 of byte i/8. block: the high bits of the
 *            hash choose a line of 8 words; what is left of it chooses a first
 *            word and k bits, one in each word from there on, around and around.
 * Source     Bloom, CACM 13(7), 1970; thesis 2.1.1; blocks: Putze, Sanders,
 *            Singler, JEA 14, 2009. We differ: k places come from one hash
 *            (probe.h), and the printed rate (1 - e^(-kn/m))^k, which is a
 *            little too low for small m and far too low for blocks, is replaced
 *            by the expectation above.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "core/cells.h"
#include "filter/bloom.h"
#include "filter/filter.h"
#include "filter/line/line_cells.h"
#include "filter/occupancy.h"
#include "filter/probe.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_K, OPT_CAPACITY, OPT_BITS };
enum {
    CHUNK = 64,    /* classic: keys of a round at most */
    PLACES = 512,  /* classic: places of a round at most, 4 KiB */
    AHEAD = 24,    /* block: keys between asking for a line and using it */
    WORD_BITS = 64 /* bits of a word of a line */
};

#define LEAST_BYTES UINT64_C(1024)     /* least that memory= may be */
#define MOST_BYTES (UINT64_C(1) << 50) /* most that is searched for a capacity */

typedef struct {
    weir_filter base;
    uint64_t bits, lines;
    unsigned k;
    bool block, k_given;
    line_plan plan; /* block: how a key's bits are found */
    struct {
        uint64_t keys; /* added; after a merge an estimate from the fill */
    } state;
} bloom_filter;

/* --- formulas: occupancy.h for bits ------------------------------------------ */

static weir__shape shape_of(bool block, uint64_t bytes) {
    return (weir__shape){(double)bytes * 8, block ? WORD_BITS : 0};
}

double weir__bloom_fpr(bool block, uint64_t bytes, unsigned k, double keys) {
    return weir__shape_fpr(shape_of(block, bytes), k, keys);
}

unsigned weir__bloom_best_k(bool block, double fpr) {
    const uint64_t bytes = 1 << 16; /* the best k hardly depends on the size */
    return weir__shape_best_k(shape_of(block, bytes), fpr);
}

uint64_t weir__bloom_capacity(bool block, uint64_t bytes, unsigned k, double fpr) {
    return (uint64_t)weir__shape_keys(shape_of(block, bytes), k, fpr, 1e-9);
}

/* The least memory in whole lines, UINT64_MAX where no machine has it. */
uint64_t weir__bloom_bytes(bool block, double capacity, unsigned k, double fpr) {
    uint64_t low = 0, high = LEAST_BYTES / WEIR__LINE;
    while (weir__bloom_fpr(block, high * WEIR__LINE, k, capacity) > fpr) {
        low = high, high *= 2;
        if (high > MOST_BYTES / WEIR__LINE) return UINT64_MAX;
    }
    while (low && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (weir__bloom_fpr(block, middle * WEIR__LINE, k, capacity) > fpr) low = middle;
        else high = middle;
    }
    return high * WEIR__LINE;
}

double weir__bloom_keys_for_fill(bool block, uint64_t bytes, unsigned k, double fill) {
    return weir__shape_keys_for_fill(shape_of(block, bytes), k, fill);
}

/* --- creation ---------------------------------------------------------------- */

/* Capacity given, memory not: just enough memory. */
static weir_status size_for_capacity(bloom_filter *f, weir_error *err) {
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    double capacity = (double)weir__opt_whole(&f->base, OPT_CAPACITY);
    uint64_t bytes = weir__bloom_bytes(f->block, capacity, f->k, fpr);
    if (bytes == UINT64_MAX)
        return weir__opt_fail(&f->base, OPT_CAPACITY, err,
                              "capacity=%.0f needs more memory than can be counted; ask for less",
                              capacity);
    weir__opt_resolve(&f->base, WEIR__OPT_MEMORY, bytes);
    return WEIR_OK;
}

static weir_status capacity_does_not_fit(const bloom_filter *f, uint64_t most, weir_error *err) {
    char needs[32], has[32], rate[32], keys[32], can[32];
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    double capacity = (double)weir__opt_whole(&f->base, OPT_CAPACITY);
    return weir__opt_fail(
        &f->base, OPT_CAPACITY, err,
        "capacity=%s at fpr=%s needs memory=%s, not %s; ask for that, or for capacity=%s",
        weir_print_count(keys, capacity), weir_print_rate(rate, fpr),
        weir_print_size(needs, weir__bloom_bytes(f->block, capacity, f->k, fpr)),
        weir_print_size(has, weir__opt_whole(&f->base, WEIR__OPT_MEMORY)),
        weir_print_count(can, (double)most));
}

/* Bits per key, keys and memory are given, fpr is not: it is the rate at capacity. */
static bool implies_fpr(const bloom_filter *f) {
    return f->k_given && weir__opt_given(&f->base, OPT_CAPACITY) &&
           weir__opt_given(&f->base, WEIR__OPT_MEMORY) && weir__fpr_is_open(&f->base);
}

/* Memory is settled: the capacity follows, or must not be over what it holds. */
static weir_status settle_capacity(bloom_filter *f, uint64_t bytes, weir_error *err) {
    char rate[32], has[32];
    if (bytes && implies_fpr(f)) {
        weir__imply_fpr(&f->base, weir__bloom_fpr(f->block, bytes, f->k,
                                                  (double)weir__opt_whole(&f->base, OPT_CAPACITY)));
        return WEIR_OK;
    }
    double fpr = weir__opt_rate(&f->base, WEIR__OPT_FPR);
    uint64_t most = bytes ? weir__bloom_capacity(f->block, bytes, f->k, fpr) : 0;
    if (most == 0)
        return weir__opt_fail(&f->base, WEIR__OPT_MEMORY, err,
                              "memory=%s is too small for a single key at fpr=%s; ask for more",
                              weir_print_size(has, weir__opt_whole(&f->base, WEIR__OPT_MEMORY)),
                              weir_print_rate(rate, fpr));
    if (!weir__opt_given(&f->base, OPT_CAPACITY)) {
        weir__opt_resolve(&f->base, OPT_CAPACITY, most);
        return WEIR_OK;
    }
    double capacity = (double)weir__opt_whole(&f->base, OPT_CAPACITY);
    if (weir__bloom_fpr(f->block, bytes, f->k, capacity) > fpr * (1 + 1e-6))
        return capacity_does_not_fit(f, most, err);
    return WEIR_OK;
}

/* With bits=, as papers count them, a filter may be smaller than the least memory. */
static weir_status take_bits(bloom_filter *f, uint64_t *bytes, weir_error *err) {
    uint64_t bits = weir__opt_whole(&f->base, OPT_BITS);
    if (!weir__opt_given(&f->base, OPT_BITS)) return WEIR_OK;
    if (f->block)
        return weir__opt_fail(&f->base, OPT_BITS, err, "bits=%llu goes with layout=classic",
                              (unsigned long long)bits);
    if (bits > *bytes * 8 || bits % 8)
        return weir__opt_fail(&f->base, OPT_BITS, err,
                              "bits=%llu is not a multiple of 8 up to the %llu of its memory",
                              (unsigned long long)bits, (unsigned long long)*bytes * 8);
    *bytes = bits / 8;
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    bloom_filter *f = (bloom_filter *)filter;
    f->block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    f->k_given = weir__opt_given(filter, OPT_K);
    if (!f->k_given)
        weir__opt_resolve(filter, OPT_K,
                          weir__bloom_best_k(f->block, weir__opt_rate(filter, WEIR__OPT_FPR)));
    f->k = (unsigned)weir__opt_whole(filter, OPT_K);
    if (weir__opt_given(filter, OPT_CAPACITY) && !weir__opt_given(filter, WEIR__OPT_MEMORY)) {
        weir_status status = size_for_capacity(f, err);
        if (status) return status;
    }
    uint64_t unit = f->block ? WEIR__LINE : 8;
    uint64_t bytes = weir__opt_whole(filter, WEIR__OPT_MEMORY) / unit * unit;
    uint64_t used = bytes;
    weir_status status = take_bits(f, &used, err);
    if (!status) status = settle_capacity(f, used, err);
    if (status) return status;
    f->bits = used * 8;
    f->lines = bytes / WEIR__LINE;
    f->plan = line_plan_of(f->k, 1);
    return weir__filter_map(filter, bytes, err);
}

static void start(weir_filter *filter) {
    bloom_filter *f = (bloom_filter *)filter;
    f->state.keys = 0;
}

/* --- classic: k places anywhere ------------------------------------------------ */

/* Keys per round: their places fit into the first-level cache. */
static size_t classic_chunk(const bloom_filter *f) {
    assert(f->k >= 1 && f->k <= PLACES);
    size_t keys = PLACES / f->k;
    return keys < CHUNK ? keys : CHUNK;
}

static void classic_places(const bloom_filter *f, const uint64_t *hashes, size_t n,
                           uint64_t *places, int write) {
    assert(f->bits > 0);
    for (size_t i = 0; i < n; i++) {
        weir__probes probes = weir__probes_start(hashes[i]);
        for (unsigned j = 0; j < f->k; j++) {
            uint64_t place = weir__scale(weir__probes_next(&probes), f->bits);
            *places++ = place;
            if (write) __builtin_prefetch(f->base.cells + (place >> 3), 1);
            else __builtin_prefetch(f->base.cells + (place >> 3), 0);
        }
    }
}

static bool classic_add(bloom_filter *f, const uint64_t *places) {
    uint8_t *cells = f->base.cells;
    bool all = true;
    for (unsigned j = 0; j < f->k; j++) {
        all &= weir__bit_get(cells, places[j]);
        weir__bit_set(cells, places[j]);
    }
    f->state.keys += !all;
    return all;
}

static bool classic_has(const bloom_filter *f, const uint64_t *places) {
    bool all = true;
    for (unsigned j = 0; j < f->k; j++) all &= weir__bit_get(f->base.cells, places[j]);
    return all;
}

static size_t classic_offer(bloom_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = classic_chunk(f);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        classic_places(f, batch->hashes + at, n, places, 1);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_add(f, places + i * f->k);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

static size_t classic_test(const bloom_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    uint64_t places[PLACES];
    size_t seen = 0, chunk = classic_chunk(f);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        classic_places(f, batch->hashes + at, n, places, 0);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_has(f, places + i * f->k);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* --- block: k places in one line ------------------------------------------------ */

/* Where a key lives: its line, and what of the hash the places come from. */
typedef struct {
    uint64_t *line;
    uint64_t rest;
} line_of_key;

static inline line_of_key find_line(const bloom_filter *f, uint64_t hash) {
    assert(f->lines > 0);
    uint64_t(*lines)[WEIR__LINE / 8] = (void *)f->base.cells;
    line_of_key key;
    key.line = lines[weir__part(hash, f->lines, &key.rest)];
    return key;
}

HOT bool block_has(const line_plan *plan, line_of_key key) {
    line_halves bits;
    half_line missing = {0};
    line_cells(plan, key.rest, 1, &bits);
    for (unsigned h = 0; h < HALVES; h++)
        missing |= bits.half[h] & ~load_half(key.line + h * HALF_WORDS);
    return !any_bit(missing);
}

HOT bool block_add(const line_plan *plan, line_of_key key) {
    line_halves bits;
    half_line missing = {0};
    line_cells(plan, key.rest, 1, &bits);
    for (unsigned h = 0; h < HALVES; h++) {
        half_line old = load_half(key.line + h * HALF_WORDS);
        missing |= bits.half[h] & ~old;
        store_half(key.line + h * HALF_WORDS, old | bits.half[h]);
    }
    return !any_bit(missing);
}

HOT void ask_for(const bloom_filter *f, uint64_t hash) {
    __builtin_prefetch(f->base.cells + weir__scale(hash, f->lines) * WEIR__LINE, 1);
}

/* A line is asked for AHEAD keys before it is needed, so that the memory works
 * while places are computed. */
HOT size_t block_all(const bloom_filter *f, const weir_batch *batch, uint64_t *verdicts, bool add) {
    const uint64_t *hashes = batch->hashes;
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < AHEAD && i < n; i++) ask_for(f, hashes[i]);
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) ask_for(f, hashes[i + AHEAD]);
        line_of_key key = find_line(f, hashes[i]);
        bool is_seen = add ? block_add(&f->plan, key) : block_has(&f->plan, key);
        weir__mark_seen(verdicts, i, is_seen);
        seen += is_seen;
    }
    return seen;
}

FOR_EACH_CPU(size_t, block,
             (const bloom_filter *f, const weir_batch *batch, uint64_t *verdicts, bool add),
             (f, batch, verdicts, add))

static size_t block_offer(bloom_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    size_t seen = block(f, batch, verdicts, true);
    f->state.keys += batch->count - seen;
    return seen;
}

static double keys_for_fill(const bloom_filter *f, double fill) {
    return weir__bloom_keys_for_fill(f->block, f->bits / 8, f->k, fill);
}

/* --- as an array of places: what cutting it into ranges needs ---------------------- */

static unsigned places_shape(const weir_filter *filter, uint64_t *places) {
    const bloom_filter *f = (const bloom_filter *)filter;
    *places = f->bits;
    return f->block ? 0 : f->k;
}

static void places_find(const weir_filter *filter, uint64_t hash, uint64_t *places) {
    classic_places((const bloom_filter *)filter, &hash, 1, places, 1);
}

static bool place_is_on(const weir_filter *filter, uint64_t place) {
    return __atomic_load_n(&filter->cells[place >> 3], __ATOMIC_RELAXED) >> (place & 7) & 1;
}

static void place_switch_on(weir_filter *filter, uint64_t place) {
    __atomic_fetch_or(&filter->cells[place >> 3], (uint8_t)(1u << (place & 7)), __ATOMIC_RELAXED);
}

static void places_took_key(weir_filter *filter) {
    __atomic_fetch_add(&((bloom_filter *)filter)->state.keys, 1, __ATOMIC_RELAXED);
}

/* Keys can no longer be counted by their bits: as after a merge, the fill tells. */
static void places_switch_off(weir_filter *filter, uint64_t first, uint64_t end) {
    bloom_filter *f = (bloom_filter *)filter;
    assert(first <= end && end <= f->bits);
    for (uint64_t at = first; at < end; at++) weir__bit_clear(filter->cells, at);
    double ones = (double)weir__bits_set(filter->cells, filter->cells_bytes);
    double keys = round(keys_for_fill(f, ones / (double)f->bits));
    f->state.keys = (uint64_t)fmin(fmax(keys, ceil(ones / f->k)), ones);
}

#define LOOKS 65536 /* places that are looked at, at most */

static double places_share_on(const weir_filter *filter, uint64_t first, uint64_t end) {
    uint64_t on = 0, looked = 0, step = 1 + (end - first) / LOOKS;
    for (uint64_t at = first; at < end; at += step, looked++) on += place_is_on(filter, at);
    return looked ? (double)on / (double)looked : 0;
}

static const weir__places places = {.shape = places_shape,
                                    .find = places_find,
                                    .is_on = place_is_on,
                                    .switch_on = place_switch_on,
                                    .took_key = places_took_key,
                                    .switch_off = places_switch_off,
                                    .share_on = places_share_on};

/* --- the table ------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    bloom_filter *f = (bloom_filter *)filter;
    return f->block ? block_offer(f, batch, verdicts) : classic_offer(f, batch, verdicts);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const bloom_filter *f = (const bloom_filter *)filter;
    return f->block ? block(f, batch, verdicts, false) : classic_test(f, batch, verdicts);
}

/* Share of bits set in the lines from 0 on, `step` lines apart. */
static double fill_of(const bloom_filter *f, uint64_t step) {
    uint64_t ones = 0, lines = 0;
    if (f->bits < f->base.cells_bytes * 8)
        return (double)weir__bits_set(f->base.cells, f->base.cells_bytes) / (double)f->bits;
    for (uint64_t at = 0; at < f->lines; at += step, lines++)
        ones += weir__bits_set(f->base.cells + at * WEIR__LINE, WEIR__LINE);
    return (double)ones / (double)(lines * WEIR__LINE * 8);
}

/* From at most 16384 lines, evenly spread: keys fall on them at random, so they
 * stand for all, to 0.1% of the fill. */
static void info(const weir_filter *filter, weir_filter_info *info) {
    const bloom_filter *f = (const bloom_filter *)filter;
    info->fill = fill_of(f, (f->lines + 16383) / 16384);
    info->fpr_now = f->block
                        ? weir__bloom_fpr(true, f->bits / 8, f->k, keys_for_fill(f, info->fill))
                        : pow(info->fill, f->k);
    info->keeps_all = true;
    info->room = (double)weir__opt_whole(filter, OPT_CAPACITY);
    info->overfull = (double)f->state.keys > info->room;
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const bloom_filter *f = (const bloom_filter *)filter;
    double capacity = (double)weir__opt_whole(filter, OPT_CAPACITY);
    weir__detail(each, context, "keys", "keys added (after a merge: estimated from the fill)",
                 "%llu", (unsigned long long)f->state.keys);
    weir__detail(each, context, "capacity", "keys it may take before the rate exceeds its bound",
                 "%.0f", capacity);
    weir__detail(each, context, "bits_per_key", "memory for each key at capacity", "%.2f",
                 (double)f->bits / capacity);
    weir__detail(each, context, "fpr_at_capacity", "false positive rate when it is just full",
                 "%.3g", weir__bloom_fpr(f->block, f->bits / 8, f->k, capacity));
}

/* The union of the bits is the filter of the union of the keys; how many keys
 * that is, only the fill can tell. */
static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    (void)err;
    bloom_filter *f = (bloom_filter *)into;
    double mine = (double)f->state.keys, other = (double)((const bloom_filter *)from)->state.keys;
    for (uint64_t at = 0; at < into->cells_bytes; at += 8)
        weir__store_word(into->cells + at,
                         weir__load_word(into->cells + at) | weir__load_word(from->cells + at));
    double ones = (double)weir__bits_set(into->cells, into->cells_bytes);
    double least = fmax(fmax(mine, other), ceil(ones / f->k)), most = fmin(mine + other, ones);
    double keys = round(keys_for_fill(f, ones / (double)f->bits));
    f->state.keys = (uint64_t)fmin(fmax(keys, least), most);
    return WEIR_OK;
}

/* Every key has set at least one bit and at most k. */
static weir_status check(const weir_filter *filter, weir_error *err) {
    const bloom_filter *f = (const bloom_filter *)filter;
    uint64_t ones = weir__bits_set(filter->cells, filter->cells_bytes), keys = f->state.keys;
    if (keys > ones || keys < (ones + f->k - 1) / f->k)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "bloom: %llu keys cannot have set %llu bits",
                          (unsigned long long)keys, (unsigned long long)ones);
    return WEIR_OK;
}

/* Nothing is forgotten; the rate is highest at the end. */
static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const bloom_filter *f = (const bloom_filter *)filter;
    expectation->fpr = weir__bloom_fpr(f->block, f->bits / 8, f->k, model->distinct);
    expectation->fnr = 0;
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "k bits anywhere, or all in one cache line: faster, for somewhat more memory per key"},
    {"k", WEIR_OPT_COUNT, 1, WEIR__K_MOST, NULL, NULL, "bits set per key; derived from fpr"},
    {"capacity", WEIR_OPT_COUNT, 1, 1e15, NULL, NULL,
     "distinct keys it is made for; derived from memory and fpr, or the memory from it"},
    {"bits", WEIR_OPT_COUNT, 64, 0x1p53, NULL, NULL,
     "uses so many bits only, a multiple of 8, as papers count them; layout=classic"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__bloom_class = {
    .kind = {.name = "bloom",
             .summary = "Bloom filter: never forgets, made for a known number of keys",
             .advice = "Use it when the number of distinct keys is known and memory suffices for "
                       "them: no repeat ever passes. Beyond its capacity it calls more and more "
                       "new keys SEEN without end; for streams of unknown length take recent.",
             .mergeable = true,
             .options = options},
    WEIR__FILTER_FUNCTIONS(bloom_filter),
    .details = details,
    .merge = merge,
    .check = check,
    .places = &places,
    .expect = expect,
};
