/* counters.c - arrays of small counters: their rate, their planning, their fill.
 *
 * Which counters are non-zero is the same as which bits are set in a Bloom filter
 * of as many bits, so the rates are those of bloom.c (classic) and of groups in a
 * line (block). They depend on the distinct keys that are in, not on how often
 * each was offered.
 */
#include "filter/counters/counters.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "filter/bloom.h"

#define MOST_LINES (UINT64_C(1) << 44) /* 2^50 bytes: most that is searched for a capacity */
enum { SAMPLE_WORDS = 32768, SAMPLE_LINES = 4096 }; /* looked at for the fill */
#define SLACK 1.02 /* what the sample may be off, before a filter is called overfull */

/* --- formulas ------------------------------------------------------------------- */

double weir__counters_fpr(const weir__counters *c, double keys) {
    if (c->block) return weir__groups_fpr(keys / (double)c->lines, c->k, c->group);
    return weir__bloom_fpr(false, c->size / 8, c->k, keys);
}

double weir__counters_capacity(const weir__counters *c, double fpr) {
    double low = 0, high = 1;
    while (weir__counters_fpr(c, high) <= fpr) low = high, high *= 2;
    while (high - low > 0.5 && high - low > low * 1e-9) {
        double middle = 0.5 * (low + high);
        if (weir__counters_fpr(c, middle) <= fpr) low = middle;
        else high = middle;
    }
    return floor(low + 1e-9);
}

double weir__counters_keys(const weir__counters *c, double fill) {
    double cells = c->block ? (double)c->lines * c->k * c->group : (double)c->size;
    double zeros = fmax(1 - fill, 0.5 / cells);
    if (c->block) return -log(zeros) * c->group * (double)c->lines;
    return log(zeros) / (c->k * log1p(-1 / cells));
}

/* --- planning --------------------------------------------------------------------- */

/* The shape of the counters, by the number of lines. */
typedef struct {
    bool block, with_second;
    unsigned width;
} shape;

static weir__counters first_array(shape s, unsigned k, uint64_t lines) {
    assert(k >= 1 && k <= WEIR__COUNTERS_K_MOST && s.width >= 2 && s.width <= 16);
    unsigned line = WEIR__LINE_BITS / s.width, mine = s.with_second ? line * 2 / 3 : line;
    weir__counters c = {.block = s.block, .k = k, .width = s.width, .top = (1u << s.width) - 1};
    c.size = s.with_second ? lines * line * 2 / 3 / 8 * 8 : lines * line;
    c.lines = lines;
    c.group = mine / k;
    return c;
}

static weir__counters second_array(const weir__counters *first) {
    weir__counters c = *first;
    unsigned line = WEIR__LINE_BITS / c.width;
    c.first = c.block ? line * 2 / 3 : first->size;
    c.size = c.lines * line - first->size;
    c.group = (line - line * 2 / 3) / c.k;
    c.salt = UINT64_C(0x7365636f6e646172);
    return c;
}

static unsigned best_k(shape s, double fpr) {
    unsigned best = 1;
    double most = 0;
    for (unsigned k = 1; k <= WEIR__COUNTERS_K_MOST; k++) {
        weir__counters c = first_array(s, k, 4096); /* the best k hardly depends on the size */
        double keys = c.group > 1 ? weir__counters_capacity(&c, fpr) : 0;
        if (keys > most) most = keys, best = k;
    }
    return best;
}

/* The least number of lines for `capacity` keys; more than MOST_LINES if none. */
static uint64_t lines_for(shape s, unsigned k, double capacity, double fpr) {
    uint64_t low = 0, high = 16;
    for (; high <= MOST_LINES; low = high, high *= 2) {
        weir__counters c = first_array(s, k, high);
        if (weir__counters_fpr(&c, capacity) <= fpr) break;
    }
    while (high <= MOST_LINES && low && high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        weir__counters c = first_array(s, k, middle);
        if (weir__counters_fpr(&c, capacity) <= fpr) high = middle;
        else low = middle;
    }
    return high;
}

static weir_status too_many_for_a_line(const weir_filter *f, shape s, unsigned k, weir_error *err) {
    return weir__opt_fail(f, WEIR__COUNTERS_K, err,
                          "%u counters of %u bits for each key do not fit a line; try "
                          "layout=classic, or fewer bits",
                          k, s.width);
}

static weir_status does_not_fit(const weir_filter *f, shape s, unsigned k, double most,
                                weir_error *err) {
    char needs[32], has[32], rate[32], keys[32], can[32];
    double fpr = weir__opt_rate(f, WEIR__OPT_FPR);
    double capacity = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
    return weir__opt_fail(
        f, WEIR__COUNTERS_CAPACITY, err,
        "capacity=%s at fpr=%s needs memory=%s, not %s; ask for that, or for capacity=%s",
        weir_print_count(keys, capacity), weir_print_rate(rate, fpr),
        weir_print_size(needs, lines_for(s, k, capacity, fpr) * WEIR__LINE),
        weir_print_size(has, weir__opt_whole(f, WEIR__OPT_MEMORY)), weir_print_count(can, most));
}

/* Memory from the capacity, if only that is given. */
static weir_status settle_memory(weir_filter *f, shape s, unsigned k, weir_error *err) {
    if (!weir__opt_given(f, WEIR__COUNTERS_CAPACITY) || weir__opt_given(f, WEIR__OPT_MEMORY))
        return WEIR_OK;
    double capacity = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
    uint64_t lines = lines_for(s, k, capacity, weir__opt_rate(f, WEIR__OPT_FPR));
    if (lines > MOST_LINES)
        return weir__opt_fail(f, WEIR__COUNTERS_CAPACITY, err,
                              "capacity=%.0f needs more memory than can be counted; ask for less",
                              capacity);
    weir__opt_resolve(f, WEIR__OPT_MEMORY, lines * WEIR__LINE);
    return WEIR_OK;
}

/* Memory is settled: the capacity follows, or must not be over what it holds. */
static weir_status settle_capacity(weir_filter *f, shape s, const weir__counters *c, bool all_given,
                                   weir_error *err) {
    char has[32], rate[32];
    if (all_given && weir__fpr_is_open(f)) {
        double keys = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
        weir__imply_fpr(f, weir__counters_fpr(c, keys));
        return WEIR_OK;
    }
    double fpr = weir__opt_rate(f, WEIR__OPT_FPR), most = weir__counters_capacity(c, fpr);
    if (most < 1)
        return weir__opt_fail(f, WEIR__OPT_MEMORY, err,
                              "memory=%s is too small for a single key at fpr=%s; ask for more%s",
                              weir_print_size(has, weir__opt_whole(f, WEIR__OPT_MEMORY)),
                              weir_print_rate(rate, fpr), s.block ? ", or for layout=classic" : "");
    if (!weir__opt_given(f, WEIR__COUNTERS_CAPACITY))
        weir__opt_resolve(f, WEIR__COUNTERS_CAPACITY, (uint64_t)most);
    double capacity = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
    if (weir__counters_fpr(c, capacity) > fpr * (1 + 1e-6))
        return does_not_fit(f, s, c->k, most, err);
    return WEIR_OK;
}

weir_status weir__counters_create(weir_filter *f, weir__counters *first, weir__counters *second,
                                  bool with_second, weir_error *err) {
    shape s = {weir__opt_whole(f, WEIR__COUNTERS_LAYOUT) == 1, with_second,
               2u << weir__opt_whole(f, WEIR__COUNTERS_BITS)};
    bool all_given = weir__opt_given(f, WEIR__COUNTERS_K) &&
                     weir__opt_given(f, WEIR__COUNTERS_CAPACITY) &&
                     weir__opt_given(f, WEIR__OPT_MEMORY);
    if (!weir__opt_given(f, WEIR__COUNTERS_K))
        weir__opt_resolve(f, WEIR__COUNTERS_K, best_k(s, weir__opt_rate(f, WEIR__OPT_FPR)));
    unsigned k = (unsigned)weir__opt_whole(f, WEIR__COUNTERS_K);
    *first = first_array(s, k, 1);
    if (s.block && (first->group < 2 || (with_second && second_array(first).group < 1)))
        return too_many_for_a_line(f, s, k, err);
    weir_status status = settle_memory(f, s, k, err);
    if (status) return status;
    *first = first_array(s, k, weir__opt_whole(f, WEIR__OPT_MEMORY) / WEIR__LINE);
    if (with_second) *second = second_array(first);
    status = settle_capacity(f, s, first, all_given, err);
    if (status) return status;
    return weir__filter_map(f, first->lines * WEIR__LINE, err);
}

/* --- looking inside ------------------------------------------------------------------ */

/* Counters in use among those from `first` on, of which there are n. */
static double share_of_group(const weir_filter *f, const weir__counters *c, uint64_t first,
                             unsigned n) {
    assert(n > 0);
    unsigned in_use = 0;
    for (uint64_t i = 0; i < n; i++)
        in_use +=
            weir__counters_get((const uint64_t *)(void *)f->cells, c, (first + i) * c->width) != 0;
    return (double)in_use / n;
}

static void info_of_lines(const weir_filter *f, const weir__counters *c, weir_filter_info *info) {
    uint64_t line = WEIR__LINE_BITS / c->width, step = (c->lines + SAMPLE_LINES - 1) / SAMPLE_LINES;
    uint64_t looked = 0;
    for (uint64_t at = 0; at < c->lines; at += step, looked++) {
        double all = 1;
        for (unsigned j = 0; j < c->k; j++) {
            double share = share_of_group(f, c, at * line + c->first + j * c->group, c->group);
            info->fill += share;
            all *= share;
        }
        info->fpr_now += all;
    }
    info->fill /= (double)looked * c->k;
    info->fpr_now /= (double)looked;
}

static double share_in_words(const weir_filter *f, const weir__counters *c) {
    uint64_t words = c->size * c->width / 64, step = (words + SAMPLE_WORDS - 1) / SAMPLE_WORDS;
    uint64_t in_use = 0, looked = 0;
    for (uint64_t at = 0; at < words; at += step, looked++)
        in_use += (uint64_t)__builtin_popcountll(
            weir__counters_in_use(weir__load_word(f->cells + at * 8), c->width));
    return (double)in_use / ((double)looked * 64 / c->width);
}

void weir__counters_info(const weir_filter *f, const weir__counters *c, weir_filter_info *info) {
    if (c->block) {
        info_of_lines(f, c, info);
    } else {
        info->fill = share_in_words(f, c);
        info->fpr_now = pow(info->fill, c->k);
    }
    double keys = info->fill > 0 ? weir__counters_keys(c, info->fill) : 0;
    info->keeps_all = true;
    info->room = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
    info->overfull = keys > SLACK * info->room;
}

static uint64_t stuck(const weir_filter *f, const weir__counters *c) {
    uint64_t n = 0;
    for (uint64_t at = 0; at < f->cells_bytes; at += 8)
        n += (uint64_t)__builtin_popcountll(
            weir__counters_at_top(weir__load_word(f->cells + at), c->width));
    return n;
}

void weir__counters_details(const weir_filter *f, const weir__counters *c, weir_detail_fn *each,
                            void *context) {
    weir_filter_info info = {0};
    double capacity = (double)weir__opt_whole(f, WEIR__COUNTERS_CAPACITY);
    weir__counters_info(f, c, &info);
    weir__detail(each, context, "keys", "distinct keys in it, estimated from the fill", "%.0f",
                 info.fill > 0 ? weir__counters_keys(c, info.fill) : 0);
    weir__detail(each, context, "capacity", "keys it may hold before the rate exceeds its bound",
                 "%.0f", capacity);
    weir__detail(each, context, "bits_per_key", "memory for each key at capacity", "%.2f",
                 (double)f->cells_bytes * 8 / capacity);
    weir__detail(each, context, "fpr_at_capacity", "false positive rate when it is just full",
                 "%.3g", weir__counters_fpr(c, capacity));
    weir__detail(each, context, "counters_stuck",
                 "counters at their top, which are never lowered again", "%llu",
                 (unsigned long long)stuck(f, c));
}

/* Two words of counters added, each counter stopping at its top. */
static uint64_t add_words(uint64_t a, uint64_t b, unsigned width) {
    assert(width >= 2 && 64 % width == 0);
    uint64_t high = weir__counters_lows(width) << (width - 1);
    uint64_t sum = ((a & ~high) + (b & ~high)) ^ ((a ^ b) & high);
    uint64_t over = ((a & b) | ((a | b) & ~sum)) & high;
    return sum | (over >> (width - 1)) * ((UINT64_C(1) << width) - 1);
}

void weir__counters_add(weir_filter *into, const weir_filter *from, unsigned width) {
    assert(into->cells_bytes == from->cells_bytes && into->cells_bytes % 8 == 0);
    for (uint64_t at = 0; at < into->cells_bytes; at += 8)
        weir__store_word(into->cells + at, add_words(weir__load_word(into->cells + at),
                                                     weir__load_word(from->cells + at), width));
}

/* Nothing is ever forgotten. */
void weir__counters_expect(const weir__counters *c, const weir_stream_model *model,
                           weir_expectation *expectation) {
    expectation->fpr = weir__counters_fpr(c, model->distinct);
    expectation->fnr = 0;
}
