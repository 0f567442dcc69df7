/* lab_stats.h - how surprising a count is. */
#ifndef LAB_STATS_H
#define LAB_STATS_H

#include <stddef.h>
#include <stdint.h>

/* P(X >= hits) for X binomial with n trials of probability p in [0, 1]. Terms
 * are summed in order until they no longer matter: good to about 1e-9 of the
 * result. */
double lab_binomial_tail(uint64_t n, double p, uint64_t hits);

/* P(X >= x) for X chi-square with `degrees` degrees of freedom. */
double lab_chi2_tail(double x, double degrees);

/* Pearson's chi-square of observed counts against expected ones. Neighbouring
 * cells are pooled until each expects at least 5; *degrees gets the number of
 * pools less one. */
double lab_chi2(const uint64_t *observed, const double *expected, size_t cells, double *degrees);

#endif
