/* value.h - what a key of ours holds: a filter or a sketch, or an import that is under way.
 *
 * Everything that decides an answer is inside the value, so that a copy, a replica and a reload
 * hold the same bytes: the object of the library with its seed and generator, the epoch, and the
 * last batch of each producer. In a file (RDB, DUMP, AOF) a value is one snapshot of the command
 * line with a note beside the object, `module`, for the last two.
 */
#ifndef WEIR_MODULE_VALUE_H
#define WEIR_MODULE_VALUE_H

#include <stdbool.h>

#include "producers.h"
#include "redis_api.h"
#include "weir.h"
#include "weir_embed.h"
#include "weir_sites.h"
#include "weir_sketch.h"

typedef enum { VALUE_FILTER = 1, VALUE_SKETCH = 2, VALUE_IMPORT = 4 } value_kind;

/* Bytes on their way: of an export that was begun, or of an import. */
typedef struct {
    uint8_t *bytes;
    size_t length, room;
    long long touched; /* milliseconds; when it was last asked for */
} value_buffer;

/* Bytes that an object takes of the server's memory, and the most that it may take. */
typedef struct {
    size_t taken, most;
} value_account;

typedef struct {
    value_kind kind;
    union {
        weir_filter *filter;
        weir_sketch *sketch;
    };
    uint64_t epoch;    /* drawn at creation: tells an object from another under the same name */
    uint64_t seed;     /* of the object */
    uint64_t capacity; /* new keys that it is made for, if it is `bloom`; else 0 */
    bool timed;        /* keys have times: "now" has to be said to replicas */
    value_account *account;
    producers *last;        /* batches, or NULL */
    value_buffer copy;      /* of an export; not a part of what the value is */
    uint64_t copies;        /* the number of that copy */
    value_buffer import;    /* of an import */
    struct topk_list *list; /* of TOPK.*, or NULL; not a part of what the value is */
} weir_value;

/* Make a value of a spec, or NULL. kinds: which are welcome. most: bytes that it may take. */
weir_status value_new(weir_value **out, const char *spec, unsigned kinds, size_t most,
                      weir_error *err);
weir_value *value_new_import(void);
weir_value *value_clone(const weir_value *value);
void value_free(weir_value *value); /* NULL is allowed */

/* The value as a snapshot: `whole` with the note, or just as the command line saves one. */
weir_status value_save(const weir_value *value, bool whole, weir_write_fn *write, void *context,
                       weir_error *err);
weir_status value_load(weir_value **out, weir_read_fn *read, void *context, unsigned kinds,
                       size_t most, weir_error *err);
weir_status value_load_bytes(weir_value **out, const void *bytes, size_t length, unsigned kinds,
                             size_t most, weir_error *err);

size_t value_memory(const weir_value *value);
size_t value_spec(const weir_value *value, char *buffer, size_t size);
uint64_t value_offered(const weir_value *value);
uint64_t value_distinct(const weir_value *value); /* of a filter: keys that were new */
uint64_t value_room(const weir_value *value);     /* new keys until it has its capacity */

/* The objects of two values of one kind change places, and nothing else of them does. */
void value_swap(weir_value *a, weir_value *b);

/* A number that no other value has. */
uint64_t value_draw_epoch(void);

/* More bytes to a buffer; false: no memory, nothing changed. */
bool buffer_append(value_buffer *buffer, const void *bytes, size_t length);
void buffer_free(value_buffer *buffer);

/* Numbers and bytes of the objects in this server, for INFO. */
typedef struct {
    uint64_t filters, sketches, imports, memory;
} value_totals;
value_totals value_count(void);

#endif
