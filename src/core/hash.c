/* hash.c - XXH3 and SipHash behind one call.
 *
 * XXH3 with a seed derives a secret from it for keys over 240 bytes; that is
 * done once here, and XXH3_64bits_withSecretandSeed then gives the very values
 * of XXH3_64bits_withSeed. Keys of 33 to 96 bytes, as most lines and URLs are, have
 * a way of their own that gives the same values. The 16-byte SipHash key is two mixed words of the
 * seed: 2^64 keys, none of which an outsider can tell from the verdicts.
 */
#include "core/hash.h"

#define XXH_INLINE_ALL
#define XXH_STATIC_LINKING_ONLY
#include <sodium.h>
#include <stdbool.h>
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

enum { MIDDLING_LEAST = 33, MIDDLING_MOST = 96 };

/* 16 bytes of a key, with 16 of the secret that has the seed in it already. */
static inline uint64_t mix(const uint8_t *in, const uint8_t *secret) {
    return XXH3_mul128_fold64(XXH_readLE64(in) ^ XXH_readLE64(secret),
                              XXH_readLE64(in + 8) ^ XXH_readLE64(secret + 8));
}

/* XXH3 of a middling key. From 65 bytes on two more mixes count; they are made in any case, and
 * masked, since lengths on either side of 64 follow each other in no order that a branch could
 * learn. */
static inline uint64_t hash_middling(const weir__hasher *hasher, const uint8_t *key,
                                     size_t length) {
    const uint8_t *end = key + length, *secret = hasher->secret;
    uint64_t more = -(uint64_t)(length > 64);
    uint64_t inner =
        mix(key + (32 & more), secret + 64) + mix(key + ((length - 48) & more), secret + 80);
    uint64_t outer = mix(key, secret) + mix(end - 16, secret + 16) + mix(key + 16, secret + 32) +
                     mix(end - 32, secret + 48);
    return XXH3_avalanche(length * XXH_PRIME64_1 + outer + (inner & more));
}

/* Not inlined, for it would make weir__hash() save registers for keys that do not need them. */
__attribute__((noinline)) static uint64_t hash_any(const weir__hasher *hasher, const void *key,
                                                   size_t length) {
    if (hasher->kind == WEIR__HASH_SIPHASH) {
        uint64_t hash;
        crypto_shorthash((unsigned char *)&hash, key, length, hasher->key);
        return hash;
    }
    return XXH3_64bits_withSecretandSeed(key, length, hasher->secret, sizeof hasher->secret,
                                         hasher->seed);
}

uint64_t weir__hash(const weir__hasher *hasher, const void *key, size_t length) {
    bool middling = length - MIDDLING_LEAST <= MIDDLING_MOST - MIDDLING_LEAST;
    return middling && hasher->kind == WEIR__HASH_XXH3 ? hash_middling(hasher, key, length)
                                                       : hash_any(hasher, key, length);
}

uint64_t weir__checksum(const void *bytes, size_t length, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, length, seed);
}

int weir__random_seed(uint64_t *seed) {
    return getrandom(seed, sizeof *seed, 0) == (ssize_t)sizeof *seed;
}
