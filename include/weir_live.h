/* weir_live.h - a `horizontal`, `vertical` or `tree` filter whose sites stand on servers.
 * (experimental)
 *
 * The filter is the one of this process, and weir_filter_offer_batch() judges by it as ever; but
 * its sites are asked by messages. Each message is one command, which a server does whole or not at
 * all:
 *
 *   - slices of `horizontal` and nodes of `tree` are filters of weir's module (WEIR.ADDHASH,
 *     WEIR.TESTHASH);
 *   - slices of `vertical` are plain strings, for servers without the module (BITFIELD: its GET
 * tests places, its SET tests and sets them);
 *   - leaves of a `tree` stay here, unless leaves_on_servers is set.
 *
 * A key at a time goes its way, as in the paper: that is for what has few messages or must be
 * seen message by message. weir_remote.h sends batches, and is the one to take for `horizontal`.
 *
 *     weir_live *live;
 *     weir_live_open(&live, "redis+cluster://h1/clicks",
 *                    "vertical:slices=8,probe=pipeline,live=3,memory=64M", &options, &err);
 *     weir_filter_offer_batch(weir_live_filter(live), &batch, verdicts);
 *     weir_live_close(live);
 *
 * What a site loses is of three kinds: it gives no answer; it is there but empty; a replica took
 * over that lacks writes. Each site carries an epoch, drawn when it was made, and a count of what
 * it was told to set, and every answer brings both, so that each is noticed with the first answer
 * after it. While a site gives no answer its keys are judged by the filter's rules (on-lost, live,
 * rule). At a range of places that came back empty or without writes, a place that is off proves
 * nothing under on-lost=seen or live: it counts as lost. Under on-lost=new, and at filters of whole
 * keys, what was forgotten is new. on-lost=stop ends with any of the three.
 *
 * One object and its filter must not be used from two threads at once.
 */
#ifndef WEIR_LIVE_H
#define WEIR_LIVE_H

#include <weir_remote.h>
#include <weir_sites.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_live weir_live;

typedef struct {
    weir_remote_options servers; /* access, lost_ms, say, stop; on_lost is in the spec */
    bool leaves_on_servers;      /* of a tree that is made: so that several processes can share a
                                  * leaf, or doubt (down) can reach those of others. Who joins finds
                                  * out where they are */
    bool look; /* join and make nothing: only weir_live_get_slice() works then, and the spec */
} weir_live_options;

/* Join the filter that is there under the name, whatever `spec` says, or make it. NULL: join. What
 * is there is checked site by site: shape, seed, hash, places of a key. WEIR_ERR_SPEC,
 * WEIR_ERR_RANGE, WEIR_ERR_UNSUPPORTED: the spec or the address; WEIR_ERR_MISMATCH: what is there
 * is something else; WEIR_ERR_IO: no server, or it refuses; WEIR_ERR_MEMORY. */
WEIR_EXPERIMENTAL weir_status weir_live_open(weir_live **out, const char *url, const char *spec,
                                             const weir_live_options *options, weir_error *err);
WEIR_EXPERIMENTAL void weir_live_close(weir_live *live); /* NULL is allowed; its filter goes too */

/* The filter; offer to it and test. weir_filter_get_traffic() has the messages. */
WEIR_EXPERIMENTAL weir_filter *weir_live_filter(weir_live *live);

/* False: a server refused for good, or on-lost=stop; *err says why. Verdicts since then are NEW. */
WEIR_EXPERIMENTAL bool weir_live_good(const weir_live *live, weir_error *err);

/* As weir_remote_clock(). */
WEIR_EXPERIMENTAL weir_status weir_live_clock(weir_live *live, int64_t *ahead, weir_error *err);

/* What happened to a site, and when. */
typedef enum {
    WEIR_LIVE_SILENT,  /* no answer for lost_ms */
    WEIR_LIVE_BACK,    /* answers again, as it was */
    WEIR_LIVE_EMPTY,   /* was gone, and begins again empty */
    WEIR_LIVE_REWOUND, /* lacks writes that it had */
    WEIR_LIVE_TOPOLOGY /* sites have changed masters; `count` of them now share one */
} weir_live_what;
typedef struct {
    int64_t time; /* ns since 1970 */
    weir_live_what what;
    size_t site;
    uint64_t count;   /* REWOUND: keys, at least */
    char server[160]; /* that has it now */
} weir_live_event;

/* The first 256 of them; *all (may be NULL): how many there were. */
WEIR_EXPERIMENTAL const weir_live_event *weir_live_events(const weir_live *live, size_t *kept,
                                                          uint64_t *all);

/* Messages by level: 0 is the root, or all slices. */
enum { WEIR_LIVE_LEVELS = 8 };
typedef struct {
    size_t sites;                        /* on servers */
    size_t masters;                      /* that have any of them */
    size_t share_most;                   /* sites at the master that has most: they fail together */
    size_t lost;                         /* now */
    uint64_t messages[WEIR_LIVE_LEVELS]; /* sent to sites of a level */
    uint64_t nanoseconds[WEIR_LIVE_LEVELS];        /* waited for their answers */
    uint64_t commands, bytes_sent, bytes_received; /* on the wire, all of them */
    uint64_t silent, emptied, rewound, keys_rewound;
    uint64_t doubtful;  /* messages whose answer was lost, and that were sent again: their keys are
                         * NEW  where the second answer cannot tell */
    uint64_t positions; /* bytes that messages to sites had in hashes or positions alone */
} weir_live_stats;
WEIR_EXPERIMENTAL void weir_live_get_stats(const weir_live *live, weir_live_stats *stats);

/* Site i on the servers, as its server sees it; *level: of a tree, 0 is the root. What is not known
 * of places is 0. Fails with WEIR_ERR_RANGE or WEIR_ERR_IO. */
WEIR_EXPERIMENTAL weir_status weir_live_get_slice(weir_live *live, size_t i,
                                                  weir_remote_slice *slice, size_t *level,
                                                  weir_error *err);

/* As weir_remote_get_server(). */
WEIR_EXPERIMENTAL weir_status weir_live_get_server(weir_live *live, size_t i,
                                                   weir_remote_server *server, weir_error *err);

#ifdef __cplusplus
}
#endif

#endif
