/* wire_reply.c - replies: built by hiredis's reader, bounded, and what they mean.
 *
 * hiredis parses the protocol and calls the four functions below for each element. They count
 * what a reply takes with everything in it, and refuse the element that is too much: then the
 * reader stops with an error.
 */
#include "wire_reply.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire_error.h"

/* --- building --------------------------------------------------------------------------- */

static bool afford(const redisReadTask *task, size_t bytes) {
    wire_budget *budget = task->privdata;
    if (bytes > budget->most - budget->used) {
        budget->exceeded = true;
        return false;
    }
    budget->used += bytes;
    return true;
}

static wire_reply *place(const redisReadTask *task, wire_reply *reply) {
    if (reply && task->parent) {
        wire_reply *parent = task->parent->obj;
        parent->items[task->idx] = reply;
    }
    return reply;
}

static wire_reply *element(const redisReadTask *task, wire_type type, size_t extra) {
    if (!afford(task, sizeof(wire_reply) + extra)) return NULL;
    wire_reply *reply = calloc(1, sizeof *reply);
    if (reply) reply->type = type;
    return reply;
}

static void *create_string(const redisReadTask *task, char *text, size_t length) {
    wire_type type = task->type == REDIS_REPLY_ERROR    ? WIRE_ERROR
                     : task->type == REDIS_REPLY_STATUS ? WIRE_STATUS
                                                        : WIRE_STRING;
    wire_reply *reply = element(task, type, length + 1);
    if (!reply) return NULL;
    reply->text = malloc(length + 1);
    if (!reply->text) {
        free(reply);
        return NULL;
    }
    memcpy(reply->text, text, length);
    reply->text[length] = 0;
    reply->length = length;
    return place(task, reply);
}

static void *create_array(const redisReadTask *task, int count) {
    size_t items = count > 0 ? (size_t)count : 0;
    wire_reply *reply = element(task, WIRE_ARRAY, items * sizeof(wire_reply *));
    if (!reply) return NULL;
    reply->count = items;
    if (items && !(reply->items = calloc(items, sizeof(wire_reply *)))) {
        free(reply);
        return NULL;
    }
    return place(task, reply);
}

static void *create_integer(const redisReadTask *task, long long value) {
    wire_reply *reply = element(task, WIRE_INTEGER, 0);
    if (reply) reply->integer = value;
    return place(task, reply);
}

static void *create_nil(const redisReadTask *task) {
    return place(task, element(task, WIRE_NIL, 0));
}

void wire_reply_free(wire_reply *reply) {
    if (!reply) return;
    for (size_t i = 0; i < reply->count; i++) wire_reply_free(reply->items[i]);
    free(reply->items);
    free(reply->text);
    free(reply);
}

static void free_object(void *reply) { wire_reply_free(reply); }

redisReplyObjectFunctions wire_reply_functions = {create_string, create_array, create_integer,
                                                  create_nil, free_object};

/* --- the reader --------------------------------------------------------------------------- */

bool wire_parser_init(wire_parser *p, uint64_t reply_bytes) {
    *p = (wire_parser){.budget.most = reply_bytes};
    p->reader = redisReaderCreateWithFunctions(&wire_reply_functions);
    return p->reader != NULL;
}

void wire_parser_release(wire_parser *p) {
    if (p->reader) redisReaderFree(p->reader);
    *p = (wire_parser){0};
}

bool wire_parser_feed(wire_parser *p, const void *bytes, size_t length) {
    /* The reader keeps its own copy of where tasks find their budget. */
    redisReaderSetPrivdata(p->reader, &p->budget);
    return redisReaderFeed(p->reader, bytes, length) == REDIS_OK;
}

/* Is the incomplete element too long: a line without an end, or more bytes than allowed? */
static bool runs_on(const wire_parser *p) {
    const redisReader *r = p->reader;
    size_t left = r->len - r->pos;
    if (left > p->budget.most) return true;
    return left > WIRE_LINE_MOST && !memchr(r->buf + r->pos, '\n', WIRE_LINE_MOST);
}

wire_parsed wire_parser_next(wire_parser *p, wire_reply **out) {
    void *reply = NULL;
    *out = NULL;
    if (redisReaderGetReply(p->reader, &reply) != REDIS_OK)
        return p->budget.exceeded                ? WIRE_PARSED_TOO_LONG
               : p->reader->err == REDIS_ERR_OOM ? WIRE_PARSED_NO_MEMORY
                                                 : WIRE_PARSED_GARBAGE;
    if (!reply) return runs_on(p) ? WIRE_PARSED_TOO_LONG : WIRE_PARSED_MORE;
    p->budget.used = 0;
    *out = reply;
    return WIRE_PARSED;
}

/* --- what replies say ------------------------------------------------------------------------ */

bool wire_is_error(const wire_reply *reply, const char *word) {
    size_t length = strlen(word);
    return reply && reply->type == WIRE_ERROR && !strncmp(reply->text, word, length) &&
           (reply->text[length] == ' ' || !reply->text[length]);
}

bool wire_is_text(const wire_reply *reply, const char *text) {
    return reply && (reply->type == WIRE_STATUS || reply->type == WIRE_STRING) &&
           reply->length == strlen(text) && !memcmp(reply->text, text, reply->length);
}

const wire_reply *wire_reply_field(const wire_reply *map, const char *name) {
    if (!map || map->type != WIRE_ARRAY) return NULL;
    for (size_t i = 0; i + 1 < map->count; i += 2)
        if (wire_is_text(map->items[i], name)) return map->items[i + 1];
    return NULL;
}

bool wire_is_printable(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && isprint((unsigned char)text[i])) i++;
    return i == length;
}

bool wire_reply_number(const wire_reply *reply, int64_t *value) {
    char *end;
    if (!reply) return false;
    if (reply->type == WIRE_INTEGER) {
        *value = reply->integer;
        return true;
    }
    if ((reply->type != WIRE_STRING && reply->type != WIRE_STATUS) || !reply->length ||
        reply->length > 20 || isspace((unsigned char)*reply->text))
        return false;
    *value = strtoll(reply->text, &end, 10);
    return end == reply->text + reply->length;
}

static const char *const passing[] = {"LOADING",    "TRYAGAIN",   "CLUSTERDOWN", "BUSY",
                                      "MASTERDOWN", "NOREPLICAS", "FAILOVER",    "UNBLOCKED"};

bool wire_is_passing(const wire_reply *error) {
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (wire_is_error(error, passing[i])) return true;
    return false;
}

/* Advice by the first word of an error. */
static const struct {
    const char *word, *advice;
} advices[] = {
    {"NOAUTH", "it wants a password: --password-file FILE (of a stream password-file= in its URL), "
               "or WEIR_PASSWORD in the environment"},
    {"WRONGPASS", "check the user in the address, and the password in its file or "
                  "WEIR_PASSWORD"},
    {"NOPERM", "the user needs this command and these keys in its ACL: docs/cluster.md lists them"},
    {"LOADING", "it is reading its data from the disk; try again when it has done so"},
    {"OOM", "raise its maxmemory, or use less memory in all"},
    {"MISCONF", "its snapshots fail and it accepts no writes: see its log"},
    {"READONLY", "it is a replica: give the address of its primary"},
    {"CLUSTERDOWN", "the cluster lacks some of its slots: see `redis-cli cluster info`"},
    {"WRONGTYPE", "the name is in use for something else: take another, or delete that key"},
    {"MOVED", "it is part of a cluster: write redis+cluster:// in place of redis://"},
    {"MASTERDOWN", "its primary is down"},
    {"BUSY", "a script keeps it busy"},
    {"NOREPLICAS", "it has too few replicas to accept writes"},
    {"NOPROTO", NULL},
};

void wire_explain(const char *server, const wire_reply *error, weir_error *err) {
    char text[160];
    size_t length = 0;
    const char *advice = NULL;
    for (size_t i = 0; i < error->length && length + 1 < sizeof text; i++)
        text[length++] = isprint((unsigned char)error->text[i]) ? error->text[i] : '?';
    text[length] = 0;
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (wire_is_error(error, advices[i].word)) advice = advices[i].advice;
    if (!strncmp(text, "ERR unknown command", 19) &&
        (strstr(text, "WEIR.") || strstr(text, "weir.")))
        advice = "it has not loaded weir's module: see docs/cluster.md";
    wire_report(err, WEIR_ERR_IO, "the server '%s' says '%s'%s%s", server, text, advice ? "; " : "",
                advice ? advice : "");
}
