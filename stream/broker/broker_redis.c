/* broker_redis.c - Redis and Valkey streams over remote/wire.h.
 *
 * redis://[USER@]HOST[:PORT]/STREAM?group=GROUP to read, redis://HOST/STREAM to write; rediss://
 * for TLS, redis+cluster:// through any node of a cluster, unix:/PATH?name=STREAM for a socket.
 *
 * Clusters  A stream is one key, so one master has it: that one is found when the stream is opened,
 *           by the map of slots, and talked to alone. Whoever wrote redis:// and came to another
 * node is sent there, too. If it moves while the run goes on, the run ends as if the server had
 *           gone away: the next one finds it.
 * What of an entry is the record: the field that the parameter `field` names; without it the one
 * field that the entry has, or if there are several all of them as a JSON object of strings. An
 * entry that goes on to a stream keeps its fields as they were.
 *
 * Reading   A consumer group, made if it is not there. First what this consumer was given before
 *           and did not acknowledge (XREADGROUP with an id), then new entries; and from time to
 *           time what others of the group have had for too long (XAUTOCLAIM).
 *           How many are asked for at once follows from how long the last ones were; if a reply is
 *           too long all the same, they are read one by one from the list of those given to us.
 * Writing   XADD, as many on the way as fit, their replies read in between and when flushing.
 * Position  The id of the stream's last entry. The tail is read by XRANGE. The connection has a
 *           name of the state's: before the tail is read, connections of that name that the server
 *           still has are waited for, because what they sent may not be done yet.
 */
#include "broker_internal.h"

#ifdef HAVE_HIREDIS

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet.h"
#include "wire_access.h"

enum {
    CLAIM_MS = 60000,      /* how long an entry must have been with another consumer */
    MOST_ON_THE_WAY = 512, /* XADDs whose replies are outstanding */
    ZOMBIE_MS = 10000,     /* to wait for connections of a killed run */
    AT_FIRST = 64,         /* entries of the first read, when nobody knows how long they are, */
    GROWTH = 8,            /* and how many times more the next one asks for at most */
    NAME_MOST = 128
};

#define ENTRY_BYTES (UINT64_C(1) << 30) /* one entry by itself: as long as --max-record may be */

/* ------------------------------------------------------------------------
 * Connections
 * ------------------------------------------------------------------------ */

typedef struct {
    const broker_url *url;
    wire_url address;
    wire_access *access;
    wire *wire;
    bool in_cluster;
    size_t at_once;       /* entries to be asked for */
    uint64_t bytes;       /* of the last reply with entries */
    char name[NAME_MOST]; /* of the connection */
} redis_link;

static void close_link(redis_link *l) {
    wire_free(l->wire);
    wire_access_free(l->access);
    wire_url_release(&l->address);
    *l = (redis_link){0};
}

static stream_status fail(stream_error *err, const weir_error *reason) {
    return broker__fail(err, "%s", reason->message);
}

/* Has another server of a cluster the key? */
static bool is_elsewhere(const wire_reply *reply) {
    return wire_is_error(reply, "MOVED") || wire_is_error(reply, "ASK");
}

/* An error that the server gave in return, in words about this stream. */
static stream_status refused(const redis_link *l, const wire_reply *reply, stream_error *err) {
    weir_error reason;
    if (wire_is_error(reply, "WRONGTYPE"))
        return broker__fail(err, "'%s' at %s is no stream, but a key of another type", l->url->name,
                            wire_server(l->wire));
    bool gone = wire_is_error(reply, "NOGROUP") || wire_is_error(reply, "UNBLOCKED");
    if (is_elsewhere(reply) || (gone && l->in_cluster))
        return broker__fail(err,
                            "the stream '%s' is no longer at %s: if it was moved to another server "
                            "of the cluster, start the run again",
                            l->url->name, wire_server(l->wire));
    if (gone)
        return broker__fail(err, "the stream '%s' at %s, or its group, is gone", l->url->name,
                            wire_server(l->wire));
    wire_explain(wire_server(l->wire), reply, &reason);
    return fail(err, &reason);
}

/* Connect to the first server of the address, or to the one of its cluster that has the stream. */
static stream_status reach(redis_link *l, const wire_options *options, bool find,
                           stream_error *err) {
    weir_error reason;
    const wire_host *first = &l->address.hosts[0];
    wire_options asking = *options;
    char *host = NULL;
    uint16_t port = first->port;
    l->in_cluster = find;
    asking.client_name = NULL; /* the name stands for who writes, see wait_for_zombies() */
    if (find && fleet_find(l->url->text, &asking, l->url->name, &host, &port, &reason) != WEIR_OK)
        return fail(err, &reason);
    wire_free(l->wire);
    l->wire = wire_new(l->access, &l->address, host ? host : first->host, port);
    free(host);
    if (!l->wire) return broker__no_memory(err);
    return wire_connect(l->wire, &reason) == WIRE_OK ? STREAM_OK : fail(err, &reason);
}

/* Does this server send us elsewhere? What else it says to this question is of no interest. */
static stream_status ask_whether_here(redis_link *l, bool *here, stream_error *err) {
    weir_error reason;
    wire_reply *reply = NULL;
    if (wire_call(l->wire, &reply, &reason, "XLEN %s", l->url->name) != WIRE_OK)
        return fail(err, &reason);
    *here = !is_elsewhere(reply);
    wire_reply_free(reply);
    return STREAM_OK;
}

static stream_status open_link(redis_link *l, const broker_url *url, stream_error *err) {
    weir_error reason;
    wire_options options = {.password_file = broker_url_get(url, "password-file", NULL),
                            .ca_file = broker_url_get(url, "ca", NULL),
                            .client_name = l->name};
    bool here = true;
    l->url = url;
    l->at_once = AT_FIRST;
    if (!*l->name) snprintf(l->name, sizeof l->name, "weir");
    if (wire_url_parse(&l->address, url->text, &reason) != WEIR_OK ||
        wire_access_new(&l->access, &options, &l->address, &reason) != WEIR_OK)
        return fail(err, &reason);
    if (l->address.cluster) return reach(l, &options, true, err);
    if (reach(l, &options, false, err) != STREAM_OK || ask_whether_here(l, &here, err) != STREAM_OK)
        return STREAM_FAILED;
    return here ? STREAM_OK : reach(l, &options, true, err);
}

/* An error of the server's in the place of a reply is a failure. */
static stream_status not_refused(const redis_link *l, wire_reply **reply, stream_error *err) {
    if ((*reply)->type != WIRE_ERROR) return STREAM_OK;
    refused(l, *reply, err);
    wire_reply_free(*reply);
    *reply = NULL;
    return STREAM_FAILED;
}

/* The next reply. The caller frees it. */
static stream_status read_reply(redis_link *l, wire_reply **reply, stream_error *err) {
    weir_error reason;
    *reply = NULL;
    if (wire_read(l->wire, reply, 0, &reason) != WIRE_OK) return fail(err, &reason);
    return not_refused(l, reply, err);
}

/* As read_reply(), of entries. NULL without an error: there were too many bytes, and the connection
 * is made again to ask for one entry alone, and if that is too long for it as it is. */
static stream_status read_entries(redis_link *l, wire_reply **reply, stream_error *err) {
    weir_error reason;
    wire_traffic before, after;
    wire_get_traffic(l->wire, &before);
    wire_outcome how = wire_read(l->wire, reply, 0, &reason);
    wire_get_traffic(l->wire, &after);
    l->bytes = after.received - before.received;
    if (how == WIRE_OK) return not_refused(l, reply, err);
    uint64_t *most = &l->access->options.reply_bytes;
    bool alone = l->at_once == 1;
    if (how != WIRE_WRONG || reason.code != WEIR_ERR_RANGE || (alone && *most == ENTRY_BYTES))
        return fail(err, &reason);
    if (alone) *most = ENTRY_BYTES;
    l->at_once = 1;
    return wire_connect(l->wire, &reason) == WIRE_OK ? STREAM_OK : fail(err, &reason);
}

/* So many entries came with the last reply: ask for about a batch's bytes the next time. */
static void learn(redis_link *l, size_t count) {
    if (!count) return;
    uint64_t next = BROKER_BATCH_BYTES / (l->bytes / count + 1);
    if (next > l->at_once * GROWTH) next = l->at_once * GROWTH;
    l->at_once = next < 1 ? 1 : next > BROKER_BATCH ? BROKER_BATCH : next;
}

static stream_status odd(const redis_link *l, const char *command, stream_error *err) {
    return broker__fail(err, "%s answers %s with something else than Redis does",
                        wire_server(l->wire), command);
}

/* ------------------------------------------------------------------------
 * Entries
 * ------------------------------------------------------------------------ */

static bool read_id(const wire_reply *text, broker_id *id) {
    char *end;
    if (text->type != WIRE_STRING || !text->length || text->text[0] < '0' || text->text[0] > '9')
        return false;
    id->hi = strtoull(text->text, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9') return false;
    id->lo = strtoull(end + 1, &end, 10);
    return !*end;
}

static void write_id(char text[48], broker_id id) {
    snprintf(text, 48, "%" PRIu64 "-%" PRIu64, id.hi, id.lo);
}

/* What a batch of entries is made of. */
typedef struct {
    wire_reply *reply; /* the fields point into it */
    broker_message messages[BROKER_BATCH];
    size_t count;
    broker_field *fields;
    size_t field_count, field_room;
    broker_text json; /* of entries that are several fields */
} redis_batch;

static void empty_batch(redis_batch *b) {
    wire_reply_free(b->reply);
    b->reply = NULL;
    b->count = b->field_count = b->json.length = 0;
}

static void release_batch(redis_batch *b) {
    empty_batch(b);
    free(b->fields);
    free(b->json.bytes);
}

static bool append_string(broker_text *to, const char *text, size_t length) {
    bool fine = broker__append(to, "\"", 1);
    for (size_t i = 0, from = 0; i <= length && fine; i++) {
        unsigned char c = i < length ? (unsigned char)text[i] : 0;
        bool plain = i < length && c >= 0x20 && c != '"' && c != '\\';
        char escaped[8];
        if (plain) continue;
        fine = broker__append(to, text + from, i - from);
        from = i + 1;
        if (i == length || !fine) break;
        int n = c < 0x20 ? snprintf(escaped, sizeof escaped, "\\u%04x", c)
                         : snprintf(escaped, sizeof escaped, "\\%c", c);
        fine = broker__append(to, escaped, (size_t)n);
    }
    return fine && broker__append(to, "\"", 1);
}

static bool append_object(broker_text *to, const broker_field *fields, size_t count) {
    bool fine = broker__append(to, "{", 1);
    for (size_t i = 0; i < count && fine; i++)
        fine = (!i || broker__append(to, ",", 1)) &&
               append_string(to, fields[i].name, fields[i].name_length) &&
               broker__append(to, ":", 1) && append_string(to, fields[i].value, fields[i].length);
    return fine && broker__append(to, "}", 1);
}

/* The fields of an entry into the batch, but not the mark, which is given to the caller. */
static bool take_fields(redis_batch *b, const wire_reply *list, broker_message *m,
                        const wire_reply **mark) {
    *mark = NULL;
    for (size_t i = 0; i + 1 < list->count; i += 2) {
        const wire_reply *name = list->items[i], *value = list->items[i + 1];
        if (name->type != WIRE_STRING || value->type != WIRE_STRING) return false;
        if (wire_is_text(name, BROKER_MARK)) {
            *mark = value;
            continue;
        }
        if (!broker__room(&b->fields, &b->field_room, b->field_count + 1, sizeof *b->fields))
            return false;
        b->fields[b->field_count++] =
            (broker_field){name->text, name->length, value->text, value->length};
        m->field_count++;
    }
    return list->count % 2 == 0;
}

/* Find the record of an entry. `value` is an offset into the JSON until all are there. */
static bool find_record(redis_batch *b, broker_message *m, const char *field, bool *in_json) {
    const broker_field *fields = b->fields + b->field_count - m->field_count;
    *in_json = false;
    if (!field && m->field_count == 1) {
        m->value = fields[0].value;
        m->length = fields[0].length;
        return true;
    }
    for (size_t i = 0; field && i < m->field_count; i++)
        if (fields[i].name_length == strlen(field) &&
            !memcmp(fields[i].name, field, fields[i].name_length)) {
            m->value = fields[i].value;
            m->length = fields[i].length;
            return true;
        }
    m->lacking = field != NULL;
    if (field) return true;
    m->length = b->json.length;
    *in_json = true;
    if (!append_object(&b->json, fields, m->field_count)) return false;
    m->length = b->json.length - m->length;
    return true;
}

/* Take the entries of a list: [[id, [name, value, ...]], ...]. An entry that was deleted has no
 * fields, and there is nothing in it to be lost: `gone` gets its id. producer: only those with
 * its mark are taken, and get the id that it names. */
static stream_status take_entries(redis_link *l, redis_batch *b, const wire_reply *list,
                                  const char *field, const char *producer, broker_ids *gone,
                                  broker_id *last, stream_error *err) {
    bool json[BROKER_BATCH] = {false};
    if (list->type != WIRE_ARRAY) return odd(l, "a read", err);
    for (size_t i = 0; i < list->count && b->count < BROKER_BATCH; i++) {
        const wire_reply *entry = list->items[i], *mark;
        broker_message *m = &b->messages[b->count];
        *m = (broker_message){.entry = true};
        if (entry->type == WIRE_NIL) continue; /* deleted, as XAUTOCLAIM of Redis 6 says it */
        if (entry->type != WIRE_ARRAY || entry->count != 2 || !read_id(entry->items[0], &m->id))
            return odd(l, "a read", err);
        *last = m->id;
        if (entry->items[1]->type == WIRE_NIL) {
            if (gone && !broker_ids_add(gone, m->id)) return broker__no_memory(err);
            continue;
        }
        if (entry->items[1]->type != WIRE_ARRAY || !take_fields(b, entry->items[1], m, &mark) ||
            !find_record(b, m, field, &json[b->count]))
            return odd(l, "a read", err);
        if (producer && !(mark && broker__read_mark(producer, mark->text, mark->length, &m->id)))
            b->field_count -= m->field_count;
        else b->count++;
    }
    learn(l, list->count);
    size_t field_at = 0, json_at = 0;
    for (size_t i = 0; i < b->count; i++) {
        broker_message *m = &b->messages[i];
        m->fields = b->fields + field_at;
        field_at += m->field_count;
        if (!json[i]) continue;
        m->value = b->json.bytes + json_at;
        json_at += m->length;
    }
    return STREAM_OK;
}

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

typedef struct {
    redis_link link;
    redis_batch batch;
    const char *group, *field;
    char consumer[NAME_MOST];
    bool until_end;
    bool waits;        /* with until_end: others have entries, which may come */
    bool own;          /* still reading what this consumer was given before */
    bool given_before; /* the last batch: it was on the group's list already */
    broker_id own_at;  /* from here on */
    int64_t claim_ms;  /* see CLAIM_MS; */
    int64_t claim_due; /* when to look again, on the clock of broker__now_ms(); */
    char claim_at[48]; /* and from where; "0-0": from the beginning */
    broker_ids gone;   /* deleted entries that are still on the group's list */
} redis_source;

static void source_close(void *self) {
    redis_source *s = self;
    release_batch(&s->batch);
    broker_ids_release(&s->gone);
    close_link(&s->link);
    free(s);
}

/* Make the group, unless it is there. */
static stream_status make_group(redis_source *s, stream_error *err) {
    weir_error reason;
    wire_reply *reply = NULL;
    const char *start = broker_url_get(s->link.url, "start", "first");
    if (wire_call(s->link.wire, &reply, &reason, "XGROUP CREATE %s %s %s", s->link.url->name,
                  s->group, strcmp(start, "new") ? "0" : "$") != WIRE_OK)
        return fail(err, &reason);
    stream_status status = STREAM_OK;
    if (wire_is_error(reply, "ERR") && strstr(reply->text, "XGROUP subcommand requires the key"))
        status = broker__fail(err, "there is no stream '%s' at %s; make it first",
                              s->link.url->name, wire_server(s->link.wire));
    else if (reply->type == WIRE_ERROR && !wire_is_error(reply, "BUSYGROUP"))
        status = refused(&s->link, reply, err);
    wire_reply_free(reply);
    return status;
}

static stream_status source_open(void **self, const broker_url *url,
                                 const broker_source_options *options, broker_habits *habits,
                                 stream_error *err) {
    redis_source *s = calloc(1, sizeof *s);
    uint64_t claim;
    char host[64] = "";
    if (!s) return broker__no_memory(err);
    *self = s;
    s->until_end = options->until_end;
    s->group = broker_url_get(url, "group", NULL);
    s->field = broker_url_get(url, "field", NULL);
    if (!s->group)
        return broker__fail(
            err, "'%s' does not say which consumer group it reads by; add ?group=NAME", url->text);
    if (broker_url_ms(url, "claim", CLAIM_MS, &claim, err) != STREAM_OK) return STREAM_FAILED;
    s->claim_ms = (int64_t)claim;
    habits->again_ms = claim;
    gethostname(host, sizeof host - 1);
    snprintf(s->consumer, sizeof s->consumer, "%s",
             broker_url_get(url, "consumer", *host ? host : "weir"));
    s->own = true;
    snprintf(s->claim_at, sizeof s->claim_at, "0-0");
    if (open_link(&s->link, url, err) != STREAM_OK) return STREAM_FAILED;
    return make_group(s, err);
}

/* Of XREADGROUP: [[stream, entries]], or nothing. */
static const wire_reply *entries_of(const wire_reply *reply) {
    if (reply->type != WIRE_ARRAY || reply->count != 1) return NULL;
    const wire_reply *stream = reply->items[0];
    return stream->type == WIRE_ARRAY && stream->count == 2 ? stream->items[1] : NULL;
}

/* Take what a read has brought; *any: there was something. */
static stream_status take_read(redis_source *s, wire_reply *reply, broker_id *last, bool *any,
                               stream_error *err) {
    const wire_reply *list = entries_of(reply);
    s->batch.reply = reply;
    *any = false;
    if (reply->type == WIRE_NIL) return STREAM_OK;
    if (!list) return odd(&s->link, "XREADGROUP", err);
    *any = list->type == WIRE_ARRAY && list->count;
    return take_entries(&s->link, &s->batch, list, s->field, NULL, &s->gone, last, err);
}

/* What this consumer had when it ended the last time. */
static stream_status poll_own(redis_source *s, stream_error *err) {
    weir_error reason;
    wire_reply *reply;
    char from[48];
    bool any;
    write_id(from, s->own_at);
    if (wire_appendf(s->link.wire, &reason, "XREADGROUP GROUP %s %s COUNT %d STREAMS %s %s",
                     s->group, s->consumer, (int64_t)s->link.at_once, s->link.url->name,
                     from) != WIRE_OK)
        return fail(err, &reason);
    if (read_entries(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
    if (!reply) return STREAM_OK;
    if (take_read(s, reply, &s->own_at, &any, err) != STREAM_OK) return STREAM_FAILED;
    if (!any) s->own = false;
    return STREAM_OK;
}

/* A reply that was too long has been given to this consumer all the same: it is on our list, with
 * entries that were read before, which are known. */
static stream_status read_own_again(redis_source *s) {
    s->own = true;
    s->own_at = (broker_id){0, 0};
    return STREAM_OK;
}

/* What others have had for too long. All of the list is gone through, then not until later. */
static stream_status poll_lost(redis_source *s, stream_error *err) {
    weir_error reason;
    wire_reply *reply;
    broker_id last = {0, 0};
    if (wire_appendf(s->link.wire, &reason, "XAUTOCLAIM %s %s %s %d %s COUNT %d", s->link.url->name,
                     s->group, s->consumer, s->claim_ms, s->claim_at,
                     (int64_t)s->link.at_once) != WIRE_OK)
        return fail(err, &reason);
    if (read_entries(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
    if (!reply) return read_own_again(s);
    s->batch.reply = reply;
    if (reply->type != WIRE_ARRAY || reply->count < 2 || reply->items[0]->type != WIRE_STRING)
        return odd(&s->link, "XAUTOCLAIM", err);
    snprintf(s->claim_at, sizeof s->claim_at, "%s", reply->items[0]->text);
    if (!strcmp(s->claim_at, "0-0")) s->claim_due = broker__now_ms() + s->claim_ms / 2 + 1;
    return take_entries(&s->link, &s->batch, reply->items[1], s->field, NULL, NULL, &last, err);
}

/* New entries. It is the server that waits for them. */
static stream_status poll_new(redis_source *s, int timeout_ms, stream_error *err) {
    weir_error reason;
    wire_reply *reply;
    broker_id last = {0, 0};
    bool any;
    wire_outcome sent =
        timeout_ms > 0
            ? wire_appendf(s->link.wire, &reason,
                           "XREADGROUP GROUP %s %s COUNT %d BLOCK %d STREAMS %s >", s->group,
                           s->consumer, (int64_t)s->link.at_once, (int64_t)timeout_ms,
                           s->link.url->name)
            : wire_appendf(s->link.wire, &reason, "XREADGROUP GROUP %s %s COUNT %d STREAMS %s >",
                           s->group, s->consumer, (int64_t)s->link.at_once, s->link.url->name);
    if (sent != WIRE_OK) return fail(err, &reason);
    if (read_entries(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
    if (!reply) return read_own_again(s);
    return take_read(s, reply, &last, &any, err);
}

/* Entries that are with consumers of the group; SIZE_MAX: not known. */
static size_t pending(redis_source *s) {
    weir_error reason;
    wire_reply *reply = NULL;
    int64_t count = INT64_MAX;
    if (wire_call(s->link.wire, &reply, &reason, "XPENDING %s %s", s->link.url->name, s->group) ==
            WIRE_OK &&
        reply->type == WIRE_ARRAY && reply->count)
        wire_reply_number(reply->items[0], &count);
    wire_reply_free(reply);
    return count < 0 ? SIZE_MAX : (size_t)count;
}

/* XACK in commands of a few hundred ids, all of them sent before the first reply is read. */
static stream_status acknowledge(redis_source *s, const broker_ids *ids, stream_error *err) {
    enum { AT_ONCE = 256 };
    static const char *const command[] = {"XACK"};
    const char *words[3 + AT_ONCE] = {command[0], s->link.url->name, s->group};
    size_t lengths[3 + AT_ONCE], n = 0, sent = 0;
    char texts[AT_ONCE][48];
    weir_error reason;
    for (size_t i = 0; i < 3; i++) lengths[i] = strlen(words[i]);
    for (size_t i = 0; i < ids->count; i++) {
        const broker_range *r = &ids->ranges[i];
        for (uint64_t lo = r->lo;; lo++) {
            write_id(texts[n], (broker_id){r->hi, lo});
            words[3 + n] = texts[n];
            lengths[3 + n] = strlen(texts[n]);
            bool last = i + 1 == ids->count && lo == r->last;
            if (++n == AT_ONCE || last) {
                if (wire_append(s->link.wire, 3 + n, words, lengths, &reason) != WIRE_OK)
                    return fail(err, &reason);
                n = 0;
                sent++;
            }
            if (lo == r->last) break;
        }
    }
    for (size_t i = 0; i < sent; i++) {
        wire_reply *reply;
        if (read_reply(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
        wire_reply_free(reply);
    }
    return STREAM_OK;
}

/* Deleted entries are taken off the list when they are met: there is nothing to wait for. */
static stream_status drop_gone(redis_source *s, stream_error *err) {
    if (!s->gone.size) return STREAM_OK;
    stream_status status = acknowledge(s, &s->gone, err);
    broker_ids_clear(&s->gone);
    return status;
}

static stream_status source_poll(void *self, int timeout_ms, const broker_message **messages,
                                 size_t *count, stream_error *err) {
    redis_source *s = self;
    stream_status status = STREAM_OK;
    empty_batch(&s->batch);
    s->given_before = s->own || broker__now_ms() >= s->claim_due;
    if (s->own) status = poll_own(s, err);
    else if (s->given_before) status = poll_lost(s, err);
    if (status == STREAM_OK && !s->own && !s->batch.count) {
        empty_batch(&s->batch);
        s->given_before = false;
        status = poll_new(s, timeout_ms, err);
    }
    if (status == STREAM_OK) status = drop_gone(s, err);
    if (status != STREAM_OK) return status;
    *messages = s->batch.messages;
    *count = s->batch.count;
    s->waits = !*count;
    if (*count) return STREAM_BATCH;
    if (!s->until_end || s->own) return STREAM_IDLE;
    *count = pending(s);
    return STREAM_END;
}

static stream_status source_settle(void *self, const broker_ids *ids, stream_error *err) {
    return acknowledge(self, ids, err);
}

static bool source_given_before(const void *self) {
    return ((const redis_source *)self)->given_before;
}

/* Redis 7 says how many entries the group has not yet been given. */
static int64_t source_lag(void *self) {
    redis_source *s = self;
    weir_error reason;
    wire_reply *reply = NULL;
    int64_t lag = -1;
    if (wire_call(s->link.wire, &reply, &reason, "XINFO GROUPS %s", s->link.url->name) == WIRE_OK &&
        reply->type == WIRE_ARRAY)
        for (size_t i = 0; i < reply->count; i++) {
            const wire_reply *name = wire_reply_field(reply->items[i], "name");
            const wire_reply *value = wire_reply_field(reply->items[i], "lag");
            if (name && value && wire_is_text(name, s->group) && !wire_reply_number(value, &lag))
                lag = -1;
        }
    wire_reply_free(reply);
    return lag;
}

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

typedef struct {
    redis_link link;
    redis_batch batch; /* of the tail */
    char *producer;
    char *tail_field;  /* which field of what we sent is the record; or NULL */
    const char *field; /* what the record's field is called, where the entry is not from a stream */
    const char **words; /* of a command */
    size_t *lengths;
    size_t room, room_of_lengths;
    size_t unsent;    /* bytes of records that were appended since the last flush */
    char last[48];    /* id of the last entry, ours or not; "": not known */
    char tail_at[49]; /* "(ID": after it */
    bool tail_done;
} redis_sink;

static void sink_close(void *self) {
    redis_sink *s = self;
    release_batch(&s->batch);
    close_link(&s->link);
    free(s->producer);
    free(s->tail_field);
    free((void *)s->words);
    free(s->lengths);
    free(s);
}

/* Is another connection of our name still there? Where CLIENT LIST is not allowed nobody can say.
 */
static bool is_haunted(redis_sink *s) {
    weir_error reason;
    wire_reply *reply = NULL;
    char mark[NAME_MOST + 16];
    size_t count = 0;
    snprintf(mark, sizeof mark, " name=%s ", s->link.name);
    if (wire_call(s->link.wire, &reply, &reason, "CLIENT LIST") == WIRE_OK &&
        reply->type == WIRE_STRING)
        for (const char *at = reply->text; (at = strstr(at, mark)); at++) count++;
    wire_reply_free(reply);
    return count > 1;
}

static stream_status wait_for_zombies(redis_sink *s, stream_error *err) {
    int64_t until = broker__now_ms() + ZOMBIE_MS;
    if (!s->producer) return STREAM_OK;
    while (is_haunted(s)) {
        if (broker__now_ms() > until)
            return broker__fail(err,
                                "%s still has a connection of an earlier run with this state; end "
                                "that run, or the connection '%s' (CLIENT LIST shows it)",
                                wire_server(s->link.wire), s->link.name);
        wire_pause(s->link.access, 20);
    }
    return STREAM_OK;
}

/* The last entry of the stream; 0-0 if there is none. */
static stream_status look_at_last(redis_sink *s, stream_error *err) {
    weir_error reason;
    wire_reply *reply;
    broker_id id = {0, 0};
    if (wire_appendf(s->link.wire, &reason, "XREVRANGE %s + - COUNT 1", s->link.url->name) !=
        WIRE_OK)
        return fail(err, &reason);
    if (read_reply(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
    bool fine = reply->type == WIRE_ARRAY && reply->count <= 1;
    if (fine && reply->count) {
        const wire_reply *entry = reply->items[0];
        fine = entry->type == WIRE_ARRAY && entry->count == 2 && read_id(entry->items[0], &id);
    }
    wire_reply_free(reply);
    write_id(s->last, id);
    return fine ? STREAM_OK : odd(&s->link, "XREVRANGE", err);
}

static stream_status sink_open(void **self, const broker_url *url,
                               const broker_sink_options *options, stream_error *err) {
    redis_sink *s = calloc(1, sizeof *s);
    if (!s) return broker__no_memory(err);
    *self = s;
    s->field = broker_url_get(url, "field", "data");
    const char *tail = options->entries ? options->field : s->field;
    if ((options->producer && !(s->producer = strdup(options->producer))) ||
        (tail && !(s->tail_field = strdup(tail))))
        return broker__no_memory(err);
    if (s->producer) snprintf(s->link.name, sizeof s->link.name, "weir-%s", s->producer);
    if (open_link(&s->link, url, err) != STREAM_OK) return STREAM_FAILED;
    if (wait_for_zombies(s, err) != STREAM_OK) return STREAM_FAILED;
    return look_at_last(s, err);
}

/* Read replies until at most `most` are outstanding. */
static stream_status read_replies(redis_sink *s, size_t most, stream_error *err) {
    while (wire_outstanding(s->link.wire) > most) {
        wire_reply *reply;
        if (read_reply(&s->link, &reply, err) != STREAM_OK) return STREAM_FAILED;
        bool fine = reply->type == WIRE_STRING && reply->length < sizeof s->last;
        if (fine) memcpy(s->last, reply->text, reply->length + 1);
        wire_reply_free(reply);
        if (!fine) return odd(&s->link, "XADD", err);
    }
    return STREAM_OK;
}

static void word(redis_sink *s, size_t *n, const char *text, size_t length) {
    s->words[*n] = text;
    s->lengths[(*n)++] = length;
}

static stream_status sink_send(void *self, const broker_message *m, const char *mark,
                               const char *unique, stream_error *err) {
    redis_sink *s = self;
    weir_error reason;
    size_t n = 0, most = 2 * m->field_count + 7;
    (void)unique;
    if (!broker__room(&s->words, &s->room, most, sizeof *s->words) ||
        !broker__room(&s->lengths, &s->room_of_lengths, most, sizeof *s->lengths))
        return broker__no_memory(err);
    word(s, &n, "XADD", 4);
    word(s, &n, s->link.url->name, strlen(s->link.url->name));
    word(s, &n, "*", 1);
    if (!m->entry) {
        word(s, &n, s->field, strlen(s->field));
        word(s, &n, m->value ? m->value : "", m->length);
    }
    for (size_t i = 0; i < m->field_count; i++) {
        const broker_field *f = &m->fields[i];
        if (!strcmp(f->name, BROKER_MARK)) continue;
        word(s, &n, f->name, f->name_length);
        word(s, &n, f->value ? f->value : "", f->length);
    }
    if (mark) {
        word(s, &n, BROKER_MARK, strlen(BROKER_MARK));
        word(s, &n, mark, strlen(mark));
    }
    if (wire_append(s->link.wire, n, s->words, s->lengths, &reason) != WIRE_OK)
        return fail(err, &reason);
    s->unsent += m->length;
    if (wire_outstanding(s->link.wire) < MOST_ON_THE_WAY && s->unsent < BROKER_BATCH_BYTES)
        return STREAM_OK;
    s->unsent = 0;
    if (wire_flush(s->link.wire, &reason) != WIRE_OK) return fail(err, &reason);
    return read_replies(s, MOST_ON_THE_WAY / 2, err);
}

static stream_status sink_flush(void *self, stream_error *err) {
    redis_sink *s = self;
    return read_replies(s, 0, err);
}

static char *sink_position(void *self, stream_error *err) {
    redis_sink *s = self;
    char *position = strdup(s->last);
    if (!position) broker__no_memory(err);
    return position;
}

static stream_status sink_tail(void *self, const char *position, stream_error *err) {
    redis_sink *s = self;
    (void)err;
    snprintf(s->tail_at, sizeof s->tail_at, "(%.47s", position);
    s->tail_done = false;
    return STREAM_OK;
}

static stream_status sink_poll_tail(void *self, int timeout_ms, const broker_message **messages,
                                    size_t *count, stream_error *err) {
    redis_sink *s = self;
    weir_error reason;
    (void)timeout_ms;
    do {
        broker_id last = {0, 0};
        empty_batch(&s->batch);
        if (s->tail_done) return STREAM_END;
        size_t asked = s->link.at_once;
        if (wire_appendf(s->link.wire, &reason, "XRANGE %s %s + COUNT %d", s->link.url->name,
                         s->tail_at, (int64_t)asked) != WIRE_OK)
            return fail(err, &reason);
        if (read_entries(&s->link, &s->batch.reply, err) != STREAM_OK) return STREAM_FAILED;
        if (!s->batch.reply) continue;
        if (s->batch.reply->type != WIRE_ARRAY) return odd(&s->link, "XRANGE", err);
        s->tail_done = s->batch.reply->count < asked;
        if (take_entries(&s->link, &s->batch, s->batch.reply, s->tail_field, s->producer, NULL,
                         &last, err) != STREAM_OK)
            return STREAM_FAILED;
        if (last.hi || last.lo) write_id(s->tail_at + 1, last);
    } while (!s->batch.count);
    *messages = s->batch.messages;
    *count = s->batch.count;
    return STREAM_BATCH;
}

BROKER_CLASSES
#endif

const broker_kind broker__redis = {
    .schemes = "redis|rediss|redis+cluster|rediss+cluster|valkey|valkeys|valkey+cluster|"
               "valkeys+cluster|unix",
    .library = "hiredis",
    .source_parameters = "group|consumer|field|start|claim|name|db|ca|password-file",
    .sink_parameters = "field|name|db|ca|password-file",
#ifdef HAVE_HIREDIS
    .source = &source_class,
    .sink = &sink_class,
#endif
};
