/* lab_race.c - one stream past several filters at a time, with the truth beside. */
#include "lab_race.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lab_rng.h"
#include "lab_truth.h"

/* A bit for each id of the universe, or a table of those that come: the smaller. */
static uint64_t universe_worth_a_bitmap(const lab_stream *stream) {
    uint64_t universe = lab_stream_universe(stream), length = lab_stream_length(stream);
    return universe / 8 / LAB_SET_BYTES <= length ? universe : 0;
}

weir_status lab_race_start(lab_race *race, lab_unit *unit, const char *stream) {
    memset(race, 0, offsetof(lab_race, ids));
    race->unit = unit;
    race->weight = 1;
    race->status = lab_stream_new(&race->stream, stream, unit->seed, &unit->error);
    if (race->status) return race->status;
    race->status =
        lab_firsts_new(&race->truth, universe_worth_a_bitmap(race->stream), &unit->error);
    return race->status;
}

weir_status lab_race_add(lab_race *race, const char *format, ...) {
    char spec[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(spec, sizeof spec - 40, format, args);
    va_end(args);
    snprintf(spec + length, sizeof spec - (size_t)length, "%sseed=%llu",
             strchr(spec, ':') ? "," : ":", (unsigned long long)race->unit->seed);
    weir_status status = weir_filter_new(&race->filters[race->count], spec, &race->unit->error);
    if (!status) race->count++;
    else race->status = status;
    return status;
}

static uint64_t ones(uint64_t word) { return (uint64_t)__builtin_popcountll(word); }

/* Errors of one filter on a batch: SEEN but first, NEW but not first. */
static void tally(lab_tally *t, const lab_race *race, size_t n) {
    for (size_t w = 0; w < WEIR_VERDICT_WORDS(n); w++) {
        uint64_t valid = n - 64 * w >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n % 64)) - 1;
        t->false_seen += ones(race->verdicts[w] & race->first[w]);
        t->false_new += ones(~race->verdicts[w] & ~race->first[w] & valid);
    }
}

static size_t run_batch(lab_race *race, size_t most) {
    size_t n = lab_stream_next(race->stream, race->ids, most);
    if (!n) {
        race->status = lab_stream_check(race->stream, &race->unit->error);
        return 0;
    }
    race->status = lab_firsts_next(race->truth, race->ids, n, race->first);
    if (race->status) {
        lab_fail(race->unit, race->status, "no memory for the truth");
        return 0;
    }
    for (size_t i = 0; i < n; i++) race->ids[i] = lab_hash_id(race->ids[i], race->unit->seed);
    for (size_t i = 0; i < race->count; i++) {
        weir_batch batch = {.count = n, .hashes = race->ids};
        weir_filter_offer_batch(race->filters[i], &batch, race->verdicts);
        tally(&race->tallies[i], race, n);
    }
    race->records += n;
    race->firsts = lab_firsts_count(race->truth);
    return n;
}

uint64_t lab_race_run(lab_race *race, uint64_t records) {
    uint64_t done = 0;
    while (done < records && !race->status) {
        uint64_t left = records - done;
        size_t n = run_batch(race, left < LAB_RACE_BATCH ? (size_t)left : LAB_RACE_BATCH);
        done += n;
        if (!n || !lab_tick(race->unit, (uint64_t)((double)n * race->weight))) break;
    }
    return done;
}

void lab_race_end(lab_race *race) {
    for (size_t i = 0; i < race->count; i++) weir_filter_free(race->filters[i]);
    lab_firsts_free(race->truth);
    lab_stream_free(race->stream);
}

lab_look lab_race_look(const lab_race *race) {
    lab_look look = {.records = race->records, .firsts = race->firsts};
    memcpy(look.tallies, race->tallies, sizeof look.tallies);
    return look;
}

static double percent(uint64_t part, uint64_t whole) {
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

double lab_race_fpr_since(const lab_race *race, size_t i, const lab_look *look) {
    return percent(race->tallies[i].false_seen - look->tallies[i].false_seen,
                   race->firsts - look->firsts);
}

double lab_race_fnr_since(const lab_race *race, size_t i, const lab_look *look) {
    return percent(race->tallies[i].false_new - look->tallies[i].false_new,
                   race->records - look->records - (race->firsts - look->firsts));
}

double lab_race_fpr(const lab_race *race, size_t i) {
    static const lab_look start;
    return lab_race_fpr_since(race, i, &start);
}

double lab_race_fnr(const lab_race *race, size_t i) {
    static const lab_look start;
    return lab_race_fnr_since(race, i, &start);
}
