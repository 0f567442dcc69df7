/* doubt.c - how many of the pairs that are counted for a similarity are less similar than that.
 *
 * Question   a threshold on values that agree by chance is a slope: where little similar pairs
 *            abound, more of them may be counted than of similar ones. Is it so here?
 * Idea       the witnesses are a random sample of the records, so their pairs are one of all
 *            pairs. The signs (or minima) in which two of them agree show how similar they are;
 *            the curve says how often a pair of that similarity is counted; the sum over all
 *            that are below the threshold, scaled up, is what is counted without reason.
 * Error      similarities are read from up to 64 values, so they are blurred: of 240 signs the
 *            angle deviates by 0.1. That raises the sum somewhat, as the curve is steep there.
 * Cost       at most WITNESSES witnesses are compared with each other
 */
#include <math.h>

#include "core/error.h"
#include "pairs/angles.h"

enum {
    WITNESSES = 512, /* that are compared with each other, at most */
    BINS = 200       /* of similarities from 0 to 1 */
};
#define FALSE_SHARE 0.25 /* of what is counted for a threshold that can be told, at most */
#define FEW 10.0         /* pairs that would be worth asking for, at least */

typedef struct {
    double bins[BINS + 1]; /* pairs of witnesses by similarity */
    double pairs;
} spread;

double weir_pairs_similarity(const weir_pairs *p, const uint64_t *x, const uint64_t *y) {
    if (p->maker.from == WEIR__FROM_COLUMNS || p->maker.from == WEIR__FROM_SET)
        return (double)weir_rows_agree(x, y, p->shape.d, p->maker.from == WEIR__FROM_SET) /
               p->shape.d;
    unsigned group = p->maker.group, agree = 0, differ = 0;
    for (unsigned i = 0; i < p->row_words; i++) {
        agree += x[i] == y[i];
        differ += (unsigned)__builtin_popcountll(x[i] ^ y[i]);
    }
    if (p->maker.from == WEIR__FROM_COSINE)
        return fmax(0, cos(M_PI * differ / (p->maker.columns * group + 64.0 * p->maker.angles)));
    return pow((double)agree / p->row_words, 1.0 / group);
}

static size_t looked_at(const weir_pairs *p) {
    return weir__witness_count(p) < WITNESSES ? weir__witness_count(p) : WITNESSES;
}

/* The witnesses are a heap by random priorities: any of them are a sample. */
static void compare_witnesses(const weir_pairs *a, const weir_pairs *b, spread *out) {
    size_t n = looked_at(a), m = b ? looked_at(b) : n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = b ? 0 : i + 1; j < m; j++) {
            double t =
                weir_pairs_similarity(a, weir__witness_row(a, i), weir__witness_row(b ? b : a, j));
            out->bins[(size_t)(t * BINS)]++;
            out->pairs++;
        }
}

/* Pairs below the threshold that are counted, and pairs above it, of all. */
static double counted_below(const spread *s, const weir_pairs *p, double t, unsigned threshold,
                            unsigned group, double scale) {
    bool cosine = p->maker.from == WEIR__FROM_COSINE;
    double sum = 0;
    for (int i = 0; i < (int)floor(t * BINS); i++)
        sum +=
            s->bins[i] * weir_pairs_curve(cosine, p->shape.d, threshold, group, (i + 0.5) / BINS);
    return sum * scale;
}

static double pairs_above(const spread *s, double t, double scale) {
    double sum = 0;
    for (int i = (int)floor(t * BINS); i <= BINS; i++) sum += s->bins[i];
    return sum * scale;
}

/* How many pairs are at least so similar, and from which similarity on that can be said. */
static weir_status tell_cosine(const weir_pairs *a, const weir_pairs *b, double similarity,
                               weir_pairs_doubt *out, weir_error *err) {
    weir__angles *angles;
    weir__above above, there;
    weir_status status = weir__angles_new(&angles, a, b, err);
    if (status != WEIR_OK) return status;
    weir__angles_above(angles, similarity, &above);
    out->pairs = above.pairs, out->low = above.low, out->high = above.high;
    out->told = above.told;
    for (int percent = 99; percent > 1; percent--) {
        weir__angles_above(angles, percent / 100.0, &there);
        if (!there.told) break;
        out->least = fmin(out->least, percent / 100.0);
    }
    weir__angles_free(angles);
    return WEIR_OK;
}

weir_status weir_pairs_doubts(const weir_pairs *a, const weir_pairs *b, double similarity,
                              weir_pairs_doubt *out, weir_error *err) {
    spread s = {.pairs = 0};
    bool cosine = a->maker.from == WEIR__FROM_COSINE;
    double n = (double)a->records;
    if (!cosine && a->maker.from != WEIR__FROM_TEXT)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "only texts have a similarity that their values may miss");
    if (!(similarity > 0 && similarity < 1))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "a similarity of %g is not between 0 and 1",
                          similarity);
    compare_witnesses(a, b, &s);
    double scale = s.pairs > 0 ? (b ? n * (double)b->records : n * (n - 1) / 2) / s.pairs : 0;
    *out = (weir_pairs_doubt){
        .below = counted_below(&s, a, similarity, a->shape.s, a->maker.group, scale), .least = 1};
    for (int percent = 99; percent > 1; percent--) {
        double t = percent / 100.0;
        unsigned threshold, group;
        weir_pairs_choose(cosine, a->shape.d, t, &threshold, &group);
        double above = fmax(FEW, pairs_above(&s, t, scale));
        if (counted_below(&s, a, t, threshold, group, scale) > FALSE_SHARE * above) break;
        out->least = t;
    }
    return cosine ? tell_cosine(a, b, similarity, out, err) : WEIR_OK;
}
