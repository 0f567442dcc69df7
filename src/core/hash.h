/* hash.h - from a key's bytes to its 64-bit hash.
 *
 * XXH3 with a 64-bit seed by default: fast, and nobody outside knows the seed.
 * For hostile streams `siphash` (libsodium's short-hash) is a keyed function
 * made for that. Everything a filter needs of a key comes from this one word.
 */
#ifndef WEIR_CORE_HASH_H
#define WEIR_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef enum { WEIR__HASH_XXH3 = 0, WEIR__HASH_SIPHASH = 1 } weir__hash_kind;

/* The names, in the order of the enum, as an option's choices. */
#define WEIR__HASH_CHOICES "xxh3|siphash"

typedef struct {
    weir__hash_kind kind;
    uint64_t seed;
    uint8_t secret[192]; /* xxh3: derived from the seed, for keys over 240 bytes */
    uint8_t key[16];     /* siphash: derived from the seed */
} weir__hasher;

void weir__hasher_init(weir__hasher *hasher, weir__hash_kind kind, uint64_t seed);

uint64_t weir__hash(const weir__hasher *hasher, const void *key, size_t length);

/* Of records that lie one after another, each without its last `tail` bytes: record i is
 * base[offsets[i]] up to base[offsets[i + 1]]. */
void weir__hash_records(const weir__hasher *hasher, const void *base, const uint32_t *offsets,
                        size_t count, size_t tail, uint64_t *hashes);

/* XXH3 for the checksums of snapshots; the seed chains one to the next. */
uint64_t weir__checksum(const void *bytes, size_t length, uint64_t seed);

/* A seed from the system; false where it gives none. */
int weir__random_seed(uint64_t *seed);

#endif
