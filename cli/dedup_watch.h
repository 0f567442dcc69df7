/* dedup_watch.h - what a person should know while `weir dedup` runs, said once. */
#ifndef WEIR_DEDUP_WATCH_H
#define WEIR_DEDUP_WATCH_H

#include "dedup.h"
#include "report.h"

typedef struct {
    const dedup_settings *settings;
    int64_t looked;    /* on the monotonic clock, ns */
    bool was_overfull; /* it has been said that the filter forgets */
    bool was_beyond;   /* it has been said that the filter is beyond its bound */
    bool late_said;    /* that there are late records */
    uint64_t late;     /* late records that have been said */
    double keys_room;  /* keys that the filter had room for when the run began; 0: unknown */
} dedup_watch;

/* A filter that has begun to forget before the run is not warned about again. */
void dedup_watch_begin(dedup_watch *w, const dedup_settings *settings, const weir_filter *filter,
                       const run_counts *counts);

/* Look from time to time, and at the end. */
void dedup_watch_look(dedup_watch *w, const weir_filter *filter, const run_counts *counts,
                      int64_t now);
void dedup_watch_end(dedup_watch *w, const weir_filter *filter, const run_counts *counts);

#endif
