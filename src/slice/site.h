/* site.h - one place that holds a piece of a filter.
 *
 * A composition reaches its pieces by these calls alone, so that a piece may stand in
 * this process or elsewhere. A site holds whole keys, in a filter of its own, or a
 * range of the places of one filter. It may be lost at any time: then it gives no
 * answer, and the composition knows what that means for a key.
 *
 * Here are the two kinds that stand in this process. remote/live/ has two that stand on servers.
 */
#ifndef WEIR_SLICE_SITE_H
#define WEIR_SLICE_SITE_H

#include <pthread.h>
#include <stdatomic.h>

#include "filter/filter.h"

typedef struct weir__site weir__site;

typedef enum {
    WEIR__ANSWER,
    WEIR__NO_ANSWER, /* it is lost: nothing was tested, nothing set */
    WEIR__NOT_NOW,   /* it is busy, and the caller would not wait */
} weir__answer;

/* Each call is one message to the site. Safe beside other threads. */
typedef struct {
    /* Whole keys; *seen is how many were SEEN. */
    weir__answer (*offer)(weir__site *site, const weir_batch *batch, bool waiting,
                          uint64_t *verdicts, size_t *seen);
    weir__answer (*test)(weir__site *site, const weir_batch *batch, bool waiting,
                         uint64_t *verdicts, size_t *seen);

    /* Places of one key, at most 64 and all of this site; bit i of *on: place i is on, or was.
     * Timers that are set start again. */
    weir__answer (*test_places)(weir__site *site, const uint64_t *places, size_t count,
                                uint64_t *on);
    weir__answer (*set_places)(weir__site *site, const uint64_t *places, size_t count,
                               uint64_t *on);

    /* Optional: that same question follows. A site that is elsewhere is sent it now, so that
     * several are asked at once; the answers are then taken in the order of the questions. */
    void (*announce)(weir__site *site, const uint64_t *places, size_t count, bool setting);

    /* Of a site that is elsewhere: what was really sent to all sites of its filter. */
    void (*sent)(const weir__site *site, uint64_t *messages, uint64_t *bytes);

    void (*describe)(weir__site *site, weir_site_info *info); /* alive, memory, fill */
    void (*put)(weir__site *site, weir_site_state state);
} weir__site_kind;

struct weir__site {
    const weir__site_kind *kind;
    weir_filter *filter;  /* its own, or the one that it has a range of */
    pthread_mutex_t lock; /* of a filter of its own: held while that is used */
    atomic_bool lost;
    uint64_t first, end; /* of a range of places */
    void *host;          /* of a site that is elsewhere: whatever its kind needs */
};

void weir__site_own(weir__site *site);
void weir__site_range(weir__site *site, weir_filter *whole, uint64_t first, uint64_t end);

static inline bool weir__site_lost(const weir__site *site) {
    return atomic_load_explicit(&site->lost, memory_order_acquire);
}

#endif
