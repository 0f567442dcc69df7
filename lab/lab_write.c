/* lab_write.c - weir lab stream: a stream as text, a record a line.
 *
 * A line is the record's id; with its tag before it and a tab between, if the
 * stream has tags; or the values of a record with tabs between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_records.h"
#include "lab_run.h"
#include "lab_stream.h"

enum { BATCH = 1024, DIGITS = 21 };

/* Decimal digits, and what follows them; returns where they end. */
static char *put_number(char *at, uint64_t value, char after) {
    char digits[20];
    int count = 0;
    do digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count > 0) *at++ = digits[--count];
    *at++ = after;
    return at;
}

static size_t digits_of(uint64_t value) {
    size_t digits = 1;
    while (value /= 10) digits++;
    return digits;
}

/* If standard output is a file, all that is to be written must fit on its disk. */
static weir_status check_disk(double lines, double digits, weir_error *err) {
    struct stat out;
    struct statvfs disk;
    if (fstat(STDOUT_FILENO, &out) || !S_ISREG(out.st_mode)) return WEIR_OK;
    if (fstatvfs(STDOUT_FILENO, &disk)) return WEIR_OK;
    double need = lines * digits, room = (double)disk.f_bavail * (double)disk.f_frsize;
    if (need <= room) return WEIR_OK;
    char needed[32], there[32];
    return lab_error(err, WEIR_ERR_IO, -1,
                     "the stream needs up to %s of disk and %s are free; write it into a pipe, or "
                     "take fewer with --count",
                     weir_print_size(needed, (uint64_t)need),
                     weir_print_size(there, (uint64_t)room));
}

/* WEIR_OK when it was written; a reader that has had enough is no trouble, but
 * *enough says so. */
static weir_status put_text(const char *text, const char *end, bool *enough, weir_error *err) {
    size_t length = (size_t)(end - text);
    if (fwrite(text, 1, length, stdout) == length) return WEIR_OK;
    *enough = errno == EPIPE;
    if (*enough) return WEIR_OK;
    return lab_error(err, WEIR_ERR_IO, -1, "cannot write to standard output: %s", strerror(errno));
}

static bool is_stopped(const lab_session *s) { return s->stop && *s->stop; }

static uint64_t smaller(uint64_t total, uint64_t limit) {
    return limit && (!total || limit < total) ? limit : total;
}

/* --- streams of ids ----------------------------------------------------------------- */

static weir_status write_ids(const lab_session *s, lab_stream *stream, uint64_t total,
                             weir_error *err) {
    uint64_t ids[BATCH], tags[BATCH], done = 0;
    char text[BATCH * 2 * DIGITS];
    bool tagged = lab_stream_tag(stream) != NULL, enough = false;
    while (!is_stopped(s) && !enough) {
        size_t want = total && total - done < BATCH ? (size_t)(total - done) : BATCH;
        size_t got = want ? lab_stream_next_tagged(stream, ids, tags, want) : 0;
        if (!got) break;
        char *end = text;
        for (size_t i = 0; i < got; i++) {
            if (tagged) end = put_number(end, tags[i], '\t');
            end = put_number(end, ids[i], '\n');
        }
        weir_status status = put_text(text, end, &enough, err);
        if (status) return status;
        done += got;
        if (s->progress && total) s->progress(s->context, "stream", done, total);
    }
    return lab_stream_check(stream, err);
}

/* --- near-duplicate records ------------------------------------------------------------ */

static void tell_pairs(const lab_session *s, const lab_records *r) {
    char line[512];
    size_t used = 0;
    for (uint64_t k = r->least; k <= r->d && used < sizeof line - 40; k++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%llu: %llu", used ? ", " : "",
                                 (unsigned long long)k, (unsigned long long)r->pairs[k]);
    lab_warn(s, "pairs that agree in exactly so many attributes: %s", line);
}

static weir_status write_records(const lab_session *s, const char *spec, uint64_t seed,
                                 uint64_t limit, weir_error *err) {
    lab_records r;
    uint64_t values[LAB_MOST_ATTRIBUTES];
    char text[LAB_MOST_ATTRIBUTES * DIGITS];
    bool enough = false;
    weir_status status = lab_records_init(&r, spec, seed, err);
    if (status) return status;
    r.n = smaller(r.n, limit);
    status = check_disk((double)r.n, (double)(r.d * (digits_of(r.n * r.d) + 1)), err);
    while (!status && !enough && !is_stopped(s) && lab_records_next(&r, values)) {
        char *end = text;
        for (uint64_t a = 0; a < r.d; a++)
            end = put_number(end, values[a], a + 1 < r.d ? '\t' : '\n');
        status = put_text(text, end, &enough, err);
        if (s->progress && r.drawn % BATCH == 0) s->progress(s->context, "stream", r.drawn, r.n);
    }
    if (!status && !enough) tell_pairs(s, &r);
    return status;
}

weir_status lab_write_stream(const lab_session *s, const char *spec, uint64_t seed, uint64_t limit,
                             weir_error *err) {
    lab_stream *stream;
    if (!strncmp(spec, "records", 7) && (!spec[7] || spec[7] == ':'))
        return write_records(s, spec, seed, limit, err);
    weir_status status = lab_stream_new(&stream, spec, seed, err);
    if (status) return status;
    uint64_t total = smaller(lab_stream_length(stream), limit);
    double digits = (double)digits_of(lab_stream_universe(stream)) + 1;
    if (lab_stream_tag(stream)) digits += 4;
    status = check_disk((double)total, digits, err);
    if (!status) status = write_ids(s, stream, total, err);
    lab_stream_free(stream);
    return status;
}
