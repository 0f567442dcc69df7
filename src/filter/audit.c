/* audit.c - the errors really happening, from the exact truth about a sample.
 *
 * Question   how often is a filter wrong on this stream?
 * Idea       distinct sampling: a key is in the sample if the low bits of a mix
 *            of its hash are zero, one key in 2^level. Every occurrence of such
 *            a key is followed exactly, so for it we know which verdicts were
 *            wrong. A table holds the keys with their tallies; when it is full
 *            the level goes up by one, half the keys leave, and their tallies
 *            leave with them: what remains is at any time everything about all
 *            keys of the level since the start.
 * Parameters memory for the table; the level to start with; the window of the
 *            filter, so that truth and filter mean the same by "before": a record
 *            is a repeat if one with its key was called NEW, and so passed on, within
 *            the window before it. (A key passed on a little too early is an error
 *            once; what follows is measured from there.)
 * Error      of the estimates: the intervals below, 95%. The truth itself errs
 *            only if two keys have the same 64-bit hash.
 * Cost       one mix and one comparison for a key outside the sample; a table
 *            access for one inside. Memory is fixed.
 * Layout     open addressing, linear probing, at most 3/4 full; the high bits of
 *            the mix choose the slot, so a rebuild in place keeps the order.
 *            Saved: 8 words (version, memory, one_in, window, flags, records,
 *            seen, keys), then 6 words a key (hash, last, firsts, repeats,
 *            false_seen, false_new), all little-endian.
 * Source     distinct sampling: Gibbons, VLDB 2001; thesis 2.2.2.
 *
 * The filters take their places from the high bits of the hash and from what
 * is left of a product; the sample takes the low bits of a mix with a constant
 * of its own. Whether a key is in the sample thus says nothing about where it
 * lies in the filter, and the sample errs like the whole.
 *
 * The estimates. One key in L is in the sample, each with chance 1/L.
 *
 *   fpr   false_seen / firsts over the sampled keys, which err independently;
 *         interval by Clopper and Pearson.
 *   fnr   The plain ratio false_new / repeats of the sample is poor on skewed
 *         streams: a few keys make most of the repeats, or of the errors, and
 *         whether they are in the sample decides. But the audit sees all
 *         verdicts and knows how many were SEEN, S, and NEW, W. Of each key let
 *         y be its false_new, n its repeats, f its false_seen and g its firsts
 *         that were rightly NEW. Over all keys S = sum(n - y + f) and
 *         W = sum(g + y), so with the totals F and Y of f and y
 *             fnr = Y / (S - F + Y),
 *         F = L sum f over the sample, and
 *             Y = L sum y + c (W - L sum(g + y)).
 *         c goes from 0, errors by the sample alone, to 1, all that is NEW less
 *         the estimated number of firsts. Least squares, for which
 *         (1-c) y - c g varies least from key to key, would choose it; y counts
 *         double there, since a sample tends to miss the few keys with most
 *         errors.
 *         Only where S consists of F to such a part that the noise of F drowns
 *         the rest is the plain ratio better; then no key can have made many
 *         repeats that were SEEN, so it is safe there.
 *         Errors of one key come together, so sum y is a sum of clusters; its
 *         interval is the gamma interval of Fay and Feuer (Statistics in
 *         Medicine 16, 1997) for sums of weighted Poisson counts, a key with y
 *         errors being one count of weight y. It holds for no errors too. It is
 *         then moved and stretched to the estimate in use, whose error is to
 *         first order the sum over the sampled keys of
 *             e = (1-R) ((1-c) y - c g) + R f   or, for the plain ratio,  y - R n,
 *         R being the rate, against (1-R) y; and by Student's quantile for as
 *         many degrees of freedom as there are keys that matter to sum e^2.
 *         Measured, it covers the truth in 94 to 98 of 100 streams, and in 90
 *         where some tens of sampled keys stand for a very skewed stream.
 *
 *   Both shrink as the sample becomes the whole: the truth in question is that
 *   of this stream, and with L = 1 it is known.
 */
#include "filter/audit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/rng.h"

#define SAVED_VERSION 1   /* first word of a saved audit */
#define MEMORY_LEAST 4096 /* bytes that an audit must be given */
#define CONFIDENCE 0.95   /* of the intervals of a report */
#define NOISE_MOST 0.25   /* of F, as a share of S - F, for counting to be better */

enum {
    SAVED_HEAD = 8, /* words before the keys of a saved audit */
    SAVED_KEY = 6,  /* words of a key */
    CHUNK = 64      /* hashes that are looked at in one round, a word of verdicts */
};
enum {
    FLAG_TIME = 1,  /* in a saved audit: the window is a duration */
    FLAG_RENEW = 2, /* a repeat renews its key */
    FLAGS = 3       /* all of them */
};

/* A key of the sample. firsts is 0 in an empty slot only. */
typedef struct {
    uint64_t hash;
    int64_t last; /* when it came by last and was remembered: record number or time */
    uint64_t firsts, repeats;
    uint64_t false_seen, false_new;
} entry;

struct weir_audit {
    entry *table;
    uint64_t slots, keys_most;
    uint64_t memory; /* as asked for */
    uint64_t one_in;
    int64_t window; /* 0: none */
    bool is_time, renew;
    uint64_t records, seen; /* of the whole stream */
    uint64_t keys;          /* in the table */
};

/* --- the table ------------------------------------------------------------------ */

/* Low bits: is it in the sample; high bits: its slot. */
static inline uint64_t sample_word(uint64_t hash) {
    return weir__mix64(hash ^ UINT64_C(0xa0761d6478bd642f));
}

static inline bool in_sample(const weir_audit *a, uint64_t word) {
    return (word & (a->one_in - 1)) == 0;
}

static inline uint64_t home_of(const weir_audit *a, uint64_t word) {
    return weir__scale(word, a->slots);
}

/* The slot of a key, or the empty one where it would go. */
static entry *find(const weir_audit *a, uint64_t hash, uint64_t word) {
    uint64_t at = home_of(a, word);
    while (a->table[at].firsts && a->table[at].hash != hash)
        if (++at == a->slots) at = 0;
    return &a->table[at];
}

/* Double one_in and take out the keys that leave. Going around once from an
 * empty slot, each key that stays is put where it is found first; that slot was
 * passed already, so nothing is overwritten. */
static void raise_level(weir_audit *a) {
    uint64_t from = 0;
    while (a->table[from].firsts) from++;
    a->one_in *= 2;
    for (uint64_t i = 1; i < a->slots; i++) {
        uint64_t at = from + i < a->slots ? from + i : from + i - a->slots;
        entry e = a->table[at];
        if (!e.firsts) continue;
        uint64_t word = sample_word(e.hash);
        memset(&a->table[at], 0, sizeof e);
        if (in_sample(a, word)) *find(a, e.hash, word) = e;
        else a->keys--;
    }
}

/* --- creation ------------------------------------------------------------------- */

static bool power_of_two(uint64_t n) { return n && (n & (n - 1)) == 0; }

weir_status weir_audit_new(weir_audit **out, uint64_t memory, uint64_t one_in, int64_t window,
                           bool window_is_time, bool renew, weir_error *err) {
    *out = NULL;
    if (memory < MEMORY_LEAST)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "an audit needs at least %d bytes, not %llu",
                          MEMORY_LEAST, (unsigned long long)memory);
    if (!power_of_two(one_in) || one_in > UINT64_C(1) << 62)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "an audit samples one key in a power of two, not in %llu",
                          (unsigned long long)one_in);
    if (window < 0)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "the window of an audit cannot be negative");
    weir_audit *a = calloc(1, sizeof *a);
    if (!a) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    a->memory = memory;
    a->slots = (memory - sizeof *a) / sizeof(entry);
    a->keys_most = a->slots / 4 * 3;
    a->one_in = one_in;
    a->window = window;
    a->is_time = window_is_time && window;
    a->renew = renew;
    void *table;
    weir_status status = weir__map(&table, a->slots * sizeof(entry), err);
    a->table = table;
    if (status == WEIR_OK) *out = a;
    else free(a);
    return status;
}

void weir_audit_free(weir_audit *audit) {
    if (!audit) return;
    weir__unmap(audit->table, audit->slots * sizeof(entry));
    free(audit);
}

/* --- observing ------------------------------------------------------------------ */

static void add_key(weir_audit *a, entry *e, uint64_t hash, int64_t now, bool seen) {
    *e = (entry){.hash = hash, .last = now, .firsts = 1, .false_seen = seen};
    a->keys++;
    while (a->keys > a->keys_most && a->one_in < UINT64_C(1) << 62) raise_level(a);
}

/* A key of the sample came by: what the truth is, and whether the verdict was. */
static void note_key(weir_audit *a, uint64_t hash, uint64_t word, int64_t now, bool seen) {
    entry *e = find(a, hash, word);
    if (!e->firsts) {
        add_key(a, e, hash, now, seen);
        return;
    }
    bool too_old =
        a->window && now > e->last && (uint64_t)now - (uint64_t)e->last > (uint64_t)a->window;
    if (too_old) {
        e->firsts++;
        e->false_seen += seen;
    } else {
        e->repeats++;
        e->false_new += !seen;
    }
    if ((too_old || a->renew || !seen) && now > e->last) e->last = now;
}

/* Up to 64 keys, whose verdicts are the bits of one word. First find those in
 * the sample and fetch their slots, then follow them in order. A key may leave
 * the sample in between, when another one raises the level. */
static void observe_chunk(weir_audit *a, const uint64_t *hashes, const int64_t *times, size_t n,
                          int64_t now, uint64_t verdicts) {
    uint64_t words[CHUNK];
    unsigned char which[CHUNK];
    size_t chosen = 0;
    uint64_t mask = a->one_in - 1;
    assert(n <= CHUNK && (a->one_in & mask) == 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t word = sample_word(hashes[i]);
        words[chosen] = word;
        which[chosen] = (unsigned char)i;
        chosen += (word & mask) == 0;
    }
    if (a->one_in < 64)
        for (size_t c = 0; c < chosen; c++) __builtin_prefetch(&a->table[home_of(a, words[c])], 1);
    for (size_t c = 0; c < chosen; c++) {
        unsigned i = which[c];
        if (!in_sample(a, words[c])) continue;
        int64_t at = a->is_time ? (times ? times[i] : now) : (int64_t)(a->records + i + 1);
        note_key(a, hashes[i], words[c], at, verdicts >> i & 1);
    }
}

void weir_audit_observe(weir_audit *audit, const weir_batch *batch, const uint64_t *verdicts) {
    int64_t now = audit->is_time && !batch->times ? weir__clock_now() : 0;
    for (size_t at = 0; at < batch->count; at += CHUNK) {
        size_t n = batch->count - at < CHUNK ? batch->count - at : CHUNK;
        uint64_t word = verdicts[at / CHUNK];
        if (n < CHUNK) word &= (UINT64_C(1) << n) - 1;
        observe_chunk(audit, batch->hashes + at, batch->times ? batch->times + at : NULL, n, now,
                      word);
        audit->records += n;
        audit->seen += (uint64_t)__builtin_popcountll(word);
    }
}

/* --- quantiles ------------------------------------------------------------------ */

/* Continued fraction of the incomplete beta function (modified Lentz). */
static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
    double h = d;
    for (int m = 1; m < 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double before = h;
        d = 1 / (1 + even * d), c = 1 + even / c, h *= d * c;
        d = 1 / (1 + odd * d), c = 1 + odd / c, h *= d * c;
        if (fabs(h - before) < 1e-14 * fabs(h)) break;
    }
    return h;
}

/* Regularised incomplete beta function: Pr[Beta(a, b) <= x]. */
static double beta_below(double a, double b, double x) {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Pr[Gamma(a) <= x], by series below and continued fraction above its mean. */
static double gamma_below(double a, double x) {
    if (x <= 0) return 0;
    double front = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double n = a + 1; term > sum * 1e-15; n++) sum += term *= x / n;
        return front * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 100000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b), c = b + an / c;
        double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-14) break;
    }
    return 1 - front * h;
}

/* The x at which Pr[... <= x] is q, by halving: only reports ask for it. */
static double beta_quantile(double a, double b, double q) {
    double low = 0, high = 1;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = 0.5 * (low + high);
        if (beta_below(a, b, middle) < q) low = middle;
        else high = middle;
    }
    return 0.5 * (low + high);
}

static double gamma_quantile(double a, double q) {
    double low = 0, high = a + 1;
    while (gamma_below(a, high) < q) high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = 0.5 * (low + high);
        if (gamma_below(a, middle) < q) low = middle;
        else high = middle;
    }
    return 0.5 * (low + high);
}

/* --- the report ----------------------------------------------------------------- */

typedef struct {
    double low, high;
} interval;

/* Clopper and Pearson: errors among n independent ones. */
static interval rate_interval(double errors, double n) {
    double tail = (1 - CONFIDENCE) / 2;
    interval i = {0, 1};
    if (errors > 0) i.low = beta_quantile(errors, n - errors + 1, tail);
    if (errors < n) i.high = beta_quantile(errors + 1, n - errors, 1 - tail);
    return i;
}

/* Fay and Feuer: a sum of clusters, its sum of squares, and the largest. */
static interval sum_interval(double sum, double squares, double largest) {
    double tail = (1 - CONFIDENCE) / 2;
    interval i = {0, 0};
    if (sum > 0) i.low = squares / sum * gamma_quantile(sum * sum / squares, tail);
    double wide = squares + largest * largest, moved = sum + largest;
    i.high = wide / moved * gamma_quantile(moved * moved / wide, 1 - tail);
    return i;
}

/* Move an interval to another estimate and make it wider or narrower. */
static interval stretch(interval i, double from, double to, double by) {
    i.low = fmax(0, to - (from - i.low) * by);
    i.high = to + (i.high - from) * by;
    return i;
}

/* The factor to a standard deviation that falls to 0 as the sample becomes the whole. */
static double of_finite(uint64_t one_in) { return sqrt(1 - 1 / (double)one_in); }

/* Sums over the keys that the report needs beside the plain ones. */
typedef struct {
    double yy, yg, gg, ff, largest_y;
} moments;

static moments add_up(const weir_audit *a, weir_audit_report *r) {
    moments m = {.largest_y = 1};
    for (uint64_t i = 0; i < a->slots; i++) {
        const entry *e = &a->table[i];
        double y = (double)e->false_new, f = (double)e->false_seen, g = (double)e->firsts - f;
        r->firsts += e->firsts;
        r->repeats += e->repeats;
        r->false_seen += e->false_seen;
        r->false_new += e->false_new;
        m.yy += y * y, m.yg += y * g, m.gg += g * g, m.ff += f * f;
        m.largest_y = fmax(m.largest_y, y);
    }
    return m;
}

static void report_fpr(const weir_audit *a, weir_audit_report *r) {
    r->fpr_high = a->one_in > 1 || !r->firsts ? 1 : 0;
    if (!r->firsts) return;
    r->fpr = (double)r->false_seen / (double)r->firsts;
    interval i = rate_interval((double)r->false_seen, (double)r->firsts);
    i = stretch(i, r->fpr, r->fpr, of_finite(a->one_in));
    r->fpr_low = i.low, r->fpr_high = i.high;
}

/* The share of the repeats that were wrongly NEW. */
static double fnr_of(double wrongly_new, double rightly_seen) {
    return wrongly_new > 0 ? wrongly_new / (wrongly_new + rightly_seen) : 0;
}

/* The c for which (1-c) y - c g varies least, y taken for larger than it is. */
static double best_share(const moments *m) {
    double yy = 2 * m->yy, all = yy + 2 * m->yg + m->gg;
    return all > 0 ? (yy + m->yg) / all : 0;
}

/* e as a sum of multiples of what a key has. */
typedef struct {
    double y, n, f, g;
} weights;

/* How much wider than that of (1-R) y the interval of e must be. */
static double widen(const weir_audit *a, weights w, double alone) {
    double squares = 0, fourths = 0;
    for (uint64_t i = 0; i < a->slots; i++) {
        const entry *k = &a->table[i];
        double f = (double)k->false_seen, g = (double)k->firsts - f;
        double e = w.y * (double)k->false_new + w.n * (double)k->repeats + w.f * f + w.g * g;
        squares += e * e;
        fourths += e * e * e * e;
    }
    if (alone <= 0 || fourths <= 0) return 1;
    double freedom = fmax(2, squares * squares / fourths);
    double student = 1 + 1.21 / freedom + 1.44 / (freedom * freedom); /* over the normal quantile */
    return sqrt(squares / alone) * student;
}

static void report_fnr(const weir_audit *a, weir_audit_report *r, const moments *m) {
    double L = (double)a->one_in, finite = of_finite(a->one_in), y = (double)r->false_new;
    double in_sample = (double)r->repeats - y; /* rightly SEEN */
    double rest = (double)a->seen - L * (double)r->false_seen;
    r->fnr_high = 1;
    if (a->records == 0) return;
    interval i = sum_interval(y, m->yy, m->largest_y);
    bool counted = rest >= in_sample && L * sqrt(m->ff) * finite < NOISE_MOST * rest;
    if (counted) {
        double c = best_share(m), new_in_sample = (double)(r->firsts - r->false_seen) + y;
        double all_new = (double)(a->records - a->seen);
        double estimate = fmax(y / L, y + c * (all_new / L - new_in_sample));
        r->fnr = fnr_of(L * estimate, rest);
        double R = r->fnr, q = 1 - R;
        weights w = {.y = q * (1 - c), .g = -q * c, .f = R};
        i = stretch(i, y, estimate, finite * widen(a, w, q * q * m->yy));
    } else {
        rest = L * in_sample;
        r->fnr = fnr_of(y, in_sample);
        weights w = {.y = 1, .n = -r->fnr};
        i = stretch(i, y, y, finite * widen(a, w, (1 - r->fnr) * (1 - r->fnr) * m->yy));
    }
    r->fnr_low = fnr_of(L * i.low, rest);
    if (rest > 0 || a->one_in == 1) r->fnr_high = fnr_of(L * i.high, rest);
}

void weir_audit_get_report(const weir_audit *audit, weir_audit_report *report) {
    *report =
        (weir_audit_report){.one_in = audit->one_in, .keys = audit->keys, .confidence = CONFIDENCE};
    moments m = add_up(audit, report);
    report_fpr(audit, report);
    report_fnr(audit, report, &m);
    assert(report->false_seen <= report->firsts && report->false_new <= report->repeats);
    assert(report->fpr_low <= report->fpr_high && report->fnr_low <= report->fnr_high);
}

/* --- saving --------------------------------------------------------------------- */

size_t weir__audit_saved_size(const weir_audit *audit) {
    return (SAVED_HEAD + SAVED_KEY * (size_t)audit->keys) * 8;
}

void weir__audit_save(const weir_audit *a, uint8_t *bytes) {
    const uint64_t flags = (a->is_time ? FLAG_TIME : 0) | (a->renew ? FLAG_RENEW : 0);
    const uint64_t head[SAVED_HEAD] = {SAVED_VERSION, a->memory,  a->one_in, (uint64_t)a->window,
                                       flags,         a->records, a->seen,   a->keys};
    uint8_t *const end = bytes + weir__audit_saved_size(a);
    for (int i = 0; i < SAVED_HEAD; i++) bytes = weir__put64(bytes, head[i]);
    for (uint64_t i = 0; i < a->slots; i++) {
        const entry *e = &a->table[i];
        if (!e->firsts) continue;
        const uint64_t words[SAVED_KEY] = {e->hash,    (uint64_t)e->last, e->firsts,
                                           e->repeats, e->false_seen,     e->false_new};
        for (int j = 0; j < SAVED_KEY; j++) bytes = weir__put64(bytes, words[j]);
    }
    assert(bytes == end); /* as many keys stand in the table as are counted */
    (void)end;
}

static weir_status damaged(weir_error *err, size_t offset, const char *what) {
    return weir__fail(err, WEIR_ERR_CORRUPT, (int64_t)offset, "the saved audit is damaged: %s",
                      what);
}

/* One key, against the head and the sums of those before it. The counts of a
 * key are at most the records, below 2^63, so no sum overflows. */
static const char *load_key(weir_audit *a, const entry *e, uint64_t *occurrences, uint64_t *seen) {
    uint64_t word = sample_word(e->hash), most = a->records;
    if (!in_sample(a, word)) return "a key is not of the sample";
    if (!e->firsts || e->firsts > most || e->repeats > most - e->firsts)
        return "a key has impossible counts";
    if (e->false_seen > e->firsts || e->false_new > e->repeats)
        return "a key has more errors than occurrences";
    if (!a->window && e->firsts != 1) return "a key has two first occurrences";
    if (!a->is_time && (e->last < 1 || (uint64_t)e->last > most)) return "a key came by too late";
    *occurrences += e->firsts + e->repeats;
    *seen += e->false_seen + (e->repeats - e->false_new);
    if (*occurrences > a->records || *seen > a->seen) return "the keys outnumber the records";
    entry *slot = find(a, e->hash, word);
    if (slot->firsts) return "a key is there twice";
    *slot = *e;
    a->keys++;
    return NULL;
}

static weir_status load_keys(weir_audit *a, weir__reader *r, uint64_t keys, weir_error *err) {
    uint64_t occurrences = 0, seen = 0;
    for (uint64_t i = 0; i < keys; i++) {
        entry e;
        e.hash = weir__take64(r);
        e.last = (int64_t)weir__take64(r);
        e.firsts = weir__take64(r);
        e.repeats = weir__take64(r);
        e.false_seen = weir__take64(r);
        e.false_new = weir__take64(r);
        const char *wrong = load_key(a, &e, &occurrences, &seen);
        if (wrong) return damaged(err, (SAVED_HEAD + SAVED_KEY * (size_t)i) * 8, wrong);
    }
    return WEIR_OK;
}

weir_status weir__audit_load(weir_audit **out, const uint8_t *bytes, size_t length,
                             weir_error *err) {
    weir__reader r = {.at = bytes, .end = bytes + length};
    uint64_t head[SAVED_HEAD];
    *out = NULL;
    for (int i = 0; i < SAVED_HEAD; i++) head[i] = weir__take64(&r);
    if (r.failed) return damaged(err, length, "it is too short");
    uint64_t version = head[0], memory = head[1], flags = head[4], keys = head[7];
    if (version != SAVED_VERSION)
        return weir__fail(err, WEIR_ERR_VERSION, 0,
                          "the saved audit is of version %llu; this is %d",
                          (unsigned long long)version, SAVED_VERSION);
    size_t left = (size_t)(r.end - r.at);
    if (left % (SAVED_KEY * 8) || left / (SAVED_KEY * 8) != keys)
        return damaged(err, 56, "its length does not fit its number of keys");
    if (flags > FLAGS || ((flags & FLAG_TIME) && !head[3]) || head[3] > INT64_MAX)
        return damaged(err, 24, "its window makes no sense");
    if (head[5] > INT64_MAX || head[6] > head[5])
        return damaged(err, 40, "its counts make no sense");
    weir_audit *a;
    weir_status status = weir_audit_new(&a, memory, head[2], (int64_t)head[3], flags & FLAG_TIME,
                                        flags & FLAG_RENEW, err);
    if (status == WEIR_ERR_RANGE) return damaged(err, 8, "its size or sampling makes no sense");
    if (status) return status;
    a->records = head[5], a->seen = head[6];
    status = keys > a->keys_most ? damaged(err, 56, "it has more keys than its memory holds")
                                 : load_keys(a, &r, keys, err);
    if (status == WEIR_OK) *out = a;
    else weir_audit_free(a);
    return status;
}
