/* unpack.c - xz, bzip2 and lz4 content, where the libraries are there.
 *
 * gzip and zstd, which weir also writes, are in source.c. These three are read
 * only, and a build without one of the libraries refuses its format.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_BZIP2
#include <bzlib.h>
#endif
#ifdef HAVE_LZ4
#include <lz4frame.h>
#endif

struct stream_unpacker {
    source_kind kind;
    bool open; /* in the middle of a member */
#ifdef HAVE_LZMA
    lzma_stream xz;
#endif
#ifdef HAVE_BZIP2
    bz_stream bzip2;
#endif
#ifdef HAVE_LZ4
    LZ4F_dctx *lz4;
#endif
};

bool stream__can_unpack(source_kind kind) {
    switch (kind) {
#ifdef HAVE_LZMA
    case KIND_XZ:
        return true;
#endif
#ifdef HAVE_BZIP2
    case KIND_BZIP2:
        return true;
#endif
#ifdef HAVE_LZ4
    case KIND_LZ4:
        return true;
#endif
    default:
        return false;
    }
}

stream_unpacker *stream__unpack_new(source_kind kind) {
    assert(stream__can_unpack(kind));
    stream_unpacker *u = calloc(1, sizeof *u);
    if (!u) return NULL;
    u->kind = kind;
#ifdef HAVE_LZ4
    if (kind == KIND_LZ4 && LZ4F_isError(LZ4F_createDecompressionContext(&u->lz4, LZ4F_VERSION))) {
        free(u);
        return NULL;
    }
#endif
    return u;
}

void stream__unpack_free(stream_unpacker *u) {
    if (!u) return;
#ifdef HAVE_LZMA
    lzma_end(&u->xz);
#endif
#ifdef HAVE_BZIP2
    if (u->kind == KIND_BZIP2 && u->open) BZ2_bzDecompressEnd(&u->bzip2);
#endif
#ifdef HAVE_LZ4
    if (u->lz4) LZ4F_freeDecompressionContext(u->lz4);
#endif
    free(u);
}

#ifdef HAVE_LZMA
static const char *unpack_xz(stream_unpacker *u, unpack_step *step) {
    const uint64_t most = 1ull << 30; /* xz -9 needs 65 MiB; presets never more */
    if (!u->open && lzma_stream_decoder(&u->xz, most, 0) != LZMA_OK) return UNPACK_NO_MEMORY;
    u->open = true;
    u->xz.next_in = step->in;
    u->xz.avail_in = step->in_length;
    u->xz.next_out = step->out;
    u->xz.avail_out = step->out_length;
    lzma_ret result = lzma_code(&u->xz, LZMA_RUN);
    step->in_length = u->xz.avail_in;
    step->out_length = u->xz.avail_out;
    if (result == LZMA_STREAM_END) u->open = false;
    if (result == LZMA_MEM_ERROR) return UNPACK_NO_MEMORY;
    if (result == LZMA_MEMLIMIT_ERROR) return "it needs more than 1G of memory";
    bool fine = result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR;
    return fine ? NULL : "it does not decompress";
}
#endif

#ifdef HAVE_BZIP2
static const char *unpack_bzip2(stream_unpacker *u, unpack_step *step) {
    if (!u->open) {
        memset(&u->bzip2, 0, sizeof u->bzip2);
        if (BZ2_bzDecompressInit(&u->bzip2, 0, 0) != BZ_OK) return UNPACK_NO_MEMORY;
    }
    u->open = true;
    u->bzip2.next_in = (char *)(uintptr_t)step->in;
    u->bzip2.avail_in = (unsigned)step->in_length;
    u->bzip2.next_out = (char *)step->out;
    u->bzip2.avail_out = (unsigned)step->out_length;
    int result = BZ2_bzDecompress(&u->bzip2);
    step->in_length = u->bzip2.avail_in;
    step->out_length = u->bzip2.avail_out;
    if (result == BZ_STREAM_END) {
        BZ2_bzDecompressEnd(&u->bzip2);
        u->open = false;
    }
    if (result == BZ_MEM_ERROR) return UNPACK_NO_MEMORY;
    return result == BZ_OK || result == BZ_STREAM_END ? NULL : "it does not decompress";
}
#endif

#ifdef HAVE_LZ4
static const char *unpack_lz4(stream_unpacker *u, unpack_step *step) {
    size_t used = step->in_length, got = step->out_length;
    size_t result = LZ4F_decompress(u->lz4, step->out, &got, step->in, &used, NULL);
    if (LZ4F_isError(result)) return LZ4F_getErrorName(result);
    step->in_length -= used;
    step->out_length -= got;
    u->open = result != 0;
    return NULL;
}
#endif

const char *stream__unpack(stream_unpacker *u, unpack_step *step, bool *ended) {
    const char *wrong = "it does not decompress";
    (void)step; /* without any of the libraries */
    switch (u->kind) {
#ifdef HAVE_LZMA
    case KIND_XZ:
        wrong = unpack_xz(u, step);
        break;
#endif
#ifdef HAVE_BZIP2
    case KIND_BZIP2:
        wrong = unpack_bzip2(u, step);
        break;
#endif
#ifdef HAVE_LZ4
    case KIND_LZ4:
        wrong = unpack_lz4(u, step);
        break;
#endif
    default:
        break;
    }
    *ended = !u->open;
    return wrong;
}
