/* test_pairs_store.c - streams of fingerprints against a sorted array: in memory,
 * spilled, merged in several passes, settled; and the sort itself. */
#include <dirent.h>

#include "core/rng.h"
#include "pairs/sort64.h"
#include "pairs/store.h"
#include "testing.h"

static int by_word(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Words of a kind: hashes, few values, heavy repeats that share their top bits. */
static uint64_t word_of(unsigned kind, uint64_t *rng) {
    uint64_t w = weir__rng_next(rng);
    switch (kind) {
    case 0:
        return w;
    case 1:
        return weir__mix64(w % 50);
    case 2:
        return UINT64_C(0xabcdef0000000000) + w % 3;
    case 3:
        return w % 2 ? w : weir__mix64(w % 7);
    case 4:
        return w % 100; /* no hash at all */
    default:
        return 42;
    }
}

static void test_sort(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 1000, 5000, 100000};
    uint64_t *a = malloc(100000 * 8), *b = malloc(100000 * 8), *scratch = malloc(100000 * 8);
    for (unsigned kind = 0; kind < 6; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            uint64_t rng = kind * 100 + s;
            for (size_t i = 0; i < sizes[s]; i++) a[i] = b[i] = word_of(kind, &rng);
            weir__sort64(a, scratch, sizes[s]);
            if (sizes[s]) qsort(b, sizes[s], 8, by_word);
            assert_memory_equal(a, b, sizes[s] * 8);
        }
    free(a);
    free(b);
    free(scratch);
}

enum { SHARES = 3 };
static const uint32_t shares[SHARES] = {1, 3, 2};

static void add(weir__store *store, uint64_t *model[SHARES], size_t *count, size_t records,
                unsigned kind, uint64_t seed) {
    uint64_t rng = seed;
    while (records) {
        size_t n = weir__store_reserve(store, records < 100 ? records : 100, NULL);
        assert_true(n > 0);
        for (size_t s = 0; s < SHARES; s++) {
            uint64_t *to = weir__store_end(store, s);
            for (size_t i = 0; i < n * shares[s]; i++)
                model[s][*count * shares[s] + i] = to[i] = word_of(kind, &rng);
        }
        weir__store_commit(store, n);
        *count += n;
        records -= n;
    }
}

static void expect_model(weir__store *store, uint64_t *model[SHARES], size_t records) {
    for (size_t s = 0; s < SHARES; s++) {
        size_t n = records * shares[s], at = 0;
        qsort(model[s], n, 8, by_word);
        weir__cursor *c = weir__cursor_open(store, s, NULL);
        assert_non_null(c);
        for (uint64_t word, count; weir__cursor_next(c, &word, &count);) {
            size_t end = at;
            while (end < n && model[s][end] == model[s][at]) end++;
            assert_true(at < n && word == model[s][at] && count == end - at);
            at = end;
        }
        assert_int_equal(at, n);
        assert_int_equal(weir__cursor_close(c, NULL), WEIR_OK);
    }
}

static weir__store *make(uint64_t memory) {
    weir__store *store;
    weir_error err = {0};
    if (weir__store_new(&store, memory, SHARES, shares, &err)) fail_msg("%s", err.message);
    assert_int_equal(weir__store_folder(store, scratch_folder(), NULL), WEIR_OK);
    return store;
}

static size_t files_in(const char *folder) {
    size_t n = 0;
    DIR *d = opendir(folder);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void test_store(void **state) {
    (void)state;
    static const struct {
        uint64_t memory;
        size_t records;
    } cases[] = {
        {64 << 20, 0}, {64 << 20, 1}, {64 << 20, 20000}, {400 << 10, 20000}, {400 << 10, 120000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned kind = 0; kind < 6; kind++) {
            uint64_t *model[SHARES], lengths[SHARES], bytes;
            size_t count = 0, n = cases[i].records;
            for (size_t s = 0; s < SHARES; s++)
                model[s] = malloc((2 * n + 300) * shares[s] * 8 + 8);
            weir__store *store = make(cases[i].memory), *other = make(cases[i].memory);
            add(store, model, &count, n, kind, i);
            expect_model(store, model, count);
            if (n == 120000) assert_true(weir__store_disk(store) > 0);
            assert_int_equal(files_in(scratch_folder()), 0);
            add(other, model, &count, n / 2, kind, i + 9);
            assert_int_equal(weir__store_take(store, other, NULL), WEIR_OK);
            expect_model(store, model, count);
            expect_model(other, model, 0);
            assert_int_equal(weir__store_settle(store, lengths, NULL), WEIR_OK);
            expect_model(store, model, count);
            weir__store_image(store, &bytes);
            assert_int_equal(bytes, 8 * (lengths[0] + lengths[1] + lengths[2]));
            assert_int_equal(weir__store_image_check(store, NULL), WEIR_OK);
            add(store, model, &count, 200, kind, i + 5);
            expect_model(store, model, count);
            weir__store_free(store);
            weir__store_free(other);
            for (size_t s = 0; s < SHARES; s++) free(model[s]);
        }
}

/* A folder that cannot be written: told, and the store stays usable. */
static void test_no_folder(void **state) {
    (void)state;
    weir__store *store = make(400 << 10);
    weir_error err = {0};
    size_t n = 0;
    assert_int_equal(weir__store_folder(store, "/nowhere/at/all", NULL), WEIR_OK);
    for (int i = 0; i < 100000; i++) {
        n = weir__store_reserve(store, 1, &err);
        if (!n) break;
        for (size_t s = 0; s < SHARES; s++) memset(weir__store_end(store, s), i, shares[s] * 8);
        weir__store_commit(store, 1);
    }
    assert_int_equal(n, 0);
    assert_int_equal(err.code, WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    assert_int_equal(weir__store_folder(store, scratch_folder(), NULL), WEIR_OK);
    assert_int_equal(weir__store_reserve(store, 1, &err), 1);
    weir__store_free(store);
}

/* Images that no store wrote. */
static void test_bad_images(void **state) {
    (void)state;
    static const struct {
        uint64_t lengths[SHARES], words[6];
    } bad[] = {{{2, 0, 0}, {5, 4}},
               {{3, 0, 0}, {5, 5, 1}},
               {{2, 0, 0}, {5, 5}},
               {{4, 0, 0}, {5, 5, 2, 5}},
               {{1, 4, 0}, {9, 1, 3, 3, 0}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weir__store *store = make(400 << 10);
        uint64_t bytes;
        weir_error err = {0};
        assert_int_equal(weir__store_image_room(store, bad[i].lengths, NULL), WEIR_OK);
        uint8_t *image = weir__store_image(store, &bytes);
        memcpy(image, bad[i].words, bytes);
        assert_int_equal(weir__store_image_check(store, &err), WEIR_ERR_CORRUPT);
        weir__store_free(store);
    }
    weir__store *store = make(400 << 10);
    assert_int_equal(
        weir__store_image_room(store, (uint64_t[]){UINT64_MAX / 8, UINT64_MAX / 8, 7}, NULL),
        WEIR_ERR_CORRUPT);
    weir__store_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_bad_images),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
