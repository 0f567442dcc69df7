/* live.h - sites on servers, from inside.
 *
 * live.c        opened, joined, closed: which site stands where
 * live_ask.c    one message to a site, its answer, and what failed on the way
 * live_keys.c   a site of whole keys: a filter of weir's module
 * live_places.c a site of places: a plain string
 * live_told.c   what is told of it: events, messages, what servers say
 */
#ifndef WEIR_LIVE_INTERNAL_H
#define WEIR_LIVE_INTERNAL_H

#include "fleet.h"
#include "manifest.h"
#include "slice/site.h"
#include "stall.h"
#include "weir_live.h"

enum {
    LIVE_SITES = MANIFEST_SLICES,
    LIVE_EVENTS = 256,
    LIVE_UNDER_WAY = 65,   /* questions about one key, and one more */
    LIVE_WORDS = 288,      /* of a command: four for each of 64 places, and what goes before */
    LIVE_HEADER_BITS = 128 /* of a string of places: epoch and count, 64 each */
};

/* As the filters have it: the order of "new|seen|wait|stop". */
typedef enum { LIVE_NEW, LIVE_SEEN, LIVE_WAIT, LIVE_STOP } live_rule;

typedef struct {
    weir_live *live;
    weir__site *site;
    size_t number, level;
    live_rule rule;
    bool has_places; /* else whole keys */
    bool weighs;     /* places of a key are weighed by how many live: on-lost=seen, or live */
    char key[160];
    uint16_t slot;
    char spec[MANIFEST_SPEC]; /* whole keys: of the module's filter */
    uint64_t epoch, count;    /* as last seen */
    bool hollow;      /* it came back without what it held: what is off there proves nothing */
    bool silent;      /* that it is lost was said with another at its server */
    bool awaited;     /* it gives no answer, and under on-lost=wait is waited for */
    bool declared;    /* lost because somebody said so; it is not asked */
    int64_t probe_at; /* when a lost one is tried again, on wire_now() */
    /* a question under way */
    fleet_node *asked;     /* or NULL */
    uint64_t connects;     /* of that node's connection, then */
    uint64_t asked_at;     /* ns, on the monotonic clock */
    bool answered, broken; /* what came of it: a reply, or the connection's end */
    wire_reply *reply;
} live_site;

struct weir_live {
    weir_live_options options;
    fleet *fleet;
    manifest plan;
    bool found;
    bool waited; /* for another producer that may be making the sites */
    char *name;
    weir_filter *filter;
    uint64_t opening_bytes; /* on the wire before the first key */
    live_site *sites;
    uint16_t *slots; /* of each site */
    size_t count;
    live_site *under_way[LIVE_UNDER_WAY]; /* whose answers are to come, in this order */
    size_t under_way_count;
    char who[32];
    uint64_t numbers, chance;
    uint64_t changes; /* of the map, when the masters were last looked at */
    size_t share_most;
    uint64_t said; /* lines */
    bool failed;
    weir_error why;
    weir_live_event events[LIVE_EVENTS];
    uint64_t event_count;
    weir_live_stats stats;
};

/* --- messages: live_ask.c -------------------------------------------------------------- */

/* A command under construction; texts of numbers are kept in it. */
typedef struct {
    const char *words[LIVE_WORDS];
    size_t lengths[LIVE_WORDS], count;
    char room[LIVE_WORDS * 12 + 64];
    size_t used;
} live_command;

void live_begin(live_command *c, const char *name, const char *key);
void live_word(live_command *c, const char *word);
void live_bytes(live_command *c, const void *bytes, size_t length);
void live_number(live_command *c, int64_t number);
void live_unsigned(live_command *c, uint64_t number);
void live_hex(live_command *c, uint64_t number);

/* Send now what live_ask() will ask next of this site. */
void live_announce(live_site *s, const live_command *c);

/* The answer, or NULL: the site is lost. *doubtful: an earlier sending may have been done too. */
wire_reply *live_ask(live_site *s, const live_command *c, bool *doubtful);

/* An error that its server gave, in the words of wire_explain(). */
void live_explain(const live_site *s, const wire_reply *error, weir_error *err);

/* It has answered: it is lost no longer. */
void live_recovered(live_site *s);

/* A server refused for good. */
void live_fail(weir_live *live, weir_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The epoch that an answer carries is another than that of the site: it begins again. */
void live_emptied(live_site *s, uint64_t epoch);

/* Its count is below what it was told. */
void live_compare(live_site *s, uint64_t count, uint64_t least);

/* An epoch; again: of a site in the place of one that was lost. */
uint64_t live_draw(weir_live *live, bool again);

/* --- sites ----------------------------------------------------------------------------- */

/* Make the value on the server if it is not there, check it, and move the site there. */
weir_status live_keys_place(live_site *s, weir_error *err);
weir_status live_places_place(live_site *s, weir_error *err);

/* What a site of places takes on its server; WEIR_ERR_RANGE: more than a string may have. */
weir_status live_places_fit(const live_site *s, uint64_t *bytes, weir_error *err);

/* The numbers of weir_live_get_slice(). */
weir_status live_keys_look(live_site *s, weir_remote_slice *out, weir_error *err);
weir_status live_places_look(live_site *s, weir_remote_slice *out, weir_error *err);

/* --- what is told ---------------------------------------------------------------------- */

void live_event(weir_live *live, weir_live_what what, size_t site, uint64_t count);
void live_say(weir_live *live, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As a site has it. */
void live_sent(const weir__site *site, uint64_t *messages, uint64_t *bytes);

/* Look at which sites share a master, if the map has changed. */
void live_look_at_masters(weir_live *live);

#endif
