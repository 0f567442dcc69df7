/* frame.c - bytes into blocks of whole records, strictly in order.
 *
 * A block is filled with one large read, scanned once for the ends of records,
 * and handed on with the records that are whole. What follows the last whole
 * record is carried to the next block together with the state of the scan, so no
 * byte is scanned twice and a block may end anywhere: in a quoted field, in a
 * CRLF, in a length prefix. A block holds records of one file only.
 *
 *      memory          base              scanned      end          limit
 *        |               |carry|bytes read by one read()|            |
 *        |               ^ends[0]  ^ends[1]  ^ends[count]
 *
 * The carry is laid such that the read lands on a page boundary; the kernel
 * copies faster that way. Reads from pipes return what there is; a block is
 * handed on as soon as it holds a record and the pipe has no more just now.
 *
 * A record that does not fit makes its block grow, up to max_record; the next
 * user of the block gives the memory back.
 *
 * Trouble never overtakes records: if a block has records when something fails,
 * it is handed on first and the failure comes with the next call.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

enum { PAGE = 4096 }; /* bytes: memory of blocks is made in pages, headers are read in pages */

/* ------------------------------------------------------------------------
 * Blocks
 * ------------------------------------------------------------------------ */

static size_t usual_capacity(size_t block_size) { return 2 * block_size + PAGE; }

/* Zeroed: the scans read the padding, though its content decides nothing. */
static unsigned char *new_memory(size_t capacity) {
    size_t bytes = (capacity + STREAM_PAD + PAGE - 1) / PAGE * PAGE;
    unsigned char *memory = aligned_alloc(PAGE, bytes);
    if (memory) memset(memory + capacity, 0, bytes - capacity);
    return memory;
}

bool stream__block_init(stream_block *block, size_t block_size, size_t max_records,
                        const key_plan *plan) {
    memset(block, 0, sizeof *block);
    block->capacity = usual_capacity(block_size);
    block->memory = new_memory(block->capacity);
    block->ends = malloc((max_records + 1) * sizeof *block->ends);
    block->hashes = malloc(max_records * plan->width * sizeof *block->hashes);
    block->status = malloc(max_records);
    block->reason = malloc(max_records);
    block->where = malloc(max_records * sizeof *block->where);
    if (plan->timed) block->times = malloc(max_records * sizeof *block->times);
    if (plan->numbered) block->numbers = malloc(max_records * sizeof *block->numbers);
    if (plan->labelled) block->labels = malloc(max_records * sizeof *block->labels);
    return block->memory && block->ends && block->hashes && block->status && block->reason &&
           block->where && (!plan->timed || block->times) && (!plan->numbered || block->numbers) &&
           (!plan->labelled || block->labels);
}

void stream__block_release(stream_block *block) {
    free(block->memory);
    free(block->ends);
    free(block->hashes);
    free(block->status);
    free(block->reason);
    free(block->where);
    free(block->times);
    free(block->numbers);
    free(block->labels);
    memset(block, 0, sizeof *block);
}

/* Move what is in use to memory of another size. */
static bool resize(stream_block *block, size_t capacity) {
    unsigned char *memory = new_memory(capacity);
    if (!memory) return false;
    memcpy(memory + block->base, block->memory + block->base, block->end - block->base);
    free(block->memory);
    block->memory = memory;
    block->capacity = capacity;
    return true;
}

bool stream__block_reserve(stream_block *block, size_t bytes) {
    if (bytes <= block->capacity) return true;
    block->base = block->end = 0;
    return resize(block, bytes + bytes / 4);
}

/* ------------------------------------------------------------------------
 * Failures
 * ------------------------------------------------------------------------ */

/* Take note of trouble with record i of the block; what lies before it stays. */
__attribute__((format(printf, 4, 5))) static void
record_failure(stream_framer *f, stream_block *block, size_t i, const char *format, ...) {
    const char *file = f->files[f->at.file];
    uint64_t record = f->at.record + i + 1;
    uint64_t offset = f->at.offset + (block->ends[i] - block->base);
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    stream__fail(&f->failure, 0, "record %llu of " STREAM_NAME_FORMAT " (at byte %llu) %s",
                 (unsigned long long)record, stream__label(file), (unsigned long long)offset, what);
    f->failure.record = record;
    f->failure.offset = offset;
    snprintf(f->failure.file, sizeof f->failure.file, "%s", file);
    f->pending_failure = true;
    block->count = i;
}

static void too_long(stream_framer *f, stream_block *block, size_t i) {
    char limit[32];
    record_failure(f, block, i, "is longer than %s",
                   weir_print_size(limit, f->options->max_record));
    stream__because(&f->failure,
                    f->options->format == STREAM_CSV ? STREAM_CAUSE_LONG_CSV : STREAM_CAUSE_LONG);
}

/* ------------------------------------------------------------------------
 * Cutting
 * ------------------------------------------------------------------------ */

static bool has_terminator(stream_format format) { return format <= STREAM_CLF; }

static bool is_table(stream_format format) { return format == STREAM_CSV || format == STREAM_TSV; }

/* Length of record i without what ends it. */
static uint32_t content_length(const stream_framer *f, const stream_block *block, size_t i) {
    const unsigned char *start = block->memory + block->ends[i];
    uint32_t length = block->ends[i + 1] - block->ends[i] - 1;
    if (is_table(f->options->format) && length && start[length - 1] == '\r') length--;
    return length;
}

/* Lines and rows: mind the ones that are too long, whole or not yet. */
static void check_lengths(stream_framer *f, stream_block *block, size_t from) {
    uint64_t most = f->options->max_record;
    if (block->end - block->base <= most) return;
    for (size_t i = from; i < block->count; i++) {
        if (content_length(f, block, i) > most) {
            too_long(f, block, i);
            return;
        }
    }
    if (block->scanned - block->ends[block->count] > most + 1) /* one may be a CR */
        too_long(f, block, block->count);
}

static void cut_fixed(stream_framer *f, stream_block *block) {
    uint32_t size = f->options->record_size;
    while (block->end - block->scanned >= size && block->count < f->max_records) {
        block->scanned += size;
        block->ends[++block->count] = block->scanned;
    }
}

static void cut_len32(stream_framer *f, stream_block *block) {
    while (block->end - block->scanned >= 4 && block->count < f->max_records) {
        const unsigned char *p = block->memory + block->scanned;
        uint32_t length = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        if (length > f->options->max_record) {
            too_long(f, block, block->count);
            return;
        }
        if (block->end - block->scanned - 4 < length) return;
        block->scanned += 4 + length;
        block->ends[++block->count] = block->scanned;
    }
}

/* Find the records in what has not been looked at yet. */
static void cut(stream_framer *f, stream_block *block) {
    size_t before = block->count, room = f->max_records - block->count;
    uint32_t *ends = block->ends + 1 + block->count;
    switch (f->options->format) {
    case STREAM_FIXED:
        cut_fixed(f, block);
        return;
    case STREAM_LEN32:
        cut_len32(f, block);
        return;
    case STREAM_CSV:
        block->count += f->scanner->csv(block->memory, &block->scanned, block->end,
                                        f->plan->separator, &f->csv, ends, room);
        break;
    default:
        block->count += f->scanner->lines(block->memory, &block->scanned, block->end,
                                          (unsigned char)f->options->terminator, ends, room);
    }
    check_lengths(f, block, before);
}

/* Is there no room for the ends of another 64 bytes? */
static bool is_crowded(const stream_framer *f, const stream_block *block) {
    return f->max_records - block->count < (has_terminator(f->options->format) ? 64 : 1);
}

/* The file has ended: what is left is a record without terminator, or half a one. */
static void cut_last(stream_framer *f, stream_block *block) {
    uint32_t left = block->end - block->ends[block->count];
    if (left == 0) return;
    if (f->options->hold_last && stream__source_is_regular(f->source)) {
        if (!block->count) atomic_fetch_add_explicit(&f->held, left, memory_order_relaxed);
        return;
    }
    if (!has_terminator(f->options->format)) {
        record_failure(f, block, block->count, "is cut short: the file ends after %u of its bytes",
                       (unsigned)left);
        return;
    }
    if (left > f->options->max_record) {
        too_long(f, block, block->count);
        return;
    }
    block->ends[++block->count] = block->end;
    block->batch.open_end = true;
    block->open_quote = f->options->format == STREAM_CSV && f->csv == CSV_QUOTED;
}

/* ------------------------------------------------------------------------
 * The first bytes of a file
 * ------------------------------------------------------------------------ */

typedef enum { MARK_NO, MARK_MAYBE, MARK_YES } mark_kind;

/* Is there a byte order mark? Maybe: what there is of it fits, and more may come. */
static mark_kind begins_with_mark(const unsigned char *p, size_t length, bool at_end) {
    size_t n = length < 3 ? length : 3;
    if (memcmp(p, STREAM_BYTE_ORDER_MARK, n) != 0) return MARK_NO;
    return n == 3 ? MARK_YES : at_end ? MARK_NO : MARK_MAYBE;
}

/* Do paths lead to fields of objects? */
static bool by_name(const key_plan *plan) {
    return plan->part_count && plan->paths[0].count && plan->paths[0].steps[0].name;
}

/* Look at the first bytes of a file: take a byte order mark off, find out whether it is one JSON
 * array. False: more bytes are needed. */
static bool look_at_beginning(stream_framer *f, stream_block *block) {
    assert(f->beginning && block->end > block->base);
    unsigned char *p = block->memory + block->base;
    size_t length = block->end - block->base;
    mark_kind mark = begins_with_mark(p, length, f->at_eof);
    if (mark == MARK_MAYBE) return false;
    size_t skip = mark == MARK_YES ? 3 : 0;
    if (f->options->format == STREAM_JSON && f->options->terminator == '\n')
        f->array = stream__array_kind(p + skip, length - skip, by_name(f->plan), f->at_eof);
    if (f->array == ARRAY_UNKNOWN) return false;
    f->beginning = false;
    block->base += (uint32_t)skip;
    block->scanned = block->ends[0] = block->base;
    f->at.offset += skip;
    f->marked = skip && f->at.file == 0;
    if (f->array == ARRAY_YES)
        block->end =
            block->base + (uint32_t)stream__array_lines(&f->elements, p + skip, length - skip);
    return true;
}

/* ------------------------------------------------------------------------
 * Headers
 * ------------------------------------------------------------------------ */

static stream_status keep_first_header(stream_framer *f, const unsigned char *row, size_t length,
                                       const char *file, stream_error *err) {
    f->first_header = malloc(length + STREAM_PAD);
    if (!f->first_header) return stream__no_memory(err);
    memset(f->first_header, 0, length + STREAM_PAD);
    if (length) memcpy(f->first_header, row, length);
    f->first_header_length = length;
    return stream__plan_header(f->plan, f->first_header, length, file, err);
}

/* The first record of a file is its header: the first one stays as record 0, others must
 * equal it and go. */
static void take_header(stream_framer *f, stream_block *block) {
    assert(f->header_next && block->count);
    const char *file = f->files[f->at.file];
    const unsigned char *row = block->memory + block->base;
    uint32_t length = block->batch.open_end && block->count == 1 ? block->ends[1] - block->base
                                                                 : content_length(f, block, 0);
    f->header_next = false;
    if (!f->first_header) {
        block->header = true;
        if (keep_first_header(f, row, length, file, &f->failure) != STREAM_OK) {
            f->pending_failure = true;
            block->count = 0;
        }
        return;
    }
    if (length != f->first_header_length || memcmp(row, f->first_header, length) != 0) {
        record_failure(f, block, 0,
                       "is another header than that of the first file: "
                       "give files with the same columns in the same order");
        return;
    }
    uint32_t size = block->ends[1] - block->base;
    f->at.offset += size;
    f->at.record++;
    block->base += size;
    block->count--;
    memmove(block->ends, block->ends + 1, (block->count + 1) * sizeof *block->ends);
    if (block->count == 0) block->batch.open_end = block->open_quote = false;
}

/* Read only the header of a file, for a run that begins in the middle of things. */
static stream_status read_header(stream_framer *f, const char *file, stream_error *err) {
    stream_source *source;
    if (stream__source_open(&source, file, f->options->plain, f->control, err))
        return STREAM_FAILED;
    stream_buffer text = {0};
    csv_state state = CSV_FIELD_START;
    uint32_t pos = 0, ends[64];
    size_t found = 0, mark = 0;
    stream_status status = STREAM_OK;
    while (!found) {
        size_t got = 0;
        if (text.length > f->options->max_record + PAGE ||
            !stream__buffer_reserve(&text, PAGE + STREAM_PAD)) {
            status = stream__fail(err, 0, "the header of " STREAM_NAME_FORMAT " is too long", file);
            break;
        }
        source_status s =
            stream__source_read(source, text.bytes + text.length, PAGE, -1, &got, err);
        if (s == SOURCE_EOF) break;
        if (s != SOURCE_DATA) {
            status = STREAM_FAILED;
            break;
        }
        text.length += got;
        uint32_t end = (uint32_t)text.length;
        if (pos == 0 && begins_with_mark(text.bytes, end, false) == MARK_MAYBE) continue;
        if (pos == 0 && begins_with_mark(text.bytes, end, false) == MARK_YES) pos = mark = 3;
        found = f->options->format == STREAM_CSV
                    ? f->scanner->csv(text.bytes, &pos, end, f->plan->separator, &state, ends, 64)
                    : f->scanner->lines(text.bytes, &pos, end, '\n', ends, 64);
    }
    if (status == STREAM_OK && text.length) {
        size_t length = found ? ends[0] - 1 : text.length;
        if (found && length && text.bytes[length - 1] == '\r') length--;
        status = keep_first_header(f, text.bytes + mark, length - mark, file, err);
    }
    stream__buffer_release(&text);
    stream__source_close(source);
    return status;
}

/* ------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------ */

/* Is the file one JSON array? Read as much of its beginning as it takes. */
static stream_status find_array(stream_framer *f, const char *name, stream_error *err) {
    unsigned char bytes[PAGE];
    size_t length = 0, got = 0;
    stream_source *source;
    source_status status = SOURCE_DATA;
    if (stream__source_open(&source, name, f->options->plain, f->control, err))
        return STREAM_FAILED;
    f->array = ARRAY_UNKNOWN;
    while (f->array == ARRAY_UNKNOWN && length < sizeof bytes) {
        status = stream__source_read(source, bytes + length, sizeof bytes - length, -1, &got, err);
        if (status != SOURCE_DATA) break;
        length += got;
        size_t skip = begins_with_mark(bytes, length, false) == MARK_YES ? 3 : 0;
        f->array = stream__array_kind(bytes + skip, length - skip, by_name(f->plan), false);
    }
    stream__source_close(source);
    return status == SOURCE_FAILED ? STREAM_FAILED : STREAM_OK;
}

/* Go to a place among the lines that are made of an array: make them again. */
static source_status skip_lines(stream_framer *f, uint64_t offset, stream_error *err) {
    unsigned char bytes[PAGE];
    bool first = true;
    for (uint64_t done = 0; done < offset;) {
        size_t got = 0;
        size_t room = offset - done < sizeof bytes ? offset - done : sizeof bytes;
        source_status status = stream__source_read(f->source, bytes, room, -1, &got, err);
        if (status != SOURCE_DATA) return status;
        size_t skip = first && begins_with_mark(bytes, got, false) == MARK_YES ? 3 : 0;
        done += skip + stream__array_lines(&f->elements, bytes + skip, got - skip);
        first = false;
    }
    return SOURCE_DATA;
}

static stream_status open_file(stream_framer *f) {
    const char *name = f->files[f->at.file];
    stream_error *err = &f->failure;
    f->array = ARRAY_NO;
    f->elements = (array_state){0};
    bool text = f->options->format != STREAM_LINES && has_terminator(f->options->format);
    if (f->at.offset && f->options->format == STREAM_JSON && f->options->terminator == '\n' &&
        find_array(f, name, err))
        return STREAM_FAILED;
    if (stream__source_open(&f->source, name, f->options->plain, f->control, err))
        return STREAM_FAILED;
    f->at_eof = false;
    f->header_next = f->options->header && f->at.offset == 0;
    f->beginning = text && f->at.offset == 0;
    f->csv = CSV_FIELD_START;
    f->crlf = false;
    if (f->at.offset == 0) return STREAM_OK;
    switch (f->array == ARRAY_YES ? skip_lines(f, f->at.offset, err)
                                  : stream__source_skip(f->source, f->at.offset, err)) {
    case SOURCE_DATA:
        return STREAM_OK;
    case SOURCE_EOF:
        return stream__fail(err, 0,
                            "cannot resume in " STREAM_NAME_FORMAT
                            ": it is shorter than the %llu bytes "
                            "already done",
                            name, (unsigned long long)f->at.offset);
    default:
        return STREAM_FAILED;
    }
}

/* Go to where a file begins, or the next one that is not left out. */
static void go_to_file(stream_framer *f, uint64_t file) {
    const stream_start *starts = f->options->starts;
    while (starts && file < f->file_count && starts[file].leave_out) file++;
    f->at = (stream_position){.file = file};
    if (!starts || file >= f->file_count) return;
    f->at.offset = starts[file].offset;
    f->at.record = starts[file].record;
}

static void close_file(stream_framer *f) {
    assert(f->at.file < f->file_count);
    stream__source_close(f->source);
    f->source = NULL;
    go_to_file(f, f->at.file + 1);
}

/* ------------------------------------------------------------------------
 * Filling
 * ------------------------------------------------------------------------ */

/* Start a block with what the last one left over. */
static bool begin(stream_framer *f, stream_block *block) {
    size_t page = f->block_size >= PAGE ? PAGE : 1;
    size_t head = (f->carry_length + page - 1) / page * page;
    size_t most = f->aim - f->aim / 4;
    size_t room = f->aim - (f->carry_length < most ? f->carry_length : most);
    room = room > page ? room / page * page : room;
    block->base = block->end = 0;
    size_t usual = usual_capacity(f->block_size);
    if ((block->capacity > usual || head + room > usual) &&
        !resize(block, head + room > usual ? head + room : usual))
        return false;
    block->base = (uint32_t)(head - f->carry_length);
    if (f->carry_length) memcpy(block->memory + block->base, f->carry, f->carry_length);
    block->scanned = block->base + (uint32_t)f->carry_scanned;
    block->end = (uint32_t)head;
    block->limit = (uint32_t)(head + room);
    assert(block->end <= block->limit && block->limit <= block->capacity);
    block->ends[0] = block->base;
    block->count = 0;
    block->header = block->open_quote = false;
    memset(&block->batch, 0, sizeof block->batch);
    f->carry_length = f->carry_scanned = 0;
    return true;
}

/* Make room for another read after a record that has not ended yet. */
static bool grow(stream_framer *f, stream_block *block) {
    assert(block->count == 0); /* one record fills the block */
    size_t limit = (size_t)block->limit + f->block_size;
    if (limit > block->capacity && !resize(block, 2 * limit)) return false;
    block->limit = (uint32_t)limit;
    return true;
}

static bool keep_carry(stream_framer *f, const stream_block *block) {
    uint32_t from = block->ends[block->count];
    assert(from <= block->scanned && block->scanned <= block->end);
    size_t length = block->end - from;
    if (length > f->carry_capacity) {
        unsigned char *carry = realloc(f->carry, length + f->block_size);
        if (!carry) return false;
        f->carry = carry;
        f->carry_capacity = length + f->block_size;
    }
    if (length) memcpy(f->carry, block->memory + from, length);
    f->carry_length = length;
    f->carry_scanned = block->scanned - from;
    return true;
}

static void describe(stream_framer *f, stream_block *block) {
    stream_batch *b = &block->batch;
    const stream_options *o = f->options;
    uint32_t last = block->ends[block->count];
    assert(block->count && last <= block->end && f->at.file < f->file_count);
    bool ended = !b->open_end || block->count > 1;
    if (is_table(o->format) && ended) {
        uint32_t end = b->open_end ? block->ends[block->count - 1] : last;
        f->crlf = end - block->base >= 2 && block->memory[end - 2] == '\r';
    }
    b->count = block->count;
    b->base = block->memory;
    b->offsets = block->ends;
    b->format = o->format;
    if (has_terminator(o->format)) {
        bool crlf = is_table(o->format) && f->crlf;
        b->terminator_length = (uint8_t)(1 + crlf);
        memcpy(b->terminator, crlf ? "\r\n" : "\n", 2);
        if (!is_table(o->format)) b->terminator[0] = o->terminator;
    }
    b->separator = (char)f->plan->separator;
    b->byte_order_mark = f->marked;
    f->marked = false;
    b->file = f->files[f->at.file];
    b->first_record = f->at.record + 1;
    b->first_offset = f->at.offset;
    f->at.offset += last - block->base;
    f->at.record += block->count;
    b->after = f->at;
}

/* What is left over is copied, so where records are so short that a block is full of them
 * before it is full of bytes, read not much more than they take. */
static void aim(stream_framer *f, const stream_block *block) {
    size_t used = block->ends[block->count] - block->base;
    f->aim = f->block_size;
    if (is_crowded(f, block) && used + used / 8 < f->aim) f->aim = used + used / 8;
}

static stream_status finish(stream_framer *f, stream_block *block) {
    f->filling = false;
    aim(f, block);
    if (!keep_carry(f, block)) {
        stream__no_memory(&f->failure);
        return STREAM_FAILED;
    }
    describe(f, block);
    return STREAM_BATCH;
}

/* One step of filling: STREAM_OK to go on, or the outcome. */
static stream_status step(stream_framer *f, stream_block *block, int timeout_ms) {
    if (!f->source) {
        if (f->at.file == f->file_count) return STREAM_END;
        if (open_file(f) != STREAM_OK) return STREAM_FAILED;
    }
    bool looked = !f->beginning || (block->end > block->base && look_at_beginning(f, block));
    if (looked) cut(f, block);
    bool complete = f->at_eof && block->scanned == block->end && !f->pending_failure;
    if (!has_terminator(f->options->format)) /* its scan stops before half a record */
        complete = f->at_eof && !f->pending_failure && !is_crowded(f, block);
    if (complete && !is_crowded(f, block)) cut_last(f, block);
    if (complete && f->array == ARRAY_YES && !f->elements.closed && !f->pending_failure)
        record_failure(f, block, block->count,
                       "is not there: the file ends before its array is closed");
    if (f->header_next && block->count && !f->pending_failure) take_header(f, block);
    if (f->pending_failure) return block->count ? STREAM_BATCH : STREAM_FAILED;
    if (is_crowded(f, block)) return STREAM_BATCH;
    if (complete) {
        if (block->count) return STREAM_BATCH;
        close_file(f);
        block->scanned = block->base = block->end = block->ends[0] = 0;
        block->limit = (uint32_t)f->block_size;
        return STREAM_OK;
    }
    if (block->end >= block->limit) {
        if (block->count) return STREAM_BATCH;
        if (!grow(f, block)) {
            stream__no_memory(&f->failure);
            return STREAM_FAILED;
        }
    }
    size_t got = 0, room = block->limit - block->end;
    switch (stream__source_read(f->source, block->memory + block->end, room,
                                block->count ? 0 : timeout_ms, &got, &f->failure)) {
    case SOURCE_DATA:
        if (f->array == ARRAY_YES)
            got = stream__array_lines(&f->elements, block->memory + block->end, got);
        block->end += (uint32_t)got;
        return STREAM_OK;
    case SOURCE_EOF:
        f->at_eof = true;
        return STREAM_OK;
    case SOURCE_AGAIN:
        return block->count ? STREAM_BATCH : STREAM_IDLE;
    case SOURCE_INTERRUPTED:
        return block->count ? STREAM_BATCH : STREAM_INTERRUPTED;
    default:
        f->pending_failure = true;
        return block->count ? STREAM_BATCH : STREAM_FAILED;
    }
}

stream_status stream__frame(stream_framer *f, stream_block *block, int timeout_ms) {
    if (f->pending_failure) return STREAM_FAILED;
    if (!f->filling && !begin(f, block)) {
        stream__no_memory(&f->failure);
        return STREAM_FAILED;
    }
    f->filling = true;
    stream_status status;
    do {
        status = step(f, block, timeout_ms);
    } while (status == STREAM_OK);
    return status == STREAM_BATCH ? finish(f, block) : status;
}

/* ------------------------------------------------------------------------
 * Beginning and end
 * ------------------------------------------------------------------------ */

/* Has something of a file been read before? */
static bool was_begun(const stream_framer *f, size_t file) {
    const stream_options *o = f->options;
    if (o->starts) return o->starts[file].offset > 0;
    return file < o->start.file || (file == o->start.file && o->start.offset > 0);
}

/* A run that begins in the middle has the header of the first file that was begun. */
static stream_status find_header(stream_framer *f, stream_error *err) {
    for (size_t i = 0; i < f->file_count && !f->first_header; i++)
        if (was_begun(f, i) && read_header(f, f->files[i], err) != STREAM_OK) return STREAM_FAILED;
    return STREAM_OK;
}

stream_status stream__framer_init(stream_framer *f, const stream_options *options, key_plan *plan,
                                  const char *const *files, size_t file_count,
                                  source_control *control, size_t block_size, size_t max_records,
                                  stream_error *err) {
    memset(f, 0, sizeof *f);
    f->options = options;
    f->plan = plan;
    f->scanner = stream__active_scanner();
    f->files = files;
    f->file_count = file_count;
    f->control = control;
    f->block_size = f->aim = block_size;
    f->max_records = max_records;
    f->at = options->start;
    if (options->starts) go_to_file(f, 0);
    if (f->at.file > file_count)
        return stream__fail(err, 0,
                            "cannot resume in file %llu of %zu: give the files of the first run",
                            (unsigned long long)f->at.file + 1, file_count);
    for (size_t i = 0; i < file_count; i++)
        if (was_begun(f, i) && !strcmp(files[i], "-"))
            return stream__fail(err, 0, "cannot resume from standard input: give a file");
    return options->header ? find_header(f, err) : STREAM_OK;
}

void stream__framer_release(stream_framer *f) {
    stream__source_close(f->source);
    free(f->carry);
    free(f->first_header);
    f->source = NULL;
    f->carry = f->first_header = NULL;
}
