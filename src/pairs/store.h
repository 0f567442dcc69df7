/* store.h - streams of fingerprints kept whole: in memory, then on disk. */
#ifndef WEIR_PAIRS_STORE_H
#define WEIR_PAIRS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

typedef struct weir__store weir__store;

/* A store of `streams` streams; a record adds share[i] words to stream i. It
 * uses `memory` bytes, mapped as they are needed, and past that a file without a
 * name in `folder` (NULL: $TMPDIR, or /tmp). WEIR_ERR_RANGE if the memory does not
 * hold even a few records. */
weir_status weir__store_new(weir__store **out, uint64_t memory, size_t streams,
                            const uint32_t *share, weir_error *err);
void weir__store_free(weir__store *store);
weir_status weir__store_folder(weir__store *store, const char *folder, weir_error *err);

/* How many more records may be put now, at least 1 and at most `records`; what
 * fills the memory goes to disk first. 0 on failure. */
size_t weir__store_reserve(weir__store *store, size_t records, weir_error *err);

/* Where the next record's words of a stream go, and that `records` were written. */
uint64_t *weir__store_end(weir__store *store, size_t stream);
void weir__store_commit(weir__store *store, size_t records);

/* Sort what is in memory, so that an answer need not. */
void weir__store_sort(weir__store *store);

/* `into` takes over everything that `from` holds; `from` is empty afterwards. */
weir_status weir__store_take(weir__store *into, weir__store *from, weir_error *err);

/* Bytes of memory and of disk in use. */
uint64_t weir__store_memory(const weir__store *store);
uint64_t weir__store_disk(const weir__store *store);

/* ---- reading ---- */

typedef struct weir__cursor weir__cursor;

/* Read a stream in ascending order, each word once with its count. One cursor at
 * a time on a store, and nothing may be added meanwhile. NULL on failure. */
weir__cursor *weir__cursor_open(weir__store *store, size_t stream, weir_error *err);

/* False at the end and on failure. */
bool weir__cursor_next(weir__cursor *cursor, uint64_t *word, uint64_t *count);

/* Returns what went wrong on the way, if anything. */
weir_status weir__cursor_close(weir__cursor *cursor, weir_error *err);

/* ---- as one image ----
 *
 * All streams, each in order, one after the other: a word that occurs once as it
 * is, any other as the word twice and its count. */

/* Bring the store into that form; lengths[i] is the length of stream i in words. */
weir_status weir__store_settle(weir__store *store, uint64_t *lengths, weir_error *err);

/* The image after settling or making room; NULL if it is empty. */
uint8_t *weir__store_image(const weir__store *store, uint64_t *bytes);

/* Make room for an image with these lengths in an empty store; then, when it has
 * been filled in, check that it is one. */
weir_status weir__store_image_room(weir__store *store, const uint64_t *lengths, weir_error *err);
weir_status weir__store_image_check(const weir__store *store, weir_error *err);

#endif
