/* producers.h - the last batch of each producer, and what was answered.
 *
 * A producer that does not hear the answer to a batch sends it again. To give that one the same
 * answer, and to apply it once, a value remembers for each producer the number of its last batch
 * and the reply. At most PRODUCERS_MOST are remembered; the one whose last batch is oldest goes.
 * Only batches that were applied change anything here, in the order in which they were, so
 * replicas have the same.
 */
#ifndef WEIR_MODULE_PRODUCERS_H
#define WEIR_MODULE_PRODUCERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis_api.h"

enum {
    PRODUCERS_MOST = 1024,
    PRODUCER_NAME_MOST = 64,
    PRODUCER_REPLY_MOST = 8192 /* bytes: a bitmap of 65,536 verdicts */
};

typedef struct {
    uint8_t *reply;
    size_t reply_length;
    uint64_t number, offered;
    uint64_t order; /* of its last batch among all */
    uint32_t hash;  /* of the name, to be quick */
    uint8_t name_length;
    char name[PRODUCER_NAME_MOST];
} producer;

typedef struct producers {
    size_t count, room;
    uint64_t applied; /* batches so far */
    producer *list;
} producers;

/* NULL: not known. */
const producer *producers_find(const producers *all, const char *name, size_t length);

/* Before a batch is applied: memory for its reply, and room, so that noting it afterwards cannot
 * fail. *all is made if it is NULL. NULL: no memory. Nothing that is answered or saved has changed;
 * where the batch is not applied after all, free the reply. */
uint8_t *producers_reserve(producers **all, size_t reply_length);

/* The batch was applied. Of `batch` its number, offered and reply count; the reply, from
 * producers_reserve(), is kept. */
void producers_note(producers *all, const char *name, size_t length, const producer *batch);

void producers_free(producers *all); /* NULL is allowed */
size_t producers_memory(const producers *all);

/* Let the server move what it wants to move. */
void producers_defrag(producers *all, RedisModuleDefragCtx *ctx);

/* As bytes, and back; NULL: no memory, or damaged. The bytes of equal ones are equal. */
uint8_t *producers_pack(const producers *all, size_t before, size_t *length);
bool producers_unpack(producers **all, const uint8_t *bytes, size_t length);

#endif
