/* lab_prepared.c - a stream drawn or read once, with its truth, for many filters. */
#include "lab_prepared.h"

#include <stdio.h>
#include <stdlib.h>

#include "lab_rng.h"
#include "lab_stream.h"

weir_status lab_prepare(lab_prepared *p, lab_unit *unit, const char *spec, uint64_t most) {
    size_t count;
    *p = (lab_prepared){0};
    weir_status status = lab_stream_collect(&p->hashes, &count, spec, unit->seed, &unit->error);
    if (status) return status;
    if (most && count > most) count = (size_t)most;
    p->truth = lab_truth_new(p->hashes, count);
    if (!p->truth) {
        lab_discard(p);
        lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the truth");
        return WEIR_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) p->hashes[i] = lab_hash_id(p->hashes[i], unit->seed);
    return WEIR_OK;
}

void lab_discard(lab_prepared *p) {
    free(p->hashes);
    lab_truth_free(p->truth);
    *p = (lab_prepared){0};
}

weir_status lab_try(lab_unit *unit, const lab_prepared *p, const char *spec, double bound,
                    lab_trial *trial) {
    char whole[256];
    snprintf(whole, sizeof whole, "%s,seed=%llu", spec, (unsigned long long)unit->seed);
    lab_trial_run(trial, p->truth, p->hashes, whole, bound);
    lab_tick(unit, p->truth->count);
    return trial->made ? WEIR_OK : lab_fail(unit, WEIR_ERR_RANGE, "%s", trial->why);
}

double lab_prepared_bytes(double records) { return 40 * records + 64e6; }
