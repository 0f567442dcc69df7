/* count_shelf.h - sketches of `weir count` that stand on servers: `--at URL`, and addresses in
 * `weir merge` and `weir inspect`. */
#ifndef WEIR_COUNT_SHELF_H
#define WEIR_COUNT_SHELF_H

#include "at.h"
#include "weir.h"

typedef struct count_shelf count_shelf;

/* Reach the servers. EXIT_TROUBLE after a message. */
int count_shelf_open(count_shelf **out, const char *url, const at_settings *at);
void count_shelf_close(count_shelf *shelf); /* NULL is allowed */

/* Has anybody made sketches there? */
bool count_shelf_exists(const count_shelf *shelf);

/* What is there as a snapshot, as a state file would have it; the caller frees it. Sketches to
 * which nothing was pushed yet are empty. EXIT_TROUBLE after a message. */
int count_shelf_read(count_shelf *shelf, weir_snapshot **out);

/* Make sketches like these, with a note; or find those that somebody was quicker to make. */
int count_shelf_make(count_shelf *shelf, const weir_sketch *const *sketches,
                     const char *const *names, size_t count, const void *note, size_t length);

/* Add a sketch to the one of that name. */
int count_shelf_push(count_shelf *shelf, const char *name, const weir_sketch *sketch);

#endif
