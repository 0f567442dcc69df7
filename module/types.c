/* types.c - the types that the server stores, copies and frees for us.
 *
 * A value goes into a file as one snapshot (value.h), cut into strings of at most CHUNK bytes and
 * ended by an empty one. A rewritten append-only file gets the same bytes as WEIR.IMPORT commands.
 */
#include <string.h>
#include <unistd.h>

#include "module.h"

enum { ENCODING = 1, CHUNK = 1 << 20, EFFORT_BYTES = 4096 };

module_state module;

RedisModuleType *type_of(const weir_value *value) {
    return value->kind == VALUE_FILTER   ? module.filter
           : value->kind == VALUE_SKETCH ? module.sketch
                                         : module.import;
}

/* A value is not saved, for which there can be no reason but memory. The server cannot be told: but
 * if this is the child of it that writes a file, the child ends, and the file of before stays. */
static void cannot_save(RedisModuleIO *io, const weir_error *err) {
    RedisModuleCtx *ctx = RedisModule_GetContextFromIO(io);
    RedisModule_LogIOError(io, "warning", "weir: a value cannot be saved: %s", err->message);
    if (RedisModule_GetContextFlags(ctx) & REDISMODULE_CTX_FLAGS_IS_CHILD) _exit(1);
}

/* --- the server's database file --------------------------------------------------------------- */

/* Blocks of a snapshot have small heads: they are put together before they are written, as long as
 * there is memory for that. */
typedef struct {
    RedisModuleIO *io;
    size_t length;
    char *bytes; /* CHUNK, or NULL */
} chunk_writer;

static void flush_chunk(chunk_writer *w) {
    if (w->length) RedisModule_SaveStringBuffer(w->io, w->bytes, w->length);
    w->length = 0;
}

static bool write_chunk(void *context, const void *bytes, size_t length) {
    chunk_writer *w = context;
    const char *from = bytes;
    if (!w->bytes && length) RedisModule_SaveStringBuffer(w->io, bytes, length);
    while (w->bytes && length) {
        size_t n = length < CHUNK - w->length ? length : CHUNK - w->length;
        memcpy(w->bytes + w->length, from, n);
        w->length += n;
        from += n;
        length -= n;
        if (w->length == CHUNK) flush_chunk(w);
    }
    return true;
}

static void rdb_save(RedisModuleIO *io, void *object) {
    const weir_value *value = object;
    weir_error err = {0};
    chunk_writer w = {.io = io, .bytes = RedisModule_TryAlloc(CHUNK)};
    if (value->kind == VALUE_IMPORT) {
        write_chunk(&w, value->import.bytes, value->import.length);
    } else if (value_save(value, true, write_chunk, &w, &err) != WEIR_OK) {
        cannot_save(io, &err);
        w.length = 0; /* so what is written is refused when it is read */
    }
    flush_chunk(&w);
    RedisModule_Free(w.bytes);
    RedisModule_SaveStringBuffer(io, "", 0);
}

typedef struct {
    RedisModuleIO *io;
    char *bytes;
    size_t at, length;
    bool ended, failed;
} chunk_reader;

/* The next string, if the one in hand is used up. */
static bool fetch(chunk_reader *r) {
    while (!r->ended && r->at == r->length) {
        RedisModule_Free(r->bytes);
        r->at = r->length = 0;
        r->bytes = RedisModule_LoadStringBuffer(r->io, &r->length);
        r->failed = !r->bytes || RedisModule_IsIOError(r->io);
        r->ended = r->failed || r->length == 0;
    }
    return !r->ended;
}

static int64_t read_chunk(void *context, void *bytes, size_t length) {
    chunk_reader *r = context;
    if (!fetch(r)) return r->failed ? -1 : 0;
    size_t n = r->length - r->at < length ? r->length - r->at : length;
    memcpy(bytes, r->bytes + r->at, n);
    r->at += n;
    return (int64_t)n;
}

static weir_value *load_import(chunk_reader *r) {
    weir_value *value = value_new_import();
    bool good = value != NULL;
    while (good && fetch(r)) {
        good = buffer_append(&value->import, r->bytes, r->length);
        r->at = r->length;
    }
    if (good && !r->failed) return value;
    value_free(value);
    return NULL;
}

static void *load(RedisModuleIO *io, int encoding, unsigned kind) {
    weir_error err = {0};
    weir_value *value = NULL;
    if (encoding != ENCODING) {
        RedisModule_LogIOError(io, "warning",
                               "weir: values of encoding %d are not understood; "
                               "load a newer weir.so",
                               encoding);
        return NULL;
    }
    chunk_reader r = {.io = io};
    if (kind == VALUE_IMPORT) value = load_import(&r);
    else value_load(&value, read_chunk, &r, kind, SIZE_MAX, &err);
    if (!value)
        RedisModule_LogIOError(io, "warning", "weir: a value cannot be loaded: %s", err.message);
    RedisModule_Free(r.bytes);
    return value;
}

static void *load_filter(RedisModuleIO *io, int encoding) {
    return load(io, encoding, VALUE_FILTER);
}
static void *load_sketch(RedisModuleIO *io, int encoding) {
    return load(io, encoding, VALUE_SKETCH);
}
static void *load_unfinished(RedisModuleIO *io, int encoding) {
    return load(io, encoding, VALUE_IMPORT);
}

/* --- the append-only file --------------------------------------------------------------------- */

typedef struct {
    RedisModuleIO *io;
    RedisModuleString *key;
    uint64_t cursor;
    size_t length;
    char *bytes;
} command_writer;

static void emit(command_writer *w, bool last) {
    if (last)
        RedisModule_EmitAOF(w->io, "WEIR.IMPORT", "slbc", w->key, (long long)w->cursor, w->bytes,
                            w->length, "LAST");
    else
        RedisModule_EmitAOF(w->io, "WEIR.IMPORT", "slb", w->key, (long long)w->cursor, w->bytes,
                            w->length);
    w->cursor += w->length;
    w->length = 0;
}

static bool write_command(void *context, const void *bytes, size_t length) {
    command_writer *w = context;
    const char *from = bytes;
    while (length) {
        if (w->length == CHUNK) emit(w, false);
        size_t n = length < CHUNK - w->length ? length : CHUNK - w->length;
        memcpy(w->bytes + w->length, from, n);
        w->length += n;
        from += n;
        length -= n;
    }
    return true;
}

static void aof_rewrite(RedisModuleIO *io, RedisModuleString *key, void *object) {
    const weir_value *value = object;
    weir_error err = {0};
    command_writer w = {.io = io, .key = key, .bytes = RedisModule_TryAlloc(CHUNK)};
    if (!w.bytes) {
        cannot_save(io, &(weir_error){.message = "out of memory"});
    } else if (value->kind == VALUE_IMPORT) {
        write_command(&w, value->import.bytes, value->import.length);
        emit(&w, false);
    } else if (value_save(value, true, write_command, &w, &err) == WEIR_OK) {
        emit(&w, true);
    } else {
        cannot_save(io, &err);
    }
    RedisModule_Free(w.bytes);
}

/* --- the rest --------------------------------------------------------------------------------- */

static size_t mem_usage(const void *value) { return value_memory(value); }

/* Beyond 64 a thread of the server frees it. */
static size_t free_effort(RedisModuleString *key, const void *value) {
    (void)key;
    return 1 + value_memory(value) / EFFORT_BYTES;
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *value) {
    (void)from;
    (void)to;
    return value_clone(value);
}

static bool write_digest(void *context, const void *bytes, size_t length) {
    RedisModule_DigestAddStringBuffer(context, bytes, length);
    return true;
}

static void digest(RedisModuleDigest *md, void *object) {
    const weir_value *value = object;
    if (value->kind == VALUE_IMPORT) write_digest(md, value->import.bytes, value->import.length);
    else value_save(value, true, write_digest, md, NULL);
    RedisModule_DigestEndSequence(md);
}

static void free_value(void *value) { value_free(value); }

/* The struct of a value and its batches move. Cells stay where they are: the server's allocator
 * moves only what lies in slabs with others, at most 14 KiB; larger memory has pages of its own,
 * which are given back whole. An object of the library cannot move, so small cells stay, too. */
static int defrag(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **object) {
    (void)key;
    weir_value *value = RedisModule_DefragAlloc(ctx, *object);
    if (value) *object = value;
    value = *object;
    if (value->last) {
        producers *last = RedisModule_DefragAlloc(ctx, value->last);
        if (last) value->last = last;
        producers_defrag(value->last, ctx);
    }
    return 0;
}

int types_register(RedisModuleCtx *ctx) {
    static RedisModuleTypeMethods methods = {
        .version = REDISMODULE_TYPE_METHOD_VERSION,
        .rdb_save = rdb_save,
        .aof_rewrite = aof_rewrite,
        .mem_usage = mem_usage,
        .digest = digest,
        .free = free_value,
        .free_effort = free_effort,
        .copy = copy,
        .defrag = defrag,
    };
    methods.rdb_load = load_filter;
    module.filter = RedisModule_CreateDataType(ctx, "weir-filt", ENCODING, &methods);
    methods.rdb_load = load_sketch;
    module.sketch = RedisModule_CreateDataType(ctx, "weir-sket", ENCODING, &methods);
    methods.rdb_load = load_unfinished;
    module.import = RedisModule_CreateDataType(ctx, "weir-part", ENCODING, &methods);
    return module.filter && module.sketch && module.import ? REDISMODULE_OK : REDISMODULE_ERR;
}
