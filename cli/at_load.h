/* at_load.h - what the servers of `--at` say that they have done (INFO). */
#ifndef WEIR_AT_LOAD_H
#define WEIR_AT_LOAD_H

#include "at.h"

/* Load of the servers that have slices: the first 64 one by one, sums over all. */
enum { AT_SERVERS_SHOWN = 64 };
typedef struct {
    weir_remote_server servers[AT_SERVERS_SHOWN];
    size_t count;              /* that gave an answer */
    double fairness, greatest; /* Jain's index of their commands, and the largest share */
} at_load;

/* From the first call on it is counted. */
at_load at_ask_load(const at_filter *f);

void at_load_text(FILE *out, const at_load *load);
void at_load_json(FILE *out, const at_load *load);

#endif
