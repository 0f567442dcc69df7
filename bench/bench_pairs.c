/* bench_pairs.c - speed of pair summaries: what each super-value costs, against
 * sorting as many words and against comparing all pairs.
 *
 *     weir-bench-pairs [RECORDS [COMPARED]]
 *
 * 1 million records of d = 6, s = 4, r = 0.5. All pairs of the first COMPARED
 * (50,000) are compared, and the time for all of them follows by the square; with
 * COMPARED = RECORDS it is measured.
 *
 * Ratios are of CPU times within one run: medians of a few for what takes part of a
 * second, taken in turns where two are compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "weir.h"
#include "weir_pairs.h"

enum { D = 6, PER_RECORD = 12, ROUNDS = 5 };

static uint64_t rng_state = 1;
static uint64_t word(void) { /* xorshift64* */
    rng_state ^= rng_state >> 12;
    rng_state ^= rng_state << 25;
    rng_state ^= rng_state >> 27;
    return rng_state * UINT64_C(2685821657736338717);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_word(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Clusters of up to six records that keep each value with probability 0.8. */
static uint64_t *records(size_t n) {
    uint64_t *rows = malloc(n * D * sizeof *rows), centre[D];
    if (!rows) exit(2);
    for (size_t i = 0; i < n;) {
        size_t size = 1 + word() % 6;
        for (int c = 0; c < D; c++) centre[c] = word();
        for (size_t j = 0; j < size && i < n; j++, i++)
            for (int c = 0; c < D; c++)
                rows[i * D + (size_t)c] = word() % 10 < 8 ? centre[c] : word();
    }
    return rows;
}

static void check(weir_status status, const weir_error *err) {
    if (status == WEIR_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(2);
}

/* CPU seconds to add the records and to answer. */
static double summarise(const char *options, const uint64_t *rows, size_t n, double *answering,
                        double *similar) {
    char spec[200];
    weir_pairs *p;
    weir_pairs_answer a;
    weir_error err;
    snprintf(spec, sizeof spec, "pairs:columns=6,threshold=4,sample=0.5,seed=1%s", options);
    check(weir_pairs_new(&p, spec, &err), &err);
    double start = now();
    check(weir_pairs_add(p, 0, rows, n, &err), &err);
    double added = now();
    check(weir_pairs_self(p, &a, &err), &err);
    *answering = now() - added;
    *similar = a.similar;
    weir_pairs_free(p);
    return added - start;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *times) {
    qsort(times, ROUNDS, sizeof *times, by_size);
    return times[ROUNDS / 2];
}

/* Medians of a few: to add, and to add and answer. */
static double median_of(const char *options, const uint64_t *rows, size_t n, double *total) {
    double adding[ROUNDS], both[ROUNDS], answering, similar;
    for (int i = 0; i < ROUNDS; i++) {
        adding[i] = summarise(options, rows, n, &answering, &similar);
        both[i] = adding[i] + answering;
    }
    *total = median(both);
    return median(adding);
}

/* Sort as many 64-bit words with the C library. */
static double sorting(size_t n) {
    uint64_t *words = malloc(n * sizeof *words);
    if (!words) exit(2);
    for (size_t i = 0; i < n; i++) words[i] = word();
    double start = now();
    qsort(words, n, sizeof *words, by_word);
    double took = now() - start;
    free(words);
    return took;
}

static double comparing(const uint64_t *rows, size_t n, weir_exact_method method, double *similar) {
    weir_exact_options o = {D, 4, false, method};
    weir_pairs_answer a;
    weir_error err;
    double start = now();
    check(weir_pairs_exact(&o, rows, n, NULL, 0, &a, &err), &err);
    *similar = a.similar;
    return now() - start;
}

/* The estimate and the comparison of all pairs in turns. */
static void against_all_pairs(const uint64_t *rows, size_t n, size_t part) {
    double all[ROUNDS] = {0}, estimate[ROUNDS], truth, guess, answering;
    double times = (double)n / (double)part;
    int rounds = part == n ? 1 : ROUNDS; /* one is long enough to be measured once */
    for (int i = 0; i < ROUNDS; i++) {
        double adding = summarise(",memory=1G,draw=2", rows, n, &answering, &guess);
        estimate[i] = adding + answering;
        all[i] = i < rounds ? comparing(rows, part, WEIR_EXACT_ALL_PAIRS, &truth) : all[0];
    }
    double scaled = median(all) * times * times, took = median(estimate);
    printf("all pairs           %6.1f s (%zu records compared, %.2f s): %.0f times the %.3f s of "
           "the estimate\n",
           scaled, part, median(all), scaled / took, took);
    double index = comparing(rows, n, WEIR_EXACT_INDEX, &truth);
    printf("index               %6.2f s; %.0f pairs, estimated as %.0f (%+.2f%%)\n", index, truth,
           guess, 100 * (guess / truth - 1));
}

int main(int argc, char **argv) {
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    size_t part = argc > 2 ? strtoull(argv[2], NULL, 10) : 50000;
    uint64_t *rows = records(n);
    double values = (double)n * PER_RECORD, total;
    double online = median_of(",method=online,width=1000,depth=3,draw=1", rows, n, &total);
    printf("online 1000 x 3     %6.1f ns a super-value, %5.2f million in 100 ms\n",
           online * 1e9 / values, values / online / 1e7);
    online = median_of(",method=online,draw=1", rows, n, &total);
    printf("online 8192 x 5     %6.1f ns a super-value, %5.2f million in 100 ms\n",
           online * 1e9 / values, values / online / 1e7);
    median_of(",memory=1G,draw=1", rows, n, &total);
    double sort = sorting((size_t)values);
    printf("offline             %6.1f ns a super-value, answer included; sorting as many words "
           "%.1f ns: ratio %.2f\n",
           total * 1e9 / values, sort * 1e9 / values, total / sort);
    median_of(",memory=16M,draw=1", rows, n, &total);
    printf("offline in 16M      %6.1f ns a super-value, answer included: ratio %.2f\n",
           total * 1e9 / values, total / sort);
    against_all_pairs(rows, n, part < n ? part : n);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("most memory         %6.0f M\n", (double)usage.ru_maxrss / 1024);
    free(rows);
    return 0;
}
