/* notes.c - what programs keep beside the filter, where it is replicated and saved like the filter.
 *
 * The note of NAME that is called RUN stands under `NAME:run:RUN`, as a string; the names of all
 * are members of the set `NAME:runs`. A note that nobody writes again goes after thirty days.
 * Writing one gives what was there before in the same step (SET with GET, of servers from 6.2 on),
 * so that whoever is no longer alone under a name finds out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote_state.h"
#include "wire_error.h"

/* SHORT_WAITS: replicas that were missing are waited for only so long a part of the time. */
enum { PATIENCE_MS = 10000, KEY_MOST = 640, RUN_MOST = 512, SHORT_WAITS = 10 };
#define KEEP_S "2592000" /* thirty days: by then a run has come back, or its name will not */

static void note_key(const weir_remote *r, char key[KEY_MOST], const char *run) {
    snprintf(key, KEY_MOST, "%s:run:%.*s", r->name, RUN_MOST, run);
}

static weir_status call(weir_remote *r, const char *key, size_t count, const char *const *words,
                        const size_t *lengths, wire_reply **reply, weir_error *err) {
    weir_status status = requests_settle(r, err);
    if (status == WEIR_OK)
        status = fleet_command(r->fleet, key, count, words, lengths, PATIENCE_MS, reply, err);
    if (status != WEIR_OK || (*reply)->type != WIRE_ERROR) return status;
    const fleet_node *node = fleet_at(r->fleet, fleet_slot(key, strlen(key)));
    wire_explain(node ? wire_server(node->wire) : "cluster", *reply, err);
    wire_reply_free(*reply);
    *reply = NULL;
    return WEIR_ERR_IO;
}

static weir_status odd(const char *key, weir_error *err) {
    return wire_fail(err, WEIR_ERR_MISMATCH,
                     "the server says of '%s' what this version of weir does not understand", key);
}

/* A string or nothing as bytes of the caller's, with a NUL behind them. */
static weir_status take_bytes(const wire_reply *reply, const char *key, void **bytes,
                              size_t *length, weir_error *err) {
    *bytes = NULL;
    *length = 0;
    if (reply->type == WIRE_NIL) return WEIR_OK;
    if (reply->type != WIRE_STRING) return odd(key, err);
    if (!(*bytes = malloc(reply->length + 1))) return wire_no_memory(err);
    memcpy(*bytes, reply->text, reply->length + 1);
    *length = reply->length;
    return WEIR_OK;
}

weir_status weir_remote_get_note(weir_remote *r, const char *run, void **bytes, size_t *length,
                                 weir_error *err) {
    char key[KEY_MOST];
    wire_reply *reply = NULL;
    note_key(r, key, run);
    *bytes = NULL;
    const char *words[] = {"GET", key};
    const size_t lengths[] = {3, strlen(key)};
    weir_status status = call(r, key, 2, words, lengths, &reply, err);
    if (status == WEIR_OK) status = take_bytes(reply, key, bytes, length, err);
    wire_reply_free(reply);
    return status;
}

/* Its name among those of all. */
static weir_status list_name(weir_remote *r, const char *run, weir_error *err) {
    char key[KEY_MOST];
    wire_reply *reply;
    snprintf(key, sizeof key, "%s:runs", r->name);
    const char *words[] = {"SADD", key, run};
    const size_t lengths[] = {4, strlen(key), strnlen(run, RUN_MOST)};
    weir_status status = call(r, key, 3, words, lengths, &reply, err);
    if (status == WEIR_OK) wire_reply_free(reply);
    return status;
}

/* As many replicas as are asked for, or it is counted. */
static weir_status confirm(weir_remote *r, const char *key, weir_error *err) {
    char replicas[16], most[24];
    wire_reply *reply;
    int64_t got = 0;
    if (!r->options.replicas) return WEIR_OK;
    snprintf(replicas, sizeof replicas, "%u", r->options.replicas);
    long long ms = r->options.replicas_ms / (r->notes_short ? SHORT_WAITS : 1);
    snprintf(most, sizeof most, "%lld", ms ? ms : 1);
    const char *words[] = {"WAIT", replicas, most};
    const size_t lengths[] = {4, strlen(replicas), strlen(most)};
    weir_status status = call(r, key, 3, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    r->notes_short = !wire_reply_number(reply, &got) || got < (int64_t)r->options.replicas;
    r->stats.unsafe += r->notes_short;
    wire_reply_free(reply);
    return WEIR_OK;
}

weir_status weir_remote_put_note(weir_remote *r, const char *run, const void *bytes, size_t length,
                                 void **before, size_t *before_length, weir_error *err) {
    char key[KEY_MOST];
    wire_reply *reply;
    note_key(r, key, run);
    *before = NULL;
    const char *words[] = {"SET", key, bytes, "GET", "EX", KEEP_S};
    const size_t lengths[] = {3, strlen(key), length, 3, 2, sizeof KEEP_S - 1};
    weir_status status = call(r, key, 6, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    status = take_bytes(reply, key, before, before_length, err);
    wire_reply_free(reply);
    if (status == WEIR_OK && !*before) status = list_name(r, run, err);
    return status == WEIR_OK ? confirm(r, key, err) : status;
}

weir_status weir_remote_each_note(weir_remote *r, bool (*take)(void *context, const char *run),
                                  void *context, weir_error *err) {
    char key[KEY_MOST];
    wire_reply *reply;
    snprintf(key, sizeof key, "%s:runs", r->name);
    const char *words[] = {"SMEMBERS", key};
    const size_t lengths[] = {8, strlen(key)};
    weir_status status = call(r, key, 2, words, lengths, &reply, err);
    if (status != WEIR_OK) return status;
    if (reply->type != WIRE_ARRAY && reply->type != WIRE_NIL) status = odd(key, err);
    for (size_t i = 0; status == WEIR_OK && i < reply->count; i++) {
        const wire_reply *name = reply->items[i];
        if (name->type == WIRE_STRING && name->length <= RUN_MOST && !take(context, name->text))
            break;
    }
    wire_reply_free(reply);
    return status;
}
