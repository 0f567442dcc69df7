/* accuracy_surprise.h - seeds and twice the memory, on the reference streams. */
#ifndef LAB_ACCURACY_SURPRISE_H
#define LAB_ACCURACY_SURPRISE_H

#include "accuracy_drawn.h"

#define ACCURACY_SURPRISES 36 /* cells for each stream: memories times rates */

typedef struct {
    const char *stream;
    size_t bytes;
    double fpr;
    accuracy_spread spread;
    double half; /* mean at half the memory */
    bool worse;  /* than that */
} accuracy_surprise;

/* The stream's hashes are ids here: each seed hashes them anew. */
void accuracy_surprise_run(const accuracy_setup *setup, const char *extra,
                           const accuracy_stream *stream, accuracy_surprise *cells);

bool accuracy_surprise_holds(const accuracy_surprise *cells, size_t count);

/* The sum, and a line for each cell that does not hold, begun with `gap`. */
void accuracy_surprise_print(const accuracy_surprise *cells, size_t count, const char *gap);

#endif
