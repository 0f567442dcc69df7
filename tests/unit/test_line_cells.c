/* test_line_cells.c - the cells of a key in its line, against one cell at a time. */
#include "testing.h"

#include "filter/line/line_cells.h"

/* Widths from SCALED on: less that, scaled from twelve bits. */
enum { SCALED = 16 };

HOT void cells_all(const line_plan *plan, uint64_t rest, unsigned width, line_halves *cells) {
    switch (width) {
    case 1:
        line_cells(plan, rest, 1, cells);
        break;
    case 2:
        line_cells(plan, rest, 2, cells);
        break;
    case 3:
        line_cells(plan, rest, 3, cells);
        break;
    case 4:
        line_cells(plan, rest, 4, cells);
        break;
    case SCALED + 4:
        line_cells_by(plan, rest, 4, true, cells);
        break;
    default:
        line_cells_by(plan, rest, width - SCALED, true, cells);
    }
}
FOR_AVX2 static void cells_avx2(const line_plan *plan, uint64_t rest, unsigned width,
                                line_halves *cells) {
    cells_all(plan, rest, width, cells);
}
static void cells_any(const line_plan *plan, uint64_t rest, unsigned width, line_halves *cells) {
    cells_all(plan, rest, width, cells);
}

/* As line_cells.h tells it. */
static void cells_slowly(unsigned K, uint64_t rest, unsigned width, bool scaled,
                         uint64_t words[WEIR__LINE_WORDS]) {
    unsigned piece = scaled ? 12 : 6, a_mix = 60 / piece, per_word = 64 / width;
    unsigned first = (unsigned)(weir__mix64(rest) >> 61);
    memset(words, 0, WEIR__LINE_WORDS * sizeof *words);
    for (unsigned j = 0; j < K; j++) {
        uint64_t mix = weir__mix64(rest + j / a_mix * UINT64_C(0x9e3779b97f4a7c15));
        uint64_t bits = mix >> (j % a_mix * piece) & ((1u << piece) - 1);
        uint64_t cell = scaled ? bits * per_word >> 12 : bits % per_word;
        words[(first + j) % WEIR__LINE_WORDS] |= (uint64_t)((1u << width) - 1) << (cell * width);
    }
}

static void agree(unsigned K, unsigned width, bool scaled) {
    line_plan plan = scaled ? line_plan_scaled(K) : line_plan_of(K, width);
    unsigned which = width + (scaled ? SCALED : 0);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t rest = test_word(width, 1000 * K + i), expected[WEIR__LINE_WORDS];
        line_halves cells;
        cells_slowly(K, rest, width, scaled || width == 3, expected);
        cells_any(&plan, rest, which, &cells);
        assert_memory_equal(&cells, expected, sizeof expected);
        if (weir__cpu() >= CPU_AVX2) {
            cells_avx2(&plan, rest, which, &cells);
            assert_memory_equal(&cells, expected, sizeof expected);
        }
    }
}

static void agrees_with_one_at_a_time(void **unused) {
    (void)unused;
    for (unsigned K = 1; K <= LINE_CELLS_MOST; K++) {
        for (unsigned width = 1; width <= 4; width++) agree(K, width, false);
        for (unsigned width = 3; width <= 16; width++) agree(K, width, true);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_one_at_a_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
