/* stopping.h - SIGINT, SIGTERM and SIGHUP ask a run to stop in order. */
#ifndef WEIR_STOPPING_H
#define WEIR_STOPPING_H

#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "stream.h"

/* The signal that was caught, or 0. A loop looks at it between batches, and
 * the program leaves with 128 plus its number. */
extern volatile sig_atomic_t stopping_signal;

/* Begin to catch. A second signal, a tenth of a second or more after the first, leaves at once,
 * after `last_words` (which must be safe in a signal handler; NULL: none). SIGPIPE is ignored:
 * writing says EPIPE, and a loop ends in order. */
void stopping_catch(void (*last_words)(void));

/* A reader whose wait is cut short by a signal; NULL before it is closed. */
void stopping_interrupts(stream_reader *reader);

int64_t clock_now(clockid_t clock); /* ns */

#endif
