/* places.c - slices of places on plain strings: stages of a batch, and the commands of each.
 *
 * Order      the keys of a batch are asked together, yet judged as if one came after the other: a
 *            place that an earlier key of the batch sets counts as on. A table of the batch's
 * places holds the first key of each. A pipeline therefore stops at a place that is off only if no
 * earlier key of the batch has it. Batches follow each other strictly: one is asked when the one
 * before has been decided. Retries    asking changes nothing; setting twice is setting once; which
 * keys are NEW is known before anything is set. So a reply that is missing costs no verdict. A
 * count that is added to twice only makes a slice seem to know more than it does.
 */
#include "places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir_text.h"
#include "wire_error.h"

enum {
    PLACES_MOST = 4096, /* of a command: so many keep a server busy for about a millisecond */
    HEADER_BITS = 128,  /* epoch and count */
    HEADER_WORDS = 9,   /* of each command: the key, and how these two are asked */
    HEADER_REPLIES = 2, /* its first replies: epoch and count */
    WORDS_A_PLACE = 8,  /* "SET u1 offset 1", and as much for a claim */
    CLAIM_BITS = 64,
    CLAIMS_LEAST = 16384,  /* in a slice: 128K */
    PLACES_A_CLAIM = 1024, /* so claims take a sixteenth of the memory of places */
    WHO_BITS = 24          /* of a claim: its producer; the others are of the key's hash */
};

typedef enum { START, ASK, SET, DECIDE } stage;

/* State of a place of a key. */
typedef enum {
    UNKNOWN,
    ON,
    OFF,
    LOST,
    HOLLOW, /* off, at a slice that has lost what it held: that proves nothing */
    OTHER   /* a key before it, or a place before it, sets the same one */
} place_state;

typedef struct {
    uint64_t place;
    uint32_t key; /* the first of the batch that has it */
    bool used, set;
} table_entry;

typedef struct {
    uint64_t hash;
    uint32_t decider; /* index of its lowest place that is off */
    bool has;         /* it has one */
    bool lost;        /* a place is lost, and none is off */
    bool open;        /* no verdict yet */
    bool on;          /* its lowest place was on when it was set */
    bool by_another;  /* by a producer with the same key, who is NEW */
} key_state;

struct places_flight {
    stage stage;
    size_t keys, room;
    uint32_t *at;      /* place of each key in the batch */
    uint64_t *places;  /* k of each key */
    uint8_t *states;   /* place_state of each */
    key_state *of_key; /* of each key */
    table_entry *table;
    size_t mask;         /* entries of the table, a power of two, less one */
    uint32_t *chosen;    /* indices of places for the requests of this stage */
    uint64_t *sent;      /* the same by slice: places, */
    uint32_t *sent_from; /* and their indices */
    size_t chosen_count;
};

/* --- memory ------------------------------------------------------------------------------------
 */

static void release_arrays(places_flight *v) {
    free(v->at), free(v->places), free(v->states), free(v->of_key);
    free(v->table), free(v->chosen), free(v->sent), free(v->sent_from);
    *v = (places_flight){0};
}

void places_release(places_flight *v) {
    if (!v) return;
    release_arrays(v);
    free(v);
}

static bool room_for_places(weir_remote *r, flight *f, size_t keys) {
    size_t places = keys * r->cut.k, entries = 64;
    places_flight *v = f->places;
    if (!v) v = f->places = calloc(1, sizeof *v);
    if (!v) return false;
    if (keys <= v->room) return true;
    release_arrays(v);
    while (entries < 2 * places) entries *= 2;
    free(f->requests);
    f->requests = calloc(r->plan.slices + places / PLACES_MOST + 1, sizeof *f->requests);
    v->at = calloc(keys, sizeof *v->at);
    v->places = calloc(places, sizeof *v->places);
    v->states = calloc(places, 1);
    v->of_key = calloc(keys, sizeof *v->of_key);
    v->table = calloc(entries, sizeof *v->table);
    v->chosen = calloc(places, sizeof *v->chosen);
    v->sent = calloc(places, sizeof *v->sent);
    v->sent_from = calloc(places, sizeof *v->sent_from);
    bool good = f->requests && v->at && v->places && v->states && v->of_key && v->table &&
                v->chosen && v->sent && v->sent_from;
    v->mask = entries - 1;
    v->room = good ? keys : 0;
    return good;
}

/* --- places --------------------------------------------------------------------------------------
 */

static size_t slice_of_place(const weir_remote *r, uint64_t place) {
    return (size_t)((unsigned __int128)place * r->cut.slices / r->cut.places);
}

static uint64_t first_of(const weir_remote *r, size_t i) {
    return (uint64_t)(((unsigned __int128)i * r->cut.places + r->cut.slices - 1) / r->cut.slices);
}

static table_entry *entry_of(const places_flight *v, uint64_t place) {
    size_t at = (size_t)(place * UINT64_C(0x9e3779b97f4a7c15) >> 20) & v->mask;
    while (v->table[at].used && v->table[at].place != place) at = (at + 1) & v->mask;
    return &v->table[at];
}

bool places_take_batch(weir_remote *r, flight *f, const weir_batch *batch) {
    if (!room_for_places(r, f, batch->count ? batch->count : 1)) return false;
    places_flight *v = f->places;
    v->stage = START;
    v->keys = 0;
    memset(v->table, 0, (v->mask + 1) * sizeof *v->table);
    for (size_t i = 0; i < batch->count; i++) {
        if (f->verdicts[i / 64] >> (i % 64) & 1) continue;
        uint64_t *places = v->places + v->keys * r->cut.k;
        weir_filter_find_places(r->twin, batch->hashes[i], places);
        for (unsigned j = 0; j < r->cut.k; j++) {
            table_entry *e = entry_of(v, places[j]);
            if (!e->used) *e = (table_entry){places[j], (uint32_t)v->keys, true, false};
        }
        v->of_key[v->keys] = (key_state){.hash = batch->hashes[i], .open = true};
        v->at[v->keys++] = (uint32_t)i;
    }
    memset(v->states, UNKNOWN, v->keys * r->cut.k);
    f->request_count = 0;
    return true;
}

size_t places_open(const flight *f) {
    size_t open = 0;
    for (size_t i = 0; i < f->places->keys; i++) open += f->places->of_key[i].open;
    return open;
}

/* --- requests of a stage
 * -------------------------------------------------------------------------- */

/* One for each slice that has chosen places, or several if there are many. */
static void make_requests(weir_remote *r, flight *f) {
    places_flight *v = f->places;
    size_t starts[MANIFEST_SLICES + 1] = {0}, slices = r->plan.slices;
    for (size_t i = 0; i < v->chosen_count; i++)
        starts[slice_of_place(r, v->places[v->chosen[i]]) + 1]++;
    for (size_t s = 0; s < slices; s++) starts[s + 1] += starts[s];
    f->request_count = 0;
    for (size_t s = 0; s < slices; s++)
        for (size_t at = starts[s], count; at < starts[s + 1]; at += count) {
            count = starts[s + 1] - at < PLACES_MOST ? starts[s + 1] - at : PLACES_MOST;
            f->requests[f->request_count++] = (request){.slice = s,
                                                        .count = count,
                                                        .number = ++r->numbers,
                                                        .hashes = v->sent + at,
                                                        .from = v->sent_from + at,
                                                        .deadline = slice_deadline(&r->slices[s])};
        }
    for (size_t i = 0; i < v->chosen_count; i++) {
        uint64_t place = v->places[v->chosen[i]];
        size_t at = starts[slice_of_place(r, place)]++;
        v->sent[at] = place;
        v->sent_from[at] = v->chosen[i];
    }
}

static void choose(places_flight *v, size_t index) {
    v->chosen[v->chosen_count++] = (uint32_t)index;
}

/* --- asking
 * ----------------------------------------------------------------------------------------- */

/* Does what is known of a key settle its verdict before all of it is? */
static bool settled(const weir_remote *r, const places_flight *v, size_t key) {
    unsigned on = 0;
    for (size_t i = key * r->cut.k; i < (key + 1) * r->cut.k; i++) {
        on += v->states[i] == ON;
        if (!r->cut.letter && v->states[i] == OFF && entry_of(v, v->places[i])->key == key)
            return true;
    }
    return r->cut.letter && on >= r->live;
}

/* The places of a key in the slice of the first that is not known; or all of them. */
static void choose_next(const weir_remote *r, places_flight *v, size_t key, bool all) {
    size_t wanted = SIZE_MAX;
    for (size_t i = key * r->cut.k; i < (key + 1) * r->cut.k; i++) {
        if (v->states[i] != UNKNOWN) continue;
        size_t its = slice_of_place(r, v->places[i]);
        if (wanted == SIZE_MAX) wanted = its;
        if (all || its == wanted) choose(v, i);
    }
}

static void choose_to_ask(const weir_remote *r, places_flight *v) {
    bool all = !r->cut.pipeline || r->cut.at_once;
    v->chosen_count = 0;
    for (size_t key = 0; key < v->keys; key++)
        if (!settled(r, v, key)) choose_next(r, v, key, all);
}

/* --- judging
 * ---------------------------------------------------------------------------------------- */

static void call_seen(flight *f, size_t key) {
    size_t at = f->places->at[key];
    f->verdicts[at / 64] |= UINT64_C(1) << (at % 64);
}

static bool judge(const weir_remote *r, places_flight *v, size_t key) {
    unsigned on = 0, live = 0;
    bool off = false;
    for (size_t i = key * r->cut.k; i < (key + 1) * r->cut.k; i++) {
        bool is_off = v->states[i] == OFF || v->states[i] == HOLLOW;
        if (is_off && entry_of(v, v->places[i])->set) v->states[i] = ON;
        on += v->states[i] == ON;
        off |= v->states[i] == OFF;
        live += v->states[i] == ON || v->states[i] == OFF;
        v->of_key[key].lost |= v->states[i] == LOST || v->states[i] == HOLLOW;
    }
    v->of_key[key].lost &= !off;
    return r->cut.letter ? on >= r->live : !off && live >= r->live;
}

static bool may_be_set(uint8_t state) {
    return state == OFF || state == UNKNOWN || state == HOLLOW;
}

/* The places that a NEW key sets: each belongs to one key of the batch. */
static void claim_places(const weir_remote *r, places_flight *v, size_t key) {
    key_state *of = &v->of_key[key];
    bool decider_off = false;
    for (size_t i = key * r->cut.k; i < (key + 1) * r->cut.k; i++) {
        if (!may_be_set(v->states[i])) continue;
        table_entry *e = entry_of(v, v->places[i]);
        if (e->set) {
            v->states[i] = OTHER;
            continue;
        }
        e->set = true;
        bool off = v->states[i] == OFF;
        bool lower = !of->has || v->places[i] < v->places[of->decider];
        if (!of->has || (off && !decider_off) || (off == decider_off && lower)) {
            of->decider = (uint32_t)i;
            decider_off = off;
        }
        of->has = true;
    }
}

static void choose_to_set(const weir_remote *r, places_flight *v) {
    v->chosen_count = 0;
    for (size_t key = 0; key < v->keys; key++) {
        const key_state *of = &v->of_key[key];
        for (size_t i = key * r->cut.k; of->has && i < (key + 1) * r->cut.k; i++) {
            if (i == of->decider || !may_be_set(v->states[i])) continue;
            choose(v, i);
        }
    }
}

static void choose_deciders(places_flight *v) {
    v->chosen_count = 0;
    for (size_t key = 0; key < v->keys; key++)
        if (v->of_key[key].has) choose(v, v->of_key[key].decider);
}

/* All places were asked: which keys are NEW? */
static void judge_all(weir_remote *r, flight *f) {
    places_flight *v = f->places;
    for (size_t key = 0; key < v->keys; key++) {
        bool seen = judge(r, v, key);
        if (seen) call_seen(f, key);
        else if (!r->cut.at_once) claim_places(r, v, key);
        if (v->of_key[key].lost) r->stats.guessed++;
        else r->stats.sent++;
        v->of_key[key].open = v->of_key[key].has;
    }
}

/* Who else switched on what this producer wanted to: places.h. */
static void decide_all(flight *f) {
    places_flight *v = f->places;
    for (size_t key = 0; key < v->keys; key++) {
        key_state *of = &v->of_key[key];
        if (of->open && of->on && of->by_another) call_seen(f, key);
        of->open = false;
    }
}

bool places_is_new(const flight *f) { return f->places->stage == START; }

bool places_next(weir_remote *r, flight *f) {
    places_flight *v = f->places;
    for (;;) {
        switch (v->stage) {
        case START:
            v->stage = ASK;
            choose_to_ask(r, v);
            break;
        case ASK:
            choose_to_ask(r, v);
            if (v->chosen_count) break;
            judge_all(r, f);
            v->stage = SET;
            choose_to_set(r, v);
            break;
        case SET:
            v->stage = DECIDE;
            choose_deciders(v);
            break;
        case DECIDE:
            decide_all(f);
            f->request_count = 0;
            return false;
        }
        if (!v->chosen_count) continue;
        make_requests(r, f);
        return true;
    }
}

/* --- commands and replies
 * ------------------------------------------------------------------------- */

static bool sets(const weir_remote *r, const flight *f) {
    return f->places->stage != ASK || r->cut.at_once;
}

uint64_t places_claimant(uint64_t who) { return who & ((1u << WHO_BITS) - 1); }

/* Where a slice keeps the claim on a key, behind its places: in bits from the beginning. */
static uint64_t claim_at(const weir_remote *r, uint64_t hash) {
    uint64_t places = (r->cut.places + r->cut.slices - 1) / r->cut.slices;
    uint64_t claims = places / PLACES_A_CLAIM;
    if (claims < CLAIMS_LEAST) claims = CLAIMS_LEAST;
    uint64_t begin = HEADER_BITS + (places + CLAIM_BITS - 1) / CLAIM_BITS * CLAIM_BITS;
    return begin + hash % claims * CLAIM_BITS;
}

/* Which key, by bits of a mix of its hash, and which producer. */
static int64_t claim_of(const weir_remote *r, uint64_t hash) {
    uint64_t mixed = hash * UINT64_C(0x9e3779b97f4a7c15);
    return (int64_t)(mixed >> WHO_BITS << WHO_BITS | r->claimant);
}

/* A command under way. */
typedef struct {
    const char **words;
    char (*numbers)[24];
    size_t count, numbers_count;
} command;

static const char *number(command *c, int64_t value) {
    char *text = c->numbers[c->numbers_count++];
    snprintf(text, sizeof *c->numbers, "%lld", (long long)value);
    return text;
}

static void put(command *c, const char *verb, const char *type, uint64_t at, const char *value) {
    c->words[c->count++] = verb;
    c->words[c->count++] = type;
    c->words[c->count++] = number(c, (int64_t)at);
    if (value) c->words[c->count++] = value;
}

static void put_places(weir_remote *r, const flight *f, const request *q, command *c) {
    uint64_t first = first_of(r, q->slice);
    bool set = sets(r, f);
    c->words[c->count++] = "BITFIELD";
    c->words[c->count++] = r->slices[q->slice].key;
    put(c, "GET", "i64", 0, NULL);
    if (set) put(c, "INCRBY", "i64", 64, number(c, (int64_t)q->count));
    else put(c, "GET", "i64", 64, NULL);
    for (size_t i = 0; i < q->count; i++) {
        uint64_t hash = f->places->of_key[q->from[i] / r->cut.k].hash;
        put(c, set ? "SET" : "GET", "u1", q->hashes[i] - first + HEADER_BITS, set ? "1" : NULL);
        if (f->places->stage == DECIDE)
            put(c, "SET", "i64", claim_at(r, hash), number(c, claim_of(r, hash)));
    }
}

wire_outcome places_append(weir_remote *r, const flight *f, fleet_node *node, const request *q,
                           weir_error *err) {
    size_t most = HEADER_WORDS + q->count * WORDS_A_PLACE;
    command c = {.words = calloc(most, sizeof *c.words),
                 .numbers = calloc(most, sizeof *c.numbers)};
    size_t *lengths = calloc(most, sizeof *lengths);
    wire_outcome how = WIRE_LOST;
    if (c.words && c.numbers && lengths) {
        put_places(r, f, q, &c);
        for (size_t i = 0; i < c.count; i++) lengths[i] = strlen(c.words[i]);
        how = wire_append(node->wire, c.count, c.words, lengths, err);
    } else {
        wire_report(err, WEIR_ERR_MEMORY, "out of memory");
    }
    free(lengths);
    free(c.numbers);
    free(c.words);
    return how;
}

/* As BITFIELD reads a number of 64 bits. */
static void write_epoch(char bytes[8], uint64_t epoch) {
    for (unsigned i = 0; i < 8; i++) bytes[i] = (char)(epoch >> (56 - 8 * i));
}

/* Bits that were set meanwhile stay. */
wire_outcome places_append_create(fleet_node *node, const slice *s, weir_error *err) {
    char epoch[8];
    write_epoch(epoch, s->epoch);
    return wire_appendf(node->wire, err, "SETRANGE %s 0 %b", s->key, epoch, sizeof epoch);
}

bool places_check(weir_remote *r, const flight *f, const request *q, const wire_reply *reply,
                  uint64_t *epoch, uint64_t *count, uint64_t *added) {
    size_t replies = q->count * (f->places->stage == DECIDE ? 2 : 1);
    if (reply->type != WIRE_ARRAY || reply->count != HEADER_REPLIES + replies) return false;
    for (size_t i = 0; i < reply->count; i++)
        if (reply->items[i]->type != WIRE_INTEGER) return false;
    *epoch = (uint64_t)reply->items[0]->integer;
    *count = (uint64_t)reply->items[1]->integer;
    *added = sets(r, f) ? q->count : 0;
    return true;
}

/* The lowest place of a key, and the claim that was there before. */
static void take_decision(weir_remote *r, key_state *of, bool was_on, int64_t claim) {
    int64_t mine = claim_of(r, of->hash);
    of->on = was_on;
    of->by_another = claim != mine && claim >> WHO_BITS == mine >> WHO_BITS;
}

void places_take(weir_remote *r, flight *f, const request *q, const wire_reply *reply) {
    places_flight *v = f->places;
    wire_reply **said = reply->items + HEADER_REPLIES;
    /* Sent again, it may find what it has itself set: no proof that a key was SEEN. */
    bool doubt = q->repeated && r->cut.at_once;
    bool proves = !r->slices[q->slice].hollow || r->live == r->cut.k;
    for (size_t i = 0; i < q->count; i++) {
        if (v->stage == ASK && said[i]->integer && !doubt) v->states[q->from[i]] = ON;
        else if (v->stage == ASK) v->states[q->from[i]] = proves ? OFF : HOLLOW;
        else if (v->stage == DECIDE)
            take_decision(r, &v->of_key[q->from[i] / r->cut.k], said[2 * i]->integer != 0,
                          said[2 * i + 1]->integer);
    }
}

void places_lost(flight *f, const request *q) {
    if (f->places->stage != ASK) return;
    for (size_t i = 0; i < q->count; i++) f->places->states[q->from[i]] = LOST;
}

/* --- slices
 * ------------------------------------------------------------------------------------------ */

static weir_status ask_slice(weir_remote *r, const slice *s, size_t count, const char *const *words,
                             const size_t *lengths, wire_reply **reply, weir_error *err) {
    weir_status status =
        fleet_command(r->fleet, s->key, count, words, lengths, r->opening_ms, reply, err);
    if (status != WEIR_OK || (*reply)->type != WIRE_ERROR) return status;
    fleet_node *node = fleet_at(r->fleet, s->slot);
    wire_explain(node ? wire_server(node->wire) : "cluster", *reply, err);
    wire_reply_free(*reply);
    *reply = NULL;
    return WEIR_ERR_IO;
}

static weir_status ask_header(weir_remote *r, const slice *s, uint64_t *epoch, uint64_t *count,
                              weir_error *err) {
    wire_reply *reply;
    const char *words[] = {"BITFIELD", s->key, "GET", "i64", "0", "GET", "i64", "64"};
    size_t lengths[8];
    int64_t a, b;
    for (size_t i = 0; i < 8; i++) lengths[i] = strlen(words[i]);
    weir_status status = ask_slice(r, s, 8, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    if (reply->type != WIRE_ARRAY || reply->count != 2 || !wire_reply_number(reply->items[0], &a) ||
        !wire_reply_number(reply->items[1], &b)) {
        status = wire_fail(err, WEIR_ERR_MISMATCH,
                           "the server says of '%s' what this version of weir does not understand",
                           s->key);
    } else {
        *epoch = (uint64_t)a;
        *count = (uint64_t)b;
    }
    wire_reply_free(reply);
    return status;
}

static manifest_shape shape_of(const weir_remote *r, size_t i) {
    char hash[32] = "";
    weir_spec_get(r->plan.spec, "hash", hash, sizeof hash);
    return (manifest_shape){.places = r->cut.places,
                            .first = first_of(r, i),
                            .end = first_of(r, i + 1),
                            .seed = r->seed,
                            .k = r->cut.k,
                            .siphash = !strcmp(hash, "siphash")};
}

uint64_t places_epoch(const weir_remote *r, size_t i, uint64_t word, bool again) {
    manifest_shape shape = shape_of(r, i);
    return manifest_stamp(manifest_epoch(word, again), &shape);
}

weir_status places_check_epoch(const weir_remote *r, size_t i, uint64_t epoch, weir_error *err) {
    manifest_shape shape = shape_of(r, i);
    return manifest_check_stamp(epoch, &shape, r->slices[i].key, err);
}

weir_status places_open_slice(weir_remote *r, size_t i, bool *made, weir_error *err) {
    slice *s = &r->slices[i];
    char epoch[8];
    wire_reply *reply;
    write_epoch(epoch, s->epoch);
    const char *words[] = {"SET", s->key, epoch, "NX"};
    const size_t lengths[] = {3, strlen(s->key), sizeof epoch, 2};
    weir_status status = ask_slice(r, s, 4, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    *made = wire_is_text(reply, "OK");
    wire_reply_free(reply);
    status = ask_header(r, s, &s->epoch, &s->offered, err);
    return status == WEIR_OK ? places_check_epoch(r, i, s->epoch, err) : status;
}

weir_status places_get_slice(weir_remote *r, size_t i, weir_remote_slice *out, weir_error *err) {
    const slice *s = &r->slices[i];
    wire_reply *reply;
    int64_t length = 0, ones = 0;
    char last[24];
    uint64_t places = first_of(r, i + 1) - first_of(r, i);
    snprintf(last, sizeof last, "%llu", (unsigned long long)(HEADER_BITS + places - 1) / 8);
    const char *words[] = {"BITCOUNT", s->key, "16", last};
    const size_t lengths[] = {8, strlen(s->key), 2, strlen(last)};
    const char *size[] = {"STRLEN", s->key};
    const size_t size_lengths[] = {6, strlen(s->key)};
    weir_status status = ask_slice(r, s, 2, size, size_lengths, &reply, err);
    if (status != WEIR_OK) return status;
    out->gone = !wire_reply_number(reply, &length) || length == 0;
    wire_reply_free(reply);
    if (out->gone) return WEIR_OK;
    status = ask_header(r, s, &out->epoch, &out->offered, err);
    if (status == WEIR_OK) status = ask_slice(r, s, 4, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    wire_reply_number(reply, &ones);
    wire_reply_free(reply);
    out->memory = (uint64_t)length;
    out->fill = (double)ones / (double)places;
    out->fpr_now = pow(out->fill, r->cut.k);
    return WEIR_OK;
}
