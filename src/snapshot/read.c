/* read.c - a snapshot from the disk, all of it checked or none of it given.
 *
 * Nothing is believed before its checksum fits: a length is bounded before
 * memory is taken for it, an object is made from its spec by the same parser
 * that reads a user's, its cells must fill exactly what that spec asks for, and
 * its own check() has the last word. Messages name the byte at which
 * the file stops making sense.
 */
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
    int fd;
    const char *path;
    uint64_t chain;
    uint64_t at;      /* bytes read */
    block_head block; /* the head last read; its bytes come next */
    weir_error *err;
} block_reader;

static weir_status corrupt(block_reader *r, const char *what) {
    return weir__fail(r->err, WEIR_ERR_CORRUPT, (int64_t)r->at,
                      "'%.200s' is damaged at byte %llu: %s", r->path, (unsigned long long)r->at,
                      what);
}

/* Read exactly that many bytes. */
static weir_status read_all(block_reader *r, void *bytes, size_t length) {
    uint8_t *to = bytes;
    while (length) {
        ssize_t n = read(r->fd, to, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return weir__fail(r->err, WEIR_ERR_IO, (int64_t)r->at, "cannot read '%.200s': %s",
                              r->path, strerror(errno));
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

/* The bytes of the block whose head was read, checked against its checksum. */
static weir_status read_body(block_reader *r, void *bytes) {
    weir_status status = read_all(r, bytes, r->block.length);
    if (status != WEIR_OK) return status;
    uint64_t seed = weir__block_seed(r->chain, r->block.kind, r->block.length);
    r->chain = weir__checksum(bytes, r->block.length, seed);
    return r->chain == r->block.checksum ? WEIR_OK : corrupt(r, "a checksum does not fit");
}

/* Bytes left in a regular file: what no honest length can exceed. */
static uint64_t bytes_left(const block_reader *r) {
    struct stat st;
    if (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode)) return UINT64_MAX;
    return (uint64_t)st.st_size > r->at ? (uint64_t)st.st_size - r->at : 0;
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
    *bytes = malloc(*length ? *length : 1);
    if (!*bytes) return weir__fail(r->err, WEIR_ERR_MEMORY, -1, "out of memory");
    status = read_body(r, *bytes);
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
    weir_status status = family->make(out, spec, &reason);
    if (status == WEIR_OK) return WEIR_OK;
    if (status != WEIR_ERR_MEMORY) status = WEIR_ERR_CORRUPT;
    return weir__fail(r->err, status, (int64_t)r->at,
                      "'%.120s' holds a %s that cannot be made: %.200s", r->path, family->name,
                      reason.message);
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

/* What the fields say goes to where the image says. */
static weir_status read_fields(block_reader *r, weir__reader *fields, const weir__part_entry *part,
                               weir__image *image) {
    uint64_t probe = weir__take64(fields);
    for (size_t i = 0; i < 2; i++) *image->totals[i] = weir__take64(fields);
    uint32_t words = weir__take32(fields);
    if (words != image->word_count) /* the checksum was right */
        return weir__fail(
            r->err, WEIR_ERR_UNSUPPORTED, (int64_t)r->at,
            "'%.200s' was written by another version of weir: %u words of state, where "
            "this one keeps %u; make it again",
            r->path, (unsigned)words, (unsigned)image->word_count);
    for (uint32_t i = 0; i < words; i++) image->words[i] = weir__take64(fields);
    uint64_t cells = weir__take64(fields);
    if (fields->failed || fields->at != fields->end)
        return corrupt(r, "the fields have the wrong length");
    if (probe != image->probe)
        return weir__fail(r->err, WEIR_ERR_MISMATCH, (int64_t)r->at,
                          "'%.200s' was written with another hash function than this library has",
                          r->path);
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
    uint8_t head[WEIR__SNAPSHOT_HEAD];
    ssize_t n = read(r->fd, head, sizeof head);
    if (n < 0)
        return weir__fail(r->err, WEIR_ERR_IO, 0, "cannot read '%.200s': %s", r->path,
                          strerror(errno));
    if (n < 8 || memcmp(head, WEIR__SNAPSHOT_MARK, 8) != 0)
        return weir__fail(r->err, WEIR_ERR_CORRUPT, 0, "'%.200s' is not a weir snapshot", r->path);
    if (n < (ssize_t)sizeof head) return corrupt(r, "it ends too early");
    r->at = sizeof head;
    weir__reader fields = {head + 8, head + sizeof head, false};
    uint32_t version = weir__take32(&fields);
    if (version > WEIR__SNAPSHOT_VERSION)
        return weir__fail(r->err, WEIR_ERR_VERSION, 8,
                          "'%.200s' has snapshot format %u, this is weir %s which reads up to %d; "
                          "use a newer weir",
                          r->path, version, weir_version(), WEIR__SNAPSHOT_VERSION);
    if (version == 0 || weir__take32(&fields) != 0) return corrupt(r, "its head is not understood");
    return WEIR_OK;
}

static weir_status read_file(block_reader *r, weir_snapshot *snapshot) {
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
    return read(r->fd, &more, 1) == 0 ? WEIR_OK : corrupt(r, "something follows its end");
}

weir_status weir_snapshot_read(weir_snapshot **out, const char *path, weir_error *err) {
    weir_snapshot *snapshot;
    *out = NULL;
    block_reader reader = {.path = path, .err = err};
    struct stat st;
    reader.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait at a pipe */
    if (reader.fd < 0 || fstat(reader.fd, &st) != 0) {
        weir__report(err, WEIR_ERR_IO, -1, "cannot open '%.200s': %s", path, strerror(errno));
        if (reader.fd >= 0) close(reader.fd);
        return WEIR_ERR_IO;
    }
    weir_status status = weir_snapshot_new(&snapshot, err);
    if (status == WEIR_OK && !S_ISREG(st.st_mode))
        status = weir__fail(err, WEIR_ERR_IO, -1, "'%.200s' is not a regular file", path);
    if (status == WEIR_OK) status = read_file(&reader, snapshot);
    close(reader.fd);
    if (status != WEIR_OK) weir_snapshot_free(snapshot);
    else *out = snapshot;
    return status;
}
