/* count.h - what `weir count` was asked to do, and the pieces that do it.
 *
 *   cmd_count.c      the table of options, and from words to settings
 *   count_run.c      the loop: batches in, sketches fed, answers out
 *   count_set.c      the sketches of one stream, by the questions they answer
 *   count_feed.c     a batch of records on its way into a set, in several threads
 *   count_groups.c   one set for each group, a bounded number of them
 *   group_note.c     their names in a snapshot
 *   count_query.c    keys that are asked for, hashed as records are
 *   count_shelf.c    sketches on servers, for --at
 *   count_truth.c    exact counts, in memory or on disk
 *   count_answer.c   from sketches and truth to answers
 *   count_print.c    answers as tables, JSON, CSV and bars
 *   count_changes.c  two saved states: which keys changed most
 */
#ifndef WEIR_COUNT_H
#define WEIR_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "count_shelf.h"
#include "reading.h"
#include "spec_text.h"
#include "weir.h"

/* --- what was asked for ------------------------------------------------------------- */

typedef enum { FORM_TEXT, FORM_JSON, FORM_CSV } count_form;

typedef struct {
    int64_t low, high;
} count_range;

enum { ASK_MOST = 64 }; /* times that --query, --range, --quantiles or --sketch may be given */

typedef struct {
    reading from;

    /* questions */
    size_t top;                    /* 0: not asked */
    double above;                  /* 0: not asked */
    const char *queries[ASK_MOST]; /* keys, or files of them: */
    bool query_is_file[ASK_MOST];
    size_t query_count;
    bool distinct, self_join;
    bool usual;       /* nothing was asked, and these are the usual questions */
    const char *join; /* a file, or NULL */
    count_range ranges[ASK_MOST];
    size_t range_count;
    double quantiles[ASK_MOST];
    size_t quantile_count;
    size_t sample; /* 0: not asked */
    bool spectrum;
    const char *where;          /* a pattern of keys, or NULL */
    const char *changes, *with; /* --changes: an older state file, and a newer; or NULL */

    /* which records count, and for whom */
    const char *window, *decay; /* as given, or NULL */
    const char *group;          /* a field, or NULL */
    size_t groups;              /* the most */

    /* how */
    const char *sketches[ASK_MOST]; /* specs */
    size_t sketch_count;
    bool conservative, by_agms;
    weir_estimator by;
    const char *memory, *error, *confidence, *seed; /* as given, or NULL */
    bool exact;
    uint64_t exact_memory;

    /* running */
    at_settings at;     /* where the sketches are added up, if not here; */
    count_shelf *shelf; /* or NULL */
    const char *state;  /* or NULL */
    uint64_t listed;    /* keys that the list of the state is for; 0: not known */
    uint64_t key_bytes; /* of these, memory for their bytes, if it was given */
    int64_t save_every; /* ns */
    int64_t every;      /* ns; 0: only at the end */
    count_form form;
    bool plot;
    const char *plot_file; /* or NULL: the terminal */
} count_settings;

/* Do it; returns the exit code. */
int count_run(const count_settings *settings);

/* --- count_set.c: the sketches of one stream ------------------------------------------ */

typedef enum {
    PART_KEYS,     /* how often, which most: top or countmin */
    PART_SIGNED,   /* the same by Fast-AGMS */
    PART_DISTINCT, /* how many different */
    PART_INTEGERS, /* ranges */
    PART_SAMPLE,
    PART_QUANTILES,
    PART_SPECTRUM, /* a sample of different keys with their counts */
    PARTS
} count_part;

typedef struct {
    weir_sketch *part[PARTS]; /* NULL: not asked for */
} count_set;

/* Specs of the sketches that the settings need, "" for none; 0 or EXIT_TROUBLE. */
typedef struct {
    char of[PARTS][SPEC_SIZE];
} count_specs;
int count_specs_make(count_specs *specs, const count_settings *settings);

/* Make the sketches; all get the same seed. 0, or EXIT_TROUBLE after a message. */
int count_set_make(count_set *set, const count_specs *specs);
int count_set_like(count_set *set, const count_set *other); /* empty ones of the same specs */
void count_set_free(count_set *set);
void count_set_clear(count_set *set);
void count_set_advance(count_set *set, int64_t time); /* time passes */
int count_set_merge(count_set *into, const count_set *from);

/* Whether keys may be decimal numbers: quantiles are asked for, and nothing that takes integers
 * only. And the sketch that answers quantiles. */
bool count_set_takes_decimals(const count_set *set);
weir_sketch *count_set_quantiles(const count_set *set);

/* Any sketch of the set: they all hash alike. */
const weir_sketch *count_set_any(const count_set *set);
uint64_t count_set_memory(const count_set *set);

/* Save to and load from a state file. A file that does not fit is refused. */
typedef struct {
    uint64_t records, missing, bad;
    uint64_t unweighted; /* of the missing: without their weight */
} count_totals;
typedef struct count_groups count_groups;
int count_set_save(const count_set *set, const count_settings *settings, const count_totals *totals,
                   const count_groups *groups); /* NULL: none */
int count_set_load(count_set *set, const count_settings *settings, count_totals *totals,
                   count_groups *groups);

/* With --at. What is on the servers, checked as a state file is; make it there, or find that
 * somebody was quicker; and add the set to it, which is empty then. */
int count_set_pull(count_set *set, const count_settings *settings);
int count_set_offer(const count_set *set, const count_settings *settings);
int count_set_push(count_set *set, const count_settings *settings);

/* No question was asked: of the usual ones, those that the state file, if there, can answer.
 * EXIT_TROUBLE after a message, of servers alone. */
int count_set_usual(count_settings *settings);

/* The sketches of a set as parts of a snapshot; of a group, by its label. */
weir_status count_set_put(weir_snapshot *snapshot, const count_set *set, const char *group,
                          weir_error *err);
void count_set_take(weir_snapshot *snapshot, count_set *set, const char *group);

/* The weight in all, by whichever sketch knows it. */
double count_set_total(const count_set *set);

/* --- count_truth.c: exact counts of 64-bit words -------------------------------------- */

typedef struct count_truth count_truth;

count_truth *truth_new(uint64_t memory); /* NULL if memory is out */
void truth_free(count_truth *truth);     /* NULL is allowed */
int truth_add(count_truth *truth, uint64_t word, double weight);

/* Go through all words in ascending order: begin, then next until it says false.
 * truth_begin may be called again; adding in between is not allowed. */
int truth_begin(count_truth *truth);
bool truth_next(count_truth *truth, uint64_t *word, double *count);

/* Words of integer keys, in their order. */
static inline uint64_t truth_word(int64_t value) { return (uint64_t)value ^ (UINT64_C(1) << 63); }

/* Words of decimal keys, in their order, and back. */
uint64_t truth_word_of_decimal(double value);
double truth_decimal(uint64_t word);

/* Both truths of a stream; NULL where not needed. */
typedef struct {
    count_truth *hashes, *integers;
    count_truth *decimals; /* all keys, as decimal numbers, where such are allowed */
} count_truths;
int count_truths_make(count_truths *truths, const count_settings *settings, uint64_t memory);
void count_truths_free(count_truths *truths);

/* --- count_feed.c: records on their way into sketches ---------------------------------- */

typedef struct count_feed count_feed;
typedef struct count_group count_group;

/* How records become updates of a set; several sets may share one feed. `threads`
 * sets are fed in parallel and merged by count_feed_gather(); each thread is a consumer
 * of the reader, the caller the first. The feed is freed before the reader is closed. */
int count_feed_new(count_feed **out, const count_settings *settings, count_set *set,
                   unsigned threads);
void count_feed_start(count_feed *feed, stream_reader *reader, count_totals *totals);
void count_feed_free(count_feed *feed);

/* Count the records of a batch, and those without a key among them, in totals; the first
 * that the settings do not tolerate is an error. */
int count_feed_check(count_feed *feed, const stream_reader *reader, const stream_batch *batch,
                     count_totals *totals);

/* The records chosen of the batch that was checked last. */
const stream_selection *count_feed_chosen(const count_feed *feed);

/* Bring the totals up to date while threads count. The latest time of a record so far is
 * returned, INT64_MIN without one. */
int64_t count_feed_meet(count_feed *feed);

/* Feed records of a batch: check it and take all that are in order; or, of a batch that was
 * checked, those chosen whose numbers among the chosen are given, into another set. */
int count_feed_batch(count_feed *feed, const stream_reader *reader, const stream_batch *batch,
                     count_totals *totals);
int count_feed_some(count_feed *feed, count_group *into, const stream_batch *batch,
                    const uint32_t *indices, count_totals *totals);

/* The reader has no more: wait until every thread has seen that too. */
void count_feed_finish(count_feed *feed);

/* The error that one of the threads has met, if any. */
int count_feed_trouble(count_feed *feed);

/* Bring all that was fed into the set that the feed was made with, and the totals up to
 * date, which with several threads are so only then. */
int count_feed_gather(count_feed *feed);

/* Truths that are fed too, or NULL. */
void count_feed_truths(count_feed *feed, const count_truths *truths);

/* --- count_groups.c ---------------------------------------------------------------------- */

/* One set for each group, alike to that which is given. */
int count_groups_new(count_groups **out, const count_settings *settings);
int count_groups_start(count_groups *groups, const count_set *like);
void count_groups_free(count_groups *groups);
int count_groups_batch(count_groups *groups, const stream_reader *reader, const stream_batch *batch,
                       count_totals *totals);

/* Group i of all, the largest first; the last may be the rest (name NULL). */
struct count_group {
    uint64_t hash;
    char *name;
    size_t length;
    count_set set;
    count_truths truths;          /* with --exact */
    double total;                 /* weight, for the order */
    uint32_t number, records, at; /* place among all; of a batch */
};
size_t count_groups_sort(count_groups *groups);
count_group *count_groups_get(count_groups *groups, size_t i);

/* In a snapshot: the sketches, and the note that names the groups, which the caller frees.
 * And back, before any are begun. */
weir_status count_groups_put(const count_groups *groups, weir_snapshot *snapshot, weir_error *err);
char *count_groups_note(const count_groups *groups, size_t *length);
int count_groups_take(count_groups *groups, weir_snapshot *snapshot, const weir_sketch *hasher);

/* --- count_query.c ------------------------------------------------------------------------- */

typedef struct {
    char *text; /* as asked for */
    size_t length;
    uint64_t hash;
} count_key;

/* The keys of --query: words, or the lines of files. The caller frees them by
 * count_keys_free(). 0, or EXIT_TROUBLE after a message. */
int count_keys_read(count_key **keys, size_t *count, const count_settings *settings,
                    const weir_sketch *hasher);
void count_keys_free(count_key *keys, size_t count);

/* --- count_answer.c: answers ---------------------------------------------------------------- */

typedef enum {
    ANSWER_TOP,
    ANSWER_ABOVE,
    ANSWER_QUERY,
    ANSWER_DISTINCT,
    ANSWER_SELF_JOIN,
    ANSWER_JOIN,
    ANSWER_COMMON,
    ANSWER_RANGE,
    ANSWER_QUANTILE,
    ANSWER_SAMPLE,
    ANSWER_WHERE,    /* different keys that fit a pattern */
    ANSWER_SKEW,     /* the exponent of a power law */
    ANSWER_SPECTRUM, /* how many keys came once, twice, ... */
    ANSWERS
} answer_kind;

typedef enum { ROW_VALUE, ROW_LOW, ROW_HIGH, ROW_TRUTH, ROW_PARTS } row_part;

typedef struct {
    char *key; /* bytes; the report's */
    size_t length;
    bool cut; /* the key was longer */
    uint64_t hash;
    double value, low, high;
    double truth;            /* NAN: not known */
    bool is_decimal;         /* the four are decimal keys */
    bool is_key;             /* the four are integer keys, which a double may not hold: */
    int64_t keys[ROW_PARTS]; /* here they are */
} count_row;

typedef struct {
    bool asked;
    count_row *rows;
    size_t count;
    bool complete;   /* lists: nothing is missing */
    double floor;    /* lists: no key that is not listed came more often */
    bool flat;       /* lists: no key is sure to have come more often than those not listed */
    size_t expected; /* lists, with truth: keys that ought to be in the list */
    size_t found;    /* of the expected keys, how many are in it */
} count_answer;

typedef struct {
    const count_settings *settings;
    count_totals totals;
    double total;      /* weight */
    const char *group; /* NULL: all, or the rest */
    size_t group_length;
    bool grouped, running;
    uint64_t memory;
    count_answer answers[ANSWERS];
} count_report;

/* The other stream of a join. */
typedef struct {
    count_set set;
    count_truths truths;
} count_other;

/* Ask the sketches; 0 or EXIT_TROUBLE. The report's own memory is freed by release. */
int count_report_make(count_report *report, const count_settings *settings, count_set *set,
                      count_other *other, const count_truths *truths, const count_key *keys,
                      size_t key_count);
void count_report_release(count_report *report);

/* --- count_changes.c: what differs between two saved sketches --------------------------------- */

int count_changes(const count_settings *settings);

/* --- count_print.c ---------------------------------------------------------------------------- */

/* Print to standard output; `first` begins a CSV with its header. */
int count_print(const count_report *report, bool first);

/* A key for people. */
void count_show_key(const char *key, size_t length, bool cut);

#endif
