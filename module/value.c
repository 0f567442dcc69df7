/* value.c - makes, copies, saves and loads what a key of ours holds.
 *
 * All memory comes from the server, which so accounts for it: through functions that fail where
 * there is none, never through those that end the process.
 */
#include "value.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "topk_list.h"

enum { LARGE = 1 << 20, HUGE_PAGE = 2 << 20, FIRST_ROOM = 4096 };

/* --- memory ----------------------------------------------------------------------------------- */

static value_totals totals; /* atomic: values are freed by a thread of the server, too */

static void add_to(uint64_t *total, uint64_t amount) {
    __atomic_fetch_add(total, amount, __ATOMIC_RELAXED);
}

static size_t machine_memory(void) {
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* Zeroed memory, or NULL. The server's Calloc would end the process where there is none, and
 * clearing what TryAlloc gives would touch each page of a large filter at once: so large memory is
 * taken once to see that it is there. */
static void *take_zeroed(size_t bytes) {
    if (RedisModule_TryCalloc) return RedisModule_TryCalloc(1, bytes);
    void *memory = RedisModule_TryAlloc(bytes);
    if (!memory) return NULL;
    if (bytes < LARGE) return memset(memory, 0, bytes);
    RedisModule_Free(memory);
    return RedisModule_Calloc(1, bytes);
}

/* A key goes to any place of a filter's memory, so with pages of 4 KiB most of the time is spent on
 * finding the page. The system is asked for huge pages where whole ones lie within the memory, and
 * asked no longer when it is given back. Where there are none nothing happens. */
static void advise(void *memory, size_t bytes, int advice) {
    uintptr_t from = ((uintptr_t)memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t to = ((uintptr_t)memory + bytes) / HUGE_PAGE * HUGE_PAGE;
    if (from < to) madvise((char *)memory + (from - (uintptr_t)memory), to - from, advice);
}

static void *take(void *context, size_t bytes) {
    value_account *account = context;
    if (account->taken > account->most || bytes > account->most - account->taken) return NULL;
    if (bytes > machine_memory()) return NULL; /* the system would promise it, and kill us later */
    void *memory = take_zeroed(bytes);
    size_t real = memory ? RedisModule_MallocSize(memory) : 0;
    if (memory && config.huge_pages) advise(memory, bytes, MADV_HUGEPAGE);
    account->taken += real;
    add_to(&totals.memory, real);
    return memory;
}

static void give(void *context, void *memory) {
    size_t real = RedisModule_MallocSize(memory);
    ((value_account *)context)->taken -= real;
    add_to(&totals.memory, -(uint64_t)real);
    advise(memory, real, MADV_NOHUGEPAGE);
    RedisModule_Free(memory);
}

static weir_allocator allocator_of(const weir_value *value) {
    return (weir_allocator){take, give, value->account};
}

bool buffer_append(value_buffer *buffer, const void *bytes, size_t length) {
    if (buffer->length + length > buffer->room) {
        size_t room = buffer->room ? buffer->room : FIRST_ROOM;
        while (room < buffer->length + length) room += room < LARGE ? room : room / 4;
        uint8_t *grown = RedisModule_TryAlloc(room);
        if (!grown) return false;
        if (buffer->length) memcpy(grown, buffer->bytes, buffer->length);
        RedisModule_Free(buffer->bytes);
        buffer->bytes = grown;
        buffer->room = room;
    }
    if (length) memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return true;
}

void buffer_free(value_buffer *buffer) {
    RedisModule_Free(buffer->bytes);
    *buffer = (value_buffer){0};
}

/* --- making ----------------------------------------------------------------------------------- */

uint64_t value_draw_epoch(void) {
    uint64_t epoch;
    do RedisModule_GetRandomBytes((unsigned char *)&epoch, sizeof epoch);
    while (!epoch); /* 0: none yet */
    return epoch;
}

static uint64_t *total_of(value_kind kind) {
    return kind == VALUE_FILTER   ? &totals.filters
           : kind == VALUE_SKETCH ? &totals.sketches
                                  : &totals.imports;
}

static weir_status no_memory(weir_error *err) {
    if (err) *err = (weir_error){WEIR_ERR_MEMORY, -1, "out of memory"};
    return WEIR_ERR_MEMORY;
}

static weir_value *make_empty(size_t most) {
    weir_value *value = RedisModule_TryAlloc(sizeof *value);
    value_account *account = RedisModule_TryAlloc(sizeof *account);
    if (!value || !account) {
        RedisModule_Free(value);
        RedisModule_Free(account);
        return NULL;
    }
    *account = (value_account){.most = most};
    *value = (weir_value){.account = account};
    return value;
}

/* It has its object: see what it is. */
static void settle(weir_value *value, value_kind kind) {
    value->account->most = SIZE_MAX;
    value->kind = kind;
    if (kind == VALUE_FILTER) {
        weir_filter_info info;
        weir_filter_get_info(value->filter, &info);
        value->timed = info.window_is_time;
        value->seed = info.seed;
        value->capacity = strcmp(info.name, "bloom") == 0 ? (uint64_t)info.room : 0;
        weir_filter_hide_tests(value->filter); /* or primaries and replicas would differ */
    } else if (kind == VALUE_SKETCH) {
        weir_sketch_info info;
        weir_sketch_get_info(value->sketch, &info);
        value->timed = info.uses_time;
        value->seed = info.seed;
    }
    add_to(total_of(kind), 1);
}

static bool names_sketch(const char *spec) {
    size_t length = strcspn(spec, ":");
    const weir_kind *kind;
    for (size_t i = 0; (kind = weir_sketch_kind(i)); i++)
        if (strlen(kind->name) == length && !memcmp(kind->name, spec, length)) break;
    if (!kind) return false;
    for (size_t i = 0; (kind = weir_filter_kind(i)); i++)
        if (strlen(kind->name) == length && !memcmp(kind->name, spec, length)) return false;
    return true;
}

weir_status value_new(weir_value **out, const char *spec, unsigned kinds, size_t most,
                      weir_error *err) {
    *out = NULL;
    weir_value *value = make_empty(most);
    if (!value) return no_memory(err);
    weir_allocator allocator = allocator_of(value);
    bool sketch = (kinds & VALUE_SKETCH) && (!(kinds & VALUE_FILTER) || names_sketch(spec));
    weir_status status = sketch ? weir_sketch_new_with(&value->sketch, spec, &allocator, err)
                                : weir_filter_new_with(&value->filter, spec, &allocator, err);
    if (status != WEIR_OK) {
        value_free(value);
        return status;
    }
    settle(value, sketch ? VALUE_SKETCH : VALUE_FILTER);
    *out = value;
    return WEIR_OK;
}

weir_value *value_new_import(void) {
    weir_value *value = make_empty(SIZE_MAX);
    if (value) settle(value, VALUE_IMPORT);
    return value;
}

void value_free(weir_value *value) {
    if (!value) return;
    if (value->kind == VALUE_FILTER) weir_filter_free(value->filter);
    if (value->kind == VALUE_SKETCH) weir_sketch_free(value->sketch);
    if (value->kind) add_to(total_of(value->kind), -UINT64_C(1));
    producers_free(value->last);
    buffer_free(&value->copy);
    buffer_free(&value->import);
    topk_list_free(value->list);
    RedisModule_Free(value->account);
    RedisModule_Free(value);
}

void value_swap(weir_value *a, weir_value *b) {
    weir_value one = *a, other = *b;
    topk_list_free(a->list);
    topk_list_free(b->list);
    a->list = b->list = NULL;
    a->filter = other.filter; /* or the sketch */
    a->seed = other.seed;
    a->capacity = other.capacity;
    a->timed = other.timed;
    a->account = other.account;
    b->filter = one.filter;
    b->seed = one.seed;
    b->capacity = one.capacity;
    b->timed = one.timed;
    b->account = one.account;
}

static bool clone_object(weir_value *copy, const weir_value *value) {
    weir_allocator allocator = allocator_of(copy);
    if (value->kind == VALUE_FILTER)
        return weir_filter_clone(&copy->filter, value->filter, &allocator, NULL) == WEIR_OK;
    if (value->kind == VALUE_SKETCH)
        return weir_sketch_clone(&copy->sketch, value->sketch, &allocator, NULL) == WEIR_OK;
    return buffer_append(&copy->import, value->import.bytes, value->import.length);
}

static bool clone_producers(weir_value *copy, const weir_value *value) {
    size_t length;
    if (!value->last) return true;
    uint8_t *packed = producers_pack(value->last, 0, &length);
    bool good = packed && producers_unpack(&copy->last, packed, length);
    RedisModule_Free(packed);
    return good;
}

weir_value *value_clone(const weir_value *value) {
    weir_value *copy = make_empty(SIZE_MAX);
    if (!copy) return NULL;
    if (!clone_object(copy, value)) {
        value_free(copy);
        return NULL;
    }
    settle(copy, value->kind);
    copy->epoch = value->epoch;
    if (!clone_producers(copy, value)) {
        value_free(copy);
        return NULL;
    }
    return copy;
}

/* --- saving and loading ----------------------------------------------------------------------- */

#define NOTE_NAME "module"
enum { NOTE_HEAD = 8 }; /* the epoch */

static weir_status put_note(weir_snapshot *snapshot, const weir_value *value, weir_error *err) {
    size_t length;
    uint8_t *note = producers_pack(value->last, NOTE_HEAD, &length);
    if (!note) return no_memory(err);
    memcpy(note, &value->epoch, NOTE_HEAD);
    weir_status status = weir_snapshot_put_note(snapshot, NOTE_NAME, note, length, err);
    RedisModule_Free(note);
    return status;
}

static weir_status save_whole(const weir_value *value, weir_write_fn *write, void *context,
                              weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status != WEIR_OK) return status;
    status = value->kind == VALUE_FILTER
                 ? weir_snapshot_put_filter(snapshot, "filter", value->filter, err)
                 : weir_snapshot_put_sketch(snapshot, "sketch", value->sketch, err);
    if (status == WEIR_OK) status = put_note(snapshot, value, err);
    if (status == WEIR_OK) status = weir_snapshot_write_to(snapshot, write, context, err);
    weir_snapshot_free(snapshot);
    return status;
}

weir_status value_save(const weir_value *value, bool whole, weir_write_fn *write, void *context,
                       weir_error *err) {
    if (whole) return save_whole(value, write, context, err);
    return value->kind == VALUE_FILTER ? weir_filter_save_to(value->filter, write, context, err)
                                       : weir_sketch_save_to(value->sketch, write, context, err);
}

static weir_status wrong_snapshot(weir_error *err, weir_status status, const char *message) {
    if (err) {
        *err = (weir_error){.code = status, .offset = -1};
        strncpy(err->message, message, sizeof err->message - 1);
    }
    return status;
}

/* The one object of a snapshot goes into the value. */
static weir_status take_object(weir_value *value, weir_snapshot *snapshot, unsigned kinds,
                               weir_error *err) {
    size_t filters = 0, sketches = 0;
    const char *filter = NULL, *sketch = NULL;
    for (size_t i = 0; i < weir_snapshot_count(snapshot); i++) {
        weir_snapshot_part part;
        weir_snapshot_get_part(snapshot, i, &part);
        if (!strcmp(part.kind, "filter")) filters++, filter = part.name;
        if (!strcmp(part.kind, "sketch")) sketches++, sketch = part.name;
    }
    if (filters + sketches != 1)
        return wrong_snapshot(err, WEIR_ERR_MISMATCH,
                              "a snapshot with one filter or one sketch is needed here");
    if (!(kinds & (filters ? VALUE_FILTER : VALUE_SKETCH)))
        return wrong_snapshot(err, WEIR_ERR_MISMATCH,
                              filters ? "the snapshot holds a filter, where a sketch is needed"
                                      : "the snapshot holds a sketch, where a filter is needed");
    if (filters) value->filter = weir_snapshot_take_filter(snapshot, filter);
    else value->sketch = weir_snapshot_take_sketch(snapshot, sketch);
    settle(value, filters ? VALUE_FILTER : VALUE_SKETCH);
    return WEIR_OK;
}

static weir_status take_note(weir_value *value, weir_snapshot *snapshot, weir_error *err) {
    size_t length;
    const uint8_t *note = weir_snapshot_note(snapshot, NOTE_NAME, &length);
    if (!note) return WEIR_OK;
    if (length < NOTE_HEAD || !producers_unpack(&value->last, note + NOTE_HEAD, length - NOTE_HEAD))
        return wrong_snapshot(err, WEIR_ERR_CORRUPT, "the snapshot's note is not understood");
    memcpy(&value->epoch, note, NOTE_HEAD);
    return WEIR_OK;
}

static weir_status from_snapshot(weir_value **out, weir_value *value, weir_snapshot *snapshot,
                                 unsigned kinds, weir_error *err) {
    weir_status status = take_object(value, snapshot, kinds, err);
    if (status == WEIR_OK) status = take_note(value, snapshot, err);
    weir_snapshot_free(snapshot);
    if (status == WEIR_OK) *out = value;
    else value_free(value);
    return status;
}

weir_status value_load(weir_value **out, weir_read_fn *read, void *context, unsigned kinds,
                       size_t most, weir_error *err) {
    weir_snapshot *snapshot;
    *out = NULL;
    weir_value *value = make_empty(most);
    if (!value) return no_memory(err);
    weir_allocator allocator = allocator_of(value);
    weir_status status = weir_snapshot_read_from(&snapshot, read, context, &allocator, err);
    if (status == WEIR_OK) return from_snapshot(out, value, snapshot, kinds, err);
    value_free(value);
    return status;
}

typedef struct {
    const uint8_t *at;
    size_t left;
} span;

static int64_t read_span(void *context, void *bytes, size_t length) {
    span *from = context;
    size_t n = length < from->left ? length : from->left;
    if (n) memcpy(bytes, from->at, n);
    from->at += n;
    from->left -= n;
    return (int64_t)n;
}

weir_status value_load_bytes(weir_value **out, const void *bytes, size_t length, unsigned kinds,
                             size_t most, weir_error *err) {
    span from = {bytes, length};
    return value_load(out, read_span, &from, kinds, most, err);
}

/* --- looking ---------------------------------------------------------------------------------- */

size_t value_memory(const weir_value *value) {
    return sizeof *value + sizeof *value->account + value->account->taken +
           producers_memory(value->last) + value->copy.room + value->import.room +
           topk_list_memory(value->list);
}

size_t value_spec(const weir_value *value, char *buffer, size_t size) {
    return value->kind == VALUE_FILTER ? weir_filter_spec(value->filter, buffer, size)
                                       : weir_sketch_spec(value->sketch, buffer, size);
}

uint64_t value_offered(const weir_value *value) {
    if (value->kind == VALUE_FILTER) {
        uint64_t offered, seen;
        weir_filter_totals(value->filter, &offered, &seen);
        return offered;
    }
    weir_sketch_info info;
    weir_sketch_get_info(value->sketch, &info);
    return info.updates;
}

uint64_t value_distinct(const weir_value *value) {
    uint64_t offered, seen;
    weir_filter_totals(value->filter, &offered, &seen);
    return offered - seen;
}

uint64_t value_room(const weir_value *value) {
    uint64_t keys = value_distinct(value);
    if (!value->capacity) return UINT64_MAX;
    return keys < value->capacity ? value->capacity - keys : 0;
}

value_totals value_count(void) { return totals; }
