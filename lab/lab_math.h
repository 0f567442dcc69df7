/* lab_math.h - exp and log that give the same bits on every machine.
 *
 * The C library's differ in the last place from one to the next, and a stream
 * drawn with them would too. These use only + - * / and conversions of IEEE 754
 * doubles, which every machine rounds alike, given
 *
 *   - round-to-nearest mode and doubles evaluated as doubles (checked below);
 *   - no contraction of a*b+c into one instruction: the lab is compiled with
 *     -ffp-contract=off.
 *
 * Relative errors are below 2e-16 for exp and log (absolute where |log| < 1) and
 * 5e-16 for expm1 and log1p. Arguments must be in the range given at each
 * function; nothing is checked.
 */
#ifndef LAB_MATH_H
#define LAB_MATH_H

#include <float.h>
#include <stdint.h>
#include <string.h>

/* 16 is about half floats: doubles are still doubles. */
_Static_assert((FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16) && FLT_RADIX == 2 &&
                   DBL_MANT_DIG == 53,
               "the lab needs doubles that are evaluated as IEEE 754 doubles");
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#define LAB_LN2_HIGH 0x1.62e42feep-1 /* the first 32 bits: times a small integer it is exact */
#define LAB_LN2_LOW 0x1.a39ef35793c76p-33

static inline uint64_t lab_bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double lab_double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* (e^r - 1 - r) / r^2 for |r| <= 0.36: the Taylor series to r^13, summed in
 * pairs so that the processor can overlap them. */
static inline double lab_exp_tail(double r) {
    double r2 = r * r, r4 = r2 * r2;
    double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    double c =
        (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    return a + r4 * (b + r4 * c);
}

/* e^x for |x| <= 700. */
static inline double lab_exp(double x) {
    const double round = 0x1.8p52; /* adding it leaves a whole number in the low bits */
    double shifted = x * 0x1.71547652b82fep0 + round;
    double k = shifted - round;
    double r = (x - k * LAB_LN2_HIGH) - k * LAB_LN2_LOW;
    double e = 1.0 + (r + r * r * lab_exp_tail(r));
    return lab_double_of(lab_bits_of(e) + (lab_bits_of(shifted) << 52));
}

/* e^x - 1 without cancellation near 0. */
static inline double lab_expm1(double x) {
    if (x > -0.34 && x < 0.34) return x + x * x * lab_exp_tail(x);
    return lab_exp(x) - 1.0;
}

/* log((1+z)/(1-z)) = 2 atanh(z) for |z| <= 0.1716. */
static inline double lab_atanh2(double z) {
    double w = z * z, w2 = w * w, w4 = w2 * w2;
    double a = (1.0 / 3 + w * (1.0 / 5)) + w2 * (1.0 / 7 + w * (1.0 / 9));
    double b = (1.0 / 11 + w * (1.0 / 13)) + w2 * (1.0 / 15 + w * (1.0 / 17));
    double tail = w * (a + w4 * (b + w4 * (1.0 / 19)));
    return 2.0 * z + 2.0 * z * tail;
}

/* log(1 + t) for t > -1 and 1 + t a normal number; exact in relative terms
 * also for tiny t. */
static inline double lab_log1p(double t) {
    double y = 1.0 + t;
    /* y = m 2^e with m in [sqrt 1/2, sqrt 2): the offset moves the cut there. */
    uint64_t bits = lab_bits_of(y) - UINT64_C(0x3fe6a09e667f3bcd);
    int64_t e = (int64_t)bits >> 52;
    double m = lab_double_of((bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double f = e == 0 ? t : m - 1.0; /* near 1 the rounding of 1 + t would show */
    double k = (double)e;
    return (k * LAB_LN2_LOW + lab_atanh2(f / (2.0 + f))) + k * LAB_LN2_HIGH;
}

/* log(x) for normal x > 0. */
static inline double lab_log(double x) {
    uint64_t bits = lab_bits_of(x) - UINT64_C(0x3fe6a09e667f3bcd);
    double k = (double)((int64_t)bits >> 52);
    double m = lab_double_of((bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    return (k * LAB_LN2_LOW + lab_atanh2((m - 1.0) / (m + 1.0))) + k * LAB_LN2_HIGH;
}

#endif
