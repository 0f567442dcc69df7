/* lab_book.h - the results of a folder: every unit of work that was ever done. */
#ifndef LAB_BOOK_H
#define LAB_BOOK_H

#include "lab_experiment.h"

typedef struct lab_book lab_book;

/* The result of a unit of work. */
typedef struct {
    char experiment[48];
    bool full;
    size_t index; /* of the case */
    uint64_t seed;
    double seconds; /* of a processor that it took */
    size_t rows, columns;
    double *values; /* rows x columns */
} lab_entry;

/* Read DIR/results. make: create the folder and the file if they are not there.
 * Fails with WEIR_ERR_IO, WEIR_ERR_VERSION (another format), WEIR_ERR_CORRUPT. */
weir_status lab_book_open(lab_book **out, const char *dir, bool make, weir_error *err);
void lab_book_close(lab_book *book);

/* What a unit gave under the code of this program; NULL if it has not been run.
 * Valid until the next lab_book_add(). */
const lab_entry *lab_book_find(const lab_book *book, const lab_experiment *experiment, bool full,
                               size_t index, uint64_t seed);

/* Keep what a unit gave: one line, written at once. */
weir_status lab_book_add(lab_book *book, const lab_unit *unit, weir_error *err);

/* Entries that were left by other versions of the code. */
size_t lab_book_stale(const lab_book *book);

/* The code that an experiment's numbers depend on, as 16 hexadecimal digits. */
const char *lab_code_of(const lab_experiment *experiment, char code[17]);

#endif
