/* bench_filters.c - how many keys a second each filter takes.
 *
 * Question   what does a key cost, and how near is that to what the memory of
 *            this machine allows?
 * Contestants
 *            every filter of the library, in each of its layouts, with keys
 *            offered one by one and in batches; libbloom, which knows no
 *            batches; and the machine itself: random cache lines, one word of
 *            each read, changed and written back, with the lines of a block
 *            asked for ahead. Its distance of asking ahead is the best of
 *            several, tried first.
 * Phases     filling: new keys only, from empty until the filter is full. All memory,
 *            the machine's too, was written to before: the zeroing of fresh pages by
 *            the system is not part of it.
 *            steady: 70% new keys and 30% repeats of any of the last half of
 *            what it can hold, after twice as many new keys as that.
 *            full: repeats only, for libbloom and those filters that have a capacity,
 *            which do not forget and have no steady state.
 * Fairness   keys come from a counter and a mixer inside the timed loops, for
 *            all alike, the machine's included; all arrays are advised to be on
 *            huge pages; contestants take turns in short slices, and a share of
 *            the machine's rate is the median of the shares in slices side by
 *            side (filling: of sums over slices in turns). Time is the thread's
 *            own, so that other work on the machine disturbs less.
 * Printed    keys a second, nanoseconds a key, the share of the machine's rate,
 *            bits of memory per key held, false positives achieved and bound,
 *            false negatives, and the spread of the slices.
 *
 * "Full" is memory / (log2(1/fpr) + 2) keys, or what the filter calls its capacity
 * before that. Keys held are estimated by testing a sample of all keys offered. A
 * slow filter is given up on after a while: what it had been offered until then
 * is said beside it.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#ifdef HAVE_LIBBLOOM
#include <bloom.h>
#endif

#include <weir.h>
#include <weir_text.h>

#include "bench.h"
#include "bench_measure.h"
#include "bench_snapshot.h"
#include "filter/filter.h"

#define BLOCK 256u     /* keys made at a time */
#define LOOK_EVERY 16u /* blocks between looks at the clock */
#define STEPS 32u      /* batched and single take turns so often in one filling */
#define ROUNDS 20u     /* slices of each contestant in the steady phase */
#define SAMPLE 65536u  /* keys tested to estimate what is held */
#define PATIENCE 15.0  /* times the time for a case: at most so long to fill, to age */
#define AGE 3u         /* times full: keys offered before the steady state */
#define OUTSIDE ((uint64_t)16 << 20) /* arrays from here on are outside a core's own cache */
#define SLICES_MAX 256u

static double repeat_share = 0.3;
static double seconds_per_case = 1;
static bool markdown;

/* The thread's own time. */
static double own_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- keys ---- */

typedef struct {
    uint64_t rng, salt, newest; /* ids below `newest` have been used */
    uint64_t repeat_below;      /* share of repeats, out of 2^16 */
    uint64_t span;              /* a repeat is one of the last so many ids */
} key_stream;

typedef struct {
    uint64_t key[BLOCK];
    uint64_t fresh[BLOCK / 64]; /* bits: the key is new */
    uint64_t verdicts[BLOCK / 64];
} key_block;

static key_stream key_stream_of(uint64_t seed) {
    return (key_stream){.rng = bench_mix(seed), .salt = bench_mix(~seed), .span = 1};
}

static void set_mix(key_stream *keys, double repeats, uint64_t span) {
    keys->repeat_below = (uint64_t)(repeats * 0x1p16);
    keys->span = span && span < keys->newest ? span : keys->newest ? keys->newest : 1;
}

static inline uint64_t key_of(const key_stream *keys, uint64_t id) {
    return bench_mix(bench_mix(id + keys->salt) + UINT64_C(0x9e3779b97f4a7c15));
}

/* Without branches, as a wrong guess would cost more than the rest. */
static void next_block(key_stream *keys, key_block *block) {
    for (unsigned w = 0; w < BLOCK / 64; w++) {
        uint64_t fresh = 0;
        for (unsigned i = 0; i < 64; i++) {
            uint64_t word = bench_next(&keys->rng);
            uint64_t is_new = (word & 0xffff) >= keys->repeat_below;
            uint64_t back = (1 + bench_scale(word, keys->span)) & (is_new - 1);
            block->key[64 * w + i] = key_of(keys, keys->newest - back);
            keys->newest += is_new;
            fresh |= is_new << i;
        }
        block->fresh[w] = fresh;
    }
}

/* ---- memory, as the library takes it ---- */

static void *map_lines(uint64_t bytes) {
    const uint64_t huge = (uint64_t)2 << 20;
    uint8_t *raw = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) bench_die("cannot map %" PRIu64 " bytes", bytes);
    uint8_t *aligned = raw + (huge - (uintptr_t)raw % huge) % huge;
    if (bytes >= huge) madvise(aligned, bytes, MADV_HUGEPAGE);
    memset(aligned, 1, bytes);
    return aligned; /* the process lives as long as the map */
}

/* ---- contestants ---- */

typedef struct contestant {
    char label[48];
    uint64_t bytes;
    double bound;
    weir_filter *filter;       /* or */
    struct bloom *bloom;       /* or */
    uint64_t *lines;           /* the machine itself */
    unsigned ahead;            /* lines asked for ahead */
    const double *importances; /* of a block's keys, for filters that look at them */
    bool single;               /* offer the keys one by one */
    bool forgets;              /* it has a steady state, or */
    uint64_t capacity;         /* keys that it is made for */
    unsigned lines_a_key;      /* that it may touch; 0: not judged */
} contestant;

static void offer_batch(const contestant *c, key_block *block) {
    weir_batch batch = {.count = BLOCK, .hashes = block->key, .importances = c->importances};
    weir_filter_offer_batch(c->filter, &batch, block->verdicts);
}

static void offer_single(const contestant *c, key_block *block) {
    memset(block->verdicts, 0, sizeof block->verdicts);
    for (unsigned i = 0; i < BLOCK; i++) {
        weir_batch batch = {.count = 1, .hashes = block->key + i};
        if (c->importances) batch.importances = c->importances + i;
        uint64_t verdict;
        weir_filter_offer_batch(c->filter, &batch, &verdict);
        block->verdicts[i / 64] |= verdict << (i % 64);
    }
}

static void touch_lines(const contestant *c, key_block *block) {
    uint64_t *at[BLOCK], count = c->bytes / 64;
    for (unsigned i = 0; i < BLOCK; i++) {
        at[i] = c->lines + 8 * bench_scale(block->key[i], count) + (block->key[i] & 7);
        if (i < c->ahead) __builtin_prefetch(at[i], 1, 3);
    }
    for (unsigned i = 0; i < BLOCK; i++) {
        if (i + c->ahead < BLOCK) __builtin_prefetch(at[i + c->ahead], 1, 3);
        *at[i] += block->key[i];
    }
}

#ifdef HAVE_LIBBLOOM
static void offer_libbloom(const contestant *c, key_block *block) {
    memset(block->verdicts, 0, sizeof block->verdicts);
    for (unsigned i = 0; i < BLOCK; i++) {
        uint64_t seen = bloom_add(c->bloom, block->key + i, sizeof block->key[i]) == 1;
        block->verdicts[i / 64] |= seen << (i % 64);
    }
}
#else
static void offer_libbloom(const contestant *c, key_block *block) { (void)c, (void)block; }
#endif

static void offer(const contestant *c, key_block *block) {
    if (c->lines) touch_lines(c, block);
    else if (c->bloom) offer_libbloom(c, block);
    else if (c->single) offer_single(c, block);
    else offer_batch(c, block);
}

static void clear(const contestant *c) {
    if (c->filter) {
        weir_filter_clear(c->filter);
        memset(c->filter->cells, 0, c->filter->cells_bytes);
    }
#ifdef HAVE_LIBBLOOM
    else
        bloom_reset(c->bloom);
#endif
}

/* Whether a filter that does not forget has come to its capacity. */
static bool is_full(const contestant *c, uint64_t offered) {
    (void)offered;
    if (c->forgets) return false;
#ifdef HAVE_LIBBLOOM
    if (c->bloom) return offered >= (uint64_t)c->bloom->entries;
#endif
    weir_filter_info info;
    weir_filter_get_info(c->filter, &info);
    return info.overfull;
}

static size_t test(const contestant *c, key_block *block) {
    size_t seen = 0;
    if (c->filter) {
        weir_batch batch = {.count = BLOCK, .hashes = block->key};
        return weir_filter_test_batch(c->filter, &batch, block->verdicts);
    }
#ifdef HAVE_LIBBLOOM
    for (unsigned i = 0; i < BLOCK; i++)
        seen += bloom_check(c->bloom, block->key + i, sizeof block->key[i]) == 1;
#endif
    return seen;
}

/* ---- one slice of work, and many ---- */

typedef struct {
    double rate[SLICES_MAX]; /* keys a second */
    unsigned slices;
    double seconds;
    uint64_t keys, fresh, false_seen, false_new;
} tally;

static void count_verdicts(tally *t, const key_block *block) {
    for (unsigned w = 0; w < BLOCK / 64; w++) {
        uint64_t fresh = block->fresh[w], seen = block->verdicts[w];
        t->fresh += (uint64_t)__builtin_popcountll(fresh);
        t->false_seen += (uint64_t)__builtin_popcountll(fresh & seen);
        t->false_new += (uint64_t)__builtin_popcountll(~fresh & ~seen);
    }
    t->keys += BLOCK;
}

/* Offer keys until `keys` of them or `seconds` have gone by, and add it up. */
static double run_slice(const contestant *c, key_stream *keys, uint64_t most, double seconds,
                        tally *t) {
    key_block block;
    double begin = own_time(), now = begin;
    for (uint64_t n = 0; n < most && now - begin < seconds;) {
        for (unsigned b = 0; b < LOOK_EVERY && n < most; b++, n += BLOCK) {
            next_block(keys, &block);
            offer(c, &block);
            count_verdicts(t, &block);
        }
        now = own_time();
    }
    t->seconds += now - begin;
    return now - begin;
}

static void add_rate(tally *t, double rate) {
    if (t->slices < SLICES_MAX) t->rate[t->slices++] = rate;
}

static void run_timed(const contestant *c, key_stream *keys, double seconds, tally *t) {
    uint64_t before = t->keys;
    double took = run_slice(c, keys, UINT64_MAX, seconds, t);
    add_rate(t, (double)(t->keys - before) / took);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, unsigned n) {
    double sorted[SLICES_MAX];
    if (!n) return 0;
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Greatest less smallest slice, as a share of the median. */
static double spread(const tally *t) {
    double low = INFINITY, high = 0;
    for (unsigned i = 0; i < t->slices; i++) {
        low = fmin(low, t->rate[i]);
        high = fmax(high, t->rate[i]);
    }
    return t->slices ? (high - low) / median(t->rate, t->slices) : 0;
}

/* Memory over the keys that it still knows. */
static double bits_per_key(const contestant *c, const key_stream *keys) {
    key_block block;
    uint64_t rng = keys->rng, seen = 0;
    for (unsigned n = 0; n < SAMPLE; n += BLOCK) {
        for (unsigned i = 0; i < BLOCK; i++)
            block.key[i] = key_of(keys, bench_scale(bench_next(&rng), keys->newest));
        seen += test(c, &block);
    }
    double known = ((double)seen / SAMPLE - c->bound) / (1 - c->bound);
    return (double)c->bytes * 8 / (known * (double)keys->newest);
}

/* ---- printing ---- */

static const char *const columns[] = {"filter",   "size",   "phase",      "keys",
                                      "M keys/s", "ns/key", "of machine", "bits/key",
                                      "fpr",      "bound",  "fnr",        "spread"};
static const int widths[] = {14, 6, 7, 8, 8, 7, 10, 8, 9, 8, 7, 6};
enum { COLUMNS = sizeof widths / sizeof *widths };

static void print_cells(const char *const *cells) {
    for (int i = 0; i < COLUMNS; i++) {
        bool left = i < 4;
        if (markdown) printf("%s%s", i ? " | " : "| ", cells[i]);
        else printf(left ? "%-*s%s" : "%*s%s", widths[i], cells[i], i + 1 < COLUMNS ? "  " : "");
    }
    puts(markdown ? " |" : "");
    fflush(stdout);
}

static void print_heading(void) {
    print_cells(columns);
    if (markdown) puts("|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|");
}

typedef struct {
    const contestant *c;
    const char *phase;
    const char *keys; /* "batched", "single" */
    const tally *t;
    double rate, share, bits; /* keys a second, of the machine's, per key held */
    bool reached;             /* the state that the phase is about */
} result;

static void print_result(const result *r) {
    char cell[COLUMNS][48];
    const char *cells[COLUMNS];
    const tally *t = r->t;
    memset(cell, 0, sizeof cell);
    for (int i = 0; i < COLUMNS; i++) cells[i] = cell[i];
    snprintf(cell[0], sizeof cell[0], "%s", r->c->label);
    weir_print_size(cell[1], r->c->bytes);
    snprintf(cell[2], sizeof cell[2], "%s", r->phase);
    snprintf(cell[3], sizeof cell[3], "%s", r->keys);
    snprintf(cell[4], sizeof cell[4], "%.1f", r->rate / 1e6);
    snprintf(cell[5], sizeof cell[5], "%.1f", 1e9 / r->rate);
    snprintf(cell[6], sizeof cell[6], r->share < 0.1 ? "%.1f%%" : "%.0f%%", 100 * r->share);
    snprintf(cell[11], sizeof cell[11], t->slices > 1 ? "%.0f%%" : "-", 100 * spread(t));
    if (!r->c->lines) {
        uint64_t repeats = t->keys - t->fresh;
        snprintf(cell[7], sizeof cell[7], "%.1f", r->bits);
        if (t->fresh)
            snprintf(cell[8], sizeof cell[8], "%.2g", (double)t->false_seen / (double)t->fresh);
        snprintf(cell[9], sizeof cell[9], "%.2g", r->c->bound);
        if (repeats)
            snprintf(cell[10], sizeof cell[10], "%.1f%%",
                     100.0 * (double)t->false_new / (double)repeats);
    }
    print_cells(cells);
}

/* What is judged, and the share of the machine's rate that it must and should reach:
 * forms that take one line a key as they are, others by the lines that a key takes. */
#define JUDGED_BYTES ((uint64_t)512 << 20)
static bool is_default(const contestant *c) {
    return !strcmp(c->label, "recent") && c->bytes == JUDGED_BYTES;
}

static double patience(const contestant *c) {
    return (is_default(c) ? 10 : 1) * PATIENCE * seconds_per_case;
}

/* Lines for below the table. */
static char notes[96][192];
static unsigned note_count;

__attribute__((format(printf, 1, 2))) static void add_note(const char *format, ...) {
    va_list list;
    if (note_count == sizeof notes / sizeof *notes) return;
    va_start(list, format);
    vsnprintf(notes[note_count++], sizeof *notes, format, list);
    va_end(list);
}

static void print_notes(void) {
    for (unsigned i = 0; i < note_count; i++)
        printf("%s%s\n", i && !markdown ? "" : "\n", notes[i]);
}

static void judge(const result *r) {
    const contestant *c = r->c;
    bool by_default = is_default(c), one_line = c->lines_a_key == 1;
    double must = by_default ? 0.5 : one_line ? 0.4 : 0.6, aim = by_default ? 0.7 : must;
    double share = r->share * c->lines_a_key;
    char lines[48] = "";
    if (!one_line) snprintf(lines, sizeof lines, " for %u lines a key", c->lines_a_key);
    add_note("%-4s  %s, batched, 512M, %s: %.0f%% of the machine's rate%s (must %.0f%%%s)",
             share >= aim    ? by_default ? "AIM" : "PASS"
             : share >= must ? "PASS"
                             : "MISS",
             c->label, r->phase, 100 * share, lines, 100 * must, by_default ? ", aim 70%" : "");
}

static void report(const result *r) {
    print_result(r);
    bool counts = r->reached || !is_default(r->c);
    if (r->c->bytes == JUDGED_BYTES && r->c->lines_a_key && counts && !r->c->single) judge(r);
}

/* ---- phases ---- */

typedef struct {
    contestant batched, single, machine;
    key_stream keys, machine_keys;
    uint64_t full; /* keys it can hold */
    tally machine_tally;
} bout;

static void run_machine(bout *b) {
    set_mix(&b->machine_keys, 0, 0);
    run_timed(&b->machine, &b->machine_keys, seconds_per_case / ROUNDS, &b->machine_tally);
}

static bool has_batches(const bout *b) { return b->batched.filter != NULL; }

static void add_filling(tally *sum, const tally *now) {
    if (!now->keys) return;
    add_rate(sum, (double)now->keys / now->seconds);
    sum->seconds += now->seconds;
    sum->keys += now->keys;
    sum->fresh += now->fresh;
    sum->false_seen += now->false_seen;
}

/* One filling: STEPS stretches, most of each batched, the rest one by one. The
 * machine has its turns in between where that does not cost a small filter its
 * place in the cache, else before. */
static void fill_once(bout *b, tally *batched, tally *single) {
    uint64_t stretch = b->full / STEPS, by_batch = has_batches(b) ? stretch / 8 * 7 : 0;
    tally batch_now = {0}, single_now = {0};
    bool small = b->single.bytes < OUTSIDE;
    if (small) run_machine(b);
    clear(&b->single);
    b->keys = key_stream_of(b->keys.rng);
    for (unsigned i = 0; i < STEPS && !is_full(&b->single, b->keys.newest); i++) {
        if (!small) run_machine(b);
        run_slice(&b->batched, &b->keys, by_batch, INFINITY, &batch_now);
        run_slice(&b->single, &b->keys, stretch - by_batch, INFINITY, &single_now);
        if (batch_now.seconds + single_now.seconds > patience(&b->single)) break;
    }
    add_filling(batched, &batch_now);
    add_filling(single, &single_now);
}

static double mean_rate(const tally *t) { return (double)t->keys / t->seconds; }

/* Whether it got where it should. A filter that was too slow: say how far it came. */
static bool reached(const bout *b, uint64_t wanted, const char *state) {
    if (b->keys.newest >= wanted || is_full(&b->single, b->keys.newest)) return true;
    char size[32];
    add_note("%s, %s: out of patience at %.0f%% of the keys that make it %s", b->single.label,
             weir_print_size(size, b->single.bytes),
             100.0 * (double)b->keys.newest / (double)wanted, state);
    return false;
}

/* The median of the shares in slices side by side. */
static double share_by_slices(const tally *t, const tally *machine) {
    double shares[SLICES_MAX];
    for (unsigned i = 0; i < t->slices; i++) shares[i] = t->rate[i] / machine->rate[i];
    return median(shares, t->slices);
}

enum { BATCHED, SINGLE };

/* `by_slices`: contestant and machine have as many slices, side by side. */
static void report_both(const bout *b, const char *phase, const tally *t, bool by_slices,
                        bool is_reached) {
    const tally *machine = &b->machine_tally;
    double bits = bits_per_key(&b->single, &b->keys);
    for (int i = has_batches(b) ? BATCHED : SINGLE; i <= SINGLE; i++) {
        result r = {.phase = phase, .t = t + i, .bits = bits, .reached = is_reached};
        r.c = i == SINGLE ? &b->single : &b->batched;
        r.keys = i == SINGLE ? "single" : "batched";
        r.rate = by_slices ? median(t[i].rate, t[i].slices) : mean_rate(t + i);
        r.share = by_slices ? share_by_slices(t + i, machine) : r.rate / mean_rate(machine);
        report(&r);
    }
}

static void bench_filling(bout *b) {
    tally t[2] = {{.slices = 0}, {.slices = 0}};
    b->machine_tally = (tally){0};
    while (t[BATCHED].seconds + t[SINGLE].seconds < seconds_per_case &&
           t[SINGLE].slices < SLICES_MAX)
        fill_once(b, &t[BATCHED], &t[SINGLE]);
    report_both(b, "filling", t, false, reached(b, b->full / STEPS * STEPS, "full"));
}

/* Offer what it takes to be in the steady state, in the mix that follows: a filter
 * may have to settle in. */
static void grow_old(bout *b) {
    tally ignored = {0};
    while (b->keys.newest < AGE * b->full && ignored.seconds < patience(&b->single))
        run_slice(&b->batched, &b->keys, b->full / STEPS, INFINITY, &ignored);
}

static void bench_full(bout *b) {
    tally t[2] = {{.slices = 0}, {.slices = 0}};
    bool forgets = b->single.forgets, is_reached = true;
    set_mix(&b->keys, forgets ? repeat_share : 1, b->full / 2);
    if (forgets) {
        grow_old(b);
        is_reached = reached(b, AGE * b->full, "steady");
    }
    b->machine_tally = (tally){0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_machine(b);
        if (has_batches(b))
            run_timed(&b->batched, &b->keys, seconds_per_case / ROUNDS, &t[BATCHED]);
        run_timed(&b->single, &b->keys, seconds_per_case / ROUNDS, &t[SINGLE]);
    }
    report_both(b, forgets ? "steady" : "full", t, true, is_reached);
}

static void run_bout(bout *b, const contestant *machine) {
    b->machine = *machine;
    b->keys = key_stream_of(7);
    b->machine_keys = key_stream_of(11);
    b->full = (uint64_t)((double)b->single.bytes * 8 / (log2(1 / b->single.bound) + 2));
    if (b->single.capacity && b->single.capacity < b->full) b->full = b->single.capacity;
    bench_filling(b);
    bench_full(b);
}

/* ---- who takes part ---- */

static const weir_option *option_of(const weir_kind *kind, const char *name) {
    for (const weir_option *o = kind->options; o && o->name; o++)
        if (!strcmp(o->name, name)) return o;
    return NULL;
}

/* Importances for the keys of a block, the same for each: any numbers will do. */
static const double *importances_for(const weir_kind *kind) {
    static double importances[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++) importances[i] = (double)(bench_mix(i) >> 11) * 0x1p-53;
    return kind->uses_importance ? importances : NULL;
}

/* What the filter made of a whole number among its options; 0 if it has none. */
static uint64_t resolved(const weir_filter *filter, const char *name) {
    char spec[512], option[32];
    weir_filter_spec(filter, spec, sizeof spec);
    snprintf(option, sizeof option, ",%s=", name);
    const char *at = strstr(spec, option);
    double number = 0;
    if (at) sscanf(at + strlen(option), "%lf", &number);
    return (uint64_t)number;
}

/* One line a key, or where cells lie anywhere one for each of k and one more. */
static unsigned lines_a_key(const weir_filter *filter, const char *label) {
    if (strstr(label, "block") || !strcmp(label, "recent")) return 1;
    unsigned k = (unsigned)resolved(filter, "k");
    return k ? k + 1 : 0;
}

static void bench_filter(const char *label, const char *spec, const weir_kind *kind,
                         const contestant *machine) {
    weir_filter *filter;
    weir_error err;
    if (weir_filter_new(&filter, spec, &err)) bench_die("%s: %s", spec, err.message);
    weir_filter_info info;
    weir_filter_get_info(filter, &info);
    bout b = {0};
    snprintf(b.batched.label, sizeof b.batched.label, "%s", label);
    b.batched.filter = filter;
    b.batched.bytes = machine->bytes;
    b.batched.bound = info.fpr_bound;
    b.batched.importances = importances_for(kind);
    b.batched.forgets = option_of(kind, "capacity") == NULL;
    b.batched.capacity = resolved(filter, "capacity");
    b.batched.lines_a_key = lines_a_key(filter, label);
    b.single = b.batched;
    b.single.single = true;
    run_bout(&b, machine);
    weir_filter_free(filter);
}

/* In each of its layouts; whoever has a capacity does not forget. */
static void bench_kind(const weir_kind *kind, const contestant *machine, const char *fpr) {
    const weir_option *layouts = option_of(kind, "layout");
    const char *choices = layouts ? layouts->choices : "";
    do {
        int length = (int)strcspn(choices, "|");
        char label[48], spec[160];
        snprintf(label, sizeof label, "%s%s%.*s", kind->name, length ? " " : "", length, choices);
        snprintf(spec, sizeof spec, "%s:memory=%" PRIu64 ",fpr=%s,seed=1%s%.*s", kind->name,
                 machine->bytes, fpr, length ? ",layout=" : "", length, choices);
        bench_filter(label, spec, kind, machine);
        choices += length + (choices[length] == '|');
    } while (*choices);
}

#ifdef HAVE_LIBBLOOM
/* Its sizes are ints, so that it ends below 256 MiB. Its array is given the same
 * advice about huge pages as the others'. */
static void bench_libbloom(const contestant *machine, double fpr) {
    double bits = (double)machine->bytes * 8, per_key = log2(1 / fpr) / log(2);
    struct bloom bloom;
    if (bits > 0x7ffff000) {
        add_note("libbloom: its sizes are ints, so that it ends below 256M");
        return;
    }
    if (bloom_init(&bloom, (int)(bits / per_key), fpr)) bench_die("libbloom refused its size");
    uintptr_t page = (uintptr_t)2 << 20, from = ((uintptr_t)bloom.bf + page - 1) & ~(page - 1);
    uintptr_t to = ((uintptr_t)bloom.bf + (uintptr_t)bloom.bytes) & ~(page - 1);
    if (to > from) madvise((void *)from, to - from, MADV_HUGEPAGE);
    bout b = {.single = {.label = "libbloom",
                         .bytes = machine->bytes,
                         .bound = fpr,
                         .bloom = &bloom,
                         .single = true}};
    run_bout(&b, machine);
    bloom_free(&bloom);
}
#endif

/* The machine at its best: the distance of asking ahead that is fastest here. */
static contestant tune_machine(uint64_t bytes) {
    contestant machine = {.label = "machine", .bytes = bytes, .lines = map_lines(bytes)};
    key_stream keys = key_stream_of(3);
    double best = 0;
    unsigned best_ahead = 0;
    for (unsigned ahead = 8; ahead <= BLOCK; ahead *= 2) {
        tally t = {0};
        machine.ahead = ahead;
        for (int i = 0; i < 3; i++) run_timed(&machine, &keys, seconds_per_case / 10, &t);
        double rate = median(t.rate, t.slices);
        if (rate > best) best = rate, best_ahead = ahead;
    }
    machine.ahead = best_ahead;
    return machine;
}

static void report_machine(const contestant *machine) {
    key_stream keys = key_stream_of(5);
    tally t = {0};
    char phase[24];
    snprintf(phase, sizeof phase, "%u ahead", machine->ahead);
    for (unsigned i = 0; i < ROUNDS; i++) run_timed(machine, &keys, seconds_per_case / ROUNDS, &t);
    double rate = median(t.rate, t.slices);
    print_result(
        &(result){.c = machine, .phase = "", .keys = phase, .t = &t, .rate = rate, .share = 1});
}

static void bench_size(uint64_t bytes, const char *only, const char *fpr) {
    contestant machine = tune_machine(bytes);
    report_machine(&machine);
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++)
        if (!only || !strcmp(only, kind->name)) bench_kind(kind, &machine, fpr);
#ifdef HAVE_LIBBLOOM
    double rate;
    if (weir_parse_rate(fpr, &rate, NULL)) bench_die("not a rate: %s", fpr);
    if (!only || !strcmp(only, "libbloom")) bench_libbloom(&machine, rate);
#endif
    munmap(machine.lines, bytes);
}

/* What memory costs that the system hands out for the first time: pages are zeroed, and on a
 * virtual machine the host may have to find them first. */
static void bench_touch(const char *text) {
    enum { PAGE = 4096, HUGE = 2 << 20 };
    weir_error err;
    uint64_t bytes;
    if (weir_parse_size(text, &bytes, &err)) bench_die("%s", err.message);
    bytes = (bytes + HUGE - 1) / HUGE * HUGE;
    for (int again = 0; again < 2; again++) {
        volatile uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) bench_die("cannot map %" PRIu64 " bytes", bytes);
        madvise((void *)memory, bytes, MADV_HUGEPAGE);
        double begin = bench_now(), worst = 0;
        for (uint64_t at = 0; at < bytes; at += HUGE) {
            double started = bench_now();
            for (uint64_t page = 0; page < HUGE; page += PAGE) memory[at + page] = 1;
            worst = fmax(worst, bench_now() - started);
        }
        double seconds = bench_now() - begin;
        printf("%s touched%s: %.3f s, %.2f ms for 2 MiB, the worst %.2f ms\n", text,
               again ? " again, in a new map" : "", seconds, 1e3 * seconds * HUGE / (double)bytes,
               1e3 * worst);
        munmap((void *)memory, bytes);
    }
}

/* ---- the command ---- */

static const char usage[] =
    "usage: weir-bench [OPTION...]            keys per second of the filters\n"
    "       weir-bench --snapshot [OPTION...] saving and loading a filter\n"
    "       weir-bench --measure FILE COMMAND...\n"
    "           run a command, append its time, processor time and peak memory to FILE\n"
    "       weir-bench --touch SIZE           what fresh memory costs, and used memory\n"
    "  --filter NAME   only this one (a name of a filter, or libbloom)\n"
    "  --size SIZE     only this size; may be repeated (1M, 64M, 512M; snapshot 1G)\n"
    "  --fpr RATE      bound on false positives (0.0001%)\n"
    "  --repeats SHARE share of repeats in the steady phase (0.3)\n"
    "  --seconds S     time for each case (1)\n"
    "  --rounds N      snapshots saved and loaded (3)\n"
    "  --dir FOLDER    where snapshots go, or LABEL=FOLDER; may be repeated (.)\n"
    "  --markdown      tables for a page\n";

typedef struct {
    const char *filter, *fpr, *dirs[8];
    uint64_t sizes[16];
    unsigned size_count, dir_count, rounds;
    bool snapshot;
} settings;

static void add_size(settings *s, const char *text) {
    weir_error err;
    uint64_t size;
    if (weir_parse_size(text, &size, &err)) bench_die("%s", err.message);
    if (size < 65536) bench_die("size %s is less than 64K", text);
    if (s->size_count < 16) s->sizes[s->size_count++] = size / 64 * 64;
}

static void bench_filters(settings *s) {
    if (!s->size_count) add_size(s, "1M"), add_size(s, "64M"), add_size(s, "512M");
    if (markdown) puts("");
    print_heading();
    for (unsigned i = 0; i < s->size_count; i++) bench_size(s->sizes[i], s->filter, s->fpr);
    print_notes();
}

static void bench_snapshots(settings *s) {
    if (!s->size_count) add_size(s, "1G");
    if (!s->dir_count) s->dirs[s->dir_count++] = ".";
    for (unsigned i = 0; i < s->size_count; i++)
        snapshot_bench(s->sizes[i], s->dirs, s->dir_count, s->rounds, markdown);
}

int main(int argc, char **argv) {
    enum { FILTER = 256, SIZE, FPR, REPEATS, SECONDS, ROUND, DIR, MARKDOWN, SNAPSHOT, HELP };
    static const struct option options[] = {{"filter", required_argument, 0, FILTER},
                                            {"size", required_argument, 0, SIZE},
                                            {"fpr", required_argument, 0, FPR},
                                            {"repeats", required_argument, 0, REPEATS},
                                            {"seconds", required_argument, 0, SECONDS},
                                            {"rounds", required_argument, 0, ROUND},
                                            {"dir", required_argument, 0, DIR},
                                            {"markdown", no_argument, 0, MARKDOWN},
                                            {"snapshot", no_argument, 0, SNAPSHOT},
                                            {"help", no_argument, 0, HELP},
                                            {0, 0, 0, 0}};
    if (argc > 3 && !strcmp(argv[1], "--measure")) return measure_command(argv[2], argv + 3);
    if (argc == 3 && !strcmp(argv[1], "--touch")) return bench_touch(argv[2]), 0;
    settings s = {.fpr = "0.0001%", .rounds = 3};
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (c) {
        case FILTER:
            s.filter = optarg;
            break;
        case SIZE:
            add_size(&s, optarg);
            break;
        case FPR:
            s.fpr = optarg;
            break;
        case REPEATS:
            repeat_share = strtod(optarg, NULL);
            break;
        case SECONDS:
            seconds_per_case = fmax(strtod(optarg, NULL), 0.01);
            break;
        case ROUND:
            s.rounds = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case DIR:
            if (s.dir_count < 8) s.dirs[s.dir_count++] = optarg;
            break;
        case MARKDOWN:
            markdown = true;
            break;
        case SNAPSHOT:
            s.snapshot = true;
            break;
        default:
            return fputs(usage, c == HELP ? stdout : stderr), c == HELP ? 0 : 2;
        }
    }
    if (s.snapshot) bench_snapshots(&s);
    else bench_filters(&s);
    return 0;
}
