/* lab_log.c - logs past filters that are cut into parts. */
#include "lab_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_rng.h"
#include "lab_stream.h"
#include "weir_sites.h"

/* --- logs --------------------------------------------------------------------------------- */

void lab_log_close(lab_log *log) {
    free(log->ids);
    free(log->tags);
    lab_truth_free(log->truth);
    *log = (lab_log){0};
}

static weir_status read_column(lab_unit *unit, const char *file, const char *columns,
                               uint64_t **ids, size_t *count) {
    char path[400], spec[512];
    weir_status status = lab_data_path(path, sizeof path, file, &unit->error);
    if (status) return status;
    snprintf(spec, sizeof spec, "file:path=%s,columns=%s", path, columns);
    return lab_stream_collect(ids, count, spec, unit->seed, &unit->error);
}

weir_status lab_log_judge(lab_unit *unit, lab_log *log) {
    log->truth = lab_truth_new(log->ids, log->count);
    return log->truth ? WEIR_OK : lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the stream");
}

weir_status lab_log_open(lab_log *log, lab_unit *unit) {
    const char *name = unit->c->stream;
    weir_status status;
    size_t clients = 0;
    *log = (lab_log){0};
    if (!strcmp(name, "weblog")) {
        status = read_column(unit, "weblog.log.zst", "7,split=space", &log->ids, &log->count);
        if (!status)
            status = read_column(unit, "weblog.log.zst", "1,split=space", &log->tags, &clients);
    } else if (!strcmp(name, "addresses")) {
        status = read_column(unit, "flows.tsv.zst", "2", &log->ids, &log->count);
    } else {
        status = lab_stream_collect(&log->ids, &log->count, name, unit->seed, &unit->error);
    }
    if (!status) status = lab_log_judge(unit, log);
    if (status) lab_log_close(log);
    return status;
}

/* --- filters ------------------------------------------------------------------------------- */

double lab_bits_for(double keys, double rate) {
    return -LAB_LOG_K * keys / log1p(-pow(rate, 1.0 / LAB_LOG_K));
}

weir_status lab_make(lab_unit *unit, const char *spec, weir_filter **filter) {
    char whole[320];
    snprintf(whole, sizeof whole, "%s,seed=%llu", spec, (unsigned long long)unit->seed);
    return weir_filter_new(filter, whole, &unit->error);
}

/* Bytes of a filter's object beside its cells. */
static double object_bytes(void) {
    weir_filter *filter;
    weir_filter_info info;
    if (weir_filter_new(&filter, "bloom:layout=classic,k=4,memory=8192,fpr=5%", NULL)) return 0;
    weir_filter_get_info(filter, &info);
    weir_filter_free(filter);
    return (double)info.memory - 8192;
}

double lab_parts_bits(const weir_filter *filter, bool parts_are_filters) {
    double bytes = 0, beside = parts_are_filters ? object_bytes() : 0;
    weir_site_info site;
    for (size_t i = 0; i < weir_filter_sites(filter); i++)
        if (!weir_filter_get_site(filter, i, &site, NULL)) bytes += (double)site.memory - beside;
    return 8 * bytes;
}

weir_status lab_make_of_bits(lab_unit *unit, const char *spec, bool parts_are_filters, double parts,
                             double bits, weir_filter **filter) {
    double bytes = bits / 8 + parts * 128 + 2048;
    char whole[256];
    for (int try = 0;; try++) {
        snprintf(whole, sizeof whole, "%s,memory=%.0f", spec, bytes);
        weir_status status = lab_make(unit, whole, filter);
        if (status || try == 2) return status;
        bytes += (bits - lab_parts_bits(*filter, parts_are_filters)) / 8 + (try ? 32 * parts : 0);
        weir_filter_free(*filter);
    }
}

/* --- passing a log through a filter ---------------------------------------------------------- */

void lab_log_offer(const lab_unit *unit, weir_filter *filter, const lab_log *log, size_t from,
                   size_t to, lab_errors *t) {
    for (; from < to; from += LAB_LOG_BATCH) {
        uint64_t hashes[LAB_LOG_BATCH], producers[LAB_LOG_BATCH], verdict;
        size_t n = to - from < LAB_LOG_BATCH ? to - from : LAB_LOG_BATCH;
        for (size_t i = 0; i < n; i++) {
            hashes[i] = lab_hash_id(log->ids[from + i], unit->seed);
            if (log->tags) producers[i] = lab_hash_id(log->tags[from + i], 1);
        }
        weir_batch batch = {
            .count = n, .hashes = hashes, .producers = log->tags ? producers : NULL};
        weir_filter_offer_batch(filter, &batch, &verdict);
        for (size_t i = 0; i < n; i++)
            lab_count(t, lab_truth_is_first(log->truth, from + i), verdict >> i & 1);
    }
}
