/* lab_write.c - weir lab stream: a stream as text, a record a line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_run.h"
#include "lab_stream.h"

enum { BATCH = 4096, LINE = 24 };

/* Decimal digits and a line feed; returns where they end. */
static char *put_number(char *at, uint64_t value) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count > 0) *at++ = digits[--count];
    *at++ = '\n';
    return at;
}

static size_t digits_of(uint64_t value) {
    size_t digits = 1;
    while (value /= 10) digits++;
    return digits;
}

/* If standard output is a file, the whole stream must fit on its disk. */
static weir_status check_disk(const lab_stream *stream, uint64_t limit, weir_error *err) {
    struct stat out;
    struct statvfs disk;
    uint64_t length = lab_stream_length(stream), universe = lab_stream_universe(stream);
    if (limit && limit < length) length = limit;
    if (!length || fstat(STDOUT_FILENO, &out) || !S_ISREG(out.st_mode)) return WEIR_OK;
    if (fstatvfs(STDOUT_FILENO, &disk)) return WEIR_OK;
    double need = (double)length * (double)(digits_of(universe) + 1);
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    if (need <= room) return WEIR_OK;
    char needed[32], there[32];
    return lab_error(err, WEIR_ERR_IO, -1,
                     "the stream needs up to %s of disk and %s are free; write it into a pipe, or "
                     "take fewer with --count",
                     weir_print_size(needed, (uint64_t)need),
                     weir_print_size(there, (uint64_t)room));
}

static weir_status write_all(const lab_session *s, lab_stream *stream, uint64_t limit,
                             weir_error *err) {
    uint64_t ids[BATCH], done = 0, total = lab_stream_length(stream);
    char text[BATCH * LINE];
    if (limit && (!total || limit < total)) total = limit;
    while (!(s->stop && *s->stop)) {
        size_t wanted = limit && limit - done < BATCH ? (size_t)(limit - done) : BATCH;
        size_t got = wanted ? lab_stream_next(stream, ids, wanted) : 0;
        if (!got) break;
        char *end = text;
        for (size_t i = 0; i < got; i++) end = put_number(end, ids[i]);
        if (fwrite(text, 1, (size_t)(end - text), stdout) != (size_t)(end - text))
            return errno == EPIPE
                       ? WEIR_OK
                       : lab_error(err, WEIR_ERR_IO, -1, "cannot write to standard output: %s",
                                   strerror(errno));
        done += got;
        if (s->progress) s->progress(s->context, "stream", done, total);
    }
    return lab_stream_check(stream, err);
}

weir_status lab_write_stream(const lab_session *s, const char *spec, uint64_t seed, uint64_t limit,
                             weir_error *err) {
    lab_stream *stream;
    weir_status status = lab_stream_new(&stream, spec, seed, err);
    if (status) return status;
    status = check_disk(stream, limit, err);
    if (!status) status = write_all(s, stream, limit, err);
    lab_stream_free(stream);
    return status;
}
