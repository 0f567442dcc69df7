/* bench_lines.c - the stream that the benchmarks read.
 *
 * Question   what does a large log with repeats look like, the same every time?
 * Idea       records are a function of an id. New ids count up; a repeat is an
 *            id drawn from those behind: a third of the repeats near (the last
 *            thousand distinct keys), a third in the middle (the last million),
 *            a third far (any). So the truth of every record is known as it is
 *            made, and nothing needs to be remembered.
 * Parameters records, share of repeats, seed; the same give the same bytes.
 * Forms      lines   a URL of about 60 bytes
 *            csv     five columns, header, the key is `url`; titles are quoted
 *                    now and then, with commas, quotes and line ends in them
 *            json    one object of about 190 bytes a line, the key is .event.id
 *            truth   N or S a line: what an exact answer to the others would be
 * Cost       about 20 ns a line: most of it is moving the bytes.
 *
 * In csv and json a repeat has the key of the first record but not its other
 * columns, as a message delivered twice is stamped twice.
 *
 * How many records, distinct keys and bytes were written is the last line on
 * standard error.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define RECORD_MOST 512 /* more than any record that is made here */
#define PIECE 32        /* pieces are copied whole and cut to length afterwards */
#define NEAR 1000u
#define MIDDLE 1000000u

/* ---- ids: which key comes next ---- */

typedef struct {
    uint64_t rng, newest, repeat_below;
} id_stream;

static id_stream id_stream_of(uint64_t seed, double repeats) {
    return (id_stream){.rng = bench_mix(seed), .repeat_below = (uint64_t)(repeats * 0x1p32)};
}

static uint64_t next_id(id_stream *ids, bool *is_new) {
    uint64_t word = bench_next(&ids->rng);
    *is_new = ids->newest == 0 || (word & UINT32_MAX) >= ids->repeat_below;
    if (*is_new) return ids->newest++;
    uint64_t reach[] = {NEAR, MIDDLE, UINT64_MAX};
    uint64_t span = reach[(word >> 32) % 3];
    if (span > ids->newest) span = ids->newest;
    return ids->newest - 1 - bench_scale(bench_mix(word), span);
}

/* ---- text: what a key looks like ---- */

typedef struct {
    char text[PIECE];
    size_t length;
} piece;

typedef struct {
    piece site[64], section[32], tail[8], title[8], visitor[8];
    uint64_t salt;
} wording;

static const char *const words[16] = {
    "harbour", "meadow",  "lantern", "copper", "willow", "granite", "saffron", "thistle",
    "amber",   "juniper", "falcon",  "cobalt", "maple",  "quarry",  "heron",   "bramble"};
static const char *const hosts[4] = {"https://%s-times.example", "https://www.%s.example",
                                     "https://shop.%s.example", "https://%s.wiki.example"};
static const char *const paths[8] = {"/articles/%u/", "/a/%u/",         "/catalogue/%u/",
                                     "/wiki/%u/",     "/img/large/%u/", "/forum/thread-%u/",
                                     "/users/%u/",    "/q/%u/"};
static const char *const tails[8] = {"", ".html", "?ref=home", "?page=2",
                                     "", ".jpg",  "/comments", ""};
static const char *const titles[8] = {
    "Weather", "\"Rain, later sun\"", "Markets", "\"The \"\"long\"\" wait\"",
    "Sport",   "\"Letters, page 2\"", "Arts",    "\"Two lines,\none title\""};
static const char *const visitors[8] = {"Ada",        "Grace Hopper",      "Zo\\u00eb",
                                        "Edsger",     "Kit \\\"K\\\" Lee", "Barbara",
                                        "Jo\\u00e3o", "Radia Perlman"};

__attribute__((format(printf, 2, 0))) static void set_piece(piece *p, const char *format, ...) {
    va_list list;
    va_start(list, format);
    p->length = (size_t)vsnprintf(p->text, PIECE, format, list);
    va_end(list);
}

static wording *make_wording(uint64_t seed) {
    static wording w;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    for (unsigned i = 0; i < 64; i++) set_piece(&w.site[i], hosts[i / 16], words[i % 16]);
    for (unsigned i = 0; i < 32; i++) set_piece(&w.section[i], paths[i % 8], 1990 + 11 * i);
#pragma GCC diagnostic pop
    for (unsigned i = 0; i < 8; i++) {
        set_piece(&w.tail[i], "%s", tails[i]);
        set_piece(&w.title[i], "%s", titles[i]);
        set_piece(&w.visitor[i], "%s", visitors[i]);
    }
    w.salt = bench_mix(seed + 1);
    return &w;
}

static char *put(char *at, const piece *p) {
    memcpy(at, p->text, PIECE);
    return at + p->length;
}

static char *put_text(char *at, const char *text) { return stpcpy(at, text); }

/* The eight hexadecimal digits of a word, side by side in one register. */
static char *put_hex(char *at, uint32_t word) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x = __builtin_bswap32(word);
    x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
    x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
    x = (x >> 4 | x << 8) & ones * 0x0f;
    uint64_t letters = (x + ones * 6) >> 4 & ones;
    x += ones * '0' + letters * ('a' - '0' - 10);
    memcpy(at, &x, 8);
    return at + 8;
}

static char *put_number(char *at, uint64_t number) {
    char digits[20];
    unsigned n = 0;
    do digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) *at++ = digits[--n];
    return at;
}

/* All of the key is in the text, so that different keys differ. */
static char *put_url(char *at, const wording *w, uint64_t key) {
    at = put(at, &w->site[key % 64]);
    at = put(at, &w->section[key / 64 % 32]);
    at = put_hex(at, (uint32_t)(key >> 32));
    at = put_hex(at, (uint32_t)key);
    return put(at, &w->tail[key / 2048 % 8]);
}

/* ---- records ---- */

typedef struct {
    uint64_t number; /* of the record, from 0 */
    uint64_t key;
    bool is_new;
} record;

typedef char *record_writer(char *at, const wording *w, const record *r);

static char *put_line(char *at, const wording *w, const record *r) {
    at = put_url(at, w, r->key);
    *at++ = '\n';
    return at;
}

static char *put_csv(char *at, const wording *w, const record *r) {
    uint64_t chance = bench_mix(r->number);
    at = put_number(at, 1700000000000 + 7 * r->number);
    *at++ = ',';
    at = put(at, &w->title[chance % 64 < 63 ? chance % 7 : 7]);
    *at++ = ',';
    at = put_url(at, w, r->key);
    *at++ = ',';
    at = put_number(at, chance >> 8 & 0xffff);
    at = put_text(at, chance & 8 ? ",\"NL\"," : ",SE,");
    at = put_number(at, chance >> 44);
    *at++ = '\n';
    return at;
}

static char *put_json(char *at, const wording *w, const record *r) {
    uint64_t chance = bench_mix(r->number);
    at = put_text(at, "{\"time\":");
    at = put_number(at, 1700000000000 + 7 * r->number);
    at = put_text(at, ",\"event\":{\"id\":\"");
    at = put_hex(at, (uint32_t)(r->key >> 32));
    at = put_hex(at, (uint32_t)r->key);
    at = put_text(at, "\"},\"visitor\":{\"name\":\"");
    at = put(at, &w->visitor[chance % 8]);
    at = put_text(at, "\",\"id\":");
    at = put_number(at, chance >> 8 & 0xffff);
    at = put_text(at, chance & 8 ? "},\"tags\":[\"new\",\"mobile\"],\"url\":\"" : "},\"url\":\"");
    at = put_url(at, w, r->key);
    at = put_text(at, "\",\"bytes\":");
    at = put_number(at, chance >> 44);
    return put_text(at, "}\n");
}

static char *put_truth(char *at, const wording *w, const record *r) {
    (void)w;
    *at++ = r->is_new ? 'N' : 'S';
    *at++ = '\n';
    return at;
}

/* ---- out ---- */

static uint64_t flush(const char *buffer, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = write(STDOUT_FILENO, buffer + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) bench_die("cannot write: %s", strerror(errno));
        done += (size_t)n;
    }
    return length;
}

/* Inlined once for each form, so that the writer is known to the loop. */
__attribute__((always_inline)) static inline uint64_t
write_records(id_stream *ids, const wording *w, uint64_t count, char *buffer, char *at,
              record_writer *writer) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        record r = {.number = i};
        r.key = bench_mix(next_id(ids, &r.is_new) + w->salt);
        at = writer(at, w, &r);
        if ((size_t)(at - buffer) < BUFFER_BYTES) continue;
        bytes += flush(buffer, (size_t)(at - buffer));
        at = buffer;
    }
    return bytes + flush(buffer, (size_t)(at - buffer));
}

enum form { LINES, CSV, JSON, TRUTH };

static uint64_t write_form(enum form form, id_stream *ids, const wording *w, uint64_t count) {
    static char buffer[BUFFER_BYTES + RECORD_MOST];
    switch (form) {
    case CSV:
        return write_records(ids, w, count, buffer,
                             put_text(buffer, "time,title,url,visitor,country,bytes\n"), put_csv);
    case JSON:
        return write_records(ids, w, count, buffer, buffer, put_json);
    case TRUTH:
        return write_records(ids, w, count, buffer, buffer, put_truth);
    default:
        return write_records(ids, w, count, buffer, buffer, put_line);
    }
}

static const char usage[] =
    "usage: weir-bench-lines [--csv|--json|--truth] [--lines N] [--repeats SHARE] [--seed N]\n"
    "Write N records (20000000) with a share of repeats (0.3) to standard output.\n"
    "  --csv    rows with a header; the key is the column url\n"
    "  --json   objects; the key is .event.id\n"
    "  --truth  N or S for each record: what an exact answer would be\n";

int main(int argc, char **argv) {
    enum { REPEATS = 256, SEED, HELP };
    static const struct option options[] = {
        {"csv", no_argument, 0, CSV},         {"json", no_argument, 0, JSON},
        {"truth", no_argument, 0, TRUTH},     {"lines", required_argument, 0, 'n'},
        {"seed", required_argument, 0, SEED}, {"repeats", required_argument, 0, REPEATS},
        {"help", no_argument, 0, HELP},       {0, 0, 0, 0}};
    enum form form = LINES;
    uint64_t count = 20000000, seed = 1;
    double repeats = 0.3;
    for (int c; (c = getopt_long(argc, argv, "n:", options, NULL)) != -1;) {
        if (c == 'n') count = strtoull(optarg, NULL, 10);
        else if (c == SEED) seed = strtoull(optarg, NULL, 10);
        else if (c == REPEATS) repeats = strtod(optarg, NULL);
        else if (c == CSV || c == JSON || c == TRUTH) form = (enum form)c;
        else return fputs(usage, c == HELP ? stdout : stderr), c == HELP ? 0 : 2;
    }
    id_stream ids = id_stream_of(seed, repeats);
    uint64_t bytes = write_form(form, &ids, make_wording(seed), count);
    fprintf(stderr, "%" PRIu64 " records %" PRIu64 " distinct %" PRIu64 " bytes\n", count,
            ids.newest, bytes);
    return 0;
}
