/* manifest.h - what a remote filter is made of, as text under a key of its own.
 *
 *     weir 1
 *     spec=recent:memory=1073741824,fpr=0.0001,seed=...
 *     tags=3v,1f2,...
 *
 * The first producer writes it, all others read it. Slice i of NAME has the key `NAME:{TAG}:i`,
 * whose tag decides its slot, and so its master.
 */
#ifndef WEIR_MANIFEST_H
#define WEIR_MANIFEST_H

#include "fleet.h"

enum { MANIFEST_SLICES = 8192, MANIFEST_TAG = 8, MANIFEST_SPEC = 1024 };

typedef struct {
    char spec[MANIFEST_SPEC]; /* with the memory of all slices together */
    size_t slices;
    char tags[MANIFEST_SLICES][MANIFEST_TAG];
} manifest;

/* The key of the manifest of a name, and of slice i; at least 160 bytes. */
void manifest_key(char key[160], const char *name);
void manifest_slice_key(const manifest *m, size_t i, char key[160], const char *name);

/* Names are 1 to 100 printable bytes without braces. */
weir_status manifest_check_name(const char *name, weir_error *err);

/* Read what is there; *found says whether there is one. WEIR_ERR_MISMATCH: something else is. */
weir_status manifest_read(manifest *m, fleet *f, const char *name, bool *found, weir_error *err);

/* Tags for m->slices slices, spread evenly over the masters and over each one's slots. */
void manifest_place(manifest *m, const fleet *f);

/* Write it unless there is one; *written says which. */
weir_status manifest_write(const manifest *m, fleet *f, const char *name, bool *written,
                           weir_error *err);

/* This bit of an epoch says that the slice was made in the place of one that was lost, so that
 * whoever joins later knows that, too: what is off there proves nothing. */
#define MANIFEST_AGAIN (UINT64_C(1) << 62)

/* An epoch from a random word: never 0, and below 2^63. */
uint64_t manifest_epoch(uint64_t word, bool again);

/* A string of places says nothing of the filter that they belong to, so the lowest bits of its
 * epoch do: places of another filter, whose description was lost or replaced, would call new keys
 * SEEN. */
typedef struct {
    uint64_t places, first, end; /* of the filter; of them here */
    uint64_t seed;
    unsigned k;
    bool siphash, timers;
} manifest_shape;
uint64_t manifest_stamp(uint64_t epoch, const manifest_shape *shape);
weir_status manifest_check_stamp(uint64_t epoch, const manifest_shape *shape, const char *key,
                                 weir_error *err); /* WEIR_ERR_MISMATCH */

/* Another producer may be making the slices right now: if that one is missing, give it the time,
 * once. `look` is the command that asks for it: WEIR.INFO, or STRLEN of a string. */
void manifest_let_others_make(fleet *f, const char *look, const char *key, bool *waited);

/* The memory that a spec asks for (of the filters' default, if it does not say), and the spec
 * with another: false if it does not fit. */
uint64_t manifest_memory(const char *spec);
bool manifest_with_memory(char out[MANIFEST_SPEC], const char *spec, uint64_t bytes);

/* The spec with so many slices, unless it says how many; false if it does not fit. */
bool manifest_with_slices(char out[MANIFEST_SPEC], const char *spec, size_t slices);

#endif
