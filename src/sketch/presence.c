/* presence.c - sizes of the distinct counters, and intersections by union. */
#include "sketch/presence.h"

/* z such that a normal variable is within z deviations with that chance. */
static double normal_reach(double confidence) {
    double low = 0, high = 10;
    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2;
        if (erf(z / sqrt(2)) < confidence) low = z;
        else high = z;
    }
    return low;
}

double weir__presence_cells(double c, double error, double confidence) {
    double ratio = c * normal_reach(confidence) / error;
    return ceil(ratio * ratio);
}

double weir__presence_plan(weir_sketch *s, double c, double bits, uint64_t standard_memory) {
    if (!weir__sk_given(s, WEIR__PR_ERROR))
        return floor((double)weir__sketch_budget(s, standard_memory) * 8 / bits);
    double confidence =
        weir__sk_given(s, WEIR__PR_CONFIDENCE) ? weir__sk_rate(s, WEIR__PR_CONFIDENCE) : 0.99;
    double cells = weir__presence_cells(c, weir__sk_rate(s, WEIR__PR_ERROR), confidence);
    s->values[WEIR__PR_ERROR].given = s->values[WEIR__PR_CONFIDENCE].given = false;
    return cells;
}

weir_status weir__presence_unite(weir_sketch *into, const weir_sketch *from, weir_error *err) {
    (void)err;
    for (uint64_t i = 0; i < into->cells_bytes; i++) into->cells[i] |= from->cells[i];
    weir__merge_totals(into, from);
    return WEIR_OK;
}

/* The errors of the three are added as if they were independent; they are not,
 * but those of the union and the parts partly cancel, so this is too much. */
weir_status weir__common_by_union(weir_sketch *a, weir_sketch *b, weir_estimate *out,
                                  weir_error *err) {
    char spec[WEIR__SPEC_MAX];
    weir_sketch *both;
    weir_estimate in_a, in_b, in_both;
    weir_sketch_spec(a, spec, sizeof spec);
    weir_status status = weir_sketch_new_with(&both, spec, &a->allocator, err);
    if (status != WEIR_OK) return status;
    status = weir_sketch_merge(both, a, err);
    if (status == WEIR_OK) status = weir_sketch_merge(both, b, err);
    if (status == WEIR_OK) status = weir_sketch_distinct(a, &in_a, err);
    if (status == WEIR_OK) status = weir_sketch_distinct(b, &in_b, err);
    if (status == WEIR_OK) status = weir_sketch_distinct(both, &in_both, err);
    weir_sketch_free(both);
    if (status != WEIR_OK) return status;
    double most = fmin(in_a.value, in_b.value);
    double value = fmin(most, fmax(0, in_a.value + in_b.value - in_both.value));
    double deviation = hypot(hypot(in_a.deviation, in_b.deviation), in_both.deviation);
    *out =
        (weir_estimate){value, fmax(0, value - WEIR__Z99 * deviation),
                        fmin(fmin(in_a.high, in_b.high), value + WEIR__Z99 * deviation), deviation};
    return WEIR_OK;
}
