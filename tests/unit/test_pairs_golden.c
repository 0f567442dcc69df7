/* test_pairs_golden.c - summaries of pairs as this format version first wrote them.
 *
 * Golden files under tests/golden (pairs_*.weir) must load and give the same
 * answers for ever, as they are and after more records. `test_pairs_golden
 * --write-golden` makes those that are missing.
 */
#include "testing.h"

#include <math.h>
#include <unistd.h>

#include "core/rng.h"
#include "weir_pairs.h"

enum { D = 5, RECORDS = 80, MORE = 40, MOST_ANSWERS = 64 };

static const struct {
    const char *name, *spec;
} cases[] = {
    {"offline", "pairs:columns=5,threshold=3,sample=0.5,memory=1M,witnesses=8,seed=1,draw=2"},
    {"all", "pairs:columns=5,threshold=3,memory=1M,witnesses=8,seed=1,draw=2"},
    {"set", "pairs:columns=5,threshold=2,sample=0.4,from=set,memory=1M,witnesses=8,seed=1,draw=2"},
    {"online",
     "pairs:columns=5,threshold=3,method=online,width=64,depth=3,witnesses=8,seed=1,draw=2"},
    {"online_64", "pairs:columns=5,threshold=3,sample=0.5,method=online,width=32,depth=3,"
                  "counter=64,repeats=3,witnesses=8,seed=1,draw=2"}};
enum { CASES = sizeof cases / sizeof *cases };

/* Records of few values, so that many agree. */
static const uint64_t *rows(void) {
    static uint64_t all[(RECORDS + MORE) * D];
    for (uint64_t i = 0; i < (RECORDS + MORE) * D; i++) all[i] = 1 + test_word(41, i) % 6;
    return all;
}

typedef struct {
    double numbers[MOST_ANSWERS];
    size_t count;
} answers;

static void note(answers *a, const weir_pairs_answer *answer) {
    assert_true(a->count + D + 3 <= MOST_ANSWERS);
    a->numbers[a->count++] = answer->similar;
    a->numbers[a->count++] = answer->similar_deviation;
    a->numbers[a->count++] = answer->high;
    for (unsigned k = answer->threshold; k <= D; k++) a->numbers[a->count++] = answer->count[k];
}

/* All pairs and those of one record, as it is and after more records. */
static answers ask(weir_pairs *p) {
    answers a = {.count = 0};
    weir_pairs_answer answer;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(weir_pairs_self(p, &answer, NULL), WEIR_OK);
        note(&a, &answer);
        assert_int_equal(weir_pairs_search(p, rows() + 3 * D, &answer, NULL), WEIR_OK);
        note(&a, &answer);
        if (round) break;
        assert_int_equal(weir_pairs_add(p, RECORDS, rows() + RECORDS * D, MORE, NULL), WEIR_OK);
    }
    return a;
}

static const char *golden_path(size_t k, const char *ending) {
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/pairs_%s.%s", WEIR_SOURCE_DIR, cases[k].name,
             ending);
    return path;
}

static void write_golden(size_t k) {
    weir_pairs *p;
    if (access(golden_path(k, "weir"), F_OK) == 0) return;
    assert_int_equal(weir_pairs_new(&p, cases[k].spec, NULL), WEIR_OK);
    assert_int_equal(weir_pairs_add(p, 0, rows(), RECORDS, NULL), WEIR_OK);
    assert_int_equal(weir_pairs_save(p, golden_path(k, "weir"), NULL), WEIR_OK);
    answers a = ask(p);
    FILE *file = fopen(golden_path(k, "answers"), "w");
    for (size_t i = 0; i < a.count; i++) fprintf(file, "%.15g\n", a.numbers[i]);
    fclose(file);
    weir_pairs_free(p);
}

static void expect_answers(size_t k, weir_pairs *p) {
    answers a = ask(p);
    double expected;
    FILE *file = fopen(golden_path(k, "answers"), "r");
    assert_non_null(file);
    for (size_t i = 0; i < a.count; i++) {
        assert_int_equal(fscanf(file, "%lf", &expected), 1);
        if (!(fabs(a.numbers[i] - expected) <= 1e-9 * fmax(1, fabs(expected))))
            fail_msg("the golden '%s' gives %.15g for answer %zu, not %.15g", cases[k].name,
                     a.numbers[i], i, expected);
    }
    assert_int_equal(fscanf(file, "%lf", &expected), EOF);
    fclose(file);
}

/* Saved then, and made now: the same records draw the same super-values. */
static void golden_files_give_the_same_answers(void **state) {
    (void)state;
    for (size_t k = 0; k < CASES; k++) {
        weir_pairs *p;
        weir_error err = {0};
        if (weir_pairs_load(&p, golden_path(k, "weir"), &err)) fail_msg("%s", err.message);
        expect_answers(k, p);
        weir_pairs_free(p);
        assert_int_equal(weir_pairs_new(&p, cases[k].spec, NULL), WEIR_OK);
        assert_int_equal(weir_pairs_add(p, 0, rows(), RECORDS, NULL), WEIR_OK);
        expect_answers(k, p);
        weir_pairs_free(p);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--write-golden") == 0) {
        for (size_t k = 0; k < CASES; k++) write_golden(k);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_files_give_the_same_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
