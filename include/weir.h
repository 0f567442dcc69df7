/* weir.h - have I seen this before? One pass, bounded memory.
 *
 * A weir_filter remembers keys and gives a verdict on each: NEW or SEEN. It never uses more memory
 * than it was given. While the keys fit it is exact; when they no longer fit it forgets, and then
 *
 *   - a NEW key is called SEEN at most at the rate `fpr` that you ask for;
 *   - a repeated key may be called NEW: it was forgotten. The filters differ in how seldom that
 *     happens; the default, `recent`, is the best we know.
 *
 *     #define _GNU_SOURCE
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *     #include <weir.h>
 *
 *     int main(void) {
 *         weir_filter *seen;
 *         char *line = NULL;
 *         size_t room = 0;
 *         if (weir_filter_new(&seen, "recent:memory=64M,fpr=0.0001%", NULL)) return 2;
 *         for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;)
 *             if (weir_filter_offer(seen, line, n) == WEIR_NEW) fwrite(line, 1, n, stdout);
 *         weir_filter_free(seen);
 *         free(line);
 *     }
 *
 * Compile with `cc example.c $(pkg-config --cflags --libs weir)`. Contents:
 *
 *   1. Errors and versions          weir_status, weir_error, weir_version
 *   2. Simple                       make a filter from a spec, offer keys one by one
 *   3. Batch                        offer hashes by the hundred: several times faster
 *   4. State                        save, load, clone, merge, look inside
 *   5. Audit                        the errors that really happen, measured on a sample
 *   6. Snapshots of several parts   filters, audits and notes in one file
 *
 * The rest of the library has headers of its own, which include this one:
 *
 *   weir_sketch.h  how often, how many, which most: counts in fixed memory
 *   weir_pairs.h   how many records are nearly the same
 *   weir_text.h    tables of filters and options, specs, numbers with units
 *   weir_embed.h   memory and files through functions of the caller
 *   weir_plan.h    which filter, how much memory (experimental)
 *   weir_sites.h   filters that are spread over sites that can be lost (experimental)
 *   weir_cpu.h     which vector instructions are used (experimental)
 *
 * A function declared with WEIR_EXPERIMENTAL, and a type that only such functions use, may change
 * or go in any release; everything else keeps its meaning within a major version.
 *
 * Threads: the library has no globals. Different objects may be used from different threads
 * freely; one object must not be used from two threads at once, except through functions marked
 * "thread-safe on one object".
 *
 * Errors: functions that cannot fail return their answer. Those that can return a weir_status and
 * leave their object as it was when they fail, unless they say otherwise; the comment of each
 * names all statuses that it can return beside WEIR_OK. The library never prints and never exits.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0
#define WEIR_VERSION_STRING "0.1.0"

/* The version of the hash functions: hashes of another version mean nothing to a filter. */
#define WEIR_HASH_VERSION 1

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

/* In place of WEIR_API: this function may change or go in any release. */
#define WEIR_EXPERIMENTAL WEIR_API

/* ---- 1. Errors and versions -------------------------------------------------------------- */

/* Every status, its number (frozen) and its text. */
#define WEIR_STATUS_LIST(X)                                                                        \
    X(WEIR_OK, 0, "success")                                                                       \
    X(WEIR_ERR_MEMORY, 1, "out of memory")                                                         \
    X(WEIR_ERR_SPEC, 2, "the spec is not understood")                                              \
    X(WEIR_ERR_RANGE, 3, "a value is out of range")                                                \
    X(WEIR_ERR_IO, 4, "reading or writing failed")                                                 \
    X(WEIR_ERR_CORRUPT, 5, "the snapshot is damaged")                                              \
    X(WEIR_ERR_VERSION, 6, "the snapshot was written by another version")                          \
    X(WEIR_ERR_MISMATCH, 7, "the objects do not fit together")                                     \
    X(WEIR_ERR_UNSUPPORTED, 8, "an object of this kind cannot do that")

typedef enum {
#define WEIR_STATUS_ENUM(name, number, text) name = number,
    WEIR_STATUS_LIST(WEIR_STATUS_ENUM)
#undef WEIR_STATUS_ENUM
} weir_status;

/* Where and why something failed. A function that takes a weir_error fills it when it fails and
 * leaves it alone when it succeeds; NULL is always allowed. */
typedef struct {
    weir_status code;
    int64_t offset;    /* byte of the parsed text (spec, number, snapshot) where it begins, or -1 */
    char message[384]; /* one line, lower case, without a final stop; says what to try */
} weir_error;

/* The text of a status; never NULL, also for unknown numbers. Thread-safe. */
WEIR_API const char *weir_status_text(weir_status status);

/* The version of the library that is linked, "major.minor.patch". Thread-safe. */
WEIR_API const char *weir_version(void);

/* ---- 2. Simple --------------------------------------------------------------------------- */

typedef struct weir_filter weir_filter;

typedef enum {
    WEIR_NEW = 0,
    WEIR_SEEN = 1,
    WEIR_UNDECIDED = 2 /* a site that the key needs is lost, and the filter has on-lost=stop */
} weir_verdict;

/* Make a filter from a spec: `name` or `name:option=value,option=value`, e.g. "recent",
 * "stable:memory=64M,fpr=1%". Sizes take K, M, G (powers of 1024), rates a % sign, durations
 * ms s m h d. `weir help filters` and weir_filter_kind() list names and options; every filter takes
 *
 *     memory=SIZE  the most its cells may use   (default 256M)
 *     fpr=RATE     bound on false positives     (default 0.0001%)
 *     seed=N       makes it repeatable          (default: from the system)
 *     hash=NAME    xxh3 or siphash              (default xxh3)
 *
 * Fails, and *out is then NULL, with WEIR_ERR_SPEC (the spec is not understood) or WEIR_ERR_RANGE
 * (a value of it cannot be), err->offset pointing into the spec; WEIR_ERR_IO (the system gives no
 * random seed); WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_new(weir_filter **out, const char *spec, weir_error *err);
WEIR_API void weir_filter_free(weir_filter *filter); /* NULL is allowed */

/* Give the verdict on a key and remember it. Keys are any bytes; one of length 0 is a key. */
WEIR_API weir_verdict weir_filter_offer(weir_filter *filter, const void *key, size_t length);

/* Give the verdict on a key without remembering it. Thread-safe on one object as long as no other
 * thread changes it. */
WEIR_API weir_verdict weir_filter_test(const weir_filter *filter, const void *key, size_t length);

/* Take back one offer of a key. A key that was offered more often than it was removed is never
 * called NEW, whatever happens to others: so remove only what was offered. *was (may be NULL) is
 * the verdict that it had: after NEW it was not in the filter and nothing has changed. A key that
 * was never offered but is called SEEN (at the rate fpr) takes a part of others with it, and these
 * may be called NEW from then on. Fails with WEIR_ERR_UNSUPPORTED for filters other than
 * `counting` and `spectral`. */
WEIR_API weir_status weir_filter_remove(weir_filter *filter, const void *key, size_t length,
                                        weir_verdict *was, weir_error *err);

/* How often a key was offered less how often it was removed, as far as the filter knows: its page
 * says in which direction it may be wrong. The highest number that a filter's counters hold stands
 * for that number or more. WEIR_ERR_UNSUPPORTED for filters that do not count. Thread-safe on one
 * object as long as no other thread changes it. */
WEIR_API weir_status weir_filter_count(const weir_filter *filter, const void *key, size_t length,
                                       uint64_t *count, weir_error *err);

/* Forget everything; options and seed stay. */
WEIR_API void weir_filter_clear(weir_filter *filter);

/* ---- 3. Batch ---------------------------------------------------------------------------- */

/* The 64-bit hash under which this filter knows a key. The filter's seed and hash function are in
 * it: it is good only for filters of the same `seed` and `hash`. Thread-safe on one object. */
WEIR_API uint64_t weir_filter_hash(const weir_filter *filter, const void *key, size_t length);

/* The hashes of `count` keys that lie one after another in memory, as the lines of a text do.
 * Record i is base[offsets[i]] up to base[offsets[i + 1]], so there are count + 1 offsets; its key
 * is all but its last `tail` bytes (1 for a line feed), and no record is shorter than `tail`.
 * Thread-safe on one object. */
WEIR_API void weir_filter_hash_records(const weir_filter *filter, const void *base,
                                       const uint32_t *offsets, size_t count, size_t tail,
                                       uint64_t *hashes);

/* A batch of keys by their hashes. Zero-fill it and set what you have; each array has `count`
 * elements. Testing does not look at the importances. */
typedef struct {
    size_t count;
    const uint64_t *hashes; /* from weir_filter_hash() */
    const int64_t *times;   /* for a window given as a duration: nanoseconds on any clock that does
                             * not run backwards; NULL: now, for the whole batch */
    const uint64_t *producers; /* who sent each: chooses the leaf of a tree; NULL: the key does */
    const double *importances; /* larger is more important, what is not a number least; for filters
                                * that use_importance; NULL: all as important as can be */
} weir_batch;

/* Number of 64-bit words that hold the verdicts of n keys. */
#define WEIR_VERDICT_WORDS(n) (((size_t)(n) + 63) / 64)

/* Returned when a site is lost that a key of the batch needs and the filter was made with
 * on-lost=stop: nothing of the batch was remembered. */
#define WEIR_STOPPED SIZE_MAX

/* Give verdicts on a batch and remember it: those of offering the keys one by one in order. Bit
 * i%64 of verdicts[i/64] is 1 for SEEN, 0 for NEW; of the WEIR_VERDICT_WORDS(count) words every
 * bit past count is written 0. Batches of 64 or more hide the latency of memory; there is no upper
 * limit. Returns how many were SEEN, or WEIR_STOPPED. Thread-safe on one object for the filters
 * that are spread over sites. */
WEIR_API size_t weir_filter_offer_batch(weir_filter *filter, const weir_batch *batch,
                                        uint64_t *verdicts);

/* The same without remembering: each key is tested against the filter as it is, so a key repeated
 * only inside the batch is NEW each time. Thread-safe on one object as long as no other thread
 * changes it. */
WEIR_API size_t weir_filter_test_batch(const weir_filter *filter, const weir_batch *batch,
                                       uint64_t *verdicts);

/* weir_filter_remove() for a batch, in order. Bit i of verdicts is 1 where the key was SEEN and one
 * offer of it was taken back. Fails with WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_filter_remove_batch(weir_filter *filter, const weir_batch *batch,
                                              uint64_t *verdicts, weir_error *err);

/* ---- 4. State ---------------------------------------------------------------------------- */

/* Save to a file: written beside it, flushed to the disk, then renamed over it, so that a crash at
 * any instant leaves the old file or the new one. Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_save(const weir_filter *filter, const char *path, weir_error *err);

/* Load what weir_filter_save() wrote. Every byte is checked before anything is trusted. Fails, and
 * *out is then NULL, with
 *   WEIR_ERR_IO        it cannot be opened or read, or is no regular file
 *   WEIR_ERR_CORRUPT   it is damaged, or no snapshot
 *   WEIR_ERR_VERSION   it was written by a newer weir, or by an older one that laid out this
 *                      kind of filter in another way
 *   WEIR_ERR_MISMATCH  it holds something else, or was made with another hash function
 *   WEIR_ERR_MEMORY */
WEIR_API weir_status weir_filter_load(weir_filter **out, const char *path, weir_error *err);

/* A second filter that knows what this one knows. allocator: see weir_embed.h; NULL: memory comes
 * from the system. Fails with WEIR_ERR_MEMORY. */
typedef struct weir_allocator weir_allocator;
WEIR_API weir_status weir_filter_clone(weir_filter **out, const weir_filter *filter,
                                       const weir_allocator *allocator, weir_error *err);

/* Make `into` know what both know. They must have the same spec and seed (WEIR_ERR_MISMATCH), and
 * be of a kind that can be merged (WEIR_ERR_UNSUPPORTED says why not). */
WEIR_API weir_status weir_filter_merge(weir_filter *into, const weir_filter *from, weir_error *err);

/* What a filter is and how it stands. */
typedef struct {
    const char *name;      /* of the kind: "recent" */
    uint64_t seed;         /* the seed in use, drawn or given */
    uint64_t memory;       /* bytes held by the filter: its cells, and tables of at most 8K, for
                            * each of its sites if it has any */
    uint64_t offered;      /* keys offered since creation or clear */
    uint64_t seen;         /* of these, called SEEN */
    double fill;           /* share of the cells in use, 0 to 1 */
    double fpr_bound;      /* the bound that was asked for, or that the settings imply */
    bool fpr_implied;      /* fpr was not given, and every setting that decides it was */
    double fpr_now;        /* false positive rate of the next new key, from the fill */
    bool overfull;         /* it has begun to forget (where chance decides: is expected to have
                            * lost a key); or if it keeps all, has more than it has room for */
    bool keeps_all;        /* it forgets nothing: with too many keys fpr_now rises instead */
    double room;           /* keys that it is made for or can hold; 0: no number can be given, as
                            * it forgets a little with each new key, or is a tree */
    bool uses_importance;  /* it looks at the importances of a batch, or a filter in it does */
    bool uses_producers;   /* it looks at the producers of a batch, or a filter in it does */
    uint64_t memory_asked; /* the option memory, in bytes; `memory` may be less */
    int64_t window;        /* keys are forgotten at this age; 0: not by age */
    bool window_is_time;   /* the age is in nanoseconds, else in records */
    bool renew;            /* a repeat makes its key young again */
    bool waits;            /* a key of a lost site is judged when the site is back: on-lost=wait */
} weir_filter_info;

WEIR_API void weir_filter_get_info(const weir_filter *filter, weir_filter_info *info);

/* `offered` and `seen` of weir_filter_get_info() without the cost of looking at the cells. */
WEIR_API void weir_filter_totals(const weir_filter *filter, uint64_t *offered, uint64_t *seen);

/* The full spec with every option as it was resolved, seed included: it makes the same filter,
 * empty. Writes at most `size` bytes and a NUL; returns the length of the whole text, as
 * snprintf() does. */
WEIR_API size_t weir_filter_spec(const weir_filter *filter, char *buffer, size_t size);

/* Details particular to a kind of filter, one call of `each` for each: name, value (a number in
 * plain decimal, or a short word) and meaning. */
typedef void weir_detail_fn(void *context, const char *name, const char *value,
                            const char *meaning);
WEIR_API void weir_filter_details(const weir_filter *filter, weir_detail_fn *each, void *context);

/* ---- 5. Audit: the errors that really happen ---------------------------------------------- */

/* An audit keeps the exact truth for a sample of the keys chosen by their hash (one key in
 * `one_in`, every occurrence of it) and compares it with the verdicts that were given. Its memory
 * is bounded: when the sample outgrows it, the sample is halved, and halved again. It needs the
 * same hashes as the filter, and nothing else of it. */
typedef struct weir_audit weir_audit;

typedef struct {
    uint64_t one_in;     /* one key in this many is in the sample */
    uint64_t keys;       /* distinct keys in the sample */
    uint64_t firsts;     /* first occurrences seen of these (= keys, or more under a window) */
    uint64_t repeats;    /* further occurrences */
    uint64_t false_seen; /* firsts that were called SEEN: data lost */
    uint64_t false_new;  /* repeats that were called NEW: duplicates let through */
    double confidence;   /* of the intervals below, e.g. 0.95 */
    double fpr, fpr_low, fpr_high; /* false_seen / firsts, with its interval */
    double fnr, fnr_low, fnr_high; /* from the sample and the totals of all verdicts */
} weir_audit_report;

/* memory: the most it may use, in bytes (at least 4096). one_in: a power of two; the sample starts
 * at one key in this many. window: what the filter was given (0: none), in nanoseconds of the
 * batch's times if window_is_time, else in records: a repeat older than this counts as a first.
 * renew: a repeat renews its key. Fails with WEIR_ERR_RANGE or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_audit_new(weir_audit **out, uint64_t memory, uint64_t one_in,
                                    int64_t window, bool window_is_time, bool renew,
                                    weir_error *err);
WEIR_API void weir_audit_free(weir_audit *audit);

/* Take note of a batch and the verdicts given on it. */
WEIR_API void weir_audit_observe(weir_audit *audit, const weir_batch *batch,
                                 const uint64_t *verdicts);
WEIR_API void weir_audit_get_report(const weir_audit *audit, weir_audit_report *report);

/* ---- 6. Snapshots of several parts -------------------------------------------------------- */

/* A snapshot file holds named parts: filters, audits, and notes (bytes of your own, such as how
 * far you have read). docs/format.md has it byte by byte. */
typedef struct weir_snapshot weir_snapshot;

/* Fails with WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_new(weir_snapshot **out, weir_error *err);
WEIR_API void weir_snapshot_free(weir_snapshot *snapshot);

/* Name what is to be written. Objects are borrowed, not copied: they must live until the write.
 * Names are 1 to 15 letters and unique in a snapshot (WEIR_ERR_RANGE). */
WEIR_API weir_status weir_snapshot_put_filter(weir_snapshot *snapshot, const char *name,
                                              const weir_filter *filter, weir_error *err);
WEIR_API weir_status weir_snapshot_put_audit(weir_snapshot *snapshot, const char *name,
                                             const weir_audit *audit, weir_error *err);

/* A note is copied, and at most 1G long. Fails with WEIR_ERR_RANGE (the name, the length) or
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_put_note(weir_snapshot *snapshot, const char *name,
                                            const void *bytes, size_t length, weir_error *err);

/* Write as weir_filter_save() does: atomically and flushed. Of a snapshot that was read, what was
 * taken out is left out. Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY, or WEIR_ERR_RANGE (an audit of
 * more than 1G). */
WEIR_API weir_status weir_snapshot_write(const weir_snapshot *snapshot, const char *path,
                                         weir_error *err);

/* Read and check all of a file. Fails as weir_filter_load() does: WEIR_ERR_IO, WEIR_ERR_CORRUPT,
 * WEIR_ERR_VERSION, WEIR_ERR_MISMATCH (made with another hash function), WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_read(weir_snapshot **out, const char *path, weir_error *err);

/* Take a part out of a snapshot that was read: it is the caller's then. NULL if there is none of
 * that name and kind, or it was taken before. */
WEIR_API weir_filter *weir_snapshot_take_filter(weir_snapshot *snapshot, const char *name);
WEIR_API weir_audit *weir_snapshot_take_audit(weir_snapshot *snapshot, const char *name);

/* The bytes of a note, valid as long as the snapshot; NULL if there is none. */
WEIR_API const void *weir_snapshot_note(const weir_snapshot *snapshot, const char *name,
                                        size_t *length);

/* Part i of a snapshot that was read. */
typedef struct {
    const char *name;
    const char *kind; /* "filter", "sketch", "pairs", "audit" or "note" */
    uint64_t bytes;   /* in the file */
} weir_snapshot_part;
WEIR_API size_t weir_snapshot_count(const weir_snapshot *snapshot);
WEIR_API void weir_snapshot_get_part(const weir_snapshot *snapshot, size_t i,
                                     weir_snapshot_part *part);

#ifdef __cplusplus
}
#endif

#endif
