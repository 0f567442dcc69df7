/* test_core.c - units, names, hashes, generator, cells, maps. */
#include "testing.h"

#include <math.h>

#include "core/cells.h"
#include "core/cpu.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/rng.h"

static void sizes_parse_as_written(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"1024", 1024},
                {"64M", 64u << 20},
                {"1.5G", 3ull << 29},
                {"64MiB", 64u << 20},
                {"2KB", 2048},
                {"1t", 1ull << 40},
                {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint64_t bytes = 7;
        assert_int_equal(weir_parse_size(good[i].text, &bytes, NULL), WEIR_OK);
        assert_int_equal(bytes, good[i].bytes);
    }
    static const struct {
        const char *text;
        int64_t offset;
    } bad[] = {{"", 0},      {"M", 0},    {"64Q", 2}, {"-1", 0},
               {"1e400", 0}, {"0x10", 0}, {"1 G", 1}, {"99999T9", 6}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t bytes;
        weir_error err = {0};
        assert_int_equal(weir_parse_size(bad[i].text, &bytes, &err), WEIR_ERR_RANGE);
        assert_int_equal(err.offset, bad[i].offset);
        assert_int_equal(err.code, WEIR_ERR_RANGE);
    }
    uint64_t bytes;
    assert_int_equal(weir_parse_size("99999999T", &bytes, NULL), WEIR_ERR_RANGE);
}

static void counts_and_rates_parse_as_written(void **state) {
    (void)state;
    uint64_t count;
    double rate;
    assert_int_equal(weir_parse_count("10M", &count, NULL), WEIR_OK);
    assert_int_equal(count, 10000000);
    assert_int_equal(weir_parse_count("2.5k", &count, NULL), WEIR_OK);
    assert_int_equal(count, 2500);
    assert_int_equal(weir_parse_count("1.1M", &count, NULL), WEIR_OK);
    assert_int_equal(count, 1100000);
    assert_int_equal(weir_parse_count("1.5", &count, NULL), WEIR_ERR_RANGE);
    assert_int_equal(weir_parse_rate("0.0001%", &rate, NULL), WEIR_OK);
    assert_true(fabs(rate - 1e-6) < 1e-18);
    assert_int_equal(weir_parse_rate("1e-3", &rate, NULL), WEIR_OK);
    assert_true(rate == 1e-3);
    assert_int_equal(weir_parse_rate("nan", &rate, NULL), WEIR_ERR_RANGE);
    assert_int_equal(weir_parse_rate("5%%", &rate, NULL), WEIR_ERR_RANGE);
}

static void seeds_parse_as_written(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t seed;
    } good[] = {{"0", 0},
                {"7", 7},
                {"010", 10},
                {"0x10", 16},
                {"0XfF", 255},
                {"10M", 10000000},
                {"1e3", 1000},
                {"18446744073709551615", UINT64_MAX},
                {"0xffffffffffffffff", UINT64_MAX}};
    static const char *const bad[] = {"",
                                      "x",
                                      "-1",
                                      "0x",
                                      "0x-1",
                                      "0x 1",
                                      "0xg",
                                      "1.5",
                                      "7 ",
                                      "0x1M",
                                      "18446744073709551616",
                                      "0x10000000000000000"};
    uint64_t seed;
    weir_error err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(weir_parse_seed(good[i].text, &seed, NULL), WEIR_OK);
        assert_true(seed == good[i].seed);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(weir_parse_seed(bad[i], &seed, &err), WEIR_ERR_RANGE);
        assert_non_null(strstr(err.message, "from 0 to 2^64-1"));
    }
}

static void keys_parse_as_numbers(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"+5", 5},
                {" -7\r", -7},
                {"0042", 42},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const large[] = {"9999999999999999999", "9223372036854775808",
                                        "-9223372036854775809", "+99999999999999999999999"};
    static const char *const bad[] = {"", "-", "+", "1.5", "1e3", "0x1", "1 2", "a", "--1"};
    int64_t value;
    double decimal;
    weir_error err;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(weir_parse_integer(good[i].text, strlen(good[i].text), &value, &err),
                         WEIR_OK);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_int_equal(weir_parse_integer(large[i], strlen(large[i]), &value, &err),
                         WEIR_ERR_RANGE);
        assert_non_null(strstr(err.message, "out of range"));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(weir_parse_integer(bad[i], strlen(bad[i]), &value, &err), WEIR_ERR_RANGE);
        assert_non_null(strstr(err.message, "not an integer"));
    }
    assert_int_equal(weir_parse_decimal(" -1.5e2", 7, &decimal, NULL), WEIR_OK);
    assert_true(decimal == -150);
    static const char *const none[] = {"", ".", "1e999", "nan", "inf", "0x10", "1.5.2"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(weir_parse_decimal(none[i], strlen(none[i]), &decimal, &err),
                         WEIR_ERR_RANGE);
}

static void durations_parse_as_written(void **state) {
    (void)state;
    int64_t ns;
    assert_int_equal(weir_parse_duration("1m30s", &ns, NULL), WEIR_OK);
    assert_int_equal(ns, 90 * INT64_C(1000000000));
    assert_int_equal(weir_parse_duration("250ms", &ns, NULL), WEIR_OK);
    assert_int_equal(ns, 250000000);
    assert_int_equal(weir_parse_duration("1.5h", &ns, NULL), WEIR_OK);
    assert_int_equal(ns, 5400 * INT64_C(1000000000));
    static const char *const bad[] = {"", "30", "s", "1s1m", "1x", "1s ", "400000000000d"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(weir_parse_duration(bad[i], &ns, NULL), WEIR_ERR_RANGE);
}

static void prints_are_what_people_write(void **state) {
    (void)state;
    char text[32];
    assert_string_equal(weir_print_size(text, 64u << 20), "64M");
    assert_string_equal(weir_print_size(text, 1000), "1000");
    assert_string_equal(weir_print_size(text, 1536), "1.50K");
    assert_string_equal(weir_print_count(text, 12345678), "12.3M");
    assert_string_equal(weir_print_count(text, 999), "999");
    assert_string_equal(weir_print_rate(text, 1e-6), "0.0001%");
    assert_string_equal(weir_print_rate(text, 0), "0%");
    assert_string_equal(weir_print_rate(text, 1), "100%");
    assert_string_equal(weir_print_rate(text, 0.1), "10%");
    assert_string_equal(weir_print_rate(text, 0.1234), "12.34%");
    assert_string_equal(weir_print_rate(text, 1e-9), "1e-07%");
    assert_string_equal(weir_print_duration(text, 90 * INT64_C(1000000000)), "1m30s");
    assert_string_equal(weir_print_duration(text, 250000000), "250ms");
    assert_string_equal(weir_print_duration(text, 0), "0ns");
    assert_string_equal(weir_print_duration(text, INT64_MAX), "106751d23h47m17s");
    assert_string_equal(weir_print_duration(text, 86400 * INT64_C(1000000000)), "1d");
}

/* A buffer of 32 bytes is enough for any number, and what is in it is that number. */
static void prints_of_any_number_fit(void **state) {
    (void)state;
    static const double numbers[] = {1e300,  1e27, 1.5e15, 999.9e12, 1e12,   1,      0,
                                     5e-324, -1,   -1e300, 0.1,      123456, 1e-300, 99.99};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[64];
        memset(text, '#', sizeof text);
        weir_print_count(text, numbers[i]);
        assert_true(strlen(text) < 32 && text[32] == '#');
        double big = strtod(text, NULL) * (strchr(text, 'T') ? 1e12 : strchr(text, 'K') ? 1e3 : 1);
        assert_true(fabs(big - numbers[i]) <= 0.01 + 0.005 * fabs(numbers[i]));
        weir_print_rate(text, numbers[i]);
        assert_true(strlen(text) < 32 && text[strlen(text) - 1] == '%');
    }
    char text[32];
    assert_string_equal(weir_print_count(text, 1e300), "1e+300");
    assert_string_equal(weir_print_count(text, INFINITY), "inf");
}

static void whole_units_print_and_parse_back(void **state) {
    (void)state;
    char text[32];
    for (unsigned shift = 0; shift < 50; shift++) {
        uint64_t back;
        assert_int_equal(weir_parse_size(weir_print_size(text, 1ull << shift), &back, NULL),
                         WEIR_OK);
        assert_int_equal(back, 1ull << shift);
    }
    for (int64_t ns = 1; ns < INT64_C(1000000000000000); ns *= 10) {
        int64_t back;
        assert_int_equal(weir_parse_duration(weir_print_duration(text, ns), &back, NULL), WEIR_OK);
        assert_int_equal(back, ns);
    }
}

static void nearest_names_a_typo(void **state) {
    (void)state;
    char name[32];
    assert_string_equal(weir_nearest("memroy", "memory|fpr|seed", name), "memory");
    assert_string_equal(weir_nearest("fp", "memory|fpr|seed", name), "fpr");
    assert_string_equal(weir_nearest("stabel", "recent|bloom|stable", name), "stable");
    assert_string_equal(weir_nearest("peers", "pairs|plan", name), "pairs");
    assert_null(weir_nearest("x", "1|3|7", name));
    assert_null(weir_nearest("point", "join|top", name));
    assert_null(weir_nearest("zzzzzz", "recent|bloom|stable", name));
    assert_null(weir_nearest("", "recent", name));
    assert_null(weir_nearest("a-word-that-is-longer-than-any-option-name", "recent", name));
}

/* Values of XXH3_64bits_withSeed and SipHash-2-4 as their own tools give them:
 * a filter saved today must find its keys tomorrow. */
static void hashes_are_the_published_ones(void **state) {
    (void)state;
    weir__hasher hasher;
    uint8_t long_key[1000];
    for (size_t i = 0; i < sizeof long_key; i++) long_key[i] = (uint8_t)(i * 7 + 200);
    weir__hasher_init(&hasher, WEIR__HASH_XXH3, 0);
    assert_int_equal(weir__hash(&hasher, "", 0), UINT64_C(0x2d06800538d394c2));
    weir__hasher_init(&hasher, WEIR__HASH_XXH3, 42);
    for (size_t length = 0; length <= sizeof long_key; length++)
        assert_int_equal(weir__hash(&hasher, long_key, length),
                         weir__checksum(long_key, length, 42));
    weir__hasher_init(&hasher, WEIR__HASH_SIPHASH, 42);
    for (int i = 0; i < 16; i++) hasher.key[i] = (uint8_t)i;
    uint8_t in[15];
    for (int i = 0; i < 15; i++) in[i] = (uint8_t)i;
    assert_int_equal(weir__hash(&hasher, in, 15), UINT64_C(0xa129ca6149be45e5));
}

/* Records of all lengths, around those that are hashed side by side, in memory that ends where
 * they do: as one by one, on every processor. */
static void records_hash_as_keys_do(void **state) {
    (void)state;
    enum { COUNT = 100 };
    uint64_t rng = 1, hashes[COUNT];
    uint32_t offsets[COUNT + 1] = {0};
    weir__hasher hasher;
    for (unsigned round = 0; round < 600; round++) {
        uint32_t tail = round % 3, least = round % 5 * 16, spread = round % 7 ? 64 : 300;
        size_t count = weir__rng_next(&rng) % (COUNT + 1);
        for (size_t i = 0; i < count; i++)
            offsets[i + 1] = offsets[i] + tail + least + weir__rng_next(&rng) % spread;
        uint8_t *base = malloc(offsets[count] ? offsets[count] : 1);
        for (size_t i = 0; i < offsets[count]; i++) base[i] = (uint8_t)weir__rng_next(&rng);
        weir__hasher_init(&hasher, round % 4 ? WEIR__HASH_XXH3 : WEIR__HASH_SIPHASH, round);
        for (unsigned cpu = CPU_ANY; cpu <= CPU_AVX512; cpu++) {
            weir__cpu_most = cpu;
            weir__hash_records(&hasher, base, offsets, count, tail, hashes);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(hashes[i], weir__hash(&hasher, base + offsets[i],
                                                       offsets[i + 1] - offsets[i] - tail));
        }
        free(base);
    }
    weir__cpu_most = CPU_AVX512;
}

static void vector_levels_are_chosen_by_name(void **state) {
    (void)state;
    weir_error err;
    assert_int_equal(weir_cpu_choose("scalar", &err), WEIR_OK);
    assert_int_equal(weir_cpu_now(), WEIR_CPU_SCALAR);
    assert_int_equal(weir__cpu(), CPU_ANY);
    assert_int_equal(weir_cpu_choose("mmx", &err), WEIR_ERR_RANGE);
    assert_non_null(strstr(err.message, "'mmx'"));
    assert_int_equal(weir_cpu_now(), WEIR_CPU_SCALAR);
    int best = WEIR_CPU_SCALAR;
    for (int level = 0; level <= WEIR_CPU_AVX512; level++) {
        const char *name = weir_cpu_name((weir_cpu_level)level);
        if (!name) continue;
        assert_int_equal(weir_cpu_choose(name, &err), WEIR_OK);
        assert_int_equal(weir_cpu_now(), level);
        best = level;
    }
    assert_int_equal(setenv("WEIR_CPU", "scalar", 1), 0);
    assert_int_equal(weir_cpu_choose(NULL, &err), WEIR_OK);
    assert_int_equal(weir_cpu_now(), WEIR_CPU_SCALAR);
    assert_int_equal(setenv("WEIR_CPU", "fast", 1), 0);
    assert_int_equal(weir_cpu_choose(NULL, &err), WEIR_ERR_RANGE);
    assert_non_null(strstr(err.message, "WEIR_CPU cannot be 'fast'"));
    assert_int_equal(unsetenv("WEIR_CPU"), 0);
    assert_int_equal(weir_cpu_choose(NULL, &err), WEIR_OK);
    assert_int_equal(weir_cpu_now(), best);
}

static void generator_follows_its_published_sequence(void **state) {
    (void)state;
    uint64_t rng = 1234567;
    assert_int_equal(weir__rng_next(&rng), UINT64_C(6457827717110365317));
    assert_int_equal(weir__rng_next(&rng), UINT64_C(3203168211198807973));
    assert_int_equal(weir__rng_next(&rng), UINT64_C(9817491932198370423));
}

/* 16 cells of expectation 6250; chi-square with 15 degrees of freedom exceeds
 * 44.3 with chance 1e-4. */
static void numbers_below_a_range_are_even(void **state) {
    (void)state;
    uint64_t rng = 5;
    double chi = 0;
    unsigned hits[16] = {0};
    for (int i = 0; i < 100000; i++) hits[weir__rng_below(&rng, 16)]++;
    for (int i = 0; i < 16; i++) chi += (hits[i] - 6250.0) * (hits[i] - 6250.0) / 6250.0;
    assert_true(chi < 44.3);
}

static void cells_keep_to_themselves(void **state) {
    (void)state;
    for (unsigned shift = 0; shift <= 3; shift++) {
        uint8_t cells[64] = {0}, twin[512] = {0};
        unsigned most = (1u << (1u << shift)) - 1, n = 512u >> shift;
        uint64_t rng = shift;
        for (int i = 0; i < 5000; i++) {
            uint64_t at = weir__rng_below(&rng, n);
            unsigned value = (unsigned)weir__rng_below(&rng, most + 1);
            weir__cell_set(cells, shift, at, value);
            twin[at] = (uint8_t)value;
            uint64_t look = weir__rng_below(&rng, n);
            assert_int_equal(weir__cell_get(cells, shift, look), twin[look]);
        }
    }
    uint8_t bits[64] = {0};
    weir__bit_set(bits, 0);
    weir__bit_set(bits, 511);
    assert_true(weir__bit_get(bits, 511));
    assert_int_equal(weir__bits_set(bits, 64), 2);
    weir__bit_clear(bits, 511);
    assert_int_equal(weir__bits_set(bits, 64), 1);
}

static void maps_are_zero_aligned_and_bounded(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1024, 4096, 100000, 2u << 20, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *memory;
        assert_int_equal(weir__map(&memory, sizes[i], NULL), WEIR_OK);
        uint8_t *bytes = memory;
        assert_int_equal((uintptr_t)bytes % (sizes[i] >= (2u << 20) ? 2u << 20 : 4096), 0);
        assert_int_equal(bytes[0] | bytes[sizes[i] - 1], 0);
        memset(bytes, 1, sizes[i]);
        weir__map_clear(bytes, sizes[i]);
        assert_int_equal(bytes[0] | bytes[sizes[i] / 2] | bytes[sizes[i] - 1], 0);
        weir__unmap(bytes, sizes[i]);
    }
    void *memory;
    weir_error err;
    assert_int_equal(weir__map(&memory, weir__machine_memory() + 1, &err), WEIR_ERR_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(err.message, "more than this machine has"));
}

static void statuses_have_texts(void **state) {
    (void)state;
#define CHECK(name, number, text) assert_string_equal(weir_status_text(name), text);
    WEIR_STATUS_LIST(CHECK)
    assert_string_equal(weir_status_text((weir_status)999), "unknown status");
    assert_string_equal(weir_version(), WEIR_VERSION_STRING);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_parse_as_written),
        cmocka_unit_test(counts_and_rates_parse_as_written),
        cmocka_unit_test(seeds_parse_as_written),
        cmocka_unit_test(durations_parse_as_written),
        cmocka_unit_test(keys_parse_as_numbers),
        cmocka_unit_test(prints_are_what_people_write),
        cmocka_unit_test(prints_of_any_number_fit),
        cmocka_unit_test(whole_units_print_and_parse_back),
        cmocka_unit_test(nearest_names_a_typo),
        cmocka_unit_test(hashes_are_the_published_ones),
        cmocka_unit_test(records_hash_as_keys_do),
        cmocka_unit_test(generator_follows_its_published_sequence),
        cmocka_unit_test(numbers_below_a_range_are_even),
        cmocka_unit_test(cells_keep_to_themselves),
        cmocka_unit_test(maps_are_zero_aligned_and_bounded),
        cmocka_unit_test(statuses_have_texts),
        cmocka_unit_test(vector_levels_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
