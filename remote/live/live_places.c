/* live_places.c - a site of places: a plain string, so that no module is needed.
 *
 * Layout    epoch (64 bits, the lowest 24 of the filter: manifest_stamp()), count of messages that
 * set (64 bits), then the places: a bit each, or with a window the instant at which each was set
 * (64 bits, ns since 1970; 0 is never). A server has one clock for all of them: that of the
 * records. Commands  one BITFIELD for each message, which a server does whole: GET of epoch and
 * places tests; INCRBY of the count and SET of places, which answers with what they were, tests and
 * sets. So each answer has the epoch and the count. Gone      A string that is gone reads as zeros:
 * epoch 0. It gets a new epoch. Again     What was sent twice may have met its own first sending:
 * its places are then said to have been off, so that the key is NEW and no record is lost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "wire_error.h"

#define INSTANT_ZERO (UINT64_C(1) << 63) /* filters count instants from the least time */

/* What a place would be set to, and from which value on it is on. */
typedef struct {
    bool timed;
    int64_t from, now;
} clock_of;

static clock_of clock_at(const weir__site *site) {
    const weir__places *places = site->filter->class->places;
    clock_of c = {.timed = places->instants != NULL};
    uint64_t oldest, newest;
    if (!c.timed) return c;
    places->instants(site->filter, &oldest, &newest);
    c.from = (int64_t)(oldest ^ INSTANT_ZERO);
    c.now = (int64_t)(newest ^ INSTANT_ZERO);
    if (!c.now) c.now = 1;
    return c;
}

/* Places from one number to before another. */
static uint64_t between(const weir__site *site, uint64_t from, uint64_t to) {
    const weir__places *places = site->filter->class->places;
    if (!places->below) return to - from;
    return places->below(site->filter, to) - places->below(site->filter, from);
}

static void compose(const live_site *s, live_command *c, const uint64_t *places, size_t count,
                    bool setting) {
    clock_of clock = clock_at(s->site);
    live_begin(c, "BITFIELD", s->key);
    live_word(c, "GET"), live_word(c, "i64"), live_word(c, "0");
    live_word(c, setting ? "INCRBY" : "GET"), live_word(c, "i64"), live_word(c, "64");
    if (setting) live_word(c, "1");
    for (size_t i = 0; i < count; i++) {
        uint64_t at = between(s->site, s->site->first, places[i]);
        live_word(c, setting ? "SET" : "GET");
        live_word(c, clock.timed ? "i64" : "u1");
        live_number(c, (int64_t)(LIVE_HEADER_BITS + at * (clock.timed ? 64 : 1)));
        if (setting) live_number(c, clock.timed ? clock.now : 1);
    }
}

static manifest_shape shape_of(const live_site *s) {
    const weir_filter *filter = s->site->filter;
    manifest_shape shape = {.first = s->site->first,
                            .end = s->site->end,
                            .siphash = weir__opt_whole(filter, WEIR__OPT_HASH) == 1,
                            .timers = filter->class->places->instants != NULL};
    weir_filter_info info;
    weir_filter_get_info(filter, &info);
    shape.seed = info.seed;
    shape.k = filter->class->places->shape(filter, &shape.places);
    return shape;
}

static uint64_t draw_epoch(const live_site *s, bool again) {
    manifest_shape shape = shape_of(s);
    return manifest_stamp(live_draw(s->live, again), &shape);
}

static weir_status check_epoch(const live_site *s, uint64_t epoch, weir_error *err) {
    manifest_shape shape = shape_of(s);
    return manifest_check_stamp(epoch, &shape, s->key, err);
}

/* A string without an epoch gets one; another producer may be doing the same, and the first is
 * right. */
static void begin_again(live_site *s) {
    live_command c;
    bool doubtful;
    int64_t old = 0;
    uint64_t epoch = draw_epoch(s, true);
    live_begin(&c, "BITFIELD", s->key);
    live_word(&c, "SET"), live_word(&c, "i64"), live_word(&c, "0");
    live_number(&c, (int64_t)epoch);
    wire_reply *reply = live_ask(s, &c, &doubtful);
    bool good = reply && reply->type == WIRE_ARRAY && reply->count == 1 &&
                wire_reply_number(reply->items[0], &old);
    wire_reply_free(reply);
    if (good && old) {
        epoch = (uint64_t)old;
        live_begin(&c, "BITFIELD", s->key);
        live_word(&c, "SET"), live_word(&c, "i64"), live_word(&c, "0");
        live_number(&c, old);
        wire_reply_free(live_ask(s, &c, &doubtful));
    }
    if (good) live_emptied(s, epoch);
}

static bool is_answer(const wire_reply *reply, size_t count) {
    int64_t number;
    if (reply->type != WIRE_ARRAY || reply->count != count + 2) return false;
    for (size_t i = 0; i < reply->count; i++)
        if (!wire_reply_number(reply->items[i], &number)) return false;
    return true;
}

/* False: it is of another filter. */
static bool take_header(live_site *s, const wire_reply *reply, bool setting, bool doubtful) {
    uint64_t epoch = (uint64_t)reply->items[0]->integer, count = (uint64_t)reply->items[1]->integer;
    uint64_t least = s->count + (setting && !doubtful);
    weir_error why;
    if (epoch && epoch != s->epoch && check_epoch(s, epoch, &why) != WEIR_OK) {
        live_fail(s->live, WEIR_ERR_MISMATCH, "%s", why.message);
        return false;
    }
    if (epoch == s->epoch) live_compare(s, count, least);
    else if (!epoch) begin_again(s);
    else live_emptied(s, epoch);
    return true;
}

static weir__answer ask(weir__site *site, const uint64_t *places, size_t count, bool setting,
                        uint64_t *on) {
    live_site *s = site->host;
    live_command c;
    bool doubtful;
    clock_of clock = clock_at(site);
    compose(s, &c, places, count, setting);
    wire_reply *reply = live_ask(s, &c, &doubtful);
    if (!reply) return WEIR__NO_ANSWER;
    if (!is_answer(reply, count)) {
        weir_error why = {.message = "it answers with something else than places"};
        if (reply->type == WIRE_ERROR) live_explain(s, reply, &why);
        live_fail(s->live, WEIR_ERR_IO, "%s", why.message);
        wire_reply_free(reply);
        return WEIR__NO_ANSWER;
    }
    *on = 0;
    if (!take_header(s, reply, setting, doubtful)) {
        wire_reply_free(reply);
        return WEIR__NO_ANSWER;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value = reply->items[i + 2]->integer;
        bool is_on = clock.timed ? value && value >= clock.from : value == 1;
        *on |= (uint64_t)(is_on && !(setting && doubtful)) << i;
    }
    wire_reply_free(reply);
    s->live->stats.positions += (clock.timed && setting ? 12 : 4) * count;
    live_recovered(s);
    bool all_on = (size_t)__builtin_popcountll(*on) == count;
    return s->hollow && s->weighs && !all_on && !setting ? WEIR__NO_ANSWER : WEIR__ANSWER;
}

static weir__answer places_test(weir__site *site, const uint64_t *places, size_t count,
                                uint64_t *on) {
    return ask(site, places, count, false, on);
}

static weir__answer places_set(weir__site *site, const uint64_t *places, size_t count,
                               uint64_t *on) {
    return ask(site, places, count, true, on);
}

static void places_announce(weir__site *site, const uint64_t *places, size_t count, bool setting) {
    live_command c;
    live_site *s = site->host;
    compose(s, &c, places, count, setting);
    live_announce(s, &c);
}

/* --- described, put, placed ----------------------------------------------------------------- */

static uint64_t bits_of(const live_site *s) {
    uint64_t places = between(s->site, s->site->first, s->site->end);
    return LIVE_HEADER_BITS + places * (s->site->filter->class->places->instants ? 64 : 1);
}

weir_status live_places_fit(const live_site *s, uint64_t *bytes, weir_error *err) {
    enum { STRING_MOST = 512 << 20 };
    bool timed = s->site->filter->class->places->instants != NULL;
    *bytes = bits_of(s) / 8;
    if (*bytes <= STRING_MOST) return WEIR_OK;
    return wire_fail(err, WEIR_ERR_RANGE,
                     "a slice of places would take %lluM on its server%s, and a string has at most "
                     "512M: take more slices, or less memory",
                     (unsigned long long)(*bytes >> 20), timed ? ", where a timer is 8 bytes" : "");
}

/* Of bits, how many are on; of instants nobody but the filter knows which count. -1: no answer. */
static int64_t count_on(live_site *s) {
    live_command c;
    bool doubtful;
    live_begin(&c, "BITCOUNT", s->key);
    live_number(&c, LIVE_HEADER_BITS / 8);
    live_number(&c, -1);
    wire_reply *reply = live_ask(s, &c, &doubtful);
    int64_t on = reply && reply->type == WIRE_INTEGER ? reply->integer : -1;
    wire_reply_free(reply);
    return on;
}

static double share_on(const weir__site *site, int64_t on) {
    bool timed = site->filter->class->places->instants != NULL;
    return timed || on < 0 ? 0 : (double)on / (double)(site->end - site->first);
}

static void places_describe(weir__site *site, weir_site_info *info) {
    live_site *s = site->host;
    int64_t on = count_on(s);
    *info = (weir_site_info){.alive = on >= 0, .parent = SIZE_MAX, .memory = bits_of(s) / 8};
    info->fill = share_on(site, on);
}

static void places_put(weir__site *site, weir_site_state state) {
    live_site *s = site->host;
    live_command c;
    bool doubtful;
    s->declared = false;
    if (state == WEIR_SITE_EMPTY) {
        live_begin(&c, "DEL", s->key);
        wire_reply_free(live_ask(s, &c, &doubtful));
    }
    s->declared = state == WEIR_SITE_LOST;
    atomic_store_explicit(&site->lost, s->declared, memory_order_release);
}

static void write_number(uint8_t *bytes, uint64_t number) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(number >> (56 - 8 * i));
}

static weir_status read_header(live_site *s, weir_error *err) {
    live_command c;
    bool doubtful;
    int64_t epoch, count;
    live_begin(&c, "BITFIELD", s->key);
    live_word(&c, "GET"), live_word(&c, "i64"), live_word(&c, "0");
    live_word(&c, "GET"), live_word(&c, "i64"), live_word(&c, "64");
    wire_reply *reply = live_ask(s, &c, &doubtful);
    weir_status status = WEIR_ERR_IO;
    if (!reply) {
        if (err) *err = s->live->fleet->why;
    } else if (reply->type == WIRE_ERROR) {
        live_explain(s, reply, err);
    } else if (reply->type != WIRE_ARRAY || reply->count != 2 ||
               !wire_reply_number(reply->items[0], &epoch) || epoch <= 0 ||
               !wire_reply_number(reply->items[1], &count)) {
        status = wire_fail(err, WEIR_ERR_MISMATCH,
                           "the key '%s' on the server is not a slice of places; take another name",
                           s->key);
    } else {
        s->epoch = (uint64_t)epoch;
        s->count = (uint64_t)count;
        s->hollow = s->epoch & MANIFEST_AGAIN;
        status = check_epoch(s, s->epoch, err);
    }
    wire_reply_free(reply);
    return status;
}

weir_status live_places_look(live_site *s, weir_remote_slice *out, weir_error *err) {
    live_command c;
    bool doubtful;
    live_begin(&c, "STRLEN", s->key);
    wire_reply *reply = live_ask(s, &c, &doubtful);
    if (!reply || reply->type != WIRE_INTEGER) {
        if (reply) live_explain(s, reply, err);
        else if (err) *err = s->live->fleet->why;
        wire_reply_free(reply);
        return WEIR_ERR_IO;
    }
    out->memory = (uint64_t)reply->integer;
    out->gone = !reply->integer;
    wire_reply_free(reply);
    if (out->gone) return WEIR_OK;
    weir_status status = read_header(s, err);
    out->epoch = s->epoch;
    out->offered = s->count;
    out->fill = share_on(s->site, count_on(s));
    return status;
}

weir_status live_places_place(live_site *s, weir_error *err) {
    static const weir__site_kind kind = {.test_places = places_test,
                                         .set_places = places_set,
                                         .announce = places_announce,
                                         .sent = live_sent,
                                         .describe = places_describe,
                                         .put = places_put};
    uint8_t header[LIVE_HEADER_BITS / 8] = {0};
    live_command c;
    bool doubtful;
    write_number(header, draw_epoch(s, s->live->found));
    live_begin(&c, "SET", s->key);
    live_bytes(&c, header, sizeof header);
    live_word(&c, "NX");
    wire_reply *made = live_ask(s, &c, &doubtful);
    bool ours = made && made->type == WIRE_STATUS;
    weir_status status = WEIR_ERR_IO;
    if (made) status = read_header(s, err);
    else if (err) *err = s->live->fleet->why;
    if (status == WEIR_OK && ours && s->live->found) live_emptied(s, s->epoch);
    wire_reply_free(made);
    s->site->kind = &kind;
    s->site->host = s;
    return status;
}
