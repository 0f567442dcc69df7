/* family.h - what filters, sketches and pair summaries have in common.
 *
 * Each family makes its objects from a spec and keeps of them, beside what the
 * spec leads to, only plain data: two totals, some 64-bit words and one map of
 * cells. The image of an object is where these stand. Snapshots are written
 * and read through this table alone, so that a family is saved by having one.
 */
#ifndef WEIR_CORE_FAMILY_H
#define WEIR_CORE_FAMILY_H

#include <stddef.h>

#include "weir.h"
#include "weir_embed.h"

typedef struct {
    uint64_t probe;      /* hash of the four bytes "weir": tells another hash function */
    uint64_t *totals[2]; /* a filter's are keys offered and called SEEN */
    uint64_t *words;     /* state that changes besides the cells */
    size_t word_count;
    uint8_t *cells;
    uint64_t cells_bytes;
} weir__image;

typedef struct {
    const char *name; /* "filter" */
    uint32_t number;  /* kind of part in a snapshot file */
    weir_status (*make)(void **out, const char *spec, const weir_allocator *allocator,
                        weir_error *err);
    size_t (*spec)(const void *object, char *buffer, size_t size);
    void (*image)(const void *object, weir__image *image);

    /* After words and cells were filled in: find anything in them that could
     * make a later call go wrong. Where nothing could, what was derived from them is made. */
    weir_status (*check)(void *object, weir_error *err);
    void (*free)(void *object);

    /* Optional, for objects that keep elsewhere what belongs into their cells: `bytes` is a
     * copy of `length` cells from `at` on, write it there. */
    void (*pack)(const void *object, uint64_t at, uint8_t *bytes, size_t length);
    bool (*packs)(const void *object); /* it has anything to pack */

    /* Optional, for cells whose size follows from the words and not from the
     * spec: the words were filled in, make room for the cells. */
    weir_status (*fit)(void *object, weir_error *err);
} weir__family;

extern const weir__family weir__filter_family, weir__sketch_family;
extern const weir__family weir__pairs_family;

#endif
