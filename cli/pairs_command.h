/* pairs_command.h - what `weir pairs` was asked to do, and the pieces that do it.
 *
 *   cmd_pairs.c       the table of options, and from words to settings
 *   pairs_rows.c      from the fields of a record to its values
 *   pairs_fill.c      records in, several threads' summaries, merged
 *   pairs_run.c       self, join, search
 *   pairs_examples.c  --list: similar pairs, found and shown
 *   pairs_report.c    the answer, for people and for machines
 */
#ifndef WEIR_CLI_PAIRS_H
#define WEIR_CLI_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reading.h"
#include "spec_text.h"
#include "weir.h"
#include "weir_pairs.h"

enum { PAIRS_COLUMNS_MOST = 64 }; /* values of a record: a set of them is a 64-bit word */
#define PAIRS_SPLIT " \t,;|"      /* what separates the items of a set, if nothing else is said */

/* How values are made of a record: kept in a summary's note, for searches. */
typedef struct {
    weir_pairs_from from;
    bool json;
    bool points;                      /* values are the bits of numbers */
    unsigned parts;                   /* of the key; 0: the whole record */
    char split[32];                   /* what separates the items of a set */
    double round[PAIRS_COLUMNS_MOST]; /* steps of columns with numbers; 0: as it is */
} pairs_rows;

/* Which way to ask. */
typedef enum { ASK_SELF, ASK_JOIN, ASK_SEARCH } pairs_question;

typedef struct {
    pairs_question question;
    reading in;            /* its files are the operands after the first word */
    char spec[SPEC_SIZE];  /* of the summary */
    char maker[SPEC_SIZE]; /* of what is filled: the same, or for --exact only makes values */
    char asked[SPEC_SIZE]; /* only what the command line says: a summary must agree with it */
    pairs_rows rows;
    const char *fields; /* --columns, --text or --set, as given; NULL: none */
    double similarity;  /* --jaccard or --cosine; 0: none */
    unsigned columns, threshold, group;
    unsigned signatures;         /* of a text; 0: not known */
    bool formatted, split_given; /* --format, --split were given */
    bool seeded;                 /* --seed was given */
    uint64_t seed;
    bool exact, ordered, json, csv;
    bool sampled;             /* --method sample: by the pairs of a random sample */
    bool with_none;           /* --threshold 0: also the pairs that agree in nothing */
    double error, confidence; /* of theorems 8 and 10; 0: not asked for */
    double distance;          /* --distance: of points; 0: not asked for */
    uint64_t outliers;        /* --outliers: who has fewer neighbours is one; 0: not asked for */
    const char *save, *plot, *folder;
    uint64_t list;
    char *note; /* what pairs_apply_note() keeps; else NULL */
} pairs_settings;

int pairs_run(const pairs_settings *settings);

/* --- pairs_rows.c --- */

/* Callback of the reader for each record, and its context. */
typedef struct {
    const weir_pairs *pairs;
    const pairs_rows *rows;
    bool trim; /* the items of a set */
} row_context;
uint8_t pairs_make_row(const void *context, const void *key, size_t length, uint64_t *words);

/* --- pairs_fill.c --- */

typedef struct {
    weir_pairs *pairs;
    uint64_t *rows; /* all of them, if they were asked for */
    size_t row_count, row_room;
    uint64_t records, dropped;
    bool loaded; /* from a summary */
    char *note;  /* that came with it, or NULL */
} pairs_side;

/* Read records, or summaries, into a side. keep: also keep all rows. */
int pairs_fill(pairs_side *side, const pairs_settings *s, const char *const *files,
               size_t file_count, unsigned number, bool keep);
void pairs_side_release(pairs_side *side);

/* Does it hold a summary? What can be read only once holds records: a look at it would
 * take their first bytes. */
bool pairs_is_summary(const char *path);

/* What is done with each batch of accepted records; nonzero stops. `records` points
 * to what the reader read, rows to their values. */
typedef struct {
    size_t count;
    uint64_t first; /* number of the first */
    const uint64_t *rows;
    const stream_batch *batch;
    const uint32_t *places; /* of the records in the batch; NULL: all of them */
} accepted;
typedef int accepted_fn(void *context, const accepted *records);
int pairs_read(const pairs_settings *s, const weir_pairs *pairs, const char *const *files,
               size_t file_count, uint64_t *dropped, accepted_fn *each, void *context);

/* The note that goes with a saved summary, and back. */
int pairs_save(const pairs_settings *s, pairs_side *side);
int pairs_load(pairs_side *side, const pairs_settings *s, const char *path);

/* Let the settings be those with which a loaded summary was made; s->note is to be
 * freed. */
void pairs_apply_note(pairs_settings *s, pairs_side *side);

/* For the other side of a join: the same, but that the command line may say of its records
 * how they are laid out. `path` is that of the summary. */
int pairs_adopt(pairs_settings *s, pairs_side *side, const char *path);

/* Were the values of two loaded summaries made alike? */
int pairs_check_notes(pairs_side *a, const char *path_a, pairs_side *b, const char *path_b);

/* --- pairs_examples.c --- */

typedef struct {
    uint64_t number[2]; /* in the order in which they were taken, those left out not counted */
    uint64_t record[2]; /* in its file, from 1; a header counts */
    const char *file[2];
    char *text[2];
    unsigned agree;
    double similarity; /* 0 to 1; of texts as their values speak for it */
} pairs_example;

typedef struct {
    size_t count;
    uint64_t found; /* pairs, of which `count` are in the list */
    pairs_example *list;
} pairs_examples;

int pairs_find_examples(const pairs_settings *s, pairs_side *sides, size_t side_count,
                        pairs_examples *out);
void pairs_examples_release(pairs_examples *examples);

/* --- pairs_report.c --- */

/* `doubt`: how many of the pairs counted are less similar than asked; NULL: not known. */
int pairs_report(const pairs_settings *s, const weir_pairs *pairs, const weir_pairs_answer *answer,
                 const uint64_t *dropped, const pairs_examples *examples,
                 const weir_pairs_doubt *doubt, double seconds);
int pairs_report_neighbours(const pairs_settings *s, const weir_neighbours *answer,
                            uint64_t dropped, double seconds);
int pairs_report_search(const pairs_settings *s, const char *const *records, size_t count,
                        const weir_pairs_answer *answers);

#endif
