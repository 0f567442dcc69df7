/* select.c - which records of a batch are used.
 *
 * A batch whose records all have a key, and no times, is used as it is: nothing is copied.
 * Otherwise the usable records are put side by side, and the kind of each of the others is
 * kept, so that a caller can put its results back into their places.
 *
 * Time runs forward for whoever uses the records: one that comes out of order gets the latest
 * time so far. Two kinds of times are not believed: one that is behind the latest by more than
 * `lateness` (a late record), and one that is ahead of it by more than `max_leap`, which would
 * make all records after it late (a leap of the clock).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

bool stream_make_room(size_t *room, size_t count, const stream_array *arrays, size_t array_count) {
    if (count <= *room) return true;
    size_t more = count + count / 2 + 64;
    for (size_t i = 0; i < array_count; i++) {
        void *old, *larger;
        memcpy(&old, arrays[i].array, sizeof old);
        larger = realloc(old, more * arrays[i].size);
        if (!larger) return false;
        memcpy(arrays[i].array, &larger, sizeof larger);
    }
    *room = more;
    return true;
}

static bool room_for(stream_selection *s, size_t count, size_t width) {
    const stream_array arrays[] = {
        {&s->own_places, sizeof *s->own_places},   {&s->own_hashes, width * sizeof *s->own_hashes},
        {&s->own_labels, sizeof *s->own_labels},   {&s->own_times, sizeof *s->own_times},
        {&s->own_numbers, sizeof *s->own_numbers}, {&s->own_kinds, sizeof *s->own_kinds},
    };
    return stream_make_room(&s->room, count, arrays, sizeof arrays / sizeof *arrays);
}

/* The kind of a usable record by its time, which becomes that of the user's clock. */
static uint8_t look_at_time(stream_rules *rules, int64_t *time) {
    bool known = rules->newest != INT64_MIN;
    uint64_t ahead = (uint64_t)*time - (uint64_t)rules->newest, behind = -ahead;
    if (!known || *time >= rules->newest) {
        if (known && rules->max_leap && ahead > (uint64_t)rules->max_leap) return STREAM_LEAP;
        rules->newest = *time;
        return STREAM_RECORD_OK;
    }
    *time = rules->newest;
    bool late = rules->lateness >= 0 && behind > (uint64_t)rules->lateness;
    return late && rules->on_late != STREAM_JUDGE ? STREAM_LATE : STREAM_RECORD_OK;
}

static bool stops(const stream_rules *rules, uint8_t kind) {
    if (kind == STREAM_MISSING) return rules->on_missing == STREAM_STOP;
    return (kind == STREAM_BAD || kind == STREAM_LEAP) && rules->on_bad == STREAM_STOP;
}

static void count_kind(stream_selection *s, uint8_t kind) {
    s->missing += kind == STREAM_MISSING;
    s->bad += kind == STREAM_BAD || kind == STREAM_LEAP;
    s->late += kind == STREAM_LATE;
    s->headers += kind == STREAM_HEADER;
}

static void take_record(stream_selection *s, const stream_batch *b, size_t i, size_t width,
                        int64_t time) {
    size_t n = s->count++;
    s->own_places[n] = (uint32_t)i;
    if (width == 1) s->own_hashes[n] = b->hashes[i];
    else memcpy(s->own_hashes + n * width, b->hashes + i * width, width * sizeof *b->hashes);
    if (b->times) s->own_times[n] = time;
    if (b->numbers) s->own_numbers[n] = b->numbers[i];
    if (b->labels) s->own_labels[n] = b->labels[i];
}

static void take_usable(stream_selection *s, const stream_batch *b, stream_rules *rules,
                        size_t width) {
    for (size_t i = 0; i < b->count; i++) {
        uint8_t kind = b->status ? b->status[i] : STREAM_RECORD_OK;
        int64_t time = b->times ? b->times[i] : 0;
        if (kind == STREAM_RECORD_OK && b->times) kind = look_at_time(rules, &time);
        if (stops(rules, kind)) {
            s->stopped = kind;
            s->end = i;
            return;
        }
        s->own_kinds[i] = kind;
        if (kind == STREAM_RECORD_OK) take_record(s, b, i, width, time);
        else count_kind(s, kind);
    }
}

bool stream_select(stream_selection *s, const stream_batch *b, stream_rules *rules) {
    size_t width = rules->width ? rules->width : 1;
    assert(rules->on_late != STREAM_STOP);
    s->missing = s->bad = s->late = s->headers = 0;
    s->stopped = STREAM_RECORD_OK;
    s->end = b->count;
    s->whole = !b->status && !b->times;
    s->count = s->whole ? b->count : 0;
    if (!s->whole) {
        if (!room_for(s, b->count, width)) return false;
        take_usable(s, b, rules, width);
    }
    s->places = s->whole ? NULL : s->own_places;
    s->kinds = s->whole ? NULL : s->own_kinds;
    s->hashes = s->whole ? b->hashes : s->own_hashes;
    s->times = b->times ? s->own_times : NULL;
    s->numbers = !b->numbers || s->whole ? b->numbers : s->own_numbers;
    s->labels = !b->labels || s->whole ? b->labels : s->own_labels;
    assert(s->count <= s->end && s->end <= b->count);
    return true;
}

void stream_selection_release(stream_selection *s) {
    free(s->own_places);
    free(s->own_hashes);
    free(s->own_labels);
    free(s->own_times);
    free(s->own_numbers);
    free(s->own_kinds);
    *s = (stream_selection){0};
}
