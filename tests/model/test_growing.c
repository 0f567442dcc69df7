/* test_growing.c - growing filters against a list of plain ones, and their compound rate. */
#include "theory.h"

enum { THRESHOLD = WEIR__OPT_OWN, MOST, OF };

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

static bool at_time(bool testing, weir_filter *f, uint64_t hash, int64_t time) {
    uint64_t verdict;
    weir_batch batch = {.count = 1, .hashes = &hash, .times = &time};
    return (testing ? weir_filter_test_batch(f, &batch, &verdict)
                    : weir_filter_offer_batch(f, &batch, &verdict)) == 1;
}

/* --- the twin: filters of their own, oldest first ------------------------------------ */

typedef struct {
    char spec[256];
    weir_filter *filters[64];
    int64_t closed[64], length, latest;
    unsigned count, most, grown;
    uint64_t added, step, capacity;
    double full_at;
    bool by_density;
} twin;

static double option_k(const weir_filter *f) {
    const weir_option *options = f->class->kind.options;
    size_t i = 0;
    while (strcmp(options[i].name, "k") != 0) i++;
    return (double)weir__opt_whole(f, WEIR__OPT_OWN + (int)i);
}

static twin twin_of(const weir_filter *f, const char *inside, int64_t length) {
    twin t = {.most = (unsigned)weir__opt_whole(f, MOST), .length = length, .grown = 1, .count = 1};
    uint64_t bytes = (uint64_t)detail(f, "memory_in_use");
    weir_filter *one = make_filter(inside);
    bytes -= (one->class->state_words * 8 + 63) / 64 * 64;
    weir_filter_free(one);
    snprintf(t.spec, sizeof t.spec, "%s,memory=%llu,fpr=%.17g,seed=1", inside,
             (unsigned long long)bytes, weir__opt_rate(f, WEIR__OPT_FPR) / t.most);
    t.filters[0] = make_filter(t.spec);
    t.capacity = (uint64_t)detail(t.filters[0], "capacity");
    t.by_density = weir__opt_whole(f, THRESHOLD) == 0;
    t.step = t.capacity / 128 + 1;
    t.full_at =
        fmin(0.85, pow(1 - 1.5 * (double)t.step / (double)t.capacity, option_k(t.filters[0])));
    return t;
}

static void twin_drop(twin *t) {
    weir_filter_free(t->filters[0]);
    t->count--;
    for (unsigned i = 0; i < t->count; i++)
        t->filters[i] = t->filters[i + 1], t->closed[i] = t->closed[i + 1];
}

static bool twin_offer(twin *t, uint64_t hash, int64_t time) {
    weir_filter_info info;
    if (time > t->latest) t->latest = time;
    for (unsigned i = 0; i + 1 < t->count; i++)
        if (at_time(true, t->filters[i], hash, t->latest)) return true;
    weir_filter *newest = t->filters[t->count - 1];
    if (at_time(false, newest, hash, t->latest)) return true;
    t->added++;
    if (t->added % t->step && (t->by_density || t->added < t->capacity)) return false;
    while (t->count > 1 && t->length && t->latest - t->closed[0] > t->length) twin_drop(t);
    weir_filter_get_info(newest, &info);
    bool cut = t->length && info.overfull;
    bool dense = info.fpr_now >= t->full_at * info.fpr_bound;
    if (t->by_density ? !cut && !dense : t->added < t->capacity) return false;
    t->closed[t->count - 1] = t->latest;
    if (t->count == t->most) twin_drop(t);
    t->filters[t->count++] = make_filter(t->spec);
    t->grown++, t->added = 0;
    return false;
}

/* numbered: the filter has a window of records, the twin one of as many nanoseconds, and the
 * record's number is its time. */
static void compare_with_twin(const char *spec, const char *inside, int64_t length, bool numbered) {
    weir_filter *f = make_filter(spec);
    twin t = twin_of(f, inside, length);
    int64_t at = 1;
    for (uint64_t i = 0; i < 12000; i++) {
        uint64_t r = test_word(9, i), hash = skewed_key(3, i, 6000);
        bool burst = i / 2000 % 2;
        at += (int64_t)(r % (burst ? 3 : 40));
        if (r % 1024 == 5) at += 2 * length;
        int64_t when = r % 32 == 3 ? at - (int64_t)(r >> 8) % 50 : at;
        if (numbered) when = (int64_t)i + 1;
        bool expected = twin_offer(&t, hash, when);
        assert_int_equal(at_time(true, f, hash, when), expected);
        if (at_time(false, f, hash, when) != expected) fail_msg("%s: key %zu", spec, (size_t)i);
        assert_int_equal(detail(f, "filters"), t.count);
    }
    printf("# %s: %u filters grown, %u at the end, %llu seen\n", spec, t.grown, t.count,
           (unsigned long long)f->seen);
    assert_true(t.grown > 4);
    while (t.count) twin_drop(&t);
    weir_filter_free(f);
}

static void verdicts_are_those_of_the_twin(void **state) {
    (void)state;
    compare_with_twin("growing:memory=4K,fpr=4%,seed=1,most=4,of=(bloom:k=4)", "bloom:k=4", 0,
                      false);
    compare_with_twin(
        "growing:memory=4K,fpr=4%,seed=1,most=4,of=(bloom:layout=classic),threshold=cardinality",
        "bloom:layout=classic", 0, false);
    compare_with_twin("growing:memory=24K,fpr=4%,seed=1,most=6,of=(window:length=2us)",
                      "window:length=2us", 2000, false);
    compare_with_twin("growing:memory=24K,fpr=4%,seed=1,most=6,threshold=cardinality,of=(window:"
                      "length=2us,layout=classic,mode=jumping)",
                      "window:length=2us,layout=classic,mode=jumping", 2000, false);
    compare_with_twin(
        "growing:memory=24K,fpr=4%,seed=1,most=6,of=(window:length=2000,tick=100,k=4)",
        "window:length=2us,tick=100ns,k=4", 2000, true);
}

/* All filters full, and then over and over again: each new key meets the sum of the rates. */
static void compound_rate(const char *form, double fpr) {
    spread less = {0};
    double seen = 0, said = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        char spec[200];
        weir_filter_info info;
        snprintf(spec, sizeof spec, "growing:memory=32K,fpr=%g,seed=%llu,%s", fpr,
                 (unsigned long long)seed, form);
        weir_filter *f = make_filter(spec);
        uint64_t all = (uint64_t)(detail(f, "keys_per_filter") * (double)weir__opt_whole(f, MOST));
        offer_keys(f, seed, 0, all * 97 / 100 + (seed > 20 ? all : 0));
        weir_filter_get_info(f, &info);
        assert_true(info.overfull == (seed > 20));
        double hits = test_keys(f, seed + 1000, 0, 20000);
        spread_add(&less, hits / 20000 - info.fpr_now);
        seen += hits, said += info.fpr_now / 40;
        weir_filter_free(f);
    }
    printf("# %s: said %.4g, bound %.4g\n", form, said, fpr);
    expect_mean("compound rate, measured less said", &less, 0);
    expect_at_most(form, seen, 40 * 20000, fpr);
    assert_true(said > 0.4 * fpr);
}

static void the_compound_rate_is_under_the_bound(void **state) {
    (void)state;
    compound_rate("most=4", 0.02);
    compound_rate("most=8,of=(bloom:layout=classic)", 0.05);
    compound_rate("most=8,threshold=cardinality,of=(bloom:layout=classic)", 0.02);
}

/* No key is forgotten before the most is reached. */
static void nothing_is_forgotten_while_it_can_grow(void **state) {
    (void)state;
    weir_filter *f = make_filter("growing:memory=64K,fpr=1%,seed=1,most=8");
    uint64_t keys = (uint64_t)(7.5 * detail(f, "keys_per_filter"));
    assert_true(detail(f, "filters") == 1);
    offer_keys(f, 1, 0, keys);
    assert_true(detail(f, "filters") == 8 && detail(f, "dropped") == 0);
    assert_true(test_keys(f, 1, 0, keys) == (double)keys);
    offer_keys(f, 2, 0, keys);
    assert_true(detail(f, "dropped") > 0 && detail(f, "filters") == 8);
    assert_true(test_keys(f, 1, 0, keys / 4) < (double)keys / 8);
    weir_filter_free(f);
}

/* Figure 10 of the paper: a burst of five times the rate grows filters, and they go. By
 * cardinality their number is never steady. */
static void bursts_grow_filters_that_go_again(void **state) {
    (void)state;
    for (int c = 0; c < 2; c++) {
        char spec[200];
        snprintf(spec, sizeof spec,
                 "growing:memory=64K,fpr=4%%,seed=1,most=8,threshold=%s,of=(window:length=10us)",
                 c ? "cardinality" : "density");
        weir_filter *f = make_filter(spec);
        double each = detail(f, "keys_per_filter"), most[3] = {0}, in_use = 0;
        int64_t at = 0;
        for (int third = 0; third < 3; third++)
            for (int i = 0, n = third == 1 ? 50 : 10; i < (int)each * n / 4; i++) {
                at += (int64_t)(third == 1 ? 4000 / each : 20000 / each);
                at_time(false, f, test_word(7, (uint64_t)at * 3 + (uint64_t)i), at);
                in_use = detail(f, "filters");
                most[third] = in_use > most[third] ? in_use : most[third];
            }
        printf("# %s: filters at most %g before, %g in and %g after the burst, %g at the end\n",
               c ? "cardinality" : "density", most[0], most[1], most[2], in_use);
        assert_true(most[0] <= 2 && most[1] >= 3 && in_use <= 2 && detail(f, "dropped") == 0);
        if (!c) assert_true(most[0] == 1);
        assert_true(detail(f, "memory_in_use") <= 2 * 8192);
        weir_filter_free(f);
    }
}

static const char *const forms[] = {
    "growing:memory=16K,fpr=1%,seed=1",
    "growing:memory=16K,fpr=1%,seed=1,most=3,threshold=cardinality,of=(bloom:layout=classic)",
    "growing:memory=64K,fpr=1%,seed=1,of=(window:length=100d)",
    "growing:memory=64K,fpr=1%,seed=1,of=(window:length=100d,renew=yes,mode=jumping)"};

static void forms_behave(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) expect_batch_independence(forms[i]), expect_survives(forms[i]);
    for (size_t i = 0; i < 2; i++) expect_test_agrees(forms[i]);
    for (size_t i = 0; i < 4; i++) expect_details(forms[i], 6);
}

/* With a window: batches of any size, a snapshot in the middle. */
static void windows_survive_in_batches(void **state) {
    (void)state;
    enum { KEYS = 6000 };
    static uint64_t hashes[KEYS];
    static int64_t times[KEYS];
    static const size_t sizes[] = {1, 7, 64, 1000, KEYS};
    const char *spec = "growing:memory=24K,fpr=4%,seed=1,most=6,of=(window:length=2us)";
    uint64_t verdicts[WEIR_VERDICT_WORDS(KEYS)];
    weir_filter *one = NULL;
    weir_error err;
    for (int64_t i = 0, at = 0; i < KEYS; i++) {
        hashes[i] = skewed_key(3, (uint64_t)i, 6000);
        times[i] = at += (int64_t)(test_word(2, (uint64_t)i) % (i / 1500 % 2 ? 3 : 30));
    }
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        weir_filter *f = make_filter(spec);
        for (size_t at = 0, n; at < KEYS; at += n) {
            n = KEYS - at < sizes[s] ? KEYS - at : sizes[s];
            weir_filter_offer_batch(
                f, &(weir_batch){.count = n, .hashes = hashes + at, .times = times + at}, verdicts);
            if (sizes[s] != 1000) continue;
            const char *path = scratch_path("growing.weir");
            assert_int_equal(weir_filter_save(f, path, &err), WEIR_OK);
            weir_filter_free(f);
            if (weir_filter_load(&f, path, &err)) fail_msg("%s", err.message);
        }
        if (!one) one = f;
        else assert_true(same_state(f, one)), weir_filter_free(f);
    }
    weir_filter_free(one);
}

static void impossible_numbers_are_refused(void **state) {
    (void)state;
    expect_refused("growing:most=0", "out of range", "most=");
    expect_refused("growing:most=33", "out of range", "most=");
    expect_refused("growing:memory=4K,most=8", "less than 1K for each", "most=");
    expect_refused("growing:of=(recent)", "no capacity to grow beyond", NULL);
    expect_refused("growing:of=(growing)", "no capacity to grow beyond", NULL);
    expect_refused("growing:of=(window)", "needs a length", NULL);
    expect_refused("growing:of=(blom)", "did you mean 'bloom'", NULL);
    expect_refused("growing:of=(bloom:k=99)", "of: k=99 is out of range", NULL);
    expect_refused("growing:of=(bloom:memory=1M)", "of: option 'memory' is given twice", NULL);
    expect_refused("growing:threshold=half", "unknown threshold", NULL);
}

static void damage_is_found(void **state) {
    (void)state;
    weir_error err;
    weir_filter *f = make_filter("growing:memory=8K,fpr=1%,seed=1,most=4");
    offer_keys(f, 1, 0, (uint64_t)(2.5 * detail(f, "keys_per_filter")));
    assert_int_equal(weir__filter_check(f, &err), WEIR_OK);
    uint64_t *words = weir__filter_state(f);
    for (size_t i = 0; i < 4; i++) {
        uint64_t before = words[i];
        words[i] = UINT64_MAX;
        assert_int_equal(weir__filter_check(f, &err), WEIR_ERR_CORRUPT);
        words[i] = before;
    }
    assert_int_equal(weir__filter_check(f, &err), WEIR_OK);
    f->cells[f->cells_bytes - 1] ^= 1; /* a part that is not in use */
    assert_int_equal(weir__filter_check(f, &err), WEIR_ERR_CORRUPT);
    weir_filter_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_the_twin),
        cmocka_unit_test(the_compound_rate_is_under_the_bound),
        cmocka_unit_test(nothing_is_forgotten_while_it_can_grow),
        cmocka_unit_test(bursts_grow_filters_that_go_again),
        cmocka_unit_test(forms_behave),
        cmocka_unit_test(windows_survive_in_batches),
        cmocka_unit_test(impossible_numbers_are_refused),
        cmocka_unit_test(damage_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
