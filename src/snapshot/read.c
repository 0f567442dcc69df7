/* read.c - a snapshot from the disk, all of it checked or none of it given.
 *
 * Nothing is believed before its checksum fits: a length is bounded before
 * memory is taken for it, an object is made from its spec by the same parser
 * that reads a user's, its cells must fill exactly what that spec asks for, and
 * its own check() has the last word. Messages name the byte at which
 * the file stops making sense.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "core/options.h"
#include "snapshot/snapshot.h"

typedef struct {
    weir__block_kind kind;
    uint32_t length;
    uint64_t checksum;
} block_head;

typedef struct {
    weir__source source;
    uint64_t chain;
    uint64_t at;      /* bytes read */
    block_head block; /* the head last read; its bytes come next */
    weir_error *err;
} block_reader;

static weir_status corrupt(block_reader *r, const char *what) {
    return weir__fail(r->err, WEIR_ERR_CORRUPT, (int64_t)r->at,
                      "'%.200s' is damaged at byte %llu: %s", r->source.name,
                      (unsigned long long)r->at, what);
}

/* At most that many bytes; 0 at the end, -1 after a failure. */
static int64_t pull(const block_reader *r, void *bytes, size_t length) {
    errno = 0;
    int64_t n = r->source.read(r->source.context, bytes, length);
    return n > (int64_t)length ? -1 : n;
}

static weir_status cannot_read(const block_reader *r) {
    return weir__fail(r->err, WEIR_ERR_IO, (int64_t)r->at, "cannot read '%.200s': %s",
                      r->source.name, errno ? strerror(errno) : "the function given has failed");
}

/* Read exactly that many bytes. */
static weir_status read_all(block_reader *r, void *bytes, size_t length) {
    uint8_t *to = bytes;
    while (length) {
        int64_t n = pull(r, to, length);
        if (n < 0) return cannot_read(r);
        if (n == 0) return corrupt(r, "it ends too early");
        to += n;
        length -= (size_t)n;
        r->at += (uint64_t)n;
    }
    return WEIR_OK;
}

static weir_status next_head(block_reader *r) {
    uint8_t head[WEIR__BLOCK_HEAD];
    weir_status status = read_all(r, head, sizeof head);
    if (status != WEIR_OK) return status;
    weir__reader fields = {head, head + sizeof head, false};
    r->block.kind = (weir__block_kind)weir__take32(&fields);
    r->block.length = weir__take32(&fields);
    r->block.checksum = weir__take64(&fields);
    return WEIR_OK;
}

/* The bytes of the block whose head was read are these: do they fit its checksum? */
static weir_status check_body(block_reader *r, const void *bytes) {
    uint64_t seed = weir__block_seed(r->chain, r->block.kind, r->block.length);
    r->chain = weir__checksum(bytes, r->block.length, seed);
    return r->chain == r->block.checksum ? WEIR_OK : corrupt(r, "a checksum does not fit");
}

static weir_status read_body(block_reader *r, void *bytes) {
    weir_status status = read_all(r, bytes, r->block.length);
    return status == WEIR_OK ? check_body(r, bytes) : status;
}

/* The block's bytes in memory of their own, which grows as they come: a length alone, before
 * any checksum, gets a megabyte at most. */
static weir_status read_growing(block_reader *r, uint8_t **bytes) {
    size_t length = r->block.length, room = 0, have = 0;
    assert(length <= WEIR__NOTE_MOST);
    do {
        room = room ? 2 * room : WEIR__BLOCK_MOST;
        if (room > length) room = length;
        uint8_t *grown = realloc(*bytes, room ? room : 1);
        if (!grown) return weir__fail(r->err, WEIR_ERR_MEMORY, -1, "out of memory");
        *bytes = grown;
        weir_status status = read_all(r, *bytes + have, room - have);
        if (status != WEIR_OK) return status;
        have = room;
    } while (have < length);
    return WEIR_OK;
}

/* Bytes that the source can still give: a length above it is damaged. */
static uint64_t bytes_left(const block_reader *r) {
    return r->source.size > r->at ? r->source.size - r->at : 0;
}

/* The next block, which must be BYTES, in memory of its own. */
static weir_status read_bytes(block_reader *r, uint8_t **bytes, size_t *length) {
    *bytes = NULL;
    weir_status status = next_head(r);
    if (status != WEIR_OK) return status;
    if (r->block.kind != WEIR__BLOCK_BYTES || r->block.length > WEIR__NOTE_MOST ||
        r->block.length > bytes_left(r))
        return corrupt(r, "a part has no fields");
    *length = r->block.length;
    status = read_growing(r, bytes);
    if (status == WEIR_OK) status = check_body(r, *bytes);
    if (status != WEIR_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}

static weir_status read_zeros(block_reader *r, uint64_t *count) {
    uint8_t body[8];
    if (r->block.length != sizeof body) return corrupt(r, "a run of zeros has no length");
    weir_status status = read_body(r, body);
    memcpy(count, body, sizeof body);
    return status;
}

/* The mapped cells are zero already, so runs of zeros are skipped over. */
static weir_status read_cells(block_reader *r, const weir__image *image) {
    assert(image->cells || !image->cells_bytes);
    uint64_t at = 0, step = 0;
    while (at < image->cells_bytes) {
        weir_status status = next_head(r);
        if (status != WEIR_OK) return status;
        uint64_t left = image->cells_bytes - at;
        if (r->block.kind == WEIR__BLOCK_ZEROS) {
            status = read_zeros(r, &step);
        } else {
            step = r->block.length;
            if (r->block.kind != WEIR__BLOCK_CELLS || step == 0 || step > left)
                return corrupt(r, "the cells do not fit the spec");
            status = read_body(r, image->cells + at);
        }
        if (status != WEIR_OK) return status;
        if (step == 0 || step > left) return corrupt(r, "the cells do not fit the spec");
        at += step;
    }
    return WEIR_OK;
}

static weir_status object_from_spec(block_reader *r, weir__reader *fields,
                                    const weir__family *family, void **out) {
    char spec[WEIR__SPEC_MAX];
    uint32_t length = weir__take32(fields);
    const uint8_t *text = weir__take(fields, length);
    if (!text || length >= sizeof spec) return corrupt(r, "the spec is missing or too long");
    memcpy(spec, text, length);
    spec[length] = 0;
    weir_error reason = {0};
    weir_status status = family->make(out, spec, &r->source.allocator, &reason);
    if (status == WEIR_OK) return WEIR_OK;
    if (status != WEIR_ERR_MEMORY) status = WEIR_ERR_CORRUPT;
    return weir__fail(r->err, status, (int64_t)r->at,
                      "'%.120s' holds a %s that cannot be made: %.200s", r->source.name,
                      family->name, reason.message);
}

/* Make room for the cells of an object whose words tell how many there are. What
 * no file of this length can hold was refused before. */
static weir_status fit_cells(block_reader *r, const weir__part_entry *part, weir__image *image) {
    weir_error reason = {0};
    if (!part->family->fit) return WEIR_OK;
    weir_status status = part->family->fit(part->object, &reason);
    if (status == WEIR_ERR_CORRUPT) return corrupt(r, reason.message);
    if (status != WEIR_OK && r->err) *r->err = reason;
    if (status == WEIR_OK) part->family->image(part->object, image);
    return status;
}

/* Copy totals, words and the size of the cells from the fields of a part into its object. */
static weir_status read_fields(block_reader *r, weir__reader *fields, const weir__part_entry *part,
                               weir__image *image) {
    uint64_t probe = weir__take64(fields);
    for (size_t i = 0; i < 2; i++) *image->totals[i] = weir__take64(fields);
    uint32_t words = weir__take32(fields);
    if (words != image->word_count) /* the checksum was right */
        return weir__fail(
            r->err, WEIR_ERR_VERSION, (int64_t)r->at,
            "'%.200s' was written by another version of weir: %u words of state, where "
            "this one keeps %u; make it again",
            r->source.name, (unsigned)words, (unsigned)image->word_count);
    for (uint32_t i = 0; i < words; i++) image->words[i] = weir__take64(fields);
    uint64_t cells = weir__take64(fields);
    if (fields->failed || fields->at != fields->end)
        return corrupt(r, "the fields have the wrong length");
    if (probe != image->probe)
        return weir__fail(r->err, WEIR_ERR_MISMATCH, (int64_t)r->at,
                          "'%.200s' was written with another hash function than this library has",
                          r->source.name);
    weir_status status = fit_cells(r, part, image);
    if (status != WEIR_OK) return status;
    if (cells != image->cells_bytes) return corrupt(r, "the cells do not fit the spec");
    return WEIR_OK;
}

static weir_status read_object(block_reader *r, weir__part_entry *part) {
    uint8_t *bytes;
    size_t length = 0;
    weir__image image;
    weir_status status = read_bytes(r, &bytes, &length);
    if (status != WEIR_OK) return status;
    weir__reader fields = {bytes, bytes + length, false};
    status = object_from_spec(r, &fields, part->family, &part->object);
    if (status == WEIR_OK) {
        part->family->image(part->object, &image);
        status = read_fields(r, &fields, part, &image);
    }
    if (status == WEIR_OK) status = read_cells(r, &image);
    if (status == WEIR_OK) status = part->family->check(part->object, r->err);
    free(bytes);
    return status; /* a half-read object is freed with the snapshot */
}

static weir_status read_audit(block_reader *r, weir__part_entry *part) {
    uint8_t *bytes;
    size_t length = 0;
    weir_status status = read_bytes(r, &bytes, &length);
    if (status == WEIR_OK) status = weir__audit_load(&part->audit, bytes, length, r->err);
    free(bytes);
    return status;
}

static weir_status read_part(block_reader *r, weir_snapshot *snapshot) {
    uint8_t head[4 + WEIR__NAME_MOST + 1];
    uint64_t start = r->at - WEIR__BLOCK_HEAD;
    if (r->block.length != sizeof head) return corrupt(r, "a part has no name");
    weir_status status = read_body(r, head);
    if (status != WEIR_OK) return status;
    if (snapshot->count == WEIR__PARTS_MOST) return corrupt(r, "it has too many parts");
    if (head[sizeof head - 1] != 0) return corrupt(r, "a part's name has no end");
    weir__part_entry *part = &snapshot->parts[snapshot->count++];
    weir__reader fields = {head, head + sizeof head, false};
    part->kind = weir__take32(&fields);
    memcpy(part->name, fields.at, sizeof part->name);
    part->family = weir__family_numbered(part->kind);
    if (part->family) status = read_object(r, part);
    else if (part->kind == WEIR__PART_AUDIT) status = read_audit(r, part);
    else if (part->kind == WEIR__PART_NOTE) status = read_bytes(r, &part->note, &part->note_length);
    else return corrupt(r, "it has a part of unknown kind");
    part->bytes = r->at - start;
    return status;
}

static weir_status read_head(block_reader *r) {
    uint8_t head[WEIR__SNAPSHOT_HEAD] = {0};
    for (int64_t n = 1; n > 0 && r->at < sizeof head;) {
        n = pull(r, head + r->at, sizeof head - r->at);
        if (n < 0) return cannot_read(r);
        r->at += (uint64_t)n;
    }
    if (r->at < 8 || memcmp(head, WEIR__SNAPSHOT_MARK, 8) != 0)
        return weir__fail(r->err, WEIR_ERR_CORRUPT, 0, "'%.200s' is not a weir snapshot",
                          r->source.name);
    if (r->at < sizeof head) return corrupt(r, "it ends too early");
    weir__reader fields = {head + 8, head + sizeof head, false};
    uint32_t version = weir__take32(&fields);
    if (version > WEIR__SNAPSHOT_VERSION)
        return weir__fail(r->err, WEIR_ERR_VERSION, 8,
                          "'%.200s' has snapshot format %u, this is weir %s which reads up to %d; "
                          "use a newer weir",
                          r->source.name, version, weir_version(), WEIR__SNAPSHOT_VERSION);
    if (version == 0 || weir__take32(&fields) != 0) return corrupt(r, "its head is not understood");
    return WEIR_OK;
}

static weir_status read_parts(block_reader *r, weir_snapshot *snapshot) {
    weir_status status = read_head(r);
    while (status == WEIR_OK) {
        status = next_head(r);
        if (status != WEIR_OK) return status;
        if (r->block.kind == WEIR__BLOCK_END) break;
        if (r->block.kind != WEIR__BLOCK_PART) return corrupt(r, "a part was expected");
        status = read_part(r, snapshot);
    }
    if (status != WEIR_OK) return status;
    uint8_t more;
    if (r->block.length != 0 || read_body(r, &more) != WEIR_OK)
        return corrupt(r, "its end is not understood");
    return pull(r, &more, 1) == 0 ? WEIR_OK : corrupt(r, "something follows its end");
}

static weir_status read_source(weir_snapshot **out, const weir__source *source, weir_error *err) {
    weir_snapshot *snapshot;
    *out = NULL;
    block_reader reader = {.source = *source, .err = err};
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status != WEIR_OK) return status;
    status = read_parts(&reader, snapshot);
    if (status != WEIR_OK) weir_snapshot_free(snapshot);
    else *out = snapshot;
    return status;
}

weir_status weir_snapshot_read_from(weir_snapshot **out, weir_read_fn *read, void *context,
                                    const weir_allocator *allocator, weir_error *err) {
    weir__source source = {
        .read = read, .context = context, .name = "snapshot", .size = UINT64_MAX};
    if (allocator) source.allocator = *allocator;
    return read_source(out, &source, err);
}

/* ---- bytes in memory ---- */

typedef struct {
    const uint8_t *at;
    size_t left;
} memory_source;

static int64_t read_memory(void *context, void *bytes, size_t length) {
    memory_source *m = context;
    size_t n = length < m->left ? length : m->left;
    if (n) memcpy(bytes, m->at, n);
    m->at += n;
    m->left -= n;
    return (int64_t)n;
}

weir_status weir_snapshot_read_bytes(weir_snapshot **out, const void *bytes, size_t length,
                                     const weir_allocator *allocator, weir_error *err) {
    memory_source memory = {bytes, length};
    weir__source source = {
        .read = read_memory, .context = &memory, .name = "snapshot", .size = length};
    if (allocator) source.allocator = *allocator;
    return read_source(out, &source, err);
}

/* ---- a file ---- */

static int64_t read_fd(void *context, void *bytes, size_t length) {
    ssize_t n;
    do n = read(*(const int *)context, bytes, length);
    while (n < 0 && errno == EINTR);
    return n;
}

weir_status weir_snapshot_read(weir_snapshot **out, const char *path, weir_error *err) {
    struct stat st;
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait at a pipe */
    if (fd < 0 || fstat(fd, &st) != 0) {
        weir__report(err, WEIR_ERR_IO, -1, "cannot open '%.200s': %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return WEIR_ERR_IO;
    }
    weir__source source = {
        .read = read_fd, .context = &fd, .name = path, .size = (uint64_t)st.st_size};
    weir_status status = S_ISREG(st.st_mode) ? read_source(out, &source, err)
                                             : weir__fail(err, WEIR_ERR_IO, -1,
                                                          "'%.200s' is not a regular file", path);
    close(fd);
    return status;
}
