/* test_window.c - windows against a twin that never forgets a date, and their formulas. */
#include "core/cpu.h"
#include "filter/occupancy.h"
#include "filter/window/window.h"
#include "theory.h"

enum { LAYOUT = WEIR__OPT_OWN, MODE, LENGTH, TICK, K_PLACE, EQUAL, RENEW };

static bool is_block(const weir_filter *f) { return weir__opt_whole(f, LAYOUT) == 1; }
static bool is_jumping(const weir_filter *f) { return weir__opt_whole(f, MODE) == 1; }
static unsigned k_of(const weir_filter *f) { return (unsigned)weir__opt_whole(f, K_PLACE); }
static unsigned width_of(const weir_filter *f) {
    return weir__window_width(is_jumping(f), is_block(f),
                              weir__opt_whole(f, LENGTH) / weir__opt_whole(f, TICK) + 1);
}

/* A detail by its name, as a number. */
typedef struct {
    const char *name;
    double value;
} wanted;
static void take_detail(void *context, const char *name, const char *value, const char *meaning) {
    wanted *w = context;
    (void)meaning;
    if (!strcmp(name, w->name)) w->value = atof(value);
}
static double detail(const weir_filter *f, const char *name) {
    wanted w = {name, -1};
    weir_filter_details(f, take_detail, &w);
    assert_true(w.value >= 0);
    return w.value;
}

static bool offer_at(weir_filter *f, uint64_t hash, int64_t time) {
    uint64_t verdict;
    return weir_filter_offer_batch(f, &(weir_batch){.count = 1, .hashes = &hash, .times = &time},
                                   &verdict) == 1;
}
static bool test_at(const weir_filter *f, uint64_t hash, int64_t time) {
    uint64_t verdict;
    return weir_filter_test_batch(f, &(weir_batch){.count = 1, .hashes = &hash, .times = &time},
                                  &verdict) == 1;
}

/* --- the twin: for each cell the numbers of its ticks, for each tick its date ---------- */

enum { TICKS = 4096 };

typedef struct {
    uint64_t cells, a_word, limit, early;
    unsigned k, equal, most;
    bool block, jumping, renew, is_time, started;
    int64_t length, tick, latest, tick_end;
    unsigned newest, oldest; /* ticks count from 1 */
    int64_t *began;
    unsigned *last;       /* sliding: the last tick of a cell, 0: none */
    unsigned char **sets; /* jumping: the cells of each tick */
} twin;

static uint64_t twin_mix(uint64_t x) {
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}
static uint64_t high(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }

static uint64_t twin_place(const twin *t, uint64_t hash, unsigned j) {
    uint64_t words = t->cells / t->a_word;
    if (!t->block) {
        uint64_t x = hash + j * (twin_mix(hash) | 1), c = UINT64_C(0xd6e8feb86659fd93);
        x ^= x >> 32;
        uint64_t probe = x * c ^ high(x, c);
        return high(probe, words) * t->a_word + high(probe * words, t->a_word);
    }
    uint64_t lines = words / 8, rest = hash * lines, first = twin_mix(rest) >> 61;
    uint64_t mix = twin_mix(rest + j / 5 * UINT64_C(0x9e3779b97f4a7c15)) >> (12 * (j % 5));
    return (high(hash, lines) * 8 + (first + j) % 8) * t->a_word + (mix & 0xfff) * t->a_word / 4096;
}

static twin twin_of(const weir_filter *f) {
    unsigned width = width_of(f), marks = is_jumping(f) ? width : (1u << width) - 1;
    twin t = {.k = k_of(f),
              .equal = (unsigned)weir__opt_whole(f, EQUAL),
              .block = is_block(f),
              .jumping = is_jumping(f),
              .renew = weir__opt_whole(f, RENEW) == 1};
    t.length = (int64_t)weir__opt_whole(f, LENGTH), t.tick = (int64_t)weir__opt_whole(f, TICK);
    t.a_word = 64 / width, t.cells = (uint64_t)detail(f, "cells");
    t.most = !t.jumping ? marks - marks / (width > 6 ? 8 : 3)
                        : marks - (t.block && marks >= 8 ? marks / 4 : 1);
    double rate =
        weir__opt_rate(f, WEIR__OPT_FPR) * (t.block ? 0.95 : 1) / (t.jumping ? t.most : 1);
    weir__shape shape = {(double)t.cells, t.block ? (unsigned)t.a_word : 0};
    double fill = t.block ? weir__shape_fill(shape, t.k, weir__shape_keys(shape, t.k, rate, 1e-6))
                          : pow(rate, 1.0 / t.k);
    t.limit = (uint64_t)((double)t.cells * fill);
    t.early = t.jumping ? t.limit : t.limit * 2 / t.most;
    if (width > 6 && t.early <= t.k) t.early = t.k + 1;
    t.began = calloc(TICKS, sizeof *t.began);
    t.last = calloc(t.cells, sizeof *t.last);
    t.sets = calloc(TICKS, sizeof *t.sets);
    t.oldest = 1;
    t.is_time = f->values[LENGTH].is_time;
    return t;
}

static void twin_free(twin *t) {
    for (unsigned i = 0; i < TICKS; i++) free(t->sets[i]);
    free(t->began), free(t->last), free(t->sets);
}

static bool twin_has(const twin *t, unsigned tick, uint64_t cell) {
    return t->jumping ? t->sets[tick] && t->sets[tick][cell] : t->last[cell] == tick;
}

static uint64_t twin_count(const twin *t, unsigned tick) {
    uint64_t n = 0;
    for (uint64_t c = 0; c < t->cells; c++) n += twin_has(t, tick, c);
    return n;
}

static void twin_begin(twin *t, int64_t began) {
    if (t->newest < t->oldest || twin_count(t, t->newest)) {
        t->newest++;
        if (t->newest + 1 - t->oldest > t->most) t->oldest++;
    }
    assert_true(t->newest < TICKS);
    t->began[t->newest] = began;
    if (!t->sets[t->newest]) t->sets[t->newest] = calloc(t->cells, 1);
}

static int64_t floor_to(const twin *t, int64_t at) {
    int64_t tick = t->tick;
    int64_t since = at % tick; /* ticks of time begin at whole ticks of the clock, before 0 too */
    return at - (since < 0 ? since + tick : since);
}

static bool twin_knows(const twin *t, uint64_t hash) {
    unsigned most = 0;
    uint64_t running = 0;
    for (unsigned tick = t->oldest; tick <= t->newest; tick++) {
        unsigned n = 0;
        for (unsigned j = 0; j < t->k; j++) n += twin_has(t, tick, twin_place(t, hash, j));
        running += n;
        if (n > most) most = n;
    }
    return t->jumping ? most == t->k : running == t->k && most >= t->equal;
}

static bool twin_offer(twin *t, uint64_t hash, int64_t at) {
    while (t->oldest <= t->newest && at > t->latest && at - t->began[t->oldest] > t->length)
        t->oldest++;
    if (!t->started || at >= t->tick_end) {
        twin_begin(t, floor_to(t, at));
        t->tick_end = floor_to(t, at) + t->tick;
    }
    if (!t->started || at > t->latest) t->latest = at;
    t->started = true;
    bool known = twin_knows(t, hash);
    if (known && !t->renew) return known;
    for (unsigned j = 0; j < t->k; j++) {
        uint64_t place = twin_place(t, hash, j);
        if (t->jumping) t->sets[t->newest][place] = 1;
        else t->last[place] = t->newest;
    }
    if (twin_count(t, t->newest) >= t->early) twin_begin(t, t->latest);
    for (;;) {
        uint64_t live = 0;
        for (unsigned tick = t->oldest; tick <= t->newest; tick++) live += twin_count(t, tick);
        if (t->jumping || live <= t->limit || t->oldest == t->newest) return known;
        t->oldest++;
    }
}

/* Keys come in bursts and after pauses of all lengths, some of them out of order. */
static void compare_with_twin(const char *spec, bool is_time, uint64_t keys) {
    weir_filter *f = make_filter(spec);
    twin t = twin_of(f);
    int64_t at = is_time ? -5000 : 0;
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t r = test_word(9, i), hash = skewed_key(3, i, 700);
        if (!is_time) at++;
        else if (r % 16 == 0) at += (int64_t)((r >> 8) % (uint64_t)t.tick);
        else if (r % 64 == 1) at += (int64_t)((r >> 8) % (uint64_t)(2 * t.length));
        else if (r % 512 == 2) at += t.length * (int64_t)((r >> 8) % 50);
        int64_t when = is_time && r % 32 == 3 ? at - (int64_t)((r >> 8) % 40) : at;
        bool expected = twin_offer(&t, hash, when);
        if (test_at(f, hash, when) != expected) fail_msg("%s: test of key %zu", spec, (size_t)i);
        if (offer_at(f, hash, when) != expected) fail_msg("%s: key %zu", spec, (size_t)i);
        if (i % 200 == 0) {
            weir_error err;
            assert_int_equal(weir__filter_check(f, &err), WEIR_OK);
        }
    }
    assert_true(t.newest > 80); /* marks have come round */
    printf("# %s: %u ticks, %llu of %llu called seen\n", spec, t.newest,
           (unsigned long long)f->seen, (unsigned long long)f->offered);
    twin_free(&t);
    weir_filter_free(f);
}

static void verdicts_are_those_of_the_twin(void **state) {
    (void)state;
    compare_with_twin("window:memory=1K,fpr=5%,seed=1,length=300,tick=40", false, 6000);
    compare_with_twin("window:memory=1K,fpr=5%,seed=1,length=300,tick=40,layout=classic", false,
                      6000);
    compare_with_twin("window:memory=1K,fpr=5%,seed=1,length=100ns", true, 6000);
    compare_with_twin("window:memory=1K,fpr=5%,seed=1,length=100ns,renew=yes", true, 6000);
    compare_with_twin("window:memory=2K,fpr=5%,seed=1,length=100ns,layout=classic,equal=2,k=4",
                      true, 6000);
    compare_with_twin("window:memory=1K,fpr=10%,seed=1,length=100ns,mode=jumping", true, 6000);
    compare_with_twin(
        "window:memory=1K,fpr=5%,seed=1,length=90,tick=30,mode=jumping,layout=classic", false,
        6000);
    compare_with_twin(
        "window:memory=1K,fpr=10%,seed=1,length=100ns,mode=jumping,renew=yes,layout=classic", true,
        6000);
    compare_with_twin("window:memory=20K,fpr=5%,seed=1,length=300,tick=1", false, 3000);
    compare_with_twin("window:memory=14K,fpr=5%,seed=1,length=300,tick=1", false, 3000);
    compare_with_twin("window:memory=6K,fpr=5%,seed=1,length=100,tick=1,renew=yes", false, 3000);
    compare_with_twin("window:memory=20K,fpr=5%,seed=1,length=1us,tick=3ns", true, 3000);
    compare_with_twin("window:memory=20K,fpr=5%,seed=1,length=1us,tick=3ns,equal=2,k=4", true,
                      3000);
    /* more marks than the state has room for, and ticks of so many keys that they end early */
    compare_with_twin("window:memory=6K,fpr=5%,seed=1,length=2us,tick=20ns", true, 3000);
    compare_with_twin("window:memory=6K,fpr=5%,seed=1,length=2us,tick=20ns,renew=yes", true, 3000);
}

/* --- to the record, with memory to spare ------------------------------------------------- */

/* The last time that a key was called new, in a table of all keys. */
static void window_is_exact(const char *spec, uint64_t keys) {
    weir_filter *f = make_filter(spec);
    const char *recent = strstr(spec, "window="), *lost = recent                    ? "forgotten"
                                                          : strstr(spec, "growing") ? "dropped"
                                                                                    : "cut";
    const uint64_t length = strtoull(recent ? recent + 7 : strstr(spec, "length=") + 7, NULL, 10),
                   domain = 2 * length;
    uint64_t *last = calloc(domain, sizeof *last), seen = 0;
    for (uint64_t i = 1; i <= keys; i++) {
        uint64_t key = test_word(4, i) % domain;
        bool known = last[key] && i - last[key] <= length;
        if (offer_at(f, test_word(5, key), 0) != known)
            fail_msg("%s: record %zu, whose key came %zu records ago", spec, (size_t)i,
                     (size_t)(last[key] ? i - last[key] : 0));
        if (!known) last[key] = i;
        seen += known;
    }
    assert_true(seen > keys / 10);
    assert_true(detail(f, lost) == 0);
    free(last);
    weir_filter_free(f);
}

/* The same for a window of time, alone and in other filters: 1,000 steps of the clock, some keys
 * at once. */
static void clock_is_exact(const char *spec, int64_t step) {
    enum { DOMAIN = 1500, STEPS = 1000 };
    weir_filter *f = make_filter(spec);
    int64_t last[DOMAIN] = {0}, at = 1;
    unsigned seen = 0;
    for (uint64_t i = 1; i <= 30000; i++) {
        uint64_t key = test_word(4, i) % DOMAIN;
        at += (int64_t)(test_word(6, i) % 3);
        bool known = last[key] && at - last[key] <= STEPS;
        if (offer_at(f, test_word(5, key), at * step) != known)
            fail_msg("%s: key %zu", spec, (size_t)i);
        if (!known) last[key] = at;
        seen += known;
    }
    assert_true(seen > 5000);
    weir_filter_free(f);
}

static void windows_are_exact_while_they_fit(void **state) {
    (void)state;
    window_is_exact("window:memory=1M,seed=1,length=100", 100000);
    window_is_exact("window:memory=1M,seed=1,length=500", 100000);
    window_is_exact("window:memory=1M,seed=2,length=1000", 100000);
    window_is_exact("window:memory=16M,seed=1,length=1000,renew=no", 100000);
    window_is_exact("window:memory=16M,seed=1,length=1000,k=2", 100000);
    window_is_exact("window:memory=64M,seed=1,length=65535,tick=1", 300000);
    window_is_exact("window:memory=64M,seed=1,length=65536", 300000);
    for (int seed = 1; seed <= 6; seed++) { /* filters that are all but too small for the window */
        char spec[100];
        snprintf(spec, sizeof spec, "growing:memory=256K,seed=%d,of=(window:length=1000,tick=1)",
                 seed);
        window_is_exact(spec, 40000);
    }
    window_is_exact("recent:memory=1M,seed=1,window=40", 100000);
    window_is_exact("recent:memory=1M,seed=1,window=100", 100000);
    window_is_exact("recent:memory=1M,seed=2,window=1000", 300000);
    window_is_exact("recent:memory=16M,seed=3,window=1000,fpr=0.00001%", 300000);
    window_is_exact("recent:memory=16M,seed=1,window=65536", 300000);
    weir_filter *f = make_filter("window:memory=64M,seed=1,length=65536,tick=1");
    weir_filter_free(f);
    clock_is_exact("window:memory=1M,seed=1,length=1us,tick=1ns", 1);
    clock_is_exact("growing:memory=4M,seed=1,of=(window:length=1us,tick=1ns)", 1);
    clock_is_exact("horizontal:memory=4M,seed=1,slices=4,of=(window:length=1us,tick=1ns)", 1);
    clock_is_exact("vertical:memory=4M,seed=1,slices=4,of=(window:length=1us,tick=1ns)", 1);
    /* whole seconds, which are whole ticks */
    const int64_t second = 1000000000;
    clock_is_exact("window:memory=1M,seed=1,length=1000s,tick=1s", second);
    clock_is_exact("growing:memory=4M,seed=1,of=(window:length=1000s,tick=1s)", second);
    clock_is_exact("horizontal:memory=4M,seed=1,slices=4,of=(window:length=1000s,tick=1s)", second);
    clock_is_exact("horizontal:memory=4M,seed=1,slices=4,of=(recent:window=1000s)", second);
}

/* --- no old cell is taken for a running one -------------------------------------------- */

/* A key is set, then others with pauses between; then it is asked for. All sequences of
 * pauses that lie at the edges of ticks, of the window and of the round of the marks. The
 * filter is large enough that false positives do not happen (and k such that they would
 * be seen to be none). */
static void every_sequence_of_pauses(const char *spec) {
    weir_filter *f = make_filter(spec);
    const int64_t tick = (int64_t)weir__opt_whole(f, TICK),
                  length = (int64_t)weir__opt_whole(f, LENGTH);
    unsigned width = width_of(f), marks = is_jumping(f) ? width : (1u << width) - 1;
    const int64_t pauses[] = {0,
                              1,
                              tick - 1,
                              tick,
                              length - 1,
                              length,
                              length + 1,
                              tick * (int64_t)marks,
                              tick * (int64_t)marks - 1};
    enum { CHOICES = sizeof pauses / sizeof *pauses, STEPS = 5, ALL = 9 * 9 * 9 * 9 * 9 };
    unsigned seen = 0;
    for (unsigned s = 0; s < ALL; s++) {
        int64_t first = (int64_t)(s % 11), at = first;
        weir_filter_clear(f);
        assert_false(offer_at(f, test_word(1, 0), at));
        for (unsigned step = 0, rest = s; step < STEPS; step++, rest /= CHOICES) {
            at += pauses[rest % CHOICES];
            bool known = test_at(f, test_word(1, 0), at);
            seen += known;
            if (known && at - first > length) fail_msg("%s: sequence %u: known too long", spec, s);
            if (!known && at - first <= length - tick)
                fail_msg("%s: sequence %u: forgotten", spec, s);
            offer_at(f, test_word(2 + step, s), at);
        }
    }
    assert_true(seen > ALL / 10);
    weir_filter_free(f);
}

static void old_cells_never_run_again(void **state) {
    (void)state;
    every_sequence_of_pauses("window:memory=4K,fpr=0.01%,seed=1,length=60ns,tick=12ns");
    every_sequence_of_pauses(
        "window:memory=4K,fpr=0.01%,seed=1,length=55ns,tick=12ns,layout=classic");
    every_sequence_of_pauses(
        "window:memory=4K,fpr=1%,k=8,seed=1,length=24ns,tick=12ns,mode=jumping,layout=classic");
    every_sequence_of_pauses("window:memory=8K,fpr=1%,seed=1,length=100ns,tick=1ns");
}

/* The same by brute force over long random histories, against the dates of the keys. */
static void long_histories_keep_the_dates(void **state) {
    (void)state;
    static const char *const specs[] = {
        "window:memory=64K,fpr=0.0001%,seed=1,length=1000ns,tick=200ns,layout=classic",
        "window:memory=64K,fpr=0.0001%,seed=1,length=1000ns,layout=classic,mode=jumping",
        "window:memory=256K,fpr=0.0001%,seed=1,length=1000ns",
        "window:memory=64K,fpr=0.0001%,seed=1,length=1000ns,tick=200ns,layout=classic,renew=yes"};
    enum { KEYS = 300, OFFERS = 60000 };
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        weir_filter *f = make_filter(specs[s]);
        int64_t at = 0, last[KEYS], tick = (int64_t)weir__opt_whole(f, TICK);
        for (int i = 0; i < KEYS; i++) last[i] = -1000000;
        for (uint64_t i = 0; i < OFFERS; i++) {
            uint64_t r = test_word(4, i);
            at += (int64_t)(r % 4096 == 0 ? (r >> 20) % 100000 : r % 9);
            unsigned key = (unsigned)((r >> 40) % KEYS);
            bool known = offer_at(f, test_word(5, key), at);
            int64_t age = at - last[key];
            if (known ? age > 1000 : age <= 1000 - tick)
                fail_msg("%s: offer %zu: %s at age %lld", specs[s], (size_t)i,
                         known ? "known" : "forgotten", (long long)age);
            if (!known || weir__opt_whole(f, RENEW)) last[key] = at;
        }
        assert_true(detail(f, "cut") == 0);
        weir_filter_free(f);
    }
}

static void time_at_the_ends_of_its_range(void **state) {
    (void)state;
    weir_filter *f = make_filter("window:memory=4K,fpr=0.01%,seed=1,length=100ns");
    assert_false(offer_at(f, 1, INT64_MIN));
    assert_true(offer_at(f, 1, INT64_MIN + 50));
    assert_false(offer_at(f, 1, INT64_MIN + 101));
    assert_false(offer_at(f, 1, INT64_MAX - 1));
    assert_true(offer_at(f, 1, INT64_MAX));
    assert_true(offer_at(f, 1, INT64_MIN)); /* backwards: judged as of the latest */
    weir_filter_free(f);
    f = make_filter("window:memory=4K,fpr=0.01%,seed=1,length=100d");
    uint64_t hash = 7;
    assert_false(offer_hash(f, hash)); /* the time of day */
    assert_true(offer_hash(f, hash));
    weir_filter_free(f);
}

/* --- rates --------------------------------------------------------------------------------- */

/* Full to the brim, and under ten times the keys that fit: fpr_now is the rate that new
 * keys find, and it is within the bound. */
static void rate_is_as_said(const char *spec, double fpr) {
    weir_filter_info info;
    char text[256];
    spread measured = {0};
    double said = 0, seen = 0, n = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        snprintf(text, sizeof text, "%s,fpr=%g,seed=%llu", spec, fpr, (unsigned long long)seed);
        weir_filter *f = make_filter(text);
        offer_keys(f, seed, 0, (uint64_t)(10 * detail(f, "capacity")));
        weir_filter_get_info(f, &info);
        assert_true(info.overfull && info.fpr_now <= fpr * 1.0001);
        double hits = test_keys(f, seed + 1000, 0, 20000);
        spread_add(&measured, hits / 20000 - info.fpr_now);
        said += info.fpr_now / 40, seen += hits, n += 20000;
        weir_filter_free(f);
    }
    printf("# %s: said %.4g, bound %.4g\n", spec, said, fpr);
    expect_mean(spec, &measured, 0);
    expect_at_most(spec, seen, n, fpr);
    assert_true(said > 0.2 * fpr); /* what is allowed is made use of */
}

static void rates_stay_under_the_bound(void **state) {
    (void)state;
    rate_is_as_said("window:memory=64K,length=10M,layout=classic", 0.01);
    rate_is_as_said("window:memory=64K,length=10M,tick=250K,layout=classic", 0.1);
    rate_is_as_said("window:memory=64K,length=10M,layout=block", 0.01);
    rate_is_as_said("window:memory=64K,length=10M,layout=block", 0.1);
    rate_is_as_said("window:memory=64K,length=1h,layout=block", 0.02);
    rate_is_as_said("window:memory=64K,length=10M,mode=jumping,layout=classic", 0.01);
    rate_is_as_said("window:memory=64K,length=10M,mode=jumping,layout=block", 0.01);
    rate_is_as_said("window:memory=64K,length=10M,renew=yes,layout=block", 0.05);
}

/* As many keys as the window is said to hold are held: nothing is cut. With twice as
 * many it is, and what is left is more than half of what fits. */
static void capacity_is_as_said(void **state) {
    (void)state;
    static const char *const specs[] = {
        "window:memory=256K,fpr=1%,seed=1", "window:memory=256K,fpr=1%,seed=1,layout=classic",
        "window:memory=256K,fpr=1%,seed=1,mode=jumping",
        "window:memory=256K,fpr=1%,seed=1,mode=jumping,layout=classic"};
    for (size_t s = 0; s < 4; s++) {
        weir_filter *f = make_filter(specs[s]);
        double length = (double)weir__opt_whole(f, LENGTH), tick = (double)weir__opt_whole(f, TICK);
        offer_keys(f, 1, 0, (uint64_t)(5 * length));
        printf("# %s: length %.0f, tick %.0f, reach %.0f\n", specs[s], length, tick,
               detail(f, "reach"));
        assert_true(detail(f, "cut") == 0 && detail(f, "reach") > length - tick);
        weir_filter_free(f);
        char spec[128];
        snprintf(spec, sizeof spec, "%s,length=%.0f", specs[s], 2 * length);
        f = make_filter(spec);
        offer_keys(f, 1, 0, (uint64_t)(5 * length));
        assert_true(detail(f, "cut") > 0 && detail(f, "reach") > length / 2);
        weir_filter_free(f);
    }
}

/* The equal-timers heuristic: false positives, and repeats it does not recognise. */
static void equal_timers_follow_their_formula(void **state) {
    (void)state;
    for (unsigned equal = 3; equal <= 6; equal++) {
        spread fp = {0}, known = {0};
        double formula = 0, said = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            char spec[200];
            weir_filter_info info;
            snprintf(spec, sizeof spec,
                     "window:memory=12K,fpr=30%%,layout=classic,k=6,length=2400,tick=480,equal=%u,"
                     "seed=%llu",
                     equal, (unsigned long long)seed);
            weir_filter *f = make_filter(spec);
            /* the first tick: keys that are asked for later; then four ticks of new ones,
             * counted as they come since the heuristic calls some repeats new */
            double keys[4], shares[5];
            offer_keys(f, seed, 0, 479);
            for (int i = 0; i < 4; i++)
                keys[i] = 480 - offer_keys(f, seed, 479 + 480 * (uint64_t)i, 480);
            weir__window_overwritten(detail(f, "cells"), 6, keys, 4, shares);
            weir_filter_get_info(f, &info);
            assert_true(!info.overfull);
            double hits = test_keys(f, seed + 1000, 0, 20000) / 20000;
            spread_add(&fp, hits - info.fpr_now), said += info.fpr_now / 40;
            /* keys of the first tick overwrite none of each other's ticks */
            spread_add(&known, test_keys(f, seed, 0, 479) / 479),
                formula += weir__window_equal(shares, 5, 6, equal) / 40;
            weir_filter_free(f);
        }
        printf("# equal=%u: false positives %.5f, still known %.4f (formula %.4f)\n", equal, said,
               spread_mean(&known), formula);
        expect_mean("equal timers: false positives, measured less formula", &fp, 0);
        expect_mean("equal timers: still known", &known, formula);
    }
}

/* By listing all outcomes of 4 cells and 3 ticks. */
static void the_formula_for_equal_timers_counts_right(void **state) {
    (void)state;
    const double shares[4] = {0.1, 0.25, 0.3, 0.35}; /* the last: not running */
    for (unsigned equal = 1; equal <= 4; equal++) {
        double sum = 0;
        for (unsigned o = 0; o < 256; o++) {
            unsigned times[4] = {0}, most = 0;
            double chance = 1;
            for (unsigned j = 0, rest = o; j < 4; j++, rest /= 4)
                times[rest % 4]++, chance *= shares[rest % 4];
            for (unsigned i = 0; i < 3; i++) most = times[i] > most ? times[i] : most;
            if (!times[3] && most >= equal) sum += chance;
        }
        assert_true(fabs(weir__window_equal(shares, 3, 4, equal) - sum) < 1e-12);
    }
}

/* --- as all filters ----------------------------------------------------------------------------
 */

static const char *const forms[] = {
    "window:memory=16K,fpr=1%,seed=1,length=3000",
    "window:memory=16K,fpr=1%,seed=1,length=3000,layout=classic",
    "window:memory=16K,fpr=1%,seed=1,length=3000,mode=jumping",
    "window:memory=16K,fpr=1%,seed=1,length=3000,mode=jumping,layout=classic,renew=yes",
    "window:memory=16K,fpr=1%,seed=1,length=3000,layout=classic,equal=3,renew=yes",
    "window:memory=16K,fpr=1%,seed=1,length=300K",
    "window:memory=64K,fpr=1%,seed=1,length=1000,tick=1",
    "window:memory=64K,fpr=1%,seed=1,length=1000,tick=3,renew=yes,equal=2",
    "window:memory=16K,fpr=1%,seed=1,length=10",
    "window:memory=16K,fpr=1%,seed=1,length=1"};

static void forms_behave(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        expect_batch_independence(forms[i]);
        expect_test_agrees(forms[i]);
        expect_survives(forms[i]);
        expect_details(forms[i], 8);
    }
}

/* Batches of all sizes on each kind of processor, against keys one by one: the verdicts, the
 * cells and the counts. */
static void batches_leave_what_keys_leave(const char *spec, cpu_kind cpu) {
    enum { KEYS = 30000, MOST = 300 };
    weir_filter *f = make_filter(spec), *single = make_filter(spec);
    uint64_t hashes[MOST], verdicts[MOST / 64 + 1];
    int64_t times[MOST], at = 0;
    for (uint64_t i = 0, n; i < KEYS; i += n) {
        n = 1 + test_word(7, i) % MOST;
        for (uint64_t j = 0; j < n; j++) {
            uint64_t r = test_word(8, i + j);
            at += (int64_t)(r % 512 == 0 ? (r >> 9) % 4000 : r % 4);
            times[j] = at, hashes[j] = skewed_key(3, i + j, 3000);
        }
        weir__cpu_most = cpu;
        weir_filter_offer_batch(f, &(weir_batch){.count = n, .hashes = hashes, .times = times},
                                verdicts);
        for (uint64_t j = 0; j < n; j++)
            if (offer_at(single, hashes[j], times[j]) != (verdicts[j / 64] >> j % 64 & 1))
                fail_msg("%s: key %zu on processor %d", spec, (size_t)(i + j), cpu);
        assert_memory_equal(weir__filter_state(f), weir__filter_state(single),
                            f->class->state_words * sizeof(uint64_t));
    }
    weir__cpu_most = CPU_AVX512;
    assert_memory_equal(f->cells, single->cells,
                        (size_t)detail(f, "cells") / (64 / width_of(f)) * 8);
    assert_int_equal(weir__filter_check(f, &(weir_error){0}), WEIR_OK);
    weir_filter_free(f);
    weir_filter_free(single);
}

static void batches_leave_what_keys_leave_everywhere(void **state) {
    (void)state;
    static const char *const ticks[] = {"tick=700", "tick=300", "tick=100", "tick=50"};
    static const char *const more[] = {"k=1",  "k=8", "k=13,renew=yes", "k=9,equal=3", "k=20",
                                       "k=24", "k=32"};
    char spec[160];
    for (cpu_kind cpu = CPU_ANY; cpu <= weir__cpu(); cpu++) {
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < sizeof more / sizeof *more; j++) {
                snprintf(spec, sizeof spec, "window:memory=48K,fpr=2%%,seed=1,length=2K,%s,%s",
                         ticks[i], more[j]);
                batches_leave_what_keys_leave(spec, cpu);
            }
        batches_leave_what_keys_leave("window:memory=16K,fpr=1%,seed=1,length=2us", cpu);
        batches_leave_what_keys_leave("window:memory=4K,fpr=1%,seed=1,length=2us", cpu);
        batches_leave_what_keys_leave("window:memory=16K,fpr=1%,seed=1,length=2us,mode=jumping",
                                      cpu);
    }
}

static void impossible_numbers_are_refused(void **state) {
    (void)state;
    expect_refused("window:length=10s,tick=20s", "window shorter than its tick", "tick=");
    expect_refused("window:length=10s,tick=5", "both durations or both counts", "tick=");
    expect_refused("window:length=10s,tick=1us", "cut too fine; at most 65536", "tick=");
    expect_refused("window:length=10s,tick=1ms,layout=block", "at most 42 are told apart in layout",
                   "tick=");
    expect_refused("window:length=10s,tick=1ms,memory=64K", "no room for the words of 10001 ticks",
                   "memory=");
    expect_refused("window:mode=jumping,length=100,tick=1", "cut too fine; at most 12", "tick=");
    expect_refused("window:length=0", "out of range", "length=");
    expect_refused("window:length=10s,k=0", "out of range", "k=");
    expect_refused("window:length=10s,k=33", "out of range", "k=");
    expect_refused("window:length=10s,k=4,equal=5", "equal=5 is more than k=4", "equal=");
    expect_refused("window:length=10s,mode=jumping,equal=2", "generations have no timers",
                   "equal=");
    expect_refused("window:memory=1K,length=10s,k=1", "too small for a window", "memory=");
    expect_refused("window:length=10s,layout=line", "unknown layout", "layout=");
}

static void damage_is_found(void **state) {
    (void)state;
    weir_error err;
    weir_filter *f = make_filter("window:memory=4K,fpr=1%,seed=1,length=500");
    offer_keys(f, 1, 0, 2000);
    assert_int_equal(weir__filter_check(f, &err), WEIR_OK);
    uint64_t *words = weir__filter_state(f);
    for (size_t i = 0; i < f->class->state_words; i++) {
        uint64_t before = words[i];
        words[i] = ~before; /* found, or harmless: later calls must not go wrong */
        if (weir__filter_check(f, &err) == WEIR_OK)
            offer_keys(f, 2, 0, 500), weir_filter_clear(f), offer_keys(f, 1, 0, 2000);
        else words[i] = before;
    }
    assert_int_equal(weir__filter_check(f, &err), WEIR_OK);
    f->cells[5] ^= 0x10;
    assert_int_equal(weir__filter_check(f, &err), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_the_twin),
        cmocka_unit_test(windows_are_exact_while_they_fit),
        cmocka_unit_test(old_cells_never_run_again),
        cmocka_unit_test(long_histories_keep_the_dates),
        cmocka_unit_test(time_at_the_ends_of_its_range),
        cmocka_unit_test(rates_stay_under_the_bound),
        cmocka_unit_test(capacity_is_as_said),
        cmocka_unit_test(equal_timers_follow_their_formula),
        cmocka_unit_test(the_formula_for_equal_timers_counts_right),
        cmocka_unit_test(forms_behave),
        cmocka_unit_test(batches_leave_what_keys_leave_everywhere),
        cmocka_unit_test(impossible_numbers_are_refused),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
