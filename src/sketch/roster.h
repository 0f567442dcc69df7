/* roster.h - a bounded list of keys with their bytes and counts.
 *
 * What top, sticky, distinct and sample keep of keys. All of it stands in the
 * cells of its sketch: entries in the order in which they came, an index to find
 * them by hash, and an arena of bytes in which the keys follow each other in the
 * same order (each with `extra` bytes of its owner's behind it). Nothing is
 * allocated; when either the entries or the arena are full, adding fails and the
 * owner has to let some go.
 *
 * The bound: capacity entries of 24 bytes, 8 to 16 bytes of index for each, and
 * the arena. A key that is longer than an eighth of the arena is kept cut.
 */
#ifndef WEIR_SKETCH_ROSTER_H
#define WEIR_SKETCH_ROSTER_H

#include "sketch/sketch.h"
#include "weir_sketch.h"

#define WEIR__KEY_CUT UINT32_C(0x80000000) /* in a length: the key was longer than what is kept */

typedef struct {
    uint64_t hash;
    uint64_t count;  /* a number or the bits of a double, as its owner likes */
    uint32_t at;     /* in the arena */
    uint32_t length; /* of what is kept; WEIR__KEY_CUT is set if the key was longer */
} weir__entry;

/* Part of a sketch's state. */
typedef struct {
    uint64_t entries;
    uint64_t arena;
} weir__roster_state;

typedef struct {
    uint64_t capacity, slots, arena_bytes; /* set by weir__roster_plan() */
    uint32_t extra;                        /* bytes behind each key */
    weir__entry *entries;
    uint32_t *index; /* number of an entry + 1; 0: free */
    uint8_t *arena;
    weir__roster_state *used;
} weir__roster;

/* `each`: bytes of arena to plan for a key, extra included. The arena can be set by its size
 * instead. */
void weir__roster_plan(weir__roster *r, uint64_t capacity, uint64_t each, uint32_t extra);
void weir__roster_set_arena(weir__roster *r, uint64_t bytes);
uint64_t weir__roster_bytes(const weir__roster *r);

/* The cells stand here; the index is made anew. */
void weir__roster_bind(weir__roster *r, uint8_t *cells, weir__roster_state *state);

/* The entry of a hash, or NULL. */
weir__entry *weir__roster_find(const weir__roster *r, uint64_t hash);

/* A new entry with a count of 0 and `extra` zero bytes; NULL if there is no room. */
weir__entry *weir__roster_add(weir__roster *r, uint64_t hash, const void *key, size_t length);

/* Remove the entries for which keep() returns false. */
typedef bool weir__keep_fn(void *context, const weir__entry *entry);
void weir__roster_keep(weir__roster *r, weir__keep_fn *keep, void *context);

/* Nothing in the entries points outside: for check(). */
bool weir__roster_sound(const weir__roster *r, const weir__roster_state *state);

static inline uint32_t weir__entry_length(const weir__entry *e) {
    return e->length & ~WEIR__KEY_CUT;
}
static inline uint8_t *weir__entry_extra(const weir__roster *r, const weir__entry *e) {
    return r->arena + e->at + weir__entry_length(e);
}

/* An item without its count. */
weir_item weir__roster_item(const weir__roster *r, const weir__entry *e);

/* Add an item, or put it in the place of the one with the least count.value where
 * there is no room and that is less; what is left out raises the floor, which is set
 * before. At the end sort, the greatest first. */
void weir__items_add(weir_items *out, const weir_item *item);
void weir__items_leave_out(weir_items *out, const weir_item *item); /* only raise the floor */
void weir__items_sort(weir_items *out);

/* The bytes of the key of update i, where there are any. */
static inline const void *weir__key_bytes(const weir_updates *u, size_t i, size_t *length) {
    return u->key(u->context, i, length);
}

#endif
