/* fuzz_snapshot.c - any bytes as a snapshot.
 *
 * A checksum would stop nearly every input at the door, so the bytes are taken
 * as the contents of blocks and given right checksums: what lies behind them is
 * what is tested. What loads must be usable.
 *
 *     input: repeated  u8 kind, u16 length, `length` bytes
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "core/rng.h"
#include "snapshot/snapshot.h"
#include "weir_pairs.h"
#include "weir_sketch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void put(int fd, const void *bytes, size_t length) {
    if (write(fd, bytes, length) != (ssize_t)length) abort();
}

static void write_blocks(int fd, const uint8_t *bytes, size_t length) {
    uint8_t head[WEIR__SNAPSHOT_HEAD] = {0}, block[WEIR__BLOCK_HEAD];
    memcpy(head, WEIR__SNAPSHOT_MARK, 8);
    weir__put32(head + 8, WEIR__SNAPSHOT_VERSION);
    put(fd, head, sizeof head);
    uint64_t chain = 0;
    while (length >= 3) {
        uint32_t kind = bytes[0], size = (uint32_t)bytes[1] << 8 | bytes[2];
        bytes += 3;
        length -= 3;
        if (size > length) size = (uint32_t)length;
        chain = weir__checksum(bytes, size, weir__block_seed(chain, kind, size));
        weir__put64(weir__put32(weir__put32(block, kind), size), chain);
        put(fd, block, sizeof block);
        put(fd, bytes, size);
        bytes += size;
        length -= size;
    }
}

static void use(weir_filter *filter) {
    uint64_t hashes[256], verdicts[4];
    weir_filter_info info;
    for (uint64_t i = 0; i < 256; i++) hashes[i] = weir__mix64(i % 200 + 1);
    for (int round = 0; round < 8; round++) {
        weir_filter_offer_batch(filter, &(weir_batch){.count = 256, .hashes = hashes}, verdicts);
        for (int i = 0; i < 256; i++) hashes[i] = weir__mix64(hashes[i]);
    }
    weir_filter_get_info(filter, &info);
}

static const void *key_bytes(void *context, size_t i, size_t *length) {
    *length = i % 9;
    return context;
}

static void use_sketch(weir_sketch *sketch) {
    uint64_t hashes[256];
    int64_t values[256];
    weir_estimate e;
    weir_quantile q;
    weir_item items[8];
    weir_items list = {.items = items, .room = 8};
    for (uint64_t i = 0; i < 256; i++) hashes[i] = weir__mix64(i % 200 + 1), values[i] = (int64_t)i;
    weir_updates u = {
        .count = 256, .hashes = hashes, .values = values, .key = key_bytes, .context = hashes};
    for (int round = 0; round < 3; round++) {
        weir_sketch_add_batch(sketch, &u, NULL);
        weir_sketch_estimate_hash(sketch, hashes[0], WEIR_BY_AUTO, &e, NULL);
        weir_sketch_self_join(sketch, WEIR_BY_AUTO, &e, NULL);
        weir_sketch_top(sketch, WEIR_BY_CM, &list, NULL);
        weir_sketch_quantile(sketch, 0.5, &q, NULL);
        weir_sketch_distinct(sketch, &e, NULL);
        weir_sketch_sample(sketch, &list, NULL);
    }
}

static void use_pairs(weir_pairs *pairs) {
    uint64_t rows[64 * 64], values[16];
    size_t count;
    weir_pairs_answer answer;
    weir_pairs_info info;
    weir_pairs_get_info(pairs, &info);
    for (uint64_t i = 0; i < 64 * 64; i++) rows[i] = weir__mix64(i % 90 + 1);
    weir_pairs_self(pairs, &answer, NULL);
    weir_pairs_search(pairs, rows, &answer, NULL);
    weir_pairs_sampled(pairs, NULL, &answer, NULL);
    weir_pairs_collisions(pairs, NULL, values, 16, &count, NULL);
    weir_pairs_add(pairs, info.records, rows, 64, NULL);
    weir_pairs_self(pairs, &answer, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char path[64];
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    if (fd < 0) abort();
    write_blocks(fd, bytes, length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    weir_snapshot *snapshot;
    weir_error err = {0};
    if (weir_snapshot_read(&snapshot, path, &err) == WEIR_OK) {
        for (size_t i = 0; i < snapshot->count; i++) {
            weir_filter *filter = weir_snapshot_take_filter(snapshot, snapshot->parts[i].name);
            weir_audit *audit = weir_snapshot_take_audit(snapshot, snapshot->parts[i].name);
            weir_sketch *sketch = weir_snapshot_take_sketch(snapshot, snapshot->parts[i].name);
            weir_pairs *pairs = weir_snapshot_take_pairs(snapshot, snapshot->parts[i].name);
            weir_audit_report report;
            if (pairs) use_pairs(pairs);
            weir_pairs_free(pairs);
            if (sketch) use_sketch(sketch);
            weir_sketch_free(sketch);
            if (filter) use(filter);
            if (audit) weir_audit_get_report(audit, &report);
            weir_filter_free(filter);
            weir_audit_free(audit);
        }
        weir_snapshot_free(snapshot);
    } else if (!err.message[0]) {
        abort();
    }
    close(fd);
    return 0;
}
