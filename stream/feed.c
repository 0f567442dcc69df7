/* feed.c - messages into blocks of records.
 *
 * A broker's messages are records already. Each is copied into the block with the terminator of
 * its format behind it, so that whoever looks at a batch finds what a file would have given, and
 * keys.c and writer.c know nothing of messages. What ends a record in a file may stand in the
 * middle of a message: the ends are where the messages end.
 */
#include <assert.h>
#include <string.h>

#include "stream_internal.h"

enum { SLICE_MS = 50 }; /* a wait for messages looks at interrupts this often */

stream_status stream__feed_check(const stream_options *o, stream_error *err) {
    if (o->format == STREAM_FIXED || o->format == STREAM_LEN32)
        return stream__fail(err, 0,
                            "a message is a record of its own length; the formats fixed:N and "
                            "len32 are for files");
    if (o->header) {
        stream__fail(err, 0, "messages have no header");
        return stream__because(err, STREAM_CAUSE_FEED_HEADER);
    }
    return STREAM_OK;
}

/* Copy messages in, behind one another. */
static bool take(stream_framer *f, stream_block *block, stream_wrong *wrong,
                 const stream_message *messages, size_t count) {
    assert(count <= STREAM_FEED_MOST);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += messages[i].length + 1;
    if (!stream__block_reserve(block, bytes)) return false;
    unsigned char *to = block->memory;
    block->base = block->ends[0] = 0;
    block->wrong = wrong;
    block->wrong_count = 0;
    for (size_t i = 0; i < count; i++) {
        const stream_message *m = &messages[i];
        bool too_long = m->length > f->options->max_record;
        if (m->length) memcpy(to, m->bytes, m->length);
        to += m->length;
        *to++ = (unsigned char)f->options->terminator;
        block->ends[i + 1] = (uint32_t)(to - block->memory);
        if (m->lacking || too_long)
            wrong[block->wrong_count++] =
                (stream_wrong){(uint32_t)i, too_long ? REASON_TOO_LONG : REASON_LACKING};
    }
    block->count = count;
    block->end = block->scanned = block->ends[count];
    return true;
}

static void describe(stream_framer *f, stream_block *block) {
    stream_batch *b = &block->batch;
    *b = (stream_batch){.count = block->count,
                        .base = block->memory,
                        .offsets = block->ends,
                        .format = f->options->format,
                        .terminator = {f->options->terminator},
                        .terminator_length = 1,
                        .separator = (char)f->plan->separator,
                        .file = f->files[0],
                        .first_record = f->at.record + 1,
                        .first_offset = f->at.offset};
    f->at.offset += block->end;
    f->at.record += block->count;
    b->after = f->at;
    atomic_fetch_add_explicit(&f->control->raw_bytes, block->end - block->count,
                              memory_order_relaxed);
}

stream_status stream__feed(stream_framer *f, stream_block *block, stream_wrong *wrong,
                           int timeout_ms) {
    const stream_feed *feed = f->options->feed;
    const stream_message *messages = NULL;
    size_t count = 0;
    stream_status status;
    for (int left = timeout_ms;; left -= timeout_ms < 0 ? 0 : SLICE_MS) {
        int slice = left < 0 || left > SLICE_MS ? SLICE_MS : left;
        status = feed->poll(feed->context, slice, &messages, &count, &f->failure);
        if (status != STREAM_IDLE) break;
        if (atomic_load(&f->control->interrupted)) return STREAM_INTERRUPTED;
        if (timeout_ms >= 0 && left <= SLICE_MS) return STREAM_IDLE;
    }
    if (status != STREAM_BATCH) return status;
    if (!take(f, block, wrong, messages, count)) {
        stream__no_memory(&f->failure);
        return STREAM_FAILED;
    }
    describe(f, block);
    return STREAM_BATCH;
}
