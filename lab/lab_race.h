/* lab_race.h - one stream past several filters at a time, with the truth beside.
 *
 * The stream is drawn once, in constant memory; each filter meets the same
 * hashes. Stop at any record to look at tallies and filters, then go on:
 *
 *     lab_race race;
 *     if (lab_race_start(&race, unit, "uniform:n=1M,universe=100K")) ...
 *     lab_race_add(&race, "stable:memory=2048,layout=classic,k=2,p=4,max=1");
 *     while (lab_race_run(&race, 10000)) ...        10000 more records
 *     lab_race_end(&race);
 */
#ifndef LAB_RACE_H
#define LAB_RACE_H

#include "lab_experiment.h"
#include "lab_firsts.h"
#include "lab_stream.h"

enum { LAB_RACERS = 8, LAB_RACE_BATCH = 4096 };

typedef struct {
    uint64_t false_seen, false_new;
} lab_tally;

typedef struct {
    lab_unit *unit;
    lab_stream *stream;
    lab_firsts *truth;
    uint64_t records, firsts; /* so far */
    size_t count;
    weir_filter *filters[LAB_RACERS];
    lab_tally tallies[LAB_RACERS];
    double weight;      /* what a record counts in the progress; 1 unless set */
    weir_status status; /* why it ended early */
    uint64_t ids[LAB_RACE_BATCH];
    uint64_t first[WEIR_VERDICT_WORDS(LAB_RACE_BATCH)];
    uint64_t verdicts[WEIR_VERDICT_WORDS(LAB_RACE_BATCH)];
} lab_race;

/* The stream is drawn with the unit's seed. On failure the unit has the message,
 * and lab_race_end() is still to be called. */
weir_status lab_race_start(lab_race *race, lab_unit *unit, const char *stream);

/* A filter; ",seed=" is added to its spec from the unit's seed. */
weir_status lab_race_add(lab_race *race, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Offer up to `records` more; returns how many. 0: the end of the stream, a wish
 * to stop, or trouble (race->status). */
uint64_t lab_race_run(lab_race *race, uint64_t records);

void lab_race_end(lab_race *race);

/* Rates in percent: of filter i from the beginning, and since an earlier look. */
double lab_race_fpr(const lab_race *race, size_t i);
double lab_race_fnr(const lab_race *race, size_t i);

typedef struct {
    uint64_t records, firsts;
    lab_tally tallies[LAB_RACERS];
} lab_look;
lab_look lab_race_look(const lab_race *race);
double lab_race_fpr_since(const lab_race *race, size_t i, const lab_look *look);
double lab_race_fnr_since(const lab_race *race, size_t i, const lab_look *look);

#endif
