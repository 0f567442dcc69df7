/* loss.h - what lost sites cost: the formulas, for planning and for tests.
 *
 * f of S sites are lost. `one` is the chance that a place of a filter that was
 * not lost is on, 1 - e^(-kn/m); `fpr` is that of the whole filter, one^k.
 *
 * In print eqs. 5 and 6 are right. The sum for the false negatives of vertical
 * slices lacks its binomial coefficients: with them it is 1 - (1 - f/S)^k, the
 * chance that some place of the key is lost. The rule "SEEN if at least x live
 * places are on" taken by its letter calls a key SEEN although a live place of
 * it is off, which no Bloom filter can have set; the printed rate
 * ((1 - f/S) one)^x then lacks its coefficients too and would be 41% at x = 4 of
 * k = 8 half full, where the paper finds 3 or 4 best. We read it as: all live
 * places are on, and at least x of them live. That gives the paper's finding.
 */
#ifndef WEIR_SLICE_LOSS_H
#define WEIR_SLICE_LOSS_H

/* Keys of lost sites are called SEEN (eqs. 5 and 6). */
double weir__loss_horizontal_fpr(double f, double sites, double fpr);
double weir__loss_vertical_fpr(double f, double sites, unsigned k, double one);

/* They are called NEW: what it costs in false negatives, and what rate stays. */
double weir__loss_horizontal_fnr(double f, double sites);
double weir__loss_vertical_fnr(double f, double sites, unsigned k);

/* The rule of x live places, x = 0..k; x = 0 is SEEN for all, k is NEW for all. */
double weir__loss_rule_fpr(double f, double sites, unsigned k, double one, unsigned x);
double weir__loss_rule_fnr(double f, double sites, unsigned k, unsigned x);

/* The least number of sites with which f lost ones keep the rate below `most`
 * (definition 3); infinite if fpr is not below it. */
double weir__loss_horizontal_sites(double f, double fpr, double most);
double weir__loss_vertical_sites(double f, double fpr, unsigned k, double most);

#endif
