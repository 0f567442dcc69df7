/* live_ask.c - one message to a site, its answer, and what failed on the way.
 *
 * A question is sent and its answer awaited. Several are sent before the first answer is awaited
 * where the filter asks several sites at once: the answers of one server come in the order of its
 * questions. What fails takes the long way: the command is sent again, wherever the site is by
 * then, until the site has been silent for lost_ms. From then on it is lost, and tried once a
 * second.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "wire_access.h"
#include "wire_error.h"

enum { PROBE_MS = 1000 };
#define FOR_EVER (INT64_MAX / 4) /* ms */

/* --- commands ------------------------------------------------------------------------------- */

void live_bytes(live_command *c, const void *bytes, size_t length) {
    c->words[c->count] = bytes;
    c->lengths[c->count++] = length;
}

void live_word(live_command *c, const char *word) { live_bytes(c, word, strlen(word)); }

void live_begin(live_command *c, const char *name, const char *key) {
    c->count = c->used = 0;
    live_word(c, name);
    live_word(c, key);
}

/* Kept in the command. */
static void live_copied(live_command *c, const char *text) {
    char *at = c->room + c->used;
    size_t length = strlen(text);
    memcpy(at, text, length);
    live_bytes(c, at, length);
    c->used += length;
}

void live_number(live_command *c, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    live_copied(c, text);
}

void live_unsigned(live_command *c, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, number);
    live_copied(c, text);
}

void live_hex(live_command *c, uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, number);
    live_copied(c, text);
}

/* --- sending and receiving ------------------------------------------------------------------ */

static uint64_t connects_of(const fleet_node *node) {
    wire_traffic t;
    wire_get_traffic(node->wire, &t);
    return t.connects;
}

static bool put(live_site *s, const live_command *c) {
    weir_live *live = s->live;
    fleet_node *node = fleet_at(live->fleet, s->slot);
    if (!node || live->under_way_count == LIVE_UNDER_WAY ||
        fleet_connect(live->fleet, node, &live->fleet->why) != WIRE_OK ||
        wire_append(node->wire, c->count, c->words, c->lengths, &live->fleet->why) != WIRE_OK)
        return false;
    s->asked = node;
    s->connects = connects_of(node);
    s->asked_at = wire_nanoseconds();
    s->answered = s->broken = false;
    live->under_way[live->under_way_count++] = s;
    live->stats.messages[s->level]++;
    return true;
}

/* A reply that is no answer, but says where or when to ask. */
static bool is_detour(const fleet *f, const wire_reply *reply) {
    return wire_is_passing(reply) ||
           (f->cluster && (wire_is_error(reply, "MOVED") || wire_is_error(reply, "ASK") ||
                           wire_is_error(reply, "READONLY")));
}

static void receive(live_site *s) {
    fleet_node *node = s->asked;
    s->answered = wire_connected(node->wire) && connects_of(node) == s->connects &&
                  wire_read(node->wire, &s->reply, 0, &s->live->fleet->why) == WIRE_OK;
    s->broken = !s->answered;
}

/* Receive the answers of all questions under way up to that of `last`; NULL: of all. A server
 * answers in the order in which it was asked, and who asks something else meanwhile must not take
 * these. */
static void receive_until(weir_live *live, const live_site *last) {
    size_t taken = 0;
    for (bool found = false; taken < live->under_way_count && !found; taken++) {
        receive(live->under_way[taken]);
        found = live->under_way[taken] == last;
    }
    live->under_way_count -= taken;
    for (size_t i = 0; i < live->under_way_count; i++)
        live->under_way[i] = live->under_way[i + taken];
}

/* The answer to what was put; NULL: none came, or one that is a detour. */
static wire_reply *take(live_site *s, bool *lost) {
    wire_reply *reply = NULL;
    if (!s->answered && !s->broken) receive_until(s->live, s);
    *lost = s->broken;
    if (s->answered) reply = s->reply;
    s->asked = NULL;
    s->reply = NULL;
    s->answered = s->broken = false;
    if (!reply || !is_detour(s->live->fleet, reply)) return reply;
    wire_reply_free(reply);
    return NULL;
}

void live_announce(live_site *s, const live_command *c) {
    if (s->declared || weir__site_lost(s->site)) return;
    if (put(s, c)) wire_flush(s->asked->wire, &s->live->fleet->why);
}

static bool is_stopped(const weir_live *live) {
    const weir_remote_options *o = &live->options.servers;
    return live->failed || (o->stop && o->stop(o->context));
}

/* Other sites at the server of a site: one line is enough for all of them. */
static size_t mark_others(const live_site *s) {
    weir_live *live = s->live;
    size_t others = 0;
    for (live_site *t = live->sites; t < live->sites + live->count; t++) {
        bool there = live->fleet->slots[t->slot] == live->fleet->slots[s->slot];
        if (t == s || t->silent || weir__site_lost(t->site) || !there) continue;
        t->silent = true;
        others++;
    }
    return others;
}

/* The end says it itself. */
static void say_silent(live_site *s) {
    weir_live *live = s->live;
    const char *why = live->fleet->why.message;
    char more[48] = "";
    if (!*why) why = "no answer";
    live->stats.silent++;
    live_event(live, WEIR_LIVE_SILENT, s->number, 0);
    if (s->rule == LIVE_STOP)
        live_fail(live, WEIR_ERR_IO, "slice %zu of '%s' is lost, and on-lost is stop: %.300s",
                  s->number, live->name, why);
    if (s->rule == LIVE_STOP || s->silent) return;
    size_t others = mark_others(s);
    if (others) snprintf(more, sizeof more, ", with %zu more on its server", others);
    live_say(live, "slice %zu of '%s' is lost%s%s: %.300s", s->number, live->name, more,
             s->rule == LIVE_WAIT ? ", and is waited for" : "", why);
}

static void lose(live_site *s) {
    s->probe_at = wire_now() + PROBE_MS;
    if (weir__site_lost(s->site)) return;
    say_silent(s);
    atomic_store_explicit(&s->site->lost, true, memory_order_release);
}

void live_recovered(live_site *s) {
    bool silent = s->silent;
    s->silent = false;
    if (!weir__site_lost(s->site) && !s->awaited) return;
    atomic_store_explicit(&s->site->lost, false, memory_order_release);
    s->awaited = false;
    live_event(s->live, WEIR_LIVE_BACK, s->number, 0);
    if (!silent) live_say(s->live, "slice %zu of '%s' answers again", s->number, s->live->name);
}

static weir_status send_on(live_site *s, const live_command *c, int64_t patience,
                           wire_reply **reply) {
    weir_live *live = s->live;
    weir_status status = fleet_command(live->fleet, s->key, c->count, c->words, c->lengths,
                                       patience, reply, &live->fleet->why);
    live->stats.messages[s->level] += live->fleet->sendings;
    return status;
}

/* Until it answers, has been silent for too long, or somebody wants an end. */
static wire_reply *ask_again(live_site *s, const live_command *c) {
    weir_live *live = s->live;
    wire_reply *reply = NULL;
    receive_until(live, NULL);
    fleet_refresh(live->fleet, PROBE_MS / 4);
    weir_status status =
        send_on(s, c, weir__site_lost(s->site) ? 0 : live->options.servers.lost_ms, &reply);
    if (status != WEIR_OK && live->fleet->late && s->rule == LIVE_WAIT) {
        if (!s->awaited) say_silent(s);
        s->awaited = true;
        status = send_on(s, c, FOR_EVER, &reply);
    }
    live_look_at_masters(live);
    if (status != WEIR_OK && s->rule == LIVE_WAIT && !is_stopped(live))
        live_fail(live, WEIR_ERR_IO, "%s", live->fleet->why.message);
    if (status != WEIR_OK) return NULL;
    if (!is_detour(live->fleet, reply)) return reply;
    wire_explain("cluster", reply, &live->fleet->why);
    wire_reply_free(reply);
    return NULL;
}

/* A wait that is over. */
static void say_stall(const live_site *s, const stall *wait) {
    char line[512];
    if (stall_say(wait, s->live->fleet, s->number, s->live->name, s->slot, line, sizeof line))
        live_say(s->live, "%s", line);
}

wire_reply *live_ask(live_site *s, const live_command *c, bool *doubtful) {
    weir_live *live = s->live;
    uint64_t began = wire_nanoseconds();
    *doubtful = false;
    if (s->declared || is_stopped(live)) return NULL;
    if (weir__site_lost(s->site) && !s->asked && wire_now() < s->probe_at) return NULL;
    if (!s->asked) put(s, c);
    else began = s->asked_at;
    stall wait = {.began = wire_now(), .failed = s->asked};
    uint64_t said = live->said;
    wire_reply *reply = s->asked ? take(s, doubtful) : NULL;
    if (reply) wait.failed = NULL;
    else reply = ask_again(s, c);
    if (reply && live->said == said) say_stall(s, &wait);
    live->stats.doubtful += *doubtful && reply;
    live->stats.nanoseconds[s->level] += wire_nanoseconds() - began;
    if (!reply && !is_stopped(live)) lose(s);
    return reply;
}

/* --- what an answer says of the site -------------------------------------------------------- */

void live_explain(const live_site *s, const wire_reply *error, weir_error *err) {
    const fleet_node *node = fleet_at(s->live->fleet, s->slot);
    wire_explain(node ? wire_server(node->wire) : "cluster", error, err);
}

void live_fail(weir_live *live, weir_status code, const char *format, ...) {
    va_list args;
    if (live->failed) return;
    live->failed = true;
    live->why.code = code;
    va_start(args, format);
    vsnprintf(live->why.message, sizeof live->why.message, format, args);
    va_end(args);
}

static void lacks(live_site *s) {
    s->hollow = true;
    if (s->rule == LIVE_STOP)
        live_fail(s->live, WEIR_ERR_IO,
                  "slice %zu of '%s' has lost what it held, and on-lost is stop", s->number,
                  s->live->name);
}

void live_emptied(live_site *s, uint64_t epoch) {
    weir_live *live = s->live;
    bool unopened = !s->epoch; /* it was lost when this object began: it is taken as it is */
    s->epoch = epoch;
    s->count = 0;
    if (unopened && !(epoch & MANIFEST_AGAIN)) return;
    live->stats.emptied++;
    live_event(live, WEIR_LIVE_EMPTY, s->number, 0);
    if (s->rule != LIVE_STOP)
        live_say(
            live, "slice %zu of '%s' was gone and begins again empty: %s", s->number, live->name,
            s->weighs ? "what is off there proves nothing" : "repeats of what it knew will pass");
    lacks(s);
}

void live_compare(live_site *s, uint64_t count, uint64_t least) {
    weir_live *live = s->live;
    if (count < least) {
        live->stats.rewound++;
        live->stats.keys_rewound += least - count;
        live_event(live, WEIR_LIVE_REWOUND, s->number, least - count);
        if (s->rule != LIVE_STOP)
            live_say(live,
                     "slice %zu of '%s' lacks at least %" PRIu64
                     " writes that it had: a replica without "
                     "them took over",
                     s->number, live->name, least - count);
        lacks(s);
    }
    s->count = count;
}
