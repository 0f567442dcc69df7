/* weir_sites.h - filters that are spread over sites. (experimental)
 *
 * The filters `horizontal`, `vertical` and `tree` are spread over sites, each of
 * which holds a part and can be lost. Several threads may offer and test at once:
 * of two that offer the same key exactly one is told NEW, as long as no site is
 * lost: what is offered meanwhile is not known to it when it comes back. Which sites
 * are lost is not saved: in a loaded filter all are alive. These functions are
 * thread-safe on one object.
 *
 * Contents:
 *
 *   1. Sites     how many, their state, lose one and bring it back
 *   2. Traffic   messages and bytes between the sites
 *   3. Places    what a client needs that keeps the ranges of `vertical` elsewhere
 *   4. Planning  how to spread a filter so that lost sites do little harm
 */
#ifndef WEIR_SITES_H
#define WEIR_SITES_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. Sites
 * ------------------------------------------------------------------------ */

typedef enum {
    WEIR_SITE_ALIVE,
    WEIR_SITE_LOST, /* it does not answer; what it holds stays as it is */
    WEIR_SITE_EMPTY /* alive again, but it has forgotten everything */
} weir_site_state;

typedef struct {
    bool alive;
    size_t level;    /* of a tree: 0 is the root */
    size_t parent;   /* of a tree: number of the site above, SIZE_MAX for the root */
    uint64_t asked;  /* keys on which it was asked, or (vertical) messages */
    uint64_t seen;   /* of these, answered SEEN */
    uint64_t memory; /* bytes */
    double fill;     /* 0 to 1 */
} weir_site_info;

/* How many sites there are; 0 for a filter of one piece. */
WEIR_EXPERIMENTAL size_t weir_filter_sites(const weir_filter *filter);

/* Site i, or the state of it. Fail with WEIR_ERR_RANGE. */
WEIR_EXPERIMENTAL weir_status weir_filter_get_site(const weir_filter *filter, size_t i,
                                                   weir_site_info *info, weir_error *err);
WEIR_EXPERIMENTAL weir_status weir_filter_set_site(weir_filter *filter, size_t i,
                                                   weir_site_state state, weir_error *err);

/* ------------------------------------------------------------------------
 * 2. Traffic
 * ------------------------------------------------------------------------ */

typedef struct {
    size_t sites, lost;
    uint64_t keys;     /* offered and tested */
    uint64_t messages; /* to sites, for testing and for setting */
    uint64_t bytes;    /* in these: positions, or hashes, and answers; on servers, whole commands */
    double fairness;   /* Jain's index of `asked` over the sites of the last level: 1 is even */
    double greatest;   /* share of the busiest of these */
} weir_traffic;

/* With sites on servers (weir_live.h) messages and bytes are those that were sent and received
 * since it was opened, all of them. With sites in this process they are what would have been sent,
 * a message for each key that a site is asked about. Fails with WEIR_ERR_UNSUPPORTED. */
WEIR_EXPERIMENTAL weir_status weir_filter_get_traffic(const weir_filter *filter,
                                                      weir_traffic *traffic, weir_error *err);

/* From now on what is tested and not offered is left out of the traffic, so that a test changes
 * nothing that is saved. Loading and cloning do not keep that. Nothing happens to a filter of
 * one piece. */
WEIR_EXPERIMENTAL void weir_filter_hide_tests(weir_filter *filter);

/* ------------------------------------------------------------------------
 * 3. Places
 * ------------------------------------------------------------------------ */

/* How a `vertical` filter is cut, and how it asks. Slice s has the places from
 * ceil(s * places / slices) to before ceil((s + 1) * places / slices). */
typedef struct {
    uint64_t places;  /* of the whole filter */
    size_t slices;    /* equal ranges of these */
    unsigned k, live; /* places of a key; of these to live for SEEN */
    bool letter;      /* rule=letter: `live` counts places that are on */
    bool pipeline;    /* slices are asked one by one, until a place is off */
    bool at_once;     /* places are tested and set in one message */
    bool timers;      /* places are timers, and not bits */
} weir_cut;

/* Fails with WEIR_ERR_UNSUPPORTED: the filter is not cut by places. */
WEIR_EXPERIMENTAL weir_status weir_filter_get_cut(const weir_filter *filter, weir_cut *cut,
                                                  weir_error *err);

/* The k places of a key, in the order in which a pipeline asks. Only for a filter that
 * weir_filter_get_cut() knows. */
WEIR_EXPERIMENTAL void weir_filter_find_places(const weir_filter *filter, uint64_t hash,
                                               uint64_t *places);

/* ------------------------------------------------------------------------
 * 4. Planning
 * ------------------------------------------------------------------------ */

/* How to spread a filter over sites of which some may be lost at once, so that fpr
 * holds then too: by keys (`horizontal`), and by places (`vertical`) with the best k
 * and rule of live places. best is set in that which lets at most `fnr` of the repeats
 * pass while sites are lost and holds more keys, or else lets fewer pass. Thread-safe.
 * Fails with WEIR_ERR_RANGE. */
typedef struct {
    double sites, lost;
    uint64_t memory; /* of all sites together */
    double fpr, fnr;
} weir_sites_question;

typedef struct {
    bool vertical, best;
    unsigned k, live; /* by places: of a key; of these to live for SEEN */
    double keys;      /* that fit: at most a few in a hundred are pushed out */
    double messages;  /* to sites for a repeat, on average; a new key costs up to twice that */
    double fpr;       /* while all are there */
    double fpr_lost, fnr_lost; /* while sites are lost */
} weir_sites_choice;

WEIR_EXPERIMENTAL weir_status weir_plan_sites(const weir_sites_question *question,
                                              weir_sites_choice *across, weir_sites_choice *down,
                                              weir_error *err);

/* A filter on the primaries of a cluster (weir_remote.h): how many slices, how many replicas, and
 * whether to wait for them. Pure arithmetic, as the comments say. Thread-safe. Fails with
 * WEIR_ERR_RANGE: not one key fits, or slices would be too large to be moved. */
typedef struct {
    double nodes;    /* that hold slices; each may have replicas on further ones */
    double rate;     /* records a second, of all producers; 0: not known */
    double gone;     /* share of the time in which a node is not there, replica or not */
    uint64_t memory; /* of all nodes together, without replicas */
    double fpr;
    double fnr; /* share of the repeats that may pass because of nodes that are gone */
} weir_servers_question;

typedef struct {
    double slices, slice_memory; /* as many for each node, and each as small as it can be moved */
    double replicas;             /* of each node: the least so that `passes` is below fnr */
    bool wait;         /* for a replica, as a failover would else forget too large a share */
    double keys;       /* that all nodes remember */
    double passes;     /* share of the repeats that pass as no copy of their slice is there:
                        * gone ^ (replicas + 1) */
    double lost;       /* but for one thousandth of the time at most so many slices of a node are
                        * without a copy at once, of `nodes` */
    double node_keys;  /* a second, to a node */
    double node_bytes; /* the same on the wire */
    double forgotten;  /* keys that a failover forgets at most if nobody waits */
    double forgotten_part; /* of what a node remembers */
} weir_servers_plan;

WEIR_EXPERIMENTAL weir_status weir_plan_servers(const weir_servers_question *question,
                                                weir_servers_plan *plan, weir_error *err);

/* The least numbers of sites, by keys and by places with k of a key, with which losing `lost` of
 * them keeps the rate of false positives below `most`, where lost sites count as SEEN and `fpr` is
 * the rate while all are there (S_f of definition 3). Thread-safe. Fails with WEIR_ERR_RANGE. */
WEIR_EXPERIMENTAL weir_status weir_plan_least_sites(double lost, double fpr, double most,
                                                    unsigned k, double *across, double *down,
                                                    weir_error *err);

#ifdef __cplusplus
}
#endif

#endif
