/* test_types.c - the module's values when a server moves their memory.
 *
 * Debian's servers are built without defragmentation, so the functions that the module gives them
 * for it are called here, with an allocator that moves whatever it is asked to move.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"
#include "testing.h"

static RedisModuleTypeMethods types[3]; /* of filters, sketches, imports, as registered */
static size_t registered, moved;

/* --- a server that moves all that it can --- */

static size_t size_of(void *memory) { return memory ? sizeof(size_t) : 0; }

/* Each allocation has its size before it, so that it can be copied. */
static void *sized(size_t bytes) {
    size_t *memory = malloc(2 * sizeof *memory + bytes);
    assert_non_null(memory);
    memory[0] = bytes;
    return memory + 2;
}

static void *sized_zeroed(size_t count, size_t size) {
    return memset(sized(count * size), 0, count * size);
}

static void give_back(void *memory) {
    if (memory) free((size_t *)memory - 2);
}

static void *move(RedisModuleDefragCtx *ctx, void *memory) {
    (void)ctx;
    size_t bytes = ((size_t *)memory)[-2];
    void *other = memcpy(sized(bytes), memory, bytes);
    memset(memory, 0xEE, bytes);
    give_back(memory);
    moved++;
    return other;
}

static RedisModuleType *register_type(RedisModuleCtx *ctx, const char *name, int version,
                                      RedisModuleTypeMethods *methods) {
    (void)ctx;
    (void)name;
    (void)version;
    types[registered] = *methods;
    return (RedisModuleType *)(void *)&types[registered++];
}

static int serve(void **state) {
    (void)state;
    RedisModule_TryAlloc = sized;
    RedisModule_Calloc = sized_zeroed;
    RedisModule_Free = give_back;
    RedisModule_MallocSize = size_of;
    RedisModule_DefragAlloc = move;
    RedisModule_CreateDataType = register_type;
    return types_register(NULL);
}

/* --- values --- */

static bool write_bytes(void *context, const void *bytes, size_t length) {
    return buffer_append(context, bytes, length);
}

static value_buffer bytes_of(const weir_value *value) {
    value_buffer out = {0};
    assert_int_equal(value_save(value, true, write_bytes, &out, NULL), WEIR_OK);
    return out;
}

static void note_batch(weir_value *value, const char *name) {
    producer batch = {.number = 1, .offered = 2, .reply_length = 3};
    batch.reply = producers_reserve(&value->last, 3);
    memcpy(batch.reply, name, 3);
    producers_note(value->last, name, 3, &batch);
}

static void is_same_when_moved(const char *spec, size_t type, size_t batches, size_t parts) {
    void *value;
    weir_value *made;
    assert_int_equal(value_new(&made, spec, VALUE_FILTER | VALUE_SKETCH, SIZE_MAX, NULL), WEIR_OK);
    for (size_t i = 0; i < batches; i++) note_batch(made, i ? "you" : "she");
    value_buffer before = bytes_of(made);
    value = made;
    moved = 0;
    assert_int_equal(types[type].defrag(NULL, NULL, &value), 0);
    assert_int_equal(moved, parts);
    assert_ptr_not_equal(value, made);
    value_buffer after = bytes_of(value);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    void *copy = types[type].copy(NULL, NULL, value);
    assert_true(types[type].mem_usage(copy) > 0);
    types[type].free(copy);
    types[type].free(value);
    buffer_free(&before);
    buffer_free(&after);
}

static void values_move(void **state) {
    (void)state;
    is_same_when_moved("bloom:memory=1K", 0, 0, 1);  /* the value */
    is_same_when_moved("recent:memory=4K", 0, 1, 4); /* and the batches: list, entries, a reply */
    is_same_when_moved("top:k=3,width=50,depth=3", 1, 2, 5);
}

/* Beyond 64 a thread of the server frees a value. */
static void large_values_are_an_effort(void **state) {
    (void)state;
    weir_value *small, *large;
    assert_int_equal(value_new(&small, "bloom:memory=1K", VALUE_FILTER, SIZE_MAX, NULL), WEIR_OK);
    assert_int_equal(value_new(&large, "bloom:memory=1M", VALUE_FILTER, SIZE_MAX, NULL), WEIR_OK);
    large->account->taken = 1 << 20; /* the server would have counted it */
    assert_true(types[0].free_effort(NULL, small) < 64);
    assert_true(types[0].free_effort(NULL, large) > 64);
    types[0].free(small);
    types[0].free(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_move),
                                       cmocka_unit_test(large_values_are_an_effort)};
    return cmocka_run_group_tests(tests, serve, NULL);
}
