/* snapshot.c - naming the parts of a snapshot, and handing them out again. */
#include "snapshot/snapshot.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "pairs/pairs.h"

/* A new family is a line here. */
static const weir__family *const families[] = {&weir__filter_family, &weir__sketch_family,
                                               &weir__pairs_family, NULL};

const weir__family *weir__family_numbered(uint32_t number) {
    for (size_t i = 0; families[i]; i++)
        if (families[i]->number == number) return families[i];
    return NULL;
}

weir_status weir_snapshot_new(weir_snapshot **out, weir_error *err) {
    *out = calloc(1, sizeof **out);
    return *out ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

void weir_snapshot_free(weir_snapshot *snapshot) {
    if (!snapshot) return;
    for (size_t i = 0; i < snapshot->count; i++) {
        weir__part_entry *part = &snapshot->parts[i];
        if (part->object) part->family->free(part->object);
        weir_audit_free(part->audit);
        free(part->note);
    }
    free(snapshot);
}

static weir__part_entry *find_named(const weir_snapshot *snapshot, const char *name) {
    for (size_t i = 0; i < snapshot->count; i++)
        if (strcmp(snapshot->parts[i].name, name) == 0)
            return (weir__part_entry *)&snapshot->parts[i];
    return NULL;
}

static weir__part_entry *find(const weir_snapshot *snapshot, const char *name, uint32_t kind) {
    weir__part_entry *part = find_named(snapshot, name);
    return part && part->kind == kind ? part : NULL;
}

static bool good_name(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalpha((unsigned char)name[i])) return false;
    return length >= 1 && length <= WEIR__NAME_MOST;
}

static weir_status add_part(weir_snapshot *snapshot, const char *name, uint32_t kind,
                            weir__part_entry **out, weir_error *err) {
    if (!good_name(name))
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "'%.40s' cannot name a part; use 1 to 15 letters", name);
    if (find_named(snapshot, name))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "there are two parts named '%s'", name);
    if (snapshot->count == WEIR__PARTS_MOST)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a snapshot holds at most %d parts",
                          WEIR__PARTS_MOST);
    *out = &snapshot->parts[snapshot->count++];
    (*out)->kind = kind;
    strcpy((*out)->name, name);
    return WEIR_OK;
}

static weir_status put_object(weir_snapshot *snapshot, const char *name, const weir__family *family,
                              const void *object, weir_error *err) {
    weir__part_entry *part;
    weir_status status = add_part(snapshot, name, family->number, &part, err);
    if (status != WEIR_OK) return status;
    part->family = family;
    part->borrowed = object;
    return WEIR_OK;
}

weir_status weir_snapshot_put_filter(weir_snapshot *snapshot, const char *name,
                                     const weir_filter *filter, weir_error *err) {
    return put_object(snapshot, name, &weir__filter_family, filter, err);
}

weir_status weir_snapshot_put_sketch(weir_snapshot *snapshot, const char *name,
                                     const weir_sketch *sketch, weir_error *err) {
    return put_object(snapshot, name, &weir__sketch_family, sketch, err);
}

weir_status weir_snapshot_put_audit(weir_snapshot *snapshot, const char *name,
                                    const weir_audit *audit, weir_error *err) {
    weir__part_entry *part;
    weir_status status = add_part(snapshot, name, WEIR__PART_AUDIT, &part, err);
    if (status == WEIR_OK) part->borrowed = audit;
    return status;
}

weir_status weir_snapshot_put_note(weir_snapshot *snapshot, const char *name, const void *bytes,
                                   size_t length, weir_error *err) {
    weir__part_entry *part;
    if (length > WEIR__NOTE_MOST)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "note '%.40s' is longer than 1G", name);
    uint8_t *copy = malloc(length ? length : 1);
    if (!copy) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    if (length) memcpy(copy, bytes, length);
    weir_status status = add_part(snapshot, name, WEIR__PART_NOTE, &part, err);
    if (status != WEIR_OK) {
        free(copy);
        return status;
    }
    part->note = copy;
    part->note_length = length;
    return WEIR_OK;
}

static void *take_object(weir_snapshot *snapshot, const char *name, const weir__family *family) {
    weir__part_entry *part = find(snapshot, name, family->number);
    void *object = part ? part->object : NULL;
    if (part) part->object = NULL;
    return object;
}

weir_filter *weir_snapshot_take_filter(weir_snapshot *snapshot, const char *name) {
    return take_object(snapshot, name, &weir__filter_family);
}

weir_sketch *weir_snapshot_take_sketch(weir_snapshot *snapshot, const char *name) {
    return take_object(snapshot, name, &weir__sketch_family);
}

weir_audit *weir_snapshot_take_audit(weir_snapshot *snapshot, const char *name) {
    weir__part_entry *part = find(snapshot, name, WEIR__PART_AUDIT);
    weir_audit *audit = part ? part->audit : NULL;
    if (part) part->audit = NULL;
    return audit;
}

const void *weir_snapshot_note(const weir_snapshot *snapshot, const char *name, size_t *length) {
    const weir__part_entry *part = find(snapshot, name, WEIR__PART_NOTE);
    if (!part) return NULL;
    *length = part->note_length;
    return part->note;
}

size_t weir_snapshot_count(const weir_snapshot *snapshot) { return snapshot->count; }

void weir_snapshot_get_part(const weir_snapshot *snapshot, size_t i, weir_snapshot_part *part) {
    const weir__part_entry *entry = &snapshot->parts[i];
    const char *kind = entry->family                     ? entry->family->name
                       : entry->kind == WEIR__PART_AUDIT ? "audit"
                                                         : "note";
    *part = (weir_snapshot_part){entry->name, kind, entry->bytes};
}

/* ---- one object alone: the part has the name of the family ---- */

static weir_status wrap_object(weir_snapshot **out, const weir__family *family, const void *object,
                               weir_error *err) {
    weir_status status = weir_snapshot_new(out, err);
    return status == WEIR_OK ? put_object(*out, family->name, family, object, err) : status;
}

static weir_status save_object(const weir__family *family, const void *object, const char *path,
                               weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = wrap_object(&snapshot, family, object, err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, path, err);
    weir_snapshot_free(snapshot);
    return status;
}

static weir_status save_object_to(const weir__family *family, const void *object,
                                  weir_write_fn *write, void *context, weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = wrap_object(&snapshot, family, object, err);
    if (status == WEIR_OK) status = weir_snapshot_write_to(snapshot, write, context, err);
    weir_snapshot_free(snapshot);
    return status;
}

/* The object of a snapshot that was read, or why it was not. */
static weir_status unwrap_object(weir_snapshot *snapshot, weir_status status,
                                 const weir__family *family, void **out, const char *name,
                                 weir_error *err) {
    *out = NULL;
    if (status != WEIR_OK) return status;
    *out = take_object(snapshot, family->name, family);
    weir_snapshot_free(snapshot);
    if (*out) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_MISMATCH, -1, "'%.200s' holds no %s named '%s'", name,
                      family->name, family->name);
}

static weir_status load_object(const weir__family *family, void **out, const char *path,
                               weir_error *err) {
    weir_snapshot *snapshot;
    weir_status status = weir_snapshot_read(&snapshot, path, err);
    return unwrap_object(snapshot, status, family, out, path, err);
}

/* ---- memory ---- */

typedef struct {
    uint8_t *at;
    size_t size, length;
} memory_sink;

static bool write_memory(void *context, const void *bytes, size_t length) {
    memory_sink *m = context;
    if (m->length + length <= m->size) memcpy(m->at + m->length, bytes, length);
    m->length += length;
    return true;
}

static weir_status save_object_bytes(const weir__family *family, const void *object, void *buffer,
                                     size_t size, size_t *length, weir_error *err) {
    memory_sink memory = {buffer, size, 0};
    weir_status status = save_object_to(family, object, write_memory, &memory, err);
    *length = memory.length;
    if (status != WEIR_OK || memory.length <= size) return status;
    return weir__fail(err, WEIR_ERR_RANGE, -1, "a snapshot of %zu bytes does not fit into %zu",
                      memory.length, size);
}

/* ---- a second object like the first ---- */

static weir_status clone_object(const weir__family *family, const void *object,
                                const weir_allocator *allocator, void **out, weir_error *err) {
    char spec[WEIR__SPEC_MAX];
    weir__image from, to;
    *out = NULL;
    size_t length = family->spec(object, spec, sizeof spec);
    assert(length < sizeof spec); /* weir__spec_fits() */
    (void)length;
    void *copy;
    weir_status status = family->make(&copy, spec, allocator, err);
    if (status != WEIR_OK) return status;
    family->image(object, &from);
    family->image(copy, &to);
    assert(from.word_count == to.word_count && from.cells_bytes == to.cells_bytes);
    for (size_t i = 0; i < 2; i++) *to.totals[i] = *from.totals[i];
    memcpy(to.words, from.words, from.word_count * sizeof *from.words);
    memcpy(to.cells, from.cells, from.cells_bytes);
    if (family->packs && family->packs(object)) family->pack(object, 0, to.cells, to.cells_bytes);
    status = family->check(copy, err);
    if (status == WEIR_OK) *out = copy;
    else family->free(copy);
    return status;
}

/* ---- the same for each family ---- */

#define WEIR__KEEP(thing)                                                                          \
    weir_status weir_##thing##_save(const weir_##thing *object, const char *path,                  \
                                    weir_error *err) {                                             \
        return save_object(&weir__##thing##_family, object, path, err);                            \
    }                                                                                              \
    weir_status weir_##thing##_save_to(const weir_##thing *object, weir_write_fn *write,           \
                                       void *context, weir_error *err) {                           \
        return save_object_to(&weir__##thing##_family, object, write, context, err);               \
    }                                                                                              \
    weir_status weir_##thing##_save_bytes(const weir_##thing *object, void *buffer, size_t size,   \
                                          size_t *length, weir_error *err) {                       \
        return save_object_bytes(&weir__##thing##_family, object, buffer, size, length, err);      \
    }                                                                                              \
    weir_status weir_##thing##_load(weir_##thing **out, const char *path, weir_error *err) {       \
        void *object;                                                                              \
        weir_status status = load_object(&weir__##thing##_family, &object, path, err);             \
        *out = object;                                                                             \
        return status;                                                                             \
    }                                                                                              \
    weir_status weir_##thing##_load_from(weir_##thing **out, weir_read_fn *read, void *context,    \
                                         const weir_allocator *allocator, weir_error *err) {       \
        weir_snapshot *snapshot;                                                                   \
        void *object;                                                                              \
        weir_status status = weir_snapshot_read_from(&snapshot, read, context, allocator, err);    \
        status =                                                                                   \
            unwrap_object(snapshot, status, &weir__##thing##_family, &object, "snapshot", err);    \
        *out = object;                                                                             \
        return status;                                                                             \
    }                                                                                              \
    weir_status weir_##thing##_load_bytes(weir_##thing **out, const void *bytes, size_t length,    \
                                          const weir_allocator *allocator, weir_error *err) {      \
        weir_snapshot *snapshot;                                                                   \
        void *object;                                                                              \
        weir_status status = weir_snapshot_read_bytes(&snapshot, bytes, length, allocator, err);   \
        status =                                                                                   \
            unwrap_object(snapshot, status, &weir__##thing##_family, &object, "snapshot", err);    \
        *out = object;                                                                             \
        return status;                                                                             \
    }                                                                                              \
    weir_status weir_##thing##_clone(weir_##thing **out, const weir_##thing *object,               \
                                     const weir_allocator *allocator, weir_error *err) {           \
        void *copy;                                                                                \
        weir_status status =                                                                       \
            clone_object(&weir__##thing##_family, object,                                          \
                         allocator ? allocator : &(weir_allocator){0}, &copy, err);                \
        *out = copy;                                                                               \
        return status;                                                                             \
    }

WEIR__KEEP(filter)
WEIR__KEEP(sketch)

weir_status weir_snapshot_put_pairs(weir_snapshot *snapshot, const char *name, weir_pairs *pairs,
                                    weir_error *err) {
    weir_status status = weir__pairs_settle(pairs, err);
    return status == WEIR_OK ? put_object(snapshot, name, &weir__pairs_family, pairs, err) : status;
}

weir_pairs *weir_snapshot_take_pairs(weir_snapshot *snapshot, const char *name) {
    return take_object(snapshot, name, &weir__pairs_family);
}

weir_status weir_pairs_save(weir_pairs *pairs, const char *path, weir_error *err) {
    weir_status status = weir__pairs_settle(pairs, err);
    return status == WEIR_OK ? save_object(&weir__pairs_family, pairs, path, err) : status;
}

weir_status weir_pairs_load(weir_pairs **out, const char *path, weir_error *err) {
    void *object;
    weir_status status = load_object(&weir__pairs_family, &object, path, err);
    *out = object;
    return status;
}
