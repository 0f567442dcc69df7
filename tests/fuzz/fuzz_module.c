/* fuzz_module.c - any bytes as the note that a value of the module has in its snapshot.
 *
 * The note holds the epoch and the last batches of producers (module/producers.c). It stands in a
 * snapshot with right checksums, beside one object, or none, or too many. What loads must be
 * usable, and saved and loaded again be the same bytes.
 *
 *     input: u8 parts (1 filter, 2 sketch, 4 a second filter, 8 no note), the note
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "value.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* --- what the module needs of a server --- */

static size_t size_of(void *memory) { return memory ? sizeof(size_t) : 0; }

static void serve(void) {
    RedisModule_TryAlloc = malloc;
    RedisModule_Calloc = calloc;
    RedisModule_Free = free;
    RedisModule_MallocSize = size_of;
}

/* --- one value --- */

static bool write_bytes(void *context, const void *bytes, size_t length) {
    return buffer_append(context, bytes, length);
}

static void need(bool good) {
    if (!good) abort();
}

/* A snapshot refers to its objects until it is written. */
static value_buffer snapshot_of(uint8_t parts, const uint8_t *note, size_t length) {
    weir_snapshot *snapshot;
    weir_filter *filter;
    weir_sketch *sketch;
    value_buffer out = {0};
    need(weir_snapshot_new(&snapshot, NULL) == WEIR_OK);
    need(weir_filter_new(&filter, "bloom:memory=1K,seed=1", NULL) == WEIR_OK);
    need(weir_sketch_new(&sketch, "countmin:memory=64,seed=1", NULL) == WEIR_OK);
    if (parts & 1) need(!weir_snapshot_put_filter(snapshot, "filter", filter, NULL));
    if (parts & 2) need(!weir_snapshot_put_sketch(snapshot, "sketch", sketch, NULL));
    if (parts & 4) need(!weir_snapshot_put_filter(snapshot, "second", filter, NULL));
    if (!(parts & 8)) need(!weir_snapshot_put_note(snapshot, "module", note, length, NULL));
    need(weir_snapshot_write_to(snapshot, write_bytes, &out, NULL) == WEIR_OK);
    weir_snapshot_free(snapshot);
    weir_filter_free(filter);
    weir_sketch_free(sketch);
    return out;
}

static value_buffer bytes_of(const weir_value *value) {
    value_buffer out = {0};
    need(value_save(value, true, write_bytes, &out, NULL) == WEIR_OK);
    return out;
}

static void need_equal(const value_buffer *a, const value_buffer *b) {
    need(a->length == b->length && !memcmp(a->bytes, b->bytes, a->length));
}

/* A numbered batch is noted, as WEIR.ADDHASH does it. */
static void note_batch(weir_value *value) {
    producer batch = {.number = 7, .offered = 9, .reply_length = 3};
    batch.reply = producers_reserve(&value->last, 3);
    need(batch.reply != NULL);
    memcpy(batch.reply, "abc", 3);
    producers_note(value->last, "me", 2, &batch);
    const producer *found = producers_find(value->last, "me", 2);
    need(found && found->number == 7 && found->reply_length == 3);
}

static void use(weir_value *value) {
    weir_value *again, *copy = value_clone(value);
    value_buffer one = bytes_of(value), other = bytes_of(copy);
    need_equal(&one, &other);
    need(value_load_bytes(&again, one.bytes, one.length, value->kind, SIZE_MAX, NULL) == WEIR_OK);
    buffer_free(&other);
    other = bytes_of(again);
    need_equal(&one, &other);
    note_batch(again);
    buffer_free(&one);
    buffer_free(&other);
    value_free(copy);
    value_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    weir_value *value;
    if (length < 1 || length > 100000) return 0;
    serve();
    value_buffer snapshot = snapshot_of(bytes[0], bytes + 1, length - 1);
    weir_status status = value_load_bytes(&value, snapshot.bytes, snapshot.length,
                                          VALUE_FILTER | VALUE_SKETCH, SIZE_MAX, NULL);
    buffer_free(&snapshot);
    if (status == WEIR_OK) use(value);
    else need(!value);
    value_free(value);
    return 0;
}
