/* producers.c - the last batch of each producer.
 *
 * A list that is looked through from one end: with a thousand producers that is a microsecond or
 * two, beside a batch that takes a hundred. Packed, producers stand in the order of their last
 * batches, oldest first: number, offered, length of the name, length of the reply, name, reply.
 */
#include "producers.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_name(const char *name, size_t length) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

static producer *find(const producers *all, const char *name, size_t length) {
    uint32_t h = hash_name(name, length);
    for (size_t i = 0; all && i < all->count; i++) {
        producer *p = &all->list[i];
        if (p->hash == h && p->name_length == length && !memcmp(p->name, name, length)) return p;
    }
    return NULL;
}

const producer *producers_find(const producers *all, const char *name, size_t length) {
    return find(all, name, length);
}

static producer *oldest(const producers *all) {
    producer *least = all->list;
    for (size_t i = 1; i < all->count; i++)
        if (all->list[i].order < least->order) least = &all->list[i];
    return least;
}

static bool grow(producers *all) {
    if (all->count < all->room || all->count == PRODUCERS_MOST) return true;
    size_t room = all->room ? all->room * 2 : 4;
    producer *list = RedisModule_TryAlloc(room * sizeof *list);
    if (!list) return false;
    if (all->count) memcpy(list, all->list, all->count * sizeof *list);
    RedisModule_Free(all->list);
    all->list = list;
    all->room = room;
    return true;
}

uint8_t *producers_reserve(producers **all, size_t reply_length) {
    if (!*all) {
        *all = RedisModule_TryAlloc(sizeof **all);
        if (!*all) return NULL;
        **all = (producers){0};
    }
    return grow(*all) ? RedisModule_TryAlloc(reply_length ? reply_length : 1) : NULL;
}

void producers_note(producers *all, const char *name, size_t length, const producer *batch) {
    producer *p = find(all, name, length);
    if (!p && all->count == PRODUCERS_MOST) p = oldest(all);
    if (p) RedisModule_Free(p->reply);
    else p = &all->list[all->count++];
    *p = *batch;
    p->order = ++all->applied;
    p->hash = hash_name(name, length);
    p->name_length = (uint8_t)length;
    memset(p->name, 0, sizeof p->name);
    memcpy(p->name, name, length);
}

void producers_free(producers *all) {
    if (!all) return;
    for (size_t i = 0; i < all->count; i++) RedisModule_Free(all->list[i].reply);
    RedisModule_Free(all->list);
    RedisModule_Free(all);
}

size_t producers_memory(const producers *all) {
    if (!all) return 0;
    size_t bytes = sizeof *all + all->room * sizeof *all->list;
    for (size_t i = 0; i < all->count; i++) bytes += all->list[i].reply_length;
    return bytes;
}

static void *moved(RedisModuleDefragCtx *ctx, void *memory) {
    void *to = memory ? RedisModule_DefragAlloc(ctx, memory) : NULL;
    return to ? to : memory;
}

void producers_defrag(producers *all, RedisModuleDefragCtx *ctx) {
    all->list = moved(ctx, all->list);
    for (size_t i = 0; i < all->count; i++) all->list[i].reply = moved(ctx, all->list[i].reply);
}

/* --- as bytes --------------------------------------------------------------------------------- */

enum { ENTRY_HEAD = 8 + 8 + 4 + 4 };

typedef struct {
    const producer *who;
} place;

static int by_order(const void *a, const void *b) {
    uint64_t x = ((const place *)a)->who->order, y = ((const place *)b)->who->order;
    return x < y ? -1 : x > y;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t length) {
    if (length) memcpy(at, bytes, length);
    return at + length;
}

uint8_t *producers_pack(const producers *all, size_t before, size_t *length) {
    size_t count = all ? all->count : 0, bytes = before;
    for (size_t i = 0; i < count; i++)
        bytes += ENTRY_HEAD + all->list[i].name_length + all->list[i].reply_length;
    uint8_t *packed = RedisModule_TryAlloc(bytes ? bytes : 1);
    place *sorted = RedisModule_TryAlloc((count ? count : 1) * sizeof *sorted);
    if (!packed || !sorted) {
        RedisModule_Free(packed);
        RedisModule_Free(sorted);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) sorted[i].who = &all->list[i];
    qsort(sorted, count, sizeof *sorted, by_order);
    uint8_t *at = packed + before;
    for (size_t i = 0; i < count; i++) {
        const producer *p = sorted[i].who;
        uint32_t lengths[2] = {p->name_length, (uint32_t)p->reply_length};
        at = put(at, &p->number, 8);
        at = put(at, &p->offered, 8);
        at = put(at, lengths, 8);
        at = put(at, p->name, p->name_length);
        at = put(at, p->reply, p->reply_length);
    }
    RedisModule_Free(sorted);
    *length = bytes;
    return packed;
}

static bool unpack(producers **all, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        uint64_t number, offered;
        uint32_t lengths[2];
        if (end - at < ENTRY_HEAD) return false;
        memcpy(&number, at, 8);
        memcpy(&offered, at + 8, 8);
        memcpy(lengths, at + 16, 8);
        at += ENTRY_HEAD;
        const char *name = (const char *)at;
        if (lengths[0] < 1 || lengths[0] > PRODUCER_NAME_MOST || lengths[1] > PRODUCER_REPLY_MOST ||
            (size_t)(end - at) < (size_t)lengths[0] + lengths[1] ||
            (*all && (*all)->count == PRODUCERS_MOST) || find(*all, name, lengths[0]))
            return false;
        producer batch = {.number = number, .offered = offered, .reply_length = lengths[1]};
        batch.reply = producers_reserve(all, lengths[1]);
        if (!batch.reply) return false;
        if (lengths[1]) memcpy(batch.reply, at + lengths[0], lengths[1]);
        producers_note(*all, name, lengths[0], &batch);
        at += lengths[0] + lengths[1];
    }
    return true;
}

bool producers_unpack(producers **all, const uint8_t *bytes, size_t length) {
    *all = NULL;
    if (unpack(all, bytes, bytes + length)) return true;
    producers_free(*all);
    *all = NULL;
    return false;
}
