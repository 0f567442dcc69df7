/* requests.c - batches cut into requests, sent, sent again, answered.
 *
 * Question   how is each key judged once, when connections break and servers change places?
 * Idea       a request, the keys of a batch that belong to one slice, has a number and the name of
 *            its sender. The slice keeps the verdicts on the last request of each sender in what
 *            it replicates; the same number again is answered from there and changes nothing. So a
 *            request whose reply is missing is simply sent again, wherever its slice is by then.
 *            Several batches are on their way at once, each in a lane with a sender's name of its
 *            own: no lane ever has more than one request to a slice that is not answered.
 * Order      requests to one node are answered in order. After a failure a later batch may be
 * judged before an earlier one: of a key in both one is still called NEW. Losses     a slice that
 * stays silent for longer than lost_ms is lost: on_lost decides for its keys, it is tried again
 * every second, and what it answers then counts again. Requests that were given up may still be
 * applied later: then repeats of records that were emitted are called SEEN, as they should be. A
 * slice that is gone is made again, with a new epoch. A slice that knows of fewer keys than it did
 * has lost writes: a replica took over that had not got them.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "wire_error.h"

/* SHORT_WAITS: replicas that were missing are waited for only so long a part of the time. */
enum {
    SHORT_WAITS = 10,
    PROBE_MS = 1000,
    TICK_MS = 100,
    REFRESH_MS = 200,
    PAUSE_MS = 50,
    REDIRECTIONS = 4
};

#define SLICE_SALT UINT64_C(0x5bd1e995a3c59ac3)

/* --- what is expected of a node -----------------------------------------------------------------
 */

static node_queue *queue_of(fleet_node *node) {
    if (!node->user) node->user = calloc(1, sizeof(node_queue));
    return node->user;
}

static bool expect(fleet_node *node, expected what) {
    node_queue *q = queue_of(node);
    if (!q) return false;
    if (q->count == q->room) {
        size_t room = q->room ? q->room * 2 : 64;
        expected *replies = malloc(room * sizeof *replies);
        if (!replies) return false;
        for (size_t i = 0; i < q->count; i++) replies[i] = q->replies[(q->first + i) % q->room];
        free(q->replies);
        q->replies = replies;
        q->room = room;
        q->first = 0;
    }
    q->replies[(q->first + q->count++) % q->room] = what;
    q->dirty = true;
    return true;
}

static expected next_expected(node_queue *q) {
    expected what = q->replies[q->first];
    q->first = (q->first + 1) % q->room;
    q->count--;
    return what;
}

void requests_release(weir_remote *r) {
    for (size_t i = 0; r->fleet && i < r->fleet->node_count; i++) {
        node_queue *q = r->fleet->nodes[i]->user;
        if (q) free(q->replies);
        free(q);
    }
    for (size_t i = 0; i < FLIGHTS_MOST; i++) {
        flight *f = &r->flights[i];
        free(f->verdicts);
        free(f->requests);
        free(f->hashes);
        free(f->times);
        free(f->importances);
        free(f->from);
        free(f->slice_of);
        places_release(f->places);
    }
}

static flight *flight_at(weir_remote *r, size_t i) {
    return &r->flights[(r->first_flight + i) % r->options.in_flight];
}

/* --- slices that fail and come back
 * ---------------------------------------------------------------- */

static void trouble(weir_remote *r, slice *s, const fleet_node *node) {
    if (!s->since) s->since = wire_now();
    if (r->stall.failed || !node) return;
    r->stall.failed = node;
    r->stalled = (size_t)(s - r->slices);
}

void requests_recovered(weir_remote *r, slice *s) {
    if (s->lost && !s->silent)
        remote_say(r, "slice %zu of '%s' answers again", (size_t)(s - r->slices), r->name);
    s->since = 0;
    s->lost = s->silent = false;
}

static void send_again(weir_remote *r, request *q, int64_t pause) {
    q->state = TO_SEND;
    q->repeated = true;
    q->not_before = wire_now() + pause;
    trouble(r, &r->slices[q->slice], q->node);
}

/* The connection is gone: nobody knows what became of what was sent. */
static void node_failed(weir_remote *r, fleet_node *node) {
    node_queue *q = queue_of(node);
    while (q && q->count) {
        expected what = next_expected(q);
        if (what.kind == FOR_REQUEST && what.request) send_again(r, what.request, 0);
    }
    if (q) q->dirty = false;
    for (size_t i = 0; i < r->flight_count; i++)
        for (size_t k = 0; k < flight_at(r, i)->request_count; k++) {
            request *at = &flight_at(r, i)->requests[k];
            if (at->state != JUDGED || at->node != node) continue;
            at->state = DONE; /* the verdicts are there, how safe they are is not known */
            r->stats.unsafe++;
        }
    fleet_refresh(r->fleet, REFRESH_MS);
}

/* --- sending
 * ---------------------------------------------------------------------------------------- */

static weir_status put_create(weir_remote *r, fleet_node *node, size_t i, weir_error *err) {
    slice *s = &r->slices[i];
    char epoch[24];
    snprintf(epoch, sizeof epoch, "%016" PRIx64, s->epoch);
    expected what = {FOR_CREATE, NULL, i};
    wire_outcome how = r->cut.k
                           ? places_append_create(node, s, err)
                           : wire_appendf(node->wire, err, "WEIR.CREATE %s %s IFABSENT EPOCH %s",
                                          s->key, r->slice_spec, epoch);
    if (how != WIRE_OK) return WEIR_ERR_IO;
    return expect(node, what) ? WEIR_OK : wire_no_memory(err);
}

/* WEIR.ADDHASH with all that the module wants to know. */
static wire_outcome append_keys(weir_remote *r, const flight *f, fleet_node *node, const request *q,
                                weir_error *err) {
    slice *s = &r->slices[q->slice];
    char seed[24], epoch[24], number[24];
    const char *words[20] = {
        "WEIR.ADDHASH", s->key, (const char *)q->hashes, "SEED", seed, "EPOCH", epoch, "BATCH",
        f->who,         number};
    size_t lengths[20], count = 10;
    snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    snprintf(epoch, sizeof epoch, "%016" PRIx64, s->epoch);
    snprintf(number, sizeof number, "%" PRIu64, q->number);
    for (size_t i = 0; i < count; i++) lengths[i] = i == 2 ? q->count * 8 : strlen(words[i]);
    const void *columns[] = {q->times, q->importances};
    for (size_t i = 0; i < 2; i++) {
        if (!columns[i]) continue;
        words[count] = i ? "IMPORTANCES" : "TIMES";
        lengths[count++] = i ? 11 : 5;
        words[count] = columns[i];
        lengths[count++] = q->count * 8;
    }
    return wire_append(node->wire, count, words, lengths, err);
}

static weir_status put_request(weir_remote *r, fleet_node *node, const flight *f, request *q,
                               weir_error *err) {
    if (q->ask && wire_appendf(node->wire, err, "ASKING") != WIRE_OK) return WEIR_ERR_IO;
    if (q->ask && !expect(node, (expected){FOR_NOTHING, NULL, 0})) return wire_no_memory(err);
    wire_outcome how =
        r->cut.k ? places_append(r, f, node, q, err) : append_keys(r, f, node, q, err);
    if (how != WIRE_OK) return WEIR_ERR_IO;
    if (!expect(node, (expected){FOR_REQUEST, q, q->slice})) return wire_no_memory(err);
    q->ask = NULL;
    q->node = node;
    q->state = SENT;
    if (!q->repeated)
        q->known = r->slices[q->slice].offered, q->losses = r->slices[q->slice].losses;
    q->sent_ns = wire_nanoseconds();
    q->sent_at = (int64_t)(q->sent_ns / 1000000);
    r->stats.requests++;
    r->stats.repeated += q->repeated;
    return WEIR_OK;
}

/* Send a request if its time has come and its server is there. */
static weir_status try_send(weir_remote *r, const flight *f, request *q, weir_error *err) {
    slice *s = &r->slices[q->slice];
    fleet_node *node = q->ask ? q->ask : fleet_at(r->fleet, s->slot);
    weir_status status = WEIR_OK;
    if (wire_now() < q->not_before) return WEIR_OK;
    if (!node) {
        wire_report(&r->fleet->why, WEIR_ERR_IO, "no node of the cluster has the slot of '%s'",
                    s->key);
        trouble(r, s, q->node);
        fleet_refresh(r->fleet, REFRESH_MS);
        q->not_before = wire_now() + PAUSE_MS;
        return WEIR_OK;
    }
    switch (fleet_connect(r->fleet, node, err)) {
    case WIRE_OK:
        break;
    case WIRE_LOST:
    case WIRE_STOPPED:
        trouble(r, s, node);
        q->ask = NULL;
        q->not_before = node->retry_at;
        fleet_refresh(r->fleet, REFRESH_MS);
        return WEIR_OK;
    default:
        return WEIR_ERR_IO;
    }
    if (s->missing) status = put_create(r, node, q->slice, err);
    if (status == WEIR_OK) status = put_request(r, node, f, q, err);
    return status;
}

static weir_status flush_nodes(weir_remote *r, weir_error *err) {
    for (size_t i = 0; i < r->fleet->node_count; i++) {
        fleet_node *node = r->fleet->nodes[i];
        node_queue *q = node->user;
        if (!q || !q->dirty) continue;
        q->dirty = false;
        if (r->options.replicas) {
            int64_t most = r->options.replicas_ms / (q->replicas_short ? SHORT_WAITS : 1);
            if (wire_appendf(node->wire, err, "WAIT %d %d", (int64_t)r->options.replicas,
                             most ? most : 1) != WIRE_OK)
                return WEIR_ERR_IO;
            if (!expect(node, (expected){FOR_REPLICAS, NULL, 0})) return wire_no_memory(err);
            q->dirty = false;
        }
        q->heard = wire_now();
        wire_outcome how = wire_flush(node->wire, &r->fleet->why);
        if (how == WIRE_LOST) node_failed(r, node);
        else if (how == WIRE_WRONG) return *err = r->fleet->why, WEIR_ERR_IO;
    }
    return WEIR_OK;
}

static weir_status send_what_is_due(weir_remote *r, weir_error *err) {
    for (size_t i = 0; i < r->flight_count; i++) {
        flight *f = flight_at(r, i);
        for (size_t k = 0; k < f->request_count; k++) {
            if (f->requests[k].state != TO_SEND) continue;
            weir_status status = try_send(r, f, &f->requests[k], err);
            if (status != WEIR_OK) return status;
        }
    }
    return flush_nodes(r, err);
}

/* --- answers
 * ------------------------------------------------------------------------------------------ */

static flight *flight_of(weir_remote *r, const request *q) {
    for (size_t i = 0; i < r->flight_count; i++) {
        flight *f = flight_at(r, i);
        if (q >= f->requests && q < f->requests + f->request_count) return f;
    }
    return NULL;
}

/* The verdicts of a request into their places: bits of 1 are NEW, or all are alike. */
static void spread(weir_remote *r, const request *q, const char *bits, bool all_new) {
    flight *f = flight_of(r, q);
    for (size_t i = 0; i < q->count; i++) {
        bool new_key = bits ? (unsigned char)bits[i / 8] >> (i % 8) & 1 : all_new;
        uint64_t bit = UINT64_C(1) << (q->from[i] % 64);
        if (new_key) f->verdicts[q->from[i] / 64] &= ~bit;
        else f->verdicts[q->from[i] / 64] |= bit;
    }
}

weir_status requests_may_go_on(const weir_remote *r, size_t i, const char *what, weir_error *err) {
    if (r->options.on_lost != WEIR_REMOTE_STOP) return WEIR_OK;
    return wire_fail(err, WEIR_ERR_IO, "slice %zu of '%s' %s, and on-lost is stop", i, r->name,
                     what);
}

/* A slice counts the keys it was ever offered, or the places it was told to set. Less than there
 * must be: writes are missing. */
static weir_status compare_count(weir_remote *r, slice *s, const request *q, uint64_t offered,
                                 uint64_t added, weir_error *err) {
    bool fresh = flight_of(r, q)->is_fresh, first = fresh && !q->repeated;
    bool comparable = first || (fresh && q->losses == s->losses);
    uint64_t least = (first ? s->offered : q->known) + added;
    weir_status status = WEIR_OK;
    if (comparable && offered < least) {
        s->losses++, r->losses++;
        s->offered = offered;
        r->stats.rolled_back++;
        s->hollow = true;
        r->stats.keys_rolled_back += least - offered;
        status = requests_may_go_on(r, q->slice, "lacks writes that it had", err);
        if (status == WEIR_OK)
            remote_say(r,
                       "slice %zu of '%s' lacks at least %" PRIu64 " %s that it had: a replica "
                       "without them took over, and repeats of them will pass",
                       q->slice, r->name, least - offered, r->cut.k ? "places" : "keys");
    }
    if (first || offered > s->offered) s->offered = offered;
    return status;
}

static weir_status strange(const fleet_node *node, weir_error *err) {
    return wire_fail(err, WEIR_ERR_IO,
                     "the server '%s' answers a batch with something else than its verdicts",
                     wire_server(node->wire));
}

static weir_status slice_is_gone(weir_remote *r, request *q, weir_error *err);
static weir_status adopt_epoch(weir_remote *r, const request *q, uint64_t epoch, weir_error *err);

static void answered(weir_remote *r, request *q) {
    slice *s = &r->slices[q->slice];
    r->stats.nanoseconds += wire_nanoseconds() - q->sent_ns;
    if (!r->stall.failed) r->stalled = q->slice;
    requests_recovered(r, s);
    s->sent += q->count;
    q->state = r->options.replicas ? JUDGED : DONE;
}

static weir_status take_places(weir_remote *r, fleet_node *node, request *q,
                               const wire_reply *reply, weir_error *err) {
    slice *s = &r->slices[q->slice];
    flight *f = flight_of(r, q);
    uint64_t epoch, count, added;
    if (!places_check(r, f, q, reply, &epoch, &count, &added)) return strange(node, err);
    if (!epoch) return slice_is_gone(r, q, err);
    weir_status status = epoch == s->epoch ? compare_count(r, s, q, count, added, err)
                                           : adopt_epoch(r, q, epoch, err);
    if (status == WEIR_ERR_MISMATCH) return status; /* and what it says is of no use */
    places_take(r, f, q, reply);
    answered(r, q);
    return status;
}

static weir_status take_verdicts(weir_remote *r, fleet_node *node, request *q,
                                 const wire_reply *reply, weir_error *err) {
    slice *s = &r->slices[q->slice];
    int64_t offered;
    if (reply->type != WIRE_ARRAY || reply->count != 2 || reply->items[0]->type != WIRE_STRING ||
        reply->items[0]->length != (q->count + 7) / 8 ||
        !wire_reply_number(reply->items[1], &offered))
        return strange(node, err);
    spread(r, q, reply->items[0]->text, false);
    weir_status status = compare_count(r, s, q, (uint64_t)offered, q->count, err);
    r->stats.sent += q->count;
    answered(r, q);
    return status;
}

static weir_status slice_is_gone(weir_remote *r, request *q, weir_error *err) {
    slice *s = &r->slices[q->slice];
    weir_status status = requests_may_go_on(r, q->slice, "is gone from the server", err);
    if (status != WEIR_OK) return status;
    if (!s->missing) {
        s->missing = s->hollow = true;
        s->unopened = false;
        uint64_t word =
            s->epoch * UINT64_C(6364136223846793005) + (uint64_t)wire_now() + r->numbers;
        s->epoch = r->cut.k ? places_epoch(r, q->slice, word, true) : manifest_epoch(word, true);
        s->offered = 0;
        s->losses++, r->losses++;
        r->stats.emptied++;
        remote_say(r,
                   "slice %zu of '%s' was gone and begins again empty: repeats of what it knew "
                   "will pass",
                   q->slice, r->name);
    }
    send_again(r, q, 0);
    return WEIR_OK;
}

/* Somebody else has made the slice again. */
static weir_status adopt_epoch(weir_remote *r, const request *q, uint64_t epoch, weir_error *err) {
    slice *s = &r->slices[q->slice];
    weir_status status = r->cut.k ? places_check_epoch(r, q->slice, epoch, err) : WEIR_OK;
    if (status != WEIR_OK) return status;
    s->epoch = epoch;
    if (s->unopened) {
        s->unopened = false;
        s->hollow = epoch & MANIFEST_AGAIN;
        return WEIR_OK;
    }
    s->hollow = true;
    s->offered = 0;
    s->losses++, r->losses++;
    r->stats.emptied++;
    status = requests_may_go_on(r, q->slice, "was gone and made again", err);
    if (status == WEIR_OK)
        remote_say(r,
                   "slice %zu of '%s' was made again by another producer: repeats of what it "
                   "knew will pass",
                   q->slice, r->name);
    return status;
}

/* Nobody knows the verdicts of a request any more. */
static void call_new(weir_remote *r, request *q) {
    spread(r, q, NULL, true);
    r->stats.guessed += q->count;
    q->state = DONE;
}

static weir_status take_error(weir_remote *r, fleet_node *node, request *q, const wire_reply *reply,
                              weir_error *err) {
    uint16_t slot;
    slice *s = &r->slices[q->slice];
    bool moved = wire_is_error(reply, "MOVED"), ask = wire_is_error(reply, "ASK");
    if (r->fleet->cluster && (moved || ask)) {
        fleet_node *to = fleet_redirected(r->fleet, reply, node, &slot);
        if (!to) return strange(node, err);
        r->stats.redirected++;
        send_again(r, q, q->redirections++ < REDIRECTIONS ? 0 : PAUSE_MS);
        if (ask) q->ask = to;
        /* The whole map has probably changed; what this reply says holds in any case. */
        if (moved) fleet_refresh(r->fleet, REFRESH_MS);
        if (moved) fleet_assign(r->fleet, s->slot, to);
        return WEIR_OK;
    }
    if (wire_is_error(reply, "WEIRMISSING")) return slice_is_gone(r, q, err);
    if (wire_is_error(reply, "WEIREPOCH")) {
        send_again(r, q, 0);
        return adopt_epoch(r, q, strtoull(reply->text + strlen("WEIREPOCH "), NULL, 16), err);
    }
    if (flight_of(r, q)->by_ticket && wire_is_error(reply, "WEIRSTALE")) {
        call_new(r, q); /* what is known of it has been overwritten */
        return WEIR_OK;
    }
    if (wire_is_passing(reply) || (r->fleet->cluster && wire_is_error(reply, "READONLY"))) {
        wire_explain(wire_server(node->wire), reply, &r->fleet->why);
        send_again(r, q, PAUSE_MS);
        fleet_refresh(r->fleet, REFRESH_MS);
        return WEIR_OK;
    }
    wire_explain(wire_server(node->wire), reply, err);
    return WEIR_ERR_IO;
}

static void take_replicas(weir_remote *r, fleet_node *node, const wire_reply *reply) {
    node_queue *from = node->user;
    bool few = reply->type != WIRE_INTEGER || reply->integer < (int64_t)r->options.replicas;
    if (few) r->stats.unsafe++;
    if (few && !from->replicas_short)
        remote_say(r,
                   "only %lld of %u replicas of '%s' confirm within %" PRId64 " ms: it goes on, "
                   "and what they lack is forgotten if that server fails",
                   reply->type == WIRE_INTEGER ? (long long)reply->integer : 0, r->options.replicas,
                   wire_server(node->wire), r->options.replicas_ms);
    if (!few && from->replicas_short)
        remote_say(r, "the replicas of '%s' confirm in time again", wire_server(node->wire));
    from->replicas_short = few;
    for (size_t i = 0; i < r->flight_count; i++)
        for (size_t k = 0; k < flight_at(r, i)->request_count; k++) {
            request *q = &flight_at(r, i)->requests[k];
            if (q->state == JUDGED && q->node == node) q->state = DONE;
        }
}

static weir_status take_reply(weir_remote *r, fleet_node *node, const wire_reply *reply,
                              weir_error *err) {
    expected what = next_expected(node->user);
    switch (what.kind) {
    case FOR_NOTHING:
        return WEIR_OK;
    case FOR_CREATE:
        /* Another error comes again as the reply to what follows. */
        if (reply->type != WIRE_ERROR) r->slices[what.slice].missing = false;
        return WEIR_OK;
    case FOR_REPLICAS:
        take_replicas(r, node, reply);
        return WEIR_OK;
    case FOR_REQUEST:
        if (!what.request) return WEIR_OK;
        if (reply->type == WIRE_ERROR) return take_error(r, node, what.request, reply, err);
        if (r->cut.k) return take_places(r, node, what.request, reply, err);
        return take_verdicts(r, node, what.request, reply, err);
    }
    return WEIR_OK;
}

/* All replies of a node that are there. */
static weir_status drain(weir_remote *r, fleet_node *node, weir_error *err) {
    node_queue *q = node->user;
    while (q->count && wire_ready(node->wire)) {
        wire_reply *reply;
        wire_outcome how = wire_read(node->wire, &reply, 0, &r->fleet->why);
        q->heard = wire_now();
        if (how == WIRE_LOST) return node_failed(r, node), WEIR_OK;
        if (how == WIRE_STOPPED) return WEIR_OK;
        if (how != WIRE_OK) return *err = r->fleet->why, WEIR_ERR_IO;
        weir_status status = take_reply(r, node, reply, err);
        wire_reply_free(reply);
        if (status != WEIR_OK) return status;
    }
    if (q->count && wire_now() - q->heard > r->fleet->reply_ms) {
        wire_report(&r->fleet->why, WEIR_ERR_IO, "the server '%s' has not answered for %g s",
                    wire_server(node->wire), (double)r->fleet->reply_ms / 1000);
        wire_close(node->wire);
        node_failed(r, node);
    }
    return WEIR_OK;
}

weir_status requests_settle(weir_remote *r, weir_error *err) {
    weir_error ignored;
    if (r->flight_count)
        return wire_fail(err, WEIR_ERR_RANGE, "batches are on their way: collect them first");
    for (size_t i = 0; i < r->fleet->node_count; i++) {
        fleet_node *node = r->fleet->nodes[i];
        const node_queue *q = node->user;
        if (!q || !q->count) continue;
        drain(r, node, &ignored);
        if (!q->count) continue;
        wire_close(node->wire);
        node_failed(r, node);
    }
    return WEIR_OK;
}

/* --- waiting
 * ------------------------------------------------------------------------------------------- */

static void forget_request(weir_remote *r, const request *given_up) {
    for (size_t i = 0; i < r->fleet->node_count; i++) {
        node_queue *q = r->fleet->nodes[i]->user;
        for (size_t k = 0; q && k < q->count; k++) {
            expected *what = &q->replies[(q->first + k) % q->room];
            if (what->request == given_up) what->request = NULL;
        }
    }
}

/* Other slices at the server of a slice: one line is enough for all of them. */
static size_t mark_others(weir_remote *r, const slice *s) {
    const fleet_node *node = fleet_at(r->fleet, s->slot);
    size_t others = 0;
    for (slice *t = r->slices; node && t < r->slices + r->plan.slices; t++) {
        if (t == s || t->lost || t->silent || fleet_at(r->fleet, t->slot) != node) continue;
        t->silent = true;
        others++;
    }
    return others;
}

void requests_say_lost(weir_remote *r, size_t i, const char *why) {
    static const char *const keys[][2] = {
        {"its keys are called new until it is back", "their keys are called new until they answer"},
        {"its keys are called seen until it is back",
         "their keys are called seen until they answer"},
        {"and is waited for", "and they are waited for"}};
    slice *s = &r->slices[i];
    if (s->lost) return;
    s->lost = true;
    r->losses++;
    if (s->silent) return;
    size_t others = mark_others(r, s);
    const char *what = keys[r->options.on_lost][others > 0];
    if (!*why) why = "no answer";
    if (others)
        remote_say(r, "slice %zu of '%s' is lost, with %zu more on its server, %s: %.200s", i,
                   r->name, others, what, why);
    else remote_say(r, "slice %zu of '%s' is lost, %s: %.200s", i, r->name, what, why);
}

/* The slice of a request that has waited too long: on_lost decides. */
static weir_status give_up(weir_remote *r, request *q, weir_error *err) {
    slice *s = &r->slices[q->slice];
    const char *why = r->fleet->why.message;
    weir_remote_on_lost rule = r->options.on_lost;
    if (rule == WEIR_REMOTE_STOP)
        return wire_fail(err, WEIR_ERR_IO, "slice %zu of '%s' is lost, and on-lost is stop: %.200s",
                         q->slice, r->name, *why ? why : "no answer");
    requests_say_lost(r, q->slice, why);
    if (rule == WEIR_REMOTE_WAIT) return WEIR_OK;
    s->probe_at = wire_now() + PROBE_MS;
    forget_request(r, q);
    if (r->cut.k) {
        places_lost(flight_of(r, q), q);
    } else {
        spread(r, q, NULL, rule != WEIR_REMOTE_SEEN);
        r->stats.guessed += q->count;
    }
    q->state = DONE;
    return WEIR_OK;
}

static weir_status give_up_what_is_late(weir_remote *r, weir_error *err) {
    int64_t now = wire_now();
    for (size_t i = 0; i < r->flight_count; i++)
        for (size_t k = 0; k < flight_at(r, i)->request_count; k++) {
            request *q = &flight_at(r, i)->requests[k];
            const slice *s = &r->slices[q->slice];
            if (q->state == DONE || q->state == JUDGED) continue;
            bool late =
                s->lost ? now > q->deadline : s->since && now - s->since > r->options.lost_ms;
            if (!late && q->state == SENT) late = now - q->sent_at > r->options.lost_ms;
            weir_status status = late ? give_up(r, q, err) : WEIR_OK;
            if (status != WEIR_OK) return status;
        }
    return WEIR_OK;
}

static bool all_answered(const flight *f) {
    for (size_t k = 0; k < f->request_count; k++)
        if (f->requests[k].state != DONE) return false;
    return true;
}

/* Are all verdicts there? Where that takes several stages, the next one is begun. */
static bool done(weir_remote *r, flight *f) {
    return all_answered(f) && !(r->cut.k && places_next(r, f));
}

/* Is there something to send at once? */
static bool send_waits(weir_remote *r) {
    int64_t now = wire_now();
    for (size_t i = 0; i < r->flight_count; i++)
        for (size_t k = 0; k < flight_at(r, i)->request_count; k++) {
            const request *q = &flight_at(r, i)->requests[k];
            if (q->state == TO_SEND && q->not_before <= now) return true;
        }
    return false;
}

/* Wait until a node has something to say, or something may be due. */
static void wait_for_nodes(weir_remote *r) {
    struct pollfd fds[FLEET_NODES];
    nfds_t count = 0;
    for (size_t i = 0; i < r->fleet->node_count; i++) {
        fleet_node *node = r->fleet->nodes[i];
        node_queue *q = node->user;
        if (q && q->count) fds[count++] = (struct pollfd){wire_descriptor(node->wire), POLLIN, 0};
    }
    poll(fds, count, count ? TICK_MS : PAUSE_MS / 2);
}

static bool stopped(const weir_remote *r) {
    return r->options.stop && r->options.stop(r->options.context);
}

/* A wait that is over, unless more was said of it than that. */
static void say_stall(weir_remote *r, uint64_t losses) {
    char line[512];
    if (r->losses == losses && stall_say(&r->stall, r->fleet, r->stalled, r->name,
                                         r->slices[r->stalled].slot, line, sizeof line))
        remote_say(r, "%s", line);
}

static weir_status work_on(weir_remote *r, flight *f, weir_error *err) {
    while (!done(r, f) && !stopped(r)) {
        remote_look_at_masters(r);
        weir_status status = send_what_is_due(r, err);
        for (size_t i = 0; i < r->fleet->node_count && status == WEIR_OK; i++) {
            node_queue *q = r->fleet->nodes[i]->user;
            if (q && q->count) status = drain(r, r->fleet->nodes[i], err);
        }
        if (status == WEIR_OK) status = give_up_what_is_late(r, err);
        if (status != WEIR_OK) return status;
        if (!all_answered(f) && !send_waits(r)) wait_for_nodes(r);
    }
    return WEIR_OK;
}

static weir_status work(weir_remote *r, flight *f, weir_error *err) {
    uint64_t losses = r->losses;
    r->stall = (stall){.began = wire_now()};
    weir_status status = work_on(r, f, err);
    if (status == WEIR_OK && !stopped(r)) say_stall(r, losses);
    return status;
}

/* It ends before all is answered: what may have been applied must not be lost, so NEW. */
static void call_rest_new(weir_remote *r, flight *f) {
    for (size_t k = 0; k < f->request_count; k++) {
        request *q = &f->requests[k];
        if (q->state != DONE && q->state != JUDGED) {
            forget_request(r, q);
            if (r->cut.k) continue;
            spread(r, q, NULL, true);
            r->stats.guessed += q->count;
        }
        q->state = DONE;
    }
    if (r->cut.k) r->stats.guessed += places_open(f);
    f->request_count = 0;
}

/* --- batches
 * ---------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* As the filter `horizontal` chooses it in one process: weir__slice_of(). */
static size_t slice_of(uint64_t hash, size_t slices) {
    return (size_t)(((unsigned __int128)mix(hash ^ SLICE_SALT) * slices) >> 64);
}

/* Arrays for so many keys, of which there may be none. */
static bool room_for(flight *f, size_t count, size_t slices) {
    if (f->room && count <= f->room) return true;
    count += !count;
    free(f->verdicts), free(f->requests), free(f->hashes), free(f->times);
    free(f->importances), free(f->from), free(f->slice_of);
    f->verdicts = calloc(WEIR_VERDICT_WORDS(count), 8);
    f->requests = calloc(slices, sizeof *f->requests);
    f->hashes = calloc(count, 8);
    f->times = calloc(count, 8);
    f->importances = calloc(count, 8);
    f->from = calloc(count, sizeof *f->from);
    f->slice_of = calloc(count, sizeof *f->slice_of);
    f->room = f->verdicts && f->requests && f->hashes && f->times && f->importances && f->from &&
                      f->slice_of
                  ? count
                  : 0;
    return f->room > 0;
}

/* A request for each slice that has keys in the batch; those that the local filter knows have
 * none. */
static void cut(weir_remote *r, flight *f, const weir_batch *batch) {
    size_t starts[MANIFEST_SLICES] = {0}, at = 0, slices = r->plan.slices;
    for (size_t i = 0; i < batch->count; i++) {
        f->slice_of[i] = (uint16_t)slice_of(batch->hashes[i], slices);
        if (!(f->verdicts[i / 64] >> (i % 64) & 1)) starts[f->slice_of[i]]++;
    }
    f->request_count = 0;
    for (size_t s = 0; s < slices; s++) {
        size_t count = starts[s];
        starts[s] = at;
        if (!count) continue;
        f->requests[f->request_count++] =
            (request){.slice = s,
                      .count = count,
                      .number = ++r->numbers,
                      .hashes = f->hashes + at,
                      .times = batch->times ? f->times + at : NULL,
                      .importances = batch->importances ? f->importances + at : NULL,
                      .from = f->from + at,
                      .deadline = slice_deadline(&r->slices[s])};
        at += count;
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (f->verdicts[i / 64] >> (i % 64) & 1) continue;
        size_t to = starts[f->slice_of[i]]++;
        f->hashes[to] = batch->hashes[i];
        if (batch->times) f->times[to] = batch->times[i];
        if (batch->importances) f->importances[to] = batch->importances[i];
        f->from[to] = (uint32_t)i;
    }
}

int64_t slice_deadline(const slice *s) {
    return s->lost && wire_now() < s->probe_at ? 0 : wire_now() + PROBE_MS;
}

size_t weir_remote_room(const weir_remote *r) { return r->options.in_flight - r->flight_count; }

/* Batches of places follow each other strictly: one is asked when the one before is decided. What
 * goes wrong now is met again when it is collected. */
static void send_first(weir_remote *r) {
    flight *first = flight_at(r, 0);
    if (r->failed) return;
    if (r->cut.k && places_is_new(first)) places_next(r, first);
    r->failed = send_what_is_due(r, &r->why) != WEIR_OK;
}

flight *requests_next(weir_remote *r) { return flight_at(r, r->flight_count); }

weir_status requests_make_room(weir_remote *r, flight *f, size_t count, weir_error *err) {
    if (count > KEYS_MOST)
        return wire_fail(err, WEIR_ERR_RANGE, "a batch has at most %d keys", KEYS_MOST);
    if (!room_for(f, count, r->plan.slices)) return wire_no_memory(err);
    f->count = count;
    memset(f->verdicts, 0, WEIR_VERDICT_WORDS(count) * 8);
    return WEIR_OK;
}

weir_status requests_cut(weir_remote *r, flight *f, const weir_batch *batch, weir_error *err) {
    weir_status status = requests_make_room(r, f, batch->count, err);
    if (status != WEIR_OK) return status;
    if (r->leaf) weir_filter_offer_batch(r->leaf, batch, f->verdicts);
    if (!r->cut.k) cut(r, f, batch);
    else if (!places_take_batch(r, f, batch)) return wire_no_memory(err);
    return WEIR_OK;
}

static size_t count_seen(const flight *f) {
    size_t ones = 0;
    for (size_t i = 0; i < WEIR_VERDICT_WORDS(f->count); i++)
        ones += (size_t)__builtin_popcountll(f->verdicts[i]);
    return ones;
}

void requests_go(weir_remote *r, flight *f) {
    r->stats.keys += f->count;
    r->stats.local_seen += count_seen(f);
    r->flight_count++;
    send_first(r);
}

weir_status weir_remote_submit(weir_remote *r, const weir_batch *batch, weir_error *err) {
    if (!weir_remote_room(r))
        return wire_fail(err, WEIR_ERR_RANGE, "%u batches are on their way: collect one first",
                         r->options.in_flight);
    flight *f = requests_next(r);
    weir_status status = requests_cut(r, f, batch, err);
    if (status != WEIR_OK) return status;
    snprintf(f->who, sizeof f->who, "%s.%u", r->who, (unsigned)(f - r->flights));
    f->by_ticket = false;
    f->is_fresh = true;
    requests_go(r, f);
    return WEIR_OK;
}

weir_status weir_remote_collect(weir_remote *r, uint64_t *verdicts, size_t *seen, weir_error *err) {
    if (!r->flight_count) return wire_fail(err, WEIR_ERR_RANGE, "no batch is on its way");
    flight *f = flight_at(r, 0);
    weir_status status = r->failed ? WEIR_ERR_IO : work(r, f, &r->why);
    if (status != WEIR_OK) r->failed = true;
    if (r->failed && err) *err = r->why;
    call_rest_new(r, f);
    memcpy(verdicts, f->verdicts, WEIR_VERDICT_WORDS(f->count) * 8);
    if (seen) *seen = count_seen(f);
    r->first_flight = (r->first_flight + 1) % r->options.in_flight;
    r->flight_count--;
    if (r->cut.k && r->flight_count) send_first(r);
    return status;
}
