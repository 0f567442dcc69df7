/* aging.h - what filters lose that know a key for some while after it was put in. */
#ifndef WEIR_FILTER_AGING_H
#define WEIR_FILTER_AGING_H

#include "weir.h"
#include "weir_plan.h"

/* For how many records a key is known after it was put in, in the mean, when this share of
 * them is called NEW. */
typedef double weir__lifetime_fn(const void *filter, double news);

/* How it ends: at any moment alike; at an age; at an age since the last occurrence. */
typedef enum { WEIR__ENDS_BY_CHANCE, WEIR__ENDS_BY_AGE, WEIR__ENDS_AFTER_USE } weir__ending;

/* The share of the repeats that pass as new; aging.c has the formulas. */
double weir__aging_fnr(const void *filter, weir__lifetime_fn *lifetime, weir__ending ending,
                       double fpr, const weir_stream_model *model);

/* Pr[Poisson(mean) >= n] */
double weir__poisson_reaches(double mean, unsigned n);

#endif
