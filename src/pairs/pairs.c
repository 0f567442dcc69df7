/* pairs.c - a summary of records: made from a spec, filled, merged, saved.
 *
 * Question   how many pairs of records agree in s or more of d values?
 * Idea       PairCount: each record adds its super-values to a stream for each
 *            k = s..d; equal ones betray similar records. Offline the streams
 *            are kept whole (store.c), online each is a Fast-AGMS sketch. All
 *            answers come from the streams alone (answer.c).
 * Beside     a few records are kept whole, a random sample: to measure how the
 *            records share their partners, and to compare with random sampling.
 * Repeats    the whole can be done several times with other draws at once; an
 *            answer is then the median.
 * Draws      a record's choice of subsets comes from `draw` and its number. Two
 *            summaries with the same draw must not number their records alike:
 *            records that draw alike meet too often, and the answer is biased. A
 *            join refuses summaries of the same draw, a merge those whose samples
 *            show it.
 * Parallel   parts of the data make parts of the summary, with the same seed;
 *            merging adds sketches and puts streams side by side (thesis 5.4).
 * Source     thesis 5.2-5.4.
 */
#include "pairs/pairs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "pairs/pairsize.h"

enum {
    OPT_COLUMNS,
    OPT_THRESHOLD,
    OPT_SAMPLE,
    OPT_METHOD,
    OPT_MEMORY,
    OPT_WIDTH,
    OPT_DEPTH,
    OPT_COUNTER,
    OPT_ERROR,
    OPT_REPEATS,
    OPT_WITNESSES,
    OPT_FROM,
    OPT_SHINGLE,
    OPT_UNIT,
    OPT_GROUP,
    OPT_SEED,
    OPT_DRAW,
    OPT_HASH,
    OPT_SIGNATURES,
    OPT_ANGLES
};

enum {
    BATCH_RECORDS = 64,    /* online: records whose super-values go to a sketch together */
    COSINE_GROUP = 8,      /* projections of a column, if group= is not given */
    STANDARD_WIDTH = 8192, /* online: counters of a row, if width= is not given */
    FEW_SUBSETS = 64 /* so few super-values of a record are all kept, if sample= is not given */
};
#define ERROR_LEAST 1e-4 /* least that error= may be */

static const weir_option options[] = {
    [OPT_COLUMNS] = {"columns", WEIR_OPT_COUNT, 1, WEIR__COLUMNS_MOST, NULL, NULL,
                     "values of a record (d)"},
    [OPT_THRESHOLD] = {"threshold", WEIR_OPT_COUNT, 1, WEIR__COLUMNS_MOST, NULL, NULL,
                       "so many must agree (s); two thirds of the columns if not given"},
    [OPT_SAMPLE] = {"sample", WEIR_OPT_RATE, 1e-9, 1, NULL, NULL,
                    "share of all super-values that a record draws (r); if not given 1 where "
                    "there are at most 64, else 0.5"},
    [OPT_METHOD] = {"method", WEIR_OPT_CHOICE, 0, 0, "offline|online", "offline",
                    "keep the super-values, or sketches of them"},
    [OPT_MEMORY] = {"memory", WEIR_OPT_SIZE, 65536, 0x1p50, NULL, "256M",
                    "offline: what does not fit goes to a temporary file"},
    [OPT_WIDTH] = {"width", WEIR_OPT_COUNT, 16, 0x1p30, NULL, NULL,
                   "online: counters in a row of a sketch (w)"},
    [OPT_DEPTH] = {"depth", WEIR_OPT_COUNT, 1, 31, NULL, "5", "online: rows of a sketch"},
    [OPT_COUNTER] = {"counter", WEIR_OPT_CHOICE, 0, 0, "32|64", "32",
                     "online: bits of a counter; 64 for billions of equal records"},
    [OPT_ERROR] = {"error", WEIR_OPT_RATE, ERROR_LEAST, 1, NULL, NULL,
                   "online: plan the width so that a stream's size deviates by this much"},
    [OPT_REPEATS] = {"repeats", WEIR_OPT_COUNT, 1, 99, NULL, "1",
                     "do it so often, an odd number, and take the median"},
    [OPT_WITNESSES] = {"witnesses", WEIR_OPT_COUNT, 0, 1 << 20, NULL, "1024",
                       "records kept whole as a sample"},
    [OPT_FROM] = {"from", WEIR_OPT_CHOICE, 0, 0, "columns|set|text|cosine", "columns",
                  "what the values are made from"},
    [OPT_SHINGLE] = {"shingle", WEIR_OPT_COUNT, 1, WEIR__SHINGLE_MOST, NULL, "1",
                     "text, cosine: words or letters in a shingle"},
    [OPT_UNIT] = {"unit", WEIR_OPT_CHOICE, 0, 0, "words|letters", "words",
                  "text, cosine: what a shingle is made of"},
    [OPT_GROUP] = {"group", WEIR_OPT_COUNT, 1, WEIR__GROUP_MOST, NULL, NULL,
                   "text: min-hashes in a value (1); cosine: projections in a value (8)"},
    [OPT_SEED] = {"seed", WEIR_OPT_SEED, 0, 0, NULL, NULL,
                  "of the fingerprints; the same for summaries that are to be joined or merged"},
    [OPT_DRAW] = {"draw", WEIR_OPT_SEED, 0, 0, NULL, NULL,
                  "of the choice of super-values; another one for each summary"},
    [OPT_HASH] = {"hash", WEIR_OPT_CHOICE, 0, 0, WEIR__HASH_CHOICES, "xxh3",
                  "hash function; siphash for records made by an adversary"},
    [OPT_SIGNATURES] = {"signatures", WEIR_OPT_COUNT, 1, WEIR__COLUMNS_MOST, NULL, "1",
                        "text, cosine: independent signatures of a text, whose counts are "
                        "averaged; how far they are apart makes the interval"},
    [OPT_ANGLES] = {"angles", WEIR_OPT_COUNT, 0, WEIR__ANGLES_MOST, NULL, "0",
                    "cosine: words of 64 more signs that the witnesses keep, to tell how many "
                    "pairs have which angle"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

static const weir_option no_options[] = {{NULL, 0, 0, 0, NULL, NULL, NULL}};
static const weir__tables tables = {
    .family = "summary", .name = "pairs", .common = no_options, .own = options};

static const weir_kind kind = {
    .name = "pairs",
    .summary = "how many pairs of records agree in most of their values",
    .advice = "Few columns (up to ten or so): the error grows fast with them. Offline for the best "
              "answer; online when memory is short and similar pairs are at least as many as "
              "records.",
    .mergeable = true,
    .options = options,
};

const weir_kind *weir_pairs_kind(void) { return &kind; }

static uint64_t whole(const weir_pairs *p, int place) { return p->values[place].whole; }

static void resolve(weir_pairs *p, int place, uint64_t value) {
    p->values[place].whole = value;
    p->values[place].given = true;
}

static weir_status no_memory(weir_error *err) {
    return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

#define opt_fail(p, place, err, ...)                                                               \
    weir__fail((err), WEIR_ERR_RANGE, (p)->values[place].offset, __VA_ARGS__)

/* ---- from a spec ---- */

static weir_status resolve_seed(weir_pairs *p, int place, weir_error *err) {
    weir__value *seed = &p->values[place];
    if (!seed->given && !weir__random_seed(&seed->whole))
        return weir__fail(err, WEIR_ERR_IO, -1,
                          "the system gives no random seed; set %s=", options[place].name);
    seed->given = true;
    return WEIR_OK;
}

/* Half of the super-values cost half as much, and all of them have no error: where
 * there are few, all. */
static void resolve_sample(weir_pairs *p) {
    weir__value *sample = &p->values[OPT_SAMPLE];
    double all = 0;
    if (sample->given) return;
    for (uint64_t k = whole(p, OPT_THRESHOLD); k <= whole(p, OPT_COLUMNS); k++)
        all += weir__choose((unsigned)whole(p, OPT_COLUMNS), (unsigned)k);
    sample->number = all <= FEW_SUBSETS ? 1 : 0.5;
    sample->given = true;
}

static weir_status resolve_shape(weir_pairs *p, weir_error *err) {
    if (!p->values[OPT_COLUMNS].given)
        return weir__fail(err, WEIR_ERR_SPEC, -1,
                          "a summary of pairs needs columns=, the number of values compared");
    uint64_t d = whole(p, OPT_COLUMNS);
    if (!p->values[OPT_THRESHOLD].given) resolve(p, OPT_THRESHOLD, (2 * d + 2) / 3);
    if (whole(p, OPT_THRESHOLD) > d)
        return opt_fail(
            p, OPT_THRESHOLD, err,
            "threshold=%llu is more than the %llu columns; no pair can agree in so many",
            (unsigned long long)whole(p, OPT_THRESHOLD), (unsigned long long)d);
    resolve_sample(p);
    if (whole(p, OPT_REPEATS) % 2 == 0)
        return opt_fail(p, OPT_REPEATS, err, "repeats=%llu is even; a median needs an odd number",
                        (unsigned long long)whole(p, OPT_REPEATS));
    bool text = whole(p, OPT_FROM) == WEIR__FROM_TEXT || whole(p, OPT_FROM) == WEIR__FROM_COSINE;
    uint64_t signatures = whole(p, OPT_SIGNATURES);
    if (signatures > 1 && (!text || whole(p, OPT_REPEATS) > 1))
        return opt_fail(p, OPT_SIGNATURES, err,
                        "signatures=%llu goes with from=text or cosine and repeats=1",
                        (unsigned long long)signatures);
    if (whole(p, OPT_ANGLES) && whole(p, OPT_FROM) != WEIR__FROM_COSINE)
        return opt_fail(p, OPT_ANGLES, err, "angles=%llu goes with from=cosine",
                        (unsigned long long)whole(p, OPT_ANGLES));
    if (signatures * d > WEIR__COLUMNS_MOST)
        return opt_fail(p, OPT_SIGNATURES, err,
                        "%llu signatures of %llu values are more than %d in all",
                        (unsigned long long)signatures, (unsigned long long)d, WEIR__COLUMNS_MOST);
    if (!p->values[OPT_GROUP].given)
        resolve(p, OPT_GROUP, whole(p, OPT_FROM) == WEIR__FROM_COSINE ? COSINE_GROUP : 1);
    return WEIR_OK;
}

/* The width for which the median of the rows deviates by `error` of a stream's
 * self-join size: a row deviates by sqrt(2/w) of it (lemma 5). */
static void resolve_width(weir_pairs *p) {
    double error = p->values[OPT_ERROR].number;
    if (p->values[OPT_WIDTH].given) return;
    double factor = weir__median_deviation((unsigned)whole(p, OPT_DEPTH));
    double width =
        p->values[OPT_ERROR].given ? ceil(2 * factor * factor / (error * error)) : STANDARD_WIDTH;
    resolve(p, OPT_WIDTH, width < 16 ? 16 : (uint64_t)width);
}

static weir_status make_store(weir_pairs *p, weir_error *err) {
    uint32_t *share = malloc(p->streams * sizeof *share);
    if (!share) return no_memory(err);
    for (size_t i = 0; i < p->streams; i++) share[i] = p->shape.level[i % p->shape.levels].drawn;
    weir_status status = weir__store_new(&p->store, whole(p, OPT_MEMORY), p->streams, share, err);
    free(share);
    return status;
}

static void bind_matrix(weir_pairs *p, size_t i) {
    weir__matrix *m = &p->matrix[i];
    m->cells = p->cells + i * weir__matrix_bytes(m);
    weir__matrix_touch(m);
}

static weir_status make_sketches(weir_pairs *p, weir_error *err) {
    resolve_width(p);
    p->matrix = calloc(p->streams, sizeof *p->matrix);
    size_t most = 1;
    for (unsigned i = 0; i < p->shape.levels; i++)
        if (p->shape.level[i].drawn > most) most = p->shape.level[i].drawn;
    p->batch = malloc(most * BATCH_RECORDS * sizeof *p->batch);
    if (!p->matrix || !p->batch) return no_memory(err);
    for (size_t i = 0; i < p->streams; i++) {
        p->matrix[i].depth = (unsigned)whole(p, OPT_DEPTH);
        p->matrix[i].width = whole(p, OPT_WIDTH);
        p->matrix[i].counter = whole(p, OPT_COUNTER) == 1 ? WEIR__COUNTER_64 : WEIR__COUNTER_32;
        p->matrix[i].with_sign = true;
        weir__matrix_init(&p->matrix[i], weir__mix64(whole(p, OPT_SEED) + i + 1));
    }
    p->cells_bytes = p->streams * weir__matrix_bytes(&p->matrix[0]);
    void *map;
    weir_status status = weir__map(&map, p->cells_bytes, err);
    if (status != WEIR_OK) return status;
    p->cells = map;
    for (size_t i = 0; i < p->streams; i++) bind_matrix(p, i);
    return WEIR_OK;
}

static weir_status make_words(weir_pairs *p, weir_error *err) {
    p->witness_room = (size_t)whole(p, OPT_WITNESSES);
    p->word_count = 1 + p->streams + p->witness_room * (p->row_words + 1);
    p->words = calloc(p->word_count, sizeof *p->words);
    p->bitmap = calloc(p->shape.bitmap_words, sizeof *p->bitmap);
    return p->words && p->bitmap ? WEIR_OK : no_memory(err);
}

static weir_status create(weir_pairs *p, weir_error *err) {
    weir_status status = resolve_seed(p, OPT_SEED, err);
    if (status == WEIR_OK) status = resolve_seed(p, OPT_DRAW, err);
    if (status == WEIR_OK) status = resolve_shape(p, err);
    if (status != WEIR_OK) return status;
    weir__row_maker *m = &p->maker;
    m->from = (weir__from)whole(p, OPT_FROM);
    p->signatures = (unsigned)whole(p, OPT_SIGNATURES);
    p->row_words = (unsigned)whole(p, OPT_COLUMNS) * p->signatures;
    m->columns = p->row_words;
    m->angles = (unsigned)whole(p, OPT_ANGLES);
    p->row_words += m->angles;
    m->shingle = (unsigned)whole(p, OPT_SHINGLE);
    m->letters = whole(p, OPT_UNIT) == 1;
    m->group = (unsigned)whole(p, OPT_GROUP);
    weir__hasher_init(&m->hasher, (weir__hash_kind)whole(p, OPT_HASH), whole(p, OPT_SEED));
    p->sample = p->values[OPT_SAMPLE].number;
    p->repeats = p->signatures > 1 ? p->signatures : (unsigned)whole(p, OPT_REPEATS);
    p->online = whole(p, OPT_METHOD) == 1;
    p->draw = weir__mix64(whole(p, OPT_DRAW) ^ weir__mix64(whole(p, OPT_SEED)));
    status = weir__shape_init(&p->shape, (unsigned)whole(p, OPT_COLUMNS),
                              (unsigned)whole(p, OPT_THRESHOLD), p->sample,
                              m->from != WEIR__FROM_SET, whole(p, OPT_SEED), err);
    if (status != WEIR_OK) return status;
    p->streams = (size_t)p->repeats * p->shape.levels;
    status = make_words(p, err);
    if (status != WEIR_OK) return status;
    return p->online ? make_sketches(p, err) : make_store(p, err);
}

weir_status weir_pairs_new(weir_pairs **out, const char *spec, weir_error *err) {
    char name[WEIR__NAME_SIZE];
    *out = NULL;
    weir_status status = weir__spec_name(spec, name, err);
    if (status != WEIR_OK) return status;
    if (strcmp(name, "pairs") != 0) return weir__unknown(err, 0, "summary", name, "pairs");
    weir_pairs *p = calloc(1, sizeof *p);
    if (!p) return no_memory(err);
    status = weir__spec_read(&tables, spec, p->values, err);
    if (status == WEIR_OK) status = create(p, err);
    if (status != WEIR_OK) weir_pairs_free(p);
    else *out = p;
    return status;
}

void weir_pairs_free(weir_pairs *p) {
    if (!p) return;
    weir__store_free(p->store);
    for (size_t i = 0; p->matrix && i < p->streams; i++) weir__matrix_close(&p->matrix[i]);
    free(p->matrix);
    weir__unmap(p->cells, p->cells_bytes);
    weir__shape_release(&p->shape);
    weir__values_free(&(weir_allocator){0}, p->values);
    free(p->bitmap);
    free(p->batch);
    free(p->words);
    free(p);
}

size_t weir_pairs_spec(const weir_pairs *p, char *buffer, size_t size) {
    return weir__spec_print(&tables, p->values, buffer, size);
}

weir_status weir_pairs_set_folder(weir_pairs *p, const char *folder, weir_error *err) {
    return p->store ? weir__store_folder(p->store, folder, err) : WEIR_OK;
}

weir_row_status weir_pairs_row(const weir_pairs *p, const weir_field *fields, size_t count,
                               uint64_t *row) {
    return weir__make_row(&p->maker, fields, count, row);
}

/* ---- witnesses: a heap with the highest priority on top ---- */

static uint64_t priority(uint64_t state) { return weir__mix64(state ^ UINT64_C(0x7769746e657373)); }

static uint64_t priority_at(const weir_pairs *p, size_t i) {
    assert(i < p->words[0]);
    return priority(*weir__witness(p, i));
}

static void set_witness(weir_pairs *p, size_t at, uint64_t state, const uint64_t *row) {
    assert(at < p->witness_room);
    uint64_t *to = weir__witness(p, at);
    *to = state;
    memmove(to + 1, row, p->row_words * sizeof *row);
}

static void add_witness(weir_pairs *p, uint64_t state, const uint64_t *row) {
    uint64_t mine = priority(state), n = weir__witness_count(p);
    if (n < p->witness_room) { /* sift up */
        size_t at = n;
        p->words[0]++;
        for (; at && priority_at(p, (at - 1) / 2) < mine; at = (at - 1) / 2)
            set_witness(p, at, *weir__witness(p, (at - 1) / 2), weir__witness_row(p, (at - 1) / 2));
        set_witness(p, at, state, row);
        return;
    }
    if (!n || mine >= priority_at(p, 0)) return;
    size_t at = 0; /* in place of the highest: sift down */
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && priority_at(p, child + 1) > priority_at(p, child)) child++;
        if (priority_at(p, child) <= mine) break;
        set_witness(p, at, *weir__witness(p, child), weir__witness_row(p, child));
    }
    set_witness(p, at, state, row);
}

static void add_witnesses(weir_pairs *into, const weir_pairs *from) {
    for (size_t i = 0; i < weir__witness_count(from); i++)
        add_witness(into, *weir__witness(from, i), weir__witness_row(from, i));
}

/* ---- adding ---- */

/* A set's empty places get values that occur nowhere else. */
static void pad(const weir_pairs *p, uint64_t state, const uint64_t *row, uint64_t *padded) {
    for (unsigned c = 0; c < p->shape.d; c++)
        padded[c] = row[c] ? row[c] : weir__mix64(state + (c + 1) * UINT64_C(0xd1342543de82ef95));
}

/* Returns the state of the record's generator and fills in its labelled values. */
static uint64_t prepare_record(weir_pairs *p, uint64_t number, const uint64_t *row,
                               weir__labelled *out) {
    uint64_t state = weir__draw_state(p->draw, number), padded[WEIR__COLUMNS_MOST];
    if (p->maker.from == WEIR__FROM_SET) {
        pad(p, state, row, padded);
        row = padded;
    }
    weir__label(&p->shape, row, out);
    add_witness(p, state, row);
    return state;
}

/* All super-values of one record, each level's to its place; place[i] moves on. */
static void draw_record(weir_pairs *p, uint64_t state, const uint64_t *row, weir__labelled *record,
                        uint64_t **place) {
    for (unsigned repeat = 0; repeat < p->repeats; repeat++) {
        if (repeat && p->signatures > 1)
            weir__label(&p->shape, weir__row_part(p, row, repeat), record);
        uint64_t rng = weir__repeat_state(state, repeat);
        for (unsigned i = 0; i < p->shape.levels; i++) {
            const weir__level *level = &p->shape.level[i];
            uint64_t **to = &place[repeat * p->shape.levels + i];
            weir__draw(level, &rng, p->bitmap);
            weir__super_values(level, record, p->bitmap, *to);
            *to += level->drawn;
        }
    }
}

static weir_status add_offline(weir_pairs *p, uint64_t first, const uint64_t *rows, size_t count,
                               uint64_t **place, weir_error *err) {
    weir__labelled record;
    weir_error own = {0}, *why = err ? err : &own;
    while (count) {
        size_t n = weir__store_reserve(p->store, count, why);
        if (!n) return why->code;
        for (size_t i = 0; i < p->streams; i++) place[i] = weir__store_end(p->store, i);
        for (size_t i = 0; i < n; i++, rows += p->row_words) {
            uint64_t state = prepare_record(p, first + i, rows, &record);
            draw_record(p, state, rows, &record, place);
        }
        weir__store_commit(p->store, n);
        p->records += n;
        first += n;
        count -= n;
    }
    return WEIR_OK;
}

/* One level of up to BATCH_RECORDS records into its sketch; false if they do not fit. */
static bool sketch_level(weir_pairs *p, unsigned repeat, unsigned i, uint64_t *rng,
                         const weir__labelled *records, size_t count) {
    const weir__level *level = &p->shape.level[i];
    for (size_t j = 0; j < count; j++) {
        weir__draw(level, &rng[j], p->bitmap);
        weir__super_values(level, &records[j], p->bitmap, p->batch + j * level->drawn);
    }
    size_t values = count * level->drawn;
    weir__matrix *m = &p->matrix[repeat * p->shape.levels + i];
    return weir__matrix_add(m, p->batch, values, NULL, NULL, NULL) == values;
}

static weir_status overflow(weir_error *err) {
    return weir__fail(err, WEIR_ERR_RANGE, -1,
                      "the counters of the sketches overflow; use counter=64");
}

static weir_status add_online(weir_pairs *p, uint64_t first, const uint64_t *rows, size_t count,
                              weir__labelled *records, weir_error *err) {
    uint64_t states[BATCH_RECORDS], rng[BATCH_RECORDS];
    while (count) {
        size_t n = count < BATCH_RECORDS ? count : BATCH_RECORDS;
        for (size_t j = 0; j < n; j++)
            states[j] = prepare_record(p, first + j, rows + j * p->row_words, &records[j]);
        for (unsigned repeat = 0; repeat < p->repeats; repeat++) {
            for (size_t j = 0; j < n; j++) rng[j] = weir__repeat_state(states[j], repeat);
            for (size_t j = 0; repeat && p->signatures > 1 && j < n; j++)
                weir__label(&p->shape, weir__row_part(p, rows + j * p->row_words, repeat),
                            &records[j]);
            for (unsigned i = 0; i < p->shape.levels; i++)
                if (!sketch_level(p, repeat, i, rng, records, n)) return overflow(err);
        }
        p->records += n;
        first += n;
        rows += n * p->row_words;
        count -= n;
    }
    return WEIR_OK;
}

weir_status weir_pairs_add(weir_pairs *p, uint64_t first, const uint64_t *rows, size_t count,
                           weir_error *err) {
    weir_error mine;
    size_t room =
        p->online ? BATCH_RECORDS * sizeof(weir__labelled) : p->streams * sizeof(uint64_t *);
    void *scratch = calloc(1, room);
    if (!scratch) return no_memory(err);
    weir_status status = WEIR_OK;
    if (p->online) status = add_online(p, first, rows, count, scratch, err);
    else status = add_offline(p, first, rows, count, scratch, err ? err : &mine);
    free(scratch);
    return status;
}

void weir_pairs_prepare(weir_pairs *p) {
    if (p->store) weir__store_sort(p->store);
}

/* ---- merging ---- */

/* The first option in which two summaries differ that must be alike. */
static const char *difference(const weir_pairs *a, const weir_pairs *b) {
    weir__value left[WEIR__OPTIONS_MAX], right[WEIR__OPTIONS_MAX];
    static const int free_ones[] = {OPT_DRAW, OPT_MEMORY, OPT_WITNESSES, OPT_ERROR};
    memcpy(left, a->values, sizeof left);
    memcpy(right, b->values, sizeof right);
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
        right[free_ones[i]] = left[free_ones[i]];
    const weir_option *o = weir__values_differ(&tables, left, right);
    return o ? o->name : NULL;
}

weir_status weir__pairs_fit(const weir_pairs *a, const weir_pairs *b, weir_error *err) {
    const char *name = difference(a, b);
    if (!name) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_MISMATCH, -1,
                      "the summaries do not match: their '%s' is not the same; make both with the "
                      "same options and seed",
                      name);
}

/* Do two records of their samples draw alike? */
static bool drew_alike(const weir_pairs *a, const weir_pairs *b) {
    if (a->draw != b->draw) return false;
    for (size_t i = 0; i < weir__witness_count(a); i++)
        for (size_t j = 0; j < weir__witness_count(b); j++)
            if (*weir__witness(a, i) == *weir__witness(b, j)) return true;
    return false;
}

weir_status weir_pairs_merge(weir_pairs *into, weir_pairs *from, weir_error *err) {
    weir_status status = weir__pairs_fit(into, from, err);
    if (status != WEIR_OK) return status;
    if (into == from || drew_alike(into, from))
        return weir__fail(
            err, WEIR_ERR_MISMATCH, -1,
            "the summaries hold records of the same numbers and the same draw: they are the same "
            "one, or made with one seed from inputs of one name; give one another name, or draw");
    for (size_t i = 0; into->matrix && i < into->streams; i++)
        if (!weir__matrix_fits(&into->matrix[i], &from->matrix[i])) return overflow(err);
    if (into->store) status = weir__store_take(into->store, from->store, err);
    if (status != WEIR_OK) return status;
    for (size_t i = 0; into->matrix && i < into->streams; i++)
        weir__matrix_merge(&into->matrix[i], &from->matrix[i], 1);
    add_witnesses(into, from);
    into->records += from->records;
    into->merged += from->merged + 1;
    from->records = from->merged = 0;
    from->words[0] = 0;
    if (from->cells) weir__map_clear(from->cells, from->cells_bytes);
    for (size_t i = 0; from->matrix && i < from->streams; i++) weir__matrix_touch(&from->matrix[i]);
    return WEIR_OK;
}

void weir_pairs_get_info(const weir_pairs *p, weir_pairs_info *info) {
    *info = (weir_pairs_info){
        .records = p->records,
        .memory = sizeof *p + p->word_count * 8 + p->cells_bytes +
                  (p->store ? weir__store_memory(p->store) : 0),
        .disk = p->store ? weir__store_disk(p->store) : 0,
        .per_record = p->shape.per_record * p->repeats,
        .witnesses = weir__witness_count(p),
        .columns = p->shape.d,
        .threshold = p->shape.s,
        .repeats = p->signatures > 1 ? 1 : p->repeats,
        .signatures = p->signatures,
        .row_words = p->row_words,
        .seed = whole(p, OPT_SEED),
        .from = (weir_pairs_from)p->maker.from,
        .group = p->maker.group,
        .online = p->online,
        .width = p->online ? p->matrix[0].width : 0,
        .depth = p->online ? p->matrix[0].depth : 0,
        .sample = p->sample,
    };
}

/* ---- for snapshots ---- */

weir_status weir__pairs_settle(weir_pairs *p, weir_error *err) {
    return p->store ? weir__store_settle(p->store, weir__stream_lengths(p), err) : WEIR_OK;
}

/* Pairs get their memory from the system. */
static weir_status family_make(void **out, const char *spec, const weir_allocator *allocator,
                               weir_error *err) {
    (void)allocator;
    weir_pairs *p;
    weir_status status = weir_pairs_new(&p, spec, err);
    *out = p;
    return status;
}

static size_t family_spec(const void *object, char *buffer, size_t size) {
    return weir_pairs_spec(object, buffer, size);
}

static void family_image(const void *object, weir__image *image) {
    weir_pairs *p = (weir_pairs *)(uintptr_t)object;
    *image = (weir__image){.probe = weir__hash(&p->maker.hasher, "weir", 4),
                           .totals = {&p->records, &p->merged},
                           .words = p->words,
                           .word_count = p->word_count,
                           .cells = p->cells,
                           .cells_bytes = p->cells_bytes};
    if (p->store) image->cells = weir__store_image(p->store, &image->cells_bytes);
}

/* The words say how long the streams are. */
static weir_status family_fit(void *object, weir_error *err) {
    weir_pairs *p = object;
    if (!p->store) return WEIR_OK;
    return weir__store_image_room(p->store, weir__stream_lengths(p), err);
}

static weir_status family_check(void *object, weir_error *err) {
    const weir_pairs *p = object;
    if (p->words[0] > p->witness_room || p->words[0] > p->records)
        return weir__fail(err, WEIR_ERR_CORRUPT, -1, "a summary holds more witnesses than records");
    for (size_t i = 1; i < p->words[0]; i++)
        if (priority_at(p, (i - 1) / 2) < priority_at(p, i))
            return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                              "the witnesses of a summary are not in order");
    for (size_t i = 0; p->matrix && i < p->streams; i++) weir__matrix_touch(&p->matrix[i]);
    return p->store ? weir__store_image_check(p->store, err) : WEIR_OK;
}

static void family_free(void *object) { weir_pairs_free(object); }

const weir__family weir__pairs_family = {
    .name = "pairs",
    .number = 5,
    .make = family_make,
    .spec = family_spec,
    .image = family_image,
    .check = family_check,
    .free = family_free,
    .fit = family_fit,
};
