/* manifest.c - what a remote filter is made of, as text under a key of its own. */
#include "manifest.h"
#include "weir_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire_error.h"

enum { PATIENCE_MS = 5000, NAME_MOST = 100 };
#define STAMP UINT64_C(0xffffff) /* these bits of an epoch */

static const char first_line[] = "weir 1\n";

/* --- keys ------------------------------------------------------------------------------------ */

void manifest_key(char key[160], const char *name) { snprintf(key, 160, "%s:weir", name); }

void manifest_slice_key(const manifest *m, size_t i, char key[160], const char *name) {
    snprintf(key, 160, "%s:{%s}:%zu", name, m->tags[i], i);
}

weir_status manifest_check_name(const char *name, weir_error *err) {
    size_t length = strlen(name);
    bool good = length >= 1 && length <= NAME_MOST;
    for (size_t i = 0; i < length && good; i++)
        good = isgraph((unsigned char)name[i]) && name[i] != '{' && name[i] != '}';
    if (good) return WEIR_OK;
    return wire_fail(err, WEIR_ERR_SPEC,
                     "the name in the address must be 1 to %d printable characters without blanks "
                     "and braces",
                     NAME_MOST);
}

/* --- specs -------------------------------------------------------------------------------------
 */

/* Where an option of a spec ("memory=") stands, outside of parentheses; NULL: it has none. */
static const char *find_option(const char *spec, const char *name) {
    int depth = 0;
    for (const char *at = spec; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0 && (*at == ':' || *at == ',') && !strncmp(at + 1, name, strlen(name)))
            return at + 1;
    }
    return NULL;
}

uint64_t manifest_memory(const char *spec) {
    char value[32];
    uint64_t bytes = 0;
    const char *at = find_option(spec, "memory=");
    if (at) {
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + 7, ",)"), at + 7);
        return weir_parse_size(value, &bytes, NULL) == WEIR_OK ? bytes : 0;
    }
    for (const weir_option *o = weir_common_options(); o->name; o++)
        if (!strcmp(o->name, "memory")) weir_parse_size(o->standard, &bytes, NULL);
    return bytes;
}

/* The spec with an option ("memory=") of that value, in the place of one that it has. */
static bool with_option(char out[MANIFEST_SPEC], const char *spec, const char *name,
                        uint64_t value) {
    const char *at = find_option(spec, name);
    const char *before = at ? "" : strchr(spec, ':') ? "," : ":";
    int head = (int)(at ? at - spec : (long)strlen(spec));
    const char *rest = at ? at + strcspn(at, ",)") : "";
    return snprintf(out, MANIFEST_SPEC, "%.*s%s%s%llu%s", head, spec, before, name,
                    (unsigned long long)value, rest) < MANIFEST_SPEC;
}

bool manifest_with_memory(char out[MANIFEST_SPEC], const char *spec, uint64_t bytes) {
    return with_option(out, spec, "memory=", bytes);
}

bool manifest_with_slices(char out[MANIFEST_SPEC], const char *spec, size_t slices) {
    if (find_option(spec, "slices="))
        return snprintf(out, MANIFEST_SPEC, "%s", spec) < MANIFEST_SPEC;
    return with_option(out, spec, "slices=", slices);
}

/* --- tags ----------------------------------------------------------------------------------------
 */

/* Slot number `wanted` of those that a node has. */
static uint16_t slot_of(const fleet *f, size_t node, size_t wanted) {
    for (size_t s = 0; s < FLEET_SLOTS; s++)
        if (f->slots[s] == node && wanted-- == 0) return (uint16_t)s;
    return 0;
}

/* The slot of slice i: the masters take turns, and each has its slices evenly over its slots. */
static uint16_t slot_for(const fleet *f, size_t i, size_t slices) {
    size_t masters[FLEET_NODES], owned[FLEET_NODES] = {0}, count = 0;
    for (size_t s = 0; s < FLEET_SLOTS; s++)
        if (f->slots[s] != FLEET_NOWHERE) owned[f->slots[s]]++;
    for (size_t n = 0; n < f->node_count; n++)
        if (owned[n]) masters[count++] = n;
    if (!count) return 0;
    size_t node = masters[i % count], turn = i / count, turns = (slices + count - 1) / count;
    return slot_of(f, node, (2 * turn + 1) * owned[node] / (2 * turns));
}

static void write_tag(char tag[MANIFEST_TAG], unsigned long number) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char reversed[MANIFEST_TAG];
    size_t length = 0;
    do reversed[length++] = digits[number % 36];
    while ((number /= 36) && length + 1 < MANIFEST_TAG);
    for (size_t i = 0; i < length; i++) tag[i] = reversed[length - 1 - i];
    tag[length] = 0;
}

/* The first number, written to base 36, that lies in each slot that is wanted. */
void manifest_place(manifest *m, const fleet *f) {
    size_t left = m->slices;
    uint16_t wanted[MANIFEST_SLICES] = {0};
    for (size_t i = 0; i < m->slices; i++) {
        wanted[i] = slot_for(f, i, m->slices);
        m->tags[i][0] = 0;
    }
    for (unsigned long number = 0; left; number++) {
        char tag[MANIFEST_TAG];
        write_tag(tag, number);
        uint16_t slot = fleet_slot(tag, strlen(tag));
        for (size_t i = 0; i < m->slices; i++)
            if (wanted[i] == slot && !m->tags[i][0]) {
                strcpy(m->tags[i], tag);
                left--;
            }
    }
}

/* --- read and written
 * ------------------------------------------------------------------------------ */

static bool parse_tags(manifest *m, const char *at) {
    m->slices = 0;
    while (*at && *at != '\n') {
        size_t length = strspn(at, "0123456789abcdefghijklmnopqrstuvwxyz");
        if (!length || length >= MANIFEST_TAG || m->slices == MANIFEST_SLICES) return false;
        snprintf(m->tags[m->slices++], MANIFEST_TAG, "%.*s", (int)length, at);
        at += length;
        if (*at == ',') at++;
        else if (*at != '\n') return false;
    }
    return m->slices > 0 && *at == '\n';
}

static bool parse(manifest *m, const char *text) {
    const char *spec = text + sizeof first_line - 1;
    if (strncmp(text, first_line, sizeof first_line - 1) != 0 || strncmp(spec, "spec=", 5) != 0)
        return false;
    size_t length = strcspn(spec += 5, "\n");
    if (length >= sizeof m->spec || !wire_is_printable(spec, length) ||
        strncmp(spec + length, "\ntags=", 6) != 0)
        return false;
    snprintf(m->spec, sizeof m->spec, "%.*s", (int)length, spec);
    return parse_tags(m, spec + length + 6);
}

weir_status manifest_read(manifest *m, fleet *f, const char *name, bool *found, weir_error *err) {
    char key[160];
    wire_reply *reply;
    manifest_key(key, name);
    const char *words[] = {"GET", key};
    size_t lengths[] = {3, strlen(key)};
    *found = false;
    weir_status status = fleet_command(f, key, 2, words, lengths, PATIENCE_MS, &reply, err);
    if (status != WEIR_OK) return status;
    if (reply->type == WIRE_ERROR) {
        wire_explain(wire_server(fleet_at(f, fleet_slot(key, strlen(key)))->wire), reply, err);
        status = WEIR_ERR_IO;
    } else if (reply->type == WIRE_STRING) {
        *found = parse(m, reply->text);
        if (!*found)
            status = wire_fail(err, WEIR_ERR_MISMATCH,
                               "the key '%s' on the server is not the description of a filter, or "
                               "one of another version of weir; take another name",
                               key);
    }
    wire_reply_free(reply);
    return status;
}

weir_status manifest_write(const manifest *m, fleet *f, const char *name, bool *written,
                           weir_error *err) {
    char key[160];
    wire_reply *reply;
    size_t size = sizeof first_line + MANIFEST_SPEC + 16 + m->slices * (MANIFEST_TAG + 1);
    char *text = malloc(size);
    if (!text) return wire_no_memory(err);
    size_t length = (size_t)snprintf(text, size, "%sspec=%s\ntags=", first_line, m->spec);
    for (size_t i = 0; i < m->slices; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? "," : "", m->tags[i]);
    text[length++] = '\n';
    manifest_key(key, name);
    const char *words[] = {"SET", key, text, "NX"};
    size_t lengths[] = {3, strlen(key), length, 2};
    weir_status status = fleet_command(f, key, 4, words, lengths, PATIENCE_MS, &reply, err);
    free(text);
    if (status != WEIR_OK) return status;
    *written = wire_is_text(reply, "OK");
    if (reply->type == WIRE_ERROR) {
        wire_explain(wire_server(fleet_at(f, fleet_slot(key, strlen(key)))->wire), reply, err);
        status = WEIR_ERR_IO;
    }
    wire_reply_free(reply);
    return status;
}

/* --- slices -------------------------------------------------------------------------------- */

uint64_t manifest_epoch(uint64_t word, bool again) {
    uint64_t epoch = word & (MANIFEST_AGAIN - 1);
    if (again) epoch |= MANIFEST_AGAIN;
    return epoch ? epoch : 1;
}

static uint64_t stamp_of(const manifest_shape *s) {
    const uint64_t facts[] = {s->places, s->first, s->end, s->seed, s->k, s->siphash, s->timers};
    uint64_t stamp = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        stamp = (stamp ^ facts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        stamp ^= stamp >> 32;
    }
    return (stamp & STAMP) | 1; /* an epoch is never 0 */
}

uint64_t manifest_stamp(uint64_t epoch, const manifest_shape *shape) {
    return (epoch & ~STAMP) | stamp_of(shape);
}

weir_status manifest_check_stamp(uint64_t epoch, const manifest_shape *shape, const char *key,
                                 weir_error *err) {
    if ((epoch & STAMP) == stamp_of(shape)) return WEIR_OK;
    return wire_fail(err, WEIR_ERR_MISMATCH,
                     "the key '%s' on the server is not a slice of this filter; take another name",
                     key);
}

void manifest_let_others_make(fleet *f, const char *look, const char *key, bool *waited) {
    enum { MAKING_MS = 500 };
    wire_reply *reply;
    weir_error err;
    const char *words[] = {look, key};
    const size_t lengths[] = {strlen(look), strlen(key)};
    if (*waited || fleet_command(f, key, 2, words, lengths, 0, &reply, &err) != WEIR_OK) return;
    bool missing =
        wire_is_error(reply, "WEIRMISSING") || (reply->type == WIRE_INTEGER && !reply->integer);
    if (missing) wire_pause(f->access, MAKING_MS);
    *waited |= missing;
    wire_reply_free(reply);
}
