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
            weir_audit_report report;
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
