/* at.h - `--at URL`: the filter stands on Redis or Valkey servers.
 *
 * Rows for the table of a command, what they say, and the remote filter behind a run: it gives
 * verdicts on batches as a filter in this process does.
 */
#ifndef WEIR_AT_H
#define WEIR_AT_H

#include <stdio.h>

#include "opts.h"
#include "weir_remote.h"

enum {
    AT_URL = 2000,
    AT_ON_LOST,
    AT_LOST_AFTER,
    AT_DURABILITY,
    AT_LOCAL,
    AT_SLICES,
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
     "need weir's module. The first run makes the filter NAME (`weir` if there is none) in "       \
     "slices of at most 32M spread over the masters, `--memory` in all; all others must fit it, "  \
     "and options that are not given are taken from it. Any number of runs share it: of those "    \
     "that read the same key one writes it. There is no `--state`: what is known stays on the "    \
     "servers, and a run that is killed loses the batches that it had on their way. "              \
     "docs/cluster.md says more."},                                                                \
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
         "= wait\nit is waited for\n\n"                                                            \
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
         "Without it as few as keep each within 32M, but one for each master."},                   \
        AT_ACCESS_ROWS

typedef struct {
    const char *url;   /* NULL: the filter is here */
    const char *given; /* the first of the other options that was given, or NULL */
    size_t slices;
    weir_remote_options options;
} at_settings;

/* Take in one of the options above; EXIT_TROUBLE after a message. Other ids are left alone. */
int at_option(at_settings *at, int id, const char *value);

/* When all are known: they go with --at. */
int at_resolve(const at_settings *at);

/* Open the filter of the address, made by `spec` if there is none. EXIT_TROUBLE after a message,
 * also where the filter that is there does not fit. */
int at_begin(weir_remote **remote, at_settings *at, const char *spec, bool kind_given);

/* As weir_filter_offer_batch(). False, after a message, when the servers failed for good: the
 * verdicts are good to be used all the same, and nothing more is to be offered. */
bool at_offer(weir_remote *remote, const weir_batch *batch, uint64_t *verdicts, size_t *seen);

/* weir inspect: the slices of an address. EXIT_TROUBLE after a message. */
bool at_is_url(const char *text);
int at_inspect(const at_settings *at, const char *url, bool json);

void at_end(weir_remote *remote); /* NULL is allowed */

/* The full spec of the filter; the caller frees it. NULL if memory is out. */
char *at_spec(const weir_remote *remote);

/* The servers' part of the totals: lines of text, or keys of a JSON object, each after a comma. */
void at_report_text(FILE *out, const weir_remote *remote);
void at_report_json(FILE *out, const weir_remote *remote);

#endif
