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
 * The header is in tiers; read as far as you need:
 *
 *   1. Errors and versions
 *   2. Simple      make a filter from a spec, offer keys one by one
 *   3. Batch       offer hashes by the hundred: several times faster
 *   4. State       save, load, merge, look inside
 *   5. Advanced    audit, snapshots of several parts, the tables of filters,
 *                  numbers with units
 *   6. Sketches    how often, how many, which most: counts in fixed memory
 *
 * Threads: the library has no globals. Different objects may be
 * used from different threads freely. One object must not be used from two
 * threads at once, except through functions marked "thread-safe on one
 * object". Functions that cannot fail return their answer; functions that can
 * return a weir_status and leave their object as it was when they fail, unless
 * they say otherwise. The library never prints and never exits.
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

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

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
    X(WEIR_ERR_UNSUPPORTED, 8, "this filter cannot do that")

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
 * Fails with WEIR_ERR_SPEC or WEIR_ERR_RANGE (err->offset points into the
 * spec) or WEIR_ERR_MEMORY; *out is then NULL. */
WEIR_API weir_status weir_filter_new(weir_filter **out, const char *spec, weir_error *err);

/* Where an object gets its memory from: `take` returns that many zeroed bytes, aligned for any
 * type, or NULL; `give` gets one of them back. Each may be called from any thread that uses or
 * frees the object. */
typedef struct {
    void *(*take)(void *context, size_t bytes);
    void (*give)(void *context, void *memory);
    void *context;
} weir_allocator;

/* As weir_filter_new(), and all memory that the filter holds comes from `allocator`, which is
 * copied (NULL: from the system): what is taken stays within memory= and the tables that
 * weir_filter_info counts, plus at most 64 bytes where `take` does not align to that. */
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
 * was SEEN and one offer of it was taken back. */
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
 * after a failure. Either failure is WEIR_ERR_IO; the other statuses are those of
 * weir_filter_save() and weir_filter_load(). allocator: as in weir_filter_new_with(). */
typedef bool weir_write_fn(void *context, const void *bytes, size_t length);
typedef int64_t weir_read_fn(void *context, void *bytes, size_t length);
WEIR_API weir_status weir_filter_save_to(const weir_filter *filter, weir_write_fn *write,
                                         void *context, weir_error *err);
WEIR_API weir_status weir_filter_load_from(weir_filter **out, weir_read_fn *read, void *context,
                                           const weir_allocator *allocator, weir_error *err);

/* The same bytes in memory. *length is how many there are; if that is more than `size`,
 * WEIR_ERR_RANGE, and what is in buffer means nothing. Loading has the statuses of
 * weir_filter_load() but WEIR_ERR_IO. */
WEIR_API weir_status weir_filter_save_bytes(const weir_filter *filter, void *buffer, size_t size,
                                            size_t *length, weir_error *err);
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
 * 5. Advanced
 * ------------------------------------------------------------------------ */

/* --- Audit: the errors really happening -------------------------------------
 *
 * An audit keeps the exact truth for a sample of the keys chosen by their hash
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
 * renew says whether a repeat renews its key. */
WEIR_API weir_status weir_audit_new(weir_audit **out, uint64_t memory, uint64_t one_in,
                                    int64_t window, bool window_is_time, bool renew,
                                    weir_error *err);
WEIR_API void weir_audit_free(weir_audit *audit);

/* Take note of a batch and the verdicts given on it. */
WEIR_API void weir_audit_observe(weir_audit *audit, const weir_batch *batch,
                                 const uint64_t *verdicts);
WEIR_API void weir_audit_get_report(const weir_audit *audit, weir_audit_report *report);

/* --- Sites ---------------------------------------------------------------------
 *
 * The filters `horizontal`, `vertical` and `tree` are spread over sites, each of
 * which holds a part and can be lost. Several threads may offer and test at once:
 * of two that offer the same key exactly one is told NEW, as long as no site is
 * lost: what is offered meanwhile is not known to it when it comes back. Which sites
 * are lost is not saved: in a loaded filter all are alive. These functions are
 * thread-safe on one object. */
typedef enum {
    WEIR_SITE_ALIVE,
    WEIR_SITE_LOST, /* it does not answer; what it holds stays as it is */
    WEIR_SITE_EMPTY /* alive again, but it has forgotten everything */
} weir_site_state;

typedef struct {
    bool alive;
    size_t level;    /* of a tree: 0 is the root */
    size_t parent;   /* of a tree: number of the site above, SIZE_MAX for the root */
    uint64_t asked;  /* keys on which it was asked, or (vertical) messages */
    uint64_t seen;   /* of these, answered SEEN */
    uint64_t memory; /* bytes */
    double fill;     /* 0 to 1 */
} weir_site_info;

typedef struct {
    size_t sites, lost;
    uint64_t keys;     /* offered and tested */
    uint64_t messages; /* to sites, for testing and for setting */
    uint64_t bytes;    /* in these: positions, or hashes, and answers */
    double fairness;   /* Jain's index of `asked` over the sites of the last level: 1 is even */
    double greatest;   /* share of the busiest of these */
} weir_traffic;

/* How many sites there are; 0 for a filter of one piece. */
WEIR_API size_t weir_filter_sites(const weir_filter *filter);

/* Site i, or the state of it. Fail with WEIR_ERR_RANGE. */
WEIR_API weir_status weir_filter_get_site(const weir_filter *filter, size_t i, weir_site_info *info,
                                          weir_error *err);
WEIR_API weir_status weir_filter_set_site(weir_filter *filter, size_t i, weir_site_state state,
                                          weir_error *err);

/* What went over the wire, or would have. Fails with WEIR_ERR_UNSUPPORTED. */
WEIR_API weir_status weir_filter_get_traffic(const weir_filter *filter, weir_traffic *traffic,
                                             weir_error *err);

/* --- Snapshots of several parts ---------------------------------------------
 *
 * A snapshot file holds named parts: filters, audits, and notes (bytes of your
 * own, such as how far you have read). docs/format.md has it byte by byte. */
typedef struct weir_snapshot weir_snapshot;

WEIR_API weir_status weir_snapshot_new(weir_snapshot **out, weir_error *err);
WEIR_API void weir_snapshot_free(weir_snapshot *snapshot);

/* Name what is to be written. Objects are borrowed, not copied: they must live
 * until the write. Names are 1 to 15 letters and unique in a snapshot
 * (WEIR_ERR_RANGE). */
WEIR_API weir_status weir_snapshot_put_filter(weir_snapshot *snapshot, const char *name,
                                              const weir_filter *filter, weir_error *err);
WEIR_API weir_status weir_snapshot_put_audit(weir_snapshot *snapshot, const char *name,
                                             const weir_audit *audit, weir_error *err);
WEIR_API weir_status weir_snapshot_put_note(weir_snapshot *snapshot, const char *name,
                                            const void *bytes, size_t length, weir_error *err);

/* Write as weir_filter_save() does: atomically and flushed. Of a snapshot that was read, what
 * was taken out is left out. */
WEIR_API weir_status weir_snapshot_write(const weir_snapshot *snapshot, const char *path,
                                         weir_error *err);

WEIR_API weir_status weir_snapshot_write_to(const weir_snapshot *snapshot, weir_write_fn *write,
                                            void *context, weir_error *err);

/* Read and check all of a file, of what a function gives, of bytes in memory. The statuses are
 * those of weir_filter_load(). allocator: for the filters and sketches; audits, notes
 * and the snapshot itself come from the system. */
WEIR_API weir_status weir_snapshot_read(weir_snapshot **out, const char *path, weir_error *err);
WEIR_API weir_status weir_snapshot_read_from(weir_snapshot **out, weir_read_fn *read, void *context,
                                             const weir_allocator *allocator, weir_error *err);
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

/* --- The tables of filters ---------------------------------------------------
 *
 * What `weir help filters`, the man page and the spec parser are made from. */
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

/* --- Pairs: how many records are nearly the same ------------------------------
 *
 * A weir_pairs is a summary of records of d values each, from which the number
 * of pairs that agree in at least s of them is estimated, in one pass and
 * without comparing pairs. A pair is two different records, in no order. Made
 * from a spec:
 *
 *     pairs:columns=6,threshold=4,sample=0.5
 *
 * `weir_pairs_kind()` lists the options. method=offline keeps all super-values
 * (in memory=, then in a temporary file without a name), method=online keeps
 * sketches of fixed size. Records are known by their `row`, d words; rows are
 * made by weir_pairs_row() from text, or are any numbers of your own. */
typedef struct weir_pairs weir_pairs;

WEIR_API weir_status weir_pairs_new(weir_pairs **out, const char *spec, weir_error *err);
WEIR_API void weir_pairs_free(weir_pairs *pairs);

/* Its one kind, and the full spec of a summary, as for filters. */
WEIR_API const weir_kind *weir_pairs_kind(void);
WEIR_API size_t weir_pairs_spec(const weir_pairs *pairs, char *buffer, size_t size);

/* Where temporary files go; $TMPDIR, or /tmp, unless it is set. */
WEIR_API weir_status weir_pairs_set_folder(weir_pairs *pairs, const char *folder, weir_error *err);

typedef struct {
    const void *bytes;
    size_t length;
} weir_field;

typedef enum {
    WEIR_ROW_OK = 0,
    WEIR_ROW_TOO_FEW,  /* not as many fields as columns */
    WEIR_ROW_TOO_MANY, /* a set of more items than columns */
    WEIR_ROW_EMPTY     /* a text without words, a set without items */
} weir_row_status;

/* Make the d words of a record: by the spec's `from`, of d fields (columns), up
 * to d items (set) or one text (text, cosine). Thread-safe on one object. */
WEIR_API weir_row_status weir_pairs_row(const weir_pairs *pairs, const weir_field *fields,
                                        size_t count, uint64_t *row);

/* A number rounded to a multiple of `step`, as text: so numbers can be compared
 * as columns. False if the bytes are not a number, or the step is not above 0; a number
 * that is beyond all multiples stays as it is. out: at least 40 bytes. */
WEIR_API bool weir_round_number(const void *bytes, size_t length, double step, char *out);

/* Add records: count rows of d words, one after the other. `first` is the number
 * of the first of them; each record of a summary needs a number of its own (the
 * choice of super-values follows from it), in any order. Fails with WEIR_ERR_IO,
 * WEIR_ERR_MEMORY or WEIR_ERR_RANGE (online: a counter of 32 bits overflows), and
 * then some of the records may have been added. */
WEIR_API weir_status weir_pairs_add(weir_pairs *pairs, uint64_t first, const uint64_t *rows,
                                    size_t count, weir_error *err);

/* Do now what the first answer would do: sort. For threads that fill summaries
 * which are then merged. */
WEIR_API void weir_pairs_prepare(weir_pairs *pairs);

/* Move all records of `from` to `into`; `from` is empty afterwards. Both must
 * have the same spec, but for `draw`, `memory` and `witnesses`; and either their
 * `draw` or the numbers of their records must be different (WEIR_ERR_MISMATCH,
 * as far as their witnesses show it). */
WEIR_API weir_status weir_pairs_merge(weir_pairs *into, weir_pairs *from, weir_error *err);

/* An answer. Counts are estimates, unbiased, and so may come out negative when
 * there is little to count; deviations are standard deviations. */
typedef struct {
    unsigned columns, threshold;
    uint64_t records[2]; /* of a self-join: the same twice; of a search: all, and 1 */
    double pairs;        /* how many there are in all */
    double count[65];    /* [k] pairs that agree in exactly k, threshold <= k <= columns */
    double deviation[65];
    double similar; /* pairs that agree in threshold or more */
    double similar_deviation;
    double similar_bound;      /* the thesis's bound on that deviation, much wider */
    double low, high;          /* interval of 95% around similar, within 0 and pairs */
    unsigned long long values; /* super-values that were compared */
} weir_pairs_answer;

WEIR_API weir_status weir_pairs_self(weir_pairs *pairs, weir_pairs_answer *out, weir_error *err);

/* Pairs of one record of each. The specs must be the same but for `draw`, which
 * must differ, and `memory` (WEIR_ERR_MISMATCH). */
WEIR_API weir_status weir_pairs_join(weir_pairs *a, weir_pairs *b, weir_pairs_answer *out,
                                     weir_error *err);

/* Records of a summary that agree with this one. */
WEIR_API weir_status weir_pairs_search(weir_pairs *pairs, const uint64_t *row,
                                       weir_pairs_answer *out, weir_error *err);

/* Save and load, as filters are. */
WEIR_API weir_status weir_pairs_save(weir_pairs *pairs, const char *path, weir_error *err);
WEIR_API weir_status weir_pairs_load(weir_pairs **out, const char *path, weir_error *err);
WEIR_API weir_status weir_snapshot_put_pairs(weir_snapshot *snapshot, const char *name,
                                             weir_pairs *pairs, weir_error *err);
WEIR_API weir_pairs *weir_snapshot_take_pairs(weir_snapshot *snapshot, const char *name);

typedef struct {
    uint64_t records;
    uint64_t memory;     /* bytes held */
    uint64_t disk;       /* bytes in temporary files */
    uint64_t per_record; /* super-values drawn for each record */
    uint64_t witnesses;  /* records kept as a sample */
    unsigned columns, threshold, repeats;
    bool online;
    uint64_t width; /* of a sketch, and its depth */
    unsigned depth;
    double sample;
    unsigned signatures; /* independent ones of a text; 1 for all else */
    unsigned row_words;  /* words of a row: columns x signatures */
} weir_pairs_info;
WEIR_API void weir_pairs_get_info(const weir_pairs *pairs, weir_pairs_info *info);

/* Examples. Super-values that more than one record drew (that records of both
 * drew, if b is not NULL), at most `most`, in no order that means anything;
 * returns how many. Offline summaries only (WEIR_ERR_UNSUPPORTED). Then, for each
 * record once more, those of a list that it drew: place in the sorted list for
 * each, at most `most`. */
WEIR_API weir_status weir_pairs_collisions(weir_pairs *a, weir_pairs *b, uint64_t *values,
                                           size_t most, size_t *count, weir_error *err);
WEIR_API size_t weir_pairs_match(weir_pairs *pairs, uint64_t number, const uint64_t *row,
                                 const uint64_t *values, size_t count, size_t *places, size_t most);

/* How many of d values two rows have in common; `set`: in any place. */
WEIR_API unsigned weir_rows_agree(const uint64_t *a, const uint64_t *b, unsigned columns, bool set);

/* The exact numbers, by comparing. Rows of d words; b NULL: pairs within a. out:
 * count[k] for k from threshold up (all 65 are written), deviations 0. */
typedef enum { WEIR_EXACT_AUTO, WEIR_EXACT_ALL_PAIRS, WEIR_EXACT_INDEX } weir_exact_method;
typedef struct {
    unsigned columns, threshold;
    bool set;
    weir_exact_method method;
} weir_exact_options;
WEIR_API weir_status weir_pairs_exact(const weir_exact_options *options, const uint64_t *a,
                                      size_t a_count, const uint64_t *b, size_t b_count,
                                      weir_pairs_answer *out, weir_error *err);

/* Random sampling, for comparison: the pairs among the records that the summary
 * keeps as a sample, scaled up, with the deviation that the choice of the sample makes. b NULL: a
 * self-join. */
WEIR_API weir_status weir_pairs_sampled(const weir_pairs *a, const weir_pairs *b,
                                        weir_pairs_answer *out, weir_error *err);

/* The answers of several independent signatures of the same texts become one, all[0]: the mean of
 * their counts, with an interval of 95% by how far they are apart, which so covers the chance that
 * is in the choice of hashes. At most 64. */
WEIR_API void weir_pairs_average(weir_pairs_answer *all, size_t count);

/* How many of the pairs that are counted for texts of a similarity (0 to 1) are less similar, as
 * the records that were kept whole show it; and the least similarity of which that is no more than
 * a quarter of what is counted, 1: none. b: the other side of a join, or NULL.
 * WEIR_ERR_UNSUPPORTED: the values are not made of texts. */
typedef struct {
    double below, least;
} weir_pairs_doubt;
WEIR_API weir_status weir_pairs_doubts(const weir_pairs *a, const weir_pairs *b, double similarity,
                                       weir_pairs_doubt *out, weir_error *err);

/* How similar two records are by their rows, 0 to 1: the share of their values that agree; of
 * texts the Jaccard similarity or cosine that the values of all signatures speak for. */
WEIR_API double weir_pairs_similarity(const weir_pairs *pairs, const uint64_t *a,
                                      const uint64_t *b);

/* The chance that a pair is counted as similar, when each of d values agrees
 * with this probability; and the same by the similarity of two texts (Jaccard,
 * or cosine) when g hashes make a value. */
WEIR_API double weir_pairs_chance(unsigned columns, unsigned threshold, double agrees);
WEIR_API double weir_pairs_curve(bool cosine, unsigned columns, unsigned threshold, unsigned group,
                                 double similarity);

/* The threshold, at least half of the columns, and the group for which that curve
 * comes nearest to a step at a similarity: the area between them is least. */
WEIR_API void weir_pairs_choose(bool cosine, unsigned columns, double similarity,
                                unsigned *threshold, unsigned *group);

/* What theorems 8 (width 0) and 10 ask for so that the share of similar pairs is
 * off by more than `error` with at most `chance`. */
typedef struct {
    bool reachable;   /* false: not even with all super-values */
    double sample;    /* r */
    unsigned repeats; /* runs to take the median of */
    double values;    /* super-values a record, over all runs */
    double bytes;
} weir_pairs_budget;
WEIR_API void weir_pairs_cost(unsigned columns, unsigned threshold, double records, double error,
                              double chance, double width, weir_pairs_budget *out);

/* --- Planning -----------------------------------------------------------------
 *
 * Which filter, and what will it cost? A profile measures a stream, or stands
 * for one that is only known by its numbers; the plan replays it through every
 * kind of filter against exact truth. `weir plan` is these functions and a
 * table.
 *
 * A stream as the formulas see it: how many records, how many keys, and for the
 * repeats how long ago the key came by last. */
typedef struct {
    double gap;      /* records between the two occurrences */
    double distance; /* distinct keys among these */
    double share;    /* of the repeats; all shares add up to 1 */
} weir_gap;

typedef struct {
    double records, distinct;
    const weir_gap *gaps; /* from short to long */
    size_t gap_count;
} weir_stream_model;

/* What the formulas of a filter say about such a stream: fpr is the highest rate
 * that it comes to, fnr the mean over the repeats. Some kinds have none:
 * WEIR_ERR_UNSUPPORTED. */
typedef struct {
    double fpr, fnr;
} weir_expectation;
WEIR_API weir_status weir_filter_expect(const weir_filter *filter, const weir_stream_model *model,
                                        weir_expectation *expectation, weir_error *err);

/* What is asked. Zero-fill it; 0 is "not known" in every field but fpr. */
typedef struct {
    uint64_t memory; /* bytes of the filter */
    double fpr;      /* bound on false positives, above 0 and up to 0.5 */
    double records;  /* of the whole stream */
    double distinct; /* keys in it */
    int64_t window;  /* records or nanoseconds; a repeat older than this is new */
    bool window_is_time;
    double rate; /* records a second, where a window in time meets records without times */
} weir_plan_question;

/* A stream, of which every occurrence of a part of its keys is kept: all of them
 * as long as they fit, then one in 2, in 4, ... chosen by hash. */
typedef struct weir_profile weir_profile;

/* memory: the most it may use (at least 64K). The question's memory says how few
 * keys are still enough (0: not known). Hashes are those of any one filter. */
WEIR_API weir_status weir_profile_new(weir_profile **out, uint64_t memory,
                                      const weir_plan_question *question, weir_error *err);

/* A stream drawn by the question's numbers: keys alike, `distinct` of them, or
 * with a window and no `distinct` new keys of which one in ten comes again within
 * the window. What is not known is assumed and filled in. Fails with
 * WEIR_ERR_RANGE if memory and all the rest are unknown, a window in time comes
 * without a rate, or a number is out of range: below 0, none at all, or a stream of
 * more than 1e18 records. */
WEIR_API weir_status weir_profile_assume(weir_profile **out, uint64_t memory,
                                         weir_plan_question *question, weir_error *err);
WEIR_API void weir_profile_free(weir_profile *profile);

/* Take note of a batch, its times and its importances if it has any; with importances
 * a repeat counts as much as it matters. Fails with WEIR_ERR_MEMORY, or
 * WEIR_ERR_MISMATCH if only some batches have them. */
WEIR_API weir_status weir_profile_observe(weir_profile *profile, const weir_batch *batch,
                                          weir_error *err);

typedef struct {
    uint64_t records;                    /* observed */
    uint64_t covered;                    /* of these, the first so many are looked at */
    uint64_t one_in;                     /* one key in so many is kept */
    uint64_t kept;                       /* records of those keys */
    uint64_t keys;                       /* distinct ones among them */
    double distinct;                     /* distinct keys in what is covered */
    double growth;                       /* distinct keys grow as records to this power, 0 to 1 */
    double gap_median, gap_90;           /* records between a repeat and its predecessor */
    double distance_median, distance_90; /* distinct keys between */
    double zipf;  /* exponent of the frequencies by rank; 0: even, or too few to say */
    double drift; /* 0: both halves draw from the same keys, 1: they have none in common */
} weir_profile_report;

/* Fails with WEIR_ERR_RANGE if there is too little to judge by, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_profile_get_report(weir_profile *profile, weir_profile_report *report,
                                             weir_error *err);

/* One answer. */
typedef struct {
    const weir_kind *kind;
    char options[64]; /* of the spec, beside memory, fpr and window: "max=3", or "" */
    uint64_t memory;
    double fpr;               /* the highest rate that a new key meets */
    double fnr;               /* share of the repeats that pass as new, */
    double fnr_low, fnr_high; /* and where it should lie in a real run */
    double formula_fnr;       /* what the filter's formulas say; below 0: it has none */
    double keys_per_second;   /* 0 until weir_plan_calibrate() */
    unsigned positions;       /* places looked at for each key */
    bool usable;              /* keeps the bound on false positives, for all of the stream */
    char why[160];            /* if not: the reason */
} weir_plan_choice;

/* Try every kind; best first, those that are not usable last. size: of the array;
 * *count: how many there are. */
WEIR_API weir_status weir_plan_rank(weir_profile *profile, const weir_plan_question *question,
                                    weir_plan_choice *choices, size_t size, size_t *count,
                                    weir_error *err);

/* The same filter with another memory (of the question): fills in *choice again. */
WEIR_API weir_status weir_plan_try(weir_profile *profile, const weir_plan_question *question,
                                   weir_plan_choice *choice, weir_error *err);

/* The least memory at which any filter has at most this fnr; *choice is that
 * filter. Fails with WEIR_ERR_RANGE if none up to 1T does. */
WEIR_API weir_status weir_plan_memory(weir_profile *profile, const weir_plan_question *question,
                                      double fnr, weir_plan_choice *choice, weir_error *err);

/* The longest window, in records, that fits the question's memory with at most
 * this fnr when every key may be new. */
WEIR_API weir_status weir_plan_window(const weir_plan_question *question, double fnr,
                                      uint64_t *window, weir_plan_choice *choice, weir_error *err);

/* Measure keys_per_second on this machine with keys that are all new, at the
 * choice's memory but at most 64M of it, for about so long. */
WEIR_API weir_status weir_plan_calibrate(const weir_plan_question *question,
                                         weir_plan_choice *choice, double seconds, weir_error *err);

/* How to spread a filter over sites of which some may be lost at once, so that fpr
 * holds then too: by keys (`horizontal`), and by places (`vertical`) with the best k
 * and rule of live places. best is set in that which lets at most `fnr` of the repeats
 * pass while sites are lost and holds more keys, or else lets fewer pass. Thread-safe.
 * Fails with WEIR_ERR_RANGE. */
typedef struct {
    double sites, lost;
    uint64_t memory; /* of all sites together */
    double fpr, fnr;
} weir_sites_question;

typedef struct {
    bool vertical, best;
    unsigned k, live; /* by places: of a key; of these to live for SEEN */
    double keys;      /* that fit: at most a few in a hundred are pushed out */
    double messages;  /* to sites for a repeat, on average; a new key costs up to twice that */
    double fpr;       /* while all are there */
    double fpr_lost, fnr_lost; /* while sites are lost */
} weir_sites_choice;

WEIR_API weir_status weir_plan_sites(const weir_sites_question *question, weir_sites_choice *across,
                                     weir_sites_choice *down, weir_error *err);

/* --- Numbers with units ------------------------------------------------------
 *
 * One place parses and prints them, for specs, options and reports alike. The
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

/* ------------------------------------------------------------------------
 * 6. Sketches
 * ------------------------------------------------------------------------ */

/* A sketch summarises how often keys came by. It is made from a spec as a
 * filter is, takes keys with weights, and answers some of the questions below;
 * which ones depends on its kind (docs/sketches.md has the table), and a
 * question that it cannot answer fails with WEIR_ERR_UNSUPPORTED and a text
 * that names the kinds which can.
 *
 *     weir_sketch *s;
 *     weir_estimate e;
 *     weir_sketch_new(&s, "countmin:error=0.1%,confidence=99%", &err);
 *     weir_sketch_add(s, "a key", 5, 1, &err);
 *     weir_sketch_estimate(s, "a key", 5, WEIR_BY_AUTO, &e, &err);
 *     printf("%.0f (%.0f to %.0f)\n", e.value, e.low, e.high);
 *
 * Every sketch takes memory=SIZE, seed=N and hash=NAME; most can be sized by
 * error and confidence instead of memory. */
typedef struct weir_sketch weir_sketch;

WEIR_API weir_status weir_sketch_new(weir_sketch **out, const char *spec, weir_error *err);
WEIR_API weir_status weir_sketch_new_with(weir_sketch **out, const char *spec,
                                          const weir_allocator *allocator, weir_error *err);
WEIR_API void weir_sketch_free(weir_sketch *sketch); /* NULL is allowed */
WEIR_API void weir_sketch_clear(weir_sketch *sketch);

/* Count a key, `weight` times. A negative weight takes back what was added
 * before, where the sketch can; the bounds of `countmin` and `top` hold while no key was
 * taken back more often than it came. Fails with WEIR_ERR_RANGE, and changes nothing, when a
 * counter would overflow or the weight makes no sense. */
WEIR_API weir_status weir_sketch_add(weir_sketch *sketch, const void *key, size_t length,
                                     int64_t weight, weir_error *err);

/* The hash under which this sketch knows a key; see weir_filter_hash(). */
WEIR_API uint64_t weir_sketch_hash(const weir_sketch *sketch, const void *key, size_t length);

/* The hashes of records in a row; see weir_filter_hash_records(). */
WEIR_API void weir_sketch_hash_records(const weir_sketch *sketch, const void *base,
                                       const uint32_t *offsets, size_t count, size_t tail,
                                       uint64_t *hashes);

/* Bytes that belong to update i of a batch, good until the call returns.
 * Called only for those few keys that a sketch keeps. */
typedef const void *weir_bytes_fn(void *context, size_t i, size_t *length);

/* A batch of updates. Zero-fill it and set what you have. */
typedef struct {
    size_t count;
    const uint64_t *hashes;  /* from weir_sketch_hash(); not for integer keys */
    const int64_t *values;   /* integer keys: for ranges and quantiles */
    const double *decimals;  /* keys that are not all integers: for `kll`, in place of values */
    const int64_t *weights;  /* NULL: 1 each */
    const double *fractions; /* weights that are not whole (or NULL): need counter=real */
    const int64_t *times;    /* nanoseconds, for window and decay; NULL: now */
    weir_bytes_fn *key;      /* for sketches that hand keys back: `top`, samples */
    weir_bytes_fn *row;      /* for `distinct` with rows=: what a predicate looks at */
    void *context;           /* for key and row */
} weir_updates;

/* Add a batch: the same as adding its keys one by one, with two exceptions.
 * `top` (also within `window`) counts up to 256 keys of a batch before it looks
 * for candidates: counts and estimates are the same, but which keys near the
 * floor it holds, and the floor, can depend on where batches end. With decay=
 * counters may differ in rounding, and where no times are given all of a batch
 * has the same time. On failure those before err->offset are in, that one and
 * those after it are not. */
WEIR_API weir_status weir_sketch_add_batch(weir_sketch *sketch, const weir_updates *updates,
                                           weir_error *err);

/* Let time pass to `time` without a record: windows and decay look from there. */
WEIR_API void weir_sketch_advance(weir_sketch *sketch, int64_t time);

/* How to read a count-min sketch; other sketches have one way and take any. */
typedef enum {
    WEIR_BY_AUTO = 0, /* whichever the counters show to be best for this stream */
    WEIR_BY_CM,       /* the minimum: never too low */
    WEIR_BY_CMM,      /* counter less the median of its row; the median of the rows */
    WEIR_BY_CMM_MEAN  /* counter less the mean of the others in its row: unbiased by row */
} weir_estimator;

/* An answer. low and high hold the truth with a chance of 99% at least (where
 * a side is certain the kind says so); deviation is the standard deviation of
 * value by the theory of the kind, 0 where the value is exact. */
typedef struct {
    double value, low, high, deviation;
} weir_estimate;

/* How often did a key come by (the sum of its weights)? Queries may compute
 * and keep row statistics: none of them is thread-safe on one object. */
WEIR_API weir_status weir_sketch_estimate(weir_sketch *sketch, const void *key, size_t length,
                                          weir_estimator by, weir_estimate *out, weir_error *err);
WEIR_API weir_status weir_sketch_estimate_hash(weir_sketch *sketch, uint64_t hash,
                                               weir_estimator by, weir_estimate *out,
                                               weir_error *err);

/* The sum over keys of count squared, and of the product of the counts in two
 * streams. The two sketches must be alike in all options (WEIR_ERR_MISMATCH). */
WEIR_API weir_status weir_sketch_self_join(weir_sketch *sketch, weir_estimator by,
                                           weir_estimate *out, weir_error *err);
WEIR_API weir_status weir_sketch_join(weir_sketch *a, weir_sketch *b, weir_estimator by,
                                      weir_estimate *out, weir_error *err);

/* A key that a sketch kept. The bytes are good until the sketch is changed,
 * queried again or freed. */
typedef struct {
    const void *key;
    size_t length; /* of what is kept */
    bool cut;      /* the key was longer than the sketch keeps */
    uint64_t hash;
    weir_estimate count;
    const void *row; /* one row seen with the key, or NULL */
    size_t row_length;
} weir_item;

typedef struct {
    weir_item *items; /* room for `room` items, the caller's; filled, most frequent first */
    size_t room;
    size_t found;  /* items filled in */
    bool complete; /* nothing can be missing: the sketch vouches for it */
    double floor;  /* a key that is not listed came by at most this often (99% for samples) */
} weir_items;

/* The most frequent keys, as many as there is room for; all keys whose count
 * may exceed `share` (0 to 1) of the total. */
WEIR_API weir_status weir_sketch_top(weir_sketch *sketch, weir_estimator by, weir_items *out,
                                     weir_error *err);
WEIR_API weir_status weir_sketch_above(weir_sketch *sketch, double share, weir_estimator by,
                                       weir_items *out, weir_error *err);

/* The weight of the integer keys from low to high, both included. */
WEIR_API weir_status weir_sketch_range(weir_sketch *sketch, int64_t low, int64_t high,
                                       weir_estimator by, weir_estimate *out, weir_error *err);

/* The least key such that the keys up to it hold `share` of the weight. low and high
 * hold the true one with a chance of 99%. `kll` has the least key for 0 and the greatest for 1,
 * exactly. A quantile of nothing is WEIR_ERR_RANGE. */
typedef struct {
    int64_t value, low, high; /* integer keys */
    bool is_decimal;          /* some key was not an integer: the answer is in these */
    double decimal, decimal_low, decimal_high;
} weir_quantile;
WEIR_API weir_status weir_sketch_quantile(weir_sketch *sketch, double share, weir_quantile *out,
                                          weir_error *err);

/* How many different keys; how many in both of two streams. */
WEIR_API weir_status weir_sketch_distinct(weir_sketch *sketch, weir_estimate *out, weir_error *err);
WEIR_API weir_status weir_sketch_common(weir_sketch *a, weir_sketch *b, weir_estimate *out,
                                        weir_error *err);

/* How many different keys, of those that `accept` says yes to. It is asked
 * about every key in the sample and, where rows are kept, about each of its
 * rows: one yes is enough. */
typedef bool weir_accept_fn(void *context, const weir_item *item);
WEIR_API weir_status weir_sketch_distinct_where(weir_sketch *sketch, weir_accept_fn *accept,
                                                void *context, weir_estimate *out, weir_error *err);

/* The keys of a sample; count.value is how many records (or, for a sample of
 * distinct keys, how often this key came by). */
WEIR_API weir_status weir_sketch_sample(weir_sketch *sketch, weir_items *out, weir_error *err);

/* Make `into` the sketch of both streams. They must be alike in all options
 * (WEIR_ERR_MISMATCH says which differs), and of a kind that can be merged. */
WEIR_API weir_status weir_sketch_merge(weir_sketch *into, const weir_sketch *from, weir_error *err);

/* As for filters. */
WEIR_API weir_status weir_sketch_save(const weir_sketch *sketch, const char *path, weir_error *err);
WEIR_API weir_status weir_sketch_load(weir_sketch **out, const char *path, weir_error *err);
WEIR_API weir_status weir_sketch_save_to(const weir_sketch *sketch, weir_write_fn *write,
                                         void *context, weir_error *err);
WEIR_API weir_status weir_sketch_load_from(weir_sketch **out, weir_read_fn *read, void *context,
                                           const weir_allocator *allocator, weir_error *err);
WEIR_API weir_status weir_sketch_save_bytes(const weir_sketch *sketch, void *buffer, size_t size,
                                            size_t *length, weir_error *err);
WEIR_API weir_status weir_sketch_load_bytes(weir_sketch **out, const void *bytes, size_t length,
                                            const weir_allocator *allocator, weir_error *err);
WEIR_API weir_status weir_sketch_clone(weir_sketch **out, const weir_sketch *sketch,
                                       const weir_allocator *allocator, weir_error *err);
WEIR_API weir_status weir_snapshot_put_sketch(weir_snapshot *snapshot, const char *name,
                                              const weir_sketch *sketch, weir_error *err);
WEIR_API weir_sketch *weir_snapshot_take_sketch(weir_snapshot *snapshot, const char *name);

typedef struct {
    const char *name;
    uint64_t seed;
    uint64_t memory;     /* bytes held: its cells and a few KiB of tables */
    uint64_t updates;    /* added since creation or clear */
    double total;        /* sum of the weights, as of now under decay and windows */
    bool takes_decimals; /* keys may be decimal numbers */
    double error;        /* the error that the size stands for, relative as the kind says */
    double confidence;   /* with which that error holds */
    bool overfull;       /* more was added than it was planned for: see the kind's advice */
    uint32_t answers;    /* bits of weir_answer */
} weir_sketch_info;

/* What a sketch can answer. */
typedef enum {
    WEIR_CAN_ESTIMATE = 1,
    WEIR_CAN_SELF_JOIN = 2,
    WEIR_CAN_JOIN = 4,
    WEIR_CAN_TOP = 8,
    WEIR_CAN_RANGE = 16,
    WEIR_CAN_QUANTILE = 32,
    WEIR_CAN_DISTINCT = 64,
    WEIR_CAN_COMMON = 128,
    WEIR_CAN_WHERE = 256,
    WEIR_CAN_SAMPLE = 512
} weir_answer;

WEIR_API void weir_sketch_get_info(const weir_sketch *sketch, weir_sketch_info *info);
WEIR_API size_t weir_sketch_spec(const weir_sketch *sketch, char *buffer, size_t size);
WEIR_API void weir_sketch_details(const weir_sketch *sketch, weir_detail_fn *each, void *context);

/* Kind i of the sketches, NULL past the last; the options that all take; what
 * kind i can answer (bits of weir_answer). */
WEIR_API const weir_kind *weir_sketch_kind(size_t i);
WEIR_API uint32_t weir_sketch_kind_answers(size_t i);
WEIR_API const weir_option *weir_sketch_common_options(void);

#ifdef __cplusplus
}
#endif

#endif
