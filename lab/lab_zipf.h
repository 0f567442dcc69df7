/* lab_zipf.h - draw ranks k in 1..N with probability proportional to k^-s.
 *
 * Question   one draw from a Zipf law over a domain of any size, exactly, in
 *            constant time and without a table
 * Idea       rejection-inversion: draw x under the area H(x) = integral of x^-s
 *            by inverting H, round to the nearest rank k, and keep k if the draw
 *            fell into the last h(k) = k^-s of k's area, which every rank has
 *            room for since x^-s is convex. Most draws are kept by comparing
 *            k - x with one precomputed number.
 * Parameters s >= 0, N >= 1
 * Error      a rank's probability p is off by about 1e-16 in all (the 53 bits of
 *            a draw) and 1e-13 p (rounding): no test of any length would see it
 * Cost       one log and one exp a draw, at most 1.02 draws a rank
 * Source     Hormann and Derflinger, ACM TOMACS 6(3), 1996. With q = 1 - s, H is
 *            written as (x^q - 1)/q by expm1 and log1p so that s near 1 loses
 *            nothing.
 */
#ifndef LAB_ZIPF_H
#define LAB_ZIPF_H

#include <stddef.h>

#include "lab_math.h"
#include "lab_rng.h"

typedef struct {
    double s, q;      /* exponent, 1 - s */
    double inverse_q; /* 1 / q, unused where q is 0 */
    double low, span; /* draws are uniform on low .. low + span in H's scale */
    double accept;    /* k - x at most this: kept without looking */
    uint64_t domain;
} lab_zipf;

static inline double lab_zipf_area(const lab_zipf *z, double x) {
    double log_x = lab_log(x);
    return z->q == 0 ? log_x : lab_expm1(z->q * log_x) * z->inverse_q;
}

static inline double lab_zipf_inverse(const lab_zipf *z, double area) {
    if (z->q == 0) return lab_exp(area);
    double t = z->q * area;
    /* Rounding may carry the largest draw of a steep law to -1, where the log ends. */
    if (t < -1.0 + 0x1p-52) t = -1.0 + 0x1p-52;
    return lab_exp(lab_log1p(t) * z->inverse_q);
}

static inline double lab_zipf_height(const lab_zipf *z, double k) {
    return lab_exp(-z->s * lab_log(k));
}

static inline void lab_zipf_init(lab_zipf *z, double s, uint64_t domain) {
    z->s = s;
    z->q = 1.0 - s;
    z->inverse_q = z->q == 0 ? 0 : 1.0 / z->q;
    z->domain = domain;
    z->low = lab_zipf_area(z, 1.5) - 1.0;
    z->span = lab_zipf_area(z, (double)domain + 0.5) - z->low;
    z->accept = 2.0 - lab_zipf_inverse(z, lab_zipf_area(z, 2.5) - lab_zipf_height(z, 2.0));
}

/* The rank of a draw at `area` that was carried back to x, or 0: draw again. */
static inline uint64_t lab_zipf_rank(const lab_zipf *z, double area, double x) {
    uint64_t k = (uint64_t)(int64_t)(x + 0.5); /* signed: one instruction, and x is small */
    if (k < 1) k = 1;
    if (k > z->domain) k = z->domain;
    if ((double)k - x <= z->accept) return k;
    return area >= lab_zipf_area(z, (double)k + 0.5) - lab_zipf_height(z, (double)k) ? k : 0;
}

#define LAB_ZIPF_BLOCK 256

/* Draw up to LAB_ZIPF_BLOCK ranks; returns how many were kept. In a block the
 * processor overlaps the long chains of one log and exp after another. */
static inline size_t lab_zipf_block(const lab_zipf *z, lab_rng *rng, uint64_t *ranks) {
    double area[LAB_ZIPF_BLOCK], x[LAB_ZIPF_BLOCK];
    size_t kept = 0;
    for (int i = 0; i < LAB_ZIPF_BLOCK; i++) area[i] = z->low + lab_rng_unit(rng) * z->span;
    for (int i = 0; i < LAB_ZIPF_BLOCK; i++) x[i] = lab_zipf_inverse(z, area[i]);
    for (int i = 0; i < LAB_ZIPF_BLOCK; i++) {
        ranks[kept] = lab_zipf_rank(z, area[i], x[i]);
        kept += ranks[kept] != 0;
    }
    return kept;
}

#endif
