/* write.c - a snapshot onto the disk, whole or not at all.
 *
 * The file is written without a name (O_TMPFILE) where the file system can,
 * else under a name beside it; flushed; and then renamed over the old one. A
 * crash before the rename leaves the old file; what it leaves beside it, if anything, is
 * removed by the next save. A save holds a lock on its file, which ends with the process.
 * Cells go from the object's memory straight to the sink: no copy. A file is one sink, a
 * function of the caller another. Stretches of
 * zeros are written as their length, so a filter that is mostly empty makes a
 * small file.
 */
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/bytes.h"
#include "core/hash.h"
#include "snapshot/snapshot.h"

typedef struct {
    weir__sink sink;
    uint64_t chain; /* checksum of the last block */
    weir_error *err;
} block_writer;

static weir_status io_failure(const char *what, const char *path, weir_error *err) {
    return weir__fail(err, WEIR_ERR_IO, -1, "cannot %s '%.200s': %s", what, path, strerror(errno));
}

static weir_status write_all(block_writer *w, const void *bytes, size_t length) {
    if (!length || w->sink.write(w->sink.context, bytes, length)) return WEIR_OK;
    if (w->sink.path) return io_failure("write", w->sink.path, w->err);
    return weir__fail(w->err, WEIR_ERR_IO, -1, "the function given for writing has failed");
}

static weir_status write_block(block_writer *w, weir__block_kind kind, const void *bytes,
                               uint32_t length) {
    uint8_t head[WEIR__BLOCK_HEAD];
    w->chain = weir__checksum(bytes, length, weir__block_seed(w->chain, kind, length));
    weir__put64(weir__put32(weir__put32(head, kind), length), w->chain);
    weir_status status = write_all(w, head, sizeof head);
    return status == WEIR_OK ? write_all(w, bytes, length) : status;
}

static bool all_zero(const uint8_t *bytes, size_t length) {
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

static weir_status write_zeros(block_writer *w, uint64_t *run) {
    uint8_t body[8];
    if (*run == 0) return WEIR_OK;
    weir__put64(body, *run);
    *run = 0;
    return write_block(w, WEIR__BLOCK_ZEROS, body, sizeof body);
}

/* The cells of an object. Where some of what belongs into them is kept elsewhere, a block is
 * copied and packed; else it is written from where it stands. */
typedef struct {
    const weir__family *family;
    const void *object;
    const uint8_t *cells;
    uint64_t length;
    uint8_t *copy; /* of a block; NULL: nothing to pack */
} cell_source;

static const uint8_t *cells_at(const cell_source *from, uint64_t at, uint32_t step) {
    if (!from->copy) return from->cells + at;
    memcpy(from->copy, from->cells + at, step);
    from->family->pack(from->object, at, from->copy, step);
    return from->copy;
}

static weir_status write_blocks(block_writer *w, const cell_source *from) {
    weir_status status = WEIR_OK;
    uint64_t zeros = 0;
    for (uint64_t at = 0; at < from->length && status == WEIR_OK;) {
        uint64_t left = from->length - at;
        uint32_t step = left < WEIR__BLOCK_MOST ? (uint32_t)left : WEIR__BLOCK_MOST;
        const uint8_t *cells = cells_at(from, at, step);
        if (all_zero(cells, step)) {
            zeros += step;
        } else {
            status = write_zeros(w, &zeros);
            if (status == WEIR_OK) status = write_block(w, WEIR__BLOCK_CELLS, cells, step);
        }
        at += step;
    }
    assert(status != WEIR_OK || zeros <= from->length);
    return status == WEIR_OK ? write_zeros(w, &zeros) : status;
}

static weir_status write_cells(block_writer *w, const weir__family *family, const void *object,
                               const weir__image *image) {
    cell_source from = {family, object, image->cells, image->cells_bytes, NULL};
    if (family->packs && family->packs(object)) {
        from.copy = malloc(WEIR__BLOCK_MOST);
        if (!from.copy) return weir__fail(w->err, WEIR_ERR_MEMORY, -1, "out of memory");
    }
    weir_status status = write_blocks(w, &from);
    free(from.copy);
    return status;
}

static weir_status write_object(block_writer *w, const weir__family *family, const void *object) {
    weir__image image;
    family->image(object, &image);
    size_t spec_length = family->spec(object, NULL, 0);
    size_t length = 4 + spec_length + 8 * 3 + 4 + image.word_count * 8 + 8;
    uint8_t *body = malloc(length + 1);
    if (!body) return weir__fail(w->err, WEIR_ERR_MEMORY, -1, "out of memory");
    uint8_t *at = weir__put32(body, (uint32_t)spec_length);
    family->spec(object, (char *)at, spec_length + 1);
    at = weir__put64(at + spec_length, image.probe);
    for (size_t i = 0; i < 2; i++) at = weir__put64(at, *image.totals[i]);
    at = weir__put32(at, (uint32_t)image.word_count);
    for (size_t i = 0; i < image.word_count; i++) at = weir__put64(at, image.words[i]);
    assert(at + 8 == body + length);
    weir__put64(at, image.cells_bytes);
    weir_status status = write_block(w, WEIR__BLOCK_BYTES, body, (uint32_t)length);
    free(body);
    return status == WEIR_OK ? write_cells(w, family, object, &image) : status;
}

static weir_status write_audit(block_writer *w, const weir_audit *audit) {
    size_t length = weir__audit_saved_size(audit);
    if (length > WEIR__NOTE_MOST)
        return weir__fail(w->err, WEIR_ERR_RANGE, -1, "the audit is too large to save");
    uint8_t *body = malloc(length);
    if (!body) return weir__fail(w->err, WEIR_ERR_MEMORY, -1, "out of memory");
    weir__audit_save(audit, body);
    weir_status status = write_block(w, WEIR__BLOCK_BYTES, body, (uint32_t)length);
    free(body);
    return status;
}

/* The object of a part; NULL: the part was read and its object taken out. */
static const void *content_of(const weir__part_entry *part) {
    if (part->borrowed) return part->borrowed;
    if (part->family) return part->object;
    return part->kind == WEIR__PART_AUDIT ? (const void *)part->audit : part->note;
}

static weir_status write_part(block_writer *w, const weir__part_entry *part) {
    const void *content = content_of(part);
    if (!content) return WEIR_OK;
    uint8_t head[4 + WEIR__NAME_MOST + 1] = {0};
    strcpy((char *)weir__put32(head, part->kind), part->name);
    weir_status status = write_block(w, WEIR__BLOCK_PART, head, sizeof head);
    if (status != WEIR_OK) return status;
    if (part->family) return write_object(w, part->family, content);
    if (part->kind == WEIR__PART_AUDIT) return write_audit(w, content);
    return write_block(w, WEIR__BLOCK_BYTES, part->note, (uint32_t)part->note_length);
}

static weir_status write_parts(block_writer *w, const weir_snapshot *snapshot) {
    uint8_t head[WEIR__SNAPSHOT_HEAD] = {0};
    memcpy(head, WEIR__SNAPSHOT_MARK, 8);
    weir__put32(head + 8, WEIR__SNAPSHOT_VERSION);
    weir_status status = write_all(w, head, sizeof head);
    for (size_t i = 0; i < snapshot->count && status == WEIR_OK; i++)
        status = write_part(w, &snapshot->parts[i]);
    return status == WEIR_OK ? write_block(w, WEIR__BLOCK_END, NULL, 0) : status;
}

weir_status weir_snapshot_write_to(const weir_snapshot *snapshot, weir_write_fn *write,
                                   void *context, weir_error *err) {
    block_writer writer = {.sink = {write, context, NULL}, .err = err};
    return write_parts(&writer, snapshot);
}

/* ---- the file under way ---- */

typedef struct {
    char target[PATH_MAX];      /* links resolved, so that a rename keeps them */
    char folder[PATH_MAX];      /* that it stands in */
    char beside[PATH_MAX + 24]; /* its name until the rename */
    bool named;                 /* `beside` exists */
    bool replaces;              /* there is a file, whose mode is kept */
    mode_t mode;                /* that it has */
    int fd;
} pending_file;

static bool write_fd(void *context, const void *bytes, size_t length) {
    const uint8_t *at = bytes;
    while (length) {
        ssize_t n = write(*(const int *)context, at, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* NAME.PID.new */
static bool is_left(const char *entry, const char *name) {
    size_t length = strlen(name), digits = 0;
    if (strncmp(entry, name, length) != 0 || entry[length] != '.') return false;
    entry += length + 1;
    while (isdigit((unsigned char)entry[digits])) digits++;
    return digits && !strcmp(entry + digits, ".new");
}

/* Remove temporary files beside this target that no process has locked: their saves were killed. */
static void remove_left(pending_file *f) {
    const char *slash = strrchr(f->target, '/'), *name = slash ? slash + 1 : f->target;
    DIR *entries = opendir(f->folder);
    for (struct dirent *e; entries && (e = readdir(entries));) {
        if (!is_left(e->d_name, name)) continue;
        int fd = openat(dirfd(entries), e->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) unlinkat(dirfd(entries), e->d_name, 0);
        close(fd);
    }
    if (entries) closedir(entries);
}

static weir_status begin_file(pending_file *f, const char *path, weir_error *err) {
    if (strlen(path) >= PATH_MAX - 32) {
        errno = ENAMETOOLONG;
        return io_failure("write", path, err);
    }
    if (!realpath(path, f->target)) {
        if (errno != ENOENT) return io_failure("write", path, err);
        strcpy(f->target, path);
    }
    struct stat st;
    f->replaces = stat(f->target, &st) == 0;
    f->mode = f->replaces ? st.st_mode & 0777 : 0;
    if (f->replaces && !S_ISREG(st.st_mode))
        return weir__fail(err, WEIR_ERR_IO, -1, "cannot write '%.200s': it is not a regular file",
                          path);
    char copy[PATH_MAX];
    strcpy(copy, f->target);
    strcpy(f->folder, dirname(copy));
    snprintf(f->beside, sizeof f->beside, "%s.%ld.new", f->target, (long)getpid());
    f->named = false;
    remove_left(f);
    mode_t open_with = f->replaces ? 0600 : 0666; /* the system takes the umask off */
    f->fd = open(f->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, open_with);
    if (f->fd < 0) {
        f->fd = open(f->beside, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, open_with);
        f->named = f->fd >= 0;
    }
    if (f->fd < 0) return io_failure("write", path, err);
    flock(f->fd, LOCK_EX | LOCK_NB);
    return WEIR_OK;
}

static void flush_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

static weir_status publish_file(pending_file *f, const char *path, weir_error *err) {
    char self[64];
    if (f->replaces) fchmod(f->fd, f->mode);
    if (!f->named) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
        unlink(f->beside);
        if (linkat(AT_FDCWD, self, AT_FDCWD, f->beside, AT_SYMLINK_FOLLOW) != 0)
            return io_failure("write", path, err);
        f->named = true;
    }
    if (rename(f->beside, f->target) != 0) return io_failure("write", path, err);
    f->named = false;
    flush_folder(f->folder);
    return WEIR_OK;
}

weir_status weir_snapshot_write(const weir_snapshot *snapshot, const char *path, weir_error *err) {
    pending_file file = {.fd = -1};
    weir_status status = begin_file(&file, path, err);
    if (status != WEIR_OK) return status;
    block_writer writer = {.sink = {write_fd, &file.fd, path}, .err = err};
    status = write_parts(&writer, snapshot);
    if (status == WEIR_OK && fsync(file.fd) != 0) status = io_failure("flush", path, err);
    if (status == WEIR_OK) status = publish_file(&file, path, err);
    close(file.fd);
    if (file.named) unlink(file.beside);
    return status;
}
