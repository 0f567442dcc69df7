/* lab_write.c - weir lab stream: a stream as text, a record a line.
 *
 * A line is the record's id; before it its tag, if the stream has tags, and before
 * that 1 or 0 if the truth was asked for; or the values of a record. Tabs between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_firsts.h"
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

typedef struct {
    const lab_session *session;
    lab_stream *stream;
    lab_firsts *firsts; /* NULL: the truth is not wanted */
    uint64_t total;     /* records to write; 0: not known */
} writing;

/* The lines of a batch; returns where they end. */
static char *put_lines(const writing *w, const uint64_t *ids, const uint64_t *tags, size_t count,
                       const uint64_t *first, char *end) {
    bool tagged = lab_stream_tag(w->stream) != NULL;
    for (size_t i = 0; i < count; i++) {
        if (w->firsts) end = put_number(end, first[i / 64] >> (i % 64) & 1, '\t');
        if (tagged) end = put_number(end, tags[i], '\t');
        end = put_number(end, ids[i], '\n');
    }
    return end;
}

static weir_status write_ids(const writing *w, weir_error *err) {
    const lab_session *s = w->session;
    uint64_t ids[BATCH], tags[BATCH], first[BATCH / 64], done = 0;
    char text[BATCH * (2 * DIGITS + 2)];
    bool enough = false;
    weir_status status = WEIR_OK;
    while (!status && !is_stopped(s) && !enough) {
        size_t want = w->total && w->total - done < BATCH ? (size_t)(w->total - done) : BATCH;
        size_t got = want ? lab_stream_next_tagged(w->stream, ids, tags, want) : 0;
        if (!got) break;
        if (w->firsts && lab_firsts_next(w->firsts, ids, got, first))
            return lab_error(err, WEIR_ERR_MEMORY, -1, "no memory for the truth");
        status = put_text(text, put_lines(w, ids, tags, got, first, text), &enough, err);
        done += got;
        if (s->progress && w->total) s->progress(s->context, "stream", done, w->total);
    }
    return status ? status : lab_stream_check(w->stream, err);
}

static bool tell_sorting(void *context, const char *what, uint64_t done, uint64_t total) {
    const lab_session *s = context;
    if (s->progress && total) s->progress(s->context, what, done, total);
    return !is_stopped(s);
}

/* A bit for each id where they are few enough, else by way of files. */
static weir_status find_truth(writing *w, const lab_stream_call *call, weir_error *err) {
    uint64_t universe = lab_stream_universe(w->stream);
    if (universe && universe / 8 <= call->memory) return lab_firsts_new(&w->firsts, universe, err);
    const char *once = lab_stream_read_once(w->stream);
    if (once)
        return lab_error(err, WEIR_ERR_IO, -1,
                         "--truth reads the file twice; '%s' can be read only once", once);
    lab_firsts_plan plan = {.spec = call->spec,
                            .seed = call->seed,
                            .reading = call->reading,
                            .memory = call->memory,
                            .progress = tell_sorting,
                            .context = (void *)w->session};
    return lab_firsts_from_disk(&w->firsts, &plan, err);
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

static weir_status write_records(const lab_session *s, const lab_stream_call *call,
                                 weir_error *err) {
    lab_records r;
    uint64_t values[LAB_MOST_ATTRIBUTES];
    char text[LAB_MOST_ATTRIBUTES * DIGITS];
    bool enough = false;
    weir_status status = lab_records_init(&r, call->spec, call->seed, err);
    if (status) return status;
    r.n = smaller(r.n, call->limit);
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

weir_status lab_write_stream(const lab_session *s, const lab_stream_call *call, weir_error *err) {
    writing w = {.session = s};
    if (!strncmp(call->spec, "records", 7) && (!call->spec[7] || call->spec[7] == ':'))
        return write_records(s, call, err);
    weir_status status = lab_stream_read(&w.stream, call->spec, call->seed, call->reading, err);
    if (status) return status;
    w.total = smaller(lab_stream_length(w.stream), call->limit);
    double digits = (double)digits_of(lab_stream_universe(w.stream)) + 1;
    if (lab_stream_tag(w.stream)) digits += 4;
    status = check_disk((double)w.total, digits + 2 * call->truth, err);
    if (!status && call->truth) status = find_truth(&w, call, err);
    if (!status && (w.firsts || !call->truth)) status = write_ids(&w, err);
    lab_firsts_free(w.firsts);
    lab_stream_free(w.stream);
    return status;
}
