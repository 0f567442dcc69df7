/* redraw.c - how far counts of texts would be apart under other hashes, from the witnesses.
 *
 * Question   a signature of a text has d values, by d hashes. The answer is the mean over few
 *            signatures. How much does it depend on the hashes?
 * Idea       a large group of texts that are alike in part agrees as a whole or not at all, so a
 *            signature in a hundred counts many more pairs than the others. Five signatures
 *            hardly ever show that by their spread. But their 5 d values are independent, so any
 *            d of them are a signature too. The witnesses keep all values: the pairs of
 *            witnesses are counted for many random choices of d values, and the variance of
 *            these counts, scaled from the witnesses to all records, is that of a signature.
 * Error      choices overlap, in d / signatures values on average: the variance is a little too
 *            low. A pair of witnesses is counted or not, which adds about the mean count to its
 *            variance: too high where few pairs of witnesses agree. Groups that are so rare that
 *            the witnesses have none of them are not seen.
 * Cost       signatures d compares for each pair of at most WITNESSES witnesses
 */
#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/rng.h"
#include "pairs/pairs.h"

enum {
    WITNESSES = 1024,       /* of each side that are compared, at most */
    CHOICES = 1024,         /* of d values, at most */
    CHOICES_LEAST = 64,     /* however many pairs there are */
    COUNTED_MOST = 64 << 20 /* pairs times choices, about */
};

/* Pairs of witnesses that agree in at least s values: which values, a bit each. */
typedef struct {
    uint64_t *bits;
    size_t count, room;
    double compared; /* pairs of witnesses in all */
} agreements;

static size_t looked_at(const weir_pairs *p) {
    return weir__witness_count(p) < WITNESSES ? weir__witness_count(p) : WITNESSES;
}

static bool compare(agreements *g, const weir_pairs *p, const uint64_t *x, const uint64_t *y) {
    unsigned values = p->shape.d * p->signatures;
    uint64_t bits = 0;
    for (unsigned i = 0; i < values; i++) bits |= (uint64_t)(x[i] == y[i]) << i;
    g->compared++;
    if ((unsigned)__builtin_popcountll(bits) < p->shape.s) return true;
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 1024;
        uint64_t *larger = realloc(g->bits, room * sizeof *larger);
        if (!larger) return false;
        g->bits = larger;
        g->room = room;
    }
    g->bits[g->count++] = bits;
    return true;
}

static bool compare_all(agreements *g, const weir_pairs *a, const weir_pairs *b,
                        const uint64_t *record) {
    size_t n = looked_at(a), m = record ? 1 : b ? looked_at(b) : n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = b || record ? 0 : i + 1; j < m; j++)
            if (!compare(g, a, weir__witness_row(a, i),
                         record ? record : weir__witness_row(b ? b : a, j)))
                return false;
    return true;
}

/* Random d of all values, as bits. */
static uint64_t choose_values(const weir_pairs *p, uint64_t *rng) {
    unsigned left = p->shape.d * p->signatures, wanted = p->shape.d;
    uint64_t chosen = 0;
    for (unsigned i = 0; wanted; i++, left--)
        if (weir__rng_next(rng) % left < wanted) chosen |= UINT64_C(1) << i, wanted--;
    return chosen;
}

/* Sums over the choices: of counts and of their squares, by the values that agree; [0]: s or
 * more. */
typedef struct {
    double sum[65], squares[65];
    size_t choices;
} counts;

static void count_choices(const agreements *g, const weir_pairs *p, counts *c) {
    uint64_t rng = 1; /* any: the answer of a summary does not change when asked again */
    size_t most = g->count ? COUNTED_MOST / g->count : CHOICES;
    c->choices = most < CHOICES_LEAST ? CHOICES_LEAST : most < CHOICES ? most : CHOICES;
    for (size_t i = 0; i < c->choices; i++) {
        double of[65] = {0};
        uint64_t chosen = choose_values(p, &rng);
        for (size_t j = 0; j < g->count; j++) of[__builtin_popcountll(g->bits[j] & chosen)]++;
        of[0] = 0;
        for (unsigned k = p->shape.s; k <= p->shape.d; k++) of[0] += of[k];
        for (unsigned k = 0; k <= p->shape.d; k++)
            c->sum[k] += of[k], c->squares[k] += of[k] * of[k];
    }
}

/* The deviation of the mean over the signatures, of the count of so many pairs in all, such that
 * 1.96 of it are Student's interval. */
static double deviation_of(const counts *c, unsigned k, const weir_pairs *p, double scale) {
    double n = (double)c->choices, mean = c->sum[k] / n;
    double variance = fmax(0, c->squares[k] - n * mean * mean) / (n - 1);
    return scale * sqrt(variance / p->signatures) * weir__student(p->signatures - 1) / 1.96;
}

weir_status weir__redraw(const weir_pairs *a, const weir_pairs *b, const uint64_t *record,
                         double pairs, weir_pairs_answer *out, weir_error *err) {
    agreements g = {0};
    counts c = {.choices = 0};
    bool room = compare_all(&g, a, b, record);
    if (room && g.compared > 0) {
        double scale = pairs / g.compared;
        count_choices(&g, a, &c);
        out->similar_deviation = fmax(out->similar_deviation, deviation_of(&c, 0, a, scale));
        for (unsigned k = a->shape.s; k <= a->shape.d; k++)
            out->deviation[k] = fmax(out->deviation[k], deviation_of(&c, k, a, scale));
    }
    free(g.bits);
    return room ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}
