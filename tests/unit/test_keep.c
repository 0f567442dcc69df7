/* test_keep.c - objects with the memory and through the functions of the caller.
 *
 * An allocator that counts shows that all an object holds comes from it, that this is
 * no more than was said, and that all of it is given back. The bytes of a snapshot are the same
 * in a file, through functions and in memory, and every status of loading is reached.
 */
#include "testing.h"
#include "weir_embed.h"
#include "weir_pairs.h"
#include "weir_sites.h"
#include "weir_sketch.h"
#include "weir_text.h"

#include <sys/stat.h>

/* ---- an allocator that counts ---- */

typedef struct {
    size_t live, most;  /* bytes */
    long until_failure; /* takes left before one fails; -1: never */
    size_t shift;       /* what comes is so far from a cache line */
} counting;

typedef struct {
    size_t bytes;
    void *block;
} mark;

static void *take(void *context, size_t bytes) {
    counting *c = context;
    if (c->until_failure > 0 && --c->until_failure == 0) return NULL;
    uint8_t *block = aligned_alloc(64, (bytes + 64 + c->shift + 63) / 64 * 64);
    if (!block) return NULL;
    uint8_t *at = block + 64 + c->shift;
    memset(at, 0, bytes);
    memcpy(at - sizeof(mark), &(mark){bytes, block}, sizeof(mark));
    c->live += bytes;
    if (c->live > c->most) c->most = c->live;
    return at;
}

static void give(void *context, void *memory) {
    mark m;
    memcpy(&m, (uint8_t *)memory - sizeof m, sizeof m);
    ((counting *)context)->live -= m.bytes;
    free(m.block);
}

static const size_t shifts[] = {0, 16, 48};

static weir_filter *filter_with(const char *spec, counting *c) {
    weir_filter *filter;
    weir_error err = {0};
    weir_allocator allocator = {take, give, c};
    if (weir_filter_new_with(&filter, spec, &allocator, &err) != WEIR_OK)
        fail_msg("%s: %s", spec, err.message);
    return filter;
}

static void offer_words(weir_filter *filter, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word = test_word(5, i * i % 977);
        weir_filter_offer(filter, &word, sizeof word);
    }
}

static const char *spec_of(const weir_kind *kind) {
    static char spec[160];
    snprintf(spec, sizeof spec, "%s:memory=%s,fpr=1%%,seed=7%s", kind->name,
             least_memory(kind, "4K"), strcmp(kind->name, "window") == 0 ? ",length=1000" : "");
    return spec;
}

static void filters_hold_what_they_say(void **unused) {
    (void)unused;
    for (size_t i = 0; weir_filter_kind(i); i++)
        for (size_t s = 0; s < 3; s++) {
            counting c = {.until_failure = -1, .shift = shifts[s]};
            weir_filter *filter = filter_with(spec_of(weir_filter_kind(i)), &c);
            weir_filter *twin = make_filter(spec_of(weir_filter_kind(i)));
            weir_filter_info info;
            offer_words(filter, 3000);
            offer_words(twin, 3000);
            weir_filter_get_info(filter, &info);
            size_t sites = weir_filter_sites(filter);
            assert_true(c.live > 0);
            if (c.live > info.memory + 64 + 8192 * (sites ? sites : 1))
                fail_msg("%s holds %zu bytes and says %llu", info.name, c.live,
                         (unsigned long long)info.memory);
            for (uint64_t k = 0; k < 977; k++) {
                uint64_t word = test_word(5, k);
                assert_int_equal(weir_filter_test(filter, &word, sizeof word),
                                 weir_filter_test(twin, &word, sizeof word));
            }
            weir_filter_clear(filter);
            weir_filter_free(filter);
            weir_filter_free(twin);
            assert_int_equal(c.live, 0);
        }
}

/* The kinds of sketches and an answer of each that needs memory of its own. */
static const char *const sketches[] = {
    "countmin:memory=4K",  "agms:memory=4K",
    "top:k=8,memory=8K",   "dyadic:memory=64K",
    "hll:memory=1K",       "kmv:memory=4K",
    "linear:memory=1K",    "multires:memory=1K",
    "pcsa:memory=1K",      "distinct:memory=8K",
    "sample:memory=8K",    "sticky:support=10%,error=5%",
    "spectral:memory=4K",  "ams:memory=4K",
    "spacecode:memory=4K", "window:length=100,of=(countmin:memory=4K)"};

static void add_numbers(weir_sketch *sketch, int from, int to) {
    weir_error err = {0};
    for (int i = from; i < to; i++) {
        char key[16];
        int length = snprintf(key, sizeof key, "%d", i * i % 101);
        if (weir_sketch_add(sketch, key, (size_t)length, 1, &err) != WEIR_OK)
            fail_msg("%s", err.message);
    }
}

static weir_sketch *sketch_with(const char *spec, counting *c) {
    weir_sketch *sketch;
    weir_error err = {0};
    weir_allocator allocator = {take, give, c};
    if (weir_sketch_new_with(&sketch, spec, &allocator, &err) != WEIR_OK)
        fail_msg("%s: %s", spec, err.message);
    return sketch;
}

static void sketches_give_all_back(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        counting c = {.until_failure = -1};
        weir_sketch *sketch = sketch_with(sketches[i], &c);
        weir_estimate estimate;
        add_numbers(sketch, 0, 500);
        weir_sketch_estimate(sketch, "4", 1, WEIR_BY_AUTO, &estimate, NULL);
        weir_sketch_distinct(sketch, &estimate, NULL);
        weir_sketch_common(sketch, sketch, &estimate, NULL);
        assert_true(c.live > 0);
        weir_sketch_free(sketch);
        assert_int_equal(c.live, 0);
    }
}

static void refused_memory_is_an_error(void **unused) {
    (void)unused;
    weir_error err;
    for (size_t i = 0; weir_filter_kind(i); i++)
        for (long n = 1;; n++) {
            counting c = {.until_failure = n};
            weir_allocator allocator = {take, give, &c};
            weir_filter *filter;
            weir_status status =
                weir_filter_new_with(&filter, spec_of(weir_filter_kind(i)), &allocator, &err);
            if (status == WEIR_OK) {
                assert_true(n > 2);
                weir_filter_free(filter);
                break;
            }
            assert_int_equal(status, WEIR_ERR_MEMORY);
            assert_null(filter);
            assert_int_equal(c.live, 0);
        }
}

/* ---- the bytes of a snapshot ---- */

typedef struct {
    uint8_t bytes[1 << 17];
    size_t length, at, fail_at, most; /* most: bytes that a read gives; 0: all */
} tape;

static bool put(void *context, const void *bytes, size_t length) {
    tape *t = context;
    if (t->fail_at && t->length + length > t->fail_at) return false;
    assert_true(t->length + length <= sizeof t->bytes);
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    return true;
}

static int64_t get(void *context, void *bytes, size_t length) {
    tape *t = context;
    if (t->fail_at && t->at + length > t->fail_at) return -1;
    size_t n = t->length - t->at < length ? t->length - t->at : length;
    if (t->most && n > t->most) n = t->most;
    memcpy(bytes, t->bytes + t->at, n);
    t->at += n;
    return (int64_t)n;
}

static void read_whole(const char *path, tape *t) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    t->length = fread(t->bytes, 1, sizeof t->bytes, file);
    fclose(file);
}

static void all_ways_have_the_same_bytes(void **unused) {
    (void)unused;
    static tape file, written, again;
    for (size_t i = 0; weir_filter_kind(i); i++) {
        counting c = {.until_failure = -1};
        weir_allocator allocator = {take, give, &c};
        weir_filter *filter = make_filter(spec_of(weir_filter_kind(i))), *back, *copy;
        weir_error err = {0};
        size_t length;
        offer_words(filter, 2000);
        assert_int_equal(weir_filter_save(filter, scratch_path("a.weir"), &err), WEIR_OK);
        read_whole(scratch_path("a.weir"), &file);
        written.length = again.length = 0;
        assert_int_equal(weir_filter_save_to(filter, put, &written, &err), WEIR_OK);
        assert_int_equal(written.length, file.length);
        assert_memory_equal(written.bytes, file.bytes, file.length);
        assert_int_equal(weir_filter_save_bytes(filter, NULL, 0, &length, &err), WEIR_ERR_RANGE);
        assert_int_equal(length, file.length);
        assert_int_equal(weir_filter_save_bytes(filter, again.bytes, length, &again.length, &err),
                         WEIR_OK);
        assert_memory_equal(again.bytes, file.bytes, file.length);

        written.at = 0, written.most = 13;
        assert_int_equal(weir_filter_load_from(&back, get, &written, &allocator, &err), WEIR_OK);
        again.length = 0;
        assert_int_equal(weir_filter_save_to(back, put, &again, &err), WEIR_OK);
        assert_memory_equal(again.bytes, file.bytes, file.length);
        weir_filter_free(back);
        assert_int_equal(c.live, 0);

        assert_int_equal(weir_filter_clone(&copy, filter, &allocator, &err), WEIR_OK);
        offer_words(filter, 10);
        weir_filter_free(filter);
        again.length = 0;
        assert_int_equal(weir_filter_save_to(copy, put, &again, &err), WEIR_OK);
        assert_memory_equal(again.bytes, file.bytes, file.length);
        weir_filter_free(copy);
        assert_int_equal(c.live, 0);
    }
}

static void sketches_are_kept_too(void **unused) {
    (void)unused;
    static tape written, again;
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        counting c = {.until_failure = -1};
        weir_allocator allocator = {take, give, &c};
        weir_sketch *sketch, *back, *copy;
        weir_error err = {0};
        size_t length;
        if (weir_sketch_new(&sketch, sketches[i], &err) != WEIR_OK) fail_msg("%s", err.message);
        add_numbers(sketch, 0, 300);
        written.length = written.at = again.length = 0;
        assert_int_equal(weir_sketch_save_to(sketch, put, &written, &err), WEIR_OK);
        assert_int_equal(weir_sketch_load_from(&back, get, &written, &allocator, &err), WEIR_OK);
        assert_int_equal(weir_sketch_clone(&copy, back, &allocator, &err), WEIR_OK);
        add_numbers(sketch, 300, 400);
        add_numbers(copy, 300, 400);
        weir_sketch_free(back);
        written.length = 0;
        assert_int_equal(weir_sketch_save_to(sketch, put, &written, &err), WEIR_OK);
        assert_int_equal(
            weir_sketch_save_bytes(copy, again.bytes, sizeof again.bytes, &length, &err), WEIR_OK);
        assert_int_equal(length, written.length);
        assert_memory_equal(again.bytes, written.bytes, length);
        assert_int_equal(weir_sketch_load_bytes(&back, again.bytes, length, NULL, &err), WEIR_OK);
        weir_sketch_free(back);
        weir_sketch_free(copy);
        weir_sketch_free(sketch);
        assert_int_equal(c.live, 0);
    }
}

/* ---- failures ---- */

static void load_fails(const tape *t, weir_status wanted) {
    weir_filter *filter = (weir_filter *)&filter;
    weir_error err = {0};
    weir_status status = weir_filter_load_bytes(&filter, t->bytes, t->length, NULL, &err);
    if (status != wanted) fail_msg("status %d, not %d: %s", status, wanted, err.message);
    assert_null(filter);
    assert_int_equal(err.code, wanted);
    assert_true(err.message[0]);
}

static void every_status_of_loading(void **unused) {
    (void)unused;
    static tape t, other;
    weir_filter *filter = make_filter("bloom:memory=4K,seed=7"), *back;
    weir_sketch *sketch;
    weir_error err = {0};
    offer_words(filter, 100);
    t.fail_at = 100;
    assert_int_equal(weir_filter_save_to(filter, put, &t, &err), WEIR_ERR_IO);
    assert_string_equal(err.message, "the function given for writing has failed");
    t.fail_at = t.length = 0;
    assert_int_equal(weir_filter_save_to(filter, put, &t, &err), WEIR_OK);
    t.fail_at = 100;
    assert_int_equal(weir_filter_load_from(&back, get, &t, NULL, &err), WEIR_ERR_IO);
    assert_null(back);
    t.fail_at = 0;
    other = t, other.bytes[other.length / 2] ^= 1;
    load_fails(&other, WEIR_ERR_CORRUPT);
    other = t, other.length--;
    load_fails(&other, WEIR_ERR_CORRUPT);
    other = t, other.bytes[other.length++] = 0;
    load_fails(&other, WEIR_ERR_CORRUPT);
    other = t, other.length = 0;
    load_fails(&other, WEIR_ERR_CORRUPT);
    other = t, other.bytes[8] = 99;
    load_fails(&other, WEIR_ERR_VERSION);
    assert_int_equal(weir_sketch_new(&sketch, "hll:memory=1K", &err), WEIR_OK);
    other.length = 0;
    assert_int_equal(weir_sketch_save_to(sketch, put, &other, &err), WEIR_OK);
    load_fails(&other, WEIR_ERR_MISMATCH);
    counting c = {.until_failure = 1};
    weir_allocator allocator = {take, give, &c};
    assert_int_equal(weir_filter_load_bytes(&back, t.bytes, t.length, &allocator, &err),
                     WEIR_ERR_MEMORY);
    c.until_failure = 1;
    assert_int_equal(weir_filter_clone(&back, filter, &allocator, &err), WEIR_ERR_MEMORY);
    weir_sketch_free(sketch);
    weir_filter_free(filter);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

/* A new file has the mode that the umask leaves, a replaced one keeps its own. */
static void modes_follow_the_umask(void **unused) {
    (void)unused;
    weir_filter *filter = make_filter("bloom:memory=4K,seed=7");
    const char *path = scratch_path("mode.weir");
    mode_t before = umask(027);
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(path, 0606), 0);
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    assert_int_equal(mode_of(path), 0606);
    assert_int_equal(umask(before), 027);
    weir_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_hold_what_they_say),
        cmocka_unit_test(sketches_give_all_back),
        cmocka_unit_test(refused_memory_is_an_error),
        cmocka_unit_test(all_ways_have_the_same_bytes),
        cmocka_unit_test(sketches_are_kept_too),
        cmocka_unit_test(every_status_of_loading),
        cmocka_unit_test(modes_follow_the_umask),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
