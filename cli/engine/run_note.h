/* run_note.h - how far a run has come, kept beside the filter in the state file. */
#ifndef WEIR_RUN_NOTE_H
#define WEIR_RUN_NOTE_H

#include "dedup.h"
#include "report.h"
#include "run_files.h"

/* Where a run stands. */
typedef struct {
    bool complete;    /* all input was read */
    bool resumable;   /* files in, file out */
    stream_mark mark; /* in the output; in the input it is that of its files */
    run_counts counts;
    int64_t newest; /* latest event time; INT64_MIN: none yet */
} run_point;

/* The note as bytes; the caller frees them. NULL if memory is out. */
char *run_note_write(const dedup_settings *settings, const run_files *files, const run_point *point,
                     size_t *length);

/* For commands that do not continue in the middle of their input: a note of how keys are
 * made and what was counted so far; and whether a run that reads its keys so fits the
 * note. If not, `difference` says "with --key 2, not 5". */
char *run_note_keys(const char *command, const reading *from, const run_counts *counts,
                    size_t *length);
bool run_note_keys_fit(const reading *from, const char *note, size_t length, run_counts *counts,
                       char *difference, size_t size);

/* For joined snapshots: of a note only how keys were made; or the counts of a note added to
 * others, and a note with the sums. */
char *run_note_only_keys(const char *note, size_t length, size_t *new_length);
void run_note_add_counts(const char *note, size_t length, run_counts *counts);
char *run_note_joined(const char *note, size_t length, const run_counts *counts,
                      size_t *new_length);

typedef enum {
    NOTE_FRESH,    /* begin at the start of the input */
    NOTE_CONTINUE, /* go on at *point */
    NOTE_REFUSED   /* a message has been printed */
} note_verdict;

/* Compare a note with what is asked for now, and decide how to begin. To go on, the files that
 * were looked at get their places. */
note_verdict run_note_judge(const dedup_settings *settings, const weir_filter *filter,
                            const char *note, size_t length, run_point *point, run_files *files);

/* Whether two notes are of runs that made their keys alike; if not, how they differ:
 * "--format lines and csv". */
bool run_notes_agree(const char *a, size_t length_a, const char *b, size_t length_b,
                     char *difference, size_t size);

#endif
