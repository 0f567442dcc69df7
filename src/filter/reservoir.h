/* reservoir.h - the formulas of the reservoir sampling Bloom filter.
 *
 * k filters of s bits. They hold for reading=tables on keys that fall on the
 * bits evenly, as long as the insertion probability s/i stays above pstar.
 */
#ifndef WEIR_FILTER_RESERVOIR_H
#define WEIR_FILTER_RESERVOIR_H

/* Equation 5.27: the k whose rate is fpr when s keys have filled the filters. */
double weir__reservoir_k(double fpr);

/* Equation 5.22: the expected number of ones after one more key that is
 * inserted with probability p, when there are `ones` now. */
double weir__reservoir_ones_next(double ones, double s, double p);

/* Equation 5.24, as derived: the variance of that number. */
double weir__reservoir_ones_variance(double ones, double s, double p);

/* Equation 5.22 solved over the stream: the share of ones after i keys. */
double weir__reservoir_fill(double i, double s);

/* In place of 5.7: the chance that key i+1, if new, is called SEEN. */
double weir__reservoir_fpr(double i, double s, double k);

/* In place of 5.14 to 5.17: the chance that key i+1 is called NEW although it
 * came by, on a stream of keys drawn uniformly out of `universe`. */
double weir__reservoir_fnr(double i, double s, double k, double universe);

/* As printed, for comparison; docs/filters/reservoir.md tells where they part from what a filter
 * does. Equation 5.7: the chance that key m+1 is new and called SEEN. Equations 5.14 and 5.16 added
 * up: the bound on the chance that it came by and is called NEW, which 5.17 rounds to k/U. */
double weir__reservoir_printed_fpr(double m, double s, double k, double universe);
double weir__reservoir_printed_fnr(double m, double s, double k, double universe);

/* Both for layout=block. */
double weir__reservoir_line_fpr(double i, double lines, double k);
double weir__reservoir_line_fnr(double i, double lines, double k, double universe);

#endif
