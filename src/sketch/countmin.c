/* countmin.c - Count-min sketch: how often did a key come by?
 *
 * Question   multiplicity of a key; self-join size; join size of two streams
 * Idea       d rows of w counters; a key adds its weight to one counter of each
 *            row, chosen by a hash function of that row. Whatever else falls on
 *            the same counter is noise, and never negative.
 * Parameters w, d; or error and confidence: w = e/error, d = ln(1/(1-confidence));
 *            or memory (d = 4).
 * Error      CM reads the minimum: at most error x total too high with the
 *            confidence asked for, never too low. CMM takes the noise off as the
 *            other counters show it: unbiased by row. estimate.c has all of
 *            them, over the very same counters; likely.c has `auto`, which is
 *            as good as the better one.
 *            update=conservative is the minimal increase of spectral Bloom
 *            filters on the same matrix: read by CM only, no deletions.
 * Cost       d counters per key, in d cache lines or (layout=block) one
 * Layout     matrix.c
 * Source     Cormode, Muthukrishnan 2005; thesis 2.1.1 and chapter 4
 */
#include "sketch/matrix_sketch.h"

enum { OPT_UPDATE = WEIR__CO_OWN, OPT_LAYOUT };
enum { UPDATE_PLAIN, UPDATE_CONSERVATIVE };
enum { LAYOUT_ROWS, LAYOUT_BLOCK };
#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */

static weir_status create(weir_sketch *s, weir_error *err) {
    weir__matrix *m = &((weir__counting *)s)->matrix;
    m->conservative = weir__sk_whole(s, OPT_UPDATE) == UPDATE_CONSERVATIVE;
    m->block = weir__sk_whole(s, OPT_LAYOUT) == LAYOUT_BLOCK;
    weir_status status = weir__counting_plan(s, weir__sketch_budget(s, STANDARD_MEMORY), err);
    return status == WEIR_OK ? weir__sketch_claim(s, weir__matrix_bytes(m), err) : status;
}

static const weir_option options[] = {
    WEIR__COUNTING_OPTIONS("the total"),
    {"update", WEIR_OPT_CHOICE, 0, 0, "plain|conservative", "plain",
     "conservative raises only the least counters: better for frequent keys, no deletions"},
    {"layout", WEIR_OPT_CHOICE, 0, 0, "rows|block", "rows",
     "block keeps a key's counters in one cache line: faster beyond the cache, less precise"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__countmin_sketch = {
    .kind = {.name = "countmin",
             .summary = "Count-min: counts of keys that are never too low, or unbiased",
             .advice =
                 "The sketch to begin with: counts of any key, self-join and join sizes, with "
                 "deletions, and exact merging. Read it with auto unless a one-sided answer "
                 "is needed (cm). Use top to learn which keys are frequent, agms where many "
                 "keys of low skew are to be joined, dyadic for ranges.",
             .mergeable = true,
             .options = options},
    WEIR__COUNTING_ONLY,
    .create = create,
};
