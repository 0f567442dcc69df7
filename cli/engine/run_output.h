/* run_output.h - the output of a run, whole or as it was. */
#ifndef WEIR_RUN_OUTPUT_H
#define WEIR_RUN_OUTPUT_H

#include "dedup.h"

typedef struct {
    stream_writer *writer;
    const char *name;  /* as the user gave it, for messages */
    char *path;        /* of the file, links resolved; NULL: a pipe, a device, standard output */
    char *temporary;   /* where the bytes are until the first commit; NULL: at `path` */
    char *previous;    /* where the old file is between the first commit and it is kept */
    stream_mark mark;  /* everything before it is committed */
    stream_mark stays; /* everything before it is kept */
    bool kept;         /* something is */
    bool active;       /* the file is ours to undo */
    int guards[2];     /* locks on the temporary file and the previous one */
    unsigned guard_count;
    uint64_t before; /* bytes that others had written there already */
} run_output;

/* Would an output of this name be a file of its own? Not a pipe, a device or the name of an open
 * descriptor; NULL is standard output. */
bool run_output_is_file(const char *path);

/* Open it. With `resume` an existing file is cut back to that point and
 * continued. 0, or EXIT_TROUBLE after a message. */
int run_output_open(run_output *output, const dedup_settings *settings, bool background,
                    const stream_mark *resume);

/* Make everything written so far count: flushed, with `sync` onto the disk, and
 * in place under its own name. */
stream_status run_output_commit(run_output *output, bool sync, stream_error *err);

/* Keep committed output: the state that counts it is saved, or there is no state. */
void run_output_keep(run_output *output);

/* End well: commit, keep, close. Or end badly: leave what was kept and nothing
 * else, the old file if nothing was. Both release the output. */
stream_status run_output_close(run_output *output, stream_error *err);
void run_output_abandon(run_output *output);

/* For a signal handler that has no time: remove the temporary file, if any. */
void run_output_remove_temporary(void);

#endif
