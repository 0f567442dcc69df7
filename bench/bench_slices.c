/* bench_slices.c - what two threads on slices do against one on a whole filter.
 *
 * Question   do slices pay, and can waiting for them ever cost more than it gains?
 * Contestants
 *            one thread on one `recent`; one and two threads on `horizontal` of 2 and
 *            of 8 slices; two threads that both want one slice all the time, which is
 *            the worst that contention can do. All with the same memory in all.
 * Fairness   every filter has been offered as many keys as it has room for before
 *            anything is timed, so its memory is touched and full; a thread draws its
 *            keys a batch at a time and offers them at once, as a producer would that
 *            hashes them, others in each turn, so that no filter meets keys that it
 *            has just been asked about; contestants take turns, and a ratio is that of
 *            two turns next to each other. A turn is wall time, from before the first
 *            key of any thread to after the last.
 * Printed    keys a second (millions), and how many times as many as one thread on one
 *            filter: median and range. Then the same ratio by the processor time of the
 *            busiest thread, which other programs on the machine disturb less; time
 *            asleep at a lock is not in it, so it is the most that can be hoped for.
 *
 *     weir-bench-slices [--markdown] [MEMORY [ROUNDS]]
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <weir.h>
#include <weir_text.h>

#include "bench.h"

enum { BATCH = 4096, THREADS = 2, MOST_ROUNDS = 999 };
#define TURN_KEYS ((size_t)1 << 21) /* of all threads together */

typedef struct {
    const char *label, *format; /* of a spec, with the bytes of a slice to come */
    unsigned slices, threads;
    double must; /* times as many keys as one thread on one filter; 0: not judged */
    weir_filter *filter;
    double rates[MOST_ROUNDS], ratios[MOST_ROUNDS], busy[MOST_ROUNDS];
} contestant;

#define SLICES(n) "horizontal:slices=" #n ",of=(recent:memory=%llu)"

static contestant contestants[] = {
    {.label = "recent, one thread", .format = "recent:memory=%llu", .slices = 1, .threads = 1},
    {.label = "2 slices, one thread", .format = SLICES(2), .slices = 2, .threads = 1},
    {.label = "2 slices, two threads", .format = SLICES(2), .slices = 2, .threads = 2, .must = 1.8},
    {.label = "8 slices, two threads", .format = SLICES(8), .slices = 8, .threads = 2},
    {.label = "1 slice, two threads", .format = SLICES(1), .slices = 1, .threads = 2, .must = 1},
};
enum { CONTESTANTS = sizeof contestants / sizeof *contestants };

typedef struct {
    weir_filter *filter;
    size_t count;
    uint64_t state, known; /* what keys are drawn from */
    pthread_barrier_t *begin;
    double busy; /* processor time */
} share;

typedef struct {
    double rate, busy_rate;
} speed;

/* Half of the keys are drawn from `known`, so that repeats occur. */
static void offer_drawn(weir_filter *filter, size_t count, uint64_t *state, uint64_t known) {
    uint64_t hashes[BATCH], verdicts[WEIR_VERDICT_WORDS(BATCH)];
    for (size_t at = 0; at < count; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            uint64_t word = bench_next(state);
            hashes[i] = word & 1 ? bench_mix(bench_scale(word, known) + 1) : word;
        }
        weir_filter_offer_batch(filter, &(weir_batch){.count = BATCH, .hashes = hashes}, verdicts);
    }
}

static double thread_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *offer_share(void *argument) {
    share *s = argument;
    pthread_barrier_wait(s->begin);
    double begin = thread_time();
    offer_drawn(s->filter, s->count, &s->state, s->known);
    s->busy = thread_time() - begin;
    return NULL;
}

static speed turn(const contestant *c, uint64_t *state, uint64_t known) {
    pthread_barrier_t begin;
    pthread_t threads[THREADS];
    share shares[THREADS];
    size_t each = TURN_KEYS / c->threads;
    double busiest = 0;
    pthread_barrier_init(&begin, NULL, c->threads + 1);
    for (unsigned i = 0; i < c->threads; i++) {
        shares[i] = (share){c->filter, each, bench_next(state), known, &begin, 0};
        if (pthread_create(&threads[i], NULL, offer_share, &shares[i]))
            bench_die("cannot start a thread");
    }
    double started = bench_now();
    pthread_barrier_wait(&begin);
    for (unsigned i = 0; i < c->threads; i++) pthread_join(threads[i], NULL);
    double seconds = bench_now() - started;
    pthread_barrier_destroy(&begin);
    for (unsigned i = 0; i < c->threads; i++)
        if (shares[i].busy > busiest) busiest = shares[i].busy;
    double keys = (double)(each * c->threads);
    return (speed){keys / seconds, keys / busiest};
}

static void make_filled(contestant *c, uint64_t memory, uint64_t known) {
    char spec[128];
    weir_error err;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(spec, sizeof spec, c->format, (unsigned long long)(memory / c->slices));
#pragma GCC diagnostic pop
    if (weir_filter_new(&c->filter, spec, &err)) bench_die("%s", err.message);
    uint64_t state = 7, hashes[BATCH], verdicts[WEIR_VERDICT_WORDS(BATCH)];
    for (uint64_t done = 0; done < known; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) hashes[i] = bench_mix(done + i + 1);
        weir_filter_offer_batch(c->filter, &(weir_batch){.count = BATCH, .hashes = hashes},
                                verdicts);
    }
    offer_drawn(c->filter, TURN_KEYS, &state, known);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(contestant *c, unsigned rounds, bool markdown) {
    qsort(c->rates, rounds, sizeof *c->rates, ascending);
    qsort(c->ratios, rounds, sizeof *c->ratios, ascending);
    qsort(c->busy, rounds, sizeof *c->busy, ascending);
    const char *bar = markdown ? "|" : " ";
    printf("%s %-22s %s %5.1f (%.1f to %.1f) %s %.2f (%.2f to %.2f) %s %.2f %s\n", bar, c->label,
           bar, c->rates[rounds / 2] / 1e6, c->rates[0] / 1e6, c->rates[rounds - 1] / 1e6, bar,
           c->ratios[rounds / 2], c->ratios[0], c->ratios[rounds - 1], bar, c->busy[rounds / 2],
           bar);
}

static void judge(const contestant *c, unsigned rounds) {
    double ratio = c->ratios[rounds / 2];
    if (c->must > 0)
        printf("%s  %s: %.2f times the keys of one thread on one filter (must be at least %.1f)\n",
               ratio >= c->must ? "PASS" : "MISS", c->label, ratio, c->must);
}

static void print_all(unsigned rounds, bool markdown) {
    puts(markdown ? "| | million keys/s | x one thread | by busy time |\n|---|---|---|---|"
                  : "                          million keys/s        x one thread    by busy time");
    for (unsigned c = 0; c < CONTESTANTS; c++) print(&contestants[c], rounds, markdown);
    puts("");
    for (unsigned c = 0; c < CONTESTANTS; c++) judge(&contestants[c], rounds);
}

int main(int argc, char **argv) {
    uint64_t memory = (uint64_t)512 << 20;
    bool markdown = argc > 1 && !strcmp(argv[1], "--markdown");
    if (markdown) argc--, argv++;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 31;
    weir_error err;
    if (argc > 1 && weir_parse_size(argv[1], &memory, &err)) bench_die("%s", err.message);
    if (!rounds || rounds > MOST_ROUNDS) bench_die("rounds are 1 to %d", MOST_ROUNDS);
    uint64_t known = memory / 4; /* more than fit in 16 bits a key and the spare room */
    uint64_t state = 1;
    for (unsigned c = 0; c < CONTESTANTS; c++) make_filled(&contestants[c], memory, known);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < CONTESTANTS; i++) {
            contestant *c = &contestants[i];
            speed whole = turn(&contestants[0], &state, known);
            speed own = i ? turn(c, &state, known) : whole;
            c->rates[round] = own.rate;
            c->ratios[round] = own.rate / whole.rate;
            c->busy[round] = own.busy_rate / whole.busy_rate;
        }
    }
    print_all(rounds, markdown);
    for (unsigned c = 0; c < CONTESTANTS; c++) weir_filter_free(contestants[c].filter);
    return 0;
}
