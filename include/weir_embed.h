/* weir_embed.h - weir inside another program: memory, threads and bytes through functions of that
 * program.
 *
 * For servers and languages that have an allocator, threads and files of their own. Where a
 * function takes an allocator, NULL means the system's.
 *
 * Contents:
 *
 *   1. Memory      an allocator; a filter that holds no other memory
 *   2. Threads     that help a filter with long pieces of work (experimental)
 *   3. Filters     saved to and loaded from functions or bytes
 *   4. Snapshots   the same
 *
 * Threads, statuses and errors are as in weir.h; weir_sketch.h has the same functions of sketches.
 */
#ifndef WEIR_EMBED_H
#define WEIR_EMBED_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. Memory
 * ------------------------------------------------------------------------ */

/* Where an object gets its memory from: `take` returns that many zeroed bytes, aligned for any
 * type, or NULL; `give` gets one of them back. Each may be called from any thread that uses or
 * frees the object. */
typedef struct weir_allocator {
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

/* ------------------------------------------------------------------------
 * 2. Threads
 * ------------------------------------------------------------------------ */

/* Calls part(work, i) for each i below `count`, in any order and by any threads, and returns when
 * all calls have returned. */
typedef void weir_part_fn(void *work, size_t i);
typedef void weir_share_fn(void *context, weir_part_fn *part, void *work, size_t count);

/* Have `share` called where weir_filter_offer_batch() does a long piece of work that has parts:
 * when the table doubles that `recent` begins with. Other filters have no such work. Verdicts and
 * what is saved are the same. NULL: the caller does it alone, as at first. Never fails. Parts write
 * to different memory; what they wrote must be seen by the caller when `share` returns. */
WEIR_EXPERIMENTAL void weir_filter_share(weir_filter *filter, weir_share_fn *share, void *context);

/* ------------------------------------------------------------------------
 * 3. Filters
 * ------------------------------------------------------------------------ */

/* What weir_filter_save() writes, to and from functions of the caller. `write` takes all of the
 * bytes or returns false; `read` returns how many bytes it gave, 1 to `length`, 0 at the end and -1
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

/* ------------------------------------------------------------------------
 * 4. Snapshots
 * ------------------------------------------------------------------------ */

/* What weir_snapshot_write() writes, to a function of the caller. Fails with WEIR_ERR_IO when that
 * does, WEIR_ERR_MEMORY, or WEIR_ERR_RANGE (an audit of more than 1G). */
WEIR_API weir_status weir_snapshot_write_to(const weir_snapshot *snapshot, weir_write_fn *write,
                                            void *context, weir_error *err);

/* As weir_snapshot_read(), of what a function gives: WEIR_ERR_IO (when `read` does),
 * WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH, WEIR_ERR_MEMORY. allocator: for the
 * filters and sketches; audits, notes and the snapshot itself come from the system. */
WEIR_API weir_status weir_snapshot_read_from(weir_snapshot **out, weir_read_fn *read, void *context,
                                             const weir_allocator *allocator, weir_error *err);

/* The same of bytes in memory: WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_read_bytes(weir_snapshot **out, const void *bytes, size_t length,
                                              const weir_allocator *allocator, weir_error *err);

#ifdef __cplusplus
}
#endif

#endif
