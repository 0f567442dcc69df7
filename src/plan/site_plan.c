/* site_plan.c - how to spread a filter over sites of which some may be lost.
 *
 * Question   N sites, of which F may be lost at once; new keys may be called SEEN
 *            at most at the rate fpr, then too. By keys or by places, and with
 *            which rule?
 * Idea       everything is a formula (slice/loss.h). By keys a lost site takes all
 *            of its keys: F/N of the repeats pass. By places it takes places of many
 *            keys, and the rule of x live places trades: the smaller x, the fewer
 *            repeats pass and the emptier the filter must be kept to bear it, so the
 *            fewer keys fit. For each k and x the fill that just keeps fpr is found by
 *            halving, and the number of keys that leave it.
 * Slices     one for each site: two at one site would be lost together.
 * Choice     the most keys among what keeps fpr with sites lost and lets no more than
 *            `fnr` of the repeats pass; if nothing does, the fewest that pass.
 * Servers    each node is gone a share p of the time, whatever the others do. Of a node with r
 *            replicas no copy is there p^(r+1) of the time: so many of the repeats pass, as each
 *            key is at one node. How many of N nodes are without a copy at once is binomial. A
 *            replica that nobody waits for may lack LAG seconds when it takes over.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/cells.h"
#include "core/error.h"
#include "slice/loss.h"
#include "weir_sites.h"

#define K_MOST 24 /* places of a key that are tried */

/* Of a slice. A server that moves 32M is busy for some tens of ms, which no cluster takes for a
 * failure; more than 512M take seconds (docs/cluster.md). */
#define SLICE_BYTES 33554432.0
#define SLICE_BYTES_MOST 536870912.0
#define SLICES_MOST 8192.0 /* of a filter: what a client keeps apart (remote/manifest.h) */
#define KEY_BYTES 8.125    /* on the wire, there and back: a hash and a bit */
#define REQUEST_BYTES 230  /* and of each command with its answer, */
#define BATCH_KEYS 65536   /* keys of a batch, which takes one message for each slice */
#define LAG                                                                                        \
    1.0 /* seconds: replicas say once a second how far they are, so that is the most which         \
         * a server can be told to tolerate unnoticed */
#define REPLICAS_MOST 4
#define RARE 0.001 /* of the time: more nodes than `lost` may be without a copy */

/* The share of places that are on at which the rule gives just fpr while `lost` sites are lost. */
static double fill_for(double lost, double sites, unsigned k, unsigned x, double fpr) {
    double low = 0, high = 1;
    assert(lost < sites && x <= k);
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (weir__loss_rule_fpr(lost, sites, k, middle, x) <= fpr &&
            pow(middle, k) <= fpr) /* and when all are there */
            low = middle;
        else high = middle;
    }
    return low;
}

static weir_sites_choice by_places(const weir_sites_question *q, unsigned k, unsigned x) {
    weir_sites_choice c = {.vertical = true, .k = k, .live = x};
    double bits = (double)q->memory * 8, one = fill_for(q->lost, q->sites, k, x, q->fpr);
    c.keys = one > 0 ? -bits / k * log1p(-one) : 0;
    c.fpr = pow(one, k);
    c.fpr_lost = weir__loss_rule_fpr(q->lost, q->sites, k, one, x);
    c.fnr_lost = weir__loss_rule_fnr(q->lost, q->sites, k, x);
    c.messages = q->sites * (1 - pow(1 - 1 / q->sites, k)); /* distinct sites of k places */
    return c;
}

/* Lines of `recent` have room for keys of some bits above the least, and a line gets a
 * Poisson number of them: how many on average, so that one in a hundred finds no room.
 * The normal distribution is near enough for a plan; with three bits at most four in a
 * hundred were pushed out in slices of 16K and more. */
static double keys_a_line(double fpr) {
    double room = WEIR__LINE * 8 / (log2(1 / fpr) + 3), low = 0, high = room;
    for (int i = 0; i < 60; i++) {
        double mean = 0.5 * (low + high), z = (room - mean) / sqrt(mean);
        double without = exp(-0.5 * z * z) / sqrt(2 * M_PI) - 0.5 * z * erfc(z / M_SQRT2);
        if (sqrt(mean) * without <= 0.01 * mean) low = mean;
        else high = mean;
    }
    return low;
}

static weir_sites_choice by_keys(const weir_sites_question *q) {
    weir_sites_choice c = {.messages = 1, .fpr = q->fpr, .fpr_lost = q->fpr};
    double head = 2 * WEIR__LINE; /* of a slice, for what it counts */
    double lines = floor(fmax((double)q->memory / q->sites - head, 0) / WEIR__LINE);
    c.keys = q->sites * lines * keys_a_line(q->fpr);
    c.fnr_lost = weir__loss_horizontal_fnr(q->lost, q->sites);
    return c;
}

static bool is_better(const weir_sites_choice *a, const weir_sites_choice *b, double fnr) {
    bool a_serves = a->fnr_lost <= fnr, b_serves = b->fnr_lost <= fnr;
    if (a_serves != b_serves) return a_serves;
    if (!a_serves && a->fnr_lost != b->fnr_lost) return a->fnr_lost < b->fnr_lost;
    return a->keys > b->keys;
}

weir_status weir_plan_sites(const weir_sites_question *q, weir_sites_choice *across,
                            weir_sites_choice *down, weir_error *err) {
    if (!(q->sites >= 1) || !(q->lost >= 0) || q->lost >= q->sites)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "of %g sites %g cannot be lost; at least one must stay", q->sites,
                          q->lost);
    if (!(q->fpr > 0 && q->fpr < 1))
        return weir__fail(err, WEIR_ERR_RANGE, -1, "fpr is a rate between 0 and 1");
    *across = by_keys(q);
    memset(down, 0, sizeof *down);
    for (unsigned k = 1; k <= K_MOST; k++)
        for (unsigned x = 0; x <= k; x++) {
            weir_sites_choice c = by_places(q, k, x);
            if (c.fpr_lost > q->fpr * 1.000001 || c.keys < 1) continue;
            if (down->k == 0 || is_better(&c, down, q->fnr)) *down = c;
        }
    if (down->k == 0 && across->keys < 1)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "not one key fits; give more memory");
    across->best = down->k == 0 || is_better(across, down, q->fnr);
    down->best = !across->best;
    return WEIR_OK;
}

/* As many slices for each node, as few as keep each below SLICE_BYTES, if a client can keep so many
 * apart. */
static void cut_memory(const weir_servers_question *q, weir_servers_plan *p) {
    double a_node = ceil((double)q->memory / q->nodes / SLICE_BYTES);
    double most = fmax(1, floor(SLICES_MOST / q->nodes));
    p->slices = q->nodes * fmin(a_node, most);
    p->slice_memory = floor((double)q->memory / p->slices);
}

/* The least number of N, each true with a chance of p, that is exceeded with a chance of RARE. */
static double quantile(double n, double p) {
    assert(p >= 0 && p < 1);
    double chance = pow(1 - p, n), sum = chance, i = 0;
    while (sum < 1 - RARE && i < n) {
        chance *= (n - i) / (i + 1) * p / (1 - p);
        sum += chance;
        i++;
    }
    return i;
}

weir_status weir_plan_servers(const weir_servers_question *q, weir_servers_plan *p,
                              weir_error *err) {
    if (!(q->nodes >= 1) || !(q->gone >= 0 && q->gone < 1) || !(q->rate >= 0) ||
        !(q->fpr > 0 && q->fpr < 1) || !(q->fnr > 0))
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "at least one node, a chance below 1, and rates between 0 and 1");
    memset(p, 0, sizeof *p);
    cut_memory(q, p);
    if (p->slice_memory > SLICE_BYTES_MOST)
        return weir__fail(
            err, WEIR_ERR_RANGE, -1,
            "%.0f slices of %.0fM are too large to be moved; take more nodes, or less "
            "memory",
            p->slices, p->slice_memory / 1048576);
    const weir_sites_question cut = {.sites = p->slices, .memory = q->memory, .fpr = q->fpr};
    p->keys = by_keys(&cut).keys;
    if (p->keys < 1)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "not one key fits; give more memory");
    p->passes = q->gone;
    while (p->passes > q->fnr && p->replicas < REPLICAS_MOST) {
        p->passes *= q->gone;
        p->replicas++;
    }
    p->lost = quantile(q->nodes, p->passes);
    p->node_keys = q->rate / q->nodes;
    p->node_bytes = p->node_keys * (KEY_BYTES + REQUEST_BYTES * p->slices / BATCH_KEYS);
    p->forgotten = p->replicas > 0 ? LAG * p->node_keys : 0;
    p->forgotten_part = fmin(1, p->forgotten / (p->keys / q->nodes));
    p->wait = p->forgotten_part > q->fnr;
    return WEIR_OK;
}

weir_status weir_plan_least_sites(double lost, double fpr, double most, unsigned k, double *across,
                                  double *down, weir_error *err) {
    if (!(lost >= 1) || k < 1)
        return weir__fail(err, WEIR_ERR_RANGE, -1, "at least one site is lost, and k is 1 or more");
    if (!(fpr > 0 && fpr < most && most < 1))
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "while sites are lost the rate can be kept only below one that is above "
                          "fpr and below 1");
    *across = ceil(weir__loss_horizontal_sites(lost, fpr, most));
    *down = ceil(weir__loss_vertical_sites(lost, fpr, k, most));
    return WEIR_OK;
}
