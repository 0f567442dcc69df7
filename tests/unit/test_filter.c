/* test_filter.c - specs, and what every filter must do, whatever it is.
 *
 * The contract tests run over weir_filter_kind(), so a filter joins them by
 * being listed.
 */
#include "testing.h"

#include "core/cpu.h"
#include "filter/filter.h"

#define KEYS 20000

/* A spec small enough to be overfull after KEYS keys. */
static const char *small_spec(const weir_kind *kind) {
    static char spec[64];
    snprintf(spec, sizeof spec, "%s:memory=16K,fpr=1%%,seed=7", kind->name);
    return spec;
}

/* KEYS hashes, about a third of them repeats at mixed distances. */
static const uint64_t *mixed_stream(void) {
    static uint64_t hashes[KEYS];
    for (size_t i = 0; i < KEYS && !hashes[KEYS - 1]; i++) {
        uint64_t r = test_word(11, i);
        size_t back = (size_t)((r >> 8) % ((r & 4) ? 40 : 4000)) + 1;
        hashes[i] = r % 3 == 0 && back <= i ? hashes[i - back] : test_word(12, i);
    }
    return hashes;
}

static size_t offer_in_batches(weir_filter *filter, const uint64_t *hashes, size_t n, size_t step,
                               uint8_t *seen) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(4096)];
    size_t total = 0;
    for (size_t at = 0; at < n; at += step) {
        size_t count = n - at < step ? n - at : step;
        memset(verdicts, 0xff, sizeof verdicts);
        total += weir_filter_offer_batch(
            filter, &(weir_batch){.count = count, .hashes = hashes + at}, verdicts);
        for (size_t i = 0; i < count; i++) seen[at + i] = verdicts[i / 64] >> (i % 64) & 1;
        if (count % 64) assert_int_equal(verdicts[count / 64] >> (count % 64), 0);
    }
    return total;
}

static void for_each_kind(void (*check)(const weir_kind *kind)) {
    for (size_t i = 0; weir_filter_kind(i); i++) check(weir_filter_kind(i));
}

static void batch_size_is_free(const weir_kind *kind) {
    static uint8_t expected[KEYS], got[KEYS];
    static const size_t steps[] = {1, 3, 64, 100, 1000, 4096};
    size_t total = 0;
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        weir_filter *filter = make_filter(small_spec(kind));
        size_t seen = offer_in_batches(filter, mixed_stream(), KEYS, steps[s], s ? got : expected);
        if (s == 0) total = seen;
        else if (memcmp(expected, got, KEYS) != 0)
            fail_msg("%s: verdicts differ in batches of %zu", kind->name, steps[s]);
        assert_int_equal(seen, total);
        weir_filter_info info;
        weir_filter_get_info(filter, &info);
        assert_int_equal(info.offered, KEYS);
        uint64_t offered, called_seen;
        weir_filter_totals(filter, &offered, &called_seen);
        assert_int_equal(offered, KEYS);
        assert_int_equal(called_seen, info.seen);
        assert_int_equal(info.seen, total);
        weir_filter_free(filter);
    }
    assert_true(total > 0 && total < KEYS);
}
static void verdicts_do_not_depend_on_batches(void **state) {
    (void)state;
    for_each_kind(batch_size_is_free);
}

/* Code for newer processors decides as that for any does, and leaves the same cells. */
static unsigned specs_compared;

static void processors_agree_on(const char *spec) {
    static uint8_t expected[KEYS], got[KEYS];
    weir_filter *filter[CPU_AVX512 + 1];
    weir_filter *probe = NULL;
    if (weir_filter_new(&probe, spec, NULL) != WEIR_OK) return; /* not all of them fit 16K */
    weir_filter_free(probe);
    for (cpu_kind cpu = CPU_ANY; cpu <= CPU_AVX512; cpu++) {
        weir__cpu_most = cpu;
        filter[cpu] = make_filter(spec);
        offer_in_batches(filter[cpu], mixed_stream(), KEYS, 1000, cpu ? got : expected);
        if (cpu && memcmp(expected, got, KEYS) != 0) fail_msg("%s: verdicts differ", spec);
        if (cpu && memcmp(filter[CPU_ANY]->cells, filter[cpu]->cells, filter[cpu]->cells_bytes))
            fail_msg("%s: cells differ", spec);
        if (cpu) weir_filter_free(filter[cpu]);
    }
    weir_filter_free(filter[CPU_ANY]);
    specs_compared++;
}
static void all_processors_agree(const weir_kind *kind) {
    static const char *const layouts[] = {"", ",layout=classic", ",layout=block"};
    static const char *const more[] = {
        "fpr=1%",       "fpr=0.01%",      "fpr=10%,k=1",    "fpr=20%,k=17",
        "fpr=20%,k=32", "fpr=20%,bits=2", "fpr=1%,bits=16", "fpr=5%,method=increase"};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
        for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
            char spec[96];
            snprintf(spec, sizeof spec, "%s:memory=16K,seed=7,%s%s", kind->name, more[i],
                     layouts[l]);
            processors_agree_on(spec);
        }
}
static void verdicts_do_not_depend_on_the_processor(void **state) {
    (void)state;
    for_each_kind(all_processors_agree);
    weir__cpu_most = CPU_AVX512;
    assert_true(specs_compared > 100);
}

static void repeat_is_seen(const weir_kind *kind) {
    weir_filter *filter = make_filter(small_spec(kind));
    uint64_t twice[2], verdict;
    for (uint64_t i = 0; i < 500; i++) {
        twice[0] = twice[1] = test_word(21, i);
        weir_filter_offer_batch(filter, &(weir_batch){.count = 2, .hashes = twice}, &verdict);
        if (!(verdict & 2))
            fail_msg("%s: a key is not known just after it was offered", kind->name);
    }
    weir_filter_free(filter);
}
static void a_key_repeated_in_its_batch_is_seen(void **state) {
    (void)state;
    for_each_kind(repeat_is_seen);
}

static void testing_is_reading(const weir_kind *kind) {
    weir_filter *filter = make_filter(small_spec(kind)), *twin = make_filter(small_spec(kind));
    static uint8_t a[KEYS], b[KEYS];
    uint64_t verdicts[WEIR_VERDICT_WORDS(1000)];
    for (size_t at = 0; at < KEYS; at += 1000) {
        const weir_batch batch = {.count = 1000, .hashes = mixed_stream() + at};
        weir_filter_test_batch(filter, &batch, verdicts);
        offer_in_batches(filter, batch.hashes, 1000, 1000, a + at);
        offer_in_batches(twin, batch.hashes, 1000, 1000, b + at);
        weir_filter_test(filter, &at, sizeof at);
    }
    if (memcmp(a, b, KEYS) != 0) fail_msg("%s: testing changed the filter", kind->name);
    weir_filter_free(filter);
    weir_filter_free(twin);
}
static void testing_changes_nothing(void **state) {
    (void)state;
    for_each_kind(testing_is_reading);
}

static void test_tells_offer(const weir_kind *kind) {
    weir_filter *filter = make_filter(small_spec(kind));
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t tested, offered;
        const weir_batch batch = {.count = 1, .hashes = mixed_stream() + i};
        weir_filter_test_batch(filter, &batch, &tested);
        weir_filter_offer_batch(filter, &batch, &offered);
        if (tested != offered) fail_msg("%s: test and offer disagree on key %zu", kind->name, i);
    }
    weir_filter_free(filter);
}
static void test_gives_the_verdict_that_offer_would(void **state) {
    (void)state;
    for_each_kind(test_tells_offer);
}

static void clear_is_new(const weir_kind *kind) {
    static uint8_t first[KEYS], second[KEYS];
    weir_filter *filter = make_filter(small_spec(kind));
    offer_in_batches(filter, mixed_stream(), KEYS, 512, first);
    weir_filter_clear(filter);
    offer_in_batches(filter, mixed_stream(), KEYS, 512, second);
    if (memcmp(first, second, KEYS) != 0) fail_msg("%s: clear leaves something", kind->name);
    weir_filter_free(filter);
}
static void a_cleared_filter_is_like_a_new_one(void **state) {
    (void)state;
    for_each_kind(clear_is_new);
}

static void spec_makes_the_same(const weir_kind *kind) {
    static uint8_t a[KEYS], b[KEYS];
    char spec[1024], again[1024];
    weir_filter *filter = make_filter(small_spec(kind));
    size_t length = weir_filter_spec(filter, spec, sizeof spec);
    assert_int_equal(length, strlen(spec));
    assert_int_equal(weir_filter_spec(filter, NULL, 0), length);
    weir_filter *twin = make_filter(spec);
    weir_filter_spec(twin, again, sizeof again);
    assert_string_equal(spec, again);
    offer_in_batches(filter, mixed_stream(), KEYS, 512, a);
    offer_in_batches(twin, mixed_stream(), KEYS, 512, b);
    if (memcmp(a, b, KEYS) != 0) fail_msg("%s: %s makes another filter", kind->name, spec);
    weir_filter_free(filter);
    weir_filter_free(twin);
}
static void the_printed_spec_makes_the_same_filter(void **state) {
    (void)state;
    for_each_kind(spec_makes_the_same);
}

/* How many filters it is made of, each with a few KiB of tables. */
static size_t parts_of(const weir_filter *filter) {
    char spec[1024];
    weir_filter_spec(filter, spec, sizeof spec);
    const char *most = strstr(spec, "most=");
    return most ? strtoul(most + 5, NULL, 10) : weir_filter_sites(filter);
}

static void memory_is_kept(const weir_kind *kind) {
    static const uint64_t sizes[] = {1024, 1500, 4096, 65536, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char spec[64];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "%s:memory=%llu,fpr=1%%", kind->name,
                 (unsigned long long)sizes[i]);
        weir_filter *filter;
        weir_error err;
        if (weir_filter_new(&filter, spec, &err) != WEIR_OK) {
            /* a composition needs room for its parts, and says how much */
            assert_true(sizes[i] < 16384 && strstr(err.message, "too small"));
            continue;
        }
        weir_filter_get_info(filter, &info);
        if (info.memory > sizes[i] + 8192 * (1 + parts_of(filter)))
            fail_msg("%s: %llu bytes asked for, %llu held", kind->name,
                     (unsigned long long)sizes[i], (unsigned long long)info.memory);
        weir_filter_free(filter);
    }
}
static void memory_is_a_promise(void **state) {
    (void)state;
    for_each_kind(memory_is_kept);
}

/* Filters that never forget: past their capacity the rate passes the bound, and
 * they say so. */
static bool says_when_full(const weir_kind *kind) {
    static const char *const names[] = {"bloom", "counting", "spectral", "vertical", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(kind->name, names[i]) == 0) return true;
    return false;
}

/* Of many more keys than fit, a filter has lost some or says that it keeps all; and it holds no
 * more than it has room for, those aside that it takes for others. */
static void keys_are_kept_as_said(const char *spec, bool keeps_all) {
    static uint64_t hashes[KEYS];
    static uint8_t seen[KEYS];
    weir_filter *filter = make_filter(spec);
    weir_filter_info info;
    for (size_t i = 0; i < KEYS; i++) hashes[i] = test_word(13, i);
    offer_in_batches(filter, hashes, KEYS, 512, seen);
    uint64_t verdicts[WEIR_VERDICT_WORDS(KEYS)];
    size_t held =
        weir_filter_test_batch(filter, &(weir_batch){.count = KEYS, .hashes = hashes}, verdicts);
    weir_filter_get_info(filter, &info);
    if (info.keeps_all != keeps_all || (held == KEYS) != keeps_all)
        fail_msg("%s: holds %zu of %d keys, and says %d", spec, held, KEYS, info.keeps_all);
    if (!(info.room >= 0 && info.room < KEYS))
        fail_msg("%s: has room for %g keys in 8K", spec, info.room);
    if (!keeps_all && info.room > 0 && (double)held > info.room + 0.03 * KEYS)
        fail_msg("%s: holds %zu keys, and has room for %g", spec, held, info.room);
    weir_filter_free(filter);
}

static void what_is_kept_is_said(void **state) {
    (void)state;
    const weir_kind *kind;
    char spec[64];
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++) {
        bool keeps = !strcmp(kind->name, "bloom") || !strcmp(kind->name, "counting") ||
                     !strcmp(kind->name, "spectral") ||
                     !strcmp(kind->name, "vertical"); /* of bloom */
        snprintf(spec, sizeof spec, "%s:memory=8K,fpr=1%%,seed=3", kind->name);
        keys_are_kept_as_said(spec, keeps);
    }
    keys_are_kept_as_said("horizontal:memory=8K,fpr=1%,seed=3,of=(bloom)", true);
    keys_are_kept_as_said("horizontal:memory=8K,fpr=1%,seed=3,of=(recent)", false);
}

/* Fresh keys only, into a filter already overfull; the count of those called
 * SEEN is binomial with at most n*fpr. The bound of mean + 5 sigma + 1 is passed
 * by chance less than once in a million. */
static void rate_is_bounded(const weir_kind *kind) {
    if (kind->fpr_is_target) return;
    static const double rates[] = {0.1, 0.01, 0.001};
    static uint64_t hashes[KEYS];
    static uint8_t seen[KEYS];
    for (size_t r = 0; r < 3; r++) {
        char spec[64];
        snprintf(spec, sizeof spec, "%s:memory=8K,fpr=%g,seed=3", kind->name, rates[r]);
        weir_filter *filter = make_filter(spec);
        for (uint64_t round = 0; round < 5; round++) {
            weir_filter_info info;
            for (size_t i = 0; i < KEYS; i++) hashes[i] = test_word(100 + round, i);
            size_t wrong = offer_in_batches(filter, hashes, KEYS, 512, seen);
            weir_filter_get_info(filter, &info);
            if (says_when_full(kind) && info.overfull) break;
            double mean = KEYS * rates[r], most = mean + 5 * __builtin_sqrt(mean) + 1;
            if ((double)wrong > most)
                fail_msg("%s: %zu of %d new keys called seen at fpr %g", kind->name, wrong, KEYS,
                         rates[r]);
        }
        weir_filter_free(filter);
    }
}
static void false_positives_stay_under_the_bound(void **state) {
    (void)state;
    for_each_kind(rate_is_bounded);
}

static void keys_are_any_bytes(void **state) {
    (void)state;
    static const char *const hash_names[] = {"xxh3", "siphash"};
    for (int i = 0; i < 2; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "recent:memory=64K,hash=%s", hash_names[i]);
        weir_filter *filter = make_filter(spec);
        assert_int_equal(weir_filter_offer(filter, "", 0), WEIR_NEW);
        assert_int_equal(weir_filter_offer(filter, "", 0), WEIR_SEEN);
        assert_int_equal(weir_filter_offer(filter, "a\0b", 3), WEIR_NEW);
        assert_int_equal(weir_filter_offer(filter, "a\0c", 3), WEIR_NEW);
        assert_int_equal(weir_filter_test(filter, "a\0b", 3), WEIR_SEEN);
        assert_int_equal(weir_filter_test(filter, "\xff\xfe", 2), WEIR_NEW);
        weir_filter_free(filter);
    }
}

static void records_in_a_row_hash_as_keys(void **state) {
    (void)state;
    static const char text[] = "one\n\nthree\n";
    static const uint32_t offsets[] = {0, 4, 5, 11};
    uint64_t hashes[3];
    weir_filter *filter = make_filter("recent:memory=1K");
    weir_filter_hash_records(filter, text, offsets, 3, 1, hashes);
    assert_int_equal(hashes[0], weir_filter_hash(filter, "one", 3));
    assert_int_equal(hashes[1], weir_filter_hash(filter, "", 0));
    assert_int_equal(hashes[2], weir_filter_hash(filter, "three", 5));
    weir_filter_free(filter);
}

static void seeds_come_from_the_system_unless_given(void **state) {
    (void)state;
    weir_filter_info a, b;
    weir_filter *one = make_filter("recent:memory=1K"), *two = make_filter("recent:memory=1K");
    weir_filter_get_info(one, &a);
    weir_filter_get_info(two, &b);
    assert_true(a.seed != b.seed);
    assert_true(weir_filter_hash(one, "x", 1) != weir_filter_hash(two, "x", 1));
    weir_filter_free(one);
    weir_filter_free(two);
    one = make_filter("recent:memory=1K,seed=0xff");
    weir_filter_get_info(one, &a);
    assert_int_equal(a.seed, 255);
    weir_filter_free(one);
}

static void bad_specs_are_refused_with_their_place(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        weir_status status;
        int64_t offset;
        const char *words;
    } bad[] = {
        {"recnt", WEIR_ERR_SPEC, 0, "did you mean 'recent'?"},
        {"", WEIR_ERR_SPEC, 0, "unknown filter"},
        {"qqqqqqqq", WEIR_ERR_SPEC, 0, "there are recent, bloom"},
        {"recent:", WEIR_ERR_SPEC, 7, "not of the form option=value"},
        {"recent:memory", WEIR_ERR_SPEC, 7, "not of the form option=value"},
        {"recent:memory=", WEIR_ERR_SPEC, 7, "not of the form option=value"},
        {"recent:memroy=1M", WEIR_ERR_SPEC, 7, "did you mean 'memory'?"},
        {"recent:memory=1M,memory=2M", WEIR_ERR_SPEC, 17, "given twice"},
        {"recent:memory=1M,,fpr=1%", WEIR_ERR_SPEC, 17, "not of the form"},
        {"recent:memory=12", WEIR_ERR_RANGE, 14, "out of range; it goes from 1K"},
        {"recent:memory=1Q", WEIR_ERR_RANGE, 15, "memory: '1Q' is not a size"},
        {"recent:memory=1000T", WEIR_ERR_MEMORY, -1, "more than this machine has"},
        {"recent:fpr=0", WEIR_ERR_RANGE, 11, "out of range"},
        {"recent:fpr=100%", WEIR_ERR_RANGE, 11, "out of range"},
        {"recent:fpr=-1%", WEIR_ERR_RANGE, 11, "is not a rate"},
        {"recent:seed=abc", WEIR_ERR_RANGE, 12, "is not a number"},
        {"recent:seed=18446744073709551616", WEIR_ERR_RANGE, 12, "from 0 to 2^64-1"},
        {"recent:seed=0x10000000000000000", WEIR_ERR_RANGE, 12, "from 0 to 2^64-1"},
        {"recent:seed=0x-1", WEIR_ERR_RANGE, 12, "from 0 to 2^64-1"},
        {"recent:hash=md5", WEIR_ERR_SPEC, 12, "unknown hash 'md5'"},
        {"stable:layout=blok", WEIR_ERR_SPEC, 14, "did you mean 'block'?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        weir_filter *filter = (weir_filter *)state;
        weir_error err = {0};
        weir_status status = weir_filter_new(&filter, bad[i].spec, &err);
        if (status != bad[i].status || err.offset != bad[i].offset ||
            !strstr(err.message, bad[i].words))
            fail_msg("'%s': status %d, offset %lld, '%s'", bad[i].spec, status,
                     (long long)err.offset, err.message);
        assert_null(filter);
        assert_int_equal(weir_filter_new(&filter, bad[i].spec, NULL), bad[i].status);
    }
    char endless[5000];
    memset(endless, 'a', sizeof endless);
    endless[sizeof endless - 1] = 0;
    weir_filter *filter;
    assert_int_equal(weir_filter_new(&filter, endless, NULL), WEIR_ERR_SPEC);
}

static void count_detail(void *context, const char *name, const char *value, const char *meaning) {
    assert_true(name[0] && value[0] && meaning[0]);
    ++*(int *)context;
}

static void tables_are_complete(void **state) {
    (void)state;
    for (size_t i = 0; weir_filter_kind(i); i++) {
        const weir_kind *kind = weir_filter_kind(i);
        assert_true(kind->name && kind->summary && kind->advice && kind->options);
        for (const weir_option *o = kind->options; o->name; o++) {
            assert_non_null(o->meaning);
            assert_true((o->type == WEIR_OPT_CHOICE) == (o->choices != NULL));
        }
        int details = 0;
        weir_filter *filter = make_filter(small_spec(kind));
        weir_filter_details(filter, count_detail, &details);
        assert_true(details > 0);
        weir_filter_free(filter);
    }
    assert_string_equal(weir_filter_kind(0)->name, "recent");
}

static void what_cannot_be_merged_says_so(void **state) {
    (void)state;
    weir_error err;
    weir_filter *a = make_filter("bloom:memory=8K,seed=1"),
                *b = make_filter("stable:memory=8K,seed=1");
    assert_int_equal(weir_filter_merge(a, b, &err), WEIR_ERR_MISMATCH);
    weir_filter *c = make_filter("bloom:memory=8K,seed=2");
    assert_int_equal(weir_filter_merge(a, c, &err), WEIR_ERR_MISMATCH);
    assert_non_null(strstr(err.message, "'seed' is not the same"));
    for (size_t i = 0; weir_filter_kind(i); i++) {
        const weir_kind *kind = weir_filter_kind(i);
        weir_filter *d = make_filter(small_spec(kind)), *e = make_filter(small_spec(kind));
        weir_status status = weir_filter_merge(d, e, &err);
        assert_int_equal(status, kind->mergeable ? WEIR_OK : WEIR_ERR_UNSUPPORTED);
        if (!kind->mergeable) assert_non_null(strstr(err.message, "cannot be merged: "));
        weir_filter_free(d);
        weir_filter_free(e);
    }
    weir_filter_free(a);
    weir_filter_free(b);
    weir_filter_free(c);
}

/* Window, producers and memory in weir_filter_info, also of filters inside filters. */
static void info_states_facts(void **state) {
    static const struct {
        const char *spec;
        int64_t window;
        bool is_time, renew, producers;
        uint64_t memory;
    } cases[] = {
        {"recent:memory=64K", 0, false, false, false, 65536},
        {"recent:memory=64K,window=10s", INT64_C(10000000000), true, false, false, 65536},
        {"recent:memory=64K,window=5000,renew=yes", 5000, false, true, false, 65536},
        {"window:memory=64K,length=1m,renew=yes", INT64_C(60000000000), true, true, false, 65536},
        {"growing:memory=1M,of=(window:length=1h)", INT64_C(3600000000000), true, false, false,
         1048576},
        {"horizontal:memory=1M,slices=2,of=(recent:window=1s)", INT64_C(1000000000), true, false,
         false, 1048576},
        {"tree:memory=1M", 0, false, false, true, 1048576},
        {"bloom:memory=1M,capacity=1000", 0, false, false, false, 1048576},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_filter *filter = make_filter(cases[i].spec);
        weir_filter_info info;
        weir_filter_get_info(filter, &info);
        assert_int_equal(info.window, cases[i].window);
        assert_int_equal(info.window_is_time, cases[i].is_time);
        assert_int_equal(info.renew, cases[i].renew);
        assert_int_equal(info.uses_producers, cases[i].producers);
        assert_int_equal(info.memory_asked, cases[i].memory);
        weir_filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_do_not_depend_on_batches),
        cmocka_unit_test(verdicts_do_not_depend_on_the_processor),
        cmocka_unit_test(a_key_repeated_in_its_batch_is_seen),
        cmocka_unit_test(testing_changes_nothing),
        cmocka_unit_test(what_is_kept_is_said),
        cmocka_unit_test(test_gives_the_verdict_that_offer_would),
        cmocka_unit_test(a_cleared_filter_is_like_a_new_one),
        cmocka_unit_test(the_printed_spec_makes_the_same_filter),
        cmocka_unit_test(memory_is_a_promise),
        cmocka_unit_test(false_positives_stay_under_the_bound),
        cmocka_unit_test(keys_are_any_bytes),
        cmocka_unit_test(records_in_a_row_hash_as_keys),
        cmocka_unit_test(seeds_come_from_the_system_unless_given),
        cmocka_unit_test(bad_specs_are_refused_with_their_place),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(what_cannot_be_merged_says_so),
        cmocka_unit_test(info_states_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
