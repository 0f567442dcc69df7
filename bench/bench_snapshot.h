/* bench_snapshot.h - how fast a filter is saved and loaded.
 *
 * Beside it, in turns, the plain way of moving the same number of bytes in the
 * same folder: write() and fsync() of a map in memory, and read() of the file
 * into a fresh map, with the same advice about huge pages. What weir does more
 * is to check every byte.
 *
 * The files are in the page cache when they are read, so that a load is measured
 * against the speed of memory. Wall time counts, and the best of the rounds, as
 * a disk has its moods.
 */
#ifndef WEIR_BENCH_SNAPSHOT_H
#define WEIR_BENCH_SNAPSHOT_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <weir.h>

#include "bench.h"

#define SNAPSHOT_STEP ((size_t)1 << 20)

/* A filter with something in every line. */
static inline weir_filter *snapshot_filter(uint64_t bytes) {
    char spec[96];
    weir_filter *filter;
    weir_error err;
    uint64_t keys[256], verdicts[4], state = 1;
    snprintf(spec, sizeof spec, "recent:memory=%" PRIu64 ",seed=1", bytes);
    if (weir_filter_new(&filter, spec, &err)) bench_die("%s", err.message);
    for (uint64_t n = 0; n < bytes / 64 * 4; n += 256) {
        for (int i = 0; i < 256; i++) keys[i] = bench_next(&state);
        weir_filter_offer_batch(filter, &(weir_batch){.count = 256, .hashes = keys}, verdicts);
    }
    return filter;
}

static inline uint8_t *snapshot_map(uint64_t bytes) {
    uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) bench_die("cannot map %" PRIu64 " bytes", bytes);
    madvise(map, bytes, MADV_HUGEPAGE);
    return map;
}

static inline double plain_write(const char *path, const uint8_t *bytes, uint64_t size) {
    double begin = bench_now();
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) bench_die("cannot write '%s': %s", path, strerror(errno));
    for (uint64_t done = 0; done < size;) {
        size_t step = size - done < SNAPSHOT_STEP ? (size_t)(size - done) : SNAPSHOT_STEP;
        ssize_t n = write(fd, bytes + done, step);
        if (n < 0) bench_die("cannot write '%s': %s", path, strerror(errno));
        done += (uint64_t)n;
    }
    if (fsync(fd)) bench_die("cannot flush '%s': %s", path, strerror(errno));
    close(fd);
    return bench_now() - begin;
}

static inline double plain_read(const char *path, uint64_t size) {
    double begin = bench_now();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) bench_die("cannot read '%s': %s", path, strerror(errno));
    uint8_t *map = snapshot_map(size);
    for (uint64_t done = 0; done < size;) {
        ssize_t n = read(fd, map + done, SNAPSHOT_STEP);
        if (n <= 0) break;
        done += (uint64_t)n;
    }
    close(fd);
    double took = bench_now() - begin;
    munmap(map, size);
    return took;
}

static inline double timed_save(const weir_filter *filter, const char *path) {
    weir_error err;
    double begin = bench_now();
    if (weir_filter_save(filter, path, &err)) bench_die("%s", err.message);
    return bench_now() - begin;
}

static inline double timed_load(const char *path) {
    weir_error err;
    weir_filter *filter;
    double begin = bench_now();
    if (weir_filter_load(&filter, path, &err)) bench_die("%s", err.message);
    double took = bench_now() - begin;
    weir_filter_free(filter);
    return took;
}

enum { SAVE, LOAD, WRITE, READ, SNAPSHOT_JOBS };

static inline void snapshot_rounds(const weir_filter *filter, uint64_t bytes, const char *folder,
                                   unsigned rounds, double *best, double *worst) {
    char saved[4096], plain[4096];
    snprintf(saved, sizeof saved, "%s/bench-%ld.weir", folder, (long)getpid());
    snprintf(plain, sizeof plain, "%s/bench-%ld.plain", folder, (long)getpid());
    uint8_t *map = snapshot_map(bytes);
    for (uint64_t i = 0; i < bytes; i += 8) memcpy(map + i, &(uint64_t){bench_mix(i)}, 8);
    for (int j = 0; j < SNAPSHOT_JOBS; j++) best[j] = INFINITY, worst[j] = 0;
    for (unsigned i = 0; i < rounds; i++) {
        double took[SNAPSHOT_JOBS];
        took[WRITE] = plain_write(plain, map, bytes);
        took[SAVE] = timed_save(filter, saved);
        took[READ] = plain_read(plain, bytes);
        took[LOAD] = timed_load(saved);
        for (int j = 0; j < SNAPSHOT_JOBS; j++) {
            best[j] = fmin(best[j], took[j]);
            worst[j] = fmax(worst[j], took[j]);
        }
    }
    unlink(saved);
    unlink(plain);
    munmap(map, bytes);
}

/* A folder may be given as LABEL=PATH. */
static inline const char *folder_path(const char *folder) {
    const char *equals = strchr(folder, '=');
    return equals ? equals + 1 : folder;
}

static inline int label_length(const char *folder) { return (int)strcspn(folder, "="); }

static inline void print_snapshot(const char *folder, uint64_t bytes, const double *best,
                                  const double *worst, bool markdown) {
    static const char *const jobs[] = {"save", "load", "write + fsync", "read"};
    for (int j = 0; j < SNAPSHOT_JOBS; j++)
        printf(markdown ? "| %.*s | %s | %.0f | %.2f | %.2f |\n"
                        : "%-12.*s  %-13s  %8.0f  %7.2f  %7.2f\n",
               label_length(folder), folder, jobs[j], (double)bytes / best[j] / 1e6, best[j],
               worst[j]);
}

static inline void snapshot_verdict(const char *what, double share, const char *folder,
                                    bool markdown) {
    printf("%s%-4s  snapshot, %s (%.*s): %.0f%% of the plain speed (must 50%%)\n",
           markdown ? "\n" : "", share >= 0.5 ? "PASS" : "MISS", what, label_length(folder), folder,
           100 * share);
}

static inline void snapshot_bench(uint64_t bytes, const char *const *folders, unsigned count,
                                  unsigned rounds, bool markdown) {
    double best[8][SNAPSHOT_JOBS], worst[8][SNAPSHOT_JOBS];
    weir_filter *filter = snapshot_filter(bytes);
    if (markdown) puts("\n| folder | | MB/s | best s | worst s |\n|---|---|--:|--:|--:|");
    else printf("%-12s  %-13s  %8s  %7s  %7s\n", "folder", "", "MB/s", "best s", "worst s");
    for (unsigned i = 0; i < count; i++) {
        snapshot_rounds(filter, bytes, folder_path(folders[i]), rounds, best[i], worst[i]);
        print_snapshot(folders[i], bytes, best[i], worst[i], markdown);
    }
    if (!markdown) puts("");
    for (unsigned i = 0; i < count; i++) {
        snapshot_verdict("save", best[i][WRITE] / best[i][SAVE], folders[i], markdown);
        snapshot_verdict("load", best[i][READ] / best[i][LOAD], folders[i], markdown);
    }
    weir_filter_free(filter);
}

#endif
