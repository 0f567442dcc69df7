/* recent_window.h - the lines of `recent` when it forgets by age.
 *
 * Used by recent.c alone, when the option `window` is given; explained in
 * recent_window.c.
 */
#ifndef WEIR_FILTER_RECENT_WINDOW_H
#define WEIR_FILTER_RECENT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* How the lines are written. */
typedef struct {
    uint64_t tick;       /* records or nanoseconds */
    uint32_t ticks;      /* that an entry is good for, the one it came in included */
    uint32_t stamps;     /* that there are */
    unsigned stamp_bits; /* of one */
    unsigned groups;     /* in a line */
    unsigned slots;      /* in a group */
    unsigned bits;       /* of a fingerprint */
    uint64_t quota;      /* lines to sweep in each tick */
} window_form;

enum { WINDOW_RUN_WORDS = 256 }; /* 64 runs each, in 2 KiB: of 256 MiB a run is 16 KiB */

typedef struct {
    uint64_t lines;
    bool renew;
    bool has_fine;      /* a filter begins with the fine form */
    window_form fine;   /* while there is room */
    window_form coarse; /* when it was pressed */

    /* Runs of lines that were swept and had nothing in them: the next sweep leaves them out. A bit
     * that is not set says nothing, so those of a filter that was loaded may begin as 0. */
    unsigned run;    /* a bit stands for 2^run lines */
    uint64_t clean;  /* lines right before the next one to be swept that have nothing in them */
    uint64_t *empty; /* WINDOW_RUN_WORDS words, of the filter */
} window_plan;

enum { WINDOW_NO_TIME, WINDOW_FINE, WINDOW_COARSE }; /* values of window_state.form */

/* All 64-bit words: part of a filter's state. */
typedef struct {
    uint64_t form;      /* of all lines; WINDOW_NO_TIME: no record has come */
    uint64_t now;       /* the current tick */
    uint64_t sweep;     /* the next line to be swept */
    uint64_t swept;     /* of this tick's quota */
    uint64_t held;      /* slots in use, dead ones that are not swept yet included */
    uint64_t forgotten; /* live entries that had to go */
    uint64_t records;   /* offered so far: the clock of a window of records */
} window_state;

/* span: the window in records or nanoseconds, at least 1. */
void weir__window_plan(window_plan *plan, uint64_t lines, double fpr, uint64_t span, bool is_time,
                       bool renew);

/* The form that the lines have, or will have when a record comes. */
const window_form *weir__window_form(const window_plan *plan, const window_state *state);

/* at: the record's number or time. Times that run backwards count as the latest. */
bool weir__window_offer(uint8_t *cells, window_plan *plan, window_state *state, uint64_t hash,
                        int64_t at);
bool weir__window_test(const uint8_t *cells, const window_plan *plan, const window_state *state,
                       uint64_t hash, int64_t at);

/* The chance that a new key is called SEEN, from the slots in use. */
double weir__window_fpr(const window_plan *plan, const window_state *state);

/* Slots in use, counted. */
uint64_t weir__window_held(const uint8_t *cells, const window_plan *plan,
                           const window_state *state);

#endif
