/* progress.h - one line that shows how a run is doing. */
#ifndef WEIR_PROGRESS_H
#define WEIR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF } progress_mode;

/* AUTO shows it if standard error is a terminal. total: bytes of input, or 0
 * if not known. done: bytes that an earlier run has read. */
void progress_start(progress_mode mode, uint64_t total, uint64_t done);

/* Tell how far it is; cheap, call it after every batch. seen: PROGRESS_NO_REPEATS
 * where there is no such thing. */
#define PROGRESS_NO_REPEATS UINT64_MAX
void progress_update(uint64_t records, uint64_t seen, uint64_t bytes);

/* The same for work that is not records: `what` stands first, done and the total
 * of progress_start() are in any unit. */
void progress_step(const char *what, uint64_t done);

bool progress_is_on(void);

/* Remove the line from the screen, before something else is written there. */
void progress_clear(void);

#endif
