/* lab_file.c - ids or texts from the lines of a file, plain or compressed with zstd.
 *
 * The id of a line is XXH3 of its key: the line without its end, or the chosen
 * columns one by one, each hashed with the hash of those before it as the seed.
 * A block trace is different: its lines name a first page and a number of pages,
 * and each page is an id of its own.
 *
 * A line that has fewer columns than the recipe asks for gives the key of those
 * that it has; if the first line has none of them, the recipe is wrong. One buffer of decompressed
 * bytes is kept; it grows only for a line that is longer than it.
 */
#include "lab_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const lab_real reals[] = {
    {"weblog", "weblog.log.zst", {1, 1, 7, ' ', 0, 0}},
    {"weblog_sizes", "weblog.log.zst", {1, 1, 7, ' ', 0, 10}},
    {"repo_urls", "repo_urls.txt.zst", {0, 0, 0, '\t', 0, 0}},
    {"trending", "trending.tsv.zst", {2, 2, 0, '\t', 0, 0}},
    {"recommendations", "recommendations.txt.zst", {0, 0, 0, '\t', 0, 0}},
    {"block_trace", "block_trace.lis.zst", {0, 0, 0, ' ', LAB_PAGES, 0}},
    {"block_requests", "block_trace.lis.zst", {0, 0, 0, ' ', LAB_REQUESTS, 0}},
    {"flows", "flows.tsv.zst", {2, 5, 0, '\t', 0, 0}},
    {"package_titles", "package_titles.tsv.zst", {4, 4, 0, '\t', 0, 0}},
};

#define REALS (sizeof reals / sizeof *reals)

struct lab_file {
    FILE *in;
    ZSTD_DStream *zstd; /* NULL: the file is plain */
    unsigned char *raw; /* compressed bytes, raw_at..raw_end unread */
    size_t raw_size, raw_at, raw_end;
    char *text; /* decompressed bytes, at..end unread */
    size_t size, at, end;
    int over, frame_open; /* nothing more to read; inside a zstd frame */
    int begun;            /* the first line has been seen */
    uint64_t page, pages; /* pages of the current request still to give */
    lab_recipe recipe;
    weir_error trouble; /* code WEIR_OK while there is none */
};

const lab_real *lab_real_find(const char *name) {
    for (size_t i = 0; i < REALS; i++)
        if (!strcmp(reals[i].name, name)) return &reals[i];
    return NULL;
}

static weir_status fail(weir_error *err, weir_status code, const char *path, const char *why) {
    if (err) {
        err->code = code;
        err->offset = -1;
        snprintf(err->message, sizeof err->message, "cannot read '%.200s': %s", path, why);
    }
    return code;
}

/* More compressed bytes; 0 at the end of the file or on an error. */
static size_t read_raw(lab_file *f) {
    f->raw_at = 0;
    f->raw_end = fread(f->raw, 1, f->raw_size, f->in);
    if (!f->raw_end && ferror(f->in)) fail(&f->trouble, WEIR_ERR_IO, "input", strerror(errno));
    return f->raw_end;
}

/* Append decompressed bytes to the text; 0 when there are no more. */
static size_t read_text(lab_file *f) {
    if (!f->zstd) {
        size_t got = fread(f->text + f->end, 1, f->size - f->end, f->in);
        if (!got && ferror(f->in)) fail(&f->trouble, WEIR_ERR_IO, "input", strerror(errno));
        f->end += got;
        return got;
    }
    for (;;) {
        if (f->raw_at == f->raw_end && !read_raw(f)) {
            if (f->frame_open) fail(&f->trouble, WEIR_ERR_CORRUPT, "input", "it ends too early");
            return 0;
        }
        ZSTD_inBuffer in = {f->raw, f->raw_end, f->raw_at};
        ZSTD_outBuffer out = {f->text, f->size, f->end};
        size_t state = ZSTD_decompressStream(f->zstd, &out, &in);
        if (ZSTD_isError(state)) {
            fail(&f->trouble, WEIR_ERR_CORRUPT, "input", ZSTD_getErrorName(state));
            return 0;
        }
        f->frame_open = state != 0;
        f->raw_at = in.pos;
        size_t got = out.pos - f->end;
        f->end = out.pos;
        if (got) return got;
    }
}

/* Make room behind the unread text, doubling the buffer if a line fills it. */
static int make_room(lab_file *f) {
    memmove(f->text, f->text + f->at, f->end - f->at);
    f->end -= f->at;
    f->at = 0;
    if (f->end < f->size / 2) return 1;
    char *larger = realloc(f->text, 2 * f->size);
    if (!larger) {
        fail(&f->trouble, WEIR_ERR_MEMORY, "input", "a line is too long for the memory");
        return 0;
    }
    f->text = larger;
    f->size *= 2;
    return 1;
}

/* The next line without its end, or NULL; it lives until the next call. */
static const char *next_line(lab_file *f, size_t *length) {
    size_t looked = 0;
    for (;;) {
        char *from = f->text + f->at;
        char *stop = memchr(from + looked, '\n', f->end - f->at - looked);
        if (stop) {
            *length = (size_t)(stop - from);
            f->at += *length + 1;
            return from;
        }
        looked = f->end - f->at;
        if (!f->over && make_room(f) && read_text(f)) continue;
        f->over = 1;
        if (f->at == f->end) return NULL;
        *length = looked; /* a last line without an end */
        f->at = f->end;
        return f->text + f->at - looked;
    }
}

/* Each chosen column is hashed with what came before it as the seed. */
static uint64_t columns_id(const lab_recipe *r, const char *line, size_t length) {
    const char *end = line + length;
    uint64_t id = 0;
    for (int column = 1; line <= end; column++) {
        const char *stop = memchr(line, r->split, (size_t)(end - line));
        if (!stop) stop = end;
        if ((column >= r->first && column <= r->last) || column == r->also)
            id = XXH3_64bits_withSeed(line, (size_t)(stop - line), id);
        line = stop + 1;
    }
    return id;
}

/* Columns first..last of a line, as they stand there. */
static const char *columns_text(const lab_recipe *r, const char *line, size_t *length) {
    const char *end = line + *length, *from = end;
    for (int column = 1; r->last && line <= end; column++) {
        const char *stop = memchr(line, r->split, (size_t)(end - line));
        if (!stop) stop = end;
        if (column == r->first) from = line;
        if (column == r->last) end = stop;
        line = stop + 1;
    }
    if (!r->last) return line;
    *length = (size_t)(end - from);
    return from;
}

static int has_columns(const lab_recipe *r, const char *line, size_t length) {
    int columns = 1, least = r->also && r->also < r->first ? r->also : r->first;
    for (const char *end = line + length; line < end; line++) columns += *line == r->split;
    return !r->last || columns >= least;
}

static void fail_without_columns(lab_file *f) {
    f->trouble.code = WEIR_ERR_SPEC;
    f->trouble.offset = -1;
    snprintf(f->trouble.message, sizeof f->trouble.message,
             "the first line has no column %d, split by %s; see columns= and split=",
             f->recipe.first, f->recipe.split == ' ' ? "space" : "tab");
}

static uint64_t line_id(const lab_recipe *r, const char *line, size_t length) {
    return r->last ? columns_id(r, line, length) : XXH3_64bits(line, length);
}

static uint64_t number(const char **at, const char *end) {
    uint64_t value = 0;
    while (*at < end && **at == ' ') ++*at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        value = 10 * value + (uint64_t)(**at - '0');
    return value;
}

/* The number in the column of tags; 0 where there is none. */
static uint64_t tag_of(const lab_recipe *r, const char *line, size_t length) {
    const char *end = line + length;
    for (int column = 1; column < r->tag && line < end; line++) column += *line == r->split;
    return number(&line, end);
}

static void start_request(lab_file *f, const char *line, size_t length) {
    const char *end = line + length;
    f->page = number(&line, end);
    f->pages = number(&line, end);
}

size_t lab_file_next(lab_file *f, uint64_t *ids, uint64_t *tags, size_t n) {
    size_t done = 0, length;
    while (done < n) {
        if (f->pages) {
            f->pages--;
            ids[done++] = f->page++;
            continue;
        }
        const char *line = next_line(f, &length);
        if (!line) break;
        if (!f->begun && !has_columns(&f->recipe, line, length)) {
            fail_without_columns(f);
            break;
        }
        f->begun = 1;
        if (!f->recipe.pages) {
            if (tags && f->recipe.tag) tags[done] = tag_of(&f->recipe, line, length);
            ids[done++] = line_id(&f->recipe, line, length);
            continue;
        }
        start_request(f, line, length);
        if (f->recipe.pages == LAB_PAGES) continue;
        if (tags) tags[done] = f->pages;
        ids[done++] = f->page;
        f->pages = 0;
    }
    return done;
}

const char *lab_file_text(lab_file *f, size_t *length) {
    const char *line = next_line(f, length);
    return line ? columns_text(&f->recipe, line, length) : NULL;
}

/* zstd by its magic number, not by the file's name. */
static weir_status detect(lab_file *f, const char *path, weir_error *err) {
    static const unsigned char magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    read_raw(f);
    if (f->trouble.code) return fail(err, WEIR_ERR_IO, path, strerror(errno));
    if (f->raw_end >= 4 && !memcmp(f->raw, magic, 4)) {
        f->zstd = ZSTD_createDStream();
        return f->zstd ? WEIR_OK : fail(err, WEIR_ERR_MEMORY, path, "out of memory");
    }
    memcpy(f->text, f->raw, f->raw_end);
    f->end = f->raw_end;
    return WEIR_OK;
}

weir_status lab_file_new(lab_file **out, const char *path, const lab_recipe *recipe,
                         weir_error *err) {
    weir_status status;
    *out = NULL;
    lab_file *f = calloc(1, sizeof *f);
    if (!f) return fail(err, WEIR_ERR_MEMORY, path, "out of memory");
    f->recipe = *recipe;
    f->raw_size = 1 << 17;
    f->size = 1 << 18;
    f->raw = malloc(f->raw_size);
    f->text = malloc(f->size);
    f->in = fopen(path, "rb");
    if (!f->in) status = fail(err, WEIR_ERR_IO, path, strerror(errno));
    else if (!f->raw || !f->text) status = fail(err, WEIR_ERR_MEMORY, path, "out of memory");
    else status = detect(f, path, err);
    if (status) lab_file_free(f);
    else *out = f;
    return status;
}

weir_status lab_real_open(lab_file **out, const lab_real *real, weir_error *err) {
    char path[1024];
    weir_status status = lab_data_path(path, sizeof path, real->file, err);
    return status ? status : lab_file_new(out, path, &real->recipe, err);
}

void lab_file_free(lab_file *f) {
    if (!f) return;
    if (f->in) fclose(f->in);
    ZSTD_freeDStream(f->zstd);
    free(f->raw);
    free(f->text);
    free(f);
}

weir_status lab_file_check(const lab_file *f, weir_error *err) {
    if (f->trouble.code && err) *err = f->trouble;
    return f->trouble.code;
}
