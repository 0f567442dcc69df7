/* roster.c - a bounded list of keys with their bytes and counts. */
#include "sketch/roster.h"

#include <assert.h>
#include <stdlib.h>

#define ARENA_MOST ((uint64_t)1 << 31) /* bytes: places in it have 31 bits */

void weir__roster_plan(weir__roster *r, uint64_t capacity, uint64_t each, uint32_t extra) {
    r->capacity = capacity;
    r->extra = extra;
    for (r->slots = 16; r->slots < 2 * capacity;) r->slots *= 2;
    weir__roster_set_arena(r, capacity * each);
}

void weir__roster_set_arena(weir__roster *r, uint64_t bytes) {
    uint64_t most = ARENA_MOST - 8, least = 8 * (64 + (uint64_t)r->extra);
    if (bytes < least) bytes = least;
    r->arena_bytes = (bytes < most ? bytes : most) / 8 * 8;
}

uint64_t weir__roster_bytes(const weir__roster *r) {
    return r->capacity * sizeof(weir__entry) + r->slots * sizeof *r->index + r->arena_bytes;
}

static uint64_t slot_of(const weir__roster *r, uint64_t hash) {
    assert((r->slots & (r->slots - 1)) == 0);
    return weir__mix64(hash) & (r->slots - 1);
}

static void index_add(weir__roster *r, uint64_t number) {
    assert(number < r->capacity && r->slots >= 2 * r->capacity); /* a free slot ends the search */
    uint64_t slot = slot_of(r, r->entries[number].hash);
    while (r->index[slot]) slot = (slot + 1) & (r->slots - 1);
    r->index[slot] = (uint32_t)number + 1;
}

static void index_rebuild(weir__roster *r) {
    memset(r->index, 0, r->slots * sizeof *r->index);
    for (uint64_t i = 0; i < r->used->entries; i++) index_add(r, i);
}

void weir__roster_bind(weir__roster *r, uint8_t *cells, weir__roster_state *state) {
    r->entries = (void *)cells;
    r->index = (void *)(cells + r->capacity * sizeof *r->entries);
    r->arena = (uint8_t *)(r->index + r->slots);
    r->used = state;
    if (weir__roster_sound(r, state)) index_rebuild(r);
}

weir__entry *weir__roster_find(const weir__roster *r, uint64_t hash) {
    for (uint64_t slot = slot_of(r, hash); r->index[slot]; slot = (slot + 1) & (r->slots - 1)) {
        weir__entry *e = &r->entries[r->index[slot] - 1];
        if (e->hash == hash) return e;
    }
    return NULL;
}

/* Of a key that is longer, bytes that do not end within a character of UTF-8. */
static uint64_t whole_characters(const uint8_t *key, uint64_t bytes) {
    enum { CONTINUED_MOST = 3 }; /* bytes of a character after its first */
    for (int i = 0; i < CONTINUED_MOST && bytes && (key[bytes] & 0xc0) == 0x80; i++) bytes--;
    return bytes;
}

weir__entry *weir__roster_add(weir__roster *r, uint64_t hash, const void *key, size_t length) {
    assert(!weir__roster_find(r, hash));
    uint64_t most = r->arena_bytes / 8 - r->extra;
    uint64_t kept = length <= most ? length : whole_characters(key, most);
    if (r->used->entries == r->capacity || r->used->arena + kept + r->extra > r->arena_bytes)
        return NULL;
    weir__entry *e = &r->entries[r->used->entries];
    *e = (weir__entry){.hash = hash, .at = (uint32_t)r->used->arena, .length = (uint32_t)kept};
    if (kept) memcpy(r->arena + e->at, key, kept);
    if (r->extra) memset(weir__entry_extra(r, e), 0, r->extra);
    if (kept < length) e->length |= WEIR__KEY_CUT;
    r->used->arena += kept + r->extra;
    index_add(r, r->used->entries++);
    return e;
}

/* Entries and their bytes stand in the same order, so both only move down. */
void weir__roster_keep(weir__roster *r, weir__keep_fn *keep, void *context) {
    assert(weir__roster_sound(r, r->used));
    uint64_t kept = 0, arena = 0;
    for (uint64_t i = 0; i < r->used->entries; i++) {
        weir__entry e = r->entries[i];
        if (!keep(context, &e)) continue;
        uint64_t bytes = weir__entry_length(&e) + (uint64_t)r->extra;
        memmove(r->arena + arena, r->arena + e.at, bytes);
        e.at = (uint32_t)arena;
        arena += bytes;
        r->entries[kept++] = e;
    }
    r->used->entries = kept;
    r->used->arena = arena;
    index_rebuild(r);
}

bool weir__roster_sound(const weir__roster *r, const weir__roster_state *state) {
    uint64_t arena = 0;
    if (state->entries > r->capacity || state->arena > r->arena_bytes) return false;
    for (uint64_t i = 0; i < state->entries; i++) {
        const weir__entry *e = &r->entries[i];
        if (e->at != arena) return false;
        arena += weir__entry_length(e) + (uint64_t)r->extra;
        if (arena > state->arena) return false;
    }
    return arena == state->arena;
}

weir_item weir__roster_item(const weir__roster *r, const weir__entry *e) {
    return (weir_item){.key = r->arena + e->at,
                       .length = weir__entry_length(e),
                       .cut = (e->length & WEIR__KEY_CUT) != 0,
                       .hash = e->hash};
}

/* While items are added they are a heap, the least on top. */
static void sift_down(weir_items *out, size_t at, weir_item item) {
    assert(at < out->found);
    for (size_t child; (child = 2 * at + 1) < out->found; at = child) {
        if (child + 1 < out->found &&
            out->items[child + 1].count.value < out->items[child].count.value)
            child++;
        if (out->items[child].count.value >= item.count.value) break;
        out->items[at] = out->items[child];
    }
    out->items[at] = item;
}

/* One that finds no room is one that is not listed: the floor lies no lower. */
void weir__items_leave_out(weir_items *out, const weir_item *item) {
    if (item->count.high > out->floor) out->floor = item->count.high;
}

void weir__items_add(weir_items *out, const weir_item *item) {
    assert(out->found <= out->room);
    if (out->found == out->room) {
        if (out->room && out->items[0].count.value < item->count.value) {
            weir__items_leave_out(out, &out->items[0]);
            sift_down(out, 0, *item);
        } else {
            weir__items_leave_out(out, item);
        }
        return;
    }
    size_t at = out->found++;
    for (size_t up; at && out->items[up = (at - 1) / 2].count.value > item->count.value; at = up)
        out->items[at] = out->items[up];
    out->items[at] = *item;
}

/* By count, then by hash, so that the order does not depend on the roster's. */
static int compare_items(const void *a, const void *b) {
    const weir_item *x = a, *y = b;
    if (x->count.value != y->count.value) return x->count.value < y->count.value ? 1 : -1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

void weir__items_sort(weir_items *out) {
    if (out->found) qsort(out->items, out->found, sizeof *out->items, compare_items);
}
