/* bytes.h - little-endian numbers in byte strings, and a reader that cannot
 * run past the end. */
#ifndef WEIR_CORE_BYTES_H
#define WEIR_CORE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weir stores its words as they stand in memory and needs a little-endian machine"
#endif

static inline uint8_t *weir__put32(uint8_t *at, uint32_t value) {
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}
static inline uint8_t *weir__put64(uint8_t *at, uint64_t value) {
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

/* The bytes left to read. A read past the end gives zero and sets `failed`, so a
 * parser reads everything first and asks once. */
typedef struct {
    const uint8_t *at, *end;
    bool failed;
} weir__reader;

static inline const uint8_t *weir__take(weir__reader *r, size_t length) {
    if (r->failed || (size_t)(r->end - r->at) < length) {
        r->failed = true;
        return NULL;
    }
    r->at += length;
    return r->at - length;
}
static inline uint32_t weir__take32(weir__reader *r) {
    uint32_t value = 0;
    const uint8_t *bytes = weir__take(r, sizeof value);
    if (bytes) memcpy(&value, bytes, sizeof value);
    return value;
}
static inline uint64_t weir__take64(weir__reader *r) {
    uint64_t value = 0;
    const uint8_t *bytes = weir__take(r, sizeof value);
    if (bytes) memcpy(&value, bytes, sizeof value);
    return value;
}

#endif
