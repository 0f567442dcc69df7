/* lab_keys.c - the keys of a file's records as ids, by the reader that dedup uses.
 *
 * The id of a record is XXH3 of its key, so that whole lines have the ids that
 * lab_file.c gives them.
 */
#include "lab_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct lab_keys {
    const lab_reading *reading;
    stream_reader *reader;
    const stream_batch *batch; /* NULL: none in hand */
    size_t at;                 /* the next record of it */
    weir_error trouble;        /* code WEIR_OK while there is none */
    char path[512];
    const char *files[1];
};

static uint64_t hash_key(const void *context, const void *key, size_t length) {
    (void)context;
    return XXH3_64bits(key, length);
}

weir_status lab_keys_new(lab_keys **out, const char *path, const lab_reading *reading,
                         weir_error *err) {
    stream_error trouble;
    stream_options in = reading->in;
    lab_keys *keys = calloc(1, sizeof *keys);
    *out = NULL;
    if (!keys) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    snprintf(keys->path, sizeof keys->path, "%s%s", strcmp(path, "-") ? "" : "./", path);
    keys->files[0] = keys->path;
    keys->reading = reading;
    in.hash = hash_key;
    if (stream_open(&keys->reader, &in, keys->files, 1, &trouble)) {
        free(keys);
        return lab_error(err, WEIR_ERR_IO, -1, "%.380s", trouble.message);
    }
    *out = keys;
    return WEIR_OK;
}

void lab_keys_free(lab_keys *keys) {
    if (!keys) return;
    stream_close(keys->reader);
    free(keys);
}

static void fail(lab_keys *keys, const stream_error *trouble) {
    lab_error(&keys->trouble, WEIR_ERR_IO, -1, "%.380s", trouble->message);
    keys->batch = NULL;
}

static bool next_batch(lab_keys *keys) {
    stream_error trouble;
    stream_status status = stream_next(keys->reader, -1, &keys->batch, &trouble);
    keys->at = 0;
    if (status == STREAM_BATCH) return true;
    keys->batch = NULL;
    if (status == STREAM_FAILED) fail(keys, &trouble);
    return false;
}

/* Has record i of the batch a key? One that may not be without it ends the stream. */
static bool has_key(lab_keys *keys, size_t i) {
    uint8_t status = keys->batch->status ? keys->batch->status[i] : STREAM_RECORD_OK;
    if (status == STREAM_RECORD_OK) return true;
    if ((status == STREAM_MISSING && keys->reading->missing_fails) ||
        (status == STREAM_BAD && keys->reading->bad_fails)) {
        stream_error trouble;
        stream_record_error(keys->reader, keys->batch, i, &trouble);
        fail(keys, &trouble);
    }
    return false;
}

size_t lab_keys_next(lab_keys *keys, uint64_t *ids, size_t n) {
    size_t done = 0;
    while (done < n && !keys->trouble.code) {
        if (!keys->batch && !next_batch(keys)) break;
        size_t i = keys->at++;
        if (i == keys->batch->count) keys->batch = NULL;
        else if (has_key(keys, i)) ids[done++] = keys->batch->hashes[i];
    }
    return done;
}

weir_status lab_keys_check(const lab_keys *keys, weir_error *err) {
    if (keys->trouble.code && err) *err = keys->trouble;
    return keys->trouble.code;
}
