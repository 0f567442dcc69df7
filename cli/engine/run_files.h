/* run_files.h - the files that a run reads, and how a later run knows them again. */
#ifndef WEIR_RUN_FILES_H
#define WEIR_RUN_FILES_H

#include "reading.h"

/* A file as it was when the run began, or at the last save, and how far it was read. */
typedef struct {
    char *path;
    char *name; /* its path in the list, if it was renamed since; else NULL */
    uint64_t device, inode;
    uint64_t size;           /* bytes, as they lie on the disk; 0 for what is no file */
    uint64_t head, tail;     /* hashes of the first and the last of them */
    uint64_t offset, record; /* bytes and records of its content that are done */
    bool ended;              /* it was read to its end */
    bool open_end;           /* its last record had no end, and was judged all the same */
} run_file;

typedef struct {
    run_file *list;
    size_t count;
    const char **paths;   /* of the list, for stream_open() */
    stream_start *starts; /* of the list, for stream_options; NULL: all from their beginnings */
} run_files;

/* Look at the files of a command line. false if memory is out. */
bool run_files_look(run_files *files, const reading *from, const weir_filter *filter);

/* The run has come to a place, where a record without its end may have been judged. */
void run_files_reach(run_files *files, const stream_position *place, bool open_end);

/* A save is due: the file that is being read may have grown since it was looked at, and with
 * `complete` it has ended. */
void run_files_mark(run_files *files, bool complete, const weir_filter *filter);

/* Go on with files that another run left so. Files are known by device, inode and content,
 * or by name and content; one that was renamed in its folder is put before all others, as long
 * as its path of then is in the list. If the run cannot go on, `difference` says why, as "its
 * input 'a' has changed since". */
bool run_files_continue(run_files *files, const run_files *then, const weir_filter *filter,
                        char *difference, size_t size);

void run_files_release(run_files *files);

#endif
