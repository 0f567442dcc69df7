/* weir.h - have I seen this before? One pass, bounded memory.
 *
 * A weir_filter remembers keys and gives a verdict on each: NEW or SEEN. It
 * never uses more memory than it was given. While the keys fit it is exact;
 * when they no longer fit it forgets, and then
 *
 *   - a NEW key is called SEEN at most at the rate `fpr` that you ask for;
 *   - a repeated key may be called NEW: it was forgotten. The filters differ
 *     in how seldom that happens; the default, `recent`, is the best we know.
 *
 * In a dozen lines:
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
 * Compile with `cc example.c $(pkg-config --cflags --libs weir)`.
 *
 * That is the whole of it for most programs. The header continues in this order:
 *
 *   1. Errors and versions          weir_status, weir_error, weir_version
 *   2. Simple                       make a filter from a spec, offer keys one by one
 *   3. Batch                        offer hashes by the hundred: several times faster
 *   4. State                        save, load, clone, merge, look inside
 *   5. Audit                        the errors that really happen, measured on a sample
 *   6. Snapshots of several parts   filters, audits and notes in one file
 *   7. The tables of filters        names, options and advice, for help texts
 *   8. Specs as text                read an option, compare two, print one for people
 *   9. Numbers with units           parse and print 64M, 0.1%, 1h30m
 *
 * The rest of the library has headers of its own, which include this one:
 *
 *   weir_sketch.h  how often, how many, which most: counts in fixed memory
 *   weir_pairs.h   how many records are nearly the same
 *   weir_plan.h    which filter, how much memory (experimental)
 *   weir_sites.h   filters that are spread over sites that can be lost (experimental)
 *   weir_cpu.h     which vector instructions are used (experimental)
 *
 * What is declared here and is not marked experimental keeps its meaning within a
 * major version. A function declared with WEIR_EXPERIMENTAL, and a type that only
 * such functions use, may change or go in any release.
 *
 * Threads: the library has no globals. Different objects may be
 * used from different threads freely. One object must not be used from two
 * threads at once, except through functions marked "thread-safe on one
 * object". Functions that cannot fail return their answer; functions that can
 * return a weir_status and leave their object as it was when they fail, unless
 * they say otherwise; the comment of each names all statuses that it can return
 * beside WEIR_OK. The library never prints and never exits.
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

/* ------------------------------------------------------------------------
 * 1. Errors and versions
 * ------------------------------------------------------------------------ */

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

/* Where and why something failed. Functions that take a weir_error fill it
 * when they fail and leave it alone when they succeed; NULL is always allowed.
 * `message` is one line, lower case, without a final stop, and says what to
 * try. `offset` is the byte in the parsed text (a spec, a number, a snapshot)
 * at which the trouble begins, or -1. */
typedef struct {
    weir_status code;
    int64_t offset;
    char message[384];
} weir_error;

/* The text of a status; never NULL, also for unknown numbers. Thread-safe. */
WEIR_API const char *weir_status_text(weir_status status);

/* The version of the library that is linked, "major.minor.patch". Thread-safe. */
WEIR_API const char *weir_version(void);

/* ------------------------------------------------------------------------
 * 2. Simple
 * ------------------------------------------------------------------------ */

typedef struct weir_filter weir_filter;

typedef enum {
    WEIR_NEW = 0,
    WEIR_SEEN = 1,
    WEIR_UNDECIDED = 2 /* a site that the key needs is lost, and the filter has on-lost=stop */
} weir_verdict;

/* Make a filter from a spec: `name` or `name:option=value,option=value`, e.g.
 * "recent", "stable:memory=64M,fpr=1%". Sizes take K, M, G (powers of 1024),
 * rates take a % sign, durations ms s m h d. `weir help filters` and
 * weir_filter_kind() list names and options; every filter takes
 *
 *     memory=SIZE  the most its cells may use   (default 256M)
 *     fpr=RATE     bound on false positives     (default 0.0001%)
 *     seed=N       makes it repeatable          (default: from the system)
 *     hash=NAME    xxh3 or siphash              (default xxh3)
 *
 * Fails, and *out is then NULL, with
 *   WEIR_ERR_SPEC    the spec is not understood; err->offset points into it
 *   WEIR_ERR_RANGE   a value of it cannot be; err->offset points into it
 *   WEIR_ERR_IO      the system gives no random seed
 *   WEIR_ERR_MEMORY */
WEIR_API weir_status weir_filter_new(weir_filter **out, const char *spec, weir_error *err);

/* Where an object gets its memory from: `take` returns that many zeroed bytes, aligned for any
 * type, or NULL; `give` gets one of them back. Each may be called from any thread that uses or
 * frees the object. */
typedef struct {
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory);
    void *context;
} weir_allocator;

/* As weir_filter_new() (WEIR_ERR_SPEC, WEIR_ERR_RANGE, WEIR_ERR_IO, WEIR_ERR_MEMORY), and all
 * memory that the filter holds comes from `allocator`, which is copied (NULL: from the system):
 * what is taken stays within memory= and the tables that weir_filter_info counts, plus at most 64
 * bytes where `take` does not align to that. */
WEIR_API weir_status weir_filter_new_with(weir_filter **out, const char *spec,
                                          const weir_allocator *allocator, weir_error *err);

/* NULL is allowed. */
WEIR_API void weir_filter_free(weir_filter *filter);

/* Give the verdict on a key and remember it. Keys are any bytes; a key of
 * length 0 is a key. */
WEIR_API weir_verdict weir_filter_offer(weir_filter *filter, const void *key, size_t length);

/* Give the verdict on a key without remembering it. Thread-safe on one object
 * as long as no other thread changes it. */
WEIR_API weir_verdict weir_filter_test(const weir_filter *filter, const void *key, size_t length);

/* Take back one offer of a key. A key that was offered more often than it was
 * removed is never called NEW, whatever happens to others: so remove only what was
 * offered. *was (may be NULL) is the verdict that it had: after NEW it was not in
 * the filter and nothing has changed. A key that was never offered but is called
 * SEEN (at the rate fpr) takes a part of others with it, and these may be called NEW
 * from then on. Only some filters can remove keys (counting, spectral): others
 * fail with WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_filter_remove(weir_filter *filter, const void *key, size_t length,
                                        weir_verdict *was, weir_error *err);

/* How often a key was offered less how often it was removed, as far as the filter
 * knows: its page says which way it may be wrong. The highest number that a
 * filter's counters hold stands for "so often or more". WEIR_ERR_UNSUPPORTED for
 * filters that do not count. Thread-safe on one object as long as no other thread
 * changes it. */
WEIR_API weir_status weir_filter_count(const weir_filter *filter, const void *key, size_t length,
                                       uint64_t *count, weir_error *err);

/* Forget everything; options and seed stay. */
WEIR_API void weir_filter_clear(weir_filter *filter);

/* ------------------------------------------------------------------------
 * 3. Batch
 * ------------------------------------------------------------------------ */

/* The 64-bit hash under which this filter knows a key: the seed and the hash
 * function of the filter are in it, so a hash is good only for filters made
 * with the same `seed` and `hash`. Thread-safe on one object at any time. */
WEIR_API uint64_t weir_filter_hash(const weir_filter *filter, const void *key, size_t length);

/* The hashes of `count` keys that lie one after another in memory, as the lines of a text do, in
 * one call: record i is base[offsets[i]] up to base[offsets[i + 1]], so there are
 * count + 1 offsets, and its key is all but the last `tail` bytes (1 for a line feed), which
 * every record must have. Thread-safe on one object at any time. */
WEIR_API void weir_filter_hash_records(const weir_filter *filter, const void *base,
                                       const uint32_t *offsets, size_t count, size_t tail,
                                       uint64_t *hashes);

/* A batch of keys by their hashes. Zero-fill it and set what you have.
 * Times matter to filters with a window given as a duration (nanoseconds on
 * any clock that does not run backwards; NULL: now, for the whole batch).
 * Importances matter to filters of which uses_importance is true: any numbers, more
 * important ones larger. One that is not a number counts as the lowest. Testing
 * does not look at them. */
typedef struct {
    size_t count;
    const uint64_t *hashes; /* count hashes from weir_filter_hash() */
    const int64_t *times;   /* count times, or NULL */
    const uint64_t
        *producers; /* who sent each: chooses the leaf of a tree; or NULL: the key does */
    const double *importances; /* count importances, or NULL: all as important as can be */
} weir_batch;

/* Number of 64-bit words that hold the verdicts of n keys. */
#define WEIR_VERDICT_WORDS(n) (((size_t)(n) + 63) / 64)

/* Returned when a site is lost that a key of the batch needs and the filter was
 * made with on-lost=stop: nothing of the batch was remembered. */
#define WEIR_STOPPED SIZE_MAX

/* Give verdicts on a batch and remember it. Bit i%64 of verdicts[i/64] is 1
 * for SEEN, 0 for NEW; verdicts holds WEIR_VERDICT_WORDS(count) words and
 * every bit past count in the last word is written 0. The verdicts are those
 * of offering the keys one by one in order. Batches of 64 or more hide the
 * latency of memory; there is no upper limit. Returns how many were SEEN.
 * Thread-safe on one object for the filters that are spread over sites. */
WEIR_API size_t weir_filter_offer_batch(weir_filter *filter, const weir_batch *batch,
                                        uint64_t *verdicts);

/* The same without remembering: each key is tested against the filter as it
 * is, so a key repeated only inside the batch is NEW each time. Thread-safe on
 * one object as long as no other thread changes it. */
WEIR_API size_t weir_filter_test_batch(const weir_filter *filter, const weir_batch *batch,
                                       uint64_t *verdicts);

/* weir_filter_remove() for a batch, in order. Bit i of verdicts is 1 where the key
 * was SEEN and one offer of it was taken back. Fails with WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_filter_remove_batch(weir_filter *filter, const weir_batch *batch,
                                              uint64_t *verdicts, weir_error *err);

/* ------------------------------------------------------------------------
 * 4. State
 * ------------------------------------------------------------------------ */

/* Save to a file: written beside it, flushed to the disk, then renamed over
 * it, so that a crash at any instant leaves either the old file or the new
 * one. Fails with WEIR_ERR_IO or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_save(const weir_filter *filter, const char *path, weir_error *err);

/* Load what weir_filter_save() wrote. Every byte is checked before anything is
 * trusted. Fails, and *out is then NULL, with
 *   WEIR_ERR_IO        it cannot be opened or read, or is no regular file
 *   WEIR_ERR_CORRUPT   it is damaged, or no snapshot
 *   WEIR_ERR_VERSION   it was written by a newer weir, or by an older one that laid out this
 *                      kind of filter in another way
 *   WEIR_ERR_MISMATCH  it holds something else, or was made with another hash function
 *   WEIR_ERR_MEMORY */
WEIR_API weir_status weir_filter_load(weir_filter **out, const char *path, weir_error *err);

/* The same bytes to and from functions of the caller. `write` takes all of the bytes or
 * returns false; `read` returns how many bytes it gave, 1 to `length`, 0 at the end and -1
 * after a failure. */
typedef bool weir_write_fn(void *context, const void *bytes, size_t length);
typedef int64_t weir_read_fn(void *context, void *bytes, size_t length);

/* Fails with WEIR_ERR_IO when `write` does, or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_save_to(const weir_filter *filter, weir_write_fn *write,
                                         void *context, weir_error *err);

/* allocator: as in weir_filter_new_with(). Fails as weir_filter_load() does: WEIR_ERR_IO (when
 * `read` does), WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_load_from(weir_filter **out, weir_read_fn *read, void *context,
                                           const weir_allocator *allocator, weir_error *err);

/* The same bytes in memory. *length is how many there are; if that is more than `size`,
 * WEIR_ERR_RANGE, and what is in buffer means nothing. Or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_save_bytes(const weir_filter *filter, void *buffer, size_t size,
                                            size_t *length, weir_error *err);

/* Fails as weir_filter_load() does: WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_load_bytes(weir_filter **out, const void *bytes, size_t length,
                                            const weir_allocator *allocator, weir_error *err);

/* A second filter that knows what this one knows. Fails with WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_filter_clone(weir_filter **out, const weir_filter *filter,
                                       const weir_allocator *allocator, weir_error *err);

/* Make `into` know what both know. They must have the same spec and seed
 * (WEIR_ERR_MISMATCH), and the filter must be one that can be merged
 * (WEIR_ERR_UNSUPPORTED says why not). */
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
                            * it forgets a little with each new key */
    bool uses_importance;  /* it looks at the importances of a batch, or a filter in it does */
    bool uses_producers;   /* it looks at the producers of a batch, or a filter in it does */
    uint64_t memory_asked; /* the option memory, in bytes; `memory` may be less */
    int64_t window;        /* keys are forgotten at this age; 0: not by age */
    bool window_is_time;   /* the age is in nanoseconds, else in records */
    bool renew;            /* a repeat makes its key young again */
} weir_filter_info;

WEIR_API void weir_filter_get_info(const weir_filter *filter, weir_filter_info *info);

/* Keys offered and, of these, called SEEN: as weir_filter_get_info() has them, without the cost of
 * looking at the cells for the rest. */
WEIR_API void weir_filter_totals(const weir_filter *filter, uint64_t *offered, uint64_t *seen);

/* The full spec with every option as it was resolved, seed included: making a
 * filter from it gives the same filter, empty. Writes at most `size` bytes and
 * a NUL; returns the length of the whole text, as snprintf() does. */
WEIR_API size_t weir_filter_spec(const weir_filter *filter, char *buffer, size_t size);

/* Details particular to a kind of filter, as name, value and meaning; called
 * once for each. Values are numbers in plain decimal or short words. */
typedef void weir_detail_fn(void *context, const char *name, const char *value,
                            const char *meaning);
WEIR_API void weir_filter_details(const weir_filter *filter, weir_detail_fn *each, void *context);

/* ------------------------------------------------------------------------
 * 5. Audit: the errors that really happen
 * ------------------------------------------------------------------------ */

/* An audit keeps the exact truth for a sample of the keys chosen by their hash
 * (one key in `one_in`, every occurrence of it) and compares it with the
 * verdicts that were given. Its memory is bounded: when the sample outgrows
 * it, the sample is halved, and halved again. It needs the same hashes as the
 * filter, and nothing else of it. */
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

/* memory: the most it may use, in bytes (at least 4096). one_in: a power of
 * two; the sample starts at one key in this many. window: what the filter was
 * given (0: none): a repeat older than this counts as a first. The window is in
 * records if window_is_time is false, else in nanoseconds of the batch's times;
 * renew says whether a repeat renews its key. Fails with WEIR_ERR_RANGE or
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_audit_new(weir_audit **out, uint64_t memory, uint64_t one_in,
                                    int64_t window, bool window_is_time, bool renew,
                                    weir_error *err);
WEIR_API void weir_audit_free(weir_audit *audit);

/* Take note of a batch and the verdicts given on it. */
WEIR_API void weir_audit_observe(weir_audit *audit, const weir_batch *batch,
                                 const uint64_t *verdicts);
WEIR_API void weir_audit_get_report(const weir_audit *audit, weir_audit_report *report);

/* ------------------------------------------------------------------------
 * 6. Snapshots of several parts
 * ------------------------------------------------------------------------ */

/* A snapshot file holds named parts: filters, audits, and notes (bytes of your
 * own, such as how far you have read). docs/format.md has it byte by byte. */
typedef struct weir_snapshot weir_snapshot;

/* Fails with WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_new(weir_snapshot **out, weir_error *err);
WEIR_API void weir_snapshot_free(weir_snapshot *snapshot);

/* Name what is to be written. Objects are borrowed, not copied: they must live
 * until the write. Names are 1 to 15 letters and unique in a snapshot
 * (WEIR_ERR_RANGE). */
WEIR_API weir_status weir_snapshot_put_filter(weir_snapshot *snapshot, const char *name,
                                              const weir_filter *filter, weir_error *err);
WEIR_API weir_status weir_snapshot_put_audit(weir_snapshot *snapshot, const char *name,
                                             const weir_audit *audit, weir_error *err);

/* A note is copied, and at most 1G long. Fails with WEIR_ERR_RANGE (the name, the length) or
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_put_note(weir_snapshot *snapshot, const char *name,
                                            const void *bytes, size_t length, weir_error *err);

/* Write as weir_filter_save() does: atomically and flushed. Of a snapshot that was read, what
 * was taken out is left out. Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY, or WEIR_ERR_RANGE (an audit
 * of more than 1G). */
WEIR_API weir_status weir_snapshot_write(const weir_snapshot *snapshot, const char *path,
                                         weir_error *err);

/* The same bytes to a function of the caller. Fails with WEIR_ERR_IO when that does,
 * WEIR_ERR_MEMORY, or WEIR_ERR_RANGE (an audit of more than 1G). */
WEIR_API weir_status weir_snapshot_write_to(const weir_snapshot *snapshot, weir_write_fn *write,
                                            void *context, weir_error *err);

/* Read and check all of a file, or of what a function gives. Fails as weir_filter_load() does:
 * WEIR_ERR_IO, WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH (made with another hash
 * function), WEIR_ERR_MEMORY. allocator: for the filters and sketches; audits, notes and the
 * snapshot itself come from the system. */
WEIR_API weir_status weir_snapshot_read(weir_snapshot **out, const char *path, weir_error *err);
WEIR_API weir_status weir_snapshot_read_from(weir_snapshot **out, weir_read_fn *read, void *context,
                                             const weir_allocator *allocator, weir_error *err);

/* The same of bytes in memory: WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_read_bytes(weir_snapshot **out, const void *bytes, size_t length,
                                              const weir_allocator *allocator, weir_error *err);

/* Take a part out of a snapshot that was read: it is the caller's then. NULL
 * if there is none of that name and kind, or it was taken before. */
WEIR_API weir_filter *weir_snapshot_take_filter(weir_snapshot *snapshot, const char *name);
WEIR_API weir_audit *weir_snapshot_take_audit(weir_snapshot *snapshot, const char *name);

/* The bytes of a note, valid as long as the snapshot; NULL if there is none. */
WEIR_API const void *weir_snapshot_note(const weir_snapshot *snapshot, const char *name,
                                        size_t *length);

/* What is in a snapshot that was read: part i of n. kind is "filter", "sketch", "pairs",
 * "audit" or "note"; bytes is its size in the file. */
typedef struct {
    const char *name;
    const char *kind;
    uint64_t bytes;
} weir_snapshot_part;
WEIR_API size_t weir_snapshot_count(const weir_snapshot *snapshot);
WEIR_API void weir_snapshot_get_part(const weir_snapshot *snapshot, size_t i,
                                     weir_snapshot_part *part);

/* ------------------------------------------------------------------------
 * 7. The tables of filters
 * ------------------------------------------------------------------------ */

/* What `weir help filters`, the man page and the spec parser are made from. */
typedef enum {
    WEIR_OPT_SIZE,   /* bytes, K M G T are powers of 1024 */
    WEIR_OPT_COUNT,  /* a whole number, K M G are powers of 1000 */
    WEIR_OPT_RATE,   /* 0 to 1, or with a % sign */
    WEIR_OPT_SPAN,   /* a duration (ms s m h d) or a count of records */
    WEIR_OPT_CHOICE, /* one of the words in `choices` */
    WEIR_OPT_SEED,   /* a 64-bit number: a count, or 0x hexadecimal */
    WEIR_OPT_SPEC    /* another spec, in parentheses */
} weir_option_type;

typedef struct {
    const char *name;
    weir_option_type type;
    double low, high;     /* allowed range, both ends included; rates and spans exclude 0 */
    const char *choices;  /* "classic|block" */
    const char *standard; /* default, as text; NULL if it is derived */
    const char *meaning;  /* one sentence */
} weir_option;

typedef struct {
    const char *name;
    const char *summary; /* one line */
    const char *advice;  /* when to use it and when not: a short paragraph */
    bool mergeable;
    const weir_option *options; /* ends with a name of NULL; common options not repeated */
    bool fpr_is_target;   /* fpr is aimed at but may be passed; else it is a bound that holds */
    bool uses_importance; /* looks at the importances of a batch */
} weir_kind;

/* Kind i of the filters, NULL past the last. Kind 0 is the default. */
WEIR_API const weir_kind *weir_filter_kind(size_t i);

/* The options that every filter takes; ends with a name of NULL. */
WEIR_API const weir_option *weir_common_options(void);

/* ------------------------------------------------------------------------
 * 8. Specs as text
 * ------------------------------------------------------------------------ */

/* These read specs of filters, as typed or as weir_filter_spec() prints them, and of summaries of
 * pairs. They cost no more than to scan the text; none makes an object. */

/* The table entry of an option of a kind, common options included; NULL if there is no such kind
 * (of filters, or "pairs") or option. */
WEIR_API const weir_option *weir_spec_option(const char *kind, const char *option);

/* The value of an option as the text has it: at most `size` bytes with the NUL, cut if longer.
 * False, and *value as it was, if the spec does not name the option itself; one that stands in the
 * parentheses of another is not found. */
WEIR_API bool weir_spec_get(const char *spec, const char *option, char *value, size_t size);

/* The same, and the option with its value is cut out of `spec`. */
WEIR_API bool weir_spec_take(char *spec, const char *option, char *value, size_t size);

/* True if two values of an option mean the same: 64M and 65536K. */
WEIR_API bool weir_spec_same(const char *kind, const char *option, const char *a, const char *b);

/* Does a filter with the full spec `spec` fit what was asked for? Only options that `asked` names
 * count; without a name (":memory=64M" or "") any kind fits. Else WEIR_ERR_MISMATCH, and the
 * message is the first difference as a noun: "a filter with memory=64M, not 32M". */
WEIR_API weir_status weir_spec_fits(const char *asked, const char *spec, weir_error *err);

/* A spec as a person would write it: memory=64M for memory=67108864. It makes the same filter.
 * Writes at most `size` bytes, the NUL included; returns the length of the whole text, as
 * snprintf() does. */
WEIR_API size_t weir_spec_pretty(const char *spec, char *buffer, size_t size);

/* ------------------------------------------------------------------------
 * 9. Numbers with units
 * ------------------------------------------------------------------------ */

/* One place parses and prints them, for specs, options and reports alike. The
 * parsers read the whole text or fail with WEIR_ERR_RANGE and an offset. A seed is
 * written as a count is, or 0x hexadecimal. */
WEIR_API weir_status weir_parse_size(const char *text, uint64_t *bytes, weir_error *err);
WEIR_API weir_status weir_parse_count(const char *text, uint64_t *count, weir_error *err);
WEIR_API weir_status weir_parse_seed(const char *text, uint64_t *seed, weir_error *err);
WEIR_API weir_status weir_parse_rate(const char *text, double *rate, weir_error *err);
WEIR_API weir_status weir_parse_duration(const char *text, int64_t *nanoseconds, weir_error *err);

/* The number that a key is: `length` bytes, blanks and carriage returns at both ends left
 * aside, a sign allowed. An integer that does not fit 64 bits is refused as such
 * (WEIR_ERR_RANGE), and so is what is not an integer. A decimal number may have a point and an
 * exponent and must be finite. */
WEIR_API weir_status weir_parse_integer(const void *text, size_t length, int64_t *value,
                                        weir_error *err);
WEIR_API weir_status weir_parse_decimal(const void *text, size_t length, double *value,
                                        weir_error *err);

/* Print for people ("64M", "1.5G", "0.0001%", "12.3M", "1m30s"); buffer of at
 * least 32 bytes. Return buffer. The text of a size or duration that is a
 * whole number of its unit parses back to the same value. */
WEIR_API char *weir_print_size(char *buffer, uint64_t bytes);
WEIR_API char *weir_print_count(char *buffer, double count);
WEIR_API char *weir_print_rate(char *buffer, double rate);
WEIR_API char *weir_print_duration(char *buffer, int64_t nanoseconds);

/* The name in a '|'-separated list nearest to a word that was not understood,
 * for "did you mean": copied into buffer (at least 32 bytes), or NULL when
 * none is near. */
WEIR_API const char *weir_nearest(const char *word, const char *names, char *buffer);

#ifdef __cplusplus
}
#endif

#endif
