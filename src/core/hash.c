/* hash.c - XXH3 and SipHash behind one call.
 *
 * XXH3 with a seed derives a secret from it for keys over 240 bytes; that is
 * done once here, and XXH3_64bits_withSecretandSeed then gives the very values
 * of XXH3_64bits_withSeed. The 16-byte SipHash key is two mixed words of the
 * seed: 2^64 keys, none of which an outsider can tell from the verdicts.
 */
#include "core/hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <sodium.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "core/rng.h"

_Static_assert(sizeof(((weir__hasher *)0)->secret) == XXH3_SECRET_DEFAULT_SIZE,
               "XXH3 derives a secret of its own size");
_Static_assert(crypto_shorthash_KEYBYTES == 16, "SipHash takes a 16-byte key");
_Static_assert(crypto_shorthash_BYTES == 8, "SipHash gives a 64-bit word");

void weir__hasher_init(weir__hasher *hasher, weir__hash_kind kind, uint64_t seed) {
    memset(hasher, 0, sizeof *hasher);
    hasher->kind = kind;
    hasher->seed = seed;
    XXH3_generateSecret_fromSeed(hasher->secret, seed);
    uint64_t state = seed;
    uint64_t words[2] = {weir__rng_next(&state), weir__rng_next(&state)};
    memcpy(hasher->key, words, sizeof hasher->key);
}

uint64_t weir__hash(const weir__hasher *hasher, const void *key, size_t length) {
    if (hasher->kind == WEIR__HASH_SIPHASH) {
        uint64_t hash;
        crypto_shorthash((unsigned char *)&hash, key, length, hasher->key);
        return hash;
    }
    return XXH3_64bits_withSecretandSeed(key, length, hasher->secret, sizeof hasher->secret,
                                         hasher->seed);
}

uint64_t weir__checksum(const void *bytes, size_t length, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, length, seed);
}

int weir__random_seed(uint64_t *seed) {
    return getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed;
}
