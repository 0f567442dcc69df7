/* kll.c - quantiles of integer or decimal keys from a sample of compacted levels.
 *
 * Question   which key has a share q of the weight at or below it?
 * Idea       a level h holds keys that stand for 2^h records each. New keys enter level 0.
 *            When the cells are full, a level that has its capacity is sorted, every other
 *            key of it moves up a level, and the rest go: begun with the first or the second
 *            key by a fair coin, so that ranks keep their expectation. The least and the
 *            greatest key are kept apart, so quantiles 0 and 100% are exact. All are exact
 *            until the cells are full for the first time. A key of weight w enters the levels
 *            that are the bits of w.
 * Parameters C cells of 8 bytes. The top level has a capacity of k = (C - 512) / 3, each
 *            level below it 2/3 of that above, at least 8.
 * Error      a compaction of level h moves the rank of a key by 2^h or by nothing. The moves
 *            are independent and have a mean of 0, so the variance of a rank is at most the
 *            sum of 4^h over all compactions. That sum is kept; low and high are the keys
 *            2.576 deviations away (99%), cautious by up to the square root of 2, as about
 *            half of the moves are none. error= plans by a deviation of at most 0.95 N / k
 *            (DEVIATION, measured over streams of all lengths).
 * Keys       64-bit words in the order of the keys. They stand for integers, all exact, until
 *            the first decimal key comes; then all become doubles.
 * Cost       amortized a sort of level 0 and a merge a level; 8 bytes a cell
 * Layout     levels one behind the other, the highest last; level 0 grows to the front
 * Source     Karnin, Lang, Liberty, FOCS 2016. We compact lazily, only when all cells are
 *            taken, as Apache DataSketches does, and keep the variance instead of a bound.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/detail.h"
#include "sketch/matrix_sketch.h"

enum { OPT_ERROR = WEIR__SK_OWN };
enum {
    LEVELS_MOST = 60,   /* levels: a key of level h stands for 2^h records */
    CAPACITY_LEAST = 8, /* keys of a level before it is compacted */
    SPARE = 512,        /* cells for the levels of the least capacity */
    CELLS_LEAST = 1024, /* keys that there is room for: 8 KiB */
    CHUNK = 1024        /* weighed keys that are put into the levels at a time */
};
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */
#define Z99 2.5758293035489                 /* deviations that hold 99% of a normal variable */
#define DEVIATION 0.95           /* greatest deviation of a rank by its bound, times k / N */
#define SIGN (UINT64_C(1) << 63) /* turned, so that words are ordered as numbers are */
#define TOTAL_END 0x1p60         /* records: as many would need more levels */

typedef struct {
    uint64_t word;
    double up_to; /* weight of all keys to this one */
} ranked;

typedef struct {
    uint64_t word, weight;
} weighed;

typedef struct {
    weir_sketch base;
    uint64_t cells, k; /* cells of 8 bytes; capacity of the top level */
    struct {
        uint64_t decimal; /* 1: words are doubles, else integers */
        uint64_t least, greatest;
        uint64_t variance; /* bits of a double */
        uint64_t rng;
        uint64_t levels;
        uint64_t count[LEVELS_MOST]; /* keys in each level */
    } state;
    uint64_t *words;   /* the cells */
    uint64_t *scratch; /* half as many: keys on their way to the next level */
    ranked *view;      /* all keys in order, or NULL: to be made */
    uint64_t view_count;
} kll_sketch;

/* ---- words ---- */

static uint64_t word_of_integer(int64_t value) { return (uint64_t)value ^ SIGN; }
static int64_t integer_of(uint64_t word) { return (int64_t)(word ^ SIGN); }

static uint64_t word_of_decimal(double value) {
    uint64_t bits = weir__as_bits(value + 0.0); /* no -0 */
    return bits & SIGN ? ~bits : bits | SIGN;
}
static double decimal_of(uint64_t word) {
    return weir__as_double(word & SIGN ? word ^ SIGN : ~word);
}

static uint64_t as_decimal(uint64_t word) { return word_of_decimal((double)integer_of(word)); }

/* ---- making ---- */

static weir_status create(weir_sketch *s, weir_error *err) {
    kll_sketch *q = (kll_sketch *)s;
    if (weir__sk_given(s, OPT_ERROR) && weir__sk_given(s, WEIR__SK_MEMORY))
        return weir__sk_fail(s, OPT_ERROR, err,
                             "the size is given twice: leave out error or memory");
    if (weir__sk_given(s, OPT_ERROR)) {
        double k = ceil(Z99 * DEVIATION / weir__sk_rate(s, OPT_ERROR));
        q->cells = fmax(CELLS_LEAST, 3 * k + SPARE);
        s->values[OPT_ERROR].given = false;
    } else {
        q->cells = weir__sketch_budget(s, STANDARD_MEMORY) / 8;
    }
    if (q->cells < CELLS_LEAST)
        return weir__sk_fail(s, WEIR__SK_MEMORY, err, "quantiles need at least 8K of memory");
    q->k = (q->cells - SPARE) / 3;
    q->scratch = weir__alloc(&s->allocator, q->cells / 2 * sizeof *q->scratch);
    if (!q->scratch) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    return weir__sketch_claim(s, 8 * q->cells, err);
}

static void forget_view(kll_sketch *q) {
    weir__free(&q->base.allocator, q->view);
    q->view = NULL;
}

static void bind(weir_sketch *s) {
    kll_sketch *q = (kll_sketch *)s;
    q->words = (void *)s->cells;
    forget_view(q);
}

static void start(weir_sketch *s) {
    kll_sketch *q = (kll_sketch *)s;
    q->state.rng = weir__sk_whole(s, WEIR__SK_SEED) ^ UINT64_C(0x6b6c6c);
    q->state.levels = 1;
    q->state.least = UINT64_MAX;
}

static void close(weir_sketch *s) {
    forget_view((kll_sketch *)s);
    weir__free(&s->allocator, ((kll_sketch *)s)->scratch);
}

/* ---- levels ---- */

/* Where level h begins; level `levels` would begin behind the last cell. */
static uint64_t start_of(const kll_sketch *q, unsigned h) {
    assert(q->state.levels <= LEVELS_MOST && h <= q->state.levels);
    uint64_t at = q->cells;
    for (unsigned i = (unsigned)q->state.levels; i-- > h;) at -= q->state.count[i];
    return at;
}

static uint64_t capacity_of(const kll_sketch *q, unsigned h) {
    assert(h < q->state.levels);
    double share = pow(2.0 / 3, (double)q->state.levels - 1 - h);
    double capacity = ceil((double)q->k * share);
    return capacity > CAPACITY_LEAST ? (uint64_t)capacity : CAPACITY_LEAST;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Put `n` sorted words into level h, which has room before it: the levels below have been
 * moved to the front by n. */
static void merge_into(kll_sketch *q, unsigned h, const uint64_t *from, uint64_t n) {
    uint64_t at = start_of(q, h), end = at + q->state.count[h], to = at - n, taken = 0;
    assert(n <= at);
    while (taken < n)
        q->words[to++] = at < end && q->words[at] <= from[taken] ? q->words[at++] : from[taken++];
    q->state.count[h] += n;
}

static void add_level(kll_sketch *q) {
    assert(q->state.levels < LEVELS_MOST);
    q->state.count[q->state.levels++] = 0;
}

/* Halve a level into the one above. An odd key stays. */
static void compact(kll_sketch *q, unsigned h) {
    assert(h < q->state.levels && q->state.count[h] >= 2);
    if (h + 1 == q->state.levels) add_level(q);
    uint64_t begin = start_of(q, h), n = q->state.count[h], odd = n % 2, half = n / 2;
    uint64_t coin = weir__rng_next(&q->state.rng) >> 63;
    uint64_t lower = begin - start_of(q, 0);
    if (h == 0) qsort(q->words + begin, n, sizeof *q->words, ascending);
    for (uint64_t i = 0; i < half; i++) q->scratch[i] = q->words[begin + odd + 2 * i + coin];
    uint64_t left = q->words[begin];
    q->state.count[h] = 0; /* its cells are room for the level above */
    merge_into(q, h + 1, q->scratch, half);
    if (odd) q->words[begin + half] = left;
    q->state.count[h] = odd;
    memmove(q->words + begin + half - lower, q->words + begin - lower, lower * sizeof *q->words);
    double variance = weir__as_double(q->state.variance) + ldexp(1, 2 * (int)h);
    q->state.variance = weir__as_bits(variance);
}

/* Compact the lowest level that has its capacity; or, where none has, the lowest that has
 * two keys. */
static void compress(kll_sketch *q) {
    unsigned h = 0, levels = (unsigned)q->state.levels;
    while (h < levels && q->state.count[h] < capacity_of(q, h)) h++;
    if (h == levels)
        for (h = 0; q->state.count[h] < 2;) h++;
    compact(q, h);
}

static void make_room(kll_sketch *q, uint64_t n) {
    assert(n <= q->cells);
    while (start_of(q, 0) < n) compress(q);
}

/* Put `n` sorted words, at most an eighth of the cells, into level h. */
static void insert(kll_sketch *q, unsigned h, const uint64_t *words, uint64_t n) {
    while (q->state.levels <= h) add_level(q);
    make_room(q, n);
    uint64_t begin = start_of(q, 0), lower = start_of(q, h) - begin;
    memmove(q->words + begin - n, q->words + begin, lower * sizeof *q->words);
    merge_into(q, h, words, n);
}

static void note_edges(kll_sketch *q, uint64_t least, uint64_t greatest) {
    if (least < q->state.least) q->state.least = least;
    if (greatest > q->state.greatest) q->state.greatest = greatest;
}

/* ---- adding ---- */

static void become_decimal(kll_sketch *q) {
    if (q->state.decimal) return;
    for (uint64_t i = start_of(q, 0); i < q->cells; i++) q->words[i] = as_decimal(q->words[i]);
    if (q->state.least <= q->state.greatest) { /* else there is no key yet */
        q->state.least = as_decimal(q->state.least);
        q->state.greatest = as_decimal(q->state.greatest);
    }
    q->state.decimal = 1;
}

static int by_weighed_word(const void *a, const void *b) {
    return ascending(&((const weighed *)a)->word, &((const weighed *)b)->word);
}

/* Each key enters the levels that are the bits of its weight. At most an eighth of the cells. */
static void put_weighed(kll_sketch *q, weighed *keys, size_t n) {
    uint64_t words[CHUNK], all = 0;
    assert(n <= CHUNK && n <= q->cells / 8);
    for (size_t i = 0; i < n; i++) {
        if (keys[i].weight) note_edges(q, keys[i].word, keys[i].word);
        all |= keys[i].weight;
    }
    qsort(keys, n, sizeof *keys, by_weighed_word);
    for (unsigned h = 0; h < LEVELS_MOST && all >> h; h++) {
        size_t in = 0;
        for (size_t i = 0; i < n; i++)
            if (keys[i].weight >> h & 1) words[in++] = keys[i].word;
        if (in) insert(q, h, words, in);
    }
}

static uint64_t word_of_update(const kll_sketch *q, const weir_updates *u, size_t i) {
    if (u->decimals) return word_of_decimal(u->decimals[i]);
    return q->state.decimal ? word_of_decimal((double)u->values[i]) : word_of_integer(u->values[i]);
}

/* Keys that weigh 1, as many as there are free cells at once. */
static size_t put_units(kll_sketch *q, const weir_updates *u, size_t at) {
    uint64_t begin = start_of(q, 0);
    if (!begin) {
        compress(q);
        begin = start_of(q, 0);
    }
    size_t n = u->count - at < begin ? u->count - at : (size_t)begin;
    for (size_t i = 0; i < n; i++) {
        uint64_t word = word_of_update(q, u, at + i);
        q->words[begin - 1 - i] = word;
        note_edges(q, word, word);
    }
    q->state.count[0] += n;
    return n;
}

static weir_status too_many(size_t at, weir_error *err) {
    return weir__fail(err, WEIR_ERR_RANGE, (int64_t)at,
                      "weights of 2^60 or more in all do not fit a 'kll' sketch");
}

static weir_status add_weighed(kll_sketch *q, const weir_updates *u, size_t *done,
                               weir_error *err) {
    weighed keys[CHUNK];
    size_t most = q->cells / 8 < CHUNK ? (size_t)q->cells / 8 : CHUNK;
    bool fits = true;
    while (*done < u->count && fits) {
        double total = weir__total(&q->base);
        size_t n = 0;
        for (; n < most && *done + n < u->count; n++) {
            int64_t weight = u->weights[*done + n];
            fits = total + (double)weight < TOTAL_END;
            if (!fits) break;
            total += (double)weight;
            keys[n] = (weighed){word_of_update(q, u, *done + n), (uint64_t)weight};
        }
        put_weighed(q, keys, n);
        q->base.total_bits = weir__as_bits(total);
        *done += n;
    }
    return fits ? WEIR_OK : too_many(*done, err);
}

static weir_status add(weir_sketch *s, const weir_updates *u, size_t *done, weir_error *err) {
    kll_sketch *q = (kll_sketch *)s;
    *done = 0;
    if (u->decimals)
        for (size_t i = 0; i < u->count; i++)
            if (!isfinite(u->decimals[i]))
                return weir__fail(err, WEIR_ERR_RANGE, (int64_t)i, "the key %g is not a number",
                                  u->decimals[i]);
    if (u->decimals) become_decimal(q);
    forget_view(q);
    if (u->weights) return add_weighed(q, u, done, err);
    while (*done < u->count) *done += put_units(q, u, *done);
    weir__count_total(s, u, u->count);
    return WEIR_OK;
}

static weir_status merge(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    kll_sketch *a = (kll_sketch *)into;
    const kll_sketch *b = (const kll_sketch *)from;
    uint64_t most = a->cells / 8, at = start_of(b, 0);
    if (!(weir__total(into) + weir__total(from) < TOTAL_END)) return too_many(0, err);
    uint64_t *chunk = weir__alloc(&into->allocator, most * sizeof *chunk);
    if (!chunk) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    if (b->state.decimal) become_decimal(a);
    bool convert = a->state.decimal && !b->state.decimal;
    for (unsigned h = 0; h < b->state.levels; h++)
        for (uint64_t left = b->state.count[h]; left;) {
            uint64_t n = left < most ? left : most;
            for (uint64_t i = 0; i < n; i++)
                chunk[i] = convert ? as_decimal(b->words[at + i]) : b->words[at + i];
            if (h == 0) qsort(chunk, n, sizeof *chunk, ascending);
            insert(a, h, chunk, n);
            at += n, left -= n;
        }
    weir__free(&into->allocator, chunk);
    if (b->state.least <= b->state.greatest)
        note_edges(a, convert ? as_decimal(b->state.least) : b->state.least,
                   convert ? as_decimal(b->state.greatest) : b->state.greatest);
    double variance = weir__as_double(a->state.variance) + weir__as_double(b->state.variance);
    a->state.variance = weir__as_bits(variance);
    into->total_bits = weir__as_bits(weir__total(into) + weir__total(from));
    forget_view(a);
    return WEIR_OK;
}

/* ---- answers ---- */

static int by_word(const void *a, const void *b) {
    return ascending(&((const ranked *)a)->word, &((const ranked *)b)->word);
}

static weir_status make_view(kll_sketch *q, weir_error *err) {
    uint64_t at = start_of(q, 0), n = 0;
    double sum = 0;
    if (q->view) return WEIR_OK;
    q->view = weir__alloc(&q->base.allocator, (q->cells - at + 1) * sizeof *q->view);
    if (!q->view) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (unsigned h = 0; h < q->state.levels; h++)
        for (uint64_t i = 0; i < q->state.count[h]; i++)
            q->view[n++] = (ranked){q->words[at++], ldexp(1, (int)h)};
    qsort(q->view, n, sizeof *q->view, by_word);
    for (uint64_t i = 0; i < n; i++) q->view[i].up_to = sum += q->view[i].up_to;
    q->view_count = n;
    return WEIR_OK;
}

/* The least key whose rank is at least this weight; beyond the ends the outermost keys. */
static uint64_t word_at(const kll_sketch *q, double rank, double total) {
    uint64_t low = 0, high = q->view_count;
    if (rank <= 0) return q->state.least;
    if (rank >= total) return q->state.greatest;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (q->view[middle].up_to < rank) low = middle + 1;
        else high = middle;
    }
    return low < q->view_count ? q->view[low].word : q->state.greatest;
}

static weir_status quantile(weir_sketch *s, double share, weir_quantile *out, weir_error *err) {
    kll_sketch *q = (kll_sketch *)s;
    weir_status status = make_view(q, err);
    if (status != WEIR_OK) return status;
    double total = weir__total(s), rank = share * total;
    double off = Z99 * sqrt(weir__as_double(q->state.variance));
    bool edge = share == 0 || share == 1;
    uint64_t value = word_at(q, rank, total);
    uint64_t low = edge || off == 0 ? value : word_at(q, rank - off, total);
    uint64_t high = edge || off == 0 ? value : word_at(q, rank + off, total);
    *out = (weir_quantile){.is_decimal = q->state.decimal};
    if (q->state.decimal) {
        out->decimal = decimal_of(value);
        out->decimal_low = decimal_of(low);
        out->decimal_high = decimal_of(high);
    } else {
        out->value = integer_of(value);
        out->low = integer_of(low);
        out->high = integer_of(high);
    }
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    out->error = Z99 * DEVIATION / (double)((const kll_sketch *)s)->k;
    out->confidence = 0.99;
}

static void details(const weir_sketch *s, weir_detail_fn *each, void *context) {
    const kll_sketch *q = (const kll_sketch *)s;
    double total = weir__total(s), deviation = sqrt(weir__as_double(q->state.variance));
    weir__detail(each, context, "levels", "levels of keys; one of level h is 2^h records", "%llu",
                 (unsigned long long)q->state.levels);
    weir__detail(each, context, "kept", "keys held", "%llu",
                 (unsigned long long)(q->cells - start_of(q, 0)));
    weir__detail(each, context, "deviation", "of a rank, as a share of all records, at most",
                 "%.6g", total > 0 ? deviation / total : 0);
}

static weir_status check(const weir_sketch *s, weir_error *err) {
    const kll_sketch *q = (const kll_sketch *)s;
    double variance = weir__as_double(q->state.variance), total = 0;
    uint64_t held = 0;
    bool sound = q->state.decimal <= 1 && q->state.levels >= 1 && q->state.levels <= LEVELS_MOST &&
                 isfinite(variance) && variance >= 0;
    for (unsigned h = 0; sound && h < q->state.levels; h++) {
        sound = q->state.count[h] <= q->cells - held;
        if (!sound) break;
        held += q->state.count[h];
        total += ldexp((double)q->state.count[h], (int)h);
    }
    const uint64_t *words = (const void *)s->cells;
    for (uint64_t i = q->cells - held; sound && i < q->cells && q->state.decimal; i++)
        sound = isfinite(decimal_of(words[i]));
    sound = sound && fabs(total - weir__total(s)) <= 1e-9 * total &&
            (!held || q->state.least <= q->state.greatest);
    if (sound && held && q->state.decimal)
        sound = isfinite(decimal_of(q->state.least)) && isfinite(decimal_of(q->state.greatest));
    if (sound) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "the levels of the sketch are not understood");
}

static const weir_option options[] = {
    {"error", WEIR_OPT_RATE, 1e-7, 0.2, NULL, NULL,
     "size it for ranks that are off by at most this share of all records, in 99 cases of 100"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__kll_sketch = {
    .kind = {.name = "kll",
             .summary = "quantiles of integer or decimal keys",
             .advice = "Medians, percentiles, the least and the greatest key. The error is one of "
                       "ranks: a percentile of 99 is the key of one nearby, such as 98.99. For "
                       "sums over ranges, or weights with fractions or below 0, use dyadic.",
             .mergeable = true,
             .options = options},
    .size = sizeof(kll_sketch),
    .state_offset = offsetof(kll_sketch, state),
    .state_words = sizeof(((kll_sketch *)0)->state) / 8,
    .create = create,
    .bind = bind,
    .start = start,
    .close = close,
    .add = add,
    .needs = WEIR__NEEDS_NUMBERS | WEIR__NEEDS_GAINS | WEIR__NEEDS_WHOLES,
    .merge = merge,
    .info = info,
    .details = details,
    .check = check,
    .quantile = quantile,
};
