/* snapshot.h - the blocks of a snapshot file, shared by the writer and the reader.
 *
 * A file is 16 bytes of head (mark, format version, zero) and then blocks:
 *
 *     u32 kind, u32 length, u64 checksum, then `length` bytes
 *
 * The checksum is XXH3 of the bytes, seeded with the previous block's checksum
 * plus the block's first eight bytes, so that a block that is damaged, missing,
 * moved or repeated breaks the chain at its place. docs/format.md has the
 * contents of each block.
 */
#ifndef WEIR_SNAPSHOT_SNAPSHOT_H
#define WEIR_SNAPSHOT_SNAPSHOT_H

#include "core/error.h"
#include "core/family.h"
#include "filter/audit.h"
#include "weir.h"
#include "weir_embed.h"

#define WEIR__SNAPSHOT_MARK "\x89weir\r\n\x1a" /* 8 bytes; a text transfer would break it */
#define WEIR__SNAPSHOT_VERSION 1 /* of the format that is written; the highest that is read */
#define WEIR__SNAPSHOT_HEAD 16   /* bytes before the first block: mark, version, zero */
#define WEIR__BLOCK_HEAD 16      /* bytes: kind, length, checksum */
#define WEIR__BLOCK_MOST ((uint32_t)1 << 20) /* most bytes in a block of cells */
#define WEIR__NOTE_MOST ((uint32_t)1 << 30)  /* most bytes in a note or an audit */

typedef enum {
    WEIR__BLOCK_PART = 1,  /* a part begins: u32 kind, name */
    WEIR__BLOCK_BYTES = 2, /* its fields */
    WEIR__BLOCK_CELLS = 3, /* the next cells of an object */
    WEIR__BLOCK_ZEROS = 4, /* u64: number of bytes of the cells that are zero here */
    WEIR__BLOCK_END = 5    /* nothing follows */
} weir__block_kind;

/* Kinds of parts: families have numbers of their own (core/family.h). */
enum { WEIR__PART_AUDIT = 2, WEIR__PART_NOTE = 3 };

#define WEIR__NAME_MOST 15  /* letters of the name of a part */
#define WEIR__PARTS_MOST 64 /* parts of a snapshot */

typedef struct {
    uint32_t kind;
    char name[WEIR__NAME_MOST + 1];
    uint64_t bytes;             /* in the file, block heads included */
    const weir__family *family; /* of an object; NULL for the others */
    const void *borrowed;       /* object or audit to be written */
    void *object;               /* read, until it is taken */
    weir_audit *audit;
    uint8_t *note; /* owned in both directions */
    size_t note_length;
} weir__part_entry;

/* Where a snapshot goes, and where it comes from. */
typedef struct {
    weir_write_fn *write;
    void *context;
    const char *path; /* of a file, for messages; NULL: functions of the caller */
} weir__sink;

typedef struct {
    weir_read_fn *read;
    void *context;
    const char *name; /* for messages */
    uint64_t size;    /* no honest length exceeds it; all ones: not known */
    weir_allocator allocator;
} weir__source;

struct weir_snapshot {
    size_t count;
    weir__part_entry parts[WEIR__PARTS_MOST];
};

/* The family of that number, or NULL. */
const weir__family *weir__family_numbered(uint32_t number);

/* Seed of a block's checksum. */
static inline uint64_t weir__block_seed(uint64_t previous, uint32_t kind, uint32_t length) {
    return previous + ((uint64_t)length << 32 | kind);
}

#endif
