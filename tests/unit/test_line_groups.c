/* test_line_groups.c - the cells of a key's groups, against one group at a time. */
#include "testing.h"

#include "filter/line/line_groups.h"

FOR_AVX512 static line_halves ones_avx512(const group_plan *plan, uint64_t rest) {
    return group_ones(plan, rest, CPU_AVX512);
}
FOR_AVX2 static line_halves ones_avx2(const group_plan *plan, uint64_t rest) {
    return group_ones(plan, rest, CPU_AVX2);
}
static line_halves ones_any(const group_plan *plan, uint64_t rest) {
    return group_ones(plan, rest, CPU_ANY);
}

static void agree(unsigned group, unsigned k, unsigned shift) {
    static group_plan plan;
    group_plan_make(&plan, group, k, shift);
    assert_true(plan.steps <= GROUP_STEPS_MOST);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t rest = test_word(k, 1000 * shift + i), cells[WEIR__GROUPS_MOST];
        uint64_t expected[WEIR__LINE_WORDS] = {0};
        weir__find_groups(rest, group, k, cells);
        for (unsigned j = 0; j < k; j++) {
            uint64_t bit = cells[j] << shift;
            expected[bit / 64] |= UINT64_C(1) << bit % 64;
        }
        line_halves ones = ones_any(&plan, rest);
        assert_memory_equal(&ones, expected, sizeof expected);
        if (weir__cpu() >= CPU_AVX2) {
            ones = ones_avx2(&plan, rest);
            assert_memory_equal(&ones, expected, sizeof expected);
        }
        if (weir__cpu() == CPU_AVX512) {
            ones = ones_avx512(&plan, rest);
            assert_memory_equal(&ones, expected, sizeof expected);
        }
    }
}

/* Whole lines, and the first two thirds that `spectral` has. */
static void agrees_with_one_at_a_time(void **unused) {
    (void)unused;
    for (unsigned shift = 0; shift <= 4; shift++) {
        unsigned cells = WEIR__LINE_BITS >> shift, most = shift ? 32 : WEIR__GROUPS_MOST;
        for (unsigned k = 1; k <= most; k++) {
            agree(cells / k, k, shift);
            if (shift && cells * 2 / 3 / k) agree(cells * 2 / 3 / k, k, shift);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_one_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
