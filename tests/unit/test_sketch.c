/* test_sketch.c - what every sketch must do, whatever its kind.
 *
 * Golden files under tests/golden (sketch_*.weir) hold sketches as this format
 * version first wrote them: they must load and give the same answers for ever.
 * `test_sketch --write-golden` makes those that are missing.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "model/sketching.h"

/* A small sketch of each kind. */
static const char *const specs[] = {
    "countmin:width=40,depth=3,seed=1",
    "countmin:width=32,depth=4,layout=block,seed=1",
    "countmin:width=40,depth=3,update=conservative,seed=1",
    "countmin:width=40,depth=3,decay=100,seed=1",
    "agms:width=40,depth=3,seed=1",
    "top:k=5,memory=8K,seed=1",
    "top:k=5,memory=8K,decay=100,seed=1",
    "dyadic:bits=20,memory=16K,seed=1",
    "hll:p=6,seed=1",
    "kmv:memory=256,seed=1",
    "linear:memory=128,seed=1",
    "multires:memory=1K,seed=1",
    "pcsa:memory=256,seed=1",
    "distinct:memory=4K,seed=1",
    "sample:n=10,seed=1",
    "sticky:support=5%,error=2%,seed=1",
    "sticky:mode=counting,memory=2K,seed=1",
    "spectral:memory=1K,seed=1",
    "spectral:memory=1K,mode=rm,seed=1",
    "ams:width=20,depth=3,seed=1",
    "spacecode:memory=1K,seed=1",
    "window:length=300,panes=4,seed=1,of=(countmin:width=40,depth=3)",
    "window:length=300,panes=4,seed=1,of=(top:k=3,memory=8K)",
    "kll:memory=8K,seed=1"};
enum { SPECS = sizeof specs / sizeof *specs, RECORDS = 3000 };

static void draw_keys(uint64_t *keys, uint64_t seed) {
    for (uint64_t i = 0; i < RECORDS; i++)
        keys[i] = (uint64_t)(800 * pow((double)(test_word(seed, i) >> 11) * 0x1p-53, 2));
}

/* Which candidates `top` holds may depend on where batches end; with decay, the
 * last digits of the counters. */
static bool may_depend_on_batches(const char *spec) {
    return strstr(spec, "top:") || strstr(spec, "decay=");
}

/* Such sketches still give the same estimates. */
static void expect_same_estimates(weir_sketch *a, weir_sketch *b) {
    weir_estimate x, y;
    for (uint64_t key = 0; key < 100; key++) {
        x = estimate_of(a, key, WEIR_BY_CM), y = estimate_of(b, key, WEIR_BY_CM);
        assert_true(fabs(x.value - y.value) <= 1e-9 * fmax(1, x.value));
    }
    assert_int_equal(weir_sketch_self_join(a, WEIR_BY_CMM, &x, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_self_join(b, WEIR_BY_CMM, &y, NULL), WEIR_OK);
    assert_true(fabs(x.value - y.value) <= 1e-9 * fmax(1, x.value));
}

/* Where batches begin and end makes no difference. */
static void batches_do_not_matter(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 31, 32, 33, 255, 256, 257, 1000, RECORDS};
    static uint64_t keys[RECORDS];
    draw_keys(keys, 1);
    for (size_t k = 0; k < SPECS; k++) {
        weir_sketch *one = make_sketch(specs[k]);
        add_numbers(one, keys, NULL, RECORDS, 1);
        for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
            weir_sketch *s = make_sketch(specs[k]);
            add_numbers(s, keys, NULL, RECORDS, sizes[i]);
            if (may_depend_on_batches(specs[k])) expect_same_estimates(s, one);
            else if (!same_sketch(s, one))
                fail_msg("%s: batches of %zu differ", specs[k], sizes[i]);
            weir_sketch_free(s);
        }
        weir_sketch_free(one);
    }
}

/* A row of records, each without what ends it. */
static void records_in_a_row_hash_as_keys(void **state) {
    (void)state;
    static const uint32_t offsets[] = {0, 4, 8};
    uint64_t hashes[2];
    weir_sketch *s = make_sketch(specs[0]);
    weir_sketch_hash_records(s, "one\ntwo\n", offsets, 2, 1, hashes);
    assert_int_equal(hashes[0], weir_sketch_hash(s, "one", 3));
    assert_int_equal(hashes[1], weir_sketch_hash(s, "two", 3));
    weir_sketch_free(s);
}

static void saved_sketches_go_on(void **state) {
    (void)state;
    static uint64_t keys[RECORDS], more[RECORDS];
    draw_keys(keys, 2), draw_keys(more, 3);
    for (size_t k = 0; k < SPECS; k++) {
        const char *path = scratch_path("sketch.weir");
        weir_error err = {0};
        char full[1024], again[1024];
        weir_sketch *s = make_sketch(specs[k]), *loaded;
        add_numbers(s, keys, NULL, RECORDS, 500);
        if (weir_sketch_save(s, path, &err) != WEIR_OK) fail_msg("%s", err.message);
        if (weir_sketch_load(&loaded, path, &err) != WEIR_OK)
            fail_msg("%s: %s", specs[k], err.message);
        assert_true(same_sketch(s, loaded));
        add_numbers(s, more, NULL, RECORDS, 500), add_numbers(loaded, more, NULL, RECORDS, 500);
        if (!same_sketch(s, loaded)) fail_msg("%s does not go on", specs[k]);
        weir_sketch_spec(s, full, sizeof full);
        weir_sketch *made = make_sketch(full);
        weir_sketch_spec(made, again, sizeof again);
        assert_string_equal(full, again);
        weir_sketch_clear(s);
        if (!same_sketch(s, made)) fail_msg("%s: cleared is not new", specs[k]);
        weir_sketch_free(s), weir_sketch_free(loaded), weir_sketch_free(made);
    }
}

/* A byte changed anywhere is noticed; so is a state that no stream leads to, as far
 * as it could do harm: whatever is loaded can be used and freed. */
static void damage_is_noticed(void **state) {
    (void)state;
    static uint64_t keys[RECORDS];
    draw_keys(keys, 4);
    for (size_t k = 0; k < SPECS; k++) {
        const char *path = scratch_path("sketch.weir");
        static uint8_t bytes[1 << 20];
        weir_sketch *s = make_sketch(specs[k]), *loaded;
        add_numbers(s, keys, NULL, RECORDS, 500);
        assert_int_equal(weir_sketch_save(s, path, NULL), WEIR_OK);
        weir_sketch_free(s);
        FILE *file = fopen(path, "rb");
        size_t length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        for (size_t i = 0; i < 60; i++) {
            size_t at = (size_t)(test_word(5, i) % length);
            bytes[at] ^= (uint8_t)(1 + i);
            file = fopen(path, "wb");
            fwrite(bytes, 1, length, file);
            fclose(file);
            weir_error err = {0};
            weir_status status = weir_sketch_load(&loaded, path, &err);
            assert_true(status != WEIR_OK && loaded == NULL && err.message[0]);
            bytes[at] ^= (uint8_t)(1 + i);
        }
    }
}

/* Cells and words of noise: check() refuses them, or they do no harm. */
static void noise_does_no_harm(void **state) {
    (void)state;
    static uint64_t keys[RECORDS];
    draw_keys(keys, 6);
    for (size_t k = 0; k < SPECS; k++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            weir_sketch *s = make_sketch(specs[k]);
            weir_estimate e;
            weir_quantile q;
            weir_item items[20];
            weir_items out = {.items = items, .room = 20};
            add_numbers(s, keys, NULL, RECORDS, 500);
            for (uint64_t i = 0; i < 1 + seed; i++) {
                size_t words = s->class->state_words;
                if (words && seed % 2)
                    weir__sketch_state(s)[test_word(seed, i) % words] = test_word(seed + 9, i);
                else s->cells[test_word(seed, i) % s->cells_bytes] ^= (uint8_t)test_word(7, i);
            }
            if (weir__sketch_check(s, NULL) == WEIR_OK) {
                weir_sketch_estimate(s, "a", 1, WEIR_BY_AUTO, &e, NULL);
                weir_sketch_self_join(s, WEIR_BY_AUTO, &e, NULL);
                weir_sketch_top(s, WEIR_BY_AUTO, &out, NULL);
                weir_sketch_distinct(s, &e, NULL);
                weir_sketch_quantile(s, 0.5, &q, NULL);
                weir_sketch_sample(s, &out, NULL);
                weir_sketch_add(s, "7", 1, 1, NULL);
            }
            weir_sketch_free(s);
        }
}

static void merging_needs_alike(void **state) {
    (void)state;
    weir_error err = {0};
    weir_sketch *a = make_sketch("countmin:width=40,depth=3,seed=1");
    static const struct {
        const char *spec, *part;
    } others[] = {{"countmin:width=41,depth=3,seed=1", "'memory' is not the same"},
                  {"countmin:width=30,depth=4,seed=1", "'width' is not the same"},
                  {"countmin:width=40,depth=3,seed=2", "'seed' is not the same"},
                  {"countmin:width=40,depth=3,seed=1,hash=siphash", "'hash' is not the same"},
                  {"agms:width=40,depth=3,seed=1", "with a 'agms'"}};
    for (size_t k = 0; k < 5; k++) {
        weir_sketch *b = make_sketch(others[k].spec);
        weir_estimate e;
        expect_failed(weir_sketch_merge(a, b, &err), WEIR_ERR_MISMATCH, &err, others[k].part);
        expect_failed(weir_sketch_join(a, b, WEIR_BY_AUTO, &e, &err), WEIR_ERR_MISMATCH, &err,
                      "cannot join");
        weir_sketch_free(b);
    }
    weir_sketch_free(a);
}

/* A question that a kind cannot answer is refused with the names of kinds that can. */
static void questions_are_refused_clearly(void **state) {
    (void)state;
    weir_error err = {0};
    weir_estimate e;
    weir_items items = {.room = 0};
    weir_quantile q;
    weir_sketch *hll = make_sketch("hll"), *count = make_sketch("countmin");
    expect_failed(weir_sketch_estimate(hll, "a", 1, WEIR_BY_AUTO, &e, &err), WEIR_ERR_UNSUPPORTED,
                  &err, "use countmin, agms, top");
    expect_failed(weir_sketch_self_join(hll, WEIR_BY_AUTO, &e, &err), WEIR_ERR_UNSUPPORTED, &err,
                  "countmin");
    expect_failed(weir_sketch_join(hll, hll, WEIR_BY_AUTO, &e, &err), WEIR_ERR_UNSUPPORTED, &err,
                  "countmin");
    expect_failed(weir_sketch_top(count, WEIR_BY_AUTO, &items, &err), WEIR_ERR_UNSUPPORTED, &err,
                  "top");
    expect_failed(weir_sketch_above(count, 0.1, WEIR_BY_AUTO, &items, &err), WEIR_ERR_UNSUPPORTED,
                  &err, "top");
    expect_failed(weir_sketch_above(count, 1.5, WEIR_BY_AUTO, &items, &err), WEIR_ERR_RANGE, &err,
                  "share");
    expect_failed(weir_sketch_range(count, 1, 2, WEIR_BY_AUTO, &e, &err), WEIR_ERR_UNSUPPORTED,
                  &err, "dyadic");
    expect_failed(weir_sketch_quantile(count, 0.5, &q, &err), WEIR_ERR_UNSUPPORTED, &err, "dyadic");
    expect_failed(weir_sketch_distinct(count, &e, &err), WEIR_ERR_UNSUPPORTED, &err, "hll");
    expect_failed(weir_sketch_common(count, count, &e, &err), WEIR_ERR_UNSUPPORTED, &err, "kmv");
    expect_failed(weir_sketch_distinct_where(count, NULL, NULL, &e, &err), WEIR_ERR_UNSUPPORTED,
                  &err, "distinct");
    expect_failed(weir_sketch_sample(count, &items, &err), WEIR_ERR_UNSUPPORTED, &err, "sample");
    weir_updates none = {.count = 1};
    expect_failed(weir_sketch_add_batch(count, &none, &err), WEIR_ERR_RANGE, &err, "hashes");
    weir_sketch_free(hll), weir_sketch_free(count);
    count = make_sketch("top");
    uint64_t hash = 1;
    weir_updates bare = {.count = 1, .hashes = &hash};
    expect_failed(weir_sketch_add_batch(count, &bare, &err), WEIR_ERR_RANGE, &err,
                  "bytes of the keys");
    weir_sketch_free(count);
    expect_spec_refused("", "unknown sketch");
    expect_spec_refused("hll:p=99", "out of range");
    expect_spec_refused("top:k=1M,memory=1M", "needs more memory");
}

/* Names, summaries, advice, options and details are there; memory is as said. */
static void kinds_describe_themselves(void **state) {
    (void)state;
    for (size_t i = 0; weir_sketch_kind(i); i++) {
        const weir_kind *kind = weir_sketch_kind(i);
        assert_true(kind->summary[0] && kind->advice[0] && weir_sketch_kind_answers(i));
        for (size_t j = 0; kind->options[j].name; j++) assert_true(kind->options[j].meaning[0]);
    }
    assert_true(weir_sketch_common_options()->name != NULL);
    for (size_t k = 0; k < SPECS; k++) {
        weir_sketch *s = make_sketch(specs[k]);
        weir_sketch_info info;
        int details = 0;
        static uint64_t keys[RECORDS];
        draw_keys(keys, 8);
        add_numbers(s, keys, NULL, RECORDS, 500);
        weir_sketch_get_info(s, &info);
        assert_true(info.updates == RECORDS && info.total > 0 && info.error > 0);
        assert_true(info.confidence > 0 && info.confidence < 1 && info.answers);
        if (!strstr(specs[k], "decay") && strncmp(specs[k], "window", 6) != 0)
            assert_true(info.total == RECORDS);
        weir_sketch_details(s, count_detail, &details);
        weir_sketch_free(s);
    }
}

/* One key with a time or a fraction of a weight is a batch of one. */
static void a_key_has_a_weight_and_a_time(void **state) {
    (void)state;
    weir_sketch *s;
    weir_estimate e;
    double fraction = 0.5;
    int64_t early = 0, late = INT64_C(3600000000000), one = 1;
    assert_int_equal(weir_sketch_new(&s, "countmin:width=64,depth=3,decay=1h", NULL), WEIR_OK);
    weir_updates update = {.fractions = &fraction, .times = &early};
    assert_int_equal(weir_sketch_add_key(s, "a", 1, &update, NULL), WEIR_OK);
    update = (weir_updates){.weights = &one, .times = &late};
    assert_int_equal(weir_sketch_add_key(s, "b", 1, &update, NULL), WEIR_OK);
    assert_int_equal(weir_sketch_estimate(s, "a", 1, WEIR_BY_CM, &e, NULL), WEIR_OK);
    assert_float_equal(e.value, 0.25, 1e-6); /* half of the half is left */
    weir_sketch_free(s);
}

/* Memory is asked for, and nothing changes; a hash that is known is the key's. */
static void keys_can_be_looked_up_ahead(void **state) {
    (void)state;
    static const char *const kinds[] = {"countmin:width=90000,depth=3",
                                        "countmin:memory=512K,layout=block",
                                        "agms:memory=512K",
                                        "top:k=5,memory=512K",
                                        "spectral",
                                        "linear",
                                        "hll",
                                        "window:length=300,of=(countmin:width=90000,depth=3)"};
    enum { ROOM = 32 << 20 };
    uint8_t *one = malloc(ROOM), *other = malloc(ROOM);
    assert_true(one && other);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        weir_sketch *ahead, *plain;
        char spec[400];
        snprintf(spec, sizeof spec, "%s%sseed=1", kinds[k], strchr(kinds[k], ':') ? "," : ":");
        assert_int_equal(weir_sketch_new(&ahead, spec, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_new(&plain, spec, NULL), WEIR_OK);
        for (uint64_t i = 0; i < 300; i++) {
            uint64_t hash = weir_sketch_hash(ahead, &i, sizeof i);
            weir_sketch_prefetch(ahead, &hash, 1);
            weir_updates update = {.hashes = &hash};
            assert_int_equal(weir_sketch_add_key(ahead, &i, sizeof i, &update, NULL), WEIR_OK);
            assert_int_equal(weir_sketch_add(plain, &i, sizeof i, 1, NULL), WEIR_OK);
        }
        weir_sketch_prefetch(ahead, NULL, 0);
        size_t length, same;
        assert_int_equal(weir_sketch_save_bytes(ahead, one, ROOM, &length, NULL), WEIR_OK);
        assert_int_equal(weir_sketch_save_bytes(plain, other, ROOM, &same, NULL), WEIR_OK);
        assert_int_equal(length, same);
        assert_memory_equal(one, other, length);
        weir_sketch_free(ahead);
        weir_sketch_free(plain);
    }
    free(one);
    free(other);
}

/* Whoever replays a stream has to know whether the times of updates matter. */
static void times_matter_where_they_do(void **state) {
    (void)state;
    const struct {
        const char *spec;
        bool uses_time;
    } cases[] = {{"countmin:width=40,depth=3", false},
                 {"countmin:width=40,depth=3,decay=100", false},
                 {"countmin:width=40,depth=3,decay=1h", true},
                 {"window:length=300,of=(countmin:width=40,depth=3)", false},
                 {"window:length=5m,of=(countmin:width=40,depth=3)", true},
                 {"window:length=300,of=(countmin:width=40,depth=3,decay=1h)", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weir_sketch *s;
        weir_sketch_info info;
        assert_int_equal(weir_sketch_new(&s, cases[i].spec, NULL), WEIR_OK);
        weir_sketch_get_info(s, &info);
        assert_int_equal(info.uses_time, cases[i].uses_time);
        weir_sketch_free(s);
    }
}

/* Empty: every answer is zero or a refusal, never rubbish. */
static void nothing_was_counted(void **state) {
    (void)state;
    for (size_t k = 0; k < SPECS; k++) {
        weir_sketch *s = make_sketch(specs[k]);
        weir_estimate e = {.value = 0};
        weir_item items[4];
        weir_items out = {.items = items, .room = 4};
        assert_int_equal(weir_sketch_add_batch(s,
                                               &(weir_updates){.count = 0,
                                                               .hashes = (uint64_t[]){0},
                                                               .values = (int64_t[]){0},
                                                               .key = key_text},
                                               NULL),
                         WEIR_OK);
        if (weir_sketch_estimate(s, "a", 1, WEIR_BY_AUTO, &e, NULL) == WEIR_OK)
            assert_true(e.value == 0);
        if (weir_sketch_self_join(s, WEIR_BY_AUTO, &e, NULL) == WEIR_OK) assert_true(e.value == 0);
        if (weir_sketch_distinct(s, &e, NULL) == WEIR_OK) assert_true(e.value == 0);
        if (weir_sketch_top(s, WEIR_BY_AUTO, &out, NULL) == WEIR_OK)
            assert_true(out.found == 0 && out.complete);
        if (weir_sketch_sample(s, &out, NULL) == WEIR_OK)
            assert_true(out.found == 0 && out.complete);
        weir_sketch_free(s);
    }
}

/* ---- golden files ---- */

/* By the number of the spec. */
static const char *const golden_names[] = {"countmin",
                                           "countmin_block",
                                           "countmin_conservative",
                                           "countmin_decay",
                                           "agms",
                                           "top",
                                           "top_decay",
                                           "dyadic",
                                           "hll",
                                           "kmv",
                                           "linear",
                                           "multires",
                                           "pcsa",
                                           "distinct",
                                           "sample",
                                           "sticky",
                                           "sticky_counting",
                                           "spectral",
                                           "spectral_rm",
                                           "ams",
                                           "spacecode",
                                           "window_countmin",
                                           "window_top",
                                           "kll"};
_Static_assert(sizeof golden_names / sizeof *golden_names == SPECS, "a golden file for each spec");
enum { GOLDEN_KEYS = 20, GOLDEN_MOST = 400 };

typedef struct {
    double numbers[GOLDEN_MOST];
    size_t count;
} answers;

static void note(answers *a, double number) {
    assert_true(a->count < GOLDEN_MOST);
    a->numbers[a->count++] = number;
}

static void note_estimate(answers *a, weir_status status, const weir_estimate *e) {
    if (status != WEIR_OK) return;
    note(a, e->value), note(a, e->low), note(a, e->high), note(a, e->deviation);
}

static void note_items(answers *a, weir_status status, const weir_items *out) {
    if (status != WEIR_OK) return;
    note(a, (double)out->found), note(a, out->complete), note(a, out->floor);
    for (size_t i = 0; i < out->found; i++) {
        note(a, strtod((const char *)out->items[i].key + 4, NULL)); /* "key-N" */
        note(a, out->items[i].count.value);
    }
}

/* Every question that it answers. */
static void ask_all(weir_sketch *s, answers *a) {
    weir_estimate e;
    weir_quantile q;
    weir_item items[GOLDEN_KEYS];
    weir_items out = {.items = items, .room = GOLDEN_KEYS};
    for (uint64_t key = 0; key < GOLDEN_KEYS; key++)
        note_estimate(a, weir_sketch_estimate_hash(s, key_hash(key), WEIR_BY_AUTO, &e, NULL), &e);
    note_estimate(a, weir_sketch_estimate_hash(s, key_hash(3), WEIR_BY_CM, &e, NULL), &e);
    note_estimate(a, weir_sketch_estimate_hash(s, key_hash(3), WEIR_BY_CMM, &e, NULL), &e);
    note_estimate(a, weir_sketch_self_join(s, WEIR_BY_AUTO, &e, NULL), &e);
    note_items(a, weir_sketch_top(s, WEIR_BY_AUTO, &out, NULL), &out);
    note_estimate(a, weir_sketch_range(s, 10, 100, WEIR_BY_AUTO, &e, NULL), &e);
    if (weir_sketch_quantile(s, 0.5, &q, NULL) == WEIR_OK)
        note(a, (double)q.value), note(a, (double)q.low), note(a, (double)q.high);
    note_estimate(a, weir_sketch_distinct(s, &e, NULL), &e);
    note_items(a, weir_sketch_sample(s, &out, NULL), &out);
    assert_true(a->count > 0);
}

/* What it answers as it is, and after more keys. */
static answers golden_answers(weir_sketch *s) {
    static uint64_t more[RECORDS];
    answers a = {.count = 0};
    draw_keys(more, 12);
    ask_all(s, &a);
    add_numbers(s, more, NULL, RECORDS, 500);
    ask_all(s, &a);
    return a;
}

static const char *golden_path(size_t k, const char *ending) {
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/sketch_%s.%s", WEIR_SOURCE_DIR, golden_names[k],
             ending);
    return path;
}

/* What is missing: snapshots are made, answers are what today's code reads from them. */
static void write_golden(size_t k) {
    static uint64_t keys[RECORDS];
    weir_sketch *s;
    weir_error err = {0};
    if (access(golden_path(k, "weir"), F_OK) != 0) {
        s = make_sketch(specs[k]);
        draw_keys(keys, 11);
        add_numbers(s, keys, NULL, RECORDS, 500);
        assert_int_equal(weir_sketch_save(s, golden_path(k, "weir"), NULL), WEIR_OK);
        weir_sketch_free(s);
    }
    if (access(golden_path(k, "answers"), F_OK) == 0) return;
    if (weir_sketch_load(&s, golden_path(k, "weir"), &err)) fail_msg("%s", err.message);
    answers a = golden_answers(s);
    FILE *file = fopen(golden_path(k, "answers"), "w");
    for (size_t i = 0; i < a.count; i++) fprintf(file, "%.15g\n", a.numbers[i]);
    fclose(file);
    weir_sketch_free(s);
}

/* The last digits may differ between compilers. */
static void golden_files_give_the_same_answers(void **state) {
    (void)state;
    for (size_t k = 0; k < SPECS; k++) {
        weir_sketch *s;
        weir_error err = {0};
        double expected;
        if (weir_sketch_load(&s, golden_path(k, "weir"), &err)) fail_msg("%s", err.message);
        answers a = golden_answers(s);
        FILE *file = fopen(golden_path(k, "answers"), "r");
        assert_non_null(file);
        for (size_t i = 0; i < a.count; i++) {
            assert_int_equal(fscanf(file, "%lf", &expected), 1);
            if (!(fabs(a.numbers[i] - expected) <= 1e-9 * fmax(1, fabs(expected))))
                fail_msg("the golden '%s' gives %.15g for answer %zu, not %.15g", golden_names[k],
                         a.numbers[i], i, expected);
        }
        assert_int_equal(fscanf(file, "%lf", &expected), EOF);
        fclose(file);
        weir_sketch_free(s);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--write-golden") == 0) {
        for (size_t k = 0; k < SPECS; k++) write_golden(k);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_do_not_matter),
                                       cmocka_unit_test(records_in_a_row_hash_as_keys),
                                       cmocka_unit_test(saved_sketches_go_on),
                                       cmocka_unit_test(damage_is_noticed),
                                       cmocka_unit_test(noise_does_no_harm),
                                       cmocka_unit_test(merging_needs_alike),
                                       cmocka_unit_test(questions_are_refused_clearly),
                                       cmocka_unit_test(kinds_describe_themselves),
                                       cmocka_unit_test(times_matter_where_they_do),
                                       cmocka_unit_test(a_key_has_a_weight_and_a_time),
                                       cmocka_unit_test(keys_can_be_looked_up_ahead),
                                       cmocka_unit_test(nothing_was_counted),
                                       cmocka_unit_test(golden_files_give_the_same_answers)};
    return cmocka_run_group_tests(tests, NULL, remove_scratch);
}
