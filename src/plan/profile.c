/* profile.c - measures a stream: gaps, distances, skew, growth, drift.
 *
 * Question   what do the repeats of this stream look like?
 * Idea       keep every occurrence of the keys whose hash falls into a sample, and
 *            nothing of the others. Among the kept keys everything is exact, and a
 *            stream of one key in L has gaps as they are and distances (distinct
 *            keys between two occurrences) that are L times shorter; so it can
 *            also be replayed through a filter of 1/L of the memory.
 * Parameters memory. The sample starts with all keys and is halved when it is full.
 *            A filter of 1/L of the memory must not become too small to behave like
 *            the whole (LEAST_SCALED), so where halving would go beyond that the
 *            profile stops and covers only the beginning of the stream.
 * Error      of a share p measured on n keys about sqrt(p/n), more on skewed streams,
 *            where it matters whether the few hot keys are in the sample. Rates are
 *            therefore taken of all records, whose number is known, not of those kept.
 * Cost       a mix and a comparison for a key that is not kept, 32 bytes for one that
 *            is; analysing takes O(n log n) and 20 bytes for each more.
 * Source     keys by hash: distinct sampling, thesis 2.2.2; for distances Waldspurger
 *            et al., FAST 2015 (SHARDS). Distances: a Fenwick tree over the last
 *            occurrences, Olken 1981.
 *
 * Growth. D(n), the distinct keys in n records, is taken to be a power n^b from half
 * of the sample on: b = log2(D(n) / D(n/2)).
 * Drift. A key with c occurrences has a in the first half and b in the second. If both
 * halves draw from the same keys, E[ab] = c(c-1)/4; so 1 - sum(4ab/(c-1)) / sum(c) over
 * keys with c >= 2 is 0 on average, and 1 if no key is in both.
 * Skew. The slope of log frequency against log rank, over ranks at powers of 2, as long
 * as frequencies are at least 4.
 */
#include "plan/profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/rng.h"

enum {
    BYTES_A_RECORD = 56,  /* most that a kept record takes while a profile is analysed */
    MEMORY_LEAST = 65536, /* bytes of a profile */
    LEAST_SCALED =
        65536, /* bytes of a filter that stands for a larger one: less has effects of its own */
    FIRST_ROOM = 4096 /* records that there is room for at first */
};
enum {
    RECORDS_LEAST = 1000, /* records of a stream that can be judged */
    REPEATS_LEAST = 100   /* repeats of a stream that can be judged */
};

/* Of a drawn stream: records are many enough and still quick to replay. */
enum {
    DRAWN_LEAST = 200000, /* records */
    DRAWN_MOST = 500000   /* records */
};

#define RECORDS_MOST 1e18 /* of a stream that can be thought of */

/* --- keeping ---------------------------------------------------------------------- */

weir_status weir_profile_new(weir_profile **out, uint64_t memory,
                             const weir_plan_question *question, weir_error *err) {
    *out = NULL;
    if (memory < MEMORY_LEAST)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a profile needs at least %d bytes",
                          MEMORY_LEAST);
    weir_profile *p = calloc(1, sizeof *p);
    if (!p) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    p->room = memory / BYTES_A_RECORD < UINT32_MAX ? memory / BYTES_A_RECORD : UINT32_MAX - 1;
    p->one_in = p->one_in_most = 1;
    p->share = 1;
    uint64_t enough = question->memory ? question->memory / LEAST_SCALED : UINT64_C(1) << 40;
    while (p->one_in_most * 2 <= enough) p->one_in_most *= 2;
    *out = p;
    return WEIR_OK;
}

void weir_profile_free(weir_profile *p) {
    if (!p) return;
    free(p->hashes);
    free(p->positions);
    free(p->times);
    free(p->importances);
    free(p->previous);
    free(p->distances);
    free(p->first);
    free(p);
}

static bool grow(void *array, size_t size, size_t count) {
    void *grown = realloc(*(void **)array, size * count);
    if (grown) *(void **)array = grown;
    return grown != NULL;
}

static bool grow_all(weir_profile *p) {
    size_t capacity = p->capacity ? 2 * p->capacity : FIRST_ROOM;
    if (capacity > p->room) capacity = p->room;
    bool grown = grow(&p->hashes, sizeof *p->hashes, capacity) &&
                 grow(&p->positions, sizeof *p->positions, capacity) &&
                 (!p->timed || grow(&p->times, sizeof *p->times, capacity)) &&
                 (!p->weighted || grow(&p->importances, sizeof *p->importances, capacity));
    if (grown) p->capacity = capacity;
    return grown;
}

/* An independent mix of the hash, so that the sample has nothing to do with where
 * a key lies in a filter. */
static inline bool in_sample(uint64_t hash, uint64_t one_in) {
    assert(one_in && (one_in & (one_in - 1)) == 0); /* a power of two */
    return (weir__mix64(hash ^ UINT64_C(0x706c616e20736d70)) & (one_in - 1)) == 0;
}

static void halve(weir_profile *p) {
    size_t kept = 0;
    p->one_in *= 2;
    p->share = 1.0 / (double)p->one_in;
    for (size_t i = 0; i < p->count; i++) {
        if (!in_sample(p->hashes[i], p->one_in)) continue;
        p->hashes[kept] = p->hashes[i];
        p->positions[kept] = p->positions[i];
        if (p->times) p->times[kept] = p->times[i];
        if (p->importances) p->importances[kept] = p->importances[i];
        kept++;
    }
    p->count = kept;
}

/* Room for one more, by growing, halving, or not at all. */
static bool make_room(weir_profile *p, bool *no_memory) {
    if (p->count < p->capacity) return true;
    if (p->capacity < p->room) return grow_all(p) || (*no_memory = true, false);
    if (p->one_in >= p->one_in_most) {
        p->closed = true;
        return false;
    }
    halve(p);
    return p->count < p->capacity;
}

weir_status weir_profile_observe(weir_profile *p, const weir_batch *batch, weir_error *err) {
    bool no_memory = false, timed = batch->times != NULL, weighted = batch->importances != NULL;
    if (p->records && (timed != p->timed || weighted != p->weighted))
        return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                          "some batches have times or importances and some have none");
    p->timed = timed;
    p->weighted = weighted;
    for (size_t i = 0; i < batch->count && !p->closed; i++) {
        uint64_t hash = batch->hashes[i];
        if (in_sample(hash, p->one_in)) {
            while (!make_room(p, &no_memory) && !p->closed)
                if (no_memory) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
            if (p->closed) break;
            if (in_sample(hash, p->one_in)) {
                p->hashes[p->count] = hash;
                p->positions[p->count] = p->records + i;
                if (timed) p->times[p->count] = batch->times[i];
                if (weighted) p->importances[p->count] = batch->importances[i];
                p->count++;
            }
        }
        p->covered++;
    }
    p->records += batch->count;
    p->analysed = false;
    return WEIR_OK;
}

/* --- drawing ---------------------------------------------------------------------- */

/* Keys that are all alike. */
static void draw_alike(weir_profile *p, double keys, uint64_t *rng) {
    uint64_t range = (uint64_t)fmax(1, round(keys * p->share));
    for (size_t i = 0; i < p->count; i++) {
        uint64_t key = weir__rng_below(rng, range);
        p->hashes[i] = weir__rng_next(&key);
    }
}

/* New keys, of which one in ten comes again from anywhere in the window. */
static void draw_delivered(weir_profile *p, double window, uint64_t *rng) {
    size_t back = (size_t)fmax(1, window * p->share);
    for (size_t i = 0; i < p->count; i++) {
        bool again = i && weir__rng_below(rng, 10) == 0;
        size_t reach = i < back ? i : back;
        p->hashes[i] = again ? p->hashes[i - 1 - weir__rng_below(rng, reach)] : weir__rng_next(rng);
    }
}

/* Fill in what is not known. Half the records are repeats; four times the keys are
 * the records; and of keys there are twice as many as fit. */
static weir_status assume(weir_plan_question *q, double *window, weir_error *err) {
    *window = (double)q->window;
    if (q->window && q->window_is_time) {
        if (!(q->rate > 0))
            return weir__fail(err, WEIR_ERR_RANGE, -1,
                              "a window in time says nothing without a rate of records");
        *window = (double)q->window * 1e-9 * q->rate;
    }
    if (q->window) {
        if (!(q->records > 0)) q->records = ceil(fmax(DRAWN_LEAST, 4 * fmax(*window, q->distinct)));
        return WEIR_OK;
    }
    if (!(q->distinct > 0)) {
        if (!(q->records > 0) && !q->memory)
            return weir__fail(err, WEIR_ERR_RANGE, -1,
                              "neither the memory nor the number of keys is known");
        double fit = (double)q->memory * 8 / (log2(1 / q->fpr) + 2);
        q->distinct = ceil(q->records > 0 ? q->records / 2 : 2 * fit);
    }
    if (!(q->records > 0)) q->records = 4 * q->distinct;
    return WEIR_OK;
}

/* A stream that could be. */
static bool is_possible(const weir_plan_question *q) {
    const double sizes[] = {q->records, q->distinct, q->rate};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!(sizes[i] >= 0 && sizes[i] <= RECORDS_MOST)) return false;
    return q->window >= 0;
}

weir_status weir_profile_assume(weir_profile **out, uint64_t memory, weir_plan_question *q,
                                weir_error *err) {
    double window = 0;
    uint64_t rng = 1;
    *out = NULL;
    if (!(q->fpr > 0 && q->fpr <= 0.5))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "the fpr is above 0%% and up to 50%%");
    weir_status status = is_possible(q) ? assume(q, &window, err) : WEIR_OK;
    if (status == WEIR_OK && !is_possible(q))
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "no stream has so many records, keys or records a second: each is from "
                          "0 to 1e18");
    if (status == WEIR_OK) status = weir_profile_new(out, memory, q, err);
    if (status != WEIR_OK) return status;
    weir_profile *p = *out;
    bool alike = !q->window || q->distinct > 0;
    double wanted = alike ? q->records : fmin(q->records, fmax(DRAWN_LEAST, 4 * window));
    double most = fmin((double)p->room, DRAWN_MOST);
    double least_share = q->memory ? fmin(1, 0.5 * LEAST_SCALED / (double)q->memory) : 0;
    p->share = fmax(fmin(1, most / wanted), least_share);
    p->one_in = (uint64_t)fmax(1, round(1 / p->share));
    p->one_of = alike ? q->distinct : 0;
    size_t count = (size_t)fmax(1, fmin(most, wanted * p->share));
    while (p->capacity < count)
        if (!grow_all(p)) {
            weir_profile_free(p);
            *out = NULL;
            return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
        }
    p->count = count;
    for (size_t i = 0; i < count; i++) p->positions[i] = (uint64_t)((double)i / p->share);
    p->records = p->covered = (uint64_t)((double)count / p->share);
    if (alike) draw_alike(p, q->distinct, &rng);
    else draw_delivered(p, window, &rng);
    return WEIR_OK;
}

/* --- analysing -------------------------------------------------------------------- */

static void tree_add(uint32_t *tree, size_t n, size_t at, int by) {
    assert(at < n);
    for (size_t i = at + 1; i <= n; i += i & -i) tree[i] += (uint32_t)by;
}

static uint32_t tree_below(const uint32_t *tree, size_t at) {
    uint32_t sum = 0;
    for (size_t i = at; i > 0; i -= i & -i) sum += tree[i];
    return sum;
}

/* The last occurrence of a key so far, or WEIR__NO_RECORD; from now on it is `now`. */
static uint32_t replace_last(uint32_t *table, size_t mask, const uint64_t *hashes, uint32_t now) {
    assert((mask & (mask + 1)) == 0);
    size_t at = weir__mix64(hashes[now]) & mask;
    while (table[at] != WEIR__NO_RECORD && hashes[table[at]] != hashes[now]) at = (at + 1) & mask;
    uint32_t last = table[at];
    table[at] = now;
    return last;
}

static void find_distances(weir_profile *p, uint32_t *table, size_t mask, uint32_t *tree) {
    memset(table, 0xff, (mask + 1) * sizeof *table);
    p->keys = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t last = replace_last(table, mask, p->hashes, (uint32_t)i);
        p->previous[i] = last;
        p->distances[i] = 0;
        p->keys += last == WEIR__NO_RECORD;
        if (last != WEIR__NO_RECORD) {
            p->distances[i] = (float)(tree_below(tree, i) - tree_below(tree, (size_t)last + 1));
            tree_add(tree, p->count, last, -1);
        }
        tree_add(tree, p->count, i, 1);
    }
}

weir_status weir__profile_analyse(weir_profile *p, weir_error *err) {
    if (p->analysed) return WEIR_OK;
    size_t slots = 1024;
    while (slots < 2 * p->count) slots *= 2;
    uint32_t *table = malloc(slots * sizeof *table);
    uint32_t *tree = calloc(p->count + 1, sizeof *tree);
    bool made = table && tree && grow(&p->previous, sizeof *p->previous, p->count + 1) &&
                grow(&p->distances, sizeof *p->distances, p->count + 1);
    if (made) find_distances(p, table, slots - 1, tree);
    free(table);
    free(tree);
    if (!made) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    p->analysed = true;
    p->firsts = 0; /* the truth has to be found anew */
    return WEIR_OK;
}

/* --- the truth under a window ------------------------------------------------------- */

/* since[i]: the occurrence from which on the key of record i is remembered. A
 * repeat within the window does not renew it. */
static void find_firsts(weir_profile *p, const weir_plan_question *q, uint32_t *since) {
    assert(p->analysed);
    memset(p->first, 0, WEIR_VERDICT_WORDS(p->count) * sizeof *p->first);
    p->firsts = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t last = p->previous[i];
        bool known = last != WEIR__NO_RECORD;
        if (known && q->window)
            known = weir__profile_moment(p, q, i) - weir__profile_moment(p, q, since[last]) <=
                    q->window;
        since[i] = known ? since[last] : (uint32_t)i;
        p->first[i / 64] |= (uint64_t)!known << (i % 64);
        p->firsts += !known;
    }
}

weir_status weir__profile_judge(weir_profile *p, const weir_plan_question *q, weir_error *err) {
    weir_status status = weir__profile_analyse(p, err);
    if (status != WEIR_OK) return status;
    bool same = p->window == q->window && p->window_is_time == q->window_is_time &&
                p->rate == q->rate; /* NOLINT: as given, not computed */
    if (p->firsts && same) return WEIR_OK;
    uint32_t *since = malloc((p->count + 1) * sizeof *since);
    bool made = since && grow(&p->first, sizeof *p->first, WEIR_VERDICT_WORDS(p->count) + 1);
    if (made) find_firsts(p, q, since);
    free(since);
    if (!made) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    p->window = q->window;
    p->window_is_time = q->window_is_time;
    p->rate = q->rate;
    return WEIR_OK;
}

/* --- reporting ---------------------------------------------------------------------- */

static int falling(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The value that a share `above` of all repeats exceeds, counted from the top: what
 * the sample has too many or too few of are repeats of hot keys, at the bottom. */
static double quantile(const double *sorted, size_t n, double above, double repeats, double share) {
    double rank = above * repeats * share;
    if (n == 0 || rank >= (double)n) return 0;
    return sorted[(size_t)rank];
}

/* The slope of log frequency by log rank; frequencies from high to low. */
static double slope_of(const double *frequencies, size_t n) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0, points = 0;
    for (size_t rank = 1; rank <= n && frequencies[rank - 1] >= 4; rank *= 2) {
        double x = log((double)rank), y = log(frequencies[rank - 1]);
        sx += x, sy += y, sxx += x * x, sxy += x * y, points++;
    }
    double spread = points * sxx - sx * sx;
    return points >= 5 && spread > 0 ? fmax(0, -(points * sxy - sx * sy) / spread) : 0;
}

/* Occurrences of each key, all of them and those in the first half, gathered at its
 * last occurrence. totals comes out with one entry for each key. */
static double count_keys(const weir_profile *p, double *totals, double *early) {
    double spread = 0, all = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t last = p->previous[i];
        bool known = last != WEIR__NO_RECORD;
        totals[i] = (known ? totals[last] : 0) + 1;
        early[i] = (known ? early[last] : 0) + (p->positions[i] < p->covered / 2);
        if (known) totals[last] = 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        double c = totals[i], a = early[i];
        if (c >= 2) spread += 4 * a * (c - a) / (c - 1), all += c;
        if (c >= 1) totals[n++] = c;
    }
    return all > 0 ? 1 - spread / all : 0;
}

static size_t gather(const weir_profile *p, double *values, bool gaps) {
    size_t n = 0;
    for (size_t i = 0; i < p->count; i++)
        if (p->previous[i] != WEIR__NO_RECORD)
            values[n++] = gaps ? weir__profile_gap(p, i) : (double)p->distances[i] / p->share;
    qsort(values, n, sizeof *values, falling);
    return n;
}

static double growth_of(const weir_profile *p) {
    size_t half = 0;
    for (size_t i = 0; i < p->count && p->positions[i] < p->covered / 2; i++)
        half += p->previous[i] == WEIR__NO_RECORD;
    return half ? fmin(1, fmax(0, log2((double)p->keys / (double)half))) : 1;
}

static void fill_report(const weir_profile *p, weir_profile_report *r, double *a, double *b) {
    r->records = p->records;
    r->covered = p->covered;
    r->one_in = p->one_in;
    r->kept = p->count;
    r->keys = p->keys;
    r->distinct = fmin((double)p->covered, (double)p->keys / p->share);
    r->growth = growth_of(p);
    double repeats = (double)p->covered - r->distinct;
    size_t n = gather(p, a, true);
    r->gap_median = quantile(a, n, 0.5, repeats, p->share);
    r->gap_90 = quantile(a, n, 0.1, repeats, p->share);
    gather(p, a, false);
    r->distance_median = quantile(a, n, 0.5, repeats, p->share);
    r->distance_90 = quantile(a, n, 0.1, repeats, p->share);
    r->drift = fmax(0, count_keys(p, a, b));
    qsort(a, p->keys, sizeof *a, falling);
    r->zipf = slope_of(a, p->keys);
}

weir_status weir_profile_get_report(weir_profile *p, weir_profile_report *report, weir_error *err) {
    weir_status status = weir__profile_analyse(p, err);
    if (status != WEIR_OK) return status;
    size_t repeats = p->count - p->keys;
    if (p->covered < RECORDS_LEAST || repeats < REPEATS_LEAST)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "too little to judge by: %llu records with %zu repeats%s; at least %d "
                          "and %d are needed",
                          (unsigned long long)p->covered, repeats,
                          p->one_in > 1 ? " of the keys looked at" : "", RECORDS_LEAST,
                          REPEATS_LEAST);
    double *a = malloc((p->count + 1) * sizeof *a), *b = malloc((p->count + 1) * sizeof *b);
    bool made = a && b;
    if (made) fill_report(p, report, a, b);
    free(a);
    free(b);
    return made ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}
