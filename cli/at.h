/* at.h - `--at URL`: the filter stands on Redis or Valkey servers.
 *
 * Rows for the table of a command, what they say, and the remote filter behind a run: it gives
 * verdicts on batches as a filter in this process does.
 */
#ifndef WEIR_AT_H
#define WEIR_AT_H

#include <stdio.h>

#include "opts.h"
#include "weir_live.h"
#include "weir_remote.h"

enum {
    AT_URL = 2000,
    AT_ON_LOST,
    AT_LOST_AFTER,
    AT_DURABILITY,
    AT_LOCAL,
    AT_SLICES,
    AT_LEAF,
    AT_LEAVES,
    AT_PASSWORD,
    AT_CA,
    AT_CERT,
    AT_KEY
};

#define AT_GROUP "Servers"
/* How to reach the servers of an address. */
#define AT_ACCESS_ROWS                                                                             \
    {AT_PASSWORD,                                                                                  \
     "password-file",                                                                              \
     0,                                                                                            \
     OPT_VALUE,                                                                                    \
     "FILE",                                                                                       \
     NULL,                                                                                         \
     NULL,                                                                                         \
     AT_GROUP,                                                                                     \
     false,                                                                                        \
     "The password for the servers: the first line of FILE.",                                      \
     "Without it `WEIR_PASSWORD` or `REDISCLI_AUTH` in the environment. It is never taken "        \
     "from the command line, which everybody can read."},                                          \
        {AT_CA,                                                                                    \
         "ca-file",                                                                                \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "FILE",                                                                                   \
         NULL,                                                                                     \
         "the system's",                                                                           \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "Who signs the certificates of TLS servers (PEM).",                                       \
         NULL},                                                                                    \
        {AT_CERT, "cert-file",                                                                     \
         0,       OPT_VALUE,                                                                       \
         "FILE",  NULL,                                                                            \
         NULL,    AT_GROUP,                                                                        \
         false,   "The certificate that we show to TLS servers (PEM).",                            \
         NULL},                                                                                    \
    {                                                                                              \
        AT_KEY, "key-file", 0, OPT_VALUE, "FILE", NULL, NULL, AT_GROUP, false,                     \
            "Its private key (PEM).", NULL                                                         \
    }

#define AT_ROWS                                                                                    \
    {AT_URL,                                                                                       \
     "at",                                                                                         \
     0,                                                                                            \
     OPT_VALUE,                                                                                    \
     "URL",                                                                                        \
     NULL,                                                                                         \
     NULL,                                                                                         \
     AT_GROUP,                                                                                     \
     true,                                                                                         \
     "The filter stands on Redis or Valkey servers.",                                              \
     "`redis://[USER@]HOST[:PORT]/NAME`, `rediss://` with TLS, `redis+cluster://` and "            \
     "`rediss+cluster://` through any node of a cluster, `unix:/PATH?name=NAME`. The servers "     \
     "need weir's module, but for `--filter vertical`, whose places stand on plain strings. The "  \
     "first run makes the filter NAME (`weir` if there is none) in "                               \
     "slices of at most 32M spread over the masters, `--memory` in all; all others must fit it, "  \
     "and options that are not given are taken from it. Any number of runs share it: of those "    \
     "that read the same key one writes it. There is no `--state`: what is known stays on the "    \
     "servers. A run over files that is killed loses the batches that it had on their way; one "   \
     "over a stream, `--from`, loses nothing. With `--filter tree` the leaves are in the run and " \
     "the nodes above them on the servers. docs/cluster.md says more."},                           \
        {AT_ON_LOST,                                                                               \
         "on-lost",                                                                                \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "WHAT",                                                                                   \
         "new|seen|wait|stop",                                                                     \
         "new",                                                                                    \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "A slice that does not answer: `new`, `seen`, `wait` or `stop`.",                         \
         "= new\nits records are written, so nothing is lost and repeats may pass\n\n"             \
         "= seen\nthey are held back, and lost\n\n"                                                \
         "= wait\nit is waited for, however long; a signal ends the run, and what it has read is " \
         "written\n\n"                                                                             \
         "= stop\nthe run ends"},                                                                  \
        {AT_LOST_AFTER,                                                                            \
         "lost-after",                                                                             \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "DURATION",                                                                               \
         NULL,                                                                                     \
         "30s",                                                                                    \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "How long a slice may be silent before it counts as lost.",                               \
         "Longer than a failover takes: until then batches are sent again, and none is judged "    \
         "twice. A lost slice is tried again every second."},                                      \
        {AT_DURABILITY,                                                                            \
         "durability",                                                                             \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "HOW",                                                                                    \
         "~async|wait:1|wait:2",                                                                   \
         "async",                                                                                  \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "What a verdict waits for: `async`, or `wait:N` replicas.",                               \
         "With `wait:1` each batch is on one replica before its records are written, so that a "   \
         "failover does not forget them. If too few replicas confirm within a second it goes on, " \
         "says so and counts it, and waits a tenth of that until they confirm again."},            \
        {AT_LOCAL,                                                                                 \
         "local-memory",                                                                           \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "SIZE",                                                                                   \
         NULL,                                                                                     \
         NULL,                                                                                     \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "A filter here that is asked before the servers.",                                        \
         "Repeats within this run then cost no message. Its false positives, a hundredth of "      \
         "`--fpr`, come on top. `--stats` says what it saved."},                                   \
        {AT_SLICES,                                                                                \
         "slices",                                                                                 \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "N",                                                                                      \
         NULL,                                                                                     \
         "by the memory",                                                                          \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "Slices of a filter that is made.",                                                       \
         "Without it as few as keep each within 32M, but one for each master. Of a filter that "   \
         "is "                                                                                     \
         "there it must be the number."},                                                          \
        {AT_LEAF,                                                                                  \
         "leaf",                                                                                   \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "N",                                                                                      \
         NULL,                                                                                     \
         "by --producer, or the key",                                                              \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "The leaf of a tree at which this run stands: 0, 1 and so on.",                           \
         "All its records enter there. Runs that are near each other stand at leaves of one "      \
         "parent."},                                                                               \
        {AT_LEAVES,                                                                                \
         "leaves",                                                                                 \
         0,                                                                                        \
         OPT_VALUE,                                                                                \
         "WHERE",                                                                                  \
         "here|servers",                                                                           \
         "here",                                                                                   \
         AT_GROUP,                                                                                 \
         false,                                                                                    \
         "Where the leaves of a tree are that is made: `here` or on the `servers`.",               \
         "= here\neach run has leaves of its own, which cost no message\n\n"                       \
         "= servers\nseveral runs can share one, and `down` of the tree can ask those of others"}, \
        AT_ACCESS_ROWS

typedef struct {
    const char *url;   /* NULL: the filter is here */
    const char *given; /* the first of the other options that was given, or NULL */
    size_t slices;
    uint64_t leaf; /* and one more; 0: not given */
    bool leaves_on_servers;
    bool counts_load; /* servers are asked what they have done, for the totals of the run */
    weir_remote_options options;
} at_settings;

/* Messages about the servers during a run, with their times. */
enum { AT_EVENTS = 64 };
typedef struct {
    int64_t time; /* ns since 1970 */
    char text[400];
} at_event;

/* A filter on servers. */
typedef struct {
    weir_remote *remote;     /* asked in batches; or */
    weir_live *live;         /* a message at a time: trees, and places that are timers */
    uint64_t leaf;           /* as in at_settings */
    bool counts_load;        /* as there */
    size_t batch_most;       /* keys of a batch */
    weir_remote_stats first; /* what it took to find out which of the two */
    uint64_t *producers;     /* room for a batch of that leaf */
    int64_t ahead;           /* the servers' clock before ours, ns */
    int64_t looked;          /* when it was last read, on the monotonic clock; 0: never */
    at_event events[AT_EVENTS];
    uint64_t event_count;
} at_filter;

/* Take in one of the options above; EXIT_TROUBLE after a message. Other ids are left alone. */
int at_option(at_settings *at, int id, const char *value);

/* When all are known: they go with --at. */
int at_resolve(const at_settings *at);

/* Open the filter of the address, made by `spec` if there is none. EXIT_TROUBLE after a message,
 * also where the filter that is there does not fit. */
int at_begin(at_filter **filter, at_settings *at, const char *spec, bool kind_given);
void at_end(at_filter *filter); /* NULL is allowed */

/* An empty filter of its kind: it makes hashes, and says what holds of windows and producers. */
weir_filter *at_twin(const at_filter *filter);

/* As weir_filter_offer_batch(). False, after a message, when the servers failed for good: the
 * verdicts are good to be used all the same, and nothing more is to be offered. */
bool at_offer(at_filter *filter, const weir_batch *batch, uint64_t *verdicts, size_t *seen);

/* The time by the clock of one server, the same for all runs; ns since 1970. Where it cannot be
 * read, ours, after a message. */
int64_t at_now(at_filter *filter);

/* Did a signal end the wait for servers? What was collected since may be NEW for that alone. */
bool at_gave_up(void);

/* weir inspect: the slices of an address. after: something else of that name was shown, so that
 * there need not be a filter, too. EXIT_TROUBLE after a message. */
bool at_is_url(const char *text);
int at_inspect(const at_settings *at, const char *url, bool json, bool after);

/* The full spec of the filter; the caller frees it. NULL if memory is out. */
char *at_spec(const at_filter *filter);

/* The servers' part of the totals: lines of text, or keys of a JSON object, each after a comma. The
 * bytes of records that were read and written are beside those of the messages. */
void at_report_text(FILE *out, at_filter *filter, uint64_t bytes_in, uint64_t bytes_out);
void at_report_json(FILE *out, at_filter *filter, uint64_t bytes_in, uint64_t bytes_out);

#endif
