/* test_status.c - every status of every function: what its comment in the headers names is reached
 * here, and what is reached is named.
 *
 * The public headers are read: the WEIR_ERR_ words of the comment above a function are its
 * statuses. The cases below note each status that a function returned. At the end both must agree.
 * Allocations fail at link time (as in test_alloc.c), and so do the system's random seed, reads
 * and writes of temporary files, and the size of an audit.
 */
#include "failing.h"
#include "testing.h"
#include "weir_cpu.h"
#include "weir_embed.h"
#include "weir_pairs.h"
#include "weir_plan.h"
#include "weir_sites.h"
#include "weir_sketch.h"
#include "weir_text.h"

#include <errno.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "pairs/pairs.h"
#include "snapshot/snapshot.h"

/* ---- what fails on demand ---- */

static bool no_seed, no_file, huge_audit;

bool __real_weir__random_seed(uint64_t *seed);
bool __wrap_weir__random_seed(uint64_t *seed) {
    return no_seed ? false : __real_weir__random_seed(seed);
}
ssize_t __real_pread(int fd, void *to, size_t length, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t length, off_t at) {
    if (!no_file) return __real_pread(fd, to, length, at);
    errno = EIO;
    return -1;
}
ssize_t __real_pwrite(int fd, const void *from, size_t length, off_t at);
ssize_t __wrap_pwrite(int fd, const void *from, size_t length, off_t at) {
    if (!no_file) return __real_pwrite(fd, from, length, at);
    errno = ENOSPC;
    return -1;
}
size_t __real_weir__audit_saved_size(const weir_audit *audit);
size_t __wrap_weir__audit_saved_size(const weir_audit *audit) {
    return huge_audit ? (size_t)2 << 30 : __real_weir__audit_saved_size(audit);
}

/* ---- what was reached ---- */

enum { FUNCTIONS_MOST = 200, STATUSES = WEIR_ERR_UNSUPPORTED + 1 };

typedef struct {
    char name[64];
    bool named[STATUSES], reached[STATUSES];
} function;

static function functions[FUNCTIONS_MOST];
static size_t function_count;
static weir_error err;

static function *function_named(const char *name) {
    for (size_t i = 0; i < function_count; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    assert_true(function_count < FUNCTIONS_MOST);
    function *f = &functions[function_count++];
    snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

static void note(const char *name, weir_status expected, weir_status status, int line) {
    until_failure = -1;
    no_seed = no_file = huge_audit = false;
    if (status != expected)
        fail_msg("line %d: %s gives %d (%s), not %d", line, name, status, err.message, expected);
    if (status != WEIR_OK && (err.code != status || !err.message[0]))
        fail_msg("line %d: %s leaves the error %d '%s'", line, name, err.code, err.message);
    function_named(name)->reached[status] = true;
    err = (weir_error){0};
}

/* Call a function (with &err as its last argument): it must return this status. */
#define GIVES(status, f, ...) note(#f, status, f(__VA_ARGS__, &err), __LINE__)
/* ... when its allocation number n fails. */
#define LACKS_MEMORY(n, f, ...) (until_failure = (n), GIVES(WEIR_ERR_MEMORY, f, __VA_ARGS__))

/* ---- snapshots that cannot be read ---- */

typedef struct {
    uint8_t bytes[1 << 16];
    size_t length;
} image;

static bool write_image(void *context, const void *bytes, size_t length) {
    image *to = context;
    assert_true(to->length + length <= sizeof to->bytes);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    return true;
}

static int64_t read_image(void *context, void *bytes, size_t length) {
    image *from = context;
    size_t n = length < from->length ? length : from->length;
    memcpy(bytes, from->bytes, n);
    memmove(from->bytes, from->bytes + n, from->length - n);
    from->length -= n;
    return (int64_t)n;
}

static bool write_nothing(void *context, const void *bytes, size_t length) {
    (void)context, (void)bytes, (void)length;
    return false;
}

static int64_t read_nothing(void *context, void *bytes, size_t length) {
    (void)context, (void)bytes, (void)length;
    return -1;
}

static image image_of(const weir_snapshot *snapshot) {
    image to = {.length = 0};
    assert_int_equal(weir_snapshot_write_to(snapshot, write_image, &to, NULL), WEIR_OK);
    return to;
}

/* Each of the statuses that reading can end with. */
static image spoiled(image good, weir_status status) {
    uint64_t chain = 0;
    if (status == WEIR_ERR_CORRUPT) good.bytes[good.length / 2] ^= 1;
    if (status == WEIR_ERR_VERSION) good.bytes[8] = 99;
    if (status != WEIR_ERR_MISMATCH) return good;
    for (size_t at = WEIR__SNAPSHOT_HEAD; at < good.length;) { /* another hash function's probe */
        weir__reader head = {good.bytes + at, good.bytes + good.length, false};
        uint32_t kind = weir__take32(&head), length = weir__take32(&head);
        uint8_t *body = good.bytes + at + WEIR__BLOCK_HEAD;
        weir__reader fields = {body, body + length, false};
        if (kind == WEIR__BLOCK_BYTES) body[4 + weir__take32(&fields)] ^= 1;
        chain = weir__checksum(body, length, weir__block_seed(chain, kind, length));
        weir__put64(good.bytes + at + 8, chain);
        at += WEIR__BLOCK_HEAD + length;
    }
    return good;
}

static const char *file_of(const image *from) {
    const char *path = scratch_path("status.weir");
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(from->bytes, 1, from->length, file), from->length);
    fclose(file);
    return path;
}

static const weir_status unreadable[] = {WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH};
#define NOWHERE "/nonexistent/weir"

/* ---- the cases ---- */

static void parsers(void **unused) {
    (void)unused;
    uint64_t whole;
    int64_t number;
    double real;
    GIVES(WEIR_ERR_RANGE, weir_parse_size, "many", &whole);
    GIVES(WEIR_ERR_RANGE, weir_parse_count, "many", &whole);
    GIVES(WEIR_ERR_RANGE, weir_parse_seed, "many", &whole);
    GIVES(WEIR_ERR_RANGE, weir_parse_rate, "often", &real);
    GIVES(WEIR_ERR_RANGE, weir_parse_duration, "long", &number);
    GIVES(WEIR_ERR_RANGE, weir_parse_integer, "1.5", 3, &number);
    GIVES(WEIR_ERR_RANGE, weir_parse_decimal, "x", 1, &real);
    GIVES(WEIR_ERR_RANGE, weir_cpu_choose, "abacus");
    GIVES(WEIR_ERR_MISMATCH, weir_spec_fits, ":memory=1M", "recent:memory=2097152");
}

/* Saving and loading of filters and sketches. */
#define KEEPING(thing, spec)                                                                       \
    static void keeping_a_##thing(void **unused) {                                                 \
        (void)unused;                                                                              \
        static image good, bad, buffer;                                                            \
        weir_##thing *object, *back;                                                               \
        weir_snapshot *snapshot;                                                                   \
        size_t length;                                                                             \
        no_seed = true;                                                                            \
        GIVES(WEIR_ERR_IO, weir_##thing##_new, &back, spec);                                       \
        no_seed = true;                                                                            \
        GIVES(WEIR_ERR_IO, weir_##thing##_new_with, &back, spec, NULL);                            \
        GIVES(WEIR_ERR_SPEC, weir_##thing##_new, &back, "nonsense");                               \
        GIVES(WEIR_ERR_SPEC, weir_##thing##_new_with, &back, "nonsense", NULL);                    \
        GIVES(WEIR_ERR_RANGE, weir_##thing##_new, &back, spec ",seed=-1");                         \
        GIVES(WEIR_ERR_RANGE, weir_##thing##_new_with, &back, spec ",seed=-1", NULL);              \
        LACKS_MEMORY(1, weir_##thing##_new, &back, spec);                                          \
        LACKS_MEMORY(1, weir_##thing##_new_with, &back, spec, NULL);                               \
        GIVES(WEIR_OK, weir_##thing##_new, &object, spec);                                         \
        GIVES(WEIR_ERR_IO, weir_##thing##_save, object, NOWHERE);                                  \
        LACKS_MEMORY(1, weir_##thing##_save, object, scratch_path("x"));                           \
        GIVES(WEIR_ERR_IO, weir_##thing##_save_to, object, write_nothing, NULL);                   \
        LACKS_MEMORY(1, weir_##thing##_save_to, object, write_image, &buffer);                     \
        GIVES(WEIR_ERR_RANGE, weir_##thing##_save_bytes, object, buffer.bytes, 9, &length);        \
        LACKS_MEMORY(1, weir_##thing##_save_bytes, object, buffer.bytes, 9, &length);              \
        LACKS_MEMORY(1, weir_##thing##_clone, &back, object, NULL);                                \
        assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);                             \
        GIVES(WEIR_ERR_RANGE, weir_snapshot_put_##thing, snapshot, "", object);                    \
        assert_int_equal(weir_snapshot_put_##thing(snapshot, #thing, object, NULL), WEIR_OK);      \
        good = image_of(snapshot);                                                                 \
        for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {                      \
            bad = spoiled(good, unreadable[i]);                                                    \
            GIVES(unreadable[i], weir_##thing##_load, &back, file_of(&bad));                       \
            GIVES(unreadable[i], weir_snapshot_read, &snapshot_read, file_of(&bad));               \
            GIVES(unreadable[i], weir_##thing##_load_bytes, &back, bad.bytes, bad.length, NULL);   \
            GIVES(unreadable[i], weir_snapshot_read_bytes, &snapshot_read, bad.bytes, bad.length,  \
                  NULL);                                                                           \
            buffer = bad;                                                                          \
            GIVES(unreadable[i], weir_##thing##_load_from, &back, read_image, &buffer, NULL);      \
            buffer = bad;                                                                          \
            GIVES(unreadable[i], weir_snapshot_read_from, &snapshot_read, read_image, &buffer,     \
                  NULL);                                                                           \
        }                                                                                          \
        GIVES(WEIR_ERR_IO, weir_##thing##_load, &back, NOWHERE);                                   \
        LACKS_MEMORY(1, weir_##thing##_load, &back, file_of(&good));                               \
        LACKS_MEMORY(1, weir_##thing##_load_bytes, &back, good.bytes, good.length, NULL);          \
        GIVES(WEIR_ERR_IO, weir_##thing##_load_from, &back, read_nothing, NULL, NULL);             \
        buffer = good;                                                                             \
        LACKS_MEMORY(1, weir_##thing##_load_from, &back, read_image, &buffer, NULL);               \
        weir_snapshot_free(snapshot);                                                              \
        weir_##thing##_free(object);                                                               \
    }

static weir_snapshot *snapshot_read;
KEEPING(filter, "bloom:memory=1K")
KEEPING(sketch, "countmin:memory=1K")

static void filters(void **unused) {
    (void)unused;
    weir_filter *bloom = make_filter("bloom:memory=1K,seed=1");
    weir_filter *other = make_filter("bloom:memory=1K,seed=2");
    weir_filter *stable = make_filter("stable:memory=1K,seed=1");
    weir_filter *more = make_filter("stable:memory=1K,seed=1");
    uint64_t count, verdict, hash = 1;
    weir_batch batch = {.count = 1, .hashes = &hash};
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_remove, bloom, "key", 3, NULL);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_remove_batch, bloom, &batch, &verdict);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_count, bloom, "key", 3, &count);
    GIVES(WEIR_ERR_MISMATCH, weir_filter_merge, bloom, other);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_merge, stable, more);
    weir_filter_free(bloom);
    weir_filter_free(other);
    weir_filter_free(stable);
    weir_filter_free(more);
}

/* A spec that is short enough by itself, and too long to be saved with all options resolved. */
static void long_specs(void **unused) {
    (void)unused;
    char spec[1024] = "growing:of=(bloom:k=", *at = spec + strlen(spec);
    weir_filter *filter;
    memset(at, '0', 960);
    strcpy(at + 960, "7)");
    GIVES(WEIR_ERR_SPEC, weir_filter_new, &filter, spec);
}

static void sites(void **unused) {
    (void)unused;
    weir_filter *bloom = make_filter("bloom:memory=1K,seed=1");
    weir_site_info info;
    weir_traffic traffic;
    weir_cut cut;
    weir_sites_question question = {.sites = 0, .lost = 0, .memory = 1 << 20, .fpr = 0.01};
    weir_sites_choice across, down;
    weir_servers_question servers = {.nodes = 0};
    weir_servers_plan plan;
    double least[2];
    GIVES(WEIR_ERR_RANGE, weir_plan_servers, &servers, &plan);
    GIVES(WEIR_ERR_RANGE, weir_filter_get_site, bloom, 0, &info);
    GIVES(WEIR_ERR_RANGE, weir_filter_set_site, bloom, 0, WEIR_SITE_LOST);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_get_traffic, bloom, &traffic);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_get_cut, bloom, &cut);
    GIVES(WEIR_ERR_RANGE, weir_plan_sites, &question, &across, &down);
    GIVES(WEIR_ERR_RANGE, weir_plan_least_sites, -1, 0.01, 0.1, 3, &least[0], &least[1]);
    weir_filter_free(bloom);
}

static void audits_and_snapshots(void **unused) {
    (void)unused;
    static image buffer;
    weir_audit *audit;
    weir_snapshot *snapshot;
    const char *path = scratch_path("y.weir");
    GIVES(WEIR_ERR_RANGE, weir_audit_new, &audit, 1, 1, 0, false, false);
    LACKS_MEMORY(1, weir_audit_new, &audit, 4096, 1, 0, false, false);
    assert_int_equal(weir_audit_new(&audit, 4096, 1, 0, false, false, NULL), WEIR_OK);
    until_failure = 1;
    note("weir_snapshot_new", WEIR_ERR_MEMORY, weir_snapshot_new(&snapshot, &err), __LINE__);
    assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);
    GIVES(WEIR_ERR_RANGE, weir_snapshot_put_audit, snapshot, "", audit);
    GIVES(WEIR_ERR_RANGE, weir_snapshot_put_note, snapshot, "", "x", 1);
    LACKS_MEMORY(1, weir_snapshot_put_note, snapshot, "note", "x", 1);
    GIVES(WEIR_OK, weir_snapshot_put_audit, snapshot, "audit", audit);
    GIVES(WEIR_ERR_IO, weir_snapshot_write, snapshot, NOWHERE);
    LACKS_MEMORY(1, weir_snapshot_write, snapshot, path);
    huge_audit = true;
    GIVES(WEIR_ERR_RANGE, weir_snapshot_write, snapshot, path);
    GIVES(WEIR_ERR_IO, weir_snapshot_write_to, snapshot, write_nothing, NULL);
    LACKS_MEMORY(1, weir_snapshot_write_to, snapshot, write_image, &buffer);
    huge_audit = true;
    GIVES(WEIR_ERR_RANGE, weir_snapshot_write_to, snapshot, write_image, &buffer);
    GIVES(WEIR_ERR_IO, weir_snapshot_read, &snapshot_read, NOWHERE);
    GIVES(WEIR_OK, weir_snapshot_write, snapshot, path);
    LACKS_MEMORY(1, weir_snapshot_read, &snapshot_read, path);
    GIVES(WEIR_ERR_IO, weir_snapshot_read_from, &snapshot_read, read_nothing, NULL, NULL);
    LACKS_MEMORY(1, weir_snapshot_read_from, &snapshot_read, read_image, &buffer, NULL);
    LACKS_MEMORY(1, weir_snapshot_read_bytes, &snapshot_read, buffer.bytes, 9, NULL);
    weir_snapshot_free(snapshot);
    weir_audit_free(audit);
}

static weir_sketch *make_sketch(const char *spec) {
    weir_sketch *sketch = NULL;
    GIVES(WEIR_OK, weir_sketch_new, &sketch, spec);
    for (int i = 0; sketch && i < 9000; i++) {
        char number[16];
        int length = snprintf(number, sizeof number, "%d", i);
        weir_sketch_add(sketch, number, (size_t)length, 1, NULL);
    }
    return sketch;
}

static bool accept_all(void *context, const weir_item *item) {
    (void)context, (void)item;
    return true;
}

static void questions(void **unused) {
    (void)unused;
    weir_sketch *countmin = make_sketch("countmin:memory=4K,seed=1");
    weir_sketch *twin = make_sketch("countmin:memory=4K,seed=1");
    weir_sketch *other = make_sketch("countmin:memory=4K,seed=2");
    weir_sketch *hll = make_sketch("hll:memory=1K,seed=1");
    weir_sketch *more = make_sketch("hll:memory=1K,seed=2");
    weir_sketch *full = make_sketch("linear:memory=64,seed=1");

    weir_sketch *full2 = make_sketch("linear:memory=64,seed=1");
    weir_sketch *dyadic = make_sketch("dyadic:memory=64K,seed=1");
    weir_sketch *kll = make_sketch("kll:memory=8K,seed=1"),
                *kll2 = make_sketch("kll:memory=8K,seed=1");
    weir_sketch *top = make_sketch("top:memory=64K,update=plain,seed=1");
    weir_sketch *window = make_sketch("window:length=90,memory=8K,of=(countmin),seed=1");
    weir_sketch *window2 = make_sketch("window:length=90,memory=8K,of=(countmin),seed=1");
    weir_estimate e;
    weir_item item;
    weir_items items = {.items = &item, .room = 1};
    weir_quantile quantile;
    uint64_t hash = 5;
    weir_updates wordless = {.count = 1};

    GIVES(WEIR_ERR_RANGE, weir_sketch_add, dyadic, "word", 4, 1);
    GIVES(WEIR_ERR_RANGE, weir_sketch_add_key, dyadic, "word", 4, &wordless);
    GIVES(WEIR_ERR_RANGE, weir_sketch_add_batch, countmin, &wordless);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_estimate, hll, "key", 3, WEIR_BY_AUTO, &e);
    LACKS_MEMORY(1, weir_sketch_estimate, countmin, "key", 3, WEIR_BY_CMM, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_estimate_hash, hll, hash, WEIR_BY_AUTO, &e);
    LACKS_MEMORY(1, weir_sketch_estimate_hash, countmin, hash, WEIR_BY_CMM, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_self_join, hll, WEIR_BY_AUTO, &e);
    LACKS_MEMORY(1, weir_sketch_self_join, countmin, WEIR_BY_CMM, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_join, hll, more, WEIR_BY_AUTO, &e);
    GIVES(WEIR_ERR_MISMATCH, weir_sketch_join, countmin, other, WEIR_BY_AUTO, &e);
    LACKS_MEMORY(1, weir_sketch_join, countmin, twin, WEIR_BY_CMM, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_top, hll, WEIR_BY_AUTO, &items);
    LACKS_MEMORY(2, weir_sketch_top, top, WEIR_BY_CMM, &items);
    GIVES(WEIR_ERR_RANGE, weir_sketch_above, top, 2, WEIR_BY_AUTO, &items);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_above, hll, 0.5, WEIR_BY_AUTO, &items);
    LACKS_MEMORY(2, weir_sketch_above, top, 0.01, WEIR_BY_CMM, &items);
    GIVES(WEIR_ERR_RANGE, weir_sketch_range, dyadic, 2, 1, WEIR_BY_AUTO, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_range, hll, 1, 2, WEIR_BY_AUTO, &e);
    GIVES(WEIR_ERR_RANGE, weir_sketch_quantile, kll, 2, &quantile);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_quantile, hll, 0.5, &quantile);
    LACKS_MEMORY(1, weir_sketch_quantile, kll, 0.5, &quantile);
    GIVES(WEIR_ERR_RANGE, weir_sketch_distinct, full, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_distinct, countmin, &e);
    GIVES(WEIR_ERR_MISMATCH, weir_sketch_common, hll, more, &e);
    GIVES(WEIR_ERR_RANGE, weir_sketch_common, full, full2, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_common, countmin, twin, &e);
    LACKS_MEMORY(1, weir_sketch_common, full, full2, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_distinct_where, hll, accept_all, NULL, &e);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_sample, hll, &items);
    GIVES(WEIR_ERR_MISMATCH, weir_sketch_merge, countmin, other);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_sketch_merge, window, window2);
    LACKS_MEMORY(1, weir_sketch_merge, kll, kll2);
    GIVES(WEIR_OK, weir_sketch_add, countmin, "key", 3, INT32_MAX - 10000);
    GIVES(WEIR_OK, weir_sketch_add, twin, "key", 3, INT32_MAX - 10000);
    GIVES(WEIR_ERR_RANGE, weir_sketch_merge, countmin, twin);
    weir_sketch *all[] = {countmin, twin, other, hll, more,   full,   full2,
                          dyadic,   kll,  kll2,  top, window, window2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) weir_sketch_free(all[i]);
}

static weir_pairs *make_pairs(const char *spec) {
    weir_pairs *pairs;
    GIVES(WEIR_OK, weir_pairs_new, &pairs, spec);
    return pairs;
}

#define OFFLINE "pairs:columns=4,threshold=3,memory=320K,seed=1,draw="
#define ONLINE "pairs:columns=4,threshold=3,method=online,width=64,seed=1,draw="

static weir_status add_rows(weir_pairs *pairs, uint64_t from, size_t count, weir_error *error) {
    uint64_t rows[64 * 4];
    weir_status status = WEIR_OK;
    for (; count && status == WEIR_OK; from += 64, count -= count < 64 ? count : 64) {
        for (size_t i = 0; i < 256; i++) rows[i] = i % 4 * 7 + (from + i / 4) % 500;
        status = weir_pairs_add(pairs, from, rows, count < 64 ? count : 64, error);
    }
    return status;
}

/* Every counter of a sketch as high as it goes: one more overflows. */
static void fill_counters(weir_pairs *pairs) {
    for (uint64_t i = 0; i + 4 <= pairs->cells_bytes; i += 4)
        memcpy(pairs->cells + i, &(int32_t){INT32_MAX}, 4);
    for (size_t i = 0; i < pairs->streams; i++) weir__matrix_touch(&pairs->matrix[i]);
}

static void pairs_of_records(void **unused) {
    (void)unused;
    static char long_name[5000];
    static image good, bad;
    weir_pairs *pairs, *more, *back;
    weir_pairs_answer answer;
    weir_pairs_doubt doubt;
    weir_snapshot *snapshot;
    uint64_t row[4] = {1, 2, 3, 4}, values[8];
    size_t count;
    GIVES(WEIR_ERR_SPEC, weir_pairs_new, &pairs, "pairs:nonsense=1");
    GIVES(WEIR_ERR_RANGE, weir_pairs_new, &pairs, "pairs:columns=4,threshold=5");
    no_seed = true;
    GIVES(WEIR_ERR_IO, weir_pairs_new, &pairs, "pairs:columns=4");
    LACKS_MEMORY(1, weir_pairs_new, &pairs, OFFLINE "1");

    pairs = make_pairs(OFFLINE "1");
    memset(long_name, 'x', sizeof long_name - 1);
    GIVES(WEIR_ERR_RANGE, weir_pairs_set_folder, pairs, long_name);
    GIVES(WEIR_OK, weir_pairs_set_folder, pairs, "/nonexistent");
    note("weir_pairs_add", WEIR_ERR_IO, add_rows(pairs, 0, 90000, &err), __LINE__);
    weir_pairs_free(pairs);

    pairs = make_pairs(OFFLINE "1");
    more = make_pairs(OFFLINE "1");
    until_failure = 1;
    note("weir_pairs_add", WEIR_ERR_MEMORY, add_rows(pairs, 0, 90000, &err), __LINE__);
    assert_int_equal(add_rows(pairs, 0, 20000, NULL), WEIR_OK);
    assert_int_equal(add_rows(more, 0, 20000, NULL), WEIR_OK);
    GIVES(WEIR_ERR_MISMATCH, weir_pairs_join, pairs, more, &answer);
    GIVES(WEIR_ERR_MISMATCH, weir_pairs_merge, pairs, more);
    GIVES(WEIR_ERR_MISMATCH, weir_pairs_collisions, pairs, more, values, 8, &count);
    weir_pairs_free(more);
    more = make_pairs(OFFLINE "2");
    assert_int_equal(add_rows(more, 90000, 20000, NULL), WEIR_OK);
    no_file = true;
    GIVES(WEIR_ERR_IO, weir_pairs_self, pairs, &answer);
    LACKS_MEMORY(1, weir_pairs_self, pairs, &answer);
    no_file = true;
    GIVES(WEIR_ERR_IO, weir_pairs_join, pairs, more, &answer);
    LACKS_MEMORY(1, weir_pairs_join, pairs, more, &answer);
    no_file = true;
    GIVES(WEIR_ERR_IO, weir_pairs_search, pairs, row, &answer);
    LACKS_MEMORY(1, weir_pairs_search, pairs, row, &answer);
    no_file = true;
    GIVES(WEIR_ERR_IO, weir_pairs_collisions, pairs, NULL, values, 8, &count);
    LACKS_MEMORY(1, weir_pairs_collisions, pairs, NULL, values, 8, &count);
    LACKS_MEMORY(1, weir_pairs_sampled, pairs, NULL, &answer);
    GIVES(WEIR_ERR_UNSUPPORTED, weir_pairs_doubts, pairs, NULL, 0.5, &doubt);
    GIVES(WEIR_ERR_IO, weir_pairs_save, pairs, NOWHERE);
    LACKS_MEMORY(1, weir_pairs_save, pairs, scratch_path("p"));
    assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);
    GIVES(WEIR_ERR_RANGE, weir_snapshot_put_pairs, snapshot, "", pairs);
    assert_int_equal(add_rows(more, 200000, 20000, NULL), WEIR_OK);
    no_file = true;
    GIVES(WEIR_ERR_IO, weir_snapshot_put_pairs, snapshot, "pairs", more);
    LACKS_MEMORY(1, weir_snapshot_put_pairs, snapshot, "pairs", more);
    LACKS_MEMORY(1, weir_pairs_merge, pairs, more);
    weir_pairs_free(pairs);
    weir_pairs_free(more);
    weir_snapshot_free(snapshot);

    pairs = make_pairs("pairs:columns=4,threshold=3,from=text,seed=1");
    GIVES(WEIR_ERR_RANGE, weir_pairs_doubts, pairs, NULL, 2, &doubt);
    weir_pairs_free(pairs);
    pairs = make_pairs("pairs:columns=4,threshold=3,from=cosine,seed=1");
    for (uint64_t n = 1; n <= 3; n++) LACKS_MEMORY(n, weir_pairs_doubts, pairs, NULL, 0.5, &doubt);
    weir_pairs_free(pairs);

    pairs = make_pairs(ONLINE "1");
    more = make_pairs(ONLINE "2");
    GIVES(WEIR_ERR_UNSUPPORTED, weir_pairs_collisions, pairs, NULL, values, 8, &count);
    assert_int_equal(weir_snapshot_new(&snapshot, NULL), WEIR_OK);
    GIVES(WEIR_OK, weir_snapshot_put_pairs, snapshot, "pairs", pairs);
    good = image_of(snapshot);
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        bad = spoiled(good, unreadable[i]);
        GIVES(unreadable[i], weir_pairs_load, &back, file_of(&bad));
    }
    GIVES(WEIR_ERR_IO, weir_pairs_load, &back, NOWHERE);
    LACKS_MEMORY(1, weir_pairs_load, &back, file_of(&good));
    fill_counters(pairs);
    fill_counters(more);
    GIVES(WEIR_ERR_RANGE, weir_pairs_add, pairs, 0, row, 1);
    GIVES(WEIR_ERR_RANGE, weir_pairs_merge, pairs, more);
    weir_pairs_free(pairs);
    weir_pairs_free(more);
    weir_snapshot_free(snapshot);

    weir_exact_options exact = {.columns = 4, .threshold = 5};
    GIVES(WEIR_ERR_RANGE, weir_pairs_exact, &exact, row, 1, NULL, 0, &answer);
    exact.threshold = 3;
    LACKS_MEMORY(1, weir_pairs_exact, &exact, row, 1, NULL, 0, &answer);
    weir_neighbours near;
    weir_neighbours_options around = {.columns = 4, .threshold = 5};
    GIVES(WEIR_ERR_RANGE, weir_pairs_neighbours, &around, row, 1, &near);
    around = (weir_neighbours_options){.columns = 4, .threshold = 3, .set = true};
    LACKS_MEMORY(1, weir_pairs_neighbours, &around, row, 1, &near);
    around = (weir_neighbours_options){.columns = 4, .distance = -1};
    GIVES(WEIR_ERR_RANGE, weir_pairs_neighbours, &around, row, 1, &near);
}

static void planning(void **unused) {
    (void)unused;
    weir_filter *spread = make_filter("horizontal:memory=64K,seed=1");
    weir_profile *profile = NULL, *empty = NULL;
    weir_profile_report report;
    weir_plan_choice choices[32], choice = {.kind = weir_filter_kind(0), .memory = 4096};
    weir_plan_question q = {.memory = 4096, .fpr = 0.01, .records = 3000, .distinct = 1000};
    weir_plan_question bad = {.memory = 4096};
    weir_stream_model model = {.records = 10, .distinct = 10};
    weir_expectation expectation;
    uint64_t hash = 1, window;
    int64_t time = 1;
    size_t count;
    weir_batch plain = {.count = 1, .hashes = &hash}, timed = plain;
    timed.times = &time;
    GIVES(WEIR_ERR_UNSUPPORTED, weir_filter_expect, spread, &model, &expectation);
    GIVES(WEIR_ERR_RANGE, weir_profile_new, &empty, 1, &q);
    LACKS_MEMORY(1, weir_profile_new, &empty, 1 << 20, &q);
    GIVES(WEIR_ERR_RANGE, weir_profile_assume, &profile, 1 << 20, &bad);
    LACKS_MEMORY(1, weir_profile_assume, &profile, 1 << 20, &q);
    GIVES(WEIR_OK, weir_profile_new, &empty, 1 << 20, &q);
    GIVES(WEIR_ERR_RANGE, weir_profile_get_report, empty, &report);
    GIVES(WEIR_ERR_RANGE, weir_plan_rank, empty, &q, choices, 32, &count);
    GIVES(WEIR_ERR_RANGE, weir_plan_try, empty, &q, &choice);
    LACKS_MEMORY(1, weir_profile_observe, empty, &plain);
    GIVES(WEIR_OK, weir_profile_observe, empty, &plain);
    GIVES(WEIR_ERR_MISMATCH, weir_profile_observe, empty, &timed);
    GIVES(WEIR_OK, weir_profile_assume, &profile, 1 << 20, &q);
    LACKS_MEMORY(1, weir_profile_get_report, profile, &report);
    LACKS_MEMORY(1, weir_plan_rank, profile, &q, choices, 32, &count);
    LACKS_MEMORY(1, weir_plan_try, profile, &q, &choice);
    LACKS_MEMORY(1, weir_plan_memory, profile, &q, 0.01, &choice);
    GIVES(WEIR_ERR_RANGE, weir_plan_memory, profile, &bad, 0.01, &choice);
    GIVES(WEIR_ERR_RANGE, weir_plan_window, &bad, 0.01, &window, &choice);
    LACKS_MEMORY(1, weir_plan_window, &q, 0.01, &window, &choice);
    choice = (weir_plan_choice){.kind = weir_filter_kind(0), .memory = 4096};
    GIVES(WEIR_ERR_RANGE, weir_plan_calibrate, &bad, &choice, 0.001);
    LACKS_MEMORY(1, weir_plan_calibrate, &q, &choice, 0.001);
    weir_profile_free(profile);
    weir_profile_free(empty);
    weir_filter_free(spread);
}

/* ---- what the headers say ---- */

static const char *const status_names[STATUSES] = {
#define NAME(name, number, text) [number] = #name,
    WEIR_STATUS_LIST(NAME)
#undef NAME
};

static void name_statuses(function *f, const char *comment) {
    for (const char *at = comment; (at = strstr(at, "WEIR_ERR_")); at++)
        for (int s = 1; s < STATUSES; s++) {
            size_t length = strlen(status_names[s]);
            if (strncmp(at, status_names[s], length) == 0 && at[length] != '_') f->named[s] = true;
        }
}

/* The functions of a header that return a status, with the comment that stands above them. */
static size_t read_header(const char *name) {
    char path[512], line[512], comment[8192] = "", declared[64];
    bool inside = false;
    size_t found = 0;
    snprintf(path, sizeof path, "%s/include/%s", WEIR_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "/*", 2) == 0) inside = true, comment[0] = 0;
        if (inside && strlen(comment) + strlen(line) < sizeof comment) strcat(comment, line);
        if (strstr(line, "*/")) inside = false;
        if (sscanf(line, "WEIR_API weir_status %63[a-z0-9_](", declared) == 1 ||
            sscanf(line, "WEIR_EXPERIMENTAL weir_status %63[a-z0-9_](", declared) == 1) {
            name_statuses(function_named(declared), comment);
            found++;
        }
    }
    fclose(file);
    return found;
}

static void every_status_is_named_and_reached(void **unused) {
    (void)unused;
    static const char *const headers[] = {"weir.h",       "weir_sketch.h", "weir_pairs.h",
                                          "weir_text.h",  "weir_embed.h",  "weir_plan.h",
                                          "weir_sites.h", "weir_cpu.h"};
    size_t found = 0;
    int wrong = 0;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) found += read_header(headers[i]);
    assert_int_equal(found, function_count); /* every one has a case, and no case another name */
    assert_true(found > 80);
    for (size_t i = 0; i < function_count; i++)
        for (int s = 1; s < STATUSES; s++) {
            const function *f = &functions[i];
            if (f->named[s] == f->reached[s]) continue;
            wrong++;
            print_error("%s: %s is %s\n", f->name, status_names[s],
                        f->named[s] ? "named and not reached" : "reached and not named");
        }
    assert_int_equal(wrong, 0);
}

static int clean_up(void **state) {
    (void)state;
    remove_scratch_folder();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsers),
        cmocka_unit_test(keeping_a_filter),
        cmocka_unit_test(keeping_a_sketch),
        cmocka_unit_test(filters),
        cmocka_unit_test(long_specs),
        cmocka_unit_test(sites),
        cmocka_unit_test(audits_and_snapshots),
        cmocka_unit_test(questions),
        cmocka_unit_test(pairs_of_records),
        cmocka_unit_test(planning),
        cmocka_unit_test(every_status_is_named_and_reached),
    };
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
