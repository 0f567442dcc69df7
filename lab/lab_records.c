/* lab_records.c - near-duplicate records with a known number of similar pairs.
 *
 * Records come in blocks of 2 x LAB_PAIR_GAP. One of the second half of its block
 * is, with probability `share`, a near-copy of the record LAB_PAIR_GAP before it:
 * it takes over k random attributes, k uniform on least..d, and has values of its
 * own in the others. No value is used by anyone else and no record is copied
 * twice, so the pairs that agree in exactly k attributes are those planted, and
 * they are counted as they are made: no error at all, in constant memory.
 *
 * Everything about record i follows from the seed and i.
 */
#include "lab_records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_error.h"
#include "weir_text.h"

static weir_status parse_one(lab_records *r, const char *name, const char *value, weir_error *err) {
    uint64_t *count = !strcmp(name, "n")       ? &r->n
                      : !strcmp(name, "d")     ? &r->d
                      : !strcmp(name, "least") ? &r->least
                                               : NULL;
    if (count) return weir_parse_count(value, count, err);
    if (!strcmp(name, "share")) return weir_parse_rate(value, &r->share, err);
    return lab_error(err, WEIR_ERR_SPEC, -1, "records has no option '%s'", name);
}

static weir_status check(const lab_records *r, weir_error *err) {
    if (!r->n) return lab_error(err, WEIR_ERR_SPEC, -1, "records needs n=");
    if (r->d < 2 || r->d > LAB_MOST_ATTRIBUTES)
        return lab_error(err, WEIR_ERR_RANGE, -1, "d=%llu is not in 2..%d",
                         (unsigned long long)r->d, LAB_MOST_ATTRIBUTES);
    if (r->least < 1 || r->least > r->d)
        return lab_error(err, WEIR_ERR_RANGE, -1, "least=%llu is not in 1..%llu",
                         (unsigned long long)r->least, (unsigned long long)r->d);
    return WEIR_OK;
}

weir_status lab_records_init(lab_records *r, const char *spec, uint64_t seed, weir_error *err) {
    char text[256], *save = NULL;
    const char *options = strchr(spec, ':');
    *r = (lab_records){.d = 6, .least = 1, .share = 0.1, .seed = seed};
    snprintf(text, sizeof text, "%s", options ? options + 1 : "");
    for (char *at = strtok_r(text, ",", &save); at; at = strtok_r(NULL, ",", &save)) {
        char *value = strchr(at, '=');
        if (!value) return lab_error(err, WEIR_ERR_SPEC, -1, "'%s' is not option=value", at);
        *value++ = 0;
        weir_status status = parse_one(r, at, value, err);
        if (status) return status;
    }
    return check(r, err);
}

/* A random subset of k of the d attributes, as bits: each is taken with the
 * probability that leaves exactly k. */
static uint32_t choose_attributes(lab_rng *rng, uint64_t d, uint64_t k) {
    uint32_t chosen = 0;
    for (uint64_t a = 0; a < d; a++)
        if (lab_rng_below(rng, d - a) < k) {
            chosen |= UINT32_C(1) << a;
            k--;
        }
    return chosen;
}

int lab_records_next(lab_records *r, uint64_t *values) {
    if (r->drawn == r->n) return 0;
    uint64_t i = r->drawn++;
    uint32_t taken = 0;
    if (i / LAB_PAIR_GAP % 2 == 1) {
        lab_rng rng = lab_rng_of(lab_hash_id(i, r->seed), 3);
        if (lab_rng_unit(&rng) < r->share) {
            uint64_t k = r->least + lab_rng_below(&rng, r->d - r->least + 1);
            taken = choose_attributes(&rng, r->d, k);
            r->pairs[k]++;
        }
    }
    for (uint64_t a = 0; a < r->d; a++)
        values[a] = (taken >> a & 1 ? i - LAB_PAIR_GAP : i) * r->d + a;
    return 1;
}
