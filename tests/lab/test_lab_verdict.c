/* test_lab_verdict.c - the verdict follows from the numbers, and results are kept. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab_book.h"
#include "lab_result.h"

/* --- a made-up experiment --------------------------------------------------------------- */

static bool shape_holds, number_holds;

static bool tell_shape(const lab_result *r, lab_words *found) {
    return lab_say(found, shape_holds, "%.1f.", lab_mean(r, 0, 0, "y"));
}

static bool tell_number(const lab_result *r, lab_words *found) {
    (void)r;
    return lab_say(found, number_holds, "so it is.");
}

static const lab_column columns[] = {
    {"x", "x", NULL, true, 0, 0}, {"y", "y", "%", false, 0.5, 0.01}, {0}};
static const lab_case cases[] = {
    {.label = "one", .paper = LAB_PAPER(NAN, 50)},
    {.label = "rows", .paper = LAB_PAPER_ROWS({NAN, 10}, {NAN, NAN}), .paper_rows = 2},
    {.label = "large", .when = LAB_FULL_ONLY},
    {0}};
static const lab_claim claims[] = {{true, "a shape.", tell_shape, "so it must be", LAB_WORDS},
                                   {false, "a number.", tell_number, "so it must be", LAB_LEVEL},
                                   {0}};
static const lab_experiment example = {.name = "example",
                                       .file = "x.c",
                                       .columns = columns,
                                       .cases = cases,
                                       .claims = claims,
                                       .full_expected = LAB_REPRODUCED};

/* Means and deviations of its cells: case 0 has one row, case 1 two. */
static double mean_0[2], sd_0[2], mean_1[4], sd_1[4];
static lab_cells cells[3];
static lab_result result;

static void set_up(double y, double sd, unsigned seeds) {
    mean_0[1] = y;
    sd_0[1] = sd;
    mean_1[1] = 10;
    cells[0] = (lab_cells){1, seeds, mean_0, sd_0};
    cells[1] = (lab_cells){2, seeds, mean_1, sd_1};
    cells[2] = (lab_cells){0};
    result = (lab_result){&example, false, 3, 2, seeds, 0, cells};
    shape_holds = number_holds = true;
}

static void a_number_within_tolerance_is_reproduced(void **state) {
    (void)state;
    set_up(50.99, 0, 3); /* allowed: 0.5 and 1% of 50 */
    lab_judgement j = lab_result_judge(&result);
    assert_int_equal(j.verdict, LAB_REPRODUCED);
    assert_int_equal(j.numbers, 2);
    assert_int_equal(j.within, 2);
    set_up(51.01, 0, 3);
    j = lab_result_judge(&result);
    assert_int_equal(j.verdict, LAB_SAME_SHAPE);
    assert_int_equal(j.within, 1);
}

static void sampling_error_widens_the_tolerance(void **state) {
    (void)state;
    lab_match match;
    set_up(53, 1, 3);
    assert_true(lab_result_match(&result, 0, &match));
    assert_true(fabs(match.allowed - (1 + 3 * sqrt(4.0 / 3))) < 1e-9);
    assert_true(match.within);
    set_up(53, 0.5, 3);
    assert_int_equal(lab_result_judge(&result).verdict, LAB_SAME_SHAPE);
}

static void claims_decide(void **state) {
    (void)state;
    set_up(50, 0, 1);
    number_holds = false;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_SAME_SHAPE);
    shape_holds = false;
    lab_judgement j = lab_result_judge(&result);
    assert_int_equal(j.verdict, LAB_DIFFERS);
    assert_int_equal(j.held, 0);
    number_holds = true;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_DIFFERS);
}

/* A limit that was set after a look at results cannot reproduce anything, and a quick run is
 * never better than what full ones are expected to be. */
static void verdicts_are_held_down(void **state) {
    (void)state;
    static const lab_claim looked[] = {{true, "a shape.", tell_shape, "so it was", LAB_AFTER}, {0}};
    lab_experiment other = example;
    set_up(50, 0, 3);
    other.claims = looked;
    result.experiment = &other;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_SAME_SHAPE);
    assert_int_equal(lab_result_judge(&result).after, 1);
    other.claims = claims;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_REPRODUCED);
    other.full_expected = LAB_SAME_SHAPE;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_SAME_SHAPE);
    result.full = true;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_REPRODUCED);
    other.full_expected = LAB_DIFFERS;
    result.full = false;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_DIFFERS);
}

/* Every claim of the lab says what has to be so. */
static void every_claim_has_a_criterion(void **state) {
    (void)state;
    for (size_t i = 0; lab_experiment_at(i); i++)
        for (const lab_claim *c = lab_experiment_at(i)->claims; c && c->text; c++)
            if (!c->criterion || !*c->criterion)
                fail_msg("%s: '%s' has no criterion", lab_experiment_at(i)->name, c->text);
}

static void a_row_that_moves_is_noticed(void **state) {
    (void)state;
    set_up(50, 0, 1);
    mean_1[1] = 10.7; /* row 0 of case 1; row 1 has no number in the paper */
    assert_int_equal(lab_result_judge(&result).verdict, LAB_SAME_SHAPE);
    mean_1[1] = 10;
    mean_1[3] = 1000;
    assert_int_equal(lab_result_judge(&result).verdict, LAB_REPRODUCED);
}

static void cells_are_found(void **state) {
    (void)state;
    set_up(50, 2, 4);
    assert_true(lab_mean(&result, 0, -1, "y") == 50);
    assert_true(isnan(lab_mean(&result, 0, 1, "y")));
    assert_true(isnan(lab_mean(&result, 2, -1, "y")));
    assert_true(isnan(lab_mean(&result, 0, 0, "z")));
    /* t(3, 97.5%) = 3.182 */
    assert_true(fabs(lab_spread(&result, 0, 0, "y") - 3.182) < 1e-9);
    assert_int_equal(lab_find_case(&result, NULL, "rows"), 1);
    assert_int_equal(lab_find_case(&result, NULL, "large"), 3);
    assert_true(lab_result_whole(&result, 4));
    assert_false(lab_result_whole(&result, 5));
    result.full = true;
    assert_false(lab_result_whole(&result, 1));
}

/* --- the list ------------------------------------------------------------------------------- */

static void check_figure(const lab_experiment *e, const lab_figure *f) {
    size_t count = lab_column_count(e), claim_count = 0;
    assert_true(f->style == LAB_BARS || (f->x && lab_column_index(e, f->x) < count));
    assert_non_null(f->y[0]);
    for (size_t i = 0; i < 8 && f->y[i]; i++) assert_true(lab_column_index(e, f->y[i]) < count);
    while (e->claims[claim_count].text) claim_count++;
    assert_true(f->claim < claim_count);
}

/* Every entry is whole: whoever adds one finds out here what is missing. */
static void entries_are_whole(void **state) {
    (void)state;
    for (size_t i = 0; lab_experiment_at(i); i++) {
        const lab_experiment *e = lab_experiment_at(i);
        print_message("# %s\n", e->name);
        assert_true(strlen(e->name) < 48 && !strpbrk(e->name, " /|*?"));
        assert_true(e->file && e->source && e->title && e->claim && e->method && e->run);
        assert_true(e->columns && e->cases && e->cases[0].label && e->claims && e->claims->text);
        assert_true(lab_column_count(e) > 0 && lab_column_count(e) <= LAB_MOST_COLUMNS);
        assert_non_null(e->figures[0].title);
        for (size_t f = 0; f < LAB_MOST_FIGURES && e->figures[f].title; f++)
            check_figure(e, &e->figures[f]);
        bool looked = false; /* which is reason enough for no more than the same shape */
        for (const lab_claim *c = e->claims; c->text; c++) looked |= c->origin == LAB_AFTER;
        if (e->quick_expected < (looked ? LAB_SAME_SHAPE : LAB_REPRODUCED))
            assert_non_null(e->reason);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(e->name, lab_experiment_at(j)->name);
    }
}

/* --- the book --------------------------------------------------------------------------------- */

static char folder[64], path[128];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/weir-lab-test.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/results", folder);
}

static void remove_folder(void) {
    unlink(path);
    rmdir(folder);
}

static void add(lab_book *book, uint64_t seed, double *values, size_t rows) {
    weir_error err = {0};
    lab_unit unit = {.experiment = lab_experiment_at(0),
                     .c = &lab_experiment_at(0)->cases[0],
                     .seed = seed,
                     .seconds = 1.25,
                     .values = values,
                     .rows = rows};
    if (lab_book_add(book, &unit, &err)) fail_msg("%s", err.message);
}

static void results_come_back_to_the_bit(void **state) {
    (void)state;
    double values[64];
    lab_book *book;
    weir_error err = {0};
    const lab_experiment *e = lab_experiment_at(0);
    size_t columns_of = lab_column_count(e);
    for (size_t i = 0; i < 64; i++) values[i] = pow(-1.3, (double)i) / 7;
    values[1] = NAN;
    make_folder();
    assert_int_equal(lab_book_open(&book, folder, true, &err), WEIR_OK);
    add(book, 1, values, 3);
    add(book, 2, values, 2);
    lab_book_close(book);
    assert_int_equal(lab_book_open(&book, folder, false, &err), WEIR_OK);
    assert_non_null(lab_book_find(book, e, false, 0, 2));
    const lab_entry *entry = lab_book_find(book, e, false, 0, 1);
    assert_non_null(entry);
    assert_int_equal(entry->rows, 3);
    assert_true(entry->seconds == 1.25);
    for (size_t i = 0; i < 3 * columns_of; i++)
        assert_true(entry->values[i] == values[i] || (isnan(entry->values[i]) && i == 1));
    assert_null(lab_book_find(book, e, true, 0, 1));
    assert_null(lab_book_find(book, e, false, 1, 1));
    assert_null(lab_book_find(book, e, false, 0, 3));
    lab_book_close(book);
    remove_folder();
}

static void append(const char *text) {
    FILE *out = fopen(path, "a");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void a_line_cut_short_is_passed_over(void **state) {
    (void)state;
    double values[16] = {1, 2, 3};
    lab_book *book;
    weir_error err = {0};
    make_folder();
    assert_int_equal(lab_book_open(&book, folder, true, &err), WEIR_OK);
    add(book, 1, values, 1);
    lab_book_close(book);
    append("0123456789abcdef thesis-3.1 quick 0 2 0.5 1 3 1.0 2.");
    assert_int_equal(lab_book_open(&book, folder, true, &err), WEIR_OK);
    assert_non_null(lab_book_find(book, lab_experiment_at(0), false, 0, 1));
    assert_null(lab_book_find(book, lab_experiment_at(0), false, 0, 2));
    add(book, 2, values, 1); /* begins a line of its own */
    lab_book_close(book);
    assert_int_equal(lab_book_open(&book, folder, false, &err), WEIR_OK);
    assert_non_null(lab_book_find(book, lab_experiment_at(0), false, 0, 1));
    assert_non_null(lab_book_find(book, lab_experiment_at(0), false, 0, 2));
    assert_int_equal(lab_book_stale(book), 0);
    lab_book_close(book);
    remove_folder();
}

static void other_versions_are_told_apart(void **state) {
    (void)state;
    lab_book *book;
    weir_error err = {0};
    make_folder();
    assert_int_equal(lab_book_open(&book, folder, false, &err), WEIR_ERR_IO);
    append("weir-lab 2\n0123456789abcdef thesis-3.1 quick 0 1 0.5 1 3 1 2 3\n");
    assert_int_equal(lab_book_open(&book, folder, false, &err), WEIR_OK);
    assert_null(lab_book_find(book, lab_experiment_at(0), false, 0, 1));
    assert_int_equal(lab_book_stale(book), 1);
    lab_book_close(book);
    append("nonsense\n");
    assert_int_equal(lab_book_open(&book, folder, true, &err), WEIR_ERR_CORRUPT);
    assert_non_null(strstr(err.message, "line 3"));
    unlink(path);
    append("weir-lab 1\nwhatever\n");
    assert_int_equal(lab_book_open(&book, folder, true, &err), WEIR_ERR_VERSION);
    remove_folder();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_within_tolerance_is_reproduced),
        cmocka_unit_test(sampling_error_widens_the_tolerance),
        cmocka_unit_test(claims_decide),
        cmocka_unit_test(verdicts_are_held_down),
        cmocka_unit_test(every_claim_has_a_criterion),
        cmocka_unit_test(a_row_that_moves_is_noticed),
        cmocka_unit_test(cells_are_found),
        cmocka_unit_test(entries_are_whole),
        cmocka_unit_test(results_come_back_to_the_bit),
        cmocka_unit_test(a_line_cut_short_is_passed_over),
        cmocka_unit_test(other_versions_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
