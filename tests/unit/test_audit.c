/* test_audit.c - the audit against exact truth, and its intervals against chance. */
#include "filter/audit.h"

#include <math.h>

#include "testing.h"

/* The rule by which audit.c chooses its sample, written again. */
static uint64_t sample_word(uint64_t hash) {
    uint64_t x = hash ^ UINT64_C(0xa0761d6478bd642f);
    x ^= x >> 30, x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27, x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static weir_audit *make_audit(uint64_t memory, uint64_t one_in, int64_t window, bool is_time,
                              bool renew) {
    weir_audit *audit;
    weir_error err = {0};
    if (weir_audit_new(&audit, memory, one_in, window, is_time, renew, &err))
        fail_msg("%s", err.message);
    return audit;
}

/* --- truth: an array over all keys --------------------------------------------------- */

typedef struct {
    int64_t last;
    bool known;
    uint64_t firsts, repeats, false_seen, false_new;
} fact;

typedef struct {
    fact *facts;
    uint64_t universe, records;
    int64_t window;
    bool renew;
} truth;

static void truth_observe(truth *t, uint64_t key, int64_t now, bool seen) {
    fact *f = &t->facts[key];
    bool first = !f->known || (t->window && now - f->last > t->window);
    if (first) {
        f->firsts++, f->false_seen += seen;
    } else {
        f->repeats++, f->false_new += !seen;
    }
    if (first || t->renew || !seen) f->last = !f->known || now > f->last ? now : f->last;
    f->known = true;
}

static uint64_t hash_of(uint64_t key) { return test_word(40, key); }

static void compare(const weir_audit *audit, const truth *t) {
    weir_audit_report r;
    fact sum = {0};
    uint64_t keys = 0;
    weir_audit_get_report(audit, &r);
    for (uint64_t key = 0; key < t->universe; key++) {
        const fact *f = &t->facts[key];
        if (!f->known || (sample_word(hash_of(key)) & (r.one_in - 1))) continue;
        keys++;
        sum.firsts += f->firsts, sum.repeats += f->repeats;
        sum.false_seen += f->false_seen, sum.false_new += f->false_new;
    }
    assert_int_equal(r.keys, keys);
    assert_int_equal(r.firsts, sum.firsts);
    assert_int_equal(r.repeats, sum.repeats);
    assert_int_equal(r.false_seen, sum.false_seen);
    assert_int_equal(r.false_new, sum.false_new);
    if (r.one_in == 1 && sum.repeats) {
        assert_true(fabs(r.fpr - (double)sum.false_seen / (double)sum.firsts) < 1e-12);
        assert_true(fabs(r.fnr - (double)sum.false_new / (double)sum.repeats) < 1e-12);
        assert_true(fabs(r.fpr_high - r.fpr_low) < 1e-9 && fabs(r.fnr_high - r.fnr_low) < 1e-9);
    }
    assert_true(r.fpr_low <= r.fpr && r.fpr <= r.fpr_high);
    assert_true(r.fnr_low <= r.fnr && r.fnr <= r.fnr_high);
}

/* A stream with arbitrary verdicts, in batches of odd sizes. */
typedef struct {
    uint64_t memory, one_in, universe, records;
    int64_t window;
    bool is_time, renew;
} setting;

static void run_twin(setting s) {
    weir_audit *audit = make_audit(s.memory, s.one_in, s.window, s.is_time, s.renew);
    truth t = {calloc(s.universe, sizeof(fact)), s.universe, 0, s.window, s.renew};
    uint64_t hashes[300], verdicts[5];
    int64_t times[300], clock = 1000;
    for (uint64_t done = 0, turn = 0; done < s.records; turn++) {
        size_t n = 1 + test_word(1, turn) % 299;
        memset(verdicts, 0xff, sizeof verdicts); /* bits past the end must not matter */
        for (size_t i = 0; i < n; i++) {
            double u = (double)(test_word(2, done + i) >> 11) * 0x1p-53;
            uint64_t key = (uint64_t)((double)s.universe * u * u);
            bool seen = test_word(3, done + i) % 3 != 0;
            clock += (int64_t)(test_word(4, done + i) % 5) - 1; /* at times backwards */
            hashes[i] = hash_of(key);
            times[i] = clock;
            if (!seen) verdicts[i / 64] &= ~(UINT64_C(1) << (i % 64));
            truth_observe(&t, key, s.is_time ? clock : (int64_t)(done + i + 1), seen);
        }
        weir_batch batch = {.count = n, .hashes = hashes, .times = s.is_time ? times : NULL};
        weir_audit_observe(audit, &batch, verdicts);
        done += n;
        if (turn % 40 == 0) compare(audit, &t);
    }
    compare(audit, &t);
    weir_audit_report r;
    weir_audit_get_report(audit, &r);
    printf("# memory %llu, window %lld: one in %llu -> %llu, %llu keys, fpr %.3f, fnr %.3f\n",
           (unsigned long long)s.memory, (long long)s.window, (unsigned long long)s.one_in,
           (unsigned long long)r.one_in, (unsigned long long)r.keys, r.fpr, r.fnr);
    free(t.facts);
    weir_audit_free(audit);
}

static void test_truth(void **state) {
    (void)state;
    run_twin((setting){1 << 20, 1, 5000, 30000, 0, false, false});
    run_twin((setting){1 << 20, 16, 5000, 30000, 0, false, false});
}

static void test_truth_when_full(void **state) {
    (void)state;
    run_twin((setting){4096, 1, 50000, 60000, 0, false, false});
    run_twin((setting){4096, 4, 50000, 60000, 700, false, true});
    run_twin((setting){30000, 1, 20000, 60000, 0, false, false});
}

static void test_truth_in_windows(void **state) {
    (void)state;
    run_twin((setting){1 << 20, 1, 3000, 30000, 1000, false, false});
    run_twin((setting){1 << 20, 1, 3000, 30000, 1000, false, true});
    run_twin((setting){1 << 20, 1, 3000, 30000, 1000, true, false});
    run_twin((setting){1 << 20, 8, 3000, 30000, 1000, true, true});
}

/* Without times a window of time goes by the clock: nothing is older than an hour. */
static void test_clock(void **state) {
    (void)state;
    weir_audit *audit = make_audit(1 << 16, 1, INT64_C(3600000000000), true, false);
    uint64_t hashes[] = {1, 2, 1, 1}, verdicts[] = {0xc};
    weir_audit_report r;
    weir_audit_observe(audit, &(weir_batch){.count = 4, .hashes = hashes}, verdicts);
    weir_audit_get_report(audit, &r);
    assert_int_equal(r.firsts, 2);
    assert_int_equal(r.repeats, 2);
    assert_int_equal(r.false_new + r.false_seen, 0);
    weir_audit_free(audit);

    audit = make_audit(1 << 16, 1, 1000000, true, false); /* a millisecond */
    for (int i = 0; i < 2; i++) {
        weir_audit_observe(audit, &(weir_batch){.count = 1, .hashes = hashes}, verdicts);
        usleep(5000);
    }
    weir_audit_get_report(audit, &r);
    assert_int_equal(r.firsts, 2);
    weir_audit_free(audit);
}

/* The sample is halved, step by step, and only when it must be. */
static void test_levels(void **state) {
    (void)state;
    weir_audit *audit = make_audit(4096, 1, 0, false, false);
    weir_audit_report report;
    uint64_t one_in = 1;
    for (uint64_t key = 0; key < 20000; key++) {
        uint64_t hash = hash_of(key), verdict = 0;
        size_t size = weir__audit_saved_size(audit);
        weir_audit_observe(audit, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
        if (weir__audit_saved_size(audit) >= size && key < 19999) continue;
        weir_audit_get_report(audit, &report);
        if (report.one_in == one_in) continue;
        assert_int_equal(report.one_in, 2 * one_in);
        assert_true(size >= 8 * (8 + 6 * 50));
        one_in = report.one_in;
    }
    assert_true(one_in >= 256);
    weir_audit_free(audit);
}

/* --- intervals ---------------------------------------------------------------------- */

/* A stream of keys by rank: uniform for skew 0, else Zipf by inversion. */
enum { GUIDES = 4096 };
typedef struct {
    uint64_t universe;
    double *cumulative;
    uint64_t guide[GUIDES + 1]; /* the first rank that reaches i / GUIDES */
} source;

static source make_source(double skew, uint64_t universe) {
    source s = {.universe = universe, .cumulative = malloc(universe * sizeof(double))};
    double sum = 0;
    for (uint64_t i = 0; i < universe; i++) s.cumulative[i] = sum += pow((double)i + 1, -skew);
    for (uint64_t i = 0; i < universe; i++) s.cumulative[i] /= sum;
    for (uint64_t g = 0, i = 0; g <= GUIDES; g++) {
        while (i < universe - 1 && s.cumulative[i] < (double)g / GUIDES) i++;
        s.guide[g] = i;
    }
    return s;
}

static uint64_t draw(const source *s, uint64_t random) {
    double u = (double)(random >> 11) * 0x1p-53;
    uint64_t low = s->guide[(uint64_t)(u * GUIDES)], high = s->guide[(uint64_t)(u * GUIDES) + 1];
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (s->cumulative[middle] < u) low = middle + 1;
        else high = middle;
    }
    return low;
}

typedef struct {
    double covered, runs, width, estimates, squares, truths;
} coverage;

static void score(coverage *c, double low, double estimate, double high, double exact) {
    c->covered += low <= exact && exact <= high;
    c->runs++;
    c->width += high - low;
    c->estimates += estimate - exact, c->squares += (estimate - exact) * (estimate - exact);
    c->truths += exact;
}

/* The limit is 4.5 sigmas below 95%: a right interval fails 3 times in a million. */
static void judge(const char *what, const coverage *c) {
    double share = c->covered / c->runs, error = sqrt(c->squares / c->runs);
    double least = 0.95 - 4.5 * sqrt(0.95 * 0.05 / c->runs);
    double wide = c->width / c->runs / (2 * 1.96 * error);
    printf(
        "# %-34s rate %.4f, covers %.1f%% (limit %.1f%%, false alarm 3 in a million), bias %+.4f, "
        "width %.2f of the normal one\n",
        what, c->truths / c->runs, 100 * share, 100 * least, c->estimates / c->runs, wide);
    assert_true(share >= least);
    if (c->truths / c->runs > 0.01) assert_true(wide < 2.5); /* wide only where errors are few */
}

static void run_coverage(const char *what, const char *spec, double skew, uint64_t universe,
                         uint64_t records, uint64_t one_in, int runs) {
    source s = make_source(skew, universe);
    coverage fpr = {0}, fnr = {0};
    uint64_t *hashes = malloc(records * 8), *verdicts = malloc(WEIR_VERDICT_WORDS(records) * 8);
    uint64_t *keys = malloc(records * 8);
    unsigned char *came = malloc(universe);
    for (int run = 0; run < runs; run++) {
        weir_filter *filter = make_filter(spec);
        weir_audit *audit = make_audit(1 << 18, one_in, 0, false, false);
        for (uint64_t i = 0; i < records; i++) {
            keys[i] = draw(&s, test_word((uint64_t)run + 100, i));
            hashes[i] = test_word((uint64_t)run + 5000, keys[i]);
        }
        weir_batch batch = {.count = records, .hashes = hashes};
        weir_filter_offer_batch(filter, &batch, verdicts);
        weir_audit_observe(audit, &batch, verdicts);
        double firsts = 0, repeats = 0, false_seen = 0, false_new = 0;
        memset(came, 0, universe);
        for (uint64_t i = 0; i < records; i++) {
            bool seen = verdicts[i / 64] >> (i % 64) & 1;
            if (came[keys[i]]) {
                repeats++, false_new += !seen;
            } else {
                firsts++, false_seen += seen;
            }
            came[keys[i]] = 1;
        }
        weir_audit_report r;
        weir_audit_get_report(audit, &r);
        score(&fpr, r.fpr_low, r.fpr, r.fpr_high, false_seen / firsts);
        score(&fnr, r.fnr_low, r.fnr, r.fnr_high, false_new / repeats);
        weir_filter_free(filter), weir_audit_free(audit);
    }
    char name[64];
    snprintf(name, sizeof name, "%s: fpr", what);
    judge(name, &fpr);
    snprintf(name, sizeof name, "%s: fnr", what);
    judge(name, &fnr);
    free(s.cumulative), free(hashes), free(verdicts), free(keys), free(came);
}

static void test_coverage(void **state) {
    (void)state;
    const char *loose = "stable:memory=1K,fpr=10%,seed=1",
               *tight = "stable:memory=4K,fpr=1%,seed=1";
    run_coverage("uniform, 1/16", loose, 0, 20000, 20000, 16, 150);
    run_coverage("uniform, 1/2", loose, 0, 20000, 10000, 2, 150);
    run_coverage("mostly distinct, 1/16", loose, 0, 200000, 20000, 16, 150);
    run_coverage("Zipf 0.9, 1/16", tight, 0.9, 50000, 20000, 16, 150);
    run_coverage("Zipf 1.2, 1/16", tight, 1.2, 50000, 20000, 16, 150);
    run_coverage("Zipf 1.2, 1/64", loose, 1.2, 50000, 40000, 64, 150);
    run_coverage("Zipf 1.5, 1/16", loose, 1.5, 20000, 20000, 16, 150);
    run_coverage("few errors, 1/16", "stable:memory=64K,fpr=0.1%,seed=1", 0.9, 50000, 15000, 16,
                 150);
}

/* No errors, only errors, nothing at all. */
static void test_ends(void **state) {
    (void)state;
    weir_audit_report r;
    weir_audit *audit = make_audit(1 << 16, 4, 0, false, false);
    weir_audit_get_report(audit, &r);
    assert_true(r.fpr == 0 && r.fpr_low == 0 && r.fpr_high == 1);
    assert_true(r.fnr == 0 && r.fnr_low == 0 && r.fnr_high == 1);
    assert_int_equal(r.keys, 0);

    uint64_t hashes[2000], verdicts[32];
    for (int i = 0; i < 2000; i++) hashes[i] = hash_of((uint64_t)i % 1000);
    for (int i = 0; i < 32; i++) /* firsts NEW, repeats SEEN: 1000 = 15 * 64 + 40 */
        verdicts[i] = i < 15 ? 0 : i == 15 ? ~UINT64_C(0) << 40 : i < 31 ? ~UINT64_C(0) : 0xffff;
    weir_batch batch = {.count = 2000, .hashes = hashes};
    weir_audit_observe(audit, &batch, verdicts);
    weir_audit_get_report(audit, &r);
    assert_true(r.fpr == 0 && r.fpr_low == 0 && r.fpr_high > 0.005 && r.fpr_high < 0.02);
    assert_true(r.fnr == 0 && r.fnr_low == 0 && r.fnr_high > 0.005 && r.fnr_high < 0.02);
    weir_audit_free(audit);

    audit = make_audit(1 << 16, 4, 0, false, false);
    for (int i = 0; i < 32; i++) verdicts[i] = ~verdicts[i];
    weir_audit_observe(audit, &batch, verdicts);
    weir_audit_get_report(audit, &r);
    assert_true(r.fpr == 1 && r.fpr_high == 1 && r.fpr_low > 0.98);
    assert_true(r.fnr > 0.9 && r.fnr_high <= 1 && r.fnr_low > 0.8);
    weir_audit_free(audit);
}

/* --- saving ------------------------------------------------------------------------- */

static uint8_t *saved(const weir_audit *audit, size_t *length) {
    *length = weir__audit_saved_size(audit);
    uint8_t *bytes = malloc(*length);
    weir__audit_save(audit, bytes);
    return bytes;
}

static void feed(weir_audit *audit, uint64_t from, uint64_t records) {
    uint64_t hashes[64], verdict;
    int64_t times[64];
    for (uint64_t at = from; at < from + records; at += 64) {
        for (uint64_t i = 0; i < 64; i++) {
            hashes[i] = hash_of(test_word(9, at + i) % 3000);
            times[i] = (int64_t)(at + i) * 10;
        }
        verdict = test_word(10, at);
        weir_audit_observe(audit, &(weir_batch){.count = 64, .hashes = hashes, .times = times},
                           &verdict);
    }
}

static void test_saving(void **state) {
    (void)state;
    static const setting settings[] = {{4096, 1, 0, 0, 0, false, false},
                                       {1 << 16, 4, 0, 0, 500, false, true},
                                       {1 << 16, 2, 0, 0, 9000, true, false}};
    for (int s = 0; s < 3; s++) {
        weir_audit *loaded,
            *audit = make_audit(settings[s].memory, settings[s].one_in, settings[s].window,
                                settings[s].is_time, settings[s].renew);
        for (int empty = 1; empty >= 0; empty--) { /* empty at first, then full */
            size_t length;
            weir_error err = {0};
            uint8_t *bytes = saved(audit, &length);
            if (weir__audit_load(&loaded, bytes, length, &err)) fail_msg("%s", err.message);
            weir_audit_report a, b;
            feed(audit, 20000, 6400), feed(loaded, 20000, 6400);
            weir_audit_get_report(audit, &a), weir_audit_get_report(loaded, &b);
            assert_memory_equal(&a, &b, sizeof a);
            assert_true(a.keys > 20);
            assert_int_equal(weir__audit_saved_size(audit), weir__audit_saved_size(loaded));
            weir_audit_free(loaded);
            free(bytes);
        }
        weir_audit_free(audit);
    }
}

/* Cut anywhere it is refused; with any byte changed it is refused or sound. */
static void test_damage(void **state) {
    (void)state;
    weir_audit *loaded, *audit = make_audit(4096, 4, 300, false, true);
    feed(audit, 0, 640);
    size_t length, accepted = 0;
    uint8_t *bytes = saved(audit, &length);
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *copy = malloc(cut + 1); /* so that a sanitizer sees a read past it */
        memcpy(copy, bytes, cut);
        assert_int_equal(weir__audit_load(&loaded, copy, cut, NULL), WEIR_ERR_CORRUPT);
        assert_null(loaded);
        free(copy);
    }
    for (size_t at = 0; at < length; at++) {
        if (at >= 10 && at < 16) continue; /* a table of gigabytes is sound, and slow to read */
        for (int change = 1; change < 256; change += change < 4 ? 1 : 61) {
            bytes[at] ^= (uint8_t)change;
            weir_error err = {0};
            weir_status status = weir__audit_load(&loaded, bytes, length, &err);
            if (status == WEIR_OK) {
                accepted++;
                feed(loaded, 640, 640);
                weir_audit_report r;
                weir_audit_get_report(loaded, &r);
                assert_true(r.false_seen <= r.firsts && r.false_new <= r.repeats);
                weir_audit_free(loaded);
            } else {
                assert_true(err.message[0] && status == err.code && !loaded);
            }
            bytes[at] ^= (uint8_t)change;
        }
    }
    printf("# %zu of the changed audits were still consistent\n", accepted);

    uint64_t bad[8] = {1, 4096, 4, 0, 0, 10, 5, 0}; /* a sound head with no keys */
    assert_int_equal(weir__audit_load(&loaded, (uint8_t *)bad, sizeof bad, NULL), WEIR_OK);
    weir_audit_free(loaded);
    static const struct {
        int word;
        uint64_t value;
        weir_status expected;
    } cases[] = {
        {0, 2, WEIR_ERR_VERSION},  {1, 100, WEIR_ERR_CORRUPT}, {1, UINT64_MAX, WEIR_ERR_MEMORY},
        {2, 3, WEIR_ERR_CORRUPT},  {2, 0, WEIR_ERR_CORRUPT},   {3, UINT64_MAX, WEIR_ERR_CORRUPT},
        {4, 4, WEIR_ERR_CORRUPT},  {4, 1, WEIR_ERR_CORRUPT},   {5, UINT64_MAX, WEIR_ERR_CORRUPT},
        {6, 11, WEIR_ERR_CORRUPT}, {7, 1, WEIR_ERR_CORRUPT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t kept = bad[cases[i].word];
        bad[cases[i].word] = cases[i].value;
        assert_int_equal(weir__audit_load(&loaded, (uint8_t *)bad, sizeof bad, NULL),
                         cases[i].expected);
        assert_null(loaded);
        bad[cases[i].word] = kept;
    }
    free(bytes);
    weir_audit_free(audit);
}

/* A sound head of 10 records, 5 of them SEEN, and one or two keys. */
static void test_damaged_keys(void **state) {
    (void)state;
    weir_audit *loaded;
    uint64_t good[6] = {hash_of(1), 7, 1, 4, 0, 2}, words[20] = {1, 4096, 1, 0, 0, 10, 5, 1};
    static const struct {
        int word;
        uint64_t value;
    } cases[] = {{1, 0},          {1, 11}, {2, 0}, {2, 2}, {2, UINT64_MAX}, {3, 10},
                 {3, UINT64_MAX}, {4, 2},  {5, 5}, {4, 1}, {5, UINT64_MAX}};
    memcpy(words + 8, good, sizeof good);
    words[6] = 2; /* exactly as many SEEN as the key has */
    assert_int_equal(weir__audit_load(&loaded, (uint8_t *)words, 14 * 8, NULL), WEIR_OK);
    weir_audit_free(loaded);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(words + 8, good, sizeof good);
        words[8 + cases[i].word] = cases[i].value;
        if (cases[i].word == 3 && cases[i].value == UINT64_MAX) words[8 + 5] = UINT64_MAX;
        assert_int_equal(weir__audit_load(&loaded, (uint8_t *)words, 14 * 8, NULL),
                         WEIR_ERR_CORRUPT);
        assert_null(loaded);
    }
    memcpy(words + 8, good, sizeof good); /* the same key twice, or another */
    memcpy(words + 14, good, sizeof good);
    words[5] = 20, words[6] = 10, words[7] = 2;
    assert_int_equal(weir__audit_load(&loaded, (uint8_t *)words, 20 * 8, NULL), WEIR_ERR_CORRUPT);
    words[14] = hash_of(2);
    assert_int_equal(weir__audit_load(&loaded, (uint8_t *)words, 20 * 8, NULL), WEIR_OK);
    weir_audit_free(loaded);
}

static void test_refusals(void **state) {
    (void)state;
    weir_audit *audit;
    weir_error err;
    assert_int_equal(weir_audit_new(&audit, 4095, 1, 0, false, false, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_audit_new(&audit, 4096, 0, 0, false, false, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_audit_new(&audit, 4096, 3, 0, false, false, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_audit_new(&audit, 4096, 4, -1, false, false, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_audit_new(&audit, UINT64_C(1) << 60, 4, 0, false, false, &err),
                     WEIR_ERR_MEMORY);
    assert_null(audit);
    weir_audit_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truth),
        cmocka_unit_test(test_truth_when_full),
        cmocka_unit_test(test_truth_in_windows),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_damaged_keys),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_saving),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
