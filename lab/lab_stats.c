/* lab_stats.c - tails of the binomial and chi-square distributions.
 *
 * Both are sums that converge fast once started at the right place: binomial
 * terms fall by a known ratio beyond the mean; the incomplete gamma function is
 * a series on one side of its mean and a continued fraction on the other.
 */
#include "lab_stats.h"

#include <math.h>

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

static double binomial_term(double n, double p, double k) {
    return exp(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) + k * log(p) +
               (n - k) * log1p(-p));
}

double lab_binomial_tail(uint64_t n, double p, uint64_t hits) {
    if (hits == 0 || p >= 1) return 1;
    if (hits > n || p <= 0) return 0;
    double mean = (double)n * p, odds = p / (1 - p), sum = 0;
    /* Below the mean sum the other side, whose terms fall away from it. */
    int below = (double)hits <= mean;
    double k = below ? (double)hits - 1 : (double)hits;
    double term = binomial_term((double)n, p, k);
    while (term > 0 && k >= 0 && k <= (double)n) {
        sum += term;
        if (term < sum * 1e-12) break;
        if (below) term *= k / (((double)n - k + 1) * odds), k -= 1;
        else term *= ((double)n - k) / (k + 1) * odds, k += 1;
    }
    return below ? 1 - sum : sum;
}

/* Upper regularised incomplete gamma function Q(a, x). */
static double gamma_upper(double a, double x) {
    double scale = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (double k = a + 1; term > sum * 1e-15; k += 1) sum += term *= x / k;
        return 1 - scale * sum;
    }
    /* Lentz's evaluation of the continued fraction. */
    double b = x + 1 - a, d = 1 / b, h = d, c = 1e300;
    for (int i = 1; i < 100000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (fabs(c * d - 1) < 1e-15) break;
    }
    return scale * h;
}

double lab_chi2_tail(double x, double degrees) {
    return x <= 0 ? 1 : gamma_upper(degrees / 2, x / 2);
}

double lab_chi2(const uint64_t *observed, const double *expected, size_t cells, double *degrees) {
    double sum = 0, expect = 0, got = 0, left = 0;
    size_t pools = 0;
    for (size_t i = 0; i < cells; i++) left += expected[i];
    for (size_t i = 0; i < cells; i++) {
        expect += expected[i];
        got += (double)observed[i];
        left -= expected[i];
        /* The last pool takes the rest, if too little would remain after it. */
        if (i + 1 < cells && (expect < 5 || left < 5)) continue;
        sum += (got - expect) * (got - expect) / expect;
        pools++;
        expect = got = 0;
    }
    *degrees = pools > 1 ? (double)pools - 1 : 1;
    return sum;
}
