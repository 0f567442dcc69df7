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
 *              block    the same for each line of 512 bits, averaged over the
 *                       Poisson number of keys that fall into a line
 *            The second is higher than the first, since some lines are fuller
 *            than others: a key takes 3% more memory at fpr=1%, 8% more at 0.1%
 *            and 35% more at 0.0001%. The plan uses the rate of the layout in
 *            hand, so the bound holds for both.
 * Cost       classic: k random lines per key; block: one. memory as asked for.
 * Layout     classic: bit i is bit i%8 of byte i/8. block: the high bits of the
 *            hash choose a line of 64 bytes, the rest nine bits for each of the
 *            k places in it.
 * Source     Bloom, CACM 13(7), 1970; thesis 2.1.1; blocks: Putze, Sanders,
 *            Singler, JEA 14, 2009. We differ: k places come from one hash
 *            (probe.h), and the printed rate (1 - e^(-kn/m))^k, which is a
 *            little too low for small m and far too low for blocks, is replaced
 *            by the expectation above.
 */
#include <math.h>
#include <stdio.h>

#include "core/cells.h"
#include "filter/bloom.h"
#include "filter/filter.h"
#include "filter/probe.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_K, OPT_CAPACITY };
enum { K_MOST = 32, CHUNK = 64, PLACES = 512, AHEAD = 16 };

/* What the memory option may say. */
#define LEAST_BYTES UINT64_C(1024)
#define MOST_BYTES (UINT64_C(1) << 50)

/* Bits in a line, and how many places one mixed word gives (nine bits each). */
enum { LINE_BITS = 512, PLACE_BITS = 9, PLACES_A_WORD = 7 };

typedef struct {
    weir_filter base;
    uint64_t bits, lines;
    unsigned k;
    bool block;
    struct {
        uint64_t ones; /* bits set */
        uint64_t keys; /* keys added; after a merge an estimate from the fill */
    } state;
} bloom_filter;

/* --- formulas ---------------------------------------------------------------- */

/* E[(X/bits)^k] for the number X of bits set by so many independent throws.
 * The power of the mean is too low, for X varies; its variance q(1-(1+a)q)m
 * puts that right to second order (within 1% of the exact value down to 512
 * bits and k = 32). */
static double occupied_power(double bits, double throws, unsigned k) {
    if (throws <= 0) return 0;
    double a = throws * -log1p(-1 / bits);
    double q = exp(-a), mean = -expm1(-a);
    double variance = fmax(0, q * (1 - (1 + a) * q) / bits);
    double pairs = 0.5 * k * (k - 1.0);
    return fmin(1, exp(k * log(mean) + pairs * log1p(variance / (mean * mean))));
}

/* The rate of one line, over the Poisson number of keys in it. */
static double line_fpr(double keys_a_line, unsigned k) {
    double spread = 12 * sqrt(keys_a_line) + 40;
    double first = floor(fmax(0, keys_a_line - spread));
    double weight = exp(first * log(keys_a_line) - keys_a_line - lgamma(first + 1));
    double sum = 0;
    for (double j = first; j <= keys_a_line + spread; j++) {
        sum += weight * occupied_power(LINE_BITS, j * k, k);
        weight *= keys_a_line / (j + 1);
    }
    return fmin(1, sum);
}

double weir__bloom_fpr(bool block, uint64_t bytes, unsigned k, double keys) {
    if (keys <= 0) return 0;
    if (block) return line_fpr(keys / (double)(bytes / WEIR__LINE), k);
    return occupied_power((double)bytes * 8, keys * k, k);
}

/* Solve weir__bloom_fpr() for the keys. The rate rises with them. */
static double keys_at(bool block, uint64_t bytes, unsigned k, double fpr) {
    double low = 0, high = 1;
    while (weir__bloom_fpr(block, bytes, k, high) <= fpr) low = high, high *= 2;
    for (int i = 0; i < 48 && high - low > 0.25 && high - low > low * 1e-9; i++) {
        double middle = 0.5 * (low + high);
        if (weir__bloom_fpr(block, bytes, k, middle) <= fpr)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The k that lets most keys in: the capacity rises with k up to one maximum. */
unsigned weir__bloom_best_k(bool block, double fpr) {
    const uint64_t bytes = 1 << 20; /* the best k hardly depends on the size */
    unsigned best = 1;
    double most = 0;
    for (unsigned k = 1; k <= K_MOST; k++) {
        double keys = keys_at(block, bytes, k, fpr);
        if (keys > most) most = keys, best = k;
        if (keys < 0.9 * most) break;
    }
    return best;
}

uint64_t weir__bloom_capacity(bool block, uint64_t bytes, unsigned k, double fpr) {
    return (uint64_t)keys_at(block, bytes, k, fpr);
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
        if (weir__bloom_fpr(block, middle * WEIR__LINE, k, capacity) > fpr)
            low = middle;
        else
            high = middle;
    }
    return high * WEIR__LINE;
}

/* Keys that leave this share of the bits set. In a line each key leaves a bit
 * alone with probability (1-1/512)^k; over the Poisson number of keys that
 * makes e^(-c(1-(1-1/512)^k)), and classic is the case of one line. */
double weir__bloom_keys_for_fill(bool block, uint64_t bytes, unsigned k, double fill) {
    double bits = (double)bytes * 8;
    double zeros = fmax(1 - fill, 0.5 / bits);
    if (!block) return log(zeros) / (k * log1p(-1 / bits));
    double hit = -expm1(k * log1p(-1.0 / LINE_BITS));
    return -log(zeros) / hit * (double)(bytes / WEIR__LINE);
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

/* Memory is settled: the capacity follows, or must not be over what it holds. */
static weir_status settle_capacity(bloom_filter *f, uint64_t bytes, weir_error *err) {
    char rate[32], has[32];
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

static weir_status create(weir_filter *filter, weir_error *err) {
    bloom_filter *f = (bloom_filter *)filter;
    f->block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    if (!weir__opt_given(filter, OPT_K))
        weir__opt_resolve(filter, OPT_K,
                          weir__bloom_best_k(f->block, weir__opt_rate(filter, WEIR__OPT_FPR)));
    f->k = (unsigned)weir__opt_whole(filter, OPT_K);
    if (weir__opt_given(filter, OPT_CAPACITY) && !weir__opt_given(filter, WEIR__OPT_MEMORY)) {
        weir_status status = size_for_capacity(f, err);
        if (status) return status;
    }
    uint64_t unit = f->block ? WEIR__LINE : 8;
    uint64_t bytes = weir__opt_whole(filter, WEIR__OPT_MEMORY) / unit * unit;
    weir_status status = settle_capacity(f, bytes, err);
    if (status) return status;
    f->bits = bytes * 8;
    f->lines = bytes / WEIR__LINE;
    return weir__filter_map(filter, bytes, err);
}

static void start(weir_filter *filter) {
    bloom_filter *f = (bloom_filter *)filter;
    f->state.ones = f->state.keys = 0;
}

/* --- classic: k places anywhere ------------------------------------------------ */

/* Keys per round: so many that their places fill, but do not flood, the
 * nearest cache. */
static size_t classic_chunk(const bloom_filter *f) {
    size_t keys = PLACES / f->k;
    return keys < CHUNK ? keys : CHUNK;
}

static void classic_places(const bloom_filter *f, const uint64_t *hashes, size_t n,
                           uint64_t *places, int write) {
    for (size_t i = 0; i < n; i++) {
        weir__probes probes = weir__probes_start(hashes[i]);
        for (unsigned j = 0; j < f->k; j++) {
            uint64_t place = weir__scale(weir__probes_next(&probes), f->bits);
            *places++ = place;
            if (write)
                __builtin_prefetch(f->base.cells + (place >> 3), 1);
            else
                __builtin_prefetch(f->base.cells + (place >> 3), 0);
        }
    }
}

static bool classic_add(bloom_filter *f, const uint64_t *places) {
    uint8_t *cells = f->base.cells;
    uint64_t added = 0;
    for (unsigned j = 0; j < f->k; j++) {
        uint8_t *byte = cells + (places[j] >> 3);
        uint8_t bit = (uint8_t)(1u << (places[j] & 7));
        added += !(*byte & bit);
        *byte |= bit;
    }
    f->state.ones += added;
    f->state.keys += added > 0;
    return added == 0;
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
    uint64_t(*lines)[WEIR__LINE / 8] = (void *)f->base.cells;
    line_of_key key;
    key.line = lines[weir__part(hash, f->lines, &key.rest)];
    return key;
}

/* The next seven places of a key, nine bits each, from the low end. */
static inline uint64_t next_places(uint64_t *rest) {
    return *rest = weir__mix64(*rest + UINT64_C(0x9e3779b97f4a7c15));
}

static inline bool bit_of(const uint64_t *line, uint64_t place) {
    return line[place / 64 % 8] >> (place % 64) & 1;
}

static bool block_has(unsigned k, line_of_key key) {
    uint64_t all = 1;
    for (unsigned left = k; left;) {
        uint64_t places = next_places(&key.rest);
        unsigned n = left < PLACES_A_WORD ? left : PLACES_A_WORD;
        left -= n;
        for (; n; n--, places >>= PLACE_BITS) all &= bit_of(key.line, places);
    }
    return all;
}

static unsigned block_set(unsigned k, line_of_key key) {
    unsigned added = 0;
    for (unsigned left = k; left;) {
        uint64_t places = next_places(&key.rest);
        unsigned n = left < PLACES_A_WORD ? left : PLACES_A_WORD;
        left -= n;
        for (; n; n--, places >>= PLACE_BITS) {
            added += !bit_of(key.line, places);
            key.line[places / 64 % 8] |= UINT64_C(1) << (places % 64);
        }
    }
    return added;
}

/* Looking first costs a second pass for a new key, but the first is all loads,
 * which overlap, and a repeated key leaves its line as it was. */
static bool block_add(bloom_filter *f, line_of_key key) {
    if (block_has(f->k, key)) return true;
    f->state.ones += block_set(f->k, key);
    f->state.keys++;
    return false;
}

/* A line is fetched AHEAD keys before it is needed, so that the memory works
 * while places are computed. ring[i % AHEAD] holds key i in between. */
static size_t block_offer(bloom_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            bool is_seen = block_add(f, ring[i % AHEAD]);
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(f, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 1);
        }
    }
    return seen;
}

static size_t block_test(const bloom_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    line_of_key ring[AHEAD];
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD) {
            bool is_seen = block_has(f->k, ring[i % AHEAD]);
            weir__mark_seen(verdicts, i - AHEAD, is_seen);
            seen += is_seen;
        }
        if (i < n) {
            ring[i % AHEAD] = find_line(f, batch->hashes[i]);
            __builtin_prefetch(ring[i % AHEAD].line, 0);
        }
    }
    return seen;
}

/* --- the table ------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    bloom_filter *f = (bloom_filter *)filter;
    return f->block ? block_offer(f, batch, verdicts) : classic_offer(f, batch, verdicts);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const bloom_filter *f = (const bloom_filter *)filter;
    return f->block ? block_test(f, batch, verdicts) : classic_test(f, batch, verdicts);
}

static double fill_of(const bloom_filter *f) { return (double)f->state.ones / (double)f->bits; }

static double keys_from_fill(const bloom_filter *f) {
    return weir__bloom_keys_for_fill(f->block, f->bits / 8, f->k, fill_of(f));
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const bloom_filter *f = (const bloom_filter *)filter;
    info->fill = fill_of(f);
    info->fpr_now = f->block ? weir__bloom_fpr(true, f->bits / 8, f->k, keys_from_fill(f))
                             : pow(info->fill, f->k);
    info->overfull = f->state.keys > weir__opt_whole(filter, OPT_CAPACITY);
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
    const bloom_filter *g = (const bloom_filter *)from;
    for (uint64_t at = 0; at < into->cells_bytes; at += 8)
        weir__store_word(into->cells + at,
                         weir__load_word(into->cells + at) | weir__load_word(from->cells + at));
    f->state.ones = weir__bits_set(into->cells, into->cells_bytes);
    double least = fmax(fmax((double)f->state.keys, (double)g->state.keys),
                        ceil((double)f->state.ones / f->k));
    double most = fmin((double)f->state.keys + (double)g->state.keys, (double)f->state.ones);
    f->state.keys = (uint64_t)fmin(fmax(round(keys_from_fill(f)), least), most);
    return WEIR_OK;
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const bloom_filter *f = (const bloom_filter *)filter;
    uint64_t ones = weir__bits_set(filter->cells, filter->cells_bytes);
    if (ones != f->state.ones)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "bloom: %llu bits are set where %llu were counted",
                          (unsigned long long)ones, (unsigned long long)f->state.ones);
    uint64_t keys = f->state.keys;
    if (keys > ones || keys < (ones + f->k - 1) / f->k)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "bloom: %llu keys cannot have set %llu bits",
                          (unsigned long long)keys, (unsigned long long)ones);
    return WEIR_OK;
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "block",
     "k bits anywhere, or all in one cache line: faster, for somewhat more memory per key"},
    {"k", WEIR_OPT_COUNT, 1, K_MOST, NULL, NULL, "bits set per key; derived from fpr"},
    {"capacity", WEIR_OPT_COUNT, 1, 1e15, NULL, NULL,
     "distinct keys it is made for; derived from memory and fpr, or the memory from it"},
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
    .size = sizeof(bloom_filter),
    .state_offset = offsetof(bloom_filter, state),
    .state_words = 2,
    .create = create,
    .start = start,
    .offer = offer,
    .test = test,
    .info = info,
    .details = details,
    .merge = merge,
    .check = check,
};
