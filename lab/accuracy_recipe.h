/* accuracy_recipe.h - streams, memories and rates drawn from a seed. */
#ifndef LAB_ACCURACY_RECIPE_H
#define LAB_ACCURACY_RECIPE_H

#include <stddef.h>
#include <stdint.h>

#include "lab_truth.h"

typedef struct {
    size_t number;   /* from 1 */
    char spec[640];  /* mix:n=...,parts=... (lab_stream_mix.c) */
    uint64_t seed;   /* of the stream */
    double fpr;      /* 10%, 1%, 0.1% or 0.0001% */
    double position; /* of the memory, 0..1: see accuracy_recipe_memory() */
} accuracy_recipe;

/* Recipe `number` of a seed: the same on every machine, whatever else is drawn. */
void accuracy_recipe_draw(accuracy_recipe *recipe, uint64_t seed, size_t number);

/* Its memory in bytes for a stream of so many distinct keys: from 16 KiB up to 1.25
 * times what the oracle needs to remember all, alike in the logarithm. */
size_t accuracy_recipe_memory(const accuracy_recipe *recipe, size_t distinct);

#endif
