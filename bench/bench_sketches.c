/* bench_sketches.c - how many updates a second each sketch takes.
 *
 * Question   what does an update cost, and how near is that to what the memory of
 *            this machine allows?
 * Contestants
 *            sketches of the library, in batches of 256; and the machine itself: as
 *            many random cache lines for each key as the sketch has rows, one word
 *            of each read, changed and written back, the lines of a block asked for
 *            ahead (the best of several distances)
 * Fairness   keys come from a counter and a mixer inside the timed loops, for all
 *            alike; contestants take turns in short slices of the thread's own time,
 *            and a share of the machine's rate is the median over slices side by side
 * Printed    updates a second (millions), nanoseconds an update, the share of the
 *            machine's rate at that depth and memory, the spread of the slices
 *
 * `--long N` adds N updates to one sketch and prints the rate of each tenth: the cost
 * must be flat.
 *
 * `--threads N` gives each of N threads a sketch of its own, merges them, and prints the
 * rate beside that of one thread, by the clock on the wall: rounds in turns, the best.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <weir.h>
#include <weir_sketch.h>

#include "bench.h"

enum { BLOCK = 256, ROUNDS = 15 };
#define SLICE 0.02 /* seconds */

static double thread_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *numbers, int n) {
    qsort(numbers, (size_t)n, sizeof *numbers, ascending);
    return numbers[n / 2];
}

/* ---- the machine ---- */

typedef struct {
    uint64_t *words;
    uint64_t lines;
    unsigned depth, ahead;
    uint64_t keys;
} machine;

static void machine_block(machine *m) {
    uint64_t places[BLOCK * 8], count = BLOCK * (uint64_t)m->depth;
    for (unsigned k = 0; k < BLOCK; k++) {
        uint64_t key = bench_next(&m->keys);
        for (unsigned i = 0; i < m->depth; i++, key = key * UINT64_C(0xd6e8feb86659fd93) + i)
            places[k * m->depth + i] = 8 * bench_scale(key, m->lines);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (i + m->ahead < count) __builtin_prefetch(&m->words[places[i + m->ahead]], 1);
        m->words[places[i]]++;
    }
}

static double machine_rate(machine *m) {
    double begin = thread_time(), now;
    uint64_t keys = 0;
    do {
        for (int i = 0; i < 16; i++, keys += BLOCK) machine_block(m);
        now = thread_time();
    } while (now - begin < SLICE);
    return (double)keys / (now - begin);
}

static machine machine_new(uint64_t bytes, unsigned depth) {
    machine m = {.lines = bytes / 64, .depth = depth, .keys = 1};
    m.words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m.words == MAP_FAILED) bench_die("no memory for %llu bytes", (unsigned long long)bytes);
    madvise(m.words, bytes, MADV_HUGEPAGE);
    memset(m.words, 1, bytes);
    double best = 0;
    unsigned chosen = 0;
    static const unsigned distances[] = {8, 16, 32, 64, 128};
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        m.ahead = distances[i];
        double rate = machine_rate(&m);
        if (rate > best) best = rate, chosen = m.ahead;
    }
    m.ahead = chosen;
    return m;
}

/* ---- sketches ---- */

typedef struct {
    weir_sketch *sketch;
    uint64_t keys;
} contestant;

static const void *key_bytes(void *context, size_t i, size_t *length) {
    const uint64_t *hashes = context;
    *length = sizeof hashes[i];
    return &hashes[i];
}

static void add_block(contestant *c) {
    uint64_t hashes[BLOCK];
    int64_t values[BLOCK];
    weir_error err;
    for (unsigned i = 0; i < BLOCK; i++) {
        hashes[i] = bench_next(&c->keys);
        values[i] = (int64_t)(hashes[i] >> 32);
    }
    weir_updates u = {
        .count = BLOCK, .hashes = hashes, .values = values, .key = key_bytes, .context = hashes};
    if (weir_sketch_add_batch(c->sketch, &u, &err) != WEIR_OK) bench_die("%s", err.message);
}

static double sketch_rate(contestant *c) {
    double begin = thread_time(), now;
    uint64_t keys = 0;
    do {
        for (int i = 0; i < 16; i++, keys += BLOCK) add_block(c);
        now = thread_time();
    } while (now - begin < SLICE);
    return (double)keys / (now - begin);
}

static contestant contestant_new(const char *spec) {
    contestant c = {.keys = 7};
    weir_error err;
    if (weir_sketch_new(&c.sketch, spec, &err) != WEIR_OK) bench_die("%s: %s", spec, err.message);
    weir_sketch_info info;
    weir_sketch_get_info(c.sketch, &info);
    for (uint64_t i = 0; i < info.memory / 64 / BLOCK + 64; i++) add_block(&c); /* touch it all */
    return c;
}

/* lines: cache lines that an update touches, 0: do not compare. */
static void run_case(const char *spec, unsigned lines) {
    contestant c = contestant_new(spec);
    weir_sketch_info info;
    weir_sketch_get_info(c.sketch, &info);
    machine m = {.words = NULL};
    if (lines) m = machine_new(info.memory / 64 * 64, lines);
    double rates[ROUNDS], shares[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        rates[i] = sketch_rate(&c);
        shares[i] = lines ? rates[i] / machine_rate(&m) : 0;
    }
    double rate = median(rates, ROUNDS),
           spread = (rates[ROUNDS * 3 / 4] - rates[ROUNDS / 4]) / rate;
    printf("%-52s %8.1f %7.1f ", spec, rate / 1e6, 1e9 / rate);
    if (lines) printf("%6.0f%%", 100 * median(shares, ROUNDS));
    else printf("%7s", "");
    printf(" %6.0f%%\n", 100 * spread);
    fflush(stdout);
    if (lines) munmap(m.words, info.memory / 64 * 64);
    weir_sketch_free(c.sketch);
}

static void run_long(const char *spec, double updates) {
    contestant c = contestant_new(spec);
    printf("%s\n", spec);
    for (int tenth = 1; tenth <= 10; tenth++) {
        double begin = thread_time();
        for (uint64_t i = 0; i < (uint64_t)(updates / 10 / BLOCK); i++) add_block(&c);
        printf("%3d0%%  %.1f million a second\n", tenth,
               updates / 10 / (thread_time() - begin) / 1e6);
        fflush(stdout);
    }
    weir_sketch_free(c.sketch);
}

/* ---- threads ---- */

enum { THREADS_MOST = 64, THREAD_BLOCKS = 1 << 16 };

static void *fill(void *context) {
    for (int i = 0; i < THREAD_BLOCKS; i++) add_block(context);
    return NULL;
}

/* Updates a second of so many threads, merging included. */
static double threads_rate(contestant *each, unsigned threads) {
    pthread_t ids[THREADS_MOST];
    weir_error err;
    for (unsigned i = 0; i < threads; i++) weir_sketch_clear(each[i].sketch);
    double begin = bench_now();
    for (unsigned i = 1; i < threads; i++)
        if (pthread_create(&ids[i], NULL, fill, &each[i])) bench_die("no thread can be made");
    fill(&each[0]);
    for (unsigned i = 1; i < threads; i++) {
        pthread_join(ids[i], NULL);
        if (weir_sketch_merge(each[0].sketch, each[i].sketch, &err)) bench_die("%s", err.message);
    }
    return (double)threads * THREAD_BLOCKS * BLOCK / (bench_now() - begin);
}

static void run_threads(const char *spec, unsigned threads) {
    contestant each[THREADS_MOST];
    double one = 0, all = 0;
    for (unsigned i = 0; i < threads; i++) each[i] = contestant_new(spec), each[i].keys += i;
    for (int round = 0; round < ROUNDS / 3; round++) {
        one = fmax(one, threads_rate(each, 1));
        all = fmax(all, threads_rate(each, threads));
    }
    printf("%-52s %8.1f %8.1f %6.2f\n", spec, one / 1e6, all / 1e6, all / one);
    fflush(stdout);
    for (unsigned i = 0; i < threads; i++) weir_sketch_free(each[i].sketch);
}

int main(int argc, char **argv) {
    static const struct {
        const char *spec;
        unsigned lines;
    } cases[] = {{"countmin:memory=64K,depth=4", 4},
                 {"countmin:memory=256K,depth=4", 4},
                 {"countmin:memory=1M,depth=4", 4},
                 {"countmin:memory=1M,depth=4,layout=block", 1},
                 {"countmin:memory=1M,depth=5", 5},
                 {"countmin:memory=1M,depth=4,update=conservative", 4},
                 {"countmin:memory=1M,depth=4,counter=64", 4},
                 {"countmin:memory=1M,depth=4,decay=1000000", 4},
                 {"agms:memory=64K,depth=4", 4},
                 {"agms:memory=1M,depth=4", 4},
                 {"countmin:memory=1G,depth=4", 4},
                 {"countmin:memory=1G,depth=5", 5},
                 {"countmin:memory=1G,depth=4,layout=block", 1},
                 {"agms:memory=1G,depth=4", 4},
                 {"top:k=100,memory=1M", 0},
                 {"dyadic:bits=32,memory=1M", 0},
                 {"hll:memory=12K", 0},
                 {"kmv:memory=32K", 0},
                 {"linear:memory=128K", 0},
                 {"multires:memory=32K", 0},
                 {"pcsa:memory=32K", 0},
                 {"distinct:memory=1M", 0},
                 {"sample:n=1000", 0},
                 {"sticky", 0},
                 {"spectral:memory=1M", 0},
                 {"spacecode:memory=1M", 0},
                 {"ams:memory=8K", 0},
                 {"window:length=10M,of=(countmin:memory=64K)", 0}};
    if (argc == 3 && strcmp(argv[1], "--long") == 0) {
        run_long("countmin:memory=1M,depth=4", strtod(argv[2], NULL));
        run_long("top:k=100,memory=1M", strtod(argv[2], NULL));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--threads") == 0) {
        unsigned threads = (unsigned)strtoul(argv[2], NULL, 10);
        if (threads < 1 || threads > THREADS_MOST) bench_die("1 to %d threads", THREADS_MOST);
        printf("%-52s %8s %8s %6s\n", "sketch", "1, M/s", "all, M/s", "ratio");
        run_threads("countmin:memory=1M,depth=4,seed=1", threads);
        run_threads("agms:memory=1M,depth=4,seed=1", threads);
        run_threads("top:k=100,memory=1M,seed=1", threads);
        return 0;
    }
    printf("%-52s %8s %7s %7s %7s\n", "sketch", "M/s", "ns", "machine", "spread");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strstr(cases[i].spec, argv[1])) run_case(cases[i].spec, cases[i].lines);
    return 0;
}
