/* pairs_examples.c - similar pairs, found and shown.
 *
 * The summary knows super-values that several records drew. A second reading
 * of the files finds out who they were: what a record draws follows from its
 * number, so it draws the same again. Records that meet in a super-value are
 * compared in full; those that agree in enough values are examples, shown for
 * each number of agreeing values in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "pairs_command.h"

enum { MEET_MOST = 4, TEXT_MOST = 400, VALUES_EACH = 64, VALUES_MOST = 1 << 16 };

typedef struct {
    uint64_t number, record; /* among those taken, from 0; in its file, from 1 */
    const char *file;
    unsigned side;
    uint64_t *row; /* NULL: nobody */
    char *text;
} person;

/* Those who drew one super-value; of a join, half of the places for each side. */
typedef struct {
    person who[MEET_MOST];
} meeting;

typedef struct {
    weir_pairs *pairs;
    unsigned side, columns, width; /* width: words of a row, of which columns are compared */
    bool join;
    uint64_t *values;
    size_t count;
    meeting *meetings;
} finder;

static char *record_text(const stream_batch *b, size_t i) {
    const char *at = (const char *)b->base + b->offsets[i];
    size_t n = b->offsets[i + 1] - b->offsets[i];
    while (n && (at[n - 1] == '\n' || at[n - 1] == '\r' || at[n - 1] == 0)) n--;
    return strndup(at, n < TEXT_MOST ? n : TEXT_MOST);
}

static int remember(finder *f, meeting *m, const accepted *records, size_t i) {
    size_t low = f->join ? f->side * (MEET_MOST / 2) : 0;
    size_t high = f->join ? low + MEET_MOST / 2 : MEET_MOST;
    for (size_t p = low; p < high; p++) {
        person *who = &m->who[p];
        if (who->row) continue;
        who->number = records->first + i;
        size_t place = records->places ? records->places[i] : i;
        who->record = records->batch->first_record + place;
        who->file = records->batch->file;
        who->side = f->side;
        who->row = malloc(f->width * sizeof *who->row);
        who->text = record_text(records->batch, place);
        if (!who->row || !who->text) return cli_error("out of memory");
        memcpy(who->row, records->rows + i * f->width, f->width * sizeof *who->row);
        break;
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
        for (size_t j = 0; j < n && code == EXIT_DONE; j++)
            code = remember(f, &f->meetings[places[j]], records, i);
    }
    return code;
}

/* ---- choosing ---- */

static bool is_known(const pairs_examples *e, uint64_t a, uint64_t b) {
    for (size_t i = 0; i < e->count; i++)
        if (e->list[i].number[0] == a && e->list[i].number[1] == b) return true;
    return false;
}

static void add_example(pairs_examples *out, person *a, person *b, unsigned agree,
                        double similarity) {
    pairs_example *e = &out->list[out->count];
    if (is_known(out, a->number, b->number)) return;
    *e = (pairs_example){.number = {a->number, b->number},
                         .record = {a->record, b->record},
                         .file = {a->file, b->file},
                         .text = {strdup(a->text), strdup(b->text)},
                         .agree = agree,
                         .similarity = similarity};
    if (e->text[0] && e->text[1]) out->count++;
    else free(e->text[0]), free(e->text[1]);
}

/* The pairs of a meeting that agree in exactly k. */
static void choose_from(const finder *f, meeting *m, const pairs_settings *s, unsigned k,
                        size_t most, pairs_examples *out) {
    for (size_t x = 0; x < MEET_MOST; x++)
        for (size_t y = x + 1; y < MEET_MOST && out->count < most; y++) {
            person *a = &m->who[x], *b = &m->who[y];
            if (!a->row || !b->row || (f->join && a->side == b->side)) continue;
            unsigned agree =
                weir_rows_agree(a->row, b->row, f->columns, s->rows.from == WEIR_FROM_SET);
            if (agree == k)
                add_example(out, a, b, agree, weir_pairs_similarity(f->pairs, a->row, b->row));
        }
}

/* An equal part for each k, and what one lacks for the others. */
static void choose(const finder *f, const pairs_settings *s, unsigned threshold,
                   pairs_examples *out) {
    unsigned levels = f->columns - threshold + 1;
    for (unsigned round = 0; round < 2; round++)
        for (unsigned k = threshold; k <= f->columns; k++) {
            size_t part = ((size_t)s->list + levels - 1) / levels;
            size_t most = round ? (size_t)s->list : out->count + part;
            if (most > s->list) most = (size_t)s->list;
            for (size_t i = 0; i < f->count && out->count < most; i++)
                choose_from(f, &f->meetings[i], s, k, most, out);
        }
}

static void release_meetings(finder *f) {
    for (size_t i = 0; f->meetings && i < f->count; i++)
        for (size_t p = 0; p < MEET_MOST; p++) {
            free(f->meetings[i].who[p].row);
            free(f->meetings[i].who[p].text);
        }
    free(f->meetings);
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
    finder f = {.columns = info.columns, .width = info.row_words, .join = side_count > 1};
    size_t most = (size_t)s->list * VALUES_EACH + 256;
    if (most > VALUES_MOST) most = VALUES_MOST;
    f.values = malloc(most * sizeof *f.values);
    out->list = calloc((size_t)s->list, sizeof *out->list);
    int code = EXIT_DONE;
    if (!f.values || !out->list) code = cli_error("out of memory");
    else if (weir_pairs_collisions(sides[0].pairs, f.join ? sides[1].pairs : NULL, f.values, most,
                                   &f.count, &err) != WEIR_OK)
        code = cli_error("%s", err.message);
    f.meetings = calloc(f.count + 1, sizeof *f.meetings);
    if (!f.meetings) code = cli_error("out of memory");
    for (unsigned i = 0; i < side_count && code == EXIT_DONE && f.count; i++) {
        f.side = i;
        f.pairs = sides[i].pairs;
        size_t files = f.join ? 1 : s->in.file_count;
        code = pairs_read(s, f.pairs, s->in.files + i, files, &dropped, look_at, &f);
    }
    if (code == EXIT_DONE) choose(&f, s, info.threshold, out);
    if (out->list && out->count) qsort(out->list, out->count, sizeof *out->list, by_agreement);
    release_meetings(&f);
    return code;
}

void pairs_examples_release(pairs_examples *examples) {
    for (size_t i = 0; i < examples->count; i++) {
        free(examples->list[i].text[0]);
        free(examples->list[i].text[1]);
    }
    free(examples->list);
}
