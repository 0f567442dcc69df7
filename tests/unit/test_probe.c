/* test_probe.c - the places of a key behave as if drawn independently. */
#include "filter/probe.h"
#include "testing.h"

#define KEYS 400000
#define PLACES 8

/* How many of a key's places fall into a set that holds a fifth of all is
 * binomial, whatever the set: every fifth of 40 ranges, every fifth place, the
 * first fifth. Chi-square with 6 degrees of freedom (tails joined) exceeds 50
 * once in 200 million. */
static bool in_set(int set, uint64_t place, uint64_t range) {
    if (set == 0) return place * 40 / range % 5 == 0;
    if (set == 1) return place % 5 == 0;
    return place < range / 5;
}

static void places_are_independent(void **state) {
    (void)state;
    static const double expected[] = {0.16777216, 0.33554432, 0.29360128, 0.14680064,
                                      0.0458752,  0.00917504, 0.00123136}; /* 6 or more */
    for (int set = 0; set < 3; set++) {
        double counts[7] = {0}, chi2 = 0;
        for (uint64_t i = 0; i < KEYS; i++) {
            weir__probes probes = weir__probes_start(test_word(5, i));
            int inside = 0;
            for (int j = 0; j < PLACES; j++)
                inside += in_set(set, weir__scale(weir__probes_next(&probes), 70000), 70000);
            counts[inside < 6 ? inside : 6]++;
        }
        for (int i = 0; i < 7; i++) {
            double mean = KEYS * expected[i];
            chi2 += (counts[i] - mean) * (counts[i] - mean) / mean;
        }
        if (chi2 > 50) fail_msg("set %d: chi-square %.1f", set, chi2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(places_are_independent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
