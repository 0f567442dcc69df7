/* broker_ids.c - sets of ids as ranges.
 *
 * Messages come nearly in order and without gaps, so that most sets are a few ranges: an addition
 * at the end costs nothing, one in the middle moves what lies behind it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "broker_internal.h"

bool broker__room(void *array, size_t *room, size_t needed, size_t size) {
    void *old, *larger;
    if (needed <= *room) return true;
    size_t more = needed + needed / 2 + 16;
    memcpy(&old, array, sizeof old);
    larger = realloc(old, more * size);
    if (!larger) return false;
    memcpy(array, &larger, sizeof larger);
    *room = more;
    return true; // cppcheck-suppress memleak
}

bool broker__append(broker_text *text, const void *bytes, size_t length) {
    if (!broker__room(&text->bytes, &text->room, text->length + length + 1, 1)) return false;
    if (length) memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = 0;
    return true;
}

/* The first range that does not end before id. */
static size_t find(const broker_ids *ids, broker_id id) {
    size_t low = 0, high = ids->count;
    if (high) {
        const broker_range *r = &ids->ranges[high - 1];
        if (r->hi < id.hi || (r->hi == id.hi && r->last < id.lo)) return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const broker_range *r = &ids->ranges[middle];
        if (r->hi < id.hi || (r->hi == id.hi && r->last < id.lo)) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool broker_ids_has(const broker_ids *ids, broker_id id) {
    size_t i = find(ids, id);
    return i < ids->count && ids->ranges[i].hi == id.hi && ids->ranges[i].lo <= id.lo;
}

bool broker_ids_add(broker_ids *ids, broker_id id) {
    size_t i = find(ids, id);
    broker_range *at = ids->ranges + i;
    if (i < ids->count && at->hi == id.hi && at->lo <= id.lo) return true;
    bool before = i > 0 && at[-1].hi == id.hi && at[-1].last + 1 == id.lo;
    bool after = i < ids->count && at->hi == id.hi && at->lo == id.lo + 1;
    if (before && after) {
        at[-1].last = at->last;
        memmove(at, at + 1, (--ids->count - i) * sizeof *at);
    } else if (before) {
        at[-1].last = id.lo;
    } else if (after) {
        at->lo = id.lo;
    } else {
        if (!broker__room(&ids->ranges, &ids->room, ids->count + 1, sizeof *at)) return false;
        at = ids->ranges + i;
        memmove(at + 1, at, (ids->count++ - i) * sizeof *at);
        *at = (broker_range){id.hi, id.lo, id.lo};
    }
    ids->size++;
    return true;
}

bool broker_ids_add_all(broker_ids *ids, const broker_ids *others) {
    for (size_t i = 0; i < others->count; i++) {
        const broker_range *r = &others->ranges[i];
        for (uint64_t lo = r->lo;; lo++) {
            if (!broker_ids_add(ids, (broker_id){r->hi, lo})) return false;
            if (lo == r->last) break;
        }
    }
    return true;
}

void broker_ids_clear(broker_ids *ids) { ids->count = ids->size = 0; }

void broker_ids_release(broker_ids *ids) {
    free(ids->ranges);
    *ids = (broker_ids){0};
}

void broker_ids_write(FILE *out, const broker_ids *ids) {
    for (size_t i = 0; i < ids->count; i++) {
        const broker_range *r = &ids->ranges[i];
        fprintf(out, "%s%" PRIu64 "-%" PRIu64, i ? "," : "", r->hi, r->lo);
        if (r->last != r->lo) fprintf(out, "..%" PRIu64, r->last);
    }
}

/* Digits of text[*at..length). */
static bool read_number(const char *text, size_t length, size_t *at, uint64_t *number) {
    size_t start = *at;
    *number = 0;
    while (*at < length && text[*at] >= '0' && text[*at] <= '9') {
        unsigned digit = (unsigned)(text[*at] - '0');
        if (*number > (UINT64_MAX - digit) / 10) return false;
        *number = *number * 10 + digit;
        ++*at;
    }
    return *at > start;
}

static bool read_range(const char *text, size_t length, size_t *at, broker_range *r) {
    if (!read_number(text, length, at, &r->hi) || *at == length || text[(*at)++] != '-' ||
        !read_number(text, length, at, &r->lo))
        return false;
    r->last = r->lo;
    if (length - *at < 2 || memcmp(text + *at, "..", 2) != 0) return true;
    *at += 2;
    return read_number(text, length, at, &r->last) && r->last >= r->lo;
}

bool broker_ids_read(broker_ids *ids, const char *text, size_t length) {
    broker_ids_clear(ids);
    for (size_t at = 0; at < length;) {
        broker_range r;
        if (!read_range(text, length, &at, &r)) return false;
        if (at < length && (text[at++] != ',' || at == length)) return false;
        const broker_range *before = ids->count ? &ids->ranges[ids->count - 1] : NULL;
        if (before && (r.hi < before->hi || (r.hi == before->hi && r.lo <= before->last)))
            return false;
        if (!broker__room(&ids->ranges, &ids->room, ids->count + 1, sizeof r)) return false;
        ids->ranges[ids->count++] = r;
        ids->size += r.last - r.lo + 1;
    }
    return true;
}
