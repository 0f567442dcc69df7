/* reservoir.c - reservoir sampling Bloom filter (RSBF), classic and blocked.
 *
 * Question   has this key come by?
 * Idea       k Bloom filters of s bits, one bit of each per key; all set means
 *            SEEN. Key i is inserted with probability min(1, s/i), as into a
 *            reservoir, and each insertion clears bits, so that the filters
 *            stay about half full. Once s/i has fallen to p*, every key that is
 *            NEW is inserted as well, else late keys would never be remembered.
 * Parameters M = ks bits; k by equation 5.27 (aim=fpr), 1 (aim=fnr) or the mean
 *            of the two (aim=mean, the paper's choice); p* = 0.03.
 * Error      both ways. False positives: at most 2^-k (reading=tables) or
 *            (1-1/e)^k (reading=text). With aim=fpr that is under fpr; with the
 *            paper's mean it is NOT: k = 3 for fpr = 10% allows 12.5%. False
 *            negatives: keys whose bits were cleared, and keys never inserted.
 * Cost       k random lines to look, 2k to insert (classic) or one (block).
 * Layout     classic  filter j holds bits js .. js+s-1; bit i is bit i%8 of byte i/8
 *            block    every line holds 512/k bits of each filter (lines.h); a key
 *                     has its bits, and clears bits, in one line. Insertions fall
 *                     on lines as chance has it: a line that had few of them has
 *                     fewer ones, so with reading=tables the rate is below that of
 *                     classic until it is reached, and keys are forgotten alike.
 *                     With reading=text a line that got more than its share of the
 *                     first s keys is fuller than (1-1/e): aim=fpr plans for that.
 * Source     Dutta, Bhattacharjee, Narang, EDBT 2012. Its text, its Algorithm 1
 *            and its tables disagree. Two readings:
 *   tables   every key that is drawn, the first s included, clears one random
 *            bit of each filter and then sets its k bits. This reproduces
 *            tables 2 to 5 (k = 3 in 2 and 3, k = 2 in 4 and 5), but for two
 *            false positive rates (table 5: 10.26%, we have 16.2%; table 4's
 *            first two rows, which look like k = 3).
 *   text     the first s keys clear nothing. The last rows of the tables would
 *            then have no false negatives at all.
 *            In both, a NEW key that was not drawn and is inserted because of
 *            p* clears, for each of its bits that was 0, one set bit of that
 *            filter; a random bit instead would miss table 3 by 3 points.
 *            Algorithm 1 prints neither the clearing of the drawn keys nor
 *            "s/i <= p*" (it compares the random number with p*).
 * Bias       the paper leaves other bias functions to future work. bias=root draws key i
 *            with probability sqrt(s/i), which falls more slowly; bias=recent draws all,
 *            the memory-less temporal bias of its reference [3]: each insertion clears one
 *            bit of each filter, so a key fades as e^(-2k n/s) with the n keys after it.
 *            The bounds on false positives are those of bias=threshold.
 *            Where a set bit is looked for, the search goes from a random place
 *            on through 64 words at most; where all of them are empty there is
 *            room, and nothing is cleared.
 *
 * The equations, and which can be used:
 *   5.7        no. It adds up the chances that a bit was set at key l and not
 *              cleared since, for all l, though it may have been set more than
 *              once; so the share of ones tends to 1 instead of 1/2.
 *   5.14-5.17  no. 5.12 takes s e^(-...) for at most 1, and the sums count the
 *              chance that the key is drawn at all, so the rate comes out as
 *              O(k/U), near zero, where the tables have 6 to 87%.
 *   5.22       yes: it is exact if the clearing comes before the setting, which
 *              is how we read 5.19. Its fixed point is s/(2 - 1/s).
 *   5.23-5.24  nearly: the last term should be p^2 (1 - 2 beta)^2, not p^2.
 *   5.25-5.28  yes for reading=text at key s.
 * In place of 5.7 and 5.14-5.17 stand what follows from 5.22: an insertion
 * takes the share of ones x towards 1/2 by 2/s of the way, so
 *     x(i) = (1 - e^(-2i/s))/2                  i <= s
 *     x(i) = 1/2 - (1/2 - x(s)) (s/i)^2         i > s
 * and a bit that was set at key j is still or again set with probability
 * (1 + d)/2, d being the same factor from j to i.
 */
#include "filter/reservoir.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "core/cells.h"
#include "filter/filter.h"
#include "filter/line/line_groups.h"
#include "filter/probe.h"

enum { OPT_K = WEIR__OPT_OWN, OPT_PSTAR, OPT_READING, OPT_AIM, OPT_LAYOUT, OPT_BIAS };
enum { BIAS_THRESHOLD, BIAS_ROOT, BIAS_RECENT };
enum { AIM_MEAN, AIM_FPR, AIM_FNR };
enum {
    K_MOST = 64,      /* bits of a key */
    CHUNK = 64,       /* classic: keys of a round at most */
    PLACES = 1024,    /* classic: places of a round at most, those to clear included */
    SEARCH_WORDS = 64 /* words that are searched for a set bit to clear; half of all bits are set */
};

typedef struct {
    weir_filter base;
    uint64_t s;        /* bits of each filter */
    uint64_t lines;    /* block; 0: classic */
    unsigned k, group; /* group: bits of each filter in a line */
    bool text;         /* reading=text */
    unsigned bias;
    uint64_t sampled_only; /* keys up to which s/i is above p* */
    group_plan plan;       /* block: how a key's bits are found */
    struct {
        uint64_t rng;
        uint64_t keys; /* offered so far: i */
    } state;
} reservoir_filter;

/* --- formulas ---------------------------------------------------------------- */

double weir__reservoir_k(double fpr) { return log(fpr) / log1p(-exp(-1)); }

double weir__reservoir_ones_next(double ones, double s, double p) {
    double kept = (s - 1) / s;
    return ones + p * (ones * (kept * kept - 1) + 1);
}

double weir__reservoir_ones_variance(double ones, double s, double p) {
    double down = p * ones * (ones - 1) / (s * s), up = p * (s - ones) / s * (s - ones) / s;
    double drift = up - down;
    return up + down - drift * drift;
}

/* The share of a deviation from one half that is left after the keys from `from` to `to`. */
static double decay(double from, double to, double s) {
    double early = fmax(0, fmin(to, s) - from);
    double ratio = fmax(from, s) / fmax(to, s);
    return exp(-2 * early / s) * ratio * ratio;
}

double weir__reservoir_fill(double i, double s) { return 0.5 - 0.5 * decay(0, i, s); }

double weir__reservoir_fpr(double i, double s, double k) {
    return pow(weir__reservoir_fill(i, s), k);
}

double weir__reservoir_printed_fpr(double m, double s, double k, double universe) {
    double late = 1 - k * s / m, early = pow((1 - exp(-1)) * s / m, k);
    return exp(m * log1p(-1 / universe)) * (late + early);
}

double weir__reservoir_printed_fnr(double m, double s, double k, double universe) {
    return k * (m - s) / (universe * m) + s * k / (universe * m);
}

/* Keys that are drawn of those from+1 .. to. */
static double insertions(double from, double to, double s) {
    double early = fmax(0, fmin(to, s) - from);
    return early + s * log(fmax(to, s) / fmax(from, s));
}

/* In a line: the chance that all k bits of a key are set after a Poisson number of
 * insertions into the line, when each was set with probability `before`. The groups
 * are independent once the number is known; after each insertion what is missing to
 * the fixed point of 5.22 shrinks by (1-1/g)^2. */
static double line_matches(double mean, double group, double k, double before) {
    double kept = (1 - 1 / group) * (1 - 1 / group), settled = 1 / (2 - 1 / group), sum = 0;
    double spread = 8 * sqrt(mean) + 12;
    unsigned first = (unsigned)fmax(0, mean - spread), last = (unsigned)(mean + spread);
    double weight = mean > 0 ? exp(first * log(mean) - mean - lgamma(first + 1.0)) : 1;
    double off = (before - settled) * pow(kept, first);
    for (unsigned j = first; j <= last; j++) {
        sum += weight * pow(settled + off, k);
        weight *= mean / (j + 1);
        off *= kept;
    }
    return fmin(1, sum);
}

double weir__reservoir_line_fpr(double i, double lines, double k) {
    double group = floor(WEIR__LINE_BITS / k);
    return line_matches(insertions(0, i, lines * group) / lines, group, k, 0);
}

/* Integrate over the key j at which it was inserted last; then it passes as
 * NEW if one of its bits is clear now. A key that came by but was never
 * inserted meets bits like any new one. lines: 0 for classic. */
static double fnr(double i, double s, double k, double universe, double lines) {
    const int steps = lines > 0 ? 1000 : 4000;
    double wrong = 0, inserted = 0;
    for (int n = 0; n < steps; n++) {
        double j = (n + 0.5) * i / steps, width = i / steps, since = insertions(j, i, s);
        double rate = fmin(1, s / j) / universe * width;
        double last = rate * exp(-since / universe);
        inserted += last;
        wrong += last * (1 - (lines > 0 ? line_matches(since / lines, s / lines, k, 1)
                                        : pow(0.5 + 0.5 * decay(j, i, s), k)));
    }
    double came_by = -expm1(-i / universe);
    double never = fmax(0, came_by - inserted);
    double fpr = lines > 0 ? weir__reservoir_line_fpr(i, lines, k) : weir__reservoir_fpr(i, s, k);
    return (wrong + never * (1 - fpr)) / came_by;
}

double weir__reservoir_fnr(double i, double s, double k, double universe) {
    return fnr(i, s, k, universe, 0);
}

double weir__reservoir_line_fnr(double i, double lines, double k, double universe) {
    return fnr(i, lines * floor(WEIR__LINE_BITS / k), k, universe, lines);
}

/* The highest rate that is ever reached. */
static double most_fpr(bool text, bool block, unsigned k) {
    double group = floor(WEIR__LINE_BITS / (double)k);
    if (block) return text ? weir__groups_fpr(group, k, group) : pow(1 / (2 - 1 / group), k);
    return text ? pow(-expm1(-1), k) : pow(0.5, k);
}

/* --- creation ---------------------------------------------------------------- */

static unsigned k_for(double fpr, unsigned aim, bool text, bool block) {
    double k = weir__reservoir_k(fpr);
    if (aim == AIM_FNR) return 1;
    k = aim == AIM_FPR ? ceil(k - 1e-9) : round((1 + k) / 2);
    unsigned whole = (unsigned)fmin(fmax(k, 1), K_MOST);
    while (aim == AIM_FPR && whole < K_MOST && most_fpr(text, block, whole) > fpr * (1 + 1e-9))
        whole++;
    return whole;
}

/* k alone fixes the rate: where it is given it stands in for an fpr that nobody asked for,
 * and must be as large as the aim makes it for one that was. */
static weir_status settle_k(weir_filter *filter, bool text, bool block, weir_error *err) {
    double fpr = weir__opt_rate(filter, WEIR__OPT_FPR);
    unsigned least = k_for(fpr, (unsigned)weir__opt_whole(filter, OPT_AIM), text, block);
    unsigned k = (unsigned)weir__opt_whole(filter, OPT_K);
    if (!weir__opt_given(filter, OPT_K)) {
        weir__opt_resolve(filter, OPT_K, least);
    } else if (weir__fpr_is_open(filter)) {
        weir__imply_fpr(filter, most_fpr(text, block, k));
    } else if (k < least) {
        char allowed[32], asked[32];
        return weir__opt_fail(filter, OPT_K, err,
                              "k=%u allows a false positive rate of %s, above fpr=%s; try k=%u", k,
                              weir_print_rate(allowed, most_fpr(text, block, k)),
                              weir_print_rate(asked, fpr), least);
    }
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    reservoir_filter *f = (reservoir_filter *)filter;
    bool block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    f->text = weir__opt_whole(filter, OPT_READING) == 1;
    weir_status status = settle_k(filter, f->text, block, err);
    if (status != WEIR_OK) return status;
    f->k = (unsigned)weir__opt_whole(filter, OPT_K);
    uint64_t unit = block ? WEIR__LINE : 8;
    uint64_t bytes = weir__opt_whole(filter, WEIR__OPT_MEMORY) / unit * unit;
    f->lines = block ? bytes / WEIR__LINE : 0;
    f->group = WEIR__LINE_BITS / f->k;
    f->s = block ? f->lines * f->group : bytes * 8 / f->k;
    if (block) group_plan_make(&f->plan, f->group, f->k, 0);
    f->bias = (unsigned)weir__opt_whole(filter, OPT_BIAS);
    double pstar = weir__opt_rate(filter, OPT_PSTAR);
    double limit = (double)f->s / (f->bias == BIAS_ROOT ? pstar * pstar : pstar);
    if (f->bias == BIAS_RECENT) limit = INFINITY; /* no key is left out */
    f->sampled_only = limit < 0x1p62 ? (uint64_t)ceil(limit) - 1 : UINT64_C(1) << 62;
    return weir__filter_map(filter, bytes, err);
}

static void start(weir_filter *filter) {
    reservoir_filter *f = (reservoir_filter *)filter;
    f->state.rng =
        weir__mix64(weir__opt_whole(filter, WEIR__OPT_SEED) ^ UINT64_C(0x7265736572766f69));
    f->state.keys = 0;
}

/* --- one key ------------------------------------------------------------------- */

/* What is settled about a key before its verdict: its place in the stream, and
 * whether the reservoir draws it. One word of the generator is used per key,
 * whatever happens to it; the bits to clear are probes from that word. */
typedef struct {
    uint64_t number;
    uint64_t random;
    bool drawn;
} arrival;

static bool draw(const reservoir_filter *f, uint64_t random, uint64_t number) {
    assert(number >= 1);
    if (number <= f->s || f->bias == BIAS_RECENT) return true;
    if (f->bias == BIAS_THRESHOLD) return weir__scale(random, number) < f->s;
    double u = (double)(random >> 11) * 0x1p-53;
    return u * u * (double)number < (double)f->s;
}

static arrival next_arrival(reservoir_filter *f) {
    arrival a;
    a.number = ++f->state.keys;
    a.random = weir__rng_next(&f->state.rng);
    a.drawn = draw(f, a.random, a.number);
    return a;
}

/* The k bits to clear come after the coin in the same sequence. */
static weir__probes clearing(arrival a) { return weir__probes_start(weir__mix64(a.random)); }

static bool clears_anywhere(const reservoir_filter *f, arrival a) {
    return a.drawn && (!f->text || a.number > f->s);
}

static void find_places(const reservoir_filter *f, weir__probes probes, uint64_t *places,
                        bool write) {
    assert(f->s > 0 && f->k >= 1 && f->k <= K_MOST);
    uint64_t base = 0;
    for (unsigned j = 0; j < f->k; j++, base += f->s) {
        places[j] = base + weir__scale(weir__probes_next(&probes), f->s);
        if (write) __builtin_prefetch(f->base.cells + (places[j] >> 3), 1);
        else __builtin_prefetch(f->base.cells + (places[j] >> 3), 0);
    }
}

static bool has(const reservoir_filter *f, const uint64_t *places) {
    bool all = true;
    for (unsigned j = 0; j < f->k; j++) all &= weir__bit_get(f->base.cells, places[j]);
    return all;
}

/* Clear the first set bit of those from `low` up to `high`, from a random place on
 * and around the end. */
static void clear_a_set_bit(uint8_t *cells, uint64_t low, uint64_t high, uint64_t from) {
    assert(low <= from && from < high);
    for (unsigned looked = 0; looked < SEARCH_WORDS; looked++) {
        uint64_t word_at = from / 64 * 64, end = word_at + 64 < high ? word_at + 64 : high;
        uint64_t word = weir__load_word(cells + word_at / 8) >> (from - word_at);
        if (word && from + (uint64_t)__builtin_ctzll(word) < end) {
            weir__bit_clear(cells, from + (uint64_t)__builtin_ctzll(word));
            return;
        }
        from = end == high ? low : end;
    }
}

static void insert(reservoir_filter *f, const uint64_t *places, const uint64_t *cleared,
                   arrival a) {
    bool clear = clears_anywhere(f, a);
    for (unsigned j = 0; j < f->k; j++) {
        if (clear) weir__bit_clear(f->base.cells, cleared[j]);
        else if (!a.drawn && !weir__bit_get(f->base.cells, places[j]))
            clear_a_set_bit(f->base.cells, j * f->s, (j + 1) * f->s, cleared[j]);
        weir__bit_set(f->base.cells, places[j]);
    }
}

/* --- one key in its line ------------------------------------------------------------ */

HOT bool has_all(const uint64_t *line, const line_halves *mine) {
    half_line missing = {0};
    for (unsigned h = 0; h < HALVES; h++)
        missing |= mine->half[h] & ~load_half(line + h * HALF_WORDS);
    return !any_bit(missing);
}

/* A NEW key that was not drawn makes room for each bit that it adds. */
static void make_room(const reservoir_filter *f, uint64_t *line, uint64_t rest, uint64_t random) {
    uint64_t mine[WEIR__GROUPS_MOST], others[WEIR__GROUPS_MOST], group = f->group;
    assert(f->lines && f->group * f->k <= WEIR__LINE_BITS);
    weir__find_groups(rest, group, f->k, mine);
    weir__find_groups(weir__mix64(random), group, f->k, others);
    for (unsigned j = 0; j < f->k; j++)
        if (!weir__bit_get((uint8_t *)line, mine[j]))
            clear_a_set_bit((uint8_t *)line, j * group, (j + 1) * group, others[j]);
}

HOT bool line_offer(void *filter, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    reservoir_filter *f = filter;
    const arrival a = next_arrival(f);
    line_halves mine = group_ones(&f->plan, rest, cpu), cleared = {0};
    bool is_seen = has_all(line, &mine);
    if (!a.drawn && (is_seen || a.number <= f->sampled_only)) return is_seen;
    if (clears_anywhere(f, a)) cleared = group_ones(&f->plan, weir__mix64(a.random), cpu);
    else if (!a.drawn) make_room(f, line, rest, a.random);
    for (unsigned h = 0; h < HALVES; h++) {
        half_line kept = load_half(line + h * HALF_WORDS) & ~cleared.half[h];
        store_half(line + h * HALF_WORDS, kept | mine.half[h]);
    }
    return is_seen;
}

HOT bool line_test(void *filter, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    line_halves mine = group_ones(&((const reservoir_filter *)filter)->plan, rest, cpu);
    return has_all(line, &mine);
}

HOT size_t lines_do_all(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                        bool offers, cpu_kind cpu) {
    uint64_t lines = ((const reservoir_filter *)filter)->lines;
    if (!offers) return weir__each_line(filter, lines, batch, verdicts, false, line_test, cpu);
    return weir__each_line(filter, lines, batch, verdicts, true, line_offer, cpu);
}
FOR_EACH_CPU_TOLD(size_t, lines_do,
                  (const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts,
                   bool offers),
                  filter, batch, verdicts, offers)

/* --- the table ------------------------------------------------------------------- */

static size_t chunk_of(unsigned places_per_key) {
    assert(places_per_key >= 1 && places_per_key <= PLACES);
    size_t keys = PLACES / places_per_key;
    return keys < CHUNK ? keys : CHUNK;
}

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    reservoir_filter *f = (reservoir_filter *)filter;
    if (f->lines) return lines_do(filter, batch, verdicts, true);
    uint64_t places[PLACES];
    arrival arrivals[CHUNK];
    size_t seen = 0, chunk = chunk_of(2 * f->k);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++) {
            uint64_t *mine = places + i * 2 * f->k;
            arrivals[i] = next_arrival(f);
            find_places(f, weir__probes_start(batch->hashes[at + i]), mine, true);
            if (arrivals[i].drawn || arrivals[i].number > f->sampled_only)
                find_places(f, clearing(arrivals[i]), mine + f->k, true);
        }
        for (size_t i = 0; i < n; i++) {
            const uint64_t *mine = places + i * 2 * f->k;
            bool is_seen = has(f, mine);
            bool forced = !is_seen && arrivals[i].number > f->sampled_only;
            if (arrivals[i].drawn || forced) insert(f, mine, mine + f->k, arrivals[i]);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const reservoir_filter *f = (const reservoir_filter *)filter;
    if (f->lines) return lines_do(filter, batch, verdicts, false);
    uint64_t places[PLACES];
    size_t seen = 0, chunk = chunk_of(f->k);
    for (size_t at = 0; at < batch->count; at += chunk) {
        size_t n = batch->count - at < chunk ? batch->count - at : chunk;
        for (size_t i = 0; i < n; i++)
            find_places(f, weir__probes_start(batch->hashes[at + i]), places + i * f->k, false);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = has(f, places + i * f->k);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* Share of ones in filter j, from at most 64K bits evenly spread. */
static double fill_of(const reservoir_filter *f, unsigned j) {
    uint64_t step = (f->s + 65535) / 65536, ones = 0, bits = 0;
    for (uint64_t i = 0; i < f->s; i += step, bits++)
        ones += weir__bit_get(f->base.cells, j * f->s + i);
    return (double)ones / (double)bits;
}

/* The same in one line. */
static double line_fill_of(const uint64_t *line, unsigned j, unsigned group) {
    unsigned ones = 0;
    for (unsigned i = 0; i < group; i++)
        ones += weir__bit_get((const uint8_t *)line, (uint64_t)j * group + i);
    return (double)ones / group;
}

/* Fill and rate of line `at`, or (classic) of all. */
static void look_at(const reservoir_filter *f, uint64_t at, double *fill, double *rate) {
    const uint64_t *line = (const uint64_t *)(void *)f->base.cells + at * WEIR__LINE_WORDS;
    *rate = 1;
    for (unsigned j = 0; j < f->k; j++) {
        double share = f->lines ? line_fill_of(line, j, f->group) : fill_of(f, j);
        *fill += share / f->k;
        *rate *= share;
    }
}

static double draw_chance(const reservoir_filter *f, double i) {
    double share = fmin(1, (double)f->s / i);
    return f->bias == BIAS_RECENT ? 1 : f->bias == BIAS_ROOT ? sqrt(share) : share;
}

/* Keys that are drawn of those from+1 .. to. */
static double draws(const reservoir_filter *f, double from, double to) {
    double s = (double)f->s, early = fmax(0, fmin(to, s) - from);
    if (f->bias == BIAS_THRESHOLD) return insertions(from, to, s);
    if (f->bias == BIAS_RECENT) return to - from;
    return early + 2 * sqrt(s) * (sqrt(fmax(to, s)) - sqrt(fmax(from, s)));
}

/* Has it begun to forget? By the tables each key clears one of s bits in each of k filters,
 * from the first on: i keys are expected to have lost k i^2 / 2s of them. */
static bool has_forgotten(const reservoir_filter *f) {
    double i = (double)f->state.keys, s = (double)f->s;
    return i > s || (!f->text && f->k * i * i >= 2 * s);
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const reservoir_filter *f = (const reservoir_filter *)filter;
    uint64_t parts = f->lines ? f->lines : 1, step = (parts + 4095) / 4096, looked = 0;
    for (uint64_t at = 0; at < parts; at += step, looked++) {
        double rate;
        look_at(f, at, &info->fill, &rate);
        info->fpr_now += rate;
    }
    info->fill /= (double)looked;
    info->fpr_now /= (double)looked;
    info->overfull = has_forgotten(f);
    info->fpr_bound = fmax(info->fpr_bound, most_fpr(f->text, f->lines, f->k));
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const reservoir_filter *f = (const reservoir_filter *)filter;
    double i = (double)f->state.keys;
    weir__detail(each, context, "k", "filters, one bit of each per key", "%u", f->k);
    weir__detail(each, context, "s", "bits of each filter; this many keys are surely inserted",
                 "%llu", (unsigned long long)f->s);
    weir__detail(each, context, "insert_probability", "chance that the next key is drawn", "%.4g",
                 draw_chance(f, i + 1));
    weir__detail(each, context, "fpr_most", "false positive rate that it may reach", "%.3g",
                 most_fpr(f->text, f->lines > 0, f->k));
    weir__detail(each, context, "k_for_fpr", "k that would keep the bound (equation 5.27)", "%u",
                 k_for(weir__opt_rate(filter, WEIR__OPT_FPR), AIM_FPR, f->text, f->lines > 0));
}

/* Every pattern of bits is a state; only the count of keys can be wrong. */
static weir_status check(const weir_filter *filter, weir_error *err) {
    const reservoir_filter *f = (const reservoir_filter *)filter;
    if (f->state.keys != filter->offered)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "reservoir: %llu keys counted, %llu offered",
                          (unsigned long long)f->state.keys, (unsigned long long)filter->offered);
    return WEIR_OK;
}

/* The chance that a key which comes every `gap` keys is known at key i. It was
 * inserted 1, 2, ... occurrences ago: surely among the first s keys and, unless it
 * was known, once s/i has fallen to p*; else with probability s/i. From then on
 * each NEW key that is not drawn clears about one set bit of each filter. */
static double known_at(const reservoir_filter *f, double i, double gap, double new_share) {
    double s = (double)f->s, turn = (double)f->sampled_only, open = 1, known = 0;
    for (double at = i - gap; at > 0 && open > 1e-4; at -= gap) {
        double inserted = at <= s || at > turn ? 1 : draw_chance(f, at);
        double late = fmax(0, i - fmax(at, turn)) * new_share;
        double left = exp(-2 * (draws(f, at, i) + late) / s);
        known += open * inserted * pow(0.5 + 0.5 * left, f->k);
        open *= 1 - inserted;
    }
    return known + open * pow(0.5 - 0.5 * exp(-2 * draws(f, 0, i) / s), f->k);
}

static double fnr_of_gaps(const reservoir_filter *f, const weir_stream_model *model,
                          double new_share) {
    const int steps = 64;
    double sum = 0;
    for (size_t g = 0; g < model->gap_count; g++) {
        double gap = fmax(1, model->gaps[g].gap), room = fmax(0, model->records - gap), wrong = 0;
        for (int n = 0; n < steps; n++)
            wrong += 1 - known_at(f, gap + 1 + (n + 0.5) * room / steps, gap, new_share);
        sum += model->gaps[g].share * wrong / steps;
    }
    return sum;
}

/* How many keys are NEW follows from the rate that is looked for: a few rounds. */
static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const reservoir_filter *f = (const reservoir_filter *)filter;
    double records = fmax(1, model->records), firsts = model->distinct / records, fnr = 0.5;
    for (int round = 0; round < 4; round++)
        fnr = fnr_of_gaps(f, model, firsts + fnr * (1 - firsts));
    expectation->fpr = pow(0.5 - 0.5 * exp(-2 * draws(f, 0, records) / (double)f->s), f->k);
    if (f->text) expectation->fpr = pow(-expm1(-fmin(1, records / (double)f->s)), f->k);
    expectation->fnr = fnr;
}

/* The paper's own choice of k breaks the bound. */
static void tune(const weir_stream_model *model, uint64_t memory, double fpr, char *options,
                 size_t size) {
    (void)model, (void)memory, (void)fpr;
    snprintf(options, size, "aim=fpr");
}

static const weir_option options[] = {
    {"k", WEIR_OPT_COUNT, 1, K_MOST, NULL, NULL, "bits per key; derived from fpr and aim"},
    {"pstar", WEIR_OPT_RATE, 1e-9, 1, NULL, "3%",
     "insertion probability from which on every new key is inserted"},
    {"reading", WEIR_OPT_CHOICE, 0, 0, "tables|text", "tables",
     "of the paper: what reproduces its tables, or what its text says"},
    {"aim", WEIR_OPT_CHOICE, 0, 0, "mean|fpr|fnr", "mean",
     "k by the paper's mean, by fpr (keeps the bound), or 1 (fewest false negatives)"},
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "classic",
     "bits anywhere, as in the paper, or all of a key in one cache line: faster"},
    {"bias", WEIR_OPT_CHOICE, 0, 0, "threshold|root|recent", NULL,
     "which keys are drawn: as the paper, s/i, unless given; its square root; or all, so that the "
     "latest are kept"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__reservoir_class = {
    .kind = {.name = "reservoir",
             .fpr_is_target = true,
             .summary = "reservoir sampling Bloom filter (RSBF): keeps a sample of all keys",
             .advice = "For comparison and for reproducing the figures of its paper. With the "
                       "paper's own choice of k (aim=mean) it exceeds fpr; aim=fpr keeps it, and "
                       "forgets more. A key of the distant past is remembered as well as a recent "
                       "one, which suits streams whose repeats come at any distance.",
             .mergeable = false,
             .options = options},
    WEIR__FILTER_FUNCTIONS(reservoir_filter),
    .details = details,
    .no_merge = "what each holds depends on how long its stream was",
    .check = check,
    .expect = expect,
    .tune = tune,
};
