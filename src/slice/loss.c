/* loss.c - what lost sites cost. */
#include "slice/loss.h"

#include <assert.h>
#include <math.h>

double weir__loss_horizontal_fpr(double f, double sites, double fpr) {
    return f / sites + (1 - f / sites) * fpr;
}

double weir__loss_vertical_fpr(double f, double sites, unsigned k, double one) {
    return pow(f / sites + (1 - f / sites) * one, k);
}

double weir__loss_horizontal_fnr(double f, double sites) { return f / sites; }

double weir__loss_vertical_fnr(double f, double sites, unsigned k) {
    return 1 - pow(1 - f / sites, k);
}

/* Chance that i of the k places of a key live. */
static double chance_live(double lost, unsigned k, unsigned i) {
    assert(i <= k && lost >= 0 && lost <= 1);
    double ways = exp(lgamma(k + 1.0) - lgamma(i + 1.0) - lgamma(k - i + 1.0));
    return ways * pow(1 - lost, i) * pow(lost, k - i);
}

double weir__loss_rule_fpr(double f, double sites, unsigned k, double one, unsigned x) {
    double sum = 0;
    for (unsigned i = x; i <= k; i++) sum += chance_live(f / sites, k, i) * pow(one, i);
    return sum;
}

double weir__loss_rule_fnr(double f, double sites, unsigned k, unsigned x) {
    double sum = 0;
    for (unsigned i = 0; i < x; i++) sum += chance_live(f / sites, k, i);
    return sum;
}

double weir__loss_horizontal_sites(double f, double fpr, double most) {
    return most > fpr ? f * (1 - fpr) / (most - fpr) : INFINITY;
}

double weir__loss_vertical_sites(double f, double fpr, unsigned k, double most) {
    double one = pow(fpr, 1.0 / k), bound = pow(most, 1.0 / k);
    return bound > one ? f * (1 - one) / (bound - one) : INFINITY;
}
