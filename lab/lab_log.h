/* lab_log.h - what the experiments on distributed filtering share: logs, filters, entries.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias: One is enough: distributed filtering for
 * duplicate elimination, CIKM 2011. The figures are printed without their numbers,
 * so what is compared is what the text says of them, the sizes in section 7 and table 1.
 *
 * The logs are others: the access log of a blog (URL the key, client the producer)
 * for that of a department, and protocol events (columns 2-5 the key) for the flows
 * of Yahoo.
 */
#ifndef LAB_LOG_H
#define LAB_LOG_H

#include "lab_experiment.h"
#include "lab_truth.h"

enum {
    LAB_LOG_K = 4 /* hashes, where nothing else is said */,
    LAB_LOG_BATCH = 64,
    LAB_LOG_LEAVES = 256
};

typedef struct {
    uint64_t *ids, *tags; /* tags: producers or times, or NULL */
    size_t count;
    lab_truth *truth;
} lab_log;

/* The case's stream: "weblog" with its clients, "flows", "addresses" (of the flows), or a
 * drawn one. */
weir_status lab_log_open(lab_log *log, lab_unit *unit);
void lab_log_close(lab_log *log);

/* Find the truth of the ids that it has. */
weir_status lab_log_judge(lab_unit *unit, lab_log *log);

/* Bits for n keys at a rate (section 7). */
double lab_bits_for(double keys, double rate);

/* A filter of that spec under the unit's seed. */
weir_status lab_make(lab_unit *unit, const char *spec, weir_filter **filter);

/* Bits in the parts of a spread filter. */
double lab_parts_bits(const weir_filter *filter, bool parts_are_filters);

/* A filter of that many bits in its parts, to a cache line for each: the memory that is
 * asked for holds counters besides, so it is corrected by what the first try has. */
weir_status lab_make_of_bits(lab_unit *unit, const char *spec, bool parts_are_filters, double parts,
                             double bits, weir_filter **filter);

typedef struct {
    double firsts, repeats, false_seen, false_new;
} lab_errors;

static inline void lab_count(lab_errors *t, bool first, bool seen) {
    t->firsts += first;
    t->repeats += !first;
    t->false_seen += first && seen;
    t->false_new += !first && !seen;
}

static inline double lab_percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

/* Offer records from..to-1; the tags are producers. */
void lab_log_offer(const lab_unit *unit, weir_filter *filter, const lab_log *log, size_t from,
                   size_t to, lab_errors *errors);

/* --- for the entries --------------------------------------------------------------- */

#define OTHER_LOG "Another log than the paper's. "
#define LINES(title_text, x_title, y_title, x_name, number, ...)                                   \
    {                                                                                              \
        .title = title_text, .x_label = x_title, .y_label = y_title, .x = x_name,                  \
        .y = {__VA_ARGS__}, .by_case = true, .claim = number                                       \
    }
#define LOG_PAPER "Distributed filtering, "

#endif
