/* test_top.c - frequent keys: top, sticky and counting samples, against exact counts. */
#include "model/sketching.h"

enum { KEYS = 20000, RECORDS = 300000 };

typedef struct {
    uint64_t stream[RECORDS];
    double counts[KEYS];
} exact;

/* Keys by a power law: key i with a weight of 1/(i+1), shuffled by the draws. */
static exact *draw_stream(uint64_t seed) {
    exact *x = calloc(1, sizeof *x);
    for (uint64_t i = 0; i < RECORDS; i++) {
        double u = (double)(test_word(seed, i) >> 11) * 0x1p-53;
        uint64_t key = (uint64_t)exp(u * log(KEYS + 1.0)) - 1;
        x->stream[i] = key < KEYS ? key : KEYS - 1;
        x->counts[x->stream[i]]++;
    }
    return x;
}

static uint64_t number_of(const weir_item *item) {
    char text[24] = "";
    assert_true(item->length < sizeof text && !item->cut);
    memcpy(text, item->key, item->length);
    assert_memory_equal(text, "key-", 4);
    uint64_t number = strtoull(text + 4, NULL, 10);
    assert_true(item->hash == key_hash(number));
    return number;
}

static void top_keys_are_found(void **state) {
    (void)state;
    exact *x = draw_stream(1);
    static const char *const specs[] = {"top:k=100,memory=256K,seed=1",
                                        "top:k=100,memory=256K,seed=2,update=conservative",
                                        "top:k=100,memory=128K,seed=3,counter=64"};
    for (size_t k = 0; k < 3; k++) {
        weir_sketch *s = make_sketch(specs[k]);
        weir_item items[1000];
        weir_items out = {.items = items, .room = 50};
        add_numbers(s, x->stream, NULL, RECORDS, 777);
        assert_int_equal(weir_sketch_top(s, WEIR_BY_AUTO, &out, NULL), WEIR_OK);
        assert_int_equal(out.found, 50);
        bool listed[KEYS] = {false};
        for (size_t i = 0; i < out.found; i++) {
            uint64_t key = number_of(&items[i]);
            listed[key] = true;
            assert_true(items[i].count.low <= x->counts[key] &&
                        x->counts[key] <= items[i].count.high);
            if (i) assert_true(items[i].count.value <= items[i - 1].count.value);
        }
        for (uint64_t i = 0; i < 40; i++) assert_true(listed[i]);

        out = (weir_items){.items = items, .room = 1000};
        assert_int_equal(weir_sketch_above(s, 0.002, WEIR_BY_CM, &out, NULL), WEIR_OK);
        assert_true(out.complete);
        memset(listed, 0, sizeof listed);
        for (size_t i = 0; i < out.found; i++) listed[number_of(&items[i])] = true;
        for (uint64_t i = 0; i < KEYS; i++)
            if (x->counts[i] >= 0.002 * RECORDS) assert_true(listed[i]);

        /* Whatever is not listed at all came at most `floor` times. */
        out = (weir_items){.items = items, .room = 1000};
        weir_sketch_top(s, WEIR_BY_CM, &out, NULL);
        memset(listed, 0, sizeof listed);
        for (size_t i = 0; i < out.found; i++) listed[number_of(&items[i])] = true;
        for (uint64_t i = 0; i < KEYS; i++)
            if (!listed[i]) assert_true(x->counts[i] <= out.floor);
        weir_sketch_free(s);
    }
    free(x);
}

static void tops_merge(void **state) {
    (void)state;
    exact *x = draw_stream(2);
    const char *spec = "top:k=100,memory=256K,seed=1";
    weir_sketch *a = make_sketch(spec), *b = make_sketch(spec);
    weir_item items[1000];
    add_numbers(a, x->stream, NULL, RECORDS / 2, 1000);
    add_numbers(b, x->stream + RECORDS / 2, NULL, RECORDS / 2, 1000);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    weir_items out = {.items = items, .room = 1000};
    bool listed[KEYS] = {false};
    weir_sketch_top(a, WEIR_BY_CM, &out, NULL);
    for (size_t i = 0; i < out.found; i++) listed[number_of(&items[i])] = true;
    for (uint64_t i = 0; i < 30; i++) assert_true(listed[i]);
    for (uint64_t i = 0; i < KEYS; i++)
        if (!listed[i]) assert_true(x->counts[i] <= out.floor);
    weir_sketch_free(a), weir_sketch_free(b);
    free(x);
}

/* The floor that a list gives for missing keys is true, however the list was cut: by length, by
 * share, for lack of room; of a stream, a sum of two, a window, a fading past. */
static void check_statements(weir_sketch *s, const double *truth, double total, const char *spec) {
    weir_item items[1000];
    static const weir_estimator by[] = {WEIR_BY_AUTO, WEIR_BY_CM, WEIR_BY_CMM};
    static const double shares[] = {0, 0.02, 0.005, 0.001};
    for (size_t list = 0; list < 3 * 4 * 4; list++) {
        double share = shares[list % 4];
        weir_items out = {.items = items, .room = (size_t[]){3, 20, 100, 1000}[list / 4 % 4]};
        weir_error err = {0};
        if (strstr(spec, "conservative") && by[list / 16] == WEIR_BY_CMM) continue;
        weir_status status = share > 0 ? weir_sketch_above(s, share, by[list / 16], &out, &err)
                                       : weir_sketch_top(s, by[list / 16], &out, &err);
        if (status != WEIR_OK) fail_msg("%s: %s", spec, err.message);
        bool listed[KEYS] = {false};
        for (size_t i = 0; i < out.found; i++) {
            uint64_t key = number_of(&items[i]);
            listed[key] = true;
            if (items[i].count.low > truth[key] * (1 + 1e-9))
                fail_msg("%s: key %llu came %.2f times, and is said to come at least %.2f", spec,
                         (unsigned long long)key, truth[key], items[i].count.low);
        }
        for (uint64_t i = 0; i < KEYS; i++) {
            if (listed[i]) continue;
            if (truth[i] > out.floor * (1 + 1e-9))
                fail_msg("%s, share %g, room %zu: key %llu came %.2f times, the floor is %.2f",
                         spec, share, out.room, (unsigned long long)i, truth[i], out.floor);
            if (out.complete && share > 0) assert_true(truth[i] <= share * total * (1 + 1e-9));
        }
    }
}

static void statements_are_true(void **state) {
    (void)state;
    static const char *const specs[] = {"top:k=100,memory=256K",
                                        "top:k=20,memory=48K",
                                        "top:k=50,memory=64K,keys=4K",
                                        "top:k=50,memory=64K,update=conservative",
                                        "top:k=50,memory=64K,decay=50000",
                                        "sticky:mode=counting,memory=64K",
                                        "window:length=100000,panes=8,of=(top:k=100,memory=64K)"};
    static const uint64_t listed[] = {100, 20, 50, 50, 50, 0, 100};
    exact *x = draw_stream(6);
    double *truth = calloc(KEYS, sizeof *truth);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        weir_sketch *s = make_seeded(specs[k], 5);
        weir_sketch_info info;
        bool fades = strstr(specs[k], "decay=");
        add_numbers(s, x->stream, NULL, RECORDS, 1000);
        memset(truth, 0, KEYS * sizeof *truth);
        weir_sketch_get_info(s, &info);
        assert_int_equal(info.listed, listed[k]);
        assert_int_equal(info.key_bytes, k == 2 ? 4096 : 0);
        size_t from = strncmp(specs[k], "window", 6) ? 0 : RECORDS - (size_t)info.total;
        for (size_t i = from; i < RECORDS; i++)
            truth[x->stream[i]] += fades ? exp2(-(double)(RECORDS - 1 - i) / 50000) : 1;
        check_statements(s, truth, info.total, specs[k]);
        weir_sketch_free(s);
    }
    /* keys that came once each: whatever is listed is there by noise */
    for (uint64_t seed = 1; seed <= 20; seed++) {
        weir_sketch *s = make_seeded("top:k=10,memory=128K", seed);
        for (uint64_t i = 0; i < KEYS; i++) truth[i] = 1;
        for (uint64_t i = 0; i < KEYS; i++) x->stream[i] = i;
        add_numbers(s, x->stream, NULL, KEYS, 1000);
        check_statements(s, truth, KEYS, "flat");
        weir_sketch_free(s);
    }
    free(x);
    x = draw_stream(6);
    weir_sketch *a = make_seeded(specs[1], 5), *b = make_seeded(specs[1], 5);
    add_numbers(a, x->stream, NULL, RECORDS / 3, 1000);
    add_numbers(b, x->stream + RECORDS / 3, NULL, RECORDS - RECORDS / 3, 1000);
    assert_int_equal(weir_sketch_merge(a, b, NULL), WEIR_OK);
    check_statements(a, x->counts, RECORDS, "merged");
    weir_sketch_free(a), weir_sketch_free(b);
    free(truth), free(x);
}

static void add_each(weir_sketch *s, uint64_t from, uint64_t to, unsigned times) {
    for (unsigned t = 0; t < times; t++)
        for (uint64_t key = from; key < to; key++) add_numbers(s, &key, NULL, 1, 1);
}

/* However many are equal, the list has its k keys, and those that stand out first. */
static void equals_fill_the_list(void **state) {
    (void)state;
    for (uint64_t equals = 1; equals < 500; equals += equals < 60 ? 1 : 37) {
        weir_sketch *s = make_sketch("top:k=10,memory=256K,seed=1");
        weir_item items[10];
        weir_items out = {.items = items, .room = 10};
        add_each(s, 100, 100 + equals, 2);
        add_each(s, 1, 4, 5);
        assert_int_equal(weir_sketch_top(s, WEIR_BY_CM, &out, NULL), WEIR_OK);
        assert_int_equal(out.found, equals + 3 < 10 ? equals + 3 : 10);
        for (size_t i = 0; i < out.found; i++) assert_true(items[i].count.value == (i < 3 ? 5 : 2));
        assert_true(out.complete && out.floor <= 2);
        weir_sketch_free(s);
    }
}

/* Keys that come once in each of many shards are below the sum of the floors, and still
 * the most frequent of all. */
static void small_shards_merge(void **state) {
    (void)state;
    const char *spec = "top:k=3,memory=64K,seed=1";
    weir_sketch *all = make_sketch(spec);
    for (uint64_t shard = 0; shard < 25; shard++) {
        weir_sketch *s = make_sketch(spec);
        add_each(s, 0, 3, 1);
        add_each(s, 1000 * (shard + 1), 1000 * (shard + 1) + 60, 1);
        assert_int_equal(weir_sketch_merge(all, s, NULL), WEIR_OK);
        weir_sketch_free(s);
    }
    weir_item items[3];
    weir_items out = {.items = items, .room = 3};
    assert_int_equal(weir_sketch_top(all, WEIR_BY_CM, &out, NULL), WEIR_OK);
    assert_int_equal(out.found, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(number_of(&items[i]) < 3 && items[i].count.value == 25);
    weir_sketch_free(all);
}

/* Keys far longer than planned: the list gets shorter, the promise stays. */
static const void *long_key(void *context, size_t i, size_t *length) {
    static char text[3000];
    const uint64_t *keys = context;
    memset(text, 'x', sizeof text);
    int used = snprintf(text, sizeof text, "%llu-", (unsigned long long)keys[i]);
    text[used] = 'x';
    *length = 200 + keys[i] % 2800;
    return text;
}

static void long_keys_fit(void **state) {
    (void)state;
    exact *x = draw_stream(3);
    weir_sketch *s = make_sketch("top:k=100,memory=512K,seed=1");
    uint64_t hashes[1000];
    for (size_t at = 0; at < RECORDS; at += 1000) {
        for (size_t i = 0; i < 1000; i++) hashes[i] = key_hash(x->stream[at + i]);
        weir_updates u = {
            .count = 1000, .hashes = hashes, .key = long_key, .context = x->stream + at};
        assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
    }
    weir_item items[1000];
    weir_items out = {.items = items, .room = 1000};
    weir_sketch_top(s, WEIR_BY_CM, &out, NULL);
    bool listed[KEYS] = {false};
    for (size_t i = 0; i < out.found; i++) {
        uint64_t key = strtoull(items[i].key, NULL, 10);
        assert_int_equal(items[i].length, 200 + key % 2800);
        listed[key] = true;
    }
    printf("# %zu keys of 200 bytes and more are listed\n", out.found);
    assert_true(out.found >= 4 && listed[0]);
    for (uint64_t i = 0; i < KEYS; i++)
        if (!listed[i]) assert_true(x->counts[i] <= out.floor);
    weir_sketch_free(s);
    free(x);
}

/* With room for eight of 4 KiB, keys up to that are whole, and longer ones are marked. */
static const void *key_of_length(void *context, size_t i, size_t *length) {
    static char text[10000];
    memset(text, 'x', sizeof text);
    *length = ((const uint64_t *)context)[i];
    return text;
}

static void whole_keys(void **state) {
    (void)state;
    weir_sketch *s = make_sketch("top:k=1,memory=256K,keys=32K,seed=1");
    uint64_t lengths[] = {4096, 4096, 4097, 10};
    for (size_t i = 0; i < 4; i++) {
        uint64_t hash = key_hash(lengths[i]);
        weir_updates u = {
            .count = 1, .hashes = &hash, .key = key_of_length, .context = lengths + i};
        assert_int_equal(weir_sketch_add_batch(s, &u, NULL), WEIR_OK);
    }
    weir_item items[3];
    weir_items out = {.items = items, .room = 3};
    weir_sketch_top(s, WEIR_BY_CM, &out, NULL);
    assert_int_equal(out.found, 3);
    assert_true(items[0].length == 4096 && !items[0].cut);
    for (size_t i = 1; i < 3; i++) assert_true(items[i].cut == (items[i].length == 4096));
    weir_sketch_free(s);
}

static void samples_find_frequent_keys(void **state) {
    (void)state;
    exact *x = draw_stream(4);
    static const char *const specs[] = {"sticky:support=0.5%,error=0.1%,seed=1",
                                        "sticky:mode=counting,memory=64K,seed=2"};
    for (size_t k = 0; k < 2; k++) {
        weir_sketch *s = make_sketch(specs[k]);
        weir_item *items = calloc(KEYS, sizeof *items);
        weir_items out = {.items = items, .room = KEYS};
        add_numbers(s, x->stream, NULL, RECORDS, 1000);
        assert_int_equal(weir_sketch_top(s, WEIR_BY_AUTO, &out, NULL), WEIR_OK);
        bool listed[KEYS] = {false};
        for (size_t i = 0; i < out.found; i++) {
            uint64_t key = number_of(&items[i]);
            listed[key] = true;
            assert_true(items[i].count.low <= x->counts[key]);
            if (k == 0 && x->counts[key] > 0.005 * RECORDS)
                assert_true(items[i].count.value >= x->counts[key] - 0.001 * RECORDS);
        }
        for (uint64_t i = 0; i < KEYS; i++)
            if (x->counts[i] > 0.005 * RECORDS) assert_true(listed[i]);
        weir_error err = {0};
        expect_failed(weir_sketch_add(s, "a", 1, -1, &err), WEIR_ERR_RANGE, &err, "negative");
        expect_failed(weir_sketch_merge(s, s, &err), WEIR_ERR_UNSUPPORTED, &err,
                      "cannot be merged");
        weir_sketch_free(s);
        free(items);
    }
    free(x);
}

/* A counting sample's count, compensated, is nearly unbiased for a frequent key: it
 * misses a geometric number of occurrences, rate - 1 on average of those before the
 * first that is sampled. */
static void counting_samples_count(void **state) {
    (void)state;
    spread missed = {0};
    double rate = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        weir_sketch *s = make_seeded("sticky:mode=counting,memory=2K", seed);
        uint64_t keys[4000];
        for (uint64_t i = 0; i < 4000; i++) keys[i] = i % 4 ? 1000 + i : 7;
        add_numbers(s, keys, NULL, 4000, 512);
        weir_estimate e = estimate_of(s, 7, WEIR_BY_AUTO);
        rate = e.deviation;
        spread_add(&missed, (1000 - e.low) / rate);
        weir_sketch_free(s);
    }
    printf("# rate %.0f; missed %.3f of it (a geometric variable: %.3f)\n", rate,
           spread_mean(&missed), 1 - 1 / rate);
    assert_true(rate >= 16);
    assert_true(fabs(spread_mean(&missed) - 1) < 0.35);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_keys_are_found),    cmocka_unit_test(tops_merge),
        cmocka_unit_test(equals_fill_the_list),  cmocka_unit_test(small_shards_merge),
        cmocka_unit_test(statements_are_true),   cmocka_unit_test(whole_keys),
        cmocka_unit_test(long_keys_fit),         cmocka_unit_test(samples_find_frequent_keys),
        cmocka_unit_test(counting_samples_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
