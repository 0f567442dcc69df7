/* fuzz_stream.c - any bytes as input: whatever the format, the records that come
 * out lie one after the other, cover the input from its beginning, and are the
 * same whether blocks are tiny or large.
 *
 *     input: u8 choice of format and options, then the content of the file
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

typedef struct {
    uint64_t digest, records, covered;
    stream_status end;
} outcome;

static uint64_t hash_bytes(const void *context, const void *key, size_t length) {
    const uint8_t *at = key;
    uint64_t hash = (uint64_t)(uintptr_t)context + length;
    for (size_t i = 0; i < length; i++) hash = (hash ^ at[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

static void choose(stream_options *o, uint8_t choice) {
    static const char *const keys[] = {NULL, "1", "2,1", "2-,-2"};
    static const char *const logs[] = {NULL, "host", "url,status", "agent"};
    static const char *const paths[] = {NULL, ".a", ".a.b,.c[-1]", ".\"odd name\",.a[]"};
    *o = stream_options_defaults();
    o->format = (stream_format)(choice % 7);
    o->record_size = 5;
    o->trim = choice & 0x40;
    o->ignore_case = choice & 0x80;
    o->max_record = 1 << 16;
    if (choice & 0x80) o->normalize = STREAM_NFKC;
    if (o->format == STREAM_JSON) o->key = paths[choice / 7 % 4];
    else if (o->format == STREAM_CLF) o->key = logs[choice / 7 % 4];
    else if (o->format < STREAM_CLF) o->key = keys[choice / 7 % 4];
    o->hash = hash_bytes;
}

static outcome run(const char *path, const stream_options *o) {
    outcome out = {.digest = 1};
    stream_reader *reader;
    stream_error err;
    const stream_batch *batch;
    if (stream_open(&reader, o, &path, 1, &err) != STREAM_OK)
        return (outcome){.end = STREAM_FAILED};
    while ((out.end = stream_next(reader, -1, &batch, &err)) == STREAM_BATCH)
        for (size_t i = 0; i < batch->count; i++) {
            uint8_t status = batch->status ? batch->status[i] : 0;
            out.digest = (out.digest ^ batch->hashes[i] ^ status) * UINT64_C(0xd1342543de82ef95);
            out.covered += batch->offsets[i + 1] - batch->offsets[i];
            out.records++;
            if (status == STREAM_BAD) stream_record_error(reader, batch, i, &err);
        }
    stream_close(reader);
    return out;
}

static void check_blocks(const char *path, stream_options options) {
    outcome large = run(path, &options);
    options.block_size = 17;
    outcome tiny = run(path, &options);
    /* how much comes out before the damage in compressed data depends on the room for it */
    if (large.end == STREAM_FAILED && tiny.end == STREAM_FAILED) return;
    if (large.end != tiny.end || large.digest != tiny.digest || large.records != tiny.records ||
        large.covered != tiny.covered)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[64];
    stream_options options;
    if (length < 1) return 0;
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes + 1, length - 1) != (ssize_t)(length - 1)) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    choose(&options, bytes[0]);
    check_blocks(path, options);
    options.json_values = STREAM_AS_TEXT;
    check_blocks(path, options);
    options.json_values = STREAM_AS_ITEMS;
    check_blocks(path, options);
    options.block_size = 17;
    options.plain = true;
    outcome plain = run(path, &options);
    /* a byte order mark and the brackets of an array are no part of a record */
    bool all = options.format == STREAM_LINES || options.format > STREAM_CLF;
    if (plain.end == STREAM_END && (all ? plain.covered != length - 1 : plain.covered > length))
        abort();
    close(fd);
    return 0;
}
