/* pcsa.c - probabilistic counting with stochastic averaging (FM sketches).
 *
 * Question   how many different keys came by?
 * Idea       m bitmaps of 64 bits. A key chooses a bitmap and sets in it bit r with
 *            chance 2^-(r+1). The lowest bit that is still zero stands, on
 *            average over bitmaps, at log2(0.77351 n/m).
 * Parameters m bitmaps from memory= or error
 * Error      both ways, 0.78/sqrt(m) relative (standard deviation)
 * Cost       one bit per key
 * Layout     m 64-bit words
 * Source     Flajolet, Martin 1985; thesis 2.1.2. For fewer than 20 keys a bitmap
 *            the average is biased; there the term 2^(-1.75 A) is subtracted
 *            (Scheuermann, Mauve 2007).
 */
#include "filter/filter.h"

#include "sketch/presence.h"
#include <assert.h>

#define PHI 0.77351 /* of Flajolet and Martin 1985: keys of a map are 2^mean / PHI */
#define KAPPA 1.75  /* of the correction for few keys (Scheuermann, Mauve) */
#define STANDARD_MEMORY ((uint64_t)32 << 10) /* bytes, if memory= is not given */

typedef struct {
    weir_sketch base;
    uint64_t maps;
} pcsa_sketch;

static weir_status create(weir_sketch *s, weir_error *err) {
    pcsa_sketch *p = (pcsa_sketch *)s;
    p->maps = (uint64_t)fmax(1, weir__presence_plan(s, 0.78, 64, STANDARD_MEMORY));
    return weir__sketch_claim(s, 8 * p->maps, err);
}

static void put(weir_sketch *s, uint64_t hash) {
    uint64_t *maps = (void *)s->cells, spread = weir__mix64(hash);
    unsigned run = hash ? (unsigned)__builtin_ctzll(hash) : 63;
    assert(((const pcsa_sketch *)s)->maps > 0);
    maps[weir__scale(spread, ((const pcsa_sketch *)s)->maps)] |= UINT64_C(1) << run;
}

WEIR__PRESENCE_ADD(put)

static weir_status distinct(weir_sketch *s, weir_estimate *out, weir_error *err) {
    const uint64_t *maps = (const void *)s->cells;
    uint64_t count = ((const pcsa_sketch *)s)->maps, runs = 0;
    (void)err;
    for (uint64_t i = 0; i < count; i++)
        runs += ~maps[i] ? (unsigned)__builtin_ctzll(~maps[i]) : 64;
    double m = (double)count, mean = (double)runs / m;
    *out = weir__relative(m / PHI * (exp2(mean) - exp2(-KAPPA * mean)), 0.78 / sqrt(m), 0);
    return WEIR_OK;
}

static void info(const weir_sketch *s, weir_sketch_info *out) {
    out->error = WEIR__Z99 * 0.78 / sqrt((double)((const pcsa_sketch *)s)->maps);
    out->confidence = 0.99;
}

static const weir_option options[] = {WEIR__PRESENCE_OPTIONS, {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__pcsa_sketch = {
    .kind = {.name = "pcsa",
             .summary = "Flajolet-Martin bitmaps: number of different keys",
             .advice = "The ancestor of hll, here for comparison; a bitmap is more exact than a "
                       "register but takes ten times the memory.",
             .mergeable = true,
             .options = options},
    WEIR__BITMAP_FUNCTIONS(pcsa_sketch),
};
