/* dedup.h - what `weir dedup` was asked to do, and the pieces that do it.
 *
 *   cmd_dedup.c    the table of options, and from words to settings
 *   dedup_run.c    the loop: batches in, verdicts, records out
 *   site_losses.c  sites that are lost meanwhile, to try a plan
 *   dedup_choose.c what can be chosen only when all was read: --keep last, --emit once ...
 *   run_note.c     the note in the state file: how far a run has come
 *   run_output.c   the output file, whole or as it was
 *   run_streams.c  brokers as source and sink
 *   state_lock.c   one run at a time on a state file
 */
#ifndef WEIR_DEDUP_H
#define WEIR_DEDUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "at.h"
#include "reading.h"
#include "site_losses.h"
#include "spec_text.h"
#include "weir.h"

typedef enum {
    EMIT_NEW,
    EMIT_SEEN,
    EMIT_ALL,
    EMIT_VERDICTS,
    EMIT_ONCE, /* these are known when all was read: dedup_choose() */
    EMIT_REPEATED,
    EMIT_COUNTS
} emit_mode;
typedef enum { STATS_NONE, STATS_TEXT, STATS_JSON } stats_form;

typedef struct {
    reading from;              /* the input, and how it is read */
    const char *source, *sink; /* URLs of brokers' streams, or NULL */
    const char *filter;        /* --filter as given, or NULL */
    site_losses losses;        /* of its sites, while it runs */
    at_settings at;            /* where the filter stands, if not here */
    const char *window, *seed; /* as given, or NULL */
    const char *output;        /* NULL: standard output */
    const char *state;         /* or NULL */
    int64_t lateness;          /* nanoseconds; -1: not given, the window */
    int64_t save_every;        /* nanoseconds */
    uint64_t table_memory;     /* bytes for what is known when all was read */
    uint64_t audit_one_in;     /* keys, one of which is audited */
    stream_action on_late;     /* what becomes of late records */
    emit_mode emit;            /* which records are written */
    stream_compression compression;
    stats_form stats;
    bool compression_given; /* by --compress, else by the name of the output */
    bool until_end;         /* end when the source has nothing more */
    bool keep_last;         /* write the last record of a key, not the first */
    bool resume;
    bool judge_last; /* a last record without its end is judged, though the input may grow */
    bool audit;
    bool exit_code;
    char spec[SPEC_SIZE]; /* of the filter, all options folded in */
} dedup_settings;

/* Is what to write known only when all was read? */
static inline bool dedup_needs_all(const dedup_settings *s) {
    return s->keep_last || s->emit >= EMIT_ONCE;
}

/* Do it; returns the exit code. dedup_choose() does what needs all of the input. */
int dedup_run(const dedup_settings *settings);
int dedup_choose(const dedup_settings *settings);

#endif
