/* qht.c - quotient hash table: buckets of short fingerprints, replaced at random.
 *
 * Question   has this key come by, lately?
 * Idea       a key's hash chooses a bucket and a fingerprint of b bits. If the
 *            bucket holds it: SEEN. If not: NEW, and it is put into an empty slot,
 *            or over a random one when there is none.
 * Parameters s slots a bucket, b bits a slot, N slots in all. Of a full table,
 *            what one new key drives out is one in N whatever s is, so the plan
 *            takes the shortest fingerprints that keep fpr (most slots) and then
 *            as many slots to a bucket as these allow. More slots to a bucket
 *            (slots=4) lose less while the table fills.
 * Error      false positives: held / (2^b - 1), exactly, as the fingerprints of a
 *            bucket are distinct and none is zero; so at most s / (2^b - 1), at
 *            all times. False negatives: with f that rate, a repeat after `gap`
 *            new keys passes as NEW with probability
 *                (1 - f) (1 - (1 - 1/N)^gap)
 *            once the table is full: a fingerprint of a bucket is driven out at the
 *            rate (1-f)/N and brought in by others at the rate f/N.
 * Cost       one line per key; b bits for each key held.
 * Layout     a line of 512 bits holds floor(512 / sb) buckets, one after the
 *            other, slots from the low bits up; zero is an empty slot. What is
 *            left of the line is not used.
 * Source     Geraud, Lombard-Platet, Naccache, "Quotient hash tables", SAC 2019,
 *            from its description. We differ: buckets do not cross lines, and the
 *            plan aims at a bound on false positives.
 */
#include "filter/qht.h"

#include <assert.h>
#include <math.h>

#include "filter/aging.h"
#include "filter/filter.h"
#include "filter/line/lines.h"
#include "filter/probe.h"

enum { OPT_SLOTS = WEIR__OPT_OWN, OPT_BITS };
enum {
    SLOTS_MOST = 64, /* slots of a bucket */
    BITS_MOST = 48   /* bits of a fingerprint: read through one word at any shift */
};

typedef struct {
    weir_filter base;
    uint64_t lines, values; /* values: 2^b - 1 fingerprints there are */
    unsigned buckets;       /* of a line */
    unsigned slots, bits;
    struct {
        uint64_t rng;
        uint64_t held;    /* slots in use */
        uint64_t evicted; /* keys driven out */
    } state;
} qht_filter;

/* --- formulas ------------------------------------------------------------------- */

double weir__qht_fpr(double held, unsigned bits) {
    return fmin(1, held / (ldexp(1, (int)bits) - 1));
}

double weir__qht_fnr(double total_slots, unsigned slots, unsigned bits, double gap) {
    double f = weir__qht_fpr(slots, bits);
    return (1 - f) * -expm1(gap * log1p(-1 / total_slots));
}

static unsigned slots_of_a_line(unsigned slots, unsigned bits) {
    unsigned bucket = slots * bits;
    return bucket ? WEIR__LINE_BITS / bucket * slots : 0;
}

weir__qht_shape weir__qht_plan(unsigned slots, unsigned bits, double fpr) {
    weir__qht_shape best = {0, 0};
    unsigned most = 0;
    for (unsigned b = bits ? bits : 1; b <= (bits ? bits : BITS_MOST); b++)
        for (unsigned s = slots ? slots : 1; s <= (slots ? slots : SLOTS_MOST); s++) {
            if (s * b > WEIR__LINE_BITS || weir__qht_fpr(s, b) > fpr * (1 + 1e-12)) break;
            unsigned held = slots_of_a_line(s, b);
            if (held >= most + (b != best.bits)) most = held, best = (weir__qht_shape){s, b};
        }
    return best;
}

/* --- creation ----------------------------------------------------------------------- */

static weir_status no_shape(const weir_filter *f, unsigned slots, unsigned bits, weir_error *err) {
    char rate[32];
    double fpr = weir__opt_rate(f, WEIR__OPT_FPR);
    weir__qht_shape other = weir__qht_plan(slots, 0, fpr);
    if (slots * bits > WEIR__LINE_BITS || !bits)
        return weir__opt_fail(f, OPT_SLOTS, err,
                              "slots=%u with bits for fpr=%s do not fit a line of 512 bits; ask "
                              "for fewer slots",
                              slots, weir_print_rate(rate, fpr));
    if (!other.bits) other = weir__qht_plan(0, 0, fpr);
    return weir__opt_fail(f, OPT_BITS, err,
                          "bits=%u allow a false positive rate of %.3g, more than fpr=%s; try "
                          "slots=%u,bits=%u",
                          bits, weir__qht_fpr(slots ? slots : 1, bits), weir_print_rate(rate, fpr),
                          other.slots, other.bits);
}

static weir_status create(weir_filter *filter, weir_error *err) {
    qht_filter *f = (qht_filter *)filter;
    unsigned slots = (unsigned)weir__opt_whole(filter, OPT_SLOTS);
    unsigned bits = (unsigned)weir__opt_whole(filter, OPT_BITS);
    if (slots && bits && slots * bits <= WEIR__LINE_BITS && weir__fpr_is_open(filter))
        weir__imply_fpr(filter, weir__qht_fpr(slots, bits));
    weir__qht_shape shape = weir__qht_plan(slots, bits, weir__opt_rate(filter, WEIR__OPT_FPR));
    if (!shape.bits || !shape.slots) return no_shape(filter, slots, bits, err);
    weir__opt_resolve(filter, OPT_SLOTS, shape.slots);
    weir__opt_resolve(filter, OPT_BITS, shape.bits);
    f->slots = shape.slots, f->bits = shape.bits;
    f->values = (UINT64_C(1) << f->bits) - 1;
    unsigned bucket = f->slots * f->bits; /* at least 1 and at most a line: what the plan gives */
    f->buckets = bucket ? WEIR__LINE_BITS / bucket : 0;
    f->lines = weir__opt_whole(filter, WEIR__OPT_MEMORY) / WEIR__LINE;
    return weir__filter_map(filter, f->lines * WEIR__LINE, err);
}

static void start(weir_filter *filter) {
    qht_filter *f = (qht_filter *)filter;
    f->state.rng =
        weir__mix64(weir__opt_whole(filter, WEIR__OPT_SEED) ^ UINT64_C(0x71756f7469656e74));
    f->state.held = f->state.evicted = 0;
}

static uint64_t total_slots(const qht_filter *f) { return f->lines * f->buckets * f->slots; }

/* --- one key --------------------------------------------------------------------------- */

/* A slot is read through a word that lies within its line. */
typedef struct {
    uint8_t *at;
    unsigned shift;
} slot;

static inline slot slot_at(const qht_filter *f, uint64_t *line, uint64_t number) {
    assert(number < (uint64_t)f->buckets * f->slots);
    unsigned bit = (unsigned)number * f->bits, byte = bit / 8;
    if (byte > WEIR__LINE - 8) byte = WEIR__LINE - 8;
    return (slot){(uint8_t *)line + byte, bit - 8 * byte};
}

static inline uint64_t slot_get(const qht_filter *f, slot s) {
    return weir__load_word(s.at) >> s.shift & f->values;
}

static inline void slot_put(const qht_filter *f, slot s, uint64_t fingerprint) {
    assert(fingerprint && fingerprint <= f->values); /* 0 is an empty slot */
    uint64_t word = weir__load_word(s.at) & ~(f->values << s.shift);
    weir__store_word(s.at, word | fingerprint << s.shift);
}

/* The first slot of the key's bucket, and its fingerprint. */
static inline uint64_t find_bucket(const qht_filter *f, uint64_t rest, uint64_t *fingerprint) {
    uint64_t left, bucket = weir__part(weir__mix64(rest), f->buckets, &left);
    *fingerprint = 1 + weir__scale(left, f->values);
    return bucket * f->slots;
}

/* Where in the bucket the fingerprint or, failing that, an empty slot is; -1 if
 * neither. Slots fill from the first on and none is ever emptied. */
static inline int find_slot(const qht_filter *f, uint64_t *line, uint64_t first,
                            uint64_t fingerprint, bool *found) {
    *found = false;
    for (unsigned i = 0; i < f->slots; i++) {
        uint64_t held = slot_get(f, slot_at(f, line, first + i));
        *found = held == fingerprint;
        if (*found || held == 0) return (int)i;
    }
    return -1;
}

static bool test_line(void *filter, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    const qht_filter *f = filter;
    uint64_t fingerprint, first = find_bucket(f, rest, &fingerprint);
    bool found;
    find_slot(f, line, first, fingerprint, &found);
    return found;
}

static bool offer_line(void *filter, uint64_t *line, uint64_t rest, cpu_kind cpu) {
    (void)cpu;
    qht_filter *f = filter;
    uint64_t fingerprint, first = find_bucket(f, rest, &fingerprint);
    bool found;
    int where = find_slot(f, line, first, fingerprint, &found);
    if (found) return true;
    f->state.held += where >= 0;
    f->state.evicted += where < 0;
    uint64_t number = where >= 0 ? (uint64_t)where : weir__rng_below(&f->state.rng, f->slots);
    slot_put(f, slot_at(f, line, first + number), fingerprint);
    return false;
}

/* --- the table ------------------------------------------------------------------------- */

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return weir__each_line(filter, ((qht_filter *)filter)->lines, batch, verdicts, true, offer_line,
                           CPU_ANY);
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return weir__each_line(filter, ((const qht_filter *)filter)->lines, batch, verdicts, false,
                           test_line, CPU_ANY);
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const qht_filter *f = (const qht_filter *)filter;
    info->fill = (double)f->state.held / (double)total_slots(f);
    info->fpr_now = weir__qht_fpr(info->fill * f->slots, f->bits);
    info->overfull = f->state.evicted > 0;
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const qht_filter *f = (const qht_filter *)filter;
    double total = (double)total_slots(f), rate = weir__qht_fpr(f->slots, f->bits);
    weir__detail(each, context, "slots", "keys it can hold", "%.0f", total);
    weir__detail(each, context, "bits_per_key", "memory for each of these", "%.2f",
                 (double)filter->cells_bytes * 8 / total);
    weir__detail(each, context, "held", "keys it holds now", "%llu",
                 (unsigned long long)f->state.held);
    weir__detail(each, context, "evicted", "keys driven out by others", "%llu",
                 (unsigned long long)f->state.evicted);
    weir__detail(each, context, "fpr_full", "false positive rate when all slots are in use", "%.3g",
                 rate);
    weir__detail(each, context, "gap_half_forgotten",
                 "new keys between two occurrences at which half of the repeats pass as new",
                 "%.0f", log(0.5) / log1p(-1 / total));
}

/* The slots of a bucket are filled from the first on, with distinct fingerprints;
 * and they are as many as were counted. */
static weir_status check_bucket(const qht_filter *f, uint64_t *line, uint64_t first,
                                uint64_t *held) {
    bool ended = false;
    for (unsigned i = 0; i < f->slots; i++) {
        uint64_t value = slot_get(f, slot_at(f, line, first + i));
        if (ended && value) return WEIR_ERR_CORRUPT;
        ended |= value == 0;
        *held += value != 0;
        for (unsigned j = 0; value && j < i; j++)
            if (slot_get(f, slot_at(f, line, first + j)) == value) return WEIR_ERR_CORRUPT;
    }
    return WEIR_OK;
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const qht_filter *f = (const qht_filter *)filter;
    uint64_t held = 0;
    for (uint64_t l = 0; l < f->lines; l++)
        for (unsigned b = 0; b < f->buckets; b++) {
            uint64_t *line = (uint64_t *)(void *)filter->cells + l * WEIR__LINE_WORDS;
            if (check_bucket(f, line, (uint64_t)b * f->slots, &held))
                return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                                  "qht: bucket %u of line %llu holds gaps or doubles", b,
                                  (unsigned long long)l);
        }
    if (held != f->state.held || f->state.held + f->state.evicted != filter->offered - filter->seen)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "qht: %llu slots in use, %llu counted",
                          (unsigned long long)held, (unsigned long long)f->state.held);
    return WEIR_OK;
}

/* One bucket and the keys of the stream that fall to it: each NEW one drives out a given
 * fingerprint with a chance of 1 in `slots`. */
typedef struct {
    double share; /* of the stream's keys, and so of its records */
    unsigned slots;
} crowd;

static double lifetime(const void *bucket, double news) {
    const crowd *c = bucket;
    return c->slots / (c->share * news);
}

/* Over the Poisson number of keys that fall to a bucket, by keys: those of a bucket with
 * room for all of its own are never driven out. Steps where there are many numbers. */
static double fnr_of_buckets(const qht_filter *f, double fpr, const weir_stream_model *model) {
    double mean = model->distinct / ((double)f->lines * f->buckets), spread = 6 * sqrt(mean) + 6;
    unsigned least = (unsigned)fmax(f->slots + 1.0, mean - spread),
             most = (unsigned)(mean + spread);
    unsigned step = most > least + 16 ? (most - least) / 16 : 1;
    double sum = 0;
    for (unsigned n = least; n <= most; n += step) {
        crowd c = {n / model->distinct, f->slots};
        double keys =
            weir__poisson_reaches(mean, n - 1) - weir__poisson_reaches(mean, n - 1 + step);
        if (keys > 1e-6)
            sum += keys * weir__aging_fnr(&c, lifetime, WEIR__ENDS_BY_CHANCE, fpr, model);
    }
    return sum;
}

static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const qht_filter *f = (const qht_filter *)filter;
    expectation->fpr = weir__qht_fpr(f->slots, f->bits);
    expectation->fnr = fnr_of_buckets(f, expectation->fpr, model);
}

static const weir_option options[] = {
    {"slots", WEIR_OPT_COUNT, 1, SLOTS_MOST, NULL, NULL,
     "fingerprints of a bucket; derived from fpr"},
    {"bits", WEIR_OPT_COUNT, 1, BITS_MOST, NULL, NULL, "of a fingerprint; derived from fpr"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__qht_class = {
    .kind = {.name = "qht",
             .summary = "quotient hash table: short fingerprints, replaced at random",
             .advice = "A rival to compare recent with: the fewest bits for each key under a "
                       "bound, but what falls out is left to chance. Take it where all repeats "
                       "are equally likely and speed is all; recent keeps what comes again.",
             .mergeable = false,
             .options = options},
    WEIR__FILTER_FUNCTIONS(qht_filter),
    .details = details,
    .no_merge = "the keys of both do not fit into one, and which are older is not known",
    .check = check,
    .expect = expect,
};
