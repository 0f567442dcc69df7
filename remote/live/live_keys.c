/* live_keys.c - a site of whole keys: a filter of weir's module.
 *
 * WEIR.ADDHASH is test-and-set, WEIR.TESTHASH test. The first has a number, so that sending it
 * again is answered from what the module keeps, and its answer has the count of keys that were ever
 * offered.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "slice_info.h"
#include "wire_error.h"

static void add_columns(live_command *c, const weir_batch *batch, bool offering) {
    size_t bytes = batch->count * 8;
    if (batch->times) live_word(c, "TIMES"), live_bytes(c, batch->times, bytes);
    if (offering && batch->importances)
        live_word(c, "IMPORTANCES"), live_bytes(c, batch->importances, bytes);
}

static void compose(live_site *s, live_command *c, const weir_batch *batch, bool offering,
                    uint64_t number) {
    weir_filter_info info;
    weir_filter_get_info(s->site->filter, &info);
    live_begin(c, offering ? "WEIR.ADDHASH" : "WEIR.TESTHASH", s->key);
    live_bytes(c, batch->hashes, batch->count * 8);
    live_word(c, "SEED");
    live_unsigned(c, info.seed);
    live_word(c, "EPOCH");
    live_hex(c, s->epoch);
    if (offering) {
        live_word(c, "BATCH");
        live_word(c, s->live->who);
        live_unsigned(c, number);
    }
    add_columns(c, batch, offering);
}

static wire_reply *make(live_site *s, uint64_t epoch) {
    live_command c;
    bool doubtful;
    live_begin(&c, "WEIR.CREATE", s->key);
    live_word(&c, s->spec);
    live_word(&c, "IFABSENT");
    live_word(&c, "EPOCH");
    live_hex(&c, epoch);
    return live_ask(s, &c, &doubtful);
}

/* The bitmap of an answer into verdicts, where 1 is SEEN; false: it is none. */
static bool take_bitmap(const wire_reply *bits, size_t count, uint64_t *verdicts, size_t *seen) {
    if (bits->type != WIRE_STRING || bits->length != (count + 7) / 8) return false;
    memset(verdicts, 0, WEIR_VERDICT_WORDS(count) * 8);
    *seen = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_seen = !((unsigned char)bits->text[i / 8] >> (i % 8) & 1);
        verdicts[i / 64] |= (uint64_t)is_seen << i % 64;
        *seen += is_seen;
    }
    return true;
}

static bool take_answer(live_site *s, const wire_reply *reply, size_t count, bool offering,
                        uint64_t *verdicts, size_t *seen) {
    int64_t offered;
    if (!offering) return take_bitmap(reply, count, verdicts, seen);
    if (reply->type != WIRE_ARRAY || reply->count != 2 ||
        !wire_reply_number(reply->items[1], &offered) ||
        !take_bitmap(reply->items[0], count, verdicts, seen))
        return false;
    live_compare(s, (uint64_t)offered, s->count + count);
    return true;
}

/* Note an error of a server; true: ask again. */
static bool learn(live_site *s, const wire_reply *error) {
    weir_error why;
    if (wire_is_error(error, "WEIREPOCH")) {
        live_emptied(s, strtoull(error->text + strlen("WEIREPOCH "), NULL, 16));
        return true;
    }
    if (wire_is_error(error, "WEIRMISSING")) {
        uint64_t epoch = live_draw(s->live, true);
        wire_reply *made = make(s, epoch);
        bool ours = made && made->type == WIRE_STATUS;
        if (ours) live_emptied(s, epoch);
        wire_reply_free(made);
        return made != NULL;
    }
    live_explain(s, error, &why);
    live_fail(s->live, WEIR_ERR_IO, "%s", why.message);
    return false;
}

static weir__answer ask(weir__site *site, const weir_batch *batch, bool offering,
                        uint64_t *verdicts, size_t *seen) {
    enum { TRIES = 4 }; /* the value goes, is made again, has another epoch */
    live_site *s = site->host;
    uint64_t number = ++s->live->numbers;
    for (int tries = 0; tries < TRIES; tries++) {
        live_command c;
        bool doubtful;
        compose(s, &c, batch, offering, number);
        wire_reply *reply = live_ask(s, &c, &doubtful);
        if (!reply) return WEIR__NO_ANSWER;
        bool error = reply->type == WIRE_ERROR;
        bool good = !error && take_answer(s, reply, batch->count, offering, verdicts, seen);
        bool again = error && learn(s, reply);
        wire_reply_free(reply);
        if (good) {
            s->live->stats.positions += 8 * batch->count;
            live_recovered(s);
            return WEIR__ANSWER;
        }
        if (!error)
            live_fail(s->live, WEIR_ERR_IO,
                      "the server of '%s' answers with something else than verdicts", s->key);
        if (!again) break;
    }
    return WEIR__NO_ANSWER;
}

static weir__answer keys_offer(weir__site *site, const weir_batch *batch, bool waiting,
                               uint64_t *verdicts, size_t *seen) {
    (void)waiting;
    return ask(site, batch, true, verdicts, seen);
}

static weir__answer keys_test(weir__site *site, const weir_batch *batch, bool waiting,
                              uint64_t *verdicts, size_t *seen) {
    (void)waiting;
    return ask(site, batch, false, verdicts, seen);
}

/* --- described, put, placed ----------------------------------------------------------------- */

static wire_reply *ask_info(live_site *s) {
    live_command c;
    bool doubtful;
    live_begin(&c, "WEIR.INFO", s->key);
    return live_ask(s, &c, &doubtful);
}

static void keys_describe(weir__site *site, weir_site_info *info) {
    live_site *s = site->host;
    wire_reply *reply = ask_info(s);
    const wire_reply *fill = wire_reply_field(reply, "fill");
    int64_t memory = 0;
    *info = (weir_site_info){.alive = reply && reply->type == WIRE_ARRAY, .parent = SIZE_MAX};
    wire_reply_number(wire_reply_field(reply, "memory"), &memory);
    info->memory = (uint64_t)memory;
    info->fill = fill && fill->text ? strtod(fill->text, NULL) : 0;
    wire_reply_free(reply);
}

weir_status live_keys_look(live_site *s, weir_remote_slice *out, weir_error *err) {
    wire_reply *reply = ask_info(s);
    weir_status status = WEIR_OK;
    if (!reply) {
        if (err) *err = s->live->fleet->why;
        return WEIR_ERR_IO;
    }
    out->gone = wire_is_error(reply, "WEIRMISSING");
    if (reply->type == WIRE_ARRAY) {
        slice_info_read(reply, out);
    } else if (!out->gone) {
        live_explain(s, reply, err);
        status = WEIR_ERR_IO;
    }
    wire_reply_free(reply);
    return status;
}

static void keys_put(weir__site *site, weir_site_state state) {
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

static weir_status check_info(live_site *s, const wire_reply *info, weir_error *err) {
    const wire_reply *spec = wire_reply_field(info, "spec");
    const wire_reply *epoch = wire_reply_field(info, "epoch");
    int64_t offered;
    if (!spec || !epoch || spec->type != WIRE_STRING || epoch->type != WIRE_STRING ||
        !wire_reply_number(wire_reply_field(info, "offered"), &offered))
        return wire_fail(err, WEIR_ERR_MISMATCH,
                         "the server says of '%s' what this version of weir does not understand",
                         s->key);
    if (strcmp(spec->text, s->spec) != 0)
        return wire_fail(err, WEIR_ERR_MISMATCH,
                         "the key '%s' on the server is %.120s, not %.120s; take another name",
                         s->key, spec->text, s->spec);
    s->epoch = strtoull(epoch->text, NULL, 16);
    s->count = (uint64_t)offered;
    return WEIR_OK;
}

weir_status live_keys_place(live_site *s, weir_error *err) {
    static const weir__site_kind kind = {.offer = keys_offer,
                                         .test = keys_test,
                                         .sent = live_sent,
                                         .describe = keys_describe,
                                         .put = keys_put};
    weir_live *live = s->live;
    if (weir_filter_spec(s->site->filter, s->spec, sizeof s->spec) >= sizeof s->spec)
        return wire_fail(err, WEIR_ERR_SPEC, "the spec of '%s' is too long", s->key);
    wire_reply *made = make(s, live_draw(live, live->found));
    wire_reply *info = made && made->type != WIRE_ERROR ? ask_info(s) : NULL;
    weir_status status = WEIR_OK;
    if (made && made->type == WIRE_ERROR) {
        live_explain(s, made, err);
        status = WEIR_ERR_IO;
    } else if (!info) {
        if (err) *err = live->fleet->why;
        status = WEIR_ERR_IO;
    } else {
        status = check_info(s, info, err);
    }
    if (status == WEIR_OK && live->found && made->type == WIRE_STATUS) live_emptied(s, s->epoch);
    wire_reply_free(made);
    wire_reply_free(info);
    s->site->kind = &kind;
    s->site->host = s;
    return status;
}
