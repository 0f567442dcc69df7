/* agms.c - Fast-AGMS, also called Count-sketch: counts whose errors cancel.
 *
 * Question   multiplicity of a key; self-join size; join size of two streams
 * Idea       a count-min sketch whose rows give each key a sign as well: the key
 *            adds its weight or takes it off. What else falls on its counter
 *            cancels out on average, so a row is unbiased as it stands.
 * Parameters w, d; or error and confidence, error in units of the root of the
 *            self-join size; or memory (d = 4)
 * Error      both ways. A row has variance (F2 - f^2)/w (lemma 3), its self-join
 *            2 (F2^2 - F4)/w, its join (F2 G2 + J^2 - 2 sum f^2 g^2)/w, given
 *            places and signs that are 4-wise independent, which they are
 *            (rowhash.h). The median of the rows is read, and is not clipped.
 * Cost       d counters per key, in d cache lines
 * Layout     matrix.c
 * Source     Charikar, Chen, Farach-Colton 2002; Cormode, Garofalakis 2005; thesis
 *            2.1.3 and lemmas 3 and 5
 */
#include "sketch/matrix_sketch.h"

#define STANDARD_MEMORY ((uint64_t)1 << 20) /* bytes, if memory= is not given */

static weir_status create(weir_sketch *s, weir_error *err) {
    weir__matrix *m = &((weir__counting *)s)->matrix;
    m->with_sign = true;
    weir_status status = weir__counting_plan(s, weir__sketch_budget(s, STANDARD_MEMORY), err);
    return status == WEIR_OK ? weir__sketch_claim(s, weir__matrix_bytes(m), err) : status;
}

static const weir_option options[] = {WEIR__COUNTING_OPTIONS("the root of the self-join size"),
                                      {NULL, 0, 0, 0, NULL, NULL, NULL}};

const weir__sketch_class weir__agms_sketch = {
    .kind = {.name = "agms",
             .summary = "Fast-AGMS (Count-sketch): unbiased counts and join sizes",
             .advice = "Unbiased answers with known variance, for streams of low skew and for "
                       "self-join and join sizes; counts may come out below zero. Where one-sided "
                       "answers matter, or the skew is high, countmin does better with the same "
                       "counters.",
             .mergeable = true,
             .options = options},
    WEIR__COUNTING_ONLY,
    .create = create,
};
