/* lab_pairs.c - tables of records with a known number of similar pairs, and how
 * far off one way to estimate it is.
 *
 * The truth of generated records is known as they are made. That of titles comes by
 * comparing them all or, where they are many, from all super-values: two records that
 * agree in j columns have C(j, k) super-values of k columns in common, and with none
 * left out this is arithmetic, not an estimate. (The first COMPARED records are
 * compared as well, and a difference is an error.)
 */
#include "lab_pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_file.h"
#include "lab_records.h"
#include "lab_rng.h"
#include "lab_stream.h"
#include "lab_titles.h"
#include "weir_pairs.h"

enum { BATCH = 4096, COMPARED = 5000 };

/* --- rows ---------------------------------------------------------------------------- */

/* Words to values: any summary knows how, so the smallest. */
static weir_status new_maker(weir_pairs **out, lab_unit *unit, unsigned d) {
    char spec[160];
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,from=text,method=online,width=16,depth=1,witnesses=0,seed=%llu", d,
             (unsigned long long)unit->seed);
    return weir_pairs_new(out, spec, &unit->error);
}

static weir_status read_titles(lab_table *t, lab_unit *unit, size_t most) {
    lab_file *file = NULL;
    weir_pairs *maker = NULL;
    weir_status status = lab_real_open(&file, lab_real_find("package_titles"), &unit->error);
    if (!status) status = new_maker(&maker, unit, t->d);
    for (weir_field field; !status && t->n < most;) {
        field.bytes = lab_file_text(file, &field.length);
        if (!field.bytes) break;
        if (weir_pairs_row(maker, &field, 1, lab_table_row(t, t->n)) == WEIR_ROW_OK) t->n++;
    }
    if (!status) status = lab_file_check(file, &unit->error);
    weir_pairs_free(maker);
    lab_file_free(file);
    return status;
}

/* Records that are written down c times make c^2 pairs of one, and c(c-1)/2 that
 * agree in all for each record. */
static weir_status draw_records(lab_table *t, lab_unit *unit, size_t most) {
    lab_records records;
    char spec[128];
    size_t copies = unit->c->p[P_COPIES] > 1 ? (size_t)unit->c->p[P_COPIES] : 1;
    snprintf(spec, sizeof spec, "%s,d=%u,n=%zu", unit->c->stream, t->d, most / copies);
    weir_status status = lab_records_init(&records, spec, unit->seed, &unit->error);
    if (status) return status;
    for (; lab_records_next(&records, lab_table_row(t, t->n)); t->n += copies)
        for (size_t i = 1; i < copies; i++)
            memcpy(lab_table_row(t, t->n + i), lab_table_row(t, t->n), t->d * sizeof *t->rows);
    for (unsigned k = 1; k <= t->d; k++)
        t->truth[k] = (double)records.pairs[k] * (double)copies * (double)copies;
    t->truth[t->d] += (double)t->n * ((double)copies - 1) / 2;
    return WEIR_OK;
}

/* --- truth ---------------------------------------------------------------------------- */

static weir_status fill(weir_pairs **out, lab_unit *unit, const lab_table *t, size_t n,
                        const char *spec) {
    weir_status status = weir_pairs_new(out, spec, &unit->error);
    for (size_t i = 0; !status && i < n; i += BATCH) {
        size_t count = n - i < BATCH ? n - i : BATCH;
        status = weir_pairs_add(*out, i, lab_table_row(t, i), count, &unit->error);
    }
    return status;
}

static weir_status all_super_values(lab_unit *unit, const lab_table *t, size_t n,
                                    weir_pairs_answer *out) {
    char spec[128];
    weir_pairs *pairs = NULL;
    snprintf(spec, sizeof spec, "pairs:columns=%u,threshold=%u,sample=1,witnesses=0,memory=1G",
             t->d, t->s);
    weir_status status = fill(&pairs, unit, t, n, spec);
    if (!status) status = weir_pairs_self(pairs, out, &unit->error);
    weir_pairs_free(pairs);
    return status;
}

static weir_status find_truth(lab_unit *unit, lab_table *t) {
    weir_exact_options how = {.columns = t->d, .threshold = t->s};
    weir_pairs_answer compared, counted;
    size_t some = t->n < COMPARED ? t->n : COMPARED;
    weir_status status = weir_pairs_exact(&how, t->rows, some, NULL, 0, &compared, &unit->error);
    if (!status) status = all_super_values(unit, t, some, &counted);
    if (status) return status;
    for (unsigned k = t->s; k <= t->d; k++)
        if (counted.count[k] != compared.count[k])
            return lab_fail(unit, WEIR_ERR_CORRUPT, "%.0f pairs agree in %u, but %.0f were counted",
                            compared.count[k], k, counted.count[k]);
    status = all_super_values(unit, t, t->n, &counted);
    memcpy(t->truth, counted.count, sizeof t->truth);
    return status;
}

weir_status lab_table_new(lab_table *t, lab_unit *unit) {
    const double *p = unit->c->p;
    size_t most = (size_t)p[P_RECORDS];
    weir_status status = WEIR_OK;
    *t = (lab_table){.d = (unsigned)p[P_D], .s = (unsigned)p[P_S]};
    t->rows = malloc((most + 1) * t->d * sizeof *t->rows); /* and one past the last */
    if (!t->rows) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for %zu records", most);
    if (!strncmp(unit->c->stream, "records", 7)) return draw_records(t, unit, most);
    if (!strcmp(unit->c->stream, "titles")) status = read_titles(t, unit, most);
    else
        for (; t->n < most; t->n++) lab_title_row(unit->seed, t->n, t->d, lab_table_row(t, t->n));
    return status ? status : find_truth(unit, t);
}

double lab_thesis_count(const lab_table *t, unsigned k) {
    return 2 * t->truth[k] + (k == t->d ? (double)t->n : 0);
}

double lab_pairs_memory(const lab_case *c, double size, double scale) {
    (void)size, (void)scale;
    return c->p[P_RECORDS] * 8 * (c->p[P_D] + 2 * exp2(c->p[P_D]));
}

double lab_pairs_super_values(const lab_case *c) {
    double sum = 0, choose = 1;
    for (unsigned k = 1; k <= (unsigned)c->p[P_D]; k++) {
        choose = choose * (c->p[P_D] - k + 1) / k;
        if (k >= (unsigned)c->p[P_S]) sum += ceil(c->p[P_SAMPLE] * choose);
    }
    return sum;
}

double lab_pairs_cost(const lab_case *c, double size, double scale) {
    (void)scale;
    return size * c->p[P_RECORDS] * lab_pairs_super_values(c);
}

/* --- runs ----------------------------------------------------------------------------- */

static void take(lab_pair_errors *e, const lab_table *t, const weir_pairs_answer *a) {
    double similar = 0;
    for (unsigned k = t->s; k <= t->d; k++) {
        e->square[k] += pow(a->count[k] - t->truth[k], 2);
        e->claimed[k] += pow(a->deviation[k], 2);
        similar += t->truth[k];
    }
    e->similar += pow(a->similar - similar, 2);
    e->bound += pow(a->similar_bound, 2);
    e->runs++;
}

double lab_pair_percent(const lab_pair_errors *e, double squares, double truth) {
    return truth > 0 ? 100 * 2 * sqrt(squares / e->runs) / truth : NAN;
}

weir_status lab_count_pairs(lab_unit *unit, const lab_table *t, uint64_t run, double sample,
                            unsigned witnesses, lab_pair_errors *e) {
    char spec[256], online[64] = "";
    weir_pairs *pairs = NULL;
    weir_pairs_answer answer;
    unsigned long long seed = lab_hash_id(run, unit->seed);
    if (unit->c->p[P_WIDTH] > 0)
        snprintf(online, sizeof online, ",method=online,width=%.0f,depth=%d", unit->c->p[P_WIDTH],
                 LAB_PAIRS_DEPTH);
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,threshold=%u,sample=%g,witnesses=%u,seed=%llu,draw=%llu%s", t->d,
             t->s, sample, witnesses, seed >> 1, seed >> 2, online);
    weir_status status = fill(&pairs, unit, t, t->n, spec);
    if (!status) status = weir_pairs_self(pairs, &answer, &unit->error);
    if (!status) take(e, t, &answer);
    weir_pairs_free(pairs);
    return status;
}

weir_status lab_sample_pairs(lab_unit *unit, const lab_table *t, uint64_t run, unsigned records,
                             lab_pair_errors *e) {
    char spec[256];
    weir_pairs *pairs = NULL;
    weir_pairs_answer answer = {0};
    unsigned long long seed = lab_hash_id(run, ~unit->seed);
    snprintf(spec, sizeof spec,
             "pairs:columns=%u,threshold=%u,sample=1e-9,method=online,width=16,depth=1,"
             "witnesses=%u,seed=%llu,draw=%llu",
             t->d, t->s, records, seed >> 1, seed >> 2);
    weir_status status = fill(&pairs, unit, t, t->n, spec);
    if (!status) status = weir_pairs_sampled(pairs, NULL, &answer, &unit->error);
    if (!status) take(e, t, &answer);
    weir_pairs_free(pairs);
    return status;
}

double lab_next_printed(const char **at) {
    char *end;
    if (!*at) return NAN;
    double printed = strtod(*at, &end);
    if (end == *at) return NAN;
    *at = end;
    return printed;
}
