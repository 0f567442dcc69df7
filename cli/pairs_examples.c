/* pairs_examples.c - similar pairs, found and shown.
 *
 * The summary knows super-values that several records drew. A second reading of the files finds out
 * who they were: what a record draws follows from its number, so it draws the same again. The first
 * few records of a super-value are its hosts. Each record that comes after is compared in full with
 * the hosts of all its super-values; pairs that agree in enough values are found. So of any number
 * of equal records each is found with some others, but not with all of them. An equal part of the
 * list is for each number of agreeing values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "pairs_command.h"

enum { HOSTS = 8 };            /* of a super-value: pairs of up to 9 equal records are all found */
enum { HOSTS_MOST = 1 << 18 }; /* records that are hosts: with their texts 170 MiB at most */
enum { TEXT_MOST = 400 };      /* bytes of a record that are shown */
enum { VALUES_EACH = 64 }; /* super-values looked at for each pair of the list, and of a record */
enum { VALUES_MOST = 1 << 20 }; /* super-values looked at in all: 44 MiB */
#define NO_RECORD UINT32_MAX

typedef struct {
    uint64_t number, record; /* among those taken, from 0; in its file, from 1 */
    const char *file;
    uint64_t *row; /* NULL: no host, only half of a pair */
    char *text;
} known_record;

typedef struct {
    uint32_t host[HOSTS], count; /* places in `known` */
} bucket;

typedef struct {
    uint32_t host, guest;
    unsigned agree;
    double similarity;
} found_pair;

typedef struct {
    const pairs_settings *settings;
    weir_pairs *pairs;
    unsigned side, columns, width; /* width: words of a row, of which columns are compared */
    unsigned threshold;
    bool join;
    uint64_t *values;
    size_t count, hosts; /* super-values; known records that are hosts */
    bucket *buckets;
    known_record *known;
    size_t known_count, known_room;
    found_pair *found; /* of each number of agreeing values as many as the list is long */
    size_t found_count, found_room, kept[65];
    uint64_t all; /* pairs found, kept or not */
} finder;

static char *record_text(const stream_batch *b, size_t i) {
    const char *at = (const char *)b->base + b->offsets[i];
    size_t n = b->offsets[i + 1] - b->offsets[i];
    while (n && (at[n - 1] == '\n' || at[n - 1] == '\r' || at[n - 1] == 0)) n--;
    return strndup(at, n < TEXT_MOST ? n : TEXT_MOST);
}

/* The place of a record among those known; NO_RECORD: out of memory. */
static uint32_t know_record(finder *f, const accepted *records, size_t i) {
    size_t place = records->places ? records->places[i] : i;
    const stream_array arrays[] = {{&f->known, sizeof *f->known}};
    if (f->known_count == NO_RECORD ||
        !stream_make_room(&f->known_room, f->known_count + 1, arrays, 1))
        return NO_RECORD;
    known_record *r = &f->known[f->known_count];
    *r = (known_record){.number = records->first + i,
                        .record = records->batch->first_record + place,
                        .file = records->batch->file,
                        .text = record_text(records->batch, place)};
    return r->text ? (uint32_t)f->known_count++ : NO_RECORD;
}

static bool make_host(finder *f, known_record *r, const uint64_t *row) {
    if (r->row) return true;
    r->row = malloc(f->width * sizeof *r->row);
    if (!r->row) return false;
    memcpy(r->row, row, f->width * sizeof *r->row);
    f->hosts++;
    return true;
}

/* Compare a record with a host, once. */
static int compare(finder *f, uint32_t host, uint32_t *self, const accepted *records, size_t i) {
    const uint64_t *row = records->rows + i * f->width, *other = f->known[host].row;
    bool set = f->settings->rows.from == WEIR_FROM_SET;
    unsigned agree = weir_rows_agree(other, row, f->columns, set);
    if (agree < f->threshold) return EXIT_DONE;
    f->all++;
    if (f->kept[agree] >= f->settings->list) return EXIT_DONE;
    if (*self == NO_RECORD) *self = know_record(f, records, i);
    const stream_array arrays[] = {{&f->found, sizeof *f->found}};
    if (*self == NO_RECORD || !stream_make_room(&f->found_room, f->found_count + 1, arrays, 1))
        return cli_error("out of memory");
    f->found[f->found_count++] =
        (found_pair){host, *self, agree, weir_pairs_similarity(f->pairs, other, row)};
    f->kept[agree]++;
    return EXIT_DONE;
}

/* Compare a record with the hosts of all its super-values; of a join records of the first side are
 * hosts, those of the second guests. */
static int match_record(finder *f, const size_t *places, size_t n, const accepted *records,
                        size_t i) {
    uint32_t compared[VALUES_EACH * HOSTS], self = NO_RECORD;
    size_t compared_count = 0;
    bool guest = !f->join || f->side == 1, host = !f->join || f->side == 0;
    for (size_t j = 0; j < n; j++) {
        bucket *m = &f->buckets[places[j]];
        for (uint32_t h = 0; guest && h < m->count; h++) {
            size_t k = 0;
            while (k < compared_count && compared[k] != m->host[h]) k++;
            if (k < compared_count) continue;
            compared[compared_count++] = m->host[h];
            int code = compare(f, m->host[h], &self, records, i);
            if (code != EXIT_DONE) return code;
        }
    }
    for (size_t j = 0; host && j < n && (self != NO_RECORD || f->hosts < HOSTS_MOST); j++) {
        bucket *m = &f->buckets[places[j]];
        if (m->count == HOSTS) continue;
        if (self == NO_RECORD) self = know_record(f, records, i);
        if (self == NO_RECORD || !make_host(f, &f->known[self], records->rows + i * f->width))
            return cli_error("out of memory");
        m->host[m->count++] = self;
    }
    return EXIT_DONE;
}

static int look_at(void *context, const accepted *records) {
    finder *f = context;
    size_t places[VALUES_EACH];
    int code = EXIT_DONE;
    for (size_t i = 0; i < records->count && code == EXIT_DONE; i++) {
        size_t n = weir_pairs_match(f->pairs, records->first + i, records->rows + i * f->width,
                                    f->values, f->count, places, VALUES_EACH);
        code = match_record(f, places, n, records, i);
    }
    return code;
}

/* ---- choosing ---- */

static bool add_example(pairs_examples *out, const finder *f, found_pair *x) {
    const known_record *a = &f->known[x->host], *b = &f->known[x->guest];
    pairs_example *e = &out->list[out->count];
    *e = (pairs_example){.number = {a->number, b->number},
                         .record = {a->record, b->record},
                         .file = {a->file, b->file},
                         .text = {strdup(a->text), strdup(b->text)},
                         .agree = x->agree,
                         .similarity = x->similarity};
    x->agree = 0; /* it is in the list */
    if (e->text[0] && e->text[1]) return out->count++, true;
    free(e->text[0]), free(e->text[1]);
    return false;
}

/* An equal part for each number of agreeing values, and what one lacks for the others. */
static int choose(const finder *f, pairs_examples *out) {
    size_t list = (size_t)f->settings->list, levels = f->columns - f->threshold + 1;
    size_t part = (list + levels - 1) / levels;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned k = f->threshold; k <= f->columns; k++) {
            size_t most = round || out->count + part > list ? list : out->count + part;
            for (size_t i = 0; i < f->found_count && out->count < most; i++)
                if (f->found[i].agree == k && k && !add_example(out, f, &f->found[i]))
                    return cli_error("out of memory");
        }
    return EXIT_DONE;
}

static void release(finder *f) {
    for (size_t i = 0; i < f->known_count; i++) {
        free(f->known[i].row);
        free(f->known[i].text);
    }
    free(f->known);
    free(f->found);
    free(f->buckets);
    free(f->values);
}

static int by_agreement(const void *a, const void *b) {
    const pairs_example *x = a, *y = b;
    if (x->agree != y->agree) return x->agree > y->agree ? -1 : 1;
    return x->number[0] < y->number[0] ? -1 : x->number[0] > y->number[0];
}

int pairs_find_examples(const pairs_settings *s, pairs_side *sides, size_t side_count,
                        pairs_examples *out) {
    weir_pairs_info info;
    weir_error err;
    uint64_t dropped;
    weir_pairs_get_info(sides[0].pairs, &info);
    finder f = {.settings = s,
                .columns = info.columns,
                .width = info.row_words,
                .threshold = info.threshold,
                .join = side_count > 1};
    size_t most = (size_t)s->list * VALUES_EACH + 256;
    if (most > VALUES_MOST) most = VALUES_MOST;
    f.values = malloc(most * sizeof *f.values);
    out->list = calloc((size_t)s->list, sizeof *out->list);
    int code = EXIT_DONE;
    if (!f.values || !out->list) code = cli_error("out of memory");
    else if (weir_pairs_collisions(sides[0].pairs, f.join ? sides[1].pairs : NULL, f.values, most,
                                   &f.count, &err) != WEIR_OK)
        code = cli_error("%s", err.message);
    f.buckets = calloc(f.count + 1, sizeof *f.buckets);
    if (!f.buckets) code = cli_error("out of memory");
    for (unsigned i = 0; i < side_count && code == EXIT_DONE && f.count; i++) {
        f.side = i;
        f.pairs = sides[i].pairs;
        size_t files = f.join ? 1 : s->in.file_count;
        code = pairs_read(s, f.pairs, s->in.files + i, files, &dropped, look_at, &f);
    }
    if (code == EXIT_DONE) code = choose(&f, out);
    if (out->list && out->count) qsort(out->list, out->count, sizeof *out->list, by_agreement);
    out->found = f.all;
    release(&f);
    return code;
}

void pairs_examples_release(pairs_examples *examples) {
    for (size_t i = 0; i < examples->count; i++) {
        free(examples->list[i].text[0]);
        free(examples->list[i].text[1]);
    }
    free(examples->list);
}
