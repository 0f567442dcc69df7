/* lab_prepared.h - a stream drawn or read once, with its truth, for many filters. */
#ifndef LAB_PREPARED_H
#define LAB_PREPARED_H

#include "lab_experiment.h"
#include "lab_trial.h"
#include "lab_truth.h"

typedef struct {
    uint64_t *hashes; /* as filters are offered them */
    lab_truth *truth;
} lab_prepared;

/* The stream of that spec under the unit's seed, at most `most` records (0: all).
 * On failure the unit has the message, and *prepared is empty. */
weir_status lab_prepare(lab_prepared *prepared, lab_unit *unit, const char *spec, uint64_t most);
void lab_discard(lab_prepared *prepared);

/* Run a filter over it; the unit's seed is added to the spec. Fails if the filter
 * cannot be made. */
weir_status lab_try(lab_unit *unit, const lab_prepared *prepared, const char *spec, double bound,
                    lab_trial *trial);

/* Bytes that preparing a stream takes, by its number of records. */
double lab_prepared_bytes(double records);

#endif
