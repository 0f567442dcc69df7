/* lab_file.h - the lines of a file, as ids (for lab_stream.c) or as text. */
#ifndef LAB_FILE_H
#define LAB_FILE_H

#include "lab_stream.h"

typedef struct lab_file lab_file;

enum { LAB_PAGES = 1, LAB_REQUESTS = 2 };

/* The part of a line that is its key. */
typedef struct {
    int first, last, also; /* columns first..last and also `also`; all 0: the line */
    char split;            /* between columns: '\t' or ' ' */
    /* Block traces: column 1 is a page, column 2 how many follow on it. LAB_PAGES
     * gives each page, LAB_REQUESTS the first one, tagged with their number. */
    int pages;
    int tag; /* a column with a number, the tag of the record; 0: none */
} lab_recipe;

/* A real stream by name: its file, in the folder of lab_data_path(), and its recipe. */
typedef struct {
    const char *name, *file;
    lab_recipe recipe;
} lab_real;

const lab_real *lab_real_find(const char *name);

/* Open its file. */
weir_status lab_real_open(lab_file **out, const lab_real *real, weir_error *err);

weir_status lab_file_new(lab_file **out, const char *path, const lab_recipe *recipe,
                         weir_error *err);
void lab_file_free(lab_file *file);
/* tags: of requests, or the recipe's; NULL if they are not wanted. */
size_t lab_file_next(lab_file *file, uint64_t *ids, uint64_t *tags, size_t n);

/* The text of the next line's columns first..last, without its end; NULL past the
 * last line. It lives until the next call. */
const char *lab_file_text(lab_file *file, size_t *length);

weir_status lab_file_check(const lab_file *file, weir_error *err);

#endif
