/* remote_state.h - a remote filter from inside: slices, requests and what is on its way.
 *
 * remote.c       opened, joined, closed; what is told of it
 * requests.c     batches cut into requests, sent, sent again, answered
 * places.c       what is asked instead where slices are ranges of places on plain strings
 * ticket.c       batches as bytes, by which another process asks for their verdicts
 * notes.c        what programs keep beside the filter
 */
#ifndef WEIR_REMOTE_STATE_H
#define WEIR_REMOTE_STATE_H

#include "fleet.h"
#include "manifest.h"
#include "stall.h"
#include "weir_remote.h"
#include "weir_sites.h"

enum { FLIGHTS_MOST = 8, KEYS_MOST = 65536 /* of a batch that the module gives a number */ };

typedef struct {
    char key[160];
    uint16_t slot;
    uint64_t epoch;
    uint64_t offered; /* keys of all producers, by the last answer */
    uint64_t losses;  /* how often it has lost what it held, or some of it */
    uint64_t sent;    /* keys of ours that it judged */
    bool missing;     /* to be made before it is used */
    bool lost;
    bool silent;      /* that it is lost was said with another at its server */
    bool unopened;    /* it gave no answer yet: its epoch is not known */
    bool hollow;      /* it has lost what it held, or some of it, since this object knows it */
    int64_t since;    /* wire_now() of the first failure after the last answer; 0: all is well */
    int64_t probe_at; /* when a lost one is tried again */
} slice;

typedef enum { TO_SEND, SENT, JUDGED /* not yet on replicas */, DONE } request_state;

/* The keys of a batch that belong to one slice; or places that do. */
typedef struct {
    size_t slice, count;
    uint64_t number;
    const uint64_t *hashes;    /* or places of the whole filter */
    const int64_t *times;      /* or NULL */
    const double *importances; /* or NULL */
    const uint32_t *from;      /* where each is in the batch, or among its places */
    request_state state;
    bool repeated;
    unsigned redirections;
    fleet_node *node; /* that it was sent to last */
    fleet_node *ask;  /* where this one is to go in spite of the map */
    int64_t not_before, deadline, sent_at;
    uint64_t sent_ns; /* sent_at on a finer clock */
    uint64_t known; /* what its slice had counted when it was first sent: its answer counts more, */
    uint64_t losses; /* unless the slice has lost something since */
} request;

/* A batch on its way. */
typedef struct {
    size_t count;       /* keys of the batch */
    char who[40];       /* its sender, as the slices know it: no two on their way have the same */
    bool by_ticket;     /* it may have been sent before, by a process that is gone; */
    bool is_fresh;      /* it has not */
    uint64_t *verdicts; /* 1: SEEN */
    request *requests;
    size_t request_count;
    size_t room; /* keys that the arrays have room for */
    uint64_t *hashes;
    int64_t *times;
    double *importances;
    uint32_t *from;
    uint16_t *slice_of;
    struct places_flight *places; /* or NULL */
} flight;

/* The request that a reply of a node answers. */
typedef enum { FOR_REQUEST, FOR_NOTHING, FOR_CREATE, FOR_REPLICAS } reply_kind;
typedef struct {
    reply_kind kind;
    request *request; /* NULL: it was given up */
    size_t slice;
} expected;

typedef struct {
    expected *replies; /* a ring */
    size_t room, first, count;
    bool dirty;          /* something was appended */
    bool replicas_short; /* said, and not taken back */
    int64_t heard;
} node_queue;

struct weir_remote {
    weir_remote_options options;
    char *url, *name;
    fleet *fleet;
    manifest plan;
    bool found;
    bool waited;        /* for another producer that may be making the slices */
    bool notes_short;   /* the last note was not on as many replicas as were asked for */
    int64_t opening_ms; /* patience with a slice that is opened */
    char slice_spec[MANIFEST_SPEC];
    weir_filter *twin, *leaf;
    uint64_t seed;
    weir_cut cut;      /* by places; k = 0: slices are filters of the module */
    unsigned live;     /* of a key's places: so many must live for SEEN */
    char who[32];      /* this producer; a lane is added */
    uint64_t claimant; /* the same in the claims of places.c */
    uint64_t numbers;
    uint64_t ticketed; /* the highest number of a ticket of ours that was sent */
    slice *slices;
    flight flights[FLIGHTS_MOST];
    size_t first_flight, flight_count;
    bool failed; /* for good: `why` */
    weir_error why;
    weir_remote_stats stats;
    uint64_t changes; /* of the map, when the masters were last looked at */
    size_t said_most; /* slices at one master, as last said */
    uint64_t losses;  /* of all three kinds, so far */
    stall stall;      /* while a batch is waited for */
    size_t stalled;   /* the slice that failed first meanwhile, or answered last */
};

/* Add what is asked of each to the counters, and tell the caller. */
void remote_say(weir_remote *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Look at which slices share a master, if the map has changed: slices of places are to fail one by
 * one, and others are to be spread evenly. */
void remote_look_at_masters(weir_remote *r);

void requests_release(weir_remote *r);

/* The flight that is to be the next on its way. */
flight *requests_next(weir_remote *r);

/* Room for so many keys. WEIR_ERR_MEMORY. */
weir_status requests_make_room(weir_remote *r, flight *f, size_t count, weir_error *err);

/* Ask the local filter, and cut the rest of a batch into requests. */
weir_status requests_cut(weir_remote *r, flight *f, const weir_batch *batch, weir_error *err);

/* Something else is to be asked over the same connections: answers to requests that were given up
 * are taken, and a server that owes some still is connected to anew. WEIR_ERR_RANGE: batches are on
 * their way. */
weir_status requests_settle(weir_remote *r, weir_error *err);

/* Send what was cut. */
void requests_go(weir_remote *r, flight *f);

/* A slice is lost: say so, unless that was said. And it answers: say so if it was lost. */
void requests_say_lost(weir_remote *r, size_t i, const char *why);
void requests_recovered(weir_remote *r, slice *s);

/* A slice has lost what it held, or some of it: with on_lost=stop that is the end, WEIR_ERR_IO. */
weir_status requests_may_go_on(const weir_remote *r, size_t i, const char *what, weir_error *err);

/* Until when a request to a slice may stay without an answer, if the slice is lost. */
int64_t slice_deadline(const slice *s);

#endif
