/* shelf.c - sketches on servers: pushed by many producers, added up there, pulled by anybody.
 *
 * Question   how do many hosts count one stream together, when sketches are kilobytes and keys
 *            are many?
 * Idea       each counts into sketches of its own and from time to time pushes what they have
 *            gathered; the server adds it to what it has (WEIR.ABSORB) and the host begins again
 *            with empty ones. Adding is exact, so the sum is what one process would have counted.
 * Retries    a push has a number, and a value keeps the last number of each producer in what it
 *            replicates: the same number again changes nothing. So a push whose reply is lost is
 *            sent again, and counts once.
 * Layout     `NAME:sketches`, a text: which sketches there are, their specs with their seed, and a
 *            note of the producer's that made it; `NAME:sketch:PART`, the sketches. No two of them
 *            need the same slot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fleet.h"
#include "manifest.h"
#include "weir_remote.h"
#include "weir_sketch.h"
#include "wire_error.h"

enum {
    PARTS_MOST = 64,
    PART_NAME = 32,
    PATIENCE_MS = 30000,
    CONNECT_MS = 2000,
    PULLS = 3 /* attempts at a sketch whose slot moves while it is read */
};

static const char first_line[] = "weir sketches 1\n";

typedef struct {
    char name[PART_NAME];
    char *spec;
} part;

struct weir_shelf {
    fleet *fleet;
    char *name;
    int64_t patience;
    part parts[PARTS_MOST];
    size_t count;
    char *note;
    size_t note_length;
    bool found;
    char who[17];
    uint64_t numbers;
};

static void forget(weir_shelf *s) {
    for (size_t i = 0; i < s->count; i++) free(s->parts[i].spec);
    free(s->note);
    s->note = NULL;
    s->count = s->note_length = 0;
    s->found = false;
}

void weir_shelf_close(weir_shelf *s) {
    if (!s) return;
    forget(s);
    fleet_close(s->fleet);
    free(s->name);
    free(s);
}

/* --- commands ------------------------------------------------------------------------------ */

static void about_key(const weir_shelf *s, char key[192]) {
    snprintf(key, 192, "%s:sketches", s->name);
}
static void part_key(const weir_shelf *s, const char *name, char key[192]) {
    snprintf(key, 192, "%s:sketch:%s", s->name, name);
}

/* A reply that is an error stays one where the caller wants to look at it. */
static weir_status call(weir_shelf *s, const char *key, size_t count, const char *const *words,
                        const size_t *lengths, const char *but, wire_reply **reply,
                        weir_error *err) {
    weir_status status =
        fleet_command(s->fleet, key, count, words, lengths, s->patience, reply, err);
    if (status != WEIR_OK || (*reply)->type != WIRE_ERROR) return status;
    if (but && wire_is_error(*reply, but)) return WEIR_OK;
    const fleet_node *node = fleet_at(s->fleet, fleet_slot(key, strlen(key)));
    wire_explain(node ? wire_server(node->wire) : "cluster", *reply, err);
    wire_reply_free(*reply);
    *reply = NULL;
    return WEIR_ERR_IO;
}

static weir_status odd(const char *key, weir_error *err) {
    return wire_fail(err, WEIR_ERR_MISMATCH,
                     "the key '%s' on the server is not the description of sketches, or one of "
                     "another version of weir; take another name",
                     key);
}

/* --- what is there ------------------------------------------------------------------------- */

/* "sketch=NAME SPEC" */
static bool take_part(weir_shelf *s, const char *line, size_t length) {
    const char *blank = memchr(line, ' ', length);
    size_t name = blank ? (size_t)(blank - line) : 0;
    if (!name || name >= PART_NAME || s->count == PARTS_MOST || !wire_is_printable(line, length))
        return false;
    part *p = &s->parts[s->count];
    memcpy(p->name, line, name);
    p->name[name] = 0;
    p->spec = strndup(blank + 1, length - name - 1);
    s->count += p->spec != NULL;
    return p->spec != NULL;
}

static bool parse(weir_shelf *s, const char *text, size_t length) {
    static const char sketch[] = "sketch=", note[] = "note=";
    const char *end = text + length;
    if (length < sizeof first_line - 1 || memcmp(text, first_line, sizeof first_line - 1) != 0)
        return false;
    text += sizeof first_line - 1;
    for (const char *stop; (stop = memchr(text, '\n', (size_t)(end - text))); text = stop + 1) {
        size_t size = (size_t)(stop - text);
        if (size > sizeof sketch - 1 && !memcmp(text, sketch, sizeof sketch - 1)) {
            if (!take_part(s, text + sizeof sketch - 1, size - (sizeof sketch - 1))) return false;
            continue;
        }
        if (size < sizeof note - 1 || memcmp(text, note, sizeof note - 1) != 0) return false;
        s->note_length = (size_t)(end - stop) - 1;
        s->note = malloc(s->note_length + 1);
        if (!s->note || strtoull(text + sizeof note - 1, NULL, 10) != s->note_length) return false;
        memcpy(s->note, stop + 1, s->note_length);
        return s->count > 0;
    }
    return false;
}

static weir_status read_about(weir_shelf *s, weir_error *err) {
    char key[192];
    wire_reply *reply = NULL;
    about_key(s, key);
    const char *words[] = {"GET", key};
    const size_t lengths[] = {3, strlen(key)};
    forget(s);
    weir_status status = call(s, key, 2, words, lengths, NULL, &reply, err);
    if (status == WEIR_OK && reply->type == WIRE_STRING) {
        s->found = parse(s, reply->text, reply->length);
        if (!s->found) status = odd(key, err);
    }
    wire_reply_free(reply);
    return status;
}

static weir_status open_fleet(weir_shelf *s, const char *url, const weir_remote_options *o,
                              weir_error *err) {
    wire_options options = {.password_file = o->password_file,
                            .ca_file = o->ca_file,
                            .cert_file = o->cert_file,
                            .key_file = o->key_file,
                            .connect_ms = o->connect_ms ? o->connect_ms : CONNECT_MS,
                            .reply_ms = o->reply_ms,
                            .stop = o->stop,
                            .stop_context = o->context};
    uint64_t who;
    weir_status status = fleet_open(&s->fleet, url, &options, err);
    if (status != WEIR_OK) return status;
    s->patience = o->lost_ms ? o->lost_ms : PATIENCE_MS;
    s->name = strdup(s->fleet->url->name ? s->fleet->url->name : "weir");
    if (!s->name) return wire_no_memory(err);
    if (getrandom(&who, sizeof who, 0) != sizeof who)
        return wire_fail(err, WEIR_ERR_IO, "the system gives no random numbers");
    snprintf(s->who, sizeof s->who, "%016" PRIx64, who);
    status = manifest_check_name(s->name, err);
    return status == WEIR_OK ? read_about(s, err) : status;
}

weir_status weir_shelf_open(weir_shelf **out, const char *url, const weir_remote_options *options,
                            weir_error *err) {
    weir_shelf *s = *out = calloc(1, sizeof *s);
    if (!s) return wire_no_memory(err);
    weir_status status = open_fleet(s, url, options, err);
    if (status != WEIR_OK) {
        weir_shelf_close(s);
        *out = NULL;
    }
    return status;
}

size_t weir_shelf_count(const weir_shelf *s) { return s->count; }

bool weir_shelf_get(const weir_shelf *s, size_t i, const char **name, const char **spec) {
    if (i >= s->count) return false;
    *name = s->parts[i].name;
    *spec = s->parts[i].spec;
    return true;
}

const void *weir_shelf_note(const weir_shelf *s, size_t *length) {
    *length = s->note_length;
    return s->note;
}

/* --- made ---------------------------------------------------------------------------------- */

static bool write_about(FILE *out, const weir_sketch *const *sketches, const char *const *names,
                        size_t count, const void *note, size_t length) {
    bool fits = true;
    fputs(first_line, out);
    for (size_t i = 0; i < count && fits; i++) {
        char spec[1024];
        fits = weir_sketch_spec(sketches[i], spec, sizeof spec) < sizeof spec &&
               strlen(names[i]) < PART_NAME && !strchr(names[i], ' ');
        fprintf(out, "sketch=%s %s\n", names[i], spec);
    }
    fprintf(out, "note=%zu\n", length);
    if (length) fwrite(note, 1, length, out);
    return fits;
}

weir_status weir_shelf_begin(weir_shelf *s, const weir_sketch *const *sketches,
                             const char *const *names, size_t count, const void *note,
                             size_t length, weir_error *err) {
    char key[192], *text = NULL;
    wire_reply *reply = NULL;
    size_t size;
    if (s->found) return WEIR_OK;
    if (!count || count > PARTS_MOST)
        return wire_fail(err, WEIR_ERR_RANGE, "%zu sketches; there can be 1 to %d", count,
                         PARTS_MOST);
    FILE *out = open_memstream(&text, &size);
    bool fits = out && write_about(out, sketches, names, count, note, length);
    if (!out || fclose(out)) {
        free(text);
        return wire_no_memory(err);
    }
    about_key(s, key);
    const char *words[] = {"SET", key, text, "NX"};
    const size_t lengths[] = {3, strlen(key), size, 2};
    weir_status status =
        fits ? call(s, key, 4, words, lengths, NULL, &reply, err)
             : wire_fail(err, WEIR_ERR_RANGE, "a sketch has a name or a spec that is too long");
    wire_reply_free(reply);
    free(text);
    if (status == WEIR_OK) status = read_about(s, err);
    if (status == WEIR_OK && !s->found)
        status = wire_fail(err, WEIR_ERR_IO, "the sketches '%s' go as fast as they come", s->name);
    return status;
}

/* --- pushed and pulled --------------------------------------------------------------------- */

weir_status weir_shelf_push(weir_shelf *s, const char *name, const weir_sketch *sketch,
                            weir_error *err) {
    char key[192], number[24];
    size_t length = 0;
    wire_reply *reply = NULL;
    weir_status status = weir_sketch_save_bytes(sketch, NULL, 0, &length, err);
    if (status != WEIR_OK && status != WEIR_ERR_RANGE) return status;
    char *bytes = malloc(length);
    if (!bytes) return wire_no_memory(err);
    status = weir_sketch_save_bytes(sketch, bytes, length, &length, err);
    part_key(s, name, key);
    snprintf(number, sizeof number, "%" PRIu64, ++s->numbers);
    const char *words[] = {"WEIR.ABSORB", key, bytes, "BATCH", s->who, number};
    const size_t lengths[] = {11, strlen(key), length, 5, strlen(s->who), strlen(number)};
    if (status == WEIR_OK) status = call(s, key, 6, words, lengths, NULL, &reply, err);
    wire_reply_free(reply);
    free(bytes);
    return status;
}

/* One chunk; *cursor is 0 after the last. */
static weir_status pull_chunk(weir_shelf *s, const char *key, uint64_t *cursor, FILE *out,
                              bool *none, weir_error *err) {
    char at[24];
    int64_t next = 0;
    wire_reply *reply = NULL;
    snprintf(at, sizeof at, "%" PRIu64, *cursor);
    const char *words[] = {"WEIR.EXPORT", key, at};
    const size_t lengths[] = {11, strlen(key), strlen(at)};
    weir_status status = call(s, key, 3, words, lengths, "WEIRMISSING", &reply, err);
    if (status != WEIR_OK) return status;
    *none = reply->type == WIRE_ERROR;
    if (!*none && (reply->type != WIRE_ARRAY || reply->count != 2 ||
                   !wire_reply_number(reply->items[0], &next) || next < 0 ||
                   reply->items[1]->type != WIRE_STRING))
        status = odd(key, err);
    else if (!*none) fwrite(reply->items[1]->text, 1, reply->items[1]->length, out);
    *cursor = (uint64_t)next;
    wire_reply_free(reply);
    return status;
}

static weir_status pull_bytes(weir_shelf *s, const char *key, char **bytes, size_t *length,
                              bool *none, weir_error *err) {
    uint64_t cursor = 0;
    FILE *out = open_memstream(bytes, length);
    weir_status status = out ? WEIR_OK : wire_no_memory(err);
    do
        if (status == WEIR_OK) status = pull_chunk(s, key, &cursor, out, none, err);
    while (status == WEIR_OK && cursor);
    if (out && fclose(out) && status == WEIR_OK) status = wire_no_memory(err);
    return status;
}

weir_status weir_shelf_pull(weir_shelf *s, const char *name, weir_sketch **out, weir_error *err) {
    char key[192];
    weir_status status = WEIR_OK;
    bool none = false;
    *out = NULL;
    part_key(s, name, key);
    for (int i = 0; i < PULLS; i++) {
        char *bytes = NULL;
        size_t length = 0;
        status = pull_bytes(s, key, &bytes, &length, &none, err);
        if (status == WEIR_OK && !none)
            status = weir_sketch_load_bytes(out, bytes, length, NULL, err);
        free(bytes);
        if (status == WEIR_OK || status == WEIR_ERR_MEMORY) break;
    }
    return status;
}
