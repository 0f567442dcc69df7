/* test_snapshot.c - what is saved comes back; what is damaged does not.
 *
 * The tests run over every kind of filter. Golden files under tests/golden hold
 * a filter of each kind as this format version first wrote it: they must load
 * and give the same verdicts for ever. `test_snapshot --write-golden` makes
 * those that are missing.
 */
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/hash.h"
#include "core/rng.h"
#include "weir_embed.h"

#define KEYS 6000

static uint64_t key_hash(size_t i) { return test_word(31, i % 3 == 2 ? i * 7 % 1000 : i); }

/* Offer keys [from, to) and fold the verdicts into one word. */
static uint64_t offer_range(weir_filter *filter, size_t from, size_t to) {
    uint64_t digest = 1;
    for (size_t i = from; i < to; i++) {
        uint64_t hash = key_hash(i), verdict;
        weir_filter_offer_batch(filter, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
        digest = weir__mix64(digest * 2 + verdict);
    }
    return digest;
}

static const char *spec_of(const weir_kind *kind, const char *memory) {
    static char spec[64];
    snprintf(spec, sizeof spec, "%s:memory=%s,fpr=1%%,seed=9", kind->name,
             least_memory(kind, memory));
    return spec;
}

static uint8_t *read_whole(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = calloc(1, *length + 1);
    assert_int_equal(fread(bytes, 1, *length, file), *length);
    fclose(file);
    return bytes;
}

static void write_whole(const char *path, const uint8_t *bytes, size_t length) {
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static void a_loaded_filter_goes_on_where_it_was(void **state) {
    (void)state;
    for (size_t k = 0; weir_filter_kind(k); k++) {
        const char *path = scratch_path("filter.weir");
        weir_filter *filter = make_filter(spec_of(weir_filter_kind(k), "4K")), *loaded;
        weir_error err = {0};
        offer_range(filter, 0, KEYS / 2);
        if (weir_filter_save(filter, path, &err)) fail_msg("%s", err.message);
        if (weir_filter_load(&loaded, path, &err)) fail_msg("%s", err.message);
        char a[1024], b[1024];
        weir_filter_spec(filter, a, sizeof a);
        weir_filter_spec(loaded, b, sizeof b);
        assert_string_equal(a, b);
        if (offer_range(filter, KEYS / 2, KEYS) != offer_range(loaded, KEYS / 2, KEYS))
            fail_msg("%s gives other verdicts after loading", a);
        weir_filter_info before, after;
        weir_filter_get_info(filter, &before);
        weir_filter_get_info(loaded, &after);
        assert_int_equal(before.seen, after.seen);
        assert_int_equal(before.offered, after.offered);
        assert_true(before.fill == after.fill && before.fpr_now == after.fpr_now);
        weir_filter_free(filter);
        weir_filter_free(loaded);
    }
}

static void large_and_sparse_filters_come_back(void **state) {
    (void)state;
    const char *path = scratch_path("sparse.weir");
    weir_filter *filter = make_filter("bloom:memory=32M,seed=9"), *loaded;
    offer_range(filter, 0, 40);
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    /* 40 keys touch some of the 32 blocks of 1 MiB; those that they do not are not written */
    assert_true(st.st_size > 1 << 20 && st.st_size < 31 * (1 << 20));
    assert_int_equal(weir_filter_load(&loaded, path, NULL), WEIR_OK);
    assert_int_equal(offer_range(filter, 0, KEYS), offer_range(loaded, 0, KEYS));
    weir_filter_free(filter);
    weir_filter_free(loaded);
    filter = make_filter("bloom:memory=32M,seed=9");
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 1000);
    assert_int_equal(weir_filter_load(&loaded, path, NULL), WEIR_OK);
    weir_filter_free(filter);
    weir_filter_free(loaded);
}

/* Every byte of a small file, and of a large one, made of parts that are small
 * ones, every 211th; under a slow checker every 61st of a small one. */
static size_t next_byte(size_t i, size_t length) {
    return i + (length >= 8192 ? 211 : test_slowness() > 1 ? 61 : 1);
}

/* These bytes are read, as a file now and then and else from memory: never a success. */
static void expect_refused(const uint8_t *bytes, size_t length, bool as_file, const char *path) {
    weir_snapshot *back;
    weir_error err = {0};
    if (as_file) write_whole(path, bytes, length);
    weir_status status = as_file ? weir_snapshot_read(&back, path, &err)
                                 : weir_snapshot_read_bytes(&back, bytes, length, NULL, &err);
    if (status == WEIR_OK) fail_msg("a damaged snapshot of %zu bytes was read", length);
    assert_null(back);
    assert_true(err.message[0] != 0);
}

/* The bytes of a snapshot with all kinds of parts, each changed by one bit or in all, and its
 * lengths: never a crash, never a success. */
static void no_damaged_file_is_accepted(void **state) {
    (void)state;
    const char *path = scratch_path("damaged.weir");
    for (size_t k = 0; weir_filter_kind(k); k++) {
        weir_filter *filter = make_filter(spec_of(weir_filter_kind(k), "1K"));
        weir_audit *audit;
        weir_snapshot *snapshot, *back;
        weir_error err = {0};
        offer_range(filter, 0, 300);
        assert_int_equal(weir_audit_new(&audit, 4096, 1, 0, false, false, NULL), WEIR_OK);
        uint64_t hash = 5, verdict = 0;
        weir_audit_observe(audit, &(weir_batch){.count = 1, .hashes = &hash}, &verdict);
        assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);
        weir_snapshot_put_note(snapshot, "run", "a note", 6, NULL);
        weir_snapshot_put_filter(snapshot, "filter", filter, NULL);
        weir_snapshot_put_audit(snapshot, "audit", audit, NULL);
        assert_int_equal(weir_snapshot_write(snapshot, path, &err), WEIR_OK);
        weir_snapshot_free(snapshot);
        weir_filter_free(filter);
        weir_audit_free(audit);

        size_t length = 0;
        uint8_t *bytes = read_whole(path, &length);
        for (size_t i = 0; i < length; i = next_byte(i, length)) {
            uint8_t flip = i % 2 ? 0x01 : 0xff;
            bytes[i] ^= flip;
            expect_refused(bytes, length, i % 16 == 0, path);
            bytes[i] ^= flip;
        }
        for (size_t cut = 0; cut < length; cut = next_byte(cut, length))
            expect_refused(bytes, cut, cut % 16 == 0, path);
        write_whole(path, bytes, length + 1);
        assert_int_equal(weir_snapshot_read(&back, path, &err), WEIR_ERR_CORRUPT);
        write_whole(path, bytes, length);
        assert_int_equal(weir_snapshot_read(&back, path, &err), WEIR_OK);
        weir_snapshot_free(back);
        free(bytes);
    }
}

static void newer_files_and_other_files_are_named_so(void **state) {
    (void)state;
    const char *path = scratch_path("newer.weir");
    weir_filter *filter = make_filter("bloom:memory=1K"), *loaded;
    weir_error err;
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    weir_filter_free(filter);
    size_t length;
    uint8_t *bytes = read_whole(path, &length);
    bytes[8] = 2;
    write_whole(path, bytes, length);
    free(bytes);
    assert_int_equal(weir_filter_load(&loaded, path, &err), WEIR_ERR_VERSION);
    assert_non_null(strstr(err.message, "use a newer weir"));
    write_whole(path, (const uint8_t *)"hello, this is text\n", 20);
    assert_int_equal(weir_filter_load(&loaded, path, &err), WEIR_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "is not a weir snapshot"));
    assert_int_equal(weir_filter_load(&loaded, scratch_folder(), &err), WEIR_ERR_IO);
    assert_int_equal(weir_filter_load(&loaded, scratch_path("none"), &err), WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
}

static void parts_are_named_and_taken_once(void **state) {
    (void)state;
    const char *path = scratch_path("parts.weir");
    weir_snapshot *snapshot;
    weir_error err;
    weir_filter *filter = make_filter("bloom:memory=1K");
    assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_put_filter(snapshot, "a", filter, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_put_note(snapshot, "b", "x\0y", 3, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_put_note(snapshot, "a", "", 0, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_snapshot_put_note(snapshot, "", "", 0, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_snapshot_put_note(snapshot, "no spaces", "", 0, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_snapshot_put_note(snapshot, "farTooLongForAName", "", 0, &err),
                     WEIR_ERR_RANGE);
    assert_int_equal(weir_snapshot_write(snapshot, path, NULL), WEIR_OK);
    weir_snapshot_free(snapshot);
    weir_filter_free(filter);

    assert_int_equal(weir_snapshot_read(&snapshot, path, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_count(snapshot), 2);
    weir_snapshot_part part;
    weir_snapshot_get_part(snapshot, 0, &part);
    assert_string_equal(part.name, "a");
    assert_string_equal(part.kind, "filter");
    assert_true(part.bytes > 0);
    size_t length;
    assert_memory_equal(weir_snapshot_note(snapshot, "b", &length), "x\0y", 3);
    assert_int_equal(length, 3);
    assert_null(weir_snapshot_note(snapshot, "a", &length));
    assert_null(weir_snapshot_take_audit(snapshot, "a"));
    filter = weir_snapshot_take_filter(snapshot, "a");
    assert_non_null(filter);
    assert_null(weir_snapshot_take_filter(snapshot, "a"));

    /* written again, it is what was not taken */
    assert_int_equal(weir_snapshot_write(snapshot, path, NULL), WEIR_OK);
    weir_snapshot_free(snapshot);
    weir_filter_free(filter);
    assert_int_equal(weir_snapshot_read(&snapshot, path, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_count(snapshot), 1);
    assert_memory_equal(weir_snapshot_note(snapshot, "b", &length), "x\0y", 3);
    weir_snapshot_free(snapshot);
}

/* A file that was read can be written as it is. */
static void what_was_read_can_be_written(void **state) {
    (void)state;
    const char *path = scratch_path("again.weir");
    weir_snapshot *snapshot;
    weir_filter *filter = make_filter("bloom:memory=1K"), *loaded;
    assert_int_equal(weir_filter_offer(filter, "key", 3), WEIR_NEW);
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_read(&snapshot, path, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_put_note(snapshot, "empty", NULL, 0, NULL), WEIR_OK);
    assert_int_equal(weir_snapshot_write(snapshot, path, NULL), WEIR_OK);
    weir_snapshot_free(snapshot);
    assert_int_equal(weir_filter_load(&loaded, path, NULL), WEIR_OK);
    assert_int_equal(weir_filter_offer(loaded, "key", 3), WEIR_SEEN);
    assert_int_equal(weir_filter_offer_batch(loaded, &(weir_batch){0}, NULL), 0);
    assert_int_equal(weir_filter_test_batch(loaded, &(weir_batch){0}, NULL), 0);
    weir_filter_free(filter);
    weir_filter_free(loaded);
}

/* A save that cannot finish leaves the old file as it was and nothing else. */
static void a_failed_save_leaves_the_old_file(void **state) {
    (void)state;
    const char *path = scratch_path("kept.weir");
    weir_filter *filter = make_filter("bloom:memory=1M,seed=1"), *loaded;
    weir_error err;
    offer_range(filter, 0, 100);
    assert_int_equal(weir_filter_save(filter, path, NULL), WEIR_OK);
    offer_range(filter, 0, KEYS);
    struct rlimit old, tight = {.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &old);
    tight.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &tight);
    signal(SIGXFSZ, SIG_IGN);
    weir_status status = weir_filter_save(filter, path, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, WEIR_ERR_IO);
    assert_non_null(strstr(err.message, "cannot write"));
    assert_int_equal(weir_filter_load(&loaded, path, NULL), WEIR_OK);
    weir_filter_info info;
    weir_filter_get_info(loaded, &info);
    assert_int_equal(info.offered, 100);
    char command[256];
    snprintf(command, sizeof command, "ls %s | grep -c new$ >/dev/null", scratch_folder());
    assert_int_not_equal(system(command), 0);
    assert_int_equal(weir_filter_save(filter, scratch_path("no/such/folder.weir"), &err),
                     WEIR_ERR_IO);
    weir_filter_free(filter);
    weir_filter_free(loaded);
}

static void saving_follows_links_and_keeps_modes(void **state) {
    (void)state;
    const char *real = scratch_path("real.weir"), *alias = scratch_path("alias.weir");
    weir_filter *filter = make_filter("bloom:memory=1K");
    struct stat st;
    assert_int_equal(weir_filter_save(filter, real, NULL), WEIR_OK);
    chmod(real, 0640);
    assert_int_equal(symlink(real, alias), 0);
    assert_int_equal(weir_filter_save(filter, alias, NULL), WEIR_OK);
    assert_int_equal(lstat(alias, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(real, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    weir_filter_free(filter);
}

/* ---- golden files ---- */

static const char *golden_path(const weir_kind *kind, const char *ending) {
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/%s.%s", WEIR_SOURCE_DIR, kind->name, ending);
    return path;
}

static void write_golden(const weir_kind *kind) {
    if (access(golden_path(kind, "weir"), F_OK) == 0) return;
    weir_filter *filter = make_filter(spec_of(kind, "1K"));
    offer_range(filter, 0, KEYS / 2);
    assert_int_equal(weir_filter_save(filter, golden_path(kind, "weir"), NULL), WEIR_OK);
    FILE *file = fopen(golden_path(kind, "verdicts"), "w");
    fprintf(file, "%016llx\n", (unsigned long long)offer_range(filter, KEYS / 2, KEYS));
    fclose(file);
    weir_filter_free(filter);
}

static void golden_files_give_the_same_verdicts(void **state) {
    (void)state;
    for (size_t k = 0; weir_filter_kind(k); k++) {
        weir_filter *filter;
        weir_error err = {0};
        unsigned long long expected;
        if (weir_filter_load(&filter, golden_path(weir_filter_kind(k), "weir"), &err))
            fail_msg("%s", err.message);
        FILE *file = fopen(golden_path(weir_filter_kind(k), "verdicts"), "r");
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%llx", &expected), 1);
        fclose(file);
        if (offer_range(filter, KEYS / 2, KEYS) != expected)
            fail_msg("the golden '%s' gives other verdicts", weir_filter_kind(k)->name);
        weir_filter_free(filter);
    }
}

static int clean_up(void **state) {
    (void)state;
    remove_scratch_folder();
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--write-golden") == 0) {
        for (size_t k = 0; weir_filter_kind(k); k++) write_golden(weir_filter_kind(k));
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loaded_filter_goes_on_where_it_was),
        cmocka_unit_test(large_and_sparse_filters_come_back),
        cmocka_unit_test(no_damaged_file_is_accepted),
        cmocka_unit_test(newer_files_and_other_files_are_named_so),
        cmocka_unit_test(parts_are_named_and_taken_once),
        cmocka_unit_test(what_was_read_can_be_written),
        cmocka_unit_test(a_failed_save_leaves_the_old_file),
        cmocka_unit_test(saving_follows_links_and_keeps_modes),
        cmocka_unit_test(golden_files_give_the_same_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
