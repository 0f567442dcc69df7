/* apbf.c - age-partitioned Bloom filter.
 *
 * Question   has this key come by among the last W keys?
 * Idea       k + l slices in order of age, a key having one bit in each. A key is
 *            put into the k newest slices. When the newest has taken its
 *            generation of g keys, all grow older by one: a cleared slice comes
 *            before them, the oldest goes. So the bits of a key move through the
 *            slices together, and k slices in a row with its bit set mean SEEN.
 *            A key that was put in is surely remembered for l generations, lg
 *            further keys, and surely gone (but for false positives) after (l+1)g.
 *            Only a new key that was wrongly called SEEN is not put in.
 * Parameters M bits, m = M / (k+l) to a slice. All (k, l) with up to 64 slices are
 *            tried, each with the largest g that keeps fpr; the one that surely
 *            remembers most keys is taken.
 * Error      false positives: with r_i the share of ones of slice i, the chance
 *            of k matches in a row, computed exactly; slices are independent of
 *            each other. Worst at the end of a generation, when
 *                r_i = 1 - (1 - 1/m)^(g min(i+1, k)),
 *            and there it is at most fpr. Only NEW keys are put in, and these
 *            find a bit set less often than others, so that they set more of
 *            them: slice i takes not g keys' worth of throws in a generation but
 *                g (1 - F_i) / (1 - F),
 *            F being the rate, and F_i the rate if slice i did not match. With
 *            k=5, l=3 and fpr=5% that makes 5% of the rate.
 *            False negatives: none within lg keys.
 * Renewing   renew=no leaves a key to age from its first occurrence, which is a window.
 *            renew=yes puts a key that is SEEN, but not in the newest slices, there
 *            again, so that it is remembered from its last occurrence on. It takes
 *            the place of a new key in the generation, though most of its bits are
 *            set already: the rate stays far below fpr and, measured, more repeats
 *            are missed than with renew=no on every stream that we tried.
 * Cost       classic: k lines to insert, and few to look: where slice j does not
 *            match no k in a row can contain it, so the next to look at is k slices
 *            on. At a shift one slice is cleared at once. block: one line.
 * Layout     classic  slice j is bits jm .. jm+m-1, m a multiple of 64; which slice
 *                     is the newest goes around backwards.
 *            block    each line is such a filter of its own, with a generation of
 *                     its own, so the formulas hold for it as they stand. Its 512
 *                     bits are rows of 16 or 32 bits: row p holds bit p of every
 *                     slice, so all slices are looked at at once. The place of a key
 *                     in slice j is read off bit j of a few random words. The top
 *                     two bits of a row belong to no slice; those of the first four
 *                     hold the newest slice (5 bits) and the keys it has taken (3).
 *            A line is short: at fpr = 1% block takes 19% more memory for a key than
 *            classic, at 0.1% 76%, and at 0.0001% 2.5 times as much.
 * Source     Shtul, Baquero, Almeida, "Age-partitioned Bloom filters", 2020, from
 *            its description. We differ: g is planned with k and l instead of half
 *            filling the slices; blocks; renewing.
 */
#include "filter/apbf.h"

#include <assert.h>
#include <math.h>

#include "core/cells.h"
#include "filter/aging.h"
#include "filter/filter.h"
#include "filter/line/line_cells.h"
#include "filter/line/lines.h"
#include "filter/probe.h"

enum { OPT_LAYOUT = WEIR__OPT_OWN, OPT_K, OPT_L, OPT_GENERATION, OPT_RENEW };
enum {
    TAKEN_MOST = 7,     /* block: keys of a generation of a line: three bits count them */
    CHUNK = 32,         /* classic: keys of a round */
    SAMPLE_LINES = 2048 /* lines that are looked at for the fill */
};

typedef struct {
    weir_filter base;
    unsigned k, l, slices, lane;
    uint64_t m, generation, lines;
    bool renew;
    struct {
        uint64_t newest;   /* classic: which slice is the newest */
        uint64_t taken;    /* classic: keys that it has taken */
        uint64_t shifts;   /* of the filter, or of all lines together */
        uint64_t inserted; /* keys put into slices */
    } state;
} apbf_filter;

/* --- formulas ------------------------------------------------------------------- */

/* By where the first row of k ends: slice i does not match, the k after it do, and
 * there was no row before i. */
double weir__apbf_run(const double *fill, unsigned n, unsigned k) {
    assert(n <= WEIR__APBF_SLICES_MOST);
    double none[WEIR__APBF_SLICES_MOST + 1], logs[WEIR__APBF_SLICES_MOST + 1] = {0};
    if (n < k) return 0;
    for (unsigned i = 0; i < n; i++) logs[i + 1] = logs[i] + log(fmax(fill[i], 1e-300));
    double found = 0;
    for (unsigned i = 0; i < k; i++) none[i] = 1;
    for (unsigned end = k; end <= n; end++) { /* the row is the k slices before `end` */
        double row = exp(logs[end] - logs[end - k]);
        found += end == k ? row : row * (1 - fill[end - k - 1]) * none[end - k - 1];
        none[end] = 1 - found;
    }
    return fmin(1, found);
}

/* The shares of ones, if a key means weight[i] throws into a slice of age i. */
static void fill_of_ages(double *fill, const weir__apbf_shape *s, const double *weight,
                         double generation, double taken) {
    assert(s->k + s->l <= WEIR__APBF_SLICES_MOST);
    double keys = 0;
    for (unsigned i = 0; i < s->k + s->l; i++) {
        double throws = i < s->k ? keys + taken * weight[i] : keys;
        if (i < s->k) keys += generation * weight[i];
        fill[i] = -expm1(throws * log1p(-1 / (double)s->slice_bits));
    }
}

/* How much more NEW keys set in each slice than keys at random. */
static void weigh(double *weight, const weir__apbf_shape *s, double *fill) {
    double rate = weir__apbf_run(fill, s->k + s->l, s->k);
    for (unsigned i = 0; i < s->k; i++) {
        double kept = fill[i];
        fill[i] = 0;
        double others = weir__apbf_run(fill, s->k + s->l, s->k);
        weight[i] = fmax(1, (1 - others) / (1 - fmin(rate, 0.99)));
        fill[i] = kept;
    }
}

double weir__apbf_fpr(const weir__apbf_shape *s, double generation, double taken) {
    double fill[WEIR__APBF_SLICES_MOST] = {0}, weight[WEIR__APBF_SLICES_MOST];
    for (unsigned i = 0; i < s->k; i++) weight[i] = 1;
    for (int turn = 0; turn < 3; turn++) { /* the weights settle at once */
        fill_of_ages(fill, s, weight, generation, 0.5 * generation);
        weigh(weight, s, fill);
    }
    fill_of_ages(fill, s, weight, generation, taken);
    return weir__apbf_run(fill, s->k + s->l, s->k);
}

static bool keeps(const weir__apbf_shape *s, double generation, double fpr) {
    return weir__apbf_fpr(s, generation, generation) <= fpr;
}

/* Is the bound kept by the rate without weights? That is a little too low, and fast to find. */
static bool nearly_keeps(const weir__apbf_shape *s, double generation, double fpr) {
    double fill[WEIR__APBF_SLICES_MOST] = {0}, weight[WEIR__APBF_SLICES_MOST];
    for (unsigned i = 0; i < s->k; i++) weight[i] = 1;
    fill_of_ages(fill, s, weight, generation, generation);
    return weir__apbf_run(fill, s->k + s->l, s->k) <= fpr;
}

typedef bool keeps_fn(const weir__apbf_shape *s, double generation, double fpr);

/* The largest generation that keeps fpr, to within `precision` of itself. */
static uint64_t largest_generation(const weir__apbf_shape *s, double fpr, double precision,
                                   keeps_fn *kept) {
    double low = 0, high = s->lane ? TAKEN_MOST + 1 : 2 * (double)s->slice_bits + 1;
    while (high - low > 1 && high - low > low * precision) {
        double middle = floor(0.5 * (low + high));
        if (kept(s, middle, fpr)) low = middle;
        else high = middle;
    }
    return (uint64_t)low;
}

/* All k and l for one way to cut the memory into slices. */
static void plan_lane(weir__apbf_shape *best, unsigned lane, uint64_t bytes, double fpr,
                      const weir__apbf_shape *given) {
    unsigned most = lane ? lane - 2 : WEIR__APBF_SLICES_MOST;
    double log_rate = -log2(fpr), precision = lane ? 0 : 1e-3;
    unsigned k_low = given->k ? given->k : lane ? 1 : (unsigned)fmax(1, floor(log_rate / 1.6));
    unsigned k_high = given->k ? given->k : (unsigned)log_rate + 9;
    for (unsigned k = k_low; k <= k_high && k < most; k++)
        for (unsigned l = given->l ? given->l : 1; k + l <= most && (!given->l || l == given->l);
             l++) {
            weir__apbf_shape s = {.k = k, .l = l, .lane = lane};
            s.slice_bits = lane ? WEIR__LINE_BITS / lane : bytes * 8 / (k + l) / 64 * 64;
            if (s.slice_bits == 0 || (lane && given->generation > TAKEN_MOST)) continue;
            s.generation = given->generation ? given->generation
                                             : largest_generation(&s, fpr, precision, nearly_keeps);
            if (s.generation * s.l <= best->generation * best->l) continue;
            if (given->generation) s.generation *= keeps(&s, (double)s.generation, fpr);
            else if (lane) s.generation = largest_generation(&s, fpr, 0, keeps);
            if (s.generation * s.l > best->generation * best->l) *best = s;
        }
}

weir__apbf_shape weir__apbf_plan(bool block, uint64_t bytes, double fpr, unsigned k, unsigned l,
                                 uint64_t generation) {
    weir__apbf_shape best = {0}, given = {.k = k, .l = l, .generation = generation};
    if (block) {
        plan_lane(&best, 32, bytes, fpr, &given);
        plan_lane(&best, 16, bytes, fpr, &given);
    } else {
        plan_lane(&best, 0, bytes, fpr, &given);
        if (best.generation && !generation)
            best.generation = largest_generation(&best, fpr, 0, keeps);
    }
    return best;
}

/* --- creation ----------------------------------------------------------------------- */

static weir_status no_plan(const weir_filter *f, bool block, weir_error *err) {
    static const int places[] = {OPT_GENERATION, OPT_L, OPT_K};
    char rate[32];
    int at = WEIR__OPT_MEMORY;
    for (int i = 0; i < 3; i++)
        if (weir__opt_given(f, places[i])) at = places[i];
    return weir__opt_fail(f, at, err,
                          "no %s of this size keeps fpr=%s with what is given of k, l and "
                          "generation; leave them out%s",
                          block ? "line" : "filter",
                          weir_print_rate(rate, weir__opt_rate(f, WEIR__OPT_FPR)),
                          block ? ", or try layout=classic" : ", or ask for more memory");
}

static weir_status create(weir_filter *filter, weir_error *err) {
    apbf_filter *f = (apbf_filter *)filter;
    bool block = weir__opt_whole(filter, OPT_LAYOUT) == 1;
    unsigned k = (unsigned)weir__opt_whole(filter, OPT_K);
    unsigned l = (unsigned)weir__opt_whole(filter, OPT_L);
    if (k + l > WEIR__APBF_SLICES_MOST)
        return weir__opt_fail(filter, OPT_L, err, "k=%u and l=%u make more than %d slices", k, l,
                              WEIR__APBF_SLICES_MOST);
    uint64_t bytes = weir__opt_whole(filter, WEIR__OPT_MEMORY) / WEIR__LINE * WEIR__LINE;
    uint64_t generation = weir__opt_whole(filter, OPT_GENERATION);
    bool implied = k && l && generation && weir__fpr_is_open(filter);
    double fpr = implied ? 1 : weir__opt_rate(filter, WEIR__OPT_FPR);
    weir__apbf_shape s = weir__apbf_plan(block, bytes, fpr, k, l, generation);
    if (!s.generation) return no_plan(filter, block, err);
    if (implied)
        weir__imply_fpr(filter, weir__apbf_fpr(&s, (double)generation, (double)generation));
    weir__opt_resolve(filter, OPT_K, s.k);
    weir__opt_resolve(filter, OPT_L, s.l);
    weir__opt_resolve(filter, OPT_GENERATION, s.generation);
    f->k = s.k, f->l = s.l, f->slices = s.k + s.l, f->lane = s.lane;
    f->m = s.slice_bits, f->generation = s.generation;
    f->lines = bytes / WEIR__LINE;
    f->renew = weir__opt_whole(filter, OPT_RENEW) == 0;
    return weir__filter_map(filter, block ? bytes : f->slices * f->m / 8, err);
}

static void start(weir_filter *filter) {
    apbf_filter *f = (apbf_filter *)filter;
    memset(&f->state, 0, sizeof f->state);
}

/* --- classic: looking --------------------------------------------------------------------- */

/* The bit of a key in the slice of this age. */
static inline uint64_t place_of(const apbf_filter *f, weir__probes key, unsigned age) {
    assert(age < f->slices && f->state.newest < f->slices);
    uint64_t slice = f->state.newest + age;
    if (slice >= f->slices) slice -= f->slices;
    key.at += slice * key.step;
    return slice * f->m + weir__scale(weir__probes_next(&key), f->m);
}

/* Looking for k slices in a row, from the oldest k on: those from `from` up to `at`
 * match, and so do those from `to` on that belong to the row. */
typedef struct {
    int from, at, to;
} look;

static inline look look_start(const apbf_filter *f) {
    int from = (int)f->l;
    return (look){from, from, from + (int)f->k};
}
static inline bool look_goes_on(look w) { return w.from >= 0 && w.at < w.to; }

/* Slice `at` was looked at. Where it does not match, the row must end before it. */
static inline look look_step(const apbf_filter *f, look w, bool matches) {
    if (matches) return (look){w.from, w.at + 1, w.to};
    int from = w.at - (int)f->k;
    return (look){from, from, w.from};
}

static bool classic_has(const apbf_filter *f, weir__probes key) {
    look w = look_start(f);
    while (look_goes_on(w))
        w = look_step(f, w, weir__bit_get(f->base.cells, place_of(f, key, (unsigned)w.at)));
    return w.from >= 0;
}

/* Fetch what classic_has() will look at, for several keys at a time: each is taken
 * one step further in turn, so that the memory works on all of them at once. The
 * keys before them in the batch may change what is found; only what is fetched
 * depends on it, not the verdict. */
static void scout(const apbf_filter *f, const weir__probes *keys, size_t n) {
    assert(n <= CHUNK);
    look walks[CHUNK];
    uint64_t places[CHUNK];
    unsigned char active[CHUNK];
    size_t left = n;
    for (size_t i = 0; i < n; i++) {
        walks[i] = look_start(f);
        active[i] = (unsigned char)i;
        places[i] = place_of(f, keys[i], f->l);
        __builtin_prefetch(f->base.cells + places[i] / 8, 0);
    }
    while (left) {
        size_t kept = 0;
        for (size_t j = 0; j < left; j++) {
            unsigned char i = active[j];
            walks[i] = look_step(f, walks[i], weir__bit_get(f->base.cells, places[i]));
            if (!look_goes_on(walks[i])) continue;
            places[i] = place_of(f, keys[i], (unsigned)walks[i].at);
            __builtin_prefetch(f->base.cells + places[i] / 8, 0);
            active[kept++] = i;
        }
        left = kept;
    }
}

/* --- classic: inserting -------------------------------------------------------------------- */

static void prefetch_newest(const apbf_filter *f, weir__probes key) {
    for (unsigned i = 0; i < f->k; i++)
        __builtin_prefetch(f->base.cells + place_of(f, key, i) / 8, 1);
}

static bool in_newest(const apbf_filter *f, weir__probes key) {
    bool all = true;
    for (unsigned i = 0; i < f->k && all; i++)
        all = weir__bit_get(f->base.cells, place_of(f, key, i));
    return all;
}

/* The slice that was the oldest becomes the newest, and empty. */
static void classic_shift(apbf_filter *f) {
    assert(f->m % 8 == 0 && f->state.newest < f->slices);
    f->state.newest = (f->state.newest ? f->state.newest : f->slices) - 1;
    memset(f->base.cells + f->state.newest * f->m / 8, 0, f->m / 8);
    f->state.taken = 0;
    f->state.shifts++;
}

static void classic_insert(apbf_filter *f, weir__probes key) {
    assert(f->state.taken <= f->generation);
    if (f->state.taken == f->generation) classic_shift(f);
    for (unsigned i = 0; i < f->k; i++) weir__bit_set(f->base.cells, place_of(f, key, i));
    f->state.taken++;
    f->state.inserted++;
}

static size_t classic_offer(apbf_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    weir__probes keys[CHUNK];
    size_t seen = 0;
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        for (size_t i = 0; i < n; i++) {
            keys[i] = weir__probes_start(batch->hashes[at + i]);
            prefetch_newest(f, keys[i]);
        }
        scout(f, keys, n);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_has(f, keys[i]);
            if (!is_seen || (f->renew && !in_newest(f, keys[i]))) classic_insert(f, keys[i]);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

static size_t classic_test(const apbf_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    weir__probes keys[CHUNK];
    size_t seen = 0;
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        for (size_t i = 0; i < n; i++) keys[i] = weir__probes_start(batch->hashes[at + i]);
        scout(f, keys, n);
        for (size_t i = 0; i < n; i++) {
            bool is_seen = classic_has(f, keys[i]);
            weir__mark_seen(verdicts, at + i, is_seen);
            seen += is_seen;
        }
    }
    return seen;
}

/* --- block ------------------------------------------------------------------------------- */

/* A row's bits in every row of a word. */
HOT uint64_t in_all_rows(uint64_t row, unsigned lane) {
    return row * (lane == 16 ? UINT64_C(0x0001000100010001) : UINT64_C(0x0000000100000001));
}

/* The places of a key, bit j of each word speaking for slice j: three choose one of
 * the eight words, the others one of the two or four rows of that word. */
typedef struct {
    uint64_t word[3]; /* in all rows */
    uint64_t row[2];  /* in the lowest row */
} row_places;

HOT row_places find_rows(uint64_t rest, unsigned lane) {
    uint64_t a = weir__mix64(rest), b = weir__mix64(rest + WEIR__GOLD);
    uint64_t low = (UINT64_C(1) << lane) - 1;
    row_places p;
    p.word[0] = in_all_rows(a & low, lane);
    p.word[1] = in_all_rows(a >> 32 & low, lane);
    p.word[2] = in_all_rows(b & low, lane);
    p.row[0] = b >> 32 & low;
    p.row[1] = b >> 48;
    return p;
}

/* In each word of a line the slices that have their place in this word. */
HOT line_halves find_words(const row_places *p) {
    const half_line odd = {0, ~UINT64_C(0), 0, ~UINT64_C(0)},
                    upper = {0, 0, ~UINT64_C(0), ~UINT64_C(0)};
    half_line here = ~(odd ^ p->word[0]) & ~(upper ^ p->word[1]);
    return (line_halves){{here & ~p->word[2], here & p->word[2]}};
}

/* Bit by bit: a where the choice is 0, b where it is 1. */
HOT uint64_t choose(uint64_t choice, uint64_t a, uint64_t b) { return a ^ ((a ^ b) & choice); }

/* Bit j: does slice j have the key's bit? (And whatever stands above the slices.) */
HOT uint64_t matches(const line_halves *line, const line_halves *words, const row_places *p,
                     unsigned lane) {
    half_line both = (line->half[0] & words->half[0]) | (line->half[1] & words->half[1]);
    uint64_t word = both[0] | both[1] | both[2] | both[3];
    if (lane == 32) return choose(p->row[0], word, word >> 32);
    uint64_t low = choose(p->row[0], word, word >> 16);
    uint64_t high = choose(p->row[0], word >> 32, word >> 48);
    return choose(p->row[1], low, high);
}

/* The slices in `which`, each in its row of a word. */
HOT uint64_t in_their_rows(const row_places *p, uint64_t which, unsigned lane) {
    if (lane == 32) return (which & ~p->row[0]) | (which & p->row[0]) << 32;
    return (which & ~p->row[0] & ~p->row[1]) | (which & p->row[0] & ~p->row[1]) << 16 |
           (which & ~p->row[0] & p->row[1]) << 32 | (which & p->row[0] & p->row[1]) << 48;
}

/* The top two bits of the first four rows: eight bits of a line's own. */
enum { OWN_NEWEST = 31, OWN_TAKEN_SHIFT = 5 };

HOT unsigned own_get(const uint64_t *line, unsigned lane) {
    unsigned own = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned bit = i * lane + lane - 2;
        own |= (unsigned)(line[bit / 64] >> (bit % 64) & 3) << (2 * i);
    }
    return own;
}

HOT void own_put(uint64_t *line, unsigned own, unsigned lane) {
    for (unsigned i = 0; i < 4; i++) {
        unsigned bit = i * lane + lane - 2;
        uint64_t piece = own >> (2 * i) & 3;
        line[bit / 64] = (line[bit / 64] & ~(UINT64_C(3) << (bit % 64))) | piece << (bit % 64);
    }
}

/* Slices by their number as slices by their age, and back. */
static inline uint64_t by_age(const apbf_filter *f, uint64_t slices, unsigned newest) {
    slices &= (UINT64_C(1) << f->slices) - 1;
    return (slices >> newest | slices << (f->slices - newest)) & ((UINT64_C(1) << f->slices) - 1);
}
static inline uint64_t by_number(const apbf_filter *f, uint64_t ages, unsigned newest) {
    return (ages << newest | ages >> (f->slices - newest)) & ((UINT64_C(1) << f->slices) - 1);
}

/* Bit i: k bits in a row are set from i on. */
static inline uint64_t rows_of_k(uint64_t bits, unsigned k) {
    for (unsigned n = 1; n < k;) {
        unsigned more = n < k - n ? n : k - n;
        bits &= bits >> more;
        n += more;
    }
    return bits;
}

/* Whether a generation ends here cannot be foreseen, so that there is no branch. */
HOT void line_insert(apbf_filter *f, uint64_t *line, line_halves words, const row_places *p,
                     unsigned own, unsigned lane) {
    unsigned newest = own & OWN_NEWEST, taken = own >> OWN_TAKEN_SHIFT;
    bool shifts = taken == f->generation;
    unsigned next = (newest ? newest : f->slices) - 1;
    newest = shifts ? next : newest;
    taken = shifts ? 1 : taken + 1;
    f->state.shifts += shifts;
    f->state.inserted++;
    uint64_t cleared = in_all_rows((uint64_t)shifts << newest, lane);
    uint64_t rows = in_their_rows(p, by_number(f, (UINT64_C(1) << f->k) - 1, newest), lane);
    for (unsigned h = 0; h < HALVES; h++) {
        half_line old = load_half(line + h * HALF_WORDS);
        store_half(line + h * HALF_WORDS, (old & ~cleared) | (words.half[h] & rows));
    }
    own_put(line, newest | taken << OWN_TAKEN_SHIFT, lane);
}

HOT bool line_do(apbf_filter *f, uint64_t *line, uint64_t rest, bool insert, unsigned lane) {
    row_places p = find_rows(rest, lane);
    unsigned own = own_get(line, lane);
    line_halves words = find_words(&p);
    line_halves all = {{load_half(line), load_half(line + HALF_WORDS)}};
    uint64_t have = by_age(f, matches(&all, &words, &p, lane), own & OWN_NEWEST);
    uint64_t found = rows_of_k(have, f->k);
    if (insert && (!found || (f->renew && !(found & 1))))
        line_insert(f, line, words, &p, own, lane);
    return found != 0;
}

HOT bool offer_16(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    return line_do(f, line, rest, true, 16);
}
HOT bool offer_32(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    return line_do(f, line, rest, true, 32);
}
HOT bool test_16(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    return line_do(f, line, rest, false, 16);
}
HOT bool test_32(void *f, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    return line_do(f, line, rest, false, 32);
}

/* The widths of a lane apart, so that the compiler knows them. */
HOT size_t lines_do_all(const apbf_filter *f, const weir_batch *batch, uint64_t *verdicts,
                        bool offers) {
    const weir_filter *filter = &f->base;
    if (offers && f->lane == 16)
        return weir__each_line(filter, f->lines, batch, verdicts, true, offer_16, CPU_ANY);
    if (offers) return weir__each_line(filter, f->lines, batch, verdicts, true, offer_32, CPU_ANY);
    if (f->lane == 16)
        return weir__each_line(filter, f->lines, batch, verdicts, false, test_16, CPU_ANY);
    return weir__each_line(filter, f->lines, batch, verdicts, false, test_32, CPU_ANY);
}
FOR_EACH_CPU(size_t, lines_do,
             (const apbf_filter *f, const weir_batch *batch, uint64_t *verdicts, bool offers),
             (f, batch, verdicts, offers))

/* --- the table ------------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    apbf_filter *f = (apbf_filter *)filter;
    return f->lane ? lines_do(f, batch, verdicts, true) : classic_offer(f, batch, verdicts);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const apbf_filter *f = (const apbf_filter *)filter;
    return f->lane ? lines_do(f, batch, verdicts, false) : classic_test(f, batch, verdicts);
}

/* Shares of ones by age, of the whole filter or of one line. */
static void classic_fill(const apbf_filter *f, double *fill) {
    for (unsigned age = 0; age < f->slices; age++) {
        uint64_t slice = (f->state.newest + age) % f->slices, words = f->m / 64;
        uint64_t step = (words + 1023) / 1024, ones = 0, looked = 0;
        for (uint64_t w = 0; w < words; w += step, looked++)
            ones += weir__bits_set(f->base.cells + slice * f->m / 8 + w * 8, 8);
        fill[age] = (double)ones / (64 * (double)looked);
    }
}

static void line_fill(const apbf_filter *f, const uint64_t *line, double *fill) {
    unsigned own = own_get(line, f->lane), newest = own & OWN_NEWEST;
    for (unsigned age = 0; age < f->slices; age++) {
        uint64_t bit = in_all_rows(UINT64_C(1) << (newest + age) % f->slices, f->lane), ones = 0;
        for (int w = 0; w < WEIR__LINE_WORDS; w++)
            ones += (uint64_t)__builtin_popcountll(line[w] & bit);
        fill[age] = (double)ones / (double)f->m;
    }
}

static double mean_of(const double *values, unsigned n) {
    double sum = 0;
    for (unsigned i = 0; i < n; i++) sum += values[i];
    return sum / n;
}

/* Keys that are surely remembered: those of the last l generations. */
static double remembered(const apbf_filter *f) {
    return (double)(f->lane ? f->lines : 1) * (double)f->generation * f->l;
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const apbf_filter *f = (const apbf_filter *)filter;
    double fill[WEIR__APBF_SLICES_MOST];
    assert(f->slices <= WEIR__APBF_SLICES_MOST);
    info->room = remembered(f);
    info->renew = f->renew;
    info->overfull = (double)f->state.inserted > info->room;
    if (!f->lane) {
        classic_fill(f, fill);
        info->fill = mean_of(fill, f->slices);
        info->fpr_now = weir__apbf_run(fill, f->slices, f->k);
        return;
    }
    uint64_t step = (f->lines + SAMPLE_LINES - 1) / SAMPLE_LINES, looked = 0;
    for (uint64_t at = 0; at < f->lines; at += step, looked++) {
        line_fill(f, (const uint64_t *)(void *)filter->cells + at * WEIR__LINE_WORDS, fill);
        info->fill += mean_of(fill, f->slices);
        info->fpr_now += weir__apbf_run(fill, f->slices, f->k);
    }
    info->fill /= (double)looked;
    info->fpr_now /= (double)looked;
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const apbf_filter *f = (const apbf_filter *)filter;
    double g = (double)f->generation;
    weir__apbf_shape shape = {.k = f->k, .l = f->l, .lane = f->lane, .slice_bits = f->m};
    weir__detail(each, context, "slice_bits",
                 f->lane ? "bits of a slice in each line" : "bits of a slice", "%llu",
                 (unsigned long long)f->m);
    weir__detail(each, context, "remembered",
                 f->lane ? "keys surely remembered, if all lines get equally many"
                         : "keys surely remembered",
                 "%.0f", remembered(f));
    weir__detail(each, context, "bits_per_key", "memory for each of these", "%.2f",
                 (double)filter->cells_bytes * 8 / remembered(f));
    weir__detail(each, context, "inserted", "keys put into slices", "%llu",
                 (unsigned long long)f->state.inserted);
    weir__detail(each, context, "shifts", "slices cleared to make room", "%llu",
                 (unsigned long long)f->state.shifts);
    weir__detail(each, context, "fpr_most", "false positive rate at the end of a generation",
                 "%.3g", weir__apbf_fpr(&shape, g, g));
}

static bool line_is_sound(const apbf_filter *f, const uint64_t *line) {
    unsigned own = own_get(line, f->lane);
    uint64_t used = in_all_rows((UINT64_C(1) << f->slices) - 1, f->lane), beyond = 0;
    uint64_t first_rows[WEIR__LINE_WORDS] = {0};
    own_put(first_rows, 0xff, f->lane);
    for (int w = 0; w < WEIR__LINE_WORDS; w++) beyond |= line[w] & ~used & ~first_rows[w];
    return !beyond && (own & OWN_NEWEST) < f->slices && own >> OWN_TAKEN_SHIFT <= f->generation;
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const apbf_filter *f = (const apbf_filter *)filter;
    if (f->state.newest >= f->slices || f->state.taken > f->generation)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "apbf: slice %llu with %llu keys cannot be",
                          (unsigned long long)f->state.newest, (unsigned long long)f->state.taken);
    for (uint64_t at = 0; f->lane && at < f->lines; at++)
        if (!line_is_sound(f, (const uint64_t *)(void *)filter->cells + at * WEIR__LINE_WORDS))
            return weir__fail(err, WEIR_ERR_CORRUPT, -1, "apbf: line %llu holds what cannot be",
                              (unsigned long long)at);
    return WEIR_OK;
}

/* l generations, and on average half of the one in which it was put in. */
static double lifetime(const void *filter, double news) {
    const apbf_filter *f = filter;
    double lines = f->lane ? (double)f->lines : 1;
    return (f->l + 0.5) * (double)f->generation * lines / news;
}

static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const apbf_filter *f = (const apbf_filter *)filter;
    weir__apbf_shape s = {.k = f->k, .l = f->l, .lane = f->lane, .slice_bits = f->m};
    if (f->lane) s.slice_bits = WEIR__LINE_BITS / f->lane;
    expectation->fpr = weir__apbf_fpr(&s, (double)f->generation, (double)f->generation);
    expectation->fnr = weir__aging_fnr(
        f, lifetime, f->renew ? WEIR__ENDS_AFTER_USE : WEIR__ENDS_BY_AGE, expectation->fpr, model);
}

static const weir_option options[] = {
    {"layout", WEIR_OPT_CHOICE, 0, 0, "classic|block", "classic",
     "slices of the whole memory, or every cache line a filter of its own: faster, remembers less"},
    {"k", WEIR_OPT_COUNT, 1, 48, NULL, NULL, "slices that a key is put into; derived from fpr"},
    {"l", WEIR_OPT_COUNT, 1, 63, NULL, NULL, "generations that a key is remembered; derived"},
    {"generation", WEIR_OPT_COUNT, 1, 1e15, NULL, NULL,
     "keys until all slices grow older (block: keys of a line, at most 7); derived"},
    {"renew", WEIR_OPT_CHOICE, 0, 0, "yes|no", "no", "whether a repeat makes its key young again"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__apbf_class = {
    .kind = {.name = "apbf",
             .summary = "age-partitioned Bloom filter: surely remembers the last so many keys",
             .advice = "A rival to compare recent with. Take it when the last so many keys that "
                       "it passed must surely be remembered, without exception; it says how "
                       "many these are. recent remembers about twice as many in the same "
                       "memory, but not every single one.",
             .mergeable = false,
             .options = options},
    WEIR__FILTER_FUNCTIONS(apbf_filter),
    .details = details,
    .no_merge = "what is old in one is not old in the other",
    .check = check,
    .expect = expect,
};
