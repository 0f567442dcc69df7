/* lab_live.h - one filter twice: on servers, and in this process. */
#ifndef LAB_LIVE_H
#define LAB_LIVE_H

#include "lab_log.h"
#include "lab_servers.h"
#include "weir_live.h"

typedef struct {
    weir_live *live;
    weir_filter *there, *here; /* the first is that of `live` */
} lab_twins;

/* Both by one spec, under the unit's seed. */
weir_status lab_twins_open(lab_unit *unit, lab_twins *twins, const lab_servers *servers,
                           const char *name, const char *spec, bool leaves_on_servers);
void lab_twins_close(lab_twins *twins);

/* What both said of records from..to-1, and on how many they differ. */
typedef struct {
    lab_errors there, here;
    double apart;
} lab_twin_errors;

/* The same records to both, one at a time; false: stop, or the servers have failed for good. */
bool lab_twins_offer(lab_unit *unit, const lab_twins *twins, const lab_log *log, size_t from,
                     size_t to, lab_twin_errors *errors);

/* The sites of these servers are lost here too. */
weir_status lab_twins_lose(lab_unit *unit, const lab_twins *twins, const lab_servers *servers,
                           size_t first, size_t end);

/* What the servers with sites counted since it was last asked (INFO): Jain's index of their
 * commands, and the largest share, in percent. */
typedef struct {
    double commands[LAB_SERVERS_MOST];
} lab_load;
void lab_load_begin(const lab_twins *twins, lab_load *load);
void lab_load_end(const lab_twins *twins, const lab_load *load, double *fairness, double *greatest);

/* The first `most` records of the case's stream, with their own truth. */
weir_status lab_log_open_first(lab_log *log, lab_unit *unit, size_t most);

#define LIVE_MANNER                                                                                \
    "Servers are started for it on 127.0.0.1, primaries of one cluster; a slice is a value on "    \
    "one "                                                                                         \
    "of them, a key a message. The same keys go to the same filter in this process. "

#endif
